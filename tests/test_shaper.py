"""Shapers before a modem: described in Python, deployed, and beside the kernel's own for real packets."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Program
from steps import WRITE, follow
from test_shell_packets import real

import sluicegate as sg
from sluicegate import deploy
from sluicegate.traffic.paths import links, paths, places

PAGE = Path(__file__).parents[1] / "docs/scenarios.md"
HEAD = "A shaper before the modem"
TOOL = runpy.run_path(str(Path(__file__).parents[1] / "tools/real_shaper.py"), run_name="tool")
LINE = sg.access_line(down="50 Mbit/s", up="10 Mbit/s")
BOTH = {"network.shaper.rate": "95 %", "network.reverse.shaper.rate": "95 %"}


def test_a_network_is_described_with_shapers_and_a_queue_for_each_direction() -> None:
    net = sg.dumbbell(
        rate="50 Mbit/s", queue=sg.FqCodel(), shaper=sg.Shaper(rate="45 Mbit/s"),
        reverse=sg.Reverse(rate="10 Mbit/s", shaper=sg.Shaper(buffer="100 kB"), queue=sg.Pie()),
    )  # fmt: skip
    resolved = sg.check(net, [sg.Tcp(2)], duration="1 s")
    network = resolved["network"]
    assert (network["shaper"]["rate"], network["shaper"]["position"]) == ("45 Mbit/s", "behind")
    assert (network["reverse"]["shaper"]["rate"], network["reverse"]["shaper"]["position"]) == ("9500 kbit/s", "before")
    assert network["reverse"]["queue"]["discipline"] == "pie"
    run = sg.run(net, [sg.Tcp(2)], duration="1 s")
    found = {row["link"]: row["discipline"] for row in run.links.to_dicts()}
    assert found == {"bottleneck": "drop_tail", "reverse": "drop_tail", "shaper": "fq_codel", "reverse_shaper": "pie"}


def test_mistakes_name_the_object_and_its_field() -> None:
    with pytest.raises(sg.ScenarioError, match=r"^Shaper: rate: must be a rate, such as"):
        sg.Shaper(rate="120 %")
    with pytest.raises(sg.ScenarioError, match=r"^Shaper: burst = 3 packets: breaks the rule burst is in bytes"):
        sg.Shaper(burst=3)
    with pytest.raises(TypeError, match="queue: expected a discipline such as"):
        sg.Reverse(queue="pie")  # type: ignore[arg-type]


def test_where_packets_go() -> None:
    resolved = sg.check(LINE, sets=BOTH)
    assert [(each.name, each.managed) for each in links(resolved)] == [
        ("bottleneck", False), ("shaper", True), ("reverse", False), ("reverse_shaper", True),
    ]  # fmt: skip
    assert [place.name for place in places(resolved)] == ["shaper", "reverse_shaper"]
    down, up = (next(way for way, flow in zip(paths(resolved), resolved["flows"], strict=True) if flow["name"] == name)
                for name in ("downloads", "uploads"))  # fmt: skip
    assert [link.name for link in down.links] == ["bottleneck", "shaper"]
    assert [link.name for link in down.back] == ["reverse_shaper", "reverse"]
    assert [link.name for link in up.links] == ["reverse_shaper", "reverse"]


def test_what_is_deployed_is_what_was_simulated() -> None:
    sets = {**BOTH, "network.shaper.burst": "9000 B", "queue.discipline": "fq_codel",
            "network.reverse.queue.discipline": "cake"}  # fmt: skip
    found = deploy.access.lines(sg.check(LINE, sets=sets), deploy.Access(wan="wan0"))
    up, down = found.parts
    [cake] = [line for line in up.lines if " cake " in line]
    assert "cake bandwidth 9500kbit " in cake
    assert " overhead 18 mpu 64 egress" in cake
    assert up.title.startswith("upload: 9500 kbit/s with headers and framing, 95 % of the line's 10 Mbit/s")
    [htb] = [line for line in down.lines if " htb rate " in line]
    assert " rate 47500kbit burst 9000 cburst 9000 " in htb
    assert " overhead 4 mpu 64" in htb
    assert any(" fq_codel " in line for line in down.lines)
    with pytest.raises(deploy.Undeployable, match=r"network\.shaper\.rate"):
        deploy.access.lines(sg.check(LINE, sets=sets), deploy.Access(wan="wan0", margin=0.1))


def test_a_shaper_of_one_direction_is_the_one_that_is_deployed(sluicegate: Program) -> None:
    asked = ["tc", "cable", "--set", "network.shaper.rate=95 %", "--set", "queue.discipline=cake", "--dev", "x"]
    done = sluicegate(*asked, "--link", "bottleneck")
    assert "cake bandwidth 95Mbit" in done.stdout
    assert " ingress" in done.stdout
    assert "with --link shaper (95 Mbit/s) or --link reverse (10 Mbit/s)" in sluicegate(*asked).stderr


def test_a_comparison_chooses_the_discipline_of_the_shaper() -> None:
    done = sg.compare(LINE, disciplines=["drop_tail", "cake"], seeds=1, sets=BOTH, duration="8 s", warmup="3 s")
    cake, drop_tail = (done.mean(label, "calls up_delay_p99_ns")["mean"] for label in ("cake", "drop_tail"))
    assert cake < 0.2 * drop_tail


def test_the_page_on_shapers_is_right_to_the_letter(tmp_path: Path) -> None:
    before, rest = PAGE.read_text("utf-8").split(f"## {HEAD}\n")
    text, after = rest.split("\n## ", 1)
    section = tmp_path / "section.md"
    section.write_text(text, "utf-8")
    try:
        follow(section, tmp_path)
    finally:
        if os.environ.get(WRITE):
            PAGE.write_text(f"{before}## {HEAD}\n{section.read_text('utf-8')}\n## {after}", "utf-8")


BURST = """
import fcntl, json, socket, struct, subprocess, sys, time
sent, lines = int(sys.argv[1]), sys.argv[2:]
tun = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"a", 0x1001))  # TUNSETIFF: IP packets without a header
for line in ["ip addr add 10.9.0.1/24 dev a", "ip link set dev a up", *lines]:
    subprocess.run(line, shell=True, check=True)
got = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # sees what leaves the queue
got.bind(("a", 3))
got.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
got.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS: by the kernel
got.settimeout(1)
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
tries = []
for _ in range(5):
    time.sleep(0.2)
    for _ in range(sent):
        udp.sendto(bytes(972), ("10.9.0.2", 7))
    times = []
    while len(times) < sent:
        data, [(_, _, stamp)], _, _ = got.recvmsg(2000, 100)
        if len(data) == 1000:
            seconds, ns = struct.unpack("qq", stamp)
            times.append(seconds * 10**9 + ns)
    tries.append([time - times[0] for time in times])
print(json.dumps(tries))
"""
RATE = "rate 8mbit burst 10000"
SHAPERS = {
    "htb": ("tc qdisc add dev a root handle 1: htb default 1",
            f"tc class add dev a parent 1: classid 1:1 htb {RATE} cburst 10000"),
    "tbf": (f"tc qdisc add dev a root {RATE.replace('rate', 'tbf rate', 1)} limit 1000000",),
}  # fmt: skip


@pytest.mark.parametrize("kind", SHAPERS)
def test_a_burst_is_that_of_the_kernels_shapers(kind: str, tmp_path: Path) -> None:
    """50 packets of 1000 bytes after a pause, at 8 Mbit/s with a bucket of 10,000 bytes: each takes 1 ms."""
    sent, script = 50, tmp_path / "burst.py"
    script.write_text(BURST)
    command = ["unshare", "-rn", sys.executable, str(script), str(sent), *SHAPERS[kind]]
    done = subprocess.run(["sh", "-c", 'exec "$@"', "sh", *command], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no {kind} in a namespace here: {done.stderr.strip().splitlines()[-1:]}")
    text = """
    network = { rate = "1 Gbit/s", shaper = { rate = "8 Mbit/s", burst = "10000 B" } }
    flows = [{ kind = "udp", rate = "1 Gbit/s", spread = "0 s", stop = "0.396 ms" }]
    run = { duration = "1 s", packets = 1000 }
    """
    simulated = sg.run(text).table("packets").filter(link="shaper", event="departure")["time_s"].to_numpy() * 1e3
    simulated -= simulated[0]
    assert len(simulated) == sent
    # The eleventh packet goes when ten have taken all tokens, as here; tbf waits until there are enough for it.
    at_once = 11 if kind == "htb" else 10
    assert simulated[-1] == pytest.approx(sent - 11, abs=0.01)
    # Timers of a busy machine are late, never early: the best of five tries.
    took = min(each[-1] for each in json.loads(done.stdout)) / 1e6
    first = max(sum(time < 500_000 for time in each) for each in json.loads(done.stdout))
    assert first == at_once
    # For tbf that is one packet more.
    assert took == pytest.approx(simulated[-1] + (11 - at_once), abs=0.6)


@real
@pytest.mark.full
def test_a_shaper_of_the_kernel_empties_the_modem_as_simulated() -> None:
    if subprocess.run(["sh", "-c", "command -v tc ip"], capture_output=True).returncode:
        pytest.skip("no tc and ip (iproute2)")
    alone, htb, *_ = TOOL["CASES"]
    try:
        before, after = TOOL["real"](alone, 2), TOOL["real"](htb, 2)
    except json.JSONDecodeError:
        pytest.skip("this kernel has no htb, or this user may not use it")
    expected = [TOOL["simulated"](case, 2) for case in (alone, htb)]
    # The modem of 250 ms is full without a shaper and holds next to nothing behind one; a busy machine adds some ms.
    assert before.median > 120
    assert after.median < expected[1].median + 30
    assert before.queue > 200
    assert after.queue < 60
    assert expected[0].median > 120
    assert expected[1].median < 40


def test_a_shaper_above_the_line_s_rate_is_told_of(sluicegate: Program) -> None:
    said = sluicegate("check", "cable", "--set", "network.reverse.shaper.rate=12 Mbit/s").stderr
    assert "warning: reverse_shaper: its rate of 12 Mbit/s is above that of reverse, 10 Mbit/s" in said
    assert "above that" not in sluicegate("check", "cable", "--set", "network.reverse.shaper.rate=100 %").stderr
