"""Measure how exactly and how fast the link of `sluicegate shell` handles real packets: `make bench-live`, as root.

The ends are processes of this file in the two namespaces of a shell: senders and receivers of UDP, which share the
machine's cores with the link. Times are the kernel's own, of packets (SO_TIMESTAMPNS), so that the wait of a receiving
process for its turn is not taken for the link's.

| what | how |
|---|---|
| rate | datagrams at 1.2 times the link's rate; what the receiving device has counted between two looks at it, some seconds apart |
| delay | datagrams one by one, at random times, over an idle link with 20 ms; what they took beyond 20 ms and their time of sending |
| speed | datagrams of 64 bytes (IP), handed over in pieces of 64 (UDP_SEGMENT), ever more a second until a device loses some |
| counters | in these runs what was sent, less what reached the queue and what devices are said to have lost |
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import random
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import sluicegate as sg

PORT = 7000
HEADERS = 28
UDP_SEGMENT = 103
SO_TIMESTAMPNS = 35

RATES = {"1 Mbit/s": (1e6, 100), "10 Mbit/s": (1e7, 500), "100 Mbit/s": (1e8, 1500), "1 Gbit/s": (1e9, 1500)}
"""Rates in bit/s, and the packets' bytes: so small that one more or less does not matter in some seconds."""


