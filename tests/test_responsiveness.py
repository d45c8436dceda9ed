"""Round trips a minute and latency under load: by hand, where they are known, and where commands print them."""

from __future__ import annotations

import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.traffic.responsiveness import Responsiveness, of_real_packets, responsiveness

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


def test_of_real_packets_by_hand() -> None:
    """20 ms without load. In 8 s the transfer down carried 40,000 packets of 1500 bytes, which take 0.12 ms each and
    waited for 30 ms; its acknowledgements waited for 2 ms on their way up, and nothing else went down but it."""
    network = sg.check(LINE)["network"]
    load = {"link": "down", "kind": "tcp", "throughput_bps": 7.5e6 * 8, "delivered_packets": 40_000,
            "delay_mean_ns": 10e6 + 0.12e6 + 30e6}  # fmt: skip
    acks = {"link": "up", "kind": "tcp", "throughput_bps": 1e5, "delivered_packets": 1250,
            "delay_mean_ns": 10e6 + 1e5 * 8 / 1250 / 1e7 * 1e9 + 2e6}  # fmt: skip
    silent = {"link": "down", "kind": "udp", "throughput_bps": 0.0, "delivered_packets": 0, "delay_mean_ns": None}
    found = of_real_packets(network, [load, acks, silent], {"down": 31e6, "up": 1e6}, 8.0)
    assert found is not None
    assert found.idle == pytest.approx(60 / 0.020)
    assert found.increase_ns == pytest.approx(31e6 + 2e6), "down nothing goes beside the load: what its queue holds"
    assert found.loaded == pytest.approx((60 / 0.053 + 60 / (0.020 + 0.030 + 0.002)) / 2)
    assert of_real_packets(network, [acks], {"down": 31e6, "up": 1e6}, 8.0) is None, "without load nothing is said"
    # The same where a shaper is before the line up, and what waits down is in the shaper behind the line.
    shaped = of_real_packets(
        network, [load, acks | {"link": "up_shaper"}, silent], {"down": 1e6, "down_shaper": 30e6, "up": 0.0}, 8.0
    )
    assert shaped == found
    one_way = {key: value for key, value in network.items() if key != "reverse"}
    assert of_real_packets(one_way, [load, acks], {}, 8.0) is None


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
