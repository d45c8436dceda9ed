"""The equilibrium of CHOKe against its own equations, the paper's numbers, and thousands of random problems."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from sluicegate.theory import choke
from sluicegate.theory.choke import (
    AboveMaxThError,
    AssumptionError,
    InactiveError,
    Limited,
    Padhye,
    Red,
    Reno,
    SimpleReno,
    Vegas,
    equilibria,
    equilibrium,
)
from sluicegate.theory.red import marked_share

Array = NDArray[np.float64]

C = 125.0
"""The paper's link: 1 Mbit/s in packets of 1000 bytes."""

RENO, RED = Reno(0.1), Red(20, 520, 0.5)
"""Its round trip; its thresholds and max_p as recalled, so that no check may rest on them alone."""


def literal(eq: choke.Equilibrium, n: float, f: choke.Reno, g: Red) -> list[float]:
    """What is left of eqs. (3) to (9) as they stand in the paper, written without the library's forms."""
    x0, c, b, r, tau = eq.udp.x, eq.c, eq.b, eq.r, eq.tau
    h0, h1, p0, p1, b0, b1, x1 = eq.udp.h, eq.tcp.h, eq.udp.p, eq.tcp.p, eq.udp.b, eq.tcp.b, eq.tcp.x
    return [
        p0 - (2 * h0 + (1 - h0) * r),
        p1 - (2 * h1 + (1 - h1) * r),
        (1 - p0) - (1 - r) * (1 - h0) * (1 - 1 / b) ** (x0 * tau),
        (1 - p1) - (1 - r) * (1 - h1) * (1 - 1 / b) ** (x1 * tau),
        h0 - b0 / b,
        h1 - b1 / b,
        (b0 + n * b1) / b - 1,
        (x0 * (1 - p0) + n * x1 * (1 - p1)) / c - 1,
        math.sqrt(2 * (1 - p1) / p1) / (f.d + tau) / x1 - 1,
        g.max_p * (b - g.min_th) / (g.max_th - g.min_th) - r,
    ]  # fmt: skip


def test_the_ten_equations_hold() -> None:
    loads, numbers = np.meshgrid([0.01, 0.1, 0.5, 1.0, 1.2, 3.0, 10.0, 100.0], [12.0, 32.0, 64.0, 1000.0])
    g = Red(20, 5000, 0.9)
    found = equilibria(loads.ravel() * C, N=numbers.ravel(), c=C, f=RENO, g=g)
    for n, eq in zip(numbers.ravel(), found, strict=True):
        assert max(map(abs, literal(eq, n, RENO, g))) < 1e-10
        assert eq.residual < 1e-10


# --- random problems ---------------------------------------------------------------------------

DRAWS = 2500
"""For each of four laws of TCP: 10,000 in all."""


def between(random: np.random.Generator, low: float, high: float) -> Array:
    return np.exp(random.uniform(math.log(low), math.log(high), DRAWS))


@pytest.mark.parametrize("law", ["reno", "simple", "padhye", "vegas"])
def test_every_draw_is_solved_or_refused(law: str) -> None:
    """The box of docs/theory-choke.md; CHOKe's range of backlogs is met from below and from above."""
    random = np.random.default_rng(["reno", "simple", "padhye", "vegas"].index(law))
    n, c, d = np.round(between(random, 2, 1000)), between(random, 10, 1e5), between(random, 1e-3, 1)
    min_th, m = between(random, 5, 200), random.integers(1, 5, DRAWS).astype(float)
    hold = law in ("simple", "vegas")
    max_p = np.minimum(between(random, 0.01, 1.2), 1)  # some of them 1, where nothing passes at max_th
    g = Red(min_th, min_th * between(random, 1.5, 30), max_p, hold)
    x0 = c * between(random, 0.01, 100)
    f = {"reno": Reno(d), "simple": SimpleReno(d), "padhye": Padhye(d), "vegas": Vegas(between(random, 1, 20))}[law]
    found = equilibria(x0, N=n, c=c, f=f, g=g, m=m)
    refusals = Counter(type(refusal) for refusal in found.refusals)
    assert set(refusals) <= {type(None), InactiveError} | (set() if hold else {AboveMaxThError})
    assert refusals[type(None)] > DRAWS / 8
    s = found.solved
    good = ~np.isnan(s.b)
    assert good.sum() == refusals[type(None)]
    with np.errstate(invalid="ignore"):
        udp, tcp = s.flows
        # Eqs. (3') to (9) at once, in another form than the solver's.
        kappa = s.b * (1 - (1 - 1 / s.b) ** m)
        left = []
        for flow in (udp, tcp):
            inside = flow.h + kappa * flow.phi + (1 - flow.h) * s.r
            thinned = (1 - s.r) * (1 - flow.phi) ** m * (1 - 1 / s.b) ** (m * flow.x * s.admitted * s.tau)
            left += [flow.p - 1 + s.admitted * (1 - inside), 1 - flow.p - s.admitted * thinned]
            left += [1 - flow.h - (1 - flow.phi) ** m]
        left += [udp.phi + n * tcp.phi - 1, (udp.x * udp.kept + n * tcp.x * tcp.kept) / c - 1]
        left += [f(tcp.p, s.tau) / tcp.x - 1, g(s.b, s.tau) - s.r]
        assert np.nanmax(np.abs(left)) < 1e-10
        inside = s.admitted == 1
        assert np.all((s.b > min_th)[good])
        assert np.all((s.b < g.max_th)[good & inside])
        assert np.all(abs(s.b / g.max_th - 1)[good & ~inside] < 1e-12)
    assert all(found[int(i)].residual < 1e-10 for i in np.flatnonzero(good)[::50])  # laws here hold arrays


