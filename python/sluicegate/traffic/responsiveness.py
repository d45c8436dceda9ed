"""Responsiveness and latency under load, in the terms of speed tests.

Responsiveness is counted in round trips a minute, as Apple's `networkQuality` and draft-ietf-ippm-responsiveness do:
the mean of two values: one from probes beside the load, and one on the loaded connections. Calls and games take the
place of the probes here. The increase of latency is the difference between a round trip beside the load and one without
load; its grade is that of dslreports.com's test.

It is known only for dumbbells with a queue in both directions: other networks have no round trip that all flows share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..quantities import in_base_unit
from .groups import Group, Traffic, conversation, packet_bytes
from .paths import REVERSE, SHAPERS, Resolved

GRADES = ((5, "A+"), (30, "A"), (60, "B"), (200, "C"), (400, "D"))
"""Milliseconds below which an increase of latency has this grade; from the last on it is F."""

SCALE = (
    f"grades: {', '.join(f'{grade} below {ms} ms' for ms, grade in GRADES)}, else F (dslreports.com). They grade "
    "the latency of calls and games; the round trips a minute also include those of transfers"
)

MINUTE_NS = 60e9

LOADING = 0.1
"""Part of a link's rate from which on a TCP flow of a real link counts as load."""

Values = Mapping[str, float | None]


def increase_text(increase_ns: float) -> str:
    """An increase of latency as it is printed: to a tenth below 10 ms, since a grade ends at 5."""
    ms = increase_ns / 1e6
    return f"+{ms:.1f} ms" if round(ms, 1) < 10 else f"+{ms:.0f} ms"


def grade(increase_ns: float) -> str:
    """That of an increase of latency, as it is printed."""
    shown = float(increase_text(increase_ns).removesuffix(" ms"))
    return next((grade for ms, grade in GRADES if shown < ms), "F")


@dataclass(frozen=True)
class Responsiveness:
    """`idle` and `loaded`: round trips a minute. `increase_ns`: of the latency of a round trip under load."""

    idle: float
    loaded: float
    increase_ns: float

    @property
    def grade(self) -> str:
        """That of the increase."""
        return grade(self.increase_ns)

    def text(self) -> str:
        """In a line."""
        return (
            f"{self.idle:.0f} round trips a minute without load, {self.loaded:.0f} under load; "
            f"latency under load {increase_text(self.increase_ns)}: {self.grade}"
        )


def responsiveness(resolved: Resolved, delays: Values, rates: Values, waits: Values) -> Responsiveness | None:
    """That of a run; None where it is not known.

    `delays` and `rates`: of each group of flows its mean one-way delay in ns and its throughput. `waits`: of each link
    the mean queueing delay in ns, which stands for what calls and games wait where there are none.
    """
    if REVERSE not in resolved["network"]:
        return None
    groups = Traffic(resolved).groups
    beside: dict[bool, float] = {}
    load: dict[bool, float] = {}
    for back in (False, True):
        ways = [group for group in groups if (group.flow.get("direction") == REVERSE) == back]
        talk = [_increase(group, delays) for group in ways if conversation(group.flow)]
        known = [each for each in talk if each is not None]
        line = REVERSE if back else "bottleneck"
        wait = sum(waits.get(name) or 0.0 for name in (line, SHAPERS[line]))
        beside[back] = sum(known) / len(known) if known else wait
        loads = [(_increase(group, delays), rates.get(group.flow["name"]) or 0.0) for group in ways
                 if group.flow["kind"] == "tcp" and group.lasting]  # fmt: skip
        carried = [(more, rate) for more, rate in loads if more is not None and rate > 0]
        if carried:
            load[back] = _mean(carried)
    return _of(_base_round_trip(groups), beside, load)


def of_real_packets(
    network: Resolved, flows: Sequence[Mapping[str, Any]], waits: Values, seconds: float
) -> Responsiveness | None:  # fmt: skip
    """The same of a link that real packets crossed for so long, up and down; None where nothing loaded it.

    `network`: the resolved one, whose opposite direction is up. `flows`: the rows of the table, of which TCP flows that
    carried `LOADING` of the link's rate, or more, are the load, and the others what waits beside it. `waits`: of each
    link, and of the shaper beside it, the mean queueing delay in ns, which stands for what waits where there are no
    others.
    """
    if REVERSE not in network:
        return None
    beside: dict[bool, float] = {}
    load: dict[bool, float] = {}
    least = 0.0
    for back, (name, way) in enumerate((("down", network), ("up", network[REVERSE]))):
        alone = in_base_unit(way["delay"]) + in_base_unit(way["jitter"]) / 2
        rate_bps = in_base_unit(way["rate"])
        least += alone
        light, heavy = list[tuple[float, float]](), list[tuple[float, float]]()
        for flow in flows:
            packets = flow["delivered_packets"]
            if direction(flow["link"]) == name and packets and flow["delay_mean_ns"] is not None:
                sending = flow["throughput_bps"] * seconds / packets / rate_bps * 1e9
                more = max(flow["delay_mean_ns"] - alone - sending, 0.0)
                loads = flow["kind"] == "tcp" and flow["throughput_bps"] >= LOADING * rate_bps
                (heavy if loads else light).append((more, packets))
        waiting = sum(wait or 0.0 for link, wait in waits.items() if direction(link) == name)
        beside[bool(back)] = _mean(light) if light else waiting
        if heavy:
            load[bool(back)] = _mean(heavy)
    return _of(least, beside, load)


def direction(link: str) -> str:
    """Down or up: that of a link of real packets, or of the shaper beside it."""
    return link.removesuffix("_shaper")


def _mean(weighed: Sequence[tuple[float, float]]) -> float:
    return sum(value * weight for value, weight in weighed) / sum(weight for _, weight in weighed)


def _of(least: float, beside: Mapping[bool, float], load: Mapping[bool, float]) -> Responsiveness | None:
    """That of a round trip of `least` without load, of what waits beside the load in both directions, and of the load
    in those that have one."""
    if least <= 0 or not load:
        return None
    trip = least + beside[False] + beside[True]
    loaded = [least + more + beside[not back] for back, more in load.items()]
    rate = (MINUTE_NS / trip + MINUTE_NS * len(loaded) / sum(loaded)) / 2
    return Responsiveness(MINUTE_NS / least, rate, trip - least)


def _increase(group: Group, delays: Values) -> float | None:
    """By how much the mean one-way delay of a group exceeds that without other traffic, in ns."""
    delay = delays.get(group.flow["name"])
    if delay is None:
        return None
    links = group.path.links
    around = group.path.rtt.typical_ns - sum(link.delay_ns for link in (*links, *(group.path.back or links)))
    alone = sum(link.delay_ns + link.jitter_ns / 2 + link.time_ns(packet_bytes(group.flow)) for link in links)
    return max(delay - alone - around / 2, 0.0)


def _base_round_trip(groups: list[Group]) -> float:
    """The round trip without load of the transfers, in ns: the least of their typical ones, and what grants add."""
    trips = [group.path.rtt.typical_ns + sum(link.jitter_ns for link in (*group.path.links, *group.path.back)) / 2
             for group in groups if group.flow["kind"] == "tcp" and group.lasting]  # fmt: skip
    return min(trips, default=0.0)
