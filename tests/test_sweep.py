"""Sweeps: what a grid means, the tables, executors, the command, and mistakes."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from browser import open_page
from conftest import SMALL, Program
from fifo import Fifo
from tiny import contents

import sluicegate as sg
from sluicegate.experiments import engine, job, store, sweep_page
from sluicegate.experiments import grid as sweep_grid
from sluicegate.experiments import sweep as sweeps

DOCS = Path(__file__).parents[1] / "docs"
FILES = [
    "flows.parquet",
    "groups.parquet",
    "links.parquet",
    "report.html",
    "summary.json",
    "sweep.svg",
    "totals.parquet",
]
SHORT = {"run.duration": "1 s", "run.warmup": "200 ms"}
OVER = {"flows.1.rate": "0.5..2 Mbit/s log 3", "queue.discipline": "red,drop_tail"}


def tables(folder: Path) -> dict[str, str]:
    """The digests of what a sweep wrote, but for what it keeps for itself."""
    return {name: digest for name, digest in contents(folder).items() if name in FILES}


def axis(key: str, given: object) -> sweep_grid.Axis:
    [found] = sweep_grid.axes([(key, given)])
    return found


# --- grids -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("0.1..10 Mbit/s log 3", ["0.1 Mbit/s", "1 Mbit/s", "10 Mbit/s"]),
        ("0.1..10 Mbit/s log 4", ["0.1 Mbit/s", "0.464159 Mbit/s", "2.15443 Mbit/s", "10 Mbit/s"]),
        ("10..1Mbit/s linear 4", ["10 Mbit/s", "7 Mbit/s", "4 Mbit/s", "1 Mbit/s"]),
        ("0 .. 1 4", ["0", "0.333333333333", "0.666666666667", "1"]),
        ("-1..1 5", ["-1", "-0.5", "0", "0.5", "1"]),
        ("1e-4..1e2 log 3", ["0.0001", "0.1", "100"]),
        ("1..1000 log 7 whole", ["1", "3", "10", "32", "100", "316", "1000"]),
        ("100000000..400000000 4", ["100000000", "200000000", "300000000", "400000000"]),
        ("red, choke", ["red", "choke"]),
        ("../mine.py:Mine,red", ["../mine.py:Mine", "red"]),
        ('["a","b"],["c"]', ['["a","b"]', '["c"]']),
        ("10 ms", ["10 ms"]),
        ([1, 2.5, "7"], ["1", "2.5", "7"]),
        (np.array([1, 2]), ["1", "2"]),
        (range(3), ["0", "1", "2"]),
        ([["a"], ["a", "b"]], ['["a"]', '["a", "b"]']),
    ],
)
def test_values(given: object, values: list[str]) -> None:
    assert list(axis("a.b", given).values) == values


def test_a_log_range_keeps_its_ratio() -> None:
    values = axis("a", "3..700 kbit/s log 25").cells
    ratios = [after / before for before, after in pairwise(values)]
    assert ratios == pytest.approx([(700 / 3) ** (1 / 24)] * 24, rel=1e-3)  # whole bits per second
    assert (values[0], values[-1]) == (3000, 700_000)


@pytest.mark.parametrize(
    ("given", "column", "cells"),
    [
        ("1..2 Mbit/s 3", "k_bps", (1_000_000, 1_500_000, 2_000_000)),
        ("1 ms,2 s,3 us", "k_ns", (1_000_000, 2_000_000_000, 3000)),
        ("1 kB,1 KiB", "k_bytes", (1000, 1024)),
        ("30,40 packets", "k", (30, 40)),
        ("0.5,1", "k", (0.5, 1.0)),
        ("true,false", "k", (True, False)),
        ("red,choke", "k", ("red", "choke")),
        ("1 ms,1 kB", "k", ("1 ms", "1 kB")),
        ("64 kB,30", "k", ("64 kB", "30")),
        ("true,1", "k", ("true", "1")),
        ("10 parsecs", "k", ("10 parsecs",)),
    ],
)
def test_columns_have_numbers_in_one_unit_or_texts(given: str, column: str, cells: tuple[object, ...]) -> None:
    found = axis("k", given)
    assert (found.column, found.cells) == (column, cells)
    assert [type(cell) for cell in found.cells] == [type(cell) for cell in cells]


def test_several_keys_give_every_combination_in_order() -> None:
    grid = sweep_grid.points(sweep_grid.axes([("b", "1,2"), ("a", "x,y,z")]))
    assert [point.cells for point in grid] == [(n, word) for n in (1, 2) for word in "xyz"]
    assert grid[4].sets == (("b", "2"), ("a", "y"))
    assert grid[4].label == "b=2, a=y"


MISTAKES = {
    "nonsense": "must be KEY=VALUES, such as",
    "=1": "must be KEY=VALUES",
    "flows.1.raet=1,2": '--over flows.1.raet: no such key for kind udp; did you mean "rate"?',
    "flows.7.rate=1,2": "--over flows.7.rate: flows must be followed by the number of an entry, 0 to 2",
    "flows.1.rate=0..10 Mbit/s log 5": "a log range needs both ends above 0",
    "flows.1.rate=-1..10 Mbit/s log 5": "a log range needs both ends above 0",
    "flows.1.rate=1..10 Mbit/s lgo 5": '"lgo" is not expected here; did you mean "log"?',
    "flows.1.rate=1..10 Mbit/s log": "the number of values must come last, as in",
    "flows.1.rate=1..10 Mbit/s 5 whol": 'the number of values must come last; did you mean "whole"?',
    "flows.1.rate=1..10 Mbit/s extra 5": '"extra" is not expected here',
    "flows.1.rate=1..10": "the number of values must come last",
    "flows.1.rate=1..10 Mbit/s 1": "2 values at least",
    "flows.1.rate=1..10 Mbit/s 10001": "10000 at most",
    "flows.1.rate=1..1.0 Mbit/s 5": "the ends are equal",
    "flows.1.rate=1..1e99 5": "the ends must lie between",
    "flows.0.count=1..10 log 9 whole": "7 different values only",
    "flows.1.rate=1 Mbit/s..10 Mbit/s 5": "the unit once",
    "flows.1.rate=1..10 Mbit/h 5": '--over flows.1.rate = "1 Mbit/h": "Mbit/h" is not a unit here: use one of bit/s',
    "flows.1.rate=1 Mbit/s,1000 kbit/s": "--over flows.1.rate: 1000 kbit/s is there twice",
    "flows.0.count=1..10 log 4": 'must be a whole number; a range of them ends in the word "whole"',
    "queue.discipline=red,chok": '--over queue.discipline: no such discipline: "chok"; did you mean "choke"?',
    "queue.discipline=red,,choke": "a value is missing",
    "queue.min_th=20,30,40": "--over queue.min_th = 30 packets: breaks the rule min_th < max_th",
    "queue.max_th=40,9": "--over queue.max_th=9: small.toml:8: queue.min_th = 10 packets: breaks the rule",
    "queue.red.max_p=0.1,0.2 --over queue.limit=60,70": "no point has the discipline red, which alone reads queue.red",
    "run.seed=1,2": "--over run.seed: give seeds instead",
    "run.series=true": "--over run.series: a sweep keeps no series",
    "queue.limit=1..10000 10000 --over queue.red.max_p=0.1..1 10000": "100000000 points; must be at most 1000000",
    "queue.limit=50 --over queue.limit=60": "--over queue.limit: given twice",
    "queue.limit=50 --set queue.limit=60": "--set queue.limit: is swept",
    "queue.limit=50 --set run.seed=3": "--set run.seed: give seeds instead",
    "queue.limit=50 --set run.series=true": "--set run.series: a sweep keeps no series",
    "queue.limit=50,60 --set queue.mim_th=3": '--set queue.mim_th: no such key; did you mean "min_th"?',
    "queue.min_th=10,20 --over queue.max_th=15,60": "(at queue.min_th=20, queue.max_th=15)",
    "queue.limit=50 --cluster somewhere": "--cluster somewhere: must be a scheduler's address, such as tcp://",
    "queue.limit=50 --cluster tcp://127.0.0.1:9 --jobs 2": "--jobs: the cluster decides how many runs it does at once",
    "queue.limit=31..90 60 --seeds 1000000": "runs, above 1000000",
    "queue.limit=50 --jobs 0": "",
    "queue.limit=50 --seeds 0": "",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_before_anything_runs(
    sluicegate: Program, small: Path, tmp_path: Path, mistake: str
) -> None:
    small.write_text(SMALL.replace('"6 s"', '"1000000 s"'))  # a run would outlast the test
    first, *others = mistake.split(" --")
    words = ["--over", first, *(word for each in others for word in f"--{each}".split(" ", 1))]
    answer = sluicegate("sweep", "small.toml", *words, "-o", "out")
    assert (answer.returncode, answer.stdout) == (2, "")
    if MISTAKES[mistake]:
        assert answer.stderr.startswith("error: ")
        assert answer.stderr.count("\n") == 1
    assert MISTAKES[mistake] in answer.stderr
    assert list(tmp_path.iterdir()) == [small]


def test_wrong_things_in_python() -> None:
    for over in ({"queue.limit": 5}, {"queue.limit": {"a": 1}}, {"queue.limit": None}):
        with pytest.raises(TypeError, match=r"over: queue\.limit"):
            sg.sweep("unresponsive", over=over)
    with pytest.raises(sg.ScenarioError, match="at least one value"):
        sg.sweep("unresponsive", over={"queue.limit": []})
    with pytest.raises(sg.ScenarioError, match="at least one key"):
        sg.sweep("unresponsive", over={})
    with pytest.raises(ValueError, match="jobs = 0"):
        sg.sweep("unresponsive", over=OVER, jobs=0)
    with pytest.raises(ValueError, match="one of jobs, executor and cluster"):
        sg.sweep("unresponsive", over=OVER, jobs=2, cluster="tcp://127.0.0.1:8786")
    with pytest.raises(ValueError, match="seeds = "):
        sg.sweep("unresponsive", over=OVER, seeds=[1, 1])
    with pytest.raises(TypeError, match="flows"):
        sg.sweep("unresponsive", sg.Tcp(), over=OVER)
    with pytest.raises(TypeError, match="flows"):
        sg.sweep(sg.dumbbell(rate="1 Mbit/s"), over=OVER)


# --- tables ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[sg.Sweep, Path]:
    """A small sweep, and the folder it wrote."""
    out = tmp_path_factory.mktemp("sweep") / "deep/out"
    return sg.sweep("unresponsive", over=OVER, seeds=2, sets=SHORT, out=out), out


def test_every_parameter_that_is_set_is_a_column(done: tuple[sg.Sweep, Path]) -> None:
    swept, out = done
    for name in sweeps.TABLES:
        table = pl.read_parquet(out / f"{name}.parquet")
        first = ["flows.1.rate_bps", "queue.discipline", "run.duration_ns", "run.warmup_ns", "seed"]
        assert table.columns[:5] == first, name
        assert table["run.duration_ns"].unique().to_list() in ([10**9], [] if name == "groups" else None)
    again = sg.sweep(
        "unresponsive",
        over={"run.duration": "1 s"},
        seeds=1,
        warmup="300 ms",
        sets=[("queue.limit", "70"), ("queue.limit", "80"), ("queue.discipline", "choke")],
    )
    own = {
        "run.duration_ns": 10**9,
        "queue.limit": 80,
        "queue.discipline": "choke",
        "run.warmup_ns": 3 * 10**8,
        "seed": 1,
    }
    assert dict(zip(again.totals.columns, again.totals.row(0), strict=True)).items() >= own.items()
    assert again.totals.columns[:5] == list(own)
    assert again.columns == ["run.duration_ns"], "what was swept alone"
    both = pl.concat([swept.totals, again.totals], how="diagonal")
    assert both["run.warmup_ns"].to_list() == [2 * 10**8] * 12 + [3 * 10**8]


def test_runs_are_those_of_the_same_point_and_seed_alone(done: tuple[sg.Sweep, Path]) -> None:
    swept, _ = done
    keys = ["flows.1.rate_bps", "queue.discipline", "seed"]
    assert swept.columns == keys[:2]
    runs = [(rate, name, seed) for rate in (500_000, 1_000_000, 2_000_000) for name in ("red", "drop_tail") for seed in (1, 2)]  # fmt: skip  # noqa: E501
    assert swept.totals.select(keys).rows() == runs
    assert swept.links.select(keys).rows() == runs
    assert swept.flows.select(keys).unique(maintain_order=True).rows() == runs
    alone = sg.run("unresponsive", sets=SHORT | {"flows.1.rate": "1 Mbit/s", "queue.discipline": "red"}, seed=2)
    this = (pl.col(keys[0]) == 1_000_000) & (pl.col(keys[1]) == "red") & (pl.col("seed") == 2)
    own = [*keys, "run.duration_ns", "run.warmup_ns"]
    assert swept.flows.filter(this).drop(own).equals(alone.flows)
    assert swept.links.filter(this).drop(own).equals(alone.links)
    [row] = swept.totals.filter(this).drop(own).to_dicts()
    assert row == alone.summary["totals"] | {"events": alone.summary["events"]}


def test_files_hold_what_the_object_does(done: tuple[sg.Sweep, Path], tmp_path: Path) -> None:
    swept, out = done
    assert sorted(path.name for path in out.iterdir()) == sorted([*FILES, "runs.sqlite"])
    again = sg.Sweep.read(out)
    for name in sweeps.TABLES:
        assert pl.read_parquet(out / f"{name}.parquet").equals(getattr(swept, name))
        assert getattr(again, name).equals(getattr(swept, name))
    assert (again.summary, again.columns) == (swept.summary, swept.columns)
    assert swept.write(tmp_path / "copy") == tmp_path / "copy"
    assert contents(tmp_path / "copy") == tables(out)
    summary = swept.summary
    assert summary["version"] == sg.__version__
    assert summary["file"] == "unresponsive.toml"
    assert summary["seeds"] == [1, 2]
    assert summary["over"][0]["values"] == ["0.5 Mbit/s", "1 Mbit/s", "2 Mbit/s"]
    assert summary["scenario"]["flows"][1]["rate"] == "500 kbit/s"
    assert summary["scenario"]["run"]["duration"] == "1 s"
    assert "12 runs" in repr(swept)


def test_the_manual_names_every_file_and_column_of_totals(done: tuple[sg.Sweep, Path]) -> None:
    text = DOCS.joinpath("sweeps.md").read_text("utf-8")
    for name in (*FILES, "runs.sqlite", *done[0].totals.columns[5:]):
        assert f"`{name}`" in text, name


def test_a_sweep_in_python_is_that_of_the_file(small: Path) -> None:
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=sg.Choke(min_th=10, max_th=30, limit=100))
    tcp = sg.Tcp(3, profile="ns2", window=20)
    flows = [tcp, sg.Udp(rate="2 Mbit/s"), sg.Poisson(rate="100 kbit/s")]
    over = [("queue.choke.candidates", [1, 2]), ("network.delay", "1..5 ms 2")]
    times = {"duration": "1 s", "warmup": "200 ms"}
    ours = sg.sweep(net, flows, over=over, seeds=[7, 3], **times)  # type: ignore[arg-type]
    filed = sg.sweep(small, over=over, seeds=[7, 3], **times)  # type: ignore[arg-type]
    assert ours.columns == ["queue.choke.candidates", "network.delay_ns"]
    assert ours.totals["seed"].to_list() == [7, 3] * 4
    for name in sweeps.TABLES:
        assert getattr(ours, name).equals(getattr(filed, name))


# --- executors and disciplines of one's own ----------------------------------------------------


class Later(Executor):
    """Runs what is submitted in a thread of its own, last come first served; counts."""

    def __init__(self) -> None:
        self.count = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.count += 1
        future: Future[Any] = Future()
        threading.Timer(0.05 / self.count, lambda: future.set_result(fn(*args, **kwargs))).start()
        return future


def test_the_executor_and_the_number_of_jobs_never_show(tmp_path: Path, done: tuple[sg.Sweep, Path]) -> None:
    go = partial(sg.sweep, "unresponsive", over=OVER, seeds=2, sets=SHORT)
    later = Later()
    go(executor=later, out=tmp_path / "later")
    assert later.count == 12
    go(jobs=1, out=tmp_path / "one")
    with ThreadPoolExecutor(3) as pool:
        go(executor=pool, out=tmp_path / "threads")
        assert pool.submit(int, 3).result() == 3  # it is left open
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:  # a job can be pickled
        go(executor=processes, out=tmp_path / "processes")
    for name in ("later", "one", "threads", "processes"):
        assert tables(tmp_path / name) == tables(done[1]), name


def test_few_tasks_wait_in_an_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "AHEAD", 3)
    most = 0
    waiting: list[Future[int]] = []

    class Slow(Executor):
        def submit(self, fn: Any, /, *args: Any, **_: Any) -> Future[int]:
            nonlocal most
            waiting.append(Future())
            most = max(most, sum(not future.done() for future in waiting))
            threading.Timer(0.01, waiting[-1].set_result, [fn(*args)]).start()
            return waiting[-1]

    with engine.finished(double, range(10), None, Slow(), False) as results:
        assert sorted(results) == [(n, 2 * n) for n in range(10)]
    assert most == 3


def double(task: int, _cancel: job.Flag | None) -> int:
    return 2 * task


MINE = """\
import sluicegate as sg

