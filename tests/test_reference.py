"""The reference pages are fresh, name everything, and their examples do what they show."""

from __future__ import annotations

import doctest
import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import typer
from between import impossible as no_bridge
from test_shell_packets import WHY_NOT as NO_REAL_PACKETS

import sluicegate as sg
from sluicegate.cli import app

if TYPE_CHECKING:
    from between import Between

ROOT = Path(__file__).parents[1]
PAGES = ("docs/reference/python.md", "docs/reference/command-line.md")


with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(ROOT / "tools"))
    TOOL = SimpleNamespace(**runpy.run_path(str(ROOT / "tools/reference.py")))
NAMES = [name for names in TOOL.GROUPS.values() for name in names]


def reference(*arguments: str | Path, columns: int = 80) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools/reference.py", *arguments]
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": str(columns), "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)


@pytest.mark.parametrize("columns", [40, 200])
def test_the_pages_are_fresh_whatever_the_width_of_the_terminal(columns: int) -> None:
    done = reference("--check", columns=columns)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_stale_page_is_caught_and_written_anew(tmp_path: Path) -> None:
    reference("--root", tmp_path)
    with (tmp_path / PAGES[0]).open("a") as file:
        file.write("changed by hand\n")
    done = reference("--check", "--root", tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, f"stale: {PAGES[0]}")
    assert reference("--root", tmp_path).stdout == f"wrote {PAGES[0]}\n"


def docstring(name: str) -> str:
    return str((TOOL.CORE[name] if name in sg._HOMES["_core"] else getattr(sg, name)).__doc__)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_does_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    text = docstring(name)
    assert TOOL.read(text).example, "no example"
    if name in ("shell", "testbed") and NO_REAL_PACKETS:
        pytest.skip(NO_REAL_PACKETS)
    if name == "bridge":
        in_between(text, request)
        return
    test = doctest.DocTestParser().get_doctest(text, {"sg": sg}, name, None, None)
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.RealHostsWarning)  # of a busy machine
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert "".join(said) == ""


def in_between(text: str, request: pytest.FixtureRequest) -> None:
    """Run an example where there are two interfaces, called left and right."""
    if why := no_bridge():
        pytest.skip(why)
    machine: Between = request.getfixturevalue("between")
    program = "import doctest, sys, sluicegate as sg\n"
    program += "test = doctest.DocTestParser().get_doctest(sys.argv[1], {'sg': sg}, 'bridge', None, None)\n"
    program += "sys.exit(doctest.DocTestRunner().run(test).failed)"
    done = machine.start("b", sys.executable, "-W", "ignore", "-c", program, text)
    out, error = done.communicate(timeout=60)
    assert (done.returncode, out) == (0, ""), error


def declared() -> dict[str, str]:
    return {row["name"]: row["example"] for row in TOOL.python_page()["declared"]}


def test_each_declared_class_is_made_as_its_example_says_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link.cvec").write_text("SEQ 0 1 1 1\nw 16384 65535\nr 100000\n> 300\nt 50000\n< 1448\n")
    Path("probe.py").write_text(
        "class Silent:\n"
        "    receive = wake = poll_transmit = lambda self, *given: None\n"
        "    deadline = lambda self: None\n"
        "def probes():\n"
        "    return Silent(), Silent()\n"
    )
    examples = declared()
    assert len(examples) > 50
    for name, example in examples.items():
        made: Any = eval(example, {"sg": sg})
        net: Any = sg.dumbbell(rate="10 Mbit/s")
        flows: Any = [sg.Udp(rate="1 Mbit/s")]
        match made.ROLE:
            case "queue":
                net = sg.dumbbell(rate="10 Mbit/s", queue=made)
            case "class":
                net = sg.dumbbell(rate="10 Mbit/s", queue=sg.Drr(classes=[made, sg.DropTail()]))
            case "reverse" | "shaper":
                net = sg.dumbbell(rate="10 Mbit/s", **{made.ROLE: made})
            case "network":
                net = made
            case "link":
                net, flows = sg.topology(made), [sg.Udp(rate="1 Mbit/s", path=["uplink"])]
            case "flows":
                flows = [made, *flows]
        run = sg.simulate(net, flows, duration="1 s", warmup="0 s")
        assert run.links["arrivals_packets"].sum() > 0, name


def test_every_command_and_option_is_on_the_page() -> None:
    page = (ROOT / PAGES[1]).read_text("utf-8")
    sections = {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}
    waiting = [(typer.main.get_command(app), "sluicegate")]
    found = 0
    while waiting:
        command, path = waiting.pop()
        below: dict[str, Any] = getattr(command, "commands", {})
        waiting += [(each, f"{path} {name}") for name, each in below.items()]
        for parameter in () if below else command.params:
            names = ", ".join(sorted(parameter.opts, key=len)) if parameter.param_type_name == "option" else ""
            assert f"| `{names}" in sections[path], (path, parameter.name)
            found += 1
    assert found > 100
