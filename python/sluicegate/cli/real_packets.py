"""What the commands for real packets share: options, signals, what is shown while they run, and the report."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..quantities import did_you_mean, fixed, in_base_unit, rate_digits, rate_unit
from .common import Refusal, key_values, print_table

if TYPE_CHECKING:
    from ..live.served import Page
    from ..results import Run

PATIENCE = 3
"""How many signals end the program at once, whatever it is doing."""

GIVEN = ("rate", "delay", "jitter", "loss", "queue", "link", "down", "up", "peer", "seed", "spin")
"""Arguments that messages begin with, each of which is an option of the same name."""

Rate = Annotated[str | None, typer.Option(metavar="RATE", help='Rate of both directions, such as "20 Mbit/s".')]
Jitter = Annotated[
    str | None, typer.Option(metavar="TIME", help="Jitter of both directions: up to this extra delay for each packet.")
]
Loss = Annotated[
    str | None,
    typer.Option(metavar="PROBABILITY", help="Probability that the wire loses a packet, in both directions."),
]
Queue = Annotated[
    str | None, typer.Option(metavar="NAME", help="Discipline of both directions, such as choke:limit=300. [drop_tail]")
]
Link = Annotated[
    str | None, typer.Option(metavar="SCENARIO", help="Use the link of a scenario, such as dsl, lte or a file.")
]
Rows = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="List at most N flows separately in results. [20000]")
]
Pcap = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the links' packets as pcapng, with a note at each drop.")
]
Live = Annotated[bool, typer.Option("--live", help="Show the packets on a local web page; the address is printed.")]
Algorithm = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[GROUP=]NAME",
        help="The kernel's congestion control for all flows, or for a group: reno, cubic, bbr. Repeatable. "
        "[the scenario's]",
        show_default=False,
    ),
]
Sysctl = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="Kernel setting of real hosts, such as net.ipv4.tcp_sack=0. Repeatable."),
]
BusyPoll = Annotated[bool, typer.Option("--busy-poll", help="Never sleep: more exact, but keeps a processor busy.")]


Watcher = Callable[[Any], object] | None
"""What draws or tells each status; None for none."""


def follower(ended: Callable[[], int], *watchers: Watcher) -> Callable[[dict[str, Any]], None]:
    """What is done with each status. It ends the command in order when a signal has come."""

    def follow(status: dict[str, Any]) -> None:
        if ended():
            raise StopIteration
        for watcher in watchers:
            if watcher is not None:
                watcher(status)

    return follow


def settings(given: Sequence[str] | None) -> dict[str, str]:
    """The KEY=VALUE texts of --sysctl. Raises `Refusal`."""
    return dict(key_values(given, "--sysctl", "net.ipv4.tcp_ecn=1"))


def algorithms(given: Sequence[str] | None, groups: Sequence[str]) -> dict[str, str]:
    """The texts of --algorithm: the kernel's algorithm by group, "*" for all others. Raises `Refusal`."""
    found: dict[str, str] = {}
    for text in given or ():
        group, equals, name = (part.strip() for part in text.rpartition("="))
        if not name or (equals and not group):
            raise Refusal(f"--algorithm {text}: must be NAME or GROUP=NAME, such as bbr or bulk=cubic")
        if equals and group not in groups:
            raise Refusal(f"--algorithm {text}: no such group{did_you_mean(group, groups)}")
        found[group if equals else "*"] = name
    return found


@contextmanager
def in_words() -> Iterator[None]:
    """Tell errors of the block about arguments as errors of options."""
    from .._core import ScenarioError

    try:
        yield
    except ScenarioError as error:
        argument, colon, rest = str(error).partition(": ")
        if not colon or argument not in GIVEN:
            raise
        raise Refusal(f"--{argument}{':' * rest.startswith('no such')} {rest}") from None


