"""How parameters are moved: each number is halved and doubled, or only the named parameters take the values given.

A discipline of the package declares its parameters; one in Python has those of its signature (`custom.aqm.parameters`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _core
from ...custom import aqm as custom_aqm
from ...experiments.disciplines import Choice
from ...quantities import did_you_mean, in_base_unit
from ...scenario import PYTHON, override_texts
from ..suite import declared
from .grid import Cell, Grid
from .regions import UNMOVED

NUMBERS = ("number", "integer", "size", "time", "rate")
"""Kinds of declared parameters that are numbers."""

Asked = Mapping[str, tuple[str, ...]]
"""Parameters that are to be moved, with the values that each is to take; without any it is halved and doubled."""


@dataclass(frozen=True)
class Move:
    """A parameter of a discipline times a factor, or with a value in place of its own."""

    parameter: str = ""
    factor: float | None = 1.0
    value: str | None = None

    @property
    def still(self) -> bool:
        """Whether nothing is moved."""
        return self.parameter in ("", UNMOVED)


STILL = Move()


@dataclass(frozen=True)
class Parameters:
    """What a discipline has: parameters that are numbers, and others. `own`: the values of one in Python, by name."""

    numbers: tuple[str, ...]
    others: tuple[str, ...]
    own: Mapping[str, object] | None = None

    def text(self, queue: Mapping[str, Any], move: Move) -> str | None:
        """What the move makes of a parameter in a resolved queue, as an override takes it; None if it makes nothing."""
        if move.factor is None:
            return move.value
        return moved((queue if self.own is None else self.own).get(move.parameter), move.factor)

    def moves(self, grid: Grid, asked: Asked | None) -> list[Move]:
        """What is moved: first nothing, under which the others are seen beside."""
        wanted: Asked = dict.fromkeys(self.numbers, ()) if asked is None else asked
        found: list[Move] = []
        for name in (name for name in wanted if name in (*self.numbers, *self.others)):
            found += [Move(name, None, value) for value in wanted[name]] or [Move(name, by) for by in grid.moves]
        return [Move(UNMOVED), *found] if found else []


def parameters(choice: Choice) -> Parameters:
    """The parameters of a discipline. Raises `ScenarioError`, and what a discipline in Python raises."""
    if ":" not in choice.name:
        fields = (declared(choice.name) or {"fields": ()})["fields"]
        numbers = tuple(each["name"] for each in fields if each["kind"] in NUMBERS)
        return Parameters(numbers, tuple(each["name"] for each in fields if each["kind"] not in NUMBERS))
    given = choice.read(Cell(1_000_000, 1, 1_000_000).text(1, False), PYTHON, ()).resolved["queue"].get("python", {})
    own = custom_aqm.parameters(choice.name, given, choice.queue)
    numbers = tuple(name for name, value in own.items() if type(value) in (int, float) and moved(value, 2.0))
    return Parameters(numbers, tuple(name for name in own if name not in numbers), own)


def asked_for(
    move: Mapping[str, Iterable[object]] | Iterable[str] | None, of: Mapping[str, Parameters]
) -> Asked | None:
    """What a person asks to move, of the parameters of disciplines by label; None for every number.

    Raises `ScenarioError` for what none of them has, and for what is no number and has no values; TypeError for what is
    no parameters.
    """
    if move is None:
        return None
    listed = [move] if isinstance(move, str) else move
    pairs = listed.items() if isinstance(listed, Mapping) else [(name, ()) for name in listed]
    every = list(dict.fromkeys(name for each in of.values() for name in (*each.numbers, *each.others)))
    found: dict[str, tuple[str, ...]] = {}
    for name, values in pairs:
        if name not in every:
            hint = did_you_mean(name, every, f"there are {', '.join(every) or 'none'}")
            raise _core.ScenarioError(f"move: {name}: no parameter of {', '.join(of)}{hint}")
        given: Sequence[Any] = [values] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)
        if not given and any(name in each.others for each in of.values()):
            raise _core.ScenarioError(f"move: {name}: is no number; say which values it is to take")
        found[name] = tuple(dict.fromkeys(text for _, text in override_texts([(name, each) for each in given], "move")))
    return found


def moved(value: object, factor: float) -> str | None:
    """A value of a discipline times a factor, as an override takes it; None for what is no number or stays as it is."""
    if isinstance(value, bool) or not value:
        return None
    if isinstance(value, int):
        whole = max(1, round(value * factor))
        return None if whole == value else str(whole)
    if isinstance(value, float):
        return repr(value * factor)
    text = str(value)
    number, _, unit = text.partition(" ")
    if not number.isdecimal():
        return None
    base = {"bit/s": "bit/s", "B": "B"}.get(unit[-5:] if unit.endswith("bit/s") else unit, "ns")
    return f"{max(1, round(in_base_unit(text) * factor))} {base}"
