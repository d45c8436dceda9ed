"""Which discipline, with which parameters, for one's own link and traffic: all that fit, ranked by stated goals.

Every discipline that a person's constraints leave is run on the scenario (`compare`: the same traffic for every seed).
Those that miss the fewest goals come first, and of them those of which the intervals leave the fewest open; among
equals the goals count in the order in which they were stated, then the delay of the groups that no goal is about, then
less state (`ranking`).

A value that the scenario's [queue] states is kept. Of what it leaves out, disciplines made for any link keep their
defaults (`UNTUNED`); the others get one buffer and one target (`design.footing`): a buffer of the product of rate and
round trip, and of `LEAST_BUFFER` at least, and a quarter of it as the target.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from .. import _core, scenario, traps
from ..deploy import Access, Deployment, Undeployable, dummynet, linux, linux_bpf
from ..deploy import access as access_line
from ..deploy.target import interface
from ..design.footing import footing
from ..goals import Goal, known
from ..goals import goals as parsed
from ..io import staged, write_json, write_parquet
from ..paths import REVERSE, Place, places
from ..quantities import in_base_unit
from ..result_object import Frames, ResultObject
from ..stats import CONFIDENCE
from ..traffic import Traffic, typical_rtt_ns
from . import recommend_page
from .assumed import assume, beyond
from .compare import Comparison, Progress, compare
from .disciplines import Choice, Listed, choices
from .engine import cores, seed_numbers
from .ranking import LESS_STATE, MEMORY, distinctions, ranking

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..page import Table

State = Literal["none", "small", "any"]
System = Literal["linux", "linux-bpf", "freebsd"]
SYSTEMS = {"linux": linux, "linux-bpf": linux_bpf, "freebsd": dummynet}
NAMED = {"linux": "Linux", "linux-bpf": "Linux, with BPF queues", "freebsd": "FreeBSD"}

STATES: dict[str, tuple[str, ...]] = {"none": MEMORY[:1], "small": MEMORY[:3], "any": MEMORY}
"""What may be remembered of flows: nothing; a bounded amount, however many flows there are; anything."""

HELP = {
    "decbit": "hosts with DECbit's window",
    "ut_lt": "hosts with UT/LT's window",
    "source_quench": "hosts that heed source quenches",
    "rio": "packets marked in or out where they enter the network",
    "drop_preference": "packets marked with their preference",
    "gred": "virtual queues configured for classes of traffic",
}
"""Disciplines that do nothing better by themselves: what they need of others."""

UNTUNED = ("codel", "fq_codel", "pie", "docsis_pie", "fq_pie", "cake", "dualpi2", "l4s_step", "fq_linux", "sfq")
"""Disciplines whose defaults are for any link."""

LEAST_BUFFER = 50
"""Packets: the least buffer that is chosen, where rate times round trip is less; ns-2's Drop Tail has it."""

PACKET = 1500
"""Bytes of the packets in which buffers are counted."""

RECORD = "recommendation.json"
"""What `Recommendation.write` writes beside the comparison: goals, and what was chosen."""

SEEDS = 5
"""How many seeds unless told."""

DEV = "DEV"
"""What stands for the interface in commands when nobody names it."""


