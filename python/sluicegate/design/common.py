"""What designs have in common: a discipline, its chosen values with their rules, and warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import _core
from .._generated import Discipline


@dataclass(frozen=True)
class Rule:
    """A value, or a bound on one, and where it comes from.

    `name`: the parameter; `sign`: "=", or how the parameter stands to `value`; `why`: the rule, in words; `source`: the
    section of the paper, or "derived here".
    """

    name: str
    sign: str
    value: float | str
    why: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Design:
    """Parameters of a discipline for a link.

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


def ns2_lines(kind: str, queue: Any, **values: object) -> str:
    """Lines for ns-2, to run before its links are made: `values` of its queue of this kind, which counts packets."""
    marks = "true" if queue.action == "mark" else "false"
    values = {"bytes": "false", "queue_in_bytes": "false"} | values | {"setbit": marks}
    return "".join(f"Queue/{kind} set {name}_ {value}\n" for name, value in values.items())


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
