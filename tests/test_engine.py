"""The engine's keys: what a run is known by, so that nothing stale is found again and nothing equal is run twice."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from conftest import SMALL

from sluicegate.experiments import engine, job
from sluicegate.experiments.engine import Experiment, Keep, Store, Tables, run_experiments
from sluicegate.experiments.identity import identity
from sluicegate.papers import PAPERS
from sluicegate.reproduce import paper

DERIVED = """
import math
from functools import cache, partial
from dataclasses import dataclass

import polars as pl

from sluicegate import stats

LABEL = "an axis"
BINS = 10
UNIT = pl.lit(3)


def helper(values):
    return [math.floor(value * BINS) for value in values]


def twice(values):
    return 2 * stats.interval(values).mean


@cache
def once(limit=3):
    return helper([limit])


def derive(tables, factor=2):
    return {"derived": factor * sum(helper(list(tables)))}


def by_unit(tables):
    return {"derived": tables["links"].select(UNIT)}


def by_cached(tables):
    return [once() for _ in tables]


def by_stats(tables):
    return (lambda values: twice(values))(tables)


@dataclass(frozen=True)
class Measure:
    column: str

    @property
    def half(self):
        return helper([self.column])

    def __call__(self, tables):
        return self.half


def nested():
    def inner(tables):
        return tables
    return inner


a_lambda = lambda tables: tables
"""


def module(folder: Path, text: str) -> ModuleType:
    """A module of that text."""
    file = folder / "derived.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("derived", file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["derived"] = found
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("function", "changes"),
    [
        ("derive", [("BINS = 10", "BINS = 11"), ("factor=2", "factor=3"), ("math.floor", "math.ceil")]),
        ("by_unit", [("pl.lit(3)", "pl.lit(4)")]),
        ("by_cached", [("limit=3", "limit=4"), ("BINS = 10", "BINS = 11")]),
        ("by_stats", [("2 * stats", "3 * stats")]),
    ],
)
def test_a_function_is_known_by_what_it_uses_and_not_by_labels(
    tmp_path: Path, function: str, changes: list[tuple[str, str]]
) -> None:
    def known(text: str) -> str:
        found = identity(getattr(module(tmp_path, text), function))
        assert found is not None
        return found

    before = known(DERIVED)
    assert known(DERIVED) == before
    assert known(DERIVED.replace('"an axis"', '"another"')) == before
    assert known(DERIVED.replace("def nested", "def another")) == before
    for old, new in changes:
        assert known(DERIVED.replace(old, new)) != before, new


def test_arguments_and_fields_that_are_bound_count(tmp_path: Path) -> None:
    found = module(tmp_path, DERIVED)
    assert identity(partial(found.derive, factor=4)) == identity(partial(found.derive, factor=4))
    assert identity(partial(found.derive, factor=4)) != identity(partial(found.derive, factor=5))
    assert identity(found.Measure("a")) == identity(found.Measure("a"))
    assert identity(found.Measure("a")) != identity(found.Measure("b"))
    before = identity(found.Measure("a"))
    # Of another length, since Python finds a file's bytecode by its length and the second of its change.
    assert identity(module(tmp_path, DERIVED.replace("BINS = 10", "BINS = 100")).Measure("a")) != before


def test_what_no_name_tells_apart_is_not_known(tmp_path: Path) -> None:
    found = module(tmp_path, DERIVED)
    for unknown in (found.a_lambda, found.nested(), partial(found.derive, factor=found.a_lambda)):
        assert identity(unknown) is None


# --- keys --------------------------------------------------------------------------------------

LINKS: Keep = {"links": ("link", "utilisation")}
PLAIN = Experiment("a label", SMALL, "small.toml", (), LINKS)


def delays(tables: Tables) -> Tables:
    """The mean delay at the links of a run."""
    return {"delays": tables["links"].select(delay=pl.col("queueing_delay_mean_ns").mean())}


def events(tables: Tables) -> Tables:
    """How long the table of links is."""
    return {"delays": tables["links"].select(delay=pl.len().cast(pl.Float64))}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs experiments with one store; says how many runs were made."""
    runs = 0

    def work(asked: job.Job, cancel: job.Flag | None = None) -> job.Kept:
        nonlocal runs
        runs += 1
        return job.work(asked, cancel)

    def run(*experiments: Experiment, seeds: tuple[int, ...] = (1,)) -> int:
        before = runs
        with Store(tmp_path / "out") as store:
            run_experiments(experiments, seeds, store=store)
        return runs - before

    monkeypatch.setattr(engine, "work", work)
    return run