class Recommendation(ResultObject):
    """What `recommend` returns.

    Attributes:
        ranking: The disciplines (`Ranked`), the best first.
        goals: What they are ranked by, in order.
        among_equals: What decides where these do not, in order: little delay for each group that none of them is about,
            in the words of goals, then less state about flows. Those that keep all bounds are tied all the same.
        assumed: Whether the goals were assumed because none was stated.
        notes: Which groups no goal was assumed for, or less than usual, and why; which goals nothing can keep.
        distinctions: What distinguishes the disciplines of rank 1, where there are several.
        left_out: Disciplines that were not run, and why.
        comparison: The runs, with all means and intervals.
        system: What it is to be deployed on, if that was said.
        dev: The interface in the commands.
        access: The interfaces of an access line, whose commands are for both directions; None: those of `dev` alone.
    """

    def __init__(
        self, comparison: Comparison, found: Sequence[Goal], assumed: bool, notes: Sequence[str],
        left_out: Mapping[str, str], system: System | None, resolved: Mapping[str, dict[str, Any]],
        tuned: Mapping[str, dict[str, str]], dev: str = DEV, access: Access | None = None,
    ) -> None:  # fmt: skip
        """`resolved`: the scenario under each discipline. `tuned`: what `suited` gave. Made by `recommend`."""
        self.comparison, self.goals, self.assumed = comparison, list(found), assumed
        self.notes, self.left_out, self.system = list(notes), dict(left_out), system
        self._resolved, self._tuned, self.dev, self.access = resolved, dict(tuned), dev, access
        about = known(next(iter(resolved.values()), comparison.summary["scenario"]))
        others = [name for name in about.groups if name not in {goal.group for goal in self.goals}]
        then = parsed([f"{name} delay least" for name in others], about)
        self.among_equals = [*(goal.text for goal in then), LESS_STATE]
        self.ranking = ranking(comparison, self.goals, then)
        tied = [each for each in self.ranking if each.rank == 1]
        self.distinctions = distinctions(comparison, tied, [*self.goals, *then]) if len(tied) > 1 else []
        self.summary = comparison.summary

    @classmethod
    def read(cls, directory: str | Path) -> Recommendation:
        """What `write` wrote, or `recommend` with `out`. Raises OSError, and ValueError when the folder holds none."""
        comparison = Comparison.read(directory)
        about = json.loads((Path(directory) / RECORD).read_bytes())
        under = _under(comparison)
        goals = parsed(about["goals"], known(next(iter(under.values()), comparison.summary["scenario"])))
        assumed, notes, left_out, system = (about[key] for key in ("assumed", "notes", "left_out", "system"))
        line = Access(**about["access"]) if about["access"] else None
        return cls(comparison, goals, assumed, notes, left_out, system, under, about["chosen"], about["dev"], line)

    def write(self, directory: str | Path) -> Path:
        """Write what `Comparison.write` writes, with the page of the recommendation in place of the comparison's, and
        ranking.parquet and recommendation.json; return the directory. They appear whole or not at all.

        Raises OSError."""
        about = {"goals": [goal.text for goal in self.goals], "assumed": self.assumed, "notes": self.notes}
        about |= {"left_out": self.left_out, "system": self.system, "chosen": self._tuned, "dev": self.dev}
        about |= {"access": None if self.access is None else asdict(self.access)}
        with staged(directory) as folder:
            self.comparison.write_files(folder, self.html())
            write_parquet(self.tables["ranking"], folder / "ranking.parquet")
            write_json(folder / RECORD, about)
        return Path(directory)

    @property
    def tables(self) -> Frames:
        """`ranking`, and the tables of the comparison."""
        import polars as pl

        rows = [
            {"rank": each.rank, "discipline": each.label, "goal": goal.text, "kept": kept}
            | _interval(self.comparison.mean(each.label, goal.column))
            for each in self.ranking
            for goal, kept in zip(self.goals, each.kept, strict=True)
        ]
        types = {"rank": pl.Int64, "kept": pl.Boolean} | dict.fromkeys(("mean", "low", "high"), pl.Float64)
        ranking = pl.DataFrame(rows, schema_overrides=types)
        return Frames({"ranking": ranking, **self.comparison.tables})

    def plot(self) -> Figure:
        """Throughput, loss and delay of each group of flows under each discipline."""
        return self.comparison.plot()

    def html(self) -> str:
        """The page: goals and ranking, how to deploy the best, and the comparison."""
        return recommend_page.page(
            self.comparison, self.ranking, self.goals, self.among_equals, self.assumed, self.notes, self.left_out,
            self.system, self.chosen, self.deployment, self.distinctions,
        ).html()  # fmt: skip

    def overview(self) -> Table:
        """The ranking."""
        return recommend_page.table(self.comparison, self.ranking, self.goals)

    def best(self) -> list[str]:
        """The disciplines of rank 1, by label."""
        return [each.label for each in self.ranking if each.rank == 1]

    def chosen(self, label: str) -> dict[str, str]:
        """The parameters of a discipline that were chosen for the link, as neither scenario nor label states them."""
        return dict(self._tuned[label])

    def deployment(self, label: str, dev: str | None = None, system: System | None = None) -> Deployment:
        """The commands that deploy a discipline as it was run: of an access line in both directions, unless `dev` is
        given, else on the first link under study. `dev`, `system`: default what was asked for, else Linux. Raises
        `sluicegate.deploy.Undeployable` where that has none, and KeyError."""
        resolved, system = self._resolved[label], system or self.system or "linux"
        if self.access is not None and dev is None and system == "linux":
            return access_line.lines(resolved, self.access)
        first = None if REVERSE in resolved["network"] else places(resolved)[0].name
        lines: Callable[..., Deployment] = SYSTEMS[system].lines
        return lines(resolved, dev or self.dev, first)

    def record(self) -> dict[str, Any]:
        """Everything as JSON knows it."""
        return {
            "goals": [goal.text for goal in self.goals],
            "among_equals": self.among_equals,
            "assumed": self.assumed,
            "confidence": CONFIDENCE,
            "ranking": [
                {
                    "rank": each.rank,
                    "discipline": each.label,
                    "behind": each.behind,
                    "memory": each.memory,
                    "goals": [
                        {"goal": goal.text, "kept": kept} | _interval(self.comparison.mean(each.label, goal.column))
                        for goal, kept in zip(self.goals, each.kept, strict=True)
                    ],
                }
                for each in self.ranking
            ],
            "distinctions": self.distinctions,
            "notes": self.notes,
            "left_out": self.left_out,
            "best": [
                {"discipline": label, "chosen": self.chosen(label)} | self._deployed(label) for label in self.best()
            ],
            "comparison": self.comparison.record(),
        }

    def _deployed(self, label: str) -> dict[str, Any]:
        """How a discipline is deployed, or why it is not, as JSON knows it."""
        try:
            found = self.deployment(label)
        except Undeployable as error:
            return {"system": self.system or "linux", "lines": None, "remarks": [str(error)]}
        return {"system": self.system or "linux", "lines": found.lines, "remarks": found.remarks}

    def __repr__(self) -> str:
        return f"<sluicegate.Recommendation {', '.join(self.best())}; {len(self.ranking)} disciplines>"


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
    progress: Progress | bool | None = None,
) -> Recommendation:
    """Rank the disciplines that fit by goals for the groups of flows of a scenario.

    `network`, `flows`, `seeds`, `duration`, `warmup`, `sets`, `jobs`, `out` and `progress` as for `compare`. `goals`:
    such as "voip p99 below 30 ms" or "web response p50 least within 10 %" (`sluicegate.goals` says more), in the order
    of their weight; default those of
    run.goals, else some are assumed. `deployable`: only what Linux, Linux with BPF queues, or FreeBSD's dummynet has.
    `state`: what may be remembered of flows: "none", "small" (bounded, however many flows there are) or "any".
    `disciplines`: among these alone. `dev`: the interface in the commands that deploy the best. `access`: instead
    those of a two-way access line, `sluicegate.deploy.Access(wan="wan0")`, whose commands are for both directions.

    Raises what `compare` does, and `ScenarioError` for goals that are none, and when no discipline is left.
    """
    if deployable not in (None, *get_args(System)):
        raise ValueError(f"deployable = {deployable!r}: must be linux, linux-bpf or freebsd")
    if state not in STATES:
        raise ValueError(f"state = {state!r}: must be none, small or any")
    interface(dev)
    given = scenario.subject(network, flows, sets=sets, duration=duration, warmup=warmup)
    text, name, own = given.text(), given.name, given.sets
    with given.told():
        resolved = json.loads(_core.check(text, name, own))
    if access is not None and REVERSE not in resolved["network"]:
        raise _core.ScenarioError(f"{name}: {access_line.ONE_WAY}")
    traffic, about = Traffic(resolved), known(resolved)
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
        commands = ", as are the commands" if access is None else ""
        notes.append(f"without a group, quantities are those of link {about.links[0][0]}{commands}")
    listed, left_out = candidates(resolved, deployable, state, disciplines)
    tuned = {choice.label: suited(text, name, own, traffic, choice) for choice in listed}
    chosen = [replace(each, values=(*tuned[each.label].items(), *each.values)) for each in listed]
    seeds = seed_numbers(seeds)
    _warn_of_length(resolved, len(seeds), listed, jobs)
    compared = compare(
        network, flows, disciplines=chosen, seeds=seeds, duration=duration, warmup=warmup, sets=sets, jobs=jobs,
        out=out, progress=progress,
    )  # fmt: skip
    done = Recommendation(compared, found, assumed, notes, left_out, deployable, _under(compared), tuned, dev,
                          access)  # fmt: skip
    if out is not None:
        done.write(out)
    return done


