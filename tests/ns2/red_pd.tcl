# The control loop of RED-PD for ns-2's queue, which has the filter and RED alone: the lists of drops, and what follows from
# them. After tcl/ex/red-pd/monitoring.tcl of ns-2's sources, which is not installed with it; target round trip 40 ms.
# Needs $ns, the queue $q and its flow monitor $fm.

set R 0.040
set lists {}
set p_avg -1
set last 0.0
set intervals {0 0 0 0 0}

# The time of the last n intervals, and not less than 0.4 s.
proc since {n} {
  global intervals
  set sum 0
  foreach span [lrange $intervals [expr 5 - $n] 4] {set sum [expr $sum + $span]}
  return [expr $sum < 0.4 ? 0.4 : $sum]
}

# In how many lists a flow is, and with how many bytes.
proc found {flow} {
  global lists
  set n 0
  set bytes 0
  foreach list $lists {
    foreach entry $list {
      if {[lindex $entry 0] == $flow} {
        incr n
        incr bytes [lindex $entry 1]
      }
    }
  }
  return [list $n $bytes]
}

proc is_unresponsive {history} {
  set good 0
  set bad 0
  foreach a $history {
    foreach b $history {
      set p1 [lindex $a 1]
      set p2 [lindex $b 1]
      if {$p1 < $p2 && $p1 / $p2 > 0.1} {
        if {[lindex $b 0] / [lindex $a 0] > sqrt($p1 / $p2)} {incr bad} else {incr good}
      }
    }
  }
  return [expr ($good == 0 && $bad >= 3) || ($good == 1 && $bad >= 4) || ($good >= 2 && $bad >= 4 * $good)]
}

# The newest list: the 50 flows with the most bytes dropped by RED.
proc make_list {} {
  global fm lists
  set drops {}
  foreach f [$fm flows] {
    if {[$f set pdrops_] > [$f set mon_epdrops_]} {
      lappend drops [list $f [expr int([$f set bdrops_] - [$f set mon_ebdrops_])]]
    }
  }
  lappend lists [lrange [lsort -decreasing -integer -index 1 $drops] 0 49]
  set lists [lrange $lists end-4 end]
}

proc raise {f p_pre usable now elapsed} {
  global q changed history
  if {[$f set monitored_] == 1} {
    set target [$f set targetBW_]
    set p [expr 1 - $target]
    if {[$f set unresponsive_] != 1 && [is_unresponsive $history($f)]} {$q unresponsive-flow $f}
    set hard [expr [$f set unresponsive_] == 1]
    set new [expr 1 - ($p + ($hard ? 2 : 1) * ($p_pre > $p ? $p : $p_pre))]
    $f set targetBW_ [expr $new < 0 ? $target / ($hard ? 3.0 : 2.0) : $new]
  } else {
    set p [expr $p_pre > 2 * $usable ? 2 * $usable : $p_pre]
    $q monitor-flow $f [expr 1 - ($p > 0.5 ? 0.5 : $p)] 1
    set history($f) {}
  }
  set changed($f) $now
  set arrived [expr double([$f set barrivals_])]
  lappend history($f) [list [expr $arrived / $elapsed] [expr [$f set bdrops_] / $arrived]]
  set history($f) [lrange $history($f) end-4 end]
}

proc detect {} {
  global ns fm lists p_avg last intervals R changed
  set now [$ns now]
  set elapsed [expr $now - $last]
  set last $now
  set filtered [$fm set mon_ebdrops_]
  set arrived [expr [$fm set barrivals_] - $filtered]
  set p_now [expr $arrived > 0 ? ([$fm set bdrops_] - $filtered) / double($arrived) : 0.0]
  set p_avg [expr $p_avg == -1 ? $p_now : 0.5 * $p_now + 0.5 * $p_avg]
  set usable [expr $p_now < $p_avg ? $p_now : $p_avg]
  make_list
  set identified {}
  set sum 0
  foreach f [$fm flows] {
    foreach {n bytes} [found $f] {}
    if {$n >= 3} {
      lappend identified [list $f $bytes]
      incr sum $bytes
    }
  }
  if {$p_now > 0.001} {
    foreach entry $identified {
      foreach {f bytes} $entry {}
      set change [expr [info exists changed($f)] ? "\$changed($f)" : 0]
      if {$now - $change >= [since 4] && [$f set bdrops_] != 0} {
        raise $f [expr $usable * $bytes * [llength $identified] / double($sum)] $usable $now $elapsed
      }
    }
  }
  set next [expr 10 * $R]
  if {$p_avg > 0} {
    set span [expr 0.6 * $R / sqrt(1.5 * $p_avg)]
    set next [expr $span > $next ? $next : $span < 2 * $R ? 2 * $R : $span]
    set intervals [concat [lrange $intervals 1 end] $next]
  }
  $ns at [expr $now + 0.001] reward
  $ns at [expr $now + $next] detect
  foreach f [$fm flows] {$f reset}
  $fm reset
}

proc reward {} {
  global ns fm q changed
  set now [$ns now]
  foreach f [$fm flows] {
    if {[$f set monitored_] != 1 || [lindex [found $f] 0] > 0} continue
    set hard [expr [$f set unresponsive_] == 1]
    if {$now - $changed($f) < [since [expr $hard ? 5 : 3]]} continue
    set p [expr 1 - [$f set targetBW_]]
    if {$p <= ($hard ? 0.0025 : 0.005)} {
      $q unmonitor-flow $f
    } else {
      set cut [expr $hard ? 1.5 : 2.0]
      $f set targetBW_ [expr 1 - ($p > $cut * 0.05 ? $p - 0.05 : $p / $cut)]
    }
    set changed($f) $now
  }
}

$ns at 0.4 detect
