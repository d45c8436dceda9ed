"""A sweep that is ended from outside keeps every run that has ended: kill -9, Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAM, Program
from interrupting import at_work, interrupt
from test_sweep import tables

import sluicegate as sg
from sluicegate.experiments import store

# Some 20 ms each.
POINTS, SEEDS = 6, 5
ARGUMENTS = ["unresponsive", "--over", f"flows.1.rate=1..2 Mbit/s {POINTS}", "--seeds", str(SEEDS)]
SETS = ["--set", "run.duration=4 s", "--set", "run.warmup=1 s"]

# It waits after the fifth run, so that it is in the middle however busy the machine is.
SCRIPT = f"""
import sys
import sluicegate as sg
def told(done, *_):
    print(done, flush=True)
    if done == 5:
        sys.stdin.read()
sg.sweep("unresponsive", over={{"flows.1.rate": "1..2 Mbit/s {POINTS}"}}, seeds={SEEDS}, out="out", jobs=1,
    sets={{"run.duration": "4 s", "run.warmup": "1 s"}}, progress=told)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of the same sweep, not ended by anything."""
    folder = tmp_path_factory.mktemp("whole")
    over = {"flows.1.rate": f"1..2 Mbit/s {POINTS}"}
    sg.sweep("unresponsive", over=over, seeds=SEEDS, out=folder, sets={"run.duration": "4 s", "run.warmup": "1 s"})
    return tables(folder)


def test_kill_9_loses_at_most_the_runs_in_progress(sluicegate: Program, tmp_path: Path, whole: dict[str, str]) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    told = [child.stdout.readline() for _ in range(5)]
    child.send_signal(signal.SIGKILL)
    told += child.stdout.readlines()
    child.stdin.close()
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    ended = len([line for line in told if line.endswith("\n")])
    assert ended == 5
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix == ".parquet") == []
    answer = sluicegate("sweep", *ARGUMENTS, *SETS, "-o", "out")
    assert answer.returncode == 0
    kept = int(answer.stdout.partition("runs, ")[2].split()[0])
    assert ended <= kept <= ended + 1  # one may have been kept and not told yet
    assert tables(tmp_path / "out") == whole


def test_an_interrupt_ends_a_sweep_within_a_second_and_keeps_what_is_done(
    sluicegate: Program, tmp_path: Path, whole: dict[str, str]
) -> None:
    command = [PROGRAM, "sweep", *ARGUMENTS, *SETS, "-o", "out", "--jobs", "1"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = tmp_path / "out/runs.sqlite-wal"
    try:
        while not (log.exists() and log.stat().st_size > 60_000):  # a few runs
            assert child.poll() is None, "it should still run"
            time.sleep(0.005)
        out, err = interrupt(child)
    finally:
        child.kill()
    assert (child.returncode, out) == (130, "")
    ended = int(err.split()[0])
    assert err == f"{ended} of {POINTS * SEEDS} runs ended and are kept in out; the same command runs the rest\n"
    assert 0 < ended < POINTS * SEEDS
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["runs.sqlite"]
    with store.Store(tmp_path / "out") as held:
        assert ended <= len(held.keys()) <= ended + 1
    answer = sluicegate("sweep", *ARGUMENTS, *SETS, "-o", "out")
    assert re.search(rf"^{POINTS * SEEDS} runs, [1-9]\d* of them kept", answer.stdout, re.M)
    assert tables(tmp_path / "out") == whole


def test_an_interrupt_of_long_runs_leaves_nothing(tmp_path: Path) -> None:
    command = [PROGRAM, "sweep", *ARGUMENTS, "--set", "run.duration=1000000 s", "-o", "out"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not (tmp_path / "out/runs.sqlite").exists():
            assert child.poll() is None, "it should still run"
            time.sleep(0.01)
        at_work(child, 0.5)
        out, err = interrupt(child)
    finally:
        child.kill()
    assert (child.returncode, out, err) == (130, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_gets_a_bar_and_a_pipe_does_not(sluicegate: Program, terminal: Callable[..., str]) -> None:
    command = ["sweep", *ARGUMENTS, *SETS, "--seeds", "1", "-o"]
    assert f" of {POINTS}" in terminal(*command, "a")
    assert sluicegate(*command, "b").stderr == ""
