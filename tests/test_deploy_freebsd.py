"""`sluicegate tc --freebsd`: lines for dummynet. Nothing outside FreeBSD reads them, so texts are compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from deploying import checked

from sluicegate.deploy import dummynet

FREEBSD = {
    "drop_tail": ("limit = 70", ["dnctl pipe 1 config bw 12Mbit/s queue 70 droptail"]),
    "red": (
        'limit = 90\nw_q = 0.002\nmin_th = 7\nmax_th = 21\nmax_p = 0.05\naction = "mark"',
        ["dnctl pipe 1 config bw 12Mbit/s queue 90 red 0.002/7/21/0.05 ecn"],
    ),
    "codel": (
        'limit = 300\ntarget = "1500 us"\ninterval = "30 ms"\necn = true',
        [
            "sysctl net.inet.ip.dummynet.pipe_slot_limit=300",
            "dnctl pipe 1 config bw 12Mbit/s queue 300 codel target 1500us interval 30ms ecn",
        ],
    ),
    "pie": (
        'limit = 80\ntarget = "20 ms"\nt_update = "30 ms"\nalpha = 0.2\nbeta = 2\nmax_burst = "90 ms"\nmark_th = 0.3\n'
        'action = "mark"\nderandomise = false\ndelay = "length"',
        [
            "dnctl pipe 1 config bw 12Mbit/s queue 80 pie target 20ms tupdate 30ms alpha 0.2 beta 2 max_burst 90ms "
            "max_ecnth 0.3 ecn nodrand dre"
        ],
    ),
    "fq_codel": (
        'limit = 900\ntarget = "7 ms"\ninterval = "70 ms"\necn = false\nquantum = "300 B"\nflows = 64',
        [
            "dnctl pipe 1 config bw 12Mbit/s",
            "dnctl sched 1 config pipe 1 type fq_codel target 7ms interval 70ms noecn quantum 300 limit 900 flows 64",
            "dnctl queue 1 config sched 1",
        ],
    ),
    "fq_pie": (
        "limit = 900\nflows = 64",
        [
            "dnctl pipe 1 config bw 12Mbit/s",
            "dnctl sched 1 config pipe 1 type fq_pie target 15ms tupdate 15ms alpha 0.125 beta 1.25 max_burst 150ms "
            "max_ecnth 0.1 noecn drand quantum 1514 limit 900 flows 64",
            "dnctl queue 1 config sched 1",
        ],
    ),
}


@pytest.mark.parametrize("name", FREEBSD)
def test_the_lines_for_dummynet(tmp_path: Path, name: str) -> None:
    more, lines = FREEBSD[name]
    done = dummynet.lines(checked(tmp_path, f'discipline = "{name}"\n{more}'), "em0")
    into = "queue 1" if name.startswith("fq") else "pipe 1"
    assert done.lines == [*lines, f"ipfw add 100 {into} ip from any to any out xmit em0"]
    assert dummynet.deployable(name)


def test_gentle_red_is_dummynets_gred_and_bytes_stay_bytes(tmp_path: Path) -> None:
    queue = 'discipline = "red"\ngentle = true\nlimit = "1200 kB"\nmin_th = 5\nmax_th = 15'
    done = dummynet.lines(checked(tmp_path, queue), "em0")
    assert done.lines[0] == "sysctl net.inet.ip.dummynet.pipe_byte_limit=1200000"
    assert done.lines[1] == "dnctl pipe 1 config bw 12Mbit/s queue 1200000Bytes gred 0.002/6250/18750/0.02"
    assert any(said.startswith("min_th = 5 becomes 6250 bytes") for said in done.remarks)
    in_byte_mode = dummynet.lines(checked(tmp_path, f'{queue}\nmode = "byte"\nmax_packet = "700 B"'), "em0")
    assert in_byte_mode.lines[1].endswith("gred 0.002/3500/10500/0.02")
    assert any(said.startswith("w_q = 0.002 is cut to 131/65536") for said in done.remarks)


def test_dummynets_bounds_are_remarks(tmp_path: Path) -> None:
    queue = 'discipline = "fq_codel"\nlimit = 30000\nquantum = "10 kB"'
    done = dummynet.lines(checked(tmp_path, queue), "em0")
    assert "quantum 9000 limit 20480" in done.lines[1]
    assert {said.split(",")[0] for said in done.remarks} >= {
        "limit = 30000 becomes 20480",
        "quantum = 10000 B becomes 9000 bytes",
    }


def test_what_is_set_is_undone(tmp_path: Path) -> None:
    def undo(more: str) -> str:
        [said] = [each for each in dummynet.lines(checked(tmp_path, more), "em0").remarks if "to undo it" in each]
        return said

    limit = "net.inet.ip.dummynet.pipe_slot_limit"
    pipe = "`ipfw delete 100`, `dnctl pipe 1 delete`"
    assert undo('discipline = "codel"\nlimit = 100') == f"{pipe} to undo it"
    assert undo('discipline = "codel"\nlimit = 101') == f"{pipe}, `sysctl {limit}=100` (its default) to undo it"
    assert "pipe_byte_limit=1048576` (its default)" in undo('discipline = "codel"\nlimit = "2 MB"')
    assert "sysctl" not in undo('discipline = "fq_codel"\nlimit = 5000')


@pytest.mark.parametrize("name", ["codel", "fq_codel"])
def test_dummynets_control_law_is_a_remark(tmp_path: Path, name: str) -> None:
    for law, told in (("rfc8289", True), ("linux", False)):
        done = dummynet.lines(checked(tmp_path, f'discipline = "{name}"\nlaw = "{law}"'), "em0")
        assert any("dummynet computes 1/sqrt(count)" in said for said in done.remarks) == told


@pytest.mark.parametrize(
    ("rate", "word"), [("64 kbit/s", "64Kbit/s"), ("1500 bit/s", "1500bit/s"), ("2 Gbit/s", "2Gbit/s")]
)
def test_rates_have_dummynets_units(tmp_path: Path, rate: str, word: str) -> None:
    resolved = checked(tmp_path, 'discipline = "drop_tail"\nlimit = 50')
    resolved["network"]["rate"] = rate
    assert f" bw {word} " in dummynet.lines(resolved, "em0").lines[0]


@pytest.mark.parametrize("rate", ["2147483648 bit/s", "5 Gbit/s"])
def test_a_rate_that_wraps_in_dummynet_is_refused(tmp_path: Path, rate: str) -> None:
    """A pipe keeps its rate in an int of 32 bits: 5 Gbit/s would become 705 Mbit/s."""
    resolved = checked(tmp_path, 'discipline = "fq_codel"')
    resolved["network"]["rate"] = rate
    with pytest.raises(dummynet.Undeployable, match="dummynet keeps rates in 31 bits"):
        dummynet.lines(resolved, "em0")
    resolved["network"]["rate"] = "2147483647 bit/s"
    assert "bw 2147483647bit/s" in dummynet.lines(resolved, "em0").lines[0]


def test_framing_is_a_remark_with_the_rate_of_full_packets(tmp_path: Path) -> None:
    """A packet of 1250 bytes takes 27 cells of 53: 1431 bytes of 12 Mbit/s."""

    def said(network: str) -> list[str]:
        resolved = checked(tmp_path, 'discipline = "codel"', network)
        return [each for each in dummynet.lines(resolved, "em0").remarks if "framing" in each]

    assert said("") == []
    assert said('framing = "atm"') == [
        "the framing of 40 B, in ATM cells is not deployed: dummynet counts only the bytes of IP packets. With a bw of "
        "10.5 Mbit/s a packet of 1250 bytes takes as long as on the link, but a shorter packet takes less time than "
        "on the link"
    ]
    [ethernet] = said('framing = "ethernet"')
    assert ethernet.startswith("the framing of 38 B, frames of 84 B at the least is not deployed")
