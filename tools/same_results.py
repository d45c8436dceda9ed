"""Run random scenarios in two builds of the simulator, and name those whose results differ in any bit.

    python tools/same_results.py OLD.so NEW.so [--count 500] [--first 0]

OLD.so and NEW.so are two files `_core.abi3.so`. A scenario follows from its number: all disciplines, hosts, kinds of
traffic and links, alone and together. For whatever must not change results, above all the order of evaluation.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.machinery
import importlib.util
import json
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((ROOT / "docs/scenario.schema.json").read_text("utf-8"))
GROUPS = [each["properties"] for each in SCHEMA["properties"]["flows"]["items"]["oneOf"]]
KINDS = {keys["kind"]["const"]: keys for keys in GROUPS if "ends" not in keys}
DISCIPLINES = SCHEMA["$defs"]["discipline"]["anyOf"][0]["enum"]
#: What a link may do to packets beside delaying them.
WIRES: list[dict[str, object]] = [
    {"loss": 0.01},
    {"jitter": "3 ms"},
    {"jitter": "3 ms", "reordering": True},
    {"framing": "38 B", "frame_min": "84 B"},
    {"tx_ring": 4},
]
#: What a host may do otherwise than its profile says.
HOSTS: list[dict[str, object]] = [
    {"ecn": True},
    {"delayed_ack": "40 ms"},
    {"packet_size": "576 B"},
    {"window": "16 kB"},
    {"handshake": True, "closing": True},
    {"source_quench": True},
    {"gso": False},
    {"slow_start_exit": "hystart_plus_plus"},
]


def words(field: dict[str, Any]) -> list[str]:
    """The words that a field takes."""
    place: str = field.get("$ref", "")
    found: list[str] = (SCHEMA["$defs"][place.removeprefix("#/$defs/")] if place else field)["enum"]
    return found


def scenario(number: int) -> dict[str, Any]:
    """The scenario of this number, as tables."""
    draw = random.Random(number)
    rate = draw.choice([0.5, 2, 10, 30, 100])
    network: dict[str, Any] = {"rate": f"{rate} Mbit/s", "delay": f"{draw.choice([0, 1, 5, 20, 100])} ms"}
    if draw.random() < 0.7:
        network["access_rate"] = f"{rate * draw.choice([0.5, 1, 2, 10, 100]):g} Mbit/s"
        network["access_delay"] = f"{draw.choice([0, 1, 3])} ms"
    if draw.random() < 0.25:
        network |= draw.choice(WIRES)
    if draw.random() < 0.2:
        network["reverse"] = {"rate": f"{rate * draw.choice([0.1, 1, 3]):g} Mbit/s", "delay": "2 ms"}
    run: dict[str, Any] = {"duration": "6 s", "warmup": draw.choice(["0 s", "2 s"]), "seed": number, "exchanges": True}
    # Without series nothing looks at a run before its end.
    run |= draw.choice([{"series": False}, {"series": False}, {"sample": "50 ms"}, {"packets": 1000}])
    flows = [group(draw, rate) for _ in range(draw.randint(1, 4))]
    queue: dict[str, Any] = {"discipline": draw.choice(DISCIPLINES)}
    if draw.random() < 0.5:
        queue["limit"] = draw.choice([5, 20, 100, 2000])
    changes = [
        {
            "time": f"{draw.uniform(0.5, 5):.3f} s",
            "key": "network.rate",
            "value": f"{rate * draw.choice([0.5, 2]):g} Mbit/s",
        }
        for _ in range(draw.choice([0, 0, 1, 3]))
    ]
    changes.sort(key=lambda change: change["time"])
    return {"network": network, "queue": queue, "flows": flows, "run": run, "changes": changes}


def group(draw: random.Random, rate: float) -> dict[str, Any]:
    """A group of flows for a link of `rate` Mbit/s."""
    kind = draw.choice(["tcp", "tcp", "tcp", *KINDS])
    keys = KINDS[kind]
    flows: dict[str, Any] = {"kind": kind, "count": draw.choice([1, 2, 5, 30]), "spread": draw.choice(["0 s", "1 s"])}
    if "algorithm" in keys:
        flows["algorithm"] = draw.choice(words(keys["algorithm"]))
        if draw.random() < 0.7:
            flows["profile"] = draw.choice([*words(keys["profile"]), "ns2"])
        if draw.random() < 0.5:
            flows |= draw.choice(HOSTS)
    elif kind in ("udp", "poisson", "on_off"):
        flows["rate"] = f"{rate * draw.choice([0.01, 0.1, 0.4, 1.5]):g} Mbit/s"
        flows["packet_size"] = draw.choice(["100 B", "1000 B"])
    if kind == "tcp" and draw.random() < 0.4:
        flows["size"] = draw.choice(["1 B", "3 kB", "50 kB"])
    if kind == "http":
        flows["think_time"] = "exponential(mean = 1 s)"
    if draw.random() < 0.5:
        flows["rtt"] = f"{draw.choice([1, 20, 80])} ms"
    if draw.random() < 0.2:
        flows["access_jitter"] = "2 ms"
    if draw.random() < 0.2:
        flows["direction"] = "reverse"
    if draw.random() < 0.1:
        flows["stop"] = "4 s"
    return flows


def text_of(tables: dict[str, Any]) -> str:
    """The scenario as a file has it."""

    def lines(table: dict[str, Any]) -> list[str]:
        return [f"{key} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, dict)]

    parts = []
    for name, table in tables.items():
        for each in table if isinstance(table, list) else [table]:
            parts += [f"[[{name}]]" if isinstance(table, list) else f"[{name}]", *lines(each)]
            for inner, value in each.items():
                parts += [f"[{name}.{inner}]", *lines(value)] if isinstance(value, dict) else []
    return "\n".join(parts) + "\n"


def digest(raw: dict[str, Any]) -> str:
    """Of the summary, and of names, types and bytes of every column of every table that has rows.

    A build may know a key or a table more than the other: the scenario that the summary repeats is no result.
    """
    results = {key: value for key, value in json.loads(raw["summary"]).items() if key != "scenario"}
    found = hashlib.sha256(repr(results).encode())
    for name, columns in raw["tables"].items():
        if any(len(cells[1] if isinstance(cells, tuple) else cells) for _, _, cells in columns):
            found.update(repr((name, columns)).encode())
    return found.hexdigest()


def serve(library: str, first: int, count: int) -> None:
    """Print what came of each scenario in this build, a line each."""
    loader = importlib.machinery.ExtensionFileLoader("_core", library)
    spec = importlib.util.spec_from_loader("_core", loader)
    assert spec, library
    core = importlib.util.module_from_spec(spec)
    loader.exec_module(core)
    for number in range(first, first + count):
        print(json.dumps(outcome(core, scenario(number))), flush=True)


def outcome(core: Any, tables: dict[str, Any]) -> str:
    """The digest of the results. Settings that do not go together are left out, one by one, as messages name them."""
    while True:
        try:
            given = (text_of(tables), "scenario.toml", [])
            # Builds before the class `Scenario` take what it is made of.
            return digest(core.run(core.Scenario(*given)) if hasattr(core, "Scenario") else core.run(*given, None))
        except Exception as error:
            named = re.search(r"flows\.(\d+)\.(\w+)", str(error))
            if not named or tables["flows"][int(named[1])].pop(named[2], None) is None:
                return f"refused: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", type=Path, metavar="BUILD.so", help="the two builds")
    parser.add_argument("--count", type=int, default=500, help="how many scenarios [500]")
    parser.add_argument("--first", type=int, default=0, help="the number of the first [0]")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="only print this scenario")
    parser.add_argument("--serve", metavar="BUILD.so", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.show is not None:
        print(text_of(scenario(given.show)), end="")
        return 0
    if given.serve:
        serve(given.serve, given.first, given.count)
        return 0
    if len(given.builds) != 2:
        parser.error("two builds are compared")
    arguments = ["--first", str(given.first), "--count", str(given.count)]
    both = [
        subprocess.Popen(
            [sys.executable, __file__, "--serve", build.resolve(), *arguments], stdout=subprocess.PIPE, text=True
        )
        for build in given.builds
    ]
    counts: Counter[str] = Counter()
    streams = [each.stdout for each in both]
    assert all(streams)
    for number, (old, new) in enumerate(zip(*streams, strict=True), given.first):
        came = "differ" if old != new else "refused by both" if "refused" in new else "equal"
        counts[came] += 1
        if came == "differ":
            print(f"{number} differs (--show {number}): {old.strip()} {new.strip()}")
    print(", ".join(f"{count} {came}" for came, count in counts.items()))
    ended = [each.wait() for each in both]
    return int(counts["differ"] > 0 or any(ended) or counts.total() != given.count)


if __name__ == "__main__":
    sys.exit(main())
