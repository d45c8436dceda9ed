"""The models beside each case of "Understanding CHOKe": the full one twice, and the approximate one.

`paper`: eqs. (43) and (44) with the paper's round trip. `ours`: a law of TCP that knows timeouts, the drops of RED as the
discipline spaces them, and the round trip with the packet's own time on the link. Vegas has one law; there the two
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
    ALPHA,
    LIMIT_SHARE,
    MAX_P,
    MAX_TH,
    MIN_TH,
    NEEDED_FLOWS,
    VEGAS_MAX_TH,
    Case,
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


def _law(case: Case, rtt_ms: float, model: str) -> choke.RateLaw:
    if case.vegas:
        return choke.Vegas(ALPHA)
    d = rtt_ms / 1e3
    return choke.Reno(d) if model == "paper" else choke.Padhye(d + 1 / case.c)


def _red(case: Case, model: str) -> choke.Red:
    return choke.Red(
        MIN_TH, VEGAS_MAX_TH if case.vegas else MAX_TH, MAX_P, hold=model == "ours", uniform=model == "ours"
    )


def solve(case: Case, model: str) -> choke.Equilibrium:
    """The equilibrium of a case. Raises `choke.ChokeError` where there is none."""
    classes = [
        *(choke.FlowClass(count, _law(case, rtt, model), f"tcp {rtt:g} ms") for count, rtt in case.tcp),
        *(choke.FlowClass(count, rate * case.c, f"udp {rate:g}") for count, rate in case.udp),
    ]
    return choke.equilibrium_of(classes, c=case.c, g=_red(case, model), m=case.candidates)


@cache
def said(case: Case, model: str) -> Said:
    """What the full model says of a case."""
    try:
        eq = solve(case, model)
    except choke.ChokeError:
        return NOTHING
    groups = tuple(flow.count * flow.share for flow in eq.flows)
    return Said(eq.share, eq.occupancy, eq.b, eq.tcp.through, groups)


@cache
def approximate(case: Case) -> Said:
    """What the approximate model of Sec. III-C says of a case with one UDP flow and like TCP flows."""
    ((count, rtt),) = case.tcp
    with np.errstate(all="ignore"):
        found = choke.approximate(
            case.x0 * case.c, N=count, c=case.c, f=_law(case, rtt, "paper"), g=_red(case, "paper")
        )
    share = float(found.share[0])
    return Said(share, float(found.h0[0]), float(found.b[0]), case.c * (1 - share) / count)


def table(cases: Sequence[Case]) -> pl.DataFrame:
    """One row for each case: `experiment`, and for each model `<model>_share`, `_occupancy`, `_b` and `_tcp_flow`."""
    rows = []
    for case in cases:
        answers = {"paper": said(case, "paper"), "ours": said(case, "ours"), "approximate": NOTHING}
        if len(case.tcp) == 1 and len(case.udp) == 1 and case.udp[0][0] == 1 and case.candidates == 1:
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
    case = needed_case(k, m, 1.0)
    rates = np.geomspace(0.05, 20, 60)
    shares = [said(case.at(float(f"{rate:.2g}")), "ours").share for rate in rates]
    return float(f"{rates[int(np.nanargmax(shares))]:.2g}")
