"""Disciplines side by side: what is measured, intervals and pairs by hand, and the same answer however it was run."""

from __future__ import annotations

import json
import math
import random
import re
import statistics
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from conftest import Program
from matplotlib.figure import Figure
from tiny import contents

import sluicegate as sg
from sluicegate import stats
from sluicegate.cli.compare import missing
from sluicegate.experiments import compare as comparison
from sluicegate.experiments import disciplines, engine, job
from sluicegate.plot import comparison as comparison_plot
from sluicegate.plot import style as plot

DOCS = Path(__file__).parents[1] / "docs"
FILES = ["comparison.parquet", "differences.parquet", "links.svg", "runs.parquet", "summary.json", "throughput.svg"]
T2 = 4.302652729749464  # Student's t, 97.5 %, 2 degrees of freedom (any printed table: 4.303)

FLOWS = [
    {"kind": "tcp", "algorithm": "reno", "throughput_bps": 100.0, "arrivals_packets": 40, "drops_packets": 4},
    {"kind": "tcp", "algorithm": "reno", "throughput_bps": 300.0, "arrivals_packets": 60, "drops_packets": 1},
    {"kind": "udp", "algorithm": "", "throughput_bps": 600.0, "arrivals_packets": 100, "drops_packets": 75},
]
LINK = {
    "link": "bottleneck", "arrivals_packets": 200, "drops_packets": 80, "drops_tail": 50, "drops_early": 30,
    "marked_packets": 20,
    "queueing_delay_mean_ns": 3e6, "queueing_delay_p99_ns": 9e6, "utilisation": 0.75,
}  # fmt: skip
SPEC = "red,choke:candidates=2,choke : min_th = 20 : max_th = 40 packets"
SHORT = {"run.duration": "8 s", "run.warmup": "2 s"}

KINDS = {("tcp", "reno"): "tcp", ("udp", ""): "udp"}


