# ns dumbbell.tcl SEED AGENT SINK FLOWS QUEUE LIMIT ECN: flows of one kind on a dumbbell of 1.5 Mbit/s. Prints, from 20 s to 120 s, the
# bytes that left the bottleneck, the packets that it dropped and those that arrived there. QUEUE: RED or DropTail.
foreach {seed agent sink flows kind limit ecn} $argv {}
source [file join [file dirname [info script]] common.tcl]
dumbbell $seed 1.5Mb 20ms $kind $limit 1000
if {$kind == "RED"} {
  red $q 5 15 50 false
  $q set setbit_ [expr {$ecn ? "true" : "false"}]
}
for {set i 0} {$i < $flows} {incr i} {
  set tcp [new Agent/$agent]
  $tcp set packetSize_ 960
  $tcp set window_ 100
  $tcp set ecn_ $ecn
  set end [new Agent/$sink]
  if {[string match */DelAck $sink]} {$end set interval_ 100ms}
  attach $tcp $end 5ms
  ftp $tcp
}
set mon [$ns monitor-queue $a $b ""]
proc mark {} {
  global mon before
  set before "[$mon set bdepartures_] [$mon set pdrops_] [$mon set parrivals_]"
}
proc finish {} {
  global mon before
  foreach {bd dr ar} $before {}
  puts "[expr [$mon set bdepartures_]-$bd] [expr [$mon set pdrops_]-$dr] [expr [$mon set parrivals_]-$ar]"
  exit 0
}
$ns at 20.0 "mark"
$ns at 120.0 "finish"
$ns run
