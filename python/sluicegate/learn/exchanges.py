"""What applications decide of connections of TCP, as connection vectors: who sends how much, and how long it then waits
(a, b, t)."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


SYN, ACK = 2, 16

WRAP = 2**32


class Exchanges:
    """What ends send each other, from packets that come in parts."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._known: pl.DataFrame | None = None

    def units(self, packets: pl.DataFrame) -> pl.DataFrame:
        """A row for each time that data of a connection of TCP changes its direction: how much new data was sent then,
        and when. `packets`: the next ones, each seen once in its direction."""
        import polars as pl

        way, seq = ["flow", "opened"], pl.col("seq").cast(pl.Int64)
        tcp = packets.filter(pl.col("seq").is_not_null())
        data = tcp.filter(pl.col("payload_bytes") > 0)
        # Of each end: how far it has come (`most`, which goes on where sequence numbers wrap), and the number there.
        begun = (
            pl.concat(
                [tcp.filter(pl.col("flags") & SYN > 0).select(*way, number=seq + 1), data.select(*way, number=seq)]
            )
            .group_by(way, maintain_order=True)
            .agg(pl.col("number").first(), most=pl.lit(0, pl.Int64))
        )
        known = begun if self._known is None else pl.concat([self._known, begun])
        known = known.unique(way, keep="first")
        ahead = (seq - pl.col("number") + WRAP // 2) % WRAP - WRAP // 2
        sent = (
            data.join(known, on=way, maintain_order="left")
            .with_columns(end=pl.col("most") + ahead + pl.col("payload_bytes").cast(pl.Int64))
            .with_columns(high=pl.max_horizontal(pl.col("end").cum_max().over(way), "most"))
            # What is sent again tells nothing of the application.
            .with_columns(new=pl.col("high") - pl.max_horizontal(pl.col("high").shift().over(way), "most"))
        )
        reached = sent.group_by(way).agg(pl.col("high").last())
        self._known = known.join(reached, on=way, how="left").select(
            *way,
            number=(pl.col("number") + pl.col("high").fill_null(pl.col("most")) - pl.col("most")) % WRAP,
            most=pl.col("high").fill_null(pl.col("most")),
        )
        rows = sent.filter(pl.col("new") > 0)
        return joined([rows.select("flow", "opened", "down", "new", first="time_ns", last="time_ns")])


def joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Units of parts of a capture, one after the other, as those of all."""
    import polars as pl

    return (
        pl.concat(parts)
        .with_columns(unit=(pl.col("opened") != pl.col("opened").shift()).fill_null(True).cum_sum().over("flow"))
        .group_by("flow", "unit", maintain_order=True)
        .agg(pl.col("opened", "down").first(), pl.col("new").sum(), pl.col("first").min(), pl.col("last").max())
        .drop("unit")
    )


def opened(packets: pl.DataFrame) -> pl.DataFrame:
    """When connections of TCP were opened."""
    import polars as pl

    syns = packets.filter(pl.col("flags") & (SYN | ACK) == SYN)
    return syns.group_by("flow").agg(pl.col("time_ns").min())


def vectors(
    units: pl.DataFrame, flows: list[int], opened: pl.DataFrame, legs: pl.DataFrame, data_down: bool, begun: int
) -> tuple[str, int]:
    """The connections of these numbers of which the opening is known, in tmix's original format, and how many they are.

    `legs`: the round trip of a connection on the two sides of the link, beyond where data goes and before it comes
    from, in nanoseconds: waits are what is left of a pause without them. `data_down`: which direction that is.
    """
    import polars as pl

    rows = (
        units.filter(pl.col("flow").is_in(flows))
        .join(opened, on="flow", maintain_order="left")
        .join(legs, on="flow", how="left", maintain_order="left")
        .with_columns(asked=pl.col("opened").sum().over("flow"))
        .sort("time_ns", "flow", maintain_order=True)
    )
    text, count = StringIO(), 0
    before: dict[str, Any] | None = None
    for row in rows.iter_rows(named=True):
        if before is None or before["flow"] != row["flow"]:
            count += 1
            text.write(f"SEQ {(row['time_ns'] - begun) // 1000} {max(row['asked'], 1)} {count} {count}\n")
            if row["rtt_ns"] is not None:
                text.write(f"r {round(row['rtt_ns'] / 1000)}\n")
        else:
            # The end that answers sits beyond the link for data, before it for what comes back.
            path = (row["far_ns"] if before["down"] == data_down else row["near_ns"]) or 0
            text.write(f"t {max(round((row['first'] - before['last'] - path) / 1000), 0)}\n")
        text.write(f"{'>' if row['opened'] else '<'} {row['new']}\n")
        before = row
    return text.getvalue(), count
