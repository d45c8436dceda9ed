"""The figures of a comparison: what each group of flows gets and how its delays are distributed, how the groups share
the throughput, what each link does, and its queue over time.

Disciplines stand one below the other, in the order they were listed; every mean has its 95 % interval over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from ..quantities import wrapped
from . import style as plot

if TYPE_CHECKING:
    import polars as pl

Values = NDArray[np.float64]

LEGEND = 4
"""Entries of a legend beside each other."""

LABEL = 26
"""Longest label of a discipline on one line, in characters."""


class Comparison(Protocol):
    """What is drawn of an `experiments.compare.Comparison`."""

    names: dict[str, str]
    disciplines: list[str]
    groups: list[str]
    links: list[str]
    delays: pl.DataFrame
    queue: pl.DataFrame

    def mean(self, discipline: str, metric: str) -> dict[str, Any]: ...
    def before(self, link: str) -> str: ...
    @property
    def drop_reasons(self) -> list[str]: ...
    @property
    def marks(self) -> bool: ...
    @property
    def loses(self) -> bool: ...
    def rate_unit(self, metric: str = ...) -> tuple[str, float]: ...


MOST_GROUPS = 12
"""Of more groups the first are drawn."""

INTERVALS = "95 % interval of the mean over seeds"
"""What bars with caps are."""

FILLS = ("#D1D5DB", "#9CA3AF", "#6B7280")
"""Of bars: colours are those of disciplines."""


@plot.drawing
def groups(comparison: Comparison) -> Figure:
    """For each group of flows and discipline: throughput, loss, and the delays of packets."""
    names = comparison.groups[:MOST_GROUPS]
    height = 0.7 + len(names) * (1.1 + 0.24 * len(comparison.disciplines))
    figure = Figure(figsize=(10.4, height), layout="constrained")
    grid = figure.subplots(len(names), 3, squeeze=False)
    looks = styles(comparison.names)
    for row, name in zip(grid, names, strict=True):
        unit, factor = _rate_axis(comparison, [name])
        row[0].set_title(name)
        plain = plot.Style("mean", plot.BLUE, "-", "o")
        _dots(row[0], comparison, f"{name}_throughput_bps", factor, replace(plain, label=""), 0.0)
        _dots(row[1], comparison, f"{name}_loss_ratio", 100.0, replace(plain, label=""), 0.0)
        delays = (("p50", "median", plot.BLACK, "o"), ("p95", "95th percentile", plot.ORANGE, "s"),
                  ("p99", "99th percentile", plot.VERMILION, "D"))  # fmt: skip
        for index, (which, label, colour, marker) in enumerate(delays):
            style = plot.Style(label, colour, "-", marker)
            _dots(row[2], comparison, f"{name}_delay_{which}_ns", 1e-6, style, _offset(index, 3), hollow=index > 0)
        for axes, what in zip(row, (f"throughput ({unit})", "loss (% of packets)", "one-way delay (ms)"), strict=True):
            axes.set_xlabel(what)
            (_of_delays if axes is row[2] else _from_zero)(axes)
            _name_rows(axes, comparison.disciplines if axes is row[0] else [""] * len(looks))
    plot.legend(figure, [axes for row in grid for axes in row], columns=LEGEND, bars=INTERVALS)
    return figure


@plot.drawing
def delays(comparison: Comparison) -> Figure:
    """How the one-way delays of each group's packets are distributed under each discipline, over all seeds."""
    names = comparison.groups[:MOST_GROUPS]
    rows, columns = -(-len(names) // 2), min(2, len(names))
    figure = Figure(figsize=(10.4, 0.7 + 2.9 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, name in zip(grid, names, strict=False):
        own = comparison.delays.filter(name=name)
        for label, style in zip(comparison.disciplines, styles(comparison.names), strict=True):
            if (part := own.filter(discipline=label)).height:
                plot.distribution(axes, part, "delay_max_ns", "packets", style)
        plot.within(axes)
        axes.set_title(name)
        axes.set_xlabel("one-way delay (ms)")
        axes.set_ylabel("packets within this time (%)")
    for axes in grid[len(names) :]:
        axes.set_axis_off()
    plot.legend(figure, list(grid), columns=LEGEND, bars=INTERVALS)
    return figure


@plot.drawing
def queue(comparison: Comparison) -> Figure:
    """Each link's queue over time under each discipline, for the least seed: a row for each, one scale for a link."""
    disciplines, links = comparison.disciplines, comparison.links
    figure = Figure(figsize=(10.4, 0.5 + len(links) * (0.3 + 1.15 * len(disciplines))), layout="constrained")
    grid = figure.subplots(len(links) * len(disciplines), 1, squeeze=False, sharex=True).flatten()
    looks = styles(comparison.names)
    for index, axes in enumerate(grid):
        link, style = links[index // len(disciplines)], looks[index % len(disciplines)]
        own = comparison.queue.filter(link=link)
        part = own.filter(discipline=disciplines[index % len(disciplines)])
        plot.line(axes, part["time_s"], part["queue_packets"], style.color, style.label)
        axes.set_ylim(0, 1.05 * max(float(own["queue_packets"].max() or 0), 1.0))  # type: ignore[arg-type]
        axes.set_ylabel("packets")
        where = f"link {link}, " if comparison.before(link) else ""
        axes.set_title(f"{where}{disciplines[index % len(disciplines)]}", fontsize=9.5)
    grid[-1].set_xlabel("time (s)")
    grid[-1].set_xlim(0, float(comparison.queue["time_s"].max() or 1.0))  # type: ignore[arg-type]
    return figure


@plot.drawing
def throughput(comparison: Comparison) -> Figure:
    """Throughput by group of flows, and Jain's index, for each discipline."""
    figure, (left, right) = _side_by_side(comparison, (1.7, 1))
    labels = comparison.disciplines
    names = comparison.groups[:MOST_GROUPS]
    unit, factor = _rate_axis(comparison, names)
    for index, name in enumerate(names):
        _dots(left, comparison, f"{name}_throughput_bps", factor, group_style(name, names), _offset(index, len(names)))
    left.set_xlabel(f"throughput by group ({unit})")
    _from_zero(left)
    looks = (("jain_tcp", "Jain, TCP flows", "tcp"), ("jain_all", "Jain, all flows", "all"))
    for index, (metric, label, kind) in enumerate(looks):
        _dots(right, comparison, metric, 1.0, replace(plot.KINDS[kind], label=label), _offset(index, 2), hollow=True)
    right.set_xlabel("Jain's index (1: all flows equal)")
    right.set_xlim(-0.02, max(1.04, right.get_xlim()[1]))
    _name_rows(left, labels)
    plot.legend(figure, [left, right], columns=LEGEND, bars=INTERVALS)
    return figure


@plot.drawing
def links(comparison: Comparison) -> Figure:
    """For each link and discipline, drops by reason, queueing delay, and what that delay buys in utilisation."""
    count, disciplines = len(comparison.links), len(comparison.disciplines)
    entries = disciplines + len(comparison.drop_reasons) + comparison.marks + 3
    height = count * max(2.9, 1.1 + 0.45 * disciplines) + 0.3 + 0.22 * math.ceil(entries / LEGEND)
    figure = Figure(figsize=(10.4, height), layout="constrained")
    grid = figure.subplots(count, 3, squeeze=False, width_ratios=(1.1, 1.1, 1))
    for row, link in zip(grid, comparison.links, strict=True):
        before = comparison.before(link)
        if before:
            row[0].set_title(f"link {link}")
        _losses(row[0], comparison, before)
        _delays(row[1], comparison, before)
        _price(row[2], comparison, before)
        _name_rows(row[0], comparison.disciplines)
        _name_rows(row[1], [""] * disciplines)
    plot.legend(figure, [axes for row in grid for axes in row], columns=LEGEND, bars=INTERVALS)
    return figure


def _losses(axes: Axes, comparison: Comparison, before: str) -> None:
    """Bars of the drops by reason, one behind the other, and the interval of the whole; marks beside them, if any."""
    rows = np.arange(len(comparison.disciplines), dtype=float)
    left = np.zeros(len(rows))
    losses = {f"drops_{reason}_ratio": f"drops: {reason}" for reason in comparison.drop_reasons}
    if comparison.loses:
        losses["lost_ratio"] = "lost on the wire"
    for index, (name, label) in enumerate(losses.items()):
        means = 100 * np.nan_to_num(_values(comparison, before + name, "mean"))
        hatch = ("", "//", "..", "xx")[index // len(FILLS) % 4]
        axes.barh(rows, means, 0.6, left, color=FILLS[index % len(FILLS)], hatch=hatch, edgecolor="white",
                  linewidth=0.5, label=label)  # fmt: skip
        left += means
    total = 100 * _values(comparison, f"{before}loss_ratio", "mean")
    reach = 100 * _reach(comparison, f"{before}loss_ratio")
    known = ~np.isnan(reach[0])
    axes.errorbar(
        total[known], rows[known], xerr=reach[:, known], fmt="none", ecolor=plot.BLACK, elinewidth=1.2, capsize=3
    )
    what = "lost, by reason"
    if comparison.marks:
        _dots(
            axes,
            comparison,
            f"{before}marked_ratio",
            100.0,
            plot.Style("marked", plot.BLACK, "-", "D"),
            0.2,
            hollow=True,
        )
        what += ", or marked"
    axes.set_xlim(left=0)
    axes.set_xlabel(f"packets {what} (% of arrivals)")
    axes.grid(False, axis="y")


def _delays(axes: Axes, comparison: Comparison, before: str) -> None:
    """Mean and 99th percentile of the queueing delay in the row of each discipline."""
    looks = plot.Style("delay, mean", plot.BLACK, "-", "o"), plot.Style("delay, 99th percentile", plot.GREY, "-", "D")
    for style, name in zip(looks, ("mean", "p99"), strict=True):
        _dots(axes, comparison, f"{before}queueing_delay_{name}_ns", 1e-6, style, 0.0 if name == "mean" else 0.2,
              hollow=name != "mean")  # fmt: skip
    _from_zero(axes)
    axes.set_xlabel("queueing delay (ms)")


def _price(axes: Axes, comparison: Comparison, before: str) -> None:
    """Mean queueing delay against utilisation: one point for each discipline, with both intervals."""
    columns = (f"{before}utilisation", 100.0), (f"{before}queueing_delay_mean_ns", 1e-6)
    x, y = (factor * _values(comparison, column, "mean") for column, factor in columns)
    x_reach, y_reach = (factor * _reach(comparison, column) for column, factor in columns)
    for index, style in enumerate(styles(comparison.names)):
        axes.plot(x[index], y[index], style.marker, color=style.color, label=style.label)
        if not np.isnan(x_reach[0, index] + y_reach[0, index]):
            axes.errorbar(
                x[index], y[index], xerr=x_reach[:, [index]], yerr=y_reach[:, [index]], fmt="none", ecolor=style.color,
                elinewidth=1.2, capsize=3,
            )  # fmt: skip
    lowest = float(np.nanmin(x - np.nan_to_num(x_reach[0]), initial=99.0))  # a panel of less than 1 % would show noise
    highest = float(np.nanmax(x + np.nan_to_num(x_reach[1]), initial=100.0))
    margin = 0.06 * (highest - lowest)
    axes.set_xlim(lowest - margin, highest + margin)
    axes.set_ylim(bottom=0, top=1.06 * float(np.nanmax(y + np.nan_to_num(y_reach[1]), initial=1e-3)))
    axes.set_xlabel("utilisation (%)")
    axes.set_ylabel("mean queueing delay (ms)")


def _dots(
    axes: Axes, comparison: Comparison, metric: str, factor: float, style: plot.Style, offset: float, *,
    hollow: bool = False,
) -> None:  # fmt: skip
    """A marker in the row of each discipline, `offset` rows below its middle, with its interval if there is one."""
    means, reach = factor * _values(comparison, metric, "mean"), factor * _reach(comparison, metric)
    if np.isnan(means).all():
        return
    rows = np.arange(len(means)) + offset
    face = "white" if hollow else style.color
    axes.plot(means, rows, style.marker, color=style.color, markerfacecolor=face, label=style.label, zorder=3)
    known = ~np.isnan(reach[0])
    axes.errorbar(
        means[known], rows[known], xerr=reach[:, known], fmt="none", ecolor=style.color, elinewidth=1.2, capsize=3
    )


def _from_zero(axes: Axes) -> None:
    """Begin the x axis at zero, with room for a marker there and at the end; few ticks, so that no two touch."""
    _, highest = axes.get_xlim()
    axes.set_xlim(-0.03 * highest, 1.03 * highest)
    axes.locator_params(axis="x", nbins=5)


def _of_delays(axes: Axes) -> None:
    """The x axis of delays: from zero, or by decades where one discipline's would push those of the others together."""
    # Ends of intervals have no names.
    means = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    found = [float(x) for line in means for x in np.atleast_1d(line.get_xdata()) if x > 0]
    if not plot.by_decades(axes, min(found, default=0.0)):
        _from_zero(axes)


def _rate_axis(comparison: Comparison, names: Sequence[str]) -> tuple[str, float]:
    """The unit of throughputs of these groups, and its factor."""
    means = [_values(comparison, f"{name}_throughput_bps", "mean") for name in names]
    return plot.rate_axis(float(np.nanmax(means, initial=0.0)))


def _reach(comparison: Comparison, metric: str) -> Values:
    """How far the interval of each discipline reaches below and above its mean; NaN where there is none."""
    low, mean, high = (_values(comparison, metric, column) for column in ("low", "mean", "high"))
    return np.array([mean - low, high - mean])


def _values(comparison: Comparison, metric: str, column: str) -> Values:
    """`column` of the means of `metric`, by discipline; NaN where there is none."""
    found = [comparison.mean(label, metric)[column] for label in comparison.disciplines]
    return np.array([math.nan if value is None else value for value in found], dtype=float)


def styles(names: Mapping[str, str]) -> list[plot.Style]:
    """A look for each discipline: its own in the house style, another when that is taken already.

    `names`: the discipline's name of each label.
    """
    taken: list[plot.Style] = []
    for label, name in names.items():
        looks = [plot.discipline(name), *(plot.discipline(f"{label} {spare}") for spare in range(100))]
        colours = {each.color for each in taken}
        used = {(each.color, mark) for each in taken for mark in (each.marker, each.line)}
        free = [look for look in looks if not used & {(look.color, look.marker), (look.color, look.line)}] or looks
        chosen = next((look for look in free if look.color not in colours), free[0])
        taken.append(replace(chosen, label=wrapped(label, LABEL)))
    return taken


def group_style(name: str, names: Sequence[str]) -> plot.Style:
    """A look for a group of flows: the house style's for `tcp` and `udp`, or one by its place."""
    if name in ("tcp", "udp"):
        return plot.KINDS[name]
    colours = (plot.BLUE, plot.ORANGE, plot.GREEN, plot.PURPLE, plot.VERMILION, plot.SKY, plot.GREY)
    place = names.index(name)
    return plot.Style(name, colours[place % len(colours)], "-", "os^DvPX"[place % 7])


def _side_by_side(comparison: Comparison, widths: tuple[float, float]) -> tuple[Figure, tuple[Axes, Axes]]:
    """Two panels that share the rows of disciplines."""
    height = 1.5 + 0.5 * len(comparison.disciplines)
    figure = Figure(figsize=(9.6, height), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=widths)
    return figure, (left, right)


def _name_rows(axes: Axes, labels: Sequence[str]) -> None:
    """The labels of disciplines, the first on top."""
    axes.yaxis.set_major_locator(FixedLocator([float(row) for row in range(len(labels))]))
    axes.set_yticklabels([wrapped(label, LABEL) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)


def _offset(index: int, count: int) -> float:
    """Where the marker of series `index` stands in a row that `count` share."""
    return 0.0 if count == 1 else -0.2 + 0.4 * index / (count - 1)
