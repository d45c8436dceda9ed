"""Thresholds and averages of RED and its relatives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..quantities import in_base_unit, rate_text
from ..traffic.groups import UNRESPONSIVE, Traffic, typical_rtt_ns
from ..traffic.paths import Resolved, places, queue_at
from .load import lasting_alone, load_bps
from .words import amount, percent, rate_of, span

if TYPE_CHECKING:
    import polars as pl

LATE_NS = 400e6
"""The longest one-way delay that networks should be planned for (ITU-T G.114)."""

TARGET_NS = 150e6
"""A one-way delay that hardly any application feels (ITU-T G.114). A controller holds a queue at its target, so that
every packet waits for so long."""

HELD = {"dcn": "q_ref", "afd": "q_ref", "pi": "q_ref", "rem": "b_ref"}
"""Targets in packets, and of which disciplines."""

LEAST_HELD = 5
"""No target is advised that is less: of so many packets DCN's and AFD's fill 1 Mbit/s with ten flows."""

LEAST_ROOM = 0.25
"""A queue keeps a link busy under n long TCP flows when it has room for the product of rate and round trip divided by
√n (Appenzeller, Keslassy & McKeown 2004). With max_th at a quarter of that RED leaves a link idle for 5 to 20 % of the
time under 1 to 20 flows of NewReno or CUBIC, and 1 to 10 % under 50 (10 to 1000 Mbit/s, 40 to 100 ms)."""

AT_MAX_TH = 0.95
"""An average that RED holds at max_th by dropping everything swings about it: it counts from this part of it on."""

MOST = 0.5
"""Most of the time: at least this part of it."""


def thresholds(queue: Resolved) -> tuple[str, str] | None:
    """The keys of the thresholds of RED and its relatives that hold for all packets; None when there are none."""
    pairs = (("min_th", "max_th"), ("out_min_th", "out_max_th"))
    return next((pair for pair in pairs if all(key in queue for key in pair)), None)


def in_bytes(threshold: float | str, packet: int) -> float:
    """A threshold in bytes: in packets of that length, or as it is."""
    return in_base_unit(threshold) if isinstance(threshold, str) else threshold * packet


def late_thresholds(traffic: Traffic) -> Iterator[str]:
    """Thresholds too high: min_th alone takes more than 400 ms of the link, and more than two base round trips.

    Below min_th RED does nothing, so a queue of min_th stands under any load. 400 ms one way are the most that a
    network should be planned for (ITU-T G.114); with round trips that are longer than that by themselves, RED 1993,
    Sec. VI-C, has nothing against a queue of a round trip or two.
    """
    if not (keys := thresholds(traffic.queue)):
        return
    low = traffic.queue[keys[0]]
    for place, there, packet in traffic.meetings():
        wait = place.time_ns(packet, in_bytes(low, packet) / packet)
        trip = max(group.path.rtt.most_ns for group in there)
        if wait > max(LATE_NS, 2 * trip):
            yield (
                f"queue.{keys[0]} = {amount(low)}: sending that much takes {span(wait)} on {place.name} "
                f"({rate_of(place)}), and RED gives no signal below that; base round trips are "
                f"{span(trip)} at most. Lower the thresholds: `sluicegate design red` chooses them"
            )
            return


def late_targets(traffic: Traffic) -> Iterator[str]:
    """Targets in packets too long: they take more than 150 ms of the link, and more than two base round trips."""
    if not (key := HELD.get(traffic.queue["discipline"])):
        return
    target = traffic.queue[key]
    for place, there, packet in traffic.meetings():
        wait = place.time_ns(packet, in_bytes(target, packet) / packet)
        trip = max(group.path.rtt.most_ns for group in there)
        if wait > max(TARGET_NS, 2 * trip):
            enough = max(math.ceil(trip / place.time_ns(packet)), LEAST_HELD)
            yield (
                f"queue.{key} = {amount(target)}: the queue is held there, a wait of {span(wait)} on {place.name} "
                f"({rate_of(place)}); base round trips are {span(trip)} at most. Set {key} to about {enough} packets"
            )
            return


def low_thresholds(traffic: Traffic) -> Iterator[str]:
    """Thresholds too low: max_th is less than a quarter of the product of rate and round trip divided by √n.

    n is the number of TCP flows that last. See `LEAST_ROOM` for the rule and what it costs. Not told where something
    else may keep the link busy: web users, short transfers, or unresponsive flows that fill half of it.
    """
    queue = traffic.queue
    keys = thresholds(queue)
    follows = queue["discipline"] == "ared" and "max_th" not in queue
    if not keys and not follows:
        return
    for place, there, packet in traffic.meetings():
        if not (flows := lasting_alone(place, there)):
            continue
        trip = typical_rtt_ns(there)
        product = trip / place.time_ns(packet)  # in packets
        room = product / math.sqrt(flows)
        if keys:
            low, high = keys
            given, high_packets = amount(queue[high]), in_bytes(queue[high], packet) / packet
            fix = (
                f"to about {math.ceil(room)} packets and {low} to a third of that: `sluicegate design red` chooses them"
            )
        else:
            high, given = "target_delay", queue["target_delay"]
            high_packets = 3 * max(5, in_base_unit(given) / place.time_ns(packet) / 2)
            fix = f"to about {span(trip / math.sqrt(flows) / 1.5)}: max_th is one and a half times that"
        if high_packets < LEAST_ROOM * room:
            yield (
                f"queue.{high} = {given}: little for {place.name}, whose rate times the round trip of "
                f"{span(trip)} is {product:.0f} packets{' on average' if place.varies else ''}: with {flows} TCP "
                f"flow{'s' if flows > 1 else ''} the link is idle at times. Raise {high} {fix}"
            )
            return


def small_buffer(traffic: Traffic) -> Iterator[str]:
    """A buffer below max_th: it is full before the average can get there (RED 1993, Sec. V: "sufficiently large")."""
    queue = traffic.queue
    keys = thresholds(queue)
    if not keys or "limit" not in queue:
        return
    limit, high = queue["limit"], queue[keys[1]]
    if isinstance(limit, str) != isinstance(high, str):
        return
    if in_bytes(limit, 1) < in_bytes(high, 1):
        yield (
            f"queue.limit = {amount(limit)}: the buffer is full before the average reaches {keys[1]} = "
            f"{amount(high)}, and drops as Drop Tail does; set limit to twice {keys[1]} or more"
        )


def overload(traffic: Traffic) -> Iterator[str]:
    """Unresponsive load above the link's rate, under RED that drops everything from max_th on.

    What does not slow down fills the queue until everything above the link's rate is dropped, and RED's probability
    below max_th is far less: the average stands at max_th. Told of RED and its relatives that know no flows. Each
    source counts by its mean rate if it sends for most of the measured time.
    """
    queue = traffic.queue
    keys = thresholds(queue)
    if not keys or queue["discipline"] not in ("red", "ared", "gred", "rio") or queue.get("gentle"):
        return
    warmup, end = (in_base_unit(traffic.run[key]) for key in ("warmup", "duration"))
    for place, there, _ in traffic.meetings():
        load = sum(
            load_bps(group, place)
            for group in there
            if group.flow["kind"] in UNRESPONSIVE and traffic.seconds(group, warmup) >= MOST * (end - warmup)
        )
        if load > place.rate_bps:
            yield (
                f"{place.name}: unresponsive flows offer {rate_text(load)} to {rate_of(place)}, so the "
                f"average stays at {keys[1]} = {amount(queue[keys[1]])}, where RED drops every arrival: it is then a "
                f"Drop Tail queue of that size. {_instead(queue)}"
            )


def _instead(queue: Resolved) -> str:
    gentle = "set gentle = true, or " if "gentle" in queue else ""
    return f"Lower the load, {gentle}take a discipline that distinguishes flows, such as choke or fq_codel"


def held_average(resolved: Resolved, links: pl.DataFrame, queue: pl.DataFrame) -> Iterator[str]:
    """An average at or above max_th for most of the measured time, by the samples of the table `queue`; without series
    by the mean of the average in `links`.

    From 95 % of max_th on without `gentle`: dropping everything there makes the average swing about it. With `gentle`
    from max_th on, where the probability leaves the range that max_p was chosen for. Nothing is said of a queue in byte
    mode, nor of one that changes while it runs.
    """
    rule = resolved["queue"]
    keys = thresholds(rule)
    changed = any(str(change.get("key", "")).startswith("queue") for change in resolved.get("changes", ()))
    if not keys or isinstance(rule[keys[1]], str) or rule.get("mode") == "byte" or changed:
        return
    high = rule[keys[1]]
    bound = high if rule.get("gentle") else AT_MAX_TH * high
    warmup = in_base_unit(resolved["run"]["warmup"]) / 1e9
    names = {place.name for place in places(resolved) if queue_at(resolved, place.name) is rule}
    rows = [row for row in links.to_dicts() if row["link"] in names and row["average_packets_mean"] is not None]
    for row in rows:
        if row["average_packets_max"] < bound:
            continue
        seen = queue.filter((queue["link"] == row["link"]) & (queue["time_s"] > warmup))["average_packets"]
        share = float((seen >= bound).mean() or 0) if len(seen) else float(row["average_packets_mean"] >= bound)
        if share < MOST:
            continue
        how_long = f"for {percent(share)} of the time" if len(seen) else "on average"
        forced = row["drops_forced"] / row["drops_packets"] if row["drops_packets"] else 0
        if rule.get("gentle"):
            there = f"at or above {keys[1]} = {amount(high)}"
            means = f"more than max_p = {rule['max_p']:g} is dropped or marked"
        else:
            there = f"within 5 % of {keys[1]} = {amount(high)} or above"
            part = f", and such drops are {percent(forced)} of all drops" if forced else ""
            means = f"at {keys[1]} arrivals are dropped or marked whatever max_p says{part}"
        gentle = "set gentle = true, " if rule.get("gentle") is False else ""
        yield (
            f"{row['link']}: the average was {there} {how_long}; {means}. Raise {keys[1].replace('_th', '_p')} or "
            f"{keys[1]}, {gentle}or lower the load"
        )
