"""Envelopes: the links and loads on which a discipline does what it promises (`evaluate --suite envelope`).

Those of all disciplines with their defaults are kept in `kept.json`, which `tools/envelope_page.py` writes; a
user's own envelopes are read from the files that the suite wrote.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .. import _core
from .promises import LATE_NS, USED

KEPT = Path(__file__).with_name("kept.json")

FILE = "envelopes.json"
"""What the suite writes beside its report, for `load`."""

STEPS = 20
"""Points of a decade that are looked at in search of the nearest place within."""

HALVINGS = 20
"""Of half a decade, in search of an edge."""

Sets = tuple[tuple[str, str], ...]

Axis = Literal["rate", "flows", "round trip"]
AXES: tuple[Axis, ...] = ("rate", "flows", "round trip")


class Measured(NamedTuple):
    """What came of a cell: the part of the link that is used, and the mean queueing delay beside the one promised."""

    used: float
    delay_ns: float
    promised_ns: float

    @property
    def late(self) -> float:
        """The delay over the longest that is allowed."""
        return self.delay_ns / min(self.promised_ns, LATE_NS)

    @property
    def kept(self) -> bool:
        """Whether enough of the link is used, and the delay within the promise."""
        return self.used >= USED and self.late <= 1


@dataclass(frozen=True)
class Edges:
    """The rates between which a discipline keeps its promise, in bit/s. An end at which the grid ends, or what was
    measured, is open. `others`: whether it does so in other, shorter ranges, too."""

    low: float
    high: float
    open_low: bool
    open_high: bool
    others: bool = False

    @property
    def decades(self) -> float:
        """How far apart they are."""
        return math.log10(self.high / self.low)


@dataclass(frozen=True)
class Distance:
    """How far a link lies outside: the least factor by which one axis alone would have to change, and what it would
    then be; None where no change of one axis helps. `measured`: of the link; or of one with the rate `already`, where
    nothing was measured at its own, and which is outside already."""

    axis: Axis | None
    value: float
    factor: float
    measured: Measured
    already: float | None = None


@dataclass(frozen=True)
class Envelope:
    """What was measured of a discipline: rates in bit/s, numbers of flows, round trips in ns, and for each combination,
    in this order, what came of it; None where it was not measured. `sets`: the overrides of a scenario that choose the
    discipline with the values that were measured; of one of a person's own, with the whole path of its file."""

    rates: tuple[float, ...]
    flows: tuple[float, ...]
    trips: tuple[float, ...]
    measured: tuple[Measured | None, ...]
    sets: Sets = ()

    def spelt(self, name: str, other: str) -> Envelope:
        """The same, with `other` in place of the discipline's name if that is `name`."""
        return replace(self, sets=tuple((key, other if value == name else value) for key, value in self.sets))

    def cell(self, rate: int, flows: int, trip: int) -> Measured | None:
        """The cell with these places on the axes."""
        return self.measured[(rate * len(self.flows) + flows) * len(self.trips) + trip]

    def edges(self, flows: float, trip: float) -> Edges | None:
        """The rates between which the promise is kept under so many flows: of several ranges the longest. Between two
        cells the edge is where the promise ends by what `at` expects."""
        good = [(here := self.at(rate, flows, trip)) is not None and here.kept for rate in self.rates]
        found: list[Edges] = []
        for first in (place for place in range(len(good)) if good[place] and not (place and good[place - 1])):
            last = next((place for place in range(first, len(good)) if not good[place]), len(good)) - 1
            low, high = (self._edge(*way, flows, trip) for way in ((first, first - 1), (last, last + 1)))
            found.append(Edges(low or self.rates[first], high or self.rates[last], low is None, high is None))
        longest = max(found, key=lambda each: each.decades, default=None)
        return longest if longest is None else replace(longest, others=len(found) > 1)

    def _edge(self, good: int, bad: int, flows: float, trip: float) -> float | None:
        """The rate at which the promise ends between a cell that keeps it and its neighbour that does not; None where
        that was not measured."""
        if not 0 <= bad < len(self.rates) or self.at(self.rates[bad], flows, trip) is None:
            return None
        inside, outside = self.rates[good], self.rates[bad]
        for _ in range(HALVINGS):
            middle = math.sqrt(inside * outside)
            there = self.at(middle, flows, trip)
            inside, outside = (middle, outside) if there is not None and there.kept else (inside, middle)
        return inside

    def at(self, rate: float, flows: float, trip: float) -> Measured | None:
        """What is to be expected between cells, linear in the logarithms of all but the used part; None outside the
        grid, and where a cell around was not measured."""
        values = zip((self.rates, self.flows, self.trips), (rate, flows, trip), strict=True)
        around = [_between(axis, value) for axis, value in values]
        used = delay = promised = 0.0
        for corner in product(*around):
            weight = math.prod(part for _, part in corner)
            found = self.cell(*(place for place, _ in corner))
            if found is None:
                return None
            used += weight * found.used
            delay += weight * math.log(max(found.delay_ns, 1.0))
            promised += weight * math.log(found.promised_ns)
        return Measured(min(used, 1.0), math.exp(delay), math.exp(promised)) if all(around) else None

    def outside(self, rate: float, flows: float, trip: float) -> Distance | None:
        """How far a link lies outside; None when it does not, or is not known. Where nothing was measured at its rate,
        nor beyond it with about as many flows and such a round trip, the nearest rate tells: one at which less than
        enough is used of faster links, and one at which the delay is too long of slower ones."""
        here = self.at(rate, flows, trip)
        if here is None:
            known = (each for each in self.rates if self.at(each, flows, trip) is not None)
            nearest = min(known, key=lambda each: max(each / rate, rate / each), default=None)
            found = None if nearest is None else self.outside(nearest, flows, trip)
            if nearest is None or found is None or self._any(rate, nearest < rate, flows, trip):
                return None
            if not (found.measured.used < USED if nearest < rate else found.measured.late > 1):
                return None
            more = max(nearest / rate, rate / nearest) if found.axis == "rate" else 1.0
            return replace(found, factor=found.factor * more, already=nearest)
        if here.kept:
            return None
        ways: list[tuple[float, float, Axis]] = []
        place = (rate, flows, trip)
        for number, (axis, name) in enumerate(zip((self.rates, self.flows, self.trips), AXES, strict=True)):
            for value in _along(axis[0], axis[-1]):
                there = self.at(*(*place[:number], value, *place[number + 1 :]))
                if there is not None and there.kept:
                    ways.append((max(value / place[number], place[number] / value), value, name))
        if not ways:
            return Distance(None, math.nan, math.inf, here)
        factor, value, name = min(ways)
        return Distance(name, value, factor, here)

    def _any(self, rate: float, faster: bool, flows: float, trip: float) -> bool:
        """Whether anything was measured at this rate or beyond, faster or slower, beside a load."""
        beside = product(_between(self.flows, flows), _between(self.trips, trip))
        beyond = [number for number, each in enumerate(self.rates) if (each >= rate if faster else each <= rate)]
        return any(self.cell(number, *(place for place, _ in at)) for at in beside for number in beyond)


