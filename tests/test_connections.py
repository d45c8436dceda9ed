"""Files of connection vectors: looked at, and written in both formats, by the command and in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Program
from steps import blocks, console

import sluicegate as sg

DOCS = Path(__file__).parents[1] / "docs"

ORIGINAL = """\
SEQ 1000 3 1 7
w 16384 65535
m 1448 536
r 100000
l 0.010000 0.000000
> 300
t 50000
> 20
t 1
< 1448
t 2000000
< 5
t 6304943
CONC 3000000 2 1 1 8
c> 600
t> 500000
c> 700
c< 100
t< 9
"""
ALTERNATE = """\
S 1000 3 7 7
w 16384 65535
m 1448 536
r 100000
l 0.010000 0.000000
I 0 0 300
I 50000 0 20
A 0 1 1448
A 2000000 0 5
A 6304943 0 0
C 3000000 2 1 8 8
I 0 0 600
I 500000 0 700
A 0 0 100
A 9 0 0
"""


@pytest.fixture
def link(tmp_path: Path) -> Path:
    """A file of two connections, in the folder that commands run in."""
    path = tmp_path / "link.cvec"
    path.write_text(ORIGINAL)
    return path


def test_a_file_goes_to_the_other_format_and_back(sluicegate: Program, link: Path, tmp_path: Path) -> None:
    there = sluicegate("connections", link, "--format", "alternate", "-o", "deep/alt.cvec")
    assert (there.returncode, there.stderr) == (0, "")
    assert there.stdout.endswith("written in the alternate format: deep/alt.cvec\n")
    assert (tmp_path / "deep/alt.cvec").read_text() == ALTERNATE
    back = sluicegate("connections", "deep/alt.cvec", "--format", "original")
    assert (back.returncode, back.stderr) == (0, "")
    assert back.stdout == ORIGINAL.replace(" 1 7\n", " 7 7\n").replace(" 1 8\n", " 8 8\n"), "but for the first number"
    itself = sluicegate("connections", "deep/alt.cvec", "--format", "alternate", "-o", "deep/alt.cvec", "--quiet")
    assert (itself.returncode, itself.stdout, itself.stderr) == (0, "", "")
    assert (tmp_path / "deep/alt.cvec").read_text() == ALTERNATE
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["alt.cvec"]


def test_both_formats_run_alike(link: Path, tmp_path: Path) -> None:
    other = sg.vectors(link).write(tmp_path / "other.cvec", "alternate")
    runs = [
        sg.simulate(sg.dumbbell(rate="1 Mbit/s"), sg.Connections(vectors=str(path)), duration="20 s", warmup="0 s")
        for path in (link, other)
    ]
    assert runs[0].groups["closed_connections"].item() == 2
    for table in runs[0].tables:
        assert runs[0].table(table).equals(runs[1].table(table), null_equal=True), table


def test_a_window_lets_any_number_of_segments_out_at_once(tmp_path: Path) -> None:
    """15,209 segments, more than one event sends: all go in the second round trip, after that of the opening.

    A round trip is shorter than the second that a SYN waits: after a repeated SYN the window is one segment.
    """
    path = tmp_path / "large.cvec"
    path.write_text("S 0 1 1 1\nw 16777216 16777216\nm 1460 1460\nr 900000\nI 0 0 300\nA 0 0 14600000\nA 0 0 0\n")
    done = sg.simulate(
        sg.dumbbell(rate="1 Gbit/s", queue=sg.DropTail(limit=20_000)),
        sg.Connections(vectors=str(path), profile="freebsd45", initial_window=20_000, access_rate="1 Gbit/s"),
        duration="20 s",
        warmup="0 s",
    )
    response_s = done.groups["response_time_mean_ns"].item() / 1e9
    # 15 MB take 0.12 s. A third round trip would be 0.9 s more.
    assert 1.8 < response_s < 2.1
    assert done.groups["response_bytes"].item() == 14_600_000


def test_what_is_in_a_file(sluicegate: Program, link: Path) -> None:
    found = sg.vectors(link)
    expected = {
        "path": str(link),
        "format": "original",
        "connections": 2,
        "concurrent": 1,
        "exchanges": 3,
        "last_start_ns": 3 * 10**9,
        "initiator_units": 4,
        "initiator_bytes": 1620,
        "acceptor_units": 3,
        "acceptor_bytes": 1553,
    }
    assert found.record() == expected
    assert repr(found) == "<sluicegate.Vectors link.cvec: 2 connections, original>"
    assert json.loads(sluicegate("connections", link, "--json").stdout) == expected
    lines = sluicegate("connections", "link.cvec").stdout.splitlines()
    assert lines[0] == "link.cvec: original format, 2 connections in 3 s"
    assert "  1 sequential with 3 exchanges, 1 concurrent" in lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gone.cvec"], "gone.cvec: cannot be read: No such file"),
        (["."], ".: must be a file of at most 1 GiB"),
        (["bad.cvec"], "bad.cvec:3: there must be a time between two units"),
        (["bad.cvec", "--format", "original", "-o", "out.cvec"], "bad.cvec:3: there must be a time between two units"),
        (
            ["waits.cvec", "--format", "original", "-o", "out.cvec"],
            "waits.cvec: connection 5: waits 7 us before its first",
        ),
        (["link.cvec", "--format", "alternative"], '--format alternative: no such format; did you mean "alternate"?'),
        (["link.cvec", "-o", "out.cvec"], "-o: say in which format: --format original or --format alternate"),
        (["link.cvec", "--format", "original", "-o", "."], "is a directory"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_written(
    sluicegate: Program, link: Path, words: list[str], message: str
) -> None:
    folder = link.parent
    (folder / "bad.cvec").write_text("SEQ 0 1 1 1\n> 5\n> 6\n")
    (folder / "waits.cvec").write_text("S 0 1 1 5\nI 7 0 5\n")
    before = sorted(folder.iterdir())
    answer = sluicegate("connections", *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: ")
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_another_format_is_refused_in_python(link: Path) -> None:
    with pytest.raises(sg.ScenarioError, match='no such format: "new"; one of original, alternate'):
        sg.vectors(link).text("new")


def test_the_manuals_file_is_as_the_manual_says(tmp_path: Path) -> None:
    [file] = [each for each in blocks((DOCS / "scenarios.md").read_text("utf-8")) if "`link.cvec`:" in each.above]
    (tmp_path / "link.cvec").write_text(file.text)
    [shown] = [
        each for each in blocks((DOCS / "scenarios.md").read_text("utf-8")) if "$ sluicegate connections" in each.text
    ]
    assert console(shown.text, tmp_path) == shown.text
