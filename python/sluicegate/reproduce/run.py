"""Reproduce a paper: simulate what its figures need, judge their checks, write the page."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from ..experiments.engine import Progress, Store, check_workers, run_experiments
from ..io import check_writable
from ..scenario import bundled_scenario
from .claim import Verdict, judge
from .figure import Figure, Made, Paper
from .page import Report, files, write_files
from .study import Runs, Settings, Study, experiments

if TYPE_CHECKING:
    from ..experiments.engine import Experiment, Tables

RECORD = "verdicts.json"
"""In a paper's package: the verdicts that its default reproduction comes to."""


class UnknownName(KeyError):
    """A paper or figure that there is none of. Its text names those that are."""

    def __init__(self, what: str, name: str, known: Sequence[str]) -> None:
        near = get_close_matches(name, known, 1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        self.message = f'no such {what}: "{name}"{hint} (known: {", ".join(known)})'
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Outcome:
    """What a reproduction came to. `page`: the report. `changed`: checks whose verdict is not the recorded one, each
    with the recorded and the new verdict ("none" where there is none). `compared`: whether verdicts are recorded for
    such settings, the default ones; if not, nothing has `changed`."""

    paper: Paper
    verdicts: tuple[Verdict, ...]
    page: Path
    changed: Mapping[str, tuple[str, str]]
    compared: bool

    @property
    def contradicted(self) -> list[Verdict]:
        """The claims that the measurements contradict: findings, not errors."""
        return [verdict for verdict in self.verdicts if verdict.contradicts]

    def passed(self, strict: bool = False) -> bool:
        """Whether all verdicts are the recorded ones; `strict`: and no claim is contradicted."""
        return not self.changed and not (strict and self.contradicted)


def paper(name: str) -> Paper:
    """The paper of this name, a package of `sluicegate.papers`. Raises `UnknownName`."""
    known = import_module("sluicegate.papers").PAPERS
    if name not in known:
        raise UnknownName("paper", name, list(known))
    found = import_module(f"sluicegate.papers.{name}").PAPER
    assert isinstance(found, Paper)
    return found


def reproduce(
    name: str | Paper,
    out: str | Path,
    *,
    full: bool = False,
    seeds: int | None = None,
    only: Sequence[str] = (),
    redraw: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    settings: Settings | None = None,
) -> Outcome:
    """Reproduce a paper and write its report into the folder `out`, whole or not at all.

    `name`: of one of `sluicegate.papers`, or a `Paper` of one's own. `full`: the paper's own lengths, and more seeds.
    `seeds`: how many seeds, counted from 1 (default: the paper's module says). `only`: ids of figures; nothing is
    simulated for others, and the page is report-<ids>.html. `redraw`: simulate nothing, make the page anew from the
    runs kept in `out`. `jobs`: how many threads (default: one for each core). `executor`: runs the work instead; it is
    left open. `cluster`: so does the Dask cluster with its scheduler at this address. `settings`: take these, whatever
    `full` and `seeds` say. What is written depends on none of `jobs`, `executor`, `cluster` and the order in which runs
    end. `out` keeps each run as it ends, in runs.sqlite; what is there already is not run again.

    Raises `UnknownName`, ValueError for fewer than one seed or job and for more than one of `jobs`, `executor` and
    `cluster`, `MissingRuns` when a run to redraw is not kept, OSError when `out` cannot be written, and `ClusterError`.
    KeyboardInterrupt, and whatever `progress` raises, end the work; runs that have ended are kept in `out`.
    """
    chosen = paper(name) if isinstance(name, str) else name
    if seeds is not None and seeds < 1:
        raise ValueError(f"seeds = {seeds}: must be at least 1")
    check_workers(jobs, executor, cluster)
    out = Path(out)
    figures = _only(chosen, only)
    only = tuple(figure.id for figure in figures) if only else ()
    check_writable(out, files(only))
    if settings is None:
        settings = chosen.full if full else chosen.short
        if seeds is not None:
            settings = replace(settings, seeds=tuple(range(1, seeds + 1)))
    with Store(out) as store:

        def simulate(wanted: Sequence[Experiment], seeds: Sequence[int], what: str = "") -> Tables:
            told = None if progress is None else _told(progress, what)
            return run_experiments(wanted, seeds, jobs, executor, told, store=store, cluster=cluster, kept_only=redraw)

        prepared = None
        if chosen.prepare is not None:  # what comes after it is not known yet, nor how long that takes
            prepared = chosen.prepare(settings, partial(simulate, what="first, what the runs need: "))
        wanted = experiments(_studies(figures), _studies(chosen.figures()), settings, prepared)
        tables = simulate(wanted, settings.seeds) if wanted else {}
        report = replace(made(chosen, figures, settings, prepared, tables), only=only)
        write_files(report, out)
    recorded = _recorded(chosen, settings)
    changed = _changed(report.verdicts, recorded, bool(only))
    return Outcome(chosen, tuple(report.verdicts), out / files(only)[2], changed, recorded is not None)


def _studies(figures: Sequence[Figure]) -> list[Study]:
    return list(dict.fromkeys(study for figure in figures for study in figure.studies.values()))


def made(chosen: Paper, figures: Sequence[Figure], settings: Settings, prepared: Any, tables: Tables) -> Report:
    """The report of what the runs gave."""
    found: list[Made] = []
    of_study: dict[Any, Runs] = {}
    checks = []
    context = {"settings": settings, "prepared": prepared}
    for figure in figures:
        runs = {}
        for name, study in figure.studies.items():
            if study not in of_study:
                of_study[study] = Runs.of(study, settings, prepared, tables)
            runs[name] = of_study[study]
        given = {**runs, **{key: value for key, value in context.items() if key in _arguments(figure.checks)}}
        checks.append((figure, runs, figure.made(given)))
    verdicts = iter(judge([check for _, _, each in checks for check in each]))
    for figure, runs, each in checks:
        drawing = None
        if figure.chart is not None:
            extra = {key: value for key, value in context.items() if key in _arguments(figure.chart)}
            drawing = figure.chart(checks=each, **runs, **extra)
        found.append(Made(figure, _caption(figure.caption, settings), drawing, tuple(next(verdicts) for _ in each)))
    text = bundled_scenario(chosen.scenario)[0] if chosen.scenario else ""
    kept = {} if chosen.tables is None else chosen.tables(prepared)
    return Report(chosen, tuple(found), _provenance(chosen, settings, tables), text, kept)


def _arguments(function: Callable[..., Any]) -> Sequence[str]:
    return list(inspect.signature(function).parameters)


def _caption(text: str, settings: Settings) -> str:
    """A caption with what depends on the settings filled in."""
    names = {
        "{seed}": settings.seeds[0],
        "{duration}": f"{settings.duration_s:g}",
        "{sample}": f"{settings.sample_s:g}",
    }
    for name, value in names.items():
        text = text.replace(name, str(value))
    return text


def _provenance(chosen: Paper, settings: Settings, tables: Tables) -> dict[str, str]:
    seeds = settings.seeds
    runs = {run for table in tables.values() for run in table.select("experiment", "seed").unique().iter_rows()}
    counted = f"{seeds[0]} to {seeds[-1]} ({len(seeds)} runs of each point)" if len(seeds) > 1 else str(seeds[0])
    times = f"{settings.duration_s:g} s for each run, the first {settings.warmup_s:g} s not measured"
    return {
        "Sluicegate": _core.version(),
        "Seeds": counted,
        "Simulated time": times,
        "Runs": str(len(runs)),
        "Intervals": "Student's t over seeds, 95 %",
        **chosen.provenance,
    }


def _only(chosen: Paper, only: Sequence[str]) -> list[Figure]:
    """The figures that are wanted, all if none is named; "9" is "fig9". Raises `UnknownName`."""
    figures = chosen.figures()
    known = [figure.id for figure in figures]
    only = [f"fig{name}" if f"fig{name}" in known else name for name in only]
    for name in only:
        if name not in known:
            raise UnknownName(f"figure of {chosen.name}", name, known)
    return [figure for figure in figures if not only or figure.id in only]


def _recorded(chosen: Paper, settings: Settings) -> Mapping[str, str] | None:
    """The recorded verdicts by the ids of their checks; None where none are recorded for these settings."""
    path = chosen.folder / RECORD
    if settings != chosen.short or not path.exists():
        return None
    found: dict[str, str] = json.loads(path.read_text("utf-8"))
    return found


def _changed(verdicts: Sequence[Verdict], recorded: Mapping[str, str] | None, some: bool) -> dict[str, tuple[str, str]]:
    """The checks whose verdict is not the recorded one. `some`: only some figures were made."""
    if recorded is None:
        return {}
    now = {verdict.check.id: verdict.name for verdict in verdicts}
    gone = {} if some else {id_: (was, "none") for id_, was in recorded.items() if id_ not in now}
    return gone | {
        id_: (recorded.get(id_, "none"), name) for id_, name in now.items() if recorded.get(id_, "none") != name
    }


def _told(progress: Progress, what: str) -> Progress:
    """The same progress with words before each experiment."""
    return lambda done, total, experiment: progress(done, total, f"{what}{experiment}")
