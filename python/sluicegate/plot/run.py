"""The figures of a run, of its tables: what each group of flows gets and the queue over time, how delays are
distributed, and losses by reason. A series with more points than a figure shows is drawn by its means, with a band from
least to most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..goals.measures import reasons
from . import style as plot
from .comparison import MOST_GROUPS, group_style

if TYPE_CHECKING:
    import polars as pl

    Tables = Mapping[str, pl.DataFrame]

Panel = Callable[[Axes, "Tables"], None]

MOST_LINKS = 6
"""Of more links the first are drawn."""

MOST_FLOWS = 200
"""Of more flows of a group no single ones are drawn."""

FILLS = (plot.SKY, plot.ORANGE, plot.PURPLE, plot.GREEN, plot.YELLOW, plot.BLUE, plot.VERMILION, plot.GREY)
"""Colours of bars."""

PERCENTILES = (("p50", "median", plot.BLACK, "o"), ("p95", "95th percentile", plot.ORANGE, "s"),
               ("p99", "99th percentile", plot.VERMILION, "D"))  # fmt: skip


@plot.drawing
def figure(tables: Tables, warmup_s: float = 0.0) -> Figure:
    """All panels that the run has rows for. `warmup_s`: what other panels leave out of the time is shaded."""
    shown = panels(tables)
    rows = -(-len(shown) // 2)
    made = Figure(figsize=(10.4, 3.4 * rows + _extra(tables)), layout="constrained")
    grid = made.subplots(rows, 2, squeeze=False).flatten()
    for axes, (title, draw) in zip(grid, shown.items(), strict=False):
        draw(axes, tables)
        axes.set_title(title)
        _shade(axes, title, warmup_s)
        _legend(axes, above=title.endswith("over time"))
    for axes in grid[len(shown) :]:
        axes.set_axis_off()
    return made


@plot.drawing
def alone(tables: Tables, title: str, warmup_s: float = 0.0) -> Figure:
    """The panel of that title by itself. `warmup_s`: as for `figure`."""
    rows = title in ROWS
    made = Figure(figsize=(10.0, 1.3 + 0.45 * min(MOST_GROUPS, tables["groups"].height) if rows else 3.2),
                  layout="constrained")  # fmt: skip
    axes = made.subplots()
    panels(tables)[title](axes, tables)
    _shade(axes, title, warmup_s)
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        plot.legend(made, [axes])
    return made


def panels(tables: Tables) -> dict[str, Panel]:
    """The panels by title, as far as there is anything to show."""
    found: dict[str, Panel] = {}
    if tables["flow_series"].height:
        found["Throughput over time"] = throughput
    if tables["queue"].height:
        found["Queue over time"] = queue
    if tables["groups"]["delay_p50_ns"].null_count() < tables["groups"].height:
        found["One-way delay"] = delay
    if tables["delays"].height:
        found["Delays of all packets"] = delays
    if tables["response_times"].height:
        found["Response times"] = response
    found["Drops by reason"] = drops
    return found


ROWS = ("One-way delay", "Drops by reason")
"""Panels that have a row for each group."""


def throughput(axes: Axes, tables: Tables) -> None:
    """Each group's throughput over time: the sum of its flows'."""
    names = tables["groups"]["name"].to_list()[:MOST_GROUPS]
    sums = tables["flow_series"].group_by("name", "time_s").agg(_column("throughput_bps").sum()).sort("name", "time_s")
    unit, factor = plot.rate_axis(sums["throughput_bps"].max())  # type: ignore[arg-type]
    for name in names:
        part = sums.filter(name=name)
        style = group_style(name, names)
        plot.line(axes, part["time_s"], factor * part["throughput_bps"].to_numpy(), style.color, style.label)
    # What a link could carry, where that changes.
    for index, link in enumerate(tables["queue"]["link"].unique(maintain_order=True).to_list()[:MOST_LINKS]):
        part = tables["queue"].filter(link=link)
        if part["rate_bps"].n_unique() > 1:
            plot.line(axes, part["time_s"], factor * part["rate_bps"].to_numpy(), plot.GREY, f"rate of {link}",
                      ("--", ":")[index % 2], band=False)  # fmt: skip
    axes.set_ylabel(f"throughput ({unit})")
    _over_time(axes, tables["flow_series"])


def queue(axes: Axes, tables: Tables) -> None:
    """Each link's queue over time, and the average that its discipline keeps."""
    table = tables["queue"]
    names = table["link"].unique(maintain_order=True).to_list()[:MOST_LINKS]
    for index, name in enumerate(names):
        part = table.filter(link=name)
        colour = (plot.BLUE, plot.VERMILION, plot.GREEN, plot.PURPLE, plot.ORANGE, plot.SKY)[index]
        plot.line(axes, part["time_s"], part["queue_packets"], colour, f"queue of {name}")
        kept = part.drop_nulls("average_packets")
        if kept.height:
            average = plot.BLACK if len(names) == 1 else colour
            plot.line(axes, kept["time_s"], kept["average_packets"], average,
                 "average kept by the discipline" if index == 0 else "", "--", band=False)  # fmt: skip
    axes.set_ylabel("packets in the queue")
    _over_time(axes, table)


