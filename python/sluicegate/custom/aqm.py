"""Users' disciplines in Python: their interface, and how they are found, made and run.

`Aqm` documents the methods. In the API, `queue=MyAqm` is a class or a factory; in files and on the command line
`path.py:MyAqm` names one. Either way every run makes new disciplines from it, one for each link with this queue.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import pickle
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..quantities import did_you_mean
from . import ends as custom_ends
from . import rust
from .ends import EndHooks, Endpoint
from .hooks import CALLED, Hooks, hooks, no_method

if TYPE_CHECKING:
    from .._core import Ctx, Packet, RawRun, Scenario

NOTE = "sluicegate: "
"""How the note begins that says where in a run an exception of a discipline was raised."""


class Aqm(ABC):
    """A queue discipline written in Python; the methods are those of the Rust trait `Discipline`.

    The packet in transmission belongs to the link, not to the queue. Times are whole nanoseconds since the start of the
    run. At equal times `wake` comes first, then departures, then arrivals; after each call `next_wakeup` must return a
    time later than that call, or None. Each packet passed to `enqueue` must later be returned by `dequeue` or passed to
    `ctx.drop`, exactly once.

    Random numbers come from `ctx`, so that equal runs give equal results; the methods see nothing outside the queue.

    Subclassing is for the defaults, type checkers and editors: any object with `enqueue` and `dequeue` works.

    >>> class Short(sg.Aqm):  # Drop Tail with room for ten packets
    ...     def __init__(self):
    ...         self.queue = sg.PacketQueue()
    ...
    ...     def enqueue(self, packet, ctx):
    ...         if ctx.packets < 10:
    ...             self.queue.append(packet)
    ...         else:
    ...             ctx.drop(packet, "tail")
    ...
    ...     def dequeue(self, ctx):
    ...         return self.queue.pop()
    >>> run = sg.run("unresponsive", queue=Short, duration="2 s", warmup="0 s")
    >>> run.links["queue_packets_max"].item()
    10
    """

    @abstractmethod
    def enqueue(self, packet: Packet, ctx: Ctx) -> None:
        """A packet arrives: keep it, or drop it (and perhaps others) with `ctx.drop(packet, reason)`."""

    @abstractmethod
    def dequeue(self, ctx: Ctx) -> Packet | None:
        """The link can send: return the packet that leaves. None means that the queue is empty and the link's idle
        period begins, or, while `next_wakeup` names a time, that packets are held back.

        The link calls again after the next arrival and the next wake-up.
        """

    def next_wakeup(self) -> int | None:
        """When to call `wake`, in nanoseconds, later than the last call; None for never.

        Asked at the start and after each of the other calls. A time that is not later is a `ValueError`.
        """
        return None

    def wake(self, ctx: Ctx) -> None:
        """Called at the time of `next_wakeup`, which must then return a later time, or None.

        Departures and arrivals of the same time come afterwards.
        """
        return

    def average(self) -> float | None:
        """The discipline's own average of the queue in packets, for results; None when it keeps none."""
        return None


Made: TypeAlias = tuple[tuple[str, str | None], ...]
"""Disciplines in Python by class and SHA-256 of the file that defines it; None where there is no file."""

AqmFactory: TypeAlias = Callable[..., Aqm]
"""What makes a discipline: a class, or a function. It gets, as keywords, the values of `[queue.python]`, and those of
`[queue]` and `rate_bps`, the link's rate in bit/s at the start, as far as its signature names them; `ctx.rate_bps` has
the rate at each call."""


