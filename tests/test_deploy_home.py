"""Lines for a home's router that would be wrong without a word: one direction, framing, intervals, doubtful numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.deploy import Access, access, formats


@pytest.mark.parametrize(
    "asked",
    [
        ("tc", "--set", "queue.discipline=fq_codel", "--dev", "wan0"),
        ("tc", "--set", "queue.discipline=red", "--freebsd"),
        ("tc", "--set", "queue.discipline=cake", "--format", "openwrt"),
        ("recommend", "--deployable", "openwrt"),
        ("recommend", "--deployable", "linux", "--dev", "wan0"),
    ],
)
def test_one_direction_of_two_is_not_deployed_by_itself(sluicegate: Program, asked: tuple[str, ...]) -> None:
    """The rate of the download as a shaper on the way out would do nothing."""
    command, *more = asked
    answer = sluicegate(command, "cable", *more)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == (
        "error: cable: two directions: --wan NAME, the interface to the internet, prints the commands for both; "
        "`sluicegate tc` with --link bottleneck (100 Mbit/s) or --link reverse (10 Mbit/s) prints those for one\n"
    )


def test_without_a_system_two_directions_are_ranked_without_commands(sluicegate: Program) -> None:
    short = ["--seeds", "1", "--set", "run.duration=3 s", "--set", "run.warmup=1 s"]
    said = sluicegate("recommend", "cable", "--disciplines", "cake", *short).stdout
    assert said.startswith("cake is best")
    assert "--wan NAME prints the commands for both" in said
    assert "tc qdisc" not in said


@pytest.mark.parametrize(
    ("dev", "overhead"), [("wan0", 26), ("ppp0", 40), ("pppoe-wan", 40), ("wg0", 40), ("tun1", 40)]
)
def test_interfaces_without_an_ethernet_header_have_all_of_the_framing(dev: str, overhead: int) -> None:
    """htb counts skb->len, in which such an interface has no header; cake counts from the IP header everywhere."""
    resolved = sg.check("dsl", sets={"queue.discipline": "fq_codel"})
    done = access.lines(resolved, Access(wan=dev))
    assert re.findall(r" overhead (\d+)", "\n".join(done.lines)) == [str(overhead)] * 2, "through the ifb device, too"
    assert f"option overhead '{overhead}'" in formats.openwrt(done)
    assert formats.systemd(done).count(f" overhead {overhead} ") == 2
    home = access.lines(resolved, Access(wan=dev, lan="br0"))
    assert " overhead 26 " in home.parts[1].lines[1], "a bridge has one"
    cake = access.lines(sg.check("dsl", sets={"queue.discipline": "cake"}), Access(wan=dev))
    assert re.findall(r" overhead (\d+)", "\n".join(cake.lines)) == ["40", "40"]


@pytest.mark.parametrize(("rtt", "told"), [("0.5 ms", "100ms"), ("30 ms", "100ms"), ("600 ms", "600ms")])
def test_a_server_nearby_shortens_no_interval(sluicegate: Program, tmp_path: Path, rtt: str, told: str) -> None:
    """The others of a home are farther: with an interval as short as 10 ms uploads lose a third of their rate there."""
    text = sg.access_line(down="80 Mbit/s", up="20 Mbit/s", rtt="20 ms", access="vdsl")
    (tmp_path / "home.toml").write_text(text.replace('delay = "10 ms"', f'delay = "{float(rtt.split()[0]) / 2} ms"'))
    for queue, word in (("cake", "rtt"), ("fq_codel", "interval")):
        answer = sluicegate("tc", "home.toml", "--set", f"queue.discipline={queue}", "--wan", "wan0")
        lines = [line for line in answer.stdout.splitlines() if line[0] != "#"]
        assert re.findall(rf" {word} (\S+)", "\n".join(lines)) == [told, told]
        assert "base round trips" not in answer.stderr


def test_numbers_that_a_line_hardly_has_are_doubted_beside_its_lines_too(sluicegate: Program, tmp_path: Path) -> None:
    text = sg.access_line(down="31 Mbit/s", up="87 Mbit/s", rtt="18 s", users=1, calls=0)
    (tmp_path / "home.toml").write_text(text)
    short = ["--disciplines", "cake", "--seeds", "1", "--set", "run.duration=3 s", "--set", "run.warmup=1 s"]
    for asked in (["tc", "home.toml", "--set", "queue.discipline=cake"], ["recommend", "home.toml", *short]):
        told = sluicegate(*asked, "--wan", "br-lan", "--margin", "95 %").stderr
        assert "the upload is faster than the download, which is rare: are they swapped?" in told
        assert "round trip of 18 s is long for an access line: is its unit right?" in told
        assert "a margin of 95 % leaves 5 % of the line's rate; did you mean 5 %?" in told
        assert "br-lan: named like a bridge" in told
    (tmp_path / "home.toml").write_text(text.replace("Mbit/s", "kbit/s"))
    slow = sluicegate("tc", "home.toml", "--set", "queue.discipline=cake", "--wan", "wan").stderr
    assert "31 kbit/s down is little for a line of today: is its unit right?" in slow
    assert "bandwidth: not given" not in slow, "the line beneath has one"
    fine = sluicegate("tc", "cable", "--set", "queue.discipline=cake", "--wan", "wan", "--margin", "30 %")
    assert fine.stderr == ""


def test_links_of_one_way_are_ranked_with_commands_as_ever(sluicegate: Program) -> None:
    """Several links with the queue are no two directions: the commands are about the first."""
    short = ["--seeds", "1", "--set", "run.duration=3 s", "--set", "run.warmup=1 s"]
    answer = sluicegate("recommend", "topology", "--deployable", "linux", "--disciplines", "red", *short)
    assert answer.returncode == 0, answer.stderr
    assert "  tc qdisc add dev DEV root " in answer.stdout
