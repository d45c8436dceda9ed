"""What `make ns2` has recorded of ns-2."""

from __future__ import annotations

import json
from pathlib import Path


def recorded(name: str, case: str) -> list[dict[str, float]]:
    """The columns of each seed's run of tests/ns2/NAME.tcl for a case of cases.toml."""
    numbers = json.loads((Path(__file__).parent / "ns2" / f"{name}.json").read_text("utf-8"))
    return [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["cases"][case]]
