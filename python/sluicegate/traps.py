"""Traps: scenarios that are valid, but in which something other than the queue discipline decides.

`of_scenario` looks at a resolved scenario before it runs, `of_run` at what a run showed. Each trap is a function that
states its rule, and gives a sentence for each place where it holds: the place first, at the end what to do about it.
The numbers are chosen so that a sentence is rare and right: a trap that hardly matters is not told. Disciplines inside
the classes of another are not looked at: what rate a class gets is not known before a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from .paths import Path, Place, Resolved, links, places
from .quantities import duration, in_base_unit, rate_text
from .traffic import (
    UNRESPONSIVE,
    Group,
    Traffic,
    answers,
    packet_bytes,
    typical_rtt_ns,
)

if TYPE_CHECKING:
    import polars as pl

WINDOW_SHARE = 0.9
"""A window is too small when it holds a flow below this part of its share of the path: less is within what headers and
the time to send a packet make of a product."""

WEB_PACKET = 0.6
"""The mean length of data packets of short responses, to that of a full one: DCN 2004's are of 600 to 900 bytes."""

LATE_NS = 400e6
"""The longest one-way delay that networks should be planned for (ITU-T G.114)."""

LEAST_ROOM = 0.25
"""A queue keeps a link busy under n long TCP flows when it has room for the product of rate and round trip divided by
√n (Appenzeller, Keslassy & McKeown 2004). With max_th at a quarter of that RED leaves a link idle for 5 to 20 % of the
time under 1 to 20 flows of NewReno or CUBIC, and 1 to 10 % under 50 (10 to 1000 Mbit/s, 40 to 100 ms)."""

LEAST_BUFFER = 0.1
"""The same for the whole buffer, or for what a flow alone may have of it: below a tenth of that room the link is idle
for more than a tenth of the time. At a round trip of 40 ms and with 50 packets, CUBIC uses 96 % of 100 Mbit/s with one
flow; of 1 Gbit/s 89 % with one flow, 76 % with 10 and 98 % with 100 (docs/utilisation.md)."""

LARGEST_STEP = 10
"""A step of a drop probability is too large when it is more than so many times the probability that flows live with,
3/2W² for windows of W packets (Mathis, Semke, Mahdavi & Ott 1997). Below it BLUE and PI use 94 % of a link or more,
above it 86 % or less (docs/utilisation.md)."""

LONG_ROUND_TRIP = 1.5
"""CoDel's interval is to be in the order of the longest round trip (RFC 8289, Sec. 4.2). With 100 ms one CUBIC flow at
20 Mbit/s uses 90 % of a link at a round trip of 100 ms, 89 % at 150 ms, 62 % at 200 ms and 34 % at 300 ms."""

SHORT_ROUND_TRIP = 1 / 50
"""100 ms work well for round trips from 10 ms on (Nichols & Jacobson 2012). Below 2 ms, as in a data centre, a queue
stands for 50 round trips before the first signal."""

LEDBAT_TARGET_NS = 100e6
"""LEDBAT's target "MUST be 100 milliseconds or less" (RFC 6817, Sec. 2.5)."""

AT_MAX_TH = 0.95
"""An average that RED holds at max_th by dropping everything swings about it: it counts from this part of it on."""

MOST = 0.5
"""Most of the time: at least this part of it."""

OVERTAKERS = 3
"""So many packets that arrive before an earlier one are a loss to TCP without RACK: each is answered by a duplicate
acknowledgement, and the third lets the sender send again (RFC 5681, Sec. 3.2; RFC 6675 counts as many)."""

MINUTE_S = 60.0
"""A run that takes longer is told of before it begins."""

PYTHON_NS, DROP_NS, ROW_NS = 2600.0, 200.0, 300.0
"""What a packet costs more under a discipline written in Python, what a packet of an unresponsive flow costs, and what
a row of the series does. Measured as `packet_ns` was."""


class Tables(Protocol):
    """What is looked at of a run: its tables `links` and `queue`."""

    @property
    def links(self) -> pl.DataFrame: ...

    @property
    def queue(self) -> pl.DataFrame: ...


def of_scenario(resolved: Resolved, real: bool = False) -> list[str]:
    """What a resolved scenario shows before it runs. `real`: in real time, whatever a simulation would take."""
    traffic = Traffic(resolved)
    found = [_ports(traffic), _windows(traffic)]
    found += [_late_thresholds(traffic), _low_thresholds(traffic), _small_buffer(traffic.queue)]
    found += [_little_room(traffic), _large_steps(traffic), _short_targets(traffic), _intervals(traffic)]
    found += [_overload(traffic), _eager_ledbat(traffic), _reordering(traffic), _dead_wires(traffic)]
    found += [_mild_bursts(traffic)]
    found += [_late_changes(resolved), iter(()) if real else _long_run(traffic)]
    return [sentence for sentences in found for sentence in sentences]


