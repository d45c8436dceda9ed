"""The page of a reproduction: what the paper says beside what was measured, one self-contained file.

`write_files` makes a folder with `report.html` (figures inside, no script, nothing fetched), each figure as
`figures/<id>.svg`, its data as `data/<id>.parquet`, and `checks.json`. They appear completely or not at all. A report
of some figures alone is `report-<ids>.html` with `checks-<ids>.json`, beside that of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io import staged, write_json, write_parquet
from ..page import environment as templates
from ..page import inlined
from ..quantities import uncertain
from .claim import VERDICTS, Check, Verdict
from .figure import Made, Paper
from .quantity import Quantity

if TYPE_CHECKING:
    import jinja2
    import polars as pl

PIXELS = 1.0
"""A point of a figure in pixels: words find room beside it, and all figures have letters of one size."""

SYMBOLS = {"reproduced": "✓", "explained deviation": "≈", "failed": "✗"}
"""Each verdict's sign, so that it reads without colour."""


def files(only: Sequence[str] = ()) -> tuple[str, str, str, str]:
    """What `write_files` writes, apart from the files in its folders; the page and its checks last. `only`: ids of the
    figures of a report that has not all."""
    which = "".join(f"-{each}" for each in only)
    return "data/", "figures/", f"report{which}.html", f"checks{which}.json"


@dataclass(frozen=True)
class Report:
    """All that a page shows. `provenance`: names and values, none of which may be a date or a path. `scenario`:
    text. `lengths`: which runs are shown, where some are kept or all are of one seed. `only`: the ids of its figures,
    where others of the paper are left out. `run`: what the numbers come from, where nothing is checked: it is written
    as `summary.json` in place of the checks."""

    paper: Paper
    figures: tuple[Made, ...]
    provenance: Mapping[str, str]
    scenario: str
    tables: Mapping[str, pl.DataFrame]
    lengths: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    run: Mapping[str, Any] | None = None

    @property
    def verdicts(self) -> list[Verdict]:
        """Those of all figures, in the order of the page."""
        return [verdict for made in self.figures for verdict in made.verdicts]

    @property
    def record(self) -> Mapping[str, str]:
        """All verdicts by the ids of their checks; "short:" before those of short runs beside kept ones. Those of runs
        between real hosts vary, and are left out."""
        short = (verdict for made in self.figures if made.short for verdict in made.short.verdicts)
        repeatable = (verdict for made in self.figures if not made.figure.live for verdict in made.verdicts)
        found: dict[str, str] = {verdict.check.id: verdict.name for verdict in repeatable}
        return found | {f"short:{verdict.check.id}": verdict.name for verdict in short}

    @property
    def summary(self) -> str:
        """What came out, in a sentence or two."""
        if self.paper.summary is not None:
            return self.paper.summary(self.verdicts)
        claims = [verdict for verdict in self.verdicts if verdict.check.kind != "reference"]
        if not claims:
            return f"{NO_CLAIMS[0].upper()}{NO_CLAIMS[1:]}." if self.verdicts else "No claims are tested here."
        held = sum(verdict.name == "reproduced" for verdict in claims)
        return f"{held} of the {len(claims)} claims that are tested here hold."


NO_CLAIMS = "all checks are of class reference: the paper omits inputs, so they cannot contradict it"
"""What is said of checks none of which tests a claim."""


def write_files(report: Report, out: Path) -> None:
    """Write `report` into the folder `out`, whole or not at all; files of other names in it stay. Raises OSError."""
    from ..plot import style as plot

    _, _, page_name, checks_name = files(report.only)
    with staged(out) as folder:
        (folder / "figures").mkdir()
        (folder / "data").mkdir()
        drawings: dict[str, str] = {}
        short = [(f"{made.figure.id}-short", made.short) for made in report.figures if made.short]
        for id_, made in [*((made.figure.id, made) for made in report.figures), *short]:
            if made.drawing is None:
                continue
            write_parquet(made.drawing.data, folder / "data" / f"{id_}.parquet")
            if made.drawing.drawn is not None:
                svg = plot.svg(made.drawing.drawn)
                (folder / "figures" / f"{id_}.svg").write_bytes(svg)
                drawings[id_] = inlined(svg.decode(), id_, PIXELS)
        for name, table in report.tables.items():
            write_parquet(table, folder / "data" / f"{name}.parquet")
        if report.run is None:
            records = [verdict.record() | short for made in report.figures for verdict, short in _beside(made)]
            write_json(folder / checks_name, records)
        else:
            write_json(folder / checks_name.replace("checks", "summary"), report.run)
        (folder / page_name).write_text(page(report, drawings), encoding="utf-8")


def alone(report: Report) -> str:
    """The page as one file that needs no other."""
    from ..plot import style as plot

    drawings = {
        made.figure.id: inlined(plot.svg(made.drawing.drawn).decode(), made.figure.id, PIXELS)
        for made in report.figures if made.drawing is not None and made.drawing.drawn is not None
    }  # fmt: skip
    return page(report, drawings, alone=True)


def _beside(made: Made) -> Iterator[tuple[Verdict, dict[str, Any]]]:
    """Each verdict, with what the short run measured where it is of a kept one."""
    for verdict in made.verdicts:
        short = made.beside.get(verdict.check.id)
        record = short.record() if short else {}
        yield verdict, {"short": {key: record[key] for key in ("measured", "verdict")}} if record else {}


def page(report: Report, drawings: Mapping[str, str], alone: bool = False) -> str:
    """The page as HTML; `drawings` holds each figure's SVG element under its id. `alone`: without links to the files
    beside it."""
    return environment().get_template("reproduction.html.j2").render(
        report=report, drawings=drawings, contradicted=[each for each in report.verdicts if each.contradicts],
        counts=counts(report.verdicts), checks_name=files(report.only)[3], alone=alone,
    )  # fmt: skip


def environment() -> jinja2.Environment:
    """The templates of this package, with the filters of reproductions."""
    made = templates()
    made.filters |= {"measured": measured, "printed": printed_text, "counted": counted}
    made.globals |= {"symbols": SYMBOLS}
    return made


def counts(verdicts: Sequence[Verdict]) -> list[tuple[str, int]]:
    """How many checks ended with each verdict, worst first; what no check has is left out."""
    names = [verdict.name for verdict in verdicts]
    return [(name, names.count(name)) for name in reversed(VERDICTS) if name in names]


def counted(name: str, count: int) -> str:
    """A verdict's name behind a count: "21 explained deviations"; "reproduced" and "failed" are the same for many."""
    return f"{name}s" if count != 1 and name == "explained deviation" else name


def measured(quantity: Quantity) -> str:
    """A mean with the half width of its 95 % interval, as far as it shows, and the unit."""
    spread = quantity.spread
    return f"{uncertain(spread.mean, spread.half_width, quantity.unit)} {quantity.unit}".rstrip()


def printed_text(check: Check) -> str:
    """What the paper has in numbers, or the test that stands for its words."""
    return f"{check.bound.words} {check.quantity.unit}".rstrip()


def verdict_line(verdicts: Sequence[Verdict]) -> str:
    """One line for a terminal: how many checks ended how."""
    return ", ".join(f"{count} {counted(name, count)}" for name, count in counts(verdicts)) or "no checks"
