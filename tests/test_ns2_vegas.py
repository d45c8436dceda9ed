"""Vegas against ns-2's where it is installed: the packets that each flow keeps in a queue that drops none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from statistics import fmean

import pytest

import sluicegate as sg

pytestmark = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")

SEEDS = range(1, 6)
SCRIPT = """
set ns [new Simulator]
ns-random {seed}
set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b 1.5Mb 20ms DropTail
$ns simplex-link $b $a 1.5Mb 20ms DropTail
$ns queue-limit $a $b 1000
$ns queue-limit $b $a 1000
set start [new RandomVariable/Uniform]
$start set min_ 0
$start set max_ 1
for {{set i 0}} {{$i < {flows}}} {{incr i}} {{
  set s [$ns node]
  set r [$ns node]
  $ns duplex-link $s $a 10Mb 5ms DropTail
  $ns duplex-link $b $r 10Mb 0ms DropTail
  set tcp [new Agent/TCP/Vegas]
  $tcp set packetSize_ 960
  $tcp set window_ 100
  set sink [new Agent/TCPSink]
  $ns attach-agent $s $tcp
  $ns attach-agent $r $sink
  $ns connect $tcp $sink
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns at [$start value] "$ftp start"
}}
set mon [$ns monitor-queue $a $b ""]
set sum 0
set count 0
proc look {{}} {{
  global ns mon sum count
  set sum [expr $sum + [$mon set pkts_]]
  incr count
  $ns at [expr [$ns now] + 0.0503] look
}}
$ns at 20.0 look
$ns at 80.0 {{puts "[expr 1.0 * $sum / $count] [$mon set pdrops_]"; exit 0}}
$ns run
"""


def theirs(flows: int, folder: Path) -> float:
    means = []
    for seed in SEEDS:
        script = folder / f"{seed}.tcl"
        script.write_text(SCRIPT.format(seed=seed, flows=flows), "utf-8")
        done = subprocess.run(["ns", script], capture_output=True, text=True, check=True)
        queue, drops = map(float, done.stdout.split())
        assert drops == 0
        means.append(queue)
    return fmean(means) / flows


def ours(flows: int) -> float:
    means = []
    for seed in SEEDS:
        run = sg.run("choke1999_tcp", seed=seed, sets={
            "network.rate": "1.5 Mbit/s", "network.delay": "20 ms", "queue.discipline": "drop_tail",
            "queue.limit": 1000,
            "flows.0.algorithm": "vegas", "flows.0.count": flows, "flows.0.access_delay": "5 ms",
            "run.duration": "80 s", "run.warmup": "20 s", "run.series": False,
        })  # fmt: skip
        link = run.links.row(0, named=True)
        assert link["lost_packets"] == 0
        assert link["utilisation"] > 0.99
        means.append(link["queue_packets_mean"])
    return fmean(means) / flows


@pytest.mark.parametrize("flows", [1, 5, 10])
def test_each_flow_keeps_about_as_many_packets(flows: int, tmp_path: Path) -> None:
    """ns-2 rounds Diff, so that its upper end is half a packet higher; flows that start late take a queue for part of
    their path, and keep more."""
    difference = theirs(flows, tmp_path) - ours(flows)
    assert -0.5 < difference < 1.5
