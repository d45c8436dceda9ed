"""Which congestion control a sender has, and whether the receiver's window limits it: from what it had in flight.

A congestion control is named only if it shows a signature: the part by which the window shrinks at a loss or mark
(Reno keeps 0.5 of it, CUBIC 0.7); BBR's pauses, in which the sender has hardly anything in flight for 200 ms although
nothing was lost; ECN on a SYN (DCTCP), or ECT(1) (L4S).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Reals = NDArray[np.float64]

KEEPS = {"reno": 0.5, "cubic": 0.7}
"""The part of its window that a sender keeps at a loss: RFC 5681, RFC 9438. BBR's version 3 does so, too, but does not
grow then."""

LEAST = 5
"""Packets in flight from which a reduction counts: windows are whole packets, two at least, so that of four CUBIC keeps
two as Reno does, and of three Reno keeps two as CUBIC does."""

END = 2
"""The first reductions, which end slow start and meet many losses at once, do not count where there are others."""

STEADY, GREW, FEW = 0.3, 1.15, 10
"""Between two losses their windows grow all the time: in the middle by half of what they will, or more, and hardly by
less than this part; of windows that grow by so much at least, as so many packets show them."""

NEAR, LIKE, FEWEST = 0.06, 0.6, 3
"""A reduction is a controller's when it keeps this part within so much; a controller is told when this share of all
reductions are its, and at least so many. BBR's, which keep any part from 0.6 to 1.7, are CUBIC's in less than one of
three."""

GROWS, SLOPE, EVENLY = {"reno": 1.0, "cubic": 0.53}, 0.1, 0.1
"""Full segments by which the window grows in a round trip: Reno's by one, CUBIC's by this as long as Reno would be
faster (RFC 9438, Sec. 4.3). A controller whose window grew so each time, within this part, and evenly, is told by its
last reduction alone: in large windows there are few."""

PAUSE_S = (0.12, 0.6)
"""How long BBR has little in flight, to see the base round trip: 200 ms, as far as packets show it, and the time to
begin and end that."""

FLOOR, ABOVE = (2.5, 5.0), 4
"""What version 1 has in flight then, in packets: 4, one or two of them acknowledged; and by which factor it usually has
more."""

SHORT = 20
"""Packets that a path holds at the least for half of them to be more than that."""

HALF = 0.5
"""The part of what is usually in flight below which version 3 pauses: it keeps half of what the path holds, and usually
has some in the queue, too."""

CYCLES_S = {"bbr": (9.5, 12.0), "bbr3": (4.5, 6.5)}
"""The time between two pauses: 10 s and 5 s, and a pause."""

HELD = 0.5
"""The part of acknowledgements after which a sender must have filled the receiver's window for that to hold it."""

AHEAD = 4
"""A place of capture is near the sender where the way to it and back is so many times shorter than the other one."""

PAUSED = 0.3
"""The part of the time in which a sender had nothing in flight from which on its application limits it: one that always
has data has some in flight, but for moments."""

SYN, CWR, AE = 2, 128, 256


@dataclass(frozen=True)
class Control:
    """What is told of a sender.

    Attributes:
        name: Its congestion control, as scenarios call it; None when that is not told.
        said: What it is told by.
        window: Full packets that fit into the receiver's window, if that held the sender.
        again: Segments that were sent again.
        limited: Whether its application limits it.
    """

    name: str | None
    said: str
    window: int | None
    again: int
    limited: bool = False


@dataclass(frozen=True)
class Flight:
    """What a sender had in flight as it sent each packet of data; times in nanoseconds.

    Attributes:
        time: When the packet was seen.
        high: Up to which byte the sender had sent then.
        acked: Up to which byte it had been acknowledged.
        segment: Bytes of a full segment.
        packets: In flight, in full segments.
        again: Whether the packet was sent again.
        reduced: Whether it says that the window was reduced for a mark.
    """

    time: Numbers
    high: Numbers
    acked: Numbers
    segment: int
    packets: Reals
    again: NDArray[np.bool_]
    reduced: NDArray[np.bool_]


def controls(
    data: pl.DataFrame, acks: pl.DataFrame, legs: dict[int, tuple[float, float]], flows: list[int], in_front: bool
) -> dict[int, Control]:
    """What is told of these connections' senders.

    `data`: packets of their direction before its queue; `acks`: of the other direction, behind its queue. `legs`: round
    trips beyond the place of capture and before it. `in_front`: whether the link's queue lies behind that place.
    """
    import polars as pl

    mine = pl.col("flow").is_in(flows) & pl.col("seq").is_not_null()
    heard = {key[0]: rows for key, rows in acks.filter(mine).partition_by("flow", as_dict=True).items()}
    found = {}
    for (flow,), rows in data.filter(mine).partition_by("flow", as_dict=True).items():
        far, near = legs.get(flow, (0.0, float("inf")))
        if flow in heard and (near * AHEAD <= far or (in_front and np.isfinite(near))):
            found[flow] = _control(rows, heard[flow], int(near), int(far + near))
    return found


