"""Disciplines as BPF objects, for a stock Linux from 6.16 on: lines that load one and make it an interface's queue.

The object shapes to the link's rate by itself, with its framing: a BPF queue stands at the root, where no other queue
can hold it back. What a program does otherwise than the simulation is in the manual's table (docs/bpf.md).
"""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from ..traffic.paths import queue_at
from . import linux, systemd
from .target import LONGEST_NAME, Deployment, Undeployable, Values, find_link, interface, refusal

__all__ = ["Parameters", "command", "deployable", "laid_out", "lines", "parameters", "queue_name"]

OPTIONAL = 2
"""How many of the first lines may fail: offloads that cannot be switched off make the queue coarse."""

OFFLOADS = ("tso", "gso", "gro")
"""What makes one packet of many."""

WHOLE_SEGMENTS = 65535
"""The most segments in one packet that the kernel starts an interface with (GSO_MAX_SEGS)."""


def deployable(name: str) -> bool:
    """Whether a discipline of this name can be deployed by a BPF object, or by tc alone."""
    return name in _core.bpf_names() or linux.deployable(name)


def queue_name(discipline: str, dev: str) -> str:
    """The name in tc of a discipline's queue on an interface: 15 letters at most.

    The kernel takes letters, digits and underlines, the folder of its BPF objects no dots. An interface with others, or
    one that is too long, has the last of its letters and a number made of all, so that no two get one name.
    """
    room, fit = LONGEST_NAME - len(discipline) - 1, re.sub(r"[^A-Za-z0-9_]", "_", dev)
    if fit != dev or len(fit) > room:
        fit = f"{fit[-(room - 4) :]}{zlib.crc32(dev.encode()) & 0xFFFF:04x}"
    return f"{discipline}_{fit}"


@dataclass(frozen=True)
class Parameters:
    """What a discipline's program reads.

    Attributes:
        discipline: Its name.
        content: `struct parameters` of bpf/NAME.bpf.c.
        numbers: What is in it: name in C, bits, binary places.
    """

    discipline: str
    content: bytes
    numbers: list[tuple[str, int, int]]


def laid_out(resolved: Mapping[str, Any], link: str | None = None, generation: int = 1) -> Parameters:
    """The discipline's values with the rate and framing of the link, as its program reads them. Raises Undeployable."""
    place = find_link(resolved, link)
    queue = Values(queue_at(resolved, place.name))
    if queue.discipline not in (known := _core.bpf_names()):
        raise refusal(queue.discipline, "a BPF object", known, {})
    values = {**queue.table, **queue.own}
    if "bandwidth" in queue:
        values["bandwidth"] = f"{queue.rate('bandwidth', place)} bit/s"
    framing = (place.framing.around, place.framing.least, place.framing.cells)
    try:
        made = _core.bpf_parameters(queue.discipline, values, place.rate, place.packet, framing, generation)
    except ValueError as error:
        raise Undeployable(f"{queue.discipline} as a BPF object: {error}") from None
    return Parameters(queue.discipline, *made)


def parameters(resolved: Mapping[str, Any], link: str | None = None) -> bytes:
    """What the program of a new object reads. Raises Undeployable."""
    return laid_out(resolved, link).content


def command(
    file: str, resolved: Mapping[str, Any], dev: str, link: str | None, sets: Iterable[tuple[str, str]]
) -> Deployment | None:
    """The command that writes the object of a scenario's queue, with these overrides, and prints the lines for it; None
    where tc's own lines do. Raises Undeployable."""
    if queue_at(resolved, find_link(resolved, link).name)["discipline"] not in _core.bpf_names():
        return None
    interface(dev)
    laid_out(resolved, link)
    given = [word for key, value in sets for word in ("--set", f"{key}={value}")]
    where = ["--link", link] if link is not None and "links" in resolved["network"] else []
    words = ["sluicegate", "tc", file, "--bpf", "--dev", dev, *where, *given, "-o", "FOLDER"]
    remark = "writes the object into FOLDER, and prints the lines that deploy it from there"
    return Deployment(lines=[shlex.join(words)], remarks=[remark])


