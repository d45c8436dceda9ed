# RED as dumbbell.tcl and vegas.tcl have it, everything set.
proc red {q} {
  $q set thresh_ 5
  $q set maxthresh_ 15
  $q set q_weight_ 0.002
  $q set linterm_ 50
  $q set wait_ false
  $q set gentle_ false
  $q set bytes_ false
  $q set queue_in_bytes_ false
  $q set mean_pktsize_ 1000
  $q set adaptive_ 0
}
