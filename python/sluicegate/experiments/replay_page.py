"""The page of a replay, made of its summary and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..page import Page, Section, Table
from ..quantities import rate_unit
from ..results.run_page import Row, fixed, made, ms, percent, ratio, reasons, toml

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    Tables = Mapping[str, pl.DataFrame]

LARGEST = 100
"""How many flows have a row."""

BESIDE = 20
"""How many flows have a row where disciplines stand beside each other."""


def page(summary: Mapping[str, Any], tables: Tables, names: Mapping[str, str], notes: Sequence[str]) -> Page:
    """The page. `names`: the discipline's name of each label. `notes`: what was odd about the capture."""
    from ..plot import replay as figures

    flows_, links_ = tables["flows"], tables["links"]
    several = len(names) > 1
    sections = [Section("link", "The link", "Over the whole replay.", tables=[("", links(links_))], figure=(
        figures.rows(links_, list(names)) if several else None))]  # fmt: skip
    sections.append(Section("queue", "Queue over time", "Mean and maximum in up to 2048 intervals.",
                            figure=figures.queue(tables["queue"], names)))  # fmt: skip
    if tables["delays"].height:
        sections.append(Section("delays", "Delays of all packets", "Share of forwarded packets that waited no longer.",
                                figure=figures.delays(tables["delays"], names)))  # fmt: skip
    if several:
        shown = largest(flows_)
        drawn = flows_.filter(flows_["name"].is_in(shown))
        caption = f"The largest of {flows_['name'].n_unique()} by bytes."
        found = beside(flows_, list(names), BESIDE)
        figure = figures.flows(drawn, shown, names)
        sections.append(Section("beside", "Flows under each discipline", caption, figure=figure, tables=found))
    table = reasons(links_, list(names), "discipline")
    sections.append(Section("drops", "Drops by reason", tables=[("", table)] if table.rows else (),
                            words=() if table.rows else ["No packet was dropped or marked."]))  # fmt: skip
    for label in names:
        own = flows_.filter(discipline=label) if several else flows_
        caption = f"The {LARGEST} largest of {own.height} by bytes." if own.height > LARGEST else ""
        drawn_alone = None if several else flow_figure(own)
        title = f"Flows under {label}" if several else "Flows"
        id_ = f"flows-{list(names).index(label)}" if several else "flows"
        sections.append(Section(id_, title, caption, figure=drawn_alone, tables=[("", flows(own))]))
    capture, about = summary["capture"], summary["replay"]
    totals = summary["totals"]
    lead = [f"{capture['packets']} packets of {totals['flows']} flows in {totals['duration_s']:.4g} s, at a link of "
            f"{about['rate']}."]  # fmt: skip
    provenance = {
        "Sluicegate": summary["version"],
        "Capture": capture["file"].replace("\\", "/").rpartition("/")[2],
        "Link": about["rate"],
        "Length that counts": about["length"],
        "Disciplines": ", ".join(names),
        "Seed": str(summary["seed"]),
    }
    subtitle = f"{', '.join(names)} at {about['rate']}; seed {summary['seed']}"
    title = f"Replay of {provenance['Capture']}"
    return Page(title, subtitle, sections, provenance, lead, [summary["note"], *notes], toml(about),
                "The replay, with every default filled in")  # fmt: skip


def largest(flows: pl.DataFrame) -> list[str]:
    """The names of the largest flows by bytes, of several disciplines the same ones."""
    import polars as pl

    from ..plot import replay as figures

    single = flows.filter(pl.col("kind") == "flow").unique("name", keep="first", maintain_order=True)
    return single.sort("arrivals_bytes", "flow", descending=[True, False])["name"].head(figures.MOST).to_list()


def flow_figure(flows: pl.DataFrame) -> Figure:
    """What the largest flows of one discipline met; of packets without a flow, where there are no others."""
    import polars as pl

    from ..plot import replay as figures

    names = largest(flows) or flows["name"].head(figures.MOST).to_list()
    own = flows.filter(pl.col("name").is_in(names)).sort("arrivals_bytes", "flow", descending=[True, False])
    return figures.rows(own, own["name"].to_list())


def links(table: pl.DataFrame) -> Table:
    """A row for each discipline: what the link did."""
    from ..plot import replay as figures

    rows = [row | {"throughput_bps": bps} for row, bps in zip(table.to_dicts(), figures.throughput(table), strict=True)]
    unit, factor = rate_unit(max(row["throughput_bps"] for row in rows))
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("discipline", lambda row: row["discipline"]),
        ("arrivals", lambda row: str(row["arrivals_packets"])),
        ("sent on", lambda row: str(row["departures_packets"])),
        ("loss %", lambda row: percent(ratio(row))),
        ("marked %", lambda row: percent(ratio(row, "marked_packets"))),
        (f"throughput {unit}", lambda row: fixed(row["throughput_bps"], factor)),
        ("utilisation %", lambda row: percent(row["utilisation"])),
        ("queue mean", lambda row: fixed(row["queue_packets_mean"])),
        ("queue max", lambda row: str(row["queue_packets_max"])),
        *DELAYS,
    ]
    return made(rows, columns, 1)


def flows(table: pl.DataFrame) -> Table:
    """A row for each of the largest flows under one discipline."""
    rows = table.sort("arrivals_bytes", "flow", descending=[True, False]).head(LARGEST).to_dicts()
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("flow", lambda row: row["name"]),
        ("packets", lambda row: str(row["arrivals_packets"])),
        ("kB", lambda row: fixed(row["arrivals_bytes"], 1e-3)),
        ("delivered", lambda row: str(row["delivered_packets"])),
        ("loss %", lambda row: percent(row["loss_ratio"])),
        ("marked", lambda row: str(row["marked_packets"])),
        *DELAYS,
    ]
    return made(rows, columns, 1)


def beside(table: pl.DataFrame, labels: Sequence[str], most: int) -> list[tuple[str, Table]]:
    """What stands side by side of the largest flows, with its title."""
    return [(title, _beside(table, labels, most, *what)) for title, what in BESIDE_OF.items()]


def _beside(table: pl.DataFrame, labels: Sequence[str], most: int, key: str, text: Callable[[Any], str]) -> Table:
    """A row for each of the largest flows, and a column for each discipline."""
    own = {
        label: {row["name"]: row[key] for row in table.filter(discipline=label).select("name", key).to_dicts()}
        for label in labels
    }
    order = table.filter(discipline=labels[0]).sort("arrivals_bytes", "flow", descending=[True, False]).head(most)
    packets = dict(order.select("name", "arrivals_packets").iter_rows())
    rows = tuple(
        (name, str(packets[name]), *(text(own[label].get(name)) for label in labels)) for name in order["name"]
    )
    return Table(("flow", "packets", *labels), rows, len(labels) + 1)


DELAYS: list[tuple[str, Callable[[Row], str]]] = [
    (f"{'queueing delay ' if which == 'mean' else ''}{which} ms",
     lambda row, which=which: ms(row[f"queueing_delay_{which}_ns"]))  # type: ignore[misc]
    for which in ("mean", "p50", "p95", "p99")
]  # fmt: skip

BESIDE_OF: dict[str, tuple[str, Callable[[Any], str]]] = {
    "Loss, %": ("loss_ratio", percent),
    "Queueing delay, median, ms": ("queueing_delay_p50_ns", ms),
    "Queueing delay, 99th percentile, ms": ("queueing_delay_p99_ns", ms),
}
"""What of flows stands side by side."""
