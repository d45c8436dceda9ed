"""The command `recommend`."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..quantities import duration as duration_text
from ..quantities import spread_text
from .common import (
    MOST_SEEDS,
    Envelopes,
    File,
    Jobs,
    Json,
    Lan,
    Margin,
    Quiet,
    Refusal,
    Set,
    Wan,
    access_line,
    answers,
    app,
    many_runs,
    parse_sets,
    print_lines,
    print_table,
    terminal_width,
    wide,
)  # fmt: skip
from .compare import responsiveness_lines

if TYPE_CHECKING:
    from ..deploy import Deployment
    from ..experiments.ranking import Ranked
    from ..experiments.recommendation import Recommendation
    from ..goals import Goal

VERDICTS = {True: "yes", False: "no", None: "?"}
"""Whether a goal is kept, as tables have it."""

READABLE = 100
"""Columns that a table of goals keeps to where names allow it, and the terminal is no narrower."""

FEW = 3
"""How many disciplines that were not run are named with the reason, unless all are asked for."""

REMEMBERED = "state about flows"
"""How the distinction begins that says so."""

AGAIN, AGAIN_SEEDS = 4, 3
"""How many of the disciplines, the best first, and seeds are run with other values of what is not known."""

WANTED = "little loss and delay are assumed to be wanted"
"""How a note ends that says no more than that calls and games have goals."""

LONG_S = 10.0
"""Processor time, in seconds, from which on it is said what is run."""

SHOWN = 8
"""How many disciplines are shown, besides those tied with the last of them, unless all are asked for."""


@app.command(
    short_help="Rank the disciplines that fit your own link by stated goals, with the commands to deploy the best.",
    epilog="""Examples:

\b
sluicegate recommend office.toml --goal "voip p99 below 30 ms" --goal "transfers utilisation above 90 %"
sluicegate recommend office.toml --deployable linux --dev eth0
sluicegate recommend home.toml --deployable openwrt --wan wan0
sluicegate recommend office.toml --state none
""",
)
@answers
def recommend(
    file: File,
    goal: Annotated[
        list[str] | None,
        typer.Option(
            "--goal",
            metavar="GOAL",
            help='A goal, such as "voip p99 below 30 ms". Repeatable; the most important first.',
        ),
    ] = None,
    deployable: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM",
            help="Only disciplines that you can deploy on this system: linux, openwrt, linux-bpf or freebsd.",
        ),
    ] = None,
    state: Annotated[
        str,
        typer.Option(
            metavar="none|small|any",
            help="Only disciplines that keep no state of flows, bounded state (small), or any.",
        ),
    ] = "any",
    disciplines: Annotated[
        str | None, typer.Option(metavar="LIST", help="Only these disciplines, as for `compare`. [all that fit]")
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_SEEDS,
            metavar="N",
            help="Run each discipline with seeds 1 to N. If several may be the best, run these with 4 N seeds.",
        ),
    ] = 5,
    dev: Annotated[str, typer.Option(metavar="NAME", help="The interface to name in the commands.")] = "DEV",
    wan: Wan = None,
    lan: Lan = None,
    margin: Margin = None,
    envelopes: Envelopes = None,
    sets: Set = None,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FOLDER", help="Keep each run here; write tables and figures here."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all disciplines, not only the best.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Simulate a scenario under every discipline that fits, and rank them by goals for its groups of flows.

    State goals with --goal or as run.goals in the file; otherwise some are assumed and printed. Each goal is shown with
    its evidence, the mean over seeds and its 95 % interval. If disciplines are equal within intervals and tolerances,
    the next goal decides, then the delay of groups without a goal, then less state. The commands that deploy the best
    discipline follow."""
    from .. import scenario
    from ..deploy.access import doubts as doubts_of
    from ..deploy.target import Undeployable, find_link, interface
    from ..experiments import recommend as recommendation
    from ..experiments.eligible import STATES, SYSTEMS, TC
    from ..learning.unknown import answers as answers_for
    from ..learning.unknown import unknowns
    from ..traffic.paths import REVERSE

    if deployable not in (None, *SYSTEMS):
        raise Refusal(f"--deployable {deployable}: must be {', '.join(SYSTEMS)}")
    if state not in STATES:
        raise Refusal(f"--state {state}: must be none, small or any")
    line = access_line(wan, lan, margin)
    if line is not None and (dev != "DEV" or deployable not in (None, *TC)):
        raise Refusal(
            "--wan: deploys both directions with Linux's tc; leave out --dev; --deployable may be linux or openwrt"
        )
    try:
        interface(dev)
    except Undeployable as error:
        raise Refusal(str(error)) from None
    stated = parse_sets(sets)
    if line is not None or deployable in TC:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scenario.ScenarioWarning)
            resolved = scenario.resolve(file, stated)
        two_ways = REVERSE in resolved["network"]
        if two_ways and line is None:
            try:
                find_link(resolved, None)
            except Undeployable as error:
                raise Refusal(f"{file}: {error}") from None
        elif two_ways and line is not None:
            for doubt in doubts_of(resolved, line):
                print(f"warning: {doubt}", file=sys.stderr)

    asked: dict[str, Any] = {"goals": goal, "deployable": deployable, "state": state, "jobs": jobs, "dev": dev}
    asked |= {"envelopes": envelopes}
    if not quiet:
        announce(file, stated, goal or (), deployable, state, disciplines, seeds, jobs)
    # What a learnt scenario does not know, and no override states.
    open_ends = [each for each in unknowns(file) if each.key not in dict(stated)]
    with many_runs(quiet, out, jobs, None) as progress:
        done = recommendation.recommend(
            file, disciplines=disciplines, seeds=seeds, sets=stated, out=out, access=line,
            progress=progress, **asked,
        )  # fmt: skip
    # It may decide: between those that are good here.
    first = done.recommended()[0]
    among = list(dict.fromkeys([first, *(each.label for each in done.ranking)]))[:AGAIN]

    def again(key: str, value: str) -> Recommendation:
        return recommendation.recommend(
            file, disciplines=among, seeds=min(seeds, AGAIN_SEEDS), sets=[*stated, (key, value)],
            access=done.settled(), progress=False, **asked,
        )  # fmt: skip

    best = [each for each in done.best() if each in among]
    depends = answers_for(open_ends, first, best, again) if len(among) > 1 else []
    if as_json:
        unknown = {"unknown": depends} if depends else {}
        print(json.dumps(done.record() | unknown, ensure_ascii=False))
    elif not quiet:
        doubts = [f"{sentence}; compared: {', '.join(among)}" for sentence in depends]
        print_recommendation(done, out, everything, file, stated, doubts)


