"""A discipline of one's own in files, on the command line, and in many runs at once."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAM, SMALL, Program
from interrupting import at_work, interrupt

import sluicegate as sg
from sluicegate import _core
from sluicegate.custom import aqm

DOCS = Path(__file__).parents[1] / "docs"

MINE = """\
from __future__ import annotations
from dataclasses import dataclass, field

import sluicegate as sg


@dataclass
class Mine(sg.Aqm):
    limit: int = 20
    names: list[str] = field(default_factory=list)
    fault: str = ""

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError("limit must be at least 1")
        if self.fault == "constructor":
            raise KeyError("constructor")
        self.queue: list[sg.Packet] = []

    def enqueue(self, packet, ctx):
        if packet.number == 50 and self.fault == "exception":
            raise FileNotFoundError(2, "mine", "mine")
        if packet.number == 50 and self.fault == "exit":
            raise SystemExit(0)
        if packet.number == 50 and self.fault == "forget":
            return
        if len(self.queue) < self.limit:
            self.queue.append(packet)
        else:
            ctx.drop(packet, "tail")

    def dequeue(self, ctx):
        return self.queue.pop(0) if self.queue else None
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """`aqms/mine.py`, and a scenario beside it that names it."""
    folder = tmp_path / "aqms"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    text = SMALL.replace('discipline = "choke"', 'discipline = "mine.py:Mine"').replace("[queue.red]", "[queue.python]")
    (folder / "mine.toml").write_text(text.replace("wait = true", 'names = ["a"]'))
    return folder


def tables(folder: Path) -> dict[str, Any]:
    import polars as pl

    return {path.stem: pl.read_parquet(path).drop("discipline", strict=False) for path in folder.glob("*.parquet")}


def test_a_file_names_it_beside_itself_and_set_from_here(
    sluicegate: Program, mine: Path, small: Path, tmp_path: Path
) -> None:
    chosen = ["--set", "queue.discipline=aqms/mine.py:Mine"]
    for name, command in {
        "file": ["run", "aqms/mine.toml"],
        "set": ["run", small, *chosen],
        "rust": ["run", small, "--set", "queue.discipline=drop_tail"],
    }.items():
        done = sluicegate(*command, "-o", name)
        assert (done.returncode, done.stderr) == (0, ""), name
    ours, theirs = tables(tmp_path / "set"), tables(tmp_path / "rust")
    for name, table in tables(tmp_path / "file").items():
        assert table.equals(ours[name], null_equal=True)
        assert table.equals(theirs[name], null_equal=True)
    summary = json.loads((tmp_path / "file" / "summary.json").read_text())
    assert summary["scenario"]["queue"]["python"] == {"names": ["a"]}
    assert summary["own_discipline"] == {
        "class": "mine:Mine",
        "arguments": {"limit": 100, "names": ["a"]},  # limit is the file's, for any discipline
        "sha256": sha256(MINE.encode()).hexdigest(),
    }


def test_the_manuals_scenario_gives_the_results_of_the_rust_version(sluicegate: Program, tmp_path: Path) -> None:
    short = ["--set", "run.duration=30 s", "--quiet"]
    rust = ["--set", "queue.discipline=choke", "--set", "queue.choke.max_p=0.05"]
    assert sluicegate("run", DOCS / "examples/choke.toml", *short, "-o", "ours").returncode == 0
    assert sluicegate("run", DOCS / "examples/choke.toml", *short, *rust, "-o", "theirs").returncode == 0
    ours, theirs = tables(tmp_path / "ours"), tables(tmp_path / "theirs")
    assert ours.keys() == theirs.keys()
    assert all(table.equals(theirs[name], null_equal=True) for name, table in ours.items())


