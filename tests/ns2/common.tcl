# What the scripts of this folder and tools/bench/dumbbell.tcl share.

# The simulator $ns and its link from $a to $b, whose queue is $q; the queue back holds `back` packets. $start draws when flows begin, from
# 0 to 1 s. `kind`: of the queue, with words that it is made from.
proc dumbbell {seed rate delay kind limit back} {
  global ns a b q start
  set ns [new Simulator]
  ns-random $seed
  set a [$ns node]
  set b [$ns node]
  $ns simplex-link $a $b $rate $delay {*}$kind
  $ns simplex-link $b $a $rate $delay DropTail
  $ns queue-limit $a $b $limit
  $ns queue-limit $b $a $back
  set q [[$ns link $a $b] queue]
  set start [new RandomVariable/Uniform]
  $start set min_ 0
  $start set max_ 1
}

# RED with everything set.
proc red {q low high linterm gentle} {
  $q set thresh_ $low
  $q set maxthresh_ $high
  $q set q_weight_ 0.002
  $q set linterm_ $linterm
  $q set wait_ false
  $q set gentle_ $gentle
  $q set bytes_ false
  $q set queue_in_bytes_ false
  $q set mean_pktsize_ 1000
  $q set adaptive_ 0
}

# Puts a flow on hosts of its own, `delay` before the router.
proc attach {agent sink delay} {
  global ns a b
  set s [$ns node]
  set r [$ns node]
  $ns duplex-link $s $a 10Mb $delay DropTail
  $ns duplex-link $b $r 10Mb 0ms DropTail
  $ns queue-limit $s $a 10000
  connect $agent $s $sink $r
}

proc connect {agent s sink r} {
  global ns
  $ns attach-agent $s $agent
  $ns attach-agent $r $sink
  $ns connect $agent $sink
}

proc ftp {tcp} {
  global ns start
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns at [$start value] "$ftp start"
}

proc cbr {udp rate at} {
  global ns
  set cbr [new Application/Traffic/CBR]
  $cbr set packetSize_ 1000
  $cbr set rate_ $rate
  $cbr set random_ 1
  $cbr attach-agent $udp
  $ns at $at "$cbr start"
}
