"""Disciplines as users list them, in a text or as objects, and the overrides of a scenario that they stand for.

    red,choke:candidates=2:limit=500,path.py:MyAqm

Commas separate disciplines; a colon separates a discipline's name from its values and each value from the next. A
value may hold spaces ("red:s=4 ms"), but no comma and no colon: no declared value needs one. A discipline written in
Python is named by file and class, `path.py:MyAqm`, and keeps that colon; its values belong to the table [queue.python].
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .. import _core, declared, scenario
from ..custom import aqm as custom_aqm
from ..custom.aqm import AqmFactory
from ..declarations import declarations
from ..quantities import did_you_mean

if TYPE_CHECKING:
    from .._generated import Discipline


@dataclass(frozen=True)
class Choice:
    """One discipline of a list.

    `label`: how it was written, without superfluous spaces; names it in results. `name`: the discipline alone.
    `values`: its keys and values, as text. `given`: the object it was made from, if any; it states every value.
    `queue`: the class or factory that makes it, when it was given as one. `more`: overrides besides, such as those of
    the opposite direction's own queue.
    """

    label: str
    name: str
    values: tuple[tuple[str, str], ...] = ()
    given: Discipline | None = None
    queue: AqmFactory | None = None
    more: tuple[tuple[str, str], ...] = ()

    @property
    def sets(self) -> tuple[tuple[str, str], ...]:
        """The overrides of a scenario that choose this discipline, as `--set` takes them."""
        table = "python" if ":" in self.name else self.name
        values = ((f"queue.{table}.{key}", value) for key, value in self.values)
        return ("queue.discipline", self.name), *values, *self.more

    @property
    def located(self) -> tuple[tuple[str, str], ...]:
        """The same, with the whole path of a file that is named from the working directory."""
        (key, name), *rest = self.sets
        return (key, custom_aqm.located(name)), *rest

    def read(self, text: str, file: str, sets: Sequence[tuple[str, str]]) -> scenario.ReadScenario:
        """The scenario with this discipline; one in Python is made once to see that it can be. `sets` come before its
        own overrides.

        Raises `ScenarioError` that names the discipline as it was written, and what a discipline in Python raises.
        """
        maker = custom_aqm.Maker(self.queue)
        try:
            try:
                found = scenario.read(text, file, (*sets, *self.sets), self.queue)
                found.core.try_making(maker)
            except _core.ScenarioError:
                if ":" not in self.name and self.name not in known():  # say that, rather than what follows from it
                    _core.Scenario(text, file, [*sets, *self.sets[:1]])
                raise
        except _core.ScenarioError as error:
            raise _core.ScenarioError(f'discipline "{self.label}": {str(error).removeprefix("sets: ")}') from None
        about = {"own_discipline": maker.about} if maker.about else {}
        return replace(found, resolved=found.resolved | about)


class Labelled(Protocol):
    """What has a label in results."""

    @property
    def label(self) -> str: ...


Queue: TypeAlias = "str | Discipline | AqmFactory"
"""A discipline as all functions take it: a text, an object, or a class or factory of one's own."""

Listed: TypeAlias = "Queue | Iterable[Queue | Choice]"
"""Disciplines as `compare` takes them: a text, an object, a class or factory of one's own, or several of any."""


def known() -> list[str]:
    """The names of the disciplines that the simulator has."""
    return [each["name"] for each in declarations()["disciplines"]]


@cache
def titles() -> dict[str, str]:
    """The title of each discipline that the simulator has, such as "Drop Tail", by its name."""
    return {each["name"]: each["title"] for each in declarations()["disciplines"]}


def choices(listed: Listed, argument: str = "disciplines") -> list[Choice]:
    """The disciplines of a list, in its order. `argument`: as what it was given, for messages.

    Raises `ScenarioError` when a text is not as the module says or two entries are alike, and TypeError for what is
    none of these.
    """
    found: list[Choice] = []
    given: Any = listed
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping | custom_aqm.Aqm)
    for each in given if several else [given]:
        if isinstance(each, Choice):
            found.append(each)
        elif isinstance(each, str):
            found += [_parsed(part) for part in each.split(",")]
        else:
            found.append(_stated(each, argument))
    if not found:
        raise _core.ScenarioError(f"{argument}: name at least one")
    listed_once(found, "discipline")
    return found


def listed_once(found: Sequence[Labelled], what: str) -> None:
    """Raise `ScenarioError` when two entries of a list have one label. `what` they are is for messages."""
    labels = [each.label for each in found]
    for label in labels:
        if labels.count(label) > 1:
            raise _core.ScenarioError(f'{what} "{label}": listed twice')


def one(queue: Queue) -> Choice:
    """The discipline meant. Raises what `choices` does, and `ScenarioError` for several."""
    found = choices(queue, "queue")
    if len(found) > 1:
        labels = ", ".join(choice.label for choice in found)
        raise _core.ScenarioError(f"queue: a run has one discipline, not {len(found)}: {labels}")
    return found[0]


def under(about: scenario.Subject, choice: Choice | None) -> tuple[str, tuple[tuple[str, str], ...], AqmFactory | None]:
    """The text, the overrides and the discipline of one's own, if any, of what is simulated under a discipline; None
    leaves it its own. A text takes what it leaves out from the scenario's queue; an object or class replaces that."""
    if choice is None:
        return about.text(), about.sets, about.queue
    given = choice.given or choice.queue
    text = about.text() if given is None else about.text(given)
    return text, (*about.sets, *choice.sets), choice.queue


