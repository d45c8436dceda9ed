"""Sweeps and the like on a Dask cluster of this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from conftest import PROGRAM, SMALL, Program
from distributed import Client
from test_sweep import MINE, tables
from tiny import TINY, contents

import sluicegate as sg
from sluicegate.custom import aqm as custom_aqm
from sluicegate.experiments import cluster as sweep_cluster
from sluicegate.experiments import engine, job
from sluicegate.reproduce import reproduce

OVER = {"flows.1.rate": "1..2 Mbit/s 4"}
SETS = {"run.duration": "10 s", "run.warmup": "1 s"}
SEEDS = 5
WORDS = ["unresponsive", "--over", f"flows.1.rate={OVER['flows.1.rate']}", "--seeds", str(SEEDS)]
WORDS += [word for key, value in SETS.items() for word in ("--set", f"{key}={value}")]

PART = [sys.executable, "-W", "ignore", "-m", "distributed.cli.dask_{}", "--no-dashboard"]


class Cluster:
    """A scheduler, and workers of one thread each, started in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.place = folder, folder / "scheduler.json"
        self.parts = [self.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", self.place)]
        self.workers: list[subprocess.Popen[bytes]] = []
        self.wait(lambda: self.place.exists() and self.place.stat().st_size > 0)
        self.address: str = json.loads(self.place.read_text())["address"]

    def start(self, part: str, *arguments: object) -> subprocess.Popen[bytes]:
        """A process of the cluster; what it says goes to a file."""
        command = [word.format(part) for word in PART] + [str(each) for each in arguments]
        with (self.folder / f"{part}-{time.monotonic_ns()}.log").open("wb") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def add_worker(self) -> None:
        """One more; it need not be there yet."""
        own = ["--nthreads", "1", "--no-nanny", "--local-directory", self.folder]
        self.workers.append(self.start("worker", self.address, *own))

    def wait(self, until: Callable[[], bool]) -> None:
        """Until a function says that it is so."""
        end = time.monotonic() + 60
        while not until():
            assert time.monotonic() < end, "a cluster that does not start"
            time.sleep(0.05)

    def close(self) -> None:
        for each in (*self.workers, *self.parts):
            each.kill()
        for each in (*self.workers, *self.parts):
            each.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of three workers."""
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        for _ in range(3):
            found.add_worker()
        yield found
    finally:
        found.close()


@pytest.mark.drawn  # the program draws, too
def test_a_worker_that_is_killed_on_the_way_costs_nothing(
    cluster: Cluster, sluicegate: Program, tmp_path: Path
) -> None:
    command = [PROGRAM, "sweep", *WORDS, "-o", "out", "--cluster", cluster.address]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = tmp_path / "out/runs.sqlite-wal"
    try:
        cluster.wait(lambda: log.exists() and log.stat().st_size > 60_000)  # a few runs
        assert child.poll() is None, "it should still run"
        cluster.workers[0].send_signal(signal.SIGKILL)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert cluster.workers.pop(0).wait() == -signal.SIGKILL
    assert (child.returncode, err) == (0, "")
    assert f"{4 * SEEDS} runs; {SEEDS} seeds, mean ± half width" in out
    local = sluicegate("sweep", *WORDS, "-o", "local", "--quiet")
    assert (local.returncode, local.stderr) == (0, "")
    assert tables(tmp_path / "out") == tables(tmp_path / "local")
    again = sluicegate("sweep", *WORDS, "-o", "out", "--cluster", cluster.address)
    assert f"{4 * SEEDS} of them kept from before" in again.stdout


def test_runs_end_on_the_workers_when_nobody_waits_for_them(cluster: Cluster, tmp_path: Path) -> None:
    """Long runs are interrupted; the workers then have time for others."""
    command = [PROGRAM, "sweep", *WORDS, "--set", "run.duration=1000000 s", "-o", "out", "--cluster", cluster.address]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        with Client(cluster.address, set_as_default=False) as client:

            def busy() -> int:
                return sum(client.run(lambda dask_worker: len(dask_worker.active_threads)).values())

            cluster.wait(lambda: busy() == len(cluster.workers))
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=20)
            cluster.wait(lambda: busy() == 0)
    finally:
        child.kill()
    assert (child.returncode, out, err) == (130, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_discipline_of_ones_own_runs_there_and_its_exception_comes_back(
    cluster: Cluster, sluicegate: Program, small: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    sets = ["--set", "run.duration=500 ms", "--set", "run.warmup=100 ms", "--seeds", "1"]
    command = [
        "sweep",
        "small.toml",
        "--over",
        "queue.discipline=drop_tail,mine.py:Mine",
        "--set",
        "queue.limit=9",
        *sets,
    ]
    answer = sluicegate(*command, "-o", "out", "--cluster", cluster.address)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert sg.Sweep.read(tmp_path / "out").totals["events"].n_unique() == 1  # they do the same
    (tmp_path / "mine.py").write_text(MINE.replace("def dequeue(self, ctx):", "def dequeue(self, ctx):\n        1 / 0"))
    answer = sluicegate(*command, "-o", "out", "--cluster", cluster.address)
    assert answer.returncode == 1
    assert "mine.py" in answer.stderr
    assert "ZeroDivisionError" in answer.stderr


@pytest.mark.parametrize("version", ["0.0.0", sg.__version__])
def test_a_worker_of_another_version_or_build_is_refused(cluster: Cluster, version: str) -> None:
    asked = job.Job(SMALL, "small.toml", (), 1, {}, build=f"{version} {'0123456789abcdef' * 4}")
    said = rf"this worker has Sluicegate {sg.__version__} \(core \w+\), and {version} \(core 0123456789ab\) asks"
    with pytest.raises(RuntimeError, match=said):
        job.work(asked)
    with (
        pytest.raises(sweep_cluster.ClusterError, match=rf"the cluster: RuntimeError: {said}"),
        sweep_cluster.executor(cluster.address) as executor,
        engine.finished(job.work, [asked], None, executor, False) as results,
    ):
        list(results)


def test_a_worker_that_has_another_file_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    """A worker finds its files under the same paths, on its own disk perhaps."""
    text = (
        '[network]\nrate = "1 Mbit/s"\n[[flows]]\nkind = "connections"\nvectors = "link.cvec"\n'
        '[run]\nduration = "1 s"\n[queue]\ndiscipline = "mine.py:Mine"\n'
    )
    (tmp_path / "link.cvec").write_text("SEQ 0 1 1 1\n> 300\n")
    (tmp_path / "mine.py").write_text(MINE)
    name = str(tmp_path / "small.toml")
    files = (("link.cvec", job.digest_of(tmp_path / "link.cvec")),)
    made = (("mine:Mine", job.digest_of(tmp_path / "mine.py")),)

    def ask(files: job.Files, made: custom_aqm.Made) -> None:
        asked = job.Job(text, name, (), 1, {"flows": None}, files=files, made=made)
        with (
            sweep_cluster.executor(cluster.address) as executor,
            engine.finished(job.work, [asked], None, executor, False) as results,
        ):
            assert len(list(results)) == 1

    ask(files, made)
    with pytest.raises(sg.ScenarioError, match=r"link\.cvec: its SHA-256 is \w+ here, but 000000000000 where"):
        ask((("link.cvec", "0" * 64),), made)
    with pytest.raises(sg.ScenarioError, match=r"gone\.cvec: cannot be read where the run is made"):
        ask((("gone.cvec", "0" * 64),), made)
    with pytest.raises(sg.ScenarioError, match=r"mine\.py:Mine: its SHA-256 is \w+ here, but 000000000000 where"):
        ask(files, (("mine:Mine", "0" * 64),))


def test_a_discipline_of_the_program_itself_goes_to_the_workers_with_the_request(
    cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(
        f"{MINE}\nnet = sg.dumbbell(rate='1 Mbit/s', queue=Mine)\n"
        f"done = sg.sweep(net, sg.Udp(rate='2 Mbit/s'), over={{'network.delay': '1 ms, 2 ms'}}, seeds=1,"
        f" duration='1 s', cluster={cluster.address!r})\nprint(done.totals['drops_packets'].min() > 0)\n"
    )
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


def test_comparisons_and_reproductions_run_there_too(cluster: Cluster, tmp_path: Path) -> None:
    go = partial(
        sg.compare, "unresponsive", disciplines="red,choke", seeds=2, sets={"run.duration": "2 s"}, warmup="1 s"
    )
    assert go(cluster=cluster.address).runs.equals(go().runs)
    reproduce("choke1999", tmp_path / "there", settings=TINY, only=["choices"], cluster=cluster.address)
    reproduce("choke1999", tmp_path / "here", settings=TINY, only=["choices"])
    there, here = (
        {k: v for k, v in contents(tmp_path / place).items() if k != "runs.sqlite"} for place in ("there", "here")
    )
    assert there == here
    with pytest.raises(ValueError, match="one of jobs, executor and cluster"):
        reproduce("choke1999", tmp_path / "both", cluster=cluster.address, jobs=2)
    assert not (tmp_path / "both").exists()


def test_an_address_where_nobody_listens_and_a_missing_package_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = partial(sg.sweep, "unresponsive", over=OVER, seeds=1, out=tmp_path / "out", cluster="tcp://127.0.0.1:9")
    monkeypatch.setattr(sweep_cluster, "WAIT_S", 0.3)
    with pytest.raises(sg.ScenarioError, match=r"^cluster: tcp://127\.0\.0\.1:9: no scheduler answers there"):
        go()
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(sg.ScenarioError, match=r"pip install 'sluicegate\[cluster\]'"):
        go()
    assert list(tmp_path.iterdir()) == []


def test_a_scheduler_that_goes_ends_the_sweep_and_what_is_done_is_kept(cluster: Cluster, tmp_path: Path) -> None:
    """The last test: it leaves no cluster."""
    command = [PROGRAM, "sweep", *WORDS, "--seeds", "40", "-o", "out", "--cluster", cluster.address]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = tmp_path / "out/runs.sqlite-wal"
    try:
        cluster.wait(lambda: log.exists() and log.stat().st_size > 60_000)
        cluster.parts[0].send_signal(signal.SIGKILL)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, out) == (1, "")
    assert "error: the cluster: " in err
    assert "runs ended and are kept in out" in err
    assert "Traceback" not in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["runs.sqlite"]
