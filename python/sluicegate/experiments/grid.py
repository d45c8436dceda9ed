"""The grid of a sweep: what `--over` says, the values it stands for, and the columns that hold them in results.

    flows.1.rate=0.1..10 Mbit/s log 12       12 rates, each the same ratio above the one before
    queue.min_th=10..50 5                    5 numbers, evenly spaced: 10, 20, 30, 40, 50
    flows.0.count=1..1000 log 7 whole        whole numbers: 1, 3, 10, 32, 100, 316, 1000
    queue.discipline=red,choke               a list of words, numbers or quantities

Ranges are reckoned in decimal, and what lies between the ends of a log range is rounded to six digits: equal texts give
equal values on any machine, and a run made yesterday is found again. The core alone reads units, here too.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from difflib import get_close_matches
from typing import Any

from .. import _core
from ..quantities import NUMBER, column_value
from ..scenario import override_texts

Over = Mapping[str, object] | Iterable[tuple[str, object]]
"""What is swept: dotted keys, and for each a text as `--over` takes it or the values themselves."""

MOST = 1_000_000
"""Runs of a sweep; they are listed before they begin."""

MOST_VALUES = 10_000
"""Values of one range."""

EXAMPLE = 'flows.1.rate="0.1..10 Mbit/s log 12"'

RANGE = re.compile(rf"\s*({NUMBER})\s*\.\.\s*({NUMBER})(?![\d.])\s*(.*?)\s*", re.DOTALL)
WORDS = ("linear", "log", "whole")
EXACT = Context(prec=40, rounding=ROUND_HALF_EVEN)
LARGEST = 30
"""The largest power of ten, either way, of a range's ends."""


@dataclass(frozen=True)
class Axis:
    """One key that is swept.

    `values`: as overrides take them. `column`: its name in results, with the unit of `cells`, its values there.
    """

    key: str
    values: tuple[str, ...]
    column: str
    cells: tuple[Any, ...]


@dataclass(frozen=True)
class Point:
    """One point of the grid: its overrides, and its cells in results."""

    sets: tuple[tuple[str, str], ...]
    cells: tuple[Any, ...]

    @property
    def label(self) -> str:
        """The overrides as a person reads them."""
        return ", ".join(f"{key}={value}" for key, value in self.sets)


def parsed(texts: Iterable[str]) -> list[tuple[str, str]]:
    """The KEY=VALUES texts of `--over` as pairs. Raises `ScenarioError`."""
    pairs = []
    for text in texts:
        key, equals, values = (part.strip() for part in text.partition("="))
        if not (key and equals and values):
            raise _core.ScenarioError(f"over: {text}: must be KEY=VALUES, such as {EXAMPLE}")
        pairs.append((key, values))
    return pairs


def axes(over: Over) -> list[Axis]:
    """What is swept, in the order given. Raises `ScenarioError` that names the argument and the rule."""
    found: list[Axis] = []
    for key, given in over.items() if isinstance(over, Mapping) else over:
        if key in ("run.seed", "run.series"):
            why = "a sweep takes the seeds it is given" if key == "run.seed" else "a sweep keeps no series"
            raise _core.ScenarioError(f"over: {key}: {why}")
        if any(axis.key == key for axis in found):
            raise _core.ScenarioError(f"over: {key}: given twice")
        values = _values(key, given)
        column, cells = _column(key, values)
        seen = set()
        for value, cell in zip(values, cells, strict=True):
            if cell in seen:
                raise _core.ScenarioError(f"over: {key}: {value} is there twice")
            seen.add(cell)
        found.append(Axis(key, values, column, cells))
    if not found:
        raise _core.ScenarioError(f"over: name at least one key, such as {EXAMPLE}")
    return found


