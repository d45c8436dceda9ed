"""Which discipline a queue has, as far as its drops, marks and order of departures tell; and its buffer where it was
full.

A discipline is named only if it shows a signature that no other discipline here has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .passage import Passage
from .schedules import APART, TOLD, Cobalt, Codel, agreement, heads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Numbers = NDArray[np.int64]

FEWEST = 10
"""Drops below which no tail drop is told."""

LATE, SELDOM = 0.15, 0.02
"""By how much, as a part of it, a full queue may seem longer or shorter where a kernel sends or captures late; and the
part of the packets that may seem to have been let into a longer one."""

OVERTAKEN = 0.005
"""The part of packets that others overtook above which a queue is not one queue."""

AT_THE_LIMIT = 0.98
"""The part of drops that must have met a full queue for the tail to be what is dropped."""

BEHIND = 20
"""Packets that waited while two of another flow left, for that to be one queue: queues that take turns let one pass,
and two where a quantum is left over."""

SCHEDULES_MS = ((5, 100), (0.5, 10), (1.5, 30), (15, 300), (50, 1000))
"""Targets and intervals that CoDel and CAKE are tried with: the default, and the round trips that tc-cake(8) has names
for, metro, regional, oceanic and satellite."""


@dataclass(frozen=True)
class Buffer:
    """The depth of a queue.

    Attributes:
        packets: The most packets that it was seen to hold, the one being sent not counted.
        bytes: The most bytes.
        full: Whether it was full, and in which unit: "packets", "bytes", or None when it was never seen full.
    """

    packets: int
    bytes: int
    full: str | None


@dataclass(frozen=True)
class Told:
    """What is told of a discipline.

    Attributes:
        names: The disciplines that it may be; none when that is not told.
        evidence: What was seen, in sentences.
        buffer: The depth of the queue.
        schedule_ms: Target and interval of CoDel or CAKE.
    """

    names: tuple[str, ...]
    evidence: list[str]
    buffer: Buffer
    schedule_ms: tuple[float, float] | None = None


def discipline(passage: Passage) -> Told:
    """What the queue in between is."""
    drops, marks = passage.dropped, np.flatnonzero(passage.marked)
    buffer, full, longest = depth(passage)
    evidence = []
    overtaken, behind = _overtaken(passage), _behind(passage)
    queues = overtaken > OVERTAKEN
    one = not queues and behind >= BEHIND
    if queues:
        evidence.append(
            f"{overtaken:.1%} of the packets were overtaken by others of other flows: a queue for each flow"
        )
    else:
        evidence.append("packets left in the order in which they came: one queue")
        if not one:
            evidence[-1] += ", or flows whose packets hardly ever waited at the same time"
    evidence.append(f"{len(drops)} packets were dropped, {len(marks)} marked")
    if len(drops) >= FEWEST:
        evidence.append(f"{full:.0%} of the drops found a full queue")
    tail = Told(("drop_tail",), evidence, buffer)
    dropped_at_the_tail = not queues and not len(marks) and len(drops) >= FEWEST and full >= AT_THE_LIMIT
    if dropped_at_the_tail and longest.mean() >= AT_THE_LIMIT:
        return tail
    early = np.sort(np.concatenate([drops[~longest], marks]))
    for target, interval in SCHEDULES_MS if len(early) else ():
        names, said = scheduled(passage, early, drops[longest], queues, one, (target, interval))
        if names:
            depth_seen = Buffer(buffer.packets, buffer.bytes, None)
            return Told(names, [*evidence, said], depth_seen, (target, interval))
    # One flow may meet about the same queue whenever CoDel drops.
    if dropped_at_the_tail and one:
        return tail
    buffer = Buffer(buffer.packets, buffer.bytes, None)
    if len(early) >= FEWEST:
        evidence.append(
            f"{len(early)} drops and marks came while there was room, and not at the times of CoDel or CAKE"
        )
    return Told((), evidence, buffer)


def scheduled(
    passage: Passage, early: Numbers, tail: Numbers, queues: bool, one: bool, schedule_ms: tuple[float, float]
) -> tuple[tuple[str, ...], str]:
    """Which of the disciplines with CoDel's rule or CAKE's it may be, if any, and why. `queues`: there is one for each
    flow; `one`: all have one."""
    target, interval = (round(each * 1e6) for each in schedule_ms)
    found = heads(passage, early, tail, queues)
    packet = int(passage.size.max())
    names = {Codel: ("fq_codel",) if queues else ("codel",) if one else ("codel", "fq_codel"), Cobalt: ("cake",)}
    agreed = {rule: agreement(found, rule, target, interval, packet) for rule in ((Codel,) if one else (Codel, Cobalt))}
    best = max(agreed, key=lambda rule: agreed[rule].evidence)
    if agreed[best].evidence < TOLD:
        return (), ""
    near = [rule for rule in agreed if agreed[rule].evidence > agreed[best].evidence - APART]
    said = (
        f"{agreed[best].met} of {agreed[best].signals} drops and marks hit the packet that {best.name} hits with a "
        f"target of {schedule_ms[0]:g} ms and an interval of {schedule_ms[1]:g} ms"
    )
    return tuple(name for rule in near for name in names[rule]), said


def depth(passage: Passage) -> tuple[Buffer, float, Flags]:
    """The depth of a queue, the part of the drops that met it full, and which met the very longest queue."""
    kept = np.flatnonzero(passage.departure >= 0)
    packets, size = passage.backlog(kept)
    held = {"packets": packets + 1, "bytes": size + passage.size[kept]}
    most = {unit: int(values.max()) for unit, values in held.items()}
    drops = passage.dropped
    if not len(drops):
        return Buffer(most["packets"], most["bytes"], None), 0.0, np.zeros(0, bool)
    met, met_bytes = passage.backlog(drops)
    found = {"packets": met, "bytes": met_bytes + passage.size[drops]}
    # A departure at the time of an arrival may have been before or after it: one packet more or less.
    slack = {"packets": np.ones(len(drops)), "bytes": passage.size[drops] / 2}
    longest = max((found[unit] >= most[unit] - slack[unit] for unit in found), key=lambda flags: int(flags.sum()))
    share = max(_full(found[unit], held[unit]) for unit in found)
    if share < AT_THE_LIMIT:
        return Buffer(most["packets"], most["bytes"], None), share, longest
    # The unit in which what drops have met differs less, as a part of it; of packets of one length both are the same.
    spread = {unit: float(np.std(values)) / max(float(np.mean(values)), 1.0) for unit, values in found.items()}
    unit = "bytes" if spread["bytes"] < 0.9 * spread["packets"] else "packets"
    if longest.mean() < AT_THE_LIMIT:
        most = {unit: round(float(np.median(values))) for unit, values in found.items()}
    return Buffer(most["packets"], most["bytes"], unit), share, longest


def _full(found: Numbers, held: Numbers) -> float:
    """The part of the drops that met about the same queue, if hardly any packet was let into a longer one."""
    usual = float(np.median(found))
    if np.mean(held > usual * (1 + LATE) + 1) > SELDOM:
        return 0.0
    return float(np.mean(np.abs(found - usual) <= usual * LATE + 1))


def _overtaken(passage: Passage) -> float:
    """The part of the packets that a later one left before."""
    order = passage.sent
    return float(np.mean(order < np.maximum.accumulate(order))) if len(order) else 0.0


def _behind(passage: Passage) -> int:
    """How many packets waited while two full ones of another flow left, one after the other."""
    order = passage.sent
    flow, size = passage.flow[order], passage.size[order]
    if len(order) < 3:
        return 0
    full = size > size.max() / 2
    pair = (flow[:-2] == flow[1:-1]) & (flow[1:-1] != flow[2:]) & full[:-2] & full[1:-1]
    return int((pair & (passage.arrival[order][2:] <= passage.begun[:-2])).sum())
