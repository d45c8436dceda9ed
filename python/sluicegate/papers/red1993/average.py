"""Secs. III, IV and VIII: is the average what eq. (1) says, and is max_th enforced? Measures of single packets.

Each traced run is measured as soon as it has ended, and a row for each of its links is kept (`TABLE`): the packets of a
hundred runs would take gigabytes.

- `eq_1`: the greatest difference between an arrival's average and eq. (1), computed anew from the queue that arrivals
  found and from idle times;
- `spared`: arrivals that found the average at `MAX_TH` or above and were not dropped;
- `lag`: while the average is at `MAX_TH` or above, the greatest difference between it and the average that the filter
  allows. That follows from the average and the queue q₀ of the arrival with which the average first reached `MAX_TH`:
  from then on every arrival is dropped, so the k-th departure leaves q₀ − k packets, and each arrival moves the average
  by w_q towards that;
- `allowed`: the greatest average that the filter allows;
- `slowness`: how far the average moves from arrival to arrival, divided by how far the queue moves.

Neither `lag` nor `allowed` looks at the queue that the run had afterwards: a gateway that lets packets in above
`MAX_TH`, or whose filter is slower or faster than w_q, departs from what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from ...experiments.engine import Tables
from ...reproduce import Check, Measure, Quantity, Rows, Runs, claim, exact, packets, percent, within
from .network import MAX_TH, NOT_DROPPED, SERVICE_S

W_Q = 0.002
"""In Figs. 3 and 9."""

S = math.floor(SERVICE_S / 2 * 1e9) / 1e9
"""The unit of the idle decay, seconds: the time of 500 bytes, in whole nanoseconds."""

TABLE = "filter"
ROUNDING = 1e-6
"""Packets: times are whole nanoseconds, and sums round."""

_SCHEMA = {
    "link": pl.String, "greatest": pl.Float64, "eq_1": pl.Float64, "spared": pl.Int64, "allowed": pl.Float64,
    "lag": pl.Float64, "crossings": pl.Int64, "drop_ratio": pl.Float64, "slowness": pl.Float64,
}  # fmt: skip
_EVENTS = ("time_s", "event", "queue_packets", "average_packets")


def measured(tables: Tables) -> Tables:
    """The row of `TABLE` for each link of a traced run, for `Study.derive`."""
    rows = []
    for (link,), run in tables["packets"].group_by(["link"], maintain_order=True):
        arrivals = run.filter(pl.col("event") == "arrival")
        allowed, lag, crossings = beyond(run)
        dropped = run.height - run.filter(pl.col("event").is_in(NOT_DROPPED)).height
        average, queue = (float(np.abs(np.diff(arrivals[name].to_numpy().astype(float))).sum())
                          for name in ("average_packets", "queue_packets"))  # fmt: skip
        rows.append((
            link, arrivals["average_packets"].max(), recomputed(run), spared_above(run), allowed, lag, crossings,
            dropped / max(1, arrivals.height), average / queue if queue else math.nan,
        ))  # fmt: skip
    return {TABLE: pl.DataFrame(rows, schema=_SCHEMA, orient="row")}


def recomputed(run: pl.DataFrame, w_q: float = W_Q, s: float = S) -> float:
    """The greatest difference between the average of each arrival of a run and eq. (1), computed anew from the queue
    that each found and, where it found the link idle, from how long it had been (Fig. 17).

    `run`: all events at a link from the start on, in order. `s`: the unit of the idle decay, seconds.
    """
    average, held, idle_since, worst = 0.0, 0, 0.0, 0.0
    for time, event, queued, told in _events(run):
        if event == "arrival":
            if held:
                average += w_q * (queued - average)
            else:
                average *= (1 - w_q) ** ((time - idle_since) / s)
            worst = max(worst, abs(average - told))
            held += 1
        else:
            held -= 1
            if not held:
                idle_since = time
    return worst


def spared_above(run: pl.DataFrame) -> int:
    """Arrivals that found the average at `MAX_TH` or above and were not dropped. A drop follows its arrival."""
    spared, due = 0, False
    for _, event, _, average in _events(run):
        if due and event in NOT_DROPPED:
            spared += 1
        due = event == "arrival" and average >= MAX_TH
    return spared + due


def beyond(run: pl.DataFrame) -> tuple[float, float, int]:
    """`allowed` and `lag` as above, and how often the average reached `MAX_TH`. A stretch ends with the first arrival
    below it, which counts, or with one that finds the queue empty, which does not."""
    most, lag, crossings = 0.0, 0.0, 0
    average, queue = 0.0, -1.0  # a queue below 0: not above MAX_TH now
    for _, event, queued, told in _events(run):
        if event == "departure":
            queue -= queue > 0
        elif event == "arrival" and queue < 0:
            if told >= MAX_TH:
                average, queue, crossings = told, float(queued), crossings + 1
                most = max(most, average)
        elif event == "arrival":
            if queue == 0:
                queue = -1.0
                continue
            average += W_Q * (queue - average)
            most, lag = max(most, average), max(lag, abs(average - told))
            if told < MAX_TH:
                queue = -1.0
    return most, lag, crossings


def _events(run: pl.DataFrame) -> Iterator[tuple[float, str, int, float]]:
    return run.select(_EVENTS).iter_rows()


def measures(link: str = "bottleneck", suffix: str = "") -> dict[str, Measure]:
    """The columns of `TABLE` at a link as measures, their names with a suffix."""
    at = Rows(TABLE).where(link=link)
    found = {
        "greatest": packets(at["greatest"], "greatest average of all seeds"),
        "eq_1": packets(at["eq_1"], "greatest difference from avg computed anew, all arrivals of all seeds"),
        "spared": packets(at["spared"], "packets that were spared, all seeds"),
        "lag": packets(at["lag"], "greatest difference from what the filter allows"),
        "allowed": at["allowed"],
        "crossings": at["crossings"],
        "dropped": percent(at["drop_ratio"], "packets dropped"),
        "slowness": at["slowness"].as_("path of the average over path of the queue"),
    }
    return {f"{name}{suffix}": measure for name, measure in found.items()}


def is_eq_1(runs: Runs, suffix: str = "", where: str | None = None) -> Iterator[Check]:
    """That the average is eq. (1), that nothing is spared above max_th, and that it exceeds max_th by what the filter
    allows. `suffix`: of the measures' names."""

    def at(name: str) -> Quantity:
        return runs[f"{name}{suffix}"].as_(where=where)

    yield exact(
        "every arrival at a busy link moves avg by w_q (q − avg), one at an idle link by (1 − w_q)^m",
        at("eq_1").greatest(), source="eq. (1), Figs. 2 and 17", id="is-eq-1",
        bound=within(None, ROUNDING, "0, give or take a millionth: times are whole nanoseconds"),
    )  # fmt: skip
    yield exact("while the average is at max_th or above every arriving packet is dropped", at("spared").total(),
                within(0, 0, "none"), source="Secs. III and VIII", id="all-dropped")  # fmt: skip
    stretches, most, greatest = at("crossings").total(), at("allowed").greatest(), at("greatest").greatest()
    lag = at("lag").greatest().as_(
        f"greatest difference in {stretches.mean:.0f} stretches above max_th of all seeds; eq. (1) gives up to "
        f"{most.mean:.2f}, the greatest average is {greatest.mean:.2f}"
    )  # fmt: skip
    yield claim(
        "the average does not significantly exceed max_th: from where it first reaches max_th it takes the course "
        "that eq. (1) gives if every arrival is dropped and the queue only drains",
        lag, source="Secs. III and IV", id="filter",
        bound=within(None, ROUNDING, "0, give or take a millionth: computed from the average and the queue at the "
                     "first arrival, the departures and eq. (1), not from the run's queue afterwards"),
    )  # fmt: skip


def never_exceeds_max_th(runs: Runs, though: str = "") -> Iterator[Check]:
    """That the average never exceeds max_th, and what explains it if it does. `though`: in spite of what."""
    checks = list(is_eq_1(runs))
    yield claim(
        f"when RED drops at max_th, the calculated average does not exceed it{though}", runs["greatest"].greatest(),
        within(None, MAX_TH, f"{MAX_TH} as claimed, with no tolerance"), source="Secs. I and VIII", id="average",
        because="Every arrival at max_th and above is dropped, but it still moves the average towards the queue, which "
        "is longer until it has drained: the average lags by w_q.", evidence=checks[-1],
    )  # fmt: skip
    yield from checks
