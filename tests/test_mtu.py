"""What a discipline takes for the length of a full packet: the longest that a scenario's flows send, the MTU behind a
shell, on a bridge and in a replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from between import Between, impossible
from test_shell_packets import real

import sluicegate as sg

CAPTURE = Path(__file__).parent / "captures" / "dumbbell.pcap"
HAVE_IT = ("codel", "fq_codel", "pie", "fq_pie", "dualpi2", "red", "pi", "rem")


@pytest.mark.parametrize("discipline", HAVE_IT)
@pytest.mark.parametrize(
    ("given", "expected"), [({}, 1500), ({"mtu": 9000}, 9000), ({"mtu": 576, "length": "frame"}, 590)]
)
def test_max_packet_follows_the_mtu_in_a_replay(discipline: str, given: dict[str, Any], expected: int) -> None:
    done = sg.replay(CAPTURE, rate="1 Mbit/s", queue=discipline, **given)
    assert done.summary["replay"]["queue"]["max_packet"] == f"{expected} B"


SENT = [
    ([sg.Tcp(name="bulk")], 1500),
    ([sg.Udp(name="jumbo", rate="1 Mbit/s", packet_size="4000 B"), sg.Tcp(name="bulk")], 4000),
    ([sg.Udp(name="voip", rate="64 kbit/s", packet_size="200 B")], 200),
    ([sg.Poisson(name="drawn", rate="100 kbit/s", sizes="exponential")], 1000),  # on average
]
"""Flows, and the longest full packet of any."""


@pytest.mark.parametrize(("flows", "expected"), SENT)
def test_max_packet_is_the_longest_that_flows_send_in_a_simulation(flows: list[Any], expected: int) -> None:
    net = sg.dumbbell(rate="5 Mbit/s", queue=sg.FqCodel())
    done = sg.simulate(net, flows, duration="200 ms")
    assert done.summary["scenario"]["queue"]["max_packet"] == f"{expected} B"


def test_the_mtu_decides_when_codel_acts() -> None:
    """RFC 8289, 5.1: CoDel does not drop while no more than one MTU is queued."""
    drops = {
        mtu: sg.replay(CAPTURE, rate="1 Mbit/s", queue="codel", mtu=mtu).links["drops_packets"].item()
        for mtu in (1500, 60_000)
    }
    assert drops[60_000] < drops[1500]


def test_an_mtu_that_is_none_is_refused() -> None:
    with pytest.raises(sg.ScenarioError, match=r"mtu.*at least 576 and at most 65535"):
        sg.replay(CAPTURE, rate="1 Mbit/s", mtu=20)


@real
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
@pytest.mark.parametrize(("mtu", "expected"), [(None, 1500), (9000, 9000)])
def test_max_packet_follows_the_mtu_behind_a_shell(mtu: int | None, expected: int) -> None:
    done = sg.shell(["true"], rate="5 Mbit/s", queue="codel", up="queue=pie", peer="sleep 5", mtu=mtu)
    queues = done.summary["live"]["queues"]
    assert [queues[way]["max_packet"] for way in ("down", "up")] == [f"{expected} B"] * 2


@real
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
@pytest.mark.parametrize(("flows", "expected"), SENT)
def test_max_packet_is_that_of_the_simulation_between_real_hosts(flows: list[Any], expected: int) -> None:
    net = sg.dumbbell(rate="5 Mbit/s", queue=sg.FqCodel())
    done = sg.testbed(net, flows, duration="200 ms")
    assert done.summary["scenario"]["queue"]["max_packet"] == f"{expected} B"


@pytest.mark.skipif(bool(impossible()), reason=impossible())
def test_max_packet_follows_the_smaller_mtu_of_a_bridge(between: Between) -> None:
    between.do("b", "ip link set left mtu 1400")
    with between.bridge("--rate", "5 Mbit/s", "--queue", "codel") as bridge:
        pass
    queues = bridge.record["summary"]["live"]["queues"]
    assert [queues[way]["max_packet"] for way in ("down", "up")] == ["1400 B"] * 2, json.dumps(queues)
