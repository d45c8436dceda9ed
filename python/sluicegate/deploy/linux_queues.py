"""Lines for disciplines with one queue, or two: pfifo, bfifo, codel, pie, dualpi2, sfb."""

from __future__ import annotations

from .plan import Plan, fit
from .target import Undeployable, Values

CODEL_UNIT = 1024
"""Nanoseconds: the kernel's unit of time in CoDel (include/net/codel.h)."""
SFB_PROBABILITY = 65535
"""sfb's probabilities are parts of this number (iproute2, tc/q_sfb.c)."""


def drop_tail(plan: Plan, parent: str, values: Values) -> str:
    """pfifo, or bfifo where the limit is in bytes."""
    limit, in_bytes = values.size("limit")
    if limit == 0:
        raise Undeployable("drop_tail with limit = 0: in Linux it would drop every packet")
    plan.say("bfifo counts each packet with its 14-byte Ethernet header", in_bytes)
    return plan.qdisc(parent, f"{'bfifo' if in_bytes else 'pfifo'} limit {fit(limit, 'limit')}")


def codel(plan: Plan, parent: str, values: Values) -> str:
    """codel. tc sends microseconds; the kernel cuts them to units of 1024 ns."""
    words = f"codel limit {plan.packets(values, 'limit')} {codel_words(plan, values)}"
    return plan.qdisc(parent, words)


def codel_words(plan: Plan, values: Values) -> str:
    """What codel and fq_codel share."""
    said = f"target {plan.time(values, 'target')} interval {plan.time(values, 'interval')}"
    said += " ecn" if values["ecn"] else " noecn"
    if "ce_threshold" in values:
        said += f" ce_threshold {plan.time(values, 'ce_threshold', least=0)}"
    target = values.base("target") // 1000 * 1000 // CODEL_UNIT * CODEL_UNIT
    plan.say(f"the kernel rounds times down to units of 1024 ns: target is {target} ns")
    plan.say(
        'the kernel computes 1/sqrt(count) in 16 bits, one Newton step for each drop: law = "linux" simulates that',
        values["law"] != "linux",
    )
    plan.say(f"max_packet = {values['max_packet']}: in Linux it is the MTU of the interface with its header")
    return said


def pie(plan: Plan, parent: str, values: Values) -> str:
    """pie, with gains in sixteenths of a Hz."""
    words = f"pie limit {plan.packets(values, 'limit')} {pie_words(plan, values)}"
    estimator = "timestamp" if values["delay"] == "timestamp" else "length"
    plan.say("delay = length: Linux measures the rate of departures instead", estimator == "length")
    plan.say(f"mark_th = {values['mark_th']:g}: it is 0.1 in Linux", values["mark_th"] != 0.1)
    return plan.qdisc(parent, words + (" dq_rate_estimator" if estimator == "length" else ""))


def pie_words(plan: Plan, values: Values) -> str:
    """What pie and fq_pie share."""
    said = f"target {plan.time(values, 'target')} tupdate {plan.time(values, 't_update')}"
    said += f" alpha {sixteenths(plan, values, 'alpha')} beta {sixteenths(plan, values, 'beta')}"
    said += " ecn" if values["action"] == "mark" else " noecn"
    said += " bytemode" if values["mode"] == "byte" else " nobytemode"
    plan.say("the kernel cuts target to ticks of 64 ns and rounds tupdate up to its timer's ticks (1 to 10 ms)")
    plan.say(f"max_burst = {values['max_burst']}: it is 150 ms in Linux", values.base("max_burst") != 150 * 10**6)
    long = f"= {values['long_delay']}" if "long_delay" in values else "is not set"
    plan.say(
        f"long_delay {long}: in Linux each update adds 2 % to p while the delay is above 250 ms",
        "long_delay" not in values or values.base("long_delay") != 250 * 10**6,
    )
    plan.say("derandomise = false: Linux always spaces drops out", not values["derandomise"])
    plan.say('the kernel computes in whole numbers: law = "linux" simulates that', values["law"] != "linux")
    plan.say(f"max_packet = {values['max_packet']}: in Linux it is the MTU of the interface")
    return said


def sixteenths(plan: Plan, values: Values, key: str) -> int:
    """A gain in sixteenths of a Hz, 1 to 32: tc leaves a 0 out, and the kernel then takes its default."""
    exact = 16 * float(values[key])
    told = max(round(exact), 1)
    if told > 32:
        raise Undeployable(f"{key} = {values[key]:g}: tc takes 2 Hz at most (32 sixteenths)")
    plan.say(f"{key} = {values[key]:g} becomes {told}/16 = {told / 16:g}: tc knows sixteenths, 1 to 32", told != exact)
    return told