def fake_runs(**columns: dict[str, list[float | None]]) -> pl.DataFrame:
    """Runs of two disciplines or more; `columns`: values by discipline, one for each seed from 1."""
    labels = list(next(iter(columns.values())))
    rows = [
        {"discipline": label, "seed": seed + 1} | {name: values[label][seed] for name, values in columns.items()}
        for label in labels
        for seed in range(len(next(iter(columns.values()))[label]))
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> sg.Comparison:
    """A small comparison: three disciplines, three seeds."""
    return sg.compare("unresponsive", disciplines=SPEC, seeds=3, sets=SHORT)


def test_one_run_is_measured_as_by_hand() -> None:
    assert comparison.measure(FLOWS, [LINK], KINDS) == {
        "tcp_throughput_bps": 400.0,
        "tcp_throughput_per_flow_bps": 200.0,
        "tcp_loss_ratio": 0.05,
        "udp_throughput_bps": 600.0,
        "udp_throughput_per_flow_bps": 600.0,
        "udp_loss_ratio": 0.75,
        "throughput_bps": 1000.0,
        "jain_tcp": 0.8,  # 400² / (2 · (100² + 300²))
        "jain_all": pytest.approx(1000**2 / (3 * 460000)),
        "loss_ratio": 0.4,
        "drops_tail_ratio": 0.25,
        "drops_early_ratio": 0.15,
        "marked_ratio": 0.1,
        "queueing_delay_mean_ns": 3e6,
        "queueing_delay_p99_ns": 9e6,
        "utilisation": 0.75,
    }


def test_several_links_keep_their_names() -> None:
    second = LINK | {"link": "tcp", "arrivals_packets": 0, "drops_packets": 0, "utilisation": 0.0}
    values = comparison.measure(FLOWS, [LINK, second], KINDS)
    assert values["bottleneck.loss_ratio"] == 0.4
    assert values["tcp.loss_ratio"] is None
    assert values["tcp_loss_ratio"] == 0.05
    assert "utilisation" not in values


@pytest.mark.parametrize(
    ("throughputs", "index"),
    [([5.0] * 7, 1.0), ([0.0, 0.0, 9.0, 0.0], 0.25), ([1.0, 3.0], 0.8), ([4.0], 1.0), ([], None), ([0.0, 0.0], None)],
)
def test_jains_index(throughputs: list[float], index: float | None) -> None:
    assert stats.jain(throughputs) == (None if index is None else pytest.approx(index, rel=1e-15))


def test_kinds_are_split_by_algorithm_when_there_are_several() -> None:
    flows = pl.DataFrame({"kind": ["tcp", "udp", "tcp", "tcp"], "algorithm": ["reno", "", "cubic", "reno"]})
    assert list(comparison.kinds_of(flows).values()) == ["tcp_reno", "udp", "tcp_cubic"]
    assert list(comparison.kinds_of(flows.head(2)).values()) == ["tcp", "udp"]


def test_the_interval_of_a_mean_is_students() -> None:
    [row] = comparison.means(fake_runs(x={"red": [10.0, 12.0, 17.0]})).to_dicts()
    half = T2 * math.sqrt(13 / 3)  # mean 13, squares 9 + 1 + 16 = 26, variance 13
    assert row == {
        "discipline": "red", "metric": "x", "mean": 13.0, "half_width": pytest.approx(half, rel=1e-12),
        "low": pytest.approx(13 - half), "high": pytest.approx(13 + half), "seeds": 3,
    }  # fmt: skip


def test_a_difference_has_the_interval_of_its_pairs() -> None:
    runs = fake_runs(x={"red": [10.0, 50.0, 90.0], "choke": [13.0, 54.0, 95.0]})
    [row] = comparison.differences(runs, "red").to_dicts()
    half = T2 * math.sqrt(1 / 3)  # differences 3, 4, 5
    assert (row["discipline"], row["baseline"], row["difference"]) == ("choke", "red", 4.0)
    assert row["half_width"] == pytest.approx(half, rel=1e-12)
    assert row["excludes_zero"] is True
    separate = comparison.means(runs)["half_width"].to_list()
    assert row["half_width"] < 0.03 * min(separate)  # what luck the seeds have in common cancels
    assert comparison.differences(runs, "choke")["difference"].to_list() == [-4.0]


def test_shared_traffic_makes_a_difference_sharper_than_its_two_means() -> None:
    net = sg.dumbbell(rate="1 Mbit/s")
    flows = sg.Poisson(4, rate="220 kbit/s")  # what arrives varies with the seed, but not with the discipline
    found = sg.compare(net, flows, disciplines="drop_tail:limit=10,drop_tail:limit=40", duration="60 s", seeds=10)
    first, second = (found.mean(label, "throughput_bps")["half_width"] for label in found.disciplines)
    paired = found.difference("drop_tail:limit=40", "throughput_bps")["half_width"]
    assert paired < 0.5 * math.hypot(first, second)


def test_an_interval_that_holds_zero_is_not_marked() -> None:
    runs = fake_runs(x={"red": [1.0, 2.0, 3.0], "choke": [2.0, 1.0, 4.0]}, y={"red": [1.0] * 3, "choke": [1.0] * 3})
    assert comparison.differences(runs, "red")["excludes_zero"].to_list() == [False, False]


def test_pairs_are_by_seed_not_by_row() -> None:
    runs = fake_runs(x={"red": [10.0, 50.0, 90.0], "choke": [13.0, 54.0, 95.0]})
    rows = runs.rows(named=True)
    random.Random(3).shuffle(rows)
    shuffled = pl.concat(pl.DataFrame(rows).filter(discipline=label) for label in ("red", "choke"))
    assert not shuffled.equals(runs)
    assert comparison.differences(shuffled, "red").equals(comparison.differences(runs, "red"))
    with pytest.raises(ValueError, match="same seeds"):
        comparison.differences(runs.with_columns(seed=pl.Series([1, 2, 3, 1, 2, 4])), "red")


def test_one_seed_has_no_interval_and_a_missing_value_no_pair() -> None:
    one = fake_runs(x={"red": [1.0], "choke": [3.0]})
    assert comparison.means(one).select("half_width", "low", "high").rows() == [(None, None, None)] * 2
    [row] = comparison.differences(one, "red").to_dicts()
    assert (row["difference"], row["half_width"], row["excludes_zero"]) == (2.0, None, None)
    gaps = fake_runs(x={"red": [1.0, None, 3.0], "choke": [3.0, 4.0, 6.0]}, y={"red": [None] * 3, "choke": [1.0] * 3})
    assert comparison.means(gaps)["seeds"].to_list() == [2, 0, 3, 3]
    x, y = comparison.differences(gaps, "red").to_dicts()
    assert (x["difference"], x["seeds"]) == (2.5, 2)
    assert (y["difference"], y["seeds"], y["excludes_zero"]) == (None, 0, None)


def test_a_list_in_a_text_is_read() -> None:
    found = disciplines.choices(
        " red, choke : candidates = 2:s=4 ms ,dir/mine.py:MyAqm,red:limit=64 kB, my.py : A : gain = 2"
    )
    assert [choice.label for choice in found] == [
        "red", "choke:candidates=2:s=4 ms", "dir/mine.py:MyAqm", "red:limit=64 kB", "my.py:A:gain=2",
    ]  # fmt: skip
    assert found[1].sets == (("queue.discipline", "choke"), ("queue.choke.candidates", "2"), ("queue.choke.s", "4 ms"))
    assert found[2].sets == (("queue.discipline", "dir/mine.py:MyAqm"),)
    assert found[4].sets == (("queue.discipline", "my.py:A"), ("queue.python.gain", "2"))


def test_objects_state_every_value_and_are_named_by_what_is_not_default() -> None:
    found = disciplines.choices([sg.Red(), sg.Choke(candidates=2, s="4 ms"), sg.Red(wait=True), "drop_tail:limit=7"])
    assert [choice.label for choice in found] == [
        "red",
        "choke:s=4 ms:candidates=2",
        "red:wait=true",
        "drop_tail:limit=7",
    ]
    assert ("queue.red.min_th", "5") in found[0].sets
    assert disciplines.find(sg.Red(wait=True), found) is found[2]
    assert disciplines.find("choke", found) is found[1]
    assert disciplines.find(" drop_tail : limit = 7", found) is found[3]
    assert disciplines.find("red", found) is found[0]  # its own label goes before a shared name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("red,chok", ['"chok"', 'did you mean "choke"?']),
        ("red,chok:candidates=2", ["queue.discipline", '"chok"', 'did you mean "choke"?']),
        ("red,choke:candidtes=2", ['"choke:candidtes=2"', "queue.choke.candidtes", 'did you mean "candidates"?']),
        ("red,choke:candidates=200", ['"choke:candidates=200"', "queue.choke.candidates", "at most 64"]),
        ("red:min_th=70", ['"red:min_th=70"', "min_th < max_th", "60"]),
        ("red:candidates=2", ['"red:candidates=2"', "queue.red.candidates"]),
        ("red:s=4 parsecs", ["queue.red.s", "parsecs"]),
        ("red:gentle", ['"red:gentle"', '"gentle" must be KEY=VALUE']),
        ("red:min_th=", ['"min_th=" must be KEY=VALUE']),
        ("red:min_th=3:min_th=4", ["min_th is given twice"]),
        ("red,", ["the name is missing"]),
        ("", ["the name is missing"]),
        ("red,choke, red", ['"red"', "listed twice"]),
        ("mine.py", ["name the class too", "mine.py:MyAqm"]),
        ("mine.rs:Mine", ['"mine.rs:Mine"', "built in", "docs/rust-discipline.md"]),
        ("mine.py:MyAqm:gain", ['"gain" must be KEY=VALUE']),
    ],
)
def test_a_mistake_in_the_list_is_named_before_anything_runs(
    sluicegate: Program, tmp_path: Path, text: str, parts: list[str]
) -> None:
    # A run of this length would outlast the test.
    long = ["--set", "run.duration=1000000 s", "--set", "run.series=false", "-o", "out"]
    answer = sluicegate("compare", "unresponsive", "--disciplines", text, *long)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert answer.stderr.startswith("error: ")
    assert "--set" not in answer.stderr
    for part in parts:
        assert part in answer.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "chok"], 'baseline "chok": not among the disciplines; did you mean "choke"?'),
        (["--baseline", "zzz"], "listed: red, choke, choke:candidates=2"),
        (["--set", "queue.mim_th=3"], '--set queue.mim_th: no such key; did you mean "min_th"?'),
        (["--set", "run.seed=3"], "--set run.seed: a comparison takes the seeds it is given"),
        (["--set", "queue.discipline=red"], "--set queue.discipline: a comparison takes the disciplines it is given"),
        (["--set", "nonsense"], "--set nonsense: must be KEY=VALUE"),
        (["-o", "small.toml"], "not a directory"),
    ],
)
def test_other_mistakes_are_one_line(sluicegate: Program, small: Path, arguments: list[str], message: str) -> None:
    answer = sluicegate("compare", small, "--disciplines", "red,choke,choke:candidates=2", *arguments)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert message in answer.stderr


