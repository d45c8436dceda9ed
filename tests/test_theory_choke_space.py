"""Where CHOKe's packets are in the queue: the ODE of Sec. IV-B, and Theorems 3 to 9 over random valid parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from sluicegate.theory import choke
from sluicegate.theory.choke import FlowClass, Red, Reno, Vegas, equilibria, equilibrium, equilibrium_of, space

Array = NDArray[np.float64]

C, RENO, RED = 125.0, Reno(0.1), Red(20, 520, 0.5)


def draws(seed: int, count: int) -> list[choke.Equilibrium]:
    """Solved problems of one UDP and N TCP flows at random; the refused ones are left out."""
    random = np.random.default_rng(seed)

    def between(low: float, high: float) -> Array:
        return np.exp(random.uniform(math.log(low), math.log(high), count))

    c, min_th = between(20, 5000), between(10, 100)
    law = Reno(between(0.01, 0.5)) if seed % 2 else Vegas(between(1, 10))
    g = Red(min_th, min_th * between(5, 50), between(0.05, 1))
    found = equilibria(c * between(0.02, 50), N=np.round(between(10, 500)), c=c, f=law, g=g)
    return [found[i] for i, refusal in enumerate(found.refusals) if refusal is None]


SOLVED = [*draws(1, 200), *draws(2, 200)]
FAST = [eq for eq in SOLVED if eq.udp.x > eq.tcp.x]


def test_there_is_enough_to_hold_the_theorems_to() -> None:
    assert len(SOLVED) > 150
    assert len(FAST) > 100
    assert len(SOLVED) > len(FAST)


# --- the ODE -----------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [0.1, 0.9, 2.0, 10.0])
def test_the_closed_form_solves_the_ode(load: float) -> None:
    """Eqs. (35) and (36) integrated from the tail, from the closed form's own values there."""
    eq = equilibrium(load * C, N=32, c=C, f=RENO, g=RED)
    s = space(eq)
    x0, x1, beta = eq.udp.x, eq.tcp.x, math.log(1 - 1 / eq.b)

    def slope(_: float, at: Array) -> list[float]:
        v, rho = at
        return [beta * (x0 * rho + x1 * (1 - rho)), beta * (x0 - x1) * rho * (1 - rho) / v]

    start = [float(s.v(0.0)), float(s.rho(0.0))]
    y = np.linspace(0, eq.b, 50)
    done = solve_ivp(slope, (0, eq.b), start, t_eval=y, rtol=1e-11, atol=1e-12)
    assert s.v(y) == pytest.approx(done.y[0], rel=1e-8)
    assert s.rho(y) == pytest.approx(done.y[1], rel=1e-8)
    # The boundary conditions: (31), and (30) for UDP.
    assert s.v(eq.b) == pytest.approx(C, rel=1e-12)
    assert s.rho(0.0) * s.v(0.0) == pytest.approx(x0 * (1 - eq.r) * (1 - eq.udp.h), rel=1e-12)
    # (25) and (28) of the solution are integrals over y.
    assert s.delay == pytest.approx(quad(lambda at: 1 / float(s.v(at)), 0, eq.b)[0], rel=1e-8)
    assert s.held() == pytest.approx(quad(lambda at: float(s.rho(at)), 0, eq.b)[0], rel=1e-8)
    assert s.held() + s.held(1) == pytest.approx(eq.b, rel=1e-12)


def test_the_share_of_the_link_is_the_density_at_the_head() -> None:
    """(29), to O(1/b): the over-determined system leaves v(b) = c and τ of (25), not both τ's."""
    for eq in SOLVED:
        assert float(space(eq).rho(eq.b)) == pytest.approx(eq.share, abs=1 / eq.b)


