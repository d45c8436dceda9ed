"""Measures: what is made of the tables of one run, a number each. They say which tables and columns a run must keep.

UDP.sum("queued_packets_mean")                       # over the rows of `flows` with kind "udp"
percent(LINK["utilisation"])                         # of the link that is called "bottleneck"
kbps(TCP.mean("throughput_bps"), "mean TCP flow")
UDP.sum("drops_packets") / UDP.sum("arrivals_packets")
each_run(synchronisation, flow_series=("time_s", "flow", "cwnd_segments"))
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from ..experiments.engine import Tables

Run = tuple[str, int]
"""A run: the id of its experiment, and the seed."""

RUN = ("experiment", "seed")
"""The columns that name a run in every table of the engine."""

Needs = Mapping[str, frozenset[str]]
Evaluate = Callable[[Tables], dict[Run, float]]


@dataclass(frozen=True)
class Measure:
    """A number of each run. `needs`: tables, and of each the columns. `unit` and `label`: of the quantity it gives."""

    needs: Needs
    evaluate: Evaluate
    unit: str = ""
    label: str = ""

    def _with(self, other: Measure | float, function: Callable[[float, float], float]) -> Measure:
        if not isinstance(other, Measure):
            value = float(other)
            return replace(
                self, evaluate=lambda tables: {k: function(v, value) for k, v in self.evaluate(tables).items()}
            )

        def both(tables: Tables) -> dict[Run, float]:
            theirs = other.evaluate(tables)
            return {run: function(mine, theirs[run]) for run, mine in self.evaluate(tables).items() if run in theirs}

        return Measure(merge(self.needs, other.needs), both)

    def __add__(self, other: Measure | float) -> Measure:
        return self._with(other, operator.add)

    def __sub__(self, other: Measure | float) -> Measure:
        return self._with(other, operator.sub)

    def __mul__(self, other: Measure | float) -> Measure:
        return self._with(other, operator.mul)

    def __truediv__(self, other: Measure | float) -> Measure:
        return self._with(other, lambda a, b: a / b if b else math.nan)

    def as_(self, label: str, unit: str = "", factor: float = 1.0) -> Measure:
        """The same, times `factor`, with a label and a unit."""
        scaled = self if factor == 1.0 else self * factor
        return replace(scaled, label=label, unit=unit)


def percent(measure: Measure, label: str = "") -> Measure:
    """A ratio in per cent."""
    return measure.as_(label or measure.label, "%", 100.0)


def kbps(measure: Measure, label: str = "") -> Measure:
    """bit/s as kbit/s."""
    return measure.as_(label or measure.label, "kbit/s", 1e-3)


def mbps(measure: Measure, label: str = "") -> Measure:
    """bit/s as Mbit/s."""
    return measure.as_(label or measure.label, "Mbit/s", 1e-6)


def ms(measure: Measure, label: str = "") -> Measure:
    """Nanoseconds as milliseconds."""
    return measure.as_(label or measure.label, "ms", 1e-6)


def packets(measure: Measure, label: str = "") -> Measure:
    """A number of packets."""
    return measure.as_(label or measure.label, "packets")


@dataclass(frozen=True)
class Rows:
    """The rows of a table of each run that have these values in these columns (or, of a tuple, one of them)."""

    table: str
    values: tuple[tuple[str, Any], ...] = ()

    def where(self, **values: Any) -> Rows:
        """Fewer of them."""
        return Rows(self.table, (*self.values, *values.items()))

    def fold(self, column: str, function: Callable[[list[float]], float]) -> Measure:
        """What `function` makes of the values of `column`, in the order of the rows and without nulls. A run without
        any has no such number."""

        def evaluate(tables: Tables) -> dict[Run, float]:
            rows = tables[self.table]
            for key, value in self.values:
                rows = rows.filter(pl.col(key).is_in(value) if isinstance(value, tuple) else pl.col(key) == value)
            groups = rows.group_by(RUN, maintain_order=True).agg(pl.col(column).drop_nulls())
            return {(run, seed): function(values) for run, seed, values in groups.iter_rows() if values}

        return Measure({self.table: frozenset({column, *(key for key, _ in self.values)})}, evaluate)

    def sum(self, column: str) -> Measure:
        """Their sum."""
        return self.fold(column, math.fsum)

    def mean(self, column: str) -> Measure:
        """Their mean."""
        return self.fold(column, mean)

    def max(self, column: str) -> Measure:
        """The greatest."""
        return self.fold(column, max)

    def min(self, column: str) -> Measure:
        """The least."""
        return self.fold(column, min)

    def count(self, column: str) -> Measure:
        """How many have a value there."""
        return self.fold(column, len)

    def __getitem__(self, column: str) -> Measure:
        """The value of the only row. Evaluation raises ValueError where there are several."""

        def only(values: Sequence[float]) -> float:
            (value,) = values
            return float(value)

        return self.fold(column, only)


FLOWS = Rows("flows")
UDP, TCP = FLOWS.where(kind="udp"), FLOWS.where(kind="tcp")
LINKS = Rows("links")
LINK = LINKS.where(link="bottleneck")


def each_run(function: Callable[..., float], **needs: Sequence[str]) -> Measure:
    """What `function` makes of tables of one run, which it takes as arguments in the order of `needs`: for each table
    its columns."""
    names = tuple(needs)

    def evaluate(tables: Tables) -> dict[Run, float]:
        parts = [tables[name].partition_by(RUN, as_dict=True, maintain_order=True) for name in names]
        return {run: float(function(*(part[run] for part in parts))) for run in parts[0]}

    return Measure({name: frozenset(columns) for name, columns in needs.items()}, evaluate)


def merge(*needs: Needs) -> dict[str, frozenset[str]]:
    """All tables and columns of several needs."""
    merged: dict[str, frozenset[str]] = {}
    for each in needs:
        for table, columns in each.items():
            merged[table] = merged.get(table, frozenset()) | columns
    return merged


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value, rounded once."""
    return math.fsum(values) / len(values)