def test_a_baseline_that_several_share_is_refused() -> None:
    with pytest.raises(sg.ScenarioError, match=r'"choke": several are listed: choke:limit=9, choke:limit=8'):
        sg.compare("unresponsive", disciplines="choke:limit=9,choke:limit=8", baseline="choke")


@pytest.mark.parametrize("arguments", [["--seeds", "0"], ["--jobs", "0"]])
def test_no_seed_and_no_job_are_refused(sluicegate: Program, arguments: list[str]) -> None:
    assert sluicegate("compare", "unresponsive", "--disciplines", "red", *arguments).returncode == 2


def test_wrong_things_in_python() -> None:
    with pytest.raises(ValueError, match="jobs = 0"):
        sg.compare("unresponsive", disciplines="red", jobs=0)
    for seeds in (0, [], [1, 1], [-1]):
        with pytest.raises(ValueError, match="seeds = "):
            sg.compare("unresponsive", disciplines="red", seeds=seeds)
    with pytest.raises(TypeError, match="flows"):
        sg.compare("unresponsive", sg.Tcp(), disciplines="red")
    with pytest.raises(TypeError, match="flows"):
        sg.compare(sg.dumbbell(rate="1 Mbit/s"), disciplines="red")
    with pytest.raises(TypeError, match="network"):
        sg.compare(sg.Red(), sg.Tcp(), disciplines="red")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="disciplines"):
        sg.compare("unresponsive", disciplines=[sg.Red])  # type: ignore[list-item]
    with pytest.raises(sg.ScenarioError, match="name at least one"):
        sg.compare("unresponsive", disciplines=[])
    with pytest.raises(sg.ScenarioError, match=r"^<python>.*network\.rate"):
        sg.compare(sg.dumbbell(rate="fast"), sg.Tcp(), disciplines=[sg.Red()], duration="1 s")


