"""What a packet costs: instructions, which do not depend on what else the machine does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Instructions for each packet that leaves the bottleneck, with its acknowledgement: the scenario of `tools/bench`, the
#: algorithm, between which times of a run, and the most that it may take. A change that makes packets dearer shows here
#: first, and one that makes them cheaper lowers it. docs/performance.md says what is in the way of less.
# Of ns-2's hosts, in `make bench`'s dumbbell: 1896 before losses on the wire counted, 1899 with them, 1910 with a
# column more in `queue`, which no packet touches: inlining is suspected, not shown. 1941 with Linux's hosts: each
# segment says whether it has their options, which its length asks for. 1920.5 since timers are asked for only if they
# are near. To be brought back to 1900.
MOST = [
    ("newreno100", "newreno", ("1 s", "11 s"), 1922),
    # Linux's, once the flows have left slow start: 4396, 4426 and 10,257 before RACK was made lazy and plain
    # acknowledgements had a fast path. The goals are 2600 and 5000.
    ("linux100", "reno", ("4 s", "8 s"), 3136),
    ("linux100", "cubic", ("4 s", "8 s"), 3155),
    ("linux100", "bbr", ("4 s", "8 s"), 6885),
]

SCRIPT = """
import json, sys
from pathlib import Path
from sluicegate import _core
text = Path(sys.argv[1]).read_text("utf-8")
sets = [("run.duration", sys.argv[2]), ("run.warmup", "0 s"), ("flows.0.algorithm", sys.argv[3])]
print(json.loads(_core.run(text, sys.argv[1], sets, None)["summary"])["totals"]["departures_packets"])
"""


def cost(scenario: str, algorithm: str, duration: str, folder: Path) -> tuple[int, int]:
    """Instructions of a process with one run, and the packets that left the bottleneck."""
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
    path = ROOT / "tools/bench" / f"{scenario}.toml"
    command = [*tool, sys.executable, "-c", SCRIPT, path, duration, algorithm]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    assert found, done.stderr
    return int(found[1]), int(done.stdout)


@pytest.mark.full
@pytest.mark.parametrize(("scenario", "algorithm", "times", "most"), MOST, ids=[f"{row[0]}-{row[1]}" for row in MOST])
@pytest.mark.timeout(300)
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind, which counts instructions, is not installed")
def test_a_packet_of_the_dumbbell_takes_no_more_instructions_than_it_did(
    scenario: str, algorithm: str, times: tuple[str, str], most: int, tmp_path: Path
) -> None:
    # The difference of two runs: what Python does before and after is in both.
    (short, few), (long, many) = (cost(scenario, algorithm, duration, tmp_path) for duration in times)
    per_packet = (long - short) / (many - few)
    # Half of it at the least, lest nothing was counted.
    assert most / 2 < per_packet <= most, per_packet
