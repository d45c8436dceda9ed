"""Assumed goals for users who state none, and those that no discipline can keep."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..goals import Goal, Known
from ..goals import goals as parsed
from ..goals.measures import GROUP, LINK
from ..quantities import in_base_unit, rate_text
from ..traffic.groups import COMING_AND_GOING, UNRESPONSIVE, Group, Traffic, conversation, packet_bytes
from ..traffic.paths import links, places

EASY_LOSS = "1 %"
"""What flows that send less than their share may lose, when nobody says otherwise: more is heard in calls without
concealment (ITU-T G.113, Appendix I)."""

EASY_DELAY_NS = 50_000_000
"""What their packets may be delayed at the 99th percentile beyond the base one-way delay, when nobody says otherwise:
of the 150 ms of ITU-T G.114 coders, jitter buffers and the path take the rest."""

FAIR_PART = 0.9
"""What transfers shall get of their max-min fair share, when nobody says otherwise."""

VARYING_PART = 0.6
"""The same where the rate of a link varies by a trace: the measured part of a trace may carry less than its mean, and
what is carried at once after a pause goes to queues that were long before. Over the trace lte FQ-CoDel and CAKE use
75 % of the mean in runs of 60 s and 66 to 68 % in runs of 8 s; Drop Tail with 1000 packets 90 % and 79 %."""

UNNOTICED = "within 10 % or 10 ms"
"""What is as good as the best of times that a person waits for: half of the 20 % from which people notice that one is
longer (Seow 2008, Designing and Engineering Time, Ch. 3), and less than a frame of a screen (17 ms)."""


def assume(traffic: Traffic, about: Known) -> tuple[list[Goal], list[str]]:
    """Goals that a person probably has, and what is said of groups: why one gets none, and what one is taken for.

    Calls and games (`traffic.conversation`), whatever their share, and other flows that send by the clock and ask for
    less than their max-min fair share, shall lose and wait little; transfers shall get most of their share, less of it
    where a link's rate varies; users and transfers that end shall wait as little as can be had. Any other group that
    sends more than its share whatever happens, if only in bursts, has no goal.
    """
    first, later, notes = [], [], []
    talk: dict[str, list[str]] = {}
    warmup = in_base_unit(traffic.run["warmup"])
    for name in about.groups:
        groups = [group for group in traffic.groups if group.flow["name"] == name and group.path.places]
        kinds = {group.flow["kind"] for group in groups}
        if not groups:
            notes.append(f"{name}: no goal, it crosses no link under study")
        elif not any(traffic.seconds(group, warmup) for group in groups):
            notes.append(f"{name}: no goal, it sends nothing in the measured window")
        elif kinds <= {*UNRESPONSIVE, "telnet"}:
            peaks = [(group, in_base_unit(group.flow["rate"])) for group in groups if "rate" in group.flow]
            above = any(peak > 1.001 * traffic.share_of(group, peak) for group, peak in peaks)
            talks = [conversation(group.flow) for group in groups]
            if above and None in talks:
                notes.append(f"{name}: no goal, it sends more than its share whatever happens to its packets")
                continue
            if told := " and ".join(dict.fromkeys(filter(None, talks))):
                more = ""
                if above:
                    more = f"; it sends more than its fair share of {_shares(traffic, groups)}, and disciplines with a "
                    more += "queue for each flow drop the rest"
                    if not any(group.flow.get("class") or group.flow.get("host") for group in groups):
                        more += (
                            ", unless the keys host or class (its DSCP) tell them who sends it; for CAKE, set class to "
                        )
                        more += "46 (EF) with its default, to 34 (AF41) with diffserv4"
                wants = "little loss and delay are assumed to be wanted"
                talk.setdefault(f"taken for a call or a game by {told}: {wants}{more}", []).append(name)
            base = max(group.path.rtt.typical_ns for group in groups) / 2
            delay = math.ceil((base + EASY_DELAY_NS) / 1e6)
            first += [(name, f"loss below {EASY_LOSS}"), (name, f"p99 below {delay} ms")]
        elif kinds == {"tcp"} and all(group.lasting and "size" not in group.flow for group in groups):
            share = sum(group.count * traffic.share(group) for group in groups)
            varying = {link.name: None for group in groups for link in group.path.links if link.varies}
            wanted = VARYING_PART if varying else FAIR_PART
            if varying:
                notes.append(
                    f"{name}: {100 * wanted:.0f} % of its fair share is assumed to be enough, because the rate of "
                    f"{' and '.join(varying)} varies"
                )
            part = max(1, math.floor(100 * wanted * min(1, share / about.groups[name])))
            later.append((name, f"utilisation above {part} %"))
        elif kinds.issubset(COMING_AND_GOING):
            first.append((name, f"response p50 least {UNNOTICED}"))
        elif kinds == {"tcp"} and all("size" in group.flow for group in groups):
            first.append((name, f"completion p50 least {UNNOTICED}"))
        elif kinds == {"endpoints"}:
            notes.append(f"{name}: no goal, only its ends know what they want")
        else:
            notes.append(f"{name}: no goal, its flows are of several kinds")
    notes = [*(f"{', '.join(names)}: {said}" for said, names in talk.items()), *notes]
    return parsed([f"{name} {what}" for name, what in first + later], about), notes


def _shares(traffic: Traffic, groups: Sequence[Group]) -> str:
    """What each flow of these entries may have of its links, in words."""
    return rate_text(min(traffic.share_of(group, in_base_unit(group.flow["rate"])) for group in groups))


def beyond(found: Iterable[Goal], traffic: Traffic) -> list[str]:
    """What is said of goals above what a link can carry: frames and cells take their part of its rate, and throughput
    and utilisation count IP packets alone. Links whose rate varies may carry more than their mean rate."""
    notes = []
    for goal in found:
        if goal.bound is None or goal.sense != "above":
            continue
        if goal.group is not None and goal.metric is GROUP["throughput"]:
            there = [group for group in traffic.groups if group.flow["name"] == goal.group]
            common = set.intersection(*({link.name for link in group.path.links} for group in there))
        elif goal.metric is LINK["utilisation"]:
            name = goal.column.removesuffix(f".{goal.metric.name}")
            common = {places(traffic.resolved)[0].name if name == goal.column else name}
            there = traffic.at[next(iter(common))]
        else:
            continue
        lengths = {packet_bytes(group.flow) for group in there}
        for link in links(traffic.resolved):
            if link.name not in common or link.varies or not lengths:
                continue
            length = max(lengths, key=lambda length: 1 / link.cost(length))
            part = 1 / link.cost(length)
            bound = goal.bound if goal.group is None else goal.bound / link.rate_bps
            if part < 1 and bound > part:
                notes.append(
                    f'"{goal.text}" cannot be kept: framing leaves packets of {length} bytes at most '
                    f"{100 * part:.1f} % of {link.name}, {rate_text(part * link.rate_bps)}"
                )
                break
    return notes
