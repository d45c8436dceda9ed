"""What `sluicegate run` prints: a table of the flows, a line for each link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import number, print_table

if TYPE_CHECKING:
    from ..results import Run
    from ..theory.choke_overlay import Overlay


def groups(result: Run) -> list[dict[str, Any]]:
    """One row for each group of like flows: how many, what they got, what they lost, how long packets took."""
    import polars as pl

    lost, arrived, delivered = pl.col("lost_packets").sum(), pl.col("arrivals_packets").sum(), "delivered_packets"
    delay = pl.col("delay_mean_ns")
    weight = pl.when(delay.is_not_null()).then(pl.col(delivered))
    return (
        result.flows.group_by("group", maintain_order=True)
        .agg(
            pl.col("kind").first(),
            pl.col("algorithm").first(),
            pl.col("link").first(),
            pl.len().alias("count"),
            pl.col("throughput_bps").sum(),
            pl.col("throughput_bps").mean().alias("throughput_per_flow_bps"),
            pl.when(arrived > 0).then(lost / arrived).alias("loss_ratio"),
            pl.when(weight.sum() > 0).then((delay * weight).sum() / weight.sum()).alias("delay_mean_ns"),
        )
        .to_dicts()
    )


def show(result: Run, theory: Overlay | None, out: Path | None) -> None:
    """Print the groups of flows, the links, who has a large share of the marks, and the theory if there is one."""
    from .. import heavy_flows as large_shares

    header = ["flows", "count", "throughput kbit/s", "per flow kbit/s", "loss %", "delay ms"]
    several = result.flows["link"].n_unique() > 1
    rows = [
        [
            " ".join(filter(None, (row["kind"], row["algorithm"], row["link"] if several else ""))),
            str(row["count"]),
            number(row["throughput_bps"], 1e3),
            number(row["throughput_per_flow_bps"], 1e3),
            number(row["loss_ratio"], 0.01),
            number(row["delay_mean_ns"], 1e6),
        ]
        for row in groups(result)
    ]
    print_table(header, rows)
    for link in result.links.filter(result.links["arrivals_packets"] > 0).to_dicts():
        average = (
            f", average {number(link['average_packets_min'])}–{number(link['average_packets_max'])}"
            if link["average_packets_mean"] is not None
            else ""
        )
        print(
            f"{link['link']}: {link['discipline']} at {number(link['rate_bps'], 1e3)} kbit/s, "
            f"{number(link['utilisation'], 0.01)} % used, queue {number(link['queue_packets_mean'])} packets (at most "
            f"{link['queue_packets_max']:.0f}{average}), waiting {number(link['queueing_delay_mean_ns'], 1e6)} ms"
        )
    for line in large_shares.lines(result.flows):
        print(line)
    if theory is not None:
        from . import overlay_text as choke_overlay_text

        choke_overlay_text.show(theory)
    if out is not None:
        print(f"results in {out}")
