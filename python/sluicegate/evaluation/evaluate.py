"""`evaluate`: a suite run on disciplines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from .. import _core
from ..experiments.controllers import Controller, Controllers, controllers
from ..experiments.controllers import titles as algorithms
from ..experiments.disciplines import Listed, choices
from ..experiments.engine import Progress, Store, check_workers, cores, run_experiments, seed_numbers, told_runs
from ..experiments.job import check
from ..io import check_writable
from ..papers.disciplines.workloads import NAMES
from ..progress import shown
from ..quantities import checked, in_base_unit
from ..reproduce import Settings, UnknownName
from ..reproduce.page import files
from ..scenario import PYTHON, Sets, override_texts, warn_unused
from .metrics import METRICS
from .report import write
from .result import SUITES, Evaluation
from .single import KINDS
from .suite import DEFAULT, LINKS, Scenario, Subject, Suite, declared, pace

__all__ = ["SUITES", "Evaluation", "estimate", "evaluate", "planned", "read"]


def evaluate(
    disciplines: Listed | Controllers = (),
    *,
    suite: str = DEFAULT,
    out: str | Path | None = None,
    quick: bool = False,
    alone: bool = False,
    seeds: int | Iterable[int] | None = None,
    only: Sequence[str] = (),
    duration: str | None = None,
    warmup: str | None = None,
    sets: Sets | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    progress: Progress | bool | None = None,
    settings: Settings | None = None,
    begin: Callable[[], None] | None = None,
) -> Evaluation:
    """Run a suite on disciplines, or on congestion controls.

    `suite`: "rfc7928", for disciplines, or "congestion-control". `disciplines`: a text, objects, classes or factories
    of your own, as for `compare`; or "all" bundled ones that hold no classes of traffic. For the other suite:
    congestion controls, "bbr3,cubic:initial_window=20,mine.rs:MyControl", functions that make ends of flows, as for
    `Endpoints`, or "all" of Linux's hosts. `alone`: leave out the references, `drop_tail` and `fq_codel`, or `reno` and
    `cubic`. `quick`: fewer seeds and shorter runs. `seeds`: how many, counted from 1, or the seeds. `only`: scenarios
    by id, section or the beginning of one, such as "8"; the report is then report-<these>.html. The following arguments
    change the suite's scenarios; summary and report then say that these are not the suite's own results. `duration` is
    that of each run, of which `warmup` is not measured (default: the same share as in the suite). `sets` are overrides
    as for `simulate`: of flows ("flows.*.profile" for all that have the key, "flows.0.window" by number in each
    scenario), of the queue (at each queue under test; values given with a discipline take precedence), and of
    run.duration, run.warmup and run.sample. Networks cannot change, because buffers and targets follow from them.
    `settings`: use these, whatever `quick` says. `begin` is called after all checks, before anything runs. `jobs`,
    `executor`, `cluster` and `progress` as for `compare`; in a script with your own class, put the call below
    `if __name__ == "__main__":`, as there. `out`: a folder that keeps each run as soon as it ends, and finally gets
    report.html, figures, tables and summary.json. Kept runs are not repeated.

    Raises `ScenarioError`, which is a ValueError, for a missing or unknown discipline, or one that holds classes of
    traffic, for a wrong override, and for less than one seed or job; `UnknownName` for a suite or scenario; TypeError
    for an object that is not a discipline; OSError when `out` cannot be written; and any exception of a discipline in
    Python. KeyboardInterrupt ends the work; `out` keeps completed runs.

    >>> done = sg.evaluate("choke", only=["8.2.2"], quick=True, seeds=1, duration="2 s")
    >>> done.labels
    ['choke', 'drop_tail', 'fq_codel']
    """
    only = [only] if isinstance(only, str) else only
    chosen, scenarios, settings, given, beside = planned(
        disciplines,
        suite,
        quick,
        alone,
        seeds,
        only,
        settings,
        duration=duration,
        warmup=warmup,
        sets=sets,
    )
    check_workers(jobs, executor, cluster)
    if out is not None:
        check_writable(out, (*files(only)[:3], files(only)[3].replace("checks", "summary")))
    summary = _summary(chosen, scenarios, settings, given, beside)
    wanted = {key: each for scenario in scenarios for key, each in scenario.experiments(given, settings).items()}
    with Store(None if out is None else Path(out)) as store:
        if begin:
            begin()
        with shown(progress, told_runs) as told:
            tables = run_experiments(
                list(wanted.values()), settings.seeds, jobs, executor, told, store=store, cluster=cluster
            )
        keys = pl.DataFrame(
            [(each.id, *key) for key, each in wanted.items()], ["experiment", *chosen.keys[:3]], orient="row"
        )
        named = {
            name: _named(table.join(keys, on="experiment", maintain_order="left"), chosen, scenarios)
            for name, table in tables.items()
        }
        there = [name for name in METRICS if name in named["metrics"].columns]
        runs = named.pop("metrics").select(*chosen.keys, "seed", *there)
        done = Evaluation(chosen, settings, scenarios, runs, summary, named)
        if out is not None:
            done.page = write(done, Path(out), only)
    return done


def read(folder: str | Path) -> Evaluation:
    """The evaluation whose report is in a folder. Raises OSError, and ValueError when it holds something else."""
    return Evaluation.read(folder)


def planned(
    disciplines: Listed | Controllers, suite: str = DEFAULT, quick: bool = False, alone: bool = False,
    seeds: int | Iterable[int] | None = None, only: Sequence[str] = (), settings: Settings | None = None, *,
    duration: str | None = None, warmup: str | None = None, sets: Sets | None = None,
) -> tuple[Suite, list[Scenario], Settings, list[Subject], list[str]]:  # fmt: skip
    """What `evaluate` runs with these arguments: suite, scenarios, settings, disciplines, and which of these are
    references. Raises the same."""
    if suite == "envelope":
        raise _core.ScenarioError('suite = "envelope": has a function of its own, sluicegate.envelope')
    if suite not in SUITES:
        raise UnknownName("suite", suite, [*SUITES, "envelope"])
    chosen = SUITES[suite]
    settings = settings or (chosen.quick if quick else chosen.settings)
    if seeds is not None:
        settings = replace(settings, seeds=tuple(seed_numbers(seeds)))
    changes = override_texts(sets)
    settings = _lasting(settings, changes, duration, warmup)
    changes = [(key, value) for key, value in changes if key not in LENGTHS]
    scenarios = [each for each in chosen.scenarios if not only or any(meant(each, name) for name in only)]
    for name in only:
        if not any(meant(each, name) for each in chosen.scenarios):
            raise UnknownName(f"scenario of {suite}", name, [each.id for each in chosen.scenarios])
    given = _subjects(chosen, disciplines)
    scenarios = [each.with_changes(tuple(changes)) for each in scenarios] if changes else scenarios
    beside = [] if alone else [name for name in chosen.references if name not in {each.label for each in given}]
    given = [*given, *(_subjects(chosen, beside) if beside else ())]
    for each in given:
        if all(scenario.under(each) is None for scenario in scenarios):
            names = ", ".join(scenario.id for scenario in scenarios)
            raise _core.ScenarioError(f'{chosen.subject} "{each.label}": cannot run in {names}; choose other scenarios')
    if changes:
        _check_changes(scenarios, settings, given, [key for key, _ in changes])
    return chosen, scenarios, settings, given, beside


def _subjects(suite: Suite, listed: Any) -> list[Subject]:
    """What a suite is run on. Raises `ScenarioError` for none, for one that is not known, and for what no scenario of
    the suite has a place for."""
    if isinstance(listed, str) and listed != "all" and "all" in (parts := [part.strip() for part in listed.split(",")]):
        others = ", ".join(part for part in parts if part != "all")
        raise _core.ScenarioError(f"{suite.subject}s: all includes every one: leave {others} out")
    if suite.subject == "controller":
        return [*controllers(listed)]
    if not listed:
        raise _core.ScenarioError('disciplines: name at least one, such as choke or my.py:MyAqm, or "all"')
    given = choices(",".join(NAMES) if listed == "all" else listed)
    for each in given:
        if declared(each.name) is None and each.name in algorithms():
            why = "is a congestion control: it runs with --suite congestion-control (suite=)"
            raise _core.ScenarioError(f'discipline "{each.label}": {why}')
        if (declared(each.name) or {"container": False})["container"]:
            raise _core.ScenarioError(f'discipline "{each.label}": holds classes of traffic, which no scenario has')
    return [*given]


LENGTHS = {"run.duration": "duration_s", "run.warmup": "warmup_s", "run.sample": "sample_s"}
"""Keys of a scenario that are `Settings` of a suite."""


def _lasting(settings: Settings, sets: Sequence[tuple[str, str]], duration: str | None, warmup: str | None) -> Settings:
    """The settings with other lengths of runs, of overrides and of arguments. Raises `ScenarioError`."""
    wanted = {key: (f"sets: {key}", value) for key, value in sets if key in LENGTHS}
    arguments = {"duration": duration, "warmup": warmup}
    wanted |= {f"run.{name}": (name, value) for name, value in arguments.items() if value is not None}
    read: dict[str, Any] = {}
    for key, (name, value) in wanted.items():
        # Read alone: whether one is less than the other is seen below.
        as_key = key if key == "run.duration" else "network.delay"
        read[LENGTHS[key]] = in_base_unit(str(checked(name, value, as_key))) / 1e9
    if "duration_s" in read and "warmup_s" not in read:
        read["warmup_s"] = round(settings.warmup_s * read["duration_s"] / settings.duration_s, 3)
    found = replace(settings, **read)
    if found.warmup_s >= found.duration_s:
        rule = f"must be less than the duration, {found.duration_s:g} s"
        raise _core.ScenarioError(f"warmup = {found.warmup_s:g} s: {rule}")
    return found


def _check_changes(
    scenarios: Sequence[Scenario], settings: Settings, given: Sequence[Subject], keys: Sequence[str]
) -> None:
    """Check a person's overrides in each scenario. Raises `ScenarioError` that says in which one; warns of what does
    nothing in any run."""
    unused = []
    for key in keys:
        if key.startswith("flows.*") and not any(
            replace(each, changed=((key, ""),)).changes_of(each.flows(settings)) for each in scenarios
        ):
            raise _core.ScenarioError(f"sets: {key}: no flows of these scenarios have such a key")
    for each in scenarios:
        for experiment in each.experiments(given, settings).values():
            try:
                found = check(experiment).unused
            except _core.ScenarioError as error:
                raise _core.ScenarioError(f"{error} (in {each.id})") from None
            places = tuple(f"sets: {place}{key.removeprefix('queue')}" for place in each.places for key in keys)
            unused.append([row for row in found if row[0].startswith(places)])
    warn_unused(unused)


def meant(scenario: Scenario, name: str) -> bool:
    """Whether a name is that of a scenario, or of a section that it belongs to."""
    return scenario.id == name or f"{scenario.section}.".startswith(f"{name.removesuffix('.')}.")


def estimate(
    scenarios: Sequence[Scenario], settings: Settings, given: Sequence[Subject], jobs: int | None
) -> tuple[int, float]:
    """How many runs there are, and about how many seconds they take if none is kept."""
    points = sum(len(each.points) for each in scenarios)
    costs = sum(pace(each.name) for each in given)
    packets = sum(each.packet_rate * len(each.points) * each.lasting(settings).duration_s for each in scenarios)
    return points * len(given) * len(settings.seeds), costs * len(settings.seeds) * packets / (jobs or cores())


def _named(rows: pl.DataFrame, suite: Suite, scenarios: Sequence[Scenario]) -> pl.DataFrame:
    """A table of all runs behind the suite's keys and the seed, with names for what its rows are of: the only link, or
    the first of several, is `link`."""
    named = suite.keys
    if "of" not in rows.columns:
        return rows.select(*named[:3], "seed", pl.exclude(*named[:3], "seed", "experiment"))
    names = {(each.id, str(number)): name for each in scenarios for number, name in enumerate(each.flows(suite.quick))}
    phases = {each.id: each.phases.names for each in scenarios if each.phases is not None}
    links: dict[str, str] = {}

    def name(scenario: str, of: str) -> str:
        kind, _, rest = of.partition(":")
        if not rest:
            return names[scenario, of]
        if kind == "phase":
            return phases[scenario][int(rest)]
        link = LINKS if links.setdefault(scenario, rest) == rest else f"{LINKS} {rest}"
        return f"{KINDS[kind]}, {link}" if kind in KINDS else link

    of = [name(*row) for row in rows.select("scenario", "of").iter_rows()]
    keys = rows.with_columns(pl.Series("of", of, pl.String))
    return keys.select(*named, "seed", pl.exclude(*named, "seed", "experiment"))


def _summary(
    suite: Suite, scenarios: Sequence[Scenario], settings: Settings, given: Sequence[Subject], beside: list[str]
) -> dict[str, Any]:
    """What the numbers come from. Each discipline is checked, in the first scenario in which it has the whole queue,
    and each controller in the first scenario."""
    plain = next((each for each in suite.scenarios if each.places == ("queue",) and not each.at), scenarios[0])
    changed = scenarios[0].changed
    of_queue = [pair for pair in changed if pair[0].startswith("queue.")]
    subjects = []
    found: dict[str, Any]
    for choice in given:
        under = plain.under(choice) or plain
        text = under.text(settings)
        if isinstance(choice, Controller):
            sets = under.sets(choice)
            resolved = choice.check(text, PYTHON, sets)
            found = {"flows": resolved["flows"][int(sets[0][0].split(".")[1])]}
            found |= {key: resolved[key] for key in ("own_ends", "own_rust") if key in resolved}
        else:
            resolved = choice.read(text, PYTHON, (*plain.link.tuned(), *of_queue)).resolved
            found = {key: resolved[key] for key in ("queue", "own_discipline") if key in resolved}
        subjects.append({"label": choice.label, "name": choice.name} | found)
    return {
        "version": _core.version(),
        "suite": suite.name,
        "scenarios": [each.id for each in scenarios],
        "sets": [f"{key}={value}" for key, value in changed],
        "seeds": list(settings.seeds),
        "duration_s": settings.duration_s,
        "warmup_s": settings.warmup_s,
        "sample_s": settings.sample_s,
        f"{suite.subject}s": subjects,
        "references": beside,
    }
