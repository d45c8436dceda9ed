"""Where the packets of a scenario go: the links of a network, and the path of each entry of [[flows]].

All is read from a resolved scenario, as `check` gives it: every default is filled in, and quantities are texts such as
"10 ms". Rates are in bit/s, times in nanoseconds, lengths in bytes. The core builds the network; this module finds its
links and paths anew for warnings and estimates (`traps`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..quantities import in_base_unit

Resolved = Mapping[str, Any]
"""A resolved scenario, or a table of one."""

REVERSE = "reverse"
"""The link of a two-way dumbbell in the opposite direction."""

SHAPERS = {"bottleneck": "shaper", REVERSE: "reverse_shaper"}
"""The shaper that may stand beside each link of a dumbbell; the queue under study is then there."""

FAR_TAIL = 3.0
"""With `rtt_mean`, round trips beyond `rtt` are exponential: 95 % of them are shorter than three times their mean."""


@dataclass(frozen=True)
class Framing:
    """What a link sends around each packet, as crates/port/src/framing.rs computes it.

    `around`: bytes around the packet. `least`: the least frame, those bytes included. `cells`: what carries frames,
    "none", "atm" or "ptm".
    """

    around: int = 0
    least: int = 0
    cells: str = "none"

    def on_wire(self, length: float) -> float:
        """The bytes whose time a packet of that length takes."""
        frame = max(length + self.around, self.least)
        if self.cells == "atm":
            return math.ceil(frame / 48) * 53
        return frame + math.ceil(frame / 64) if self.cells == "ptm" else frame


@dataclass(frozen=True)
class Errors:
    """The packets that a wire loses: a chain of two states, outside bursts of errors and in them (Gilbert 1960).

    `loss`: the probability outside bursts. `start` and `end`: those that a burst begins, and ends, after a packet.
    `in_burst`: the probability of a loss in a burst.
    """

    loss: float = 0.0
    start: float = 0.0
    end: float = 1.0
    in_burst: float = 0.0

    @property
    def losing(self) -> float:
        """The probability that a packet begins a loss, a burst counting once."""
        return min(self.loss + (self.start if self.in_burst else 0.0), 1.0)


@dataclass(frozen=True)
class Shaper:
    """What a link is as a shaper. `burst`: bytes that its token bucket holds. `behind`: packets have crossed the line
    already. `line`: the link that it stands beside."""

    burst: int
    behind: bool
    line: str


@dataclass(frozen=True)
class Place:
    """A link with a queue.

    `rate_bps`: where a trace says the rate over time, the mean rate, unless the scenario gives another with it.
    `varies`: there is a trace. `managed`: the discipline of [queue] manages it; otherwise Drop Tail does. `tx_ring`: a
    driver's ring stands below. `jitter_ns`: the most that packets are delayed beyond `delay_ns`; with `reorders` they
    may overtake each other. `errors`: what its wire loses. `shaper`: it is one.
    """

    name: str
    rate_bps: int
    delay_ns: int
    framing: Framing
    managed: bool
    tx_ring: bool
    varies: bool
    jitter_ns: int
    reorders: bool
    errors: Errors
    shaper: Shaper | None = None

    def time_ns(self, length: float, packets: float = 1) -> float:
        """How long the link takes to send packets of that length in bytes, framing included."""
        return packets * self.framing.on_wire(length) * 8e9 / self.rate_bps

    def cost(self, length: float) -> float:
        """What a byte in packets of that length costs of the link's rate: 1 without framing."""
        return self.framing.on_wire(length) / length


@dataclass(frozen=True)
class RoundTrip:
    """The base round trips of a group of flows, in nanoseconds: propagation there and back, without queues."""

    least_ns: float
    typical_ns: float
    """The median."""
    most_ns: float
    """The longest; where there is none, what 95 % of the flows stay below."""


@dataclass(frozen=True)
class Path:
    """What the packets of one flow of a group cross."""

    links: tuple[Place, ...]
    """Those that the data crosses, in order."""
    back: tuple[Place, ...]
    """Those that acknowledgements cross and queue at; none where they take lines that never fill."""
    port_bps: int | None
    """The rate of the flow's own access link, on the sender's side."""
    far_port_bps: int | None
    """The same on the receiver's side."""
    rtt: RoundTrip

    @property
    def places(self) -> tuple[Place, ...]:
        """The links that the discipline of [queue] manages."""
        return tuple(link for link in self.links if link.managed)

    @property
    def shared_bps(self) -> int:
        """The lowest rate of a link that flows share."""
        return min(link.rate_bps for link in self.links)


def links(resolved: Resolved) -> list[Place]:
    """All links that have a queue, in the order of the scenario; each shaper of a dumbbell after its line."""
    network = resolved["network"]
    if "links" in network:
        return [_place(link["name"], link, link["managed"]) for link in network["links"]]
    ways = {"bottleneck": network} | ({REVERSE: network[REVERSE]} if REVERSE in network else {})
    known = []
    for name, way in ways.items():
        known.append(_place(name, way, "shaper" not in way))
        if "shaper" in way:
            known.append(_shaper(name, way["shaper"]))
    return known