@pytest.mark.parametrize(
    ("fault", "last"),
    [
        ("exception", "FileNotFoundError: [Errno 2] mine: 'mine'"),
        ("exit", "SystemExit: 0"),
        ("constructor", "KeyError: 'constructor'"),
    ],
)
def test_an_exception_is_printed_with_its_own_traceback(
    sluicegate: Program, mine: Path, tmp_path: Path, fault: str, last: str
) -> None:
    done = sluicegate("run", "aqms/mine.toml", "--set", f"queue.python.fault={fault}", "-o", "out")
    assert (done.returncode, done.stdout) == (1, "")
    first, file, *_, error, note = done.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    assert file.startswith('  File "aqms/mine.py", line ' if fault != "constructor" else '  File "<string>"')
    assert error == last
    assert note.startswith("sluicegate: ")
    assert list(tmp_path.iterdir()) == [mine]


def test_a_forgotten_packet_is_named_on_the_command_line(sluicegate: Program, mine: Path, tmp_path: Path) -> None:
    done = sluicegate("run", "aqms/mine.toml", "--set", "queue.python.fault=forget", "-o", "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sluicegate.ConservationError: packet 50 of flow ")
    assert list(tmp_path.iterdir()) == [mine]


@pytest.mark.parametrize(
    ("old", "new", "line", "parts"),
    [
        ("mine.py:Mine", "mini.py:Mine", 6, ["aqms/mini.py: No such file", 'did you mean "mine.py"?']),
        ("mine.py:Mine", "mine.py:Mien", 6, ["aqms/mine.py has no class or function Mien", 'did you mean "Mine"?']),
        ("mine.py:Mine", "mine.py:sg", 6, ["has no class or function sg"]),
        ("mine.py:Mine", "choke:candidates=2", 6, ["no such discipline", '"path.py:Class"']),
        ("mine.py:Mine", "mine.py:Mine:names=b", 6, ["give only mine.py:Mine here", "as queue.python.names=b"]),
        ('names = ["a"]', "limit = 0", 6, ["Mine: limit must be at least 1"]),
        ('names = ["a"]', "nmaes = 3", 6, ["unexpected keyword argument 'nmaes'", 'did you mean "names"?']),
        ('names = ["a"]', "names = [1]", 12, ["queue.python.names: must be a number, a text"]),
        ('names = ["a"]', "names = 1979-05-27", 12, ["queue.python.names: must be a number, a text"]),
        ("[queue.python]", "[queue.pyhton]", 11, ["queue.pyhton: no such key", '"python"']),
    ],
)
def test_what_cannot_be_found_or_made_is_one_line(
    sluicegate: Program, mine: Path, old: str, new: str, line: int, parts: list[str]
) -> None:
    file = mine / "mine.toml"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    for command in (["run", "aqms/mine.toml", "-o", "out"], ["check", "aqms/mine.toml"]):
        done = sluicegate(*command)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"error: aqms/mine.toml:{line}: queue.")
        for part in parts:
            assert part in done.stderr


def test_set_is_named_as_the_place(sluicegate: Program, small: Path) -> None:
    done = sluicegate("run", small, "--set", "queue.discipline=nowhere.py:Mine")
    assert done.returncode == 2
    assert done.stderr == (
        'error: --set queue.discipline = "nowhere.py:Mine": cannot read nowhere.py: No such file or directory\n'
    )


def test_a_file_that_cannot_be_loaded_shows_its_traceback(sluicegate: Program, mine: Path) -> None:
    (mine / "mine.py").write_text("import sluicegate\n1 / 0\n")
    done = sluicegate("run", "aqms/mine.toml")
    assert done.returncode == 1
    assert 'File "aqms/mine.py", line 2' in done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "ZeroDivisionError: division by zero",
        "sluicegate: while loading aqms/mine.py",
    ]


def test_the_core_alone_refuses_what_it_cannot_make() -> None:
    text = SMALL.replace('"choke"', '"mine.py:Mine"')
    with pytest.raises(sg.ScenarioError, match=r"^x\.toml:6: queue\.discipline = .*written in Python"):
        _core.run(_core.Scenario(text, "x.toml", []))


def test_its_parameters_are_not_guessed_where_there_is_no_file() -> None:
    with pytest.raises(sg.ScenarioError, match=r"cannot read nowhere\.py: No such file"):
        aqm.parameters("nowhere.py:Mine", {})


