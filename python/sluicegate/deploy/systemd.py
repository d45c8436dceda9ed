"""Units of systemd that run commands as long as an interface is there."""

from __future__ import annotations

from collections.abc import Iterable

UNIT = """\
[Unit]
Description={description}
BindsTo=sys-subsystem-net-devices-{escaped}.device
After=sys-subsystem-net-devices-{escaped}.device

[Service]
Type=oneshot
RemainAfterExit=yes
{commands}

[Install]
WantedBy=sys-subsystem-net-devices-{escaped}.device
"""


def escaped(dev: str) -> str:
    """The interface in the name of a systemd unit, as systemd.unit(5) has it."""
    return "".join(one if one.isalnum() or one in ":_." else f"\\x{ord(one):02x}" for one in dev)


def unit(description: str, dev: str, start: Iterable[str], stop: Iterable[str]) -> str:
    """A unit that runs `start` when the interface appears, and `stop` when it is stopped, goes, or cannot start. A "-"
    before a command: it may fail."""
    commands = [f"ExecStart={line.replace('%', '%%')}" for line in start]
    commands += [f"ExecStopPost=-{line.replace('%', '%%')}" for line in stop]
    about = description.replace("%", "%%")
    return UNIT.format(description=about, escaped=escaped(dev), commands="\n".join(commands))
