"""Disciplines side by side: the list of them, files and figures, and the same answer however it was run."""

from __future__ import annotations

import json
import math
import re
import statistics
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from conftest import Program
from matplotlib.figure import Figure
from test_compare_by_hand import fake, fake_runs
from tiny import contents

import sluicegate as sg
from sluicegate import stats
from sluicegate.cli.compare import Column, missing
from sluicegate.experiments import compare as comparison
from sluicegate.experiments import engine, job
from sluicegate.goals import measures
from sluicegate.plot import comparison as comparison_plot
from sluicegate.plot import style as plot

DOCS = Path(__file__).parents[1] / "docs"
FILES = sorted(comparison.FILES)
FIGURES = ["groups.svg", "links.svg", "throughput.svg"]
T2 = 4.302652729749464  # Student's t, 97.5 %, 2 degrees of freedom (any printed table: 4.303)

LINK = {
    "link": "bottleneck", "arrivals_packets": 200, "drops_packets": 80, "drops_tail": 50, "drops_early": 30,
    "lost_packets": 4, "marked_packets": 20,
    "queueing_delay_mean_ns": 3e6, "queueing_delay_p99_ns": 9e6, "utilisation": 0.75,
}  # fmt: skip
SPEC = "red,choke:candidates=2,choke : min_th = 20 : max_th = 40 packets"
SHORT = {"run.duration": "8 s", "run.warmup": "2 s"}

NET = sg.dumbbell(rate="1 Mbit/s", delay="1 ms")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> sg.Comparison:
    """A small comparison: three disciplines, three seeds."""
    return sg.compare("unresponsive", disciplines=SPEC, seeds=3, sets=SHORT)


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
    tcp = sg.Tcp(3, "reno", profile="ns2", window=20)
    flows = [tcp, sg.Udp(rate="2 Mbit/s"), sg.Poisson(rate="100 kbit/s")]
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


@pytest.mark.drawn
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
    for name in FIGURES:
        assert ET.fromstring((folder / name).read_text()).tag.endswith("svg")


def test_figures_name_axes_with_units_and_every_series(done: sg.Comparison) -> None:
    left, right = comparison_plot.throughput(done).axes
    assert left.get_xlabel() == "throughput by group (kbit/s)"
    assert [text.get_text().replace("\n", "") for text in left.get_yticklabels()] == done.disciplines
    assert left.get_legend_handles_labels()[1] == ["all TCP", "UDP"]
    assert right.get_legend_handles_labels()[1] == ["Jain, TCP flows", "Jain, all flows"]
    [udp] = [line for line in left.lines if line.get_label() == "UDP"]
    assert list(udp.get_xdata()) == [done.mean(d, "udp_throughput_bps")["mean"] / 1e3 for d in done.disciplines]
    losses, delays, price = comparison_plot.links(done).axes
    assert (losses.get_xlabel(), delays.get_xlabel()) == (
        "packets lost, by reason (% of arrivals)",
        "queueing delay (ms)",
    )
    assert (price.get_xlabel(), price.get_ylabel()) == ("utilisation (%)", "mean queueing delay (ms)")
    looks = {(line.get_color(), line.get_marker()) for line in price.lines if not line.get_label().startswith("_")}
    assert len(looks) == 3
    assert losses.get_legend_handles_labels()[1] == [f"drops: {reason}" for reason in done.drop_reasons]


def test_the_figure_of_groups_has_a_row_for_each(done: sg.Comparison) -> None:
    figure = comparison_plot.groups(done)
    rows = [figure.axes[index : index + 3] for index in range(0, len(figure.axes), 3)]
    assert [row[0].get_title(loc="left") for row in rows] == done.groups == ["tcp", "udp"]
    for row, name in zip(rows, done.groups, strict=True):
        assert [axes.get_xlabel() for axes in row] == [
            "throughput (kbit/s)", "loss (% of packets)", "one-way delay (ms)",
        ]  # fmt: skip
        assert [text.get_text().replace("\n", "") for text in row[0].get_yticklabels()] == done.disciplines
        drawn = {line.get_label(): list(line.get_xdata()) for line in row[2].lines}
        for label, which in (("median", "p50"), ("95th percentile", "p95"), ("99th percentile", "p99")):
            delays = [done.mean(each, f"{name}_delay_{which}_ns")["mean"] for each in done.disciplines]
            assert drawn[label] == pytest.approx([1e-6 * delay for delay in delays])
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["median", "95th percentile", "99th percentile",
        comparison_plot.INTERVALS]  # fmt: skip


@pytest.mark.drawn
def test_of_many_groups_the_first_are_drawn() -> None:
    flows = [sg.Udp(rate="50 kbit/s", name=f"call {index}") for index in range(comparison_plot.MOST_GROUPS + 2)]
    done = sg.compare(NET, flows, disciplines="red", seeds=1, duration="2 s")
    assert len(done.groups) == len(flows)
    assert len(comparison_plot.groups(done).axes) == 3 * comparison_plot.MOST_GROUPS
    assert plot.svg(comparison_plot.throughput(done))


