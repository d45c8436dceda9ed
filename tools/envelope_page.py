"""Keep envelopes of disciplines in the package, and write docs/envelope.md with its images.

    sluicegate evaluate all --suite envelope --quick -o out/envelope && python tools/envelope_page.py [out/envelope]

Of one discipline, `evaluate NAME` in place of `all` is enough: what was kept of the others stays. What is kept is
python/sluicegate/envelopes/kept.json. tests/test_envelope.py measures some of its cells again.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sluicegate as sg
from sluicegate.envelopes import KEPT, kept
from sluicegate.envelopes.promises import LATE_NS
from sluicegate.evaluation.envelope import charts, page
from sluicegate.evaluation.envelope.grid import MS, PACKET_BITS, QUICK
from sluicegate.evaluation.envelope.result import AXES, Envelopes, text
from sluicegate.experiments.disciplines import known
from sluicegate.page import Table
from sluicegate.plot import style as plot
from sluicegate.quantities import duration, rate_text, two

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "envelope.md"
SHOWN = ("red", "choke", "codel")
"""Whose heat maps are on the page."""

DPI = 90
MARK = "<!-- Below: written by tools/envelope_page.py. -->\n"

BUFFERED = ("random_drop", "decbit", "source_quench", "ut_lt", "drop_preference")
"""Disciplines with ns-2's buffer of 50 packets for all links."""

FIRST_DROP: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("red", "penalty_box", "red_pd", "choke", "choke_linux", "gred"), ("min_th", 1.0)),
    "rio": ("in_min_th", 1.0),
    **dict.fromkeys(BUFFERED, ("limit", 1.0)),
    "early_random_drop": ("limit", 0.5),
}
"""The length of the queue from which disciplines drop, where it is the same for all links: a part of a value."""

HELD: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("red", "penalty_box", "red_pd", "gred"), ("max_th", 1.0)),
    "choke": ("min_th", 1.0),
    "rio": ("in_max_th", 1.0),
    "afd": ("q_ref", 1.0),
    **dict.fromkeys(("drop_tail", "fq", *BUFFERED), ("limit", 1.0)),
}
"""The length at which ten flows hold the queue: where all is dropped, a target, or, under CHOKe, where each arrival is
compared."""


def packets(name: str, part: tuple[str, float]) -> float:
    """A value of a discipline's defaults, or a part of it."""
    with warnings.catch_warnings(action="ignore"):
        queue = sg.check(f'network = {{rate = "10 Mbit/s"}}\nqueue = {{discipline = "{name}"}}\n'
                         'flows = [{kind = "tcp"}]\nrun = {duration = "1 s"}')["queue"]  # fmt: skip
    return float(queue[part[0]]) * part[1]


def late_bps(length: float) -> float:
    """The rate at which so many packets, and the one in transmission, take the longest time that is allowed."""
    return (length + 1) * PACKET_BITS / LATE_NS * 1e9


def burst_bps(length: float) -> float:
    """The rate of a flow at which one burst of it has so many packets: Linux sends 1/1024 s of 1.2 times its rate at
    once (tcp_tso_autosize, tcp_pacing_ca_ratio)."""
    return length * PACKET_BITS * 1024 / 1.2


def by_hand() -> Table:
    """Edges that follow from one value, beside those measured."""
    rows = []
    for name, found in kept().items():
        row = [f"`{name}`"]
        if name in HELD:
            slow, edges = packets(name, HELD[name]), found.edges(10, 30 * MS)
            row += [f"{HELD[name][0]}: {slow:g}", rate_text(two(late_bps(slow))), page.edges_text(edges, "low")]
        else:
            row += ["", "", ""]
        if name in FIRST_DROP:
            fast = packets(name, FIRST_DROP[name])
            measured = (page.edges_text(found.edges(1, trip * MS), "high") for trip in (5, 30))
            row += [f"{FIRST_DROP[name][0]}: {fast:g}", rate_text(two(burst_bps(fast))), *measured]
        else:
            row += ["", "", "", ""]
        if any(row[1:]):
            rows.append(tuple(row))
    head = (
        "discipline", "held at", f"which takes {duration(LATE_NS / 1e9)} at", "slowest, 10 flows, 30 ms", "drops from",
        "one burst at", "fastest, 1 flow, 5 ms", "30 ms",
    )  # fmt: skip
    return Table(head, tuple(rows))


