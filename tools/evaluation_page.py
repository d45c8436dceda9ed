"""Write the pages of a suite: the results of all that it can be run on, from what `sluicegate evaluate all` has
written, and what the RFCs ask for beside what is done.

sluicegate evaluate all -o out/evaluate && python tools/evaluation_page.py out/evaluate
sluicegate evaluate all --suite congestion-control -o out/cc && python tools/evaluation_page.py out/cc
python tools/evaluation_page.py --asked       # the second pages alone, of both suites
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sluicegate.evaluation import congestion_control, report, rfc7928
from sluicegate.evaluation.evaluate import read
from sluicegate.evaluation.suite import Suite
from sluicegate.reproduce import Table

DOCS = Path(__file__).parents[1] / "docs"


class Pages(NamedTuple):
    """The pages of a suite. `manual`: the page that says how it is run; `rfcs`: what asks; `about` and `weights`: words
    of the second page."""

    results: str
    asked: str
    manual: str
    title: str
    rfcs: str
    about: str
    weights: str
    command: str = "sluicegate evaluate all"
    asks: str = "asks"


PAGES = {
    rfc7928.SUITE.name: Pages(
        "evaluation-results.md", "evaluation-rfc7928.md", "evaluate.md", "All disciplines under RFC 7928", "RFC 7928",
        "The table has everything that RFC 7928 asks for when a queue discipline is characterized, in its order and "
        "with its *must*, *should* and *may*, and says how `sluicegate evaluate` does it. *In the manual* means: "
        "the RFC asks this of a discipline's author, and the manual has it. The table “What each discipline needs” is "
        "in the report and [on the page of all results](evaluation-results.md#what-each-discipline-needs).",
        "The weights are those of the RFC's Fig. 4. Its other items, parameters and stability (8.3), should be "
        "discussed, and have no scenario.",
    ),
    congestion_control.SUITE.name: Pages(
        "evaluation-congestion-control.md", "evaluation-rfc5033.md", "evaluate-congestion-control.md",
        "All congestion controls under RFC 5033", "RFC 5033 and RFC 5166",
        "The table has RFC 5033's guidelines for a new congestion control, the metrics that RFC 5166 discusses, and "
        "how `sluicegate evaluate --suite congestion-control` does them. RFC 5033 has guidelines, not requirements; "
        "its *should* and *may* are in the column *Word*. RFC 9743, which replaced it in 2025, was not available.",
        "Sec. 4 of RFC 5033 says which guidelines are the minimum for a widespread deployment, and which others must "
        "be evaluated.",
        "sluicegate evaluate all --suite congestion-control", "ask",
    ),
}  # fmt: skip


def lines(folder: Path) -> Iterator[str]:
    """The page of results, line by line."""
    done = read(folder)
    suite, pages = done.suite, PAGES[done.suite.name]
    of, seeds = done.settings, len(done.settings.seeds)
    yield f"<!-- Written by tools/evaluation_page.py from the tables of `{pages.command}`. -->"
    yield f"# {pages.title}\n"
    yield (
        f"`{pages.command}` by version {done.summary['version']}: {seeds} seeds, {of.duration_s:g} s each, the "
        f"first {of.warmup_s:g} s not measured. [Evaluating]({pages.manual}) says what is run and how to read it.\n"
    )
    if newer := [f"`{each.id}`" for each in suite.scenarios if each not in done.scenarios]:
        yield f"These scenarios are newer and have no results here: {', '.join(newer)}.\n"
    yield f"{report.LEGEND}\n"
    apart = ", ".join(f"`{each.id}`" for each in done.scenarios if each.apart)
    means = (
        f" {apart} have different set-ups with their own numbers below; only the means over these set-ups count."
        if apart
        else ""
    )
    yield (
        f"The table counts in how many numbers each {suite.subject} is best or tied, and in how many it is worst. "
        f"Numbers in which all are tied do not count.{means}\n"
    )
    rows = ((label, *map(str, each)) for label, each in report.counts(done).items())
    yield from table(Table((suite.subject.capitalize(), "Best or tied", "Worst", "Of"), tuple(rows), 3))
    for section, words in suite.sections.items():
        yield f"\n## {suite.part.capitalize()} {section}: {words}\n"
        scenarios = [each for each in done.scenarios if each.section.split(".")[0] == section]
        yield from table(report.glance(done, scenarios, across=False))
    needs = report.needs_of(done)
    yield f"\n## {needs.title}\n"
    yield f"{needs.caption}\n"
    yield from table(needs.table)
    asked_for = f"[What {pages.rfcs} {pages.asks} for]({pages.asked})"
    yield f"\n{asked_for} lists each point and whether it is done. {report.tally(suite)}"


def asked(suite: Suite) -> Iterator[str]:
    """The page of what the RFCs ask for, line by line."""
    pages = PAGES[suite.name]
    package = suite.name.replace("-", "_")
    yield f"<!-- Written by tools/evaluation_page.py --asked from python/sluicegate/evaluation/{package}. -->"
    yield f"# What {pages.rfcs} {pages.asks} for\n"
    yield f"{pages.about} {report.tally(suite)} [Evaluating]({pages.manual}) says how scenarios are run.\n"
    yield from table(report.asked(suite))
    yield "\n## The weight of each scenario\n"
    yield f"{pages.weights}\n"
    rows = tuple((f"`{each.id}`", each.section, each.title, suite.weight(each)) for each in suite.scenarios)
    yield from table(Table(("Scenario", suite.part.capitalize(), "Title", "Weight"), rows))
    yield "\n## What the RFC leaves open\n"
    yield from table(Table(("What", "The RFC", "Here", "Why"), suite.choices))


def table(of: Table) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {' | '.join(of.head)} |"
    yield f"|{'---|' * (len(of.head) - of.numbers)}{'---:|' * of.numbers}"
    yield from (f"| {' | '.join(cells)} |" for cells in of.rows)


if __name__ == "__main__":
    for each in (rfc7928.SUITE, congestion_control.SUITE):
        (DOCS / PAGES[each.name].asked).write_text("\n".join(asked(each)) + "\n", "utf-8")
    for folder in sys.argv[1:]:
        if folder != "--asked":
            page = DOCS / PAGES[read(folder).suite.name].results
            page.write_text("\n".join(lines(Path(folder))) + "\n", "utf-8")
