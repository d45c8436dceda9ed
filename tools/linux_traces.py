"""Record how the kernel's TCP answers losses, marks, delays and reordering, for the comparison with ours. Needs root.

    .venv/bin/python tools/linux_traces.py [--only PATTERN] [reno cubic bbr exchange]

A sender and a receiver of this machine's kernel are joined by `sluicegate shell` with a link of a constant rate
whose queue never overflows; what happens to single packets is said by number (`--up` is the data's way, the opening's
packets counted). An AF_PACKET socket beside the sender writes down each segment that it sends and each that arrives.
Every pattern is recorded three times; the recording is kept whose sequence of data and acknowledgements most have, and
of these the quickest. Sender, receiver and link have real-time priority (SCHED_FIFO), so that what else the machine
does delays them little.

Writes tests/linux_traces/ALGORITHM.txt; `cargo test -p sluicegate-tcp --test all linux_traces` compares our hosts
with it. `exchange` has other patterns, of requests and replies between hosts with CUBIC. For each pattern a line

    pattern NAME segments=N rate=BITS/S delay=US ecn=0|1 gso=0|1 phase=US data=FATES acks=FATES same=N/3
    pattern NAME segments=N … exchange=REQUEST,REPLY,THINK,PAUSE

where `phase` is how far the kernel's clock had come at the first SYN, modulo 64 ticks, and without `gso` the sender's
device takes one segment at a time. With `exchange`, `segments` are requests of so many bytes; a reply is written so
many milliseconds after the request was read, and the next request after the reply. Then a line for each segment at the
sender's end, in microseconds since the first SYN. One that it sends: `>`, flags (S F P E C, `.` for none), first byte
of data from 0, bytes. One that arrives: `<`, flags, acknowledgement, what SACK reports (`-`: nothing; else ranges of
bytes joined by `+`), and the window in bytes; of data its first byte and bytes, too.
"""

from __future__ import annotations

import argparse
import os
import platform
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "tests/linux_traces"
PROGRAM = ROOT / ".venv/bin/sluicegate"
RATE, DELAY_US, MSS, PORT, TICK_US = 10_000_000, 20_000, 1448, 5001, 4000
FLAGS = (("S", 2), ("F", 1), ("P", 8), ("E", 64), ("C", 128))


class Exchange(NamedTuple):
    """Bytes of requests and of replies, and milliseconds before a reply and before the next request."""

    request: int
    reply: int
    think: int = 0
    pause: int = 0


class Pattern(NamedTuple):
    """What happens to packets of the data's way and of the acknowledgements', by number; to how long a transfer."""

    data: str = ""
    acks: str = ""
    segments: int = 200
    ecn: bool = False
    gso: bool = True
    exchange: Exchange | None = None


