"""Targets and intervals in time, of CoDel, PIE and their relatives."""

from __future__ import annotations

from collections.abc import Iterator

from ..quantities import in_base_unit
from ..traffic import Traffic, typical_rtt_ns
from .words import rate_of, span

LONG_ROUND_TRIP = 1.5
"""CoDel's interval is to be in the order of the longest round trip (RFC 8289, Sec. 4.2). With 100 ms one CUBIC flow at
20 Mbit/s uses 90 % of a link at a round trip of 100 ms, 89 % at 150 ms, 62 % at 200 ms and 34 % at 300 ms."""

SHORT_ROUND_TRIP = 1 / 50
"""100 ms work well for round trips from 10 ms on (Nichols & Jacobson 2012). Below 2 ms, as in a data centre, a queue
stands for 50 round trips before the first signal."""


def short_targets(traffic: Traffic) -> Iterator[str]:
    """A target below the time of one packet, for CoDel, PIE and their relatives.

    A packet that finds only the one in transmission before it is then late. RFC 8290, Sec. 5.2.2, asks for at least
    the time of one full packet. CAKE raises its target by itself if it knows the rate.
    """
    queue = traffic.queue
    if queue["discipline"] == "cake":
        yield from _unshaped_cake(traffic)
    if queue["discipline"] not in ("codel", "fq_codel", "pie", "docsis_pie", "fq_pie", "dualpi2", "l4s_step"):
        return
    if queue["discipline"] == "l4s_step" and queue["overload"] == "overflow":
        return
    for place, _, packet in traffic.meetings():
        if (time := place.time_ns(packet)) > in_base_unit(queue["target"]):
            yield (
                f"queue.target = {queue['target']}: one packet of {packet} bytes takes {span(time)} on {place.name} "
                f"({rate_of(place)}); set target to {span(1.5 * time)} or more"
            )
            return


def _unshaped_cake(traffic: Traffic) -> Iterator[str]:
    """CAKE without bandwidth, where no shaper says it: what it raises its target by follows from that."""
    queue = traffic.queue
    if "bandwidth" in queue:
        return
    target = in_base_unit(queue["target"]) if "target" in queue else in_base_unit(queue["rtt"]) / 20
    for place, _, packet in traffic.meetings():
        if place.shaper is None and (time := place.time_ns(packet)) > target:
            yield (
                f"queue.bandwidth: not given, so that CAKE keeps a target of {span(target)}; one packet of {packet} "
                f"bytes takes {span(time)} on {place.name} ({rate_of(place)}); set bandwidth to somewhat less than "
                f"that rate, or target to {span(1.5 * time)} or more"
            )
            return


def intervals(traffic: Traffic) -> Iterator[str]:
    """CoDel's interval beside the round trip: below two thirds of it, or above fifty of it.

    See `LONG_ROUND_TRIP` and `SHORT_ROUND_TRIP`. The round trip is the median base round trip of the TCP flows that
    last; for the upper bound with the time of one packet on the link, which is most of it where the link is slow.
    """
    queue = traffic.queue
    key = {"codel": "interval", "fq_codel": "interval", "l4s_step": "interval", "cake": "rtt"}.get(queue["discipline"])
    if key is None:
        return
    for place, there, packet in traffic.meetings():
        trip = typical_rtt_ns(there)
        interval = in_base_unit(queue[key])
        if trip > LONG_ROUND_TRIP * interval:
            yield (
                f"queue.{key} = {queue[key]}: base round trips on {place.name} are {span(trip)}, so that a second "
                f"signal comes before a sender can have answered the first; set {key} to about {span(trip)}"
            )
            return
        if trip > 0 and trip + place.time_ns(packet) < SHORT_ROUND_TRIP * interval:
            yield (
                f"queue.{key} = {queue[key]}: base round trips on {place.name} are only {span(trip)}, so that a queue "
                f"stands for {interval / trip:.0f} of them before the first signal; set {key} to about "
                f"{span(10 * trip)}, and target to a twentieth of that"
            )
            return
