"""The bundled scenarios: each runs, and `traffic` shows what it promises."""

from __future__ import annotations

import polars as pl
import pytest

import sluicegate as sg
from sluicegate import scenario as api

SHORT = {"run.duration": "3 s", "run.warmup": "0 s"}


@pytest.mark.parametrize("name", api.scenarios())
def test_each_runs_and_all_its_groups_send(name: str) -> None:
    run = sg.run(name, sets=SHORT)
    assert run.summary["scenario_file"] == f"{name}.toml"
    sent = run.flows.group_by("group").agg(pl.col("sent_packets").sum()).sort("group")
    assert sent["group"].to_list() == list(range(len(run.summary["scenario"]["flows"])))
    assert (sent["sent_packets"] > 0).all()


@pytest.fixture(scope="module")
def traffic() -> pl.DataFrame:
    return sg.run("traffic").flows


def test_files_complete_and_transfers_without_end_do_not(traffic: pl.DataFrame) -> None:
    files = traffic.filter(pl.col("group") == 1)
    assert files["completion_time_ns"].null_count() == 0
    # 105 packets (100 kB in 960 bytes each) at the access rate, and the way there: the least that it can take.
    least = 104_200 * 8 * 10 + files["base_rtt_ns"] / 2
    assert (files["completion_time_ns"] > least).all()
    assert traffic.filter(pl.col("group") != 1)["completion_time_ns"].is_null().all()


def test_round_trips_are_those_of_the_file(traffic: pl.DataFrame) -> None:
    far = {group: traffic.filter(pl.col("group") == group)["base_rtt_ns"] / 1e6 for group in range(5)}
    assert far[0].is_between(10 - 1e-6, 150).all()
    assert far[0].n_unique() == 8
    assert (far[1] >= 20 - 1e-6).all()
    # The mean of 200 is within four standard errors of 60 ms: 40 ms / √200 · 4.
    assert far[1].mean() == pytest.approx(60, abs=11.4)
    assert far[2].to_list() == [30, 60, 120]
    assert set(far[3]) == set(far[4]) == {4}


def test_python_says_it_too() -> None:
    net = sg.dumbbell(rate="10 Mbit/s", delay="1 ms", queue=sg.DropTail(limit=50))
    flows = [
        sg.Tcp(2, size="20 kB", rtts=["30 ms", "40 ms"]),
        sg.Tcp(size=30, rtt="20 ms", access_jitter="2 ms"),
        sg.OnOff(3, rate="1 Mbit/s", distribution="pareto", shape=1.2, rtt="10 ms", rtt_max="20 ms"),
    ]
    run = sg.simulate(net, flows, duration="20 s")
    assert run.flows["base_rtt_ns"].to_list()[:3] == [30e6, 40e6, 20e6]
    assert run.flows["completion_time_ns"].null_count() == 3
    with pytest.raises(sg.ScenarioError, match=r"rtt <= rtt_max"):
        sg.simulate(net, sg.Udp(rate="1 Mbit/s", rtt="10 ms", rtt_max="5 ms"), duration="1 s")


def test_two_directions_have_a_link_each_and_python_says_so_too() -> None:
    run = sg.run("two_way")
    assert run.links["link"].to_list() == ["bottleneck", "reverse"]
    assert (run.links["utilisation"] > 0.2).all()
    links = run.flows.group_by("group", maintain_order=True).agg(pl.col("link").unique().sort()).get_column("link")
    assert links.to_list() == [["bottleneck"], ["reverse"], ["bottleneck"], ["reverse"]]
    files = run.flows.filter(pl.col("kind") == "tcp")
    assert files["completion_time_ns"].null_count() == 0, "200 packets each, within the run"
    typed = run.flows.filter(pl.col("kind") == "telnet")
    assert (typed["throughput_bps"] < files["throughput_bps"].min()).all()
    net = sg.dumbbell(rate="10 Mbit/s", queue=sg.Red())
    flows = [sg.Tcp(2, size=50), sg.Tcp(direction="reverse", size=50), sg.Telnet(messages=5, interval="100 ms")]
    assert sg.simulate(net, flows, duration="20 s").flows["completion_time_ns"].null_count() == 0
