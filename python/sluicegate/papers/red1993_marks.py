"""RED 1993, Secs. VI and VII, Figs. 7 and 8: the average after a burst, and how far apart marks are.

Fig. 8 marks packets with a constant probability. Here the discipline itself does, in the simulator: a source that
offers twice the link's rate keeps a queue of `LIMIT` packets full, so that the average stands still between the
thresholds, and with it p_b. What RED would queue is then lost to the full buffer, what it marks is lost early.

The laws of the gaps are told apart at p_b = 0.1, where the longest gap is 9 under one and 10 under another. The average
is between `LIMIT` − 4 and `LIMIT`. At the lower end p_b is what the law takes, so that 1/p_b is never more than the
law's longest gap; at the upper end it is greater by 1 in 500.

In Fig. 17 the first packet of the band between the thresholds is never marked. `ENTRIES` lets the average enter the
band with each of many bursts; w_q is 0.8, so that it enters above min_th, where a packet may be marked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from ..experiments.engine import Experiment, Tables
from ..report import Choice, FigurePart
from ..stats import difference, interval
from ..theory import red
from . import Settings, red1993_charts
from .checks import Bounds, Check, above, printed
from .points import mean
from .red1993 import KEEP, LINK_BPS, Section

ARRIVALS = 5000
LIMIT = 2000
SETTLED_S = 0.9
"""From when on the average stands still: the queue is full after 0.4 s, or 0.6 s where a fifth is marked."""

W_QS = (0.001, 0.002, 0.003)
LUCK = 0.001
"""A test of a law rejects it when what was seen would be as unlikely as this, were the law true."""

SCENARIO = f"""
[network]
rate = "{LINK_BPS} bit/s"
access_rate = "100 Mbit/s"

[queue]
discipline = "red"
w_q = 0.1
min_th = {{min_th}}
max_th = {{max_th}}
limit = {LIMIT}

[[flows]]
kind = "udp"
rate = "90 Mbit/s"
packet_size = "1000 B"
jitter = 1
spread = "0 s"

[run]
duration = "1.5 s"
series = false
packets = 100000
""".format(min_th=1, max_th=2 * (LIMIT - 4) - 1)
"""An average of `LIMIT` − 4 is half way between the thresholds."""

MARKS = "fig8_marks"
"""The table of the marks of a run: the number of each marked arrival, from 1, of those after `SETTLED_S`."""

ENTRIES = f"""
[network]
rate = "{LINK_BPS} bit/s"
access_rate = "450 Mbit/s"

[queue]
discipline = "red"
w_q = 0.8
min_th = 5
max_th = 15
max_p = 1
limit = 1000

[[flows]]
kind = "on_off"
rate = "200 Mbit/s"
on_mean = "1 ms"
off_mean = "10 ms"
packet_size = "1000 B"
spread = "0 s"