def test_runs_are_those_of_the_same_seed_alone(done: sg.Comparison) -> None:
    assert done.disciplines == ["red", "choke:candidates=2", "choke:min_th=20:max_th=40 packets"]
    assert done.runs.select("discipline", "seed").rows() == [
        (label, n) for label in done.disciplines for n in (1, 2, 3)
    ]
    alone = sg.run("unresponsive", sets=SHORT | {"queue.discipline": "choke", "queue.choke.candidates": 2}, seed=2)
    row = done.runs.filter(discipline="choke:candidates=2", seed=2).row(0, named=True)
    [link] = alone.links.to_dicts()
    tcp = alone.flows.filter(kind="tcp")["throughput_bps"].to_list()
    assert row["tcp_throughput_bps"] == pytest.approx(sum(tcp), rel=1e-12)
    assert row["jain_tcp"] == pytest.approx(sum(tcp) ** 2 / (32 * sum(x * x for x in tcp)), rel=1e-12)
    for column in ("utilisation", "queueing_delay_mean_ns", "queueing_delay_p99_ns"):
        assert row[column] == link[column]
    assert row["drops_match_ratio"] == link["drops_match"] / link["arrivals_packets"]


def test_the_tables_hold_the_intervals_of_the_runs(done: sg.Comparison) -> None:
    by = {label: done.runs.filter(discipline=label)["tcp_throughput_bps"].to_list() for label in done.disciplines}
    for label, values in by.items():
        found = done.mean(label, "tcp_throughput_bps")
        assert found["mean"] == pytest.approx(statistics.mean(values))
        assert found["half_width"] == pytest.approx(T2 * statistics.stdev(values) / math.sqrt(3))
        if label != "red":
            pairs = [a - b for a, b in zip(values, by["red"], strict=True)]
            paired = done.difference(label, "tcp_throughput_bps")
            assert paired["difference"] == pytest.approx(statistics.mean(pairs))
            assert paired["half_width"] == pytest.approx(stats.interval(pairs).half_width)
    assert done.difference("choke:candidates=2", "tcp_throughput_bps")["excludes_zero"] is True


