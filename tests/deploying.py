"""What tests of `sluicegate tc` share: scenarios with their lines, and what iproute2's own tc makes of a line.

The request that tc sends is decoded and turned back into the units of the scenario. No kernel has to know the
discipline: only the request is looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tc import attributes, missing, traced

import sluicegate as sg
from sluicegate import _core
from sluicegate.deploy import Deployment, linux

NETWORK = """\
[network]
rate = "12 Mbit/s"
{network}

[queue]
{queue}

[[flows]]
kind = "udp"
rate = "1 Mbit/s"
packet_size = "{packet} B"

[run]
duration = "1 s"
"""

SCALES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "B": 1}
SCALES |= {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
TICKS = 15.625
"""tc's units of time in a microsecond (64 ns)."""


def base(value: str) -> int:
    number, unit = value.split()
    return int(number) * SCALES[unit]


def us(value: str) -> int:
    """A time of the scenario in whole microseconds, which is what tc sends."""
    assert base(value) % 1000 == 0
    return base(value) // 1000


def checked(folder: Path, queue: str, network: str = "", packet: int = 1250) -> dict[str, Any]:
    file = folder / "scenario.toml"
    file.write_text(NETWORK.format(queue=queue, network=network, packet=packet))
    return sg.check(file)


def of(folder: Path, name: str, more: str = "", network: str = "") -> tuple[dict[str, Any], Deployment]:
    """The queue of a scenario with this discipline, and its lines."""
    resolved = checked(folder, f'discipline = "{name}"\n{more}', network)
    return resolved["queue"], linux.lines(resolved, "lo")


@dataclass(frozen=True)
class Request:
    """A message of tc to the kernel: its type, the kind of what it makes, where, and its options."""

    type: str
    kind: str
    handle: int
    parent: int
    info: int
    data: bytes

    @property
    def options(self) -> dict[int, bytes]:
        return attributes(self.data)

    def number(self, key: int) -> int:
        return int.from_bytes(self.options[key], "little")


@cache
def permitted() -> str:
    if lacking := missing("tc", "strace", "unshare"):
        return f"{', '.join(lacking)} not installed"
    done = traced("tc qdisc show dev lo")
    if "ptrace" in done.stderr or "unshare failed" in done.stderr:
        return f"not permitted here: {done.stderr.splitlines()[0]}"
    return ""


def sent(line: str) -> Request:
    """The request that tc makes of a line. Fails if tc did not understand the line."""
    if why := permitted():
        pytest.skip(why)
    done = traced(line)
    for said in ("What is", "Illegal", "Unknown", "syntax", "missing", "failed to calculate"):
        assert said not in done.stderr, f"{line}\n{done.stderr}"
    found = re.search(
        r"nlmsg_type=(RTM_NEW\w+).*?tcm_handle=(\d+), tcm_parent=(\d+), tcm_info=(\d+)\}"
        r'.*?nla_type=TCA_KIND\}, "((?:\\x[0-9a-f]{2})+)"'
        r'(?:.*?nla_type=(?:NLA_F_NESTED\|)?TCA_OPTIONS\}, "((?:\\x[0-9a-f]{2})+)")?',
        done.stderr,
    )
    assert found, f"{line}\n{done.stderr}"
    kind, data = (bytes.fromhex((text or "").replace("\\x", "")) for text in found.groups()[4:])
    return Request(found[1], kind.rstrip(b"\0").decode(), int(found[2]), int(found[3]), int(found[4]), data)


def discipline(done: Deployment) -> Request:
    """The request of the discipline's own line, below the two of htb."""
    assert done.lines[0].startswith("tc qdisc add dev lo root handle 1: htb")
    assert len(done.lines) == 3
    request = sent(done.lines[2])
    assert (request.type, request.parent) == ("RTM_NEWQDISC", 0x10001)
    return request


def untold(folder: Path, variations: Mapping[str, Sequence[str]]) -> set[str]:
    """What lines say of the parameters of these disciplines, but no variation changes from its default."""
    declared = {each["name"]: each for each in json.loads(_core.declarations())["disciplines"]}
    found = set()
    for name, changes in variations.items():
        plain, _ = of(folder, name)
        queues = [of(folder, name, more)[0] for more in changes]
        changed = {key for queue in queues for key, value in queue.items() if value != plain.get(key)}
        found |= {f"{name}.{field['name']}" for field in declared[name]["fields"] if field["tc"]} - {
            f"{name}.{key}" for key in changed
        }
    return found


PROTOCOLS = {0x0800: "ip", 0x86DD: "ipv6", 0x0003: "all"}


def match(request: Request) -> tuple[str, int | None]:
    """The protocol and the DSCP that a filter of flower or matchall takes."""
    protocol = PROTOCOLS[int.from_bytes((request.info & 0xFFFF).to_bytes(2, "little"), "big")]
    if request.kind == "matchall":
        return protocol, None
    assert request.kind == "flower"
    assert request.number(74) == 0xFC  # the mask leaves ECN alone
    assert request.number(73) & 3 == 0
    return protocol, request.number(73) >> 2


CLASSES = """\
[[queue.classes]]
class = 46
quantum = "3000 B"
discipline = "fq_codel"
fq_codel = { quantum = "300 B", limit = 99 }

[[queue.classes]]
max_length = "64 B"
discipline = "red"
red = { min_th = 7, max_th = 21 }

[[queue.classes]]
class = 10
max_length = "500 B"
discipline = "codel"

[[queue.classes]]
discipline = "drop_tail"
limit = 33
"""


def structure(numbers: list[tuple[str, int, int]]) -> dict[str, object]:
    """The numbers as bpftool shows a structure of C, with the gaps that it has there."""
    made: dict[str, Any] = {"pad": 0}
    for name, value, _ in numbers:
        *outer, last = name.split(".")
        inner = made
        for each in outer:
            inner = inner.setdefault(each, {"pad": 0})
        inner[last] = value
    return made
