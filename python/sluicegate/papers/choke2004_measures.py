"""What the checks of "Understanding CHOKe" have in common: points against a model, and the worst of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ..stats import Interval, interval
from .checks import Bounds, Check, CheckClass
from .choke2004_cases import Case
from .choke2004_model import said
from .points import values_of

CLOSE = 0.1
"""What "matches closely" is taken to mean: a tenth."""


def by_seed(runs: pl.DataFrame, case: Case, column: str, factor: float = 1.0) -> list[float]:
    """`column` in the runs of `case`, times `factor`, by seed."""
    return [value * factor for value in values_of(runs, case.id, column)]


def claim(
    id_: str, source: str, paper: str, spread: Interval, unit: str, bounds: Bounds, kind: CheckClass = "claim"
) -> Check:
    """A check of a mean over seeds."""
    return Check(id_, source, kind, paper, spread.mean, unit, bounds)


@dataclass(frozen=True)
class Worst:
    """The point that is farthest from 0: which, its mean with its interval, and the least and greatest mean of all."""

    label: str
    spread: Interval
    low: float
    high: float

    @property
    def size(self) -> float:
        """How far, without its sign."""
        return abs(self.spread.mean)

    @property
    def at(self) -> str:
        """Where, and to which side; the range of all."""
        return f"at {self.label}: {self.spread.mean:+.3g}; all from {self.low:+.3g} to {self.high:+.3g}"

    def within(self, bound: float, why: str) -> Bounds:
        """At most `bound` and the interval of the point."""
        return Bounds(None, bound + self.spread.margin, f"{why}, and {self.spread.margin:.2g}, the 95 % interval over "
                      f"{self.spread.count} seeds at that point")  # fmt: skip


def worst(points: Iterable[tuple[str, Sequence[float]]]) -> Worst:
    """The worst of points, each a name and its values by seed; those of no number are left out."""
    found = [(label, interval(values)) for label, values in points if np.isfinite(values).all()]
    means = [spread.mean for _, spread in found]
    label, spread = max(found, key=lambda each: abs(each[1].mean))
    return Worst(label, spread, min(means), max(means))


def name(case: Case) -> str:
    """A point in few words."""
    return f"N = {case.tcp[0][0]}, {case.x0:g}c"


def against(runs: pl.DataFrame, cases: Sequence[Case], column: str, model: str) -> Worst:
    """How far the simulation is from a model, in per cent of it, at the worst of `cases`."""
    return worst(
        (name(case), [100 * (value / getattr(said(case, model), column) - 1) for value in by_seed(runs, case, column)])
        for case in cases
    )


def spread_of(table: pl.DataFrame, cases: Sequence[Case], column: str) -> Worst:
    """The worst of a column of runs, in per cent."""
    return worst((name(case), by_seed(table, case, column, 100)) for case in cases)


TENTH = "a tenth, our reading of “match very well”"
