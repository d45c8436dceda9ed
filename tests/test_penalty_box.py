"""The penalty box among TCP flows: whom it restricts, and whom it does not."""

import polars as pl
import pytest

import sluicegate as sg

LINK = 1e6


def shares(test: str, udp: int, seed: int) -> tuple[float, float, pl.DataFrame]:
    """The parts of the link that UDP and TCP have a minute after the start, and the TCP flows."""
    queue = sg.PenaltyBox(min_th=30, max_th=60, test=test)
    flows = [sg.Tcp(32, "reno", profile="ns2", window=100), sg.Udp(udp, rate="2 Mbit/s")]
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=queue)
    run = sg.simulate(net, flows, duration="160 s", warmup="60 s", seed=seed)
    kinds = {kind: run.flows.filter(pl.col("kind") == kind) for kind in ("udp", "tcp")}
    udp_part, tcp_part = (float(flows["throughput_bps"].sum()) / LINK for flows in kinds.values())
    return udp_part, tcp_part, kinds["tcp"]


@pytest.mark.parametrize(("test", "udp"), [("disproportionate", 1), ("tcp_friendly", 5), ("any", 5)])
@pytest.mark.parametrize("seed", [1, 2])
def test_unresponsive_flows_are_held_to_the_boxs_share(test: str, udp: int, seed: int) -> None:
    """5 % of the link for the box, of which RED drops some again; the TCP flows have the rest."""
    udp_part, tcp_part, tcp = shares(test, udp, seed)
    assert 0.02 < udp_part < 0.055
    assert tcp_part > 0.94
    # A TCP flow that has little was not restricted: it waits for its own timer.
    assert tcp["drops_policed"].sum() == 0


def test_a_constant_drop_rate_does_not_show_who_responds() -> None:
    """p must double before a flow is suspect; under a steady flood it does not."""
    udp_part, _, _ = shares("unresponsive", 1, 1)
    assert udp_part > 0.9
