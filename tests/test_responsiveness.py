"""Round trips a minute and latency under load: by hand, where they are known, and where commands print them."""

from __future__ import annotations

import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.responsiveness import Responsiveness, responsiveness

LINE = """\
[network]
rate = "100 Mbit/s"
delay = "10 ms"
[network.reverse]
rate = "10 Mbit/s"
[[flows]]
name = "load"
kind = "tcp"
[[flows]]
name = "call"
kind = "udp"
rate = "1 Mbit/s"
packet_size = "1250 B"
direction = "reverse"
[run]
duration = "6 s"
warmup = "2 s"
"""


def test_by_hand() -> None:
    """20 ms without load. The load waits for 30 ms, a call for 40 ms on the other way, after 1 ms on the wire."""
    delays = {"load": 10e6 + 1500 * 8 / 100e6 * 1e9 + 30e6, "call": 10e6 + 1e6 + 40e6}
    found = responsiveness(sg.check(LINE), delays, {"load": 9e7, "call": 1e6}, {"bottleneck": 5e6, "reverse": 60e6})
    assert found is not None
    assert found.idle == pytest.approx(60 / 0.020)
    assert found.increase_ns == pytest.approx(40e6 + 5e6), "of the download no call tells: what its queue holds"
    beside, loaded = 0.020 + 0.045, 0.020 + 0.030 + 0.040
    assert found.loaded == pytest.approx((60 / beside + 60 / loaded) / 2)
    assert found.grade == "B"


@pytest.mark.parametrize(("ms", "grade"), [(4.9, "A+"), (5, "A"), (59, "B"), (199, "C"), (399, "D"), (400, "F")])
def test_grades(ms: float, grade: str) -> None:
    assert Responsiveness(1, 1, ms * 1e6).grade == grade


def test_it_is_known_of_two_way_lines_under_load_alone() -> None:
    one = LINE.replace('[network.reverse]\nrate = "10 Mbit/s"\n', "").replace('direction = "reverse"\n', "")
    assert responsiveness(sg.check(one), {}, {}, {}) is None
    assert responsiveness(sg.check(LINE), {}, {}, {}) is None, "nothing was delivered"


def test_run_compare_and_recommend_print_it_with_its_scale(sluicegate: Program) -> None:
    text = sluicegate("run", "cable", "--set", "run.duration=12 s").stdout
    assert "\nresponsiveness: " in text
    assert " round trips a minute without load, " in text
    assert "\ngrades: A+ below 5 ms, A below 30 ms, " in text
    short = ["--disciplines", "drop_tail,cake", "--seeds", "1", "--set", "run.duration=12 s"]
    for command in ("compare", "recommend"):
        lines = sluicegate(command, "cable", *short).stdout.splitlines()
        at = lines.index("responsiveness:")
        plain, cake = lines[at + 1 : at + 3]
        assert (plain.split()[0], cake.split()[0]) == ("drop_tail", "cake")
        assert int(plain.partition("load, ")[2].split()[0]) < int(cake.partition("load, ")[2].split()[0])
    assert "responsiveness" not in sluicegate("run", "unresponsive", "--set", "run.duration=3 s").stdout
