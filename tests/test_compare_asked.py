"""What `compare` is asked: the list of disciplines, and mistakes in it and in other arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.experiments import disciplines


def test_a_list_in_a_text_is_read() -> None:
    found = disciplines.choices(
        " red, choke : candidates = 2:s=4 ms ,dir/mine.py:MyAqm,red:limit=64 kB, my.py : A : gain = 2"
    )
    assert [choice.label for choice in found] == [
        "red", "choke:candidates=2:s=4 ms", "dir/mine.py:MyAqm", "red:limit=64 kB", "my.py:A:gain=2",
    ]  # fmt: skip
    assert found[1].sets == (("queue.discipline", "choke"), ("queue.choke.candidates", "2"), ("queue.choke.s", "4 ms"))
    assert found[2].sets == (("queue.discipline", "dir/mine.py:MyAqm"),)
    assert found[4].sets == (("queue.discipline", "my.py:A"), ("queue.python.gain", "2"))


def test_objects_state_every_value_and_are_named_by_what_is_not_default() -> None:
    found = disciplines.choices([sg.Red(), sg.Choke(candidates=2, s="4 ms"), sg.Red(wait=True), "drop_tail:limit=7"])
    assert [choice.label for choice in found] == [
        "red",
        "choke:s=4 ms:candidates=2",
        "red:wait=true",
        "drop_tail:limit=7",
    ]
    assert ("queue.red.min_th", "5") in found[0].sets
    assert disciplines.find(sg.Red(wait=True), found) is found[2]
    assert disciplines.find("choke", found) is found[1]
    assert disciplines.find(" drop_tail : limit = 7", found) is found[3]
    assert disciplines.find("red", found) is found[0]  # its own label goes before a shared name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("red,chok", ['"chok"', 'did you mean "choke"?']),
        ("red,chok:candidates=2", ["queue.discipline", '"chok"', 'did you mean "choke"?']),
        ("red,choke:candidtes=2", ['"choke:candidtes=2"', "queue.choke.candidtes", 'did you mean "candidates"?']),
        ("red,choke:candidates=200", ['"choke:candidates=200"', "queue.choke.candidates", "at most 64"]),
        ("red:min_th=70", ['"red:min_th=70"', "min_th < max_th", "60"]),
        ("red:candidates=2", ['"red:candidates=2"', "queue.red.candidates"]),
        ("red:s=4 parsecs", ["queue.red.s", "parsecs"]),
        ("red codel", ['"red codel"', "separate disciplines by commas: red,codel"]),
        ("red;codel", ["separate disciplines by commas: red,codel"]),
        ("red:gentle", ['"red:gentle"', '"gentle" must be KEY=VALUE']),
        ("red:min_th=", ['"min_th=" must be KEY=VALUE']),
        ("red:min_th=3:min_th=4", ["min_th is given twice"]),
        ("red,", ["the name is missing"]),
        ("", ["the name is missing"]),
        ("red,choke, red", ['"red"', "listed twice"]),
        ("mine.py", ["name the class too", "mine.py:MyAqm"]),
        ("mine.rs:Mine", ['"mine.rs:Mine"', "into Sluicegate", "docs/rust-discipline.md"]),
        ("mine.py:MyAqm:gain", ['"gain" must be KEY=VALUE']),
    ],
)
def test_a_mistake_in_the_list_is_named_before_anything_runs(
    sluicegate: Program, tmp_path: Path, text: str, parts: list[str]
) -> None:
    # A run of this length would outlast the test.
    long = ["--set", "run.duration=1000000 s", "--set", "run.series=false", "-o", "out"]
    answer = sluicegate("compare", "unresponsive", "--disciplines", text, *long)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert answer.stderr.startswith("error: ")
    assert "--set" not in answer.stderr
    for part in parts:
        assert part in answer.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "chok"], 'baseline "chok": not among the disciplines; did you mean "choke"?'),
        (["--baseline", "zzz"], "listed: red, choke, choke:candidates=2"),
        (["--set", "queue.mim_th=3"], '--set queue.mim_th: no such key; did you mean "min_th"?'),
        (["--set", "run.seed=3"], "--set run.seed: give seeds instead"),
        (["--set", "queue.discipline=red"], "--set queue.discipline: give disciplines instead"),
        (["--set", "nonsense"], "--set nonsense: must be KEY=VALUE"),
        (["-o", "small.toml"], "not a directory"),
    ],
)
def test_other_mistakes_are_one_line(sluicegate: Program, small: Path, arguments: list[str], message: str) -> None:
    answer = sluicegate("compare", small, "--disciplines", "red,choke,choke:candidates=2", *arguments)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert message in answer.stderr


def test_a_baseline_that_several_share_is_refused() -> None:
    with pytest.raises(sg.ScenarioError, match=r'"choke": several are listed: choke:limit=9, choke:limit=8'):
        sg.compare("unresponsive", disciplines="choke:limit=9,choke:limit=8", baseline="choke")


@pytest.mark.parametrize("arguments", [["--seeds", "0"], ["--jobs", "0"]])
def test_no_seed_and_no_job_are_refused(sluicegate: Program, arguments: list[str]) -> None:
    assert sluicegate("compare", "unresponsive", "--disciplines", "red", *arguments).returncode == 2


def test_wrong_things_in_python() -> None:
    with pytest.raises(ValueError, match="jobs = 0"):
        sg.compare("unresponsive", disciplines="red", jobs=0)
    for seeds in (0, [], [1, 1], [-1]):
        with pytest.raises(ValueError, match="seeds = "):
            sg.compare("unresponsive", disciplines="red", seeds=seeds)
    with pytest.raises(TypeError, match="flows"):
        sg.compare("unresponsive", sg.Tcp(), disciplines="red")
    with pytest.raises(TypeError, match="flows"):
        sg.compare(sg.dumbbell(rate="1 Mbit/s"), disciplines="red")
    with pytest.raises(TypeError, match="network"):
        sg.compare(sg.Red(), sg.Tcp(), disciplines="red")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="disciplines"):
        sg.compare("unresponsive", disciplines=[sg.Red])  # type: ignore[list-item]
    with pytest.raises(sg.ScenarioError, match="name at least one"):
        sg.compare("unresponsive", disciplines=[])
    with pytest.raises(sg.ScenarioError, match=r'^Dumbbell: rate = "fast": must be a rate'):
        sg.compare(sg.dumbbell(rate="fast"), sg.Tcp(), disciplines=[sg.Red()], duration="1 s")
