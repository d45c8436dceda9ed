"""Checks: what a paper says, what was measured, and the one place where a verdict is reached.

`exact` compares with a closed form or an identity. `claim` tests a statement of the paper, or a number whose inputs
the paper gives in full. `reference` sets a number that depends on inputs which the paper leaves out beside
Sluicegate's, and is never a failure.

A measurement inside its bounds is *reproduced*. Outside, it is an *explained deviation* if the check says why and
names as evidence another check of the same report that isolates the cause and was itself reproduced. Otherwise it has
*failed*. An `exact` or `claim` outside its bounds is contradicted, explained or not: that is a finding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..stats import ENOUGH
from .quantity import Quantity, number

Kind = Literal["exact", "claim", "reference"]
VerdictName = Literal["reproduced", "explained deviation", "failed"]

KINDS: tuple[Kind, ...] = ("exact", "claim", "reference")
VERDICTS: tuple[VerdictName, ...] = ("reproduced", "explained deviation", "failed")


@dataclass(frozen=True)
class Bounds:
    """Where the mean must lie, ends included, in the quantity's unit, and how the ends were found.

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
class Bound:
    """A rule for bounds. `words`: what is tested, without unit. `of`: the bounds, from what was measured. `printed`:
    the number that the paper prints, where that is the rule."""

    words: str
    of: Callable[[Quantity], Bounds]
    printed: float | None = None


def above(limit: float) -> Bound:
    """At least `limit` with the whole 95 % interval of the mean: the bound moves up by the interval's half-width."""

    def of(quantity: Quantity) -> Bounds:
        margin, seeds = quantity.spread.margin, quantity.spread.count
        return Bounds(limit + margin, None, f"{limit:.4g}{_moved('up', margin, seeds)}")

    return Bound(f"above {limit:.4g}", of)


def below(limit: float) -> Bound:
    """At most `limit` with the whole 95 % interval of the mean: the bound moves down by the interval's half-width."""

    def of(quantity: Quantity) -> Bounds:
        margin, seeds = quantity.spread.margin, quantity.spread.count
        return Bounds(None, limit - margin, f"{limit:.4g}{_moved('down', margin, seeds)}")

    return Bound(f"below {limit:.4g}", of)


def between(low: float, high: float) -> Bound:
    """Between two limits with the whole 95 % interval of the mean."""

    def of(quantity: Quantity) -> Bounds:
        margin, seeds = quantity.spread.margin, quantity.spread.count
        return Bounds(low + margin, high - margin, f"{low:.4g} and {high:.4g}{_moved('inwards', margin, seeds)}")

    return Bound(f"between {low:.4g} and {high:.4g}", of)


def _moved(way: str, margin: float, seeds: int) -> str:
    if not margin:
        return ""
    return f", moved {way} by {margin:.2g} so that the whole 95 % interval over {seeds} seeds lies inside"


def not_below(limit: float) -> Bound:
    """Not below `limit` as far as the seeds can tell: the bound gives way by the half-width of the 95 % interval."""

    def of(quantity: Quantity) -> Bounds:
        margin, seeds = quantity.spread.margin, quantity.spread.count
        return Bounds(limit - margin, None, f"{limit:.4g}, less {margin:.2g}, the 95 % interval over {seeds} seeds")

    return Bound(f"not below {limit:.4g}", of)


def not_above(limit: float, why: str = "") -> Bound:
    """Not above `limit` as far as the seeds can tell: the bound gives way by the half-width of the 95 % interval.
    `why`: what the limit comes from, where that needs telling."""
    told = f"{limit:.4g}, {why}" if why else f"{limit:.4g}"

    def of(quantity: Quantity) -> Bounds:
        margin, seeds = quantity.spread.margin, quantity.spread.count
        return Bounds(None, limit + margin, f"{told}, plus {margin:.2g}, the 95 % interval over {seeds} seeds")

    return Bound(f"not above {limit:.4g}", of)