# --- many runs ---------------------------------------------------------------------------------

EXPERIMENTS = """
import os
import threading
from pathlib import Path

import polars as pl

import sluicegate as sg
from sluicegate.custom import aqm as custom_aqm
from sluicegate.experiments import engine
from sluicegate.scenario import scenario


class Where(sg.Aqm):
    def __init__(self, *, fault=False):
        self.queue, self.fault, self.ran = [], fault, False

    def enqueue(self, packet, ctx):
        if not self.ran:
            Path(f"ran-{os.getpid()}-{threading.get_ident()}").touch()
            self.ran = True
        if self.fault and packet.number == 9:
            raise LookupError("mine")
        self.queue.append(packet) if len(self.queue) < 20 else ctx.drop(packet, "tail")

    def dequeue(self, ctx):
        return self.queue.pop(0) if self.queue else None


def experiment(queue):
    text = scenario(sg.dumbbell(rate="1 Mbit/s", queue=queue), sg.Udp(rate="2 Mbit/s"), duration="2 s", warmup="1 s")
    keep = {"links": ("drops_tail", "utilisation")}
    return engine.Experiment("x", text, "x", (), keep, None if isinstance(queue, sg.DropTail) else queue)


def processes():
    return {int(path.name.split("-")[1]) for path in Path().glob("ran-*")}


if __name__ == "__main__":
    theirs = engine.run_experiments([experiment(sg.DropTail(limit=20))], [1, 2, 3], jobs=2)["links"]
    ours = engine.run_experiments([experiment(Where)], [1, 2, 3], jobs=2)["links"]
    assert ours.equals(theirs), (ours, theirs)
    assert processes() and os.getpid() not in processes(), "processes for what is written in Python"
    ours = engine.run_experiments([experiment(lambda: Where())], [1, 2, 3], jobs=2)["links"]
    assert ours.equals(theirs)
    assert os.getpid() in processes(), "what no other process can import runs here"
    import functools
    try:
        engine.run_experiments([experiment(functools.partial(Where, fault=True))], [1, 2], jobs=2)
    except LookupError as error:
        assert custom_aqm.traceback_of(error) is not None, error.__notes__
        print("done")
"""


def test_experiments_run_it_in_processes(tmp_path: Path) -> None:
    (tmp_path / "experiments.py").write_text(EXPERIMENTS)
    done = subprocess.run([sys.executable, "experiments.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.stderr == ""  # by itself, so that it is shown whole
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_an_interrupt_ends_runs_in_processes_within_a_second(tmp_path: Path) -> None:
    code = (
        EXPERIMENTS.split("if __name__")[0]
        + """
if __name__ == "__main__":
    import multiprocessing, time
    def tell():
        while len(processes()) < 2:
            time.sleep(0.01)
        print("runs", flush=True)
    endless = experiment(Where)
    endless = engine.Experiment(**vars(endless) | {"sets": (("run.duration", "1000000 s"), ("run.series", "false"))})
    threading.Thread(target=tell).start()
    try:
        engine.run_experiments([endless], [1, 2, 3], jobs=2)
    except KeyboardInterrupt:
        print(multiprocessing.active_children())
"""
    )
    (tmp_path / "endless.py").write_text(code)
    child = subprocess.Popen(
        [sys.executable, "endless.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "runs\n"
        written = interrupt(child)
    finally:
        child.kill()
    assert (child.returncode, written) == (0, ("[]\n", ""))


def test_an_interrupt_ends_a_run_of_it_within_a_second(mine: Path, tmp_path: Path) -> None:
    long = ["--set", "run.duration=40000 s", "--set", "run.series=false"]  # half a minute: longer ones are warned of
    child = subprocess.Popen(
        [PROGRAM, "run", "aqms/mine.toml", "-o", "out", *long],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        at_work(child)
        out, err = interrupt(child)
    finally:
        child.kill()
    assert (child.returncode, out, err) == (130, b"", b"")
    assert list(tmp_path.iterdir()) == [mine]
