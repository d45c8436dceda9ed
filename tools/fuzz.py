"""Fuzz what reads text and captures from outside, guided by coverage, on the stable toolchain.

libFuzzer calls the functions of fuzz/src/targets.rs with inputs that it changes to reach new code. What must hold for
every input: no crash, no overflow, no failed assertion, less than a second, and no more memory than `ADDRESS_SPACE`.

What the fuzzer finds worth keeping grows in target/fuzz/corpus; `--keep` writes the least of it that reaches the same
code into fuzz/corpus, which belongs to the repository and which `make test` runs through the same functions.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "fuzz/corpus"
BUILT = ROOT / "target/fuzz"
FOUND = ROOT / "out/fuzz"

# The longest input of each target in bytes.
TARGETS = {"scenario": 4_096, "overrides": 4_096, "pcap": 8_192, "pcapng": 8_192}

# What it begins with besides the corpus.
SEEDS = {
    "scenario": [ROOT / "python/sluicegate/scenarios", ROOT / "docs/examples"],
    "pcap": [ROOT / "tests/captures"],
}

# The longest input that is kept in the repository: what is longer mostly repeats itself.
SMALL = 512

# The address space of the whole process in MiB, as a limit of the system: an allocation beyond it fails at once, used
# or not. Runs of ten minutes stay below 50 MiB resident, most of it libFuzzer's own tables and corpus, which grow; what
# a single input makes the program hold is bounded more narrowly by crates/lab/tests/corpus.rs.
ADDRESS_SPACE = 256

# What makes the compiler count edges and show the operands of comparisons, as cargo-fuzz has it.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
]


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the readers.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"which of {', '.join(TARGETS)} [all]")
    parser.add_argument("--seconds", type=int, default=60, help="how long each target is fuzzed [60]")
    parser.add_argument("--keep", action="store_true", help="do not fuzz; write the corpus that is kept anew")
    asked = parser.parse_args()
    targets = asked.targets or list(TARGETS)
    if unknown := [target for target in targets if target not in TARGETS]:
        parser.error(f"no such target: {unknown[0]}; one of {', '.join(TARGETS)}")
    if asked.seconds < 1:
        parser.error("--seconds must be at least 1")
    programs = build()
    if asked.keep:
        for target in targets:
            keep(target, programs / target)
        return 0
    findings = [path for target in targets for path in fuzz(target, programs / target, asked.seconds)]
    for target, path in findings:
        print(f"finding: {path}\n  again: {programs / target} {path}")
    if not findings:
        print("no findings")
    return 1 if findings else 0


def build() -> Path:
    """Build the targets; where they are."""
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        sys.exit("missing: a C++ compiler, for libFuzzer\n   fix: Debian: apt-get install build-essential")
    version = subprocess.run(["rustc", "-vV"], stdout=subprocess.PIPE, check=True, text=True).stdout
    host = next(line.removeprefix("host: ") for line in version.splitlines() if line.startswith("host: "))
    # With a target named, build scripts and macros are built without counters, which only libFuzzer defines.
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target", host]
    environment = os.environ | {"CARGO_TARGET_DIR": str(BUILT), "RUSTFLAGS": " ".join(COVERAGE)}
    if subprocess.run(command, cwd=ROOT / "fuzz", env=environment).returncode:
        sys.exit(1)
    return BUILT / host / "release"


def bounded() -> None:
    """Limit the memory of the process that is about to begin. Systems other than Linux may not heed it."""
    most = ADDRESS_SPACE << 20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def options(target: str) -> list[str]:
    # The resident memory is watched too, where the limit above does nothing.
    return ["-timeout=1", f"-rss_limit_mb={ADDRESS_SPACE}", f"-max_len={TARGETS[target]}"]


def fuzz(target: str, program: Path, seconds: int) -> list[tuple[str, Path]]:
    """Fuzz one target; what was found."""
    grown = BUILT / "corpus" / target
    for folder in (grown, FOUND):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(FOUND.iterdir())
    words = BUILT / f"{target}.dict"
    words.write_text(dictionary() if target in ("scenario", "overrides") else CAPTURES, "utf-8")
    command: list[str | Path] = [
        program,
        *options(target),
        f"-max_total_time={seconds}",
        f"-dict={words}",
        "-print_final_stats=1",
    ]
    command += [f"-artifact_prefix={FOUND}/{target}-", grown, KEPT / target, *SEEDS.get(target, [])]
    log = BUILT / f"{target}.log"
    with log.open("w") as stderr:
        done = subprocess.run(command, stderr=stderr, preexec_fn=bounded)
    lines = log.read_text("utf-8", "replace").splitlines()
    counts = {name: value for name, _, value in (line.partition(": ") for line in lines) if name.startswith("stat::")}
    reached = [line.split() for line in lines if " cov: " in line]
    edges = f"{reached[-1][reached[-1].index('cov:') + 1]} edges" if reached else "no edge"
    runs = counts.get("stat::number_of_executed_units", "0").strip()
    peak = counts.get("stat::peak_rss_mb", "?").strip()
    print(f"{target}: {runs} runs, {edges}, {len(list(grown.iterdir()))} inputs kept, at most {peak} MiB resident")
    if done.returncode == 0:
        return []
    print("\n".join(line for line in lines[-60:] if not line.startswith(("#", "INFO:"))), file=sys.stderr)
    found = sorted(set(FOUND.iterdir()) - before)
    return [(target, path) for path in found] or [(target, log)]


def keep(target: str, program: Path) -> None:
    """Write the least of what is small in the grown corpus that reaches all of its edges into the one that is kept."""
    kept, grown, fresh = KEPT / target, BUILT / "corpus" / target, BUILT / "fresh" / target
    small = BUILT / "small" / target
    for folder in (fresh, small):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for path in [*kept.glob("*"), *grown.glob("*")]:
        if path.stat().st_size <= SMALL:
            shutil.copy(path, small)
    # Edges only: how often each is taken would keep ten times as much.
    edges = ["-set_cover_merge=1", "-use_counters=0"]
    subprocess.run([program, *options(target), *edges, fresh, small], stderr=subprocess.DEVNULL, check=True)
    shutil.rmtree(kept, ignore_errors=True)
    shutil.move(fresh, kept)
    files = list(kept.iterdir())
    print(f"{target}: {len(files)} inputs, {sum(path.stat().st_size for path in files)} bytes")


def dictionary() -> str:
    """Every name and word of a scenario: the fuzzer does not see inside comparisons of texts."""
    words = {"[[flows]]", "[[network.links]]", "Mbit/s", " ms", " us", " kB", " packets", "true", "false", "1e9"}

    def walk(schema: object) -> None:
        if isinstance(schema, dict):
            words.update(schema.get("properties", {}))
            words.update(word for word in [*schema.get("enum", []), schema.get("const")] if isinstance(word, str))
            for each in schema.values():
                walk(each)
        elif isinstance(schema, list):
            for each in schema:
                walk(each)

    walk(json.loads((ROOT / "docs/scenario.schema.json").read_text("utf-8")))
    return "".join(f"{json.dumps(word)}\n" for word in sorted(words) if word.isascii())


# Magic numbers and types of blocks in both orders of bytes, types of packets, tags.
CAPTURES = "".join(
    '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n'
    for numbers, size in [
        ([0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34, 0x0A0D0D0A, 0x1A2B3C4D, *range(1, 7), 101, 113, 228, 229, 276], 4),
        ([0x0800, 0x86DD, 0x8100, 0x88A8], 2),
    ]
    for number in numbers
    for word in (number.to_bytes(size, "big"), number.to_bytes(size, "little"))
)

if __name__ == "__main__":
    sys.exit(main())
