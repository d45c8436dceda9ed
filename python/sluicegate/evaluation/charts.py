"""The drawings of a scenario: delay against goodput with 1-sigma ellipses over runs and distribution functions (RFC
7928, Sec. 2.7), courses over time where the load or the capacity varies, and curves over round trips and targets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Ellipse as Contour

from ..plot import style as plot
from ..plot.comparison import styles
from .metrics import ellipse
from .phases import Phases
from .samples import PERIOD_S
from .suite import Scenario

if TYPE_CHECKING:
    from .outcome import Outcome

SHOWN_S = 120.0
"""How much of a course over time is drawn, in seconds from time 0."""

LEAST_SPAN = 0.1
"""A goodput axis spans at least this fraction of its upper end."""

WIDE, HIGH, LOW = 3.4, 3.0, 1.7
"""Panels, in inches; those of courses are low."""

DISTRIBUTIONS = (("goodput_bps", 1e-6, f"goodput of a flow in {PERIOD_S:g} s (Mbit/s)"),
                 ("delay_ns", 1e-6, "delay beyond propagation (ms)"))  # fmt: skip
COURSES = (
    ("delay_ns", 1e-6, "queue (ms)"),
    ("goodput_bps", 1e-6, "goodput (Mbit/s)"),
    ("loss_ratio", 100.0, "loss (%)"),
)
"""What is drawn: column, factor to the unit, words."""


@plot.drawing
def draw(done: Outcome, scenario: Scenario) -> Figure:
    """The drawing of a scenario."""
    looks = dict(zip(done.labels, styles(done.names), strict=True))
    rows = done.rows(scenario)
    legend = 0.25 * math.ceil(len(looks) / 5)
    if scenario.drawing != "trade":
        figure = Figure(figsize=(6.4, 3.6 + legend), layout="constrained")
        axes = figure.subplots()
        (_over_points if scenario.drawing == "ratio" else _curve)(axes, rows, scenario, looks)
        plot.legend(figure, [axes])
        return figure
    if len(scenario.points) > 1:
        return _by_point(rows, scenario, looks, legend)
    groups, phases = scenario.shown, scenario.phases
    heights = [HIGH * len(groups) + legend]
    heights += [] if phases is None else [HIGH, LOW * len(looks)]
    figure = Figure(figsize=(3 * WIDE, sum(heights)), layout="constrained")
    parts: Any = [figure] if phases is None else figure.subfigures(3, 1, height_ratios=heights)
    grid = parts[0].subplots(len(groups), 3, squeeze=False)
    for line, group in zip(grid, groups, strict=True):
        _trade(line[0], rows.filter(pl.col("of") == group), group, looks)
        for axes, (metric, factor, words) in zip(line[1:], DISTRIBUTIONS, strict=True):
            _distribution(axes, done, scenario, group, metric, factor, looks)
            axes.set_xlabel(words)
    plot.legend(figure, list(grid[:, 0]))
    if phases is not None:
        line = parts[1].subplots(1, 3, squeeze=False)[0]
        for axes, phase in zip(line, phases.names, strict=False):
            _trade(axes, rows.filter(pl.col("of") == phase), phase, looks)
            axes.set_xlabel("queueing delay, mean (ms)")
        for spare in line[len(phases.names) :]:
            spare.set_axis_off()
        if "courses" in done.more:
            _courses(parts[2], done.rows(scenario, "courses"), phases, looks)
    return figure


def _by_point(rows: pl.DataFrame, scenario: Scenario, looks: Mapping[str, plot.Style], legend: float) -> Figure:
    """Delay and goodput of each group at each point, points below one another."""
    groups = scenario.shown
    size = (WIDE * max(2, len(groups)), HIGH * len(scenario.points) + legend)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(scenario.points), max(2, len(groups)), squeeze=False)
    for line, point in zip(grid, scenario.points, strict=True):
        own = rows.filter(pl.col("point") == point)
        for axes, group in zip(line, groups, strict=False):
            _trade(axes, own.filter(pl.col("of") == group), f"{point}: {group}", looks)
        for spare in line[len(groups) :]:
            spare.set_axis_off()
    plot.legend(figure, list(grid[:, 0]))
    return figure


def _distribution(
    axes: Axes, done: Outcome, scenario: Scenario, group: str, metric: str, factor: float,
    looks: Mapping[str, plot.Style],
) -> None:  # fmt: skip
    """A distribution function, the mean of those of all seeds; of transfers that end, their completion times."""
    rows = done.rows(scenario, "distributions").filter(pl.col("of") == group)
    own = rows.filter(pl.col("metric") == metric)
    for label, look in looks.items():
        found = own.filter(pl.col("label") == label).group_by("part").agg(pl.col("value").mean()).sort("part")
        if found.height:
            axes.plot(factor * found["value"], 100 * found["part"], look.line, color=look.color, linewidth=1.3)
    axes.set_ylim(0, 102)
    axes.set_ylabel("within (%)")
    if not own.height:
        axes.set_axis_off()


def _trade(axes: Axes, rows: pl.DataFrame, group: str, looks: Mapping[str, plot.Style]) -> None:
    """A group's mean delay and goodput: a run is a small point, the median a marker, around it the ellipse."""
    for label, look in looks.items():
        own = rows.filter(pl.col("label") == label).select("delay_mean_ns", "goodput_bps").drop_nulls()
        points = [(delay / 1e6, rate / 1e6) for delay, rate in own.iter_rows()]
        if not points:
            continue
        x, y = zip(*points, strict=True)
        axes.plot(x, y, linestyle="none", marker=".", markersize=3, color=look.color, alpha=0.6)
        axes.plot(np.median(x), np.median(y), linestyle="none", marker=look.marker, color=look.color, label=look.label)
        if len(points) > 1:
            found = ellipse(points)
            axes.add_patch(Contour(
                (found.x, found.y), 2 * found.major, 2 * found.minor, angle=math.degrees(found.angle),
                facecolor=look.color, edgecolor=look.color, alpha=0.25, linewidth=1.2,
            ))  # fmt: skip
    axes.set_title(group)
    axes.margins(0.12)
    axes.set_xlim(left=0)
    low, high = axes.get_ylim()
    room = max(0.0, LEAST_SPAN * high - (high - low)) / 2  # so that a thousandth does not fill a panel
    axes.set_ylim(low - room, high + room)
    axes.set_xlabel("delay beyond propagation, mean (ms)")
    axes.set_ylabel("goodput (Mbit/s)")


