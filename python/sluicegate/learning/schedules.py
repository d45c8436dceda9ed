"""Whether a queue's drops or marks came when CoDel or COBALT makes them.

Both act on the packet at the head, by how long it and those before it have waited, and captures before and behind a
queue tell both. So each rule says which packet the next signal meets, given the signals so far. Other disciplines
seldom hit that packet.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .passage import Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

EXACT, NEAR, MISSED = 0.6, 0.25, 0.15
"""How probable signals are by the rule that made them: on the packet that was due; on the one beside it, where two lie
close, or a kernel reads the clock before a capture does; elsewhere, as those of a full buffer are."""

ALIKE = 3
"""Packets between two signals up to which every rule hits the packet that is due or the one beside it."""

TOLD, APART, FREE = 20, 7, 3
"""The evidence from which a rule is told, and by which it must exceed another's. By chance, the evidence of a queue
reaches m at any time with a probability of at most exp(-m) (Ville's inequality). Of each queue what exceeds `FREE`
counts: then the sum over 30 queues exceeds `TOLD` with one of at most exp(-TOLD / 2) (1 + exp(-FREE))^30, 0.0002
(Markov's inequality, of its exponential's root)."""


class Codel:
    """RFC 8289's rule."""

    name = "CoDel"
    spares_the_last = False

    def __init__(self, interval: int) -> None:
        self.interval, self.count, self.lastcount = interval, 0, 0
        self.drop_next, self.dropping = -math.inf, False

    def late(self, now: int, before: Sequence[int]) -> float:
        """A packet is the first that is late: when the next signal is due. `before`: when the queue was looked at
        since the last one."""
        self.dropping = False
        return now + self.interval

    def signal(self, now: int) -> float:
        """One has come that was due: when the next one is."""
        if self.dropping:
            self.count += 1
            self.drop_next += self.interval / math.sqrt(self.count)
        else:
            delta = self.count - self.lastcount
            self.count = delta if delta > 1 and now - self.drop_next < 16 * self.interval else 1
            self.lastcount, self.dropping = self.count, True
            self.drop_next = now + self.interval / math.sqrt(self.count)
        return self.drop_next

    def follow(self, now: int, gap: int) -> float:
        """One has come that was not due, so long after the one before: the rule goes on from there."""
        self.count = max(round((self.interval / gap) ** 2), 1) + 1
        self.drop_next = now + self.interval / math.sqrt(self.count)
        return self.drop_next


class Cobalt:
    """CAKE's rule: the first signal of a queue comes with its second late packet, and the count decays step by step."""

    name = "COBALT"
    spares_the_last = True

    def __init__(self, interval: int) -> None:
        self.interval, self.count, self.drop_next, self.fresh = interval, 0, 0.0, True

    def _step(self, count: int) -> None:
        self.count, self.fresh = count, False
        self.drop_next += self.interval / math.sqrt(max(count, 1))

    def late(self, now: int, before: Sequence[int]) -> float:
        """As for `Codel`. A count of 0 is overdue an interval after a packet that was not late."""
        for seen in before:
            while self.count and seen >= self.drop_next:
                self._step(self.count - 1)
        if before and not self.count:
            self.drop_next = before[0] + self.interval
        overdue, began = now >= self.drop_next, not self.count
        self.count = max(self.count, 1)
        at_once = self.fresh or (began and overdue)
        self.drop_next = now + (0 if at_once else self.interval / math.sqrt(self.count))
        return now if overdue and not began else self.drop_next

    def signal(self, now: int) -> float:
        """As for `Codel`."""
        self._step(self.count + 1)
        return self.drop_next

    def follow(self, now: int, gap: int) -> float:
        """As for `Codel`."""
        self.drop_next = float(now)
        self._step(max(round((self.interval / gap) ** 2), 1) + 1)
        return self.drop_next


@dataclass(frozen=True)
class Heads:
    """The packets of one queue in the order in which they were at its head.

    Attributes:
        time: When they were.
        arrival: When they had come.
        empties: Whether none of the queue waited behind them.
        backlog: The bytes of all queues then, without them.
        hit: The places of those that met a signal.
    """

    time: Numbers
    arrival: Numbers
    empties: Flags
    backlog: Numbers
    hit: Numbers


def heads(passage: Passage, hit: Numbers, tail: Numbers, queues: bool) -> list[Heads]:
    """The queue, or with `queues` that of each connection that met signals. `tail`: dropped packets that were never in
    it."""
    begun = np.full(len(passage.arrival), -1, np.int64)
    begun[passage.sent] = passage.begun
    inside = begun >= 0
    inside[passage.dropped] = True
    inside[tail] = False
    met = np.zeros(len(begun), bool)
    met[hit] = True
    kept = np.flatnonzero(passage.departure >= 0)
    came = np.concatenate(([0], np.cumsum(passage.size[kept])))
    left = np.concatenate(([0], np.cumsum(passage.size[passage.sent])))
    found = []
    for flow in np.unique(passage.flow[hit]) if queues else (None,):
        mine = np.flatnonzero(inside if flow is None else inside & (passage.flow == flow))
        # What was dropped at the head was there when the next that was sent was.
        places = np.where(begun[mine] >= 0, np.arange(len(mine)), len(mine))
        places = np.minimum.accumulate(places[::-1])[::-1]
        mine, places = mine[places < len(mine)], places[places < len(mine)]
        if not len(mine):
            continue
        time, arrival = begun[mine][places], passage.arrival[mine]
        backlog = came[np.searchsorted(passage.arrival[kept], time, side="right")]
        backlog = backlog - left[np.searchsorted(passage.begun, time, side="right")]
        empties = np.append(arrival[1:] > time[:-1], True)
        found.append(Heads(time, arrival, empties, backlog, np.flatnonzero(met[mine])))
    return found


@dataclass
class Agreement:
    """How signals agree with a rule.

    Attributes:
        signals: Those that came, or were due.
        met: Those that came when they were due, or at the packet beside.
        evidence: How much more probable they are by the rule than by chance, as a logarithm, until it loses control:
            what a full buffer drops, or a queue that two connections share, is not the rule's.
    """

    signals: int = 0
    met: int = 0
    evidence: float = 0.0


def agreement(
    found: Sequence[Heads], rule: type[Codel] | type[Cobalt], target: int, interval: int, packet: int
) -> Agreement:
    """How the signals of queues agree with a rule. `packet`: the bytes of the longest; while no more wait, CoDel does
    not act."""
    done = Agreement()
    for queue in found:
        late = queue.time - queue.arrival >= target
        if rule is Codel:
            late &= queue.backlog > packet
        done.signals += int((~late[queue.hit]).sum())  # none of the rule's
        most = so_far = 0.0
        for due, came in _compared(rule(interval), queue, late):
            done.signals += 1
            done.met += abs(due - came) <= 1
            so_far += _evidence(due, came)
            most = max(most, so_far)
        done.evidence += max(most - FREE, 0)
    return done


def _evidence(due: int, came: int) -> float:
    """That of a signal which was due after so many packets, and came after so many. By chance it hits any of them, as
    far as is known."""
    gap = max(due, ALIKE)
    if abs(due - came) > 1:
        return math.log(MISSED / (1 - ALIKE / gap)) if gap > ALIKE else math.log(MISSED)
    if due < ALIKE:
        return 0
    return math.log(EXACT * gap) if due == came else math.log(NEAR * gap / 2)


def _compared(rule: Codel | Cobalt, queue: Heads, late: Flags) -> list[tuple[int, int]]:
    """For each signal how many packets after the one before, or after the first late packet, it was due and came."""
    time, arrival, hits = queue.time.tolist(), queue.arrival.tolist(), queue.hit.tolist()
    found = []
    for start, end in _runs(late):
        looked = [time[start - 1]] if start else []
        if start and queue.empties[start - 1]:
            looked.append(arrival[start])  # an empty queue is looked at until a packet comes
        due, before = rule.late(time[start], looked), start
        waiting = iter(hits[bisect_left(hits, start) : bisect_left(hits, end)])
        hit = next(waiting, None)
        while True:
            at = max(bisect_left(time, due, start, end), start)
            if at < end and rule.spares_the_last and queue.empties[at] and (hit is None or hit > at + 1):
                due, before = rule.signal(time[at]), at  # it counts as dropped, and is sent: its queue has no other
            elif hit is None:
                if at < end:
                    found.append((at - before, end - before + 1))
                break
            else:
                found.append((at - before, hit - before))
                gap = time[hit] - time[before]
                due = rule.signal(time[hit]) if abs(at - hit) <= 1 or not gap else rule.follow(time[hit], gap)
                before, hit = hit, next(waiting, None)
    return found


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """Where flags are set without a pause: the first, and the one after the last."""
    edges = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0))
    return list(zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True))
