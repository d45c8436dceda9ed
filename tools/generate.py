"""Write what follows from the declarations in the Rust crates.

The declarations (disciplines, sources, network, run, result tables) come as JSON from the example
`declarations` of crates/lab. From them this writes

- python/sluicegate/_generated.py, the typed classes, and __init__.py, which names them,
- docs/reference/*.md, the reference pages; names in other programs come from tools/names.toml,
- the tables of docs/performance.md, from docs/bench.json,
- docs/scenario.schema.json, for editors.

`--check` writes nothing; it names every file that is missing or stale and exits 1.
"""

import argparse
import json
import re
import subprocess
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2

import measured_code

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("disciplines", "sources", "hosts", "network", "results-columns", "names")
FIX = "run `make generate` and commit what it wrote"

Declaration = dict[str, Any]


def read_declarations(source: str | None) -> Declaration:
    """The declarations from a file, from standard input (`-`), or (None) from the Rust example."""
    if source is None:
        command = "cargo run --release --locked --quiet -p sluicegate-lab --example declarations"
        text = subprocess.run(command.split(), cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    else:
        text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8")
    declarations: Declaration = json.loads(text)
    return declarations


# --- Python ------------------------------------------------------------------------------------

PYTHON_TYPES = {
    "number": "float",
    "integer": "int",
    "switch": "bool",
    "time": "str",
    "rate": "str",
    "size": "int | str",
    "text": "str",
    "texts": "Sequence[str]",
    "times": "Sequence[str]",
}


def python_name(field: Declaration) -> str:
    """The attribute's name: the declared one, with an underscore after a Python keyword."""
    name: str = field["name"]
    return f"{name}_" if name in ("from", "in", "class", "global", "lambda") else name


def python_type(field: Declaration) -> str:
    if field["name"] == "ends":
        kind = "EndsFactory | str"
    elif field["kind"] == "choice":
        kind = f"Literal[{', '.join(json.dumps(choice) for choice in field['choices'])}]"
    else:
        kind = "str" if in_bytes(field) else PYTHON_TYPES[field["kind"]]
    return kind if has_value(field) else f"{kind} | None"


def in_bytes(field: Declaration) -> bool:
    """Whether it is a size that cannot be a number, which would count packets."""
    return bool(field["kind"] == "size" and field["unit"] == "B")


def has_value(field: Declaration) -> bool:
    """Whether the field always has a value of its own: given, or by a plain default."""
    return field["required"] or field["default"] is not None


def python_fields(fields: list[Declaration]) -> list[Declaration]:
    """The fields in the order of the class: positional ones first, then those without a default."""
    return [f for f in fields if f["positional"]] + sorted(
        (f for f in fields if not f["positional"]), key=lambda f: not f["required"]
    )


def shared_fields(declarations: Declaration) -> list[Declaration]:
    """The classes that others extend, each with the keywords that all of these declare alike."""
    sources = declarations["sources"]
    hosts = [source for source in sources if any(field["name"] == "algorithm" for field in source["fields"])]
    bases: list[Declaration] = []
    for name, base, summary, those in (
        ("Wired", "Declared", "What a link has, be it of a dumbbell.", [declarations["link"], declarations["network"]]),
        ("Flows", "Declared", "What every group of flows has.", sources),
        ("Hosts", "Flows", "What groups of flows over TCP have.", hosts),
    ):
        before = [field for each in bases if each["class_name"] == base for field in each["fields"]]
        fields = [
            field
            for field in those[0]["fields"]
            if not field["positional"] and field not in before and all(field in each["fields"] for each in those)
        ]
        of = [each["name"] for each in those]
        bases.append({"class_name": name, "base": base, "summary": summary, "fields": fields, "of": of})
    return bases


def without_shared(thing: Declaration, bases: list[Declaration]) -> Declaration:
    """What is declared, with the class that it extends and without the fields that are in that."""
    its = [base for base in bases if thing["name"] in base["of"]]
    shared = [field for base in its for field in base["fields"]]
    fields = [field for field in thing["fields"] if field not in shared]
    return thing | {"fields": fields, "base": its[-1]["class_name"]}


def paragraph(text: str, indent: int, hanging: int = 0) -> str:
    """Text wrapped for a docstring; `indent` spaces before each line but the first."""
    return textwrap.fill(
        " ".join(text.split()),
        width=118 - hanging,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    ).lstrip()


# --- pages -------------------------------------------------------------------------------------


def cell(text: object) -> str:
    """Text as one cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def default_text(field: Declaration) -> str:
    """What holds when the field is left out."""
    if field["required"]:
        return "required"
    if field["derived"]:
        return str(field["derived"])
    if field["default"] is None:
        return "none"
    return json.dumps(field["default"], ensure_ascii=False).strip('"')


def setting_text(value: object) -> str:
    """A value of a host profile as a scenario writes it."""
    return json.dumps(value) if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def unit_text(field: Declaration) -> str:
    """Unit of the field, or what kind of value it takes."""
    if field["kind"] == "choice":
        return " or ".join(f"`{choice}`" for choice in field["choices"])
    if field["unit"] == "1":
        return "ratio"
    kinds = {"switch": "true or false", "texts": "list of names", "times": "list of times", "integer": "whole number"}
    return field["unit"] or kinds.get(field["kind"], field["kind"])


# --- JSON Schema -------------------------------------------------------------------------------

BOUNDS = {"above": "exclusiveMinimum", "at least": "minimum", "below": "exclusiveMaximum", "at most": "maximum"}
JSON_TYPES = {
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "switch": {"type": "boolean"},
    "choice": {"type": "string"},
    "time": {"type": "string"},
    "rate": {"type": "string"},
    "size": {"type": ["integer", "string"]},
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "times": {"type": "array", "items": {"type": "string"}},
}


def json_bounds(field: Declaration) -> Declaration:
    """The range of a plain number ("above 0 and at most 1") as keywords of JSON Schema."""
    if field["kind"] not in ("number", "integer", "size") or in_bytes(field):
        return {}
    least = {} if field["kind"] == "number" else {"minimum": 0}
    bounds = re.findall(rf"({'|'.join(BOUNDS)}) ([0-9.eE+-]+)", field["range"])
    return least | {BOUNDS[words]: json.loads(number) for words, number in bounds}


NUMBER = r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def json_pattern(field: Declaration) -> Declaration:
    """How a time, a rate or a size is written, as a keyword of JSON Schema."""
    if not field["units"]:
        return {}
    quantity = rf"{NUMBER}\s*({'|'.join(map(re.escape, field['units']))})"
    if field["kind"] == "size" and not in_bytes(field):
        quantity = rf"(\+?[0-9]+\s*(packets?)?|{quantity})"
    return {"pattern": rf"^\s*{quantity}\s*$"}


def json_field(field: Declaration) -> Declaration:
    described = [field["doc"]]
    if field["unit"]:
        described.append(f"Unit: {field['unit']}.")
    if field["range"]:
        described.append(f"Range: {field['range']}.")
    if field["derived"]:
        described.append(f"Default: {field['derived']}.")
    kind = JSON_TYPES["text" if in_bytes(field) else field["kind"]]
    schema = {"description": " ".join(described)} | kind | json_bounds(field) | json_pattern(field)
    if field["choices"]:
        schema["enum"] = field["choices"]
    if field["default"] is not None:
        schema["default"] = field["default"]
    return schema


def json_table(fields: list[Declaration], **more: Declaration) -> Declaration:
    """A TOML table with these fields and no others."""
    required = [field["name"] for field in fields if field["required"]]
    return {
        "type": "object",
        "properties": more | {field["name"]: json_field(field) for field in fields},
        "additionalProperties": False,
    } | ({"required": required} if required else {})


def json_queue(disciplines: list[Declaration], beside: list[Declaration]) -> Declaration:
    """[queue]: the discipline's name, keys of any discipline, and a table for each discipline.

    `beside`: the fields of a class, for an entry of [[queue.classes]].
    """
    shared: dict[str, dict[str, Declaration]] = {}
    for discipline in disciplines:
        for field in discipline["fields"]:
            without_default = json.dumps(json_field(field | {"default": None}))
            place = {"$ref": f"#/$defs/{discipline['name']}/properties/{field['name']}"}
            shared.setdefault(field["name"], {}).setdefault(without_default, place)
    keys = {name: next(iter(found.values())) if len(found) == 1 else {"anyOf": [*found.values()]}
            for name, found in shared.items()}  # fmt: skip
    names = {
        "description": "The rule of the queue; path.py:Class for one written in Python.",
        "anyOf": [{"enum": [d["name"] for d in disciplines]}, {"type": "string", "pattern": r"\.py:\w+$"}],
    }
    python = json_python("Keywords for the discipline that path.py:Class names.")
    classes = {"$ref": "#/$defs/classes"}
    tables = {d["name"]: {"$ref": f"#/$defs/{d['name']}"} for d in disciplines}
    own = {field["name"]: json_field(field) for field in beside}
    return {
        "type": "object",
        "properties": {"discipline": names} | keys | tables | {"python": python, "classes": classes} | own,
        "additionalProperties": False,
    }


def json_discipline(discipline: Declaration) -> Declaration:
    """[queue.NAME]: the values of a discipline."""
    classes = {"classes": {"$ref": "#/$defs/classes"}} if discipline["container"] else {}
    table = json_table([field | {"required": False} for field in discipline["fields"]], **classes)
    return {"description": discipline["title"]} | table


def json_python(description: str) -> Declaration:
    """The table with values for what is written in Python."""
    plain = {"type": ["number", "string", "boolean", "array"], "items": {"type": "string"}}
    return {"description": description, "type": "object", "additionalProperties": plain}


def json_shared(schema: Declaration) -> Declaration:
    """The same schema with each property that it has more than once in `$defs`, and a `$ref` wherever it stands.

    A definition is called after its property; where properties of one name differ, later ones get a number.
    """
    counts = Counter(json.dumps(each) for each in properties(schema))
    refs: dict[str, str] = {}

    def shared(node: Any, name: str = "") -> Any:
        if isinstance(node, list):
            return [shared(each) for each in node]
        if not isinstance(node, dict):
            return node
        text = json.dumps(node)
        if not name or counts[text] < 2 or "$ref" in node:
            inner = {key: shared(value) for key, value in node.items() if key != "properties"}
            named = {key: shared(value, key) for key, value in node.get("properties", {}).items()}
            return {key: named if key == "properties" else inner[key] for key in node}
        if text not in refs:
            taken = sum(each.partition(".")[0] == name for each in defs)
            refs[text] = f"{name}.{taken + 1}" if taken else name
            defs[refs[text]] = None
            defs[refs[text]] = shared(node)
        return {"$ref": f"#/$defs/{refs[text]}"}

    defs: Declaration = dict.fromkeys(schema["$defs"])
    whole: Declaration = shared(schema)
    whole["$defs"] = defs | whole["$defs"]
    return whole


def properties(node: Any) -> Iterator[Declaration]:
    """All properties in a schema, at any depth."""
    if isinstance(node, list | dict):
        inner = node.get("properties", {}) if isinstance(node, dict) else {}
        yield from inner.values()
        for each in node.values() if isinstance(node, dict) else node:
            yield from properties(each)


def json_text(value: Any, indent: str = "") -> str:
    """JSON as a file has it: what holds no other object takes one line."""
    inner = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    if not any(isinstance(leaf, dict) for each in inner for leaf in (each if isinstance(each, list) else [each])):
        return json.dumps(value, ensure_ascii=False)
    deeper = f"{indent}  "
    names = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(inner)
    lines = [f"{deeper}{name}{json_text(each, deeper)}" for name, each in zip(names, inner, strict=True)]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return "\n".join((first, ",\n".join(lines), f"{indent}{last}"))


def json_schema(declarations: Declaration) -> Declaration:
    queue = {"$ref": "#/$defs/queue"}
    shaper = json_table(declarations["shaper"]["fields"])
    reverse = json_table(declarations["reverse"]["fields"], shaper=shaper, queue=queue)
    dumbbell = json_table(declarations["network"]["fields"], reverse=reverse, shaper=shaper)
    links = {"type": "array", "minItems": 1, "items": json_table(declarations["link"]["fields"], queue=queue)}
    flows = [json_table(source["fields"], kind={"const": source["name"]}) for source in declarations["sources"]]
    change = json_table(declarations["change"]["fields"], value={"description": "The value that it gets."})
    change["required"].append("value")
    for flow in flows:
        flow["required"] = ["kind", *flow.get("required", [])]
        if "ends" in flow["properties"]:
            flow["properties"]["python"] = json_python("Keywords for the function that path.py:function names.")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sluicegate scenario",
        "description": "For editors. The simulator itself checks more: units, and rules between values.",
        "type": "object",
        "properties": {
            "network": {
                "description": "A dumbbell, or links of its own.",
                "anyOf": [
                    dumbbell,
                    {
                        "type": "object",
                        "properties": {"links": links},
                        "required": ["links"],
                        "additionalProperties": False,
                    },
                ],
            },
            "queue": queue,
            "flows": {"type": "array", "minItems": 1, "items": {"oneOf": flows}},
            "run": json_table(declarations["run"]["fields"]),
            "changes": {"type": "array", "items": change},
        },
        "required": ["network", "flows"],
        "additionalProperties": False,
        "$defs": {
            "queue": json_queue(declarations["disciplines"], []),
            "class": json_queue(declarations["disciplines"], declarations["class"]["fields"]),
            "classes": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/class"}},
            **{each["name"]: json_discipline(each) for each in declarations["disciplines"]},
        },
    }


# --- names in other programs, hosts, performance ---------------------------------------------


def name_tables(names: Declaration, declarations: Declaration) -> list[Declaration]:
    """A table for each entry of tools/names.toml: a row for each declared parameter, with its other names.

    Raises ValueError when the file names a thing, a parameter or a column that there is not.
    """
    declared = {thing["name"]: thing for thing in declarations["disciplines"] + declarations["sources"]}
    tables = []
    for name, entry in names.items():
        thing = declared.get(name)
        if thing is None:
            raise ValueError(f"tools/names.toml: [{name}]: no such discipline or source")
        fields = {field["name"]: field for field in thing["fields"]}
        for key, row in entry["keys"].items():
            if key not in fields:
                raise ValueError(f"tools/names.toml: [{name}.keys] {key}: {name} declares no such parameter")
            if wrong := set(row) - {*entry["columns"], "note"}:
                raise ValueError(f"tools/names.toml: [{name}.keys] {key}: no such column: {', '.join(sorted(wrong))}")
        rows = []
        for key, field in fields.items():
            # What is not in the file concerns Sluicegate alone; what declares a word of tc is always listed.
            if key in entry["keys"] or field["tc"]:
                row = {"tc": field["tc"]} | entry["keys"].get(key, {})
                cells = [
                    [word.strip() for word in row.get(column, "").split(",") if word] for column in entry["columns"]
                ]
                rows.append({"key": key, "cells": cells, "note": row.get("note", "")})
        tables.append(
            {"title": thing["title"], "about": entry["about"], "columns": list(entry["columns"].values()), "rows": rows}
        )
    return tables


def settings(profiles: list[Declaration]) -> list[Declaration]:
    """Every setting of the host profiles, with its value in each."""
    names = [value["name"] for value in profiles[0]["values"]]
    values = [{value["name"]: value["value"] for value in profile["values"]} for profile in profiles]
    return [{"name": name, "values": [each.get(name, "") for each in values]} for name in names]


BLOCK = re.compile(r"(?<=<!-- bench: begin -->\n).*(?=<!-- bench: end -->)", re.DOTALL)


def performance(environment: jinja2.Environment, docs: Path) -> str:
    """docs/performance.md with the tables of docs/bench.json, and which of them are of other code."""
    page = docs.joinpath("performance.md").read_text("utf-8")
    bench = docs / "bench.json"
    measured = json.loads(bench.read_text("utf-8")) if bench.is_file() else None
    tables = environment.get_template("performance.md.j2").render(bench=measured, today=measured_code.digest())
    return BLOCK.sub(lambda _: tables, page)


# --- all of it ---------------------------------------------------------------------------------


def templates() -> jinja2.Environment:
    """The templates, and what they call."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT / "tools" / "templates"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "cell": cell,
        "default_text": default_text,
        "paragraph": paragraph,
        "python_fields": python_fields,
        "python_name": python_name,
        "python_type": python_type,
        "repr": repr,
        "setting_text": setting_text,
        "unit_text": unit_text,
        "without_shared": without_shared,
    }
    return environment


