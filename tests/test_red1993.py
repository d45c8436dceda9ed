"""RED 1993: its networks say what the text says, and its measures find what is put into them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny import contents

from sluicegate import api
from sluicegate.papers import Settings, red1993, red1993_heavy, red1993_marks, red1993_power, red1993_simple, reproduce
from sluicegate.papers.red1993 import LINK_BPS
from sluicegate.runner import Task, work
from sluicegate.theory import red

TINY = Settings(seeds=(1, 2), duration_s=10, warmup_s=0, sample_s=1)
HERE = ("red1993_simple", "red1993_power", "red1993_marks", "red1993_heavy")
FIGURES = ("fig3", "unresponsive", "fig3-choices", "fig5", "fig5-choices", "fig7", "fig8", "fig9")


def product(rtt_ms: float) -> int:
    """Whole packets of 1000 bytes that the link sends in a round trip."""
    return int(LINK_BPS * rtt_ms / 1e3) // 8000


# The networks -----------------------------------------------------------------------------------------------------


def flows_of(name: str) -> pl.DataFrame:
    text, file = api.read_scenario(name)
    return api.run_text(text, name=file, sets={"run.duration": "1 ms"}).flows


def test_windows_of_fig_3_are_the_products_of_delay_and_bandwidth() -> None:
    groups = api.check("red1993_fig3")["flows"]
    rtts = [rtt / 1e6 for rtt in flows_of("red1993_fig3")["base_rtt_ns"]]
    assert [group["window"] for group in groups] == [product(rtt) for rtt in rtts]
    assert (min(group["window"] for group in groups), max(group["window"] for group in groups)) == (33, 112)
    assert [group["start"] for group in groups] == ["0 s", "200 ms", "400 ms", "600 ms"]


def test_windows_of_fig_5_are_roughly_the_product() -> None:
    (group,) = api.check("red1993_fig5")["flows"]
    rtts = flows_of("red1993_fig5")["base_rtt_ns"].to_list()
    assert group["window"] == 240
    assert [round(product(rtt / 1e6), -1) for rtt in rtts] == [240, 240]


def test_connections_of_fig_9_are_as_the_text_says() -> None:
    groups = api.check("red1993_fig9")["flows"]
    assert sum(group["count"] for group in groups) == 41
    assert sum(group["count"] for group in groups if group["direction"] == "reverse") == 20
    files = [group for group in groups if group["kind"] == "tcp"]
    assert {group["window"] for group in files} == {8, 16}
    sizes = [group["size"] for group in files]
    assert (min(sizes), max(sizes)) == (20, 400)
    assert (files[0]["start"], files[0]["size"]) == ("0 s", 220), "the leftmost strand"
    rtts = flows_of("red1993_fig9")["base_rtt_ns"].to_list()
    assert max(rtts) / min(rtts) == pytest.approx(4)


def test_experiments_are_told_apart() -> None:
    experiments = red1993.experiments(TINY)
    assert len({each.id for each in experiments}) == len(experiments)
    assert len({(each.text, each.sets) for each in experiments}) == len(experiments)


# The whole ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny reproduction of the figures that are tested here."""
    out = tmp_path_factory.mktemp("made") / "red1993"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(red1993, "PARTS", HERE)
        patch.setattr(red1993_power, "VARIANTS", red1993_power.VARIANTS[:1])
        reproduce("red1993", out, settings=TINY)
    return out


def test_every_figure_is_written_with_its_data(made: Path) -> None:
    expected = {"report.html", "checks.json"} | {f"figures/{id_}.svg" for id_ in FIGURES}
    assert set(contents(made)) == expected | {f"data/{id_}.parquet" for id_ in FIGURES}


def test_what_does_not_depend_on_chance_holds_with_two_seeds_too(made: Path) -> None:
    checks = json.loads((made / "checks.json").read_text("utf-8"))
    exact = {check["id"]: check["verdict"] for check in checks if check["class"] == "exact"}
    assert len(exact) >= 15
    assert set(exact.values()) == {"reproduced"}, exact
    page = (made / "report.html").read_text("utf-8")
    assert all(page.count(f'<tr id="check-{check["id"]}">') == 1 for check in checks)


