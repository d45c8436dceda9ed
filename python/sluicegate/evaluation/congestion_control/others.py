"""RFC 5033, guidelines (1) and (4) to (7): standard TCP and other traffic beside it, collapse, fairness, attackers and
sudden events."""

from __future__ import annotations

from typing import Any

from ..._generated import Dumbbell, OnOff, Udp
from ...papers.disciplines.workloads import Workload
from ...reproduce import Settings
from ..phases import Phases
from ..suite import LINKS, Number
from .scenario import LINK, RTT, SECOND, TESTED, ControlScenario, buffers, flow, packets

RATE_BPS = 50e6
PHASE_S = 5.0


def against(id_: str, name: str, algorithm: str) -> ControlScenario:
    """One flow beside one of standard TCP, at several buffers."""
    return ControlScenario(
        id_, "1", f"Beside {name}",
        f"One flow shares the link with one {name} flow, with buffers of a quarter, one and four bandwidth-delay "
        f"products. Its goodput over {name}'s is 1 if they share equally.",
        lambda settings: {name: flow(algorithm=algorithm), TESTED: flow()},
        (Number(TESTED, "over_first"), Number(name, "goodput_bps")),
        points=buffers("50 Mbit/s", (0.25, 1, 4)), axis="Buffer",
    )  # fmt: skip


def late(settings: Settings) -> dict[str, Any]:
    """A flow that starts when the other has had the link for the warm-up."""
    return {"start": f"{settings.warmup_s} s", "spread": "100 ms"}


def alternating(
    id_: str, title: str, about: str, words: tuple[str, str], rates: tuple[float, float], key: str,
    values: tuple[str, str], background: bool = False,
) -> ControlScenario:  # fmt: skip
    """Phases of `PHASE_S` in which a key has one value and the other in turn."""
    phases = Phases(words, rates, PHASE_S)
    # At a rate that is nearly none a queue would take for ever: there, what packets waited says more.
    late = (phases.names[1], "delay_mean_ns") if rates[1] > 1e6 else (TESTED, "delay_p99_ns")

    def changes(settings: Settings) -> list[tuple[float, str, str | int]]:
        return [(time, key, values[number]) for time, number in [*phases.begins(settings)][1:]]

    cross = {"UDP": Udp(rate=values[0], packet_size="1500 B", rtt=RTT)} if background else {}
    return ControlScenario(
        id_, "7", title, about, lambda settings: {TESTED: flow()} | cross,
        (Number(TESTED, "goodput_bps"), Number(*late), Number(phases.names[0], "utilisation")),
        phases=phases, changes=changes, drawn=(TESTED,),
    )  # fmt: skip


