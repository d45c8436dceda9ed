"""Wires that reorder packets or lose them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..traffic.groups import Traffic, packet_bytes
from ..traffic.paths import Place, links
from .words import amount, rate_of, span

OVERTAKERS = 3
"""So many packets that arrive before an earlier one are a loss to TCP without RACK: each is answered by a duplicate
acknowledgement, and the third lets the sender send again (RFC 5681, Sec. 3.2; RFC 6675 counts as many)."""


def fast_shapers(traffic: Traffic) -> Iterator[str]:
    """A shaper above the rate of its line: it never holds anything back, and the queue is in the modem."""
    rates = {place.name: place for place in links(traffic.resolved)}
    for place in rates.values():
        line = rates[place.shaper.line] if place.shaper else place
        if place.rate_bps > line.rate_bps and not line.varies:
            yield (
                f"{place.name}: its rate of {rate_of(place)} is above that of {line.name}, {rate_of(line)}, so that "
                'the queue is in the modem; set rate to less, such as "95 %"'
            )


def reordering(traffic: Traffic) -> Iterator[str]:
    """Packets of a TCP flow that overtake each other by three or more: the hosts take that for a loss.

    The papers' hosts count duplicate acknowledgements. Linux's wait for part of a round trip instead (RACK,
    RFC 8985), and are not told of. Told where the jitter is above the time that three full packets take at the flow's
    share of its path. At a jitter of 2.5 ms one flow of SACK uses 49 % of a link of 20 Mbit/s under FQ-CoDel, four use
    44 % at 20 ms, Linux's Reno 92 and 97 %; below that time, at 1.7 and 5 ms, both use 92 and 100 %. Told of the first
    group that crosses each link, telnet apart.
    """
    told = set()
    for group in traffic.groups:
        if group.flow.get("profile", "linux") == "linux" or group.flow["kind"] == "telnet":
            continue
        for link in group.path.links:
            if not link.reorders or link.name in told:
                continue
            least = OVERTAKERS * packet_bytes(group.flow) * 8e9 / traffic.share_of(group, math.inf)
            if link.jitter_ns > least:
                told.add(link.name)
                yield (
                    f"{link.name}: a jitter of {span(link.jitter_ns)} lets packets overtake each other. Three that "
                    f"overtake one look like its loss to the TCP hosts of {group.label}, which have no RACK: they slow "
                    f"down whatever the queue does; set reordering = false, a jitter below {span(least)}, or profile = "
                    "linux and an algorithm of it"
                )


def unused(traffic: Traffic) -> Iterator[str]:
    """A link of [[network.links]] that nothing crosses. Without `return_path` acknowledgements go back over the links
    of `path`, where they meet no queue."""
    crossed = {link.name for link in _crossed(traffic)}
    for at, link in enumerate(traffic.resolved["network"].get("links", ())):
        if link["name"] not in crossed:
            yield (
                f"network.links.{at} ({link['name']}): no flow crosses it; name it in the path of a flow, or in its "
                "return_path if acknowledgements are to cross it"
            )


def dead_wires(traffic: Traffic) -> Iterator[str]:
    """A wire that loses every packet: always, or from the first burst of errors on, which never ends.

    What a wire loses cannot change during a run. Told of links that anything crosses.
    """
    for link in _crossed(traffic):
        errors = link.errors
        in_bursts = errors.start > 0 and errors.in_burst == 1
        if errors.loss == 1 and (in_bursts or errors.start == 0):
            yield (
                f"{link.name}: loss = 1: the wire loses every packet, and nothing gets through; loss is a probability: "
                f"set it to 0.01 for 1 %"
            )
        elif in_bursts and errors.end == 0:
            after = math.ceil(1 / errors.start)
            yield (
                f"{link.name}: burst_end = 0: the first burst of errors begins after {amount(after)} on average "
                f"and never ends, and with burst_loss = 1 nothing gets through in it; set burst_end above 0, such as "
                f"0.1 for bursts of 10 packets on average"
            )


def mild_bursts(traffic: Traffic) -> Iterator[str]:
    """Bursts of errors in which fewer packets are lost than outside them: probably the two were exchanged."""
    for link in _crossed(traffic):
        errors = link.errors
        if errors.start > 0 and errors.in_burst < errors.loss:
            yield (
                f"{link.name}: burst_loss = {errors.in_burst:g} is less than loss = {errors.loss:g}, which holds "
                f"outside bursts: a burst of errors then loses fewer packets than the time around it; set burst_loss "
                f"above loss"
            )


def _crossed(traffic: Traffic) -> list[Place]:
    """The links that data or acknowledgements cross."""
    names = {link.name for group in traffic.groups for link in (*group.path.links, *group.path.back)}
    return [link for link in links(traffic.resolved) if link.name in names]