def pieces(size: int, pps: float, seconds: float) -> int:
    """Send datagrams of `size` bytes (IP) at so many a second, handed to the kernel up to 64 at a time; how many."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, size - HEADERS)
    out.connect((peer(), PORT))
    at_once = max(1, min(64, 60_000 // size, int(pps / 1000)))
    data, sent, begun = bytes(at_once * (size - HEADERS)), 0, time.monotonic()
    while (now := time.monotonic() - begun) < seconds:
        if now * pps < sent:
            time.sleep(0.0001)
            continue
        out.send(data)
        sent += at_once
    return sent


def probe(count: int) -> int:
    """Send datagrams that say when they were sent, one by one at random times; how many."""
    out, rng = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), random.Random(1)
    out.connect((peer(), PORT))
    for _ in range(count):
        time.sleep(rng.uniform(0.002, 0.018))
        out.send(struct.pack("q", time.clock_gettime_ns(time.CLOCK_REALTIME)) + bytes(64))
    return count


def receive(file: Path, reads: bool) -> None:
    """Write down how long each datagram took, and ten times a second what the device has received. One that does not
    read leaves datagrams to a full buffer, and the core to others."""
    into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    into.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    into.bind(("", PORT))
    into.settimeout(0.1)
    took: list[int] = []
    looks = [look()]
    with file.open("w") as out:
        while True:
            try:
                if not reads:
                    time.sleep(0.1)
                    raise TimeoutError
                data, more, _, _ = into.recvmsg(2048, 256)
                if len(data) == 72:
                    seconds, nanoseconds = struct.unpack("qq", more[0][2])
                    took.append(seconds * 10**9 + nanoseconds - struct.unpack("q", data[:8])[0])
            except TimeoutError:
                pass
            if time.monotonic_ns() - looks[-1][0] >= 100_000_000:
                looks.append(look())
                out.seek(0)
                out.truncate()
                json.dump({"took": took, "looks": looks}, out)
                out.flush()


def look() -> list[int]:
    """The time, and bytes and packets that the device has received."""
    for line in Path("/proc/thread-self/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "sluice0":
            numbers = counts.split()
            return [time.monotonic_ns(), int(numbers[0]), int(numbers[1])]
    return [time.monotonic_ns(), 0, 0]


def peer() -> str:
    import os

    return os.environ["SLUICEGATE_PEER"]


def shell(words: Sequence[str], **link: object) -> tuple[sg.Run, dict[str, list[list[int]]], int]:
    """Run one of these senders behind a link; the results, what the receiver wrote, and how many packets were sent."""
    with tempfile.TemporaryDirectory() as folder:
        file, said = Path(folder, "received"), Path(folder, "sent")
        own = [sys.executable, __file__]
        far = [*own, "receive", str(file), str(words[0] == "probe")]
        run = sg.shell([*own, *words, "--said", str(said)], peer=far, **link)  # type: ignore[arg-type]
        return run, json.loads(file.read_text()), int(said.read_text())


def exact(busy: bool, seconds: float) -> list[dict[str, object]]:
    """How far the rate is off."""
    rows = []
    for name, (bits, size) in RATES.items():
        words = ["pieces", str(size), str(1.2 * bits / 8 / size), str(seconds + 1)]
        run, received, _ = shell(words, rate=name, delay="1 ms", queue="drop_tail:limit=1000", busy=busy)
        first_look = next(each for each in received["looks"] if each[2] > 100)
        full = [each for each in received["looks"] if 5e8 < each[0] - first_look[0] < 5e8 + seconds * 1e9]
        (begin, first, _), (end, last, _) = full[0], full[-1]
        rate = (last - first) * 8e9 / (end - begin)
        rows.append({"rate": name, "packet_bytes": size, "measured_bps": rate, "error": rate / bits - 1, **live(run)})
    return rows


def late(busy: bool, spin: str | None, count: int) -> dict[str, object]:
    """How much the delay is off, in ms."""
    run, received, _ = shell(["probe", str(count)], rate="1 Gbit/s", delay="20 ms", busy=busy, spin=spin)
    off = sorted((each - 20_000_000 - 100 * 8) / 1e6 for each in received["took"])
    at: Callable[[float], float] = lambda q: off[int(q * (len(off) - 1))]  # noqa: E731
    return {
        "packets": len(off),
        "p50_ms": at(0.5),
        "p90_ms": at(0.9),
        "p99_ms": at(0.99),
        "max_ms": off[-1],
        **live(run),
    }


def fast(queue: str, busy: bool, seconds: float) -> dict[str, object]:
    """The most packets a second, of 64 bytes, that a queue was handed without a loss outside it, step by step; those it
    let through are sent on, at a rate that never fills. None where the first step already lost some."""
    best = None
    for offered in range(100_000, 1_000_000, 50_000):
        link = {"rate": "10 Gbit/s", "delay": "1 ms", "queue": queue, "busy": busy}
        run, received, sent = shell(["pieces", "64", str(offered), str(seconds)], **link)
        up = run.links.filter(link="up").to_dicts()[0]
        lost = sum(each["device_packets"] for each in run.summary["live"]["losses"])
        full = [each for each in received["looks"] if each[2] > 1000][:-3]
        leave = (full[-1][2] - full[0][2]) * 1e9 / (full[-1][0] - full[0][0]) if len(full) > 1 else 0.0
        step = {
            "queue": queue, "offered_per_s": sent / seconds, "departures_per_s": leave, "drops": up["drops_packets"],
            "lost_in_devices": lost, "not_accounted_for": sent - up["arrivals_packets"] - lost, **live(run),
        }  # fmt: skip
        print(json.dumps(step), file=sys.stderr)
        if lost:
            break
        best = step
    return {"queue": queue, "best": best}


def live(run: sg.Run) -> dict[str, object]:
    """How the clock was kept."""
    told = run.summary["live"]
    return {key: told[key] for key in ("kept_up", "lateness_p50_ns", "lateness_p99_ns", "late_packets")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", help="pieces, probe or receive: what the ends do")
    parser.add_argument("--said", type=Path)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--busy-poll", action="store_true")
    parser.add_argument("--spin")
    parser.add_argument("--only", default="exact,late,fast")
    given = parser.parse_args()
    if given.what:
        end, *rest = given.what
        if end == "receive":
            receive(Path(rest[0]), rest[1] == "True")
        sends: dict[str, Callable[..., int]] = {"pieces": pieces, "probe": probe}
        numbers = [float(each) if "." in each or "e" in each else int(each) for each in rest]
        given.said.write_text(str(sends[end](*numbers)))
        time.sleep(0.5)
        return
    found: dict[str, object] = {}
    if "late" in given.only:
        found["delay"] = late(given.busy_poll, given.spin, int(200 * given.seconds))
    if "exact" in given.only:
        found["rate"] = exact(given.busy_poll, given.seconds)
    if "fast" in given.only:
        queues = ("drop_tail:limit=10000", "choke:limit=10000", "dcn:limit=10000,p_ref_max=1000")
        found["speed"] = [fast(queue, given.busy_poll, given.seconds) for queue in queues]
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
