"""RED 1993 as a tiny reproduction; its networks say what the text says, and its measures find what is put into them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tiny import contents

from sluicegate import scenario as api
from sluicegate.experiments.engine import run_experiments
from sluicegate.papers.red1993 import PAPER, fig03, fig05, fig07_08, fig09, fig12_15, fig16, network, text_claims
from sluicegate.papers.red1993.network import LINK_BPS
from sluicegate.reproduce import Quantity, Runs, Settings, Study, not_unlike, reproduce
from sluicegate.theory import red

FEW = Settings(seeds=(1, 2), duration_s=2, warmup_s=0, sample_s=1)
FIGURES = ["fig3", "unresponsive", "fig3-choices", "fig5", "fig5-choices", "fig7", "fig8", "fig9", "fig12", "fig13",
           "fig14", "fig15", "fig16", "together", "bytes", "users"]  # fmt: skip


def one_run(study: Study, table: str, *columns: str, seed: int = 1, **sets: str) -> pl.DataFrame:
    """A table of one run at the last point of a study, with further overrides (a dot in a key is __)."""
    wanted = study.experiment(study.points[-1], FEW, None, {table: frozenset(columns)})
    changes = tuple((key.replace("__", "."), value) for key, value in sets.items())
    experiment = replace(wanted, derive=None, once=(), sets=(*wanted.sets, *changes))
    return run_experiments([experiment], [seed])[table]


# The networks -----------------------------------------------------------------------------------------------------


def product(rtt_ms: float) -> int:
    """Whole packets of 1000 bytes that the link sends in a round trip."""
    return int(LINK_BPS * rtt_ms / 1e3) // 8000


def rtts_ms(study: Study) -> list[float]:
    return [rtt / 1e6 for rtt in one_run(study, "flows", "base_rtt_ns", run__duration="1 ms")["base_rtt_ns"]]


def test_windows_of_fig_3_are_the_products_of_delay_and_bandwidth() -> None:
    groups = api.check("red1993_fig3")["flows"]
    assert [group["window"] for group in groups] == [product(rtt) for rtt in rtts_ms(fig03.staggered)]
    assert (min(group["window"] for group in groups), max(group["window"] for group in groups)) == (33, 112)
    assert [group["start"] for group in groups] == ["0 s", "200 ms", "400 ms", "600 ms"]


def test_windows_of_fig_5_are_roughly_the_product() -> None:
    (group,) = api.check("red1993_fig5")["flows"]
    assert group["window"] == 240
    first = Study("red1993_fig5", settings=network.lasting(5))
    assert [round(product(rtt), -1) for rtt in rtts_ms(first)] == [240, 240]


def test_connections_of_fig_9_are_as_the_text_says() -> None:
    groups = api.check("red1993_fig9")["flows"]
    assert sum(group["count"] for group in groups) == 41
    assert sum(group["count"] for group in groups if group["direction"] == "reverse") == 20
    files = [group for group in groups if group["kind"] == "tcp"]
    assert {group["window"] for group in files} == {8, 16}
    sizes = [group["size"] for group in files]
    assert (min(sizes), max(sizes)) == (20, 400)
    assert (files[0]["start"], files[0]["size"]) == ("0 s", 220), "the leftmost strand"
    rtts = rtts_ms(fig09.heavy)
    assert max(rtts) / min(rtts) == pytest.approx(4)


def test_figure_11_is_as_the_text_has_it() -> None:
    flows = api.check("red1993_fig11")["flows"]
    (short, far) = ((flow["count"], flow["window"], flow["rtt"]) for flow in flows)
    assert (short, far) == ((4, 12, "6 ms"), (1, 8, "36 ms"))
    waiting = 4 * 12 - LINK_BPS * 0.006 / 8000
    assert int(waiting) == max(fig12_15.MIN_THS)
    assert int(waiting + 8) == max(fig12_15.BUFFERS)


def test_thresholds_and_buffer_follow_min_th() -> None:
    assert dict(fig12_15.red.overrides({"size": 5})) == {
        "queue.min_th": "5", "queue.max_th": "10", "queue.limit": "20",
    }  # fmt: skip
    assert dict(fig12_15.room.overrides({"size": 5})) == {
        "queue.limit": "200", "queue.min_th": "5", "queue.max_th": "10",
    }  # fmt: skip
    tail = dict(fig12_15.tail.overrides({"size": 8}))
    assert tail["queue.limit"] == "8"
    assert [tail[f"flows.{group}.send_jitter"] for group in (0, 1)] == ["0.17 ms", "0.17 ms"]


def test_experiments_are_told_apart() -> None:
    studies = {study for figure in PAPER.figures() for study in figure.studies.values()}
    wanted = {
        each.id: (each.text, each.sets)
        for study in studies
        for each in (study.experiment(point, FEW, None, study.needs) for point in study.points)
    }
    assert len(wanted) > 200
    assert len(set(wanted.values())) == len(wanted)


# The whole --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny reproduction."""
    out = tmp_path_factory.mktemp("made") / "red1993"
    reproduce("red1993", out, settings=FEW)
    return out


