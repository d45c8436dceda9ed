"""The page of envelopes, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import polars as pl

from ...envelopes import Edges, Envelope
from ...envelopes.promises import BOUND, LATE_NS, PROMISES, TARGET, USED
from ...page import Page, Section, Table
from ...quantities import duration, no_further, rate_text, two
from .grid import FLOOD, PACKET, WINDOW
from .regions import UNMOVED, Moved, Regions

WORDS = (
    f"A cell is within the envelope when at least {100 * USED:.0f} % of the link is used and the mean queueing delay "
    f"is within the promise: at most a tenth above a bound, at most {TARGET:g} times a target, and in no case above "
    f"{duration(LATE_NS / 1e9)} (ITU-T G.114)."
)
HOSTS = (
    "All flows are transfers without end between Linux's hosts with CUBIC. Slow start ends at a flow's share of the "
    "link, so that flows begin near what they settle at; each cell is measured for as long as its warm-up. Grey cells "
    f"are not measured: there a flow's share is above the {WINDOW // 2**20} MiB that Linux's hosts allow in flight, or "
    "the cell would take more packets than the suite allows."
)
APART = 1.5
"""Two rates at which a promise ends count as different only if they differ by at least this factor: less may be chance.
Over four seeds the two ends of ten disciplines under ten flows lay within a factor of 1.3, except CHOKe's upper end
(1.5) and BLUE's lower end (2.3)."""

ENDS = (
    "≤ and ≥: the range goes at least as far as was measured. –: nowhere. *: the longest of several ranges; the "
    "promise is kept in the others, too, but not in between."
)

MOVED = (
    "Rates between which the promise is kept: with the value of the parameter, half of it and twice of it. "
    f"“no clear effect”: both ends move by less than a factor of {APART:g}, as far as was measured. If the default "
    "depends on the link, half and twice of that default are taken. "
    f"{ENDS} “rule”: the discipline does not accept such a value. These runs have fewer packets than the "
    "runs above, and leave out the fastest links, so rates may differ: compare only along a row."
)
ASKED = (
    "Rates between which the promise is kept if only this parameter is changed, to this value. These runs have fewer "
    f"packets than those of the regions, so the fastest links are not measured. {ENDS}"
)
RAISED = "“raises”: the discipline raises an exception with that value, in the constructor or in a run."


def page(done: Regions) -> Page:
    """The page."""
    from . import charts

    names = {each["label"]: each["name"] for each in done.summary["disciplines"]}
    promised = promises(names, done.summary["promise_ns"], done.summary.get("promise_is_target", False))
    sections = [
        Section("regions", "Regions", WORDS, words=[HOSTS, ENDS], figure=charts.regions(done.envelopes()),
                tables=[("Rates between which the promise is kept, round trip 30 ms", regions(done.envelopes()))]),
        Section("promises", "What is promised", "What the delay is compared with.", tables=[("", promised)]),
    ]  # fmt: skip
    sections += [_discipline(done, number, label) for number, label in enumerate(done.disciplines)]
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


def _discipline(done: Regions, number: int, label: str) -> Section:
    """The heat maps of a discipline, and how its parameters move the region."""
    from . import charts

    measured = done.cells.filter(pl.col("flood_share").is_not_null())["rtt_ns"].unique().sort()
    trips = ", ".join(duration(trip / 1e9) for trip in measured)
    flood = (
        f"A flood is UDP with {FLOOD} times the link's rate beside the TCP flows, measured only at a round trip of "
        f"{trips}."
    )
    flows, trip = done.summary["moved"]
    title = f"What each parameter does to the region, {flows} flows, round trip {duration(trip / 1e9)}"
    said = [
        (words, table) for words, table in ((MOVED, moves(done, label)), (ASKED, valued(done, label))) if table.rows
    ]
    words = [each for each, _ in said]
    if any("raises" in row for _, table in said for row in table.rows):
        words.append(RAISED)
    about = next(each for each in done.summary["disciplines"] if each["label"] == label)
    if left := about.get("not_moved"):
        words.append(
            "Not moved, because they are not numbers, are 0 or not set, or accept neither half nor twice their value: "
            f"{', '.join(left)}."
        )
    return Section(f"maps-{number}", label, flood if trips else "", words=words, figure=charts.maps(done, label),
                   tables=[(title, table) for _, table in said])  # fmt: skip


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
        if not {*factors} & {*edges}:
            continue
        if "raises" in edges.values() or any(_apart(found, usual[1.0]) for found in edges.values()):
            rows.append((name, _way(usual[1.0]), *(_way(edges.get(factor, "rule")) for factor in factors)))
        else:
            rest.append(name)
    if rest:
        rows.append((f"no clear effect: {', '.join(rest)}", *("" for _ in (1.0, *factors))))
    head = ("parameter", "as it is", *(f"times {factor:g}" for factor in factors))
    return Table(head, tuple(rows), len(factors) + 1)


def valued(done: Regions, label: str) -> Table:
    """The rates between which the promise is kept with each value that was asked for."""
    (_, usual), *moved = done.moved(label) or [(UNMOVED, {})]
    rows = [(name, way, _way(found)) for name, edges in moved for way, found in edges.items() if isinstance(way, str)]
    first = [("as it is", "", _way(usual[1.0]))] if rows else []
    return Table(("parameter", "value", "rates"), (*first, *rows), 1)


def _way(found: Moved) -> str:
    """What came of a parameter with a value, in words."""
    return found if isinstance(found, str) else edges_text(found)


def _apart(one: Moved, other: Moved) -> bool:
    """Whether an end has surely moved by more than chance does, see `APART`; no value that is refused moves any."""
    if isinstance(one, str) or isinstance(other, str):
        return False
    if one is None or other is None:
        return one is not other
    upper = _factor(one.high, one.open_high, other.high, other.open_high)
    return max(upper, _factor(1 / one.low, one.open_low, 1 / other.low, other.open_low)) > APART


def _factor(one: float, open_one: bool, other: float, open_other: bool) -> float:
    """The least factor between two upper ends: an open one is no edge, but what the edge is at least."""
    if open_one or open_other:
        return 1.0 if open_one and open_other else one / other if open_one else other / one
    return max(one / other, other / one)


def promises(names: Mapping[str, str], given: float | None = None, target: bool = False) -> Table:
    """What each discipline promises, with its source. `names`: by label; `given`: of a person's own, a bound or a
    `target`."""
    rows = []
    for label, name in names.items():
        promise = PROMISES.get(name)
        if promise is None:
            source = "--promise, or promise=" if given else "ITU-T G.114"
            rows.append((label, duration((given or LATE_NS) / 1e9), "target" if target else "bound", source))
        else:
            kind = "bound" if promise.within == BOUND else "target"
            rows.append((label, promise.text, kind, promise.source))
    return Table(("discipline", "promise", "is a", "source"), tuple(rows))


def edges_text(edges: Edges | None, end: Literal["low", "high", "both"] = "both") -> str:
    """The rates between which a promise is kept, or one of them, in words."""
    if edges is None:
        return "–"
    low = f"≤ {rate_text(no_further(edges.low, 'up'))}" if edges.open_low else rate_text(two(edges.low))
    high = f"≥ {rate_text(no_further(edges.high, 'down'))}" if edges.open_high else rate_text(two(edges.high))
    return {"low": low, "high": high, "both": f"{low} to {high}{' *' if edges.others else ''}"}[end]
