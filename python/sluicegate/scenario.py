"""Describe a network and its traffic in Python, or name a scenario file.

Values are strings with a unit ("1 Mbit/s", "10 ms", "64 kB") or plain numbers (packets, counts, ratios). What is
described here becomes the text of a scenario, which the core alone reads and checks. All functions take what `subject`
takes: a description, or the name, the file or the text of a scenario.
"""

from __future__ import annotations

import functools
import os
import sys
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from . import _core, declared, traps
from .custom import aqm as custom_aqm
from .custom.aqm import AqmFactory
from .declared import factory, has_role, override, plain, what_is
from .envelopes import load
from .goals import Goal, goals, known
from .io import near_file
from .quantities import toml_text

if TYPE_CHECKING:  # not for each command: it holds 54 classes
    from ._generated import Discipline, Dumbbell, Link, Source

PYTHON = "<python>"
"""The file name in messages about a network that Python described."""

TEXT = "(text)"
"""The file name in messages about a scenario that was given as a text."""

Sets = Mapping[str, object] | Iterable[tuple[str, object]]
"""Overrides: dotted keys ("queue.discipline", "flows.1.rate") and their values. Groups of flows count from 0."""


class ScenarioWarning(UserWarning):
    """A scenario is valid, but probably not what you meant.

    >>> import warnings
    >>> issubclass(sg.TrapWarning, sg.ScenarioWarning)
    True
    >>> warnings.simplefilter("ignore", sg.ScenarioWarning)  # say nothing of scenarios, in this process
    """


