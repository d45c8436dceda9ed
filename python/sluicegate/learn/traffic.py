"""Who sends what: groups of like flows, named by ports, DSCP or behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

BULK = 300_000
"""Bytes in one direction from which a connection of TCP is a transfer; below, and where ends take turns, it is
exchanges."""

TURNS = 4
"""How often ends take turns in a transfer at most: opening words, a request, the data."""

CALL_BPS, CALL_BYTES = 200_000, 300
"""The rate and the packet up to which what sends by the clock is taken for a call or a game, as where goals are
assumed."""

EVEN = 0.5
"""The deviation of gaps between packets, as a part of their mean, below which they are regular; at random it is 1."""

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
    """

    name: str
    down: bool
    kind: str
    count: int
    keys: dict[str, Any]
    said: str
    flows: list[int] = field(default_factory=list)


def totals(packets: pl.DataFrame) -> pl.DataFrame:
    """A row for each connection and direction, of packets that were each seen once in it."""
    import polars as pl

    gap = pl.col("time_ns").diff().cast(pl.Float64)
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
            pl.col("packets", "bytes", "data", "gaps_squared").sum(),
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


def transfers(sums: pl.DataFrame, changes: pl.DataFrame, rtts: dict[int, float], begun: int, ended: int) -> list[Group]:
    """Groups of connections of TCP that carry data in one direction. `rtts`: in milliseconds; the capture's first and
    last time."""
    import polars as pl

    tcp = sums.filter(pl.col("protocol") == 6).join(changes, on="flow")
    tcp = tcp.filter(
        pl.col("data") == pl.col("data").max().over("flow"), pl.col("data") >= BULK, pl.col("turns") <= TURNS
    )
    groups = []
    for (down, ecn, whole), rows in tcp.with_columns(
        # One that was opened and closed in the capture has a size; the others go on.
        whole=pl.col("ended") & pl.col("syn")
    ).group_by("down", "ecn", "whole", maintain_order=True):
        flows = rows["flow"].to_list()
        keys: dict[str, Any] = {}
        known = sorted(rtts[flow] for flow in flows if flow in rtts)
        if known:
            keys |= spread_of(known)
        opened, last_seen = rows["first"].to_numpy(), rows["last"].to_numpy()
        start, spread = (int(opened.min()) - begun) / 1e9, (int(opened.max()) - int(opened.min())) / 1e9
        if start > 2:
            keys["start"] = f"{start:.1f} s"
        if spread > 2:
            keys["spread"] = f"{spread:.1f} s"
        if whole:
            keys["size"] = f"{rows['data'].sum() // len(flows)} B"
        elif (last := (int(last_seen.max()) - begun) / 1e9) < (ended - begun) / 1e9 * 0.8:
            keys["stop"] = f"{last:.1f} s"
        if ecn:
            keys["ecn"] = True
        name = ("downloads" if down else "uploads") + (" of a size" if whole else "") + (" with ECN" if ecn else "")
        said = f"{len(flows)} connections, {int(rows['data'].sum()) / 1e6:.1f} MB in all"
        groups.append(Group(name, down, "tcp", len(flows), keys, said, flows))
    return groups


def spread_of(rtts: list[float]) -> dict[str, Any]:
    """Base round trips as a scenario says them: one for all where they differ by less than a millisecond, or a list."""
    if rtts[-1] - rtts[0] < 1:
        return {"rtt": f"{rtts[len(rtts) // 2]:.2f} ms"}
    # Of many, as many as tell how they are spread.
    listed = rtts if len(rtts) <= 20 else [rtts[round(at * (len(rtts) - 1) / 19)] for at in range(20)]
    return {"rtts": [f"{rtt:.2f} ms" for rtt in listed]}


def datagrams(
    sums: pl.DataFrame, ports: dict[int, set[int]], begun: int, ended: int, rates: dict[bool, float]
) -> list[Group]:
    """Groups of what sends by the clock: everything but TCP. `ports`: of each connection. `rates`: of the link
    down and up, if known, in bit/s."""
    import polars as pl

    other = sums.filter(pl.col("protocol").fill_null(0) != 6, pl.col("packets") >= 20).with_columns(
        bps=(pl.col("bytes") - pl.col("bytes") / pl.col("packets")) * 8e9 / (pl.col("last") - pl.col("first"))
    )
    groups: list[Group] = []
    for row in other.sort("down", "bps", "flow").to_dicts():
        keys = _source(row)
        name = _name(row, ports.get(row["flow"], set()), rates)
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
            groups.append(
                Group(name, row["down"], keys["kind"], 1, keys["keys"] | {"bps": row["bps"]}, said, [row["flow"]])
            )
    for group in groups:
        group.keys["rate"] = f"{round(group.keys.pop('bps'))} bit/s"
    return groups


def _source(row: dict[str, Any]) -> dict[str, Any]:
    """The source that sends as this flow does."""
    mean = row["bytes"] / row["packets"]
    size = row["most"] if row["least"] == row["most"] else round(mean)
    keys: dict[str, Any] = {"packet_size": f"{size} B"}
    deviation = row["gap_deviation"] or 0.0
    if row["dscp"]:
        keys["class"] = int(row["dscp"])
    if deviation < EVEN:
        # Gaps that are uniform within a part j of the mean deviate by j / sqrt(3) of it.
        if deviation > 0.02:
            keys["jitter"] = round(min(deviation * 3**0.5, 1.0), 2)
        return {"kind": "udp", "keys": keys}
    return {"kind": "poisson", "keys": keys}


def _name(row: dict[str, Any], ports: set[int], rates: dict[bool, float]) -> str:
    if row["dscp"] in EXPEDITED:
        return EXPEDITED[row["dscp"]]
    for port in sorted(ports & PORTS.keys()):
        return PORTS[port]
    if row["bps"] <= CALL_BPS and row["bytes"] <= CALL_BYTES * row["packets"]:
        return "call"
    link = rates.get(row["down"])
    if link is not None and row["bps"] > link / 3:
        return "flood"
    return "datagrams"
