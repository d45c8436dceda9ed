"""The benchmark: what it runs, and what it says of it; and the gate."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import sluicegate as sg

BENCH = Path(__file__).parents[1] / "tools/bench"


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def test_the_whole_run_is_the_papers() -> None:
    import paper_run

    sets = dict(one.split("=", 1) for one in paper_run.settings(120))
    found = sg.check(paper_run.SCENARIO, sets=sets)
    assert (found["run"]["duration"], found["run"]["series"]) == ("7200 s", False)
    assert [(flow["kind"], flow["count"], flow["direction"]) for flow in found["flows"]] == [
        ("http", 10_420, "forward"),
        ("http", 10_155, "reverse"),
    ]
    assert (found["network"]["rate"], found["queue"]["discipline"]) == ("100 Mbit/s", "dcn")
    assert paper_run.settings(2.5)[0] == "run.duration=150 s"


def test_speed_and_memory_are_those_of_the_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With a program that takes a known time, run as the benchmark runs its own."""
    import paper_run

    import bench

    program = tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys, time\n"
        "while time.process_time() < 0.5: pass\n"
        "sent = int(sys.argv[2].removeprefix('run.duration=').split()[0])\n"
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
    for key in ("paper", *result):
        assert f"`{key}`" in page, key
    assert "Here" not in paper_run.measure(bench.run, program, 120)[0][0]["note"]
    json.dumps(result)


def test_parts_that_are_not_measured_stay(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import bench

    def part(name: str) -> tuple[list[dict[str, object]], dict[str, object]]:
        return [bench.table(name, "A note.", ["", "ns"], [["all", 0.01]])], {"ns": 0.01}

    output = tmp_path / "bench.json"
    monkeypatch.setattr(bench, "build", dict)
    monkeypatch.setattr(bench, "PARTS", {name: lambda _, name=name: part(name) for name in bench.PARTS})

    def run(*parts: str) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", ["bench.py", "-o", str(output), *parts])
        bench.main()
        found: dict[str, Any] = json.loads(output.read_text("utf-8"))
        return found

    assert list(run("web", "paper")) == ["web", "paper"]
    monkeypatch.setattr(bench.measured_code, "digest", lambda: "another")
    found = run()
    assert list(found) == list(bench.PARTS)[1:]
    assert {name for name, each in found.items() if each["measured"]["digest"] != "another"} == {"paper"}
    assert found["million"]["result"] == {"ns": 0.01}
    with pytest.raises(SystemExit) as ended:
        run("webb")
    assert ended.value.code == 2
    assert "no part of the benchmark: webb; there are peers, costs" in capsys.readouterr().err


def test_two_percent_fail_until_it_is_kept_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import gate

    costs = tmp_path / "costs.json"
    kept = {"a, instructions per packet": {"cost": 1000.0, "reason": "as it was"}}
    costs.write_text(json.dumps({"compiler": gate.compiler(), "costs": kept}))
    monkeypatch.setattr(gate, "COSTS", costs)
    monkeypatch.setattr(gate.shutil, "which", str)  # as if valgrind were installed everywhere
    monkeypatch.delenv("CI", raising=False)

    def run(cost: float, *arguments: str) -> str:
        monkeypatch.setattr(gate, "measure", lambda: {"a, instructions per packet": cost})
        monkeypatch.setattr(sys, "argv", ["gate.py", *arguments])
        gate.main()
        return capsys.readouterr().out

    assert "+0.90%" in run(1009.0)
    for cost in (1020.0, 980.0):
        with pytest.raises(SystemExit, match="changed by more than may be: a, instructions per packet"):
            run(cost)
    with pytest.raises(SystemExit):
        run(1020.0, "--acknowledge", "because")
    run(1020.0, "--acknowledge", "each packet has a colour")
    assert json.loads(costs.read_text())["costs"]["a, instructions per packet"] == {
        "cost": 1020.0,
        "reason": "each packet has a colour",
    }
    assert "+0.00%" in run(1020.0)
    costs.write_text(costs.read_text().replace(gate.compiler(), "rustc 1.0"))
    assert "not comparable" in run(2000.0)
    monkeypatch.setenv("CI", "1")
    with pytest.raises(SystemExit, match=r"not comparable: kept with rustc 1\.0, here is"):
        run(2000.0)


def test_the_gate_keeps_each_cost_that_it_measures() -> None:
    import gate

    kept = json.loads(gate.COSTS.read_text("utf-8"))["costs"]
    measured = [
        *(f"{name}, {gate.INSTRUCTIONS}" for name in gate.PACKETS),
        *(f"{name}, {gate.BYTES}" for name in gate.FLOWS),
    ]
    assert list(kept) == measured
    assert all(each["reason"] for each in kept.values())


def test_what_the_gate_cannot_count_fails_where_nobody_reads_what_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import gate

    costs = tmp_path / "costs.json"
    costs.write_text(json.dumps({"compiler": gate.compiler(), "costs": {}}))
    monkeypatch.setattr(gate, "COSTS", costs)
    monkeypatch.setattr(gate, "measure", dict)
    monkeypatch.setattr(gate.shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["gate.py"])
    monkeypatch.delenv("CI", raising=False)
    gate.main()
    assert "instructions are not counted: valgrind is missing" in capsys.readouterr().out
    monkeypatch.setenv("CI", "1")
    with pytest.raises(SystemExit, match="instructions are not counted: valgrind is missing"):
        gate.main()
