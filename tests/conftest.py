"""What several tests share: the program as a user starts it, and a small scenario."""

from __future__ import annotations

import contextlib
import functools
import gc
import html
import io
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import typer.main

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `sluicegate.__main__` does, and before NumPy is imported

from sluicegate import cli
from sluicegate.plot import style

if TYPE_CHECKING:
    from between import Between
    from matplotlib.figure import Figure

# `make test-all` looks at many more examples. Tests without a number of their own take that of the profile.
hypothesis.settings.register_profile("full", max_examples=300, deadline=None)
hypothesis.settings.register_profile("quick", max_examples=25, deadline=None)
EXAMPLES = os.environ.get("SLUICEGATE_TESTS", "quick")
hypothesis.settings.load_profile(EXAMPLES)

# A test that asks for the whole program, such as `--help`, would build the parsers of all commands anew.
typer.main.get_command = functools.cache(typer.main.get_command)

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
profile = "ns2"
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

SLOWEST = (
    "test_manual", "test_dcn2004", "test_bridge_packets", "test_testbed", "test_real_oracles", "test_shell_packets",
    "test_evaluate", "test_envelope_measured", "test_choke1999", "test_learn_traffic", "test_margin", "test_ns2_shares",
    "test_interrupt", "test_learn", "test_result_objects", "test_sweep_cluster", "test_dcn2004_live",
    "test_disciplines_page", "test_envelope", "test_choke2004", "test_replay_tshark", "test_recommend", "test_export",
    "test_calling", "test_theory_choke", "test_sweep", "test_theory_choke_use", "test_congestion_suite",
    "test_reference", "test_determinism", "test_evaluate_scenarios", "test_generated", "test_compare", "test_red1993",
    "test_replay", "test_errors",
)  # fmt: skip
"""Files that take longest: they come first, so that no worker has one of them alone at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


def pytest_collection_finish() -> None:
    """What was imported stays until the end: to let the garbage collector look through it again and again took a tenth
    of the processor time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)


# Matplotlib takes more than half of the time of tests that write pages. `make test-all` draws every figure; `make test`
# makes every figure, and draws those of tests that are about drawings, marked `drawn`.
draw = style.svg
drawing = True


def drawn_or_named(figure: Figure) -> bytes:
    return draw(figure) if drawing else sketch(figure)


style.svg = drawn_or_named


def sketch(figure: Figure) -> bytes:
    """What stands in for a drawing: of its size, with its titles, labels and legends."""
    width, height = 72 * figure.get_size_inches()
    words = [(axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes]
    legends = [*figure.legends, *(legend for axes in figure.axes if (legend := axes.get_legend()))]
    words += [tuple(text.get_text() for text in legend.get_texts()) for legend in legends]
    texts = "".join(f"<text>{html.escape(word)}</text>" for each in words for word in each if word)
    size = f'width="{width:g}pt" height="{height:g}pt" viewBox="0 0 {width:g} {height:g}"'
    head = '<?xml version="1.0" encoding="utf-8"?>'
    return f'{head}\n<svg xmlns="http://www.w3.org/2000/svg" {size}>{texts}</svg>\n'.encode()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    global drawing
    drawing = EXAMPLES == "full" or item.get_closest_marker("drawn") is not None


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario of a few flows and a few seconds, in a file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def sluicegate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Run the program in a folder of its own and return what it said; no terminal, so no progress bar. It runs in this
    process, which takes no time to start."""

    def call(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        said, complained = io.StringIO(), io.StringIO()
        status: object = 0
        with monkeypatch.context() as patch, redirect_stdout(said), redirect_stderr(complained):
            patch.chdir(tmp_path)
            for key, value in {"COLUMNS": "200", **(env or {})}.items():
                patch.setenv(key, value)
            patch.setattr(sys, "argv", ["sluicegate", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO())
            try:
                cli.main()
            except SystemExit as end:
                status = end.code
        code = status if isinstance(status, int) else int(status is not None)
        return subprocess.CompletedProcess(arguments, code, said.getvalue(), complained.getvalue())

    return call


@pytest.fixture
def process(tmp_path: Path) -> Program:
    """The same as a process of its own, as a user starts it: for what only shows there."""

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


@pytest.fixture
def terminal(tmp_path: Path) -> Callable[..., str]:
    """The same with standard error on a terminal: returns what it said there, and fails unless it ended well."""

    def call(*arguments: str | Path) -> str:
        reader, writer = pty.openpty()
        command = [PROGRAM, *map(str, arguments)]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, cwd=tmp_path, stdin=quiet, stdout=quiet, stderr=writer) as child:
            os.close(writer)
            said = b""
            with contextlib.suppress(OSError):  # how Linux tells the end of a terminal
                while block := os.read(reader, 65536):
                    said += block
            os.close(reader)
        assert child.returncode == 0
        return said.decode()

    return call


@pytest.fixture
def between(tmp_path: Path) -> Iterator[Between]:
    """Two hosts with a machine between them."""
    from between import Between  # which needs this module

    made = Between(tmp_path)
    try:
        made.make()
        yield made
    finally:
        made.take_away()
