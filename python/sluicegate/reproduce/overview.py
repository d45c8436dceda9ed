"""`reproduce all`: every paper's report, and one page that leads to them, made of the papers' `checks.json` alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from ..io import check_writable, staged
from .claim import KINDS, VERDICTS
from .page import environment
from .run import Outcome, paper, reproduce

PAGE = "report.html"


@dataclass(frozen=True)
class Reported:
    """A paper whose report was written. `checks`: as its `checks.json` lists them."""

    name: str
    citation: str
    checks: tuple[dict[str, Any], ...]

    def count(self, kind: str, verdict: str) -> int:
        """How many checks of a class ended with a verdict."""
        return sum(check["class"] == kind and check["verdict"] == verdict for check in self.checks)

    @property
    def contradicted(self) -> list[dict[str, Any]]:
        """The claims that the measurements contradict, explained or not, in the order of the report."""
        return [check for check in self.checks if check["contradicts"]]


def reproduce_all(out: Path, names: Sequence[str], **given: Any) -> list[Outcome]:
    """Reproduce each paper into a folder of `out` that has its name, then write the page that leads to them.

    `given`: as for `reproduce`; `progress` is told the paper's name too. A paper's folder appears when it is done, the
    page at the end.
    """
    check_writable(out, (PAGE, *(f"{name}{each}" for name in names for each in ("/", "/checks.json"))))
    progress = given.pop("progress", None)
    outcomes = []
    for name in names:
        told = None if progress is None else lambda done, of, what, name=name: progress(done, of, f"{name}: {what}")
        outcomes.append(reproduce(name, out / name, progress=told, **given))
    reported = [read(out, name) for name in names]
    with staged(out) as folder:
        (folder / PAGE).write_text(page(reported), encoding="utf-8")
    return outcomes


def read(out: Path, name: str) -> Reported:
    """What became of a paper whose report is in its folder of `out`."""
    checks = json.loads((out / name / "checks.json").read_text("utf-8"))
    return Reported(name, paper(name).citation, tuple(checks))


def page(reported: Sequence[Reported]) -> str:
    """The page as HTML."""
    templates = environment()
    return templates.get_template("all.html.j2").render(
        outcomes=reported, verdicts=VERDICTS, classes=KINDS, version=_core.version()
    )
