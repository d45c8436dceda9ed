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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
#: What follows a discipline's name for each load, and the load in words.
LOADS = {"": "33 flows", "@1": "1 flow", "@1000": "1000", "@100000": "100,000", "!65537": "overload"}
#: Flows of the runs with more and more of them, and their seconds: a megabit per second for each flow, 1.2 million
#: packets at the least. What ten cost is what the others are compared with.
SCALES = {10: 1000, 100: 100, 1000: 10, 10_000: 4, 50_000: 2}
MILLION = {10: 1000, 1_000_000: 1}
#: Seconds of two runs with the paper's web users, from whose difference the cost of a packet is told.
WEB_SECONDS = (30, 120)
#: Instructions that keeping one place of the queue may add: a step through the queue, a call by the discipline, and
#: storing the flow take 16.
ALLOWED_PLACE = 20
PLACES = ROOT / "python/sluicegate/scenarios/choke2004.toml"
KEEP_PLACES = "positions = 5000000\n"


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


@contextmanager
def written(scenario: str) -> Iterator[str]:
    """The name of a file with this text."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario)
        file.flush()
        yield file.name


def run_text(program: Path, scenario: str) -> Cost:
    """The same of a program that runs this text."""
    with written(scenario) as name:
        return run(program, name)


def instructions(*command: str | Path) -> int | None:
    """Instructions of one process; none where valgrind is not installed."""
    if not shutil.which("valgrind"):
        return None
    done = subprocess.run([*gate.CALLGRIND, *map(str, command)], capture_output=True, text=True, check=True)
    return gate.collected(done.stderr)


def instructions_of_text(program: Path, scenario: str) -> int | None:
    with written(scenario) as name:
        return instructions(program, name)


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
        case = (seed, self.flows, self.queue, 1000 * self.access, since, until)
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
                [case.flows, case.queue, "yes" if case.access else "no", name, round(each),
                 int(float(f"{1e9 / each:.3g}")),
                 round(ratio, 2), round(used * 100, 1), round(loss * 100, 2), round(kilobytes / 1024, 1)]
            )  # fmt: skip
    note = (
        "NewReno flows of 1 Mbit/s each have a round trip of 42 ms, with and without access links. The time is the CPU "
        f"time of a long run minus that of a short run, the median over {len(SEEDS)} seeds; runs of both simulators "
        "alternate. Packets are those that left the bottleneck, each with its acknowledgement."
    )
    columns = [
        "flows",
        "queue",
        "access links",
        "simulator",
        "ns per packet",
        "packets per CPU s",
        "time relative to Sluicegate",
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
    result: dict[str, dict[str, object]] = {"disciplines": {}, "per_flow": {}, "overload": {}}
    for name, alone in loops.items():
        kind = "overload" if "!" in name else "per_flow" if "@" in name else "disciplines"
        per, per_alone = counts[name], counts[alone]
        own = per - per_alone if per is not None and per_alone is not None else None
        ns = least[name] - least[alone]
        result[kind][name] = {
            "ns": ns, "instructions": own, "ratio_to_drop_tail": ns / base, "ns_with_loop": least[name]
        }  # fmt: skip
    note = (
        "The cost of one enqueue, one dequeue and one call of `next_wakeup` through the trait object: time (the "
        "fastest of five runs) and instructions. The loop around them, which makes the packets, advances the clock "
        f"and provides the context, is not counted ({least[loop]:.1f} ns and {digits(counts[loop], 0)} "
        "instructions).\n\n"
        "- *33 flows*: 40 packets are queued, thresholds are 30 and 60.\n"
        "- *1 flow*, *1000*, *100,000*: one packet of each flow is queued, at least 40 in all, if the discipline "
        "permits. The link is faster in proportion, thresholds are 3/4 and 3/2 of the queue, and tables are as large "
        "as their ranges allow, up to 100,000.\n"
        "- *Overload*: 65,537 flows send in turn, one packet each, at twice the link's rate. The buffer holds as many "
        "packets. The cost is that of one enqueue and half a dequeue."
    )
    all_of = {name: cost for costs in result.values() for name, cost in costs.items()}
    rows: list[list[object]] = [
        [name, *(in_table(all_of.get(name + load), what) for what in ("ns", "instructions") for load in LOADS)]
        for name in result["disciplines"]
    ]
    columns = ["", *(f"{what}, {load}" for what in ("ns", "instr.") for load in LOADS.values())]
    return [table("Disciplines", note, columns, rows)], dict(result)


def in_table(cost: Any, what: str) -> str:
    """A cost of `disciplines`, or a dash where it was not measured."""
    return "–" if cost is None or cost[what] is None else f"{cost[what]:.{1 if what == 'ns' else 0}f}"


def pair_instructions(pair: Path, name: str) -> float | None:
    """Instructions of one pair: those of many, less those of few."""
    many, few = (instructions(pair, name, str(pairs)) for pairs in (120_000, 20_000))
    return (many - few) / 100_000 if many and few else None


def growth(scenario: Path, scales: dict[int, int], title: str) -> Part:
    """The cost of a packet with more and more flows, each of a megabit per second, and that of a flow."""
    rows: list[list[object]] = []
    result: dict[str, Any] = {}
    for flows, seconds in scales.items():
        runs = [
            [run_text(scenario, dumbbell.scenario(flows, seconds=length)) for length in (seconds, 2 * seconds)]
            for _ in range(3 if flows < 1_000_000 else 1)
        ]
        short, long = (min(each, key=lambda cost: cost.seconds) for each in zip(*runs, strict=True))
        sent, in_all = (json.loads(cost.output)["sent"] for cost in (short, long))
        held = short.kilobytes * 1024
        whole = short.seconds / sent * 1e9
        later = median((more.seconds - less.seconds) / (in_all - sent) for less, more in runs) * 1e9
        result[str(flows)] = {
            "cpu_s": short.seconds, "ns_per_packet": whole, "ns_per_later_packet": later, "packets": sent,
            "peak_memory_bytes": held,
        }  # fmt: skip
        ten = result["10"]
        rows.append(
            [flows, sent, round(short.seconds, 1), round(whole), round(whole / ten["ns_per_packet"], 2), round(later),
             round(later / ten["ns_per_later_packet"], 2), round(held / 2**20, 1), round(held / flows)]
        )  # fmt: skip
    note = (
        "NewReno flows over RED, with 1 Mbit/s and the same thresholds per flow. Packets, CPU time and memory are "
        "those of a run with set-up and slow start, the fastest of three. Later packets are those in the second half "
        "of a run twice as long. Their cost is the difference between the long and the short run, the median of three."
    )
    if 1_000_000 in scales:
        note += (
            " With a million flows there is only one run of each length, and slow start goes on after the end of the "
            "short run."
        )
    columns = [
        "flows", "packets", "CPU s", "ns per packet", "relative to 10 flows", "ns per later packet",
        "later, relative to 10 flows", "peak memory, MiB", "bytes per flow",
    ]  # fmt: skip
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
        "DCN 2004's web users load 100 Mbit/s to 105 % in both directions under DCN, with transfers of a few packets. "
        f"Costs are those of a run of {WEB_SECONDS[1]} seconds minus those of {WEB_SECONDS[0]} seconds. Packets are "
        "those that left a link."
    )
    row = [sum(paper_run.USERS), sent, round(ns), round(events / sent, 2), round(held / 2**20, 1)]
    columns = ["users", "packets", "ns per packet", "events per packet", "peak memory, MiB"]
    return [table("Web users", note, columns, [row])], result


def costs(scenario: Path) -> Part:
    """What the gate watches, and the time of a packet."""
    found: dict[str, object] = {**gate.measure()}
    packets: list[list[object]] = []
    for name in gate.PACKETS:
        ns = found[f"{name}, ns per packet"] = packet_time(scenario, name)
        count = found.get(f"{name}, {gate.INSTRUCTIONS}", "not measured")
        packets.append([name, count, round(ns), round(1e5 / ns) * 10_000])
    flows: list[list[object]] = [[name, found.get(f"{name}, {gate.BYTES}", "not measured")] for name in gate.FLOWS]
    note = (
        "The cost of a packet and its acknowledgement is that of a long run minus that of a short run; for the time, "
        "the fastest of three runs counts. *newreno100*: 100 flows of ns-2's hosts over RED, 1 Mbit/s each. "
        "*linux100*: the same of Linux's hosts over Drop Tail. *unresponsive*, *traffic* and *web* (DCN 2004, 10 "
        "Mbit/s) are bundled scenarios. `make bench-gate` fails if instructions grow."
    )
    flow_note = (
        "The memory of a flow over Drop Tail, from the difference between runs with 1000 and 10,000 flows: NewReno on "
        "ns-2's hosts, CUBIC on Linux's. `make bench-gate` fails if bytes grow."
    )
    return [
        table("What a packet costs", note, ["", "instructions", "ns", "packets per CPU s"], packets),
        table("What a flow costs", flow_note, ["hosts", "bytes"], flows),
    ], found


def packet_time(scenario: Path, name: str) -> float:
    """Nanoseconds for each packet of one of `gate.PACKETS`, in runs that are ten times as long as those counted."""
    text, sets, (start, end) = gate.PACKETS[name]
    times = []
    for seconds in (start, 10 * end):
        whole = {"run.warmup": "0 s", **sets, "run.duration": f"{seconds} s"}
        with written(text) as file:
            runs = [run(scenario, file, *(f"{key}={value}" for key, value in whole.items())) for _ in range(3)]
        packets = json.loads(runs[0].output)["totals"]["departures_packets"]
        times.append((min(each.seconds for each in runs), packets))
    (less, few), (more, many) = times
    return (more - less) / (many - few) * 1e9


def places(scenario: Path) -> Part:
    """What it costs to keep who stands where in the queue, ten times a second, beside the other series."""
    base = PLACES.read_text() + 'sample = "97.3 ms"\n'
    rows: list[list[object]] = []
    result: dict[str, object] = {}
    for rate in ("0.1", "1.25", "10"):
        text = base.replace('rate = "10 Mbit/s"', f'rate = "{rate} Mbit/s"')
        without, kept = (instructions_of_text(scenario, text + more) for more in ("", KEEP_PLACES))
        if without is None or kept is None:
            return [], {}
        count = json.loads(run_text(scenario, text + KEEP_PLACES).output)["places"]
        result[rate] = each = (kept - without) / count
        rows.append([f"{rate} times the link's rate", without, count, round(each, 1), f"{kept / without - 1:+.1%}"])
    note = (
        "Instructions of complete runs of choke2004 with the default series. Storing which flow is at each position of "
        f"the queue, every 97.3 ms, adds at most {ALLOWED_PLACE} instructions for each position. Converting the "
        "positions to tables for Python is not counted."
    )
    columns = ["UDP sends", "instructions", "positions kept", "added for each", "added to the run"]
    return [table("Positions in the queue", note, columns, rows)], result


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
    "costs": lambda programs: costs(programs["scenario"]),
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
        if name == "places" and any(each > ALLOWED_PLACE for each in result.values()):  # type: ignore[operator]
            sys.exit(f"keeping a place of the queue takes more than {ALLOWED_PLACE} instructions")


if __name__ == "__main__":
    main()
