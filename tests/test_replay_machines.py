"""Replays of what captures of real machines hold: tunnels, merged packets, clocks that leap."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from conftest import Program
from test_replay import blocks

import sluicegate as sg


def datagram(port: int, payload: int, ecn: int = 0) -> bytes:
    """An IPv4 packet with a datagram of UDP."""
    length = 28 + payload
    head = struct.pack("!BBHHHBBH4s4s", 0x45, ecn, length, 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    return head + struct.pack("!HHHH", port, 53, 8 + payload, 0) + bytes(payload)


def capture(file: Path, packets: list[tuple[float, bytes]], link_type: int = 101) -> Path:
    """A pcap file of packets at these times, in seconds."""
    content = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, link_type)
    for seconds, data in packets:
        whole, fraction = divmod(round(seconds * 1e9), 10**9)
        content += struct.pack("<IIII", whole, fraction, len(data), len(data)) + data
    file.write_bytes(content)
    return file


def steady(times: list[float]) -> list[tuple[float, bytes]]:
    return [(at, datagram(1, 72)) for at in times]


def test_a_call_inside_pppoe_is_kept_from_bulk_as_without_it(tmp_path: Path) -> None:
    call = [(0.001 + k * 0.02, datagram(1, 172)) for k in range(250)]
    bulk = [(k * 0.001, datagram(2, 222)) for k in range(5000)]
    packets = sorted(call + bulk)
    frames = [
        (at, bytes(12) + b"\x88\x64" + struct.pack("!BBHHH", 0x11, 0, 9, 2 + len(data), 0x21) + data)
        for at, data in packets
    ]
    plain = sg.replay(capture(tmp_path / "plain.pcap", packets), rate="1 Mbit/s", queue="fq_codel")
    inside = sg.replay(capture(tmp_path / "inside.pcap", frames, 1), rate="1 Mbit/s", queue="fq_codel")
    assert inside.flows.equals(plain.flows, null_equal=True)
    called = inside.flows.filter(source_port=1)
    assert called["delivered_packets"].item() == 250
    assert called["queueing_delay_p99_ns"].item() < 5e6
    assert inside.links["opaque_packets"].item() == 0
    assert inside.remarks() == []


def test_what_stays_opaque_is_told_in_table_json_and_terminal(sluicegate: Program, tmp_path: Path) -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    ip = [(k * 0.01, bytes(12) + b"\x08\x00" + datagram(1, 72)) for k in range(15)]
    file = capture(tmp_path / "arp.pcap", [*ip, (0.15, arp)], 1)
    says = (
        "1 of 16 packets (6.25 %) is one flow to the queue, and cannot be marked: 1 carries no IP that can be seen; "
        "most often it is ether type 0x0806: if IP is inside, capture where it is not encapsulated"
    )
    done = sluicegate("replay", file, "--rate", "1 Mbit/s", "-o", "out")
    assert f"warning: {says}\n" in done.stdout
    assert says in (tmp_path / "out/report.html").read_text("utf-8")
    told = json.loads(sluicegate("replay", file, "--rate", "1 Mbit/s", "--json").stdout)
    assert told["summary"]["capture"]["warnings"] == [says]
    assert told["links"][0]["opaque_packets"] == 1


def merged(payload: int) -> bytes:
    """A packet of TCP as long as a host hands to its card."""
    ip = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 2, 40 + payload, 0, 0x4000, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    )
    return ip + struct.pack("!HHIIBBHHH", 5000, 80, 1, 1, 0x50, 0x18, 500, 0, 0) + bytes(payload)


def test_merged_packets_meet_the_queue_as_those_of_a_wire(sluicegate: Program, tmp_path: Path) -> None:
    """Ten segments at a time, as one packet and as ten: what RED does, and how long they wait, is the same."""
    times = [k * 0.008 for k in range(200)]
    wire = [(at, merged(1460)) for at in times for _ in range(10)]
    rate, queue = "12 Mbit/s", sg.Red(min_th=5, max_th=15)
    separate = sg.replay(capture(tmp_path / "wire.pcap", wire), rate=rate, queue=queue, seed=3)
    file = capture(tmp_path / "host.pcap", [(at, merged(14_600)) for at in times])
    whole = sg.replay(file, rate=rate, queue=queue, seed=3, write=tmp_path / "after.pcapng")
    assert whole.flows.equals(separate.flows, null_equal=True)
    assert whole.links["drops_packets"].item() == separate.links["drops_packets"].item() > 0
    assert whole.links["merged_packets"].item() == 200
    assert {length for _, length, _ in blocks(tmp_path / "after.pcapng")} == {1500}
    assert "a host had merged them (TSO, GRO), and they were split into 2000" in whole.remarks()[0]
    done = sluicegate("replay", file, "--rate", "12 Mbit/s", "--mtu", "15000")
    assert "warning" not in done.stdout
    assert sluicegate("replay", file, "--rate", "12 Mbit/s", "--mtu", "100").returncode == 2


JUMPS = {
    "one ahead": ([*(k * 0.01 for k in range(500)), 3600.0, *(5 + k * 0.01 for k in range(500))], "packet 501"),
    "one behind": ([*(9 + k * 0.01 for k in range(500)), 0.0, *(14 + k * 0.01 for k in range(500))], "packet 501"),
    "set forward": ([k * 0.01 + 10**6 * (k >= 995) for k in range(1000)], "packet 996"),
    "set back": ([10 + k * 0.01 - 3 * (k >= 600) for k in range(1000)], "packet 601"),
    "joined": ([*(3600 + k * 0.01 for k in range(500)), *(k * 0.01 for k in range(500))], "packet 501"),
}


@pytest.mark.parametrize(("times", "names"), JUMPS.values(), ids=list(JUMPS))
def test_times_that_leap_are_an_error_or_flagged(
    sluicegate: Program, tmp_path: Path, times: list[float], names: str
) -> None:
    file = capture(tmp_path / "x.pcap", steady(times))
    done = sluicegate("replay", "x.pcap", "--rate", "1 Mbit/s", "--write", "after.pcapng", "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: x.pcap: the time of {names}, at byte ")
    assert "--on-jump skip" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.pcap"]
    for on_jump in ("skip", "shift"):
        replayed = sg.replay(file, rate="1 Mbit/s", queue="drop_tail:limit=10", on_jump=on_jump)
        link, about = replayed.links.to_dicts()[0], replayed.summary["capture"]
        # At most a packet in 8 ms at 1 Mbit/s: nothing is lost, and nothing waits.
        assert (link["drops_packets"], link["duration_s"] < 11) == (0, True)
        assert link["queueing_delay_max_ns"] < 5e6
        assert link["arrivals_packets"] + about["skipped_packets"] == len(times)
        assert (about["jumps"], about["times_kept"]) == (1, False)
        assert (link["moved_packets"] > 0) == (on_jump == "skip")
        assert any("flagged" in remark for remark in replayed.remarks())
    done = sluicegate("replay", "x.pcap", "--rate", "1 Mbit/s", "--on-jump", "shift")
    assert "warning: times leapt once" in done.stdout
    assert sluicegate("replay", "x.pcap", "--rate", "1 Mbit/s", "--on-jump", "jump").returncode == 2


def test_a_jump_under_one_of_several_disciplines_leaves_nothing(tmp_path: Path) -> None:
    file = capture(tmp_path / "x.pcap", steady(JUMPS["set back"][0]))
    with pytest.raises(sg.ScenarioError, match=r"packet 601, at byte .* --on-jump"):
        sg.replay(file, rate="1 Mbit/s", disciplines="drop_tail,red")
