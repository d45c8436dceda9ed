"""Envelopes: the grid, regions and distances by hand, and the kept ones beside hand calculations."""

from __future__ import annotations

import json
import math
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest

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


def test_an_open_end_is_rounded_no_further_than_was_measured() -> None:
    assert page.edges_text(Edges(316_227, 316_227_766, True, True)) == "≤ 317 kbit/s to ≥ 316 Mbit/s"
    assert page.edges_text(Edges(1e5, 1e9, True, True)) == "≤ 100 kbit/s to ≥ 1 Gbit/s"
    assert page.edges_text(Edges(316_227, 316_227_766, False, False)) == "320 kbit/s to 320 Mbit/s", "about"


def test_the_longest_of_several_ranges_is_marked() -> None:
    several, one = line((1, 1), (0.5, 1), (1, 1), (1, 1)).edges(1, 30e6), line((0.5, 1), (1, 1), (1, 1)).edges(1, 30e6)
    assert several is not None
    assert one is not None
    assert (several.others, page.edges_text(several).endswith("to ≥ 1 Gbit/s *")) == (True, True)
    assert (one.others, "*" in page.edges_text(one)) == (False, False)
    assert page.edges_text(edges("dcn", 1, 30)).endswith("*"), "what is kept, too"


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
    """A step of 0.02, and windows of √(3/2p). A factor of 2.5, as steps follow one another, and go one by one; a
    tenth for the interpolation."""
    expected = flows * math.sqrt(1.5 / TOOL["packets"]("blue", ("d1", 1.0))) * PACKET_BITS / 30e-3
    assert expected == pytest.approx(flows * 3.46e6, rel=0.01)
    assert 1 / 2.75 < edges("blue", flows).high / expected < 2.75


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
    """Of a quarter of the cells, spread over all trips and numbers of flows."""
    found = kept()[name]
    for trip in range(len(found.trips)):
        for flows in range(len(found.flows)):
            for rate in range((trip + flows) % 2 * 2, len(found.rates), 4):
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
    assert re.search(r"of the defaults of drop_tail \(\d+\) by the factor in brackets; here they run with", replaced)
    assert not any("envelope" in str(each.message) for each in caught), "said once"


def test_the_page_says_what_is_kept() -> None:
    written = TOOL["PAGE"].read_text("utf-8").partition(TOOL["MARK"])[2]
    assert written == "\n".join(TOOL["lines"](json.loads(KEPT.read_bytes()))) + "\n", "python tools/envelope_page.py"
