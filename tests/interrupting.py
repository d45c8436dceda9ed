"""Interrupts a program as Ctrl-C does, and sees that it ends within a second."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from typing import AnyStr

import psutil

# A second of processor time of the program and its processes, and what each core may still do of a slice of 40 ms. The
# clock on the wall counts whatever else the machine does as well, so its bound is wider: it is for a program that waits
# for something instead of ending.
PROCESSOR_S = 1.0 + 0.04 * (os.cpu_count() or 1)
WALL_S = 5.0


def at_work(child: subprocess.Popen[AnyStr], seconds: float = 1.0) -> None:
    """Waits until `child` and its processes have used so much more processor time than they had: by default more than
    they need to begin. After a time by the clock on the wall of a busy machine they might not have begun."""
    begun = _of_the_running(child.pid)
    while child.poll() is None and _of_the_running(child.pid) - begun < seconds:
        time.sleep(0.02)


def interrupt(child: subprocess.Popen[AnyStr]) -> tuple[AnyStr, AnyStr]:
    """Sends SIGINT to `child`, which is to run still and to end within a second; what it wrote to its pipes."""
    assert child.poll() is None, "it should still run"
    before = _of_the_ended() + _of_the_running(child.pid)
    child.send_signal(signal.SIGINT)
    # Its input stays open: the signal is to end it, not the end of the input.
    child.stdin, stdin = None, child.stdin
    written = child.communicate(timeout=WALL_S)
    child.stdin = stdin
    after = _of_the_ended() - before
    assert after < PROCESSOR_S, f"{after:.2f} s of processor time after the signal"
    return written


def _of_the_ended() -> float:
    """Processor seconds of the children of this process that have ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _of_the_running(pid: int) -> float:
    """Processor seconds so far of a process, of those that it has started, and of those of them that have ended."""
    process = psutil.Process(pid)
    total = 0.0
    # The process itself comes last: it knows what those have used that end meanwhile.
    for each in [*process.children(recursive=True), process]:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total
