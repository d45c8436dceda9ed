"""Envelopes as they are measured: runs, parameters that are moved, disciplines of one's own, and the command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import open_page
from conftest import Program
from test_envelope import scenario

import sluicegate as sg
from sluicegate.envelopes import Edges
from sluicegate.evaluation.envelope import page
from sluicegate.evaluation.envelope.grid import (
    MS,
    Cell,
    Grid,
)  # fmt: skip

TINY = Grid((1_000_000, 3_160_000), (1, 10), (30 * MS,), (30 * MS,), (10, 30 * MS), 1e6, 1e6)
OWN = """\
import sluicegate as sg


class Short(sg.Aqm):
    def __init__(self, *, rate_bps, target_ms=40):
        self.most, self.queue = rate_bps * target_ms / 8000, sg.PacketQueue()

    def enqueue(self, packet, ctx):
        if ctx.bytes + packet.bytes > self.most:
            ctx.drop(packet, "tail")
        else:
            self.queue.append(packet)

    def dequeue(self, ctx):
        return self.queue.pop()
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "short.py"
    path.write_text(OWN)
    return path


@pytest.mark.drawn
def test_cells_have_what_a_run_has_and_parameters_are_moved(tmp_path: Path) -> None:
    done = sg.envelope("red:max_th=20", grid=TINY, out=tmp_path / "out")
    plain = done.cells.filter(parameter="")
    assert plain.height == 4
    cell = Cell(1_000_000, 10, 30 * MS)
    run = sg.run(cell.text(24, False), queue="red:max_th=20", seed=1, progress=False).links.to_dicts()[0]
    row = plain.filter(rate_bps=1_000_000, flows=10).to_dicts()[0]
    assert (row["utilisation"], row["queueing_delay_ns"]) == (run["utilisation"], run["queueing_delay_mean_ns"])
    assert row["loss_ratio"] == run["drops_packets"] / run["arrivals_packets"]
    assert row["promised_delay_ns"] == pytest.approx((1.1 * 20 + 1) * 12e6)
    assert row["flood_share"] > 0.8, "RED knows no flows"
    parameters = dict(done.moved("red:max_th=20"))
    assert {"w_q", "min_th", "max_th", "max_p", "limit"} <= {*parameters}
    assert [*parameters["max_th"]] == [0.5, 2.0]
    moved_rows = done.cells.filter(parameter="max_th", factor=2.0, rate_bps=1_000_000)
    assert moved_rows["promised_delay_ns"][0] == pytest.approx((1.1 * 40 + 1) * 12e6)
    again = sg.Envelopes.read(tmp_path / "out")
    assert again.cells.equals(done.cells)
    assert repr(again) == repr(done)
    seen = open_page(tmp_path / "out/report.html")
    assert not seen.errors
    assert len(seen.drawings) == 2
    for words in ("rate of the link (bit/s)", "queueing delay, mean (ms)", "a flood's share (% of the link)", "max_th"):
        assert words in seen.text, words


def test_it_resumes(tmp_path: Path) -> None:
    seen: list[int] = []

    def count(_done: int, total: int, _which: str) -> None:
        seen.append(total)

    sg.envelope("choke", grid=replace(TINY, moves=()), out=tmp_path, progress=count)
    assert len(seen) == 8, "four cells, and with a flood"
    sg.envelope("choke", grid=replace(TINY, moves=(), rates=(*TINY.rates, 10_000_000)), out=tmp_path, progress=count)
    assert len(seen) == 12, "those of the new rate"


