"""`learn` from measurements of a line: what each program's file says, and the scenario that follows."""

from __future__ import annotations

import bz2
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from test_shell_packets import WHY_NOT as NO_REAL_PACKETS

import sluicegate as sg
from sluicegate.learning.line import fill, from_measurements
from sluicegate.learning.measurements import Reading, is_measurement, read
from sluicegate.learning.model import Direction, Learnt, Unknown
from sluicegate.learning.unknown import unknowns

PING = """PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=18.2 ms
64 bytes from 192.0.2.1: icmp_seq=2 ttl=64 time=218 ms

--- 192.0.2.1 ping statistics ---
2 packets transmitted, 2 received, 0% packet loss, time 1001ms
rtt min/avg/max/mdev = 18.200/118.100/218.200/100.000 ms
"""


def iperf3(rates: list[float], reverse: int = 0, **more: Any) -> dict[str, Any]:
    """As iperf3 3.12 writes it, less what is not read."""
    sums = {"sum": {"bits_per_second": sum(rates) / len(rates)}, "sum_received": {"bits_per_second": 0.9 * rates[-1]}}
    sender = {"min_rtt": 18000, "max_rtt": 338000, "mean_rtt": 200000} if not reverse else {"min_rtt": 0, "max_rtt": 0}
    return {
        "start": {"test_start": {"protocol": "TCP", "blksize": 131072, "reverse": reverse}},
        "intervals": [{"sum": {"bits_per_second": rate, "omitted": False}} for rate in rates],
        "end": {"streams": [{"sender": sender}], **sums},
    } | more  # fmt: skip


def flent(**results: list[float | None]) -> dict[str, Any]:
    named = {name.replace("_", " "): values for name, values in results.items()}
    return {"metadata": {"NAME": "rrul"}, "version": 4, "x_values": [0.0, 1.0], "results": named, "raw_values": {}}


def put(tmp_path: Path, document: object, name: str = "file.json") -> Path:
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def values(path: Path) -> dict[str, float]:
    return {each.quantity: each.value for each in read([path]).readings}


def test_ping_tells_the_least_round_trip_and_what_the_longest_waited(tmp_path: Path) -> None:
    assert values(put(tmp_path, PING)) == {"rtt": 18.2, "queue": pytest.approx(200.0)}
    idle = (
        PING.replace("218.200", "21.000")
        .replace("218 ms", "21 ms")
        .replace("rtt min", "round-trip min")
        .replace("mdev", "stddev")
    )
    assert values(put(tmp_path, idle)) == {"rtt": 18.2}, "BSD's words; 3 ms are no queue"


BUSYBOX = """PING 192.0.2.1 (192.0.2.1): 56 data bytes
64 bytes from 192.0.2.1: seq=0 ttl=64 time=342.700 ms
64 bytes from 192.0.2.1: seq=1 ttl=64 time=399.100 ms

--- 192.0.2.1 ping statistics ---
2 packets transmitted, 2 packets received, 0% packet loss
round-trip min/avg/max = 342.700/370.900/399.100 ms
"""
WINDOWS = "\r\nPinging 192.0.2.1 with 32 bytes of data:\r\nReply from 192.0.2.1: bytes=32 time=17ms TTL=64\r\n"


@pytest.mark.parametrize(
    ("log", "least", "longest"),
    [
        (BUSYBOX, 342.7, 399.1),
        (BUSYBOX.partition("\n\n")[0][:-3], 342.7, 342.7),  # killed: the last line is cut before its unit
        (BUSYBOX.partition("\n")[2].partition("\n\n")[0], 342.7, 399.1),  # the end of a log
        ("\n".join(BUSYBOX.splitlines()[4:]), 342.7, 399.1),  # ping -q
        (WINDOWS, 17.0, 17.0),
        (WINDOWS.replace("Pinging", "Ping").replace("Reply", "Antwort").replace("time", "Zeit"), 17.0, 17.0),
        (PING.replace("18.2 ms", "18,2 ms").replace("218.200", "218,2").replace("18.200", "18,2"), 18.2, 218.2),
        (WINDOWS.replace("17ms", "17\u00a0ms"), 17.0, 17.0),
        (PING.replace("64 bytes", "[1700000000.5] 64 bytes"), 18.2, 218.2),  # -D
        (PING.replace("ttl=64 time=218 ms", "ttl=64 time=218 ms (DUP!)").partition("\n\n")[0], 18.2, 18.2),
        ("idle line\n" + PING, 18.2, 218.2),
    ],
)
def test_pings_of_every_system_whole_or_cut(log: str, least: float, longest: float, tmp_path: Path) -> None:
    found = values(put(tmp_path, log, "ping.txt"))
    assert is_measurement(tmp_path / "ping.txt")
    assert found == {"rtt": least} | ({"queue": pytest.approx(longest - least)} if longest > least else {})


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_logs_that_powershell_writes(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "ping.txt").write_text(PING, encoding)
    assert is_measurement(tmp_path / "ping.txt")
    assert values(tmp_path / "ping.txt") == {"rtt": 18.2, "queue": pytest.approx(200.0)}


