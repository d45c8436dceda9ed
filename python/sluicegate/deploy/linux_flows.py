"""Lines for disciplines with a queue for each flow: fq_codel, fq_pie, fq, sfq, cake."""

from __future__ import annotations

from ..traffic.paths import Framing
from .linux_queues import codel_words, pie_words
from .plan import FASTER, MOST, Plan, fit, rate_word
from .target import FRONT, Undeployable, Values, framing_text

MEMORY = 32 << 20
"""Bytes: the default memory_limit of fq_codel and fq_pie."""
SKB = 2304
"""Bytes of memory that a packet of an Ethernet interface takes, about."""
CAKE_MOST = 256
"""The most bytes that tc takes for cake's overhead and mpu."""
FQ_WEIGHTS = (589824, 196608, 65536)


def limit_words(plan: Plan, values: Values) -> str:
    """The limit in packets; where it is in bytes, the kernel's own limit in packets and a memory_limit."""
    limit, in_bytes = values.size("limit")
    if in_bytes:
        plan.say(
            f"limit = {values['limit']} is memory_limit, which counts the kernel's memory for packets, not their bytes"
        )
        return f"limit 10240 memory_limit {fit(limit, 'limit')}"
    plan.say(
        f"memory_limit is raised from 32 MiB to what {limit} packets take in the kernel, {SKB} bytes each",
        limit * SKB > MEMORY,
    )
    return f"limit {limit} memory_limit {fit(max(MEMORY, limit * SKB), 'memory_limit')}"


def quantum_word(plan: Plan, values: Values, least: int = 1, most: int = MOST) -> int:
    """A quantum in bytes that the kernel takes."""
    quantum = plan.bytes(values, "quantum")
    told = min(max(quantum, least), most)
    plan.say(f"quantum = {values['quantum']} becomes {told} bytes: Linux takes {least} to {most}", told != quantum)
    plan.say("the kernel counts the 14-byte Ethernet header of each packet against the quantum")
    return told


def fq_codel(plan: Plan, parent: str, values: Values) -> str:
    """fq_codel. The kernel takes quanta from 256 bytes to 1 MiB."""
    quantum = quantum_word(plan, values, 256, 1 << 20)
    said = f"fq_codel {limit_words(plan, values)} flows {values['flows']} quantum {quantum}"
    said += f" {codel_words(plan, values)}"
    if values["ce_threshold_ect"] == "l4s_ect" and "ce_threshold" in values:
        said += " ce_threshold_selector 0x1/0x3"
    return plan.qdisc(parent, f"{said} drop_batch {values['drop_batch']}")


def fq_pie(plan: Plan, parent: str, values: Values) -> str:
    """fq_pie, with the probability up to which it marks in percent."""
    said = f"fq_pie {limit_words(plan, values)} flows {values['flows']} quantum {quantum_word(plan, values)}"
    said += f" {pie_words(plan, values)}"
    exact = 100 * float(values["mark_th"])
    percent = min(max(round(exact), 1), 99)
    plan.say(
        f"mark_th = {values['mark_th']:g} becomes {percent} %: tc knows whole percents, 1 to 99",
        abs(percent - exact) > 1e-9,
    )
    return plan.qdisc(parent, f"{said} ecn_prob {percent}")


def fq_linux(plan: Plan, parent: str, values: Values) -> str:
    """fq. `weights` needs iproute2 6.7, and stands in the line only where they are not the kernel's own."""
    said = f"fq limit {plan.packets(values, 'limit')} flow_limit {plan.packets(values, 'flow_limit')}"
    said += f" quantum {plan.bytes(values, 'quantum')} initial_quantum {plan.bytes(values, 'initial_quantum')}"
    if "maxrate" in values:
        maxrate = values.base("maxrate")
        said += f" maxrate {plan.narrow_rate(maxrate, 'maxrate')}"
        plan.say("maxrate is cut to whole bytes per second", maxrate % 8 != 0)
    said += f" refill_delay {plan.time(values, 'refill_delay', least=0)}"
    said += f" low_rate_threshold {plan.narrow_rate(values.base('low_rate_threshold'), 'low_rate_threshold')}"
    if "ce_threshold" in values:
        said += f" ce_threshold {plan.time(values, 'ce_threshold', least=0)}"
    weights = tuple(values[f"weight_{band}"] for band in range(3))
    if weights != FQ_WEIGHTS:
        said += f" weights {' '.join(map(str, weights))}"
        plan.say("weights needs Linux 6.7 and iproute2 6.7")
    plan.say("fq counts the 14-byte Ethernet header of each packet against quantum and initial_quantum")
    plan.say("refill_delay is rounded up to ticks of the kernel's timer (1 to 10 ms)")
    plan.say("sockets of this host may ask fq to pace them (TCP's BBR does); packets forwarded share 1024 hashed flows")
    plan.say(
        "since Linux 6.7 the kernel's priority of a packet is its band (best effort: band 1), and each has its limit"
    )
    return plan.qdisc(parent, said)