class TrapWarning(ScenarioWarning):
    """A scenario in which something other than the queue discipline decides the result, or a run that takes long: see
    `traps`.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", sg.TrapWarning)
    ...     run = sg.run("unresponsive", duration="1 s", warmup="0 s")
    """


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Your own network: links, and the discipline of their queues. Made by `topology`.

    >>> net = sg.topology(sg.Link(name="uplink", from_="a", to="b", rate="1 Mbit/s"), queue=sg.Red())
    >>> [link.name for link in net.links]
    ['uplink']
    """

    links: tuple[Link, ...]
    queue: Discipline | AqmFactory | None = None

    def __post_init__(self) -> None:
        for link in self.links:
            if not has_role(link, "link"):
                raise TypeError(f"links: expected sluicegate.Link(...), not {what_is(link)}")
        if self.queue is not None and factory(self.queue) is None:
            queue_table(self.queue)


Network: TypeAlias = "Dumbbell | Topology"

Flows: TypeAlias = "Source | Sequence[Source]"

What: TypeAlias = "Network | str | Path | Mapping[str, Any]"
"""What can be simulated: see `subject`."""

KEPT = object()
"""Stands for the queue that a network has."""


def topology(*links: Link, queue: Discipline | AqmFactory | None = None) -> Topology:
    """A network of `links`, each from one node to another; every flow then names the links of its `path`.

    `queue`: the discipline at the links (default: Drop Tail), or your own class: see `Aqm`.

    >>> net = sg.topology(
    ...     sg.Link(name="first", from_="a", to="b", rate="10 Mbit/s"),
    ...     sg.Link(name="second", from_="b", to="c", rate="1 Mbit/s"),
    ...     queue=sg.Codel(),
    ... )
    >>> run = sg.simulate(net, sg.Udp(rate="2 Mbit/s", path=["first", "second"]), duration="2 s", warmup="0 s")
    >>> run.links.select("link", "drops_packets").rows()
    [('first', 0), ('second', 50)]
    """
    return Topology(links=links, queue=queue)


def is_network(thing: object) -> TypeGuard[Network]:
    """Whether it is a network that Python described."""
    return isinstance(thing, Topology) or has_role(thing, "network")


def scenario(network: Network, flows: Flows, **run: object) -> str:
    """The scenario as the text of a TOML file; `run` holds the values of its [run] table, None left out."""
    import tomli_w

    if not is_network(network):
        raise TypeError(f"network: expected sluicegate.dumbbell(...) or topology(...), not {what_is(network)}")
    links = [declared.table(link) for link in network.links] if isinstance(network, Topology) else None
    document: dict[str, Any] = {"network": declared.table(network) if not isinstance(network, Topology) else {}}
    if links is not None:
        document["network"]["links"] = links
    if (own_queue := factory(network.queue)) is not None:
        document["queue"] = {"discipline": custom_aqm.described(own_queue)}
    elif network.queue is not None:
        document["queue"] = queue_table(network.queue)
    document["flows"] = [{"kind": flow.kind} | declared.table(flow) for flow in sources(flows)]
    document["run"] = {key: plain(value) for key, value in run.items() if value is not None}
    return tomli_w.dumps(document)


def sources(flows: object) -> tuple[Source, ...]:
    """The flows of a network. Raises TypeError for what is no source, and `ScenarioError` for none."""
    listed: tuple[Any, ...] = tuple(flows) if isinstance(flows, Iterable) and not isinstance(flows, str) else (flows,)
    for flow in listed:
        if not has_role(flow, "flows"):
            raise TypeError(f"flows: expected a source such as sluicegate.Tcp(...), not {what_is(flow)}")
    if not listed:
        raise _core.ScenarioError("flows: at least one source is needed, such as sluicegate.Tcp(...)")
    return listed


def queue_table(queue: object) -> dict[str, Any]:
    """The table [queue] for a discipline of the package. Raises TypeError for anything else."""
    if not has_role(queue, "queue"):
        declared.discipline_wanted(queue)
        raise AssertionError
    return declared.queue_table(queue)


@dataclass(frozen=True)
class Subject:
    """What is simulated: any of the things that `subject` takes, read.

    `name`: of the file in messages. `sets`: the overrides that hold whatever else is chosen. `plain`: the text of a
    scenario that was given as one; else it was described by `network` and `flows`. `given`: the arguments that stand
    for keys of [run].
    """

    name: str
    sets: tuple[tuple[str, str], ...]
    given: frozenset[str]
    plain: str = ""
    network: Network | None = None
    flows: tuple[Source, ...] = ()

    def text(self, queue: object = KEPT) -> str:
        """The scenario; `queue` takes the place of what a description has as its queue, None leaves it out."""
        if self.network is None:
            return self.plain
        return scenario(self.network if queue is KEPT else replace(self.network, queue=queue), self.flows)  # type: ignore[arg-type]

    @property
    def queue(self) -> AqmFactory | None:
        """What makes the discipline, where a description has a class or factory of one's own."""
        return None if self.network is None else factory(self.network.queue)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Let errors of the block name arguments, and objects with their fields, instead of keys of the scenario."""
        try:
            yield
        except _core.ScenarioError as error:
            if (said := self.words(str(error))) == str(error):
                raise
            raise _core.ScenarioError(said) from None

    def words(self, message: str) -> str:
        """A message of the core's about this scenario, in the caller's terms."""
        place, colon, about = message.partition(": ")
        key = about.partition(" ")[0].rstrip(":")
        if not colon or place not in ("sets", PYTHON):
            return message
        if key.removeprefix("run.") in self.given and key.startswith("run."):
            return about.removeprefix("run.")
        if place == "sets" or self.network is None:
            return message
        first, *rest = key.split(".")
        thing: object = self.network
        where = ""
        if first == "flows" and rest:
            thing, where = self.flows[int(rest.pop(0))], f"flows[{key.split('.')[1]}], "
        elif first == "queue" and rest:
            thing = self.network.queue
            rest = rest[1:] if rest[0] == getattr(thing, "name", None) else rest
        elif first == "network" and rest[:1] == ["links"] and isinstance(self.network, Topology):
            thing, where, rest = self.network.links[int(rest[1])], f"links[{rest[1]}], ", rest[2:]
        elif first != "network":
            return about
        if not rest or thing is None:
            return f"{where.removesuffix(', ') or first}{about.removeprefix(key)}"
        return f"{where}{type(thing).__name__}: {'.'.join(rest)}{about.removeprefix(key)}"


def subject(what: What, flows: Flows | None = None, *, sets: Sets | None = None, **run: object) -> Subject:
    """What a call is to simulate, whatever it was given.

    `what`: a network, with `flows`; the name of a bundled scenario; a path; the text of a scenario, which is a text of
    several lines or with "="; or a scenario as a mapping, such as `summary["scenario"]` of a run. `sets`, then `run`,
    the arguments that stand for keys of [run], override what it says; None is left out.

    Raises `ScenarioError`, OSError, and TypeError for what is none of these.
    """
    given = {key: value for key, value in run.items() if value is not None}
    arguments = ((f"run.{key}", toml_text(override(value, key))) for key, value in given.items())
    pairs = (*override_texts(sets), *arguments)
    if is_network(what):
        if flows is None:
            raise TypeError("flows: a network needs sources, such as sluicegate.Tcp(...)")
        return Subject(PYTHON, pairs, frozenset(given), network=what, flows=sources(flows))
    if not isinstance(what, str | Path | Mapping):
        kinds = "sluicegate.dumbbell(...) or topology(...), a scenario's name, file or text, or a mapping"
        raise TypeError(f"network: expected {kinds}, not {what_is(what)}")
    if flows is not None:
        raise TypeError("flows: a scenario brings its own")
    text, name = read_scenario(what)
    warn(_without_units(text, pairs), ScenarioWarning)
    return Subject(name, pairs, frozenset(given), text)


def _without_units(text: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Sentences about overrides that count packets where the scenario states a time: the unit was probably left out."""
    for key, value in pairs:
        if value.isdigit() and key.endswith((".limit", ".queue_limit", ".tx_ring", ".buffer")):
            with suppress(tomllib.TOMLDecodeError, KeyError, TypeError):
                stated = functools.reduce(lambda table, part: table[part], key.split("."), tomllib.loads(text))
                if isinstance(stated, str) and (unit := stated.strip(" 0123456789.")) in ("ns", "us", "µs", "ms", "s"):
                    yield (f'sets: {key} = {value} counts packets; the scenario has "{stated}": for a time say '
                           f'"{value} {unit}"')  # fmt: skip


