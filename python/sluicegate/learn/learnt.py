"""`learn`: captures in, a scenario out, with what each number is from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core
from . import discipline, exchanges, parts, sightings, traffic
from .model import Direction, Learnt, Unknown
from .parts import Stretch
from .passage import passage
from .rate import rate, rate_behind

if TYPE_CHECKING:
    import polars as pl


def learn(captures: Sequence[str | Path] | str | Path, *, inside: Sequence[str] = (), on_jump: str = "error") -> Learnt:
    """Learn a scenario of the link, its queue and its traffic from captures, best of all before and behind the queue.

    `captures`: pcap or pcapng files, of a router's two interfaces or of one place; those of one file are told apart by
    interface. `inside`: addresses or prefixes at home, where it cannot be told (private ones, or the one host that all
    connections have). `on_jump`: what to do where times leap, as in a replay.

    Raises `ScenarioError` when a file is no capture, or nothing can be learnt from it; OSError when it cannot be read.
    """

    files = [captures] if isinstance(captures, str | Path) else list(captures)
    if not files:
        raise _core.ScenarioError("learn: no capture given")
    seen = sightings.Sightings(files, inside, on_jump)
    stretch = parts.busiest(seen)
    totals = stretch.totals
    ways = [_direction(stretch, totals, down) for down in (True, False)]
    remarks = seen.remarks + stretch.remarks
    if all(way.passage is None for way in ways):
        remarks.append(
            "no queue lies between the places of capture: what it drops, and which discipline it has, cannot be told; "
            "round trips are the shortest seen, with what then waited"
        )
    forward, back = sorted(ways, key=lambda way: (way.passage is None, way.rate is None, -way.bytes))
    trips = stretch.legs(forward.down)
    done = Learnt((stretch.ended - stretch.begun) / 1e9, forward, back, {}, [], "", remarks=remarks, flows=seen.flows)
    done.rtts_ms = {row[0]: row[3] / 1e6 for row in trips.iter_rows()}
    _groups(done, stretch, totals, {row[0]: (float(row[1]), float(row[2])) for row in trips.iter_rows()})
    _unknown(done)
    return done


def _direction(stretch: Stretch, totals: pl.DataFrame, down: bool) -> Direction:
    """One direction of the link."""
    import polars as pl

    way = Direction(down, int(totals.filter(pl.col("down") == down)["bytes"].sum()))
    packets = stretch.packets.filter(pl.col("down") == down)
    if packets.is_empty():
        return way
    way.passage = passage(packets)
    if way.passage is not None:
        way.rate, way.told = rate(way.passage), discipline.discipline(way.passage)
    else:
        before, _ = parts.split(packets, {})[down]
        way.rate = rate_behind(before["time_ns"].to_numpy(), before["bytes"].cast(pl.Int64).to_numpy())
    return way


def _groups(done: Learnt, stretch: Stretch, totals: pl.DataFrame, legs: dict[int, tuple[float, float]]) -> None:
    """Who sends what."""
    import polars as pl

    assert done.flows is not None
    begun, ended = stretch.begun, stretch.ended
    units = stretch.units
    turns = units.group_by("flow").agg(turns=pl.len() - 1)
    done.groups = traffic.transfers(totals, turns, done.rtts_ms, begun, ended)
    rates = {way.down: way.rate.bps for way in (done.forward, done.back) if way.rate is not None}
    ports = {row[0]: set(row[1:]) for row in done.flows.select("id", "source_port", "destination_port").iter_rows()}
    done.groups += traffic.datagrams(totals, ports, begun, ended, rates)
    taken = {flow for group in done.groups for flow in group.flows}
    rest = sorted(flow for flow in turns["flow"].to_list() if flow not in taken)
    done.vectors, count = exchanges.vectors(units, rest, stretch.opened, legs, done.forward.down, begun)
    if count:
        said = f"{count} connections in which the ends take turns, or that are short"
        # Who opens a connection asks: data comes the other way.
        asked_up = (
            units.filter(pl.col("flow").is_in(rest), pl.col("opened")).group_by("flow").agg(~pl.col("down").first())
        )
        down = bool(asked_up["down"].mean() >= 0.5)  # type: ignore[operator]
        done.groups.append(traffic.Group("web", down, "connections", count, {}, said, rest))
    if missed := len(rest) - count:
        done.remarks.append(
            f"{missed} connections of TCP were open before the capture and sent little: they are left out"
        )


def _unknown(done: Learnt) -> None:
    """What is not known, with its range."""
    forward, back = done.forward, done.back
    if not done.rtts_ms:
        why = "no connection of TCP was seen in both directions"
        done.unknown.append(Unknown("network.delay", "20 ms", "5 ms", "100 ms", why))
    for way, key in ((forward, "network.rate"), (back, "network.reverse.rate")):
        if way.rate is None and (way is forward or way.passage is not None):
            carried = max(way.bytes * 8 / max(done.seconds, 1e-9), 1000)
            why = (
                f"packets hardly ever waited {way.word}: what it carried is the least that it can be"
                if way.passage is not None
                else f"packets {way.word} did not come at one pace: what was carried is the least that it can be"
            )
            value, low, high = (f"{round(carried * by)} bit/s" for by in (4, 1, 20))
            done.unknown.append(Unknown(key, value, low, high, why))
