"""A reproduction of one's own, as the manual shows it."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import TINY

from sluicegate.reproduce import reproduce

PAGE = Path(__file__).parents[1] / "docs/reproductions.md"


def test_a_file_with_a_paper_and_a_figure_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(from sluicegate import Choke.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "mine.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        import mine  # type: ignore[import-not-found]

        outcome = reproduce(replace(mine.PAPER, short=TINY), tmp_path / "out")
    finally:
        sys.modules.pop("mine", None)
    checks = json.loads((tmp_path / "out" / "checks.json").read_text("utf-8"))
    assert [(check["class"], check["high"]) for check in checks] == [("claim", 50)] * 2
    assert len(outcome.verdicts) == 2
    assert "Packets in the queue of each kind" in (tmp_path / "out" / "report.html").read_text("utf-8")
