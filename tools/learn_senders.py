"""How often `learn` tells a sender's congestion control rightly, for docs/learn.md.

    python tools/learn_senders.py [--scenarios 120] [--first 1] [--write docs/learn.md]

Each scenario has one congestion control; its rate, round trip, discipline and number of transfers are random, by its
number. It is simulated, captured at both sides of the queue, and learnt. Every transfer is judged for itself.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import sluicegate as sg
from sluicegate.learning import control, parts, sightings

SENDERS = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR", "bbr3": "BBR version 3"}
QUEUES = ("drop_tail", "red", "choke", "codel", "pie", "fq_codel", "cake", "sfq", "fq_pie", "ared")
DURATION_S = 30
INSIDE = "172.16.0.0/12"
TABLE = re.compile(r"(?<=<!-- senders -->\n).*(?=<!-- end of senders -->)", re.DOTALL)


def told(number: int) -> tuple[str, Counter[str | None]]:
    """The congestion control of a scenario, and how often each was told; None is not told."""
    chance = random.Random(f"senders {number}")
    sender = list(SENDERS)[number % len(SENDERS)]
    rate, rtt = 5 * 12 ** chance.random(), 15 * 8 ** chance.random()
    queue, count = chance.choice(QUEUES), chance.choice((1, 2, 4, 6))
    limit = f"\nlimit = {max(20, round(rate * rtt / 12 * chance.uniform(0.5, 4)))}" if queue == "drop_tail" else ""
    text = (
        f'[network]\nrate = "{rate:.2f} Mbit/s"\ndelay = "2 ms"\n[queue]\ndiscipline = "{queue}"{limit}\n'
        f'[[flows]]\nkind = "tcp"\nalgorithm = "{sender}"\ncount = {count}\nrtt = "{rtt:.1f} ms"\n'
        f'[run]\nduration = "{DURATION_S} s"\nseed = {number}\n'
    )
    with tempfile.TemporaryDirectory() as folder:
        links = ("bottleneck/arrivals", "bottleneck", "bottleneck/back")
        files = {link: Path(folder, f"{place}.pcapng") for place, link in enumerate(links)}
        sg.simulate(text, warmup="0 s", pcap=files, progress=False)
        seen = parts.busiest(sightings.Sightings(list(files.values()), [INSIDE], "error"))
    ways = parts.Places().split(seen.packets)
    legs = {row[0]: (float(row[1]), float(row[2])) for row in seen.legs(True).iter_rows()}
    flows = seen.packets["flow"].unique().to_list()
    found = control.controls(ways[True][0], ways[False][1], legs, flows, True)
    return sender, Counter(each.name for each in found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=120)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", sg.TrapWarning)
    sums: dict[str, Counter[str | None]] = {name: Counter() for name in SENDERS}
    for number in range(asked.first, asked.first + asked.scenarios):
        sender, found = told(number)
        sums[sender] += found
        if wrong := [name for name in found if name not in (None, sender)]:
            print(f"scenario {number}: {sender} told as {', '.join(map(str, wrong))}", file=sys.stderr)
    rows = ["| sender | transfers | identified | not identified | wrongly identified |", "|---|---:|---:|---:|---:|"]
    for sender, found in sums.items():
        right, untold, every = found[sender], found[None], found.total()
        rows.append(f"| {SENDERS[sender]} | {every} | {right} | {untold} | {every - right - untold} |")
    table = "\n".join(rows) + "\n"
    print(table, end="")
    if asked.write is not None:
        asked.write.write_text(TABLE.sub(lambda _: table, asked.write.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
