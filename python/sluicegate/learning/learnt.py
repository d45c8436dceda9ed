"""`learn`: captures in, a scenario out, with what each number is from.

The package is not called `learn`, because importing it would then hide the function `sluicegate.learn`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from . import beyond, bursts, control, discipline, exchanges, parts, services, sightings, traffic
from .model import Direction, Learnt, Unknown
from .parts import Stretch
from .passage import MARKED, passage
from .rate import rate, rate_behind
from .write import write

if TYPE_CHECKING:
    import polars as pl

    from .parts import Ways


def learn(
    captures: Sequence[str | Path] | str | Path, *, inside: Sequence[str] = (), on_jump: str = "error",
    out: str | Path | None = None,
) -> Learnt:  # fmt: skip
    """Learn a scenario of a link, its queue and its traffic from captures, best taken before and behind the queue.

    `captures`: pcap or pcapng files, of a router's two interfaces or of one place; within a file the interfaces are
    distinguished. `inside`: addresses or prefixes at home, if `learn` cannot find them (it takes the one
    host that all connections share, or else private addresses). `on_jump`: what to do if times jump, as in a replay.
    `out`: a file for the scenario, which `simulate` and `recommend` take; files that it needs are written beside it.

    Raises `ScenarioError` when a file is not a capture, or nothing can be learnt from it; OSError when one cannot be
    read or written.

    >>> places = {"bottleneck/arrivals": "before.pcapng", "bottleneck": "behind.pcapng"}
    >>> run = sg.run("unresponsive", duration="5 s", warmup="0 s", pcap=places)
    >>> learnt = sg.learn(list(places.values()), inside=["172.16.0.0/12"], out="learnt.toml")
    >>> f"{learnt.forward.rate.bps / 1e6:.2f} Mbit/s"
    '1.00 Mbit/s'
    >>> "flood" in sg.simulate("learnt.toml", duration="4 s", warmup="1 s").groups["name"]
    True
    """

    files = [captures] if isinstance(captures, str | Path) else list(captures)
    if not files:
        raise _core.ScenarioError("learn: no capture given")
    seen = sightings.Sightings(files, inside, on_jump)
    stretch = parts.busiest(seen)
    packets = parts.Places().split(stretch.packets)
    ways = [_direction(stretch, packets, down) for down in (True, False)]
    remarks = seen.remarks + stretch.remarks
    if all(way.passage is None for way in ways):
        remarks.append(
            "no queue lies between the places of capture: drops and the discipline cannot be determined; round trips "
            "are the shortest seen, queueing delay included"
        )
    forward, back = sorted(ways, key=lambda way: (way.passage is None, way.rate is None, -way.bytes))
    trips = _round_trips(stretch, packets, forward, back)
    done = Learnt((stretch.ended - stretch.begun) / 1e9, forward, back, {}, [], remarks=remarks, flows=seen.flows)
    del seen  # it keeps something of each connection
    apart = sum(way.passage.apart_ns for way in ways if way.passage is not None)
    done.rtts_ms = {row[0]: (row[3] + apart) / 1e6 for row in trips.iter_rows()}
    for way in ways:
        if way.passage is not None and len(packets) == 2:
            most = 0.0 if way.jitter is None else way.jitter.ms
            base = {flow: round((rtt + most) * 1e6) for flow, rtt in done.rtts_ms.items()}
            way.lost = beyond.lost(*packets[way.down], packets[not way.down][0], base)
    _groups(done, stretch, packets, trips)
    _unknown(done)
    if out is not None:
        write(done, out)
    return done


def _round_trips(stretch: Stretch, ways: Ways, forward: Direction, back: Direction) -> pl.DataFrame:
    """The round trips of connections as `Stretch.legs` has them, and the jitter of each direction, without which they
    are: the shortest one of few answers holds some of it. None is shorter than the shortest of all."""
    import polars as pl

    trips = stretch.legs(forward.down)
    for way, leg in ((forward, "far_ns"), (back, "near_ns")):
        if way.passage is None or len(ways) < 2:
            continue
        way.jitter = beyond.jitter(ways[way.down][1], ways[not way.down][0])
        if way.jitter is None:
            continue
        # What comes at once is late by as much.
        slot = pl.col("time_ns") // int(way.jitter.ms * 1e6)
        answers = ways[not way.down][0].group_by("flow").agg(times=slot.n_unique())
        counts = trips.join(answers, on="flow", how="left", maintain_order="left")["times"].fill_null(1)
        late = pl.Series(way.jitter.least(counts.to_numpy())).cast(pl.Int64)
        trips = trips.with_columns(pl.max_horizontal(pl.col(leg) - late, pl.col(leg).min()).alias(leg))
    return trips.with_columns(rtt_ns=pl.col("far_ns") + pl.col("near_ns"))


def _direction(stretch: Stretch, ways: Ways, down: bool) -> Direction:
    """One direction of the link."""
    import polars as pl

    way = Direction(down, int(stretch.totals.filter(pl.col("down") == down)["bytes"].sum()))
    if down not in ways:
        return way
    way.passage = passage(stretch.packets.filter(pl.col("down") == down))
    if way.passage is not None:
        way.rate, way.told = rate(way.passage), discipline.discipline(way.passage)
    else:
        before, _ = ways[down]
        if (before["payload_bytes"].fill_null(1) > 0).mean() < 0.5:  # type: ignore[operator]
            return way  # acknowledgements keep the pace of the data that they acknowledge
        way.rate = rate_behind(before["time_ns"].to_numpy(), before["bytes"].cast(pl.Int64).to_numpy())
    return way


def _groups(done: Learnt, stretch: Stretch, ways: Ways, trips: pl.DataFrame) -> None:
    """Who sends what."""
    import polars as pl

    assert done.flows is not None
    begun, ended = stretch.begun, stretch.ended
    totals, units = stretch.totals, stretch.units
    # Units are in the order of connections: no table of all connections is needed to group them.
    turns = units.select(pl.col("flow").rle()).unnest("flow").select(flow="value", turns=pl.col("len") - 1)
    names = done.flows.filter(pl.col("server_name").is_not_null()).select("id", "server_name").iter_rows()
    kinds = {flow: kind for flow, name in names if (kind := services.category(name)) is not None}
    found = traffic.bulk(totals, turns, kinds)
    whole = found.filter("whole", pl.col("kind").is_null())["flow"].to_list()
    opened = stretch.opened.filter(~pl.col("flow").is_in(found["flow"].to_list()))
    if whole and opened.height >= traffic.OBJECTS * len(whole):
        found = found.filter(~pl.col("flow").is_in(whole))
    told, marks = _senders(done, stretch, ways, found)
    done.groups = traffic.transfers(found, told, marks, done.rtts_ms, begun, ended)
    rates = {way.down: way.rate.bps for way in (done.forward, done.back) if way.rate is not None}
    clocked = totals.filter(pl.col("protocol").fill_null(0) != 6)["flow"].unique().to_list()
    mine = done.flows.filter(pl.col("id").is_in(clocked)).select("id", "source_port", "destination_port")
    ports = {row[0]: set(row[1:]) for row in mine.iter_rows()}
    seen = bursts.bursts(pl.concat(before for before, _ in ways.values()), clocked)
    done.groups += traffic.datagrams(totals, ports, seen, begun, ended, rates)
    taken = {flow for group in done.groups for flow in group.flows}
    rest = sorted(flow for flow in turns["flow"].to_list() if flow not in taken)
    fetched = services.pieces(units)
    split: dict[str, list[int]] = {}
    for flow in rest:
        kind = "video" if flow in fetched else kinds.get(flow)
        split.setdefault("web" if kind is None else f"{kind} over TCP", []).append(flow)
    missed = 0
    for name, flows in sorted(split.items(), key=lambda item: item[0] != "web"):
        text, count, asked = exchanges.vectors(units, flows, stretch.opened, trips, done.forward.down, begun)
        missed += len(flows) - count
        if not count:
            continue
        said = f"{count} connections in which the ends take turns, or that are short"
        if known := [fetched[flow] for flow in flows if flow in fetched]:
            size, period = (float(np.median(each)) for each in zip(*known, strict=True))
            said = f"{count} connections; {len(known)} fetch pieces of {size / 1e3:.0f} kB, one every {period:.1f} s"
        done.groups.append(traffic.Group(name, 2 * asked >= count, "connections", count, {}, said, flows, text))
    if missed:
        done.remarks.append(
            f"{missed} connections of TCP were open before the capture and sent little: they are left out"
        )


def _senders(
    done: Learnt, stretch: Stretch, ways: Ways, found: pl.DataFrame
) -> tuple[dict[int, control.Control], dict[int, int]]:
    """What is told of the senders of these transfers, and how many of their packets were marked."""
    import polars as pl

    told: dict[int, control.Control] = {}
    marks: dict[int, int] = {}
    for way in (done.forward, done.back):
        flows = found.filter(pl.col("down") == way.down)["flow"].to_list()
        if way.down not in ways or not flows:
            continue
        before, behind = ways[way.down]
        marked = behind.filter(pl.col("flow").is_in(flows), pl.col("ecn") == MARKED)
        marks |= dict(marked.group_by("flow").len().iter_rows())
        if (not way.down) not in ways:
            continue
        legs = {row[0]: (float(row[1]), float(row[2])) for row in stretch.legs(way.down).iter_rows()}
        told |= control.controls(before, ways[not way.down][1], legs, flows, way.passage is not None)
    return told, marks


def _unknown(done: Learnt) -> None:
    """What is not known, with its range."""
    forward, back = done.forward, done.back
    if not done.rtts_ms:
        why = "no connection of TCP was seen in both directions"
        done.unknown.append(Unknown("network.delay", "20 ms", "5 ms", "100 ms", why))
    if forward.told is not None and not forward.told.names and forward.told.buffer.full is None:
        most = forward.told.buffer.packets
        why = "the queue was never seen full; recommend chooses a buffer of its own"
        done.unknown.append(Unknown("queue.drop_tail.limit", f"{most}", f"{most}", f"{4 * most}", why))
    for way, key in ((forward, "network.rate"), (back, "network.reverse.rate")):
        if way.rate is None and (way is forward or way.passage is not None):
            carried = max(way.bytes * 8 / max(done.seconds, 1e-9), 1000)
            why = (
                f"packets hardly ever waited {way.word}: the rate that the link carried is a lower bound"
                if way.passage is not None
                else f"packets {way.word} did not come at a constant rate: the rate that was carried is a lower bound"
            )
            value, low, high = (f"{round(carried * by)} bit/s" for by in (4, 1, 20))
            done.unknown.append(Unknown(key, value, low, high, why))
