"""RFC 7928, Sec. 6: round-trip time fairness."""

from __future__ import annotations

from ..suite import LINKS, Number, Scenario
from .traffic import transfers

CATEGORIES = ("category I", "category II")

TRIPS = {f"{trip} ms": (("flows.1.rtt", f"{trip} ms"),) for trip in (5, 20, 50, 100, 200, 560)}
"""Base round trips of category II, from the RFC's least to its greatest, that of a satellite link."""

SAME = {f"{trip} ms": tuple((f"flows.{at}.rtt", f"{trip} ms") for at in (0, 1)) for trip in (5, 20, 50, 100, 200)}
"""Base round trips of both (Sec. 6.1: "from 5 to 200 ms")."""

SCENARIOS = (
    Scenario(
        "one-round-trip", "6.1", "One round trip for all",
        "Two NewReno transfers with the same base round trip, 5 to 200 ms. A discipline should hold its delay at each "
        "of these round trips, and give both transfers the same goodput.",
        lambda settings: {name: transfers() for name in ("first", "second")},
        (Number(LINKS, "jain"), Number("first", "delay_p99_ns"), Number(LINKS, "goodput_bps")),
        points=SAME,
        axis="Round trip",
        also=("over_first",),
        drawing="ratio",
    ),
    Scenario(
        "round-trips", "6.2", "Two round trips",
        "A NewReno transfer with a base round trip of 100 ms (category I) shares the link with another one of 5 to "
        "560 ms (category II). Jain's index of both, averaged over the six round trips, is 1 where they always get the "
        "same.",
        lambda settings: {name: transfers() for name in CATEGORIES},
        (Number(LINKS, "jain"), Number(LINKS, "goodput_bps")),
        points=TRIPS,
        axis=CATEGORIES[1],
        also=("over_first",),
        drawing="ratio",
    ),
)  # fmt: skip