SCENARIOS: tuple[ControlScenario, ...] = (
    against("against-reno", "Reno", "reno"),
    against("against-cubic", "CUBIC", "cubic"),
    ControlScenario(
        "short-flows", "1", "Beside short transfers",
        "Transfers of 50 packets over CUBIC start at random times beside one flow that has the link. How soon they are "
        "done shows what it leaves to others.",
        lambda settings: {
            TESTED: flow(),
            "short": flow(100, size=50, start=f"{settings.warmup_s} s", spread=f"{0.9 * settings.measured_s} s"),
        },
        (Number("short", "completion_mean_ns"), Number("short", "completion_p95_ns"), Number(TESTED, "goodput_bps")),
        drawn=(TESTED,),
    ),
    ControlScenario(
        "call", "1", "Beside a call",
        "A call of 80 kbit/s shares the link, and a Drop Tail buffer of four bandwidth-delay products, with one flow.",
        lambda settings: {TESTED: flow(), "call": Udp(rate="80 kbit/s", packet_size="200 B", rtt=RTT)},
        (Number("call", "delay_p99_ns"), Number("call", "loss_ratio"), Number(TESTED, "goodput_bps")),
        queue=f'[queue]\ndiscipline = "drop_tail"\nlimit = {4 * LINK.limit}\n', drawn=(TESTED,),
    ),
    ControlScenario(
        "l4s", "1", "Scalable and classic in a dual queue",
        "One flow with ECN shares a link under DualPI2 with one CUBIC flow without ECN. The coupling is meant to "
        "give a scalable control and CUBIC equal throughput, and the former a low delay.",
        lambda settings: {"CUBIC": flow(), TESTED: flow(ecn=True)},
        (Number(TESTED, "over_first"), Number(TESTED, "delay_p99_ns")),
        queue='[queue]\ndiscipline = "dualpi2"\n', also=("marked_ratio",),
    ),
    ControlScenario(
        "collapse", "4", "Far too many flows",
        "100 flows share a link of 2 Mbit/s and its buffer of four bandwidth-delay products, so that a flow's share "
        "is less than a packet in a round trip. If flows do not slow down to that, as timeouts make them do, much of "
        "what they send is lost.",
        lambda settings: {TESTED: flow(100)}, (Number(LINKS, "loss_ratio"), Number(LINKS, "goodput_bps")),
        network=Dumbbell(rate="2 Mbit/s", delay="1 ms"),
        link=Workload("", "2 Mbit/s", 2, packets("2 Mbit/s", products=4), RTT, 100),
        queue=f'[queue]\ndiscipline = "drop_tail"\nlimit = {packets("2 Mbit/s", products=4)}\n',
        also=("jain", "sent_twice_ratio"),
    ),
    ControlScenario(
        "convergence", "5", "A second flow",
        "A flow starts when another of the same control has had the link for the whole warm-up. Convergence is the "
        "time until the flow with less throughput has 40 % of the sum of both over a second.",
        lambda settings: {TESTED: flow(), SECOND: flow(**late(settings))},
        (Number(SECOND, "convergence_s"), Number(LINKS, "jain")),
        tested=(TESTED, SECOND), late=SECOND, also=("variation",),
    ),
    ControlScenario(
        "round-trip-fairness", "5", "Fairness between round trips",
        f"Two flows of the same control share the link, one with a base round trip of {RTT}, the other with 10 to "
        "320 ms.",
        lambda settings: {TESTED: flow(), SECOND: flow()}, (Number(SECOND, "over_first"),),
        tested=(TESTED, SECOND), drawing="ratio", axis="Round trip of the second",
        points={f"{trip} ms": (("flows.1.rtt", f"{trip} ms"),) for trip in (10, 40, 80, 160, 320)},
    ),
    ControlScenario(
        "pulses", "6", "An attacker's pulses",
        "A source sends at twice the link's rate for 50 ms, once a second on average, as low-rate attacks on timeouts "
        "do (a twentieth of the time, a tenth of the load).",
        lambda settings: {
            TESTED: flow(),
            "pulses": OnOff(rate="100 Mbit/s", on_mean="50 ms", off_mean="950 ms", packet_size="1500 B", rtt=RTT),
        },
        (Number(TESTED, "goodput_bps"), Number(TESTED, "delay_p95_ns")), drawn=(TESTED,),
    ),
    alternating(
        "capacity", "Changes of capacity",
        "The link has 50 and 10 Mbit/s in turn, 5 s each. After a fall the queue is to be drained, after a rise the "
        "link to be filled.",
        ("50 Mbit/s", "10 Mbit/s"), (50e6, 10e6), "network.rate", ("50 Mbit/s", "10 Mbit/s"),
    ),
    alternating(
        "outage", "Outages",
        "For 5 s in 10 the link has 100 kbit/s, less than a packet in a tenth of a second, as in a failed handover.",
        ("50 Mbit/s", "100 kbit/s"), (50e6, 1e5), "network.rate", ("50 Mbit/s", "100 kbit/s"),
    ),
    alternating(
        "sudden-congestion", "Sudden congestion",
        "A source that does not respond sends 1 and 40 Mbit/s in turn, 5 s each.",
        ("1 Mbit/s of others", "40 Mbit/s of others"), (RATE_BPS, RATE_BPS), "flows.1.rate", ("1 Mbit/s", "40 Mbit/s"),
        background=True,
    ),
)  # fmt: skip
