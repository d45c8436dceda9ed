"""What happens on the way behind the queue: losses, which are segments that left it and were sent again as nobody
acknowledged them; and jitter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

FEWEST = 3
"""So many segments must have been lost for a loss to be told."""

NEAR = 10
"""Losses with fewer packets between them are of one burst. Where losses are independent and one in a thousand, one in a
hundred of them seems to be of a burst."""


FEW, LEAST_MS = 50, 0.5
"""Answers of a connection that tell its jitter; and the jitter from which on there is one."""


@dataclass(frozen=True)
class Lost:
    """Losses behind a queue: how many of how many segments, and in how many bursts; the segments of these from the
    first lost one to the last."""

    lost: int
    of: int
    bursts: int
    spanned: int

    @property
    def keys(self) -> dict[str, float]:
        """The keys of a network with such losses: independent ones, or Gilbert's bursts."""
        if self.spanned < 2 * self.bursts:
            return {"loss": float(f"{self.lost / self.of:.2g}")}
        mean = self.spanned / self.bursts
        return {
            "burst_start": float(f"{self.bursts / self.of:.2g}"),
            "burst_end": round(1 / mean, 2),
            "burst_loss": round(self.lost / self.spanned, 2),
        }


def lost(
    before: pl.DataFrame, behind: pl.DataFrame, answers: pl.DataFrame, trips: dict[int, int]
) -> Lost | None:  # fmt: skip
    """What of TCP was lost behind the queue; None where hardly anything was.

    `before`, `behind`: packets of a direction at the queue; `answers`: of the other one, where it is seen first.
    `trips`: base round trips of connections in nanoseconds. A segment was lost if it is sent again a round trip or more
    after it had left, and acknowledgements still ask for it by then; or the last one before it was sent again asks for
    it, as at the end of a burst, behind which nothing causes more of them. What only follows such a one was received,
    though a timeout may send it again, too.
    """
    import polars as pl

    data = pl.col("payload_bytes") > 0
    known = {"flow": list(trips), "trip": list(trips.values())}
    trip = pl.DataFrame(known, {"flow": pl.UInt32, "trip": pl.Int64})
    left = (
        behind.filter(data, pl.col("seq").is_not_null())
        .join(trip, on="flow", maintain_order="left")
        .select("flow", "seq", "trip", left="time_ns")
        .with_row_index("place")
    )
    if left.is_empty():
        return None
    sent = before.filter(data, pl.col("seq").is_not_null()).select("flow", "seq", again="time_ns")
    again = left.with_columns(after=pl.col("left") + pl.col("trip")).sort("after").join_asof(
        sent, left_on="after", right_on="again", by=["flow", "seq"], strategy="forward", check_sortedness=False
    ).drop_nulls("again")  # fmt: skip
    acks = answers.filter(pl.col("ack").is_not_null())
    asked = acks.group_by("flow", seq="ack").agg(asked=pl.col("time_ns").max())
    stands = acks.select("flow", again="time_ns", stands="ack").sort("again")
    met = again.join(asked, on=["flow", "seq"]).sort("again").join_asof(
        stands, on="again", by="flow", strategy="backward", check_sortedness=False
    ).filter((pl.col("asked") > pl.col("after")) | (pl.col("stands") == pl.col("seq")))  # fmt: skip
    # A segment that was sent three times counts each time it left.
    places: NDArray[np.int64] = np.unique(met["place"].to_numpy().astype(np.int64))
    if len(places) < FEWEST:
        return None
    ends = np.flatnonzero(np.diff(places) > NEAR)
    first, last = places[np.concatenate(([0], ends + 1))], places[np.concatenate((ends, [len(places) - 1]))]
    return Lost(len(places), left.height, len(first), int((last - first + 1).sum()))


@dataclass(frozen=True)
class Jitter:
    """Jitter behind a queue: up to how many milliseconds packets come later by chance; and by how many nanoseconds
    answers came later than the first of their connection would."""

    ms: float
    late: NDArray[np.int64]

    def least(self, answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """By how much that of so many answers comes late, each at another time, which is the least late."""
        return np.quantile(self.late, 1 / (answers + 1))


def jitter(behind: pl.DataFrame, answers: pl.DataFrame) -> Jitter | None:
    """The jitter behind the queue; None where there is hardly any. `behind`: packets of a direction behind the queue;
    `answers`: of the other one, where it is seen first."""
    import polars as pl

    data, seq = pl.col("payload_bytes") > 0, pl.col("seq").cast(pl.Int64)
    sent = behind.filter(data, seq.is_not_null()).select("flow", "time_ns", key=(seq + pl.col("payload_bytes")) % 2**32)
    acks = answers.filter(pl.col("ack").is_not_null()).select("flow", "time_ns", key=pl.col("ack").cast(pl.Int64))
    said = behind.filter(pl.col("tsval").is_not_null()).select("flow", "time_ns", key="tsval")
    echoes = answers.filter(data, pl.col("tsecr").fill_null(0) > 0).select("flow", "time_ns", key="tsecr")
    late = max(_late(sent, acks), _late(said, echoes), key=len)
    if not len(late):
        return None
    # Of packets in a row, which keep their order, most come as late as any. A receiver that acknowledges every second
    # one keeps few of them for much longer.
    late = late[late <= 2 * np.median(late)]
    ms = round(float(np.percentile(late, 99)) / 1e6, 1)
    return Jitter(ms, late) if ms >= LEAST_MS else None


def _late(one: pl.DataFrame, other: pl.DataFrame) -> NDArray[np.int64]:
    """By how much more than in the shortest case of its connection an answer comes after what it answers."""
    import polars as pl

    first = pl.col("time_ns").min()
    met = (
        one.group_by("flow", "key").agg(first).join(other.group_by("flow", "key").agg(heard=first), on=["flow", "key"])
    )
    took = pl.col("heard") - pl.col("time_ns")
    late = met.filter(took >= 0).select("flow", late=took - took.min().over("flow"))
    return late.filter(pl.len().over("flow") >= FEW)["late"].to_numpy()
