# ns aqm.tcl SEED QUEUE UDP: 32 TCPs on 1 Mbit/s under PI, RED (adaptive), REM or RED/RIO, with a UDP flow of 2 Mbit/s if UDP is 1. Prints,
# from 60 s to 260 s, the bytes that left the bottleneck and UDP's that arrived, the packets that it dropped and those that arrived
# there, and the sum over time of the packets queued.
foreach {seed kind udp} $argv {}
set ns [new Simulator]
ns-random $seed
set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b 1Mb 20ms $kind
$ns simplex-link $b $a 1Mb 20ms DropTail
$ns queue-limit $a $b 300
$ns queue-limit $b $a 1000
set q [[$ns link $a $b] queue]
switch $kind {
  PI {
    # The gains of sluicegate.design_pi for this link, which the test compares.
    $q set a_ 0.02415761605004275
    $q set b_ 0.023868330349378006
    $q set qref_ 50
  }
  RED {
    $q set thresh_ 10
    $q set maxthresh_ 30
    $q set q_weight_ 0.002
    $q set linterm_ 10
    $q set gentle_ false
    $q set wait_ false
    $q set bytes_ false
    $q set queue_in_bytes_ false
    $q set mean_pktsize_ 1000
    $q set setbit_ false
    $q set adaptive_ 1
    $q set top_ 0.5
    $q set bottom_ 0.01
    $q set alpha_ 0.01
    $q set beta_ 0.9
    $q set interval_ 0.5
  }
  REM {
    $q set mean_pktsize_ 1000
  }
  RED/RIO {
    $q set priority_method_ 1
    $q set mean_pktsize_ 1000
    $q set wait_ false
  }
}
set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 1
proc attach {agent sink} {
  global ns a b
  set s [$ns node]
  set r [$ns node]
  $ns duplex-link $s $a 10Mb 5ms DropTail
  $ns duplex-link $b $r 10Mb 0ms DropTail
  $ns queue-limit $s $a 10000
  $ns attach-agent $s $agent
  $ns attach-agent $r $sink
  $ns connect $agent $sink
}
for {set i 0} {$i < 32} {incr i} {
  set tcp [new Agent/TCP/Reno]
  $tcp set packetSize_ 960
  $tcp set window_ 100
  $tcp set fid_ 1
  attach $tcp [new Agent/TCPSink]
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns at [$start value] "$ftp start"
}
set null [new Agent/LossMonitor]
if {$udp} {
  set agent [new Agent/UDP]
  $agent set packetSize_ 1000
  $agent set fid_ 0
  attach $agent $null
  set cbr [new Application/Traffic/CBR]
  $cbr set packetSize_ 1000
  $cbr set rate_ 2Mb
  $cbr set random_ 1
  $cbr attach-agent $agent
  $ns at [$start value] "$cbr start"
}
set mon [$ns monitor-queue $a $b ""]
proc counts {} {
  global mon null
  set area [[$mon get-pkts-integrator] set sum_]
  return "[$mon set bdepartures_] [$null set bytes_] [$mon set pdrops_] [$mon set parrivals_] $area"
}
$ns at 60 {set before [counts]}
$ns at 260 {
  set row ""
  foreach then $before now [counts] {lappend row [expr $now - $then]}
  puts $row
  exit 0
}
$ns run
