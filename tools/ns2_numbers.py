"""Record anew the numbers of ns-2 that tests compare with. Needs ns-2 2.35 as `ns`.

    make ns2 [NS2="NAME…"]

Runs the scripts of tests/ns2 for the cases in its cases.toml and writes NAME.json beside each; the tests read these, so
that they need no ns-2.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "ns2"


def run(script: str, case: str, seed: int, columns: int) -> list[float]:
    done = subprocess.run(["ns", script, str(seed), *case.split()], cwd=FOLDER, capture_output=True, text=True)
    row = done.stdout.split()
    if done.returncode or len(row) != columns:
        sys.exit(f"{script} {seed} {case}: {columns} numbers expected\n{done.stdout}{done.stderr}")
    return [json.loads(word) for word in row]


def record(name: str, table: dict[str, Any], pool: ThreadPoolExecutor) -> None:
    script, columns, cases = table.get("script", f"{name}.tcl"), table["columns"], table["cases"]
    seeds = range(1, table["seeds"] + 1)
    runs = {case: [pool.submit(run, script, case, seed, len(columns)) for seed in seeds] for case in cases}
    lines = [f"  {json.dumps(case)}: {json.dumps([each.result() for each in rows])}" for case, rows in runs.items()]
    text = f'{{"columns": {json.dumps(columns)}, "cases": {{\n' + ",\n".join(lines) + "\n}}\n"
    (FOLDER / f"{name}.json").write_text(text, "utf-8")
    print(f"tests/ns2/{name}.json: {len(cases)} cases, {len(seeds)} seeds", flush=True)


def main() -> None:
    tables = tomllib.loads((FOLDER / "cases.toml").read_text("utf-8"))
    names = sys.argv[1:] or list(tables)
    if unknown := sorted(set(names) - set(tables)):
        sys.exit(f"cases.toml has no {', '.join(unknown)}; it has {', '.join(tables)}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in names:
            record(name, tables[name], pool)


if __name__ == "__main__":
    main()
