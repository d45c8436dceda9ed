"""RED 1993, Sec. IX: is there a bias against bursty traffic? Figs. 12 to 15, on the network of Fig. 11.

Node 5 has a round trip six times as long as the others' and a small window, so that its packets reach the gateway in
clusters. Each second of a run is a mark of the figures. The scenario `red1993_fig11` says where its delays come from.

Measures: node 5's *share of the throughput* is of the bytes that all receivers get in a second; its *share of the
drops* (under DECbit: of the packets whose bit is set) is of the packets dropped in that second, where there are at
least three. *Excess* is the second less the first, in percentage points, averaged over all seconds of all runs with one
seed. The *queue* is the mean of what arriving packets find, without the packet in transmission.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from .. import scenario as api
from ..experiments.engine import Experiment, Tables
from ..report import Choice
from . import Settings
from .points import RUN, mean
from .red1993 import LINK_BPS, SERIES, SERVICE_S, Section

SCENARIO = "red1993_fig11"
NODE_5 = 5
"""The flow of node 5."""

LEAST_DROPS = 3
"""Fig. 15 leaves out seconds with fewer dropped packets."""

BUFFERS = tuple(range(8, 23))
"""Packets, Figs. 12 and 13."""

MIN_THS = tuple(range(3, 15))
"""Packets, Fig. 14."""

WINDOW_5, RTT_5_S = 8, 0.036
"""Node 5's window in packets, and its round trip without any queue."""


@dataclass(frozen=True)
class Case:
    """One discipline over what a figure's x axis shows.

    `over`: the values, packets. `sets`: overrides of the scenario; "{}" in one stands for the value, and a number
    before it for that many times the value.
    """

    id: str
    discipline: str
    over: tuple[int, ...]
    sets: tuple[tuple[str, str], ...]
    marks: bool = False
    """Whether it sets bits instead of dropping."""

    def name(self, value: int) -> str:
        """The experiment's id."""
        return f"{self.id}, {value} packets"

    def overrides(self, value: int) -> tuple[tuple[str, str], ...]:
        """What differs from the scenario, as `--set` takes it."""
        sets = []
        for key, text in self.sets:
            factor, place, _ = text.rpartition("{}")
            sets.append((key, str(int(factor or 1) * value) if place else text))
        return (("queue.discipline", self.discipline), *sets)


PREPARED = tuple((f"flows.{group}.overhead", "0.17 ms") for group in (0, 1))
"""A random time to prepare each packet, up to the service time as printed: the paper's remedy for phase effects."""

RED_SETS = (("queue.min_th", "{}"), ("queue.max_th", "2{}"), ("queue.limit", "4{}"))
DECBIT_HOSTS = tuple((f"flows.{group}.algorithm", "decbit") for group in (0, 1))

DROP_TAIL = Case("fig12 drop_tail", "drop_tail", BUFFERS, (("queue.limit", "{}"), *PREPARED))
RANDOM_DROP = Case("fig13 random_drop", "random_drop", BUFFERS, (("queue.limit", "{}"),))
RED = Case("fig14 red", "red", MIN_THS, RED_SETS)
DECBIT = Case("fig15 decbit", "decbit", (200,), (("queue.limit", "{}"), *DECBIT_HOSTS), marks=True)
SELECTIVE = Case(
    "fig15 decbit, selective feedback", "decbit", (200,),
    (("queue.limit", "{}"), ("queue.decbit.feedback", "selective"), *DECBIT_HOSTS), marks=True,
)  # fmt: skip
ROOM = Case("fig14 red with room", "red", MIN_THS, (*RED_SETS[:2], ("queue.limit", "200")))
"""RED as in Fig. 14 with a buffer that never overflows."""

CASES = (DROP_TAIL, RANDOM_DROP, RED, DECBIT, SELECTIVE, ROOM)

