"""TCP's rate by loss and delay, f(p, τ), and congestion signals by the queue, g(b, τ).

A law is any function of two arrays, elementwise. Rates are in packets per second, times in seconds. What holds for all
problems may be a number; what differs, an array with one value for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .numerics import check

Array: TypeAlias = NDArray[np.float64]
Value: TypeAlias = float | Array

RateLaw: TypeAlias = Callable[[Array, Array], Array]
"""f(p, τ): the rate of a source from its overall loss probability and the queueing delay."""

CongestionLaw: TypeAlias = Callable[[Array, Array], Array]
"""g(b, τ): the congestion-based dropping probability from the backlog and the queueing delay."""


@dataclass(frozen=True)
class Reno:
    """Eq. (43): x = √(2(1 − p)/p)/(d + τ). It has no timeouts. `d`: round trip without queues, seconds."""

    d: Value

    def __call__(self, p: Array, tau: Array) -> Array:
        return np.asarray(np.sqrt(2 * (1 - p) / p) / (self.d + tau))


@dataclass(frozen=True)
class SimpleReno:
    """x = √(2/p)/(d + τ), which Sec. VI takes for the least number of flows. `d`: as for `Reno`."""

    d: Value

    def __call__(self, p: Array, tau: Array) -> Array:
        return np.asarray(np.sqrt(2 / p) / (self.d + tau))


@dataclass(frozen=True)
class Padhye:
    """Reno with timeouts: the full model of Padhye, Firoiu, Towsley & Kurose (2000), without a limit of the window.

    `d`: round trip without queues, seconds. `per_ack`: packets that an acknowledgement answers to, their b. `rto_min`:
    the least timeout, seconds, by default ns-2's; `rto_rtts`: the timeout in round trips where that is longer, by
    default 1: packets of one queue are delayed nearly alike, so the estimate of the deviation is small.
    """

    d: Value
    per_ack: Value = 1.0
    rto_min: Value = 0.2
    rto_rtts: Value = 1.0

    def __call__(self, p: Array, tau: Array) -> Array:
        rtt = self.d + tau
        q = 1 - p
        w0 = (2 + self.per_ack) / (3 * self.per_ack)
        window = w0 + np.sqrt(8 * q / (3 * self.per_ack * p) + w0**2)  # E[W] where a loss is found
        # The chance that a loss is found by a timeout, their Q̂(w), written so that it keeps its digits for small p.
        none = _left(q, window)
        timeout = np.minimum(1.0, _left(q, 3) * (1 + q**3 * _left(q, window - 3)) / np.where(none > 0, none, 1.0))
        backoff = 1 + p * (1 + p * (2 + p * (4 + p * (8 + p * (16 + 32 * p)))))
        rto = np.maximum(self.rto_min, self.rto_rtts * rtt)
        sent = q * (q / p + window) + timeout  # this and the time it takes, both times q, which may be 0
        taken = q * rtt * (self.per_ack / 2 * window + 1) + timeout * rto * backoff
        return np.asarray(np.where(p > 0, sent / taken, np.inf))


def _left(q: Array, packets: Value) -> Array:
    """1 − q^packets, the chance that of so many packets one is lost; packets below 0 count as 0."""
    return np.asarray(np.where(packets > 0, -np.expm1(packets * np.log(np.maximum(q, 1e-300))), 0.0))


@dataclass(frozen=True)
class Vegas:
    """Sec. V-C: x = α/τ; each source keeps α packets in a queue that does not leak. `alpha`: packets."""

    alpha: Value

    def __call__(self, p: Array, tau: Array) -> Array:
        return np.asarray(self.alpha / tau)


@dataclass(frozen=True)
class Limited:
    """A law cut where the window is full: min(f, window/(d + τ)). `window`: packets; `d`: as for `Reno`."""

    law: RateLaw
    d: Value
    window: Value

    def __call__(self, p: Array, tau: Array) -> Array:
        return np.minimum(self.law(p, tau), self.window / (self.d + tau))


@dataclass(frozen=True)
class Red:
    """Eq. (44): r = max_p (b − min_th)/(max_th − min_th) between the thresholds.

    `min_th`, `max_th`: packets. `max_p`: the probability at `max_th`. `hold`: above max_th CHOKe drops every arrival
    and compares none; the queue then stays at max_th, and every flow loses the same share of its arrivals before the
    comparison, as much as that takes. This is not in the paper, whose model ends at max_th; without `hold` such
    an equilibrium is refused. `uniform`: r = 2·p_b/(1 + p_b) of that p_b, which is what RED's uniform gaps on 1 … 1/p_b
    come to (Floyd & Jacobson 1993, Sec. VII; `sluicegate.theory.red.marked_share`), and so does the discipline here.
    """

    min_th: Value
    max_th: Value
    max_p: Value
    hold: bool = False
    uniform: bool = False

    @property
    def low(self) -> Value:
        """The least backlog at which CHOKe compares."""
        return self.min_th

    @property
    def high(self) -> Value:
        """The backlog above which it no longer compares."""
        return self.max_th

    def __call__(self, b: Array, tau: Array) -> Array:
        p_b = np.clip(self.max_p * (b - self.min_th) / (self.max_th - self.min_th), 0.0, 1.0)
        return np.asarray(2 * p_b / (1 + p_b) if self.uniform else p_b)


def least_flows(*, c: float, d: float, min_th: float) -> float:
    """The estimate of Sec. VI: with fewer TCP flows CHOKe turns on and off around `min_th`.

    p_1 ≥ 1/N (45), N·x_1 ≈ c, τ ≈ min_th/c and x = √(2/p)/(d + τ) give N ≥ ((c·d + min_th)²/2)^⅓; 8.08 for the paper's
    c = 125 packets/s, d = 0.1 s and min_th = 20.
    """
    for name, value in (("c", c), ("d", d), ("min_th", min_th)):
        check(name, value, value > 0, "must be above 0")
    return float(((c * d + min_th) ** 2 / 2) ** (1 / 3))
