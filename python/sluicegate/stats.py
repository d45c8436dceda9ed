"""Means over seeds with Student-t intervals, and Jain's index.

Every number that a report shows is a mean over independent runs that differ only in their seed. The sums use
`math.fsum`, which rounds once, so a result does not depend on the order of the values or on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

CONFIDENCE = 0.95
"""The confidence of every interval in a report."""

ENOUGH = 5
"""The fewest runs whose spread moves a bound; t's quantile is then 2.8."""


@dataclass(frozen=True)
class Interval:
    """A mean over runs with its 95 % interval, in the unit of the values.

    `half_width` is the distance from the mean to either end of the interval for the *mean*;
    `run_half_width` is the same for the value of *one further run* (a prediction interval, hence wider).
    Both are NaN when there are fewer than two values, since one run says nothing about its spread.
    """

    mean: float
    half_width: float
    run_half_width: float
    count: int

    @property
    def low(self) -> float:
        """Lower end of the interval for the mean; NaN with fewer than two values."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval for the mean; NaN with fewer than two values."""
        return self.mean + self.half_width

    @property
    def margin(self) -> float:
        """What a bound moves by for the spread over seeds: `half_width`, or 0 when there are fewer than `ENOUGH` runs.

        With two or three runs Student's t is so wide (12.7 and 4.3 standard errors) that a bound would move past values
        that any one run shows to hold; the mean alone is then compared, and the report says how few the runs were.
        """
        return 0.0 if self.count < ENOUGH else self.half_width

    @property
    def run_margin(self) -> float:
        """`run_half_width`, or 0 when there are fewer than `ENOUGH` runs."""
        return 0.0 if self.count < ENOUGH else self.run_half_width


def ends(found: Interval, values: Sequence[float], share: bool) -> tuple[float, float]:
    """The ends of the interval for the mean of these values, no further than such values can be: not below 0, and those
    of a `share` not above 1. A t interval knows no such limits."""
    low = max(found.low, 0.0) if min(values) >= 0 and not math.isnan(found.low) else found.low
    high = min(found.high, 1.0) if share and max(values) <= 1 and not math.isnan(found.high) else found.high
    return low, high


def is_share(name: str) -> bool:
    """Whether the values of a column are shares of a whole, or Jain's index: 1 at most."""
    column = name.rpartition(".")[2]
    return column.endswith(("_ratio", "_share")) or column.startswith(("jain", "utilisation"))


@cache
def t_quantile(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t with `degrees` (>= 1) degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + CONFIDENCE / 2))


def interval(values: Iterable[float]) -> Interval:
    """The mean of `values` (one per seed, at least one) with its 95 % t interval.

    Raises ValueError when there is no value.
    """
    numbers = [float(value) for value in values]
    count = len(numbers)
    if count == 0:
        raise ValueError("an interval needs at least one value")
    mean = math.fsum(numbers) / count
    if count == 1:
        return Interval(mean, math.nan, math.nan, 1)
    deviation = math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / (count - 1))
    t = t_quantile(count - 1)
    return Interval(mean, t * deviation / math.sqrt(count), t * deviation * math.sqrt(1 + 1 / count), count)


def difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """The mean of `first - second`, paired by seed, with its 95 % t interval.

    Both sequences list the same seeds in the same order; raises ValueError when their lengths differ.
    """
    return interval(a - b for a, b in zip(first, second, strict=True))


def jain(throughputs: Sequence[float]) -> float | None:
    """Jain's index (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has all. None when all are 0 or there are none.

    Source: Jain, Chiu & Hawe 1984, DEC technical report TR-301.
    """
    squares = math.fsum(x * x for x in throughputs)
    return math.fsum(throughputs) ** 2 / (len(throughputs) * squares) if squares > 0 else None
