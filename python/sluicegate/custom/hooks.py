"""The methods of users' disciplines and ends that the core calls: found by name, refused if they do not fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .ends import EndHooks

if TYPE_CHECKING:
    from .._core import Ctx, Packet


class Hooks(NamedTuple):
    """The methods that the core calls, and the name that results bear; None for what is left at its default."""

    name: str
    enqueue: Callable[[Packet, Ctx], None]
    dequeue: Callable[[Ctx], Packet | None]
    next_wakeup: Callable[[], int | None] | None
    wake: Callable[[Ctx], None] | None
    average: Callable[[], float | None] | None


AnyHooks = TypeVar("AnyHooks", Hooks, EndHooks)

CALLED = (*Hooks._fields[1:], *EndHooks._fields[1:])
"""The methods that the core calls."""


def hooks(thing: object, label: str, kind: type[AnyHooks], base: type, needed: Sequence[str]) -> AnyHooks:
    """The methods of a thing, as `kind` names them. Raises `ScenarioError` when it lacks one that it must have."""
    found: dict[str, Any] = {}
    for method in kind._fields[1:]:
        hook = getattr(thing, method, None)
        if getattr(hook, "__func__", None) is getattr(base, method):
            hook = None
        if not callable(hook) and (hook is not None or method in needed):
            raise no_method(label, method, thing)
        if hook is not None:
            _check_signature(f"{label}.{method}", hook, getattr(base, method))
        found[method] = hook
    return kind(type(thing).__name__, **found)


def no_method(label: str, method: str, thing: object) -> Exception:
    """The `ScenarioError` for a thing that lacks a method, with the nearest name that it has instead."""
    from .._core import ScenarioError, nearest

    near = nearest(method, [key for key in dir(thing) if not key.startswith("__") and key not in CALLED])
    hint = f' (it has "{near}")' if near else ""
    return ScenarioError(f"{label}: no method {method}{hint}")


def _check_signature(name: str, hook: Callable[..., object], declared: Callable[..., object]) -> None:
    """Raise `ScenarioError` for a method that cannot take what one declared so is called with."""
    from .._core import ScenarioError

    try:
        signature = inspect.signature(hook)
    except (TypeError, ValueError):  # some of those written in C have none
        return
    _self, *taken = inspect.signature(declared).parameters
    try:
        signature.bind(*taken)
    except TypeError:
        raise ScenarioError(f"{name}{signature}: must take ({', '.join(taken)})") from None
