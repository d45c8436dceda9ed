"""Who sends what: groups of like flows, named by ports, DSCP or behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    from .bursts import Bursts
    from .control import Control

BULK = 300_000
"""Bytes in one direction from which a connection of TCP is a transfer; below, and where ends take turns, it is
exchanges."""

SLOW, LASTING_NS, AGAIN = 30_000, 5e9, 3
"""The same of one whose packets are spread over half of the capture, and over at least so long, and of which at least
so many came again: others leave it little of the link. An application that writes a little now and then loses nothing
where there is room."""

TURNS = 4
"""How often ends take turns in a transfer at most: opening words, a request, the data."""

OBJECTS = 10
"""Transfers that were opened and closed in the capture are exchanges, too, where so many times as many connections are:
the large objects of web users, whose sizes have a heavy tail."""

LEAST_FULL, FULL = 576, 1500
"""Full packets: the least that is taken for one, and what a scenario has unless it says otherwise."""

CALL_BPS, CALL_BYTES = 200_000, 300
"""The rate and the packet up to which what sends by the clock is taken for a call or a game, as where goals are
assumed."""

EVEN = 0.5
"""The deviation of gaps between packets, as a part of their mean, below which they are regular; at random it is 1."""

QUIC = 443
"""The port of QUIC's servers."""

UNLIKE = 1.4
"""By which factor the mean lengths of a game's packets differ between the two directions."""

FRAMES_NS = (8e6, 105e6)
"""Times between bursts that are frames of video: 120 to 10 in a second."""

EXPEDITED = {46: "call", 44: "call", 40: "call", 32: "game", 34: "video", 36: "video", 38: "video"}
"""What packets with these code points are: EF, VOICE-ADMIT, CS5; CS4; AF41 to AF43 (RFC 4594)."""

PORTS = {
    53: "dns",
    123: "ntp",
    443: "quic",
    3478: "call",
    3479: "call",
    5201: "iperf",
    27015: "game",
    51820: "wireguard",
}
"""What UDP with one of these ports carries."""


@dataclass
class Group:
    """Like flows.

    Attributes:
        name: What they are called.
        down: The direction of their data.
        kind: The source of a scenario: tcp, udp, poisson, on_off, connections.
        count: How many.
        keys: What else a scenario says of them.
        said: What it is from, for a comment.
        flows: Their numbers.
        vectors: What their ends send each other, in tmix's original format, of connections.
    """

    name: str
    down: bool
    kind: str
    count: int
    keys: dict[str, Any]
    said: str
    flows: list[int] = field(default_factory=list)
    vectors: str = ""


def totals(packets: pl.DataFrame) -> pl.DataFrame:
    """A row for each connection and direction, of packets that were each seen once in it."""
    import polars as pl

    gap = pl.col("time_ns").diff().cast(pl.Float64)
    # By how much sequence numbers of data go on, which wrap: what does not go on was sent again.
    on = pl.col("seq").filter(pl.col("payload_bytes") > 0).cast(pl.Int64).diff() % 2**32
    return packets.group_by("flow", "down", maintain_order=True).agg(
        protocol=pl.col("protocol").first(),
        packets=pl.len(),
        bytes=pl.col("bytes").cast(pl.Int64).sum(),
        data=pl.col("payload_bytes").cast(pl.Int64).sum(),
        first=pl.col("time_ns").first(),
        last=pl.col("time_ns").last(),
        least=pl.col("bytes").min(),
        most=pl.col("bytes").max(),
        gaps_squared=(gap * gap).sum(),
        again=((on == 0) | (on > 2**31)).sum(),
        dscp=pl.col("dscp").mode().min(),
        ecn=(pl.col("ecn").fill_null(0) > 0).any(),
        syn=(pl.col("flags").fill_null(0) & 2 > 0).any(),
        ended=(pl.col("flags").fill_null(0) & 5 > 0).any(),
    )


def joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Totals of parts of a capture, one after the other, as those of all; and the mean gap between packets and by which
    part of it gaps deviate."""
    import polars as pl

    key = ["flow", "down"]
    between = (pl.col("first") - pl.col("last").shift().over(key)).cast(pl.Float64).fill_null(0)
    gaps, mean = pl.col("packets") - 1, pl.col("gap_ns")
    return (
        pl.concat(parts)
        .with_columns(between=between)
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("protocol").first(),
            pl.col("packets", "bytes", "data", "gaps_squared", "again").sum(),
            pl.col("first").min(),
            pl.col("last").max(),
            pl.col("least").min(),
            pl.col("most").max(),
            pl.col("ecn", "syn", "ended").any(),
            dscp=pl.col("dscp").sort_by("packets").last(),
            between=(pl.col("between") * pl.col("between")).sum(),
        )
        .with_columns(gap_ns=(pl.col("last") - pl.col("first")) / gaps)
        .with_columns(variance=(pl.col("gaps_squared") + pl.col("between") - gaps * mean * mean).clip(0) / (gaps - 1))
        .with_columns(gap_deviation=pl.col("variance").sqrt() / mean)
        .drop("gaps_squared", "between", "variance")
    )


def bulk(sums: pl.DataFrame, turns: pl.DataFrame, kinds: dict[int, str]) -> pl.DataFrame:
    """The connections of TCP that carry data in one direction, with their totals of it. `turns`: how often ends of a
    connection took turns. `kinds`: what connections are for, if that is known."""
    import polars as pl

    known = {"flow": list(kinds), "kind": list(kinds.values())}

    whole_ns = sums.select(pl.col("last").max() - pl.col("first").min()).item() or 0
    long = max(LASTING_NS, whole_ns / 2)
    # A pause of half of the time between n packets alone would make that much of the mean square of their gaps.
    spread = (pl.col("last") - pl.col("first") > long) & (pl.col("gap_deviation") ** 2 + 1 < pl.col("packets") / 4)
    slow = spread & (pl.col("data") >= SLOW) & (pl.col("most") >= LEAST_FULL) & (pl.col("again") >= AGAIN)
    # Of very many connections few are left at once.
    tcp = sums.filter(pl.col("protocol") == 6, (pl.col("data") >= BULK) | slow).join(
        turns, on="flow", maintain_order="left"
    )
    return (
        tcp.filter(pl.col("data") == pl.col("data").max().over("flow"), pl.col("turns") <= TURNS)
        .with_columns(
            # One that was opened and closed in the capture has a size; the others go on.
            whole=pl.col("ended") & pl.col("syn")
        )
        .join(pl.DataFrame(known, {"flow": pl.UInt32, "kind": pl.String}), on="flow", how="left", maintain_order="left")
    )


def transfers(
    found: pl.DataFrame, told: dict[int, Control], marks: dict[int, int], rtts: dict[int, float], begun: int, ended: int
) -> list[Group]:
    """Groups of transfers (`bulk`): of like ones with like senders. `marks`: packets of each that were marked. `rtts`:
    in milliseconds; the capture's first and last time."""
    groups = []
    for (down, ecn, whole, kind), rows in found.group_by("down", "ecn", "whole", "kind", maintain_order=True):
        split = _alike(rows["flow"].to_list(), told)
        for (name, held, limited), flows in split.items():
            mine = rows.filter(rows["flow"].is_in(flows))
            keys: dict[str, Any] = {} if name is None else {"algorithm": name}
            if limited:
                # Senders that always have data, behind access links as fast as their applications are on average.
                mean = float(mine["bytes"].sum()) * 8e9 / float((mine["last"] - mine["first"]).sum())
                keys["access_rate"] = f"{round(mean)} bit/s"
            if held:
                keys["window"] = round(float(np.median([window for flow in flows if (window := told[flow].window)])))
            keys |= _transfer(mine, rtts, begun, ended)
            title = f"{kind} over TCP {'down' if down else 'up'}" if kind else "downloads" if down else "uploads"
            title += (" of a size" if whole else "") + (" with ECN" if ecn else "")
            if len(split) > 1:
                title += ", limited by the receiver" if held else "" if limited else f", {name or 'others'}"
            title += ", limited by the application" if limited else ""
            groups.append(Group(title, bool(down), "tcp", len(flows), keys, _said(mine, told, marks), flows))
    return groups


def _alike(flows: list[int], told: dict[int, Control]) -> dict[tuple[str | None, bool, bool], list[int]]:
    """Transfers by their congestion control, whether the receiver's window holds them, and whether their application
    limits them. Where one control is told, those of which none is told are taken for its."""
    split: dict[tuple[str | None, bool, bool], list[int]] = {}
    others = (None, False, False)
    for flow in flows:
        known = told.get(flow)
        key = others if known is None else (known.name, known.window is not None, known.limited)
        split.setdefault(key, []).append(flow)
    names = [key for key in split if key[0] is not None]
    if len(names) == 1 and others in split:
        split[names[0]] += split.pop(others)
    return split


