"""Theory laid over a simulation: one CHOKe bottleneck, what was measured beside what the model says.

Two laws of TCP are solved, eq. (43), which knows no timeouts, and one that does: where windows are small the first
gives a longer queue, while shares hardly differ. Congestion drops are counted as the discipline spaces them, r =
2·p_b/(1 + p_b); with (44), r = p_b, the queue of the model would be about a quarter longer. The round trip without
queues is each flow's `base_rtt_ns` and the time that one packet takes at the bottleneck.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..quantities import in_base_unit
from ..results import Run
from . import choke

LAWS = {"reno": "Reno, eq. (43)", "padhye": "Reno with timeouts", "vegas": "Vegas, α/τ"}
"""What TCP follows, and how it is called. Where all TCP flows are Vegas there is the last alone, else the others: Vegas
flows among others follow their own with either."""

SQUARE_ROOT = ("tahoe", "reno", "newreno", "sack", "vegas")
"""Algorithms whose window follows the laws; Vegas has its own, whichever is asked for."""

MOST_ROUND_TRIPS = 16
"""Round trips of a group are told apart up to so many; more are put together with their neighbours."""


@dataclass(frozen=True)
class Quantity:
    """One number: measured, and by each law; None where there is none. `group`: of flows, or None for the queue."""

    name: str
    unit: str
    group: int | None
    measured: float | None
    theory: dict[str, float | None]


@dataclass(frozen=True)
class Overlay:
    """What was measured beside the model, made by `overlay`.

    Attributes:
        quantities: Per group throughput (bits per second, all its flows), share of the link, of the queue, and loss; of
            the queue backlog (packets) and delay (seconds).
        groups: The names of the groups of flows.
        refusals: For each law None, or why the model has no answer.
        held: For each law, the share of arrivals dropped at max_th before any comparison.
        series: Times and lengths of the measured queue, seconds and packets.
        warnings: What of the scenario the laws leave out.
    """

    quantities: tuple[Quantity, ...]
    groups: tuple[str, ...]
    refusals: dict[str, str | None]
    held: dict[str, float]
    series: tuple[list[float], list[float]]
    warnings: tuple[str, ...] = ()

    @property
    def laws(self) -> dict[str, str]:
        """The laws that were solved, by name, and how each is called."""
        return {law: LAWS[law] for law in self.refusals}

    def record(self) -> dict[str, Any]:
        """Everything but the series, as plain values for JSON."""
        return {
            "groups": list(self.groups),
            "quantities": [vars(quantity) for quantity in self.quantities],
            "refusals": self.refusals,
            "held_loss_ratio": self.held,
            "warnings": list(self.warnings),
        }


def check(scenario: dict[str, Any], name: str) -> None:
    """Raise `ScenarioError` unless the model covers the resolved scenario: one bottleneck with CHOKe, lasting flows."""

    def refuse(key: str, rule: str) -> None:
        raise _core.ScenarioError(f"{name}: {key}: {rule} (asked for by --with-theory)")

    queue, flows = scenario["queue"], scenario["flows"]
    if "links" in scenario["network"]:
        refuse("network.links", "the theory knows one bottleneck only; describe it by network.rate")
    if queue["discipline"] != "choke":
        refuse("queue.discipline", f'the theory is CHOKe\'s, not that of "{queue["discipline"]}"; choose "choke"')
    for key, needed in (("draw", "random"), ("regions", 0), ("action", "drop")):
        if queue[key] != needed:
            refuse(f"queue.choke.{key}", f'must be "{needed}" for the theory' if key != "regions" else "must be 0")
    if not queue["min_th"] >= 2:
        refuse("queue.min_th", "must be at least 2 packets for the theory")
    if not any(flow["kind"] == "tcp" for flow in flows):
        refuse("flows", "the theory needs TCP flows, which keep the link full")
    for index, flow in enumerate(flows):
        place = f"flows.{index}"
        if flow["kind"] not in ("tcp", "udp", "poisson"):
            refuse(f"{place}.kind", f'the theory has no "{flow["kind"]}" source; it has tcp, udp and poisson')
        for key in ("size", "stop"):
            if key in flow:
                refuse(f"{place}.{key}", "the theory covers only flows that never end; leave it out")
        if flow["kind"] == "tcp" and flow["algorithm"] not in SQUARE_ROOT:
            known = ", ".join(SQUARE_ROOT)
            refuse(f"{place}.algorithm", f'the theory has no law for "{flow["algorithm"]}"; it has for {known}')
        if flow["packet_size"] != flows[0]["packet_size"]:
            refuse(
                f"{place}.packet_size",
                f"must be {flows[0]['packet_size']}, as in flows.0: the theory has one packet size",
            )


def overlay(result: Run) -> Overlay:
    """Solve the model for what was simulated. `check` must have passed."""
    import polars as pl

    scenario = result.summary["scenario"]
    bits = 8 * in_base_unit(scenario["flows"][0]["packet_size"])
    c = in_base_unit(scenario["network"]["rate"]) / bits
    queue = scenario["queue"]
    g = choke.Red(queue["min_th"], queue["max_th"], queue["max_p"], hold=True, uniform=True)
    names = tuple(_name(flow) for flow in scenario["flows"])
    solved: dict[str, choke.Equilibrium | None] = {}
    refusals: dict[str, str | None] = {}
    members: list[int] = []
    for law in _laws(scenario["flows"]):
        classes, members = _classes(scenario["flows"], result.flows, c, bits, law)
        try:
            solved[law], refusals[law] = choke.equilibrium_of(classes, c=c, g=g, m=queue["candidates"]), None
        except choke.ChokeError as error:
            solved[law], refusals[law] = None, str(error)
    quantities = []
    link = result.links.filter(pl.col("discipline") == "choke").to_dicts()[0]
    for group in range(len(names)):
        rows = result.flows.filter(pl.col("group") == group)
        arrived, dropped, queued, throughput = (
            float(rows[column].sum())
            for column in ("arrivals_packets", "drops_packets", "queued_packets_mean", "throughput_bps")
        )
        measured = {
            "throughput": throughput,
            "share": throughput / link["rate_bps"],
            "of queue": queued / link["queue_packets_mean"] if link["queue_packets_mean"] else None,
            "loss": dropped / arrived if arrived else None,
        }
        theory: dict[str, dict[str, float | None]] = {key: {} for key in measured}
        for law, eq in solved.items():
            values = _of_group(eq, members, group, bits)
            for key in measured:
                theory[key][law] = values[key]
        units = {"throughput": "bit/s"}
        quantities += [Quantity(key, units.get(key, "1"), group, measured[key], theory[key]) for key in measured]
    delay = link["queueing_delay_mean_ns"]
    waited = None if delay is None else delay / 1e9
    both = (("queue", "packets", link["queue_packets_mean"], "b"), ("delay", "s", waited, "tau"))
    for key, unit, seen, attribute in both:
        said = {law: None if eq is None else float(getattr(eq, attribute)) for law, eq in solved.items()}
        quantities.append(Quantity(key, unit, None, seen, said))
    held = {law: 0.0 if eq is None else 1 - eq.admitted for law, eq in solved.items()}
    rows = result.queue.filter(pl.col("link") == link["link"])
    series = rows["time_s"].to_list(), [float(value) for value in rows["queue_packets"].to_list()]
    return Overlay(tuple(quantities), names, refusals, held, series, _warnings(scenario["flows"]))


def _laws(groups: list[dict[str, Any]]) -> tuple[str, ...]:
    """Which laws there are to tell apart."""
    tcp = {group["algorithm"] for group in groups if group["kind"] == "tcp"}
    return ("vegas",) if tcp == {"vegas"} else ("reno", "padhye")


def _warnings(groups: list[dict[str, Any]]) -> tuple[str, ...]:
    """Of Vegas flows that cut their windows when they lose: α/τ is of those that do not."""
    return tuple(
        f"flows.{index}.vegas_cut = {group['vegas_cut']:g}: the law α/τ is for Vegas flows that do not cut their "
        f"window at a loss (vegas_cut = 0); these flows may send less"
        for index, group in enumerate(groups)
        if group["kind"] == "tcp" and group["algorithm"] == "vegas" and group["vegas_cut"] != 0
    )


def _classes(
    groups: list[dict[str, Any]], flows: Any, c: float, bits: float, law: str
) -> tuple[list[choke.FlowClass], list[int]]:
    """Classes of like flows, and the group that each belongs to: one class for each round trip."""
    classes: list[choke.FlowClass] = []
    members: list[int] = []
    for index, group in enumerate(groups):
        if group["kind"] != "tcp":
            rate = min(in_base_unit(group["rate"]), in_base_unit(group.get("access_rate", group["rate"])))
            classes.append(choke.FlowClass(group["count"], rate / bits, group["kind"]))
            members.append(index)
            continue
        trips = np.sort(flows.filter(flows["group"] == index)["base_rtt_ns"].to_numpy()) / 1e9 + 1 / c
        values, counts = np.unique(trips, return_counts=True)
        if len(values) > MOST_ROUND_TRIPS:
            parts = np.array_split(trips, MOST_ROUND_TRIPS)
            values, counts = np.array([part.mean() for part in parts]), np.array([len(part) for part in parts])
        for d, count in zip(values.tolist(), counts.tolist(), strict=True):
            classes.append(choke.FlowClass(count, _law(law, group, d, bits), "tcp"))
            members.append(index)
    return classes, members


def _law(law: str, group: dict[str, Any], d: float, bits: float) -> choke.RateLaw:
    """What the TCP flows of a group follow, with their window."""
    per_ack = 1.0 if in_base_unit(group["delayed_ack"]) == 0 else 2.0
    rto = in_base_unit(group["min_rto"]) / 1e9
    if group["algorithm"] == "vegas":
        return choke.Vegas((group["vegas_alpha"] + group["vegas_beta"]) / 2)
    rate: choke.RateLaw = choke.Reno(d) if law == "reno" else choke.Padhye(d, per_ack=per_ack, rto_min=rto)
    window = group.get("window")
    if window is None:
        return rate
    segment = bits / 8 - in_base_unit(group["header_size"])
    return choke.Limited(rate, d, window if isinstance(window, int | float) else in_base_unit(window) / segment)


def _of_group(eq: choke.Equilibrium | None, members: list[int], group: int, bits: float) -> dict[str, float | None]:
    """The quantities of a group: sums over its classes, and their mean loss by arrivals."""
    if eq is None:
        return dict.fromkeys(("throughput", "share", "of queue", "loss"))
    flows = [flow for flow, of in zip(eq.flows, members, strict=True) if of == group]
    arrivals = sum(flow.count * flow.x for flow in flows)
    return {
        "throughput": sum(flow.count * flow.through for flow in flows) * bits,
        "share": sum(flow.count * flow.share for flow in flows),
        "of queue": sum(flow.count * flow.phi for flow in flows),
        "loss": sum(flow.count * flow.x * flow.p for flow in flows) / arrivals if arrivals else None,
    }


def _name(flow: dict[str, Any]) -> str:
    kind = f"{flow['count']} " if flow["count"] > 1 else ""
    return f"{kind}{flow['kind']}{' ' + flow['algorithm'] if 'algorithm' in flow else ''}"