@dataclass(frozen=True)
class ReadScenario:
    """A scenario that is read once, for all that is done with it.

    `core`: as the core has it. `resolved`: with every default filled in; `own_discipline` says what was made of one in
    Python. `queue`: what makes its discipline, where that is a class or factory of one's own.
    """

    core: _core.Scenario
    resolved: dict[str, Any]
    queue: AqmFactory | None = None

    def warn(self, real: bool = False) -> None:
        """Warn of what it shows before it runs. `real`: between real hosts."""
        warn_unused([self.core.unused])
        warn(traps.of_scenario(self.resolved, real=real), TrapWarning)


def read(text: str, name: str, sets: Iterable[tuple[str, str]] = (), queue: AqmFactory | None = None) -> ReadScenario:
    """Read a scenario with overrides. Raises `ScenarioError`."""
    core = _core.Scenario(text, name, list(sets))
    return ReadScenario(core, core.resolved(), queue)


def check(
    network: What,
    flows: Flows | None = None,
    *,
    sets: Sets | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    envelopes: str | Path | None = None,
) -> dict[str, Any]:
    """Check a scenario without running it; return it with every default filled in.

    The arguments, and what is raised, are those of `simulate`. `envelopes`: a folder that `sluicegate.envelope` wrote:
    also warn of links far outside of these envelopes.

    >>> sg.check("unresponsive", sets={"queue.limit": 100})["queue"]["limit"]
    100
    """
    about = subject(network, flows, sets=sets, duration=duration, warmup=warmup, seed=seed)
    text = about.text()
    with about.told():
        maker = custom_aqm.Maker(about.queue)
        core = _core.Scenario(text, about.name, about.sets)
        core.try_making(maker)
    resolved = core.resolved()
    check_goals(resolved, text, about.name)
    warn_unused([core.unused])
    measured = None
    if envelopes is not None:
        name = resolved["queue"]["discipline"]
        measured = {label: each.spelt(maker.located(name), name) for label, each in load(envelopes).items()}
    warn(traps.of_scenario(resolved, envelopes=measured), TrapWarning)
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


