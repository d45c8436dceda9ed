"""The command `compare`.

Each number it prints has the half width of its 95 % interval below it, or a dash when one seed leaves that unknown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import MOST_SEEDS, Cluster, File, Jobs, Json, Quiet, Set, answers, app, many_runs, parse_sets

if TYPE_CHECKING:
    from rich.table import Table

    from ..experiments.compare import Comparison


@app.command(short_help="Run a scenario under several disciplines; print means, intervals and differences.")
@answers
def compare(
    file: File,
    disciplines: Annotated[
        str,
        typer.Option(metavar="LIST", help="Separated by commas, each with values of its own: red,choke:candidates=2."),
    ],
    seeds: Annotated[int, typer.Option(min=1, max=MOST_SEEDS, metavar="N", help="Run each with seeds 1 to N.")] = 10,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="Take differences against this one (default: the first).")
    ] = None,
    sets: Set = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Keep each run here, and write tables, summary.json and figures here."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scenario under several disciplines, paired by seed; print means, their intervals, and differences.

    With -o a run is kept as soon as it ends. The same command again runs what is missing; more seeds or another
    discipline add to it.
    """
    from ..experiments import compare as comparison

    with many_runs(quiet, out, jobs, cluster) as progress:
        done = comparison.compare(
            file,
            disciplines=disciplines,
            seeds=seeds,
            baseline=baseline,
            sets=parse_sets(sets),
            jobs=jobs,
            cluster=cluster,
            out=out,
            progress=progress,
        )
    if quiet:
        return
    if as_json:
        print(json.dumps(done.record(), ensure_ascii=False))
    else:
        print_comparison(done, out)


WIDTH = 100
"""How wide tables may be where there is no terminal to ask."""

KINDS_BESIDE = 2
"""How many kinds of flow fit beside what a link has to say."""


@dataclass(frozen=True)
class Column:
    """A quantity as a column: its `metric`, the two lines of its `head`, a factor to the unit shown, and decimals."""

    metric: str
    head: str
    factor: float = 1.0
    decimals: int = 1


def print_comparison(comparison: Comparison, out: Path | None = None) -> None:
    """Print the tables of `comparison`, and where its files are."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = max(WIDTH, console.width)
    seeds = len(comparison.summary["seeds"])
    spread = f"{seeds} seeds, mean ± half width of its 95 % interval"
    console.print(spread if seeds > 1 else "1 seed, which leaves intervals unknown", soft_wrap=True)

    def section(title: str, table: Table) -> None:
        if title:
            console.print(title, style="bold", soft_wrap=True)
        console.print(table)

    for title, columns in [*sections(comparison), *loss_sections(comparison)]:
        section(title, means_table(comparison, columns))
    if len(comparison.disciplines) > 1:
        console.print(f"difference to {comparison.baseline}, paired by seed", style="bold", soft_wrap=True)
        for title, columns in sections(comparison):
            section(title, differences_table(comparison, columns))
        if seeds > 1:
            console.print("* the interval excludes zero", soft_wrap=True)
    for line in missing(comparison):
        console.print(line, soft_wrap=True)
    if out is not None:
        console.print(f"results in {out}", soft_wrap=True)


def sections(comparison: Comparison) -> list[tuple[str, list[Column]]]:
    """The tables of quantities, each with a title: one when all fits in it, else one of flows and one for each link."""
    unit, factor = comparison.rate_unit
    flows = [Column(f"{k}_throughput_bps", f"{k.replace('_', ' ')}\n{unit}", factor) for k in comparison.kinds]
    flows += [Column("jain_tcp", "Jain\nTCP", 1.0, 3), Column("jain_all", "Jain\nall", 1.0, 3)]
    links = [
        (f"link {link}", [
            Column(f"{before}loss_ratio", "loss\n%", 100.0, 2),
            Column(f"{before}queueing_delay_mean_ns", "delay ms\nmean", 1e-6),
            Column(f"{before}queueing_delay_p99_ns", "delay ms\np99", 1e-6),
            Column(f"{before}utilisation", "util.\n%", 100.0, 2),
        ])
        for link in comparison.links
        for before in [comparison.before(link)]
    ]  # fmt: skip
    if len(links) == 1 and len(comparison.kinds) <= KINDS_BESIDE:
        return [("", flows + links[0][1])]
    return [("flows", flows), *links]


def loss_sections(comparison: Comparison) -> list[tuple[str, list[Column]]]:
    """The tables of drops by reason and of marks, one for each link; none without marks and with one reason or none."""
    shown = [(f"drops_{reason}_ratio", reason) for reason in comparison.drop_reasons]
    if comparison.marks:
        shown.append(("marked_ratio", "marked"))
    elif len(shown) < 2:
        return []
    title = "drops by reason, and marks, % of arrivals" if comparison.marks else "drops by reason, % of arrivals"
    return [
        (
            title + (f" at link {link}" if before else ""),
            [Column(f"{before}{metric}", f"{head}\n%", 100.0, 2) for metric, head in shown],
        )
        for link in comparison.links
        for before in [comparison.before(link)]
    ]


def means_table(comparison: Comparison, columns: Sequence[Column]) -> Table:
    """One row for each discipline."""
    rows = [
        (label, [cell(comparison.mean(label, column.metric), "mean", column) for column in columns])
        for label in comparison.disciplines
    ]
    return _table(columns, rows, starred=False)


def differences_table(comparison: Comparison, columns: Sequence[Column]) -> Table:
    """One row for each discipline but the baseline; a star where the interval excludes zero."""
    rows = [
        (label, [cell(comparison.difference(label, column.metric), "difference", column) for column in columns])
        for label in comparison.disciplines
        if label != comparison.baseline
    ]
    return _table(columns, rows, starred=True)


def cell(row: dict[str, Any], value: str, column: Column) -> str:
    """A number over its half width; differences have a sign, and a star when their interval excludes zero."""
    if row[value] is None:
        return "–"
    signed = value == "difference"
    number = f"{column.factor * row[value]:{'+' if signed else ''}.{column.decimals}f}"
    half = row["half_width"]
    below = "–" if half is None else f"±{column.factor * half:.{column.decimals}f}"
    # The star hangs in a place of its own, so that digits stand below digits.
    star = ("*" if row["excludes_zero"] else " ") if signed else ""
    return f"{number}{star}\n{below}{' ' if signed else ''}"


def missing(comparison: Comparison) -> list[str]:
    """A line for each quantity shown that has no value in some of a discipline's runs but has in others."""
    count = len(comparison.summary["seeds"])
    return [
        f"{label}: {column.metric} has a value in {seeds} of {count} runs only"
        for label in comparison.disciplines
        for _, columns in sections(comparison)
        for column in columns
        if 0 < (seeds := comparison.mean(label, column.metric)["seeds"]) < count
    ]


def _table(columns: Sequence[Column], rows: Sequence[tuple[str, list[str]]], starred: bool) -> Table:
    """`starred`: cells end in a star or a space, which is gap enough with the next."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from ..plot.comparison import wrapped

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=starred)
    table.add_column("discipline", overflow="fold")
    for column in columns:
        table.add_column(Text(column.head), justify="right", no_wrap=True)
    for label, cells in rows:
        table.add_row(Text(wrapped(label, 20)), *map(Text, cells))
    return table
