"""Charts that the papers share: throughput over time, per flow and over load, and who occupies the queue.

Each takes a list of panels, a title and a table for each, and returns a figure. Rates arrive in bit/s and are drawn in
kbit/s; UDP's offered rate is drawn in Mbit/s. Columns end in `_mean` and `_half_width` as `points.summarise` names
them; half widths may be null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator
from numpy.typing import NDArray

from ..plot import style as plot
from ..plot.style import KINDS

Panel = tuple[str, pl.DataFrame]

SENDS = "UDP sends (Mbit/s)"
"""What axes of UDP's rate are called."""


@dataclass(frozen=True)
class Printed:
    """A number that a paper prints, to be drawn where it belongs: at `x` in the row of `quantity`."""

    x: float
    y: float
    quantity: str


@plot.drawing
def over_time(panels: Sequence[Panel], link_bps: float, warmup_s: float) -> Figure:
    """Throughput of each kind of flow over time, one panel beside the other.

    Tables: `time_s`, `kind`, `throughput_bps_mean`, `throughput_bps_half_width`, `throughput_bps_one_run`.
    """
    figure, (row,) = plot.panels(1, len(panels), height=3.7)
    for axes, (title, table) in zip(row, panels, strict=True):
        axes.set_title(title)
        axes.axvspan(0, warmup_s, color="#F3F4F6", zorder=0, label="warm-up, not measured")
        for kind in ("udp", "tcp"):
            part = table.filter(pl.col("kind") == kind)
            style = KINDS[kind]
            axes.plot(part["time_s"], part["throughput_bps_one_run"] / 1e3, color=style.color, linewidth=0.7, alpha=0.5,
                      label=f"{style.label}, one run")  # fmt: skip
            plot.mean_line(axes, part["time_s"], *_scaled(part, "throughput_bps", 1e-3), style, bars=False)
        axes.set_xlim(0, max(table["time_s"].to_list()))
        axes.set_ylim(0, 1.06 * link_bps / 1e3)
        plot.reference(axes, link_bps / 1e3, "")
        axes.set_xlabel("time (s)")
    row[0].set_ylabel("throughput (kbit/s)")
    plot.legend(figure, row)
    return figure


@plot.drawing
def per_flow(panels: Sequence[Panel], fair_bps: float) -> Figure:
    """Throughput of each flow, numbered, on a logarithmic axis; `fair_bps` is an equal share of the link.

    Tables: `flow`, `kind`, `throughput_bps_mean`, `throughput_bps_half_width`.
    """
    figure, (row,) = plot.panels(1, len(panels), height=3.7)
    least = min(_smallest(table["throughput_bps_mean"]) for _, table in panels) / 1e3
    floor = min(0.1, 10.0 ** math.floor(math.log10(least)))
    for axes, (title, table) in zip(row, panels, strict=True):
        axes.set_title(title)
        plot.log_axis(axes, "y", [10.0**power for power in range(-4, 5)])
        for kind in ("tcp", "udp"):
            part = table.filter(pl.col("kind") == kind)
            means, halves = _scaled(part, "throughput_bps", 1e-3)
            shown = np.maximum(means, floor)
            low = np.minimum(np.nan_to_num(halves), 0.999 * shown)
            style = KINDS[kind]
            axes.errorbar(
                part["flow"], shown, yerr=[low, np.nan_to_num(halves)], fmt=style.marker, color=style.color,
                elinewidth=1.1, capsize=2.5, label="TCP flow" if kind == "tcp" else style.label,
            )  # fmt: skip
        axes.set_ylim(floor, 2000)
        plot.reference(axes, fair_bps / 1e3, "equal share")
        axes.set_xlim(0, max(table["flow"].to_list()) + 1)
        axes.xaxis.set_major_locator(MultipleLocator(4))
        axes.set_xlabel("flow number")
    row[0].set_ylabel("throughput (kbit/s)")
    plot.legend(figure, row)
    return figure


