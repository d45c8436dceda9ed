# newreno100.toml for ns-2: ns dumbbell.tcl SEED. Prints bytes and packets that left the bottleneck, packets dropped and packets
# that arrived, from 20 s to 100 s.
set ns [new Simulator]
ns-random [lindex $argv 0]
set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b 100Mb 20ms RED
$ns simplex-link $b $a 100Mb 20ms DropTail
$ns queue-limit $a $b 300
$ns queue-limit $b $a 100000
set q [[$ns link $a $b] queue]
$q set thresh_ 30
$q set maxthresh_ 60
$q set q_weight_ 0.002
$q set linterm_ 10
$q set wait_ false
$q set gentle_ false
$q set bytes_ false
$q set queue_in_bytes_ false
$q set mean_pktsize_ 1000
$q set adaptive_ 0
Agent/TCP set packetSize_ 960
Agent/TCP set window_ 100
Agent/TCP set windowInit_ 2
Agent/TCP set windowInitOption_ 1
Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0.2
Agent/TCP set maxrto_ 60
Agent/TCP set rtxcur_init_ 3.0
Agent/TCP set singledup_ 1
Agent/TCP set slow_start_restart_ true
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set overhead_ 0
Agent/TCP/Newreno set partial_window_deflation_ 1
set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 1
for {set i 0} {$i < 100} {incr i} {
  set s [$ns node]
  set r [$ns node]
  $ns duplex-link $s $a 1Gb 1ms DropTail
  $ns duplex-link $b $r 1Gb 0ms DropTail
  $ns queue-limit $s $a 100000
  $ns queue-limit $a $s 100000
  $ns queue-limit $b $r 100000
  $ns queue-limit $r $b 100000
  set tcp [new Agent/TCP/Newreno]
  set sink [new Agent/TCPSink]
  $ns attach-agent $s $tcp
  $ns attach-agent $r $sink
  $ns connect $tcp $sink
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns at [$start value] "$ftp start"
}
set mon [$ns monitor-queue $a $b ""]
proc counts {} {
  global mon
  return "[$mon set bdepartures_] [$mon set pdepartures_] [$mon set pdrops_] [$mon set parrivals_]"
}
$ns at 20.0 {set before [counts]}
$ns at 100.0 {puts "$before [counts]"; exit 0}
$ns run
