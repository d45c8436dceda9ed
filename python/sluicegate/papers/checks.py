"""Checks: what a paper says, what was measured, and the one place where a verdict is reached.

A check's class says what it can prove. `exact` compares with a closed form or an identity. `claim` tests a statement
of the paper, or a number whose inputs the paper gives in full. `shown` sets a number that depends on inputs the paper
leaves out beside ours, and is never a failure of the reproduction.

A measurement inside its bounds is *reproduced*. Outside, it *differs, explained* if the check says why in a sentence
and names as evidence another check of the same report that isolates the cause and was itself reproduced. Otherwise it
has *failed*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..stats import ENOUGH, Interval

CheckClass = Literal["exact", "claim", "shown"]
VerdictName = Literal["reproduced", "differs, explained", "failed"]

CLASSES: tuple[CheckClass, ...] = ("exact", "claim", "shown")
VERDICTS: tuple[VerdictName, ...] = ("reproduced", "differs, explained", "failed")


@dataclass(frozen=True)
class Bounds:
    """Where a measurement must lie, ends included, in the check's unit, and how the ends were found.

    `low` or `high` is None where there is no such end.
    """

    low: float | None
    high: float | None
    derivation: str

    def holds(self, measured: float) -> bool:
        """Whether `measured` is a finite number between the ends."""
        if not math.isfinite(measured):
            return False
        return (self.low is None or measured >= self.low) and (self.high is None or measured <= self.high)


@dataclass(frozen=True)
class Check:
    """One comparison of a paper with a measurement.

    `id`: unique in its report, lower case with dashes. `source`: where the paper says it. `paper`: what it says, with
    unit. `unit`: of `measured` and of the bounds ("" for a bare number). `explanation` and `evidence` are consulted
    only when the measurement lies outside its bounds. `remark`: what is known of a check that has failed, short of its
    cause; it changes no verdict.
    """

    id: str
    source: str
    kind: CheckClass
    paper: str
    measured: float
    unit: str
    bounds: Bounds
    explanation: str = ""
    evidence: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Verdict:
    """A check with its outcome. `ok` is False only for a failed `exact` or `claim`."""

    check: Check
    name: VerdictName
    ok: bool

    @property
    def why(self) -> str:
        """How the bounds were found and, where the measurement differs, the reason or what is known of it."""
        unit = f" In {self.check.unit}." if self.check.unit else ""
        told = {"differs, explained": self.check.explanation, "failed": self.check.remark}.get(self.name, "")
        reason = f"{told} " if told else ""
        return f"{reason}Bounds: {self.check.bounds.derivation}.{unit}"

    @property
    def evidence(self) -> str:
        """The id of the check that isolates the cause of a difference; "" otherwise."""
        return self.check.evidence if self.name == "differs, explained" else ""

    def record(self) -> dict[str, Any]:
        """The check as `checks.json` lists it. A measurement that is not a finite number becomes null."""
        check = self.check
        return {
            "id": check.id,
            "source": check.source,
            "class": check.kind,
            "paper": check.paper,
            "measured": check.measured if math.isfinite(check.measured) else None,
            "low": check.bounds.low,
            "high": check.bounds.high,
            "verdict": self.name,
            "ok": self.ok,
            "why": self.why,
            "evidence": self.evidence,
        }


def judge(checks: Sequence[Check]) -> list[Verdict]:
    """The verdict on each check, in the same order.

    Raises ValueError for a repeated id, an unknown class, an explanation without evidence (or the reverse), or
    evidence that is not another check of the list.
    """
    by_id: dict[str, Check] = {}
    for check in checks:
        if check.id in by_id:
            raise ValueError(f"two checks are called {check.id!r}")
        if check.kind not in CLASSES:
            raise ValueError(f"check {check.id!r}: no such class {check.kind!r}")
        by_id[check.id] = check
    for check in checks:
        if bool(check.explanation) != bool(check.evidence):
            raise ValueError(f"check {check.id!r}: an explanation needs evidence, and evidence an explanation")
        if check.evidence and (check.evidence == check.id or check.evidence not in by_id):
            raise ValueError(f"check {check.id!r}: its evidence {check.evidence!r} is not another check of this report")
    return [_verdict(check, by_id) for check in checks]


def _verdict(check: Check, by_id: dict[str, Check]) -> Verdict:
    name: VerdictName
    if check.bounds.holds(check.measured):
        name = "reproduced"
    elif check.evidence and by_id[check.evidence].bounds.holds(by_id[check.evidence].measured):
        name = "differs, explained"
    else:
        name = "failed"
    return Verdict(check, name, ok=name != "failed" or check.kind == "shown")


def passed(verdicts: Iterable[Verdict]) -> bool:
    """True when no `exact` or `claim` check failed."""
    return all(verdict.ok for verdict in verdicts)


def above(limit: float, spread: Interval) -> Bounds:
    """At least `limit` with the whole 95 % interval of the mean: the bound moves up by the interval's half-width."""
    return Bounds(
        limit + spread.margin,
        None,
        f"above {limit:.4g}, moved up by {spread.margin:.2g} so that the whole 95 % interval "
        f"over {spread.count} seeds lies above it",
    )


def below(limit: float, spread: Interval) -> Bounds:
    """At most `limit` with the whole 95 % interval of the mean: the bound moves down by the interval's half-width."""
    return Bounds(
        None,
        limit - spread.margin,
        f"below {limit:.4g}, moved down by {spread.margin:.2g} so that the whole 95 % interval "
        f"over {spread.count} seeds lies below it",
    )


def printed(value: float, precision: float, spread: Interval) -> Bounds:
    """Around a printed `value` that came from one run of the paper's.

    The ends are half a unit of the last printed digit (`precision`) away, and further by the 95 % prediction interval
    of one run, because the paper's single run varies as ours do.
    """
    half = precision / 2
    if spread.count < ENOUGH:
        room = f"; {spread.count} values are too few for a spread"
    else:
        room = f" and the 95 % prediction interval of a single run over {spread.count} seeds ({spread.run_margin:.2g})"
    return Bounds(
        value - half - spread.run_margin,
        value + half + spread.run_margin,
        f"{value:g} as printed, give or take half its last digit ({half:g}){room}",
    )
