"""Charts that papers share. Each is made from the names of measures and draws the runs that a figure hands to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn

from ..plot import style as plot
from ..plot.style import Style
from .claim import Check
from .figure import Drawing
from .study import Runs

PRINTED = "printed in the paper"

STYLES: dict[str, Style] = {**plot.KINDS, "tcp_flow": plot.KINDS["tcp_mean"], "udp_flow": plot.KINDS["udp_mean"]}
"""How a measure is drawn unless a chart says otherwise: by its name, or by what the name begins with."""


def style_of(name: str, styles: Mapping[str, Style]) -> Style:
    """The style of a measure."""
    for known in (styles, STYLES):
        if name in known:
            return known[name]
    found = next((style for key, style in STYLES.items() if name.startswith(f"{key}_")), None)
    return found or plot.discipline(name)


@dataclass(frozen=True)
class Panel:
    """One row of panels: the measures that it draws and its axis label; `limits`: of the axis, None where open.
    `lines`: dotted lines, a text and either a value or the attribute of the panel's discipline that holds it."""

    measures: Sequence[str]
    ylabel: str
    limits: tuple[float | None, float | None] = (0, None)
    lines: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Lines:
    """Means with 95 % intervals over an axis, a column of panels for each value of `panel` (an axis; "" for one).

    `rows`: the measures of each row, or `Panel`s. `ticks`: makes the axis logarithmic, with these labels. `styles`: of
    measures. `by`: an axis whose values are lines of one panel, with their styles, instead of measures. `runs`: which
    of the figure's studies is drawn (default: the first).
    """

    x: str
    rows: Sequence[Panel]
    panel: str = ""
    ticks: Sequence[float] = ()
    styles: Mapping[str, Style] = field(default_factory=dict)
    xlabel: str = ""
    height: float = 2.4
    runs: str = ""
    title: Callable[[Runs], str] | None = None

    def __call__(self, checks: Sequence[Check] = (), **studies: Runs) -> Drawing:
        runs = studies[self.runs] if self.runs else next(iter(studies.values()))
        measures = [name for row in self.rows for name in row.measures]
        return Drawing(self.draw(runs, checks), runs.frame(*measures))

    @plot.drawing
    def draw(self, runs: Runs, checks: Sequence[Check]) -> Drawn:
        """The drawing alone."""
        parts = list(runs.each(self.panel)) if self.panel else [runs]
        figure, rows = plot.panels(len(self.rows), len(parts), height=self.height, share_y=not any(
            isinstance(value, str) for row in self.rows for value in row.lines.values()))  # fmt: skip
        axis = runs.study.keys.get(self.x)
        for column, part in enumerate(parts):
            table = part.frame(*(name for row in self.rows for name in row.measures))
            rows[0][column].set_title(self.title(part) if self.title else part.label(self.x))
            for axes_row, row in zip(rows, self.rows, strict=True):
                axes = axes_row[column]
                for name in row.measures:
                    style = style_of(name, self.styles)
                    plot.mean_line(axes, table[self.x], table[f"{name}_mean"], halves(table, name), style)
                for text, value in row.lines.items():
                    level = getattr(getattr(part, self.panel), value) if isinstance(value, str) else value
                    plot.reference(axes, level, f"{text} = {level:g}" if isinstance(value, str) else text, lift=5)
                axes.set_ylim(*row.limits)
                mark_printed(axes, [each for each in checks if each.quantity.name in row.measures], part, self.x)
            if self.ticks:
                plot.log_axis(rows[-1][column], "x", self.ticks)
            rows[-1][column].set_xlabel(self.xlabel or (axis.label if axis and axis.label else self.x))
        for axes_row, row in zip(rows, self.rows, strict=True):
            axes_row[0].set_ylabel(row.ylabel)
        plot.legend(figure, [axes for axes_row in rows for axes in axes_row])
        return figure


@dataclass(frozen=True)
class Dots:
    """One mean with its interval for each point, one below the other: what a choice changes, or many cases at a glance.

    `measures`: a panel for each: its label, and what the paper prints, if it does. `shade`: whether the first point is
    what all others are compared with. `names`: of the points (default: their labels).
    """

    measures: Mapping[str, tuple[str, float | None]]
    shade: bool = True
    runs: str = ""

    def __call__(self, checks: Sequence[Check] = (), **studies: Runs) -> Drawing:
        runs = studies[self.runs] if self.runs else next(iter(studies.values()))
        table = runs.frame(*self.measures)
        names = [runs.study.label(point) for point in runs.points.values()]
        return Drawing(self.draw(table, names), table)

    @plot.drawing
    def draw(self, table: pl.DataFrame, names: Sequence[str]) -> Drawn:
        """The drawing alone."""
        figure, (row,) = plot.panels(1, len(self.measures), height=0.9 + 0.26 * table.height)
        y = np.arange(table.height)
        for axes, (name, (label, value)) in zip(row, self.measures.items(), strict=True):
            means, half = table[f"{name}_mean"].to_numpy().astype(float), np.nan_to_num(halves(table, name))
            if self.shade:
                axes.axvspan(means[0] - half[0], means[0] + half[0], color="#FDE9DD", zorder=0)
            axes.errorbar(means, y, xerr=half, fmt="s", color=plot.VERMILION, capsize=3,
                          label="mean over seeds, 95 % interval")  # fmt: skip
            if value is not None:
                axes.axvline(value, color=plot.BLACK, linestyle=":", linewidth=1.3, label=PRINTED)
            axes.set_xlim(left=min(0.0, float(np.min(means - half))))
            axes.set_xlabel(label)
        row[0].set_yticks(y, list(names))
        row[0].set_ylim(table.height - 0.5, -0.5)
        plot.legend(figure, row)
        return figure


def halves(table: pl.DataFrame, name: str) -> Any:
    """The half widths of a measure's intervals, NaN where there is none."""
    return table[f"{name}_half_width"].cast(pl.Float64).fill_null(math.nan).to_numpy()


def mark_printed(axes: Axes, checks: Sequence[Check], part: Runs, x: str) -> None:
    """Crosses where the paper prints a number: the checks whose quantity is of one of these runs say which and
    where."""
    found = [
        (check.quantity.point[x], check.bound.printed)
        for check in checks
        if check.bound.printed is not None and any(check.quantity.point is point for point in part.points.values())
    ]
    if found:
        axes.plot(*zip(*found, strict=True), linestyle="none", marker="X", markersize=9, markerfacecolor="white",
                  markeredgecolor=plot.BLACK, markeredgewidth=1.4, zorder=5, label=PRINTED)  # fmt: skip
