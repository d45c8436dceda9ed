"""Measures and writes bench.json, part by part: `make bench`, or `make bench PARTS="paper peers"` for these alone.

Times are CPU seconds of child processes, user and system; instructions are callgrind's. Both programs of a comparison
run alternately, so that what else the machine does meets them alike. gate.py watches instructions and bytes.

bench.json keeps of each part when and of what code it was measured; parts that are not measured stay as they are there.
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
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import dumbbell
import gate
import paper_run

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent))

import measured_code  # noqa: E402

SEEDS = range(1, 4)
#: Enqueues and dequeues timed.
PAIRS = 2_000_000
#: The loop around them.
LOOP = "loop"
#: Flows of the runs with more and more of them, and their seconds: a megabit per second for each flow, 1.2 million
#: packets at the least. What ten cost is what the others are compared with.
SCALES = {10: 1000, 100: 100, 1000: 10, 10_000: 4, 50_000: 2}
MILLION = {10: 1000, 1_000_000: 1}
#: Seconds of two runs with the paper's web users, from whose difference the cost of a packet is told.
WEB_SECONDS = (30, 120)
#: What keeping the places in the queue may add.
ALLOWED_PROBE = 0.02
PLACES = ROOT / "python/sluicegate/scenarios/choke2004.toml"


@dataclass
class Cost:
    """What a process cost, and what it printed."""

    seconds: float
    kilobytes: int
    output: str


def run(*command: str | Path) -> Cost:
    """CPU seconds and peak memory of one process."""
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen([str(part) for part in command], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if child.returncode:
        sys.exit(f"{command[0]} ended with {child.returncode}")
    # What the program itself has seen, if it says so: the system counts the pages of the parent's fork, too.
    own = re.search(r'"peak_memory_kb":(\d+)', text)
    return Cost(usage.ru_utime + usage.ru_stime, int(own[1]) if own else usage.ru_maxrss, text)


def run_text(program: Path, scenario: str) -> Cost:
    """The same of a program that runs this text."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario)
        file.flush()
        return run(program, file.name)


def instructions(*command: str | Path) -> int | None:
    """Instructions of one process; none where valgrind is not installed."""
    if not shutil.which("valgrind"):
        return None
    done = subprocess.run([*gate.CALLGRIND, *map(str, command)], capture_output=True, text=True, check=True)
    return gate.collected(done.stderr)


def build() -> dict[str, Path]:
    """The benchmark programs."""
    command = ["cargo", "bench", "--no-run", "--locked", "-p", "sluicegate-aqm", "-p", "sluicegate-lab"]
    command.append("--message-format=json-render-diagnostics")
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    programs = {}
    for message in messages:
        if message.get("executable") and "bench" in message["target"]["kind"]:
            programs[message["target"]["name"]] = Path(message["executable"])
    return programs


#: The tables of a part, and what bench.json keeps of it beside them.
Part = tuple[list[dict[str, object]], dict[str, object]]


def table(title: str, note: str, columns: list[str], rows: list[list[object]]) -> dict[str, object]:
    return {"title": title, "note": note, "columns": columns, "rows": rows}


def digits(value: float | None, places: int) -> float | str:
    return "not measured" if value is None else round(value, places)


@dataclass
class Case:
    """A dumbbell: transfers, the queue, and whether each host has an access link."""

    flows: int
    queue: str
    access: bool
    #: Packets are counted from the first of these seconds to the second: some half a million.
    counted: tuple[float, float]

    def ours(self, program: Path, since: float, until: float, seed: int) -> tuple[Cost, list[float]]:
        """The cost of a run; packets that left the bottleneck between the two times, what they used, and the loss."""
        text = dumbbell.scenario(
            self.flows, queue=self.queue, access=self.access, seconds=until, warmup=since, seed=seed
        )
        cost = run_text(program, text)
        totals = json.loads(cost.output)["totals"]
        loss = totals["drops_packets"] / totals["arrivals_packets"]
        return cost, [totals["departures_packets"], totals["throughput_bps"] / (self.flows * 1e6), loss]

    def ns2(self, program: Path, since: float, until: float, seed: int) -> tuple[Cost, list[float]]:
        """The same in ns-2."""
        case = (self.flows, self.queue, int(self.access), since, until, seed)
        cost = run(program, HERE / "dumbbell.tcl", *map(str, case))
        counts = list(map(float, cost.output.split()))
        sent, packets, drops, arrivals = (b - a for a, b in zip(counts[:4], counts[4:], strict=True))
        return cost, [packets, sent * 8 / (until - since) / (self.flows * 1e6), drops / arrivals]


