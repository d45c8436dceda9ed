"""Parameters for AFD and DCN: the gains of the controller that moves a flow's fair share.

Both disciplines derive their gains while they run, from the flows that they hold (crates/aqm/src/fair_share.rs, where
the formula and its derivation are). Here are the gains for a given number of flows, and the margins that they leave.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._generated import Afd, Dcn
from ..quantities import quantity
from .common import Design, Rule, check_samples, default, room, whole

LARGEST_GAIN = 0.3
"""Above it TCP's own answer to drops may take up the margin (crates/aqm/src/fair_share.rs)."""

SOURCE = "derived here"


@dataclass(frozen=True, kw_only=True)
class FairShareDesign(Design):
    """Parameters of AFD or DCN for a number of flows, made by `design_afd` and `design_dcn`.

    Attributes:
        flows: The number of flows for the gains: in DCN's HB, or in AFD's shadow buffer.
        gain_margin: The factor by which the number of flows may grow before the loop becomes unstable.
        phase_margin: Of the loop, in degrees.
        half_s: The time in seconds in which the loop removes half of a queue error that has lasted two updates.

    >>> design = sg.design_dcn(flows=200)
    >>> print(f"{design.gain_margin:.1f} times as many flows; {design.phase_margin:.0f} degrees")
    9.3 times as many flows; 69 degrees
    """

    flows: int
    gain_margin: float
    phase_margin: float
    half_s: float

    def record(self) -> dict[str, object]:
        """Everything as plain values for JSON."""
        names = ("flows", "gain_margin", "phase_margin", "half_s")
        return {name: getattr(self, name) for name in names} | super().record()


class DcnDesign(FairShareDesign):
    """Parameters of DCN."""

    chosen = ("q_ref", "limit", "a", "b", "t_dec", "t_update")


class AfdDesign(FairShareDesign):
    """Parameters of AFD."""

    chosen = ("q_ref", "limit", "alpha", "beta", "b", "w")


def design_dcn(
    *,
    flows: int,
    q_ref: int | None = None,
    t_dec: str | None = None,
    t_update: str | None = None,
    gain: float | None = None,
    ecn: bool = False,
) -> DcnDesign:
    """Choose DCN's gains a and b for a number of flows in HB, its table of high-bandwidth flows.

    `flows`: in HB at once. `q_ref`: the queue length to hold, in packets. `t_dec`: the time in which a flow sends p_ref
    packets at its fair share. `t_update`: from one update of p_ref to the next. `gain`: the fraction of a sudden
    queue error that is gone one update later. If one of these is left out, it is DCN's default for a link of up
    to 100 Mbit/s. `ecn`: mark ECN-capable packets, and drop the others.

    If a scenario leaves a and b out, they follow the flows in HB. Raises `ScenarioError` when a value is wrong.

    >>> design = sg.design_dcn(flows=200, t_dec="400 ms")
    >>> net = sg.dumbbell(rate="50 Mbit/s", queue=design.queue)
    """
    q_ref = default("dcn", "q_ref") if q_ref is None else q_ref
    gain = default("dcn", "gain") if gain is None else gain
    t_dec, t_update = t_dec or default("dcn", "t_dec"), t_update or default("dcn", "t_update")
    whole(flows=flows, q_ref=q_ref)
    most = default("dcn", "hb_flows")
    if flows > most:
        raise _core.ScenarioError(f"flows = {flows}: HB, DCN's table of high-bandwidth flows, holds at most {most}")
    dec, update = (quantity(name, text, "network.delay") / 1e9 for name, text in
                   (("t_dec", t_dec), ("t_update", t_update)))  # fmt: skip
    warnings = []
    if update > dec:
        warnings.append(
            f"t_update = {t_update} is longer than t_dec = {t_dec}: counts are lowered several times by the same p_ref"
        )
    effect = flows * update / dec
    a, b = _gains(gain, effect)
    limit = room("dcn", q_ref)
    dcn = Dcn(q_ref=q_ref, limit=limit, a=a, b=b, t_dec=t_dec, t_update=t_update, **_action(ecn))  # type: ignore[arg-type]
    told = f"gain·t_dec/(N·t_update): raising p_ref by a packet adds {effect:.3g} packets in each t_update"
    about = _about(q_ref, limit, flows, most, gain, update, ("a", a, "b", b, told), warnings)
    return DcnDesign(queue=dcn, **about)