def test_data_are_those_of_the_figures(made: Path) -> None:
    data = {id_: pl.read_parquet(made / "data" / f"{id_}.parquet") for id_ in FIGURES}
    assert data["fig5"].height == 22 * len(TINY.seeds)
    assert data["fig3-choices"].height == 1 + len(red1993_simple.VARIANTS)
    assert data["fig3"]["flow"].unique().sort().to_list() == [1, 2, 3, 4]
    assert data["fig9"]["link"].unique().sort().to_list() == ["bottleneck", "reverse"]
    assert data["fig8"].filter(pl.col("packet") > red1993_marks.ARRIVALS).height == 0
    assert data["fig7"]["average_packets"].min() > 0  # type: ignore[operator]


# Fig. 3 -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fig3() -> pl.DataFrame:
    (experiment,) = (each for each in red1993_simple.experiments(TINY) if each.id == red1993_simple.FIRST)
    return work(Task(experiment, 3))["packets"]


def test_the_average_is_computed_anew_and_a_wrong_one_is_seen(fig3: pl.DataFrame) -> None:
    s = math.floor(4000 / LINK_BPS * 1e9) / 1e9
    assert red1993_simple.recomputed(fig3, s) < 1e-9
    place = fig3.height // 2
    wrong = fig3.with_row_index().with_columns(
        average_packets=pl.when(pl.col("index") >= place).then(pl.col("average_packets") + 0.001).otherwise(
            pl.col("average_packets")
        )
    )  # fmt: skip
    assert red1993_simple.recomputed(wrong, s) == pytest.approx(0.001, rel=1e-6)
    assert red1993_simple.recomputed(fig3, 2 * s) > 0.01, "idle times matter"


def test_what_the_filter_allows() -> None:
    assert red1993_simple.allowance(15, 3) == 0
    # 17 packets are two above: the first arrival adds 2 w_q at most, then twice at most 2 w_q and twice w_q.
    assert red1993_simple.allowance(17, 2.0) == pytest.approx(0.002 * (2 + 2 * 2 + 2 * 1))


def test_drops_are_counted_in_the_second_of_each_start() -> None:
    seen = ((0.1, "arrival"), (0.3, "early"), (0.39, "forced"), (0.5, "departure"), (0.6, "early"), (0.99, "early"))
    rows = [("fig3", 1, time, event) for time, event in seen]
    packets = pl.DataFrame(rows, schema=["experiment", "seed", "time_s", "event"], orient="row")
    links = pl.DataFrame({"experiment": ["fig3"], "seed": [1], "link": ["bottleneck"]})
    assert red1993_simple.losses_per_second({"packets": packets, "links": links}) == [pytest.approx([0, 10, 0, 5])]


# Fig. 5 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "k"), [(1.73, 1), (0.1, 3)])
def test_fits_find_the_curve_that_they_are_given(a: float, k: int) -> None:
    x = [0.5, 0.7, 0.8, 0.9]
    rows = pl.DataFrame({"x": x, "queue": [a / (1 - each) ** k for each in x]})
    assert red1993_power.scale(rows, k) == pytest.approx(a)
    assert red1993_power.scale_of_logarithms(rows, k) == pytest.approx(a)
    assert red1993_power.free_fit(rows) == pytest.approx((a, k))


def test_power_is_compared_at_high_utilisation_only() -> None:
    rows = [("red", 1, 0.9, 3.0), ("red", 1, 0.5, 100.0), ("drop_tail", 1, 0.85, 2.0), ("drop_tail", 1, 0.4, 100.0)]
    runs = pl.DataFrame(rows, schema=["gateway", "seed", "x", "power"], orient="row")
    assert red1993_power.powers(runs, "power").mean == pytest.approx(50)


def test_a_figure_has_five_seeds() -> None:
    runs = pl.DataFrame({"gateway": ["red"] * 12, "seed": list(range(12))})
    means = red1993_power.by_figure(runs, red1993_power.RED, lambda rows, _: float(rows["seed"].to_list()[0]))
    assert (means.count, means.mean) == (2, 2.5)


# Figs. 7 and 8 ------------------------------------------------------------------------------------------------------