def test_a_comparison_in_python_is_that_of_the_file(small: Path) -> None:
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=sg.DropTail(limit=2))
    flows = [sg.Tcp(3, "reno", window=20), sg.Udp(rate="2 Mbit/s"), sg.Poisson(rate="100 kbit/s")]
    listed = [sg.Red(min_th=10, max_th=30, limit=100, wait=True), sg.Choke(min_th=10, max_th=30, limit=100)]
    ours = sg.compare(net, flows, disciplines=listed, seeds=[5, 2], baseline=listed[1], duration="6 s", warmup="2 s")
    filed = sg.compare(small, disciplines="red,choke", seeds=[5, 2], baseline="choke")
    assert ours.baseline == "choke:min_th=10:max_th=30:limit=100"
    assert ours.runs.drop("discipline").equals(filed.runs.drop("discipline"))
    assert ours.runs["seed"].to_list() == [5, 2, 5, 2]
    text = sg.compare(net, flows, disciplines="drop_tail", seeds=1, duration="6 s")
    assert text.summary["disciplines"][0]["queue"]["limit"] == 2  # a text keeps what the network's queue says


def test_the_number_of_jobs_never_shows(tmp_path: Path) -> None:
    short = {"run.duration": "3 s", "run.warmup": "1 s"}
    for jobs in (1, 4):
        sg.compare("topology", disciplines="red,drop_tail", seeds=3, sets=short, jobs=jobs).write(tmp_path / str(jobs))
    assert contents(tmp_path / "1") == contents(tmp_path / "4")
    assert sorted(contents(tmp_path / "1")) == FILES


def test_files_hold_what_the_object_does(done: sg.Comparison, tmp_path: Path) -> None:
    folder = done.write(tmp_path / "out")
    assert pl.read_parquet(folder / "runs.parquet").equals(done.runs)
    assert pl.read_parquet(folder / "comparison.parquet").equals(done.means)
    assert pl.read_parquet(folder / "differences.parquet").equals(done.differences)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["version"] == sg.__version__
    assert summary["file"] == "unresponsive.toml"
    assert summary["seeds"] == [1, 2, 3]
    assert summary["baseline"] == "red"
    assert summary["scenario"]["run"]["duration"] == "8 s"
    assert [each["queue"]["discipline"] for each in summary["disciplines"]] == ["red", "choke", "choke"]
    assert summary["disciplines"][2]["queue"]["max_th"] == 40
    assert str(tmp_path) not in (folder / "summary.json").read_text()
    for name in ("throughput.svg", "links.svg"):
        assert ET.fromstring((folder / name).read_text()).tag.endswith("svg")


