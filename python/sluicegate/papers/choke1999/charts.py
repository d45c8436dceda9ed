"""Charts of the report's own: throughput over time, and flow by flow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Drawn
from matplotlib.ticker import MultipleLocator

from ...plot import style as plot
from ...plot.style import KINDS
from ...reproduce import Check, Drawing, Runs
from ...reproduce.charts import PRINTED, halves
from ...reproduce.study import label_of
from ...stats import interval
from .network import FAIR_KBPS, LINK_KBPS, TCP_FLOWS


def means(rows: pl.DataFrame, keys: Sequence[str], column: str) -> pl.DataFrame:
    """Means over seeds of a column: `<column>_mean` and `<column>_half_width` for each value of `keys`."""
    groups = rows.group_by(keys, maintain_order=True).agg(column)
    spreads = [interval(values) for values in groups[column].to_list()]
    return groups.select(
        *keys,
        pl.Series(f"{column}_mean", [each.mean for each in spreads]),
        pl.Series(f"{column}_half_width", [each.half_width for each in spreads]).fill_nan(None),
    )


LEVELS = {"udp_share": ("udp", LINK_KBPS / 100), "tcp_flow": ("tcp", TCP_FLOWS)}
"""Measures whose printed numbers give a level: the kind of flow, and what a number is multiplied by for kbit/s."""


@dataclass(frozen=True)
class OverTime:
    """UDP's and all TCP's throughput over time, a panel for each discipline."""

    def __call__(self, runs: Runs, checks: Sequence[Check] = (), **_: Runs) -> Drawing:
        kinds = runs.rows("flows").select("experiment", "flow", "kind").unique(maintain_order=True)
        series = runs.rows("flow_series").join(kinds, on=["experiment", "flow"], maintain_order="left")
        totals = series.group_by(["queue", "seed", "time_s", "kind"], maintain_order=True).agg(
            kbps=pl.col("throughput_bps").sum() / 1e3
        )
        table = means(totals, ["queue", "time_s", "kind"], "kbps")
        one = totals.filter(pl.col("seed") == runs.seeds[0]).select("queue", "time_s", "kind", one_run="kbps")
        data = table.join(one, on=["queue", "time_s", "kind"], maintain_order="left")
        printed = [
            (label_of(check.quantity.point["queue"]), kind, value * times)
            for check in checks
            if (value := check.bound.printed) is not None and check.quantity.name in LEVELS
            for kind, times in [LEVELS[check.quantity.name]]
        ]
        return Drawing(self.draw(data, runs.settings.warmup_s, printed), data)

    @plot.drawing
    def draw(self, data: pl.DataFrame, warmup_s: float, printed: Sequence[tuple[str, str, float]]) -> Drawn:
        """The drawing alone. `printed`: numbers of the paper, each with its panel and the kind of flow."""
        titles = data["queue"].unique(maintain_order=True).to_list()
        figure, (row,) = plot.panels(1, len(titles), height=3.7)
        for axes, title in zip(row, titles, strict=True):
            axes.set_title(title)
            axes.axvspan(0, warmup_s, color="#F3F4F6", zorder=0, label="warm-up, not measured")
            for kind in ("udp", "tcp"):
                part, style = data.filter((pl.col("queue") == title) & (pl.col("kind") == kind)), KINDS[kind]
                axes.plot(part["time_s"], part["one_run"], style.line, color=style.color, linewidth=0.7, alpha=0.5,
                          label=f"{style.label}, one run")  # fmt: skip
                plot.mean_line(axes, part["time_s"], part["kbps_mean"], halves(part, "kbps"), style, bars=False)
            end = max(data["time_s"].to_list())
            for _, kind, level in (each for each in printed if each[0] == title):
                axes.plot([warmup_s, end], [level, level], "--", color=KINDS[kind].color, linewidth=1.6,
                          label=f"{KINDS[kind].label}, {PRINTED}")  # fmt: skip
            axes.set_xlim(0, end)
            axes.set_ylim(0, 1.06 * LINK_KBPS)
            plot.reference(axes, LINK_KBPS, "")
            axes.set_xlabel("time (s)")
        row[0].set_ylabel("throughput (kbit/s)")
        plot.legend(figure, row)
        return figure


@dataclass(frozen=True)
class PerFlow:
    """Throughput of each flow, numbered, on a logarithmic axis, a panel for each discipline."""

    def __call__(self, runs: Runs, checks: Sequence[Check] = (), **_: Runs) -> Drawing:
        rows = runs.rows("flows").with_columns(kbps=pl.col("throughput_bps") / 1e3)
        data = means(rows, ["queue", "flow", "kind"], "kbps")
        return Drawing(self.draw(data), data)

    @plot.drawing
    def draw(self, data: pl.DataFrame) -> Drawn:
        """The drawing alone."""
        titles = data["queue"].unique(maintain_order=True).to_list()
        figure, (row,) = plot.panels(1, len(titles), height=3.7)
        least = min((value for value in data["kbps_mean"].to_list() if value > 0), default=1.0)
        floor = min(0.1, 10.0 ** math.floor(math.log10(least)))
        for axes, title in zip(row, titles, strict=True):
            axes.set_title(title)
            plot.log_axis(axes, "y", [10.0**power for power in range(-4, 5)])
            for kind in ("tcp", "udp"):
                part, style = data.filter((pl.col("queue") == title) & (pl.col("kind") == kind)), KINDS[kind]
                half = np.nan_to_num(halves(part, "kbps"))
                shown = np.maximum(part["kbps_mean"].to_numpy(), floor)
                axes.errorbar(
                    part["flow"], shown, yerr=[np.minimum(half, 0.999 * shown), half], fmt=style.marker,
                    color=style.color, elinewidth=1.1, capsize=2.5, label="TCP flow" if kind == "tcp" else style.label,
                )  # fmt: skip
            axes.set_ylim(floor, 2000)
            plot.reference(axes, FAIR_KBPS, "equal share")
            axes.set_xlim(0, max(data["flow"].to_list()) + 1)
            axes.xaxis.set_major_locator(MultipleLocator(4))
            axes.set_xlabel("flow number")
        row[0].set_ylabel("throughput (kbit/s)")
        plot.legend(figure, row)
        return figure
