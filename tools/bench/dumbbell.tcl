# dumbbell.py for ns-2: ns dumbbell.tcl SEED FLOWS QUEUE ACCESS FROM TO. A megabit per second for each flow;
# QUEUE is drop_tail (a bandwidth-delay product) or red; ACCESS is the rate in Mbit/s of each host's own line, 0 with all hosts
# on the two routers. Prints bytes and packets that left the bottleneck, packets dropped and packets that arrived, at FROM and at
# TO (seconds).
lassign $argv seed n queue access from to
source [file join [file dirname [info script]] ../../tests/ns2/common.tcl]
set kind [expr {$queue eq "red" ? "RED" : "DropTail"}]
dumbbell $seed ${n}Mb [expr {$access ? "20ms" : "21ms"}] $kind [expr {$queue eq "red" ? 3 * $n : int(5.25 * $n)}] 1000000
if {$queue eq "red"} {red $q [expr {0.3 * $n}] [expr {0.6 * $n}] 10 false}
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
  connect $tcp $s [new Agent/TCPSink] $r
  ftp $tcp
}
set mon [$ns monitor-queue $a $b ""]
proc counts {} {
  global mon
  return "[$mon set bdepartures_] [$mon set pdepartures_] [$mon set pdrops_] [$mon set parrivals_]"
}
$ns at $from {set before [counts]}
$ns at $to {puts "$before [counts]"; exit 0}
$ns run
