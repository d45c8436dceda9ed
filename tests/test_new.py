"""A scenario of one's own line from a few numbers: what is written is right, and says why."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.design.access_line import ACCESS
from sluicegate.quantities import in_base_unit

RATES = ["--down", "100 Mbit/s", "--up", "20 Mbit/s"]


@pytest.mark.parametrize("access", ACCESS)
def test_each_kind_of_line_is_a_scenario_with_reasons(access: str) -> None:
    down = None if access == "lte" else "60 Mbit/s"
    text = sg.access_line(down=down, up="8 Mbit/s", access=access)
    found = sg.check(text)
    names = {flow["name"] for flow in found["flows"]}
    assert names == {"web", "downloads", "uploads", "calls down", "calls up", "game down", "game up"}
    assert found["network"]["reverse"]["rate"] == "8 Mbit/s"
    assert in_base_unit(found["queue"]["limit"]) == in_base_unit(found["network"]["rate"]) // 32, "250 ms of it"
    for line in text.splitlines():  # a number without its reason, but for the end of the run, is folklore
        if re.search(r"= .*\d", line) and not line.startswith("duration"):
            assert "# " in line or re.match(r"count = ", line), line


def test_what_is_asked_for_is_in_the_file(sluicegate: Program, tmp_path: Path) -> None:
    more = ["--rtt", "30 ms", "--access", "dsl", "--users", "2", "--calls", "1", "--games", "0", "--uploads", "3"]
    answer = sluicegate("new", "home", *RATES, *more, "-o", "home.toml")
    assert answer.returncode == 0, answer.stderr
    assert "next: sluicegate run home.toml" in answer.stdout
    found = sg.check(tmp_path / "home.toml")
    assert {flow["name"]: flow["count"] for flow in found["flows"]} == {
        "web": 2, "downloads": 2, "uploads": 3, "calls down": 1, "calls up": 1,
    }  # fmt: skip
    assert (found["network"]["rate"], found["network"]["delay"]) == ("100 Mbit/s", "15 ms")
    assert found["network"]["cells"] == "ptm"
    again = sluicegate("new", "home", *RATES, "-o", "home.toml")
    assert (again.returncode, again.stderr) == (2, "error: home.toml: is there already; name another file with -o\n")
    assert sluicegate("new", "home", *RATES).stdout == sg.access_line(down="100 Mbit/s", up="20 Mbit/s")


def test_calls_are_voice_where_video_would_take_most_of_the_line() -> None:
    def rate(up: str) -> str:
        flows = sg.check(sg.access_line(down="16 Mbit/s", up=up, access="dsl"))["flows"]
        return next(flow["rate"] for flow in flows if flow["name"] == "calls up")

    assert (rate("1 Mbit/s"), rate("10 Mbit/s")) == ("80 kbit/s", "1500 kbit/s")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["hom"], 'hom: did you mean "home"?'),
        (["home"], '--down: say the rate of the download, such as --down "100 Mbit/s"'),
        (["home", "--access", "lte"], "--up: say the rate of the upload"),
        (["home", *RATES, "--access", "lte"], "the rate of lte varies by the trace lte; leave it out"),
        (["home", *RATES, "--access", "dls"], 'access = "dls": must be dsl, docsis, fibre, lte or satellite'),
        (["home", "--down", "100", "--up", "1 Mbit/s"], "must be a rate with its unit"),
        (["home", *RATES, "--rtt", "0 ms"], "rtt"),
        (["home", *RATES, "--users", "-1"], "users = -1: must be at least 0"),
        (
            ["home", *RATES, "--users", "0", "--calls", "0", "--games", "0", "--uploads", "0"],
            "users, calls, games and uploads are all 0: nothing would be sent; give one of them",
        ),
    ],
)
def test_mistakes_are_told_with_their_fix(sluicegate: Program, arguments: list[str], told: str) -> None:
    answer = sluicegate("new", *arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert told in answer.stderr


def test_on_a_terminal_it_asks(tmp_path: Path) -> None:
    keyboard, terminal = pty.openpty()
    command = [sys.executable, "-m", "sluicegate", "new", "home"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(terminal)
    os.write(keyboard, b"dsl\n50 Mbit/s\n10 Mbit/s\n\n3\n\n0\n\nmine.toml\n")
    printed, asked = process.communicate(timeout=60)
    os.close(keyboard)
    assert process.returncode == 0, asked
    assert asked.count(b"]:") == 9
    assert printed.strip().startswith(b"mine.toml: written")
    text = tmp_path.joinpath("mine.toml").read_text("utf-8")
    assert text == sg.access_line(down="50 Mbit/s", up="10 Mbit/s", rtt="25 ms", access="dsl", users=3, games=0)
