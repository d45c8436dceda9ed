"""Figs. 15 to 18: response times of small and of large responses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...reproduce import Check, Quantity, Runs, above, below, claim, figure, reference, within
from .charts import LOG_TIMES, Distributions
from .network import BEST_AT, under
from .response_times import large, percentiles, small
from .schemes import DCN, DROP_TAIL, OTHER_AQM

of_small, of_large = Distributions(small), Distributions(large, LOG_TIMES, "times")


@figure(15, "Small responses, 90 % load", source="Sec. 5.1, Fig. 15", chart=of_small, runs=BEST_AT[90])
def fig15(runs: Runs) -> Iterator[Check]:
    """Responses of 100,000 bytes or less. Bands: 95 % intervals over seeds."""
    yield from small_are_favoured(runs)


@figure(16, "Large responses, 90 % load", source="Sec. 5.1, Fig. 16", chart=of_large, runs=BEST_AT[90])
def fig16(runs: Runs) -> Iterator[Check]:
    """Responses above 100,000 bytes, less than 1 % of all. Bands: 95 % intervals over seeds."""
    yield from some_large_gain(runs, 75)


@figure(17, "Small responses, 98 % load", source="Sec. 5.1, Fig. 17", chart=of_small, runs=BEST_AT[98])
def fig17(runs: Runs) -> Iterator[Check]:
    """As Figure 15."""
    yield from small_are_favoured(runs)


@figure(18, "Large responses, 98 % load", source="Sec. 5.1, Fig. 18", chart=of_large, runs=BEST_AT[98],
        heavy=under([105], [DROP_TAIL, DCN]))  # fmt: skip
def fig18(runs: Runs, heavy: Runs) -> Iterator[Check]:
    """As Figure 16."""
    yield from some_large_gain(runs, 40)
    dcn, tail = (heavy.at(scheme=each)["large_bytes"] for each in (DCN, DROP_TAIL))
    kept = (dcn / tail).as_(f"{dcn.label} that are done at 105 %, over those under Drop Tail")
    yield claim("no starvation: long flows are not unduly penalised", kept, above(0.5), source="Sec. 6", id="starved")


def small_are_favoured(runs: Runs) -> Iterator[Check]:
    """DCN before the best of the other designs, seed by seed."""
    dcn, *others = (runs.at(scheme=each)["small_capped"] for each in (DCN, *OTHER_AQM))
    best = Quantity(tuple(map(min, zip(*(each.values for each in others), strict=True))))
    yield claim("DCN clearly favours small flows and outperforms the other AQM schemes",
                (dcn - best).as_(f"{dcn.label}: less that of the best other"), below(0), id="small")  # fmt: skip


def some_large_gain(runs: Runs, paper: int) -> Iterator[Check]:
    """How many large responses are done sooner under DCN, and how long those take that are not."""
    dcn, *others = (percentiles(runs.at(scheme=scheme), large) for scheme in (DCN, *OTHER_AQM))
    sooner = 100 * np.mean(np.all([dcn <= other for other in others], axis=0), axis=1)
    gain = Quantity(tuple(sooner.tolist()), "%", "percentiles at which DCN is sooner than every other design")
    about = within(paper - 10, paper + 10, f"{paper} as the text says “about”, give or take 10")
    yield reference(f"DCN does better than the other AQM schemes for about {paper} % of them", gain, about, id="better")
    # Where DCN slows none of them, the slowest percentile stands for those that it may slow.
    slowed, soonest = np.all([dcn > other for other in others], axis=0), np.min(others, axis=0)
    times = [float(row[where].min() if where.any() else row[-1]) for row, where in zip(soonest, slowed, strict=True)]
    least = Quantity(tuple(times), "s", "least time under the others, at percentiles where DCN is slower than all")
    yield claim("large flows that DCN affects adversely already take at least 10 s under the others", least,
                within(10, None, "as the text says"), id="adversely", source="Sec. 5.1, Figs. 16, 18")  # fmt: skip
