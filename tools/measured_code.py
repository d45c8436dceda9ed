"""Which code a measurement is of: bench.json says it, and docs/performance.md whether today's is another."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What the simulator and its benchmarks are made of.
CRATES = ("base", "aqm", "port", "tcp", "netsim", "lab")


def digest() -> str:
    """Of the names and bytes of all files that the measured programs are compiled from."""
    files = [ROOT / "Cargo.lock", ROOT / "Cargo.toml"]
    for crate in CRATES:
        folder = ROOT / "crates" / crate
        files += [folder / "Cargo.toml", *folder.glob("src/**/*.rs"), *folder.glob("benches/*.rs")]
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(f"{file.relative_to(ROOT).as_posix()} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()[:12]


def commit() -> str:
    """The commit that is checked out, which may have been changed since: the digest tells."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"
