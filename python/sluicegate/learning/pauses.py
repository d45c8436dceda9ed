"""The rate of a link that sends at one speed and pauses by turns, as Wi-Fi does: what it would have sent while its
queue was empty follows from how long it sends and pauses while packets wait."""

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
"""Of the order of times in which the link sends and pauses."""


@dataclass(frozen=True)
class Pauses:
    """A link that sends and pauses.

    Attributes:
        bps: The mean rate.
        half_width_bps: Half of its 95 % interval.
        trace: Seconds since the first packet, and bit/s from then on: the rate while it sends, or none.
        period: When the last of these ends, in seconds.
    """

    bps: float
    half_width_bps: float
    trace: tuple[Reals, Reals]
    period: float


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
    curve = _between(sent[use], whole[use])
    bps = _mean(curve, paused, pace)
    part = np.linspace(0, len(took), PARTS + 1)
    others = []
    for low, high in pairwise(part.tolist()):
        mine, kept = use & ((begins < low) | (begins >= high)), (at < low) | (at >= high)
        others.append(_mean(_between(sent[mine], whole[mine]), paused[kept], pace))
    # The jackknife; Student's t for ten parts.
    half = 2.26 * float(np.std(others)) * np.sqrt(PARTS - 1)
    lasts = float(passage.departure[passage.sent[-1]] - passage.begun[0])
    return Pauses(bps, float(half), *_over_time(curve, paused, pace, lasts))


def _between(sent: Reals, whole: NDArray[np.bool_]) -> tuple[Reals, Reals]:
    """How many bits the link sends between pauses, and the part of the times in which it is more: some of these are not
    `whole`, as it sent on unseen (Kaplan and Meier)."""
    from scipy.stats import CensoredData, ecdf

    curve = ecdf(CensoredData(uncensored=sent[whole], right=sent[~whole])).sf
    return np.concatenate(([0.0], curve.quantiles)), np.concatenate(([1.0], curve.probabilities))


def _mean(curve: tuple[Reals, Reals], paused: Reals, pace: float) -> float:
    """The mean rate from what is sent between pauses (`_between`), and the pauses."""
    bits, more = curve
    mean = float(np.sum(np.diff(bits) * more[:-1]))
    return mean / (mean * pace + float(paused.mean())) * 1e9


def _over_time(
    curve: tuple[Reals, Reals], paused: Reals, pace: float, lasts: float
) -> tuple[tuple[Reals, Reals], float]:
    """A link that sends and pauses as this one, for so long: what it did while nothing waited was not seen, so that its
    own times have gaps. Each part of both distributions is in it as often as any other; their order is by chance.
    The second value is when it ends, in seconds."""
    bits, more = curve
    mean = float(np.sum(np.diff(bits) * more[:-1])) * pace + float(paused.mean())
    chance = np.random.default_rng(SEED)
    part = (np.arange(round(lasts / mean)) + 0.5) / round(lasts / mean)
    sends = bits[np.minimum(np.searchsorted(-more, -part), len(bits) - 1)] * pace
    turns = np.stack([chance.permutation(sends), chance.permutation(np.quantile(paused, part))], axis=1).ravel()
    times = np.round(np.concatenate(([0.0], np.cumsum(turns))) / 1e9, 6)
    return (times[:-1], np.where(np.arange(len(turns)) % 2, 0.0, 1e9 / pace)), float(times[-1])