class Maker:
    """Makes the discipline of each link of one run; the core calls it, and puts the place before its `ScenarioError`s.

    `factory` makes what the API was given; without one, the scenario names a file. `about` then says, for the summary,
    what was made: its class, its arguments, and the SHA-256 of the file that defines it, if there is one; of several
    disciplines, the last. `made` has class and digest of each. With `expected`, no other may be made. `factories` has
    those of a run that changes its discipline, by the name that stands for each in the scenario. `own_ends` says of
    each function that makes ends what `about` says of a discipline, and `own_rust` of what is written in Rust.
    """

    def __init__(self, factory: AqmFactory | None = None, expected: Made | None = None) -> None:
        self.factory = factory
        self.expected = expected
        self.about: dict[str, Any] = {}
        self.own_ends: dict[str, dict[str, Any]] = {}
        self.own_rust: dict[str, dict[str, Any]] = {}
        self.made: set[tuple[str, str | None]] = set()
        self.factories: dict[str, AqmFactory] = {}
        self._loaded: dict[tuple[str, str | None], tuple[AqmFactory, str]] = {}

    def name(self, factory: AqmFactory) -> str:
        """The name that stands for `factory` from now on: that of `described`, with a number where another has it."""
        plain = described(factory)
        if not self.factories and self.factory is not None:
            self.factories[described(self.factory)] = self.factory
        for name in (plain, *(f"{plain}#{number}" for number in range(2, len(self.factories) + 3))):
            if self.factories.setdefault(name, factory) is factory:
                return name
        raise AssertionError("there are more names than factories")

    def located(self, reference: str) -> str:
        """What was made for `reference`, as the function `located` names it."""
        return next((located(*key) for key in self._loaded if key[0] == reference), reference)

    def summary(self, raw: RawRun) -> RawRun:
        """What a run gave, whose summary then says what was made."""
        if own := self.own():
            raw["summary"] = json.dumps(json.loads(raw["summary"]) | own)
        return raw

    def own(self) -> dict[str, Any]:
        """What a summary says of what was made."""
        own = {"own_discipline": self.about, "own_ends": self.own_ends, "own_rust": self.own_rust}
        return {key: about for key, about in own.items() if about}

    def __call__(
        self, reference: str, file: str | None, given: Mapping[str, object], offered: Mapping[str, object]
    ) -> Hooks:
        """Make what `reference` names: `path.py:Class`, relative to the folder of the scenario's `file`, if any.

        `given` must be taken, `offered` may be. Raises `ScenarioError`, and whatever the discipline raises.
        """
        digest = None
        given_here = self.factories.get(reference, self.factory if ".py:" not in reference else None)
        if given_here is not None:
            factory = given_here
        else:
            factory, digest = self._load(reference, file)
        label = reference.rpartition(":")[2]
        discipline, arguments = _made(factory, label, given, offered)
        self.about = self._noted(reference, type(discipline), digest, arguments)
        return hooks(discipline, label, Hooks, Aqm, ("enqueue", "dequeue"))

    def ends(
        self, reference: str, file: str | None, given: Mapping[str, object], offered: Mapping[str, object]
    ) -> list[EndHooks]:
        """Make the sender and the receiver of a flow: what `path.py:function` or a name of `custom_ends.named` makes.

        The arguments and errors are those of the call that makes a discipline.
        """
        from .._core import ScenarioError

        factory: Callable[..., Any]
        if ".py:" in reference:
            factory, digest = self._load(reference, file, "function that makes ends")
        else:
            try:
                factory, digest = custom_ends.find(reference), None
            except LookupError:
                rule = "no such function here; put it into a module that can be imported"
                raise ScenarioError(f"{rule}, or name its file: path.py:function") from None
        label = reference.rpartition(":")[2]
        ends, arguments = _made(factory, label, given, offered)
        if not isinstance(ends, tuple | list) or len(ends) != 2:
            raise ScenarioError(f"{label} returned {ends!r}: it must return two ends, the sender and the receiver")
        named = factory if hasattr(factory, "__qualname__") else type(factory)
        self.own_ends[reference] = self._noted(reference, named, digest, arguments, known="#" not in reference)
        methods = EndHooks._fields[1:]
        return [hooks(end, f"{label}: {type(end).__name__}", EndHooks, Endpoint, methods) for end in ends]

    def program(self, names: rust.Names) -> rust.Program:
        """The program that has what these names stand for, in Rust: each with the file that names it, if any.

        Raises `ScenarioError`.
        """
        from .._core import ScenarioError

        found = rust.program(names)
        for name, digest in found.digests.items():
            self.made.add((name, digest))
            self.own_rust[name] = {"sha256": digest}
            if self.expected is not None and (name, digest) not in self.expected:
                raise ScenarioError(f"{name}: {another_file(digest, dict(self.expected).get(name))}")
        return found

    def _load(self, reference: str, file: str | None, what: str = "discipline") -> tuple[AqmFactory, str]:
        """What `path.py:Name` names, read once for a run."""
        key = (reference, file)
        if key not in self._loaded:
            self._loaded[key] = load(reference, file, what)
        return self._loaded[key]

    def _noted(
        self, reference: str, thing: Any, digest: str | None, arguments: dict[str, object], *, known: bool = True
    ) -> dict[str, Any]:
        """What the summary says of what was made. Raises `ScenarioError` when something else was expected.

        `known`: whether a file says all there is to say of it.
        """
        about: dict[str, Any] = {"class": _name(thing)}
        if digest := (digest or _digest(thing)) if known else None:
            about["sha256"] = digest
        this = (_name(thing) if known else reference, digest)
        self.made.add(this)
        # What has no file here, or belongs to the main program, has come with the request itself.
        came = digest is None or this[0].startswith("__main__:")
        if self.expected is not None and not came and this not in self.expected:
            from .._core import ScenarioError

            raise ScenarioError(f"{reference}: {another_file(digest, dict(self.expected).get(this[0]))}")
        return about | {"arguments": {key: _recorded(value) for key, value in arguments.items()}}


