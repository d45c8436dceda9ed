"""`sluicegate design red` and `design_red`: rules are kept, conflicts are said, and the lines work."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shlex
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, Program
from hypothesis import given
from hypothesis import strategies as st
from tc import in_a_namespace, missing, options, traced

import sluicegate as sg
from sluicegate import _core
from sluicegate.design import red as red_design
from sluicegate.design.linux import LinuxRed, linux_red, told, weight_log
from sluicegate.theory import red

LINK = {"rate": "45 Mbit/s", "rtt": "100 ms", "burst": 50}
OPTIONS = ["--rate", "45 Mbit/s", "--rtt", "100 ms", "--burst", "50"]
WITHOUT_QUEUE = re.sub(r"\[queue\].*(?=\[\[flows\]\]\nkind = \"tcp\")", "", SMALL, flags=re.DOTALL)


def bound(design: sg.RedDesign, source: str) -> float:
    """The bound on w_q that stands under this source."""
    [value] = [rule.value for rule in design.rules if rule.sign != "=" and rule.source.startswith(source)]
    assert isinstance(value, float)
    return value


# --- the rules -----------------------------------------------------------------------------------


def test_each_value_has_its_rule_and_its_section() -> None:
    design = sg.design_red(**LINK, delay_target="10 ms")
    rules = {rule.name: rule for rule in design.rules if rule.sign == "="}
    assert set(rules) == {"w_q", "min_th", "max_th", "max_p", "limit"}
    assert {name: rule.value for name, rule in rules.items()} == design.values()
    assert all("Sec. " in rule.source or "Secs. " in rule.source for rule in design.rules)
    assert sg.design_red(**LINK, delay_target="50 ms").warnings == ()


def test_the_delay_target_is_midway_between_thresholds_three_apart() -> None:
    """10 ms at 45 Mbit/s are 37.5 packets of 1500 bytes."""
    design = sg.design_red(**LINK, delay_target="10 ms")
    queue = design.queue
    assert (queue.min_th, queue.max_th) == (19, 56)
    assert design.delay_s((19 + 56) / 2) == pytest.approx(0.010, rel=0.01)


def test_without_a_target_min_th_is_the_papers() -> None:
    for burst in (50, 200):
        assert sg.design_red(**LINK | {"burst": burst}).queue.min_th == 5


def test_w_q_keeps_equation_3_to_the_digit_that_is_printed() -> None:
    """min_th = 5 and L = 50: the paper's own example, 0.0042, of which the last digit must be given up."""
    slow = sg.design_red(rate="1 Mbit/s", rtt="10 ms", burst=50)
    assert slow.queue.min_th == 5
    assert slow.queue.w_q == 0.00419
    assert bound(slow, "Sec. VI-A") == pytest.approx(0.0042, abs=5e-5)


def test_w_q_follows_from_the_round_trip_and_the_delay_where_the_burst_does_not_ask_for_less() -> None:
    """3·(R + d)²/d = 3·60²/20 ms = 540 ms, or 450 packets of 1.2 ms."""
    design = sg.design_red(rate="10 Mbit/s", rtt="40 ms", burst=15, delay_target="20 ms")
    assert 1 / design.queue.w_q == pytest.approx(450, rel=0.01)
    assert design.queue.w_q <= bound(design, "Sec. VII; Hollot")


@pytest.mark.parametrize(("more", "margin"), [(1, 2), (math.sqrt(2), 1.4), (2, 1)])  # Linux's weight may be √2 times it
@given(window=st.floats(1.5, 1e6), delay=st.floats(0.01, 100))
def test_the_loop_of_that_w_q_has_a_gain_margin(more: float, margin: float, window: float, delay: float) -> None:
    """Hollot et al. 2001, with R + d = 1: a delay of 1, time constants of 1, W/2 and T = 3(R + d)/d, a gain of
    3/4 (R + d)/d."""
    gain = 0.75 * (1 + 1 / delay)
    lags = (1.0, window / 2, 4 * gain / more)
    low, high = 0.0, math.pi
    for _ in range(60):
        middle = (low + high) / 2
        turned = middle + sum(math.atan(middle * lag) for lag in lags)
        low, high = (middle, high) if turned < math.pi else (low, middle)
    assert math.prod(math.hypot(1, low * lag) for lag in lags) / gain > margin


