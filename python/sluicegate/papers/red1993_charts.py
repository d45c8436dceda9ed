"""Charts of the RED paper: single packets over time, throughput against queue, marks in a row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..plot import style as plot
from ..theory.red import Gaps

QUEUE, AVERAGE = plot.SKY, plot.VERMILION
DROPPED = plot.BLACK
NODES = (plot.BLUE, plot.GREEN, plot.PURPLE, plot.ORANGE)

MODULUS, ROW, MSS = 90, 100, 960
"""Fig. 3: packet numbers modulo 90, a hundred for each node; a packet of 1000 bytes carries 960."""


def _thresholds(axes: Axes, thresholds: tuple[float, float]) -> None:
    for name, value in zip(("min_th", "max_th"), thresholds, strict=True):
        axes.axhline(value, color=plot.BLACK, linestyle=":", linewidth=1.3, zorder=1.5)
        axes.annotate(f"{name} = {value:g}", xy=(0.0, value), xycoords=("axes fraction", "data"), xytext=(3, 2),
                      textcoords="offset points", va="bottom", fontsize=8.5,
                      bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.8})  # fmt: skip


def _tall(rows: Sequence[float], width: float = 9.6) -> tuple[Figure, list[Axes]]:
    """A column of axes with these heights in inches that share x."""
    figure = Figure(figsize=(width, sum(rows)), layout="constrained")
    axes = figure.subplots(len(rows), 1, sharex=True, height_ratios=list(rows), squeeze=False)
    return figure, [row[0] for row in axes]


def _queue(axes: Axes, table: pl.DataFrame, thresholds: tuple[float, float]) -> None:
    """The queue and the average over time; table: `time_s`, `queue_packets`, `average_packets`."""
    axes.plot(table["time_s"], table["queue_packets"], color=QUEUE, linewidth=0.8, label="queue")
    axes.plot(table["time_s"], table["average_packets"], color=AVERAGE, linewidth=1.8, label="average kept by RED")
    _thresholds(axes, thresholds)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("packets")


@plot.drawing
def packets_over_time(run: pl.DataFrame, thresholds: tuple[float, float]) -> Figure:
    """Fig. 3. Above queue and average, below packet numbers with drops.

    Table: the events of one run, with `time_s`, `flow`, `event`, `first_byte`, `queue_packets`, `average_packets`.
    """
    figure, (top, bottom) = _tall((2.6, 4.6))
    _queue(top, run.filter(pl.col("event") == "arrival"), thresholds)
    height = (pl.col("first_byte") // MSS) % MODULUS + (pl.col("flow") - 1) * ROW
    lost = ~pl.col("event").is_in(["arrival", "departure"])
    marked = run.with_columns(height=height)
    for node in marked["flow"].unique().sort().to_list():
        part = marked.filter((pl.col("flow") == node) & ~lost)
        bottom.plot(part["time_s"], part["height"], linestyle="none", marker=".", markersize=1.6,
                    color=NODES[(node - 1) % len(NODES)], label="_")  # fmt: skip
    drops = marked.filter(lost)
    _crosses(bottom, drops["time_s"].to_list(), drops["height"].to_list())
    _crosses(bottom, drops["time_s"].to_list(), [-25.0] * drops.height)
    nodes = int(run["flow"].n_unique())
    bottom.set_yticks([-25, *(ROW * node + MODULUS / 2 for node in range(nodes))],
                      ["all drops", *(f"node {node + 1}" for node in range(nodes))])  # fmt: skip
    for node in range(nodes):
        bottom.axhline(ROW * node - 5, color="#E5E7EB", linewidth=0.8)
    bottom.grid(axis="y", visible=False)
    bottom.set_ylim(-45, ROW * nodes)
    bottom.set_ylabel("packet number mod 90, by node")
    bottom.set_xlim(0, math.ceil(10 * max(run["time_s"].to_list())) / 10)
    bottom.set_xlabel("time (s)")
    plot.legend(figure, [top, bottom])
    return figure


def _crosses(axes: Axes, times: Sequence[float], heights: Sequence[float]) -> None:
    axes.plot(times, heights, linestyle="none", marker="x", markersize=6, markeredgewidth=1.4, color=DROPPED,
              label="dropped packet", zorder=4)  # fmt: skip


@plot.drawing
def queues_over_time(panels: Sequence[tuple[str, pl.DataFrame]], thresholds: tuple[float, float]) -> Figure:
    """Queue and average, one panel beside the other; tables as `_queue` takes them."""
    figure, (row,) = plot.panels(1, len(panels), height=3.4)
    for axes, (title, table) in zip(row, panels, strict=True):
        axes.set_title(title)
        _queue(axes, table, thresholds)
        axes.set_xlim(0, math.ceil(10 * max(table["time_s"].to_list())) / 10)
        axes.set_xlabel("time (s)")
    for axes in row[1:]:
        axes.set_ylabel("")
    row[0].set_ylim(0, 1.05 * max(max(table["queue_packets"].to_list()) for _, table in panels))
    plot.legend(figure, row)
    return figure


@plot.drawing
def two_queues(
    queues: Sequence[tuple[str, pl.DataFrame]], marks: pl.DataFrame, drops: pl.DataFrame,
    all_drops: Sequence[float], thresholds: tuple[float, float],
) -> Figure:  # fmt: skip
    """Fig. 9. Two queues with their drops, and below the packet numbers of all connections with theirs.

    Queues: a title and events with `time_s`, `event`, `queue_packets`, `average_packets`. `marks`: `time_s`, `flow`,
    `number`. `drops`: the same, of both gateways. `all_drops`: when any packet was dropped, acknowledgements too.
    """
    figure, (*above, bottom) = _tall((*(2.2 for _ in queues), 4.6))
    for axes, (title, table) in zip(above, queues, strict=True):
        axes.set_title(title)
        _queue(axes, table.filter(pl.col("event") == "arrival"), thresholds)
        lost = table.filter(~pl.col("event").is_in(["arrival", "departure"]))["time_s"].to_list()
        floor = -0.09 * axes.get_ylim()[1]
        _crosses(axes, lost, [floor] * len(lost))
        axes.set_ylim(bottom=2 * floor)
    colours = (plot.BLUE, plot.GREEN, plot.PURPLE, plot.ORANGE, plot.SKY, plot.GREY)
    for at, flow in enumerate(marks["flow"].unique().sort().to_list()):
        part = marks.filter(pl.col("flow") == flow)
        bottom.plot(part["time_s"], part["number"], linestyle="none", marker=".", markersize=2.2,
                    color=colours[at % len(colours)], label="_")  # fmt: skip
    _crosses(bottom, drops["time_s"].to_list(), drops["number"].to_list())
    _crosses(bottom, all_drops, [-20.0] * len(all_drops))
    bottom.set_title("packets of each connection at gateway A")
    bottom.set_ylim(bottom=-35)
    bottom.set_ylabel("packet number")
    bottom.set_xlim(0, 1)
    bottom.set_xlabel("time (s)")
    plot.legend(figure, [*above, bottom])
    return figure


@plot.drawing
def variants(table: pl.DataFrame, quantities: Sequence[tuple[str, str, float | None]]) -> Figure:
    """Means with intervals for each variant, one below the other, a panel for each quantity; the first is the choice.

    Table: `variant`, and mean and half width of each quantity. `quantities`: column, label with unit, printed number,
    None if there is none.
    """
    figure, (row,) = plot.panels(1, len(quantities), height=0.9 + 0.3 * table.height)
    y = np.arange(table.height)
    for axes, (column, label, printed) in zip(row, quantities, strict=True):
        means = table[f"{column}_mean"].to_numpy()
        halves = np.nan_to_num(table[f"{column}_half_width"].cast(pl.Float64).fill_null(math.nan).to_numpy())
        axes.axvspan(means[0] - halves[0], means[0] + halves[0], color="#FDE9DD", zorder=0)
        axes.errorbar(means, y, xerr=halves, fmt="s", color=plot.VERMILION, capsize=3,
                      label="mean over seeds, 95 % interval")  # fmt: skip
        if printed is not None:
            axes.axvline(printed, color=plot.BLACK, linestyle=":", linewidth=1.3, label="printed in the paper")
        axes.set_xlabel(label)
    row[0].set_yticks(y, table["variant"].to_list())
    row[0].set_ylim(table.height - 0.5, -0.5)
    plot.legend(figure, row)
    return figure


@plot.drawing
def throughput_queue(runs: pl.DataFrame, curves: Sequence[tuple[str, str, float, int, float]]) -> Figure:
    """Fig. 5. Average queue over throughput, a mark for each run.

    Table: `gateway`, `x`, `queue`. `curves`: for each gateway its name, its title, and a and k of the paper's curve
    a/(1 − x)^k, then the a that was fitted.
    """
    figure, ((axes,),) = plot.panels(1, 1, height=4.6)
    axes.set_ylim(0, 1.08 * max(runs["queue"].to_list()))
    for name, title, a, k, fitted in curves:
        style = plot.discipline(name, title)
        part = runs.filter(pl.col("gateway") == name)
        axes.plot(part["x"], part["queue"], linestyle="none", marker=style.marker, markersize=4.5, color=style.color,
                  markerfacecolor="none" if name == "drop_tail" else style.color, label=title)  # fmt: skip
        x = np.linspace(0.3, 0.985, 400)
        power = "³" if k == 3 else ""
        axes.plot(x, a / (1 - x) ** k, "--", color=style.color, linewidth=1.4, label=f"paper: {a:g}/(1 − x){power}")
        axes.plot(x, fitted / (1 - x) ** k, "-", color=style.color, linewidth=1.4, alpha=0.75,
                  label=f"fitted: {fitted:.2f}/(1 − x){power}")  # fmt: skip
    axes.set_xlim(0.3, 1)
    axes.set_xlabel("throughput (part of the link's rate)")
    axes.set_ylabel("queue found by arriving packets (mean, packets)")
    plot.legend(figure, [axes], columns=3)
    return figure


@plot.drawing
def average_after_burst(table: pl.DataFrame) -> Figure:
    """Fig. 7. Lines of equal average over queue weight and burst; table: `w_q`, `burst_packets`, `average_packets`."""
    figure, ((axes,),) = plot.panels(1, 1, width=7.2, height=4.4)
    w_q, burst = (np.unique(table[column].to_numpy()) for column in ("w_q", "burst_packets"))
    average = table.sort("burst_packets", "w_q")["average_packets"].to_numpy().reshape(len(burst), len(w_q))
    shades = axes.contourf(w_q, burst, average, levels=np.arange(0, 24, 1), cmap="Blues")
    axes.contour(w_q, burst, average, levels=[5], colors=[plot.VERMILION], linewidths=2.4)
    lines = axes.contour(w_q, burst, average, levels=[0.5, 1, 2, 5, 10, 15, 20], colors=[plot.BLACK], linewidths=0.8)
    axes.clabel(lines, fmt="%g", fontsize=9)
    axes.plot([0.0042], [50], marker="X", markersize=9, color="white", markeredgecolor=plot.BLACK, linestyle="none",
              label="w_q = 0.0042 and L = 50: eq. (3)")  # fmt: skip
    axes.set_xlabel("queue weight w_q")
    axes.set_ylabel("burst L (packets)")
    figure.colorbar(shades, ax=axes, label="average after the burst (packets)")
    plot.legend(figure, [axes])
    return figure


@plot.drawing
def marked_packets(
    runs: Sequence[tuple[str, Sequence[int]]], laws: Sequence[tuple[str, Sequence[int], Gaps]], arrivals: int
) -> Figure:
    """Fig. 8. Above a dot for each marked packet, a line for each method; below the gaps' distributions.

    `runs`: a title and the places of its marks. `laws`: a title, gaps in packets, and their law.
    """
    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=[1, 2.4])
    colours = (plot.VERMILION, plot.BLUE)
    for row, ((title, places), colour) in enumerate(zip(runs, colours, strict=False)):
        top.plot(places, [-row] * len(places), linestyle="none", marker="o", markersize=3.5, color=colour)
        top.annotate(f"{title}: {len(places)} marks", xy=(0, -row), xycoords=("axes fraction", "data"), xytext=(4, 7),
                     textcoords="offset points", fontsize=9.5, color=colour)  # fmt: skip
    top.set_yticks([])
    top.set_ylim(-len(runs) + 0.5, 0.7)
    top.set_xlim(0, arrivals)
    top.set_xlabel("packet number")
    for (title, seen, law), colour in zip(laws, colours, strict=False):
        values = np.sort(np.asarray(seen))
        steps = np.append(values, 300), np.append(np.arange(1, len(values) + 1), len(values))
        bottom.step(steps[0], 100 * steps[1] / len(values), where="post", color=colour, label=title)
        pmf = law.pmf(300)
        bottom.plot(np.arange(1, len(pmf) + 1), 100 * np.cumsum(pmf), "--", color=plot.BLACK, linewidth=1.1,
                    label="law of Sec. VII")  # fmt: skip
    bottom.set_xlim(0, 250)
    bottom.set_ylim(0, 102)
    bottom.set_xlabel("gap between marks (packets)")
    bottom.set_ylabel("gaps that are at most so long (%)")
    plot.legend(figure, [bottom])
    return figure
