"""The demands of the groups of a scenario, and their max-min fair shares.

Read from a resolved scenario, before it runs: rates in bit/s, times in nanoseconds, lengths in bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as Folder

from ..quantities import in_base_unit
from .connections import Vectors, vectors
from .paths import Path, Place, Resolved, links, paths, places, queue_at

UNRESPONSIVE = ("udp", "poisson", "on_off")
"""Kinds that send whatever happens to their packets."""

COMING_AND_GOING = ("http", "connections")
"""Kinds whose connections come and go: in the results all those of an entry are one flow."""

SHORT_TRANSFER = 10
"""A transfer of so many windows or fewer spends half of its round trips or more in slow start, whatever its window.

One that takes half of the run at an equal share of its links lasts, too: a window may be more than the path ever holds.
"""

PER_ACKNOWLEDGEMENT = 2
"""Packets that one acknowledgement is for, where receivers delay them (RFC 1122, Sec. 4.2.3.2)."""

PER_WEB_USER_BPS = 10_500
"""What a web user with the default laws asks for: 10,000 offer 105 % of 100 Mbit/s (scenario dcn2004)."""


TALK = frozenset(
    {"call", "calls", "voip", "voice", "phone", "telephone", "telephony", "talk", "meeting", "meetings", "conference"}
    | {"conferences", "videocall", "videocalls", "game", "games", "gaming", "gamer"}
)
"""Words in names of groups that are calls and games."""

TALK_DSCP = {46: "EF", 44: "VOICE-ADMIT", 40: "CS5", 34: "AF41", 36: "AF42", 38: "AF43", 32: "CS4"}
"""The DSCPs of telephony, its signalling, conferences and interactive video and games (RFC 4594, Fig. 3; RFC 5865)."""

TALK_PACKET, TALK_BPS = 300, 200_000
"""Bytes and bit/s up to which a steady flow is taken for a voice or a game: G.711 sends 200 bytes each 20 ms, games
some 50 to 300 bytes 20 to 128 times a second, and transfers fill their packets."""


@dataclass(frozen=True, eq=False)
class Group:
    """An entry of [[flows]]: where it goes, and what each of its flows asks for. No two are equal."""

    label: str
    flow: Resolved
    path: Path
    count: int
    demand_bps: float
    """Of each flow: what it sends on average or what its window allows, as far as its access links let it."""
    cap_bps: float
    """What the window alone allows each flow at the typical round trip."""
    port_bps: float
    """What the access links of sender and receiver allow each flow."""
    lasting: bool
    """Whether its flows last: transfers without end or long ones, and unresponsive sources."""


class Traffic:
    """The groups of a scenario, and which of them meet at each link under study.

    `queue`: that of [queue], or the one of the opposite direction alone. `folder`: where files of connection vectors
    are, of which then follows what these ask for; without it, and where connections are drawn, that is as much as there
    is room for.
    """

    def __init__(self, resolved: Resolved, queue: Resolved | None = None, folder: Folder | None = None) -> None:
        self.resolved, self.run = resolved, resolved["run"]
        self.queue = resolved["queue"] if queue is None else queue
        ways = paths(resolved)
        self.groups = [_group(resolved, index, way, folder) for index, way in enumerate(ways)]
        self.at: dict[str, list[Group]] = {place.name: [] for place in places(resolved)}
        for group in self.groups:
            for place in group.path.places:
                self.at[place.name].append(group)
        known = links(resolved)
        numbers = {link.name: number for number, link in enumerate(known)}
        self._rates = [float(link.rate_bps) for link in known]
        # First the data of each group, then the acknowledgements of those whose cross links with a queue: how many
        # flows there are, the links that they cross, and what a bit of theirs costs there with the framing.
        self._answered = [number for number, group in enumerate(self.groups) if group.path.back]
        answered = [self.groups[number] for number in self._answered]
        self._answers = [answer_bits(group.flow) for group in answered]
        self._counts = [group.count for group in (*self.groups, *answered)]
        crossed = [(group.path.links, packet_bytes(group.flow)) for group in self.groups]
        crossed += [(group.path.back, answer_bytes(group.flow)) for group in answered]
        self._ways = [{numbers[link.name]: link.cost(length) for link in way} for way, length in crossed]
        across = list(zip(self._counts, self._ways, strict=True))
        self._crossing = [sum(count for count, way in across if number in way) for number in range(len(known))]
        self._costs = [sum(count * way.get(number, 0.0) for count, way in across) for number in range(len(known))]
        self._numbers = {group: number for number, group in enumerate(self.groups)}
        self._demands = [group.demand_bps for group in self.groups]
        self._shares = self._shared(self._demands)

    def meetings(self) -> Iterator[tuple[Place, list[Group], int]]:
        """Each link that the queue manages and data crosses, the groups that do, and the length of their longest
        packets."""
        for place in places(self.resolved):
            if (there := self.at[place.name]) and queue_at(self.resolved, place.name) is self.queue:
                yield place, there, max(packet_bytes(group.flow) for group in there)

    def share(self, group: Group) -> float:
        """What each flow of `group` gets, in bit/s of its packets: max-min fair among all flows on all links and access
        links, with framing, and with the acknowledgements of others that cross its links."""
        return self._shares[self._numbers[group]]

    def share_of(self, group: Group, demand_bps: float) -> float:
        """The same if each flow of `group` asked for that much, and all others for what they do."""
        number, demands = self._numbers[group], self._demands.copy()
        demands[number] = min(demand_bps, group.port_bps)
        return self._shared(demands)[number]

    def _shared(self, demands: Sequence[float]) -> list[float]:
        """The max-min fair rate of each flow of each group.

        Acknowledgements are small-packet flows. Their demand is what the data they answer would generate; data gets
        what remains. If an ACK flow's own fair share is smaller, it limits the data that it acknowledges.
        """
        alone = self._fill([*demands, *([0.0] * len(self._answers))])[: len(demands)]
        if not self._answers:
            return alone
        asked = [alone[number] * bits for number, bits in zip(self._answered, self._answers, strict=True)]
        rates = self._fill([*demands, *asked])
        got = rates[len(demands) :]
        if all(rate >= 0.999 * need for rate, need in zip(got, asked, strict=True)):
            return rates[: len(demands)]
        held = [*demands]
        for number, rate, bits in zip(self._answered, got, self._answers, strict=True):
            held[number] = min(held[number], rate / bits)
        return self._fill([*held, *got])[: len(demands)]

    def _fill(self, demands: Sequence[float]) -> list[float]:
        """The max-min fair rates of the data and the acknowledgements of all flows, by progressive filling.

        The rates of all flows rise together. Flows stop at what they ask for, and all that cross a link stop when it
        is full; what they leave on other links is for those that go on (Bertsekas & Gallager, Data Networks,
        Sec. 6.5.2). Each step fills a link, or ends all groups that ask for less than would fill one. What a link sends
        around packets takes its time too.
        """
        room, crossing, costs = self._rates.copy(), self._crossing.copy(), self._costs.copy()
        found = [0.0] * len(demands)
        rising = sorted(range(len(demands)), key=demands.__getitem__, reverse=True)
        while rising:
            level, full = min((room[link] / costs[link], link) for link, flows in enumerate(crossing) if flows)
            stopped = []
            while rising and demands[rising[-1]] <= level:
                stopped.append(rising.pop())
            if not stopped:
                stopped = [number for number in rising if full in self._ways[number]]
                rising = [number for number in rising if full not in self._ways[number]]
            for number in stopped:
                count = self._counts[number]
                found[number] = rate = min(demands[number], level)
                for link, cost in self._ways[number].items():
                    room[link] = max(room[link] - rate * count * cost, 0.0)
                    crossing[link] -= count
                    costs[link] -= count * cost
        return found

    def seconds(self, group: Group, since: float = 0) -> float:
        """How long a group sends after the time `since`; both in nanoseconds."""
        end = in_base_unit(self.run["duration"])
        stop = min(in_base_unit(group.flow["stop"]), end) if "stop" in group.flow else end
        return max(0.0, stop - max(since, in_base_unit(group.flow["start"])))


def _group(resolved: Resolved, index: int, way: Path, folder: Folder | None) -> Group:
    flow = resolved["flows"][index]
    kind = flow["kind"]
    label = f"flows.{index} ({flow.get('name') or kind})"
    ports = min((float(rate) for rate in (way.port_bps, way.far_port_bps) if rate is not None), default=math.inf)
    count, cap, lasting = flow.get("count", 1), math.inf, False
    demand: float
    if kind in UNRESPONSIVE:
        demand, lasting = in_base_unit(flow["rate"]), True
        if kind == "on_off":
            on, off = in_base_unit(flow["on_mean"]), in_base_unit(flow["off_mean"])
            demand *= on / (on + off)
    elif kind == "http":
        demand = PER_WEB_USER_BPS
    elif kind == "connections":
        demand, count, ports = way.shared_bps, 1, math.inf  # each has an access link of its own
        if folder is not None and flow.get("vectors") is not None:
            demand = min(
                demand, _asked_bps(vectors(folder / flow["vectors"]), in_base_unit(resolved["run"]["duration"]))
            )
    elif kind == "telnet":
        demand = 0.0
    else:
        cap = window_bytes(flow) * 8e9 / way.rtt.typical_ns if way.rtt.typical_ns else math.inf
        size = size_bytes(flow, flow["size"]) if "size" in flow else math.inf
        average = size * 8e9 / in_base_unit(resolved["run"]["duration"])
        lasting = size > SHORT_TRANSFER * window_bytes(flow) or average > min(ports, way.shared_bps / count) / 2
        demand = cap if lasting else average
    return Group(label, flow, way, count, min(demand, ports), cap, ports, lasting)


def _asked_bps(found: Vectors, duration_ns: float) -> float:
    """What the connections of a file ask for on average, in the direction in which they carry more."""
    return max(found.acceptor_bytes, found.initiator_bytes) * 8e9 / max(duration_ns, found.last_start_ns)


def conversation(flow: Resolved) -> str | None:
    """What tells that a flow that sends by the clock is a call or a game, where people hear and see each packet that is
    late: "name", "DSCP" or "rate and packet size"; None for all others."""
    if flow["kind"] not in UNRESPONSIVE:
        return None
    if TALK & set(re.findall("[a-z]+", flow["name"].lower())):
        return "name"
    if flow.get("class") in TALK_DSCP:
        return f"DSCP {TALK_DSCP[flow['class']]}"
    small = packet_bytes(flow) <= TALK_PACKET and in_base_unit(flow["rate"]) <= TALK_BPS
    return "rate and packet size" if small and flow["kind"] == "udp" else None


def packet_bytes(flow: Resolved) -> int:
    """The length of its full packets in bytes."""
    return in_base_unit(flow["packet_size"])


def answer_bytes(flow: Resolved) -> int:
    """The length of an acknowledgement that carries no data, in bytes; ends of one's own are taken for TCP's."""
    return in_base_unit(flow.get("header_size", "40 B"))


def answers(flow: Resolved) -> float:
    """Acknowledgements for each packet of a flow with a receiver that answers."""
    return 1 / PER_ACKNOWLEDGEMENT if in_base_unit(flow.get("delayed_ack", "0 s")) else 1.0


def answer_bits(flow: Resolved) -> float:
    """Bits of acknowledgements for each bit of data packets."""
    return answers(flow) * answer_bytes(flow) / packet_bytes(flow)


def size_bytes(flow: Resolved, size: float | str) -> float:
    """Data of a TCP flow, in bytes of its packets: full packets, or bytes without headers."""
    if not isinstance(size, str):
        return size * packet_bytes(flow)
    return in_base_unit(size) * packet_bytes(flow) / (packet_bytes(flow) - in_base_unit(flow["header_size"]))


def window_bytes(flow: Resolved) -> float:
    """The advertised window in bytes of packets."""
    return size_bytes(flow, flow["window"]) if "window" in flow else math.inf


def typical_rtt_ns(groups: Sequence[Group]) -> float:
    """The median of the typical base round trips of lasting TCP flows, each group counted as it has flows."""
    trips = sorted((g.path.rtt.typical_ns, g.count) for g in groups if g.lasting and g.flow["kind"] == "tcp")
    half = sum(count for _, count in trips) / 2
    for trip, count in trips:
        half -= count
        if half <= 0:
            return trip
    return 0.0
