"""What `sluicegate disciplines NAME` prints: rule, parameters, sources, tc line."""

from __future__ import annotations

import json
from typing import Any

from .common import print_table, print_text


def explain(discipline: dict[str, Any]) -> None:
    print(f"{discipline['title']} ({discipline['name']}; sluicegate.{discipline['class_name']})\n")
    print_text(discipline["summary"])
    print_text(f"Source: {discipline['source']}.")
    rows = [[f["name"], default_text(f), f["range"], f["doc"], f["source"]] for f in discipline["fields"]]
    print_table(["parameter", "default", "range", "meaning", "source"], rows)
    print(f"\nlosses: {', '.join(discipline['causes'])}")
    for rule in discipline["rules"]:
        print(f"rule: {rule}")
    if discipline["tc"]:
        print(f"tc: {discipline['tc']}")
    if discipline["deviations"]:
        print()
        print_table(["what the paper says", "what we do", "why"], discipline["deviations"])


def default_text(field: dict[str, Any]) -> str:
    """What holds when a field is left out, with its unit."""
    if field["required"]:
        return "required"
    if field["default"] is None:
        return str(field["derived"] or "none")
    value = field["default"] if isinstance(field["default"], str) else json.dumps(field["default"])
    return f"{value} {field['unit']}" if field["unit"] not in ("", "1") else value