CHOICES = (
    Choice("Delays of Fig. 11", "lost with the figure; node 5's round trip is six times the others'", "6 ms and 36 ms",
           "the paper varies min_th up to 14 and buffers up to 22 packets. At 6 ms four windows of 12 packets leave "
           "48 − 33.75 = 14.25 to wait, and 22.25 with node 5's window of 8 on top: just where RED has nothing left to "
           "mark and Drop Tail nothing to lose. 6 ms is also Fig. 4's shortest round trip"),
    Choice("Access links of Fig. 11", "not stated", "100 Mbit/s", "faster than the bottleneck, so that a window comes "
           "as a cluster"),
    Choice("Starts in Figs. 12 to 15", "not stated", "at random within the first 0.1 s", "ten seconds are counted from "
           "the beginning, slow start included"),
    Choice("Preparation time", "Figs. 12 and 5: uniform on 0 to the bottleneck service time of 0.17 ms for each "
           "packet, “in the simulations with Drop Tail gateways”", "so, with Drop Tail only; in Fig. 5 the service "
           "time itself, 0.178 ms; packets of one host are prepared one after another", "the words of the paper"),
    Choice("Buffer", "counted in packets", "the packet in transmission is not in it", "so in ns-2 and Linux"),
    Choice("DECbit in Fig. 15", "simulations with ISO TP4, without a figure", "the same network and windows with "
           "DECbit's hosts and gateway; a buffer of 200 packets, which never fills", "isolates the gateway"),
)  # fmt: skip

COMMANDS = tuple(
    f"sluicegate run {SCENARIO} " + " ".join(f'--set {key}="{value}"' for key, value in case.overrides(value_))
    for case, value_ in ((DROP_TAIL, 12), (RANDOM_DROP, 12), (RED, 7), (DECBIT, 200))
)


def experiments(settings: Settings) -> list[Experiment]:
    """Every case at every value; each run lasts `duration_s` (the paper: ten seconds), a second between samples."""
    text, name = api.read_scenario(SCENARIO)
    length = (("run.duration", f"{settings.duration_s} s"), ("run.sample", "1 s"))
    return [
        Experiment(case.name(value), text, name, (*case.overrides(value), *length), SERIES)
        for case in CASES
        for value in case.over
    ]


def periods(results: Tables) -> pl.DataFrame:
    """One row for each second of each run: `case`, `value` (packets), `experiment`, `seed`, `time_s`, and

    `share` (node 5's part of the throughput, %), `notices` (packets dropped, or marked where the case marks),
    `notice_share` (node 5's part of them, %; null if fewer than three), `queue_packets` (found by arrivals) and
    `utilisation` of the bottleneck.
    """
    names = pl.DataFrame(
        [(case.name(value), case.id, value, case.marks) for case in CASES for value in case.over],
        schema={"experiment": pl.String, "case": pl.String, "value": pl.UInt64, "marks": pl.Boolean}, orient="row",
    )  # fmt: skip
    told = pl.when("marks").then("marked_packets").otherwise("lost_packets")
    series = results["flow_series"].join(names, on="experiment", maintain_order="left").with_columns(told=told)
    node_5 = pl.col("flow") == NODE_5
    # The sum of five numbers in the order of the flows, which is the same everywhere.
    total = pl.col("throughput_bps").sum()
    rows = series.group_by("case", "value", *RUN, "time_s", maintain_order=True).agg(
        share=100 * pl.col("throughput_bps").filter(node_5).first() / total,
        notices=pl.col("told").sum(),
        node_5_notices=pl.col("told").filter(node_5).first(),
        utilisation=total / LINK_BPS,
    )
    enough = pl.col("notices") >= LEAST_DROPS
    queue = results["queue"].select(*RUN, "time_s", queue_packets="queue_found_packets_mean")
    return (
        rows.with_columns(notice_share=pl.when(enough).then(100 * pl.col("node_5_notices") / pl.col("notices")))
        .drop("node_5_notices")
        .join(queue, on=[*RUN, "time_s"], how="left", maintain_order="left")
    )


def by_value(rows: pl.DataFrame, case: Case) -> pl.DataFrame:
    """The mean over the seconds of each run of `case`: `value`, `seed`, `share`, `queue_packets`, `utilisation`."""
    groups = rows.filter(pl.col("case") == case.id).group_by("value", "seed", maintain_order=True)
    return _means(groups.agg("share", "queue_packets", "utilisation"), ("share", "queue_packets", "utilisation"))


