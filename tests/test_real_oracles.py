"""The link for real packets before other judges: the kernel's tbf and htb, the simulator, packets without sense."""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_shell_packets import real

import sluicegate as sg
from sluicegate.live import access

RATE = 2e6
"""Of the link, in bit/s."""

BYTES = 1000
"""Of each datagram, IP header included: 4 ms on the link."""

SECONDS = 4.0

SEND = f"""\
import socket, sys, time
out = socket.socket(type=socket.SOCK_DGRAM)
time.sleep(0.5)  # until somebody listens
begun, sent = time.monotonic(), 0
while (now := time.monotonic() - begun) < {SECONDS}:
    while sent < 1.5 * {RATE} / 8 / {BYTES} * now:
        out.sendto(bytes({BYTES - 28}), (sys.argv[1], 7000))
        sent += 1
    time.sleep(0.0005)
time.sleep(0.7)
"""
"""Half as much again as the link can carry."""

RECEIVE = """\
import socket, struct, sys
into = socket.socket(type=socket.SOCK_DGRAM)
into.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
into.bind(("", 7000))
into.settimeout(3)
with open(sys.argv[1], "w", buffering=1) as file:  # whoever is killed has written each line
    try:
        while True:
            _, more, _, _ = into.recvmsg(2000, 200)
            seconds, nanoseconds = struct.unpack("qq", more[0][2])
            print(seconds + nanoseconds / 1e9, file=file)
    except TimeoutError:
        pass
"""


def times_in(file: Path) -> list[float]:
    """When datagrams came, in seconds."""
    return [float(line) for line in file.read_text().split()]


@pytest.fixture(scope="module")
def through_shell(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """When datagrams arrive that cross a link of a shell."""
    file = tmp_path_factory.mktemp("shell") / "times"
    peer = [sys.executable, "-c", RECEIVE, str(file)]
    command = [sys.executable, "-c", SEND, "198.18.0.2"]
    sg.shell(command, rate="2 Mbit/s", delay="1 ms", queue="drop_tail:limit=50", peer=peer)
    return times_in(file)


@pytest.fixture
def veth() -> Iterator[list[str]]:
    """Two namespaces with a pair of devices between them: processes by which to enter them."""
    with (
        subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE
        ) as first,
        subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE) as other,
    ):
        for each in (first, other):
            assert each.stdout is not None
            each.stdout.readline()
        enter = ["nsenter", "--net", "--target"]
        lines = f"""\
            ip link add sender type veth peer name receiver netns {other.pid}
            ip addr add 10.98.0.1/30 dev sender
            ip link set sender up"""
        far = "ip addr add 10.98.0.2/30 dev receiver; ip link set receiver up"
        subprocess.run([*enter, str(first.pid), "sh", "-ec", lines], check=True)
        subprocess.run([*enter, str(other.pid), "sh", "-ec", far], check=True)
        try:
            yield [str(first.pid), str(other.pid)]
        finally:
            first.kill()
            other.kill()


def through_qdisc(pids: list[str], lines: str, folder: Path) -> list[float] | None:
    """When they arrive that cross one of the kernel's queues; None where it is missing."""
    enter = ["nsenter", "--net", "--target"]
    set_up = subprocess.run([*enter, pids[0], "sh", "-ec", lines], capture_output=True)
    if set_up.returncode != 0:
        return None
    file = folder / "qdisc"
    with subprocess.Popen([*enter, pids[1], sys.executable, "-c", RECEIVE, str(file)]) as far:
        subprocess.run([*enter, pids[0], sys.executable, "-c", SEND, "10.98.0.2"], check=True)
        far.wait()
    return times_in(file)


def rate_of(times: list[float]) -> float:
    """Bits of IP a second, once the queue is full."""
    full = [time for time in times if times[0] + 1.5 < time < times[0] + SECONDS - 0.2]
    return (len(full) - 1) * 8 * BYTES / (full[-1] - full[0])


# The frame's 14 bytes count there, so that 2 Mbit/s of IP are 1014/1000 of it. With a burst of one packet they would
# lose what a late timer costs them.
QDISCS = {
    "tbf": "tc qdisc replace dev sender root tbf rate 2028kbit burst 5070 limit 50700",
    "htb": "tc qdisc replace dev sender root handle 1: htb default 1; "
    "tc class replace dev sender parent 1: classid 1:1 htb rate 2028kbit burst 5070 cburst 5070; "
    "tc qdisc replace dev sender parent 1:1 pfifo limit 50",
}


