"""Sweeps: one scenario at every point of a grid of values, each for several seeds; only what is missing is run.

`sweep_grid` reads the grid, `sweep_work` is one run, `sweep_store` keeps the runs that have ended, `sweep_cluster`
lends a cluster. The module is not called `sweep`, because importing it would then hide the function `sluicegate.sweep`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, api, own, sweep_work
from .comparison import _seeds
from .sweep_grid import MOST, Axis, Over, Point, axes, constants, points
from .sweep_store import Kept, Store
from .sweep_work import SERIES, Checked, Job, digest_of, files_of, key_of, work

if TYPE_CHECKING:
    import polars as pl

    from ._generated import Source
    from .runner import Work

Progress = Callable[[int, int, str], None]
"""Called with the runs done, the runs that were missing, and the point whose run has just ended."""

SEEDS = 5
"""How many seeds unless told."""

TABLES = Kept._fields
FILES = (*(f"{name}.parquet" for name in TABLES), "summary.json")


class Sweep:
    """What `sweep` returns, and `Sweep.read` reads again.

    Every table begins with a column for each key that was swept, named after it and the unit of its numbers
    (`flows.1.rate_bps`), one for each that `sets`, `duration` and `warmup` gave for all points, and `seed`. Rows stand
    in the order of the grid, then of the seeds.

    Attributes:
        flows: One row for each flow of each run, as in `Run.flows`.
        links: One row for each link of each run, as in `Run.links`.
        groups: One row for each group of each run whose connections come and go, as in `Run.groups`.
        totals: One row for each run: length of the measured window, throughput, packets at the links, and events.
        summary: Version, scenario of the first point with every default filled in, what was swept, overrides, seeds.
        columns: The names of the columns of swept keys.
        kept: How many runs were there already.
    """

    def __init__(self, tables: dict[str, pl.DataFrame], summary: dict[str, Any], kept: int = 0) -> None:
        """Made by `sweep`."""
        self.flows, self.links, self.groups, self.totals = (tables[name] for name in TABLES)
        self.summary = summary
        self.columns: list[str] = [each["column"] for each in summary["over"]]
        self.kept = kept

    @classmethod
    def read(cls, directory: str | Path) -> Sweep:
        """What `write` wrote, or `sweep` with `out`. Raises OSError."""
        import polars as pl

        folder = Path(directory)
        tables = {name: pl.read_parquet(folder / f"{name}.parquet") for name in TABLES}
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        return cls(tables, summary, tables["totals"].height)

    def write(self, directory: str | Path) -> Path:
        """Write flows.parquet, links.parquet, groups.parquet, totals.parquet and summary.json; return the directory.

        They appear whole or not at all, and files of other names in an existing directory stay. Equal sweeps give equal
        bytes. Raises OSError.
        """
        from .files import staged, write_parquet

        with staged(directory) as folder:
            for name in TABLES:
                write_parquet(getattr(self, name), folder / f"{name}.parquet")
            text = json.dumps(self.summary, indent=2, ensure_ascii=False, allow_nan=False)
            (folder / "summary.json").write_text(text + "\n", "utf-8")
        return Path(directory)

    def __repr__(self) -> str:
        return f"<sluicegate.Sweep {', '.join(self.columns)}; {self.totals.height} runs>"


def sweep(
    network: api.Network | str | Path,
    flows: Source | Sequence[Source] | None = None,
    *,
    over: Over,
    seeds: int | Iterable[int] = SEEDS,
    out: str | Path | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    sets: api.Sets | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Run a scenario at every point of a grid, each for every seed.

    `network` and `flows` as for `simulate`, or a scenario file as for `run`, without flows. `over`: what is swept,
    dotted keys, and for each a text such as "0.1..10 Mbit/s log 12" or "red,choke", or a list of values; several keys
    give every combination. `seeds`: how many, counted from 1, or the seeds themselves. `out`: a folder that keeps each
    run as it ends, in runs.sqlite, and gets the tables in the end; a run that is kept there is not run again.
    `duration`, `warmup` and `sets` override the scenario. `jobs`: how many runs at once (default: one for each core),
    in threads, or in processes when a discipline is written in Python; `executor` runs them instead, or `cluster`, the
    address of a Dask scheduler ("tcp://10.0.0.1:8786"), whose workers need the same build: the same wheel. Results
    depend on none of these.

    A run is known by its scenario with every default filled in, its seed, the version and build of Sluicegate, and the
    files of disciplines written in Python and of connections; where it is made, they are compared again. A discipline
    that is made by a function is run anew each time.

    Every point is checked before any runs. Raises `ScenarioError` and OSError; TypeError for what is no network, source
    or value; ValueError for less than one seed or job, and for more than one of `jobs`, `executor` and `cluster`;
    `sweep_cluster.ClusterError` when a cluster does not answer. KeyboardInterrupt, and whatever `progress` or a
    discipline of one's own raises, end the work; what is done is kept in `out`.
    """
    from .files import check_writable
    from .runner import finished

    swept = axes(over)
    grid = points(swept)
    numbers = _seeds(seeds)
    if len(grid) * len(numbers) > MOST:
        count = len(grid) * len(numbers)
        raise _core.ScenarioError(f"{len(grid)} points and {len(numbers)} seeds are {count} runs, above {MOST}")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs = {jobs}: must be at least 1")
    if sum(each is not None for each in (jobs, executor, cluster)) > 1:
        raise ValueError("give one of jobs, executor and cluster")
    text, name, queue = _scenario(network, flows)
    overrides = _overrides(sets, swept, duration, warmup)
    if out is not None:
        check_writable(out, FILES)
    with api.arguments(duration=duration, warmup=warmup):
        resolved = _checked(text, name, overrides, grid, queue)
    # Whether a key does anything depends on what is said of queues alone.
    of_queues = dict.fromkeys(tuple(each for each in point.sets if each[0].startswith("queue")) for point in grid)
    api.warn_unused(_core.unused(text, name, [*overrides, *sets]) for sets in of_queues)
    _all_matter(swept, [(found.resolved, found.about) for found in resolved])
    keys = [key_of(found, seed, queue) for found in resolved for seed in numbers]
    summary = _summary(name, resolved[0], swept, overrides, numbers)
    with ExitStack() as stack:
        store = stack.enter_context(Store(None if out is None else Path(out)))
        there = store.keys()
        missing = {key: place for place, key in enumerate(keys) if key not in there}  # points may share a run
        todo = [(key, *divmod(place, len(numbers))) for key, place in missing.items()]
        if todo:
            tasks = [
                _job(text, name, (*overrides, *grid[at].sets), numbers[seed], queue, resolved[at])
                for _, at, seed in todo
            ]
            chosen = {tuple(each for each in task.sets if each[0].endswith(".discipline")) for task in tasks}
            in_python = any(own.in_python(text, each) for each in chosen) and own.importable(queue)
            do: Work[Job, Kept] = work
            if cluster is not None:
                from . import sweep_cluster

                executor, do = stack.enter_context(sweep_cluster.executor(cluster)), sweep_cluster.work
            results = stack.enter_context(finished(do, tasks, jobs, executor, in_python and executor is None))
            for done, (place, result) in enumerate(results, start=1):
                store.add(todo[place][0], result)
                if progress is not None:
                    progress(done, len(todo), grid[todo[place][1]].label)
        done_before = sum(key in there for key in keys)
        found = Sweep(_tables(store, keys, grid, swept, overrides, numbers), summary, done_before)
        if out is not None:
            found.write(out)
    return found


