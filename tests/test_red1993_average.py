"""RED 1993's average: the checks hold of RED as the paper has it, and fail of one with a broken filter or max_th."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from sluicegate.experiments.engine import run_experiments
from sluicegate.papers.red1993 import average, fig03, fig09
from sluicegate.papers.red1993.charts import EVENTS
from sluicegate.reproduce import Runs, Settings
from sluicegate.reproduce.claim import judge, numbered

STUDIES = {"fig3": fig03.staggered, "unresponsive": fig03.unresponsive_flows, "fig9": fig09.heavy}
SOURCES = tuple(STUDIES)
FEW = Settings(seeds=(1,), duration_s=1, warmup_s=0, sample_s=1)


def traced(source: str, sets: dict[str, str]) -> dict[str, pl.DataFrame]:
    """The packets of a run of Fig. 3, of UDP at four times the link's rate, or of Fig. 9."""
    study = STUDIES[source]
    wanted = study.experiment(study.points[-1], FEW, None, {"packets": frozenset(EVENTS)})
    return run_experiments([replace(wanted, derive=None, sets=(*wanted.sets, *sets.items()))], FEW.seeds)


def verdicts(source: str, **sets: str) -> dict[str, bool]:
    """Which of the checks hold of a run at the first gateway."""
    study = fig03.staggered
    (id_,) = (study.id(point, FEW, None) for point in study.points)
    table = average.measured(traced(source, {f"queue.{key}": value for key, value in sets.items()}))[average.TABLE]
    rows = table.with_columns(experiment=pl.lit(id_), seed=pl.lit(1, dtype=pl.Int64))
    values = {name: measure.evaluate({average.TABLE: rows}) for name, measure in average.measures().items()}
    checks = numbered("average", "a test", average.is_eq_1(Runs(study, FEW, {id_: study.points[0]}, {}, values)))
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
    assert average.recomputed(fig3) < 1e-9
    place = fig3.height // 2
    wrong = fig3.with_row_index().with_columns(
        average_packets=pl.when(pl.col("index") >= place).then(pl.col("average_packets") + 0.001).otherwise(
            pl.col("average_packets")
        )
    )  # fmt: skip
    assert average.recomputed(wrong) == pytest.approx(0.001, rel=1e-6)
    assert average.recomputed(fig3, s=2 * average.S) > 0.01, "idle times matter"


# By hand ------------------------------------------------------------------------------------------------------------


def events(*rows: tuple[str, int, float]) -> pl.DataFrame:
    table = pl.DataFrame(rows, schema=["event", "queue_packets", "average_packets"], orient="row")
    return table.with_columns(time_s=0.0)


def test_a_packet_spared_above_max_th_is_seen() -> None:
    dropped = [("arrival", 20, 14.9), ("arrival", 20, 15.1), ("forced", 20, 15.1), ("departure", 19, 15.1)]
    assert average.spared_above(events(*dropped)) == 0
    assert average.spared_above(events(*dropped, ("arrival", 19, 15.2), ("departure", 19, 15.2))) == 1
    assert average.spared_above(events(*dropped, ("arrival", 19, 15.2))) == 1


def test_what_the_filter_allows_follows_from_the_first_arrival_above_max_th() -> None:
    above = [("arrival", 25, 15.0), ("forced", 25, 15.0), ("arrival", 25, 15.02), ("forced", 25, 15.02),
             ("departure", 24, 15.02)]  # fmt: skip
    # 15 + 0.002 · 10; a departure leaves 24: 15.02 + 0.002 · 8.98.
    assert average.beyond(events(*above, ("arrival", 24, 15.03796))) == pytest.approx((15.03796, 0, 1), abs=1e-12)
    # A packet that was let in shows in the queue and so in the average, whatever is said of it.
    let_in = average.beyond(events(*above, ("arrival", 25, 15.03996)))
    assert let_in == pytest.approx((15.03796, 0.002, 1), abs=1e-12)
    # The stretch ends below max_th; the next begins anew, from its own queue.
    below = [("arrival", 10, 15.0), ("departure", 9, 15.0), ("arrival", 9, 14.988), ("arrival", 40, 15.2)]
    assert average.beyond(events(*below)) == pytest.approx((15.2, 0, 2), abs=1e-12)
    # An arrival that finds the link idle is no matter of the queue.
    idle = [("arrival", 1, 15.0), ("departure", 0, 15.0), ("arrival", 0, 7.0)]
    assert average.beyond(events(*idle)) == (15.0, 0.0, 1)


def test_an_average_that_is_the_queue_moves_as_far_as_it() -> None:
    rows = [("arrival", 0, 0.0), ("arrival", 10, 1.0), ("departure", 9, 1.0), ("arrival", 0, 0.5)]
    table = events(*rows).with_columns(link=pl.lit("bottleneck"))
    assert average.measured({"packets": table})[average.TABLE]["slowness"].item() == pytest.approx(1.5 / 20)
    same = table.with_columns(average_packets=pl.col("queue_packets").cast(pl.Float64))
    assert average.measured({"packets": same})[average.TABLE]["slowness"].item() == 1
