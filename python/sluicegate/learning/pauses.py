"""The rate of a link that sends at one speed and pauses by turns, as Wi-Fi does: what it would have sent while nothing
waited follows from how long it sends and pauses where something did."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .modes import ALIKE, mode
from .passage import Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Reals = NDArray[np.floating]

SAME = 0.8
"""So many packets that left back to back must have one pace."""

PAUSE_NS = 100_000
"""A packet that took so much longer than its length takes met a pause."""

FEWEST = 50
"""Pauses below which nothing is told."""

PARTS = 10
"""Parts of the capture of which each is left out once, for the interval."""

SEED = 1
"""Of what is drawn for the time in which nothing waits."""


@dataclass(frozen=True)
class Pauses:
    """A link that sends and pauses.

    Attributes:
        bps: The mean rate.
        half_width_bps: Half of its 95 % interval.
        trace: Seconds since the first packet, and bit/s from then on: the rate while it sends, or none.
    """

    bps: float
    half_width_bps: float
    trace: tuple[Reals, Reals]


def pauses(passage: Passage) -> Pauses | None:
    """The link, if it is one that sends and pauses."""
    took = (passage.departure[passage.sent] - passage.begun).astype(float)
    bits, busy = passage.size[passage.sent] * 8.0, passage.busy
    seen = busy & (took > 0)
    if not seen.any():
        return None
    pace = mode(took[seen] / bits[seen])
    if np.mean(np.abs(took[seen] / bits[seen] / pace - 1) < ALIKE) < SAME:
        return None
    stopped = took > bits * pace + PAUSE_NS
    # What the link sends between two pauses: from one in which a packet waited up to the next one or, if the queue was
    # empty before that, at least up to there.
    edges = np.flatnonzero(stopped | ~busy)
    if np.sum(stopped & busy) < FEWEST or len(edges) < 2:
        return None
    sent = np.add.reduceat(bits, edges)[:-1]
    begins, ends = edges[:-1], edges[1:]
    whole = stopped[ends] & busy[ends]
    use = stopped[begins]
    # A pause is seen as a whole if something waited when it began.
    paused, at = (took - bits * pace)[stopped & busy], np.flatnonzero(stopped & busy)
    bps = _mean(sent[use], whole[use], paused, pace)
    part = np.linspace(0, len(took), PARTS + 1)
    others = []
    for low, high in pairwise(part.tolist()):
        mine, kept = use & ((begins < low) | (begins >= high)), (at < low) | (at >= high)
        others.append(_mean(sent[mine], whole[mine], paused[kept], pace))
    # The jackknife; Student's t for ten parts.
    half = 2.26 * float(np.std(others)) * np.sqrt(PARTS - 1)
    trace = _over_time(passage, np.where(stopped, took - bits * pace, 0), paused, pace, bps)
    return Pauses(bps, float(half), trace)


def _mean(sent: Reals, whole: NDArray[np.bool_], paused: Reals, pace: float) -> float:
    """The mean rate from bits between pauses, of which some go on unseen (Kaplan and Meier), and the pauses."""
    from scipy.stats import CensoredData, ecdf

    curve = ecdf(CensoredData(uncensored=sent[whole], right=sent[~whole])).sf
    places = np.concatenate(([0.0], curve.quantiles))
    left = np.concatenate(([1.0], curve.probabilities[:-1]))
    mean = float(np.sum(np.diff(places) * left))
    return mean / (mean * pace + float(paused.mean())) * 1e9


def _over_time(passage: Passage, stopped: Reals, paused: Reals, pace: float, bps: float) -> tuple[Reals, Reals]:
    """When the link sends and pauses. `stopped`: how long a pause each packet met, in nanoseconds. While nothing waits,
    pauses like those that were seen (`paused`) come by chance, as many as make the mean rate what it is, `bps`."""
    begun, left = ((each - passage.begun[0]).astype(float) for each in (passage.begun, passage.departure[passage.sent]))
    # The time in which nothing waits, put together: it begins anew as it ended.
    idle = np.concatenate(([0.0], np.cumsum(begun[1:] - left[:-1])))
    pausing = max((1 - bps * pace / 1e9) * left[-1] - stopped.sum(), 0.0) / max(idle[-1], 1.0)
    draw = np.random.default_rng(SEED)
    edges = [0.0]
    while pausing > 0 and edges[-1] < idle[-1]:
        pause = draw.choice(paused)
        edges += [stops := edges[-1] + draw.exponential(paused.mean() * max(1 / pausing - 1, 0)), stops + pause]
    changes = np.array(edges)
    places = np.unique(np.concatenate((idle[:-1], changes[changes < idle[-1]])))
    at = np.searchsorted(idle, places, side="right") - 1
    met = stopped > 0
    times = np.concatenate((left[at] + places - idle[at], begun, begun[met] + stopped[met]))
    sends = np.concatenate((np.searchsorted(edges, places, side="right") % 2 == 1, ~met, np.ones(met.sum(), bool)))
    order = np.argsort(times, kind="stable")
    times, sends = np.round(times[order] / 1e9, 6), sends[order]
    # Of one microsecond the last counts; what goes on is not said again.
    last = np.diff(times, append=np.inf) > 0
    times, sends = times[last], sends[last]
    change = np.concatenate(([True], sends[1:] != sends[:-1]))
    return times[change], np.where(sends[change], 1e9 / pace, 0.0)
