"""Describe a network and its traffic in Python, or name a scenario file.

Values are strings with a unit ("1 Mbit/s", "10 ms", "64 kB") or plain numbers (packets, counts, ratios). What is
described here becomes the text of a scenario; the core alone reads and checks it, so a mistake in Python gives the same
message as the same mistake in a file, under the name "<python>".
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias, get_args

from . import _core, custom_aqm, traps
from ._generated import Class, Discipline, Dumbbell, Link, Source
from .custom_aqm import Aqm, AqmFactory
from .goals import Goal, goals, known
from .quantities import toml_text

PYTHON = "<python>"
"""The file name in messages about a network that Python described."""

Sets = Mapping[str, object] | Iterable[tuple[str, object]]
"""Overrides: dotted keys ("queue.discipline", "flows.1.rate") and their values. Groups of flows count from 0."""


class ScenarioWarning(UserWarning):
    """Something in a scenario that is possible, but hardly meant."""


class TrapWarning(ScenarioWarning):
    """A scenario in which something other than the queue discipline decides, or a run that takes long: see `traps`."""


dumbbell = Dumbbell
"""A network of many senders and receivers on either side of one bottleneck; see `Dumbbell` for the values."""


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A network of one's own: links, and the discipline of their queues. Made by `topology`."""

    links: tuple[Link, ...]
    queue: Discipline | AqmFactory | None = None


Network: TypeAlias = Dumbbell | Topology


def topology(*links: Link, queue: Discipline | AqmFactory | None = None) -> Topology:
    """A network of `links`, each from one node to another; every flow then names the links of its `path`.

    `queue`: the discipline at the links (default: the simulator's own), or the class of one's own: see `Aqm`.
    """
    return Topology(links=links, queue=queue)


def factory(queue: object) -> AqmFactory | None:
    """`queue`, when it is the class or factory of a discipline written in Python, else None."""
    built_in = get_args(Discipline)
    if isinstance(queue, (*built_in, Aqm)) or queue in built_in or not callable(queue):
        return None
    return queue


def scenario(network: Network, flows: Source | Sequence[Source], **run: object) -> str:
    """The scenario as the text of a TOML file; `run` holds the values of its [run] table, None left out."""
    import tomli_w

    if not isinstance(network, Network):
        raise TypeError(f"network: expected sluicegate.dumbbell(...) or topology(...), not {what_is(network)}")
    document: dict[str, Any] = {"network": _table(network)}
    if (own_queue := factory(network.queue)) is not None:
        document["queue"] = {"discipline": custom_aqm.described(own_queue)}
    elif network.queue is not None:
        document["queue"] = queue_table(network.queue)
    document["flows"] = []
    for flow in flows if isinstance(flows, Iterable) else [flows]:
        if not isinstance(flow, Source):
            raise TypeError(f"flows: expected a source such as sluicegate.Tcp(...), not {what_is(flow)}")
        document["flows"].append({"kind": flow.kind} | _table(flow))
    document["run"] = {key: plain(value) for key, value in run.items() if value is not None}
    return tomli_w.dumps(document)


def queue_table(queue: object) -> dict[str, Any]:
    """The table [queue] for a discipline of the package. Raises TypeError for anything else."""
    if isinstance(queue, Aqm):
        raise TypeError(f"queue: expected the class {type(queue).__name__}, not one of its objects")
    if not isinstance(queue, get_args(Discipline)):
        expected = "a discipline such as sluicegate.Choke(...), or a class of your own"
        raise TypeError(f"queue: expected {expected}, not {what_is(queue)}")
    return {"discipline": queue.name, queue.name: _table(queue)}


def what_is(thing: object) -> str:
    """A thing that was not expected, for a message; a class of which an object is wanted is told so."""
    known: tuple[type, ...] = (*get_args(Discipline), *get_args(Source), Dumbbell, Link, Class)
    name = next((each.__name__ for each in known if each is thing), None)
    return repr(thing) if name is None else f"the class sluicegate.{name}: give an object, sluicegate.{name}(...)"


def _table(thing: Network | Discipline | Source | Link | Class) -> dict[str, Any]:
    """The values of a declared thing as a TOML table, None and the queue left out."""
    values = {field.name.rstrip("_"): getattr(thing, field.name) for field in fields(thing) if field.name != "queue"}
    name = type(thing).__name__
    if "classes" in values:
        values["classes"] = [_class(each) for each in values["classes"]] or None
    return {key: _writable(plain(value), f"{name}.{key}") for key, value in values.items() if value is not None}


def _class(given: Class | Discipline) -> dict[str, Any]:
    """An entry of [[queue.classes]]. Raises TypeError for what is neither a class nor a discipline."""
    takes, queue = (_table(given), given.queue) if isinstance(given, Class) else ({}, given)
    if not isinstance(queue, get_args(Discipline)):
        raise TypeError(
            f"classes: expected a discipline such as sluicegate.Red(...), not {what_is(queue)}; "
            'one written in Python can be named in a file alone: discipline = "path.py:Class"'
        )
    return takes | {"discipline": queue.name, queue.name: _table(queue)}


def _writable(value: object, key: str) -> object:
    """The same value, if a scenario can hold it. Raises TypeError."""
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, str | int | float | dict):
            raise TypeError(f"{key} = {item!r}: must be a text, a number, True or False, or a list of texts")
    return value