def test_files_of_one_name_in_two_folders_are_two(tmp_path: Path) -> None:
    for folder, trip in (("a", 17.0), ("b", 19.0)):
        (tmp_path / folder).mkdir()
        put(tmp_path / folder, pings(trip), "ping.txt")
    logs = [tmp_path / folder / "ping.txt" for folder in "ab"]
    said = from_measurements(merged(read(logs), readings(("down", 80e6, False), ("up", 8e6, False)))).said
    assert f"not used, for a more precise source exists: {logs[1]} (round trip 19 ms)" in said


def test_a_log_under_load_waits_beyond_the_least_of_all_logs(tmp_path: Path) -> None:
    """17 ms idle and 343 to 399 ms during an upload: the modem holds 382 ms, not 56."""
    idle = put(tmp_path, "64 bytes from 192.0.2.1: seq=0 ttl=64 time=17.0 ms\n", "idle.txt")
    loaded = put(tmp_path, BUSYBOX, "upload.txt")
    [wait] = read([loaded, idle]).of("queue")
    assert (wait.value, wait.file, wait.at_least) == (pytest.approx(382.1), "upload.txt", True)
    [wait] = read([loaded], idle_ms=17.0).of("queue")
    assert wait.value == pytest.approx(382.1), "a round trip that is given counts as well"
    text = from_measurements(merged(read([idle, loaded]), readings(("down", 80e6, False), ("up", 8e6, False)))).text
    assert 'limit = "382 ms"' in text
    assert "# unknown: queue.drop_tail.limit = 382 ms, 382 ms to 1000 ms: upload.txt shows at least this; " in text


def test_one_log_does_not_tell_whether_the_line_was_idle(tmp_path: Path) -> None:
    rates = readings(("down", 80e6, False), ("up", 8e6, False))
    done = from_measurements(merged(read([put(tmp_path, BUSYBOX, "upload.txt")]), rates))
    unknown = {each.key: each for each in done.unknown}["network.delay"]
    assert (unknown.low, unknown.high) == ("10 ms", "169.85 ms"), "from the usual one of a cable line on"
    assert "does not show whether the line was idle" in unknown.why
    done = from_measurements(merged(read([put(tmp_path, PING, "ping.txt")]), rates))
    assert "network.delay" not in {each.key for each in done.unknown}, "18.2 ms are usual"
    assert any("if the line was idle; one log does not show that" in each for each in done.said)


def test_what_a_better_number_contradicts_is_not_printed(tmp_path: Path) -> None:
    """iperf3's round trips say which way packets waited; a lower bound below that says nothing."""
    rates = readings(("down", 80e6, False), ("up", 8e6, False), ("rtt", 18.0, False), ("queue up", 380.0, False))
    done = from_measurements(merged(read([put(tmp_path, BUSYBOX, "upload.txt")]), rates))
    assert 'limit = "380 ms"' in done.text
    assert [each for each in done.said if "waiting" in each] == [
        "waiting under load, up: 380 ms, from f (said)",
        "not used, for a more precise source exists: upload.txt (round trip 343 ms, waiting 56.4 ms)",
    ]
    longer = readings(("queue", 500.0, True))
    assert 'limit = "500 ms"' in from_measurements(merged(longer, rates)).text, "at least: more than that of all ways"


def test_iperf3s_direction_and_rate_of_packets(tmp_path: Path) -> None:
    """93 Mbit/s of data, 1448 of 1500 bytes; slow start, the first third of the intervals, is left out. What is sent
    from here fills a socket's buffer first, so that its receiver's number counts."""
    up = values(put(tmp_path, iperf3([1e6, 2e6, 93e6, 93e6, 94e6, 92e6])))
    assert up == {"up": pytest.approx(0.9 * 92e6 * 1500 / 1448), "rtt": 18.0, "queue up": 320.0}
    down = values(put(tmp_path, iperf3([1e6, 2e6, 93e6, 93e6, 94e6, 92e6], reverse=1)))
    assert down == {"down": pytest.approx(93e6 * 1500 / 1448)}, "the other end's sender has the round trips"


