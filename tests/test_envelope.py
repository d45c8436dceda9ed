"""Envelopes: the grid, regions and distances by hand, the kept ones beside hand calculations, and the command."""

from __future__ import annotations

import json
import math
import re
import runpy
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import open_page
from conftest import Program

import sluicegate as sg
from sluicegate import traps
from sluicegate.envelopes import KEPT, Edges, Envelope, Measured, kept
from sluicegate.envelopes.promises import BOUND, LATE_NS, PROMISES, TARGET, promised_ns
from sluicegate.evaluation.envelope import page
from sluicegate.evaluation.envelope.grid import (
    FULL,
    IN_PYTHON,
    MS,
    PACKET,
    PACKET_BITS,
    QUICK,
    WINDOW,
    Cell,
    Grid,
    cycle_s,
    warmup_s,
)  # fmt: skip
from sluicegate.evaluation.envelope.moves import moved
from sluicegate.experiments.disciplines import known
from sluicegate.traps.envelope import far

TOOL = runpy.run_path(str(Path(__file__).parents[1] / "tools/envelope_page.py"))
TINY = Grid((1_000_000, 3_160_000), (1, 10), (30 * MS,), (30 * MS,), (10, 30 * MS), 1e6, 1e6)
OWN = """\
import sluicegate as sg


class Short(sg.Aqm):
    def __init__(self, *, rate_bps, target_ms=40):
        self.most, self.queue = rate_bps * target_ms / 8000, sg.PacketQueue()

    def enqueue(self, packet, ctx):
        if ctx.bytes + packet.bytes > self.most:
            ctx.drop(packet, "tail")
        else:
            self.queue.append(packet)

    def dequeue(self, ctx):
        return self.queue.pop()
"""

# The grid -----------------------------------------------------------------------------------------------------------


def test_a_cycle_of_cubic_is_its_inflection_time() -> None:
    """RFC 9438, Sec. 4.2: K = ∛(W_max (1 − β) / C), with β = 0.7 and C = 0.4."""
    assert cycle_s(1000) == pytest.approx((1000 * 0.3 / 0.4) ** (1 / 3))


def test_a_cell_lasts_as_long_as_its_flows_need_and_costs_no_more_than_allowed() -> None:
    slow = Cell(100_000, 10, 30 * MS)
    assert warmup_s(slow, FULL.most) == 2000 * PACKET_BITS / 1e5, "packets"
    assert warmup_s(Cell(10_000_000, 10, 30 * MS), FULL.most) == 20, "seconds"
    alone = Cell(1_000_000_000, 1, 30 * MS)
    assert warmup_s(alone, FULL.most) == pytest.approx(max(20, 1.5 * cycle_s(2500)))
    fast = Cell(10_000_000_000, 100, 30 * MS)
    assert warmup_s(fast, FULL.most) == pytest.approx(FULL.most * PACKET_BITS / 1e10 / 2), "as many packets as allowed"
    assert warmup_s(fast, 2e6) == "packets", "less than a cycle"
    assert warmup_s(Cell(10_000_000_000, 10, 200 * MS), math.inf) == "windows"
    for grid in (FULL, QUICK):
        for cell in grid.cells():
            seconds = warmup_s(cell, grid.most)
            if not isinstance(seconds, str):
                assert 2 * seconds * cell.rate_bps / PACKET_BITS <= grid.most * 1.001
                assert cell.share * PACKET <= WINDOW


@pytest.mark.parametrize(
    ("grid", "part", "windows", "packets", "fastest_moved"),
    [(FULL, 1, 5, 0, 3.16e9), (QUICK, 1, 4, 5, 1e9), (FULL, IN_PYTHON, 5, 10, 1e9), (QUICK, IN_PYTHON, 4, 11, 316e6)],
)
def test_cells_that_are_not_measured_are_those_of_the_manual(
    grid: Grid, part: float, windows: int, packets: int, fastest_moved: float
) -> None:
    came = [warmup_s(cell, part * grid.most) for cell in grid.cells()]
    assert (came.count("windows"), came.count("packets")) == (windows, packets)
    row = [cell.rate_bps for cell in grid.row() if not isinstance(warmup_s(cell, part * grid.most_moved), str)]
    assert max(row) == fastest_moved


