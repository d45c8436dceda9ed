"""Random scenarios simulated, captured, learnt back and compared: how far `sluicegate learn` is right where the truth
is known.

python tools/learn_proof.py [--ranking 1-200] [--write docs/learn.md]
python tools/learn_proof.py --cost [--write docs/learn.md]

What is kept (docs/learn-proof.jsonl) is not run again: it goes on where it was stopped. The ranking takes most of the
time.

Each scenario is a link of a kind that is bundled (plain wires, framings, DSL, cable, LTE, Wi-Fi, satellite), one of ten
disciplines, transfers between Linux's hosts, and often calls, a flood or web users. Criteria: the rate within 1 %, base
round trips within 1 ms or 2 %, the buffer within 10 % where it was full, the discipline right or "not told", and, with
--ranking, the same best disciplines of `recommend`.

With --cost it measures instead what learning from long captures takes: processor time and memory.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import sluicegate as sg
from measured_code import commit
from sluicegate.io import staged_file
from sluicegate.learning.learnt import learn
from sluicegate.learning.model import Learnt
from sluicegate.learning.rate import framed
from sluicegate.learning.write import write
from sluicegate.quantities import in_base_unit, toml_inline

DISCIPLINES = ["drop_tail", "red", "choke", "codel", "pie", "blue", "fq_codel", "cake", "sfq", "fq_pie"]
LINKS = ["wire", "ethernet", "pppoe", "ptm", "dsl", "cable", "lte", "wifi", "satellite"]
RANKED = "drop_tail,codel,fq_codel,cake"
"""What is ranked: each with its defaults for the link, which `recommend` chooses."""

KEPT = Path(__file__).parents[1] / "docs/learn-proof.jsonl"

SEEDS, OTHERS = range(1, 4), range(101, 104)
"""The seeds of the ranking, and others, with which the truth is ranked again: how far it agrees with itself."""

INSIDE = "172.16.0.0/12"
"""Where receivers are in captures of the simulator."""


@dataclass
class Row:
    """What one scenario showed; None where there was nothing to compare, or, of `commit`, where it was not kept."""

    number: int
    link: str
    discipline: str
    rate_error: float | None = None
    rate_within: bool | None = None
    rtt_error_ms: float | None = None
    rtt_right: bool | None = None
    buffer_error: float | None = None
    told: str = ""
    told_right: bool | None = None
    same_best: bool | None = None
    shared_best: bool | None = None
    same_first: bool | None = None
    truth_again: bool | None = None
    truth_first: bool | None = None
    failure: str = ""
    commit: str | None = None


def scenario(number: int) -> tuple[str, str, dict[str, Any]]:
    """The kind of link, the discipline, and the scenario with this number."""
    pick = random.Random(number)
    kind, discipline = pick.choice(LINKS), DISCIPLINES[number % len(DISCIPLINES)]
    rate = round(10 ** pick.uniform(0.3, 1.8), 1)  # 2 to 63 Mbit/s
    network: dict[str, Any] = {"rate": f"{rate} Mbit/s", "delay": f"{pick.choice([2, 5, 10, 20, 40])} ms"}
    if kind in ("ethernet", "pppoe", "ptm"):
        network["framing"] = kind
    elif kind == "dsl":
        rate = pick.choice([8, 16])
        network |= {"rate": f"{rate} Mbit/s", "framing": "atm", "reverse": {"rate": "1 Mbit/s"}}
    elif kind == "cable":
        rate = 50
        network |= {"rate": "50 Mbit/s", "framing": "docsis", "reverse": {"rate": "10 Mbit/s", "jitter": "6 ms"}}
    elif kind in ("lte", "wifi"):
        rate = 10 if kind == "lte" else 40
        del network["rate"]
        network["trace"] = kind
        if kind == "wifi":
            network |= {"trace_period": "10 s", "jitter": "3 ms"}
    elif kind == "satellite":
        rate = 25
        network |= {"rate": "25 Mbit/s", "delay": "270 ms", "burst_start": 0.0001, "burst_end": 0.2, "burst_loss": 0.5}
    queue: dict[str, Any] = {"discipline": discipline}
    if discipline == "drop_tail":
        # Of this discipline: those that are ranked choose theirs, as they do where it is learnt.
        queue["drop_tail"] = {"limit": pick.choice([50, 100, 200, "100 kB"])}
    flows: list[dict[str, Any]] = [
        {
            "name": "transfers",
            "kind": "tcp",
            "count": pick.randint(2, 8),
            "algorithm": pick.choice(["cubic", "cubic", "reno"]),
        }
    ]
    if kind != "satellite" and pick.random() < 0.5:
        flows[0] |= {"rtt": "30 ms", "rtt_max": "120 ms"} if network["delay"] in ("2 ms", "5 ms", "10 ms") else {}
    if "reverse" in network and pick.random() < 0.7:
        flows.append({"name": "upload", "kind": "tcp", "direction": "reverse"})
    if pick.random() < 0.6:
        flows.append(
            {"name": "calls", "kind": "udp", "rate": "64 kbit/s", "packet_size": "200 B", "count": pick.randint(1, 4)}
        )
    if pick.random() < 0.3:
        flows.append({"name": "backup", "kind": "udp", "rate": f"{round(rate * pick.uniform(0.2, 0.7), 2)} Mbit/s"})
    if pick.random() < 0.3:
        flows.append({"name": "web", "kind": "http", "count": 20})
    return kind, discipline, {
        "network": network, "queue": queue, "flows": flows,
        "run": {"duration": "20 s", "warmup": "5 s", "seed": number},
    }  # fmt: skip


def text_of(described: dict[str, Any]) -> str:
    """A scenario as a text."""
    return "\n".join(f"{key} = {toml_inline(value)}" for key, value in described.items()) + "\n"


def prove(number: int, ranking: bool, folder: Path) -> Row:
    """Simulate, capture, learn and compare one."""
    kind, discipline, described = scenario(number)
    row = Row(number, kind, discipline, commit=commit())
    text = text_of(described)
    two_way = "reverse" in described["network"]
    links = [
        "bottleneck/arrivals",
        "bottleneck",
        *(["reverse/arrivals", "reverse"] if two_way else ["bottleneck/back"]),
    ]
    places = {link: folder / f"{at}.pcapng" for at, link in enumerate(links)}
    truth = sg.simulate(text, warmup="0 s", pcap=places)  # what is captured is all measured
    try:
        learnt = learn(list(places.values()), inside=[INSIDE])
        write(learnt, folder / "learnt.toml")
        sg.check(folder / "learnt.toml")
    except sg.ScenarioError as error:
        row.failure = str(error).replace(f"{folder}/", "")
        return row
    compare(row, truth, learnt)
    if ranking:
        # Round trips are drawn anew for each seed: those of the link that was captured are meant.
        drawn = truth.flows.filter(truth.flows["group"] == 0)["base_rtt_ns"].to_list()
        transfers = {key: value for key, value in described["flows"][0].items() if key not in ("rtt", "rtt_max")}
        described["flows"][0] = transfers | {"rtts": [f"{each:.0f} ns" for each in drawn]}
        text = text_of(described)
        found = [
            sg.recommend(each, disciplines=RANKED, seeds=seeds, progress=False)
            for each, seeds in ((text, SEEDS), (folder / "learnt.toml", SEEDS), (text, OTHERS))
        ]
        best, first = [set(each.best()) for each in found], [each.recommended()[0] for each in found]
        row.same_best, row.shared_best = best[0] == best[1], bool(best[0] & best[1])
        row.same_first, row.truth_again, row.truth_first = (
            first[0] == first[1],
            best[0] == best[2],
            first[0] == first[2],
        )
        if not row.same_best:
            row.failure = f"best {', '.join(sorted(best[0]))}; learnt {', '.join(sorted(best[1]))}"
    return row


def compare(row: Row, truth: sg.Run, learnt: Learnt) -> None:
    """Set what was learnt beside the truth."""
    way = learnt.forward
    [link] = truth.links.filter(truth.links["link"] == "bottleneck").to_dicts()
    if way.rate is not None:
        real = link["rate_bps"]
        framing = scenario(row.number)[2]["network"].get("framing", "none")
        if way.rate.framing is None and way.passage is not None:
            sizes = way.passage.size[way.passage.sent]
            real *= sizes.sum() / framed(sizes, framing).sum()
        row.rate_error = float(way.rate.bps / real - 1)
        # Rates that do not vary are told to a part in a million, beside which their interval is nothing.
        row.rate_within = bool(abs(way.rate.bps - real) <= max(way.rate.half_width_bps, 1e-6 * real))
    flows = {f"10.0.0.{flow}": rtt for flow, rtt in truth.flows.select("flow", "base_rtt_ns").iter_rows()}
    if learnt.flows is not None:
        known = {each["id"]: each for each in learnt.flows.to_dicts()}
        off = []
        for flow, rtt in learnt.rtts_ms.items():
            sender = next((known[flow][end] for end in ("source", "destination") if known[flow][end] in flows), None)
            if sender is not None and flows[sender] is not None:
                off.append((rtt - flows[sender] / 1e6, flows[sender] / 1e6))
        if off:
            row.rtt_error_ms = max((error for error, _ in off), key=abs)
            row.rtt_right = all(abs(error) <= max(1, 0.02 * rtt) for error, rtt in off)
    if way.told is None:
        return
    row.told = " or ".join(way.told.names) or "not told"
    if way.told.names == (row.discipline,):
        row.told_right = True
    elif way.told.names and row.discipline not in way.told.names:
        row.told_right = False
    if row.discipline == "drop_tail" and link["drops_packets"] and way.told.buffer.full:
        limit, found = truth.summary["scenario"]["queue"]["limit"], way.told.buffer
        real = in_base_unit(limit) if isinstance(limit, str) and limit.endswith("B") else int(str(limit).split()[0])
        row.buffer_error = (found.bytes if found.full == "bytes" else found.packets) / real - 1


def main() -> None:
    """Prove some, print what they sum up to, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--ranking", metavar="FIRST-LAST", default="1-0", help="for these numbers, recommend too")
    parser.add_argument("--keep", type=Path, default=KEPT, help="what each showed, a line for each")
    parser.add_argument("--cost", action="store_true", help="measure time and memory of long captures instead")
    parser.add_argument("--write", type=Path, help="write the table into this page")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", sg.ScenarioWarning)
    if asked.cost:
        with tempfile.TemporaryDirectory() as folder:
            table = cost(Path(folder))
        print(table)
        if asked.write:
            write_between(asked.write, "cost", table)
        return
    rows: dict[int, Row] = {}
    if asked.keep.exists():
        rows = {
            row.number: row for row in (Row(**json.loads(line)) for line in asked.keep.read_text("utf-8").splitlines())
        }
    low, high = map(int, asked.ranking.split("-"))
    for number in range(asked.first, asked.first + asked.count):
        ranking = low <= number <= high
        if number in rows and not (ranking and rows[number].same_best is None):
            continue
        with tempfile.TemporaryDirectory() as folder:
            rows[number] = prove(number, ranking, Path(folder))
        with staged_file(asked.keep) as out:
            out.write_text("".join(json.dumps(asdict(rows[at])) + "\n" for at in sorted(rows)), "utf-8")
    table = page([rows[number] for number in sorted(rows)])
    print(table)
    if asked.write:
        write_between(asked.write, "proof", table)


