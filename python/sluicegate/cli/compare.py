"""The command `compare`.

Below each number stands the half width of its 95 % interval, or a dash when there is one seed only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..quantities import UNKNOWN, did_you_mean, plus_minus, spread_text, wrapped
from . import real_packets
from .common import (
    MOST_SEEDS,
    Cluster,
    File,
    Jobs,
    Json,
    Quiet,
    Refusal,
    Set,
    answers,
    app,
    many_runs,
    parse_sets,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..experiments.compare import Comparison
    from ..goals.measures import Metric


@app.command(short_help="Simulate a scenario under several disciplines; name the best for each group of flows.")
@answers
def compare(
    file: File,
    disciplines: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Disciplines separated by commas, parameters after a colon: red,choke:candidates=2.",
        ),
    ],
    seeds: Annotated[
        int, typer.Option(min=1, max=MOST_SEEDS, metavar="N", help="Run each discipline with seeds 1 to N.")
    ] = 10,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="Take differences to this discipline. [the first]")
    ] = None,
    sets: Set = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FOLDER", help="Keep each run here; write tables, summary.json and figures here."
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="NAME", help="Show only this group of flows. Repeatable.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="Show only this metric, such as p99 or loss. Repeatable."),
    ] = None,
    with_differences: Annotated[
        bool, typer.Option("--differences", help="Also show differences to the baseline, with their intervals.")
    ] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Also run each discipline between real hosts on this machine, in real time (Linux)."
        ),
    ] = False,
    algorithm: real_packets.Algorithm = None,
    sysctl: real_packets.Sysctl = None,
) -> None:
    """Simulate a scenario under several disciplines with the same seeds. For each group of flows it prints means with
    95 % intervals and the best disciplines; then the totals of all flows and of each link.

    --live also runs each discipline between real hosts, one after another, as `testbed` does. The tables then show
    simulation and real hosts side by side.

    -o keeps each run as soon as it ends. Repeat the command to run only what is missing, with more seeds or another
    discipline if you like.
    """
    from .. import scenario
    from ..experiments import compare as comparison

    names = [flow["name"] for flow in scenario.resolve(file, parse_sets(sets))["flows"]]
    wanted = asked(group, metric, names)
    algorithms, settings = real_options(live, algorithm, sysctl, names)
    with many_runs(quiet, out, jobs, cluster) as progress:
        done = comparison.compare(
            file,
            disciplines=disciplines,
            seeds=seeds,
            baseline=baseline,
            sets=parse_sets(sets),
            live=live,
            algorithms=algorithms,
            sysctls=settings,
            jobs=jobs,
            cluster=cluster,
            out=out,
            progress=progress,
        )
    if quiet and not as_json:
        return
    if as_json:
        print(json.dumps(done.record(), ensure_ascii=False))
    else:
        print_comparison(done, out, wanted, with_differences)


WIDTH = 100
"""How wide tables may be where there is no terminal to ask."""


@dataclass(frozen=True)
class Wanted:
    """Which groups, quantities of groups and quantities of links are shown; all that is usual where nobody asks."""

    groups: Sequence[str]
    of_groups: Sequence[str]
    of_links: Sequence[str]
    of_all: Sequence[str]
    usual: bool
    by_name: Sequence[str]
    """The quantities of groups that --metric asks for: where no group has one, that is said."""


@dataclass(frozen=True)
class Column:
    """A quantity as a column: the name of the table's column, the two lines of its head, a factor to the unit shown,
    decimals, and the `Metric` by which the best are found, if any is."""

    metric: str
    head: str
    factor: float = 1.0
    decimals: int = 1
    of: Metric | None = None


def asked(groups: list[str] | None, metrics: list[str] | None, known: Sequence[str]) -> Wanted:
    """What --group and --metric ask for, of a scenario with the groups `known`. Raises `Refusal`."""
    from ..goals.measures import GROUP, LINK, TOTAL, USUAL

    known, groups, metrics = (list(dict.fromkeys(names or [])) for names in (known, groups, metrics))
    for name in groups:
        if name not in known:
            raise Refusal(f"--group {name}: no such group{did_you_mean(name, known)}")
    for word in metrics:
        if word not in (every := {**GROUP, **LINK, **TOTAL}):
            raise Refusal(f"--metric {word}: no such quantity{did_you_mean(word, every)}")
    usual = not groups and not metrics
    return Wanted(
        groups or known,
        [word for word in metrics or USUAL if word in GROUP],
        [word for word in metrics or LINK if word in LINK] if not groups or metrics else [],
        [word for word in TOTAL if usual or (word in metrics and word not in GROUP)],
        usual,
        [word for word in metrics if word in GROUP],
    )


def print_comparison(comparison: Comparison, out: Path | None, wanted: Wanted, with_differences: bool) -> None:
    """Print the tables of `comparison`, and where its files are."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = max(WIDTH, console.width)
    seeds = len(comparison.summary["seeds"])
    spread = spread_text(seeds)
    console.print(f"{seeds} seeds, {spread}" if seeds > 1 else f"1 seed: {spread}", soft_wrap=True)
    several = any(len(kind) > 1 for kind in comparison.kinds)
    if several and not comparison.twins:
        told = "no different from the best" if seeds > 1 else "equal to the best"
        console.print(f"● best, or {told}", soft_wrap=True)
    groups, totals = group_sections(comparison, wanted), total_sections(comparison, wanted)
    if comparison.twins:
        print_sides(console, comparison, groups, totals)
    losses = loss_sections(comparison) if wanted.usual else []
    for title, columns in [] if comparison.twins else [*groups, *totals, *losses]:
        console.print(title, style="bold", soft_wrap=True)
        console.print(means_table(comparison, columns, marked=several))
        if several and (title, columns) in groups:
            for line in verdict(comparison, columns):
                console.print(line, soft_wrap=True)
            console.print()
    if several and with_differences:
        for title, columns in [*groups, *totals]:
            kind = ", real hosts against real hosts" if comparison.twins else ""
            console.print(
                f"{title}: difference to {comparison.baseline}, paired by seed{kind}", style="bold", soft_wrap=True
            )
            console.print(differences_table(comparison, columns))
        if seeds > 1:
            console.print("* the interval excludes zero", soft_wrap=True)
    for line in missing(comparison, [column for _, columns in [*groups, *totals] for column in columns]):
        console.print(line, soft_wrap=True)
    valued = {column.of.word for _, columns in groups for column in columns if column.of is not None}
    for word in wanted.by_name:
        if word not in valued:
            console.print(f"{word}: has no value in {' or '.join(wanted.groups)}", soft_wrap=True)
    for line in responsiveness_lines(comparison, comparison.disciplines):
        console.print(line, soft_wrap=True)
    if out is not None:
        console.print(f"results in {out}", soft_wrap=True)


