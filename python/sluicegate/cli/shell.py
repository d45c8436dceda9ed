"""The command `shell`."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from . import real_packets
from .common import Json, Out, Quiet, Seed, Set, answers, app, parse_sets


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
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="The command to run. [$SHELL]", show_default=False),
    ] = None,
    rate: real_packets.Rate = None,
    delay: Annotated[
        str | None, typer.Option(metavar="TIME", help='One-way propagation delay of both directions: "20 ms". [1 ms]')
    ] = None,
    jitter: real_packets.Jitter = None,
    loss: real_packets.Loss = None,
    queue: real_packets.Queue = None,
    down: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE,...", help="Values for packets to COMMAND only: queue, rate, delay, jitter, "
                     "loss, trace and the other keys of network.reverse. Single packets, by number: drop=5+8-10; "
                     "mark=5; late=7:30 ms delays packet 7; behind=7:3 holds it until three later ones have arrived."),
    ] = None,
    up: Annotated[
        str | None, typer.Option(metavar="KEY=VALUE,...", help="The same for packets from COMMAND.")
    ] = None,
    link: real_packets.Link = None,
    peer: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Run this at the other end instead of the Internet; needs no root."),
    ] = None,
    sets: Set = None,
    seed: Seed = None,
    mtu: Annotated[
        int | None, typer.Option(metavar="BYTES", min=68, max=65_535, help="Longest packet. [1500]")
    ] = None,
    sysctl: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Kernel setting of COMMAND's network, such as net.ipv4.tcp_ecn=1. Repeatable."
        ),
    ] = None,
    flows: real_packets.Rows = None,
    pcap: real_packets.Pcap = None,
    out: Out = None,
    view: Annotated[
        bool | None,
        typer.Option("--view/--no-view", help="Show the link on standard error, below COMMAND's output. [if standard "
                     "error is a terminal and COMMAND's output goes elsewhere]", show_default=False),
    ] = None,
    live_page: real_packets.Live = False,
    busy_poll: real_packets.BusyPoll = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Run COMMAND in a separate network behind an emulated link, and report on the traffic over the link.

    As root, COMMAND reaches the Internet. With --peer it reaches another command instead, which needs no root.
    SLUICEGATE_ADDRESS is COMMAND's own address, SLUICEGATE_PEER that of the other end. The exit code is COMMAND's; the
    report goes to standard error.
    """
    from ..live import access, served
    from ..live import shell as live
    from .run import check_results, write_results

    settings, overrides = real_packets.settings(sysctl), parse_sets(sets)
    check_results(out)
    page = served.Page() if live_page else None
    with nullcontext(()) if page is None else page.kept() as files:
        access.enter(None if peer is None else live.words(peer), keep=files)
    with (
        real_packets.in_words(),
        real_packets.noted(signal.SIGINT),  # the terminal tells COMMAND, too
        real_packets.noted(signal.SIGTERM, signal.SIGHUP) as ended,
        real_packets.shown(view, bool(command), quiet) as drawn,
        real_packets.paged(page) as told,
    ):
        done = live.shell(
            command or None,
            rate=rate, delay=delay, jitter=jitter, loss=loss, queue=queue, link=link, down=down, up=up,
            peer=peer, sets=overrides, seed=seed, mtu=mtu, sysctls=settings, flows=flows,
            pcap=pcap, busy=busy_poll, packets=live_page, progress=real_packets.follower(ended, drawn, told),
        )  # fmt: skip
        real_packets.take_terminal()
        write_results(out, done)
    if as_json and not quiet:
        record = {"groups": done.groups.to_dicts(), "links": done.links.to_dicts(), "summary": done.summary}
        print(json.dumps(record), file=sys.stderr)
    elif not quiet:
        real_packets.print_links(done, [place for place in (pcap, out) if place is not None])
    raise typer.Exit(128 + ended() if ended() else done.summary["live"]["exit_code"])
