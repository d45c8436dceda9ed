"""Lines for FreeBSD: `dnctl` commands for dummynet, and the `ipfw` rule that leads traffic into it.

The words and their bounds are those of ipfw(8) of FreeBSD 14; older releases have `ipfw pipe` instead of `dnctl pipe`.
No parser of them exists outside FreeBSD, so that nothing checks these lines.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from ..quantities import rate_text
from ..traffic.paths import Framing, queue_at
from .target import Deployment, Link, Undeployable, Values, find_link, framing_text, interface, refusal

__all__ = ["Deployment", "Undeployable", "deployable", "lines"]

SLOTS = 100
BYTES = 1 << 20
"""The longest queue of a pipe unless sysctl allows more: net.inet.ip.dummynet.pipe_slot_limit and pipe_byte_limit."""
MOST_RATE = (1 << 31) - 1
"""A pipe keeps its rate in an int: what is above wraps, or is refused as "bandwidth too large"."""
RED_SCALE = 1 << 16
"""dummynet computes RED with 16 binary places."""

NEAREST = {
    "ared": "red",
    "gred": "red with gentle = true, which dummynet calls gred",
    "early_random_drop": "red",
    "random_drop": "drop_tail",
    "source_quench": "drop_tail",
    "pi": "pie",
    "docsis_pie": "pie with target = 10 ms and t_update = 16 ms",
    "rem": "pie",
    "fq": "fq_codel",
    "fq_linux": "fq_codel",
    "sfq": "fq_codel",
    "cake": "fq_codel",
}


class Pipe:
    """A pipe in the making."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.lines: list[str] = []
        self.remarks: list[str] = []
        self.undo: list[str] = []

    def say(self, remark: str, when: bool = True) -> None:
        if when and remark not in self.remarks:
            self.remarks.append(remark)

    def time(self, values: Values, key: str) -> str:
        """A time in whole microseconds, which is what dummynet keeps."""
        exact = values.base(key)
        us = max(round(exact / 1000), 1)
        self.say(f"{key} = {values[key]} becomes {us} us: dummynet knows whole microseconds", us * 1000 != exact)
        return f"{us // 1000}ms" if us % 1000 == 0 else f"{us}us"

    def at_most(self, values: Values, key: str, most: float, unit: str) -> float:
        """A number that dummynet cuts to a bound."""
        self.say(f"{key} = {values[key]:g} becomes {most:g}, the most that dummynet takes{unit}", values[key] > most)
        return min(float(values[key]), most)

    def queue(self, values: Values) -> str:
        """The size of the queue, and above the line what makes room for it."""
        limit, in_bytes = values.size("limit")
        if limit == 0:
            raise Undeployable("limit = 0: dummynet takes that for its default of 50 slots")
        most, what = (BYTES, "byte") if in_bytes else (SLOTS, "slot")
        if limit > most:
            setting = f"net.inet.ip.dummynet.pipe_{what}_limit"
            self.lines.append(f"sysctl {setting}={limit}")
            self.undo.append(f"`sysctl {setting}={most}` (its default)")
        return f"queue {limit}{'Bytes' if in_bytes else ''}"

    def config(self, words: str) -> None:
        rate = rate_text(self.link.rate, whole=True).replace(" ", "").replace("k", "K")
        self.lines.append(f"dnctl pipe 1 config bw {rate}{words and ' '}{words}")


def drop_tail(pipe: Pipe, values: Values) -> str:
    pipe.config(f"{pipe.queue(values)} droptail")
    return "pipe 1"


