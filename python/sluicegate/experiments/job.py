"""One run of an experiment: the request to a worker, its answer, and the key under which the answer is kept."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .. import _core
from ..custom import aqm as custom_aqm
from ..declarations import declarations
from ..results import tables_from_core
from ..scenario import PYTHON, TEXT
from . import real_hosts

if TYPE_CHECKING:
    import polars as pl

Sets = tuple[tuple[str, str], ...]
"""Overrides of a scenario: dotted keys and values, as `--set` takes them."""

Keep = Mapping[str, tuple[str, ...] | None]
"""The tables of a run to keep, and of each the columns; None for all. `totals` is a table too, of one row: those of the
summary, and the number of events. So is `live`, of runs between real hosts: how well the clock was kept."""

Tables = dict[str, "pl.DataFrame"]
"""Tables by name."""

Derive = Callable[[Tables], Tables]
"""From the tables of a run, as they come, to others that are kept of it."""

Files = tuple[tuple[str, str], ...]
"""Files that a scenario names, and the SHA-256 of what is in each."""

Kept = dict[str, bytes]
"""What is kept of one run: its tables by name, as Arrow streams."""

OWN = (".discipline", ".ends", ".controller")
"""How keys end whose values may name a file of one's own."""

TOTALS = "totals"

LIVE = "live"
"""The table that says of a run between real hosts how well the clock was kept."""


@dataclass(frozen=True)
class Checked:
    """A scenario, checked, and all but the seed that the results of its runs depend on.

    `resolved`: the scenario with every default filled in. `about`: what was made of a discipline in Python. `made`:
    each of them, with the digest of its file. `files`: those of connections. `unused`: as `_core.Scenario` has it.
    """

    resolved: dict[str, Any]
    about: dict[str, Any]
    made: custom_aqm.Made
    files: Files
    unused: list[tuple[str, str, str]]


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
    `checked`: what `check` makes of it, when that is known already.
    `real`: it is run between real hosts, in this way; None for a simulation. Of what `keep` names, what only a
    simulator knows is left out.
    `may_raise`: an exception of a discipline written in Python ends the run alone, of which no tables are kept.
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
    checked: Checked | None = None
    real: real_hosts.RealHosts | None = None
    may_raise: bool = False

    def runs(self, seed: int) -> bool:
        """Whether it is run for this seed."""
        return not self.by_seed or seed in self.by_seed


@dataclass(frozen=True)
class Job:
    """One run, as a worker is asked for it. Picklable; the fields that `Experiment` has too mean the same.

    `build`: of the program that asks, as `build()` tells it; a worker with another must not answer. `files`: the
    scenario's files of connections, with their digests, and `made`: its disciplines in Python, with those of their
    files; a worker that finds others must not answer either. None: not looked at.
    """

    text: str
    name: str
    sets: Sets
    seed: int
    keep: Keep
    queue: custom_aqm.AqmFactory | None = None
    derive: Derive | None = None
    build: str = ""
    files: Files = ()
    made: custom_aqm.Made | None = None
    real: real_hosts.RealHosts | None = None
    may_raise: bool = False
    id: str = ""


class Flag(Protocol):
    """An event, of threads or of processes."""

    def set(self) -> None: ...
    def is_set(self) -> bool: ...


class Cancelled(Exception):
    """Ends a run whose result nobody waits for any more."""


def work(job: Job, cancel: Flag | None = None) -> Kept:
    """Run `job`. `cancel`, when set, ends it within a tenth of a second by raising `Cancelled`; one between real hosts
    within half a second.

    Raises `sluicegate.ScenarioError` when the scenario is not valid or a file is not the one asked for, KeyError when
    there is no table to keep, `polars.exceptions.ColumnNotFoundError` when it lacks a column, RuntimeError when this is
    another build of Sluicegate, and what a discipline written in Python raises.
    """
    import polars as pl

    if job.build not in ("", build()):
        raise RuntimeError(
            f"this worker has Sluicegate {_shown(build())}, and {_shown(job.build)} asks it for a run; "
            "install the same wheel on both"
        )
    for file, wanted in job.files:
        path = Path(job.name).parent / file
        try:
            found = digest_of(path)
        except OSError as error:
            raise _core.ScenarioError(f"{path}: cannot be read where the run is made: {error.strerror}") from None
        if found != wanted:
            raise _core.ScenarioError(f"{path}: {custom_aqm.another_file(found, wanted)}")
    core = _core.Scenario(job.text, job.name, [*job.sets, ("run.seed", str(job.seed))])
    watch = _watch(cancel)
    if job.real is None:
        try:
            raw = custom_aqm.run(core, watch, job.queue, expected=job.made)
        except BaseException as error:
            if job.may_raise and isinstance(error, Exception) and custom_aqm.traceback_of(error) is not None:
                return {}
            if (carried := custom_aqm.carried(error, f"in a run of {job.id}, seed {job.seed}")) is not error:
                raise carried from error
            raise
    else:
        told = lambda _status: watch(0.0, 0.0, 0)  # noqa: E731
        raw = real_hosts.run(core, job.real, told, job.queue, job.made)
    summary = json.loads(raw["summary"])
    totals = summary["totals"] | {"events": summary["events"]}
    types = {name: pl.Float64 if isinstance(value, float) else pl.Int64 for name, value in totals.items()}
    if job.derive is None:
        raw["tables"] = {name: columns for name, columns in raw["tables"].items() if name in job.keep}
    tables = tables_from_core(raw) | {TOTALS: pl.DataFrame([totals], schema=types)}
    if job.real is not None:
        tables[LIVE] = pl.DataFrame([real_hosts.clock(summary["live"])], schema=real_hosts.CLOCK)
    if job.derive is not None:
        tables |= job.derive(tables)
    kept = {}
    for name, columns in job.keep.items():
        stream = BytesIO()
        if columns is not None and job.real is not None:
            columns = tuple(column for column in columns if column in tables[name].columns)
        table = tables[name] if columns is None else tables[name].select(columns)
        table.write_ipc_stream(stream, compression="zstd")
        kept[name] = stream.getvalue()
    return kept


