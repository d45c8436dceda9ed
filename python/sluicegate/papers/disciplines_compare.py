"""Every discipline on three scenarios: what is run, what is measured, and by which criteria one is chosen.

The scenarios are `unresponsive` (32 TCP transfers and a UDP flow of 2 Mbit/s on 1 Mbit/s), `mixed_round_trips` and
`bursts`. In each all disciplines have the same buffer and, if they have one, the same target: thresholds, q_ref and
b_ref stand around the same number of packets. PI's gains belong to a link and are computed for it; CoDel, FQ-CoDel and
PIE keep the targets of their RFCs, which are to need no setting. All else is what a discipline has by default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import polars as pl

from .. import scenario as api
from ..design.pi import design_pi
from ..experiments import compare as comparison
from ..experiments.compare import Comparison
from ..experiments.disciplines import Choice, choices
from ..experiments.engine import Experiment, Tables
from ..stats import Interval, interval
from . import Settings
from .points import RUN, fold, mean

BASELINE = "drop_tail"
FAIR = 1 / 33
"""The unresponsive flow's share of the link, if all flows had the same."""


@dataclass(frozen=True)
class Workload:
    """One scenario. `queue`: the target in packets; `limit`: the buffer. `rate`, `rtt` and `flows`: what PI's gains
    follow from; the round trip includes queueing. `longer`: so many times the settings' length, for a slow link."""

    id: str
    title: str
    rate: str
    queue: int
    limit: int
    rtt: str
    flows: int
    longer: int = 1

    def tuned(self) -> tuple[tuple[str, str], ...]:
        """Overrides that give every discipline the same buffer and target."""
        gains = design_pi(rate=self.rate, rtt=self.rtt, flows=self.flows, q_ref=self.queue).queue
        low, high, queue = f"{2 * self.queue // 3}", f"{4 * self.queue // 3}", f"{self.queue}"
        return (
            ("queue.limit", str(self.limit)), ("queue.min_th", low), ("queue.max_th", high),
            ("queue.rio.out_min_th", low), ("queue.rio.out_max_th", high),
            ("queue.rio.in_min_th", queue), ("queue.rio.in_max_th", f"{2 * self.queue}"),
            *((f"queue.{name}.q_ref", queue) for name in ("pi", "afd", "dcn")), ("queue.rem.b_ref", queue),
            ("queue.pi.a", f"{gains.a:.6g}"), ("queue.pi.b", f"{gains.b:.6g}"),
        )  # fmt: skip


UNRESPONSIVE = Workload(
    "unresponsive", "One unresponsive flow", "1 Mbit/s", queue=45, limit=300, rtt="400 ms", flows=32, longer=2
)
MIXED = Workload("mixed_round_trips", "Mixed round trips", "10 Mbit/s", queue=30, limit=200, rtt="225 ms", flows=40)
BURSTS = Workload("bursts", "Bursts", "10 Mbit/s", queue=30, limit=200, rtt="125 ms", flows=20)
WORKLOADS = (UNRESPONSIVE, MIXED, BURSTS)

NONE, FIXED, QUEUED, HEARD = "none", "fixed table", "flows queued", "flows heard of"
STATES = (NONE, FIXED, QUEUED, HEARD)
"""What a discipline remembers of flows, least first."""

STATE: dict[str, tuple[str, str]] = {
    "drop_tail": (NONE, ""), "random_drop": (NONE, ""), "early_random_drop": (NONE, ""), "red": (NONE, ""),
    "ared": (NONE, ""), "decbit": (NONE, "marks in headers"), "pi": (NONE, ""), "rem": (NONE, ""),
    "blue": (NONE, ""), "codel": (NONE, "a time in each packet"), "pie": (NONE, ""),
    "rio": (NONE, "a bit in each packet, set at the edge"), "choke": (NONE, "looks into the queue"),
    "choke_linux": (NONE, "looks into the queue"), "sred": (FIXED, "1000 zombies"),
    "sfb": (FIXED, "2 tables of 8 × 16 bins"), "afd": (FIXED, "500 packets' flows"),
    "dcn": (FIXED, "16384 + 8192 entries"), "fred": (QUEUED, ""), "fq": (QUEUED, "a queue for each"),
    "sfq": (QUEUED, "128 queues at most"), "fq_codel": (QUEUED, "1024 queues"),
    "red_pd": (HEARD, "those that lost packets lately"), "penalty_box": (HEARD, "those that lost packets lately"),
    "rio_ps": (HEARD, "at the edge"), "csfq": (HEARD, "at the edge"),
}  # fmt: skip
"""What each discipline remembers of flows, by its module's description: the kind, and what it is."""


