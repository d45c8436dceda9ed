"""Files of connection vectors: what a file contains, and its translation into the other of tmix's two text formats.

The module is not called `vectors`, because importing it would then hide the function `sluicegate.vectors`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .. import _core


class Vectors:
    """What `vectors` returns: a valid file of connection vectors.

    Attributes:
        path: The file.
        format: Its format: "original" (`SEQ` and `CONC`) or "alternate" (`S` and `C`).
        connections: How many connections.
        concurrent: How many of them are concurrent; the others are sequential.
        exchanges: How many exchanges the sequential ones have.
        last_start_ns: When the last connection begins, in nanoseconds.
        initiator_units: How many application data units the ends that open the connections send.
        initiator_bytes: How many bytes these have.
        acceptor_units: How many application data units the other ends send.
        acceptor_bytes: How many bytes these have.

    >>> from pathlib import Path
    >>> written = Path("link.cvec").write_text("SEQ 0 1 1 1\\nw 16384 65535\\nr 100000\\n> 300\\nt 50000\\n< 1448\\n")
    >>> found = sg.vectors("link.cvec")
    >>> print(found.text("alternate"), end="")
    S 0 1 1 1
    w 16384 65535
    r 100000
    I 0 0 300
    A 0 50000 1448
    """

    def __init__(self, path: Path, record: dict[str, Any]) -> None:
        """Made by `vectors`."""
        self.path = path
        self.format: str = record["format"]
        self.connections: int = record["connections"]
        self.concurrent: int = record["concurrent"]
        self.exchanges: int = record["exchanges"]
        self.last_start_ns: int = record["last_start_ns"]
        self.initiator_units: int = record["initiators"]["units"]
        self.initiator_bytes: int = record["initiators"]["bytes"]
        self.acceptor_units: int = record["acceptors"]["units"]
        self.acceptor_bytes: int = record["acceptors"]["bytes"]

    def text(self, format: str) -> str:
        """The connections in a format, "original" or "alternate", sorted by their starts; comments are left out.

        Raises `ScenarioError` for another format, for a file that has become invalid since, and for a connection that
        the original format cannot express: a sequential one that waits before its first unit.
        """
        _, text = _core.vectors(str(self.path), format)
        assert text is not None
        return text

    def write(self, path: str | Path, format: str) -> Path:
        """Write `text(format)` to a file, completely or not at all; return its path. Raises the exceptions of `text`,
        and OSError."""
        from ..io import staged_file

        text = self.text(format)
        with staged_file(path) as file:
            file.write_text(text, "utf-8")
        return Path(path)

    def record(self) -> dict[str, Any]:
        """The attributes as JSON."""
        return {**vars(self), "path": str(self.path)}

    def __repr__(self) -> str:
        return f"<sluicegate.Vectors {self.path.name}: {self.connections} connections, {self.format}>"


def vectors(file: str | Path) -> Vectors:
    """Read a file of connection vectors, in either text format of tmix, as `vectors` of a group of `Connections` does.

    Raises `ScenarioError` with the line of the first mistake, or when it is not a plain file.

    >>> from pathlib import Path
    >>> written = Path("link.cvec").write_text("SEQ 0 1 1 1\\nw 16384 65535\\nr 100000\\n> 300\\nt 50000\\n< 1448\\n")
    >>> found = sg.vectors("link.cvec")
    >>> found.connections, found.acceptor_bytes
    (1, 1448)
    """
    record, _ = _core.vectors(os.fspath(file), None)
    return Vectors(Path(file), json.loads(record))
