"""What the paper's networks share: the link, the thresholds, how long a run is, and measures of one run.

Each figure has a network of its own, a bundled scenario that says how its delays follow from the text. How long a run
is, the paper says for each figure: the settings give the seeds, and `duration_s` is the length where the paper gives
none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...experiments.engine import Sets
from ...reproduce import FLOWS, LINK, Axis, Measure, Settings, packets, percent

LINK_BPS = 45_000_000
"""The rate of every congested link: 45 Mbit/s sends 1000 bytes in 0.178 ms, the paper's 0.17 ms cut to two digits."""

SERVICE_S = 8000 / LINK_BPS
"""What a packet of 1000 bytes takes there."""

MIN_TH, MAX_TH = 5, 15
"""Packets, in Figs. 3 and 9."""

UNTRACED: Sets = (("run.packets", "0"),)
"""Single packets are not kept."""

NOT_DROPPED = ("arrival", "departure")
"""The events of a packet that are no drop."""

MEASURES: dict[str, Measure] = {
    "link_used": percent(LINK["utilisation"], "utilisation"),
    "queue_found": packets(LINK["queue_found_packets_mean"], "average queue that arrivals find"),
    "longest_queue": packets(LINK["queue_packets_max"], "longest queue of a run"),
    "dropped_by_buffer": packets(LINK["drops_tail"], "packets dropped by a full buffer"),
}


@dataclass(frozen=True)
class MinTh(Axis):
    """min_th in packets; `max_th` and, if not 0, `limit`: how many times as large max_th and the buffer are."""

    key: str = "queue.min_th"
    label: str = "min_th (packets)"
    max_th: int = 3
    limit: int = 0

    def sets(self, value: int) -> Sets:
        """One value as overrides."""
        buffer = (("queue.limit", f"{self.limit * value}"),) if self.limit else ()
        return (("queue.min_th", f"{value}"), ("queue.max_th", f"{self.max_th * value}"), *buffer)


def lasting(duration_s: float, warmup_s: float = 0, sample_s: float = 1) -> Callable[[Settings], Settings]:
    """For a study whose runs last so long, as the paper says."""
    return lambda settings: replace(settings, duration_s=duration_s, warmup_s=warmup_s, sample_s=sample_s)


def of_group(group: int) -> Measure:
    """The mean throughput of a group of flows, bit/s."""
    return FLOWS.where(group=group).mean("throughput_bps")


def prepared(groups: Sequence[int], time: str) -> Sets:
    """A random time to prepare each packet, uniform up to `time`: the paper's remedy for Drop Tail's phase effects."""
    return tuple((f"flows.{group}.send_jitter", time) for group in groups)