def test_the_test_of_a_law_tells_laws_apart() -> None:
    rng = np.random.default_rng(5)
    uniform, geometric = rng.integers(1, 101, 1500).tolist(), rng.geometric(0.02, 1500).tolist()
    section7, method1 = red.gaps("section7", 0.01), red.gaps("method1", 0.02)
    assert red1993_marks.chance(uniform, section7) > red1993_marks.LUCK
    assert red1993_marks.chance(geometric, method1) > red1993_marks.LUCK
    assert red1993_marks.chance(geometric, section7) < red1993_marks.LUCK
    assert red1993_marks.chance(uniform, method1) < red1993_marks.LUCK
    assert red1993_marks.chance([min(99, gap) for gap in uniform], section7) > red1993_marks.LUCK
    assert red1993_marks.chance([gap - gap % 2 + 1 for gap in uniform], section7) < red1993_marks.LUCK


def test_the_average_stands_half_way_while_packets_are_marked() -> None:
    (experiment, *_) = red1993_marks.experiments(TINY)
    packets = work(Task(experiment, 1))["packets"]
    arrivals = packets.filter((pl.col("event") == "arrival") & (pl.col("time_s") >= red1993_marks.SETTLED_S))
    assert arrivals.height > red1993_marks.ARRIVALS
    half_way = (arrivals["average_packets"] - 20) / (379 - 20)
    assert half_way.is_between(0.498, 0.502).all()


def test_marks_are_numbered_by_arrival() -> None:
    seen = ("arrival", "arrival", "early", "departure", "arrival", "tail", "arrival", "early")
    rows = [("fig8, method-2", 1, 0.2, event) for event in seen]
    rows.insert(0, ("fig8, method-2", 1, 0.05, "early"))
    packets = pl.DataFrame(rows, schema=["experiment", "seed", "time_s", "event"], orient="row")
    assert red1993_marks.marks({"packets": packets}, red1993_marks.METHOD_2) == {1: [2, 4]}
    assert red1993_marks.gaps([2, 4, 9]) == [2, 5]


def test_the_misprint_is_followed_to_the_letter() -> None:
    # After a mark the next is marked with p, the one after an unmarked one with p/(1 + p).
    assert red1993_marks.misprinted_marks(0.5, 1) == pytest.approx(0.5)
    assert red1993_marks.misprinted_marks(0.5, 2) == pytest.approx(0.5 + 0.5 * 0.5 + 0.5 * (0.5 / 1.5))


# Fig. 9 -------------------------------------------------------------------------------------------------------------


def events(*rows: tuple[str, int, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["event", "queue_packets", "average_packets"], orient="row")


def test_a_packet_spared_above_max_th_is_seen() -> None:
    dropped = [("arrival", 20, 14.9), ("arrival", 20, 15.1), ("forced", 20, 15.1), ("departure", 19, 15.1)]
    assert red1993_heavy.spared_above(events(*dropped)) == 0
    assert red1993_heavy.spared_above(events(*dropped, ("arrival", 19, 15.2), ("departure", 19, 15.2))) == 1
    assert red1993_heavy.spared_above(events(*dropped, ("arrival", 19, 15.2))) == 1


def test_what_arrivals_add_above_max_th_is_summed_by_stretches() -> None:
    run = events(("arrival", 25, 15.0), ("arrival", 20, 15.1), ("arrival", 30, 14.9), ("arrival", 22, 15.0))
    assert red1993_heavy.added_above(run) == pytest.approx(0.002 * (10 + 5))


def test_drops_that_follow_the_average_correlate_with_it() -> None:
    rows = [(bin_ * 0.05 + 0.001 * place, "early" if place < bin_ else "arrival", float(bin_))
            for bin_ in range(4) for place in range(10)]  # fmt: skip
    run = pl.DataFrame(rows, schema=["time_s", "event", "average_packets"], orient="row")
    assert red1993_heavy.follows(run) > 0.95
    assert red1993_heavy.follows(run.with_columns(average_packets=-pl.col("average_packets"))) < -0.95
    assert red1993_heavy.follows(run.with_columns(average_packets=pl.lit(1.0))) == 0
