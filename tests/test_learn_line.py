"""The scenario of an access line that follows from measurements: which number counts, and what is not known."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import Program
from measured import PING, merged, pings, put, readings
from test_shell_packets import WHY_NOT as NO_REAL_PACKETS

import sluicegate as sg
from sluicegate.learning.line import fill, from_measurements
from sluicegate.learning.measurements import Reading, read
from sluicegate.learning.model import Direction, Learnt, Unknown
from sluicegate.learning.unknown import unknowns


def test_each_number_of_the_scenario_is_from_a_file(tmp_path: Path) -> None:
    """The slowest test counts, since a shaper above the line's rate does nothing, and the shortest round trip."""
    measured = readings(("down", 80e6, False), ("down", 78e6, False), ("up", 18e6, False), ("rtt", 19.0, False),
                        ("rtt", 23.0, False), ("queue up", 320.0, False))  # fmt: skip
    done = from_measurements(measured, access="fibre")
    resolved = sg.check(done.text)
    assert resolved["network"]["rate"] == "79970 kbit/s", "with Ethernet's framing: 1538 for 1500 bytes"
    assert resolved["network"]["delay"] == "9250 us", "half of 19 ms, less half a millisecond for grants"
    assert 'limit = "320 ms"' in done.text
    assert done.unknown == []
    assert "down: 79.97 Mbit/s, from f (said), with headers and framing" in done.text


def test_what_is_not_known_is_said_with_its_range_and_recommend_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "line.toml"
    path.write_text(from_measurements(readings(("down", 80e6, False), ("up", 18e6, False), ("up", 12e6, False))).text)
    found = {each.key: each for each in unknowns(str(path))}
    assert (found["network.reverse.rate"].low, found["network.reverse.rate"].high) == ("12.14 Mbit/s", "18.21 Mbit/s")
    assert (found["queue.drop_tail.limit"].low, found["queue.drop_tail.limit"].high) == ("20 ms", "1000 ms")
    assert found["network.delay"].why.startswith("no round trip was measured")
    assert found["network.reverse.rate"].value == "12.14 Mbit/s", "the slowest; the fastest ends the range"


def test_a_lower_bound_is_the_rate_only_where_nothing_else_is() -> None:
    """Datagrams that arrived were perhaps all that was sent."""
    up, bounds = readings(("up", 18e6, False)), readings(("down", 5e6, True), ("down", 9e6, True))
    assert "down: 9.108 Mbit/s" in from_measurements(merged(up, bounds)).text
    done = from_measurements(merged(up, bounds, readings(("down", 80e6, False))))
    assert "down: 80.96 Mbit/s" in done.text
    assert "network.rate" not in {each.key for each in done.unknown}


def test_beside_captures_the_slowest_test_counts_too() -> None:
    unknown = Unknown("network.rate", "4 Mbit/s", "1 Mbit/s", "20 Mbit/s", "packets hardly ever waited")
    learnt = Learnt(1.0, Direction(True, 1), Direction(False, 1), {}, [], unknown=[unknown])
    fill(learnt, readings(("down", 80e6, False), ("down", 60e6, False), ("up", 9e6, False)))
    assert (unknown.value, unknown.low, unknown.high) == ("60 Mbit/s", "60 Mbit/s", "80 Mbit/s")


def test_of_a_slow_line_the_buffer_alone_is_known() -> None:
    """Ten packets are its buffer; two uploads that disagree, and a lower bound, are as open as on others."""
    found = readings(("down", 9e6, True), ("up", 200e3, False), ("up", 100e3, False), ("rtt", 20.0, False))
    assert {each.key for each in from_measurements(found).unknown} == {"network.rate", "network.reverse.rate"}