def test_figures_name_axes_with_units_and_every_series(done: sg.Comparison) -> None:
    left, right = comparison_plot.throughput(done).axes
    assert left.get_xlabel() == "throughput by kind of flow (kbit/s)"
    assert [text.get_text().replace("\n", "") for text in left.get_yticklabels()] == done.disciplines
    assert left.get_legend_handles_labels()[1] == ["all TCP", "UDP"]
    assert right.get_legend_handles_labels()[1] == ["Jain, TCP flows", "Jain, all flows"]
    [udp] = [line for line in left.lines if line.get_label() == "UDP"]
    assert list(udp.get_xdata()) == [done.mean(d, "udp_throughput_bps")["mean"] / 1e3 for d in done.disciplines]
    losses, delays, price = comparison_plot.links(done).axes
    assert (losses.get_xlabel(), delays.get_xlabel()) == (
        "packets dropped, by reason (% of arrivals)",
        "queueing delay (ms)",
    )
    assert (price.get_xlabel(), price.get_ylabel()) == ("utilisation (%)", "mean queueing delay (ms)")
    looks = {(line.get_color(), line.get_marker()) for line in price.lines if not line.get_label().startswith("_")}
    assert len(looks) == 3
    assert losses.get_legend_handles_labels()[1] == [f"drops: {reason}" for reason in done.drop_reasons]


def test_figures_of_one_seed_and_of_several_links() -> None:
    one = sg.compare("topology", disciplines=["red"], seeds=1, sets={"run.duration": "12 s"})
    assert one.differences.height == 0
    figure = comparison_plot.links(one)
    assert [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")] == [
        "link first", "link second",
    ]  # fmt: skip
    assert plot.svg(figure)
    assert plot.svg(comparison_plot.throughput(one))


def test_the_manual_defines_every_quantity_and_file(done: sg.Comparison) -> None:
    text = DOCS.joinpath("compare.md").read_text("utf-8")
    for name in done.runs.columns:
        generic = re.sub(r"^(tcp|udp)_", "<kind>_", re.sub(r"^drops_\w+_ratio$", "drops_<reason>_ratio", name))
        assert f"`{generic}`" in text, name
    for name in (*done.means.columns, *done.differences.columns, *FILES):
        assert f"`{name}`" in text, name