@cache
def listed() -> tuple[Choice, ...]:
    """The disciplines, in the order in which the package lists them."""
    from ..experiments.disciplines import known

    return tuple(choices(",".join(name for name in known() if name in STATE)))


DCN_VARIANTS = ("dcn:count=arrived", "dcn:law=printed")
"""Run beside the others under the unresponsive flow, for the study of DCN."""


def entries(workload: Workload) -> list[Choice]:
    """What runs under a workload."""
    return [*listed(), *(choices(",".join(DCN_VARIANTS)) if workload is UNRESPONSIVE else ())]


def experiments(settings: Settings) -> list[Experiment]:
    """Every discipline under every workload."""
    kept = comparison._kept()
    keep = {
        "flows": (*kept["flows"], "group", "delay_p99_ns", "base_rtt_ns"),
        "links": (*kept["links"], "queue_packets_mean"),
    }
    result = []
    for workload in WORKLOADS:
        text, name = api.read_scenario(workload.id)
        length = (
            ("run.duration", f"{workload.longer * settings.duration_s} s"),
            ("run.warmup", f"{workload.longer * settings.warmup_s} s"),
            ("run.series", "false"),
        )
        result += [
            Experiment(id_of(workload, choice.label), text, name, (*workload.tuned(), *length, *choice.sets), keep)
            for choice in entries(workload)
        ]
    return result


def id_of(workload: Workload, label: str) -> str:
    """The experiment of a discipline under a workload."""
    return f"{workload.id} {label}"


Compared = Mapping[str, Comparison]
"""What `compared` returns: by the id of a workload."""


def compared(settings: Settings, results: Tables) -> dict[str, Comparison]:
    """The comparison under each workload. To what `sluicegate compare` measures each adds

    `queue_packets_mean`; `unfairness` (1 less Jain's index among TCP); `unused` (of the link); `udp_share` (of what is
    delivered) where there is a `udp` flow; `tcp_delay_p99_ns`, the mean over TCP flows of the 99th percentile of a
    packet's delay beyond half the base round trip; and under `bursts` `burst_excess`, the part of their packets that
    the bursty sources lose less that of the smooth ones.
    """
    return {workload.id: _compared(workload, settings, results) for workload in WORKLOADS}


def _compared(workload: Workload, settings: Settings, results: Tables) -> Comparison:
    mine = {id_of(workload, choice.label): choice.label for choice in entries(workload)}
    tables = {
        name: results[name].filter(pl.col("experiment").is_in(list(mine))).with_columns(
            pl.col("experiment").replace_strict(mine, return_dtype=pl.String)
        )
        for name in ("flows", "links")
    }  # fmt: skip
    kinds = comparison.kinds_of(tables["flows"])
    links = list(dict.fromkeys(tables["links"]["link"].to_list()))
    runs = comparison.measured(tables, kinds, links)
    waits = tables["flows"].filter(pl.col("algorithm") != "").with_columns(
        waited=pl.col("delay_p99_ns") - pl.col("base_rtt_ns") / 2
    )  # fmt: skip
    extra = tables["links"].select(*RUN, "queue_packets_mean").join(
        fold(waits, RUN, tcp_delay_p99_ns=("waited", mean)), on=RUN, how="left", maintain_order="left"
    )  # fmt: skip
    runs = runs.join(extra.rename({"experiment": "discipline"}), on=["discipline", "seed"], maintain_order="left")
    runs = runs.with_columns(unfairness=1 - pl.col("jain_tcp"), unused=1 - pl.col("utilisation"))
    if "udp_throughput_bps" in runs.columns:
        runs = runs.with_columns(udp_share=pl.col("udp_throughput_bps") / pl.col("throughput_bps"))
    if "on_off_loss_ratio" in runs.columns:
        runs = runs.with_columns(burst_excess=pl.col("on_off_loss_ratio") - pl.col("poisson_loss_ratio"))
    names = {choice.label: choice.name for choice in entries(workload)}
    summary = {"seeds": list(settings.seeds)}
    return Comparison(runs, names, BASELINE, list(kinds.values()), links, summary)


