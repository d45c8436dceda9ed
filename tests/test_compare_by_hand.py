"""What `compare` measures, its intervals, pairs and bests, by hand."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import sluicegate as sg
from sluicegate import stats
from sluicegate.experiments import compare as comparison
from sluicegate.goals import measures

FILES = sorted(comparison.FILES)
T2 = 4.302652729749464  # Student's t, 97.5 %, 2 degrees of freedom (any printed table: 4.303)

FLOWS = [
    {"kind": "tcp", "algorithm": "reno", "throughput_bps": 100.0},
    {"kind": "tcp", "algorithm": "reno", "throughput_bps": 300.0},
    {"kind": "udp", "algorithm": "", "throughput_bps": 600.0},
]
DELAYS = {"delay_mean_ns": 4e6, "delay_p50_ns": 3e6, "delay_p95_ns": 7e6, "delay_p99_ns": 8e6}
NO_TIMES = dict.fromkeys(
    ("response_time_p50_ns", "response_time_p99_ns", "completion_time_p50_ns", "completion_time_p95_ns")
)
GROUPS: list[dict[str, Any]] = [
    {
        "name": "tcp",
        "flows": 2,
        "opened_connections": 0,
        "throughput_bps": 400.0,
        "loss_ratio": 0.05,
        **DELAYS,
        **NO_TIMES,
    },
    {
        "name": "voip",
        "flows": 1,
        "opened_connections": 0,
        "throughput_bps": 600.0,
        "loss_ratio": None,
        **DELAYS,
        **NO_TIMES,
    },
]
LINK = {
    "link": "bottleneck", "arrivals_packets": 200, "drops_packets": 80, "drops_tail": 50, "drops_early": 30,
    "lost_packets": 4, "marked_packets": 20,
    "queueing_delay_mean_ns": 3e6, "queueing_delay_p99_ns": 9e6, "utilisation": 0.75,
}  # fmt: skip
SHORT = {"run.duration": "8 s", "run.warmup": "2 s"}

NET = sg.dumbbell(rate="1 Mbit/s", delay="1 ms")
VOIP_BESIDE_A_FLOOD = [
    sg.Udp(2, rate="40 kbit/s", packet_size="200 B", name="voip"),
    sg.Udp(rate="2 Mbit/s", name="flood"),
]


def fake_runs(**columns: dict[str, list[float | None]]) -> pl.DataFrame:
    """Runs of two disciplines or more; `columns`: values by discipline, one for each seed from 1."""
    labels = list(next(iter(columns.values())))
    rows = [
        {"discipline": label, "seed": seed + 1} | {name: values[label][seed] for name, values in columns.items()}
        for label in labels
        for seed in range(len(next(iter(columns.values()))[label]))
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def test_one_run_is_measured_as_by_hand() -> None:
    assert measures.measure(FLOWS, GROUPS, [LINK]) == {
        "tcp_throughput_bps": 400.0,
        "tcp_throughput_per_flow_bps": 200.0,
        "tcp_loss_ratio": 0.05,
        **{f"tcp_{name}": value for name, value in (DELAYS | NO_TIMES).items()},
        "voip_throughput_bps": 600.0,
        "voip_throughput_per_flow_bps": 600.0,
        "voip_loss_ratio": None,
        **{f"voip_{name}": value for name, value in (DELAYS | NO_TIMES).items()},
        "throughput_bps": 1000.0,
        "jain_tcp": 0.8,  # 400² / (2 · (100² + 300²))
        "jain_all": pytest.approx(1000**2 / (3 * 460000)),
        "loss_ratio": 0.42,
        "lost_ratio": 0.02,
        "drops_tail_ratio": 0.25,
        "drops_early_ratio": 0.15,
        "marked_ratio": 0.1,
        "queueing_delay_mean_ns": 3e6,
        "queueing_delay_p99_ns": 9e6,
        "utilisation": 0.75,
    }


def test_connections_that_come_and_go_have_no_throughput_per_flow() -> None:
    web = GROUPS[0] | {"name": "web", "flows": 700, "opened_connections": 12, "response_time_p99_ns": 5e9}
    users = {"kind": "http", "algorithm": "cubic", "throughput_bps": 5000.0}
    values = measures.measure([*FLOWS, users], [web], [LINK])
    assert values["jain_tcp"] == 0.8
    assert values["web_throughput_per_flow_bps"] is None
    assert values["web_response_time_p99_ns"] == 5e9


def test_several_links_keep_their_names() -> None:
    second = LINK | {"link": "tcp", "arrivals_packets": 0, "drops_packets": 0, "lost_packets": 0, "utilisation": 0.0}
    values = measures.measure(FLOWS, GROUPS, [LINK, second])
    assert values["bottleneck.loss_ratio"] == 0.42
    assert values["tcp.loss_ratio"] is None
    assert values["tcp_loss_ratio"] == 0.05
    assert "utilisation" not in values


def test_what_is_measured_stands_in_the_tables_of_a_run() -> None:
    done = sg.run("unresponsive", sets=SHORT)
    for name, columns in measures.kept().items():
        assert set(columns) <= set(done.table(name).columns), name


@pytest.mark.parametrize(
    ("throughputs", "index"),
    [([5.0] * 7, 1.0), ([0.0, 0.0, 9.0, 0.0], 0.25), ([1.0, 3.0], 0.8), ([4.0], 1.0), ([], None), ([0.0, 0.0], None)],
)
def test_jains_index(throughputs: list[float], index: float | None) -> None:
    assert stats.jain(throughputs) == (None if index is None else pytest.approx(index, rel=1e-15))


def test_groups_without_names_are_told_apart_by_algorithm() -> None:
    flows = [sg.Tcp(algorithm="reno"), sg.Udp(rate="100 kbit/s"), sg.Tcp(algorithm="cubic"), sg.Tcp(algorithm="reno")]
    done = sg.compare(NET, flows, disciplines="red", seeds=1, duration="2 s")
    assert done.groups == ["tcp_reno_1", "udp", "tcp_cubic", "tcp_reno_2"]
    assert sg.compare(NET, flows[:2], disciplines="red", seeds=1, duration="2 s").groups == ["tcp", "udp"]


def test_groups_with_names_are_kept_apart() -> None:
    """Calls beside a flood, both of kind `udp`: under fair queueing the calls keep their delay and lose nothing."""
    done = sg.compare(
        NET, VOIP_BESIDE_A_FLOOD, disciplines="fq_codel,drop_tail", seeds=3, duration="10 s", warmup="2 s"
    )
    assert done.groups == ["voip", "flood"]
    assert not [name for name in done.runs.columns if name.startswith("udp")]
    fair, tail = done.disciplines
    assert done.mean(fair, "voip_loss_ratio")["mean"] == 0
    assert done.mean(fair, "flood_loss_ratio")["mean"] > 0.5
    assert done.mean(fair, "voip_delay_p99_ns")["mean"] < 30e6 < done.mean(fair, "flood_delay_p99_ns")["mean"]
    assert done.mean(tail, "voip_delay_p99_ns")["mean"] > 100e6
    assert done.mean(fair, "voip_throughput_bps")["mean"] == pytest.approx(80e3, rel=0.02)
    assert done.mean(fair, "voip_throughput_per_flow_bps")["mean"] == pytest.approx(40e3, rel=0.02)
    alone = sg.simulate(replace(NET, queue=sg.FqCodel()), VOIP_BESIDE_A_FLOOD, duration="10 s", warmup="2 s", seed=2)
    [voip] = alone.table("groups").filter(name="voip").to_dicts()
    row = done.runs.filter(discipline=fair, seed=2).row(0, named=True)
    assert [row[f"voip_{name}"] for name in measures.OF_TABLE] == [voip[name] for name in measures.OF_TABLE]
    for word in ("throughput", "loss", "p50", "p95", "p99"):
        assert done.best(measures.column("voip", measures.GROUP[word]), measures.GROUP[word]) == [fair], word


def test_groups_of_one_name_are_one() -> None:
    flows = [sg.Udp(rate="100 kbit/s", name="calls"), sg.Poisson(3, rate="50 kbit/s", name="calls"), sg.Tcp(2)]
    done = sg.compare(NET, flows, disciplines="red", seeds=1, duration="6 s", warmup="2 s")
    assert done.groups == ["calls", "tcp"]
    total, each = (done.mean("red", f"calls_{name}_bps")["mean"] for name in ("throughput", "throughput_per_flow"))
    assert each == pytest.approx(total / 4)


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
    # Seeds that only one of them has are in no pair: 13 - 10 and 54 - 50.
    some = comparison.differences(runs.with_columns(seed=pl.Series([1, 2, 3, 1, 2, 4])), "red")
    assert some.select("difference", "seeds").row(0) == (3.5, 2)


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


def fake(runs: pl.DataFrame) -> sg.Comparison:
    """A comparison of runs of `fake_runs`."""
    labels = dict.fromkeys(runs["discipline"].to_list())
    seeds = runs["seed"].unique().to_list()
    return sg.Comparison(
        runs, {label: label for label in labels}, next(iter(labels)), ["x"], ["link"], {"seeds": seeds}
    )


LOSS, THROUGHPUT = measures.GROUP["loss"], measures.GROUP["throughput"]
P99, MEAN_DELAY = measures.GROUP["p99"], measures.GROUP["delay"]


def test_the_best_are_those_than_which_none_is_better() -> None:
    """As far as their paired differences tell: `b` has a larger mean than `a`, but no interval says so."""
    done = fake(fake_runs(x={"a": [10.0, 20.0, 30.0], "b": [11.0, 19.0, 33.0], "c": [2.0, 12.0, 22.0]}))
    assert not done.apart("a", "b", "x")
    assert done.apart("a", "c", "x")
    assert done.best("x", THROUGHPUT) == ["a", "b"]
    assert done.best("x", LOSS) == ["c"]
    assert done.best("x", LOSS, among=["b", "a"]) == ["b", "a"]


def test_where_nobody_is_told_apart_all_are_best() -> None:
    done = fake(fake_runs(x={"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0], "c": [2.0, 3.0, 1.5]}))
    assert done.best("x", THROUGHPUT) == done.best("x", LOSS) == done.disciplines
    same = fake(fake_runs(x={"a": [0.0] * 3, "b": [0.0] * 3}))
    assert same.best("x", LOSS) == ["a", "b"]


def test_being_alike_is_not_handed_on() -> None:
    """`b` is alike to `a` and to `c`, but `c` is worse than `a`: the best are those that nobody beats."""
    values = {"a": [10.0, 20.0, 30.0], "b": [12.0, 17.0, 29.0], "c": [9.0, 18.9, 29.1]}
    done = fake(fake_runs(x=values))
    assert (done.apart("a", "b", "x"), done.apart("b", "c", "x"), done.apart("a", "c", "x")) == (False, False, True)
    assert done.best("x", THROUGHPUT) == ["a", "b"]


def test_percentiles_closer_than_their_bins_are_alike() -> None:
    near, far = 1 / 128 - 0.001, 1 / 128 + 0.001  # of the larger value
    delays = [100.0, 100.001, 99.999]
    values = {"a": delays, "near": [x / (1 - near) for x in delays], "far": [x / (1 - far) for x in delays]}
    done = fake(fake_runs(x=values))
    assert P99.resolution == measures.TWO_DIGITS == 1 / 128
    assert done.best("x", P99) == ["a", "near"]
    assert done.best("x", MEAN_DELAY) == ["a"], "a mean has no bins"


def test_one_seed_tells_apart_by_the_difference_alone() -> None:
    done = fake(fake_runs(x={"a": [100.0], "b": [100.5], "c": [100.0], "d": [120.0]}))
    assert done.best("x", MEAN_DELAY) == ["a", "c"]
    assert done.best("x", P99) == ["a", "b", "c"]
    assert done.best("x", THROUGHPUT) == ["d"]


def test_what_has_no_value_is_not_among_the_best() -> None:
    done = fake(
        fake_runs(x={"a": [None, None], "b": [2.0, 2.0], "c": [1.0, 1.0]}, y={key: [None] * 2 for key in "abc"})
    )
    assert done.best("x", LOSS) == ["c"]
    assert done.best("y", LOSS) == []
    pairs = fake(fake_runs(x={"a": [1.0, None, None], "b": [None, 9.0, 9.1]}))
    assert pairs.best("x", LOSS) == ["a", "b"], "no seed has a value under both"