def announce(
    file: str, sets: Sequence[tuple[str, str]], goals: Sequence[str], deployable: str | None, state: str,
    disciplines: str | None, seeds: int, jobs: int | None,
) -> None:  # fmt: skip
    """Tell those who see no bar what is run, where that takes a while and nothing of it is wrong."""
    from .. import scenario, traps
    from ..experiments.eligible import eligible
    from ..experiments.engine import cores
    from ..goals import goals as parsed
    from ..goals import known

    if sys.stderr.isatty():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scenario.ScenarioWarning)
        resolved = scenario.check(file, sets=sets)
    parsed(goals, known(resolved))
    listed, _ = eligible(resolved, deployable, state, disciplines)  # type: ignore[arg-type]
    runs = len(listed) * seeds
    if (total := runs * traps.seconds(resolved)) > LONG_S:
        ran = jobs or cores()
        least = max(total / ran, traps.seconds(resolved))  # one run is not divided
        print(f"{len(listed)} disciplines, {seeds} seeds: {runs} runs take about {duration_text(least)} on {ran} "
              "idle cores; finding the rates of shapers and separating close disciplines takes additional time",
              file=sys.stderr)  # fmt: skip


def print_recommendation(
    done: Recommendation, out: Path | None, everything: bool, file: str, sets: Sequence[tuple[str, str]],
    doubts: Sequence[str],
) -> None:  # fmt: skip
    """Print the verdict, goals, ranking, evidence, and how to deploy the best. `doubts`: of the answer. Of an access
    line what a person need not know to deploy is only printed with `everything`."""
    from ..experiments.compare_page import more as more_seeds
    from ..experiments.ranking import LESS_STATE

    verdict, *more = conclusion(done)
    whole, gain = everything or done.line is None, done.gain()
    if gain:
        gain.append("The commands are at the end.")
    worse = bool(done.no_gain(done.recommended()[0]))
    print_lines([" ".join([*gain, verdict] if worse else [verdict, *gain])])
    if done.assumed and not whole:
        print_lines([f"ranked by {len(done.goals)} goals, assumed because you state none: {bounds(done)}; --all lists "
                     "them, the disciplines that were not run, and the rates that were tried"])  # fmt: skip
    else:
        print_lines([
            "goals, assumed because you state none:" if done.assumed else "goals:",
            *(f"  {number}  {goal.text}" for number, goal in enumerate(done.goals, 1)),
            *(f"  {line}" for line in meanings(done)),
            *([f"ties are broken in this order (least: lower is better; within: such differences are ties): "
                f"{', '.join(done.among_equals)}"]
              if done.among_equals != [LESS_STATE] else []),
        ])  # fmt: skip
    print_lines(f"  {note}" for note in done.notes if whole or not note.endswith(WANTED))
    seeds = len(done.comparison.summary["seeds"])
    spread = spread_text(seeds)
    count = len(done.ranking)
    each = f"{seeds} seed{'s' * (seeds > 1)} each{more_seeds(done.summary)}"
    print_lines([f"{count} discipline{'s' * (count > 1)}, {each}, {spread}:"])
    last = done.ranking[min(SHOWN, len(done.ranking)) - 1].rank
    shown = [each for each in done.ranking if everything or each.rank <= last]
    told = telling(done, shown)
    for header, rows in tables(done, shown, told):
        print_table(header, rows, whole=True)
    print_lines([*below_tables(done, shown, told, everything), *more, *of_the_line(done, whole), *doubts])
    print_deployment(done, file, sets)
    if out is not None:
        print(f"results in {out}")


