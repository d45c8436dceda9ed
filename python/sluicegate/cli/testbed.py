"""The command `testbed`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from . import real_packets
from .common import File, Json, Out, Quiet, Seed, Set, answers, app, parse_sets


@app.command(
    short_help="Run a scenario between real hosts on this machine (Linux).",
    epilog="""Examples:

\b
sudo sluicegate testbed unresponsive --set "run.duration=20 s" --set "run.warmup=5 s" --algorithm bbr
sluicegate testbed FILE --algorithm bulk=cubic --algorithm chat=bbr --sysctl net.ipv4.tcp_sack=0 -o out/
""",
)
@answers
def testbed(
    file: File,
    sets: Set = None,
    seed: Seed = None,
    algorithm: real_packets.Algorithm = None,
    sysctl: real_packets.Sysctl = None,
    pcap: real_packets.Pcap = None,
    out: Out = None,
    view: Annotated[
        bool, typer.Option("--view/--no-view", help="Show the links on standard error instead of a progress bar.")
    ] = False,
    busy_poll: real_packets.BusyPoll = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scenario in real time between real hosts: the kernel's TCP, datagrams and web users on sockets. The hosts
    are in two network namespaces, with the scenario's network between them. It prints the same tables as `run`.

    It takes as long as the scenario's duration. It needs no root if users may create namespaces.
    """
    from ..live import access
    from ..live import testbed as live
    from ..results import heavy_flows
    from ..scenario import resolve
    from .run import check_results, groups, print_run, write_results

    overrides, settings = parse_sets(sets), real_packets.settings(sysctl)
    names = [flow["name"] for flow in resolve(file, overrides)["flows"]]
    algorithms = real_packets.algorithms(algorithm, names)
    check_results(out)
    access.enter((), "testbed")
    with real_packets.shown(view, True, quiet) as drawn:
        done = live.testbed(
            file, sets=overrides, seed=seed, algorithms=algorithms, sysctls=settings,
            pcap=pcap, busy=busy_poll, progress=drawn or (False if quiet else None),
        )  # fmt: skip
    write_results(out, done)
    if as_json and not quiet:
        record = {"groups": groups(done), "links": done.links.to_dicts(), "summary": done.summary}
        print(json.dumps(record | {"heavy_flows": heavy_flows(done.flows)}))
    elif not quiet:
        print_run(done, None, out)
        if pcap is not None:
            print(f"packets in {pcap}")