def _watch(cancel: Flag | None) -> Callable[[float, float, int], None]:
    """What a run is to call as its progress: it raises `Cancelled` once `cancel` is set, and does so here already."""

    def watch(_now: float, _end: float, _packets: int) -> None:
        if cancel is not None and cancel.is_set():
            raise Cancelled

    watch(0.0, 0.0, 0)
    return watch


# --- asking ------------------------------------------------------------------------------------


def check(experiment: Experiment, seed: int | None = None, digest: Callable[[Path], str] | None = None) -> Checked:
    """What an experiment is, with the overrides of `seed`, if it has any. `digest`: in place of `digest_of`.

    Raises `ScenarioError`, OSError for a file of connections, and what a discipline written in Python raises.
    """
    maker = custom_aqm.Maker(experiment.queue)
    sets = [*experiment.sets, *(() if seed is None else experiment.by_seed.get(seed, ()))]
    core = _core.Scenario(experiment.text, experiment.name, sets)
    core.try_making(maker)
    resolved = core.resolved()
    named = {flow["vectors"] for flow in resolved["flows"] if flow.get("vectors") is not None}
    network = resolved["network"]
    directions = (network, network.get("reverse", {}), *network.get("links", []))
    traced = [link.get("trace") for link in directions]
    named |= {file for file in traced if file is not None and file not in known_traces()}
    files = tuple((file, (digest or digest_of)(Path(experiment.name).parent / file)) for file in sorted(named))
    return Checked(resolved, maker.about, tuple(sorted(maker.made, key=str)), files, core.unused)


@cache
def known_traces() -> frozenset[str]:
    """The traces that come with the package: the build says what is in them."""
    return frozenset(declarations()["traces"])


def job_of(experiment: Experiment, seed: int, first: bool, checked: Checked, elsewhere: bool) -> Job:
    """The run of `experiment` for `seed`, its `first` or not. `elsewhere`: a worker may be in another folder."""
    sets, name = (*experiment.sets, *experiment.by_seed.get(seed, ())), experiment.name
    if elsewhere:
        sets = tuple(
            (key, os.path.abspath(value) if key.endswith(OWN) and (".py:" in value or ".rs:" in value) else value)
            for key, value in sets
        )
        name = name if name in (PYTHON, TEXT) else os.path.abspath(name)
    left_out = () if first else experiment.once
    keep = {table: columns for table, columns in experiment.keep.items() if table not in left_out}
    queue, derive = experiment.queue, experiment.derive
    return Job(
        experiment.text, name, sets, seed, keep, queue, derive, build(), checked.files, checked.made, experiment.real,
        experiment.may_raise, experiment.id,
    )  # fmt: skip


def key_of(job: Job, checked: Checked, derived: str | None) -> str:
    """What a run is known by: the digest of all that what is kept of it depends on.

    `derived`: the `identity` of what derives tables, if anything does. What cannot be told apart from others gets a key
    of its own, and so is run anew each time.
    """
    run = {key: value for key, value in checked.resolved["run"].items() if key != "goals"}  # they change nothing in it
    told: dict[str, Any] = {
        "build": build(),
        "scenario": {**checked.resolved, "run": {**run, "seed": job.seed}},
        "discipline": checked.about,
        "made": checked.made,
        "files": checked.files,
        "keep": dict(job.keep),
        "derive": derived,
    }
    if job.real is not None:  # the keys of simulations stay as they are
        told["real"] = job.real.key
    if job.may_raise:
        told["may_raise"] = True
    unknown = (job.queue is not None and not _told(job.queue)) or any(digest is None for _, digest in checked.made)
    if unknown or (job.derive is not None and derived is None):
        told["unknown"] = secrets.token_hex(16)
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def digest_of(path: Path) -> str:
    """The SHA-256 of what is in a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _told(queue: custom_aqm.AqmFactory) -> bool:
    """Whether the file of a class, and the arguments bound to it, say all there is to say of a discipline."""
    factory: Any = queue
    while isinstance(factory, partial):
        try:
            json.dumps(factory.keywords)
        except (TypeError, ValueError):
            return False
        if factory.args:
            return False
        factory = factory.func
    return isinstance(factory, type)


@cache
def build() -> str:
    """The version and the digest of the compiled core: who changes a discipline in Rust wants its runs anew."""
    return f"{_core.version()} {hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()}"


def _shown(of: str) -> str:
    """A build as a message names it: two of one version are told apart by the digests of their cores."""
    version, _, digest = of.partition(" ")
    return f"{version} (core {digest[:12]})"