def resolve(what: What, sets: Sets | None = None) -> dict[str, Any]:
    """A scenario with every default filled in, without its warnings. Raises `ScenarioError` and OSError."""
    about = subject(what, sets=sets)
    return _core.Scenario(about.text(), about.name, about.sets).resolved()


def warn(sentences: Iterable[str], category: type[ScenarioWarning]) -> None:
    """Warn of each, at the line outside the package that called it."""
    package = str(Path(__file__).parent) + os.sep
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    for sentence in sentences:
        warnings.warn(sentence, category, stacklevel=level)


def warn_unused(runs: Iterable[Sequence[tuple[str, str, str]]]) -> None:
    """Warn of each key of a queue that does nothing in any of these runs: `_core.Scenario.unused` of each."""
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


def override_texts(sets: Sets | None, argument: str = "sets") -> list[tuple[str, str]]:
    """Overrides as the core takes them. What is not a string is written as JSON, which is TOML for such values. Raises
    TypeError that names `argument`."""
    listed: Any = sets.items() if isinstance(sets, Mapping) else () if sets is None else sets
    pairs: list[Any] = list(listed) if isinstance(listed, Iterable) and not isinstance(listed, str) else [listed]
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str)):
            found = f'"{pair}"' if isinstance(pair, str) else what_is(pair)
            raise TypeError(f'{argument}: expected a mapping such as {{"queue.limit": 50}}, or pairs, not {found}')
    return [(key, toml_text(override(value, f"{argument}: {key}"))) for key, value in pairs]


def scenarios() -> list[str]:
    """The names of the bundled scenarios."""
    entries = resources.files("sluicegate").joinpath("scenarios").iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def bundled_scenario(name: str) -> tuple[str, str]:
    """The text of the bundled scenario of this name, and its name for messages. Raises FileNotFoundError."""
    packaged = resources.files("sluicegate").joinpath("scenarios", f"{name}.toml")
    return packaged.read_text("utf-8"), packaged.name


OTHER = "; a scenario is a TOML file; `sluicegate learn` makes one from captures and measurements"
"""The end of a message about a file that is no scenario."""


def read_scenario(what: str | Path | Mapping[str, Any]) -> tuple[str, str]:
    """The text of a scenario and its name for messages.

    `what` is a path or, when no such file exists, `NAME`, `NAME.toml` or `scenarios/NAME.toml` of a bundled scenario;
    or the text itself, or the mapping that a text stands for. Raises OSError when it cannot be read, `ScenarioError`
    when it is not text, or an empty one.
    """
    if isinstance(what, Mapping):
        import tomli_w

        return tomli_w.dumps(what), PYTHON
    if isinstance(what, str) and not what.strip():
        raise _core.ScenarioError("a scenario's name, file or text is expected, not an empty text")
    if isinstance(what, str) and not (what.endswith(".toml") or os.path.exists(what)) and ("\n" in what or "=" in what):
        return what, TEXT
    path = Path(what)
    name = path.name.removesuffix(".toml")
    if path.parent in (Path(), Path("scenarios")) and (path.is_dir() or not path.exists()):
        known = scenarios()
        if name in known:
            return bundled_scenario(name)
        if not path.is_dir():
            others = "" if path.suffix == ".toml" else f"; bundled scenarios: {', '.join(known)}"
            raise FileNotFoundError(2, f"no such file{near_file(path, known) or others}", str(what))
    try:
        if not (text := path.read_text("utf-8")).strip():
            raise _core.ScenarioError(f"{what}: is empty; `sluicegate new home -o FILE` writes a scenario of an access "
                                      "line, and docs/scenarios.md says what one consists of")  # fmt: skip
        if path.suffix != ".toml":
            tomllib.loads(text)
        return text, str(what)
    except UnicodeDecodeError as error:
        other = "" if path.suffix == ".toml" else OTHER
        raise _core.ScenarioError(f"{what}: not UTF-8 text (byte {error.start}){other}") from None
    except tomllib.TOMLDecodeError as error:
        raise _core.ScenarioError(f"{what}: not TOML: {error}{OTHER}") from None
