"""Parameters for RED, each with the rule of the paper that it follows (Floyd & Jacobson 1993, Secs. V to VIII).

The paper leaves the best average queue open (Sec. VI-C): the user states it as a delay target, or takes the paper's
least thresholds. Three things decide whether the average queue then stays midway between the thresholds; below, C is
the rate in packets, R the round trip without queues, d the delay midway, n the flows.

- max_p. n flows fill C(R + d) packets with windows of W = C(R + d)/n. A window that grows by a packet in each round
  trip and is halved at a loss rises from 2/3 to 4/3 of its mean W, in 2W/3 + 1 round trips: one loss in W(2W + 3)/3
  packets, p = 3/(W(2W + 3)), which is 3/(2W²) for large W (Mathis, Semke, Mahdavi & Ott 1997). Method 2 signals a
  part p of the arrivals if p_b = p/(2 - p) (Sec. VII), and midway p_b is max_p/2. Linux counts the packets that an
  acknowledgement covers, so that delayed acknowledgements change nothing.
- w_q. The loop of Hollot, Misra, Towsley & Gong (INFOCOM 2001) has a delay of R + d, poles with the time constants
  R + d, W(R + d)/2 and T (the average's), and a static gain C(R + d)W²/4 · ∂p/∂q, which is 3/4 (R + d)/d at most. With
  T = 3(R + d)²/d its gain margin is 2 or more for every W and d (1.4 with √2 times the weight, as Linux's nearest power
  of two may have it); with a much smaller T the average swings between 0 and max_th.
- Room. A window swings by a third of its mean, and with one flow so does the queue: by (R + d)/3. n flows lose at
  different times: the standard deviation of their sum is (R + d)/√(27n), and 1.3 times that, (R + d)/(4√n), has to
  fit between the middle and each threshold (measured with Linux's hosts). The thresholds are d/2 away.

For some other values the paper gives no number. This module chooses them; docs/choosing-red.md has them, with reasons.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, field
from typing import Literal

from .. import _core
from .._generated import Red
from ..quantities import checked, duration, quantity
from ..theory.red import average_after_burst, largest_burst, largest_w_q, marked_share, weight_of
from ..theory.red import time_constant as arrivals_of
from .common import Design, Rule, ns2_lines, whole
from .linux import LinuxRed, linux_red

MOST_ROUND_TRIPS = 10
LEAST_MIN_TH = 5
LEAST_MIN_TH_OF_TARGET = 3
LEAST_TARGET = 5
"""Packets: bursts alone keep more than so many waiting (measured with Linux's hosts)."""
USUAL_MAX_P = 0.02
MOST_MAX_P = 0.1


@dataclass(frozen=True, kw_only=True)
class RedDesign(Design):
    """Parameters of RED for a link, made by `design_red`.

    Attributes:
        rules: Each value and each bound on w_q, with its rule.
        warnings: Conflicts of rules, as sentences: what was given up, and what would fix it.
        rate_bps: The link, bits per second.
        rtt_s: A round trip without queues, in seconds.
        burst: The number of back-to-back packets that an empty queue must admit without a signal.
        packet_bytes: The length of a packet.
        flows: The number of long TCP flows for max_p; None if not given.
        delay_target_s: The requested average queueing delay, in seconds; None if not given.
        linux: The values that Linux will use; None if Linux cannot, and `linux_refusal` says why.
        linux_refusal: See `linux`.

    >>> design = sg.design_red(rate="45 Mbit/s", rtt="100 ms", burst=50)
    >>> design.tc("eth0").split()[:9]
    ['tc', 'qdisc', 'add', 'dev', 'eth0', 'root', 'red', 'limit', '585000']
    """

    queue: Red
    rate_bps: int
    rtt_s: float
    burst: int
    packet_bytes: int
    flows: int | None
    delay_target_s: float | None
    linux: LinuxRed | None
    linux_refusal: str | None

    chosen = ("w_q", "min_th", "max_th", "max_p", "limit")

    def delay_s(self, packets: float) -> float:
        """The time to send this many queued packets, in seconds."""
        return packets * 8 * self.packet_bytes / self.rate_bps

    def tc(self, dev: str = "DEV") -> str:
        """The command for Linux; `linux` has the values that tc and the kernel will use. Raises ValueError without
        `linux`."""
        if self.linux is None:
            raise ValueError(f"Linux cannot do this: {self.linux_refusal}")
        return self.linux.line(shlex.quote(dev))

    def ns2(self) -> str:
        """Lines for ns-2, to run before its links are made; ns-2 keeps its own law of gaps (`law = "ns2"` here)."""
        queue = self.queue
        return ns2_lines(
            "RED", queue, thresh=queue.min_th, maxthresh=queue.max_th, q_weight=f"{queue.w_q:.9g}",
            linterm=f"{1 / queue.max_p:.9g}", limit=queue.limit, gentle="false", wait="false",
        )  # fmt: skip

    def record(self, dev: str = "DEV") -> dict[str, object]:
        """Everything as plain values for JSON; `dev`: the interface in the line for tc."""
        linux, queue = self.linux, self.queue
        names = ("rate_bps", "rtt_s", "burst", "packet_bytes", "flows", "delay_target_s")
        return (
            {name: getattr(self, name) for name in names}
            | super().record()
            | {
                "tc": None if linux is None else self.tc(dev),
                "linux": None if linux is None else vars(linux) | {"remarks": linux.remarks(queue.w_q, queue.max_p)},
                "linux_refusal": self.linux_refusal,
                "ns2": self.ns2(),
            }
        )


def design_red(
    *,
    rate: str,
    rtt: str,
    burst: int,
    delay_target: str | None = None,
    flows: int | None = None,
    packet_size: str = "1500 B",
    max_p: float | None = None,
    ecn: bool = False,
) -> RedDesign:
    """Choose RED's parameters for a link by the rules of Floyd & Jacobson 1993, Secs. V to VIII.

    `rate`: of the link. `rtt`: a typical round trip of its flows without queues. `burst`: how many packets may arrive
    back to back at an empty queue without a signal. `delay_target`: the average queueing delay under load (default:
    that of thresholds of 5 and 15 packets). `flows`: the number of long TCP flows, with Reno's congestion control, for
    which the delay must hold. `packet_size`: of a typical packet. `max_p`: the probability p_b at max_th (default: from
    `flows`, or 0.02). `ecn`: mark ECN-capable packets, and drop the others; at max_th and above drop, as RFC 3168 asks.

    Raises `ScenarioError` when a value is wrong. Conflicting rules become `warnings`.

    >>> design = sg.design_red(rate="45 Mbit/s", rtt="100 ms", burst=50)
    >>> design.values()
    {'w_q': 2.24e-05, 'min_th': 5, 'max_th': 15, 'max_p': 0.02, 'limit': 390}
    """
    rate_bps = quantity("rate", rate, "network.rate")
    rtt_s = quantity("rtt", rtt, "network.delay") / 1e9
    packet = quantity("packet_size", packet_size, "flows.0.packet_size")
    target_s = None if delay_target is None else quantity("delay_target", delay_target, "network.delay") / 1e9
    whole(burst=burst, flows=1 if flows is None else flows)
    if max_p is not None:
        checked("max_p", max_p, "queue.red.max_p")
        if flows is not None:
            raise _core.ScenarioError(f"max_p = {max_p:g}: follows from flows = {flows}; leave one of them out")
    return _Designer(rate_bps, rtt_s, burst, packet, target_s, flows, max_p, ecn).design()


def share_of(window: float) -> float:
    """The share of packets that a Reno flow must lose for a window of so many packets on average, at most 1."""
    return min(1.0, 3 / (window * (2 * window + 3)))


def window_of(share: float) -> float:
    """The window of which `share_of` is this share."""
    return (math.sqrt(9 + 24 / share) - 3) / 4


def swing_of(flows: int) -> float:
    """By what part of their sum the windows of so many flows swing about it."""
    return 1 / 3 if flows == 1 else 1 / (4 * math.sqrt(flows))


@dataclass
class _Designer:
    """One design in the making: what was asked for, and the rules and warnings so far. `middle`: packets midway between
    the thresholds, before they are rounded."""

    rate: int
    rtt: float
    burst: int
    packet: int
    target: float | None
    flows: int | None
    max_p: float | None
    ecn: bool
    middle: float = 0.0
    rules: list[Rule] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.per_second = self.rate / (8 * self.packet)
        self.per_round_trip = self.per_second * self.rtt

    def design(self) -> RedDesign:
        min_th = self.choose_min_th()
        w_q = self.choose_w_q(min_th)
        max_th = self.choose_max_th(min_th)
        max_p = self.choose_max_p(max_th)
        limit = self.choose_limit(max_th)
        if self.ecn:
            why = "marks ECN-capable packets; at max_th and above it drops them, so that the average stays bounded"
            self.rules.append(Rule("action", "=", "mark", why, "Sec. III; RFC 3168, Sec. 7"))
        action: Literal["mark", "drop"] = "mark" if self.ecn else "drop"
        linux = linux_red(
            w_q=w_q, min_th=min_th, max_th=max_th, limit=limit, max_p=max_p,
            burst=self.burst, packet=self.packet, rate=self.rate, ecn=self.ecn,
        )  # fmt: skip
        return RedDesign(
            queue=Red(w_q=w_q, min_th=min_th, max_th=max_th, max_p=max_p, limit=limit, action=action),
            rules=tuple(self.rules),
            warnings=tuple(self.warnings),
            rate_bps=self.rate,
            rtt_s=self.rtt,
            burst=self.burst,
            packet_bytes=self.packet,
            flows=self.flows,
            delay_target_s=self.target,
            linux=None if isinstance(linux, str) else linux,
            linux_refusal=linux if isinstance(linux, str) else None,
        )

    def choose_min_th(self) -> int:
        if self.target is None:
            min_th, why, source = LEAST_MIN_TH, "the paper's own value, as no delay target is given", "Sec. V, Fig. 3"
        else:
            wanted = self.target * self.per_second
            min_th = max(LEAST_MIN_TH_OF_TARGET, round(wanted / 2))
            packets = f"{wanted:.4g}" if wanted < 1000 else _count(wanted)
            why = f"half of the {packets} packets that the link sends in the delay target"
            source = "Sec. VI-C: from the desired average queue"
            if round(wanted / 2) < LEAST_MIN_TH_OF_TARGET:
                why = f"the least that the paper tries; the delay target is only {wanted:.3g} packets long"
                source = "Sec. VI-C; Figs. 5 and 14"
        self.middle = 2.0 * min_th if self.target is None else max(self.target * self.per_second, 1.5 * min_th)
        self.rules.append(Rule("min_th", "=", min_th, why, source))
        return min_th

    def choose_w_q(self, min_th: int) -> float:
        """The weight: the largest that lets the burst pass by eq. (3), and of which the average does not oscillate."""
        trip = self.per_round_trip + self.middle
        highest = largest_w_q(min_th, self.burst)
        steady, slowest = weight_of(3 * trip * trip / self.middle), weight_of(MOST_ROUND_TRIPS * trip)
        w_q = _rounded_down(min(highest, steady))
        w_q = w_q if average_after_burst(self.burst, w_q) < min_th else _rounded_down(w_q * 0.999)
        after = average_after_burst(self.burst, w_q)
        packets = arrivals_of(w_q)
        trips = packets / trip
        why = (
            f"a burst of {self.burst} packets leaves the average at {after:.3g}; the average follows within "
            f"{_count(packets)} packets, {duration(packets / self.per_second)} or {trips:.3g} round trips, "
            "queueing included"
        )
        allowed = f"the burst leaves the average below min_th = {min_th}"
        if highest == 1:
            allowed = f"any weight lets the burst pass below min_th = {min_th}"
        self.rules += [
            Rule("w_q", "=", w_q, why, "Secs. VI-A, VI-B"),
            Rule("w_q", "≤" if highest == 1 else "<", highest, allowed, "Sec. VI-A, eq. (3)"),
            Rule("w_q", "≤", steady, "the average does not oscillate", "Sec. VII; Hollot et al. 2001"),
            Rule(
                "w_q",
                "≥",
                slowest,
                f"the average follows within {MOST_ROUND_TRIPS} round trips",
                "Sec. III; 10: chosen here",
            ),
        ]
        if w_q < slowest * 0.99:
            self.warn_of_slowness(min_th, highest < steady, trips, slowest)
        return w_q

    def warn_of_slowness(self, min_th: int, by_burst: bool, trips: float, slowest: float) -> None:
        if by_burst:
            need = self.least_min_th(slowest)
            self.warnings.append(
                f"a burst of {self.burst} packets, {duration(self.burst / self.per_second)} of this link, is long for "
                f"min_th = {min_th}: by eq. (3) the average takes {trips:.3g} round trips to follow the queue. "
                f"An average that follows within {MOST_ROUND_TRIPS} round trips (Sec. III) lets bursts of up to "
                f"{largest_burst(min_th, slowest)} packets pass; this one passes with min_th = {need}, a delay target "
                f"of {duration(2 * need / self.per_second)}"
            )
            return
        what = f"min_th = {min_th}" if self.target is None else f"a delay target of {duration(self.target)}"
        self.warnings.append(
            f"{what} is short beside the round trip of {duration(self.rtt)}: the average takes {trips:.3g} round "
            "trips to follow the queue, since a faster average would oscillate. The average follows within "
            f"{MOST_ROUND_TRIPS} round trips (Sec. III) with a delay target of "
            f"{duration(3 * self.rtt / (MOST_ROUND_TRIPS - 3))}"
        )

    def choose_max_th(self, min_th: int) -> int:
        """So that the delay is midway. With `choose_w_q` a burst that stays for a round trip raises the average by less
        than from here to there, 1.2 min_th at most, as rule 3 of Sec. VIII-A asks."""
        if self.target is None:
            self.rules.append(Rule("max_th", "=", 3 * min_th, "3 times min_th", "Sec. V, Figs. 3 and 5"))
            return 3 * min_th
        wanted = self.target * self.per_second
        max_th = max(2 * min_th, round(2 * wanted) - min_th)
        why = "the delay target is midway between the thresholds"
        if max_th == 2 * min_th:
            why = "the least that is useful: twice min_th"
        self.rules.append(Rule("max_th", "=", max_th, why, "Sec. VI-C; Sec. VIII-A, rule 3"))
        if wanted < LEAST_TARGET:
            self.warnings.append(
                f"the delay target, {duration(self.target)}, is only {wanted:.3g} packets, but bursts alone need more: "
                f"the least that RED can hold is {duration(LEAST_TARGET / self.per_second)}, {LEAST_TARGET} packets. "
                f"With less the link would be idle too often (Sec. VI-C)"
            )
        if (alone := self.burst / self.per_second) > self.target:
            self.warnings.append(
                f"a burst of {self.burst} packets takes {duration(alone)} to send: its last packets wait longer than "
                f"the delay target, which is for the average (Sec. III)"
            )
        return max_th

    def choose_max_p(self, max_th: int) -> float:
        """What the flows take midway between the thresholds, Sec. VII's 1/10 at most; without their number its 1/50."""
        full = self.per_round_trip + self.middle
        if self.flows is None:
            max_p = USUAL_MAX_P if self.max_p is None else self.max_p
            share = marked_share("section7", max_p)
            midway = full / window_of(marked_share("section7", max_p / 2))
            most = (self.per_round_trip + max_th) / window_of(share)
            why = (
                f"at most {share:.2g} of arrivals are signalled below max_th: room for about {_count(midway)} long TCP "
                f"flows midway between the thresholds, and {_count(most)} at max_th"
            )
            source = "Sec. VII: 1/50" if max_p == USUAL_MAX_P else "as given; Sec. VII has 1/50"
        else:
            window = full / self.flows
            share = share_of(window)
            needed = 2 * share / (2 - share)
            max_p = min(float(f"{needed:.3g}"), MOST_MAX_P)
            why = (
                f"with the average midway, {self.flows} flows have windows of W = {window:.3g} packets, for which "
                f"3/(W(2W + 3)) = {share:.2g} of arrivals are signalled"
            )
            source = "Sec. VII; Mathis et al. 1997"
            if needed > MOST_MAX_P:
                self.warn_of_many(self.flows, window, needed)
            elif self.swings(self.flows):
                self.warn_of_few(self.flows)
        self.rules.append(Rule("max_p", "=", max_p, why, source))
        if max_p > MOST_MAX_P:
            self.warnings.append(
                f"max_p = {max_p:g}: it should never exceed {MOST_MAX_P:g} (Sec. VII): "
                f"the steeper the probability, the more the average swings"
            )
        return max_p

    def warn_of_many(self, flows: int, window: float, needed: float) -> None:
        least, fewest, most = self.least_window(), self.fewest(), self.most()
        held = f"RED holds the target with up to {_flows(most)}; " if fewest <= most else ""
        self.warnings.append(
            f"{_are(flows)} too many for {duration(self.middle / self.per_second)}: windows of {window:.2g} packets "
            f"need max_p = {min(needed, 1):.2g}, but it should never exceed {MOST_MAX_P:g} (Sec. VII). So max_p is "
            f"{MOST_MAX_P:g}, and the delay will be longer. "
            f"{held}{flows} need a delay target of {duration(flows * least / self.per_second - self.rtt)}"
        )

    def warn_of_few(self, flows: int) -> None:
        delay, part = self.middle / self.per_second, swing_of(flows)
        fewest = self.fewest()
        held = f"RED holds the target with {_flows(fewest)} or more; " if fewest <= self.most() else ""
        self.warnings.append(
            f"{_are(flows)} too few for {duration(delay)}: the queue swings by {duration(part * (self.rtt + delay))}, "
            f"and the thresholds are {duration(delay / 2)} away. The link is idle at times, the average reaches "
            f"max_th, and the queue may not be held midway. {held}{flows} need a delay target of "
            f"{duration(2 * part / (1 - 2 * part) * self.rtt)}"
        )

    def least_window(self) -> float:
        """The least window that Sec. VII's highest max_p gives midway."""
        return window_of(marked_share("section7", MOST_MAX_P / 2))

    def most(self) -> int:
        """The most flows that have such windows midway."""
        return math.floor((self.per_round_trip + self.middle) / self.least_window())

    def swings(self, flows: int) -> bool:
        """Whether the windows of so many flows swing beyond the thresholds."""
        return 0.501 * self.middle < swing_of(flows) * (self.per_round_trip + self.middle)

    def fewest(self) -> int:
        """The fewest flows whose windows do not."""
        return max(2, math.ceil(((self.per_round_trip / self.middle + 1) / 2) ** 2)) if self.swings(1) else 1

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


def _rounded_down(value: float) -> float:
    """To three digits, so that a person can write it, and below a bound."""
    digits = 2 - math.floor(math.log10(value))
    return float(f"{math.floor(value * 10.0**digits) * 10.0**-digits:.3g}")


def _flows(count: int) -> str:
    return "1 flow" if count == 1 else f"{count} flows"


def _are(flows: int) -> str:
    return f"{_flows(flows)} {'is' if flows == 1 else 'are'}"


def _count(number: float) -> str:
    """A number of flows or packets for a sentence, to three digits."""
    return f"{float(f'{number:.3g}'):,.0f}" if number >= 10 else f"{number:.2g}"
