"""What a packet and a flow cost, beside what they cost when last somebody looked: `make bench-gate`.

Instructions are callgrind's, of the difference of two runs of one scenario, so that what comes before and after the
simulation is in neither; they repeat to 10⁻⁵, whatever else the machine does. Bytes are the slope of the most memory
that a process has held. costs.json keeps both with the code. A change of more than 1 % (bytes: 3 %) fails until
`--acknowledge` keeps the new numbers with a reason, which then is in the commit: a fall, too, lest it be lost again.

What cannot be counted or compared here, without valgrind or with another compiler, is said, and fails where nobody
reads what is said: where the environment has `CI`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import dumbbell

SCENARIOS = Path(__file__).parents[2] / "python/sluicegate/scenarios"
COSTS = Path(__file__).with_name("costs.json")
INSTRUCTIONS, BYTES = "instructions per packet", "bytes per flow"
#: The change that fails, as a part of what is kept. Bytes have differed by 2 % between two builds that hold the same,
#: on a loaded machine: where a process's memory lies is not the same each time.
ALLOWED = {INSTRUCTIONS: 0.01, BYTES: 0.03}

LINUX = partial(dumbbell.scenario, queue="drop_tail", profile="linux")

#: The text of a scenario, settings, and two lengths of the run in seconds, between which packets that leave the links
#: under study are counted. Linux's hosts have left slow start by then.
PACKETS: dict[str, tuple[str, dict[str, str], tuple[int, int]]] = {
    "newreno100": (dumbbell.scenario(), {}, (1, 11)),
    **{f"linux100 {name}": (LINUX(algorithm=name), {}, (4, 8)) for name in ("reno", "cubic", "bbr")},
    "unresponsive": (SCENARIOS.joinpath("unresponsive.toml").read_text("utf-8"), {}, (21, 100)),
    "traffic": (SCENARIOS.joinpath("traffic.toml").read_text("utf-8"), {}, (11, 60)),
    "web": (
        SCENARIOS.joinpath("dcn2004.toml").read_text("utf-8"),
        {"network.rate": "10 Mbit/s", "flows.0.count": "1042", "flows.1.count": "1016"},
        (31, 90),
    ),
}

#: Numbers of flows between which the slope of memory is taken, and the scenario for such a number.
FEW, MANY = 1_000, 10_000
FLOWS: dict[str, Callable[[int], str]] = {
    "ns2": partial(dumbbell.scenario, queue="drop_tail"),
    "ns2, without access links": partial(dumbbell.scenario, queue="drop_tail", access=False),
    "linux": partial(LINUX, algorithm="cubic"),
}

RUN = r"""
import json, re, sys
from pathlib import Path
from sluicegate import _core
run = _core.run(_core.Scenario(sys.stdin.read(), "scenario", [tuple(one.split("=", 1)) for one in sys.argv[1:]]))
status = Path("/proc/self/status")
peak = re.search(r"VmHWM:\s*(\d+)", status.read_text()) if status.exists() else None
print(json.loads(run["summary"])["totals"]["departures_packets"], peak[1] if peak else 0)
"""


CALLGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")


def collected(told: str) -> int:
    """The instructions that callgrind has counted, from what it wrote."""
    found = re.search(r"Collected\s*:\s*(\d+)", told)
    assert found, told
    return int(found[1])


def process(text: str, sets: dict[str, str], *before: str) -> tuple[int, int, str]:
    """Packets that left the links in a process with one run, the most KiB that it held, and what it wrote to stderr."""
    whole = {"run.warmup": "0 s", **sets}
    command = [*before, sys.executable, "-c", RUN, *(f"{key}={value}" for key, value in whole.items())]
    # What the thread that sets a run up leaves free is free for the run's own, too, or not, by which arena of malloc's
    # each has: 2 MiB, which 9,000 flows would show as 5 % of theirs. With one arena it always is.
    environment = os.environ | {"PYTHONHASHSEED": "0", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(done.stderr)
    packets, peak = map(int, done.stdout.split())
    return packets, peak, done.stderr


def per_packet(name: str) -> float:
    """Instructions for each packet of one of `PACKETS`."""
    text, sets, lengths = PACKETS[name]
    counts = []
    for length in lengths:
        packets, _, told = process(text, sets | {"run.duration": f"{length} s"}, *CALLGRIND)
        counts.append((collected(told), packets))
    (less, few), (more, many) = counts
    return round((more - less) / (many - few), 1)


def per_flow(name: str) -> float:
    """Bytes for each flow of one of `FLOWS`."""
    # Memory lies elsewhere in each run, and a page more is touched here and there: the least repeats to 0.5 %.
    few, many = (
        min(process(FLOWS[name](flows), {"run.duration": "2 s"})[1] for _ in range(3)) for flows in (FEW, MANY)
    )
    return round((many - few) * 1024 / (MANY - FEW), 1)


def compiler() -> str:
    """Instructions are compared where the same compiler and processor type made them."""
    told = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
    return f"{told.split(' (')[0].strip()}, {platform.machine()}"


def measure() -> dict[str, float]:
    """Every cost by its name, as far as this machine can count it."""
    # Two at a time: neither instructions nor a process's own memory depend on the other.
    with ThreadPoolExecutor(2) as pool:
        bytes_of = {f"{name}, {BYTES}": pool.submit(per_flow, name) for name in FLOWS if sys.platform == "linux"}
        instructions = {
            f"{name}, {INSTRUCTIONS}": pool.submit(per_packet, name) for name in PACKETS if shutil.which("valgrind")
        }
        return {name: each.result() for name, each in (instructions | bytes_of).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--acknowledge", metavar="REASON", help="keep the numbers of today, and why they are so")
    given = parser.parse_args()
    if given.acknowledge is not None and len(given.acknowledge.split()) < 3:
        parser.error("--acknowledge: a reason in words, which whoever reads the history understands")
    kept = json.loads(COSTS.read_text("utf-8"))
    today, same = compiler(), compiler() == kept["compiler"]
    missing = []
    if not shutil.which("valgrind"):
        missing.append("instructions are not counted: valgrind is missing (Debian: apt-get install valgrind)")
        if given.acknowledge:
            sys.exit(f"{missing[0]}; nothing is kept")
    costs, changed = measure(), []
    for name, cost in costs.items():
        before = kept["costs"].get(name, {"cost": 0.0})["cost"]
        change = cost / before - 1 if before else 1.0
        print(f"{name:42} {cost:10.1f} {change:+7.2%}")
        if abs(change) > ALLOWED[name.rpartition(", ")[2]] or not same:
            kept["costs"][name] = {"cost": cost, "reason": given.acknowledge}
            changed.append(name)
    if given.acknowledge:
        kept["compiler"] = today
        COSTS.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", "utf-8")
        print(f"kept in {COSTS.name}")
        return
    if not same:
        missing.append(
            f"not comparable: kept with {kept['compiler']}, here is {today}: "
            'on the commit before, make bench-gate REASON="another compiler"'
        )
    elif changed:
        sys.exit(f'changed by more than may be: {"; ".join(changed)}\nif that is right: make bench-gate REASON="why"')
    told = "\n".join(missing)
    if told and os.environ.get("CI"):
        sys.exit(told)
    print(told, end="\n" if told else "")


if __name__ == "__main__":
    main()
