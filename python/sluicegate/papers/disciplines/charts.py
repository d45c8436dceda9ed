"""Charts of the page on all disciplines: values over a parameter, changes against the default, and rows of
disciplines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ...plot import style as plot
from ...stats import Interval
from .workloads import FIXED, NONE, QUEUED, SEEN, STATE

STATE_COLOURS = {NONE: plot.BLUE, FIXED: plot.GREEN, QUEUED: plot.VERMILION, SEEN: plot.PURPLE}
STATE_MARKERS = {NONE: "o", FIXED: "D", QUEUED: "s", SEEN: "^"}


@dataclass(frozen=True)
class Shown:
    """What an axis shows: `label` with its unit; `reference` is drawn as a line if there is one."""

    column: str
    label: str
    reference: float | None = None


Values = Mapping[float, Interval]
"""By value of a parameter."""


@plot.drawing
def over_values(
    quantities: Sequence[Shown], parameters: Sequence[tuple[str, float]], table: Mapping[tuple[str, str], Values]
) -> Figure:
    """A grid: a row for each quantity, a column for each parameter (its label and default); `table` by column of the
    quantity and label of the parameter. The default stands out; values are evenly spaced, as they are by factors."""
    figure, rows = plot.panels(len(quantities), len(parameters), height=1.75)
    for row, quantity in zip(rows, quantities, strict=True):
        for axes, (label, default) in zip(row, parameters, strict=True):
            values = table[quantity.column, label]
            ordered = sorted(values)
            at = np.arange(len(ordered))
            means = [values[value].mean for value in ordered]
            halves = [values[value].half_width for value in ordered]
            axes.errorbar(at, means, yerr=np.nan_to_num(halves), color=plot.BLUE, marker="o", capsize=3, elinewidth=1.1,
                          linewidth=1.3)  # fmt: skip
            place = ordered.index(default)
            axes.plot([place], [means[place]], "o", color=plot.VERMILION, markersize=8, zorder=4)
            if quantity.reference is not None:
                axes.axhline(quantity.reference, color=plot.BLACK, linestyle=":", linewidth=1.2)
            _ticks(axes.xaxis, [f"{value:g}" for value in ordered])
        row[0].set_ylabel(quantity.label)
        _from_zero(row[0])
    for axes, (label, _) in zip(rows[-1], parameters, strict=True):
        axes.set_xlabel(label)
    return figure


@plot.drawing
def changes(
    quantities: Sequence[Shown],
    table: Mapping[tuple[str, str], Interval],
    labels: Sequence[str],
    bars: Sequence[float],
) -> Figure:
    """How far each row (a value of a parameter) moves each quantity from the default. `bars`: the least change that
    matters, by quantity; what is less is shaded."""
    figure, (row,) = plot.panels(1, len(quantities), height=0.23 * len(labels) + 0.8)
    for axes, quantity, bar in zip(row, quantities, bars, strict=True):
        axes.axvline(0, color=plot.BLACK, linewidth=1)
        axes.axvspan(-bar, bar, color="#F3F4F6", zorder=0)
        for place, label in enumerate(labels):
            change = table[quantity.column, label]
            known = math.isnan(change.half_width) or abs(change.mean) > change.half_width
            axes.errorbar(
                [change.mean], [place], xerr=[np.nan_to_num(change.half_width)], marker="o", capsize=2, markersize=4,
                color=plot.VERMILION if known and abs(change.mean) >= bar else plot.GREY, elinewidth=1.1,
            )  # fmt: skip
        largest = max(abs(table[quantity.column, label].mean) for label in labels)
        if largest > 20 * bar:
            axes.set_xscale("symlog", linthresh=4 * bar, linscale=1.0)
            powers = [10.0**power for power in range(1, 4) if 10.0**power <= 3 * largest]
            axes.xaxis.set_major_locator(FixedLocator([*(-each for each in reversed(powers[:1])), 0, *powers]))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(quantity.label)
    _names(row[0], labels)
    return figure


@plot.drawing
def groups(quantities: Sequence[Shown], cases: Sequence[tuple[str, plot.Style]],
           table: Mapping[tuple[str, str, str], Interval], loads: Sequence[str],
           courses: Sequence[tuple[str, Sequence[tuple[plot.Style, Sequence[float], Sequence[float]]]]],
           logarithmic: Mapping[str, Sequence[float]]) -> Figure:  # fmt: skip
    """Cases beside each other under each load, a panel for each quantity (`table`: by quantity, load and case), and
    below them courses over time: a title, and the style, times and values of each line. `logarithmic`: ticks of the
    axes that are."""
    figure, rows = plot.panels(2, len(quantities), height=2.9, share_y=False)
    for axes, quantity in zip(rows[0], quantities, strict=True):
        for order, (case, style) in enumerate(cases):
            spread = (order - (len(cases) - 1) / 2) * 0.15
            found = [table[quantity.column, load, case] for load in loads]
            axes.errorbar(
                [place + spread for place in range(len(loads))], [each.mean for each in found],
                yerr=np.nan_to_num([each.half_width for each in found]), linestyle="none", marker=style.marker,
                color=style.color, capsize=3, label=style.label,
            )  # fmt: skip
        if quantity.reference is not None:
            axes.axhline(quantity.reference, color=plot.BLACK, linestyle=":", linewidth=1.2)
        axes.set_title(quantity.label)
        if quantity.column in logarithmic:
            plot.log_axis(axes, "y", logarithmic[quantity.column])
        else:
            _from_zero(axes)
        axes.set_xlim(-0.5, len(loads) - 0.5)
        _ticks(axes.xaxis, loads)
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("offered")
    grid = rows[1][0].get_gridspec()
    assert grid is not None
    for axes in rows[1]:
        axes.remove()
    half = len(quantities) // len(courses)
    for place, (title, lines) in enumerate(courses):
        axes = figure.add_subplot(grid[1, place * half : (place + 1) * half])
        for style, times, values in lines:
            axes.plot(times, values, color=style.color, linewidth=1.1)
        axes.axhline(24, color=plot.BLACK, linestyle=":", linewidth=1.2)
        axes.set_title(title)
        axes.set_xlabel("time (s)")
        axes.set_ylim(bottom=0)
        if place == 0:
            axes.set_ylabel("queue (packets)")
    plot.legend(figure, rows[0], columns=3)
    return figure


@plot.drawing
def rows_of(
    quantities: Sequence[Shown], labels: Sequence[str], table: Mapping[tuple[str, str], Interval],
    logarithmic: Mapping[str, Sequence[float]],
) -> Figure:  # fmt: skip
    """A row for each discipline, a panel for each quantity. `logarithmic`: ticks of the axes that are."""
    figure, (panels,) = plot.panels(1, len(quantities), height=0.245 * len(labels) + 1.1)
    for kind in dict.fromkeys(kind for kind in STATE_COLOURS if any(STATE[label][0] == kind for label in labels)):
        panels[0].plot([], [], STATE_MARKERS[kind], color=STATE_COLOURS[kind], label=f"remembers: {kind}")
    for axes, quantity in zip(panels, quantities, strict=True):
        for place, label in enumerate(labels):
            found = table[quantity.column, label]
            if math.isnan(found.mean):
                axes.annotate("none", (0.02, place), xycoords=("axes fraction", "data"), fontsize=7.5, va="center")
                continue
            kind = STATE[label][0]
            axes.errorbar([found.mean], [place], xerr=[np.nan_to_num(found.half_width)], capsize=2.5, elinewidth=1.2,
                          marker=STATE_MARKERS[kind], color=STATE_COLOURS[kind], linestyle="none")  # fmt: skip
        if quantity.column in logarithmic:
            plot.log_axis(axes, "x", logarithmic[quantity.column])
        if quantity.reference is not None:
            axes.axvline(quantity.reference, color=plot.BLACK, linestyle=":", linewidth=1.2)
        axes.set_xlabel(quantity.label)
    _names(panels[0], labels)
    plot.legend(figure, panels)
    return figure


@plot.drawing
def matrix(
    heads: Sequence[str], labels: Sequence[str], cells: Mapping[tuple[str, int], tuple[str, bool | None]],
) -> Figure:  # fmt: skip
    """Disciplines over criteria. `cells`: by discipline and number of the column, the text and whether it is met (None:
    no criterion)."""
    figure, ((axes,),) = plot.panels(1, 1, height=0.27 * len(labels) + 1.0)
    axes.grid(False)
    for place, label in enumerate(labels):
        for column in range(len(heads)):
            text, good = cells[label, column]
            if good is not None:
                colour = "#CDEBDC" if good else "#F3F4F6"
                axes.add_patch(_box(column, place, colour))
            axes.text(column, place, f"{text} ✓" if good else text, ha="center", va="center", fontsize=8.5)
    axes.set_xlim(-0.5, len(heads) - 0.5)
    _ticks(axes.xaxis, heads)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    _names(axes, labels)
    return figure


def _box(x: float, y: float, colour: str) -> Rectangle:
    return Rectangle((x - 0.49, y - 0.47), 0.98, 0.94, facecolor=colour, edgecolor="none", zorder=0)


def _names(axes: Axes, labels: Sequence[str]) -> None:
    _ticks(axes.yaxis, labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)


def _ticks(axis: Axis, labels: Sequence[str]) -> None:
    """Names at 0, 1, 2 and so on."""
    axis.set_major_locator(FixedLocator([float(place) for place in range(len(labels))]))
    axis.set_major_formatter(FuncFormatter(lambda at, _: labels[round(at)]))


def _from_zero(axes: Axes) -> None:
    """From 0 to a little above what is drawn, which has to be drawn before."""
    axes.set_ylim(0, axes.get_ylim()[1])
