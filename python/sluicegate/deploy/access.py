"""An access line as a pair of shapers: what leaves a router towards the network, and what comes in.

Only what leaves by an interface can be queued there. The upload leaves by the interface to the network (`wan`). The
download has crossed the slow link already. It is held back behind that link, where it leaves towards the home (`lan`),
or, without such an interface, in an `ifb` device through which everything that comes in by `wan` passes.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..design.access_line import doubts as doubts_of
from ..design.access_line import speed_test
from ..quantities import duration, in_base_unit, rate_text
from ..traffic.paths import REVERSE, links, queue_at
from . import linux
from .plan import FASTER, UNDO, undo
from .target import LONGEST_NAME, Deployment, Position, Undeployable, Values, find_link, interface

DOWN = "bottleneck"
"""The link of a two-way dumbbell that is the download; `REVERSE` is the upload."""

MARGIN = 0.05
"""How far below the rate of the line a shaper stays, so that the queue forms in it and not in the modem: of the 5 to
10 % that manuals of routers name (OpenWrt, SQM) the less, for framing is counted by itself here."""

MUCH = 0.3
"""A larger margin is hardly meant: below 70 % of a line's rate `recommend` tries none."""

ONE_WAY = "an access line has two directions: state the rate of its upload in [network.reverse]"


@dataclass(frozen=True, kw_only=True)
class Access:
    """The interfaces of an access line, as `target.interface` takes them, and how its shapers stand to it.

    `wan`: towards the network. `lan`: towards the home; None: an ifb device. `margin`: a part of the line's rate;
    None: `MARGIN`, or what `recommend` finds. `margin_up`: that of the upload, where it differs.
    `multiqueue`: the interfaces have several transmit queues (`cake_mq`).
    """

    wan: str
    lan: str | None = None
    margin: float | None = None
    margin_up: float | None = None
    multiqueue: bool = False

    def __post_init__(self) -> None:
        """Raises Undeployable."""
        for name in filter(None, (self.wan, self.lan)):
            interface(name)
            if name == "lo":
                raise Undeployable("lo: leads to this host alone; name the interface to the network")
        if self.lan == self.wan:
            raise Undeployable(f"{self.wan}: one interface cannot be both sides of a router")
        if self.multiqueue and self.lan is None:
            raise Undeployable("an ifb device has one transmit queue: with --cake-mq name the home interface: --lan")
        for margin in (self.margin, self.margin_up):
            if margin is not None and not 0 <= margin < 1:
                raise Undeployable(f"a margin of {100 * margin:g} %: must be at least 0 % and below 100 %")
        if self.margin is None and self.margin_up is not None:
            raise Undeployable("margin_up: also state margin, the margin of the download")

    def part(self, link: str) -> float:
        """What the shaper of a direction has of the line's rate."""
        margin = MARGIN if self.margin is None else self.margin
        # Rounded, because 1 - 0.34 is 0.6599999999999999.
        return round(1 - (self.margin_up if link == REVERSE and self.margin_up is not None else margin), 12)

    @property
    def down(self) -> str:
        """The interface that the download leaves by."""
        return self.lan or f"ifb4{self.wan}"[:LONGEST_NAME]