def _over_seconds(rows: pl.DataFrame, case: Case, value: pl.Expr) -> list[float]:
    """By seed the mean of `value` over all seconds with at least three drops or marks, whatever the parameter. NaN for
    a seed without any."""
    part = rows.filter(pl.col("case") == case.id).sort("seed", maintain_order=True)
    result = []
    for _, run in part.group_by("seed", maintain_order=True):
        values = run.drop_nulls("notice_share").select(value=value)["value"].to_list()
        result.append(mean(values) if values else math.nan)
    return result


def excesses(rows: pl.DataFrame, case: Case) -> list[float]:
    """Node 5's share of the drops or marks less its share of the throughput, percentage points, by seed."""
    return _over_seconds(rows, case, pl.col("notice_share") - pl.col("share"))


def own_shares(rows: pl.DataFrame, case: Case) -> list[float]:
    """Node 5's share of the throughput in the same seconds, %, by seed."""
    return _over_seconds(rows, case, pl.col("share"))


def notice_shares(rows: pl.DataFrame, case: Case) -> list[float]:
    """Node 5's share of the drops or marks in the same seconds, %, by seed."""
    return _over_seconds(rows, case, pl.col("notice_share"))


def possible_shares(rows: pl.DataFrame, case: Case) -> pl.DataFrame:
    """`by_value` with `possible`: the most of the throughput that node 5 could have, %: its window in each round
    trip, queue and transmission included, over what the link carried."""
    # On its way a packet of data is sent at 100 Mbit/s, 45 and 100, an acknowledgement of 40 bytes four times faster
    # than can be seen.
    fixed = RTT_5_S + SERVICE_S + 2 * 8000 / 100e6
    rate = WINDOW_5 * 8000 / (fixed + pl.col("queue_packets") * SERVICE_S)
    return by_value(rows, case).with_columns(possible=100 * rate / (LINK_BPS * pl.col("utilisation")))


def at_the_same_queue(rows: pl.DataFrame, case: Case) -> list[float]:
    """By how many percentage points of the throughput node 5 has more under RED than under `case` where both keep the
    same average queue: the mean over the queues that both keep, by seed. Between two buffers the share is
    interpolated."""
    result = []
    for seed in rows["seed"].unique(maintain_order=True).to_list():
        other = by_value(rows, case).filter(pl.col("seed") == seed).sort("queue_packets")
        queues, shares = other["queue_packets"].to_list(), other["share"].to_list()
        red = by_value(rows, RED).filter(pl.col("seed") == seed)
        both = [
            share - _between(queue, queues, shares)
            for queue, share in zip(red["queue_packets"].to_list(), red["share"].to_list(), strict=True)
            if queues[0] <= queue <= queues[-1]
        ]
        result.append(mean(both) if both else math.nan)
    return result


def most_drops(rows: pl.DataFrame) -> list[float]:
    """The most packets that were dropped in one second of the runs of Figs. 12 to 14, by seed."""
    ids = [case.id for case in (DROP_TAIL, RANDOM_DROP, RED)]
    most = rows.filter(pl.col("case").is_in(ids)).group_by("seed").agg(pl.col("notices").max()).sort("seed")
    return [float(value) for value in most["notices"].to_list()]


def _between(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """The value at `x` of the line through the points, whose `xs` rise and enclose it."""
    at = next((index for index in range(1, len(xs)) if x <= xs[index]), len(xs) - 1)
    step = xs[at] - xs[at - 1]
    return ys[at] if step == 0 else ys[at - 1] + (ys[at] - ys[at - 1]) * (x - xs[at - 1]) / step


def _means(lists: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return lists.with_columns(
        pl.Series(column, [mean(values) for values in lists[column].to_list()], dtype=pl.Float64) for column in columns
    )


def section(settings: Settings, results: Tables) -> Section:
    """Figs. 12 to 15 with their checks."""
    from . import red1993_bursty_checks, red1993_bursty_figures

    rows = periods(results)
    return Section(red1993_bursty_figures.figures(settings, rows), red1993_bursty_checks.checks(rows))