def sfq(plan: Plan, parent: str, values: Values) -> str:
    """sfq. At most 127 packets in a queue, a power of two of hash values, perturbations in whole seconds."""
    limit = plan.packets(values, "limit")
    plan.say("limit = 1 becomes 2: tc takes no less", limit < 2)
    depth = min(int(values["depth"]), 127)
    plan.say(f"depth = {values['depth']} becomes 127, the most in Linux", depth != values["depth"])
    above = 1 << (int(values["divisor"]) - 1).bit_length()
    divisor = above if above - values["divisor"] <= values["divisor"] - above // 2 else above // 2
    plan.say(
        f"divisor = {values['divisor']} becomes {divisor}: Linux takes powers of two", divisor != values["divisor"]
    )
    exact = values.base("perturb")
    seconds = round(exact / 1e9) or int(exact > 0)
    if seconds >= 2**31:
        raise Undeployable(f"perturb = {values['perturb']} does not fit the 31 bits of seconds that tc has for it")
    plan.say(f"perturb = {values['perturb']} becomes {seconds} s: tc knows whole seconds", seconds * 10**9 != exact)
    said = f"sfq limit {max(limit, 2)} flows {values['flows']} depth {depth} divisor {divisor}"
    said += f" quantum {quantum_word(plan, values)} perturb {seconds}"
    plan.say("a turn is counted in units of 8 bytes, quantum and packets rounded up")
    return plan.qdisc(parent, said + (" headdrop" if values["headdrop"] else ""))


def cake(plan: Plan, parent: str, values: Values) -> str:
    """cake within a class: it shapes only where the scenario's does."""
    bandwidth = f"bandwidth {rate_word(values.base('bandwidth'))}" if "bandwidth" in values else "unlimited"
    return plan.qdisc(parent, cake_words(plan, values, bandwidth, own_framing(values)))


def own_framing(values: Values) -> Framing:
    """What the scenario's cake counts itself; `around` may be negative."""
    cells = {"noatm": "none"}.get(values["atm"], values["atm"])
    return Framing(int(values["overhead"]), int(values["mpu"]), cells)


def shaping_cake(plan: Plan, values: Values) -> None:
    """cake as the root, in whose place of a link stands its own shaper: it has no burst, and needs no htb."""
    link, framing = plan.link, own_framing(values)
    rate = link.rate
    if link.shaper is not None or plan.position != FRONT:
        plan.say("bandwidth is the rate of the shaper")
    elif "bandwidth" not in values:
        plan.say(
            f"bandwidth is the rate of the link, {link.shown_rate}: cake's own shaper has this rate, without htb. The "
            "scenario's cake does not shape, so its traffic classes (tins) share by weight; with a shaper each tin has "
            "priority up to its own rate"
        )
    elif values.base("bandwidth") > rate:
        plan.say(f"bandwidth = {values['bandwidth']} becomes {link.shown_rate}: the link of the scenario is slower")
    else:
        rate = values.base("bandwidth")
        plan.say(f"the link of {link.shown_rate} below cake is not deployed: it is assumed to be the real line")
    if framing == Framing() != link.framing:
        framing = Framing(min(link.framing.around, CAKE_MOST), min(link.framing.least, CAKE_MOST), link.framing.cells)
        said = framing_words(framing).removeprefix("noatm ")
        plan.say(f"{said} is the framing of the link; CAKE also counts it in the shares of flows")
        plan.say(
            "with its own bandwidth, the scenario's cake counts no framing: set queue.overhead to simulate it",
            rate != link.rate,
        )
    plan.say(
        f"the {framing_text(link.framing)} of the link is not deployed: overhead, mpu and cells are cake's own",
        framing != link.framing != Framing(),
    )
    estimates = plan.position.behind and link.varies and not plan.position.multiqueue
    plan.say(
        f"the rate of the scenario's link varies (trace); {link.shown_rate} is the mean of the trace unless rate is "
        f"given. While the link is slower than bandwidth, the queue forms at the link: lower bandwidth to a rate that "
        f"the link rarely falls below, or, where cake stands behind the link (ingress), add autorate-ingress, which "
        "estimates the rate",
        link.varies and not estimates,
    )
    plan.say("cake knows whole bytes per second", rate % 8 != 0)
    plan.say(f"the interface {FASTER} cake")
    plan.say("tx_ring is not deployed: below a shaper the driver's ring stays empty", link.tx_ring)
    plan.qdisc("root", cake_words(plan, values, f"bandwidth {rate_word(rate)}", framing))