def test_max_p_follows_from_the_flows() -> None:
    """9 flows fill 50 packets: W = 50/9, p = 3/(W(2W + 3)), p_b = p/(2 - p) midway, where it is max_p/2."""
    design = sg.design_red(rate="10 Mbit/s", rtt="40 ms", burst=15, delay_target="20 ms", flows=9)
    p = 3 / (50 / 9 * (100 / 9 + 3))
    assert design.queue.max_p == pytest.approx(2 * p / (2 - p), rel=0.02)  # the thresholds are whole packets
    assert marked(design) == pytest.approx(p, rel=0.02)
    assert red_design.share_of(red_design.window_of(p)) == pytest.approx(p)


def marked(design: sg.RedDesign) -> float:
    return red.marked_share("section7", design.queue.max_p / 2)


def test_the_buffer_has_room_for_a_round_trip_above_max_th() -> None:
    queue = sg.design_red(**LINK).queue
    assert queue.limit - queue.max_th == 375


rates = st.floats(3, 11).map(lambda log: f"{10**log:.0f} bit/s")
times = st.floats(-4, 0).map(lambda log: f"{10**log:.6f} s")


loads = st.floats(1e-4, 1).map(lambda max_p: {"max_p": max_p}) | st.integers(1, 10**6).map(lambda n: {"flows": n})


@given(rates, times, st.integers(1, 3000), st.none() | times, st.integers(40, 9000), loads, st.booleans())
def test_every_design_keeps_the_rules_or_says_which_it_broke(
    rate: str, rtt: str, burst: int, target: str | None, packet: int, load: dict[str, Any], ecn: bool
) -> None:
    size = f"{packet} B"
    design = sg.design_red(rate=rate, rtt=rtt, burst=burst, delay_target=target, packet_size=size, ecn=ecn, **load)
    queue, said = design.queue, " ".join(design.warnings)
    assert red.average_after_burst(burst, queue.w_q) < queue.min_th
    assert queue.max_th >= 2 * queue.min_th
    rise = burst * red.step_response(int(rate.split()[0]) / 8 / packet * float(rtt.split()[0]), queue.w_q)
    assert rise < 1.2 * queue.min_th  # rule 3 of Sec. VIII-A, by itself
    assert queue.limit >= max(2 * queue.max_th, queue.max_th + burst)
    assert queue.w_q <= bound(design, "Sec. VII; Hollot")
    assert queue.w_q >= bound(design, "Sec. III") * 0.97 or "round trips to follow the queue" in said
    assert queue.max_p <= load.get("max_p", 0.1)
    assert load.get("max_p", 0) <= 0.1 or "should never exceed" in said
    if target is None:
        assert "delay target, " not in said
    else:
        wanted = float(target.split()[0])
        middle = design.delay_s((queue.min_th + queue.max_th) / 2)
        assert middle == pytest.approx(wanted, rel=0.2) or "bursts alone need more" in said
    _core.Scenario(WITHOUT_QUEUE + design.scenario(), "small", [])
    if design.linux is not None:
        assert weight_log(design.linux.burst, queue.min_th) == design.linux.w_log
        assert red.average_after_burst(burst, design.linux.w_q) < queue.min_th
        assert design.linux.max.bit_length() + design.linux.w_log < 32


CONFLICTS = {
    "burst against the average": (
        {"burst": 500, "delay_target": "20 ms", "rtt": "50 ms"},
        ["is long for min_th = 38", "eq. (3)", "round trips to follow the queue"],
    ),
    "burst against the target": ({"delay_target": "5 ms"}, ["last packets wait longer"]),
    "target against round trip": ({"delay_target": "10 ms"}, ["takes 33 round trips to follow", "target of 42.9 ms"]),
    "target against bursts": ({"rate": "1 Mbit/s", "delay_target": "30 ms"}, ["2.5 packets", "60 ms, 5 packets"]),
    "too few flows": ({"delay_target": "10 ms", "flows": 3}, ["3 flows are too few", "31 flows or more", "40.6 ms"]),
    "too many flows": (
        {"delay_target": "10 ms", "flows": 500},
        ["500 flows are too many", "up to 125 flows", "339 ms"],
    ),
    "too many for any": ({"rate": "64 kbit/s", "rtt": "1 ms", "flows": 9}, ["9 flows are too many", "up to 3 flows"]),
    "max_p": ({"max_p": 0.2}, ["max_p = 0.2", "0.1 (Sec. VII)"]),
}


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_a_conflict_of_rules_is_said_with_what_gave_way(conflict: str) -> None:
    changed, parts = CONFLICTS[conflict]
    assert any(all(part in said for part in parts) for said in sg.design_red(**LINK | changed).warnings)


