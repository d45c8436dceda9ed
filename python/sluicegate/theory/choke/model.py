"""The full model, eqs. (3) to (9) of Tang, Wang & Low 2004: `equilibrium` for one UDP rate, `equilibria` for many.

What `equilibrium_of` and `equilibria_of` take is more general than the paper: m drop candidates, unresponsive flows of
different rates, TCP flows with different laws or round trips. An arrival of flow i is compared with m packets drawn
with replacement; every packet that matches is dropped once, and the arrival if any does. Then

    (3')  p_i = h_i + κ·φ_i + (1 − h_i)·r,      φ_i = b_i/b,   h_i = 1 − (1 − φ_i)^m,   κ = b·(1 − (1 − 1/b)^m)
    (4')  1 − p_i = (1 − r)(1 − h_i)(1 − 1/b)^(m·x_i·τ)
    (5')  φ_i in place of h_i = b_i/b;           (6')  Σ b_i = b;          (7')  Σ x_i(1 − p_i) = c
    (8')  x_i = f_i(p_i, τ) for each TCP flow, x_i given for the others;   (9)   r = g(b, τ)

(3'): an arrival is dropped with h_i by a match, with (1 − h_i)·r by congestion; each of the b_i packets of its flow is
among the m drawn with probability 1 − (1 − 1/b)^m, so κ·φ_i of them are dropped with it. (4'): an admitted packet
outlasts x_i·τ arrivals of its own flow, each of which misses it with (1 − 1/b)^m. With m = 1 both are the paper's.
Round trips enter by f_i alone: the queue knows a flow by its rate.

Held at max_th (`Red(…, hold=True)`), a share 1 − `admitted` of all arrivals is dropped before the comparison; the
equations hold for what is admitted, x_i·admitted in place of x_i, and p_i counts both losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .errors import ChokeError
from .laws import Array, CongestionLaw, RateLaw
from .numerics import check
from .solver import FlowClass, Problem, Solved, solve


@dataclass(frozen=True)
class FlowState:
    """A flow at equilibrium; `count` of them are alike.

    Attributes:
        name: Of its class: "udp", "tcp" or what was given.
        count: How many there are.
        responsive: Whether its rate follows a law f(p, τ).
        x: Source rate x_i, packets per second.
        p: Overall loss probability p_i.
        h: The chance that an arrival is dropped by a comparison, h_i.
        phi: Its packets' share of the queue, b_i/b; with one candidate the same as h.
        b: Its packets in the queue, b_i.
        kept: 1 − p_i by eq. (4), which keeps its digits where p_i is near 1.
        through: What the link carries of it, x_i(1 − p_i), packets per second.
        share: That over the link's rate, μ_i.
    """

    name: str
    count: float
    responsive: bool
    x: float
    p: float
    h: float
    phi: float
    b: float
    kept: float
    through: float
    share: float


@dataclass(frozen=True)
class Equilibrium:
    """The solution for one problem.

    Attributes:
        flows: One of each class, in the order given.
        b: Total backlog, packets.
        tau: Queueing delay τ, seconds.
        r: Congestion-based dropping probability.
        c: The link's rate, packets per second.
        m: Drop candidates.
        admitted: The share of arrivals that is compared; below 1 only where the queue is held at max_th.
    """

    flows: tuple[FlowState, ...]
    b: float
    tau: float
    r: float
    c: float
    m: int
    admitted: float
    classes: tuple[FlowClass, ...]
    g: CongestionLaw
    place: tuple[int, int] = (0, 1)  # which of how many: laws may hold an array with a value for each

    @property
    def udp(self) -> FlowState:
        """The first unresponsive flow: the paper's flow 0."""
        return next(flow for flow in self.flows if not flow.responsive)

    @property
    def tcp(self) -> FlowState:
        """The first TCP flow: the paper's flow 1."""
        return next(flow for flow in self.flows if flow.responsive)

    @property
    def share(self) -> float:
        """Share of the link that all unresponsive flows have together; of one UDP flow the paper's μ_0."""
        return sum(flow.count * flow.share for flow in self.flows if not flow.responsive)

    @property
    def occupancy(self) -> float:
        """Share of the queue that all unresponsive flows have together; of one UDP flow b_0/b."""
        return sum(flow.count * flow.phi for flow in self.flows if not flow.responsive)

    @property
    def beta(self) -> float:
        """β = m·ln(1 − 1/b): the logarithm of what an own arrival leaves of a queued packet."""
        return self.m * math.log1p(-1 / self.b)

    def residuals(self) -> dict[str, float]:
        """What is left of each equation, without dimension: differences of probabilities, ratios less 1 of the rest."""
        left: dict[str, float] = {}
        kappa, r, a = -self.b * math.expm1(self.beta), self.r, self.admitted
        for flow, given in zip(self.flows, self.classes, strict=True):
            inside = flow.h + kappa * flow.b / self.b + (1 - flow.h) * r
            left[f"(3) {flow.name}"] = flow.p - (1 - a + a * inside)
            thinned = a * (1 - r) * (1 - flow.h) * math.exp(self.beta * flow.x * a * self.tau)
            left[f"(4) {flow.name}"] = 1 - flow.p - thinned
            left[f"(5) {flow.name}"] = flow.h - (1 - (1 - flow.b / self.b) ** self.m)
            if callable(given.rate):
                with np.errstate(all="ignore"):
                    left[f"(8) {flow.name}"] = self._answer(given.rate, flow.p, self.tau) / flow.x - 1
        left["(6)"] = sum(flow.count * flow.b for flow in self.flows) / self.b - 1
        left["(7)"] = sum(flow.count * flow.x * flow.kept for flow in self.flows) / self.c - 1
        left["(9)"] = self._answer(self.g, self.b, self.tau) - r
        return left

    def _answer(self, law: RateLaw | CongestionLaw, first: float, second: float) -> float:
        """What a law answers in this problem."""
        index, size = self.place
        return _at(law(np.full(size, first), np.full(size, second)), size, index)

    @property
    def residual(self) -> float:
        """The greatest of `residuals`, without sign."""
        return max(map(abs, self.residuals().values()))


