"""Two hosts with a machine between them, each in a network namespace of its own that no other program sees."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conftest import PROGRAM

from sluicegate.live import access

TOOLS = ("ip", "ethtool", "unshare", "nsenter", "nstat")

ADDRESS = {"a": "10.99.0.1", "c": "10.99.0.2"}
ADDRESS6 = {"a": "fd99::1", "c": "fd99::2"}

SETTINGS = "echo 1 > /proc/sys/net/ipv4/tcp_ecn; echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad"


def impossible() -> str:
    """Why no machine can be put between two hosts here; empty where it can."""
    if not hasattr(access._core, "bridge"):
        return "this build cannot handle real packets"
    if lacking := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(lacking)} not installed"
    if not access.holds(access.NET_ADMIN, access.NET_RAW, access.SYS_ADMIN):
        return "needs root"
    made = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    return made.stderr.strip()


class Between:
    """Host `a`, the machine between, `b`, with its interfaces `left` and `right`, and host `c`.

    A namespace lives as long as a process that sleeps in it, and its interfaces as long as the namespace.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sleepers: dict[str, subprocess.Popen[bytes]] = {}
        self.started: list[subprocess.Popen[Any]] = []

    def make(self) -> None:
        """Make namespaces and interfaces."""
        for name in ("a", "b", "c"):
            words = ["unshare", "--net", "sh", "-c", f"{SETTINGS}; echo; exec sleep 600"]
            self.sleepers[name] = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
        for sleeper in self.sleepers.values():
            assert sleeper.stdout is not None
            sleeper.stdout.readline()
        for host, end in (("a", "left"), ("c", "right")):
            pid = self.sleepers[host].pid
            self.do("b", f"ip link add {end} type veth peer name eth0 netns {pid}")
            self.do(host, f"ip address add {ADDRESS[host]}/24 dev eth0")
            self.do(host, f"ip address add {ADDRESS6[host]}/64 dev eth0 nodad")
            self.do(host, "ethtool -K eth0 tso off gso off")
            self.do(host, "ip link set eth0 up")
            self.do("b", f"ip link set {end} addrgenmode none up")

    def take_away(self) -> None:
        """End all that was started, and with it the namespaces."""
        for each in [*self.started, *self.sleepers.values()]:
            if each.poll() is None:
                each.kill()
        for each in [*self.started, *self.sleepers.values()]:
            each.communicate()

    def words(self, host: str, *command: str) -> list[str]:
        return ["nsenter", f"--net=/proc/{self.sleepers[host].pid}/ns/net", *command]

    def do(self, host: str, line: str) -> str:
        """What a command of a host says; it must end well."""
        done = subprocess.run(self.words(host, *line.split()), capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout

    def start(self, host: str, *command: str) -> subprocess.Popen[str]:
        """Start a command of a host; it is ended with the namespaces."""
        process = subprocess.Popen(
            self.words(host, *command), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.started.append(process)
        return process

    def python(self, host: str, program: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a program in Python at a host; it imports nothing that is slow."""
        return self.start(host, sys.executable, "-S", "-c", program, *arguments)

    def said(self, process: subprocess.Popen[str], seconds: float = 60) -> Any:
        """What a program has printed as JSON, when it has ended well."""
        out, error = process.communicate(timeout=seconds)
        assert process.returncode == 0, error
        return json.loads(out)

    @contextlib.contextmanager
    def bridge(self, *options: str, prefix: Sequence[str] = ()) -> Iterator[Bridged]:
        """A bridge from left to right in `b`, ready; at the end it is ended by SIGTERM."""
        process = self.start("b", *prefix, PROGRAM, "bridge", "left", "right", "--no-view", "--json", *options)
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("ready:"):
                break
        else:
            raise AssertionError("".join(said))
        bridged = Bridged(process, said)
        yield bridged
        bridged.end()

    def counter(self, host: str, *names: str) -> int:
        """The sum of counters of a host's kernel, by their names in nstat(8)."""
        said = self.do(host, "nstat -asz --json")
        return sum(int(json.loads(said)["kernel"][name]) for name in names)


class Bridged:
    """A bridge that runs. `said`: what it has said so far on standard error."""

    def __init__(self, process: subprocess.Popen[str], said: list[str]) -> None:
        self.process, self.said = process, said
        self.record: dict[str, Any] = {}

    def end(self, how: signal.Signals = signal.SIGTERM) -> dict[str, Any]:
        """End it in order: what it has printed."""
        if not self.record:
            os.kill(self.process.pid, how)
            out, error = self.process.communicate(timeout=60)
            assert self.process.returncode == 0, error
            self.said.append(error)
            self.record = json.loads(out)
        return self.record

    def link(self, name: str) -> dict[str, Any]:
        """The row of a link; ends the bridge."""
        found: dict[str, Any] = next(link for link in self.end()["links"] if link["link"] == name)
        return found