def another_file(found: str | None, wanted: str | None) -> str:
    """What to say of a file that is not the one that a run was asked for with; both by their SHA-256."""
    here, there = (digest[:12] if digest else "none" for digest in (found, wanted))
    return (
        f"its SHA-256 is {here} here, but {there} where the run was requested: the file has changed, or differs "
        "between the machines"
    )


def described(factory: AqmFactory) -> str:
    """The name of a factory in a scenario: `module:qualname`."""
    while isinstance(factory, partial):
        factory = factory.func
    return _name(factory if hasattr(factory, "__qualname__") else type(factory))


def _name(thing: Any) -> str:
    """`module:qualname`, the same in a process that has imported the program's main module under another name."""
    module = (thing.__module__ or "").removeprefix(PREFIX)
    return f"{'__main__' if module == '__mp_main__' else module}:{thing.__qualname__}"


def run(
    scenario: Scenario,
    progress: Callable[[float, float, int], object] | None,
    queue: AqmFactory | None = None,
    pcap: Sequence[tuple[str, str]] = (),
    expected: Made | None = None,
) -> RawRun:
    """Run a scenario whose discipline may be written in Python, and say so in the summary. See `_core.run`.

    `expected`: what may be made; `ScenarioError` when it is something else.
    """
    from .. import _core

    maker = Maker(queue, expected)
    return maker.summary(_core.run(scenario, progress, maker, pcap))


def importable(factory: AqmFactory | None) -> bool:
    """Whether another process can get at `factory`; what a scenario names by its path, None here, it can."""
    if factory is None:
        return True
    if described(factory).startswith("__main__:") and not hasattr(sys.modules["__main__"], "__file__"):
        return False  # a notebook, or typed in
    try:
        return bool(pickle.dumps(factory))
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


# --- finding -----------------------------------------------------------------------------------

PREFIX = "sluicegate_own."
"""Before the name of a module that was loaded from a path, so that it never stands in for another."""


def load(reference: str, file: str | None, what: str = "discipline") -> tuple[AqmFactory, str]:
    """What `path.py:Name` names, and the SHA-256 of the file. Raises `ScenarioError`, and what the file raises."""
    from .._core import ScenarioError

    place, _, name = reference.rpartition(":")
    if not place.endswith(".py") or not name.isidentifier():
        file_name, _, rest = reference.partition(".py:")
        if what == "discipline" and "=" in rest:
            name, _, pair = rest.partition(":")
            raise ScenarioError(f"give only {file_name}.py:{name} here, and its values as queue.python.{pair}")
        raise ScenarioError(f'no such {what}; one written in Python is named "path.py:Class"')
    path = _path(place, file)
    try:
        source = path.read_bytes()
    except OSError as error:
        hint = did_you_mean(path.name, (other.name for other in path.parent.glob("*.py")), "")
        raise ScenarioError(f"cannot read {path}: {error.strerror}{hint}") from None
    module = ModuleType(PREFIX + path.stem)
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look there
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        place = f"{error.filename}:{error.lineno}" if error.lineno else str(path)
        raise ScenarioError(f"{place}: {error.msg}") from error
    except Exception as error:
        error.add_note(f"{NOTE}while loading {path}")
        raise
    found = getattr(module, name, None)
    if not callable(found):
        own = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
        raise ScenarioError(f"{path} has no class or function {name}{did_you_mean(name, own, '')}")
    return found, hashlib.sha256(source).hexdigest()


def located(reference: str, file: str | None = None) -> str:
    """`path.py:Name` with the whole path, however it was spelt; what names no file stays as it is."""
    place, _, name = reference.rpartition(":")
    return f"{_path(place, file).resolve()}:{name}" if place.endswith(".py") else reference


