"""Written captures, from replays and from the simulator, opened by another program: tshark, where it is installed."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from conftest import Program
from test_replay import blocks

import sluicegate as sg

CAPTURES = Path(__file__).parent / "captures"
TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")

CHECKED = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]


def tshark(file: Path, *arguments: str) -> list[str]:
    """What tshark prints; a complaint fails the test."""
    done = subprocess.run([str(TSHARK), "-n", "-r", str(file), *CHECKED, *arguments], capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if line and not line.startswith("Running as user")]
    assert (done.returncode, complaints) == (0, [])
    return done.stdout.splitlines()


def fields(file: Path, *names: str, where: str = "") -> list[list[str]]:
    options = [word for name in names for word in ("-e", name)]
    lines = tshark(file, "-T", "fields", *options, *(["-Y", where] if where else []))
    return [line.split("\t") for line in lines]


@needs_tshark
@pytest.mark.parametrize("file", sorted(CAPTURES.glob("*.pcap")), ids=lambda file: file.stem)
def test_what_a_replay_writes_opens_without_complaint(file: Path, tmp_path: Path) -> None:
    after = tmp_path / "after.pcapng"
    done = sg.replay(file, rate="3 Mbit/s", queue=sg.Red(min_th=3, max_th=9, action="mark"), write=after)
    names = ("frame.time_epoch", "frame.len", "frame.cap_len")
    before, written = fields(file, *names), fields(after, *names)
    assert len(written) == done.links["departures_packets"].item() > 0
    times = [float(time) for time, *_ in written]
    assert times == sorted(times)
    assert times[0] > float(before[0][0])
    lengths = [tuple(row[1:]) for row in before]
    assert all(lengths.count(tuple(row[1:])) > 0 for row in written)
    assert fields(after, "frame.protocols", where="_ws.malformed or ip.checksum.status == 0") == []
    # The kinds of packets are those of the original: the link layer has been kept.
    assert {p for [p] in fields(after, "frame.protocols")} <= {p for [p] in fields(file, "frame.protocols")}


@needs_tshark
def test_tshark_counts_the_same_flows() -> None:
    rows = fields(CAPTURES / "dumbbell.pcap", "ip.src", "ipv6.src", "udp.srcport", "tcp.srcport", "ip.len", "ipv6.plen")
    counted: dict[tuple[str, str], list[int]] = {}
    for four, six, udp, tcp, length4, length6 in rows:
        if udp or tcp:
            sums = counted.setdefault((four or six, udp or tcp), [0, 0])
            sums[0] += 1
            sums[1] += int(length4) if four else int(length6) + 40
    flows = sg.replay(CAPTURES / "dumbbell.pcap", rate="1 Gbit/s").flows.drop_nulls("source_port")
    ours = {
        (row["source"], str(int(row["source_port"]))): [row["arrivals_packets"], row["arrivals_bytes"]]
        for row in flows.to_dicts()
    }
    assert ours == counted


SCENARIO = """\
[network]
rate = "2 Mbit/s"
delay = "5 ms"

[queue]
discipline = "red"
min_th = 5
max_th = 25
max_p = 0.1
action = "mark"
above_max_th = "mark"

[[flows]]
kind = "tcp"
algorithm = "sack"
profile = "freebsd45"
window = "3145728 B"
size = "400 kB"

[[flows]]
kind = "tcp"
algorithm = "cubic"
ecn = true
size = "200 kB"

[[flows]]
kind = "tcp"
profile = "ns2"
window = 100
size = "100 kB"

[[flows]]
kind = "udp"
rate = "200 kbit/s"

