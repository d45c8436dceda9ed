"""Secs. VI and VII, Figs. 7 and 8: the average after a burst, and how far apart marks are.

Fig. 8 marks packets with a constant probability. Here the discipline itself does, in the simulator: a source that
offers twice the link's rate keeps a queue of `LIMIT` packets full. So the average, between the thresholds, is constant,
and p_b too. A mark is an early drop here. The other arrivals are queued, or dropped if the buffer is full.

The laws of the gaps are told apart at p_b = 0.1, where the longest gap is 9 under one and 10 under another. The average
is between `LIMIT` − 4 and `LIMIT`. At the lower end p_b is exactly 0.1, so that no gap is longer than the law's
longest; at the upper end p_b is greater by 1 in 500.

In Fig. 17 the first packet of the band between the thresholds is never marked. `BURSTS` lets the average enter the
band with each of many bursts; w_q is 0.8, so that its first value in the band is above min_th, where p_b is not 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Drawn
from numpy.typing import ArrayLike, NDArray

from ...experiments.engine import Sets, Tables
from ...plot import style as plot
from ...reproduce import (
    Check,
    Drawing,
    Rows,
    Runs,
    Study,
    Variant,
    above,
    claim,
    each_run,
    exact,
    figure,
    number,
    printed,
    within,
)
from ...theory import red
from .network import LINK_BPS, lasting

# Figure 7 ---------------------------------------------------------------------------------------------------------


def arrivals_to_settle(w_q: float) -> int:
    """Arrivals that find one packet queued until the average, at first 0, has reached 1 − 1/e: eq. (1) step by step."""
    average, count = 0.0, 0
    while average < 1 - 1 / math.e:
        average, count = average + w_q * (1 - average), count + 1
    return count


@plot.drawing
def contours(**_: object) -> Drawing:
    """Lines of equal average over queue weight and burst."""
    w_q, burst = np.linspace(0.001, 0.005, 41), np.arange(10, 101, 2)
    average = np.array([[red.average_after_burst(int(length), float(w)) for w in w_q] for length in burst])
    figure, ((axes,),) = plot.panels(1, 1, width=7.2, height=4.4)
    shades = axes.contourf(w_q, burst, average, levels=np.arange(0, 24, 1), cmap="Blues")
    axes.contour(w_q, burst, average, levels=[5], colors=[plot.VERMILION], linewidths=2.4)
    levels = [0.5, 1, 2, 5, 10, 15, 20]
    lines = axes.contour(w_q, burst, average, levels=levels, colors=[plot.BLACK], linewidths=0.8)
    axes.clabel(lines, fmt="%g", fontsize=9)
    axes.plot([0.0042], [50], marker="X", markersize=9, color="white", markeredgecolor=plot.BLACK, linestyle="none",
              label="w_q = 0.0042 and L = 50: eq. (3)")  # fmt: skip
    axes.set_xlabel("queue weight w_q")
    axes.set_ylabel("burst L (packets)")
    figure.colorbar(shades, ax=axes, label="average after the burst (packets)")
    plot.legend(figure, [axes])
    lengths, weights = np.meshgrid(burst, w_q, indexing="ij")
    columns = {"w_q": weights, "burst_packets": lengths, "average_packets": average}
    return Drawing(figure, pl.DataFrame({name: grid.ravel() for name, grid in columns.items()}))


@figure(7, "The average after a burst", source="Sec. VI-A", chart=contours)
def fig7() -> Iterator[Check]:
    """Eq. (2), no simulation: the average after a queue has grown from 0 to L packets in L arrivals. Lines join equal
    averages; the thick one is min_th = 5, and below it a burst passes without marks (eq. 3)."""
    closed = number(red.average_after_burst(100, 0.001), "packets", "eq. (2)")
    yield exact("after a queue increase from 0 to 100 packets with w_q = 0.001 the average is 4.88", closed, id="eq2",
                bound=within(4.88, 4.89, "4.88 as printed, with further digits cut (0.01), as in the 0.17 ms that a "
                             "packet takes"))  # fmt: skip
    difference = (closed - red.average_after_burst_sum(100, 0.001)).as_("the closed form less the sum")
    yield exact("the closed form is the sum", difference, source="eq. (2)", id="eq2-closed-form",
                bound=within(-1e-9, 1e-9, "0, give or take the rounding of floating point"))  # fmt: skip
    yield exact("with min_th = 5 bursts of 50 packets need w_q ≤ 0.0042",
                number(red.largest_w_q(5, 50), label="the largest w_q"), id="eq3",
                bound=within(0.00415, 0.00425, "0.0042 as printed, give or take half its last digit (0.00005)")
                )  # fmt: skip
    for w_q, told in ((0.001, 1000), (0.002, 500), (0.003, 333)):
        label = f"arrivals, counted by eq. (1); −1/ln(1 − w_q) is {red.time_constant(w_q):.1f}"
        yield exact(f"with w_q = {w_q:g} the average reaches 0.63 of a step after {told} arrivals",
                    number(arrivals_to_settle(w_q), label=label), within(told, told, f"{told} as printed"),
                    source="Sec. VI-B", id=f"time-constant-{w_q:g}")  # fmt: skip


# Marks in a row ---------------------------------------------------------------------------------------------------

ARRIVALS = 5000
LIMIT = 2000
SETTLED_S = 0.9
"""The time after which the average is constant: the queue is full after 0.4 s, or 0.6 s where a fifth is marked."""

LUCK = 0.001
"""A law is rejected if the probability that its gaps fit as badly as the observed ones, or worse, is below this."""

# An average of LIMIT − 4 is half way between the thresholds.
FULL = f"""
[network]
rate = "{LINK_BPS} bit/s"
access_rate = "100 Mbit/s"

