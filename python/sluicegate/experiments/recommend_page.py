"""The page of a recommendation: goals and ranking, how to deploy the best, and the comparison they follow from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..declarations import listed
from ..deploy import Deployment, Undeployable
from ..goals import Goal
from ..page import Page, Section, Table
from ..traffic.responsiveness import SCALE
from . import compare_page
from .eligible import NAMED
from .line import Line
from .ranking import Ranked

KEPT = {True: "✓", False: "✗", None: "?"}
"""Whether a goal is kept, as the page shows it."""


def page(
    done: compare_page.Comparison, ranking: Sequence[Ranked], goals: Sequence[Goal], among_equals: Sequence[str],
    assumed: bool, notes: Sequence[str], left_out: Mapping[str, str], system: str | None,
    chosen: Callable[[str], Mapping[str, str]], deployment: Callable[[str], Deployment], distinctions: Sequence[str],
    recommended: Sequence[str], gain: Sequence[str], load: Sequence[tuple[str, str]], line: Line | None,
    evidence: Sequence[str], files: Sequence[str],
) -> Page:  # fmt: skip
    """The page. `gain`: what the first of `recommended` changes; `load`: latency under load, today and with the best.
    `line`: the access line, if it is one; `evidence`: where packets wait in its shapers. `files`: how to have the
    commands as files of a router."""
    found = compare_page.page(done)
    best = [each.label for each in ranking if each.rank == 1]
    kept = next(each.kept for each in ranking if each.rank == 1)
    held = sum(answer is True for answer in kept)
    names = f"{', '.join(best[:-1])} and {best[-1]} are tied" if len(best) > 1 else f"{best[0]} is best"
    lead = [f"{names}: {held} of {len(kept)} goals kept.", *gain, *distinctions]
    stated = "Goals, assumed because you state none" if assumed else "Goals"
    first = Section(
        "ranking", "Ranking", f"{KEPT[True]} the goal is kept; {KEPT[False]} it is not; {KEPT[None]} the 95 % interval "
        f"contains the bound. Ties are broken in this order: {', '.join(among_equals)}. Disciplines that are equal "
        "in all of these share a rank. Behind by: why a discipline ranks below the one before. Remembers: what a "
        "discipline keeps about flows.",
        tables=[(stated, Table(("", "goal"), tuple((str(n), goal.text) for n, goal in enumerate(goals, 1)))),
                ("Disciplines", table(done, ranking, goals))],
    )  # fmt: skip
    deploy = _deploy(recommended, system, chosen, deployment)
    deploy = replace(deploy, words=[*files, *deploy.words])
    parts = [first, deploy] if line is None else [*_load(load), deploy, *_shapers(line, evidence), first]
    if left_out:
        rows = tuple(left_out.items())
        parts.append(Section("not-run", "Not run", tables=[("", Table(("discipline", "why"), rows))]))
    return replace(
        found, title=found.title.replace("Comparison", "Recommendation"), lead=[*lead, *found.lead],
        subtitle=f"{len(ranking)} disciplines; {found.subtitle.rpartition('; ')[2]}", notes=[*notes, *found.notes],
        sections=[*parts, *found.sections],
    )  # fmt: skip


def _load(load: Sequence[tuple[str, str]]) -> list[Section]:
    """Latency under load of an access line before and after."""
    tables = [("", Table(("", ""), tuple(load)))]
    return [Section("load", "Latency under load", SCALE, tables=tables)] if load else []


def _shapers(line: Line, evidence: Sequence[str]) -> list[Section]:
    """What rates of shapers were tried, and what they do on a slower line."""
    words = [each.strip() for each in line.text(evidence)]
    return [Section("shapers", "Rates of the shapers", words=words)] if words else []


def table(done: compare_page.Comparison, ranking: Sequence[Ranked], goals: Sequence[Goal]) -> Table:
    """A row for each discipline, the best first, with what it came to in each goal."""
    rows = tuple(
        (str(each.rank), each.label, each.behind.replace("goals kept", "fewer goals kept"), each.memory or "unknown", *(
            f"{goal.value(done.mean(each.label, goal.column))}{'' if goal.bound is None else f' {KEPT[kept]}'}"
            for goal, kept in zip(goals, each.kept, strict=True)
        ))
        for each in ranking
    )  # fmt: skip
    heads = (f"{number}: {goal.text}" for number, goal in enumerate(goals, 1))
    return Table(("rank", "discipline", "behind by", "remembers", *heads), rows, len(goals))


def _deploy(
    recommended: Sequence[str], system: str | None, chosen: Callable[[str], Mapping[str, str]],
    deployment: Callable[[str], Deployment],
) -> Section:  # fmt: skip
    """How to deploy the best, or why no command does."""
    words, texts = [], []
    named = NAMED[system or "linux"]
    for label in recommended:
        if values := chosen(label):
            words.append(f"{label}, chosen for the link: {listed(values)}.")
        try:
            texts.append((f"{label}, on {named}, as root", deployment(label).text().rstrip("\n")))
        except Undeployable as error:
            words.append(f"{label} cannot be deployed on {named} by a command: {error}.")
    return Section("deploy", "How to deploy", words=words, texts=texts, folded=True)
