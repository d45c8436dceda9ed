# ns unresponsive.tcl SEED QUEUE: 32 Reno flows and a UDP flow of 2 Mbit/s on 1 Mbit/s. Prints the bytes of the UDP flow and of
# all flows that left the bottleneck from 100 s to 300 s. QUEUE: red, drr, sfq or redpd.
set kind [lindex $argv 1]
set ns [new Simulator]
ns-random [lindex $argv 0]
set a [$ns node]
set b [$ns node]
switch $kind {
  drr { $ns simplex-link $a $b 1Mb 1ms DRR }
  sfq { $ns simplex-link $a $b 1Mb 1ms SFQ }
  redpd { $ns simplex-link $a $b 1Mb 1ms RED/PD MEDROP EDROP }
  red { $ns simplex-link $a $b 1Mb 1ms RED }
}
$ns simplex-link $b $a 1Mb 1ms DropTail
$ns queue-limit $a $b 300
$ns queue-limit $b $a 10000
set link [$ns link $a $b]
set q [$link queue]
proc redset {q} {
  $q set thresh_ 30
  $q set maxthresh_ 60
  $q set q_weight_ 0.002
  $q set linterm_ 50
  $q set wait_ false
  $q set gentle_ true
  $q set bytes_ false
  $q set queue_in_bytes_ false
  $q set mean_pktsize_ 1000
  $q set adaptive_ 0
}
switch $kind {
  drr { $q set buckets_ 1009; $q set quantum_ 1000; $q set blimit_ 300000 }
  sfq { $q set maxqueue_ 300; $q set buckets_ 128 }
  red { redset $q }
  redpd { redset $q; set fm [$q makeflowmon $link] }
}
Agent/TCP set packetSize_ 960
Agent/TCP set window_ 100
set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 1
for {set i 0} {$i < 32} {incr i} {
  set s [$ns node]
  set r [$ns node]
  $ns duplex-link $s $a 10Mb 0ms DropTail
  $ns duplex-link $b $r 10Mb 0ms DropTail
  $ns queue-limit $s $a 10000
  set tcp [new Agent/TCP/Reno]
  set sink [new Agent/TCPSink]
  $tcp set fid_ [expr $i+1]
  $ns attach-agent $s $tcp
  $ns attach-agent $r $sink
  $ns connect $tcp $sink
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns at [$start value] "$ftp start"
}
set s [$ns node]
set r [$ns node]
$ns duplex-link $s $a 10Mb 0ms DropTail
$ns duplex-link $b $r 10Mb 0ms DropTail
$ns queue-limit $s $a 10000
set udp [new Agent/UDP]
set null [new Agent/LossMonitor]
$udp set packetSize_ 1000
$udp set fid_ 99
$ns attach-agent $s $udp
$ns attach-agent $r $null
$ns connect $udp $null
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1000
$cbr set rate_ 2Mb
$cbr set random_ 1
$cbr attach-agent $udp
$ns at 0.5 "$cbr start"
set mon [$ns monitor-queue $a $b ""]
$ns at 100.0 {set b0 [$mon set bdepartures_]; set u0 [$null set bytes_]}
$ns at 300.0 {puts "[expr [$null set bytes_]-$u0] [expr [$mon set bdepartures_]-$b0]"; exit 0}
if {$kind == "redpd"} { source [file join [file dirname [info script]] red_pd.tcl] }
$ns run
