"""The command `new`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..quantities import did_you_mean
from .common import Refusal, answers, app

HINTS = {"down": "100 Mbit/s", "up": "20 Mbit/s"}
"""Of what must be said, an example."""

UNKNOWN = "not measured"
"""The answer to a question that leaves it open."""


@app.command(
    short_help="Write a commented scenario of your own line from a few numbers.",
    epilog="""Examples:

\b
sluicegate new home
sluicegate new home --down "100 Mbit/s" --up "20 Mbit/s" --rtt "20 ms" --rtt-up "270 ms" --access docsis -o home.toml
""",
)
@answers
def new(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="home: an access line and the people who use it.")],
    down: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate of downloads that a speed test shows; for lte its mean.")
    ] = None,
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of uploads that a speed test shows.")] = None,
    rtt: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Round trip to a server nearby, without load. [usual for --access]"),
    ] = None,
    rtt_down: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip during a long download.")] = None,
    rtt_up: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip during a long upload.")] = None,
    access: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Kind of line: dsl, docsis, fibre, lte or satellite. [docsis]"),
    ] = None,
    users: Annotated[int | None, typer.Option(metavar="N", help="People who browse and download. [4]")] = None,
    calls: Annotated[
        int | None, typer.Option(metavar="N", help="Calls at once, with video if the line has room. [2]")
    ] = None,
    games: Annotated[int | None, typer.Option(metavar="N", help="Games at once. [1]")] = None,
    uploads: Annotated[int | None, typer.Option(metavar="N", help="Endless uploads at once. [1]")] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the scenario here. [standard output]")
    ] = None,
) -> None:
    """Write a scenario of a home's line. Comments give the reason of each number.

    Only the two rates are required. A speed test counts data; the file has the line's rate, with headers and framing,
    as `learn` computes it. Without options on a terminal, the command asks for all values.
    """
    from .._core import ScenarioError
    from ..design.access_line import ACCESS
    from ..io import staged_file
    from ..learning.line import from_measurements
    from ..learning.measurements import DOWN, QUEUE_DOWN, QUEUE_UP, RTT, UP
    from .learn import by_hand

    if what != "home":
        raise Refusal(f"{what}: no such kind{did_you_mean(what, ['home'])}")
    given = {DOWN: down, UP: up, RTT: rtt, QUEUE_DOWN: rtt_down, QUEUE_UP: rtt_up}
    trips = {
        RTT: "Round trip to a server nearby (ping)",
        QUEUE_UP: "The same during a long upload",
        QUEUE_DOWN: "The same during a long download",
    }
    counts = {"users": users, "calls": calls, "games": games, "uploads": uploads}
    if out is not None and out.exists():
        raise Refusal(f"{out}: is there already; name another file with -o")
    if out is not None and not out.parent.is_dir():
        raise Refusal(f"{out}: there is no folder {out.parent}; make it, or name another file with -o")
    defaults = {"users": 4, "calls": 2, "games": 1, "uploads": 1}
    if all(value is None for value in (access, *given.values(), *counts.values())) and sys.stdin.isatty():
        kind = typer.prompt(f"What line is it ({', '.join(ACCESS)})", default="docsis", err=True)
        if kind not in ACCESS:
            raise Refusal(f"{kind}: no such access{did_you_mean(kind, ACCESS)}")
        access = kind
        given["down"] = typer.prompt(
            "Rate of the download in a speed test", default=ACCESS[kind].mean or HINTS["down"], err=True
        )
        given["up"] = typer.prompt("Rate of the upload in a speed test", default=HINTS["up"], err=True)
        for key, question in trips.items():
            if key == RTT or given[RTT] is not None:
                answer = typer.prompt(question, default=UNKNOWN, err=True)
                given[key] = None if answer == UNKNOWN else answer
        asked = {
            "users": "People",
            "calls": "Calls at a time",
            "games": "Games at a time",
            "uploads": "Uploads at a time",
        }
        counts |= {name: typer.prompt(asked[name], default=defaults[name], err=True) for name in counts}
        out = out or Path(typer.prompt("File", default="home.toml", err=True))
        if out.exists():
            raise Refusal(f"{out}: is there already; name another file with -o")
    kind = access or "docsis"
    for name in ("down", "up"):
        if given[name] is None and not (name == "down" and kind in ACCESS and ACCESS[kind].mean):
            raise Refusal(f'--{name}: say the rate of the {name}load, such as --{name} "{HINTS[name]}"')
    numbers = {name: defaults[name] if count is None else count for name, count in counts.items()}
    try:
        text = from_measurements(by_hand(given), access=kind, **numbers).text
    except ScenarioError as error:  # which begins with the argument's name
        raise Refusal(f"--{error}" if str(error).startswith(("access", "rtt", *numbers)) else str(error)) from None
    if out is None:
        print(text, end="")
        return
    with staged_file(out) as target:
        Path(target).write_text(text, "utf-8")
    print(f"{out}: written; next: sluicegate run {out}, then sluicegate recommend {out} --deployable linux --wan NAME")
