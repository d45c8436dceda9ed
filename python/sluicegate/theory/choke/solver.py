"""The equilibrium of the model, for many problems at once and without starting values.

Everything follows from two unknowns, the backlog b and the queueing delay τ. With β = m·ln(1 − 1/b) and a = −β·τ, the
matches that a queued packet's whole wait brings per unit of its flow's rate, eqs. (3) to (5) for one flow are

    X = x·a,     (1 − r)·(1 − φ)^m·(1 − e^−X) = κ·φ,     κ = b·(1 − (1 − 1/b)^m)

(φ = b_i/b; for m = 1, κ = 1 and φ = h = u/(1 + u) with u = (1 − r)(1 − e^−X)), and a TCP flow's rate is the only root
of x = f(p(X), τ). What is left is eq. (7), which falls with τ, and eq. (6), which then falls with b.
So both are solved by bracketing, in ln τ within ln b, where ln b runs over the whole range in which CHOKe is active: no
start is needed. With r = g(b, τ) that does not fall as b grows there is one crossing. If a law g falls, there may be
several: the sign of (6) is then also taken at the turning points of g and between them, so that more solutions than
one are seen and refused. What turns and comes back within one step of `PROBES`, 2 % of b if g has no
`low` and `high`, is not seen. A law f is taken to have one rate x = f(p(x), τ), as one that does not rise with p has.
The bracket of τ follows from Σ x_i(1 − p_i) ≤ κ·Σ φ_i/a and X·e^−X ≤ 1 − e^−X: at a solution τ ≤ κ/(−β·c),
which is b/c but for O(1/b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .errors import AboveMaxThError, AssumptionError, ChokeError, InactiveError
from .laws import Array, CongestionLaw, RateLaw, Red, Value, least_flows
from .numerics import root, spread

LEAST_BACKLOG = 2.0
"""Where a congestion law does not say from which backlog CHOKe is active: eq. (4) needs b > 1."""

MOST_BACKLOG = 1e9
"""Where g must have come near 1 (A4)."""

REACH = 200.0
"""How far the logarithm of a rate is looked for."""

COARSE, TINY = 1e-6, 1e-14
"""Tolerances of logarithms of rates, delays and backlogs: for the sign of the surplus, and for the solution."""


@dataclass(frozen=True)
class FlowClass:
    """Equal flows: how many, and their rate: a constant (packets per second) or a law f(p, τ)."""

    count: Value
    rate: RateLaw | Value
    name: str = ""

    @property
    def responsive(self) -> bool:
        return callable(self.rate)


@dataclass(frozen=True)
class Flows:
    """What each flow of a class meets; arrays with one value for each problem. The paper's symbols.

    `x`: source rate, packets per second. `p`: overall loss probability. `phi`: its packets' share of the queue, b_i/b.
    `h`: the chance that an arrival is dropped by a comparison; for one candidate it is `phi`. `through`: x(1 − p), what
    the link carries, packets per second.
    """

    x: Array
    p: Array
    phi: Array
    h: Array
    through: Array
    kept: Array


@dataclass(frozen=True)
class Problem:
    """Flow classes at a link of `c` packets per second, with `m` drop candidates; see `solve`."""

    classes: Sequence[FlowClass]
    c: Array
    m: Array
    g: CongestionLaw

    @property
    def shape(self) -> tuple[int, ...]:
        parts = [self.c, self.m, *(np.asarray(k.count) for k in self.classes)]
        parts += [np.asarray(k.rate) for k in self.classes if not k.responsive]
        return np.broadcast_shapes((1,), *(np.shape(part) for part in parts))


class State:
    """All quantities of the model at given backlogs and delays, and the last rates as the next guess."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        low = getattr(problem.g, "low", LEAST_BACKLOG)
        self.low = np.broadcast_to(np.asarray(low, dtype=float), problem.shape)
        self.high = np.broadcast_to(np.asarray(getattr(problem.g, "high", MOST_BACKLOG), dtype=float), problem.shape)
        self.bounded = hasattr(problem.g, "high")
        self.hold = bool(getattr(problem.g, "hold", False))
        self.guess: list[Array | None] = [None] * len(problem.classes)
        self.log_tau: Array | None = None
        self.tolerance = COARSE
        self.broken: dict[str, NDArray[np.bool_]] = {}

    def at_level(self, level: Array) -> tuple[Array, Array]:
        """Backlog and share admitted to the comparison at a level: ln b up to max_th, beyond it with b held there."""
        top = np.log(self.high)
        return np.exp(np.minimum(level, top)), np.exp(np.minimum(top - level, 0.0))

    def congestion(self, b: Array, tau: Array) -> Array:
        r = np.broadcast_to(np.asarray(self.problem.g(b, tau), dtype=float), b.shape)
        wrong = ~((r >= 0) & (r <= 1))
        self._note("g", wrong)
        return np.where(wrong, 1.0, r)

    def flows(self, b: Array, tau: Array, admitted: Array) -> list[Flows]:
        """Each class at this backlog and delay."""
        problem, r = self.problem, self.congestion(b, tau)
        beta = problem.m * np.log1p(-1 / b)
        kappa = -b * np.expm1(beta)
        a = -beta * tau
        out = []
        for index, each in enumerate(problem.classes):
            if callable(each.rate):
                x = self._responsive(index, each.rate, a, tau, r, kappa, admitted)
            else:
                x = np.broadcast_to(np.asarray(each.rate, dtype=float), b.shape)
            out.append(self._meets(x, a, r, kappa, admitted))
        return out

    def _meets(self, x: Array, a: Array, r: Array, kappa: Array, admitted: Array) -> Flows:
        """Eqs. (3) and (4) for a flow of rate x."""
        m, arrivals = self.problem.m, x * a * admitted
        phi = occupancy(-(1 - r) * np.expm1(-arrivals), kappa, m)
        log_miss = m * np.log1p(-phi)
        h = -np.expm1(log_miss)
        p = 1 - admitted + admitted * (h + kappa * phi + (1 - h) * r)
        kept = admitted * (1 - r) * np.exp(log_miss - arrivals)
        return Flows(x, np.minimum(p, 1.0), phi, h, x * kept, kept)

    def _responsive(
        self, index: int, law: RateLaw, a: Array, tau: Array, r: Array, kappa: Array, admitted: Array
    ) -> Array:
        """The only root of x = f(p(x), τ), in ln x."""

        def excess(log_x: Array) -> Array:
            p = self._meets(np.exp(log_x), a, r, kappa, admitted).p
            f = np.broadcast_to(np.asarray(law(p, tau), dtype=float), p.shape)
            wrong = ~((f >= 0) & ((f < np.inf) | (p <= 0)))
            self._note("f", wrong)
            return np.asarray(np.log(np.where(wrong, 0.0, f)) - log_x)

        guess = self.guess[index]
        usual = np.log(np.broadcast_to(self.problem.c, a.shape) / 10)
        # Where nothing passes the rate is 0, and its logarithm no guess for the next level.
        start = usual if guess is None else np.clip(guess, usual - REACH / 2, usual + REACH / 2)
        near, far, at_near, at_far = spread(excess, start, most=REACH)
        found = root(excess, near, far, at_near, at_far, tolerance=self.tolerance)
        self.guess[index] = found
        return np.asarray(np.exp(found))

    def _note(self, law: str, wrong: NDArray[np.bool_]) -> None:
        """Remember for which problems a law has answered with something that it must not."""
        self.broken[law] = self.broken.get(law, np.zeros(wrong.shape, dtype=bool)) | wrong

    def delay(self, level: Array) -> Array:
        """τ from eq. (7), the link fully used, at a level; the greatest possible where the link has too much."""
        b, admitted = self.at_level(level)
        c, beta = self.problem.c, self.problem.m * np.log1p(-1 / b)
        top = np.log(np.expm1(beta) * b / (beta * c))

        def spare(log_tau: Array) -> Array:
            through = self.through(self.flows(b, np.exp(log_tau), admitted))
            return np.asarray(np.log(through / c))

        start = np.clip(top if self.log_tau is None else self.log_tau, top - 40.0, top)
        near, far, at_near, at_far = spread(spare, start, most=80.0, factor=2.0)
        found = np.clip(root(spare, near, far, at_near, at_far, tolerance=self.tolerance), top - 40.0, top)
        self.log_tau = found
        return np.asarray(np.exp(found))

    def through(self, flows: list[Flows]) -> Array:
        return np.asarray(
            sum(np.asarray(k.count) * f.through for k, f in zip(self.problem.classes, flows, strict=True))
        )

    def filled(self, flows: list[Flows]) -> Array:
        """Σ b_i/b."""
        return np.asarray(sum(np.asarray(k.count) * f.phi for k, f in zip(self.problem.classes, flows, strict=True)))

    def unanswered(self, flows: list[Flows], tau: Array) -> Array:
        """|ln f/x| of all responsive classes, eq. (8): what a jump of f leaves."""
        left = np.zeros(self.problem.shape)
        for each, flow in zip(self.problem.classes, flows, strict=True):
            if callable(each.rate):
                left = left + abs(np.log(np.asarray(each.rate(flow.p, tau), dtype=float) / flow.x))
        return left

    def surplus(self, level: Array) -> Array:
        """ln Σ b_i/b, eq. (6), with the link fully used: above 0 where the queue would grow."""
        b, admitted = self.at_level(level)
        filled = self.filled(self.flows(b, self.delay(level), admitted))
        return np.asarray(np.log(filled))


