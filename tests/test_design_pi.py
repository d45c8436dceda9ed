"""`sluicegate design pi` and `design_pi`: the published constants, errors that name the value, a queue that holds."""

from __future__ import annotations

import json

import pytest
from conftest import Program

import sluicegate as sg

PAPER = {"rate": "15 Mbit/s", "rtt": "246 ms", "flows": 60, "packet_size": "500 B"}
"""Hollot et al. 2001: C = 3750 packets/s."""


def test_the_published_constants() -> None:
    design = sg.design_pi(**PAPER)  # type: ignore[arg-type]
    assert design.c == 3750
    assert design.queue.a == pytest.approx(1.822e-5, rel=0.02)
    assert design.queue.b == pytest.approx(1.816e-5, rel=0.02)
    assert not design.warnings


def test_the_command(sluicegate: Program) -> None:
    options = ["--rate", "15 Mbit/s", "--rtt", "246 ms", "--flows", "60", "--packet-size", "500 B"]
    done = sluicegate("design", "pi", *options, "--ecn", "--json")
    record = json.loads(done.stdout)
    queue = record["queue"]
    assert queue | {"a": 0, "b": 0} == {
        "discipline": "pi", "q_ref": 50, "a": 0, "b": 0, "w": 170.0, "limit": 973, "action": "mark",
    }  # fmt: skip
    text = sluicegate("design", "pi", *options).stdout
    assert "Queue/PI set a_ 1.85" in text
    assert "[queue.pi]" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flows": 0}, "flows = 0: must be a whole number, from 1"),
        ({"rate": "0 Mbit/s"}, 'rate = "0 Mbit/s": must be above 0'),
        ({"rtt": "soon"}, "rtt"),
        ({"w": 0.1}, "w = 0.1: too few samples for a controller with its zero at 0.529 rad/s; must be above 0.264 Hz"),
        ({"w": float("nan")}, "w = nan: must be above 0"),
        ({"q_ref": 0}, "q_ref = 0: must be a whole number, from 1"),
    ],
)
def test_errors_name_the_value(change: dict[str, object], message: str) -> None:
    with pytest.raises(sg.ScenarioError) as caught:
        sg.design_pi(**(PAPER | change))  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_warnings_say_what_does_not_suit() -> None:
    crowded = sg.design_pi(rate="1 Mbit/s", rtt="100 ms", flows=32)
    assert "smaller than the model" in crowded.warnings[0]
    assert "would keep the sampled law" in sg.design_pi(**(PAPER | {"w": 5.0})).warnings[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("ecn", [False, True], ids=["drops", "marks"])
def test_the_queue_stays_at_its_target(ecn: bool) -> None:
    """20 of Linux's Renos on 10 Mbit/s, 60 ms of round trip and 60 ms of queue: the queue is at q_ref, and steady."""
    queue = sg.design_pi(rate="10 Mbit/s", rtt="120 ms", flows=20, q_ref=50, ecn=ecn).queue
    net = sg.dumbbell(rate="10 Mbit/s", delay="1 ms", queue=queue)
    tcp = sg.Tcp(20, "reno", profile="linux", rtt="60 ms", ecn=ecn)
    run = sg.simulate(net, tcp, duration="160 s", warmup="60 s", seed=1)
    packets = run.queue.filter(run.queue["time_s"] > 60)["queue_packets"]
    assert packets.mean() == pytest.approx(50, abs=5)
    assert float(packets.std()) < 25  # type: ignore[arg-type]
    p = run.state.filter((run.state["time_s"] > 60) & (run.state["name"] == "p"))["value"]
    assert 0.001 < p.mean() < 0.1  # type: ignore[operator]
