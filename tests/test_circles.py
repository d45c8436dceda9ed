"""No files of a crate use each other in a circle, and tools/circles.py would tell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import circles


def told(folder: Path, capsys: pytest.CaptureFixture[str], **files: str) -> list[str]:
    """What is said of a crate of these files, `/` written as `__`; no circle is the empty list."""
    for name, text in files.items():
        path = folder / "crates/one/src" / f"{name.replace('__', '/')}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    code = circles.main(str(folder / "crates"))
    lines = capsys.readouterr().out.replace(f"{folder}/crates/one/src/", "").splitlines()
    assert code == (1 if lines else 0)
    return lines


def test_there_is_none() -> None:
    assert circles.main(str(Path(__file__).parents[1] / "crates")) == 0


def test_a_circle_is_told_by_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(
        tmp_path,
        capsys,
        lib="mod a;\nmod b;\nmod c;\n",
        a="//! The first.\n\nuse crate::{\n    b::{self, B},\n};\n",
        b="fn b() {\n    super::c::c();\n}\n",
        c="use std::fmt;\nuse super::a::A;\n",
    )
    assert sorted(lines[1:-1]) == ["a.rs:3: uses b.rs", "b.rs:2: uses c.rs", "c.rs:2: uses a.rs"]


def test_two_circles_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"a": "use crate::b::B;\n", "b": "use crate::a::A;\n", "c": "use crate::d::D;\n", "d": "use crate::c::C;\n"}
    assert len(told(tmp_path, capsys, lib="", **files)) == 2 * 4


def test_a_name_handed_on_leads_to_the_file_that_declares_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = told(tmp_path, capsys, lib="pub use a::A as First;\n", a="use crate::b::B;\n", b="use crate::First;\n")
    assert sorted(lines[1:-1]) == ["a.rs:1: uses b.rs", "b.rs:1: uses a.rs"]


def test_a_circle_through_what_lies_inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"a": "use inside::X;\n", "a__inside": "use crate::b::B;\n", "b": "use crate::a::A;\n"}
    assert sorted(told(tmp_path, capsys, lib="", **files)[1:-1]) == [
        "a.rs:1: uses a/inside.rs",
        "a/inside.rs:1: uses b.rs",
        "b.rs:1: uses a.rs",
    ]


def test_nesting_tests_and_comments_make_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests = "#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::a::A;\n}\n"
    files = {
        "lib": "mod a;\npub use a::A;\nfn all() { b::b() }\n",
        "a": "mod inside;\npub use inside::X;\nuse crate::b::B;\n",
        "a__inside": "use super::A;\nuse crate::all;\n",
        "b": f"// Not as crate::a::A.\nuse crate::c::C;\n\n{tests}",
        "b__tests": "use crate::a::A;\n",
        "c__mod": "pub struct C;\n",
    }
    assert told(tmp_path, capsys, **files) == []
