"""Charts of "Understanding CHOKe": simulation with its intervals, both full models and the approximate one together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..plot import style as plot

SIMULATION = plot.Style("simulation, 95 % interval", plot.VERMILION, "none", "s")
PAPER = plot.Style("full model, (43) and (44)", plot.BLUE, "-", "")
OURS = plot.Style("full model, time-outs and RED's gaps", plot.GREEN, "--", "")
APPROXIMATE = plot.Style("approximate model", plot.PURPLE, ":", "")
MODELS = (("paper", PAPER), ("ours", OURS), ("approximate", APPROXIMATE))
VEGAS_MODELS = (
    ("paper", replace(PAPER, label="full model, (44)")),
    ("ours", replace(OURS, label="full model, RED's gaps")),
    ("approximate", APPROXIMATE),
)
"""Vegas has one law: congestion drops alone tell its models apart."""

Models = Sequence[tuple[str, plot.Style]]
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
    table: pl.DataFrame, panels: Sequence[Panel], x: str, xlabel: str, ticks: Sequence[float], log: bool = True,
    models: Models = MODELS,
) -> Figure:  # fmt: skip
    """Each panel over `x`: the simulation, and the models that have an answer.

    Table: `x`, mean and half width of each quantity, and `<model>_<quantity>`.
    """
    rows = -(-len(panels) // 2)
    figure, grid = plot.panels(rows, 2, height=4.0 if rows == 1 else 3.3, share_y=False)
    flat = [axes for row in grid for axes in row]
    for axes, panel in zip(flat, panels, strict=True):
        axes.set_title(panel.title)
        xs = table[x].to_numpy()
        points(axes, xs, table, panel.quantity, panel.factor, SIMULATION)
        for name, style in models:
            column = f"{name}_{panel.quantity}"
            if column in table.columns and table[column].drop_nulls().len():
                values = table[column].to_numpy() * panel.factor
                axes.plot(xs, values, style.line, color=style.color, label=style.label)
        if panel.limit is not None:
            plot.reference(axes, panel.limit, panel.note, lift=3)
        axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
        if log:
            plot.log_axis(axes, "x", ticks)
        axes.set_ylabel(panel.ylabel)
    for axes in grid[-1]:
        axes.set_xlabel(xlabel)
    plot.legend(figure, flat, columns=2)
    return figure


@plot.drawing
def laws(table: pl.DataFrame, models: Sequence[tuple[str, str]]) -> Figure:
    """Over N: the queue by models that change one thing at a time, and each law over what was measured.

    Table: `flows`, mean and half width of `b`, `<model>_b`, and `<law>_mean` with its half width, of ratios less 1.
    """
    figure, grid = plot.panels(1, 3, width=10.4, height=3.9, share_y=False)
    queue, rate, rest = grid[0]
    x = table["flows"].to_numpy()
    queue.set_title("queue, one change at a time")
    points(queue, x, table, "b", 1.0, replace(SIMULATION, label="simulation"))
    colours = (plot.BLUE, plot.SKY, plot.ORANGE, plot.PURPLE, plot.GREEN)
    for (name, label), colour, line in zip(models, colours, ("-", ":", "-.", "--", "-"), strict=True):
        queue.plot(x, table[f"{name}_b"], line, color=colour, label=label)
    queue.plot(
        x, table["b_mean"] * (1 + table["rest_b_mean"]), color=plot.BLACK, linewidth=1, label="x₁ and hits measured"
    )
    queue.set_ylabel("queue b (packets)")
    rate.set_title("TCP's law at measured p, τ")
    rest.set_title("drops at the measured queue")
    for axes, drawn in (
        (rate, (("f_paper", "f of (43) / x₁", plot.BLUE, "o"), ("f_ours", "f with time-outs / x₁", plot.GREEN, "^"))),
        (rest, (("g_paper", "(44) / r", plot.BLUE, "o"), ("g_ours", "RED's gaps / r", plot.GREEN, "^"),
                ("hits_tcp", "TCP's hits / (b₁/b)", plot.VERMILION, "s"),
                ("hits_udp", "UDP's hits / (b₀/b)", plot.PURPLE, "D"))),
    ):  # fmt: skip
        for name, label, colour, marker in drawn:
            values = 1 + table[f"{name}_mean"].to_numpy()
            halves = table[f"{name}_half_width"].cast(pl.Float64).fill_null(0.0).to_numpy()
            axes.errorbar(
                x, values, yerr=halves, fmt="-", marker=marker, color=colour, capsize=3, linewidth=1, label=label
            )
        axes.axhline(1, color=plot.BLACK, linestyle=":", linewidth=1.3, zorder=1.5)
        axes.set_ylim(bottom=0)
    rate.set_ylabel("law over measurement")
    for axes in (queue, rate, rest):
        axes.set_xlabel("TCP flows, N")
        axes.set_ylim(0, axes.get_ylim()[1] * (1.55 if axes is queue else 1.45))
        axes.legend(loc="upper left", fontsize=8.5)
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
def spatial(panels: Sequence[tuple[str, pl.DataFrame, dict[str, Curve | None]]]) -> Figure:
    """ρ over the place in the queue: snapshots and the models that have an answer, a panel for each case.

    Tables: `place`, `rho_mean`, `rho_half_width`.
    """
    figure, rows = plot.panels(2, (len(panels) + 1) // 2, height=2.9)
    flat = [axes for row in rows for axes in row]
    place = np.linspace(0, 1, 200)
    for axes, (title, table, curves) in zip(flat, panels, strict=True):
        axes.set_title(title)
        points(axes, table["place"].to_numpy(), table, "rho", 1.0, SIMULATION)
        for name, style in MODELS:
            if (curve := curves.get(name)) is not None:
                axes.plot(place, curve(place), style.line, color=style.color, label=style.label)
        axes.set_ylim(0, 1)
    for row in rows:
        row[0].set_ylabel("ρ: part that is UDP")
    for axes in rows[-1]:
        axes.set_xlabel("place in the queue, y/b (0 tail, 1 head)")
    plot.legend(figure, flat, columns=2)
    return figure


@dataclass(frozen=True)
class OverTime:
    """A queue over time, seconds and packets; RED's average of it; its mean over time and runs with the half width of
    its interval, and the queues of the models that have an answer."""

    title: str
    times: Sequence[float]
    packets: Sequence[float]
    average: Sequence[float]
    mean: float
    half_width: float
    levels: dict[str, float]


@plot.drawing
def queues(panels: Sequence[OverTime], min_th: float) -> Figure:
    """The queue over time and RED's average of it, a panel each, with the mean of all runs and the models' queues."""
    figure, rows = plot.panels(len(panels), 1, height=2.6)
    for (axes,), panel in zip(rows, panels, strict=True):
        times, packets, average = panel.times, panel.packets, panel.average
        axes.set_title(panel.title)
        half = 0.0 if np.isnan(panel.half_width) else panel.half_width
        axes.axhspan(panel.mean - max(half, 0.15), panel.mean + max(half, 0.15), color=SIMULATION.color, alpha=0.5,
        linewidth=0,
                     label="mean of all runs, 95 % interval")  # fmt: skip
        for name, style in MODELS:
            if np.isfinite(level := panel.levels[name]):
                axes.axhline(level, linestyle=style.line, color=style.color, linewidth=1.3, label=style.label)
        axes.plot(times, packets, color=plot.SKY, linewidth=0.8, label="queue")
        axes.plot(times, average, color=plot.BLACK, linewidth=1.3, label="average kept by RED")
        plot.reference(axes, min_th, f"min_th = {min_th:g}" if axes is rows[0][0] else "", color=plot.VERMILION)
        axes.set_ylim(bottom=0)
        axes.set_xlim(min(times), max(times))
        axes.set_ylabel("queue (packets)")
    rows[-1][0].set_xlabel("time (s)")
    plot.legend(figure, [row[0] for row in rows], columns=3)
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
                axes.plot(table["x"], table["ours_share"] * 100, color=style.color, linewidth=1.3,
                          label=f"{name}, full model")  # fmt: skip
        if mark is not None:
            plot.reference(axes, 100 * mark, f"{100 * mark:.3g} %", lift=6)
        axes.set_ylim(0, 150)  # room for the legend above the points
        axes.set_yticks(range(0, 101, 20))
        plot.log_axis(axes, "x", ticks)
        axes.set_xlabel(xlabel)
        axes.legend(loc="upper left", fontsize=8.5)
    row[0].set_ylabel("unresponsive flows' share of the link (%)")
    return figure


@plot.drawing
def against_model(table: pl.DataFrame) -> Figure:
    """Shares of groups of flows, one row each: simulation and both full models. Table: `row`, `share_mean`,
    `share_half_width`, `paper_share`, `ours_share`, and the approximate model's where it is a column."""
    figure, ((axes,),) = plot.panels(1, 1, height=1.4 + 0.32 * table.height)
    y = np.arange(table.height)
    halves = table["share_half_width"].cast(pl.Float64).fill_null(0.0).to_numpy()
    axes.errorbar(table["share_mean"] * 100, y, xerr=halves * 100, fmt="s", color=SIMULATION.color, capsize=3,
                  label=SIMULATION.label)  # fmt: skip
    axes.plot(table["paper_share"] * 100, y - 0.22, "o", color=PAPER.color, label=PAPER.label)
    axes.plot(table["ours_share"] * 100, y + 0.22, "^", color=OURS.color, label=OURS.label)
    if "approximate_share" in table.columns:
        axes.plot(table["approximate_share"] * 100, y + 0.36, "v", color=APPROXIMATE.color, label=APPROXIMATE.label)
    axes.set_yticks(y, table["row"].to_list())
    axes.set_ylim(table.height - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("share of the link (%)")
    plot.legend(figure, [axes])
    return figure


@plot.drawing
def needed(steps: Sequence[tuple[str, Sequence[int], Sequence[int]]], table: pl.DataFrame, limit: float) -> Figure:
    """Left: candidates needed for k flows, a line for each share allowed and model. Right: the share simulated at the
    number of the closed curve, at that of the full model, and at one less. Table: `k`, `m`, `which`, `share_mean`,
    `share_half_width`, `ours_share`."""
    figure, (row,) = plot.panels(1, 2, height=4.2, share_y=False)
    left, right = row
    left.set_title("the least number")
    for index, (label, ks, ms) in enumerate(steps):
        left.plot(ks, ms, "-", marker=MARKERS[index], color=COLOURS[index], label=label)
    left.set_xlabel("unresponsive flows, k")
    left.set_ylabel("candidates needed, m")
    left.set_ylim(bottom=0)
    left.legend()
    right.set_title("simulated, 96 TCP flows, worst rate")
    for name, shift, colour, marker in (
        ("closed curve's m", 0.0, plot.GREEN, "^"),
        ("full model's m, N = 96", 0.15, plot.BLUE, "o"),
        ("one less than that", 0.3, plot.VERMILION, "s"),
    ):
        part = table.filter(pl.col("which") == name)
        x = part["k"].to_numpy() + shift
        points(right, x, part, "share", 100, plot.Style(name, colour, "none", marker))
        right.plot(x, part["ours_share"] * 100, "_", color=plot.BLACK, markersize=10,
                   label="full model" if shift == 0 else None)  # fmt: skip
        for at, m, share in zip(x, part["m"], part["share_mean"], strict=True):
            right.annotate(
                f"{m}", (at, 100 * share), xytext=(6, -10), textcoords="offset points", fontsize=8.5, color=colour
            )
    plot.reference(right, 100 * limit, f"{100 * limit:g} %")
    right.set_ylim(0, 80)
    right.set_xlim(0.5, 6)
    right.set_xlabel("unresponsive flows, k (m beside each point)")
    right.set_ylabel("their share of the link (%)")
    right.legend(loc="upper right")
    return figure
