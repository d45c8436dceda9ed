"""The command `testbed`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from .common import File, Json, Quiet, Refusal, Set, answers, app, nearest, parse_sets

Algorithm = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[GROUP=]NAME",
        help="Congestion control of the kernel for real hosts, of all flows or of a group: reno, cubic, bbr. "
        "Repeatable. [the scenario's]",
        show_default=False,
    ),
]
Sysctl = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="Set on real hosts, such as net.ipv4.tcp_sack=0. Repeatable."),
]


@app.command(
    short_help="Run a scenario between real hosts of this machine (Linux).",
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
    seed: Annotated[int | None, typer.Option(metavar="N", min=0, help="Seed of every random stream.")] = None,
    algorithm: Algorithm = None,
    sysctl: Sysctl = None,
    pcap: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what the links do as pcapng, drops noted.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write tables, figure, report.html and summary.json here.")
    ] = None,
    view: Annotated[
        bool, typer.Option("--view/--no-view", help="Show the links on standard error, instead of a bar.")
    ] = False,
    busy_poll: Annotated[
        bool, typer.Option("--busy-poll", help="Never sleep: more exact, and takes a processor.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scenario between real hosts: the kernel's TCP, datagrams and web users on sockets, in two network
    namespaces, with the scenario's network between them; print what `run` prints.

    It takes the time that the scenario says. It needs no root where users may make namespaces.
    """
    from ..io import check_writable, staged
    from ..live import access
    from ..live import testbed as live
    from ..results import file_names, heavy_flows
    from ..scenario import resolve
    from .run import DRAWN, groups, print_run, write_files
    from .shell import pairs

    overrides, settings = parse_sets(sets), pairs(sysctl)
    names = [flow["name"] for flow in resolve(file, overrides)["flows"]]
    algorithms = parse_algorithms(algorithm, names)
    if out is not None:
        check_writable(out, [*file_names(), *DRAWN])
    access.enter((), "testbed")
    with shown(view, quiet) as progress:
        done = live.testbed(
            file,
            sets=overrides,
            seed=seed,
            algorithms=algorithms,
            sysctls=settings,
            pcap=pcap,
            busy=busy_poll,
            progress=progress,
        )
    if out is not None:
        with staged(out, done.absent()) as folder:
            write_files(folder, done, None)
    if as_json and not quiet:
        record = {"groups": groups(done), "links": done.links.to_dicts(), "summary": done.summary}
        print(json.dumps(record | {"heavy_flows": heavy_flows(done.flows)}))
    elif not quiet:
        print_run(done, None, out)
        if pcap is not None:
            print(f"packets in {pcap}")


def parse_algorithms(given: Sequence[str] | None, groups: Sequence[str]) -> dict[str, str]:
    """The texts of --algorithm: the kernel's algorithm by group, "*" for all others. Raises `Refusal`."""
    found: dict[str, str] = {}
    for text in given or ():
        group, equals, name = (part.strip() for part in text.rpartition("="))
        if not name or (equals and not group):
            raise Refusal(f"--algorithm {text}: must be NAME or GROUP=NAME, such as bbr or bulk=cubic")
        if equals and group not in groups:
            raise Refusal(f"--algorithm {text}: no such group; {nearest(group, list(dict.fromkeys(groups)))}")
        found[group if equals else "*"] = name
    return found


@contextmanager
def shown(view: bool, quiet: bool) -> Iterator[Any]:
    """The progress of a run as `live.testbed` takes it: the view, a bar where there is a terminal, or none."""
    if quiet or not view:
        yield False if quiet else None
        return
    from ..live.view import view as shown_view

    with shown_view() as update:
        yield update
