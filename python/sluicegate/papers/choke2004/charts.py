"""Charts of simulation with its intervals beside both full models and the approximate one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn
from numpy.typing import ArrayLike

from ...plot import style as plot
from ...reproduce import Check, Drawing, Runs
from ...reproduce.charts import halves
from .models import STYLES, compared
from .network import AXES, TICKS

SIMULATION = plot.Style("simulation, 95 % interval", plot.VERMILION, "none", "s")
COLOURS = (plot.VERMILION, plot.BLUE, plot.GREEN, plot.PURPLE, plot.ORANGE)
MARKERS = ("s", "o", "^", "D", "v")


def points(axes: Axes, x: ArrayLike, table: pl.DataFrame, quantity: str, style: plot.Style = SIMULATION) -> None:
    """Means with their intervals, without a line."""
    axes.errorbar(
        x, table[f"{quantity}_mean"], yerr=np.nan_to_num(halves(table, quantity)), fmt=style.marker, color=style.color,
        markersize=4.5, capsize=3, elinewidth=1.2, label=style.label, zorder=3,
    )  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """Simulation and models over an axis, two panels in a row: the quantity and its title and label of each. `lines`:
    dotted lines of panels, a value and a text. `ticks`: makes the axis logarithmic. `runs`: which study is drawn."""

    x: str
    panels: Mapping[str, tuple[str, str]]
    ticks: Sequence[float] = TICKS
    lines: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    styles: Mapping[str, plot.Style] = field(default_factory=lambda: STYLES)
    runs: str = ""

    def __call__(self, checks: Sequence[Check] = (), **studies: Runs) -> Drawing:
        table = compared(studies[self.runs] if self.runs else next(iter(studies.values())))
        return Drawing(self.draw(table), table)

    @plot.drawing
    def draw(self, table: pl.DataFrame) -> Drawn:
        """The drawing alone."""
        rows = -(-len(self.panels) // 2)
        figure, grid = plot.panels(rows, 2, height=4.0 if rows == 1 else 3.3, share_y=False)
        flat = [axes for row in grid for axes in row]
        for axes, (name, (title, label)) in zip(flat, self.panels.items(), strict=True):
            axes.set_title(title)
            points(axes, table[self.x], table, name)
            for model, style in self.styles.items():
                if table[f"{model}_{name}"].drop_nulls().len():
                    axes.plot(table[self.x], table[f"{model}_{name}"], style.line, color=style.color, label=style.label)
            if name in self.lines:
                plot.reference(axes, *self.lines[name], lift=3)
            axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
            if self.ticks:
                plot.log_axis(axes, "x", self.ticks)
            axes.set_ylabel(label)
        for axes in grid[-1]:
            axes.set_xlabel(AXES[self.x].label)
        plot.legend(figure, flat, columns=2)
        return figure


@plot.drawing
def rows_against_models(rows: Sequence[str], table: pl.DataFrame) -> Drawn:
    """Shares of the link, one row each: simulation and models. Table: `share_mean`, `share_half_width`, and
    `<model>_share` of the models that say something."""
    figure, ((axes,),) = plot.panels(1, 1, height=1.4 + 0.32 * len(rows))
    y = np.arange(len(rows))
    axes.errorbar(table["share_mean"], y, xerr=np.nan_to_num(halves(table, "share")), fmt="s", color=SIMULATION.color,
                  capsize=3, label=SIMULATION.label)  # fmt: skip
    for (model, style), marker, shift in zip(STYLES.items(), "o^v", (-0.22, 0.22, 0.36), strict=True):
        if f"{model}_share" in table.columns:
            axes.plot(table[f"{model}_share"], y + shift, marker, color=style.color, label=style.label)
    axes.set_yticks(y, list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("share of the link (%)")
    plot.legend(figure, [axes])
    return figure
