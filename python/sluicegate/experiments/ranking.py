"""The order of disciplines by goals: levels, each of disciplines as good as the best of the remaining ones.

Disciplines that miss the fewest goals come first, and among these, those with the fewest goals that the intervals leave
undecided. Among equals the goals decide one after another. Among those that keep all goals only goals of `least` and
`most` still decide: a bound that was asked for is kept, so these disciplines are tied in it. One discipline is better
than another in a goal when the paired interval tells them apart and the means differ by more than the tolerance. "As
good as" is not transitive (10 and 10.4 ms, 10.4 and 10.8 ms), so a goal divides disciplines into levels: first
those that no other beats, then the same among the rest, with the tolerance of their own best value. Within a level the
next goal decides.

A discipline that is better than another with certainty (every paired interval says so) never ranks behind it. Such
intervals are transitive: a third discipline that beats the better one, and so puts it into a later level, beats the
other too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..declarations import declarations
from ..goals import Goal
from .compare import Comparison

MEMORY = ("none", "fixed table", "flows queued", "flows seen recently")
"""What a discipline remembers of flows, the least first."""

LESS_STATE = "less state about flows"
"""What decides last."""


@dataclass(frozen=True)
class Ranked:
    """A discipline in the ranking. `rank`: from 1; those of one rank are tied. `kept`: of the goals, in their order:
    True, False, or None where the interval does not tell. `memory`: what it remembers of flows, of `MEMORY`; None for
    one of your own, which does not say. `behind`: what puts it behind those of the rank before: "goals kept", "goal 2",
    "web delay", "state"; nothing for the first."""

    rank: int
    label: str
    kept: tuple[bool | None, ...]
    memory: str | None
    behind: str = ""


def ranking(comparison: Comparison, by: Sequence[Goal], among_equals: Sequence[Goal] = ()) -> list[Ranked]:
    """The disciplines by goals kept, then by the goals in order, then by those that decide `among_equals`, then by how
    little they remember of flows."""
    declared = {each["name"]: each["memory"] for each in declarations()["disciplines"]}
    memory = {label: declared.get(name) for label, name in comparison.names.items()}
    kept = {
        label: tuple(goal.kept(comparison.mean(label, goal.column)) for goal in by)
        for label in sorted(comparison.disciplines)
    }
    ranked: list[Ranked] = []

    def missed(label: str) -> tuple[int, ...]:
        return kept[label].count(False), kept[label].count(None)

    def state(label: str) -> tuple[int, ...]:
        return ([*MEMORY, None].index(memory[label]),)

    named = [(f"goal {number}", goal) for number, goal in enumerate(by, 1)]
    named += [(goal.text.rpartition(" least ")[0], goal) for goal in among_equals]
    for labels in _classes(list(kept), missed):
        behind = "goals kept" if ranked else ""
        enough = missed(labels[0]) == (0, 0) and any(goal.bound is not None for goal in by)
        deciding = [(name, goal) for name, goal in named if goal in by and goal.bound is None] if enough else named
        for split, level in _levels(comparison, labels, deciding):
            if enough:  # tied; listed in the order that all goals would give
                order = {
                    label: at for at, (_, equal) in enumerate(_levels(comparison, level, named)) for label in equal
                }
                groups = [sorted(level, key=lambda label: (order[label], state(label), label))]
            else:
                groups = _classes(level, state)
            for at, tied in enumerate(groups):
                why, rank = "state" if at else split or behind, len(ranked) + 1
                ranked += [Ranked(rank, label, kept[label], memory[label], why) for label in tied]
    return ranked


def distinctions(comparison: Comparison, tied: Sequence[Ranked], goals: Sequence[Goal]) -> list[str]:
    """What distinguishes disciplines of one rank: of each quantity that `goals` are about in which they are told apart
    the best, with the range of the means, then what they remember of flows."""
    labels = [each.label for each in tied]
    lines = []
    for goal in goals:
        least = goal.sense == "below"
        best = comparison.best(goal.column, goal.metric, labels, "least" if least else "most", goal.within)
        means = {label: comparison.mean(label, goal.column) for label in labels}
        known = sorted((row["mean"], label) for label, row in means.items() if row["mean"] is not None)
        if 0 < len(best) < len(known):
            low, high = (goal.value(means[label] | {"half_width": None}) for _, label in (known[0], known[-1]))
            what = f"{goal.group or ''} {goal.metric.word.replace('_', ' ')}".strip()
            lines.append(f"{what}: {low} to {high}, {'least' if least else 'most'} with {', '.join(best)}")
    remembered: dict[str, list[str]] = {}
    for each in sorted(tied, key=lambda each: [*MEMORY, None].index(each.memory)):
        remembered.setdefault(each.memory or "not declared", []).append(each.label)
    if len(remembered) > 1:
        said = "; ".join(f"{', '.join(names)}: {much}" for much, names in remembered.items())
        lines.append(f"state about flows: {said}")
    return lines


def _classes(labels: Sequence[str], key: Callable[[str], tuple[int, ...]]) -> list[list[str]]:
    """Those of equal keys together, the least first."""
    return [[label for label in labels if key(label) == value] for value in sorted({key(label) for label in labels})]


def _levels(
    comparison: Comparison, labels: list[str], by: Sequence[tuple[str, Goal]]
) -> list[tuple[str, list[str]]]:  # fmt: skip
    """These disciplines in order of the goals, each with a name: those than which none of them is better in the first
    goal, in order of the others; then the rest. Before each level the name of the goal that puts it behind the one
    before."""
    if not by or len(labels) < 2:
        return [("", labels)] if labels else []
    (name, goal), *others = by
    best = comparison.best(
        goal.column, goal.metric, labels, "least" if goal.sense == "below" else "most", goal.within
    ) or labels  # where none has a value  # fmt: skip
    rest = _levels(comparison, [label for label in labels if label not in best], by)
    return [*_levels(comparison, best, others), *((split or name, level) for split, level in rest)]