@pytest.fixture(scope="module")
def checks(made: Path) -> dict[str, dict[str, Any]]:
    """Its checks by their ids."""
    return {check["id"]: check for check in json.loads((made / "checks.json").read_text("utf-8"))}


def test_every_figure_is_written_with_its_data(made: Path) -> None:
    assert [each.id for each in PAPER.figures()] == FIGURES
    expected = {"report.html", "checks.json"} | {f"figures/{id_}.svg" for id_ in FIGURES}
    assert set(contents(made)) == expected | {f"data/{id_}.parquet" for id_ in FIGURES}


def test_what_does_not_depend_on_chance_holds_with_two_seeds_too(made: Path, checks: dict[str, dict[str, Any]]) -> None:
    exact = {id_: check["verdict"] for id_, check in checks.items() if check["class"] == "exact"}
    assert len(exact) == 29
    assert set(exact.values()) == {"reproduced"}, exact
    page = (made / "report.html").read_text("utf-8")
    assert all(len(re.findall(f'<tr id="check-{re.escape(id_)}"', page)) == 1 for id_ in checks)


def test_what_holds_in_two_seconds_too(checks: dict[str, dict[str, Any]]) -> None:
    for id_ in ("fig15-tail", "fig15-random", "fig15-decbit", "fig12-less-at-the-same-queue", "bytes-large-more-often"):
        assert checks[id_]["measured"] > 0, id_
    assert checks["fig16-below-the-bound"]["measured"] > 1, "so few windows do not tell"


def test_data_are_those_of_the_figures(made: Path) -> None:
    data = {id_: pl.read_parquet(made / "data" / f"{id_}.parquet") for id_ in FIGURES}
    assert all(table.height > 0 for table in data.values())
    assert data["fig5"].height == 22 * len(FEW.seeds)
    assert data["fig3-choices"].height == len(fig03.CHOICES)
    assert data["fig3"]["flow"].unique().sort().to_list() == [1, 2, 3, 4]
    assert data["fig3"]["seed"].unique().to_list() == [1]
    assert data["fig9"]["link"].unique().sort().to_list() == ["bottleneck", "reverse"]
    assert data["fig8"].filter(pl.col("packet") > fig07_08.ARRIVALS).height == 0
    assert data["fig7"]["average_packets"].min() > 0  # type: ignore[operator]
    assert data["fig12"]["what"].value_counts().sort("what")["count"].to_list() == [15, 15 * 2]


def test_equality_is_tested_as_far_as_the_seeds_can_tell() -> None:
    bounds = not_unlike(1).of(seen := Quantity((0.8, 0.9, 1.0, 1.1, 1.0)))
    assert (bounds.low, bounds.high) == pytest.approx((1 - seen.spread.half_width, 1 + seen.spread.half_width))