@pytest.mark.drawn
def test_figures_of_one_seed_and_of_several_links() -> None:
    one = sg.compare("topology", disciplines=["red"], seeds=1, sets={"run.duration": "12 s"})
    assert one.differences.height == 0
    figure = comparison_plot.links(one)
    assert [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")] == [
        "link first", "link second",
    ]  # fmt: skip
    assert plot.svg(figure)
    assert plot.svg(comparison_plot.throughput(one))
    assert plot.svg(comparison_plot.groups(one))


def named(text: str) -> set[str]:
    """What stands between backticks; after a name, `_p95_ns` is the same with another ending."""
    names = {name for line in text.splitlines() for name in re.findall("`([^`]+)`", line)}
    for first, others in re.findall("`([^`\n]+)`((?:, `_\\w+`)+)", text):
        names |= {first.rsplit("_", end.count("_"))[0] + end for end in re.findall("`(_\\w+)`", others)}
    return names


def test_the_manual_defines_every_quantity_and_file(done: sg.Comparison) -> None:
    names = named(DOCS.joinpath("compare.md").read_text("utf-8"))
    for name in done.runs.columns:
        generic = re.sub(r"^(tcp|udp)_", "<group>_", re.sub(r"^drops_\w+_ratio$", "drops_<reason>_ratio", name))
        assert generic in names, name
    for name in (*done.means.columns, *done.differences.columns, *FILES, *measures.GROUP, *measures.LINK):
        assert name in names, name


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
    for name in ("groups", "delays", "throughput", "links", "queue"):  # to draw them takes longer than the runs
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


def table_of(lines: list[str], title: str) -> list[str]:
    """The lines below a title, up to the next empty one after its rows."""
    start = lines.index(title) + 2
    return lines[start : next(index for index in range(start, len(lines)) if not lines[index].strip())]


