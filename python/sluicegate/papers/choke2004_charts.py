"""Charts of "Understanding CHOKe": simulation with its intervals, both full models and the approximate one together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .. import plot

SIMULATION = plot.Style("simulation, 95 % interval", plot.VERMILION, "none", "s")
PAPER = plot.Style("full model, (43) and (44)", plot.BLUE, "-", "")
OURS = plot.Style("full model, time-outs and RED's gaps", plot.GREEN, "--", "")
APPROXIMATE = plot.Style("approximate model", plot.PURPLE, ":", "")
MODELS = (("paper", PAPER), ("ours", OURS), ("approximate", APPROXIMATE))
COLOURS = (plot.VERMILION, plot.BLUE, plot.GREEN, plot.PURPLE, plot.ORANGE)
MARKERS = ("s", "o", "^", "D", "v")


@dataclass(frozen=True)
class Panel:
    """One pair of axes: what is drawn (`quantity`, times `factor`) and over what."""

    title: str
    quantity: str
    factor: float
    ylabel: str
    limit: float | None = None
    note: str = ""


@plot.drawing
def compared(
    table: pl.DataFrame, panels: Sequence[Panel], x: str, xlabel: str, ticks: Sequence[float], log: bool = True
) -> Figure:
    """Each panel over `x`: the simulation, and the models that have an answer.

    Table: `x`, mean and half width of each quantity, and `<model>_<quantity>`.
    """
    figure, (row,) = plot.panels(1, len(panels), height=4.0, share_y=False)
    for axes, panel in zip(row, panels, strict=True):
        axes.set_title(panel.title)
        xs = table[x].to_numpy()
        points(axes, xs, table, panel.quantity, panel.factor, SIMULATION)
        for name, style in MODELS:
            column = f"{name}_{panel.quantity}"
            if column in table.columns and table[column].drop_nulls().len():
                values = table[column].to_numpy() * panel.factor
                axes.plot(xs, values, style.line, color=style.color, label=style.label)
        if panel.limit is not None:
            plot.reference(axes, panel.limit, panel.note, lift=3)
        axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
        if log:
            plot.log_axis(axes, "x", ticks)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(panel.ylabel)
    plot.legend(figure, row, columns=2)
    return figure


def points(
    axes: Axes, x: NDArray[np.float64], table: pl.DataFrame, quantity: str, factor: float, style: plot.Style
) -> None:
    """Means with their intervals, without a line."""
    means = table[f"{quantity}_mean"].to_numpy() * factor
    halves = table[f"{quantity}_half_width"].cast(pl.Float64).fill_null(0.0).to_numpy() * factor
    axes.errorbar(x, means, yerr=halves, fmt=style.marker, color=style.color, markersize=4.5, capsize=3, elinewidth=1.2,
                  label=style.label, zorder=3)  # fmt: skip


Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@plot.drawing
def spatial(panels: Sequence[tuple[str, pl.DataFrame, Curve, Curve]]) -> Figure:
    """ρ over the place in the queue: snapshots and both full models, a panel for each UDP rate.

    Tables: `place`, `rho_mean`, `rho_half_width`.
    """
    figure, rows = plot.panels(2, (len(panels) + 1) // 2, height=2.9)
    flat = [axes for row in rows for axes in row]
    place = np.linspace(0, 1, 200)
    for axes, (title, table, paper, ours) in zip(flat, panels, strict=True):
        axes.set_title(title)
        points(axes, table["place"].to_numpy(), table, "rho", 1.0, SIMULATION)
        axes.plot(place, paper(place), PAPER.line, color=PAPER.color, label=PAPER.label)
        axes.plot(place, ours(place), OURS.line, color=OURS.color, label=OURS.label)
        axes.set_ylim(0, 1)
    for row in rows:
        row[0].set_ylabel("ρ: part that is UDP")
    for axes in rows[-1]:
        axes.set_xlabel("place in the queue, y/b (0 tail, 1 head)")
    plot.legend(figure, flat, columns=3)
    return figure


@plot.drawing
def queues(panels: Sequence[tuple[str, Sequence[float], Sequence[float], Sequence[float]]], min_th: float) -> Figure:
    """The queue over time and RED's average of it, a panel each."""
    figure, rows = plot.panels(len(panels), 1, height=2.4)
    for (axes,), (title, times, packets, average) in zip(rows, panels, strict=True):
        axes.set_title(title)
        axes.plot(times, packets, color=plot.SKY, linewidth=0.8, label="queue")
        axes.plot(times, average, color=plot.BLACK, linewidth=1.3, label="average kept by RED")
        plot.reference(axes, min_th, f"min_th = {min_th:g}" if axes is rows[0][0] else "", color=plot.VERMILION)
        axes.set_ylim(bottom=0)
        axes.set_xlim(min(times), max(times))
        axes.set_ylabel("queue (packets)")
    rows[-1][0].set_xlabel("time (s)")
    plot.legend(figure, [row[0] for row in rows])
    return figure


