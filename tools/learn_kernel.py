"""Lines with the kernel's TCP learnt back: transfers through `sluicegate shell`, captured by tcpdump at both ends.

sudo .venv/bin/python tools/learn_kernel.py [--keep docs/learn-kernel.jsonl] [--write docs/learn.md]

Needs root, iperf3, tcpdump and ip. Four transfers to the command, for ten seconds each line. Time is real: on a machine
with other work, packets are late.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from learn_proof import write_between
from sluicegate.io import staged_file
from sluicegate.learning.learnt import learn

KEPT = Path(__file__).parents[1] / "docs/learn-kernel.jsonl"

LINES = [(rate, name) for rate in (5, 20, 50) for name in ("drop_tail:limit=50", "codel", "fq_codel", "cake")]
"""Rates in Mbit/s, and disciplines."""

DELAY_MS = 10

CLIENT = "198.18.0.1"
"""The address of the command."""

# Without segments that the kernel merges before it sends them.
CAPTURE = "ip link set sluice0 gso_max_segs 1; tcpdump -U -i sluice0 -n -s 100 -w {file} >/dev/null 2>&1 &"
PEER = "{capture} exec iperf3 -s >/dev/null 2>&1"
COMMAND = "{capture} sleep 1; iperf3 -c $SLUICEGATE_PEER -t 10 -R -P 4 >/dev/null; sleep 1"


@dataclass
class Row:
    """What was learnt of a line; None where it was not told."""

    rate: int
    discipline: str
    rate_error: float | None
    told: str
    least_rtt_ms: float | None
    full: int | None


def learnt_back(rate: int, discipline: str, folder: Path) -> Row:
    """Run, capture and learn one line."""
    before, behind = folder / "before.pcap", folder / "behind.pcap"
    peer, command = (
        text.format(capture=CAPTURE.format(file=file)) for text, file in ((PEER, before), (COMMAND, behind))
    )
    subprocess.run(
        [sys.executable, "-m", "sluicegate", "shell", "--rate", f"{rate} Mbit/s", "--delay", f"{DELAY_MS} ms",
         "--queue", discipline, "--quiet", "--peer", f"sh -c '{peer}'", "--", "sh", "-c", command],
        check=True,
    )  # fmt: skip
    done = learn([before, behind], inside=[CLIENT])
    found, told = done.forward.rate, done.forward.told
    error = None if found is None else found.bps / (rate * 1e6) - 1
    names = "not determined" if told is None else " or ".join(told.names) or "not determined"
    full = told.buffer.packets if told is not None and told.buffer.full else None
    return Row(rate, discipline, error, names, min(done.rtts_ms.values(), default=None), full)


def table(rows: list[Row]) -> str:
    """The table of the manual."""
    lines = [
        "| rate | discipline | rate learnt | discipline learnt | base round trip | packets in the full buffer |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        rate = "not determined" if row.rate_error is None else f"{row.rate_error:+.2%}"
        trip = "not determined" if row.least_rtt_ms is None else f"{row.least_rtt_ms:.2f} ms"
        lines.append(f"| {row.rate} Mbit/s | `{row.discipline}` | {rate} | {row.told} | {trip} | {row.full or '–'} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is not kept, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, default=KEPT, help="what each showed, a line for each")
    parser.add_argument("--write", type=Path, help="write the table into this page")
    asked = parser.parse_args()
    kept = asked.keep.read_text("utf-8").splitlines() if asked.keep.exists() else []
    rows = {(row.rate, row.discipline): row for row in (Row(**json.loads(line)) for line in kept)}
    for line in LINES:
        if line not in rows:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o777)  # tcpdump writes as a user of its own
                rows[line] = learnt_back(*line, Path(folder))
            with staged_file(asked.keep) as out:
                out.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows.values()), "utf-8")
    found = table([rows[line] for line in LINES])
    print(found)
    if asked.write:
        write_between(asked.write, "kernel", found)


if __name__ == "__main__":
    main()
