"""The figure of a sweep: what each group of flows gets, and what the link does, over what was swept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..stats import interval
from . import style as plot
from .comparison import INTERVALS, MOST_GROUPS

if TYPE_CHECKING:
    import polars as pl

ROOM = 30
"""Characters of labels that fit side by side below a panel: of more values some have one."""

MOST_LINES = 8
"""Of more combinations of what is swept besides the first axis, the first are drawn."""

LOOKS = tuple(zip(
    (plot.BLUE, plot.VERMILION, plot.GREEN, plot.PURPLE, plot.ORANGE, plot.SKY, plot.GREY, plot.BLACK), "os^DvPX*",
    strict=True,
))  # fmt: skip
LONG_RANGE = 20
"""Values whose largest is so many times the smallest stand on a logarithmic axis."""

Columns = Sequence[tuple[str, str, float]]


@plot.drawing
def figure(groups: pl.DataFrame, links: pl.DataFrame, columns: Sequence[str]) -> Figure:
    """A row of panels for each group of flows and each link: means over seeds with their intervals, over the first of
    `columns`, a line for each combination of the others."""
    names = groups["name"].unique(maintain_order=True).to_list()[:MOST_GROUPS]
    places = links["link"].unique(maintain_order=True).to_list()[:MOST_GROUPS]
    unit, factor = plot.rate_axis(groups["throughput_bps"].max())  # type: ignore[arg-type]
    of_groups = (("throughput_bps", f"throughput ({unit})", factor), ("loss_ratio", "loss (% of packets)", 100.0),
                 ("delay_p99_ns", "one-way delay, p99 (ms)", 1e-6))  # fmt: skip
    of_links = (("utilisation", "utilisation (%)", 100.0), ("queue_packets_mean", "packets in the queue, mean", 1.0),
                ("queueing_delay_p99_ns", "queueing delay, p99 (ms)", 1e-6))  # fmt: skip
    rows: list[tuple[str, pl.DataFrame, Columns]] = [(name, groups.filter(name=name), of_groups) for name in names]
    rows += [(f"link {name}", links.filter(link=name), of_links) for name in places]
    made = Figure(figsize=(10.4, 2.7 * len(rows) + 0.5), layout="constrained")
    grid = made.subplots(len(rows), 3, squeeze=False)
    for row, (title, table, quantities) in zip(grid, rows, strict=True):
        row[0].set_title(title)
        for axes, (name, words, scale) in zip(row, quantities, strict=True):
            _lines(axes, table, columns, name, scale)
            axes.set_ylabel(words)
            axes.set_xlabel(_axis(table, columns[0])[0])
            axes.set_ylim(bottom=0)
    plot.legend(made, list(grid.flatten()), columns=4, bars=INTERVALS)
    return made


def _lines(axes: Axes, table: pl.DataFrame, columns: Sequence[str], name: str, factor: float) -> None:
    first, *more = columns
    # What is swept along with the first axis makes no lines of its own.
    others = [each for each in more if table.select(first, each).n_unique() > table[first].n_unique()]
    numbers = table[first].dtype.is_numeric()
    values = table[first].unique(maintain_order=True).to_list()
    scale = _axis(table, first)[1]
    parts: dict[Any, pl.DataFrame] = (
        table.partition_by(others, as_dict=True, maintain_order=True) if others else {(): table}
    )
    for key, (colour, marker) in zip(list(parts)[:MOST_LINES], LOOKS, strict=False):
        means, halves = [], []
        at = dict(parts[key].drop_nulls(name).group_by(first).agg(name).iter_rows())
        for value in values:
            each = interval(at[value]) if value in at else None
            means.append(math.nan if each is None else factor * each.mean)
            halves.append(math.nan if each is None else factor * each.half_width)
        x = scale * np.array(values) if numbers else np.arange(len(values))
        label = ", ".join(map(str, key))
        style = plot.Style(label, colour, "-" if numbers else "", marker)
        plot.mean_line(axes, x, means, halves, style)
    if not numbers:
        axes.set_xticks(range(len(values)), [str(value) for value in values], rotation=20 if len(values) > 3 else 0)
        axes.set_xlim(-0.5, len(values) - 0.5)
    elif min(values) > 0 and max(values) / min(values) > LONG_RANGE:
        every = math.ceil(sum(len(f"{scale * value:.3g} ") for value in values) / ROOM)
        plot.log_axis(axes, "x", [scale * value for value in sorted(values)[::every]])


def _axis(table: pl.DataFrame, column: str) -> tuple[str, float]:
    """What an axis is called, unit included, and the factor to that unit."""
    if column.endswith("_bps"):
        unit, factor = plot.rate_axis(table[column].max())  # type: ignore[arg-type]
        return f"{column.removesuffix('_bps')} ({unit})", factor
    return (f"{column.removesuffix('_ns')} (ms)", 1e-6) if column.endswith("_ns") else (column, 1.0)
