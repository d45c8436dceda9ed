"""Disciplines as a person lists them, in a text or as objects, and the overrides of a scenario that they stand for.

    red,choke:candidates=2:limit=500,path.py:MyAqm

Commas separate disciplines; a colon separates a discipline's name from its values and each value from the next. A
value may hold spaces ("red:s=4 ms"), but no comma and no colon: no declared value needs one. A discipline written in
Python is named by file and class, `path.py:MyAqm`, and keeps that colon; its values belong to the table [queue.python].
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from typing import Any, get_args

from . import _core, api
from ._generated import Discipline

Listed = str | Discipline | Sequence[str | Discipline]
"""Disciplines as `compare` takes them: a text, an object, or several of either."""


@dataclass(frozen=True)
class Choice:
    """One discipline of a list.

    `label`: how it was written, without superfluous spaces; names it in results. `name`: the discipline alone.
    `values`: its keys and values, as text. `given`: the object it was made from, if any; it states every value.
    """

    label: str
    name: str
    values: tuple[tuple[str, str], ...] = ()
    given: Discipline | None = None

    @property
    def sets(self) -> tuple[tuple[str, str], ...]:
        """The overrides of a scenario that choose this discipline, as `--set` takes them."""
        table = "python" if ":" in self.name else self.name
        return ("queue.discipline", self.name), *((f"queue.{table}.{key}", value) for key, value in self.values)

    def check(self, text: str, file: str, sets: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """The scenario with this discipline and every default filled in. `sets` come before its own overrides.

        Raises `ScenarioError` that names the discipline as it was written.
        """
        try:
            try:
                return dict(json.loads(_core.check(text, file, [*sets, *self.sets])))
            except _core.ScenarioError:
                if self.name not in known():  # say that, rather than what follows from it
                    _core.check(text, file, [*sets, *self.sets[:1]])
                raise
        except _core.ScenarioError as error:
            raise _core.ScenarioError(f'discipline "{self.label}": {str(error).removeprefix("--set ")}') from None


def known() -> list[str]:
    """The names of the disciplines that the simulator has."""
    return [each["name"] for each in json.loads(_core.declarations())["disciplines"]]


def choices(listed: Listed) -> list[Choice]:
    """The disciplines of a list, in its order.

    Raises `ScenarioError` when a text is not as the module says or two entries are alike, and TypeError for what is
    neither text nor discipline.
    """
    found: list[Choice] = []
    for each in [listed] if isinstance(listed, str | Discipline) else listed:
        if isinstance(each, str):
            found += [_parsed(part) for part in each.split(",")]
        elif isinstance(each, get_args(Discipline)):
            found.append(_stated(each))
        else:
            raise TypeError(f"disciplines: expected a name or a discipline such as sluicegate.Choke(...), not {each!r}")
    if not found:
        raise _core.ScenarioError("disciplines: name at least one")
    labels = [choice.label for choice in found]
    for label in labels:
        if labels.count(label) > 1:
            raise _core.ScenarioError(f'discipline "{label}": listed twice')
    return found


def find(wanted: str | Discipline | None, among: Sequence[Choice]) -> Choice:
    """The choice meant by `wanted`: its label, a name that only one has, an object that was listed; None is the first.

    Raises `ScenarioError` when there is none or more than one.
    """
    if wanted is None:
        return among[0]
    label = wanted.strip() if isinstance(wanted, str) else _stated(wanted).label
    if ":" in label:
        label = _parsed(label).label
    matches = [choice for choice in among if choice.label == label] or [c for c in among if c.name == label]
    if len(matches) == 1:
        return matches[0]
    labels = [choice.label for choice in among]
    if matches:
        alike = ", ".join(choice.label for choice in matches)
        raise _core.ScenarioError(f'baseline "{label}": several are listed: {alike}')
    near = get_close_matches(label, labels, 1)
    hint = f'did you mean "{near[0]}"?' if near else f"listed: {', '.join(labels)}"
    raise _core.ScenarioError(f'baseline "{label}": not among the disciplines; {hint}')


def _parsed(text: str) -> Choice:
    """One discipline of a text."""
    name, *pairs = (part.strip() for part in text.split(":"))
    if name.endswith(".py"):
        if not pairs or "=" in pairs[0] or not pairs[0]:
            raise _core.ScenarioError(f'discipline "{text.strip()}": name the class too, such as {name}:MyAqm')
        name = f"{name}:{pairs.pop(0)}"
    if not name:
        raise _core.ScenarioError(f'discipline "{text.strip()}": the name is missing, as in red,choke:candidates=2')
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not (key and equals and value):
            raise _core.ScenarioError(
                f'discipline "{text.strip()}": "{pair}" must be KEY=VALUE, as in choke:candidates=2:limit=500'
            )
        if key in values:
            raise _core.ScenarioError(f'discipline "{text.strip()}": {key} is given twice')
        values[key] = value
    return Choice(":".join([name, *(f"{key}={value}" for key, value in values.items())]), name, tuple(values.items()))


def _stated(given: Discipline) -> Choice:
    """A discipline object: every value that is not None counts; the label shows those that are not defaults."""
    table = api._table(given)
    defaults = {field.name.rstrip("_"): field.default for field in fields(given) if field.default is not MISSING}
    values = {key: value if isinstance(value, str) else json.dumps(value) for key, value in table.items()}
    shown = [f"{key}={values[key]}" for key, value in table.items() if value != defaults.get(key)]
    return Choice(":".join([given.name, *shown]), given.name, tuple(values.items()), given)
