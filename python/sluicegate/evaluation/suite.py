"""The building blocks of a suite: a scenario is a network, named traffic, and the numbers that matter there.

    Scenario("friendly", "5.1.1", "One TCP-friendly transfer", "Two sentences.",
             lambda settings: {"NewReno": bulk()}, (Number("NewReno", "goodput_bps"),))

Every discipline of a comparison runs in the same scenario text; what changes is the override that names it. Disciplines
get their default values. But all of them get the buffer of the scenario's `Workload`, and its target if their own
targets are lengths of the queue, as in `sluicegate reproduce disciplines`. What is said with a discipline's name wins.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal

from .. import _core
from .._generated import Dumbbell, Endpoints, Http, Source, Tcp
from ..declarations import declarations
from ..experiments.controllers import Controller
from ..experiments.disciplines import Choice
from ..experiments.engine import Derive, Experiment, Sets
from ..papers.disciplines.workloads import Workload
from ..quantities import quantity
from ..reproduce import Settings
from ..scenario import PYTHON, Network, scenario
from .metrics import METRICS, derive
from .phases import Phases

RATE_BPS = 10e6
RTT = "100 ms"
NETWORK = Dumbbell(rate="10 Mbit/s", delay="1 ms", access_rate="100 Mbit/s")
LINK = Workload("", "10 Mbit/s", queue=20, limit=83, rtt="125 ms", flows=14)
"""The bottleneck's buffer is the product of its rate and the round trip, 83 packets of 1500 bytes (RFC 7928, Sec. 3.2,
leaves the choice); targets are a quarter of it, 24 ms."""

MOST_PACKETS = 2_000_000
"""Of the table of single packets in the suite's own length: an event each, four of them for a packet of data and its
acknowledgement. `both-ways` has the most, 1.5 million."""

TABLES = ("metrics", "transfers", "distributions")
DRAWN_ONCE = ("courses",)
"""What is kept of each run, and what of the first seed's alone: see `derive`."""

Subject = Choice | Controller
"""What a suite is run on."""

DEFAULT = "rfc7928"
"""The suite that is meant where none is named."""

LINKS = "link"
"""The traffic of a `Number` that is of the first link under study."""


@dataclass(frozen=True)
class Number:
    """What matters in a scenario: a metric of a group of flows, by its name, or of the link; its mean over the points
    of the scenario, or at one of them alone."""

    of: str
    metric: str
    point: str | None = None

    @property
    def text(self) -> str:
        """It in words."""
        metric = METRICS[self.metric]
        unit = f" ({metric.unit})" if metric.unit else ""
        of = "" if self.of == LINKS else f"{self.of}: "
        return f"{of}{metric.label}{unit}{'' if self.point is None else f', {self.point}'}"


