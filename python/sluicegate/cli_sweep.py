"""The command `sweep`; `cli` adds it to the others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from .cli import MOST_SEEDS, File, Json, Quiet, Refusal, Set, answers, app, in_options, parse_sets, progress_bar


@app.command(
    short_help="Run a scenario over a grid of values; only what is missing is run.",
    epilog="""Examples:

\b
sluicegate sweep unresponsive --over flows.1.rate="0.1..10 Mbit/s log 12" -o out/
sluicegate sweep unresponsive --over queue.discipline=red,choke \\
    --over flows.0.count="1..100 log 5 whole" --seeds 10 -o out/
""",
)
@answers
def sweep(
    file: File,
    over: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUES", help='A list, red,choke, or a range, "0.1..10 Mbit/s log 12". Repeatable.'),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Keep each run here, and write the tables here.")],
    seeds: Annotated[
        int, typer.Option(min=1, max=MOST_SEEDS, metavar="N", help="Run each point with seeds 1 to N.")
    ] = 5,
    sets: Set = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many runs at once (default: one per core).")] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster: its scheduler, tcp://HOST:8786.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scenario at every point of a grid, each for every seed, and write flows, links and totals as Parquet.

    A run is kept as soon as it ends. The same command again runs what is missing; more values or seeds add to it.
    """
    from . import sweep_cluster, sweep_grid, sweeps, sweeps_text

    if cluster is not None and jobs is not None:
        raise Refusal("--jobs: a cluster's workers say how many; leave it out with --cluster")
    ended, missing = 0, 0
    with progress_bar(quiet) as bar:

        def progress(done: int, total: int, point: str) -> None:
            nonlocal ended, missing
            ended, missing = done, total
            if bar is not None:
                bar(done, total, f"{done} of {total}")

        try:
            done = sweeps.sweep(
                file,
                over=sweep_grid.parsed(over),
                seeds=seeds,
                out=out,
                sets=parse_sets(sets),
                jobs=jobs,
                cluster=cluster,
                progress=progress,
            )
        except BaseException as error:
            if isinstance(error, sweep_cluster.ClusterError):
                print(f"error: {in_options(str(error))}", file=sys.stderr)
            if ended and not quiet:
                print(
                    f"{ended} of {missing} runs ended and are kept in {out}; the same command runs the rest",
                    file=sys.stderr,
                )
            if isinstance(error, sweep_cluster.ClusterError):
                raise typer.Exit(1) from None
            raise
    if quiet:
        return
    if as_json:
        print(json.dumps({"summary": done.summary, "totals": done.totals.to_dicts()}, ensure_ascii=False))
    else:
        sweeps_text.show(done, out)
