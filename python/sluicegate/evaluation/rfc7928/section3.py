"""RFC 7928, Sec. 3: its generic setup, with asymmetric links (3.1) and other congestion controls (3.3)."""

from __future__ import annotations

from typing import Any

from ..._generated import Link, Source
from ...papers.disciplines.workloads import Workload
from ...reproduce import Settings
from ...scenario import topology
from ..suite import LINK, LINKS, Number, Scenario
from .section8 import MILD
from .traffic import OWN_LINK, datagrams, transfers

UP = Workload("", "2 Mbit/s", queue=4, limit=LINK.limit, rtt="125 ms", flows=4)
"""The slow way: four packets take as long there as twenty on the fast one. The buffer is the same (Sec. 3.2)."""

ONE_WAY = {
    "down only": (("network.links.1.managed", "false"),),
    "up only": (("network.links.0.managed", "false"),),
    "both": (),
}


def asymmetric(settings: Settings) -> dict[str, Source]:
    """Sec. 3.1: traffic both ways over a fast and a slow way, mild congestion on each."""
    down: dict[str, Any] = {"path": ["down"], "return_path": ["up"], **OWN_LINK}
    up: dict[str, Any] = {"path": ["up"], "return_path": ["down"], **OWN_LINK}
    asks: dict[str, Any] = {"size": 1, "start": f"{settings.warmup_s} s", "spread": f"{0.9 * settings.measured_s} s"}
    return {
        "down": transfers(MILD, **down), "up": transfers(UP.flows, **up),
        "one packet down": transfers(50, **asks, **down),
        "DNS down": datagrams("32 kbit/s", "200 B", **down), "DNS up": datagrams("12800 bit/s", "80 B", **up),
    }  # fmt: skip


SCENARIOS = (
    Scenario(
        "asymmetric", "3.1", "Asymmetric links",
        f"{MILD} NewReno transfers over 10 Mbit/s one way and {UP.flows} over 2 Mbit/s the other way, with the "
        "discipline in one direction only, Drop Tail in the other, and in both. Acknowledgements, SYNs and small "
        "datagrams cross it, too: what is lost of them, and what it costs the transfers that they belong to.",
        asymmetric,
        (Number("down", "goodput_bps"), Number("up", "delay_p99_ns"), Number("one packet down", "completion_p95_ns")),
        network=topology(
            Link(name="down", from_="A", to="B", rate="10 Mbit/s", delay="1 ms", limit=LINK.limit),
            Link(name="up", from_="B", to="A", rate="2 Mbit/s", delay="1 ms", limit=LINK.limit),
        ),
        points=ONE_WAY,
        axis="Where",
        at={"down only": {"queue": LINK}, "up only": {"queue": UP}, "both": {"queue": LINK}},
        packets=True,
        drawn=("down", "up"),
    ),
    Scenario(
        "scalable", "3.3", "Scalable sender",
        "A Prague transfer, whose packets are marked for L4S, shares the link with a CUBIC transfer with ECN, under "
        "disciplines that mark as far as they can. What Prague gets over what CUBIC gets is 1 where the discipline "
        "couples both.",
        lambda settings: {
            "CUBIC": transfers(algorithm="cubic", ecn=True),
            "Prague": transfers(algorithm="prague", ecn=True),
        },
        (Number("Prague", "over_first"), Number("Prague", "delay_p99_ns"), Number(LINKS, "goodput_bps")),
        marks=True,
    ),
)  # fmt: skip