def test_values_are_moved_in_their_unit() -> None:
    assert [moved(value, 2.0) for value in (5, 0.02, "5 ms", "1500 B", "2 Mbit/s")] == [
        "10", "0.04", "10000000 ns", "3000 B", "4000000 bit/s",
    ]  # fmt: skip
    assert moved(1, 0.5) is None, "half of a packet is none"
    assert [moved(value, 2.0) for value in (True, None, 0, "drop", [1])] == [None] * 5


# Promises -----------------------------------------------------------------------------------------------------------


def test_every_discipline_has_a_promise_with_a_source() -> None:
    assert list(PROMISES) == sorted(PROMISES, key=list(PROMISES).index)
    assert {*PROMISES} == {*known()}
    assert all(each.source and each.within in (BOUND, TARGET) for each in PROMISES.values())


@pytest.mark.parametrize("name", known())
def test_every_promise_can_be_read_of_a_queue(name: str) -> None:
    queue = sg.check(f'network = {{rate = "10 Mbit/s"}}\nqueue = {{discipline = "{name}"}}\n'
                     'flows = [{kind = "tcp"}]\nrun = {duration = "1 s"}')["queue"]  # fmt: skip
    assert 1e6 < promised_ns(queue, 10e6, PACKET) < 20e9


def test_a_promise_in_packets_takes_time_and_one_in_time_does_not() -> None:
    red: dict[str, Any] = {"discipline": "red", "max_th": 15}
    assert promised_ns(red, 1e6, PACKET) == pytest.approx((1.1 * 15 + 1) * 12e6)
    assert promised_ns(red | {"max_th": "30000 B"}, 1e6, PACKET) == pytest.approx((1.1 * 20 + 1) * 12e6)
    codel = {"discipline": "codel", "target": "5 ms"}
    assert promised_ns(codel, 1e5, PACKET) == promised_ns(codel, 1e9, PACKET) == 10e6
    assert promised_ns({"discipline": "cake", "rtt": "100 ms"}, 1e6, PACKET) == 10e6
    assert promised_ns({"discipline": "cake", "rtt": "100 ms", "target": "8 ms"}, 1e6, PACKET) == 16e6
    assert promised_ns({"discipline": "rio_ps", "limit": 240, "out_max": 0.5}, 1e6, PACKET) == pytest.approx(133 * 12e6)
    assert promised_ns({"discipline": "my.py:MyAqm"}, 1e6, PACKET) == LATE_NS


# Regions by hand ----------------------------------------------------------------------------------------------------


def line(*cells: tuple[float, float] | None) -> Envelope:
    """Rates of a decade each from 1 Mbit/s on, under one flow: the part used, and the delay of 10 ms promised."""
    rates = tuple(10.0 ** (6 + place) for place in range(len(cells)))
    return Envelope(rates, (1,), (30e6,), tuple(None if c is None else Measured(c[0], c[1] * 1e6, 10e6) for c in cells))


def test_edges_are_where_used_part_and_delay_cross_the_promise() -> None:
    found = line((1, 100), (1, 1), (1, 1), (0.8, 1)).edges(1, 30e6)
    assert found is not None
    assert found.low == pytest.approx(10**6.5, rel=1e-4), "100 ms, 10 ms, 1 ms by the logarithm"
    assert found.high == pytest.approx(10**8.5, rel=1e-4), "100 %, 90 %, 80 %"
    assert (found.open_low, found.open_high) == (False, False)
    assert found.decades == pytest.approx(2, rel=1e-4)


def test_edges_are_open_where_the_grid_or_what_was_measured_ends() -> None:
    assert line((1, 1), (1, 1), None).edges(1, 30e6) == Edges(1e6, 1e7, True, True)
    assert line((0.5, 1), (1, 100)).edges(1, 30e6) is None
    longest = line((1, 1), (0.5, 1), (1, 1), (1, 1)).edges(1, 30e6)
    assert longest is not None
    assert longest.high == 1e9


def test_the_longest_of_several_ranges_is_marked() -> None:
    several, one = line((1, 1), (0.5, 1), (1, 1), (1, 1)).edges(1, 30e6), line((0.5, 1), (1, 1), (1, 1)).edges(1, 30e6)
    assert several is not None
    assert one is not None
    assert (several.others, page.edges_text(several).endswith("to ≥ 1 Gbit/s *")) == (True, True)
    assert (one.others, "*" in page.edges_text(one)) == (False, False)
    assert page.edges_text(edges("red", 1000, 5)).endswith("*"), "1 to 10 Mbit/s, and 35 Mbit/s to 10 Gbit/s"


