"""The command `evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from warnings import catch_warnings

import typer

from .common import (
    MOST_SEEDS,
    Cluster,
    Jobs,
    Quiet,
    Refusal,
    answers,
    app,
    many_runs,
    parse_sets,
    print_table,
    print_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..evaluation.budgets import Result
    from ..evaluation.result import Evaluation

ENVELOPE = "envelope"
"""The suite that has a grid of links in place of scenarios."""


@app.command(short_help="Run an RFC's test suite on disciplines or congestion controls; write a report.")
@answers
def evaluate(
    disciplines: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DISCIPLINE...",
            help="Disciplines, parameters after a colon: choke:candidates=2, my.py:MyAqm; or all. With --suite "
            "congestion-control: congestion controls, such as cubic, bbr3, ledbat:ledbat_gain=2, mine.rs:MyControl, "
            "quinn:cubic, mine.py:my_ends.",
        ),
    ] = None,
    suite: Annotated[
        str, typer.Option(metavar="NAME", help="The suite: rfc7928, congestion-control, or envelope.")
    ] = "rfc7928",
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FOLDER",
            help="Keep each run and write the report here. [out/evaluate; other suites: out/SUITE]",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds and shorter runs.")] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Leave out the references: drop_tail and fq_codel, or reno and cubic.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=MOST_SEEDS, metavar="N", help="Run with seeds 1 to N. [the suite's own]")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCENARIO",
            help="Run only this scenario, by its id or by a section such as 8 or 8.2.6. Repeatable.",
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override flows, queue or run.duration in every scenario. Repeatable."
        ),
    ] = None,
    budget: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check results against the bounds in this TOML file.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --budget: write its results as JUnit XML.")
    ] = None,
    promise: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help='With --suite envelope: the delay that your own discipline promises: "20 ms" is an upper bound; '
            '"5 ms target" allows a mean delay of twice the target. [400 ms]',
        ),
    ] = None,
    move: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY[=VALUE,...]",
            help="With --suite envelope: vary only this parameter, over these values. Repeatable. "
            "[each parameter, halved and doubled]",
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the scenarios.")] = False,
    jobs: Jobs = None,
    cluster: Cluster = None,
    quiet: Quiet = False,
) -> None:
    """Run an RFC's test suite on disciplines, or on congestion controls, and write a report.

    The report begins with an overview that includes the references: drop_tail and fq_codel, or reno and cubic. For each
    scenario it has metrics with intervals over seeds, ellipses of delay and goodput, and distributions. It lists what
    the RFC asks for, and how much of it the suite does. With --suite envelope the report instead shows at which rates,
    numbers of flows and round trips each discipline keeps the queueing delay that it promises, and how its
    parameters change that.

    The folder of -o keeps completed runs; the same command does not repeat them. Exit code 1 when a result exceeds a
    bound in the file of --budget.
    """
    from ..evaluation import budgets
    from ..evaluation.evaluate import SUITES, estimate, planned
    from ..evaluation.evaluate import evaluate as run
    from ..evaluation.suite import DEFAULT
    from ..io import staged_file
    from ..reproduce import UnknownName

    if suite == ENVELOPE:
        others = {
            "--only": only,
            "--alone": alone,
            "--set": sets,
            "--list": listed,
            "--budget": budget,
            "--junit": junit,
        }
        for name, asked in others.items():
            if asked:
                instead = {
                    "--only": "it has no scenarios, but links and loads; --move chooses the parameters to move",
                    "--list": "it has no scenarios; docs/envelope.md lists its links and loads",
                    "--set": "give parameters with the discipline, red:min_th=10",
                }
                raise Refusal(f"{name} is not for --suite envelope: {instead.get(name, 'leave it out')}")
        _envelope(disciplines, out or Path("out", "envelope"), quick, seeds, promise, move, jobs, cluster, quiet)
        return
    if promise is not None or move:
        raise Refusal(f"{'--move' if move else '--promise'} is only for --suite envelope")
    if junit is not None and budget is None:
        raise Refusal("--junit writes the results of a budget: give --budget FILE too")
    if listed:
        if disciplines or only or quick or alone or sets or seeds is not None or out is not None or budget is not None:
            raise Refusal("--list runs nothing: leave disciplines and other options out")
        if suite not in SUITES:
            raise Refusal(str(UnknownName("suite", suite, list(SUITES))))
        chosen = SUITES[suite]
        rows = [[each.section, each.id, each.title, chosen.weight(each), "; ".join(one.text for one in each.matters)]
                for each in chosen.scenarios]  # fmt: skip
        print_table(["section", "scenario", "title", "weight", "what matters"], rows, whole=True)
        return
    if not disciplines:
        example = {"congestion-control": "a congestion control (sluicegate evaluate bbr3 --suite congestion-control)"}
        raise Refusal(f"name {example.get(suite, 'a discipline (sluicegate evaluate choke, or my.py:MyAqm)')}, or all")
    out = out or Path("out", "evaluate" if suite == DEFAULT else suite)
    names = ",".join(disciplines)
    try:
        pairs = parse_sets(sets)
        with catch_warnings(action="ignore"):  # told once, by the run
            chosen, scenarios, settings, given, _ = planned(names, suite, quick, alone, seeds, only or (), sets=pairs)
        bounds, left_out = ([], 0) if budget is None else budgets.read(budget, chosen, scenarios, given, settings)

        def begin() -> None:
            if not quiet:
                runs, seconds = estimate(scenarios, settings, given, jobs)
                tell_length(
                    f"{runs} runs of up to {settings.duration_s:g} simulated seconds", seconds, jobs, cluster, out
                )

        with many_runs(quiet, out, jobs, cluster) as progress:
            done = run(names, suite=suite, out=out, quick=quick, alone=alone, seeds=seeds, only=only or (), sets=pairs,
                       jobs=jobs, cluster=cluster, progress=progress, begin=begin)  # fmt: skip
    except UnknownName as error:
        raise Refusal(str(error)) from None
    if not quiet:
        tell(done)
    if budget is not None:
        found = [*budgets.results(bounds, done)]
        if junit is not None:
            with staged_file(junit) as file:
                file.write_bytes(budgets.junit(found, suite))
        tell_budget(found, done.suite.subject, left_out)
        if not all(each.kept for each in found):
            raise typer.Exit(1)


def _envelope(
    disciplines: list[str] | None, out: Path, quick: bool, seeds: int | None, promise: str | None,
    move: list[str] | None, jobs: int | None, cluster: str | None, quiet: bool,
) -> None:  # fmt: skip
    """Measure envelopes, and print the rates at which promises are kept."""
    from ..evaluation.envelope.measure import envelope
    from ..evaluation.envelope.page import ENDS, WORDS, promises
    from ..experiments.engine import cores
    from ..quantities import duration

    if not disciplines:
        raise Refusal("name a discipline (sluicegate evaluate choke --suite envelope, or my.py:MyAqm), or all")
    moved: dict[str, list[str]] = {}
    for text in move or []:
        key, _, values = text.partition("=")
        moved.setdefault(key.strip(), []).extend(each.strip() for each in values.split(",") if each.strip())

    def begin(runs: int, seconds: float) -> None:
        if not quiet:
            tell_length(f"{runs} runs", seconds / (jobs or cores()), jobs, cluster, out)

    with many_runs(quiet, out, jobs, cluster) as progress:
        done = envelope(",".join(disciplines), out=out, quick=quick, seeds=seeds or 1, promise=promise, begin=begin,
                        move=moved or None, jobs=jobs, cluster=cluster, progress=progress)  # fmt: skip
    if not quiet:
        print(out / "report.html")
        trip = done.summary["round_trips_ns"][len(done.summary["round_trips_ns"]) // 2]
        print_text(f"Rates between which the promise is kept, round trip {duration(trip / 1e9)}. {WORDS} {ENDS}")
        names = {each["label"]: each["name"] for each in done.summary["disciplines"]}
        promised = {
            label: f"{text} ({kind})"
            for label, text, kind, _ in promises(
                names, done.summary["promise_ns"], done.summary["promise_is_target"]
            ).rows
        }
        (first, *flows), rows = done.overview().head, done.overview().rows
        print_table(
            [first, "promise", *flows], [[label, promised[label], *cells] for label, *cells in rows], whole=True
        )


def tell_length(what: str, seconds: float, jobs: int | None, cluster: str | None, out: Path) -> None:
    """Say before a suite is run about how long that takes."""
    from ..experiments.engine import cores
    from ..quantities import duration
    from ..traps import about

    ran = jobs or cores()
    time = about(seconds) if seconds > 100 else duration(max(1.0, round(seconds)))
    length = "" if cluster else f" about {time} on {ran} cores, plus some time for the page;"
    print(f"{what}:{length} runs kept in {out} are not repeated", flush=True)


def tell_budget(found: Sequence[Result], subject: str, left_out: int) -> None:
    """Print the result of each bound, first those that are not kept. `left_out`: how many are of scenarios that did not
    run."""
    more = f"; {left_out} more not checked, because their scenarios did not run" if left_out else ""
    print(f"budget: {sum(each.kept for each in found)} of {len(found)} kept{more}")
    rows = [["kept" if each.kept else "NOT KEPT", each.budget.scenario, each.point or "–", each.label, each.budget.text,
             each.shown] for each in sorted(found, key=lambda each: each.kept)]  # fmt: skip
    print_table(["budget", "scenario", "point", subject, "bound", "measured"], rows, whole=True)


def tell(done: Evaluation) -> None:
    """Print where the page is, the numbers of a few disciplines, and in how many each discipline is best and worst."""
    from ..evaluation.report import ALIKE, BEST, FEW, TIED, counts, glance, lengths

    print(done.page)
    if "Changed" in (limits := lengths(done)):
        print(f"note: changed: {limits['Changed']}")
    if len(done.labels) <= FEW:
        ids = [each.id for each in done.scenarios for _ in each.overview]
        rows = [
            [of, *cells] for of, (_, _, *cells) in zip(ids, glance(done, done.scenarios, across=True).rows, strict=True)
        ]
        print_table(["scenario", f"{BEST} best, {TIED} no different from the best", *done.labels], rows, whole=True)
    found = counts(done)
    if len(found) < 2:
        return  # nothing to compare with
    if not any(each.of for each in found.values()):
        print(ALIKE)
        return
    rows = [[label, *map(str, each)] for label, each in found.items()]
    print_table([done.suite.subject, "best or tied", "worst", "of"], rows)
