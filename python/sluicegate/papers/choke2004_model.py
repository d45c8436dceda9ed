"""The models beside each case of "Understanding CHOKe": the full one in several forms, and the approximate one.

`paper`: eqs. (43) and (44) with the paper's round trip. `ours`: a law of TCP that knows time-outs, the drops of RED as
the discipline spaces them, and the round trip with the packet's own time on the link. Between the two stand the models
that change one of these alone: `padhye`, `gaps` and `trip`. Vegas has one law, and no round trip in it; there RED's
drops alone tell the two apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from ..theory import choke
from .choke2004_cases import (
    LIMIT_SHARE,
    MAX_P,
    MAX_TH,
    MIN_TH,
    NEEDED_FLOWS,
    NEEDED_TCP,
    VEGAS_MAX_P,
    VEGAS_MAX_TH,
    Case,
    all_cases,
    needed_case,
)

MODELS = {
    "paper": (False, False, False),
    "trip": (False, False, True),
    "padhye": (True, False, False),
    "gaps": (False, True, False),
    "ours": (True, True, True),
}
"""Of each: whether its law of TCP knows time-outs, whether RED's drops are spaced, whether the round trip has the
packet's own time on the link. All but the paper's stay at max_th where the queue would be longer."""

QUANTITIES = ("share", "occupancy", "b", "tcp_flow", "x1", "p1")
"""What each model says of a case."""


@dataclass(frozen=True)
class Said:
    """What a model says of a case: UDP's share of the link and of the queue (all unresponsive flows), the queue in
    packets, what one TCP flow gets and sends in packets per second, and what it loses; NaN where it says nothing."""

    share: float
    occupancy: float
    b: float
    tcp_flow: float
    x1: float
    p1: float


NOTHING = Said(*[np.nan] * len(QUANTITIES))


def solve(cases: Sequence[Case], model: str) -> list[choke.Equilibrium | None]:
    """The equilibrium of each case, None where there is none. All must have as many groups of flows of each kind."""
    c = np.array([case.c for case in cases])
    vegas = cases[0].vegas
    timeouts, spaced, own_time = MODELS[model]
    classes = []
    for group in range(len(cases[0].tcp)):
        counts, trips = (np.array([case.tcp[group][which] for case in cases]) for which in (0, 1))
        d = trips / 1e3
        trip = d + 1 / c if own_time else d
        law: choke.RateLaw = choke.Padhye(trip) if timeouts else choke.Reno(trip)
        classes.append(
            choke.FlowClass(counts, choke.Vegas(np.array([case.alpha for case in cases])) if vegas else law, "tcp")
        )
    for group in range(len(cases[0].udp)):
        counts, rates = (np.array([case.udp[group][which] for case in cases]) for which in (0, 1))
        classes.append(choke.FlowClass(counts, rates * c, "udp"))
    g = red(cases[0], spaced, hold=model != "paper")
    found = choke.equilibria_of(classes, c=c, g=g, m=np.array([float(case.candidates) for case in cases]))
    return [None if refusal else found[index] for index, refusal in enumerate(found.refusals)]


def red(case: Case, spaced: bool, hold: bool = False) -> choke.Red:
    """RED as the case has it; `spaced`: with the drops of its uniform gaps, else eq. (44)."""
    max_th, max_p = (VEGAS_MAX_TH, VEGAS_MAX_P) if case.vegas else (MAX_TH, MAX_P)
    return choke.Red(MIN_TH, max_th, max_p, hold=hold, uniform=spaced)


def solve_all(cases: Sequence[Case], model: str) -> dict[str, choke.Equilibrium | None]:
    """The same for any cases, by their ids. What no model knows, Front and Back CHOKe, has none."""
    groups: dict[tuple[int, int, bool], list[Case]] = {}
    for case in cases:
        if case.draw == "random":
            groups.setdefault((len(case.tcp), len(case.udp), case.vegas), []).append(case)
    found: dict[str, choke.Equilibrium | None] = {}
    for members in groups.values():
        found |= dict(zip((case.id for case in members), solve(members, model), strict=True))
    return found


@cache
def equilibria(model: str) -> dict[str, choke.Equilibrium | None]:
    """The equilibrium of every case of the report."""
    return solve_all(tuple(all_cases().values()), model)


def said(case: Case, model: str) -> Said:
    """What the full model says of a case of the report."""
    eq = equilibria(model).get(case.id)
    if eq is None:
        return NOTHING
    return Said(eq.share, eq.occupancy, eq.b, eq.tcp.through, eq.tcp.x, eq.tcp.p)


@cache
def approximations(case: Case) -> choke.Approximations | None:
    """The approximate model of Sec. III-C, which has one UDP flow, like TCP flows and one candidate; else None."""
    plain = len(case.tcp) == len(case.udp) == case.udp[0][0] == case.candidates == 1
    if not plain or case.draw != "random":
        return None
    ((count, rtt),) = case.tcp
    f: choke.RateLaw = choke.Vegas(case.alpha) if case.vegas else choke.Reno(rtt / 1e3)
    return choke.approximate(case.x0 * case.c, N=count, c=case.c, f=f, g=red(case, spaced=False))


def approximate(case: Case) -> Said:
    """What the approximate model says of a case."""
    found = approximations(case)
    if found is None:
        return NOTHING
    share = float(found.share[0])
    through = case.c * (1 - share) / case.tcp[0][0]
    return Said(share, float(found.h0[0]), float(found.b[0]), through, float(found.x1[0]), float(found.r[0]))


def table(cases: Sequence[Case], models: Sequence[str] = ("paper", "ours")) -> pl.DataFrame:
    """One row for each case: `experiment`, and `<model>_<quantity>` of these models and of the approximate one."""
    rows = []
    for case in cases:
        answers = {model: said(case, model) for model in models} | {"approximate": approximate(case)}
        row: dict[str, object] = {"experiment": case.id}
        for name, answer in answers.items():
            for quantity in QUANTITIES:
                value = getattr(answer, quantity)
                row[f"{name}_{quantity}"] = value if np.isfinite(value) else None
        rows.append(row)
    schema = {name: pl.String if name == "experiment" else pl.Float64 for name in rows[0]}
    return pl.DataFrame(rows, schema=schema, orient="row")


@dataclass(frozen=True)
class Needed:
    """A case of the candidates needed. `closed`: whether by the closed curve, of infinitely many TCP flows, it is
    enough;
    `full`: whether it is by the full model of as many as there are."""

    case: Case
    closed: bool
    full: bool


@cache
def needed() -> tuple[Needed, ...]:
    """For each number of unresponsive flows the least number of candidates that by the closed curve keeps them under
    `LIMIT_SHARE`, the least that by the full model does, and one less than each, at the rate where they get most."""
    result = []
    for k in NEEDED_FLOWS:
        closed, full = choke.candidates_for(k, LIMIT_SHARE), needed_at(k)
        assert closed is not None
        result += [
            Needed(needed_case(k, m, worst_rate(k, m)), m >= closed, m >= full)
            for m in sorted({closed, closed - 1, full, full - 1} - {0}, reverse=True)
        ]
    return tuple(result)


RATES = tuple(float(f"{rate:.2g}") for rate in np.geomspace(0.05, 20, 60))
"""Rates of one flow, in parts of the link's, among which the worst is looked for."""


@cache
def needed_at(k: int) -> int:
    """The least number of candidates that by the full model keeps `k` flows under `LIMIT_SHARE` beside `NEEDED_TCP`."""
    case = needed_case(k, 1, 1.0)
    found = choke.candidates_at(
        k, LIMIT_SHARE, N=NEEDED_TCP, c=case.c, f=choke.Padhye(case.tcp[0][1] / 1e3 + 1 / case.c),
        g=red(case, spaced=True, hold=True), rates=np.array(RATES) * case.c,
    ).m  # fmt: skip
    assert found is not None
    return found


@cache
def worst_rate(k: int, m: int) -> float:
    """The rate of each of `k` flows, in parts of the link's, at which they get most against `m` candidates: to two
    digits, at most 20."""
    shares = [np.nan if eq is None else eq.share for eq in solve([needed_case(k, m, rate) for rate in RATES], "ours")]
    return RATES[int(np.nanargmax(shares))]