def _scenario(
    network: api.Network | str | Path, flows: Source | Sequence[Source] | None
) -> tuple[str, str, own.AqmFactory | None]:
    """The text of the scenario, its name in messages, and the discipline that it takes from Python, if any."""
    if isinstance(network, str | Path):
        if flows is not None:
            raise TypeError("flows: a scenario file brings its own")
        return (*api.read_scenario(network), None)
    if flows is None:
        raise TypeError("flows: expected sources such as sluicegate.Tcp(...)")
    text = api.scenario(network, flows)
    return text, api.PYTHON, api.factory(network.queue)


def _overrides(
    sets: api.Sets | None, swept: Sequence[Axis], duration: str | None, warmup: str | None
) -> tuple[tuple[str, str], ...]:
    """The overrides that hold for every point. Raises `ScenarioError` for one that the sweep gives."""
    own_sets = api._texts(sets)
    for key, _ in own_sets:
        if key == "run.seed":
            raise _core.ScenarioError("sets: run.seed: a sweep takes the seeds it is given, not this one")
        if key == "run.series":
            raise _core.ScenarioError("sets: run.series: a sweep keeps no series")
        if any(axis.key == key for axis in swept):
            raise _core.ScenarioError(f"sets: {key}: is swept")
    times = {"run.duration": duration, "run.warmup": warmup}
    return (*own_sets, *((key, value) for key, value in times.items() if value is not None))