@plot.drawing
def over_load(
    panels: Sequence[Panel],
    link_bps: float,
    printed: Mapping[str, Sequence[Printed]],
    ticks: Sequence[float],
    xlabel: str = SENDS,
) -> Figure:
    """Throughput of UDP and TCP, of the mean TCP flow, and UDP's loss, over the rate that UDP offers.

    Tables: `udp_rate_bps` and mean and half width of `udp_bps`, `tcp_bps`, `tcp_flow_bps`, `udp_loss_ratio`.
    `printed`: numbers of the paper by panel title; quantities `throughput`, `flow`, `loss`. `ticks`: in Mbit/s.
    """
    figure, rows = plot.panels(3, len(panels), height=2.75)
    for column, (title, table) in enumerate(panels):
        x = table["udp_rate_bps"] / 1e6
        top, middle, bottom = (row[column] for row in rows)
        top.set_title(title)
        plot.mean_line(top, x, *_scaled(table, "udp_bps", 1e-3), KINDS["udp"])
        plot.mean_line(top, x, *_scaled(table, "tcp_bps", 1e-3), KINDS["tcp"])
        top.set_ylim(0, 1.06 * link_bps / 1e3)
        plot.mean_line(middle, x, *_scaled(table, "tcp_flow_bps", 1e-3), KINDS["tcp_mean"])
        plot.mean_line(bottom, x, *_scaled(table, "udp_loss_ratio", 100.0), KINDS["udp"])
        bottom.set_ylim(0, 105)
        bottom.set_xlabel(xlabel)
        plot.log_axis(bottom, "x", ticks)
        for axes, quantity in ((top, "throughput"), (middle, "flow"), (bottom, "loss")):
            _mark(axes, [each for each in printed.get(title, ()) if each.quantity == quantity])
    _, ceiling = rows[1][0].get_ylim()
    rows[1][0].set_ylim(0, ceiling * 1.15)
    rows[0][0].set_ylabel("throughput (kbit/s)")
    rows[1][0].set_ylabel("mean TCP flow (kbit/s)")
    rows[2][0].set_ylabel("UDP packets lost (%)")
    plot.legend(figure, [axes for row in rows for axes in row])
    return figure


@plot.drawing
def occupancy(panels: Sequence[tuple[str, pl.DataFrame, tuple[float, float]]], ticks: Sequence[float]) -> Figure:
    """Mean queue by kind of flow and the discipline's average over the rate that UDP offers, thresholds dotted.

    Tables: `udp_rate_bps` and mean and half width of `udp_queued`, `tcp_queued`, `average_mean` (packets); then the
    panel's two thresholds in packets. `ticks`: in Mbit/s.
    """
    figure, (row,) = plot.panels(1, len(panels), height=4.1, share_y=False)
    for axes, (title, table, thresholds) in zip(row, panels, strict=True):
        axes.set_title(title)
        x = table["udp_rate_bps"] / 1e6
        for column, style in (("average_mean", "average"), ("tcp_queued", "tcp"), ("udp_queued", "udp")):
            plot.mean_line(axes, x, *_scaled(table, column, 1.0), KINDS[style])
        for name, value in zip(("min_th", "max_th"), thresholds, strict=True):
            plot.reference(axes, value, f"{name} = {value:g}", lift=5)
        axes.set_ylim(0, thresholds[1] * 1.17)
        plot.log_axis(axes, "x", ticks)
        axes.set_xlabel(SENDS)
    row[0].set_ylabel("packets in the queue (mean over time)")
    plot.legend(figure, row)
    return figure


@plot.drawing
def queue_shares(
    panels: Sequence[tuple[str, pl.DataFrame, tuple[float, float]]],
    ticks: Sequence[float],
    xlabel: str,
    printed: Mapping[str, float],
) -> Figure:
    """Several UDP flows in the queue over the rate of each: above, packets as `occupancy` draws them; below, parts of
    the queue in per cent, of all TCP, all UDP and a single UDP flow, with what the paper prints for the last dotted
    (`printed`, by panel title).

    Tables: `udp_rate_bps` and mean and half width of `udp_queued`, `tcp_queued`, `average_mean` (packets) and
    `udp_percent`, `tcp_percent`, `udp_flow_percent`.
    """
    figure, rows = plot.panels(2, len(panels), height=3.2)
    for column, (title, table, thresholds) in enumerate(panels):
        x = table["udp_rate_bps"] / 1e6
        top, bottom = (row[column] for row in rows)
        top.set_title(title)
        for name, style in (("average_mean", "average"), ("tcp_queued", "tcp"), ("udp_queued", "udp")):
            plot.mean_line(top, x, *_scaled(table, name, 1.0), KINDS[style])
        for name, value in zip(("min_th", "max_th"), thresholds, strict=True):
            plot.reference(top, value, f"{name} = {value:g}", lift=5)
        top.set_ylim(0, thresholds[1] * 1.17)
        for name, style in (("udp_percent", "udp"), ("tcp_percent", "tcp"), ("udp_flow_percent", "udp_mean")):
            plot.mean_line(bottom, x, *_scaled(table, name, 1.0), KINDS[style])
        if title in printed:
            plot.reference(bottom, printed[title], f"{printed[title]:g} %: printed in the report", lift=5)
        bottom.set_ylim(0, 105)
        plot.log_axis(bottom, "x", ticks)
        bottom.set_xlabel(xlabel)
    rows[0][0].set_ylabel("packets in the queue")
    rows[1][0].set_ylabel("part of the queue (%)")
    plot.legend(figure, [axes for row in rows for axes in row])
    return figure


