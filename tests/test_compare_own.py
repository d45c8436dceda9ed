"""Disciplines of one's own in a comparison: as classes, as factories, and by path on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import fifo
import polars as pl
import pytest
from conftest import Program
from fifo import Fifo

import sluicegate as sg
from sluicegate.experiments import disciplines
from sluicegate.plot import comparison as comparison_plot

MINE = """\
import os
from pathlib import Path

import sluicegate as sg


class Refused(Exception):
    def __init__(self, packet, why):
        super().__init__(f"{packet.bytes} bytes: {why}")
        self.packet = packet


class Mine(sg.Aqm):
    def __init__(self, *, limit=20, fault=False):
        if limit < 1:
            raise ValueError("limit must be at least 1")
        self.queue, self.limit, self.fault = [], limit, fault
        Path(f"made-{os.getpid()}").touch()

    def enqueue(self, packet, ctx):
        if self.fault and packet.number == 9:
            raise LookupError("mine") if self.fault is True else Refused(packet, "mine")
        self.queue.append(packet) if len(self.queue) < self.limit else ctx.drop(packet, "tail")

    def dequeue(self, ctx):
        return self.queue.pop(0) if self.queue else None
"""


NET = sg.dumbbell(rate="1 Mbit/s", delay="1 ms")
FLOWS = [sg.Tcp(3, profile="ns2", window=20), sg.Udp(rate="700 kbit/s")]
TIMES = {"duration": "4 s", "warmup": "1 s"}


@pytest.fixture(scope="module")
def here() -> Iterator[Executor]:
    """Runs in threads: processes, which disciplines written in Python get otherwise, take long to start."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def of(done: sg.Comparison, label: str) -> pl.DataFrame:
    return done.runs.filter(discipline=label).drop("discipline")


def test_a_class_a_factory_and_a_partial_stand_beside_what_comes_along(tmp_path: Path) -> None:
    def short() -> Fifo:
        return Fifo(limit=5)

    listed = [sg.DropTail(limit=20), Fifo, partial(Fifo, limit=5), short, sg.DropTail(limit=5)]
    done = sg.compare(NET, FLOWS, disciplines=listed, seeds=2, jobs=2, baseline=Fifo, **TIMES)  # type: ignore[arg-type]
    labels = ["drop_tail:limit=20", "Fifo", "Fifo:limit=5", "short", "drop_tail:limit=5"]
    assert (done.disciplines, done.baseline) == (labels, "Fifo")
    whole, mine, bound, made, five = (of(done, label) for label in labels)
    assert mine.equals(whole), "the same rule gives the same results, to the last bit"
    assert bound.equals(made)
    assert made.equals(five)
    assert not mine.equals(made)
    assert done.difference("drop_tail:limit=20", "loss_ratio")["difference"] == 0.0
    about = [each.get("own_discipline") for each in done.summary["disciplines"]]
    source = sha256(Path(fifo.__file__).read_bytes()).hexdigest()
    assert about[0] is None
    assert about[2] == {"class": "fifo:Fifo", "sha256": source, "arguments": {"limit": 5}}
    done.write(tmp_path / "out")
    assert {"groups.svg", "throughput.svg", "links.svg", "summary.json"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }


def test_one_alone_and_a_network_of_links(here: Executor) -> None:
    times: dict[str, Any] = {**TIMES, "executor": here}
    assert sg.compare(NET, FLOWS, disciplines=Fifo, seeds=1, **times).disciplines == ["Fifo"]
    link = sg.Link(name="only", from_="a", to="b", rate="1 Mbit/s")
    flow = sg.Udp(rate="2 Mbit/s", path=["only"])
    done = sg.compare(sg.topology(link, queue=Fifo), flow, disciplines=[Fifo, "drop_tail:limit=20"], seeds=1, **times)
    assert of(done, "Fifo").equals(of(done, "drop_tail:limit=20"))


def test_a_scenario_file_may_be_compared_under_it(here: Executor, small: Path) -> None:
    text = small.read_text()
    small.write_text(text.replace("limit = 100", "limit = 20") + "\n[queue.drop_tail]\nlimit = 20\n")
    done = sg.compare(small, disciplines=["drop_tail", Fifo], seeds=[5], executor=here)
    assert of(done, "Fifo").equals(of(done, "drop_tail")), "it takes the limit of [queue]"


def test_a_program_runs_it_in_processes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "program.py").write_text(
        "import os\nimport sluicegate as sg\nfrom pathlib import Path\nfrom mine import Mine\n"
        "if __name__ == '__main__':\n"
        "    net, flow = sg.dumbbell(rate='1 Mbit/s'), sg.Udp(rate='2 Mbit/s')\n"
        "    done = sg.compare(net, flow, disciplines=[Mine, 'drop_tail:limit=20'], seeds=2, jobs=2, duration='2 s')\n"
        "    ours, theirs = (done.runs.filter(discipline=d).drop('discipline') for d in done.disciplines)\n"
        "    others = {int(p.name[5:]) for p in Path().glob('made-*')} - {os.getpid()}\n"
        "    print(ours.equals(theirs), len(others) > 0)\n"
    )
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True True\n", "")


