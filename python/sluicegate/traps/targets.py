"""Targets and intervals in time, of CoDel, PIE and their relatives."""

from __future__ import annotations

from collections.abc import Iterator

from ..quantities import in_base_unit
from ..traffic.groups import Group, Traffic, packet_bytes, typical_rtt_ns
from ..traffic.paths import Place, Resolved
from .words import rate_of, span

LONG_ROUND_TRIP = 1.5
"""CoDel's interval is to be in the order of the longest round trip (RFC 8289, Sec. 4.2). With 100 ms one CUBIC flow at
20 Mbit/s uses 90 % of a link at a round trip of 100 ms, 89 % at 150 ms, 62 % at 200 ms and 34 % at 300 ms."""

SHORT_ROUND_TRIP = 1 / 50
"""100 ms work well for round trips from 10 ms on (Nichols & Jacobson 2012). Below 2 ms, as in a data centre, a queue
stands for 50 round trips before the first signal."""


TARGETED = ("codel", "fq_codel", "pie", "docsis_pie", "fq_pie", "dualpi2", "l4s_step")
"""Disciplines with a target that one packet can exceed."""

INTERVALS = {"codel": "interval", "fq_codel": "interval", "l4s_step": "interval", "cake": "rtt"}
"""Of disciplines with an interval its key."""


def is_access(resolved: Resolved) -> bool:
    """Whether a scenario is an access line: a two-way dumbbell. Its round trip was measured to a server nearby; a home
    also uses servers that are farther, for which an interval as short as that takes throughput."""
    return "reverse" in resolved["network"]


def advised(queue: Resolved, place: Place, there: list[Group], far: bool) -> dict[str, str]:
    """The values of a queue at a link that the sentences of this module ask for, by key; empty where there are none.
    `far`: as for `_interval`."""
    if not there:
        return {}
    packet = max(packet_bytes(group.flow) for group in there)
    target, found = _target(queue, place, packet), {}
    if interval := _interval(queue, place, there, packet, far):
        found[INTERVALS[queue["discipline"]]] = span(interval)
        if interval < in_base_unit(queue[INTERVALS[queue["discipline"]]]) and queue["discipline"] in TARGETED:
            target = max(interval / 20, 1.5 * place.time_ns(packet))
    return found | ({"target": span(target)} if target else {})


def _target(queue: Resolved, place: Place, packet: float) -> float | None:
    """The least target in ns, where the queue's is below the time of one packet."""
    if queue["discipline"] not in TARGETED or queue.get("overload") == "overflow":
        return None
    time = place.time_ns(packet)
    return 1.5 * time if time > in_base_unit(queue["target"]) else None


def _interval(queue: Resolved, place: Place, there: list[Group], packet: float, far: bool) -> float | None:
    """The interval in ns that base round trips ask for, where the queue's does not fit them. `far`: others than these
    may be longer, so that they ask for no shorter one."""
    key = INTERVALS.get(queue["discipline"])
    if key is None:
        return None
    trip, interval = typical_rtt_ns(there), in_base_unit(queue[key])
    if trip > LONG_ROUND_TRIP * interval:
        return trip
    return 10 * trip if not far and trip > 0 and trip + place.time_ns(packet) < SHORT_ROUND_TRIP * interval else None


def short_targets(traffic: Traffic) -> Iterator[str]:
    """A target below the time of one packet, for CoDel, PIE and their relatives.

    A packet that finds only the one in transmission before it is then late. RFC 8290, Sec. 5.2.2, asks for at least
    the time of one full packet. CAKE raises its target by itself if it knows the rate.
    """
    queue = traffic.queue
    if queue["discipline"] == "cake":
        yield from _unshaped_cake(traffic)
    for place, _, packet in traffic.meetings():
        if wanted := _target(queue, place, packet):
            yield (
                f"queue.target = {queue['target']}: one packet of {packet} bytes takes {span(place.time_ns(packet))} "
                f"on {place.name} ({rate_of(place)}); set target to {span(wanted)} or more"
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
                f"queue.bandwidth: not given, so CAKE keeps a target of {span(target)}; one packet of {packet} "
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
    for place, there, packet in traffic.meetings():
        wanted = _interval(queue, place, there, packet, is_access(traffic.resolved))
        if wanted is None:
            continue
        key, trip = INTERVALS[queue["discipline"]], typical_rtt_ns(there)
        interval = in_base_unit(queue[key])
        if wanted > interval:
            yield (
                f"queue.{key} = {queue[key]}: base round trips on {place.name} are {span(trip)}, so a second signal "
                f"comes before a sender can react to the first; set {key} to about {span(wanted)}"
            )
        else:
            yield (
                f"queue.{key} = {queue[key]}: base round trips on {place.name} are only {span(trip)}, so a queue "
                f"stands for {interval / trip:.0f} round trips before the first signal; set {key} to about "
                f"{span(wanted)}, and target to a twentieth of that"
            )
        return
