"""The metrics of RFC 7928, Sec. 2, of one run: a row for each group of flows and one for each link under study.

| what the RFC says | what we do | why |
|---|---|---|
| goodput leaves out what is sent again (Sec. 2.5) | IP bits delivered, less the share of packets that were sent again beyond those dropped; of transfers that end, their bits over the time that they took | rates of links are in IP bits too; `goodput_bps` of a run's `flows`, what receivers handed on, is in bits of data, without headers |
| percentiles of delay | from histograms with bins of 1/128 of the delay, propagation included; what differs by less than a bin is called a tie | each flow has one, and keeps few bins |
| latency of packets (Sec. 2.6) | one-way delay beyond half the base round trip, by flow; for a group the mean over its flows | propagation belongs to the path; what is left is waiting and sending |
| jitter is the packet-delay variation (Sec. 2.6; RFC 5481) | the 99th percentile less the median; against the least delay it is the 99th percentile itself | the least delay is propagation and sending |
| global synchronization ratio: which part of the flows loses in a loss event (Sec. 2.4) | mean over samples with a loss of the flows that lose, of those that sent | a sample is a round trip |
| interval between losses (Sec. 2.3) | mean time between samples with a loss | losses of one round trip are one event |
| flow completion time (Sec. 2.1) | of transfers, and of web pages: from the first request until all objects are there | what a user waits for |
| flow start-up time (Sec. 2.2) | completion of transfers of one packet, where a scenario has such | no table that is kept has the time of a flow's first byte |
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..stats import jain

if TYPE_CHECKING:
    import polars as pl

    from ..experiments.engine import Tables

PAGE_OBJECTS = 51
"""Objects of a web page, the page itself included."""

PAGE_GAP_S = 0.5
"""A request so long after all responses have come begins a page: users think for a second."""

ONE_WAY_NS = 50e6
"""Half the base round trip of web users, whose connections have none in the tables."""


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

    def mean(self, values: Sequence[float]) -> float:
        """The mean over seeds; of ratios the geometric one, so that twice and half make 1."""
        if self.best == "one":
            return math.exp(math.fsum(math.log(max(value, 1e-6)) for value in values) / len(values))
        return math.fsum(values) / len(values)

    def grain(self, value: float, of_link: bool) -> float:
        """Differences below this say nothing: 0.1 % of the value, which nobody would notice, or a bin of the histogram.
        Delays of flows are read with their propagation, which is taken off afterwards."""
        if self.binned:
            return (abs(value) + (0 if of_link else ONE_WAY_NS)) / 128
        return abs(value) / 1000

    def score(self, value: float) -> float:
        """Less is better."""
        if self.best == "one":
            return abs(math.log(max(value, 1e-6)))
        return value if self.best == "low" else -value


METRICS: dict[str, Metric] = {
    "goodput_bps": Metric("goodput", "Mbit/s", 1e-6, "high"),
    "over_first": Metric("goodput over the first's", "", 1.0, "one", always=False),
    "delay_mean_ns": Metric("delay, mean", "ms", 1e-6),
    "delay_p50_ns": Metric("delay, p50", "ms", 1e-6, binned=True),
    "delay_p95_ns": Metric("delay, p95", "ms", 1e-6, binned=True),
    "delay_p99_ns": Metric("delay, p99", "ms", 1e-6, binned=True),
    "delay_variation_ns": Metric("delay variation", "ms", 1e-6, binned=True),
    "loss_ratio": Metric("loss", "%", 100.0),
    "marked_ratio": Metric("marked", "%", 100.0),
    "loss_interval_s": Metric("between loss events", "s", 1.0, "high"),
    "loss_sync": Metric("loss synchronization", "%", 100.0),
    "jain": Metric("Jain's index", "", 1.0, "high"),
    "utilisation": Metric("utilisation", "%", 100.0, "high"),
    "completion_mean_ns": Metric("completion, mean", "s", 1e-9),
    "completion_p95_ns": Metric("completion, p95", "s", 1e-9),
    "unfinished_ratio": Metric("unfinished", "%", 100.0),
    "page_mean_s": Metric("page load, mean", "s", 1.0),
    "page_p95_s": Metric("page load, p95", "s", 1.0),
}
"""In the order in which they are shown."""

DELAYS = ("mean", "p50", "p95", "p99")


def derive(
    tables: Tables, *, measured_s: float, warmup_s: float, sized: tuple[int, ...] = (), lasting: tuple[int, ...] = (),
    apart: tuple[int, ...] = (),
) -> dict[str, pl.DataFrame]:  # fmt: skip
    """The table `metrics` of a run: the column `of`, a group's number or `link:` and a name, and those of `METRICS`.

    `measured_s`: the length of the measured window, which begins at `warmup_s`. `sized`: groups of transfers that end
    and start in it. `lasting`: groups of transfers that go on until the end. `apart`: groups that stand for something
    else than traffic; what the links counted is then left out.
    """
    import polars as pl

    flows = tables["flows"].filter(~pl.col("group").is_in(list(apart)))
    series = tables["flow_series"].filter(pl.col("time_s") > warmup_s).join(flows.select("flow", "kind"), on="flow")
    rows: list[dict[str, Any]] = []
    for group, part in sorted(flows.partition_by("group", as_dict=True).items()):
        own = part.to_dicts()
        pages = page_times(tables["exchanges"].filter(pl.col("group") == group[0]))
        there = series.filter(pl.col("flow").is_in(part["flow"].to_list()))
        first = rows[0] if rows else {}
        row: dict[str, Any] = {"of": str(group[0])} | of_group(own) | of_pages(pages)
        row |= of_transfers(own, measured_s) if group[0] in sized else of_losses(there)
        row["over_first"] = _over(row["goodput_bps"], first.get("goodput_bps"))
        rows.append(row)
    rates = flows.filter(pl.col("group").is_in(list(lasting)))["throughput_bps"].to_list()
    common: dict[str, float | None] = {"jain": jain(rates) if len(rates) > 1 else None}
    if tables["links"].height == 1:
        common |= of_losses(series) | {"goodput_bps": math.fsum(map(goodput, flows.to_dicts()))}
    for link in tables["links"].to_dicts():
        rows.append({"of": f"link:{link['link']}"} | common | ({} if apart else of_link(link)))
    names = dict.fromkeys(name for row in rows for name in row)
    return {"metrics": pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64) | {"of": pl.String})}


def of_group(flows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """What the rows of a group in `flows` come to."""
    arrivals = sum(flow["arrivals_packets"] for flow in flows)
    row = {
        "goodput_bps": math.fsum(map(goodput, flows)),
        "loss_ratio": _over(sum(flow["drops_packets"] + flow["lost_packets"] for flow in flows), arrivals),
        "marked_ratio": _over(sum(flow["marked_packets"] for flow in flows), arrivals),
    }
    for name in DELAYS:
        row[f"delay_{name}_ns"] = _mean([waited(flow, f"delay_{name}_ns") for flow in flows])
    if row["delay_p99_ns"] is not None and row["delay_p50_ns"] is not None:
        row["delay_variation_ns"] = row["delay_p99_ns"] - row["delay_p50_ns"]
    return row


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
    delay, trip = flow[column], flow["base_rtt_ns"]
    return None if delay is None else float(delay) - (ONE_WAY_NS if trip is None else trip / 2)


def of_link(link: Mapping[str, Any]) -> dict[str, float | None]:
    """What a row of `links` comes to."""
    return {
        "utilisation": link["utilisation"],
        "delay_mean_ns": link["queueing_delay_mean_ns"],
        "delay_p99_ns": link["queueing_delay_p99_ns"],
        "loss_ratio": _over(link["drops_packets"] + link["lost_packets"], link["arrivals_packets"]),
        "marked_ratio": _over(link["marked_packets"], link["arrivals_packets"]),
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