# Number 1 is the SYN, 2 the third segment of the opening, 3 the first data; 1 on the way back is the SYN's answer.
PATTERNS = {
    "clean": Pattern(),
    "one_loss": Pattern("drop=60"),
    "first_data_lost": Pattern("drop=3"),
    "two_losses": Pattern("drop=60-61"),
    "two_losses_apart": Pattern("drop=60+66"),
    "three_losses": Pattern("drop=60-62"),
    "four_losses_apart": Pattern("drop=60+62+64+66"),
    "five_losses": Pattern("drop=60-64"),
    "five_losses_apart": Pattern("drop=55+60+65+70+75"),
    "loss_twice": Pattern("drop=60+120"),
    "burst_of_ten": Pattern("drop=60-69"),
    "burst_of_twenty": Pattern("drop=60-79"),
    "lost_repair": Pattern("drop=40+63"),
    "lost_repair_twice": Pattern("drop=40+63+102"),
    "lost_repair_of_three": Pattern("drop=40-42+63"),
    "tail_of_one": Pattern("drop=62", segments=60),
    "tail_of_two": Pattern("drop=61-62", segments=60),
    "tail_of_five": Pattern("drop=58-62", segments=60),
    "last_flight": Pattern("drop=3-12", segments=10),
    "tail_and_probe": Pattern("drop=62-63", segments=60),
    "reorder_1": Pattern("behind=60:1"),
    "reorder_2": Pattern("behind=60:2"),
    "reorder_3": Pattern("behind=60:3"),
    "reorder_5": Pattern("behind=60:5"),
    "reorder_10": Pattern("behind=60:10"),
    "reorder_20": Pattern("behind=60:20"),
    "reorder_often": Pattern("behind=50:4+70:4+90:6+110:8+130:10"),
    "reorder_and_loss": Pattern("behind=50:6,drop=60"),
    "late_by_a_round_trip": Pattern("late=60:100 ms"),
    "late_all": Pattern("late=100-400:500 ms"),
    "late_all_and_loss": Pattern("late=100-400:500 ms,drop=110"),
    "lost_syn": Pattern("drop=1"),
    "lost_syn_twice": Pattern("drop=1-2"),
    "lost_answer": Pattern(acks="drop=1"),
    "lost_third": Pattern("drop=2"),
    "one_ack_lost": Pattern(acks="drop=20"),
    "acks_lost": Pattern(acks="drop=20-29"),
    "every_other_ack_lost": Pattern(acks="drop=" + "+".join(map(str, range(10, 80, 2)))),
    "flight_of_acks_lost": Pattern(acks="drop=6-18", segments=60),
    "marked": Pattern("mark=60", ecn=True),
    "marked_often": Pattern("mark=60+62+64+66+70", ecn=True),
    "marked_in_each_window": Pattern("mark=30+60+90+130+170", ecn=True),
    "mark_and_loss": Pattern("mark=60,drop=64", ecn=True),
}
# Some of them with one segment at a time.
SINGLE = (
    "clean",
    "one_loss",
    "two_losses_apart",
    "burst_of_ten",
    "tail_of_two",
    "last_flight",
    "reorder_3",
    "every_other_ack_lost",
    "flight_of_acks_lost",
    "marked",
)
PATTERNS |= {f"single_{name}": PATTERNS[name]._replace(gso=False) for name in SINGLE}

EXCHANGES = {
    "short": Pattern(segments=30, exchange=Exchange(200, 200)),
    "page": Pattern(segments=30, exchange=Exchange(400, 12_000)),
    "upload": Pattern(segments=30, exchange=Exchange(12_000, 400)),
    "both": Pattern(segments=20, exchange=Exchange(12_000, 12_000)),
    "short_slow": Pattern(segments=20, exchange=Exchange(200, 200, think=25)),
    "page_slow": Pattern(segments=20, exchange=Exchange(400, 12_000, think=70)),
    "upload_slow": Pattern(segments=20, exchange=Exchange(12_000, 400, think=70)),
    "short_paused": Pattern(segments=20, exchange=Exchange(200, 200, pause=25)),
    "page_paused": Pattern(segments=20, exchange=Exchange(400, 12_000, pause=25)),
    "page_idle": Pattern(segments=10, exchange=Exchange(400, 12_000, pause=500)),
    "page_lost": Pattern(acks="drop=20+50+90", segments=30, exchange=Exchange(400, 12_000)),
}
SETS = {"reno": PATTERNS, "cubic": PATTERNS, "bbr": PATTERNS, "exchange": EXCHANGES}

RECEIVER = f"""
import socket, sys, time
request, reply, think = map(int, sys.argv[1:])
listener = socket.create_server(("", {PORT}))
taken, _ = listener.accept()
got = 0
while part := len(taken.recv(1 << 20)):
    got += part
    while request and got >= request:
        got -= request
        time.sleep(think / 1000) if think else None
        taken.sendall(bytes(reply))
taken.close()
"""