def _over_points(axes: Axes, rows: pl.DataFrame, scenario: Scenario, looks: Mapping[str, plot.Style]) -> None:
    """What the second group gets over what the first gets, over the round trips of the second."""
    from ..stats import interval

    trips = {point: float(point.split()[0]) for point in scenario.points}
    second = scenario.shown[1]
    for label, look in looks.items():
        own = rows.filter((pl.col("label") == label) & (pl.col("of") == second))
        found = [
            (trip, interval(values)) for point, trip in trips.items()
            if (values := own.filter(pl.col("point") == point)["over_first"].drop_nulls().to_list())
        ]  # fmt: skip
        if found:
            x, spreads = zip(*found, strict=True)
            plot.mean_line(axes, x, [each.mean for each in spreads], [each.half_width for each in spreads], look)
    plot.log_axis(axes, "x", list(trips.values()))
    plot.log_axis(axes, "y", (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30))
    plot.reference(axes, 1, "equal")
    axes.set_xlabel(f"base round trip of {second} (ms)")
    axes.set_ylabel("its goodput over the other's")


def _curve(axes: Axes, rows: pl.DataFrame, scenario: Scenario, looks: Mapping[str, plot.Style]) -> None:
    """Mean delay and goodput of the first group, a line through the points of the scenario for each discipline."""
    own = rows.filter(pl.col("of") == scenario.shown[0])
    for label, look in looks.items():
        of_label = own.filter(pl.col("label") == label)
        means = [of_label.filter(pl.col("point") == point).select("delay_mean_ns", "goodput_bps").mean().row(0)
                 for point in scenario.points]  # fmt: skip
        if points := [(delay / 1e6, rate / 1e6) for delay, rate in means if delay is not None and rate is not None]:
            axes.plot(*zip(*points, strict=True), look.line, color=look.color, marker=look.marker, label=look.label)
    axes.set_xlim(left=0)
    axes.set_xlabel("delay beyond propagation, mean (ms)")
    axes.set_ylabel("goodput (Mbit/s)")


def _courses(figure: SubFigure, rows: pl.DataFrame, phases: Phases, looks: Mapping[str, plot.Style]) -> None:
    """Queue, goodput and loss over time of the first seed, a line of panels for each discipline; every other phase is
    shaded, and those of the lowest capacity where it varies."""
    grid = figure.subplots(len(looks), len(COURSES), squeeze=False, sharex=True, sharey="col")
    for line, (label, look) in zip(grid, looks.items(), strict=True):
        own = rows.filter((pl.col("label") == label) & (pl.col("time_s") <= SHOWN_S))
        for axes, (column, factor, words) in zip(line, COURSES, strict=True):
            axes.plot(own["time_s"], factor * own[column], color=look.color, linewidth=1.0)
            _shade(axes, own["time_s"].to_list(), phases)
            axes.set_title(f"{look.label}: {words}", fontsize=9)
    for axes in grid[0]:
        axes.set_ylim(bottom=0)  # all of a column share it
    figure.supxlabel("time since all transfers were in congestion avoidance (s)", fontsize=10)


def _shade(axes: Axes, times: Sequence[float], phases: Phases) -> None:
    numbers = [math.floor(time / phases.length_s + 1e-9) % len(phases.words) for time in times]
    varies = len(set(phases.rates_bps)) > 1
    low = [phases.rates_bps[each] == min(phases.rates_bps) if varies else each == 1 for each in numbers]
    axes.fill_between(times, 0, 1, where=low, transform=axes.get_xaxis_transform(), color="#E5E7EB", linewidth=0,
                      step="post")  # fmt: skip
