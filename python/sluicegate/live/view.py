"""What a link of real packets is doing, on a terminal's standard error, for people who watch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..quantities import fixed, rate_text

Status = Mapping[str, Any]

LINES = 16
"""The most lines that the view takes."""

FLOWS = 5
"""How many flows it shows, the heaviest."""


@contextmanager
def view() -> Iterator[Callable[[Status], object]]:
    """A view that is there as long as the block, as a function that takes what `shell` tells its `progress`.

    What is written to the terminal meanwhile, by this program and those that it starts, appears above it, a line at a
    time: on standard output and standard error there is a pipe.
    """
    with _screen() as screen:
        console = Console(file=screen, force_terminal=True)
        with Live(console=console, auto_refresh=False, transient=True) as live, _above(console):
            yield lambda status: live.update(drawn(status), refresh=True)


def drawn(status: Status) -> RenderableType:
    """The view: links, drops by reason, the heaviest flows; at most `LINES` lines."""
    links = status["links"]
    drops = {link["name"]: link["drops"] | {"lost": link["lost"], "marked": link["marked"]} for link in links}
    lines = [
        f"drops {name}: {', '.join(f'{count} {reason}' for reason, count in found.items() if count)}"
        for name, found in drops.items()
        if any(found.values())
    ]
    late = f", {status['late_packets']} packets late" if status["late_packets"] else ""
    lost = f", {status['lost_outside']} lost by devices" if status["lost_outside"] else ""
    title = f"{status['time_s']:.0f} s, {status['active_flows']} active flows{late}{lost}"
    parts: list[RenderableType] = [
        Text(title, no_wrap=True),
        _links(links),
        *(Text(line, no_wrap=True) for line in lines),
    ]
    if status["flows"]:
        parts.append(_flows(status["flows"]))
    return Group(*parts)


def _links(links: Sequence[Status]) -> Table:
    """A row for each link: what it carries, what waits, for how long, and how much was dropped."""
    rows = [
        (link["name"], f"{link['discipline']} at {rate_text(link['rate_bps'])}", rate_text(link["throughput_bps"]),
         str(link["queue_packets"]), fixed(link["queue_bytes"], 1e3), fixed(link["delay_p50_ms"]),
         fixed(link["delay_p99_ms"]), str(sum(link["drops"].values())))
        for link in links
    ]  # fmt: skip
    return _table(("link", "", "throughput", "queued", "kB", "delay p50", "p99 ms", "dropped"), rows)


def _flows(flows: Sequence[Status]) -> Table:
    rows = [
        (flow["name"], str(flow["link"] or ""), rate_text(flow["throughput_bps"]), str(flow["drops"]))
        for flow in flows[:FLOWS]
    ]
    return _table(("heaviest flows", "", "throughput", "dropped"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, name in enumerate(head):
        table.add_column(name, justify="left" if at < 2 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


@contextmanager
def _screen() -> Iterator[TextIO]:
    """Standard error as it is now, whatever takes its place meanwhile."""
    with open(os.dup(2), "w", encoding="utf-8", errors="replace") as screen:
        yield screen


@contextmanager
def _above(console: Console) -> Iterator[None]:
    """Print what is written to the terminal during the block above what is drawn on `console`."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {number: os.dup(number) for number in (1, 2) if os.isatty(number)}
    reader, writer = os.pipe()
    for number in kept:
        os.dup2(writer, number)
    os.close(writer)
    thread = Thread(target=_relay, args=(reader, console), daemon=True)
    thread.start()
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, before in kept.items():
            os.dup2(before, number)
            os.close(before)
        thread.join(1.0)  # a process that was left behind may still hold the pipe


def _relay(reader: int, console: Console) -> None:
    with open(reader, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            console.print(Text.from_ansi(line.rstrip("\n")), soft_wrap=True)
