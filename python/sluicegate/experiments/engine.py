"""Experiments: many seeds of a few scenarios, run on all cores, with results that never show in which order they ended.

The unit of work is one call of `work(task)`: a scenario's text and a seed go in, the few columns that a report needs
come out. Both are picklable, so any `concurrent.futures.Executor` will do; by default threads share the process, since
the core releases the GIL while it runs. A discipline written in Python needs it, so that processes take their place.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import get_context
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Protocol, TypeVar

from .. import custom_aqm

if TYPE_CHECKING:
    import polars as pl

    from ..papers import Progress

Sets = tuple[tuple[str, str], ...]
"""Overrides of a scenario: dotted keys and values, as `--set` takes them."""

Keep = Mapping[str, tuple[str, ...]]
"""The tables of a run to keep, and of each the columns."""

AHEAD = 1000
"""How many tasks are submitted before their turn: enough for the largest pool, and few enough to take back at once."""

Job = TypeVar("Job")
Result = TypeVar("Result")

Work = Callable[[Job, "Flag | None"], Result]
"""What is done with one job. Importable, so that other processes can do it; the flag, when set, ends it soon."""

Tables = dict[str, "pl.DataFrame"]
"""Tables by name. Each starts with the columns `experiment` and `seed`, which name the run of a row."""

Derive = Callable[[Tables], Tables]
"""From the tables of a run, as they come, to others that are kept of it."""


@dataclass(frozen=True)
class Experiment:
    """One scenario that is run for every seed.

    `id`: unique among the experiments of a report. `text`: the scenario, TOML. `name`: the file name that error
    messages use. `sets`: its overrides. `keep`: what of each run's tables the report needs. `queue`: the discipline
    written in Python that the text calls `custom_aqm.described(queue)`; one that is named `path.py:Class` needs none.
    `derive`: makes further tables of a run's, which `keep` names too; a function of a module, so that processes can be
    handed it.
    `once`: tables that are kept of the first seed alone, because they are large and one run of them is drawn.
    `by_seed`: further overrides of single seeds; if there are any, only these seeds are run.
    `cost`: how many times as long as others it runs, for the progress that is told.
    """

    id: str
    text: str
    name: str
    sets: Sets
    keep: Keep
    queue: custom_aqm.AqmFactory | None = None
    derive: Derive | None = None
    once: tuple[str, ...] = ()
    by_seed: Mapping[int, Sets] = field(default_factory=dict)
    cost: int = 1

    def runs(self, seed: int) -> bool:
        """Whether it is run for this seed."""
        return not self.by_seed or seed in self.by_seed


@dataclass(frozen=True)
class Task:
    """One run: an experiment and a seed; `first`: the seed is the first of the experiment's. Picklable."""

    experiment: Experiment
    seed: int
    first: bool = True


class Flag(Protocol):
    """An event, of threads or of processes."""

    def set(self) -> None: ...
    def is_set(self) -> bool: ...


class Cancelled(Exception):
    """Ends a run whose result nobody waits for any more."""


def work(task: Task, cancel: Flag | None = None) -> Tables:
    """Run `task` and return the tables and columns that its experiment keeps, after the columns that name the run.

    `cancel`, when set, ends the run within a tenth of a second by raising `Cancelled`. Raises
    `sluicegate.ScenarioError` when the scenario is not valid and KeyError when a table lacks a column to keep.
    """
    import polars as pl

    from ..results import tables_from_core

    experiment = task.experiment
    watch = watcher(cancel)
    sets = [*experiment.sets, *experiment.by_seed.get(task.seed, ()), ("run.seed", str(task.seed))]
    raw = custom_aqm.run(experiment.text, experiment.name, sets, watch, experiment.queue)
    tables = tables_from_core(raw)
    if experiment.derive is not None:
        tables |= experiment.derive(tables)
    run = [pl.lit(experiment.id).alias("experiment"), pl.lit(task.seed, dtype=pl.UInt64).alias("seed")]
    left_out = () if task.first else experiment.once
    kept = {table: columns for table, columns in experiment.keep.items() if table not in left_out}
    return {table: tables[table].select(*run, *columns) for table, columns in kept.items()}


def watcher(cancel: Flag | None) -> Callable[[float, float, int], None]:
    """What a run is to call as its progress: it raises `Cancelled` once `cancel` is set, and does so here already."""

    def watch(_now: float, _end: float, _packets: int) -> None:
        if cancel is not None and cancel.is_set():
            raise Cancelled

    watch(0.0, 0.0, 0)
    return watch


_cancel: Flag | None = None
"""In a process that runs tasks: set when their results are not waited for any more."""


def _enter(cancel: Flag) -> None:
    """A process begins to run tasks. Ctrl-C ends it at once; what is to be said then, the first process says."""
    global _cancel
    _cancel = cancel
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _in_process(work: Work[Job, Result], job: Job) -> Result:
    return work(job, _cancel)


def _here(work: Work[Job, Result], cancel: Flag, job: Job) -> Result:
    return work(job, cancel)


def _elsewhere(work: Work[Job, Result], job: Job) -> Result:
    return work(job, None)


