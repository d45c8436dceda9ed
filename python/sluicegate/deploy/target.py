"""The link and the queue of a resolved scenario, as deployment lines need them, and the resulting lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..quantities import did_you_mean, in_base_unit, rate_text
from ..traffic.paths import REVERSE, Framing, Place, Shaper, links, paths, queue_at, queue_of

ETHERNET = 14
"""The bytes of an Ethernet header, which Linux counts with a packet."""

HEADERLESS = ("ppp", "wg", "tun")
"""How the names of interfaces begin that carry IP packets without such a header: PPP and PPPoE (`ppp0`, OpenWrt's
`pppoe-wan`), WireGuard, tunnels."""

USUAL_PACKET = 1000
"""The length of a packet where no flow says it, in bytes: the simulator's own."""


WHOLE = 1000
"""bit/s: a part of a rate is cut to a multiple of it."""


class Undeployable(Exception):
    """What the system has no counterpart for; the message is a sentence for the user."""


LONGEST_NAME = 15
"""Bytes of the name of an interface, in Linux and in FreeBSD (IFNAMSIZ without its terminator)."""


def interface(name: str) -> str:
    """`name`, if an interface may have it (Linux, net/core/dev.c, dev_valid_name). Raises Undeployable if not."""
    if len(name.encode()) > LONGEST_NAME:
        raise Undeployable(f"{name!r} cannot name an interface: it has {len(name.encode())} bytes, and a name at most "
                           f"{LONGEST_NAME}")  # fmt: skip
    if name in ("", ".", "..") or any(each in "/: " or not each.isprintable() for each in name) or name[0] == "-":
        raise Undeployable(
            f"{name!r} cannot name an interface: a name has 1 to {LONGEST_NAME} bytes, and neither spaces nor control "
            'characters, "/" or ":" among them; here it may not begin with "-", which tc takes for an option'
        )
    return name


def header_of(dev: str) -> int:
    """The bytes of the header that Linux counts with a packet of this interface, told by its name; an `ifb` device gets
    packets as the interface has them that feeds it."""
    return 0 if dev.removeprefix("ifb4").startswith(HEADERLESS) else ETHERNET


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """Commands for a shell, in order, remarks on where the system will differ from the simulation, and files for it."""

    lines: list[str]
    remarks: list[str]
    title: str = ""
    parts: tuple[Deployment, ...] = ()
    """Of an access line, what lines and remarks consist of: one for each direction."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    optional: int = 0
    """How many of the first lines may fail: the others do not need them."""

    def remarked(self, said: list[str]) -> Deployment:
        """The same with these remarks first."""
        if self.parts:
            first, *others = self.parts
            parts = (first.remarked(said), *others)
            return replace(self, remarks=[*said, *self.remarks], parts=parts)
        return replace(self, remarks=[*said, *self.remarks])

    def text(self) -> str:
        """All of it as input for sh, which stops at the first error: remarks are comments below the lines."""
        said = []
        for part in self.parts or (self,):
            titles = [part.title] if part.title else []
            said += [*(f"# {title}" for title in titles), *part.lines, *(f"# {remark}" for remark in part.remarks)]
        return "".join(f"{line}\n" for line in chained(said, self.optional))


def chained(lines: Sequence[str], optional: int = 0) -> list[str]:
    """Lines for a shell, comments among them, of which each runs only if the one before worked: pasted or in a file.
    The first `optional` commands may fail."""
    commands = [number for number, line in enumerate(lines) if not line.startswith("#")]
    return [f"{line} &&" if number in commands[optional:-1] else line for number, line in enumerate(lines)]


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a shaper stands to the link that it stands for.

    `part`: of the link's rate that it has. `nat`: there this host translates addresses. `behind`: packets have crossed
    the link already. `multiqueue`: the interface has several transmit queues, for which there is `cake_mq`.
    """

    part: float = 1.0
    nat: bool = False
    behind: bool = False
    multiqueue: bool = False


FRONT = Position()
"""In front of the link, with all of its rate."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link whose queue is deployed.

    Attributes:
        name: As results name it.
        rate: Bits per second.
        varies: Whether a trace says the rate over time; `rate` is then the mean one.
        framing: What the link sends around each packet.
        tx_ring: Whether a driver's ring stands below the discipline.
        packet: The longest `packet_size` of the flows that cross it, in bytes.
        resolved_at: The rate for which the values of its queue were derived.
        shaper: It is a shaper of the scenario, which is deployed as it is.
    """

    name: str
    rate: int
    varies: bool
    framing: Framing
    tx_ring: bool
    packet: int
    resolved_at: int
    shaper: Shaper | None = None

    @property
    def shown_rate(self) -> str:
        """The rate with its unit."""
        return rate_text(self.rate, whole=True)


