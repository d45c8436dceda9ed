"""Budgets: bounds for numbers of an evaluation, from a TOML file, for somebody's continuous integration.

    [[budget]]
    scenario = "random-loss"
    point = "1 %"                  # without: at each point
    controller = "mine"            # without: all but the references; for a suite of disciplines the key is `discipline`
    of = "under test"              # a group of flows, a phase, or a link
    metric = "goodput_bps"         # a column of the table `runs`
    at_least = "5 Mbit/s"          # or at_most; in the unit in which the report shows the metric

What is compared is the mean over seeds. Runs of one build are equal to the last bit, so that a budget fails because of
a change, not by chance.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import polars as pl

from .. import _core
from ..experiments.job import check
from ..quantities import NUMBER, did_you_mean, significant
from ..reproduce import Settings
from ..stats import interval
from ..traffic.paths import places
from .metrics import METRICS
from .single import KINDS
from .suite import LINKS, Scenario, Subject, Suite

if TYPE_CHECKING:
    from .outcome import Outcome

SCALES = {"Mbit/s": {"kbit/s": 1e-3, "Gbit/s": 1e3}, "ms": {"us": 1e-3, "s": 1e3}, "s": {"ms": 1e-3}}
"""Other units that a bound may have, by the metric's own unit, with the factors that convert them to it."""

BOUNDS = {"at_least": "≥", "at_most": "≤"}


@dataclass(frozen=True)
class Budget:
    """A bound for one number: `of` a metric, in the metric's own unit. `point` and `label`: None for all of them."""

    scenario: str
    point: str | None
    label: str | None
    of: str
    metric: str
    sense: str
    bound: float

    @property
    def text(self) -> str:
        """The budget in words, without scenario, point and label."""
        metric = METRICS[self.metric]
        return f"{self.of}: {metric.label} {BOUNDS[self.sense]} {_shown(self.bound, metric.unit)}"


@dataclass(frozen=True)
class Result:
    """What came of a budget at a point, for a label: `value` in the metric's unit, None without one."""

    budget: Budget
    point: str
    label: str
    value: float | None

    @property
    def kept(self) -> bool:
        """Whether the value is within the bound: False if there is no value."""
        if self.value is None:
            return False
        return self.value >= self.budget.bound if self.budget.sense == "at_least" else self.value <= self.budget.bound

    @property
    def shown(self) -> str:
        """The value with its unit."""
        return "no value" if self.value is None else _shown(self.value, METRICS[self.budget.metric].unit)


