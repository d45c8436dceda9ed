"""The table of single packets: it says what the other tables sum up, and changes nothing."""

from __future__ import annotations

import polars as pl
import pytest

import sluicegate as sg

SETS = {"run.duration": "3 s", "run.warmup": "0 s"}
REASONS = ("tail", "early", "forced", "match", "policed")


@pytest.fixture(scope="module")
def run() -> sg.Run:
    return sg.run("two_way", sets={**SETS, "run.packets": 1_000_000})


def test_every_event_is_counted_once(run: sg.Run) -> None:
    assert run.packets.height < 1_000_000
    for row in run.links.to_dicts():
        events = run.packets.filter(pl.col("link") == row["link"])["event"].to_list()
        assert events.count("arrival") == row["arrivals_packets"]
        assert events.count("departure") == row["departures_packets"]
        for reason in REASONS:
            assert events.count(reason) == row[f"drops_{reason}"], reason
    assert run.links["drops_packets"].sum() > 0


def test_an_arrival_finds_what_the_link_says(run: sg.Run) -> None:
    for row in run.links.to_dicts():
        found = run.packets.filter((pl.col("link") == row["link"]) & (pl.col("event") == "arrival"))["queue_packets"]
        assert found.mean() == pytest.approx(row["queue_found_packets_mean"], rel=1e-12)


def test_events_are_in_order_and_a_packet_arrives_before_it_leaves(run: sg.Run) -> None:
    assert run.packets["time_s"].is_sorted()
    data = run.packets.filter((pl.col("to") == "receiver") & (pl.col("data_bytes") > 0))
    ends = data.group_by("link", "flow", "first_byte").agg(
        arrived=(pl.col("event") == "arrival").sum(), ended=(pl.col("event") != "arrival").sum(),
        first=pl.col("event").first(),
    )  # fmt: skip
    assert (ends["first"] == "arrival").all()
    assert (ends["arrived"] >= ends["ended"]).all()
    assert (ends["arrived"] - ends["ended"]).sum() <= 200, "no more than the queues hold at the end"


def test_packets_of_data_carry_the_stream_without_gaps(run: sg.Run) -> None:
    flow = run.packets.filter((pl.col("flow") == 1) & (pl.col("to") == "receiver") & (pl.col("data_bytes") > 0))
    stream = flow.select("first_byte", "data_bytes").unique().sort("first_byte")
    assert (stream["first_byte"].diff().drop_nulls() == stream["data_bytes"][:-1]).all()


def test_no_more_than_asked_for_are_kept_and_none_by_default(run: sg.Run) -> None:
    few = sg.run("two_way", sets={**SETS, "run.packets": 100})
    assert few.packets.equals(run.packets.head(100), null_equal=True)
    none = sg.run("two_way", sets=SETS)
    assert none.packets.height == 0
    assert none.packets.columns == run.packets.columns


def test_watching_packets_changes_nothing_else(run: sg.Run) -> None:
    plain = sg.run("two_way", sets=SETS)
    assert all(plain.table(name).equals(run.table(name)) for name in plain.tables if name != "packets")


def test_more_than_memory_can_hold_is_refused() -> None:
    with pytest.raises(sg.ScenarioError, match=r"run\.packets = 2000001"):
        sg.run("two_way", sets={"run.packets": 2_000_001})


def test_a_segment_is_lost_twice_and_sent_a_third_time() -> None:
    """Packets meet the fate that a link has for their number: a segment, and its first retransmission."""
    link = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": sg.DropTail(limit=1000)}

    def run(**fates: object) -> sg.Run:
        flows = [sg.Tcp(1, "reno", window=20)]  # the queue never overflows
        return sg.simulate(sg.dumbbell(**link, **fates), flows, duration="3 s", seed=1, packets=10_000)

    assert run().flows["retransmissions"][0] == 0
    once = run(drop=30).packets
    lost = once.filter(pl.col("event") == "lost").row(0, named=True)
    arrivals = once.filter((pl.col("event") == "arrival") & (pl.col("to") == "receiver"))
    again = arrivals["first_byte"].to_list().index(lost["first_byte"], 30) + 1
    twice = run(drop=f"30,{again}")
    events = twice.packets.filter(pl.col("first_byte") == lost["first_byte"])["event"].to_list()
    assert events == ["arrival", "departure", "lost"] * 2 + ["arrival", "departure"]
    assert twice.flows["lost_packets"][0] == 2
    with pytest.raises(sg.ScenarioError, match=r"late: .*such as 7:3"):
        run(late="5")
