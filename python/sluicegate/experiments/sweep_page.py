"""The page of a sweep, made of its summary and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..page import Page, Section, Table
from ..quantities import rate_unit
from ..results.run_page import fixed, ms, percent, toml

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

MOST_SHOWN = 40
"""Rows that a notebook shows."""

MOST_ROWS = 1000
"""Rows of a table of the page."""

Text = Callable[[float | None], str]


def page(summary: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], columns: Sequence[str], drawn: Figure) -> Page:
    """The page."""
    seeds, file = summary["seeds"], summary["file"]
    means = f"Means over {len(seeds)} seeds." if len(seeds) > 1 else ""
    sections = [
        Section("glance", "At a glance", "Means over seeds, with their 95 % intervals." if means else "", figure=drawn),
        Section("groups", "Groups of flows", means, tables=[("", groups(tables["groups"], columns, MOST_ROWS))]),
        Section("links", "Links", means, tables=[("", links(tables["links"], columns, MOST_ROWS))]),
    ]
    run = summary["scenario"]["run"]
    provenance = {
        "Sluicegate": summary["version"],
        "Scenario": file,
        "Swept": "; ".join(f"{each['key']}: {', '.join(map(str, each['values']))}" for each in summary["over"]),
        "Duration": f"{run['duration']}, the first {run['warmup']} not measured",
        "Seeds": ", ".join(map(str, seeds)),
    } | ({"Overrides": ", ".join(summary["sets"])} if summary["sets"] else {})
    title = f"Sweep of {file.removesuffix('.toml')}" if file.endswith(".toml") else "Sweep of a scenario"
    count = tables["totals"].height
    lead = [f"{count} runs, {len(seeds)} at each point."]
    return Page(title, f"over {', '.join(columns)}", sections, provenance, lead,
                scenario=toml(summary["scenario"]),
                scenario_title="The scenario of the first point, with every default filled in")  # fmt: skip


def groups(table: pl.DataFrame, columns: Sequence[str], most: int) -> Table:
    """A row for each point and group of flows, `most` at most."""
    unit, factor = rate_unit(table["throughput_bps"].max() or 0.0)  # type: ignore[arg-type]
    shown: dict[str, tuple[str, Text]] = {
        "throughput_bps": (f"throughput {unit}", lambda value: fixed(value, factor)),
        "loss_ratio": ("loss %", percent),
        "delay_mean_ns": ("delay mean ms", ms),
        "delay_p50_ns": ("delay p50 ms", ms),
        "delay_p99_ns": ("delay p99 ms", ms),
    }
    return _means(table, [*columns, "name"], [*columns, "group"], shown, most)


def links(table: pl.DataFrame, columns: Sequence[str], most: int) -> Table:
    """A row for each point and link, `most` at most."""
    import polars as pl

    reached = pl.col("arrivals_packets")
    parts = {"dropped %": "drops_packets"} | (
        {"lost on the wire %": "lost_packets"} if table["lost_packets"].sum() else {}
    )
    table = table.with_columns((pl.col(name) / reached).fill_nan(None).alias(head) for head, name in parts.items())
    shown: dict[str, tuple[str, Text]] = {
        **{head: (head, percent) for head in parts},
        "utilisation": ("utilisation %", percent),
        "queue_packets_mean": ("queue mean", fixed),
        "queueing_delay_mean_ns": ("queueing delay mean ms", ms),
        "queueing_delay_p99_ns": ("p99 ms", ms),
    }
    return _means(table, [*columns, "link"], [*columns, "link"], shown, most)


def _means(
    table: pl.DataFrame, keys: Sequence[str], heads: Sequence[str], shown: Mapping[str, tuple[str, Text]], most: int
) -> Table:
    import polars as pl

    found = table.group_by(keys, maintain_order=True).agg(pl.col(name).mean() for name in shown)
    rows = tuple(
        (*(_key(row[key]) for key in keys), *(text(row[name]) for name, (_, text) in shown.items()))
        for row in found.head(most).iter_rows(named=True)
    )
    if found.height > most:
        more = f"… and {found.height - most} more rows, in the tables"
        rows = (*rows, (more, *("" for _ in range(len(heads) + len(shown) - 1))))
    return Table((*heads, *(head for head, _ in shown.values())), rows, len(shown))


def _key(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
