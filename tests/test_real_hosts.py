"""Simulation beside real hosts: the page is what was measured, simulations are today's, differences have reasons."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from test_testbed import LATE, Stub

import sluicegate as sg
from sluicegate.live import access

FILE = Path(__file__).parents[1] / "tools/real_hosts.py"


def loaded() -> ModuleType:
    """The tool as a module, whose values a test can replace; those that runpy gives are a copy."""
    spec = importlib.util.spec_from_file_location("tool_real_hosts", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = loaded()
CELLS: dict[Any, dict[str, Any]] = TOOL.kept()


def test_the_page_has_every_cell_and_is_what_was_measured() -> None:
    assert list(CELLS) == TOOL.KEYS
    assert all(cell["kept_up"] for key, cell in CELLS.items() if key[2] is not None)
    assert TOOL.PAGE.read_text("utf-8") == TOOL.page(CELLS), "python tools/real_hosts.py --page"


def test_each_difference_that_chance_does_not_explain_has_a_reason_and_no_other() -> None:
    assert sorted(TOOL.told()) == sorted(TOOL.unexplained(CELLS))


@pytest.mark.parametrize("place", range(len(TOOL.DISCIPLINES)))
def test_simulations_are_what_is_simulated(place: int) -> None:
    """Each discipline with one of the mixes."""
    mix, name = list(TOOL.MIXES)[place % len(TOOL.MIXES)], TOOL.DISCIPLINES[place]
    assert TOOL.simulated(mix, name, 1) == CELLS[mix, name, 1]["simulation"], "tools/real_hosts.py --simulations"


def test_means_and_spreads_are_those_of_simulations() -> None:
    assert TOOL.jittered("flood", "red") == CELLS["flood", "red", None], "tools/real_hosts.py --simulations"


@pytest.mark.parametrize(("given", "ticks"), [("", 8), (', clock_phase = "1 ms"', 1)])
def test_hosts_with_one_clock_have_the_same_ticks(given: str, ticks: int) -> None:
    """Openings that are lost go again at ticks of 4 ms."""
    run = sg.simulate(
        'network = { rate = "10 Mbit/s", delay = "5 ms", loss = 0.99999999 }\nqueue = { limit = 100 }\n'
        f'flows = [{{ kind = "tcp", count = 8{given} }}]\nrun = {{ duration = "8 s", packets = 200 }}\n'
    )
    again = run.packets.filter(pl.col("event") == "arrival", pl.col("time_s").rank("ordinal").over("flow") > 1)
    assert again["flow"].n_unique() == 8
    phases = (again["time_s"] * 1e9).round().cast(pl.Int64) % 4_000_000
    assert phases.n_unique() == ticks


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stub:
    """Real hosts that are simulated ones with 2 ms less of delay, and one cell for them."""
    core = Stub(monkeypatch)
    monkeypatch.setattr(access, "privileged", lambda: True)
    monkeypatch.setattr(access, "require_tun", lambda: None)
    page = tmp_path / "page.md"
    page.write_text("before\n" + TOOL.BEGIN + "old\n" + TOOL.END + "behind\n")
    for name, value in {
        "PAGE": page, "KEPT": tmp_path / "kept.jsonl", "ahead_of_all": nullcontext, "REASONS": [],
        "MIXES": {"flood": replace(TOOL.MIXES["flood"], seeds=(1,))}, "DISCIPLINES": ("red",),
        "JITTERS_US": range(100, 121, 10), "KEYS": [("flood", "red", 1), ("flood", "red", None)],
    }.items():  # fmt: skip
        monkeypatch.setattr(TOOL, name, value)
    return core


def test_what_is_there_and_was_not_late_is_not_measured_again(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    stub.live = LATE
    TOOL.main([])
    assert len(stub.asked) == TOOL.TRIES
    assert "The machine did not keep up in 1 of 1 runs: red with flood, seed 1." in TOOL.PAGE.read_text()
    stub.live = {}
    for arguments, more in (([], 1), ([], 1), (["red", "--anew"], 2)):
        TOOL.main(arguments)
        assert len(stub.asked) == TOOL.TRIES + more
    lines = TOOL.PAGE.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "behind")
    assert "did not keep up" not in "".join(lines)
    # 2 ms less than the simulation that `compare` makes, which is as near the mean of the others as their spread says.
    row = next(line for line in lines if line.startswith("| `red`"))
    less, allowed = map(float, re.findall(r"\*\*−([\d.]+)\*\* ± ([\d.]+)", row)[0])
    assert less == pytest.approx(2, abs=allowed)
    assert "wants a reason: flood, red, transfers_delay_p50_ns" in capsys.readouterr().out


def test_simulations_alone_leave_real_hosts_as_they_are(stub: Stub) -> None:
    TOOL.main([])
    [cell, spread] = [json.loads(line) for line in TOOL.KEPT.read_text().splitlines()]
    TOOL.KEPT.write_text(json.dumps({**cell, "simulation": {}}) + "\n")
    TOOL.main(["--simulations"])
    assert len(stub.asked) == 1
    assert [json.loads(line) for line in TOOL.KEPT.read_text().splitlines()] == [cell, spread]