def below_tables(
    done: Recommendation, shown: Sequence[Ranked], told: Sequence[int], everything: bool
) -> Iterator[str]:  # fmt: skip
    """What is said of the tables: which goals they leave out, what their words mean, and what was not run."""
    whole = everything or done.line is None
    if whole and (all_keep := [str(number) for number in range(1, len(done.goals) + 1) if number - 1 not in told]):
        yield f"kept by all of these: goal{'s' * (len(all_keep) > 1)} {', '.join(all_keep)}"
    if shown[-1].behind:
        yield "behind by: why a discipline ranks below the one before"
    if any(done.goals[number].bound is not None for number in told):
        yield "yes: the goal is kept; no: it is not; ?: the interval contains the bound"
    if everything and done.line is not None and done.line.shapers:
        yield 'all disciplines were simulated with shapers; "today" (under responsiveness) is the line without shapers'
    if hidden := len(done.ranking) - len(shown):
        yield f"{hidden} more rank lower; --all shows them"
    if len(done.left_out) > FEW and not everything and whole:
        yield f"{len(done.left_out)} not run; --all says why"
    elif done.left_out and (whole or len(done.left_out) <= FEW):
        yield f"{len(done.left_out)} not run:"
        reasons: dict[str, list[str]] = {}
        for label, why in done.left_out.items():
            reasons.setdefault(why, []).append(label)
        yield from (f"  {', '.join(labels)}: {why}" for why, labels in reasons.items())


def of_the_line(done: Recommendation, whole: bool) -> Iterator[str]:
    """What is said of an access line: its responsiveness, and the shapers; `whole`: each rate that was tried, too."""
    plain = [label for label, name in done.comparison.names.items() if name == "drop_tail" and done.line is None]
    for number, line in enumerate(responsiveness_lines(done.comparison, list(dict.fromkeys([*plain, *done.best()])))):
        yield line
        if number == 0 and done.line is not None and done.line.today is not None:
            yield f"  today: {done.line.today}"
    yield from done.no_gain(done.recommended()[0])
    if done.line is not None:
        yield from done.line.text(done.evidence(), whole)


MEANINGS = {
    "p50": "p50: half of the packets arrive within this time, one way",
    "p95": "p95: 95 % of the packets arrive within this time, one way",
    "p99": "p99: 99 % of the packets arrive within this time, one way",
    "delay": "delay: the mean time that packets take, one way",
    "response_p50": "response p50: half of the requests are answered within this time",
    "response_p99": "response p99: 99 % of the requests are answered within this time",
    "completion_p50": "completion p50: half of the transfers end within this time",
    "completion_p95": "completion p95: 95 % of the transfers end within this time",
    "utilisation": "utilisation: throughput as a part of the link's rate",
    "queueing_delay": "queueing delay: the mean time that packets wait before the link",
    "queueing_delay_p99": "queueing delay p99: 99 % of the packets wait at most this time before the link",
    "jain_all": "jain: 1 where all flows have the same throughput, less where they do not",
}
"""Quantities of goals, in words."""


