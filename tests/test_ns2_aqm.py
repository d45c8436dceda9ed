"""PI, adaptive RED, REM and RIO against ns-2 where it is installed: an unresponsive flow among 32 TCPs, and TCPs alone.

Means over seeds are compared, as in test_ns2.py: random numbers and starts differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest
from ns2_runs import counted, installed

import sluicegate as sg

pytestmark = installed

SEEDS = range(1, 6)
START, END = 60, 260
FLOWS = """
for {{set i 0}} {{$i < 32}} {{incr i}} {{
  set tcp [new Agent/TCP/Reno]
  $tcp set fid_ 1
  transfer $tcp [new Agent/TCPSink]
}}
set null [new Agent/LossMonitor]
if {{{udp}}} {{
  set agent [new Agent/UDP]
  $agent set packetSize_ 1000
  $agent set fid_ 0
  attach $agent $null
  set cbr [new Application/Traffic/CBR]
  $cbr set packetSize_ 1000
  $cbr set rate_ 2Mb
  $cbr set random_ 1
  $cbr attach-agent $agent
  $ns at [$start value] "$cbr start"
}}
"""
COUNTED = (
    "[$mon set bdepartures_] [$null set bytes_] [$mon set pdrops_] [$mon set parrivals_] "
    "[[$mon get-pkts-integrator] set sum_]"
)


@dataclass(frozen=True)
class Measured:
    """Mbit/s that left the link, and of the UDP flow; the part of packets dropped; packets in the queue on average."""

    total: float
    udp: float
    loss: float
    queue: float


def mean(runs: list[Measured]) -> Measured:
    return Measured(*(fmean(getattr(run, name) for run in runs) for name in ("total", "udp", "loss", "queue")))


RED = "\n".join(
    f"$q set {name} {value}"
    for name, value in {
        "thresh_": 10, "maxthresh_": 30, "q_weight_": 0.002, "linterm_": 10, "gentle_": "false", "wait_": "false",
        "bytes_": "false", "queue_in_bytes_": "false", "mean_pktsize_": 1000, "setbit_": "false",
        "adaptive_": 1, "top_": 0.5, "bottom_": 0.01, "alpha_": 0.01, "beta_": 0.9, "interval_": 0.5,
    }.items()
)  # fmt: skip
GAINS = sg.design_pi(rate="1 Mbit/s", rtt="500 ms", flows=32, packet_size="1000 B").queue
QUEUES = {
    # Kind and lines in ns-2, and the same here.
    "pi": (
        "PI",
        f"$q set a_ {GAINS.a}\n$q set b_ {GAINS.b}\n$q set qref_ 50",
        sg.Pi(a=GAINS.a, b=GAINS.b, q_ref=50, limit=300),
    ),
    "ared": (
        "RED",
        RED,
        sg.Ared(w_q=0.002, min_th=10, max_th=30, max_p=0.1, gentle=False, law="ns2", s="8 ms", limit=300),
    ),
    "rem": ("REM", "$q set mean_pktsize_ 1000", sg.Rem(limit=299)),
    "rio": (
        "RED/RIO",
        "$q set priority_method_ 1\n$q set mean_pktsize_ 1000\n$q set wait_ false",
        sg.Rio(s="8 ms", limit=300),
    ),
}


def ns2(folder: Path, name: str, udp: bool, seed: int) -> Measured:
    kind, lines, _ = QUEUES[name]
    sent, udp_bytes, dropped, arrived, area = counted(
        folder, seed=seed, mbps=1, kind=kind, limit=300, lines=lines, flows=FLOWS.format(udp=int(udp)),
        counted=COUNTED, begin=START, end=END,
    )  # fmt: skip
    span = END - START
    return Measured(sent * 8e-6 / span, udp_bytes * 8e-6 / span, dropped / arrived, area / span)


def ours(name: str, udp: bool, seed: int) -> Measured:
    net = sg.dumbbell(rate="1 Mbit/s", delay="20 ms", access_rate="10 Mbit/s", queue=QUEUES[name][2])
    flows: list[object] = [
        sg.Tcp(32, "reno", profile="ns2", window=100, access_rate="10 Mbit/s", access_delay="5 ms"),
    ]
    if udp:
        # Out for RIO, as fid 0 is there.
        flows.append(sg.Udp(rate="2 Mbit/s", access_rate="10 Mbit/s", access_delay="5 ms", priority=1))
    run = sg.simulate(net, flows, duration=f"{END} s", warmup=f"{START} s", seed=seed, series=False)
    [link] = run.links.to_dicts()
    fast = run.flows.filter(run.flows["kind"] == "udp")["throughput_bps"].sum() / 1e6
    loss = link["drops_packets"] / link["arrivals_packets"]
    return Measured(link["utilisation"], fast, loss, link["queue_packets_mean"])


@pytest.mark.parametrize("udp", [True, False], ids=["with UDP", "TCP alone"])
@pytest.mark.parametrize("name", QUEUES)
def test_shares_are_those_of_ns2(tmp_path: Path, name: str, udp: bool) -> None:
    theirs = mean([ns2(tmp_path, name, udp, seed) for seed in SEEDS])
    mine = mean([ours(name, udp, seed) for seed in SEEDS])
    print(f"{name}, {udp}: {mine} here, {theirs} in ns-2")  # seen with pytest -rP
    # Means over five seeds of 200 s differ by up to 0.004 Mbit/s in throughput and 0.002 in UDP's (both REM's, whose
    # queue runs empty), 2.2 % in losses and 2.4 % in the queue; about twice that is allowed.
    assert mine.total == pytest.approx(theirs.total, abs=0.01)
    assert mine.udp == pytest.approx(theirs.udp, abs=0.01)
    assert mine.loss == pytest.approx(theirs.loss, rel=0.05)
    assert mine.queue == pytest.approx(theirs.queue, rel=0.06)