def find_link(resolved: Mapping[str, Any], name: str | None, part: float = 1.0) -> Link:
    """The link of this name, with `part` of its rate, unless it is a shaper; None is the only one that [queue] manages,
    or a dumbbell's bottleneck or its shaper.

    Raises Undeployable when there is no such link, or when None could be several.
    """
    every = links(resolved)
    known = {place.name: place for place in every if place.managed}
    names = ", ".join(known)
    name = name and queue_of(resolved, name)
    if name is None:
        if not known:
            raise Undeployable("no link is managed by [queue]")
        if REVERSE in resolved["network"]:
            ways = " or ".join(
                f"--link {each.name} ({rate_text(each.rate_bps, whole=True)})" for each in known.values()
            )
            raise Undeployable(f"two directions: --wan NAME, the interface to the internet, prints the commands for "
                               f"both; `sluicegate tc` with {ways} prints those for one")  # fmt: skip
        if "links" in resolved["network"] and len(known) > 1:
            raise Undeployable(f"several links are managed by [queue]: {names}; name one with --link")
        name = next(iter(known))
    if name not in known:
        if any(place.name == name for place in every):
            raise Undeployable(f'the link "{name}" is not managed by [queue]; those that are: {names}')
        raise Undeployable(f'no such link: "{name}"{did_you_mean(name, known, f"links with the queue: {names}")}')
    place = known[name]
    line = place if place.shaper is None else next(each for each in every if each.name == place.shaper.line)
    whole = part == 1 or place.shaper is not None
    return Link(
        name=name,
        rate=place.rate_bps if whole else int(place.rate_bps * part) // WHOLE * WHOLE or WHOLE,
        varies=line.varies,
        framing=place.framing,
        tx_ring=line.tx_ring,
        packet=_longest_packet(resolved, name),
        resolved_at=_resolved_at(resolved, every, name),
        shaper=place.shaper,
    )


def _resolved_at(resolved: Mapping[str, Any], every: list[Place], name: str) -> int:
    """The rate for which the values of the queue at this link were derived."""
    queue, first = queue_at(resolved, name), every[0]
    if queue is not resolved["queue"]:
        first = next(each for each in every if each.managed and queue_at(resolved, each.name) is queue)
    elif shapers := [each for each in every if each.shaper is not None and each.shaper.line == first.name]:
        first = shapers[0]
    return first.rate_bps


def framing_text(framing: Framing) -> str:
    """A framing in words, for a remark."""
    least = f", frames of {framing.least} B at the least" if framing.least else ""
    cells = (
        f", in {framing.cells.upper()}{' cells' if framing.cells == 'atm' else ''}" if framing.cells != "none" else ""
    )
    return f"framing of {framing.around} B{least}{cells}"


def _longest_packet(resolved: Mapping[str, Any], link: str) -> int:
    """The longest packet of the flows that send data over this link, or else of all flows, in bytes."""
    flows = resolved["flows"]
    ways = zip(flows, paths(resolved), strict=True)
    across = [flow for flow, way in ways if link in (place.name for place in way.links)]
    sizes = [flow["packet_size"] for flow in across or flows if isinstance(flow.get("packet_size"), str)]
    return max([in_base_unit(size) for size in sizes], default=USUAL_PACKET)


class Values:
    """The values of one queue: those in the table of its discipline's own name come first, then those beside it.

    In an entry of [[queue.classes]] the keys of the class stand beside those of the discipline, and a key that
    both have stands in the discipline's table.
    """

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table
        self.discipline: str = table["discipline"]
        own = table.get(self.discipline)
        self.own: Mapping[str, Any] = own if isinstance(own, Mapping) else {}

    def get(self, key: str) -> Any:
        """The value, None where there is none: that of an optional key that was not given."""
        return self.own[key] if key in self.own else self.table.get(key)

    def __getitem__(self, key: str) -> Any:
        return self.own[key] if key in self.own else self.table[key]

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def base(self, key: str) -> int:
        """A time, rate or size in bytes, in nanoseconds, bits per second or bytes."""
        return in_base_unit(self[key])

    def size(self, key: str) -> tuple[int, bool]:
        """A size, and whether it is in bytes; otherwise it is in packets."""
        value = self[key]
        return (in_base_unit(value), True) if isinstance(value, str) else (int(value), False)

    def rate(self, key: str, link: Link) -> int:
        """A rate in bits per second; where it is the rate that values were derived for, that of the link."""
        value = self.base(key)
        return link.rate if value == link.resolved_at else value


def refusal(name: str, system: str, known: list[str], nearest: Mapping[str, str]) -> Undeployable:
    """Why this discipline has no lines for this system, with the nearest that has some."""
    if ":" in name or name == "python":  # path.py:Class, or module:Class from Python
        return Undeployable(f"a discipline written in Python has no counterpart in {system}")
    if near := nearest.get(name):
        hint = f"the nearest that has one is {near}: --set queue.discipline={near.split()[0]}"
    else:
        hint = f"these have one: {', '.join(known)}"
    return Undeployable(f"{name} has no counterpart in {system}; {hint}")
