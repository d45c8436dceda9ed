"""Real packets behind a link, end to end: delays, rates, fates, and that nothing is left."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from conftest import PROGRAM, Program

import sluicegate as sg
from sluicegate.live import access


def impossible() -> str:
    """Why no real packets can be had here; empty where they can."""
    try:
        access.require_core()
        access.require_tun()
        if not access.privileged():
            access.require_user_namespaces()
    except sg.ScenarioError as error:
        return str(error)
    return ""


WHY_NOT = impossible()
real = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

SERVER = """\
import os, socket, threading
udp, tcp = socket.socket(type=socket.SOCK_DGRAM), socket.socket()
def echo():
    while True:
        udp.sendto(*udp.recvfrom(2000))
udp.bind(("", 7))
tcp.bind(("", 19))
threading.Thread(target=echo, daemon=True).start()
tcp.listen()
while True:
    tcp.accept()[0].sendall(bytes(700_000))
"""

CLIENT = """\
import json, os, socket, sys, time
peer = os.environ["SLUICEGATE_PEER"]
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.settimeout(0.6)
udp.connect((peer, 7))
trips, answers = [], []
for number in range(int(sys.argv[1])):
    begun = time.monotonic()
    udp.send(bytes([number]))
    if sys.argv[2] == "trips":
        udp.recv(2000)
        trips.append(time.monotonic() - begun)
try:
    while sys.argv[2] == "answers":
        answers.append(udp.recv(2000)[0] + 1)
except TimeoutError:
    pass
begun, length = time.monotonic(), 0
if sys.argv[2] == "trips":
    with socket.create_connection((peer, 19)) as tcp:
        begun = time.monotonic()
        while length < 700_000:
            length += len(tcp.recv(65536))
print(json.dumps({"trips": trips, "answers": answers, "bps": 8 * length / (time.monotonic() - begun)}))
time.sleep(0.3)
sys.exit(9)
"""

Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def behind(process: Program, tmp_path: Path) -> Shell:
    """Run the client behind a link, with the server at the other end; results are in `out`."""
    server, client = tmp_path / "server.py", tmp_path / "client.py"
    server.write_text(SERVER)
    client.write_text(CLIENT)

    def call(*options: str, packets: int = 5, what: str = "trips") -> subprocess.CompletedProcess[str]:
        peer = f"exec {sys.executable} {server}"
        return process("shell", *options, "--peer", peer, "-o", "out", "--", sys.executable, client, str(packets), what)

    return call


@real
def test_packets_take_the_delay_and_keep_to_the_rate(behind: Shell, tmp_path: Path) -> None:
    done = behind("--rate", "5 Mbit/s", "--delay", "10 ms", "--queue", "choke:limit=40")
    assert done.returncode == 9, done.stderr
    found = json.loads(done.stdout)
    assert min(found["trips"]) >= 0.020
    assert found["bps"] <= 5e6
    links = pl.read_parquet(tmp_path / "out" / "links.parquet")
    assert sorted(links["link"]) == ["down", "up"]
    for link in links.to_dicts():
        assert link["arrivals_packets"] == link["departures_packets"] + link["drops_packets"]
        assert link["discipline"] == "choke"
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["live"]["under_way_packets"] == 0
    assert summary["scenario"]["network"]["rate"] == "5 Mbit/s"
    names = pl.read_parquet(tmp_path / "out" / "flows.parquet")["flow_name"].to_list()
    assert any(name.startswith("198.18.0.2:19 > 198.18.0.1:") for name in names)


@real
def test_fates_meet_the_packets_that_they_name(behind: Shell, tmp_path: Path) -> None:
    done = behind(
        "--rate", "5 Mbit/s", "--up", "drop=3+5-6,late=1:200 ms", "--down", "delay=5 ms", packets=10, what="answers"
    )
    assert done.returncode == 9, done.stderr
    assert json.loads(done.stdout)["answers"] == [2, 4, 7, 8, 9, 10, 1]
    up = pl.read_parquet(tmp_path / "out" / "links.parquet").filter(link="up")
    assert up["lost_packets"].item() == 3
    assert "up: 3 lost on the wire" in done.stderr


@real
def test_mistakes_are_told_before_anything_runs(process: Program) -> None:
    for options, said in (([], "--rate must be given"), (["--rate", "x"], '--rate "x": must be a rate')):
        done = process("shell", *options, "--peer", "true", "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"error: {said}" in done.stderr


@pytest.fixture
def world() -> Iterator[set[str]]:
    """The world's side: the devices and tables of this machine, which are the same after the test."""
    if WHY_NOT or not access.privileged():
        pytest.skip(WHY_NOT or "only root has a way to the world")
    if not any(line.split()[1] == "00000000" for line in Path("/proc/net/route").read_text().splitlines()[1:]):
        pytest.skip("this machine has no default route")
    before = left()
    yield before
    deadline = time.monotonic() + 3
    while left() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left() == before


