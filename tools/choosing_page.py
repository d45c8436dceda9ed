"""Write the tables and figures of docs/choosing-a-discipline.md: from docs/evaluation-results.md, from the runs kept
with DCN 2004, from what `sluicegate reproduce disciplines` has written, and from a comparison of the office of
docs/own-link.md, which takes two minutes.

sluicegate reproduce disciplines -o out/disciplines && python tools/choosing_page.py [out/disciplines]

A table follows a comment that says what its rows are, in order:

    <!-- evaluation-results.md: COLUMN; COLUMN -->       columns of that page; the head names disciplines
    <!-- dcn2004: MEASURE LOAD; MEASURE LOAD -->         columns from its kept runs; each row begins with a scheme
    <!-- office.toml: GROUP -->                          a group of the office; each row begins with a discipline
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import sluicegate as sg
from sluicegate.papers.dcn2004.network import ALL
from sluicegate.papers.dcn2004.schemes import SCHEMES
from sluicegate.plot.style import svg
from sluicegate.reproduce import paper
from sluicegate.reproduce.kept import read as read_kept

DOCS = Path(__file__).parents[1] / "docs"
PAGE, RESULTS, OFFICE = (DOCS / f"{name}.md" for name in ("choosing-a-discipline", "evaluation-results", "own-link"))
FIGURES = {"choice": "which-criteria", "unresponsive": "which-flood"}

Rows = list[list[str]]


def tables(text: str, change: Callable[[str, Rows], Rows]) -> str:
    """The page with the rows of each table below a comment, head first, as `change` makes them."""

    def changed(found: re.Match[str]) -> str:
        head, line, *body = found[2].splitlines()
        rows = change(found[1], [[cell.strip() for cell in row.strip("|").split("|")] for row in (head, *body)])
        return "\n".join((f"<!-- {found[1]} -->", head, line, *(f"| {' | '.join(row)} |" for row in rows[1:]))) + "\n"

    return re.sub(r"<!-- (.+?) -->\n((?:\|.*\n)+)", changed, text)


def evaluated(page: str, results: str) -> str:
    """The page with its tables of the suite as the page of results has them."""
    cells: dict[tuple[str, str], str] = {}
    for part in re.findall(r"(?:^\|.*\n)+", results, re.MULTILINE):
        (_, *heads), _, *rows = ([cell.strip() for cell in row.strip("|").split("|")] for row in part.splitlines())
        for name, *values in rows:
            cells |= {(name, head): cell.rstrip("●○").rstrip() for head, cell in zip(heads, values, strict=True)}

    def change(source: str, rows: Rows) -> Rows:
        file, _, columns = source.partition(": ")
        if file != RESULTS.name:
            return rows
        names = [cell.strip("`") for cell in rows[0][1:]]
        found = zip(rows[1:], columns.split("; "), strict=True)
        return [rows[0], *([row[0], *(cells[name, column] for name in names)] for row, column in found)]

    return tables(page, change)


def kept(page: str) -> str:
    """The page with its tables of the runs that are kept with DCN 2004."""
    found = read_kept(paper("dcn2004"))
    assert found is not None
    runs, schemes = found.runs(ALL), {scheme.label: scheme for scheme in SCHEMES}

    def cell(label: str, column: str) -> str:
        measure, load = column.split()
        value = runs.at(scheme=schemes[label], load=int(load))[measure].mean
        return f"{value:.0f}" if measure == "capped" else f"{value:.1f}"

    def change(source: str, rows: Rows) -> Rows:
        name, _, columns = source.partition(": ")
        if name != "dcn2004":
            return rows
        return [rows[0], *([row[0], *(cell(row[0], column) for column in columns.split("; "))] for row in rows[1:])]

    return tables(page, change)


def compared(page: str, run: Callable[[str, str], sg.Comparison]) -> str:
    """The page with its tables of the office: loss, median and 99th percentile of a group. `run`: compares it."""

    def change(source: str, rows: Rows) -> Rows:
        file, _, group = source.partition(": ")
        if file != "office.toml":
            return rows
        office = re.search(r"`office.toml`:\n\n```toml\n(.*?)```", OFFICE.read_text("utf-8"), re.DOTALL)
        assert office is not None
        done = run(office[1], ",".join(row[0].strip("`") for row in rows[1:]))
        found = (row for row in done.overview().rows if row[0] == group)
        return [rows[0], *([f"`{name}`", *numbers] for _, name, _, *numbers in found)]

    return tables(page, change)


def compare(text: str, disciplines: str) -> sg.Comparison:
    """The office, and its figure."""
    done = sg.compare(text, disciplines=disciplines, seeds=10)
    (DOCS / "images" / "which-office.svg").write_bytes(svg(done.plot()))
    return done


if __name__ == "__main__":
    folder = Path(sys.argv[1] if sys.argv[1:] else "out/disciplines")
    for figure, image in FIGURES.items():
        shutil.copyfile(folder / "figures" / f"{figure}.svg", DOCS / "images" / f"{image}.svg")
    written = kept(evaluated(PAGE.read_text("utf-8"), RESULTS.read_text("utf-8")))
    PAGE.write_text(compared(written, compare), "utf-8")