def occupancy(entering: Array, kappa: Array, m: Array) -> Array:
    """φ from (1 − r)(1 − e^−X)(1 − φ)^m = κφ. The left side less the right is convex and falls, so that Newton's steps
    from 0 never pass the root; for m = 1 the first one is the answer."""
    phi = entering / (kappa + m * entering)
    if np.all(np.asarray(m) == 1):
        return np.asarray(phi)
    for _ in range(30):
        left = entering * np.exp(m * np.log1p(-phi))
        step = (left - kappa * phi) / (m * left / (1 - phi) + kappa)
        phi = phi + step
        if np.all(abs(step) <= 1e-16 + 1e-15 * phi):
            break
    return np.asarray(phi)


@dataclass(frozen=True)
class Solved:
    """What `solve` found: one value for each problem; NaN where it is refused, and why."""

    b: Array
    tau: Array
    r: Array
    admitted: Array
    flows: list[Flows]
    refusals: list[ChokeError | None]


BROKEN = {
    "f": ("A3", "f(p, τ) must be finite and not negative for every p > 0 and τ > 0"),
    "g": ("A4", "g(b, τ) must be a probability, from 0 to 1, for every b and τ"),
}
"""What a law must answer."""

RESIDUAL, JUMP, FLAT, STEP = 1e-10, 1e-3, 1e-7, 1e-6
"""What may be left of an equation; the least step of g that is a jump; a slope that is none; half the width of both."""

