"""PI, adaptive RED, REM and RIO against what `make ns2` has recorded: 32 TCPs with an unresponsive flow, and alone.

Means over seeds are compared, as in test_ns2.py: random numbers and starts differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest

import sluicegate as sg
from ns2_numbers import recorded

SEEDS = range(1, 6)
START, END = 60, 260


@dataclass(frozen=True)
class Measured:
    """Mbit/s that left the link, and of the UDP flow; the part of packets dropped; packets in the queue on average."""

    total: float
    udp: float
    loss: float
    queue: float


def mean(runs: list[Measured]) -> Measured:
    return Measured(*(fmean(getattr(run, name) for run in runs) for name in ("total", "udp", "loss", "queue")))


GAINS = sg.design_pi(rate="1 Mbit/s", rtt="500 ms", flows=32, packet_size="1000 B").queue
# The queue in tests/ns2/aqm.tcl, and here.
QUEUES = {
    "pi": ("PI", sg.Pi(a=GAINS.a, b=GAINS.b, q_ref=50, limit=300)),
    "ared": ("RED", sg.Ared(w_q=0.002, min_th=10, max_th=30, max_p=0.1, gentle=False, law="ns2", s="8 ms", limit=300)),
    "rem": ("REM", sg.Rem(limit=299)),
    "rio": ("RED/RIO", sg.Rio(s="8 ms", limit=300)),
}


def test_pi_has_the_same_gains_there() -> None:
    script = Path(__file__).with_name("ns2").joinpath("aqm.tcl").read_text("utf-8")
    assert f"$q set a_ {GAINS.a}\n    $q set b_ {GAINS.b}\n" in script


def ns2(name: str, udp: bool) -> list[Measured]:
    span = END - START
    return [
        Measured(
            run["bytes"] * 8e-6 / span, run["udp_bytes"] * 8e-6 / span, run["drops"] / run["arrivals"],
            run["packet_seconds"] / span,
        )
        for run in recorded("aqm", f"{QUEUES[name][0]} {int(udp)}")
    ]  # fmt: skip


def ours(name: str, udp: bool, seed: int) -> Measured:
    net = sg.dumbbell(rate="1 Mbit/s", delay="20 ms", access_rate="10 Mbit/s", queue=QUEUES[name][1])
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
def test_shares_are_those_of_ns2(name: str, udp: bool) -> None:
    theirs = mean(ns2(name, udp))
    mine = mean([ours(name, udp, seed) for seed in SEEDS])
    print(f"{name}, {udp}: {mine} here, {theirs} in ns-2")  # seen with pytest -rP
    # Means over five seeds of 200 s differ by up to 0.004 Mbit/s in throughput and 0.002 in UDP's (both REM's, whose
    # queue runs empty), 2.2 % in losses and 2.4 % in the queue; about twice that is allowed.
    assert mine.total == pytest.approx(theirs.total, abs=0.01)
    assert mine.udp == pytest.approx(theirs.udp, abs=0.01)
    assert mine.loss == pytest.approx(theirs.loss, rel=0.05)
    assert mine.queue == pytest.approx(theirs.queue, rel=0.06)