# How one is chosen ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Criterion:
    """A question with a measured answer; less of the quantity is better.

    `asks`: completes "it ...". `bound`: the most that is good enough, in the unit of `metric`; None for half of what
    the baseline has in the same run. `factor` and `unit` are those in which the quantity is shown.
    """

    id: str
    asks: str
    head: str
    workload: Workload
    metric: str
    factor: float
    unit: str
    decimals: int
    bound: float | None = None


CRITERIA = (
    Criterion("held", "holds the unresponsive flow to twice its fair share or less", "unresponsive\nflow's share",
              UNRESPONSIVE, "udp_share", 100, "%", 1, 2 * FAIR),
    Criterion("fair", "halves the unfairness of mixed round trips", "unfairness\n(1 - Jain),\nmixed trips", MIXED,
              "unfairness", 1, "", 3),
    Criterion("quick", "halves the delay of TCP's packets", "TCP's delay,\np99,\nmixed trips", MIXED,
              "tcp_delay_p99_ns", 1e-6, "ms", 0),
    Criterion("bursts", "halves what bursts lose beyond smooth traffic", "bursts' loss\nbeyond\nsmooth", BURSTS,
              "burst_excess", 100, "points", 1),
    Criterion("used", "leaves at most 5 % of the link unused", "link unused,\nmixed trips", MIXED, "unused", 100, "%",
              1, 0.05),
)  # fmt: skip
"""What is asked of a discipline. Halved is what Drop Tail has under the same traffic."""


def excess(criterion: Criterion, all_: Compared, label: str) -> list[float]:
    """By seed, how much more a discipline has than is good enough; NaN where a value is missing."""
    own, base = (by_seed(all_, criterion.workload, name, criterion.metric) for name in (label, BASELINE))
    if criterion.bound is not None:
        return [value - criterion.bound for value in own]
    return [value - other / 2 for value, other in zip(own, base, strict=True)]


def meets(criterion: Criterion, all_: Compared, label: str) -> bool:
    """Whether a discipline meets a criterion with the whole 95 % interval over seeds. A missing value does not."""
    over = interval(excess(criterion, all_, label))
    return math.isfinite(over.mean) and over.mean + over.margin <= 0


def met(all_: Compared, label: str) -> list[str]:
    """The ids of the criteria that a discipline meets."""
    return [criterion.id for criterion in CRITERIA if meets(criterion, all_, label)]


def ranked(all_: Compared) -> list[str]:
    """Disciplines: those that meet most criteria first, then those with least state, then with least delay."""

    def key(label: str) -> tuple[int, int, float]:
        delay = all_[MIXED.id].mean(label, "tcp_delay_p99_ns")["mean"]
        return -len(met(all_, label)), STATES.index(STATE[label][0]), math.inf if delay is None else delay

    return sorted((choice.label for choice in listed()), key=key)


def spread(all_: Compared, workload: Workload, label: str, metric: str) -> Interval:
    """The mean over seeds of a quantity under a workload, with its interval; NaN where a run has no value."""
    return interval(by_seed(all_, workload, label, metric))


def by_seed(all_: Compared, workload: Workload, label: str, metric: str) -> list[float]:
    """The values of a quantity under a workload, by seed."""
    runs = all_[workload.id].runs.filter(pl.col("discipline") == label).sort("seed")
    return [math.nan if value is None else float(value) for value in runs[metric].to_list()]
