"""Distributions of response times and sizes, from the classes in which a run counts its exchanges.

Response times come in classes that end at most 1/64 above what they hold, response sizes in ten classes for each power
of ten (`response_times` of docs/results.md). What figures need of them is kept: times of small and of large responses,
and sizes. A share of exchanges is thus exact at a class's end, and a time is good to
1.6 %, the same in every scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from ...experiments.engine import Tables
from ...reproduce import Quantity, Runs

CLASSES = {"classes": ("response_bytes_max", "response_time_max_ns", "exchanges", "response_bytes")}
"""The table that `classes` makes, and its columns."""

RESOLUTION = 1 / 64
"""The width of a bin of response times, as a part of the time."""

CAP_S = 2.0
"""The paper's distributions are drawn up to here."""

LARGE_BYTES = 100_000
"""Responses above this are large (Figs. 15 to 18)."""

PERCENTILES = tuple(share / 100 for share in range(1, 100))
"""The shares of exchanges at which two distributions are compared."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """The ends of classes, ascending, and how much each holds: exchanges over times in seconds, or exchanges or bytes
    over the sizes of responses."""

    ends: Floats
    held: NDArray[np.int64]

    @classmethod
    def of_times(cls, classes: pl.DataFrame, least: float = 0, most: float = math.inf) -> Distribution:
        """Of the response times of responses of more than `least` and at most `most` bytes, both ends of classes."""
        size = pl.col("response_bytes_max").cast(pl.Float64)
        classes = classes.filter(pl.col("response_time_max_ns").is_not_null())
        ends, held = _summed(classes.filter((size > least) & (size <= most)), "response_time_max_ns", "exchanges")
        return cls(ends / 1e9, held)

    @classmethod
    def of_sizes(cls, classes: pl.DataFrame, column: str = "response_bytes") -> Distribution:
        """Of the sizes of responses, each counted by the bytes that it brings, or once (`exchanges`)."""
        classes = classes.filter(pl.col("response_bytes").is_not_null())
        return cls(*_summed(classes, "response_bytes_max", column))

    @property
    def total(self) -> int:
        """What all classes hold."""
        return int(self.held.sum())

    def at_most(self, ends: ArrayLike) -> Floats:
        """The share up to each of these."""
        below = np.concatenate([[0], np.cumsum(self.held)])
        at = np.searchsorted(self.ends, np.asarray(ends) * (1 + 1e-9), side="right")
        return np.asarray(below[at] / max(self.total, 1), dtype=float)

    def between(self, low: float, high: float) -> float:
        """The share above `low` and up to `high`."""
        below, up_to = self.at_most([low, high])
        return float(up_to - below)

    def quantiles(self, shares: Sequence[float]) -> Floats:
        """Up to where each of these shares lies; NaN where nothing is held."""
        if not len(self.ends):
            return np.full(len(shares), np.nan)
        done = np.cumsum(self.held)
        at = np.searchsorted(done, np.asarray(shares) * self.total - 1e-9)
        return np.asarray(self.ends[np.minimum(at, len(self.ends) - 1)], dtype=float)

    def mean_capped(self, cap: float = CAP_S) -> float:
        """The mean where more than `cap` counts as `cap`: what is above the curve up to there; NaN of nothing."""
        return float((np.minimum(self.ends, cap) * self.held).sum() / self.total) if self.total else math.nan


def _summed(classes: pl.DataFrame, end: str, column: str) -> tuple[Floats, NDArray[np.int64]]:
    rows = classes.group_by(end).agg(pl.col(column).sum()).sort(end)
    return rows[end].to_numpy().astype(float), rows[column].cast(pl.Int64).to_numpy()


def classes(tables: Tables) -> Tables:
    """The classes of a run, fewer: by response time, apart for small and large responses, without their bytes; and by
    size, without times. As many rows for all groups as one has classes of either kind."""
    rows = tables["response_times"]
    size = pl.when(pl.col("response_bytes_max") > LARGE_BYTES).then(math.inf).otherwise(float(LARGE_BYTES))
    times = rows.group_by(size.alias("response_bytes_max"), "response_time_max_ns").agg(pl.col("exchanges").sum())
    sizes = rows.group_by(pl.col("response_bytes_max").cast(float)).agg(pl.col("exchanges", "response_bytes").sum())
    ends = ["response_bytes_max", "response_time_max_ns"]
    return {"classes": pl.concat([times, sizes], how="diagonal").sort(ends)}


Of = Callable[[pl.DataFrame], Distribution]
"""Makes a distribution of the classes of a run, such as `Distribution.of_times`."""


def large(classes: pl.DataFrame) -> Distribution:
    """Response times of large responses."""
    return Distribution.of_times(classes, least=LARGE_BYTES)


def small(classes: pl.DataFrame) -> Distribution:
    """Response times of all others."""
    return Distribution.of_times(classes, most=LARGE_BYTES)


def by_seed(runs: Runs, of: Of = Distribution.of_times) -> list[Distribution]:
    """The distribution of each seed, over all points of these runs."""
    parts = runs.rows("classes").partition_by("seed", as_dict=True)
    return [of(parts[seed]) for seed in sorted(parts)]


def percentiles(runs: Runs, of: Of = Distribution.of_times) -> Floats:
    """For each seed, a row, the ends of `PERCENTILES`."""
    return np.array([each.quantiles(PERCENTILES) for each in by_seed(runs, of)])


def share(runs: Runs, of: Of, end: float) -> Quantity:
    """The share up to an end, in per cent."""
    values = tuple(100 * float(each.at_most([end])[0]) for each in by_seed(runs, of))
    return Quantity(values, "%", "that part", where=runs.label())


def plateau(runs: Runs) -> Quantity:
    """Exchanges done in the 0.2 s after the least timeout over those in the 0.2 s before, the round trip added: above 1
    where a flat region ends there."""
    ratios = (each.between(1.1, 1.3) / max(each.between(0.8, 1.0), 1e-9) for each in by_seed(runs))
    label = "exchanges done in 1.1 to 1.3 s over those done in 0.8 to 1.0 s"
    return Quantity(tuple(ratios), "", label, where=runs.label())
