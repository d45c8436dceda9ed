"""What is released: a wheel that works by itself, workflows, and the same version everywhere."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
UNPUBLISHED = ("py", "web", "path-c", "adapters")
"""Crates that are bindings: no other crate links them."""
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

sys.path.insert(0, str(ROOT / "tools"))


def locked_requirements() -> str:
    """What the package needs to run, in the form of `requirements.lock`: its part without what development needs."""
    needed: set[str] = set()
    waiting = ["sluicegate"]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            found = [Requirement(text) for text in importlib.metadata.requires(name) or []]
            waiting += [
                canonicalize_name(each.name) for each in found if not each.marker or each.marker.evaluate({"extra": ""})
            ]
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text())
    return "\n".join(entry for entry in entries if entry.split("==")[0] in needed) + "\n"


@pytest.mark.full
@pytest.mark.timeout(600)
def test_a_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    from sluicegate.declarations import commit
    from wheel import build

    wheel = build(tmp_path / "wheel")
    assert re.fullmatch(rf"sluicegate-{re.escape(VERSION)}-cp311-abi3-.*\.whl", wheel.name)
    venv.create(tmp_path / "empty", with_pip=True)
    binaries = tmp_path / "empty" / "bin"
    (tmp_path / "locked.txt").write_text(locked_requirements())
    pip = [str(binaries / "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--require-hashes", "--requirement", "locked.txt"], check=True, cwd=tmp_path)
    subprocess.run([*pip, str(wheel)], check=True, cwd=tmp_path)
    subprocess.run([str(binaries / "pip"), "check"], check=True, cwd=tmp_path)
    command = [str(binaries / "sluicegate"), "reproduce", "choke1999", "--quick", "-o", "report"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "reproduced" in done.stdout
    checks = json.loads((tmp_path / "report" / "checks.json").read_text())
    assert len(checks) > 80
    page = (tmp_path / "report" / "report.html").read_text()
    assert page.count("<svg") > 10
    said = subprocess.run([command[0], "--version"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said == f"sluicegate {VERSION} (commit {commit()})\n"


def test_the_version_is_the_same_everywhere() -> None:
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    assert json.loads((ROOT / "web" / "package.json").read_text())["version"] == VERSION
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    for name, dependency in manifest["workspace"]["dependencies"].items():
        if name.startswith("sluicegate-"):
            assert dependency["version"] == VERSION, name
    assert f"({VERSION})" in (ROOT / "CHANGELOG.md").read_text().split("## ")[1]


def test_what_is_published_says_what_it_is() -> None:
    for path in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        package = tomllib.loads(path.read_text())["package"]
        if package.get("publish") is False:
            assert path.parent.name in UNPUBLISHED
            continue
        for key in ("description", "license", "readme", "keywords", "categories"):
            assert key in package, f"{path}: {key}"


def test_crates_can_be_packaged() -> None:
    folders = [path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")]
    crates = [name for name in folders if name not in UNPUBLISHED]
    command = ["cargo", "package", "--offline", "--locked", "--allow-dirty", "--no-verify", "--quiet"]
    for name in crates:
        command += ["--package", f"sluicegate-{name}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_workflows_are_as_their_schema_says(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for action in re.findall(r"uses: (\S+)", path.read_text()):
        assert re.search(r"@v\d+\.\d+\.\d+$", action), f"{action}: a whole version"
