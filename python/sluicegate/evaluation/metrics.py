"""The metrics of RFC 7928, Sec. 2, of one run: a row for each group of flows and one for each link under study.

| what the RFC says | what we do | why |
|---|---|---|
| goodput leaves out what is sent again (Sec. 2.5) | IP bits delivered, less the share that came twice: packets sent again minus packets lost, divided by packets delivered; of transfers that end, their bits divided by the time that they took | rates of links are in IP bits too; `goodput_bps` of a run's `flows`, what receivers handed on, is in bits of data, without headers |
| percentiles of delay | from histograms with bins of 1/128 of the delay, propagation included; what differs by less than a bin is called a tie | each flow has its own histogram, with few bins |
| latency of packets (Sec. 2.6) | one-way delay beyond half the base round trip, by flow; for a group, the mean and percentiles over the packets of all its flows | propagation belongs to the path; what is left is waiting and sending |
| jitter is the packet delay variation (Sec. 2.6; RFC 5481, Sec. 4.2) | the 99th percentile of a group's delays less the least one in the measured window, the packets of all its flows pooled | flows of a group have the same path |
| global synchronization ratio: which part of the flows loses in a loss event (Sec. 2.4) | of the flows that sent in a sample, the fraction that loses; the mean over samples with a loss | a sample is a round trip |
| queue-level metrics (Sec. 4.2) | of each link under study: utilisation, delay, losses, marks, the mean and the greatest length of its queue, and the mean of the discipline's own average, if it keeps one | the packet in transmission is not counted |
| interval between losses (Sec. 2.3) | mean time between samples with a loss; in scenarios that keep the table of packets (`packets=True`), between single losses | losses of one round trip are one event |
| flow completion time (Sec. 2.1) | of transfers, and of web pages: from the first request until all objects are there | what a user waits for |

`samples` has what is sampled, `single` what single packets tell.
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from ..stats import jain
from .phases import Phases
from .samples import PARTS, avoidance, course, delays_of, goodputs, losses, of_phases, quantiles, variation
from .single import loss_gap, of_control, startup_times

if TYPE_CHECKING:
    import polars as pl

    from ..experiments.engine import Tables

PAGE_OBJECTS = 51
"""Objects of a web page, the page itself included."""

PAGE_GAP_S = 0.5
"""A request begins a new page if all responses came at least this long before it: users think for a second."""

ONE_WAY_NS = 50e6
"""Propagation one way that is assumed for the width of a delay's bin, whatever the flow: half of RFC 7928's 100 ms."""

BEHIND_NS = 1e6
"""One-way propagation behind the bottleneck in all scenarios with start-up times. The rest of a flow's `rtt` is on the
sender's side."""


@dataclass(frozen=True)
class Metric:
    """How a column of the metrics is shown: `factor` takes it to `unit`. `best`: the least, the greatest, or what is
    nearest to 1. `always`: whether it is shown where no number of the overview is of it. `binned`: it is read from a
    histogram whose bins are up to 1/128 of a delay wide."""

    label: str
    unit: str
    factor: float
    best: Literal["low", "high", "one"] = "low"
    always: bool = True
    binned: bool = False

    def grain(self, value: float, of_link: bool) -> float:
        """Differences below this say nothing: 0.1 % of the value, which nobody would notice, or a bin of the histogram.
        Delays of flows are read with their propagation, which is taken off afterwards."""
        if self.binned:
            return (abs(value) + (0 if of_link else ONE_WAY_NS)) / 128
        return abs(value) / 1000

    def over_points(self, values: Sequence[float]) -> float:
        """One number of those at several points: the mean; of ratios the factor by which they differ from 1 on average,
        up or down, so that twice and half do not make 1."""
        if self.best == "one" and len(values) > 1:
            return math.exp(math.fsum(self.score(value) for value in values) / len(values))
        return math.fsum(values) / len(values)

    def score(self, value: float) -> float:
        """Less is better."""
        if self.best == "one":
            return abs(math.log(max(value, 1e-6)))
        return value if self.best == "low" else -value