[queue]
discipline = "red"
w_q = 0.1
min_th = 1
max_th = {2 * (LIMIT - 4) - 1}
limit = {LIMIT}

[[flows]]
kind = "udp"
rate = "90 Mbit/s"
packet_size = "1000 B"
jitter = 1
spread = "0 s"

[run]
packets = 100000
"""


@dataclass(frozen=True)
class Way(Variant):
    """A way of marking: its law in `theory.red`, and p_b."""

    law: red.Law = "section7"
    p_b: float = 0.1

    @property
    def gaps(self) -> red.Gaps:
        """The law of the gaps from mark to mark."""
        return red.gaps(self.law, self.p_b)


def way(label: str, law: red.Law, p_b: float) -> Way:
    """Half way between the thresholds p_b is half of max_p."""
    laws: dict[red.Law, Sets] = {"method1": (("queue.method", "1"),), "section7": ()}
    return Way(label, (("queue.max_p", f"{2 * p_b:g}"), *laws.get(law, (("queue.law", law),))), law, p_b)


METHOD_1, METHOD_2 = way("Method 1, p = 0.02", "method1", 0.02), way("Method 2, p = 0.01", "section7", 0.01)
LAWS = (
    way("Method 1, p_b = 0.1", "method1", 0.1),
    way("Method 2, p_b = 0.1", "section7", 0.1),
    way("Method 2 as Fig. 2 prints it", "figure2", 0.1),
    way("Method 2 as Fig. 17 prints it", "figure17", 0.1),
)
"""The laws, each with its own marks."""


def marked(tables: Tables) -> Tables:
    """`marks` of a run: the number of each marked arrival, from 1, of those after `SETTLED_S`."""
    run = tables["packets"].filter(pl.col("time_s") >= SETTLED_S)
    places = run.select("event", place=(pl.col("event") == "arrival").cum_sum().cast(pl.Int64))
    return {"marks": places.filter((pl.col("event") == "early") & (pl.col("place") <= ARRIVALS))}


def clustering(marks: pl.DataFrame) -> float:
    """The coefficient of variation of the gaps: 0 for even ones."""
    from scipy.stats import variation

    return float(variation(np.diff(marks["place"].to_numpy())))


marks = Study(
    FULL, settings=lasting(1.5), derive=marked, tables={"marks": ("place",)}, way=(METHOD_1, METHOD_2, *LAWS),
    measure={
        "count": Rows("marks").count("place").as_("marked packets"),
        "variation": each_run(clustering, marks=("place",)),
    },
)  # fmt: skip


def gaps(runs: Runs) -> NDArray[np.int64]:
    """The gaps from each mark to the next, of all seeds of one way of marking."""
    found = runs.rows("marks").select(gap=pl.col("place").diff().over("seed")).drop_nulls()
    return found["gap"].to_numpy().astype(np.int64)


def chance(seen: ArrayLike, law: red.Gaps) -> float:
    """Pearson's test: the chance of gaps that fit `law` as badly as these or worse, if they came from it; 0 when one is
    shorter or longer than any of the law's.

    Gaps are put together until each class expects at least five of them.
    """
    from scipy.stats import chisquare

    seen = np.asarray(seen)
    if seen.min() < law.shortest or seen.max() > law.longest:
        return 0.0
    pmf = law.pmf()
    # What is beyond the table of a law without a longest gap belongs to its last class.
    counts = np.bincount(np.minimum(seen, len(pmf)), minlength=len(pmf) + 1)[1:]
    expected = pmf * len(seen) / pmf.sum()
    ends, sums = [], 0.0
    for at, each in enumerate(expected):
        sums += each
        if sums >= 5:
            ends.append(at + 1)
            sums = 0.0
    starts = [0, *ends[:-1]]
    return float(chisquare(np.add.reduceat(counts, starts), np.add.reduceat(expected, starts)).pvalue)


def misprinted_marks(p: float, arrivals: int) -> float:
    """The expected number of marks with the probability p/(1 + i·p) that Fig. 8's text prints, after a mark: the
    renewal equation, an arrival is marked if a gap from any earlier mark ends there."""
    from scipy.signal import lfilter

    i = np.arange(arrivals)
    mark = p / (1 + i * p)
    law = mark * np.concatenate(([1.0], np.cumprod(1 - mark)[:-1]))
    start = np.zeros(arrivals + 1)
    start[0] = 1.0
    marked = lfilter([1.0], np.concatenate(([1.0], -law)), start)
    return round(float(marked[1:].sum()), 6)  # how products are summed may differ between machines


@plot.drawing
def marks_and_gaps(marks: Runs, **_: object) -> Drawing:
    """A dot for each marked packet, a line for each method, in one run. Below: the gaps' distributions and the laws."""
    data = marks.rows("marks").select("way", "seed", packet="place")
    figure = Drawn(figsize=(9.6, 5.2), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=[1, 2.4])
    for row, (method, color) in enumerate(((METHOD_1, plot.VERMILION), (METHOD_2, plot.BLUE))):
        run = data.filter((pl.col("way") == method.label) & (pl.col("seed") == marks.seeds[0]))
        top.plot(run["packet"], [-row] * run.height, linestyle="none", marker="o", markersize=3.5, color=color)
        top.annotate(f"{method.label}: {run.height} marks", xy=(0, -row), xycoords=("axes fraction", "data"),
                     xytext=(4, 7), textcoords="offset points", fontsize=9.5, color=color)  # fmt: skip
        seen, pmf = gaps(marks.at(way=method)), method.gaps.pmf(300)
        bottom.step(np.append(np.sort(seen), 300), np.append(np.arange(len(seen)) + 1, len(seen)) * 100 / len(seen),
                    where="post", color=color, label=method.label)  # fmt: skip
        bottom.plot(np.arange(1, len(pmf) + 1), 100 * np.cumsum(pmf), "--", color=plot.BLACK, linewidth=1.1,
                    label="law of Sec. VII")  # fmt: skip
    top.set_yticks([])
    top.set_ylim(-1.5, 0.7)
    top.set_xlim(0, ARRIVALS)
    top.set_xlabel("packet number")
    bottom.set_xlim(0, 250)
    bottom.set_ylim(0, 102)
    bottom.set_xlabel("gap between marks (packets)")
    bottom.set_ylabel("gaps of at most this length (%)")
    plot.legend(figure, [bottom])
    return Drawing(figure, data)


