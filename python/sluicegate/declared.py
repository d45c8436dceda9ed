"""The base of the generated classes: an object gives its values as a table of a scenario, checked when it is made.

The core alone knows what is right. It is asked about each object in a small scenario that holds nothing else; a value
whose bounds depend on a link's rate is refused only if it is wrong both on a slow and on a fast link. Names of other
parts of a scenario (links, files) are checked only in the scenario that has these parts.
"""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any, ClassVar, Literal, Self, TypeGuard

from .custom import ends as custom_ends
from .custom.aqm import Aqm
from .keywords import check_keywords
from .quantities import toml_inline

Role = Literal["queue", "flows", "class", "link", "network", "reverse", "shaper"]
"""The part of a scenario that an object describes."""

PROBES = {
    "queue": 'network = {{ rate = "{rate}", delay = "0 ms" }}\nqueue = {table}\n{udp}',
    "flows": 'network = {{ rate = "{rate}", delay = "0 ms" }}\nflows = [{table}]\n',
    "class": 'network = {{ rate = "{rate}", delay = "0 ms" }}\n'
    'queue = {{ discipline = "drr", classes = [{table}, {{ discipline = "drop_tail" }}] }}\n{udp}',
    "link": 'network = {{ links = [{table}] }}\nflows = [{{ kind = "udp", rate = "1 Mbit/s", path = [{name}] }}]\n',
    "network": "network = {table}\n{udp}",
    "reverse": 'network = {{ rate = "{rate}", delay = "0 ms", reverse = {table} }}\n{udp}',
    "shaper": 'network = {{ rate = "{rate}", delay = "0 ms", shaper = {table} }}\n{udp}',
}
"""Scenarios around one table, and where the keys of the table stand in messages about them."""

PLACES = {"queue": "queue.", "flows": "flows.0.", "class": "queue.classes.0.", "link": "network.links.0.",
          "reverse": "network.reverse.", "shaper": "network.shaper."}  # fmt: skip
UDP = 'flows = [{ kind = "udp", rate = "1 Mbit/s" }]\n'
RUN = 'run = { duration = "1000000 s", warmup = "0 s", series = false }\n'
RATES = ("10 Mbit/s", "10 kbit/s", "100 Gbit/s")
ELSEWHERE = {"path", "return_path", "vectors"}
"""Keys that name what an object alone does not have."""


class Declared:
    """An object with declared values. Raises `ScenarioError` for a wrong one, and TypeError for one of no kind that a
    scenario knows."""

    ROLE: ClassVar[Role]

    def __init_subclass__(cls, role: Role | None = None) -> None:
        if role is not None:
            cls.ROLE = role
        own, heading, attributes = (cls.__doc__ or "").partition("Attributes:\n")
        if shared := heading and (cls.__base__.__doc__ or "").partition(heading)[2]:
            cls.__doc__ = f"{own}{heading}{attributes.rstrip()}\n{shared}"  # so that `help` explains every keyword

    def __new__(cls, *arguments: object, **given: object) -> Self:
        of_each = [getattr(each, "__dataclass_fields__", ()) for each in cls.__mro__]
        known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        known.sort(key=lambda name: sum(name in names for names in of_each))  # its own before those of its bases
        check_keywords(cls.__name__, given, known)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check(self)


