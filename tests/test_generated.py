"""Generated files are fresh, a stale one is caught, and they say what the code declares."""

from __future__ import annotations

import dataclasses
import inspect
import io
import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import SMALL

import sluicegate as sg
from sluicegate import _core
from sluicegate import scenario as api

ROOT = Path(__file__).parents[1]
DECLARATIONS: dict[str, Any] = json.loads(_core.declarations())
GENERATED = [
    "python/sluicegate/__init__.py",
    "python/sluicegate/_generated.py",
    "docs/scenario.schema.json",
    "docs/performance.md",
    *(
        f"docs/reference/{page}.md"
        for page in ("disciplines", "sources", "hosts", "network", "results-columns", "names")
    ),
]


sys.path.insert(0, str(ROOT / "tools"))
TOOL = runpy.run_path(str(ROOT / "tools/generate.py"))


def generate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """`tools/generate.py` in this process."""
    said, complained = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(complained):
        patch.setattr(sys, "argv", ["generate.py", "--declarations", "-", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.StringIO(_core.declarations()))
        code = TOOL["main"]()
    return subprocess.CompletedProcess(arguments, code, said.getvalue(), complained.getvalue())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for path in GENERATED:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_the_files_are_fresh() -> None:
    done = generate("--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("paths", [GENERATED, GENERATED[1:2]], ids=["all", "one"])
def test_what_is_stale_and_no_other_file_is_caught_and_fixed(copy: Path, paths: Sequence[str]) -> None:
    for path in paths:
        with (copy / path).open("a") as file:
            file.write("\n# changed by hand\n")
    done = generate("--check", "--root", copy)
    assert done.returncode == 1
    [stale] = [line for line in done.stderr.splitlines() if line.startswith("stale: ")]
    assert sorted(stale.removeprefix("stale: ").split(", ")) == sorted(paths)
    assert "make generate" in done.stderr
    assert sorted(generate("--root", copy).stdout.splitlines()) == [f"wrote {path}" for path in sorted(paths)]
    assert generate("--check", "--root", copy).returncode == 0


def test_a_missing_file_is_caught(copy: Path) -> None:
    (copy / GENERATED[0]).unlink()
    assert generate("--check", "--root", copy).returncode == 1


def test_the_classes_have_the_declared_fields_and_defaults() -> None:
    for declared in DECLARATIONS["disciplines"] + DECLARATIONS["sources"]:
        made = getattr(sg, declared["class_name"])
        assert (made.kind if declared in DECLARATIONS["sources"] else made.name) == declared["name"]
        assert declared["class_name"] in sg.__all__
        fields = {field.name.rstrip("_"): field for field in dataclasses.fields(made)}
        classes = {"classes"} if declared.get("container") else set()  # which are no value of a key
        explained = re.findall(r"^ {4}(\w+): ", inspect.cleandoc(made.__doc__), re.MULTILINE)
        assert set(fields) == {field["name"] for field in declared["fields"]} | classes
        for field in declared["fields"]:
            ours = fields[field["name"]]
            assert ours.kw_only is not field["positional"]
            assert ours.default == (dataclasses.MISSING if field["required"] else field["default"])
            assert explained.count(ours.name) == 1


def test_the_reference_names_every_key() -> None:
    pages = {
        page: (ROOT / f"docs/reference/{page}.md").read_text("utf-8") for page in ("disciplines", "sources", "network")
    }
    for page, things in (
        ("disciplines", DECLARATIONS["disciplines"]),
        ("sources", DECLARATIONS["sources"]),
        ("network", [DECLARATIONS["network"], DECLARATIONS["link"], DECLARATIONS["run"]]),
    ):
        for thing in things:
            for field in thing["fields"]:
                assert f"| `{field['name']}` |" in pages[page]


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    document = json.loads((ROOT / "docs/scenario.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def test_the_schema_says_each_thing_once() -> None:
    """What several tables have stands in `$defs`, and is referred to."""
    document = json.loads((ROOT / "docs/scenario.schema.json").read_text("utf-8"))
    said = [json.dumps(each) for each in TOOL["properties"](document) if "$ref" not in each]
    assert len(set(said)) == len(said)


def test_the_schema_knows_changes(schema: jsonschema.Draft202012Validator) -> None:
    change = {"time": "2 s", "key": "queue.limit", "value": 9}
    for wrong in ({}, {"value": None}, {"time": "2"}, {"when": "2 s"}):
        entry = {key: value for key, value in (change | wrong).items() if value is not None}
        document = tomllib.loads(SMALL) | {"changes": [entry]}
        assert schema.is_valid(document) == (not wrong)


@pytest.mark.parametrize("name", [*api.scenarios(), "small"])
def test_the_schema_takes_valid_scenarios(schema: jsonschema.Draft202012Validator, name: str) -> None:
    text = SMALL if name == "small" else api.read_scenario(name)[0]
    schema.validate(tomllib.loads(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rate = ", "raet = "),
        ('"choke"', '"chuck"'),
        ("limit = 100", "limit = true"),
        ("[run]", "[runs]"),
        ("wait = true", "wait = 1"),
        ('kind = "udp"', 'kind = "dup"'),
        ("[queue.red]", "[queue.red]\nw_q = 2"),
        ("limit = 100", "limit = -1"),
        ("limit = 100", 'limit = "-1 kB"'),
        ("limit = 100", 'limit = "4 apples"'),
        ("window = 20", "window = 0"),
        ('delay = "1 ms"', 'delay = "1 xs"'),
        ('delay = "1 ms"', 'delay = "1"'),
        ('delay = "1 ms"', 'delay = "-1 ms"'),
        ('rate = "2 Mbit/s"', 'rate = "2 Mb"'),
        ('rate = "2 Mbit/s"', 'rate = "2 Mbit/s"\npacket_size = 500'),
        ('rate = "2 Mbit/s"', 'rate = "2 Mbit/s"\npacket_size = "2 packets"'),
    ],
)
def test_the_schema_refuses_what_the_core_refuses(schema: jsonschema.Draft202012Validator, old: str, new: str) -> None:
    wrong = SMALL.replace(old, new, 1)
    assert wrong != SMALL
    assert not schema.is_valid(tomllib.loads(wrong))
    with pytest.raises(sg.ScenarioError):
        _core.Scenario(wrong, "small.toml", [])


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("delay", ["1ms", " 2 us ", "3 µs", "1.5 s", ".5 s", "1. s", "1e-3 s", "+1 min", "0 h", "10 ns"]),
        ("rate", ["1 Mbit/s", "2.5Mbps", "1e3 kbit/s", "7 bps"]),
        ("limit", [40, "40", "40 packets", "64 kB", "70.5 KiB", "90000B"]),
    ],
)
def test_the_schema_takes_quantities_as_the_core_does(
    schema: jsonschema.Draft202012Validator, key: str, values: list[object]
) -> None:
    for value in values:
        text = re.sub(rf"^{key} = .*$", f"{key} = {json.dumps(value, ensure_ascii=False)}", SMALL, count=1, flags=re.M)
        schema.validate(tomllib.loads(text))
        _core.Scenario(text, "small.toml", [])
