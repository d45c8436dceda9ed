"""Verdicts, bounds and intervals: each outcome, and that none is reached by accident."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sluicegate.papers.checks import Bounds, Check, above, below, judge, passed, printed
from sluicegate.stats import Interval, difference, interval

INSIDE = Check("inside", "Sec. 1", "claim", "between 1 and 2", 1.5, "Mbit/s", Bounds(1.0, 2.0, "as printed"))
OUTSIDE = replace(INSIDE, id="outside", measured=2.5)
EXPLAINED = replace(OUTSIDE, id="explained", explanation="The reason.", evidence="inside")

KEYS = ["id", "source", "class", "paper", "measured", "low", "high", "verdict", "ok", "why", "evidence"]


def test_a_measurement_inside_its_bounds_is_reproduced() -> None:
    (verdict,) = judge([INSIDE])
    assert (verdict.name, verdict.ok) == ("reproduced", True)
    assert verdict.evidence == ""


@pytest.mark.parametrize(("measured", "holds"), [(1.0, True), (2.0, True), (0.999, False), (2.001, False)])
def test_bounds_include_their_ends(measured: float, holds: bool) -> None:
    assert Bounds(1.0, 2.0, "x").holds(measured) is holds


@pytest.mark.parametrize("measured", [math.nan, math.inf, -math.inf])
def test_a_measurement_that_is_no_number_fails(measured: float) -> None:
    (verdict,) = judge([replace(INSIDE, measured=measured, bounds=Bounds(None, None, "none"))])
    assert (verdict.name, verdict.ok) == ("failed", False)
    assert verdict.record()["measured"] is None


@pytest.mark.parametrize("kind", ["exact", "claim"])
def test_outside_without_a_reason_fails(kind: str) -> None:
    verdicts = judge([replace(OUTSIDE, kind=kind)])  # type: ignore[arg-type]
    assert (verdicts[0].name, verdicts[0].ok) == ("failed", False)
    assert not passed(verdicts)


def test_outside_with_reason_and_evidence_differs_explained() -> None:
    _, verdict = judge([INSIDE, EXPLAINED])
    assert (verdict.name, verdict.ok, verdict.evidence) == ("differs, explained", True, "inside")
    assert verdict.why.startswith("The reason. ")


def test_evidence_that_was_not_reproduced_explains_nothing() -> None:
    _, verdict = judge([replace(INSIDE, measured=9.0), EXPLAINED])
    assert (verdict.name, verdict.ok) == ("failed", False)


def test_a_shown_number_is_never_a_failure_of_the_reproduction() -> None:
    verdicts = judge([replace(INSIDE, kind="shown", measured=9.0, explanation="x", evidence="outside"), OUTSIDE])
    assert (verdicts[0].name, verdicts[0].ok) == ("failed", True)
    assert not passed(verdicts), "the other one is a claim"
    assert passed(verdicts[:1])


def test_the_reason_is_silent_when_the_measurement_agrees() -> None:
    _, verdict = judge([INSIDE, replace(EXPLAINED, measured=1.5)])
    assert (verdict.name, verdict.evidence) == ("reproduced", "")
    assert "The reason." not in verdict.why


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ([INSIDE, INSIDE], "two checks are called 'inside'"),
        ([replace(INSIDE, kind="guess")], "no such class 'guess'"),  # type: ignore[arg-type]
        ([replace(EXPLAINED, evidence="explained")], "is not another check"),
        ([replace(EXPLAINED, evidence="nowhere")], "is not another check"),
        ([INSIDE, replace(EXPLAINED, evidence="")], "needs evidence"),
        ([INSIDE, replace(EXPLAINED, explanation="")], "needs evidence"),
    ],
)
def test_a_list_of_checks_that_makes_no_sense_is_refused(checks: list[Check], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        judge(checks)


def test_a_record_has_the_keys_of_checks_json() -> None:
    (verdict,) = judge([INSIDE])
    assert list(verdict.record()) == KEYS
    assert verdict.record()["why"] == "Bounds: as printed. In Mbit/s."


def test_one_sided_bounds_move_by_the_interval() -> None:
    spread = Interval(95.0, 0.5, 2.0, 20)
    assert above(90, spread).low == 90.5
    assert above(90, spread).high is None
    assert below(30, spread).high == 29.5
    assert below(30, spread).low is None


def test_a_printed_number_allows_its_digit_and_the_spread_of_one_run() -> None:
    bounds = printed(25, 1, Interval(24.0, 0.5, 2.0, 20))
    assert (bounds.low, bounds.high) == (22.5, 27.5)


def test_a_single_run_moves_no_bound() -> None:
    one = interval([7.0])
    assert (one.mean, one.count) == (7.0, 1)
    assert math.isnan(one.half_width)
    assert above(5, one).low == 5
    assert (printed(7, 1, one).low, printed(7, 1, one).high) == (6.5, 7.5)


values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


@given(values)
def test_intervals_agree_with_scipy(numbers: list[float]) -> None:
    got = interval(numbers)
    scale = float(np.std(numbers, ddof=1))
    margin = 1e-9 * (1 + max(map(abs, numbers)))
    assert got.mean == pytest.approx(np.mean(numbers), abs=margin)
    t = float(stats.t.ppf(0.975, len(numbers) - 1))
    assert got.half_width == pytest.approx(t * scale / math.sqrt(len(numbers)), abs=margin)
    assert got.run_half_width == pytest.approx(t * scale * math.sqrt(1 + 1 / len(numbers)), abs=t * margin)


@given(values, st.randoms())
def test_an_interval_does_not_depend_on_order(numbers: list[float], random: object) -> None:
    shuffled = list(numbers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert interval(shuffled) == interval(numbers)


def test_an_interval_covers_the_mean_as_often_as_it_says() -> None:
    draws = np.random.default_rng(1).normal(10.0, 2.0, size=(2000, 8))
    covered = sum(each.low <= 10.0 <= each.high for each in map(interval, draws))
    # 95 % of 2000 with 3 standard deviations of a binomial (9.7) either way.
    assert 1870 <= covered <= 1930


def test_differences_are_paired() -> None:
    paired = difference([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])
    assert (paired.mean, paired.half_width) == (1.0, 0.0)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        difference([1.0, 2.0], [1.0])


def test_no_values_give_no_interval() -> None:
    with pytest.raises(ValueError, match="at least one"):
        interval([])


def test_a_remark_is_told_of_a_failed_check_only() -> None:
    known = "What is known."
    failed, held, explained = judge([
        replace(OUTSIDE, id="a", remark=known), replace(INSIDE, remark=known), replace(EXPLAINED, remark=known),
    ])  # fmt: skip
    assert failed.name == "failed"
    assert failed.why.startswith(known)
    assert known not in held.why + explained.why
