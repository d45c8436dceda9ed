"""The manual does what it says: its pages are followed to the letter, and its site is built without a warning."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from steps import follow

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

# The same code, built for the shortest wait: nothing here is measured.
QUICK = {"OPT_LEVEL": "0", "LTO": "off", "CODEGEN_UNITS": "16", "DEBUG": "false", "INCREMENTAL": "true"}


@pytest.fixture
def checkout() -> Path:
    """A copy of the working tree that may be changed. Its place is always the same, so that cargo builds little anew."""
    copy = ROOT / "target/manual/checkout"
    shutil.rmtree(copy, ignore_errors=True)
    kept = shutil.ignore_patterns(".git", ".venv", "target", "out", "*.so", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=kept)  # with the times of the files, by which cargo and make go
    (copy / ".venv").symlink_to(ROOT / ".venv")
    # Not the target of this tree: cargo would take the one crate for the other.
    (copy / "target").symlink_to(ROOT / "target/manual")
    return copy


@pytest.mark.timeout(400)
def test_a_discipline_is_added_in_rust_as_the_manual_says(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_TARGET_DIR", str(checkout / "target"))
    for key, value in QUICK.items():
        monkeypatch.setenv(f"CARGO_PROFILE_RELEASE_{key}", value)
    follow(DOCS / "rust-discipline.md", checkout)
    page = (checkout / "docs/reference/disciplines.md").read_text("utf-8")
    assert "| [`drop_front`](#drop_front) | `sluicegate.DropFront` | Drop Front |" in page