def render(declarations: Declaration) -> dict[str, str]:
    """Every generated file: its path below the root, and its text."""
    environment = templates()
    names = tomllib.loads(ROOT.joinpath("tools/names.toml").read_text("utf-8"))
    known = declarations | {
        "names": name_tables(names, declarations),
        "settings": settings(declarations["profiles"]),
        "bases": shared_fields(declarations),
    }
    files = {f"docs/reference/{page}.md": environment.get_template(f"{page}.md.j2").render(known) for page in PAGES}
    files["docs/performance.md"] = performance(environment, ROOT / "docs")
    for name in ("__init__.py", "_generated.py"):
        files[f"python/sluicegate/{name}"] = ruff_format(environment.get_template(f"{name}.j2").render(known))
    files["docs/scenario.schema.json"] = json_text(json_shared(json_schema(declarations))) + "\n"
    return files


def ruff_format(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff), "format", "--stdin-filename", "_generated.py", "-"]
    return subprocess.run(command, cwd=ROOT, input=text, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def write(files: dict[str, str], root: Path, check: bool) -> int:
    """Write the files that are missing or stale; with `check` only name them. The exit code."""
    stale = []
    for path, text in files.items():
        target = root / path
        if target.is_file() and target.read_text("utf-8") == text:
            continue
        stale.append(path)
        if not check:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
            print(f"wrote {path}")
    if check and stale:
        print(f"stale: {', '.join(stale)}\n fix: {FIX}", file=sys.stderr)
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if stale")
    parser.add_argument("--declarations", metavar="FILE", help="the JSON, or - for standard input")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder to write to or check")
    options = parser.parse_args()
    return write(render(read_declarations(options.declarations)), options.root, options.check)


if __name__ == "__main__":
    sys.exit(main())