def test_an_open_end_is_a_bound_and_no_edge() -> None:
    """A parameter moves a region where an end surely moves by more than chance does."""
    apart = page._apart
    closed, open_ = Edges(1e6, 1e8, False, False), Edges(1e6, 1e8, True, True)
    assert not apart(closed, Edges(1.2e6, 0.8e8, False, False))
    assert apart(closed, Edges(1e6, 1.6e8, False, False))
    assert apart(closed, Edges(0.6e6, 1e8, False, False))
    assert not apart(open_, Edges(0.5e6, 2e8, False, False)), "the open one may go as far"
    assert apart(open_, Edges(1e6, 0.5e8, False, False)), "goes no further than half of what the open one does"
    assert apart(Edges(2e6, 1e8, False, False), open_)
    assert not apart(open_, Edges(1e5, 1e9, True, True)), "not measured is not moved"
    assert apart(None, closed)
    assert not apart(None, None)


def test_where_nothing_was_measured_the_nearest_rate_tells_of_what_grows_worse() -> None:
    """Less is used of faster links, and packets wait longer on slower ones; the other way round nothing is known."""
    fast = line((1, 1), (0.5, 1), None).outside(1e8, 1, 30e6)
    assert fast is not None
    assert (fast.already, fast.axis, fast.measured.used) == (1e7, "rate", 0.5)
    assert fast.factor == pytest.approx(1e8 / fast.value, rel=1e-6)
    slow = line((1, 100), (1, 1)).outside(1e5, 1, 30e6)
    assert slow is not None
    assert slow.already == 1e6
    assert slow.measured.late == pytest.approx(10)
    assert line((1, 1), (1, 100), None).outside(1e8, 1, 30e6) is None
    assert line(None, (0.5, 1), (1, 1)).outside(1e6, 1, 30e6) is None
    assert line((1, 1), None).outside(1e7, 1, 30e6) is None


def test_no_promise_excuses_400_ms() -> None:
    assert Measured(1, 399e6, 1e9).kept
    assert not Measured(1, 401e6, 1e9).kept


def test_the_distance_is_the_least_factor_of_one_axis() -> None:
    cells = [Measured(used, 1e6, 10e6) for used in (1.0, 1.0, 1.0, 0.4, 1.0, 1.0, 0.4, 0.4)]
    found = Envelope((1e6, 1e7), (1, 100), (10e6, 1000e6), tuple(cells))
    assert found.outside(1e6, 1, 10e6) is None
    # (1 Mbit/s, 100 flows, 1000 ms) is out; the rate does not help, a sixth of the way in flows or round trip does.
    near = found.outside(1e6, 100, 1000e6)
    assert near is not None
    assert near.axis in ("flows", "round trip")
    assert near.factor == pytest.approx(100 ** (5 / 6), rel=0.13), "steps of a twentieth of a decade"
    assert found.outside(1e6, 100, 2000e6) is None, "beyond the grid nothing is known"
    assert Envelope((1e6, 1e7), (1,), (1e6,), (None, cells[3])).outside(1e6, 1, 1e6) is None, "nor where not measured"
    nowhere = Envelope((1e6, 1e7), (1,), (1e6,), (cells[3], cells[3])).outside(1e6, 1, 1e6)
    assert nowhere is not None
    assert nowhere.axis is None


# The kept envelopes beside a calculation by hand -------------------------------------------------------------------


def edges(name: str, flows: int, trip_ms: int = 30) -> Edges:
    found = kept()[name].edges(flows, trip_ms * MS)
    assert found is not None
    return found


def test_every_discipline_is_kept() -> None:
    assert list(kept()) == known(), "sluicegate evaluate NAME --suite envelope --quick, then tools/envelope_page.py"


@pytest.mark.parametrize("name", TOOL["HELD"])
def test_the_slowest_link_is_where_the_queue_that_is_held_takes_400_ms(name: str) -> None:
    """Under ten flows. A quarter for the swing of the queue, and for a straight line between two cells."""
    expected = TOOL["late_bps"](TOOL["packets"](name, TOOL["HELD"][name]))
    assert edges(name, 10).low == pytest.approx(expected, rel=0.25)