[run]
duration = "4 s"
series = false
packets = 200000
"""
FIRSTS = "fig17_firsts"
_FIRSTS = ("entries", "marked")
BAND = 5
"""Packets: the lower end of that band."""


@dataclass(frozen=True)
class Way:
    """A way of marking: how it is named, its law in `theory.red`, what it sets of the queue, and p_b."""

    id: str
    title: str
    law: red.Law
    sets: tuple[tuple[str, str], ...]
    p_b: float

    @property
    def experiment(self) -> Experiment:
        """Its runs. Half way between the thresholds p_b is half of max_p."""
        sets = (("queue.max_p", f"{2 * self.p_b:g}"), *self.sets)
        keep = {**KEEP, MARKS: ("place",)}
        return Experiment(f"fig8, {self.id}", SCENARIO, "red1993_fig8.toml", sets, keep, derive=marked)


METHOD_1 = Way("method-1", "Method 1, p = 0.02", "method1", (("queue.method", "1"),), 0.02)
METHOD_2 = Way("method-2", "Method 2, p = 0.01", "section7", (), 0.01)
LAWS = (
    Way("gaps-method-1", "Method 1", "method1", (("queue.method", "1"),), 0.1),
    Way("gaps-method-2", "Method 2", "section7", (), 0.1),
    Way("gaps-fig2-law", "Method 2 as Fig. 2 prints it", "figure2", (("queue.law", "figure2"),), 0.1),
    Way("gaps-fig17-law", "Method 2 as Fig. 17 prints it", "figure17", (("queue.law", "figure17"),), 0.1),
)
"""The laws, each with its own marks."""
WAYS = (METHOD_1, METHOD_2, *LAWS)

ENTERING = {law: f"fig17, first of the band, {law}" for law in ("section7", "figure2", "figure17")}
"""The experiments with bursts, by the value of `queue.law`."""

CHOICES = (
    Choice("Fig. 8, Method 2", "p/(1 + i·p), for i unmarked packets since the last mark", "p/(1 − i·p)", "a misprint: "
           "Sec. VII derives the minus, and the plus would not mark 100 of 5,000"),
    Choice("More clustered", "no measure", "the coefficient of variation of the gaps between marks", "it is 0 for even "
           "gaps, 0.57 for uniform and 0.99 for geometric ones"),
    Choice("The average after 100 packets", "4.88", "compared as cut after the last digit", "eq. (2) gives 4.887; the "
           "0.17 ms that a packet takes, 0.178, are cut too"),
)  # fmt: skip

COMMANDS = ("sluicegate design red --rate '45 Mbit/s' --rtt '20 ms' --burst 50",)


def experiments(settings: Settings) -> list[Experiment]:
    """Each way of marking, and bursts under each law."""
    keep = {**KEEP, FIRSTS: _FIRSTS}
    return [
        *(way.experiment for way in WAYS),
        *(
            Experiment(id_, ENTRIES, "red1993_fig17.toml", (("queue.law", law),), keep, derive=firsts)
            for law, id_ in ENTERING.items()
        ),
    ]


# What was measured ------------------------------------------------------------------------------------------------


def marked(tables: Tables) -> Tables:
    """`MARKS` of a run."""
    run = tables["packets"].filter(pl.col("time_s") >= SETTLED_S)
    places = run.select(place=(pl.col("event") == "arrival").cum_sum(), event="event").filter(
        (pl.col("event") == "early") & (pl.col("place") <= ARRIVALS)
    )
    return {MARKS: places.select(pl.col("place").cast(pl.Int64))}


def firsts(tables: Tables) -> Tables:
    """`FIRSTS` of a run: arrivals that find the average in the band when the one before found it below, and how many of
    these are marked. A loss follows its arrival."""
    entries = hit = 0
    before, first = 0.0, False
    for event, average in tables["packets"].select("event", "average_packets").iter_rows():
        if event == "arrival":
            first = before < BAND <= average
            entries, before = entries + first, average
        elif event == "early":
            hit, first = hit + first, False
    return {FIRSTS: pl.DataFrame({"entries": [entries], "marked": [hit]}, schema=dict.fromkeys(_FIRSTS, pl.Int64))}


def marks(results: Tables, way: Way) -> dict[int, list[int]]:
    """For each seed the places of the marked packets among 5,000 arrivals, counted from 1."""
    runs = results[MARKS].filter(pl.col("experiment") == f"fig8, {way.id}")
    return {int(str(seed)): run["place"].to_list() for (seed,), run in runs.group_by("seed", maintain_order=True)}


def gaps(places: Sequence[int]) -> list[int]:
    """The gaps from each mark to the next."""
    return [second - first for first, second in pairwise(places)]


def variation(values: Sequence[int]) -> float:
    """The coefficient of variation: standard deviation over mean."""
    middle = mean(values)
    return math.sqrt(mean([(value - middle) ** 2 for value in values])) / middle


def chance(seen: Sequence[int], law: red.Gaps) -> float:
    """Pearson's test: the chance of gaps that fit `law` as badly as these or worse, if they came from it; 0 when one is
    shorter or longer than any of the law's.

    Gaps are put together until each class expects at least five of them.
    """
    from scipy.stats import chi2

    if min(seen) < law.shortest or max(seen) > law.longest:
        return 0.0
    pmf = law.pmf()
    # What is beyond the table of a law without a longest gap belongs to its last class.
    counts = np.bincount(np.minimum(seen, len(pmf)), minlength=len(pmf) + 1)[1:]
    expected, observed, classes = 0.0, 0.0, []
    for each, count in zip(pmf * len(seen), counts, strict=True):
        expected, observed = expected + each, observed + float(count)
        if expected >= 5:
            classes.append((expected, observed))
            expected = observed = 0.0
    last = classes.pop()
    classes.append((last[0] + expected, last[1] + observed))
    statistic = math.fsum((count - mean) ** 2 / mean for mean, count in classes)
    return float(chi2.sf(statistic, len(classes) - 1))


def arrivals_to_settle(w_q: float) -> int:
    """Arrivals that find one packet queued until the average, at first 0, has reached 1 − 1/e: eq. (1) step by step."""
    average, count = 0.0, 0
    while average < 1 - 1 / math.e:
        average, count = average + w_q * (1 - average), count + 1
    return count


def misprinted_marks(p: float, arrivals: int) -> float:
    """The expected number of marks with the probability p/(1 + i·p) that Fig. 8's text prints, after a mark."""
    i = np.arange(arrivals)
    mark = p / (1 + i * p)
    law = mark * np.concatenate(([1.0], np.cumprod(1 - mark)[:-1]))
    marked = np.zeros(arrivals + 1)
    marked[0] = 1.0
    for n in range(1, arrivals + 1):
        marked[n] = marked[:n] @ law[n - 1 :: -1]
    return round(float(marked[1:].sum()), 6)  # how products are summed may differ between machines


