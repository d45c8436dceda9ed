"""What the models say: the full one in several forms, and the approximate one.

`full`: eqs. (43) and (44) with the paper's round trip. `refined`: a law of TCP that knows timeouts, the drops of RED as
the discipline spaces them, and the round trip with the packet's own time on the link. Between the two stand the models
that change one of these alone: `timeouts`, `gaps` and `own_time`. Vegas has one law, and no round trip in it; there
RED's drops alone tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...plot import style as plot
from ...reproduce import Curve, Quantity, Runs, not_above
from ...theory import choke
from .network import MAX_P, MAX_TH, MIN_TH, VEGAS_MAX_P, VEGAS_MAX_TH, Network, networks

MODELS = {
    "full": (False, False, False),
    "own_time": (False, False, True),
    "timeouts": (True, False, False),
    "gaps": (False, True, False),
    "refined": (True, True, True),
}
"""Of each: whether its law of TCP knows timeouts, whether RED's drops are spaced, whether the round trip has the
packet's own time on the link. All but the full model stay at max_th where the queue would be longer."""

STYLES = {
    "full": plot.Style("full model, (43) and (44)", plot.BLUE, "-", ""),
    "refined": plot.Style("full model, timeouts and RED's gaps", plot.GREEN, "--", ""),
    "approximate": plot.Style("approximate model", plot.PURPLE, ":", ""),
}
"""The three models that simulations are compared with."""

VEGAS_STYLES = STYLES | {
    "full": replace(STYLES["full"], label="full model, (44)"),
    "refined": replace(STYLES["refined"], label="full model, RED's gaps"),
}


@dataclass(frozen=True)
class Prediction:
    """What a model says of a point, as the measures of these names; NaN where it says nothing."""

    share: float = np.nan
    occupancy: float = np.nan
    b: float = np.nan
    tcp_flow: float = np.nan
    x1: float = np.nan
    p1: float = np.nan


QUANTITIES = tuple(field.name for field in fields(Prediction))


def red(network: Network, spaced: bool, hold: bool = False) -> choke.Red:
    """RED as the network has it; `spaced`: with the drops of its uniform gaps, else eq. (44)."""
    max_th, max_p = (VEGAS_MAX_TH, VEGAS_MAX_P) if network.vegas else (MAX_TH, MAX_P)
    return choke.Red(MIN_TH, max_th, max_p, hold=hold, uniform=spaced)


@cache
def equilibria(points: tuple[Network, ...], model: str) -> tuple[choke.Equilibrium | None, ...]:
    """The full model's solution at each point, None where there is none. All points have as many groups of flows."""
    c = np.array([point.c for point in points])
    timeouts, spaced, own_time = MODELS[model]
    classes = []
    for group in range(len(points[0].tcp)):
        counts, trips = np.array([point.tcp[group] for point in points], dtype=float).T
        trip = trips / 1e3 + (1 / c if own_time else 0)
        law: choke.RateLaw = choke.Padhye(trip) if timeouts else choke.Reno(trip)
        if points[0].vegas:
            law = choke.Vegas(np.array([point.alpha for point in points]))
        classes.append(choke.FlowClass(counts, law, "tcp"))
    for group in range(len(points[0].udp)):
        counts, rates = np.array([point.udp[group] for point in points], dtype=float).T
        classes.append(choke.FlowClass(counts, rates * c, "udp"))
    g = red(points[0], spaced, hold=model != "full")
    found = choke.equilibria_of(classes, c=c, g=g, m=np.array([float(point.m) for point in points]))
    return tuple(None if refusal else found[index] for index, refusal in enumerate(found.refusals))


@cache
def approximations(network: Network) -> choke.Approximations | None:
    """The approximate model of Sec. III-C, which has one UDP flow, like TCP flows and one candidate; else None."""
    if not len(network.tcp) == len(network.udp) == network.udp[0][0] == network.m == 1 or network.draw != "random":
        return None
    ((count, rtt),) = network.tcp
    f: choke.RateLaw = choke.Vegas(network.alpha) if network.vegas else choke.Reno(rtt / 1e3)
    return choke.approximate(network.udp[0][1] * network.c, N=count, c=network.c, f=f, g=red(network, spaced=False))


def predictions(points: tuple[Network, ...], model: str) -> list[Prediction]:
    """What a model says of each point; nothing of Front and Back CHOKe."""
    if model == "approximate":
        return [_approximate(point) for point in points]
    if any(point.draw != "random" for point in points):
        return [Prediction()] * len(points)
    return [
        Prediction() if eq is None
        else Prediction(100 * eq.share, eq.occupancy, eq.b, eq.tcp.through, eq.tcp.x, 100 * eq.tcp.p)
        for eq in equilibria(points, model)
    ]  # fmt: skip


def _approximate(network: Network) -> Prediction:
    found = approximations(network)
    if found is None:
        return Prediction()
    share, h0, b, x1, r = (float(each[0]) for each in (found.share, found.h0, found.b, found.x1, found.r))
    return Prediction(100 * share, h0, b, network.c * (1 - share) / network.tcp[0][0], x1, 100 * r)


