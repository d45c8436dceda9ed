"""A store of finished runs, each kept as soon as it ends: one SQLite file, `runs.sqlite`.

A run is a few tables, as Arrow streams, under its key. It is there whole or not at all, whatever ends the program,
kill -9 included. One process at a time holds the file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

FILE = "runs.sqlite"


class Store:
    """The runs kept in a folder, which is made when it is not there; without a folder, in memory. A context manager.

    Raises OSError when the folder cannot be written, another process holds the file, or it is another kind of file.

    Attributes:
        place: Its file, or ":memory:".
        found: How many of the runs that were asked for were there already.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.found = 0
        self._made: list[Path] = []
        self.place = ":memory:"
        new = False
        try:
            if directory is not None:
                folder = directory.absolute()
                self._made = [each for each in (folder, *folder.parents) if not each.exists()]
                folder.mkdir(parents=True, exist_ok=True)
                self.place = str(folder / FILE)
                new = not os.path.lexists(self.place)
            self._base = self._opened()
        except BaseException:  # Ctrl-C too
            if new:
                self._leave_nothing()
            raise

    def _opened(self) -> sqlite3.Connection:
        """The file, held, with its tables."""
        with self._as_os_error():
            base = sqlite3.connect(self.place, timeout=0, isolation_level=None)
            try:
                # With a write-ahead log, what has been committed outlives the process, without waiting for the disk.
                base.executescript("""
                    PRAGMA locking_mode = EXCLUSIVE;
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = NORMAL;
                    CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY);
                    CREATE TABLE IF NOT EXISTS tables (key TEXT, name TEXT, stream BLOB, PRIMARY KEY (key, name));
                    BEGIN IMMEDIATE;
                    COMMIT;
                """)
                base.execute("SELECT key FROM runs LIMIT 1")
            except BaseException:
                base.close()
                raise
            return base

    def keys(self) -> set[str]:
        """The keys of all runs kept."""
        with self._as_os_error():
            return {key for (key,) in self._base.execute("SELECT key FROM runs")}

    def add(self, key: str, tables: Mapping[str, bytes]) -> None:
        """Keep a run: its tables by name, as Arrow streams."""
        with self._as_os_error(), self._base:
            self._base.execute("BEGIN")
            self._base.execute("INSERT OR REPLACE INTO runs VALUES (?)", (key,))
            self._base.executemany(
                "INSERT OR REPLACE INTO tables VALUES (?, ?, ?)",
                ((key, name, stream) for name, stream in tables.items()),
            )

    def get(self, key: str) -> dict[str, bytes]:
        """The tables of the run of that key, in the order they were added. Raises KeyError."""
        with self._as_os_error():
            if self._base.execute("SELECT 1 FROM runs WHERE key = ?", (key,)).fetchone() is None:
                raise KeyError(key)
            rows = self._base.execute("SELECT name, stream FROM tables WHERE key = ? ORDER BY rowid", (key,))
            return dict(rows.fetchall())

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; when it holds nothing, leave nothing behind."""
        with self._as_os_error():
            empty = not self.keys()
            self._base.close()
        if empty:
            self._leave_nothing()

    def _leave_nothing(self) -> None:
        """Remove the file, and the folders that were made for it."""
        if self.place != ":memory:":
            with suppress(OSError):
                os.unlink(self.place)
                for folder in self._made:
                    folder.rmdir()

    @contextmanager
    def _as_os_error(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise OSError(11, "another program keeps its runs here", self.place) from None
            raise OSError(5, str(error), self.place) from None
        except sqlite3.DatabaseError as error:
            raise OSError(22, f"does not hold runs of Sluicegate ({error})", self.place) from None
