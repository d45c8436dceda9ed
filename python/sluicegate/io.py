"""Results are written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

LAST = ("checks.json", "summary.json")
"""The files that say that a folder is complete: new ones are written last, and old ones are removed first."""

OURS = ({"version", "scenario"}, {"version", "replay"}, {"version", "suite"}, {"law", "points"}, {"class", "verdict"})
"""Keys by which the files of `LAST` are known as Sluicegate's: of a run, comparison or sweep; of a replay; of an
evaluation; of a theory; of each check."""

KINDS = {
    "totals.parquet": "a sweep", "comparison.parquet": "a comparison", "cells.parquet": "an envelope",
    "curve.parquet": "a theory", "groups.parquet": "a run", "flows.parquet": "a replay",
}  # fmt: skip
"""The kind of results that a folder holds, by the first of these files that is in it."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of writing itself. Python does not say which file it was writing."""


@contextmanager
def staged(directory: str | Path, absent: Iterable[str] = ()) -> Iterator[Path]:
    """Provide an empty folder to write into; when the block ends well, what it holds appears in `directory`.

    A new `directory`, its parents included, appears by one renaming; in an existing one files are replaced, all or
    none, and those of other names stay, but for files called as in `absent`: they go. When
    the block raises, nothing is left. Raises OSError, before the block runs,
    when `directory` could not be written; after it, when writing fails, as on a full disk, or would replace a summary
    that is not Sluicegate's.
    """
    target = Path(directory).absolute()
    base = _writable(target)
    stage = base / f".sluicegate-{secrets.token_hex(6)}"
    folder, old = stage / "new", stage / "old"
    try:
        with _naming(target, folder):
            for made in (stage, folder, old):
                made.mkdir()
            yield folder
            with _uninterrupted():
                _publish(folder, target, old, absent)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def staged_file(path: str | Path) -> Iterator[Path]:
    """Provide the path of a file to write; when the block ends well, it appears as `path`, its parents made as needed.

    A symbolic link stays, and what it leads to is replaced. When the block raises, nothing is left. Raises OSError,
    before the block runs, when `path` could not be written, or is a device, a pipe or a socket: a renaming would put a
    plain file in its place; and when writing fails, as on a full disk.
    """
    target = Path(path).resolve() if os.path.islink(path) else Path(path).absolute()
    base = _writable(target.parent)
    _check_type(target, is_folder=False)
    stage = base / f".sluicegate-{secrets.token_hex(6)}"
    try:
        with _naming(target, stage / target.name):
            stage.mkdir()
            yield stage / target.name
            with _uninterrupted():
                target.parent.mkdir(parents=True, exist_ok=True)
                (stage / target.name).rename(target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON, indented, NaN refused. Raises OSError, and ValueError for what JSON does not know."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")


def near_file(path: Path, bundled: Sequence[str] = ()) -> str:
    """The end of a message about a file that is not there: the file of its folder whose name is nearest, and the
    nearest of names that are `bundled`, if any is near."""
    from ._core import nearest

    try:
        known = [each.name for each in path.parent.iterdir() if each.suffix == path.suffix and each.is_file()]
    except OSError:
        known = []
    complete = [] if path.suffix else [f"{path.name}.toml"]
    there = [name for name in complete if path.with_name(name).is_file()]
    near = there[0] if there else nearest(path.name, known)
    meant = [f'"{path.with_name(near)}"'] if near else []
    if same := nearest(path.name.removesuffix(".toml"), bundled):
        meant.append(f'{"the bundled " if near else ""}"{same}"')
    return f"; did you mean {' or '.join(meant)}?" if meant else ""


