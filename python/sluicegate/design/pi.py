"""Parameters for PI: the controller's gains for a link and its load (Hollot, Misra, Towsley & Gong 2001).

The formula is the core's (`Gains::of` in crates/aqm/src/pi); this module has its arguments, checks and results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import _core
from .._generated import Pi
from ..quantities import duration, quantity
from .common import Design, Rule, check_samples, ns2_lines, whole

LEAST_SAMPLES = 20
"""Samples in one time constant of the controller: with fewer the discrete law is no longer near the continuous one."""


@dataclass(frozen=True, kw_only=True)
class PiDesign(Design):
    """Parameters of PI for a link, made by `design_pi`.

    Attributes:
        rate_bps: The link, bits per second.
        rtt_s: The round trip R, queueing included, in seconds.
        flows: The long flows N.
        packet_bytes: The length of a packet.
        c: The link C, in packets per second.

    >>> design = sg.design_pi(rate="30 Mbit/s", rtt="246 ms", flows=60)
    >>> design.c, sorted(design.values())
    (2500.0, ['a', 'b', 'limit', 'q_ref', 'w'])
    """

    queue: Pi
    rate_bps: int
    rtt_s: float
    flows: int
    packet_bytes: int
    c: float

    chosen = ("q_ref", "a", "b", "w", "limit")

    def ns2(self) -> str:
        """Lines for ns-2, to run before its links are made."""
        gains = {name: f"{getattr(self.queue, name):.9g}" for name in ("a", "b", "w")}
        return ns2_lines("PI", self.queue, **gains, qref=self.queue.q_ref, limit=self.queue.limit)

    def record(self) -> dict[str, object]:
        """Everything as plain values for JSON."""
        given = {name: getattr(self, name) for name in ("rate_bps", "rtt_s", "flows", "packet_bytes", "c")}
        return given | super().record() | {"ns2": self.ns2()}


def design_pi(
    *,
    rate: str,
    rtt: str,
    flows: int,
    q_ref: int = 50,
    packet_size: str = "1500 B",
    w: float = 170.0,
    ecn: bool = False,
) -> PiDesign:
    """Choose PI's gains for a link (Hollot, Misra, Towsley & Gong 2001).

    `rate`: of the link. `rtt`: the longest typical round trip of its flows, queueing included. `flows`: the least
    number of long TCP flows. `q_ref`: the queue length to hold, in packets. `packet_size`: of a typical packet. `w`:
    samples of the queue per second. `ecn`: mark ECN-capable packets, and drop the others.

    With more flows or shorter round trips the queue stays stable, but reacts more slowly. Raises `ScenarioError` when a
    value is wrong.

    >>> design = sg.design_pi(rate="30 Mbit/s", rtt="246 ms", flows=60)
    >>> print(f"a = {design.queue.a:.3g}, b = {design.queue.b:.3g}")
    a = 6.32e-05, b = 6.29e-05
    """
    rate_bps = quantity("rate", rate, "network.rate")
    r = quantity("rtt", rtt, "network.delay") / 1e9
    packet = quantity("packet_size", packet_size, "flows.0.packet_size")
    whole(flows=flows, q_ref=q_ref)
    check_samples(w)
    c = rate_bps / (8 * packet)
    z = 2 * flows / (r * r * c)
    if w <= z / 2:
        raise _core.ScenarioError(
            f"w = {w:g}: too few samples for a controller with its zero at {z:.3g} rad/s; must be above {z / 2:.3g} Hz"
        )
    a, b = _core.pi_gains(flows, r, c, w)
    limit = q_ref + max(q_ref, math.ceil(r * c))
    source = "Hollot et al. 2001"
    rules = (
        Rule("q_ref", "=", q_ref, f"{duration(q_ref / c)} of queueing delay", "as given"),
        Rule("a", "=", a, f"K·(1/z + T/2), z = 2N/(R²C) = {z:.3g} rad/s", source),
        Rule("b", "=", b, "K·(1/z - T/2), K = z·|1 + jzR|·(2N)²/(RC)³", source),
        Rule("w", "=", float(w), f"1/T; {w / z:.3g} samples in one time constant 1/z", "as given"),
        Rule(
            "limit",
            "=",
            limit,
            "q_ref, and above it as much again, or one round trip of the link if that is more",
            "chosen here",
        ),
    )
    warnings = []
    window = (r * c) / flows
    if window < 2:
        warnings.append(
            f"{flows} flows share {r * c:.3g} packets of a round trip: windows of {window:.2g} packets are smaller "
            f"than the model behind the gains assumes, and such flows wait for timeouts"
        )
    if w < LEAST_SAMPLES * z:
        warnings.append(
            f"w = {w:g} Hz gives {w / z:.3g} samples in one time constant of the controller; "
            f"{LEAST_SAMPLES * z:.3g} Hz would keep the sampled law near the continuous one"
        )
    action = {"action": "mark"} if ecn else {}
    return PiDesign(
        queue=Pi(q_ref=q_ref, a=a, b=b, w=float(w), limit=limit, **action),  # type: ignore[arg-type]
        rules=rules,
        warnings=tuple(warnings),
        rate_bps=rate_bps,
        rtt_s=r,
        flows=flows,
        packet_bytes=packet,
        c=c,
    )
