"""The packets of several captures as tables: who sends to whom, in which direction of the link, and where it was
seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..captures import CaptureReader
from .sides import UNKNOWN, Sides

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

COLUMNS = [
    "time_ns", "interface", "flow", "backward", "protocol", "bytes", "payload_bytes", "dscp", "ecn", "seq", "ack",
    "flags", "window", "window_scale", "tsval", "tsecr", "identity",
]  # fmt: skip
"""What is kept of a packet: 57 bytes."""

CHUNK, BATCH = 250_000, 32_768
"""Packets of all captures together in a chunk, about: with all that is derived from one, memory stays below 300 MiB;
and packets of one capture that are read at once."""

CONNECTION = 8
"""How many packets a connection that is met counts for in a chunk: where they are many, what is derived of each takes
more memory than the packets."""

LONGEST_NS = 600_000_000_000
"""The longest time that a chunk takes up, about."""


class _Source:
    """A capture that is being read: its connections by the numbers that all captures together have, and whether each
    is the other way round here."""

    def __init__(self, number: int, path: str | Path, on_jump: str, batch: int) -> None:
        self.number, self.path = number, path
        self.reader = CaptureReader(path, columns=COLUMNS, on_jump=on_jump, batch=batch)
        self.batches = iter(self.reader)
        self.ids: NDArray[np.uint32] = np.zeros(1, np.uint32)
        self.turned: NDArray[np.bool_] = np.zeros(1, bool)
        self.pool: list[pl.DataFrame] = []
        self.reached, self.taken, self.ended = 0, 0, False

    @property
    def rows(self) -> int:
        return sum(batch.height for batch in self.pool)

    def until(self, time: int) -> pl.DataFrame:
        """What was read and happened until then; it is kept here no more."""
        import polars as pl

        whole = pl.concat(self.pool)
        self.pool = [whole.filter(pl.col("time_ns") > time)]
        return whole.filter(pl.col("time_ns") <= time)


class Sightings:
    """Captures that are read side by side: an iterator over chunks in the order of time.

    A row of a chunk is a packet at a place where it was seen. `flow` is its connection in `flows`; `down` is whether it
    goes to the inside; `opened` whether the end sends it that sent first; `point` the place.

    Attributes:
        remarks: What whoever reads the result must know of the captures; complete at their end.
    """

    def __init__(self, captures: Sequence[str | Path], inside: Sequence[str], on_jump: str) -> None:
        """`inside`: prefixes of the addresses at home, if they are given.

        Raises `ScenarioError`, also while they are read, when one is no capture, holds nothing of IP, or which side is
        inside cannot be told; OSError.
        """
        batch = min(BATCH, CHUNK // (2 * len(captures)))
        self._sides = Sides(inside)
        self._sources = [_Source(number, path, on_jump, batch) for number, path in enumerate(captures)]
        self._known: pl.DataFrame | None = None
        self._inside: NDArray[np.int8] = np.zeros(0, np.int8)
        self._first: NDArray[np.int8] = np.zeros(0, np.int8)
        self.remarks: list[str] = []

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The chunks."""
        some = False
        # Chunks are large: of each there is one copy while it is looked at.
        for chunk in map(self._told, self._chunks()):
            if not chunk.is_empty():
                some = True
                yield chunk
            del chunk
        if not some:
            raise _core.ScenarioError("no connection has one end inside: say with --inside which addresses are")
        if missed := int((self._inside == UNKNOWN).sum()):
            self.remarks.append(f"{missed} connections do not cross from inside to outside and are left out")

    @property
    def flows(self) -> pl.DataFrame:
        """A row for each connection so far: its number `id`, addresses, ports, protocol, `inside` (whether `source` is
        there), and the name that a client asked for."""
        import polars as pl

        assert self._known is not None
        found = []
        ranges = [(source, at) for source in self._sources for at in range(0, len(source.ids), BATCH)]
        for source, at in ranges:
            flows = source.reader.flows_after(at, BATCH).select("flow", "server_name")
            named = flows.filter(pl.col("server_name") != "")
            found.append(named.select("server_name").with_columns(id=pl.Series(source.ids[named["flow"].to_numpy()])))
        names = pl.concat(found).unique("id", keep="first", maintain_order=True)
        sides = pl.Series("inside", self._inside[: self._known.height])
        inside = pl.when(sides != UNKNOWN).then(sides == 1)
        return self._known.drop("key", "low_first").with_columns(inside=inside).join(names, on="id", how="left")

    def _chunks(self) -> Iterator[pl.DataFrame]:
        """Packets of all captures, in the order of time within half a second, as captures are."""
        import polars as pl

        met = 0
        while True:
            open_ones = [source for source in self._sources if not source.ended]
            rows = sum(source.rows for source in self._sources)
            if not open_ones and not rows:
                return
            # Nothing earlier will come, from any of them.
            horizon = min((source.reached for source in open_ones), default=None)
            firsts = (int(batch["time_ns"][0]) for source in self._sources for batch in source.pool if batch.height)
            start = min(firsts, default=0)
            last = start + LONGEST_NS
            if horizon is not None and (
                not rows or horizon < start or (rows + CONNECTION * (self._met - met) < CHUNK and horizon < last)
            ):
                self._pull(min(open_ones, key=lambda source: source.reached))
                continue
            until, met = last if horizon is None else min(horizon, last), self._met
            # The order of captures stays where times are equal.
            yield pl.concat([source.until(until) for source in self._sources if source.pool]).sort(
                "time_ns", maintain_order=True
            )

    @property
    def _met(self) -> int:
        """How many connections were met."""
        return 0 if self._known is None else self._known.height

    def _pull(self, source: _Source) -> None:
        """Read on in a capture."""
        import polars as pl

        batch = next(source.batches, None)
        if batch is None:
            source.ended = True
            if source.reader.damage is not None:
                self.remarks.append(f"{source.path}: {source.reader.damage}; only what comes before is used")
            if not source.reader.times_kept:
                self.remarks.append(
                    f"{source.path}: times jump, or are out of order: delays are not those of a network"
                )
            if not source.taken:
                raise _core.ScenarioError(f"{source.path}: holds no IP packet that can be assigned to a connection")
            return
        batch = batch.filter(pl.col("flow") > 0)
        if batch.is_empty():
            return
        flow = batch["flow"].to_numpy()
        if int(flow.max()) >= len(source.ids):
            self._meet(source)
        source.taken += batch.height
        source.reached = max(source.reached, int(batch["time_ns"].max()))  # type: ignore[arg-type]
        forth = (batch["backward"].to_numpy() == 1) == source.turned[flow]
        source.pool.append(
            batch.drop("backward", "interface", "flow").with_columns(
                pl.Series("flow", source.ids[flow]),
                pl.Series("forth", forth),
                (batch["interface"] % 64 + source.number * 64).cast(pl.UInt16).alias("point"),
            )
        )

    def _meet(self, source: _Source) -> None:
        """Give new connections of a capture the numbers that they have in others, or new ones."""
        import polars as pl

        low = pl.concat_str("source", pl.lit(" "), pl.col("source_port").fill_null(0))
        high = pl.concat_str("destination", pl.lit(" "), pl.col("destination_port").fill_null(0))
        ends = pl.concat_str(pl.min_horizontal(low, high), pl.lit(" "), pl.max_horizontal(low, high), "protocol")
        fresh = source.reader.flows_after(len(source.ids) - 1).select(
            "source", "source_port", "destination", "destination_port", "protocol",
            key=ends.hash(), low_first=low <= high,
        )  # fmt: skip
        if self._known is None:
            self._known = fresh.clear().with_row_index("id")
        new = fresh.join(self._known, on="key", how="anti").unique("key", keep="first", maintain_order=True)
        self._known = pl.concat([self._known, new.with_row_index("id", offset=self._known.height)])
        met = fresh.select("key", "low_first").join(
            self._known.select("key", "id", known="low_first"), on="key", how="left", maintain_order="left"
        )
        source.ids = np.concatenate([source.ids, met["id"].to_numpy()])
        source.turned = np.concatenate([source.turned, (met["low_first"] != met["known"]).to_numpy()])

    def _told(self, packets: pl.DataFrame) -> pl.DataFrame:
        """Packets with their directions; without those that do not cross the link."""
        import polars as pl

        assert self._known is not None
        new = self._known[len(self._inside) :]
        sides = self._sides.of(new["source"], new["destination"])
        self._inside = np.concatenate([self._inside, sides])
        self._first = np.concatenate([self._first, np.full(len(sides), UNKNOWN, np.int8)])
        inside = self._inside[packets["flow"].to_numpy()]
        packets = packets.with_columns(pl.Series("inside", inside)).filter(pl.col("inside") != UNKNOWN)
        # A capture may have begun with an answer: who opened is who is seen first in any.
        firsts = packets.group_by("flow").agg(pl.col("forth").first())
        flow, forth = firsts["flow"].to_numpy(), firsts["forth"].to_numpy()
        fresh = self._first[flow] == UNKNOWN
        self._first[flow[fresh]] = forth[fresh]
        first = pl.Series(self._first[packets["flow"].to_numpy()] == 1)
        return packets.with_columns(
            down=pl.col("forth") != (pl.col("inside") == 1), opened=pl.col("forth") == first
        ).drop("forth", "inside")
