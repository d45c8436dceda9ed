"""DCN in a run: what its tables hold over time, who is judged, and the sign of the control law."""

from __future__ import annotations

import polars as pl
import pytest

import sluicegate as sg


def run_of(queue: object, seed: int = 1) -> sg.Run:
    """32 TCPs and a UDP flow of twice the link's rate, on 1 Mbit/s."""
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=queue)
    flows = [sg.Tcp(32, "reno", profile="ns2", window=100), sg.Udp(rate="2 Mbit/s")]
    return sg.simulate(net, flows, duration="150 s", warmup="50 s", seed=seed)


def values(run: sg.Run, name: str) -> pl.Series:
    """A value of the whole queue after the warm-up."""
    rows = (run.state["name"] == name) & (run.state["flow"] == 0) & (run.state["time_s"] >= 50)
    return run.state.filter(rows)["value"]


def test_the_tables_are_seen_over_time() -> None:
    run = run_of(sg.Dcn())
    assert run.state["link"].unique().to_list() == ["bottleneck"]
    names = {"p_ref", "sb_flows", "hb_flows", "hb_arrivals", "hb_entries", "hb_exits"}
    assert set(run.state.filter(pl.col("flow") == 0)["name"].unique()) == names
    # A queue above q_ref stands: p_ref follows what flows send, and no flow has more than T_dec's 100 packets for long.
    assert values(run, "p_ref").is_between(0.1, 100).all()
    # The UDP flow, number 33, sends 200 packets in each T_dec and is classified at every sample.
    judged = run.state.filter(pl.col("name") == "pktcount", pl.col("time_s") >= 50)
    assert judged.filter(pl.col("flow") == 33).height == values(run, "p_ref").len()
    assert judged.group_by("time_s").len()["len"].max() == values(run, "hb_flows").max()
    entries, exits, flows = (values(run, name) for name in ("hb_entries", "hb_exits", "hb_flows"))
    assert (entries - exits - flows).abs().max() == 0


def test_an_unresponsive_flow_is_held_to_its_share() -> None:
    """A share of the link far below what Drop Tail gives it, near a 33rd and never nothing."""
    udp = {}
    for name, queue in {"dcn": sg.Dcn(), "drop_tail": sg.DropTail(limit=100)}.items():
        flows = run_of(queue).flows
        udp[name] = flows.filter(pl.col("kind") == "udp")["throughput_bps"][0] / 1e6
    assert udp["drop_tail"] > 0.9
    assert 0.01 < udp["dcn"] < 0.15


@pytest.mark.parametrize("law", ["corrected", "printed"])
def test_the_queue_is_near_its_target_with_the_corrected_law_alone(law: str) -> None:
    net = sg.dumbbell(rate="10 Mbit/s", delay="20 ms", queue=sg.Dcn(law=law))  # type: ignore[arg-type]
    tcp = sg.Tcp(50, "newreno", profile="ns2", window=100, access_rate="100 Mbit/s", access_delay="10 ms")
    run = sg.simulate(net, tcp, duration="120 s", warmup="40 s", seed=1)
    queue = run.queue.filter(run.queue["time_s"] >= 40)["queue_packets"].mean()
    assert (abs(float(queue) - 24) < 8) == (law == "corrected")  # type: ignore[arg-type]