class Mine(sg.Aqm):
    def __init__(self, limit=20):
        self.queue, self.limit = [], limit
    def enqueue(self, packet, ctx):
        self.queue.append(packet) if len(self.queue) < self.limit else ctx.drop(packet, "tail")
    def dequeue(self, ctx):
        return self.queue.pop(0) if self.queue else None
"""


def test_a_discipline_in_a_file_is_run_anew_when_the_file_changes(
    sluicegate: Program, small: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    sets = ["--set", "run.duration=500 ms", "--set", "run.warmup=100 ms"]
    command = ["sweep", small, "--over", "queue.discipline=drop_tail,mine.py:Mine", "--over", "queue.limit=5,9", "--seeds", "1", *sets, "-o", "out", "--jobs", "1"]  # fmt: skip  # noqa: E501
    answer = sluicegate(*command)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "\n4 runs; 1 seed\n" in answer.stdout
    totals = sg.Sweep.read(tmp_path / "out").totals
    assert totals["events"][:2].to_list() == totals["events"][2:].to_list()  # they do the same
    assert "4 runs, 4 of them kept from before" in sluicegate(*command).stdout
    (tmp_path / "mine.py").write_text(MINE + "# changed\n")
    assert "4 runs, 2 of them kept from before" in sluicegate(*command).stdout
    (tmp_path / "mine.py").write_text(MINE.replace("limit=20", "limit=20, *, other"))
    answer = sluicegate(*command)
    assert answer.returncode == 2
    assert "--over queue.discipline" in answer.stderr


def test_what_makes_a_class_of_ones_own_tells_whether_its_runs_can_be_kept(tmp_path: Path) -> None:
    kept = []
    for queue in (Fifo, partial(Fifo, limit=7), partial(Fifo, limit=np.int64(7)), lambda: Fifo()):
        net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=queue)  # type: ignore[arg-type]
        with ThreadPoolExecutor(1) as pool:
            go = partial(sg.sweep, net, sg.Udp(rate="2 Mbit/s"), over={"flows.0.packet_size": "500 B"}, seeds=1)
            go = partial(go, out=tmp_path / "out", duration="300 ms", executor=pool)
            go()
            kept.append(go().kept)
    assert kept == [1, 1, 0, 0]


def test_an_exception_of_a_run_keeps_what_is_done(tmp_path: Path) -> None:
    ended: list[str] = []
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=partial(Fifo, fault=True))  # type: ignore[arg-type]
    over = {"flows.0.rate": ["100 Mbit/s", "20 kbit/s"]}  # the second is run first, and ends before packet 9
    go = partial(sg.sweep, net, sg.Udp(rate="1 Mbit/s"), over=over, seeds=1, out=tmp_path / "out", duration="1 s")
    with ThreadPoolExecutor(1) as pool, pytest.raises(LookupError, match="mine"):
        go(executor=pool, progress=lambda done, total, point: ended.append(f"{done}/{total} {point}"))
    assert ended == ["1/2 flows.0.rate=20 kbit/s"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["runs.sqlite"]
    with store.Store(tmp_path / "out") as held:
        assert len(held.keys()) == 1


# --- the command -------------------------------------------------------------------------------


def test_the_command_prints_what_it_measured(sluicegate: Program, done: tuple[sg.Sweep, Path]) -> None:
    swept, out = done
    words = [word for key, values in OVER.items() for word in ("--over", f"{key}={values}")]
    words += [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    answer = sluicegate("sweep", "unresponsive", *words, "--seeds", "2", "-o", out)
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = [re.split(r"\s{2,}", line.strip()) for line in answer.stdout.splitlines()]
    [row] = [line for line in lines if line[:2] == ["1 Mbit/s", "red"]]
    this = (pl.col("flows.1.rate_bps") == 1_000_000) & (pl.col("queue.discipline") == "red")
    rates = swept.totals.filter(this)["throughput_bps"].to_list()
    half = 12.706204736 * abs(rates[0] - rates[1]) / 2  # Student's t for two: 12.706 · s / √2
    assert row[2] == f"{sum(rates) / 2e3:.1f} ± {half / 1e3:.1f}"
    used = swept.links.filter(this)["utilisation"].to_list()
    assert row[4].startswith(f"{sum(used) * 50:.2f} ± ")
    assert "12 runs, 12 of them kept from before; 2 seeds, mean ± half width" in answer.stdout
    assert answer.stdout.endswith(f"results in {out}\n")
    found = json.loads(sluicegate("sweep", "unresponsive", *words, "--seeds", "2", "-o", out, "--json").stdout)
    assert found == {"summary": swept.summary, "totals": swept.totals.to_dicts()}
    quiet = sluicegate("sweep", "unresponsive", *words, "--seeds", "2", "-o", out, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_a_figure_and_a_page_are_written_with_the_tables(
    sluicegate: Program, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    command = ["sweep", small, "--over", "queue.limit=70,80", "--seeds", "1", *words, "-o", "out"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out/report.html").write_text("that of a run")
    answer = sluicegate(*command)
    assert (answer.returncode, answer.stderr) == (0, "")
    page = open_page(tmp_path / "out/report.html")
    assert page.errors == []
    assert "Sweep of small" in page.text
    assert (tmp_path / "out/sweep.svg").read_text("utf-8").startswith("<?xml")
    before = tables(tmp_path / "out")
    assert sorted(before) == FILES
    for name in ("sweep.svg", "report.html"):  # where the runs are there, they alone are made
        (tmp_path / "out" / name).unlink()
    assert "2 of them kept from before" in sluicegate(*command).stdout
    assert tables(tmp_path / "out") == before
    assert all(pl.read_parquet(tmp_path / "out" / name).height for name in FILES if name.endswith(".parquet"))
    assert "sweep.svg" in sluicegate("sweep", "--help").stdout

    monkeypatch.setattr(sweeps.Sweep, "plot", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sg.sweep(small, over={"queue.limit": "70,90"}, seeds=1, sets=SHORT, out=tmp_path / "out")
    assert tables(tmp_path / "out") == before, "all or nothing"
    with pytest.raises(ZeroDivisionError):
        sg.sweep(small, over={"queue.limit": "70"}, seeds=1, sets=SHORT, out=tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["runs.sqlite"]


def test_what_is_written_must_have_its_place(small: Path, tmp_path: Path) -> None:
    (tmp_path / "out/sweep.svg").mkdir(parents=True)
    with pytest.raises(IsADirectoryError, match=r"sweep\.svg"):
        sg.sweep(small, over={"queue.limit": "70"}, seeds=1, sets=SHORT, out=tmp_path / "out")


def test_of_many_points_pages_and_notebooks_show_the_first(tmp_path: Path) -> None:
    short = {"run.duration": "20 ms", "run.warmup": "0 s"}
    done = sg.sweep("unresponsive", over={"queue.limit": range(61, 91)}, seeds=1, sets=short)
    rows = done.overview().rows
    assert len(rows) == 41
    assert rows[-1][0] == "… and 20 more rows, in the tables"
    assert len(sweep_page.groups(done.groups, done.columns, 60).rows) == 60
    assert "more rows" not in done.html()


def test_many_points_and_several_links_are_shown_in_short(sluicegate: Program, tmp_path: Path) -> None:
    sets = ["--set", "run.duration=20 ms", "--set", "run.warmup=0 s"]
    answer = sluicegate("sweep", "topology", "--over", "queue.limit=70..114 45", "--seeds", "1", *sets, "-o", "out")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "… and 5 more points\n45 runs; 1 seed\n" in answer.stdout
    assert "utilisation %" not in answer.stdout
    assert "–" in answer.stdout  # nothing has arrived in so short a time
    assert sg.Sweep.read(tmp_path / "out").links.height == 90
