"""Traffic learnt from captures of which the truth is known: senders, bursts, pieces, names; and long captures."""

from __future__ import annotations

import ssl
import struct
import subprocess
import sys
from ipaddress import IPv4Address
from itertools import islice
from pathlib import Path

import pytest
from test_learn import INSIDE, OFFICE, captured

import sluicegate as sg
from sluicegate.learning import services, sightings
from sluicegate.learning.learnt import learn
from sluicegate.learning.model import Learnt
from sluicegate.learning.traffic import Group
from sluicegate.learning.write import text, write

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from learn_proof import many_connections

NETWORK = '[network]\nrate = "20 Mbit/s"\ndelay = "5 ms"\n'
TAIL = '[queue]\ndiscipline = "drop_tail"\nlimit = 100\n'
CODEL = '[queue]\ndiscipline = "codel"\necn = true\n'


def learnt(folder: Path, scenario: str, places: int = 3) -> Learnt:
    """What is learnt of a scenario, from the first places of capture; what is written is valid."""
    done = learn(captured(folder, scenario)[:places], inside=[INSIDE])
    write(done, folder / "learnt.toml")
    sg.check(folder / "learnt.toml")
    return done


def transfers(folder: Path, keys: str, queue: str = TAIL, seconds: int = 25) -> Group:
    """The only group of transfers of this kind."""
    flows = f'[[flows]]\nkind = "tcp"\nrtt = "40 ms"\n{keys}\n[run]\nduration = "{seconds} s"\nwarmup = "0 s"\n'
    [group] = learnt(folder, NETWORK + queue + flows).groups
    return group


@pytest.mark.parametrize(
    ("keys", "queue", "told"),
    [
        ('algorithm = "reno"\ncount = 3', TAIL, "reno"),
        ('algorithm = "cubic"\ncount = 3', TAIL, "cubic"),
        ('algorithm = "reno"\necn = true', CODEL, "reno"),
        ('algorithm = "cubic"\necn = true', CODEL, "cubic"),
        ('algorithm = "bbr"', TAIL, "bbr"),
        ('algorithm = "bbr3"', TAIL, "bbr3"),
        ('algorithm = "dctcp"\necn = true', CODEL, "dctcp"),
        ('algorithm = "prague"', '[queue]\ndiscipline = "dualpi2"\n', "prague"),
    ],
)
def test_a_congestion_control_is_told_by_its_signature(tmp_path: Path, keys: str, queue: str, told: str | None) -> None:
    group = transfers(tmp_path, keys, queue)
    assert group.keys.get("algorithm") == told
    assert group.keys.get("ecn", False) is ("ecn" in keys or told == "prague")


def test_growth_tells_reno_where_losses_are_few(tmp_path: Path) -> None:
    """In twelve seconds at 80 ms, windows of 70 packets and more are reduced once or twice after slow start."""
    network = '[network]\nrate = "20 Mbit/s"\ndelay = "40 ms"\n[queue]\ndiscipline = "codel"\n'
    told = {}
    for algorithm in ("reno", "cubic"):
        flows = f'[[flows]]\nkind = "tcp"\nalgorithm = "{algorithm}"\ncount = 2\n[run]\nduration = "12 s"\n'
        [told[algorithm]] = learnt(tmp_path, network + flows).groups
    assert told["reno"].keys["algorithm"] == "reno"
    assert "reno: the window kept 0.49 of its size and grew by 0.99 in a round trip" in told["reno"].said
    assert told["cubic"].keys.get("algorithm") in ("cubic", None)


def test_too_few_losses_tell_no_congestion_control(tmp_path: Path) -> None:
    assert "algorithm" not in transfers(tmp_path, 'algorithm = "cubic"', seconds=3).keys


def test_the_receivers_window_is_told_where_it_holds_the_sender(tmp_path: Path) -> None:
    group = transfers(tmp_path, "window = 30\ncount = 2", seconds=6)
    assert (group.name, group.keys["window"]) == ("downloads", 30)
    assert "window" not in transfers(tmp_path, "count = 2", seconds=6).keys