def of_run(resolved: Resolved, run: Tables) -> list[str]:
    """What only a run shows. `resolved`: the scenario that was run."""
    return list(_held_average(resolved, run))


def common(lists: Iterable[Sequence[str]]) -> list[str]:
    """The sentences that all of the lists have, in the order of the first."""
    every = [list(sentences) for sentences in lists]
    return [sentence for sentence in every[0] if all(sentence in other for other in every)] if every else []


# --- words -------------------------------------------------------------------------------------


def _time(ns: float) -> str:
    return duration(ns / 1e9) if ns else "0 s"


def _amount(size: float | str) -> str:
    """A size as a scenario has it: packets, or bytes with their unit."""
    return size if isinstance(size, str) else f"{size} packet{'' if size == 1 else 's'}"


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _rate(place: Place) -> str:
    """The rate of a link; with a trace it is the mean one."""
    return f"{rate_text(place.rate_bps)}{' on average' if place.varies else ''}"


# --- sources -----------------------------------------------------------------------------------


def _ports(traffic: Traffic) -> Iterator[str]:
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
                    f"{_rate(link)}, which Drop Tail manages: it drops and delays before the queue under "
                    f"study can; raise its rate to "
                    f"{rate_text(peak * group.count * link.cost(packet_bytes(group.flow)))} or more"
                )
                break


def _windows(traffic: Traffic) -> Iterator[str]:
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
            f"{group.label}: a window of {_amount(group.flow['window'])} holds {each} at {rate_text(group.cap_bps)} "
            f"with a base round trip of {_time(group.path.rtt.typical_ns)}; its share of the path is "
            f"{rate_text(share)}, so the window decides and not the queue; set window to more than {needed} packets"
        )


def _by_losses(way: Path, packet: int) -> float:
    """The rate in bit/s at which losses on the wires of a path hold a TCP flow like Reno's: a window of √(3/2p) packets
    (Mathis, Semke, Mahdavi & Ott 1997)."""
    p = 1 - math.prod(1 - link.errors.losing for link in way.links)
    return math.sqrt(1.5 / p) * packet * 8e9 / way.rtt.typical_ns if p and way.rtt.typical_ns else math.inf


# --- thresholds --------------------------------------------------------------------------------


def _thresholds(queue: Resolved) -> tuple[str, str] | None:
    """The keys of the thresholds of RED and its relatives that hold for all packets; None when there are none."""
    pairs = (("min_th", "max_th"), ("out_min_th", "out_max_th"))
    return next((pair for pair in pairs if all(key in queue for key in pair)), None)


def _bytes(threshold: float | str, packet: int) -> float:
    """A threshold in bytes: in packets of that length, or as it is."""
    return in_base_unit(threshold) if isinstance(threshold, str) else threshold * packet


def _late_thresholds(traffic: Traffic) -> Iterator[str]:
    """Thresholds too high: min_th alone takes more than 400 ms of the link, and more than two base round trips.

    Below min_th RED does nothing, so a queue of min_th stands under any load. 400 ms one way are the most that a
    network should be planned for (ITU-T G.114); with round trips that are longer than that by themselves, RED 1993,
    Sec. VI-C, has nothing against a queue of a round trip or two.
    """
    if not (keys := _thresholds(traffic.queue)):
        return
    low = traffic.queue[keys[0]]
    for place, there, packet in traffic.meetings():
        wait = place.time_ns(packet, _bytes(low, packet) / packet)
        trip = max(group.path.rtt.most_ns for group in there)
        if wait > max(LATE_NS, 2 * trip):
            yield (
                f"queue.{keys[0]} = {_amount(low)}: they take {_time(wait)} on {place.name} "
                f"({_rate(place)}), and below them nothing is signalled; base round trips are "
                f"{_time(trip)} at most. Lower the thresholds: `sluicegate design red` chooses them"
            )
            return


