"""What a comparison measures of each run: of every group of flows by its name, of all flows, and of every link."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..declarations import declarations
from ..stats import jain
from ..traffic.groups import COMING_AND_GOING

if TYPE_CHECKING:
    import polars as pl

Measures = dict[str, float | None]
"""What one run gave: each quantity by name, units included; None for what has no value."""


@dataclass(frozen=True)
class Metric:
    """A quantity of a group or of a link.

    `name`: how columns end, unit included. `word`: what a person calls it. `head`: two lines above a column. `factor`:
    to the unit shown, 0 for a rate, whose unit follows from its size. `best`: whether more or less of it is better.
    `resolution`: the relative error of one value; what differs by less is alike.
    """

    name: str
    word: str
    head: str
    unit: str
    factor: float
    decimals: int
    best: Literal["most", "least"]
    resolution: float = 0.0


TWO_DIGITS = 1 / 128
"""Percentiles are the upper ends of a histogram's bins: at most 1/128 too high (`crates/port/src/histogram.rs`)."""


def _time(name: str, word: str, head: str, resolution: float = TWO_DIGITS) -> Metric:
    return Metric(name, word, head, "ms", 1e-6, 1, "least", resolution)


GROUP = {
    metric.word: metric
    for metric in (
        Metric("throughput_bps", "throughput", "through-\nput ", "bit/s", 0, 1, "most"),
        Metric("loss_ratio", "loss", "loss\n%", "%", 100, 2, "least"),
        _time("delay_p50_ns", "p50", "delay ms\np50"),
        _time("delay_p95_ns", "p95", "delay ms\np95"),
        _time("delay_p99_ns", "p99", "delay ms\np99"),
        _time("delay_mean_ns", "delay", "delay ms\nmean", 0.0),
        Metric("throughput_per_flow_bps", "per_flow", "per flow\n", "bit/s", 0, 1, "most"),
        _time("response_time_p50_ns", "response_p50", "response\nms, p50"),
        _time("response_time_p99_ns", "response_p99", "response\nms, p99"),
        _time("completion_time_p50_ns", "completion_p50", "whole\nms, p50"),
        _time("completion_time_p95_ns", "completion_p95", "whole\nms, p95"),
    )
}
"""The quantities of a group of flows, by the words for them."""

USUAL = ("throughput", "loss", "p50", "p95", "p99", "response_p50", "response_p99", "completion_p50", "completion_p95")
"""Those that are shown when nobody asks for others, where a group has them."""

OF_TABLE = tuple(metric.name for metric in GROUP.values() if metric.word != "per_flow")
"""Those that stand in a run's table `groups`."""

SHARE = Metric("throughput_share", "share", "share\n%", "%", 100, 1, "most")
"""A group's part of all throughput, where simulation and real hosts stand side by side."""

TOTAL = {
    metric.word: metric
    for metric in (
        Metric("throughput_bps", "throughput", "through-\nput ", "bit/s", 0, 1, "most"),
        Metric("jain_tcp", "jain_tcp", "Jain\nTCP", "", 1, 3, "most"),
        Metric("jain_all", "jain_all", "Jain\nall", "", 1, 3, "most"),
    )
}
"""The quantities of all flows together."""

LINK = {
    metric.word: metric
    for metric in (
        Metric("loss_ratio", "link_loss", "loss\n%", "%", 100, 2, "least"),
        _time("queueing_delay_mean_ns", "queueing_delay", "queue ms\nmean", 0.0),
        _time("queueing_delay_p99_ns", "queueing_delay_p99", "queue ms\np99"),
        Metric("utilisation", "utilisation", "util.\n%", "%", 100, 2, "most"),
    )
}
"""The quantities of a link."""


def column(group: str, metric: Metric) -> str:
    """How the column of a group's quantity is called."""
    return f"{group}_{metric.name}"