def _needs_processes(experiments: Sequence[Experiment]) -> bool:
    """Whether a discipline is written in Python; what no other process can import, a lambda say, stays in this one."""
    written = [experiment for experiment in experiments if custom_aqm.in_python(experiment.text, experiment.sets)]
    return bool(written) and all(custom_aqm.importable(experiment.queue) for experiment in written)


def run_experiments(
    experiments: Sequence[Experiment],
    seeds: Sequence[int],
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Tables:
    """Run every experiment for every seed; rows stand in the order of the experiments, then of the seeds.

    `jobs`: how many at once (default: one for each core this process may use), in threads, or in processes when a
    discipline is written in Python. `executor`: runs the tasks instead; it is left open. `progress` is called in this
    thread after each run, with the costs of what is done and of all. An exception of a run, of `progress`, or a
    KeyboardInterrupt cancels what is left and is raised. Raises ValueError when two experiments share an id or there
    is no seed.
    """
    if not seeds:
        raise ValueError("at least one seed is needed")
    if len({experiment.id for experiment in experiments}) != len(experiments):
        raise ValueError("two experiments share an id")
    seeds_of = {experiment.id: [seed for seed in seeds if experiment.runs(seed)] for experiment in experiments}
    tasks = [
        Task(experiment, seed, seed == seeds_of[experiment.id][0])
        for experiment in experiments
        for seed in seeds_of[experiment.id]
    ]
    done: list[Tables | None] = [None] * len(tasks)
    with finished(work, tasks, jobs, executor, executor is None and _needs_processes(experiments)) as results:
        spent, total = 0, sum(task.experiment.cost for task in tasks)
        for index, tables in results:
            done[index] = tables
            spent += tasks[index].experiment.cost
            if progress is not None:
                progress(spent, total, tasks[index].experiment.id)
    return _stack([tables for tables in done if tables is not None])


@contextmanager
def finished(
    work: Work[Job, Result], tasks: Sequence[Job], jobs: int | None, executor: Executor | None, processes: bool
) -> Iterator[Iterator[tuple[int, Result]]]:
    """Do `work` with every task; lend the results as they come, each with the place of its task in `tasks`.

    `jobs` at once, in threads or in `processes`; or `executor` does it. A result that has been handed over is kept
    nowhere here. When the block is left by an exception, of a task or of the block, what has not ended is cancelled.
    """
    with _pool(work, jobs, executor, processes) as submit:
        yield _results(submit, tasks)


@contextmanager
def _pool(
    work: Work[Job, Result], jobs: int | None, executor: Executor | None, processes: bool
) -> Iterator[Callable[[Job], Future[Result]]]:
    """Lend a function that submits a task; when the block is left by an exception, cancel what has not ended."""
    cancel: Flag = threading.Event()
    pool: Executor | None = None
    call: Callable[[Job], Result] = partial(_elsewhere, work)
    if processes:
        # Spawned, not forked: a fork would copy locks that other threads hold.
        context = get_context("spawn")
        cancel, call = context.Event(), partial(_in_process, work)
        pool = ProcessPoolExecutor(jobs or cores(), context, _enter, (cancel,))
    elif executor is None:
        call = partial(_here, work, cancel)
        pool = ThreadPoolExecutor(jobs or cores())
    submitted: set[Future[Result]] = set()

    def submit(task: Job) -> Future[Result]:
        future: Future[Result] = (pool or executor).submit(call, task)  # type: ignore[union-attr]
        submitted.add(future)
        future.add_done_callback(submitted.discard)
        return future

    try:
        yield submit
    except BaseException:
        cancel.set()
        for future in list(submitted):
            future.cancel()
        raise
    finally:
        if pool is not None:
            pool.shutdown()


def _results(submit: Callable[[Job], Future[Result]], tasks: Sequence[Job]) -> Iterator[tuple[int, Result]]:
    """The place and the result of each task once it has ended, `AHEAD` of them submitted at a time."""
    futures: dict[Future[Result], int] = {}
    ended: SimpleQueue[Future[Result]] = SimpleQueue()
    # The longest runs often come last in a list; starting from its end keeps all cores busy until the finish.
    waiting = reversed(range(len(tasks)))
    while True:
        for index in islice(waiting, AHEAD - len(futures)):
            future = submit(tasks[index])
            futures[future] = index
            future.add_done_callback(ended.put)
        if not futures:
            return
        try:
            # Unlike the library's `as_completed`, look up ten times a second: a signal that the system hands to another
            # thread does not end the main thread's wait by itself.
            future = ended.get(timeout=0.1)
        except Empty:
            continue
        yield futures.pop(future), future.result()


def _stack(parts: Sequence[Tables]) -> Tables:
    """The tables of all runs, those of the same name one below the other."""
    import polars as pl

    names = dict.fromkeys(name for tables in parts for name in tables)
    return {name: pl.concat([tables[name] for tables in parts if name in tables], how="diagonal") for name in names}


def cores() -> int:
    """How many cores this process may use, at least 1."""
    try:
        return len(os.sched_getaffinity(0)) or 1
    except AttributeError:  # not every system has affinities
        return os.cpu_count() or 1