def test_ones_own_has_an_envelope_by_its_promise(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    grid = replace(TINY, flows=(10,), moves=())
    with pytest.warns(sg.ScenarioWarning, match="short.py:Short promises no delay"):
        loose = sg.envelope("short.py:Short", grid=grid)
    strict = sg.envelope("short.py:Short", grid=grid, promise="20 ms")
    aimed = sg.envelope("short.py:Short", grid=grid, promise="10 ms target")
    assert aimed.cells.equals(strict.cells), "a target may be exceeded by as much again"
    delays = loose.cells["queueing_delay_ns"].to_list()
    assert delays == strict.cells["queueing_delay_ns"].to_list()
    assert 20e6 < min(delays) < max(delays) < 52e6, "a buffer of 40 ms, and the packet in transmission"
    assert loose.envelope("short.py:Short").edges(10, 30 * MS) == Edges(1e6, 3.16e6, True, True)
    assert strict.envelope("short.py:Short").edges(10, 30 * MS) is None
    assert ("short.py:Short", "20 ms", "bound") in {
        row[:3] for row in page.promises({"short.py:Short": "short.py:Short"}, 20e6).rows
    }
    assert (aimed.summary["promise_ns"], aimed.summary["promise_is_target"]) == (10_000_000, True)


MOVED = """\
from short import Short


class Moved(Short):
    def __init__(self, *, rate_bps, target_ms: float = 40, spare=0, law="plain", most=1, loud=False):
        if target_ms > 60:
            raise ValueError("too long")
        super().__init__(rate_bps=rate_bps, target_ms=target_ms)
        self.most = self.most / (2 - most)  # none of twice `most`
"""


def test_parameters_of_ones_own_are_moved_as_its_signature_has_them(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half and twice of what is a number; what is none, or is refused, is named, and an exception ends no other run."""
    monkeypatch.chdir(own.parent)
    monkeypatch.syspath_prepend(own.parent)
    Path("moved.py").write_text(MOVED)
    done = sg.envelope("moved.py:Moved", grid=replace(TINY, flows=(10,)), promise="45 ms")
    edges = dict(done.moved("moved.py:Moved"))
    assert [*edges] == ["none", "target_ms", "most"]
    kept_to = Edges(1e6, 3.16e6, True, True)
    assert (edges["target_ms"], edges["most"]) == ({0.5: kept_to, 2.0: "rule"}, {0.5: "rule", 2.0: "raises"})
    half = done.cells.filter(parameter="target_ms", factor=0.5)
    assert half["value"].to_list() == ["20.0", "20.0"], "a whole number where the signature says float"
    plain = done.cells.filter(parameter="none")
    assert all(half["queueing_delay_ns"] < 0.6 * plain["queueing_delay_ns"])
    assert done.summary["disciplines"][0]["not_moved"] == ["spare", "law", "loud"]
    page_ = done.html()
    left = (
        "Not moved, because they are not numbers, are 0 or not set, or accept neither half nor twice their value: "
        "spare, law, loud."
    )
    assert left in page_
    assert "measured only at a round trip of 30 ms" in page_, "of a flood"


def test_what_was_asked_for_is_moved_to_these_values_alone(
    sluicegate: Program, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate.evaluation.envelope.measure.QUICK", replace(TINY, flows=(10,)))
    monkeypatch.chdir(own.parent)
    some = ("short.py:Short", "red", "--suite", "envelope", "--quick", "-o", "out")
    ended = sluicegate("evaluate", *some, "--move", "target_ms=20,300", "--move", "action=drop,mark", "--move", "w_q")
    assert ended.returncode == 0, ended.stderr
    done = sg.Envelopes.read("out")
    assert {name: [*ways] for name, ways in done.moved("short.py:Short")} == {"none": [1.0], "target_ms": ["20", "300"]}
    red = {name: [*ways] for name, ways in done.moved("red")}
    assert red == {"none": [1.0], "action": ["drop", "mark"], "w_q": [0.5, 2.0]}
    rows = page.valued(done, "short.py:Short").rows
    assert [row[:2] for row in rows] == [("as it is", ""), ("target_ms", "20"), ("target_ms", "300")]
    long = done.cells.filter(parameter="target_ms", value="300")["queueing_delay_ns"]
    assert 0.7 * 300e6 < long.mean() < 312e6, "a buffer of 300 ms, and the packet in transmission"  # type: ignore[operator]
    assert page.moves(done, "red").rows[-1][0] == "no clear effect: w_q"


@pytest.mark.parametrize(
    ("move", "words"),
    [
        ({"max_tj": ()}, 'max_tj: no parameter of red, choke; did you mean "max_th"'),
        ({"candidates": ("0",)}, "move: candidates of choke"),
        (["action"], "action: is no number; say which values it is to take"),
    ],
)
def test_what_cannot_be_moved_is_answered(move: Any, words: str) -> None:
    with pytest.raises(sg.ScenarioError, match=re.escape(words)):
        sg.envelope("red,choke", grid=TINY, move=move)


def test_check_and_recommend_tell_of_ones_own_with_its_values(
    sluicegate: Program, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A buffer of 200 ms, of which 20 are promised: no rate, and no round trip up to 30 ms, is within."""
    monkeypatch.chdir(own.parent)
    label, values = "short.py:Short:target_ms=200", ("--set", "queue.python.target_ms=200")
    grid = replace(TINY, flows=(10,), trips=(5 * MS, 30 * MS), moves=())
    sg.envelope(label, grid=grid, promise="20 ms", out="out")
    Path("s.toml").write_text(scenario("short.py:Short", 2e6, 10, 30e6))
    said = f"lies outside the envelope of {label}: packets wait for about"
    assert said not in sluicegate("check", "s.toml", "--envelopes", "out").stderr, "its default is 40 ms"
    assert said not in sluicegate("check", "s.toml", *values).stderr, "nothing is known"
    assert said in sluicegate("check", "s.toml", *values, "--envelopes", "out").stderr
    some = ("--disciplines", f"{label},codel", "--seeds", "1", "--set", "run.duration=3 s", "--envelopes", "out")
    done = sluicegate("recommend", "s.toml", *some)
    assert (done.returncode, said in done.stdout) == (0, True), done.stderr
    missing = "have none for short.py:Short with these values, only for short.py:Short:target_ms=200"
    assert missing in sluicegate("check", "s.toml", "--envelopes", "out").stderr
    done = sluicegate("recommend", "s.toml", "--disciplines", "short.py:Short,codel", *some[2:])
    assert missing in done.stdout, done.stderr
    for place in ("nowhere", "s.toml"):
        refused = sluicegate("check", "s.toml", "--envelopes", place)
        assert (refused.returncode, place in refused.stderr, "envelope" in refused.stderr) == (2, True, True)


@pytest.mark.full
def test_ones_own_is_known_however_its_path_is_spelt(
    sluicegate: Program, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured from one folder by its whole path, and named from another, and from the scenario's."""
    (own.parent / "other").mkdir()
    monkeypatch.chdir(own.parent / "other")
    grid = replace(TINY, flows=(10,), trips=(5 * MS, 30 * MS), moves=())
    done = sg.envelope(f"{own}:Short:target_ms=200", grid=grid, promise="20 ms", out="../out")
    label = "short.py:Short:target_ms=200"
    assert done.disciplines == [label], "file and class"
    said = f"lies outside the envelope of {label}: packets wait for about"
    values, folder = ("--set", "queue.python.target_ms=200"), ("--envelopes", "out")  # commands run above "other"
    for from_file, from_here in (("../short.py", "short.py"), ("./../other/../short.py", "./short.py"), (own, own)):
        Path("s.toml").write_text(scenario(f"{from_file}:Short", 2e6, 10, 30e6))
        assert said in sluicegate("check", "other/s.toml", *values, *folder).stderr, from_file
        more = ("--set", f"queue.discipline={from_here}:Short")
        assert said in sluicegate("check", "other/s.toml", *values, *more, *folder).stderr, from_here
        some = ("--disciplines", f"{from_here}:Short:target_ms=200,codel", "--seeds", "1", "--set", "run.duration=3 s")
        answer = sluicegate("recommend", "other/s.toml", *some, *folder)
        assert "lies outside the envelope of" in answer.stdout, answer.stderr


def test_the_command_writes_a_report(sluicegate: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sluicegate.evaluation.envelope.measure.QUICK", TINY)
    run = sluicegate("evaluate", "pie", "--suite", "envelope", "--quick", "-o", str(tmp_path / "out"))
    assert run.returncode == 0, run.stderr
    assert "report.html" in run.stdout
    assert re.search(r"pie +", run.stdout)
    assert json.loads((tmp_path / "out/summary.json").read_text())["suite"] == "envelope"
    assert pl.read_parquet(tmp_path / "out/cells.parquet").height > 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--suite", "envelope"], "name a discipline"),
        (["red", "--suite", "envelope", "--only", "8"], "--only is not for --suite envelope"),
        (["red", "--suite", "envelope", "--set", "queue.limit=5"], "give parameters with the discipline"),
        (["red", "--promise", "20 ms"], "--promise is only for --suite envelope"),
        (["red", "--move", "max_th"], "--move is only for --suite envelope"),
        (["red", "--suite", "envelope", "--move", "max_tj=3"], 'did you mean "max_th"'),
        (["rde", "--suite", "envelope"], 'did you mean "red"'),
        (["red", "--suite", "envelope", "--promise", "20"], "promise"),
        (["red", "--suite", "envelope", "--promise", "20 target"], "promise"),
    ],
)
def test_wrong_arguments_are_answered(sluicegate: Program, tmp_path: Path, arguments: list[str], words: str) -> None:
    run = sluicegate("evaluate", *arguments, "-o", str(tmp_path / "out"))
    assert run.returncode == 2
    assert words in run.stderr
    assert not (tmp_path / "out").exists()