def test_reds_by_hand() -> None:
    """15 packets and the one in transmission take 400 ms at 480 kbit/s, under 100 flows, too."""
    assert TOOL["late_bps"](15) == 16 * PACKET_BITS / 0.4 == 480e3
    assert edges("red", 100).low == pytest.approx(480e3, rel=0.25)


@pytest.mark.parametrize("name", TOOL["FIRST_DROP"])
@pytest.mark.parametrize("trip_ms", [5, 30])
def test_a_flow_alone_falls_behind_where_a_burst_reaches_the_threshold(name: str, trip_ms: int) -> None:
    """A factor of two either way: the average follows bursts only in part, so that RED's stands lower than their ends;
    and bursts meet the rest of a queue, so that a buffer is full sooner."""
    found, expected = edges(name, 1, trip_ms), TOOL["burst_bps"](TOOL["packets"](name, TOOL["FIRST_DROP"][name]))
    assert not found.open_high
    assert 1 / 2 < found.high / expected < 2


def test_red_lets_a_flow_alone_use_more_without_bursts() -> None:
    """At 316 Mbit/s a burst has 31 packets, six times min_th. What a flow uses that loses a packet at a window of B is
    the mean of CUBIC's cycle from 0.7 of it, W(1 − 0.3 (1 − u)³) for u from 0 to 1: 92.5 %."""
    cell = Cell(316_000_000, 1, 30 * MS)
    assert TOOL["burst_bps"](31) == pytest.approx(cell.rate_bps, rel=0.01)
    seconds = warmup_s(cell, QUICK.most)
    assert not isinstance(seconds, str)
    text = cell.text(seconds, False)
    with warnings.catch_warnings(action="ignore"):
        burst, single = (
            sg.run(text, queue="red", seed=1, progress=False, sets={"flows.0.gso": gso}).links["utilisation"][0]
            for gso in (True, False)
        )
    assert burst + 0.1 < single < 1 - 0.3 / 4


@pytest.mark.parametrize(("name", "min_th"), [("red", 5), ("choke", 30)])
@pytest.mark.parametrize("trip_ms", [5, 30, 200])
def test_a_link_stays_busy_where_min_th_holds_what_a_loss_takes(name: str, min_th: int, trip_ms: int) -> None:
    """No flow loses a packet to RED's law before the average is at min_th. CUBIC's window is then B + min_th, and 0.7
    of it fills a link of product B as long as B ≤ 7/3 min_th: up to there nothing falls idle, so the region goes at
    least as far. A tenth for the interpolation."""
    product = 7 / 3 * min_th
    assert edges(name, 1, trip_ms).high >= 0.9 * product * PACKET_BITS / (trip_ms / 1e3)


@pytest.mark.parametrize("flows", [1, 10, 100, 1000])
def test_blues_fastest_link_is_where_windows_are_those_of_one_step(flows: int) -> None:
    """A step of 0.02, and windows of √(3/2p). A factor of 2.5, as steps follow one another, and go one by one."""
    expected = flows * math.sqrt(1.5 / TOOL["packets"]("blue", ("d1", 1.0))) * PACKET_BITS / 30e-3
    assert expected == pytest.approx(flows * 3.46e6, rel=0.01)
    assert 1 / 2.5 < edges("blue", flows).high / expected < 2.5


@pytest.mark.parametrize(("flows", "length"), [(10, 30), (100, 60), (1000, 60)])
def test_chokes_slowest_link_is_where_a_threshold_takes_400_ms(flows: int, length: int) -> None:
    """Comparisons hold ten flows near min_th; more stand at max_th."""
    assert edges("choke", flows).low == pytest.approx(TOOL["late_bps"](length), rel=0.25)


def test_codels_slowest_link_is_where_packets_take_its_target() -> None:
    """CoDel does not act while one packet waits, so that a full link has a queue of one to three with the one in
    transmission: twice its target of 5 ms are their time between 1.2 and 3.6 Mbit/s, under one flow."""
    assert PACKET_BITS / 10e-3 <= edges("codel", 1).low <= 3 * PACKET_BITS / 10e-3


