"""The engine: scenarios, run for many seeds on all cores, with results that do not depend on which run ends first.

What was run is kept under a key made of all that it depends on (`job`), in a store on disk or in memory, and is not run
again. The unit of work is one call of `work(job)`; jobs and answers are picklable, so any `concurrent.futures.Executor`
will do, a Dask cluster's (`cluster`) included. By default threads share the process, since the core releases the GIL
while it runs. A discipline written in Python needs the GIL, so processes take the place of threads.
"""

from __future__ import annotations

import operator
import os
import pickle
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from functools import cache, partial
from io import BytesIO
from itertools import islice
from multiprocessing import current_process
from multiprocessing.context import SpawnContext, SpawnProcess
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from .. import _core
from ..custom import aqm as custom_aqm
from ..custom import ends as custom_ends
from ..custom.rust import is_rust
from .identity import identity
from .job import (
    Checked,
    Derive,
    Experiment,
    Flag,
    Job,
    Keep,
    Kept,
    Sets,
    Tables,
    check,
    digest_of,
    job_of,
    key_of,
    work,
)
from .store import Store

__all__ = [
    "Derive",
    "Experiment",
    "Keep",
    "MissingRuns",
    "Progress",
    "Sets",
    "Store",
    "Tables",
    "check_workers",
    "cores",
    "finished",
    "run_experiments",
    "seed_numbers",
    "told_runs",
]

Progress = Callable[[int, int, str], object]
"""Called with the number of runs done and of all that were missing, and the id of the experiment whose run has just
ended; may raise to end the work."""


class MissingRuns(Exception):
    """Runs that were to be taken from a store are not there. The message says how many, and where they were sought."""


MOST_SEEDS = 1_000_000
"""What can be asked for at once; the runs are listed before they begin."""

LARGEST_SEED = 2**63 - 1
"""The core's."""

AHEAD = 1000
"""How many tasks are submitted before their turn: enough for the largest pool, and few enough to take back at once."""

Task = TypeVar("Task")
Result = TypeVar("Result")

Work = Callable[[Task, Flag | None], Result]
"""What is done with one task. Importable, so that other processes can do it; the flag, when set, ends it soon."""

UNGUARDED = (
    "a discipline written in Python runs in separate processes, and each first imports your script: put the call below "
    '`if __name__ == "__main__":`'
)
NAME = "sluicegate-worker"
"""Of the processes that run tasks."""

READ_AGAIN = 86
"""The exit code of a worker that reached the call that started it. Neither Python nor a signal uses this code."""

_cancel: Flag | None = None
"""In a worker: set when nobody waits for results any more."""


