"""Which discipline should one use, and why: criteria, a ranking, and sentences made of the measured numbers alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from ...quantities import significant as number
from ...reproduce import Check, Drawing, Quantity, Runs, Table, figure
from . import charts
from .workloads import BASELINE, FAIR, FIXED, NAMES, NONE, QUEUED, SEEN, STATE, STATES, bursts, mixed, of, unresponsive

HELD, STARVED = 2 * FAIR, 90.0
"""Shares of the unresponsive flow, %, up to which it is called held, and from which TCP is called starved."""

SLOW_LINK = (
    "CoDel and FQ-CoDel run with their RFCs' target of 5 ms in all three scenarios, though on the 1 Mbit/s of scenario "
    "1 a packet alone takes 8 ms. RFC 8290 (Sec. 5.2.2) asks for a target of one packet's time at least on such a "
    "link, so their ranks there belong to a setting that their authors advise against."
)
"""What the ranking has to be read with."""

REMEMBERS = {
    NONE: "no memory of flows",
    FIXED: "a table of fixed size",
    QUEUED: "memory for the flows in the queue",
    SEEN: "memory for the flows seen recently",
}


@dataclass(frozen=True)
class Criterion:
    """A question with a measured answer; less of the quantity is better.

    `asks`: completes "it ...". `short`: what it is about, in a word. `workload`: the study that answers it. `bound`:
    the most that is good enough, in the unit of the measure; None for half of what the baseline has in the same run.
    """

    id: str
    short: str
    asks: str
    head: str
    workload: str
    measure: str
    unit: str
    decimals: int
    bound: float | None = None


CRITERIA = (
    Criterion(
        "held",
        "share",
        "holds the unresponsive flow to twice its fair share or less",
        "unresponsive\nflow's share",
        "unresponsive",
        "udp_share",
        "%",
        1,
        2 * FAIR,
    ),
    Criterion(
        "fair",
        "unfairness",
        "halves the unfairness of mixed round trips",
        "unfairness\n(1 - Jain),\nmixed trips",
        "mixed",
        "unfairness",
        "",
        3,
    ),
    Criterion(
        "quick",
        "delay",
        "halves the delay of TCP's packets",
        "TCP's delay,\np99,\nmixed trips",
        "mixed",
        "delay",
        "ms",
        0,
    ),
    Criterion(
        "bursts",
        "bursts",
        "halves the loss of bursts beyond that of smooth traffic",
        "bursts' loss\nbeyond\nsmooth",
        "bursts",
        "burst_excess",
        "points",
        1,
    ),
    Criterion(
        "used",
        "unused",
        "leaves at most 5 % of the link unused",
        "link unused,\nmixed trips",
        "mixed",
        "unused",
        "%",
        1,
        5.0,
    ),
)
"""What is asked of a discipline. Halved is what Drop Tail has under the same traffic."""


@dataclass(frozen=True)
class Ranking:
    """What all disciplines came to under the workloads, by the names of the studies; the order needs all three."""

    runs: dict[str, Runs]

    def value(self, criterion: Criterion, name: str) -> Quantity:
        """What a discipline has of a criterion's quantity."""
        return of(self.runs[criterion.workload], name, criterion.measure)

    def excess(self, criterion: Criterion, name: str) -> Quantity:
        """How much more a discipline has than is good enough."""
        own = self.value(criterion, name)
        return own - (self.value(criterion, BASELINE) * 0.5 if criterion.bound is None else criterion.bound)

    def met(self, name: str) -> list[Criterion]:
        """The criteria that a discipline meets with the whole 95 % interval. A missing value does not."""
        found = []
        for criterion in CRITERIA:
            over = self.excess(criterion, name).spread
            if math.isfinite(over.mean) and over.mean + over.margin <= 0:
                found.append(criterion)
        return found

    def missed(self, name: str) -> list[Criterion]:
        """The others."""
        return [criterion for criterion in CRITERIA if criterion not in self.met(name)]

    @cached_property
    def order(self) -> list[str]:
        """Disciplines: those that meet most criteria first, then those with least state, then with least delay."""

        def key(name: str) -> tuple[int, int, float]:
            delay = self.delay(name)
            return -len(self.met(name)), STATES.index(STATE[name][0]), math.inf if math.isnan(delay) else delay

        return sorted(NAMES, key=key)

    def share(self, name: str) -> float:
        """The unresponsive flow's share, %."""
        return of(self.runs["unresponsive"], name, "udp_share").mean

    def delay(self, name: str, workload: str = "mixed") -> float:
        """TCP's delay, ms."""
        return of(self.runs[workload], name, "delay").mean

    # The answers ----------------------------------------------------------------------------------------------------

    def which(self) -> str:
        """The answer in a paragraph."""
        first = self.order[0]
        missing = "; ".join(f"{each.asks} ({self._one(each, first)})" for each in self.missed(first))
        sentences = [
            f"{first} meets {len(self.met(first))} of the {len(CRITERIA)} criteria with {self._remembers(first)}: it "
            + "; ".join(each.asks for each in self.met(first)) + (f", but not: {missing}" if missing else "") + "."
        ]  # fmt: skip
        for kind in STATES:
            best = next((name for name in self.order if STATE[name][0] == kind), first)
            if best != first:
                sentences.append(
                    f"With {REMEMBERS[kind]} the best is {best} ({len(self.met(best))} of {len(CRITERIA)}: "
                    f"{self._values(best)})."
                )
        return " ".join(filter(None, (*sentences, self._missed_by_one(), self._shares(), self._no_knobs(), SLOW_LINK)))

    def unresponsive(self) -> str:
        """What happened to the flow that never slows down."""
        order = sorted(NAMES, key=self.share)
        held = [name for name in order if self.share(name) <= HELD]
        between = [name for name in order if HELD < self.share(name) < STARVED]
        blind = [name for name in order if self.share(name) >= STARVED]
        text = (
            f"At most twice a fair share: {self._listed(held)}. " if held else "None holds it to twice a fair share. "
        )
        if between:
            text += f"More than that, but less than nine tenths of the link: {self._listed(between)}. "
        if blind:
            text += f"Nine tenths or more of the link, TCP is starved: {', '.join(blind)}. "
        if held:
            quick = min(held, key=lambda name: self.delay(name, "unresponsive"))
            text += (
                f"Of those that hold it, {quick} delays TCP least, {number(self.delay(quick, 'unresponsive'))} ms at "
                "the 99th percentile."
            )
        return text.strip()

    def mixed(self) -> str:
        """Who shares evenly among near and far, and at what delay."""
        jain = {name: of(self.runs["mixed"], name, "jain").mean for name in NAMES}
        order = sorted(jain, key=lambda name: -jain[name])
        quick = sorted(order, key=self.delay)
        low = [name for name in reversed(order) if jain[name] < jain[BASELINE]]
        worst = low[0] if low else order[-1]
        return (
            f"Most even: {', '.join(f'{name} {jain[name]:.3f}' for name in order[:5])}. Drop Tail has "
            f"{jain[BASELINE]:.3f}; {len(low)} of {len(order)} have less, because with a short queue the round trips "
            f"differ more. Least even: {worst} {jain[worst]:.3f}. Least delay (99th percentile): "
            f"{', '.join(f'{name} {self.delay(name):.0f} ms' for name in quick[:5])}; drop_tail "
            f"{self.delay(BASELINE):.0f} ms."
        )

    def bursts(self) -> str:
        """Who drops bursts."""
        more = {name: of(self.runs["bursts"], name, "burst_excess").mean for name in NAMES}
        order = sorted(more, key=more.__getitem__)
        mild = [name for name in order if more[name] <= more[BASELINE] / 2]
        hard = [name for name in reversed(order) if more[name] > more[BASELINE]]
        return (
            f"Drop Tail drops {of(self.runs['bursts'], BASELINE, 'burst_loss').mean:.1f} % of the bursts, "
            f"{more[BASELINE]:.1f} points more than of smooth traffic. At most half of that: "
            f"{', '.join(f'{name} {more[name]:.1f}' for name in mild) or 'none'}. "
            + (f"Harder on bursts than Drop Tail: {', '.join(f'{name} {more[name]:.1f}' for name in hard)}." if hard
               else "None is harder on bursts than Drop Tail.")
        )  # fmt: skip

    def cell(self, criterion: Criterion, name: str) -> str:
        """A quantity with its half width, as tables show it."""
        found = self.value(criterion, name).spread
        if math.isnan(found.mean):
            return "none"
        text = f"{found.mean:z.{criterion.decimals}f}"
        return text if found.count < 2 else f"{text} ± {found.half_width:.{criterion.decimals}f}"

    def _remembers(self, name: str) -> str:
        kind, what = STATE[name]
        return REMEMBERS[kind] + (f" ({what})" if what else "")

    def _missed_by_one(self) -> str:
        """Who would be first, or beside it, if one line were drawn elsewhere."""
        near = []
        for name in self.order:
            missing = self.missed(name)
            if len(missing) == 1:
                (criterion,) = missing
                over = self.excess(criterion, name).mean
                near.append(
                    f"{name} ({criterion.short} {self._one(criterion, name)}, {over:.{criterion.decimals}f} above "
                    "the threshold)"
                )
        if not near:
            return ""
        return (
            f"One criterion is missed by {', '.join(near)}. We chose these thresholds; others would rank these "
            "disciplines differently."
        )

    def _one(self, criterion: Criterion, name: str) -> str:
        return f"{self.value(criterion, name).mean:z.{criterion.decimals}f} {criterion.unit}".strip()

    def _values(self, name: str) -> str:
        done = self.met(name)
        return ", ".join(
            f"{criterion.short} {self._one(criterion, name)}{'' if criterion in done else ' (not enough)'}"
            for criterion in CRITERIA
        )

    def _shares(self) -> str:
        holds = [name for name in self.order if CRITERIA[0] in self.met(name)]
        blind = [name for name in self.order if self.share(name) >= STARVED]
        if not holds:
            return "None holds an unresponsive flow to its share."
        return (
            f"Where a flow may not slow down, take one of {self._listed(holds)}; {len(blind)} of {len(STATE)} leave it "
            "nine tenths of the link or more."
        )

    def _no_knobs(self) -> str:
        quick = [name for name in self.order if STATE[name][0] == NONE and CRITERIA[2] in self.met(name)]
        if not quick:
            return ""
        best = min(quick, key=self.delay)
        return (
            f"If all flows react and only delay counts, {best} keeps the delay short without any memory of flows: "
            f"{self.delay(best):.0f} ms at the 99th percentile instead of Drop Tail's {self.delay(BASELINE):.0f} ms."
        )

    def _listed(self, names: Iterable[str]) -> str:
        return ", ".join(f"{name} {self.share(name):.1f} %" for name in names)