def constants(sets: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Columns of overrides that hold at every point, and their cells; of a key that is given twice, the last counts."""
    columns = [_column(key, (value,)) for key, value in dict(sets).items()]
    return {column: cell for column, (cell,) in columns}


def points(swept: Sequence[Axis]) -> list[Point]:
    """Every combination of values; those of the last axis change fastest. Raises `ScenarioError` when there are
    too many."""
    count = 1
    for axis in swept:
        count *= len(axis.values)
    if count > MOST:
        raise _core.ScenarioError(f"{count} points; must be at most {MOST}")
    keys = [axis.key for axis in swept]
    return [
        Point(tuple(zip(keys, [value for value, _ in each], strict=True)), tuple(cell for _, cell in each))
        for each in itertools.product(*(zip(axis.values, axis.cells, strict=True) for axis in swept))
    ]


def _values(key: str, given: object) -> tuple[str, ...]:
    """The values of one key as overrides take them."""
    if isinstance(given, str):
        if ranged := RANGE.fullmatch(given):
            return _range(f"over: {key}={given}", *ranged.groups())
        if re.match(rf"\s*{NUMBER}.*\.\.", given, re.DOTALL):
            raise _core.ScenarioError(
                f"over: {key}={given}: a range is A..B UNIT N or A..B UNIT log N, the unit once, as in {EXAMPLE}"
            )
        values = [part.strip() for part in re.split(r",(?![^\[]*\])", given)]  # a comma in brackets is a list's own
        if "" in values:
            raise _core.ScenarioError(f"over: {key}={given}: a value is missing, as in queue.discipline=red,choke")
        return tuple(values)
    listed: Any = given.tolist() if hasattr(given, "tolist") else given  # an array
    if not isinstance(listed, Iterable) or isinstance(listed, Mapping | bytes):
        raise TypeError(f"over: {key} = {given!r}: expected a text such as {EXAMPLE}, or a list of values")
    values = [text for _, text in override_texts((key, value) for value in listed)]
    if not values:
        raise _core.ScenarioError(f"over: {key}: name at least one value")
    return tuple(values)


def _range(argument: str, start: str, end: str, rest: str) -> tuple[str, ...]:
    """The values of a range; `rest`: what stands after its ends."""

    def refuse(rule: str) -> _core.ScenarioError:
        return _core.ScenarioError(f"{argument}: {rule}")

    words = rest.split()
    whole = words[-1:] == ["whole"] and bool(words.pop())
    if not words or not words[-1].isdecimal():
        near = get_close_matches(words[-1], WORDS, 1) if words and words[-1] not in WORDS else []
        hint = f'; did you mean "{near[0]}"?' if near else f", as in {EXAMPLE}"
        raise refuse(f"the number of values must come last{hint}")
    count = int(words.pop())
    if not 2 <= count <= MOST_VALUES:
        raise refuse(f"a range has 2 values at least and {MOST_VALUES} at most, not {count}")
    by_ratio = words[-1:] == ["log"]
    if words[-1:] in (["log"], ["linear"]):
        words.pop()
    if len(words) > 1 or (words and get_close_matches(words[0], WORDS, 1)):
        wrong = next((word for word in words if get_close_matches(word, WORDS, 1)), words[-1])
        near = get_close_matches(wrong, WORDS, 1)
        hint = f'did you mean "{near[0]}"?' if near else "a range is A..B UNIT N or A..B UNIT log N"
        raise refuse(f'"{wrong}" is not expected here; {hint}')
    first, last = EXACT.create_decimal(start), EXACT.create_decimal(end)
    if any(number and abs(number.adjusted()) > LARGEST for number in (first, last)):
        raise refuse(f"the ends must lie between 1e-{LARGEST} and 1e{LARGEST}")
    if first == last:
        raise refuse("the ends are equal")
    if by_ratio and min(first, last) <= 0:
        raise refuse("a log range needs both ends above 0")
    numbers = _spaced(first, last, count, by_ratio)
    if whole:
        numbers = [number.to_integral_value(ROUND_HALF_EVEN) for number in numbers]
    if len(set(numbers)) < count:
        raise refuse(f"{len(set(numbers))} different values only: ask for fewer")
    return tuple(" ".join([_written(number), *words]) for number in numbers)


def _spaced(first: Decimal, last: Decimal, count: int, by_ratio: bool) -> list[Decimal]:
    """`count` numbers from `first` to `last`, both included."""
    digits = Context(prec=6 if by_ratio else 12, rounding=ROUND_HALF_EVEN)
    if by_ratio:
        low, high = EXACT.ln(first), EXACT.ln(last)
    between = []
    for place in range(1, count - 1):
        part = EXACT.divide(Decimal(place), Decimal(count - 1))
        if by_ratio:
            number = EXACT.exp(EXACT.fma(EXACT.subtract(high, low), part, low))
        else:
            number = EXACT.fma(EXACT.subtract(last, first), part, first)
        between.append(digits.plus(number))
    return [first, *between, last]


def _written(number: Decimal) -> str:
    """A number without exponent and without superfluous zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _column(key: str, values: Sequence[str]) -> tuple[str, tuple[Any, ...]]:
    """The name of a key's column and its cells: numbers when all values are numbers or quantities of one kind, in
    bit/s, ns, bytes or packets; else the texts."""
    read = [column_value(value) for value in values]
    kinds = {(suffix, isinstance(cell, bool)) for suffix, cell in read}
    if None in (suffix for suffix, _ in read) or len(kinds) > 1:
        return key, tuple(values)
    cells = [cell for _, cell in read]
    if any(isinstance(cell, float) for cell in cells):
        cells = [float(cell) for cell in cells]
    return f"{key}{read[0][0]}", tuple(cells)
