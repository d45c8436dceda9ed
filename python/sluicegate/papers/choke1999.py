"""CHOKe: R. Pan and B. Prabhakar, Stanford technical report CSL-TR-99-779, 1999. Figs. 2 to 19.

32 TCP transfers share a link of 1 Mbit/s with UDP sources that do not react, under Drop Tail, RED and CHOKe with one
candidate or several. This module runs the cases of `choke1999_cases` and makes points of their runs. Figures and checks
are in three parts: `choke1999_figures` and `choke1999_checks` for Figs. 2 to 9, `choke1999_many_*` for Figs. 10 to 19,
and `choke1999_said_*` for what the report says without a figure. `choke1999_page` puts them together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from .. import scenario as api
from ..experiments.engine import Experiment, Keep, Tables
from ..report import Report
from . import Settings
from .choke1999_cases import (
    ALONE,
    BURST_GAP_S,
    BURST_PACKETS,
    BURSTS,
    DEFAULT,
    DROP_3_LOAD,
    EARLY_AT_10,
    FAR_APART,
    FIVE_LOAD,
    FULL,
    IN_TIME,
    OVER_LOAD,
    RED_LOAD,
    SHORT_TIMEOUTS,
    SINGLE,
    TOGETHER,
    VARIANTS,
    WITH_SERIES,
)
from .points import RUN, fold, mean

__all__ = ["DEFAULT", "FULL", "experiments", "points", "report"]

POINT: Keep = {
    "flows": (
        "flow", "group", "kind", "throughput_bps", "loss_ratio", "arrivals_packets", "lost_packets", "lost_match",
        "queued_packets_mean",
    ),
    "links": (
        "link", "average_packets_mean", "average_packets_min", "average_packets_max", "utilisation",
        "queue_packets_mean", "arrivals_packets", "lost_packets", "lost_forced",
    ),
}  # fmt: skip
SERIES: Keep = {**POINT, "flow_series": ("time_s", "flow", "throughput_bps", "cwnd_segments")}

BURST_KEYS = 'kind = "udp"\nrate = "10 Mbit/s"\npacket_size = "1000 B"\nspread = "0 s"\n'
SMOOTH_KEYS = 'kind = "udp"\npacket_size = "1000 B"\njitter = 1\n'


def experiments(settings: Settings) -> list[Experiment]:
    """Every case once, the quickest first."""
    over_load = (*OVER_LOAD, *RED_LOAD, *DROP_3_LOAD, *FIVE_LOAD)
    cases = {
        case.id: case
        for case in (
            *ALONE, *SINGLE, *IN_TIME, *TOGETHER, *BURSTS, *VARIANTS, *SHORT_TIMEOUTS, FAR_APART, *EARLY_AT_10,
            *sorted(over_load, key=lambda case: (case.udp_mbps or 0.0) * case.udp_flows),
        )
    }  # fmt: skip
    length = (
        ("run.duration", f"{settings.duration_s} s"),
        ("run.warmup", f"{settings.warmup_s} s"),
        ("run.sample", f"{settings.sample_s} s"),
    )
    result = []
    for case in cases.values():
        text, name = api.read_scenario(case.scenario)
        series = case in WITH_SERIES
        result.append(
            Experiment(
                case.id,
                add_bursts(text, settings) if case.bursts else text,
                name,
                (*case.overrides(), *length, ("run.series", "true" if series else "false")),
                SERIES if series else POINT,
            )
        )
    return result


def add_bursts(text: str, settings: Settings) -> str:
    """The scenario with a flow that sends `BURST_PACKETS` packets every `BURST_GAP_S` seconds as fast as its access
    link carries them, while the run is measured, and a smooth flow of the same mean rate.

    Each burst is a group of its own, from 1 on, and the smooth flow is the last group. To every discipline here the
    bursts are one flow all the same: the queue, which holds a second or two, is all they know of a flow.
    """
    bursts = []
    for start in range(settings.warmup_s, settings.duration_s - BURST_GAP_S + 1, BURST_GAP_S):
        begin = start + BURST_GAP_S / 2
        end = begin + (BURST_PACKETS - 0.5) * 0.0008  # a packet takes 0.8 ms on the access link
        bursts.append(f'[[flows]]\n{BURST_KEYS}start = "{begin:g} s"\nstop = "{end:.4f} s"\n')
    rate = BURST_PACKETS * 8000 / BURST_GAP_S
    bursts.append(f'[[flows]]\n{SMOOTH_KEYS}rate = "{rate:g} bit/s"\n')
    return text.replace("[run]\n", "\n".join(bursts) + "\n[run]\n")


def points(results: Tables) -> pl.DataFrame:
    """One row for each run: `experiment`, `seed`, and

    `udp_bps`, `tcp_bps`, `tcp_flow_bps`, `tcp_best_bps` (throughput of UDP, all TCP, the mean and the best TCP flow),
    `udp_loss_ratio`, `tcp_loss_ratio` (the mean UDP flow's, and that of all TCP packets), `udp_queued`, `tcp_queued`,
    `udp_most_queued`, `udp_least_queued` (packets, mean over time; the two UDP flows with most and least of them),
    `average_mean`, `average_min` and `average_max` (packets, the discipline's own average; null if it keeps none),
    `queue_mean` (packets), `utilisation` of the bottleneck, its `loss_ratio` and the part of its losses that are
    `forced`; where they belong, `window_ratio` as `window_ratios` says and the columns of `burst_losses`.

    What a run has no flow for is null.
    """
    flows = results["flows"]
    udp = fold(
        flows.filter(pl.col("kind") == "udp"), RUN,
        udp_bps=("throughput_bps", math.fsum), udp_loss_ratio=("loss_ratio", mean),
        udp_queued=("queued_packets_mean", math.fsum), udp_most_queued=("queued_packets_mean", max),
        udp_least_queued=("queued_packets_mean", min),
    )  # fmt: skip
    tcp = fold(
        flows.filter(pl.col("kind") == "tcp"), RUN,
        tcp_bps=("throughput_bps", math.fsum), tcp_flow_bps=("throughput_bps", mean),
        tcp_best_bps=("throughput_bps", max), tcp_queued=("queued_packets_mean", math.fsum),
        tcp_lost=("lost_packets", math.fsum), tcp_arrived=("arrivals_packets", math.fsum),
    )  # fmt: skip
    tcp = tcp.with_columns(tcp_loss_ratio=pl.col("tcp_lost") / pl.col("tcp_arrived")).drop("tcp_lost", "tcp_arrived")
    links = results["links"].filter(pl.col("link") == "bottleneck").select(
        *RUN, "utilisation", average_mean="average_packets_mean", average_min="average_packets_min",
        average_max="average_packets_max", queue_mean="queue_packets_mean",
        loss_ratio=pl.col("lost_packets") / pl.col("arrivals_packets"),
        forced=pl.col("lost_forced") / pl.col("lost_packets"),
    )  # fmt: skip
    result = links
    for table in (udp, tcp, window_ratios(results["flow_series"]), burst_losses(flows)):
        result = result.join(table, on=RUN, how="left", maintain_order="left")
    return result


def window_ratios(series: pl.DataFrame) -> pl.DataFrame:
    """How much the TCP flows of a run of `TOGETHER` move in step: `window_ratio`, the variance over time of the sum of
    their windows over the sum of the variances of each. 1 when they are independent, their number when they are in
    step, less than 1 when one gives way as another grows. The first quarter of the samples is left out."""
    rows = []
    chosen = series.filter(
        pl.col("experiment").is_in([case.id for case in TOGETHER]) & pl.col("cwnd_segments").is_not_null()
    )
    for key, run in chosen.group_by(RUN, maintain_order=True):
        windows = [part["cwnd_segments"].to_list() for _, part in run.group_by("flow", maintain_order=True)]
        windows = [values[len(values) // 4 :] for values in windows]
        total = _variance([math.fsum(each) for each in zip(*windows, strict=True)])
        rows.append((*key, total / math.fsum(map(_variance, windows))))
    return pl.DataFrame(
        rows, schema={"experiment": pl.String, "seed": pl.UInt64, "window_ratio": pl.Float64}, orient="row"
    )


def _variance(values: Sequence[float]) -> float:
    middle = mean(values)
    return mean([(value - middle) ** 2 for value in values])


def burst_losses(flows: pl.DataFrame) -> pl.DataFrame:
    """For each run of `BURSTS`: `burst_loss` and `smooth_loss`, packets lost over packets arrived of the flow that
    sends bursts and of the smooth one, and `burst_match` and `smooth_match`, those lost by meeting their own flow."""
    chosen = flows.filter(pl.col("experiment").is_in([case.id for case in BURSTS]) & (pl.col("kind") == "udp"))
    smooth = pl.col("group") == pl.col("group").max().over(RUN)
    result: pl.DataFrame | None = None
    for name, which in (("burst", ~smooth), ("smooth", smooth)):
        sums = fold(
            chosen.filter(which), RUN,
            arrived=("arrivals_packets", math.fsum), lost=("lost_packets", math.fsum),
            matched=("lost_match", math.fsum),
        )  # fmt: skip
        table = sums.select(
            *RUN, (pl.col("lost") / pl.col("arrived")).alias(f"{name}_loss"),
            (pl.col("matched") / pl.col("arrived")).alias(f"{name}_match"),
        )  # fmt: skip
        result = table if result is None else result.join(table, on=RUN, maintain_order="left")
    assert result is not None
    return result


def report(settings: Settings, results: Tables) -> Report:
    """The report of what the runs gave."""
    from .choke1999_page import build

    return build(settings, results)
