"""What is built: the Makefile knows it by its stamp, and every file of tests in Rust is part of a program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Stands for the environment's Python: pip "builds", and somebody saves a file meanwhile.
PIP = """#!/bin/sh
case "$*" in *"$SAVED_WITH"*) sleep 0.05; echo "// saved meanwhile" >> "$SAVED";; esac
sleep 0.05
exit $FAILS
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with this Makefile and an environment whose Python builds nothing."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml", "requirements.lock", "crates/one/src/lib.rs"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "tools").mkdir()
    (tmp_path / "pip").write_text(PIP)
    (tmp_path / "pip").chmod(0o755)
    # It names the Python that makes the environment: here a script that puts that other one there.
    maker = f"#!/bin/sh\nmkdir -p .venv/bin && cp {tmp_path}/pip .venv/bin/python\n"
    (tmp_path / "maker").write_text(maker)
    (tmp_path / "tools/prerequisites").write_text(f"#!/bin/sh\necho {tmp_path}/maker\n")
    for script in ("maker", "tools/prerequisites"):
        (tmp_path / script).chmod(0o755)
    return tmp_path


def make(tree: Path, saved: str = "", during: str = "never", fails: int = 0) -> int:
    """Build; `saved`: a file that is saved while pip runs with the argument `during`. Gives the exit code."""
    environment = os.environ | {"SAVED": saved, "SAVED_WITH": during, "FAILS": str(fails)}
    return subprocess.run(["make", "setup"], cwd=tree, env=environment, capture_output=True).returncode


def to_build(tree: Path) -> bool:
    """Whether there is something to build."""
    done = subprocess.run(["make", "-n", "setup"], cwd=tree, capture_output=True, encoding="utf-8", check=True)
    return "pip install" in done.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("during", "saved"), [("--editable", "crates/one/src/lib.rs"), ("--requirement", "requirements.lock")]
)
def test_a_file_saved_while_it_is_built_is_built_the_next_time(tree: Path, during: str, saved: str) -> None:
    """The stamp was made after the build, so that the file was taken as built."""
    assert make(tree, saved, during) == 0
    assert to_build(tree)
    assert make(tree) == 0
    assert not to_build(tree)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_build_that_fails_is_done_again(tree: Path) -> None:
    assert make(tree, fails=1) == 2
    assert to_build(tree)
    assert make(tree) == 0
    assert not to_build(tree)


@pytest.mark.parametrize("crate", ["aqm", "lab", "netsim", "port", "tcp"])
def test_every_file_of_tests_is_part_of_a_program(crate: str) -> None:
    """Where one program has the tests of a crate, a file that it does not name would never be compiled."""
    folder = ROOT / "crates" / crate
    programs = tomllib.loads((folder / "Cargo.toml").read_text("utf-8"))["test"]
    named = {each["name"] for each in programs} | set(
        re.findall(r"^mod (\w+);", (folder / "tests/all.rs").read_text(), re.M)
    )
    assert {path.stem for path in (folder / "tests").glob("*.rs")} <= named
