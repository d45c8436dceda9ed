"""Lines for queues with classes: prio and drr, a discipline in each class, and the filters that choose it.

A scenario's `class` is a DSCP here: a filter matches the six bits in IPv4 and in IPv6. What no filter takes goes to the
last class, as in the simulator. A filter by length counts the frame, with its Ethernet header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..declarations import defaults
from .plan import Plan
from .target import Undeployable, Values

USUAL_BANDS = 3
"""How many classes there are when neither `classes` nor `bands` is given."""
MOST_BANDS = 16
"""prio's (include/uapi/linux/pkt_sched.h, TCQ_PRIO_BANDS)."""


def priority(plan: Plan, parent: str, values: Values) -> str:
    """prio: a class sends when all before it have nothing to send."""
    entries = classes(values)
    bands = max(len(entries), 2)  # the least that the kernel takes
    if bands > MOST_BANDS:
        raise Undeployable(f"priority with {bands} classes: prio has {MOST_BANDS} bands at most")
    last = len(entries) - 1
    handle = plan.qdisc(parent, f"prio bands {bands} priomap {' '.join([str(last)] * 16)}")
    fill(plan, handle, entries)
    said_limit(plan, values)
    return handle


def drr(plan: Plan, parent: str, values: Values) -> str:
    """drr: classes with quanta. What no filter takes would be dropped, so that one takes all."""
    entries = classes(values)
    handle = plan.qdisc(parent, "drr")
    for at, entry in enumerate(entries):
        quantum = plan.bytes(own(entry) if "quantum" in entry else values, "quantum")
        class_line = f"tc class add dev {plan.dev} parent {handle} classid {handle}{at + 1:x} drr quantum {quantum}"
        plan.lines.append(class_line)
    order = fill(plan, handle, entries)
    target = f"classid {handle}{len(entries):x}"
    plan.lines.append(f"tc filter add dev {plan.dev} parent {handle} protocol all prio {order} matchall {target}")
    said_limit(plan, values)
    plan.say("drr sends a packet once the deficit covers it; the scenario's sends while the deficit is above zero")
    plan.say("drr counts the 14-byte Ethernet header of each packet against the quantum")
    return handle


def own(entry: Mapping[str, Any]) -> Values:
    """The values of a class itself, without those of its discipline."""
    return Values(dict(entry) | {"discipline": ""})


def said_limit(plan: Plan, values: Values) -> None:
    plan.say(f"limit = {values.get('limit')} for all classes together is not deployed", "limit" in values)


def classes(values: Values) -> list[Mapping[str, Any]]:
    """The entries of [[queue.classes]], or those that `bands` stands for."""
    given = values.get("classes")
    if given:
        return list(given)
    plain = {"discipline": "drop_tail"} | defaults("disciplines", "drop_tail")
    return [plain] * int(values.get("bands") or USUAL_BANDS)


def fill(plan: Plan, handle: str, entries: list[Mapping[str, Any]]) -> int:
    """Add the discipline of each class, and filters for all but the last; gives the place for one more filter."""
    order = 1
    for at, entry in enumerate(entries):
        plan.install(f"parent {handle}{at + 1:x}", entry)
        plan.say(
            "CoDel in the kernel looks at the backlog of its own class, not at what waits for the link",
            entry["discipline"] in ("codel", "fq_codel") and entry["law"] != "linux",
        )
        for protocol, match in filters(plan, at, entry) if at < len(entries) - 1 else ():
            target = f"classid {handle}{at + 1:x}"
            place = f"parent {handle} protocol {protocol} prio {order}"
            plan.lines.append(f"tc filter add dev {plan.dev} {place} {match} {target}")
            order += 1
    return order


def filters(plan: Plan, at: int, entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """For each protocol the match of a class: by DSCP, by length, or by both."""
    sized = "max_length" in entry
    number = entry.get("class", None if sized else at)
    if number is not None and number > 63:
        raise Undeployable(f"class = {number}: classes are DSCPs in Linux, 0 to 63")
    plan.say(
        "a class is a DSCP, matched in IPv4 and IPv6; the sender must set it, and all other packets go to the "
        "last class"
    )
    if not sized:
        match = f"flower ip_tos {number << 2:#04x}/0xfc"
        return [("ip", match), ("ipv6", match)]
    longest = own(entry).base("max_length") + 14
    plan.say("max_length is matched against the frame, its 14-byte Ethernet header included")
    length = f"meta(pkt_len lt {longest + 1})"
    if number is None:
        return [("all", f"basic match '{length}'")]
    # The traffic class of IPv6 lies across its first two bytes.
    ipv4 = f"cmp(u8 at 1 layer network mask 0xfc eq {number << 2})"
    ipv6 = f"cmp(u16 at 0 layer network mask 0xfc0 eq {number << 6})"
    return [("ip", f"basic match '{length} and {ipv4}'"), ("ipv6", f"basic match '{length} and {ipv6}'")]