def read(
    path: str | Path, suite: Suite, scenarios: Sequence[Scenario], given: Sequence[Subject], settings: Settings
) -> tuple[list[Budget], int]:
    """The budgets of a file, for these scenarios of a suite and what it is run on, and how many more are of its other
    scenarios.

    Raises OSError, and `ScenarioError` with file, budget and key for what is wrong, and when no budget is of what is
    run.
    """
    try:
        table = tomllib.loads(Path(path).read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _core.ScenarioError(f"{path}: {error}") from None
    entries = table.get("budget")
    if [*table] != ["budget"] or not isinstance(entries, list) or not entries:
        raise _core.ScenarioError(f"{path}: must have tables [[budget]], and nothing else")
    by_id = {each.id: each for each in (*suite.scenarios, *scenarios)}  # with a person's overrides, if there are any
    all_ = [_budget(f"{path}: budget {at}", each, suite, by_id, given, settings) for at, each in enumerate(entries, 1)]
    run = {each.id for each in scenarios}
    if not (found := [each for each in all_ if each.scenario in run]):
        raise _core.ScenarioError(f"{path}: no budget is for a scenario of this run: {', '.join(run)}")
    return found, len(all_) - len(found)


def _budget(
    place: str, entry: Any, suite: Suite, by_id: Mapping[str, Scenario], given: Sequence[Subject], settings: Settings
) -> Budget:
    allowed = ("scenario", "point", suite.subject, "of", "metric", *BOUNDS)
    if not isinstance(entry, dict):
        raise _core.ScenarioError(f"{place}: must be a table")
    for key, value in entry.items():
        if key not in allowed:
            raise _core.ScenarioError(f"{place}: {key}: no such key{did_you_mean(key, allowed)}")
        if not isinstance(value, str) and key not in BOUNDS:
            raise _core.ScenarioError(f"{place}: {key}: must be a text")
    for key in ("scenario", "of", "metric"):
        if key not in entry:
            raise _core.ScenarioError(f"{place}: {key}: is missing")
    scenario = by_id[_one_of(place, "scenario", entry["scenario"], by_id, f"no scenario of {suite.name}")]
    point = entry.get("point")
    if point is not None:
        _one_of(place, "point", point, scenario.points, f"no point of {scenario.id}")
    label = entry.get(suite.subject)
    if label is not None:
        _one_of(place, suite.subject, label, [each.label for each in given], "is not run")
    names = [*scenario.flows(settings), LINKS, *(scenario.phases.names if scenario.phases else ())]
    if entry["of"] not in names:
        links = _links(scenario, given, settings)
        controls = [f"{kind}, {link}" for kind in KINDS.values() for link in links] if scenario.packets else []
        _one_of(place, "of", entry["of"], [*names, *links[1:], *controls], f"nothing in {scenario.id}")
    metric = _one_of(place, "metric", entry["metric"], METRICS, "no metric")
    senses = [each for each in BOUNDS if each in entry]
    if len(senses) != 1:
        raise _core.ScenarioError(f"{place}: one of at_least and at_most must be given")
    bound = _bound(f"{place}: {senses[0]}", entry[senses[0]], METRICS[metric].unit)
    return Budget(scenario.id, point, label, entry["of"], metric, senses[0], bound)


def _links(scenario: Scenario, given: Sequence[Subject], settings: Settings) -> list[str]:
    """The links under study, as results name them."""
    names = dict.fromkeys(
        place.name for run in scenario.experiments(given, settings).values() for place in places(check(run).resolved)
    )
    return [LINKS if at == 0 else f"{LINKS} {name}" for at, name in enumerate(names)]


def _bound(place: str, value: Any, unit: str) -> float:
    """A bound in this unit."""
    units = {unit: 1.0} | SCALES.get(unit, {})
    found = re.fullmatch(rf"({NUMBER})\s*(\S*)", str(value).strip())
    if isinstance(value, bool) or found is None or found[2] not in units:
        example = f'in {" or ".join(units)}, such as "20 {unit}"' if unit else "such as 0.9"
        raise _core.ScenarioError(f"{place}: must be a number {example}")
    return float(found[1]) * units[found[2]]


def _one_of(place: str, key: str, value: str, known: Sequence[str] | Mapping[str, Any], why: str) -> str:
    if value not in known:
        raise _core.ScenarioError(f'{place}: {key} = "{value}": {why}{did_you_mean(value, known)}')
    return value


def results(budgets: Sequence[Budget], done: Outcome) -> Iterator[Result]:
    """What came of each budget, at each of its points, for each that it is of."""
    by_id = {each.id: each for each in done.scenarios}
    for each in budgets:
        scenario = by_id[each.scenario]
        rows = done.rows(scenario).filter(pl.col("of") == each.of)
        for point in scenario.points if each.point is None else (each.point,):
            labels = [label for label in done.labels if label not in done.references]
            for label in labels if each.label is None else (each.label,):
                own = rows.filter((pl.col("point") == point) & (pl.col("label") == label))
                values = own[each.metric].drop_nulls().to_list() if each.metric in own.columns else []
                mean = interval(values).mean * METRICS[each.metric].factor if values else None
                yield Result(each, point, label, mean)


def junit(found: Sequence[Result], suite: str) -> bytes:
    """The results in the form of JUnit, which continuous integration shows: a case for each, a failure if not kept."""
    root = ElementTree.Element(
        "testsuite", name=f"sluicegate evaluate --suite {suite}", tests=str(len(found)), errors="0", skipped="0",
        failures=str(sum(not each.kept for each in found)),
    )  # fmt: skip
    for each in found:
        place = " ".join(part for part in (each.budget.scenario, each.point) if part)
        name = f"{each.budget.text} ({place})"
        case = ElementTree.SubElement(root, "testcase", classname=f"{suite}.{each.label}", name=name)
        if not each.kept:
            ElementTree.SubElement(case, "failure", message=f"{each.shown}, not {each.budget.text}")
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _shown(value: float, unit: str) -> str:
    return f"{significant(value)}{unit and ' '}{unit}"
