"""Traps: what `check` and `run` warn of, one test for each."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import Program

import sluicegate as sg
from sluicegate import traps
from sluicegate.scenario import TrapWarning

SANE = """\
[network]
rate = "20 Mbit/s"
delay = "10 ms"
access_rate = "200 Mbit/s"

[queue]
discipline = "fq_codel"

[[flows]]
kind = "tcp"
count = 50

[run]
duration = "5 s"
"""
"""50 flows of CUBIC over FQ-CoDel: nothing to warn of. Each trap is a change of it."""

QUEUE = 'discipline = "fq_codel"'
FASTER = {'"20 Mbit/s"': '"100 Mbit/s"', '"200 Mbit/s"': '"1 Gbit/s"'}
GIGABIT = {'"20 Mbit/s"': '"1 Gbit/s"', '"200 Mbit/s"': '"10 Gbit/s"'}
RED = 'discipline = "red"\nmin_th = 20\nmax_th = 60\nlimit = 200'
CODEL = 'discipline = "codel"'
UDP = 'kind = "udp"\nrate = "15 Mbit/s"\naccess_rate = "10 Mbit/s"'
TCP = 'kind = "tcp"\ncount = 50'
SACK = 'kind = "tcp"\nprofile = "ns2"\nalgorithm = "sack"\npacket_size = "1500 B"\nwindow = 1000\n'

# What is replaced by what, and the beginning and parts of the one warning that follows.
TRAPS: dict[str, tuple[dict[str, str], list[str]]] = {
    "source faster than its port": (
        {TCP: UDP},
        ["flows.0 (udp", "sends 15 Mbit/s into a port of 10 Mbit/s", "without end", "access_rate to 15 Mbit/s"],
    ),
    "bursts faster than the port": (
        {TCP: UDP.replace("udp", "on_off")},
        ["flows.0 (on_off", "while it is on into a port of 10 Mbit/s", "bursts wait there"],
    ),
    "receiver's port": (
        {TCP: UDP.replace('"10 Mbit/s"', '"20 Mbit/s"'), '"200 Mbit/s"': '"10 Mbit/s"'},
        ["flows.0 (udp", "to a receiver whose port takes 10 Mbit/s", "network.access_rate to 15 Mbit/s"],
    ),
    "ECN, but the discipline drops": (
        {TCP: f"{TCP}\necn = true", QUEUE: 'discipline = "pie"'},
        ["queue.action = drop", "flows.0 (tcp) has ecn = true, but pie at bottleneck drops", "set action = mark"],
    ),
    "the same with a switch": (
        {TCP: f"{TCP}\necn = true", QUEUE: CODEL},
        ["queue.ecn = false", "codel at bottleneck drops", "set ecn = true"],
    ),
    "BBR ignores marks": (
        {TCP: 'kind = "tcp"\ncount = 50\nalgorithm = "bbr"\necn = true'},
        ["flows.0 (tcp): algorithm = bbr ignores marks", "set ecn = false"],
    ),
    "window below the product": (
        {TCP: 'kind = "tcp"\nprofile = "ns2"'},
        ["flows.0 (tcp", "window of 20 packets holds the flow at 8 Mbit/s", "share of the path is 20 Mbit/s", "50 p"],
    ),
    "window below the share": (
        {TCP: 'kind = "tcp"\nprofile = "ns2"\ncount = 2\nwindow = "4000 B"'},
        ["flows.0 (tcp", "window of 4000 B holds each flow at 1.67 Mbit/s", "10 Mbit/s", "25 packets"],
    ),
    "thresholds too high": (
        {QUEUE: RED.replace("20", "900").replace("60", "2700").replace("9000", "5000")},
        ["queue.min_th = 900 packets", "540 ms on bottleneck (20 Mbit/s)", "20 ms at most", "sluicegate design red"],
    ),
    "thresholds too low": (
        {QUEUE: 'discipline = "red"\nmin_th = 5\nmax_th = 15', "count = 50": "count = 2",
         '"10 ms"': '"50 ms"'},
        ["queue.max_th = 15 packets", "round trip of 100 ms is 167 packets", "2 TCP flows", "about 118 packets"],
    ),
    "buffer below max_th": (
        {QUEUE: RED.replace("200", "50")},
        ["queue.limit = 50 packets", "max_th = 60 packets", "set limit to twice max_th"],
    ),
    "buffer below half of the product": (
        {QUEUE: 'discipline = "drop_tail"\nlimit = 527', '"10 ms"': '"20 ms"',
         "count = 50": "count = 10", **GIGABIT, '"5 s"': '"1 s"'},
        ["queue.limit = 527 packets", "trip of 40 ms is 3333 packets", "10 TCP flows", "Raise limit to about 1055 p"],
    ),
    "buffer below half of what BBR keeps under way": (
        {QUEUE: 'discipline = "drop_tail"\nlimit = 333', '"10 ms"': '"20 ms"',
         TCP: 'kind = "tcp"\nprofile = "linux"\nalgorithm = "bbr"\ncount = 10',
         **FASTER},
        ["queue.limit = 333 packets", "333 packets: with 10 TCP flows BBR loses", "Raise limit to about 667 packets"],
    ),
    "a flow's bound below half of its product": (
        {QUEUE: 'discipline = "sfb"', **FASTER,
         '"10 ms"': '"20 ms"', "count = 50": "count = 1"},
        ["queue.bin_max = 25 packets", "333 packets", "with 1 TCP flow the", "334 packets and bin_size to four f"],
    ),
    "a class's buffer": (
        {QUEUE: 'discipline = "drr"\n[[queue.classes]]\ndiscipline = "red"\n\n[[queue.classes]]\n'
         'discipline = "drop_tail"\nlimit = 99', '"10 ms"': '"20 ms"', "count = 50": "count = 10\nclass = 1",
         **GIGABIT, '"5 s"': '"1 s"'},
        ["queue.classes.1.limit = 99 packets", "10 TCP flows", "Raise limit to about 1055 packets"],
    ),
    "the buffer of a class that is not described": (
        {QUEUE: 'discipline = "priority"', '"10 ms"': '"20 ms"', "count = 50": "count = 2",
         **GIGABIT, '"5 s"': '"1 s"'},
        ["queue.classes.0.limit = 1000 packets", "2 TCP flows", "Raise limit to about 2358 packets"],
    ),
    "DCN's target too short": (
        {QUEUE: 'discipline = "dcn"\nq_ref = 12', **FASTER, '"10 ms"': '"20 ms"', "count = 50": "count = 1"},
        ["queue.q_ref = 12 packets: little", "333 packets", "with 1 TCP flow the", "Raise q_ref to about 34 packets"],
    ),
    "ARED's target too short": (
        {QUEUE: 'discipline = "ared"', **FASTER,
         '"10 ms"': '"20 ms"', "count = 50": "count = 1"},
        ["queue.target_delay = 5 ms: little", "333 packets", "Raise target_delay to about 26.7 ms"],
    ),
    **{f"target of {name} too long": (
        {QUEUE: f'discipline = "{name}"', '"20 Mbit/s"': '"1 Mbit/s"'},
        [f"queue.{key} = {packets} packets: the queue is held there, a wait of {takes} on bottleneck (1 Mbit/s)",
         "20 ms at most", f"Set {key} to about 5 packets"],
    ) for name, key, packets, takes in (
        ("dcn", "q_ref", 24, "288 ms"), ("afd", "q_ref", 240, "2.88 s"), ("pi", "q_ref", 50, "600 ms"),
        ("rem", "b_ref", 20, "240 ms"),
    )},
    "short packets under REM": (
        {QUEUE: 'discipline = "rem"\nmax_packet = "1500 B"', "count = 50":
         'count = 50\npacket_size = "500 B"'},
        ["queue.max_packet = 1500 B", "3.0 times as many", "set mode = byte"],
    ),
    "BLUE's steps": (
        {QUEUE: 'discipline = "blue"', "count = 50": "count = 1"},
        ["queue.d1 = 0.02: a step is 15 times", "1 TCP flow with windows of 33 packets", "d1 to about 0.001 and d2 to"],
    ),
    "PI's steps": (
        {QUEUE: 'discipline = "pi"', **FASTER,
         "count = 50": "count = 1"},
        ["queue.b = 1.816e-05: a step of b·q_ref is 17 times", "windows of 167 packets", "`sluicegate design pi`"],
    ),
    "target below a packet": (
        {QUEUE: CODEL, '"20 Mbit/s"': '"1 Mbit/s"'},
        ["queue.target = 5 ms", "one packet of 1500 bytes takes 12 ms on bottleneck (1 Mbit/s)", "18 ms or more"],
    ),
    "the target of an L4S queue below a packet": (
        {QUEUE: 'discipline = "l4s_step"', '"20 Mbit/s"': '"1 Mbit/s"'},
        ["queue.target = 5 ms", "one packet of 1500 bytes takes 12 ms on bottleneck (1 Mbit/s)", "18 ms or more"],
    ),
    "PIE's target below a packet": (
        {QUEUE: 'discipline = "pie"', '"20 Mbit/s"': '"500 kbit/s"'},
        ["queue.target = 15 ms", "24 ms", "set target to 36 ms"],
    ),
    "CAKE that does not know the rate": (
        {QUEUE: 'discipline = "cake"', '"20 Mbit/s"': '"1 Mbit/s"'},
        ["queue.bandwidth: not given", "a target of 5 ms", "takes 12 ms on bottleneck (1 Mbit/s)", "target to 18 ms"],
    ),
    "interval below the round trip": (
        {QUEUE: CODEL, '"10 ms"': '"100 ms"'},
        ["queue.interval = 100 ms", "base round trips on bottleneck are 200 ms", "set interval to about 200 ms"],
    ),
    "interval of an L4S queue below the round trip": (
        {QUEUE: 'discipline = "l4s_step"', '"10 ms"': '"100 ms"'},
        ["queue.interval = 100 ms", "base round trips on bottleneck are 200 ms", "set interval to about 200 ms"],
    ),
    "interval far above the round trip": (
        {'"10 ms"': '"100 us"', **GIGABIT, '"5 s"': '"1 s"'},
        ["queue.interval = 100 ms", "only 200 us", "for 500 round trips", "set interval to about 2 ms"],
    ),
    "average bound to stand at max_th": (
        {QUEUE: RED, TCP: 'kind = "udp"\nrate = "15 Mbit/s"\ncount = 2\naccess_rate = "20 Mbit/s"'},
        ["bottleneck: ", "offer 30 Mbit/s to 20 Mbit/s", "stays at max_th = 60 packets", "set gentle = true"],
    ),
    "reordering": (
        {'delay = "10 ms"': 'delay = "10 ms"\njitter = "8 ms"\nreordering = true', TCP: SACK + "count = 4"},
        ["bottleneck: a jitter of 8 ms", "have no RACK", "below 7.2 ms, or profile = linux and"],
    ),
    "target below a packet in cells": (  # 33 cells of 53 bytes: 13992 bits; 1500 bytes alone would be 12000
        {QUEUE: CODEL + '\ntarget = "13 ms"',
         '"20 Mbit/s"': '"1 Mbit/s"\nframing = "atm"'},
        ["queue.target = 13 ms", "one packet of 1500 bytes takes 14 ms on bottleneck (1 Mbit/s)", "21 ms or more"],
    ),
    "target below a packet of the slower direction": (
        {'delay = "10 ms"': 'delay = "10 ms"\nreverse = { rate = "1 Mbit/s", delay = "20 ms" }',
         "count = 50": 'count = 50\n\n[[flows]]\nkind = "tcp"\ndirection = "reverse"'},
        ["queue.target = 5 ms", "takes 12 ms on reverse (1 Mbit/s)"],
    ),
    "thresholds too high for the mean of a trace": (
        {QUEUE: RED.replace("20", "900").replace("60", "2700").replace("9000", "5000"),
         'rate = "20 Mbit/s"\n': 'trace = "lte"\n', '"5 s"': '"60 s"'},  # a period of the trace
        ["queue.min_th = 900 packets", "1.15 s on bottleneck (9.42 Mbit/s on average)"],
    ),
    "load that only framing makes too much": (  # 5 cells for 200 bytes: 265
        {QUEUE: RED, 'rate = "20 Mbit/s"': 'rate = "20 Mbit/s"\nframing = "atm"',
         TCP: 'kind = "udp"\nrate = "16 Mbit/s"\npacket_size = "200 B"'},
        ["bottleneck: ", "offer 21.2 Mbit/s to 20 Mbit/s"],
    ),
    "wire that loses everything": (
        {'delay = "10 ms"': 'delay = "10 ms"\nloss = 1'},
        ["bottleneck: loss = 1", "nothing gets through", "set it to 0.01 for 1 %"],
    ),
    "burst of errors that never ends": (
        {'delay = "10 ms"': 'delay = "10 ms"\nburst_start = 0.004\nburst_end = 0'},
        ["bottleneck: burst_end = 0", "after 250 packets on average", "burst_loss = 1 nothing", "burst_end above 0"],
    ),
    "bursts that lose less": (
        {'delay = "10 ms"': 'delay = "10 ms"\nloss = 0.02\nburst_start = 0.01\nburst_end = 0.1\nburst_loss = 0.001'},
        ["bottleneck: burst_loss = 0.001 is less than loss = 0.02", "set burst_loss above loss"],
    ),
    "LEDBAT that keeps a long queue": (
        {"count = 50": 'algorithm = "ledbat"\nledbat_target = "150 ms"'},
        ["flows.0 (tcp", "a ledbat_target of 150 ms", "RFC 6817", "100 ms or less"],
    ),
    "LEDBAT that grows fast": (
        {"count = 50": 'algorithm = "ledbat"\nledbat_gain = 10'},
        ["flows.0 (tcp", "a ledbat_gain of 10", "faster than Reno", "ledbat_gain to 1 or less"],
    ),
    "change after the end": (
        {"[run]": '[[changes]]\ntime = "200000 s"\nkey = "queue.target"\nvalue = "9 ms"\n\n[run]'},
        ["changes.0: queue.target is to change at 200000 s", "the run ends at 5 s", "duration to more than 200000 s"],
    ),
    "long run": (
        {**GIGABIT, '"5 s"': '"4000 s"'},
        ["run.duration = 4000 s", "about 3 minutes", "shorten run.duration"],
    ),
    "long run of series": (
        {"count = 50": "count = 1000", '"20 Mbit/s"': '"60 Mbit/s"', '"5 s"': '"12600 s"\nsample = "300 ms"'},
        ["run.duration = 12600 s", "about a minute", "set run.series = false"],
    ),
}  # fmt: skip


OUTSIDE = (
    "a flow's bound below half of its product",
    "target of afd too long",
    "target of pi too long",
    "target below a packet",
    "the target of an L4S queue below a packet",
    "CAKE that does not know the rate",
    "long run of series",
)
"""Traps in scenarios that lie far outside the envelope of the discipline, too, and tell of that besides."""


def changed(replaced: dict[str, str]) -> str:
    text = SANE
    for old, new in replaced.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def sentences(text: str, tmp_path: Path) -> list[str]:
    """What Python is warned of when it checks this text."""
    file = tmp_path / "trap.toml"
    file.write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sg.check(file)
    assert {each.category for each in caught} <= {TrapWarning}
    assert {each.filename for each in caught} <= {__file__}
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("trap", TRAPS)
def test_check_warns_of_a_trap_in_words(sluicegate: Program, tmp_path: Path, trap: str) -> None:
    replaced, (begins, *parts) = TRAPS[trap]
    told = sentences(changed(replaced), tmp_path)
    outside = [each for each in told if "lies outside the envelope of" in each]
    [said] = (each for each in told if each not in outside)
    assert len(outside) == (trap in OUTSIDE)
    assert said.startswith(begins)
    for part in parts:
        assert part in said
    done = sluicegate("check", "trap.toml")
    told = [f"warning: {each}\n" for each in told]
    assert (done.returncode, done.stdout, done.stderr) == (0, "trap.toml: ok\n", "".join(told))


def test_transfers_that_outlast_the_run_last_though_they_are_shorter_than_ten_of_linuxs_windows(tmp_path: Path) -> None:
    queue = {QUEUE: 'discipline = "drop_tail"\nlimit = 2', '"10 ms"': '"20 ms"'}
    for size, told in (("100 MB", 1), ("1 MB", 0)):
        text = changed(queue | {"count = 50": f'count = 2\nsize = "{size}"'})
        assert len(traps.of_scenario(resolved(text, tmp_path))) == told


class Ended(Exception):
    """Ends a run from its progress."""


@pytest.mark.parametrize("trap", TRAPS)
def test_run_warns_of_it_before_it_runs(sluicegate: Program, tmp_path: Path, trap: str) -> None:
    replaced, (begins, *_) = TRAPS[trap]
    file = tmp_path / "trap.toml"
    file.write_text(changed(replaced))

    def end(*_: float) -> None:
        raise Ended

    long = trap.startswith("long")  # as it is, or the run might be over before its progress is told
    with pytest.warns(TrapWarning) as caught, pytest.raises(Ended):
        sg.run(file, progress=end, sets={} if long else {"run.duration": "20000 s"})
    assert any(str(each.message).startswith(begins) for each in caught)
    if not long:
        done = sluicegate("run", "trap.toml", "--set", "run.duration=500 ms")
        assert done.returncode == 0
        assert f"warning: {begins}" in done.stderr
        assert sluicegate("run", "trap.toml", "--set", "run.duration=500 ms", "--quiet").stderr == ""


def test_run_warns_of_a_long_run_on_the_command_line(
    sluicegate: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trap.toml").write_text(SANE)
    assert sluicegate("run", "trap.toml").stderr == ""
    monkeypatch.setattr(traps.runs, "MINUTE_S", 0.001)
    assert sluicegate("run", "trap.toml").stderr.startswith("warning: run.duration = 5 s: the run takes about")


def test_an_estimate_is_near_what_a_run_takes() -> None:
    """In processor time, once in five times; other machines are faster or slower."""
    from time import process_time

    def ratio() -> float:
        begin = process_time()
        sg.run("mixed_round_trips")
        return traps.seconds(sg.check("mixed_round_trips")) / (process_time() - begin)

    assert any(0.2 < ratio() < 5 for _ in range(5))


def test_keys_that_the_discipline_ignores(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "trap.toml").write_text(changed({QUEUE: 'discipline = "fq_codel"\nmin_th = 5'}))
    for command in ("check", "run"):
        told = sluicegate(command, "trap.toml").stderr
        assert told.startswith("warning: ")
        assert "queue.min_th" in told
        assert "fq_codel has no such key" in told
    with pytest.warns(sg.ScenarioWarning, match=r"queue\.min_th"):
        sg.check(tmp_path / "trap.toml")


HELD = {QUEUE: RED.replace("max_th = 60", "max_th = 30"), '"20 Mbit/s"': '"2 Mbit/s"'}
"""50 flows on 2 Mbit/s, by far too many for a max_p of 0.02."""


@pytest.mark.parametrize("series", ["true", "false"])
def test_an_average_at_max_th_most_of_the_time_is_told_after_the_run(
    sluicegate: Program, tmp_path: Path, series: str
) -> None:
    text = changed({**HELD, '"5 s"': f'"60 s"\nwarmup = "20 s"\nseries = {series}'})
    assert sentences(text, tmp_path) == []
    done = sluicegate("run", "trap.toml")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: bottleneck: the average was within 5 % of max_th = 30 packets or above ")
    assert (" % of the time" if series == "true" else "on average") in done.stderr
    assert "Raise max_p or max_th, set gentle = true, or lower the load" in done.stderr
    with pytest.warns(TrapWarning, match="average was within 5 % of max_th") as caught:
        sg.run(tmp_path / "trap.toml")
    assert [each.filename for each in caught] == [__file__]
    with (
        pytest.warns(TrapWarning, match="average was within 5 % of max_th"),
        sg.Simulation(tmp_path / "trap.toml") as one,
    ):
        one.finish()


def test_a_gentle_average_above_max_th_is_told_too(tmp_path: Path) -> None:
    text = changed({**HELD, "limit = 200": "limit = 200\ngentle = true", '"5 s"': '"60 s"\nwarmup = "20 s"'})
    (tmp_path / "trap.toml").write_text(text)
    with pytest.warns(TrapWarning, match="at or above max_th = 30 packets for .* Raise max_p or max_th, or lower"):
        sg.run(tmp_path / "trap.toml")


def test_an_average_below_max_th_is_not_told() -> None:
    run = sg.run("bursts")
    assert run.links["average_packets_max"][0] > 40  # it is above now and then
    assert traps.of_run(run.summary["scenario"], run.links, run.queue) == []


def test_a_change_at_the_end_comes_too_late(tmp_path: Path) -> None:
    change = '[[changes]]\ntime = "5 s"\nkey = "queue.target"\nvalue = "9 ms"\n\n[run]'
    [said] = sentences(changed({"[run]": change}), tmp_path)
    assert said.startswith("changes.0: queue.target is to change at 5 s, but the run ends at 5 s")


def test_wires_are_told_of_where_packets_cross_them(tmp_path: Path) -> None:
    back = 'name = "back", from = "c", to = "a", rate = "1 Mbit/s", delay = "30 ms"'
    dead = LINKS.replace(back, f"{back}, loss = 1").replace('"2 Mbit/s"', '"1 Mbit/s"')
    [said] = traps.of_scenario(resolved(dead, tmp_path))
    assert said.startswith("back: loss = 1")
    [said] = traps.of_scenario(resolved(dead.replace('return_path = ["back"]\n', ""), tmp_path))
    assert said.startswith("network.links.2 (back): no flow crosses it")
    assert said.endswith("return_path if acknowledgements are to cross it")


def test_what_lists_have_in_common() -> None:
    assert traps.common([["a", "b", "c"], ["c", "a"], ["d", "c", "a"]]) == ["a", "c"]
    assert traps.common([["a"], []]) == []
    assert traps.common([]) == []


LINKS = """\
network.links = [
    { name = "lan", from = "a", to = "b", rate = "5 Mbit/s", managed = false },
    { name = "wan", from = "b", to = "c", rate = "8 Mbit/s", delay = "10 ms" },
    { name = "back", from = "c", to = "a", rate = "1 Mbit/s", delay = "30 ms" },
]
queue.discipline = "fq_codel"
run.duration = "1 s"

[[flows]]
kind = "udp"
rate = "2 Mbit/s"
count = 3
path = ["lan", "wan"]

[[flows]]
kind = "tcp"
path = ["lan", "wan"]
return_path = ["back"]

[[flows]]
kind = "tcp"
path = ["wan"]
access_rate = "100 Mbit/s"
rtt = "40 ms"
rtt_mean = "60 ms"
"""


def resolved(text: str, tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "paths.toml"
    file.write_text(text)
    return sg.check(file)


def test_a_link_before_the_queue_that_is_too_slow(tmp_path: Path) -> None:
    [said] = traps.of_scenario(resolved(LINKS, tmp_path))
    assert "sends 2 Mbit/s each into the link lan of 5 Mbit/s, which Drop Tail manages" in said


def test_a_comparison_tells_what_its_runs_showed(tmp_path: Path) -> None:
    """Of the seed that is drawn over time, and whose discipline it is."""
    (tmp_path / "trap.toml").write_text(changed(HELD))
    with pytest.warns(TrapWarning, match="^red: .*average was within 5 % of max_th"):
        sg.compare(tmp_path / "trap.toml", disciplines="red,drop_tail", seeds=1)
