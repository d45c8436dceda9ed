"""What a job of tools/kernel.py runs on: an emulated machine (emulated.py), or this one's own kernel (own_kernel.py).

A job is lines for sh, in a folder with its files. It finds bpftool, ip and tc, a BPF file system at /sys/fs/bpf,
network namespaces of its own, and in $OUTPUT the name of a file that its caller reads.
"""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

PACKAGES = {"cc": "gcc libc6-dev"}
"""Debian's packages of programs that are not named after them."""


class Unavailable(Exception):
    """Why there is no such machine here, or what else is missing; the message is for the user."""


class Failed(Exception):
    """What has gone wrong with all there that is needed; the message is for the user."""


def run(*command: str | Path, **options: object) -> str:
    """The output of a command. Raises Unavailable where it is not here, Failed where it does not succeed."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    except FileNotFoundError:
        package = PACKAGES.get(str(command[0]), command[0])
        raise Unavailable(f"{command[0]} is not here: apt-get install {package}") from None
    if done.returncode:
        raise Failed(f"{command[0]} {command[1]}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return str(done.stdout)


class Machine(ABC):
    """A kernel that takes queue disciplines in BPF.

    Attributes:
        about: What it is, with the kernel's version.
        clock: What its clock counts while a program runs: "instructions" or "ns".
    """

    about: str
    clock: str

    @abstractmethod
    def run(self, job: str, files: Mapping[str, bytes], seconds: int = 600, output: Path | None = None) -> str:
        """What the lines of `job` print, with these files, and "job ended: " with its exit status; `output` is $OUTPUT
        there. Raises Failed where it takes longer."""
