"""The drawings of envelopes: the regions of all disciplines, and heat maps of a single one with its region outlined."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...envelopes import Envelope, Measured
from ...envelopes.promises import USED
from ...plot import style as plot
from ...quantities import duration, rate_text
from .regions import Regions

WITHIN, IDLE, LATE, BOTH, UNKNOWN = range(5)
KINDS = (
    ("within: 90 % used, delay within the promise", plot.SKY), ("less than 90 % used", plot.YELLOW),
    ("delay beyond the promise", plot.VERMILION), ("both", plot.BLACK), ("not measured", "#E5E7EB"),
)  # fmt: skip
ACROSS = 4
"""Panels of regions beside one another."""

Values = np.ndarray[Any, np.dtype[np.float64]]


def kind(cell: Measured | None) -> int:
    """What came of a cell, as one of `KINDS`."""
    if cell is None:
        return UNKNOWN
    return (WITHIN, IDLE, LATE, BOTH)[(cell.used < USED) + 2 * (cell.late > 1)]


@plot.drawing
def regions(envelopes: Mapping[str, Envelope]) -> Figure:
    """A panel for each discipline: over the rate, a block of rows for each round trip, in it one for each number of
    flows, and what came of each cell."""
    down = math.ceil(len(envelopes) / ACROSS)
    figure = Figure(figsize=(10.4, 1.75 * down + 0.9), layout="constrained")
    grid = figure.subplots(down, ACROSS, squeeze=False, sharex=True, sharey=True)
    colours = ListedColormap([colour for _, colour in KINDS])
    for axes, (label, found) in zip(grid.ravel(), envelopes.items(), strict=False):
        rows = [(trip, flows) for trip in range(len(found.trips)) for flows in range(len(found.flows))]
        cells = [[kind(found.cell(rate, flows, trip)) for rate in range(len(found.rates))] for trip, flows in rows]
        axes.imshow(cells, cmap=colours, vmin=0, vmax=len(KINDS) - 1, aspect="auto", origin="lower")
        axes.grid(False)
        axes.set_title(label, fontsize=9)
        for place in range(1, len(found.trips)):
            axes.axhline(place * len(found.flows) - 0.5, color="white", linewidth=2)
        middle = (len(found.flows) - 1) / 2
        axes.set_yticks([place * len(found.flows) + middle for place in range(len(found.trips))],
                        [duration(trip / 1e9) for trip in found.trips], fontsize=8)  # fmt: skip
        _rates(axes, found)
    for last in grid.ravel()[max(0, len(envelopes) - ACROSS) : len(envelopes)]:
        last.tick_params(labelbottom=True)
    for spare in grid.ravel()[len(envelopes) :]:
        spare.set_axis_off()
    first = next(iter(envelopes.values()))
    counts = ", ".join(f"{flows:g}" for flows in first.flows)
    figure.supxlabel("rate of the link (bit/s)", fontsize=10)
    figure.supylabel("base round trip", fontsize=10)
    handles = [Patch(facecolor=colour, edgecolor=plot.GREY, label=words) for words, colour in KINDS]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, title_fontsize=9.5,
                  title=f"In each block of one round trip, from bottom to top: {counts} TCP flows")  # fmt: skip
    return figure


@plot.drawing
def maps(done: Regions, label: str) -> Figure:
    """The heat maps of a discipline: a row for each quantity, a column for each round trip; over rate and flows, with
    the numbers, and the region outlined."""
    found = done.envelope(label)
    cells = done.cells.filter(discipline=label, parameter="").sort("rate_bps", "flows", "rtt_ns")
    shape = (len(found.rates), len(found.flows), len(found.trips))

    def values(name: str, scale: float) -> Values:
        return scale * cells[name].fill_null(math.nan).to_numpy().reshape(shape)

    used, late = values("utilisation", 100), values("queueing_delay_ns", 1e-6)
    most = float(np.nanmax(np.append(late, 100)))
    panels: tuple[tuple[str, Values, Normalize, str, Callable[[float], str], str], ...] = (
        ("link used (%)", used, Normalize(0, 100), "viridis", lambda value: f"{value:.0f}", "neither"),
        ("queueing delay, mean (ms)", late, LogNorm(0.1, most), "viridis_r", _short, "min"),
        ("packets lost (%)", values("loss_ratio", 100), Normalize(0, 50), "viridis_r", _short, "max"),
        ("a flood's share (% of the link)", values("flood_share", 100), Normalize(0, 100), "viridis_r",
         lambda value: f"{value:.0f}", "neither"),
    )  # fmt: skip
    figure = Figure(figsize=(4.0 * len(found.trips) + 0.6, 9.2), layout="constrained")
    grid = figure.subplots(len(panels), len(found.trips), squeeze=False, sharex=True, sharey=True)
    for row, (words, table, norm, colours, text, beyond) in zip(grid, panels, strict=True):
        drawn = None
        for trip, axes in enumerate(row):
            part = table[:, :, trip].T
            if np.isnan(part).all():
                axes.set_axis_off()
                continue
            drawn = axes.imshow(part, cmap=colours, norm=norm, aspect="auto", origin="lower")
            axes.grid(False)
            axes.set_facecolor(KINDS[UNKNOWN][1])
            for (down, across), value in np.ndenumerate(part):
                if not math.isnan(value):
                    dark = sum(drawn.cmap(norm(value))[:3]) < 1.5
                    axes.text(across, down, text(value), ha="center", va="center", fontsize=6.5,
                              color="white" if dark else "black")  # fmt: skip
            _outline(axes, [[_within(found.cell(rate, flows, trip)) for rate in range(shape[0])]
                            for flows in range(shape[1])])  # fmt: skip
            axes.set_title(f"{words}, round trip {duration(found.trips[trip] / 1e9)}", fontsize=9)
            axes.set_yticks(range(shape[1]), [f"{flows:g}" for flows in found.flows], fontsize=8)
            axes.tick_params(labelbottom=True, labelleft=True)
            _rates(axes, found)
        if drawn is not None:
            figure.colorbar(drawn, ax=list(row), pad=0.01, aspect=14, extend=beyond)
    figure.supxlabel("rate of the link (bit/s)", fontsize=10)
    figure.supylabel("TCP flows", fontsize=10)
    figure.suptitle(f"{label}: outlined, 90 % of the link used and the delay within the promise; grey: not measured",
                    fontsize=10)  # fmt: skip
    return figure


def _within(cell: Measured | None) -> bool:
    return cell is not None and cell.kept


def _short(value: float) -> str:
    """Two digits, of small numbers one."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.095 else f"{value:.1g}"


def _rates(axes: Axes, found: Envelope) -> None:
    """The rates of whole decades below the columns."""
    places = [place for place, rate in enumerate(found.rates) if math.log10(rate).is_integer()]
    names = [rate_text(found.rates[place]).removesuffix("bit/s").replace(" ", "") for place in places]
    axes.set_xticks(places, names, fontsize=8)


def _outline(axes: Axes, inside: Sequence[Sequence[bool]]) -> None:
    """A line around the cells that are inside: along each side beyond which there is none."""

    def at(down: int, across: int) -> bool:
        return 0 <= down < len(inside) and 0 <= across < len(inside[0]) and inside[down][across]

    sides = []
    for down, row in enumerate(inside):
        for across, here in enumerate(row):
            for one, other in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                if here and not at(down + one, across + other):
                    y, x = down + one / 2, across + other / 2
                    half = (0.5, 0.0) if one else (0.0, 0.5)
                    sides.append([(x - half[0], y - half[1]), (x + half[0], y + half[1])])
    axes.add_collection(LineCollection(sides, colors=plot.VERMILION, linewidths=2.2, capstyle="projecting", zorder=3))