def test_one_problem_and_many_give_the_same() -> None:
    loads = np.array([0.1, 1.0, 10.0])
    many = equilibria(loads * C, N=32, c=C, f=RENO, g=RED)
    for index, load in enumerate(loads):
        one = equilibrium(load * C, N=32, c=C, f=RENO, g=RED)
        assert many[index].b == pytest.approx(one.b, rel=1e-12)
        assert many[index].share == pytest.approx(one.share, rel=1e-10)
        assert many[index].residual < 1e-10
        assert many[index - 3].b == many[index].b
    assert len(many[:2]) == 2
    assert many.share == pytest.approx([eq.share for eq in many])


# --- what is refused, and why ------------------------------------------------------------------


def test_few_flows_leave_choke_inactive() -> None:
    with pytest.raises(
        InactiveError, match=r"5 TCP flows the queue does not reach 20 packets; CHOKe needs about 8\.1 TCP"
    ):
        equilibrium(10 * C, N=5, c=C, f=RENO, g=RED)
    # The estimate is of one UDP flow, one candidate and a square root.
    for f, m in ((RENO, 5), (Vegas(0.5), 1)):
        with pytest.raises(InactiveError, match=r"does not reach 20 packets\. More TCP flows"):
            equilibrium(10 * C, N=5, c=C, f=f, g=RED, m=m)


def test_one_flow_each_cannot_fill_the_queue() -> None:
    """Theorem 5: each holds less than half of it."""
    with pytest.raises(InactiveError):
        equilibrium(10 * C, N=1, c=C, f=Reno(1e-9), g=Red(20, 1e6, 1.0))


def test_flows_that_only_hit_themselves_leave_choke_inactive() -> None:
    """Vegas asks for its packets in the queue whatever is lost: too many of them, and none gets through."""
    with pytest.raises(InactiveError, match="42 TCP flows, arrivals match packets of their own flow so often"):
        equilibrium(C, N=42, c=200_000.0, f=Vegas(19.5), g=Red(7.2, 718, 0.001), m=49)


def test_above_max_th_is_refused_or_held() -> None:
    crowd = {"N": 400, "c": C, "f": RENO}
    with pytest.raises(AboveMaxThError, match="max_th = 60"):
        equilibrium(2 * C, g=Red(30, 60, 0.02), **crowd)
    held = equilibrium(2 * C, g=Red(30, 60, 0.02, hold=True), **crowd)
    assert held.b == pytest.approx(60)
    assert 0 < held.admitted < 1
    assert held.residual < 1e-10
    within, plain = (equilibrium(2 * C, N=32, c=C, f=RENO, g=Red(20, 520, 0.5, hold)) for hold in (True, False))
    assert within.admitted == 1
    assert within.b == pytest.approx(plain.b, rel=1e-12)
    assert within.share == pytest.approx(plain.share, rel=1e-10)


def constant(value: float):  # type: ignore[no-untyped-def]
    return lambda first, second: np.full(first.shape, value)