def test_the_over_determined_system_closes_to_the_order_of_one_over_b() -> None:
    """(25), (28) and the sum of (30), with everything scaled so that b grows: errors fall as 1/b."""
    scales = 2.0 ** np.arange(6)
    for load in (0.5, 1.2, 5.0):
        found = equilibria(
            load * C * scales, N=32 * scales, c=C * scales, f=RENO, g=Red(20 * scales, 520 * scales, 0.5)
        )
        assert found.b[-1] > 30 * found.b[0]
        errors = np.array([list(space(eq).closure().values()) for eq in found])
        assert errors.shape == (6, 4)
        order = np.polyfit(np.log(found.b), np.log(abs(errors)), 1)[0]
        assert order == pytest.approx(-1, abs=0.07)
        assert np.diff(np.log(abs(errors)), axis=0)[-1] / np.diff(np.log(found.b))[-1] == pytest.approx(-1, abs=0.02)
        assert np.all(abs(errors) * found.b[:, None] < 0.7)


def test_with_all_of_30_the_head_is_where_beta_says() -> None:
    """At t = τ the flow is c, exactly, and the place is 1/(−β) = b − 1/2 + O(1/b): why the system cannot close."""
    for eq in SOLVED[::10]:
        beta = math.log1p(-1 / eq.b)
        enters = [f.count * f.x * (1 - eq.r) * (1 - f.h) for f in eq.flows]
        decay = [-beta * f.x for f in eq.flows]
        flow = sum(a * math.exp(-k * eq.tau) for a, k in zip(enters, decay, strict=True))
        place = sum(a * -math.expm1(-k * eq.tau) / k for a, k in zip(enters, decay, strict=True))
        assert flow == pytest.approx(eq.c, rel=1e-9)
        assert place == pytest.approx(-1 / beta, rel=1e-9)
        assert place == pytest.approx(eq.b - 0.5, abs=0.2 / eq.b)


# --- theorems 3 and 4 --------------------------------------------------------------------------


def grid(eq: choke.Equilibrium) -> tuple[choke.Space, Array, Array, Array]:
    """ρ and v where they change: even steps of time, not of y."""
    s = space(eq)
    y = s.position(np.linspace(0, s.delay, 400))
    y = np.minimum(y, eq.b)
    return s, y, s.rho(y), s.v(y)


def slopes(y: Array, values: Array) -> Array:
    return np.asarray(np.diff(values) / np.diff(y))


def test_theorem_3_velocity_is_convex_and_falls_to_c() -> None:
    for eq in SOLVED[::2]:
        s, y, _, v = grid(eq)
        slope = slopes(y, v)
        assert np.all(slope < 0)
        assert np.all(np.diff(slope) > -1e-6 * abs(slope[:-1]))
        assert v[-1] == pytest.approx(eq.c, rel=1e-9)
        total = sum(f.count * f.x * (1 - eq.r) * (1 - f.h) for f in eq.flows)
        assert v[0] == pytest.approx(total, rel=2 / eq.b)  # (30) summed, to O(1/b)
        beta, rate = eq.beta, sum(float(s.rho(0.0, i)) * f.x for i, f in enumerate(eq.flows))
        assert slope[0] == pytest.approx(beta * rate, rel=0.05)


def test_theorem_3_velocity_is_linear_only_if_the_rates_are_equal() -> None:
    def apart(x0: float) -> float:
        eq = equilibrium(x0, N=32, c=C, f=RENO, g=RED)
        return eq.udp.x - eq.tcp.x

    even = equilibrium(float(brentq(apart, 2.0, 8.0, xtol=1e-12)), N=32, c=C, f=RENO, g=RED)
    for x0, straight in ((even.udp.x, True), (even.udp.x * 1.5, False), (even.udp.x / 1.5, False)):
        eq = equilibrium(x0, N=32, c=C, f=RENO, g=RED)
        y = np.linspace(0, eq.b, 50)
        s = space(eq)
        bend = np.ptp(slopes(y, s.v(y))) / abs(slopes(y, s.v(y))).mean()
        assert (bend < 1e-9) == straight
        assert straight == (np.ptp(s.rho(y)) < 1e-9)


