"""The command `tc`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .common import File, Json, Refusal, Set, answers, app, parse_sets


@app.command(
    short_help="Print the commands that deploy a scenario's discipline, on Linux or FreeBSD.",
    epilog="""Examples:

\b
sluicegate tc unresponsive --set queue.discipline=fq_codel --dev eth0
sluicegate tc topology --link second --dev eth0
sluicegate tc unresponsive --set queue.discipline=pie --freebsd --dev em0
""",
)
@answers
def tc(
    file: File,
    dev: Annotated[str, typer.Option(metavar="NAME", help="The interface.")] = "DEV",
    sets: Set = None,
    link: Annotated[
        str | None, typer.Option(metavar="NAME", help="The link, where [queue] manages several. [bottleneck]")
    ] = None,
    freebsd: Annotated[bool, typer.Option("--freebsd", help="Lines for dummynet: dnctl and ipfw.")] = False,
    as_json: Json = False,
) -> None:
    """Print the commands that deploy a scenario's queue discipline, with what will differ there.

    Remarks are comments, so that all of it is input for sh. A discipline without a counterpart is refused, exit code 2.
    """
    from .. import scenario
    from ..deploy import Undeployable, dummynet, linux
    from ..deploy.target import find_link, interface

    try:
        interface(dev)
    except Undeployable as error:
        raise Refusal(f"--dev: {error}") from None
    resolved = scenario.check(file, sets=parse_sets(sets))
    try:
        done = (dummynet if freebsd else linux).lines(resolved, dev, link)
        place = find_link(resolved, link)
    except Undeployable as error:
        raise Refusal(f"{file}: {error}") from None
    if as_json:
        record = {
            "system": "freebsd" if freebsd else "linux",
            "discipline": resolved["queue"]["discipline"],
            "dev": dev,
            "link": place.name,
            "rate_bps": place.rate,
            "lines": done.lines,
            "remarks": done.remarks,
        }
        print(json.dumps(record, ensure_ascii=False))
    else:
        print(done.text(), end="")
