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
from sluicegate.learning.line import MEASURED
from sluicegate.learning.unknown import unknowns
from sluicegate.quantities import in_base_unit

STATED = {"down": MEASURED, "up": MEASURED}
RATES = ["--down", "100 Mbit/s", "--up", "20 Mbit/s"]


@pytest.mark.parametrize("access", ACCESS)
def test_each_kind_of_line_is_a_scenario_with_reasons(access: str) -> None:
    text = sg.access_line(down="60 Mbit/s", up="8 Mbit/s", access=access)
    found = sg.check(text)
    names = {flow["name"] for flow in found["flows"]}
    assert names == {"web", "downloads", "uploads", "calls down", "calls up", "game down", "game up"}
    assert (found["network"]["rate"], found["network"]["reverse"]["rate"]) == ("60 Mbit/s", "8 Mbit/s")
    assert found["network"].get("trace", "") == ACCESS[access].trace
    assert "trace" not in found["network"]["reverse"]
    assert in_base_unit(found["queue"]["limit"]) == in_base_unit(found["network"]["rate"]) // 32, "250 ms of it"
    for line in text.splitlines():  # a number without its reason is folklore
        assert "# " in line or not re.search(r"= .*\d", line), line


@pytest.mark.parametrize("access", ACCESS)
def test_the_round_trip_without_load_is_the_one_that_was_measured(access: str) -> None:
    """Its median: what waits for grants has waited when it was measured, too."""
    text = sg.access_line(down="100 Mbit/s", up="20 Mbit/s", rtt="30 ms", access=access, users=0, uploads=0, calls=0)
    run = sg.run(text, sets={"run.duration": "40 s"})
    ways = {row["name"]: row["delay_p50_ns"] for row in run.groups.to_dicts()}
    # Packets take at most 0.1 ms to send, of LTE's in its slow moments longer; half of a bin is 0.4 ms.
    assert ways["game down"] + ways["game up"] == pytest.approx(30e6, abs=0.5e6)


def test_a_kind_of_line_has_its_usual_names_too_and_its_framing_fits_its_rates(sluicegate: Program) -> None:
    def made(access: str, down: str, up: str) -> tuple[str, str]:
        answer = sluicegate("new", "home", "--down", down, "--up", up, "--rtt", "20 ms", "--access", access)
        return sg.check(answer.stdout)["network"]["cells"], answer.stderr

    assert sg.access_line(up="9 Mbit/s", down="90 Mbit/s", access="dsl") == sg.access_line(
        up="9 Mbit/s", down="90 Mbit/s", access="vdsl"
    )
    assert made("vdsl", "14 Mbit/s", "0.9 Mbit/s") == ("ptm", "")
    assert made("adsl", "14 Mbit/s", "0.9 Mbit/s") == ("atm", "")
    assert made("cable", "90 Mbit/s", "9 Mbit/s") == made("docsis", "90 Mbit/s", "9 Mbit/s") == ("none", "")
    for rates in (("14 Mbit/s", "4 Mbit/s"), ("50 Mbit/s", "2 Mbit/s")):
        cells, told = made("dsl", *rates)
        assert (cells, "for an ADSL line, give --access adsl" in told) == ("ptm", True)
    assert made("dsl", "50 Mbit/s", "10 Mbit/s") == ("ptm", "")
    assert pytest.approx(16.91, abs=0.01) == 14 * 1500 / 1448 * 33 * 53 / 1500
    assert 'rate = "16.91 Mbit/s"' in sluicegate("new", "home", "--down", "14 Mbit/s", "--up", "1 Mbit/s", "--access", "adsl").stdout  # noqa: E501 # fmt: skip


def test_what_is_measured_cannot_be_less_than_grants_take() -> None:
    with pytest.raises(
        sg.ScenarioError, match=r"^rtt = 2 ms: must be at least 3 ms, the median time that a ping waits for a grant"
    ):
        sg.access_line(down="100 Mbit/s", up="20 Mbit/s", rtt="2 ms")


