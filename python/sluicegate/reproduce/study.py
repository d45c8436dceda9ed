"""Studies: a scenario, axes of values that differ from it, seeds; and their runs, one row each.

    load = Study("choke1999", keys=AXES, queue=[sg.Choke(min_th=30, max_th=60)], udp_rate=[0.1, 1, 10],
                 measure={"udp_queued": UDP.sum("queued_packets_mean")})

Studies of one paper may share runs: what is the same is simulated once.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import signature
from itertools import product
from typing import Any

import polars as pl

from .._generated import Discipline
from ..experiments.disciplines import choices, titles
from ..experiments.engine import Derive, Experiment, Sets, Tables
from ..experiments.job import LIVE, check
from ..experiments.real_hosts import RealHosts, real_hosts
from ..scenario import Subject, bundled_scenario
from ..stats import interval
from .measure import RUN, Measure, Needs, merge
from .quantity import Curve, Quantity

Point = Mapping[str, Any]
"""A value for each axis of a study."""

SERIES = ("flow_series", "group_series", "queue", "occupancy", "state")
"""Tables that a run only has with `run.series`."""


@dataclass(frozen=True)
class Settings:
    """How long and how often to run.

    `seeds`: of the runs, at least one. `duration_s`: simulated seconds of each run, of which the first `warmup_s` are
    not measured. `sample_s`: the interval of sampled series, in seconds.
    """

    seeds: tuple[int, ...]
    duration_s: float
    warmup_s: float
    sample_s: float

    @property
    def measured_s(self) -> float:
        """Seconds of a run that are measured."""
        return self.duration_s - self.warmup_s

    def sets(self) -> Sets:
        """As overrides of a scenario."""
        times = {"duration": self.duration_s, "warmup": self.warmup_s, "sample": self.sample_s}
        return tuple((f"run.{key}", f"{1000 * value:.12g} ms") for key, value in times.items())


@dataclass(frozen=True)
class Axis:
    """What an axis of numbers changes in the scenario: the value of `key` ("" where `Study.edit` or `by_seed` sees to
    it), in `unit`. `label`: of a chart's axis, and of a value where there is no unit ("32 TCP flows")."""

    key: str
    unit: str = ""
    label: str = ""

    def sets(self, value: Any) -> Sets:
        """One value as overrides."""
        return ((self.key, self._with(value, self.unit)),) if self.key else ()

    def text(self, value: Any) -> str:
        """One value in words."""
        return self._with(value, self.unit or self.label)

    @staticmethod
    def _with(value: Any, unit: str) -> str:
        return f"{value:g} {unit}".rstrip() if isinstance(value, int | float) else str(value)


@dataclass(frozen=True)
class Variant:
    """A named change of the scenario, as a value of an axis."""

    label: str
    sets: Sets = ()


def label_of(value: Any, axis: Axis | None = None) -> str:
    """A value of an axis as figures and checks name it: a discipline by its title, thresholds and candidates."""
    if isinstance(value, Variant):
        return value.label
    if isinstance(value, Discipline):
        low, high = getattr(value, "min_th", None), getattr(value, "max_th", None)
        drawn = getattr(value, "candidates", 1)
        parts = (
            f"{titles()[value.name]} with {drawn} candidates" if drawn > 1 else titles()[value.name],
            f"thresholds {low} and {high}" if low is not None and high is not None else "",
        )
        return ", ".join(part for part in parts if part)
    return axis.text(value) if axis is not None else f"{value:g}" if isinstance(value, int | float) else str(value)


