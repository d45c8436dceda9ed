"""Where UDP's packets are in the queue (Sec. V-B): snapshots beside ρ(y) of the full and of the approximate model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..experiments.engine import Tables
from ..theory import choke
from .choke2004 import density
from .choke2004_cases import Case
from .choke2004_model import approximations, equilibria

Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""ρ over the place, 0 at the tail and 1 at the head."""

HEAD = 1.0
"""The place of the packet at the very head."""


def densities(results: Tables, cases: Sequence[Case]) -> dict[str, pl.DataFrame]:
    """ρ by seed and place of each case, by its id."""
    return {case.id: density(results, case) for case in cases}


def model_rho(case: Case, model: str) -> Curve:
    """ρ of a full model, all unresponsive flows together."""
    eq = equilibria(model)[case.id]
    assert eq is not None, f"{model} has no answer for {case.id}"
    space = choke.space(eq)
    udp = [index for index, flow in enumerate(eq.flows) if not flow.responsive]
    return lambda place: np.asarray(sum(space.rho(np.asarray(place) * space.b, flow=index) for index in udp))


def approximate_rho(case: Case) -> Curve | None:
    """ρ of the approximate model: h_1 = 0, so that UDP's packets alone are hit on their way. None where it has no
    answer.

    With x_0(1 − r) arrivals that hit, A_0 = x_0(1 − r)(1 − h_0) and A_1 = c(1 − μ_0) packets enter each second: ρv =
    A_0·e^(βx_0(1−r)t), v = ρv + A_1, y = ∫v dt, which is b at t = τ by (14) and (16).
    """
    found = approximations(case)
    if found is None or found.refusals[0] is not None:
        return None
    b, tau, r, h0, share = (float(each[0]) for each in (found.b, found.tau, found.r, found.h0, found.share))
    x0 = case.x0 * case.c
    decay = -np.log1p(-1 / b) * x0 * (1 - r)
    udp, tcp = x0 * (1 - r) * (1 - h0), case.c * (1 - share)
    t = np.linspace(0, tau, 2001)
    flux = udp * np.exp(-decay * t)
    y = udp * -np.expm1(-decay * t) / decay + tcp * t
    return lambda place: np.interp(np.asarray(place) * y[-1], y, flux / (flux + tcp))