# Checks -----------------------------------------------------------------------------------------------------------


def _average() -> list[Check]:
    closed, summed = red.average_after_burst(100, 0.001), red.average_after_burst_sum(100, 0.001)
    result = [
        Check("eq2", "Sec. VI-A", "exact", "after a queue increase from 0 to 100 packets with w_q = 0.001 the average "
              "is 4.88", closed, "packets", Bounds(4.88, 4.89, "4.88 as printed, cut after its last digit (0.01), as "
              "the 0.17 ms of a packet are")),
        Check("eq2-closed-form", "eq. (2)", "exact", "the closed form is the sum", closed - summed, "packets, the "
              "closed form less the sum", Bounds(-1e-9, 1e-9, "0, give or take the rounding of floating point")),
        Check("eq3", "Sec. VI-A", "exact", "with min_th = 5 bursts of 50 packets need w_q ≤ 0.0042",
              red.largest_w_q(5, 50), "the largest w_q",
              Bounds(0.00415, 0.00425, "0.0042 as printed, give or take half its last digit (0.00005)")),
    ]  # fmt: skip
    for w_q, printed_packets in zip(W_QS, (1000, 500, 333), strict=True):
        result.append(
            Check(
                id=f"time-constant-{w_q:g}".replace(".", "-"),
                source="Sec. VI-B",
                kind="exact",
                paper=f"with w_q = {w_q:g} the average reaches 0.63 of a step after {printed_packets} arrivals",
                measured=arrivals_to_settle(w_q),
                unit=f"arrivals, counted by eq. (1); −1/ln(1 − w_q) is {red.time_constant(w_q):.1f}",
                bounds=Bounds(printed_packets, printed_packets, f"{printed_packets} as printed"),
            )
        )
    return result


def _gaps(places: dict[str, dict[int, list[int]]]) -> list[Check]:
    result, swapped = [], []
    for way in LAWS:
        law = red.gaps(way.law, way.p_b)
        seen = [gap for run in places[way.id].values() for gap in gaps(run)]
        swapped += [chance(seen, red.gaps(other.law, other.p_b)) for other in LAWS if not _alike(way, other)]
        result.append(
            Check(
                id=way.id,
                source="Sec. VII" if way.law in ("method1", "section7") else "Figs. 2 and 17",
                kind="exact",
                paper=f"{way.title}, p_b = {way.p_b:g}: the gaps between marks are "
                + ("geometric" if way.law == "method1" else f"uniform on 1 … {law.longest:.0f}")
                + "; tested by Pearson's χ²",
                measured=chance(seen, law),
                unit=f"the chance of {len(seen)} gaps that fit as badly or worse",
                bounds=Bounds(LUCK, 1, f"a true law gives less than {LUCK} once in {1 / LUCK:.0f} times"),
            )
        )
    result.append(
        Check(
            id="gaps-told-apart",
            source="Sec. VII, Figs. 2 and 17",
            kind="exact",
            paper="the laws are different ones; tested: the marks of each against the laws of all others",
            measured=max(swapped),
            unit=f"the greatest chance of {len(swapped)} such pairs; Sec. VII's and Fig. 17's are alike from "
            "mark to mark",
            bounds=Bounds(None, LUCK, f"{LUCK}, below which a law is rejected"),
        )
    )
    law, seen = red.gaps("section7", METHOD_2.p_b), [gap for run in places[METHOD_2.id].values() for gap in gaps(run)]
    error = math.sqrt(law.variance / len(seen))
    result.append(
        Check(
            id="gaps-mean",
            source="Sec. VII",
            kind="exact",
            paper="with Method 2 E[X] = 1/(2 p_b) + 1/2, 50.5 packets for p_b = 0.01",
            measured=math.fsum(seen) / len(seen),
            unit=f"packets, the mean of {len(seen)} gaps",
            bounds=Bounds(
                law.mean - 3 * error - 0.5,
                law.mean + 3 * error,
                f"{law.mean:g}, give or take three standard errors by the law ({error:.2g} each), and half a packet "
                "less because 5,000 arrivals cut off the last gap, which is longer than most",
            ),
        )
    )
    return result


