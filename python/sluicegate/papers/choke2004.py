"""Understanding CHOKe: A. Tang, J. Wang and S. H. Low, IEEE/ACM Transactions on Networking 12(4), 2004. Figs. 4 to 9.

This module runs the cases of `choke2004_cases` and makes points of their runs. `choke2004_model` has the paper's models
beside them, `choke2004_figures` and `choke2004_checks` what is made of both; `choke2004_page` puts them together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from .. import api
from ..report import Report
from ..runner import Experiment, Keep, Tables
from . import Settings
from .choke2004_cases import DEFAULT, FULL, SNAPSHOT_S, VEGAS_S, Case, all_cases
from .points import RUN, fold, mean

__all__ = ["DEFAULT", "FULL", "density", "experiments", "groups", "points", "report"]

SCENARIO = "choke2004"
KEEP: Keep = {
    "flows": ("flow", "group", "kind", "throughput_bps", "arrivals_packets", "lost_packets", "queued_packets_mean",
              "timeouts", "delivered_packets"),
    "links": ("utilisation", "queue_packets_mean", "average_packets_mean", "rate_bps"),
}  # fmt: skip
PLACES: Keep = {"positions": ("time_s", "behind_packets", "flow")}
QUEUE: Keep = {"queue": ("time_s", "queue_packets", "average_packets")}
MOST_PLACES = 200_000
"""Packets whose places a run keeps: snapshots of more than two minutes."""

BINS = 20
"""Parts into which the queue is cut, from tail to head."""


def experiments(settings: Settings) -> list[Experiment]:
    """Every case once. Vegas runs for as long as the paper's, of which the first quarter is not measured."""
    text, name = api.read_scenario(SCENARIO)
    result = []
    for case in all_cases().values():
        duration, warmup = settings.duration_s, settings.warmup_s
        if case.vegas:
            duration, warmup = min(VEGAS_S, duration), min(VEGAS_S, duration) // 4
        length = (
            ("run.duration", f"{duration} s"),
            ("run.warmup", f"{warmup} s"),
            ("run.sample", f"{SNAPSHOT_S:g} s"),
            ("run.series", "true" if case.series else "false"),
            ("run.positions", str(MOST_PLACES if case.snapshots else 0)),
        )
        keep = {**KEEP, **(PLACES if case.snapshots else {}), **(QUEUE if case.series else {})}
        result.append(Experiment(case.id, case.text(text), name, (*case.overrides(), *length), keep))
    return result


def points(results: Tables) -> pl.DataFrame:
    """One row for each run: `experiment`, `seed`, and

    `share` (of the link, all unresponsive flows), `occupancy` (their part of the queue), `b` (packets waiting, mean
    over time), `tcp_flow` (packets per second that a TCP flow of the first group gets), `tcp_bps`, `tcp_loss`,
    `udp_loss` (lost over arrived), `timeouts` (of TCP, over its delivered packets), `utilisation` and
    `average` (RED's own).
    """
    flows, links = results["flows"], results["links"]
    udp = fold(
        flows.filter(pl.col("kind") == "udp"), RUN, udp_bps=("throughput_bps", math.fsum),
        udp_queued=("queued_packets_mean", math.fsum), udp_lost=("lost_packets", math.fsum),
        udp_arrived=("arrivals_packets", math.fsum),
    )  # fmt: skip
    tcp = fold(
        flows.filter(pl.col("kind") == "tcp"), RUN, tcp_bps=("throughput_bps", math.fsum),
        tcp_lost=("lost_packets", math.fsum), tcp_arrived=("arrivals_packets", math.fsum),
        tcp_timeouts=("timeouts", math.fsum), tcp_delivered=("delivered_packets", math.fsum),
    )  # fmt: skip
    one = fold(flows.filter(pl.col("group") == 0), RUN, tcp_flow=("throughput_bps", mean))
    table = links.select(*RUN, "rate_bps", "utilisation", b="queue_packets_mean", average="average_packets_mean")
    for part in (udp, tcp, one):
        table = table.join(part, on=RUN, how="left", maintain_order="left")
    return table.select(
        *RUN, "b", "utilisation", "average", "tcp_bps",
        share=pl.col("udp_bps") / pl.col("rate_bps"),
        occupancy=pl.col("udp_queued") / pl.col("b"),
        tcp_flow=pl.col("tcp_flow") / 8000,
        tcp_loss=pl.col("tcp_lost") / pl.col("tcp_arrived"),
        udp_loss=pl.col("udp_lost") / pl.col("udp_arrived"),
        timeouts=pl.col("tcp_timeouts") / pl.col("tcp_delivered"),
    )  # fmt: skip


def groups(results: Tables, cases: Sequence[Case]) -> pl.DataFrame:
    """One row for each run and group of flows of `cases`: `group`, and `share` of the link."""
    chosen = results["flows"].filter(pl.col("experiment").is_in([case.id for case in cases]))
    sums = fold(chosen, (*RUN, "group", "kind"), bps=("throughput_bps", math.fsum))
    rates = results["links"].select(*RUN, "rate_bps")
    return sums.join(rates, on=RUN, maintain_order="left").select(
        *RUN, "group", "kind", share=pl.col("bps") / pl.col("rate_bps")
    )


def density(results: Tables, settings: Settings, case: Case) -> pl.DataFrame:
    """ρ(y) of one case by seed, from snapshots after the warm-up.

    `place`: of the middle of each part of the queue, 0 at the tail and 1 at the head; `rho`: the part of the packets
    found there that are UDP's. The row of place 1 is the packet at the very head.
    """
    tcp = sum(count for count, _ in case.tcp)
    rows = results["positions"].filter((pl.col("experiment") == case.id) & (pl.col("time_s") > settings.warmup_s))
    parts = []
    for seed in sorted(rows["seed"].unique().to_list()):
        one = rows.filter(pl.col("seed") == seed)
        time, behind = one["time_s"].to_numpy(), one["behind_packets"].to_numpy()
        udp = one["flow"].to_numpy() > tcp
        ends = np.append(time[1:] != time[:-1], True)
        length = np.repeat(behind[ends] + 1, np.diff(np.append(-1, np.flatnonzero(ends))))
        bins = np.minimum(((behind + 0.5) / length * BINS).astype(int), BINS - 1)
        counts = np.bincount(bins, minlength=BINS)
        hits = np.bincount(bins, weights=udp, minlength=BINS)
        rho = np.append(hits / counts, udp[ends].mean())
        place = np.append((np.arange(BINS) + 0.5) / BINS, 1.0)
        parts.append(
            pl.DataFrame({"experiment": case.id, "seed": pl.Series([seed] * (BINS + 1), dtype=pl.UInt64),
                          "x0": case.x0, "place": place, "rho": rho})
        )  # fmt: skip
    return pl.concat(parts)


def report(settings: Settings, results: Tables) -> Report:
    """The report of what the runs gave."""
    from .choke2004_page import build

    return build(settings, results)