def test_bursts_are_told_from_packets_at_random(tmp_path: Path) -> None:
    flows = """
[[flows]]
kind = "on_off"
rate = "5 Mbit/s"
on_mean = "20 ms"
off_mean = "60 ms"
packet_size = "1200 B"
[[flows]]
kind = "poisson"
rate = "1 Mbit/s"
[run]
duration = "60 s"
"""
    groups = {group.kind: group for group in learnt(tmp_path, NETWORK + TAIL + flows, places=2).groups}
    assert groups.keys() == {"on_off", "poisson"}
    keys = groups["on_off"].keys
    # Some 750 bursts, whose lengths deviate by as much as they are long: 1/sqrt(750) is 3.7 %, and three times that. A
    # silence of three gaps or less is not seen as one, which makes both longer by up to a tenth.
    for key, mean in (("on_mean", 20.0), ("off_mean", 60.0)):
        assert float(keys[key].split()[0]) == pytest.approx(mean, rel=0.21)
    assert int(keys["rate"].split()[0]) == pytest.approx(5e6, rel=0.1)


def test_pieces_are_told_from_a_page(tmp_path: Path) -> None:
    pieces = "t 2000000\n".join(["> 400\nt 10000\n< 600000\n"] * 5)
    page = "t 200000\n".join(["> 400\nt 10000\n< 20000\n"] * 5)
    vectors = "".join(
        f"SEQ {at * 500_000} 5 {at} {at}\nr 40000\n{pieces if at % 2 else page}" for at in range(1, 7)
    )  # fmt: skip
    (tmp_path / "both.cvec").write_text(vectors)
    flows = f'[[flows]]\nkind = "connections"\nvectors = "{tmp_path / "both.cvec"}"\n[run]\nduration = "18 s"\n'
    groups = {group.name: group for group in learnt(tmp_path, NETWORK + TAIL + flows).groups}
    assert {name: group.count for name, group in groups.items()} == {"web": 3, "video over TCP": 3}
    assert "pieces of 600 kB, one every 2." in groups["video over TCP"].said
    found = sg.vectors(tmp_path / "learnt.video.cvec")
    assert (found.connections, found.acceptor_bytes) == (3, 3 * 5 * 600_000)


class Capture:
    """Writes a pcap of IP packets between a host at home and others."""

    def __init__(self) -> None:
        self._records: list[tuple[float, bytes]] = []

    def packet(self, time: float, ends: tuple[str, str], protocol: int, content: bytes) -> None:
        addresses = b"".join(IPv4Address(end).packed for end in ends)
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), len(self._records) % 65536, 0, 64, protocol, 0)
        self._records.append((time, head + addresses + content))

    def tcp(self, time: float, ends: tuple[str, str], ports: tuple[int, int], seq: int, ack: int, flags: int,
            content: bytes = b"") -> None:  # fmt: skip
        head = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65000, 0, 0)
        self.packet(time, ends, 6, head + content)

    def write(self, path: Path) -> Path:
        raw = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
        for time, packet in sorted(self._records, key=lambda record: record[0]):
            whole = int(time)
            raw += struct.pack("<IIII", whole, int((time - whole) * 1e6), len(packet), len(packet)) + packet
        path.write_bytes(raw)
        return path


def hello(name: str) -> bytes:
    """What OpenSSL says first to the server of this name."""
    said = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), said, server_hostname=name).do_handshake()
    return said.read()