@plot.drawing
def shares(
    panels: Sequence[tuple[str, Sequence[tuple[str, pl.DataFrame]], str, Sequence[float], float | None]],
) -> Figure:
    """Shares of the link in per cent: points with intervals, and the full model as a line where it has an answer.

    Panels: title, lines (a name, and a table with `x`, mean and half width of `share`, `ours_share`), the name of the x
    axis, its ticks, and a share to mark or None.
    """
    figure, (row,) = plot.panels(1, len(panels), height=4.0)
    for axes, (title, lines, xlabel, ticks, mark) in zip(row, panels, strict=True):
        axes.set_title(title)
        for index, (name, table) in enumerate(lines):
            style = plot.Style(name, COLOURS[index], "-", MARKERS[index])
            points(axes, table["x"].to_numpy(), table, "share", 100, style)
            if table["ours_share"].drop_nulls().len():
                axes.plot(table["x"], table["ours_share"] * 100, color=style.color, linewidth=1.3)
        if mark is not None:
            plot.reference(axes, 100 * mark, f"{100 * mark:.3g} %")
        axes.set_ylim(0, 105)
        plot.log_axis(axes, "x", ticks)
        axes.set_xlabel(xlabel)
        axes.legend(loc="best")
    row[0].set_ylabel("unresponsive flows' share of the link (%)")
    return figure


@plot.drawing
def against_model(table: pl.DataFrame) -> Figure:
    """Shares of groups of flows, one row each: simulation and both full models. Table: `row`, `share_mean`,
    `share_half_width`, `paper_share`, `ours_share`."""
    figure, ((axes,),) = plot.panels(1, 1, height=1.4 + 0.32 * table.height)
    y = np.arange(table.height)
    halves = table["share_half_width"].cast(pl.Float64).fill_null(0.0).to_numpy()
    axes.errorbar(table["share_mean"] * 100, y, xerr=halves * 100, fmt="s", color=SIMULATION.color, capsize=3,
                  label=SIMULATION.label)  # fmt: skip
    axes.plot(table["paper_share"] * 100, y - 0.22, "o", color=PAPER.color, label=PAPER.label)
    axes.plot(table["ours_share"] * 100, y + 0.22, "^", color=OURS.color, label=OURS.label)
    axes.set_yticks(y, table["row"].to_list())
    axes.set_ylim(table.height - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("share of the link (%)")
    plot.legend(figure, [axes])
    return figure


@plot.drawing
def needed(steps: dict[float, tuple[Sequence[int], Sequence[int]]], table: pl.DataFrame, limit: float) -> Figure:
    """Left: candidates needed for k flows, a line for each share allowed. Right: the share simulated at that number and
    at one less. Table: `k`, `m`, `enough`, `share_mean`, `share_half_width`, `ours_share`."""
    figure, (row,) = plot.panels(1, 2, height=4.2, share_y=False)
    left, right = row
    left.set_title("by the closed curve")
    for index, (share, (ks, ms)) in enumerate(steps.items()):
        left.plot(
            ks, ms, "-", marker=MARKERS[index], color=COLOURS[index], label=f"under {100 * share:g} % of the link"
        )
    left.set_xlabel("unresponsive flows, k")
    left.set_ylabel("candidates needed, m")
    left.set_ylim(bottom=0)
    left.legend()
    right.set_title("simulated, 96 TCP flows, worst rate")
    for enough, name, colour, marker in (
        (True, "m as needed", plot.GREEN, "^"),
        (False, "one less", plot.VERMILION, "s"),
    ):
        part = table.filter(pl.col("enough") == enough)
        points(right, part["k"].to_numpy(), part, "share", 100, plot.Style(name, colour, "none", marker))
        right.plot(part["k"], part["ours_share"] * 100, "--", color=colour, linewidth=1.2, label=f"{name}, full model")
        for k, m, share in part.select("k", "m", "share_mean").iter_rows():
            right.annotate(f"m = {m}", (k, 100 * share), xytext=(8, 5), textcoords="offset points", fontsize=8.5)
    plot.reference(right, 100 * limit, f"{100 * limit:g} %")
    right.set_ylim(0, 35)
    right.set_xlim(0.5, 6)
    right.set_xlabel("unresponsive flows, k")
    right.set_ylabel("their share of the link (%)")
    right.legend(loc="lower right")
    return figure
