"""The command line as a user meets it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from conftest import PROGRAM, Program

from sluicegate.cli.common import folded

TABLES = ["delays", "flow_series", "flows", "groups", "links", "occupancy", "queue"]
"""Those of a small run that have rows."""


def test_help_answers_at_once() -> None:
    """Within four times what the library of the command line needs to be imported, both in processor time and at their
    best of five: no machine is too slow for that, and one import of a table or a figure library goes beyond it."""

    def best(*command: str | Path) -> float:
        seconds = []
        for _ in range(5):
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            assert child.returncode == 0
            seconds.append(used.ru_utime + used.ru_stime)
        return min(seconds)

    assert best(PROGRAM, "--help") < 4 * best(sys.executable, "-c", "import typer")


def test_help_lists_the_commands(sluicegate: Program) -> None:
    text = sluicegate("--help").stdout
    for command in ("run", "compare", "reproduce", "disciplines", "design", "check", "--version"):
        assert command in text


@pytest.mark.parametrize("asked", [("check", "{small}"), ("--version",)])
def test_it_ends_without_a_word_when_nobody_reads(small: Path, asked: tuple[str, ...]) -> None:
    """As in `sluicegate … | head -1`, where what is left to write at the end may come after `head` has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [PROGRAM, *(part.format(small=small) for part in asked)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=buffered, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_version_is_the_workspace_version(process: Program) -> None:
    import tomllib

    cargo = tomllib.loads(Path(__file__).parents[1].joinpath("Cargo.toml").read_text())
    asked = ["git", "rev-parse", "--short=12", "HEAD"]
    at = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=False).stdout.strip()
    commit = rf" \(commit {at}(-dirty)?\)" if at else r"( \(commit .*\))?"
    version = re.escape(cargo["workspace"]["package"]["version"])
    assert re.fullmatch(rf"sluicegate {version}{commit}\n", process("--version").stdout)


def test_run_writes_every_table_and_prints_one(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    done = sluicegate("run", small, "--seed", "7", "-o", "out/deep")
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "out" / "deep"
    assert sorted(path.stem for path in folder.glob("*.parquet")) == TABLES
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".parquet") == [
        "report.html", "run.svg", "summary.json",
    ]  # fmt: skip
    assert json.loads((folder / "summary.json").read_text())["seed"] == 7
    flows = pl.read_parquet(folder / "flows.parquet")
    row = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["tcp"])
    total = flows.filter(pl.col("kind") == "tcp")["throughput_bps"].sum() / 1e3
    assert row.split()[1:4] == ["3", f"{total:.1f}", f"{total / 3:.1f}"]
    [tcp] = pl.read_parquet(folder / "groups.parquet").filter(name="tcp").to_dicts()
    delays = [tcp[f"delay_{which}_ns"] for which in ("mean", "p50", "p95", "p99")]
    assert [float(word) for word in row.split()[4:]] == pytest.approx(
        [100 * tcp["loss_ratio"], *(1e-6 * each for each in delays)], abs=0.05
    )
    queue = r"queue .* packets \(longest \d+; the discipline's average \d"
    assert re.search(rf"choke at 1000\.0 kbit/s, utilisation .* %, {queue}", done.stdout)


