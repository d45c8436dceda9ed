"""Analytic models: what the papers derive, as functions that simulations are measured against.

`choke` and `red` are loaded when they are first used: the first needs SciPy.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import choke, red

__all__ = ["choke", "red"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f".{name}", __name__)
