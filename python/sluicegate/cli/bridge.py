"""The command `bridge`."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..quantities import rate_text
from . import real_packets
from .common import Json, Out, Quiet, Seed, Set, answers, app, parse_sets

if TYPE_CHECKING:
    from ..live.service import Counters

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What ends a bridge in order."""


def show_unit(wanted: bool) -> None:
    if wanted:
        from ..live.service import unit

        print(unit(), end="")
        raise typer.Exit


@app.command(
    short_help="Put a discipline between two real interfaces (Linux).",
    epilog="""Examples:

\b
sudo sluicegate bridge eth1 eth2 --rate "20 Mbit/s" --queue dcn
sudo sluicegate bridge eth1 eth2 --down "rate=50 Mbit/s,queue=choke" --up "rate=10 Mbit/s,queue=fq_codel" -o out/
sluicegate bridge --unit | sudo tee /etc/systemd/system/sluicegate-bridge@.service
""",
)
@answers
def bridge(
    upstream: Annotated[str, typer.Argument(metavar="IN", help="Interface towards the network, such as eth1.")],
    downstream: Annotated[str, typer.Argument(metavar="OUT", help="Interface towards the hosts, such as eth2.")],
    rate: real_packets.Rate = None,
    delay: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='Delay to add in both directions: "20 ms". [none, or that of --link]'),
    ] = None,
    jitter: real_packets.Jitter = None,
    loss: real_packets.Loss = None,
    queue: real_packets.Queue = None,
    down: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE,...", help="Values for frames from IN to OUT only: queue, rate, delay, jitter, "
                     "loss, trace and the other keys of network.reverse."),
    ] = None,
    up: Annotated[
        str | None, typer.Option(metavar="KEY=VALUE,...", help="The same for frames from OUT to IN.")
    ] = None,
    link: real_packets.Link = None,
    sets: Set = None,
    seed: Seed = None,
    flows: real_packets.Rows = None,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help='End after this time, such as "60 s". [at Ctrl-C or SIGTERM]')
    ] = None,
    counters: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the newest counters here as JSON, every second; removed at the end."),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve metrics for Prometheus (OpenMetrics) at /metrics.")
    ] = None,
    pcap: real_packets.Pcap = None,
    out: Out = None,
    view: Annotated[
        bool | None,
        typer.Option("--view/--no-view", help="Show the links on standard error. [if it is a terminal]",
                     show_default=False),
    ] = None,
    live_page: real_packets.Live = False,
    busy_poll: real_packets.BusyPoll = False,
    unit: Annotated[
        bool, typer.Option("--unit", callback=show_unit, is_eager=True, help="Print a unit for systemd and exit.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Forward Ethernet frames between two interfaces, over an emulated link with a queue discipline in each direction.

    It ends at Ctrl-C, SIGTERM or --duration (exit code 0), or when an interface disappears (exit code 1). It needs
    root, or CAP_NET_RAW and CAP_NET_ADMIN. Both interfaces must be up, without IP address, and in no other bridge.
    """
    from ..live import access, served, service
    from ..live import bridge as live
    from ..live import metrics as openmetrics
    from .run import check_results, write_results

    overrides = parse_sets(sets)
    check_results(out)
    access.require_interfaces()
    page = served.Page() if live_page else None
    watch = os.isatty(2) if view is None else view
    with (
        real_packets.in_words(),
        real_packets.noted(*SIGNALS) as ended,
        service.counters(counters, (upstream, downstream)) as file,
        real_packets.shown(watch, True, quiet) as drawn,
        real_packets.paged(page) as told,
        openmetrics.serve(metrics) as measured,
    ):
        done = live.bridge(
            upstream, downstream,
            rate=rate, delay=delay, jitter=jitter, loss=loss, queue=queue, link=link, down=down, up=up,
            sets=overrides, seed=seed, flows=flows, duration=duration, pcap=pcap, busy=busy_poll,
            packets=live_page, progress=following(ended, file, (drawn, told, measured), quiet or watch),
        )  # fmt: skip
        service.notify("STOPPING=1")
        write_results(out, done)
    if as_json and not quiet:
        print(json.dumps({"groups": done.groups.to_dicts(), "links": done.links.to_dicts(), "summary": done.summary}))
    elif not quiet:
        places = [place for place in (pcap, out) if place is not None]
        real_packets.print_links(done, places, stderr=False, told=done.summary["live"]["warnings"])
    if fault := done.summary["live"]["fault"]:
        print(f"error: {fault}", file=sys.stderr)
        raise typer.Exit(1)


def following(
    ended: Callable[[], int], file: Counters | None, watchers: Sequence[real_packets.Watcher], silent: bool
) -> Callable[[dict[str, Any]], None]:
    """What is done with each status: the first one says that the bridge is ready."""
    ready = False
    rest = real_packets.follower(ended, *watchers)

    def follow(status: dict[str, Any]) -> None:
        nonlocal ready
        if not ready:
            ready = True
            announce(status, silent)
        if file is not None:
            file.update(status)
        rest(status)

    return follow


def announce(status: dict[str, Any], silent: bool) -> None:
    """Tell the service manager and, unless `silent`, the user that the bridge is ready."""
    from ..live.service import notify

    links = ", ".join(
        f"{each['name']} {each['discipline']} at {rate_text(each['rate_bps'])}" for each in status["links"]
    )
    notify(f"READY=1\nSTATUS={links}")
    if not silent:
        print(f"ready: {links}", file=sys.stderr, flush=True)
