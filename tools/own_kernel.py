"""This machine's own kernel, where it takes queue disciplines in BPF: jobs run as root, in namespaces of their own."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from machine import Failed, Machine, Unavailable

BTF = Path("/sys/kernel/btf/vmlinux")
TYPE = b"\0bpf_struct_ops_Qdisc_ops\0"
"""What a kernel with CONFIG_NET_SCH_BPF has among its types, and a loader looks for."""
TOOLS = ("bpftool", "ip", "tc", "unshare", "mount")
LEAST = (7, 5)
"""The least version of bpftool."""

INSIDE = """\
mount --make-rprivate / && mount -t tmpfs run /run && mkdir /run/netns && mount -t bpf bpf /sys/fs/bpf
ip link set lo up
cd {folder}; export OUTPUT={output}; sh -e ./job.sh; echo "job ended: $?"
"""


def lacking(btf: Path = BTF) -> str | None:
    """What this machine lacks for jobs in its own kernel; None if it has all."""
    if not btf.exists():
        return "its kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)"
    if TYPE not in btf.read_bytes():
        return "its kernel takes no queue disciplines in BPF (Linux from 6.16 on with CONFIG_NET_SCH_BPF)"
    if os.geteuid() != 0:
        return "needs root"
    if absent := [name for name in TOOLS if shutil.which(name) is None]:
        return f"{', '.join(absent)} not found"
    said = subprocess.run(["bpftool", "version"], capture_output=True, text=True).stdout
    found = re.search(r"v(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < LEAST:
        return f"bpftool {LEAST[0]}.{LEAST[1]} or later is needed, here is {said.splitlines()[:1]}"
    return None


class OwnKernel(Machine):
    """This machine. Its namespaces, and with them queues and objects that a job leaves, end with the job."""

    def __init__(self) -> None:
        if reason := lacking():
            raise Unavailable(f"this machine: {reason}")
        self.about, self.clock = f"Linux {platform.release()}, this machine's own", "ns"

    def run(self, job: str, files: Mapping[str, bytes], seconds: int = 600, output: Path | None = None) -> str:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, content in (files | {"job.sh": job.encode()}).items():
                (folder / file).write_bytes(content)
                (folder / file).chmod(0o755)
            inside = INSIDE.format(folder=shlex.quote(name), output=shlex.quote(str(output or os.devnull)))
            try:
                done = subprocess.run(
                    ["unshare", "--net", "--mount", "sh", "-c", inside],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=seconds,
                )
            except subprocess.TimeoutExpired:
                raise Failed(f"a job has not ended after {seconds} s") from None
            return done.stdout