def delay(axes: Axes, tables: Tables) -> None:
    """Percentiles of each group's one-way delays, and the medians of its flows."""
    groups = tables["groups"].head(MOST_GROUPS)
    flows = tables["flows"]
    rows = np.arange(groups.height, dtype=float)
    spans = [groups[f"delay_{which}_ns"].to_numpy() * 1e-6 for which in ("p50", "p99")]
    axes.hlines(rows, spans[0], spans[1], color="#9CA3AF", linewidth=5, alpha=0.5, zorder=2)
    labelled = False
    for row, name in enumerate(groups["name"]):
        own = flows.filter(name=name)["delay_p50_ns"].drop_nulls()
        if 1 < len(own) <= MOST_FLOWS:
            axes.plot(own.to_numpy() * 1e-6, np.full(len(own), row + 0.25), "|", color=plot.GREY, markersize=6,
                      label="" if labelled else "medians of the group's flows")  # fmt: skip
            labelled = True
    for which, label, colour, marker in PERCENTILES:
        axes.plot(groups[f"delay_{which}_ns"].to_numpy() * 1e-6, rows, marker, color=colour, label=label, zorder=3)
    axes.set_xlim(0, 1.05 * axes.get_xlim()[1])
    axes.set_xlabel("one-way delay of packets (ms)")
    name_rows(axes, groups["name"].to_list())


def delays(axes: Axes, tables: Tables) -> None:
    """How the one-way delays of each group are distributed."""
    _distributions(axes, tables, tables["delays"], "delay_max_ns", "packets")
    axes.set_xlabel("one-way delay (ms)")
    axes.set_ylabel("packets within this time (%)")


def response(axes: Axes, tables: Tables) -> None:
    """How the response times of each group are distributed."""
    _distributions(axes, tables, tables["response_times"], "response_time_max_ns", "exchanges")
    axes.set_xlabel("response time (ms)")
    axes.set_ylabel("responses within this time (%)")


def _distributions(axes: Axes, tables: Tables, table: pl.DataFrame, ends: str, counts: str) -> None:
    """A curve for each group of a table of classes of times."""
    names = tables["groups"]["name"].to_list()
    for name in table["name"].unique(maintain_order=True).to_list()[:MOST_GROUPS]:
        plot.distribution(axes, table.filter(name=name), ends, counts, group_style(name, names))
    plot.within(axes)


def drops(axes: Axes, tables: Tables) -> None:
    """Each group's drops by reason, and its marks, in per cent of its arrivals."""
    groups = tables["groups"].head(MOST_GROUPS)
    stacked_drops(axes, groups, groups["name"].to_list())


def stacked_drops(axes: Axes, table: pl.DataFrame, labels: Sequence[str]) -> None:
    """A bar for each row of a table with columns of losses by reason, in per cent of arrivals, and its marks."""
    arrivals = np.maximum(table["arrivals_packets"].to_numpy().astype(float), 1)
    rows, left = np.arange(table.height, dtype=float), np.zeros(table.height)
    for index, (name, reason) in enumerate(reasons(table)):
        share = 100 * table[name].to_numpy() / arrivals
        axes.barh(rows, share, 0.6, left, color=FILLS[index % len(FILLS)], edgecolor="white", linewidth=0.5,
                  label=reason)  # fmt: skip
        left += share
    if table["marked_packets"].sum():
        share = 100 * table["marked_packets"].to_numpy() / arrivals
        shown = np.where(share > 0, share, np.nan)
        axes.plot(shown, rows, "D", color=plot.BLACK, markerfacecolor="white", label="marked")
        left = np.maximum(left, share)
    axes.set_xlim(0, 1.05 * max(float(left.max(initial=0.0)), 0.1))
    if not left.any():
        axes.text(0.5, 0.5, "no packet was lost", transform=axes.transAxes, ha="center", va="center",
                  color=plot.GREY)  # fmt: skip
    marked = ", or marked" if table["marked_packets"].sum() else ""
    axes.set_xlabel(f"lost, by reason{marked} (% of arrivals)")
    axes.grid(False, axis="y")
    name_rows(axes, labels)


def name_rows(axes: Axes, labels: Sequence[str]) -> None:
    """A row for each label, the first on top."""
    axes.set_yticks(range(len(labels)), list(labels))
    axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)


def _over_time(axes: Axes, table: pl.DataFrame) -> None:
    axes.set_xlabel("time (s)")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, float(table["time_s"].max() or 1.0))  # type: ignore[arg-type]


def _shade(axes: Axes, title: str, warmup_s: float) -> None:
    """Shade the warm-up of a panel over time."""
    if warmup_s and title.endswith("over time"):
        axes.axvspan(0, warmup_s, color=plot.GREY, alpha=0.12, linewidth=0, zorder=0, label="warm-up, not measured")


def _legend(axes: Axes, above: bool) -> None:
    """A legend in the panel; `above`: above what is drawn, which may fill it."""
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        rows = -(-len(handles) // 2)
        if above:
            axes.set_ylim(top=axes.get_ylim()[1] / (1 - 0.08 * min(rows, 8)))
        axes.legend(fontsize=8.5, loc="upper right" if above else "best", ncols=2 if above else 1, framealpha=0.8,
                    frameon=True, edgecolor="none")  # fmt: skip


def _extra(tables: Tables) -> float:
    """Inches for rows beyond six groups."""
    return max(0.0, 0.22 * (min(MOST_GROUPS, tables["groups"].height) - 6))


def _column(name: str) -> pl.Expr:
    import polars as pl

    return pl.col(name)