def test_a_bound_above_the_usual_range_is_its_lower_end() -> None:
    rates = readings(("down", 80e6, False), ("up", 8e6, False), ("rtt", 20.0, False))
    done = from_measurements(merged(rates, readings(("queue up", 2680.0, True), ("queue down", 1200.0, True))))
    assert [(each.key, each.value, each.low, each.high) for each in done.unknown] == [
        ("queue.drop_tail.limit", "1200 ms", "1200 ms", "2400 ms"),
        ("network.reverse.buffer", "2680 ms", "2680 ms", "5360 ms"),
    ]
    assert "a lower bound; up to 5360 ms are possible" in done.text
    assert "waiting under load, up: at least 2680 ms, from f (said)" in done.said


@pytest.mark.parametrize(
    ("trips", "limit", "low"),
    [
        ([17.1, 61.6, 19.6], 250, "44 ms"),  # an idle line, and one reply that was late
        ([17.1, 400.0, 19.6, 18.0, 17.2], 250, "250 ms"),  # what one reply waited is no more than what is usual
        ([17.1, 17.3, 217.0, 300.0, 280.0, 310.0, 305.0, 18.0], 293, "293 ms"),  # a transfer in the middle of the log
    ],
)
def test_one_late_ping_is_no_load(trips: list[float], limit: int, low: str, tmp_path: Path) -> None:
    rates = readings(("down", 80e6, False), ("up", 8e6, False))
    done = from_measurements(merged(read([put(tmp_path, pings(*trips), "ping.txt")]), rates))
    unknown = {each.key: each for each in done.unknown}["queue.drop_tail.limit"]
    assert (unknown.value, unknown.low) == (f"{limit} ms", low)
    assert f'limit = "{limit} ms"' in done.text
    assert any("if the line was loaded" in each for each in done.said) is (limit == 250)


def test_a_second_idle_log_with_a_late_ping_is_no_load_either(tmp_path: Path) -> None:
    logs = [put(tmp_path, pings(17.1, 17.3, 17.2), "a.txt"), put(tmp_path, pings(17.4, 90.0, 17.6, 17.9), "b.txt")]
    [wait] = read(logs).of("queue")
    assert (wait.file, wait.alone) == ("b.txt", True)
    [wait] = read([put(tmp_path, pings(200.0), "one.txt")], idle_ms=17.0).of("queue")
    assert not wait.alone, "all of its replies waited"


def test_a_short_wait_is_no_depth_and_a_shaper_hides_the_modem() -> None:
    measured = readings(("down", 80e6, False), ("up", 18e6, False), ("rtt", 19.0, False), ("queue up", 9.0, False))
    [unknown] = from_measurements(measured).unknown
    assert "packets waited 9 ms under load" in unknown.why
    from sluicegate.learning.measurements import Shaper

    measured.readings.append(Reading("queue up", 90.0, "f", "said"))
    measured.shapers.append(Shaper("wan0", "cake", 17e6, "tc.json", "no drops"))
    [unknown] = from_measurements(measured).unknown
    assert "a shaper was working on wan0" in unknown.why


def test_of_two_measured_buffers_the_file_says_both(tmp_path: Path) -> None:
    rates = readings(("down", 80e6, False), ("up", 18e6, False), ("rtt", 20.0, False))
    done = from_measurements(merged(rates, readings(("queue down", 90.0, False), ("queue up", 260.0, False))))
    assert re.search(r'\nlimit = "90 ms" .*the download\'s rate: as measured\n', done.text)
    assert re.search(r'\nbuffer = "260 ms" .*in this direction: as measured\n', done.text)
    assert done.unknown == []
    least = from_measurements(merged(rates, readings(("queue down", 90.0, True), ("queue up", 260.0, True))))
    assert [(each.key, each.value, each.high) for each in least.unknown] == [
        ("queue.drop_tail.limit", "90 ms", "1000 ms"), ("network.reverse.buffer", "260 ms", "1000 ms"),
    ]  # fmt: skip
    bound = "a lower bound; up to 1000 ms are possible"
    assert re.search(rf'\nbuffer = "260 ms" .*in this direction: {bound}\n', least.text)
    short = from_measurements(merged(rates, readings(("queue down", 5.0, False), ("queue up", 260.0, False))))
    assert re.search(r'\nlimit = "30 ms" .*assumed, 20 ms to 1000 ms are possible\n', short.text)
    assert [(each.key, each.value) for each in short.unknown] == [("queue.drop_tail.limit", "30 ms")]
    one = from_measurements(merged(rates, readings(("queue up", 260.0, False))))
    assert "as measured for the upload; the download was not measured and gets the same" in one.text
    assert one.unknown == []