def _enter(cancel: Flag) -> None:
    """Start a worker. Ctrl-C ends it at once; the first process prints the message."""
    global _cancel
    _cancel = cancel
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class _Context(SpawnContext):
    """Makes the workers and remembers them. Spawned, not forked: a fork would copy locks that other threads hold."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[SpawnProcess] = []

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]
        self.made.append(SpawnProcess(*args, **kwargs))
        self.made[-1].name = NAME
        return self.made[-1]


def _check_guarded(queues: Iterable[custom_aqm.AqmFactory | None]) -> None:
    """Refuse to start workers while a spawned worker is still importing the user's script (the missing __main__ guard).
    Raises RuntimeError, except in one of our own workers, which exits: the first process reports it once."""
    process = current_process()
    if not getattr(process, "_inheriting", False):  # true until the script has been read
        return
    try:
        pickle.dumps(list(queues))
    except (pickle.PicklingError, AttributeError, TypeError):
        return  # threads do
    if process.name == NAME:
        sys.exit(READ_AGAIN)
    raise RuntimeError(UNGUARDED)


def _in_process(work: Work[Task, Result], task: Task) -> Result:
    return work(task, _cancel)


def _here(work: Work[Task, Result], cancel: Flag, task: Task) -> Result:
    return work(task, cancel)


def _elsewhere(work: Work[Task, Result], flag: Callable[[], Flag] | None, task: Task) -> Result:
    return work(task, None if flag is None else flag())


def run_experiments(
    experiments: Sequence[Experiment],
    seeds: Sequence[int],
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    *,
    store: Store | None = None,
    cluster: str | None = None,
    kept_only: bool = False,
) -> Tables:
    """Run every experiment for every seed; return what they keep, each table after the columns `experiment` and `seed`,
    with rows in the order of the experiments, then of the seeds.

    `jobs`: how many at once (default: one for each core this process may use), in threads, or in processes when a
    discipline is written in Python. `executor`: runs them instead; it is left open. `cluster`: so does the Dask
    cluster with its scheduler at this address. `store`: keeps each run as it ends; what is there already is not run
    again. Runs between real hosts come first, here and one at a time, for they need the machine to themselves.
    `kept_only`: raise `MissingRuns` rather than run anything. `progress` is called in this thread after each
    run, with the numbers of what is done and of all that was missing.

    Every experiment is checked before any is run. An exception of a run, of `progress`, or a KeyboardInterrupt cancels
    what is left and is raised. Raises ValueError when two experiments share an id, there is no seed, less than one job,
    or more than one of `jobs`, `executor` and `cluster`; RuntimeError when processes are needed and the script begins
    them while they read it; and what `job.work` and `cluster.executor` raise.
    """
    if not seeds:
        raise ValueError("at least one seed is needed")
    if len({experiment.id for experiment in experiments}) != len(experiments):
        raise ValueError("two experiments share an id")
    check_workers(jobs, executor, cluster)
    runs = [(experiment, seed) for experiment in experiments for seed in seeds if experiment.runs(seed)]
    with ExitStack() as stack:
        store = stack.enter_context(Store()) if store is None else store
        elsewhere = executor is not None or cluster is not None
        there = store.keys()
        keys, missing = _asked(runs, there, elsewhere)
        store.found += sum(key in there for key in keys)
        if missing and kept_only:
            raise MissingRuns(f"{len(missing)} of {len(runs)} runs are not kept in {store.place}")
        if missing:
            if cluster is not None:
                from .cluster import executor as executor_of

                executor = stack.enter_context(executor_of(cluster))
            done = 0
            for real in (True, False):
                part = {name: todo for name, todo in missing.items() if (todo[0].real is not None) is real}
                with closing(_run(part, 1 if real else jobs, None if real else executor)) as results:
                    for name, kept in results:
                        store.add(name, kept)
                        done += 1
                        if progress is not None:
                            progress(done, len(missing), part[name][1].id)
        return _stack(runs, keys, store)


def _run(
    missing: Mapping[str, tuple[Job, Experiment]], jobs: int | None, executor: Executor | None
) -> Generator[tuple[str, Kept]]:
    """Run what is missing, by key; what is kept of each as it ends. See `run_experiments`."""
    if not missing:
        return
    tasks, names = [job for job, _ in missing.values()], list(missing)
    processes = executor is None and _needs_processes(tasks)
    with finished(work, tasks, jobs, executor, processes) as results:
        for index, kept in results:
            yield names[index], kept


def seed_numbers(seeds: int | Iterable[int]) -> list[int]:
    """The seeds meant: 1 to N, or those given, each once and none negative.

    Raises TypeError for what is no whole number, and `ScenarioError`, which is a ValueError, for other wrong values.
    """
    wanted = f"seeds = {seeds!r}: must be a whole number, or seeds themselves"
    if not isinstance(seeds, Iterable) or getattr(seeds, "ndim", None) == 0:  # an array of one number
        count = _whole(seeds, wanted)
        if count < 1:
            raise _core.ScenarioError(f"seeds = {count}: at least one is needed")
        if count > MOST_SEEDS:
            raise _core.ScenarioError(f"seeds = {count}: must be at most {MOST_SEEDS}")
        return list(range(1, count + 1))
    if isinstance(seeds, str | bytes | Mapping):
        raise TypeError(wanted)
    numbers = [_whole(seed, f"seeds = {seed!r}: must be a whole number") for seed in seeds]
    if not numbers:
        raise _core.ScenarioError("seeds = []: at least one is needed")
    for seed in numbers:
        if not 0 <= seed <= LARGEST_SEED:
            raise _core.ScenarioError(f"seeds = {seed}: must be at least 0 and at most {LARGEST_SEED}")
    for seed, times in Counter(numbers).items():
        if times > 1:
            raise _core.ScenarioError(f"seeds = {seed}: is there twice")
    return numbers


def _whole(value: object, wanted: str) -> int:
    """A whole number, NumPy's too. Raises TypeError that says what is `wanted`."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise TypeError(wanted)


def told_runs(done: int, total: int, _which: str) -> tuple[float, float, str]:
    """What a bar is told of many runs: see `progress.shown`."""
    return done, total, f"{done} of {total} runs"


def check_workers(jobs: int | None, executor: Executor | None, cluster: str | None) -> None:
    """Raise TypeError for jobs that are no whole number, and `ScenarioError`, which is a ValueError, for less than one
    job and for more than one of the three."""
    if jobs is not None and _whole(jobs, f"jobs = {jobs!r}: must be a whole number") < 1:
        raise _core.ScenarioError(f"jobs = {jobs}: must be at least 1")
    if sum(each is not None for each in (jobs, executor, cluster)) > 1:
        raise _core.ScenarioError("give one of jobs, executor and cluster")


