"""From the tables of many runs to points: one row for each run, then means over its seeds.

Sums and means go through `math.fsum`, so that they do not depend on the order of rows or on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from ..stats import Interval, interval

if TYPE_CHECKING:
    Fold = Callable[[list[float]], float]

RUN = ("experiment", "seed")
"""The columns that name a run in every table of `engine.run_experiments`."""


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value."""
    return math.fsum(values) / len(values)


def fold(table: pl.DataFrame, keys: Sequence[str], **columns: tuple[str, Fold]) -> pl.DataFrame:
    """One row for each distinct value of `keys`, in order of appearance.

    `columns`: for each new column, the column it comes from and the function that makes one number of its values,
    which stand in the order of the rows; nulls are left out, and a group with nothing else gives null.
    """
    groups = table.group_by(list(keys), maintain_order=True).agg(
        pl.col(source).drop_nulls().alias(name) for name, (source, _) in columns.items()
    )
    return groups.with_columns(
        pl.Series(name, [function(values) if values else None for values in groups[name].to_list()], dtype=pl.Float64)
        for name, (_, function) in columns.items()
    )


def summarise(points: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Means over seeds: for each distinct value of `keys` the number of `seeds`, and for each of `columns` its
    `<column>_mean` and `<column>_half_width` (of the 95 % t interval of the mean; null for a single seed)."""
    groups = points.group_by(list(keys), maintain_order=True).agg(pl.col("seed").n_unique().alias("seeds"), *columns)
    result = groups.select(*keys, "seeds")
    for column in columns:
        intervals = [interval(values) for values in groups[column].to_list()]
        result = result.with_columns(
            pl.Series(f"{column}_mean", [each.mean for each in intervals], dtype=pl.Float64),
            pl.Series(f"{column}_half_width", [each.half_width for each in intervals], dtype=pl.Float64).fill_nan(None),
        )
    return result


def values_of(points: pl.DataFrame, experiment: str, column: str) -> list[float]:
    """The values of `column` in the runs of `experiment`, by seed. Raises KeyError when there is no such run."""
    values = points.filter(pl.col("experiment") == experiment).sort("seed")[column].to_list()
    if not values:
        raise KeyError(experiment)
    return [math.nan if value is None else float(value) for value in values]


def interval_of(points: pl.DataFrame, experiment: str, column: str) -> Interval:
    """The mean over seeds of `column` in the runs of `experiment`, with its interval."""
    return interval(values_of(points, experiment, column))
