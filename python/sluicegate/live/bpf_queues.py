"""The BPF queues of this machine: what bpftool tells of them, and changes of their parameters."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    if isinstance(said, dict) and "error" in said:
        raise Unreadable(f"bpftool {' '.join(words)}: {said['error']}")
    # Nothing of the name: an empty list, and no success.
    if done.returncode and not (said == [] and done.stdout.strip()):
        raise Unreadable(f"bpftool {' '.join(words)}: {done.stderr.strip() or 'failed'}")
    return said


@dataclass(frozen=True, kw_only=True)
class BpfQueue:
    """A queue whose object is loaded.

    Attributes:
        name: Its name in tc.
        state: The numbers of its maps .bss and .data, by the names of the C structures.
        data: The number of its map .data.
    """

    name: str
    state: Mapping[str, Any]
    data: int

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

    def change(self, parameters: bytes) -> None:
        """Write other parameters; they hold from the next arrival on. Raises Unreadable."""
        words = [f"{byte:02x}" for byte in parameters]
        bpftool("map", "update", "id", str(self.data), "key", "hex", "00", "00", "00", "00", "value", "hex", *words)

    @property
    def generation(self) -> int:
        """Which parameters were written last."""
        return int(self.state["wanted"]["generation"])


def queues() -> list[BpfQueue]:
    """Every queue of ours whose object is loaded. Raises Unreadable."""
    found = []
    dumped = bpftool("struct_ops", "dump", "name", OBJECT)
    for each in dumped:
        data = each.get("bpf_struct_ops_Qdisc_ops", {}).get("data") if isinstance(each, dict) else None
        program = re.search(r"prog_id:(\d+)", str(data.get("enqueue"))) if data else None
        if not data or not program:
            continue
        state, written = {}, 0
        for number in bpftool("prog", "show", "id", program[1])["map_ids"]:
            name = bpftool("map", "show", "id", str(number))["name"]
            if name.endswith((".bss", ".data")):
                (entry,) = bpftool("map", "dump", "id", str(number))
                (variables,) = entry["formatted"]["value"].values()
                state.update({name: value for variable in variables for name, value in variable.items()})
                written = number if name.endswith(".data") else written
        found.append(BpfQueue(name=data["id"], state=state, data=written))
    return found
