"""`sluicegate design dcn` and `afd`: the gains by hand, their margins, errors that name the value, queues that hold."""

from __future__ import annotations

import json

import pytest
from conftest import Program

import sluicegate as sg


def test_the_gains_by_hand() -> None:
    """b = gain·T_dec/(N·T_update) = 2/9·128/2000; beta = gain·b/(N·n) = 2/9·3333/(400·8333/160)."""
    dcn = sg.design_dcn(flows=2000)
    assert dcn.queue.b == pytest.approx(0.014222, rel=1e-4)
    assert dcn.queue.a == pytest.approx(dcn.queue.b * 1.7 / 1.8)
    afd = sg.design_afd(rate="100 Mbit/s", flows=400)
    assert afd.queue.beta == pytest.approx(2 / 9 * 3333 / (400 * 1e8 / 12_000 / 160))
    assert afd.queue.alpha == pytest.approx(afd.queue.beta * 1.7 / 1.8)
    for design in (dcn, afd):
        assert design.gain_margin == pytest.approx(9.26, abs=0.01)
        assert design.phase_margin == pytest.approx(69.3, abs=0.1)
        assert design.half_s == pytest.approx(14 * 0.00625)
        assert not design.warnings
    assert "a gain of 0.5 leaves a gain margin of 4.27" in sg.design_dcn(flows=10, gain=0.5).warnings[0]


def test_the_commands(sluicegate: Program) -> None:
    record = json.loads(sluicegate("design", "dcn", "--flows", "200", "--ecn", "--json").stdout)
    assert record["queue"] == {
        "discipline": "dcn", "q_ref": 24, "limit": 1000, "a": pytest.approx(0.13432, rel=1e-4),
        "b": pytest.approx(0.14222, rel=1e-4), "t_dec": "800 ms", "t_update": "6250 us", "action": "mark",
    }  # fmt: skip
    text = sluicegate("design", "afd", "--rate", "10 Mbit/s", "--flows", "50", "--q-ref", "60").stdout
    assert "[queue.afd]" in text
    assert "stable up to 463 flows" in text
    assert "stable with all 8192 flows that it can hold" in sluicegate("design", "dcn", "--flows", "2000").stdout


def test_what_is_questionable_is_said_and_small_gains_end() -> None:
    """1.678 is where (1 + x)·e^-x is a half: after 2·1.678/gain updates half of a standing error is gone."""
    slow = sg.design_dcn(flows=10, gain=1e-9, t_update="1 s")
    assert slow.half_s == pytest.approx(2 * 1.67835 / 1e-9, rel=1e-4)
    assert "t_update = 1 s is longer than t_dec = 800 ms" in slow.warnings[0]
    assert sg.design_dcn(flows=10, q_ref=5000).queue.limit == 20_000
    assert sg.design_afd(rate="1 bit/s", flows=1, w=1e9).queue.beta == pytest.approx(2 / 9 * 500)  # n is 1 at least


@pytest.mark.parametrize(
    ("discipline", "change", "message"),
    [
        ("dcn", {"flows": 0}, "flows = 0: must be a whole number, from 1"),
        ("dcn", {"gain": 0}, "gain = 0: must be above 0 and at most 1"),
        ("dcn", {"gain": True}, "gain = True: must be above 0 and at most 1"),
        ("dcn", {"gain": 1e-300}, "gain = 1e-300: too small"),
        ("dcn", {"flows": 8193}, "flows = 8193: HB, DCN's table of high-bandwidth flows, holds at most 8192"),
        ("dcn", {"t_dec": "soon"}, "t_dec"),
        ("afd", {"b": 100_000}, "b = 100000: must be at least 1 and at most 65536"),
        ("afd", {"rate": "0 Mbit/s"}, 'rate = "0 Mbit/s": must be above 0'),
        ("afd", {"flows": 501}, "flows = 501: the shadow buffer holds b = 500 packets"),
        ("afd", {"w": float("nan")}, "w = nan: must be above 0"),
    ],
)
def test_errors_name_the_value(discipline: str, change: dict[str, object], message: str) -> None:
    with pytest.raises(sg.ScenarioError) as caught:
        if discipline == "dcn":
            sg.design_dcn(**({"flows": 10} | change))  # type: ignore[arg-type]
        else:
            sg.design_afd(**({"rate": "10 Mbit/s", "flows": 10} | change))  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize("flows", [10, 100, 1000])
@pytest.mark.parametrize("queue", [sg.Dcn(q_ref=50, limit=1000), sg.Afd(q_ref=100, limit=1000)], ids=["dcn", "afd"])
def test_queues_hold_from_ten_flows_to_a_thousand(queue: sg.Dcn | sg.Afd, flows: int) -> None:
    """Transfers that could fill the link several times over: the queue stays between half and twice its target and
    does not overflow. Each has 2 Mbit/s of the link at first, 0.1 at last."""
    rate = max(2 * min(flows, 10), flows // 10)
    net = sg.dumbbell(rate=f"{rate} Mbit/s", delay="20 ms", queue=queue)
    tcp = sg.Tcp(
        flows, "newreno", profile="ns2", window=1000, access_rate="100 Mbit/s", access_delay="10 ms", spread="5 s"
    )
    run = sg.simulate(net, tcp, duration="60 s", warmup="30 s", seed=1)
    link = run.links.row(0, named=True)
    assert queue.q_ref / 2 < link["queue_packets_mean"] < 2 * queue.q_ref  # type: ignore[operator]
    assert link["drops_tail"] == 0
