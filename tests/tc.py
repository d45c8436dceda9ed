"""tc, asked where nobody is harmed: in a network namespace of its own, and what it sends to the kernel."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess


def sbin() -> dict[str, str]:
    return os.environ | {"PATH": os.environ["PATH"] + ":/sbin:/usr/sbin", "LC_ALL": "C"}


def in_a_namespace(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command where the only interface is a loopback that nobody uses."""
    root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    line = ["unshare", *root, "--net", "sh", "-c", command]
    return subprocess.run(line, capture_output=True, encoding="utf-8", env=sbin())


def missing(*programs: str) -> list[str]:
    return [name for name in programs if shutil.which(name, path=sbin()["PATH"]) is None]


def traced(line: str) -> subprocess.CompletedProcess[str]:
    """Run a command in such a namespace under strace, which shows what it sends, whether or not the kernel takes it."""
    return in_a_namespace(f"strace -v -s 4096 -xx -e trace=sendmsg,sendto {line}")


def options(trace: str) -> dict[int, bytes]:
    """The options of the queue discipline in what `traced` printed on standard error."""
    found = re.search(r'TCA_OPTIONS}, "((?:\\x[0-9a-f]{2})+)"', trace)
    assert found, trace
    return attributes(bytes.fromhex(found[1].replace("\\x", "")))


def attributes(data: bytes) -> dict[int, bytes]:
    """The attributes of a netlink message, by type."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found
