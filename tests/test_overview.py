"""`reproduce all`: one page leads to the reports of all papers, made of their checks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.papers import PAPERS
from sluicegate.reproduce import overview, paper
from sluicegate.reproduce.claim import VERDICTS
from sluicegate.reproduce.run import RECORD


def check(id_: str, kind: str, verdict: str, reason: str = "", evidence: str = "") -> dict[str, object]:
    ok = verdict != "failed" or kind == "reference"
    contradicts = verdict != "reproduced" and kind != "reference"
    return {"id": id_, "source": "Sec. 1", "class": kind, "paper": f"the paper on {id_}", "measured": 1.5, "low": None,
            "high": 2.0, "verdict": verdict, "ok": ok, "contradicts": contradicts, "test": "below 2",
            "unit": "ms", "reason": reason, "why": f"{reason} Bounds: x", "evidence": evidence}  # fmt: skip


def test_one_page_leads_to_all_reports_and_says_what_differs_and_why(tmp_path: Path) -> None:
    parts = {
        "red1993": [
            check("a", "exact", "reproduced"),
            check("b", "claim", "explained deviation", "Since so.", "a"),
        ],
        "choke1999": [check("c", "claim", "failed"), check("d", "reference", "failed")],
    }
    for name, checks in parts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "checks.json").write_text(json.dumps(checks), encoding="utf-8")
    page = overview.page([overview.read(tmp_path, name) for name in parts])
    for link in ("red1993/report.html", "red1993/report.html#check-b", "red1993/report.html#check-a",
                 "choke1999/report.html#check-c"):  # fmt: skip
        assert f'href="{link}"' in page
    assert "Since so." in page
    assert "Bounds: x" not in page
    assert "the paper on c" in page
    assert "the paper on d" not in page
    assert page.count("1 contradicted claim<") == 2, "explained or not"
    assert "≈ explained deviations</span></th>" in page, "of as many as stand below"
    assert "≈ explained deviation</span>" in page, "of one"
    assert "References outside their bounds:</b> 1" in page


def test_all_papers_are_written_and_progress_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def made_up(name: str, out: Path, progress: Any, **given: object) -> str:
        assert given == {"full": True, "seeds": 2}
        out.mkdir()
        (out / "checks.json").write_text(json.dumps([check(f"of-{name}", "claim", "failed")]), encoding="utf-8")
        progress(1, 2, "a run")
        return name

    monkeypatch.setattr(overview, "reproduce", made_up)
    done = overview.reproduce_all(tmp_path, PAPERS, full=True, seeds=2, progress=lambda *call: told.append(call[2]))
    assert done == list(PAPERS)
    assert told == [f"{name}: a run" for name in PAPERS]
    assert all(f"of-{name}" in (tmp_path / "report.html").read_text("utf-8") for name in PAPERS)


def test_the_list_of_figures_names_the_file_of_each(sluicegate: Program) -> None:
    """The file of Figure 14 has 14 in its name, or is that of a range such as fig12_15."""
    rows = [line.split() for line in sluicegate("reproduce", "--list").stdout.splitlines()]
    files = {(row[0], row[1]): row[-1] for row in rows if row and row[0] in PAPERS}
    figures = {name: [*paper(name).figures(), *paper(name).figures(live=True)] for name in PAPERS}
    assert list(files) == [(name, figure.id) for name in PAPERS for figure in figures[name]]
    for (name, id_), file in files.items():
        path = Path(sg.__file__).parent / file
        assert path.is_file()
        assert path.parent.name == name
        if number := re.fullmatch(r"fig(\d+)", id_):
            numbers = [int(part) for part in re.findall(r"\d+", path.stem)]
            assert path.stem.startswith("fig")
            between = len(numbers) == 2 and numbers[0] <= int(number[1]) <= numbers[1]
            assert between or int(number[1]) in numbers, file
    assert files["dcn2004", "fig14"] == "papers/dcn2004/fig10_12_14.py"


@pytest.mark.parametrize("name", PAPERS)
def test_the_verdicts_of_every_paper_are_recorded(name: str) -> None:
    """Without a record nothing is compared, and no changed verdict is an error."""
    found = paper(name)
    recorded = json.loads((found.folder / RECORD).read_text("utf-8"))
    assert set(recorded.values()) <= set(VERDICTS)
    figures = [figure.id for figure in found.figures()]
    ids = [id_.removeprefix("short:") for id_ in recorded]
    strange = [id_ for id_ in ids if not any(id_.startswith(f"{figure}-") for figure in figures)]
    assert strange == [], "checks of no figure"
