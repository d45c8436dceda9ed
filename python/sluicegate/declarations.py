"""What the core declares of itself: disciplines, sources, hosts, tables, reasons for drops, traces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from . import _core


@cache
def declarations() -> dict[str, Any]:
    """All of it, read once for a process (it takes 15 ms). Nobody changes it."""
    return dict(json.loads(_core.declarations()))


def listed(values: Mapping[str, str]) -> str:
    """Parameters of a discipline with their values, for a sentence: a bare number with what it counts."""
    units = {field["name"]: field["unit"] for each in declarations()["disciplines"] for field in each["fields"]}
    counted = {key: f" {units[key]}" for key, value in values.items() if value.isdigit() and units.get(key)}
    return ", ".join(f"{key} = {value}{counted.get(key, '')}" for key, value in values.items())