def red(pipe: Pipe, values: Values) -> str:
    """red, or dummynet's gred, which is gentle RED: thresholds in the unit of the queue, whole numbers."""
    queue, in_bytes = pipe.queue(values), values.size("limit")[1]
    packet = values.base("max_packet") if values["mode"] == "byte" else pipe.link.packet
    bounds = []
    for key in ("min_th", "max_th"):
        amount, counted = values.size(key)
        if counted == in_bytes:
            bounds.append(amount)
        else:
            bounds.append(amount * packet if in_bytes else max(amount // packet, 1))
            unit = "bytes" if in_bytes else "slots"
            pipe.say(
                f"{key} = {values[key]} becomes {bounds[-1]} {unit} at {packet} bytes a packet: dummynet takes it in "
                f"the unit of the limit"
            )
    if bounds[0] >= bounds[1]:
        raise Undeployable(f"red: min_th and max_th are both {bounds[1]} slots in dummynet")
    for key in ("w_q", "max_p"):
        parts = int(values[key] * RED_SCALE)
        if parts == 0:
            raise Undeployable(f"red: {key} = {values[key]:g} is 0 in dummynet, which has 16 binary places")
        pipe.say(
            f"{key} = {values[key]:g} is cut to {parts}/65536 = {parts / RED_SCALE:.4g}",
            parts != values[key] * RED_SCALE,
        )
    rule = f"{values['w_q']:.9g}/{bounds[0]}/{bounds[1]}/{values['max_p']:.9g}"
    marks = " ecn" if values["action"] == "mark" else ""
    pipe.config(f"{queue} {'gred' if values['gentle'] else 'red'} {rule}{marks}")
    pipe.say("dummynet marks above max_th too", bool(marks) and values["above_max_th"] == "drop")
    pipe.say(f"law = {values['law']}, method = {values['method']}: dummynet has its own count of packets between drops")
    pipe.say("wait is not deployed", values["wait"])
    pipe.say("short_first is not deployed", "short_first" in values)
    pipe.say(
        "mode = byte: dummynet scales by red_max_pkt_size, 1500 bytes, not by max_packet", values["mode"] == "byte"
    )
    pipe.say(
        "the average of an idle pipe decays by packets of red_avg_pkt_size, 512 bytes (a sysctl), not by the "
        "parameter s"
    )
    return "pipe 1"


def codel(pipe: Pipe, values: Values) -> str:
    pipe.config(f"{pipe.queue(values)} codel {codel_words(pipe, values)}")
    return "pipe 1"


def codel_words(pipe: Pipe, values: Values) -> str:
    pipe.say("ce_threshold is not deployed: dummynet has none", "ce_threshold" in values)
    pipe.say(f"max_packet = {values['max_packet']}: dummynet has its own bound on short queues")
    pipe.say(
        "dummynet computes 1/sqrt(count) with 16 binary places, one Newton step for each signal: nearest to that is "
        'law = "linux"',
        values["law"] != "linux",
    )
    ecn = "ecn" if values["ecn"] else "noecn"
    return f"target {pipe.time(values, 'target')} interval {pipe.time(values, 'interval')} {ecn}"


def pie(pipe: Pipe, values: Values) -> str:
    delay = {"timestamp": "ts", "length": "dre"}[values["delay"]]
    pipe.say("delay = length: dummynet measures the rate of departures instead", delay == "dre")
    pipe.config(f"{pipe.queue(values)} pie {pie_words(pipe, values)} {delay}")
    return "pipe 1"


def pie_words(pipe: Pipe, values: Values) -> str:
    said = f"target {pipe.time(values, 'target')} tupdate {pipe.time(values, 't_update')}"
    said += (
        f" alpha {pipe.at_most(values, 'alpha', 7, ' (Hz)'):.9g} beta {pipe.at_most(values, 'beta', 7, ' (Hz)'):.9g}"
    )
    pipe.say(f"max_burst = {values['max_burst']} becomes 10 s, dummynet's most", values.base("max_burst") > 10**10)
    said += f" max_burst {'10000ms' if values.base('max_burst') > 10**10 else pipe.time(values, 'max_burst')}"
    said += f" max_ecnth {values['mark_th']:.9g} {'ecn' if values['action'] == 'mark' else 'noecn'}"
    said += " drand" if values["derandomise"] else " nodrand"
    pipe.say("long_delay is not deployed: dummynet has no such rule", "long_delay" in values)
    pipe.say("mode = byte is not deployed: dummynet's probability ignores packet lengths", values["mode"] == "byte")
    return said


def fair(pipe: Pipe, values: Values, words: str) -> str:
    """A scheduler with a queue for each flow; its parameters stand behind its name, all others before it."""
    limit, in_bytes = values.size("limit")
    if in_bytes:
        pipe.say(f"limit = {values['limit']} becomes packets of {pipe.link.packet} bytes: dummynet counts packets")
        limit = max(limit // pipe.link.packet, 1)
    pipe.say(f"limit = {limit} becomes 20480, the most that dummynet takes", limit > 20480)
    quantum = values.base("quantum")
    pipe.say(f"quantum = {values['quantum']} becomes 9000 bytes, the most that dummynet takes", quantum > 9000)
    sizes = f"quantum {min(quantum, 9000)} limit {min(limit, 20480)} flows {values['flows']}"
    pipe.config("")
    pipe.lines.append(f"dnctl sched 1 config pipe 1 type {values.discipline} {words} {sizes}")
    pipe.lines.append("dnctl queue 1 config sched 1")
    return "queue 1"


def fq_codel(pipe: Pipe, values: Values) -> str:
    pipe.say(f"drop_batch = {values['drop_batch']} is not deployed")
    return fair(pipe, values, codel_words(pipe, values))


def fq_pie(pipe: Pipe, values: Values) -> str:
    return fair(pipe, values, pie_words(pipe, values))


WRITERS: dict[str, Callable[[Pipe, Values], str]] = {
    "drop_tail": drop_tail,
    "red": red,
    "codel": codel,
    "pie": pie,
    "fq_codel": fq_codel,
    "fq_pie": fq_pie,
}
"""Each adds the lines of its discipline, and returns where the `ipfw` rule leads the traffic, such as `pipe 1`."""


def deployable(name: str) -> bool:
    """Whether a discipline of this name has lines for dummynet."""
    return name in WRITERS


def lines(resolved: Mapping[str, Any], dev: str, link: str | None = None) -> Deployment:
    """The commands that deploy the queue of a resolved scenario, as `sluicegate.check` returns it.

    `dev` and `link` as in `linux.lines`. Raises Undeployable.
    """
    dev = interface(dev)
    pipe = Pipe(find_link(resolved, link))
    if pipe.link.rate > MOST_RATE:
        raise Undeployable(
            f"a rate of {pipe.link.shown_rate}: dummynet keeps rates in 31 bits, {rate_text(MOST_RATE)} at most"
        )
    values = Values(queue_at(resolved, pipe.link.name))
    if not deployable(values.discipline):
        raise refusal(values.discipline, "dummynet", list(WRITERS), NEAREST)
    into = WRITERS[values.discipline](pipe, values)
    pipe.lines.append(f"ipfw add 100 {into} ip from any to any out xmit {shlex.quote(dev)}")
    place = pipe.link
    wire = place.framing.on_wire(place.packet)
    pipe.say(
        f"the {framing_text(place.framing)} is not deployed: dummynet counts only the bytes of IP packets. With a bw "
        f"of {rate_text(place.rate * place.packet / wire)} a packet of {place.packet} bytes takes as long as on the "
        "link, but a shorter packet takes less time than on the link",
        place.framing != Framing(),
    )
    pipe.say(
        f"the rate of the scenario's link varies (trace); the pipe has {place.shown_rate}, the mean of the trace "
        f"unless rate is given. While the link is slower than that, the queue forms at the link: lower bw to a rate "
        f"that the link rarely falls below",
        place.varies,
    )
    pipe.say("tx_ring is not deployed", place.tx_ring)
    pipe.say(f"the interface must be faster than {place.shown_rate}, or the queue forms below dummynet")
    pipe.say(
        "dummynet sends in ticks of the kernel's clock (kern.hz, 1 ms): packets that are due within the same tick "
        "leave together"
    )
    pipe.say("dummynet and ipfw must be loaded; ipfw denies all traffic by default unless a rule allows it")
    parts = ["queue", "sched", "pipe"] if into == "queue 1" else ["pipe"]
    undo = ["`ipfw delete 100`", *(f"`dnctl {part} 1 delete`" for part in parts), *pipe.undo]
    pipe.say(f"{', '.join(undo)} to undo it")
    pipe.say("[[changes]] are not deployed: these are the values at the start", bool(resolved.get("changes")))
    return Deployment(lines=pipe.lines, remarks=pipe.remarks)