def left() -> set[str]:
    """The devices and, where `nft` tells them, the tables of this machine."""
    found = {path.name for path in Path("/sys/class/net").iterdir()}
    if shutil.which("nft"):
        found |= {*subprocess.run(["nft", "list", "tables"], capture_output=True, text=True).stdout.splitlines()}
    return found


def test_nothing_is_left_of_a_way_to_the_world(process: Program, world: set[str]) -> None:
    done = process("shell", "--rate", "5 Mbit/s", "--", "sh", "-c", "ls /sys/class/net; exit 4")
    assert done.returncode == 4, done.stderr


def test_what_this_machine_lost_before_is_not_told(process: Program, world: set[str]) -> None:
    """The other end is the machine itself, whose kernel counts from its start."""
    with socket.socket(type=socket.SOCK_DGRAM) as full, socket.socket(type=socket.SOCK_DGRAM) as sender:
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        full.bind(("127.0.0.1", 0))
        for _ in range(100):
            sender.sendto(bytes(1000), full.getsockname())
    done = process("shell", "--rate", "5 Mbit/s", "--", "true")
    assert (done.returncode, "datagrams" in done.stderr) == (0, False)


def test_nothing_is_left_after_it_was_killed(world: set[str], tmp_path: Path) -> None:
    command = [PROGRAM, "shell", "--rate", "5 Mbit/s", "--", "sh", "-c", "echo $$ began; exec sleep 97"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert b"began" in child.stdout.readline()
        assert left() != world
        child.send_signal(signal.SIGKILL)
        assert child.stdout.read() == b""  # the command has ended too, for the pipe is closed


@real
@pytest.mark.parametrize(("presses", "code"), [(2, 5), (3, 130)])
def test_ctrl_c_is_for_the_command_until_it_is_pressed_again_and_again(tmp_path: Path, presses: int, code: int) -> None:
    command = [PROGRAM, "shell", "--rate", "5 Mbit/s", "--peer", "true", "-o", "out", "--", "sh", "-c",
               "echo began; sleep 2; exit 5"]  # fmt: skip
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert b"began" in child.stdout.readline()
        for _ in range(presses):
            child.send_signal(signal.SIGINT)
            time.sleep(0.2)  # equal signals that wait become one
        assert child.wait() == code
    assert (tmp_path / "out" / "summary.json").exists() == (code == 5)


@real
def test_what_was_counted_is_told_when_the_shell_is_ended(tmp_path: Path) -> None:
    command = [
        PROGRAM,
        "shell",
        "--rate",
        "5 Mbit/s",
        "--peer",
        "sleep 30",
        "-o",
        "out",
        "--",
        "sh",
        "-c",
        "echo; sleep 30",
    ]
    with subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert "warning: the peer did not listen within 1 s" in said
    assert "Terminated" not in said
    assert sg.Run.read(tmp_path / "out").summary["live"]["peer_exit_code"] is None


@real
def test_a_device_that_goes_ends_the_link_and_not_its_results(process: Program) -> None:
    done = process(
        "shell", "--rate", "5 Mbit/s", "--peer", "echo said; exit 3", "--", "sh", "-c", "ip link del sluice0; sleep 30"
    )
    assert done.returncode == 130
    assert "the link ended early: the TUN device is gone" in done.stderr
    assert "the command at the other end failed (exit code 3)" in done.stderr
    assert done.stdout == ""  # the peer's words are not the command's
    assert "said" in done.stderr


@pytest.mark.parametrize("wrong", [{"mtu": 70_000}, {"mtu": 10}, {"flows": 0}, {"flows": "many"}])
@real
def test_numbers_out_of_range_are_refused(wrong: dict[str, object]) -> None:
    if not access.privileged():
        pytest.skip("needs root")
    with pytest.raises(sg.ScenarioError, match=f"{next(iter(wrong))} = .*must be a whole number from"):
        sg.shell("true", rate="1 Mbit/s", peer="true", **wrong)  # type: ignore[arg-type]
