"""RED 1993, Secs. III, IV and VIII: is the average what eq. (1) says, and is max_th enforced? Checks of single packets.

Each run of a traced experiment is measured as soon as it has ended, and a row for each of its links is kept (`TABLE`):
the packets of a hundred runs would take gigabytes.

- `eq_1`: the greatest difference between an arrival's average and eq. (1), computed anew from the queue that arrivals
  found and from idle times;
- `spared`: arrivals that found the average at `MAX_TH` or above and were not dropped;
- `lag`: the greatest difference between the average while it is at `MAX_TH` or above and what the filter allows there,
  given only the average and the queue q₀ of the arrival that first reached it: from then on every arrival is dropped,
  so the k-th departure leaves q₀ − k packets, and each arrival moves the average by w_q towards that;
- `allowed`: the greatest average that this allows.

None of the last two looks at the queue that the run had afterwards: a gateway that lets packets in above `MAX_TH`, or
whose filter is slower or faster than w_q, misses what was allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import polars as pl

from ..experiments.engine import Tables
from .checks import Bounds, Check
from .red1993 import SERVICE_S

W_Q, MIN_TH, MAX_TH = 0.002, 5, 15
"""Fig. 3's parameters, and Fig. 9's."""

S = math.floor(SERVICE_S / 2 * 1e9) / 1e9
"""The unit of the idle decay, seconds: the time of 500 bytes, in whole nanoseconds."""

NOT_LOST = ("arrival", "departure")

TABLE = "filter"
COLUMNS = ("link", "greatest", "eq_1", "spared", "allowed", "lag", "crossings", "drop_ratio")
ROUNDING = 1e-6
"""Packets: times are whole nanoseconds, and sums round."""

_EVENTS = ("time_s", "event", "queue_packets", "average_packets")


def measured(tables: Tables) -> Tables:
    """The row of `TABLE` for each link of a traced run, for `Experiment.derive`."""
    rows = []
    for (link,), run in tables["packets"].group_by(["link"], maintain_order=True):
        arrivals = run.filter(pl.col("event") == "arrival")
        allowed, lag, crossings = beyond(run)
        lost = run.height - arrivals.height - run.filter(pl.col("event") == "departure").height
        rows.append((
            link, arrivals["average_packets"].max(), recomputed(run), spared_above(run), allowed, lag, crossings,
            lost / max(1, arrivals.height),
        ))  # fmt: skip
    types = {"link": pl.String, "spared": pl.Int64, "crossings": pl.Int64}
    schema = {column: types.get(column, pl.Float64) for column in COLUMNS}
    return {TABLE: pl.DataFrame(rows, schema=schema, orient="row")}


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
    """Arrivals that found the average at `MAX_TH` or above and were not dropped. A loss follows its arrival."""
    spared, due = 0, False
    for _, event, _, average in _events(run):
        if due and event in NOT_LOST:
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


def rows(results: Tables, experiment: str, link: str = "bottleneck") -> pl.DataFrame:
    """The runs of an experiment at a link, by seed."""
    return results[TABLE].filter((pl.col("experiment") == experiment) & (pl.col("link") == link)).sort("seed")


def checks(id_: str, source: str, traffic: str, runs: pl.DataFrame) -> list[Check]:
    """That the average is eq. (1), that nothing is spared, and that it exceeds max_th by what the filter allows."""

    def worst(column: str) -> float:
        return float(max(runs[column].to_list()))

    crossings = math.fsum(runs["crossings"].to_list())
    law = "every arrival at a busy link moves avg by w_q (q − avg), one at an idle link by (1 − w_q)^m"
    return [
        Check(
            id=f"{id_}-is-eq-1",
            source="eq. (1), Figs. 2 and 17",
            kind="exact",
            paper=f"{law}; {traffic}",
            measured=worst("eq_1"),
            unit="packets, the greatest difference from avg computed anew, all arrivals of all seeds",
            bounds=Bounds(None, ROUNDING, "0, give or take a millionth: times are whole nanoseconds"),
        ),
        Check(
            id=f"{id_}-all-dropped",
            source=source,
            kind="exact",
            paper=f"while the average is at max_th or above every arriving packet is dropped; {traffic}",
            measured=math.fsum(runs["spared"].to_list()),
            unit="packets that were spared, all seeds",
            bounds=Bounds(0, 0, "none"),
        ),
        Check(
            id=f"{id_}-filter",
            source="Secs. III and IV",
            kind="claim",
            paper="the average does not significantly exceed max_th; tested: from where it first reaches max_th it is "
            f"what the filter allows while every arrival is dropped and the queue only drains; {traffic}",
            measured=worst("lag"),
            unit=f"packets, the greatest difference in {crossings:.0f} such stretches of all seeds; the filter allows "
            f"up to {worst('allowed'):.2f}, the greatest average is {worst('greatest'):.2f}",
            bounds=Bounds(None, ROUNDING, "0, give or take a millionth: from the average and the queue at the first "
                          "arrival, the departures and eq. (1), whatever the queue was afterwards"),
        ),
    ]  # fmt: skip


def greatest(runs: pl.DataFrame) -> list[float]:
    """The greatest average of each run."""
    values: Sequence[float] = runs["greatest"].to_list()
    return [float(value) for value in values]
