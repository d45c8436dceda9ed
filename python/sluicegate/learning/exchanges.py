"""What applications decide in their TCP connections, as connection vectors: who sends how much, and how long it then
waits (a, b, t)."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


SYN, ACK = 2, 16

WRAP = 2**32

AT_ONCE = 20_000
"""How many connections are written at once, so that very many take no more memory."""


class Exchanges:
    """What ends send each other, from packets that come in parts."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        # Of each end, in the place of its number: how far it has come, which goes on where sequence numbers wrap, and
        # the number there; -1 before it is seen. Arrays, as there may be very many.
        self._most: NDArray[np.int64] = np.zeros(0, np.int64)
        self._number: NDArray[np.int64] = np.zeros(0, np.int64)

    def units(self, packets: pl.DataFrame) -> pl.DataFrame:
        """A row for each time that data of a connection of TCP changes its direction: how much new data was sent then,
        and when. `packets`: the next ones, each seen once in its direction."""
        import polars as pl

        seq, syn = pl.col("seq").cast(pl.Int64), pl.col("flags") & SYN > 0
        sent = packets.filter(pl.col("seq").is_not_null(), syn | (pl.col("payload_bytes") > 0)).select(
            "flow", "opened", "down", "time_ns", "payload_bytes", syn=syn, seq=seq + syn,
            end=pl.col("flow").cast(pl.Int64) * 2 + pl.col("opened"),
        )  # fmt: skip
        self._meet(sent)
        # Data that a SYN carries is of the stream's first byte.
        sent = sent.filter(pl.col("payload_bytes") > 0)
        ends = sent["end"].to_numpy()
        most = self._most[ends]
        ahead = (sent["seq"].to_numpy() - self._number[ends] + WRAP // 2) % WRAP - WRAP // 2
        sent = (
            sent.select("flow", "opened", "down", "time_ns", "end", "payload_bytes", most=most, high=most + ahead)
            .with_columns(
                high=pl.max_horizontal((pl.col("high") + pl.col("payload_bytes")).cum_max().over("end"), "most")
            )
            # What is sent again tells nothing of the application.
            .with_columns(new=pl.col("high") - pl.max_horizontal(pl.col("high").shift().over("end"), "most"))
        )
        reached = sent.group_by("end").agg(pl.col("high").last())
        ends, high = reached["end"].to_numpy(), reached["high"].to_numpy()
        self._number[ends] = (self._number[ends] + high - self._most[ends]) % WRAP
        self._most[ends] = high
        rows = sent.filter(pl.col("new") > 0)
        return joined([rows.select("flow", "opened", "down", "new", first="time_ns", last="time_ns")])

    def _meet(self, sent: pl.DataFrame) -> None:
        """Begin with ends that were not seen before: at their SYN, or else at their first data."""

        if sent.is_empty():
            return
        more = int(sent["end"].max()) + 1 - len(self._number)  # type: ignore[arg-type]
        if more > 0:
            self._number = np.concatenate([self._number, np.full(more, -1)])
            self._most = np.concatenate([self._most, np.zeros(more, np.int64)])
        fresh = sent.filter(self._number[sent["end"].to_numpy()] < 0)
        first = fresh.sort("syn", descending=True, maintain_order=True).unique("end", keep="first")
        self._number[first["end"].to_numpy()] = first["seq"].to_numpy()


def joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Units of parts of a capture, one after the other, as those of all, sorted by connection."""
    import polars as pl

    turns = (pl.col("flow") != pl.col("flow").shift()) | (pl.col("opened") != pl.col("opened").shift())
    return (
        pl.concat(parts)
        .sort("flow", maintain_order=True)
        .with_columns(unit=turns.fill_null(True).cum_sum())
        .group_by("unit", maintain_order=True)
        .agg(pl.col("flow", "opened", "down").first(), pl.col("new").sum(), pl.col("first").min(), pl.col("last").max())
        .drop("unit")
    )


def opened(packets: pl.DataFrame) -> pl.DataFrame:
    """When connections of TCP were opened."""
    import polars as pl

    syns = packets.filter(pl.col("flags") & (SYN | ACK) == SYN)
    return syns.group_by("flow").agg(pl.col("time_ns").min())


def vectors(
    units: pl.DataFrame, flows: list[int], opened: pl.DataFrame, legs: pl.DataFrame, data_down: bool, begun: int
) -> tuple[str, int, int]:
    """The connections of these numbers of which the opening is known, in tmix's original format; how many they are, and
    of how many who opened them asks for data that comes down.

    `legs`: the round trip of a connection on the two sides of the link, beyond where data goes and before it comes
    from, in nanoseconds: waits are what is left of a pause without them. `data_down`: which direction that is.
    """
    import polars as pl

    text, count, asked = StringIO(), 0, 0
    before: dict[str, Any] | None = None
    known = opened.filter(np.isin(opened["flow"].to_numpy(), flows)).sort("time_ns", "flow")
    for some in known.iter_slices(AT_ONCE):
        rows = (
            units.join(some, on="flow", maintain_order="left")
            .join(legs, on="flow", how="left", maintain_order="left")
            .with_columns(asked=pl.col("opened").sum().over("flow"))
            .sort("time_ns", "flow", maintain_order=True)
        )
        for row in rows.iter_rows(named=True):
            if before is None or before["flow"] != row["flow"]:
                count += 1
                asked += row["down"] != row["opened"]
                text.write(f"SEQ {(row['time_ns'] - begun) // 1000} {max(row['asked'], 1)} {count} {count}\n")
                if row["rtt_ns"] is not None:
                    text.write(f"r {round(row['rtt_ns'] / 1000)}\n")
            else:
                # The end that answers sits beyond the link for data, before it for what comes back.
                path = (row["far_ns"] if before["down"] == data_down else row["near_ns"]) or 0
                text.write(f"t {max(round((row['first'] - before['last'] - path) / 1000), 0)}\n")
            text.write(f"{'>' if row['opened'] else '<'} {row['new']}\n")
            before = row
    return text.getvalue(), count, asked
