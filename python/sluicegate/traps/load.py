"""What crosses a link: unresponsive load, and TCP flows that must fill it by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from ..traffic.groups import UNRESPONSIVE, Group, packet_bytes
from ..traffic.paths import Place


def load_bps(group: Group, place: Place) -> float:
    """What a group asks of a link in bit/s, framing included."""
    return group.demand_bps * group.count * place.cost(packet_bytes(group.flow))


def lasting_alone(place: Place, there: Sequence[Group]) -> int:
    """How many TCP flows that last cross a link; 0 where something else may keep it busy: web users, short transfers,
    or unresponsive flows that fill half of it."""
    rest = sum(load_bps(group, place) for group in there if group.flow["kind"] in UNRESPONSIVE)
    if rest > place.rate_bps / 2 or any(not g.lasting and g.flow["kind"] != "telnet" for g in there):
        return 0
    return sum(group.count for group in there if is_lasting_tcp(group))


def is_lasting_tcp(group: Group) -> bool:
    """Whether a group is TCP flows that last."""
    return group.lasting and group.flow["kind"] == "tcp"
