"""Congestion controls as users list them, and the overrides of a scenario that they stand for.

    cubic,bbr3,ledbat:ledbat_target=60 ms

Entries are written as those of disciplines are (`disciplines`): after the name come values of the flows that it
controls, such as `cubic:slow_start_exit=loss` or `newreno:profile=ns2`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from .. import _core
from .disciplines import listed_once, parsed

LINUX = ("reno", "cubic", "bbr", "bbr3", "dctcp", "prague", "ledbat")
"""Those of hosts of today."""


@dataclass(frozen=True)
class Controller:
    """One congestion control of a list.

    `label`: how it was written, without superfluous spaces; names it in results. `name`: the algorithm alone. `values`:
    keys and values of the flows under its control, as text.
    """

    label: str
    name: str
    values: tuple[tuple[str, str], ...] = ()

    def sets(self, flows: Iterable[int]) -> tuple[tuple[str, str], ...]:
        """The overrides that put these flows of a scenario, by number, under its control."""
        return tuple(
            (f"flows.{number}.{key}", value)
            for number in flows for key, value in (("algorithm", self.name), *self.values)
        )  # fmt: skip

    def check(self, text: str, file: str, sets: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """The scenario with these overrides and every default filled in. Raises `ScenarioError` that names it."""
        try:
            return _core.Scenario(text, file, tuple(sets)).resolved()
        except _core.ScenarioError as error:
            raise _core.ScenarioError(f'controller "{self.label}": {error}') from None


Controllers = str | Iterable[str | Controller]
"""Congestion controls as `evaluate` takes them: a text, or several."""


@cache
def titles() -> dict[str, str]:
    """What each congestion control of the simulator is, by its name."""
    return {each["name"]: each["doc"] for each in json.loads(_core.declarations())["algorithms"]}


def controllers(listed: Controllers) -> list[Controller]:
    """The congestion controls of a list, in its order; "all" those of `LINUX`.

    Raises `ScenarioError` when an entry is not as the module says, is not known, or two are alike, and TypeError for
    what is neither text nor a `Controller`.
    """
    found: list[Controller] = []
    for each in [listed] if isinstance(listed, str) else listed:
        if isinstance(each, Controller):
            found.append(each)
        elif not isinstance(each, str):
            raise TypeError(f"controllers: expected names such as cubic, not {type(each).__name__}")
        elif each.strip() == "all":
            found += [Controller(name, name) for name in LINUX]
        else:
            found += [_known(part) for part in each.split(",")]
    if not found:
        raise _core.ScenarioError("controllers: name at least one, such as bbr3")
    listed_once(found, "controller")
    return found


def _known(text: str) -> Controller:
    """One congestion control of a text."""
    name = text.partition(":")[0].strip()
    if name.endswith((".rs", ".py")):
        why = "the suite has those of the package; one of your own runs in a Rust program: see docs/rust-library.md"
        raise _core.ScenarioError(f'controller "{text.strip()}": {why}')
    if name and name not in titles():
        near = get_close_matches(name, titles(), 1)
        hint = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(titles())}"
        raise _core.ScenarioError(f'controller "{name}": not known; {hint}')
    label, name, values = parsed(text, "controller", "cubic:initial_window=20")
    return Controller(label, name, tuple(values.items()))