def test_iperf3_both_ways_at_once(tmp_path: Path) -> None:
    both = iperf3([10e6] * 6)
    both["start"]["test_start"] |= {"bidir": 1}
    for each in both["intervals"]:
        each["sum_bidir_reverse"] = {"bits_per_second": 40e6, "omitted": False}
    found = values(put(tmp_path, both))
    assert (found["up"], found["down"]) == (pytest.approx(9e6 * 1500 / 1448), pytest.approx(40e6 * 1500 / 1448))
    assert found["queue"] == 320.0, "which way it waited is not told"


def test_iperf3s_datagrams_are_a_lower_bound(tmp_path: Path) -> None:
    udp = iperf3([10e6] * 6)
    udp["start"]["test_start"] |= {"protocol": "UDP", "blksize": 1448}
    udp["end"]["sum"] |= {"lost_percent": 10}
    udp["end"]["streams"] = [{"udp": {}}]
    [reading] = read([put(tmp_path, udp)]).readings
    assert (reading.value, reading.at_least) == (pytest.approx(9e6 * 1476 / 1448), True)


def test_flents_middle_half_and_pings_before_and_under_load(tmp_path: Path) -> None:
    rate: list[float | None] = [None, None, 1.0, 10.0, 10.0, 10.0, 10.0, 10.0, 2.0, None]
    pings: list[float | None] = [20.0, 21.0, 100.0, 120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 30.0]
    document = flent(TCP_upload=rate, **{"Ping (ms) ICMP": pings, "Ping (ms) avg": pings})
    packed = tmp_path / "test.flent.gz"
    packed.write_bytes(gzip.compress(json.dumps(document).encode()))
    assert values(packed) == {"up": pytest.approx(10e6 * 1500 / 1448), "rtt": 20.0, "queue up": 100.0}
    packed = tmp_path / "test.flent.bz2"
    packed.write_bytes(bz2.compress(json.dumps(document).encode()))
    assert is_measurement(packed)
    assert values(packed)["rtt"] == 20.0


def test_flents_streams_are_summed_and_one_way_delays_tell_the_ways_apart(tmp_path: Path) -> None:
    document = flent(**{
        "TCP download BE": [3.0] * 8, "TCP download EF": [5.0] * 8, "TCP download BE::tcp_rtt": [9.0] * 8,
        "TCP upload": [1.0] * 8, "Ping (ms) UDP BE": [20.0, 70.0, 70.0, 70.0, 70.0, 70.0, 70.0, 70.0],
    })  # fmt: skip
    delays = [{"owd_down": 10.0, "owd_up": 10.0}, *[{"owd_down": 20.0, "owd_up": 50.0}] * 7]
    document["raw_values"] = {"Ping (ms) UDP BE": delays}
    found = values(put(tmp_path, document))
    assert found["down"] == pytest.approx(8e6 * 1500 / 1448)
    assert (found["queue"], found["queue down"], found["queue up"]) == (50.0, 10.0, 40.0)


def test_irtts_one_way_delays(tmp_path: Path) -> None:
    trips = [{"delay": {"receive": 10_000_000, "send": 10_000_000 + 1_000_000 * number}} for number in range(100)]
    document = {"version": {"irtt": "0.9.0"}, "stats": {"rtt": {"min": 20_500_000}}, "round_trips": trips}
    assert values(put(tmp_path, document)) == {"rtt": 20.5, "queue up": 95.0}


def test_tc_tells_the_shaper_and_its_drops(tmp_path: Path) -> None:
    document = [
        {"kind": "noqueue", "handle": "0:", "dev": "lo", "root": True, "options": {}},
        {"kind": "cake", "handle": "1:", "dev": "wan0", "root": True, "options": {"bandwidth": 2_250_000},
         "packets": 97, "drops": 3},
        {"kind": "fq_codel", "handle": "0:", "dev": "lan0", "root": True, "options": {"limit": 10240}},
    ]  # fmt: skip
    [cake, plain] = read([put(tmp_path, document)]).shapers
    assert (cake.device, cake.discipline, cake.rate_bps, cake.said) == (
        "wan0",
        "cake",
        18e6,
        "3 of 100 packets dropped",
    )
    assert (plain.discipline, plain.rate_bps) == ("fq_codel", None)