PEERS = [
    Case(10, "drop_tail", True, (20, 420)),
    Case(100, "drop_tail", True, (20, 60)),
    Case(100, "drop_tail", False, (20, 60)),
    Case(100, "red", True, (20, 60)),
    Case(1000, "drop_tail", True, (4, 8)),
    Case(1000, "drop_tail", False, (4, 8)),
]


def peers(scenario: Path) -> Part:
    """What a packet costs here and, where it is installed, in ns-2, in dumbbells of several sizes."""
    programs = {"Sluicegate": (Case.ours, scenario)}
    if found := shutil.which("ns"):
        programs["ns-2"] = (Case.ns2, Path(found))
    rows = []
    for case in PEERS:
        start, end = case.counted
        measured: dict[str, list[list[float]]] = {name: [] for name in programs}
        for seed in SEEDS:
            for name, (of, program) in programs.items():
                # Of the difference of two runs, as set-up and slow start are in both.
                (short, _), (long, counts) = of(case, program, 0, start, seed), of(case, program, start, end, seed)
                measured[name].append([(long.seconds - short.seconds) / counts[0] * 1e9, *counts[1:], long.kilobytes])
        for name, runs in measured.items():
            each, used, loss, kilobytes = (median(column) for column in zip(*runs, strict=True))
            ratio = median(a[0] / b[0] for a, b in zip(runs, measured["Sluicegate"], strict=True))
            rows.append(
                [case.flows, case.queue, "yes" if case.access else "no", name, round(each), round(1e9 / each),
                 round(ratio, 2), round(used * 100, 1), round(loss * 100, 2), round(kilobytes / 1024, 1)]
            )  # fmt: skip
    note = (
        "NewReno flows of 1 Mbit/s each, a round trip of 42 ms, with and without access links; CPU time of the "
        f"difference of two runs, medians over {len(SEEDS)} seeds, run alternately. Packets are those that left the "
        "bottleneck, each with its acknowledgement."
    )
    columns = [
        "flows",
        "queue",
        "access links",
        "",
        "ns per packet",
        "packets per CPU s",
        "time, to Sluicegate",
        "utilisation, %",
        "loss, %",
        "peak memory, MiB",
    ]
    return [table("Beside ns-2", note, columns, rows)], {}


def disciplines(pair: Path) -> Part:
    """One enqueue and one dequeue of each discipline."""
    names = run(pair).output.split()
    costs: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(5):
        for name in names:
            # The program takes the time itself, of the pairs alone: what comes before them may last longer.
            costs[name].append(float(run(pair, name, str(PAIRS)).output))
    # Two at a time, which changes no count.
    with ThreadPoolExecutor(2) as pool:
        counts = dict(zip(names, pool.map(partial(pair_instructions, pair), names), strict=True))
    least = {name: min(costs[name]) for name in names}
    # The loop with as many departures: one for each arrival, or, in overload, for every other.
    [loop, overload_loop] = (name for name in names if name.startswith(LOOP))
    loops = {name: overload_loop if "!" in name else loop for name in names if not name.startswith(LOOP)}
    if any(least[name] < least[alone] for name, alone in loops.items()):
        sys.exit("the loop took longer alone than with a discipline: measure again when the machine is quieter")
    base = least["drop_tail"] - least[loop]
    rows: dict[str, list[list[object]]] = {"": [], "@": [], "!": []}
    result: dict[str, dict[str, object]] = {kind: {} for kind in rows}
    for name, alone in loops.items():
        kind = next((kind for kind in "@!" if kind in name), "")
        per, per_alone = counts[name], counts[alone]
        own = per - per_alone if per is not None and per_alone is not None else None
        ns = least[name] - least[alone]
        rows[kind].append([name, round(ns, 1), digits(own, 0), round(ns / base, 2), round(least[name], 1)])
        cost = {"ns": ns, "instructions": own, "ratio_to_drop_tail": ns / base, "ns_with_loop": least[name]}
        result[kind][name] = cost
    note = (
        "One enqueue, one dequeue and one call of `next_wakeup` through the trait object, with 40 packets of 33 flows "
        "queued and thresholds of 30 and 60. The fastest of five runs. The loop that makes the packets, advances the "
        f"clock and provides the context takes {least[loop]:.1f} ns and {digits(counts[loop], 0)} instructions; only "
        "the last column includes it."
    )
    active_note = (
        "The same with N active flows, NAME@N. A packet of each is queued, at least 40 in all, if the discipline "
        "permits. The link is faster in proportion, so that each flow sends as often. Thresholds are 3/4 and 3/2 of "
        "the queue; tables are as large as their ranges allow, up to 100,000. Measured after the state of all flows "
        "exists."
    )
    overload_note = (
        "One arrival and half a departure, NAME!N. N flows send a packet each in turn, twice as fast as the link, into "
        "a buffer of N packets, which is full unless the discipline drops enough before. Tables as above."
    )
    columns = ["", "ns", "instructions", "to Drop Tail", "ns with the loop"]
    tables = [
        table("Disciplines", note, columns, rows[""]),
        table("Active flows", active_note, columns, rows["@"]),
        table("Overload", overload_note, columns, rows["!"]),
    ]
    return tables, {"disciplines": result[""], "per_flow": result["@"], "overload": result["!"]}


