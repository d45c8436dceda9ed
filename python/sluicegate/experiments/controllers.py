"""Congestion controls as users list them, and the overrides of a scenario that they stand for.

    cubic,bbr3,ledbat:ledbat_target=60 ms,mine.rs:MyControl,quinn:cubic,mine.py:my_ends

Entries are written as those of disciplines are (`disciplines`): after the name come values of the flows that it
controls, such as `cubic:slow_start_exit=loss` or `newreno:profile=ns2`; after a function in Python that makes ends, its
arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from .. import _core
from ..custom import aqm as custom_aqm
from ..custom import ends as custom_ends
from ..custom.ends import EndsFactory
from ..custom.rust import ADAPTED
from ..declarations import declarations
from ..quantities import did_you_mean
from .disciplines import known as disciplines
from .disciplines import listed_once, parsed

LINUX = ("reno", "cubic", "bbr", "bbr3", "dctcp", "prague", "ledbat")
"""Those of hosts of today."""


@dataclass(frozen=True)
class Controller:
    """One congestion control of a list, or a transport with ends of its own.

    `label`: how it was written, without superfluous spaces; names it in results. `name`: the algorithm, what is one's
    own, or the transport alone. `values`: keys and values of the flows under its control, as text; of ends in Python,
    what their function gets.
    """

    label: str
    name: str
    values: tuple[tuple[str, str], ...] = ()

    @property
    def is_ends(self) -> bool:
        """Whether it takes the place of both ends: a function in Python, one in Rust, or `ADAPTED`."""
        return ":" in self.name and not self.is_rust_type

    @property
    def is_rust_type(self) -> bool:
        """Whether it is a type in a file in Rust, and so a congestion control: names of functions begin small."""
        return ".rs:" in self.name and not self.name.rpartition(":")[2][:1].islower()

    def sets(self, flows: Iterable[int]) -> tuple[tuple[str, str], ...]:
        """The overrides that put these flows of a scenario, by number, under its control."""
        key = "ends" if self.is_ends else "controller" if self.is_rust_type else "algorithm"
        table = "python." if self.is_ends else ""
        own = ((key, self.name), *((table + each, value) for each, value in self.values))
        return tuple((f"flows.{number}.{key}", value) for number in flows for key, value in own)

    def check(self, text: str, file: str, sets: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """The scenario with these overrides and every default filled in, and what was made of what is one's own. Raises
        `ScenarioError` that names it, and what a function in Python raises."""
        maker = custom_aqm.Maker()
        try:
            read = _core.Scenario(text, file, tuple(sets))
            read.try_making(maker)
            return dict(read.resolved()) | maker.own()
        except _core.ScenarioError as error:
            _, _, why = str(error).rpartition(f'= "{self.name}": ')  # which has been said
            with suppress(_core.ScenarioError):
                if ".py:" in self.name and hasattr(custom_aqm.load(self.name, None)[0], "enqueue"):
                    why = DISCIPLINE
            raise _core.ScenarioError(f'controller "{self.label}": {why}') from None


Controllers = str | EndsFactory | Iterable[str | EndsFactory | Controller]
"""Congestion controls as `evaluate` takes them: a text, a function that makes ends of a flow, or several."""


@cache
def titles() -> dict[str, str]:
    """What each congestion control of the simulator is, by its name."""
    return {each["name"]: each["doc"] for each in declarations()["algorithms"]}


def controllers(listed: Controllers) -> list[Controller]:
    """The congestion controls of a list, in its order; "all" those of `LINUX`.

    Raises `ScenarioError` when an entry is not as the module says, is not known, or two are alike, and TypeError for
    what is neither text, function nor `Controller`.
    """
    found: list[Controller] = []
    for each in [listed] if isinstance(listed, str | Callable) else listed:  # type: ignore[union-attr]
        if isinstance(each, Controller):
            found.append(each)
        elif callable(each):
            name, values = custom_ends.named(each)
            pairs = {} if values is None else {key: json.dumps(value) for key, value in values.items()}
            label = ":".join([name.rpartition(":")[2], *(f"{key}={value}" for key, value in pairs.items())])
            found.append(Controller(label, name, tuple(pairs.items())))
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


DISCIPLINE = "is a queue discipline, which the suite rfc7928 is for: leave out --suite congestion-control"

PLACES = (".py", ".rs", *dict.fromkeys(each.partition(":")[0] for each in ADAPTED))
"""How the first part of a name ends that a second one belongs to."""


def _known(text: str) -> Controller:
    """One congestion control of a text."""
    label, name, values = parsed(text, "controller", "cubic:initial_window=20", PLACES, "MyControl")
    if name in disciplines():
        raise _core.ScenarioError(f'controller "{name}": {DISCIPLINE}')
    if ":" not in name and name not in titles():
        others = f"mine.rs:MyControl, mine.py:my_ends, {', '.join(ADAPTED)}"
        hint = did_you_mean(name, titles(), f"known: {', '.join(titles())}; your own and others': {others}")
        raise _core.ScenarioError(f'controller "{name}": not known{hint}')
    return Controller(label, name, tuple(values.items()))
