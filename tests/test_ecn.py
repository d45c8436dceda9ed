"""Explicit congestion notification from end to end: queues mark, receivers echo, senders answer (RFC 3168)."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sluicegate as sg
from sluicegate import _core

DOCS = Path(__file__).parents[1] / "docs"
DECLARATIONS = json.loads(_core.declarations())
DECLARED = {each["name"]: each for each in DECLARATIONS["disciplines"]}
ALGORITHMS = next(
    field["choices"] for source in DECLARATIONS["sources"] for field in source["fields"] if field["name"] == "algorithm"
)
# DECbit's and UT/LT's sources heed marks by rules of their own, and windows of Vegas and LEDBAT are of a few packets,
# so that marks here are never of one window: crates/tcp/tests/decbit.rs, ut_lt.rs and ecn.rs. CUBIC is tried with
# Linux's hosts; the last four are Linux's alone, and answer marks by rules of their own.
OTHERS = ("decbit", "ut_lt", "vegas", "ledbat", "cubic", "bbr", "bbr3", "dctcp", "prague")
HOSTS = [*((name, "ns2") for name in ALGORITHMS if name not in OTHERS), ("reno", "linux"), ("cubic", "linux")]
CLASS = {name: getattr(sg, each["class_name"]) for name, each in DECLARED.items()}
FIELDS = {name: {field["name"]: field for field in each["fields"]} for name, each in DECLARED.items()}
MARKERS = [name for name, fields in FIELDS.items() if {"action", "ecn"} & fields.keys() and "max_th" in fields]
CHOOSERS = [name for name in MARKERS if "above_max_th" in FIELDS[name]]


def queue(name: str, *, marks: bool = True, **values: object) -> Any:
    """A discipline that marks, or the same one that does not."""
    how: dict[str, object] = {"ecn": marks} if "ecn" in FIELDS[name] else {"action": "mark" if marks else "drop"}
    if name == "ared":
        # As RED: its slope above max_th drops, and its max_p and w_q would be others than those of the rest.
        how |= {"gentle": False, "interval": "1000 s", "w_q": 0.002}
    return CLASS[name](**how, **values)


def simulate(discipline: Any, *flows: Any, duration: str = "30 s") -> sg.Run:
    net = sg.dumbbell(rate="2 Mbit/s", delay="20 ms", access_rate="10 Mbit/s", queue=discipline)
    return sg.simulate(net, list(flows), duration=duration, warmup="0 s", seed=1)


def total(run: sg.Run, column: str, **of: object) -> int:
    return int(run.flows.filter(**of)[column].sum())


def most(run: sg.Run) -> float:
    """The greatest average that was seen; GRED has one for each class, among its state."""
    greatest = run.links["average_packets_max"][0]
    return float(run.state.filter(name="avg_0")["value"].max() if greatest is None else greatest)


# The hosts of ns-2: small windows that grow slowly, so that the averages are what the queue makes of them.
Tcp = partial(sg.Tcp, profile="ns2")

LIGHT: dict[str, object] = {"min_th": 5, "max_th": 50, "max_p": 0.2}
HEAVY: dict[str, object] = {"min_th": 5, "max_th": 15, "max_p": 0.02}

# What opens a connection and what is sent again is not capable. Without SYNs and hasty timers there is none of it but
# after a loss.
CAPABLE = partial(Tcp, ecn=True, handshake=False, min_rto="1 s")


def test_red_marks_where_it_would_drop_and_nothing_is_sent_again() -> None:
    run = simulate(queue("red", **LIGHT), Tcp(3, ecn=True))
    assert total(run, "marked_packets") == run.links["marked_packets"][0] > 50
    assert run.links["drops_packets"][0] == total(run, "drops_early") == 0
    assert total(run, "retransmissions") == total(run, "timeouts") == 0
    for flow in run.flows.to_dicts():
        assert 0 < flow["mark_responses"] <= flow["marked_packets"]
    assert run.links["utilisation"][0] > 0.9


def test_without_ecn_the_same_discipline_drops() -> None:
    for capable, marks in [(False, True), (True, False), (False, False)]:
        run = simulate(queue("red", marks=marks, **LIGHT), Tcp(3, ecn=capable))
        assert total(run, "marked_packets") == total(run, "mark_responses") == 0
        assert total(run, "drops_early") > 50
        assert total(run, "retransmissions") >= total(run, "drops_early")


def test_capable_flows_beside_others() -> None:
    run = simulate(queue("red", **LIGHT), Tcp(2, ecn=True), Tcp(2))
    assert total(run, "drops_early", group=0) == total(run, "mark_responses", group=1) == 0
    assert total(run, "marked_packets", group=1) == total(run, "retransmissions", group=0) == 0
    # The same rule meets both: what it makes of packets is as frequent, within four standard deviations.
    marks, drops = total(run, "marked_packets", group=0), total(run, "drops_early", group=1)
    arrivals = [total(run, "arrivals_packets", group=group) for group in (0, 1)]
    p = (marks + drops) / sum(arrivals)
    deviation = (p * (1 - p) * sum(1 / n for n in arrivals)) ** 0.5
    assert min(marks, drops) > 30
    assert abs(marks / arrivals[0] - drops / arrivals[1]) < 4 * deviation


def test_udp_is_not_marked_unless_it_says_so() -> None:
    sources = sg.Udp(rate="1 Mbit/s"), sg.Poisson(rate="1 Mbit/s"), sg.OnOff(rate="1 Mbit/s")
    for name in MARKERS:
        run = simulate(queue(name, **HEAVY), *sources, Tcp(1, ecn=True))
        others = run.flows.filter(pl.col("kind") != "tcp")
        assert others["drops_packets"].min() > 0  # type: ignore[operator]
        assert others["marked_packets"].sum() == others["mark_responses"].sum() == 0


@pytest.mark.parametrize("codepoint", ["ect0", "ect1"])
def test_point_7_udp_that_says_so_is_marked(codepoint: str) -> None:
    says: dict[str, Any] = {"rate": "800 kbit/s", "ecn": True, "codepoint": codepoint}
    sources = sg.Udp(**says), sg.Poisson(**says), sg.OnOff(**says)
    run = simulate(sg.L4sStep(limit=300), *sources, Tcp(1, ecn=True))
    marked = run.flows["marked_packets"].to_list()
    # An L4S queue knows its packets by ECT(1).
    assert min(marked[:3]) > 100 if codepoint == "ect1" else sum(marked) == 0
    assert marked[3] == sum(run.flows["mark_responses"]) == 0


def test_point_7_a_codepoint_needs_ecn() -> None:
    with pytest.raises(sg.ScenarioError, match="codepoint = ect1 needs ecn = true"):
        simulate(sg.Red(), sg.Udp(rate="1 Mbit/s", codepoint="ect1"))


FLOOD = sg.Udp(30, rate="400 kbit/s", jitter=0.5, ecn=True)

# One flow: thirty share bins of SFB, and CAKE's BLUE acts on each flow by itself. Three hundred: SRED's p_zap passes
# mark_th with more than 209 flows.
FLOODS = {
    "sfb": sg.Udp(rate="12 Mbit/s", ecn=True),
    "cake": sg.Udp(rate="12 Mbit/s", ecn=True),
    "sred": sg.Udp(300, rate="40 kbit/s", jitter=0.5, ecn=True),
}

# With its published gains PI's p comes to mark_th in 38 s here.
FLOODED: dict[str, dict[str, Any]] = {"pi": {"p_0": 0.2}, "fq_linux": {"ce_threshold": "1 ms"}}

WITHOUT = {"above_max_th": "mark", "mark_th": 1.0, "overload": "overflow"}
"""What makes a discipline mark as long as there is room."""


def flooded(name: str, **values: object) -> tuple[bool, float]:
    """Whether the queue stands at its limit under a flood of packets that may be marked, and TCP's part of the link."""
    tells = {"action", "ecn"} & FIELDS[name].keys()
    build = partial(queue, name) if tells else CLASS[name]
    net = sg.dumbbell(rate="10 Mbit/s", delay="20 ms", queue=build(limit=300, **FLOODED.get(name, {}), **values))
    run = sg.simulate(net, [Tcp(5, "reno", ecn=True), FLOODS.get(name, FLOOD)], duration="40 s", warmup="20 s", seed=1)
    stands = run.queue["queue_packets"].mean() > 285
    return stands, run.flows.filter(kind="tcp")["throughput_bps"].sum() / 1e7


