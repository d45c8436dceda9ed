"""The words in which a suite is written: a scenario is a network, named traffic, and the numbers that matter there.

    Scenario("friendly", "5.1.1", "One TCP-friendly transfer", "Two sentences.",
             lambda settings: {"NewReno": bulk()}, (Number("NewReno", "goodput_bps"),))

Every discipline of a comparison meets the same text; what changes is the override that names it. Disciplines get their
default values, but all of them the buffer and, if their targets are lengths of the queue, the target of the scenario's
`Workload`, as in `sluicegate reproduce disciplines`. What is said with a discipline's name wins.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from typing import Any

from .. import _core
from .._generated import Dumbbell, Source, Tcp
from ..experiments.disciplines import Choice
from ..experiments.engine import Experiment, Sets
from ..papers.disciplines.workloads import Workload
from ..quantities import quantity
from ..reproduce import Settings
from ..scenario import PYTHON, Network, scenario
from .metrics import METRICS, derive

RATE_BPS = 10e6
RTT = "100 ms"
NETWORK = Dumbbell(rate="10 Mbit/s", delay="1 ms", access_rate="100 Mbit/s")
LINK = Workload("", "10 Mbit/s", queue=20, limit=83, rtt="125 ms", flows=14)
"""The bottleneck's buffer is the product of its rate and the round trip, 83 packets of 1500 bytes (RFC 7928, Sec. 3.2,
leaves the choice); targets are a quarter of it, 24 ms."""

LINKS = "link"
"""The traffic of a `Number` that is of the first link under study."""


@dataclass(frozen=True)
class Number:
    """What matters in a scenario: a metric of a group of flows, by its name, or of the link."""

    of: str
    metric: str

    @property
    def text(self) -> str:
        """It in words."""
        metric = METRICS[self.metric]
        unit = f" ({metric.unit})" if metric.unit else ""
        return f"{metric.label}{unit}" if self.of == LINKS else f"{self.of}: {metric.label}{unit}"


@dataclass(frozen=True)
class Scenario:
    """A scenario of a suite.

    `section`: of the RFC. `about`: two sentences. `flows`: sources by the names of their groups, from the settings.
    `matters`: the numbers of the overview, one to three. `queue`: the queue's TOML and `places`: the keys under which
    the discipline stands, where that is not the whole queue. `link`: what buffer and targets follow from. `points`:
    overrides by name, where it is run at several. `changes`: what changes in a run: seconds, key and value. `capacity`:
    the link's bit/s at a time, where the queue is drawn over time. `also`: metrics that its table shows beside the
    usual ones. `apart`: groups that stand for something else than traffic. `drawn`: the groups whose delay and goodput
    are drawn (default: all). `marks`: whether disciplines that can mark do. `changed`: a person's overrides, which make
    it another scenario than the suite's: see `with_changes`.
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
    changes: Callable[[Settings], Sequence[tuple[float, str, str]]] = lambda settings: ()
    capacity: Callable[[float], float] | None = None
    also: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    marks: bool = False
    changed: Sets = ()

    @property
    def packets(self) -> float:
        """Packets of 1500 bytes that the link sends in a second, about."""
        return quantity("rate", self.link.rate, "network.rate") / 12_000

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that its table shows, where they have values."""
        asked = {number.metric for number in self.matters} | {*self.also}
        return tuple(name for name, metric in METRICS.items() if metric.always or name in asked)

    @property
    def shown(self) -> tuple[str, ...]:
        """The groups whose delay and goodput are drawn."""
        return self.drawn or tuple(name for name in self.flows(QUICK) if name not in self.apart)

    def text(self, settings: Settings) -> str:
        """The scenario as TOML, without discipline and length."""
        text = scenario(self.network, list(self.flows(settings).values()), duration="1 s", exchanges=True)
        changes = (
            f'[[changes]]\ntime = "{1000 * time:.12g} ms"\nkey = "{key}"\nvalue = "{value}"\n'
            for time, key, value in self.changes(settings)
        )
        return "\n".join((text, self.queue, *changes))

    def with_changes(self, sets: Sets) -> Scenario:
        """The scenario with overrides: of flows, by number, or by "*" of all that have the key; and of the queue, which
        then hold in every place of the discipline.

        Raises `ScenarioError` for any other, and for what the scenario itself varies or needs as it is.
        """
        varied = {key for point in self.points.values() for key, _ in point}
        names = list(self.flows(QUICK))
        for key, _ in sets:
            first, _, rest = key.partition(".")
            number = rest.partition(".")[0]
            if key == "queue.discipline":
                raise _core.ScenarioError(f"sets: {key}: a suite takes the disciplines it is given, not this one")
            if first not in ("flows", "queue") or not rest:
                raise _core.ScenarioError(
                    f"sets: {key}: is the suite's own; flows, the queue, run.duration and run.warmup can be changed"
                )
            stands = first == "flows" and number.isdecimal() and int(number) < len(names)
            if key in varied or (stands and names[int(number)] in self.apart):
                why = "is what the scenario varies" if key in varied else "stands for the capacity"
                raise _core.ScenarioError(f"sets: {key}: {why} (in {self.id}); choose other scenarios by only")
        return replace(self, changed=(*self.changed, *sets))

    def sets(self, choice: Choice) -> Sets:
        """The overrides that put a discipline in its places."""
        changed = (pair for pair in self.changed if pair[0].startswith("queue."))
        own = (*self.link.tuned(), *changed, *choice.sets, *(marking(choice.name) if self.marks else ()))
        return tuple((place + key.removeprefix("queue"), value) for place in self.places for key, value in own)

    def changes_of(self, flows: Mapping[str, Source]) -> Sets:
        """What is changed of its flows, "*" spelt out."""
        found = []
        for key, value in self.changed:
            first, _, rest = key.partition(".")
            number, _, name = rest.partition(".")
            if first == "flows" and number == "*":
                found += [
                    (f"flows.{at}.{name}", value) for at, (group, each) in enumerate(flows.items())
                    if group not in self.apart and name in {one.name.rstrip("_") for one in fields(each)}
                ]  # fmt: skip
            elif first == "flows":
                found.append((key, value))
        return tuple(found)

    def experiments(self, given: Sequence[Choice], settings: Settings) -> dict[tuple[str, str, str], Experiment]:
        """Its runs, by scenario, point and discipline."""
        flows = self.flows(settings)
        numbers = {name: number for number, name in enumerate(flows)}
        transfers = [(number, each) for number, each in enumerate(flows.values()) if isinstance(each, Tcp)]
        made = partial(
            derive,
            measured_s=settings.measured_s,
            warmup_s=settings.warmup_s,
            sized=tuple(number for number, each in transfers if each.size is not None),
            lasting=tuple(number for number, each in transfers if each.size is None and each.stop is None),
            apart=tuple(numbers[name] for name in self.apart),
        )
        keep: dict[str, tuple[str, ...] | None] = {"metrics": None}
        if self.capacity is not None:
            keep["queue"] = ("link", "queue_bytes", "time_s")
        text = self.text(settings)
        common = (*settings.sets(), ("run.series", "true"), *self.changes_of(flows))
        return {
            (self.id, point, choice.label): Experiment(
                " · ".join(part for part in (self.id, point, choice.label) if part), text, PYTHON,
                (*common, *sets, *self.sets(choice)), keep, choice.queue, made, ("queue",),
            )
            for choice in given for point, sets in self.points.items()
        }  # fmt: skip


@dataclass(frozen=True)
class Suite:
    """The scenarios of an RFC, and its sections by number. `listed`: what the RFC lists, and what of it is run here:
    section, what it asks, what is done. `choices`: what it leaves open. `lacks`: what is not measured, and why.
    `settings` and `quick`: how long and how often."""

    name: str
    title: str
    citation: str
    sections: Mapping[str, str]
    scenarios: tuple[Scenario, ...]
    listed: tuple[tuple[str, str, str], ...]
    choices: tuple[tuple[str, str, str, str], ...]
    lacks: tuple[tuple[str, str], ...]
    settings: Settings
    quick: Settings


FULL = Settings(seeds=(1, 2, 3, 4, 5), duration_s=300, warmup_s=30, sample_s=0.1)
QUICK = Settings(seeds=(1, 2, 3), duration_s=60, warmup_s=10, sample_s=0.1)
"""Samples are a round trip apart: losses of one round trip are one loss event (RFC 7928, Sec. 2.4)."""


def classes(container: str, count: int) -> str:
    """The TOML of a queue with classes, at `queue.classes.0` and so on."""
    return f'[queue]\ndiscipline = "{container}"\n' + '[[queue.classes]]\ndiscipline = "drop_tail"\n' * count


@cache
def _declarations() -> dict[str, Any]:
    return dict(json.loads(_core.declarations()))


def declared(name: str) -> dict[str, Any] | None:
    """What the registry says of a discipline; None for one of a person's own."""
    return next((each for each in _declarations()["disciplines"] if each["name"] == name), None)


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
