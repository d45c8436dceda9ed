"""Figs. 10, 12 and 14: the share of bytes that responses up to a size bring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...reproduce import Check, Runs, claim, figure, number, reference, within
from .charts import SIZES, Distributions
from .network import BEST_AT
from .response_times import Distribution, by_seed, share
from .schemes import DCN, DROP_TAIL, OTHER_AQM, Scheme

BEYOND = (60_000, 80_000, 100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000)
"""Response sizes above 50,000 bytes. Beyond 1 MB all curves run together towards 1."""

sizes = Distributions(Distribution.of_sizes, SIZES, "sizes", "share of all bytes")


@figure(10, "Bytes by response size, 90 % load", source="Sec. 5.1, Fig. 10", chart=sizes, runs=BEST_AT[90])
def fig10(runs: Runs) -> Iterator[Check]:
    """Share of the bytes of all completed responses that are in responses of at most this size."""
    yield from above_the_others(runs)
    for size, name, paper in ((10_000, "10,000 bytes", 20), (1_000_000, "1 MB", 75)):
        bound = within(paper - 5, paper + 5, f"{paper}, give or take 5 because the text says “approximately”")
        yield reference(f"approximately {paper} % of the bytes are in responses of {name} or less",
                        share(runs.at(scheme=DROP_TAIL), Distribution.of_sizes, size), bound)  # fmt: skip


@figure(12, "Bytes by response size, 98 % load", source="Sec. 5.1, Fig. 12", chart=sizes, runs=BEST_AT[98])
def fig12(runs: Runs) -> Iterator[Check]:
    """As Figure 10."""
    yield from above_the_others(runs)


@figure(14, "Bytes by response size, 105 % load", source="Sec. 5.1, Fig. 14", chart=sizes, runs=BEST_AT[105])
def fig14(runs: Runs) -> Iterator[Check]:
    """As Figure 10."""
    yield from above_the_others(runs)


def above_the_others(runs: Runs) -> Iterator[Check]:
    """DCN's curve above the others': more of the bytes come from shorter responses."""

    def curve(scheme: Scheme) -> Any:
        parts = by_seed(runs.at(scheme=scheme), Distribution.of_sizes)
        return np.array([each.at_most(BEYOND) for each in parts]).mean(axis=0)

    least = min(float((curve(DCN) - curve(other)).min()) for other in (DROP_TAIL, *OTHER_AQM))
    lead = number(100 * least, "% points", "DCN's lead on the next where it is least, from 60,000 bytes to 1 MB")
    yield claim("the curve for DCN is always above the others from about 50,000 bytes on", lead,
                within(0, None, "above 0"), id="above-the-others")  # fmt: skip