METRICS: dict[str, Metric] = {
    "goodput_bps": Metric("goodput", "Mbit/s", 1e-6, "high"),
    "goodput_p5_bps": Metric("goodput of a flow, p5", "Mbit/s", 1e-6, "high", always=False),
    "over_first": Metric("goodput over the first's", "", 1.0, "one", always=False),
    "delay_mean_ns": Metric("delay, mean", "ms", 1e-6),
    "delay_p50_ns": Metric("delay, p50", "ms", 1e-6, binned=True),
    "delay_p95_ns": Metric("delay, p95", "ms", 1e-6, binned=True),
    "delay_p99_ns": Metric("delay, p99", "ms", 1e-6, binned=True),
    "delay_variation_ns": Metric("delay variation, p99", "ms", 1e-6, binned=True),
    "loss_ratio": Metric("loss", "%", 100.0),
    "marked_ratio": Metric("marked", "%", 100.0),
    "loss_interval_s": Metric("between loss events", "s", 1.0, "high"),
    "loss_gap_s": Metric("between losses", "s", 1.0, "high"),
    "loss_sync": Metric("loss synchronization", "%", 100.0),
    "jain": Metric("Jain's index", "", 1.0, "high"),
    "utilisation": Metric("utilisation", "%", 100.0, "high"),
    "queue_packets": Metric("queue, mean", "packets", 1.0),
    "queue_packets_max": Metric("queue, longest", "packets", 1.0),
    "average_packets": Metric("queue, discipline's own average", "packets", 1.0),
    "completion_mean_ns": Metric("completion, mean", "s", 1e-9),
    "completion_p95_ns": Metric("completion, p95", "s", 1e-9),
    "startup_mean_ns": Metric("start-up, mean", "s", 1e-9),
    "startup_p95_ns": Metric("start-up, p95", "s", 1e-9),
    "unfinished_ratio": Metric("unfinished", "%", 100.0),
    "page_mean_s": Metric("page load, mean", "s", 1.0),
    "page_p95_s": Metric("page load, p95", "s", 1.0),
    "avoidance_s": Metric("in congestion avoidance at", "s", 1.0, always=False),
    "response_mean_ns": Metric("response, mean", "s", 1e-9, always=False),
    "response_p95_ns": Metric("response, p95", "s", 1e-9, always=False),
    "convergence_s": Metric("convergence", "s", 1.0, always=False),
    "filled_s": Metric("link filled after", "s", 1.0, always=False),
    "variation": Metric("goodput's variation", "%", 100.0, always=False),
    "sent_twice_ratio": Metric("sent twice in vain", "%", 100.0, always=False),
}
"""In the order in which they are shown."""

DELAYS = ("mean", "p50", "p95", "p99")


