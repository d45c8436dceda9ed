"""The command `reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import MOST_SEEDS, Cluster, Jobs, Quiet, Refusal, answers, app, many_runs, print_table

if TYPE_CHECKING:
    from ..reproduce import Outcome


@app.command(short_help="Reproduce a paper; write a report with every figure.")
@answers
def reproduce(
    name: Annotated[str, typer.Argument(metavar="[PAPER]", help="The paper, such as choke1999; or all.")] = "",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FOLDER", help="Keep each run and write the report here. [out/PAPER]"),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Longer runs, of the paper's length if stated, with more seeds (dcn2004: 1 seed)."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short runs with one seed for a first look; verdicts are not checked.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=MOST_SEEDS, metavar="N", help="Run with seeds 1 to N. [the report's own]")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="FIGURE", help="Only this figure, such as fig14; writes report-FIGURE.html. Repeatable."),
    ] = None,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Simulate nothing; draw the report from the runs kept in the folder of -o.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Also run the figures with real TCP, in real time (dcn2004, on Linux).")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the figures with their source files.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 when any claim is contradicted.")] = False,
    jobs: Jobs = None,
    cluster: Cluster = None,
    quiet: Quiet = False,
) -> None:
    """Reproduce a paper's experiments; write a report with paper and measurement side by side.

    The report lists every claim that the measurements contradict. Exit code 1 when a verdict differs from the recorded
    one, or with --strict when any claim is contradicted. For some papers the package contains the results of runs at
    full length: their verdicts count, and the report shows the new short runs beside them. --live adds figures with the
    kernel's TCP; their verdicts vary and are not compared.

    `all` reproduces every paper, each in its own folder, and writes a page with links to them. The folder of -o
    keeps completed runs; the same command does not repeat them.
    """
    from ..experiments.engine import MissingRuns
    from ..papers import PAPERS
    from ..reproduce import UnknownName
    from ..reproduce.overview import reproduce_all
    from ..reproduce.run import reproduce as one

    if listed:
        if only or redraw or strict or full or quick or live or seeds is not None:
            raise Refusal("--list simulates and draws nothing: leave the other options out")
        list_figures([name] if name and name != "all" else list(PAPERS))
        return
    if not name:
        raise Refusal(f"name a paper ({', '.join(PAPERS)}), or all")
    out = out or Path("out", name)
    if name == "all" and only:
        raise Refusal("--only: name one paper; figures belong to papers")
    if quick and (full or seeds is not None):
        raise Refusal(f"--quick: means short runs with one seed: leave {'--full' if full else '--seeds'} out")
    if live:
        may_run_live(name, redraw)
    seeds = 1 if quick else seeds
    given = {"full": full, "seeds": seeds, "redraw": redraw, "jobs": jobs, "cluster": cluster}
    try:
        with many_runs(quiet, out, jobs, cluster, in_parts=True) as progress:
            if name == "all":
                outcomes = reproduce_all(out, list(PAPERS), progress=progress, **given)
            else:
                outcomes = [one(name, out, only=only or (), progress=progress, live=live, **given)]  # type: ignore[arg-type]
    except UnknownName as error:
        raise Refusal(str(error)) from None
    except MissingRuns as error:
        raise Refusal(
            f"--redraw: {error}: the stored runs have other settings or are from another build of Sluicegate; "
            "give --quick, --full and --seeds as when they were made, or leave --redraw out"
        ) from None
    if not quiet:
        print(out / "report.html" if name == "all" else outcomes[0].page)
    told = [tell(outcome, strict, quiet) for outcome in outcomes]
    if not all(told):
        raise typer.Exit(1)


def may_run_live(name: str, redraw: bool) -> None:
    """Go on as a process that may run real hosts, unless all is only drawn. Raises `Refusal` and `ScenarioError`."""
    from ..live import access
    from ..papers import PAPERS
    from ..reproduce import UnknownName, paper

    if name == "all":
        raise Refusal("--live: name one paper: dcn2004")
    try:
        chosen = paper(name)
    except UnknownName as error:
        raise Refusal(str(error)) from None
    if chosen.live is None:
        able = [each for each in PAPERS if paper(each).live is not None]
        raise Refusal(f"--live: {name} has no figures with real TCP; papers that have: {', '.join(able)}")
    if not redraw:
        access.enter((), "testbed")


def tell(outcome: Outcome, strict: bool, quiet: bool) -> bool:
    """Print what a reproduction came to; whether it passed."""
    from ..reproduce.page import NO_CLAIMS, verdict_line

    if not quiet:
        claims = [verdict for verdict in outcome.verdicts if verdict.check.kind != "reference"]
        found = f"{len(outcome.contradicted)} of {len(claims)} claims contradicted" if claims else NO_CLAIMS
        checks = f"{len(outcome.verdicts)} check{'s' * (len(outcome.verdicts) != 1)}"
        print(f"{outcome.paper.name}: {checks}: {verdict_line(outcome.verdicts)}; {found}")
        if any(id_.startswith("short:") for id_ in outcome.record):
            print(f"{outcome.paper.name}: verdicts are of the kept runs at full length; the report also shows "
                  "the new short runs")  # fmt: skip
        if not outcome.compared:
            print(f"{outcome.paper.name}: no verdicts are recorded for these settings; nothing to compare with")
    for id_, (was, now) in outcome.changed.items():
        print(f"error: {outcome.paper.name}: {id_}: {now}, recorded as {was}", file=sys.stderr)
    if strict:
        for verdict in outcome.contradicted:
            print(f"error: {outcome.paper.name}: {verdict.check.id}: contradicted", file=sys.stderr)
    return outcome.passed(strict)


def list_figures(names: list[str]) -> None:
    """Print the figures of these papers, each with its title and the file that it is made in."""
    from ..reproduce import UnknownName, paper

    root = Path(__file__).parent.parent
    rows = []
    for name in names:
        try:
            chosen = paper(name)
            figures = [*chosen.figures(), *chosen.figures(live=True)]
        except UnknownName as error:
            raise Refusal(str(error)) from None
        rows += [[name, figure.id, figure.title, str(Path(figure.file).relative_to(root))] for figure in figures]
    print_table(["paper", "figure", "title", "file"], rows, whole=True)