def _control(data: pl.DataFrame, acks: pl.DataFrame, near: int, rtt: int) -> Control:
    import polars as pl

    flight = in_flight(data, acks, near)
    again = int(flight.again.sum())
    if (part := paused(flight, rtt)) >= PAUSED:
        return Control(None, f"nothing was in flight for {part:.0%} of the time", None, again, True)
    window = held(data, acks, flight, near)
    sent = data.filter(pl.col("payload_bytes") > 0)
    if window is not None:
        return Control(None, "the receiver's window limits them", window, again)
    if (sent["ecn"] == 1).any():
        return Control("prague", "their packets are ECT(1), of L4S", None, again)
    if (data.filter(pl.col("flags") & SYN > 0)["ecn"] == 2).any():
        return Control("dctcp", "their SYN is ECT(0)", None, again)
    if (probes := pauses(flight, rtt)) is not None:
        return Control(*probes, None, again)
    kept, halfway, grown = reductions(flight, rtt)
    kept = kept[END:] if len(kept) >= END + FEWEST else kept
    if len(halfway) and np.median(halfway) < STEADY:
        return Control(None, "", None, again)
    for name, part in KEEPS.items():
        like = np.abs(kept - part) <= NEAR
        if like.sum() >= FEWEST and like.mean() >= LIKE:
            said = f"the window kept {np.median(kept):.2f} of its size at {len(kept)} losses or marks"
            return Control(name, said, None, again)
        so = (np.abs(grown - GROWS[name]) <= SLOPE * GROWS[name]) & (np.abs(halfway - 0.5) <= EVENLY)
        if len(so) and len(kept) and so.all() and like[-1]:
            said = f"the window kept {kept[-1]:.2f} of its size and grew by {np.median(grown):.2f} in a round trip"
            return Control(name, said, None, again)
    return Control(None, "", None, again)


def in_flight(data: pl.DataFrame, acks: pl.DataFrame, near: int) -> Flight:
    """What was in flight. `near`: how long an acknowledgement takes to the sender and what it lets out takes back."""
    import polars as pl

    sent = data.filter(pl.col("payload_bytes") > 0)
    length = sent["payload_bytes"].cast(pl.Int64).to_numpy()
    origin = int(sent["seq"][0])
    end = _unwrapped(sent["seq"].to_numpy(), origin) + length
    high = np.maximum.accumulate(end)
    heard, acked = _acknowledged(acks, near, origin)
    time = sent["time_ns"].to_numpy()
    last = np.searchsorted(heard, time, side="right") - 1
    known = np.where(last >= 0, acked[np.maximum(last, 0)], min(0, int(acked[0])))
    segment = int(np.percentile(length, 90))
    again = end <= np.concatenate(([0], high[:-1]))
    reduced = (sent["flags"].to_numpy() & CWR) > 0
    return Flight(time, high, known, segment, (high - known) / segment, again, reduced)


def paused(flight: Flight, rtt: int) -> float:
    """The part of the time in which a sender had nothing in flight: after all was acknowledged, a round trip later."""
    gap = np.diff(flight.time) - rtt
    idle = (flight.acked[1:] >= flight.high[:-1]) & (gap > 0)
    return float(gap[idle].sum() / max(flight.time[-1] - flight.time[0], 1))


def _unwrapped(numbers: NDArray[Any], origin: int) -> Numbers:
    """Numbers of 32 bits that go on from this one without wrapping."""
    ahead = np.diff(np.concatenate(([origin], numbers.astype(np.int64))))
    return np.cumsum((ahead + 2**31) % np.int64(2**32) - 2**31)


def _acknowledged(acks: pl.DataFrame, near: int, origin: int) -> tuple[Numbers, Numbers]:
    """When the sender knew what was acknowledged."""
    import polars as pl

    rows = acks.filter(pl.col("ack").is_not_null())
    return rows["time_ns"].to_numpy() + near, np.maximum.accumulate(_unwrapped(rows["ack"].to_numpy(), origin))