@pytest.mark.parametrize(
    ("assumption", "f", "g"),
    [
        ("A3", constant(math.inf), RED),
        ("A3", constant(math.nan), RED),
        ("A3", lambda p, tau: np.where(p > 0.155, 1.0, 20.0), RED),
        ("A4", RENO, constant(1.5)),
        ("A4", constant(C), constant(0.0)),
        ("A4", RENO, lambda b, tau: np.where(b > 100, 0.9, 0.0)),
        ("A4", RENO, lambda b, tau: np.minimum(0.3, b / 1000)),
        ("A4", RENO, lambda b, tau: np.where(b < 1e6, b / (b + 1000), 0.5)),
        ("A1", RENO, lambda b, tau: np.clip(np.where(b < 20, (20 - b) / 20, (b - 20) / 480), 0, 1)),
        ("A1", RENO, lambda b, tau: np.clip(0.5 + 0.5 * np.sin(40 * np.log(b)) + b / 1e6, 0, 1)),
    ],
)  # fmt: skip
def test_an_assumption_that_fails_is_named(assumption: str, f, g) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(AssumptionError) as caught:
        equilibrium(10 * C, N=32, c=C, f=f, g=g)
    assert caught.value.assumption == assumption
    assert assumption in str(caught.value)


def swinging(turns: float) -> choke.CongestionLaw:
    """A law that rises to 1 and swings between 60 and 200 packets, so often."""

    def g(b: Array, tau: Array) -> Array:
        swing = np.where((b > 60) & (b < 200), 0.12 * np.sin(2 * np.pi * turns * (b - 60) / 140), 0.0)
        return np.asarray(np.clip(0.0005 * b + swing, 0, 1))

    return g


@pytest.mark.parametrize("turns", [1, 2, 6, 20])
def test_more_solutions_than_one_are_seen(turns: int) -> None:
    """With 6 swings eqs. (3) to (9) have nine solutions: as many as g meets the r that each backlog needs."""
    needed = equilibria(
        2 * C, N=np.full(400, 32), c=C, f=RENO, g=lambda b, tau: np.where(b < 1e6, np.linspace(0.005, 0.4, 400), 1.0)
    ).b
    rates = np.linspace(0.005, 0.4, 400)
    crossings = int((np.diff(np.sign(swinging(turns)(needed, needed) - rates)) != 0).sum())
    if turns == 6:
        assert crossings == 9
    if crossings > 1:
        with pytest.raises(AssumptionError, match="more than one solution") as caught:
            equilibrium(2 * C, N=32, c=C, f=RENO, g=swinging(turns))
        assert caught.value.assumption == "A1"
    else:
        equilibrium(2 * C, N=32, c=C, f=RENO, g=swinging(turns))


def test_a_law_that_swings_and_has_one_solution_is_solved() -> None:
    """The swings are looked at, and each problem by itself: those of small swings have one solution."""
    sizes = np.array([0.0, 0.0005, 0.12])

    def g(b: Array, tau: Array) -> Array:
        return np.clip(0.0005 * b + sizes * np.where((b > 60) & (b < 200), np.sin((b - 60) * 0.27), 0.0), 0, 1)

    found = equilibria(2 * C, N=np.full(3, 32), c=C, f=RENO, g=g)
    assert [refusal is None for refusal in found.refusals] == [True, True, False]
    assert found[1].residual < 1e-10
    assert found.b[1] == pytest.approx(found.b[0], rel=0.02)


def test_a_law_without_a_range_is_solved_as_red_is() -> None:
    line = equilibrium(2 * C, N=32, c=C, f=RENO, g=lambda b, tau: np.clip((b - 20) / 1000, 0, 1))
    assert line.b == pytest.approx(equilibrium(2 * C, N=32, c=C, f=RENO, g=Red(20, 1020, 1.0)).b, rel=1e-10)


def test_fifty_points_take_few_evaluations() -> None:
    """Well below a second: each of these calls, of fifty points at once, takes some 20 µs, and about as much around
    it."""
    calls = Counter[str]()

    def f(p: Array, tau: Array) -> Array:
        calls["f"] += 1
        return RENO(p, tau)

    found = equilibria(C * np.geomspace(0.1, 10, 50), N=32, c=C, f=f, g=RED)
    assert not any(found.refusals)
    assert calls["f"] < 6000, calls


