"""The approximate model (Sec. III), the closed curve of Theorem 1 and the asymptotic regime (Sec. IV-E).

Three approximations: congestion drops come before the comparison, (11) to (14); comparisons never hit TCP, h_1 = 0 and
p_1 = r, which gives (16) by Little's law; b is large, so that (1 − 1/b)^b ≈ 1/e, (17). All three leave one curve that
no parameter enters. It is derived here for k equal unresponsive flows and m candidates: eq. (14) becomes

    (1 − φ)^m − mφ = (1 − φ)^m·e^−X,   X = m·x_0(1 − r)·τ/b      (φ = b_0/b of one flow; κ → m for large b)

with the share of all k flows, μ = k·x_0(1 − r)·((1 − φ)^m − mφ)/c, and (16) becomes (1 − kφ)·b = c(1 − μ)·τ.
Eliminating τ/b,

    μ/(1 − μ) = −(k/m)·((1 − φ)^m − mφ)·ln(1 − mφ/(1 − φ)^m)/(1 − kφ)

which for k = m = 1 is μ/(1 − μ) = −v·ln v with v = (1 − 2h)/(1 − h), eqs. (19) to (21). φ runs from 0 to φ_max, where
(1 − φ)^m = mφ: there everything that was admitted is hit. If k·φ_max < 1, TCP keeps part of the queue whatever is sent
and μ falls to 0; else the unresponsive flows fill the queue at a finite rate and take the link. For many flows
φ_max → W(1)/m, so the border is m = 0.567·k. (This holds if congestion drops come first, as above max_th, or are few.
Those between the thresholds come after the comparison, and a large r lowers φ_max: (1 − r)(1 − φ)^m = mφ.)
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar

from .errors import AboveMaxThError, AssumptionError, ChokeError, InactiveError
from .laws import Array, CongestionLaw, RateLaw
from .model import equilibria
from .numerics import check, root, spread
from .solver import GRID, LEAST_BACKLOG, MOST_BACKLOG, TINY

PEAK_SHARE = 1 / (math.e + 1)
"""Theorem 1: the greatest bandwidth share of UDP, 0.269."""

PEAK_LOAD = (2 * math.e - 1) / (math.e + 1)
"""Theorem 1: x_0(1 − r)/c where that is reached, 1.193."""

PEAK_H0 = (math.e - 1) / (2 * math.e - 1)
"""Theorem 1: UDP's CHOKe dropping rate there, 0.387, eq. (23)."""


# --- the closed curve --------------------------------------------------------------------------


@functools.cache
def most_phi(m: int) -> float:
    """φ_max: the share of the queue that one flow comes near as its rate grows, with `m` candidates; 1/2 for one."""
    check("m", m, m >= 1, "must be at least 1")
    return float(brentq(lambda phi: m * math.log1p(-phi) - math.log(m * phi), 1e-9 / m, 1 - 1e-9, xtol=1e-15))


def closed_curve(phi: ArrayLike, *, k: int = 1, m: int = 1) -> tuple[Array, Array]:
    """x_0(1 − r)/c and the share of the link of all `k` unresponsive flows, where each has a share `phi` of the queue.

    `phi`: above 0 and below φ_max (`most_phi`) and 1/k; with k = m = 1 the paper's h_0, and the curve that of Fig. 1.
    `m`: drop candidates. Raises ValueError for a value out of range.
    """
    values = np.asarray(phi, dtype=float)
    check("k", k, k >= 1, "must be at least 1")
    top = min(most_phi(m), 1 / k)
    check("phi", values, (values > 0) & (values < top), f"must be above 0 and below {top:.6g}")
    miss = np.exp(m * np.log1p(-values))
    survive = np.maximum(miss - m * values, 0.0)
    ratio = -(k / m) * survive * np.log1p(-m * values / miss) / (1 - k * values)
    share = ratio / (1 + ratio)
    return share / (k * survive), share


def closed_share(load: float, *, k: int = 1, m: int = 1) -> float:
    """The share of all `k` unresponsive flows if x_0(1 − r)/c of each is `load`, above 0, from the closed curve."""
    check("load", load, load > 0, "must be above 0")
    top = min(most_phi(m), 1 / k)

    def excess(z: float) -> float:
        x, _ = closed_curve(_logistic(z, top), k=k, m=m)
        return math.log(float(x)) - math.log(load)

    low, high = -40.0, 30.0
    if excess(high) < 0:  # beyond what φ's digits can tell: the curve's end
        return 1.0 if k * most_phi(m) >= 1 else 0.0
    return float(closed_curve(_logistic(float(brentq(excess, low, high, xtol=1e-13)), top), k=k, m=m)[1])


