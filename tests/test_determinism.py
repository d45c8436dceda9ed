"""Same scenario and seed, same bytes: on any processor, in any order, on any thread."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import SMALL, Program

import sluicegate as sg
from sluicegate import _core
from sluicegate import scenario as api

# Of every column of the runs below. It changes only when results change on purpose; the changelog then says why.
DIGEST = "146f8debbedc7f1d16cbc93971faf71985ff335ebf0e9b721731a108e4532a2c"
# The same of the scenario `traffic`: all kinds but `web`'s two, drawn round trips, jitter and transfers that end.
TRAFFIC_DIGEST = "eb5b799e69eadf0ac24b8b64801b574f07c2dfa7cbb44482c97416f79c1b0482"
# The same of the scenario `web`: users and connections that come and go, both ways.
WEB_DIGEST = "9da2d14babc64798e4cdcaf6f251427ad5ac29c50d3625d1e695c24611ce106a"
SCENARIOS = [(discipline, seed) for discipline in ("drop_tail", "red", "choke") for seed in (1, 2)]


def digest_of(discipline: str, seed: int) -> str:
    """The digest of one run of the small scenario."""
    sets = [("queue.discipline", discipline), ("run.seed", str(seed)), ("flows.1.jitter", "0.1")]
    return digest_of_columns(_core.run(_core.Scenario(SMALL, "small.toml", sets)))


def digest_of_scenario(scenario: str) -> str:
    """The digest of the first seconds of a bundled scenario."""
    text, name = api.read_scenario(scenario)
    return digest_of_columns(_core.run(_core.Scenario(text, name, [("run.duration", "15 s"), ("run.warmup", "10 s")])))


def digest_of_columns(raw: _core.RawRun) -> str:
    """The digest of names, types and bytes of every column."""
    digest = hashlib.sha256()
    for table, columns in raw["tables"].items():
        plain = [(name, dtype, texts(payload) if dtype == "str" else payload) for name, dtype, payload in columns]
        if all(len(payload) == 0 for _, _, payload in plain):
            continue  # a table without rows says nothing
        for name, dtype, payload in plain:
            digest.update(f"{table}.{name}:{dtype}:{len(payload)}\n".encode())
            digest.update(payload if isinstance(payload, bytes) else "\n".join(payload).encode())
    return digest.hexdigest()


def texts(payload: tuple[list[str], bytes]) -> list[str]:
    """The text of every row: they come as each of them once, and for every row which."""
    names, codes = payload
    return [names[code] for code in memoryview(codes).cast("I")]


def digest_of_all() -> str:
    return hashlib.sha256("".join(digest_of(*scenario) for scenario in SCENARIOS).encode()).hexdigest()


@pytest.mark.parametrize("tunables", ["", "glibc.cpu.hwcaps=-AVX2,-FMA"], ids=["plain", "without AVX2 and FMA"])
def test_the_committed_digest(tunables: str) -> None:
    code = "from test_determinism import *; print(digest_of_all(), *map(digest_of_scenario, ('traffic', 'web')))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        env=os.environ | {"GLIBC_TUNABLES": tunables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [DIGEST, TRAFFIC_DIGEST, WEB_DIGEST]


def test_seeds_and_disciplines_differ() -> None:
    assert len({digest_of(*scenario) for scenario in SCENARIOS}) == len(SCENARIOS)


def test_order_and_threads_do_not_show() -> None:
    alone = {scenario: digest_of(*scenario) for scenario in SCENARIOS}
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda scenario: digest_of(*scenario), reversed(SCENARIOS)))
    assert together == [alone[scenario] for scenario in reversed(SCENARIOS)]


def test_watching_a_run_does_not_change_it() -> None:
    plain = sg.simulate(SMALL)
    watched = sg.simulate(SMALL, progress=lambda *_: None)
    assert all(plain.table(name).equals(watched.table(name), null_equal=True) for name in plain.tables)


@pytest.mark.full
def test_files_are_equal_between_processes(process: Program, small: Path, tmp_path: Path) -> None:
    for name, tunables in (("a", {}), ("b", {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA"})):
        assert process("run", small, "-o", name, env=tunables).returncode == 0
    for path in sorted((tmp_path / "a").iterdir()):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_random_scenarios_are_equal_in_two_processes() -> None:
    """With the tool that compares builds: here this one with itself. No scenario that it makes up is refused."""
    tool = Path(__file__).parents[1] / "tools/same_results.py"
    command = [sys.executable, tool, _core.__file__, _core.__file__, "--count", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "20 equal\n"