def read_under(
    about: scenario.Subject, choice: Choice | None, more: Sequence[tuple[str, str]] = ()
) -> scenario.ReadScenario:
    """What is simulated under a discipline, read, with `more` overrides. Raises as `Choice.read` does, in the caller's
    terms."""
    text, _, own_queue = under(about, choice)
    sets = (*about.sets, *more)
    with about.told():
        if choice is None:
            return scenario.read(text, about.name, sets, own_queue)
        try:
            return choice.read(text, about.name, sets)
        except _core.ScenarioError:
            _core.Scenario(about.text(None), about.name, sets)  # what is wrong whatever the discipline
            raise


def find(wanted: Queue | None, among: Sequence[Choice]) -> Choice:
    """The choice meant: by its label, a name that only one has, an object or class that was listed; None is the first.

    Raises `ScenarioError` when there is none or more than one.
    """
    if wanted is None:
        return among[0]
    label = wanted.strip() if isinstance(wanted, str) else _stated(wanted, "baseline").label
    if ":" in label:
        label = _parsed(label).label
    matches = [choice for choice in among if choice.label == label] or [
        choice for choice in among if label in (choice.name, choice.label.partition(":")[0])
    ]
    if len(matches) == 1:
        return matches[0]
    labels = [choice.label for choice in among]
    if matches:
        alike = ", ".join(choice.label for choice in matches)
        raise _core.ScenarioError(f'baseline "{label}": several are listed: {alike}')
    hint = did_you_mean(label, labels, f"listed: {', '.join(labels)}")
    raise _core.ScenarioError(f'baseline "{label}": not among the disciplines{hint}')


def parsed(
    text: str, what: str, example: str, places: tuple[str, ...] = (".py",), mine: str = "MyAqm"
) -> tuple[str, str, dict[str, str]]:
    """Label, name and values of one entry of a text. `what` it is and an `example` of it are for messages. `places`:
    how the first part of a name ends that has a second one after its colon, such as `mine`.

    Raises `ScenarioError` for what is not as the module says.
    """
    name, *pairs = (part.strip() for part in text.split(":"))
    entry = f'{what} "{text.strip()}"'
    if name.endswith(places):
        if not pairs or "=" in pairs[0] or not pairs[0]:
            raise _core.ScenarioError(f"{entry}: name the class too, such as {name}:{mine}")
        name = f"{name}:{pairs.pop(0)}"
    if not name:
        raise _core.ScenarioError(f"{entry}: the name is missing, as in {example}")
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not (key and equals and value):
            raise _core.ScenarioError(f'{entry}: "{pair}" must be KEY=VALUE, as in {example}')
        if key in values:
            raise _core.ScenarioError(f"{entry}: {key} is given twice")
        values[key] = value
    return ":".join([name, *(f"{key}={value}" for key, value in values.items())]), name, values


def _parsed(text: str) -> Choice:
    """One discipline of a text."""
    if text.partition(":")[0].strip().endswith(".rs"):
        why = "compile a discipline in Rust into Sluicegate, and then give its name: see docs/rust-discipline.md"
        raise _core.ScenarioError(f'discipline "{text.strip()}": {why}')
    label, name, values = parsed(text, "discipline", "choke:candidates=2:limit=500")
    if len(several := re.split(r"[\s;]+", name)) > 1 and {*several} <= {*known()}:
        raise _core.ScenarioError(f'discipline "{name}": separate disciplines by commas: {",".join(several)}')
    return Choice(label, name, tuple(values.items()))


def _stated(given: Discipline | AqmFactory, argument: str) -> Choice:
    """A discipline object or a class of one's own. Raises TypeError for what is neither.

    Of an object every value that is not None counts; the label shows those that are not defaults. The label of a class
    or factory is its name, with the keywords of a `functools.partial`.
    """
    if (queue := declared.factory(given)) is not None:
        name = custom_aqm.described(queue)
        bound: dict[str, Any] = {}
        inner: Any = queue
        while isinstance(inner, partial):
            inner, bound = inner.func, inner.keywords | bound
        shown = [f"{key}={value}" for key, value in bound.items()]
        return Choice(":".join([name.rpartition(":")[2].rpartition(".")[2], *shown]), name, queue=queue)
    if isinstance(given, custom_aqm.Aqm):
        raise TypeError(f"{argument}: expected the class {type(given).__name__}, not one of its objects")
    if not isinstance(given, declared.Declared) or given.ROLE != "queue":
        expected = "a name or a discipline such as sluicegate.Choke(...)"
        raise TypeError(f"{argument}: expected {expected}, not {declared.what_is(given)}")
    table = declared.table(given)
    defaults = {field.name.rstrip("_"): field.default for field in fields(given) if field.default is not MISSING}
    values = {key: value if isinstance(value, str) else _toml(value) for key, value in table.items()}
    stated = [f"{key}={values[key]}" for key, value in table.items() if value != defaults.get(key)]
    return Choice(":".join([given.name, *stated]), given.name, tuple(values.items()), given)


def _toml(value: object) -> str:
    """A value as TOML writes it in one line; JSON does the same, except for tables."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_toml(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)
