"""RFC 7928, Sec. 8: stability. Its congestion levels are those that a Drop Tail queue would have (Sec. 8.2.1)."""

from __future__ import annotations

import math

from ..._generated import Dumbbell, Source
from ...papers.disciplines.workloads import Workload
from ...reproduce import Settings
from ..suite import LINK, LINKS, RATE_BPS, Number, Scenario, classes
from .traffic import cbr, transfers

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

PHASE_S = 20.0
WIDE, NARROW = 100, 10
"""The two capacities of Sec. 8.2.6, Mbit/s."""

ALL = (Number(LINKS, "delay_p99_ns"), Number("NewReno", "goodput_bps"))


def congested(name: str, section: str, word: str, count: int, loss: str) -> Scenario:
    """A steady level of congestion."""
    return Scenario(
        name, section, f"{word} congestion",
        f"{count} NewReno transfers without end, for which the RFC's formula has Drop Tail lose {loss} of all packets. "
        "Delay, goodput and the synchronization of losses show how the discipline stands this load.",
        lambda settings: {"NewReno": transfers(count)}, ALL,
    )  # fmt: skip


def varying_level(settings: Settings) -> dict[str, Source]:
    """Sec. 8.2.5: mild, medium and heavy congestion for 20 s each, again and again."""
    found: dict[str, Source] = {"always": transfers(MILD)}
    cycle = 3 * PHASE_S
    for number in range(math.ceil(settings.duration_s / cycle)):
        begin, end = number * cycle, f"{(number + 1) * cycle} s"
        for name, count, phase in (("medium", MEDIUM - MILD, 1), ("heavy", HEAVY - MEDIUM, 2)):
            if (start := begin + phase * PHASE_S) < settings.duration_s:
                found[f"{name} {number + 1}"] = transfers(count, start=f"{start} s", stop=end)
    return found


def capacity(time_s: float) -> float:
    """What is left of the link for the discipline, in bit/s, in phases of 20 s."""
    return 1e6 * (NARROW if math.floor(time_s / PHASE_S) % 2 else WIDE)


def varying_capacity(name: str, phase_s: float, words: str, drawn: bool) -> Scenario:
    """Sec. 8.2.6. The rate of a link does not change in a run: strict priority gives what is to be missing to a flow
    of its own, so that the discipline is asked for packets at the lower rate."""
    link = WIDE + 1
    times = [phase_s, *(round(phase_s * number, 6) for number in range(2, math.ceil(1e4 / phase_s)))]
    return Scenario(
        name, "8.2.6", f"Varying available capacity, phases of {words}",
        f"The capacity alternates between {WIDE} and {NARROW} Mbit/s every {words} under {MILD} NewReno transfers "
        "without end. A discipline is to drain its queue soon after the capacity falls, and to fill the link soon "
        "after it rises.",
        lambda settings: {
            "cross traffic": cbr("1 Mbit/s", spread="0 s"),
            "NewReno": transfers(MILD, class_=1),
        },
        (Number("NewReno", "delay_p99_ns"), Number("NewReno", "goodput_bps")),
        network=Dumbbell(rate=f"{link} Mbit/s", delay="1 ms", access_rate="1 Gbit/s"),
        queue=classes("priority", 2),
        link=Workload("", f"{link} Mbit/s", queue=200, limit=833, rtt="125 ms", flows=MILD),
        places=("queue.classes.1",),
        changes=lambda settings: [
            (time, "flows.0.rate", f"{link - (WIDE if number % 2 else NARROW)} Mbit/s")
            for number, time in enumerate(times) if time < settings.duration_s
        ],
        capacity=capacity if drawn else None,
        apart=("cross traffic",),
    )  # fmt: skip


SCENARIOS = (
    congested("mild", "8.2.2", "Mild", MILD, "0.1 %"),
    congested("medium", "8.2.3", "Medium", MEDIUM, "0.5 %"),
    congested("heavy", "8.2.4", "Heavy", HEAVY, "1 %"),
    Scenario(
        "varying-congestion", "8.2.5", "Varying congestion",
        f"Phases of 20 s with {MILD}, {MEDIUM} and {HEAVY} NewReno transfers, mild, medium and heavy congestion, "
        "follow one another. The queue over time shows how soon the discipline finds the new level, and whether it "
        "overshoots.",
        varying_level, (Number(LINKS, "delay_p99_ns"), Number(LINKS, "goodput_bps")),
        capacity=lambda time_s: RATE_BPS,
        drawn=(LINKS,),
    ),
    varying_capacity("varying-capacity", PHASE_S, "20 s", drawn=True),
    varying_capacity("varying-capacity-fast", 0.1, "100 ms", drawn=False),
)  # fmt: skip
