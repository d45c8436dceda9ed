"""Results are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


@contextmanager
def staged(directory: str | Path) -> Iterator[Path]:
    """Lend an empty folder to write into; when the block ends well, what it holds appears in `directory`.

    A new `directory`, its parents included, appears by one renaming; in an existing one files are replaced, and those
    of other names stay. When the block raises, nothing is left. Raises OSError, before the block runs, when
    `directory` could not be written.
    """
    target = Path(directory).absolute()
    base = _writable(target)
    folder = base / f".sluicegate-{secrets.token_hex(6)}"
    folder.mkdir()
    try:
        yield folder
        with _uninterrupted():
            _publish(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_writable(directory: str | Path) -> None:
    """Raise OSError when `directory` could not be written, so that one need not run for hours to learn it."""
    _writable(Path(directory).absolute())


def _writable(target: Path) -> Path:
    """The nearest of `target` and its parents that exists, which must be a folder one may write to."""
    base = next(folder for folder in (target, *target.parents) if os.path.lexists(folder))
    if not base.is_dir():
        raise NotADirectoryError(20, "not a directory", str(base))
    if not os.access(base, os.W_OK | os.X_OK):
        raise PermissionError(13, "no permission to write here", str(base))
    return base


def _publish(folder: Path, target: Path) -> None:
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
        return
    for source in sorted(folder.rglob("*")):
        place = target / source.relative_to(folder)
        if source.is_dir():
            place.mkdir(exist_ok=True)
        else:
            source.replace(place)


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
