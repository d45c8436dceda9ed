"""Measure how much of a link TCP uses under each discipline with its defaults, and write docs/utilisation.md.

    python tools/utilisation.py [NAME…]

Runs every discipline, or those named, on each link with each number of flows: 10 minutes on one core for all. The page
keeps what was measured before of the others. tests/test_utilisation.py measures some of the cells again.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import sluicegate as sg
from sluicegate.experiments.disciplines import known

PAGE = Path(__file__).resolve().parents[1] / "docs" / "utilisation.md"
RATES = (1, 10, 100, 1000)
"""In Mbit/s."""
FLOWS = (1, 10, 100)
CELLS = [(rate, flows) for rate in RATES for flows in FLOWS]
LEAST = 80.0
"""A cell below it, in percent, has a reason beside it."""

RTT_MS = 40
WARMUP_S, MEASURED_S = 20, 20
"""A flow alone on 1 Gbit/s has three times as long of both: CUBIC takes half a minute to grow to 3000 packets."""

SCENARIO = """\
[network]
rate = "{rate} Mbit/s"
delay = "{delay} ms"
access_rate = "{access} Mbit/s"

[queue]
discipline = "{name}"

[[flows]]
kind = "tcp"
profile = "linux"
count = {flows}

[run]
duration = "{duration} s"
warmup = "{warmup} s"
series = false
"""

ONE = {(1000, 1)}
BUFFER = "the buffer of 50 packets, ns-2's for all links, does not hold the bursts of segments of ten flows"
BAND = "the thresholds of 5 and 15 packets, those of RED 1993, are a burst here: `sluicegate design red` chooses others"
REASONS: dict[str, list[tuple[set[tuple[int, int]], str]]] = {
    **{name: [({(1000, 10)}, BUFFER)]
       for name in ("random_drop", "decbit", "source_quench", "ut_lt", "drop_preference")},
    "early_random_drop": [
        ({(1000, 1), (1000, 10)}, "drops 2 % above half of its buffer (Zhang 1989), 25 packets: less than one burst of "
         "segments, and windows of 333 packets and more live with 0.001 %"),
    ],
    **{name: [({(1000, 1), (1000, 10)}, BAND)] for name in ("red", "penalty_box", "red_pd", "rio")},
    "gred": [
        ({(1000, 1), (1000, 10)}, "thresholds of 15 and 45 packets and an average that follows bursts of 25, as in "
         "iproute2's example: one burst of segments is above them"),
    ],
    "choke": [
        ({(1000, 10)}, "the thresholds of 30 and 60 packets are one burst of segments or two here: `sluicegate design "
         "red` chooses others"),
    ],
    "choke_linux": [
        ({(1000, 1), (1000, 10)}, "the average follows bursts of 40 packets, as iproute2 sets it for thresholds of 30 "
         "and 60: after one burst of segments each arrival is compared, and flows so few match themselves"),
    ],
    "pi": [
        ({(100, 1), (1000, 1), (1000, 10)}, "gains of Hollot et al. for 60 flows on 15 Mbit/s, ns-2's for all links: a "
         "short queue raises p far above what such windows live with, and it comes down by 0.0005 in a second; "
         "`sluicegate design pi` chooses others"),
    ],
    "ared": [
        ({(100, 1), (1000, 1)}, "a target of 5 ms, that of its paper, is an eighth of the round trip: after a drop the "
         "link of a flow alone falls idle until its window has grown again"),
    ],
    "blue": [
        ({(100, 1), (100, 10), (1000, 1), (1000, 10), (1000, 100)}, "its paper's step d1 = 0.02 is more than ten times "
         "what windows of more than 27 packets live with, and goes by 0.02 in a second"),
    ],
    "rem": [
        ({(1000, 1)}, "its target of 20 packets (b_ref, ns-2's for all links) is half of one burst of segments. Ten "
         "flows use 95 %, so that no warning tells of this"),
    ],
    "sfb": [
        ({(100, 1), (1000, 1), (1000, 10)}, "a flow has 25 packets in the queue at most (Linux's bin_max), and its "
         "p rises from 20 on. At 1 Gbit/s bursts of segments bring p near 1; it falls by 1/6000 with each packet that "
         "finds the bins empty, and a flow that waits for its timers sends too few"),
    ],
}  # fmt: skip
"""Why a discipline uses less than `LEAST` in these cells: (rate, flows). Each such cell has a reason, and no other."""


UNTOLD = ("rem",)
"""Disciplines whose low cells `sluicegate check` does not warn of; the reason says why."""


def scenario(name: str, rate: int, flows: int) -> str:
    """The scenario of one cell."""
    times = 3 if (rate, flows) in ONE else 1
    return SCENARIO.format(
        rate=rate, delay=RTT_MS // 2, access=10 * rate, name=name, flows=flows,
        duration=times * (WARMUP_S + MEASURED_S), warmup=times * WARMUP_S,
    )  # fmt: skip


def measure(name: str, rate: int, flows: int) -> float:
    """The utilisation of one cell in percent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.TrapWarning)
        run = sg.run(scenario(name, rate, flows), seed=1, progress=False)
    return round(100 * float(run.links["utilisation"][0]), 1)