def derive(
    tables: Tables, *, measured_s: float, warmup_s: float, sample_s: float, sized: tuple[int, ...] = (),
    lasting: tuple[int, ...] = (), phases: Phases | None = None,
    base_rtts_ns: Mapping[int, float] = MappingProxyType({}),
) -> dict[str, pl.DataFrame]:  # fmt: skip
    """What is kept of a run: `metrics`, with a row for each group, link and kind of phase, named by the column `of`: a
    group's number, or a word and a name, such as `link:bottleneck`; `transfers`, with a row for each flow; and
    `distributions`, quantiles by group. With `phases`, their `courses` over time.

    `measured_s`: the length of the measured window, which begins at `warmup_s`. `sample_s`: the interval of samples.
    `sized`: groups of transfers that end and start in it. `lasting`: groups of transfers that go on until the end.
    `base_rtts_ns`: those of groups whose connections come and go, for which the tables have none.
    """
    import polars as pl

    flows, links = tables["flows"], tables["links"]
    given = pl.col("group").replace_strict(dict(base_rtts_ns), default=None, return_dtype=pl.Float64)
    flows = flows.with_columns(pl.col("base_rtt_ns").fill_null(given))
    packets = tables["packets"] if "packets" in tables and tables["packets"].height else None
    whole = tables["flow_series"].join(flows.select("flow", "kind"), on="flow")
    series = whole.filter(pl.col("time_s") > warmup_s)
    pooled = {row["name"]: row for row in tables["groups"].iter_rows(named=True)}
    once = {flow["flow"]: _over(goodput(flow), flow["throughput_bps"]) or 1.0 for flow in flows.to_dicts()}
    samples = goodputs(series, once, warmup_s)
    rows: list[dict[str, Any]] = []
    kept: list[tuple[str, str, float, float]] = []
    for group, part in sorted(flows.partition_by("group", as_dict=True).items()):
        own, numbers = part.to_dicts(), part["flow"].to_list()
        pages = page_times(tables["exchanges"].filter(pl.col("group") == group[0]))
        there = series.filter(pl.col("flow").is_in(numbers))
        first = rows[0] if rows else {}
        row: dict[str, Any] = {"of": str(group[0])} | of_group(own, pooled[own[0]["name"]]) | of_pages(pages)
        ends, counts = delays_of(tables["delays"], own[0]["name"])
        row["delay_variation_ns"] = variation(ends, counts)
        taken = {
            "delay_ns": quantiles([end - _propagation(own[0]) for end in ends], counts),
            "page_s": quantiles(pages),
        }
        if group[0] in sized:
            row |= of_transfers(own, measured_s)
            times = [flow["completion_time_ns"] for flow in own if flow["completion_time_ns"] is not None]
            taken["completion_ns"] = quantiles(times)
        else:
            row |= of_losses(there)
            taken["loss_ratio"] = quantiles(losses(there, warmup_s))
            taken["goodput_bps"] = quantiles(samples.filter(pl.col("flow").is_in(numbers))["goodput_bps"].to_list())
            row["goodput_p5_bps"] = taken["goodput_bps"][PARTS.index(0.05)] if taken["goodput_bps"] else None
        if packets is not None:
            row["loss_gap_s"] = loss_gap(packets, numbers, warmup_s)
            if group[0] in sized:
                row |= of_startup(startup_times(packets, own, BEHIND_NS))
        row["over_first"] = _over(row["goodput_bps"], first.get("goodput_bps"))
        rows.append(row)
        kept += [(row["of"], metric, part, value) for metric, values in taken.items()
                 for part, value in zip(PARTS, values, strict=False)]  # fmt: skip
    last = flows.filter(pl.col("group").is_in(list(lasting)))
    rates = last["throughput_bps"].to_list()
    common: dict[str, float | None] = {"jain": jain(rates) if len(rates) > 1 else None}
    common["avoidance_s"] = avoidance(whole, last["flow"].to_list())
    if links.height == 1:
        there = flows.filter(link=links["link"][0])  # not those of the opposite direction, where that has Drop Tail
        common |= of_losses(series.filter(pl.col("flow").is_in(there["flow"].to_list())))
        common["goodput_bps"] = math.fsum(map(goodput, there.to_dicts()))
    rows += [{"of": f"link:{link['link']}"} | common | of_link(link) for link in links.to_dicts()]
    if packets is not None:
        rows += of_control(packets, flows.filter(pl.col("algorithm") != "")["flow"].to_list(), warmup_s)
    found = {}
    if phases is not None:
        rows += of_phases(whole, tables["queue"], phases, warmup_s, sample_s)
        found["courses"] = course(whole, tables["queue"], phases, warmup_s, sample_s)
    names = dict.fromkeys(name for row in rows for name in row)
    found["metrics"] = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64) | {"of": pl.String})
    each = [of_flow(flow) for flow in flows.to_dicts()]
    numbers_of = dict.fromkeys(each[0], pl.Float64) | {"of": pl.String, "flow": pl.Int64}
    found["transfers"] = pl.DataFrame(each, schema=numbers_of)
    columns = {"of": pl.String, "metric": pl.String, "part": pl.Float64, "value": pl.Float64}
    return found | {"distributions": pl.DataFrame(kept, columns, orient="row")}