def test_the_manuals_example_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = DOCS.joinpath("compare.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(code.replace('"100 s"', '"8 s"').replace('"20 s"', '"2 s"').replace("seeds=10", "seeds=2"), names)
    compared = names["done"]
    assert isinstance(compared, sg.Comparison)
    assert compared.disciplines == ["red:min_th=30:max_th=60", "choke:candidates=2"]
    assert sorted(contents(tmp_path / "out/compared")) == FILES


def test_what_was_compared_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after an exception, for more seeds, for another discipline, nor for the same scenario written otherwise."""
    counted: list[int] = []

    def work(asked: job.Job, cancel: job.Flag | None = None) -> job.Kept:
        counted.append(asked.seed)
        return job.work(asked, cancel)

    def stop(done: int, _total: int, _label: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(engine, "work", work)
    for name in ("throughput", "links"):  # to draw them takes longer than the runs
        monkeypatch.setattr(comparison_plot, name, lambda _: Figure())
    short = {"run.duration": "1 s", "run.warmup": "200 ms"}
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        sg.compare("unresponsive", disciplines="red,choke", seeds=3, sets=short, out=out, progress=stop, jobs=1)
    assert [path.name for path in out.iterdir()] == ["runs.sqlite"]
    counted.clear()
    go = partial(sg.compare, "unresponsive", out=out)
    done = go(disciplines="red,choke", seeds=3, sets=short)
    assert len(counted) == 4
    for listed, seeds, left in (
        ("red,choke", 3, []),
        ("choke,red", [3, 1], []),
        ("red,choke:candidates=1", 3, []),
        ("red,choke", 4, [4, 4]),
        ("red,choke,drop_tail", 4, [4, 3, 2, 1]),
    ):
        counted.clear()
        last = go(disciplines=listed, seeds=seeds, sets=short | {"run.duration": "1000 ms"}, jobs=1)
        assert counted == left, listed
    assert last.runs.filter(pl.col("seed") <= 3)[: done.runs.height].equals(done.runs)
    fresh = sg.compare("unresponsive", disciplines="red,choke,drop_tail", seeds=4, sets=short, out=tmp_path / "fresh")
    assert fresh.runs.equals(last.runs)
    counted.clear()
    sg.compare("unresponsive", disciplines="red,choke,drop_tail", seeds=4, sets=short)  # kept nowhere
    assert len(counted) == 12


def test_the_command_prints_what_it_measured(sluicegate: Program, tmp_path: Path, done: sg.Comparison) -> None:
    sets = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    arguments = ["compare", "unresponsive", "--disciplines", SPEC, "--seeds", "3", *sets]
    answer = sluicegate(*arguments, "-o", "deep/out", "--jobs", "2", env={"COLUMNS": "100"})
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    means, below, *_ = (index for index, line in enumerate(lines) if line.split()[:1] == ["choke:candidates=2"])
    mean = [done.mean("choke:candidates=2", name) for name in ("tcp_throughput_bps", "udp_throughput_bps", "jain_tcp")]
    shown = lines[means].split()[1:4]
    assert shown == [f"{mean[0]['mean'] / 1e3:.1f}", f"{mean[1]['mean'] / 1e3:.1f}", f"{mean[2]['mean']:.3f}"]
    assert lines[means + 1].split()[:2] == [f"±{row['half_width'] / 1e3:.1f}" for row in mean[:2]]
    assert below > means
    assert "difference to red, paired by seed" in answer.stdout
    change = done.difference("choke:candidates=2", "tcp_throughput_bps")["difference"] / 1e3
    assert f" {change:+.1f}* " in answer.stdout
    assert answer.stdout.endswith("* the interval excludes zero\nresults in deep/out\n")
    assert sorted(contents(tmp_path / "deep/out")) == FILES
    assert pl.read_parquet(tmp_path / "deep/out/runs.parquet").equals(done.runs)
    assert json.loads(sluicegate(*arguments, "--json").stdout) == json.loads(json.dumps(done.record()))
    quiet = sluicegate(*arguments, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_one_seed_is_shown_with_dashes(sluicegate: Program, small: Path) -> None:
    answer = sluicegate("compare", small, "--disciplines", "red,choke", "--seeds", "1", env={"COLUMNS": "100"})
    lines = answer.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    [red] = (index for index, line in enumerate(lines) if line.startswith(" red") and "kbit/s" in lines[index - 2])
    assert set(lines[red + 1].split()) == {"–"}
    assert "±" not in answer.stdout
    assert "*" not in answer.stdout


def test_a_value_that_some_runs_lack_is_told() -> None:
    columns = {
        "x_throughput_bps": [1.0, 2.0],
        "throughput_bps": [1.0, 2.0],
        "jain_tcp": [0.5, None],
        "jain_all": [1.0, 1.0],
    }
    others = ("loss_ratio", "drops_tail_ratio", "queueing_delay_mean_ns", "queueing_delay_p99_ns", "utilisation")
    columns |= {name: [0.1, 0.2] for name in others}
    runs = fake_runs(**{name: {"red": values} for name, values in columns.items()})
    fake = sg.Comparison(runs, {"red": "red"}, "red", ["x"], ["bottleneck"], {"seeds": [1, 2]})
    assert missing(fake) == ["red: jain_tcp has a value in 1 of 2 runs only"]
