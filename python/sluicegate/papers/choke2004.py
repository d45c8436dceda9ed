"""Understanding CHOKe: A. Tang, J. Wang and S. H. Low, IEEE/ACM Transactions on Networking 12(4), 2004. Figs. 4 to 9.

This module runs the cases of `choke2004_cases` and makes points of their runs. `choke2004_model` has the paper's models
beside them, `choke2004_figures` and `choke2004_checks` what is made of both; `choke2004_page` puts them together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from .. import scenario as api
from ..experiments.engine import Experiment, Keep, Tables
from ..report import Report
from . import Settings
from .choke2004_cases import DEFAULT, FULL, PACKET_BITS, SNAPSHOT_S, Case, all_cases, window_s
from .points import RUN, fold

__all__ = ["DEFAULT", "FULL", "density", "experiments", "groups", "points", "report"]

SCENARIO = "choke2004"
KEEP: Keep = {
    "flows": ("flow", "group", "kind", "throughput_bps", "arrivals_packets", "lost_packets", "lost_match",
              "queued_packets_mean", "timeouts", "delivered_packets"),
    "links": ("utilisation", "queue_packets_mean", "average_packets_mean", "rate_bps", "queueing_delay_mean_ns",
              "arrivals_packets", "lost_early", "lost_match"),
}  # fmt: skip
PLACES: Keep = {"density": ("place", "rho", "until_s")}
QUEUE: Keep = {"queue": ("time_s", "queue_packets", "average_packets")}
MOST_PLACES = 5_000_000
"""Packets whose places a run keeps, the most that it can: a snapshot of 1000 packets every 97.3 ms for eight
minutes."""

BINS = 20
"""Parts into which the queue is cut, from tail to head."""


def experiments(settings: Settings) -> list[Experiment]:
    """Every case once."""
    text, name = api.read_scenario(SCENARIO)
    result = []
    for case in all_cases().values():
        duration, warmup = window_s(case, settings)
        length = (
            ("run.duration", f"{duration} s"),
            ("run.warmup", f"{warmup} s"),
            ("run.sample", f"{1000 * SNAPSHOT_S:g} ms"),
            ("run.series", "true" if case.series else "false"),
            ("run.positions", str(MOST_PLACES if case.snapshots else 0)),
        )
        keep = {**KEEP, **(PLACES if case.snapshots else {}), **(QUEUE if case.series else {})}
        # Snapshots are a hundred thousand packets in each run: what is made of them is kept, not they.
        make = partial(density_of, tcp=sum(count for count, _ in case.tcp), warmup=warmup) if case.snapshots else None
        result.append(Experiment(case.id, case.text(text), name, (*case.overrides(), *length), keep, derive=make))
    return result


def points(results: Tables, settings: Settings) -> pl.DataFrame:
    """One row for each run: `experiment`, `seed`, and

    `share` (of the link, all unresponsive flows), `occupancy` (their part of the queue), `b` (packets waiting, mean
    over time), `tau` (seconds that packets wait), `average` (RED's own), `utilisation`, `tcp_bps`, `udp_loss`;
    of a TCP flow of the first group `tcp_flow` (packets per second that it gets), `x1` (those that it sends), `p1`
    (lost over arrived); `timeouts` (of TCP, over its delivered packets). `r`: dropped by congestion of the arrivals
    that no comparison dropped. `hits0`, `hits1`: what a comparison dropped of UDP's arrivals and of TCP's (of the
    first group), over the part of the queue that one such flow has: 1 by (5) for like flows. The last three are NaN
    with several candidates, where a match does not always drop two packets, and the hits where nothing was queued.
    """
    cases = all_cases()
    flows, links = results["flows"], results["links"]
    seconds = {name: float(np.subtract(*window_s(case, settings))) for name, case in cases.items()}
    udp = fold(
        flows.filter(pl.col("kind") == "udp"), RUN, udp_bps=("throughput_bps", math.fsum),
        udp_queued=("queued_packets_mean", math.fsum), udp_lost=("lost_packets", math.fsum),
        udp_arrived=("arrivals_packets", math.fsum), udp_match=("lost_match", math.fsum),
    )  # fmt: skip
    tcp = fold(
        flows.filter(pl.col("kind") == "tcp"), RUN, tcp_bps=("throughput_bps", math.fsum),
        tcp_timeouts=("timeouts", math.fsum), tcp_delivered=("delivered_packets", math.fsum),
    )  # fmt: skip
    one = fold(
        flows.filter(pl.col("group") == 0), RUN, one_bps=("throughput_bps", math.fsum),
        one_lost=("lost_packets", math.fsum), one_arrived=("arrivals_packets", math.fsum),
        one_queued=("queued_packets_mean", math.fsum), one_match=("lost_match", math.fsum),
    )  # fmt: skip
    table = links.select(
        *RUN, "rate_bps", "utilisation", b="queue_packets_mean", average="average_packets_mean",
        tau=pl.col("queueing_delay_mean_ns") / 1e9, arrived="arrivals_packets", early="lost_early", match="lost_match",
    )  # fmt: skip
    for part in (udp, tcp, one):
        table = table.join(part, on=RUN, how="left", maintain_order="left")
    ids = table["experiment"].to_list()
    table = table.with_columns(
        flows=pl.Series([cases[name].tcp[0][0] for name in ids], dtype=pl.Float64),
        unresponsive=pl.Series([sum(count for count, _ in cases[name].udp) for name in ids], dtype=pl.Float64),
        seconds=pl.Series([seconds[name] for name in ids], dtype=pl.Float64),
        known=pl.Series([1.0 if cases[name].candidates == 1 else math.nan for name in ids], dtype=pl.Float64),
    )

    def hits(part: str, flows: pl.Expr) -> pl.Expr:
        met = pl.col(f"{part}_match") / 2 / pl.col(f"{part}_arrived")
        return pl.col("known") * met / (pl.col(f"{part}_queued") / flows / pl.col("b"))

    return table.select(
        *RUN, "b", "tau", "utilisation", "average", "tcp_bps",
        share=pl.col("udp_bps") / pl.col("rate_bps"),
        occupancy=pl.col("udp_queued") / pl.col("b"),
        tcp_flow=pl.col("one_bps") / pl.col("flows") / PACKET_BITS,
        x1=pl.col("one_arrived") / pl.col("flows") / pl.col("seconds"),
        p1=pl.col("one_lost") / pl.col("one_arrived"),
        udp_loss=pl.col("udp_lost") / pl.col("udp_arrived"),
        timeouts=pl.col("tcp_timeouts") / pl.col("tcp_delivered"),
        r=pl.col("known") * pl.col("early") / (pl.col("arrived") - pl.col("match") / 2),
        hits0=hits("udp", pl.col("unresponsive")), hits1=hits("one", pl.col("flows")),
    )  # fmt: skip


def groups(results: Tables, cases: Sequence[Case]) -> pl.DataFrame:
    """One row for each run and group of flows of `cases`: `group`, and `share` of the link."""
    chosen = results["flows"].filter(pl.col("experiment").is_in([case.id for case in cases]))
    sums = fold(chosen, (*RUN, "group", "kind"), bps=("throughput_bps", math.fsum))
    rates = results["links"].select(*RUN, "rate_bps")
    return sums.join(rates, on=RUN, maintain_order="left").select(
        *RUN, "group", "kind", share=pl.col("bps") / pl.col("rate_bps")
    )


def density_of(tables: Tables, tcp: int, warmup: float) -> Tables:
    """ρ(y) of one run, from its snapshots after the warm-up; flows above `tcp` are UDP.

    `place`: of the middle of each part of the queue, 0 at the tail and 1 at the head; `rho`: the part of the packets
    found there that are UDP's, NaN where none was. The row of place 1 is the packet at the very head. `until_s`: the
    time of the last snapshot.
    """
    rows = tables["positions"].filter(pl.col("time_s") > warmup)
    time, behind = rows["time_s"].to_numpy(), rows["behind_packets"].to_numpy()
    udp = rows["flow"].to_numpy() > tcp
    ends = np.append(time[1:] != time[:-1], True)[: len(time)]
    length = np.repeat(behind[ends] + 1, np.diff(np.append(-1, np.flatnonzero(ends))))
    bins = np.minimum(((behind + 0.5) / length * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    hits = np.bincount(bins, weights=udp, minlength=BINS)
    with np.errstate(invalid="ignore"):
        rho = np.append(hits / counts, udp[ends].sum() / np.float64(ends.sum()))
    place = np.append((np.arange(BINS) + 0.5) / BINS, 1.0)
    last = float(time[-1]) if len(time) else math.nan
    return {"density": pl.DataFrame({"place": place, "rho": rho, "until_s": np.full(BINS + 1, last)})}


def density(results: Tables, case: Case) -> pl.DataFrame:
    """ρ(y) of one case by seed: `experiment`, `seed`, `x0`, `place`, `rho`; see `density_of`."""
    rows = results["density"].filter(pl.col("experiment") == case.id)
    return rows.select(*RUN, pl.lit(case.x0).alias("x0"), "place", "rho")


def report(settings: Settings, results: Tables) -> Report:
    """The report of what the runs gave."""
    from .choke2004_page import build

    return build(settings, results)
