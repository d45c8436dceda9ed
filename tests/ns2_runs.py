"""Runs of ns-2 where it is installed: a dumbbell of one bottleneck, with flows that a test attaches to it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

installed = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")

DUMBBELL = """
set ns [new Simulator]
ns-random {seed}
set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b {mbps}Mb 20ms {kind}
$ns simplex-link $b $a {mbps}Mb 20ms DropTail
$ns queue-limit $a $b {limit}
$ns queue-limit $b $a 1000
set q [[$ns link $a $b] queue]
{lines}
set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 1
proc attach {{agent sink}} {{
  global ns a b
  set s [$ns node]
  set r [$ns node]
  $ns duplex-link $s $a 10Mb 5ms DropTail
  $ns duplex-link $b $r 10Mb 0ms DropTail
  $ns queue-limit $s $a 10000
  $ns attach-agent $s $agent
  $ns attach-agent $r $sink
  $ns connect $agent $sink
}}
proc transfer {{tcp sink}} {{
  global ns start
  $tcp set packetSize_ 960
  $tcp set window_ 100
  attach $tcp $sink
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns at [$start value] "$ftp start"
}}
{flows}
set mon [$ns monitor-queue $a $b ""]
proc counts {{}} {{
  global mon null
  return "{counted}"
}}
$ns at {begin} {{set before [counts]}}
$ns at {end} {{puts "$before [counts]"; exit 0}}
$ns run
"""


def counted(folder: Path, **values: object) -> list[float]:
    """What each of the words `counted` has grown by from `begin` to `end`, in seconds."""
    path = folder / "x.tcl"
    path.write_text(DUMBBELL.format(**values))
    done = subprocess.run(["ns", str(path)], capture_output=True, text=True, check=True)
    numbers = [float(word) for word in done.stdout.split()]
    half = len(numbers) // 2
    return [after - before for before, after in zip(numbers[:half], numbers[half:], strict=True)]