def test_logs_of_ping_are_of_a_direction_if_a_person_says_so(sluicegate: Program, tmp_path: Path) -> None:
    put(tmp_path, pings(17.1, 17.3, 23.1, 17.2, 23.0), "idle.txt")
    put(tmp_path, pings(100.0, 112.0, 119.0), "download.txt")
    put(tmp_path, pings(17.3, 270.0, 279.1, 281.1), "upload.txt")
    given = ["learn", "idle.txt", "--down", "93 Mbit/s", "--up", "18 Mbit/s"]
    both = sluicegate(*given, "--ping-down", "download.txt", "--ping-up", "upload.txt", "-o", "both.toml").stdout
    assert "waiting under load, down: at least 102 ms, from download.txt" in both
    assert "waiting under load, up: at least 264 ms, from upload.txt" in both
    mixed = sluicegate(*given, "download.txt", "upload.txt", "-o", "mixed.toml").stdout
    assert "not used, for a more precise source exists: download.txt (round trip 100 ms, waiting 102 ms)" in mixed
    one = sluicegate(*given, "--ping-down", "upload.txt", "--ping-up", "upload.txt", "-o", "one.toml").stdout
    assert "load, down: at least 264 ms, from upload.txt" in one
    assert "load, up: at least 264 ms, from upload.txt" in one
    idle = sluicegate(*given, "-o", "idle.toml").stdout
    assert "under load" not in idle.replace("ping during a transfer", "")
    assert "at least 6 ms, from idle.txt (the maximum of ping minus the minimum); idle lines wait as long" in idle
    assert "not known: queue.drop_tail.limit, 20 ms to 1000 ms: " in idle
    again = sluicegate(*given, "-o", "idle.toml")
    assert (again.returncode, again.stderr) == (2, "error: idle.toml: is there already; name another file with -o\n")
    (tmp_path / "no.json").write_text("[]")
    wrong = sluicegate(*given, "--ping-up", "no.json", "-o", "other.toml")
    assert (wrong.returncode, "no.json" in wrong.stderr) == (2, True)


def test_a_round_trip_that_no_such_line_has_is_a_file_s_fault(tmp_path: Path) -> None:
    rates = readings(("down", 80e6, False), ("up", 18e6, False))
    with pytest.raises(
        sg.ScenarioError, match=r"^lo.txt: a round trip of 0.05 ms; must be at least 3 ms, the median time that a ping"
    ):
        from_measurements(merged(read([put(tmp_path, pings(0.05, 0.06), "lo.txt")]), rates))


@pytest.mark.parametrize(
    ("down", "up", "doubt"),
    [
        (20e6, 100e6, "the upload is faster than the download, which is rare: are they swapped?"),
        (80e6, 20e3, "20 kbit/s up is little for a line of today: is its unit right?"),
        (100e9, 20e6, "100 Gbit/s down is much for a cable line: is its unit right?"),
        (20e6, 20e6, None),
        (900e6, 50e6, None),
    ],
)
def test_rates_that_a_line_hardly_has_are_doubted(down: float, up: float, doubt: str | None) -> None:
    done = from_measurements(readings(("down", down, False), ("up", up, False)))
    assert done.remarks == ([] if doubt is None else [doubt])
    assert (f"# Note: {doubt}" in done.text) is (doubt is not None)
    if up == 20e3:
        assert "assumed, ten packets: less would leave this slow line idle" in done.text
        assert "queue.drop_tail.limit" not in {each.key for each in done.unknown}


