"""`reproduce all`: every paper's report, and one page that leads to them.

The page says, paper by paper, how many checks ended how, what differs and why, and what failed. It is made of the
papers' `checks.json` alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from .. import _core
from ..files import check_writable, staged
from ..report import SYMBOLS, number
from . import PAPERS, Progress, _told, reproduce
from .checks import CLASSES, VERDICTS

PAGE = "report.html"


@dataclass(frozen=True)
class Outcome:
    """A paper whose report was written. `checks`: as its `checks.json` lists them."""

    name: str
    citation: str
    checks: tuple[dict[str, Any], ...]

    @property
    def passed(self) -> bool:
        """True when no `exact` or `claim` check failed."""
        return all(check["ok"] for check in self.checks)

    def count(self, kind: str, verdict: str) -> int:
        """How many checks of a class ended with a verdict."""
        return sum(check["class"] == kind and check["verdict"] == verdict for check in self.checks)

    def where(self, verdict: str, kinds: Sequence[str] = CLASSES) -> list[dict[str, Any]]:
        """The checks of these classes with a verdict, in the order of the report."""
        return [check for check in self.checks if check["verdict"] == verdict and check["class"] in kinds]


def reproduce_all(
    out: Path,
    full: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    names: Sequence[str] = tuple(PAPERS),
) -> bool:
    """Reproduce each paper into a folder of `out` that has its name, then write the page that leads to them.

    `names`: which papers (default: all). The other arguments are those of `reproduce`; `progress` is told the paper's
    name too. A paper's folder appears when it is done, the page at the end. Returns True when no `exact` or `claim`
    check failed.
    """
    check_writable(out, (PAGE, *(f"{name}{each}" for name in names for each in ("/", "/checks.json"))))
    for name in names:
        told = None if progress is None else _told(progress, name)
        reproduce(name, out / name, full=full, seeds=seeds, jobs=jobs, progress=told)
    outcomes = [read(out, name) for name in names]
    with staged(out) as folder:
        (folder / PAGE).write_text(page(outcomes), encoding="utf-8")
    return all(outcome.passed for outcome in outcomes)


def read(out: Path, name: str) -> Outcome:
    """What became of a paper whose report is in its folder of `out`."""
    checks = json.loads((out / name / "checks.json").read_text("utf-8"))
    return Outcome(name, PAPERS[name], tuple(checks))


def page(outcomes: Sequence[Outcome]) -> str:
    """The page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sluicegate"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["number"] = number
    environment.filters["reason"] = lambda why: why.split(" Bounds: ")[0]
    return environment.get_template("all.html.j2").render(
        outcomes=outcomes, verdicts=VERDICTS, classes=CLASSES, symbols=SYMBOLS, version=_core.version()
    )
