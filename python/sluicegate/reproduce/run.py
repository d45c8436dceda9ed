"""Reproduce a paper: simulate what its figures need, judge their checks, write the page."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from ..experiments.engine import Progress, Store, check_workers, run_experiments
from ..io import check_writable
from ..quantities import did_you_mean
from ..scenario import bundled_scenario
from . import live as real
from .claim import Verdict, judge
from .figure import Figure, Made, Paper
from .kept import Kept, Measured, measured, read
from .page import Report, files, write_files
from .study import Runs, Settings

if TYPE_CHECKING:
    from ..experiments.engine import Experiment, Tables

RECORD = "verdicts.json"
"""In a paper's package: the verdicts that its default reproduction comes to."""


class UnknownName(KeyError):
    """A paper or figure that there is none of. Its text names those that are."""

    def __init__(self, what: str, name: str, known: Sequence[str]) -> None:
        self.message = f'no such {what}: "{name}"{did_you_mean(name, known, "")} (known: {", ".join(known)})'
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Outcome:
    """What a reproduction came to. `page`: the report. `changed`: checks whose verdict is not the recorded one, each
    with the recorded and the new verdict ("none" where there is none). `compared`: whether verdicts are recorded for
    such settings, the default ones; if not, nothing has `changed`. `record`: all verdicts by id, as they are recorded;
    "short:" is put before the ids of short runs beside kept ones."""

    paper: Paper
    verdicts: tuple[Verdict, ...]
    page: Path
    changed: Mapping[str, tuple[str, str]]
    compared: bool
    record: Mapping[str, str]

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
    live: bool = False,
) -> Outcome:
    """Reproduce a paper and write its report into the folder `out`, whole or not at all.

    `name`: of one of `sluicegate.papers`, or a `Paper` of one's own. `full`: the paper's own lengths, or more seeds.
    `seeds`: how many seeds, counted from 1 (default: the paper's module says). `only`: ids of figures; nothing is
    simulated for others, and the page is report-<ids>.html. `redraw`: simulate nothing, make the page anew from the
    runs kept in `out`. `jobs`: how many threads (default: one for each core). `executor`: runs the work instead; it is
    left open. `cluster`: so does the Dask cluster with its scheduler at this address. `settings`: take these, whatever
    `full` and `seeds` say. What is written depends on none of `jobs`, `executor`, `cluster` and the order in which runs
    end. `out` keeps each run as it ends, in runs.sqlite; what is there already is not run again. `live`: make the
    figures with real hosts too, in real time, one run at a time; without it they are shown if `out` has their runs.

    Raises `UnknownName`, `ScenarioError` for `live` where a paper has no such figures or this process lacks the rights,
    ValueError for fewer than one seed or job and for more than one of `jobs`, `executor` and
    `cluster`, `MissingRuns` when a run to redraw is not kept, OSError when `out` cannot be written, and `ClusterError`.
    KeyboardInterrupt, and whatever `progress` raises, end the work; runs that have ended are kept in `out`.
    """
    chosen = paper(name) if isinstance(name, str) else name
    if seeds is not None and seeds < 1:
        raise ValueError(f"seeds = {seeds}: must be at least 1")
    check_workers(jobs, executor, cluster)
    if live:
        real.require(chosen, redraw)
    out = Path(out)
    figures = _only(chosen, only)
    only = tuple(figure.id for figure in figures) if only else ()
    check_writable(out, files(only))
    if settings is None:
        settings = chosen.full if full else chosen.short
        if seeds is not None:
            settings = replace(settings, seeds=tuple(range(1, seeds + 1)))
    with Store(out) as store:

        def simulate(
            wanted: Sequence[Experiment], seeds: Sequence[int], what: str = "", kept_only: bool = redraw
        ) -> Tables:
            told = None if progress is None else _told(progress, what)
            return run_experiments(
                wanted, seeds, jobs, executor, told, store=store, cluster=cluster, kept_only=kept_only
            )

        wanted_live = [figure for figure in figures if figure.live]
        figures = [figure for figure in figures if not figure.live]
        lived: Measured | None
        if live:
            lived = real.run(chosen, wanted_live, real.settings_of(chosen, full, seeds), simulate)
        else:
            lived = real.kept(chosen, wanted_live, seeds, simulate)
            if only and lived is None and wanted_live:
                named = wanted_live[0].id
                raise _core.ScenarioError(f"{named}: no runs with real stacks are kept in {out}: give --live")
        now = measured(chosen, figures, settings, simulate) if figures else Measured(settings, None, {})
        kept = read(chosen) if figures else None
        if kept is not None and settings.duration_s >= kept.settings.duration_s:
            kept = None  # nothing shorter to be shown beside
        report = replace(made(chosen, figures, now, kept), only=only)
        if lived is not None:
            report = _with_live(report, wanted_live, lived)
        write_files(report, out)
    recorded = _recorded(chosen, settings)
    changed = _changed(report.record, recorded, bool(only))
    page = out / files(only)[2]
    return Outcome(chosen, tuple(report.verdicts), page, changed, recorded is not None, report.record)


