"""Measures and writes bench.json: `make bench`.

Times are CPU seconds of child processes, user and system; instructions are callgrind's. Both programs of a comparison
run alternately, so that what else the machine does meets them alike. The counts of fixed runs in instructions.json are
kept with the code: a change of more than 5 % fails until `--acknowledge` writes them anew.
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
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median

import paper_run

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
INSTRUCTIONS = HERE / "instructions.json"
SEEDS = range(1, 6)
NEWRENO = HERE / "newreno100.toml"
#: Seconds of the measured window, bits per second of the link, and when the window begins: as in newreno100.toml.
WINDOW, RATE = 80.0, 100e6
#: Enqueues and dequeues timed.
PAIRS = 4_000_000
#: The loop around them.
LOOP = "loop"
#: Flows of the scaling runs, and their seconds: a megabit per second for each flow, some 1.2 million packets in all.
SCALES = {10: 1000, 100: 100, 1000: 10, 10_000: 4}
#: The change of an instruction count that must be acknowledged.
ALLOWED = 0.05
#: What keeping the places in the queue may add.
ALLOWED_PROBE = 0.02
PLACES = ROOT / "python/sluicegate/scenarios/choke2004.toml"
FIXED = {
    "newreno100": (NEWRENO, 'duration = "100 s"\nwarmup = "20 s"', 'duration = "10 s"\nwarmup = "0 s"'),
    "unresponsive": (ROOT / "python/sluicegate/scenarios/unresponsive.toml", None, None),
    "traffic": (ROOT / "python/sluicegate/scenarios/traffic.toml", None, None),
}


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


def instructions(*command: str | Path) -> int | None:
    """Instructions of one process; none where valgrind is not installed."""
    if not shutil.which("valgrind"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        done = subprocess.run([*tool, *map(str, command)], capture_output=True, text=True, check=True)
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    return int(found[1]) if found else None


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


def table(title: str, note: str, columns: list[str], rows: list[list[object]]) -> dict[str, object]:
    return {"title": title, "note": note, "columns": columns, "rows": rows}


def digits(value: float | None, places: int) -> float | str:
    return "not measured" if value is None else round(value, places)


def dumbbell(scenario: Path) -> tuple[list[dict[str, object]], dict[str, object]]:
    """100 NewReno flows, here and, where it is installed, in ns-2."""
    ns = shutil.which("ns")
    ours, theirs, rows = [], [], []
    for seed in SEEDS:
        cost = run(scenario, NEWRENO, str(seed))
        totals = json.loads(cost.output)["totals"]
        loss = totals["drops_packets"] / totals["arrivals_packets"]
        ours.append((cost.seconds, totals["throughput_bps"] / RATE, loss, cost.kilobytes))
        if ns:
            cost = run(ns, HERE / "dumbbell.tcl", str(seed))
            before, after = (list(map(float, cost.output.split()[k : k + 4])) for k in (0, 4))
            sent, _, drops, arrivals = (b - a for a, b in zip(before, after, strict=True))
            theirs.append((cost.seconds, sent * 8 / WINDOW / RATE, drops / arrivals, cost.kilobytes))
    with tempfile.TemporaryDirectory() as folder:
        short = shorten(*FIXED["newreno100"], Path(folder))
        count = instructions(scenario, short)
        packets_short = json.loads(run(scenario, short).output)["sent"]
    # The packets of the whole run, not of the measured window alone.
    sent = packets_sent(scenario)
    for name, runs in (("Sluicegate", ours), ("ns-2", theirs)):
        if runs:
            seconds, used, loss, memory = (fmean(column) for column in zip(*runs, strict=True))
            per = count / packets_short if count and name == "Sluicegate" else None
            rows.append(
                [name, round(seconds, 3), round(sent / seconds), digits(per, 0), round(used * 100, 2),
                 round(loss * 100, 2), round(memory / 1024, 1)]
            )  # fmt: skip
    result: dict[str, object] = {"cpu_s": fmean(r[0] for r in ours), "packets": sent}
    result["packets_per_cpu_s"] = sent / fmean(r[0] for r in ours)
    result["instructions_per_packet"] = count / packets_short if count else None
    result["peak_memory_bytes"] = max(r[3] for r in ours) * 1024
    note = (
        "100 NewReno flows, 100 Mbit/s, a round trip of 42 ms, RED 30/60, 100 s of simulated time; means over "
        f"{len(SEEDS)} seeds. Packets are those of the whole run that left the bottleneck."
    )
    if theirs:
        ratio = median(b[0] / a[0] for a, b in zip(ours, theirs, strict=True))
        result["ns2_ratio"] = ratio
        result["ns2"] = {"cpu_s": fmean(r[0] for r in theirs)}
        for key, at in (("utilisation", 1), ("drop_rate", 2)):
            result[key], result["ns2"][key] = (fmean(r[at] for r in runs) for runs in (ours, theirs))  # type: ignore[index]
        note += f" ns-2 takes {ratio:.1f} times as long (median over the seeds, run alternately)."
    columns = [
        "",
        "CPU s",
        "packets per CPU s",
        "instructions per packet",
        "utilisation, %",
        "loss, %",
        "peak memory, MiB",
    ]
    return [table("A dumbbell", note, columns, rows)], result


def packets_sent(scenario: Path) -> int:
    """Packets that the bottleneck sends in the whole run: the same without a warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        whole = shorten(NEWRENO, 'warmup = "20 s"', 'warmup = "0 s"', Path(folder))
        return int(json.loads(run(scenario, whole).output)["sent"])


