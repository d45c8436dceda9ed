"""The CHOKe report's experiments as data: a `Case` is what differs from the scenario of Fig. 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

from . import Settings

LINK_BPS = 1_000_000
TCP_FLOWS = 32
FAIR_BPS = LINK_BPS / (TCP_FLOWS + 1)
"""An equal share of the link for each of the 33 flows."""

RATES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 7.0, 10.0)
"""What UDP offers in Figs. 8 to 11, 14 and 15, Mbit/s."""

DEFAULT = Settings(seeds=tuple(range(1, 21)), duration_s=400, warmup_s=100, sample_s=2)
FULL = Settings(seeds=tuple(range(1, 51)), duration_s=2000, warmup_s=400, sample_s=10)


@dataclass(frozen=True)
class Case:
    """One point: a discipline, its thresholds in packets (None where it has none), and the traffic.

    `udp_mbps`: what each UDP source sends, Mbit/s; None for no UDP source. `candidates`: packets that CHOKe draws for
    each arrival; the report's "drop m" has m − 1. `bursts`: whether a flow that sends bursts and a smooth one of the
    same rate are added. `variant`: overrides of the choices that the report leaves open, with a name; empty for the
    choices made.
    """

    discipline: str
    thresholds: tuple[int, int] | None
    udp_mbps: float | None = 2.0
    variant: str = ""
    sets: tuple[tuple[str, str], ...] = ()
    candidates: int = 1
    udp_flows: int = 1
    tcp_flows: int = TCP_FLOWS
    bursts: bool = False

    @property
    def id(self) -> str:
        """Names the experiment: discipline, thresholds, candidates, traffic, variant."""
        parts = [
            self.discipline,
            *map(str, self.thresholds or ()),
            f"{self.candidates} candidates" if self.candidates > 1 else "",
            f"{self.udp_flows} UDP" if self.udp_flows > 1 else "",
            f"{self.tcp_flows} TCP alone" if self.udp_mbps is None else f"{self.udp_mbps:g} Mbit/s",
            "with bursts" if self.bursts else "",
            self.variant,
        ]
        return ", ".join(part for part in parts if part)

    @property
    def scenario(self) -> str:
        """The scenario that the case starts from."""
        return "choke1999_tcp" if self.udp_mbps is None else "choke1999"

    def at(self, udp_mbps: float) -> Case:
        """The same with another rate of UDP."""
        return replace(self, udp_mbps=udp_mbps)

    def of(self, tcp_flows: int) -> Case:
        """The same with another number of TCP flows."""
        return replace(self, tcp_flows=tcp_flows)

    def overrides(self) -> tuple[tuple[str, str], ...]:
        """What differs from the scenario, as `--set` takes it."""
        sets = [("queue.discipline", self.discipline)]
        if self.udp_mbps is not None:
            sets.append(("flows.1.rate", f"{self.udp_mbps:g} Mbit/s"))
        if self.udp_flows > 1:
            sets.append(("flows.1.count", str(self.udp_flows)))
        if self.tcp_flows != TCP_FLOWS:
            sets.append(("flows.0.count", str(self.tcp_flows)))
        if self.thresholds:
            sets += [("queue.min_th", str(self.thresholds[0])), ("queue.max_th", str(self.thresholds[1]))]
        if self.candidates > 1:
            sets.append(("queue.candidates", str(self.candidates)))
        return (*sets, *self.sets)


# Figures 2 to 9 ---------------------------------------------------------------------------------------------------

DROP_TAIL = Case("drop_tail", None)
RED = (Case("red", (30, 60)), Case("red", (100, 200)))
CHOKE = (Case("choke", (30, 60)), Case("choke", (100, 200)))

OVER_LOAD = tuple(case.at(rate) for case in CHOKE for rate in RATES)
"""The cases of Figs. 8 and 9."""

VARIANTS = tuple(
    replace(CHOKE[0], variant=name, sets=(change,))
    for name, change in (
        ("buffer of 100 packets", ("queue.limit", "100")),
        ("buffer of 1000 packets", ("queue.limit", "1000")),
        ("w_q = 0.001", ("queue.w_q", "0.001")),
        ("w_q = 0.01", ("queue.w_q", "0.01")),
        ("max_p = 0.05", ("queue.max_p", "0.05")),
        ("max_p = 0.1", ("queue.max_p", "0.1")),
        ("max_p = 0.5", ("queue.max_p", "0.5")),
        ("delay of 10 ms", ("network.delay", "10 ms")),
        ("delay of 100 ms", ("network.delay", "100 ms")),
        ("starts spread over 10 s", ("flows.0.spread", "10 s")),
    )
)
"""CHOKe at 30/60 and 2 Mbit/s with other values for what the report leaves open, one at a time."""

LESS_EARLY = next(case for case in VARIANTS if case.variant == "max_p = 0.1")
"""CHOKe at 30/60 and 2 Mbit/s that drops more packets early."""

FAR_APART = replace(CHOKE[0].at(0.1), variant="delay of 100 ms", sets=(("network.delay", "100 ms"),))
"""CHOKe at 30/60 and 0.1 Mbit/s with a longer line."""

SHORT_TIMEOUTS = (
    replace(
        DROP_TAIL,
        variant="time-outs of at most 0.5 s, UDP jittered",
        sets=(("flows.0.max_rto", "0.503 s"), ("flows.1.jitter", "1")),
    ),
    *(replace(case, variant="time-outs of at most 2 s", sets=(("flows.0.max_rto", "2.003 s"),)) for case in RED),
)
"""Drop Tail and RED at 2 Mbit/s with hosts that never wait longer. Not 0.5 or 2 s: a multiple of the 8 ms that a packet
takes would let a host meet the same phase of the queue each time. Under Drop Tail the phase also needs UDP's jitter: a
source that sends exactly two packets per departure fills every free place before all others, or after them."""

# Figures 10 to 19 -------------------------------------------------------------------------------------------------

RED_LOAD = tuple(RED[0].at(rate) for rate in RATES)
"""The cases of Figs. 10 and 11."""

TWO = tuple(replace(case, candidates=2) for case in CHOKE)
THREE = tuple(replace(case, candidates=3) for case in CHOKE)
"""The cases of Figs. 12 and 13: CHOKe with two candidates, and with three."""

DROP_3 = TWO[0]
"""What the report calls drop 3: two candidates and the arrival."""

DROP_3_LOAD = tuple(DROP_3.at(rate) for rate in RATES)
"""The cases of Figs. 14 and 15."""

EARLY_AT_10 = tuple(
    replace(case.at(10.0), variant="max_p = 0.1", sets=(("queue.max_p", "0.1"),)) for case in (CHOKE[0], DROP_3)
)
"""The basic scheme and drop 3 at 10 Mbit/s, where they drop more packets early."""

UDP_FLOWS = 5
FIVE_FAIR_BPS = LINK_BPS / (TCP_FLOWS + UDP_FLOWS)
"""An equal share of the link for each of 32 TCP and 5 UDP flows."""

FIVE_RATES = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 4.0, 10.0)
"""What each of five UDP sources offers in Figs. 16 to 19, Mbit/s."""

FIVE = replace(CHOKE[0], udp_flows=UDP_FLOWS)
DROP_6 = replace(FIVE, candidates=5)
FIVE_LOAD = tuple(case.at(rate) for case in (FIVE, DROP_6) for rate in FIVE_RATES)
"""The cases of Figs. 16 to 19: one candidate, and the five of drop 6."""

# What the report says without a figure -------------------------------------------------------------------------------

FLOWS = (2, 4, 8, 16, 32, 64, 128)
"""How many TCP flows share the link without UDP."""

RED_ALONE = tuple(replace(case, udp_mbps=None) for case in RED)
CHOKE_ALONE = tuple(replace(case, udp_mbps=None) for case in CHOKE)
ALONE = tuple(case.of(count) for case in (*RED_ALONE, *CHOKE_ALONE) for count in FLOWS)
"""No UDP: is CHOKe like RED?"""

SINGLE = tuple(
    replace(case, tcp_flows=count, variant="window of 1 packet", sets=(("flows.0.window", "1"),))
    for cases in (RED_ALONE, CHOKE_ALONE)
    for case, count in zip(cases, (64, 192), strict=True)
)
"""RED, then CHOKe, for each pair of thresholds, where no flow ever has two packets in the queue: its window is one
packet. The flows are as many as bring the average between the thresholds."""

TOGETHER = tuple(
    replace(case, variant="simultaneous starts", sets=(("flows.0.spread", "0 s"),))
    for case in (replace(DROP_TAIL, udp_mbps=None), *RED_ALONE, *CHOKE_ALONE, *CHOKE)
)
"""All TCP flows start at once, as in the report's example in Sec. 3; the last two with UDP. Their series are kept."""

BURST_PACKETS = 8
BURST_GAP_S = 4
BURSTS = tuple(
    replace(case, udp_mbps=None, bursts=True)
    for case in (
        *(replace(DROP_TAIL, variant=f"room for {room}", sets=(("queue.limit", str(room)),)) for room in (60, 200)),
        DROP_TAIL,
        *RED,
        *CHOKE,
    )
)
"""32 TCP flows with one flow of bursts and a smooth one: Drop Tail with room for as many packets as `max_th` and with
the scenario's buffer, RED and CHOKe."""

IN_TIME = (DROP_TAIL, *RED, *CHOKE, *TWO, *THREE)
"""The cases of Figs. 2 to 7, 12 and 13, all with UDP at 2 Mbit/s."""

WITH_SERIES = frozenset((*IN_TIME, *TOGETHER))
"""The cases whose series are kept."""