def _alike(way: Way, other: Way) -> bool:
    """Whether both have the same gaps from mark to mark: Sec. VII's and Fig. 17's differ at the entry of the band."""
    return way is other or {way.law, other.law} == {"section7", "figure17"}


def _entries(results: Tables) -> list[Check]:
    counted = {
        law: results[FIRSTS].filter(pl.col("experiment") == id_).select(*_FIRSTS).sum().row(0)
        for law, id_ in ENTERING.items()
    }
    (entries, hit), (others, hit_others) = counted["figure17"], counted["section7"]
    return [
        Check(
            id="fig17-first-of-the-band",
            source="Fig. 17",
            kind="exact",
            paper="the first packet that finds the average between the thresholds is never marked",
            measured=hit,
            unit=f"marked, of {entries} packets that were the first of the band, all seeds",
            bounds=Bounds(0, 0, "none"),
        ),
        Check(
            id="fig17-differs-from-section-7",
            source="Sec. VII and Fig. 17",
            kind="exact",
            paper="Sec. VII has no such exception; tested: there the first packet of the band is marked too",
            measured=hit_others,
            unit=f"marked, of {others} packets that were the first of the band, all seeds",
            bounds=Bounds(1, None, "one at the least"),
        ),
    ]


def _methods(places: dict[str, dict[int, list[int]]]) -> list[Check]:
    result = []
    for way in (METHOD_1, METHOD_2):
        count = interval([len(run) for run in places[way.id].values()])
        expected = red.expected_marks(way.law, way.p_b, ARRIVALS)
        result.append(
            Check(
                id=f"fig8-{way.id}",
                source="Fig. 8",
                kind="claim",
                paper=f"{way.title} marks roughly 100 of 5,000 arriving packets",
                measured=count.mean,
                unit=f"marked packets; {expected:.1f} are expected",
                bounds=printed(100, 10, count),
            )
        )
    one, two = ([variation(gaps(run)) for run in places[way.id].values()] for way in (METHOD_1, METHOD_2))
    more = difference(one, two)
    misprint = misprinted_marks(METHOD_2.p_b, ARRIVALS)
    return [
        *result,
        Check(
            id="fig8-clustered",
            source="Sec. VII, Fig. 8",
            kind="claim",
            paper="the marked packets are more clustered with Method 1 than with Method 2; tested: the coefficient of "
            "variation of the gaps, seed by seed",
            measured=more.mean,
            unit=f"by which Method 1's is greater; {red.gaps('method1', 0.02).variance ** 0.5 / 50:.2f} and "
            f"{red.gaps('section7', 0.01).variance ** 0.5 / 50.5:.2f} are expected",
            bounds=above(0, more),
        ),
        Check(
            id="fig8-misprint",
            source="Fig. 8",
            kind="exact",
            paper="the text of Fig. 8 prints p/(1 + i·p); tested: that would not mark roughly 100",
            measured=misprint,
            unit="expected marks among 5,000 arrivals",
            bounds=Bounds(None, 95, "below what rounds to 100 in tens"),
        ),
        Check(
            id="marks-half-way",
            source="Sec. VII",
            kind="exact",
            paper="with max_p = 1/50 and the average half way between the thresholds, roughly one of 50 packets is "
            "marked",
            measured=1 / red.marked_share("section7", 0.01),
            unit="packets for each mark",
            bounds=Bounds(49, 51, "50, give or take one, as “roughly” is taken here"),
        ),
        Check(
            id="marks-at-max-th",
            source="Sec. VII",
            kind="exact",
            paper="with max_p = 0.1 and the average close to max_th, close to 1/5 of the packets are marked",
            measured=red.marked_share("section7", 0.1),
            unit="part of the arrivals",
            bounds=Bounds(0.15, 0.25, "0.2 as printed, to one digit"),
        ),
    ]


