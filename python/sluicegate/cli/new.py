"""The command `new`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from ..quantities import NUMBER, did_you_mean
from .common import Refusal, answers, app, check_new

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
        str | None,
        typer.Option(metavar="RATE", help="Download rate in a speed test, not in the contract; for lte the mean."),
    ] = None,
    up: Annotated[
        str | None, typer.Option(metavar="RATE", help="Upload rate in a speed test, not in the contract.")
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Round trip to a server nearby, without load. [typical of --access]"),
    ] = None,
    rtt_down: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip during a long download.")] = None,
    rtt_up: Annotated[str | None, typer.Option(metavar="TIME", help="Round trip during a long upload.")] = None,
    access: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Kind of line: vdsl (dsl), adsl, docsis (cable), fibre, lte or satellite. [docsis]"
        ),
    ] = None,
    users: Annotated[int | None, typer.Option(metavar="N", help="People who browse and download. [4]")] = None,
    calls: Annotated[
        int | None, typer.Option(metavar="N", help="Simultaneous calls, with video if the line has room. [2]")
    ] = None,
    games: Annotated[int | None, typer.Option(metavar="N", help="Simultaneous games. [1]")] = None,
    uploads: Annotated[int | None, typer.Option(metavar="N", help="Simultaneous endless uploads. [1]")] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the scenario here. [standard output]")
    ] = None,
) -> None:
    """Write a scenario of a home line. Comments give the reason of each number.

    Only the two rates are required. A speed test counts data only; the file has the rate of the line, which
    also carries headers and framing. Without options on a terminal, the command asks for all values.
    """
    from .._core import ScenarioError
    from ..design.access_line import ACCESS, SAME, kind_of
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
    check_new(out)
    defaults = {"users": 4, "calls": 2, "games": 1, "uploads": 1}
    if all(value is None for value in (access, *given.values(), *counts.values())) and sys.stdin.isatty():
        known = [*ACCESS, *SAME]
        access = typer.prompt(
            f"What line is it ({', '.join(known)})", default="docsis", err=True, value_proc=one_of(known)
        )
        kind = kind_of(access)
        for key in (DOWN, UP):
            usual = ACCESS[kind].mean if key == DOWN else None
            given[key] = typer.prompt(
                f"Rate of the {key}load that a speed test shows, in Mbit/s", default=usual, err=True,
                value_proc=measured_as("network.rate", "Mbit/s"),
            )  # fmt: skip
        for key, question in trips.items():
            if key == RTT or given[RTT] is not None:
                # What was measured has the grants in it; and under load the way without.
                least = f"{ACCESS[kind].grants_ms / 2:g} ms" if ACCESS[kind].grants_ms else ""
                above = (
                    (f"the wait for a grant ({kind})", least)
                    if key == RTT
                    else ("the round trip without load", given[RTT])
                )
                answer = typer.prompt(
                    f"{question}, in ms", default=UNKNOWN, err=True,
                    value_proc=measured_as("network.delay", "ms", *above),
                )  # fmt: skip
                given[key] = None if answer == UNKNOWN else answer
        asked = {
            "users": "People",
            "calls": "Calls at a time",
            "games": "Games at a time",
            "uploads": "Uploads at a time",
        }
        for name in counts:
            fewest = 1 if name == "uploads" and not any(counts.values()) else 0  # something must be sent
            counts[name] = typer.prompt(asked[name], default=defaults[name], err=True, value_proc=count_from(fewest))
        out = out or typer.prompt("File", default="home.toml", err=True, value_proc=new_file)
    kind = access or "docsis"
    known_kind = ACCESS.get(SAME.get(kind, kind))
    mean = None if known_kind is None else known_kind.mean
    for name in ("down", "up"):
        if given[name] is None and not (name == "down" and mean):
            raise Refusal(f'--{name}: say the rate of the {name}load, such as --{name} "{HINTS[name]}"')
    numbers = {name: defaults[name] if count is None else count for name, count in counts.items()}
    try:
        done = from_measurements(by_hand(given), access=kind, **numbers)
    except ScenarioError as error:  # which begins with the argument's name
        raise Refusal(f"--{error}" if str(error).startswith(("access", "rtt", *numbers)) else str(error)) from None
    for remark in done.remarks:
        print(f"warning: {remark}", file=sys.stderr)
    if out is None:
        print(done.text, end="")
        return
    with staged_file(out) as target:
        Path(target).write_text(done.text, "utf-8")
    print(
        f"{out}: written; its rates come from speed tests, which seldom reach the contract's rates\n"
        + "the line is assumed to be a cable line, docsis; choose another kind with --access\n" * (access is None)
        + f"next: sluicegate run {out}; sluicegate recommend {out} --deployable openwrt --wan NAME\n"
        "NAME: the router's interface to the internet; `ip route get 9.9.9.9` on the router prints it after dev. "
        "Without OpenWrt: --deployable linux"
    )


def one_of(known: Iterable[str]) -> Callable[[str], str]:
    """What checks an answer that must be one of these."""

    def checked(answer: str) -> str:
        if answer not in known:
            raise typer.BadParameter(f"{answer}: no such access{did_you_mean(answer, known)}")
        return answer

    return checked


def count_from(least: int) -> Callable[[str], int]:
    """What checks an answer that is how many there are, at least this."""
    from ..design.access_line import MOST_COUNT

    def checked(answer: str) -> int:
        text = str(answer).strip()
        if not text.isdecimal() or not least <= int(text) <= MOST_COUNT:
            raise typer.BadParameter(f"{answer}: must be a number of at least {least} and at most {MOST_COUNT}")
        return int(text)

    return checked


def measured_as(key: str, unit: str, above: str = "", least: str | None = None) -> Callable[[str], str]:
    """What checks an answer that is a quantity as `key` of a scenario; a number alone is in this unit. It must be
    `above` something, which is this `least` quantity, if any."""
    from .._core import ScenarioError
    from ..quantities import quantity

    def checked(answer: str) -> str:
        if answer == UNKNOWN:
            return answer
        text = f"{answer} {unit}" if re.fullmatch(NUMBER, answer.strip()) else answer
        try:
            low = quantity(above, least, key) if least else 0
            if quantity(answer, text, key) <= low:
                raise typer.BadParameter(f"{answer}: must be above {above}, {least}")
        except ScenarioError as error:
            raise typer.BadParameter(str(error)) from None
        return text

    return checked


def new_file(answer: str) -> Path:
    """Check that an answer is a file that is not there yet."""
    try:
        check_new(Path(answer))
    except Refusal as error:
        raise typer.BadParameter(str(error).partition("; name")[0]) from None
    return Path(answer)
