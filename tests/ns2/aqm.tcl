# ns aqm.tcl SEED QUEUE UDP: 32 TCPs on 1 Mbit/s under PI, RED (adaptive), REM or RED/RIO, with a UDP flow of 2 Mbit/s if UDP is 1. Prints,
# from 60 s to 260 s, the bytes that left the bottleneck and UDP's that arrived, the packets that it dropped and those that arrived
# there, and the sum over time of the packets queued.
foreach {seed kind udp} $argv {}
source [file join [file dirname [info script]] common.tcl]
dumbbell $seed 1Mb 20ms $kind 300 1000
switch $kind {
  PI {
    # The gains of sluicegate.design_pi for this link, which the test compares.
    $q set a_ 0.02415761605004275
    $q set b_ 0.023868330349378006
    $q set qref_ 50
  }
  RED {
    red $q 10 30 10 false
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
for {set i 0} {$i < 32} {incr i} {
  set tcp [new Agent/TCP/Reno]
  $tcp set packetSize_ 960
  $tcp set window_ 100
  $tcp set fid_ 1
  attach $tcp [new Agent/TCPSink] 5ms
  ftp $tcp
}
set null [new Agent/LossMonitor]
if {$udp} {
  set agent [new Agent/UDP]
  $agent set packetSize_ 1000
  $agent set fid_ 0
  attach $agent $null 5ms
  cbr $agent 2Mb [$start value]
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
