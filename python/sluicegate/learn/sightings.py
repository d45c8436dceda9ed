"""The packets of several captures as one table: who sends to whom, in which direction of the link, and where it was
seen."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core
from ..captures import CaptureReader

if TYPE_CHECKING:
    import polars as pl

COLUMNS = [
    "time_ns", "interface", "flow", "backward", "protocol", "bytes", "payload_bytes", "dscp", "ecn", "seq", "ack",
    "flags", "window", "tsval", "tsecr", "identity",
]  # fmt: skip
"""What is kept of a packet: 54 bytes."""

MOST = 600_000
"""Packets of all captures together that are learnt from: with what is derived from them they stay below 300 MiB."""


@dataclass(frozen=True)
class Sightings:
    """What the captures hold.

    Attributes:
        packets: A row for each packet and place where it was seen, in the order of time. `flow` is the connection in
            `flows`; `down` is whether it goes to the inside; `opened` whether the end sends it that sent first.
        flows: A row for each connection: addresses, ports, protocol, `inside` (whether `source` is there).
        remarks: What whoever reads the result must know of the captures.
    """

    packets: pl.DataFrame
    flows: pl.DataFrame
    remarks: list[str]


def read(captures: Sequence[str | Path], inside: Sequence[str], on_jump: str) -> Sightings:
    """Read captures. `inside`: prefixes of the addresses at home, if they are given.

    Raises `ScenarioError` when one is no capture, holds nothing of IP, or which side is inside cannot be told; OSError.
    """
    import polars as pl

    nets = [_network(text) for text in inside]
    tables, flows, remarks, room = [], [], [], MOST
    for number, capture in enumerate(captures):
        reader, taken = CaptureReader(capture, columns=COLUMNS, on_jump=on_jump), 0
        parts, share = [], room // (len(captures) - number)
        for batch in reader:
            batch = batch.filter(pl.col("flow") > 0)
            parts.append(batch.head(share - taken))
            taken += parts[-1].height
            if taken >= share:
                remarks.append(f"{capture}: the first {taken} packets are learnt from")
                break
        room -= taken
        if reader.damage is not None:
            remarks.append(f"{capture}: {reader.damage}; what comes before is learnt from")
        if not reader.times_kept:
            remarks.append(f"{capture}: times leap, or are out of order: delays are those of no network")
        if not taken:
            raise _core.ScenarioError(f"{capture}: holds no packet of IP that can be told apart")
        mark = pl.lit(number, pl.UInt32).alias("capture")
        tables.append(pl.concat(parts).with_columns(mark))
        flows.append(reader.flows.with_columns(mark))
    known = _joined(pl.concat(flows))
    sides, said = _inside(known, nets)
    remarks += said
    known = known.with_columns(inside=pl.Series(sides, dtype=pl.Boolean))
    named = (
        known.explode("seen").unnest("seen").select("capture", old="flow", flow="id", turned="turned", inside="inside")
    )
    first = pl.col("forth").first().over("flow")
    packets = (
        pl.concat(tables)
        .rename({"flow": "old"})
        .join(named.with_columns(pl.col("old").cast(pl.UInt32)), on=["capture", "old"])
        .filter(pl.col("inside").is_not_null())
        .with_columns(
            forth=(pl.col("backward") == 1) == pl.col("turned"), point=pl.col("capture") * 64 + pl.col("interface") % 64
        )
        .with_columns(down=pl.col("forth") != pl.col("inside"))
        .sort("time_ns", maintain_order=True)
        # A capture may have begun with an answer: who opened is who is seen first in any.
        .with_columns(opened=pl.col("forth") == first)
        .drop("old", "turned", "backward", "capture", "interface", "inside", "forth")
    )
    if packets.is_empty():
        raise _core.ScenarioError("no connection has one end inside: say with --inside which addresses are")
    return Sightings(packets, known.drop("seen"), remarks)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise _core.ScenarioError(f'inside = "{text}": an address or a prefix, such as 192.168.0.0/16') from None


def _joined(flows: pl.DataFrame) -> pl.DataFrame:
    """The connections of all captures, each once, with the numbers that it has in each and whether it is the other way
    round there."""
    import polars as pl

    low = pl.concat_str("source", pl.lit(" "), pl.col("source_port").fill_null(0))
    high = pl.concat_str("destination", pl.lit(" "), pl.col("destination_port").fill_null(0))
    return (
        flows.with_columns(low=pl.min_horizontal(low, high), high=pl.max_horizontal(low, high), first=low)
        .with_columns(start=pl.col("first").first().over("low", "high", "protocol"))
        .with_columns(seen=pl.struct("capture", "flow", turned=pl.col("first") != pl.col("start")))
        .group_by("low", "high", "protocol", maintain_order=True)
        .agg(pl.col("source", "source_port", "destination", "destination_port").first(), "seen")
        .drop("low", "high")
        .with_row_index("id")
    )


def _inside(
    flows: pl.DataFrame, nets: list[ipaddress.IPv4Network | ipaddress.IPv6Network]
) -> tuple[list[bool | None], list[str]]:
    """Whether the first packet of each connection comes from inside; None where that cannot be told; and what to
    say."""
    ends = list(zip(flows["source"], flows["destination"], strict=True))
    if nets:

        def of(address: str) -> bool:
            return any(ipaddress.ip_address(address) in net for net in nets)
    else:
        counts: dict[str, int] = {}
        for pair in ends:
            for address in set(pair):
                counts[address] = counts.get(address, 0) + 1
        common = [address for address, count in counts.items() if count == len(ends)]
        if len(ends) > 1 and len(common) == 1:
            host = common[0]

            def of(address: str) -> bool:
                return address == host
        else:

            def of(address: str) -> bool:
                about = ipaddress.ip_address(address)
                return about.is_private or about.is_link_local

    sides = [None if of(source) == of(destination) else of(source) for source, destination in ends]
    if all(side is None for side in sides):
        raise _core.ScenarioError(
            "which side of the link is inside cannot be told from the addresses: say it with --inside, such as "
            "--inside 192.168.0.0/16"
        )
    missed = sum(side is None for side in sides)
    said = [f"{missed} connections do not cross from inside to outside and are left out"] if missed else []
    return sides, said
