"""The page of envelopes, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ...envelopes import Edges, Envelope
from ...envelopes.promises import BOUND, LATE_NS, PROMISES, TARGET, USED
from ...page import Page, Section, Table
from ...quantities import duration, rate_text, two
from . import charts
from .grid import FLOOD, PACKET, WINDOW
from .regions import UNMOVED, Regions

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
APART = 1.5
"""The least factor between two rates at which a promise ends that is not taken for chance. Over four seeds the two ends
of ten disciplines under ten flows lay within a factor of 1.3, but for CHOKe's upper, 1.5, and BLUE's lower one, 2.3."""

ENDS = (
    "≤ and ≥: as far as was measured. –: nowhere. *: the longest of several ranges; the promise is kept in others, "
    "too, but not in between."
)

MOVED = (
    "Rates between which the promise is kept, with the parameter as it is, halved and doubled, and all else as it is; "
    f"hardly: no end moves by more than a factor of {APART:g}, of which an open one is no more than a bound; "
    f"what is derived from the link is moved from there. {ENDS} “rule”: the discipline does not take such a value. "
    "These runs have fewer packets than those of the regions, so that their rates may differ from the ones there, and "
    "faster links are not measured: compare along a row."
)


def page(done: Regions) -> Page:
    """The page."""
    names = {each["label"]: each["name"] for each in done.summary["disciplines"]}
    promised = promises(names, done.summary["promise_ns"])
    sections = [
        Section("regions", "Regions", WORDS, words=[HOSTS, ENDS], figure=charts.regions(done.envelopes()),
                tables=[("Rates between which the promise is kept, round trip 30 ms", regions(done.envelopes()))]),
        Section("promises", "What is promised", "What the delay is compared with.", tables=[("", promised)]),
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


def regions(envelopes: Mapping[str, Envelope]) -> Table:
    """The rates between which each discipline keeps its promise, with the middle round trip."""
    first = next(iter(envelopes.values()))
    trip = first.trips[len(first.trips) // 2]
    rows = tuple(
        (label, *(edges_text(each.edges(count, trip)) for count in first.flows)) for label, each in envelopes.items()
    )
    head = ("discipline", *(f"{count:g} flow{'s' if count > 1 else ''}" for count in first.flows))
    return Table(head, rows, len(first.flows))


def moves(done: Regions, label: str) -> Table:
    """How each parameter moves the rates between which the promise is kept; in the last row those that hardly do."""
    (_, usual), *moved = done.moved(label) or [(UNMOVED, {})]
    factors = done.summary["moves"]
    rows, rest = [], []
    for name, edges in moved:
        if any(_apart(found, usual[1.0]) for found in edges.values()):
            texts = (edges_text(edges[factor]) if factor in edges else "rule" for factor in factors)
            rows.append((name, edges_text(usual[1.0]), *texts))
        else:
            rest.append(name)
    if rest:
        rows.append((f"hardly: {', '.join(rest)}", *("" for _ in (1.0, *factors))))
    head = ("parameter", "as it is", *(f"times {factor:g}" for factor in factors))
    return Table(head, tuple(rows), len(factors) + 1)


def _apart(one: Edges | None, other: Edges | None) -> bool:
    """Whether an end has surely moved by more than chance does, see `APART`."""
    if one is None or other is None:
        return one is not other
    upper = _factor(one.high, one.open_high, other.high, other.open_high)
    return max(upper, _factor(1 / one.low, one.open_low, 1 / other.low, other.open_low)) > APART


def _factor(one: float, open_one: bool, other: float, open_other: bool) -> float:
    """The least factor between two upper ends: an open one is no edge, but what the edge is at least."""
    if open_one or open_other:
        return 1.0 if open_one and open_other else one / other if open_one else other / one
    return max(one / other, other / one)


def promises(names: Mapping[str, str], given: float | None = None) -> Table:
    """What each discipline promises, with its source. `names`: by label; `given`: of a person's own."""
    rows = []
    for label, name in names.items():
        promise = PROMISES.get(name)
        if promise is None:
            source = "given with promise" if given else "ITU-T G.114"
            rows.append((label, duration((given or LATE_NS) / 1e9), "bound", source))
        else:
            kind = "bound" if promise.within == BOUND else "target"
            rows.append((label, promise.text, kind, promise.source))
    return Table(("discipline", "promise", "is a", "source"), tuple(rows))


def edges_text(edges: Edges | None, end: Literal["low", "high", "both"] = "both") -> str:
    """The rates between which a promise is kept, or one of them, in words."""
    if edges is None:
        return "–"
    low = f"{'≤ ' if edges.open_low else ''}{rate_text(two(edges.low))}"
    high = f"{'≥ ' if edges.open_high else ''}{rate_text(two(edges.high))}"
    return {"low": low, "high": high, "both": f"{low} to {high}{' *' if edges.others else ''}"}[end]