def test_the_command_line_names_it_by_its_path(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    listed = "drop_tail:limit=20,mine.py:Mine:limit=20,mine.py:Mine:limit=5"
    short = ["--set", "run.duration=3 s", "--set", "run.warmup=1 s"]
    done = sluicegate("compare", small, "--disciplines", listed, "--seeds", "2", "--jobs", "2", "-o", "out", *short)
    assert (done.returncode, done.stderr) == (0, "")
    runs = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    whole, mine, five = runs.partition_by("discipline", maintain_order=True)
    assert mine["discipline"][0] == "mine.py:Mine:limit=20"
    assert mine.drop("discipline").equals(whole.drop("discipline"))
    assert not mine.drop("discipline").equals(five.drop("discipline"))
    processes = {int(path.name.split("-")[1]) for path in tmp_path.glob("made-*")}
    assert os.getpid() in processes, "made once here, to check it"
    assert len(processes) > 1, "and for each run elsewhere"
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    about = summary["disciplines"][2]["own_discipline"]
    assert about["sha256"] == sha256((tmp_path / "mine.py").read_bytes()).hexdigest()
    assert about["arguments"]["limit"] == 5


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("mine.py:Mnie", 'mine.py has no class or function Mnie; did you mean "Mine"?'),
        ("miine.py:Mine", 'cannot read miine.py: No such file or directory; did you mean "mine.py"?'),
        ("mine.py:Mine:limit=0", "limit must be at least 1"),
        ("mine.py:Mine:limt=5", 'did you mean "limit"?'),
        ("mine.py", "name the class too, such as mine.py:MyAqm"),
    ],
)
def test_mistakes_are_answered_before_anything_runs(
    sluicegate: Program, small: Path, tmp_path: Path, entry: str, says: str
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    done = sluicegate("compare", small, "--disciplines", f"red,{entry}", "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f'error: discipline "{entry}": ')
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("fault", "error"), [("true", "LookupError: mine"), ("2", "sluicegate_own.mine.Refused: 1000 bytes: mine")]
)
def test_its_exception_ends_the_comparison_with_its_own_traceback(
    sluicegate: Program, small: Path, tmp_path: Path, fault: str, error: str
) -> None:
    """Of an exception that no other process can make, too: its class is known where the file was read alone, and it
    holds a packet."""
    (tmp_path / "mine.py").write_text(MINE)
    named = f"mine.py:Mine:fault={fault}"
    done = sluicegate("compare", small, "--disciplines", named, "--seeds", "1", "-o", "out")
    assert (done.returncode, done.stdout) == (1, "")
    first, file, *source, last, place, run = done.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    assert file.startswith('  File "mine.py", line ')
    assert not any(line.lstrip().startswith("File") for line in source), "no frames but its own"
    assert last == error
    assert place.startswith("sluicegate: in Mine.enqueue, at link ")
    assert run == f"sluicegate: in a run of {named}, seed 1"
    assert not (tmp_path / "out").exists()


def test_its_exception_is_raised_in_a_program(here: Executor) -> None:
    with pytest.raises(LookupError, match="mine"):
        sg.compare(NET, FLOWS, disciplines=[sg.Red(), partial(Fifo, fault=True)], seeds=1, executor=here, **TIMES)  # type: ignore[arg-type]


def test_what_is_no_discipline_is_refused() -> None:
    with pytest.raises(TypeError, match="expected the class Fifo, not one of its objects"):
        disciplines.choices([Fifo()])  # type: ignore[list-item]
    for wrong in (3, sg.Choke, None, sg.Udp(rate="1 Mbit/s")):
        with pytest.raises(TypeError, match="expected a name or a discipline"):
            disciplines.choices([wrong])  # type: ignore[list-item]
    with pytest.raises(sg.ScenarioError, match='discipline "Fifo": listed twice'):
        disciplines.choices([Fifo, Fifo])
    two = disciplines.choices([Fifo, partial(Fifo, limit=5), "red"])
    assert disciplines.find(partial(Fifo, limit=5), two) is two[1]
    assert disciplines.find("Fifo", two) is two[0]
    assert disciplines.find("Fifo:limit=5", two) is two[1]


def test_marks_are_compared(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    """With little UDP: beside much of it TCP sends next to nothing that could be marked."""
    text = small.read_text().replace("window = 20", "window = 20\necn = true").replace('"2 Mbit/s"', '"200 kbit/s"')
    small.write_text(text)
    often = {"queue.min_th": 2, "queue.red.max_p": 0.2, "run.duration": "20 s"}
    done = sg.compare(small, disciplines="red,red:action=mark", seeds=3, sets=often)
    assert done.marks
    assert done.mean("red", "marked_ratio")["mean"] == 0
    assert done.difference("red:action=mark", "marked_ratio")["low"] > 0
    sets = [part for key, value in often.items() for part in ("--set", f"{key}={value}")]
    shown = sluicegate("compare", small, "--disciplines", "red,red:action=mark", "--seeds", "2", *sets).stdout
    assert "losses by reason, and marks, % of arrivals" in shown
    [legend] = comparison_plot.links(done).legends
    assert "marked" in [text.get_text() for text in legend.get_texts()]
    unmarked = sg.compare(small, disciplines="red", seeds=1)
    assert not unmarked.marks
    [legend] = comparison_plot.links(unmarked).legends
    assert "marked" not in [text.get_text() for text in legend.get_texts()]
