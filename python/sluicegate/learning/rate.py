"""The rate of a link, from packets that it sent without a pause between them; its framing; and how the rate varies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .modes import ALIKE, mode
from .passage import Passage
from .pauses import pauses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Reals = NDArray[np.floating]
    Numbers = NDArray[np.int64]

FEWEST = 50
"""Back-to-back departures below which no rate is told: the mean of fewer is off by more than a percent where sizes
vary."""

BIN_NS = 50_000_000
"""The step of a trace: some packets at 1 Mbit/s, some aggregates of Wi-Fi."""

STEADY = 0.03
"""A rate whose tenths of the capture differ by less, as a part of the mean, is one rate."""

SHARP = 0.25
"""A framing is told when it leaves less than this part of the deviation that no framing leaves."""

PACED, FULL, FILLED_NS = 0.4, 0.9, 500_000_000
"""Behind a link alone: so much of the bytes must keep one pace, and half a second be as
full of them as this part of the rate. A burst of a fast port keeps a pace, too, but fills no half second."""

UNSURE, SELDOM = 0.5, 0.05
"""A rate that varies is not told where its interval is wider, as a part of it, or where the link sent without a pause
for a smaller part of the time: what follows at once there may only have been late."""

FRAMINGS = {
    "ethernet": (38, 84, ""),
    "pppoe": (46, 84, ""),
    "docsis": (18, 64, ""),
    "ptm": (30, 0, "ptm"),
    "atm": (40, 0, "atm"),
}
"""Bytes around a packet, the least frame and the cells of each framing that a scenario knows, but for none."""


@dataclass(frozen=True)
class LinkRate:
    """The rate of a link.

    Attributes:
        bps: Bits of frames in a second; of IP where the framing is not told. The mean where the rate varies.
        half_width_bps: Half of its 95 % interval.
        framing: The framing, if packets of several sizes tell it: "none" or a name of scenarios.
        trace: Where the rate varies: seconds since the first departure, and bit/s from then on.
        samples: Departures that it is from.
        busy: The part of the time in which the link sent without a pause.
        period: When the trace ends, in seconds.
    """

    bps: float
    half_width_bps: float
    framing: str | None
    trace: tuple[Reals, Reals] | None
    samples: int
    busy: float
    period: float | None = None


def framed(size: Numbers, framing: str) -> Numbers:
    """How many bytes packets of these sizes take on a link with this framing."""
    if framing == "none":
        return size
    extra, least, cells = FRAMINGS[framing]
    size = np.maximum(size + extra, least)
    if cells == "atm":
        return -(-size // 48) * 53
    return size + -(-size // 64) if cells == "ptm" else size


def rate(passage: Passage) -> LinkRate | None:
    """The rate at which packets left a queue; None where too few left back to back, or it stays unsure."""
    left = passage.departure[passage.sent]
    gap = np.diff(left, prepend=left[:1])
    use = passage.busy & (gap > 0)
    use[0] = False
    if use.sum() < FEWEST:
        return None
    gaps, sizes = gap[use].astype(float), passage.size[passage.sent][use]
    framing = told_framing(sizes, gaps)
    bits = framed(sizes, framing or "none") * 8.0
    mean = float(bits.sum() / gaps.sum() * 1e9)
    span = float(left[-1] - left[0]) or 1.0
    busy = float(gaps.sum() / span)
    tenths = [
        (part.sum(), whole.sum())
        for part, whole in zip(np.array_split(bits, 10), np.array_split(gaps, 10), strict=True)
    ]
    rates = np.array([part / whole * 1e9 for part, whole in tenths])
    half = float(2.26 * rates.std(ddof=1) / np.sqrt(10))  # Student's t for ten means
    single = np.abs(gaps - bits / mean * 1e9) / gaps
    if rates.std() < STEADY * mean and np.median(single) < STEADY:
        return LinkRate(mean, half, framing, None, int(use.sum()), busy)
    # Where nothing waited, too, a packet took from its arrival on: without those, times of no rate would be missing.
    took = np.maximum(left - passage.begun, 1).astype(float)
    bits = passage.size[passage.sent] * 8.0
    told = pauses(passage)
    if told is not None:
        return LinkRate(told.bps, told.half_width_bps, None, told.trace, int(use.sum()), busy, told.period)
    times, found = over_time(left - left[0] + int(took[0]), took, bits)
    # They make the rate too low, as what waits for a rate is counted and a rate that waits for packets is not; packets
    # that left back to back alone make it too high.
    half = max(half, float(sizes.sum() * 8e9 / gaps.sum() - found.mean()))
    if half > UNSURE * found.mean() or busy < SELDOM:
        return None
    return LinkRate(float(found.mean()), half, None, (times, found), int(use.sum()), busy, (len(times) * BIN_NS) / 1e9)


def rate_behind(time: Numbers, size: Numbers) -> LinkRate | None:
    """The rate of a link from what was captured behind it alone: most packets then follow the one before at one and the
    same speed, and some time is filled with them. None where that is not so: also before a queue, and where the rate
    varies."""
    gaps, sizes = np.diff(time).astype(float), size[1:]
    use = gaps > 0
    gaps, sizes = gaps[use], sizes[use]
    if len(gaps) < FEWEST:
        return None
    found = {}
    for name in ("none", *FRAMINGS):
        pace = gaps / (framed(sizes, name) * 8.0)
        usual = mode(pace)
        found[name] = np.abs(pace / usual - 1) < ALIKE
    order = sorted(found, key=lambda name: -int(found[name].sum()))
    # Packets of other sizes keep the pace under the right framing alone.
    more = found[order[0]].sum() - found["none"].sum()
    alike = order[0] == "none" and _sizes_differ(sizes[found["none"]])
    told = order[0] if more > FEWEST or alike else None
    busy = found[told or "none"]
    bits = framed(sizes, told or "none") * 8.0
    bps = bits[busy].sum() / gaps[busy].sum() * 1e9
    ends = time[1:][use]
    sums = np.concatenate(([0.0], np.cumsum(bits)))
    later = np.searchsorted(ends, ends + FILLED_NS)
    most = (sums[later] - sums[np.arange(len(ends))]).max() / FILLED_NS * 1e9
    if bits[busy].sum() < PACED * bits.sum() or most < FULL * bps:
        return None
    spread = np.std(gaps[busy] / bits[busy]) * bps / 1e9
    half = float(1.96 * bps * spread / np.sqrt(busy.sum()))
    return LinkRate(float(bps), half, told, None, int(busy.sum()), float(gaps[busy].sum() / (time[-1] - time[0])))


def _sizes_differ(sizes: Numbers) -> bool:
    """Whether there are enough packets of sizes that differ by a factor of two to tell a framing."""
    values, counts = np.unique(sizes, return_counts=True)
    many = values[counts >= FEWEST // 5]
    return len(many) > 1 and bool(many[-1] >= 2 * many[0])


def told_framing(sizes: Numbers, gaps: Reals) -> str | None:
    """The framing under which each packet takes the time of its bytes; None where sizes or times do not tell."""
    if not _sizes_differ(sizes):
        return None
    left = {}
    for name in ("none", *FRAMINGS):
        bits = framed(sizes, name) * 8.0
        # The common rate is that of the median, which a few disturbed gaps do not move.
        left[name] = float(np.mean(np.abs(gaps / bits / np.median(gaps / bits) - 1)))
    order = sorted(left, key=lambda name: left[name])
    if left[order[0]] > 0.01 or left[order[0]] > SHARP * left[order[1]]:
        return None
    return order[0]


def over_time(end: Numbers, gaps: Reals, bits: Reals) -> tuple[Reals, Reals]:
    """The rate in each bin from the sending times in it. While nothing is sent, the bin's other times stand for it, or
    the bin before."""
    edges = np.arange(0, int(end[-1]) + BIN_NS, BIN_NS, dtype=float)
    # Bits and sending time up to each edge: both grow evenly within a gap and stand still outside.
    times = np.stack([end - gaps, end.astype(float)], axis=1).ravel()
    grown = np.repeat(np.cumsum(bits), 2)
    grown[0::2] -= bits
    spent = np.repeat(np.cumsum(gaps), 2)
    spent[0::2] -= gaps
    times = np.maximum.accumulate(times)
    more, time = np.diff(np.interp(edges, times, grown)), np.diff(np.interp(edges, times, spent))
    known = time > BIN_NS / 20
    found = np.divide(more, time, out=np.zeros_like(more), where=known) * 1e9
    places = np.maximum.accumulate(np.where(known, np.arange(len(found)), 0))
    first = int(np.argmax(known)) if known.any() else 0
    filled = found[np.where(known[places], places, first)]
    return edges[:-1] / 1e9, filled
