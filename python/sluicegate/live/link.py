"""A link for real packets, as a person describes it, and the scenario that the core reads.

    rate=16 Mbit/s,delay=5 ms,queue=choke:limit=300:min_th=20,drop=5+8-10

One direction is a text of KEY=VALUE, or a mapping. In a text commas separate keys, and no value holds one: colons
separate the values of a discipline, as everywhere, and "+" the packets of a key such as `drop`. A key holds for its
direction alone, except that `up`, without a rate or trace of its own, takes the rate or trace of `down`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .. import _core
from ..custom import aqm as custom_aqm
from ..declarations import declarations
from ..declared import override
from ..experiments.disciplines import Choice, Queue, one
from ..io import staged_file
from ..quantities import did_you_mean, quantity, toml_text
from ..results import Run
from ..scenario import Sets, override_texts, read_scenario, warn_unused

Direction = str | Mapping[str, object]
"""What is said of one direction: see the module."""

Pairs = list[tuple[str, str]]

NAME = "<shell>"
"""The file name in messages where no scenario was given."""

FATES = ("drop", "mark", "late", "behind")
"""The keys of what is to happen to single packets, by their number at the link, from 1."""

PROBE = {"flows": [{"kind": "udp", "rate": "1 Mbit/s"}], "run": {"duration": "1 s"}}
"""What makes a scenario of a network, so that the core fills in its defaults."""


@dataclass(frozen=True)
class Side:
    """One direction, read. `keys`: those of [network] or [network.reverse], and their values as texts."""

    keys: dict[str, str] = field(default_factory=dict)
    queue: Choice | None = None


@dataclass
class LinkPlan:
    """What `_core.shell` and `_core.bridge` are to be given.

    `text`, `name`: the scenario. `sets`: its overrides; `up_sets`: more, for the direction up alone. `maker`: makes
    disciplines written in Python. `arguments`: of each key, the argument that has set it.
    """

    text: str
    name: str
    maker: custom_aqm.Maker
    sets: Pairs = field(default_factory=list)
    up_sets: Pairs = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)

    def add(self, key: str, value: str, argument: str) -> None:
        """One more override, that `argument` has asked for."""
        self.sets.append((key, value))
        self.arguments[key] = argument

    def unused(self) -> list[list[tuple[str, str, str]]]:
        """What does nothing in each direction: as `_core.Scenario.unused`, which needs a scenario with flows."""
        if "flows" not in _document(self.text):
            return []
        return [_core.Scenario(self.text, self.name, [*self.sets, *more]).unused for more in ([], self.up_sets)]

    def told(self, message: str) -> str:
        """A message of the core's, which begins with the argument in which the mistake is."""
        place, colon, about = message.partition(": ")
        key = about.partition(" ")[0].rstrip(":")
        if place not in ("sets", self.name) or not colon:
            return message
        if key == "network.rate" and key not in self.arguments:
            return "rate: must be given, or a link that has one"
        argument = self.arguments.get(key, "sets")
        if argument == "sets":
            return message
        last, rest = key.rpartition(".")[2], about.removeprefix(key)
        if last in (argument, "discipline"):
            return f"{argument}: {rest.lstrip(' =:')}"
        return f"{argument}: {last}{rest}"

    def run(
        self,
        core: Callable[..., _core.RawRun],
        options: Mapping[str, Any],
        pcap: str | Path | None,
        told: Callable[[str], object] | None,
    ) -> Run:
        """What the core's function measures of the link. Raises what `shell` and `bridge` do."""
        with ExitStack() as stack:
            target = None if pcap is None else str(stack.enter_context(staged_file(pcap)))
            try:
                warn_unused(self.unused())
                given = json.dumps({**options, "pcap": target})
                raw = core(self.text, self.name, self.sets, self.up_sets, given, told, self.maker)
            except _core.ScenarioError as error:
                raise _core.ScenarioError(self.told(str(error))) from None
            return Run(self.maker.summary(raw))


def pace(busy: bool, spin: str | None, flows: int | None, packets: bool) -> dict[str, Any]:
    """The options of both: how departures are waited for, and what is told of flows and packets."""
    return {
        "busy": busy,
        "packets": packets,
        **({} if spin is None else {"spin_ns": quantity("spin", spin, "network.delay")}),
        **({} if flows is None else {"flows": flows}),
    }


def plan(
    both: Mapping[str, object],
    queue: Queue | None = None,
    link: str | Path | Mapping[str, Any] | None = None,
    down: Direction | None = None,
    up: Direction | None = None,
    sets: Sets | None = None,
    seed: int | None = None,
) -> LinkPlan:
    """The link. `both`: keys of a direction that hold for both, None left out; the others are as for `shell`.

    Raises `ScenarioError` that names the argument, OSError when `link` cannot be read, and TypeError.
    """
    text, name = ("", NAME) if link is None else read_scenario(link)
    shared = {key: _text(value, key) for key, value in both.items() if value is not None}
    sides = {"down": read(down, "down"), "up": read(up, "up")}
    made = LinkPlan(text, name, custom_aqm.Maker())
    document = _document(text)
    if "discipline" not in document.get("queue", {}):
        made.sets.append(("queue.discipline", "drop_tail"))
    for key, value in shared.items():
        made.add(f"network.{key}", value, key)
        made.add(f"network.reverse.{key}", value, key)
    for key, value in sides["up"].keys.items():
        made.add(f"network.reverse.{key}", value, "up")
    alone = sides["down"].keys.keys() - shared.keys() - sides["up"].keys.keys()
    if alone:
        made.sets += _kept(document, made, sides["down"], alone)
    for key, value in sides["down"].keys.items():
        made.add(f"network.{key}", value, "down")
    _queues(made, None if queue is None else one(queue), sides, document)
    for key, value in override_texts(sets):
        made.add(key, value, "sets")
    if seed is not None:
        made.add("run.seed", str(seed), "seed")
    return made


