"""Reports: a page that sets a paper beside our measurement, its figures, their data and its checks.

`write` makes a folder with `report.html` (self-contained: figures inside, no script, nothing fetched), each figure as
`figures/<id>.svg`, its data as `data/<id>.parquet`, and `checks.json`. They appear whole or not at all.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from . import plot
from .files import staged, write_parquet
from .papers.checks import VERDICTS, Verdict, passed

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

SYMBOLS = {"reproduced": "✓", "differs, explained": "≈", "failed": "✗"}
"""Each verdict's sign, so that it reads without colour."""


@dataclass(frozen=True)
class Table:
    """Rows under a figure: its `head` and `rows` of as many texts. `numbers`: how many columns at the right hold
    numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 0


@dataclass(frozen=True)
class FigurePart:
    """One figure of a report.

    `id`: names its files. `label`: as the paper numbers it. `setup`: what was simulated. `paper_says` and
    `measured`: a paragraph each, set side by side. `alt`: the drawing in words. `checks`: ids of the checks that
    belong to it. `table`: numbers to stand below the drawing.
    """

    id: str
    label: str
    title: str
    setup: str
    paper_says: str
    measured: str
    alt: str
    drawing: Figure
    data: pl.DataFrame
    checks: tuple[str, ...] = ()
    table: Table | None = None


@dataclass(frozen=True)
class Choice:
    """Something the paper leaves open or that we do otherwise: what it says, what we do, and why."""

    what: str
    paper: str
    ours: str
    why: str


@dataclass(frozen=True)
class Report:
    """All that a page shows. `provenance`: names and values, none of which may be a date or a path."""

    name: str
    title: str
    citation: str
    summary: str
    provenance: tuple[tuple[str, str], ...]
    scenario: str
    commands: str
    choices: tuple[Choice, ...]
    figures: tuple[FigurePart, ...]
    verdicts: tuple[Verdict, ...] = field(default=())

    def verdicts_of(self, figure: FigurePart) -> list[Verdict]:
        """The verdicts that belong to `figure`, in its order. Raises KeyError for an id that no check has."""
        by_id = {verdict.check.id: verdict for verdict in self.verdicts}
        return [by_id[id_] for id_ in figure.checks]

    @property
    def counts(self) -> list[tuple[str, int]]:
        """How many checks ended with each verdict, best first."""
        names = [verdict.name for verdict in self.verdicts]
        return [(name, names.count(name)) for name in VERDICTS]

    @property
    def passed(self) -> bool:
        """True when no `exact` or `claim` check failed."""
        return passed(self.verdicts)


FILES = ("data/", "figures/", "report.html", "checks.json")
"""What `write` writes, apart from the files in its folders."""


def write(report: Report, out: Path) -> None:
    """Write `report` into the folder `out`, whole or not at all; files of other names in it stay. Raises OSError."""
    with staged(out) as folder:
        (folder / "figures").mkdir()
        (folder / "data").mkdir()
        drawings = {part.id: plot.svg(part.drawing) for part in report.figures}
        for part in report.figures:
            (folder / "figures" / f"{part.id}.svg").write_bytes(drawings[part.id])
            write_parquet(part.data, folder / "data" / f"{part.id}.parquet")
        records = [verdict.record() for verdict in report.verdicts]
        text = json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / "checks.json").write_text(text + "\n", encoding="utf-8")
        (folder / "report.html").write_text(page(report, drawings), encoding="utf-8")


def page(report: Report, drawings: dict[str, bytes]) -> str:
    """The page as HTML; `drawings` holds each figure's SVG under its id."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sluicegate"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["number"] = number
    images = {
        id_: "data:image/svg+xml;base64," + base64.b64encode(drawing).decode() for id_, drawing in drawings.items()
    }
    assigned = {id_ for part in report.figures for id_ in part.checks}
    others = [verdict for verdict in report.verdicts if verdict.check.id not in assigned]
    return environment.get_template("report.html.j2").render(
        report=report, images=images, symbols=SYMBOLS, others=others
    )


def number(value: float | None) -> str:
    """A number as the page prints it: three significant digits more or less, "none" for no bound."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "unknown"
    magnitude = abs(value)
    if magnitude >= 100:
        return f"{value:.0f}"
    if magnitude >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if magnitude >= 0.1 or magnitude == 0 else f"{value:.2g}"


def verdict_line(verdicts: Sequence[Verdict]) -> str:
    """One line for a terminal: how many checks ended how."""
    names = [verdict.name for verdict in verdicts]
    return ", ".join(f"{names.count(name)} {name}" for name in VERDICTS if name in names) or "no checks"
