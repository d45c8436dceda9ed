"""A reproduction: what it writes, that the same is written each time, and that it is written whole or not at all."""

from __future__ import annotations

import json
import math
import pickle
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from conftest import Program
from tiny import FIGURES, TINY, contents

from sluicegate import ScenarioError, report
from sluicegate.experiments import engine, job
from sluicegate.experiments.engine import Experiment, Store, Tables, run_experiments
from sluicegate.papers import (
    PAPERS,
    Settings,
    UnknownPaper,
    choke1999,
    choke1999_cases,
    choke1999_page,
    reproduce,
)
from sluicegate.papers.checks import CLASSES, VERDICTS, Bounds, Check

KEYS = {"id", "source", "class", "paper", "measured", "low", "high", "verdict", "ok", "why", "evidence"}


class Shuffled(Executor):
    """Runs each task after a random delay, so that they end in another order than they were given."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.submitted = 0
        self.order: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        number = self.submitted
        self.submitted += 1

        def call() -> None:
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                self.order.append(number)
                future.set_result(result)

        threading.Timer(self._random.random(), call).start()
        return future


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool, list[tuple[int, int, str]]]:
    """One tiny reproduction: its folder, what `reproduce` returned, and the calls of `progress`."""
    out = tmp_path_factory.mktemp("made") / "choke1999"
    calls: list[tuple[int, int, str]] = []
    passed = reproduce("choke1999", out, progress=lambda *call: calls.append(call), settings=TINY)
    return out, passed, calls


def test_every_figure_is_written_with_its_data(made: tuple[Path, bool, Any]) -> None:
    out = made[0]
    expected = {"report.html", "checks.json"} | {f"figures/{id_}.svg" for id_ in FIGURES}
    assert set(contents(out)) == expected | {f"data/{id_}.parquet" for id_ in FIGURES}
    assert [path.name for path in out.parent.iterdir()] == ["choke1999"]


def test_checks_have_every_key_and_agree_with_the_result(made: tuple[Path, bool, Any]) -> None:
    out, passed, _ = made
    checks = json.loads((out / "checks.json").read_text("utf-8"))
    ids = [check["id"] for check in checks]
    assert len(set(ids)) == len(ids)
    for check in checks:
        assert set(check) == KEYS
        assert check["class"] in CLASSES
        assert check["verdict"] in VERDICTS
        assert check["ok"] is (check["verdict"] != "failed" or check["class"] == "shown")
        assert "Bounds: " in check["why"]
        if check["verdict"] == "reproduced":
            assert check["low"] is None or check["measured"] >= check["low"]
            assert check["high"] is None or check["measured"] <= check["high"]
        if check["verdict"] == "differs, explained":
            assert check["evidence"] in set(ids) - {check["id"]}
    assert passed is all(check["ok"] for check in checks)


def test_every_check_stands_under_a_figure_of_the_page(made: tuple[Path, bool, Any]) -> None:
    out = made[0]
    page = (out / "report.html").read_text("utf-8")
    for check in json.loads((out / "checks.json").read_text("utf-8")):
        assert page.count(f'<tr id="check-{check["id"]}">') == 1
    for id_ in FIGURES:
        assert f'<section class="figure" id="{id_}">' in page


def test_the_data_are_what_the_figures_show(made: tuple[Path, bool, Any]) -> None:
    data = {id_: pl.read_parquet(made[0] / "data" / f"{id_}.parquet") for id_ in FIGURES}
    samples = TINY.duration_s // TINY.sample_s
    assert data["fig2"].height == samples * 2
    assert data["fig4"].height == samples * 2 * 2
    assert data["fig5"].height == 33
    assert data["fig7"].height == 33 * 2
    for id_ in ("fig8", "fig9", "fig10", "fig11", "fig14", "fig15"):
        assert data[id_].height == len(choke1999_cases.RATES) * 2, id_
    assert data["fig12"].height == data["fig13"].height == samples * 2 * 2
    assert data["fig16"].height == data["fig17"].height == len(choke1999_cases.FIVE_RATES)
    assert data["fig18"].height == data["fig19"].height == len(choke1999_cases.FIVE_RATES) * 2
    assert data["alone"].height == len(choke1999_cases.ALONE)
    assert data["in-step"].height == samples * len(choke1999_cases.TOGETHER)
    assert data["bursts"].height == len(choke1999_cases.BURSTS)
    assert data["fig8"]["seeds"].unique().to_list() == [len(TINY.seeds)]
    for id_, table in data.items():
        for column in (name for name in table.columns if name.endswith(("_bps", "_mean", "_half_width", "_one_run"))):
            assert table[column].null_count() == 0, (id_, column)
            assert table[column].is_finite().all(), (id_, column)


def test_a_mean_of_the_data_is_the_mean_of_the_runs(made: tuple[Path, bool, Any]) -> None:
    case = choke1999_cases.CHOKE[0].at(10.0)
    (experiment,) = (each for each in choke1999.experiments(TINY) if each.id == case.id)
    flows = [run_experiments([experiment], [seed])["flows"] for seed in TINY.seeds]
    expected = math.fsum(table.filter(pl.col("flow") == 33)["throughput_bps"].item() for table in flows) / len(flows)
    row = pl.read_parquet(made[0] / "data" / "fig8.parquet").filter(pl.col("experiment") == case.id)
    assert row["udp_bps_mean"].to_list() == [pytest.approx(expected, rel=1e-12)]


def test_progress_counts_every_run_once(made: tuple[Path, bool, list[tuple[int, int, str]]]) -> None:
    calls = made[2]
    total = len(choke1999.experiments(TINY)) * len(TINY.seeds)
    assert [done for done, _, _ in calls] == list(range(1, total + 1))
    assert {all_ for _, all_, _ in calls} == {total}


def test_nothing_written_has_a_date_or_a_path(made: tuple[Path, bool, Any]) -> None:
    out = made[0]
    for path in [out / "report.html", out / "checks.json", *(out / "figures").iterdir()]:
        text = path.read_text("utf-8")
        assert "dc:date" not in text
        assert str(out.parent) not in text
        assert str(Path(report.__file__).parent) not in text


def test_order_of_completion_does_not_show(made: tuple[Path, bool, Any], tmp_path: Path) -> None:
    executor = Shuffled(seed=3)
    reproduce("choke1999", tmp_path / "again", executor=executor, settings=TINY)
    assert executor.order != sorted(executor.order), "the runs did end in another order"
    assert contents(tmp_path / "again") == contents(made[0])


def test_a_report_replaces_an_earlier_one(made: tuple[Path, bool, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("an old one")
    (out / "mine.txt").write_text("keep this")
    reproduce("choke1999", out, jobs=3, settings=TINY)
    assert contents(out).keys() == {*contents(made[0]), "mine.txt"}
    assert contents(out)["report.html"] == contents(made[0])["report.html"]


def test_one_seed_gives_a_report_without_intervals(tmp_path: Path) -> None:
    short = Settings(seeds=(4,), duration_s=10, warmup_s=2, sample_s=2)
    reproduce("choke1999", tmp_path / "out", settings=short)
    data = pl.read_parquet(tmp_path / "out" / "data" / "fig8.parquet")
    assert data["udp_bps_half_width"].null_count() == data.height


PAPER = """
from sluicegate import scenario
from sluicegate.experiments.engine import Experiment
from sluicegate.papers import Settings
from sluicegate.report import Report