def lines(resolved: Mapping[str, Any], access: Access) -> Deployment:
    """The commands that deploy the queues of both directions of a resolved scenario. Raises Undeployable."""
    if REVERSE not in resolved["network"]:
        raise Undeployable(ONE_WAY)
    if access.margin is not None and any(place.shaper for place in links(resolved)):
        raise Undeployable("the shapers of the scenario say their rates (network.shaper.rate): leave the margin out")
    up = _direction(resolved, access, REVERSE, access.wan, _position(access, REVERSE, nat=True))
    inside = access.lan is not None
    down = _direction(resolved, access, DOWN, access.down, _position(access, DOWN, nat=not inside))
    if not inside:
        wan, ifb = shlex.quote(access.wan), shlex.quote(access.down)
        down.lines[:0] = [
            f"ip link add {ifb} type ifb",
            f"ip link set dev {ifb} up",
            f"tc qdisc add dev {wan} handle ffff: ingress",
            f"tc filter add dev {wan} parent ffff: protocol all prio 1 matchall "
            f"action mirred egress redirect dev {ifb}",
        ]
        down.remarks[:] = [each for each in down.remarks if FASTER not in each]  # an ifb device has no rate of its own
    else:
        down.remarks.append(
            f"what the router itself sends to the home, from a disk for example, counts as download on {access.lan}"
        )
    known = set(up.remarks)
    below = [each for each in down.remarks if each not in known]
    below.append(f"to undo all of it: {'; '.join(undo([*up.lines, *down.lines]))}")
    parts = (up, replace(down, remarks=below))
    return Deployment(
        lines=[line for part in parts for line in part.lines], parts=parts,
        remarks=[remark for part in parts for remark in part.remarks],
    )  # fmt: skip


def doubts(resolved: Mapping[str, Any], access: Access) -> list[str]:
    """What is said of numbers that an access line hardly has, and of an interface that is hardly its own, before its
    queues are deployed."""
    ways = {each.name: each for each in links(resolved)}
    rates = {"down": float(ways[DOWN].rate_bps), "up": float(ways[REVERSE].rate_bps)}
    said = doubts_of(rates, {"round trip": 2 * in_base_unit(resolved["network"]["delay"]) / 1e6})
    for margin in dict.fromkeys(each for each in (access.margin, access.margin_up) if each is not None):
        if margin > MUCH:
            less = f"; did you mean {100 * (1 - margin):g} %?" if margin > 0.5 else ""
            said.append(f"a margin of {100 * margin:g} % leaves {100 * (1 - margin):g} % of the line's rate{less}")
    if access.wan.startswith("br"):
        said.append(f"{access.wan}: named like a bridge, which usually leads to the home; --wan is the "
                    "interface to the internet")  # fmt: skip
    return said


def _position(access: Access, link: str, nat: bool) -> Position:
    return Position(nat=nat, behind=link == DOWN, part=access.part(link), multiqueue=access.multiqueue)


def _direction(
    resolved: Mapping[str, Any], access: Access, link: str, dev: str, position: Position
) -> Deployment:  # fmt: skip
    found = linux.lines(resolved, dev, link, position)
    place = find_link(resolved, link, position.part)
    line = next(each for each in links(resolved) if each.name == link)
    way = "upload" if link == REVERSE else "download"
    shown = rate_text(line.rate_bps, whole=True)
    part = round(100 * place.rate / line.rate_bps, 1) if place.shaper else 100 * position.part
    rate = f"{place.shown_rate} with headers and framing, {part:g} % of the line's {shown}; a speed test will show "
    rate += f"about {rate_text(speed_test(place.rate, place.framing.on_wire))}"
    queue = queue_at(resolved, place.name)
    if linux.shaper_rate(place) != place.rate and queue["discipline"] != "cake":
        rate += f"; htb does not know PTM and gets 64/65 of it, {linux.shaper_rate(place) // 1000} kbit/s"
    where = f"leaves by {dev}" + (f", which is fed with what comes in by {access.wan}" if dev != access.lan and
                                  link != REVERSE else "")  # fmt: skip
    remarks = [each for each in found.remarks if not each.endswith(UNDO)]  # one remark undoes both directions
    if queue["discipline"] == "drop_tail":
        limit, in_bytes = Values(queue).size("limit")
        longest = duration((limit if in_bytes else limit * place.packet) * 8 / place.rate)
        said = f"first come, first served, as in the modem; packets wait here for up to {longest}"
        remarks.insert(0, f"drop_tail: {said}. --set queue.discipline=cake, or fq_codel, keeps that short")  # fmt: skip
    return Deployment(lines=found.lines, remarks=remarks, title=f"{way}: {rate}; {where}")
