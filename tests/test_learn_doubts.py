"""`learn` from measurements that do not fit together: both are named, and so is what is not used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Program
from measured import iperf3, pings, put

from sluicegate.quantities import mistyped

LINE = ["--down", "93 Mbit/s", "--up", "18 Mbit/s", "--access", "vdsl"]


def upload(least_us: int) -> str:
    """A result of iperf3 to a server so far away."""
    found = iperf3([18e6] * 9)
    found["end"]["streams"][0]["sender"] |= {"min_rtt": least_us}
    return json.dumps(found)


@pytest.mark.parametrize(
    ("nearest_us", "taken", "differ"),
    [
        (80, "17.6 ms, from idle.txt", True),  # a server at home
        (4000, "4 ms, from up.json", True),
        (15000, "15 ms, from up.json", False),
    ],
)
def test_of_two_round_trips_that_differ_both_are_named_and_a_server_at_home_does_not_count(
    sluicegate: Program, tmp_path: Path, nearest_us: int, taken: str, differ: bool
) -> None:
    put(tmp_path, pings(17.6, 18.0, 17.9), "idle.txt")
    put(tmp_path, upload(nearest_us), "up.json")
    said = sluicegate("learn", "idle.txt", "up.json", *LINE, "-o", "line.toml").stdout
    assert f"round trip without load: {taken}" in said
    both = f"{nearest_us / 1e3:.4g} ms, up.json (the shortest round trip of iperf3's sender) and 17.6 ms, idle.txt"
    assert (f"warning: round trips without load differ: {both}" in said.replace("from ", "")) is differ


def test_a_round_trip_that_is_short_for_the_line_is_doubted(sluicegate: Program) -> None:
    for rtt, doubted in (("0.08 ms", True), ("2.9 ms", True), ("3.1 ms", False)):
        told = sluicegate("new", "home", *LINE, "--rtt", rtt).stderr
        assert ("is short for a DSL line: is the server outside of your home?" in told) is doubted


def test_what_was_given_and_is_not_used_has_a_line(sluicegate: Program, tmp_path: Path) -> None:
    put(tmp_path, pings(17.6, 18.0, 17.9, 17.7), "idle.txt")
    put(tmp_path, pings(17.8, 270.0, 279.1, 281.1), "upload.txt")
    said = sluicegate("learn", "idle.txt", "--rtt", "25 ms", *LINE, "-o", "one.toml").stdout
    assert "not used: the 25 ms that you gave for the round trip" in said
    assert "not used" not in sluicegate("learn", "idle.txt", *LINE, "-o", "two.toml").stdout
    said = sluicegate("learn", "upload.txt", "--ping-up", "idle.txt", *LINE, "-o", "three.toml").stdout
    assert "idle.txt was given as --ping-up, but shows no load; upload.txt does: are they swapped?" in said
    right = sluicegate("learn", "idle.txt", "--ping-up", "upload.txt", *LINE, "-o", "four.toml").stdout
    assert "shows no load" not in right
    again = sluicegate("learn", "four.toml", "-o", "five.toml")
    assert (again.returncode, "four.toml: is a scenario already" in again.stderr) == (2, True)


def test_long_times_have_no_exponent(sluicegate: Program, tmp_path: Path) -> None:
    answer = sluicegate("learn", *LINE, "--rtt", "18 s", "-o", "long.toml")
    assert "round trip without load: 18000 ms" in answer.stdout
    assert "round trip of 18 s is long for a DSL line: is its unit right?" in answer.stdout
    assert 'delay = "9000 ms"' in (tmp_path / "long.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("87 mbit/s", '"87 Mbit/s"'), ("87,5 Mbit/s", '"87.5 Mbit/s"'), ("20 MS", '"20 ms"'), ("9 kB/s", '"72 kbit/s"')],
)
def test_what_was_probably_meant_is_named(typed: str, meant: str) -> None:
    assert meant in mistyped(typed)
    assert mistyped("87 parsec") == mistyped("much") == mistyped("20 Mbit/s") == ""


def test_without_a_file_measurements_become_a_scenario_on_standard_output(sluicegate: Program, tmp_path: Path) -> None:
    """As of `new home`; captures may need files beside it."""
    printed = sluicegate("learn", *LINE, "--rtt", "1 ms")
    sluicegate("learn", *LINE, "--rtt", "1 ms", "-o", "line.toml")
    assert printed.stdout == (tmp_path / "line.toml").read_text("utf-8")
    assert printed.stderr.startswith("warning: a round trip of 1 ms is short for a DSL line")
    capture = str(Path(__file__).parent / "captures/dumbbell.pcap")
    answer = sluicegate("learn", capture)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "say where to write the scenario" in answer.stderr