DEFAULT = Settings(seeds=(1,), duration_s=2, warmup_s=1, sample_s=1)
RATES = [f"{rate} kbit/s" for rate in range(500, 2000, 100)]
SUMMARY = "a summary"


def experiments(settings):
    text, name = scenario.read_scenario("unresponsive")
    times = (("run.duration", f"{settings.duration_s} s"), ("run.warmup", f"{settings.warmup_s} s"))
    keep = {"links": ("utilisation",)}
    return [Experiment(rate, text, name, (*times, ("flows.1.rate", rate)), keep) for rate in RATES]


def report(settings, results):
    mean = results["links"]["utilisation"].mean()
    return Report("small", "Small", "", f"{SUMMARY}: {mean:.6f}", (), "", "", (), ())
"""
"""A paper that takes no time to draw."""

RATES = 15


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`PAPER`, which can be reproduced as `small`."""
    module = ModuleType("sluicegate.papers.small")
    exec(PAPER, module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(PAPERS, "small", "a small paper")
    return module


@pytest.fixture
def counted_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the runs that are made, as they are."""
    runs: list[int] = []

    def work(asked: job.Job, cancel: job.Flag | None = None) -> job.Kept:
        runs.append(asked.seed)
        return job.work(asked, cancel)

    monkeypatch.setattr(engine, "work", work)
    return runs


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_reproduction_keeps_what_has_ended(
    paper: ModuleType, tmp_path: Path, error: type[BaseException], counted_runs: list[int]
) -> None:
    def stop(done: int, _total: int, _label: str) -> None:
        if done == 3:
            raise error

    out = tmp_path / "out"
    with pytest.raises(error):
        reproduce("small", out, progress=stop, jobs=1)
    assert [path.name for path in out.iterdir()] == ["runs.sqlite"]
    with Store(out) as store:
        assert len(store.keys()) == 3
    counted_runs.clear()
    reproduce("small", out)
    assert len(counted_runs) == RATES - 3
    reproduce("small", tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


def test_an_interrupted_reproduction_of_which_nothing_has_ended_leaves_nothing(
    paper: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(_job: job.Job, _cancel: job.Flag | None) -> job.Kept:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "work", work)
    with pytest.raises(KeyboardInterrupt):
        reproduce("small", tmp_path / "deep/out")
    assert list(tmp_path.iterdir()) == []


def test_what_was_reproduced_is_not_run_again_for_another_label_or_more_seeds(
    paper: ModuleType, tmp_path: Path, counted_runs: list[int]
) -> None:
    out = tmp_path / "out"
    reproduce("small", out)
    assert len(counted_runs) == RATES
    before = contents(out)
    counted_runs.clear()
    reproduce("small", out)
    assert (counted_runs, contents(out)) == ([], before)
    vars(paper)["SUMMARY"] = "another summary"
    reproduce("small", out)
    assert counted_runs == []
    assert "another summary" in (out / "report.html").read_text("utf-8")
    reproduce("small", out, seeds=2)
    assert counted_runs == [2] * RATES


def test_a_reproduction_that_is_killed_goes_on_where_it_was(
    paper: ModuleType, tmp_path: Path, counted_runs: list[int]
) -> None:
    (tmp_path / "small.py").write_text(PAPER)
    code = """
import sys
import small
from pathlib import Path
from sluicegate import papers
sys.modules["sluicegate.papers.small"] = small
papers.PAPERS["small"] = "a small paper"
papers.reproduce("small", Path("out"), jobs=1, progress=lambda done, *_: print(done, flush=True))
"""
    child = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    told = [child.stdout.readline() for _ in range(3)]
    child.send_signal(signal.SIGKILL)
    told += child.stdout.readlines()
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    ended = len([line for line in told if line.endswith("\n")])
    assert 3 <= ended < RATES - 1, "it should have been in the middle"
    assert not (tmp_path / "out/report.html").exists()
    reproduce("small", tmp_path / "out")
    assert RATES - ended - 1 <= len(counted_runs) <= RATES - ended  # one may have been kept and not told yet


def test_a_failed_claim_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_runs: pl.DataFrame) -> list[Check]:
        return [Check("impossible", "nowhere", "claim", "more than all", 1.0, "", Bounds(2.0, None, "made up"))]

    monkeypatch.setattr(choke1999_page, "checks", failing)
    monkeypatch.setattr(choke1999_page, "OF_FIGURE", dict.fromkeys(FIGURES, ()))
    assert reproduce("choke1999", tmp_path / "out", settings=TINY) is False
    (check,) = json.loads((tmp_path / "out" / "checks.json").read_text("utf-8"))
    assert (check["verdict"], check["ok"]) == ("failed", False)
    assert "impossible" in (tmp_path / "out" / "report.html").read_text("utf-8"), (
        "a check without a figure is shown too"
    )


def test_an_unknown_paper_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownPaper) as caught:
        reproduce("choke199", tmp_path / "out")
    known = "red1993, choke1999, choke2004, dcn2004, disciplines"
    assert str(caught.value) == f'no such paper: "choke199"; did you mean "choke1999"? (known: {known})'
    assert isinstance(caught.value, KeyError)
    assert list(PAPERS) == known.split(", ")


@pytest.mark.parametrize("option", ["seeds", "jobs"])
def test_fewer_than_one_is_refused(tmp_path: Path, option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} = 0"):
        reproduce("choke1999", tmp_path / "out", **{option: 0})  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="not a directory"):
        reproduce("choke1999", tmp_path / "file" / "out", progress=pytest.fail, settings=TINY)


def test_a_task_crosses_to_another_process() -> None:
    (experiment,) = (each for each in choke1999.experiments(TINY) if each.id == choke1999_cases.DROP_TAIL.id)
    here = run_experiments([experiment], [1])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = run_experiments([experiment], [1], executor=pool)
    assert here.keys() == there.keys()
    assert all(here[name].equals(there[name]) for name in here)


def counted(tables: Tables) -> Tables:
    """What a run's packets come to."""
    return {"counted": tables["packets"].select(rows=pl.len(), last_s=pl.col("time_s").max())}


def test_large_tables_are_measured_run_by_run_and_kept_of_the_first_seed() -> None:
    (plain, *_) = choke1999.experiments(TINY)
    sets = (*plain.sets, ("run.packets", "500"), ("run.duration", "5 s"), ("run.warmup", "0 s"))
    keep = {"packets": ("time_s", "event"), "counted": ("rows", "last_s")}
    experiment = Experiment("traced", plain.text, plain.name, sets, keep, derive=counted, once=("packets",))
    tables = run_experiments([experiment], [3, 1, 2])
    assert tables["packets"]["seed"].unique().to_list() == [3]
    assert tables["packets"].height == 500
    assert tables["counted"].select("experiment", "seed", "rows").rows() == [
        ("traced", seed, 500) for seed in (3, 1, 2)
    ]
    assert tables["counted"]["last_s"][0] == tables["packets"]["time_s"].max()
    assert pickle.loads(pickle.dumps(experiment)) == experiment


def test_a_wrong_scenario_ends_the_work_with_its_message() -> None:
    (experiment, *_) = choke1999.experiments(TINY)
    wrong = Experiment("wrong", experiment.text, experiment.name, (("queue.min_th", "-1"),), experiment.keep)
    with pytest.raises(ScenarioError, match="min_th"):
        run_experiments([wrong], [1, 2, 3])


def test_experiments_need_names_of_their_own_and_a_seed() -> None:
    (experiment, *_) = choke1999.experiments(TINY)
    with pytest.raises(ValueError, match="share an id"):
        run_experiments([experiment, experiment], [1])
    with pytest.raises(ValueError, match="at least one seed"):
        run_experiments([experiment], [])


def test_the_command_writes_the_report(sluicegate: Program, tmp_path: Path) -> None:
    done = sluicegate("reproduce", "choke199", "-o", "out")
    assert done.returncode != 0
    assert "choke1999" in done.stderr
    assert not (tmp_path / "out").exists()
