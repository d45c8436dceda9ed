"""The network of Fig. 3, as scenario and as models see it, the axes of its studies, and what is measured in every
run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from ...experiments.engine import Sets, Tables
from ...reproduce import FLOWS, LINK, UDP, Axis, Measure, Runs, Settings, Study, packets, percent
from ...reproduce.study import Point

PACKET_BITS = 8000
BASE_RTT_S = 0.1
TCP_FLOWS = 32
MIN_TH, MAX_TH, MAX_P = 20, 520, 0.5
VEGAS_MAX_TH, VEGAS_MAX_P = 1020, 0.1

Groups = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Network:
    """One point, in the paper's symbols.

    `tcp`: for each group of TCP flows how many there are and their round trip without queues, d, in ms. `udp`: for each
    group of unresponsive flows how many there are and what each sends, in parts of the link's rate c. `mbps`: c in
    Mbit/s. `m`: candidates drawn for each arrival. `draw`: where from. `alpha`: packets that each Vegas flow of
    Sec. V-C keeps in the queue; 0 for NewReno.
    """

    tcp: Groups = ((TCP_FLOWS, 1000 * BASE_RTT_S),)
    udp: Groups = ((1, 10.0),)
    mbps: float = 1.0
    m: int = 1
    draw: str = "random"
    alpha: float = 0.0

    @property
    def vegas(self) -> bool:
        """Whether the TCP flows are Vegas."""
        return self.alpha > 0

    @property
    def c(self) -> float:
        """The link's rate, packets per second."""
        return self.mbps * 1e6 / PACKET_BITS

    @property
    def groups(self) -> dict[int, str]:
        """All groups in words, by their number in the scenario: the first of TCP and UDP, then the others; in the order
        of the models, TCP first."""
        tcp = {1 + index if index else 0: f"TCP, {rtt:g} ms" for index, (_, rtt) in enumerate(self.tcp)}
        rest = len(self.tcp)
        return tcp | {rest + index if index else 1: f"UDP of {rate:g}c" for index, (_, rate) in enumerate(self.udp)}

    def overrides(self) -> Sets:
        """What differs from the scenario; further groups of flows are in `text`."""
        ((flows, rtt), *_), ((count, rate), *_) = self.tcp, self.udp
        sets = {
            "flows.0.count": f"{flows}", "flows.1.count": f"{count}", "flows.1.rate": self._rate(rate),
            "network.rate": f"{self.mbps:g} Mbit/s",
            "queue.choke.candidates": f"{self.m}", "queue.choke.draw": self.draw,
        }  # fmt: skip
        if rtt != 1000 * BASE_RTT_S:
            sets |= {"flows.0.access_delay": _access(rtt), "network.delay": "5 ms"}
        if self.mbps != 1:
            sets["network.access_rate"] = "1 Gbit/s"
        if self.vegas:
            sets |= {
                "flows.0.algorithm": "vegas", "flows.0.vegas_rules": "paper", "flows.0.vegas_cut": "0",
                "flows.0.vegas_alpha": f"{self.alpha:g}", "flows.0.vegas_beta": f"{self.alpha:g}",
                "queue.max_th": f"{VEGAS_MAX_TH}", "queue.max_p": f"{VEGAS_MAX_P:g}", "queue.limit": "4000",
            }  # fmt: skip
        return tuple(sets.items())

    def text(self, text: str) -> str:
        """The scenario's text with the further groups of flows."""
        common = 'packet_size = "1000 B"\nspread = "1 s"\n'
        tcp = '[[flows]]\nkind = "tcp"\nalgorithm = "newreno"\nprofile = "ns2"\nwindow = 100\n' + common
        udp = '[[flows]]\nkind = "udp"\n' + common
        more = [f'{tcp}count = {count}\naccess_delay = "{_access(rtt)}"\n' for count, rtt in self.tcp[1:]]
        more += [f'{udp}count = {count}\nrate = "{self._rate(rate)}"\n' for count, rate in self.udp[1:]]
        return text.replace("[run]\n", "\n".join([*more, "[run]\n"]))

    def _rate(self, parts: float) -> str:
        return f"{parts * self.mbps:g} Mbit/s"


def _access(rtt_ms: float) -> str:
    """The delay of an access link that makes this round trip, with 5 ms on the congested link."""
    return f"{rtt_ms / 2 - 5:g} ms"


# Measures ---------------------------------------------------------------------------------------------------------

ONE = FLOWS.where(group=0)
"""The TCP flows, of the first group where there are several."""

_QUEUE = packets(LINK["queue_packets_mean"], "queue b")
_SECONDS = UDP.sum("sent_packets") / UDP.sum("offered_bps") * PACKET_BITS
"""The measured time: UDP sends in all of it."""


def _hits(arrived: Measure, matched: Measure, queued: Measure) -> Measure:
    """The part of arrivals that a comparison drops, over the part of the queue that one such flow has: 1 by (5)."""
    return matched / arrived / 2 / (queued / _QUEUE)


