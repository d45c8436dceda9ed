"""Wrong keyword arguments of public functions and classes, told with the name that was probably meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .quantities import did_you_mean


def check_keywords(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError for the first of these keyword arguments that `name` does not take."""
    for key in given:
        if key not in known:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'{did_you_mean(key, known)}")


@functools.cache  # one for each function, whatever names it has: pickle looks for it by the function's own
def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which checks its keyword arguments so."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*arguments: Any, **given: Any) -> Any:
        check_keywords(function.__name__, given, known)
        return function(*arguments, **given)

    call.__module__ = "sluicegate"  # where pickle finds it
    return call
