"""Several candidates, several unresponsive flows, several round trips: the model against the queue packet by packet."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from choke_queue import model, run
from scipy.optimize import brentq
from scipy.special import lambertw

from sluicegate.theory import choke
from sluicegate.theory.choke import (
    AboveMaxThError,
    FlowClass,
    Red,
    Reno,
    Vegas,
    candidates_at,
    candidates_for,
    equilibria,
    equilibrium,
    equilibrium_of,
)

C, RENO, RED = 125.0, Reno(0.1), Red(20, 520, 0.5)
UDP, TCP = FlowClass(1, 250.0, "udp"), FlowClass(32, RENO, "tcp")

MIXTURES = {
    "the paper's": ([UDP, TCP], 1),
    "three candidates": ([FlowClass(1, 100.0, "udp"), TCP], 3),
    "five unresponsive flows": ([FlowClass(5, 60.0, "udp"), TCP], 2),
    "three rates": ([FlowClass(1, 100.0), FlowClass(1, 300.0), FlowClass(2, 50.0), FlowClass(40, RENO)], 3),
    "three round trips": ([UDP, FlowClass(20, Reno(0.02)), FlowClass(20, Reno(0.4)), FlowClass(10, Reno(1.0))], 1),
    "all of these": ([FlowClass(2, 90.0), FlowClass(20, Reno(0.02)), FlowClass(20, Reno(0.5))], 2),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_the_queue_packet_by_packet_agrees(name: str) -> None:
    """Share of the link, share of the queue, loss, backlog: within four standard errors over batches, and 2/b, which is
    what a mean-field model leaves out (an arrival sees b packets, not b ± 1, and −βb is not 1)."""
    classes, m = MIXTURES[name]
    eq = equilibrium_of(classes, c=C, g=RED, m=m)
    assert eq.residual < 1e-10
    seen = run(eq, packets=30_000, seed=len(name))
    for values, said in zip((seen.share, seen.phi, seen.lost), model(eq), strict=True):
        assert seen.off(values, said, 2 / eq.b) < 1
    assert seen.off(seen.b[:, None], np.array([eq.b]), 4 / eq.b) < 1


def test_the_queue_tells_a_wrong_model() -> None:
    """The comparison has power: one candidate more or less, or a twice as distant group, is seen."""
    eq = equilibrium_of([FlowClass(2, 90.0), TCP], c=C, g=RED, m=2)
    seen = run(eq, packets=30_000, seed=3)
    for m in (1, 3):
        other = equilibrium_of([FlowClass(2, 90.0), TCP], c=C, g=RED, m=m)
        assert seen.off(seen.share, model(other)[0], 2 / eq.b) > 2


def test_like_flows_are_one_class_or_many() -> None:
    """Flows of one rate in two classes, and TCP flows of one round trip, change nothing."""
    one = equilibrium_of([FlowClass(3, 90.0), FlowClass(30, RENO)], c=C, g=RED, m=2)
    split = [FlowClass(1, 90.0), FlowClass(2, 90.0), FlowClass(10, RENO), FlowClass(20, Reno(0.1))]
    many = equilibrium_of(split, c=C, g=RED, m=2)
    assert many.b == pytest.approx(one.b, rel=1e-10)
    assert many.share == pytest.approx(one.share, rel=1e-10)
    assert [flow.x for flow in many.flows] == pytest.approx([90, 90, one.tcp.x, one.tcp.x], rel=1e-9)


def test_near_flows_have_more_and_lose_more() -> None:
    near, far = equilibrium_of([UDP, FlowClass(20, Reno(0.02)), FlowClass(20, Reno(0.4))], c=C, g=RED).flows[1:]
    assert near.x > far.x
    assert near.p > far.p
    assert near.share / far.share < (0.4 + 0.7) / (0.02 + 0.7)  # CHOKe evens out what √(2/p)/(d + τ) leaves


def test_more_candidates_cost_udp_more_and_tcp_too() -> None:
    found = equilibria(2 * C, N=32, c=C, f=RENO, g=RED, m=np.arange(1, 6))
    assert np.all(np.diff(found.share) < 0)
    for m, eq in enumerate(found, 1):
        assert eq.tcp.p > 2 * m * eq.tcp.phi * (1 - m * eq.tcp.phi)


# --- the closed curve for k flows and m candidates ---------------------------------------------


@pytest.mark.parametrize(("k", "m"), [(1, 1), (1, 3), (2, 2), (3, 2), (5, 3), (5, 6)])
def test_the_closed_curve_is_the_limit_of_the_full_model(k: int, m: int) -> None:
    """N and b large and r small, the three approximations: what is left falls with 1/N."""
    errors = []
    for scale in (1, 10, 100):
        classes = [FlowClass(k, 0.8 * C * scale), FlowClass(50 * scale, Vegas(5.0))]
        eq = equilibrium_of(classes, c=C * scale, g=Red(20, 1e7, 1e-3), m=m)
        assert eq.r < 2e-5
        errors.append(abs(eq.share - choke.closed_share(0.8 * (1 - eq.r), k=k, m=m)))
    assert errors[0] < 0.015
    assert errors[1] < errors[0] / 8
    assert errors[2] < errors[1] / 5  # the rest is r's


def test_the_border_is_where_k_flows_can_fill_the_queue() -> None:
    """k·φ_max(m) = 1, which tends to m = W(1)·k."""
    assert choke.most_phi(1) == pytest.approx(0.5)
    assert choke.most_phi(2) == pytest.approx(2 - math.sqrt(3))
    omega = float(lambertw(1).real)
    for k in range(1, 60):
        m = next(m for m in range(1, 100) if choke.worst_share(k, m) < 1)
        assert (1 - 1 / k) ** m < m / k
        assert m == 1 or (1 - 1 / k) ** (m - 1) >= (m - 1) / k
        assert m - 1.5 < omega * k < m + 0.5
    fails, holds = (
        equilibrium_of([FlowClass(5, 100 * C), FlowClass(500, RENO)], c=C, g=Red(20, 1000, 0.02, hold=True), m=m)
        for m in (2, 3)
    )
    assert fails.share > 0.9
    assert holds.share < 0.05


def test_the_worst_share() -> None:
    assert choke.worst_share(1, 1) == pytest.approx(choke.PEAK_SHARE, rel=1e-9)
    for k in (1, 2, 5):
        shares = [choke.worst_share(k, m) for m in range(1, 30)]
        assert all(later <= earlier for earlier, later in pairwise(shares))
        for m in (3, 10, 29):
            phi = np.linspace(1e-4, 1, 5000)[:-1] * min(choke.most_phi(m), 1 / k)
            if choke.worst_share(k, m) < 1:
                found = choke.closed_curve(phi, k=k, m=m)[1].max()
                assert found == pytest.approx(choke.worst_share(k, m), rel=1e-4)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 10, 20])
@pytest.mark.parametrize("share", [0.5, 0.25, 0.1, 0.05])
def test_the_candidates_are_the_least_that_do(k: int, share: float) -> None:
    m = candidates_for(k, share)
    assert m is not None
    assert choke.worst_share(k, m) <= share
    assert m == 1 or choke.worst_share(k, m - 1) > share
    assert candidates_for(k, share, most=m) == m
    assert m == 1 or candidates_for(k, share, most=m - 1) is None


def test_the_candidates_for_the_report_of_1999() -> None:
    """Five unresponsive flows: one candidate "fails", and each has near a fifth of the queue; drop-6 (m = 5) works."""
    assert choke.worst_share(5, 1) == 1.0
    assert choke.worst_share(5, 5) < 0.3
    g = Red(20, 520, 0.5, hold=True)
    eq = equilibrium_of([FlowClass(5, 10 * C), FlowClass(32, RENO)], c=C, g=g)
    assert eq.udp.phi == pytest.approx(0.2, abs=0.01)
    assert eq.share > 0.9


def test_the_candidates_at_one_link() -> None:
    found = candidates_at(2, 0.2, N=32, c=C, f=RENO, g=RED, most=6, rates=C * np.geomspace(0.1, 20, 12))
    assert found.m is not None
    assert found.worst[found.m - 1] <= 0.2
    assert np.all(found.worst[: found.m - 1] > 0.2)
    assert found.m >= (candidates_for(2, 0.2) or 0) - 1
    again = equilibrium_of([FlowClass(2, float(found.rate[1])), FlowClass(32, RENO)], c=C, g=RED, m=2)
    assert again.share == pytest.approx(found.worst[1], rel=1e-9)
    none = candidates_at(5, 0.01, N=32, c=C, f=RENO, g=RED, most=2, rates=[C])
    assert none.m is None
    idle = candidates_at(1, 0.5, N=32, c=C, f=RENO, g=RED, most=40, rates=[10 * C])
    assert idle.inactive[-1]
    assert not idle.inactive[0]
    assert idle.m == 1


def test_one_candidate_is_the_papers_model() -> None:
    """(3') to (5') with m = 1, and φ from its closed form."""
    eq = equilibrium(2 * C, N=32, c=C, f=RENO, g=RED)
    for flow in eq.flows:
        entering = (1 - eq.r) * -math.expm1(eq.beta * flow.x * eq.tau)
        assert flow.h == pytest.approx(flow.phi, rel=1e-14)
        assert flow.h == pytest.approx(entering / (1 + entering), rel=1e-12)
    m, entering = 4, 0.3
    phi = float(brentq(lambda q: entering * (1 - q) ** m - 3.9 * q, 0, 1))
    solved = choke.solver.occupancy(np.array([entering]), np.array([3.9]), np.array([4.0]))
    assert solved == pytest.approx(phi, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: candidates_for(0, 0.2), "k = 0: must be at least 1"),
        (lambda: candidates_for(2, 1.0), "share = 1: must be above 0 and below 1"),
        (lambda: candidates_at(2, 0.2, N=32, c=C, f=RENO, g=RED, most=65), "most = 65: must be from 1 to 64"),
        (lambda: choke.closed_curve(0.6), "phi = 0.6: must be above 0 and below 0.5"),
        (lambda: choke.closed_share(-1), "load = -1"),
        (lambda: choke.most_phi(0), "m = 0: must be at least 1"),
    ],
)
def test_a_value_out_of_its_range_is_named(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()


def test_a_crowd_at_one_candidate_is_above_max_th() -> None:
    with pytest.raises(AboveMaxThError):
        equilibrium_of([FlowClass(5, 10 * C), FlowClass(32, RENO)], c=C, g=Red(30, 60, 0.02))
