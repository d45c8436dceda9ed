"""Which discipline, with which parameters, for a given link and traffic: all that fit, ranked by stated goals.

Every discipline that a person's constraints leave is run on the scenario (`compare`: the same traffic for every seed).
Those that miss the fewest goals come first, and among these, those with the fewest goals that the intervals leave
undecided; among equals the goals count in the order in which they were stated, then the delay of the groups that no
goal is about, then less state (`ranking`).

A value that the scenario's [queue] states is kept. Of what it leaves out, disciplines made for any link keep their
defaults (`UNTUNED`) unless a trap asks for another value here (`traps.targets`); the others get one buffer and one
target (`design.footing`): a buffer of the product of rate and round trip, and of `LEAST_BUFFER` at least, and a quarter
of it as the target.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from .. import _core, scenario, traps
from ..deploy import Access
from ..deploy import access as access_line
from ..deploy.target import interface
from ..envelopes import Envelope, load
from ..goals import goals as parsed
from ..goals import known
from ..io import check_writable
from ..scenario import override_texts
from ..traffic.groups import Traffic
from ..traffic.paths import REVERSE
from . import line as lines
from .assumed import assume, beyond
from .compare import FILES, Progress, compare
from .disciplines import Choice, Listed
from .eligible import STATES, SYSTEMS, State, System, eligible
from .engine import cores, seed_numbers
from .line import Line
from .outside import outside
from .recommendation import DEV, Recommendation, then_by, under_each
from .slower import slower
from .suited import fitted
from .undecided import MOST, further, joined, undecided

SEEDS = 5
"""How many seeds unless told; `MOST` times as many of those that may be the best where some are close (`undecided`)."""

MOST_MARGINS = 2
"""How often the disciplines are ranked again with shapers that suit the best."""


def recommend(
    network: scenario.What,
    flows: scenario.Flows | None = None,
    *,
    goals: str | Iterable[str] | None = None,
    deployable: System | None = None,
    state: State = "any",
    disciplines: Listed | None = None,
    seeds: int | Iterable[int] = SEEDS,
    duration: str | None = None,
    warmup: str | None = None,
    sets: scenario.Sets | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    dev: str = DEV,
    access: Access | None = None,
    envelopes: str | Path | None = None,
    progress: Progress | bool | None = None,
) -> Recommendation:
    """Rank the disciplines that fit by goals for the groups of flows of a scenario.

    `network`, `flows`, `seeds`, `duration`, `warmup`, `sets`, `jobs`, `out` and `progress` as for `compare`. `goals`:
    such as "voip p99 below 30 ms" or "web response p50 least within 10 %" (see `sluicegate.goals`), the most important
    first (default: those of run.goals, else some are assumed). `deployable`: only disciplines that this system has:
    Linux, OpenWrt's SQM, Linux with BPF queues, or FreeBSD's dummynet. `state`: how much state of flows a discipline
    may keep: "none", "small" (bounded for any number of flows) or "any". `disciplines`: only these. `dev`: the
    interface in the commands that deploy the best. `access`: instead of `dev`, the interfaces of a two-way access line,
    `sluicegate.deploy.Access(wan="wan0")`. The commands are then for both directions, and the runs simulate what they
    deploy: shapers in series with the modem's buffer. The shapers stay below the line's rate by the margin of `Access`;
    without one, `recommend` tries rates and takes 5 % less than the highest that keep the queue out of the modem
    (`sluicegate.experiments.margin`). `envelopes`: a folder that `sluicegate.envelope` wrote, for notes on your own
    disciplines and on values that are not defaults.

    Raises the exceptions of `compare`, and `ScenarioError` for texts that are not goals, and when no discipline is
    left.

    >>> found = sg.recommend("unresponsive", goals="tcp throughput most", disciplines="drop_tail,choke", seeds=2,
    ...                      duration="20 s", warmup="5 s")
    >>> found.best()
    ['choke']
    """
    if deployable not in (None, *get_args(System)):
        raise ValueError(f"deployable = {deployable!r}: must be {', '.join(SYSTEMS)}")
    if state not in STATES:
        raise ValueError(f"state = {state!r}: must be none, small or any")
    interface(dev)
    measured = None if envelopes is None else load(envelopes)
    if out is not None:
        check_writable(out, FILES)
    given = scenario.subject(network, flows, sets=sets, duration=duration, warmup=warmup)
    text, name, own = given.text(), given.name, given.sets
    with given.told():
        resolved = _core.Scenario(text, name, own).resolved()
    listed, left_out = eligible(resolved, deployable, state, disciplines)
    seeds, line = seed_numbers(seeds), None
    run: dict[str, Any] = {"duration": duration, "warmup": warmup, "jobs": jobs, "progress": progress}
    if access is not None:
        if REVERSE not in resolved["network"]:
            raise _core.ScenarioError(f"{name}: {access_line.ONE_WAY}")

        folder = Path(name).parent

        def fit(choice: Choice) -> Choice:
            sets = (*own, *choice.more)
            return fitted(
                text, name, sets, Traffic(_core.Scenario(text, name, sets).resolved(), folder=folder), choice
            )[0]

        sets = override_texts(sets)
        line = lines.today(network, flows, listed, resolved, access, fit, sets=sets, seeds=seeds, **run)
        access = replace(access, margin=None, margin_up=None)
    ranked = partial(
        _ranked, network, flows, given, listed, left_out, goals=goals, deployable=deployable, seeds=seeds, sets=sets,
        out=out, dev=dev, access=access, measured=measured, run=run,
    )  # fmt: skip
    done = ranked(line)
    for _ in range(MOST_MARGINS):
        if line is None or line.margin is None or not (label := done.misled()):
            break
        parts = line.margin.parts if line.margin.found else None
        choice = next(each for each in listed if each.label == label)
        margin = lines.under(network, flows, choice, resolved, fit, start=parts, sets=sets, seeds=seeds, **run)
        if not margin.found:
            break
        line = replace(line, margin=margin, shapers=lines.shapers(margin))
        done = ranked(line)
    if line is not None and line.margin is not None:
        best = next(each for each in listed if each.label == done.recommended()[0])
        choice = fit(replace(best, more=(*best.more, *line.shapers)))
        done.line = replace(
            line, slower=slower(network, flows, choice, resolved, line.margin, sets=sets, seeds=seeds, **run)
        )
    if out is not None:
        done.write(out)
    return done


def _ranked(
    network: scenario.What, flows: scenario.Flows | None, given: scenario.Subject, listed: Sequence[Choice],
    left_out: Mapping[str, str], line: Line | None, *, goals: str | Iterable[str] | None, deployable: System | None,
    seeds: Sequence[int], sets: scenario.Sets | None, out: str | Path | None, dev: str, access: Access | None,
    measured: Mapping[str, Envelope] | None, run: dict[str, Any],
) -> Recommendation:  # fmt: skip
    """The ranking of `recommend`, with these shapers. Raises what it does."""
    text, name, own = given.text(), given.name, given.sets
    if line is not None:
        sets, own = [*override_texts(sets), *line.shapers], (*own, *line.shapers)
    with given.told():
        resolved = _core.Scenario(text, name, own).resolved()
    traffic, about = Traffic(resolved, folder=Path(name).parent), known(resolved)
    notes: list[str] = []
    if goals is not None:
        found, assumed = parsed([goals] if isinstance(goals, str) else list(goals), about), False
    else:
        found, assumed = scenario.check_goals(resolved, text, name), False
    if not found:
        found, notes = assume(traffic, about)
        assumed = True
        if not found:
            why = "; ".join(notes)
            raise _core.ScenarioError(f"goals: none can be assumed ({why}); state one, such as utilisation above 90 %")
    if not assumed:
        notes += beyond(found, traffic)
    if len(about.links) > 1:
        first, general = about.links[0][0], any(goal.group is None for goal in found)
        what = [*(["goals without a group"] if general else []), *(["the commands"] if access is None else [])]
        notes += [f"{' and '.join(what)} are about link {first}"] if what else []
    chosen, tuned, tuned_up = list[Choice](), {}, {}
    for choice in listed:
        each, tuned[choice.label], tuned_up[choice.label] = fitted(text, name, own, traffic, choice)
        chosen.append(each)
    notes += outside(traffic, listed, tuned, measured)
    _warn_of_length(resolved, len(seeds), listed, run["jobs"])
    runs = partial(
        compare, network, flows, sets=sets, out=out, write=False, **run
    )  # `write` writes them with the ranking
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*lies outside the envelope of", scenario.TrapWarning)  # notes say it
        compared = runs(disciplines=chosen, seeds=seeds)
    then = then_by(found, about)
    close = undecided(compared, found, then)
    if close and (more := further(seeds)):
        again = [each for each in chosen if each.label in close]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scenario.ScenarioWarning)  # said above
            compared = joined(compared, runs(disciplines=again, seeds=more))
    return Recommendation(compared, found, assumed, notes, left_out, deployable, under_each(compared), tuned, dev,
                          access, tuned_up, line, {each.label: each.sets for each in chosen})  # fmt: skip


def _warn_of_length(resolved: Mapping[str, Any], seeds: int, listed: Sequence[Choice], jobs: int | None) -> None:
    """Warn of runs that take more than a minute together, further seeds of all included."""
    runs = len(listed) * seeds * (MOST if seeds > 1 else 1)
    total = runs * traps.seconds(resolved) / (jobs or cores())
    if total > traps.MINUTE_S and traps.seconds(resolved) <= traps.MINUTE_S:  # of a longer one each is told
        said = f"up to {runs} runs take about {traps.about(total)} in all on {jobs or cores()} idle cores"
        less = "fewer seeds or disciplines, or a shorter run.duration, take less"
        scenario.warn([f"{said}; {less}"], scenario.TrapWarning)