PROBES, TURNS = 1024, 64
"""Backlogs at which a law is asked for where it turns, and how often it may."""

NEAR_1 = 0.99
"""What g must have reached at `MOST_BACKLOG`, where it names no range."""

GRID = np.array([0.0, 0.02, 0.07, 0.15, 0.3, 0.5, 0.7, 0.85, 1.0])
HELD = np.array([0.05, 0.2, 0.6, 1.5, 4.0, 30.0])
"""Where the sign of the surplus is looked at: shares of ln b's range, and above max_th e-folds of what is admitted."""


def turning(state: State, bottom: Array, top: Array) -> tuple[list[Array], NDArray[np.bool_]]:
    """Further levels at which to look, where g falls as b grows: its turns, and three between each and the next.

    Also for which problems it turns too often to tell. `Red` does not fall.
    """
    none = np.zeros(bottom.shape, dtype=bool)
    if isinstance(state.problem.g, Red):
        return [], none
    levels = bottom + np.linspace(0, 1, PROBES)[:, None] * (top - bottom)
    wanted: list[list[float]] = [[] for _ in bottom]
    often = none.copy()
    for wait in (1.0, 0.5):  # τ is between b/2c, with most of the queue dropped, and b/c
        r = np.array([state.congestion(np.exp(level), wait * np.exp(level) / state.problem.c) for level in levels])
        steps = np.sign(np.diff(r, axis=0))
        for index in np.flatnonzero((steps < 0).any(axis=0)):
            way = steps[:, index]
            moving = np.flatnonzero(way)
            turns = moving[1:][way[moving[1:]] != way[moving[:-1]]]
            if len(turns) > TURNS:
                often[index] = True
                continue
            # Only where g falls may (6) grow again.
            for first, last in pairwise([0, *turns.tolist(), PROBES - 1]):
                many = 5 if way[first:last].min() < 0 else 2
                wanted[index] += np.linspace(float(levels[first, index]), float(levels[last, index]), many).tolist()
    most = max(map(len, wanted))
    # Those that need fewer look at the bottom again, which tells nothing new.
    filled = np.array([each + [low] * (most - len(each)) for each, low in zip(wanted, bottom, strict=True)])
    return list(filled.T), often


