"""Lines for Linux: `tc` commands that make an interface's queue the discipline of a scenario.

Above the discipline stands a shaper, because a queue forms where the rate is limited: htb with the link's rate, or
cake's own. Numbers are those that tc reads (iproute2, tc/q_*.c) and the kernel uses (net/sched/sch_*.c); what either
rounds, fixes or leaves out is a remark.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import _core
from ..traffic.paths import queue_at
from . import linux_classes, linux_flows, linux_queues, linux_red
from .plan import FASTER, UNDO, Plan, Writer, fit, rate_word, sending_time
from .target import (
    ETHERNET,
    FRONT,
    Deployment,
    Link,
    Position,
    Undeployable,
    Values,
    find_link,
    header_of,
    interface,
    refusal,
)  # fmt: skip

__all__ = ["Deployment", "Undeployable", "deployable", "lines"]

WRITERS: dict[str, Writer] = {
    "drop_tail": linux_queues.drop_tail,
    "red": linux_red.red,
    "ared": linux_red.ared,
    "choke_linux": linux_red.choke_linux,
    "gred": linux_red.gred,
    "sfb": linux_queues.sfb,
    "codel": linux_queues.codel,
    "pie": linux_queues.pie,
    "dualpi2": linux_queues.dualpi2,
    "fq_codel": linux_flows.fq_codel,
    "fq_pie": linux_flows.fq_pie,
    "fq_linux": linux_flows.fq_linux,
    "sfq": linux_flows.sfq,
    "cake": linux_flows.cake,
    "priority": linux_classes.priority,
    "drr": linux_classes.drr,
}

NEAREST = {
    "choke": "choke_linux",
    "random_drop": "choke_linux",
    "early_random_drop": "red",
    "penalty_box": "sfb",
    "red_pd": "sfb",
    "blue": "sfb",
    "sred": "sfb",
    "fred": "sfb",
    "afd": "sfb",
    "dcn": "sfb",
    "pi": "pie",
    "docsis_pie": "pie with target = 10 ms, t_update = 16 ms and mode = byte",
    "rem": "pie",
    "rio": "gred",
    "rio_ps": "gred",
    "drop_preference": "gred",
    "source_quench": "drop_tail",
    "fq": "fq_linux",
    "csfq": "fq_linux",
    "l4s_step": "codel with ce_threshold",
}
"""Of disciplines that Linux does not have, what it has for the same purpose."""


def deployable(name: str) -> bool:
    """Whether a discipline of this name has lines for tc."""
    return name in WRITERS


def lines(
    resolved: Mapping[str, Any], dev: str, link: str | None = None, position: Position = FRONT
) -> Deployment:  # fmt: skip
    """The commands that deploy the queue of a resolved scenario, as `sluicegate.check` returns it.

    `dev`: the interface, as `target.interface` takes it. `link`: which link of the network; a dumbbell's bottleneck,
    or the only one with the queue, unless given. `position`: where the shaper stands. Raises Undeployable, for a
    class's discipline too.
    """
    place = find_link(resolved, link, position.part)
    plan = Plan(shlex.quote(interface(dev)), place, WRITERS, position)
    queue = queue_at(resolved, place.name)
    refuse_unknown(queue)
    if queue["discipline"] == "cake":
        linux_flows.shaping_cake(plan, Values(queue))
    else:
        shape(plan)
        plan.install("parent 1:1", queue)
        plan.say("only cake gains from several transmit queues (cake_mq): htb has one lock", position.multiqueue)
    undo = ["root"] + ["clsact"] * plan.sets_tc_index
    plan.say(f"{' and '.join(f'`tc qdisc del dev {plan.dev} {what}`' for what in undo)} {UNDO}")
    plan.say("[[changes]] are not deployed: these are the values at the start", bool(resolved.get("changes")))
    return plan.deployment()


def refuse_unknown(table: Mapping[str, Any]) -> None:
    """Raise Undeployable if this queue, or one in its classes, has no counterpart."""
    name = str(table["discipline"])
    if not deployable(name):
        refused = refusal(name, "Linux", list(WRITERS), NEAREST)
        raise Undeployable(f"{refused}; as a BPF queue: --bpf -o FOLDER") if name in _core.bpf_names() else refused
    for entry in table.get("classes", []):
        if isinstance(entry, Mapping):
            refuse_unknown(entry)


def shape(plan: Plan) -> None:
    """Add htb with the link's rate: a root with one class, 1:1, whose queue is the discipline."""
    link = plan.link
    frame = link.packet + 14
    longest = max(1514, frame)
    # So much is sent between two looks of a shaper that wakes every millisecond; a link sends packet by packet.
    burst = fit(link.shaper.burst if link.shaper else max(longest, -(-link.rate // 8000)), "burst")
    rate = shaper_rate(link)
    rates = f"rate {rate_word(rate)} burst {burst} cburst {burst} quantum {longest}"
    plan.lines.append(f"tc qdisc add dev {plan.dev} root handle 1: htb default 1")
    plan.lines.append(f"tc class add dev {plan.dev} parent 1: classid 1:1 htb {rates}{framing_words(plan)}")
    what = "the shaper" if link.shaper else f"the link of {link.shown_rate}"
    plan.say(f"htb is {what}: the interface {FASTER} htb")
    plan.say("htb knows whole bytes per second", rate % 8 != 0)
    said_framing(plan, link)
    plan.say(
        f"the rate of the scenario's link varies (trace); htb has {link.shown_rate}, the mean of the trace unless rate "
        f"is given. While the link is slower than that, the queue forms at the link: lower htb's rate to one "
        f"that the link rarely falls below",
        link.varies,
    )
    plan.say(
        f"after a pause htb sends up to {burst} bytes at once (burst); the scenario's link has no such burst",
        link.shaper is None,
    )
    plan.say(
        f"segmentation offload merges packets: `ethtool -K {plan.dev} tso off gso off gro off` and, for this "
        f"machine's own TCP, `ip link set dev {plan.dev} gso_max_segs 1` make queues count packets as the scenario does"
    )
    plan.say("tx_ring is not deployed: below htb the driver's ring stays empty", link.tx_ring)


def shaper_rate(link: Link) -> int:
    """The rate of htb. Of PTM's 65 bytes 64 are of frames, and htb does not know it: its rate is so much lower."""
    return link.rate * 64 // 65 // 8 * 8 if link.framing.cells == "ptm" else link.rate


def framing_words(plan: Plan) -> str:
    """The words of an htb class for the framing. The least frame counts the interface's header and overhead, as
    ours."""
    framing = plan.link.framing
    said = f" overhead {more}" if (more := beyond_header(plan)) else ""
    said += f" mpu {framing.least}" if framing.least else ""
    return said + (" linklayer atm" if framing.cells == "atm" else "")


def beyond_header(plan: Plan) -> int:
    """What a frame has beyond the header that the interface counts, as far as the scenario's framing says so."""
    return max(plan.link.framing.around - header_of(plan.dev), 0)


def said_framing(plan: Plan, link: Link) -> None:
    """What a packet costs under htb, which counts the header of the interface, and in the scenario."""
    framing, more = link.framing, beyond_header(plan)
    if more and not header_of(plan.dev):
        plan.say(
            f"{plan.dev} is the name of an interface without an Ethernet header, so overhead {more} is all of the "
            "scenario's framing"
        )
    elif more:
        plan.say(
            f"htb counts the 14 bytes of an Ethernet header itself: with overhead {more} that is the "
            f"scenario's framing of {framing.around} B; an interface without such a header needs overhead "
            f"{framing.around}"
        )
    elif framing.around != header_of(plan.dev):
        counted = replace(framing, around=ETHERNET).on_wire(link.packet)
        plan.say(
            f"htb counts 14 bytes of Ethernet header, the scenario {framing.around}: a packet of {link.packet} bytes "
            f"takes {sending_time(counted, link.rate)} instead of "
            f"{sending_time(framing.on_wire(link.packet), link.rate)}",
            counted != framing.on_wire(link.packet),
        )
    plan.say(
        "htb has no linklayer for PTM, which adds a byte to each 64: its rate is 64/65 of the link's "
        f"{link.shown_rate} instead; the scenario rounds those bytes up for each packet",
        framing.cells == "ptm",
    )