@pytest.mark.filterwarnings("ignore::sluicegate.ScenarioWarning")
@pytest.mark.parametrize("name", [name for name, each in DECLARED.items() if each["overload"]])
def test_point_7_a_flood_that_ignores_marks_is_dropped_from(name: str) -> None:
    """RFC 3168, Sec. 7, and RFC 7567, Sec. 4.2.1."""
    stands, tcp = flooded(name)
    assert stands == (DECLARED[name]["overload"] == "marks")
    assert stands or tcp > 0.01
    # RED-PD restricts the flows whatever RED does, and PIE drops at p = 1 whatever mark_th is (RFC 8033, Sec. 5.1).
    for key in FIELDS[name].keys() & WITHOUT.keys() if name not in ("red_pd", "pie", "fq_pie") else ():
        stands, without = flooded(name, **{key: WITHOUT[key]})
        assert stands
        assert without < tcp or name == "gred"
    if name == "gred":
        assert not flooded(name, above_max_th="drop")[0]


@pytest.mark.parametrize("name", MARKERS)
def test_every_marker_marks(name: str) -> None:
    """Many flows, so that under CHOKe an arrival seldom meets its own flow; what is dropped for that goes out
    again, and then can be dropped early. That no capable packet is, crates/aqm/tests/every_discipline.rs tests."""
    run = simulate(queue(name, **LIGHT), CAPABLE(25))
    assert total(run, "marked_packets") > 100
    assert total(run, "mark_responses") > 100
    assert total(run, "drops_early") <= total(run, "retransmissions") / 4
    plain = simulate(queue(name, marks=False, **LIGHT), CAPABLE(25))
    assert total(plain, "drops_early") > 100
    assert total(plain, "marked_packets") == 0