def test_the_command_prints_what_it_measured(sluicegate: Program, tmp_path: Path, done: sg.Comparison) -> None:
    sets = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    arguments = ["compare", "unresponsive", "--disciplines", SPEC, "--seeds", "3", *sets]
    answer = sluicegate(*arguments, "-o", "deep/out", "--jobs", "2", "--differences", env={"COLUMNS": "100"})
    assert answer.returncode == 0
    # Before the runs, and of what they showed.
    told = answer.stderr.splitlines()
    assert [line.partition(": bottleneck")[0] for line in told] == ["warning: red"] * 2, answer.stderr
    assert told[0] != told[1]
    lines = answer.stdout.splitlines()
    verdicts = [line for line in lines if line.startswith(("most ", "least "))]  # sentences, which a terminal wraps
    assert max(len(line) for line in lines if line not in verdicts) <= 100
    label = "choke:candidates=2"
    for group in ("tcp", "udp"):
        table = table_of(lines, group)
        [row] = (index for index, line in enumerate(table) if line.split()[:1] == [label])
        of_group = [(word, measures.GROUP[word]) for word in ("throughput", "loss", "p50", "p95", "p99")]
        columns = [measures.column(group, metric) for _, metric in of_group]
        factors = [1e-3 if word == "throughput" else metric.factor for word, metric in of_group]
        means = [done.mean(label, column) for column in columns]
        assert table[row].replace("●", "").split()[1:] == [
            f"{factor * mean['mean']:.{metric.decimals}f}"
            for mean, factor, (_, metric) in zip(means, factors, of_group, strict=True)
        ]
        assert table[row + 1].split() == [
            f"±{factor * mean['half_width']:.{metric.decimals}f}"
            for mean, factor, (_, metric) in zip(means, factors, of_group, strict=True)
        ]
        dots = [label in done.best(column, metric) for column, (_, metric) in zip(columns, of_group, strict=True)]
        assert table[row].count("●") == sum(dots)
    [jain] = (line for line in table_of(lines, "all flows, and the link") if line.split()[:1] == [label])
    assert f" {done.mean(label, 'jain_tcp')['mean']:.3f} " in jain
    assert "least loss: choke:candidates=2" in verdicts
    assert "tcp: difference to red, paired by seed" in lines
    change = done.difference("choke:candidates=2", "tcp_throughput_bps")["difference"] / 1e3
    assert f" {change:+.1f}* " in answer.stdout
    assert answer.stdout.endswith("* the interval excludes zero\nresults in deep/out\n")
    assert sorted(contents(tmp_path / "deep/out")) == FILES
    assert pl.read_parquet(tmp_path / "deep/out/runs.parquet").equals(done.runs)
    assert json.loads(sluicegate(*arguments, "--json").stdout) == json.loads(json.dumps(done.record()))
    quiet = sluicegate(*arguments, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


NAMED = """\
[network]
rate = "1 Mbit/s"
delay = "1 ms"

[queue]
limit = 50

[[flows]]
kind = "udp"
name = "voip"
count = 2
rate = "40 kbit/s"
packet_size = "200 B"

[[flows]]
kind = "udp"
name = "flood"
rate = "2 Mbit/s"

[run]
duration = "6 s"
warmup = "2 s"
"""


def test_groups_and_quantities_are_shown_as_asked(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "named.toml").write_text(NAMED)

    def shown(*options: str) -> list[str]:
        listed = ("--disciplines", "drop_tail,fq_codel", "--seeds", "2")
        answer = sluicegate("compare", "named.toml", *listed, *options)
        assert answer.returncode == 0
        assert answer.stderr.startswith("warning: fq_codel: queue.target = 5 ms: one packet of 1000 bytes takes 8 ms")
        assert answer.stderr.count("\n") == 1
        return answer.stdout.splitlines()

    def titles(lines: list[str]) -> list[str]:
        return [line for line in lines if line in ("voip", "flood", "link bottleneck") or line.startswith("all flows")]

    plain = shown()
    assert titles(plain) == ["voip", "flood", "all flows, and the link"]
    assert not [line for line in plain if "difference to" in line]
    verdict = "most throughput, least loss, least median delay, least delay p95 and least delay p99: fq_codel"
    assert plain.count(verdict) == 1
    assert titles(shown("--group", "voip")) == ["voip"]
    assert titles(shown("--group", "flood", "--group", "voip", "--group", "flood")) == ["flood", "voip"]
    of_delay = shown("--metric", "p99")
    assert titles(of_delay) == ["voip", "flood"]
    rows = [line.split() for line in of_delay if line.split()[:1] in (["drop_tail"], ["fq_codel"])]
    assert [len(row) - ("●" in row) for row in rows] == [2] * 4
    assert "least delay p99: fq_codel" in of_delay
    assert titles(shown("--metric", "utilisation")) == ["link bottleneck"]
    assert titles(shown("--metric", "jain_all")) == ["all flows"]
    assert titles(shown("--metric", "loss", "--metric", "link_loss", "--group", "voip")) == ["voip", "link bottleneck"]
    differences = [line for line in shown("--group", "voip", "--differences") if "difference" in line]
    assert differences == ["voip: difference to drop_tail, paired by seed"]
    assert shown("--metric", "response_p99")[-1] == "response_p99: has no value in voip or flood"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--group", "viop"], '--group viop: no such group; did you mean "voip"?'),
        (["--group", "udp"], "--group udp: no such group; known: voip, flood"),
        (["--group", "flood", "--group", "flod"], '--group flod: no such group; did you mean "flood"?'),
        (["--metric", "p98"], '--metric p98: no such quantity; did you mean "p95"?'),
        (["--metric", "utilization"], '--metric utilization: no such quantity; did you mean "utilisation"?'),
        (["--metric", "jain"], '--metric jain: no such quantity; did you mean "jain_tcp"?'),
        (["--metric", "zzz"], "--metric zzz: no such quantity; known: throughput, loss, p50, p95, p99, "),
    ],
)
def test_what_is_asked_for_must_be_there(
    sluicegate: Program, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "named.toml").write_text(NAMED + '\n[[flows]]\nkind = "poisson"\nname = "voip"\nrate = "1 kbit/s"\n')
    long = ["--set", "run.duration=1000000 s", "--set", "run.series=false", "-o", "out"]  # would outlast the test
    answer = sluicegate("compare", "named.toml", "--disciplines", "red,choke", *arguments, *long)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert answer.stderr.startswith(f"error: {message}")
    assert not (tmp_path / "out").exists()


def test_one_seed_is_shown_with_dashes(sluicegate: Program, small: Path) -> None:
    answer = sluicegate("compare", small, "--disciplines", "red,choke", "--seeds", "1", env={"COLUMNS": "100"})
    lines = answer.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[:2] == ["1 seed: no intervals", "● best, or equal to the best"]
    for group in ("tcp", "udp", "poisson"):
        [below] = (index + 1 for index, line in enumerate(lines) if line.startswith(" red") and group in lines[:index]
                   and index - lines.index(group) < 6)  # fmt: skip
        assert set(lines[below].split()) == {"–"}
    assert "±" not in answer.stdout
    assert "*" not in answer.stdout


def test_a_value_that_some_runs_lack_is_told() -> None:
    columns = {"jain_tcp": [0.5, None], "x_loss_ratio": [None, None], "throughput_bps": [1.0, 2.0]}
    done = fake(fake_runs(**{name: {"red": values} for name, values in columns.items()}))
    shown = [Column(name, "") for name in columns]
    assert missing(done, shown) == ["red: jain_tcp has a value in 1 of 2 runs only"]
    assert missing(done, shown[1:]) == []
