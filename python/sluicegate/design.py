"""Parameters for RED, each with the rule of the paper that it follows (Floyd & Jacobson 1993, Secs. V to VIII).

The paper leaves the best average queue open (Sec. VI-C): who designs says what it shall be, as a delay target, or takes
the least thresholds that the burst allows. What else the paper has no number for is decided here; docs/choosing-red.md
has the list, with reasons.
"""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass

from . import _core
from ._generated import Red
from .api import PYTHON, _texts
from .tc_red import LinuxRed, linux_red
from .theory.red import average_after_burst, largest_burst, largest_w_q, marked_share, step_response, weight_of
from .theory.red import time_constant as arrivals_of

USUAL_W_Q = 0.002
LEAST_W_Q = 0.001
MOST_ROUND_TRIPS = 10
LEAST_MIN_TH = 5
LEAST_MIN_TH_OF_TARGET = 3
MOST_MAX_P = 0.1
MOST_BURST = 10**9


@dataclass(frozen=True)
class Rule:
    """A value, or a bound on one, and where it comes from.

    `name`: the parameter; `sign`: "=", or how the parameter stands to `value`; `why`: the rule, in words; `source`: the
    section of the paper, or "derived here".
    """

    name: str
    sign: str
    value: float | str
    why: str
    source: str


@dataclass(frozen=True, kw_only=True)
class RedDesign:
    """Parameters of RED for a link, made by `design_red`.

    Attributes:
        queue: The discipline, for `dumbbell` and the like.
        rules: Each value and each bound on w_q, with the rule it comes from.
        warnings: Where rules conflict, in sentences; what was given up, and what would mend it.
        rate_bps: The link, bits per second.
        rtt_s: A round trip without queues, in seconds.
        burst: Packets that shall pass without a signal, back to back into an empty queue.
        packet_bytes: The length of a packet.
        delay_target_s: The average queueing delay that was asked for, in seconds; None if none was.
        linux: What Linux makes of it; None when it cannot, and `linux_refusal` says why.
        linux_refusal: See `linux`.
    """

    queue: Red
    rules: tuple[Rule, ...]
    warnings: tuple[str, ...]
    rate_bps: int
    rtt_s: float
    burst: int
    packet_bytes: int
    delay_target_s: float | None
    linux: LinuxRed | None
    linux_refusal: str | None

    def delay_s(self, packets: float) -> float:
        """How long so many queued packets take to send, in seconds."""
        return packets * 8 * self.packet_bytes / self.rate_bps

    def tc(self, dev: str = "DEV") -> str:
        """The command for Linux; `linux` holds what tc and the kernel make of it. Raises ValueError without `linux`."""
        if self.linux is None:
            raise ValueError(f"Linux cannot do this: {self.linux_refusal}")
        return self.linux.line(shlex.quote(dev))

    def scenario(self) -> str:
        """The tables [queue] and [queue.red] of a scenario, as text."""
        import tomli_w

        return tomli_w.dumps({"queue": {"discipline": "red", "red": self.values()}})

    def values(self) -> dict[str, float | str]:
        """The parameters that were chosen, by name; the others have their defaults."""
        queue = self.queue
        names = ["w_q", "min_th", "max_th", "max_p", "limit"] + (["action"] if queue.action == "mark" else [])
        return {name: getattr(queue, name) for name in names}

    def ns2(self) -> str:
        """Lines for ns-2, before its links are made; its law of gaps stays its own (`law = "ns2"` here)."""
        queue = self.queue
        values = {
            "bytes_": "false",
            "queue_in_bytes_": "false",
            "thresh_": queue.min_th,
            "maxthresh_": queue.max_th,
            "q_weight_": f"{queue.w_q:.9g}",
            "linterm_": f"{1 / queue.max_p:.9g}",
            "limit_": queue.limit,
            "gentle_": "false",
            "wait_": "false",
            "setbit_": "true" if queue.action == "mark" else "false",
        }
        return "".join(f"Queue/RED set {name} {value}\n" for name, value in values.items())

    def record(self, dev: str = "DEV") -> dict[str, object]:
        """Everything as plain values for JSON; `dev`: the interface in the line for tc."""
        linux, queue = self.linux, self.queue
        return {
            "rate_bps": self.rate_bps,
            "rtt_s": self.rtt_s,
            "burst": self.burst,
            "packet_bytes": self.packet_bytes,
            "delay_target_s": self.delay_target_s,
            "queue": {"discipline": "red"} | self.values(),
            "rules": [vars(rule) for rule in self.rules],
            "warnings": list(self.warnings),
            "scenario": self.scenario(),
            "tc": None if linux is None else self.tc(dev),
            "linux": None if linux is None else vars(linux) | {"remarks": linux.remarks(queue.w_q, queue.max_p)},
            "linux_refusal": self.linux_refusal,
            "ns2": self.ns2(),
        }