def plain(value: object) -> object:
    """A value as TOML knows it: NumPy's scalars become Python's, tuples lists, links tables."""
    if isinstance(value, Link):
        return _table(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    item = getattr(value, "item", None)
    return item() if callable(item) else value


def check(file: str | Path, *, sets: Sets | None = None) -> dict[str, Any]:
    """The scenario in `file` with every default filled in, not run. Raises `ScenarioError` and OSError."""
    text, name = read_scenario(file)
    pairs = override_texts(sets)
    resolved: dict[str, Any] = json.loads(_core.check(text, name, pairs, custom_aqm.Maker()))
    check_goals(resolved, text, name)
    warn_unused([_core.unused(text, name, pairs)])
    warn(traps.of_scenario(resolved), TrapWarning)
    return resolved


def check_goals(resolved: dict[str, Any], text: str, name: str) -> list[Goal]:
    """The goals of run.goals. Raises `ScenarioError` that names their place."""
    texts = resolved["run"].get("goals", [])
    try:
        return goals(texts, known(resolved)) if texts else []
    except _core.ScenarioError as error:
        said = str(error).partition('"')[2].partition('": ')[0]
        lines = [number for number, line in enumerate(text.splitlines(), 1) if said and said in line]
        place = f"{name}:{lines[0]}" if lines else name
        raise _core.ScenarioError(f"{place}: run.goals: {error}") from None


def resolve(file: str | Path, sets: Sets | None = None) -> dict[str, Any]:
    """The scenario in `file` with every default filled in, without warnings. Raises `ScenarioError` and OSError."""
    text, name = read_scenario(file)
    return dict(json.loads(_core.check(text, name, override_texts(sets))))


def warn_traps(text: str, name: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Warn of what a scenario that has passed every check shows before it runs."""
    warn(traps.of_scenario(json.loads(_core.check(text, name, pairs))), TrapWarning)


def warn(sentences: Iterable[str], category: type[ScenarioWarning]) -> None:
    """Warn of each, at the line outside the package that called it."""
    package = str(Path(__file__).parent) + os.sep
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    for sentence in sentences:
        warnings.warn(sentence, category, stacklevel=level)


def warn_unused(runs: Iterable[Sequence[tuple[str, str, str]]]) -> None:
    """Warn of each key of a queue that does nothing in any of these runs: what `_core.unused` gives for each."""
    common: dict[str, list[tuple[str, str]]] | None = None
    for run in runs:
        here = {place: (discipline, hint) for place, discipline, hint in run}
        told = dict.fromkeys(here, ()) if common is None else common
        common = {place: [*told[place], here[place]] for place in told if place in here}
        if not common:
            return
    messages = []
    for place, found in (common or {}).items():
        names = list(dict.fromkeys(name for name, _ in found))
        hint = next((hint for _, hint in found if hint), "")
        have = "has" if len(names) == 1 else "have"
        messages.append(f"{place}{' and '.join(names)} {have} no such key; it does nothing{hint}")
    warn(messages, ScenarioWarning)


def override_texts(sets: Sets | None, seed: int | None = None) -> list[tuple[str, str]]:
    """Overrides as the core takes them. What is not a string is written as JSON, which is TOML for such values."""
    pairs = list(sets.items() if isinstance(sets, Mapping) else sets or [])
    if seed is not None:
        pairs.append(("run.seed", seed))
    return [(key, toml_text(plain(value))) for key, value in pairs]


@contextmanager
def arguments(**given: object) -> Iterator[None]:
    """Let errors of the block name these arguments, of those that were given, instead of the keys of [run] they set."""
    try:
        yield
    except _core.ScenarioError as error:
        said = str(error).removeprefix(f"{PYTHON}: run.").removeprefix("sets: run.")
        if said != str(error) and given.get(said.partition(" ")[0].rstrip(":")) is not None:
            raise _core.ScenarioError(said) from None
        raise


def scenarios() -> list[str]:
    """The names of the bundled scenarios."""
    entries = resources.files("sluicegate").joinpath("scenarios").iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def bundled_scenario(name: str) -> tuple[str, str]:
    """The text of the bundled scenario of this name, and its name for messages. Raises FileNotFoundError."""
    packaged = resources.files("sluicegate").joinpath("scenarios", f"{name}.toml")
    return packaged.read_text("utf-8"), packaged.name


def read_scenario(file: str | Path) -> tuple[str, str]:
    """The text of a scenario and its name for messages.

    `file` is a path or, when no such file exists, `NAME`, `NAME.toml` or `scenarios/NAME.toml` of a bundled scenario.
    Raises OSError when it cannot be read, `ScenarioError` when it is not text.
    """
    path = Path(file)
    name = path.name.removesuffix(".toml")
    if path.parent in (Path(), Path("scenarios")) and (path.is_dir() or not path.exists()):
        known = scenarios()
        if name in known:
            return bundled_scenario(name)
        if not path.is_dir():
            near = get_close_matches(name, known, 1)
            hint = f'did you mean "{near[0]}"?' if near else f"bundled scenarios: {', '.join(known)}"
            raise FileNotFoundError(2, f"no such file; {hint}", str(file))
    try:
        return path.read_text("utf-8"), str(file)
    except UnicodeDecodeError as error:
        raise _core.ScenarioError(f"{file}: not UTF-8 text (byte {error.start})") from None