def worst_share(k: int, m: int) -> float:
    """The greatest share of the link that `k` equal unresponsive flows can take at any rate, beside many TCP flows.

    `m`: drop candidates. 1 when they can fill the queue: k·φ_max ≥ 1. For k = m = 1, 0.269 (Theorem 1).
    """
    top = most_phi(m)
    check("k", k, k >= 1, "must be at least 1")
    if k * top >= 1 - 1e-9:
        return 1.0
    z = np.linspace(-12.0, 25.0, 400)
    shares = closed_curve(_logistic(z, top), k=k, m=m)[1]
    best = int(np.argmax(shares))
    around = (z[max(best - 1, 0)], z[min(best + 1, len(z) - 1)])
    done = minimize_scalar(
        lambda at: -float(closed_curve(_logistic(at, top), k=k, m=m)[1]), bounds=around, method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    return max(float(shares[best]), -float(done.fun))


def _logistic(z: ArrayLike, top: float) -> Array:
    """`top` over 1 + e^−z: evenly fine at both ends of the curve."""
    return np.asarray(top / (1 + np.exp(-np.asarray(z, dtype=float))))


# --- Sec. III-C --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Approximations:
    """The approximate model at many UDP rates; arrays, NaN where the model has no answer. The paper's symbols.

    `share`: μ_0. `refusals`: for each rate None, or why there is no answer.
    """

    b: Array
    tau: Array
    r: Array
    h0: Array
    p0: Array
    x1: Array
    share: Array
    refusals: list[ChokeError | None]


def approximate(
    x0: ArrayLike,
    *,
    N: ArrayLike,
    c: ArrayLike,
    f: RateLaw,
    g: CongestionLaw,
    choke_first: bool = False,
) -> Approximations:
    """The approximate model of Sec. III-C: the first two approximations, solved; arguments as for `equilibria`.

    `choke_first`: leave the first out, and take (3) and (4) for UDP instead of (11) and (13). The paper says "the first
    two" and prints numbers that can be read either way; they differ little. `g` must not fall as b grows: that is not
    looked into as the full model's solver does. Raises ValueError for a value out of range.
    """
    rate, link, flows = (np.asarray(each, dtype=float) for each in (x0, c, N))
    check("x0", rate, rate >= 0, "must be at least 0")
    check("c", link, link > 0, "must be above 0")
    check("N", flows, flows > 0, "must be above 0")
    rate, link, flows = np.broadcast_arrays(np.atleast_1d(rate), link, flows)
    with np.errstate(all="ignore"):
        return _Approximate(rate, flows, link, f, g, choke_first).solve()


class _Approximate:
    """Eq. (16) gives τ for each b, and eq. (7) then b: both by bracketing, as in the full model."""

    def __init__(self, x0: Array, n: Array, c: Array, f: RateLaw, g: CongestionLaw, choke_first: bool) -> None:
        self.x0, self.n, self.c, self.f, self.g, self.choke_first = x0, n, c, f, g, choke_first
        self.start: Array | None = None

    def udp(self, b: Array, tau: Array, r: Array) -> tuple[Array, Array]:
        """h_0 and 1 − p_0."""
        beta = np.log1p(-1 / b)
        if self.choke_first:
            hit = -(1 - r) * np.expm1(beta * self.x0 * tau)
            h = hit / (1 + hit)
            return h, (1 - r) * (1 - h) * np.exp(beta * self.x0 * tau)
        left = np.exp(beta * self.x0 * (1 - r) * tau)
        return (1 - left) / (2 - left), (1 - r) * left / (2 - left)  # (14): 1 − 2h_0 = (1 − h_0)·left

    def congestion(self, b: Array, tau: Array) -> Array:
        return np.asarray(np.clip(np.broadcast_to(np.asarray(self.g(b, tau), dtype=float), b.shape), 0.0, 1.0))

    def delay(self, level: Array) -> Array:
        b = np.exp(level)

        def little(log_tau: Array) -> Array:
            tau = np.exp(log_tau)
            h0, kept = self.udp(b, tau, self.congestion(b, tau))
            rest = self.c - self.x0 * kept  # what TCP has of the link
            return np.asarray(np.where(rest > 0, np.log((1 - h0) * b / (rest * tau)), 5.0))

        start = np.log(b / self.c) if self.start is None else self.start
        near, far, at_near, at_far = spread(little, start, most=80.0)
        self.start = root(little, near, far, at_near, at_far, tolerance=TINY)
        return np.asarray(np.exp(self.start))

    def surplus(self, level: Array) -> Array:
        b, tau = np.exp(level), self.delay(level)
        r = self.congestion(b, tau)
        tcp = self.n * np.asarray(self.f(r, tau), dtype=float) * (1 - r)
        return np.asarray(np.log((tcp + self.x0 * self.udp(b, tau, r)[1]) / self.c))

    def solve(self) -> Approximations:
        shape = self.x0.shape
        low = np.broadcast_to(np.asarray(getattr(self.g, "low", LEAST_BACKLOG), dtype=float), shape)
        high = np.broadcast_to(np.asarray(getattr(self.g, "high", MOST_BACKLOG), dtype=float), shape)
        levels = np.log(low) + GRID[:, None] * (np.log(high) - np.log(low))
        at = np.array([self.surplus(level) for level in levels])
        grows = at > 0
        first, each = np.argmax(grows[1:] != grows[:-1], axis=0), np.arange(self.x0.size)
        ends = levels[first, each], levels[first + 1, each], at[first, each], at[first + 1, each]
        level = root(self.surplus, *ends, tolerance=TINY)
        b, tau = np.exp(level), self.delay(level)
        r = self.congestion(b, tau)
        h0, kept = self.udp(b, tau, r)
        x1 = np.broadcast_to(np.asarray(self.f(r, tau), dtype=float), shape)
        ends_of_each = zip(grows[0], grows[-1], low, high, strict=True)
        refusals = [self.refusal(bool(a), bool(z), float(lo), float(hi)) for a, z, lo, hi in ends_of_each]
        more = (grows[1:] != grows[:-1]).sum(axis=0) > 1
        several = AssumptionError("A1", "approximate model: more than one solution")
        refusals = [several if many else refusal for many, refusal in zip(more, refusals, strict=True)]
        good = np.array([refusal is None for refusal in refusals])
        share = self.x0 * kept / self.c
        b, tau, r, h0, p0, x1, share = (np.where(good, each, np.nan) for each in (b, tau, r, h0, 1 - kept, x1, share))
        return Approximations(b, tau, r, h0, p0, x1, share, refusals)

    @staticmethod
    def refusal(at_low: bool, at_high: bool, low: float, high: float) -> ChokeError | None:
        if not at_low:
            return InactiveError(f"approximate model: the queue does not reach {low:g} packets")
        if at_high:
            return AboveMaxThError(f"approximate model: the queue would be longer than {high:g} packets")
        return None


# --- Sec. IV-E, and Sec. VI ----------------------------------------------------------------------


@dataclass(frozen=True)
class Asymptotic:
    """The regime x_0 → ∞, where UDP has no bandwidth: eqs. (39) to (41), (8), (9). b in packets, τ in seconds."""

    b: float
    tau: float
    r: float
    h0: float
    h1: float
    p1: float
    x1: float


def asymptotic(*, N: float, c: float, f: RateLaw, g: CongestionLaw, linear: bool = False) -> Asymptotic:
    """The asymptotic regime. `linear`: τ from (42), which takes ln(1 + z) ≈ z, instead of (41).

    As x_0 → ∞, p_0 → 1 in (3) gives h_0 = (1 − r)/(2 − r), so h_1 = 1/(N(2 − r)) and (40) p_1 = r + 1/N; h_0 = 1/2, as
    the prose has it, is the case r ≪ 1. UDP holds the queue up to y = h_0·b; there v is infinite, and beyond it
    v(y) = c − βx_1(b − y) (Theorems 8 and 9), so (41) τ = −ln(1 − βx_1·b(1 − h_0)/c)/(βx_1), and (42) τ = b(1 − h_0)/c.

    Raises `ChokeError` where the backlog would lie outside the range of `g`.
    """
    check("N", N, N > 1, "must be above 1")
    check("c", c, c > 0, "must be above 0")

    def at(b: float) -> Asymptotic:
        def regime(r: float) -> Asymptotic:
            h0 = (1 - r) / (2 - r)
            p1 = r + 1 / N
            x1 = c / (N * (1 - p1))
            beta, tcp = math.log1p(-1 / b), b * (1 - h0)
            tau = tcp / c if linear else -math.log1p(-beta * x1 * tcp / c) / (beta * x1)
            return Asymptotic(b, tau, r, h0, (1 - h0) / N, p1, x1)

        def loop(r: float) -> float:
            return float(np.broadcast_to(g(np.array([b]), np.array([regime(r).tau])), 1)[0]) - r

        most = (1 - 1 / N) * (1 - 1e-12)
        if loop(0.0) <= 0:
            return regime(0.0)
        return regime(most if loop(most) >= 0 else float(brentq(loop, 0.0, most, xtol=1e-15)))

    def surplus(level: float) -> float:
        found = at(math.exp(level))
        return math.log(float(np.broadcast_to(f(np.array([found.p1]), np.array([found.tau])), 1)[0]) / found.x1)

    low, high = float(getattr(g, "low", LEAST_BACKLOG)), float(getattr(g, "high", MOST_BACKLOG))
    if surplus(math.log(low)) <= 0:
        raise InactiveError(
            f"CHOKe would not stay active with {N:g} TCP flows: the queue does not reach {low:g} packets"
        )
    if surplus(math.log(high)) >= 0:
        raise AboveMaxThError(f"the queue would be longer than {high:g} packets, where CHOKe compares nothing")
    return at(math.exp(float(brentq(surplus, math.log(low), math.log(high), xtol=1e-14))))


def least_active_flows(
    x0: float, *, c: float, f: RateLaw, g: CongestionLaw, m: int = 1, most: int = 4096
) -> int | None:
    """The least number of TCP flows with which the full model has CHOKe active at UDP rate `x0`; None above `most`."""
    low, high = 1, most
    while low < high:
        numbers = np.unique(np.linspace(low, high, 65).astype(int))
        idle = [
            isinstance(refusal, InactiveError) for refusal in equilibria(x0, N=numbers, c=c, f=f, g=g, m=m).refusals
        ]
        if all(idle):
            return None
        first = idle.index(False)
        low, high = (int(numbers[first - 1]) + 1 if first else low), int(numbers[first])
    return low