def test_the_command_takes_numbers_by_hand_and_files(sluicegate: Program, tmp_path: Path) -> None:
    put(tmp_path, PING, "ping.txt")
    done = sluicegate(
        "learn", "ping.txt", "--down", "93 Mbit/s", "--up", "18 Mbit/s", "--rtt-up", "340 ms", "-o", "l.toml"
    )
    assert done.returncode == 0, done.stderr
    assert "round trip without load: 18.2 ms, from ping.txt (the minimum of ping)" in done.stdout
    assert "waiting under load, up: 322 ms, from the 340 ms that you gave" in done.stdout
    assert sluicegate("check", "l.toml").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "name captures or results of measurements"),
        (("--down", "93 Mbit/s"), "up: no measurement has the rate of the upload"),
        (("--down", "93 MB", "--up", "1 Mbit/s"), "--down"),
        (("--down", "9 Mbit/s", "--up", "1 Mbit/s", "--rtt-up", "90 ms"), "--rtt-up: must be above a round trip"),
        (
            ("--down", "9 Mbit/s", "--up", "1 Mbit/s", "--rtt", "20 ms", "--rtt-up", "9 ms"),
            "--rtt-up = 9 ms: must be above the round trip without load, 20 ms",
        ),
        (("--down", "9 Mbit/s", "--up", "1 Mbit/s", "--check"), "--check is only for captures"),
        (("--down", "9 Mbit/s", "--up", "1 Mbit/s", "--access", "tin"), "access"),
    ],
)
def test_what_is_missing_is_said(arguments: tuple[str, ...], why: str, sluicegate: Program, tmp_path: Path) -> None:
    done = sluicegate("learn", *arguments, "-o", "l.toml")
    assert done.returncode == 2
    assert why in done.stderr
    assert not (tmp_path / "l.toml").exists()


# Real programs ------------------------------------------------------------------------------------------------------

PROGRAMS = ("iperf3", "irtt", "ping")
LACKING = ", ".join(name for name in PROGRAMS if shutil.which(name) is None)
WHY_NOT = NO_REAL_PACKETS or (LACKING and f"{LACKING} not installed")

LINE = """\
[network]
rate = "20 Mbit/s"
delay = "12 ms"
[network.reverse]
rate = "5 Mbit/s"
[queue]
discipline = "drop_tail"
limit = "200 ms"
[[flows]]
kind = "tcp"
[run]
duration = "5 s"
"""

SERVERS = "irtt server >/dev/null 2>&1 & iperf3 -s >/dev/null 2>&1"
MEASURE = """\
sleep 0.5
ping -c 10 -i 0.1 $SLUICEGATE_PEER > idle.txt
iperf3 -c $SLUICEGATE_PEER -t 8 -R -J -P 4 -C reno > down.json & ping -c 60 -i 0.1 $SLUICEGATE_PEER > loaded.txt; wait
iperf3 -c $SLUICEGATE_PEER -t 8 -J -P 4 -C reno > up.json &
irtt client -i 20ms -d 6s -o irtt.json $SLUICEGATE_PEER > irtt.txt; wait
"""


@pytest.mark.full
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_an_emulated_line_is_learnt_from_what_real_programs_measure(sluicegate: Program, tmp_path: Path) -> None:
    """Four transfers with Reno fill the buffer of 200 ms. Bounds are those of a machine that does other work, too."""
    (tmp_path / "line.toml").write_text(LINE)
    peer = f"sh -c '{SERVERS}'"
    shell = sluicegate("shell", "--link", "line.toml", "-q", "--peer", peer, "--", "sh", "-c", MEASURE)
    assert shell.returncode == 0, shell.stderr
    files = ("idle.txt", "loaded.txt", "down.json", "up.json", "irtt.json")
    measured = read([tmp_path / name for name in files])
    best = {way: max(each.value for each in measured.of(way)) / 1e6 for way in ("down", "up")}
    assert best == {"down": pytest.approx(20, rel=0.05), "up": pytest.approx(5, rel=0.05)}
    assert 24 <= min(each.value for each in measured.of("rtt")) <= 27, "two times 12 ms, and the hosts"
    waits = [each.value for way in ("queue", "queue up") for each in measured.of(way)]
    assert max(waits) == pytest.approx(200, rel=0.15)