def check_writable(directory: str | Path, names: Iterable[str] = ()) -> None:
    """Raise OSError when `directory` could not be written, so that one need not run for hours to learn it.

    `names`: what will be written there, as paths below it; those that end in a slash are folders.
    """
    target = Path(directory).absolute()
    _writable(target)
    names = list(names)
    _check_kind(target, names)
    for name in names:
        _check_type(target / name, is_folder=name.endswith("/"))
        _check_ours(target / name)


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet. Raises OSError; when Polars writes to the disk itself, it raises something else."""
    buffer = BytesIO()
    frame.write_parquet(buffer)
    path.write_bytes(buffer.getvalue())


@contextmanager
def _naming(target: Path, stage: Path) -> Iterator[None]:
    """Errors of the block name `target`, or what is below it, rather than `stage`, which stands for it meanwhile."""
    try:
        yield
    except OSError as error:
        place = error.filename
        if place is None and error.errno in FULL:
            place = target
        elif isinstance(place, str) and Path(place).is_relative_to(stage):
            place = target / Path(place).relative_to(stage)
        elif isinstance(place, str) and Path(place).is_relative_to(stage.parent):
            place = target
        else:
            raise
        raise OSError(error.errno, error.strerror, str(place)) from error


def _writable(target: Path) -> Path:
    """The nearest of `target` and its parents that exists, which must be a folder one may write to."""
    base = next(folder for folder in (target, *target.parents) if os.path.lexists(folder))
    if not base.is_dir():
        raise NotADirectoryError(20, "not a directory", str(base))
    if not os.access(base, os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission to write here", str(base))
    return base


def _check_type(place: Path, is_folder: bool) -> None:
    """A file may replace a file, and a folder may stand for itself; nothing else."""
    if not os.path.lexists(place):
        return
    if is_folder:
        _writable(place)
    elif place.is_dir():
        raise IsADirectoryError(21, "is a directory, and a file of that name is to be written", str(place))
    elif place.exists() and not place.is_file():
        raise OSError(22, "is not a plain file, and a file of that name is to be written", str(place))


def _check_ours(place: Path) -> None:
    """A summary that is there, and would be replaced, must be Sluicegate's own."""
    if place.name in LAST and place.is_file() and not _is_ours(place):
        rule = "was not written by Sluicegate and would be replaced: write elsewhere, or move it away"
        raise FileExistsError(errno.EEXIST, rule, str(place))


def _check_kind(target: Path, names: Iterable[str]) -> None:
    """Results that are there, and of which some would stay beside others, must be of the same kind."""
    there = next((name for name in KINDS if (target / name).is_file()), None)
    given = set(names)
    new = next((name for name in KINDS if name in given), None)
    if there and new and there != new and (target / LAST[-1]).is_file():
        rule = f"holds {KINDS[there]} ({there}), and {KINDS[new]} is to be written: write elsewhere, or remove it"
        raise FileExistsError(errno.EEXIST, rule, str(target))


def _is_ours(place: Path) -> bool:
    try:
        found = json.loads(place.read_bytes())
    except (ValueError, RecursionError):
        return False
    records = found if isinstance(found, list) else [found]
    return all(isinstance(each, dict) and any(keys <= each.keys() for keys in OURS) for each in records)


def _publish(folder: Path, target: Path, old: Path, absent: Iterable[str] = ()) -> None:
    """Move what `folder` holds to `target`: all of it, or nothing. What it replaces, and files called as in `absent`,
    go to `old` meanwhile."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
        return
    names = [path.relative_to(folder) for path in sorted(folder.rglob("*"))]
    _check_kind(target, map(str, names))
    for name in names:
        _check_type(target / name, is_folder=(folder / name).is_dir())
        _check_ours(target / name)
    files = sorted((name for name in names if not (folder / name).is_dir()), key=lambda name: (name.name in LAST, name))
    undo: list[Callable[[], object]] = []
    place = target
    try:
        gone = [Path(name) for name in absent if (target / name).is_file() and Path(name) not in files]
        for name in [*reversed(files), *gone]:
            place, aside = target / name, old / name
            if os.path.lexists(place):
                aside.parent.mkdir(parents=True, exist_ok=True)
                place.rename(aside)
                undo.append(partial(aside.rename, place))
        for name in names:
            place = target / name
            if (folder / name).is_dir() and not place.exists():
                place.mkdir()
                undo.append(place.rmdir)
        for name in files:
            place = target / name
            (folder / name).rename(place)
            undo.append(place.unlink)
    except OSError as error:
        for step in reversed(undo):
            with suppress(OSError):
                step()
        raise OSError(error.errno, error.strerror, str(place)) from error


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C for a moment; it takes effect after the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        caught.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught:
        raise KeyboardInterrupt
