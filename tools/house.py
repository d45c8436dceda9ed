"""Draw the house in CONTRIBUTING.md: which crate and which Python package uses which.

An arrow is left out where a longer way says the same. `--check` writes nothing; it exits 1 when the drawing is stale.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
DRAWING = re.compile(r"(?<=<!-- house: begin -->\n).*(?=<!-- house: end -->)", re.DOTALL)

PREFIX = "sluicegate-"

Arrows = dict[str, set[str]]
"""Each room, and those that it uses."""


def crates() -> Arrows:
    """The crates of the workspace, without the prefix of their names; what only tests use does not count."""
    found: Arrows = {}
    for file in sorted(ROOT.glob("crates/*/Cargo.toml")):
        manifest = tomllib.loads(file.read_text("utf-8"))
        tables = [manifest, *manifest.get("target", {}).values()]
        used = {name for table in tables for name in table.get("dependencies", {}) if name.startswith(PREFIX)}
        found[manifest["package"]["name"].removeprefix(PREFIX)] = {name.removeprefix(PREFIX) for name in used}
    return found


def packages() -> Arrows:
    """The modules and packages of `sluicegate`; the package itself, which stands for the core, is none."""
    graph = grimp.build_graph("sluicegate", cache_dir=None)
    found: Arrows = {name.removeprefix("sluicegate."): set() for name in graph.find_children("sluicegate")}
    found.pop("_core", None)
    for module in graph.modules:
        for used in graph.find_modules_directly_imported_by(module):
            here, there = (each.split(".")[1] if "." in each else "" for each in (module, used))
            if here != there and here in found and there in found:
                found[here].add(there)
    return found


def least(arrows: Arrows) -> list[tuple[str, str]]:
    """The arrows that no longer way stands for."""

    def reached(room: str) -> set[str]:
        return arrows[room].union(*map(reached, arrows[room]))

    return [
        (room, used)
        for room in sorted(arrows)
        for used in sorted(arrows[room])
        if not any(used in reached(other) for other in arrows[room])
    ]


def flowchart(arrows: Arrows) -> str:
    lines = [f"    {room} --> {used}" for room, used in least(arrows)]
    joined = {room for pair in least(arrows) for room in pair}
    lines += [f"    {room}" for room in sorted(arrows.keys() - joined)]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def drawing() -> str:
    return f"Crates:\n\n{flowchart(crates())}\n\nPython:\n\n{flowchart(packages())}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if stale")
    check = parser.parse_args().check
    page = PAGE.read_text("utf-8")
    drawn = DRAWING.sub(lambda _: drawing(), page)
    if drawn == page:
        return 0
    if check:
        print("stale: the drawing of the house in CONTRIBUTING.md\n fix: run `make generate`", file=sys.stderr)
        return 1
    PAGE.write_text(drawn, "utf-8")
    print("wrote CONTRIBUTING.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