def pair_instructions(pair: Path, name: str) -> float | None:
    """Instructions of one pair: those of many, less those of few."""
    many, few = (instructions(pair, name, str(pairs)) for pairs in (120_000, 20_000))
    return (many - few) / 100_000 if many and few else None


def growth(scenario: Path, scales: dict[int, int], title: str) -> Part:
    """The cost of a packet with more and more flows, each of a megabit per second, and that of a flow."""
    rows: list[list[object]] = []
    result: dict[str, Any] = {}
    for flows, seconds in scales.items():
        runs = 3 if flows <= 10_000 else 1
        text = dumbbell.scenario(flows, seconds=seconds)
        whole = min((run_text(scenario, text) for _ in range(runs)), key=lambda cost: cost.seconds)
        sent = json.loads(whole.output)["sent"]
        ns, held = whole.seconds / sent * 1e9, whole.kilobytes * 1024
        result[str(flows)] = {
            "cpu_s": whole.seconds, "ns_per_packet": ns, "packets": sent, "peak_memory_bytes": held
        }  # fmt: skip
        ratio = ns / result["10"]["ns_per_packet"]
        rows.append(
            [flows, sent, round(whole.seconds, 1), round(ns), round(ratio, 2), round(held / 2**20, 1),
             round(held / flows)]
        )  # fmt: skip
    note = (
        "NewReno flows over RED at 1 Mbit/s per flow, with thresholds in proportion, including set-up and slow start. "
        "The fastest of three runs; one run with more than 10,000 flows."
    )
    columns = ["flows", "packets", "CPU s", "ns per packet", "to 10 flows", "peak memory, MiB", "bytes per flow"]
    return [table(title, note, columns, rows)], result


def web(scenario: Path) -> Part:
    """What a packet of the paper's web users costs."""
    runs = []
    for seconds in WEB_SECONDS:
        cost = run(scenario, paper_run.SCENARIO, "run.warmup=0 s", *paper_run.settings(seconds / 60))
        found = json.loads(cost.output)
        runs.append((cost.seconds, found["sent"], found["events"], cost.kilobytes))
    seconds, sent, events = (more - less for less, more in list(zip(*runs, strict=True))[:3])
    ns, held = seconds / sent * 1e9, runs[-1][3] * 1024
    result: dict[str, object] = {"ns_per_packet": ns, "packets": sent, "peak_memory_bytes": held}
    note = (
        "DCN 2004's web users at 105 % of 100 Mbit/s in both directions under DCN, with transfers of a few packets. "
        f"The difference of runs of {WEB_SECONDS[0]} and {WEB_SECONDS[1]} seconds. Packets are those that left a link."
    )
    row = [sum(paper_run.USERS), sent, round(ns), round(events / sent, 2), round(held / 2**20, 1)]
    columns = ["users", "packets", "ns per packet", "events per packet", "peak memory, MiB"]
    return [table("Web users", note, columns, [row])], result