# Figures ----------------------------------------------------------------------------------------------------------


def section(settings: Settings, results: Tables) -> Section:
    """Figs. 7 and 8."""
    places = {way.id: marks(results, way) for way in WAYS}
    average, laws = _average(), [*_methods(places), *_gaps(places), *_entries(results)]
    return Section((_fig7(average), _fig8(settings, places, laws)), [*average, *laws])


def _fig7(checks: Sequence[Check]) -> FigurePart:
    w_q, burst = np.linspace(0.001, 0.005, 41), np.arange(10, 101, 2)
    rows = [(float(w), int(length), red.average_after_burst(int(length), float(w))) for length in burst for w in w_q]
    data = pl.DataFrame(
        rows, schema={"w_q": pl.Float64, "burst_packets": pl.Int64, "average_packets": pl.Float64}, orient="row"
    )
    return FigurePart(
        id="fig7",
        label="Figure 7",
        title="The average after a burst",
        setup="Eq. (2), no simulation: the average after a queue has grown from 0 to L packets in L arrivals. Lines "
        "join equal averages; the thick one is min_th = 5, and below it a burst passes without marks (eq. 3).",
        paper_says="With w_q = 0.001 the average after 100 packets is 4.88. With min_th = 5 and bursts of 50 packets "
        "w_q must be at most 0.0042.",
        measured=f"{red.average_after_burst(100, 0.001):.3f} packets, and {red.largest_w_q(5, 50):.6f}. The paper "
        "cuts the first instead of rounding it.",
        alt="Contours of the average over queue weight and burst.",
        drawing=red1993_charts.average_after_burst(data),
        data=data,
        checks=tuple(check.id for check in checks),
    )


def _fig8(settings: Settings, places: dict[str, dict[int, list[int]]], checks: Sequence[Check]) -> FigurePart:
    seed = settings.seeds[0]
    rows = [
        (way.id, run, place) for way in WAYS for run, marked in places[way.id].items() for place in marked
    ]  # fmt: skip
    data = pl.DataFrame(rows, schema={"way": pl.String, "seed": pl.UInt64, "packet": pl.Int64}, orient="row")
    counts = [interval([len(run) for run in places[way.id].values()]).mean for way in (METHOD_1, METHOD_2)]
    spread = [interval([variation(gaps(run)) for run in places[way.id].values()]).mean for way in (METHOD_1, METHOD_2)]
    pooled = {way.id: [gap for run in places[way.id].values() for gap in gaps(run)] for way in WAYS}
    return FigurePart(
        id="fig8",
        label="Figure 8",
        title="Two methods of marking",
        setup="A queue that is kept full, so that RED's average stands still and p_b with it: 5,000 arrivals, marked "
        f"by the discipline itself. Above: a dot for each marked packet, seed {seed}. Below: how many of the gaps of "
        "all seeds are at most so long, and the laws. The laws are told apart in further runs, with p_b = 0.1 "
        "and some 10,000 gaps for each, or more; Fig. 17's first packet of the band in runs of bursts.",
        paper_says="Both methods mark roughly 100 of 5,000 packets; with Method 1 (geometric gaps) the marks are more "
        "clustered than with Method 2 (uniform gaps).",
        measured=f"{counts[0]:.1f} and {counts[1]:.1f} packets are marked on average. The gaps' coefficient of "
        f"variation is {spread[0]:.2f} under Method 1, {spread[1]:.2f} under Method 2.",
        alt="Dots for marked packets under both methods, and the distributions of gaps.",
        drawing=red1993_charts.marked_packets(
            [(way.title, places[way.id][seed]) for way in (METHOD_1, METHOD_2)],
            [(way.title, pooled[way.id], red.gaps(way.law, way.p_b)) for way in (METHOD_1, METHOD_2)],
            ARRIVALS,
        ),
        data=data,
        checks=tuple(check.id for check in checks),
    )
