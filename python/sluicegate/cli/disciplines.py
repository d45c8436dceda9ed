"""The command `disciplines`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ..quantities import did_you_mean
from .common import Json, Refusal, answers, app, print_table, print_text


@app.command(short_help="List the queue disciplines, or explain one.")
@answers
def disciplines(
    name: Annotated[str | None, typer.Argument(metavar="[DISCIPLINE]", help="Explain this discipline.")] = None,
    as_json: Json = False,
) -> None:
    """List the queue disciplines, or explain one: rule, parameters, literature, tc line."""
    from ..declarations import declarations

    known: list[dict[str, Any]] = declarations()["disciplines"]
    chosen = known if name is None else [d for d in known if d["name"] == name]
    if not chosen:
        raise Refusal(f"{name}: no such discipline{did_you_mean(str(name), [d['name'] for d in known])}")
    if as_json:
        print(json.dumps(chosen, indent=2, ensure_ascii=False))
    elif name is None:
        print_table(["name", "discipline", "source"], [[d["name"], d["title"], d["source"]] for d in known])
    else:
        explain(chosen[0])


def explain(discipline: dict[str, Any]) -> None:
    """Print a discipline's rule, parameters, sources, drops and tc line."""
    print(f"{discipline['title']} ({discipline['name']}; sluicegate.{discipline['class_name']})\n")
    print_text(discipline["summary"])
    print_text(f"Source: {discipline['source']}.")
    rows = [[f["name"], default_text(f), f["range"], f["doc"], f["source"]] for f in discipline["fields"]]
    print_table(["parameter", "default", "range", "meaning", "source"], rows)
    print(f"\ndrop reasons: {', '.join(discipline['drop_reasons'])}")
    words = f" ({discipline['remembers']})" if discipline["remembers"] else ""
    print(f"state about flows: {discipline['memory']}{words}")
    under = f"; under overload it {discipline['overload']}: {discipline['overload_rule']}"
    print(f"marks (ECN): {discipline['marks']}{under if discipline['overload'] else ''}")
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
    if isinstance(field["default"], str):
        return field["default"]  # a size or a time has its unit
    value = json.dumps(field["default"])
    return f"{value} {field['unit']}" if field["unit"] not in ("", "1") else value