# The entry of the band --------------------------------------------------------------------------------------------

BAND = 5
"""Packets: the lower end of the band of `BURSTS`."""

BURSTS = f"""
[network]
rate = "{LINK_BPS} bit/s"
access_rate = "450 Mbit/s"

[queue]
discipline = "red"
w_q = 0.8
min_th = {BAND}
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
packets = 200000
"""


def firsts(tables: Tables) -> Tables:
    """`firsts` of a run: arrivals that find the average in the band when the one before found it below, and how many of
    these are marked. A drop follows its arrival."""
    entries = hit = 0
    before, first = 0.0, False
    for event, average in tables["packets"].select("event", "average_packets").iter_rows():
        if event == "arrival":
            first = before < BAND <= average
            entries, before = entries + first, average
        elif event == "early":
            hit, first = hit + first, False
    return {"firsts": pl.DataFrame({"entries": [entries], "marked": [hit]})}


FIG_17, SECTION_7 = (
    Variant(label, (("queue.law", law),)) for label, law in (("Fig. 17", "figure17"), ("Sec. VII", "section7"))
)
entering = Study(
    BURSTS, settings=lasting(4), derive=firsts, law=[FIG_17, SECTION_7],
    measure={"entries": Rows("firsts")["entries"], "marked": Rows("firsts")["marked"]},
)  # fmt: skip