def lines(resolved: Mapping[str, Any], dev: str, link: str | None = None, folder: Path | None = None) -> Deployment:
    """The commands that deploy the queue of a resolved scenario by an object in `folder`, and the files for it.

    A discipline that has no object, and lines for tc, gets those. Raises Undeployable.
    """
    name = str(queue_at(resolved, find_link(resolved, link).name)["discipline"])
    if name not in _core.bpf_names() and linux.deployable(name):
        return linux.lines(resolved, dev, link)
    interface(dev)
    place, made = find_link(resolved, link), laid_out(resolved, link)
    queue = queue_name(name, dev)
    path = (folder or Path()).absolute() / f"{queue}.o"
    quoted, pinned = shlex.quote(dev), f"/sys/fs/bpf/{queue}"
    offloads = [f"ethtool -K {quoted} {' '.join(f'{each} {state}' for each in OFFLOADS)}" for state in ("off", "on")]
    # TCP of the machine itself builds packets of many segments whatever gso says (sk_setup_caps, since Linux 4.17).
    segments = [f"ip link set dev {quoted} gso_max_segs {most}" for most in (1, WHOLE_SEGMENTS)]
    start = [
        offloads[0],
        segments[0],
        f"bpftool struct_ops register {shlex.quote(str(path))} {shlex.quote(pinned)}",
        f"tc qdisc replace dev {quoted} root {shlex.quote(queue)}",
    ]
    undo = [f"tc qdisc del dev {quoted} root", f"rm -r {shlex.quote(pinned)}", segments[1], offloads[1]]
    # What is undone is so after a start that failed, too.
    marked = [*(f"-{line}" for line in start[:OPTIONAL]), *start[OPTIONAL:]]
    unit = systemd.unit(f"{name} on {dev}, as a BPF queue", dev, marked, undo)
    remarks = [
        *(f"to undo it: {line}" for line in undo),
        "needs a kernel from 6.16 on with CONFIG_NET_SCH_BPF, and bpftool from 7.5 on; the same object fits all these "
        "kernels",
        f"the queue shapes to the link's {place.shown_rate} by itself: a BPF queue stands at the root or below mq, "
        "never below htb; the interface must be faster",
        "segmentation offloads are off, since a packet merged from several would count as one; where they cannot be "
        "switched off the queue is coarse",
        "after undoing it, switch on only the offloads that were on before; the service, when it stops, switches on "
        "all",
        "gso_max_segs 1 is for this machine's own TCP, which merges packets even with gso off; it holds for new "
        "connections",
        f"a driver that takes fewer than {WHOLE_SEGMENTS} segments refuses gso_max_segs {WHOLE_SEGMENTS}: to undo it, "
        "use the driver's tso_max_segs instead (`ip -d link` shows it)",
        "on a router switch gro off on the interfaces that packets come in by, too: what is merged there is one packet",
        "below PPPoE and MPLS all packets are one flow: put the queue on the ppp interface",
        f"{queue}.service, beside the object, does the same at each start: copy it to /etc/systemd/system",
    ]
    if folder is None:
        remarks.insert(0, f"`sluicegate tc FILE --bpf -o FOLDER` writes {queue}.o")
    if place.framing.around == 0:
        remarks.append("the queue counts only the IP bytes of packets: set network.framing to what the line adds")
    numbers = {number: value for number, value, _ in made.numbers}
    if (limit := numbers["link.limit_bytes"]) != 2**64 - 1:
        most = numbers["link.limit_packets"]
        remarks.append(
            f"the queue also holds at most {most} packets: packets shorter than {limit // most} B reach that before "
            f"the limit in bytes"
        )
    if place.varies:
        remarks.append(
            f"the rate of the scenario's link varies (trace); the queue has {place.shown_rate}, the mean of the trace "
            f"unless rate is given"
        )
    if place.tx_ring:
        remarks.append("tx_ring is not deployed: behind the queue's own shaper the driver's ring stays empty")
    if resolved.get("changes"):
        remarks.append("[[changes]] are not deployed: these are the values at the start")
    files = {f"{queue}.o": _core.bpf_object(name, queue, made.content), f"{queue}.service": unit.encode()}
    return Deployment(lines=start, remarks=remarks, files=files, optional=OPTIONAL)
