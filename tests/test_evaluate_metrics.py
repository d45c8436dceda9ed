"""The metrics of `evaluate`, by hand."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from sluicegate.evaluation import metrics, samples, single
from sluicegate.evaluation.phases import Phases
from sluicegate.reproduce import Settings


def losses(*rows: tuple[float, int, int, int], kind: str = "tcp") -> pl.DataFrame:
    names = ("time_s", "flow", "arrivals_packets", "drops_packets")
    return pl.DataFrame(rows, names, orient="row").with_columns(pl.lit(kind).alias("kind"))


def test_loss_synchronization_is_the_part_of_the_flows_that_lose_in_an_event() -> None:
    series = losses(
        (0.1, 1, 5, 1), (0.1, 2, 5, 2), (0.1, 3, 5, 0), (0.1, 4, 5, 0),  # two of four
        (0.2, 1, 5, 0), (0.2, 2, 5, 0), (0.2, 3, 5, 0), (0.2, 4, 5, 0),  # no event
        (0.3, 1, 5, 1), (0.3, 2, 0, 0), (0.3, 3, 0, 0), (0.3, 4, 0, 0),  # the only one that sent
    )  # fmt: skip
    assert metrics.loss_synchronization(series) == pytest.approx((0.5 + 1) / 2)
    assert metrics.loss_synchronization(series.filter(flow=1)) is None, "one flow is not synchronized with others"
    assert metrics.loss_synchronization(series.filter(time_s=0.2)) is None
    assert metrics.loss_synchronization(series.with_columns(pl.lit("udp").alias("kind"))) is None


def test_intervals_are_between_samples_with_losses() -> None:
    series = losses((0.1, 1, 5, 1), (0.1, 2, 5, 7), (0.2, 1, 5, 0), (0.5, 2, 5, 1), (0.7, 1, 5, 2))
    assert metrics.loss_interval(series) == pytest.approx((0.4 + 0.2) / 2)
    assert metrics.loss_interval(series.filter(time_s=0.1)) is None


def test_the_ellipse_is_the_most_likely_normal_distributions_one_sigma_contour() -> None:
    cross = [(5 + 3, 1), (5 - 3, 1), (5, 1 + 1), (5, 1 - 1)]
    found = metrics.ellipse(cross)
    assert (found.x, found.y) == (5, 1)
    assert (found.major, found.minor) == pytest.approx((math.sqrt(18 / 4), math.sqrt(2 / 4)))
    assert found.angle == pytest.approx(0)
    turned = metrics.ellipse([(0, 0), (2, 2), (4, 4)])
    assert turned.angle == pytest.approx(math.pi / 4)
    assert (turned.major, turned.minor) == pytest.approx((math.sqrt(16 / 3), 0))
    upright = metrics.ellipse([(1, 0), (1, 4)])
    assert (abs(upright.angle), upright.major) == pytest.approx((math.pi / 2, 2))
    assert metrics.ellipse([(7, 8)]) == metrics.Ellipse(7, 8, 0, 0, 0)


def flow(**changed: Any) -> dict[str, Any]:
    plain = {"throughput_bps": 8e6, "arrivals_packets": 100, "drops_packets": 4, "lost_packets": 0,
             "drops_elsewhere_packets": 0,
             "marked_packets": 0, "delivered_packets": 200, "retransmissions": 4, "base_rtt_ns": 100e6,
             "delay_mean_ns": 60e6, "delay_p50_ns": 55e6, "delay_p95_ns": 70e6, "delay_p99_ns": 80e6,
             "completion_time_ns": None}  # fmt: skip
    return plain | changed


def test_delay_is_beyond_propagation() -> None:
    row = metrics.of_group([flow(), flow(drops_packets=0)], flow(delay_p99_ns=90e6))
    assert row["delay_p50_ns"] == pytest.approx(5e6)
    assert row["delay_p99_ns"] == pytest.approx(40e6), "of the packets of all flows"
    assert row["loss_ratio"] == pytest.approx(4 / 200)
    empty = flow(arrivals_packets=0, delivered_packets=0)
    none = metrics.of_group([empty], dict.fromkeys(("delay_mean_ns", "delay_p50_ns", "delay_p95_ns", "delay_p99_ns")))
    assert none["delay_p99_ns"] is None
    assert none["loss_ratio"] is None
    assert none["goodput_bps"] == 0


def test_goodput_leaves_out_what_came_twice() -> None:
    assert metrics.goodput(flow()) == 8e6, "as much was sent again as was dropped"
    assert metrics.goodput(flow(retransmissions=24)) == pytest.approx(0.9 * 8e6)
    assert metrics.goodput(flow(retransmissions=24, drops_elsewhere_packets=20)) == 8e6


def test_transfers_have_completion_times_and_their_own_goodput() -> None:
    ended = [flow(completion_time_ns=time) for time in (2e9, 4e9)]
    row = metrics.of_transfers([*ended, flow()], measured_s=10)
    assert row["completion_mean_ns"] == 3e9
    assert row["completion_p95_ns"] == 4e9
    assert row["unfinished_ratio"] == pytest.approx(1 / 3)
    assert row["goodput_bps"] == pytest.approx(2 * 8e7 / 6)
    assert metrics.of_transfers([flow()], 10)["goodput_bps"] is None


def test_pages_begin_after_thinking_and_count_when_they_are_whole() -> None:
    def page(start: float, objects: int) -> list[tuple[float, float]]:
        return [(start, 0.2e9), *((start + 0.2, 0.1e9 * (1 + at % 3)) for at in range(objects - 1))]

    rows = [*page(0.0, 20), *page(2.0, 51), *page(5.0, 51), *page(8.0, 3)]
    exchanges = pl.DataFrame(rows, ["time_s", "response_time_ns"], orient="row")
    assert metrics.page_times(exchanges) == pytest.approx([0.5, 0.5])


def test_delay_variation_is_against_the_least_delay() -> None:
    """RFC 5481, Sec. 4.2: PDV(i) = D(i) - D(min)."""
    assert metrics.variation([50e6, 60e6, 90e6, 95e6], [100, 800, 95, 5]) == 40e6, "the 99th percentile is 90 ms"
    assert metrics.variation([], []) is None


def test_quantiles_are_the_least_values_that_enough_do_not_exceed() -> None:
    found = dict(zip(samples.PARTS, samples.quantiles(range(1, 101)), strict=True))
    assert (found[0.0], found[0.01], found[0.5], found[0.99], found[1.0]) == (1, 1, 50, 99, 100)
    weighted = dict(zip(samples.PARTS, samples.quantiles([7.0, 3.0], [1, 3]), strict=True))
    assert (weighted[0.7], weighted[0.8]) == (3, 7)
    assert samples.quantiles([]) == []


def test_goodput_is_sampled_every_ten_round_trips_of_100_ms() -> None:
    """Whole periods after the warm-up, each flow by itself, less what came twice."""
    assert (samples.K, samples.PERIOD_S) == (10, 1.0)
    rows = [(round(0.1 * at, 1), flow, 1e6 * flow * (at > 15), 1, 0, 0, 0) for at in range(1, 35) for flow in (1, 2)]
    series = pl.DataFrame(rows, ["time_s", "flow", "throughput_bps", *samples.PACKETS], orient="row")
    found = samples.goodputs(series.filter(pl.col("time_s") > 1.0), {1: 1.0, 2: 0.5}, 1.0)
    assert sorted(found.rows()) == [(1, 0, 5e5), (1, 1, 1e6), (2, 0, 5e5), (2, 1, 1e6)], "nothing of the last 0.4 s"


def test_losses_are_sampled_by_the_second_for_a_group_together() -> None:
    counts = [(1.1, 5, 1, 0, 0), (2.0, 5, 1, 2, 0), (2.1, 0, 0, 0, 0), (3.1, 4, 1, 0, 0), (4.0, 0, 0, 0, 0)]
    series = pl.DataFrame(counts, ["time_s", *samples.PACKETS], orient="row")
    assert samples.losses(series, 1.0) == [0.4, 0.25], "and not where nothing was sent"


def phased(phases: Phases, sample_s: float, cycles: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Samples of a link that is full in each phase, its queue 10,000 bytes; half of the packets of the second are lost.
    The warm-up, a second, is filled with what must not be seen."""
    flows, queue = [], []
    for at in range(1, round((1 + cycles * phases.cycle_s) / sample_s) + 1):
        time = round(at * sample_s, 6)
        phase = int((time - sample_s / 2 - 1) // phases.length_s) % len(phases.words)
        rate = phases.rates_bps[phase] if time > 1 else 7.0
        flows.append((time, 1, rate, 4, 2 * phase, 0, 0))
        queue.append((time, 10_000, rate))
    names = ["time_s", "flow", "throughput_bps", *samples.PACKETS]
    return (pl.DataFrame(flows, names, orient="row"),
            pl.DataFrame(queue, ["time_s", "queue_bytes", "rate_bps"], orient="row"))  # fmt: skip


def test_phases_have_results_of_their_own() -> None:
    phases = Phases(("fast", "slow"), (1e8, 1e7), 2.0)
    fast, slow = samples.of_phases(*phased(phases, 0.1, 2), phases, 1.0, 0.1)
    assert (fast["of"], slow["of"]) == ("phase:0", "phase:1")
    assert [(each["goodput_bps"], each["utilisation"], each["loss_ratio"]) for each in (fast, slow)] == [
        (pytest.approx(1e8), pytest.approx(1), 0.0), (pytest.approx(1e7), pytest.approx(1), 0.5)]  # fmt: skip
    assert [fast["delay_mean_ns"], fast["delay_p99_ns"]] == pytest.approx([8e5, 8e5])
    assert [slow["delay_mean_ns"], slow["delay_p99_ns"]] == pytest.approx([8e6, 8e6])


def test_courses_are_over_time_and_over_one_cycle_of_short_phases() -> None:
    phases = Phases(("fast", "slow"), (1e8, 1e7), 2.0)
    course = samples.course(*phased(phases, 0.1, 2), phases, 1.0, 0.1)
    assert course["time_s"].to_list() == pytest.approx(range(8))
    assert course["goodput_bps"].to_list() == pytest.approx([1e8, 1e8, 1e7, 1e7] * 2)
    assert course["loss_ratio"].to_list() == [0, 0, 0.5, 0.5] * 2
    short = Phases(("fast", "slow"), (1e8, 1e7), 0.1)
    course = samples.course(*phased(short, 0.01, 5), short, 1.0, 0.01)
    assert course["time_s"].to_list() == pytest.approx([0.01 * at for at in range(20)])
    assert course["goodput_bps"].to_list() == pytest.approx([1e8] * 10 + [1e7] * 10)
    assert course["delay_ns"].to_list() == pytest.approx([8e13 / 5.5e7] * 20), "at the mean rate"


def test_runs_with_phases_last_whole_cycles() -> None:
    phases = Phases(("a", "b", "c"), (1.0, 1.0, 1.0), 20)
    lengths = [phases.lasting(Settings((1,), duration, 10, 0.1)).duration_s for duration in (60, 70, 300)]
    assert lengths == [70, 70, 250]
    begins = [*phases.begins(Settings((1,), 70, 10, 0.1))]
    assert begins == [(10, 0), (30, 1), (50, 2)]


def test_time_0_is_when_the_last_transfer_has_left_slow_start() -> None:
    rows = [(0.1, 1, 3.0, 9.0), (0.2, 1, 9.0, 9.0), (0.1, 2, 3.0, 9.0), (0.3, 2, 8.0, 4.0), (0.4, 2, 1.0, 4.0)]
    series = pl.DataFrame(rows, ["time_s", "flow", "cwnd_segments", "ssthresh_segments"], orient="row")
    assert samples.avoidance(series, [1, 2]) == 0.3
    assert samples.avoidance(series, [1, 2, 3]) is None, "the third never has"
    assert samples.avoidance(series, []) is None


def packets(*rows: tuple[float, str, int, str, str, int, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, ["time_s", "link", "flow", "to", "event", "packet_bytes", "data_bytes"], orient="row")


def test_losses_of_syns_and_acknowledgements_are_told_apart_at_each_link() -> None:
    table = packets(
        (0.5, "down", 1, "receiver", "arrival", 60, 0),  # in the warm-up
        (1.5, "down", 1, "receiver", "arrival", 60, 0), (1.5, "down", 1, "receiver", "tail", 60, 0),
        (2.5, "down", 1, "receiver", "arrival", 60, 0), (2.6, "down", 1, "receiver", "departure", 60, 0),
        (2.7, "up", 1, "sender", "arrival", 60, 0), (2.7, "up", 1, "sender", "departure", 60, 0),
        (3.0, "down", 1, "receiver", "arrival", 1500, 1448), (3.0, "down", 1, "receiver", "tail", 1500, 1448),
        *((3.0 + at, "up", 1, "sender", "arrival", 52, 0) for at in range(4)),
        (4.0, "up", 1, "sender", "early", 52, 0), (5.0, "up", 1, "sender", "departure", 64, 0),
        (5.0, "down", 2, "receiver", "arrival", 80, 0),  # a datagram
    )  # fmt: skip
    found = {row["of"]: row["loss_ratio"] for row in single.of_control(table, [1], 1.0)}
    assert found == {"syn:down": 0.5, "syn:up": 0, "ack:up": 0.25}


def test_a_flow_has_started_when_its_first_data_are_sent() -> None:
    """A second for the SYN that is sent again, 100 ms for the exchange, less the way from the sender to the queue."""
    table = packets(
        (5.049, "down", 1, "receiver", "arrival", 60, 0), (6.149, "down", 1, "receiver", "arrival", 1500, 1448),
        (6.2, "down", 1, "receiver", "departure", 1500, 1448), (6.5, "down", 1, "receiver", "arrival", 1500, 1448),
    )  # fmt: skip
    transfer = {"flow": 1, "start_s": 5.0, "base_rtt_ns": 100e6}
    assert single.startup_times(table, [transfer, transfer | {"flow": 2}], 1e6) == pytest.approx([1.1e9])


def test_gaps_are_between_single_losses() -> None:
    lost = [(time, "down", 1, "receiver", "tail", 200, 200) for time in (0.5, 2.0, 2.5, 4.0)]
    table = packets(*lost, (3.0, "down", 2, "receiver", "tail", 200, 200), (3.0, "down", 1, "sender", "tail", 52, 0))
    assert single.loss_gap(table, [1], 1.0) == 1.0
    assert single.loss_gap(table, [2], 1.0) is None