def _under(compared: Comparison) -> dict[str, dict[str, Any]]:
    """The resolved scenario under each discipline."""
    return {
        label: compared.summary["scenario"] | {"queue": each["queue"]}
        for label, each in zip(compared.disciplines, compared.summary["disciplines"], strict=True)
        if "queue" in each
    }


def _warn_of_length(resolved: Mapping[str, Any], seeds: int, listed: Sequence[Choice], jobs: int | None) -> None:
    """Warn of runs that take more than a minute together."""
    runs = len(listed) * seeds
    total = runs * traps.seconds(resolved) / (jobs or cores())
    if total > traps.MINUTE_S and traps.seconds(resolved) <= traps.MINUTE_S:  # of a longer one each is told
        said = (
            f"{runs} runs take about {traps.about(total)} in all; fewer seeds or disciplines, or a shorter run.duration"
        )
        scenario.warn([f"{said}, take less"], scenario.TrapWarning)


def candidates(
    resolved: Mapping[str, Any], system: System | None, state: State, among: Listed | None
) -> tuple[list[Choice], dict[str, str]]:
    """The disciplines that a person's constraints leave, and the others with the reason. Those with classes of traffic
    fit only where the scenario describes its classes. Raises `ScenarioError` when none is left."""
    declared = {each["name"]: each for each in json.loads(_core.declarations())["disciplines"]}
    module = SYSTEMS.get(system or "")
    kept, left_out = [], {}
    for choice in choices(among if among is not None else list(declared)):
        about = declared.get(choice.name)
        described = resolved["queue"]["discipline"] == choice.name
        if about is not None and about["container"] and not described:
            left_out[choice.label] = "holds classes of traffic, which the scenario does not describe"
        elif among is None and choice.name in HELP and not described:
            left_out[choice.label] = f"needs {HELP[choice.name]}"
        elif about is None and state != "any":
            left_out[choice.label] = "does not say what it remembers"
        elif about is not None and about["memory"] not in STATES[state]:
            left_out[choice.label] = f"remembers {about['memory']}"
        elif module is not None and about is None:
            left_out[choice.label] = "is of your own, which no command deploys"
        elif module is not None and not module.deployable(choice.name):
            left_out[choice.label] = f"is not in {NAMED[system or 'linux']}"
        else:
            kept.append(choice)
    if not kept:
        why = "; ".join(f"{label} {reason}" for label, reason in left_out.items())
        raise _core.ScenarioError(f"no discipline is left: {why}")
    return kept, left_out


