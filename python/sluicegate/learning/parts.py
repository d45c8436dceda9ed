"""Captures of any length in bounded memory: what is kept of each chunk, and which stretch is learnt from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import exchanges, round_trips, traffic
from .passage import passage

if TYPE_CHECKING:
    import polars as pl

    Ways = dict[bool, tuple[pl.DataFrame, pl.DataFrame]]

MINUTE_NS = 60_000_000_000
"""Chunks around the busiest one are learnt from, too, as long as all together take up no more time."""


AT_ONCE = 30_000
"""How many connections are joined at once."""


@dataclass(frozen=True)
class Part:
    """What is kept of a chunk: times of its first and last packet; bytes in it; what connections sent
    (`traffic.totals`, `exchanges.Exchanges.units`), opened, and their round trips on both sides of the link."""

    begun: int
    ended: int
    bytes: int
    totals: pl.DataFrame
    units: pl.DataFrame
    opened: pl.DataFrame
    legs: pl.DataFrame


@dataclass(frozen=True)
class Stretch:
    """The stretch that is learnt from: the packets of its busiest chunk; when it begins and ends, and of how many
    chunks it is; what connections sent and opened, and their shortest round trips, as in a `Part`, of all its chunks;
    how long all captures together are, and when they begin."""

    packets: pl.DataFrame
    begun: int
    ended: int
    chunks: int
    totals: pl.DataFrame
    units: pl.DataFrame
    opened: pl.DataFrame
    trips: pl.DataFrame
    all_ns: int
    begun_ns: int

    def legs(self, down: bool) -> pl.DataFrame:
        """The shortest round trips of connections: beyond where data in this direction goes, before it, and both."""
        import polars as pl

        far, near = ("inside_ns", "outside_ns") if down else ("outside_ns", "inside_ns")
        return self.trips.select("flow", far_ns=far, near_ns=near, rtt_ns=pl.col(far) + pl.col(near))

    @property
    def remarks(self) -> list[str]:
        """What of the captures is left out."""
        found = []
        if self.ended - self.begun < self.all_ns:
            found.append(
                f"learnt from the busiest {(self.ended - self.begun) / 1e9:.1f} s of {self.all_ns / 1e9:.1f} s, "
                f"which begin after {(self.begun - self.begun_ns) / 1e9:.1f} s"
            )
        if self.chunks > 1:
            short = (int(self.packets["time_ns"].max()) - int(self.packets["time_ns"].min())) / 1e9  # type: ignore[arg-type]
            found.append(f"link, queue and congestion control are from the busiest {short:.1f} s of these")
        return found


def busiest(chunks: Iterable[pl.DataFrame]) -> Stretch:
    """The chunk with the most bytes, and those around it that are in the same minute."""
    sent = exchanges.Exchanges()
    recent: list[Part] = []
    taken: list[Part] = []
    heaviest, packets = -1, None
    places = Places()
    begun: int | None = None
    last: Part | None = None
    for chunk in chunks:
        previous, part = last, _part(chunk, sent, places)
        begun, last = part.begun if begun is None else begun, part
        recent = [each for each in recent if part.ended - each.begun <= MINUTE_NS // 2] + [part]
        if part.bytes > heaviest:
            heaviest, packets, taken = part.bytes, chunk, list(recent)
        elif taken[-1] is previous and part.ended - taken[0].begun <= MINUTE_NS:
            taken.append(part)
    assert packets is not None
    assert begun is not None
    assert last is not None
    recent.clear()
    return _stretch(packets, taken, last.ended - begun, begun)


def _stretch(packets: pl.DataFrame, taken: list[Part], all_ns: int, begun_ns: int) -> Stretch:
    """The parts as one, of which none is left in `taken`: of very many connections there is no room for two tables."""
    import polars as pl

    shortest = [pl.col(name).min() for name in ("inside_ns", "outside_ns")]
    about = (taken[0].begun, taken[-1].ended, len(taken))
    totals, units, opened, legs = map(list, zip(*((p.totals, p.units, p.opened, p.legs) for p in taken), strict=True))
    taken.clear()
    return Stretch(
        packets, *about, _joined(traffic.joined, totals), _joined(exchanges.joined, units),
        _joined(lambda tables: pl.concat(tables).group_by("flow").agg(pl.col("time_ns").min()), opened),
        _joined(lambda tables: pl.concat(tables).group_by("flow").agg(shortest).sort("flow"), legs),
        all_ns, begun_ns,
    )  # fmt: skip


def _part(chunk: pl.DataFrame, sent: exchanges.Exchanges, places: Places) -> Part:
    """What is kept of a chunk."""
    import polars as pl

    ways = places.split(chunk)
    once = pl.concat([chunk.clear(), *(before for before, _ in ways.values())]).sort("time_ns", maintain_order=True)
    return Part(
        int(chunk["time_ns"][0]), int(chunk["time_ns"][-1]), int(chunk["bytes"].sum()),
        traffic.totals(once), sent.units(once), exchanges.opened(once),
        _legs(ways),
    )  # fmt: skip


def _joined(join: Callable[[list[pl.DataFrame]], pl.DataFrame], tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Tables of parts as those of all, some connections after the others, so that very many take no more memory. None
    is left in `tables`."""
    import polars as pl

    last = max(int(table["flow"].max() or 0) for table in tables)  # type: ignore[arg-type]
    done = []
    for at in range(AT_ONCE, last + 1 + AT_ONCE, AT_ONCE):
        done.append(join([table.filter(pl.col("flow") < at) for table in tables]))
        tables[:] = [left for table in tables if (left := table.filter(pl.col("flow") >= at)).height]
    return pl.concat(done)


class Places:
    """Where packets of each direction are seen before the queue and behind it, as far as that is known."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[bool, tuple[int, int]] = {}
        self._met: set[tuple[bool, int]] = set()

    def split(self, chunk: pl.DataFrame) -> Ways:
        """The packets of each direction where they are seen first, and last."""
        import polars as pl

        ways = {}
        for down in (True, False):
            packets = chunk.filter(pl.col("down") == down)
            met = {(down, point) for point in packets["point"].unique()}
            # One capture may have begun after another.
            if not met <= self._met:
                self._met |= met
                self._known[down] = _places(packets)
            if met:
                before, behind = (packets.filter(pl.col("point") == point) for point in self._known[down])
                if not before.is_empty():
                    ways[down] = before, behind
        return ways


def _places(packets: pl.DataFrame) -> tuple[int, int]:
    """Where packets of a direction are seen first, and last."""
    import polars as pl

    counts = packets.group_by("point").len().sort("len", "point")["point"].to_list()
    if passage(packets) is None:
        return counts[-1], counts[-1]
    # The same packet is seen earlier before the queue.
    first = packets.group_by("flow", "identity").agg(pl.col("point").first(), pl.len()).filter(pl.col("len") > 1)
    before = first.group_by("point").len().sort("len")["point"].to_list()[-1]
    return before, next(place for place in sorted(counts) if place != before)


def _legs(ways: Ways) -> pl.DataFrame:
    """The shortest round trips of connections beyond the link's inside and its outside, where both directions were
    captured."""
    import polars as pl

    if len(ways) < 2:
        return pl.DataFrame(schema={"flow": pl.UInt32, "inside_ns": pl.Int64, "outside_ns": pl.Int64})
    (before_down, behind_down), (before_up, behind_up) = ways[True], ways[False]
    inside = round_trips.beyond(behind_down, before_up).rename({"gap_ns": "inside_ns"})
    outside = round_trips.beyond(behind_up, before_down).rename({"gap_ns": "outside_ns"})
    return inside.join(outside, on="flow")