def meanings(done: Recommendation) -> list[str]:
    """What the quantities of the goals are, and why the goals that were assumed have these bounds."""
    used = {"utilisation" if of_a_rate(goal) else goal.metric.word for goal in done.goals}
    said = "; ".join(words for word, words in MEANINGS.items() if word in used)
    return [*filter(None, [said]), *([f"the bounds: {bounds(done)}"] if done.assumed else [])]


def bounds(done: Recommendation) -> str:
    """Why the goals that were assumed have these bounds."""
    from ..experiments.assumed import EASY_DELAY_NS, EASY_LOSS, FAIR_PART

    ways = {
        round((goal.bound - EASY_DELAY_NS) / 1e6) for goal in done.goals if goal.bound and goal.metric.word == "p99"
    }
    alone = f"the {' or '.join(map(str, sorted(ways)))} ms " if ways else ""
    return (f"calls and games lose at most {EASY_LOSS}, and their one-way delay is at most "
            f"{EASY_DELAY_NS / 1e6:.0f} ms more than {alone}without load; "
            f"transfers get {100 * FAIR_PART:.0f} % of a fair share")  # fmt: skip


def of_a_rate(goal: Goal) -> bool:
    """Whether a goal is about a part of a link's rate."""
    return goal.shown[0] == "%" and goal.metric.unit == "bit/s"


def telling(done: Recommendation, shown: Sequence[Ranked]) -> list[int]:
    """Of which goals values are shown, from 0 on: those that not all of these disciplines keep, and those without a
    bound; all where there is no other."""
    bounds = [goal.bound is not None and all(each.kept[at] for each in shown) for at, goal in enumerate(done.goals)]
    return [at for at, kept in enumerate(bounds) if not kept] or list(range(len(bounds)))


def tables(
    done: Recommendation, shown: Sequence[Ranked], told: Sequence[int]
) -> list[tuple[list[str], list[list[str]]]]:  # fmt: skip
    """The ranking with the values of these goals, as header and rows: as many goals beside each other as are readable
    in `READABLE` columns, the rest in tables below."""
    columns = []
    for at in told:
        goal = done.goals[at]
        unit, factor = goal.shown
        what = "utilisation" if of_a_rate(goal) else goal.metric.word.replace("_", " ")
        if goal.bound is not None:
            what += f"\n{goal.sense} {goal.bound * factor:.5g}{unit and ' '}{unit}"
        elif unit:
            what += f", {unit}"
        cells = [
            goal.number(done.comparison.mean(each.label, goal.column))
            + ("" if goal.bound is None else f"  {VERDICTS[each.kept[at]]}")
            for each in shown
        ]
        columns.append([f"goal {at + 1}\n{f'{goal.group}{chr(10)}' if goal.group else ''}{what}", *cells])
    width = min(READABLE, terminal_width() or READABLE)
    first = [["rank", *(str(each.rank) for each in shown)], ["discipline", *(each.label for each in shown)]]
    behind = ["behind by", *(each.behind.replace("goals kept", "fewer goals kept") for each in shown)]
    found: list[list[list[str]]] = []
    for column in columns:
        if found and sum(map(wide, [*found[-1], column])) <= width:
            found[-1].append(column)
        else:
            found.append([*first, *([] if found or not any(behind[1:]) else [behind]), column])
    return [([column[0] for column in table], list(map(list, zip(*(column[1:] for column in table), strict=True))))
            for table in found]  # fmt: skip


def conclusion(done: Recommendation) -> list[str]:
    """What the ranking comes to, in sentences."""
    from ..experiments.undecided import MOST

    best = done.best()
    kept = next(each for each in done.ranking if each.rank == 1).kept
    lost = sum(answer is False for answer in kept)
    unsure = sum(answer is None for answer in kept)
    names = f"{', '.join(best[:-1])} and {best[-1]}" if len(best) > 1 else best[0]
    tied = " are tied" if len(best) > 1 else " is best"
    # What a router remembers of a home's few flows is no reason to choose.
    told = [line for line in done.distinctions if done.line is None or not line.startswith(REMEMBERED)]
    apart = ["what distinguishes them:", *(f"  {line}" for line in told)] if told else []
    if not lost and not unsure:
        if len(best) > 1 and any(goal.bound is not None for goal in done.goals):
            return [f"{names}: {'both' if len(best) == 2 else f'all {len(best)}'} will do, all goals are kept.", *apart]
        return [f"{names}{tied}: all goals are kept.", *apart]
    parts = [f"{lost} of {len(kept)} goals not kept" if lost else "", f"{unsure} left open" if unsure else ""]
    lines = [f"{names}{tied}, with {' and '.join(filter(None, parts))}."]
    for number, goal in enumerate(done.goals):
        if all(each.kept[number] is False for each in done.ranking):
            lines.append(f"no discipline keeps: {goal.text}")
    lines += apart
    asked = len(done.summary["seeds"])
    if unsure and (wanted := min(MOST * asked, MOST_SEEDS)) > asked:
        lines.append(f"for narrower intervals run more seeds: --seeds {wanted}")
    return lines


