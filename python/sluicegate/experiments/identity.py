"""The identity of a function, so that results derived by it are reused as long as it is unchanged."""

from __future__ import annotations

import hashlib
import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]


class _UnknownError(Exception):
    """What something is cannot be told."""


def identity(function: Callable[..., object]) -> str | None:
    """The name of a function and a digest of its source, of the arguments bound to it, and of what it uses of its own
    package and of Sluicegate: functions, classes and values. What else its file holds, labels say, changes nothing.

    `function`: of a module, perhaps in a `functools.partial`, or an object that can be called. None for a lambda, a
    function inside another, and what has no source.
    """
    parts: dict[str, str] = {}
    packages = {PACKAGE, _package(function)}
    try:
        name = _value(function, packages, parts)
    except _UnknownError:
        return None
    told = "\n".join([name, *(f"{part}: {parts[part]}" for part in sorted(parts))])
    return hashlib.sha256(told.encode()).hexdigest()


def _package(function: Any) -> str:
    """The package, or the file, that a function or the class of an object belongs to."""
    while isinstance(function, partial):
        function = function.func
    owner = function if isinstance(function, type | FunctionType) else type(function)
    return str(owner.__module__).partition(".")[0]


def _value(value: Any, packages: set[str], parts: dict[str, str]) -> str:
    """A value in words that say all of it; the sources of functions and classes of `packages` go to `parts`."""
    if not isinstance(value, type):
        value = inspect.unwrap(value) if callable(value) else value
    if value is None or isinstance(value, str | bytes | int | float | complex):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(_value(item, packages, parts) for item in value)}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(_value(item, packages, parts) for item in value))}}}"
    if isinstance(value, Mapping):
        pairs = ([_value(each, packages, parts) for each in pair] for pair in value.items())
        return f"{{{', '.join(': '.join(pair) for pair in pairs)}}}"
    if isinstance(value, partial):
        return f"{_value(value.func, packages, parts)} with {_value([value.args, value.keywords], packages, parts)}"
    if isinstance(value, FunctionType) or (isinstance(value, type) and value.__module__ != "builtins"):
        return _source(value, packages, parts)
    if is_dataclass(value) and not isinstance(value, type):
        held = [getattr(value, each.name) for each in fields(value)]
        return f"{_source(type(value), packages, parts)}{_value(held, packages, parts)}"
    try:
        return f"{type(value).__qualname__} {hashlib.sha256(pickle.dumps(value)).hexdigest()}"
    except Exception:
        raise _UnknownError from None


def _source(thing: Any, packages: set[str], parts: dict[str, str]) -> str:
    """The name of a function or class; its source and what it uses, if it is of `packages`, go to `parts`."""
    name = f"{thing.__module__}:{thing.__qualname__}"
    if name in parts or _package(thing) not in packages:
        return name
    if "<" in thing.__qualname__:  # <lambda>, or in the <locals> of another: the name may stand for several
        raise _UnknownError
    try:
        parts[name] = inspect.getsource(thing)
    except (OSError, TypeError):
        raise _UnknownError from None
    functions = [thing]
    if isinstance(thing, type):
        members = (getattr(each, "fget", None) or getattr(each, "__func__", each) for each in vars(thing).values())
        functions = [each for each in members if isinstance(each, FunctionType)]
        for base in thing.__mro__[1:]:
            _source(base, packages, parts)
    for function in functions:
        uses = dict(_uses(function.__code__, function.__globals__, packages))
        defaults = [function.__defaults__, function.__kwdefaults__]
        parts[f"{name}.{function.__name__} uses"] = _value([defaults, uses], packages, parts)
    return name


def _uses(code: CodeType, scope: Mapping[str, Any], packages: set[str]) -> Iterator[tuple[str, object]]:
    """The global names that some code uses and their values; what belongs to libraries is left out."""
    names = set(code.co_names)
    for name in sorted(names & scope.keys()):
        value = scope[name]
        if isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] in packages:
                held = vars(value)
                used = sorted(each for each in names & held.keys() if _is_of(held[each], packages))
                yield from ((f"{name}.{each}", held[each]) for each in used)
        elif _is_of(value, packages):
            yield name, value
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _uses(constant, scope, packages)


def _is_of(value: object, packages: set[str]) -> bool:
    """Whether a value that a module holds is what these packages made, not a library."""
    if isinstance(value, ModuleType):
        return False
    if not callable(value) or isinstance(value, partial):
        return True
    return (getattr(value, "__module__", None) or PACKAGE).partition(".")[0] in packages