def kept() -> dict[str, tuple[str, ...]]:
    """The tables and columns of a run that `measure` and `traps.of_run` read, and those of distributions and of queues
    over time."""
    reasons = tuple(f"drops_{reason}" for reason in drop_reasons())
    delays = ("queueing_delay_mean_ns", "queueing_delay_p99_ns", "utilisation")
    averages = ("average_packets_mean", "average_packets_max")
    return {
        "flows": ("kind", "algorithm", "throughput_bps"),
        "groups": ("name", "flows", "opened_connections", *OF_TABLE),
        "delays": ("name", "delay_max_ns", "packets"),
        "queue": ("link", "time_s", "queue_packets", "average_packets"),
        "links": (
            "link",
            "arrivals_packets",
            "drops_packets",
            "lost_packets",
            *reasons,
            "marked_packets",
            *delays,
            *averages,
        ),
    }


def drop_reasons() -> list[str]:
    """Every reason for which a packet can be dropped, as it is declared."""
    return [reason["name"] for reason in declarations()["drop_reasons"]]


def reasons(table: pl.DataFrame) -> list[tuple[str, str]]:
    """The columns of drops by reason, and of losses on the wire, with any; and the reasons."""
    names = (name for name in table.columns if name.startswith("drops_") and not name.endswith(("_packets", "_bytes")))
    found = {name: name.removeprefix("drops_") for name in names} | {"lost_packets": "on the wire"}
    return [(name, reason) for name, reason in found.items() if name in table.columns and table[name].sum()]


def clash(groups: Sequence[str]) -> str | None:
    """A name of a group whose columns would be those of all flows or of the link; None where there is none."""
    others = {metric.name for metric in (*TOTAL.values(), *LINK.values())} | {"marked_ratio", "lost_ratio"}
    others |= {f"drops_{reason}_ratio" for reason in drop_reasons()}
    return next((name for name in groups if any(column(name, metric) in others for metric in GROUP.values())), None)


def measure(
    flows: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]
) -> Measures:
    """The quantities of one run, from the rows of its tables. docs/compare.md defines them.

    With more than one link, what belongs to a link has the link's name and a point before it.
    """
    values: Measures = {}
    for group in groups:
        values |= {f"{group['name']}_{name}": group[name] for name in OF_TABLE}
        one_each = not group["opened_connections"]  # the connections of an entry that come and go are one flow
        values[f"{group['name']}_throughput_per_flow_bps"] = (
            group["throughput_bps"] / group["flows"] if one_each else None
        )
    values["throughput_bps"] = math.fsum(flow["throughput_bps"] for flow in flows)
    # Of real TCP the congestion control is not known. Connections that come and go are one flow without a fair share.
    tcp = [
        flow for flow in flows
        if flow.get("algorithm", flow["kind"] == "tcp") and flow["kind"] not in COMING_AND_GOING
    ]  # fmt: skip
    values["jain_tcp"] = jain([flow["throughput_bps"] for flow in tcp])
    values["jain_all"] = jain([flow["throughput_bps"] for flow in flows])
    for link in links:
        before = f"{link['link']}." if len(links) > 1 else ""
        arrivals = link["arrivals_packets"]
        lost = link["drops_packets"] + link["lost_packets"]
        values[f"{before}loss_ratio"] = lost / arrivals if arrivals else None
        values[f"{before}lost_ratio"] = link["lost_packets"] / arrivals if arrivals else None
        for name in link:
            if name.startswith("drops_") and name != "drops_packets":
                values[f"{before}{name}_ratio"] = link[name] / arrivals if arrivals else None
        values[f"{before}marked_ratio"] = link["marked_packets"] / arrivals if arrivals else None
        for name in ("queueing_delay_mean_ns", "queueing_delay_p99_ns", "utilisation"):
            values[f"{before}{name}"] = link[name]
    return values


def shares(values: Measures, groups: Sequence[str]) -> Measures:
    """The share of each group in the throughput of all, of what `measure` gave; None when nothing was delivered."""
    total = values["throughput_bps"]
    own = {name: values[column(name, GROUP["throughput"])] for name in groups}
    return {column(name, SHARE): value / total if total and value is not None else None for name, value in own.items()}