def made(chosen: Paper, figures: Sequence[Figure], now: Measured, kept: Kept | None = None) -> Report:
    """The report of what the runs gave; with runs at full length that are `kept`, figures and verdicts are theirs."""
    found = _all_made([(figure, now) for figure in figures])
    if kept is not None:
        short = found
        found = _all_made([(figure, kept if kept.has(figure) else now) for figure in figures])
        found = [
            replace(full, note=kept.note(full.figure, chosen, now), short=beside if kept.has(full.figure) else None)
            for full, beside in zip(found, short, strict=True)
        ]
    text = bundled_scenario(chosen.scenario)[0] if chosen.scenario else ""
    data = {} if chosen.tables is None else chosen.tables(now.prepared)
    return Report(chosen, tuple(found), _provenance(chosen, now, kept), text, data, _lengths(now, kept))


def _with_live(report: Report, figures: Sequence[Figure], lived: Measured) -> Report:
    """The report with figures of real hosts. Their checks are judged by themselves."""
    both = [*report.figures, *_all_made([(figure, lived) for figure in figures])]
    told = {"Real stacks": f"{_times(lived.settings)}; seeds: {_counted(lived.settings)}"}
    if len(both) == len(figures):
        about = {name: report.provenance[name] for name in ("Sluicegate", "Intervals")}
        return replace(report, figures=tuple(both), provenance=about | told, lengths={})
    ordered = tuple(sorted(both, key=lambda each: each.figure.order))
    return replace(report, figures=ordered, provenance={**report.provenance, **told})


def _all_made(figures: Sequence[tuple[Figure, Measured]]) -> list[Made]:
    """Each figure with what its runs gave; the checks of all are judged together."""
    of_study: dict[Any, Runs] = {}
    checks = []
    for figure, source in figures:
        context = {"settings": source.settings, "prepared": source.prepared}
        runs = {}
        for name, study in figure.studies.items():
            if (study, id(source)) not in of_study:
                of_study[study, id(source)] = source.runs(study)
            runs[name] = of_study[study, id(source)]
        given = {**runs, **{key: value for key, value in context.items() if key in _arguments(figure.checks)}}
        checks.append((figure, source, context, runs, figure.made(given)))
    verdicts = iter(judge([check for *_, each in checks for check in each]))
    found = []
    for figure, source, context, runs, each in checks:
        drawing = None
        if figure.chart is not None:
            extra = {key: value for key, value in context.items() if key in _arguments(figure.chart)}
            drawing = figure.chart(checks=each, **runs, **extra)
        caption = _caption(figure.caption, source.settings)
        found.append(Made(figure, caption, drawing, tuple(next(verdicts) for _ in each)))
    return found


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


def _provenance(chosen: Paper, now: Measured, kept: Kept | None) -> dict[str, str]:
    of = "" if kept is None else ", short runs"
    runs = {run for table in now.tables.values() for run in table.select("experiment", "seed").unique().iter_rows()}
    return {
        "Sluicegate": _core.version(),
        f"Seeds{of}": _counted(now.settings),
        f"Simulated time{of}": _times(now.settings),
        f"Runs{of}": str(len(runs)),
        "Intervals": "Student's t over seeds, 95 %",
        **chosen.provenance,
    }


def _counted(settings: Settings) -> str:
    seeds = settings.seeds
    if len(seeds) == 1:
        return f"{seeds[0]} (one seed: no intervals, verdicts are by value)"
    return f"{seeds[0]} to {seeds[-1]} ({len(seeds)} runs of each point)"


def _times(settings: Settings) -> str:
    return f"{settings.duration_s:g} s for each run, the first {settings.warmup_s:g} s not measured"


def _lengths(now: Measured, kept: Kept | None) -> dict[str, str]:
    """Which runs are shown, where some are kept or all are of one seed."""
    if kept is None:
        return {"Seed": _counted(now.settings)} if len(now.settings.seeds) == 1 else {}
    return {
        "Full length": f"kept with Sluicegate: {len(kept.scenarios)} points, {kept.code()}; "
        f"{_times(kept.settings)}; seeds: {_counted(kept.settings)}. "
        "Figures and verdicts are of these unless the figure says otherwise",
        "Short run": f"run now by version {_core.version()}; {_times(now.settings)}; seeds: {_counted(now.settings)}",
    }


def _only(chosen: Paper, only: Sequence[str]) -> list[Figure]:
    """The figures that are wanted, all if none is named; "9" is "fig9". Raises `UnknownName`."""
    figures = [*chosen.figures(), *chosen.figures(live=True)]
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


def _changed(now: Mapping[str, str], recorded: Mapping[str, str] | None, some: bool) -> dict[str, tuple[str, str]]:
    """The checks whose verdict is not the recorded one. `some`: only some figures were made."""
    if recorded is None:
        return {}
    gone = {} if some else {id_: (was, "none") for id_, was in recorded.items() if id_ not in now}
    return gone | {
        id_: (recorded.get(id_, "none"), name) for id_, name in now.items() if recorded.get(id_, "none") != name
    }


def _told(progress: Progress, what: str) -> Progress:
    """The same progress with words before each experiment."""
    return lambda done, total, experiment: progress(done, total, f"{what}{experiment}")
