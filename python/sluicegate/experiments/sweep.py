"""Sweeps: one scenario at every point of a grid of values, each for several seeds; only what is missing is run.

`grid` reads the grid; each of its points is an experiment of the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core, scenario
from ..custom.aqm import AqmFactory
from ..io import check_writable, staged, write_json, write_parquet
from ..progress import shown
from ..results.result_object import Frames, ResultObject, read_summary, read_table
from . import sweep_page
from .disciplines import Choice, Queue, known, one, under
from .engine import check_workers, run_experiments, seed_numbers, told_runs
from .grid import DISCIPLINE, MOST, Axis, Over, Point, axes, constants, places, points
from .job import TOTALS, Checked, Experiment, Keep, Tables, check, digest_of
from .store import Store

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from ..page import Page, Table

Progress = Callable[[int, int, str], None]
"""Called with the runs done, the runs that were missing, and the point whose run has just ended."""

SEEDS = 5
"""How many seeds unless told."""

SERIES = ("run.series", "false")
"""A sweep keeps no series."""

TABLES = ("flows", "links", "groups", TOTALS)
KEEP: Keep = dict.fromkeys(TABLES)
FILES = (*(f"{name}.parquet" for name in TABLES), "sweep.svg", "report.html", "summary.json")
"""What `Sweep.write` writes. Every run has rows of each table, so that none is empty."""


class Sweep(ResultObject):
    """What `sweep` returns, and `Sweep.read` reads again.

    Every table begins with a column for each key that was swept, named after it and the unit of its numbers
    (`flows.1.rate_bps`), one for each value that `sets`, `queue`, `duration` and `warmup` set at all points, and
    `seed`. Rows are in the order of the grid, then of the seeds.

    Attributes:
        flows: One row for each flow of each run, as in `Run.flows`.
        links: One row for each link of each run, as in `Run.links`.
        groups: One row for each group of flows of each run, as in `Run.groups`.
        totals: One row for each run: length of the measured window, throughput, packets at the links, and events.
        summary: Version, scenario of the first point with every default filled in, what was swept, overrides, seeds.
        columns: The names of the columns of swept keys.
        kept: How many runs existed already.

    >>> over = {"queue.discipline": "red,choke", "flows.1.rate": ["1 Mbit/s", "2 Mbit/s"]}
    >>> swept = sg.sweep("unresponsive", over=over, seeds=1, duration="2 s", warmup="0 s")
    >>> swept.columns
    ['queue.discipline', 'flows.1.rate_bps']
    >>> swept.points()
    [('red', '1 Mbit/s'), ('red', '2 Mbit/s'), ('choke', '1 Mbit/s'), ('choke', '2 Mbit/s')]
    """

    def __init__(self, tables: dict[str, pl.DataFrame], summary: dict[str, Any], kept: int = 0) -> None:
        """Made by `sweep`."""
        self.flows, self.links, self.groups, self.totals = (tables[name] for name in TABLES)
        self.summary = summary
        self.columns: list[str] = [each["column"] for each in summary["over"]]
        self.kept = kept

    @classmethod
    def read(cls, directory: str | Path) -> Sweep:
        """What `write` wrote, or `sweep` with `out`. Raises OSError, and ValueError when the folder has no sweep."""
        summary = read_summary(directory, "a sweep", ("version", "scenario", "over", "seeds"))
        tables = {name: read_table(directory, name) for name in TABLES}
        return cls(tables, summary, tables["totals"].height)

    @property
    def tables(self) -> Frames:
        """The tables by name."""
        return Frames({name: getattr(self, name) for name in TABLES})

    def plot(self) -> Figure:
        """The results of each group of flows and each link over the first axis, with a line for each point of the
        others."""
        from ..plot import sweep as figures

        return figures.figure(self.groups, self.links, self.columns)

    def html(self) -> str:
        """The page of the sweep: the figure, and groups and links at each point."""
        return self._page().html()

    def _page(self) -> Page:
        return sweep_page.page(self.summary, self.tables, self.columns, self.plot())

    def overview(self) -> Table:
        """Throughput, loss and delays of each group at each point, means over seeds; only the first points if there are
        many."""
        return sweep_page.groups(self.groups, self.columns, sweep_page.MOST_SHOWN)

    def write(self, directory: str | Path) -> Path:
        """Write flows.parquet, links.parquet, groups.parquet, totals.parquet, summary.json, the figure sweep.svg, and
        report.html, the page; return the directory.

        They appear completely or not at all, and files with other names in an existing directory stay. Equal sweeps
        give equal bytes. Raises OSError.
        """
        page = self._page()
        with staged(directory) as folder:
            for name, table in self.tables.items():
                write_parquet(table, folder / f"{name}.parquet")
            write_json(folder / "summary.json", self.summary)
            (folder / "sweep.svg").write_bytes(page.svgs["glance"])
            (folder / "report.html").write_text(page.html(), encoding="utf-8")
        return Path(directory)

    def points(self) -> list[tuple[str, ...]]:
        """The values of the swept keys at each point, as given, in the order of the tables."""
        over = self.summary["over"]
        each_place = places([(len(each["values"]), "along" in each) for each in over])
        return [tuple(each["values"][at] for each, at in zip(over, place, strict=True)) for place in each_place]

    def __repr__(self) -> str:
        return f"<sluicegate.Sweep {', '.join(self.columns)}; {self.totals.height} runs>"


def sweep(
    network: scenario.What,
    flows: scenario.Flows | None = None,
    *,
    over: Over,
    queue: Queue | None = None,
    seeds: int | Iterable[int] = SEEDS,
    out: str | Path | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    sets: scenario.Sets | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    progress: Progress | bool | None = None,
) -> Sweep:
    """Run a scenario at every point of a grid, with every seed.

    `network`, `flows`, `queue`, `duration`, `warmup` and `sets` as for `simulate`. `over`: the keys to vary, dotted,
    and for each a text such as "0.1..10 Mbit/s log 12" or "red,choke", or a list of values; several keys give every
    combination, and the keys of a tuple change together: {("flows.1.rate", "queue.limit"): [("1 Mbit/s", 50), ("2
    Mbit/s", 100)]}. The values of queue.discipline, or just queue, are disciplines as `compare` takes them: names,
    objects, classes of your own. `seeds`: how many, counted from 1, or the seeds themselves. `out`: a folder that keeps
    each run in runs.sqlite as soon as it ends, and finally gets the files of `Sweep.write`. Kept runs are not repeated.
    `progress`: a function, True for a bar, False for none (default: a bar on a terminal and in a notebook). `jobs`: how
    many runs at once (default: one for each core), in threads, or in processes when a discipline is written in Python;
    `executor` runs them instead, or `cluster`, the address of a Dask scheduler ("tcp://10.0.0.1:8786"), whose workers
    need the same build (the same wheel). Results do not depend on any of these.

    A run is identified by its scenario with every default filled in, its seed, the version and build of Sluicegate, and
    the files of disciplines in Python and of connections. The process that runs it checks these files again. A
    discipline made by a function is run again each time. If a script contains a discipline in Python, put the call
    below `if __name__ == "__main__":`, because each process first imports the script.

    Every point is checked before any runs. Raises `ScenarioError`, which is a ValueError, for a wrong value, and
    OSError; TypeError for an object that is not a network, source or value, or if seeds or jobs are not a whole number;
    RuntimeError when a process reaches the call that started it; `cluster.ClusterError` when a cluster does not answer.
    KeyboardInterrupt ends the work, and so does any exception of `progress` or of your own discipline; `out` keeps
    completed runs.

    >>> swept = sg.sweep("unresponsive", over={"queue.limit": "50,100"}, seeds=2, duration="2 s", warmup="0 s")
    >>> swept.totals.select("queue.limit", "seed").rows()
    [(50, 1), (50, 2), (100, 1), (100, 2)]
    """
    swept = axes(over)
    grid = points(swept)
    numbers = seed_numbers(seeds)
    if len(grid) * len(numbers) > MOST:
        count = len(grid) * len(numbers)
        raise _core.ScenarioError(f"{len(grid)} points and {len(numbers)} seeds are {count} runs, above {MOST}")
    check_workers(jobs, executor, cluster)
    about = scenario.subject(network, flows, sets=sets, duration=duration, warmup=warmup)
    choice = None if queue is None else one(queue)
    overrides = about.sets
    _not_given(overrides, swept)
    if choice is not None:
        if any(axis.key == DISCIPLINE for axis in swept):
            raise _core.ScenarioError("queue: is swept")
        with about.told():
            choice.read(under(about, choice)[0], about.name, overrides)
        overrides = (*(pair for pair in overrides if pair[0] != DISCIPLINE), (DISCIPLINE, choice.label))
    if out is not None:
        check_writable(out, FILES)
    with about.told():
        experiments = _experiments(about, grid, choice)
    resolved = [each.checked for each in experiments if each.checked is not None]
    scenario.warn_unused(found.unused for found in resolved)
    _all_matter(swept, [(found.resolved, found.about) for found in resolved])
    summary = _summary(about.name, resolved[0], swept, overrides, numbers)

    with Store(None if out is None else Path(out)) as store, shown(progress, told_runs) as told:

        def tell(done: int, total: int, place: str) -> None:
            if told is not None:
                told(done, total, grid[int(place)].label)

        runs = run_experiments(experiments, numbers, jobs, executor, tell, store=store, cluster=cluster)
        found = Sweep(_named(runs, grid, swept, overrides), summary, store.found)
        if out is not None:
            found.write(out)
    return found


def _not_given(sets: Iterable[tuple[str, str]], swept: Sequence[Axis]) -> None:
    """Raise `ScenarioError` for an override that the sweep gives."""
    for key, _ in sets:
        if key == "run.seed":
            raise _core.ScenarioError("sets: run.seed: give seeds instead")
        if key == "run.series":
            raise _core.ScenarioError("sets: run.series: a sweep keeps no series")
        if any(axis.key == key for axis in swept):
            raise _core.ScenarioError(f"sets: {key}: is swept")


def _experiments(about: scenario.Subject, grid: Sequence[Point], queue: Choice | None) -> list[Experiment]:
    """Each point, checked, under its place in the grid; `queue`: the discipline of all.

    Raises `ScenarioError` that says at which point it is.
    """
    experiments = []
    digest = cache(digest_of)  # points share files
    texts: dict[str | None, tuple[str, object, AqmFactory | None]] = {}
    sets = (*about.sets, *(() if queue is None else queue.sets))
    for place, point in enumerate(grid):
        label = point.choice.label if point.choice else None
        text, _, own_queue = texts.setdefault(label, under(about, point.choice or queue))
        experiment = Experiment(str(place), text, about.name, (*sets, SERIES, *point.sets), KEEP, own_queue)
        try:
            checked = check(experiment, digest=digest)
        except _core.ScenarioError as error:
            raise _core.ScenarioError(_placed(str(error), text, about.name, sets, point)) from None
        experiments.append(replace(experiment, checked=checked))
    return experiments


def _all_matter(swept: Sequence[Axis], resolved: Sequence[object]) -> None:
    """Raise `ScenarioError` for a key whose values make no difference anywhere, such as one of another discipline."""
    each_place = places([(len(axis.values), axis.along) for axis in swept])
    leading = [number for number, axis in enumerate(swept) if not axis.along]
    for first in leading:
        found: dict[tuple[int, ...], object] = {}
        others = [number for number in leading if number != first]
        alike = all(
            each == found.setdefault(tuple(place[number] for number in others), each)
            for place, each in zip(each_place, resolved, strict=True)
        )
        if len(swept[first].values) > 1 and alike:
            key = swept[first].key
            of = key.split(".")[1] if key.count(".") == 2 else ""
            why = (
                f"no point has the discipline {of}, which alone reads queue.{of}; set queue.discipline = {of}"
                if of in known()
                else "values in a discipline's own table, such as queue.red.w_q, take precedence over queue.w_q"
            )
            raise _core.ScenarioError(f"over: {key}: its values make no difference; {why}")


def _placed(message: str, text: str, name: str, overrides: tuple[tuple[str, str], ...], point: Point) -> str:
    """The core's message about one point, with the name of the argument it is about, and the point if that matters."""

    def says_the_same(*sets: tuple[str, str]) -> bool:
        try:
            _core.Scenario(text, name, [*overrides, *sets])
        except _core.ScenarioError as error:
            return str(error) == message
        return False

    if says_the_same():  # whatever is swept
        return message
    for part in point.parts:
        if says_the_same(*part.sets):
            about = message.removeprefix("sets: ")
            if about.endswith("must be a whole number"):
                about += '; a range of them ends in the word "whole"'
            return f"over: {about}" if about.startswith(part.sets[0][0]) else f"over: {part.label}: {about}"
    if any(message.startswith(f"sets: {key}") for key, _ in point.sets):
        message = message.replace("sets: ", "over: ", 1)
    return f"{message} (at {point.label})"


def _named(runs: Tables, grid: Sequence[Point], swept: Sequence[Axis], overrides: Sequence[tuple[str, str]]) -> Tables:
    """The tables of all runs with the columns that name the point of a row, by which several sweeps can be joined."""
    import polars as pl

    cells = {axis.column: [point.cells[place] for point in grid] for place, axis in enumerate(swept)}
    cells |= {column: [cell] * len(grid) for column, cell in constants(overrides).items()}
    named = pl.DataFrame(cells)
    return {
        name: pl.concat([named[table["experiment"].cast(pl.UInt32)], table.drop("experiment")], how="horizontal")
        for name, table in runs.items()
    }


def _summary(
    name: str,
    first: Checked,
    swept: Sequence[Axis],
    overrides: Sequence[tuple[str, str]],
    seeds: list[int],
) -> dict[str, Any]:
    """What the numbers come from. The scenario is that of the first point, but for seed and series."""
    about, scenario = first.about, first.resolved
    scenario = scenario | {"run": {k: v for k, v in scenario["run"].items() if k not in ("seed", "series")}}
    return {
        "version": _core.version(),
        "file": Path(name).name,  # without its folder: equal sweeps give equal bytes anywhere
        "sets": [f"{key}={value}" for key, value in overrides],
        "scenario": scenario,
        **({"own_discipline": about} if about else {}),
        "over": [
            {"key": axis.key, "column": axis.column, "values": list(axis.values)}
            | ({"along": True} if axis.along else {})
            for axis in swept
        ],
        "seeds": seeds,
    }
