"""Where simulation and model differ: TCP's law, RED's drops and the comparison, each by itself at what was measured.

Each is a ratio. `f`/x_1: the rate by a law of TCP at the measured loss and delay, divided by the measured rate, eq.
(8). `g`/r: the drop probability by a law of congestion at the measured queue, divided by the measured one, eq. (9).
Hits: the part of a flow's arrivals that a comparison drops, divided by the flow's part of the queue; eq. (5) says 1.
`with_measured` solves the other equations, (3), (4), (6), (7) and (9), with TCP's rate and the hits as measured.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ...reproduce import Curve, Runs
from ...theory import choke
from .models import Share, both, red
from .network import Network, networks

Array = NDArray[np.float64]

LAWS = {
    "f_full": "f by (43) at the measured p₁ and τ, against the measured x₁",
    "f_refined": "f with timeouts at the measured p₁ and τ, against the measured x₁",
    "g_full": "g by (44) at the measured queue, against RED's measured drops r",
    "g_refined": "g of RED's gaps at the measured queue, against RED's measured drops r",
    "hits_tcp": "TCP's hits, against b₁/b",
    "hits_udp": "UDP's hits, against b₀/b",
    "rest_b": "queue with TCP's rate and the hits as measured, against the measured one",
}
"""What `laws` gives."""


def laws(runs: Runs, axis: str) -> dict[str, Curve]:
    """By how many per cent each of `LAWS` is off, over an axis. Points with one candidate, one group of TCP flows and
    like unresponsive flows."""
    measured = {name: runs.over(axis, name) for name in ("b", "x1", "p1", "tau", "r", "hits0", "hits1")}
    found: dict[str, list[Array]] = {name: [] for name in LAWS}
    for index, network in enumerate(networks(runs)):
        b, x1, p1, tau, r, hits0, hits1 = (np.array(curve.quantities[index].values) for curve in measured.values())
        d = network.tcp[0][1] / 1e3
        full, refined = (
            (choke.Vegas(network.alpha),) * 2 if network.vegas else (choke.Reno(d), choke.Padhye(d + 1 / network.c))
        )
        rest = np.array([with_measured(network, *each)[0] for each in zip(x1, hits1, hits0, strict=True)])
        ratios = (
            full(p1 / 100, tau) / x1, refined(p1 / 100, tau) / x1,
            red(network, spaced=False)(b, tau) / r, red(network, spaced=True)(b, tau) / r,
            hits1, hits0, rest / b,
        )  # fmt: skip
        for name, ratio in zip(LAWS, ratios, strict=True):
            found[name].append(100 * (ratio - 1))
    return {
        name: replace(measured["b"], quantities=tuple(
            replace(at, values=tuple(map(float, values)), unit="%", label=LAWS[name], name=name)
            for at, values in zip(measured["b"], found[name], strict=True)
        ))
        for name in LAWS
    }  # fmt: skip


@cache
def with_measured(network: Network, x1: float, hits1: float = 1.0, hits0: float = 1.0) -> tuple[float, float, float]:
    """b, p_1 and the share of the unresponsive flows, TCP flows sending `x1` packets per second; one candidate, RED's
    gaps.

    `hits1`, `hits0`: what a comparison drops of TCP's and of the others' arrivals, over b_i/b. With s of them h = s·φ,
    and each arrival that hits takes one of φ·b packets: u = (1 − r)(1 − e^−sX), h = u/(1 + u). NaN where CHOKe would
    not be active.
    """
    counts = np.array([network.tcp[0][0], *(count for count, _ in network.udp)], dtype=float)
    x = np.array([x1, *(rate * network.c for _, rate in network.udp)])
    s = np.array([hits1, *[hits0] * len(network.udp)])
    g = red(network, spaced=True)

    def flows(r: float) -> tuple[Array, Array]:
        def h(a: float) -> Array:
            u = (1 - r) * -np.expm1(-s * x * a)
            return np.asarray(u / (1 + u))

        # a = −βτ: the matches that a packet's wait brings per unit of its flow's rate, from Σb_i/b = 1, eq. (6).
        a = float(brentq(lambda level: float((counts * h(level) / s).sum()) - 1, 1e-12, 1e6, xtol=1e-15))
        hit = h(a)
        return hit, counts * x * (1 - r) * (1 - hit) * np.exp(-s * x * a)

    def spare(r: float) -> float:
        return float(flows(r)[1].sum()) / network.c - 1

    if spare(0.0) <= 0:
        return np.nan, np.nan, np.nan
    full = float((counts / s).sum())  # h stays below (1 − r)/(2 − r), which bounds r where the flows fill the queue
    r = float(brentq(spare, 0.0, (full - 2) / (full - 1) * (1 - 1e-6), xtol=1e-14))
    hit, through = flows(r)
    p_b = r / (2 - r)
    b = float(g.min_th + p_b / g.max_p * (g.max_th - g.min_th))
    return b, float(2 * hit[0] + (1 - hit[0]) * r), float(through[1:].sum() / network.c)


@cache
def at_rate(network: Network, x1: float) -> choke.Equilibrium | None:
    """The model with RED's gaps and, in place of a law of TCP, the rate that its flows were measured to send; None
    where it has no answer. One group of TCP flows; any number of candidates."""
    classes = [choke.FlowClass(network.tcp[0][0], lambda p, tau: np.full(np.shape(p), x1), "tcp")]
    classes += [choke.FlowClass(count, rate * network.c, "udp") for count, rate in network.udp]
    try:
        return choke.equilibrium_of(classes, c=network.c, g=red(network, spaced=True, hold=True), m=network.m)
    except choke.ChokeError:
        return None


def shares_at_rate(runs: Runs, axis: str) -> list[Share]:
    """Shares of the link by `at_rate`, and measured, at points of an axis where CHOKe is on."""
    found = []
    for network, share, x1 in zip(networks(runs), runs.over(axis, "share"), runs.over(axis, "x1"), strict=True):
        eq = at_rate(network, x1.mean)
        if eq is not None and eq.admitted == 1:
            found += both(share, 100 * eq.share, ", ".join(filter(None, (share.where, share.at))))
    return found
