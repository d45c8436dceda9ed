"""The figures of a replay: the largest flows or, with several disciplines, the link and these flows under each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from . import style as plot
from .comparison import styles
from .run import PERCENTILES, name_rows, stacked_drops

if TYPE_CHECKING:
    import polars as pl

MOST = 12
"""Of more flows the largest are drawn."""


@plot.drawing
def rows(table: pl.DataFrame, labels: Sequence[str]) -> Figure:
    """What left the link, how long packets waited, and drops by reason: a row for each of a table's, under `labels`."""
    figure = Figure(figsize=(11.0, 1.7 + 0.42 * table.height), layout="constrained")
    rate, delay, drops = figure.subplots(1, 3, width_ratios=(1, 1.15, 1.15))
    places = np.arange(table.height, dtype=float)
    sent = throughput(table)
    unit, factor = plot.rate_axis(float(sent.max(initial=0.0)))
    rate.barh(places, factor * sent, 0.6, color=plot.BLUE)
    rate.set_xlabel(f"throughput ({unit})")
    rate.grid(False, axis="y")
    name_rows(rate, labels)
    spans = [table[f"queueing_delay_{which}_ns"].to_numpy() * 1e-6 for which in ("p50", "p99")]
    delay.hlines(places, spans[0], spans[1], color="#9CA3AF", linewidth=5, alpha=0.5, zorder=2)
    for which, label, colour, marker in PERCENTILES:
        values = table[f"queueing_delay_{which}_ns"].to_numpy() * 1e-6
        delay.plot(values, places, marker, color=colour, label=label, zorder=3)
    delay.set_xlim(-0.02 * delay.get_xlim()[1], 1.05 * delay.get_xlim()[1])
    delay.set_xlabel("queueing delay (ms)")
    name_rows(delay, [""] * table.height)
    stacked_drops(drops, table, [""] * table.height)
    plot.legend(figure, [delay, drops], columns=6)
    return figure


@plot.drawing
def queue(table: pl.DataFrame, labels: Mapping[str, str]) -> Figure:
    """The queue over time, on one scale: its average, and a band up to the longest. A row for each discipline; `labels`
    as for `flows`."""
    figure = Figure(figsize=(10.4, 0.6 + (2.2 if len(labels) == 1 else 1.2 * len(labels))), layout="constrained")
    grid = figure.subplots(len(labels), 1, squeeze=False, sharex=True, sharey=True).flatten()
    for axes, label, style in zip(grid, labels, styles(labels), strict=True):
        own = table.filter(discipline=label) if len(labels) > 1 else table
        times, means, most = (own[name].to_numpy() for name in ("time_s", "queue_packets_mean", "queue_packets_max"))
        axes.fill_between(times, means, most, color=style.color, alpha=0.25, linewidth=0, step="pre", label="longest")
        axes.step(times, means, color=style.color, linewidth=1.2, label="average")
        axes.set_ylabel("packets")
        if len(labels) > 1:
            axes.set_title(label, fontsize=9.5)
    grid[0].set_ylim(bottom=0)
    grid[-1].set_xlim(0, float(table["time_s"].max() or 1.0))  # type: ignore[arg-type]
    grid[-1].set_xlabel("time (s)")
    plot.legend(figure, [grid[0]])
    return figure


@plot.drawing
def delays(table: pl.DataFrame, labels: Mapping[str, str]) -> Figure:
    """How waiting times are distributed: a curve for each discipline, `labels` as for `flows`."""
    figure = Figure(figsize=(10.4, 3.2), layout="constrained")
    axes = figure.subplots()
    for label, style in zip(labels, styles(labels), strict=True):
        own = table.filter(discipline=label) if len(labels) > 1 else table
        if own.height:
            plot.distribution(axes, own, "queueing_delay_max_ns", "packets", style)
    plot.within(axes)
    axes.set_xlabel("queueing delay (ms)")
    axes.set_ylabel("packets within this time (%)")
    plot.legend(figure, [axes])
    return figure


@plot.drawing
def flows(table: pl.DataFrame, names: Sequence[str], labels: Mapping[str, str]) -> Figure:
    """Loss and the 99th percentile of the queueing delay of each of these flows under each discipline. `labels`: the
    discipline's name of each label in the table's `discipline`."""
    count = len(labels)
    figure = Figure(figsize=(11.0, 1.5 + (0.24 + 0.09 * count) * len(names) + 0.2 * (count // 4)), layout="constrained")
    loss, delay = figure.subplots(1, 2)
    for index, (label, style) in enumerate(zip(labels, styles(labels), strict=True)):
        own = {row["name"]: row for row in table.filter(discipline=label).to_dicts()}
        offset = 0.0 if count == 1 else -0.28 + 0.56 * index / (count - 1)
        places = np.arange(len(names)) + offset
        for axes, key, factor in ((loss, "loss_ratio", 100.0), (delay, "queueing_delay_p99_ns", 1e-6)):
            found = [own[name][key] if name in own else None for name in names]
            values = [np.nan if each is None else factor * each for each in found]
            axes.plot(values, places, style.marker, color=style.color, label=style.label)
    for axes, words in ((loss, "loss (% of packets)"), (delay, "queueing delay, 99th percentile (ms)")):
        axes.set_xlabel(words)
        axes.set_xlim(-0.02 * axes.get_xlim()[1], axes.get_xlim()[1])
        name_rows(axes, list(names) if axes is loss else [""] * len(names))
        for place in range(1, len(names)):
            axes.axhline(place - 0.5, color="#E5E7EB", linewidth=0.8)
        axes.grid(False, axis="y")
    plot.legend(figure, [loss], columns=4)
    return figure


def throughput(table: pl.DataFrame) -> NDArray[np.float64]:
    """Bits per second that left the link: a column of flows; of links it follows from bytes and time."""
    if "throughput_bps" in table.columns:
        return np.asarray(table["throughput_bps"].fill_null(0).to_numpy(), dtype=np.float64)
    sent = 8.0 * table["departures_bytes"].to_numpy() / np.maximum(table["duration_s"].to_numpy(), 1e-9)
    return np.asarray(sent, dtype=np.float64)
