"""The theory of CHOKe for one link: what `sluicegate theory choke` computes, prints and writes.

Values are texts with units, as everywhere; the models themselves are `sluicegate.theory.choke`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..quantities import quantity
from . import choke

if TYPE_CHECKING:
    import polars as pl

LAWS = ("reno", "simple", "padhye", "vegas")
"""f(p, τ) by name."""

MOST_POINTS, MOST_TCP, MOST_UDP = 2000, 10**6, 1000
MOST_LOAD = 1e6
"""What can be asked for: points of a curve, flows, and a UDP rate in multiples of the link's."""


@dataclass(frozen=True, kw_only=True)
class ChokeTheory:
    """The models over a range of UDP rates; made by `theory_choke`.

    Attributes:
        udp_bps: The rate of each UDP flow at each point, bits per second.
        curve: The full model's solutions, one for each point.
        rough: The approximate model's solutions; None with several UDP flows or candidates.
        law: What TCP follows: one of `LAWS`.
        tcp: How many TCP flows.
        udp: How many UDP flows, all of the same rate.
        rate_bps: The link, bits per second.
        rtt_s: A round trip without queues, seconds.
        packet_bytes: The length of a packet.
        queue: Thresholds and max_p.
        candidates: m.
    """

    udp_bps: np.ndarray[Any, np.dtype[np.float64]]
    curve: choke.Equilibria
    rough: choke.Approximations | None
    law: str
    tcp: int
    udp: int
    rate_bps: int
    rtt_s: float
    packet_bytes: int
    queue: choke.Red
    candidates: int

    @property
    def c(self) -> float:
        """The link in packets per second."""
        return self.rate_bps / (8 * self.packet_bytes)

    @property
    def peak(self) -> int:
        """The point at which UDP has most."""
        return int(np.nanargmax(self.curve.share))

    @property
    def least_flows(self) -> float:
        """The estimate of Sec. VI of how many TCP flows keep CHOKe active."""
        return choke.least_flows(c=self.c, d=self.rtt_s, min_th=float(np.asarray(self.queue.min_th)))

    def rows(self) -> list[dict[str, float | str | None]]:
        """One for each point, with units in the names; None where the model has no answer, and `refusal` says why."""
        return [self._row(index) for index in range(len(self.udp_bps))]

    def _row(self, index: int) -> dict[str, float | str | None]:
        bits = 8 * self.packet_bytes
        row: dict[str, float | str | None] = {
            "udp_rate_bps": float(self.udp_bps[index]),
            "udp_load": float(self.udp_bps[index]) / self.rate_bps,
        }
        names = (
            "udp_share", "udp_throughput_bps", "tcp_throughput_per_flow_bps", "tcp_rate_per_flow_bps",
            "backlog_packets", "queueing_delay_s", "udp_occupancy", "udp_loss_ratio", "tcp_loss_ratio",
            "congestion_loss_ratio", "held_loss_ratio",
        )  # fmt: skip
        refusal = self.curve.refusals[index]
        if refusal is None:
            eq: choke.Equilibrium = self.curve[index]
            values = (
                eq.share, eq.share * self.rate_bps, eq.tcp.through * bits, eq.tcp.x * bits, eq.b, eq.tau, eq.occupancy,
                eq.udp.p, eq.tcp.p, eq.r, 1 - eq.admitted,
            )  # fmt: skip
            row |= dict(zip(names, values, strict=True))
        else:
            row |= dict.fromkeys(names)
        known = self.rough is not None and math.isfinite(self.rough.b[index])
        row["approximate_udp_share"] = float(self.rough.share[index]) if self.rough is not None and known else None
        row["approximate_backlog_packets"] = float(self.rough.b[index]) if self.rough is not None and known else None
        return row | {"refusal": None if refusal is None else str(refusal)}

    def table(self) -> pl.DataFrame:
        """`rows` as a DataFrame."""
        import polars as pl

        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def record(self) -> dict[str, Any]:
        """Everything as plain values for JSON."""
        queue = {name: float(np.asarray(getattr(self.queue, name))) for name in ("min_th", "max_th", "max_p")}
        return {
            "law": self.law,
            "uniform": self.queue.uniform,
            "tcp": self.tcp,
            "udp": self.udp,
            "rate_bps": self.rate_bps,
            "rtt_s": self.rtt_s,
            "packet_bytes": self.packet_bytes,
            "queue": queue | {"candidates": self.candidates},
            "least_tcp_flows": self.least_flows,
            "peak": self._row(self.peak),
            "worst_share_of_many_tcp_flows": choke.worst_share(self.udp, self.candidates),
            "points": self.rows(),
        }