def ticks_us() -> tuple[int, int]:
    """The kernel's clock in microseconds of its ticks of 4 ms (jiffies), and the time of day then."""
    text = Path("/proc/timer_list").read_text("ascii")
    day, monotonic = time.time_ns() // 1000, time.monotonic_ns() // 1000
    now = int(text.split("now at ")[1].split()[0]) // 1000
    jiffies = int(text.split("\njiffies: ")[1].split()[0])
    return jiffies * TICK_US + now % TICK_US, day - (monotonic - now)


def send(algorithm: str, segments: int, gso: bool, exchange: Exchange | None, out: Path) -> None:
    """Inside the namespace: one transfer or so many exchanges, and what its segments are."""
    peer = os.environ["SLUICEGATE_PEER"]
    if not gso:
        device = next(name for _, name in socket.if_nameindex() if name != "lo")
        subprocess.run(["ip", "link", "set", "dev", device, "gso_max_segs", "1"], check=True)
    clock, day = ticks_us()
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    tap.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    time.sleep(0.1)  # until the kernel stamps packets as they pass, not as they are read
    stream = socket.socket()
    stream.setsockopt(socket.IPPROTO_TCP, 13, algorithm.encode())  # TCP_CONGESTION
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    stream.connect((peer, PORT))
    if exchange is None:
        stream.sendall(bytes(segments * MSS))
    else:
        ask(stream, segments, exchange)
    stream.shutdown(socket.SHUT_WR)
    stream.recv(1)
    time.sleep(0.1)
    lines, start, isn = [], None, [0, 0]
    scales = [0, 0]
    while select.select([tap], [], [], 0)[0]:
        packet, extra, _, source = tap.recvmsg(256, 64)
        at = struct.unpack("qq", extra[0][2][:16])
        at_us = at[0] * 1_000_000 + at[1] // 1000
        for line in segments_of(packet, source[2] == 4, isn, scales):
            start = at_us if start is None else start
            lines.append(f"{at_us - start} {line}")
    phase = (clock + (start or day) - day) % (64 * TICK_US)
    out.write_text("\n".join([str(phase), *lines]) + "\n", "ascii")


def ask(stream: socket.socket, requests: int, exchange: Exchange) -> None:
    for number in range(requests):
        if exchange.pause and number:
            time.sleep(exchange.pause / 1000)
        stream.sendall(bytes(exchange.request))
        left = exchange.reply
        while left:
            left -= len(stream.recv(1 << 20))


def segments_of(packet: bytes, sent: bool, isn: list[int], scales: list[int]) -> list[str]:
    """A line for each segment of a packet of the connection; where both streams begin, and how windows are scaled."""
    if packet[0] >> 4 != 4 or packet[9] != 6:
        return []
    header = 4 * (packet[0] & 15)
    total = struct.unpack_from(">H", packet, 2)[0]
    tcp = packet[header:]
    ports = struct.unpack_from(">HH", tcp)
    if PORT not in ports:
        return []
    seq, ack, offset, flags = struct.unpack_from(">IIBB", tcp, 4)
    own, other = (0, 1) if sent else (1, 0)
    if flags & 2:
        isn[own] = seq + 1
    length = total - header - 4 * (offset >> 4)
    letters = "".join(letter for letter, bit in FLAGS if flags & bit) or "."
    blocks, at, end = [], 20, 4 * (offset >> 4)
    while at < end and tcp[at]:
        kind, size = tcp[at], 1 if tcp[at] == 1 else tcp[at + 1]
        if kind == 5:
            edges = struct.unpack_from(f">{(size - 2) // 4}I", tcp, at + 2)
            blocks = [(edge - isn[other]) % 2**32 for edge in edges]
        if kind == 3:
            scales[own] = tcp[at + 2]
        at += size
    sacks = "+".join(f"{first}-{last}" for first, last in zip(blocks[::2], blocks[1::2], strict=True)) or "-"
    first = 0 if flags & 2 else (seq - isn[own]) % 2**32
    acked = (ack - isn[other]) % 2**32 if flags & 16 and not flags & 2 else 0
    if not sent:
        window = struct.unpack_from(">H", tcp, 14)[0] << (0 if flags & 2 else scales[own])
        return [f"< {letters} {acked} {sacks} {window}" + (f" {first} {length}" if length else "")]
    # A buffer of several segments is cut up behind the socket that listens here.
    lines = []
    for begin in range(0, max(length, 1), MSS):
        last = begin + MSS >= length
        flagged = letters if last else letters.replace("F", "").replace("P", "") or "."
        lines.append(f"> {flagged} {first + begin} {min(MSS, length - begin)}")
    return lines


