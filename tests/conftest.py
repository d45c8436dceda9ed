"""What several tests share: the program as a user starts it, and a small scenario."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

# A shell starts its background jobs with interrupts ignored, and children inherit that: the tests of Ctrl-C need them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PROGRAM = str(Path(sys.executable).with_name("sluicegate"))

SMALL = """\
[network]
rate = "1 Mbit/s"
delay = "1 ms"

[queue]
discipline = "choke"
limit = 100
min_th = 10
max_th = 30

[queue.red]
wait = true

[[flows]]
kind = "tcp"
count = 3
window = 20

[[flows]]
kind = "udp"
rate = "2 Mbit/s"

[[flows]]
kind = "poisson"
rate = "100 kbit/s"

[run]
duration = "6 s"
warmup = "2 s"
seed = 5
"""

Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario of a few flows and a few seconds, in a file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def sluicegate(tmp_path: Path) -> Program:
    """Run the program in a folder of its own and return what it said; no terminal, so no progress bar."""

    def call(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "200"} | (env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
        )

    return call
