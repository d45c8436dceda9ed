"""Captures replayed: what is reported, what is written, and what is said of captures that are damaged or none."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import IO

import polars as pl
import psutil
import pytest
from conftest import PROGRAM, Program
from interrupting import interrupt

import sluicegate as sg
from sluicegate import _core
from sluicegate.experiments.replay import DRAWN, file_names

ROOT = Path(__file__).parents[1]
CAPTURES = ROOT / "tests" / "captures"
DUMBBELL = CAPTURES / "dumbbell.pcap"
ALL = sorted(CAPTURES.glob("*.pcap"))
TABLES = {table["name"]: table["columns"] for table in json.loads(_core.declarations())["replay_tables"]}


def records(file: Path) -> list[tuple[float, int, bytes]]:
    """Time, original length and data of each packet of a little-endian pcap file, read without the simulator."""
    content = file.read_bytes()
    scale = 1e9 if content[:4] == b"\x4d\x3c\xb2\xa1" else 1e6
    found, at = [], 24
    while at < len(content):
        seconds, fraction, captured, original = struct.unpack_from("<IIII", content, at)
        found.append((seconds + fraction / scale, original, content[at + 16 : at + 16 + captured]))
        at += 16 + captured
    return found


@pytest.mark.parametrize("file", ALL, ids=lambda file: file.stem)
def test_every_packet_of_every_capture_crosses_a_fast_link(file: Path) -> None:
    done = sg.replay(file, rate="10 Gbit/s", length="frame")
    packets = records(file)
    [link] = done.links.to_dicts()
    assert link["arrivals_packets"] == link["departures_packets"] == len(packets) > 0
    assert link["arrivals_bytes"] == sum(original for _, original, _ in packets)
    assert done.summary["capture"]["first_packet_ns"] == pytest.approx(packets[0][0] * 1e9, abs=1000)
    assert done.damage is None
    # All of them are IP, and none is cut so short, or has lost its first fragment, that its flow is not known.
    assert set(done.flows["kind"]) == {"flow"}
    assert set(done.summary["capture"]["other"].values()) == {0}


def test_flows_are_told_apart_as_the_capture_was_made() -> None:
    flows = sg.replay(DUMBBELL, rate="10 Gbit/s").flows
    arrived = dict(zip(flows["name"], flows["arrivals_packets"], strict=True))
    assert arrived["10.77.0.1:40005 > 10.77.0.2:5005 udp"] == 400
    row = flows.filter(pl.col("name") == "10.77.0.1:40005 > 10.77.0.2:5005 udp").row(0, named=True)
    assert (row["source"], row["source_port"], row["destination"], row["destination_port"], row["protocol"]) == (
        "10.77.0.1", 40005, "10.77.0.2", 5005, "udp",
    )  # fmt: skip
    assert row["arrivals_bytes"] == 400 * 1000
    for name in ("10.77.0.1:40001 > 10.77.0.2:5001 tcp", "[fd77::1]:40003 > [fd77::2]:5003 tcp"):
        assert arrived[name] > 100  # 150 kB in segments of a wire
    tagged = sg.replay(CAPTURES / "tagged.pcap", rate="10 Gbit/s").flows
    arrived = dict(zip(tagged["name"], tagged["arrivals_packets"], strict=True))
    assert arrived == {
        "10.77.0.1:40007 > 10.77.0.2:5005 udp": 6,  # three with one tag, three with two
        "[fd77::1]:40008 > [fd77::2]:5005 udp": 6,
        "10.77.0.1:40010 > 10.77.0.2:5005 udp": 9,  # three datagrams of three fragments
        "[fd77::1]:40011 > [fd77::2]:5005 udp": 9,
        "10.77.0.1 > 10.77.0.2 icmp": 1,
    }


def test_the_command_prints_writes_and_tells_that_senders_do_not_react(sluicegate: Program, tmp_path: Path) -> None:
    done = sluicegate(
        "replay", DUMBBELL, "--rate", "3 Mbit/s", "--discipline", "choke:candidates=2", "--set", "queue.choke.min_th=5",
        "--set", "queue.choke.max_th=15", "--seed", "7", "--top", "3", "-o", "out/new", "--write", "after.pcapng",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    largest = [line for line in lines if " > " in line]
    assert len(largest) == 3
    assert "10.77.0.1:40005 > 10.77.0.2:5005 udp" in largest[0]
    assert any("smaller flows" in line for line in lines)
    assert "A recorded sender does not react" in done.stdout
    summary = json.loads((tmp_path / "out/new/summary.json").read_text("utf-8"))
    assert (summary["seed"], summary["version"]) == (7, sg.__version__)
    assert summary["replay"]["queue"]["candidates"] == 2
    assert summary["replay"]["rate"] == "3 Mbit/s"
    flows = pl.read_parquet(tmp_path / "out/new/flows.parquet")
    totals = summary["totals"]
    assert flows["arrivals_packets"].sum() == totals["arrivals_packets"] == len(records(DUMBBELL))
    assert flows["drops_match"].sum() > 0
    assert totals["arrivals_packets"] == totals["departures_packets"] + totals["drops_packets"]
    read = sg.replay(tmp_path / "after.pcapng", rate="10 Gbit/s")
    assert read.summary["capture"]["format"] == "pcapng"
    assert read.summary["capture"]["packets"] == totals["departures_packets"]
    assert sorted(path.name for path in (tmp_path / "out/new").iterdir()) == sorted([*file_names(), *DRAWN])


def test_the_tables_have_the_declared_columns_and_the_manual_defines_them() -> None:
    done = sg.replay(DUMBBELL, rate="3 Mbit/s")
    kinds = {"f64": pl.Float64, "i64": pl.Int64, "str": pl.String}
    page = (ROOT / "docs/reference/results-columns.md").read_text("utf-8")
    for name, columns in TABLES.items():
        assert dict(done.table(name).schema) == {c["name"]: kinds[c["dtype"]] for c in columns}
        section = page.split(f"\n### replay: {name}\n")[1].split("\n##")[0]
        assert all(f"| `{column['name']}` |" in section for column in columns)


def test_what_a_replay_does_not_have_is_no_attribute() -> None:
    """`hasattr(replay, "queue")` raised KeyError."""
    done = sg.replay(DUMBBELL, rate="10 Gbit/s")
    assert (hasattr(done, "flows"), hasattr(done, "links"), hasattr(done, "queue")) == (True, True, True)
    assert not hasattr(done, "flow_series")
    assert not hasattr(done, "exchanges")
    with pytest.raises(KeyError, match="a replay has the tables"):
        done.table("state")


def test_python_takes_disciplines_in_every_form_and_equal_replays_are_equal() -> None:
    forms = [
        sg.Choke(min_th=5, max_th=15, limit=50),
        "choke:min_th=5:max_th=15:limit=50",
    ]
    tables = [sg.replay(DUMBBELL, rate="3 Mbit/s", queue=form, seed=3).flows for form in forms]
    sets = {"queue.discipline": "choke", "queue.min_th": 5, "queue.max_th": 15, "queue.limit": 50}
    tables.append(sg.replay(DUMBBELL, rate="3 Mbit/s", sets=sets, seed=3).flows)
    assert all(table.equals(tables[0], null_equal=True) for table in tables)
    other = sg.replay(DUMBBELL, rate="3 Mbit/s", queue=forms[0], seed=4).flows
    assert not other.drop("key").equals(tables[0].drop("key"), null_equal=True)


def test_a_discipline_of_ones_own_gives_what_the_same_one_in_rust_gives() -> None:
    values = "min_th=5:max_th=15:limit=50"
    ours = sg.replay(DUMBBELL, rate="3 Mbit/s", queue=f"choke:{values}")
    own = sg.replay(DUMBBELL, rate="3 Mbit/s", queue=f"{ROOT / 'docs/examples/choke.py'}:Choke:{values}")
    assert own.flows.equals(ours.flows, null_equal=True)
    assert own.summary["own_discipline"]["arguments"]["min_th"] == 5
    assert ours.links["drops_match"].item() > 0


class Raises:
    """A discipline with a mistake."""

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        raise LookupError("a mistake")

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return None


def test_an_exception_of_ones_own_discipline_ends_the_replay_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="a mistake"):
        sg.replay(DUMBBELL, rate="3 Mbit/s", queue=Raises, write=tmp_path / "after.pcapng")
    assert list(tmp_path.iterdir()) == []


def test_marks_are_in_the_written_packets(tmp_path: Path) -> None:
    queue = sg.Red(min_th=2, max_th=10, w_q=0.5, action="mark", above_max_th="mark", limit=500)
    done = sg.replay(DUMBBELL, rate="5 Mbit/s", queue=queue, write=tmp_path / "after.pcapng")
    marked = done.links["marked_packets"].item()
    assert marked > 10
    # Nothing was marked when it was recorded, so that each mark in the file is the queue's.
    data = [packet for _, _, packet in blocks(tmp_path / "after.pcapng")]
    assert sum(ecn(packet) == 3 for packet in data) == marked
    assert sum(ecn(packet) == 3 for _, _, packet in records(DUMBBELL)) == 0
    for packet in data:
        if packet[12:14] == b"\x08\x00":
            words = struct.unpack("!10H", packet[14:34])
            assert sum(words) % 0xFFFF == 0, "the header checksum"


def test_a_dscp_chooses_cakes_tin_and_is_washed_out(tmp_path: Path) -> None:
    """All packets of a capture were best effort, and kept their DSCP."""
    packets = [struct.pack("!BBHHHBBH8B", 0x45, tos, 200, number, 0, 64, 17, 0, 10, 0, 0, 1, 10, 0, 0, 2) + bytes(180)
               for number, tos in enumerate([2, 2, 2, 2, 2, 46 << 2 | 1])]  # fmt: skip
    head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    (tmp_path / "six.pcap").write_bytes(head + b"".join(struct.pack("<IIII", 1, 0, 200, 200) + p for p in packets))
    queue = sg.Cake(bandwidth="1 Mbit/s", wash=True)
    sg.replay(tmp_path / "six.pcap", rate="8 Mbit/s", queue=queue, write=tmp_path / "after.pcapng")
    after = [data for _, _, data in blocks(tmp_path / "after.pcapng")]
    assert [data[5] for data in after] == [0, 5, 1, 2, 3, 4]
    assert [data[1] for data in after] == [2, 1, 2, 2, 2, 2]


def ecn(frame: bytes) -> int:
    return frame[15] & 3 if frame[12:14] == b"\x08\x00" else frame[15] >> 4 & 3


def blocks(file: Path) -> list[tuple[int, int, bytes]]:
    """Time, original length and data of each packet of a pcapng file, read without the simulator."""
    content, at, found = file.read_bytes(), 0, []
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 6:
            _, high, low, captured, original = struct.unpack_from("<IIIII", content, at + 8)
            found.append((high << 32 | low, original, content[at + 28 : at + 28 + captured]))
        at += length
    return found


# --- what cannot be used, and what is damaged --------------------------------------------------


def test_a_damaged_capture_is_replayed_up_to_the_damage(sluicegate: Program, tmp_path: Path) -> None:
    whole = DUMBBELL.read_bytes()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole[:50_000])
    done = sluicegate("replay", cut, "--rate", "3 Mbit/s", "--write", "after.pcapng", "-o", "out")
    assert done.returncode == 1
    sizes = [16 + len(data) for _, _, data in records(DUMBBELL)]
    offset, count = 24, 0
    while offset + sizes[count] <= 50_000:
        offset, count = offset + sizes[count], count + 1
    assert done.stderr == (
        f"error: {cut}: damaged at byte {offset}: the file ends after {50_000 - offset} bytes "
        f"of a record of at least {sizes[count] if 50_000 - offset >= 16 else 16}\n"
    )
    assert f"the {count} packets before it were replayed" in done.stdout
    summary = json.loads((tmp_path / "out/summary.json").read_text("utf-8"))
    assert summary["capture"]["damage"]["offset_bytes"] == offset
    assert (tmp_path / "after.pcapng").exists()
    again = sg.replay(cut, rate="3 Mbit/s")
    assert again.damage is not None
    assert str(offset) in again.damage


def test_a_time_years_ahead_is_an_error_and_stalls_nothing(sluicegate: Program, tmp_path: Path) -> None:
    # Three packets of the capture, the last one's seconds set to 2096: penalty_box would wake every 5 s until then.
    whole = DUMBBELL.read_bytes()
    sizes = [16 + len(data) for _, _, data in records(DUMBBELL)][:3]
    at = 24 + sum(sizes[:2])
    far = tmp_path / "far.pcap"
    far.write_bytes(whole[:at] + struct.pack("<I", 4_000_000_000) + whole[at + 4 : at + sizes[2]])
    command = ["replay", far, "--rate", "1 Mbit/s", "--discipline", "penalty_box", "--json"]
    done = sluicegate(*command)
    assert done.returncode == 2
    assert f"the time of packet 3, at byte {at}, lies " in done.stderr
    arrived = {"skip": 2, "shift": 3}
    for on_jump, packets in arrived.items():
        done = sluicegate(*command, "--on-jump", on_jump)
        assert (done.returncode, json.loads(done.stdout)["links"][0]["arrivals_packets"]) == (0, packets)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty: record it again"),
        (b"rate = 1\n" * 9, "is not a capture: its first bytes are those of neither pcap nor pcapng"),
        (gzip.compress(DUMBBELL.read_bytes()), "is compressed (gzip): unpack it first"),
        (DUMBBELL.read_bytes()[:24], "holds no packet"),
        (DUMBBELL.read_bytes()[:60], "is damaged at byte 24, before the first packet"),
    ],
    ids=["empty", "text", "gzip", "no packet", "nothing whole"],
)
def test_what_is_no_capture_is_refused(sluicegate: Program, tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "x.pcap").write_bytes(content)
    done = sluicegate("replay", "x.pcap", "--rate", "1 Mbit/s", "--write", "after.pcapng", "-o", "out")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: x.pcap: {says}")
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["x.pcap"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.pcap", "--rate", "1 Mbit/s"], "nowhere.pcap: No such file or directory"),
        ([".", "--rate", "1 Mbit/s"], ".: is a directory, not a capture"),
        ([DUMBBELL, "--rate", "fast"], 'rate = "fast": must be a rate with its unit, such as "1 Mbit/s"'),
        ([DUMBBELL, "--rate", "0 bit/s"], 'rate = "0 bit/s": must be above 0 bit/s'),
        ([DUMBBELL, "--rate", "1 Mbit/s", "--discipline", "chok"], 'did you mean "choke"?'),
        ([DUMBBELL, "--rate", "1 Mbit/s", "--discipline", "red,choke"], "a replay has one discipline"),
        ([DUMBBELL, "--rate", "1 Mbit/s", "--discipline", "choke:min=3"], "queue.choke.min: no such key"),
        ([DUMBBELL, "--rate", "1 Mbit/s", "--length", "both"], "length"),
        ([DUMBBELL, "--rate", "1 Mbit/s", "--flows", "0"], "flows = 0"),
        ([DUMBBELL, "--rate", "1 Mbit/s", "--write", DUMBBELL], "is the capture itself"),
        ([DUMBBELL, "--rate", "1 Mbit/s", "--write", "."], "is a directory"),
        ([DUMBBELL, "--rate", "1 Mbit/s", "--write", f"{DUMBBELL}/x"], "not a directory"),
    ],
)
def test_what_is_asked_wrongly_is_answered(sluicegate: Program, arguments: list[str], says: str) -> None:
    done = sluicegate("replay", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_has_examples(sluicegate: Program) -> None:
    text = " ".join(sluicegate("replay", "--help").stdout.split())
    assert 'sluicegate replay day.pcap --rate "10 Mbit/s" --discipline' in text
    assert "Recorded senders do not react" in text


# --- streaming ---------------------------------------------------------------------------------


def test_standard_input_is_read(tmp_path: Path) -> None:
    command = [PROGRAM, "replay", "-", "--rate", "3 Mbit/s", "--json"]
    done = subprocess.run(command, input=DUMBBELL.read_bytes(), capture_output=True, cwd=tmp_path, check=True)
    piped = json.loads(done.stdout)
    assert piped["links"] == sg.replay(DUMBBELL, rate="3 Mbit/s").links.to_dicts()


@pytest.mark.parametrize("busy", [True, False], ids=["while it works", "while it waits"])
def test_an_interrupt_ends_a_replay_within_a_second(tmp_path: Path, busy: bool) -> None:
    options = ["--on-jump", "shift", "--write", "after.pcapng", "-o", "out"]
    command = [PROGRAM, "replay", "-", "--rate", "3 Mbit/s", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as child:
        assert child.stdin is not None
        feeder = threading.Thread(target=feed, args=(child.stdin, busy))
        feeder.start()
        try:
            while not (written_so_far(tmp_path) > 1e6 if busy else written_so_far(tmp_path) and waits(child)):
                assert child.poll() is None, "it should still run"
                time.sleep(0.01)
            written = interrupt(child)
        finally:
            child.kill()
            feeder.join()
    assert (child.returncode, written) == (130, (b"", b""))
    assert list(tmp_path.iterdir()) == []


def feed(pipe: IO[bytes], again: bool) -> None:
    """Write the capture, then, if `again`, again and again while somebody reads: its times go back each time."""
    whole = DUMBBELL.read_bytes()
    with contextlib.suppress(BrokenPipeError):
        pipe.write(whole)
        while again:
            pipe.write(whole[24:])


def written_so_far(folder: Path) -> int:
    """Bytes of after.pcapng, where it is until the replay has ended."""
    return sum(path.stat().st_size for path in folder.glob(".sluicegate-*/after.pcapng"))


def waits(child: subprocess.Popen[bytes]) -> bool:
    """Whether `child` has read all that it was given, and sleeps."""
    assert child.stdin is not None
    left = fcntl.ioctl(child.stdin, termios.FIONREAD, bytes(4))
    return not any(left) and psutil.Process(child.pid).status() == psutil.STATUS_SLEEPING


MEASURE = """
import resource, sys
import sluicegate as sg
done = sg.replay("-", rate="900 Mbit/s", queue="drop_tail:limit=1000", flows=5000)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(done.summary["capture"]["read_bytes"], done.summary["totals"]["flows"], peak)
"""


def test_a_large_capture_needs_no_more_memory_than_a_small_one() -> None:
    """300 MB of 60,000 flows against 3 MB of as many, through a pipe; 5000 rows of at most 3 kB are the bound."""
    import numpy as np

    head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    ip = struct.pack("!BBHHHBBH4s4sHHHH", 0x45, 0, 1000, 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2", 0, 53, 980, 0)
    kind = np.dtype([("s", "<u4"), ("us", "<u4"), ("captured", "<u4"), ("original", "<u4"), ("ip", "V20"),
                     ("port", ">u2"), ("udp", "V6"), ("data", "V28")])  # fmt: skip
    count = 60_000
    chunk = np.zeros(count, kind)
    chunk["captured"], chunk["original"] = 56, 1000
    chunk["ip"], chunk["udp"] = np.void(ip[:20]), np.void(ip[22:28])
    chunk["port"] = np.arange(count)

    def peak(chunks: int) -> tuple[int, int, int]:
        pipe = subprocess.PIPE
        with subprocess.Popen([sys.executable, "-c", MEASURE], stdin=pipe, stdout=pipe) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(head)
            for k in range(chunks):
                now = (np.arange(count, dtype=np.uint64) + k * count) * 8  # microseconds: 8 for 1000 bytes at 1 Gbit/s
                chunk["s"], chunk["us"] = now // 1_000_000, now % 1_000_000
                child.stdin.write(chunk.tobytes())
            child.stdin.close()
            read, rows, kilobytes = map(int, child.stdout.read().split())
        assert child.returncode == 0
        return read, rows, kilobytes * 1024

    small, large = peak(1), peak(70)
    assert small[0] == 24 + count * 72
    assert large[0] == 24 + 70 * count * 72 > 300e6
    assert small[1] == large[1] == 5000
    assert large[2] - small[2] < 16e6


def test_the_table_names_flows_whole_on_a_narrow_terminal(sluicegate: Program) -> None:
    done = sluicegate("replay", DUMBBELL, "--rate", "3 Mbit/s", "--top", "3")
    assert "…" not in done.stdout
    assert " > " in done.stdout.splitlines()[3]


def test_help_says_what_several_disciplines_exclude(sluicegate: Program) -> None:
    text = " ".join(sluicegate("replay", "--help").stdout.split())
    assert "Not with --write or standard input." in text
    assert "as pcapng. One discipline only." in text