def test_pies_slowest_link_is_where_two_packets_take_twice_its_target() -> None:
    """PIE drops nothing while two packets or fewer wait (RFC 8033, Sec. 4.1): 2 and 3 of them take 30 ms at 0.8 and 1.2
    Mbit/s. A quarter for a straight line between two cells."""
    assert 2 * PACKET_BITS / 30e-3 / 1.25 <= edges("pie", 10).low <= 3 * PACKET_BITS / 30e-3 * 1.25


# What is kept, and told of it --------------------------------------------------------------------------------------


def scenario(name: str, rate: float, flows: int, trip_ns: float, more: str = "") -> str:
    return (
        f'[network]\nrate = "{rate:.0f} bit/s"\ndelay = "{trip_ns / 2:.0f} ns"\naccess_rate = "{10 * rate:.0f} bit/s"\n'
        f'[queue]\ndiscipline = "{name}"\n{more}[[flows]]\nkind = "tcp"\ncount = {flows}\n[run]\nduration = "10 s"\n'
    )


def told(text: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.TrapWarning)
        resolved = sg.check(text)
    return [said for said in traps.of_scenario(resolved) if "lies outside the envelope" in said]


@pytest.mark.parametrize("name", kept())
def test_a_kept_cell_is_what_is_measured(name: str) -> None:
    """Two slow links, which take no time, and one that tells of defaults that follow from the rate."""
    found = kept()[name]
    for rate, flows in ((2, 1), (3, 10), (6, 10)):
        cell = Cell(int(found.rates[rate]), flows, 30 * MS)
        measured = found.cell(rate, found.flows.index(flows), found.trips.index(30 * MS))
        seconds = warmup_s(cell, QUICK.most)
        assert measured is not None
        assert not isinstance(seconds, str)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sg.ScenarioWarning)
            run = sg.run(cell.text(seconds, False), queue=name, seed=1, progress=False)
        link = run.links.to_dicts()[0]
        assert (round(link["utilisation"], 4), round(link["queueing_delay_mean_ns"])) == measured[:2], cell


@pytest.mark.parametrize("name", kept())
def test_check_tells_of_cells_far_outside_and_of_no_cell_within(name: str) -> None:
    found = kept()[name]
    for trip in range(len(found.trips)):
        for flows in range(len(found.flows)):
            for rate in range(0, len(found.rates), 2):
                place = (found.rates[rate], found.flows[flows], found.trips[trip])
                distance = found.outside(*place)
                expected = distance is not None and far(distance)
                assert bool(told(scenario(name, place[0], int(place[1]), place[2]))) == expected, place


def test_the_distance_is_told_of_defaults_and_of_what_was_measured_alone() -> None:
    slow = scenario("red", 100e3, 10, 30e6)
    [said] = told(slow)
    assert re.search(r"100 kbit/s with 10 TCP flows and a round trip of 30 ms lies outside the envelope of red", said)
    assert re.search(r"at most 400 ms are promised; it ends at about [\d.]+ kbit/s, a factor of [\d.]+ away", said)
    assert told(slow.replace('"red"', '"red"\nlimit = 300')), "a default that is stated"
    assert not told(slow.replace('"red"', '"red"\nmax_th = 16'))
    assert not told(slow.replace('"tcp"', '"tcp"\nalgorithm = "reno"'))
    assert not told(slow.replace('"tcp"', '"tcp"\necn = true'))
    assert not told(scenario("red", 1e6, 10, 30e6))
    [said] = told(scenario("blue", 10e9, 10, 30e6))
    assert "already at 1 Gbit/s about" in said, "10 Gbit/s was not measured"
    assert not told(scenario("drop_tail", 10e9, 10, 30e6)), "within at 1 Gbit/s"
    [said] = told(scenario("red", 50e3, 10, 30e6))
    assert re.search("already at 100 kbit/s .*packets wait", said), "slower than the grid"
    assert not told(scenario("red", 100e3, 10, 1e6)), "a round trip of 1 ms was not measured"


def test_no_bound_of_dcn_throttles_a_fast_link() -> None:
    """With at most 1000 packets in T_dec a flow alone had 14 % of 100 Mbit/s, ten 14 % of 1 Gbit/s."""
    found = kept()["dcn"]
    for rate, flows in ((100e6, 1), (1e9, 10)):
        measured = found.at(rate, flows, 30 * MS)
        assert measured is not None
        assert measured.used > 0.8