def test_solutions_without_end_are_refused() -> None:
    """g chosen so that every backlog from 90 to 110 solves the equations: neither A1 nor A2 holds."""
    f = Vegas(2.0)

    rates = np.linspace(0.05, 0.5, 400)
    flat = equilibria(3 * C, N=np.full(400, 32), c=C, f=f, g=lambda b, tau: np.where(b < 1e6, rates, 1.0))
    backlogs = flat.b
    near = abs(backlogs - 100) < 15
    assert near.sum() > 30
    curve = np.polynomial.Chebyshev.fit(backlogs[near], rates[near], 12)
    low, high = float(curve(90)), float(curve(110))

    def g(b: Array, tau: Array) -> Array:
        beyond = high + (b - 110) / 100
        return np.clip(np.where(b < 90, low, np.where(b > 110, beyond, curve(np.clip(b, 90, 110)))), 0, 1)

    g.low, g.high = 50.0, 400.0  # type: ignore[attr-defined]
    with pytest.raises(AssumptionError) as caught:
        equilibrium(3 * C, N=32, c=C, f=f, g=g)
    assert caught.value.assumption in ("A1", "A2")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x0": -1}, "x0 = -1: must be at least 0"),
        ({"x0": math.nan}, "x0 = nan"),
        ({"c": 0}, "c = 0: must be above 0"),
        ({"N": 0}, "count = 0: must be above 0"),
        ({"m": 0}, "m = 0: must be a whole number, at least 1"),
        ({"m": 1.5}, "m = 1.5"),
        ({"g": Red(1, 60, 0.1)}, "min_th = 1: must be at least 2 packets"),
        ({"g": Red(60, 60, 0.1)}, "max_th = 60: must be above min_th"),
    ],
)
def test_a_value_out_of_its_range_is_named(values: dict[str, object], message: str) -> None:
    arguments = {"x0": 100.0, "N": 32, "c": C, "f": RENO, "g": RED} | values
    with pytest.raises(ValueError, match=message):
        equilibrium(**arguments)  # type: ignore[arg-type]


def test_without_tcp_nothing_fills_the_link() -> None:
    with pytest.raises(ValueError, match="at least one class must be TCP"):
        choke.equilibrium_of([choke.FlowClass(1, 200.0)], c=C, g=RED)


# --- the paper's numbers -----------------------------------------------------------------------


def test_theorem_1() -> None:
    assert round(choke.PEAK_SHARE, 3) == 0.269
    assert round(choke.PEAK_LOAD, 3) == 1.193
    assert round(choke.PEAK_H0, 3) == 0.387
    load, share = choke.closed_curve(choke.PEAK_H0)
    assert (load, share) == (pytest.approx(choke.PEAK_LOAD), pytest.approx(choke.PEAK_SHARE))
    h0 = np.linspace(1e-6, 0.5 - 1e-6, 20_001)
    load, share = choke.closed_curve(h0)
    assert share.max() == pytest.approx(choke.PEAK_SHARE, abs=1e-8)
    assert h0[share.argmax()] == pytest.approx(choke.PEAK_H0, abs=1e-4)
    assert np.all(np.diff(load) > 0)
    assert share[-1] < 1e-4 < load[-1]
    # Eqs. (14), (16), (17) before anything is eliminated, with τ/b from (16).
    wait = (1 - h0) / (1 - share)
    assert 1 - 2 * h0 == pytest.approx((1 - h0) * np.exp(-load * wait), abs=1e-12)
    assert share == pytest.approx(load * (1 - 2 * h0), rel=1e-12)
    assert choke.closed_share(choke.PEAK_LOAD) == pytest.approx(choke.PEAK_SHARE, rel=1e-9)
    assert choke.closed_share(1e9) == pytest.approx(0.0, abs=1e-12)


def test_the_least_number_of_flows() -> None:
    """ "we can estimate the minimal N to be 8.08"."""
    assert round(choke.least_flows(c=C, d=0.1, min_th=20), 2) == 8.08
    # The full model, from which the estimate is rough, with the law that the estimate takes.
    full = choke.least_active_flows(10 * C, c=C, f=SimpleReno(0.1), g=RED)
    assert full is not None
    assert 6 <= full <= 9
    equilibrium(10 * C, N=full, c=C, f=SimpleReno(0.1), g=RED)
    with pytest.raises(InactiveError):
        equilibrium(10 * C, N=full - 1, c=C, f=SimpleReno(0.1), g=RED)
    assert choke.least_active_flows(10 * C, c=1000 * C, f=RENO, g=RED, most=50) is None


