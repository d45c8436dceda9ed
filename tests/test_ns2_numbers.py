"""What `make ns2` would record is what is recorded: every table, case and seed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent / "ns2"


def test_the_recorded_numbers_are_those_of_the_cases() -> None:
    tables = tomllib.loads((FOLDER / "cases.toml").read_text("utf-8"))
    assert {path.stem for path in FOLDER.glob("*.json")} == set(tables)
    for name, table in tables.items():
        numbers = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        assert numbers["columns"] == table["columns"], name
        assert list(numbers["cases"]) == table["cases"], name
        assert {len(rows) for rows in numbers["cases"].values()} == {table["seeds"]}, name
        assert (FOLDER / table.get("script", f"{name}.tcl")).exists(), name