def reductions(flight: Flight, rtt: int) -> tuple[Reals, Reals, Reals]:
    """The part of the window that was kept at each loss or mark; and, for each time between two of them in which it
    grew, what part of that it had grown in the middle, and by how many full segments in a round trip."""
    kept: list[float] = []
    growth: list[tuple[float, float]] = []
    until, after = -1, 0
    for at in np.flatnonzero(flight.again | flight.reduced):
        if flight.acked[at] < until:
            continue  # of the same reduction
        # Of a loss the window before is that as the last one before it was acknowledged: what is sent for duplicate
        # acknowledgements is beyond it.
        first = int(np.searchsorted(flight.acked, flight.acked[at])) if flight.again[at] else max(int(at) - 1, 0)
        if until >= 0 and (grown := _growth(flight, after, first)) is not None:
            growth.append(grown)
        until = int(flight.high[at])
        after = int(np.searchsorted(flight.acked, until))
        if after >= len(flight.time):
            break
        half = max(int(flight.time[after] - flight.time[at]), rtt) // 2
        end = int(np.searchsorted(flight.time, flight.time[after] + half)) + 1
        before = float(flight.packets[first])
        if before > LEAST - 0.5:
            kept.append(float(np.median(flight.packets[after:end])) / before)
    halfway, by = np.array(growth).reshape(-1, 2).T
    return np.array(kept), halfway, by


def _growth(flight: Flight, begin: int, end: int) -> tuple[float, float] | None:
    """What part of its growth the window had grown in the middle of this time, and by how much it grew in a round trip;
    None where it hardly grew."""
    if end - begin < 4 * FEW:
        return None
    window, time = flight.packets[begin:end], flight.time[begin:end]
    start, last = float(np.median(window[:FEW])), float(window[-FEW:].max())
    if last < GREW * start:
        return None
    middle = max(int(np.searchsorted(time, (int(time[0]) + int(time[-1])) // 2)) - FEW // 2, 0)
    halfway = (float(np.median(window[middle : middle + FEW])) - start) / (last - start)
    # A window w that grows by g in each round trip, in which w segments are acknowledged, so that w dw = g ds.
    acknowledged = max(int(flight.acked[end - 1] - flight.acked[begin]), 1) / flight.segment
    return halfway, (float(np.median(window[-FEW:])) ** 2 - start**2) / (2 * acknowledged)


def pauses(flight: Flight, rtt: int) -> tuple[str, str] | None:
    """Whether a sender is BBR, and what tells it: it pauses though nothing was lost, again and again, and goes on
    sending little meanwhile."""
    usual = float(np.median(flight.packets))
    if usual < ABOVE * FLOOR[1]:
        return None
    levels = {
        "bbr": (flight.packets >= FLOOR[0]) & (flight.packets <= FLOOR[1]),
        "bbr3": flight.packets <= HALF * usual,
    }
    lost = flight.time[flight.again | flight.reduced]
    if rtt * (flight.high[-1] - flight.high[0]) < SHORT * flight.segment * (flight.time[-1] - flight.time[0]):
        del levels["bbr"]  # half of the path is as little
    for name, low in levels.items():
        starts, calm = [], 0
        for begin, end in _runs(low):
            start, stop = int(flight.time[begin]), int(flight.time[end - 1])
            if begin == 0 or end == len(low) or not PAUSE_S[0] <= (stop - start) / 1e9 <= PAUSE_S[1] + rtt / 1e9:
                continue
            starts.append(start)
            calm += not ((lost > start - 4 * rtt) & (lost < stop)).any()
        gaps = np.diff(starts) / 1e9
        cycles = (gaps >= CYCLES_S[name][0]) & (gaps <= CYCLES_S[name][1])
        # Version 1 has so little in flight that a single pause tells it where nothing was lost.
        alone = name == "bbr" and calm > 0
        if alone or (cycles.sum() >= (1 if name == "bbr" else 2) and cycles.mean() >= LIKE and calm > 0):
            return name, f"they paused {len(starts)} times for a while, {calm} of them without a loss"
    return None


def _runs(true: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where it is true without a break: from, and before which place."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], true.astype(np.int8), [0]))))
    return [(int(begin), int(end)) for begin, end in zip(edges[0::2], edges[1::2], strict=True)]


def held(data: pl.DataFrame, acks: pl.DataFrame, flight: Flight, near: int) -> int | None:
    """Full packets that fit into the receiver's window, where a sender mostly waited for it."""
    import polars as pl

    syns = [rows.filter(pl.col("flags") & SYN > 0) for rows in (data, acks)]
    if any(syn.is_empty() for syn in syns):
        return None  # how windows are to be read is said there
    scales = [syn["window_scale"][0] for syn in syns]
    scale = 0 if None in scales else int(scales[1])
    rows = acks.filter(pl.col("ack").is_not_null(), pl.col("flags") & SYN == 0)
    if rows.height <= FEWEST:
        return None
    window = rows["window"].cast(pl.Int64).to_numpy() << scale
    origin = int(data.filter(pl.col("payload_bytes") > 0)["seq"][0])
    heard, acked = _acknowledged(rows, near, origin)
    # What had been sent as the next acknowledgement came.
    last = np.searchsorted(flight.time, heard[1:]) - 1
    sent = flight.high[np.maximum(last, 0)]
    room = acked[:-1] + window[:-1] - sent
    if np.mean(room < flight.segment) < HELD:
        return None
    return max(round(float(np.median(window)) / flight.segment), 1)
