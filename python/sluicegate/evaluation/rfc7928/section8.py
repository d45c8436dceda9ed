"""RFC 7928, Sec. 8: stability. Its congestion levels are those that a Drop Tail queue would have (Sec. 8.2.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ..._generated import Dumbbell, Source
from ...papers.disciplines.workloads import Workload
from ...reproduce import Settings
from ..phases import Phases
from ..suite import LINK, RATE_BPS, Number, Scenario
from . import section7
from .traffic import transfers

STORED = 2 * LINK.limit
"""Packets that the path and the buffer hold."""


def level(loss: float) -> int:
    """How many transfers make Drop Tail lose this part of all packets by p = 0.76 N²/S² (Morris 2000), S packets being
    stored. Simulated, it loses 0.39, 1.55 and 2.72 % where that says 0.1, 0.5 and 1 %, for two reasons. The formula is
    for windows that grow by a packet in two round trips, as where every other packet is acknowledged; Linux counts
    both, which takes twice the losses. And its S is the sum of mean windows: where the full buffer is that of windows
    at their peak, 4/3 of the mean, p = 8/3 N²/S², which is 0.35, 1.6 and 3.5 %."""
    return round(STORED * math.sqrt(loss / 0.76))


MILD, MEDIUM, HEAVY = level(0.001), level(0.005), level(0.01)

PHASE_S, FAST_S = 20.0, 0.1
WIDE, NARROW = 100, 10
"""The two capacities of Sec. 8.2.6, Mbit/s."""

LEVELS = {f"{word}, {count}": count for word, count in (("mild", MILD), ("medium", MEDIUM), ("heavy", HEAVY))}
TURNS = Phases(tuple(LEVELS), (RATE_BPS,) * 3, PHASE_S)

ALL = (Number("NewReno", "delay_p99_ns"), Number("NewReno", "goodput_bps"))


def congested(name: str, section: str, word: str, count: int, loss: str) -> Scenario:
    """A steady level of congestion."""
    return Scenario(
        name, section, f"{word} congestion",
        f"{count} NewReno transfers without end: by the RFC's formula Drop Tail then drops {loss} of all packets. "
        "Delay, goodput and the synchronization of losses show how the discipline copes with this load.",
        lambda settings: {"NewReno": transfers(count)}, ALL, also=("goodput_p5_bps", "avoidance_s"),
    )  # fmt: skip


def varying_level(settings: Settings) -> list[tuple[float, str, str | int]]:
    """Sec. 8.2.5: how many of the transfers send. All do during the warm-up, so that they are in congestion avoidance
    at time 0."""
    counts = [*LEVELS.values()]
    return [(time, "flows.0.count", counts[number]) for time, number in TURNS.begins(settings)]


def friendly(settings: Settings) -> dict[str, Source]:
    """Mild congestion."""
    return {"NewReno": transfers(MILD)}


def varying_capacity(
    name: str, length_s: float, words: str, sample_s: float | None = None, *, title: str = "", about: str = "",
    flows: Callable[[Settings], Mapping[str, Source]] = friendly, matters: tuple[Number, ...] = ALL,
) -> Scenario:  # fmt: skip
    """Sec. 8.2.6. The rate changes during the run, and disciplines are told of it."""
    rates = (WIDE, NARROW)
    phases = Phases(tuple(f"{rate} Mbit/s" for rate in rates), tuple(1e6 * rate for rate in rates), length_s)

    def changes(settings: Settings) -> list[tuple[float, str, str | int]]:
        begins = [*phases.begins(settings)][1:]  # it has the first phase's rate from the start
        return [(time, "network.rate", f"{rates[number]} Mbit/s") for time, number in begins]

    return Scenario(
        name, "8.2.6", title or f"Varying available capacity, phases of {words}",
        about or f"The link has {WIDE} and {NARROW} Mbit/s in turn, {words} each, under {MILD} NewReno transfers "
        "without end. A discipline is to drain its queue soon after the capacity falls, and to fill the link soon "
        "after it rises.",
        flows,
        (*matters, Number(phases.names[1], "delay_p99_ns")),
        network=Dumbbell(rate=f"{WIDE} Mbit/s", delay="0 s", access_rate="1 Gbit/s"),
        link=Workload("", f"{WIDE} Mbit/s", queue=200, limit=833, rtt="125 ms", flows=MILD),
        phases=phases,
        changes=changes,
        sample_s=sample_s,
        also=("avoidance_s",),
    )  # fmt: skip


SCENARIOS = (
    congested("mild", "8.2.2", "Mild", MILD, "0.1 %"),
    congested("medium", "8.2.3", "Medium", MEDIUM, "0.5 %"),
    congested("heavy", "8.2.4", "Heavy", HEAVY, "1 %"),
    Scenario(
        "varying-congestion", "8.2.5", "Varying congestion",
        f"Phases of 20 s alternate: in them {MILD}, {MEDIUM} and {HEAVY} NewReno transfers send (mild, medium and "
        "heavy congestion). The courses over time show how soon the discipline finds the new level, and whether it "
        "overshoots.",
        lambda settings: {"NewReno": transfers(HEAVY)},
        (*ALL, Number(TURNS.names[2], "delay_p99_ns")),
        phases=TURNS,
        changes=varying_level,
        also=("avoidance_s",),
    ),
    varying_capacity("varying-capacity", PHASE_S, "20 s"),
    varying_capacity("varying-capacity-fast", FAST_S, "100 ms", sample_s=0.01),
    varying_capacity(
        "varying-capacity-bursts", PHASE_S, "20 s", title="Varying available capacity, with bursts",
        about=f"The traffic of bursts-4 on a link of {WIDE} and {NARROW} Mbit/s in turn, 20 s each. Bursts that pass "
        "the fast link meet a queue on the slow one.",
        flows=section7.mix("video", "bulk"), matters=(section7.VIDEO, section7.WEB),
    ),
    Scenario(
        "varying-capacity-radio", "8.2.6", "Available capacity of radio links",
        f"{MILD} NewReno transfers over a link whose rate follows the package's traces of LTE and of Wi-Fi, scaled to "
        "10 Mbit/s on average. Disciplines do not hear of the changes, as in a phone or an access point.",
        friendly, ALL,
        network=Dumbbell(trace="lte", trace_mean=LINK.rate, delay="1 ms", access_rate="100 Mbit/s"),
        points={"LTE": (), "Wi-Fi": (("network.trace", "wifi"),)},
        axis="Trace",
        apart=True,
    ),
)  # fmt: skip