def test_the_rate_of_a_phone_varies_about_the_mean_that_was_measured(sluicegate: Program) -> None:
    made = sluicegate("new", "home", "--access", "lte", "--down", "30 Mbit/s", "--up", "10 Mbit/s")
    assert "31.07 Mbit/s on average down" in made.stdout, "30 of data"
    for length in ("20 s", "40 s"):
        found = sg.check(made.stdout, sets={"run.duration": length})
        assert found["network"]["rate"] == "31070 kbit/s", "a property of the trace, however long the run is"
        assert found["queue"]["limit"] == "970937 B", "250 ms of it"
    run = sg.run(made.stdout, sets={"flows": '[{kind = "udp", rate = "200 Mbit/s"}]'})
    # A trace of 60 s, measured for 60 s: all of it; but for what leaves each of its steps of 100 ms half sent.
    assert run.groups["throughput_bps"][0] == pytest.approx(31.07e6, rel=0.001)
    assert 'trace_mean = "9 Mbit/s"' in sluicegate("new", "home", "--access", "lte", "--up", "10 Mbit/s").stdout


def test_what_is_asked_for_is_in_the_file(sluicegate: Program, tmp_path: Path) -> None:
    more = ["--rtt", "30 ms", "--access", "dsl", "--users", "2", "--calls", "1", "--games", "0", "--uploads", "3"]
    answer = sluicegate("new", "home", *RATES, *more, "-o", "home.toml")
    assert answer.returncode == 0, answer.stderr
    assert "next: sluicegate run home.toml;" in answer.stdout
    assert "NAME: the router's interface to the internet; `ip route get 9.9.9.9`" in answer.stdout
    found = sg.check(tmp_path / "home.toml")
    assert {flow["name"]: flow["count"] for flow in found["flows"]} == {
        "web": 2, "downloads": 2, "uploads": 3, "calls down": 1, "calls up": 1,
    }  # fmt: skip
    assert (found["network"]["rate"], found["network"]["delay"]) == ("107300 kbit/s", "15 ms")
    assert found["network"]["cells"] == "ptm"
    again = sluicegate("new", "home", *RATES, "-o", "home.toml")
    assert (again.returncode, again.stderr) == (2, "error: home.toml: is there already; name another file with -o\n")
    printed = sluicegate("new", "home", *RATES).stdout
    assert sg.access_line(down="104.8 Mbit/s", up="20.96 Mbit/s", reasons=STATED) in printed


def test_new_home_and_learn_give_one_answer(sluicegate: Program, tmp_path: Path) -> None:
    """93 Mbit/s of data in a speed test: 1448 of 1500 bytes are data, and a cable line sends 1518 for them."""
    given = ["--down", "93 Mbit/s", "--up", "11.2 Mbit/s", "--rtt", "17 ms", "--rtt-up", "397 ms"]
    made = sluicegate("new", "home", *given).stdout
    learnt = sluicegate("learn", *given, "-o", "learnt.toml")
    assert made == (tmp_path / "learnt.toml").read_text("utf-8")
    assert "down: 97.49 Mbit/s, from the 93 Mbit/s that you gave, with headers and framing" in learnt.stdout
    assert pytest.approx(97.49, abs=0.01) == 93 * 1500 / 1448 * 1518 / 1500
    assert 'limit = "380 ms"' in made
    assert "# unknown" not in made


def test_what_was_not_measured_has_its_range_for_recommend(sluicegate: Program, tmp_path: Path) -> None:
    sluicegate("new", "home", *RATES, "-o", "home.toml")
    ranges = {each.key: (each.value, each.low, each.high) for each in unknowns(str(tmp_path / "home.toml"))}
    assert ranges == {
        "queue.drop_tail.limit": ("250 ms", "20 ms", "1000 ms"),
        "network.delay": ("8.5 ms", "2 ms", "50 ms"),
    }


