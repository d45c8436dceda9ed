"""A bridge as a service: a word to the service manager when it is ready, counters in a file, and a unit of systemd."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..scenario import ScenarioWarning, warn

UNIT = Path(__file__).with_name("sluicegate-bridge@.service")
"""A template of a systemd unit, with the program at `PROGRAM`."""

PROGRAM = "/usr/local/bin/sluicegate"

EVERY_S = 1.0
"""How often counters are written."""


def unit() -> str:
    """The unit of systemd that runs this program. Raises OSError."""
    program = Path(sys.argv[0]).absolute()
    command = str(program) if program.name == "sluicegate" else f"{sys.executable} -m sluicegate"
    return UNIT.read_text("utf-8").replace(PROGRAM, command)


def notify(state: str) -> None:
    """Tell the service manager, if there is one: sd_notify(3). One that cannot be reached is no reason to end."""
    place = os.environ.get("NOTIFY_SOCKET")
    if not place:
        return
    address = "\0" + place[1:] if place.startswith("@") else place
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.sendto(state.encode(), address)


class Counters:
    """A file that holds the newest status as JSON, for anybody to read; there as long as the bridge runs.

    Each write replaces the file as a whole. The keys are those of a status, and `interfaces`, `pid` and `updated_s`,
    the time of the write in seconds since 1970.
    """

    def __init__(self, path: Path, interfaces: tuple[str, str]) -> None:
        self.path = path.absolute()
        self.about = {"interfaces": list(interfaces), "pid": os.getpid()}
        self.due = 0.0
        self.failed = False

    def update(self, status: Mapping[str, Any]) -> None:
        """Write a status, unless the last one is younger than `EVERY_S`. A full disk is told once, and ends nothing."""
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + EVERY_S
        try:
            self.write(status)
            self.failed = False
        except OSError as error:
            if not self.failed:
                warn([f"{self.path}: {error.strerror}: its counters are old"], ScenarioWarning)
            self.failed = True

    def write(self, status: Mapping[str, Any]) -> None:
        """Replace the file. Raises OSError."""
        text = json.dumps({**self.about, "updated_s": round(time.time(), 3), **status}, indent=2) + "\n"
        handle, name = tempfile.mkstemp(prefix=".sluicegate-", dir=self.path.parent)
        try:
            with open(handle, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write(text)
            os.rename(name, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise


@contextmanager
def counters(path: Path | None, interfaces: tuple[str, str]) -> Iterator[Counters | None]:
    """The file of counters as long as the block; None where none is wanted. Raises OSError when it cannot be."""
    if path is None:
        yield None
        return
    made = Counters(path, interfaces)
    try:
        made.write({"time_s": 0.0, "links": [], "flows": [], "active_flows": 0, "lost_outside": 0, "late_packets": 0})
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        yield made
    finally:
        with suppress(OSError):
            made.path.unlink()