def shorten(path: Path, old: str | None, new: str | None, folder: Path) -> Path:
    """A copy of a scenario with a part of its text replaced."""
    text = path.read_text()
    if old is not None and new is not None:
        assert old in text, f"{path}: no {old!r}"
        text = text.replace(old, new)
    copy = folder / path.name
    copy.write_text(text)
    return copy


def disciplines(pair: Path) -> tuple[list[dict[str, object]], dict[str, object]]:
    """One enqueue and one dequeue of each discipline."""
    names = run(pair).output.split()
    costs: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(5):
        for name in names:
            # The program takes the time itself, of the pairs alone: what comes before them may last longer.
            costs[name].append(float(run(pair, name, str(PAIRS)).output))
    counts = {name: pair_instructions(pair, name) for name in names}
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
        "One enqueue and one dequeue through the trait object, and the question when it wants to be woken; 40 packets "
        "of 33 flows queued, thresholds of 30 and 60. The least of five runs. The loop that makes the packets, moves "
        f"the clock and provides the context takes {least[loop]:.1f} ns and {digits(counts[loop], 0)} instructions by "
        "itself; it is taken off, but for the last column."
    )
    active_note = (
        "The same with N active flows, NAME@N: a packet of each is queued, 40 at least, as far as the discipline lets "
        "it; the link is as much faster, so that each flow sends as often; thresholds are 3/4 and 3/2 of what is "
        "queued; tables are as large as their ranges allow, up to 100,000. Measured when the state of the flows is "
        "filled."
    )
    overload_note = (
        "One arrival and half a departure, NAME!N: N flows send a packet each in turn, twice what the link sends, into "
        "a buffer of N packets, which is full unless the discipline drops enough before; tables as above."
    )
    columns = ["", "ns", "instructions", "to Drop Tail", "ns with the loop"]
    tables = [
        table("Disciplines", note, columns, rows[""]),
        table("Active flows", active_note, columns, rows["@"]),
        table("Overload", overload_note, columns, rows["!"]),
    ]
    # main moves the last two beside the disciplines.
    return tables, {**result[""], "per_flow": result["@"], "overload": result["!"]}


def pair_instructions(pair: Path, name: str) -> float | None:
    """Instructions of one pair: those of many, less those of few."""
    many, few = (instructions(pair, name, str(pairs)) for pairs in (120_000, 20_000))
    return (many - few) / 100_000 if many and few else None


