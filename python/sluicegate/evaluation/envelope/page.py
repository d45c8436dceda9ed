"""The page of envelopes, and its tables."""

from __future__ import annotations

from ...envelopes import Edges
from ...envelopes.promises import BOUND, LATE_NS, PROMISES, TARGET, USED
from ...page import Page, Section, Table
from ...quantities import duration, rate_text
from . import charts
from .grid import FLOOD, PACKET, WINDOW
from .regions import Regions

WORDS = (
    f"A cell is within the envelope when at least {100 * USED:.0f} % of the link is used and the mean queueing delay "
    f"is within the promise: at most a tenth above a bound, at most {TARGET:g} times a target, and in no case above "
    f"{duration(LATE_NS / 1e9)} (ITU-T G.114)."
)
HOSTS = (
    "All flows are transfers without end between Linux's hosts with CUBIC. Slow start ends at a flow's share of the "
    "link, so that flows begin near what they settle at; each cell is measured for as long as its warm-up. Grey cells "
    f"are not measured: where the share of a flow is above the {WINDOW // 2**20} MiB that Linux's hosts let be under "
    "way, and where it would take more packets than the suite gives a cell."
)
MOVED = (
    "Rates between which the promise is kept, with the parameter as it is, halved and doubled, and all else as it is; "
    "what is derived from the link is moved from there. ≤ and ≥: as far as was measured. –: nowhere; "
    "“rule”: the discipline does not take such a value."
)


def page(done: Regions) -> Page:
    """The page."""
    sections = [
        Section("regions", "Regions", WORDS, words=[HOSTS], figure=charts.regions(done, done.disciplines),
                tables=[("Rates between which the promise is kept, round trip 30 ms", regions(done))]),
        Section("promises", "What is promised", "What the delay is compared with.", tables=[("", promises(done))]),
    ]  # fmt: skip
    for number, label in enumerate(done.disciplines):
        flood = f"A flood is UDP with {FLOOD} times the link's rate beside the TCP flows."
        tables = [("What each parameter does to the region", table)] if (table := moves(done, label)).rows else []
        sections.append(Section(f"maps-{number}", label, flood, words=[MOVED] if tables else [],
                                figure=charts.maps(done, label), tables=tables))  # fmt: skip
    about = done.summary
    provenance = {
        "Sluicegate": about["version"],
        "Rates": ", ".join(map(rate_text, about["rates_bps"])),
        "TCP flows": ", ".join(map(str, about["flows"])),
        "Round trips": ", ".join(duration(trip / 1e9) for trip in about["round_trips_ns"]),
        "Packets of a cell": f"at most {about['most_packets'] / 1e6:g} million, of {PACKET} bytes",
        "Seeds": ", ".join(map(str, about["seeds"])),
    }
    return Page("Envelopes", "where disciplines do what they promise", sections, provenance)


def regions(done: Regions) -> Table:
    """The rates between which each discipline keeps its promise, with the middle round trip."""
    flows, trips = done.summary["flows"], done.summary["round_trips_ns"]
    trip = trips[len(trips) // 2]
    rows = tuple(
        (label, *(edges_text(done.envelope(label).edges(count, trip)) for count in flows)) for label in done.disciplines
    )
    return Table(("discipline", *(f"{count} flow{'s' if count > 1 else ''}" for count in flows)), rows, len(flows))


def moves(done: Regions, label: str) -> Table:
    """How each parameter moves the rates between which the promise is kept."""
    flows, trip = done.summary["moved"]
    usual = edges_text(done.unmoved(label).edges(flows, trip))
    factors = done.summary["moves"]
    rows = tuple(
        (name, usual, *(edges_text(edges[factor]) if factor in edges else "rule" for factor in factors))
        for name, edges in done.moved(label)
    )
    head = ("parameter", "as it is", *(f"times {factor:g}" for factor in factors))
    return Table(head, rows, len(factors) + 1)


def promises(done: Regions) -> Table:
    """What each discipline promises, with its source."""
    rows = []
    for each in done.summary["disciplines"]:
        promise = PROMISES.get(each["name"])
        if promise is None:
            given = done.summary["promise_ns"]
            words = duration((given or LATE_NS) / 1e9)
            rows.append((each["label"], words, "bound", "given with promise" if given else "ITU-T G.114"))
        else:
            kind = "bound" if promise.within == BOUND else "target"
            rows.append((each["label"], promise.text, kind, promise.source))
    return Table(("discipline", "promise", "is a", "source"), tuple(rows))


def edges_text(edges: Edges | None) -> str:
    """The rates between which a promise is kept, in words."""
    if edges is None:
        return "–"
    low = f"{'≤ ' if edges.open_low else ''}{_two(edges.low)}"
    return f"{low} to {'≥ ' if edges.open_high else ''}{_two(edges.high)}"


def _two(rate: float) -> str:
    """A rate to two digits."""
    return rate_text(float(f"{rate:.2g}"))