@pytest.mark.parametrize("name", CHOOSERS)
def test_above_max_th_makes_the_difference_that_it_declares(name: str) -> None:
    drops, marks = (simulate(queue(name, above_max_th=what, **HEAVY), CAPABLE(40)) for what in ("drop", "mark"))
    averages = [most(run) for run in (drops, marks)]
    assert min(averages) > 15
    assert FIELDS[name]["above_max_th"]["default"] == ("mark" if name == "gred" else "drop")
    assert total(drops, "drops_forced") > 100
    assert total(drops, "marked_packets") > 30
    # CHOKe drops matches and RED-PD what it filters in both cases.
    assert marks.links["drops_packets"][0] == total(marks, "drops_match") + total(marks, "drops_policed")
    if name not in ("choke", "red_pd"):
        assert total(marks, "retransmissions") == 0
    # RED-PD's filter takes some of what RED would mark.
    assert total(marks, "marked_packets") > (5 if name == "red_pd" else 10) * total(drops, "marked_packets")
    # RED 1993, Sec. III: only dropping bounds the average. In the end marks do too: a window of one packet waits for
    # the timer at the next one (RFC 3168, Sec. 6.1.2).
    assert averages[1] > 2 * averages[0]
    # A dropper has no use for the key.
    first, second = (simulate(queue(name, marks=False, above_max_th=a, **HEAVY), CAPABLE(40)) for a in ("drop", "mark"))
    assert first.flows.equals(second.flows)


def test_choke_linux_marks_above_max_th_too() -> None:
    run = simulate(queue("choke_linux", **HEAVY), CAPABLE(40), Tcp(3))
    assert run.links["average_packets_max"][0] > 16
    # Matches drop capable packets, which go out again without the capability.
    assert total(run, "drops_forced", group=0) <= total(run, "retransmissions", group=0)
    assert total(run, "drops_forced", group=0) < total(run, "marked_packets", group=0) / 50
    assert total(run, "drops_forced", group=1) > 10


