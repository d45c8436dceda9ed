"""Captures as tables: a row for each packet, read whole or in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from . import _core
from .results import frame

if TYPE_CHECKING:
    import polars as pl

    from .results import Columns

BATCH = 65_536
"""Packets in a batch: some 20 MB while it is made."""

FLOWS = 250_000
"""Connections that are told apart: at most 150 bytes each."""

NARROW = {
    "UInt8": ("backward", "protocol", "dscp", "ecn", "ttl", "window_scale"),
    "UInt16": ("ip_id", "flags", "window", "mss_bytes", "source_port", "destination_port"),
    "Int64": ("time_ns", "identity"),
}
"""Types of columns that are no 32-bit numbers."""


class CaptureReader:
    """A capture, pcap or pcapng, in batches: an iterator over tables of packets. Memory does not grow with the capture.

    Attributes:
        path: The file; `-` is standard input.

    >>> run = sg.run("unresponsive", duration="1 s", warmup="0 s", pcap={"bottleneck": "sent.pcapng"})
    >>> reader = sg.CaptureReader("sent.pcapng", columns=["time_ns", "bytes"], batch=50)
    >>> [packets.height for packets in reader]
    [50, 50, 33]
    """

    def __init__(
        self,
        path: str | Path,
        *,
        columns: list[str] | None = None,
        batch: int = BATCH,
        on_jump: str = "error",
        flows: int = FLOWS,
    ) -> None:
        """`columns`: those wanted, all by default. `batch`: packets in a table. `on_jump`: what to do if times jump, as
        in a replay. `flows`: how many connections are told apart; packets of later ones have the number 0.

        Raises `ScenarioError`, also while it is read, when the file is no capture, or its times leap; OSError when it
        cannot be read.
        """
        if batch < 1 or flows < 1:
            raise _core.ScenarioError(f"batch = {batch}, flows = {flows}: both must be at least 1")
        self.path = str(path)
        if self.path != "-":
            if Path(path).is_dir():
                raise IsADirectoryError(21, "is a directory, not a capture", self.path)
            os.stat(path)  # says what is wrong, with the file's name
        self._wanted, self._batch = columns, batch
        self._table = _core.CaptureTable(self.path, on_jump, flows)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The packets that have not been read yet."""
        while True:
            table = _table(self._table.next(self._batch), self._wanted)
            if table.is_empty():
                return
            yield table

    @property
    def flows(self) -> pl.DataFrame:
        """The connections so far: addresses, ports and protocol, with their numbers."""
        return self.flows_after(0)

    def flows_after(self, number: int, most: int | None = None) -> pl.DataFrame:
        """The connections so far with numbers above this one, as in `flows`; at most `most` of them."""
        return _table(self._table.flows(number, *([] if most is None else [most])), None)

    @property
    def damage(self) -> str | None:
        """Where and how the capture is damaged, in a sentence; None when it is not, as far as it has been read."""
        found = self._table.about()["damage"]
        return None if found is None else f"damaged at byte {found[0]}: {found[1]}"

    @property
    def times_kept(self) -> bool:
        """Whether all but a few packets have their recorded times."""
        return self._table.about()["times_kept"]

    @property
    def read_bytes(self) -> int:
        """Bytes of the file read so far."""
        return self._table.about()["bytes"]


class Capture:
    """What `read_capture` returns: a capture as tables.

    Attributes:
        packets: A row for each packet, in the order of the file. Missing values are null.
        flows: A row for each connection, both directions together.
        damage: Where and how the capture is damaged, so that reading ended; None if it is not.
        times_kept: Whether all but a few packets have their recorded times.

    >>> run = sg.run("unresponsive", duration="1 s", warmup="0 s", pcap={"bottleneck": "sent.pcapng"})
    >>> capture = sg.read_capture("sent.pcapng")
    >>> capture.flows["protocol"].value_counts().sort("protocol").rows()
    [('tcp', 14), ('udp', 1)]
    """

    def __init__(self, packets: pl.DataFrame, reader: CaptureReader) -> None:
        """Made by `read_capture`."""
        self.packets = packets
        self.flows = reader.flows
        self.damage = reader.damage
        self.times_kept = reader.times_kept

    def __repr__(self) -> str:
        return f"<sluicegate.Capture: {self.packets.height} packets, {self.flows.height} connections>"


def read_capture(
    path: str | Path, *, columns: list[str] | None = None, on_jump: str = "error", flows: int = FLOWS
) -> Capture:
    """Read a capture, pcap or pcapng, as tables. `CaptureReader` reads one that is too long for memory, in batches.

    `columns`: the columns of `packets` to read (default: all, which take some 120 bytes for a packet).
    `on_jump`: what to do if times jump, as in a replay: "error", "skip" or "shift". `flows`: how many connections are
    distinguished. Of the payload only the names of servers that clients send in TLS are kept.

    A damaged capture is read up to the damage, which `Capture.damage` names. Raises `ScenarioError` when the file is
    not a capture, or its times jump, and OSError when it cannot be read.

    >>> run = sg.run("unresponsive", duration="1 s", warmup="0 s", pcap={"bottleneck": "sent.pcapng"})
    >>> sg.read_capture("sent.pcapng").packets.height == run.links["departures_packets"].item()
    True
    """
    import polars as pl

    reader = CaptureReader(path, columns=columns, on_jump=on_jump, flows=flows)
    return Capture(pl.concat(list(reader)), reader)


def _table(columns: Columns, wanted: list[str] | None) -> pl.DataFrame:
    """A table of the core's with narrow types and nulls; of the columns that are wanted, in the order wanted."""
    import polars as pl

    known = {column[0]: column for column in columns}
    for name in wanted or ():
        if name not in known:
            raise _core.ScenarioError(f"{name}: a capture has the columns {', '.join(known)}")
    found = frame([known[name] for name in wanted or known])
    types = {name: getattr(pl, kind) for kind, names in NARROW.items() for name in names}
    # What is missing is -1, or null where ports are: either becomes null.
    return found.select(
        pl.col(name) if kind == pl.String else pl.col(name).cast(types.get(name, pl.UInt32), strict=False)
        for name, kind in found.schema.items()
    )
