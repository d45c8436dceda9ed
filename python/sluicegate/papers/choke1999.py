"""CHOKe: R. Pan and B. Prabhakar, Stanford technical report CSL-TR-99-779, 1999. First half: Figs. 2 to 9.

32 TCP transfers share a link of 1 Mbit/s with a UDP source that does not react, under Drop Tail, RED and CHOKe. The
scenario is `scenarios/choke1999.toml`, and a `Case` is what differs from it. This module lists the cases and makes
points of their runs; `choke1999_figures` draws them and `choke1999_checks` compares them with the report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import polars as pl

from .. import api
from ..report import Report
from ..runner import Experiment, Keep, Tables
from . import Settings
from .points import RUN, fold, mean

SCENARIO = "choke1999"
LINK_BPS = 1_000_000
TCP_FLOWS = 32
FAIR_BPS = LINK_BPS / (TCP_FLOWS + 1)
"""An equal share of the link for each of the 33 flows."""

RATES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 7.0, 10.0)
"""What UDP offers in Figs. 8 and 9, Mbit/s."""

DEFAULT = Settings(seeds=tuple(range(1, 21)), duration_s=400, warmup_s=100, sample_s=2)
FULL = Settings(seeds=tuple(range(1, 51)), duration_s=2000, warmup_s=400, sample_s=10)


@dataclass(frozen=True)
class Case:
    """One point: a discipline, its thresholds in packets (None where it has none), and UDP's rate in Mbit/s.

    `variant`: overrides of the choices that the report leaves open, with a name; empty for the choices made.
    """

    discipline: str
    thresholds: tuple[int, int] | None
    udp_mbps: float = 2.0
    variant: str = ""
    sets: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """Names the experiment: discipline, thresholds, rate, variant."""
        parts = [self.discipline, *map(str, self.thresholds or ()), f"{self.udp_mbps:g} Mbit/s", self.variant]
        return ", ".join(part for part in parts if part)

    def at(self, udp_mbps: float) -> Case:
        """The same with another rate of UDP."""
        return replace(self, udp_mbps=udp_mbps)

    def overrides(self) -> tuple[tuple[str, str], ...]:
        """What differs from the scenario, as `--set` takes it."""
        sets = [("queue.discipline", self.discipline), ("flows.1.rate", f"{self.udp_mbps:g} Mbit/s")]
        if self.thresholds:
            sets += [("queue.min_th", str(self.thresholds[0])), ("queue.max_th", str(self.thresholds[1]))]
        return (*sets, *self.sets)


DROP_TAIL = Case("drop_tail", None)
RED = (Case("red", (30, 60)), Case("red", (100, 200)))
CHOKE = (Case("choke", (30, 60)), Case("choke", (100, 200)))
IN_TIME = (DROP_TAIL, *RED, *CHOKE)
"""The cases of Figs. 2 to 7, whose series are kept; all with UDP at 2 Mbit/s."""

OVER_LOAD = tuple(case.at(rate) for case in CHOKE for rate in RATES)
"""The cases of Figs. 8 and 9."""

VARIANTS = tuple(
    replace(CHOKE[0], variant=name, sets=(change,))
    for name, change in (
        ("buffer of 100 packets", ("queue.limit", "100")),
        ("buffer of 1000 packets", ("queue.limit", "1000")),
        ("w_q = 0.001", ("queue.w_q", "0.001")),
        ("w_q = 0.01", ("queue.w_q", "0.01")),
        ("max_p = 0.05", ("queue.max_p", "0.05")),
        ("max_p = 0.1", ("queue.max_p", "0.1")),
        ("max_p = 0.5", ("queue.max_p", "0.5")),
        ("delay of 10 ms", ("network.delay", "10 ms")),
        ("delay of 100 ms", ("network.delay", "100 ms")),
        ("starts spread over 10 s", ("flows.0.spread", "10 s")),
    )
)
"""CHOKe at 30/60 and 2 Mbit/s with other values for what the report leaves open, one at a time."""

LESS_EARLY = next(case for case in VARIANTS if case.variant == "max_p = 0.1")
"""CHOKe at 30/60 and 2 Mbit/s that drops more packets early."""

FAR_APART = replace(CHOKE[0].at(0.1), variant="delay of 100 ms", sets=(("network.delay", "100 ms"),))
"""CHOKe at 30/60 and 0.1 Mbit/s with a longer line."""

SHORT_TIMEOUTS = (
    replace(
        DROP_TAIL,
        variant="time-outs of at most 0.5 s, UDP jittered",
        sets=(("flows.0.max_rto", "0.503 s"), ("flows.1.jitter", "1")),
    ),
    *(replace(case, variant="time-outs of at most 2 s", sets=(("flows.0.max_rto", "2.003 s"),)) for case in RED),
)
"""Drop Tail and RED at 2 Mbit/s with hosts that never wait longer. Not 0.5 or 2 s: a multiple of the 8 ms that a packet
takes would let a host meet the same phase of the queue each time. Under Drop Tail the phase also needs UDP's jitter: a
source that sends exactly two packets per departure fills every free place before all others, or after them."""

POINT: Keep = {
    "flows": ("flow", "kind", "throughput_bps", "loss_ratio", "queued_packets_mean"),
    "links": ("link", "average_packets_mean", "average_packets_min", "average_packets_max", "utilisation"),
}
SERIES: Keep = {**POINT, "flow_series": ("time_s", "flow", "throughput_bps")}


def experiments(settings: Settings) -> list[Experiment]:
    """Every case once, the quickest first."""
    text, name = api.read_scenario(SCENARIO)
    cases = {
        case.id: case
        for case in (
            *IN_TIME,
            *VARIANTS,
            *SHORT_TIMEOUTS,
            FAR_APART,
            *sorted(OVER_LOAD, key=lambda case: case.udp_mbps),
        )
    }
    length = (
        ("run.duration", f"{settings.duration_s} s"),
        ("run.warmup", f"{settings.warmup_s} s"),
        ("run.sample", f"{settings.sample_s} s"),
    )
    return [
        Experiment(
            case.id,
            text,
            name,
            (*case.overrides(), *length, ("run.series", "true" if case in IN_TIME else "false")),
            SERIES if case in IN_TIME else POINT,
        )
        for case in cases.values()
    ]


def points(results: Tables) -> pl.DataFrame:
    """One row for each run: `experiment`, `seed`, and

    `udp_bps`, `tcp_bps`, `tcp_flow_bps`, `tcp_best_bps` (throughput of UDP, all TCP, the mean and the best TCP flow),
    `udp_loss_ratio`, `udp_queued`, `tcp_queued` (packets, mean over time), `average_mean`, `average_min` and
    `average_max` (packets, the discipline's own average; null if it keeps none), `utilisation` of the bottleneck.
    """
    flows = results["flows"]
    udp = fold(
        flows.filter(pl.col("kind") == "udp"), RUN,
        udp_bps=("throughput_bps", math.fsum), udp_loss_ratio=("loss_ratio", mean),
        udp_queued=("queued_packets_mean", math.fsum),
    )  # fmt: skip
    tcp = fold(
        flows.filter(pl.col("kind") == "tcp"), RUN,
        tcp_bps=("throughput_bps", math.fsum), tcp_flow_bps=("throughput_bps", mean),
        tcp_best_bps=("throughput_bps", max), tcp_queued=("queued_packets_mean", math.fsum),
    )  # fmt: skip
    links = results["links"].filter(pl.col("link") == "bottleneck").select(
        *RUN, "utilisation", average_mean="average_packets_mean", average_min="average_packets_min",
        average_max="average_packets_max",
    )  # fmt: skip
    return udp.join(tcp, on=RUN, maintain_order="left").join(links, on=RUN, maintain_order="left")


def report(settings: Settings, results: Tables) -> Report:
    """The report of what the runs gave."""
    from .choke1999_figures import build

    return build(settings, results)