def write_between(path: Path, name: str, table: str) -> None:
    """Put a table into a page, between the comments with this name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found, rest = path.read_text("utf-8").partition(begin)
    if not found:
        raise SystemExit(f"{path}: has no {begin}")
    path.write_text(f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}", "utf-8")


LONG = """[network]
rate = "200 Mbit/s"
delay = "10 ms"
[queue]
discipline = "drop_tail"
limit = 600
[[flows]]
name = "transfers"
kind = "tcp"
count = 12
[[flows]]
name = "calls"
kind = "udp"
rate = "64 kbit/s"
packet_size = "200 B"
count = 4
[[flows]]
name = "web"
kind = "http"
count = 20
[run]
duration = "340 s"
warmup = "0 s"
"""

MANY = 240_000
"""Connections in 48 s, of four packets each."""

MEASURED = """import re, sys, time
from sluicegate import learn
begun = time.process_time()
learn(sys.argv[2:], inside=[sys.argv[1]])
print(time.process_time() - begun, re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""
"""The processor time of learning, in seconds, and the most memory of the program, in KiB."""


def many_connections(path: Path, count: int) -> None:
    """Write a capture of connections that begin one after the other, 0.2 ms apart: a question, an answer."""
    steps = [(1, 100, 0, 2, 0), (0, 300, 101, 18, 0), (1, 101, 301, 24, 200), (0, 301, 301, 25, 900)]
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for at in range(count):
            ends = (IPv4Address("10.0.0.1") + at % 200, IPv4Address("8.0.0.0") + at * 7919 % 1_000_000)
            ports = (1024 + at // 200, 443)
            for step, (goes, seq, ack, flags, data) in enumerate(steps):
                (source, port), (end, far) = list(zip(ends, ports, strict=True))[:: 1 if goes else -1]
                head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + data, 0, 0x4000, 64, 6, 0) + source.packed + end.packed
                packet = head + struct.pack(">HHIIBBHHH", port, far, seq, ack, 0x50, flags, 65000, 0, 0) + bytes(data)
                time = at * 200 + step * 40  # microseconds
                out.write(struct.pack("<IIII", time // 10**6, time % 10**6, len(packet), len(packet)) + packet)


def cost(folder: Path) -> str:
    """The table of what learning from long captures takes."""
    places = {link: folder / f"{at}.pcapng" for at, link in enumerate(("bottleneck/arrivals", "bottleneck",
                                                                       "bottleneck/back"))}  # fmt: skip
    sg.simulate(LONG, pcap=places)
    many = folder / "many.pcap"
    many_connections(many, MANY)
    lines = ["| captures | packets | processor time | most memory |", "|---|---|---|---|"]
    for what, inside, files in (
        ("before, behind and back: 12 transfers, calls and web users at 200 Mbit/s for 340 s", INSIDE, places.values()),
        (f"{MANY:,} connections in {MANY // 5000} s", "10.0.0.0/8", [many]),
    ):
        packets = sum(batch.height for file in files for batch in sg.CaptureReader(file, columns=["time_ns"]))
        command = [sys.executable, "-c", MEASURED, inside, *map(str, files)]
        seconds, kib = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
        size = sum(file.stat().st_size for file in files) / 1e6
        lines.append(
            f"| {what}, {size:,.0f} MB | {packets:,} | {seconds:.1f} s: {packets / seconds:,.0f} packets/s "
            f"| {kib / 1024:.0f} MiB |"
        )
    return "\n".join(lines)


AIM = 0.9
"""The part of the rankings that are to be met."""

AIMED = ("the same best disciplines", "the same discipline ranked first")
"""The criteria that have this aim."""

SIGNED = ("drop_tail", "codel", "fq_codel", "cake")
"""The disciplines that have a signature."""


def page(rows: list[Row]) -> str:
    """The table of the criteria, and that of the scenarios in which one is not met."""
    lines = ["| what | met | of | aim |", "|---|---:|---:|---|"]
    for name, right in criteria(rows).items():
        aim = f"{100 * AIM:.0f} %: {'met' if sum(right) >= AIM * len(right) else 'missed'}" if name in AIMED else "–"
        lines.append(f"| {name} | {sum(right)} | {len(right)} | {aim} |")
    now = commit()
    others = sum(row.commit != now for row in rows)
    lines += [
        "",
        f"{others} of the {len(rows)} results are from another commit than this table, or from one that was not "
        "recorded: their code may be older than today's.",
    ]
    bad = [(row, found) for row in rows for found in shortfalls(row)]
    if bad:
        lines += [
            "",
            "The scenarios that do not meet a criterion. *Best* are the disciplines of rank 1 for the true link, "
            "*learnt* those for the learnt link. *The true link differs from itself* if its disciplines of rank 1 "
            "change with the seeds.",
            "",
            "| number | link | discipline | what | why |",
            "|---|---|---|---|---|",
        ]
        lines += [f"| {row.number} | {row.link} | `{row.discipline}` | {what} | {why} |" for row, (what, why) in bad]
    return "\n".join(lines)


def shortfalls(row: Row) -> Iterator[tuple[str, str]]:
    """What a scenario falls short of, and why, as far as that is known."""
    if row.rate_error is not None and abs(row.rate_error) > 0.01:
        varies = row.link in ("lte", "wifi")
        said = " (within its interval)" if row.rate_within else ""
        yield (
            f"rate {row.rate_error:+.1%}{said}",
            "the rate varies, and cannot be seen while nothing waits" if varies else "not known",
        )
    if row.rtt_right is False:
        jitter = (
            "no acknowledgement arrives without delay: each waits up to 6 ms" if row.link == "cable" else "not known"
        )
        yield f"base round trip {row.rtt_error_ms:+.1f} ms", jitter
    if row.buffer_error is not None and abs(row.buffer_error) > 0.1:
        yield f"buffer {row.buffer_error:+.0%}", "not known"
    if row.told_right is False:
        yield f"identified as {row.told}: wrong", "not known"
    if row.discipline in SIGNED and row.told and row.told_right is None:
        yield "discipline not determined", "there are few drops, or few packets of a flow between them"
    if row.same_best is False:
        yield (
            "recommendation",
            row.failure + ("; the true link differs from itself, too" if row.truth_again is False else ""),
        )
    elif row.failure:
        yield "not learnt", row.failure
    if row.same_first is False:
        yield (
            "another discipline ranked first",
            "among the same best ones" if row.same_best else "the best ones differ, too",
        )


def criteria(rows: list[Row]) -> dict[str, list[bool]]:
    """Each criterion, and whether it is met by each scenario in which there was something to compare."""
    signed = [row for row in rows if row.discipline in SIGNED and row.told]
    found = {
        "rate within 1 %": [abs(row.rate_error) <= 0.01 for row in rows if row.rate_error is not None],
        "the rate within its interval": [row.rate_within for row in rows if row.rate_within is not None],
        "base round trips of all connections within 1 ms or 2 %": [
            row.rtt_right for row in rows if row.rtt_right is not None
        ],
        "buffer within 10 % where it was full": [
            abs(row.buffer_error) <= 0.1 for row in rows if row.buffer_error is not None
        ],
        "discipline identified, of those with a signature": [row.told_right is True for row in signed],
        "discipline right or not determined, of all": [row.told_right is not False for row in rows if row.told],
        "the same best disciplines": [row.same_best for row in rows if row.same_best is not None],
        "a best discipline of the true link is among the best": [
            row.shared_best for row in rows if row.shared_best is not None
        ],
        "the same discipline ranked first": [row.same_first for row in rows if row.same_first is not None],
        "the same best disciplines, true link with other seeds": [
            row.truth_again for row in rows if row.truth_again is not None
        ],
        "the same discipline ranked first, true link with other seeds": [
            row.truth_first for row in rows if row.truth_first is not None
        ],
    }
    return {name: right for name, right in found.items() if right}


if __name__ == "__main__":
    main()
