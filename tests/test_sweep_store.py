"""Sweeps that are run again: only what is missing is run, and what makes a run another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from test_sweep import MINE, SHORT, tables

import sluicegate as sg
from sluicegate.experiments import engine, job, store


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, int]]:
    """The overrides and seeds of the runs that are made, as they are."""
    runs: list[tuple[Any, int]] = []

    def work(asked: job.Job, cancel: job.Flag | None = None) -> job.Kept:
        runs.append((asked.sets, asked.seed))
        return job.work(asked, cancel)

    monkeypatch.setattr(engine, "work", work)
    return runs


def test_only_what_is_missing_is_run(tmp_path: Path, counted: list[Any]) -> None:
    go = partial(sg.sweep, "unresponsive", sets=SHORT, out=tmp_path / "out")
    first = go(over={"queue.limit": "70,80"}, seeds=2)
    assert (len(counted), first.kept) == (4, 0)
    before = tables(tmp_path / "out")
    again = go(over={"queue.limit": "70,80"}, seeds=2)
    assert (len(counted), again.kept) == (4, 4)
    assert tables(tmp_path / "out") == before
    more = go(over={"queue.limit": "60 packets,80,70"}, seeds=3)  # the same values written otherwise
    assert (len(counted) - 4, more.kept) == (5, 4)
    assert {(dict(sets)["queue.limit"], seed) for sets, seed in counted[4:]} == {
        *(("60 packets", seed) for seed in (1, 2, 3)), ("80", 3), ("70", 3)
    }  # fmt: skip
    fewer = go(over={"queue.limit": "80"}, seeds=[3])
    assert (len(counted), fewer.kept, fewer.totals.height) == (9, 1, 1)
    fresh = sg.sweep("unresponsive", sets=SHORT, over={"queue.limit": "60,80,70"}, seeds=3)
    assert fresh.flows.equals(more.flows)


def test_another_file_of_connections_is_run_anew(tmp_path: Path, counted: list[Any]) -> None:
    scenario = tmp_path / "link.toml"
    scenario.write_text(
        """
        [network]
        rate = "1 Mbit/s"
        delay = "10 ms"
        [[flows]]
        kind = "connections"
        vectors = "link.cvec"
        [run]
        duration = "2 s"
        """
    )
    go = partial(sg.sweep, scenario, over={"network.rate": "1 Mbit/s,2 Mbit/s"}, seeds=1, out=tmp_path / "out")
    (tmp_path / "link.cvec").write_text("SEQ 0 1 1 1\n> 300\nt 1000\n< 2000\n")
    first = go()
    assert (len(counted), go().kept) == (2, 2)
    assert first.groups["exchanges"].to_list() == [1, 1]
    assert first.groups.columns[:3] == ["network.rate_bps", "seed", "name"]
    (tmp_path / "link.cvec").write_text("SEQ 0 1 1 1\n> 300\nt 1000\n< 9000\n")
    again = go()
    assert (len(counted), again.kept) == (4, 0)
    assert again.groups["response_bytes"].to_list() == [9000, 9000]


CLASSES = """
[queue]
discipline = "priority"
[[queue.classes]]
discipline = "mine.py:Mine"
[[queue.classes]]
discipline = "other.py:Mine"
"""


def in_files(folder: Path) -> Path:
    """A scenario whose connections and disciplines stand in files of their own."""
    (folder / "link.cvec").write_text("SEQ 0 1 1 1\n> 300\nt 1000\n< 2000\n")
    (folder / "mine.py").write_text(MINE)
    (folder / "other.py").write_text(MINE)
    scenario = folder / "small.toml"
    scenario.write_text(
        '[network]\nrate = "1 Mbit/s"\ndelay = "10 ms"\n[[flows]]\nkind = "connections"\nvectors = "link.cvec"\n'
        f'[run]\nduration = "2 s"\n{CLASSES}'
    )
    return scenario


FILES_OF_A_RUN = ["link.cvec", "mine.py", "other.py"]


@pytest.mark.parametrize("name", FILES_OF_A_RUN)
def test_every_file_that_a_run_reads_counts(tmp_path: Path, name: str) -> None:
    go = partial(sg.sweep, in_files(tmp_path), over={"network.rate": ["1 Mbit/s"]}, seeds=1, out=tmp_path / "out")
    with ThreadPoolExecutor(1) as executor:
        assert [go(executor=executor).kept, go(executor=executor).kept] == [0, 1]
        with (tmp_path / name).open("a") as file:
            file.write("# more\n")
        assert [go(executor=executor).kept, go(executor=executor).kept] == [0, 1]


@pytest.mark.parametrize("name", FILES_OF_A_RUN)
def test_a_file_that_has_changed_before_its_run_begins_ends_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As another file on another machine would: what came of it must not be kept under this one's key."""

    def work(asked: job.Job, cancel: job.Flag | None = None) -> job.Kept:
        with (tmp_path / name).open("a") as file:
            file.write("# more\n")
        return job.work(asked, cancel)

    monkeypatch.setattr(engine, "work", work)
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(sg.ScenarioError, match=rf"{name}.*: its SHA-256 is \w+ here, but"),
    ):
        sg.sweep(
            in_files(tmp_path),
            over={"network.rate": ["1 Mbit/s"]},
            seeds=1,
            out=tmp_path / "out",
            executor=executor,
        )
    assert not (tmp_path / "out").exists()


def test_another_version_scenario_or_core_is_run_anew(
    tmp_path: Path, counted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    go = partial(sg.sweep, "unresponsive", over={"queue.limit": "70"}, seeds=1, out=tmp_path / "out")
    go(sets=SHORT)
    go(sets=SHORT | {"queue.min_th": "31"})
    assert len(counted) == 2
    go(sets=SHORT | {"queue.min_th": "30"})  # what the file says already
    assert len(counted) == 2
    monkeypatch.setattr(job, "build", lambda: "another")
    go(sets=SHORT)
    assert len(counted) == 3


def test_points_of_equal_scenarios_share_their_runs(counted: list[Any]) -> None:
    over = {"queue.discipline": "drop_tail,choke", "queue.choke.candidates": "1,2,3"}
    swept = sg.sweep("unresponsive", over=over, seeds=1, sets=SHORT)
    assert len(counted) == 4  # Drop Tail has no candidates
    assert swept.totals.height == 6
    assert swept.totals["queue.choke.candidates"].to_list() == [1, 2, 3] * 2
    assert swept.totals["events"][:3].n_unique() == 1
    assert swept.totals["events"][3:].n_unique() == 3


def test_a_sweep_that_another_holds_is_left_alone(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    with store.Store(tmp_path / "out") as held:
        held.add("k", {})
        answer = sluicegate("sweep", small, "--over", "queue.limit=70", "-o", "out")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == f"error: {tmp_path}/out/runs.sqlite: another program keeps its runs here\n"


def test_what_is_no_store_and_no_folder_is_refused(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/runs.sqlite").write_text("something else, and long enough to be looked at" * 30)
    answer = sluicegate("sweep", small, "--over", "queue.limit=70", "-o", "out")
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert "runs.sqlite: does not hold runs of Sluicegate" in answer.stderr
    answer = sluicegate("sweep", small, "--over", "queue.limit=70", "-o", "small.toml")
    assert (answer.returncode, answer.stderr) == (2, f"error: {tmp_path}/small.toml: not a directory\n")


def test_a_store_that_holds_nothing_leaves_nothing(tmp_path: Path) -> None:
    with store.Store(tmp_path / "a/b") as held:
        assert held.keys() == set()
        with pytest.raises(KeyError):
            held.get("k")
    assert list(tmp_path.iterdir()) == []