def of_group(flows: Sequence[Mapping[str, Any]], pooled: Mapping[str, Any]) -> dict[str, float | None]:
    """What the rows of a group in `flows` come to. `pooled`: its row in `groups`, of the packets of all its flows."""
    arrivals = sum(flow["arrivals_packets"] for flow in flows)
    row = {
        "goodput_bps": math.fsum(map(goodput, flows)),
        "loss_ratio": _over(sum(flow["drops_packets"] + flow["lost_packets"] for flow in flows), arrivals),
        "marked_ratio": _over(sum(flow["marked_packets"] for flow in flows), arrivals),
    }
    for column in (f"delay_{name}_ns" for name in DELAYS):
        row[column] = None if pooled[column] is None else float(pooled[column]) - _propagation(flows[0])
    return row


def of_flow(flow: Mapping[str, Any]) -> dict[str, Any]:
    """A flow's row of `transfers`."""
    return {
        "of": str(flow["group"]),
        "flow": flow["flow"],
        "goodput_bps": goodput(flow),
        "loss_ratio": _over(flow["drops_packets"] + flow["lost_packets"], flow["arrivals_packets"]),
        "delay_mean_ns": waited(flow, "delay_mean_ns"),
        "delay_p99_ns": waited(flow, "delay_p99_ns"),
        "completion_ns": None if flow["completion_time_ns"] is None else float(flow["completion_time_ns"]),
    }


def of_startup(times: Sequence[float]) -> dict[str, float | None]:
    """Mean and 95th percentile of start-up times."""
    return {"startup_mean_ns": _mean(times), "startup_p95_ns": quantile(sorted(times), 0.95)}


def of_transfers(flows: Sequence[Mapping[str, Any]], measured_s: float) -> dict[str, float | None]:
    """Completion times of a group of transfers that end, and the goodput that those had which ended."""
    done = [flow for flow in flows if flow["completion_time_ns"] is not None]
    times = sorted(flow["completion_time_ns"] for flow in done)
    bits = math.fsum(map(goodput, done)) * measured_s
    return {
        "goodput_bps": _over(1e9 * bits, math.fsum(times)),
        "completion_mean_ns": _mean(times),
        "completion_p95_ns": quantile(times, 0.95),
        "unfinished_ratio": 1 - len(done) / len(flows),
    }


def goodput(flow: Mapping[str, Any]) -> float:
    """The goodput of a flow in bit/s: what was sent again although nothing was dropped came twice."""
    lost = flow["drops_packets"] + flow["lost_packets"] + flow["drops_elsewhere_packets"]
    twice = max(0, flow["retransmissions"] - lost)
    delivered = flow["delivered_packets"]
    return float(flow["throughput_bps"]) * (1 - min(twice, delivered) / delivered) if delivered else 0.0


def waited(flow: Mapping[str, Any], column: str) -> float | None:
    """A delay of a flow beyond propagation, ns; None without a delivered packet."""
    return None if flow[column] is None else float(flow[column]) - _propagation(flow)


def _propagation(flow: Mapping[str, Any]) -> float:
    """One way, ns."""
    return float(flow["base_rtt_ns"]) / 2


def of_link(link: Mapping[str, Any]) -> dict[str, float | None]:
    """What a row of `links` comes to."""
    return {
        "utilisation": link["utilisation"],
        "delay_mean_ns": link["queueing_delay_mean_ns"],
        "delay_p99_ns": link["queueing_delay_p99_ns"],
        "loss_ratio": _over(link["drops_packets"] + link["lost_packets"], link["arrivals_packets"]),
        "marked_ratio": _over(link["marked_packets"], link["arrivals_packets"]),
        "queue_packets": link["queue_packets_mean"],
        "queue_packets_max": link["queue_packets_max"],
        "average_packets": link["average_packets_mean"],
    }