[run]
duration = "20 s"
"""


@pytest.fixture
def traced(tmp_path: Path, sluicegate: Program) -> Path:
    (tmp_path / "s.toml").write_text(SCENARIO)
    done = sluicegate("run", "s.toml", "--pcap", "bottleneck", "--pcap", "bottleneck/back=back.pcapng", "-o", "out")
    assert (done.returncode, done.stderr) == (0, "")
    return tmp_path


@needs_tshark
def test_the_simulators_captures_are_right(traced: Path) -> None:
    there, back = traced / "out/bottleneck.pcapng", traced / "back.pcapng"
    for file in (there, back):
        wrong = "_ws.malformed or ip.checksum.status == 0 or tcp.checksum.status == 0 or udp.checksum.status == 0"
        assert fields(file, "frame.number", where=wrong) == []
    links, flows = (pl.read_parquet(traced / f"out/{name}.parquet") for name in ("links", "flows"))
    assert len(fields(there, "frame.number")) == links["departures_packets"].item()
    names = ("ip.src", "tcp.flags.syn", "tcp.seq_raw", "tcp.len", "tcp.flags.fin", "ip.len", "frame.len")
    rows = fields(there, *names, where="tcp")
    for flow, size in ((1, 400_000), (2, 200_000), (3, 100_000)):
        own = [row for row in rows if row[0] == f"10.0.0.{flow}"]
        assert own[0][1:4] == ["1", "0", "0"], "the SYN comes first, with number 0"
        data = [(int(row[2]), int(row[3])) for row in own if int(row[3])]
        # Every byte of the transfer crosses the link, and nothing beside it; the first has number 1.
        covered = bytearray(size)
        for start, length in data:
            covered[start - 1 : start - 1 + length] = b"\1" * length
        assert (len(covered), covered.count(1)) == (size, size)
        ends = {int(row[2]) + int(row[3]) for row in own if row[4] == "1"}
        fin = 0 if flow == 3 else 1  # the profile ns2 does not close
        assert ends == ({size + 1} if fin else set())
        assert sum(int(row[5]) for row in own) == pytest.approx(
            flows.filter(flow=flow)["throughput_bps"].item() * 20 / 8, abs=100
        )
        acks = fields(back, "tcp.ack_raw", "tcp.window_size", where=f"ip.dst == 10.0.0.{flow} and tcp.flags.syn == 0")
        numbers = [int(ack) for ack, _ in acks]
        assert numbers == sorted(numbers)
        assert numbers[-1] == size + 1 + fin
        if flow != 2:  # of Linux, whose window tunes itself
            window = {1: 3_145_728, 3: 96_000}[flow]
            assert all(0 <= window - int(shown) < 64 for _, shown in acks)
    assert all(row[5] == row[6] for row in rows), "raw IPv4, with the length that the packet had"
    marked = fields(there, "frame.number", where="ip.dsfield.ecn == 3")
    assert len(marked) == links["marked_packets"].item() > 0
    assert len(fields(there, "frame.number", where="tcp.flags.cwr == 1 and tcp.flags.syn == 0")) > 0
    assert len(fields(back, "frame.number", where="tcp.flags.ece == 1 and tcp.flags.syn == 0")) > 0
    sacks = fields(
        back, "ip.dst", "tcp.ack_raw", "tcp.options.sack_le", "tcp.options.sack_re", where="tcp.options.sack"
    )
    assert len(sacks) > 0
    for _, ack, left, right in sacks:
        ranges = zip(map(int, left.split(",")), map(int, right.split(",")), strict=True)
        # tshark shows the edges relative to the first number of the other direction, which is not in this file.
        assert all(int(ack) < start < end for start, end in ranges)


LINUX: tuple[Literal["cubic", "reno", "bbr", "dctcp", "prague"], ...] = ("cubic", "reno", "bbr", "dctcp", "prague")

SAID = {"seq": "tcp.seq_raw", "len": "tcp.len", "flags": "tcp.flags", "window": "tcp.window_size_value",
        "bytes": "ip.len", "ecn": "ip.dsfield.ecn", "stamp": "tcp.options.timestamp.tsval",
        "echo": "tcp.options.timestamp.tsecr", "sack": "tcp.options.sack_perm", "mss": "tcp.options.mss_val",
        "shift": "tcp.options.wscale.shift"}  # fmt: skip
"""What of a segment tshark is asked for."""


@needs_tshark
def test_captures_of_linux_hosts_say_what_was_on_the_wire(tmp_path: Path) -> None:
    """No timestamps, no PSH, the greatest window for the announced one, SACK for CUBIC only."""
    there, back = tmp_path / "there.pcapng", tmp_path / "back.pcapng"
    network = sg.dumbbell(rate="10 Mbit/s", delay="10 ms", queue=sg.Red(min_th=5, max_th=15, action="mark", limit=40))
    flows = [sg.Tcp(profile="linux", algorithm=name, size="400 kB") for name in LINUX]
    sg.simulate(network, flows, duration="30 s", seed=3, pcap={"bottleneck": there, "bottleneck/back": back})
    wrong = "_ws.malformed or ip.checksum.status == 0 or tcp.checksum.status == 0"
    seen: dict[str, list[list[dict[str, str]]]] = {}
    for file, end in ((there, "ip.src"), (back, "ip.dst")):
        assert fields(file, "frame.number", where=wrong) == []
        rows = [dict(zip((end, *SAID), row, strict=True)) for row in fields(file, end, *SAID.values())]
        seen[end] = [[row for row in rows if row[end] == f"10.0.0.{flow}"] for flow in range(1, 6)]
    for data, acks, algorithm in zip(seen["ip.src"], seen["ip.dst"], LINUX, strict=True):
        for rows in (data, acks):
            assert all(row["stamp"] for row in rows), algorithm
            syn = rows[0]
            assert int(syn["flags"], 16) & 2
            assert (syn["mss"], syn["shift"], syn["window"], syn["bytes"]) == ("1460", "10", "65160", "60")
            assert syn["sack"], algorithm
            # The window that is announced then begins small and grows with what comes.
            windows = [int(row["window"]) << 10 for row in rows[1:]]
            # As in a recording of Linux 6.18: two segments more with the first that comes.
            assert windows[0] == (68_608 if rows is acks else 65_536), algorithm
            assert (max(windows) > windows[0]) == (rows is acks)
        # The last segment of the transfer pushes; full segments are as long as the MTU.
        pushes = {int(row["seq"]) + int(row["len"]): int(row["flags"], 16) & 8 for row in data if int(row["len"])}
        assert pushes[400_001], algorithm
        assert max(int(row["bytes"]) for row in data) == 1500
        assert {row["echo"] for row in acks} <= {row["stamp"] for row in data}
    # Accurate ECN: the SYN has AE, CWR and ECE; its answer, and the answer to that, say that it was ECT(1);
    # then a counter of marked packets follows that begins at 5.
    ace = [[int(row["flags"], 16) >> 6 & 7 for row in seen[end][4]] for end in ("ip.src", "ip.dst")]
    assert (ace[0][:3], ace[1][:2]) == ([7, 3, 5], [3, 5])
    marked = [row["ecn"] for row in seen["ip.src"][4]].count("3")
    assert ace[1][-1] == (5 + marked) % 8 != 5


@needs_tshark
def test_a_segment_that_came_twice_is_reported_as_such(tmp_path: Path) -> None:
    """Reordering makes Linux's hosts send again what was under way: the receiver says so (RFC 2883)."""
    back = tmp_path / "back.pcapng"
    network = sg.dumbbell(rate="20 Mbit/s", delay="10 ms")
    flow = sg.Tcp(profile="linux", algorithm="reno", size="2 MB")
    sets = {"network.jitter": "20 ms", "network.reordering": True}
    sg.simulate(network, flow, duration="20 s", seed=1, sets=sets, pcap={"bottleneck/back": back})
    found = fields(back, "tcp.options.sack.dsack_le", "tcp.ack_raw", where="tcp.options.sack.dsack")
    assert len(found) > 0


