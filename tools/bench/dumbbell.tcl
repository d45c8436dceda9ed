# dumbbell.py for ns-2: ns dumbbell.tcl SEED FLOWS QUEUE ACCESS FROM TO. A megabit per second for each flow;
# QUEUE is drop_tail (a bandwidth-delay product) or red; ACCESS is the rate in Mbit/s of each host's own line, 0 with all hosts
# on the two routers. Prints bytes and packets that left the bottleneck, packets dropped and packets that arrived, at FROM and at
# TO (seconds).
lassign $argv seed n queue access from to
set ns [new Simulator]
ns-random $seed
set a [$ns node]
set b [$ns node]
set delay [expr {$access ? "20ms" : "21ms"}]
$ns simplex-link $a $b ${n}Mb $delay [expr {$queue eq "red" ? "RED" : "DropTail"}]
$ns simplex-link $b $a ${n}Mb $delay DropTail
$ns queue-limit $b $a 1000000
if {$queue eq "red"} {
  $ns queue-limit $a $b [expr {3 * $n}]
  set q [[$ns link $a $b] queue]
  $q set thresh_ [expr {0.3 * $n}]
  $q set maxthresh_ [expr {0.6 * $n}]
  $q set q_weight_ 0.002
  $q set linterm_ 10
  $q set wait_ false
  $q set gentle_ false
  $q set bytes_ false
  $q set queue_in_bytes_ false
  $q set mean_pktsize_ 1000
  $q set adaptive_ 0
} else {
  $ns queue-limit $a $b [expr {int(5.25 * $n)}]
}
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
for {set i 0} {$i < $n} {incr i} {
  set s $a
  set r $b
  if {$access} {
    set s [$ns node]
    set r [$ns node]
    $ns duplex-link $s $a ${access}Mb 1ms DropTail
    $ns duplex-link $b $r ${access}Mb 0ms DropTail
    $ns queue-limit $s $a 100000
    $ns queue-limit $a $s 100000
    $ns queue-limit $b $r 100000
    $ns queue-limit $r $b 100000
  }
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
$ns at $from {set before [counts]}
$ns at $to {puts "$before [counts]"; exit 0}
$ns run
