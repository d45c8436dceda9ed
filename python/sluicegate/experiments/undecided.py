"""Whether the runs tell which disciplines are the best, or more seeds are needed.

With few seeds a bound may lie within an interval, or an interval may not tell whether a difference exceeds the
tolerance: with other seeds, other disciplines may be the best. As soon as this holds for one of the disciplines that
may be the best, all of these get the full number of seeds in one step. So results are tested twice at most, and a
discipline in which a rare failure did not happen in its few runs is tested the second time, too. Tests after every few
seeds, with 95 % intervals each time and only of some disciplines, would make wrong decisions more frequent than the 5 %
that an interval stands for. Disciplines that certainly miss more goals, or are certainly worse in a goal that decides,
get no more seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..goals import Goal
from .compare import Comparison
from .engine import LARGEST_SEED

MOST = 4
"""How many times as many seeds as asked for are run at most: they halve intervals, and with three seeds, of which
Student's t is wide, make them a fifth."""


def undecided(comparison: Comparison, by: Sequence[Goal], among_equals: Sequence[Goal]) -> list[str]:
    """The disciplines that may be among the best, if more seeds may tell which of them are; none where that is told, or
    where there are no intervals. The goals as for `ranking`."""
    kept = {label: [goal.kept(comparison.mean(label, goal.column)) for goal in by] for label in comparison.disciplines}
    fewest = min(answers.count(False) for answers in kept.values())
    # Whoever leads with goals that are open may come to miss as many as others that certainly do.
    most = min(len(answers) - answers.count(True) for answers in kept.values())
    left = [label for label, answers in kept.items() if answers.count(False) <= most]
    if len(left) < 2:
        return []
    if any(None in kept[label] for label in left):
        return left
    bounds = fewest == 0 and any(goal.bound is not None for goal in by)
    for goal in [goal for goal in by if goal.bound is None] if bounds else [*by, *among_equals]:
        sign = 1 if goal.sense == "below" else -1
        means = {label: comparison.mean(label, goal.column)["mean"] for label in left}
        known = {label: sign * mean for label, mean in means.items() if mean is not None}
        if not known:
            continue
        first = min(known, key=known.__getitem__)
        tolerance = goal.within(known[first])
        behind = {
            label: (found.low, found.high) if sign > 0 else (-found.high, -found.low)
            for label in known
            if label != first and (found := comparison.paired(label, first, goal.column)) and found.count > 1
        }
        left = [label for label in left if label not in behind or behind[label][0] < tolerance]
        if any(tolerance < behind[label][1] for label in left if label in behind):
            return left
    return []


def further(seeds: Sequence[int]) -> list[int]:
    """The seeds that follow these, to make them `MOST` times as many; fewer where there are no larger ones."""
    first = max(seeds) + 1
    return list(range(first, min(first + (MOST - 1) * len(seeds), LARGEST_SEED + 1)))


def joined(compared: Comparison, more: Comparison) -> Comparison:
    """A comparison with runs of some of its disciplines for other seeds. Its summary says of which: `further_seeds`."""
    import polars as pl

    places = {label: at for at, label in enumerate(compared.disciplines)}
    order = pl.col("discipline").replace_strict(places, return_dtype=pl.Int64)
    groups = {name: at for at, name in enumerate(compared.groups)}
    runs = pl.concat([compared.runs, more.runs]).sort(order, "seed", maintain_order=True)
    delays = (
        pl.concat([compared.delays, more.delays])
        .group_by("discipline", "name", "delay_max_ns")
        .sum()
        .sort(order, pl.col("name").replace_strict(groups, return_dtype=pl.Int64), "delay_max_ns")
    )
    seeds = dict.fromkeys(more.disciplines, more.summary["seeds"])
    return Comparison(
        runs, compared.names, compared.baseline, compared.groups, compared.links,
        compared.summary | {"further_seeds": seeds}, delays, compared.queue,
    )  # fmt: skip