def test_names_of_servers_choose_a_category_and_stand_nowhere(tmp_path: Path) -> None:
    capture = Capture()
    home, names = "192.168.1.7", ["rr4---sn-4g5e.googlevideo.com", "private-clinic.example"]
    for at, name in enumerate(names):
        there, ports = f"203.0.113.{at + 1}", (40000 + at, 443)
        asked = hello(name)
        out, back = (home, there), (there, home)
        capture.tcp(1, out, ports, 99, 0, 2)
        capture.tcp(1.02, back, ports[::-1], 499, 100, 18)
        capture.tcp(1.02001, out, ports, 100, 500, 24, asked)
        for segment in range(40):
            capture.tcp(
                1.05 + segment / 100, back, ports[::-1], 500 + 1000 * segment, 100 + len(asked), 16, bytes(1000)
            )
            capture.tcp(1.0501 + segment / 100, out, ports, 100 + len(asked), 1500 + 1000 * segment, 16)
    path = capture.write(tmp_path / "host.pcap")
    assert set(sg.read_capture(path).flows["server_name"]) == set(names)
    done = learn(path)
    write(done, tmp_path / "learnt.toml")
    sg.check(tmp_path / "learnt.toml")
    assert {group.name: group.count for group in done.groups} == {"web": 1, "video over TCP": 1}
    written = [text(done, "learnt", addresses) for addresses in (False, True)]
    for name in names:
        assert [name in each for each in written] == [False, True]
        assert not any(name.encode() in file.read_bytes() for file in tmp_path.glob("learnt*"))
    assert services.category("notgooglevideo.com") is None


def test_a_game_sends_unlike_in_both_directions_a_call_alike(tmp_path: Path) -> None:
    capture = Capture()
    home = "192.168.1.7"
    for host, down, up in (("203.0.113.1", 200, 90), ("203.0.113.2", 172, 172)):
        for at in range(200):
            for size, ends in ((down, (host, home)), (up, (home, host))):
                content = struct.pack(">HHHH", 40000, 40000, size - 20, 0) + bytes(size - 28)
                capture.packet(1 + at * 0.02, ends, 17, content)
    names = {(group.name, group.down) for group in learn(capture.write(tmp_path / "host.pcap")).groups}
    assert names == {("game", True), ("game", False), ("call", True), ("call", False)}


def test_transfers_over_quic_react(tmp_path: Path) -> None:
    capture = Capture()
    down, up = ("203.0.113.1", "192.168.1.7"), ("192.168.1.7", "203.0.113.1")
    for at in range(600):
        capture.packet(1 + at * 0.01, down, 17, struct.pack(">HHHH", 443, 40000, 1260, 0) + bytes(1252))
        if at % 2:
            capture.packet(1.0001 + at * 0.01, up, 17, struct.pack(">HHHH", 40000, 443, 40, 0) + bytes(32))
    done = learn(capture.write(tmp_path / "host.pcap"), inside=["192.168.0.0/16"])
    write(done, tmp_path / "learnt.toml")
    sg.check(tmp_path / "learnt.toml")
    [group] = done.groups
    assert (group.name, group.kind, group.down, group.keys["packet_size"]) == ("QUIC downloads", "tcp", True, "1280 B")


LONG = f"""{OFFICE}
[[flows]]
kind = "connections"
arrivals = 5
[run]
duration = "12 s"
"""


def test_a_capture_in_chunks_says_what_it_says_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = captured(tmp_path, NETWORK + TAIL + LONG)
    once = learn(files, inside=[INSIDE])
    monkeypatch.setattr(sightings, "CHUNK", 9_000)
    done = learn(files, inside=[INSIDE])
    assert [group.name for group in done.groups] == [group.name for group in once.groups]
    assert any("the busiest" in remark for remark in done.remarks)
    assert done.forward.bytes == once.forward.bytes
    assert done.seconds == once.seconds
    rates = [each.forward.rate.bps for each in (once, done) if each.forward.rate is not None]
    assert rates == pytest.approx([20e6] * 2, rel=1e-6)
    # Each connection's shortest round trip lies within one chunk or another, but for a few that a border cuts.
    assert done.rtts_ms.keys() <= once.rtts_ms.keys()
    assert len(done.rtts_ms) >= 0.9 * len(once.rtts_ms)
    assert all(trip >= once.rtts_ms[flow] - 1e-9 for flow, trip in done.rtts_ms.items())
    for one, other in zip(once.groups, done.groups, strict=True):
        assert (one.count, one.flows) == (other.count, other.flows)
        same = [key for key in one.keys if key not in ("rtts", "algorithm")]
        assert [one.keys[key] for key in same] == [other.keys[key] for key in same]
        # Waits are what round trips leave of pauses.
        sent = [[line for line in each.vectors.splitlines() if line[:1] in "<>S"] for each in (one, other)]
        assert sent[0] == sent[1]