def theory_choke(
    *,
    tcp: int,
    udp: str,
    rate: str,
    rtt: str,
    flows: int = 1,
    packet_size: str = "1000 B",
    min_th: float = 20,
    max_th: float = 520,
    max_p: float = 0.5,
    candidates: int = 1,
    law: str = "reno",
    alpha: float = 3.0,
    min_rto: str = "200 ms",
    uniform: bool = False,
    points: int = 50,
) -> ChokeTheory:
    """The theory of CHOKe at one link, over a range of UDP rates.

    `tcp`: how many TCP flows, all alike. `udp`: the rate of each unresponsive flow, "2 Mbit/s", or a range
    "0.1..10 Mbit/s" of which `points` are taken, evenly on a logarithmic scale; `flows`: how many of them. `rate`: of
    the link. `rtt`: round trip without queues. `min_th`, `max_th` in packets of `packet_size`, `max_p`, `candidates`:
    of the queue; defaults as recalled of Understanding CHOKe's simulations, whose max_th and max_p our text has lost.
    `law`: "reno", eq. (43); "simple", √(2/p)/(d + τ); "padhye", with timeouts of at least `min_rto`; "vegas", α/τ with
    `alpha` packets. `uniform`: count congestion drops as RED's uniform gaps space them, and so the discipline here;
    without it they are eq. (44)'s.

    Above max_th the queue is held there, which is not the paper's: see `sluicegate.theory.choke.Red`. Raises
    `ScenarioError` when a value is wrong, or the model has no answer at any point.
    """
    link, packet = quantity("rate", rate, "network.rate"), quantity("packet_size", packet_size, "flows.0.packet_size")
    d = quantity("rtt", rtt, "network.delay") / 1e9
    _whole("tcp", tcp, MOST_TCP)
    _whole("flows", flows, MOST_UDP)
    _whole("candidates", candidates, 64)
    _whole("points", points, MOST_POINTS)
    _range("min_th", min_th, min_th >= 2, "must be at least 2 packets")
    _range("max_th", max_th, max_th > min_th, f"must be above min_th, {min_th:g}")
    _range("max_p", max_p, 0 < max_p <= 1, "must be above 0 and at most 1")
    _range("alpha", alpha, alpha > 0, "must be above 0 packets")
    rates = _rates(udp, points)
    if rates[-1] > MOST_LOAD * link:
        raise _core.ScenarioError(f'udp = "{udp}": must be at most {MOST_LOAD:g} times the rate of the link')
    if law not in LAWS:
        raise _core.ScenarioError(f"law = {law}: no such law of TCP; known: {', '.join(LAWS)}")
    rto = quantity("min_rto", min_rto, "flows.0.stop") / 1e9
    laws: dict[str, choke.RateLaw] = {
        "reno": choke.Reno(d),
        "simple": choke.SimpleReno(d),
        "padhye": choke.Padhye(d, rto_min=rto),
        "vegas": choke.Vegas(alpha),
    }
    f, c, x0 = laws[law], link / (8 * packet), rates / (8 * packet)
    queue = choke.Red(min_th, max_th, max_p, hold=True, uniform=uniform)
    classes = [choke.FlowClass(flows, x0, "udp"), choke.FlowClass(tcp, f, "tcp")]
    curve = choke.equilibria_of(classes, c=c, g=queue, m=candidates)
    if all(curve.refusals):
        least = choke.least_active_flows(float(x0[-1]), c=c, f=f, g=queue, m=candidates) if flows == 1 else None
        fix = f" By the full model {least} TCP flows suffice." if least is not None else ""
        raise _core.ScenarioError(f"tcp = {tcp}: {curve.refusals[-1]}.{fix}")
    rough = None
    if flows == candidates == 1:
        rough = choke.approximate(x0, N=tcp, c=c, f=f, g=choke.Red(min_th, max_th, max_p, uniform=uniform))
    return ChokeTheory(
        udp_bps=rates,
        curve=curve,
        rough=rough,
        law=law,
        tcp=tcp,
        udp=flows,
        rate_bps=link,
        rtt_s=d,
        packet_bytes=packet,
        queue=queue,
        candidates=candidates,
    )


def _rates(text: str, points: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One rate, or as many of a range as asked for. Raises `ScenarioError`."""
    first, dots, last = text.partition("..")
    if not dots:
        return np.array([quantity("udp", text, "flows.0.rate")], dtype=float)
    unit = re.search(r"[^\d\s.+-].*$", last)
    if unit is not None and re.fullmatch(r"\s*[\d.]+(e[+-]?\d+)?\s*", first):
        first = f"{first.strip()} {unit[0]}"
    low, high = (quantity("udp", each.strip(), "flows.0.rate") for each in (first, last))
    if low >= high:
        raise _core.ScenarioError(f'udp = "{text}": the first rate of a range must be below the last')
    return np.geomspace(low, high, points)


def _whole(name: str, value: object, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise _core.ScenarioError(f"{name} = {value}: must be a whole number, from 1 to {most}")


def _range(name: str, value: float, right: bool, rule: str) -> None:
    if not (right and math.isfinite(value)):
        raise _core.ScenarioError(f"{name} = {value:g}: {rule}")
