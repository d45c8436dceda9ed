"""The figures of the comparison of all disciplines: a row for each under each scenario, and what one chooses by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from ..report import FigurePart, Table
from ..stats import Interval
from . import Settings, disciplines_answers, disciplines_charts
from .disciplines_charts import Quantity
from .disciplines_compare import (
    BURSTS,
    CRITERIA,
    FAIR,
    MIXED,
    STATE,
    UNRESPONSIVE,
    Compared,
    Workload,
    meets,
    met,
    ranked,
    spread,
)

UNIT = {"udp_share": 100.0, "tcp_delay_p99_ns": 1e-6, "burst_excess": 100.0, "on_off_loss_ratio": 100.0,
        "utilisation": 100.0}  # fmt: skip
"""Factors of what is drawn; 1 for others."""

_SAME = ("Every discipline has the same buffer of {limit} packets and, if it has one, the same target, about "
"{queue} packets; "
         "PI's gains are computed for the link; CoDel, FQ-CoDel and PIE have their RFCs' values, all others their "
         "defaults. Bars are 95 % intervals over seeds; colour and shape say what is remembered of flows.")  # fmt: skip


def figures(settings: Settings, all_: Compared) -> tuple[FigurePart, ...]:
    """One for each scenario, and the table to choose by."""
    return (
        _choice(all_),
        _rows(
            UNRESPONSIVE, all_, "Scenario 1",
            (Quantity("udp_share", "UDP's share (%)", 100 * FAIR), Quantity("jain_tcp", "Jain's index among TCP"),
             Quantity("tcp_delay_p99_ns", "TCP's delay, p99 (ms)")),
            {"udp_share": (3, 10, 30, 100), "tcp_delay_p99_ns": (50, 100, 200, 500, 1000, 2000, 5000)}, "udp_share",
            "32 TCP transfers (Reno) and a UDP flow of 2 Mbit/s on 1 Mbit/s; a fair share is a 33rd (dotted). ",
            "CHOKe 1999: Drop Tail and RED let the unresponsive flow have the link, CHOKe does not; FRED, SRED and "
            "fair queueing protect against it with more state. DCN 2004 polices flows that do not reduce their rate.",
            disciplines_answers.unresponsive(all_),
        ),
        _rows(
            MIXED, all_, "Scenario 2",
            (Quantity("jain_tcp", "Jain's index among TCP"), Quantity("tcp_delay_p99_ns", "TCP's delay, p99 (ms)"),
             Quantity("utilisation", "link used (%)")),
            {"tcp_delay_p99_ns": (30, 50, 100, 200)}, "jain_tcp",
            "40 TCP transfers (NewReno) with round trips of 10, 20, 50, 100 and 200 ms on 10 Mbit/s. ",
            "TCP's throughput falls with the round trip; what tells flows apart can make up for it, what does not "
            "cannot.", disciplines_answers.mixed(all_),
        ),
        _rows(
            BURSTS, all_, "Scenario 3",
            (Quantity("burst_excess", "bursts' loss beyond\nsmooth traffic's (points)", 0),
             Quantity("on_off_loss_ratio", "bursts' loss (%)"), Quantity("utilisation", "link used (%)")),
            {}, "burst_excess",
            "20 TCP transfers (NewReno) on 10 Mbit/s, ten sources with bursts of 10 packets on average and ten smooth "
            "ones of the same mean rate. ",
            "RED 1993, Sec. I: a gateway should have no bias against bursty traffic. CHOKe 1999 claims the same "
            "of CHOKe.",
            disciplines_answers.bursts(all_),
        ),
    )  # fmt: skip


def _rows(
    workload: Workload, all_: Compared, label: str, quantities: Sequence[Quantity],
    logarithmic: Mapping[str, Sequence[float]], by: str, setup: str, says: str, measured: str,
) -> FigurePart:  # fmt: skip
    order = sorted(ranked(all_), key=lambda each: spread(all_, workload, each, by).mean)
    if by == "jain_tcp":
        order.reverse()
    table = {}
    for quantity in quantities:
        for each in order:
            found = spread(all_, workload, each, quantity.column)
            table[quantity.column, each] = _scaled(found, UNIT.get(quantity.column, 1.0))
    rows = tuple(
        (each, STATE[each][0], *(
            "none" if (found := table[quantity.column, each]).mean != found.mean
            else f"{found.mean:.3g}" + (f" ± {found.half_width:.2g}" if found.count > 1 else "")
            for quantity in quantities
        )) for each in order
    )  # fmt: skip
    return FigurePart(
        id=workload.id.replace("_", "-"),
        label=label,
        title=workload.title,
        setup=setup + _SAME.format(limit=workload.limit, queue=workload.queue),
        paper_says=says,
        measured=measured,
        alt=f"A row for each discipline: {', '.join(' '.join(each.label.split()) for each in quantities)}.",
        drawing=disciplines_charts.rows_of(quantities, order, table, logarithmic),
        data=all_[workload.id].means,
        table=Table(("Discipline", "Remembers", *(" ".join(each.label.split()) for each in quantities)), rows,
                    len(quantities)),
    )  # fmt: skip


def _scaled(found: Interval, factor: float) -> Interval:
    return replace(found, mean=found.mean * factor, half_width=found.half_width * factor,
                   run_half_width=found.run_half_width * factor)  # fmt: skip


def _choice(all_: Compared) -> FigurePart:
    order = ranked(all_)
    heads = ["remembers", *(c.head + (f" ({c.unit})" if c.unit else "") for c in CRITERIA), "met"]
    cells: dict[tuple[str, int], tuple[str, bool | None]] = {}
    records = []
    for label in order:
        done = met(all_, label)
        cells[label, 0] = (STATE[label][0], None)
        for column, criterion in enumerate(CRITERIA, start=1):
            good = meets(criterion, all_, label)
            cells[label, column] = (disciplines_answers.cell(all_, criterion, label), good)
            found = spread(all_, criterion.workload, label, criterion.metric)
            value = None if found.mean != found.mean else found.mean
            records.append((label, STATE[label][0], criterion.id, criterion.metric, value, good))
        cells[label, len(CRITERIA) + 1] = (str(len(done)), None)
    return FigurePart(
        id="choice",
        label="Which to use",
        title="Which should I use, and why?",
        setup="Each criterion is a number from one of the three scenarios below; it is met (✓, green) when the whole "
        "95 % interval over seeds is on the good side. "
        + " ".join(f"{c.id.capitalize()}: {c.asks}." for c in CRITERIA)
        + " Halved is what Drop Tail has under the same traffic. More criteria first, then less memory, then "
        "less delay.",
        paper_says="DCN 2004 and CHOKe 1999 each compare with a few others, on traffic of their own, and recommend "
        "themselves.",
        measured=disciplines_answers.which(all_),
        alt="Table of all disciplines over the criteria; those met are green with a tick.",
        drawing=disciplines_charts.matrix(heads, order, cells),
        data=pl.DataFrame(
            records,
            schema={"discipline": pl.String, "state": pl.String, "criterion": pl.String, "metric": pl.String,
                    "mean": pl.Float64, "met": pl.Boolean},
            orient="row",
        ),
        table=Table(("Discipline", "Remembers", "What it is"),
                    tuple((label, STATE[label][0], STATE[label][1] or "–") for label in order)),
    )  # fmt: skip