@pytest.mark.parametrize("name", [name for name in MARKERS if "match" in DECLARED[name]["drop_reasons"]])
def test_a_match_is_a_loss_though_the_flow_is_capable(name: str) -> None:
    run = simulate(queue(name, **HEAVY), Tcp(3, ecn=True))
    assert total(run, "drops_match") > 20


def test_bare_acknowledgements_are_not_marked() -> None:
    """RFC 3168, Section 6.1.4: they are not capable; with data both ways on one queue, only data carries marks."""
    links = [
        sg.Link(name="there", from_="a", to="b", rate="2 Mbit/s", delay="20 ms"),
        sg.Link(name="back", from_="b", to="a", rate="40 kbit/s", delay="20 ms"),
    ]
    # Acknowledgements of 40 bytes fill the way back before data fills the way there.
    net = sg.topology(*links, queue=queue("red", **LIGHT))
    run = sg.simulate(net, Tcp(5, ecn=True, path=["there"], return_path=["back"]), duration="30 s", warmup="0 s")
    back = run.links.filter(link="back")
    assert back["drops_early"][0] > 20
    assert back["marked_packets"][0] == 0


class Marker(sg.Aqm):
    """A queue without limit that marks packets by their number."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers = numbers
        self.queue: list[sg.Packet] = []

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        assert packet.number not in self.numbers or packet.mark()
        self.queue.append(packet)

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return self.queue.pop(0) if self.queue else None


@pytest.mark.parametrize(("algorithm", "profile"), HOSTS)
@pytest.mark.parametrize(
    ("numbers", "cuts"),
    [((), 0), ((600,), 1), ((600, 601, 640), 1), (tuple(range(600, 690)), 1), ((600, 1000), 2), ((600, 1000, 1400), 3)],
)
def test_one_cut_for_each_window_of_marks(algorithm: str, profile: Any, numbers: tuple[int, ...], cuts: int) -> None:
    """A flow alone with a window of 100 packets: marks within 100 packets are one event, 400 packets apart they are
    not. Without an end of the echo the cuts would go on; without the mark the window would stand."""
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=partial(Marker, numbers=numbers))
    tcp = Tcp(1, algorithm, profile=profile, window=100, initial_ssthresh=100, ecn=True)
    run = sg.simulate(net, tcp, duration="30 s", warmup="0 s")
    flow = run.flows.to_dicts()[0]
    assert flow["marked_packets"] == len(numbers)
    assert flow["mark_responses"] == cuts
    assert flow["drops_packets"] == flow["retransmissions"] == 0


def test_a_mark_halves_the_window_of_reno() -> None:
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=partial(Marker, numbers=(600,)))
    run = sg.simulate(net, Tcp(1, "reno", window=100, ecn=True), duration="20 s", warmup="0 s")
    series = run.flow_series["cwnd_segments"].to_list()
    least = min(series[series.index(max(series)) :])
    # 100 packets are under way when the mark is seen: the window is cut to 50, and grows by one packet a round trip of
    # at least 0.4 s.
    assert max(series) >= 100
    assert 50 <= least < 53


def test_every_marker_declares_what_it_does_above_max_th() -> None:
    assert MARKERS
    for name in MARKERS:
        fixed = "above max_th" in FIELDS[name].get("ecn", {}).get("doc", "").lower()
        assert (name in CHOOSERS) != fixed, name


def test_the_manual_says_what_the_declarations_say() -> None:
    section = (DOCS / "scenarios.md").read_text("utf-8").split("## ECN")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \| (.*) \|$", section, re.M)
    said = {name: (switch, drops) for names, *(switch, drops) in rows for name in re.findall(r"`(\w+)`", names)}
    assert said.keys() == {name for name, each in DECLARED.items() if each["overload"]}
    for name, (switch, drops) in said.items():
        for key, value in re.findall(r"`(\w+) = ([^`]*)`", switch):
            assert json.loads(value) in ("mark", True, "1 ms")
            assert key in FIELDS[name]
        assert (switch == "always") == (DECLARED[name]["marks"] == "always")
        assert drops.startswith(("never", "only with")) == (DECLARED[name]["overload"] == "marks")
        for key in ("above_max_th", "mark_th", "overload"):
            assert (f"`{key}" in drops) == (key in FIELDS[name])
