"""Sec. X, Appendix and Fig. 16: how likely it is that a connection has C times its part of the marks by luck.

Windows of time with about 100 drops each, at a RED gateway shared by Poisson sources with fixed parts of the
bandwidth; how often a flow has at least C times its part of a window's drops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...plot import style as plot
from ...reproduce import Check, Drawing, Runs, Study, claim, exact, figure, number, within
from ...theory.red import hoeffding

MARKS = 100
MULTIPLES = (2, 4)
"""The lines of Fig. 16."""

SHARES = (0.04, 0.06, 0.1, 0.2, 0.6)
"""Parts of the bandwidth that the flows have."""

TESTED = tuple((flow, c) for c in MULTIPLES for flow, share in enumerate(SHARES) if c * share <= 1)
SEEN = 0.001
"""Chances below this are too small to be met in the windows simulated."""

LOAD = 1.02
"""Times the link's rate: RED then drops about one packet in fifty."""

RATE_BPS = 10_000_000
LUCK = (
    f'[network]\nrate = "{RATE_BPS} bit/s"\naccess_rate = "100 Mbit/s"\n[queue]\ndiscipline = "red"\nlimit = 1000\n'
    + "".join(
        f'[[flows]]\nkind = "poisson"\nrate = "{share * LOAD * RATE_BPS:.0f} bit/s"\nspread = "0 s"\n'
        for share in SHARES
    )
)
luck = Study(
    LUCK, settings=lambda settings: replace(settings, duration_s=20 * settings.duration_s, warmup_s=0, sample_s=0.05),
    tables={"flow_series": ("time_s", "flow", "drops_packets")},
)  # fmt: skip

Windows = NDArray[np.int64]


def windows_of_drops(series: pl.DataFrame) -> Windows:
    """The drops of each flow in consecutive windows of time that end once they have `MARKS` drops, of all seeds; rows
    are windows, columns flows."""
    found = []
    for _, run in series.group_by("seed", maintain_order=True):
        total = np.cumsum(run["drops_packets"].to_numpy().astype(np.int64).reshape(-1, len(SHARES)), axis=0)
        cuts, reached = [], 0
        for at, marks in enumerate(total.sum(axis=1)):
            if marks - reached >= MARKS:
                cuts.append(at)
                reached = marks
        ends = total[cuts] if cuts else np.zeros((0, len(SHARES)), dtype=np.int64)
        found.append(np.diff(ends, axis=0, prepend=0))
    return np.concatenate(found)


def met(windows: Windows, flow: int, c: float) -> int:
    """In how many windows flow number `flow` has at least `c` times its part of the drops."""
    return int((windows[:, flow] >= c * SHARES[flow] * windows.sum(axis=1) - 1e-9).sum())


def at_least(n: int | Windows, p: float, c: float) -> NDArray[np.float64]:
    """The binomial chance of at least `c` times the expected part `p` of `n` marks."""
    from scipy.stats import binom

    return np.asarray(binom.sf(np.ceil(c * p * np.asarray(n) - 1e-9) - 1, n, p), dtype=np.float64)


def over_bound(windows: Windows, flow: int, c: float) -> float:
    """The upper end of the 95 % interval (Clopper and Pearson) of how often flow number `flow` has at least `c` times
    its part of the drops of a window, over the mean of the first bound of eq. (4) for the windows' numbers of drops."""
    from scipy.stats import binomtest

    limit = binomtest(met(windows, flow, c), len(windows)).proportion_ci(0.95, "exact").high
    return float(limit / np.mean([hoeffding(int(n), SHARES[flow], c, tight=True) for n in windows.sum(axis=1)]))


def curves(c: int) -> pl.DataFrame:
    """Bounds and chance over the part of the bandwidth, for 100 marks."""
    p = np.arange(0.005, 1 / c + 1e-9, 0.005)
    bounds = {name: [hoeffding(MARKS, float(each), c, tight=tight) for each in p]
              for name, tight in (("bound", False), ("first_bound", True))}  # fmt: skip
    return pl.DataFrame(
        {"c": [c] * len(p), "p": p, **bounds, "binomial": [float(at_least(MARKS, each, c)) for each in p]}
    )