def scaling(scenario: Path) -> tuple[list[dict[str, object]], dict[str, object]]:
    """The cost of a packet with more and more flows, each of a megabit per second."""
    rows, result = [], {}
    text = NEWRENO.read_text()
    for flows, seconds in SCALES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scale.toml"
            sized = text.replace('rate = "100 Mbit/s"', f'rate = "{flows} Mbit/s"').replace(
                "count = 100", f"count = {flows}"
            )
            for key, value in (
                ("limit = 300", 3 * flows),
                ("min_th = 30", max(3, 3 * flows // 10)),
                ("max_th = 60", max(6, 6 * flows // 10)),
            ):
                sized = sized.replace(key, f"{key.split(' = ')[0]} = {value}")
            sized = sized.replace(
                's = "80 us"', f's = "{8000 // flows} us"' if flows <= 1000 else f's = "{8_000_000 // flows} ns"'
            )
            sized = sized.replace('"1 Gbit/s"', '"100 Mbit/s"').replace(
                'duration = "100 s"\nwarmup = "20 s"', f'duration = "{seconds} s"'
            )
            path.write_text(sized)
            costs = [run(scenario, path) for _ in range(3)]
        sent = json.loads(costs[0].output)["sent"]
        ns = min(cost.seconds for cost in costs) / sent * 1e9
        result[str(flows)] = {"ns_per_packet": ns, "packets": sent, "peak_memory_bytes": costs[0].kilobytes * 1024}
        first = result["10"]["ns_per_packet"]  # type: ignore[index]
        rows.append([flows, sent, round(ns), round(ns / first, 2), round(costs[0].kilobytes / 1024, 1)])
    note = "NewReno flows over RED at 1 Mbit/s for each flow, thresholds in proportion; the least of three runs."
    columns = ["flows", "packets", "ns per packet", "to 10 flows", "peak memory, MiB"]
    return [table("More flows", note, columns, rows)], result


def fixed_runs(scenario: Path, acknowledge: bool) -> tuple[list[dict[str, object]], bool]:
    """The instruction counts of three fixed runs beside those that are kept."""
    kept = json.loads(INSTRUCTIONS.read_text()) if INSTRUCTIONS.exists() else {}
    rows, good, counts = [], True, {}
    for name, what in FIXED.items():
        with tempfile.TemporaryDirectory() as folder:
            count = instructions(scenario, shorten(*what, Path(folder)))
        if count is None:
            return [], True
        counts[name] = count
        change = count / kept[name] - 1 if name in kept else 0.0
        good &= abs(change) <= ALLOWED
        rows.append([name, count, f"{change:+.1%}"])
    if acknowledge or not kept:
        INSTRUCTIONS.write_text(json.dumps(counts, indent=2) + "\n")
        good = True
    return [
        table(
            "Fixed runs",
            "Instructions, and the change against those kept with the code.",
            ["", "instructions", "change"],
            rows,
        )
    ], good


def probe(scenario: Path) -> tuple[list[dict[str, object]], bool]:
    """What it costs to keep who stands where in the queue, ten times a second, beside the other series."""
    base = PLACES.read_text() + 'sample = "97.3 ms"\n'
    rows: list[list[object]] = []
    cheap = True
    for rate in ("0.1", "1.25", "10"):
        counts = []
        with tempfile.TemporaryDirectory() as folder:
            for more in ("", "positions = 5000000\n"):
                path = Path(folder) / "scenario.toml"
                path.write_text(base.replace('rate = "10 Mbit/s"', f'rate = "{rate} Mbit/s"') + more)
                counts.append(instructions(scenario, path))
        without, kept = counts
        if without is None or kept is None:
            return [], True
        change = kept / without - 1
        cheap &= change <= ALLOWED_PROBE
        rows.append([f"{rate} times the link", without, kept, f"{change:+.2%}"])
    note = (
        f"Instructions of whole runs of choke2004 with the series that a run keeps by default: at most "
        f"{ALLOWED_PROBE:.0%} more. Tables for Python are not counted."
    )
    return [table("Places in the queue", note, ["UDP", "without", "kept every 97.3 ms", "change"], rows)], cheap


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench.json", help="where the result goes")
    parser.add_argument("--instructions", action="store_true", help="only count the instructions of the fixed runs")
    parser.add_argument("--acknowledge", action="store_true", help="keep the new instruction counts of the fixed runs")
    parser.add_argument(
        "--paper", type=float, metavar="MINUTES", help="also run DCN 2004 for so long; the paper's 120 take minutes"
    )
    given = parser.parse_args()
    if given.paper is not None and not 1 <= given.paper <= paper_run.WHOLE:
        parser.error(f"--paper: from 1 to {paper_run.WHOLE:g} simulated minutes")
    programs = build()
    tables, good = fixed_runs(programs["scenario"], given.acknowledge)
    places, cheap = probe(programs["scenario"])
    tables += places
    bench: dict[str, object] = {}
    if not given.instructions:
        from sluicegate import __version__

        bench = {"date": datetime.now(UTC).date().isoformat(), "version": __version__, "machine": machine()}
        for key, measure, program in (
            ("dumbbell", dumbbell, "scenario"),
            ("disciplines", disciplines, "pair"),
            ("scaling", scaling, "scenario"),
        ):
            more, bench[key] = measure(programs[program])
            tables = more + tables
        if given.paper is not None:
            more, bench["paper_run"] = paper_run.measure(run, programs["scenario"], given.paper)
            tables = more + tables
        for key in ("per_flow", "overload"):
            bench[key] = bench["disciplines"].pop(key)  # type: ignore[attr-defined]
        ratio = bench["dumbbell"].get("ns2_ratio")  # type: ignore[attr-defined]
        if ratio is not None:
            bench["ns2_ratio"] = ratio
        bench["tables"] = tables
        given.output.write_text(json.dumps(bench, indent=2) + "\n")
    for each in tables:
        print_table(each)
    if not good:
        sys.exit(
            f"an instruction count has changed by more than {ALLOWED:.0%}: "
            "tools/bench/bench.py --instructions --acknowledge keeps the new ones"
        )
    if not cheap:
        sys.exit(f"keeping the places in the queue adds more than {ALLOWED_PROBE:.0%} of the instructions")
    if bench:
        print(f"written: {given.output}")


if __name__ == "__main__":
    main()
