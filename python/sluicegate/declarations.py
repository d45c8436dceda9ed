"""What the core declares of itself: disciplines, sources, hosts, tables, reasons for drops, traces; and its commit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from . import _core


@cache
def declarations() -> dict[str, Any]:
    """All of it, read once for a process (it takes 15 ms). Nobody changes it."""
    return dict(json.loads(_core.declarations()))


@cache
def defaults(kind: str, name: str) -> dict[str, Any]:
    """The default of each key of one of the "disciplines" or "sources"; None where it depends on others."""
    fields = [field for each in declarations()[kind] if each["name"] == name for field in each["fields"]]
    return {field["name"]: field["default"] for field in fields}


def listed(values: Mapping[str, str]) -> str:
    """Parameters of a discipline with their values, for a sentence: a bare number with what it counts."""
    units = {field["name"]: field["unit"] for each in declarations()["disciplines"] for field in each["fields"]}
    counted = {key: f" {units[key]}" for key, value in values.items() if value.isdigit() and units.get(key)}
    return ", ".join(f"{key} = {value}{counted.get(key, '')}" for key, value in values.items())


def commit() -> str:
    """The commit of the working tree that runs, or that the wheel was built from; "" where it is not known."""
    package = Path(__file__).parent
    if not (package.parents[1] / ".git").exists():
        return _core.commit()
    asked = ["git", "-C", str(package), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    with suppress(OSError):
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return ""