@pytest.mark.parametrize("flows", [3, 500])
def test_the_number_of_flows_that_a_warning_names_is_held(flows: int) -> None:
    said = " ".join(held_flows("45 Mbit/s", "10 ms", flows))
    named = re.findall(r"RED holds the target with (?:up to )?(\d+) flows", said)
    [number] = map(int, named)
    assert held_flows("45 Mbit/s", "10 ms", number) == []


@pytest.mark.parametrize("flows", [10, 30, 111])
def test_no_number_of_flows_is_named_where_none_is_held(flows: int) -> None:
    [said] = held_flows("10 Mbit/s", "8 ms", flows)
    assert "RED holds the target" not in said
    target, unit = said.split()[-2:]
    assert (
        held_flows("10 Mbit/s", f"{1.01 * float(target)} {unit}", flows) == []
    )  # the digits shown may be rounded down


def held_flows(rate: str, target: str, flows: int) -> list[str]:
    """What a design says of the number of its flows."""
    design = sg.design_red(rate=rate, rtt="100 ms", burst=5, delay_target=target, flows=flows)
    return [said for said in design.warnings if "too few" in said or "too many" in said]


def test_the_burst_or_the_target_that_a_warning_names_will_do() -> None:
    [said, *_] = sg.design_red(**LINK | {"burst": 500, "delay_target": "20 ms", "rtt": "50 ms"}).warnings
    found = re.search(
        r"bursts of up to (\d+) packets pass; this one passes with min_th = (\d+), a delay target of (.*)$", said
    )
    assert found
    burst, min_th, target = found.groups()
    for changed in ({"burst": int(burst), "delay_target": "20 ms"}, {"burst": 500, "delay_target": target}):
        design = sg.design_red(**LINK | changed | {"rtt": "50 ms"})
        assert "is long for min_th" not in " ".join(design.warnings)
    assert design.queue.min_th == pytest.approx(int(min_th), abs=1)


# --- what a person meets -------------------------------------------------------------------------


def test_the_design_is_a_frozen_dataclass_with_a_queue_to_use() -> None:
    design = sg.design_red(**LINK, ecn=True)
    assert isinstance(design.queue, sg.Red)
    assert design.queue.action == "mark"
    assert isinstance(design.warnings, tuple)
    with pytest.raises(dataclasses.FrozenInstanceError):
        design.burst = 3  # type: ignore[misc]
    run = sg.simulate(sg.dumbbell(rate="45 Mbit/s", queue=design.queue), sg.Tcp(2), duration="1 s", series=False)
    assert "red" in run.links["discipline"].to_list()


@pytest.mark.parametrize(
    "more", [[], ["--ecn", "--delay-target", "8 ms", "--packet-size", "1500 B", "--max-p", "0.05"]]
)
def test_the_fragment_is_accepted_within_a_whole_scenario(sluicegate: Program, tmp_path: Path, more: list[str]) -> None:
    text = sluicegate("design", "red", *OPTIONS, *more).stdout
    fragment = re.search(r"in a scenario:\n\n(.*?)\n\nin Linux", text, re.DOTALL)
    assert fragment
    tmp_path.joinpath("whole.toml").write_text(WITHOUT_QUEUE + fragment[1])
    assert sluicegate("check", "whole.toml").stdout == "whole.toml: ok\n"
    resolved = json.loads(sluicegate("check", "whole.toml", "--json").stdout)["queue"]
    answer = json.loads(sluicegate("design", "red", *OPTIONS, *more, "--json").stdout)
    assert resolved["discipline"] == "red"
    assert answer["queue"].items() <= resolved.items()
    assert answer["scenario"].strip() == fragment[1].strip()
    assert answer["tc"] in text