@dataclass(frozen=True)
class Equilibria(Sequence[Equilibrium]):
    """Solutions of many problems: a sequence of `Equilibrium`, and columns of it.

    `refusals`: for each problem None, or the `ChokeError` that its element raises. `solved`: what each quantity is, one
    value for each problem, NaN where refused.
    """

    classes: tuple[FlowClass, ...]
    g: CongestionLaw
    c: Array
    m: Array
    solved: Solved

    @property
    def refusals(self) -> list[ChokeError | None]:
        return self.solved.refusals

    @property
    def b(self) -> Array:
        """Backlogs, packets."""
        return self.solved.b

    @property
    def tau(self) -> Array:
        """Queueing delays, seconds."""
        return self.solved.tau

    @property
    def share(self) -> Array:
        """The unresponsive flows' shares of the link."""
        parts = zip(self.classes, self.solved.flows, strict=True)
        return np.asarray(sum(np.asarray(k.count) * f.through for k, f in parts if not k.responsive) / self.c)

    def __len__(self) -> int:
        return len(self.refusals)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        """One solution. Raises the `ChokeError` that says why there is none."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        refusal = self.refusals[index]
        if refusal is not None:
            raise refusal
        size, found, c = len(self), self.solved, _at(self.c, len(self), index)
        flows = tuple(
            FlowState(
                name=k.name,
                count=_at(k.count, size, index),
                responsive=k.responsive,
                x=float(f.x[index]),
                p=float(f.p[index]),
                h=float(f.h[index]),
                phi=float(f.phi[index]),
                b=float(f.phi[index] * found.b[index]),
                kept=float(f.kept[index]),
                through=float(f.through[index]),
                share=float(f.through[index]) / c,
            )
            for k, f in zip(self.classes, found.flows, strict=True)
        )
        values = (float(found.b[index]), float(found.tau[index]), float(found.r[index]))
        m = int(_at(self.m, size, index))
        return Equilibrium(
            flows, *values, c, m, float(found.admitted[index]), self.classes, self.g, (index % size, size)
        )


def equilibria_of(classes: Sequence[FlowClass], *, c: ArrayLike, g: CongestionLaw, m: ArrayLike = 1) -> Equilibria:
    """Solve the general model. `classes`: the flows. `c`: the link's rate, packets per second. `g`: congestion law.

    `m`: drop candidates. Counts, rates, `c` and `m` may be arrays, one value for each problem. Raises ValueError when
    a value is out of its range; what cannot be solved is refused in `Equilibria.refusals`.
    """
    link, candidates = np.atleast_1d(np.asarray(c, dtype=float)), np.atleast_1d(np.asarray(m, dtype=float))
    check("c", link, link > 0, "must be above 0")
    check(
        "m", candidates, (candidates >= 1) & (candidates == np.floor(candidates)), "must be a whole number, at least 1"
    )
    for each in classes:
        count = np.asarray(each.count, dtype=float)
        check("count", count, count > 0, "must be above 0")
        if not callable(each.rate):
            check("x0", each.rate, np.asarray(each.rate) >= 0, "must be at least 0")
    low = getattr(g, "low", None)
    if low is not None:
        check("min_th", low, np.asarray(low) >= 2, "must be at least 2 packets")
        check("max_th", g.high, np.asarray(g.high) > np.asarray(low), "must be above min_th")  # type: ignore[attr-defined]
    if not any(each.responsive for each in classes):
        raise ValueError("flows: at least one class must be TCP: without it nothing keeps the link full")
    problem = Problem(list(classes), link, candidates, g)
    return Equilibria(tuple(classes), g, link, candidates, solve(problem))


def equilibrium_of(classes: Sequence[FlowClass], *, c: float, g: CongestionLaw, m: int = 1) -> Equilibrium:
    """Solve the general model once. Raises `ChokeError` where it has no answer; else as `equilibria_of`."""
    one: Equilibrium = equilibria_of(classes, c=c, g=g, m=m)[0]
    return one


def equilibria(
    x0: ArrayLike, *, N: ArrayLike, c: ArrayLike, f: RateLaw, g: CongestionLaw, m: ArrayLike = 1
) -> Equilibria:
    """The paper's model for many UDP rates `x0`, packets per second: one UDP flow and `N` TCP flows of law `f`.

    A rate of 0 is a queue without UDP. `N`, `c` and `m` may be arrays too. Raises ValueError for a value out of range.
    """
    rate, flows = np.atleast_1d(np.asarray(x0, dtype=float)), np.asarray(N, dtype=float)
    return equilibria_of([FlowClass(1.0, rate, "udp"), FlowClass(flows, f, "tcp")], c=c, g=g, m=m)


def equilibrium(x0: float, *, N: float, c: float, f: RateLaw, g: CongestionLaw, m: int = 1) -> Equilibrium:
    """The paper's model for one UDP rate, as `equilibria`. Raises `ChokeError` where it has no answer."""
    one: Equilibrium = equilibria(x0, N=N, c=c, f=f, g=g, m=m)[0]
    return one


def _at(value: ArrayLike, size: int, index: int) -> float:
    return float(np.broadcast_to(np.asarray(value, dtype=float), size)[index])
