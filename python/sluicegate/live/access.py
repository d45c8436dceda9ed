"""What this process may do with the networks of its machine, and what to do where that is too little."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import _core
from . import slirp

NET_ADMIN, NET_RAW, SYS_ADMIN = 12, 13, 21
"""The bits of the capabilities that devices, packet sockets and namespaces need (capabilities(7))."""

TUN = Path("/dev/net/tun")

MARK = "SLUICEGATE_NAMESPACES"
"""Set in the environment of a program that has been started again in namespaces of its own."""

NAMESPACES = ("unshare", "--user", "--map-root-user", "--net", "--mount")

RULES = (
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
     "AppArmor forbids them (sysctl kernel.apparmor_restrict_unprivileged_userns=0 allows them)"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0",
     "the kernel's settings forbid them (sysctl kernel.unprivileged_userns_clone=1 allows them)"),
    ("/proc/sys/user/max_user_namespaces", "0",
     "the kernel's settings forbid them (sysctl user.max_user_namespaces is 0)"),
)  # fmt: skip
"""Settings that forbid user namespaces: where they are, the value that does, and what to say."""


def require_core(what: str = "shell") -> None:
    """Raise `ScenarioError` where the core cannot handle real packets. `what`: the command, for the message."""
    if not hasattr(_core, what):
        raise _core.ScenarioError(f"{what}: real packets need Linux; this build of Sluicegate cannot handle them")


def privileged() -> bool:
    """Whether this process may make devices and namespaces: as root, in a container only if it is allowed there."""
    return holds(NET_ADMIN, SYS_ADMIN)


def holds(*bits: int) -> bool:
    """Whether this process has all of these capabilities."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return False
    held = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)
    return all(held >> bit & 1 for bit in bits)


def require_tun() -> None:
    """Raise `ScenarioError` where no TUN device can be made."""
    if not TUN.exists():
        raise _core.ScenarioError(
            f"{TUN} is missing: load the module with `modprobe tun`; a container needs `--device {TUN}`"
        )
    if not os.access(TUN, os.R_OK | os.W_OK):
        raise _core.ScenarioError(f"{TUN}: no permission to read and write it; the usual mode is 0666")


def require(peer: Sequence[str] | None, what: str = "shell") -> None:
    """Raise `ScenarioError` where this process cannot run a shell, and say what to do. `peer`: as for `shell`; not None
    for what needs no way to the world. `what`: the command, for the message."""
    require_core(what)
    if not privileged():
        without = "run Python as root" if peer is None else f"run Python as root, or by `{' '.join(NAMESPACES)} --`"
        raise _core.ScenarioError(f"{what}: needs the rights of root (CAP_NET_ADMIN, CAP_SYS_ADMIN): {without}")
    require_tun()


def require_interfaces(what: str = "bridge") -> None:
    """Raise `ScenarioError` where this process may not take frames from interfaces, and say what to do."""
    require_core(what)
    if holds(NET_ADMIN, NET_RAW):
        return
    rights = "CAP_NET_RAW and CAP_NET_ADMIN"
    if os.geteuid() == 0:
        raise _core.ScenarioError(
            f"{what}: this root lacks {rights}: a container needs `--cap-add NET_RAW --cap-add NET_ADMIN`"
        )
    raise _core.ScenarioError(f"{what}: needs the rights of root ({rights}): run it with sudo")


def enter(peer: Sequence[str] | None, what: str = "shell", keep: Sequence[int] = ()) -> None:
    """Go on as a process that may run a shell: this one, or the whole program again, in namespaces of its own.

    Raises `ScenarioError` where neither is possible, and says what to do. `peer`, `what`: as for `require`.
    `keep`: files that the program has open as well, if it runs again.
    """
    require_core(what)
    again = os.environ.pop(MARK, None) is not None
    if privileged():
        require_tun()
        slirp.wait_for_world()
        return
    if again:
        raise _core.ScenarioError(f"{what}: a user namespace gave no rights over networks: run it as root")
    if os.geteuid() == 0:
        raise _core.ScenarioError(
            f"{what}: this root lacks CAP_NET_ADMIN or CAP_SYS_ADMIN: a container needs `--cap-add NET_ADMIN "
            "--cap-add SYS_ADMIN`, or `--privileged`"
        )
    if peer is None:
        slirp.require()
    require_tun()
    require_user_namespaces()
    program = [*NAMESPACES, "--", sys.executable, "-m", "sluicegate", *sys.argv[1:]]
    sys.stdout.flush()
    sys.stderr.flush()
    if peer is None:
        raise SystemExit(slirp.run(program, os.environ | {MARK: "1"}, keep))
    for file in keep:
        os.set_inheritable(file, True)
    os.execvpe(NAMESPACES[0], program, os.environ | {MARK: "1"})


def require_user_namespaces() -> None:
    """Raise `ScenarioError` where this user cannot make namespaces."""
    if shutil.which(NAMESPACES[0]) is None:
        raise _core.ScenarioError("without root it needs the program unshare, which is part of util-linux")
    tried = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    if tried.returncode == 0:
        return
    why = next((words for place, value, words in RULES if _holds(place) == value), None)
    said = why or (tried.stderr.strip().splitlines() or ["unshare failed"])[-1]
    raise _core.ScenarioError(f"without root it needs user namespaces: {said}; or run it with sudo")


def _holds(place: str) -> str | None:
    """What a setting of the kernel is; None where there is no such setting."""
    try:
        return Path(place).read_text().strip()
    except OSError:
        return None