def read(given: Direction | None, argument: str) -> Side:
    """One direction. Raises `ScenarioError` that names `argument`, and TypeError."""
    side = Side()
    for key, value in _pairs(given, argument):
        if key in side.keys or (key == "queue" and side.queue):
            raise _core.ScenarioError(f"{argument}: {key} is given twice")
        if key == "queue":
            side = Side(side.keys, _discipline(value, argument))
        elif key in keys():
            side.keys[key] = _fate(value) if key in FATES else _text(value, f"{argument}: {key}")
        else:
            raise _core.ScenarioError(f"{argument}: {_unknown(key)}")
    return side


@cache
def keys() -> tuple[str, ...]:
    """The keys that both directions of a network have."""
    known = declarations()
    forward = {each["name"] for each in known["network"]["fields"]}
    return tuple(each["name"] for each in known["reverse"]["fields"] if each["name"] in forward)


def _pairs(given: Direction | None, argument: str) -> Iterable[tuple[str, object]]:
    if given is None:
        return
    if isinstance(given, Mapping):
        yield from ((key, value) for key, value in given.items() if value is not None)
        return
    if not isinstance(given, str):
        raise TypeError(f'{argument}: expected a mapping, or a text such as "rate=16 Mbit/s,loss=0.01", not {given!r}')
    for part in given.split(","):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not (key and equals and value):
            hint = "" if ":" not in part else "; write packets as 5+8-10, and values of a discipline after a colon"
            raise _core.ScenarioError(f'{argument}: "{part.strip()}" must be KEY=VALUE, such as rate=16 Mbit/s{hint}')
        yield key, value


def _discipline(value: object, argument: str) -> Choice:
    try:
        return one(value)  # type: ignore[arg-type]
    except _core.ScenarioError as error:
        raise _core.ScenarioError(f"{argument}: {error}") from None


def _fate(value: object) -> str:
    """Packets as the core takes them: "5+8-10", 5, or [5, "8-10"]."""
    parts = value.replace("+", ",").split(",") if isinstance(value, str) else value
    listed = parts if isinstance(parts, Iterable) else [parts]
    return ",".join(str(each).strip() for each in listed)


def _text(value: object, place: str) -> str:
    return toml_text(override(value, place))


def _unknown(key: str) -> str:
    """What to say of a key that a direction does not have."""
    known = [*keys(), "queue"]
    parameters = {each["name"] for one in declarations()["disciplines"] for each in one["fields"]}
    if key in parameters:
        return f"{key}: no such key of a link; a discipline's values follow it after colons: queue=red:{key}=…"
    return f"{key}: no such key" + did_you_mean(key, known)


def _document(text: str) -> dict[str, Any]:
    """What a scenario says; nothing where it is none, which the core will say, with the line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _kept(document: Mapping[str, Any], made: LinkPlan, down: Side, alone: Iterable[str]) -> Pairs:
    """Overrides that let the direction up stay as it is without what `down` alone says, for the scenario's rule is that
    it follows. `alone`: the keys that only `down` has."""
    for borrowed in ({}, {key: down.keys[key] for key in ("rate", "trace") if key in alone}):
        reverse = _reverse(document, made, borrowed)
        if reverse is None:
            continue
        wanted = set(alone) - borrowed.keys()
        if wanted & {"rate", "trace"}:  # of the two, the one that the direction up has leaves out the other
            wanted = wanted - {"rate", "trace"} | {"trace" if reverse.get("trace") else "rate"}
        stated = {key for key, _ in made.sets}
        found = [(f"network.reverse.{key}", reverse.get(key)) for key in sorted(wanted)]
        return [(key, toml_text(value)) for key, value in found if value is not None and key not in stated]
    return []


def _reverse(document: Mapping[str, Any], made: LinkPlan, more: Mapping[str, str]) -> dict[str, Any] | None:
    """The direction up with every default filled in; None when it cannot be: the core says why, when it is asked."""
    import tomli_w

    text = tomli_w.dumps({"network": document.get("network", {}), **PROBE})
    sets = [*made.sets, *((f"network.{key}", value) for key, value in more.items()), ("network.two_way", "true")]
    try:
        resolved = _core.Scenario(text, made.name, [each for each in sets if each[0].startswith("network.")]).resolved()
    except _core.ScenarioError:
        return None
    reverse: dict[str, Any] | None = resolved["network"].get("reverse")
    return reverse


def _queues(made: LinkPlan, both: Choice | None, sides: Mapping[str, Side], document: Mapping[str, Any]) -> None:
    """Add the overrides that choose the discipline of each direction."""
    down, up = sides["down"].queue or both, sides["up"].queue or both
    for key, value in () if down is None else _sets(made, down):
        made.add(key, value, "down" if sides["down"].queue else "queue")
    if up is not None and up is not down:
        made.up_sets += _sets(made, up)
        made.arguments |= {key: "up" for key, _ in made.up_sets if key not in made.arguments}
    elif up is None and down is not None:  # what `down` has is for that direction alone
        made.up_sets.append(("queue.discipline", str(document.get("queue", {}).get("discipline", "drop_tail"))))


def _sets(made: LinkPlan, choice: Choice) -> Pairs:
    """The overrides of a discipline; one that was given as a class gets a name that the core can ask for."""
    if choice.queue is None:
        return list(choice.sets)
    if made.maker.factory is None:
        made.maker.factory = choice.queue
    return [("queue.discipline", made.maker.name(choice.queue))]
