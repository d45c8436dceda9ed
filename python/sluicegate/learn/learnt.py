"""`learn`: captures in, a scenario out, with what each number is from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _core
from . import discipline, exchanges, round_trips, sightings, traffic
from .model import Direction, Learnt, Unknown
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
    import polars as pl

    files = [captures] if isinstance(captures, str | Path) else list(captures)
    if not files:
        raise _core.ScenarioError("learn: no capture given")
    seen = sightings.read(files, inside, on_jump)
    ways, once = [], []
    points: dict[bool, tuple[pl.DataFrame, pl.DataFrame]] = {}
    for down in (True, False):
        packets = seen.packets.filter(pl.col("down") == down)
        if packets.is_empty():
            ways.append(Direction(down, 0))
            continue
        through = passage(packets)
        before, behind = _points(packets, through is not None)
        points[down] = before, behind
        once.append(before)
        way = Direction(down, int(before["bytes"].cast(pl.Int64).sum()), through)
        if through is not None:
            way.rate, way.told = rate(through), discipline.discipline(through)
        else:
            way.rate = rate_behind(before["time_ns"].to_numpy(), before["bytes"].cast(pl.Int64).to_numpy())
        ways.append(way)
    if all(way.passage is None for way in ways):
        seen.remarks.append(
            "no queue lies between the places of capture: what it drops, and which discipline it has, cannot be told; "
            "round trips are the shortest seen, with what then waited"
        )
    forward, back = sorted(ways, key=lambda way: (way.passage is None, way.rate is None, -way.bytes))
    packets = pl.concat(once).sort("time_ns", maintain_order=True)
    begun, ended = int(packets["time_ns"].min()), int(packets["time_ns"].max())  # type: ignore[arg-type]
    trips = _trips(points, forward.down)
    rtts = {row[0]: row[3] / 1e6 for row in trips.iter_rows()}
    sums, changes = traffic.totals(packets), traffic.turns(packets)
    groups = traffic.transfers(sums, changes, rtts, begun, ended)
    rates = {way.down: way.rate.bps for way in ways if way.rate is not None}
    ports = {row[0]: set(row[1:]) for row in seen.flows.select("id", "source_port", "destination_port").iter_rows()}
    groups += traffic.datagrams(sums, ports, begun, ended, rates)
    taken = {flow for group in groups for flow in group.flows}
    rest = [flow for flow in changes["flow"].to_list() if flow not in taken]
    legs = {row[0]: (float(row[1]), float(row[2])) for row in trips.iter_rows()}
    text, count = exchanges.vectors(packets, rest, legs, forward.down, begun)
    done = Learnt((ended - begun) / 1e9, forward, back, rtts, groups, text, remarks=seen.remarks, flows=seen.flows)
    if count:
        said = f"{count} connections in which the ends take turns, or that are short"
        # Who opens a connection asks: data comes the other way.
        asked_up = (
            packets.filter(pl.col("flow").is_in(rest), pl.col("opened")).group_by("flow").agg(~pl.col("down").first())
        )
        down = bool(asked_up["down"].mean() >= 0.5)  # type: ignore[operator]
        groups.append(traffic.Group("web", down, "connections", count, {}, said, rest))
    if missed := len(rest) - count:
        done.remarks.append(
            f"{missed} connections of TCP were open before the capture and sent little: they are left out"
        )
    _unknown(done)
    return done


def _points(packets: pl.DataFrame, both: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The packets of a direction where they are seen first, and last."""
    import polars as pl

    places = packets.group_by("point").len().sort("point")["point"].to_list()
    if not both:
        busiest = packets.group_by("point").len().sort("len", "point")["point"].to_list()[-1]
        only = packets.filter(pl.col("point") == busiest)
        return only, only
    # The same packet is seen earlier before the queue.
    first = packets.group_by("flow", "identity").agg(pl.col("point").first(), pl.len()).filter(pl.col("len") > 1)
    before = first.group_by("point").len().sort("len")["point"].to_list()[-1]
    behind = next(place for place in places if place != before)
    return packets.filter(pl.col("point") == before), packets.filter(pl.col("point") == behind)


def _trips(points: dict[bool, tuple[pl.DataFrame, pl.DataFrame]], down: bool) -> pl.DataFrame:
    """Base round trips around the link, where both directions were captured."""
    import polars as pl

    if len(points) < 2:
        return pl.DataFrame(schema={"flow": pl.UInt32, "far_ns": pl.Int64, "near_ns": pl.Int64, "rtt_ns": pl.Int64})
    return round_trips.legs(*points[down], *points[not down])


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
