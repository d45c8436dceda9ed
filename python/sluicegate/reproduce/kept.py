"""Runs at full length, kept with a paper as data: a reproduction with short runs shows them beside its own runs.

The folder `kept` of a paper holds the tables that its figures need of such runs, `code.parquet` (the version and the
commit that made each run), `prepared.parquet` (the result of `Paper.prepare`), and `kept.json`: lengths, seeds, the
keys that scenarios had, and for each point its name and two digests: of the values that its scenarios had at these
keys, and of the results of its short run when it was kept. A point is found by its name. The digests say whether the
same would be run today, and whether the code, with the keys that it has gained since, gives the same results. If not,
or if the version is another, the page says so, and nothing fails.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from .. import _core
from ..declarations import commit
from ..experiments.engine import MissingRuns, Store, run_experiments
from ..experiments.job import check
from ..io import staged, write_json, write_parquet
from ..results.result_object import read_table
from .figure import Figure, Paper
from .study import Point, Runs, Settings, Study, experiments

if TYPE_CHECKING:
    from ..experiments.engine import Tables

INDEX, PREPARED, CODE = "kept.json", "prepared", "code"


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
    """What is kept with a paper, its tables with names for experiments; one of them is `code`. `keys`: those of
    scenarios then. `scenarios`: the digest of each point's by name. `behaviour`: that of what its short run came to."""

    keys: frozenset[str]
    scenarios: dict[str, str]
    behaviour: dict[str, str]

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
            if self.scenarios[study.name(point)] != _digest(_scenario(study, point, today, self.prepared), self.keys)
        })  # fmt: skip

    def otherwise(self, figure: Figure, chosen: Paper, now: Measured) -> list[str]:
        """The runs of a figure whose short runs come to something else today, by name."""
        if replace(now.settings, seeds=chosen.short.seeds) != chosen.short:
            return []
        points = ((study, point) for study in figure.studies.values() for point in study.points)
        return sorted({
            study.name(point) for study, point in points
            if self.behaviour.get(study.name(point)) != _behaviour(study, point, now)
        })  # fmt: skip

    def note(self, figure: Figure, chosen: Paper, now: Measured) -> str:
        """What a reader of a figure has to know of its runs; "" where they are those of today. `now`: short runs."""
        if not self.has(figure):
            return "Short runs: none at full length are kept for this figure."
        names = [study.name(point) for study in figure.studies.values() for point in study.points]
        versions = self.tables[CODE].filter(pl.col("experiment").is_in(names))["version"].unique().sort()
        told = [f"by Sluicegate {', '.join(versions)}"] if versions.to_list() != [_core.version()] else []
        for what, names in (
            ("with other parameters or lengths than today's", self.changed(figure, chosen.full)),
            ("with code that gave other results in short runs", self.otherwise(figure, chosen, now)),
        ):
            told += [f"{what}: {'; '.join(names)}"] if names else []
        return f"Full length: measured {', and '.join(told)}." if told else ""

    def code(self) -> str:
        """Which code made the runs, in words."""
        code = self.tables[CODE].group_by("version", "commit", maintain_order=True).agg("seed")
        return "; ".join(
            f"{len(seeds)} runs of seed {', '.join(map(str, sorted(set(seeds))))} by version {version}"
            + (f" (commit {commit})" if commit else "")
            for version, commit, seeds in code.iter_rows()
        )


def _scenario(study: Study, point: Point, settings: Settings, prepared: Any) -> list[dict[str, Any]]:
    """What a point is for each seed: its scenario with every default filled in."""
    experiment = study.experiment(point, settings, prepared, {})
    return [check(experiment, seed).resolved for seed in settings.seeds]


def _keys(scenarios: Any, path: str = "") -> set[str]:
    """The keys of scenarios, with those of the tables that hold them: flows, flows.count."""
    if isinstance(scenarios, list):
        return set().union(*(_keys(each, path) for each in scenarios))
    if not isinstance(scenarios, dict):
        return set()
    here = {key: f"{path}.{key}".lstrip(".") for key in scenarios}
    return set(here.values()).union(*(_keys(value, here[key]) for key, value in scenarios.items()))


