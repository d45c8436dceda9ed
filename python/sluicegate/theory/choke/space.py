"""Where in the queue the packets are (Sec. IV): the spatial distribution ρ(y) and the velocity v(y).

y runs from the tail, 0, to the head, b. Along the way of a packet, t = τ(y) seconds after it came, eqs. (32) and (27)
have a closed form, for any number of flows:

    ρ_i(y)·v(y) = A_i·e^(βx_i·t),    v = Σ A_i·e^(βx_i·t),    y = ∫ v dt = Σ A_i·(1 − e^(βx_i·t))/(−βx_i)

with A_i = ρ_i(0)·v(0). So the ODE (35)–(36) needs no integrator: t is a parameter of its solution. The boundary
conditions are (31), v(b) = c, and (30) for the unresponsive flows, A_0 = x_0(1 − r)(1 − h_0); the rate at which
TCP's packets enter and the time to the head follow. Then (25), (28) and the sum of (30) are not exactly the
equilibrium's, for the system is over-determined (assumption A5): with all of (30) and t = τ, v is c exactly but y is
Σh_i/(−β) = 1/(−β), which is b − ½ + O(1/b). So they agree to O(1/b); `closure` says how well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from .laws import Array
from .model import Equilibrium
from .numerics import check, root


@dataclass(frozen=True)
class Space:
    """ρ(y) and v(y) of an equilibrium; made by `space`.

    Attributes:
        equilibrium: The solution that it belongs to.
        entering: A_i: packets per second that enter the queue at its tail, of all flows of each class.
        decay: −βx_i: how quickly those of each class are hit, per second.
        delay: Time from tail to head, seconds: eq. (25).
    """

    equilibrium: Equilibrium
    entering: tuple[float, ...]
    decay: tuple[float, ...]
    delay: float

    @property
    def b(self) -> float:
        """The head of the queue."""
        return self.equilibrium.b

    @property
    def rho_hat(self) -> float:
        """The inflexion point ρ̂ = (x_0 − 2x_1)/(3(x_0 − x_1)) of Theorem 4."""
        x0, x1 = self.equilibrium.udp.x, self.equilibrium.tcp.x
        return (x0 - 2 * x1) / (3 * (x0 - x1))

    def position(self, t: ArrayLike) -> Array:
        """y after `t` seconds."""
        time = np.asarray(t, dtype=float)
        return np.asarray(sum(a * _decayed(k, time) for a, k in zip(self.entering, self.decay, strict=True)))

    def time(self, y: ArrayLike) -> Array:
        """τ(y), eq. (26): seconds from the tail to `y`; 0 ≤ y ≤ b. Raises ValueError outside."""
        places = np.asarray(y, dtype=float)
        check("y", places, (places >= 0) & (places <= self.b * (1 + 1e-12)), f"must be from 0 to b = {self.b:g}")
        low, high = np.zeros(places.shape), np.full(places.shape, self.delay)
        ends = -places, self.position(high) - places
        with np.errstate(all="ignore"):
            return root(lambda t: self.position(t) - places, low, high, *ends, tolerance=1e-15 * self.delay)

    def v(self, y: ArrayLike) -> Array:
        """Velocity at `y`, packets per second."""
        return np.asarray(sum(self._fluxes(self.time(y))))

    def rho(self, y: ArrayLike, flow: int = 0) -> Array:
        """The chance that the packet at `y` is of class `flow` (default: the first, the paper's UDP flow)."""
        fluxes = self._fluxes(self.time(y))
        return np.asarray(fluxes[flow] / sum(fluxes))

    def held(self, flow: int = 0) -> float:
        """∫ρ(y)dy: packets of class `flow` in the queue, eq. (28)."""
        return float(self.entering[flow] * _decayed(self.decay[flow], np.asarray(self.delay)))

    def closure(self) -> dict[str, float]:
        """How far (25), (28) and the sum of (30) are from the equilibrium's values, relative to them."""
        eq = self.equilibrium
        flows = list(enumerate(eq.flows))
        total = sum(_enters(eq, i) for i, _ in flows)
        left = {"(25)": self.delay / eq.tau - 1, "(30)": sum(self.entering) / total - 1}
        return left | {f"(28) {flow.name}": self.held(i) / (flow.count * flow.b) - 1 for i, flow in flows if flow.b > 0}

    def _fluxes(self, t: Array) -> list[Array]:
        """ρ_i·v, eq. (32)."""
        return [np.asarray(a * np.exp(-k * t)) for a, k in zip(self.entering, self.decay, strict=True)]


def space(equilibrium: Equilibrium) -> Space:
    """ρ(y) and v(y) from (35)–(36) with v(b) = c and (30) for the unresponsive flows."""
    eq = equilibrium
    decay = tuple(-eq.beta * flow.x * eq.admitted for flow in eq.flows)
    given = [_enters(eq, i) for i in range(len(eq.flows))]
    fixed = [i for i, flow in enumerate(eq.flows) if not flow.responsive]
    free = [i for i, flow in enumerate(eq.flows) if flow.responsive]

    def scale(t: float) -> float:
        """What (30) gives for TCP, times this, makes v = c at time t."""
        rest = eq.c - sum(given[i] * math.exp(-decay[i] * t) for i in fixed)
        return rest / sum(given[i] * math.exp(-decay[i] * t) for i in free)

    def length(t: float) -> float:
        time = np.asarray(t)
        udp = sum(given[i] * float(_decayed(decay[i], time)) for i in fixed)
        return udp + scale(t) * sum(given[i] * float(_decayed(decay[i], time)) for i in free) - eq.b

    low, high = 0.5 * eq.tau, 1.5 * eq.tau
    while length(low) > 0:
        low /= 2
    while length(high) < 0:
        high *= 2
    delay = float(brentq(length, low, high, xtol=1e-15 * eq.tau, rtol=1e-14))
    s = scale(delay)
    entering = tuple(a * (1.0 if i in fixed else s) for i, a in enumerate(given))
    return Space(eq, entering, decay, delay)


def _enters(eq: Equilibrium, index: int) -> float:
    """x_i(1 − r)(1 − h_i) of all flows of a class: eq. (30)."""
    flow = eq.flows[index]
    return flow.count * flow.x * eq.admitted * (1 - eq.r) * (1 - flow.h)


def _decayed(k: float, t: Array) -> Array:
    """(1 − e^−kt)/k, which is t for k = 0."""
    return np.asarray(-np.expm1(-k * t) / k) if k > 0 else t