def of_losses(series: pl.DataFrame) -> dict[str, float | None]:
    """Loss events of some flows: the time between them, and which part of the TCP transfers lost in each."""
    return {"loss_interval_s": loss_interval(series), "loss_sync": loss_synchronization(series)}


def loss_synchronization(series: pl.DataFrame) -> float | None:
    """The global synchronization ratio of the transfers of kind tcp in a `flow_series` that has their `kind`: mean over
    the samples in which one of several loses of the flows that lose, of those that sent. None without such a sample."""
    import polars as pl

    sent = series.filter((pl.col("kind") == "tcp") & (pl.col("arrivals_packets") > 0))
    if sent["flow"].n_unique() < 2:
        return None
    lose = (pl.col("drops_packets") > 0).sum()
    events = sent.group_by("time_s", maintain_order=True).agg(lose.alias("losing"), pl.len().alias("flows"))
    ratios = [losing / flows for _, losing, flows in events.iter_rows() if losing]
    return _mean(ratios)


def loss_interval(series: pl.DataFrame) -> float | None:
    """The mean time between samples in which any of the flows loses, in seconds; None with fewer than two."""
    import polars as pl

    times = series.filter(pl.col("drops_packets") > 0)["time_s"].unique().sort().to_list()
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None


def page_times(exchanges: pl.DataFrame) -> list[float]:
    """How long each whole page of the one web user of a group took, in seconds, from its row of `exchanges`."""
    pages: list[list[float]] = []  # start, end, objects
    for start, took in exchanges.sort("time_s").select("time_s", "response_time_ns").iter_rows():
        if not pages or start >= pages[-1][1] + PAGE_GAP_S:
            pages.append([start, start, 0])
        pages[-1][1] = max(pages[-1][1], start + took / 1e9)
        pages[-1][2] += 1
    return [end - start for start, end, objects in pages if objects == PAGE_OBJECTS]


def of_pages(times: Sequence[float]) -> dict[str, float | None]:
    """Mean and 95th percentile of page load times."""
    return {"page_mean_s": _mean(times), "page_p95_s": quantile(sorted(times), 0.95)} if times else {}


def quantile(ordered: Sequence[float], part: float) -> float | None:
    """The least value that at least `part` of all do not exceed; None without any."""
    return float(ordered[max(0, math.ceil(part * len(ordered)) - 1)]) if ordered else None


@dataclass(frozen=True)
class Ellipse:
    """The 1-sigma contour of the normal distribution that is most likely to have given some points: its centre, its
    half axes (`major` first) and the angle of the major one, in radians from the x axis."""

    x: float
    y: float
    major: float
    minor: float
    angle: float


def ellipse(points: Sequence[tuple[float, float]]) -> Ellipse:
    """The ellipse of RFC 7928, Sec. 2.7, over at least one point: covariance with 1/n, as Winstein & Balakrishnan 2013
    have it (the maximum of the likelihood)."""
    n = len(points)
    x, y = (math.fsum(point[axis] for point in points) / n for axis in (0, 1))
    xx, yy, xy = (
        math.fsum((p[a] - (x, y)[a]) * (p[b] - (x, y)[b]) for p in points) / n for a, b in ((0, 0), (1, 1), (0, 1))
    )
    half, spread = (xx + yy) / 2, math.hypot((xx - yy) / 2, xy)
    return Ellipse(x, y, math.sqrt(half + spread), math.sqrt(max(0.0, half - spread)), math.atan2(2 * xy, xx - yy) / 2)


def _over(part: float | None, whole: float | None) -> float | None:
    """A ratio; None without a whole."""
    return None if part is None or not whole else part / whole


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of those that there are; None without any."""
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None
