"""Distribution functions, a line for each scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn

from ...plot import style as plot
from ...reproduce import Check, Drawing, Runs
from ...reproduce.charts import halves
from ...stats import interval
from .response_times import Distribution, Of, by_seed
from .schemes import Scheme

UP_TO_2_S = tuple(round(0.02 * step, 2) for step in range(101))
LOG_TIMES = tuple(float(f"{value:.3g}") for value in np.geomspace(0.1, 100, 61))
TAIL_TIMES = tuple(float(f"{value:.3g}") for value in np.geomspace(0.1, 60, 61))
SIZES = tuple(step * 10**power for power in range(2, 8) for step in (1, 2, 4, 6, 8) if step * 10**power <= 40_000_000)

TIME_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
SIZE_TICKS = {100: "100 B", 1_000: "1 kB", 10_000: "10 kB", 100_000: "100 kB", 1_000_000: "1 MB", 10_000_000: "10 MB"}


@dataclass(frozen=True)
class Distributions:
    """Distribution functions over seeds with 95 % intervals as bands, a panel for each load.

    `of`: what is distributed. `ends`: where the function is drawn. `scale`: of the axis, linear or logarithmic times,
    sizes, or the tail (what lies beyond, both axes logarithmic). `schemes`: which lines (default: all). `pooled`: all
    loads are one distribution. `mark_s`: a time to mark.
    """

    of: Of = Distribution.of_times
    ends: Sequence[float] = UP_TO_2_S
    scale: Literal["linear", "times", "sizes", "tail"] = "linear"
    ylabel: str = "exchanges done within this time"
    schemes: Sequence[Scheme] = ()
    pooled: bool = False
    mark_s: float | None = None

    def __call__(self, checks: Sequence[Check] = (), **studies: Runs) -> Drawing:
        runs = next(iter(studies.values()))
        schemes = self.schemes or runs.values("scheme")
        rows = []
        for panel in [runs] if self.pooled else runs.each("load"):
            for scheme in schemes:
                shares = np.array([each.at_most(self.ends) for each in by_seed(panel.at(scheme=scheme), self.of)]).T
                spreads = [interval((1 - share if self.scale == "tail" else share).tolist()) for share in shares]
                rows += [
                    {"panel": panel.label("scheme"), "scheme": scheme.label, "x": float(x), "share_mean": spread.mean,
                     "share_half_width": spread.half_width}
                    for x, spread in zip(self.ends, spreads, strict=True)
                ]  # fmt: skip
        data = pl.DataFrame(rows).with_columns(pl.col("share_half_width").fill_nan(None))
        return Drawing(self.draw(data, schemes), data)

    @plot.drawing
    def draw(self, data: pl.DataFrame, schemes: Sequence[Scheme]) -> Drawn:
        """The drawing alone."""
        titles = data["panel"].unique(maintain_order=True).to_list()
        figure, (row,) = plot.panels(1, len(titles), height=4.2)
        for axes, title in zip(row, titles, strict=True):
            axes.set_title(title)
            for scheme in schemes:
                part = data.filter((pl.col("panel") == title) & (pl.col("scheme") == scheme.label))
                if self.scale == "tail":
                    part = part.filter(pl.col("share_mean") > 0)
                style = plot.Style(scheme.label, scheme.color, scheme.line)
                plot.mean_line(axes, part["x"], part["share_mean"], halves(part, "share"), style, bars=False)
            if self.mark_s is not None:
                axes.axvline(self.mark_s, color=plot.BLACK, linestyle=":", linewidth=1.1)
            self.set_up(axes)
        row[0].set_ylabel(self.ylabel)
        plot.legend(figure, row, columns=4)
        return figure

    def set_up(self, axes: Axes) -> None:
        """Scales, ticks and limits."""
        if self.scale == "sizes":
            plot.log_axis(axes, "x", list(SIZE_TICKS))
            axes.set_xticks(list(SIZE_TICKS), list(SIZE_TICKS.values()))
        elif self.scale != "linear":
            plot.log_axis(axes, "x", TIME_TICKS)
        axes.set_xlim(self.ends[0], self.ends[-1])
        axes.set_xlabel("size of the response" if self.scale == "sizes" else "response time (s)")
        if self.scale == "tail":
            plot.log_axis(axes, "y", [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1])
        axes.set_ylim(*((1e-5, 1) if self.scale == "tail" else (0, 1.005)))
