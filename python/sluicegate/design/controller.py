"""What designs of controllers have in common: a discipline, its chosen values with their rules, and warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import _core
from .._generated import Discipline
from .red import Rule


@dataclass(frozen=True, kw_only=True)
class ControllerDesign:
    """Parameters of a discipline that holds a queue at its target.

    Attributes:
        queue: The discipline, for `dumbbell` and the like.
        rules: Each value, with its rule.
        warnings: Conditions that the values do not suit, as sentences.
    """

    queue: Discipline
    rules: tuple[Rule, ...]
    warnings: tuple[str, ...]

    chosen: ClassVar[tuple[str, ...]]
    """The parameters that a design chooses; all others keep their defaults."""

    def values(self) -> dict[str, Any]:
        """The chosen parameters by name; the others have their defaults."""
        names = [*self.chosen, *(["action"] if getattr(self.queue, "action", "") == "mark" else [])]
        return {name: getattr(self.queue, name) for name in names}

    def scenario(self) -> str:
        """The tables [queue] and [queue.<discipline>] of a scenario, as text."""
        import tomli_w

        return tomli_w.dumps({"queue": {"discipline": self.queue.name, self.queue.name: self.values()}})

    def record(self) -> dict[str, object]:
        """Everything as plain values for JSON."""
        return {
            "queue": {"discipline": self.queue.name} | self.values(),
            "rules": [vars(rule) for rule in self.rules],
            "warnings": list(self.warnings),
            "scenario": self.scenario(),
        }


SCENARIO = """\
network = {{ rate = "{rate}", delay = "1 ms" }}
queue = {{ discipline = "{discipline}" }}
flows = [{{ kind = "tcp" }}]
run = {{ duration = "1 s" }}
"""


def default(discipline: str, name: str, rate: str = "1 Mbit/s") -> Any:
    """What a discipline has for a parameter that is not given, on a link of this rate."""
    text = SCENARIO.format(rate=rate, discipline=discipline)
    return _core.Scenario(text, "<python>", []).resolved()["queue"][name]


def room(discipline: str, q_ref: int, rate: str = "1 Mbit/s") -> int:
    """The buffer for a target: the discipline's own, or four times the target where that is more."""
    return max(int(default(discipline, "limit", rate)), 4 * q_ref)


def check_samples(w: float) -> None:
    """Raise `ScenarioError` unless this can be a number of samples in a second."""
    if isinstance(w, bool) or not (isinstance(w, int | float) and math.isfinite(w) and 0 < w <= 1e9):
        raise _core.ScenarioError(f"w = {w}: must be above 0 and at most 1e9 Hz")


def whole(**numbers: object) -> None:
    """Raise `ScenarioError` unless all of these are whole numbers from 1 to 10⁹."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**9:
            raise _core.ScenarioError(f"{name} = {value}: must be a whole number, from 1 to {10**9}")