class Study:
    """A scenario × axes × seeds, and what is measured in each run."""

    def __init__(
        self,
        scenario: str,
        *,
        keys: Mapping[str, Axis] | None = None,
        measure: Mapping[str, Measure] | None = None,
        sets: Sets = (),
        tables: Mapping[str, Sequence[str]] | None = None,
        once: tuple[str, ...] = (),
        derive: Callable[..., Tables] | None = None,
        edit: Callable[[str, Point, Settings], str] | None = None,
        settings: Callable[[Settings], Settings] = lambda settings: settings,
        by_seed: Callable[[Any, Point], Mapping[int, Sets]] | None = None,
        keep: Callable[..., bool] | None = None,
        about: str = "",
        real: Callable[[Point], bool] | None = None,
        **axes: Sequence[Any],
    ) -> None:
        """Describe a study; nothing runs yet.

        `scenario`: the name of a bundled one, or its text. `axes`: their values, numbers and texts (see `keys`),
        disciplines and `Variant`s; the study has every combination, of which `keep`, called with a point, may choose.
        `keys`: what axes of numbers and texts change. `measure`: numbers of each run, by name. `sets`: overrides at
        all points. `tables`: further tables that figures read as they are, with their columns; those in `once` are
        kept of the first seed alone. `derive`: makes tables from those of a run, in the process that ran it; it may
        take `settings`. `edit`: changes the scenario's text at a point. `settings`: from the paper's to the study's
        own. `by_seed`: overrides of single seeds, from what the paper has prepared and the point.
        `about`: its runs in words, where another study of the paper has others at the same points. `real`: whether a
        point is run between real hosts, in a figure that is `live`; the table `live` of such runs may be asked for.
        """
        self.scenario, self.keys, self.measure, self.sets = scenario, dict(keys or {}), dict(measure or {}), sets
        self.tables = {name: frozenset(columns) for name, columns in (tables or {}).items()}
        self.once, self.derive, self.edit, self.settings, self.by_seed = once, derive, edit, settings, by_seed
        self.about, self.real = about, real
        self.axes = {name: tuple(values) for name, values in axes.items()}
        grid = (dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values()))
        self.points: tuple[Point, ...] = tuple(point for point in grid if keep is None or keep(**point))

    @cached_property
    def source(self) -> tuple[str, str]:
        """The text of the scenario, and its name for messages."""
        return (self.scenario, "study.toml") if "\n" in self.scenario else bundled_scenario(self.scenario)

    @cached_property
    def needs(self) -> Needs:
        """The tables and columns that its runs must keep."""
        return merge(self.tables, *(each.needs for each in self.measure.values()))

    def label(self, point: Point) -> str:
        """A point in words."""
        return ", ".join(label_of(value, self.keys.get(name)) for name, value in point.items())

    def name(self, point: Point) -> str:
        """A point in words that no other point of the paper has, unless its runs are the same."""
        return ", ".join(part for part in (self.label(point), self.about) if part)

    def overrides(self, point: Point) -> Sets:
        """What a point changes in the scenario."""
        found: list[tuple[str, str]] = []
        for name, value in point.items():
            if isinstance(value, Variant):
                found += value.sets
            elif isinstance(value, Discipline):
                found += choices(value)[0].sets
            else:
                found += self.keys[name].sets(value)
        return (*self.sets, *found)

    def text(self, point: Point, settings: Settings) -> str:
        """The scenario at a point, without its overrides."""
        text, _ = self.source
        return text if self.edit is None else self.edit(text, point, self.settings(settings))

    def experiment(self, point: Point, settings: Settings, prepared: Any, needs: Needs) -> Experiment:
        """One point as the engine runs it, for every seed."""
        series = "true" if any(table in SERIES for table in needs) else "false"
        sets = (*self.settings(settings).sets(), ("run.series", series), *self.overrides(point))
        by_seed = {} if self.by_seed is None else self.by_seed(prepared, point)
        keep = {table: tuple(sorted(columns)) for table, columns in sorted(needs.items())}
        _, name = self.source
        made = Experiment(self.id(point, settings, prepared), self.text(point, settings), name, sets, keep,
                          derive=self._derive(settings), once=self.once, by_seed=by_seed)  # fmt: skip
        if self.real is None:
            return made
        if not self.real(point):
            return replace(made, keep={table: columns for table, columns in keep.items() if table != LIVE})
        return replace(made, real=_real_hosts(made))

    def _derive(self, settings: Settings) -> Derive | None:
        if self.derive is None or "settings" not in signature(self.derive).parameters:
            return self.derive
        return partial(self.derive, settings=self.settings(settings))

    def id(self, point: Point, settings: Settings, prepared: Any) -> str:
        """Names the experiment: equal for points of two studies whose runs are the same."""
        by_seed = None if self.by_seed is None else sorted(self.by_seed(prepared, point).items())
        made = None if self.derive is None else f"{self.derive.__module__}.{self.derive.__qualname__}"
        told = [
            self.text(point, settings),
            self.settings(settings).sets(),
            self.overrides(point),
            by_seed,
            made,
            self.once,
        ]
        return f"{self.label(point)} #{hashlib.sha256(json.dumps(told).encode()).hexdigest()[:8]}"


