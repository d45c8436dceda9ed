"""RED 1993's average: the checks hold of RED as the paper has it, and fail of one with a broken filter or max_th."""

from __future__ import annotations

import polars as pl
import pytest

from sluicegate import scenario as api
from sluicegate.experiments.run import run_text
from sluicegate.papers import red1993_filter as the_filter
from sluicegate.papers import red1993_heavy, red1993_simple
from sluicegate.papers.checks import judge

SOURCES = ("fig3", "unresponsive", "fig9")


def traced(source: str, sets: dict[str, str]) -> dict[str, pl.DataFrame]:
    """The tables of a run of Fig. 3, of UDP at four times the link's rate, or of Fig. 9."""
    text, name = api.read_scenario("red1993_fig9" if source == "fig9" else "red1993_fig3")
    if source == "unresponsive":
        text, sets = red1993_simple.unresponsive(4), {"run.packets": "100000", **sets}
    run = run_text(text, name, sets=sets, seed=3)
    return {"packets": run.table("packets")}


def verdicts(source: str, **sets: str) -> dict[str, bool]:
    """Which of the checks hold of a run at the first gateway."""
    table = the_filter.measured(traced(source, {f"queue.{key}": value for key, value in sets.items()}))
    runs = table[the_filter.TABLE].filter(pl.col("link") == "bottleneck")
    checks = the_filter.checks("average", "Secs. III and VIII", "a test", runs)
    return {verdict.check.id: verdict.name == "reproduced" for verdict in judge(checks)}


@pytest.mark.parametrize("source", SOURCES)
def test_the_checks_hold_of_red_as_the_paper_has_it(source: str) -> None:
    assert verdicts(source) == {"average-is-eq-1": True, "average-all-dropped": True, "average-filter": True}


@pytest.mark.parametrize(("source", "w_q"), [("fig3", "0.004"), ("unresponsive", "0.004"), ("unresponsive", "0.0019")])
def test_a_filter_with_another_weight_fails(source: str, w_q: str) -> None:
    found = verdicts(source, w_q=w_q)
    assert not found["average-is-eq-1"]
    assert not found["average-filter"]


@pytest.mark.parametrize("source", SOURCES[:2])
def test_a_max_th_that_is_not_enforced_fails(source: str) -> None:
    """The queue's own max_th is elsewhere, so that what is above 15 is spared."""
    found = verdicts(source, max_th="60")
    assert found == {"average-is-eq-1": True, "average-all-dropped": False, "average-filter": False}


def test_with_gentle_the_band_above_max_th_fails() -> None:
    """ns-2's `gentle` drops only some of the arrivals above max_th."""
    found = verdicts("unresponsive", gentle="true")
    assert found == {"average-is-eq-1": True, "average-all-dropped": False, "average-filter": False}


def test_an_idle_decay_of_another_unit_fails() -> None:
    assert not verdicts("fig3", s="178 us")["average-is-eq-1"]


@pytest.fixture(scope="module")
def fig3() -> pl.DataFrame:
    return traced("fig3", {})["packets"]


def test_the_average_is_computed_anew_and_a_wrong_one_is_seen(fig3: pl.DataFrame) -> None:
    assert the_filter.recomputed(fig3) < 1e-9
    place = fig3.height // 2
    wrong = fig3.with_row_index().with_columns(
        average_packets=pl.when(pl.col("index") >= place).then(pl.col("average_packets") + 0.001).otherwise(
            pl.col("average_packets")
        )
    )  # fmt: skip
    assert the_filter.recomputed(wrong) == pytest.approx(0.001, rel=1e-6)
    assert the_filter.recomputed(fig3, s=2 * the_filter.S) > 0.01, "idle times matter"


# By hand ------------------------------------------------------------------------------------------------------------


def events(*rows: tuple[str, int, float]) -> pl.DataFrame:
    table = pl.DataFrame(rows, schema=["event", "queue_packets", "average_packets"], orient="row")
    return table.with_columns(time_s=0.0)


def test_a_packet_spared_above_max_th_is_seen() -> None:
    dropped = [("arrival", 20, 14.9), ("arrival", 20, 15.1), ("forced", 20, 15.1), ("departure", 19, 15.1)]
    assert the_filter.spared_above(events(*dropped)) == 0
    assert the_filter.spared_above(events(*dropped, ("arrival", 19, 15.2), ("departure", 19, 15.2))) == 1
    assert the_filter.spared_above(events(*dropped, ("arrival", 19, 15.2))) == 1


def test_what_the_filter_allows_follows_from_the_first_arrival_above_max_th() -> None:
    above = [("arrival", 25, 15.0), ("forced", 25, 15.0), ("arrival", 25, 15.02), ("forced", 25, 15.02),
             ("departure", 24, 15.02)]  # fmt: skip
    # 15 + 0.002 · 10; a departure leaves 24: 15.02 + 0.002 · 8.98.
    assert the_filter.beyond(events(*above, ("arrival", 24, 15.03796))) == pytest.approx((15.03796, 0, 1), abs=1e-12)
    # A packet that was let in shows in the queue and so in the average, whatever is said of it.
    let_in = the_filter.beyond(events(*above, ("arrival", 25, 15.03996)))
    assert let_in == pytest.approx((15.03796, 0.002, 1), abs=1e-12)
    # The stretch ends below max_th; the next begins anew, from its own queue.
    below = [("arrival", 10, 15.0), ("departure", 9, 15.0), ("arrival", 9, 14.988), ("arrival", 40, 15.2)]
    assert the_filter.beyond(events(*below)) == pytest.approx((15.2, 0, 2), abs=1e-12)
    # An arrival that finds the link idle is no matter of the queue.
    idle = [("arrival", 1, 15.0), ("departure", 0, 15.0), ("arrival", 0, 7.0)]
    assert the_filter.beyond(events(*idle)) == (15.0, 0.0, 1)


def test_early_drops_of_data_and_acknowledgements_are_compared() -> None:
    run = pl.DataFrame({"data_arrived": [100, 300], "data_lost": [4, 4], "acks_arrived": [50, 50], "acks_lost": [1, 2]})
    apart, error = red1993_heavy.unlike(run)
    assert apart == pytest.approx(100 * (8 / 400 - 3 / 100))
    assert error == pytest.approx(100 * (11 / 500 * 489 / 500 * (1 / 400 + 1 / 100)) ** 0.5)