def places(resolved: Resolved) -> list[Place]:
    """The links that the discipline of [queue] manages, or one of their own."""
    return [link for link in links(resolved) if link.managed]


def queue_at(resolved: Resolved, link: str) -> Resolved:
    """The queue of a link that is managed; the opposite direction of a dumbbell may have one of its own, and each of
    [[network.links]]."""
    network = resolved["network"]
    own: Resolved | None = network.get(REVERSE, {}).get("queue") if link in (REVERSE, SHAPERS[REVERSE]) else None
    own = next((each.get("queue") for each in network.get("links", ()) if each["name"] == link), own)
    return resolved["queue"] if own is None else own


def queue_of(resolved: Resolved, link: str) -> str:
    """The link of a dumbbell whose queue stands for that of `link`: its shaper, if it has one."""
    network = resolved["network"]
    way = network.get(REVERSE, {}) if link == REVERSE else network
    return SHAPERS[link] if link in SHAPERS and "shaper" in way else link


def paths(resolved: Resolved) -> list[Path]:
    """The path of each entry of [[flows]]."""
    known = links(resolved)
    return [_path(resolved["network"], known, flow) for flow in resolved["flows"]]


def _path(network: Resolved, known: Sequence[Place], flow: Resolved) -> Path:
    if "links" in network:
        by_name = {link.name: link for link in known}
        there = tuple(by_name[name] for name in flow["path"])
        back = tuple(by_name[name] for name in flow.get("return_path", ()))
        far_rate, far_delay = None, 0
    else:
        forward, opposite = _across(known, "bottleneck"), _across(known, REVERSE)
        there, back = (opposite, forward) if flow.get("direction") == REVERSE else (forward, opposite)
        far_rate, far_delay = in_base_unit(network["access_rate"]), in_base_unit(network["access_delay"])
    if "algorithm" not in flow:  # nobody answers
        back = ()
    port = in_base_unit(flow["access_rate"]) if "access_rate" in flow else None
    shared = sum(link.delay_ns for link in there) + sum(link.delay_ns for link in back or there)
    near = in_base_unit(flow.get("access_delay", "0 ns"))
    return Path(there, back, port, far_rate, _round_trip(flow, shared + 2 * near + 2 * far_delay))


def _across(known: Sequence[Place], name: str) -> tuple[Place, ...]:
    """A link of a dumbbell with its shaper, in the order in which packets cross them."""
    of_link = [place for place in known if name in (place.name, place.shaper.line if place.shaper else "")]
    return tuple(reversed(of_link) if any(each.shaper and not each.shaper.behind for each in of_link) else of_link)


def _shaper(line: str, keys: Resolved) -> Place:
    shaper = Shaper(in_base_unit(keys["burst"]), keys["position"] == "behind", line)
    return Place(
        name=SHAPERS[line], rate_bps=in_base_unit(keys["rate"]), delay_ns=0, framing=_framing(keys), managed=True,
        tx_ring=False, varies=False, jitter_ns=0, reorders=False, errors=Errors(), shaper=shaper,
    )  # fmt: skip


def _framing(keys: Resolved) -> Framing:
    return Framing(in_base_unit(keys["framing"]), in_base_unit(keys["frame_min"]), keys["cells"])


def _place(name: str, link: Resolved, managed: bool) -> Place:
    jitter = in_base_unit(link["jitter"])
    return Place(
        name=name,
        rate_bps=in_base_unit(link["rate"]),
        delay_ns=in_base_unit(link["delay"]),
        framing=_framing(link),
        managed=managed,
        tx_ring=link.get("tx_ring") is not None,
        varies=link.get("trace") is not None,
        jitter_ns=jitter,
        reorders=link["reordering"] and jitter > 0,
        errors=Errors(link["loss"], link["burst_start"], link["burst_end"], link["burst_loss"]),
    )


def _round_trip(flow: Resolved, by_links: float) -> RoundTrip:
    """What is given for the group, else what follows from the links."""
    if "rtts" in flow:
        given = [in_base_unit(each) for each in flow["rtts"]]
        return RoundTrip(min(given), statistics.median(given), max(given))
    if "rtt" not in flow:
        return RoundTrip(by_links, by_links, by_links)
    least = in_base_unit(flow["rtt"])
    if "rtt_max" in flow:
        most = in_base_unit(flow["rtt_max"])
        return RoundTrip(least, (least + most) / 2, most)
    beyond = in_base_unit(flow["rtt_mean"]) - least if "rtt_mean" in flow else 0
    return RoundTrip(least, least + math.log(2) * beyond, least + FAR_TAIL * beyond)