def solve(problem: Problem) -> Solved:
    """Solve each problem, or say why not."""
    with np.errstate(all="ignore"):  # the ends of the ranges are infinite or 0, and are asked for
        return _solve(problem)


def _solve(problem: Problem) -> Solved:
    state = State(problem)
    bottom, top = np.log(state.low), np.log(state.high)
    levels = [bottom + share * (top - bottom) for share in GRID]
    further, often = turning(state, bottom, top)
    if further:
        levels = list(np.sort(np.array([*levels, *further]), axis=0))
    if state.hold:
        levels += [top + beyond for beyond in HELD]
    at, level_at = np.array([state.surplus(level) for level in levels]), np.array(levels)
    grows = at > 0
    changes = (grows[1:] != grows[:-1]).sum(axis=0)
    first, each = np.argmax(grows[1:] != grows[:-1], axis=0), np.arange(at.shape[1])
    ends = (level_at[first, each], level_at[first + 1, each], at[first, each], at[first + 1, each])
    state.tolerance = TINY
    found = root(state.surplus, *ends, tolerance=TINY)
    after, before = state.surplus(found + STEP), state.surplus(found - STEP)
    b, admitted = state.at_level(found)
    tau = state.delay(found)
    flows, r = state.flows(b, tau, admitted), state.congestion(b, tau)
    signs = _Signs(
        low=grows[0],
        high=grows[-1],
        changes=changes,
        left=abs(np.log(state.filled(flows)))
        + abs(np.log(state.through(flows) / problem.c))
        + state.unanswered(flows, tau),
        slope=(after - before) / (2 * STEP),
        idle=state.through(flows) < (1 - RESIDUAL) * problem.c,
        jump=abs(state.congestion(b * (1 + STEP), tau) - state.congestion(b * (1 - STEP), tau)),
        often=often,
        last=np.ones(b.shape) if state.bounded else state.congestion(state.high, state.high / problem.c),
    )
    refusals = [_refusal(state, signs, index) for index in range(at.shape[1])]
    good = np.array([refusal is None for refusal in refusals])

    def only(values: Array) -> Array:
        return np.where(good, values, np.nan)

    kept = [Flows(*(only(getattr(f, field.name)) for field in fields(Flows))) for f in flows]
    return Solved(only(b), only(tau), only(r), only(admitted), kept, refusals)