def design_red(
    *,
    rate: str,
    rtt: str,
    burst: int,
    delay_target: str | None = None,
    packet_size: str = "1000 B",
    max_p: float = 0.02,
    ecn: bool = False,
) -> RedDesign:
    """Choose RED's parameters for a link by the rules of the paper's Secs. V to VIII.

    `rate`: of the link. `rtt`: a typical round trip of its flows without queues. `burst`: how many packets may arrive
    back to back at an empty queue without a signal. `delay_target`: the average queueing delay under load (default:
    what the least thresholds for the burst give). `packet_size`: of a typical packet. `max_p`: the probability p_b at
    max_th. `ecn`: mark what can carry a mark, and drop the others; at max_th and above drop, as RFC 3168 asks.

    Raises `ScenarioError` when a value is wrong. Rules that conflict give `warnings`.
    """
    rate_bps = _quantity("rate", rate, "network.rate")
    rtt_s = _quantity("rtt", rtt, "network.delay") / 1e9
    packet = _quantity("packet_size", packet_size, "flows.0.packet_size")
    target_s = None if delay_target is None else _quantity("delay_target", delay_target, "network.delay") / 1e9
    _checked("max_p", max_p, "queue.red.max_p")
    if isinstance(burst, bool) or not isinstance(burst, int) or not 1 <= burst <= MOST_BURST:
        raise _core.ScenarioError(f"burst = {burst}: must be a whole number of packets, from 1 to {MOST_BURST}")
    return _Designer(rate_bps, rtt_s, burst, packet, target_s, max_p, ecn).design()