def _checked(
    text: str, name: str, overrides: tuple[tuple[str, str], ...], grid: Sequence[Point], queue: own.AqmFactory | None
) -> list[Checked]:
    """What each point is. Raises `ScenarioError` that says at which point it is."""
    checked = []
    digest = cache(digest_of)  # points share files
    for point in grid:
        maker = own.Maker(queue)
        try:
            found = _core.check(text, name, [*overrides, SERIES, *point.sets], maker)
        except _core.ScenarioError as error:
            raise _core.ScenarioError(_placed(str(error), text, name, overrides, point)) from None
        resolved = json.loads(found)
        made = tuple(sorted(maker.made, key=str))
        checked.append(Checked(resolved, maker.about, made, files_of(resolved, name, digest)))
    return checked


def _job(
    text: str, name: str, sets: tuple[tuple[str, str], ...], seed: int, queue: own.AqmFactory | None, checked: Checked
) -> Job:
    """One run. Paths are made absolute: a worker may be in another folder."""
    told = tuple(
        (key, os.path.abspath(value) if key.endswith(".discipline") and ".py:" in value else value)
        for key, value in sets
    )
    path = name if name == api.PYTHON else os.path.abspath(name)
    return Job(text, path, told, seed, queue, sweep_work.build(), checked.files, checked.made)


def _all_matter(swept: Sequence[Axis], resolved: Sequence[object]) -> None:
    """Raise `ScenarioError` for a key whose values make no difference anywhere, such as one of another discipline."""
    stride = len(resolved)
    for axis in swept:
        count, stride = len(axis.values), stride // len(axis.values)
        first = (place - place // stride % count * stride for place in range(len(resolved)))
        if count > 1 and all(each == resolved[place] for each, place in zip(resolved, first, strict=True)):
            raise _core.ScenarioError(
                f"over: {axis.key}: its values make no difference; what a discipline's own table says, such as "
                f"queue.red.w_q, goes before queue.w_q"
            )


def _placed(message: str, text: str, name: str, overrides: tuple[tuple[str, str], ...], point: Point) -> str:
    """The core's message about one point, with the name of the argument it is about, and the point if that matters."""

    def says_the_same(*sets: tuple[str, str]) -> bool:
        try:
            _core.check(text, name, [*overrides, *sets])
        except _core.ScenarioError as error:
            return str(error) == message
        return False

    if says_the_same():  # whatever is swept
        return message
    for key, value in point.sets:
        if says_the_same((key, value)):
            about = message.removeprefix("sets: ")
            if about.endswith("must be a whole number"):
                about += '; a range of them ends in the word "whole"'
            return f"over: {about}" if about.startswith(key) else f"over: {key}={value}: {about}"
    if any(message.startswith(f"sets: {key}") for key, _ in point.sets):
        message = message.replace("sets: ", "over: ", 1)
    return f"{message} (at {point.label})"


def _tables(
    store: Store,
    keys: Sequence[str],
    grid: Sequence[Point],
    swept: Sequence[Axis],
    overrides: Sequence[tuple[str, str]],
    seeds: Sequence[int],
) -> dict[str, pl.DataFrame]:
    """The tables of all runs, after the columns that name the run of a row: tables of several sweeps can be joined."""
    import numpy as np
    import polars as pl

    cells = {axis.column: [point.cells[place] for point in grid for _ in seeds] for place, axis in enumerate(swept)}
    cells |= {column: [cell] * len(keys) for column, cell in constants(overrides).items()}
    named = pl.DataFrame(cells).with_columns(pl.Series("seed", [*seeds] * len(grid), dtype=pl.UInt64))
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in TABLES}
    for each in keys:
        run = store.get(each)
        for name in TABLES[:-1]:
            parts[name].append(pl.read_ipc_stream(BytesIO(getattr(run, name))))
        totals = json.loads(run.totals)
        types = {name: pl.Float64 if isinstance(value, float) else pl.UInt64 for name, value in totals.items()}
        parts["totals"].append(pl.DataFrame([totals], schema=types))
    tables = {}
    for name, frames in parts.items():
        run_of_row = np.repeat(np.arange(len(keys)), [frame.height for frame in frames])
        tables[name] = pl.concat([named[run_of_row], pl.concat(frames)], how="horizontal").rechunk()
    return tables


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
        "over": [{"key": axis.key, "column": axis.column, "values": list(axis.values)} for axis in swept],
        "seeds": seeds,
    }
