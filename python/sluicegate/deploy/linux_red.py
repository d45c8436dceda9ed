"""Lines for RED and its kin: red, choke, gred. tc's arithmetic of weights is in `design.linux`."""

from __future__ import annotations

import math

from ..design.linux import MOST_P, linux_red, told, weight_log
from .plan import Plan, fit
from .target import Undeployable, Values


def red(plan: Plan, parent: str, values: Values) -> str:
    """red in bytes: packets are the longest of the scenario's flows, in byte mode `max_packet`."""
    by_bytes = values["mode"] == "byte"
    avpkt = values.base("max_packet") if by_bytes else plan.link.packet
    bounds = [in_bytes(values, key, avpkt) for key in ("min_th", "max_th", "limit")]
    plan.say("thresholds and limit count each packet with its 14-byte Ethernet header", by_bytes)
    if not by_bytes:
        plan.packet_rounding(avpkt)
    words = red_words(plan, values, avpkt, bounds, float(values["w_q"]))
    plan.say("mode = byte: in Linux the probability does not grow with a packet's length", by_bytes)
    plan.say("method = 1: Linux has uniform gaps, method 2", values["method"] == 1)
    plan.say("short_first is not deployed: red is first in, first out; priority has classes", "short_first" in values)
    plan.say('the average is computed in whole numbers, as arithmetic = "shifts" does', values["arithmetic"] == "float")
    return plan.qdisc(parent, words)


def ared(plan: Plan, parent: str, values: Values) -> str:
    """red with `adaptative`: max_p moves as Adaptive RED's, with constants of the kernel's own.

    Thresholds and weight follow from C as the scenario has it, in packets of `packet` bytes; like RED's they become
    bytes by the packets of the scenario's flows.
    """
    avpkt = plan.link.packet
    per_second = values.rate("bandwidth", plan.link) / (8 * values.base("packet"))
    half = round(values.base("target_delay") / 1e9 * per_second / 2)
    min_th = values.size("min_th")[0] if "min_th" in values else max(half, 5)
    max_th = values.size("max_th")[0] if "max_th" in values else 3 * min_th
    w_q = float(values["w_q"]) if "w_q" in values else 1 - math.exp(-1 / per_second)
    bounds = [min_th * avpkt, max_th * avpkt, in_bytes(values, "limit", avpkt)]
    plan.packet_rounding(avpkt)
    words = red_words(plan, values, avpkt, bounds, w_q) + " adaptative"
    fixed = {"bottom": 0.01, "top": 0.5, "alpha": 0.01, "beta": 0.9}
    for key, constant in fixed.items():
        plan.say(f"{key} = {values[key]:g}: it is {constant:g} in Linux", values[key] != constant)
    plan.say(f"interval = {values['interval']}: it is 500 ms in Linux", values.base("interval") != 500 * 10**6)
    plan.say("max_p moves by a timer in Linux, with arrivals in the scenario")
    return plan.qdisc(parent, words)