def test_the_table_shows_every_value_and_bound(sluicegate: Program) -> None:
    text = sluicegate("design", "red", *OPTIONS, "--dev", "my dev").stdout
    for part in ("2.24e-05", "< 0.0042", "≤ 2.25e-05", "Sec. VI-A, eq. (3)", "Sec. III; 10", "dev 'my dev' root"):
        assert part in text
    assert "warning: min_th = 5 is short" in text
    assert "warning:" not in sluicegate("design", "red", *OPTIONS, "--delay-target", "50 ms").stdout


MISTAKES = {
    "--rate=45 Mb": ['rate = "45 Mb"', "Mbit/s"],
    "--rate=0 bit/s": ['rate = "0 bit/s"', "must be above 0"],
    "--rtt=0 ms": ['rtt = "0 ms"', "must be above 0"],
    "--rtt=soon": ['rtt = "soon"', "a time with its unit"],
    "--burst=0": ["burst = 0", "from 1"],
    f"--burst={10**30}": ["burst = 1000", "to 1000000000"],
    "--delay-target=-1 ms": ['--delay-target = "-1 ms"', "from 0 to"],
    "--packet-size=10 packets": ["--packet-size = 10 packets", "in bytes"],
    "--max-p=0": ["--max-p = 0", "above 0"],
    "--max-p=nan": ['--max-p = "NaN"', "a number"],
    "--flows=0": ["flows = 0", "from 1"],
    "--flows=9 --max-p=0.1": ["--max-p = 0.1: follows from flows = 9", "leave one of them out"],
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_place_and_fix(sluicegate: Program, mistake: str) -> None:
    done = sluicegate("design", "red", *OPTIONS, *re.split(" (?=--)", mistake))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    for part in MISTAKES[mistake]:
        assert part in done.stderr


def test_what_python_gets_wrong_gives_the_same_message() -> None:
    with pytest.raises(sg.ScenarioError, match=r"^rate = 45: must be a rate with its unit"):
        sg.design_red(rate=45, rtt="100 ms", burst=50)  # type: ignore[arg-type]
    with pytest.raises(sg.ScenarioError, match=r"^burst = 2.5: must be a whole number"):
        sg.design_red(**LINK | {"burst": 2.5})


# --- Linux ---------------------------------------------------------------------------------------

DESIGNS = {
    "plain": {},
    "target": {"delay_target": "10 ms"},
    "ecn": {"delay_target": "3 ms", "ecn": True, "packet_size": "1500 B", "max_p": 0.1},
    "slow": {"rate": "64 kbit/s", "burst": 10},
    "fast": {"rate": "10 Gbit/s", "delay_target": "10 ms"},
    "faster than tc can say": {"rate": "100 Gbit/s", "delay_target": "100 us", "rtt": "1 ms"},
    "odd": {"rate": "12345677 bit/s", "burst": 7, "packet_size": "577 B", "max_p": 1 / 3},
}


def nearest(w_q: float, min_th: int, burst: int) -> float:
    """The weight that Linux uses for one that is wanted."""
    found = linux_red(
        w_q=w_q,
        min_th=min_th,
        max_th=3 * min_th,
        limit=9 * min_th,
        max_p=0.02,
        burst=burst,
        packet=1000,
        rate=10**6,
        ecn=False,
    )
    assert isinstance(found, LinuxRed)
    return found.w_q


def test_the_power_of_two_is_the_nearest_that_the_burst_allows() -> None:
    assert [nearest(w_q, 5, 10) for w_q in (0.0011, 0.00177, 0.0025, 0.0039)] == [2**-10, 2**-9, 2**-9, 2**-8]
    # Eq. (3) wants less than 0.0042 for 5 and 50, so not 2^-7 = 0.0078, which is nearer to the last two.
    assert [nearest(w_q, 5, 50) for w_q in (0.0039, 0.006, 0.02)] == [2**-8] * 3


def test_tc_is_told_a_burst_of_which_it_makes_the_weight() -> None:
    for min_th in (3, 5, 28, 6250):
        for w_log in range(1, 20):
            if (burst := told(w_log, min_th, 50)) is not None:
                assert weight_log(burst, min_th) == w_log
                assert burst == 50 or weight_log(50, min_th) != w_log
    assert weight_log(5, 5) == 1
    assert weight_log(4, 5) is None


def test_what_linux_cannot_hold_is_said() -> None:
    design = sg.design_red(rate="1000 Gbit/s", rtt="1 s", burst=50, delay_target="100 ms")
    assert design.linux is None
    assert design.linux_refusal is not None
    assert "32 bits" in design.linux_refusal
    with pytest.raises(ValueError, match="32 bits"):
        design.tc("eth0")


def linux_of(case: str) -> tuple[LinuxRed, str]:
    design = sg.design_red(**LINK | DESIGNS[case])
    assert design.linux is not None
    return design.linux, design.tc("lo")


@pytest.mark.parametrize("case", DESIGNS)
def test_tc_sends_the_kernel_what_is_foretold(case: str) -> None:
    """What tc computes is in its message to the kernel, whether or not this kernel has RED."""
    if lacking := missing("tc", "strace", "unshare"):
        pytest.skip(f"{', '.join(lacking)} not installed")
    linux, line = linux_of(case)
    done = traced(line)
    if "ptrace" in done.stderr or "unshare failed" in done.stderr:
        pytest.skip(f"not permitted here: {done.stderr.splitlines()[0]}")
    sent = options(done.stderr)
    limit, low, high, w_log = struct.unpack_from("=IIIB", sent[1])
    assert (limit, low, high, w_log) == (linux.limit, linux.min, linux.max, linux.w_log)
    [max_P] = struct.unpack("=I", sent[3])
    assert max(max_P // (high - low), 1) * (high - low) / 2**32 == linux.max_p
    flags, _ = struct.unpack("=II", sent[4]) if 4 in sent else (sent[1][15], 0)
    assert flags == (3 if linux.ecn else 0)
    assert ("seems to be too large" in done.stderr) == any("seems too large" in said for said in linux.remarks(1, 1))


@pytest.mark.parametrize("case", DESIGNS)
def test_the_kernel_shows_what_it_was_given(case: str) -> None:
    if lacking := missing("tc", "unshare"):
        pytest.skip(f"{', '.join(lacking)} not installed")
    linux, line = linux_of(case)
    done = in_a_namespace(f"{line} && tc -j -d qdisc show dev lo")
    for why in ("unshare failed", "qdisc kind is unknown", "Operation not permitted"):
        if why in done.stderr:
            pytest.skip(f"no RED in this kernel, or no permission to ask it: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    [shown] = [entry["options"] for entry in json.loads(done.stdout) if entry["kind"] == "red"]
    assert (shown["limit"], shown["min"], shown["max"]) == (linux.limit, linux.min, linux.max)
    assert shown["ewma"] == linux.w_log
    assert shown["probability"] == pytest.approx(linux.probability, rel=1e-6)
    assert bool(shown.get("ecn")) == bool(shown.get("harddrop")) == linux.ecn


def test_the_line_has_the_words_of_the_disciplines_own() -> None:
    """The declaration of RED, which other pages show, and this line agree."""
    [declared] = [each for each in json.loads(_core.declarations())["disciplines"] if each["name"] == "red"]
    words = [word for word in declared["tc"].split() if word.islower()]
    assert [word for word in shlex.split(sg.design_red(**LINK).tc()) if word.isalpha() and word.islower()] == words


# --- ns-2 ----------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
@pytest.mark.parametrize("ecn", [False, True])
def test_ns2_takes_the_lines(tmp_path: Path, ecn: bool) -> None:
    design = sg.design_red(**LINK, delay_target="10 ms", ecn=ecn)
    names = ["thresh_", "maxthresh_", "q_weight_", "linterm_", "limit_", "gentle_", "wait_", "setbit_", "bytes_"]
    script = [
        "set ns [new Simulator]",
        design.ns2(),
        "$ns duplex-link [$ns node] [$ns node] 45Mb 1ms RED",
        "set queue [[lindex [$ns array get link_] 1] queue]",
        "$ns at 1 {$ns halt}",
        "$ns run",
        *(f"puts [$queue set {name}]" for name in names),
    ]
    tmp_path.joinpath("red.tcl").write_text("\n".join(script) + "\n")
    done = subprocess.run(["ns", "red.tcl"], capture_output=True, encoding="utf-8", cwd=tmp_path)
    assert done.stderr == ""
    queue = design.queue
    expected = [queue.min_th, queue.max_th, queue.w_q, 1 / queue.max_p, queue.limit, 0, 0, int(ecn), 0]
    switches = {"true": 1.0, "false": 0.0}
    assert [switches.get(word) if word in switches else float(word) for word in done.stdout.split()] == expected