# Fig. 3 -----------------------------------------------------------------------------------------------------------


def test_drops_are_counted_in_the_second_of_each_start() -> None:
    seen = ((0.1, "arrival"), (0.3, "early"), (0.39, "forced"), (0.5, "departure"), (0.6, "early"), (0.99, "early"))
    packets = pl.DataFrame(seen, schema=["time_s", "event"], orient="row")
    (table,) = fig03.losses({"packets": packets}).values()
    assert table["per_second"].to_list() == pytest.approx([0, 10, 0, 5])
    assert fig03.slope(table) == pytest.approx(0.5)


# Fig. 5 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "k"), [(1.73, 1), (0.1, 3)])
def test_fits_find_the_curve_that_they_are_given(a: float, k: int) -> None:
    x = np.array([0.5, 0.7, 0.8, 0.9])
    queue = a / (1 - x) ** k
    assert fig05.scale(x, queue, k) == pytest.approx(a)
    assert fig05.scale_of_logarithms(x, queue, k) == pytest.approx(a)
    assert fig05.free_fit(x, queue) == pytest.approx((a, k))


def test_power_is_compared_at_the_same_high_utilisation() -> None:
    rows = [("red", 1, 0.9, 3.0), ("red", 1, 0.5, 100.0), ("red", 1, 0.97, 100.0), ("drop_tail", 1, 0.85, 3.0),
            ("drop_tail", 1, 0.95, 1.0), ("red", 2, 0.9, 3.0), ("drop_tail", 2, 0.4, 1.0)]  # fmt: skip
    runs = pl.DataFrame(rows, schema=["gateway", "seed", "x", "power"], orient="row").with_columns(size=1)
    more = fig05.powers(runs, "power")
    # At 0.9 Drop Tail's is half way from 3 to 1; 0.97 is beyond what it reaches, and of seed 2 nothing is told.
    assert more.values == (pytest.approx(50),)
    assert "1 of 2 seeds cannot tell" in more.label


def test_a_figure_has_five_seeds() -> None:
    runs = pl.DataFrame({"gateway": ["red"] * 12, "seed": list(range(12)), "x": np.arange(12.0), "queue": [1.0] * 12})
    assert fig05.by_figure(runs, "red", lambda x, queue, k: float(x[0])).values == (0.0, 5.0)


# Figs. 7 and 8 ----------------------------------------------------------------------------------------------------


def test_the_test_of_a_law_tells_laws_apart() -> None:
    rng = np.random.default_rng(5)
    uniform, geometric = rng.integers(1, 101, 1500), rng.geometric(0.02, 1500)
    section7, method1 = red.gaps("section7", 0.01), red.gaps("method1", 0.02)
    assert fig07_08.chance(uniform, section7) > fig07_08.LUCK
    assert fig07_08.chance(geometric, method1) > fig07_08.LUCK
    assert fig07_08.chance(geometric, section7) < fig07_08.LUCK
    assert fig07_08.chance(uniform, method1) < fig07_08.LUCK
    assert fig07_08.chance(uniform - uniform % 2 + 1, section7) < fig07_08.LUCK


def test_a_gap_that_a_law_does_not_have_refutes_it() -> None:
    section7, entry = red.gaps("section7", 0.1), red.gaps("figure17", 0.1, after="entry")
    seen = np.repeat(np.arange(1, 11), 100)
    assert fig07_08.chance(seen, section7) > 0.999
    assert fig07_08.chance([*seen, 11], section7) == 0
    assert fig07_08.chance(seen + 1, entry) > 0.999
    assert fig07_08.chance(seen, entry) == 0, "the first packet of the band is never marked"