def test_the_papers_statements_at_32_flows() -> None:
    """Sec. V-A and V-B: what the text says of Figs. 4 and 6."""
    low, high = (equilibrium(load * C, N=32, c=C, f=RENO, g=RED) for load in (0.1, 10))
    assert high.share < 0.05
    assert 32 * high.tcp.share > 0.95
    assert high.occupancy == pytest.approx(0.5, abs=0.05)
    assert low.share == pytest.approx(0.1, abs=0.03)
    curve = equilibria(C * np.geomspace(0.1, 10, 60), N=32, c=C, f=RENO, g=RED)
    rough = choke.approximate(C * np.geomspace(0.1, 10, 60), N=32, c=C, f=RENO, g=RED)
    assert np.all(np.diff(curve.b)[:-10] > 0)  # "steadily increases"
    peak = int(np.argmax(curve.share))
    assert 0 < peak < 59
    assert np.all(np.diff(curve.share)[:peak] > 0)
    assert np.all(np.diff(curve.share)[peak:] < 0)
    # "both show a smaller UDP share than that predicted by the approximate model", which is near Theorem 1's.
    assert curve.share.max() < rough.share.max() < choke.PEAK_SHARE
    assert rough.share.max() > 0.26
    literal = choke.approximate(C * np.geomspace(0.1, 10, 60), N=32, c=C, f=RENO, g=RED, choke_first=True)
    assert literal.share.max() < curve.share.max()  # so that reading of Sec. III-C is not the paper's


def test_backlog_grows_and_rates_fall_with_the_flows() -> None:
    """Fig. 5: N = 12 to 64 at 10c."""
    curve = equilibria(10 * C, N=np.arange(12, 65, 4), c=C, f=RENO, g=RED)
    assert np.all(np.diff(curve.b) > 0)
    assert np.all(np.diff([eq.tcp.through for eq in curve]) < 0)
    assert np.all(curve.share < 0.05)


def test_timeouts_shorten_the_queue_and_hardly_move_the_share() -> None:
    """Both laws of TCP at the paper's points: (43) knows no timeouts, and windows at 10c are under three packets."""
    for load in (1, 10):
        plain, timed = (equilibrium(load * C, N=32, c=C, f=f, g=RED) for f in (RENO, Padhye(0.1)))
        assert timed.b < 0.9 * plain.b
        assert timed.tcp.x < plain.tcp.x * 1.0
        assert timed.share == pytest.approx(plain.share, abs=0.01)
    assert plain.tcp.x * (plain.tau + 0.1) < 3.5


def test_the_timeout_aware_law_is_the_square_root_where_losses_are_rare() -> None:
    p, tau = np.array([1e-8, 1e-6]), np.array([0.4, 0.4])
    assert Padhye(0.1)(p, tau) == pytest.approx(np.sqrt(1.5 / p) / 0.5, rel=2e-3)
    p = np.linspace(1e-4, 1, 5000)
    assert np.all(np.diff(Padhye(0.1)(p, np.full(p.shape, 0.4))) < 0)
    # The example of the paper by Padhye et al., eq. (30)'s short form, at losses where both hold.
    short = 1 / (0.5 * np.sqrt(2 * 0.01 / 3) + 0.5 * min(1, 3 * math.sqrt(3 * 0.01 / 8)) * 0.01 * (1 + 32e-4))
    assert Padhye(0.1)(np.array([0.01]), np.array([0.4]))[0] == pytest.approx(short, rel=0.1)


def test_uniform_gaps_drop_what_red_marks() -> None:
    """2p_b/(1 + p_b) is one over the mean gap, where 1/p_b is a whole number."""
    b = 20 + 500 * np.array([0.02, 0.04, 0.1, 0.4])
    p_b = RED(b, b)
    assert p_b == pytest.approx([0.01, 0.02, 0.05, 0.2])
    counted = Red(20, 520, 0.5, uniform=True)(b, b)
    assert counted == pytest.approx([marked_share("section7", p) for p in p_b])


def test_a_full_window_bounds_the_rate() -> None:
    law = Limited(RENO, 0.1, 4.0)
    p, tau = np.array([0.0, 1e-6, 0.5]), np.full(3, 0.3)
    with np.errstate(divide="ignore"):
        assert law(p, tau) == pytest.approx([10.0, 10.0, math.sqrt(2) / 0.4])
    eq = equilibrium(C, N=64, c=C, f=law, g=RED)
    assert eq.residual < 1e-10
    assert eq.tcp.x * (eq.tau + 0.1) <= 4 * (1 + 1e-12)