def matrix(unresponsive: Runs, mixed: Runs, bursts: Runs, checks: Sequence[Check] = ()) -> Drawing:
    """The table to choose by, and the answer in words."""
    ranking = Ranking({"unresponsive": unresponsive, "mixed": mixed, "bursts": bursts})
    order = ranking.order
    heads = ["remembers", *(each.head + (f" ({each.unit})" if each.unit else "") for each in CRITERIA), "met"]
    cells: dict[tuple[str, int], tuple[str, bool | None]] = {}
    records = []
    for name in order:
        done = ranking.met(name)
        cells[name, 0] = (STATE[name][0], None)
        for column, criterion in enumerate(CRITERIA, start=1):
            cells[name, column] = (ranking.cell(criterion, name), criterion in done)
            mean = ranking.value(criterion, name).mean
            records.append((name, STATE[name][0], criterion.id, criterion.measure, None if math.isnan(mean) else mean,
                            criterion in done))  # fmt: skip
        cells[name, len(CRITERIA) + 1] = (str(len(done)), None)
    data = pl.DataFrame(records, schema={"discipline": pl.String, "state": pl.String, "criterion": pl.String,
                                         "measure": pl.String, "mean": pl.Float64, "met": pl.Boolean},
                        orient="row")  # fmt: skip
    table = Table(("Discipline", "Remembers", "What it is"),
                  tuple((name, STATE[name][0], STATE[name][1] or "–") for name in order))  # fmt: skip
    return Drawing(charts.matrix(heads, order, cells), data, table, ranking.which())


@figure("choice", "Which should I use, and why?", label="Which to use", after=0, chart=matrix,
        unresponsive=unresponsive, mixed=mixed, bursts=bursts)  # fmt: skip
def which_to_use(unresponsive: Runs, mixed: Runs, bursts: Runs) -> Sequence[Check]:
    """Each criterion is a number from one of the three scenarios below; it is met (✓, green) when the whole 95 %
    interval over seeds is on the good side. “Halves” means half of what Drop Tail has under the same traffic.
    Disciplines that meet more criteria come first, then those with less memory, then those with less delay. DCN 2004
    and CHOKe 1999 each compare with a few others, on traffic of their own, and recommend themselves."""
    return []