def test_theorem_4_the_density_falls_and_has_one_of_three_shapes() -> None:
    seen = {"convex": 0, "concave": 0, "both": 0}
    for eq in FAST:
        s, y, rho, _ = grid(eq)
        assert np.all(np.diff(rho) < 0)
        bend = np.diff(slopes(y, rho))
        middle, size = rho[1:-1], abs(slopes(y, rho)[:-1])
        hat = s.rho_hat
        assert hat < 1 / 3
        clear = abs(middle - hat) > 0.02 * (rho[0] - rho[-1])  # a step of the grid holds the inflexion itself
        if rho[0] <= hat:
            seen["convex"] += 1
            assert np.all(bend > -1e-7 * size)
        elif rho[-1] >= hat:
            seen["concave"] += 1
            assert np.all(bend < 1e-7 * size)
        else:
            seen["both"] += 1
            assert np.all(bend[clear & (middle > hat)] < 0)
            assert np.all(bend[clear & (middle < hat)] > 0)
    # Flow 0 slower than TCP makes it rise, and both drawn sets together meet every shape.
    assert min(seen.values()) > 0, seen


def test_a_flow_slower_than_tcp_becomes_denser_toward_the_head() -> None:
    slow = [eq for eq in SOLVED if eq.udp.x < 0.9 * eq.tcp.x]
    assert slow
    for eq in slow:
        assert np.all(np.diff(grid(eq)[2]) > 0)


def test_equation_37_the_odds_of_the_density_fall_with_the_time() -> None:
    for eq in FAST[::10]:
        s, y, rho, _ = grid(eq)
        fall = np.exp(eq.beta * (eq.udp.x - eq.tcp.x) * s.time(y))
        assert rho / (1 - rho) == pytest.approx(rho[0] / (1 - rho[0]) * fall, rel=1e-7)


# --- theorems 5 to 9 ---------------------------------------------------------------------------


def test_theorem_5_every_flow_holds_less_than_half_of_the_queue() -> None:
    for eq in SOLVED:
        for flow in eq.flows:
            assert flow.h <= (1 - eq.r) / (2 - eq.r) < 0.5 or eq.r == 0
        assert eq.tcp.p >= 1 / eq.tcp.count  # (45)
        assert eq.tau > 0


# --- in the limit of UDP's rate, over random valid parameters ------------------------------------

LOADS = 10.0 ** np.arange(0, 7)


def limits(seed: int, count: int) -> list[list[choke.Equilibrium]]:
    """For problems at random the solutions at each of `LOADS`; those with a refusal at any are left out."""
    random = np.random.default_rng(seed)

    def between(low: float, high: float) -> Array:
        return np.repeat(np.exp(random.uniform(math.log(low), math.log(high), count)), len(LOADS))

    c, min_th = between(20, 5000), between(10, 100)
    law = Reno(between(0.01, 0.5)) if seed % 2 else Vegas(between(1, 10))
    g = Red(min_th, min_th * between(5, 50), between(0.05, 1))
    found = equilibria(c * np.tile(LOADS, count), N=np.round(between(10, 500)), c=c, f=law, g=g)
    rows = np.arange(count * len(LOADS)).reshape(count, len(LOADS))
    return [[found[int(i)] for i in row] for row in rows if not any(found.refusals[i] for i in row)]


LIMITS = [*limits(3, 60), *limits(4, 60)]


def test_there_are_enough_limits_to_hold_the_theorems_to() -> None:
    assert len(LIMITS) > 50
    assert np.ptp([curve[-1].r for curve in LIMITS]) > 0.2


