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
from .controller import ControllerDesign, whole
from .red import Rule

GAIN = 2 / 9
"""The disciplines' default: with it the ratio of the gains is AFD's 1.7/1.8."""

LARGEST_GAIN = 0.3
"""Above it TCP's own answer to drops may take up the margin: at 10 % of drops it multiplies the loop by up to 5.5."""

SOURCE = "derived here"


@dataclass(frozen=True, kw_only=True)
class FairShareDesign(ControllerDesign):
    """Parameters of AFD or DCN for a number of flows, made by `design_afd` and `design_dcn`.

    Attributes:
        flows: The flows that the gains are for: in DCN's HB, or in AFD's shadow buffer.
        gain_margin: Stable up to so many times as many flows.
        phase_margin: Of the loop, in degrees.
        half_s: After so many seconds half of an error of the queue is gone.
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

    chosen = ("q_ref", "a", "b", "t_dec", "t_update")


class AfdDesign(FairShareDesign):
    """Parameters of AFD."""

    chosen = ("q_ref", "alpha", "beta", "b", "w")


def design_dcn(
    *,
    flows: int,
    q_ref: int = 24,
    t_dec: str = "800 ms",
    t_update: str = "6.25 ms",
    gain: float = GAIN,
    ecn: bool = False,
) -> DcnDesign:
    """Choose DCN's gains a and b for a number of high-bandwidth flows.

    `flows`: in HB at once. `q_ref`: the queue wanted, in packets. `t_dec`: the time in which a flow's fair share is
    p_ref packets. `t_update`: from one update of p_ref to the next. `gain`: the part of the queue's error that one
    update takes away by the next. `ecn`: mark what can carry a mark, and drop the others.

    Left out of a scenario, a and b follow the flows in HB. Raises `ScenarioError` when a value is wrong.
    """
    whole(flows=flows, q_ref=q_ref)
    dec, update = (quantity(name, text, "network.delay") / 1e9 for name, text in
                   (("t_dec", t_dec), ("t_update", t_update)))  # fmt: skip
    effect = flows * update / dec
    a, b = _gains(gain, effect)
    dcn = Dcn(q_ref=q_ref, a=a, b=b, t_dec=t_dec, t_update=t_update, **_action(ecn))  # type: ignore[arg-type]
    told = f"gain·t_dec/(N·t_update), {effect:.3g} packets for each of p_ref"
    return DcnDesign(queue=dcn, **_about(q_ref, flows, gain, update, ("a", a, "b", b, told)))


def design_afd(
    *,
    rate: str,
    flows: int,
    q_ref: int = 240,
    packet_size: str = "1000 B",
    b: int | None = None,
    w: float = 160.0,
    gain: float = GAIN,
    ecn: bool = False,
) -> AfdDesign:
    """Choose AFD's gains alpha and beta for a link and a number of flows.

    `rate`: of the link. `flows`: in the shadow buffer at once, `b` at most. `q_ref`: the queue wanted, in packets.
    `packet_size`: of a typical packet. `b`: packets in the shadow buffer (default: AFD's own for the link). `w`:
    samples of the queue in a second. `gain`: the part of the queue's error that one sample takes away by the next.
    `ecn`: mark what can carry a mark, and drop the others.

    Left out of a scenario, alpha and beta follow the flows in the buffer and the arrivals. Raises `ScenarioError` when
    a value is wrong.
    """
    whole(flows=flows, q_ref=q_ref)
    if not (isinstance(w, int | float) and math.isfinite(w) and 0 < w <= 1e9):
        raise _core.ScenarioError(f"w = {w}: must be above 0 and at most 1e9 Hz")
    rate_bps, packet = (
        quantity("rate", rate, "network.rate"),
        quantity("packet_size", packet_size, "flows.0.packet_size"),
    )
    b = _core.afd_samples(rate_bps, packet) if b is None else b
    whole(b=b)
    if flows > b:
        raise _core.ScenarioError(f"flows = {flows}: the shadow buffer holds b = {b} packets, and no more flows")
    packets = rate_bps / (8 * packet)
    effect = flows * packets / w / b
    alpha, beta = _gains(gain, effect)
    afd = Afd(q_ref=q_ref, alpha=alpha, beta=beta, b=b, w=w, **_action(ecn))  # type: ignore[arg-type]
    told = f"gain·b/(N·n), n = {packets / w:.3g} arrivals in 1/w"
    return AfdDesign(queue=afd, **_about(q_ref, flows, gain, 1 / w, ("alpha", alpha, "beta", beta, told)))


def _gains(gain: float, effect: float) -> tuple[float, float]:
    if not (isinstance(gain, int | float) and 0 < gain <= 1):
        raise _core.ScenarioError(f"gain = {gain}: must be above 0 and at most 1")
    return _core.fair_share_gains(gain, effect)


def _action(ecn: bool) -> dict[str, str]:
    return {"action": "mark"} if ecn else {}


def _about(
    q_ref: int, flows: int, gain: float, update_s: float, gains: tuple[str, float, str, float, str]
) -> dict[str, Any]:
    """What a design says beside its queue."""
    a, b = _core.fair_share_gains(gain, 1.0)
    margin, phase, half_s = 4 / (a + b), _phase_margin(a, b), _updates_to_half(a, b) * update_s
    (name_a, value_a, name_b, value_b, told) = gains
    rules = (
        Rule("q_ref", "=", q_ref, "as given", "as given"),
        Rule(name_b, "=", value_b, told, SOURCE),
        Rule(name_a, "=", value_a, f"{name_b}·(1 - gain/4): no overshoot", SOURCE),
        Rule("gain margin", "=", margin, f"stable up to {margin * flows:.3g} flows", SOURCE),
        Rule("phase margin", "=", phase, "degrees", SOURCE),
        Rule("half time", "=", half_s, "seconds until half of an error is gone", SOURCE),
    )
    warnings = []
    if gain > LARGEST_GAIN:
        warnings.append(
            f"a gain of {gain:g} leaves a gain margin of {margin:.3g}; where 10 % of packets are dropped TCP's own "
            f"answer can take 5.5 of it"
        )
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


def _updates_to_half(a: float, b: float) -> int:
    """Updates until half of an error is left that stood for two updates."""
    before, now, excess, updates = 1.0, 1.0, 0.0, 0
    while now > 0.5:
        excess += a * before - b * now
        before, now, updates = now, now + excess, updates + 1
    return updates
