"""The fuzzer tests the versions that are shipped."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FIX = "copy Cargo.lock to fuzz/Cargo.lock, then: cd fuzz && cargo metadata"


def packages(lock: str) -> dict[str, list[dict[str, Any]]]:
    """The packages of a lock file by name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for package in tomllib.loads((ROOT / lock).read_text("utf-8"))["package"]:
        found.setdefault(package["name"], []).append(package)
    return found


def test_what_is_fuzzed_has_the_versions_of_what_is_shipped() -> None:
    shipped, fuzzed = packages("Cargo.lock"), packages("fuzz/Cargo.lock")
    needed, waiting = set(), ["sluicegate-lab"]  # and all that it depends on; not what the fuzzer needs for itself
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [each.split()[0] for package in fuzzed[name] for each in package.get("dependencies", [])]
    assert {"toml", "pcap-parser", "etherparse"} <= needed
    # A dependency that the lock does not know yet would not be walked.
    for path in (ROOT / "crates").glob("*/Cargo.toml"):
        manifest = tomllib.loads(path.read_text("utf-8"))
        name = manifest["package"]["name"]
        known = {each.split()[0] for package in fuzzed.get(name, []) for each in package.get("dependencies", [])}
        missing = set(manifest.get("dependencies", {})) - known
        assert name not in needed or not missing, f"{name} {missing}: {FIX}"
    for name in needed:
        extra = {package["version"] for package in fuzzed[name]} - {package["version"] for package in shipped[name]}
        assert not extra, f"{name} {extra}: {FIX}"