def _digest(scenarios: list[dict[str, Any]], keys: Set[str]) -> str:
    """A digest of what scenarios have at these keys."""

    def known(value: Any, path: str = "") -> Any:
        if isinstance(value, list):
            return [known(each, path) for each in value]
        if not isinstance(value, dict):
            return value
        here = {key: f"{path}.{key}".lstrip(".") for key in value}
        return {key: known(each, here[key]) for key, each in value.items() if here[key] in keys}

    return hashlib.sha256(json.dumps(known(scenarios), sort_keys=True).encode()).hexdigest()[:16]


def _behaviour(study: Study, point: Point, measured: Measured) -> str:
    """A digest of what a point's first seed came to in all that its study reads."""
    id_, seed = study.id(point, measured.settings, measured.prepared), measured.settings.seeds[0]
    digest = hashlib.sha256()
    for name, columns in sorted(study.needs.items()):
        rows = measured.tables[name].filter(experiment=id_, seed=seed)
        digest.update(rows.select(sorted(columns)).write_csv().encode())
    return digest.hexdigest()[:16]


def studies_of(figures: Sequence[Figure]) -> list[Study]:
    """The studies of figures, each once."""
    return list(dict.fromkeys(study for figure in figures for study in figure.studies.values()))


def measured(
    chosen: Paper,
    figures: Sequence[Figure],
    settings: Settings,
    simulate: Callable[..., Tables],
    of: Sequence[Figure] | None = None,
) -> Measured:
    """What some figures of a paper need, measured by `simulate`: called with experiments, seeds and, for what comes
    first, `what` it is. `of`: all figures that share runs with them (default: the paper's)."""
    prepared = None
    if chosen.prepare is not None:  # what comes after it is not known yet, nor how long that takes
        prepared = chosen.prepare(settings, partial(simulate, what="first, what the runs need: "))
    wanted = experiments(studies_of(figures), studies_of(chosen.figures() if of is None else of), settings, prepared)
    return Measured(settings, prepared, simulate(wanted, settings.seeds) if wanted else {})


