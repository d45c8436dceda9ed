"""Traps: scenarios that are valid, but in which something other than the queue discipline decides the result.

`of_scenario` looks at a resolved scenario before it runs, `of_run` at what a run showed. Each trap is a function that
states its rule, and gives a sentence for each place where it holds: the place first, at the end what to do about it.
The numbers are chosen so that a sentence is rare and right: a trap that hardly matters is not told. Disciplines inside
the classes of another are not checked, because the rate of a class is not known before a run. The exception is the
buffer of a class that has all long TCP flows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..envelopes import Envelope
from ..traffic.groups import Traffic
from ..traffic.paths import REVERSE, Resolved
from . import buffers, envelope, marks, runs, sources, targets, thresholds, wires
from .runs import MINUTE_S, about, packet_ns, seconds

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MINUTE_S", "about", "common", "of_run", "of_scenario", "packet_ns", "seconds"]

TRAPS = (
    sources.ports,
    sources.windows,
    thresholds.late_thresholds,
    thresholds.late_targets,
    thresholds.low_thresholds,
    thresholds.small_buffer,
    buffers.little_room,
    buffers.large_steps,
    buffers.short_packets,
    targets.short_targets,
    targets.intervals,
    thresholds.overload,
    sources.eager_ledbat,
    marks.unmarked,
    marks.ignored,
    wires.unused,
    wires.fast_shapers,
    wires.reordering,
    wires.dead_wires,
    wires.mild_bursts,
    runs.late_changes,
)
"""In the order in which they are told."""


def of_scenario(resolved: Resolved, real: bool = False, envelopes: Mapping[str, Envelope] | None = None) -> list[str]:
    """What a resolved scenario shows before it runs. `real`: in real time, whatever a simulation would take.
    `envelopes`: beside those of the disciplines' defaults; told is then when a discipline of one's own has none."""
    traffic = Traffic(resolved)
    found: list[Iterable[str]] = [*(each(traffic) for each in TRAPS), envelope.beyond(traffic, envelopes)]
    network = resolved["network"]
    ways = {f"network.{REVERSE}": network.get(REVERSE, {})}
    ways |= {f"network.links.{number}": link for number, link in enumerate(network.get("links", ()))}
    for place, own in ((place, Traffic(resolved, way["queue"])) for place, way in ways.items() if "queue" in way):
        found.append([f"{place}.{said}" for each in TRAPS for said in each(own) if said.startswith("queue.")])
    if not real:
        found.append(runs.long_run(traffic))
    return [sentence for sentences in found for sentence in sentences]


def of_run(resolved: Resolved, links: pl.DataFrame, queue: pl.DataFrame) -> list[str]:
    """What only a run shows: by its tables `links` and `queue`. `resolved`: the scenario that was run."""
    return list(thresholds.held_average(resolved, links, queue))


def common(lists: Iterable[Sequence[str]]) -> list[str]:
    """The sentences that all of the lists have, in the order of the first."""
    every = [list(sentences) for sentences in lists]
    return [sentence for sentence in every[0] if all(sentence in other for other in every)] if every else []