def suited(
    text: str, name: str, sets: Sequence[tuple[str, str]], traffic: Traffic, choice: Choice
) -> dict[str, str]:  # fmt: skip
    """The parameters that give a discipline a buffer and a target for the first link under study, as far as neither the
    scenario nor `sets` nor `choice` states any. The target follows from the buffer, be that stated."""
    declared = {each["name"]: each for each in json.loads(_core.declarations())["disciplines"]}
    about = declared.get(choice.name)
    if about is None or about["container"] or choice.given is not None or choice.name in UNTUNED:
        return {}
    fields = {field["name"] for field in about["fields"]}
    table = tomllib.loads(text).get("queue", {})
    stated = {key for key in table if not isinstance(table[key], Mapping)} | {*table.get(choice.name, {})}
    stated |= {key.rpartition(".")[2] for key, _ in sets if key.startswith(("queue.", f"queue.{choice.name}."))}
    stated |= {key for key, _ in choice.values}
    if stated & {"min_th", "max_th"}:
        stated |= {"min_th", "max_th"}
    place = places(traffic.resolved)[0]
    there = traffic.at[place.name]
    limit, rtt_ns = buffer(place, typical_rtt_ns(there))
    if "limit" in stated:
        given = json.loads(_core.check(text, name, [*sets, *choice.sets]))["queue"]["limit"]
        limit = given if isinstance(given, int) else max(1, in_base_unit(given) // PACKET)
    queue = max(3, limit // 4)
    transfers = sum(group.count for group in there if group.flow["kind"] == "tcp" and group.lasting) or 1
    rtt = f"{round(rtt_ns + place.time_ns(PACKET, queue))} ns"
    wanted = footing(rate=f"{place.rate_bps} bit/s", rtt=rtt, flows=transfers, queue=queue, limit=limit)
    found = {}
    for key, value in wanted.items():
        of, point, bare = key.rpartition(".")
        if (not point or of == choice.name) and bare in fields - stated:
            found[bare] = value
    return found


def buffer(place: Place, rtt_ns: float) -> tuple[int, float]:
    """The buffer in packets that the product of a link's rate and a round trip asks for, and that round trip; 100 ms
    where no transfer has one."""
    rtt_ns = rtt_ns or 100e6
    return max(LEAST_BUFFER, math.ceil(rtt_ns / place.time_ns(PACKET))), rtt_ns


def _interval(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("mean", "low", "high")}