@contextmanager
def noted(*numbers: signal.Signals) -> Iterator[Callable[[], int]]:
    """Note these signals during the block, and do nothing else: which one came last, 0 for none. The third one ends the
    program."""
    count, last = 0, 0

    def came(number: int, _frame: FrameType | None) -> None:
        nonlocal count, last
        count, last = count + 1, number
        if count >= PATIENCE:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, came) for number in numbers}
    try:
        yield lambda: last
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def shown(wanted: bool | None, has_command: bool, quiet: bool) -> Iterator[Any]:
    """The live view as a function; None for none. `wanted`: what --view says."""
    if wanted is None:
        wanted = has_command and os.isatty(2) and not os.isatty(1)
    if quiet or not wanted:
        yield None
        return
    from ..live.view import view

    with ExitStack() as stack:
        yield stack.enter_context(view())


@contextmanager
def paged(page: Page | None) -> Iterator[Watcher]:
    """Tell a page, if there is one, of each status during the block."""
    if page is None:
        yield None
        return
    with page.fed() as (address, feed):
        print(f"live view: {address}", file=sys.stderr, flush=True)
        yield feed.tell


def take_terminal() -> None:
    """Be in the foreground of the terminal again: a shell that was there leaves it to nobody."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with suppress(OSError):
        if os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp():
            os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, before)


def print_links(done: Run, places: Sequence[Path], stderr: bool = True, told: Sequence[str] = ()) -> None:
    """Print what each direction did, what limits the results unless it is `told` already, and where they are.

    `stderr`: all of it on standard error, not the warnings alone.
    """
    from ..results.run_page import reasons
    from ..traffic.responsiveness import direction

    links = sorted(done.links.to_dicts(), key=lambda link: str(link["link"]))
    carried = {direction(row["name"]): row["throughput_bps"] for row in done.groups.to_dicts()}
    unit, factor = rate_unit(max(carried.values(), default=0.0))
    head = [
        "link",
        "discipline",
        f"throughput\n{unit}",
        "utilisation\n%",
        "delay ms\nmean",
        "\np99",
        "arrivals",
        "dropped",
    ]
    rows = [
        [link["link"], link["discipline"],
         fixed(carried.get(direction(link["link"]), 0.0), 1 / factor, rate_digits(factor)),
         fixed(link["utilisation"], 0.01), fixed(link["queueing_delay_mean_ns"], 1e6),
         fixed(link["queueing_delay_p99_ns"], 1e6), str(link["arrivals_packets"]), str(link["drops_packets"])]
        for link in links
    ]  # fmt: skip
    print_table(head, rows, whole=True, stderr=stderr)
    file = sys.stderr if stderr else sys.stdout
    found = reasons(done.links, done.links["link"].to_list(), "link")
    for row in found.rows:
        print(said(dict(zip(found.head, row, strict=True))), file=file)
    for line in responsiveness_lines(done):
        print(line, file=file)
    for remark in done.remarks():
        if remark not in told:
            print(f"warning: {remark}", file=sys.stderr)
    for place in places:
        print(f"results in {place}", file=file)


def responsiveness_lines(done: Run) -> list[str]:
    """Responsiveness and latency under load, with the scale of its grades, where something loaded the link."""
    from ..traffic.responsiveness import SCALE, of_real_packets

    scenario = done.summary["scenario"]
    waits = {row["link"]: row["queueing_delay_mean_ns"] for row in done.links.to_dicts()}
    seconds = in_base_unit(scenario["run"]["duration"]) / 1e9
    found = of_real_packets(scenario["network"], done.flows.to_dicts(), waits, seconds)
    return [] if found is None else [f"responsiveness: {found.text()}", SCALE]


def said(row: Mapping[str, str]) -> str:
    """Drops by reason, losses and marks of a link in a line."""
    counts = {"marked" if key == "marked" else f"lost {key}" if key == "on the wire" else key: value
              for key, value in row.items() if key not in ("link", "arrivals", "dropped")}  # fmt: skip
    parts = [f"{value} {key}" for key, value in counts.items() if value != "0"]
    return f"{row['link']}: {', '.join(parts) if parts else 'no packet was dropped'}"