def responsiveness_lines(comparison: Comparison, labels: Sequence[str]) -> list[str]:
    """Responsiveness and latency under load of these disciplines, and the scale; nothing where they are not known."""
    from ..traffic.responsiveness import SCALE

    found = {label: done for label in labels if (done := comparison.responsiveness(label)) is not None}
    width = max(map(len, found), default=0)
    lines = [f"  {label:<{width}}  {done.text()}" for label, done in found.items()]
    return ["responsiveness:", *lines, f"  {SCALE}"] if lines else []


def real_options(
    live: bool, algorithm: list[str] | None, sysctl: list[str] | None, groups: Sequence[str]
) -> tuple[dict[str, str] | None, dict[str, str] | None]:
    """What --algorithm and --sysctl say, None without --live; this process may then make hosts. Raises `Refusal`."""
    if not live:
        if algorithm or sysctl:
            raise Refusal(
                f"--{'algorithm' if algorithm else 'sysctl'}: is only for runs between real hosts: give --live too"
            )
        return None, None
    from ..live import access

    found = real_packets.algorithms(algorithm, groups), real_packets.settings(sysctl)
    access.enter((), "testbed")
    return found


SIDES = ("simulation", "real", "difference")


def print_sides(
    console: Console, comparison: Comparison, groups: Sequence[tuple[str, list[Column]]],
    totals: Sequence[tuple[str, list[Column]]],
) -> None:  # fmt: skip
    """Print simulation beside real hosts: a table for each group of flows, and those of all flows and links."""
    from ..goals.measures import SHARE, column

    console.print("difference: real minus simulation, paired by seed; * the interval excludes zero", soft_wrap=True)
    for title, columns in [*groups, *totals]:
        share = (
            [Column(column(title, SHARE), "share of throughput %", SHARE.factor)] if title in comparison.groups else []
        )
        console.print(title, style="bold", soft_wrap=True)
        console.print(sides_table(comparison, [*share, *columns]))