@dataclass(frozen=True)
class _Signs:
    """What says whether there is one solution.

    Whether the queue would grow at the ends of the range, and how often that changes between them; at the solution what
    is left of eqs. (6) to (8), how quickly the surplus falls, g's step, and whether the link is idle at any delay.
    Whether g turns too often to tell, and what it has come to at `MOST_BACKLOG` (1 where it names a range).
    """

    low: NDArray[np.bool_]
    high: NDArray[np.bool_]
    changes: NDArray[np.int_]
    left: Array
    slope: Array
    jump: Array
    idle: NDArray[np.bool_]
    often: NDArray[np.bool_]
    last: Array


def _refusal(state: State, signs: _Signs, index: int) -> ChokeError | None:
    """Why problem `index` has no answer, or None."""
    for law, (assumption, rule) in BROKEN.items():
        if law in state.broken and state.broken[law][index]:
            return AssumptionError(assumption, rule)
    low, high = state.low[index], state.high[index]
    if not signs.last[index] >= NEAR_1:
        return AssumptionError("A4", f"g(b, τ) does not tend to 1: it is {signs.last[index]:.3g} at b = {high:g}")
    if signs.often[index]:
        return AssumptionError(
            "A1", f"g(b, τ) turns more than {TURNS} times: it cannot be told how many solutions there are"
        )
    if signs.changes[index] > 1 or (signs.high[index] and not signs.low[index]):
        return AssumptionError("A1", f"eqs. (3) to (9) have more than one solution with b from {low:g} to {high:g}")
    if not signs.low[index]:
        return InactiveError(
            f"CHOKe would not stay active: with {_count(state, index)} the queue does not reach {low:g} packets"
            f"{_needed(state, index)}. More TCP flows, a lower min_th or a slower link would fix it (Sec. VI)"
        )
    if signs.high[index] and state.bounded:
        return AboveMaxThError(
            f"the queue would be longer than max_th = {high:g} packets, where CHOKe drops every arrival and compares "
            f"none. A larger max_th or max_p, or fewer flows, would fix it; so would hold=True, see Red"
        )
    if signs.high[index]:
        return AssumptionError("A4", f"g(b, τ) does not come near 1: at b = {high:g} the queue would still grow")
    if signs.idle[index]:
        return InactiveError(
            f"CHOKe would not stay active: with {_count(state, index)}, arrivals match packets of their own flow so "
            f"often that the link is not kept full at any delay. More TCP flows, fewer candidates or a higher "
            f"min_th would fix it"
        )
    if not signs.left[index] < RESIDUAL:
        if signs.jump[index] > JUMP:
            return AssumptionError("A4", "g(b, τ) is not continuous: it jumps over the solution")
        return AssumptionError("A3", "f(p, τ) is not continuous: it jumps over the solution")
    if not signs.slope[index] < -FLAT:
        return AssumptionError("A2", "the solution is not differentiable in x_0: eqs. (6) and (7) do not cross there")
    return None


def _count(state: State, index: int) -> str:
    """How many TCP flows a problem has, in words."""
    counts = [np.broadcast_to(k.count, state.problem.shape)[index] for k in state.problem.classes if k.responsive]
    total = float(sum(counts))
    return f"{total:g} TCP flow{'' if total == 1 else 's'}"


def _needed(state: State, index: int) -> str:
    """The estimate of Sec. VI, which is of like TCP flows that follow a square root, one UDP flow and one candidate."""
    problem = state.problem
    tcp, udp = ([k for k in problem.classes if k.responsive == which] for which in (True, False))
    d = getattr(tcp[0].rate, "d", None) if len(tcp) == 1 else None
    one, m, c = (
        float(np.broadcast_to(value, problem.shape)[index])
        for value in (sum(np.asarray(k.count) for k in udp), problem.m, problem.c)
    )
    if d is None or (one, m) != (1.0, 1.0):
        return ""
    trip = float(np.broadcast_to(np.asarray(d, dtype=float), problem.shape)[index])
    least = least_flows(c=c, d=trip, min_th=float(state.low[index]))
    return f"; CHOKe needs about {least:.1f} TCP flows here by the paper's estimate"