def not_unlike(value: float) -> Bound:
    """Equal to `value` as far as the seeds can tell: give or take the half-width of the 95 % interval."""

    def of(quantity: Quantity) -> Bounds:
        margin, seeds = quantity.spread.margin, quantity.spread.count
        told = f"{value:.4g}, give or take {margin:.2g}, the 95 % interval over {seeds} seeds"
        return Bounds(value - margin, value + margin, told)

    return Bound(f"{value:.4g}", of)


def printed(value: float, precision: float, to: float | None = None) -> Bound:
    """Around a printed `value`, or between it and `to`, that came from one run of the paper's.

    The ends are half a unit of the last printed digit (`precision`) away, and further by the 95 % prediction interval
    of one run, because the paper's single run varies as Sluicegate's do.
    """
    half, last = precision / 2, value if to is None else to
    words = f"{value:g}" if to is None else f"{value:g} to {to:g}"

    def of(quantity: Quantity) -> Bounds:
        spread = quantity.spread
        room = f" and the 95 % prediction interval of a single run over {spread.count} seeds ({spread.run_margin:.2g})"
        if spread.count < ENOUGH:
            room = f"; {spread.count} {'value is' if spread.count == 1 else 'values are'} too few for a spread"
        return Bounds(
            value - half - spread.run_margin,
            last + half + spread.run_margin,
            f"{words} as printed, give or take half its last digit ({half:g}){room}",
        )

    return Bound(words, of, value if to is None else None)


def within(low: float | None, high: float | None, why: str) -> Bound:
    """Between fixed ends, found as `why` says."""
    if low is not None and high is not None:
        words = f"{low:.4g}" if low == high else f"between {low:.4g} and {high:.4g}"
    else:
        words = f"at least {low:.4g}" if low is not None else f"at most {high:.4g}" if high is not None else "any"
    return Bound(words, lambda _: Bounds(low, high, why))


def like_one_run_of(other: Quantity, least: float = 0.0) -> Bound:
    """Where a single run of `other` lies: a mean that lies there too cannot be told from it. The distance is the 95 %
    prediction interval, or `least` of the mean when that is more."""
    spread = other.spread
    half = max(spread.run_margin, least * abs(spread.mean))
    room = f", or {100 * least:g} % of it when that is more" if least else ""
    return within(
        spread.mean - half,
        spread.mean + half,
        f"the mean of {other.where or other.label}, {spread.mean:.4g}, give or take the 95 % prediction interval of "
        f"one of its runs over {spread.count} seeds ({spread.run_margin:.2g}){room}",
    )


@dataclass(frozen=True)
class Check:
    """One comparison of a paper with a measurement; `claim`, `exact` and `reference` make it.

    `statement`: what the paper says. `source`: where it says it, "" for where the figure is. `tested`: what is tested
    of it where the quantity and the bound alone do not say it. `because` and `evidence` (a check, or the id of one):
    consulted only when the measurement lies outside its bounds. `remark`: what is known of a failed one, short of its
    cause; it changes no verdict. `id`: given by `numbered`.
    """

    kind: Kind
    statement: str
    quantity: Quantity
    bound: Bound
    source: str = ""
    tested: str = ""
    because: str = ""
    evidence: Check | str = ""
    remark: str = ""
    id: str = ""

    @property
    def bounds(self) -> Bounds:
        """Where the mean must lie."""
        return self.bound.of(self.quantity)

    @property
    def measured(self) -> float:
        """The mean over seeds."""
        return self.quantity.mean

    @property
    def test(self) -> str:
        """What is tested, in words."""
        quantity = self.quantity
        where = f" ({quantity.at})" if quantity.at else ""
        return self.tested or f"{quantity.label}{where}: {self.bound.words} {quantity.unit}".rstrip()


def _made(kind: Kind) -> Callable[..., Check]:
    def make(
        statement: str,
        measured: Quantity | float,
        bound: Bound,
        *,
        source: str = "",
        tested: str = "",
        because: str = "",
        evidence: Check | str = "",
        remark: str = "",
        id: str = "",
    ) -> Check:
        quantity = measured if isinstance(measured, Quantity) else number(measured)
        if bool(because) != bool(evidence):
            raise ValueError(f"{statement!r}: a reason needs evidence, and evidence a reason")
        return Check(kind, statement, quantity, bound, source, tested, because, evidence, remark, id)

    make.__doc__ = f"A check of class `{kind}`; see `Check` for its arguments."
    return make


