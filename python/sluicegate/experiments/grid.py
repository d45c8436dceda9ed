"""The grid of a sweep: what `--over` says, the values it stands for, and the columns that hold them in results.

    flows.1.rate=0.1..10 Mbit/s log 12       12 rates, each the same ratio above the one before
    queue.min_th=10..50 5                    5 numbers, evenly spaced: 10, 20, 30, 40, 50
    flows.0.count=1..1000 log 7 whole        whole numbers: 1, 3, 10, 32, 100, 316, 1000
    queue.discipline=red,choke:candidates=2  a list of disciplines, as `compare` takes them; `queue` is the same key
    queue.limit=50,100 + flows.0.count=1,2   keys that change together: the same number of values of each

Ranges are reckoned in decimal, and what lies between the ends of a log range is rounded to six digits: equal texts give
equal values on any machine, and a run made yesterday is found again. The core alone reads units, here too.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from .. import _core
from ..declared import Declared
from ..quantities import NUMBER, column_value, did_you_mean
from ..scenario import override_texts
from .disciplines import Choice, choices

Key = str | tuple[str, ...]
Over = Mapping[Key, object] | Mapping[str, object] | Iterable[tuple[Key, object]]
"""What is swept: dotted keys, and for each a text as `--over` takes it or the values themselves; or keys that go
together, and the values of all of them for each point."""

DISCIPLINE = "queue.discipline"
QUEUE = "queue"
"""Another name of `DISCIPLINE`: the argument of `simulate`."""

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

    `values`: as a person reads them. `column`: its name in results, with the unit of `cells`, its values there.
    `choices`: the disciplines, where these are swept. `along`: whether it goes together with the axis before it, so
    that the point that has its second value has the second of that, too.
    """

    key: str
    values: tuple[str, ...]
    column: str
    cells: tuple[Any, ...]
    choices: tuple[Choice, ...] = ()
    along: bool = False

    def part(self, place: int) -> Part:
        """What its value at `place` stands for."""
        sets = self.choices[place].sets if self.choices else ((self.key, self.values[place]),)
        return Part(f"{self.key}={self.values[place]}", sets, self.cells[place])


@dataclass(frozen=True)
class Part:
    """What one key of a point stands for: how a person reads it, its overrides, and its cell in results."""

    label: str
    sets: tuple[tuple[str, str], ...]
    cell: Any


@dataclass(frozen=True)
class Point:
    """One point of the grid: its parts, one for each key, and its discipline, where these are swept."""

    parts: tuple[Part, ...]
    choice: Choice | None = None

    @property
    def sets(self) -> tuple[tuple[str, str], ...]:
        """Its overrides."""
        return tuple(pair for part in self.parts for pair in part.sets)

    @property
    def cells(self) -> tuple[Any, ...]:
        """Its cells in results."""
        return tuple(part.cell for part in self.parts)

    @property
    def label(self) -> str:
        """The point as a person reads it."""
        return ", ".join(part.label for part in self.parts)


def parsed(texts: Iterable[str]) -> list[tuple[Key, object]]:
    """The KEY=VALUES texts of `--over`, several joined by " + " where they go together. Raises `ScenarioError`."""
    pairs: list[tuple[Key, object]] = []
    for text in texts:
        together = []
        for each in re.split(r"\s\+\s", text):
            key, equals, values = (part.strip() for part in each.partition("="))
            if not (key and equals and values):
                raise _core.ScenarioError(f"over: {each}: must be KEY=VALUES, such as {EXAMPLE}")
            together.append((key, values))
        if len(together) == 1:
            pairs += together
            continue
        columns = [_values(key, values) for key, values in together]
        counts = [f"{key} has {len(values)}" for (key, _), values in zip(together, columns, strict=True)]
        if len({len(values) for values in columns}) > 1:
            raise _core.ScenarioError(
                f"over: {text}: keys that change together need the same number of values: {', '.join(counts)}"
            )
        pairs.append((tuple(key for key, _ in together), list(zip(*columns, strict=True))))
    return pairs


def axes(over: Over) -> list[Axis]:
    """What is swept, in the order given. Raises `ScenarioError` and TypeError that name the argument and the rule."""
    found: list[Axis] = []
    for keys, given in _pairs(over):
        together = _together(keys, given) if isinstance(keys, tuple) else [(keys, given)]
        made: list[Axis] = []
        for key, values in together:
            if not isinstance(key, str):
                raise TypeError(f'over: {key!r}: expected a dotted key, such as "flows.1.rate"')
            key = DISCIPLINE if key.strip() == QUEUE else key
            if key in ("run.seed", "run.series"):
                why = "give seeds instead" if key == "run.seed" else "a sweep keeps no series"
                raise _core.ScenarioError(f"over: {key}: {why}")
            if any(axis.key == key for axis in (*found, *made)):
                raise _core.ScenarioError(f"over: {key}: given twice")
            made.append(_axis(key, values, along=bool(made)))
        if len({len(axis.values) for axis in made}) > 1:
            raise _core.ScenarioError(f"over: {', '.join(key for key, _ in together)}: a row must name one discipline")
        seen = set()
        for place, cells in enumerate(zip(*(axis.cells for axis in made), strict=True)):
            if cells in seen:
                shown = ", ".join(axis.values[place] for axis in made)
                raise _core.ScenarioError(f"over: {', '.join(key for key, _ in together)}: {shown} is there twice")
            seen.add(cells)
        found += made
    if not found:
        raise _core.ScenarioError(f"over: name at least one key, such as {EXAMPLE}")
    return found


