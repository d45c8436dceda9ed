"""Access to the Internet without root: the program starts itself again in namespaces of its own, beside slirp4netns.

slirp4netns carries packets between a namespace and sockets of this user. It ends TCP itself: a download through it is
two connections, one over the emulated link, and one over the Internet. What the link does to the first is real; the
Internet's delays and losses are hidden from it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from .. import _core

PROGRAM = "slirp4netns"

DIE = ("setpriv", "--pdeathsig", "KILL", "--")
"""A process that ends with the one that started it."""

GO = "SLUICEGATE_GO"
"""In the environment of the program in namespaces: the number of an open file that says when the world is there."""

TOLD = (
    f"warning: without root the Internet is reached through {PROGRAM}, which terminates TCP connections itself: use it "
    "for connectivity, not to measure the path beyond the link"
)


def require() -> None:
    """Raise `ScenarioError` where slirp4netns is not installed."""
    if shutil.which(PROGRAM) is None:
        raise _core.ScenarioError(
            f"shell: without root it reaches the Internet through {PROGRAM}, which is not installed: install it, run "
            "with sudo, or give the other end with --peer COMMAND"
        )


def run(words: Sequence[str], environment: Mapping[str, str], keep: Sequence[int] = ()) -> int:
    """Run a program in namespaces of its own, which `words` make, with the world beyond them; its exit code. `keep`:
    files that it has open as well.

    Raises `ScenarioError` when the world does not come.
    """
    go_read, go_write = os.pipe()
    ready_read, ready_write = os.pipe()
    print(TOLD, file=sys.stderr, flush=True)
    after = words.index("--") + 1
    own = [*words[:after], *DIE, *words[after:]]
    child = subprocess.Popen(own, pass_fds=[go_read, *keep], env={**environment, GO: str(go_read)})
    os.close(go_read)
    # The terminal's Ctrl-C is for the program, which is in the same group; ignored before, it would be so there, too.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _wait_until_inside(child)
        beside = [*DIE, PROGRAM, "--configure", "--mtu=65520", "--disable-host-loopback", f"--ready-fd={ready_write}"]
        with subprocess.Popen(
            [*beside, str(child.pid), "tap0"], pass_fds=[ready_write], process_group=0, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        ) as slirp:  # fmt: skip
            os.close(ready_write)
            if os.read(ready_read, 1) != b"1":
                assert slirp.stderr is not None
                said = slirp.stderr.read().decode(errors="replace").strip().splitlines()
                raise _core.ScenarioError(f"shell: {PROGRAM}: {said[-1] if said else 'it did not start'}")
            os.write(go_write, b"\n")
            code = child.wait()
            slirp.kill()
    finally:
        child.kill()
        child.wait()
        for file in (go_write, ready_read):
            os.close(file)
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code


def _wait_until_inside(child: subprocess.Popen[bytes]) -> None:
    """Wait until a process has namespaces of its own. Raises `ScenarioError` when it ends before."""
    ours = os.readlink("/proc/self/ns/net")
    for _ in range(500):
        if child.poll() is not None:
            raise _core.ScenarioError("shell: no namespace could be made")
        try:
            if os.readlink(f"/proc/{child.pid}/ns/net") != ours:
                return
        except OSError:
            pass
        time.sleep(0.01)
    raise _core.ScenarioError("shell: no namespace could be made")


def wait_for_world() -> None:
    """In the program in namespaces: wait until the world is there, if it is to be."""
    if (number := os.environ.pop(GO, None)) is not None:
        os.read(int(number), 1)
        os.close(int(number))