def test_run_without_o_writes_nothing(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    assert sluicegate("run", small).returncode == 0
    assert list(tmp_path.iterdir()) == [small]


def test_quiet_prints_nothing(sluicegate: Program, small: Path) -> None:
    done = sluicegate("run", small, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_json_holds_groups_links_and_summary(sluicegate: Program, small: Path) -> None:
    answer = json.loads(sluicegate("run", small, "--json").stdout)
    groups = [(group["name"], group["kind"], group["flows"]) for group in answer["groups"]]
    assert groups == [("tcp", "tcp", 3), ("udp", "udp", 1), ("poisson", "poisson", 1)]
    for group in answer["groups"]:
        assert group["throughput_per_flow_bps"] == pytest.approx(group["throughput_bps"] / group["flows"])
    assert {link["discipline"] for link in answer["links"]} >= {"choke"}
    assert answer["summary"]["seed"] == 5


def test_groups_are_called_by_their_names(sluicegate: Program, small: Path) -> None:
    sets = ["--set", "flows.0.name=files", "--set", "flows.2.name=noise", "--set", "flows.1.name=noise"]
    answer = json.loads(sluicegate("run", small, *sets, "--json").stdout)
    assert [(group["name"], group["kind"], group["flows"]) for group in answer["groups"]] == [
        ("files", "tcp", 3), ("noise", "udp poisson", 2),
    ]  # fmt: skip
    lines = sluicegate("run", small, *sets).stdout.splitlines()
    assert [words[:2] for line in lines if (words := line.split())[:1] in (["files"], ["noise"])] == [
        ["files", "3"], ["noise", "2"],
    ]  # fmt: skip


def test_connections_that_come_and_go_have_no_throughput_per_flow(sluicegate: Program) -> None:
    short = ["--set", "run.duration=8 s", "--set", "run.warmup=2 s"]
    answer = json.loads(sluicegate("run", "web", *short, "--json").stdout)
    assert [group["name"] for group in answer["groups"]] == ["http_1", "http_2", "connections"]
    assert [group["throughput_per_flow_bps"] for group in answer["groups"]] == [None] * 3
    assert all(group["response_time_p99_ns"] > 0 for group in answer["groups"])


def test_set_overrides_the_file_and_seed_comes_last(sluicegate: Program, small: Path) -> None:
    sets = ["--set", "queue.discipline=red", "--set", "flows.0.count=2", "--set", "run.seed=3", "--seed", "4"]
    answer = json.loads(sluicegate("run", small, *sets, "--json").stdout)
    assert {link["discipline"] for link in answer["links"] if link["arrivals_packets"]} >= {"red"}
    assert answer["groups"][0]["flows"] == 2
    assert answer["summary"]["seed"] == 4


@pytest.mark.parametrize("name", ["unresponsive", "unresponsive.toml", "scenarios/unresponsive.toml", "topology"])
def test_a_scenario_that_comes_along_is_found_anywhere(sluicegate: Program, name: str) -> None:
    done = sluicegate("check", name)
    assert (done.returncode, done.stdout) == (0, f"{name}: ok\n")


def test_a_file_goes_before_a_scenario_that_comes_along(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "unresponsive").write_text("nonsense")
    assert sluicegate("check", "unresponsive").returncode == 2


def test_check_shows_the_resolved_scenario(sluicegate: Program, small: Path) -> None:
    resolved = json.loads(sluicegate("check", small, "--set", "queue.max_th=40", "--json").stdout)
    assert set(resolved) == {"network", "queue", "flows", "run"}
    assert resolved["queue"]["max_th"] == 40
    assert resolved["queue"]["candidates"] == 1
    assert len(resolved["flows"]) == 3


def test_disciplines_lists_the_registry(sluicegate: Program) -> None:
    from sluicegate import _core

    registry = json.loads(_core.declarations())["disciplines"]
    listed = json.loads(sluicegate("disciplines", "--json").stdout)
    assert listed == registry
    names = [discipline["name"] for discipline in registry]
    assert len(names) == len(set(names))
    assert {"drop_tail", "red", "choke"} <= set(names)
    text = sluicegate("disciplines").stdout
    assert all(re.search(rf"^ *{name} ", text, re.MULTILINE) for name in names)


def test_disciplines_explains_one(sluicegate: Program) -> None:
    [red] = json.loads(sluicegate("disciplines", "red", "--json").stdout)
    text = sluicegate("disciplines", "red").stdout
    for field in red["fields"]:
        assert field["name"] in text
    for part in (*red["rules"], red["tc"], *red["drop_reasons"], red["class_name"]):
        assert part in text


def test_a_terminal_gets_a_progress_bar_and_a_pipe_does_not(
    sluicegate: Program, terminal: Callable[..., str], small: Path
) -> None:
    command = ["run", small, "--set", "run.duration=200 s"]
    assert "small.toml" in terminal(*command)
    assert sluicegate(*command).stderr == ""


def test_a_reader_that_goes_is_no_traceback(tmp_path: Path) -> None:
    """As in `sluicegate disciplines --json | head`."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [PROGRAM, "disciplines", "--json"]
    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_an_argument_of_bytes_that_are_no_text_is_one_line(tmp_path: Path) -> None:
    done = subprocess.run([PROGRAM, "check", b"gr\xfcn.toml"], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: gr\\udcfcn.toml: ")


def test_a_narrow_terminal_gets_narrow_tables_and_whole_words(small: Path) -> None:
    """Each table that is too wide becomes several, which begin with the names; a pipe gets one."""
    keyboard, terminal = pty.openpty()
    command = [PROGRAM, "run", small.name]
    wide = subprocess.run(command, cwd=small.parent, capture_output=True, text=True, check=True).stdout
    environment = os.environ | {"COLUMNS": "60"}
    process = subprocess.Popen(command, cwd=small.parent, env=environment, stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    said = b""
    with contextlib.suppress(OSError):  # how Linux tells the end of a terminal
        while part := os.read(keyboard, 4096):
            said += part
    assert process.wait() == 0
    os.close(keyboard)
    plain = re.sub(r"\x1b\[\d*m", "", said.decode())
    lines = plain.splitlines()
    assert max(map(len, lines)) <= 60 < max(map(len, wide.splitlines()))
    words = [re.sub(r"[─ ]+", " ", text).split() for text in (plain, wide)]
    assert set(words[0]) == set(words[1]), "nothing is cut"
    assert sum(line.split()[:1] == ["udp"] for line in lines) > 1, "each part of the table names its rows"


def test_columns_that_a_narrow_terminal_moves_below_keep_their_head() -> None:
    header = ["group", "delay ms\nmean", "\np50", "\np99", "other"]
    parts = folded(header, [["web", "1", "2", "3", "4"]], width=27)
    assert [head for head, _ in parts] == [
        ["group", "delay ms\nmean", "\np50"], ["group", "delay ms\np99", "other"],
    ]  # fmt: skip
    assert [rows for _, rows in parts] == [[["web", "1", "2"]], [["web", "3", "4"]]]
