"""The command `reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .common import MOST_SEEDS, Quiet, Refusal, answers, app, nearest, progress_bar


@app.command(short_help="Reproduce a paper: a report with every figure.")
@answers
def reproduce(
    name: Annotated[str, typer.Argument(help="The paper, such as choke1999; or all.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write report.html, figures and checks here (default: out/NAME).")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Longer runs, more seeds.")] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=MOST_SEEDS, help="How many seeds (default: the report's own).")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many runs at once (default: one per core).")] = None,
    quiet: Quiet = False,
) -> None:
    """Reproduce a paper's experiments: paper and measurement side by side. Exit code 1 when a check fails.

    `all` reproduces every paper, each in a folder of its own, and writes a page that leads to them.
    """
    from .. import papers
    from ..papers import overview

    if name not in papers.PAPERS and name != "all":
        raise Refusal(f"{name}: no such paper; {nearest(name, [*papers.PAPERS, 'all'])}")
    out = out or Path("out", name)
    with progress_bar(quiet) as bar:
        if name == "all":
            done = overview.reproduce_all(out, full=full, seeds=seeds, jobs=jobs, progress=bar)
        else:
            done = papers.reproduce(name, out, full=full, seeds=seeds, jobs=jobs, progress=bar)
    if not quiet:
        print(out / "report.html")
    if not done:
        place = out / ("report.html" if name == "all" else "checks.json")
        print(f"error: a check failed; see {place}", file=sys.stderr)
        raise typer.Exit(1)
