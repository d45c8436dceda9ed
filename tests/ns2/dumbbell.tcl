# ns dumbbell.tcl SEED AGENT SINK FLOWS QUEUE LIMIT ECN: flows of one kind on a dumbbell of 1.5 Mbit/s. Prints, from 20 s to 120 s, the
# bytes that left the bottleneck, the packets that it dropped and those that arrived there. QUEUE: RED or DropTail.
foreach {seed agent sink flows kind limit ecn} $argv {}
source red.tcl
set ns [new Simulator]
ns-random $seed
set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b 1.5Mb 20ms $kind
$ns simplex-link $b $a 1.5Mb 20ms DropTail
$ns queue-limit $a $b $limit
$ns queue-limit $b $a 1000
set q [[$ns link $a $b] queue]
if {$kind == "RED"} {
  red $q
  $q set setbit_ [expr {$ecn ? "true" : "false"}]
}
set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 1
for {set i 0} {$i < $flows} {incr i} {
  set s [$ns node]
  set r [$ns node]
  $ns duplex-link $s $a 10Mb 5ms DropTail
  $ns duplex-link $b $r 10Mb 0ms DropTail
  $ns queue-limit $s $a 10000
  set tcp($i) [new Agent/$agent]
  $tcp($i) set packetSize_ 960
  $tcp($i) set window_ 100
  $tcp($i) set ecn_ $ecn
  set sinks($i) [new Agent/$sink]
  if {[string match */DelAck $sink]} {$sinks($i) set interval_ 100ms}
  $ns attach-agent $s $tcp($i)
  $ns attach-agent $r $sinks($i)
  $ns connect $tcp($i) $sinks($i)
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp($i)
  $ns at [$start value] "$ftp start"
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