@plot.drawing
def over_count(
    quantities: Sequence[tuple[str, str, float]], lines: Sequence[tuple[plot.Style, pl.DataFrame]], xlabel: str
) -> Figure:
    """Quantities over a number of flows that doubles from point to point, one panel each.

    `quantities`: column, label with unit, and factor. `lines`: a style, and a table with `flows` and mean and half
    width of each column.
    """
    figure, (row,) = plot.panels(1, len(quantities), height=3.7, share_y=False)
    for axes, (column, label, factor) in zip(row, quantities, strict=True):
        for style, table in lines:
            plot.mean_line(axes, table["flows"], *_scaled(table, column, factor), style)
        plot.log_axis(axes, "x", sorted({count for _, table in lines for count in table["flows"].to_list()}))
        axes.xaxis.minorticks_off()
        axes.set_xlabel(xlabel)
        axes.set_title(label)
    plot.legend(figure, row)
    return figure


@plot.drawing
def traces(
    panels: Sequence[tuple[str, Sequence[tuple[plot.Style, Sequence[float], Sequence[float]]]]], ylabel: str
) -> Figure:
    """Lines over time without intervals, one panel beside the other: a style, times in seconds, values."""
    figure, (row,) = plot.panels(1, len(panels), height=3.5)
    for axes, (title, lines) in zip(row, panels, strict=True):
        axes.set_title(title)
        for style, times, values in lines:
            axes.plot(times, values, style.line, color=style.color, linewidth=1.3, label=style.label)
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, max(max(times) for _, times, _ in lines))
        axes.set_xlabel("time (s)")
    row[0].set_ylabel(ylabel)
    plot.legend(figure, row)
    return figure


@plot.drawing
def in_rows(table: pl.DataFrame, series: Sequence[tuple[str, plot.Style]], xlabel: str) -> Figure:
    """Several means with their intervals for each row, one row below the other.

    Table: `row`, and mean and half width of each column that `series` names with its style.
    """
    figure, ((axes,),) = plot.panels(1, 1, height=1.2 + 0.36 * table.height)
    y = np.arange(table.height)
    for number, (column, style) in enumerate(series):
        means, halves = _scaled(table, column, 100.0)
        shift = 0.22 * (number - (len(series) - 1) / 2)
        axes.errorbar(means, y + shift, xerr=np.nan_to_num(halves), fmt=style.marker, color=style.color, capsize=3,
                      label=style.label)  # fmt: skip
    axes.set_yticks(y, table["row"].to_list())
    axes.set_ylim(table.height - 0.5, -0.5)
    axes.set_xlim(left=-0.02 * axes.get_xlim()[1])
    axes.set_xlabel(xlabel)
    plot.legend(figure, [axes])
    return figure


@plot.drawing
def sensitivity(table: pl.DataFrame, xlabel: str, printed: float, note: str) -> Figure:
    """One mean with its interval for each variant, one below the other; the first is the choice that was made.

    Table: `variant`, `percent_mean`, `percent_half_width`. `printed`: the paper's number, dotted and named `note`.
    """
    figure, ((axes,),) = plot.panels(1, 1, height=0.9 + 0.29 * table.height)
    y = np.arange(table.height)
    means, halves = _scaled(table, "percent", 1.0)
    axes.axvspan(means[0] - np.nan_to_num(halves[0]), means[0] + np.nan_to_num(halves[0]), color="#FDE9DD", zorder=0)
    axes.errorbar(means, y, xerr=np.nan_to_num(halves), fmt="s", color=KINDS["udp"].color, capsize=3,
                  label="mean over seeds, 95 % interval")  # fmt: skip
    axes.axvline(printed, color=plot.BLACK, linestyle=":", linewidth=1.3, label=note)
    axes.set_yticks(y, table["variant"].to_list())
    axes.set_ylim(table.height - 0.5, -0.5)
    axes.set_xlim(0, max(30.0, float(np.max(means + np.nan_to_num(halves))) * 1.05))
    axes.set_xlabel(xlabel)
    plot.legend(figure, [axes])
    return figure


def _scaled(table: pl.DataFrame, column: str, factor: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and half widths of `column`, both times `factor`; a null half width is NaN."""
    mean = table[f"{column}_mean"].to_numpy().astype(float)
    half = table[f"{column}_half_width"].cast(pl.Float64).fill_null(math.nan).to_numpy()
    return mean * factor, half * factor


def _smallest(values: pl.Series) -> float:
    """The smallest positive value, in bit/s; 1 kbit/s when there is none."""
    return min((value for value in values.to_list() if value and value > 0), default=1e3)


def _mark(axes: Axes, printed: Sequence[Printed]) -> None:
    """Crosses where the paper prints a number."""
    if printed:
        axes.plot([each.x for each in printed], [each.y for each in printed], linestyle="none", marker="X",
                  markersize=9, markerfacecolor="white", markeredgecolor=plot.BLACK, markeredgewidth=1.4, zorder=5,
                  label="printed in the report")  # fmt: skip