def record(algorithm: str, name: str, pattern: Pattern) -> str:
    """One recording."""
    with tempfile.TemporaryDirectory() as folder:
        out, receiver = Path(folder, "trace"), Path(folder, "receiver.py")
        receiver.write_text(RECEIVER)
        command = [
            PROGRAM,
            "shell",
            "--rate",
            f"{RATE} bit/s",
            "--delay",
            f"{DELAY_US} us",
            "--queue",
            "drop_tail:limit=5000",
        ]
        for way, fates in (("--up", pattern.data), ("--down", pattern.acks)):
            command += [way, fates] if fates else []
        if pattern.ecn:
            command += ["--sysctl", "net.ipv4.tcp_ecn=1"]
        command += [
            "--quiet",
            "--peer",
            f"{sys.executable} {receiver} {' '.join(map(str, (pattern.exchange or Exchange(0, 0))[:3]))}",
            "--",
            sys.executable,
            __file__,
            "--inside",
            out,
        ]
        done = subprocess.run(
            [
                *map(str, command),
                algorithm,
                str(pattern.segments),
                str(int(pattern.gso)),
                *map(str, pattern.exchange or ()),
            ],
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode:
            sys.exit(f"{algorithm} {name}: {done.stderr}")
        return out.read_text("ascii")


def sequence(trace: str) -> tuple[list[str], ...]:
    """What was sent and what arrived, without times and windows."""
    lines = [line.split()[1:] for line in trace.splitlines()[1:]]
    return tuple([" ".join(line[:4] + line[5:]) for line in lines if line[0] == way] for way in "><")


def main() -> None:
    if "--inside" in sys.argv:
        at = sys.argv.index("--inside")
        out, name, segments, gso, *words = sys.argv[at + 1 :]
        send(name, int(segments), gso == "1", Exchange(*map(int, words)) if words else None, Path(out))
        return
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("algorithm", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--only", help="record this pattern alone, and print it")
    options = parser.parse_args()
    TARGET.mkdir(exist_ok=True)
    for algorithm in options.algorithm:
        text = f"# Linux {platform.release().split('-')[0]}, HZ 250; see tools/linux_traces.py\n"
        for name, pattern in SETS[algorithm].items():
            if options.only not in (None, name):
                continue
            own = "cubic" if pattern.exchange else algorithm
            traces = [record(own, name, pattern) for _ in range(1 if options.only else 3)]
            sequences = [repr(sequence(trace)) for trace in traces]
            [(most, same)] = Counter(sequences).most_common(1)
            alike = (trace for trace, own in zip(traces, sequences, strict=True) if own == most)
            phase, kept = min(alike, key=lambda trace: int(trace.splitlines()[-1].split()[0])).split("\n", 1)
            text += (
                f"pattern {name} segments={pattern.segments} rate={RATE} delay={DELAY_US} ecn={pattern.ecn:d} "
                f"gso={pattern.gso:d} phase={phase} data={pattern.data.replace(' ', '') or '-'} "
                f"acks={pattern.acks or '-'} same={same}/{len(traces)}"
            )
            text += f" exchange={','.join(map(str, pattern.exchange))}\n" if pattern.exchange else "\n"
            text += kept
            print(algorithm, name, f"{same}/{len(traces)}", flush=True)
        if options.only:
            print(text)
        else:
            TARGET.joinpath(f"{algorithm}.txt").write_text(text, "ascii")


if __name__ == "__main__":
    main()