def test_theorems_2_5_and_6_in_the_limit() -> None:
    for curve in LIMITS:
        share, n = np.array([eq.share for eq in curve]), curve[0].tcp.count
        below = np.array([(1 - eq.r) / (2 - eq.r) - eq.udp.h for eq in curve])
        assert np.all(below >= -1e-13)
        assert below[-1] < 1e-12  # Theorem 5: its bound is reached
        assert np.all(np.diff(below[below > 1e-12]) < 0)
        last = curve[-1]
        assert last.share < 1e-12  # Theorem 2
        assert np.all(np.diff(share[share.argmax() :]) <= 0)
        assert 0 < last.r < 1  # Theorem 6: r, τ, b and x_1 keep finite values above 0
        assert min(last.tau, last.tcp.x) > 0
        assert last.b == pytest.approx(curve[-2].b, rel=1e-3)
        assert last.tau == pytest.approx(curve[-2].tau, rel=1e-3)
        assert last.tcp.h == pytest.approx(1 / (n * (2 - last.r)), rel=1e-10)
        assert n * last.tcp.share == pytest.approx(1, rel=1e-10)


def test_theorem_8_the_density_becomes_a_step_at_b0() -> None:
    for curve in LIMITS:
        before, after = [], []
        for eq in curve:
            s = space(eq)
            before.append(float(s.rho(0.8 * eq.udp.b)))
            after.append(float(s.rho(min(1.1 * eq.udp.b, eq.b))))
        assert np.all(np.diff(before) > 0)
        assert before[-1] > 0.999
        assert np.all(np.diff(after[int(np.argmax(after)) :]) <= 0)
        assert after[-1] < 1e-9


def test_theorem_9_the_velocity_grows_without_bound_before_the_step_and_is_linear_beyond() -> None:
    for curve in LIMITS:
        speeds = [float(space(eq).v(0.5 * eq.udp.b)) / eq.c for eq in curve]
        assert np.all(np.diff(np.log(speeds)) > 0)
        assert speeds[-1] > 1e3
        last = curve[-1]
        y = np.linspace(1.02 * last.udp.b, last.b, 20)
        assert space(last).v(y) == pytest.approx(last.c - last.beta * last.tcp.x * (last.b - y), rel=1e-6)


# --- the paper's statements ---------------------------------------------------------------------


def test_the_densities_of_experiment_2() -> None:
    low, high = (equilibrium(load * C, N=32, c=C, f=RENO, g=RED) for load in (0.1, 10))
    y = np.linspace(0, low.b, 20)
    assert space(low).rho(y) == pytest.approx(0.08, abs=0.005)  # "close to 0.08 at each position"
    y = np.linspace(0, high.b, 200)
    rho = space(high).rho(y)
    assert rho.mean() == pytest.approx(0.5, abs=0.05)  # "roughly half"
    assert rho[0] > 0.8 > 0.05 > rho[-1]  # "almost all of them are dropped before they reach the head"


def test_more_classes_of_flows_fill_the_same_queue() -> None:
    """The closed form holds for any flows: densities add up to one, and the head carries their shares."""
    flows = [FlowClass(1, 80.0), FlowClass(2, 300.0), FlowClass(20, Reno(0.02)), FlowClass(20, Reno(0.4))]
    for m in (1, 3):
        eq = equilibrium_of(flows, c=C, g=RED, m=m)
        s = space(eq)
        y = np.linspace(0, eq.b, 20)
        rho = np.array([s.rho(y, i) for i in range(4)])
        assert rho.sum(axis=0) == pytest.approx(1)
        for i, flow in enumerate(eq.flows):
            assert s.held(i) == pytest.approx(flow.count * flow.b, rel=3 * m / eq.b)
            assert rho[i, -1] == pytest.approx(flow.count * flow.share, abs=m / eq.b)
        assert np.all(np.diff(rho[1]) < 0)  # the fastest


def test_a_place_outside_the_queue_is_refused() -> None:
    eq = equilibrium(C, N=32, c=C, f=RENO, g=RED)
    with pytest.raises(ValueError, match="y = -1: must be from 0 to b = 128"):
        space(eq).rho([-1.0, 2.0])