def merged(done: Envelopes) -> dict[str, Any]:
    """What is kept, with what was measured in place of what was."""
    new, old = done.record(), json.loads(KEPT.read_bytes())
    if any(new[name] != old[name] for name in AXES):
        if {*new["disciplines"]} != {*known()}:
            raise SystemExit("error: kept are other rates, flows or round trips; measure all, or with --quick")
        old = {"disciplines": {}}
    found = old["disciplines"] | new["disciplines"]
    return new | {"disciplines": {name: found[name] for name in known() if name in found}}


def lines(record: dict[str, Any]) -> Iterator[str]:
    """The part of the page that is written."""
    trips = [duration(trip / 1e9) for trip in record["round_trips_ns"]]
    quick = " --quick" if len(record["rates_bps"]) == len(QUICK.rates) else ""
    rates = ", ".join(map(rate_text, record["rates_bps"]))
    yield (
        f"`sluicegate evaluate all --suite envelope{quick}`: rates of {rates}; "
        f"{', '.join(map(str, record['flows']))} TCP flows; base round trips of {', '.join(trips)}.\n"
    )
    yield "![The cells in which each discipline keeps its promise](images/envelopes.png)\n"
    yield "### Rates between which the promise is kept\n"
    yield f"The round trip is {trips[len(trips) // 2]}. {page.ENDS}\n"
    yield from table(quoted(page.regions(kept())))
    yield f"\n{decades()}"
    yield "\n### Measured and calculated\n"
    yield (
        "Some values in packets are the same for all links, and edges follow from them. *Held at*: ten flows keep the "
        "queue at this length; below the rate at which it takes 400 ms the promise fails. *Drops from*: the discipline "
        "drops nothing while the queue is shorter. A single flow sends at once what it sends in a millisecond at 1.2 "
        "times its rate; above the rate at which such a burst is as long as *drops from*, the flow uses less of the "
        "link. If a discipline or a cell is missing, its edge does not follow from one value.\n"
    )
    yield from table(by_hand())
    yield "\n### What is promised\n"
    yield from table(quoted(page.promises({name: name for name in record["disciplines"]})))
    yield "\n### What each parameter does\n"
    flows, trip = QUICK.moved
    yield f"{page.MOVED} All runs have {flows} flows and a round trip of {duration(trip / 1e9)}.\n"
    moves = [(f"`{name}`", *row) for name, each in record["disciplines"].items() for row in each["moved"]]
    yield from table(Table(("discipline", "parameter", "as it is", "half", "twice"), tuple(moves)))
    yield "\n### Three disciplines in numbers\n"
    for label in SHOWN:
        yield f"![{label}: link used, queueing delay, loss, a flood's share](images/envelope-{label}.png)\n"


def decades() -> str:
    """Over how much of the rates each discipline keeps its promise under ten flows, the widest first."""
    found = [(name, edges) for name, each in kept().items() if (edges := each.edges(10, 30 * MS))]
    words = (
        f"`{name}` {'≥ ' if edges.open_low or edges.open_high else ''}{edges.decades:.1f}"
        for name, edges in sorted(found, key=lambda each: -each[1].decades)
    )
    return f"With 10 flows the range has this many decades of rate: {', '.join(words)}."


def quoted(of: Table) -> Table:
    """A table whose first cells are names."""
    return Table(of.head, tuple((f"`{name}`", *cells) for name, *cells in of.rows), of.numbers)


def table(of: Table) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {' | '.join(of.head)} |"
    yield f"|{'---|' * len(of.head)}"
    yield from (f"| {' | '.join(cells)} |" for cells in of.rows)


def main(folder: Path) -> None:
    done = Envelopes.read(folder)
    record = merged(done)
    KEPT.write_text(text(record), "utf-8")
    kept.cache_clear()
    drawn = {"envelopes": charts.regions(kept())}
    drawn |= {f"envelope-{label}": charts.maps(done, label) for label in SHOWN if label in done.disciplines}
    for name, figure in drawn.items():
        (DOCS / f"images/{name}.png").write_bytes(plot.png(figure, DPI))
    before, mark, _ = PAGE.read_text("utf-8").partition(MARK)
    PAGE.write_text(before + mark + "\n".join(lines(record)) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "out/envelope"))