def print_deployment(done: Recommendation, file: str, sets: Sequence[tuple[str, str]]) -> None:
    """Print the commands for the first of the best that has some, with what will differ, or why there are none."""
    from ..deploy import Undeployable
    from ..experiments.eligible import NAMED
    from ..traffic.paths import REVERSE

    if done.access is None and REVERSE in done.comparison.summary["scenario"]["network"]:
        system = {"freebsd": " --freebsd", "linux-bpf": " --bpf"}.get(done.system or "", "")
        print("no commands, because the line has two directions: --wan NAME prints the commands for both, on "
              f"Linux; `sluicegate tc {file}{system}` with --link bottleneck or --link reverse prints those for "
              "one")  # fmt: skip
        return
    named = NAMED[done.system or "linux"]
    failed = []
    for label in done.recommended():
        chosen = done.chosen(label)
        try:
            found = done.deployment(label)
        except Undeployable as error:
            failed.append((label, chosen, str(error)))
            continue
        print_chosen(label, chosen, done.chosen_up(label))
        if label not in done.best():
            leave, have = ("leave", "have") if len(done.best()) > 1 else ("leaves", "has")
            print(f"{' and '.join(done.best())} {leave} the queue in the modem with the chosen margin, or {have} no "
                  f"command; the next in the ranking without this problem: {label}")  # fmt: skip
        command = done.command(label, file, sets)
        openwrt = done.system == "openwrt"
        if command:
            run = "stop SQM and run" if openwrt else "run"
            print(f"to try {label} on {named} until the router restarts, {run} as root:")
        else:
            print(f"to deploy {label} on {named}, as root{', with SQM stopped' * openwrt}:")
        for line in commands(done, label, found):
            print(f"  {line}")
        if command:
            from ..deploy import formats

            own = "openwrt" if openwrt else "systemd"
            others = [f"--format {name}" for name in formats.fitting(found) if name not in {"tc", own}]
            print(f"to keep {label} after a restart, put what this prints into a file on the router:")
            print(f"  {command} --format {own}")
            print(f"for other routers: {' or '.join(others)}; without --format: the commands above, with all remarks")
        if others := [each for each in done.best() if each != label and done.deployable(each) and not done.late(each)]:
            more = {each: done.command(each, file, sets) or f"--disciplines {each}" for each in others}
            print("\n".join(f"for the commands of {each}: {words}" for each, words in more.items()))
        return
    for label, chosen, why in failed:
        print_chosen(label, chosen, done.chosen_up(label))
        print(f"{label} cannot be deployed on {named} by a command: {why}")
    if done.system is None:
        print("  --deployable linux, or freebsd, ranks only disciplines that the system has")


def commands(done: Recommendation, label: str, found: Deployment) -> list[str]:
    """The lines of a deployment with remarks: of an access line, whose command is printed below, only what a person who
    pastes them must know."""
    from ..deploy.target import chained

    if not found.parts:
        return found.text().splitlines()
    parts = (line for part in found.parts for line in (f"# {part.title}", *part.lines))
    return chained([*(f"# {each}" for each in done.cautions(label)), *parts, f"# {found.remarks[-1]}"])


def print_chosen(label: str, chosen: Mapping[str, str], upload: Mapping[str, str] | None) -> None:
    """Print the parameters that were chosen for the link, if any were, and those of the opposite direction."""
    from ..declarations import listed

    for values, where in ((chosen, "for the link"), (upload, "for the upload")):
        if values:
            print(f"{label}, chosen {where}: {listed(values)}")
    if chosen and upload == {}:
        print(f"{label} keeps its defaults for the upload")
