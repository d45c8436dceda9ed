"""Metrics from single packets: how many SYNs and acknowledgements a queue drops, how long a flow takes to start, and the
gaps between losses (RFC 7928, Secs. 2.2, 2.3, 3.1 and 9.2).

| what the RFC says | what we do | why |
|---|---|---|
| the loss of TCP SYNs and ACKs, DNS requests and responses (Secs. 4.4, 9.2) | SYNs and SYN-ACKs by their length, 60 bytes in Linux's hosts; as ACKs all else without data, FINs too; requests and responses are groups of flows of their own | the table of packets has lengths and data, not flags |
| start-up time: from the request until the server starts to transmit data (Sec. 2.2) | from the start of a transfer until its first packet of data comes to the queue, less the way there | our transfers open the connection and send the data themselves |
| interval between consecutive losses, a gap (Sec. 2.3) | mean time from a drop of a group to its next one | |
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

SYN_BYTES = 60
"""A SYN and a SYN-ACK of Linux: 40 bytes and 20 of options. An acknowledgement has 52, and 8 more for each range."""

KINDS = {"syn": "SYNs", "ack": "ACKs"}


def of_control(packets: pl.DataFrame, connected: Sequence[int], warmup_s: float) -> list[dict[str, Any]]:
    """A row for the SYNs and one for the acknowledgements that came to each link after the warm-up: `of`, such as
    "syn:bottleneck", and what was lost. `connected`: the flows over TCP."""
    import polars as pl

    own = packets.filter(
        (pl.col("time_s") > warmup_s) & (pl.col("data_bytes") == 0) & pl.col("flow").is_in(list(connected))
    )
    rows = []
    for (link,), part in own.partition_by("link", as_dict=True, maintain_order=True).items():
        for kind, there in (("syn", pl.col("packet_bytes") == SYN_BYTES), ("ack", pl.col("packet_bytes") != SYN_BYTES)):
            arrived = part.filter(there & (pl.col("event") == "arrival")).height
            lost = part.filter(there & ~pl.col("event").is_in(["arrival", "departure"])).height
            if arrived:
                rows.append({"of": f"{kind}:{link}", "loss_ratio": min(lost / arrived, 1.0)})
    return rows


def startup_times(packets: pl.DataFrame, flows: Sequence[Mapping[str, Any]], behind_ns: float) -> list[float]:
    """How long each of these transfers took to start, in ns; those whose data never came to a queue are left out.
    `behind_ns`: propagation between the queue and the receiver."""
    import polars as pl

    own = packets.filter((pl.col("data_bytes") > 0) & (pl.col("to") == "receiver") & (pl.col("event") == "arrival"))
    first = dict(own.group_by("flow").agg(pl.col("time_s").min()).iter_rows())
    return [
        1e9 * (first[flow["flow"]] - flow["start_s"]) - (flow["base_rtt_ns"] / 2 - behind_ns)
        for flow in flows if flow["flow"] in first
    ]  # fmt: skip


def loss_gap(packets: pl.DataFrame, flows: Sequence[int], warmup_s: float) -> float | None:
    """The mean time between consecutive losses of data of these flows, in seconds; None with fewer than two."""
    import polars as pl

    lost = packets.filter(
        pl.col("flow").is_in(list(flows)) & (pl.col("to") == "receiver") & (pl.col("time_s") > warmup_s)
        & ~pl.col("event").is_in(["arrival", "departure"])
    )["time_s"].sort()  # fmt: skip
    return float(lost[-1] - lost[0]) / (len(lost) - 1) if len(lost) > 1 else None