def test_no_law_passes_for_another() -> None:
    """Every swapped pair is refuted by a single run; Sec. VII's and Fig. 17's gaps from mark to mark are the same."""
    study = fig07_08.marks
    for way in fig07_08.LAWS:
        (point,) = (point for point in study.points if point["way"] == way)
        marks = run_experiments([study.experiment(point, FEW, None, study.needs)], [1])["marks"]
        seen = np.diff(marks["place"].to_numpy())
        assert len(seen) > 400
        for other in fig07_08.LAWS:
            fits = fig07_08.chance(seen, other.gaps) > fig07_08.LUCK
            assert fits == fig07_08.alike(way, other), (way.label, other.label)
    assert len({way.law for way in fig07_08.LAWS}) == 4


def test_the_average_stands_half_way_while_packets_are_marked() -> None:
    """p_b is never below what the law takes, which would allow a longer gap, nor above it by more than 1 in 500."""
    columns = ("event", "time_s", "average_packets")
    packets = one_run(fig07_08.marks, "packets", *columns, queue__max_p="0.2", queue__law="figure2")
    arrivals = packets.filter((pl.col("event") == "arrival") & (pl.col("time_s") >= fig07_08.SETTLED_S))
    assert arrivals.height > fig07_08.ARRIVALS
    low, high = 1, 2 * (fig07_08.LIMIT - 4) - 1
    assert f"min_th = {low}\nmax_th = {high}\n" in fig07_08.FULL
    p_b = 0.2 * (arrivals["average_packets"] - low) / (high - low)
    assert p_b.is_between(0.1, 0.1 * 1.002).all()


def test_marks_are_numbered_by_arrival() -> None:
    seen = [
        (1.0, event) for event in ("arrival", "arrival", "early", "departure", "arrival", "tail", "arrival", "early")
    ]
    packets = pl.DataFrame([(0.05, "early"), *seen], schema=["time_s", "event"], orient="row")
    (table,) = fig07_08.marked({"packets": packets}).values()
    assert table["place"].to_list() == [2, 4]


def test_gaps_are_those_of_one_seed() -> None:
    study, (point, *_) = fig07_08.marks, fig07_08.marks.points
    id_ = study.id(point, FEW, None)
    marks = pl.DataFrame({"experiment": id_, "seed": [1, 1, 1, 2, 2], "place": [2, 4, 9, 1, 4]})
    assert fig07_08.gaps(Runs(study, FEW, {id_: point}, {"marks": marks}, {})).tolist() == [2, 5, 3]


def test_first_packets_of_the_band_are_found() -> None:
    seen = (("arrival", 4.9), ("early", 4.9), ("arrival", 5.0), ("early", 5.0), ("arrival", 5.2), ("early", 5.2),
            ("arrival", 0.0), ("departure", 0.0), ("arrival", 6.0), ("arrival", 6.1), ("early", 6.1))  # fmt: skip
    packets = pl.DataFrame(seen, schema=["event", "average_packets"], orient="row")
    (table,) = fig07_08.firsts({"packets": packets}).values()
    assert table.rows() == [(2, 1)]


def test_the_misprint_is_followed_to_the_letter() -> None:
    # After a mark the next is marked with p, the one after an unmarked one with p/(1 + p).
    assert fig07_08.misprinted_marks(0.5, 1) == pytest.approx(0.5)
    assert fig07_08.misprinted_marks(0.5, 2) == pytest.approx(0.5 + 0.5 * 0.5 + 0.5 * (0.5 / 1.5))


# Fig. 9 -----------------------------------------------------------------------------------------------------------


def test_drops_that_follow_the_average_correlate_with_it() -> None:
    rows = [(bin_ * 0.05 + 0.001 * place, "early" if place < bin_ else "arrival", float(bin_))
            for bin_ in range(4) for place in range(10)]  # fmt: skip
    run = pl.DataFrame(rows, schema=["time_s", "event", "average_packets"], orient="row")
    assert fig09.follows(run) > 0.95
    assert fig09.follows(run.with_columns(average_packets=-pl.col("average_packets"))) < -0.95
    assert fig09.follows(run.with_columns(average_packets=pl.lit(1.0))) == 0


