"""What `evaluate` returns: the outcome, with its page, its figure and its files."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

from ..page import Table
from ..reproduce import Settings
from ..results.result_object import Frames, ResultObject, read_summary, read_table
from . import congestion_control, report, rfc7928
from .outcome import Outcome
from .suite import DRAWN_ONCE, TABLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUITES = {each.name: each for each in (rfc7928.SUITE, congestion_control.SUITE)}
"""Every suite, by its name."""

MORE = (*TABLES[1:], *DRAWN_ONCE)
"""The tables of `Outcome.more`."""


class Evaluation(Outcome, ResultObject):
    __doc__ = (
        cleandoc(Outcome.__doc__ or "").replace(
            "What came of a suite; `Evaluation` is the same with its page.", "What `evaluate` returns."
        )
        + """

>>> done = sg.evaluate("choke", only=["8.2.2"], quick=True, seeds=1, duration="2 s")
>>> done.references
['drop_tail', 'fq_codel']
>>> done.runs.height
6
"""
    )

    @classmethod
    def read(cls, directory: str | Path) -> Evaluation:
        """What `write` wrote, or `evaluate` with `out`. Raises OSError, and ValueError when the folder has no such
        results."""
        summary = read_summary(directory, "an evaluation", ("version", "suite", "scenarios", "seeds"))
        suite = SUITES[summary["suite"]]
        settings = Settings(tuple(summary["seeds"]), *(summary[key] for key in ("duration_s", "warmup_s", "sample_s")))
        scenarios = [each for each in suite.scenarios if each.id in summary["scenarios"]]
        data = Path(directory, "data")
        more = {name: read_table(data, name) for name in MORE if (data / f"{name}.parquet").is_file()}
        return cls(suite, settings, scenarios, read_table(data, "runs"), summary, more)

    @property
    def tables(self) -> Frames:
        """The tables by name."""
        return Frames(super().tables)

    def write(self, directory: str | Path) -> Path:
        """Write report.html, figures, tables in `data`, and summary.json; return the directory. They appear completely
        or not at all. Raises OSError."""
        report.write(self, Path(directory), ())
        return Path(directory)

    def html(self) -> str:
        """The page that `report` writes: every scenario with its numbers and figures."""
        return report.html(self)

    def plot(self, scenario: str | None = None) -> Figure:
        """The figure of a scenario, by its id (default: the first). Raises KeyError."""
        from . import charts

        known = {each.id: each for each in self.scenarios}
        return charts.draw(self, known[scenario] if scenario is not None else self.scenarios[0])

    def overview(self) -> Table:
        """Disciplines or controllers by the numbers that matter."""
        return report.glance(self, self.scenarios, len(self.labels) <= report.FEW)

    def __repr__(self) -> str:
        return f"<sluicegate.Evaluation {self.suite.name}: {len(self.scenarios)} scenarios, {', '.join(self.names)}>"
