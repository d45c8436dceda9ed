"""Headers: what a discipline of one's own is told, and the table of segments."""

from __future__ import annotations

import polars as pl
import pytest

import sluicegate as sg

MSS = 1448


class Lose(sg.Aqm):
    """Loses the 30th segment twice, and notes headers."""

    seen: list[sg.Header | None]

    def __init__(self) -> None:
        self.queue, self.lost = sg.PacketQueue(), 0
        Lose.seen = []

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        header = packet.header
        Lose.seen.append(header)
        if header and header.data_bytes and header.first_byte == 29 * MSS and self.lost < 2:
            self.lost += 1
            ctx.drop(packet, "forced")
        else:
            self.queue.append(packet)

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return self.queue.pop()


def test_a_segment_is_lost_twice_and_the_table_tells_of_it() -> None:
    net = sg.dumbbell(rate="4 Mbit/s", delay="20 ms", queue=Lose)
    flows = [sg.Tcp(size=200, spread="0 s"), sg.Udp(rate="100 kbit/s")]
    run = sg.simulate(net, flows, duration="4 s", segments=10_000, packets=10_000)
    table = run.segments
    lost = table.filter(first_byte=29 * MSS, data_bytes=MSS)
    assert lost["fate"].to_list() == ["forced", "forced", "departure"]
    assert run.flows["retransmissions"].to_list()[0] == 2
    # Both tell of the same segments; datagrams have no header.
    there = table.filter(link="bottleneck")
    told = [header for header in Lose.seen if header]
    assert Lose.seen.count(None) == run.packets.filter(event="arrival", name="udp").height > 0
    assert there["first_byte"].to_list() == [header.first_byte for header in told]
    assert there["flags"].to_list()[:2] == ["SYN", "ACK"]
    assert [header.flags for header in told[:2]] == [{"SYN"}, {"ACK"}]
    assert [header.ack_byte for header in told[:2]] == [None, 0]
    assert there["ack_byte"].null_count() + there["ack_byte"].is_nan().sum() == 1
    back = table.filter(link="bottleneck/back", to="sender")
    assert back.height > 100
    assert back["flags"][0] == "SYN ACK"
    gap = back.filter(pl.col("sack").str.ends_with(f"{31 * MSS}") | (pl.col("ack_byte") == 29 * MSS))
    assert gap.filter(pl.col("sack").str.starts_with(f"{30 * MSS}-")).height > 0
    assert table["time_s"].is_sorted()
    assert sg.simulate(net, flows, duration="4 s").segments.height == 0
    some = sg.simulate(net, flows, duration="4 s", segments=40).segments
    assert some.equals(table.head(40))


def test_both_directions_of_a_two_way_line_are_there() -> None:
    net = sg.dumbbell(rate="4 Mbit/s", delay="20 ms", two_way=True, queue=sg.Codel())
    run = sg.simulate(net, [sg.Tcp(2), sg.Tcp(direction="reverse")], duration="3 s", segments=100_000)
    assert set(run.segments["link"]) == {"bottleneck", "reverse"}
    assert set(run.segments["fate"]) >= {"departure", "queued"}
    arrivals = run.segments.filter(to="receiver").group_by("flow").len().sort("flow")["len"].to_list()
    assert arrivals == run.flows["arrivals_packets"].to_list()


def test_a_discipline_that_comes_later_is_told_too() -> None:
    net = sg.dumbbell(rate="4 Mbit/s", delay="20 ms", queue=sg.Codel())
    with sg.Simulation(net, sg.Tcp(), duration="2 s") as simulation:
        simulation.advance(to=1)
        simulation.set("queue.discipline", Lose)
        simulation.finish()
    assert sum(header is not None for header in Lose.seen) > 100


@pytest.mark.parametrize("value", [-1, 1_000_001])
def test_how_many_are_kept_has_bounds(value: int) -> None:
    with pytest.raises(sg.ScenarioError, match=r"^segments"):
        sg.simulate("unresponsive", segments=value)
