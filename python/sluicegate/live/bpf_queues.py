"""The BPF queues of this machine: what bpftool tells of them, and changes of their parameters."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..declarations import declarations
from ..deploy.linux_bpf import Parameters

REASONS = ("tail", "early", "forced", "match", "reconfigured")
"""enum reason of bpf/sluicegate.h from 1 on: why packets are dropped."""
OBJECT = "sluicegate"
"""The name of the map that holds the queue's functions, in all our objects."""


class Unreadable(Exception):
    """Why nothing can be told or changed; the message is a sentence for the user."""


def bpftool(*words: str) -> Any:
    """What bpftool says, read from its JSON. Raises Unreadable."""
    try:
        done = subprocess.run(["bpftool", "--json", *words], capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        raise Unreadable("bpftool is not here: Debian's package bpftool has it") from None
    try:
        said = json.loads(done.stdout or "[]")
    except ValueError:
        raise Unreadable(f"bpftool {' '.join(words)}: not JSON: {done.stdout[:60]!r}") from None
    every = said if isinstance(said, list) else [said]
    reason = next((str(each["error"]) for each in every if isinstance(each, dict) and "error" in each), "")
    # Nothing of the name: an empty list, and no success.
    if not reason and done.returncode and not (said == [] and done.stdout.strip()):
        reason = done.stderr.strip() or "failed"
    if reason:
        hint = "" if os.geteuid() == 0 else "; run it as root"
        raise Unreadable(f"bpftool {' '.join(words)}: {reason}{hint}")
    return said


def flattened(structure: Mapping[str, Any], before: str = "") -> dict[str, int]:
    """The numbers of a C structure, their names behind those of the structures that they are in; but for gaps."""
    found: dict[str, int] = {}
    for name, value in structure.items():
        if isinstance(value, Mapping):
            found |= flattened(value, f"{before}{name}.")
        elif name != "pad":
            found[before + name] = value if value >= 0 else value + 2**32  # __s32
    return found


def shown(value: int, places: int) -> str:
    """A number of a program, as a person writes it."""
    if value in (2**64 - 1, 2**63 - 1) and places != 64:
        return "none"
    return f"{value / 2**places:.6g}" if places else str(value)


def writes(old: bytes, new: bytes) -> list[list[str]]:
    """What bpftool is to write in place of `old` parameters, one after the other.

    The program takes no notice while their last word, the generation, is 0. It changes alone, first and last: a packet
    is judged by the parameters before, or by those after.
    """
    unread = bytes(8)
    contents = (old[:-8] + unread, new[:-8] + unread, new)
    return [
        ["key", "hex", "00", "00", "00", "00", "value", "hex", *(f"{byte:02x}" for byte in content)]
        for content in contents
    ]


@dataclass(frozen=True, kw_only=True)
class BpfQueue:
    """A queue whose object is loaded.

    Attributes:
        name: Its name in tc.
        state: The numbers of its maps .bss and .data, by the names of the C structures.
        data: The number of its map .data.
        content: What is in that map.
    """

    name: str
    state: Mapping[str, Any]
    data: int
    content: bytes

    @property
    def used(self) -> bool:
        """Whether it is the queue of an interface."""
        return bool(self.state["q"]["owner"])

    def row(self) -> dict[str, int]:
        """Its counters since it was made a queue, by the names of the tables of a run, and what it holds now."""
        count, now = self.state["count"], self.state["q"]
        drops = {f"drops_{reason}": count["drops"][at] for at, reason in enumerate(REASONS, 1)}
        return {
            "rate_bps": self.state["live"]["link"]["rate"],
            "arrivals_packets": count["arrivals"],
            "departures_packets": count["departures"],
            "drops_packets": sum(drops.values()),
            **drops,
            "queue_packets": now["packets"],
            "queue_bytes": now["bytes"],
            "queue_packets_max": count["max_packets"],
        }

    def change(self, to: Parameters) -> dict[str, tuple[str, str]]:
        """Write other parameters, which hold from the next arrival on; gives what has changed, before and after.

        Raises Unreadable.
        """
        changed = self.changed(to)
        if changed or not self.state["wanted"]["generation"]:  # a change that was broken off is written over
            for words in writes(self.content, to.content):
                bpftool("map", "update", "id", str(self.data), *words)
        return changed

    def changed(self, to: Parameters) -> dict[str, tuple[str, str]]:
        """Which of the program's numbers would be others, now and then. Raises Unreadable where they cannot be.

        Now is what holds from the next arrival on: what was written last, but in use not what is half written.
        """
        half = self.used and not self.state["wanted"]["generation"]
        old = flattened(self.state["live" if half else "wanted"])
        if list(old) != [name for name, *_ in to.numbers]:
            raise Unreadable(f"{self.name} has been made by another version of Sluicegate: load a new object")
        others = {
            name: (shown(old[name], places), shown(value, places))
            for name, value, places in to.numbers
            if name != "generation" and old[name] != value
        }
        declared = {each["name"]: each for each in declarations()["disciplines"]}
        fixed = [each["name"] for each in declared[to.discipline]["fields"] if each["fixed"] and each["name"] in others]
        if fixed:
            what = ", ".join(f"{name} ({' → '.join(others[name])})" for name in fixed)
            raise Unreadable(
                f"{self.name}: {what} cannot change while it is in use: `sluicegate tc --bpf` writes a new object"
            )
        return others

    @property
    def generation(self) -> int:
        """Which parameters were written last."""
        return max(int(self.state[place]["generation"]) for place in ("wanted", "live"))


def queues() -> list[BpfQueue]:
    """Every queue of ours whose object is loaded. Raises Unreadable."""
    found = []
    dumped = bpftool("struct_ops", "dump", "name", OBJECT)
    for each in dumped:
        data = each.get("bpf_struct_ops_Qdisc_ops", {}).get("data") if isinstance(each, dict) else None
        program = re.search(r"prog_id:(\d+)", str(data.get("enqueue"))) if data else None
        if not data or not program:
            continue
        state, written, content = {}, 0, b""
        for number in bpftool("prog", "show", "id", program[1])["map_ids"]:
            name = bpftool("map", "show", "id", str(number))["name"]
            if name.endswith((".bss", ".data")):
                (entry,) = bpftool("map", "dump", "id", str(number))
                (variables,) = entry["formatted"]["value"].values()
                state.update({name: value for variable in variables for name, value in variable.items()})
                if name.endswith(".data"):
                    written, content = number, bytes(int(byte, 16) for byte in entry["value"])
        found.append(BpfQueue(name=data["id"], state=state, data=written, content=content))
    return found
