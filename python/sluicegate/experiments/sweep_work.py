"""One run of a sweep: what is asked of a worker, what it answers, and the key under which the answer is kept."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any

from .. import _core, custom_aqm
from .engine import Flag, Sets, watcher
from .store import Kept

SERIES = ("run.series", "false")
"""A sweep keeps no series."""

Files = tuple[tuple[str, str], ...]
"""Files that a scenario names, and the SHA-256 of what is in each."""


@dataclass(frozen=True)
class Job:
    """One run. Picklable.

    `text`: the scenario, TOML. `name`: the file name that messages use, and from whose folder `path.py:Class` counts.
    `sets`: its overrides. `queue`: the discipline written in Python that the text calls `custom_aqm.described(queue)`.
    `build`: of the program that asks, as `build()` tells it; a worker with another must not answer. `files`: the
    scenario's files of connections, with their digests, and `made`: its disciplines in Python, with those of their
    files; a worker that finds others must not answer either. None: not looked at.
    """

    text: str
    name: str
    sets: Sets
    seed: int
    queue: custom_aqm.AqmFactory | None = None
    build: str = ""
    files: Files = ()
    made: custom_aqm.Made | None = None


@dataclass(frozen=True)
class Checked:
    """A point of the grid, checked, and all but the seed that its results depend on.

    `resolved`: the scenario with every default filled in. `about`: what was made of a discipline in Python. `made`:
    each of them, with the digest of its file. `files`: those of connections.
    """

    resolved: dict[str, Any]
    about: dict[str, Any]
    made: custom_aqm.Made
    files: Files


def work(job: Job, cancel: Flag | None = None) -> Kept:
    """Run `job`. `cancel`, when set, ends it within a tenth of a second by raising `runner.Cancelled`.

    Raises `sluicegate.ScenarioError` when the scenario is not valid or a file is not the one asked for, RuntimeError
    when this is another build of Sluicegate, and what a discipline written in Python raises.
    """
    from ..results import tables_from_core

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
    sets = [*job.sets, SERIES, ("run.seed", str(job.seed))]
    raw = custom_aqm.run(job.text, job.name, sets, watcher(cancel), job.queue, expected=job.made)
    summary = json.loads(raw["summary"])
    raw["tables"] = {name: raw["tables"][name] for name in Kept._fields if name != "totals"}
    streams = {}
    for name, table in tables_from_core(raw).items():
        stream = BytesIO()
        table.write_ipc_stream(stream, compression="zstd")
        streams[name] = stream.getvalue()
    return Kept(**streams, totals=json.dumps(summary["totals"] | {"events": summary["events"]}))


def key_of(point: Checked, seed: int, queue: custom_aqm.AqmFactory | None) -> str:
    """What a run is known by: the digest of all that its results depend on.

    What cannot be told apart from others gets a key of its own, and so is run anew each time.
    """
    told: dict[str, Any] = {
        "build": build(),
        "scenario": {**point.resolved, "run": {**point.resolved["run"], "seed": seed}},
        "discipline": dict(point.about),
        "made": point.made,
        "files": point.files,
    }
    if (queue is not None and not _told(queue)) or any(digest is None for _, digest in point.made):
        told["unknown"] = secrets.token_hex(16)
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def files_of(resolved: Mapping[str, Any], name: str, digest: Callable[[Path], str]) -> Files:
    """The files of connections that a scenario names, which stand beside its own file, `name`."""
    files = {flow["vectors"] for flow in resolved["flows"] if flow.get("vectors") is not None}
    return tuple((file, digest(Path(name).parent / file)) for file in sorted(files))


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