@real
@pytest.mark.skipif(not access.privileged(), reason="pairs of devices need root")
@pytest.mark.parametrize("name", QDISCS)
def test_rate_and_spacing_are_those_of_the_kernels_shapers(
    name: str, veth: list[str], through_shell: list[float], tmp_path: Path
) -> None:
    theirs = through_qdisc(veth, QDISCS[name], tmp_path)
    if theirs is None:
        pytest.skip(f"this kernel has no {name}")
    ours = through_shell
    # 500 packets in the two seconds: one more or less is 2e-3.
    assert rate_of(ours) == pytest.approx(RATE, rel=3e-3)
    # What late timers cost beyond their burst, they lose.
    assert rate_of(theirs) == pytest.approx(RATE, rel=3e-2)
    gaps = [[b - a for a, b in itertools.pairwise(times[200:])] for times in (ours, theirs)]
    # The time of a packet, to what a timer of a busy machine is late.
    assert statistics.median(gaps[0]) == pytest.approx(0.004, abs=2e-4)
    assert statistics.median(gaps[1]) == pytest.approx(0.004, abs=2e-4)
    # Either carries its rate for as long, and 50 packets wait at the end.
    assert abs(len(ours) - len(theirs)) <= 0.03 * len(theirs)


GARBAGE = """\
import os, random, socket
out = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
rng = random.Random(3)
def extensions(chain):
    body = b"".join(bytes([following, 0]) + bytes(6) for following in [*chain[1:], 17])
    return b"\\x60\\0\\0\\0" + (len(body) + 8).to_bytes(2, "big") + bytes([chain[0], 64]) + bytes(32) + body + bytes(8)
packets = [rng.randbytes(rng.randrange(1, 200)) for _ in range(300)]
packets += [bytes([0x45]) + rng.randbytes(rng.randrange(0, 25)) for _ in range(100)]
packets += [extensions([rng.choice([0, 43, 60, 44, 51]) for _ in range(rng.randrange(1, 40))]) for _ in range(100)]
packets += [extensions([0, 60])[:rng.randrange(1, 56)] for _ in range(50)]
for packet in packets:
    for kind in (0x0800, 0x86dd):
        try:
            out.sendto(packet, ("sluice0", kind))
        except OSError:
            pass
print(2 * len(packets))
"""


@real
@pytest.mark.parametrize("queue", ["drop_tail", "choke", "dcn", "fq_codel", "cake"])
def test_packets_that_make_no_sense_are_counted_and_never_fatal(queue: str) -> None:
    if not access.privileged():
        pytest.skip("needs root")
    script = f"exec {sys.executable} - <<'END'\n{GARBAGE}END\n"
    done = sg.shell(script, rate="1 Gbit/s", queue=queue, peer="sleep 1")
    live, up = done.summary["live"], done.links.filter(link="up").to_dicts()[0]
    assert live["exit_code"] == 0
    assert sum(live["other_packets"].values()) > 400
    assert up["arrivals_packets"] >= 1000
    assert up["arrivals_packets"] == up["departures_packets"] + up["drops_packets"]
    # The other end's kernel refuses what is no IP packet, and that is counted, too.
    delivered = done.groups.filter(name="up")["delivered_packets"][0]
    assert 0 < live["losses"][1]["refused_packets"] <= delivered


SHARES = """
[network]
rate = "10 Mbit/s"
delay = "5 ms"
access_rate = "100 Mbit/s"
[queue]
limit = 300
[[flows]]
name = "tcp"
kind = "tcp"
count = 32
algorithm = "reno"
packet_size = "1000 B"
[[flows]]
name = "udp"
kind = "udp"
rate = "20 Mbit/s"
[run]
duration = "12 s"
warmup = "4 s"
"""


@real
@pytest.mark.full
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")  # late packets change no share by a tenth
@pytest.mark.parametrize("queue", ["choke:min_th=30:max_th=60", "dcn", "drop_tail"])
def test_a_flood_gets_the_share_that_the_simulator_says(queue: str) -> None:
    if not access.privileged():
        pytest.skip("needs root")
    shares = []
    for run in (sg.testbed(SHARES, queue=queue), sg.simulate(SHARES, queue=queue)):
        got = {row["name"]: row["throughput_bps"] for row in run.groups.to_dicts()}
        assert sum(got.values()) == pytest.approx(1e7, rel=0.05)
        shares.append(got["udp"] / sum(got.values()))
    real_share, simulated = shares
    # Two seeds lie up to 2.8 points apart; twice that for one seed.
    assert real_share == pytest.approx(simulated, abs=0.06)
    assert (real_share > 0.8) == (queue == "drop_tail")