def sides_table(comparison: Comparison, columns: Sequence[Column]) -> Table:
    """One row for each discipline and quantity: simulation, real hosts, and their difference."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from ..experiments.compare_page import half_of

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("discipline", overflow="fold")
    table.add_column("")
    for side in SIDES:
        table.add_column(side, justify="right", no_wrap=True)
    for label in comparison.twins:
        for at, each in enumerate(columns):
            row = comparison.beside(label, each.metric)
            cells = (cell(half_of(row, side), side, each).replace("\n", " ").rstrip() for side in SIDES)
            name = " ".join(each.head.replace("-\n", "").split())
            table.add_row(Text(wrapped(label, 20) if at == 0 else ""), Text(name), *map(Text, cells))
    return table


def shown(comparison: Comparison, name: str, metric: Metric) -> Column:
    """A quantity as a column, in the unit that suits it."""
    unit, factor = comparison.rate_unit(name) if metric.unit == "bit/s" else ("", metric.factor)
    return Column(
        name, f"{metric.head.rstrip()} {unit}".rstrip() if unit else metric.head, factor, metric.decimals, metric
    )


def group_sections(comparison: Comparison, wanted: Wanted) -> list[tuple[str, list[Column]]]:
    """A table for each group of flows: the quantities asked for of which any discipline has a value."""
    from ..goals.measures import GROUP, column

    found = []
    for name in wanted.groups:
        columns = [shown(comparison, column(name, GROUP[word]), GROUP[word]) for word in wanted.of_groups]
        known = [
            each for each in columns
            if any(comparison.mean(label, each.metric)["mean"] is not None for label in comparison.disciplines)
        ]  # fmt: skip
        if any(each.of is not None and each.of.word.startswith("completion") for each in known):
            # Of transfers that end, what they got in the measured window is no merit.
            known = [replace(each, of=None) if each.metric == f"{name}_throughput_bps" else each for each in known]
        if known:
            found.append((name, known))
    return found


def total_sections(comparison: Comparison, wanted: Wanted) -> list[tuple[str, list[Column]]]:
    """The tables of all flows and of each link; one table when there is one link."""
    from ..goals.measures import LINK, TOTAL

    flows = [shown(comparison, metric.name, metric) for metric in map(TOTAL.__getitem__, wanted.of_all)]
    links = [
        (f"link {link}", [shown(comparison, before + LINK[word].name, LINK[word]) for word in wanted.of_links])
        for link in comparison.links
        for before in [comparison.before(link)]
    ]
    if not wanted.of_links:
        return [("all flows", flows)] if flows else []
    if len(links) == 1:
        return [("all flows, and the link" if flows else links[0][0], flows + links[0][1])]
    return [("all flows", flows), *links] if flows else links


def verdict(comparison: Comparison, columns: Sequence[Column]) -> list[str]:
    """Which disciplines are best in each of these columns, a line for each set of disciplines."""
    by_set: dict[tuple[str, ...], list[str]] = {}
    for column in columns:
        if column.of is not None and (best := comparison.best(column.metric, column.of)):
            by_set.setdefault(tuple(best), []).append(f"{column.of.best} {WORDS.get(column.of.word, column.of.word)}")
    count = len(comparison.disciplines)
    without = {
        label: what
        for label in comparison.disciplines
        if (what := [c.head.replace("\n", " ") for c in columns if comparison.mean(label, c.metric)["mean"] is None])
    }
    lines = [f"{label} has no value and is not compared: {', '.join(what)}" for label, what in without.items()]
    return lines + [
        f"{' and '.join(filter(None, (', '.join(what[:-1]), what[-1])))}: "
        f"{'all alike' if len(best) == count else ', '.join(best)}"
        for best, what in by_set.items()
    ]


WORDS = {
    "p50": "median delay", "p95": "delay p95", "p99": "delay p99", "delay": "mean delay", "per_flow": "per flow",
    "response_p50": "median response time", "response_p99": "response time p99",
    "completion_p50": "median completion time", "completion_p95": "completion time p95",
}  # fmt: skip
"""What quantities are called in sentences, where not by the words that --metric takes."""


def loss_sections(comparison: Comparison) -> list[tuple[str, list[Column]]]:
    """The tables of losses by reason and of marks, one for each link; none where all are drops for one reason."""
    shown = [(f"drops_{reason}_ratio", reason) for reason in comparison.drop_reasons]
    if comparison.loses:
        shown.append(("lost_ratio", "on the\nwire"))
    if comparison.marks:
        shown.append(("marked_ratio", "marked"))
    elif len(shown) < 2 and not comparison.loses:
        return []
    title = "losses by reason, and marks, % of arrivals" if comparison.marks else "losses by reason, % of arrivals"
    return [
        (
            title + (f" at link {link}" if before else ""),
            [Column(f"{before}{metric}", f"{head}\n%", 100.0, 2) for metric, head in shown],
        )
        for link in comparison.links
        for before in [comparison.before(link)]
    ]


def means_table(comparison: Comparison, columns: Sequence[Column], marked: bool) -> Table:
    """One row for each discipline. `marked`: the best have a dot."""
    best = {
        column.metric: set(comparison.best(column.metric, column.of)) if marked and column.of is not None else set()
        for column in columns
    }
    rows = [
        (label, [
            cell(comparison.mean(label, column.metric), "mean", column, "●" if label in best[column.metric] else "")
            for column in columns
        ])
        for label in comparison.disciplines
    ]  # fmt: skip
    return _table(columns, rows, starred=False)


def differences_table(comparison: Comparison, columns: Sequence[Column]) -> Table:
    """One row for each discipline but the baseline; a star where the interval excludes zero."""
    rows = [
        (label, [cell(comparison.difference(label, column.metric), "difference", column) for column in columns])
        for label in comparison.disciplines
        if comparison.against(label) != label
    ]
    return _table(columns, rows, starred=True)


def cell(row: dict[str, Any], value: str, column: Column, before: str = "") -> str:
    """A number over its half width, with `before` before it; differences have a sign, and a star when their interval
    excludes zero."""
    if row[value] is None:
        return "–"
    signed = value == "difference"
    half = None if row["half_width"] is None else column.factor * row["half_width"]
    sign = "+" if signed else ""
    text = plus_minus(column.factor * row[value], half, column.decimals, sign, UNKNOWN)
    number, _, below = text.replace("± ", "±").replace("±–", "–").partition(" ")
    # The star hangs in a place of its own, so that digits stand below digits.
    star = ("*" if row["excludes_zero"] else " ") if signed else ""
    return f"{before}{' ' if before else ''}{number}{star}\n{below}{' ' if signed else ''}"


def missing(comparison: Comparison, columns: Sequence[Column]) -> list[str]:
    """A line for each quantity shown that has no value in some of a discipline's runs but has in others."""
    count = len(comparison.summary["seeds"])
    return [
        f"{label}: {column.metric} has a value in {seeds} of {count} runs only"
        for label in comparison.disciplines
        for column in columns
        if 0 < (seeds := comparison.mean(label, column.metric)["seeds"]) < count
    ]


def _table(columns: Sequence[Column], rows: Sequence[tuple[str, list[str]]], starred: bool) -> Table:
    """`starred`: cells end in a star or a space, which is gap enough with the next."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=starred)
    table.add_column("discipline", overflow="fold")
    for column in columns:
        table.add_column(Text(column.head), justify="right", no_wrap=True)
    for label, cells in rows:
        table.add_row(Text(wrapped(label, 20)), *map(Text, cells))
    return table
