"""Bounds in packets that are too small for TCP to fill a link, and steps of a probability that are too large."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..declarations import defaults
from ..quantities import in_base_unit
from ..traffic.groups import Group, Traffic, packet_bytes, typical_rtt_ns
from ..traffic.paths import Resolved
from .load import is_lasting_tcp, lasting_alone
from .thresholds import in_bytes
from .words import amount, span

LEAST_BUFFER = 0.5
"""As `LEAST_ROOM`, for the whole buffer or for what a flow alone may have of it. With half of that room 1, 10 and 100
flows of Linux's Reno use 88 to 97 % of 10 Mbit/s to 1 Gbit/s at a round trip of 40 ms, with a quarter 86 to 94 %, with
a tenth 78 to 87 %; of CUBIC 98 % or more, 92 to 99 % and 79 to 95 %."""

TWICE = "bbr"
"""The algorithm whose flows, if there are several, keep up to three products of rate and round trip under way, however
many they are, and do not slow down for losses. On 100 Mbit/s ten of them lose 14 % of their packets with 50 packets of
buffer, 11 with a product, 7 with one and a half, 0.5 with two; three lose 10 % with half a product and 5 with one. A
flow alone loses 2 % with 50 packets, none with half a product."""

LEAST_TARGET, ENOUGH_TARGET = 0.04, 0.1
"""The same for DCN's q_ref, which bursts may pass. At a round trip of 40 ms a CUBIC flow alone uses 64 to 71 % of 100
Mbit/s with 2 to 12 packets, 81 % with 16, and 84 to 92 % with 24, the default; 68 % of 1 Gbit/s with 80 packets, 90 %
with 160 and 93 % with 240, the default."""

LARGEST_STEP = 10
"""A step of a drop probability is too large when it is more than so many times the probability that flows live with,
3/2W² for windows of W packets (Mathis, Semke, Mahdavi & Ott 1997). Below it BLUE and PI use 91 % of a link or more,
above it 83 % or less (1 to 100 flows of CUBIC, 1 Mbit/s to 1 Gbit/s, 40 ms)."""

ROOM = {
    "limit": "drop_tail random_drop early_random_drop decbit source_quench ut_lt drop_preference fq sfq",
    "q_ref": "dcn",
}
"""What decides how long a queue can be: the buffer alone, or a target; and of which disciplines."""

MOST_PACKETS = 2
"""REM with mode = packet takes packets shorter than max_packet for an overload. On 10 Mbit/s five CUBIC flows use 97 %
with packets of 3/4 of max_packet, 85 % with half of it and 70 % with a third."""

CONTAINERS = ("priority", "drr")
"""Disciplines that hold classes; those that are not described are Drop Tail queues."""

PER_FLOW = {"sfb": "bin_max", "fq_linux": "flow_limit"}
"""Disciplines under which each flow has so many packets in the queue at most."""


def little_room(traffic: Traffic) -> Iterator[str]:
    """A buffer or a target too small: less than half of the product of rate and round trip divided by √n, or of a
    target less than a twenty-fifth; with BBR less than half of two products, of one for a flow alone.

    See `LEAST_BUFFER` and `LEAST_TARGET`.
    Where each flow has a bound of its own, flows do not share the room, and n of them have n times as much; the product
    is then that of all. Not told where `low_thresholds` would not be.
    """
    for place, there, packet in traffic.meetings():
        where, queue = _queue_of(traffic.queue, there)
        per_flow = PER_FLOW.get(queue["discipline"])
        key = per_flow or next((key for key, those in ROOM.items() if queue["discipline"] in those.split()), None)
        if key is None or not (flows := lasting_alone(place, there)):
            continue
        least, enough = (LEAST_TARGET, ENOUGH_TARGET) if key == "q_ref" else (LEAST_BUFFER, 1.0)
        trip = typical_rtt_ns(there)
        product = trip / place.time_ns(packet)  # in packets
        room = product / flows if per_flow else product / math.sqrt(flows)
        harm = "the link is idle at times"
        if key == "limit" and all(group.flow["algorithm"] == TWICE for group in there if is_lasting_tcp(group)):
            room, harm = product * min(flows, 2), "BBR loses packets"
        if in_bytes(queue[key], packet) < least * room * packet:
            bins = " and bin_size to four fifths of it" if queue["discipline"] == "sfb" else ""
            yield (
                f"{where}.{key} = {amount(queue[key])}: little for {place.name}, whose rate times the round trip of "
                f"{span(trip)} is {product:.0f} packets{' on average' if place.varies else ''}: with {flows} TCP "
                f"flow{'s' if flows > 1 else ''} {harm}. Raise {key} to about {math.ceil(enough * room)} packets{bins}"
            )
            return


def _queue_of(queue: Resolved, there: Sequence[Group]) -> tuple[str, Resolved]:
    """Where the TCP flows that last wait, and the queue there: of classes the one of all of them."""
    numbers = {group.flow["class"] for group in there if is_lasting_tcp(group)}
    if queue["discipline"] not in CONTAINERS or len(numbers) != 1:
        return "queue", queue
    [number] = numbers
    classes = queue.get("classes")
    if classes is None:
        return f"queue.classes.{number}", {"discipline": "drop_tail"} | defaults("disciplines", "drop_tail")
    takes = (at for at, each in enumerate(classes) if each.get("class", at) == number and "max_length" not in each)
    at = next(takes, len(classes) - 1)
    return f"queue.classes.{at}", classes[at]


def short_packets(traffic: Traffic) -> Iterator[str]:
    """More packets than REM's c, which counts packets of `max_packet`, by `MOST_PACKETS`: it looks like an overload."""
    queue = traffic.queue
    if queue["discipline"] != "rem" or queue["mode"] != "packet":
        return
    for place, there, _ in traffic.meetings():
        sent = sum(group.count * traffic.share(group) / packet_bytes(group.flow) for group in there)
        counted = place.rate_bps / in_base_unit(queue["max_packet"])
        if sent > MOST_PACKETS * counted:
            yield (
                f"queue.max_packet = {queue['max_packet']}: the flows of {place.name} send shorter packets, "
                f"{sent / counted:.1f} times as many as REM expects, which it takes for an overload: the link is idle "
                f"at times, or packets are dropped without need; set mode = byte"
            )
            return


def large_steps(traffic: Traffic) -> Iterator[str]:
    """Steps of a drop probability that are far above what the flows of the link live with, see `LARGEST_STEP`.

    BLUE adds `d1` when its buffer is full. PI adds b·q_ref when the queue grows from q_ref to twice that; its constants
    are those of Hollot et al. for 60 flows on 3750 packets/s. After such a step windows fall far below what fills the
    link, and the probability comes down slowly. Not told where `low_thresholds` would not be.
    """
    queue = traffic.queue
    if queue["discipline"] == "blue":
        step = queue["d1"]
    elif queue["discipline"] == "pi" and not isinstance(queue["q_ref"], str):
        step = queue["b"] * queue["q_ref"]
    else:
        return
    for place, there, packet in traffic.meetings():
        if not (flows := lasting_alone(place, there)):
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
                f"flow{'s' if flows > 1 else ''} with windows of {window:.0f} packets have on {place.name}: the link "
                f"is idle after each step; {fix}"
            )
            return