# --- asymptotic regime -------------------------------------------------------------------------


def test_the_full_model_tends_to_the_asymptotic_regime() -> None:
    """Theorems 2, 5 and 6, and Sec. IV-E: UDP loses everything, h_0 → (1 − r)/(2 − r), and the rest to O(1/b)."""
    loads = np.array([10, 100, 1e3, 1e5])
    curve = equilibria(C * loads, N=32, c=C, f=RENO, g=RED)
    limit = choke.asymptotic(N=32, c=C, f=RENO, g=RED)
    last = curve[-1]
    assert curve.share[1:] == pytest.approx(0, abs=1e-12)
    assert last.udp.h == pytest.approx((1 - last.r) / (2 - last.r), rel=1e-12)
    assert last.tcp.p == pytest.approx(last.r + 1 / 32, rel=1e-12)
    for ours, paper in ((last.b, limit.b), (last.tau, limit.tau), (last.tcp.x, limit.x1), (last.tcp.p, limit.p1)):
        assert ours == pytest.approx(paper, rel=0.5 / last.b)
    # The ten equations leave five, and these hold.
    assert limit.x1 * (1 - limit.p1) == pytest.approx(C / 32)
    assert limit.p1 == pytest.approx(2 * limit.h1 + (1 - limit.h1) * limit.r)
    assert limit.h0 + 32 * limit.h1 == pytest.approx(1)
    assert RENO(np.array([limit.p1]), np.array([limit.tau]))[0] == pytest.approx(limit.x1)
    beta = math.log1p(-1 / limit.b)
    assert limit.tau == pytest.approx(-math.log(1 - beta * limit.x1 * limit.b * (1 - limit.h0) / C) / (beta * limit.x1))
    near = choke.asymptotic(N=32, c=C, f=RENO, g=RED, linear=True)
    assert near.tau == pytest.approx(near.b * (1 - near.h0) / C)
    assert near.b == pytest.approx(limit.b, rel=0.01)
    with pytest.raises(InactiveError):
        choke.asymptotic(N=5, c=C, f=RENO, g=RED)
    with pytest.raises(AboveMaxThError):
        choke.asymptotic(N=2000, c=C, f=RENO, g=Red(30, 60, 0.02))


def test_without_congestion_drops_udp_holds_half_of_the_queue() -> None:
    """h_0 = 1/2 is the case r ≪ 1."""
    eq = equilibrium(1e4 * C, N=32, c=C, f=RENO, g=Red(20, 1e7, 0.5))
    assert eq.r < 1e-4
    assert eq.udp.h == pytest.approx(0.5, abs=1e-4)
    assert eq.tcp.p == pytest.approx(1 / 32, abs=1e-4)


def test_the_approximate_model_solves_its_equations() -> None:
    x0 = C * np.array([0.1, 1.0, 10.0])
    for choke_first in (False, True):
        a = choke.approximate(x0, N=32, c=C, f=RENO, g=RED, choke_first=choke_first)
        thin = (1 - 1 / a.b) ** (x0 * (1.0 if choke_first else 1 - a.r) * a.tau)
        if choke_first:
            assert a.p0 == pytest.approx(2 * a.h0 + (1 - a.h0) * a.r, abs=1e-12)
        else:
            assert a.p0 == pytest.approx(a.r + 2 * (1 - a.r) * a.h0, abs=1e-12)
        assert 1 - a.p0 == pytest.approx((1 - a.r) * (1 - a.h0) * thin, abs=1e-12)
        assert (1 - a.h0) * a.b == pytest.approx(C * (1 - a.share) * a.tau)
        assert x0 * (1 - a.p0) + 32 * a.x1 * (1 - a.r) == pytest.approx(C)
        assert a.x1 == pytest.approx(RENO(a.r, a.tau))
        assert a.r == pytest.approx(RED(a.b, a.tau))
    refused = choke.approximate(x0, N=4000, c=C, f=RENO, g=Red(30, 60, 0.02))
    assert all(isinstance(refusal, AboveMaxThError) for refusal in refused.refusals)
    assert np.isnan(refused.b).all()