@figure(8, "Two methods of marking", source="Sec. VII, Fig. 8", chart=marks_and_gaps, marks=marks, entering=entering)
def fig8(marks: Runs, entering: Runs) -> Iterator[Check]:
    """A queue that is kept full, so that RED's average and p_b are constant: 5,000 arrivals, marked by the
    discipline itself. Above: a dot for each marked packet, seed {seed}. Below: the distribution of the gaps of all
    seeds, and the laws. Further runs with p_b = 0.1 and some 500 gaps each tell the laws apart. Runs with bursts test
    how Fig. 17 treats the first packet that finds the average between the thresholds."""
    one, two = marks.at(way=METHOD_1), marks.at(way=METHOD_2)
    for at in (one, two):
        mean = red.expected_marks(at.way.law, at.way.p_b, ARRIVALS)
        yield claim("roughly 100 of 5,000 arriving packets are marked",
                    at["count"].as_(f"marked packets, {mean:.1f} are expected"), printed(100, 10),
                    id="roughly-100")  # fmt: skip
    expected = [math.sqrt(each.gaps.variance) / each.gaps.mean for each in (METHOD_1, METHOD_2)]
    more = (one["variation"] - two["variation"]).as_(
        "coefficient of variation of the gaps with Method 1 less that with Method 2; by the laws "
        f"{expected[0]:.2f} less {expected[1]:.2f}", where="",
    )  # fmt: skip
    yield claim(
        "the marked packets are more clustered with Method 1 than with Method 2", more, above(0), id="clustered"
    )
    misprint = number(misprinted_marks(METHOD_2.p_b, ARRIVALS), label="expected marks with p/(1 + i·p)")
    yield exact("the text of Fig. 8 prints p/(1 + i·p), a misprint: that would not mark roughly 100", misprint,
                within(None, 95, "smaller numbers do not round to 100 to the nearest ten"), id="misprint")  # fmt: skip
    half_way = number(1 / red.marked_share("section7", 0.01), label="packets for each mark")
    yield exact("with max_p = 1/50 and the average half way between the thresholds, roughly one of 50 packets "
                "is marked", half_way, within(49, 51, "50, give or take one, as “roughly” is taken here"),
                source="Sec. VII", id="half-way")  # fmt: skip
    yield exact("with max_p = 0.1 and the average close to max_th, close to 1/5 of the packets are marked",
                number(red.marked_share("section7", 0.1), label="part of the arrivals"),
                within(0.15, 0.25, "0.2 as printed, to one digit"), source="Sec. VII", id="at-max-th")  # fmt: skip
    seen = {each: gaps(marks.at(way=each)) for each in (METHOD_2, *LAWS)}
    for each in LAWS:
        kind = "geometric" if each.law == "method1" else f"uniform on 1 … {each.gaps.longest:.0f}"
        fits = number(chance(seen[each], each.gaps), label=f"chance that {len(seen[each])} gaps fit as badly or worse")
        yield exact(f"the gaps between marks are {kind}", fits.as_(where=each.label), source="Sec. VII, Figs. 2 and 17",
                    bound=within(LUCK, 1, f"Pearson's χ²: a true law gives less than {LUCK} once in "
                                 f"{1 / LUCK:.0f} times"), id="gaps")  # fmt: skip
    swapped = [chance(seen[each], other.gaps) for each in LAWS for other in LAWS if not alike(each, other)]
    apart = number(
        max(swapped), label="greatest chance that one method's gaps would fit another's law as badly or worse, "
        f"{len(swapped)} pairs")  # fmt: skip
    yield exact("the laws of the gaps differ, but Sec. VII and Fig. 17 give the same law", apart,
                within(None, LUCK, f"{LUCK}, below which a law is rejected"), source="Sec. VII, Figs. 2 and 17",
                id="gaps-told-apart")  # fmt: skip
    law, count = METHOD_2.gaps, len(seen[METHOD_2])
    error = math.sqrt(law.variance / count)
    yield exact(
        "with Method 2 E[X] = 1/(2 p_b) + 1/2, 50.5 packets for p_b = 0.01", source="Sec. VII", id="gaps-mean",
        measured=number(seen[METHOD_2].mean(), "packets", f"mean of {count} gaps"),
        bound=within(law.mean - 3 * error - 0.5, law.mean + 3 * error,
                     f"{law.mean:g}, give or take three standard errors by the law ({error:.2g} each), and half a "
                     "packet less because 5,000 arrivals cut off the last gap, which is longer than most"),
    )  # fmt: skip
    words = "the first packet that finds the average between the thresholds is never marked"
    for variant, statement, bound in (
        (FIG_17, words, within(0, 0, "none")),
        (SECTION_7, f"Sec. VII, unlike Fig. 17, does not say that {words}", within(1, None, "one at the least")),
    ):
        at = entering.at(law=variant)
        hit = at["marked"].total().as_(f"packets marked, of {at['entries'].total().mean:.0f} first packets")
        yield exact(statement, hit, bound, source="Sec. VII and Fig. 17", id="first-of-the-band")


def alike(one: Way, other: Way) -> bool:
    """Whether both have the same gaps from mark to mark: Sec. VII's and Fig. 17's differ at the entry of the band."""
    return one is other or {one.law, other.law} == {"section7", "figure17"}
