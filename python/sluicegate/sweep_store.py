"""The runs of a sweep that have ended, each kept as soon as it has: one SQLite file, `runs.sqlite`.

A run is one row under its key: the tables `flows`, `links` and `groups` as Arrow streams, the totals as JSON. A row is
there whole or not at all, whatever ends the program, kill -9 included. One process at a time holds the file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

FILE = "runs.sqlite"


class Kept(NamedTuple):
    """What is kept of one run: its tables as Arrow streams, and the totals as JSON."""

    flows: bytes
    links: bytes
    groups: bytes
    totals: str


class Store:
    """The runs kept in a folder, which is made when it is not there; without a folder, in memory. A context manager.

    Raises OSError when the folder cannot be written, another process holds the file, or it is another kind of file.
    """

    def __init__(self, directory: Path | None) -> None:
        self._made: list[Path] = []
        self._place = ":memory:"
        if directory is not None:
            folder = directory.absolute()
            self._made = [each for each in (folder, *folder.parents) if not each.exists()]
            folder.mkdir(parents=True, exist_ok=True)
            self._place = str(folder / FILE)
        new = not os.path.lexists(self._place)
        with self._as_os_error():
            self._base = sqlite3.connect(self._place, timeout=0, isolation_level=None)
            try:
                # With a write-ahead log, what has been committed outlives the process, without waiting for the disk.
                self._base.executescript("""
                    PRAGMA locking_mode = EXCLUSIVE;
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = NORMAL;
                    CREATE TABLE IF NOT EXISTS
                        run (key TEXT PRIMARY KEY, flows BLOB, links BLOB, groups BLOB, totals TEXT);
                    BEGIN IMMEDIATE;
                    COMMIT;
                """)
                self.keys()
            except BaseException:
                self._base.close()
                if new:
                    self._remove()
                raise

    def keys(self) -> set[str]:
        """The keys of all runs kept."""
        with self._as_os_error():
            return {key for (key,) in self._base.execute("SELECT key FROM run")}

    def add(self, key: str, run: Kept) -> None:
        """Keep a run."""
        with self._as_os_error():
            self._base.execute("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?, ?)", (key, *run))

    def get(self, key: str) -> Kept:
        """The run of that key. Raises KeyError."""
        with self._as_os_error():
            row = self._base.execute("SELECT flows, links, groups, totals FROM run WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return Kept(*row)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; when it holds nothing, leave nothing behind."""
        with self._as_os_error():
            empty = not self.keys()
            self._base.close()
        if empty:
            self._remove()

    def _remove(self) -> None:
        """Take the file away, and the folders that were made for it."""
        if self._place != ":memory:":
            with suppress(OSError):
                os.unlink(self._place)
                for folder in self._made:
                    folder.rmdir()

    @contextmanager
    def _as_os_error(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise OSError(11, "another sweep is at work here", self._place) from None
            raise OSError(5, str(error), self._place) from None
        except sqlite3.DatabaseError as error:
            raise OSError(22, f"does not hold the runs of a sweep ({error})", self._place) from None