def framing_words(framing: Framing) -> str:
    """A framing as tc reads it for cake."""
    cells = "noatm" if framing.cells == "none" else framing.cells
    return f"{cells} overhead {framing.around}" + (f" mpu {framing.least}" if framing.least else "")


def cake_words(plan: Plan, values: Values, bandwidth: str, framing: Framing) -> str:
    """cake. Its framing is always said: packets then count without the interface's header, as in the simulation."""
    filters = {"disabled": "no-ack-filter", "enabled": "ack-filter", "aggressive": "ack-filter-aggressive"}
    position = plan.position
    asked = values.get("nat")
    translates = position.nat if asked is None else asked
    kind, nat = "cake_mq" if position.multiqueue else "cake", "nat" if translates else "nonat"
    said = f"{kind} {bandwidth} {values['diffserv']} {values['flowmode'].replace('_', '-')} {nat}"
    said += f" {'wash' if values['wash'] else 'nowash'} split-gso {filters[values['ack_filter']]}"
    said += f" rtt {plan.time(values, 'rtt')} {framing_words(framing)}"
    shaper = plan.link.shaper
    behind = values["ingress"] or position.behind or (shaper is not None and shaper.behind)
    estimates = position.behind and plan.link.varies and not position.multiqueue
    said += " autorate-ingress" if estimates else ""
    plan.say(
        "autorate-ingress: cake sets its rate to 15/16 of the peaks that come in, because no fixed rate fits a line "
        "whose rate varies; the scenario's cake has a fixed one",
        estimates,
    )
    said += " ingress" if behind else " egress"
    plan.say(
        "ingress: incoming packets have crossed the link already, so cake counts those that it drops "
        "against its rate, too; the scenario's queue stands in front of the link",
        behind and not values["ingress"] and shaper is None,
    )
    plan.say(
        "cake_mq, a cake in each transmit queue under one rate, needs Linux 7.0 and a tc that knows it; it pays where "
        "one processor cannot shape the rate, and has no autorate-ingress",
        position.multiqueue,
    )
    if "memlimit" in values:
        said += f" memlimit {plan.bytes(values, 'memlimit')}"
        plan.say("memlimit counts the kernel's memory for packets, not their bytes")
    else:
        plan.say(
            "memlimit is not set: the kernel computes it, 4 bandwidth*rtt but at least 4 MiB, and counts the memory "
            "that packets take"
        )
    if "target" in values:
        us = max(values.base("rtt") // 20_000, 1)
        plan.say(f"target = {values['target']}: tc sets {us} us, rtt/20", values.base("target") != us * 1000)
    plan.say(f"limit = {values.get('limit')} is not deployed: cake has no limit but memlimit", "limit" in values)
    plan.say(f"mtu = {values['mtu']}: in Linux it is the MTU of the interface with its header")
    hint = position == FRONT and asked is None
    hosts = "hosts by address" + (" (if this machine translates addresses, set nat = true)" if hint else "")
    plan.say(f"cake distinguishes tins by DSCP (the scenario's class) and {hosts}")
    plan.say("nat: cake distinguishes hosts by their addresses before this host translates them", translates)
    return said