def _asked(
    runs: Sequence[tuple[Experiment, int]], there: set[str], elsewhere: bool
) -> tuple[list[str], dict[str, tuple[Job, Experiment]]]:
    """The key of each run, and by key the runs that are not there; two that share a key are one."""
    digest = cache(digest_of)  # experiments share files
    checked: dict[str, Checked] = {}
    derived: dict[str, str | None] = {}
    keys: list[str] = []
    missing: dict[str, tuple[Job, Experiment]] = {}
    for experiment, seed in runs:
        first = experiment.id not in checked
        if first or experiment.by_seed:
            checked[experiment.id] = experiment.checked or check(experiment, seed, digest)
        if first:
            derived[experiment.id] = None if experiment.derive is None else identity(experiment.derive)
        job = job_of(experiment, seed, first, checked[experiment.id], elsewhere)
        keys.append(key_of(job, checked[experiment.id], derived[experiment.id]))
        if keys[-1] not in there:
            missing.setdefault(keys[-1], (job, experiment))
    return keys, missing


def _needs_processes(jobs: Sequence[Job]) -> bool:
    """Whether something is written in Python; what no other process can import, a lambda say, stays in this one."""
    queues = {job.queue for job in jobs if any(not is_rust(name) for name, _ in job.made or ())}
    if queues:
        _check_guarded(queues)
    here = any(name in custom_ends.HERE for job in jobs for name, _ in job.made or ())
    return bool(queues) and not here and all(map(custom_aqm.importable, queues))


@contextmanager
def finished(
    work: Work[Task, Result], tasks: Sequence[Task], jobs: int | None, executor: Executor | None, processes: bool
) -> Iterator[Iterator[tuple[int, Result]]]:
    """Do `work` with every task; provide the results as they come, each with the place of its task in `tasks`.

    `jobs` at once, in threads or in `processes`; or `executor` does it. A result that has been handed over is kept
    nowhere here. When the block is left by an exception, of a task or of the block, what has not ended is cancelled.
    """
    with _pool(work, jobs, executor, processes) as submit:
        yield _results(submit, tasks)


@contextmanager
def _pool(
    work: Work[Task, Result], jobs: int | None, executor: Executor | None, processes: bool
) -> Iterator[Callable[[Task], Future[Result]]]:
    """Provide a function that submits a task; when the block is left by an exception, cancel what has not ended."""
    cancel: Flag = threading.Event()
    pool: Executor | None = None
    # A cluster has flags of its own; the executors of others leave a run that has begun alone.
    call: Callable[[Task], Result] = partial(_elsewhere, work, getattr(executor, "flag", None))
    context = _Context()
    if processes:
        cancel, call = context.Event(), partial(_in_process, work)
        pool = ProcessPoolExecutor(jobs or cores(), context, _enter, (cancel,))
    elif executor is None:
        call = partial(_here, work, cancel)
        pool = ThreadPoolExecutor(jobs or cores())
    submitted: set[Future[Result]] = set()

    def submit(task: Task) -> Future[Result]:
        future: Future[Result] = (pool or executor).submit(call, task)  # type: ignore[union-attr]
        submitted.add(future)
        future.add_done_callback(submitted.discard)
        return future

    try:
        yield submit
    except BaseException as error:
        cancel.set()
        for future in list(submitted):
            future.cancel()
        if pool is not None and isinstance(error, BrokenProcessPool):
            pool.shutdown()  # the processes have ended then, and say how
            if any(process.exitcode == READ_AGAIN for process in context.made):
                raise RuntimeError(UNGUARDED) from None
        raise
    finally:
        if pool is not None:
            pool.shutdown()


def _results(submit: Callable[[Task], Future[Result]], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
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


def _stack(runs: Sequence[tuple[Experiment, int]], keys: Sequence[str], store: Store) -> Tables:
    """The tables of all runs, those of the same name one below the other, after the columns that name the run."""
    import numpy as np
    import polars as pl

    ids = pl.Series("experiment", [experiment.id for experiment, _ in runs], dtype=pl.String)
    named = pl.DataFrame([ids, pl.Series("seed", [seed for _, seed in runs], dtype=pl.Int64)])
    parts: dict[str, list[pl.DataFrame]] = {}
    places: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        for name, stream in store.get(key).items():
            parts.setdefault(name, []).append(pl.read_ipc_stream(BytesIO(stream)))
            places.setdefault(name, []).append(place)
    tables = {}
    for name, frames in parts.items():
        run_of_row = np.repeat(places[name], [frame.height for frame in frames])
        # Experiments may keep other columns of a table: what one has not is null.
        tables[name] = pl.concat([named[run_of_row], pl.concat(frames, how="diagonal")], how="horizontal").rechunk()
    return tables


def cores() -> int:
    """How many cores this process may use, at least 1."""
    try:
        return len(os.sched_getaffinity(0)) or 1
    except AttributeError:  # not every system has affinities
        return os.cpu_count() or 1
