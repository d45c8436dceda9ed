"""Sources that are held back before they reach the queue: by ports, by windows, by rules of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..quantities import in_base_unit, rate_text
from ..traffic.groups import UNRESPONSIVE, Traffic, packet_bytes
from ..traffic.paths import Path
from .words import amount, rate_of, span

WINDOW_SHARE = 0.9
"""Warn if the window holds a flow below this part of its share of the path; smaller gaps are header and serialisation
error."""

LEDBAT_TARGET_NS = 100e6
"""LEDBAT's target "MUST be 100 milliseconds or less" (RFC 6817, Sec. 2.5)."""


def ports(traffic: Traffic) -> Iterator[str]:
    """A source faster than its port: `udp`, `poisson` or `on_off` (while it is on) above the rate of its access link.

    An access link has a buffer that never fills: what it cannot send waits there, without end if the mean is above its
    rate too, and the queue under study sees the port's rate. The same holds for the receiver's access link, if the
    shared links let more through than it takes, and for a Drop Tail link before the first link under study.
    """
    for group in traffic.groups:
        if group.flow["kind"] not in UNRESPONSIVE:
            continue
        peak, way = in_base_unit(group.flow["rate"]), group.path
        while_on = " while it is on" if group.flow["kind"] == "on_off" else ""
        sends = f"{group.label}: sends {rate_text(peak)}{while_on}"
        if way.port_bps is not None and peak > way.port_bps:
            waits = "packets wait there without end" if group.demand_bps >= way.port_bps else "bursts wait there"
            yield (
                f"{sends} into a port of {rate_text(way.port_bps)}, whose buffer never fills: {waits}, and the queue "
                f"under study sees {rate_text(way.port_bps)} at most; set its access_rate to {rate_text(peak)} or more"
            )
            continue
        if way.far_port_bps is not None and min(peak, way.shared_bps) > way.far_port_bps:
            yield (
                f"{sends} to a receiver whose port takes {rate_text(way.far_port_bps)}, with a buffer that never "
                f"fills: packets wait there, behind the queue under study; set network.access_rate to "
                f"{rate_text(min(peak, way.shared_bps))} or more"
            )
            continue
        first = next((at for at, link in enumerate(way.links) if link.managed), 0)
        for link in way.links[:first]:
            if peak * group.count * link.cost(packet_bytes(group.flow)) > link.rate_bps:
                yield (
                    f"{sends}{' each' if group.count > 1 else ''} into the link {link.name} of "
                    f"{rate_of(link)}, which Drop Tail manages: it drops and delays before the queue under "
                    f"study can; raise its rate to "
                    f"{rate_text(peak * group.count * link.cost(packet_bytes(group.flow)))} or more"
                )
                break


def windows(traffic: Traffic) -> Iterator[str]:
    """A window below its path's product: TCP flows that last, held below 9/10 of their share of the path.

    A window W lets a flow send W in a round trip R, W/R at most. For one flow alone that is to compare W with the
    product of rate and R. Beside others a flow needs the product of its share only, so 50 flows with windows of 20
    packets may fill a link that one of them could not: shares are max-min fair, with the windows of the others.
    Transfers of at most ten windows are left out: slow start decides on them. So are flows that losses on the wire hold
    below their windows already.
    """
    for group in traffic.groups:
        if group.flow["kind"] != "tcp" or not group.lasting or math.isinf(group.cap_bps) or not group.path.places:
            continue
        if min(traffic.share(group), _by_losses(group.path, packet_bytes(group.flow))) < group.cap_bps:
            continue  # something else holds it already
        share = traffic.share_of(group, math.inf)
        if group.cap_bps >= WINDOW_SHARE * share:
            continue
        needed = math.ceil(share * group.path.rtt.typical_ns / 8e9 / packet_bytes(group.flow))
        each = "each flow" if group.count > 1 else "the flow"
        yield (
            f"{group.label}: a window of {amount(group.flow['window'])} holds {each} at {rate_text(group.cap_bps)} "
            f"with a base round trip of {span(group.path.rtt.typical_ns)}; its share of the path is "
            f"{rate_text(share)}, so the window limits it, not the queue; set window to more than {needed} packets"
        )


def _by_losses(way: Path, packet: int) -> float:
    """The rate in bit/s at which losses on the wires of a path hold a TCP flow like Reno's: a window of √(3/2p) packets
    (Mathis, Semke, Mahdavi & Ott 1997)."""
    p = 1 - math.prod(1 - link.errors.losing for link in way.links)
    return math.sqrt(1.5 / p) * packet * 8e9 / way.rtt.typical_ns if p and way.rtt.typical_ns else math.inf


def eager_ledbat(traffic: Traffic) -> Iterator[str]:
    """LEDBAT with a target or a gain that RFC 6817, Sec. 2.5, forbids: it may then not give way to other traffic."""
    for group in traffic.groups:
        flow = group.flow
        if flow.get("algorithm") != "ledbat":
            continue
        if in_base_unit(flow["ledbat_target"]) > LEDBAT_TARGET_NS:
            yield (
                f"{group.label}: a ledbat_target of {flow['ledbat_target']} is more than RFC 6817, Sec. 2.5, allows: "
                "LEDBAT keeps that much in the queue, whoever shares it; set ledbat_target to 100 ms or less"
            )
        if flow["ledbat_gain"] > 1:
            yield (
                f"{group.label}: a ledbat_gain of {flow['ledbat_gain']:g} is more than RFC 6817, Sec. 2.5, allows: its "
                "window may grow faster than Reno's; set ledbat_gain to 1 or less, unless it is a test such as RFC "
                "7928, Sec. 5.4, describes"
            )
