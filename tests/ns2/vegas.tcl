# ns vegas.tcl SEED MBPS FLOWS QUEUE LIMIT OVERHEAD: Vegas flows on a dumbbell, whose packets wait for up to OVERHEAD seconds. Prints, from 20 s to 80 s, the bytes that left the
# bottleneck, the packets that arrived there and that it dropped, and the mean of the packets queued. QUEUE: RED or DropTail.
foreach {seed mbps flows kind limit overhead} $argv {}
source [file join [file dirname [info script]] common.tcl]
dumbbell $seed ${mbps}Mb 20ms $kind $limit 1000
if {$kind == "RED"} {red $q 5 15 50 false}
for {set i 0} {$i < $flows} {incr i} {
  # Vegas's agent adds no header to its packets.
  set tcp [new Agent/TCP/Vegas]
  $tcp set packetSize_ 1000
  $tcp set window_ 100
  $tcp set overhead_ $overhead
  attach $tcp [new Agent/TCPSink] 5ms
  ftp $tcp
}
set mon [$ns monitor-queue $a $b ""]
set sum 0
set count 0
proc look {} {
  global ns mon sum count
  set sum [expr $sum + [$mon set pkts_]]
  incr count
  $ns at [expr [$ns now] + 0.0503] look
}
proc mark {} {
  global mon before
  set before "[$mon set bdepartures_] [$mon set parrivals_] [$mon set pdrops_]"
}
proc finish {} {
  global mon before sum count
  foreach {bd ar dr} $before {}
  puts "[expr [$mon set bdepartures_]-$bd] [expr [$mon set parrivals_]-$ar] [expr [$mon set pdrops_]-$dr] [expr 1.0*$sum/$count]"
  exit 0
}
$ns at 20.0 "mark; look"
$ns at 80.0 finish
$ns run
