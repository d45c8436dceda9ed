"""Which discipline a queue has, as far as its drops, marks and order of departures tell; and its buffer where it was
full.

A name is told by a signature that no other discipline here has, and else not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .passage import Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

FEWEST = 10
"""Drops or marks below which no discipline is told."""

OVERTAKEN = 0.005
"""The part of packets that others overtook above which a queue is not one queue."""

AT_THE_LIMIT = 0.98
"""The part of drops that must have met a full queue for the tail to be what is dropped."""

LAWFUL = 0.75
"""The part of the gaps between drops that must follow CoDel's control law. By it the gap after the nth drop is the
first one divided by the root of n, so that the logarithm of a gap over the one before lies between -ln(2)/2 and 0. Of
gaps at random two in five do, with the slack below, of those that RED spreads evenly too."""

SLACK = 0.35
"""How far it may lie outside, and less where gaps are long: a drop waits for the turn of its queue. Shorter gaps are
left out."""

PAUSE_NS = 150_000_000
"""CoDel's longest gap between drops, its interval of 100 ms and room for a packet; a longer one ends an episode."""


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
    """

    names: tuple[str, ...]
    evidence: list[str]
    buffer: Buffer


def discipline(passage: Passage) -> Told:
    """What the queue in between is."""
    drops, marks = passage.dropped, np.flatnonzero(passage.marked)
    buffer, at_the_limit = depth(passage)
    evidence = []
    overtaken = _overtaken(passage)
    queues = overtaken > OVERTAKEN
    if queues:
        evidence.append(
            f"{overtaken:.1%} of the packets were overtaken by others of other flows: a queue for each flow"
        )
    else:
        evidence.append("packets left in the order in which they came: one queue")
    evidence.append(f"{len(drops)} packets were dropped, {len(marks)} marked")
    if len(drops) >= FEWEST:
        evidence.append(f"{at_the_limit:.0%} of the drops met the longest queue")
    if not queues and not len(marks) and len(drops) >= FEWEST and at_the_limit >= AT_THE_LIMIT:
        return Told(("drop_tail",), evidence, buffer)
    pairs, lawful = control_law(passage, marks if len(marks) > len(drops) else drops, queues)
    if pairs:
        evidence.append(f"{lawful} of {pairs} gaps between drops or marks at the head follow CoDel's control law")
    buffer = Buffer(buffer.packets, buffer.bytes, None)
    if pairs >= FEWEST and lawful >= LAWFUL * pairs:
        return Told(("fq_codel", "cake") if queues else ("codel",), evidence, buffer)
    return Told((), evidence, buffer)


def depth(passage: Passage) -> tuple[Buffer, float]:
    """The depth of a queue, and the part of the drops that met it full."""
    kept = np.flatnonzero(passage.departure >= 0)
    packets, size = passage.backlog(kept)
    most, most_bytes = int(packets.max()) + 1, int((size + passage.size[kept]).max())
    drops = passage.dropped
    if not len(drops):
        return Buffer(most, most_bytes, None), 0.0
    met, met_bytes = passage.backlog(drops)
    # A departure at the time of an arrival may have been before or after it: one packet more or less.
    by_packets = float(np.mean(met >= most - 1))
    by_bytes = float(np.mean(met_bytes + passage.size[drops] > most_bytes - passage.size[drops] / 2))
    if max(by_packets, by_bytes) < AT_THE_LIMIT:
        return Buffer(most, most_bytes, None), max(by_packets, by_bytes)
    # The unit in which what drops have met differs less, as a part of it.
    spread = [float(np.std(found)) / max(float(np.mean(found)), 1.0) for found in (met, met_bytes)]
    unit = "packets" if spread[0] <= spread[1] else "bytes"
    return Buffer(most, most_bytes, unit), max(by_packets, by_bytes)


def _overtaken(passage: Passage) -> float:
    """The part of the packets that a later one left before."""
    order = passage.sent
    return float(np.mean(order < np.maximum.accumulate(order))) if len(order) else 0.0


def control_law(passage: Passage, hit: Numbers, queues: bool) -> tuple[int, int]:
    """How many gaps between drops or marks, each when it was at the head of its queue, can be compared with the one
    before, and how many of them follow CoDel's control law."""
    begun = np.full(len(passage.arrival), -1, np.int64)
    begun[passage.sent] = passage.begun
    compared = lawful = 0
    groups = [passage.flow == flow for flow in np.unique(passage.flow[hit])] if queues else [np.ones(len(begun), bool)]
    for group in groups:
        places = np.flatnonzero(group & (begun >= 0))
        mine = hit[group[hit]]
        # What left next of the same queue was at its head right after a packet that was dropped there.
        after = np.searchsorted(places, mine)
        times = np.unique(begun[places[after[after < len(places)]]])
        gaps = np.diff(times).astype(float)
        if len(gaps) < 2:
            continue
        turn = float(np.median(np.diff(begun[places])))
        slack = turn / gaps[1:] + turn / gaps[:-1]
        use = (gaps[1:] < PAUSE_NS) & (gaps[:-1] < PAUSE_NS) & (slack <= SLACK)
        change = np.log(gaps[1:] / gaps[:-1])
        compared += int(use.sum())
        lawful += int((use & (change <= slack) & (change >= -np.log(2) / 2 - slack)).sum())
    return compared, lawful
