"""Quantities: what was measured, one value for each seed, with a unit and the point at which it was measured."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..stats import Interval, interval


@dataclass(frozen=True)
class Quantity:
    """A measurement by seed. Arithmetic goes seed by seed, so that runs which met the same traffic are paired.

    `values`: one for each seed, or a single one that holds for all of them. `unit`: "" for a bare number. `label`: what
    was measured, in words. `name` and `point`: the measure and the point of the study, which place it in a chart.
    `where`: which of the study's runs it is of, in words; `at`: the value of the axis that it was chosen from.
    """

    values: tuple[float, ...]
    unit: str = ""
    label: str = ""
    name: str = ""
    point: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    at: str = ""

    @cached_property
    def spread(self) -> Interval:
        """The mean over seeds with its 95 % interval."""
        return interval(self.values)

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return self.spread.mean

    def as_(self, label: str | None = None, unit: str | None = None, where: str | None = None) -> Quantity:
        """The same with another label, unit or place. The numbers stay."""
        given: dict[str, Any] = {"label": label, "unit": unit, "where": where}
        return replace(self, **{key: value for key, value in given.items() if value is not None})

    def _with(self, other: Quantity | float, function: Callable[[float, float], float], unit: str) -> Quantity:
        theirs = other.values if isinstance(other, Quantity) else (float(other),) * len(self.values)
        pairs = zip(self.values, theirs, strict=True)
        shared = isinstance(other, Quantity)
        return replace(
            self, values=tuple(function(a, b) for a, b in pairs), unit=unit, name="" if shared else self.name
        )

    def __add__(self, other: Quantity | float) -> Quantity:
        return self._with(other, operator.add, self.unit)

    def __sub__(self, other: Quantity | float) -> Quantity:
        return self._with(other, operator.sub, self.unit)

    def __mul__(self, other: Quantity | float) -> Quantity:
        return self._with(other, operator.mul, self.unit)

    def __truediv__(self, other: Quantity | float) -> Quantity:
        return self._with(other, _divide, "" if isinstance(other, Quantity) else self.unit)

    __radd__, __rmul__ = __add__, __mul__

    def greatest(self) -> Quantity:
        """The greatest value of all seeds: what none may exceed."""
        return replace(self, values=(max(self.values),))

    def total(self) -> Quantity:
        """The sum over all seeds, of what is counted."""
        return replace(self, values=(math.fsum(self.values),))

    def percent_of(self, other: Quantity | float) -> Quantity:
        """This in per cent of `other`, seed by seed."""
        return (self / other * 100).as_(unit="%")

    def gain_over(self, other: Quantity) -> Quantity:
        """By how many per cent this exceeds `other`, seed by seed."""
        return (self / other * 100 - 100).as_(unit="% more")


def _divide(a: float, b: float) -> float:
    return a / b if b else math.nan


def number(value: float, unit: str = "", label: str = "") -> Quantity:
    """A quantity that no seed changes, such as a closed form's value or an extreme of all runs."""
    return Quantity((float(value),), unit, label)


@dataclass(frozen=True)
class Curve:
    """One quantity over an axis of a study, a `Quantity` for each of its values `x`. Arithmetic goes point by point."""

    axis: str
    x: tuple[Any, ...]
    quantities: tuple[Quantity, ...]

    def __iter__(self) -> Iterator[Quantity]:
        return iter(self.quantities)

    def at(self, x: Any) -> Quantity:
        """The quantity at one value of the axis. Raises ValueError when it has no such value."""
        return self.quantities[self.x.index(x)]

    def from_(self, least: float) -> Curve:
        """The part of the curve where the axis is at least `least`."""
        kept = [(x, each) for x, each in zip(self.x, self.quantities, strict=True) if x >= least]
        return Curve(self.axis, tuple(x for x, _ in kept), tuple(each for _, each in kept))

    def highest(self) -> Quantity:
        """Where the upper end of the interval is highest: at which a bound from above holds least."""
        return max(self.quantities, key=lambda each: each.mean + each.spread.margin)

    def lowest(self) -> Quantity:
        """Where the lower end of the interval is lowest: at which a bound from below holds least."""
        return min(self.quantities, key=lambda each: each.mean - each.spread.margin)

    def peak(self) -> Quantity:
        """Where the mean is greatest."""
        return max(self.quantities, key=lambda each: each.mean)

    def mean(self) -> Quantity:
        """The mean over the axis, seed by seed."""
        return self._by_seed(lambda values: math.fsum(values) / len(values))

    def range(self) -> Quantity:
        """The difference of the greatest and the least value over the axis in per cent of the least, seed by seed."""
        return self._by_seed(lambda values: 100 * (max(values) - min(values)) / min(values)).as_(unit="%")

    def steps(self) -> Curve:
        """The change from each point to the next."""
        pairs = zip(self.quantities, self.quantities[1:], strict=False)
        return Curve(self.axis, self.x[1:], tuple(after - before for before, after in pairs))

    def _by_seed(self, function: Callable[[Sequence[float]], float]) -> Quantity:
        columns = zip(*(each.values for each in self.quantities), strict=True)
        first = self.quantities[0]
        return Quantity(tuple(function(column) for column in columns), first.unit, first.label, where=first.where)

    def _with(self, other: Curve | float, function: Callable[[Quantity, Any], Quantity]) -> Curve:
        theirs = other.quantities if isinstance(other, Curve) else (other,) * len(self.quantities)
        pairs = zip(self.quantities, theirs, strict=True)
        return Curve(self.axis, self.x, tuple(function(a, b) for a, b in pairs))

    def __add__(self, other: Curve | float) -> Curve:
        return self._with(other, operator.add)

    def __sub__(self, other: Curve | float) -> Curve:
        return self._with(other, operator.sub)

    def __mul__(self, other: Curve | float) -> Curve:
        return self._with(other, operator.mul)

    def percent_of(self, other: Curve | float) -> Curve:
        """This in per cent of `other`, point by point and seed by seed."""
        return self._with(other, Quantity.percent_of)

    def gain_over(self, other: Curve) -> Curve:
        """By how many per cent this exceeds `other`, point by point and seed by seed."""
        return self._with(other, Quantity.gain_over)