def _path(place: str, file: str | None) -> Path:
    """A file that the scenario's `file`, if any, names."""
    return Path(file).parent / place if file is not None else Path(place)


def _digest(kind: type) -> str | None:
    """The SHA-256 of the file that defines a class; None when there is no such file, as in a notebook."""
    try:
        return hashlib.sha256(Path(inspect.getsourcefile(kind) or "").read_bytes()).hexdigest()
    except (OSError, TypeError):
        return None


def _recorded(value: object) -> object:
    """A value for the summary: itself when JSON knows it, else its type."""
    known = isinstance(value, str | int | None) or (isinstance(value, float) and math.isfinite(value))
    return value if known else [_recorded(item) for item in value] if isinstance(value, list) else type(value).__name__


# --- making ------------------------------------------------------------------------------------

BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def parameters(reference: str, given: Mapping[str, object], factory: AqmFactory | None = None) -> dict[str, object]:
    """The arguments of a discipline, by name, but for the link's rate: those `given`, and the defaults of the others. A
    whole number is a float where the signature says so. `factory`: what `reference` stands for, if it names no file.

    Raises `ScenarioError`, and what the file raises.
    """
    factory = factory or load(reference, None)[0]
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # some of those written in C have none
        return dict(given)
    found: dict[str, object] = {}
    for key, parameter in signature.parameters.items():
        value = given.get(key, parameter.default)
        if parameter.kind in BY_NAME and key != "rate_bps" and value is not parameter.empty:
            whole = type(value) is int and parameter.annotation in (float, "float")
            found[key] = float(value) if whole else value  # type: ignore[arg-type]
    return found


def _made(
    factory: Callable[..., object], label: str, given: Mapping[str, object], offered: Mapping[str, object]
) -> tuple[object, dict[str, object]]:
    """What `factory` makes, and its arguments. Raises `ScenarioError` when the factory refuses them."""
    from .._core import ScenarioError

    arguments = dict(given)
    if isinstance(factory, partial) and not factory.args:  # so that its keywords are looked at, too
        arguments, factory = factory.keywords | arguments, factory.func
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # some of those written in C have none
        signature = None
    if signature is not None:
        named = [key for key, parameter in signature.parameters.items() if parameter.kind in BY_NAME]
        arguments |= {key: offered[key] for key in named if key in offered and key not in arguments}
        try:
            signature.bind(**arguments)
        except TypeError as error:
            wrong = next((key for key in arguments if key not in named), "")
            raise ScenarioError(f"{label}: {error}{did_you_mean(wrong, named, '')}") from None
    abstract = getattr(factory, "__abstractmethods__", ())
    if lacking := next((method for method in CALLED if method in abstract), None):
        raise no_method(label, lacking, factory)
    try:
        return factory(**arguments), arguments
    except ValueError as error:  # how a constructor refuses a value
        raise ScenarioError(f"{label}: {' '.join(str(error).split())}") from error
    except Exception as error:
        error.add_note(f"{NOTE}while making {label}")
        raise


# --- blaming -----------------------------------------------------------------------------------


TOLD = "_sluicegate_traceback"
"""The attribute in which an exception carries its traceback from one process to another."""


def carried(error: BaseException, where: str) -> BaseException:
    """An exception of what a user wrote, ready to leave its process: `where` says in which run it was raised. An
    exception that another process could not make becomes a RuntimeError. Any other exception stays as it is."""
    if traceback_of(error) is None:
        return error
    with suppress(Exception):  # some refuse notes
        error.add_note(f"{NOTE}{where}")
    told = traceback_of(error)
    try:
        if type(error).__module__.startswith(PREFIX):
            raise ImportError
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__qualname__}: {error}")
    setattr(error, TOLD, told)
    return error


def traceback_of(error: BaseException) -> str | None:
    """The traceback of an exception of a discipline, from its own code on; None for any other exception."""
    from .._core import ConservationError

    if (told := getattr(error, TOLD, None)) is not None:
        return str(told)
    notes = getattr(error, "__notes__", ())
    if isinstance(error, KeyboardInterrupt) or not (
        isinstance(error, ConservationError) or any(str(note).startswith(NOTE) for note in notes)
    ):
        return None
    frame = own = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == __file__:
            own = frame.tb_next
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, own))