def _transfer(rows: pl.DataFrame, rtts: dict[int, float], begun: int, ended: int) -> dict[str, Any]:
    """The keys of a group of transfers."""
    keys: dict[str, Any] = {}
    if known := sorted(rtts[flow] for flow in rows["flow"] if flow in rtts):
        keys |= spread_of(known)
    first, last = rows["first"].to_numpy(), rows["last"].to_numpy()
    start, spread = (int(first.min()) - begun) / 1e9, (int(first.max()) - int(first.min())) / 1e9
    if start > 2:
        keys["start"] = f"{start:.1f} s"
    if spread > 2:
        keys["spread"] = f"{spread:.1f} s"
    if rows["whole"][0]:
        keys["size"] = f"{rows['data'].sum() // rows.height} B"
    elif (stop := (int(last.max()) - begun) / 1e9) < (ended - begun) / 1e9 * 0.8:
        keys["stop"] = f"{stop:.1f} s"
    if rows["ecn"][0]:
        keys["ecn"] = True
    longest = int(rows["most"].max())  # type: ignore[arg-type]
    if LEAST_FULL <= longest < FULL:  # what is longer was merged by a host
        keys["packet_size"] = f"{longest} B"
    return keys


def _said(rows: pl.DataFrame, told: dict[int, Control], marks: dict[int, int]) -> str:
    """What a group of transfers is from."""
    flows = rows["flow"].to_list()
    known = [told[flow] for flow in flows if flow in told]
    said = f"{rows.height} connections, {int(rows['data'].sum()) / 1e6:.1f} MB in all"
    if known:
        said += f"; {sum(each.again for each in known)} segments retransmitted"
    if rows["ecn"][0]:
        said += f"; ECN, {sum(marks.get(flow, 0) for flow in flows)} packets marked"
    named = [each for each in known if each.said]
    if named:
        of = "" if len(named) == rows.height else f"of {len(named)} of them: "
        name = "" if named[0].name is None else f"{named[0].name}: "
        said += f"; {of}{name}{named[0].said}"
    return said


def spread_of(rtts: list[float]) -> dict[str, Any]:
    """Base round trips as a scenario says them: one for all where they differ by less than a millisecond, or a list."""
    if rtts[-1] - rtts[0] < 1:
        return {"rtt": f"{rtts[len(rtts) // 2]:.2f} ms"}
    # Of many, as many as tell how they are spread.
    listed = rtts if len(rtts) <= 20 else [rtts[round(at * (len(rtts) - 1) / 19)] for at in range(20)]
    return {"rtts": [f"{rtt:.2f} ms" for rtt in listed]}


def datagrams(
    sums: pl.DataFrame, ports: dict[int, set[int]], bursts: dict[tuple[int, bool], Bursts], begun: int, ended: int,
    rates: dict[bool, float],
) -> list[Group]:  # fmt: skip
    """Groups of what sends by the clock: everything but TCP. `ports`: of each connection. `bursts`: of those that send
    in bursts. `rates`: of the link down and up, if known, in bit/s."""
    import polars as pl

    other = sums.filter(pl.col("protocol").fill_null(0) != 6, pl.col("packets") >= 20).with_columns(
        bps=(pl.col("bytes") - pl.col("bytes") / pl.col("packets")) * 8e9 / (pl.col("last") - pl.col("first"))
    )
    groups: list[Group] = []
    means = {(row["flow"], row["down"]): row["bytes"] / row["packets"] for row in other.to_dicts()}
    quic = _quic(other, ports)
    groups += _reacting(quic, begun, ended)
    for row in other.filter(~pl.col("flow").is_in(quic["flow"].to_list())).sort("down", "bps", "flow").to_dicts():
        mine = bursts.get((row["flow"], row["down"]))
        keys = _source(row, mine)
        back = means.get((row["flow"], not row["down"]))
        name = _name(row, ports.get(row["flow"], set()), rates, mine, back)
        stop = (row["last"] - begun) / 1e9
        if stop < (ended - begun) / 1e9 * 0.8:
            keys["keys"]["stop"] = f"{stop:.1f} s"
        if (start := (row["first"] - begun) / 1e9) > 2:
            keys["keys"]["start"] = f"{start:.1f} s"
        same = [
            group for group in groups
            if (group.name, group.down, group.kind) == (name, row["down"], keys["kind"])
            and abs(group.keys["bps"] - row["bps"]) < 0.1 * row["bps"]
            and group.keys.get("packet_size") == keys["keys"].get("packet_size")
        ]  # fmt: skip
        if same:
            group = same[0]
            group.keys["bps"] = (group.keys["bps"] * group.count + row["bps"]) / (group.count + 1)
            group.count += 1
            group.flows.append(row["flow"])
        else:
            said = f"gaps between packets deviate by {row['gap_deviation']:.0%} of their mean"
            if mine is not None:
                said = (
                    f"bursts of {mine.on_ns / mine.gap_ns:.0f} packets, one every {mine.period_ns / 1e6:.3g} ms, "
                    f"which deviates by {mine.deviation:.0%}"
                )
            groups.append(
                Group(name, row["down"], keys["kind"], 1, keys["keys"] | {"bps": row["bps"]}, said, [row["flow"]])
            )
    for group in groups:
        if group.kind == "tcp":
            continue
        # Bursts are as fast as what is sent on average requires.
        by = group.keys.pop("by", 1.0)
        group.keys["rate"] = f"{round(group.keys.pop('bps') * by)} bit/s"
    return groups