class _Designer:
    """One design in the making: what was asked for, and the rules and warnings so far."""

    def __init__(
        self, rate: int, rtt: float, burst: int, packet: int, target: float | None, max_p: float, ecn: bool
    ) -> None:
        self.rate, self.rtt, self.burst, self.packet = rate, rtt, burst, packet
        self.target, self.max_p, self.ecn = target, max_p, ecn
        self.per_second = rate / (8 * packet)
        self.per_round_trip = self.per_second * rtt
        self.rules: list[Rule] = []
        self.warnings: list[str] = []

    def design(self) -> RedDesign:
        min_th = self.choose_min_th()
        w_q = self.choose_w_q(min_th)
        max_th = self.choose_max_th(min_th, w_q)
        self.explain_max_p(min_th, max_th)
        limit = self.choose_limit(max_th)
        if self.ecn:
            why = "marks what can carry a mark; at max_th and above it drops, so that the average stays bounded"
            self.rules.append(Rule("action", "=", "mark", why, "Sec. III; RFC 3168, Sec. 7"))
        queue = Red(w_q=w_q, min_th=min_th, max_th=max_th, max_p=self.max_p, limit=limit)
        if self.ecn:
            queue = Red(w_q=w_q, min_th=min_th, max_th=max_th, max_p=self.max_p, limit=limit, action="mark")
        linux = linux_red(
            w_q=w_q,
            min_th=min_th,
            max_th=max_th,
            limit=limit,
            max_p=self.max_p,
            burst=self.burst,
            packet=self.packet,
            rate=self.rate,
            ecn=self.ecn,
        )
        return RedDesign(
            queue=queue,
            rules=tuple(self.rules),
            warnings=tuple(self.warnings),
            rate_bps=self.rate,
            rtt_s=self.rtt,
            burst=self.burst,
            packet_bytes=self.packet,
            delay_target_s=self.target,
            linux=None if isinstance(linux, str) else linux,
            linux_refusal=linux if isinstance(linux, str) else None,
        )

    def choose_min_th(self) -> int:
        if self.target is None:
            burst_needs = self.least_min_th(LEAST_W_Q)
            min_th = max(LEAST_MIN_TH, burst_needs)
            why = (
                f"the paper's own value; no delay target asks for more, and the burst for {burst_needs}"
                if burst_needs <= LEAST_MIN_TH
                else f"the least that lets the burst pass with w_q = {LEAST_W_Q:g}, by eq. (3)"
            )
            source = "Sec. V, Fig. 3" if burst_needs <= LEAST_MIN_TH else "Sec. VI-C; Sec. VIII-A, rule 2"
        else:
            wanted = self.target * self.per_second
            min_th = max(LEAST_MIN_TH_OF_TARGET, round(wanted / 2))
            why = f"half of the {wanted:.4g} packets that take the delay target to send"
            source = "Sec. VI-C: from the desired average queue"
            if round(wanted / 2) < LEAST_MIN_TH_OF_TARGET:
                why = f"the least that the paper tries; the delay target is only {wanted:.3g} packets long"
                source = "Sec. VI-C; Figs. 5 and 14"
        self.rules.append(Rule("min_th", "=", min_th, why, source))
        return min_th

    def choose_w_q(self, min_th: int) -> float:
        """The weight: eq. (3) holds always, rule 1 of Sec. VIII-A where eq. (3) lets it, time scales where both do."""
        highest = largest_w_q(min_th, self.burst)
        quickest, slowest = weight_of(self.per_round_trip), weight_of(MOST_ROUND_TRIPS * self.per_round_trip)
        wanted = min(max(USUAL_W_Q, slowest), quickest)
        if max(wanted, LEAST_W_Q) < highest:
            w_q = max(LEAST_W_Q, _rounded(wanted, up=wanted == slowest and _rounded(wanted, up=True) < highest))
        else:
            w_q = _rounded(highest, up=False)
            w_q = w_q if average_after_burst(self.burst, w_q) < min_th else _rounded(w_q * 0.999, up=False)
        after = average_after_burst(self.burst, w_q)
        packets = arrivals_of(w_q) if w_q < 1 else 0.0
        trips = packets / self.per_round_trip
        why = (
            f"a burst of {self.burst} packets leaves the average at {after:.3g}; "
            f"it follows within {packets:.4g} packets, {_time(packets / self.per_second)} or {trips:.3g} round trips"
        )
        allowed = f"the burst leaves the average below min_th = {min_th}"
        if highest == 1:
            allowed = f"any weight lets the burst pass below min_th = {min_th}"
        self.rules += [
            Rule("w_q", "=", w_q, why, "Secs. VI-A, VI-B"),
            Rule("w_q", "≤" if highest == 1 else "<", highest, allowed, "Sec. VI-A, eq. (3)"),
            Rule("w_q", "≥", LEAST_W_Q, "the average must not lag too far behind the queue", "Sec. VIII-A, rule 1"),
            Rule("w_q", "≥", slowest, f"it follows within {MOST_ROUND_TRIPS} round trips", "Sec. III; 10: chosen here"),
            Rule("w_q", "≤", quickest, "no quicker than a round trip, when senders react", "Sec. VIII: time scales"),
        ]
        if w_q < LEAST_W_Q:
            self.warn_of_burst(min_th, highest)
        elif w_q < slowest * 0.999:
            need = self.least_min_th(slowest)
            self.warnings.append(
                f"w_q = {w_q:g} follows the queue within {trips:.3g} round trips only: a burst of {self.burst} "
                f"packets, {_time(self.burst / self.per_second)} of this link, is long beside a round trip. Within "
                f"{MOST_ROUND_TRIPS} (Sec. III) bursts up to {largest_burst(min_th, slowest)} packets pass; this one "
                f"would with min_th = {need}, a delay target of {_time(2 * need / self.per_second)}"
            )
        elif w_q > quickest * 1.001:
            self.warnings.append(
                f"w_q = {w_q:g} averages over {trips:.3g} round trips, quicker than senders react: on a link this fast "
                f"the time scales of Sec. VIII would ask for w_q ≤ {quickest:.3g}, rule 1 of Sec. VIII-A asks for "
                f"{LEAST_W_Q:g} at least. Rule 1 was kept"
            )
        return w_q

    def warn_of_burst(self, min_th: int, highest: float) -> None:
        need = self.least_min_th(LEAST_W_Q)
        self.warnings.append(
            f"a burst of {self.burst} packets does not fit the delay target: with min_th = {min_th} eq. (3) asks for "
            f"w_q < {highest:.3g}, rule 1 of Sec. VIII-A for {LEAST_W_Q:g} at least. Eq. (3) was kept, and the average "
            f"follows slowly. With w_q = {LEAST_W_Q:g} bursts up to {largest_burst(min_th, LEAST_W_Q)} packets pass; "
            f"this one would with min_th = {need}, a delay target of {_time(2 * need / self.per_second)}"
        )

    def choose_max_th(self, min_th: int, w_q: float) -> int:
        rise = self.burst * step_response(self.per_round_trip, w_q)
        if self.target is None:
            max_th = max(3 * min_th, min_th + math.floor(rise) + 1)
            why, source = "3 times min_th, as in the paper's simulations", "Sec. V, Figs. 3 and 5"
            if max_th > 3 * min_th:
                why = f"min_th and more than the {rise:.3g} packets that a burst raises the average by in a round trip"
                source = "Sec. VI-C; Sec. VIII-A, rule 3"
            self.rules.append(Rule("max_th", "=", max_th, why, source))
            return max_th
        wanted = self.target * self.per_second
        max_th = max(2 * min_th, round(2 * wanted) - min_th)
        why = "the delay target is midway between the thresholds"
        if (least := 2 * min_th) == max_th:
            why = "the least that is useful: twice min_th"
        self.rules.append(Rule("max_th", "=", max_th, why, "Sec. VI-C; Sec. VIII-A, rule 3"))
        middle = (min_th + max_th) / 2
        if wanted < 0.9 * middle:
            self.warnings.append(
                f"the delay target, {_time(self.target)}, is only {wanted:.3g} packets: min_th = {min_th} and max_th = "
                f"{least} hold the average near {_time(middle / self.per_second)}. Less would leave the link idle "
                f"too often (Sec. VI-C)"
            )
        if (alone := self.burst / self.per_second) > self.target:
            self.warnings.append(
                f"a burst of {self.burst} packets takes {_time(alone)} to send: its last packets wait longer than the "
                f"delay target, which is for the average (Sec. III)"
            )
        if rise >= max_th - min_th:
            self.warnings.append(
                f"a burst raises the average by up to {rise:.3g} packets in a round trip, and max_th - min_th = "
                f"{max_th - min_th}: the average can swing up to max_th, where flows are signalled all at once "
                f"(Sec. VIII-A, rule 3). Allow a shorter burst or a longer delay"
            )
        return max_th

    def explain_max_p(self, min_th: int, max_th: int) -> None:
        share = marked_share("section7", self.max_p)
        middle, most = (
            (self.per_round_trip + queue) * math.sqrt(2 * marked_share("section7", p) / 3)
            for queue, p in (((min_th + max_th) / 2, self.max_p / 2), (max_th, self.max_p))
        )
        why = (
            f"at most {share:.2g} of arrivals are signalled below max_th; by √(3/2p) that is room for about "
            f"{_count(middle)} long TCP flows midway between the thresholds, and {_count(most)} at max_th"
        )
        source = "Sec. VII: 1/50" if self.max_p == 0.02 else "as given; Sec. VII has 1/50"
        self.rules.append(Rule("max_p", "=", self.max_p, why, source))
        if self.max_p > MOST_MAX_P:
            self.warnings.append(
                f"max_p = {self.max_p:g}: there should never be a reason to set it above {MOST_MAX_P:g} (Sec. VII); "
                f"the steeper the probability, the more the average swings"
            )

    def choose_limit(self, max_th: int) -> int:
        trip = math.ceil(self.per_round_trip)
        room = max(max_th, self.burst, trip)
        what = {trip: "one round trip of the link", self.burst: "the burst", max_th: "as much again"}[room]
        why = f"max_th, and above it {what}: {room} packets; no loss by a full buffer"
        self.rules.append(Rule("limit", "=", max_th + room, why, "Sec. V: sufficiently large"))
        return max_th + room

    def least_min_th(self, w_q: float) -> int:
        """The least min_th of which the burst passes with this weight."""
        return math.floor(average_after_burst(self.burst, w_q)) + 1


