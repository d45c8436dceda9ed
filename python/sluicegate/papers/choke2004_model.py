"""The models beside each case of "Understanding CHOKe": the full one twice, and the approximate one.

`paper`: eqs. (43) and (44) with the paper's round trip. `ours`: a law of TCP that knows time-outs, the drops of RED as
the discipline spaces them, and the round trip with the packet's own time on the link. Vegas has one law; there the two
differ by RED's drops alone.
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
    VEGAS_MAX_P,
    VEGAS_MAX_TH,
    Case,
    all_cases,
    needed_case,
)

MODELS = ("paper", "ours")


@dataclass(frozen=True)
class Said:
    """What a model says of a case: UDP's share of the link and of the queue (all unresponsive flows), the queue in
    packets, what one TCP flow gets in packets per second, and the same by group of flows; NaN where it says nothing."""

    share: float
    occupancy: float
    b: float
    tcp_flow: float
    groups: tuple[float, ...] = ()


NOTHING = Said(np.nan, np.nan, np.nan, np.nan)


def solve(cases: Sequence[Case], model: str) -> list[choke.Equilibrium | None]:
    """The equilibrium of each case, None where there is none. All must have as many groups of flows of each kind."""
    c = np.array([case.c for case in cases])
    vegas = cases[0].vegas
    classes = []
    for group in range(len(cases[0].tcp)):
        counts, trips = (np.array([case.tcp[group][which] for case in cases]) for which in (0, 1))
        d = trips / 1e3
        law: choke.RateLaw = choke.Reno(d) if model == "paper" else choke.Padhye(d + 1 / c)
        classes.append(
            choke.FlowClass(counts, choke.Vegas(np.array([case.alpha for case in cases])) if vegas else law, "tcp")
        )
    for group in range(len(cases[0].udp)):
        counts, rates = (np.array([case.udp[group][which] for case in cases]) for which in (0, 1))
        classes.append(choke.FlowClass(counts, rates * c, "udp"))
    ours = model == "ours"
    g = choke.Red(MIN_TH, VEGAS_MAX_TH if vegas else MAX_TH, VEGAS_MAX_P if vegas else MAX_P, hold=ours, uniform=ours)
    found = choke.equilibria_of(classes, c=c, g=g, m=np.array([float(case.candidates) for case in cases]))
    return [None if refusal else found[index] for index, refusal in enumerate(found.refusals)]


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
    groups = tuple(flow.count * flow.share for flow in eq.flows)
    return Said(eq.share, eq.occupancy, eq.b, eq.tcp.through, groups)


@cache
def approximate(case: Case) -> Said:
    """What the approximate model of Sec. III-C says of a case with one UDP flow and like TCP flows."""
    ((count, rtt),) = case.tcp
    with np.errstate(all="ignore"):
        found = choke.approximate(
            case.x0 * case.c, N=count, c=case.c, f=choke.Vegas(case.alpha) if case.vegas else choke.Reno(rtt / 1e3),
            g=choke.Red(MIN_TH, VEGAS_MAX_TH if case.vegas else MAX_TH, VEGAS_MAX_P if case.vegas else MAX_P),
        )  # fmt: skip
    share = float(found.share[0])
    return Said(share, float(found.h0[0]), float(found.b[0]), case.c * (1 - share) / count)


def table(cases: Sequence[Case]) -> pl.DataFrame:
    """One row for each case: `experiment`, and for each model `<model>_share`, `_occupancy`, `_b` and `_tcp_flow`."""
    rows = []
    for case in cases:
        answers = {"paper": said(case, "paper"), "ours": said(case, "ours"), "approximate": NOTHING}
        if (
            case.draw == "random"
            and len(case.tcp) == 1
            and len(case.udp) == 1
            and case.udp[0][0] == 1
            and case.candidates == 1
        ):
            answers["approximate"] = approximate(case)
        row: dict[str, object] = {"experiment": case.id}
        for name, answer in answers.items():
            for quantity in ("share", "occupancy", "b", "tcp_flow"):
                value = getattr(answer, quantity)
                row[f"{name}_{quantity}"] = value if np.isfinite(value) else None
        rows.append(row)
    schema = {name: pl.String if name == "experiment" else pl.Float64 for name in rows[0]}
    return pl.DataFrame(rows, schema=schema, orient="row")


@cache
def needed() -> tuple[tuple[Case, bool], ...]:
    """For each number of unresponsive flows the least number of candidates that by the closed curve keeps them under
    `LIMIT_SHARE`, at the rate where they get most, and one candidate fewer; whether it is enough."""
    result = []
    for k in NEEDED_FLOWS:
        m = choke.candidates_for(k, LIMIT_SHARE)
        assert m is not None
        result.append((needed_case(k, m, worst_rate(k, m)), True))
        result.append((needed_case(k, m - 1, worst_rate(k, m - 1)), False))
    return tuple(result)


@cache
def worst_rate(k: int, m: int) -> float:
    """The rate of each of `k` flows, in parts of the link's, at which they get most against `m` candidates: to two
    digits, at most 20."""
    rates = [float(f"{rate:.2g}") for rate in np.geomspace(0.05, 20, 60)]
    shares = [np.nan if eq is None else eq.share for eq in solve([needed_case(k, m, rate) for rate in rates], "ours")]
    return rates[int(np.nanargmax(shares))]
