"""The figure of `sluicegate run --with-theory`: shares and losses, measured and by the model, and the queue in time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ..plot import style as plot
from .choke_overlay import LAWS, Overlay

STYLES = {
    "measured": plot.Style("measured", plot.BLACK, "-", "o"),
    "reno": plot.Style(f"theory: {LAWS['reno']}", plot.BLUE, "--", "D"),
    "padhye": plot.Style(f"theory: {LAWS['padhye']}", plot.VERMILION, "-.", "s"),
    "vegas": plot.Style(f"theory: {LAWS['vegas']}", plot.GREEN, "--", "^"),
}


@plot.drawing
def overlay(done: Overlay) -> Figure:
    """Each group's share of the link and of the queue, each group's loss, and the queue with the model's backlog."""
    figure = Figure(figsize=(10.4, 1.9 + 0.5 * max(2, len(done.groups))), layout="constrained")
    share, occupancy, loss, queue = figure.subplots(1, 4, width_ratios=(1, 1, 1, 1.5))
    rows = np.arange(len(done.groups), dtype=float)
    panels = ((share, "share", "share of the link (%)"), (occupancy, "of queue", "share of the queue (%)"),
              (loss, "loss", "loss (% of arrivals)"))  # fmt: skip
    for axes, name, label in panels:
        found = [quantity for quantity in done.quantities if quantity.name == name]
        for offset, key in zip((-0.2, 0.0, 0.2), ("measured", *done.laws), strict=False):
            style = STYLES[key]
            values = [quantity.measured if key == "measured" else quantity.theory[key] for quantity in found]
            percent = [np.nan if value is None else 100 * value for value in values]
            axes.plot(percent, rows + offset, style.marker, color=style.color, label=style.label)
        axes.set_xlim(-3, 103)
        axes.set_xlabel(label)
        axes.set_yticks(rows, done.groups if axes is share else [""] * len(rows))
        axes.set_ylim(len(rows) - 0.5, -0.5)
    queue.plot(*done.series, color=STYLES["measured"].color, linewidth=0.9)
    backlog = next(quantity for quantity in done.quantities if quantity.name == "queue")
    for key, level in backlog.theory.items():
        if level is not None:
            queue.axhline(level, color=STYLES[key].color, linestyle=STYLES[key].line)
    queue.set_ylim(bottom=0)
    queue.set_xlabel("time (s)")
    queue.set_ylabel("packets in the queue")
    plot.legend(figure, [share])
    return figure
