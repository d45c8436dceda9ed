"""RFC 7928, Sec. 3: its generic setup, with asymmetric links (3.1) and other congestion controls (3.3)."""

from __future__ import annotations

from typing import Any

from ..._generated import Dumbbell, Reverse, Source
from ...papers.disciplines.workloads import Workload
from ...reproduce import Settings
from ..suite import LINK, LINKS, Number, Scenario
from .section8 import MILD
from .traffic import datagrams, transfers

UP = Workload("", "2 Mbit/s", queue=4, limit=LINK.limit, rtt="125 ms", flows=4)
"""The slow way: four packets take as long there as twenty on the fast one. The buffer is the same (Sec. 3.2)."""

DOWN, BACK = "queue", "network.reverse.queue"
"""Where the queues of the two directions stand."""

PLAIN = "".join(f'[{way}]\ndiscipline = "drop_tail"\nlimit = {LINK.limit}\n' for way in (DOWN, BACK))
"""Drop Tail both ways, where nothing else is said."""


def asymmetric(settings: Settings) -> dict[str, Source]:
    """Sec. 3.1: traffic both ways over a fast and a slow way, mild congestion on each."""
    up: dict[str, Any] = {"direction": "reverse"}
    asks: dict[str, Any] = {"size": 1, "start": f"{settings.warmup_s} s", "spread": f"{0.9 * settings.measured_s} s"}
    return {
        "down": transfers(MILD), "up": transfers(UP.flows, **up), "one packet down": transfers(50, **asks),
        "DNS down": datagrams("32 kbit/s", "200 B"), "DNS up": datagrams("12800 bit/s", "80 B", **up),
    }  # fmt: skip


SCENARIOS = (
    Scenario(
        "asymmetric", "3.1", "Asymmetric links",
        f"{MILD} NewReno transfers over 10 Mbit/s one way and {UP.flows} over 2 Mbit/s the other way; the discipline "
        f"manages one direction, with Drop Tail in the other, or both, and acknowledgements, SYNs and small datagrams "
        f"cross its queue, too. The rows show how many of them are lost, and what this costs their transfers.",
        asymmetric,
        (
            Number("down", "goodput_bps"), Number("up", "delay_p99_ns"), Number("one packet down", "completion_p95_ns"),
            Number("ACKs, link reverse", "loss_ratio"),
        ),
        network=Dumbbell(rate="10 Mbit/s", delay="1 ms", access_rate="100 Mbit/s", reverse=Reverse(rate=UP.rate)),
        queue=PLAIN,
        points=dict.fromkeys(("down only", "up only", "both"), ()),
        axis="Where",
        apart=True,
        at={"down only": {DOWN: LINK}, "up only": {BACK: UP}, "both": {DOWN: LINK, BACK: UP}},
        packets=True,
        drawn=("down", "up"),
    ),
    Scenario(
        "scalable", "3.3", "Scalable sender",
        "A Prague transfer, whose packets are marked for L4S, shares the link with a CUBIC transfer with ECN, under "
        "the disciplines, which mark if they can. Prague's goodput over CUBIC's is 1 if the discipline couples "
        "both.",
        lambda settings: {
            "CUBIC": transfers(algorithm="cubic", ecn=True),
            "Prague": transfers(algorithm="prague", ecn=True),
        },
        (Number("Prague", "over_first"), Number("Prague", "delay_p99_ns"), Number(LINKS, "goodput_bps")),
        marks=True,
    ),
)  # fmt: skip
