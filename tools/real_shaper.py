"""Measure what a shaper does to the delay of real packets, beside the simulation of the same scenario.

    sudo .venv/bin/python tools/real_shaper.py [SECONDS]

Four uploads by this kernel's TCP and probes share a modem of 20 Mbit/s that holds 250 ms, emulated by `sluicegate
shell`, 10 ms from the other end. In front of it stands nothing, the kernel's `htb` with the lines of `sluicegate tc`,
or a shaper of Sluicegate. Needs root, iproute2 and the kernel's htb. Prints the table of docs/deploy.md.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sluicegate as sg
from sluicegate import deploy
from sluicegate.live.shell import shell

LINE = """
[network]
rate = "100 Mbit/s"
delay = "10 ms"

[network.reverse]
rate = "20 Mbit/s"

[queue.drop_tail]
limit = "625000 B"                # 250 ms of upload

[[flows]]
name = "upload"
kind = "tcp"
count = 4
direction = "reverse"
gso = false

[[flows]]
name = "probes"
kind = "udp"
rate = "11200 bit/s"              # 20 packets a second
packet_size = "70 B"
direction = "reverse"

[run]
duration = "{seconds} s"
warmup = "{warmup} s"
"""

BEFORE_S = 3
"""Seconds before measuring: slow start has filled the modem."""

SHAPED = {"network.reverse.shaper.rate": "95 %"}


@dataclass(frozen=True)
class Case:
    """What stands before the modem. `sets`: its scenario. `kernel`: htb and its queue are the kernel's."""

    name: str
    sets: Mapping[str, object]
    kernel: bool = False


CASES = (
    Case("the modem alone", {"queue.discipline": "drop_tail"}),
    Case("`htb` and `pfifo` of this kernel", {"queue.discipline": "drop_tail", "queue.drop_tail.limit": 20, **SHAPED,
         "network.reverse.shaper.buffer": "625000 B"}, kernel=True),
    Case("FQ-CoDel in a shaper", {"queue.discipline": "fq_codel", **SHAPED}),
    Case("CAKE", {"queue.discipline": "cake", **SHAPED}),
)  # fmt: skip

SERVER = """
import socket, threading
udp, tcp = socket.socket(type=socket.SOCK_DGRAM), socket.socket()
udp.bind(("", 7))
tcp.bind(("", 9))
tcp.listen()
received = 0
def echo():
    while True:
        data, sender = udp.recvfrom(100)
        udp.sendto(data[:4] + received.to_bytes(8, "big"), sender)
threading.Thread(target=echo, daemon=True).start()
def take(got):
    global received
    try:
        while data := got.recv(1 << 16):
            received += len(data)
    except ConnectionResetError:
        pass
while True:
    threading.Thread(target=take, args=(tcp.accept()[0],), daemon=True).start()
"""

CLIENT = """
import json, os, socket, subprocess, sys, threading, time
lines, idle, busy = json.loads(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
dev = next(name for _, name in socket.if_nameindex() if name != "lo")
for line in ["ip link set dev DEV gso_max_segs 1", *lines]:
    subprocess.run(line.replace("DEV", dev), shell=True, check=True)
peer = os.environ["SLUICEGATE_PEER"]
def upload():
    with socket.socket() as tcp:
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        tcp.connect((peer, 9))
        end = time.monotonic() + busy
        while time.monotonic() < end:
            tcp.send(bytes(1 << 14))
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.connect((peer, 7))
udp.settimeout(1)
sent, answers = [], []
def listen():
    while True:
        try:
            data = udp.recv(100)
        except TimeoutError:
            return
        number = int.from_bytes(data[:4], "big")
        answers.append((number, time.monotonic() - sent[number], time.monotonic(), int.from_bytes(data[4:], "big")))
def probe(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sent.append(time.monotonic())
        udp.send((len(sent) - 1).to_bytes(4, "big") + bytes(38))
        time.sleep(0.05)
    return len(sent)
listener = threading.Thread(target=listen)
listener.start()
first = probe(idle)
loaders = [threading.Thread(target=upload) for _ in range(4)]
for loader in loaders:
    loader.start()
probe(busy)
for loader in loaders:
    loader.join()
listener.join()
print(json.dumps({"answers": sorted(answers), "first": first}))
"""


@dataclass(frozen=True)
class Found:
    """Round trips of probes in ms, without load and under it, and the upload in Mbit/s."""

    idle: float
    median: float
    p95: float
    upload: float
    queue: float
    """The longest queue of the modem, in packets."""


def simulated(case: Case, seconds: float) -> Found:
    """The same in the simulator."""
    text = LINE.format(seconds=BEFORE_S + seconds, warmup=BEFORE_S)
    done = sg.run(text, sets={**case.sets, "flows.1.jitter": 0.2})
    groups = {row["name"]: row for row in done.groups.to_dicts()}
    modem = done.links.filter(link="reverse").row(0, named=True)
    back, probe = 10, groups["probes"]
    return Found(20.0, probe["delay_p50_ns"] / 1e6 + back, probe["delay_p95_ns"] / 1e6 + back,
                 groups["upload"]["goodput_bps"] / 1e6, modem["queue_packets_max"])  # fmt: skip


def real(case: Case, seconds: float) -> Found:
    """The same with real packets."""
    text = LINE.format(seconds=BEFORE_S + seconds, warmup=BEFORE_S)
    resolved = sg.check(text, sets=case.sets)
    lines = deploy.linux.lines(resolved, "DEV", "reverse_shaper").lines if case.kernel else []
    # What the kernel does is not done again by the emulator, whose queue is then the modem's.
    sets = {"queue.discipline": "drop_tail"} if case.kernel else case.sets
    with tempfile.TemporaryDirectory() as folder:
        for name, program in (("server.py", SERVER), ("client.py", CLIENT), ("line.toml", text)):
            (Path(folder) / name).write_text(program)
        client = [sys.executable, f"{folder}/client.py", json.dumps(lines), "2", str(BEFORE_S + seconds)]
        out = Path(folder) / "out.json"
        command = ["/bin/sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", str(out), *client]
        done = shell(command, link=f"{folder}/line.toml", peer=[sys.executable, f"{folder}/server.py"], sets=sets)
        about: dict[str, Any] = json.loads(out.read_text())
    early = about["first"] + 20 * BEFORE_S
    idle = [trip * 1e3 for number, trip, *_ in about["answers"] if number < about["first"]]
    busy = [answer for answer in about["answers"] if answer[0] >= early]
    loaded = sorted(trip * 1e3 for _, trip, *_ in busy)
    (_, _, begun, before), (_, _, ended, after) = busy[0], busy[-1]
    modem = done.links.filter(link="up").row(0, named=True)
    return Found(statistics.median(idle), statistics.median(loaded), loaded[int(0.95 * len(loaded))],
                 8 * (after - before) / (ended - begun) / 1e6, modem["queue_packets_max"])  # fmt: skip


HEAD = ("before the modem", "", "round trip without load, ms", "round trip under load, ms: median", "95th percentile",
        "goodput of the uploads, Mbit/s", "modem's longest queue")  # fmt: skip


def main(seconds: float) -> None:
    """Print the table."""
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for case in CASES:
        for kind, found in (("real packets", real(case, seconds)), ("simulated", simulated(case, seconds))):
            times = f"{found.idle:.1f} | {found.median:.1f} | {found.p95:.1f}"
            name = case.name if kind == "real packets" else ""
            print(f"| {name} | {kind} | {times} | {found.upload:.2f} | {found.queue:.0f} packets |", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
