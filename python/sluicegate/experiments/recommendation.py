"""What `recommend` gives: the ranking, what was chosen for each discipline, and how it is deployed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import scenario
from ..deploy import Access, Deployment, Undeployable, formats, linux_bpf
from ..deploy import access as access_line
from ..goals import Goal, Known, known
from ..goals import goals as parsed
from ..io import staged, write_json, write_parquet
from ..quantities import duration as duration_text
from ..results.result_object import Frames, ResultObject
from ..stats import CONFIDENCE
from ..traffic.paths import REVERSE, places
from ..traffic.responsiveness import grade, increase_text
from . import margin as margins
from . import recommend_page
from .compare import Comparison
from .eligible import SYSTEMS, TC, System
from .line import Line
from .ranking import LESS_STATE, distinctions, ranking

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..page import Page, Table

RECORD = "recommendation.json"
"""What `Recommendation.write` writes beside the comparison: goals, and what was chosen."""

DEV = "DEV"
"""What stands for the interface in commands when nobody names it."""


class Recommendation(ResultObject):
    """What `recommend` returns.

    Attributes:
        ranking: The disciplines (`Ranked`), the best first.
        goals: The goals of the ranking, in order.
        among_equals: What decides if the goals do not, in order: the delay of each group without a goal, then less
            state of flows. It does not decide among disciplines that keep all bounds of the goals: these are tied.
        assumed: Whether the goals were assumed because none was stated.
        notes: Which groups have no assumed goal, or an easier one, and why; which goals no discipline can keep.
        distinctions: What distinguishes the disciplines of rank 1, if there are several.
        left_out: Disciplines that were not run, and why.
        comparison: The runs, with all means and intervals.
        system: The system for the deployment, if given.
        dev: The interface in the commands.
        access: The interfaces of an access line, whose commands are for both directions; None: the commands are for
            `dev`.
        line: For an access line, its state today and the margin chosen for its shapers; otherwise None.

    >>> found = sg.recommend("unresponsive", goals="udp delay below 200 ms", disciplines="codel,pie", seeds=2,
    ...                      duration="4 s", warmup="1 s", deployable="linux")
    >>> found.deployment("codel", dev="eth0").lines[-1]
    'tc qdisc add dev eth0 parent 1:1 handle 10: codel limit 300 target 12ms interval 100ms noecn'
    """

    def __init__(
        self, comparison: Comparison, found: Sequence[Goal], assumed: bool, notes: Sequence[str],
        left_out: Mapping[str, str], system: System | None, resolved: Mapping[str, dict[str, Any]],
        tuned: Mapping[str, dict[str, str]], dev: str = DEV, access: Access | None = None,
        tuned_up: Mapping[str, dict[str, str] | None] | None = None, line: Line | None = None,
        sets: Mapping[str, Sequence[Sequence[str]]] | None = None,
    ) -> None:  # fmt: skip
        """`resolved`: the scenario under each discipline. `tuned`: what `suited` gave, `tuned_up`: `suited_reverse`.
        `sets`: the overrides that choose each discipline. Made by `recommend`."""
        self.comparison, self.goals, self.assumed = comparison, list(found), assumed
        self.notes, self.left_out, self.system = list(notes), dict(left_out), system
        self._resolved, self._tuned, self.dev, self.access = resolved, dict(tuned), dev, access
        self._tuned_up, self.line = dict(tuned_up or {}), line
        self._sets = {label: [(key, value) for key, value in pairs] for label, pairs in (sets or {}).items()}
        then = then_by(self.goals, known(next(iter(resolved.values()), comparison.summary["scenario"])))
        self.among_equals = [*(goal.text for goal in then), LESS_STATE]
        self.ranking = ranking(comparison, self.goals, then)
        tied = [each for each in self.ranking if each.rank == 1]
        self.distinctions = distinctions(comparison, tied, [*self.goals, *then]) if len(tied) > 1 else []
        self.summary = comparison.summary

    @classmethod
    def read(cls, directory: str | Path) -> Recommendation:
        """What `write` wrote, or `recommend` with `out`. Raises OSError, and ValueError when the folder has no such
        results."""
        comparison = Comparison.read(directory)
        about = json.loads((Path(directory) / RECORD).read_bytes())
        under = under_each(comparison)
        goals = parsed(about["goals"], known(next(iter(under.values()), comparison.summary["scenario"])))
        assumed, notes, left_out, system = (about[key] for key in ("assumed", "notes", "left_out", "system"))
        access = Access(**about["access"]) if about["access"] else None
        line = Line.read(about["line"]) if about.get("line") else None
        return cls(comparison, goals, assumed, notes, left_out, system, under, about["chosen"], about["dev"], access,
                   about.get("chosen_up"), line, about.get("sets"))  # fmt: skip

    def write(self, directory: str | Path) -> Path:
        """Write what `Comparison.write` writes, with the page of the recommendation in place of the comparison's, and
        ranking.parquet and recommendation.json; return the directory. They appear completely or not at all.

        Raises OSError."""
        about = {"goals": [goal.text for goal in self.goals], "assumed": self.assumed, "notes": self.notes}
        about |= {"left_out": self.left_out, "system": self.system, "chosen": self._tuned, "dev": self.dev}
        about |= {"access": None if self.access is None else asdict(self.access), "chosen_up": self._tuned_up}
        about |= {"line": None if self.line is None else self.line.record(), "sets": self._sets}
        with staged(directory) as folder:
            self.comparison.write_files(folder, self._page())
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
        return self._page().html()

    def _page(self) -> Page:
        return recommend_page.page(
            self.comparison, self.ranking, self.goals, self.among_equals, self.assumed,
            [*self.notes, *self.no_gain(self.recommended()[0])], self.left_out, self.system, self.chosen,
            self.deployment, self.distinctions, self.recommended(), self.gain(), self.load(), self.line,
            self.evidence(), self._files(),
        )  # fmt: skip

    def overview(self) -> Table:
        """The ranking."""
        return recommend_page.table(self.comparison, self.ranking, self.goals)

    def best(self) -> list[str]:
        """The disciplines of rank 1, by label."""
        return [each.label for each in self.ranking if each.rank == 1]

    def recommended(self) -> list[str]:
        """The labels of the disciplines to deploy, the best first.

        These are the disciplines of rank 1. If `recommend` chose the margin of the shapers, those that leave the queue
        in the modem with this margin come last. If none of the others can be deployed, a discipline of a lower rank
        precedes them: the first that can be deployed and keeps the queue out of the modem."""
        best = self.best()
        held = [label for label in best if self._held(label)]
        late = [label for label in best if label not in held]
        if late and not any(map(self.deployable, held)):
            more = (each.label for each in self.ranking if each.label not in best)
            held += next(([label] for label in more if self._held(label) and self.deployable(label)), [])
        return [*held, *late]

    def misled(self) -> str | None:
        """The first deployable discipline of rank 1, if with the chosen margin all deployable disciplines of rank 1
        leave the queue in the modem; otherwise None.

        If `recommend` searched for a margin and found none, the result depends on the discipline of the search: None if
        that is a deployable one of rank 1, otherwise the first deployable discipline of rank 1."""
        known = [label for label in self.best() if self.deployable(label)]
        margin = None if self.line is None else self.line.margin
        if margin is not None and not margin.found:
            known = [] if margin.discipline in known else known
        elif any(map(self._held, known)):
            known = []
        return next(iter(known), None)

    def deployable(self, label: str) -> bool:
        """Whether commands deploy it."""
        try:
            return bool(self.deployment(label))
        except Undeployable:
            return False

    def _tried(self, label: str) -> margins.Tried | None:
        """Where packets wait under it with the margin that was chosen; None where none was, or where none holds."""
        margin = None if self.line is None else self.line.margin
        if margin is None or not margin.found:
            return None
        return margins.waits(self.comparison, label, margin.deployed)

    def _held(self, label: str) -> bool:
        """Whether it keeps the queue out of the modem with the margin that was chosen, if any was."""
        tried, line = self._tried(label), self.line
        return tried is None or line is None or line.margin is None or not line.margin.late(tried)

    def evidence(self) -> list[str]:
        """Lines that say where packets wait with the chosen margin, for each discipline that may be deployed."""
        lines = []
        for label in self.recommended():
            tried = self._tried(label)
            if tried is None or self.line is None or self.line.margin is None:
                continue
            if self.deployable(label):
                said = "" if self._held(label) else ": the queue is in the modem"
                lines.append(
                    f"  with {label} deployed, 99 % of all packets (transfers included) wait at most: "
                    f"{tried.text(self.line.margin.little)}{said}"
                )
        return lines

    def late(self, label: str) -> list[str]:
        """Remarks on a discipline that leaves the queue in the modem with the chosen margin."""
        tried = self._tried(label)
        if tried is None or self._held(label):
            return []
        waits = duration_text(max(tried.modem.values()) / 1e9)
        return [f"with {label} 99 % of packets wait up to {waits} in the modem at this margin, which was chosen under "
                f"another discipline; --disciplines {label} tries other margins"]  # fmt: skip

    def chosen(self, label: str) -> dict[str, str]:
        """The parameters of a discipline that `recommend` chose for the link, because neither scenario nor label states
        them."""
        return dict(self._tuned[label])

    def chosen_up(self, label: str) -> dict[str, str] | None:
        """The parameters chosen for the opposite direction: empty if the defaults fit; None if they equal `chosen`."""
        return self._tuned_up.get(label)

    def deployment(self, label: str, dev: str | None = None, system: System | None = None) -> Deployment:
        """The commands that deploy a discipline as it was run: for both directions of an access line, and in other
        scenarios for the first link under study. `dev`, `system`: by default those given to `recommend`, else Linux.
        Raises `sluicegate.deploy.Undeployable` if the system lacks the discipline, or if `dev` names one interface for
        a line with two directions, and KeyError."""
        resolved, system = self._resolved[label], system or self.system or "linux"
        if self.access is not None and dev is None and system in TC:
            found = access_line.lines(resolved, self.access)
            return found.remarked(self.cautions(label))
        first = None if REVERSE in resolved["network"] else places(resolved)[0].name
        if system == "linux-bpf":
            file, given = self._given()
            sets = [*(pair for pair in given if not pair[0].startswith("run.")), *self._sets[label]]
            made = linux_bpf.command(file, resolved, dev or self.dev, first, sets)
            if made is not None:
                return made
        lines: Callable[..., Deployment] = SYSTEMS[system].lines
        return lines(resolved, dev or self.dev, first)

    def _given(self) -> tuple[str, list[tuple[str, str]]]:
        """The file of the scenario and its overrides, without those that put shapers into it."""
        file, sets = self.comparison.summary["file"], self.comparison.summary["sets"]
        shapers = () if self.line is None else self.line.shapers
        pairs = [(key, value) for key, _, value in (each.partition("=") for each in sets)]
        name = "FILE" if file in (scenario.PYTHON, scenario.TEXT) else file
        return name, [pair for pair in pairs if pair not in shapers]

    def _files(self) -> list[str]:
        """Which command writes the lines of the first that is recommended as a router's own file, in a sentence."""
        label = next(filter(self.deployable, self.recommended()), None)
        command = None if label is None else self.command(label, *self._given())
        if label is None or command is None:
            return []
        known = [f"--format {name}" for name in formats.fitting(self.deployment(label)) if name != "tc"]
        return [f"As a router's own file: {command}, with {' or '.join(known)}."]

    def settled(self) -> Access | None:
        """The interfaces with the chosen margins, so that no rates are tried again."""
        margin = None if self.line is None else self.line.margin
        if self.access is None or margin is None or not margin.found:
            return self.access
        down, up = (1 - part for part in margin.deployed.values())
        return replace(self.access, margin=down, margin_up=up)

    def cautions(self, label: str) -> list[str]:
        """Remarks on a discipline in both directions of an access line, to read before deployment."""
        margin = None if self.line is None else self.line.margin
        return [*self.no_gain(label), *self.late(label), *([] if margin is None else margin.remarks())]

    def gain(self) -> list[str]:
        """A sentence that says by how much the deployment changes the latency under load of an access line, if
        known."""
        label, today = self.recommended()[0], None if self.line is None else self.line.increase_ns
        then = None if today is None else self.comparison.responsiveness(label)
        if today is None or then is None:
            return []
        now, later = (f"{increase_text(ns)} ({grade(ns)})" for ns in (today, then.increase_ns))
        if self.line is not None and self.line.slower is not None:
            less, slow = self.line.slower.increases_ns[0]
            later += f", and {increase_text(slow)} ({grade(slow)}) if the line is {100 * less:g} % slower"
            later += " than the file says"
        price = [] if self.line is None or self.line.margin is None else self.line.margin.price()
        worse = "Worse than today: l" if self.no_gain(label) else "L"
        return [f"{worse}atency under load: today {now}, with {label} {later}.", *price]

    def load(self) -> list[tuple[str, str]]:
        """Latency under load of an access line today and with the best disciplines, in words."""
        if self.line is None:
            return []
        today = [] if self.line.today is None else [("today, without shapers", self.line.today.replace("  ", ": "))]
        found = ((label, self.comparison.responsiveness(label)) for label in self.best())
        return [*today, *((f"{label}, in the shapers", each.text()) for label, each in found if each is not None)]

    def no_gain(self, label: str) -> list[str]:
        """Remarks on a discipline with which an access line is no more responsive than today."""
        today = None if self.line is None else self.line.increase_ns
        then = None if today is None else self.comparison.responsiveness(label)
        if today is None or then is None or then.increase_ns < today:
            return []
        more, now = (f"{ns / 1e6:.0f} ms" for ns in (then.increase_ns, today))
        return [f"no better than today: with {label} latency under load grows by {more}, today by {now}; a flow that "
                "sends more than its share waits in its own queue"]  # fmt: skip

    def command(self, label: str, file: str, sets: Sequence[tuple[str, str]] = ()) -> str | None:
        """The command `sluicegate tc …` that writes the lines of `deployment` for an access line; you can add --format.
        None without an access line. `file`, `sets`: the scenario and overrides of the recommendation."""
        if self.access is None or self.line is None:
            return None
        words = [f"{key}={value}" for key, value in (*sets, *self._sets[label])]
        shapers, margin = self.line.shapers, []
        if shapers and self.comparison.names[label] == "drop_tail":  # whose limit in time is of the shaper's rate
            words += [f"{key}={value}" for key, value in shapers]
        elif shapers:
            down, up = (f"{100 - float(rate.removesuffix('%')):g} %" for _, rate in shapers)
            margin = ["--margin", down if down == up else f"{down},{up}"]
        where = ["--wan", self.access.wan, *([] if self.access.lan is None else ["--lan", self.access.lan]), *margin]
        given = [part for word in words for part in ("--set", word)]
        return " ".join(_quoted(word) for word in ("sluicegate", "tc", file, *given, *where))

    def record(self) -> dict[str, Any]:
        """Everything as JSON."""
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
            "line": None if self.line is None else self.line.record(),
            "best": [
                {"discipline": label, "chosen": self.chosen(label)} | self._deployed(label) for label in self.best()
            ],
            "recommended": self.recommended(),
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


def _quoted(word: str) -> str:
    """A word of a command, in double quotes where the shell needs any and these do."""
    quoted = shlex.quote(word)
    return quoted if quoted == word or re.search(r'["$`\\!]', word) else f'"{word}"'


def _interval(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("mean", "low", "high")}


def then_by(found: Sequence[Goal], about: Known) -> list[Goal]:
    """What decides where goals do not: little delay of each group that none is about."""
    others = [name for name in about.groups if name not in {goal.group for goal in found}]
    return parsed([f"{name} delay least" for name in others], about)


def under_each(compared: Comparison) -> dict[str, dict[str, Any]]:
    """The resolved scenario under each discipline."""
    found = {}
    for label, each in zip(compared.disciplines, compared.summary["disciplines"], strict=True):
        if "queue" in each:
            about = dict(compared.summary["scenario"]) | {"queue": each["queue"]}
            if "reverse_queue" in each:
                reverse = about["network"][REVERSE] | {"queue": each["reverse_queue"]}
                about["network"] = about["network"] | {REVERSE: reverse}
            found[label] = about
    return found
