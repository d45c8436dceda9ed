"""Every discipline on three scenarios: what is run and what is measured.

The scenarios are `unresponsive` (32 TCP transfers and a UDP flow of 2 Mbit/s on 1 Mbit/s), `mixed_round_trips` and
`bursts`. In each all disciplines have the same buffer and, if they have one, the same target: thresholds, q_ref and
b_ref stand around the same number of packets. PI's gains belong to a link and are computed for it; CoDel, FQ-CoDel and
PIE keep the targets of their RFCs, which are meant to need no tuning. All else is what a discipline has by default. The
hosts are Linux's, because a reader chooses a discipline for today's hosts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from ...declarations import declarations
from ...design.footing import footing
from ...experiments.disciplines import choices
from ...experiments.engine import Sets
from ...reproduce import (
    FLOWS,
    LINK,
    TCP,
    UDP,
    Measure,
    Quantity,
    Runs,
    Settings,
    Study,
    Variant,
    each_run,
    ms,
    packets,
    percent,
)
from ...stats import jain

BASELINE = "drop_tail"
FAIR = 100 / 33
"""The unresponsive flow's share of the link in per cent, if all flows had the same."""


@dataclass(frozen=True)
class Workload:
    """One scenario. `queue`: the target in packets; `limit`: the buffer. `rate`, `rtt`, `flows` and `packet_size`: what
    PI's gains follow from; the round trip includes queueing. `longer`: so many times the settings' length, for a slow
    link."""

    scenario: str
    rate: str
    queue: int
    limit: int
    rtt: str
    flows: int
    packet_size: str = "1500 B"
    longer: int = 1

    def tuned(self) -> Sets:
        """Overrides that give every discipline the same buffer and target."""
        values = footing(
            rate=self.rate, rtt=self.rtt, flows=self.flows, queue=self.queue, limit=self.limit,
            packet_size=self.packet_size,
        )  # fmt: skip
        return tuple((f"queue.{key}", value) for key, value in values.items())

    def lasting(self, settings: Settings) -> Settings:
        """The length of its runs."""
        return replace(settings, duration_s=self.longer * settings.duration_s, warmup_s=self.longer * settings.warmup_s)


UNRESPONSIVE = Workload(
    "unresponsive", "1 Mbit/s", queue=45, limit=300, rtt="400 ms", flows=32, packet_size="1000 B", longer=2
)
MIXED = Workload("mixed_round_trips", "10 Mbit/s", queue=30, limit=200, rtt="236 ms", flows=40)
BURSTS = Workload("bursts", "10 Mbit/s", queue=30, limit=200, rtt="136 ms", flows=20)

HOSTS: Sets = (("flows.0.profile", "linux"),)
"""Of the TCP transfers: which discipline to use is asked for hosts of today. The scenario `unresponsive` has those of
ns-2, as CHOKe's authors had."""

NONE, FIXED, QUEUED, SEEN = "none", "fixed table", "flows queued", "flows seen recently"
STATES = (NONE, FIXED, QUEUED, SEEN)
"""What a discipline remembers of flows, least first."""

STATE = {
    each["name"]: (each["memory"], each["remembers"]) for each in declarations()["disciplines"] if not each["container"]
}
"""What each discipline of the registry remembers of flows: the kind, and what it is. Containers hold others."""

NAMES = tuple(STATE)
"""The disciplines, in the order in which the package lists them."""

LOOKS = ("choke", "choke_linux")
"""Disciplines that remember nothing and yet tell flows apart, by the packets in the queue."""

BLIND = tuple(name for name, (kind, _) in STATE.items() if kind == NONE and name not in LOOKS)
"""Those that do not tell flows apart."""

DCN_VARIANTS = ("dcn:count=arrived", "dcn:law=printed")
"""Run beside the others under the unresponsive flow, for the study of DCN."""

QUEUES = {choice.label: Variant(choice.label, choice.sets) for choice in choices(",".join((*NAMES, *DCN_VARIANTS)))}


def _beyond_half_the_base(flows: pl.DataFrame) -> float:
    waits = flows.filter(pl.col("algorithm") != "").select(pl.col("delay_p99_ns") - pl.col("base_rtt_ns") / 2)
    found = waits.to_series().mean()  # none where nothing of TCP was delivered
    return math.nan if found is None else float(found)  # type: ignore[arg-type]


def _loss(kind: str) -> Measure:
    return percent(FLOWS.where(kind=kind).sum("drops_packets") / FLOWS.where(kind=kind).sum("arrivals_packets"))


COMMON = {
    "jain": TCP.fold("throughput_bps", lambda values: jain(values) or 0.0).as_("Jain's index among TCP"),
    "delay": ms(each_run(_beyond_half_the_base, flows=("algorithm", "delay_p99_ns", "base_rtt_ns")),
                "TCP's delay beyond half the base round trip, 99th percentile"),
    "used": percent(LINK["utilisation"], "utilisation"),
    "queue": packets(LINK["queue_packets_mean"], "queue, mean"),
    "waiting": ms(LINK["queueing_delay_mean_ns"], "queueing delay, mean"),
}  # fmt: skip
COMMON["unused"] = (COMMON["used"] * -1 + 100).as_("link unused", "%")
COMMON["unfairness"] = (COMMON["jain"] * -1 + 1).as_("1 less Jain's index")
OF_UDP = {
    "udp_share": percent(UDP.sum("throughput_bps") / FLOWS.sum("throughput_bps"), "UDP's share"),
    "udp_loss": percent(UDP.sum("drops_packets") / UDP.sum("arrivals_packets"), "UDP's loss"),
    "sent": packets(LINK["departures_packets"], "packets sent"),
}
OF_BURSTS = {
    "burst_loss": _loss("on_off").as_("loss of bursts", "%"),
    "burst_excess": (_loss("on_off") - _loss("poisson")).as_("loss of bursts beyond that of smooth traffic", "points"),
}


def study(
    workload: Workload,
    measures: Mapping[str, Measure],
    names: Sequence[str] = NAMES,
    hosts: Sets = HOSTS,
    about: str = "",
) -> Study:
    """These disciplines of the list under a workload."""
    return Study(
        workload.scenario,
        sets=(*hosts, *workload.tuned()),
        settings=workload.lasting,
        about=about,
        measure={**COMMON, **measures},
        queue=[QUEUES[name] for name in names],
    )


unresponsive = study(UNRESPONSIVE, OF_UDP, (*NAMES, *DCN_VARIANTS))
ns2 = study(UNRESPONSIVE, OF_UDP, BLIND, (), "ns-2's hosts")
mixed = study(MIXED, {})
bursts = study(BURSTS, OF_BURSTS)


def of(runs: Runs, name: str, measure: str) -> Quantity:
    """A measure of one discipline under a workload."""
    return runs.at(queue=QUEUES[name])[measure].as_(where="")