@dataclass(frozen=True)
class Scenario:
    """A scenario of a suite.

    `section`: of the RFC. `about`: two sentences. `flows`: sources by the names of their groups, from the settings.
    `matters`: the numbers of the overview, one to four. `queue`: the queue's TOML and `places`: the keys under which
    the discipline stands, where that is not the whole queue. `link`: what buffer and targets follow from. `points`:
    overrides by name, where it is run at several, and `axis`: what these are; `apart`: set-ups of their own, over which
    no mean is shown. `at`: by point, the places of the discipline and the link that its values are for in each, where
    they differ between points. `phases`: what alternates from the end of the warm-up on; runs then last whole cycles.
    `changes`: what changes in a run: seconds, key and value. `sample_s`: another interval of samples than the
    settings'. `packets`: whether single packets are looked at, for the losses of SYNs and acknowledgements and for
    start-up times. `also`: metrics that its table shows beside the usual ones. `drawn`: the groups whose delay and
    goodput are drawn (default: all), and `drawing`: how, where it is run at several points. `marks`: whether
    disciplines that can mark do. `changed`: a person's overrides, which make it another scenario than the suite's: see
    `with_changes`.
    """

    id: str
    section: str
    title: str
    about: str
    flows: Callable[[Settings], Mapping[str, Source]]
    matters: tuple[Number, ...]
    network: Network = NETWORK
    queue: str = ""
    link: Workload = LINK
    places: tuple[str, ...] = ("queue",)
    points: Mapping[str, Sets] = field(default_factory=lambda: {"": ()})
    axis: str = "Point"
    apart: bool = False
    at: Mapping[str, Mapping[str, Workload]] = field(default_factory=dict)
    phases: Phases | None = None
    changes: Callable[[Settings], Sequence[tuple[float, str, str | int]]] = lambda settings: ()
    sample_s: float | None = None
    packets: bool = False
    also: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    drawing: Literal["trade", "ratio", "curve"] = "trade"
    marks: bool = False
    changed: Sets = ()

    @property
    def packet_rate(self) -> float:
        """Packets of 1500 bytes that the link sends in a second, about."""
        return quantity("rate", self.link.rate, "network.rate") / 12_000

    @property
    def overview(self) -> tuple[Number, ...]:
        """What the overview shows: what matters, at each point where these are `apart`."""
        if not self.apart:
            return self.matters
        return tuple(replace(number, point=point) for number in self.matters for point in self.points)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that its table shows, where they have values."""
        asked = {number.metric for number in self.matters} | {*self.also}
        return tuple(name for name, metric in METRICS.items() if metric.always or name in asked)

    @property
    def shown(self) -> tuple[str, ...]:
        """The groups whose delay and goodput are drawn."""
        return self.drawn or tuple(self.flows(QUICK))

    def lasting(self, settings: Settings) -> Settings:
        """How long it is run, and how often it is sampled."""
        settings = settings if self.phases is None else self.phases.lasting(settings)
        return settings if self.sample_s is None else replace(settings, sample_s=self.sample_s)

    def placed(self, point: str) -> Mapping[str, Workload]:
        """The places of the discipline at a point, and the link that its values are for in each."""
        return self.at.get(point) or dict.fromkeys(self.places, self.link)

    def text(self, settings: Settings) -> str:
        """The scenario as TOML, without discipline and length."""
        longer = max(1.0, settings.duration_s / FULL.duration_s)
        packets: dict[str, Any] = {"packets": round(longer * MOST_PACKETS)} if self.packets else {}
        text = scenario(self.network, list(self.flows(settings).values()), duration="1 s", exchanges=True, **packets)
        changes = (
            f'[[changes]]\ntime = "{1000 * time:.12g} ms"\nkey = "{key}"\nvalue = {json.dumps(value)}\n'
            for time, key, value in self.changes(settings)
        )
        return "\n".join((text, self.queue, *changes))

    def with_changes(self, sets: Sets) -> Scenario:
        """The scenario with overrides: of flows, by number, or by "*" of all that have the key; and of the queue, which
        then hold in every place of the discipline.

        Raises `ScenarioError` for any other, and for what the scenario itself varies or needs as it is.
        """
        varied = {key for point in self.points.values() for key, _ in point}
        varied |= {key for _, key, _ in self.changes(self.lasting(QUICK))}
        for key, _ in sets:
            first, _, rest = key.partition(".")
            if key == "queue.discipline":
                raise _core.ScenarioError(f"sets: {key}: cannot be set: the first argument names the disciplines")
            if first not in ("flows", "queue") or not rest:
                raise _core.ScenarioError(
                    f"sets: {key}: is the suite's own; flows, the queue, run.duration and run.warmup can be changed"
                )
            if key in varied:
                raise _core.ScenarioError(
                    f"sets: {key}: is what the scenario varies (in {self.id}); choose other scenarios with --only "
                    "(only=)"
                )
        return replace(self, changed=(*self.changed, *sets))

    def sets(self, choice: Subject, point: str = "") -> Sets:
        """The overrides that put a discipline in its places."""
        assert isinstance(choice, Choice)
        changed = (pair for pair in self.changed if pair[0].startswith("queue."))
        own = (*changed, *choice.sets, *(marking(choice.name) if self.marks else ()))
        return tuple(
            (place + key.removeprefix("queue"), value)
            for place, link in self.placed(point).items() for key, value in (*link.tuned(), *own)
        )  # fmt: skip

    def changes_of(self, flows: Mapping[str, Source]) -> Sets:
        """What is changed of its flows, "*" spelt out."""
        found = []
        for key, value in self.changed:
            first, _, rest = key.partition(".")
            number, _, name = rest.partition(".")
            if first == "flows" and number == "*":
                found += [
                    (f"flows.{at}.{name}", value) for at, each in enumerate(flows.values())
                    if name in {one.name.rstrip("_") for one in fields(each)}
                ]  # fmt: skip
            elif first == "flows":
                found.append((key, value))
        return tuple(found)

    def experiments(self, given: Sequence[Subject], settings: Settings) -> dict[tuple[str, str, str], Experiment]:
        """Its runs, by scenario, point, and discipline or controller."""
        return {
            key: each
            for choice in given if (own := self.under(choice)) is not None
            for key, each in own.runs(choice, settings).items()
        }  # fmt: skip

    def under(self, choice: Subject) -> Scenario | None:
        """The scenario as it is run on this; None where it cannot be."""
        return self

    def runs(self, choice: Subject, settings: Settings) -> dict[tuple[str, str, str], Experiment]:
        """Its runs on one discipline or controller, which it is `under`."""
        settings = self.lasting(settings)
        flows = self.flows(settings)
        made = self.derived(settings, flows)
        keep: dict[str, tuple[str, ...] | None] = dict.fromkeys(TABLES)
        if self.phases is not None:
            keep |= dict.fromkeys(DRAWN_ONCE)
        text = self.text(settings)
        common = (*settings.sets(), ("run.series", "true"), *self.changes_of(flows))
        return {
            (self.id, point, choice.label): Experiment(
                " · ".join(part for part in (self.id, point, choice.label) if part),
                text,
                PYTHON,
                (*common, *sets, *self.sets(choice, point)),
                keep,
                choice.queue if isinstance(choice, Choice) else None,
                made,
                DRAWN_ONCE,
            )
            for point, sets in self.points.items()
        }

    def derived(self, settings: Settings, flows: Mapping[str, Source]) -> Derive:
        """What is kept of a run of it, as long as these settings say."""
        transfers = [(number, each) for number, each in enumerate(flows.values()) if isinstance(each, Tcp | Endpoints)]
        return partial(
            derive,
            measured_s=settings.measured_s,
            warmup_s=settings.warmup_s,
            sample_s=settings.sample_s,
            sized=tuple(number for number, each in transfers if sized(each)),
            lasting=tuple(number for number, each in transfers if not sized(each) and each.stop is None),
            phases=self.phases,
            base_rtts_ns={
                number: quantity("rtt", each.rtt, "network.delay")
                for number, each in enumerate(flows.values())
                if isinstance(each, Http) and each.rtt
            },
        )


def pace(name: str) -> float:
    """About how many seconds a core takes to simulate a packet under a discipline; in Python five times as many."""
    return (5 if ".py:" in name else 1) / 2e6


def sized(source: Tcp | Endpoints) -> bool:
    """Whether a transfer has an end."""
    return isinstance(source, Tcp) and source.size is not None


@dataclass(frozen=True)
class Asked:
    """What the RFC asks for in a section: how strongly, in its own word; what; what is done of it; and how, with the
    ids of scenarios in backquotes."""

    section: str
    word: Literal["must", "should", "recommended", "may"]
    what: str
    done: Literal["done", "partly", "text", "not done"]
    how: str


def asked_table(table: str) -> tuple[Asked, ...]:
    """The rows of a table: section, word, what is asked, whether it is done, and how, between bars."""
    rows = (tuple(cell.strip() for cell in row.split("|")) for row in table.strip().splitlines())
    return tuple(Asked(*row) for row in rows)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Suite:
    """The scenarios of an RFC, and its sections by number. `subject`: what it is run on, and `references`: those that
    are run beside a person's. `part`: what the RFC calls a section. `asks`: all that the RFC asks for, and what is done
    of it. `weights`: how much weight it gives to a section, in its words. `choices`: what it leaves open. `settings`
    and `quick`: how long and how often. `periods`: how often goodput is sampled, in words."""

    name: str
    title: str
    citation: str
    sections: Mapping[str, str]
    scenarios: tuple[Scenario, ...]
    asks: tuple[Asked, ...]
    weights: Mapping[str, str]
    choices: tuple[tuple[str, str, str, str], ...]
    settings: Settings
    quick: Settings
    periods: str
    subject: Literal["discipline", "controller"] = "discipline"
    references: tuple[str, ...] = ("drop_tail", "fq_codel")
    part: str = "Section"

    @property
    def keys(self) -> tuple[str, str, str, str]:
        """The columns that say what a row is of; a run of it has a seed besides."""
        return "scenario", "point", self.subject, "of"

    def weight(self, scenario: Scenario) -> str:
        """The weight of the section that a scenario belongs to, or of the least one around it; "-" without."""
        section = scenario.section
        while section not in self.weights and "." in section:
            section = section.rpartition(".")[0]
        return self.weights.get(section, "–")


FULL = Settings(seeds=(1, 2, 3, 4, 5), duration_s=300, warmup_s=30, sample_s=0.1)
QUICK = Settings(seeds=(1, 2, 3), duration_s=60, warmup_s=10, sample_s=0.1)
"""Samples are a round trip apart: losses of one round trip are one loss event (RFC 7928, Sec. 2.4)."""


def classes(container: str, count: int) -> str:
    """The TOML of a queue with classes, at `queue.classes.0` and so on."""
    return f'[queue]\ndiscipline = "{container}"\n' + '[[queue.classes]]\ndiscipline = "drop_tail"\n' * count


def declared(name: str) -> dict[str, Any] | None:
    """What the registry says of a discipline; None for one of a person's own."""
    return next((each for each in declarations()["disciplines"] if each["name"] == name), None)


def marking(name: str) -> Sets:
    """What makes a discipline mark instead of drop; nothing for one that needs no telling or cannot, or that is a
    person's own."""
    fields = {each["name"]: each["choices"] for each in (declared(name) or {"fields": ()})["fields"]}
    if "mark" in (fields.get("action") or ()):
        return ((f"queue.{name}.action", "mark"),)
    return ((f"queue.{name}.ecn", "true"),) if "ecn" in fields else ()


def marks(name: str) -> str:
    """Whether a discipline of the registry marks, in words."""
    return str((declared(name) or {"marks": "never"})["marks"])
