"""Where simulation and model part: TCP's law, RED's drops and the comparison, each by itself at what was measured.

`f` over x_1: what a law of TCP says at the measured loss and delay, over what a flow sends, eq. (8). `g` over r: what a
law of congestion says at the measured queue, over RED's drops, eq. (9). Hits: the part of a flow's arrivals that a
comparison drops over its part of the queue, 1 by eq. (5). `with_measured`: the other equations, (3), (4), (6), (7) and
(9), with TCP's rate and the hits as measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..theory import choke
from .choke2004_cases import Case
from .choke2004_model import red
from .points import RUN, interval_of

Array = NDArray[np.float64]

LAWS = ("f_paper", "f_ours", "g_paper", "g_ours", "hits_tcp", "hits_udp", "rate_b", "rest_b", "rest_p1", "rest_share")
"""What `ratios` gives, each less 1. Both laws of TCP over x_1; eq. (44) and RED's gaps over r; hits of TCP and UDP. The
queue with TCP's rate as measured over the measured one; queue, TCP's loss and UDP's share with the hits as well."""


def ratios(runs: pl.DataFrame, cases: Sequence[Case], rest: bool = True) -> pl.DataFrame:
    """One row for each run of `cases`, which have one candidate and one group of TCP flows: `LAWS`.

    `rest`: those of `with_measured` too, for which all unresponsive flows must be alike and every flow have been hit.
    """
    parts = []
    for case in cases:
        rows = runs.filter(pl.col("experiment") == case.id)
        p, tau, b = rows["p1"].to_numpy(), rows["tau"].to_numpy(), rows["b"].to_numpy()
        d = case.tcp[0][1] / 1e3
        paper: choke.RateLaw = choke.Vegas(case.alpha) if case.vegas else choke.Reno(d)
        ours: choke.RateLaw = choke.Vegas(case.alpha) if case.vegas else choke.Padhye(d + 1 / case.c)
        given = list(rows.select("x1", "hits1", "hits0").iter_rows())
        nothing = (np.nan, np.nan, np.nan)
        rate = np.array([with_measured(case, x1) if rest else nothing for x1, _, _ in given])
        left = np.array([with_measured(case, *each) if rest else nothing for each in given])
        parts.append(
            rows.select(
                *RUN,
                f_paper=pl.Series(paper(p, tau)) / pl.col("x1") - 1,
                f_ours=pl.Series(ours(p, tau)) / pl.col("x1") - 1,
                g_paper=pl.Series(red(case, spaced=False)(b, tau)) / pl.col("r") - 1,
                g_ours=pl.Series(red(case, spaced=True)(b, tau)) / pl.col("r") - 1,
                hits_tcp=pl.col("hits1") - 1,
                hits_udp=pl.col("hits0") - 1,
                rate_b=pl.Series(rate[:, 0]) / pl.col("b") - 1,
                rest_b=pl.Series(left[:, 0]) / pl.col("b") - 1,
                rest_p1=pl.Series(left[:, 1]) / pl.col("p1") - 1,
                rest_share=pl.Series(left[:, 2]) / pl.col("share") - 1,
            )
        )
    return pl.concat(parts)


def with_measured(case: Case, x1: float, hits1: float = 1.0, hits0: float = 1.0) -> tuple[float, float, float]:
    """b, p_1 and the share of the unresponsive flows, TCP flows sending `x1` packets per second; one candidate, RED's
    gaps.

    `hits1`, `hits0`: what a comparison drops of TCP's and of the others' arrivals, over b_i/b. With s of them h = s·φ,
    and each arrival that hits takes one of φ·b packets: u = (1 − r)(1 − e^−sX), h = u/(1 + u). NaN where CHOKe would
    not be active.
    """
    counts = np.array([case.tcp[0][0], *(count for count, _ in case.udp)], dtype=float)
    x = np.array([x1, *(rate * case.c for _, rate in case.udp)])
    s = np.array([hits1, *[hits0] * len(case.udp)])
    g = red(case, spaced=True)

    def flows(r: float) -> tuple[Array, Array]:
        def h(a: float) -> Array:
            u = (1 - r) * -np.expm1(-s * x * a)
            return np.asarray(u / (1 + u))

        # a = −βτ: the matches that a packet's wait brings per unit of its flow's rate, from Σb_i/b = 1, eq. (6).
        a = float(brentq(lambda level: float((counts * h(level) / s).sum()) - 1, 1e-12, 1e6, xtol=1e-15))
        hit = h(a)
        return hit, counts * x * (1 - r) * (1 - hit) * np.exp(-s * x * a)

    def spare(r: float) -> float:
        return float(flows(r)[1].sum()) / case.c - 1

    if spare(0.0) <= 0:
        return np.nan, np.nan, np.nan
    full = float((counts / s).sum())  # h stays below (1 − r)/(2 − r), which bounds r where the flows fill the queue
    r = float(brentq(spare, 0.0, (full - 2) / (full - 1) * (1 - 1e-6), xtol=1e-14))
    hit, through = flows(r)
    p_b = r / (2 - r)
    b = float(g.min_th + p_b / g.max_p * (g.max_th - g.min_th))
    return b, float(2 * hit[0] + (1 - hit[0]) * r), float(through[1:].sum() / case.c)


def at_measured_rate(runs: pl.DataFrame, case: Case) -> choke.Equilibrium | None:
    """The model with RED's gaps and, in place of a law of TCP, the rate that its flows were measured to send; None
    where it has no answer. One group of TCP flows; any number of candidates."""
    return _at_rate(case, interval_of(runs, case.id, "x1").mean)


@cache
def _at_rate(case: Case, x1: float) -> choke.Equilibrium | None:
    classes = [choke.FlowClass(case.tcp[0][0], lambda p, tau: np.full(np.shape(p), x1), "tcp")]
    classes += [choke.FlowClass(count, rate * case.c, "udp") for count, rate in case.udp]
    try:
        return choke.equilibrium_of(classes, c=case.c, g=red(case, spaced=True, hold=True), m=case.candidates)
    except choke.ChokeError:
        return None
