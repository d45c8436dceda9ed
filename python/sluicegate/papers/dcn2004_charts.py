"""The drawings of DCN 2004's figures: distributions of response times and of bytes, and tables as dots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..plot import style as plot

STYLES = {
    "uncongested": plot.Style("uncongested", plot.BLACK, ":", "o"),
    "drop-tail": plot.Style("Drop Tail", plot.GREY, "-", "s"),
    "pi": plot.Style("PI", plot.ORANGE, "--", "^"),
    "pi-ecn": plot.Style("PI with ECN", plot.ORANGE, "-", "^"),
    "pi-240": plot.Style("PI, q_ref 240", plot.PURPLE, "--", "^"),
    "pi-ecn-240": plot.Style("PI with ECN, q_ref 240", plot.PURPLE, "-", "^"),
    "dcn": plot.Style("DCN", plot.BLUE, "-", "D"),
    "dcn-printed": plot.Style("DCN, law as printed", plot.SKY, "-.", "D"),
    "afd": plot.Style("AFD", plot.GREEN, "--", "v"),
    "afd-ecn": plot.Style("AFD with ECN", plot.GREEN, "-", "v"),
    "rio-ps": plot.Style("RIO-PS", plot.VERMILION, "--", "P"),
    "rio-ps-ecn": plot.Style("RIO-PS with ECN", plot.VERMILION, "-", "P"),
}
"""How each scheme looks: a colour for the design, dashes without ECN."""

TIMES_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SIZE_NAMES = ("100 B", "1 kB", "10 kB", "100 kB", "1 MB", "10 MB")


@dataclass(frozen=True)
class Curves:
    """One panel: a title, and rows with `scheme`, `x`, `share_mean`, `share_half_width`."""

    title: str
    table: pl.DataFrame


@plot.drawing
def distributions(
    panels: Sequence[Curves], xlabel: str, ylabel: str, scale: str, mark_s: float | None = None, floor: float = 0.0
) -> Figure:
    """Distribution functions, a line for each scheme with its 95 % interval as a band, a panel for each load.

    `scale`: of x, `linear` (seconds), `times` (seconds, logarithmic), `sizes` (bytes, logarithmic) or `tail` (both
    axes logarithmic). `mark_s`: a time to mark. `floor`: where the axis of shares begins.
    """
    figure, (row,) = plot.panels(1, len(panels), height=4.2)
    for axes, panel in zip(row, panels, strict=True):
        axes.set_title(panel.title)
        for scheme in panel.table["scheme"].unique(maintain_order=True):
            part = panel.table.filter(pl.col("scheme") == scheme)
            if scale == "tail":
                part = part.filter(pl.col("share_mean") > 0)
            half = part["share_half_width"].fill_null(float("nan"))
            plot.mean_line(axes, part["x"], part["share_mean"], half, STYLES[scheme], bars=False)
        _axes(axes, panel.table, scale, floor)
        if mark_s is not None:
            axes.axvline(mark_s, color=plot.BLACK, linestyle=":", linewidth=1.1)
        axes.set_xlabel(xlabel)
    row[0].set_ylabel(ylabel)
    plot.legend(figure, row, columns=4)
    return figure


def _axes(axes: Axes, table: pl.DataFrame, scale: str, floor: float) -> None:
    ends = float(min(table["x"])), float(max(table["x"]))
    if scale == "linear":
        axes.set_xlim(0, ends[1])
    elif scale == "sizes":
        plot.log_axis(axes, "x", SIZES)
        axes.set_xticks(SIZES, SIZE_NAMES)
        axes.set_xlim(*ends)
    else:
        plot.log_axis(axes, "x", [time for time in TIMES_S if ends[0] <= time <= ends[1]])
        axes.set_xlim(*ends)
    if scale == "tail":
        plot.log_axis(axes, "y", [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1])
        axes.set_ylim(1e-5, 1)
    else:
        axes.set_ylim(floor, 1.005)


@plot.drawing
def table(
    columns: Sequence[tuple[str, str]], frame: pl.DataFrame, order: Sequence[str], groups: Sequence[str]
) -> Figure:
    """A table as dots: a panel for each of `columns` (name and label), a row for each scheme, a shade for each group.

    `frame`: `scheme`, `group`, `column`, `paper` (null where it prints nothing), `mean`, `half_width`.
    """
    figure, (row,) = plot.panels(1, len(columns), height=0.55 * len(order) + 1.4, share_y=True)
    colours = (plot.SKY, plot.BLUE, plot.BLACK)[-len(groups) :]
    for axes, (column, label) in zip(row, columns, strict=True):
        for at, group in enumerate(groups):
            part = frame.filter((pl.col("column") == column) & (pl.col("group") == group))
            places = np.array([order.index(scheme) for scheme in part["scheme"]]) + 0.22 * (at - (len(groups) - 1) / 2)
            half = part["half_width"].fill_null(0.0).fill_nan(0.0)
            axes.errorbar(
                part["mean"], places, xerr=half, fmt="o", color=colours[at], capsize=2, label=f"ours, {group}"
            )
            axes.plot(part["paper"], places, "D", mfc="none", color=colours[at], markersize=6.5,
                      label=f"paper, {group}")  # fmt: skip
        axes.set_xlabel(label)
    row[0].set_yticks(range(len(order)), [STYLES[scheme].label for scheme in order])
    row[0].set_ylim(len(order) - 0.5, -0.5)
    plot.legend(figure, row, columns=3)
    return figure


@plot.drawing
def users(frame: pl.DataFrame) -> Figure:
    """Users that make a load. `frame`: `load`, `seed`, `forward`, `reverse`."""
    figure, ((axes,),) = plot.panels(1, 1, height=3.2)
    loads = frame["load"].unique(maintain_order=True).to_list()
    for column, style in (("forward", plot.Style("forward", plot.BLUE, "", "o")),
                          ("reverse", plot.Style("reverse", plot.VERMILION, "", "s"))):  # fmt: skip
        places = [loads.index(load) + (0.06 if column == "reverse" else -0.06) for load in frame["load"]]
        axes.plot(places, frame[column], linestyle="", marker=style.marker, color=style.color, label=style.label)
    axes.set_xticks(range(len(loads)), [load.removeprefix("uncongested-") + " %" for load in loads])
    axes.set_xlim(-0.5, len(loads) - 0.5)
    axes.set_ylim(0, None)
    axes.set_xlabel("offered load")
    axes.set_ylabel("users on one side")
    plot.legend(figure, [axes])
    return figure
