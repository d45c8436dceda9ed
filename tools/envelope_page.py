"""Keep the envelopes of all disciplines in the package, and write docs/envelope.md with its images.

    sluicegate evaluate all --suite envelope --quick -o out/envelope && python tools/envelope_page.py [out/envelope]

By the number of packets, `--quick` should take a quarter of an hour on two cores, and the suite at full length an hour;
both go on where they stopped. What is kept is python/sluicegate/envelopes/kept.json. tests/test_envelope.py measures
some of its cells again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from sluicegate.envelopes import KEPT, kept
from sluicegate.evaluation.envelope import charts, page
from sluicegate.evaluation.envelope.result import Envelopes
from sluicegate.experiments.disciplines import known
from sluicegate.page import Table
from sluicegate.plot import style as plot
from sluicegate.quantities import duration, rate_text

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "envelope.md"
SHOWN = ("red", "choke", "codel")
"""Whose heat maps are on the page."""

BUFFER = "the buffer of 50 packets, ns-2's for all links, does not hold the bursts of segments of a few flows"
BAND = "thresholds of 5 and 15 packets, those of RED 1993, are one burst: `sluicegate design red` chooses others"
REASONS = {
    **dict.fromkeys(("random_drop", "decbit", "source_quench", "ut_lt", "drop_preference"), BUFFER),
    "early_random_drop": "drops 2 % above half of its buffer (Zhang 1989), 25 packets: less than one burst of "
    "segments, and windows of 333 packets and more live with 0.001 %",
    **dict.fromkeys(("red", "penalty_box", "red_pd", "rio"), BAND),
    "gred": "thresholds of 15 and 45 packets and an average that follows bursts of 25, as in iproute2's example: one "
    "burst of segments is above them",
    "choke": "thresholds of 30 and 60 packets are a burst of segments or two: `sluicegate design red` chooses others",
    "choke_linux": "the average follows bursts of 40 packets, as iproute2 sets it for thresholds of 30 and 60: after "
    "one burst of segments each arrival is compared, and flows so few match themselves",
    "pi": "gains of Hollot et al. for 60 flows on 15 Mbit/s, ns-2's for all links: a short queue raises p far above "
    "what such windows live with, and it comes down by 0.0005 in a second; `sluicegate design pi` chooses others",
    "ared": "a target of 5 ms, that of its paper, is a part of the round trip: after a drop the link of a flow "
    "alone falls idle until its window has grown again",
    "blue": "its paper's step d1 = 0.02 is more than ten times what windows of more than 27 packets live with, and "
    "goes by 0.02 in a second",
    "rem": "its target of 20 packets (b_ref, ns-2's for all links) is half of one burst of segments",
    "sfb": "a flow has 25 packets in the queue at most (Linux's bin_max), and its p rises from 20 on; it falls by "
    "1/6000 with each packet that finds the bins empty, and a flow that waits for its timers sends too few",
}
"""Why fast links fall idle under the defaults. Most are values that a paper or another implementation gives for all
links, in packets: they are kept. A value that is Sluicegate's own follows from the link."""


def record(done: Envelopes) -> str:
    """What is kept in the package."""
    axes = {name: list(done.summary[name]) for name in ("rates_bps", "flows", "round_trips_ns")}
    cells = {
        label: [
            None if each is None else [round(each.used, 4), round(each.delay_ns), round(each.promised_ns)]
            for each in done.envelope(label).measured
        ]
        for label in done.disciplines
    }
    rows = (f"  {json.dumps(label)}: {json.dumps(each, separators=(',', ':'))}" for label, each in cells.items())
    body = ",\n".join(rows)
    return f'{json.dumps(axes)[:-1]}, "disciplines": {{\n{body}\n}}}}\n'


def lines(done: Envelopes) -> Iterator[str]:
    """The part of the page that is written."""
    about = done.summary
    trips = [duration(trip / 1e9) for trip in about["round_trips_ns"]]
    quick = " --quick" if len(about["rates_bps"]) < 11 else ""
    yield (
        f"`sluicegate evaluate all --suite envelope{quick}` by version {about['version']}: rates of "
        f"{', '.join(map(rate_text, about['rates_bps']))}; {', '.join(map(str, about['flows']))} TCP flows; base round "
        f"trips of {', '.join(trips)}.\n"
    )
    if lacking := [name for name in known() if name not in done.disciplines]:
        names = ", ".join(f"`{name}`" for name in lacking)
        yield f"Not yet measured: {names}; of others the grey cells of fast links.\n"
    yield "![The cells in which each discipline keeps its promise](images/envelopes.svg)\n"
    yield "### Rates between which the promise is kept\n"
    yield f"With a round trip of {trips[len(trips) // 2]}. ≤ and ≥: as far as was measured. –: nowhere.\n"
    found = page.regions(done)
    rows = ((f"`{row[0]}`", *row[1:], REASONS.get(row[0], "")) for row in found.rows)
    yield from table(Table((*found.head, "why fast links fall idle"), tuple(rows)))
    yield "\n### What is promised\n"
    yield from table(page.promises(done))
    yield "\n### What each parameter does\n"
    yield f"{page.MOVED} With {about['moved'][0]} flows and a round trip of {duration(about['moved'][1] / 1e9)}.\n"
    moves = [(f"`{label}`", *row) for label in done.disciplines for row in page.moves(done, label).rows]
    yield from table(Table(("discipline", "parameter", "as it is", "half", "twice"), tuple(moves)))
    yield "\n### Three of them in numbers\n"
    for label in SHOWN:
        yield f"![{label}: link used, queueing delay, loss, a flood's share](images/envelope-{label}.svg)\n"


def table(of: Table) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {' | '.join(of.head)} |"
    yield f"|{'---|' * len(of.head)}"
    yield from (f"| {' | '.join(cells)} |" for cells in of.rows)


def main(folder: Path) -> None:
    done = Envelopes.read(folder)
    KEPT.write_text(record(done), "utf-8")
    kept.cache_clear()
    (DOCS / "images/envelopes.svg").write_bytes(plot.svg(charts.regions(done, done.disciplines)))
    for label in SHOWN:
        (DOCS / f"images/envelope-{label}.svg").write_bytes(plot.svg(charts.maps(done, label)))
    before, mark, _ = PAGE.read_text("utf-8").partition("<!-- Below: written by tools/envelope_page.py. -->\n")
    PAGE.write_text(before + mark + "\n".join(lines(done)) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "out/envelope"))