def keep(chosen: Paper, out: Path, settings: Settings, simulate: Callable[..., Tables]) -> list[str]:
    """Write what is to be kept with a paper from the runs in `out`, where it was reproduced with these settings.
    `simulate`: makes its short runs, called as `measured` calls it.

    Runs that `out` lacks stay as they were kept, if the same would be run today; so a folder may have another seed
    alone. Returns the ids of the figures that are left out, because not all their runs are there. Raises ValueError
    when two runs share a name or need a `restore` that the paper lacks, `MissingRuns` when what the runs need was not
    found out, and OSError.
    """
    old = read(chosen)
    code = {"version": _core.version(), "commit": commit()}

    def stored(wanted: Any, seeds: Sequence[int], what: str = "") -> Tables:
        return run_experiments(wanted, seeds, store=store, kept_only=True)

    def points(figure: Figure) -> list[tuple[str, Study, Point]]:
        return [(study.name(point), study, point) for study in figure.studies.values() for point in study.points]

    def again(old: Kept, study: Study, point: Point) -> list[dict[str, Any]]:
        """What an old point is today. Seeds that are kept no longer have what was prepared for them then."""
        seeds = [(seed, prepared if seed in settings.seeds else old.prepared) for seed in old.settings.seeds]
        return [each for seed, of in seeds for each in _scenario(study, point, replace(settings, seeds=(seed,)), of)]

    figures = chosen.figures()
    if chosen.restore is None and any(study.by_seed for study in studies_of(figures)):
        raise ValueError(f"{chosen.name}: its runs need what `prepare` finds: say in `restore` how to read that again")
    with Store(out) as store:
        prepared = _prepared(chosen, settings, stored, old)
        named: dict[str, str] = {}
        scenarios: dict[str, list[dict[str, Any]]] = {}
        same: set[str] = set()
        for name, study, point in (each for figure in figures for each in points(figure)):
            id_ = study.id(point, settings, prepared)
            if named.setdefault(id_, name) != name or (name in scenarios and named.get(id_) != name):
                raise ValueError(f"two runs are called {name!r}: say what one of their studies is about")
            if name not in scenarios:
                scenarios[name] = _scenario(study, point, settings, prepared)
                if old is not None and old.scenarios.get(name) == _digest(again(old, study, point), old.keys):
                    same.add(name)
        tables: list[Tables] = []
        stay: set[str] = set()
        for experiment in experiments(studies_of(figures), studies_of(figures), settings, prepared):
            name = named[experiment.id]
            try:
                for seed in settings.seeds:
                    try:
                        found = stored([experiment], [seed])
                    except MissingRuns:
                        if old is None or name not in same or seed not in old.settings.seeds:
                            raise
                        found = {table: rows.filter(experiment=name, seed=seed) for table, rows in old.tables.items()}
                        if seed == settings.seeds[0]:
                            stay.add(name)
                    else:  # of this code, or the store would not have found it
                        found = found | {CODE: pl.DataFrame({"experiment": name, "seed": seed, **code})}
                    tables.append({table: rows.with_columns(experiment=pl.lit(name)) for table, rows in found.items()
                                   if seed == settings.seeds[0] or table not in experiment.once})  # fmt: skip
            except MissingRuns:
                del scenarios[name]
    whole = [figure for figure in figures if all(name in scenarios for name, *_ in points(figure))]
    short = measured(chosen, whole, replace(chosen.short, seeds=chosen.short.seeds[:1]), simulate)
    behaviour = {
        name: old.behaviour.get(name, "") if old is not None and name in stay else _behaviour(study, point, short)
        for figure in whole
        for name, study, point in points(figure)
    }
    with staged(chosen.kept_folder) as stage:
        for table in dict.fromkeys(name for each in tables for name in each):
            rows = pl.concat([each[table] for each in tables if table in each], how="diagonal_relaxed")
            write_parquet(rows.filter(pl.col("experiment").is_in(list(behaviour))), stage / f"{table}.parquet")
        if chosen.restore is not None:
            write_parquet(prepared.frame(), stage / f"{PREPARED}.parquet")
        keys = _keys([scenarios[name] for name in behaviour])
        digests = {name: _digest(scenarios[name], keys) for name in behaviour}
        index = {"settings": asdict(settings), "keys": sorted(keys), "scenarios": digests, "behaviour": behaviour}
        write_json(stage / INDEX, index)
    return [figure.id for figure in figures if figure not in whole]


def _prepared(chosen: Paper, settings: Settings, stored: Callable[..., Tables], old: Kept | None) -> Any:
    """What the runs need, from those in a store; for seeds that it lacks, as it was kept."""
    if chosen.prepare is None:
        return None
    if chosen.restore is None:
        return measured(chosen, [], settings, stored).prepared

    def of(seed: int) -> Any:
        try:
            return measured(chosen, [], replace(settings, seeds=(seed,)), stored).prepared.frame()
        except MissingRuns:
            if old is None or seed not in old.settings.seeds or settings != replace(old.settings, seeds=settings.seeds):
                raise
            return old.prepared.frame().filter(seed=seed)

    return chosen.restore(settings, pl.concat([of(seed) for seed in settings.seeds]))


def read(chosen: Paper) -> Kept | None:
    """What is kept with a paper; None if nothing is."""
    folder = chosen.kept_folder
    if not (folder / INDEX).exists():
        return None
    index = json.loads((folder / INDEX).read_text("utf-8"))
    settings = Settings(**{**index["settings"], "seeds": tuple(index["settings"]["seeds"])})
    tables = {path.stem: read_table(folder, path.stem) for path in sorted(folder.glob("*.parquet"))}
    frame = tables.pop(PREPARED, None)
    prepared = None if chosen.restore is None or frame is None else chosen.restore(settings, frame)
    return Kept(settings, prepared, tables, frozenset(index["keys"]), index["scenarios"], index["behaviour"])
