"""Count lines of code and of tests, and what the tests cover, by crate and by Python package, for CONTRIBUTING.md.

    python tools/lines.py [--measure rust] [--measure python]

Without arguments lines are counted, and coverage is what was measured last, in tools/coverage.json. `rust` measures
what the tests in Rust cover (with rustup's component llvm-tools), `python` what those in Python do (with Coverage.py).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
KEPT = ROOT / "tools/coverage.json"
TABLE = re.compile(r"(?<=<!-- lines: begin -->\n).*(?=<!-- lines: end -->)", re.DOTALL)
TARGET = ROOT / "target/coverage"

Covered = dict[str, tuple[int, int]]
"""By crate or package: lines that tests reach, and lines that can be reached."""


def lines(files: Iterable[Path]) -> tuple[int, int]:
    """Lines that are not blank: of code, and of tests, which in Rust may stand at the end of a file."""
    code = tests = 0
    for file in files:
        given = [line.strip() for line in file.read_text("utf-8").splitlines() if line.strip()]
        modules = [at for at, two in enumerate(pairwise(given)) if two == ("#[cfg(test)]", "mod tests {")]
        first = min(modules, default=len(given))
        if file.name == "tests.rs" or "tests" in file.relative_to(ROOT).parts:
            first = 0
        code, tests = code + first, tests + len(given) - first
    return code, tests


def measured_rust() -> Covered:
    """What the tests in Rust reach of each crate; code that only Python's tests run counts as not reached."""
    root = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    tools = next(Path(root).glob("lib/rustlib/*/bin/llvm-cov"), None)
    if tools is None:
        sys.exit("llvm-cov is missing\n fix: rustup component add llvm-tools")
    profiles, data = TARGET / "profiles", TARGET / "all.profdata"
    flags = {"RUSTFLAGS": "-C instrument-coverage", "CARGO_TARGET_DIR": str(TARGET)}
    environment = os.environ | flags | {"LLVM_PROFILE_FILE": str(profiles / "%p-%m.profraw")}
    command = ["cargo", "test", "--profile", "tests", "--locked", "--workspace", "--tests"]
    told = subprocess.run(
        [*command, "--no-run", "--message-format=json"], cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True
    )
    messages = [json.loads(line) for line in told.stdout.splitlines()]
    programs = [each["executable"] for each in messages if each.get("executable") and each["profile"]["test"]]
    shutil.rmtree(profiles, ignore_errors=True)  # what building has run is instrumented, too
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
    raw = map(str, profiles.glob("*.profraw"))
    subprocess.run([tools.with_name("llvm-profdata"), "merge", "--sparse", *raw, "-o", data], check=True)
    objects = [part for program in programs for part in ("--object", program)]
    export = [tools, "export", "--summary-only", "--instr-profile", data, *objects]
    [found] = json.loads(subprocess.run(export, stdout=subprocess.PIPE, check=True).stdout)["data"]
    return _summed(
        (parts[1], each["summary"]["lines"]["covered"], each["summary"]["lines"]["count"])
        for each in found["files"]
        if Path(each["filename"]).is_relative_to(ROOT / "crates")
        and (parts := Path(each["filename"]).relative_to(ROOT).parts)[2] == "src"
        and parts[-1] != "tests.rs"
    )


def measured_python() -> Covered:
    """What the tests in Python reach of each package, processes of their own included."""
    TARGET.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"COVERAGE_FILE": str(TARGET / "python")}
    program = [sys.executable, "-m", "coverage"]
    spread = ["--numprocesses", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]
    tests = ["-m", "pytest", "-q", "-m", "not full", *spread]
    subprocess.run([*program, "run", *tests], cwd=ROOT, env=environment, check=False)
    subprocess.run([*program, "combine", "--quiet"], cwd=ROOT, env=environment, check=True)
    said = subprocess.run([*program, "json", "-o", "-", "-q"], cwd=ROOT, env=environment, stdout=subprocess.PIPE)
    return _summed(
        (package_of(Path(file)), each["summary"]["covered_lines"], each["summary"]["num_statements"])
        for file, each in json.loads(said.stdout)["files"].items()
    )


def package_of(file: Path) -> str:
    """The package below `sluicegate` that a file belongs to; "." for a module that belongs to none."""
    inner = file.parts[file.parts.index("sluicegate") + 1 :]
    return inner[0] if len(inner) > 1 else "."


def _summed(found: Iterable[tuple[str, int, int]]) -> Covered:
    sums: dict[str, list[int]] = {}
    for name, covered, count in found:
        each = sums.setdefault(name, [0, 0])
        each[0], each[1] = each[0] + covered, each[1] + count
    return {name: (covered, count) for name, (covered, count) in sorted(sums.items())}


def share(covered: Mapping[str, Any], name: str) -> str:
    """A part in percent; a dash where nothing was measured."""
    reached, count = covered.get(name, (0, 0))
    return f"{100 * reached / count:.0f} %" if count else "–"


def table(coverage: Mapping[str, Mapping[str, Any]]) -> str:
    rows, sums = [], Counter[str]()
    for crate in sorted(path for path in ROOT.glob("crates/*") if path.is_dir()):
        code, tests = lines(file for part in ("src", "tests") for file in crate.glob(f"{part}/**/*.rs"))
        sums.update({"code": code, "tests": tests})
        rows.append((f"`crates/{crate.name}`", f"{code:,}", f"{tests:,}", share(coverage.get("rust", {}), crate.name)))
    packages: dict[str, list[Path]] = {}
    for file in sorted(ROOT.glob("python/sluicegate/**/*.py")):
        packages.setdefault(package_of(file), []).append(file)
    for package, files in sorted(packages.items()):
        code, _ = lines(files)
        sums.update({"code": code})
        name = "`python/sluicegate`, its modules" if package == "." else f"`python/sluicegate/{package}`"
        rows.append((name, f"{code:,}", "", share(coverage.get("python", {}), package)))
    for folder, files in (("web/src", "*.ts"), ("bpf", "*.[ch]")):
        code, _ = lines(ROOT.glob(f"{folder}/{files}"))
        sums.update({"code": code})
        rows.append((f"`{folder}`", f"{code:,}", "", ""))
    _, tests = lines(ROOT.glob("tests/**/*.py"))
    sums.update({"tests": tests})
    rows += [("`tests`", "", f"{tests:,}", ""), ("all", f"{sums['code']:,}", f"{sums['tests']:,}", "")]
    head = ["| where | lines of code | lines of tests | covered |", "|---|---:|---:|---:|"]
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    told = f"Counted at commit {commit.strip()}, or with changes on top of it."
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows), "", told]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measures = {"rust": measured_rust, "python": measured_python}
    parser.add_argument("--measure", action="append", choices=measures, default=[], help="measure what tests cover")
    coverage = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else {}
    for language in parser.parse_args().measure:
        coverage[language] = measures[language]()
        KEPT.write_text(json.dumps(coverage, indent=2, sort_keys=True) + "\n", "utf-8")
    page = PAGE.read_text("utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(coverage), page), "utf-8")


if __name__ == "__main__":
    main()