def design_afd(
    *,
    rate: str,
    flows: int,
    q_ref: int | None = None,
    packet_size: str = "1500 B",
    b: int | None = None,
    w: float | None = None,
    gain: float | None = None,
    ecn: bool = False,
) -> AfdDesign:
    """Choose AFD's gains alpha and beta for a link and a number of flows.

    `rate`: of the link. `flows`: in the shadow buffer at once, at most `b`. `q_ref`: the queue length to hold, in
    packets. `packet_size`: of a typical packet. `b`: packets in the shadow buffer (default: AFD's own for the link).
    `w`: samples of the queue per second. `gain`: the fraction of a sudden queue error that is gone one sample later.
    If `q_ref`, `w` or `gain` is left out, it is AFD's default. `ecn`: mark ECN-capable packets, and drop the
    others.

    If a scenario leaves alpha and beta out, AFD derives them during the run from the numbers of flows and packets in
    the shadow buffer and of arrivals per sample. Raises `ScenarioError` when a value is wrong.

    >>> design = sg.design_afd(rate="100 Mbit/s", flows=400)
    >>> sorted(design.values())
    ['alpha', 'b', 'beta', 'limit', 'q_ref', 'w']
    """
    rate_bps, packet = (
        quantity("rate", rate, "network.rate"),
        quantity("packet_size", packet_size, "flows.0.packet_size"),
    )
    q_ref = default("afd", "q_ref", rate) if q_ref is None else q_ref
    gain = default("afd", "gain") if gain is None else gain
    w = default("afd", "w") if w is None else w
    whole(flows=flows, q_ref=q_ref)
    check_samples(w)
    b = _core.afd_samples(rate_bps, packet) if b is None else quantity("b", b, "queue.afd.b")
    if flows > b:
        raise _core.ScenarioError(f"flows = {flows}: the shadow buffer holds b = {b} packets, so at most {b} flows")
    arrivals = max(rate_bps / (8 * packet) / w, 1.0)
    alpha, beta = _gains(gain, flows * arrivals / b)
    limit = room("afd", q_ref, rate)
    afd = Afd(q_ref=q_ref, limit=limit, alpha=alpha, beta=beta, b=b, w=w, **_action(ecn))  # type: ignore[arg-type]
    told = f"gain·b/(N·n), n = {arrivals:.3g} arrivals in 1/w"
    about = _about(q_ref, limit, flows, b, gain, 1 / w, ("alpha", alpha, "beta", beta, told), [])
    return AfdDesign(queue=afd, **about)


def _gains(gain: float, effect: float) -> tuple[float, float]:
    if isinstance(gain, bool) or not (isinstance(gain, int | float) and 0 < gain <= 1):
        raise _core.ScenarioError(f"gain = {gain}: must be above 0 and at most 1")
    a, b = _core.fair_share_gains(gain, effect)
    if not 0 < a < b < math.inf:
        raise _core.ScenarioError(f"gain = {gain}: too small or too large: no two gains with 0 < a < b follow from it")
    return a, b


def _action(ecn: bool) -> dict[str, str]:
    return {"action": "mark"} if ecn else {}


def _about(
    q_ref: int,
    limit: int,
    flows: int,
    most: int,
    gain: float,
    update_s: float,
    gains: tuple[str, float, str, float, str],
    warnings: list[str],
) -> dict[str, Any]:
    """What a design says beside its queue. `most`: flows that its table holds."""
    a, b = _core.fair_share_gains(gain, 1.0)
    margin, phase, half_s = 4 / (a + b), _phase_margin(a, b), _updates_to_half(gain) * update_s
    (name_a, value_a, name_b, value_b, told) = gains
    held = f"stable with all {most} flows that it can hold"
    stable = f"stable up to {margin * flows:.3g} flows" if margin * flows < most else held
    rules = (
        Rule("q_ref", "=", q_ref, "as given", "as given"),
        Rule("limit", "=", limit, "the discipline's own, or 4 q_ref where that is more", "chosen here"),
        Rule(name_b, "=", value_b, told, SOURCE),
        Rule(name_a, "=", value_a, f"{name_b}·(1 - gain/4): critical damping", SOURCE),
        Rule("gain margin", "=", margin, stable, SOURCE),
        Rule("phase margin", "=", phase, "degrees", SOURCE),
        Rule("half time", "=", half_s, "seconds until half of a standing error is gone", SOURCE),
    )
    if gain > LARGEST_GAIN:
        warnings = [
            *warnings,
            f"a gain of {gain:g} leaves a gain margin of {margin:.3g}; if 10 % of packets are dropped, TCP's own "
            f"reaction can use up 5.5 of that margin, and more if fewer are dropped",
        ]
    return {"rules": rules, "warnings": tuple(warnings), "flows": flows, "gain_margin": margin, "phase_margin": phase,
            "half_s": half_s}  # fmt: skip


def _phase_margin(a: float, b: float) -> float:
    """Degrees from -180 where the loop (b - a/z)/(1 - 1/z)·(1/z)/(1 - 1/z) has an amplitude of 1."""

    def loop(angle: float) -> complex:
        z = cmath.exp(1j * angle)
        return (b - a / z) * z / (z - 1) ** 2

    low, high = 1e-6, math.pi
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if abs(loop(middle)) > 1 else (low, middle)
    return 180 + math.degrees(cmath.phase(loop(low)))


def _updates_to_half(gain: float) -> float:
    """Updates until half of an error is left that stood for two: of (1 + k·gain/2)·(1 - gain/2)^k, the solution with a
    double root."""
    low, high = 0.0, 4 / gain
    for _ in range(100):
        k = (low + high) / 2
        left = math.log1p(k * gain / 2) + k * math.log1p(-gain / 2)
        low, high = (k, high) if left > math.log(0.5) else (low, k)
    return math.ceil(round(high, 6))