def plain(value: object) -> object:
    """A value as TOML knows it: NumPy's scalars become Python's, tuples lists, paths texts."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    item = getattr(value, "item", None)
    return item() if callable(item) else value


def table(thing: Declared) -> dict[str, Any]:
    """The values of a declared thing as a TOML table, None and the queue left out. Raises TypeError."""
    values = {field.name.rstrip("_"): getattr(thing, field.name) for field in fields(thing) if field.name != "queue"}  # type: ignore[arg-type]
    name = type(thing).__name__
    if "classes" in values:
        values["classes"] = [_class(each) for each in values["classes"]] or None
    if callable(own := values.get("ends")):
        values["ends"], values["python"] = custom_ends.named(own)
    for part in ("reverse", "shaper"):
        if isinstance(own := values.get(part), Declared) and part == own.ROLE:
            values[part] = table(own)
    if thing.ROLE in ("reverse", "link") and (own := getattr(thing, "queue", None)) is not None:
        values["queue"] = _own_queue(own)
    return {key: _writable(value, f"{name}: {key}") for key, value in values.items() if value is not None}


def queue_table(queue: Declared) -> dict[str, Any]:
    """The table [queue] for a discipline of the package."""
    return {"discipline": queue.name, queue.name: table(queue)}  # type: ignore[attr-defined]


def has_role(thing: object, role: Role) -> TypeGuard[Declared]:
    """Whether it is an object of a generated class with this role; `Red` has "queue"."""
    return isinstance(thing, Declared) and role == thing.ROLE


def factory(queue: object) -> Any | None:
    """`queue`, when it is the class or factory of a discipline written in Python, else None."""
    if isinstance(queue, Declared | Aqm) or (isinstance(queue, type) and issubclass(queue, Declared)):
        return None
    return queue if callable(queue) else None


def what_is(thing: object) -> str:
    """A thing that was not expected, for a message; a class of which an object is wanted is told so."""
    if not (isinstance(thing, type) and issubclass(thing, Declared)):
        return repr(thing)
    return f"the class sluicegate.{thing.__name__}: give an object, sluicegate.{thing.__name__}(...)"


def check(thing: Declared) -> None:
    """Ask the core about an object. Raises `ScenarioError` and TypeError in the caller's terms."""
    from . import _core

    name, role = type(thing).__name__, thing.ROLE
    queue = getattr(thing, "queue", None)
    if role == "class" and not has_role(queue, "queue"):
        _class(thing)
    if role == "network" and queue is not None and not has_role(queue, "queue") and factory(queue) is None:
        discipline_wanted(queue)
    values = {key: value for key, value in table(thing).items() if key not in ELSEWHERE}
    place = PLACES.get(role, "network.")
    if role == "queue":
        place += f"{thing.name}."  # type: ignore[attr-defined]
        values = queue_table(thing)
    elif role == "flows":
        values = {"kind": thing.kind} | values  # type: ignore[attr-defined]
    elif role == "class":
        values = {"discipline": "drop_tail"} | values
    words = {"table": toml_inline(values), "name": toml_inline(values.get("name")), "udp": UDP}
    said: str | None = None
    for rate in RATES:
        try:
            _core.Scenario(PROBES[role].format(rate=rate, **words) + RUN, "<python>", [])
        except _core.ScenarioError as error:
            about = str(error).removeprefix("<python>: ")
            if not about.startswith(place) or said not in (None, about):
                return  # it is about something else, or right at another link
            said = about
        else:
            return
    raise _core.ScenarioError(f"{name}: {str(said).removeprefix(place)}")


def discipline_wanted(queue: object) -> None:
    """Raise TypeError for what is no discipline."""
    if isinstance(queue, Aqm):
        raise TypeError(f"queue: expected the class {type(queue).__name__}, not one of its objects")
    expected = "a discipline such as sluicegate.Choke(...), or a class of your own"
    hint = "; only functions that run a network also take a name" if isinstance(queue, str) else ""
    raise TypeError(f"queue: expected {expected}, not {what_is(queue)}{hint}")


def _own_queue(queue: Any, place: str = "queue") -> dict[str, Any]:
    """The table of a discipline of a direction, a link or a class. Raises TypeError."""
    if not has_role(queue, "queue"):
        raise TypeError(
            f"{place}: expected a discipline such as sluicegate.Red(...), not {what_is(queue)}; one written in Python "
            'can be named only in a scenario file: discipline = "path.py:Class"'
        )
    return queue_table(queue)


def _class(given: Any) -> dict[str, Any]:
    """An entry of [[queue.classes]]. Raises TypeError for what is neither a class nor a discipline."""
    is_class = has_role(given, "class")
    takes, queue = (table(given), given.queue) if is_class else ({}, given)
    return takes | _own_queue(queue, "classes")


def override(given: object, place: str) -> object:
    """The value of an override, as TOML knows it. `place`: where it was given. Raises TypeError."""
    value = plain(given)
    if isinstance(given, Declared | type) or callable(given):
        hint = "; a discipline is given as queue" if factory(given) is not None or has_role(given, "queue") else ""
        what = f"sluicegate.{type(given).__name__}(...)" if isinstance(given, Declared) else what_is(given)
        raise TypeError(f"{place}: expected texts and numbers, not {what}{hint}")
    if not all(isinstance(item, str | int | float) for item in (value if isinstance(value, list) else [value])):
        raise TypeError(f"{place} = {given!r}: must be a text, a number, True or False, or a list of texts")
    return value


def _writable(given: object, key: str) -> object:
    """The value as TOML knows it, if a scenario can hold it. Raises TypeError."""
    for item in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(plain(item), str | int | float | dict):
            raise TypeError(f"{key} = {item!r}: must be a text, a number, True or False, or a list of texts")
    return plain(given)
