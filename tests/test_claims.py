"""Verdicts, bounds and quantities: each outcome, and that none is reached by accident."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.cli import reproduce as command
from sluicegate.reproduce import (
    Check,
    Quantity,
    above,
    below,
    between,
    claim,
    exact,
    like_one_run_of,
    not_above,
    not_below,
    number,
    printed,
    reference,
    within,
)
from sluicegate.reproduce.claim import judge, numbered
from sluicegate.reproduce.page import verdict_line
from sluicegate.reproduce.quantity import Curve

KEYS = [
    "id",
    "source",
    "class",
    "paper",
    "test",
    "measured",
    "unit",
    "low",
    "high",
    "verdict",
    "ok",
    "contradicts",
    "reason",
    "why",
    "evidence",
]
AS_PRINTED = within(1.0, 2.0, "as printed")
INSIDE = claim("between 1 and 2", number(1.5, "Mbit/s"), AS_PRINTED, id="inside")
OUTSIDE = claim("outside", number(2.5, "Mbit/s"), AS_PRINTED)
EXPLAINED = claim("explained", number(2.5, "Mbit/s"), AS_PRINTED, because="The reason.", evidence=INSIDE)
SPREAD = Quantity((94.0, 95.0, 96.0, 94.5, 95.5), "%", "share")


def verdicts_of(*checks: Check) -> list[tuple[str, bool, str]]:
    return [(each.name, each.ok, each.evidence) for each in judge(numbered("fig1", "Sec. 1", checks))]


def test_a_measurement_inside_its_bounds_is_reproduced() -> None:
    assert verdicts_of(INSIDE) == [("reproduced", True, "")]


@pytest.mark.parametrize(("measured", "holds"), [(1.0, True), (2.0, True), (0.999, False), (2.001, False)])
def test_bounds_include_their_ends(measured: float, holds: bool) -> None:
    assert AS_PRINTED.of(number(0)).holds(measured) is holds


@pytest.mark.parametrize("measured", [math.nan, math.inf, -math.inf])
def test_a_measurement_that_is_no_number_fails(measured: float) -> None:
    (verdict,) = judge(numbered("fig1", "", [claim("x", measured, within(None, None, "none"))]))
    assert (verdict.name, verdict.ok) == ("failed", False)
    assert verdict.record()["measured"] is None


@pytest.mark.parametrize("make", [exact, claim])
def test_outside_without_a_reason_is_contradicted(make: object) -> None:
    (verdict,) = judge(numbered("fig1", "", [make("x", 9.0, AS_PRINTED)]))  # type: ignore[operator]
    assert (verdict.name, verdict.ok, verdict.contradicts) == ("failed", False, True)


def test_outside_with_reason_and_evidence_is_an_explained_deviation() -> None:
    _, verdict = judge(numbered("fig1", "", [INSIDE, EXPLAINED]))
    assert (verdict.name, verdict.ok, verdict.evidence) == ("explained deviation", True, "fig1-inside")
    assert verdict.why.startswith("The reason. ")


@pytest.mark.parametrize(
    ("many", "line"),
    [(1, "1 explained deviation, 1 reproduced"), (2, "2 explained deviations, 1 reproduced")],
)
def test_explained_deviations_are_counted_in_the_plural(many: int, line: str) -> None:
    checks = [INSIDE, *(replace(EXPLAINED, statement=f"explained {at}") for at in range(many))]
    assert verdict_line(judge(numbered("fig1", "", checks))) == line


def test_checks_that_cannot_contradict_are_said_to_be_such(capsys: pytest.CaptureFixture[str]) -> None:
    for kind, said in (("reference", "cannot contradict it"), ("claim", "0 of 1 claims contradicted")):
        verdicts = judge(numbered("fig1", "", [replace(INSIDE, kind=kind)]))  # type: ignore[arg-type]
        outcome = SimpleNamespace(
            verdicts=verdicts, contradicted=[], paper=SimpleNamespace(name="paper"), record={}, compared=True,
            changed={}, passed=lambda strict: True,
        )  # fmt: skip
        assert command.tell(outcome, strict=False, quiet=False)  # type: ignore[arg-type]
        assert capsys.readouterr().out.endswith(f"{said}\n")


def test_evidence_that_was_not_reproduced_explains_nothing() -> None:
    wrong = replace(INSIDE, quantity=number(9.0))
    assert verdicts_of(wrong, replace(EXPLAINED, evidence=wrong))[1] == ("failed", False, "")


def test_evidence_may_be_of_another_figure() -> None:
    there = numbered("fig1", "", [INSIDE])
    here = numbered("fig2", "", [replace(EXPLAINED, evidence="fig1-inside")])
    assert [each.name for each in judge([*there, *here])] == ["reproduced", "explained deviation"]


def test_a_reference_never_contradicts() -> None:
    assert verdicts_of(reference("x", 9.0, AS_PRINTED)) == [("failed", True, "")]


def test_the_reason_is_silent_when_the_measurement_agrees() -> None:
    _, verdict = judge(numbered("fig1", "", [INSIDE, replace(EXPLAINED, quantity=number(1.5))]))
    assert (verdict.name, verdict.evidence) == ("reproduced", "")
    assert "The reason." not in verdict.why


def test_a_remark_is_told_of_a_failed_check_only() -> None:
    failed, held = judge(
        numbered("fig1", "", [replace(OUTSIDE, remark="What is known."), replace(INSIDE, remark="What is known.")])
    )
    assert failed.why.startswith("What is known. ")
    assert "What is known." not in held.why


def test_checks_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="a reason needs evidence"):
        claim("x", 1.0, AS_PRINTED, because="why")
    with pytest.raises(ValueError, match="two checks are called 'fig1-inside'"):
        numbered("fig1", "", [INSIDE, INSIDE])
    with pytest.raises(ValueError, match="not a check of the same figure"):
        numbered("fig1", "", [EXPLAINED])
    with pytest.raises(ValueError, match="not another check"):
        judge(numbered("fig1", "", [replace(EXPLAINED, evidence="nowhere")]))


def test_ids_and_sources_are_derived() -> None:
    quantity = Quantity((1.0,), "%", "share", where="CHOKe, thresholds 30 and 60")
    (check,) = numbered(
        "fig9", "Sec. 4, Fig. 9", [claim("UDP never becomes the dominant part of it", quantity, below(50))]
    )
    assert check.id == "fig9-udp-never-becomes-the-dominant-part-choke-thresholds-30-and-60"
    assert check.source == "Sec. 4, Fig. 9; CHOKe, thresholds 30 and 60"
    assert check.test == "share: below 50 %"


def test_a_record_has_the_keys_of_checks_json() -> None:
    (verdict,) = judge(numbered("fig1", "Sec. 1", [INSIDE]))
    assert list(verdict.record()) == KEYS
    assert verdict.record()["why"] == "Bounds: as printed. In Mbit/s."


def test_bounds_move_by_the_interval_so_that_all_of_it_lies_inside() -> None:
    half = SPREAD.spread.half_width
    assert above(90).of(SPREAD).low == 90 + half
    assert below(99).of(SPREAD).high == 99 - half
    assert (between(90, 99).of(SPREAD).low, between(90, 99).of(SPREAD).high) == (90 + half, 99 - half)
    assert not_below(96).of(SPREAD).low == 96 - half
    assert not_above(94).of(SPREAD).high == 94 + half


def test_a_printed_number_allows_its_digit_and_the_spread_of_one_run() -> None:
    run = SPREAD.spread.run_half_width
    bounds = printed(95, 1).of(SPREAD)
    assert (bounds.low, bounds.high) == (94.5 - run, 95.5 + run)
    bounds = printed(90, 1, to=95).of(SPREAD)
    assert (bounds.low, bounds.high) == (89.5 - run, 95.5 + run)
    assert (printed(95, 1).printed, printed(90, 1, to=95).printed) == (95, None)


def test_a_mean_is_like_one_run_of_another() -> None:
    run = SPREAD.spread.run_half_width
    bounds = like_one_run_of(SPREAD).of(number(1))
    assert (bounds.low, bounds.high) == (95 - run, 95 + run)
    assert like_one_run_of(SPREAD, least=0.5).of(number(1)).low == 47.5


def test_a_single_run_moves_no_bound() -> None:
    one = Quantity((7.0,))
    assert above(5).of(one).low == 5
    assert (printed(7, 1).of(one).low, printed(7, 1).of(one).high) == (6.5, 7.5)


values = st.lists(st.floats(1, 1e6), min_size=2, max_size=20)


@given(values, st.floats(0.5, 100))
def test_arithmetic_goes_seed_by_seed(numbers: list[float], factor: float) -> None:
    one = Quantity(tuple(numbers), "packets")
    other = one * factor
    assert (other - one).values == tuple(value * factor - value for value in numbers)
    assert (one - one).spread.half_width == 0, "paired: no spread is left"
    assert other.percent_of(one).mean == pytest.approx(100 * factor)
    assert other.gain_over(one).mean == pytest.approx(100 * factor - 100, abs=1e-9 * factor * 100)


def test_seeds_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Quantity((1.0, 2.0)) - Quantity((1.0,))


def test_a_curve_is_asked_where_a_bound_holds_least() -> None:
    points = {1: (1.0,) * 5, 2: (4.0, 2.0, 3.0, 3.0, 3.0), 3: (3.0,) * 5}
    curve = Curve("x", tuple(points), tuple(Quantity(each, at=str(x)) for x, each in points.items()))
    assert curve.highest().at == "2", "the mean is that at 3, its interval is wider"
    assert (curve.lowest().at, curve.peak().mean, curve.at(3).mean) == ("1", 3.0, 3.0)
    assert curve.mean().values[0] == pytest.approx(8 / 3)
    assert curve.range().values[0] == 300
    assert [each.mean for each in curve.steps()] == [2.0, 0.0]
    assert curve.from_(2).x == (2, 3)
    assert [each.mean for each in curve - curve] == [0, 0, 0]