def _low_thresholds(traffic: Traffic) -> Iterator[str]:
    """Thresholds too low: max_th is less than a quarter of the product of rate and round trip divided by √n.

    n is the number of TCP flows that last. See `LEAST_ROOM` for the rule and what it costs. Not told where something
    else may keep the link busy: web users, short transfers, or unresponsive flows that fill half of it.
    """
    if not (keys := _thresholds(traffic.queue)):
        return
    low, high = keys
    for place, there, packet in traffic.meetings():
        if not (flows := _lasting_alone(place, there)):
            continue
        trip = typical_rtt_ns(there)
        product = trip / place.time_ns(packet)  # in packets
        room = product * packet / math.sqrt(flows)
        given = traffic.queue[high]
        if _bytes(given, packet) < LEAST_ROOM * room:
            wanted = math.ceil(room / packet)
            yield (
                f"queue.{high} = {_amount(given)}: little for {place.name}, whose rate times the round trip of "
                f"{_time(trip)} is {product:.0f} packets{' on average' if place.varies else ''}: with {flows} TCP "
                f"flow{'s' if flows > 1 else ''} the link falls idle now and then. Raise {high} to about {wanted} "
                f"packets and {low} to a third of that: `sluicegate design red` chooses them"
            )
            return


def _small_buffer(queue: Resolved) -> Iterator[str]:
    """A buffer below max_th: it is full before the average can get there (RED 1993, Sec. V: "sufficiently large")."""
    keys = _thresholds(queue)
    if not keys or "limit" not in queue:
        return
    limit, high = queue["limit"], queue[keys[1]]
    if isinstance(limit, str) != isinstance(high, str):
        return
    if _bytes(limit, 1) < _bytes(high, 1):
        yield (
            f"queue.limit = {_amount(limit)}: the buffer is full before the average reaches {keys[1]} = "
            f"{_amount(high)}, and drops as Drop Tail does; set limit to twice {keys[1]} or more"
        )


ROOM = {
    "limit": "drop_tail random_drop early_random_drop decbit source_quench ut_lt drop_preference fq sfq",
    "q_ref": "dcn",
}
"""What decides how long a queue can be: the buffer alone, or a target; and of which disciplines."""

PER_FLOW = {"sfb": "bin_max", "fq_linux": "flow_limit"}
"""Disciplines under which each flow has so many packets in the queue at most."""


def _little_room(traffic: Traffic) -> Iterator[str]:
    """A buffer or a target too small: less than a tenth of the product of rate and round trip divided by √n.

    See `LEAST_BUFFER`.
    Where each flow has a bound of its own, flows do not share the room, and n of them have n times as much; the product
    is then that of all. Not told where `_low_thresholds` would not be.
    """
    queue = traffic.queue
    per_flow = PER_FLOW.get(queue["discipline"])
    key = per_flow or next((key for key, those in ROOM.items() if queue["discipline"] in those.split()), None)
    if key is None:
        return
    for place, there, packet in traffic.meetings():
        if not (flows := _lasting_alone(place, there)):
            continue
        trip = typical_rtt_ns(there)
        product = trip / place.time_ns(packet)  # in packets
        room = product / flows if per_flow else product / math.sqrt(flows)
        if _bytes(queue[key], packet) < LEAST_BUFFER * room * packet:
            bins = " and bin_size to four fifths of it" if queue["discipline"] == "sfb" else ""
            yield (
                f"queue.{key} = {_amount(queue[key])}: little for {place.name}, whose rate times the round trip of "
                f"{_time(trip)} is {product:.0f} packets{' on average' if place.varies else ''}: with {flows} TCP "
                f"flow{'s' if flows > 1 else ''} the link falls idle now and then. Raise {key} to about "
                f"{math.ceil(room)} packets{bins}"
            )
            return


def _large_steps(traffic: Traffic) -> Iterator[str]:
    """Steps of a drop probability that are far above what the flows of the link live with, see `LARGEST_STEP`.

    BLUE adds `d1` when its buffer is full. PI adds b·q_ref when the queue grows from q_ref to twice that; its constants
    are those of Hollot et al. for 60 flows on 3750 packets/s. After such a step windows fall far below what fills the
    link, and the probability comes down slowly. Not told where `_low_thresholds` would not be.
    """
    queue = traffic.queue
    if queue["discipline"] == "blue":
        step = queue["d1"]
    elif queue["discipline"] == "pi" and not isinstance(queue["q_ref"], str):
        step = queue["b"] * queue["q_ref"]
    else:
        return
    for place, there, packet in traffic.meetings():
        if not (flows := _lasting_alone(place, there)):
            continue
        window = typical_rtt_ns(there) / place.time_ns(packet) / flows
        lived_with = 1.5 / window**2
        if step > LARGEST_STEP * lived_with:
            blue = queue["discipline"] == "blue"
            what = f"d1 = {step:g}: a step" if blue else f"b = {queue['b']:g}: a step of b·q_ref"
            fix = (
                f"set d1 to about {lived_with:.1g} and d2 to a tenth of it"
                if blue
                else "`sluicegate design pi` derives a and b for a link"
            )
            yield (
                f"queue.{what} is {step / lived_with:.0f} times the drop probability that {flows} TCP "
                f"flow{'s' if flows > 1 else ''} with windows of {window:.0f} packets live with on {place.name}: the "
                f"link falls idle after each; {fix}"
            )
            return