def red_words(plan: Plan, values: Values, avpkt: int, bounds: list[int], w_q: float) -> str:
    """What red and ared share. `bounds`: min, max and limit in bytes."""
    low, high, most = bounds
    marks = values["action"] == "mark"
    found = linux_red(
        w_q=w_q,
        min_th=low / avpkt,
        max_th=high / avpkt,
        limit=most / avpkt,
        max_p=float(values["max_p"]),
        burst=max(low // avpkt, 1),  # any weight lets so short a burst pass: the nearest to w_q is wanted
        packet=avpkt,
        rate=plan.link.rate,
        ecn=marks,
    )
    if isinstance(found, str):
        raise Undeployable(f"red: {found}")
    for remark in found.remarks(w_q, float(values["max_p"])):
        plan.say(remark, not remark.startswith("the queue is counted in bytes"))
    plan.say(
        "signals follow Fig. 17 of RED 1993 (law = figure17), and the first packet above min is spared",
        values["law"] != "figure17",
    )
    plan.say("gentle is not deployed: Linux drops or marks every packet from max on", values["gentle"])
    plan.say("wait is not deployed", values["wait"])
    plan.say("the average of an idle link decays by packets of avpkt at bandwidth, not by the parameter s")
    words = found.words()
    if marks and values["above_max_th"] == "mark":
        return words.removesuffix(" harddrop")
    return words


def in_bytes(values: Values, key: str, packet: int) -> int:
    """A size in bytes, where one in packets counts so many bytes for each."""
    amount, counted = values.size(key)
    return amount if counted else amount * packet


def choke_linux(plan: Plan, parent: str, values: Values) -> str:
    """choke in packets, with one candidate. tc takes a max up to limit only."""
    limit, low, high = (values.size(key)[0] for key in ("limit", "min_th", "max_th"))
    if high > limit:
        raise Undeployable(f"choke_linux: tc takes no max_th ({high}) above the limit ({limit})")
    avpkt, max_p = values.base("avpkt"), float(values["max_p"])
    check_slope(max_p, (high - low) * avpkt)
    burst = values.get("burst") or (2 * low + high) // 3
    rate = plan.narrow_rate(values.rate("bandwidth", plan.link), "bandwidth")
    said = f"choke limit {limit} min {low} max {high} burst {burst} avpkt {avpkt} probability {probability(max_p)}"
    plan.say(f"w_q = 2^-{weight_log(burst, low)}: tc computes it from burst and min, as choke_linux does")
    return plan.qdisc(parent, f"{said} bandwidth {rate}{' ecn' if values['ecn'] else ''}")


def probability(max_p: float) -> str:
    """As tc is told: what would be shown as 1 is 0 to it."""
    return f"{min(max_p, MOST_P):.9g}"


def check_slope(max_p: float, width: int) -> None:
    """Raise Undeployable where tc finds no power of two for the slope of the probability."""
    if max_p / width * 2**31 <= 1:
        raise Undeployable(f"tc finds no Plog for thresholds {width} bytes apart and a probability of {max_p:g}")


def gred(plan: Plan, parent: str, values: Values) -> str:
    """gred: `setup`, a `change` for each virtual queue, and filters that put the DSCP into tc_index, which chooses it.

    tc_index is the minor number of the class that a filter at the egress of the device names (net/core/dev.c, tc_run).
    """
    queues = int(values["queues"])
    default = int(values.get("default_queue") if "default_queue" in values else queues - 1)
    bytewise = values.size("min_th")[1]
    avpkt = values.base("avpkt") if bytewise else plan.link.packet
    bands = [band(values, avpkt, at, queues) for at in range(queues)]
    limit = in_bytes(values, "queue_limit" if "queue_limit" in values else "limit", avpkt)
    low, high, _ = bands[0]
    burst = values.get("burst") or int((2 * (low / avpkt) + high / avpkt) / 3)
    w_log = weight_log(burst, low / avpkt)
    if w_log is None:
        raise Undeployable(f"gred: tc finds no weight for a burst of {burst} packets and min {low} bytes")
    rate = plan.narrow_rate(values.rate("bandwidth", plan.link), "bandwidth")
    ecn = {"mark": " ecn", "drop": " ecn harddrop"}[values["above_max_th"]] if values["action"] == "mark" else ""
    mode = "" if values["average"] == "own" else " grio"
    setup = f"gred setup DPs {queues} default {default}{mode} limit {fit(limit, 'limit')}{ecn}"
    handle = plan.qdisc(parent, setup)
    for at, (low, high, max_p) in enumerate(bands):
        fit(high, "max_th")
        check_slope(max_p, high - low)
        said = told(w_log, low / avpkt, burst) or burst
        plan.say(
            f"queue {at} has another weight than the first: no burst gives it 2^-{w_log} with min {low}",
            weight_log(said, low / avpkt) != w_log,
        )
        priority = {"own": "", "grio": f" prio {at + 1}", "wred": " prio 1"}[values["average"]]
        words = f"limit {limit} min {low} max {high} avpkt {avpkt} burst {said} probability {probability(max_p)}"
        change = f"tc qdisc change dev {plan.dev} {parent} handle {handle} gred DP {at}{priority}"
        plan.lines.append(f"{change} {words} bandwidth {rate}")
    choose_queues(plan, queues, default)
    if not bytewise:
        plan.packet_rounding(avpkt)
    plan.say(f"w_q = 2^-{w_log}: tc computes it from burst, min and avpkt, as gred does")
    plan.say(
        f"limit = {values['limit']} for all queues together is not deployed: in Linux each has its own limit",
        queues > 1 and values["average"] != "wred",
    )
    plan.say("with one queue wred is the same as own", values["average"] == "wred" and queues == 1)
    return handle


def band(values: Values, avpkt: int, at: int, queues: int) -> tuple[int, int, float]:
    """Thresholds in bytes and probability of a virtual queue: steps from the first to the last, cut as gred does."""

    def step(key: str) -> int:
        first = values.size(key)[0]
        last = values.size(f"last_{key}")[0] if f"last_{key}" in values else first
        between = first + (last - first) * at // max(queues - 1, 1)
        return between if values.size(key)[1] else between * avpkt

    first_p = float(values["max_p"])
    last_p = float(values["last_max_p"]) if "last_max_p" in values else first_p
    return step("min_th"), step("max_th"), first_p + (last_p - first_p) / max(queues - 1, 1) * at


def choose_queues(plan: Plan, queues: int, default: int) -> None:
    """Filters by DSCP: class 0 is virtual queue 0, and so on; all others are of the default queue."""
    if plan.sets_tc_index:
        raise Undeployable("gred in two classes: both choose their queue by one tc_index")
    plan.sets_tc_index = True
    plan.lines.append(f"tc qdisc add dev {plan.dev} clsact")
    order = 1
    for at in range(queues):
        for protocol in ("ip", "ipv6") if at != default else ():
            match = f"flower ip_tos {at << 2:#04x}/0xfc classid 1:{at:x}"
            plan.lines.append(f"tc filter add dev {plan.dev} egress protocol {protocol} prio {order} {match}")
            order += 1
    plan.lines.append(f"tc filter add dev {plan.dev} egress protocol all prio {order} matchall classid 1:{default:x}")
    plan.say(
        "a class is a DSCP: filters set tc_index from it, by which gred chooses the queue; the sender must set the DSCP"
    )
