"""The command `live`."""

from __future__ import annotations

import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from .common import Quiet, Refusal, Set, answers, app, parse_sets


@app.command(
    short_help="Show a congested link packet by packet in a browser.",
    epilog="""Examples:

\b
sluicegate live
sluicegate live my-link.toml --set queue.discipline=codel
sluicegate live dsl --port 8000 --no-open
sluicegate live cable --save cable.html
""",
)
@answers
def live(
    scenario: Annotated[
        str, typer.Argument(help="Scenario file, or a bundled scenario's name.", metavar="SCENARIO")
    ] = "unresponsive",
    sets: Set = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Seed of every random stream. [the scenario's]")
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65_535, help="Listen on this port of 127.0.0.1; 0: any free port.")
    ] = 0,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page with this scenario as one HTML file instead of serving it."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Serve a page that simulates the scenario and shows its packets, until Ctrl-C.

    The simulator runs in the page. The server listens on 127.0.0.1 only; nothing leaves this machine.
    """
    from ..io import staged_file
    from ..live.served import Served, fragment, listen, page, saved
    from ..scenario import check, read_scenario

    given = parse_sets(sets)
    discipline = check(scenario, sets=given, seed=seed)["queue"]["discipline"]
    if ":" in discipline:
        raise Refusal(
            f'queue.discipline = "{discipline}": is written in Python; the page runs only built-in disciplines'
        )
    text, _ = read_scenario(scenario)
    html = page()
    if save is not None:
        with staged_file(save) as path:
            path.write_bytes(saved(html, fragment(text, dict(given), seed)))
        if not quiet:
            print(f"{save}: written; open it in a browser", file=sys.stderr)
        return
    try:
        listening, token = listen(port)
    except OSError as error:
        raise Refusal(f"--port {port}: {error.strerror}; 0 takes a free one") from None
    served = Served(listening, token, html, None)
    address = f"{served.address}#{fragment(text, dict(given), seed)}"
    if not quiet:
        print(
            f"The page is at {served.address} until Ctrl-C; with the scenario:\n{address}", file=sys.stderr, flush=True
        )
    if open_page:
        webbrowser.open(address)
    try:
        threading.Event().wait()
    finally:
        served.close()