def _lasting_alone(place: Place, there: Sequence[Group]) -> int:
    """How many TCP flows that last cross a link; 0 where something else may keep it busy: web users, short transfers,
    or unresponsive flows that fill half of it."""
    rest = sum(_load(group, place) for group in there if group.flow["kind"] in UNRESPONSIVE)
    if rest > place.rate_bps / 2 or any(not g.lasting and g.flow["kind"] != "telnet" for g in there):
        return 0
    return sum(group.count for group in there if group.lasting and group.flow["kind"] == "tcp")


def _short_targets(traffic: Traffic) -> Iterator[str]:
    """A target below the time of one packet, for CoDel, PIE and their relatives.

    A packet that finds only the one in transmission before it is then late. RFC 8290, Sec. 5.2.2, asks for at least
    the time of one full packet. CAKE raises its target by itself if it knows the rate.
    """
    queue = traffic.queue
    if queue["discipline"] == "cake":
        yield from _unshaped_cake(traffic)
    if queue["discipline"] not in ("codel", "fq_codel", "pie", "docsis_pie", "fq_pie", "dualpi2"):
        return
    for place, _, packet in traffic.meetings():
        if (time := place.time_ns(packet)) > in_base_unit(queue["target"]):
            yield (
                f"queue.target = {queue['target']}: one packet of {packet} bytes takes {_time(time)} on {place.name} "
                f"({_rate(place)}); set target to {_time(1.5 * time)} or more"
            )
            return


def _unshaped_cake(traffic: Traffic) -> Iterator[str]:
    """CAKE without bandwidth: what it raises its target by follows from that."""
    queue = traffic.queue
    if "bandwidth" in queue:
        return
    target = in_base_unit(queue["target"]) if "target" in queue else in_base_unit(queue["rtt"]) / 20
    for place, _, packet in traffic.meetings():
        if (time := place.time_ns(packet)) > target:
            yield (
                f"queue.bandwidth: not given, so that CAKE keeps a target of {_time(target)}; one packet of {packet} "
                f"bytes takes {_time(time)} on {place.name} ({_rate(place)}); set bandwidth to somewhat less than that "
                f"rate, or target to {_time(1.5 * time)} or more"
            )
            return


def _intervals(traffic: Traffic) -> Iterator[str]:
    """CoDel's interval beside the round trip: below two thirds of it, or above fifty of it.

    See `LONG_ROUND_TRIP` and `SHORT_ROUND_TRIP`. The round trip is the median base round trip of the TCP flows that
    last; for the upper bound with the time of one packet on the link, which is most of it where the link is slow.
    """
    queue = traffic.queue
    key = {"codel": "interval", "fq_codel": "interval", "cake": "rtt"}.get(queue["discipline"])
    if key is None:
        return
    for place, there, packet in traffic.meetings():
        trip = typical_rtt_ns(there)
        interval = in_base_unit(queue[key])
        if trip > LONG_ROUND_TRIP * interval:
            yield (
                f"queue.{key} = {queue[key]}: base round trips on {place.name} are {_time(trip)}, so that a second "
                f"signal comes before a sender can have answered the first; set {key} to about {_time(trip)}"
            )
            return
        if trip > 0 and trip + place.time_ns(packet) < SHORT_ROUND_TRIP * interval:
            yield (
                f"queue.{key} = {queue[key]}: base round trips on {place.name} are only {_time(trip)}, so that a queue "
                f"stands for {interval / trip:.0f} of them before the first signal; set {key} to about "
                f"{_time(10 * trip)}, and target to a twentieth of that"
            )
            return


# --- averages at max_th ------------------------------------------------------------------------


