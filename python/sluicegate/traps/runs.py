"""Runs that are long, and changes that come after their end."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..quantities import in_base_unit
from ..traffic.groups import COMING_AND_GOING, UNRESPONSIVE, Traffic, answers, packet_bytes
from ..traffic.paths import Resolved

WEB_PACKET = 0.6
"""The mean length of data packets of short responses, to that of a full one: DCN 2004's are of 600 to 900 bytes."""

MINUTE_S = 60.0
"""A run that takes longer is told of before it begins."""

PYTHON_NS, DROP_NS, ROW_NS = 2600.0, 200.0, 300.0
"""What a packet costs more under a discipline written in Python, what a packet of an unresponsive flow costs, and what
a row of the series does. Measured as `packet_ns` was."""


def late_changes(traffic: Traffic) -> Iterator[str]:
    """A change at the end of the run or later, which changes nothing."""
    end = traffic.run["duration"]
    for index, change in enumerate(traffic.resolved.get("changes", ())):
        if in_base_unit(change["time"]) >= in_base_unit(end):
            yield (
                f"changes.{index}: {change['key']} is to change at {change['time']}, but the run ends at {end}, "
                f"so that nothing changes; set an earlier time, or run.duration to more than {change['time']}"
            )


def packet_ns(flows: int) -> float:
    """What a packet that arrives at a link costs, with its acknowledgement, when there are so many TCP flows.

    Measured on one core of a server of the 2020s: 0.2 µs with one flow, 0.4 with 10, 0.55 with 100, 0.8 with 1000, and
    1.6 in the scenario dcn2004 with its 20,000 users; docs/performance.md has half of that for another machine.
    """
    return 250 + 180 * math.log10(max(flows, 1))


def seconds(resolved: Resolved) -> float:
    """About how long a scenario takes to run on one core, in seconds: right within a factor of two or three."""
    return sum(_cost(Traffic(resolved)))


def _cost(traffic: Traffic) -> tuple[float, float]:
    """Seconds for packets, and for the series."""
    run, groups, custom = traffic.run, traffic.groups, "python" in traffic.queue
    tcp = sum(group.count for group in groups if group.flow["kind"] not in UNRESPONSIVE)
    total = 0.0
    for group in groups:
        unresponsive = group.flow["kind"] in UNRESPONSIVE
        bps = group.count * (group.demand_bps if unresponsive else traffic.share(group))
        length = packet_bytes(group.flow) * (WEB_PACKET if group.flow["kind"] in COMING_AND_GOING else 1)
        packets = bps / 8 / length * traffic.seconds(group) / 1e9
        arrivals = packets * len(group.path.links)
        back = packets * answers(group.flow)
        arrivals += back * len(group.path.back)
        managed = packets * len(group.path.places) + back * sum(link.managed for link in group.path.back)
        total += arrivals * (DROP_NS if unresponsive else packet_ns(tcp)) + (PYTHON_NS * managed if custom else 0)
    rows = 0.0
    if run["series"]:
        each = sum(1 if group.flow["kind"] in COMING_AND_GOING else group.count for group in groups)
        rows = each * in_base_unit(run["duration"]) / in_base_unit(run["sample"])
    return total / 1e9, rows * ROW_NS / 1e9


def long_run(traffic: Traffic) -> Iterator[str]:
    """A run estimated at more than a minute: cost goes by packets (`packet_ns`) and by rows of the series."""
    packets, rows = _cost(traffic)
    if packets + rows <= MINUTE_S:
        return
    shorter = "shorten run.duration"
    if rows > packets / 5:
        shorter += ", or set run.series = false or a longer run.sample"
    yield (
        f"run.duration = {traffic.run['duration']}: the run takes about {about(packets + rows)} "
        f"(on one core of a server of the 2020s); {shorter}"
    )


def about(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes <= 1:
        return "a minute"
    return f"{minutes} minutes" if minutes < 100 else f"{round(minutes / 60)} hours"