def test_recommend_notes_it() -> None:
    """Of values that it keeps in full; of those that it replaces, in one note for all."""
    text = scenario("drop_tail", 1e6, 10, 30e6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = sg.recommend(
            text, disciplines="fq_pie,red,drop_tail", seeds=1, goals="utilisation above 90 %", duration="5 s"
        )
    kept_values, replaced = (note for note in done.notes if "lies outside the envelope" in note)
    assert re.search(r"of fq_pie: packets wait for .* at most 30 ms are .* a factor of [\d.]+ away$", kept_values)
    assert re.search(r"of the defaults of drop_tail \(\d+\), by these factors; they have values for this", replaced)
    assert not any("envelope" in str(each.message) for each in caught), "said once"


def test_the_page_says_what_is_kept() -> None:
    written = TOOL["PAGE"].read_text("utf-8").partition(TOOL["MARK"])[2]
    assert written == "\n".join(TOOL["lines"](json.loads(KEPT.read_bytes()))) + "\n", "python tools/envelope_page.py"


# The whole ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "short.py"
    path.write_text(OWN)
    return path


def test_cells_have_what_a_run_has_and_parameters_are_moved(tmp_path: Path) -> None:
    done = sg.envelope("red:max_th=20", grid=TINY, out=tmp_path / "out")
    plain = done.cells.filter(parameter="")
    assert plain.height == 4
    cell = Cell(1_000_000, 10, 30 * MS)
    run = sg.run(cell.text(24, False), queue="red:max_th=20", seed=1, progress=False).links.to_dicts()[0]
    row = plain.filter(rate_bps=1_000_000, flows=10).to_dicts()[0]
    assert (row["utilisation"], row["queueing_delay_ns"]) == (run["utilisation"], run["queueing_delay_mean_ns"])
    assert row["loss_ratio"] == run["drops_packets"] / run["arrivals_packets"]
    assert row["promised_delay_ns"] == pytest.approx((1.1 * 20 + 1) * 12e6)
    assert row["flood_share"] > 0.8, "RED knows no flows"
    parameters = dict(done.moved("red:max_th=20"))
    assert {"w_q", "min_th", "max_th", "max_p", "limit"} <= {*parameters}
    assert [*parameters["max_th"]] == [0.5, 2.0]
    moved_rows = done.cells.filter(parameter="max_th", factor=2.0, rate_bps=1_000_000)
    assert moved_rows["promised_delay_ns"][0] == pytest.approx((1.1 * 40 + 1) * 12e6)
    again = sg.Envelopes.read(tmp_path / "out")
    assert again.cells.equals(done.cells)
    assert repr(again) == repr(done)
    seen = open_page(tmp_path / "out/report.html")
    assert not seen.errors
    assert len(seen.drawings) == 2
    for words in ("rate of the link (bit/s)", "queueing delay, mean (ms)", "a flood's share (% of the link)", "max_th"):
        assert words in seen.text, words


def test_it_resumes(tmp_path: Path) -> None:
    seen: list[int] = []

    def count(_done: int, total: int, _which: str) -> None:
        seen.append(total)

    sg.envelope("choke", grid=replace(TINY, moves=()), out=tmp_path, progress=count)
    assert len(seen) == 8, "four cells, and with a flood"
    sg.envelope("choke", grid=replace(TINY, moves=(), rates=(*TINY.rates, 10_000_000)), out=tmp_path, progress=count)
    assert len(seen) == 12, "those of the new rate"


def test_ones_own_has_an_envelope_by_its_promise(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    grid = replace(TINY, flows=(10,), moves=())
    loose = sg.envelope("short.py:Short", grid=grid)
    strict = sg.envelope("short.py:Short", grid=grid, promise="20 ms")
    delays = loose.cells["queueing_delay_ns"].to_list()
    assert delays == strict.cells["queueing_delay_ns"].to_list()
    assert 20e6 < min(delays) < max(delays) < 52e6, "a buffer of 40 ms, and the packet in transmission"
    assert loose.envelope("short.py:Short").edges(10, 30 * MS) == Edges(1e6, 3.16e6, True, True)
    assert strict.envelope("short.py:Short").edges(10, 30 * MS) is None
    assert ("short.py:Short", "20 ms", "bound") in {
        row[:3] for row in page.promises({"short.py:Short": "short.py:Short"}, 20e6).rows
    }


MOVED = """\
from short import Short


class Moved(Short):
    def __init__(self, *, rate_bps, target_ms: float = 40, spare=0, law="plain", most=1, loud=False):
        if target_ms > 60:
            raise ValueError("too long")
        super().__init__(rate_bps=rate_bps, target_ms=target_ms)
        self.most = self.most / (2 - most)  # none of twice `most`
"""


def test_parameters_of_ones_own_are_moved_as_its_signature_has_them(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half and twice of what is a number; what is none, or is refused, is named, and an exception ends no other run."""
    monkeypatch.chdir(own.parent)
    monkeypatch.syspath_prepend(own.parent)
    Path("moved.py").write_text(MOVED)
    done = sg.envelope("moved.py:Moved", grid=replace(TINY, flows=(10,)), promise="45 ms")
    edges = dict(done.moved("moved.py:Moved"))
    assert [*edges] == ["none", "target_ms", "most"]
    kept_to = Edges(1e6, 3.16e6, True, True)
    assert (edges["target_ms"], edges["most"]) == ({0.5: kept_to, 2.0: "rule"}, {0.5: "rule", 2.0: "raises"})
    half = done.cells.filter(parameter="target_ms", factor=0.5)
    assert half["value"].to_list() == ["20.0", "20.0"], "a whole number where the signature says float"
    plain = done.cells.filter(parameter="none")
    assert all(half["queueing_delay_ns"] < 0.6 * plain["queueing_delay_ns"])
    assert done.summary["disciplines"][0]["not_moved"] == ["spare", "law", "loud"]
    page_ = done.html()
    assert "Not moved, for they are no numbers, or take neither half nor twice: spare, law, loud." in page_
    assert "round trip of 30 ms alone" in page_, "of a flood"


def test_what_was_asked_for_is_moved_to_these_values_alone(
    sluicegate: Program, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate.evaluation.envelope.measure.QUICK", replace(TINY, flows=(10,)))
    monkeypatch.chdir(own.parent)
    some = ("short.py:Short", "red", "--suite", "envelope", "--quick", "-o", "out")
    ended = sluicegate("evaluate", *some, "--move", "target_ms=20,300", "--move", "action=drop,mark", "--move", "w_q")
    assert ended.returncode == 0, ended.stderr
    done = sg.Envelopes.read("out")
    assert {name: [*ways] for name, ways in done.moved("short.py:Short")} == {"none": [1.0], "target_ms": ["20", "300"]}
    red = {name: [*ways] for name, ways in done.moved("red")}
    assert red == {"none": [1.0], "action": ["drop", "mark"], "w_q": [0.5, 2.0]}
    rows = page.valued(done, "short.py:Short").rows
    assert [row[:2] for row in rows] == [("as it is", ""), ("target_ms", "20"), ("target_ms", "300")]
    long = done.cells.filter(parameter="target_ms", value="300")["queueing_delay_ns"]
    assert 0.7 * 300e6 < long.mean() < 312e6, "a buffer of 300 ms, and the packet in transmission"  # type: ignore[operator]
    assert page.moves(done, "red").rows[-1][0] == "hardly: w_q"


@pytest.mark.parametrize(
    ("move", "words"),
    [
        ({"max_tj": ()}, 'max_tj: no parameter of red, choke; did you mean "max_th"'),
        ({"candidates": ("0",)}, "move: candidates of choke"),
        (["action"], "action: is no number; say which values it is to take"),
    ],
)
def test_what_cannot_be_moved_is_answered(move: Any, words: str) -> None:
    with pytest.raises(sg.ScenarioError, match=re.escape(words)):
        sg.envelope("red,choke", grid=TINY, move=move)


def test_check_and_recommend_tell_of_ones_own_with_its_values(
    sluicegate: Program, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A buffer of 200 ms, of which 20 are promised: no rate, and no round trip up to 30 ms, is within."""
    monkeypatch.chdir(own.parent)
    label, values = "short.py:Short:target_ms=200", ("--set", "queue.python.target_ms=200")
    grid = replace(TINY, flows=(10,), trips=(5 * MS, 30 * MS), moves=())
    sg.envelope(label, grid=grid, promise="20 ms", out="out")
    Path("s.toml").write_text(scenario("short.py:Short", 2e6, 10, 30e6))
    said = f"lies outside the envelope of {label}: packets wait for about"
    assert said not in sluicegate("check", "s.toml", "--envelopes", "out").stderr, "its default is 40 ms"
    assert said not in sluicegate("check", "s.toml", *values).stderr, "nothing is known"
    assert said in sluicegate("check", "s.toml", *values, "--envelopes", "out").stderr
    some = ("--disciplines", f"{label},codel", "--seeds", "1", "--set", "run.duration=3 s", "--envelopes", "out")
    done = sluicegate("recommend", "s.toml", *some)
    assert (done.returncode, said in done.stdout) == (0, True), done.stderr
    missing = "have none for short.py:Short with these values, only for short.py:Short:target_ms=200"
    assert missing in sluicegate("check", "s.toml", "--envelopes", "out").stderr
    done = sluicegate("recommend", "s.toml", "--disciplines", "short.py:Short,codel", *some[2:])
    assert missing in done.stdout, done.stderr
    for place in ("nowhere", "s.toml"):
        refused = sluicegate("check", "s.toml", "--envelopes", place)
        assert (refused.returncode, place in refused.stderr, "envelope" in refused.stderr) == (2, True, True)


def test_ones_own_is_known_however_its_path_is_spelt(
    sluicegate: Program, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured from one folder by its whole path, and named from another, and from the scenario's."""
    (own.parent / "other").mkdir()
    monkeypatch.chdir(own.parent / "other")
    grid = replace(TINY, flows=(10,), trips=(5 * MS, 30 * MS), moves=())
    done = sg.envelope(f"{own}:Short:target_ms=200", grid=grid, promise="20 ms", out="../out")
    label = "short.py:Short:target_ms=200"
    assert done.disciplines == [label], "file and class"
    said = f"lies outside the envelope of {label}: packets wait for about"
    values, folder = ("--set", "queue.python.target_ms=200"), ("--envelopes", "out")  # commands run above "other"
    for from_file, from_here in (("../short.py", "short.py"), ("./../other/../short.py", "./short.py"), (own, own)):
        Path("s.toml").write_text(scenario(f"{from_file}:Short", 2e6, 10, 30e6))
        assert said in sluicegate("check", "other/s.toml", *values, *folder).stderr, from_file
        more = ("--set", f"queue.discipline={from_here}:Short")
        assert said in sluicegate("check", "other/s.toml", *values, *more, *folder).stderr, from_here
        some = ("--disciplines", f"{from_here}:Short:target_ms=200,codel", "--seeds", "1", "--set", "run.duration=3 s")
        answer = sluicegate("recommend", "other/s.toml", *some, *folder)
        assert "lies outside the envelope of" in answer.stdout, answer.stderr


def test_the_command_writes_a_report(sluicegate: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sluicegate.evaluation.envelope.measure.QUICK", TINY)
    run = sluicegate("evaluate", "pie", "--suite", "envelope", "--quick", "-o", str(tmp_path / "out"))
    assert run.returncode == 0, run.stderr
    assert "report.html" in run.stdout
    assert re.search(r"pie +", run.stdout)
    assert json.loads((tmp_path / "out/summary.json").read_text())["suite"] == "envelope"
    assert pl.read_parquet(tmp_path / "out/cells.parquet").height > 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--suite", "envelope"], "name a discipline"),
        (["red", "--suite", "envelope", "--only", "8"], "--only is not for --suite envelope"),
        (["red", "--suite", "envelope", "--set", "queue.limit=5"], "give parameters with the discipline"),
        (["red", "--promise", "20 ms"], "--promise is only for --suite envelope"),
        (["red", "--move", "max_th"], "--move is only for --suite envelope"),
        (["red", "--suite", "envelope", "--move", "max_tj=3"], 'did you mean "max_th"'),
        (["rde", "--suite", "envelope"], 'did you mean "red"'),
        (["red", "--suite", "envelope", "--promise", "20"], "promise"),
    ],
)
def test_wrong_arguments_are_answered(sluicegate: Program, tmp_path: Path, arguments: list[str], words: str) -> None:
    run = sluicegate("evaluate", *arguments, "-o", str(tmp_path / "out"))
    assert run.returncode == 2
    assert words in run.stderr
    assert not (tmp_path / "out").exists()
