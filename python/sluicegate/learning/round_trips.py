"""Base round trips of connections of TCP, measured in the middle: from data to its acknowledgement on one side, and
from an acknowledgement to the data that it lets out on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

SYN, ACK = 2, 16


def beyond(behind: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """For each connection the shortest time (`gap_ns`) from a packet behind the queue of its direction to what answers
    it: its acknowledgement, or what an acknowledgement lets out. `answers`: the other direction before its queue, if it
    has one."""
    import polars as pl

    found = pl.concat([_acknowledged(behind, answers), _echoed(behind, answers), _opened(behind, answers)])
    return found.filter(pl.col("gap_ns") >= 0).group_by("flow").agg(pl.col("gap_ns").min())


def _acknowledged(data: pl.DataFrame, acks: pl.DataFrame) -> pl.DataFrame:
    """From each segment that was seen once to the first acknowledgement of it."""
    import polars as pl

    sent = data.filter(pl.col("payload_bytes") > 0, pl.col("seq").is_not_null())
    origin = sent.group_by("flow").agg(origin=pl.col("seq").first().cast(pl.Int64))
    sent = (
        sent.join(origin, on="flow")
        .with_columns(place=(pl.col("seq").cast(pl.Int64) - pl.col("origin")) % 2**32)
        .with_columns(end=pl.col("place") + pl.col("payload_bytes").cast(pl.Int64))
        .filter(pl.len().over("flow", "place") == 1)
        .select("flow", "end", sent="time_ns")
        .sort("end")
    )
    heard = (
        acks.filter(pl.col("ack").is_not_null())
        .join(origin, on="flow")
        .with_columns(end=(pl.col("ack").cast(pl.Int64) - pl.col("origin")) % 2**32)
        .group_by("flow", "end")
        .agg(heard=pl.col("time_ns").min())
        .sort("end")
    )
    met = sent.join_asof(heard, on="end", by="flow", strategy="forward", check_sortedness=False)
    return met.select("flow", gap_ns=pl.col("heard") - pl.col("sent")).drop_nulls()


def _echoed(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """From the first packet with a timestamp to each packet that echoes it."""
    import polars as pl

    said = (
        one.filter(pl.col("tsval").is_not_null())
        .group_by("flow", "tsval")
        .agg(said=pl.col("time_ns").min(), opens=(pl.col("flags") & SYN > 0).any())
        # Of the first one, packets before the capture may have been earlier.
        .filter(pl.col("opens") | (pl.col("said") > pl.col("said").min().over("flow")))
    )
    echo = other.filter(pl.col("tsecr").fill_null(0) > 0).select("flow", "time_ns", tsval="tsecr")
    return echo.join(said, on=["flow", "tsval"]).select("flow", gap_ns=pl.col("time_ns") - pl.col("said"))


def _opened(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """From a SYN, sent once, to the SYN that answers it, or from that one to the first packet without a SYN that
    follows."""
    import polars as pl

    bits = pl.col("flags")
    syn = (
        one.filter(bits & SYN > 0)
        .group_by("flow")
        .agg(said=pl.col("time_ns").first(), times=pl.len(), answer=(bits & ACK > 0).first())
    )
    reply = other.filter(bits & SYN > 0, bits & ACK > 0).group_by("flow").agg(heard=pl.col("time_ns").first())
    third = other.filter(bits & SYN == 0).group_by("flow").agg(third=pl.col("time_ns").first())
    met = syn.filter(pl.col("times") == 1).join(reply, on="flow", how="left").join(third, on="flow", how="left")
    heard = pl.when(pl.col("answer")).then(pl.col("third")).otherwise(pl.col("heard"))
    return met.select("flow", gap_ns=heard - pl.col("said")).drop_nulls()
