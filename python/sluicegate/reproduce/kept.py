"""Runs at full length, kept with a paper as data: what a reproduction with short runs shows beside its own.

The folder `kept` of a paper holds the tables that its figures need of such runs, `prepared.parquet` (what had to be
found out first), and `kept.json`: version, lengths, seeds, and for each point its name and a digest of its scenarios.
A point is found by its name, and the digest says whether the same would be run today. If not, or if the version is
another, the page says so; nothing fails.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from .. import _core
from ..experiments.engine import MissingRuns, Store, run_experiments
from ..experiments.job import check
from ..io import staged, write_json, write_parquet
from .figure import Figure, Paper
from .study import Point, Runs, Settings, Study, experiments

if TYPE_CHECKING:
    from ..experiments.engine import Tables

INDEX, PREPARED = "kept.json", "prepared"


@dataclass(frozen=True)
class Measured:
    """What runs gave: their settings, what was found out before them, and their tables."""

    settings: Settings
    prepared: Any
    tables: Tables

    def runs(self, study: Study) -> Runs:
        """Those of a study."""
        return Runs.of(study, self.settings, self.prepared, self.tables)


@dataclass(frozen=True)
class Kept(Measured):
    """What is kept with a paper, its tables with names for experiments. `version`: of Sluicegate, that ran it.
    `scenarios`: the digest of each point's by name."""

    version: str
    scenarios: dict[str, str]

    def has(self, figure: Figure) -> bool:
        """Whether all runs of a figure are there, with the tables and columns that it needs."""
        return all(
            all(study.name(point) in self.scenarios for point in study.points)
            and all(columns <= set(self.tables[name].columns) if name in self.tables else False
                    for name, columns in study.needs.items())
            for study in figure.studies.values()
        )  # fmt: skip

    def runs(self, study: Study) -> Runs:
        """Those of a study, found by name: they count as what would be run today."""
        ids = {study.name(point): study.id(point, self.settings, self.prepared) for point in study.points}
        tables = {
            name: self.tables[name].filter(pl.col("experiment").is_in(list(ids))).with_columns(
                pl.col("experiment").replace(ids))
            for name in study.needs
        }  # fmt: skip
        return Runs.of(study, self.settings, self.prepared, tables)

    def changed(self, figure: Figure, full: Settings) -> list[str]:
        """The runs of a figure whose parameters, scenario or lengths are others than today's, by name. `full`: the
        paper's settings."""
        today = replace(full, seeds=self.settings.seeds)
        points = ((study, point) for study in figure.studies.values() for point in study.points)
        return sorted({
            study.name(point) for study, point in points
            if self.scenarios[study.name(point)] != _scenario(study, point, today, self.prepared)
        })  # fmt: skip

    def note(self, figure: Figure, full: Settings) -> str:
        """What a reader of a figure has to know of its runs; "" where they are those of today."""
        if not self.has(figure):
            return "Short runs: none at full length are kept for this figure."
        changed = self.changed(figure, full)
        told = f"with other parameters or lengths than today's: {'; '.join(changed)}" if changed else ""
        if self.version != _core.version():
            told = f"by Sluicegate {self.version}{', ' if told else ''}{told}"
        return f"Full length: measured {told}." if told else ""


def _scenario(study: Study, point: Point, settings: Settings, prepared: Any) -> str:
    """A digest of what a point is for all seeds: its scenarios with every default filled in."""
    experiment = study.experiment(point, settings, prepared, {})
    resolved = [check(experiment, seed).resolved for seed in settings.seeds]
    return hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()[:16]


def studies_of(figures: Sequence[Figure]) -> list[Study]:
    """The studies of figures, each once."""
    return list(dict.fromkeys(study for figure in figures for study in figure.studies.values()))


def measured(chosen: Paper, figures: Sequence[Figure], settings: Settings, simulate: Callable[..., Tables]) -> Measured:
    """What some figures of a paper need, measured by `simulate`: called with experiments, seeds and, for what comes
    first, `what` it is."""
    prepared = None
    if chosen.prepare is not None:  # what comes after it is not known yet, nor how long that takes
        prepared = chosen.prepare(settings, partial(simulate, what="first, what the runs need: "))
    wanted = experiments(studies_of(figures), studies_of(chosen.figures()), settings, prepared)
    return Measured(settings, prepared, simulate(wanted, settings.seeds) if wanted else {})


def keep(chosen: Paper, out: Path, settings: Settings) -> list[str]:
    """Write what is to be kept with a paper from the runs in `out`, where it was reproduced with these settings.

    Returns the ids of the figures that are left out, because not all their runs are there. Raises ValueError when two
    runs share a name, `MissingRuns` when what the runs need was not found out, and OSError.
    """

    def stored(wanted: Any, seeds: Sequence[int], what: str = "") -> Tables:
        return run_experiments(wanted, seeds, store=store, kept_only=True)

    def whole(figure: Figure) -> bool:
        try:
            measured(replace(chosen, prepare=lambda *_: prepared), [figure], settings, stored)
        except MissingRuns:
            return False
        return True

    with Store(out) as store:
        prepared = measured(chosen, [], settings, stored).prepared
        figures = [figure for figure in chosen.figures() if whole(figure)]
        found = measured(chosen, figures, settings, stored)
    names: dict[str, str] = {}
    scenarios: dict[str, str] = {}
    for study in studies_of(figures):
        for point in study.points:
            name, id_ = study.name(point), study.id(point, settings, found.prepared)
            if name in scenarios and names.get(id_) != name:
                raise ValueError(f"two runs are called {name!r}: say what one of their studies is about")
            names[id_], scenarios[name] = name, _scenario(study, point, settings, found.prepared)
    renamed = pl.col("experiment").replace(names)
    tables = {name: table.with_columns(renamed) for name, table in found.tables.items()}
    if found.prepared is not None:
        tables[PREPARED] = found.prepared.frame()
    folder = chosen.kept_folder
    with staged(folder) as stage:
        for name, table in tables.items():
            write_parquet(table, stage / f"{name}.parquet")
        write_json(stage / INDEX, {"version": _core.version(), "settings": asdict(settings), "scenarios": scenarios})
    return [figure.id for figure in chosen.figures() if figure not in figures]


def read(chosen: Paper) -> Kept | None:
    """What is kept with a paper; None if nothing is."""
    folder = chosen.kept_folder
    if not (folder / INDEX).exists():
        return None
    index = json.loads((folder / INDEX).read_text("utf-8"))
    settings = Settings(**{**index["settings"], "seeds": tuple(index["settings"]["seeds"])})
    tables = {path.stem: pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}
    frame = tables.pop(PREPARED, None)
    prepared = None if chosen.restore is None or frame is None else chosen.restore(settings, frame)
    return Kept(settings, prepared, tables, index["version"], index["scenarios"])
