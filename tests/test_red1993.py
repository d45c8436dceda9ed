"""RED 1993: its networks say what the text says, and its measures find what is put into them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny import contents

from sluicegate import scenario as api
from sluicegate.experiments.engine import run_experiments
from sluicegate.experiments.run import run_text
from sluicegate.papers import Settings, red1993, red1993_heavy, red1993_marks, red1993_power, red1993_simple, reproduce
from sluicegate.papers.red1993 import LINK_BPS
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
    return run_text(text, name=file, sets={"run.duration": "1 ms"}).flows


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


def test_drops_are_counted_in_the_second_of_each_start() -> None:
    seen = ((0.1, "arrival"), (0.3, "early"), (0.39, "forced"), (0.5, "departure"), (0.6, "early"), (0.99, "early"))
    packets = pl.DataFrame(seen, schema=["time_s", "event"], orient="row")
    (table,) = red1993_simple.losses({"packets": packets}).values()
    rows = table.select(pl.lit("fig3").alias("experiment"), pl.lit(1).alias("seed"), pl.all())
    assert red1993_simple.losses_per_second({red1993_simple.RATES: rows}) == [pytest.approx([0, 10, 0, 5])]


# Fig. 5 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "k"), [(1.73, 1), (0.1, 3)])
def test_fits_find_the_curve_that_they_are_given(a: float, k: int) -> None:
    x = [0.5, 0.7, 0.8, 0.9]
    rows = pl.DataFrame({"x": x, "queue": [a / (1 - each) ** k for each in x]})
    assert red1993_power.scale(rows, k) == pytest.approx(a)
    assert red1993_power.scale_of_logarithms(rows, k) == pytest.approx(a)
    assert red1993_power.free_fit(rows) == pytest.approx((a, k))


def test_power_is_compared_at_the_same_high_utilisation() -> None:
    rows = [("red", 1, 0.9, 3.0), ("red", 1, 0.5, 100.0), ("red", 1, 0.97, 100.0), ("drop_tail", 1, 0.85, 3.0),
            ("drop_tail", 1, 0.95, 1.0), ("red", 2, 0.9, 3.0), ("drop_tail", 2, 0.4, 1.0)]  # fmt: skip
    runs = pl.DataFrame(rows, schema=["gateway", "seed", "x", "power"], orient="row").with_columns(parameter=1)
    more, skipped = red1993_power.powers(runs, "power")
    # At 0.9 Drop Tail's is half way from 3 to 1; 0.97 is beyond what it reaches, and of seed 2 nothing is told.
    assert (more.mean, more.count, skipped) == (pytest.approx(50), 1, 1)


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
    assert red1993_marks.chance([gap - gap % 2 + 1 for gap in uniform], section7) < red1993_marks.LUCK


def test_a_gap_that_a_law_does_not_have_refutes_it() -> None:
    section7, entry = red.gaps("section7", 0.1), red.gaps("figure17", 0.1, after="entry")
    seen = list(range(1, 11)) * 100
    assert red1993_marks.chance(seen, section7) > 0.999
    assert red1993_marks.chance([*seen, 11], section7) == 0
    assert red1993_marks.chance([gap + 1 for gap in seen], entry) > 0.999
    assert red1993_marks.chance(seen, entry) == 0, "the first packet of the band is never marked"


@pytest.fixture(scope="module")
def marks() -> dict[str, list[int]]:
    """By law the gaps of one run of each way of marking."""
    return {
        way.law: red1993_marks.gaps(run_experiments([way.experiment], [1])[red1993_marks.MARKS]["place"].to_list())
        for way in red1993_marks.LAWS
    }


def test_no_law_passes_for_another(marks: dict[str, list[int]]) -> None:
    """Every swapped pair is refuted by a single run; Sec. VII's and Fig. 17's gaps from mark to mark are the same."""
    laws: dict[str, red.Gaps] = {way.law: red.gaps(way.law, way.p_b) for way in red1993_marks.LAWS}
    assert len(laws) == 4
    for own, seen in marks.items():
        assert len(seen) > 400
        for law, gaps in laws.items():
            alike = own == law or {own, law} == {"section7", "figure17"}
            assert (red1993_marks.chance(seen, gaps) > red1993_marks.LUCK) == alike, (own, law)


def test_the_average_stands_half_way_while_packets_are_marked() -> None:
    """p_b is never below what the law takes, which would allow a longer gap, nor above it by more than 1 in 500."""
    text, file = red1993_marks.SCENARIO, "red1993_fig8.toml"
    run = run_text(text, file, sets={"queue.max_p": "0.2", "queue.law": "figure2"}, seed=1)
    arrivals = run.table("packets").filter(
        (pl.col("event") == "arrival") & (pl.col("time_s") >= red1993_marks.SETTLED_S)
    )
    assert arrivals.height > red1993_marks.ARRIVALS
    low, high = 1, 2 * (red1993_marks.LIMIT - 4) - 1
    assert f"min_th = {low}\nmax_th = {high}\n" in text
    p_b = 0.2 * (arrivals["average_packets"] - low) / (high - low)
    assert p_b.is_between(0.1, 0.1 * 1.002).all()


def test_marks_are_numbered_by_arrival() -> None:
    seen = [
        (1.0, event) for event in ("arrival", "arrival", "early", "departure", "arrival", "tail", "arrival", "early")
    ]
    packets = pl.DataFrame([(0.05, "early"), *seen], schema=["time_s", "event"], orient="row")
    (table,) = red1993_marks.marked({"packets": packets}).values()
    assert table["place"].to_list() == [2, 4]
    rows = table.select(pl.lit("fig8, method-2").alias("experiment"), pl.lit(1).alias("seed"), pl.all())
    assert red1993_marks.marks({red1993_marks.MARKS: rows}, red1993_marks.METHOD_2) == {1: [2, 4]}
    assert red1993_marks.gaps([2, 4, 9]) == [2, 5]


def test_first_packets_of_the_band_are_found() -> None:
    seen = (("arrival", 4.9), ("early", 4.9), ("arrival", 5.0), ("early", 5.0), ("arrival", 5.2), ("early", 5.2),
            ("arrival", 0.0), ("departure", 0.0), ("arrival", 6.0), ("arrival", 6.1), ("early", 6.1))  # fmt: skip
    packets = pl.DataFrame(seen, schema=["event", "average_packets"], orient="row")
    (table,) = red1993_marks.firsts({"packets": packets}).values()
    assert table.rows() == [(2, 1)]


def test_the_misprint_is_followed_to_the_letter() -> None:
    # After a mark the next is marked with p, the one after an unmarked one with p/(1 + p).
    assert red1993_marks.misprinted_marks(0.5, 1) == pytest.approx(0.5)
    assert red1993_marks.misprinted_marks(0.5, 2) == pytest.approx(0.5 + 0.5 * 0.5 + 0.5 * (0.5 / 1.5))


# Fig. 9 -------------------------------------------------------------------------------------------------------------


def test_drops_that_follow_the_average_correlate_with_it() -> None:
    rows = [(bin_ * 0.05 + 0.001 * place, "early" if place < bin_ else "arrival", float(bin_))
            for bin_ in range(4) for place in range(10)]  # fmt: skip
    run = pl.DataFrame(rows, schema=["time_s", "event", "average_packets"], orient="row")
    assert red1993_heavy.follows(run) > 0.95
    assert red1993_heavy.follows(run.with_columns(average_packets=-pl.col("average_packets"))) < -0.95
    assert red1993_heavy.follows(run.with_columns(average_packets=pl.lit(1.0))) == 0
