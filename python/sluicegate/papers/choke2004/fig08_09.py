"""Figs. 8 and 9: the queue over time with many TCP flows and with few; Sec. VI's limits: few flows, or a faster
link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Drawn

from ...plot import style as plot
from ...reproduce import (
    Check,
    Drawing,
    Quantity,
    Runs,
    above,
    claim,
    exact,
    figure,
    number,
    printed,
    reference,
    within,
)
from ...theory import choke
from .charts import SIMULATION, rows_against_models
from .fig04_05 import POINTS, load, many
from .models import STYLES, compared, predictions
from .network import BASE_RTT_S, MIN_TH, PACKET_BITS, QUEUE, TCP_FLOWS, Traffic, networks

forty = Traffic(snapshots=True, tables=QUEUE, N=[40], x0=[10.0])
few = Traffic(tables=QUEUE, N=[4, 6, 8, 10], x0=[10.0])
fast = Traffic(tables=QUEUE, mbps=[2, 4, 8])

CYCLES = 6.0
"""On-off cycles per minute that count as "constantly": one in ten seconds."""


def cycles(at: Runs) -> tuple[Quantity, Quantity]:
    """How often per minute RED's average falls below min_th, where CHOKe compares nothing, and for how much of the
    time in per cent, by seed, from samples after the warm-up."""
    rows = at.rows("queue").filter(pl.col("time_s") > at.settings.warmup_s)
    off = pl.col("average_packets") < MIN_TH
    falls = (off & ~off.shift(1)).sum() * 60 / at.settings.measured_s
    parts = rows.group_by("seed", maintain_order=True).agg(falls=falls, part=off.mean() * 100)
    part = at.quantity(parts, "part", "% of the time", "time that the average is below min_th")
    told = f"how often the average falls below min_th; it is below min_th {part.mean:.1f} % of the time"
    return at.quantity(parts, "falls", "times a minute", told), part


def over_time(forty: Runs, few: Runs, fast: Runs, checks: Sequence[Check]) -> Drawing:
    """A minute of the queue in one run, and RED's average of it, a panel each, with the mean of all runs and the queues
    of the models that have an answer."""
    panels = (
        ("Figure 8: N = 40", forty),
        ("Figure 9: N = 8", few.at(N=8)),
        (f"N = {TCP_FLOWS} on 8 Mbit/s", fast.at(mbps=8)),
    )
    start, seed = forty.settings.warmup_s, forty.seeds[0]
    chosen = (pl.col("seed") == seed) & pl.col("time_s").is_between(start, start + 60)
    tables = [at.rows("queue").filter(chosen) for _, at in panels]

    @plot.drawing
    def draw() -> Drawn:
        figure, rows = plot.panels(len(panels), 1, height=2.6)
        for (axes,), (title, at), table in zip(rows, panels, tables, strict=True):
            axes.set_title(title)
            mean, half = at["b"].mean, max(float(np.nan_to_num(at["b"].spread.half_width)), 0.15)
            axes.axhspan(mean - half, mean + half, color=SIMULATION.color, alpha=0.5, linewidth=0,
                         label="mean of all runs, 95 % interval")  # fmt: skip
            for model, style in STYLES.items():
                (said,) = predictions(networks(at), model)
                if np.isfinite(said.b):
                    axes.axhline(said.b, linestyle=style.line, color=style.color, linewidth=1.3, label=style.label)
            axes.plot(table["time_s"], table["queue_packets"], color=plot.SKY, linewidth=0.8, label="queue")
            axes.plot(table["time_s"], table["average_packets"], color=plot.BLACK, linewidth=1.3,
                      label="average kept by RED")  # fmt: skip
            plot.reference(axes, MIN_TH, f"min_th = {MIN_TH:g}" if at is forty else "", color=plot.VERMILION)
            axes.set_ylim(bottom=0)
            axes.set_xlim(min(table["time_s"].to_list()), max(table["time_s"].to_list()))
            axes.set_ylabel("queue (packets)")
        rows[-1][0].set_xlabel("time (s)")
        plot.legend(figure, [row[0] for row in rows], columns=3)
        return figure

    return Drawing(draw(), pl.concat(tables, how="diagonal"))


@figure(8, "The queue over time: CHOKe active, and switched on and off", id="fig8-9", label="Figures 8 and 9",
        source="Sec. VI", chart=over_time, forty=forty, few=few, fast=fast)  # fmt: skip
def fig8_9(forty: Runs, few: Runs, fast: Runs) -> Iterator[Check]:
    """UDP sends 10c. One run (seed {seed}), a minute of it; the mean is that of all runs. Models are drawn where they
    have an answer. The last panel tests whether the queue also oscillates when c, the link's rate, grows
    with fixed N."""
    yield claim("with N = 40 the queue fluctuates around a level well above min_th", cycles(forty)[0],
                within(None, 0, "never"), source="Sec. VI, Fig. 8")  # fmt: skip
    yield claim("with N = 8 the queue oscillates around min_th, constantly turning CHOKe on and off",
                cycles(few.at(N=8))[0], above(CYCLES), source="Sec. VI, Fig. 9")  # fmt: skip
    yield reference("the same when c grows with fixed N", cycles(fast.at(mbps=8))[0], above(CYCLES))


def rows_of_few(few: Runs, many: Runs, load: Runs, fast: Runs, checks: Sequence[Check]) -> Drawing:
    """UDP's share for few and many TCP flows, and for faster links."""
    parts = [compared(runs) for runs in (few, many, load.at(x0=10.0), fast)]
    table = pl.concat(parts, how="diagonal").with_columns(
        pl.col("N").fill_null(TCP_FLOWS), pl.col("mbps").fill_null(1), pl.col("x0").fill_null(10.0)
    )
    table = table.unique(["N", "mbps"], keep="first", maintain_order=True)
    rows = [f"N = {N}, {mbps:g} Mbit/s" for N, mbps in table.select("N", "mbps").iter_rows()]
    return Drawing(rows_against_models(rows, table), table)


@figure("few", "Few TCP flows, or a faster link", label="Section VI, N and c", source="Sec. VI", after=9,
        chart=rows_of_few,
        few=few, many=many, load=load, fast=fast)  # fmt: skip
def few_flows(few: Runs, many: Runs, load: Runs, fast: Runs) -> Iterator[Check]:
    """UDP sends 10c; its share of the link. Where the full model has no answer, CHOKe would not stay active."""
    least = choke.least_flows(c=1e6 / PACKET_BITS, d=BASE_RTT_S, min_th=MIN_TH)
    flows = number(least, "flows", "least number by the restored formula")
    yield exact("CHOKe remains active from 8.08 flows on", flows, printed(8.08, 0.01))
    base = load.at(x0=10.0)["share"]
    for kind, words, at in ((claim, "with few flows", few.at(N=8)), (reference, "on a faster link", fast.at(mbps=8))):
        more = (at["share"] - base).as_(f"UDP's share, less that with N = {TCP_FLOWS} on 1 Mbit/s", POINTS)
        yield kind(f"{words} TCP is prevented from full use of the available capacity", more, above(0), id="capacity")
    used = [*few.over("N", "used"), *fast.over("mbps", "used")]
    yield reference("with few flows or on a faster link the link itself stays full: UDP takes what TCP leaves",
                    min(used, key=lambda each: each.mean), above(99), source="Sluicegate's, beside Sec. VI",
                    id="link-full")  # fmt: skip
