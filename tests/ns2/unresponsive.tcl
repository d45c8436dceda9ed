# ns unresponsive.tcl SEED QUEUE AGENT RATE OVERHEAD: 32 TCP flows and a UDP flow of RATE Mbit/s on 1 Mbit/s. Prints, for 100 s
# to 300 s, the bytes that TCP and UDP got through the bottleneck, the packets of each that arrived at it, and those
# that it dropped. QUEUE: droptail, red, drr, sfq or redpd; AGENT: Tahoe, Reno, Newreno or Sack1; OVERHEAD in seconds.
foreach {seed kind agent rate overhead} $argv {}
source [file join [file dirname [info script]] common.tcl]
array set queue {droptail DropTail drr DRR sfq SFQ redpd "RED/PD MEDROP EDROP" red RED}
dumbbell $seed 1Mb 1ms $queue($kind) [expr {$kind == "droptail" ? 50 : 300}] 10000
switch $kind {
  drr { $q set buckets_ 1009; $q set quantum_ 1000; $q set blimit_ 300000 }
  sfq { $q set maxqueue_ 300; $q set buckets_ 128 }
  red { red $q 30 60 50 true }
  redpd { red $q 30 60 50 true; set fm [$q makeflowmon [$ns link $a $b]] }
}
Agent/TCP set packetSize_ 960
Agent/TCP set overhead_ $overhead
Agent/TCP set window_ 100
for {set i 0} {$i < 32} {incr i} {
  set tcp [new [expr {$agent == "Tahoe" ? "Agent/TCP" : "Agent/TCP/$agent"}]]
  set sink [new [expr {$agent == "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
  $tcp set fid_ [expr $i+1]
  attach $tcp $sink 0ms
  ftp $tcp
}
set udp [new Agent/UDP]
set null [new Agent/LossMonitor]
$udp set packetSize_ 1000
$udp set fid_ 99
attach $udp $null 0ms
cbr $udp ${rate}Mb 0.5
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
