"""The drawings of a scenario: delay against goodput with 1-sigma ellipses over runs (RFC 7928, Sec. 2.7), the queue
over time where the load or the capacity varies, and what a flow gets over its round trip."""

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
from .suite import Scenario

if TYPE_CHECKING:
    from .outcome import Outcome

SHOWN_S = 120.0
"""How much of a queue over time is drawn, in seconds from the start."""

BIN_S = 0.5
LEAST_SPAN = 0.1
"""The least part of the greatest goodput that an axis spans."""

ACROSS = 3
"""Panels of queues over time beside one another."""


@plot.drawing
def draw(done: Outcome, scenario: Scenario) -> Figure:
    """The drawing of a scenario."""
    looks = dict(zip(done.disciplines, styles(done.names), strict=True))
    rows = done.runs.filter(pl.col("scenario") == scenario.id)
    legend = 0.25 * math.ceil(len(looks) / 5)
    if len(scenario.points) > 1:
        figure = Figure(figsize=(6.4, 3.6 + legend), layout="constrained")
        axes = figure.subplots()
        _over_points(axes, rows, scenario, looks)
        plot.legend(figure, [axes])
        return figure
    down = math.ceil(len(looks) / ACROSS) if scenario.capacity else 0
    groups = scenario.shown
    across = min(2, len(groups))
    top = 3.2 * math.ceil(len(groups) / across) + legend
    figure = Figure(figsize=(3.9 * max(across, 1.7) if not down else 8.4, top + 1.7 * down), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=(top, 1.7 * down)) if down else None
    upper: Figure | SubFigure = figure if parts is None else parts[0]
    grid = upper.subplots(math.ceil(len(groups) / across), across, squeeze=False).ravel()
    for axes, group in zip(grid, groups, strict=False):
        _trade(axes, rows.filter(pl.col("of") == group), group, looks)
    for spare in grid[len(groups) :]:
        spare.set_axis_off()
    plot.legend(figure, list(grid))
    if parts is not None and done.series is not None:
        _queues(parts[1], done.series.filter(pl.col("scenario") == scenario.id), scenario, looks, down)
    return figure


def _trade(axes: Axes, rows: pl.DataFrame, group: str, looks: Mapping[str, plot.Style]) -> None:
    """A group's mean delay and goodput: a run is a small point, the median a marker, around it the ellipse."""
    for label, look in looks.items():
        own = rows.filter(pl.col("discipline") == label).select("delay_mean_ns", "goodput_bps").drop_nulls()
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
    axes.ticklabel_format(useOffset=False)
    axes.set_xlabel("delay beyond propagation, mean (ms)")
    axes.set_ylabel("goodput (Mbit/s)")


def _over_points(axes: Axes, rows: pl.DataFrame, scenario: Scenario, looks: Mapping[str, plot.Style]) -> None:
    """What the second group gets over what the first gets, over the round trips of the second."""
    from ..stats import interval

    trips = {point: float(point.split()[0]) for point in scenario.points}
    second = scenario.shown[1]
    for label, look in looks.items():
        own = rows.filter((pl.col("discipline") == label) & (pl.col("of") == second))
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


def _queues(
    figure: SubFigure, series: pl.DataFrame, scenario: Scenario, looks: Mapping[str, plot.Style], down: int
) -> None:
    """How long what is queued takes at the capacity of the moment, the longest of each half second, for each
    discipline; a low capacity is shaded."""
    assert scenario.capacity is not None
    grid = figure.subplots(down, ACROSS, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, (label, look) in zip(grid, looks.items(), strict=False):
        own = series.filter((pl.col("discipline") == label) & (pl.col("time_s") <= SHOWN_S))
        drawn: dict[float, float] = {}
        for time, queued in own.select("time_s", "queue_bytes").iter_rows():
            start = BIN_S * math.floor(time / BIN_S)
            drawn[start] = max(drawn.get(start, 0.0), 8e3 * queued / scenario.capacity(time))
        axes.plot(list(drawn), list(drawn.values()), color=look.color, linewidth=1.0)
        _shade(axes, list(drawn), scenario)
        axes.set_title(look.label, fontsize=9)
    for spare in grid[len(looks) :]:
        spare.set_axis_off()
    grid[0].set_ylim(bottom=0)  # all share it
    figure.supxlabel("time (s)", fontsize=10)
    figure.supylabel("queue (ms)", fontsize=10)


def _shade(axes: Axes, times: Sequence[float], scenario: Scenario) -> None:
    assert scenario.capacity is not None
    rates = [scenario.capacity(time) for time in times]
    low = np.array(rates) < max(rates, default=0.0)
    axes.fill_between(times, 0, 1, where=low, transform=axes.get_xaxis_transform(), color="#E5E7EB", linewidth=0,
                      step="post")  # fmt: skip
