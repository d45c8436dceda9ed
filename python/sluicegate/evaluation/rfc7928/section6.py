"""RFC 7928, Sec. 6: round-trip time fairness."""

from __future__ import annotations

from ..suite import LINKS, Number, Scenario
from .traffic import transfers

TRIPS = (5, 20, 50, 100, 200, 560)
"""Base round trips of category II in ms, from the RFC's least to its greatest, that of a satellite link."""

SCENARIOS = (
    Scenario(
        "round-trips", "6.2", "Two round trips",
        "A NewReno transfer with a base round trip of 100 ms (category I) shares the link with another one of 5 to "
        "560 ms (category II). Jain's index of both, averaged over the six round trips, is 1 where they always get the "
        "same.",
        lambda settings: {"category I": transfers(), "category II": transfers()},
        (Number(LINKS, "jain"), Number(LINKS, "utilisation")),
        points={f"{trip} ms": (("flows.1.rtt", f"{trip} ms"),) for trip in TRIPS},
        also=("over_first",),
    ),
)  # fmt: skip
