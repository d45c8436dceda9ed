"""The command `shell`."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..quantities import fixed, in_base_unit, rate_digits, rate_unit
from .common import Json, Quiet, Refusal, Set, answers, app, parse_sets, print_table

if TYPE_CHECKING:
    from ..live.served import Page
    from ..results import Run

PATIENCE = 3
"""How many signals end the program at once, whatever it is doing."""

GIVEN = ("rate", "delay", "jitter", "loss", "queue", "link", "down", "up", "peer", "seed", "spin")
"""Arguments that messages begin with, each of which is an option of the same name."""


@app.command(
    short_help="Run a command behind an emulated link (Linux).",
    context_settings={"allow_interspersed_args": False},
    epilog="""Examples:

\b
sudo sluicegate shell --rate "12 Mbit/s" --delay "20 ms" --queue choke:limit=300 -- curl -O https://example.org/file
sudo sluicegate shell --link dsl --up "queue=fq_codel" -o out/
sluicegate shell --rate "5 Mbit/s" --delay "10 ms" --peer "iperf3 -s" -- sh -c 'iperf3 -c $SLUICEGATE_PEER'
sluicegate shell --rate "5 Mbit/s" --down "loss=0.01,drop=5+8-10,late=12:30 ms" --peer "python3 -m http.server" \\
    -- sh -c 'curl -s http://$SLUICEGATE_PEER:8000/'
""",
)
@answers
def shell(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="What to run. [$SHELL]", show_default=False)
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help='Rate of both directions, such as "12 Mbit/s".')
    ] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="TIME", help='Propagation delay of both, one way: "20 ms". [1 ms]')
    ] = None,
    jitter: Annotated[str | None, typer.Option(metavar="TIME", help="Jitter of both, as network.jitter.")] = None,
    loss: Annotated[str | None, typer.Option(metavar="P", help="Share of packets lost on the wire, of both.")] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Discipline of both, such as choke:limit=300. [drop_tail]")
    ] = None,
    down: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE,...", help="What is different to COMMAND: rate, delay, jitter, loss, trace, "
                     "and the other keys of network.reverse; queue; of packets by number drop=5+8-10, mark=5, "
                     "late=7:30 ms, behind=7:3."),
    ] = None,
    up: Annotated[str | None, typer.Option(metavar="KEY=VALUE,...", help="The same for what COMMAND sends.")] = None,
    link: Annotated[
        str | None, typer.Option(metavar="SCENARIO", help="Take the link of a scenario, such as dsl, lte or a file.")
    ] = None,
    peer: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Run this at the other end, instead of the world; needs no root."),
    ] = None,
    sets: Set = None,
    seed: Annotated[int | None, typer.Option(metavar="N", min=0, help="Seed of every random stream.")] = None,
    mtu: Annotated[int | None, typer.Option(min=68, max=65_535, help="Longest packet in bytes. [1500]")] = None,
    sysctl: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Set in COMMAND's network, such as net.ipv4.tcp_ecn=1. Repeatable."),
    ] = None,
    flows: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tell at most N flows apart in results. [20000]")
    ] = None,
    pcap: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what the link does as pcapng, drops noted.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write tables, figure, report.html and summary.json here.")
    ] = None,
    view: Annotated[
        bool | None,
        typer.Option("--view/--no-view", help="Show the link on standard error, COMMAND's lines above it. [where "
                     "standard error is a terminal and COMMAND's output goes elsewhere]", show_default=False),
    ] = None,
    live_page: Annotated[
        bool, typer.Option("--live", help="Show the packets in a page on this machine; its address is printed.")
    ] = False,
    busy_poll: Annotated[
        bool, typer.Option("--busy-poll", help="Never sleep: more exact, and takes a processor.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Run COMMAND in a network of its own behind an emulated link, and report what crossed the link.

    As root it reaches the world; with --peer another command, without root too. Its address and the other end's are in
    SLUICEGATE_ADDRESS and SLUICEGATE_PEER. The exit code is COMMAND's; the report goes to standard error.
    """
    from ..io import check_writable, staged
    from ..live import access, served
    from ..live import shell as live
    from ..results import file_names
    from .run import DRAWN, write_files

    settings, overrides = pairs(sysctl), parse_sets(sets)
    if out is not None:
        check_writable(out, [*file_names(), *DRAWN])
    page = served.Page() if live_page else None
    with nullcontext(()) if page is None else page.kept() as files:
        access.enter(None if peer is None else live.words(peer), keep=files)
    with (
        in_words(),
        noted(signal.SIGINT),  # the terminal tells COMMAND, too
        noted(signal.SIGTERM, signal.SIGHUP) as ended,
        shown(view, bool(command), quiet) as drawn,
        paged(page) as told,
    ):
        done = live.shell(
            command or None,
            rate=rate,
            delay=delay,
            jitter=jitter,
            loss=loss,
            queue=queue,
            link=link,
            down=down,
            up=up,
            peer=peer,
            sets=overrides,
            seed=seed,
            mtu=mtu,
            sysctls=settings,
            pcap=pcap,
            busy=busy_poll,
            packets=live_page,
            flows=flows,
            progress=follower(ended, drawn, told),
        )
        take_terminal()
        if out is not None:
            with staged(out, done.absent()) as folder:
                write_files(folder, done, None)
    if as_json and not quiet:
        record = {"groups": done.groups.to_dicts(), "links": done.links.to_dicts(), "summary": done.summary}
        print(json.dumps(record), file=sys.stderr)
    elif not quiet:
        print_shell(done, [place for place in (pcap, out) if place is not None])
    raise typer.Exit(128 + ended() if ended() else done.summary["live"]["exit_code"])


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


def pairs(given: Sequence[str] | None) -> dict[str, str]:
    """The KEY=VALUE texts of --sysctl. Raises `Refusal`."""
    found = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise Refusal(f"--sysctl {text}: must be KEY=VALUE, such as net.ipv4.tcp_ecn=1")
        found[key.strip()] = value.strip()
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
        raise Refusal(f"--{argument} {rest}") from None


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


def print_shell(done: Run, places: Sequence[Path], stderr: bool = True, told: Sequence[str] = ()) -> None:
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