def test_a_replay_of_what_arrived_is_what_the_simulator_sent(tmp_path: Path) -> None:
    """One source on a fast access link: its capture replayed at the bottleneck's rate leaves as in the simulation."""
    network = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", access_rate="100 Mbit/s", queue=sg.DropTail(limit=20))
    source = sg.OnOff(rate="5 Mbit/s", on_mean="50 ms", off_mean="150 ms")
    links = {"bottleneck": tmp_path / "sent.pcapng", "flow/1/access": tmp_path / "arrived.pcapng"}
    run = sg.simulate(network, source, duration="20 s", seed=4, pcap=links)
    done = sg.replay(
        links["flow/1/access"], rate="1 Mbit/s", queue=sg.DropTail(limit=20), write=tmp_path / "again.pcapng"
    )
    from test_replay import blocks

    simulated = [(at, data) for at, _, data in blocks(links["bottleneck"])]
    replayed = [(at, data) for at, _, data in blocks(tmp_path / "again.pcapng")]
    # The run ends at 20 s; the replay goes on until its queue is empty.
    assert 0 <= len(replayed) - len(simulated) <= 21
    assert simulated == replayed[: len(simulated)]
    assert done.links["drops_tail"].item() >= run.links["drops_tail"].item() > 100


def test_links_of_a_capture_are_checked_before_the_run(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    for arguments, says in (
        (["--pcap", "bottlenek=x.pcapng"], 'no such link; did you mean "bottleneck"?'),
        (["--pcap", "flow/0/access=x.pcapng"], "no such link; links: bottleneck, "),
        (["--pcap", "flow/0/access=x.pcapng"], "; of single flows: flow/1/access to flow/"),
        (["--pcap", "bottleneck"], "say where to write it"),
        (["--pcap", "=x"], "must be LINK or LINK=FILE"),
        (["--pcap", "bottleneck=x", "--pcap", "bottleneck=y"], "given twice"),
        (["--pcap", "bottleneck=small.toml/x"], "not a directory"),
    ):
        done = sluicegate("run", small, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_capturing_changes_nothing_of_a_run(tmp_path: Path) -> None:
    settings = {"run.duration": "20 s", "run.warmup": "5 s"}
    plain = sg.run("topology", sets=settings)
    for link in ("first", "first/back", "second/back"):
        captured = sg.run("topology", sets=settings, pcap={link: tmp_path / "link.pcapng"})
        assert captured.flows.equals(plain.flows), link
        assert captured.links.equals(plain.links), link
    network, source = sg.dumbbell(rate="1 Mbit/s"), sg.Udp(rate="0.5 Mbit/s", access_jitter="5 ms", spread="0 s")
    file = tmp_path / "access.pcapng"
    sg.simulate(network, source, duration="2 s", pcap={"flow/1/access": file})
    times = [time for time, _, _ in blocks(file)]
    # 1000 bytes at 0.5 Mbit/s, without the jitter, and nothing that the end came before.
    assert {late - early for early, late in itertools.pairwise(times)} == {16_000_000}
    assert len(times) in (124, 125)
    assert times[-1] <= 2 * 10**9


def test_two_captures_in_one_file_are_refused(sluicegate: Program, small: Path, tmp_path: Path) -> None:
    done = sluicegate("run", small, "--pcap", "bottleneck=x.pcapng", "--pcap", "bottleneck/back=./x.pcapng")
    assert done.returncode == 2
    assert done.stderr.endswith("x.pcapng: two links cannot be written to one file\n")
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_pipes_are_not_replaced_and_links_are_followed(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a plain file"):
        sg.replay(CAPTURES / "raw.pcap", rate="1 Mbit/s", write=pipe)
    assert pipe.is_fifo()
    link.symlink_to("real.pcapng")
    sg.replay(CAPTURES / "raw.pcap", rate="1 Mbit/s", write=link)
    assert link.is_symlink()
    assert (tmp_path / "real.pcapng").is_file()
