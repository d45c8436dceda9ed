"""A run over time: goodput of each flow every K round trips, distributions, phases and courses over time
(RFC 7928, Secs. 2.7 and 8.2).

| what the RFC says | what we do | why |
|---|---|---|
| goodput at least every K·minRTT, K = 10; the period is to be disclosed, and the same for all schemes (Sec. 2.7) | every second, ten base round trips of 100 ms, in every scenario and for every discipline | a second is K round trips only if they are 100 ms long |
| goodput leaves out what came twice (Sec. 2.5) | each sample of a flow, multiplied by the part of the flow's packets that came once, over the whole run | for a single interval, only the arrived packets are known |
| distribution functions of goodput and delay (Sec. 2.7) | quantiles over all flows and samples of a group, and over its packets; for transfers that end, over completion times; for web users, over page loads | curves can be drawn from few numbers |
| results for each phase (Sec. 8.2) | sums and percentiles over all phases of a kind, from samples of flows and queue; a delay is the length of the queue divided by the rate of the moment, or by the mean rate where phases are shorter than a second | packets are counted for whole runs, not for phases |
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .phases import Phases

if TYPE_CHECKING:
    import polars as pl

K = 10
PERIOD_S = K * 0.1
"""How often goodput is sampled: K base round trips of 100 ms."""

PACKETS = ("arrivals_packets", "drops_packets", "lost_packets", "marked_packets")
"""What samples of flows count."""

PARTS = (0.0, 0.01, 0.05, *(round(0.1 * part, 1) for part in range(1, 10)), 0.95, 0.99, 1.0)
"""Where distribution functions are kept."""


def _by_period(series: pl.DataFrame, warmup_s: float) -> pl.DataFrame:
    """The samples of the whole periods after the warm-up, with the number of their `period`."""
    import polars as pl

    # A sample is of the interval that ends at its time.
    at = ((pl.col("time_s") - warmup_s) / PERIOD_S - 1e-6).floor().cast(pl.Int64)
    periods = math.floor((max(series["time_s"].to_list(), default=warmup_s) - warmup_s) / PERIOD_S + 1e-6)
    return series.with_columns(at.alias("period")).filter(pl.col("period") < periods)


def goodputs(series: pl.DataFrame, once: Mapping[int, float], warmup_s: float) -> pl.DataFrame:
    """The goodput of each flow in each whole period after the warm-up: `flow`, `period` and `goodput_bps`. `once`: by
    flow, the part of what it delivered that came once."""
    import polars as pl

    own = _by_period(series, warmup_s)
    found = own.group_by("flow", "period", maintain_order=True).agg(pl.col("throughput_bps").mean())
    factor = pl.col("flow").replace_strict(once, default=1.0, return_dtype=pl.Float64)
    return found.select("flow", "period", (pl.col("throughput_bps") * factor).alias("goodput_bps"))


def losses(series: pl.DataFrame, warmup_s: float) -> list[float]:
    """The loss ratio of some flows together in each whole period in which they sent."""
    import polars as pl

    sums = _by_period(series, warmup_s).group_by("period", maintain_order=True).agg(pl.col(*PACKETS).sum())
    lost = (pl.col("drops_packets") + pl.col("lost_packets")) / pl.col("arrivals_packets")
    return sums.filter(pl.col("arrivals_packets") > 0).select(lost).to_series().to_list()


def quantiles(values: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """The values that at least each of `PARTS` do not exceed, none without values; `weights`: how many are alike."""
    import numpy as np

    if not len(values):
        return []
    order = np.argsort(values, kind="stable")
    ordered = np.asarray(values, dtype=float)[order]
    counts = np.ones(len(ordered)) if weights is None else np.asarray(weights, dtype=float)[order]
    reached = np.cumsum(counts)
    at = np.searchsorted(reached, np.asarray(PARTS) * reached[-1] * (1 - 1e-12))
    return [float(each) for each in ordered[np.minimum(at, len(ordered) - 1)]]


def delays_of(delays: pl.DataFrame, name: str) -> tuple[list[float], list[int]]:
    """The classes of delays of a group, upper ends in ns, and how many packets each has."""
    own = delays.filter(name=name).sort("delay_max_ns")
    return own["delay_max_ns"].to_list(), own["packets"].to_list()


def variation(ends: Sequence[float], packets: Sequence[int]) -> float | None:
    """The packet delay variation (RFC 5481, Sec. 4.2): the 99th percentile of the delay less the least one."""
    found = quantiles(ends, packets)
    return found[PARTS.index(0.99)] - found[0] if found else None


def of_phases(
    series: pl.DataFrame, queue: pl.DataFrame, phases: Phases, warmup_s: float, sample_s: float
) -> list[dict[str, Any]]:
    """A row for each kind of phase, `of` it by number. `series`: of all flows over the one link of `queue`."""
    import polars as pl

    sums = series.group_by("time_s").agg(pl.col("throughput_bps", *PACKETS).sum())
    there = (
        _with_delay(queue, phases)
        .join(sums, on="time_s", maintain_order="left")
        .filter(pl.col("time_s") > warmup_s + 1e-9)
    )
    middle = pl.col("time_s") - sample_s / 2 - warmup_s
    there = there.with_columns((middle % phases.cycle_s / phases.length_s).floor().cast(pl.Int64).alias("phase"))
    rows = []
    for number, rate in enumerate(phases.rates_bps):
        own = there.filter(phase=number)
        if not own.height:
            continue
        sent, wait = (math.fsum(own[name]) / own.height for name in ("throughput_bps", "delay_ns"))
        arrivals, drops, lost, marked = (int(own[name].sum()) for name in PACKETS)
        waits = quantiles(own["delay_ns"].to_list())
        row: dict[str, Any] = {"of": f"phase:{number}", "goodput_bps": sent, "utilisation": sent / rate}
        row["delay_mean_ns"] = wait
        row |= {f"delay_p{round(100 * part)}_ns": waits[PARTS.index(part)] for part in (0.5, 0.95, 0.99)}
        row |= {"loss_ratio": (drops + lost) / arrivals, "marked_ratio": marked / arrivals} if arrivals else {}
        rows.append(row)
    return rows


def _with_delay(queue: pl.DataFrame, phases: Phases) -> pl.DataFrame:
    """The samples of a queue with the time that it takes at the rate of the moment, or at the mean one where phases are
    so short that it leaves over several of them."""
    import polars as pl

    rate = pl.lit(math.fsum(phases.rates_bps) / len(phases.rates_bps)) if phases.short else pl.col("rate_bps")
    return queue.select("time_s", (8e9 * pl.col("queue_bytes") / rate).alias("delay_ns"))


def course(series: pl.DataFrame, queue: pl.DataFrame, phases: Phases, warmup_s: float, sample_s: float) -> pl.DataFrame:
    """Goodput of all flows, queueing delay and loss over time from the end of the warm-up on: means over `PERIOD_S`; of
    short phases, over one cycle, a tenth of a phase each, the mean of all cycles."""
    import polars as pl

    step = phases.length_s / 10 if phases.short else PERIOD_S
    since = pl.col("time_s") - sample_s / 2 - warmup_s
    at = ((since % phases.cycle_s if phases.short else since) / step + 1e-6).floor()
    sums = series.group_by("time_s").agg(pl.col("throughput_bps", *PACKETS).sum())
    there = _with_delay(queue, phases).join(sums, on="time_s").filter(pl.col("time_s") > warmup_s + 1e-9)
    found = there.group_by((at * step).alias("time_s")).agg(
        pl.col("throughput_bps").mean().alias("goodput_bps"), pl.col("delay_ns").mean(), pl.col(*PACKETS).sum()
    )
    loss = (pl.col("drops_packets") + pl.col("lost_packets")) / pl.col("arrivals_packets")
    return found.sort("time_s").select(
        "time_s", "goodput_bps", "delay_ns", pl.when(pl.col("arrivals_packets") > 0).then(loss).alias("loss_ratio")
    )


def avoidance(series: pl.DataFrame, flows: Sequence[int]) -> float | None:
    """When the last of these transfers had left its first slow start, in seconds: its window had reached the threshold.
    None if one never had, and without transfers."""
    import polars as pl

    own = series.filter(pl.col("flow").is_in(list(flows)) & (pl.col("cwnd_segments") >= pl.col("ssthresh_segments")))
    firsts = own.group_by("flow").agg(pl.col("time_s").min())
    return float(firsts["time_s"].max()) if flows and firsts.height == len(flows) else None  # type: ignore[arg-type]
