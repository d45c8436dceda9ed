"""The benchmark of the paper's whole run: what it runs, and what it says of it."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import sluicegate as sg

BENCH = Path(__file__).parents[1] / "tools/bench"


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def test_the_whole_run_is_the_papers(tmp_path: Path) -> None:
    import paper_run

    path = tmp_path / "run.toml"
    path.write_text(paper_run.text(120))
    found = sg.check(path)
    assert (found["run"]["duration"], found["run"]["series"]) == ("7200 s", False)
    assert [(flow["kind"], flow["count"], flow["direction"]) for flow in found["flows"]] == [
        ("http", 10_420, "forward"),
        ("http", 10_155, "reverse"),
    ]
    assert (found["network"]["rate"], found["queue"]["discipline"]) == ("100 Mbit/s", "dcn")
    shorter = tomllib.loads(paper_run.text(2.5))
    assert shorter["run"].pop("duration") == "150 s"
    assert shorter["flows"] == tomllib.loads(paper_run.text(120))["flows"]


def test_speed_and_memory_are_those_of_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With a program that takes a known time, run as the benchmark runs its own."""
    import paper_run

    import bench

    program = tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys, time, tomllib\n"
        "run = tomllib.load(open(sys.argv[1], 'rb'))['run']\n"
        "while time.process_time() < 0.5: pass\n"
        "sent = int(run['duration'].split()[0])\n"
        "print(json.dumps({'events': 1000, 'sent': sent, 'peak_memory_kb': 2048}, separators=(',', ':')))\n"
    )
    program.chmod(0o755)
    [table], result = paper_run.measure(bench.run, program, 10)
    assert result["simulated_minutes"] == 10
    assert 0.5 <= result["cpu_s"] < 2
    assert result["simulated_minutes_per_cpu_minute"] == 600 / result["cpu_s"]
    assert (result["peak_memory_bytes"], result["events"], result["packets"]) == (2048 * 1024, 1000, 600)
    [row] = table["rows"]
    assert len(row) == len(table["columns"])
    assert (row[0], row[3], row[5]) == (10, 600, 2.0)
    assert "Here 10 minutes of them" in table["note"]
    page = BENCH.parents[1].joinpath("docs/performance.md").read_text("utf-8")
    for key in ("paper_run", *result):
        assert f"`{key}`" in page, key
    assert "Here" not in paper_run.measure(bench.run, program, 120)[0][0]["note"]
    json.dumps(result)


@pytest.mark.parametrize("minutes", ["0", "121", "nan"])
def test_a_length_that_makes_no_sense_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], minutes: str
) -> None:
    import bench

    monkeypatch.setattr(sys, "argv", ["bench.py", "--paper", minutes])
    monkeypatch.setattr(bench, "build", lambda: SimpleNamespace())
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert ended.value.code == 2
    assert "--paper: from 1 to 120 simulated minutes" in capsys.readouterr().err
