"""Ctrl-C ends a long run within a second and leaves nothing half-written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PROGRAM
from interrupting import at_work, interrupt


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "unresponsive", "-o", "out", "--set", "run.duration=1000000 s", "--set", "run.series=false"],
        ["run", "unresponsive", "-o", "out", "--set", "run.duration=1000000 s", "--set", "run.sample=1 s", "--quiet"],
        ["reproduce", "dcn2004", "--full", "-o", "out"],  # no run of it ends within two seconds
        [
            "compare",
            "unresponsive",
            "--disciplines",
            "red,choke",
            "--set",
            "run.duration=1000000 s",
            "--set",
            "run.series=false",
            "-o",
            "out",
        ],
    ],
    ids=["run", "run with series", "reproduce", "compare"],
)
def test_an_interrupt_ends_the_program_within_a_second(tmp_path: Path, arguments: list[str]) -> None:
    child = subprocess.Popen([PROGRAM, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        at_work(child)
        out, err = interrupt(child)
    finally:
        child.kill()
    assert child.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_reaches_the_python_caller() -> None:
    code = """
import os, signal, threading, time
import sluicegate as sg
def interrupt():
    global sent
    begun = time.process_time()  # after the imports, however long they took
    while time.process_time() < begun + 0.7:
        time.sleep(0.01)
    sent = time.process_time()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    sg.run("unresponsive", sets={"run.duration": "300000 s", "run.series": False})
except KeyboardInterrupt:
    print(time.process_time() - sent < 1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_an_interrupt_during_the_imports_is_no_traceback() -> None:
    """The entry point that was installed is called while the import of typer raises KeyboardInterrupt."""
    code = """
import sys
from importlib.metadata import entry_points

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
[program] = entry_points(group="console_scripts", name="sluicegate")
program.load()()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    "sets",
    [
        pytest.param(
            ["flows.0.count=10", "flows.0.window=1000000", "flows.0.initial_window=1e6"],
            id="large windows",
            marks=pytest.mark.full,
        ),
        pytest.param(["flows.0.count=200000", "run.series=false"], id="many flows", marks=pytest.mark.full),
        pytest.param(["flows.0.count=20000", "run.sample=10 s"], id="many flows sampled"),
    ],
)
def test_an_interrupt_is_heard_whatever_the_scenario_does(tmp_path: Path, sets: list[str]) -> None:
    words = [word for text in [*sets, "run.duration=20000 s"] for word in ("--set", text)]
    child = subprocess.Popen(
        [PROGRAM, "run", "unresponsive", "-o", "out", *words], cwd=tmp_path, stderr=subprocess.PIPE
    )
    try:
        at_work(child, 1.5)  # of 200,000 flows it takes 1 s to make them
        _, err = interrupt(child)
    finally:
        child.kill()
    assert (child.returncode, err) == (130, b"")
    assert list(tmp_path.iterdir()) == []