def kept() -> dict[str, list[float]]:
    """The table of the page: for each discipline the cells in the order of `CELLS`."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| [^|]*\|$", PAGE.read_text("utf-8") if PAGE.exists() else "", re.M)
    return {name: [float(cell.strip("* ")) for cell in cells.split("|")] for name, cells in rows}


def cell_text(rate: int, flows: int) -> str:
    return f"{flows} flow{'s' if flows > 1 else ''} at {f'{rate} M' if rate < 1000 else '1 G'}bit/s"


def lines(table: dict[str, list[float]]) -> Iterator[str]:
    """The page, line by line."""
    yield "<!-- Written by tools/utilisation.py. -->"
    yield "# Which links the defaults fit\n"
    yield (
        f"The part of a link that TCP uses under each discipline with its defaults, in percent: 1, 10 and 100 flows of "
        f"CUBIC as Linux has it, with a base round trip of {RTT_MS} ms, on links of 1 Mbit/s to 1 Gbit/s. Each cell is "
        f"one run of {WARMUP_S} s and {MEASURED_S} s more, which are measured; of {3 * WARMUP_S} s and "
        f"{3 * MEASURED_S} s with one flow on 1 Gbit/s.\n"
    )
    yield (
        f"A cell below {LEAST:.0f} % has its reason beside it. Most are values that a paper or another implementation "
        "gives for all links, in packets: they are kept, and `sluicegate check` warns where they hold a link down, but "
        f"for {', '.join(f'`{name}`' for name in UNTOLD)}. A value that is Sluicegate's own follows from the link.\n"
    )
    heads = [f"{flows} on {rate if rate < 1000 else 1} {'M' if rate < 1000 else 'G'}bit/s" for rate, flows in CELLS]
    yield f"| Discipline | {' | '.join(heads)} | Why |"
    yield f"|---|{'---:|' * len(CELLS)}---|"
    for name, row in table.items():
        cells = [f"**{value:g}**" if value < LEAST else f"{value:g}" for value in row]
        yield f"| `{name}` | {' | '.join(cells)} | {'; '.join(why(name))} |"


def why(name: str) -> Iterator[str]:
    for cells, reason in REASONS.get(name, ()):
        yield f"{', '.join(cell_text(*cell) for cell in sorted(cells))}: {reason}"


def main(chosen: list[str]) -> None:
    table = kept()
    for name in chosen or known():
        table[name] = [measure(name, rate, flows) for rate, flows in CELLS]
        print(f"{name:18}", *(f"{value:5.1f}" for value in table[name]), flush=True)
    PAGE.write_text("\n".join(lines({name: table[name] for name in known() if name in table})) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
