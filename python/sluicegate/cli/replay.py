"""What `sluicegate replay` prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ..experiments.replay import Replay
from .common import number, print_table


def show(done: Replay, top: int, places: Sequence[Path]) -> None:
    """Print the largest flows, the sum of the rest, the link, and what was odd about the capture."""
    flows = done.flows
    lost = [cause for cause in causes(flows) if flows[cause].sum()]
    rows = rows_of(flows, top)
    header = [
        "flow",
        "packets",
        "kB",
        "delivered",
        *(cause.removeprefix("lost_") for cause in lost),
        "loss %",
        "marked",
    ]
    header += ["delay ms", "p95 ms", "p99 ms"]
    print_table(header, [cells(row, lost) for row in rows], whole=True)
    [link] = done.links.to_dicts()
    print(
        f"{link['discipline']} at {number(link['rate_bps'], 1e3)} kbit/s for {link['duration_s']:.3f} s: "
        f"{link['arrivals_packets']} packets arrived, {link['departures_packets']} sent on, "
        f"{link['lost_packets']} lost, {link['marked_packets']} marked; "
        f"{number(link['utilisation'], 0.01)} % used, queue {number(link['queue_packets_mean'])} packets "
        f"(at most {link['queue_packets_max']}), waiting {number(link['queueing_delay_mean_ns'], 1e6)} ms"
    )
    if link["left_packets"]:
        print(f"note: the queue kept {link['left_packets']} packets to the end")
    for remark in done.remarks():
        print(f"note: {remark}")
    print(f"note: {done.summary['note']}")
    for place in places:
        print(f"results in {place}")


def causes(flows: pl.DataFrame) -> list[str]:
    """The columns of losses by cause."""
    return [name for name in flows.columns if name.startswith("lost_") and name not in ("lost_packets", "lost_bytes")]


def rows_of(flows: pl.DataFrame, top: int) -> list[dict[str, Any]]:
    """The largest flows by bytes, the rest of them as one row, and the groups."""
    single = flows.filter(pl.col("kind") == "flow").sort("arrivals_bytes", "flow", descending=[True, False])
    rows = single.head(top).to_dicts()
    rest = single.slice(top)
    if not rest.is_empty():
        rows.append(summed(rest, f"{rest.height} smaller flows"))
    return rows + flows.filter(pl.col("kind") != "flow").to_dicts()


def summed(rest: pl.DataFrame, name: str) -> dict[str, Any]:
    """Several rows as one. Percentiles do not add up, and are left out."""
    counts = [column for column, kind in rest.schema.items() if kind == pl.UInt64 and column not in ("flow", "key")]
    row: dict[str, Any] = rest.select(pl.col(counts).sum()).to_dicts()[0]
    waited = (rest["queueing_delay_mean_ns"] * rest["delivered_packets"]).sum()
    mean = waited / row["delivered_packets"] if row["delivered_packets"] else None
    ratio = row["lost_packets"] / row["arrivals_packets"]
    missing = {"queueing_delay_p95_ns": None, "queueing_delay_p99_ns": None}
    return row | missing | {"name": name, "loss_ratio": ratio, "queueing_delay_mean_ns": mean}


def cells(row: dict[str, Any], lost: Sequence[str]) -> list[str]:
    delays = [number(row[f"queueing_delay_{which}_ns"], 1e6) for which in ("mean", "p95", "p99")]
    counts = [str(row["arrivals_packets"]), number(row["arrivals_bytes"], 1e3), str(row["delivered_packets"])]
    losses = [*(str(row[cause]) for cause in lost), number(row["loss_ratio"], 0.01)]
    return [row["name"], *counts, *losses, str(row["marked_packets"]), *delays]