def test_a_run_is_known_by_what_it_depends_on_and_not_by_its_label(made: Callable[..., int]) -> None:
    assert made(PLAIN, seeds=(1, 2)) == 2
    assert made(replace(PLAIN, id="another label"), seeds=(2, 1)) == 0
    assert made(replace(PLAIN, text=f"# a remark\n{SMALL}")) == 0
    assert made(replace(PLAIN, sets=(("run.seed", "9"),))) == 0, "the seed is the engine's"
    assert made(replace(PLAIN, keep={"links": ("link",)})) == 1
    assert made(replace(PLAIN, keep={"links": None})) == 1
    assert made(replace(PLAIN, sets=(("queue.limit", "77"),))) == 1
    assert made(replace(PLAIN, by_seed={1: (("queue.limit", "77"),)})) == 0, "said otherwise"
    derived = replace(PLAIN, keep={"delays": ("delay",)}, derive=delays)
    assert (made(derived), made(derived)) == (1, 0)
    assert made(replace(derived, derive=events)) == 1
    unknown = replace(derived, derive=lambda tables: delays(tables))
    assert (made(unknown), made(unknown)) == (1, 1)


def test_equal_runs_of_several_experiments_are_run_once(made: Callable[..., int]) -> None:
    assert made(PLAIN, replace(PLAIN, id="b"), replace(PLAIN, id="c", sets=(("queue.limit", "77"),))) == 2


def test_tables_kept_once_are_those_of_the_first_seed_asked_for(tmp_path: Path) -> None:
    traced = replace(PLAIN, keep={**LINKS, "queue": ("time_s",)}, once=("queue",))
    for seeds in ((1, 2), (2, 1), (1, 2)):
        with Store(tmp_path / "out") as store:
            tables = run_experiments([traced], seeds, store=store)
        assert tables["queue"]["seed"].unique().to_list() == [seeds[0]]
        assert tables["links"]["seed"].to_list() == list(seeds)


def test_what_is_found_is_what_was_run(tmp_path: Path) -> None:
    everything: Keep = dict.fromkeys(("flows", "links", "queue", "totals"))
    plain_one = replace(PLAIN, keep=everything)
    experiments = [plain_one, replace(plain_one, id="b", sets=(("queue.limit", "77"),))]
    plain = run_experiments(experiments, [3, 1])
    with Store(tmp_path) as store:
        first = run_experiments(experiments, [3, 1], store=store)
        second = run_experiments(experiments, [3, 1], store=store)
        assert store.found == 4
    for name in ("flows", "links", "queue", "totals"):
        assert first[name].equals(plain[name])
        assert second[name].equals(plain[name])
    assert plain["links"].select("experiment", "seed").rows() == [
        ("a label", 3), ("a label", 1), ("b", 3), ("b", 1),
    ]  # fmt: skip


def test_a_store_that_is_interrupted_as_it_opens_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(store: Store) -> None:
        (tmp_path / "deep/out/runs.sqlite").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "_opened", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path / "deep/out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", PAPERS)
def test_what_the_papers_derive_is_known(name: str) -> None:
    """Runs whose derivation has no identity are never found again: `--redraw` would always fail."""
    found = paper(name)
    for study in {study for figure in found.figures() for study in figure.studies.values()}:
        derive = study._derive(found.short)
        assert derive is None or identity(derive) is not None, study.scenario