def _real_hosts(experiment: Experiment) -> RealHosts:
    """How an experiment is run between real hosts. Raises `ScenarioError` for what they cannot do."""
    resolved = check(experiment).resolved
    about = Subject(experiment.name, experiment.sets, frozenset(), experiment.text)
    return real_hosts(about, resolved, queues=[resolved["queue"]["discipline"]])


def experiments(
    studies: Sequence[Study], of: Sequence[Study], settings: Settings, prepared: Any = None
) -> list[Experiment]:
    """All runs of several studies among those of a paper (`of`), each once, the first study's first.

    A run keeps what any study of the paper needs of it, so that it can be kept for all.
    """
    needs: dict[str, Needs] = {}
    wanted: dict[str, tuple[Study, Point]] = {}
    for study in of:
        for point in study.points:
            id_ = study.id(point, settings, prepared)
            needs[id_] = merge(needs.get(id_, {}), study.needs)
            if study in studies:
                wanted.setdefault(id_, (study, point))
    return [study.experiment(point, settings, prepared, needs[id_]) for id_, (study, point) in wanted.items()]


class Runs:
    """The runs of a study, or of some of its points: one row of measures each."""

    def __init__(self, study: Study, settings: Settings, points: Mapping[str, Point], tables: Tables,
                 values: Mapping[str, Mapping[tuple[str, int], float]]) -> None:  # fmt: skip
        """Made by `of`. `points` by the ids of their experiments; `values` by measure and run."""
        self.study, self.settings, self.points, self.tables, self._values = study, settings, points, tables, values

    @classmethod
    def of(cls, study: Study, settings: Settings, prepared: Any, tables: Tables) -> Runs:
        """The runs of a study among the tables of all runs."""
        points = {study.id(point, settings, prepared): point for point in study.points}
        kept = {
            name: tables[name].filter(pl.col("experiment").is_in(list(points)))
            for name in study.needs
            if name in tables
        }
        values = {name: measure.evaluate(kept) for name, measure in study.measure.items()}
        return cls(study, study.settings(settings), points, kept, values)

    def at(self, **values: Any) -> Runs:
        """Those at the points where axes have these values. Raises KeyError when there are none."""
        kept = {
            id_: point
            for id_, point in self.points.items()
            if all(point[axis] == value for axis, value in values.items())
        }
        if not kept:
            raise KeyError(f"no runs at {values}")
        return Runs(self.study, self.settings, kept, self.tables, self._values)

    def each(self, axis: str) -> Iterator[Runs]:
        """One value of an axis after the other."""
        for value in self.values(axis):
            yield self.at(**{axis: value})

    def values(self, axis: str) -> list[Any]:
        """The values of an axis that occur, in the order of the study."""
        found: list[Any] = []
        for point in self.points.values():
            if point[axis] not in found:
                found.append(point[axis])
        return found

    def __getattr__(self, axis: str) -> Any:
        """The value of an axis that is the same at all points. Raises AttributeError where it is not."""
        if not axis.startswith("_") and axis in self.study.axes:
            values = self.values(axis)
            if len(values) == 1:
                return values[0]
            raise AttributeError(f"{axis} has {len(values)} values here")
        raise AttributeError(axis)

    @property
    def id(self) -> str:
        """The experiment of the only point. Raises ValueError where there are several."""
        (id_,) = self.points
        return id_

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that were run, at the first point."""
        found = {seed for values in self._values.values() for id_, seed in values if id_ in self.points}
        return tuple(sorted(found)) or self.settings.seeds

    def label(self, *but: str) -> str:
        """What is the same at all these points, in words, axes in `but` and those with one value in all left out."""
        shown = [axis for axis in self.study.axes if axis not in but and len(self.values(axis)) == 1
                 and len({id(point[axis]) for point in self.study.points}) > 1]  # fmt: skip
        return ", ".join(label_of(self.values(axis)[0], self.study.keys.get(axis)) for axis in shown)

    def __getitem__(self, name: str) -> Quantity:
        """A measure by seed, at the only point of these runs."""
        return self._quantity(self.id, name)

    def _quantity(self, id_: str, name: str, axis: str = "") -> Quantity:
        """`axis`: the one that the curve is over which this quantity is part of."""
        measure, values = self.study.measure[name], self._values[name]
        point = self.points[id_]
        by_seed = sorted((seed, value) for (run, seed), value in values.items() if run == id_)
        if not by_seed:
            raise KeyError(f"{name} has no value at {self.study.label(point)}")
        place = label_of(point[axis], self.study.keys.get(axis)) if axis else ""
        return Quantity(tuple(value for _, value in by_seed), measure.unit, measure.label or name, name, point,
                        self.label(axis), place)  # fmt: skip

    def over(self, axis: str, name: str) -> Curve:
        """A measure over an axis; all other axes have one value here."""
        ids = list(self.points)
        x = tuple(self.points[id_][axis] for id_ in ids)
        if len(set(map(_key, x))) != len(x):
            raise ValueError(f"other axes than {axis} vary here")
        return Curve(axis, x, tuple(self._quantity(id_, name, axis) for id_ in ids))

    def frame(self, *names: str) -> pl.DataFrame:
        """Means over seeds, a row for each point: a column for each axis, `seeds`, and for each measure (default: all)
        `<name>_mean` and `<name>_half_width`, of its 95 % interval; null where there is none."""
        rows = []
        for id_, point in self.points.items():
            row: dict[str, Any] = {axis: _plain(value) for axis, value in point.items()}
            for name in names or self.study.measure:
                found = [value for (run, _), value in self._values[name].items() if run == id_]
                spread = interval(found) if found else None
                row["seeds"] = max(row.get("seeds", 0), len(found))
                row[f"{name}_mean"] = spread.mean if spread else None
                half = spread.half_width if spread else math.nan
                row[f"{name}_half_width"] = None if math.isnan(half) else half
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def rows(self, table: str) -> pl.DataFrame:
        """A table of these runs as it was kept, after a column for each axis."""
        places = pl.DataFrame(
            [
                {"experiment": id_} | {axis: _plain(value) for axis, value in point.items()}
                for id_, point in self.points.items()
            ]
        )
        found = self.tables[table].join(places, on="experiment", how="inner", maintain_order="left")
        return found.select(*self.study.axes, *RUN, pl.exclude(*self.study.axes, *RUN))

    def quantity(self, rows: pl.DataFrame, column: str, unit: str = "", label: str = "") -> Quantity:
        """A column of a table that has one row for each seed."""
        values = rows.sort("seed")[column].to_list()
        return Quantity(tuple(map(float, values)), unit, label or column, where=self.label())


def _plain(value: Any) -> Any:
    """A value of an axis as a table holds it."""
    return value if isinstance(value, int | float | str | None) else label_of(value)


def _key(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else id(value)
