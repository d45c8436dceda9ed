"""What RFC 5166 asks of a congestion control beyond what RFC 7928 asks of a queue: convergence, oscillations, and data
that is sent in vain.

| what the RFC says | what we do | why |
|---|---|---|
| delta-fair convergence time: from shares of 100/101 and 1/101 to (1+δ)/2 and (1-δ)/2 (Sec. 2.3.3) | from the start of a flow beside one that fills the link, until the end of the first second in which the slower of the two has (1-δ)/2 of their sum or more; δ = 0.2. Where that does not happen, the rest of the run, which is then a lower bound | flows start with their initial windows, not with 1/101; the suite for RFC 7928 samples goodput by the second, too |
| the coefficient of variation of a flow's rate, over several time scales (Sec. 2.2.2) | of goodput by the second, the mean over the flows of a group | a second is 25 base round trips of 40 ms |
| a high retransmit rate may go with a low drop rate (Sec. 2.1.3); the goodput ratio (Sec. 2.4) | packets sent again beyond those lost, divided by the packets delivered | what is lost has to be sent again |
| responses to changes (Sec. 2.2.1) | the time from the start until the throughput of all flows in one second is 90 % of the link's rate; per phase, utilisation and delays | |
"""  # noqa: E501

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

from ..metrics import derive, quantile
from ..samples import PERIOD_S

if TYPE_CHECKING:
    import polars as pl

    from ...experiments.engine import Tables

DELTA = 0.2
FULL = 0.9
"""The part of a link's rate at which it counts as filled."""


def derive_control(
    tables: Tables, *, measured_s: float, warmup_s: float, late: int | None = None, lasting: tuple[int, ...] = (),
    **same: Any,
) -> Tables:  # fmt: skip
    """What is kept of a run, as `derive` has it, with `variation`, `sent_twice_ratio`, `filled_s` and `convergence_s`.

    `late`: the group of one flow that starts while another has the link, which is the other group that lasts.
    """
    import polars as pl

    found = derive(tables, measured_s=measured_s, warmup_s=warmup_s, lasting=lasting, **same)
    flows, series, links = tables["flows"], tables["flow_series"], tables["links"]
    rates = _by_second(series)
    rows: list[dict[str, Any]] = []
    for (group,), part in sorted(flows.partition_by("group", as_dict=True).items()):
        # What ends of one's own send again, nobody else can tell.
        own = group in lasting and part["algorithm"][0] == ""
        row: dict[str, Any] = {"of": str(group), "sent_twice_ratio": None if own else sent_twice(part)}
        if responses := tables["exchanges"].filter(pl.col("group") == group)["response_time_ns"].to_list():
            row |= {
                "response_mean_ns": statistics.fmean(responses),
                "response_p95_ns": quantile(sorted(responses), 0.95),
            }
        if group in lasting:
            after = rates.filter(pl.col("flow").is_in(part["flow"].to_list()) & (pl.col("second") >= warmup_s))
            row["variation"] = variation(after)
        if group == late:
            others = flows.filter((pl.col("group") != group) & pl.col("group").is_in(list(lasting)))["flow"].to_list()
            row["convergence_s"] = convergence(rates, part["flow"][0], others[0], float(part["start_s"][0]))
        rows.append(row)
    if links.height:
        rate, name = links.select("rate_bps", "link").row(0)
        rows.append({"of": f"link:{name}", "filled_s": filled(rates, rate)})
    names = dict.fromkeys(name for row in rows for name in row)
    more = pl.DataFrame(rows, dict.fromkeys(names, pl.Float64) | {"of": pl.String})
    return {**found, "metrics": found["metrics"].join(more, on="of", how="left", maintain_order="left")}


def _by_second(series: pl.DataFrame) -> pl.DataFrame:
    """Throughput of each flow in each whole second: `flow`, `second` (its beginning) and `throughput_bps`."""
    import polars as pl

    # A sample is of the interval that ends at its time.
    second = (pl.col("time_s") / PERIOD_S - 1e-6).floor() * PERIOD_S
    last = math.floor(max(series["time_s"].to_list(), default=0.0) / PERIOD_S + 1e-6) * PERIOD_S
    own = series.with_columns(second.alias("second")).filter(pl.col("second") < last)
    return own.group_by("flow", "second", maintain_order=True).agg(pl.col("throughput_bps").mean())


def variation(rates: pl.DataFrame) -> float | None:
    """The coefficient of variation of flows' rates over time, the mean over those that sent anything."""
    found = []
    for part in rates.partition_by("flow", maintain_order=True):
        values = part["throughput_bps"].to_list()
        if len(values) > 1 and (mean := statistics.fmean(values)) > 0:
            found.append(statistics.pstdev(values) / mean)
    return statistics.fmean(found) if found else None


def sent_twice(flows: pl.DataFrame) -> float | None:
    """Which part of what was delivered had been sent again although nothing was lost."""
    lost = flows["drops_packets"] + flows["lost_packets"] + flows["drops_elsewhere_packets"]
    again = [max(0, sent - gone) for sent, gone in zip(flows["retransmissions"].to_list(), lost, strict=True)]
    delivered = int(flows["delivered_packets"].sum())
    return min(sum(again), delivered) / delivered if delivered else None


def convergence(rates: pl.DataFrame, new: int, old: int, start_s: float) -> float:
    """How long a new flow took until the smaller of both had a δ-fair part of both, in seconds; where it never had, the
    rest of the run."""
    import polars as pl

    both = rates.filter(pl.col("second") >= start_s)
    by_second = both.pivot("flow", index="second", values="throughput_bps").sort("second")
    for row in by_second.select("second", str(new), str(old)).iter_rows():
        second, first, other = row[0], row[1] or 0.0, row[2] or 0.0
        if first + other > 0 and min(first, other) >= (1 - DELTA) / 2 * (first + other):
            return float(second) + PERIOD_S - start_s
    return float(by_second["second"].max()) + PERIOD_S - start_s  # type: ignore[arg-type]


def filled(rates: pl.DataFrame, rate_bps: float) -> float | None:
    """When the first second ended in which all flows together had `FULL` of the link; None if none did."""
    import polars as pl

    sums = rates.group_by("second").agg(pl.col("throughput_bps").sum())
    full = sums.filter(pl.col("throughput_bps") >= FULL * rate_bps)["second"]
    return float(full.min()) + PERIOD_S if full.len() else None  # type: ignore[arg-type]
