"""One direction of the link: its packets before and behind the queue, where both were captured, and what follows from
that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

BOTH = 0.5
"""The part of the packets behind a queue that must have been seen before it, for two captures to be of one queue."""

MARKED = 3

IDLE_NS, AT_LEAST, APART_NS, SAME_NS, FEW = 5_000_000, 3, 1_000_000, 300_000, 0.01
"""What leaves so long after the packet before it has not waited. If so many take more than a millisecond from place to
place all the same, besides what they take on the link, and these alike, and few of all packets take less, beyond what a
kernel's clocks differ by, the places are apart. Some seem to take less, as they look like another one."""


@dataclass(frozen=True)
class Passage:
    """The packets of one direction that reached a queue, in the order of arrival; times in nanoseconds.

    Attributes:
        arrival: When they did.
        departure: When they were seen behind it; -1 for those that were not.
        size: Bytes of IP.
        flow: Their connection.
        marked: Whether they were marked in between.
        apart_ns: How long the way from the queue to the second place is, already taken off the departures.
    """

    arrival: Numbers
    departure: Numbers
    size: Numbers
    flow: Numbers
    marked: Flags
    apart_ns: int = 0

    @cached_property
    def sent(self) -> Numbers:
        """The packets that left, in the order in which they did: places in the other arrays."""
        left = np.flatnonzero(self.departure >= 0)
        return left[np.argsort(self.departure[left], kind="stable")]

    @cached_property
    def dropped(self) -> Numbers:
        """The packets that did not leave though a later one of their connection did: places in the other arrays."""
        last = np.full(int(self.flow.max()) + 1, -1, np.int64)
        left = np.flatnonzero(self.departure >= 0)
        np.maximum.at(last, self.flow[left], left)
        missing = np.flatnonzero(self.departure < 0)
        return missing[missing < last[self.flow[missing]]]

    @cached_property
    def busy(self) -> Flags:
        """For each of `sent`, whether it had arrived when the one before it left: the link was sending without a
        pause."""
        before = np.concatenate(([-1], self.departure[self.sent[:-1]]))
        busy: Flags = self.arrival[self.sent] <= before
        return busy

    @cached_property
    def begun(self) -> Numbers:
        """When the transmission of each of `sent` began: as it arrived, or when the one before it had left."""
        before = np.concatenate(([-1], self.departure[self.sent[:-1]]))
        begun: Numbers = np.maximum(self.arrival[self.sent], before)
        return begun

    @cached_property
    def wait(self) -> Numbers:
        """How long each of `sent` waited."""
        wait: Numbers = self.begun - self.arrival[self.sent]
        return wait

    def backlog(self, at: Numbers) -> tuple[Numbers, Numbers]:
        """Packets and bytes in the queue that arrivals at these places of the arrays find; dropped packets do not
        count."""
        kept = np.flatnonzero(self.departure >= 0)
        arrived = np.searchsorted(kept, at)  # those before it in the order of arrival
        begun = np.searchsorted(np.sort(self.begun), self.arrival[at], side="right")
        # What begins at the very time of an arrival may be that arrival itself.
        begun = np.minimum(begun, arrived)
        bytes_in = np.concatenate(([0], np.cumsum(self.size[kept])))
        order = np.argsort(self.begun, kind="stable")
        bytes_out = np.concatenate(([0], np.cumsum(self.size[self.sent][order])))
        return arrived - begun, np.maximum(bytes_in[arrived] - bytes_out[begun], 0)


def passage(packets: pl.DataFrame) -> Passage | None:
    """The packets of one direction at a queue, if they were captured before and behind it."""
    import polars as pl

    points = packets.group_by("point").len().sort("point")["point"].to_list()
    at = {point: packets.filter(pl.col("point") == point).with_row_index("row") for point in points}
    best: tuple[int, pl.DataFrame] | None = None
    for one, other in ((one, other) for one in points for other in points if one != other):
        behind = at[other]
        met = _paired(at[one], behind)
        if met.height >= BOTH * behind.height and (best is None or met.height > best[0]):
            best = met.height, at[one].join(met, on="row", how="left", maintain_order="left")
    if best is None:
        return None
    met = best[1]
    arrival, size = met["time_ns"].to_numpy(), met["bytes"].cast(pl.Int64).to_numpy()
    departure = met["left"].fill_null(-1).to_numpy()
    apart = _apart(arrival, departure, size)
    return Passage(
        arrival=arrival,
        departure=np.where(departure < 0, -1, np.maximum(departure - apart, arrival)),
        size=size,
        flow=met["flow"].cast(pl.Int64).to_numpy(),
        marked=((met["ecn_behind"] == MARKED) & (met["ecn"] != MARKED)).fill_null(False).to_numpy(),
        apart_ns=apart,
    )


def _apart(arrival: Numbers, departure: Numbers, size: Numbers) -> int:
    """How far the second place is from the queue."""
    left = np.flatnonzero(departure >= 0)
    order = left[np.argsort(departure[left], kind="stable")]
    gap = np.diff(departure[order])
    if np.sum(gap > IDLE_NS) < AT_LEAST:
        return 0
    # What a byte takes on the link, or less where a kernel sends late.
    pace = (gap[gap > 0] / size[order][1:][gap > 0]).min()
    took = departure[order] - arrival[order] - (size[order] * pace).astype(np.int64)
    alone = np.sort(took[1:][gap > IDLE_NS])
    apart = int(alone[AT_LEAST - 1])
    alike = apart - alone[0] < SAME_NS and np.mean(took < apart - SAME_NS) < FEW
    return apart if apart > APART_NS and alike else 0


def _paired(before: pl.DataFrame, behind: pl.DataFrame) -> pl.DataFrame:
    """The rows of `before` that were seen behind, when (`left`), and their ECN field then.

    What looks alike, as repeated acknowledgements and retransmissions do, leaves in the order in which it came, and as
    late a one as may have left: of a segment that was sent twice and left once, the first was dropped. Where that
    overtakes what its connection sent later, an earlier one is meant.
    """
    import polars as pl

    alike = ["flow", "identity"]
    place, row, at = pl.col("place"), pl.col("row"), pl.int_range(pl.len()).over(alike)
    known = before.select("row", "time_ns", *alike, place=at)
    met = (
        behind.select(*alike, "time_ns", ecn_behind="ecn")
        .join_asof(known.drop("row"), on="time_ns", by=alike, strategy="backward", check_sortedness=False)
        .filter(place.is_not_null())
        .with_columns(at=at)
        .with_columns(place=pl.col("at") + (place - pl.col("at")).cum_min(reverse=True).over(alike))
        .join(known.drop("time_ns"), on=[*alike, "place"], maintain_order="left")
        .with_columns(below=row.cum_min(reverse=True).over("flow").cast(pl.Int64))
    )
    wrong = met.filter(row > pl.col("below"), place > 0).drop("row")
    earlier = known.select("flow", "identity", "row", below=row.cast(pl.Int64))
    right = wrong.with_columns(pl.col("below") - 1).sort("below").join_asof(
        earlier, on="below", by=alike, strategy="backward", check_sortedness=False
    )  # fmt: skip
    met = pl.concat([met.filter((row <= pl.col("below")) | (place == 0)), right.select(met.columns)])
    return met.filter(row.is_not_null()).unique("row", keep="first").select("row", "ecn_behind", left="time_ns")
