"""The command `reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .common import MOST_SEEDS, Cluster, Jobs, Quiet, Refusal, answers, app, many_runs, nearest


@app.command(short_help="Reproduce a paper: a report with every figure.")
@answers
def reproduce(
    name: Annotated[str, typer.Argument(help="The paper, such as choke1999; or all.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Keep each run, and write the report here. [out/NAME]")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Longer runs, more seeds.")] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=MOST_SEEDS, help="How many seeds (default: the report's own).")
    ] = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    quiet: Quiet = False,
) -> None:
    """Reproduce a paper's experiments: paper and measurement side by side. Exit code 1 when a check fails.

    `all` reproduces every paper, each in a folder of its own, and writes a page that leads to them.
    A run is kept as soon as it ends. The same command again runs what is missing.
    """
    from .. import papers
    from ..papers import overview

    if name not in papers.PAPERS and name != "all":
        raise Refusal(f"{name}: no such paper; {nearest(name, [*papers.PAPERS, 'all'])}")
    out = out or Path("out", name)
    with many_runs(quiet, out, jobs, cluster, weighted=True) as progress:
        if name == "all":
            done = overview.reproduce_all(out, full, seeds, jobs, progress, cluster=cluster)
        else:
            done = papers.reproduce(name, out, full, seeds, jobs, progress, cluster=cluster)
    if not quiet:
        print(out / "report.html")
    if not done:
        place = out / ("report.html" if name == "all" else "checks.json")
        print(f"error: a check failed; see {place}", file=sys.stderr)
        raise typer.Exit(1)
