"""Captures as tables: what headers say, in batches and in bounded memory; and damage, as a replay tells it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sluicegate as sg
from sluicegate import _core

CAPTURES = Path(__file__).parent / "captures"
DUMBBELL = CAPTURES / "dumbbell.pcap"
SCENARIO = """
[network]
rate = "10 Mbit/s"
delay = "10 ms"
[queue]
discipline = "drop_tail"
limit = 20
[[flows]]
kind = "tcp"
count = 2
[[flows]]
kind = "udp"
rate = "2 Mbit/s"
[run]
duration = "5 s"
"""


@pytest.mark.parametrize("file", sorted(CAPTURES.glob("*.pcap")), ids=lambda file: file.stem)
def test_the_table_agrees_with_the_replay(file: Path) -> None:
    read, done = sg.read_capture(file), sg.replay(file, rate="10 Gbit/s", mtu=65535)
    assert read.packets.height == done.links["arrivals_packets"][0]
    assert read.packets["bytes"].sum() == done.links["arrivals_bytes"][0]
    # A flow of the replay is one direction of a connection here.
    ways = read.packets.filter(pl.col("flow") > 0).group_by("flow", "backward").agg(pl.len(), pl.col("bytes").sum())
    flows = done.flows.filter(pl.col("kind") == "flow")
    assert sorted(ways["bytes"]) == sorted(flows["arrivals_bytes"])
    assert read.damage is None
    assert read.times_kept


def test_headers_say_what_the_simulator_sent(tmp_path: Path) -> None:
    places = {
        "bottleneck": tmp_path / "after",
        "bottleneck/arrivals": tmp_path / "before",
        "bottleneck/back": tmp_path / "back",
    }
    done = sg.simulate(SCENARIO, pcap=places)
    before, after, back = (
        sg.read_capture(places[name]) for name in ("bottleneck/arrivals", "bottleneck", "bottleneck/back")
    )
    assert before.packets.height == done.links["arrivals_packets"][0]
    assert after.packets.height == done.links["departures_packets"][0]
    # What is missing behind the queue, by identity, was dropped, or still waits or is being sent at the end.
    lost = before.packets.join(after.packets, on=["flow", "identity"], how="anti").height
    assert 0 <= lost - done.links["drops_packets"][0] <= 21
    assert done.links["drops_packets"][0] > 20
    # A flow of UDP sends packets that are told apart.
    udp = before.packets.filter(pl.col("protocol") == 17)
    assert udp["identity"].n_unique() == udp.height > 100
    assert udp["seq"].null_count() == udp.height
    syn = before.packets.filter(pl.col("flags") == 2)
    assert syn["mss_bytes"].to_list() == [1460, 1460]
    assert syn["ack"].to_list() == [None, None]
    data = after.packets.filter(pl.col("payload_bytes") > 0, pl.col("protocol") == 6)
    assert set(data["payload_bytes"]) == {1448}
    assert back.packets["ack"].is_not_null().all()
    assert back.packets["sack1_left"].is_not_null().any()
    held = back.packets.filter(pl.col("sack1_left").is_not_null())
    assert (held["sack1_right"] > held["sack1_left"]).all()


def test_batches_are_the_whole() -> None:
    whole = sg.read_capture(DUMBBELL)
    reader = sg.CaptureReader(DUMBBELL, batch=100, columns=["bytes", "time_ns"])
    parts = list(reader)
    assert [part.height for part in parts[:-1]] == [100] * (len(parts) - 1)
    assert pl.concat(parts).equals(whole.packets.select("bytes", "time_ns"))
    assert reader.flows.equals(whole.flows)
    assert reader.flows_after(1).equals(whole.flows[1:])
    assert reader.read_bytes == DUMBBELL.stat().st_size


def test_flows_beyond_the_bound_are_not_told_apart() -> None:
    few = sg.read_capture(DUMBBELL, flows=2)
    assert few.flows.height == 2
    assert set(few.packets["flow"]) == {0, 1, 2}


def test_bad_input_is_answered_as_by_the_replay(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(DUMBBELL.read_bytes()[:50_000])
    assert sg.read_capture(cut).damage == sg.replay(cut, rate="1 Gbit/s").damage is not None
    with pytest.raises(sg.ScenarioError, match="is empty: record it again"):
        sg.read_capture(os.devnull)
    (tmp_path / "text").write_text("no capture at all, only text")
    with pytest.raises(sg.ScenarioError, match="neither pcap nor pcapng"):
        sg.read_capture(tmp_path / "text")
    with pytest.raises(FileNotFoundError, match=r"missing\.pcap"):
        sg.read_capture("missing.pcap")
    with pytest.raises(IsADirectoryError):
        sg.read_capture(tmp_path)
    with pytest.raises(sg.ScenarioError, match="time: a capture has the columns time_ns"):
        sg.read_capture(DUMBBELL, columns=["time"])
    with pytest.raises(sg.ScenarioError, match="one of error, skip, shift"):
        sg.read_capture(DUMBBELL, on_jump="stop")


def long_capture(file: Path, packets: int, times: list[int]) -> None:
    """A pcap of packets of TCP, of which 100 bytes each are there; `times` are added to those of each thousand."""
    tcp = struct.pack(">HHIIBBHHHBBBBII", 40000, 443, 1, 1, 8 << 4, 16, 500, 0, 0, 1, 1, 8, 10, 7, 9)
    with file.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 200, 101))
        for first in range(0, packets, 1000):
            second = first // 1000 + times[first // 1000 % len(times)]
            for at in range(1000):
                ip = struct.pack(">BBHHHBBHII", 0x45, 0, 1500, at, 0, 64, 6, 0, 0x0A000000 + at, 0xAC100001)
                out.write(struct.pack("<IIII", second, at * 1000, 100, 1500) + ip + tcp + bytes(48))


def test_times_that_leap(tmp_path: Path) -> None:
    leaps = tmp_path / "leaps.pcap"
    long_capture(leaps, 4000, [5000, 0])
    with pytest.raises(sg.ScenarioError, match="a clock was set back"):
        sg.read_capture(leaps)
    shifted = sg.read_capture(leaps, on_jump="shift")
    assert not shifted.times_kept
    assert shifted.packets["time_ns"].is_sorted()


def test_memory_does_not_grow_with_the_capture(tmp_path: Path) -> None:
    """Twice the packets take no more: 40 MB of capture are held nowhere."""
    program = (
        "import re, sys, sluicegate as sg\n"
        "for _ in sg.CaptureReader(sys.argv[1]): pass\n"
        # Not ru_maxrss, which begins with that of the process that was forked.
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )

    def peak(packets: int) -> int:
        file = tmp_path / "long.pcap"
        long_capture(file, packets, [0])
        done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True)
        return int(done.stdout)

    few, many = peak(200_000), peak(400_000)
    assert (
        many < few + 20_000
    )  # kB; the table of the other 200,000 packets would take 24,000 and more, their file 23,000
    assert many < 300 * 1024


def test_columns_are_declared() -> None:
    declared = {table["name"]: table["columns"] for table in json.loads(_core.declarations())["capture_tables"]}
    read = sg.read_capture(DUMBBELL)
    assert [column["name"] for column in declared["packets"]] == read.packets.columns
    assert [column["name"] for column in declared["flows"]] == read.flows.columns