def _overload(traffic: Traffic) -> Iterator[str]:
    """Unresponsive load above the link's rate, under RED that drops everything from max_th on.

    What does not slow down fills the queue until everything above the link's rate is dropped, and RED's probability
    below max_th is far less: the average stands at max_th. Told of RED and its relatives that know no flows. Each
    source counts by its mean rate if it sends for most of the measured time.
    """
    queue = traffic.queue
    keys = _thresholds(queue)
    if not keys or queue["discipline"] not in ("red", "ared", "gred", "rio") or queue.get("gentle"):
        return
    warmup, end = (in_base_unit(traffic.run[key]) for key in ("warmup", "duration"))
    for place, there, _ in traffic.meetings():
        load = sum(
            _load(group, place)
            for group in there
            if group.flow["kind"] in UNRESPONSIVE and traffic.seconds(group, warmup) >= MOST * (end - warmup)
        )
        if load > place.rate_bps:
            yield (
                f"{place.name}: unresponsive flows offer {rate_text(load)} to {_rate(place)}, so that the "
                f"average stands at {keys[1]} = {_amount(queue[keys[1]])}, where everything is dropped: RED is then a "
                f"Drop Tail of that size. {_instead(queue)}"
            )


def _load(group: Group, place: Place) -> float:
    """What a group asks of a link in bit/s, framing included."""
    return group.demand_bps * group.count * place.cost(packet_bytes(group.flow))


def _instead(queue: Resolved) -> str:
    gentle = "set gentle = true, or " if "gentle" in queue else ""
    return f"Lower the load, {gentle}take a discipline that knows flows, such as choke or fq_codel"


def _held_average(resolved: Resolved, run: Tables) -> Iterator[str]:
    """An average at or above max_th for most of the measured time, by the samples of the table `queue`; without series
    by the mean of the average in `links`.

    From 95 % of max_th on without `gentle`: dropping everything there makes the average swing about it. With `gentle`
    from max_th on, where the probability leaves the range that max_p was chosen for. Nothing is said of a queue in byte
    mode, nor of one that changes while it runs.
    """
    queue = resolved["queue"]
    keys = _thresholds(queue)
    changed = any(str(change.get("key", "")).startswith("queue") for change in resolved.get("changes", ()))
    if not keys or isinstance(queue[keys[1]], str) or queue.get("mode") == "byte" or changed:
        return
    high = queue[keys[1]]
    bound = high if queue.get("gentle") else AT_MAX_TH * high
    warmup = in_base_unit(resolved["run"]["warmup"]) / 1e9
    names = {place.name for place in places(resolved)}
    rows = [row for row in run.links.to_dicts() if row["link"] in names and row["average_packets_mean"] is not None]
    samples = run.queue if any(row["average_packets_max"] >= bound for row in rows) else None
    for row in rows:
        if samples is None or row["average_packets_max"] < bound:
            continue
        seen = samples.filter((samples["link"] == row["link"]) & (samples["time_s"] > warmup))["average_packets"]
        share = float((seen >= bound).mean() or 0) if len(seen) else float(row["average_packets_mean"] >= bound)
        if share < MOST:
            continue
        how_long = f"for {_percent(share)} of the time" if len(seen) else "on average"
        forced = row["drops_forced"] / row["drops_packets"] if row["drops_packets"] else 0
        if queue.get("gentle"):
            there = f"at or above {keys[1]} = {_amount(high)}"
            means = f"more than max_p = {queue['max_p']:g} is dropped or marked"
        else:
            there = f"within 5 % of {keys[1]} = {_amount(high)} or above"
            part = f", {_percent(forced)} of its drops" if forced else ""
            means = f"at {keys[1]} arrivals are dropped or marked whatever max_p says{part}"
        gentle = "set gentle = true, " if queue.get("gentle") is False else ""
        yield (
            f"{row['link']}: the average was {there} {how_long}; {means}. Raise {keys[1].replace('_th', '_p')} or "
            f"{keys[1]}, {gentle}or lower the load"
        )


# --- hosts -------------------------------------------------------------------------------------


def _eager_ledbat(traffic: Traffic) -> Iterator[str]:
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


# --- wires -------------------------------------------------------------------------------------