def _between(axis: Sequence[float], value: float) -> list[tuple[int, float]]:
    """The places on an axis beside a value, each with its weight; none where it lies outside."""
    if value in axis:
        return [(axis.index(value), 1.0)]
    above = next((place for place, each in enumerate(axis) if each > value), 0)
    if above == 0:
        return []
    low, high = axis[above - 1], axis[above]
    part = math.log(value / low) / math.log(high / low)
    return [(above - 1, 1 - part), (above, part)]


def _along(low: float, high: float) -> Iterator[float]:
    """Values from `low` to `high`, `STEPS` in a decade."""
    steps = max(1, math.ceil(STEPS * math.log10(high / low)))
    return (float(low * (high / low) ** (step / steps)) for step in range(steps + 1))


@cache
def kept() -> dict[str, Envelope]:
    """The envelopes of all disciplines with their defaults, by name."""
    return load(KEPT)


def load(place: str | Path) -> dict[str, Envelope]:
    """The envelopes of a file, or of a folder that the suite wrote, by label. Raises OSError and ValueError."""
    file = Path(place, FILE) if Path(place).is_dir() else Path(place)
    if not file.exists():
        made = "sluicegate evaluate DISCIPLINE --suite envelope -o"
        raise FileNotFoundError(2, f"holds no envelopes; `{made} {place}` writes them", str(place))
    try:
        found: dict[str, Any] = json.loads(file.read_bytes())
        axes = [tuple(found[name]) for name in ("rates_bps", "flows", "round_trips_ns")]
        return {
            label: Envelope(axes[0], axes[1], axes[2],
                            tuple(None if cell is None else Measured(*cell) for cell in each["cells"]),
                            tuple((key, value) for key, value in each["sets"]))
            for label, each in found["disciplines"].items()
        }  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _core.ScenarioError(f"{file}: is not what `--suite envelope` writes") from None