def dualpi2(plan: Plan, parent: str, values: Values) -> str:
    """dualpi2, with gains in 256ths of a Hz (Linux 6.17 and later, and an iproute2 as new)."""
    limit, in_bytes = values.size("limit")
    said = f"dualpi2 limit {10_000 if in_bytes else limit}"
    if in_bytes:
        said += f" memlimit {fit(limit, 'limit')}"
        plan.say(
            f"limit = {values['limit']} is memlimit, which counts the kernel's memory for packets, not their bytes"
        )
    control = pi2_control(values)
    said += f" target {plan.time(values, 'target')} tupdate {plan.time(control, 'tupdate')}"
    said += f" alpha {parts_of_256(plan, control, 'alpha')} beta {parts_of_256(plan, control, 'beta')}"
    if "step_thresh_packets" in values:
        # 0 packets would not be sent: tc takes that for no value.
        packets = max(int(values["step_thresh_packets"]), 1)
        plan.say("step_thresh_packets = 0 becomes 1: tc cannot say 0", values["step_thresh_packets"] == 0)
        said += f" step_thresh {packets}packets"
    else:
        said += f" step_thresh {plan.time(values, 'step_thresh')}"
    coupling = round(values["coupling_factor"])
    plan.say(
        f"coupling_factor = {values['coupling_factor']:g} becomes {coupling}: tc knows whole numbers",
        coupling != values["coupling_factor"],
    )
    said += f" min_qlen_step {values['min_qlen_step']} coupling_factor {coupling}"
    said += f" classic_protection {values['classic_protection']}% {values['overload']}"
    said += f" drop_{values['drop_at']} {values['ect']} split_gso"
    plan.say("the kernel has dualpi2 from 6.17 on; tc must be as new")
    if values["law"] != "linux":
        step = values.get("step_thresh")
        plan.say(
            f"Linux has no ramp: all packets of the L queue are marked from step_thresh = {step} on",
            values.base("ramp") > 0 and "step_thresh_packets" not in values,
        )
        plan.say(
            "Linux uses random numbers where RFC 9332 uses a counter, and compares min_qlen_step with the queue that "
            "an arrival finds, not with the queue that a departure leaves"
        )
        plan.say('the kernel computes in whole numbers: law = "linux" simulates that')
    return plan.qdisc(parent, said)


def pi2_control(values: Values) -> Values:
    """dualpi2's values with those of tupdate, alpha and beta that were not given (RFC 9332, App. A.1, Fig. 2)."""
    rtt_max = values.base("rtt_max")
    tupdate = values.base("tupdate") if "tupdate" in values else max(min(values.base("target"), rtt_max // 3), 1000)
    derived = {"tupdate": f"{tupdate} ns", "alpha": 1e8 * tupdate / rtt_max / rtt_max, "beta": 3e8 / rtt_max}
    given = {key: values[key] for key in derived if key in values}
    return Values({"discipline": values.discipline, **derived, **given})


def parts_of_256(plan: Plan, values: Values, key: str) -> str:
    """A gain in Hz, a multiple of 1/256: tc cuts to one."""
    exact = 256 * float(values[key])
    told = round(exact)
    plan.say(f"{key} = {values[key]:g} becomes {told}/256 = {told / 256:g}: tc knows 256ths", told != exact)
    whole, part = divmod(told, 256)
    return f"{whole}{f'{part / 256:.8f}'[1:].rstrip('0')}" if part else str(whole)


def sfb(plan: Plan, parent: str, values: Values) -> str:
    """sfb, with probabilities in 65535ths and times in milliseconds."""
    said = f"sfb limit {plan.packets(values, 'limit')} target {values['bin_size']} max {values['bin_max']}"
    for key in ("increment", "decrement"):
        told = round(values[key] * SFB_PROBABILITY)
        said += f" {key} {values[key]:.9g}"
        plan.say(f"{key} = {values[key]:.6g} becomes {told}/65535", abs(values[key] * SFB_PROBABILITY - told) > 1e-6)
    said += (
        f" penalty_rate {plan.packets(values, 'penalty_rate')} penalty_burst {plan.packets(values, 'penalty_burst')}"
    )
    said += f" rehash {milliseconds(plan, values, 'rehash')} db {milliseconds(plan, values, 'warmup')}"
    plan.say("Linux always marks ECN-capable packets below p = 1/2", values["action"] == "drop")
    plan.say(f"tokens = {values['tokens']}: Linux has its own rule, tokens = linux", values["tokens"] != "linux")
    plan.say(
        f"levels = {values['levels']}, bins = {values['bins']}: Linux has 8 levels of 16 bins",
        (values["levels"], values["bins"]) != (8, 16),
    )
    return plan.qdisc(parent, said)


def milliseconds(plan: Plan, values: Values, key: str) -> int:
    """A time in whole milliseconds."""
    exact = values.base(key)
    told = round(exact / 1e6) or int(exact > 0)
    if told >= 2**32:
        raise Undeployable(f"{key} = {values[key]} does not fit the 32 bits of milliseconds that tc has for it")
    plan.say(f"{key} = {values[key]} becomes {told} ms: tc knows whole milliseconds", told * 10**6 != exact)
    return told