def test_calls_are_voice_where_video_would_take_most_of_the_line() -> None:
    def rate(up: str) -> str:
        flows = sg.check(sg.access_line(down="16 Mbit/s", up=up, access="dsl"))["flows"]
        return next(flow["rate"] for flow in flows if flow["name"] == "calls up")

    assert (rate("1 Mbit/s"), rate("10 Mbit/s")) == ("80 kbit/s", "1500 kbit/s")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["hom"], 'hom: no such kind; did you mean "home"?'),
        (["home"], '--down: say the rate of the download, such as --down "100 Mbit/s"'),
        (["home", "--access", "lte"], "--up: say the rate of the upload"),
        (["home", "--down", "100 Mbit/s", "--up", "20"], "--up = 20: must be a rate with its unit"),
        (["home", *RATES, "-o", "nodir/home.toml"], "nodir/home.toml: there is no folder nodir; make it, or name"),
        (
            ["home", *RATES, "--access", "dls"],
            '--access = "dls": must be vdsl, adsl, docsis, fibre, lte, satellite, dsl or cable',
        ),
        (["home", "--down", "100", "--up", "1 Mbit/s"], "must be a rate with its unit"),
        (["home", "--down", "87", "--up", "1 Mbit/s"], 'did you mean "87 Mbit/s"?'),
        (["home", "--down", "87,5 Mbit/s", "--up", "1 Mbit/s"], 'did you mean "87.5 Mbit/s"?'),
        (["home", "--down", "87 mbit/s", "--up", "1 Mbit/s"], 'did you mean "87 Mbit/s"?'),
        (["home", "--down", "87 MB/s", "--up", "1 Mbit/s"], 'B/s are bytes: 8 times as many bits, "696 Mbit/s"'),
        (["home", *RATES, "--rtt", "18"], 'did you mean "18 ms"?'),
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


def typed(tmp_path: Path, answers: bytes) -> tuple[int, bytes, bytes]:
    """The exit code of `new home` on a terminal, what it prints and what it asks."""
    keyboard, terminal = pty.openpty()
    command = [sys.executable, "-m", "sluicegate", "new", "home"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(terminal)
    os.write(keyboard, answers)
    printed, asked = process.communicate(timeout=60)
    os.close(keyboard)
    return process.returncode, printed, asked


def test_on_a_terminal_it_asks(tmp_path: Path) -> None:
    (tmp_path / "there.toml").write_text("")
    code, printed, asked = typed(
        tmp_path, b"dls\ndsl\n50\n10 MB\n10 Mbit/s\n30\n20\n130 ms\n\n-1\n3\n\n0\n\nthere.toml\nmine.toml\n"
    )
    assert code == 0, asked
    assert asked.count(b"Error: ") == 5, "each answer is checked at once, and asked for again"
    assert asked.count(b"]:") + asked.count(b"in Mbit/s:") == 11 + 5, "rates have no default, for they are measured"
    for told in (b'dls: no such access; did you mean "dsl"?', b"10 MB", b"there.toml: is there already"):
        assert told in asked
    assert b"20: must be above the round trip without load, 30 ms" in asked
    assert b"-1: must be a number of at least 0 and at most 1000" in asked
    assert printed.strip().startswith(b"mine.toml: written")
    text = tmp_path.joinpath("mine.toml").read_text("utf-8")
    line = sg.access_line(
        down="53.66 Mbit/s", up="10.73 Mbit/s", rtt="30 ms", access="dsl", users=3, games=0, buffer_ms=100,
        reasons=STATED | {"buffer": "as measured for the upload; the download was not measured and gets the same"},
    )  # fmt: skip
    assert text.endswith(line)


def test_on_a_terminal_what_no_file_can_have_is_asked_for_again(tmp_path: Path) -> None:
    """A round trip that no cable line has, and nothing that is sent."""
    code, _, asked = typed(tmp_path, b"\n50\n10\n2\n\n0\n0\n0\n0\n1\n\n")
    assert code == 0, asked
    assert b"2: must be above the wait for a grant (docsis), 3 ms" in asked
    assert b"0: must be a number of at least 1 and at most 1000" in asked
    assert sg.check(tmp_path / "home.toml")["flows"][0]["name"] == "uploads"