def _pairs(over: object) -> list[tuple[Any, Any]]:
    """Keys and values. Raises TypeError."""
    pairs = list(over.items()) if isinstance(over, Mapping) else over
    if isinstance(pairs, Iterable) and not isinstance(pairs, str | bytes):
        listed = list(pairs)
        if all(isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2 for pair in listed):
            return [(key, values) for key, values in listed]
    raise TypeError(f'over = {over!r}: expected keys and their values, such as {{"queue.limit": [50, 100]}}')


def _together(keys: tuple[str, ...], given: object) -> list[tuple[str, object]]:
    """The values of each of several keys, from the rows of values that go together."""
    name = ", ".join(map(str, keys))
    wanted = 'expected rows of values, such as [("1 Mbit/s", 50), ("2 Mbit/s", 100)]'
    if len(keys) < 2 or not all(isinstance(key, str) for key in keys):
        raise TypeError(f'over: {keys!r}: a tuple must name several keys, such as ("flows.1.rate", "queue.limit")')
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"over: {name} = {given!r}: {wanted}")
    rows = list(given)
    if not rows:
        raise _core.ScenarioError(f"over: {name}: name at least one value")
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Sequence):
            raise TypeError(f"over: {name} = {row!r}: {wanted}")
        if len(row) != len(keys):
            raise _core.ScenarioError(f"over: {name} = {row!r}: must have {len(keys)} values, not {len(row)}")
    return [(key, [row[place] for row in rows]) for place, key in enumerate(keys)]


def _axis(key: str, given: object, along: bool) -> Axis:
    """One key with its values."""
    if key == DISCIPLINE:
        listed: Any = _values(key, given) if isinstance(given, str) else given
        several = isinstance(listed, Iterable) and not isinstance(listed, Mapping)
        chosen = [choice for each in (listed if several else [listed]) for choice in _choices(each)]
        if not chosen:
            raise _core.ScenarioError(f"over: {key}: name at least one value")
        labels = tuple(choice.label for choice in chosen)
        return Axis(key, labels, key, labels, tuple(chosen), along)
    values = _values(key, given)
    column, cells = _column(key, values)
    return Axis(key, values, column, cells, along=along)


def _choices(given: Any) -> list[Choice]:
    """The disciplines that one value of `queue.discipline` stands for. Raises as `choices` does."""
    if isinstance(given, Mapping):
        raise TypeError(
            f"over: {DISCIPLINE} = {given!r}: expected a name or a discipline such as sluicegate.Red(limit=50), not a "
            "table; sweep each key of a discipline by its own name, such as queue.limit"
        )
    try:
        return choices(given)
    except TypeError as error:
        raise TypeError(f"over: {DISCIPLINE}: {str(error).removeprefix('disciplines: ')}") from None


def constants(sets: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Columns of overrides that hold at every point, and their cells; of a key that is given twice, the last counts."""
    columns = [_column(key, (value,)) for key, value in dict(sets).items()]
    return {column: cell for column, (cell,) in columns}


def places(swept: Sequence[tuple[int, bool]]) -> list[tuple[int, ...]]:
    """The places of the values of each axis at all points; those of the last axis change fastest. Of each axis: how
    many values it has, and whether it goes `along` with the one before it."""
    leading = [count for count, along in swept if not along]
    leader = [sum(not along for _, along in swept[: number + 1]) - 1 for number in range(len(swept))]
    return [tuple(each[of] for of in leader) for each in itertools.product(*map(range, leading))]


def points(swept: Sequence[Axis]) -> list[Point]:
    """Every combination of values, in the order of `places`. Raises `ScenarioError` when there are too many."""
    count = math.prod(len(axis.values) for axis in swept if not axis.along)
    if count > MOST:
        raise _core.ScenarioError(f"{count} points; must be at most {MOST}")
    found = []
    for each in places([(len(axis.values), axis.along) for axis in swept]):
        parts = tuple(axis.part(place) for axis, place in zip(swept, each, strict=True))
        chosen = next((axis.choices[at] for axis, at in zip(swept, each, strict=True) if axis.choices), None)
        found.append(Point(parts, chosen))
    return found


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
            raise _core.ScenarioError(
                f"over: {key}={given}: a value is missing; write, for example, queue.discipline=red,choke"
            )
        return tuple(values)
    listed: Any = given.tolist() if hasattr(given, "tolist") else given  # an array
    if isinstance(listed, Declared | type):
        listed = [listed]
    if not isinstance(listed, Iterable) or isinstance(listed, Mapping | bytes):
        raise TypeError(f"over: {key} = {given!r}: expected a text such as {EXAMPLE}, or a list of values")
    values = [text for _, text in override_texts(((key, value) for value in listed), "over")]
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
        near = _core.nearest(words[-1], WORDS) if words and words[-1] not in WORDS else None
        hint = f'; did you mean "{near}"?' if near else f", as in {EXAMPLE}"
        raise refuse(f"the number of values must come last{hint}")
    count = int(words.pop())
    if not 2 <= count <= MOST_VALUES:
        raise refuse(f"a range has 2 values at least and {MOST_VALUES} at most, not {count}")
    by_ratio = words[-1:] == ["log"]
    if words[-1:] in (["log"], ["linear"]):
        words.pop()
    if len(words) > 1 or (words and _core.nearest(words[0], WORDS)):
        wrong = next((word for word in words if _core.nearest(word, WORDS)), words[-1])
        hint = did_you_mean(wrong, WORDS, "a range is A..B UNIT N or A..B UNIT log N")
        raise refuse(f'"{wrong}" is not expected here{hint}')
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
