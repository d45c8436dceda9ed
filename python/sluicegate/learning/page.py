"""The page of what was learnt: its numbers, and the capture beside the simulation and other disciplines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from .. import _core
from ..page import Page, Section, Table
from ..plot import style as plot
from ..quantities import fixed
from .beside import ALL, Met, Side, distance

if TYPE_CHECKING:
    from .model import Direction, Learnt

COLOURS = (plot.BLACK, plot.VERMILION, plot.BLUE, plot.GREEN, plot.PURPLE)

MOST_GROUPS, LEAST_MS = 4, 0.01
"""Groups with a picture of their own, and the shortest wait of the logarithmic axes: what waits less is drawn there."""

CELLS: dict[str, Callable[[Met], str]] = {
    "throughput kbit/s": lambda met: fixed(met.throughput_bps, 1e3),
    "loss %": lambda met: fixed(met.loss, 0.01),
    "wait, mean ms": lambda met: fixed(met.wait_ms[0]),
    "wait, p95 ms": lambda met: fixed(met.wait_ms[2]),
}
"""What a row shows."""

NOTE = (
    "Groups are named by ports, DSCP and behaviour. The simulation begins with empty queues and new connections; the "
    "comparison begins after its warm-up."
)


def page(done: Learnt, sides: Sequence[Side], scenario: str) -> Page:
    """The page. `sides`: the capture, the simulation, and other disciplines, if there are any. `scenario`: its text."""
    sections = [Section("link", "The link", tables=[("", numbers(done))], words=evidence(done))]
    if sides:
        far = ", ".join(f"{side.label} {distance(sides[0], side):.2f}" for side in sides[1:])
        sections += [
            Section("beside", "What happened to the packets", f"Distance between simulated and captured waiting times: "
                    f"{far}.",
                    tables=[("", table(sides))], words=instead(sides)),
            Section("waits", "Waiting times", "Over time, and the share of each group's packets that waited no longer.",
                    figure=figure(sides)),
        ]  # fmt: skip
    groups = tuple(
        (group.name, "down" if group.down else "up", group.kind, group.said, str(group.count)) for group in done.groups
    )
    sections.append(
        Section("groups", "Who sends", tables=[("", Table(("group", "way", "source", "", "flows"), groups, 1))])
    )
    if done.unknown:
        rows = tuple((each.key, each.why, each.value, f"{each.low} to {each.high}") for each in done.unknown)
        sections.append(Section("unknown", "What is not known",
                                tables=[("", Table(("key", "why", "assumed", "range"), rows))]))  # fmt: skip
    lead = [f"Learnt from captures of {done.seconds:.1f} s."]
    provenance = {"Sluicegate": _core.version()}
    return Page("A link, learnt", f"the direction {done.forward.word}", sections, provenance, lead,
                [NOTE, *done.remarks], scenario, "The scenario")  # fmt: skip


def numbers(done: Learnt) -> Table:
    """What was learnt of each direction, with intervals."""
    rows: list[tuple[str, str, str]] = []
    for way in (done.forward, done.back):
        rows += [(way.word, *row) for row in _of(way)]
    if done.rtts_ms:
        least, most = min(done.rtts_ms.values()), max(done.rtts_ms.values())
        rows.append(("both", "base round trips", f"{least:.2f} to {most:.2f} ms"))
    return Table(("way", "what", "learnt"), tuple(rows))


def _of(way: Direction) -> list[tuple[str, str]]:
    found = []
    if way.rate is not None:
        varies = ", on average: it varies" if way.rate.trace is not None else ""
        interval = f"{way.rate.bps / 1e6:.5g} ± {way.rate.half_width_bps / 1e6:.2g} Mbit/s{varies}"
        found += [("rate", interval), ("framing", way.rate.framing or "not determined")]
    if way.told is not None:
        buffer = way.told.buffer
        full = f"the queue was full, its limit is in {buffer.full}" if buffer.full else "the queue was never seen full"
        found += [
            ("discipline", " or ".join(way.told.names) or "not determined"),
            ("most that waited", f"{buffer.packets} packets, {buffer.bytes} bytes; {full}"),
        ]
    return found


def evidence(done: Learnt) -> list[str]:
    """What the disciplines are told by."""
    return [
        f"{way.word.capitalize()}: {each}."
        for way in (done.forward, done.back) if way.told is not None for each in way.told.evidence
    ]  # fmt: skip


def table(sides: Sequence[Side]) -> Table:
    """A row for each group and what it met, a column for each side."""
    rows = []
    for name in sides[0].groups:
        found = [side.groups.get(name) for side in sides]
        for what, cell in CELLS.items():
            rows.append((name, what, *("–" if met is None else cell(met) for met in found)))
    return Table(("group", "what", *(side.label for side in sides)), tuple(rows), len(sides))


def instead(sides: Sequence[Side]) -> list[str]:
    """What another discipline would give, in sentences."""
    now = sides[1]
    said = []
    for side in sides[2:]:
        changes = [
            f"{name} {fixed(side.groups[name].wait_ms[2])} ms instead of {fixed(met.wait_ms[2])}"
            for name, met in now.groups.items() if name != ALL and name in side.groups
        ]  # fmt: skip
        said.append(f"Your line, with {_words(side.label)}: 95 of 100 packets wait at most: {', '.join(changes)}.")
    return said


def _words(label: str) -> str:
    """A discipline with its values as a sentence has it: cake at 19 Mbit/s."""
    name, *values = label.split(":")
    pairs = [value.split("=", 1) for value in values]
    rate = [f" at {value}" for key, value in pairs if key == "bandwidth"]
    others = [f"{key} {value}" for key, value in pairs if key != "bandwidth"]
    return name + "".join(rate) + (f" ({', '.join(others)})" if others else "")


@plot.drawing
def figure(sides: Sequence[Side]) -> Figure:
    """Waiting times over time, and how those of each group are distributed."""
    groups = [name for name in sides[0].groups if name != ALL][:MOST_GROUPS] or [ALL]
    drawn = Figure(figsize=(10.4, 5.6), layout="constrained")
    grid = drawn.add_gridspec(2, len(groups))
    over = drawn.add_subplot(grid[0, :])
    spread = [drawn.add_subplot(grid[1, at]) for at in range(len(groups))]
    for side, colour in zip(sides, COLOURS, strict=False):
        edges = np.linspace(0, float(side.seconds.max()), 101)
        places = np.clip(np.digitize(side.seconds, edges) - 1, 0, 99)
        counts = np.bincount(places, minlength=100)
        means = np.divide(np.bincount(places, side.wait_ms, 100), counts, out=np.full(100, np.nan), where=counts > 0)
        over.plot(edges[:-1], np.maximum(means, LEAST_MS), color=colour, linewidth=1.1, label=side.label)
        shares = np.linspace(0, 1, 201)
        for axes, name in zip(spread, groups, strict=True):
            if name in side.waits:
                quantiles = np.maximum(np.quantile(side.waits[name], shares), LEAST_MS)
                axes.plot(quantiles, shares, color=colour, linewidth=1.3)
    over.set(xlabel="time (s)", ylabel="mean wait of all packets (ms)", yscale="log", xlim=(0, None))
    spread[0].set_ylabel("share of packets")
    for axes, name in zip(spread, groups, strict=True):
        axes.set(title=name, xlabel="wait (ms)", xscale="log", ylim=(0, 1))
    plot.legend(drawn, [over], columns=5)
    return drawn


def lines(sides: Sequence[Side]) -> list[str]:
    """How far the sides lie from the capture, in sentences."""
    first = sides[0].groups[ALL]
    return [
        f"{side.label}: throughput {side.groups[ALL].throughput_bps / first.throughput_bps - 1:+.1%}, mean wait "
        f"{side.groups[ALL].wait_ms[0]:.1f} ms instead of {first.wait_ms[0]:.1f}, "
        f"distance of waits {distance(sides[0], side):.2f}"
        for side in sides[1:]
    ]