def test_early_drops_of_data_and_acknowledgements_are_compared() -> None:
    apart, error = fig09.unlike(data_arrived=400, data_dropped=8, acks_arrived=100, acks_dropped=3)
    assert apart == pytest.approx(100 * (8 / 400 - 3 / 100))
    assert error == pytest.approx(100 * (11 / 500 * 489 / 500 * (1 / 400 + 1 / 100)) ** 0.5)


# Figs. 12 to 15 ---------------------------------------------------------------------------------------------------


def bursty(shares: list[float], lost: list[tuple[int, int]]) -> pl.DataFrame:
    """The series of one run: in each second node 5's throughput of 100, and the others' drops and its own."""
    rows = []
    for second, (share, drops) in enumerate(zip(shares, lost, strict=True), start=1):
        for flow in range(1, 6):
            own = drops[1] if flow == fig12_15.NODE_5 else drops[0] if flow == 1 else 0
            bps = share if flow == fig12_15.NODE_5 else (100 - share) / 4
            rows.append(("red", 1, float(second), flow, bps, own, 0))
    columns = ("experiment", "seed", "time_s", "flow", "throughput_bps", "drops_packets", "marked_packets")
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_shares_and_excess_by_hand() -> None:
    series = bursty([4.0, 2.0, 0.0], [(9, 1), (1, 1), (3, 0)])
    rows = fig12_15.seconds(series, "seed")
    assert rows["share"].to_list() == [4.0, 2.0, 0.0]
    assert rows["notices"].to_list() == [10, 2, 3]
    assert rows["notice_share"].to_list() == [10.0, None, 0.0], "two drops are too few"
    assert fig12_15.excess(rows).values == (3.0,)
    assert fig12_15.own_share(rows).values == (2.0,), "of the seconds with enough drops"
    assert fig12_15.MEASURES["share"].evaluate({"flow_series": series}) == {("red", 1): pytest.approx(2.0)}
    none = fig12_15.excess(fig12_15.seconds(series, "seed", told="marked_packets"))
    assert math.isnan(none.mean), "a seed without any"


def made_up(study: Study, values: Mapping[int, tuple[float, float]]) -> Runs:
    """One run at some sizes, with node 5's share and the queue."""
    points = {study.id({"size": size}, FEW, None): {"size": size} for size in values}
    measures = {
        name: {(id_, 1): values[point["size"]][at] for id_, point in points.items()}
        for at, name in enumerate(("share", "queue"))
    }
    return Runs(study, FEW, points, {}, measures)


def test_at_the_same_queue_the_share_is_interpolated() -> None:
    tail = made_up(fig12_15.tail, {8: (1.0, 4.0), 9: (3.0, 8.0)})
    red = made_up(fig12_15.red, {3: (9.0, 1.0), 4: (4.0, 5.0), 5: (9.0, 9.0)})
    assert fig12_15.at_the_same_queue(red, tail).values == (pytest.approx(4.0 - 1.5),)