def test_of_a_long_capture_the_busiest_stretch_is_learnt_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flows = """
[[flows]]
name = "voip"
kind = "udp"
rate = "640 kbit/s"
packet_size = "200 B"
[[flows]]
kind = "tcp"
start = "200 s"
stop = "220 s"
[run]
duration = "300 s"
warmup = "0 s"
"""
    files = captured(tmp_path, NETWORK + TAIL + flows)
    monkeypatch.setattr(sightings, "CHUNK", 20_000)
    done = learn(files, inside=[INSIDE])
    assert 10 < done.seconds <= 60
    assert {group.name for group in done.groups} == {"downloads of a size", "datagrams"}
    [remark] = [remark for remark in done.remarks if remark.startswith("learnt from the busiest")]
    assert 170 < float(remark.split()[-2]) < 220
    assert done.forward.rate is not None
    assert done.forward.rate.bps == pytest.approx(20e6, rel=1e-6)


def test_a_single_capture_of_many_chunks_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two chunks nothing is left of the only capture, whose times are far from zero, as those of real ones."""
    [_, behind, _] = captured(tmp_path, NETWORK + TAIL + LONG)
    monkeypatch.setattr(sightings, "CHUNK", 2_000)
    monkeypatch.setattr(sightings, "LONGEST_NS", 1_000_000_000)
    chunks = list(islice(sightings.Sightings([behind], [INSIDE], "error")._chunks(), 1000))
    assert all(chunk.height for chunk in chunks)
    assert sum(chunk.height for chunk in chunks) == sg.read_capture(behind).packets.height


def test_a_sender_whose_application_pauses_is_no_bulk_transfer(tmp_path: Path) -> None:
    """A live stream in pieces of 4 kB, one every 40 ms, over a round trip of 20 ms: half the time nothing is in flight.
    Beside it, one that always has something in flight."""
    capture = Capture()
    for at, (step, size) in enumerate([(0.04, 1000), (0.005, 1000)]):
        out, ports = ("192.168.1.7", f"203.0.113.{at + 1}"), (40000 + at, 443)
        capture.tcp(1, out, ports, 99, 0, 2)
        capture.tcp(1.00001, out[::-1], ports[::-1], 499, 100, 18)
        capture.tcp(1.02, out, ports, 100, 500, 24, bytes(300))
        seq = 500
        for piece in range(250 if step > 0.02 else 2000):
            for segment in range(4 if step > 0.02 else 1):
                sent = 1.05 + piece * step + segment / 10_000
                # The server is captured: acknowledgements come a round trip later.
                capture.tcp(sent, out[::-1], ports[::-1], seq, 400, 16, bytes(size))
                seq += size
                capture.tcp(sent + 0.02, out, ports, 400, seq, 16)
    done = learn(capture.write(tmp_path / "server.pcap"), inside=["203.0.113.0/24"])
    limited, bulk = sorted(done.groups, key=lambda group: "access_rate" not in group.keys)
    assert (limited.name, bulk.name) == ("uploads, limited by the application", "uploads, others")
    rate = float(limited.keys["access_rate"].split()[0])
    assert rate == pytest.approx(4 * 1040 * 8 / 0.04, rel=0.01)
    write(done, tmp_path / "learnt.toml")
    sg.check(tmp_path / "learnt.toml")


def test_the_large_object_of_a_web_user_is_no_transfer(tmp_path: Path) -> None:
    capture = Capture()
    for at in range(12):
        out, ports = ("192.168.1.7", f"203.0.113.{at + 1}"), (40000 + at, 443)
        begin, segments = 1 + at / 10, 400 if at == 3 else 8
        capture.tcp(begin, out, ports, 99, 0, 2)
        capture.tcp(begin + 0.02, out[::-1], ports[::-1], 499, 100, 18)
        capture.tcp(begin + 0.021, out, ports, 100, 500, 24, bytes(300))
        for segment in range(segments):
            capture.tcp(
                begin + 0.05 + segment / 1000, out[::-1], ports[::-1], 500 + 1000 * segment, 400, 16, bytes(1000)
            )
        capture.tcp(begin + 0.06 + segments / 1000, out[::-1], ports[::-1], 500 + 1000 * segments, 400, 17)
    done = learn(capture.write(tmp_path / "host.pcap"))
    assert {group.name: group.count for group in done.groups} == {"web": 12}
    assert "< 400000" in done.groups[0].vectors


def test_transfers_that_a_flood_leaves_little_are_transfers_all_the_same(tmp_path: Path) -> None:
    """Twenty beside a flood: hardly one carries 300 kB in 20 s. What is short stays an exchange."""
    scenario = """
        network = { rate = "4 Mbit/s", delay = "10 ms" }
        queue = { limit = 100 }
        flows = [
            { name = "slow", kind = "tcp", count = 20 },
            { name = "flood", kind = "udp", rate = "3 Mbit/s" },
            { name = "page", kind = "tcp", size = "8 kB", start = "1 s" },
        ]
        run = { duration = "20 s", warmup = "0 s" }
    """
    done = learnt(tmp_path, scenario)
    assert {group.name: group.count for group in done.groups if group.kind != "udp"} == {"downloads": 20, "web": 1}


@pytest.mark.parametrize("again", [0, 5])
def test_small_writes_now_and_then_are_a_transfer_only_where_some_came_again(tmp_path: Path, again: int) -> None:
    """A server pushes 1 kB each 0.5 s, 16 kbit/s, captured behind the queue: it would take the whole link if it were
    learnt as a sender that always has data. The same with some of which the first was lost before that place."""
    capture = Capture()
    out, ports = ("192.168.1.7", "203.0.113.1"), (40000, 443)
    capture.tcp(1, out, ports, 99, 0, 2)
    capture.tcp(1.02, out[::-1], ports[::-1], 499, 100, 18)
    capture.tcp(1.021, out, ports, 100, 500, 24, bytes(300))
    for at in range(120):
        # Each tenth one comes after the one that follows it.
        late = 0.6 if at % 10 == 5 and at < 10 * again else 0
        capture.tcp(1.05 + at / 2 + late, out[::-1], ports[::-1], 500 + 1000 * at, 400, 24, bytes(1000))
        capture.tcp(1.0501 + at / 2 + late, out, ports, 400, 1500 + 1000 * at, 16)
    done = learn(capture.write(tmp_path / "host.pcap"), inside=["192.168.0.0/16"])
    assert [group.name for group in done.groups] == ["downloads" if again else "web"]


@pytest.mark.full
def test_memory_stays_small_however_many_connections_there_are(tmp_path: Path) -> None:
    """60,000 connections of four packets: 188 to 195 MiB, with what Python and Polars take alone, and 221 where threads
    of Polars wait for each other on a loaded machine; 267 before they were kept in arrays."""
    path = tmp_path / "many.pcap"
    many_connections(path, 60_000)
    groups, kilobytes = most_memory("10.0.0.0/8", path)
    assert groups == 1
    assert kilobytes < 240 * 1024


def most_memory(inside: str, *files: Path) -> tuple[int, int]:
    """How many groups are learnt from these captures, and the most memory that takes, in kilobytes."""
    program = (
        "import re, sys\nfrom sluicegate import learn\n"
        "done = learn(sys.argv[2:], inside=[sys.argv[1]])\n"
        # Not ru_maxrss, which begins with that of the process that was forked.
        "print(len(done.groups), re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, inside, *files], check=True, capture_output=True, text=True)
    groups, kilobytes = map(int, ran.stdout.split())
    return groups, kilobytes


def test_memory_stays_below_300_mib_however_long_a_capture_is(tmp_path: Path) -> None:
    scenario = (NETWORK + TAIL + LONG).replace("20 Mbit/s", "200 Mbit/s").replace("limit = 100", "limit = 600")
    files = captured(tmp_path, scenario.replace("12 s", "20 s"))
    groups, kilobytes = most_memory(INSIDE, *files)
    assert groups == 3
    assert kilobytes < 300 * 1024  # three times as many packets as a chunk has