def _quic(other: pl.DataFrame, ports: dict[int, set[int]]) -> pl.DataFrame:
    """Transfers over QUIC, with their totals of the direction of data."""
    import polars as pl

    known = [flow for flow, mine in ports.items() if QUIC in mine]
    most = pl.col("data") == pl.col("data").max().over("flow")
    return other.filter(pl.col("flow").is_in(known), pl.col("protocol") == 17, most, pl.col("data") >= BULK)


def _reacting(quic: pl.DataFrame, begun: int, ended: int) -> list[Group]:
    """Groups of transfers over QUIC, whose senders react as those of TCP do."""
    import polars as pl

    groups = []
    rows_of = quic.with_columns(whole=pl.lit(False), ecn=pl.lit(False)).group_by("down", maintain_order=True)
    for (down,), rows in rows_of:
        said = f"{rows.height} connections, {int(rows['data'].sum()) / 1e6:.1f} MB in all"
        groups.append(
            Group(
                f"QUIC {'downloads' if down else 'uploads'}", bool(down), "tcp", rows.height,
                _transfer(rows, {}, begun, ended), f"{said}; QUIC is encrypted: taken for TCP", rows["flow"].to_list(),
            )
        )  # fmt: skip
    return groups


def _source(row: dict[str, Any], bursts: Bursts | None) -> dict[str, Any]:
    """The source that sends as this flow does."""
    mean = row["bytes"] / row["packets"]
    size = row["most"] if row["least"] == row["most"] else round(mean)
    keys: dict[str, Any] = {"packet_size": f"{size} B"}
    deviation = row["gap_deviation"] or 0.0
    if row["dscp"]:
        keys["class"] = int(row["dscp"])
    if bursts is not None:
        keys |= {"on_mean": f"{bursts.on_ns / 1e6:.4g} ms", "off_mean": f"{bursts.off_ns / 1e6:.4g} ms"}
        return {"kind": "on_off", "keys": keys | {"by": bursts.period_ns / bursts.on_ns}}
    if deviation < EVEN:
        # Gaps that are uniform within a part j of the mean deviate by j / sqrt(3) of it.
        if deviation > 0.02:
            keys["jitter"] = round(min(deviation * 3**0.5, 1.0), 2)
        return {"kind": "udp", "keys": keys}
    return {"kind": "poisson", "keys": keys}


def _name(
    row: dict[str, Any], ports: set[int], rates: dict[bool, float], bursts: Bursts | None, back: float | None
) -> str:
    """What a flow is called. `back`: the mean length of its packets the other way."""
    if row["dscp"] in EXPEDITED:
        return EXPEDITED[row["dscp"]]
    for port in sorted(ports & PORTS.keys()):
        return PORTS[port]
    mean = row["bytes"] / row["packets"]
    if row["bps"] <= CALL_BPS and mean <= CALL_BYTES:
        # Who talk send alike; of a game the state is more than what a player does.
        return "game" if back is not None and max(mean, back) > UNLIKE * min(mean, back) else "call"
    link = rates.get(row["down"])
    if link is not None and row["bps"] > link / 3:
        return "flood"
    if bursts is not None and bursts.deviation < EVEN and FRAMES_NS[0] <= bursts.period_ns <= FRAMES_NS[1]:
        return "video"
    return "datagrams"