def predicted(runs: Runs, axis: str, name: str, model: str) -> Curve:
    """What a model says of a measure over an axis."""
    measured = runs.over(axis, name)
    said = [getattr(each, name) for each in predictions(networks(runs), model)]
    quantities = (replace(at, values=(value,) * len(at.values)) for at, value in zip(measured, said, strict=True))
    return replace(measured, quantities=tuple(quantities))


def compared(runs: Runs, models: Iterable[str] = STYLES) -> pl.DataFrame:
    """Means over seeds of what models speak of, a row for each point, and `<model>_<quantity>` of each model."""
    table = runs.frame(*QUANTITIES)
    for model in models:
        said = np.array([astuple(each) for each in predictions(networks(runs), model)])
        names = [f"{model}_{name}" for name in QUANTITIES]
        table = table.with_columns(pl.Series(name, said[:, i]).fill_nan(None) for i, name in enumerate(names))
    return table


# Comparing --------------------------------------------------------------------------------------------------------

CLOSE = 10.0
"""What "matches closely" is taken to mean: a tenth, in per cent."""

MATCH = not_above(CLOSE, "our reading of “match very well”")
HALF_MATCH = not_above(CLOSE / 2, "half of a tenth")


def without_sign(quantity: Quantity) -> Quantity:
    """The size of a difference, seed by seed."""
    return replace(quantity, values=tuple(map(abs, quantity.values)))


def farthest(*curves: Iterable[Quantity]) -> Quantity:
    """The difference that is farthest from 0, without its sign; points without a number are left out."""
    known = [each for each in chain(*curves) if np.isfinite(each.values).all()]
    found = max(known, key=lambda each: abs(each.mean))
    side, sign = ("above", 1) if found.mean >= 0 else ("below", -1)
    return (found * sign).as_(f"{found.label}, greatest difference ({side})", found.unit)


def off(runs: Runs, axis: str, name: str, model: str) -> Quantity:
    """How far a measure is from a model at the worst point of an axis, in per cent of the model."""
    return farthest(runs.over(axis, name).gain_over(predicted(runs, axis, name, model))).as_(unit="% of the model")


Density = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""ρ over the place, 0 at the tail and 1 at the head."""


def densities(points: tuple[Network, ...], model: str) -> list[Density | None]:
    """ρ of all unresponsive flows together, at each point; None where the model has no answer."""
    if model == "approximate":
        return [approximate_density(point) for point in points]
    return [None if eq is None else _density(eq) for eq in equilibria(points, model)]


def _density(eq: choke.Equilibrium) -> Density:
    space = choke.space(eq)
    udp = [index for index, flow in enumerate(eq.flows) if not flow.responsive]
    return lambda place: np.asarray(sum(space.rho(np.asarray(place) * space.b, flow=index) for index in udp))


def approximate_density(network: Network) -> Density | None:
    """ρ of the approximate model: h_1 = 0, so that UDP's packets alone are hit on their way.

    With x_0(1 − r) arrivals that hit, A_0 = x_0(1 − r)(1 − h_0) and A_1 = c(1 − μ_0) packets enter each second: ρv =
    A_0·e^(βx_0(1−r)t), v = ρv + A_1, y = ∫v dt, which is b at t = τ by (14) and (16).
    """
    found = approximations(network)
    if found is None or found.refusals[0] is not None:
        return None
    b, tau, r, h0, share = (float(each[0]) for each in (found.b, found.tau, found.r, found.h0, found.share))
    x0 = network.udp[0][1] * network.c
    decay = -np.log1p(-1 / b) * x0 * (1 - r)
    udp, tcp = x0 * (1 - r) * (1 - h0), network.c * (1 - share)
    t = np.linspace(0, tau, 2001)
    flux = udp * np.exp(-decay * t)
    y = udp * -np.expm1(-decay * t) / decay + tcp * t
    return lambda place: np.interp(np.asarray(place) * y[-1], y, flux / (flux + tcp))


# Shares of groups ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Share:
    """A group's share of the link, measured and by a model, in per cent."""

    measured: Quantity
    model: float
    group: str


def shares_hold(rows: Sequence[Share]) -> Quantity:
    """How far groups' shares are from a model at the worst of them, over what is allowed: a tenth of the model's share,
    the 95 % interval over seeds, and 0.2 % of the link."""

    def used(row: Share) -> float:
        return abs(row.measured.mean - row.model) / (CLOSE / 100 * row.model + row.measured.spread.margin + 0.2)

    worst = max((row for row in rows if np.isfinite(row.model)), key=used)
    told = f"{worst.group}, {worst.measured.mean:.2f} % and by the model {worst.model:.2f} %"
    label = "greatest difference of a group's share of the link from the model's, over what is allowed"
    where = {row.measured.where for row in rows}
    return Quantity((used(worst),), "times", label, where=where.pop() if len(where) == 1 else "", at=told)


def both(share: Quantity, model: float, whom: str = "") -> list[Share]:
    """The share of all unresponsive flows, and what they leave to TCP."""
    where = f", {whom}" if whom else ""
    return [Share(share, model, f"UDP{where}"), Share(share * -1 + 100, 100 - model, f"TCP{where}")]
