"""`learn` from measurements of a line: what each program's file says, and the scenario that follows."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from measured import PING, iperf3, merged, pings, put, readings

import sluicegate as sg
from sluicegate.learning.line import from_measurements
from sluicegate.learning.measurements import is_measurement, read


def flent(**results: list[float | None]) -> dict[str, Any]:
    named = {name.replace("_", " "): values for name, values in results.items()}
    return {"metadata": {"NAME": "rrul"}, "version": 4, "x_values": [0.0, 1.0], "results": named, "raw_values": {}}


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
