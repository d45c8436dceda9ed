# ns unresponsive.tcl SEED QUEUE AGENT RATE OVERHEAD: 32 TCP flows and a UDP flow of RATE Mbit/s on 1 Mbit/s. Prints, for 100 s
# to 300 s, the bytes that TCP and UDP got through the bottleneck, the packets of each that arrived at it, and those
# that it dropped. QUEUE: droptail, red, drr, sfq or redpd; AGENT: Tahoe, Reno, Newreno or Sack1; OVERHEAD in seconds.
foreach {seed kind agent rate overhead} $argv {}
set ns [new Simulator]
ns-random $seed
set a [$ns node]
set b [$ns node]
switch $kind {
  droptail { $ns simplex-link $a $b 1Mb 1ms DropTail }
  drr { $ns simplex-link $a $b 1Mb 1ms DRR }
  sfq { $ns simplex-link $a $b 1Mb 1ms SFQ }
  redpd { $ns simplex-link $a $b 1Mb 1ms RED/PD MEDROP EDROP }
  red { $ns simplex-link $a $b 1Mb 1ms RED }
}
$ns simplex-link $b $a 1Mb 1ms DropTail
$ns queue-limit $a $b [expr {$kind == "droptail" ? 50 : 300}]
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
Agent/TCP set overhead_ $overhead
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
  set tcp [new [expr {$agent == "Tahoe" ? "Agent/TCP" : "Agent/TCP/$agent"}]]
  set sink [new [expr {$agent == "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
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
$cbr set rate_ ${rate}Mb
$cbr set random_ 1
$cbr attach-agent $udp
$ns at 0.5 "$cbr start"
set mon [$ns monitor-queue $a $b ""]
# TCP's are all packets less UDP's. A packet of UDP is known to be lost when a later one arrives, which is soon enough.
proc counts {} {
  global mon null
  set udp [expr [$null set npkts_] + [$null set nlost_]]
  return [list [expr [$mon set bdepartures_] - [$null set bytes_]] [$null set bytes_] [expr [$mon set parrivals_] - $udp] $udp \
    [expr [$mon set pdrops_] - [$null set nlost_]] [$null set nlost_]]
}
$ns at 100.0 {set before [counts]}
$ns at 300.0 {
  foreach was $before is [counts] {puts -nonewline "[expr $is - $was] "}
  exit 0
}
if {$kind == "redpd"} { source [file join [file dirname [info script]] red_pd.tcl] }
$ns run