def costs() -> Part:
    """What the gate watches."""
    found: dict[str, object] = {**gate.measure()}
    rows: list[list[object]] = [[*name.rsplit(", ", 1), cost] for name, cost in found.items()]
    note = "Marginal costs: the difference of two runs. `make bench-gate` fails if they grow."
    return [table("What a packet and a flow cost", note, ["", "", "cost"], rows)], found


def places(scenario: Path) -> Part:
    """What it costs to keep who stands where in the queue, ten times a second, beside the other series."""
    base = PLACES.read_text() + 'sample = "97.3 ms"\n'
    rows: list[list[object]] = []
    changes: dict[str, object] = {}
    for rate in ("0.1", "1.25", "10"):
        counts = []
        with tempfile.TemporaryDirectory() as folder:
            for more in ("", "positions = 5000000\n"):
                path = Path(folder) / "scenario.toml"
                path.write_text(base.replace('rate = "10 Mbit/s"', f'rate = "{rate} Mbit/s"') + more)
                counts.append(instructions(scenario, path))
        without, kept = counts
        if without is None or kept is None:
            return [], {}
        changes[rate] = change = kept / without - 1
        rows.append([f"{rate} times the link", without, kept, f"{change:+.2%}"])
    note = (
        f"Instructions of complete runs of choke2004 with the default series: at most "
        f"{ALLOWED_PROBE:.0%} more. Tables for Python are not counted."
    )
    return [table("Places in the queue", note, ["UDP", "without", "kept every 97.3 ms", "change"], rows)], changes


def machine() -> dict[str, object]:
    cpu = (
        next(
            (
                line.split(":")[1].strip()
                for line in Path("/proc/cpuinfo").read_text().splitlines()
                if "model name" in line
            ),
            "",
        )
        if Path("/proc/cpuinfo").exists()
        else platform.processor()
    )
    rustc = (
        subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split(" (")[0].strip()
    )
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "rustc": rustc,
        "python": f"Python {platform.python_version()}",
    }


def print_table(each: dict[str, object]) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=str(each["title"]), caption=str(each["note"]), title_justify="left", caption_justify="left")
    for at, column in enumerate(each["columns"]):  # type: ignore[arg-type,var-annotated]
        shown.add_column(column, justify="left" if at == 0 else "right")
    for row in each["rows"]:  # type: ignore[attr-defined]
        shown.add_row(*map(str, row))
    Console().print(shown)


#: The parts, in this order, each given the benchmark programs; and those that are measured only where they are named.
PARTS: dict[str, Callable[[dict[str, Path]], Part]] = {
    "peers": lambda programs: peers(programs["scenario"]),
    "costs": lambda _: costs(),
    "growth": lambda programs: growth(programs["scenario"], SCALES, "More flows"),
    "million": lambda programs: growth(programs["scenario"], MILLION, "A million flows"),
    "web": lambda programs: web(programs["scenario"]),
    "paper": lambda programs: paper_run.measure(run, programs["scenario"]),
    "disciplines": lambda programs: disciplines(programs["pair"]),
    "places": lambda programs: places(programs["scenario"]),
}
LONG = ("peers", "paper")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench.json", help="where the result goes")
    usual = [name for name in PARTS if name not in LONG]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} [all but {', '.join(LONG)}]")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no part of the benchmark: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    from sluicegate import __version__
    from sluicegate.io import staged_file

    kept: dict[str, dict[str, object]] = json.loads(given.output.read_text("utf-8")) if given.output.is_file() else {}
    programs = build()
    of = {"date": datetime.now(UTC).date().isoformat(), "version": __version__, "machine": machine()}
    of |= {"commit": measured_code.commit(), "digest": measured_code.digest()}
    for name in given.parts or usual:
        start = time.monotonic()
        tables, result = PARTS[name](programs)
        kept[name] = {"measured": of, "seconds": round(time.monotonic() - start), "tables": tables, "result": result}
        ordered = {part: kept[part] for part in PARTS if part in kept}
        with staged_file(given.output) as file:
            file.write_text(json.dumps(ordered, indent=2) + "\n", "utf-8")
        for each in tables:
            print_table(each)
        print(f"{name}: {kept[name]['seconds']} s, written to {given.output}", flush=True)
        if name == "places" and any(change > ALLOWED_PROBE for change in result.values()):  # type: ignore[operator]
            sys.exit(f"keeping the places in the queue adds more than {ALLOWED_PROBE:.0%} of the instructions")


if __name__ == "__main__":
    main()
