"""The command `sweep`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..quantities import UNKNOWN, plus_minus, spread_text
from ..stats import interval
from .common import MOST_SEEDS, Cluster, File, Jobs, Json, Quiet, Set, answers, app, many_runs, parse_sets, print_table

if TYPE_CHECKING:
    from ..experiments.sweep import Sweep


@app.command(
    short_help="Simulate a scenario over a grid of values; run only what is missing.",
    epilog="""Examples:

\b
sluicegate sweep unresponsive --over flows.1.rate="0.1..10 Mbit/s log 12" -o out/
sluicegate sweep unresponsive --over queue.discipline=red,choke \\
    --over flows.0.count="1..100 log 5 whole" --seeds 10 -o out/
sluicegate sweep unresponsive --over "flows.1.rate=1 Mbit/s,2 Mbit/s + queue.limit=50,100" -o out/
""",
)
@answers
def sweep(
    file: File,
    over: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=VALUES",
            help='Values for a key, as a list such as red,choke or as a range: "0.1..10 Mbit/s log 12" is 12 values in '
            'equal ratios; without log they are evenly spaced; "whole" at the end rounds them to whole numbers. '
            '"A=1,2 + B=3,4" changes two keys together. Repeat the option for more dimensions.',
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="FOLDER",
            help="Keep each run here; write tables, sweep.svg, report.html and summary.json here.",
        ),
    ],
    seeds: Annotated[
        int, typer.Option(min=1, max=MOST_SEEDS, metavar="N", help="Run each point with seeds 1 to N.")
    ] = 5,
    sets: Set = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Simulate a scenario at every point of a grid, with several seeds each. Write tables as Parquet, a figure and a
    page.

    Each run is kept as soon as it ends. Repeat the command to run only what is missing, with more values or seeds if
    you like.
    """
    from ..experiments import grid
    from ..experiments import sweep as sweeps

    with many_runs(quiet, out, jobs, cluster) as progress:
        done = sweeps.sweep(
            file,
            over=grid.parsed(over),
            seeds=seeds,
            out=out,
            sets=parse_sets(sets),
            jobs=jobs,
            cluster=cluster,
            progress=lambda done, total, _point: progress(done, total, f"{done} of {total}"),
        )
    if quiet and not as_json:
        return
    if as_json:
        print(json.dumps({"summary": done.summary, "totals": done.totals.to_dicts()}, ensure_ascii=False))
    else:
        print_sweep(done, out)


MOST_ROWS = 40
"""More points than these are left to the files."""

TOTALS = (("throughput_bps", "throughput kbit/s", 1e-3, 1), ("loss_ratio", "loss %", 100.0, 2))
LINK = (("utilisation", "utilisation %", 100.0, 2), ("queueing_delay_mean_ns", "queue ms mean", 1e-6, 1))


def print_sweep(sweep: Sweep, out: Path | None = None) -> None:
    """Print the means of each point, how much was run, and where the files are."""
    import polars as pl

    runs = sweep.totals.height
    seeds = len(sweep.summary["seeds"])
    lost = pl.col("drops_packets") + pl.col("lost_packets")
    loss = (lost / pl.col("arrivals_packets")).fill_nan(None).alias("loss_ratio")
    table = sweep.totals.with_columns(loss)
    shown = list(TOTALS)
    if sweep.links.height == runs:  # one link
        table = table.with_columns(sweep.links.select(name for name, *_ in LINK))
        shown += LINK
    points = [
        part.to_dicts() for part in (table[at : at + seeds] for at in range(0, min(runs, MOST_ROWS * seeds), seeds))
    ]
    rows = [
        [*values, *(_mean([row[name] for row in point], factor, digits) for name, _, factor, digits in shown)]
        for values, point in zip(sweep.points(), points, strict=False)
    ]
    print_table([*(each["key"] for each in sweep.summary["over"]), *(head for _, head, *_ in shown)], rows, whole=True)
    if (more := runs // seeds - len(rows)) > 0:
        print(f"… and {more} more points")
    of_one_run = any(cell.endswith(UNKNOWN) for row in rows for cell in map(str, row))
    spread = f"{seeds} seeds, {spread_text(seeds, of_one_run)}" if seeds > 1 else "1 seed"
    print(f"{runs} runs, {sweep.kept} of them kept from before; {spread}" if sweep.kept else f"{runs} runs; {spread}")
    if out is not None:
        print(f"results in {out}")


def _mean(values: list[Any], factor: float, digits: int) -> str:
    """The mean of what is there and its half width, in the unit shown."""
    there = [factor * value for value in values if value is not None]
    if not there:
        return "–"
    found = interval(there)
    return plus_minus(found.mean, found.half_width, digits, alone=UNKNOWN if len(values) > 1 else "")
