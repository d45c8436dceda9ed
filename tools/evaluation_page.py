"""Write docs/evaluation-results.md, the results of all disciplines, from what `sluicegate evaluate all` has written;
and docs/evaluation-rfc7928.md, what the RFC asks for beside what is done.

sluicegate evaluate all -o out/evaluate && python tools/evaluation_page.py [out/evaluate]
python tools/evaluation_page.py --rfc       # the second page alone
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from sluicegate.evaluation import report
from sluicegate.evaluation.evaluate import read
from sluicegate.evaluation.rfc7928 import SUITE
from sluicegate.evaluation.suite import Suite
from sluicegate.reproduce import Table

DOCS = Path(__file__).parents[1] / "docs"
PAGE, LIST = DOCS / "evaluation-results.md", DOCS / "evaluation-rfc7928.md"


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
    yield f"\n{report.tally(done.suite)} [What RFC 7928 asks for]({LIST.name}) lists them, and what it leaves open."


def asked(suite: Suite) -> Iterator[str]:
    """The page of what the RFC asks for, line by line."""
    yield "<!-- Written by tools/evaluation_page.py --rfc from python/sluicegate/evaluation/rfc7928. -->"
    yield "# What RFC 7928 asks for\n"
    yield (
        "All that RFC 7928 asks of who characterizes a queue discipline, in its order, with its own word, and what "
        "`sluicegate evaluate` does of it. What it asks of who proposes a discipline is here asked of the manual. "
        f"{report.tally(suite)} [Evaluating](evaluate.md) says how scenarios are run.\n"
    )
    yield from table(report.asked(suite))
    yield "\n## The weight of each scenario\n"
    yield "As Fig. 4 of the RFC has it.\n"
    rows = tuple((f"`{each.id}`", each.section, each.title, suite.weight(each)) for each in suite.scenarios)
    yield from table(Table(("Scenario", "Section", "Title", "Weight"), rows))
    yield "\n## What the RFC leaves open\n"
    yield from table(Table(("What", "The RFC", "Here", "Why"), suite.choices))


def table(of: Table) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {' | '.join(of.head)} |"
    yield f"|{'---|' * (len(of.head) - of.numbers)}{'---:|' * of.numbers}"
    yield from (f"| {' | '.join(cells)} |" for cells in of.rows)


if __name__ == "__main__":
    LIST.write_text("\n".join(asked(SUITE)) + "\n", "utf-8")
    if sys.argv[1:] != ["--rfc"]:
        PAGE.write_text("\n".join(lines(Path(sys.argv[1] if sys.argv[1:] else "out/evaluate"))) + "\n", "utf-8")
