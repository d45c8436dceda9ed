"""RED 1993's Figs. 12 to 16 and claims: the measures on tables whose answer is known, and the networks as the text has
them."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from sluicegate import scenario as api
from sluicegate.experiments.engine import Tables, run_experiments
from sluicegate.papers import Settings
from sluicegate.papers import red1993_bursty as bursty
from sluicegate.papers import red1993_bursty_checks as bursty_checks
from sluicegate.papers import red1993_claims as claims
from sluicegate.papers import red1993_claims_checks as claims_checks
from sluicegate.papers.checks import judge
from sluicegate.papers.red1993 import LINK_BPS
from sluicegate.stats import interval

FEW = Settings(seeds=(1, 2), duration_s=2, warmup_s=0, sample_s=1)


@pytest.fixture(scope="module")
def results() -> Tables:
    """Both parts, two seeds of two seconds."""
    return run_experiments([*bursty.experiments(FEW), *claims.experiments(FEW)], FEW.seeds)


def test_figure_11_is_as_the_text_has_it() -> None:
    flows = api.check(bursty.SCENARIO)["flows"]
    (short, far) = ((flow["count"], flow["window"], flow["rtt"]) for flow in flows)
    assert (short, far) == ((4, 12, "6 ms"), (1, 8, "36 ms"))
    waiting = 4 * 12 - LINK_BPS * 0.006 / 8000
    assert int(waiting) == max(bursty.MIN_THS)
    assert int(waiting + 8) == max(bursty.BUFFERS)


def test_overrides_follow_the_value() -> None:
    assert dict(bursty.RED.overrides(5)) == {
        "queue.discipline": "red", "queue.min_th": "5", "queue.max_th": "10", "queue.limit": "20",
    }  # fmt: skip
    assert dict(bursty.DROP_TAIL.overrides(8))["flows.1.overhead"] == "0.17 ms"
    names = [case.name(value) for case in bursty.CASES for value in case.over]
    assert len(set(names)) == len(names)


def table(shares: list[float], lost: list[tuple[int, int]]) -> Tables:
    """One run of RED at min_th = 5: in each second node 5's throughput of 100, and the others' drops and its own."""
    rows = []
    for second, (share, drops) in enumerate(zip(shares, lost, strict=True), start=1):
        for flow in range(1, 6):
            bps = share if flow == bursty.NODE_5 else (100 - share) / 4
            own = drops[1] if flow == bursty.NODE_5 else drops[0] if flow == 1 else 0
            rows.append((bursty.RED.name(5), 1, float(second), flow, bps, own, 0))
    series = pl.DataFrame(
        rows, orient="row",
        schema={"experiment": pl.String, "seed": pl.UInt64, "time_s": pl.Float64, "flow": pl.UInt64,
                "throughput_bps": pl.Float64, "lost_packets": pl.UInt64, "marked_packets": pl.UInt64},
    )  # fmt: skip
    queue = series.filter(pl.col("flow") == 1).select(
        "experiment", "seed", "time_s", queue_found_packets_mean=pl.lit(4.0)
    )
    return {"flow_series": series, "queue": queue}


def test_shares_and_excess_by_hand() -> None:
    rows = bursty.periods(table([4.0, 2.0, 0.0], [(9, 1), (1, 1), (3, 0)]))
    assert rows["share"].to_list() == [4.0, 2.0, 0.0]
    assert rows["notices"].to_list() == [10, 2, 3]
    assert rows["notice_share"].to_list() == [10.0, None, 0.0], "two drops are too few"
    assert bursty.excesses(rows, bursty.RED) == [3.0]
    assert bursty.by_value(rows, bursty.RED)["share"].to_list() == [2.0]
    assert bursty.most_drops(rows) == [10.0]


def test_at_the_same_queue_the_share_is_interpolated() -> None:
    def row(case: bursty.Case, value: int, share: float, queue: float) -> dict[str, object]:
        return {"case": case.id, "value": value, "seed": 1, "share": share, "queue_packets": queue, "utilisation": 0.9}

    rows = pl.DataFrame(
        [row(bursty.DROP_TAIL, 8, 1.0, 4.0), row(bursty.DROP_TAIL, 9, 3.0, 8.0),
         row(bursty.RED, 3, 9.0, 1.0), row(bursty.RED, 4, 4.0, 5.0), row(bursty.RED, 5, 9.0, 9.0)]
    )  # fmt: skip
    assert bursty.at_the_same_queue(rows, bursty.DROP_TAIL) == [pytest.approx(4.0 - 1.5)]


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
    assert claims.correlation(np.array(events)) == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_windows_of_drops_are_cut_where_they_are_full() -> None:
    flows = len(claims.SHARES)
    samples = [[30] * flows] * 5  # 150 in each: every sample is a window of its own
    rows = [
        ("fig16 luck", 7, 0.05 * at, flow + 1, lost)
        for at, sample in enumerate(samples)
        for flow, lost in enumerate(sample)
    ]
    columns = {"experiment": pl.String, "seed": pl.UInt64, "time_s": pl.Float64, "flow": pl.UInt64,
               "lost_packets": pl.UInt64}  # fmt: skip
    series = pl.DataFrame(rows, schema=columns, orient="row")
    windows = claims.windows_of_drops({"flow_series": series})[7]
    assert windows.tolist() == samples
    assert claims.frequency(windows, 2, 2) == 1.0, "30 of 150 are twice the tenth that is expected"
    assert claims.frequency(windows, 2, 4) == 0.0


def test_every_check_stands_under_a_figure(results: Tables) -> None:
    sections = [part.section(FEW, results) for part in (bursty, claims)]
    for section in sections:
        under = [id_ for figure in section.figures for id_ in figure.checks]
        assert sorted(under) == sorted(check.id for check in section.checks)
        assert all(figure.data.height > 0 for figure in section.figures)
    for verdict in judge([check for section in sections for check in section.checks]):
        assert verdict.check.kind != "exact" or verdict.ok, verdict.check.id


def test_what_holds_in_two_seconds_too(results: Tables) -> None:
    checks = {check.id: check for check in bursty_checks.checks(bursty.periods(results))}
    for id_ in ("fig15-drop-tail", "fig15-random-drop", "fig15-decbit", "fig12-drop-tail-less-at-the-same-queue"):
        assert checks[id_].measured > 0, id_
    checks = {check.id: check for check in claims_checks.checks(results)}
    assert checks["bytes-large-more-often"].measured > 0
    assert checks["fig16-simulated-below-the-bound"].measured > 1, "so few windows do not tell"


def test_a_gain_lies_between_neighbouring_windows_or_it_is_told_how_far_outside() -> None:
    assert claims_checks.missed({8: -60.0, 16: 10.0, 24: 110.0, 32: 90.0}, 75) == 0
    assert claims_checks.missed({8: -60.0, 16: 10.0, 24: 66.0}, 75) == 9
    assert claims_checks.missed({8: 300.0, 16: 90.0}, 75) == 15


def test_marks_that_come_in_clusters_break_the_bound() -> None:
    """Flow 2 has its tenth of the marks, but all of them in one window of ten."""
    rows, others = [], [0, 1, 3, 4]
    for at in range(2000):
        row = [0] * len(claims.SHARES)
        row[2] = 100 if at % 10 == 0 else 0
        row[others[at % 4]] += 100 - row[2]
        rows.append(row)
    fair = np.tile(np.round(100 * np.array(claims.SHARES)).astype(np.int64), (2000, 1))
    assert claims_checks.over_bound(np.array(rows), 2, 2) > 1
    assert claims_checks.over_bound(fair, 2, 2) < 1


def test_roughly_on_the_line_has_room_for_a_quarter_of_the_share_and_the_interval() -> None:
    spread = interval([0.1, 0.2, 0.3, 0.2, 0.2])
    bounds = bursty_checks._centred(spread, [4.0, 4.0])
    assert (bounds.low, bounds.high) == pytest.approx((spread.half_width - 1, 1 - spread.half_width))
    assert [bounds.holds(value) for value in (-1.0, -0.5, 0.5, 1.0)] == [False, True, True, False]


def test_decbit_marks_and_does_not_drop(results: Tables) -> None:
    links = results["links"].filter(pl.col("experiment") == bursty.DECBIT.name(200))
    assert links["lost_packets"].sum() == 0
    assert links["marked_packets"].min() > 100  # type: ignore[operator]
