"""Write docs/evaluation-results.md, the results of all disciplines, from what `sluicegate evaluate all` has written.

sluicegate evaluate all -o out/evaluate && python tools/evaluation_page.py [out/evaluate]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from sluicegate.evaluation import report
from sluicegate.evaluation.evaluate import read
from sluicegate.reproduce import Table

PAGE = Path(__file__).parents[1] / "docs" / "evaluation-results.md"


def lines(folder: Path) -> Iterator[str]:
    """The page, line by line."""
    done = read(folder)
    of, seeds = done.settings, len(done.settings.seeds)
    yield "<!-- Written by tools/evaluation_page.py from the tables of `sluicegate evaluate all`. -->"
    yield "# All disciplines under RFC 7928\n"
    yield (
        f"`sluicegate evaluate all` by version {done.summary['version']}: {seeds} seeds, {of.duration_s:g} s each, the "
        f"first {of.warmup_s:g} s not measured. [Evaluating](evaluate.md) says what is run and how to read it.\n"
    )
    yield f"{report.LEGEND}\n"
    yield "Of the numbers that tell disciplines apart, in which less than half of them are tied:\n"
    rows = ((label, str(tied), str(all_)) for label, (tied, all_) in report.counts(done).items())
    yield from table(Table(("Discipline", "Best or tied", "Of"), tuple(rows), 2))
    for section, words in done.suite.sections.items():
        yield f"\n## Section {section}: {words}\n"
        scenarios = [each for each in done.scenarios if each.section.split(".")[0] == section]
        yield from table(report.glance(done, scenarios, across=False))
    yield "\n## What each discipline needs\n"
    yield f"{report.NEEDS}\n"
    yield from table(report.needs(done))
    yield "\n## The RFC's list beside the suite's\n"
    yield from table(report.listed(done.suite))
    yield "\n## What the RFC leaves open\n"
    yield from table(Table(("What", "The RFC", "Here", "Why"), done.suite.choices))
    yield "\n## What is not measured\n"
    yield from table(report.lacks(done.suite))


def table(of: Table) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {' | '.join(of.head)} |"
    yield f"|{'---|' * (len(of.head) - of.numbers)}{'---:|' * of.numbers}"
    yield from (f"| {' | '.join(cells)} |" for cells in of.rows)


if __name__ == "__main__":
    PAGE.write_text("\n".join(lines(Path(sys.argv[1] if sys.argv[1:] else "out/evaluate"))) + "\n", "utf-8")