claim, exact, reference = _made("claim"), _made("exact"), _made("reference")


def numbered(figure: str, source: str, checks: Iterable[Check]) -> list[Check]:
    """The checks of a figure with ids and sources: an id is the figure's, the statement's first words (or the `id` that
    the check was given) and what it is of. Evidence becomes an id. Raises ValueError for checks that are alike."""
    given, ids = list(checks), []
    for check in given:
        parts = (figure, check.id or _slug(check.statement, 6), _slug(check.quantity.where, 12))
        ids.append("-".join(part for part in parts if part))
        if ids.index(ids[-1]) < len(ids) - 1:
            raise ValueError(f"two checks are called {ids[-1]!r}: give one an id")
    found = []
    for id_, check in zip(ids, given, strict=True):
        where = f"; {check.quantity.where}" if check.quantity.where else ""
        evidence = check.evidence
        if isinstance(evidence, Check):
            evidence = next((other for other, each in zip(ids, given, strict=True) if each is evidence), "")
            if not evidence:
                raise ValueError(
                    f"{id_}: its evidence is not a check of the same figure; name a check of another figure by its id"
                )
        found.append(replace(check, id=id_, source=f"{check.source or source}{where}", evidence=evidence))
    return found


def _slug(text: str, words: int) -> str:
    return "-".join(re.sub(r"[^a-z0-9.]+", " ", text.lower()).replace(". ", " ").split()[:words]).strip(".")


@dataclass(frozen=True)
class Verdict:
    """A check with its outcome. `ok` is False only for a failed `exact` or `claim`."""

    check: Check
    name: VerdictName
    ok: bool

    @property
    def why(self) -> str:
        """How the bounds were found and, where the measurement differs, the reason or what is known of it."""
        check = self.check
        unit = f" In {check.quantity.unit}." if check.quantity.unit else ""
        return f"{self.reason} Bounds: {check.bounds.derivation}.{unit}".lstrip()

    @property
    def reason(self) -> str:
        """Why the measurement differs, or what is known of that; "" where it does not."""
        return {"explained deviation": self.check.because, "failed": self.check.remark}.get(self.name, "")

    @property
    def evidence(self) -> str:
        """The id of the check that isolates the cause of a deviation; "" otherwise."""
        return str(self.check.evidence) if self.name == "explained deviation" else ""

    @property
    def contradicts(self) -> bool:
        """Whether the measurement contradicts what the paper claims, explained or not."""
        return self.check.kind != "reference" and self.name != "reproduced"

    def record(self) -> dict[str, Any]:
        """The check as `checks.json` lists it. A measurement that is not a finite number becomes null."""
        check, bounds = self.check, self.check.bounds
        return {
            "id": check.id,
            "source": check.source,
            "class": check.kind,
            "paper": check.statement,
            "test": check.test,
            "measured": _finite(check.measured),
            "unit": check.quantity.unit,
            "low": _finite(bounds.low),
            "high": _finite(bounds.high),
            "verdict": self.name,
            "ok": self.ok,
            "contradicts": self.contradicts,
            "reason": self.reason,
            "why": self.why,
            "evidence": self.evidence,
        }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def judge(checks: Sequence[Check]) -> list[Verdict]:
    """The verdict on each check, in the same order. Raises ValueError for evidence that is not another check."""
    by_id = {check.id: check for check in checks}
    for check in checks:
        if check.evidence and (check.evidence == check.id or check.evidence not in by_id):
            raise ValueError(f"check {check.id!r}: its evidence {check.evidence!r} is not another check of this report")
    return [_verdict(check, by_id) for check in checks]


def _verdict(check: Check, by_id: dict[str, Check]) -> Verdict:
    name: VerdictName
    if check.bounds.holds(check.measured):
        name = "reproduced"
    elif check.evidence and (other := by_id[str(check.evidence)]).bounds.holds(other.measured):
        name = "explained deviation"
    else:
        name = "failed"
    return Verdict(check, name, ok=name != "failed" or check.kind == "reference")