def _reordering(traffic: Traffic) -> Iterator[str]:
    """Packets of a TCP flow that overtake each other by three or more: the hosts take that for a loss.

    Hosts of `stack = rfc` count duplicate acknowledgements. Linux's wait for part of a round trip instead (RACK,
    RFC 8985), and are not told of. Told where the jitter is above the time that three full packets take at the flow's
    share of its path. At a jitter of 2.5 ms one flow of CUBIC uses 50 % of a link of 20 Mbit/s, four use 43 % at 20 ms,
    Linux's 98 and 100 %; below that time, at 1.7 and 5 ms, they all use 98 % or more. Told of the first group that
    crosses each link, telnet apart.
    """
    told = set()
    for group in traffic.groups:
        if group.flow.get("stack") != "rfc" or group.flow["kind"] == "telnet":
            continue
        for link in group.path.links:
            if not link.reorders or link.name in told:
                continue
            least = OVERTAKERS * packet_bytes(group.flow) * 8e9 / traffic.share_of(group, math.inf)
            if link.jitter_ns > least:
                told.add(link.name)
                yield (
                    f"{link.name}: a jitter of {_time(link.jitter_ns)} lets packets overtake each other, and three "
                    f"that do look like a loss to the TCP hosts of {group.label}, which have no RACK: they slow down "
                    f"whatever the queue does; set reordering = false, a jitter below {_time(least)}, or stack = linux"
                )


def _dead_wires(traffic: Traffic) -> Iterator[str]:
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
                f"{link.name}: burst_end = 0: the first burst of errors begins after {_amount(after)} on average "
                f"and never ends, and with burst_loss = 1 nothing gets through in it; set burst_end above 0, such as "
                f"0.1 for bursts of 10 packets on average"
            )


def _mild_bursts(traffic: Traffic) -> Iterator[str]:
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


# --- changes -----------------------------------------------------------------------------------


def _late_changes(resolved: Resolved) -> Iterator[str]:
    """A change at the end of the run or later, which changes nothing."""
    end = resolved["run"]["duration"]
    for index, change in enumerate(resolved.get("changes", ())):
        if in_base_unit(change["time"]) >= in_base_unit(end):
            yield (
                f"changes.{index}: {change['key']} is to change at {change['time']}, but the run ends at {end}, "
                f"so that nothing changes; set an earlier time, or run.duration to more than {change['time']}"
            )


# --- long runs ---------------------------------------------------------------------------------


def packet_ns(flows: int) -> float:
    """What a packet that arrives at a link costs, with its acknowledgement, when there are so many TCP flows.

    Measured on one core of a server of the 2020s: 0.2 µs with one flow, 0.4 with 10, 0.55 with 100, 0.8 with 1000, and
    1.6 in the scenario dcn2004 with its 20,000 users; docs/performance.md has half of that for another machine.
    """
    return 250 + 180 * math.log10(max(flows, 1))


def seconds(resolved: Resolved) -> float:
    """About how long a scenario takes to run on one core, in seconds: right within a factor of two or three."""
    return sum(_cost(Traffic(resolved)))


def _cost(traffic: Traffic) -> tuple[float, float]:
    """Seconds for packets, and for the series."""
    run, groups, custom = traffic.run, traffic.groups, "python" in traffic.queue
    tcp = sum(group.count for group in groups if group.flow["kind"] not in UNRESPONSIVE)
    total = 0.0
    for group in groups:
        unresponsive = group.flow["kind"] in UNRESPONSIVE
        bps = group.count * (group.demand_bps if unresponsive else traffic.share(group))
        length = packet_bytes(group.flow) * (WEB_PACKET if group.flow["kind"] in ("http", "connections") else 1)
        packets = bps / 8 / length * traffic.seconds(group) / 1e9
        arrivals = packets * len(group.path.links)
        back = packets * answers(group.flow)
        arrivals += back * len(group.path.back)
        managed = packets * len(group.path.places) + back * sum(link.managed for link in group.path.back)
        total += arrivals * (DROP_NS if unresponsive else packet_ns(tcp)) + (PYTHON_NS * managed if custom else 0)
    rows = 0.0
    if run["series"]:
        each = sum(1 if group.flow["kind"] in ("http", "connections") else group.count for group in groups)
        rows = each * in_base_unit(run["duration"]) / in_base_unit(run["sample"])
    return total / 1e9, rows * ROW_NS / 1e9


def _long_run(traffic: Traffic) -> Iterator[str]:
    """A run estimated at more than a minute: cost goes by packets (`packet_ns`) and by rows of the series."""
    packets, rows = _cost(traffic)
    if packets + rows <= MINUTE_S:
        return
    shorter = "shorten run.duration"
    if rows > packets / 5:
        shorter += ", or set run.series = false or a longer run.sample"
    yield (
        f"run.duration = {traffic.run['duration']}: the run takes about {about(packets + rows)} "
        f"(on one core of a server of the 2020s); {shorter}"
    )


def about(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes <= 1:
        return "a minute"
    return f"{minutes} minutes" if minutes < 100 else f"{round(minutes / 60)} hours"
