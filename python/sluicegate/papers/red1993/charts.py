"""Parts of drawings that figures share: queue and average over time, crosses for drops."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn

from ...plot import style as plot
from .network import MAX_TH, MIN_TH, NOT_DROPPED

EVENTS = ("time_s", "link", "flow", "to", "event", "first_byte", "data_bytes", "queue_packets", "average_packets")
"""What drawings of single packets need of the table `packets`."""

MSS = 960
"""Bytes that a packet of 1000 bytes carries."""

COLOURS = (plot.BLUE, plot.GREEN, plot.PURPLE, plot.ORANGE, plot.SKY, plot.GREY)
dropped = ~pl.col("event").is_in(NOT_DROPPED)


def tall(rows: Sequence[float], width: float = 9.6) -> tuple[Drawn, list[Axes]]:
    """A column of axes with these heights in inches that share x."""
    figure = Drawn(figsize=(width, sum(rows)), layout="constrained")
    axes = figure.subplots(len(rows), 1, sharex=True, height_ratios=list(rows), squeeze=False)
    return figure, [row[0] for row in axes]


def queue_and_average(axes: Axes, table: pl.DataFrame) -> None:
    """The queue and the average over time with the thresholds; table: `time_s`, `queue_packets`, `average_packets`."""
    axes.plot(table["time_s"], table["queue_packets"], color=plot.SKY, linewidth=0.8, label="queue")
    axes.plot(
        table["time_s"], table["average_packets"], color=plot.VERMILION, linewidth=1.8, label="average kept by RED"
    )
    for name, value in (("min_th", MIN_TH), ("max_th", MAX_TH)):
        axes.axhline(value, color=plot.BLACK, linestyle=":", linewidth=1.3, zorder=1.5)
        axes.annotate(f"{name} = {value:g}", xy=(0.0, value), xycoords=("axes fraction", "data"), xytext=(3, 2),
                      textcoords="offset points", va="bottom", fontsize=8.5,
                      bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.8})  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_ylabel("packets")


def points(axes: Axes, table: pl.DataFrame, heights: str, size: float = 1.6) -> None:
    """A point for each event at its time and height, a colour for each flow."""
    for at, (_, part) in enumerate(table.sort("flow", maintain_order=True).group_by("flow", maintain_order=True)):
        axes.plot(part["time_s"], part[heights], linestyle="none", marker=".", markersize=size,
                  color=COLOURS[at % len(COLOURS)], label="_")  # fmt: skip


def crosses(axes: Axes, times: Sequence[float] | pl.Series, heights: Sequence[float] | pl.Series) -> None:
    """A cross for each dropped packet."""
    axes.plot(times, heights, linestyle="none", marker="x", markersize=6, markeredgewidth=1.4, color=plot.BLACK,
              label="dropped packet", zorder=4)  # fmt: skip
