"""Over the whole run: whether the disciplines hold their queues, from the first minute to the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
from matplotlib.figure import Figure as Drawn

from ...plot import style as plot
from ...reproduce import Check, Drawing, Runs, figure, reference, within
from .network import CONGESTED, LOADS, under
from .schemes import AFD, DCN, PI

CONTROLLED = {DCN: ("p_ref", "p_ref (packets)", 24), PI: ("p", "p", 24), AFD: ("m_fair", "M_fair (packets)", 240)}
"""Schemes with a target: the value that each adjusts, as `state` and as the axis call it, and the target in packets."""

controlled = under(CONGESTED, list(CONTROLLED))
shares = under(LOADS, [DCN, AFD])


def over_time(checks: Sequence[Check], runs: Runs, **_: Runs) -> Drawing:
    """The queue, and below what controls it, a column for each scheme."""
    queue, state = (runs.rows(name).filter(pl.col("seed") == runs.seeds[0]) for name in ("queue", "state"))
    names = [name for name, _, _ in CONTROLLED.values()]
    value = pl.col("queue_found_packets_mean").alias("value")
    columns = [*runs.study.axes, "time_s", "link", "name", "value"]
    data = pl.concat([
        queue.with_columns(value, name=pl.lit("queue")).select(columns),
        state.filter(pl.col("name").is_in(names)).select(columns),
    ])  # fmt: skip
    return Drawing(draw(data.with_columns((pl.col("time_s") / 60).alias("minute")), runs.settings.warmup_s), data)


@plot.drawing
def draw(data: pl.DataFrame, warmup_s: float) -> Drawn:
    """The drawing alone."""
    drawn, rows = plot.panels(2, len(CONTROLLED), height=2.4, share_y=False)
    for column, (scheme, (name, label, target)) in enumerate(CONTROLLED.items()):
        for row, which, unit in ((0, "queue", "packets"), (1, name, label)):
            axes = rows[row][column]
            for load, color in zip(CONGESTED, (plot.SKY, plot.BLUE), strict=True):
                for link, line in (("bottleneck", "-"), ("reverse", ":")):
                    part = data.filter(scheme=scheme.label, load=load, link=link, name=which)
                    axes.plot(part["minute"], part["value"], line, color=color, linewidth=1.1,
                              label=f"{load} %, {'forward' if line == '-' else 'reverse'}")  # fmt: skip
            axes.axvspan(0, warmup_s / 60, color="#EEF0F4", zorder=0)
            axes.set_ylim(bottom=0)
            axes.set_ylabel(unit)
        plot.reference(rows[0][column], target, "target")
        rows[0][column].set_title(f"{scheme.label}: queue")
        rows[1][column].set_xlabel("minutes")
    plot.legend(drawn, rows[0])
    return drawn


@figure("series", "Queues over the whole run", label="Over time", source="beside Sec. 3.2", after=20, chart=over_time,
        runs=controlled, shares=shares)  # fmt: skip
def series(runs: Runs, shares: Runs) -> Iterator[Check]:
    """Above: the queue that packets find, means of {sample} s. Below: the value that the scheme adjusts, every
    {sample} s. Seed {seed}; shaded: warm-up."""
    for scheme in (DCN, AFD):
        q_ref = CONTROLLED[scheme][2]
        for load in LOADS:
            at = shares.at(load=load, scheme=scheme)
            least = q_ref / 2 if load in CONGESTED else None
            why = f"half and twice q_ref, which is {q_ref} packets; with spare capacity the queue may be shorter"
            yield reference("the controller holds the queue near q_ref", at["queue"], within(least, 2 * q_ref, why),
                            id="queue")  # fmt: skip
            if load in CONGESTED:
                yield reference("no tail drops: the queue never reaches its limit", at["tail_drops"],
                                within(None, 0, "none"), id="tail-drops")  # fmt: skip