MEASURES = {
    "b": _QUEUE,
    "share": percent(UDP.sum("throughput_bps") / LINK["rate_bps"]).as_("UDP's share of the link", "% of the link"),
    "occupancy": (UDP.sum("queued_packets_mean") / _QUEUE).as_("UDP's part of the queue"),
    "tau": LINK["queueing_delay_mean_ns"].as_("queueing delay τ", "s", 1e-9),
    "used": percent(LINK["utilisation"], "utilisation"),
    "tcp_flow": (ONE.mean("throughput_bps") / PACKET_BITS).as_("throughput of a TCP flow", "packets/s"),
    "x1": (ONE.mean("arrivals_packets") / _SECONDS).as_("rate x₁ that a TCP flow sends", "packets/s"),
    "p1": percent(ONE.sum("drops_packets") / ONE.sum("arrivals_packets"), "drops of a TCP flow's packets, p₁"),
    # The rest holds for one candidate: with several a match does not always drop two packets.
    "r": (LINK["drops_early"] / (LINK["arrivals_packets"] - LINK["drops_match"] / 2)).as_(
        "congestion drops of the arrivals that no comparison dropped, r"),
    "hits0": _hits(UDP.sum("arrivals_packets"), UDP.sum("drops_match"), UDP.mean("queued_packets_mean")),
    "hits1": _hits(ONE.sum("arrivals_packets"), ONE.sum("drops_match"), ONE.mean("queued_packets_mean")),
}  # fmt: skip

QUEUE = {"queue": ("time_s", "queue_packets", "average_packets")}
"""The queue over time, for figures that draw it."""

SNAPSHOT_S = 0.0973
"""Sec. V-B looks at the queue every 100 ms. UDP's packets come at whole parts of that, at 10c every 0.8 ms: each look
would find them at the same point of their gap. 97.3 ms has no such part in common with any rate here."""

MOST_PLACES = 5_000_000
"""Packets whose places a run keeps, the most that it can: a snapshot of 1000 packets every 97.3 ms for eight
minutes."""

BINS = 20
"""Parts into which the queue is cut, from tail to head."""


def density(tables: Tables, settings: Settings) -> Tables:
    """ρ(y) of one run, from its snapshots after the warm-up.

    `place`: of the middle of each part of the queue, 0 at the tail and 1 at the head; `rho`: the part of the packets
    found there that are UDP's, NaN where none was. The row of place 1 is the packet at the very head. `until_s`: the
    time of the last snapshot.
    """
    rows = tables["positions"].filter(pl.col("time_s") > settings.warmup_s)
    time, behind = rows["time_s"].to_numpy(), rows["behind_packets"].to_numpy()
    udp = rows["flow"].is_in(tables["flows"].filter(pl.col("kind") == "udp")["flow"].to_list()).to_numpy()
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


# Studies ----------------------------------------------------------------------------------------------------------


class Symbol(Axis):
    """An axis called as the field of `Network` that it changes; its `unit` is how a value is written."""

    def text(self, value: Any) -> str:
        """One value in words."""
        return self.unit.format(value)


AXES = {
    axis.key: axis
    for axis in (
        Symbol("N", "N = {:g}", "TCP flows, N"),
        Symbol("k", "k = {:g}", "unresponsive flows, k"),
        Symbol("x0", "{:g}c", "UDP sends x₀ (parts of the link's rate c)"),
        Symbol("m", "m = {:g}", "candidates, m"),
        Symbol("mbps", "{:g} Mbit/s", "link's rate (Mbit/s)"),
        Symbol("draw", "{} CHOKe"),
        Symbol("alpha", "α = {:g}"),
    )
}
"""`N`: of the first group of TCP flows; `k` and `x0`: of the first group of unresponsive flows."""

TICKS = (0.1, 0.3, 1, 3, 10)

VEGAS_S = 20
"""Seconds that the paper's runs with Vegas last; here the first quarter is not measured."""


class Traffic(Study):
    """A study whose points differ from the network `base` in fields that its axes are called by; any other axis has
    `Variant`s. `snapshots`: keep ρ(y), as the table `density`."""

    def __init__(
        self, base: Network = Network(), *, snapshots: bool = False, tables: Mapping[str, Sequence[str]] | None = None,
        measure: Mapping[str, Measure] | None = None, **given: Any,
    ) -> None:  # fmt: skip
        def settings(settings: Settings) -> Settings:
            sampled = replace(settings, sample_s=SNAPSHOT_S)
            duration = min(VEGAS_S, settings.duration_s)
            return replace(sampled, duration_s=duration, warmup_s=duration // 4) if base.vegas else sampled

        self.base = base
        if snapshots:
            given |= {"sets": (("run.positions", str(MOST_PLACES)),), "derive": density}
            tables = {**(tables or {}), "density": ("place", "rho", "until_s")}
        super().__init__(
            "choke2004", keys=AXES, measure={**MEASURES, **(measure or {})}, tables=tables, settings=settings, **given
        )

    def network(self, point: Point) -> Network:
        """One point."""
        ((flows, rtt), *tcp), ((count, rate), *udp) = self.base.tcp, self.base.udp
        return replace(
            self.base,
            tcp=((point.get("N", flows), rtt), *tcp),
            udp=((point.get("k", count), point.get("x0", rate)), *udp),
            **{field: point[field] for field in ("m", "mbps", "draw", "alpha") if field in point},
        )

    def overrides(self, point: Point) -> Sets:
        """What a point changes in the scenario."""
        variants = {axis: value for axis, value in point.items() if axis not in AXES}
        return (*self.network(point).overrides(), *super().overrides(variants))

    def text(self, point: Point, settings: Settings) -> str:
        """The scenario at a point, without its overrides."""
        return self.network(point).text(super().text(point, settings))


def networks(runs: Runs) -> tuple[Network, ...]:
    """The points of runs of a `Traffic`."""
    study = runs.study
    assert isinstance(study, Traffic)
    return tuple(study.network(point) for point in runs.points.values())