@plot.drawing
def bounds_and_chances(luck: Runs, **_: object) -> Drawing:
    """Upper bounds and binomial chance of C times the expected number of marks, over the part of the bandwidth; dots:
    how often it was met."""
    lines, windows = pl.concat(curves(c) for c in MULTIPLES), windows_of_drops(luck.rows("flow_series"))
    found = [(c, SHARES[flow], met(windows, flow, c) / max(1, len(windows))) for flow, c in TESTED]
    dots = pl.DataFrame(found, schema=("c", "p", "frequency"), orient="row")
    figure, (row,) = plot.panels(1, 2, height=3.8, share_y=False)
    for axes in row:
        for c, color, marker in zip(MULTIPLES, (plot.BLUE, plot.VERMILION), ("o", "s"), strict=True):
            part = lines.filter(pl.col("c") == c)
            for column, line, label in (("bound", "-", "bound of Fig. 16"), ("first_bound", "--", "first bound"),
                                        ("binomial", ":", "binomial")):  # fmt: skip
                axes.plot(part["p"], part[column], line, color=color, linewidth=1.4, label=f"{label}, C = {c}")
            own = dots.filter((pl.col("c") == c) & (pl.col("frequency") > 0))
            if own.height:
                axes.plot(own["p"], own["frequency"], marker, color=color, label=f"RED, simulated, C = {c}")
        axes.set_xlabel("part of the bandwidth p_i")
        axes.set_xlim(0, 0.3)
    row[0].set_ylabel("probability")
    row[0].set_ylim(0, 1)
    plot.log_axis(row[1], "y", [1, 0.1, 0.01, 0.001, 0.0001])
    row[1].set_ylim(1e-4, 1)
    plot.legend(figure, [row[0]], columns=4)
    return Drawing(figure, pl.concat([lines, dots], how="diagonal"))


@figure(16, "More than its part of the marks by luck?", source="Sec. X, Appendix and Fig. 16", chart=bounds_and_chances,
        luck=luck)  # fmt: skip
def fig16(luck: Runs) -> Iterator[Check]:
    """Lines: the bound exp(−2n(C − 1)²p²) for n = 100, the first bound of eq. (4), and the binomial chance. Dots: five
    Poisson sources with parts of 0.04, 0.06, 0.1, 0.2 and 0.6 of the load at a RED gateway, in windows of time with
    about 100 drops, all seeds. The bound is far above the chance; the first bound, by which a run's results judge a
    flow's share of recent drops, is nearer."""
    from scipy.special import ndtri

    lines = pl.concat(curves(c) for c in MULTIPLES)
    chance, bound, tight = (lines[name].to_numpy() for name in ("binomial", "bound", "first_bound"))
    over = number(np.maximum(chance - bound, chance - tight).max(), label="greatest excess of the chance over either "
                  "bound, p in steps of 0.005")  # fmt: skip
    yield exact("Prob(S ≥ c p n) ≤ exp(−2n(c−1)²p²): against the binomial law, exactly, for n = 100, c = 2 and 4", over,
                within(None, 1e-12, "a chance may not exceed its bound, give or take rounding"),
                id="bound")  # fmt: skip
    yield exact("the first bound of eq. (4) is at most the second", source="Appendix, eq. (4)", id="tight-bound",
                measured=number((tight - bound).max(), label="greatest excess of the first bound over the second"),
                bound=within(None, 1e-12, "the theorem, give or take rounding"))  # fmt: skip
    windows, ratios, far = windows_of_drops(luck.rows("flow_series")), [], []
    for flow, c in TESTED:
        expected = float(np.mean(at_least(windows.sum(axis=1), SHARES[flow], c)))
        if expected >= SEEN:
            ratios.append(over_bound(windows, flow, c))
            deviation = math.sqrt(expected * (1 - expected) / len(windows))
            far.append(abs(met(windows, flow, c) / len(windows) - expected) / deviation)
    of = f"greatest of {len(far)} pairs of part and C whose chance is at least {SEEN:g}"
    yield claim(
        "a connection is unlikely to have much more than its part of the marks: RED's drops exceed C times the "
        "expected number no more often than the first bound of eq. (4), the tighter one, allows", id="below-the-bound",
        measured=number(
            max(ratios), label=f"frequency's 95 % upper limit over the bound, {of} ({len(windows)} windows)"
        ),
        bound=within(None, 1.0, "a frequency of at most the bound"),
    )  # fmt: skip
    # The largest of so many independent standard normal deviations exceeds this in one of twenty sets of runs.
    limit = float(ndtri(0.5 + 0.95 ** (1 / len(far)) / 2))
    yield claim(
        "each mark falls on a connection with a probability equal to its part of the bandwidth: the chances of C times "
        "the expected number are binomial", number(max(far), "standard deviations", of), source="Sec. X", id="binomial",
        bound=within(None, limit, f"what the greatest of {len(far)} normal deviations exceeds in 5 % of all sets"),
    )  # fmt: skip