def test_tc_asked_for_one_interface_does_not_name_it(tmp_path: Path) -> None:
    """As iproute2 6.1 printed it: tc -s -j qdisc show dev v0."""
    printed = (
        '[{"kind":"tbf","handle":"1:","root":true,"refcnt":3,"options":{"rate":625000,"burst":3000,"lat":200000},'
        '"bytes":2042783,"packets":3345,"drops":225,"overlimits":3085,"requeues":0,"backlog":0,"qlen":0}]'
    )
    (tmp_path / "tc.json").write_text(printed)
    [found] = read([str(tmp_path / "tc.json")]).shapers
    assert (found.device, found.discipline, found.rate_bps) == ("its interface", "tbf", 5e6)
    assert found.said == "225 of 3570 packets dropped"


def test_round_trips_a_minute_are_waits(tmp_path: Path) -> None:
    apple = {"dl_throughput": 93e6, "ul_throughput": 18e6, "base_rtt": 20.0, "responsiveness": 300}
    assert values(put(tmp_path, apple)) == {
        "down": pytest.approx(93e6 * 1500 / 1448), "up": pytest.approx(18e6 * 1500 / 1448), "rtt": 20.0, "queue": 180.0,
    }  # fmt: skip
    mach = {"unloaded_latency_ms": 10, "upload": {"throughput": 48e6, "loaded_latency_ms": 206, "rpm": 433}}
    assert values(put(tmp_path, mach)) == {"rtt": 10, "up": pytest.approx(48e6 * 1500 / 1448), "queue up": 196}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"start": {}, "intervals": [], "end": {}}, 'looks like iperf3\'s, but is cut: it lacks "test_start"'),
        ({"start": {}, "intervals": [], "end": {}, "error": "refused"}, "iperf3 failed, and says: refused"),
        ({"something": 1}, "is JSON of no program that is known"),
        ("64 bytes from 192.0.2.1: time=1.2.3 ms", "1.2.3 ms: must be a number"),
        ("64 bytes from 192.0.2.1: time=1,234.5 ms", "1,234.5 ms: must be a number"),
        ("nothing", "is no capture, and no result of"),
        ("{", "is JSON that is cut or damaged, at line 1: measure again"),
        (
            "PING 192.0.2.1 (192.0.2.1): 56 data bytes\n64 bytes from 192.0.2.1: se",
            "ping got no answer, or the log is cut",
        ),
        ("Connecting to host 192.0.2.1, port 5201\n", "is iperf3's text for people: run it with -J"),
        ("qdisc noqueue 0: dev lo root refcnt 2\n", "is tc's text for people: run tc -s -j qdisc"),
        ([{"kind": "noqueue", "dev": "lo"}], "holds no measurement"),
        ({"results": {}, "x_values": [], "metadata": {}, "raw_values": {}}, "holds no measurement"),
    ],
)
def test_a_wrong_file_is_named(document: object, why: str, tmp_path: Path) -> None:
    with pytest.raises(sg.ScenarioError, match=f"file.json: {why}"):
        read([put(tmp_path, document)])


# The scenario -------------------------------------------------------------------------------------------------------


def readings(*found: tuple[str, float, bool]) -> Any:
    from sluicegate.learning.measurements import Measured

    return Measured([Reading(quantity, value, "f", "said", least) for quantity, value, least in found], [])


def merged(*found: Any) -> Any:
    from sluicegate.learning.measurements import Measured

    return Measured([each for one in found for each in one.readings], [])


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
    [unknown] = done.unknown
    assert (unknown.value, unknown.low, unknown.high) == ("2680 ms", "1200 ms", "5360 ms")
    assert "at least, 5360 ms are possible" in done.text
    assert "waiting under load, up: at least 2680 ms, from f (said)" in done.said


def pings(*trips: float) -> str:
    return "".join(f"64 bytes from 192.0.2.1: seq={at} ttl=64 time={trip} ms\n" for at, trip in enumerate(trips))


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
    """A scenario has one limit: the longer wait, and `recommend` tries the other one, too."""
    rates = readings(("down", 80e6, False), ("up", 18e6, False), ("rtt", 20.0, False))
    done = from_measurements(merged(rates, readings(("queue down", 90.0, False), ("queue up", 260.0, False))))
    assert 'limit = "260 ms"' in done.text
    assert "one limit for both directions, the longer of 90 ms down and 260 ms up" in done.text
    [unknown] = done.unknown
    assert (unknown.low, unknown.high) == ("90 ms", "260 ms")
    one = from_measurements(merged(rates, readings(("queue up", 260.0, False))))
    assert "as measured; measured up only, and taken for both directions" in one.text
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
        sg.ScenarioError, match=r"^lo.txt: a round trip of 0.05 ms; must be at least 3 ms, what pings of"
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
        (("--down", "9 Mbit/s", "--up", "1 Mbit/s", "--check"), "--check is of captures"),
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