SCENARIO = """\
network = { rate = "1 Mbit/s", delay = "1 ms" }
queue = { discipline = "red" }
flows = [{ kind = "udp", rate = "1 Mbit/s" }]
run = { duration = "1 s" }
"""

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "B": 1}
UNITS |= {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}


def _checked(name: str, value: object, key: str) -> object:
    """A value as the core reads it, in the place of `key` in a scenario. Raises `ScenarioError` that says `name`."""
    [pair] = _texts([(key, value)])
    try:
        found = json.loads(_core.check(SCENARIO, PYTHON, [pair]))
    except _core.ScenarioError as error:
        raise _core.ScenarioError(str(error).removeprefix("sets: ").replace(key, name, 1)) from None
    for part in key.replace("queue.red", "queue").split("."):
        found = found[int(part) if part.isdigit() else part]
    return found


def _quantity(name: str, value: object, key: str) -> int:
    """A quantity in nanoseconds, bits per second or bytes. Raises `ScenarioError`."""
    text = str(_checked(name, value, key))
    number, _, unit = text.partition(" ")
    quantity = int(number) * UNITS[unit]
    if quantity == 0:
        raise _core.ScenarioError(f'{name} = "{value}": must be above 0 {unit}')
    return quantity


def _rounded(value: float, *, up: bool) -> float:
    """To three digits, so that a person can write it, and to the side that keeps the bound."""
    digits = 2 - math.floor(math.log10(value))
    turn = math.ceil if up else math.floor
    return float(f"{turn(value * 10.0**digits) * 10.0**-digits:.3g}")


def _count(flows: float) -> str:
    """A number of flows for a sentence, to three digits."""
    return f"{float(f'{flows:.3g}'):.0f}" if flows >= 10 else f"{flows:.2g}"


def _time(seconds: float) -> str:
    """A time for a sentence, to three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