@pytest.mark.parametrize(
    ("times", "ratio"), [([0.0, 1.0, 2.0, 3.0], 1.0), ([0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 0.1 / 1.04)]
)
def test_clusters_have_many_short_times_between_arrivals(times: list[float], ratio: float) -> None:
    others = {"flow": 5, "event": "arrival", "to": "receiver", "link": "bottleneck"}
    packets = pl.DataFrame({"time_s": times}).with_columns(**{name: pl.lit(value) for name, value in others.items()})
    noise = packets.with_columns(flow=pl.lit(1), time_s=pl.col("time_s") + 0.05)
    (table,) = fig12_15.clustered({"packets": pl.concat([packets, noise]).sort("time_s")}).values()
    assert table["ratio"].item() == pytest.approx(ratio)


def test_roughly_on_the_line_has_room_for_a_quarter_of_the_share_and_the_interval() -> None:
    excess = Quantity((0.1, 0.2, 0.3, 0.2, 0.2))
    bounds = fig12_15.centred(Quantity((4.0, 4.0))).of(excess)
    half = excess.spread.half_width
    assert (bounds.low, bounds.high) == pytest.approx((half - 1, 1 - half))
    assert [bounds.holds(value) for value in (-1.0, -0.5, 0.5, 1.0)] == [False, True, True, False]


def test_decbit_marks_and_does_not_drop() -> None:
    links = one_run(fig12_15.decbit, "links", "drops_packets", "marked_packets", queue__decbit__feedback="all")
    assert links["drops_packets"].sum() == 0
    assert links["marked_packets"].min() > 100  # type: ignore[operator]


# Fig. 16 ----------------------------------------------------------------------------------------------------------


def test_windows_of_drops_are_cut_where_they_are_full() -> None:
    flows = len(fig16.SHARES)
    samples = [[30] * flows] * 5  # 150 in each: every sample is a window of its own
    rows = [(7, 0.05 * at, flow + 1, lost) for at, sample in enumerate(samples) for flow, lost in enumerate(sample)]
    series = pl.DataFrame(rows, schema=["seed", "time_s", "flow", "drops_packets"], orient="row")
    windows = fig16.windows_of_drops(series)
    assert windows.tolist() == samples
    assert (
        fig16.windows_of_drops(pl.concat([series, series.with_columns(seed=pl.lit(8, pl.Int64))])).tolist()
        == samples * 2
    )
    assert fig16.met(windows, 2, 2) == 5, "30 of 150 are twice the tenth that is expected"
    assert fig16.met(windows, 2, 4) == 0


def test_marks_that_come_in_clusters_break_the_bound() -> None:
    """Flow 2 has its tenth of the marks, but all of them in one window of ten."""
    rows, others = [], [0, 1, 3, 4]
    for at in range(2000):
        row = [0] * len(fig16.SHARES)
        row[2] = 100 if at % 10 == 0 else 0
        row[others[at % 4]] += 100 - row[2]
        rows.append(row)
    fair = np.tile(np.round(100 * np.array(fig16.SHARES)).astype(np.int64), (2000, 1))
    assert fig16.over_bound(np.array(rows), 2, 2) > 1
    assert fig16.over_bound(fair, 2, 2) < 1


# Claims without a figure ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([[1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0]], 1.0),
        ([[1, 0, 1, 0], [0, 1, 0, 1]], -1.0),
        ([[1, 1, 0, 0], [1, 0, 1, 0]], 0.0),
        ([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]], 0.0),
        ([[1, 1, 0, 0], [0, 0, 0, 0]], math.nan),
    ],
    ids=["together", "in turns", "independent", "one never", "one alone"],
)
def test_the_correlation_says_whether_windows_are_cut_together(events: list[list[int]], expected: float) -> None:
    found = text_claims.correlation(np.array(events, dtype=bool))
    assert found == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_cuts_are_counted_after_the_first_two_seconds() -> None:
    rows = [(time, flow, cuts) for time, cuts in ((2.0, 1), (2.04, 2), (2.08, 0)) for flow in (1, 2, 3)]
    series = pl.DataFrame([*rows, (2.12, 1, 1), (2.12, 2, 0), (2.12, 3, 0)],
                          schema=["time_s", "flow", "window_cuts"], orient="row")  # fmt: skip
    cuts = text_claims.cuts(series)
    assert cuts.tolist() == [[True, False, True], [True, False, False], [True, False, False]]
    assert text_claims.most_at_once(cuts) == 0.5


def test_a_gain_lies_between_neighbouring_windows_or_it_is_told_how_far_outside() -> None:
    assert text_claims.missed([-60.0, 10.0, 110.0, 90.0], 75) == 0
    assert text_claims.missed([-60.0, 10.0, 66.0], 75) == 9
    assert text_claims.missed([300.0, 90.0], 75) == 15
