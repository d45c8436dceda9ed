"""`sluicegate tc`: the command, the shaper above a discipline, links and refusals."""

from __future__ import annotations

import json
import re
import shlex
import struct
import subprocess
from pathlib import Path

import pytest
from conftest import Program
from deploying import CLASSES, NETWORK, TICKS, base, checked, of, permitted, sent
from steps import follow
from tc import in_a_namespace, missing, traced

import sluicegate as sg
from sluicegate import _core
from sluicegate.deploy import Deployment, Undeployable, dummynet, linux
from sluicegate.deploy.target import find_link, interface

LINKLAYER_ATM = 2
"""include/uapi/linux/pkt_sched.h and iproute2: TC_LINKLAYER_ATM."""

# --- the shaper ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "framing", "overhead"),
    [("12 Mbit/s", 0, 0), ("1234 kbit/s", 38, 24), ("10 Gbit/s", 20, 6), ("50 Gbit/s", 14, 0), ("64 kbit/s", 5, 0)],
)
def test_htb_has_the_rate_of_the_link(tmp_path: Path, rate: str, framing: int, overhead: int) -> None:
    resolved = checked(tmp_path, 'discipline = "drop_tail"', f'framing = "{framing} B"')
    resolved["network"]["rate"] = rate
    done = linux.lines(resolved, "lo")
    root, shaper = sent(done.lines[0]), sent(done.lines[1])
    assert (root.kind, root.handle, root.parent) == ("htb", 0x10000, 0xFFFFFFFF)
    assert struct.unpack_from("=III", root.options[2])[2] == 1  # default class
    assert (shaper.type, shaper.kind, shaper.handle, shaper.parent) == ("RTM_NEWTCLASS", "htb", 0x10001, 0x10000)
    parms = shaper.options[1]
    said = [struct.unpack_from("=BBHhHI", parms, at) for at in (0, 12)]
    assert [each[2] for each in said] == [overhead, overhead]
    wide = {6: 0, 7: 1}  # rates from 2^32 bytes per second on stand in attributes of their own
    for attribute, at in wide.items():
        bytes_per_second = shaper.number(attribute) if attribute in shaper.options else said[at][5]
        assert 8 * bytes_per_second == base(rate)
    buffers = struct.unpack_from("=II", parms, 24)
    for ticks in buffers:
        assert ticks / TICKS / 1e6 * base(rate) / 8 == pytest.approx(max(1514, base(rate) / 8000), rel=2e-3, abs=1)
    assert struct.unpack_from("=I", parms, 32) == (1514,)


def test_what_framing_cannot_be_said_is_a_remark(tmp_path: Path) -> None:
    """1250 + 14 bytes at 12 Mbit/s are 843 us, 1250 alone 833 us."""
    remarks = {size: of(tmp_path, "drop_tail", network=f'framing = "{size} B"')[1].remarks for size in (0, 14, 38)}
    assert any("843 us instead of 833 us" in said for said in remarks[0])
    assert not any("Ethernet header" in said for said in remarks[14])
    assert any("framing of 38 B" in said and "needs overhead 38" in said for said in remarks[38])


FRAMINGS = {
    "ethernet": (24, 84, 12_000_000),
    "pppoe": (32, 84, 12_000_000),
    "docsis": (4, 64, 12_000_000),
    "atm": (26, 0, 12_000_000),
    "ptm": (16, 0, 12_000_000 * 64 // 65 // 8 * 8),
}
"""Of framings by name what the class of htb says: overhead and mpu, and its rate."""


@pytest.mark.parametrize("name", FRAMINGS)
def test_htb_counts_frames_and_cells_as_the_link_does(tmp_path: Path, name: str) -> None:
    overhead, mpu, rate = FRAMINGS[name]
    resolved = checked(tmp_path, 'discipline = "drop_tail"', f'framing = "{name}"')
    done = linux.lines(resolved, "lo")
    parms = sent(done.lines[1]).options[1]
    for at in (0, 12):  # rate and ceil: cell_log, linklayer, overhead, cell_align, mpu, rate
        _, layer, around, _, least, bytes_per_second = struct.unpack_from("=BBHhHI", parms, at)
        assert (layer == LINKLAYER_ATM, around, least) == (name == "atm", overhead, mpu)
        assert 8 * bytes_per_second == rate
    assert any("no linklayer for PTM" in said for said in done.remarks) == (name == "ptm")
    assert "htb knows whole bytes per second" not in done.remarks
    # What the kernel computes (net/sched/sch_generic.c, psched_l2t_ns) is what the scenario's link takes.
    place = find_link(resolved, None)
    for length in (40, 200, 576, 1500):
        frame = max(length + 14 + overhead, mpu)
        took = (-(-frame // 48) * 53 if name == "atm" else frame) / rate
        exact = place.framing.on_wire(length) / place.rate
        assert took == pytest.approx(exact, rel=1 / 64 if name == "ptm" else 1e-12)


def test_cells_of_short_framings_are_a_remark(tmp_path: Path) -> None:
    """1264 and 1260 bytes take 27 cells each; 1254 take 27 too, but 1241 are 26."""
    same = of(tmp_path, "drop_tail", network='framing = "10 B"\ncells = "atm"')[1].remarks
    assert not any("Ethernet header" in said for said in same)
    resolved = checked(tmp_path, 'discipline = "drop_tail"', 'framing = "1 B"\ncells = "atm"', packet=1240)
    [said] = [said for said in linux.lines(resolved, "lo").remarks if "Ethernet header" in said]
    assert "a packet of 1240 bytes takes 954 us instead of 919 us" in said


@pytest.mark.parametrize("name", ["lte", "wifi"])
def test_a_trace_is_a_remark(name: str) -> None:
    """Nothing is said of it where the rate lasts."""
    for discipline, system, where in (
        ("codel", linux, "htb has"),
        ("cake", linux, "add autorate-ingress"),
        ("codel", dummynet, "the pipe has"),
    ):
        resolved = sg.check(name, sets={"queue.discipline": discipline})
        [said] = [said for said in system.lines(resolved, "lo").remarks if "varies (trace)" in said]
        assert where in said
        assert resolved["network"]["rate"] in said
        lasting = sg.check("mixed_round_trips", sets={"queue.discipline": discipline})
        assert not any("trace" in said for said in system.lines(lasting, "lo").remarks)


def test_losses_and_jitter_have_nothing_to_deploy(tmp_path: Path) -> None:
    wire = 'loss = 0.01\nburst_start = 0.1\nburst_loss = 0.5\nburst_end = 0.3\njitter = "5 ms"\nreordering = true'
    assert of(tmp_path, "codel", network=wire)[1] == of(tmp_path, "codel")[1]


def test_the_two_directions_have_their_own_rates(sluicegate: Program) -> None:
    lines = {link: linux.lines(sg.check("dsl"), "lo", link).lines for link in ("bottleneck", "reverse")}
    assert "rate 16Mbit" in lines["bottleneck"][1]
    assert "rate 1Mbit" in lines["reverse"][1]
    assert json.loads(sluicegate("tc", "dsl", "--link", "reverse", "--json").stdout)["rate_bps"] == 1_000_000
    followed = linux.lines(sg.check("dsl", sets={"queue.discipline": "choke_linux"}), "lo", "reverse").lines[2]
    assert followed.endswith("bandwidth 1Mbit")


def test_a_driver_s_ring_is_a_remark(tmp_path: Path) -> None:
    for network, told in (("", False), ("tx_ring = 4", True)):
        remarks = of(tmp_path, "drop_tail", network=network)[1].remarks
        assert any(said.startswith("tx_ring is not deployed") for said in remarks) == told


def test_a_rate_that_tc_cuts_is_a_remark(tmp_path: Path) -> None:
    resolved = checked(tmp_path, 'discipline = "drop_tail"')
    assert "htb knows whole bytes per second" not in linux.lines(resolved, "lo").remarks
    resolved["network"]["rate"] = "1000003 bit/s"
    done = linux.lines(resolved, "lo")
    assert "htb knows whole bytes per second" in done.remarks
    assert struct.unpack_from("=I", sent(done.lines[1]).options[1], 8) == (125000,)


# --- all lines at once ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(linux.WRITERS))
def test_a_kernel_that_has_the_disciplines_takes_all_lines(tmp_path: Path, name: str) -> None:
    """In order, as `sluicegate tc … | sh` gives them."""
    if lacking := missing("tc", "unshare"):
        pytest.skip(f"{', '.join(lacking)} not installed")
    _, done = of(tmp_path, name, CLASSES if name in ("priority", "drr") else "")
    script = tmp_path / "lines.sh"
    script.write_text(done.text())
    ran = in_a_namespace(f"sh {script} && tc -j qdisc show dev lo")
    for why in (
        "unshare failed",
        "kind is unknown",
        "Unknown qdisc",
        "Operation not permitted",
        "ematch",
        "TC classifier",
    ):
        if why in ran.stderr:
            pytest.skip(f"not in this kernel, or not permitted: {ran.stderr.splitlines()[-1]}")
    assert ran.returncode == 0, ran.stderr
    made = {entry["handle"] for entry in json.loads(ran.stdout)}
    added = {
        word for line in done.lines if line.startswith("tc qdisc add") for word in re.findall(r"handle (\w+:)", line)
    }
    assert added <= made


# --- refusals, links, the command ----------------------------------------------------------------


def test_every_discipline_is_deployable_or_refused_with_a_way_out(tmp_path: Path) -> None:
    names = [each["name"] for each in json.loads(_core.declarations())["disciplines"]]
    for system in (linux, dummynet):
        can = [name for name in names if system.deployable(name)]
        for name in names:
            resolved = checked(tmp_path, f'discipline = "{name}"')
            if name in can:
                assert system.lines(resolved, "lo").lines
                continue
            with pytest.raises(Undeployable, match=f"^{name} has no counterpart in") as refused:
                system.lines(resolved, "lo")
            way_out = str(refused.value).partition(";")[2]
            assert set(re.findall(r"\w+", way_out)) & set(can)
    for_linux = (
        "drop_tail red gred ared pie sfb fq_linux sfq codel fq_codel fq_pie dualpi2 cake choke_linux priority drr"
    )
    assert {name for name in names if linux.deployable(name)} == set(for_linux.split())


REFUSED = {
    "a class's": (
        "priority",
        '[[queue.classes]]\ndiscipline = "choke"\n[[queue.classes]]\n',
        "choke has no counterpart",
    ),
    "no DSCP": ("drr", "[[queue.classes]]\nclass = 64\n[[queue.classes]]\n", "class = 64: classes are DSCPs"),
    "too many bands": ("priority", "bands = 17", "16 bands at most"),
    "no room": ("drop_tail", "limit = 0", "drop every packet"),
    "max above limit": ("choke_linux", "limit = 50", "tc takes no max_th (60) above the limit (50)"),
    "gain": ("pie", "beta = 3", "tc takes 2 Hz at most"),
    "32 bits": ("drop_tail", 'limit = "5000 MB"', "does not fit the 32 bits"),
    "red's slope": ("red", "min_th = 1\nmax_th = 3000000\nlimit = 3100000\nmax_p = 0.001", "Plog"),
    "two greds": (
        "priority",
        '[[queue.classes]]\ndiscipline = "gred"\n[[queue.classes]]\ndiscipline = "gred"',
        "gred in two classes",
    ),
    "Python": ("own.py:Own", "", "written in Python has no counterpart"),
}


OWN = """\
import sluicegate as sg


class Own(sg.Aqm):
    def enqueue(self, packet, ctx):
        ctx.drop(packet, "tail")

    def dequeue(self, ctx):
        return None
"""


@pytest.mark.parametrize("case", REFUSED)
def test_what_linux_does_not_have_is_refused(sluicegate: Program, tmp_path: Path, case: str) -> None:
    name, more, said = REFUSED[case]
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "own.toml").write_text(NETWORK.format(queue=f'discipline = "{name}"\n{more}', network="", packet=1250))
    done = sluicegate("tc", "own.toml", "--dev", "lo")
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: own.toml: " in done.stderr
    assert said in done.stderr.splitlines()[-1]


def test_tc_refuses_what_is_refused(tmp_path: Path) -> None:
    """The refusals that speak for tc: it would not take the lines."""
    if why := permitted():
        pytest.skip(why)
    for words in (
        "choke limit 50 min 30 max 60 burst 40 avpkt 1000 probability 0.02 bandwidth 12Mbit",
        "pie beta 48",
        "red limit 3875000000 min 1250 max 3750000000 avpkt 1250 burst 3 probability 0.001 bandwidth 12Mbit",
        "bfifo limit 5000000000",
    ):
        assert "RTM_NEWQDISC" not in traced(f"tc qdisc add dev lo root {words}").stderr, words


def test_the_command_prints_lines_for_sh(sluicegate: Program) -> None:
    dev = "a'b;$c\""
    done = sluicegate("tc", "unresponsive", "--set", "queue.discipline=fq_codel", "--dev", dev)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    commands = [line for line in lines if not line.startswith("# ")]
    assert lines == commands + lines[len(commands) :]
    assert [line.endswith(" &&") for line in commands] == [True, True, False]
    assert [shlex.split(line)[:5] for line in commands] == [
        ["tc", kind, "add", "dev", dev] for kind in ("qdisc", "class", "qdisc")
    ]
    assert subprocess.run(["sh", "-n"], input=done.stdout, encoding="utf-8", capture_output=True).returncode == 0


NO_NAMES = ["", "my dev", "e\nreboot", "e\x1b[2J", "e/0", "e:0", "e\u2028x", "..", "sixteen_letters_", "ä" * 8]


@pytest.mark.parametrize("system", [[], ["--freebsd"]])
@pytest.mark.parametrize("dev", NO_NAMES)
def test_what_cannot_name_an_interface_is_refused(sluicegate: Program, dev: str, system: list[str]) -> None:
    done = sluicegate("tc", "unresponsive", "--set", "queue.discipline=codel", f"--dev={dev}", *system)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: --dev: {dev!r} cannot name an interface: ")
    assert len(done.stderr.splitlines()) == 1
    resolved = sg.check("unresponsive", sets={"queue.discipline": "codel"})
    with pytest.raises(Undeployable, match="cannot name an interface"):
        (dummynet if system else linux).lines(resolved, dev)


@pytest.mark.parametrize("dev", ["DEV", "eth0.100", "fifteen_letters", "büro", "br-lan", "wg0#"])
def test_names_of_interfaces(dev: str) -> None:
    assert interface(dev) == dev


def test_a_discipline_of_python_is_refused_whatever_it_is_called(tmp_path: Path) -> None:
    """`own:Own` is what an object is called that Python gives, `own.py:Own` one in a file."""
    resolved = checked(tmp_path, 'discipline = "codel"')
    for name in ("own:Own", "__main__:Own", "own.py:Own", "python"):
        resolved["queue"]["discipline"] = name
        for system, called in ((linux, "Linux"), (dummynet, "dummynet")):
            with pytest.raises(Undeployable) as refused:
                system.lines(resolved, "lo")
            assert str(refused.value) == f"a discipline written in Python has no counterpart in {called}"


def test_the_command_refuses_with_the_nearest(sluicegate: Program) -> None:
    done = sluicegate("tc", "unresponsive")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: unresponsive: choke has no counterpart in Linux; the nearest that has one is choke_linux: "
        "--set queue.discipline=choke_linux; as a BPF queue: --bpf -o FOLDER\n"
    )
    assert sluicegate("tc", "unresponsive", "--set", "queue.discipline=choke_linux").returncode == 0
    gred = sluicegate("tc", "unresponsive", "--set", "queue.discipline=gred", "--freebsd")
    assert gred.returncode == 2
    assert "red with gentle = true, which dummynet calls gred" in gred.stderr


def test_json_has_the_same_lines_and_remarks(sluicegate: Program) -> None:
    for options in (["--dev", "eth7"], ["--dev", "em0", "--freebsd"]):
        arguments = ["tc", "unresponsive", "--set", "queue.discipline=pie", *options]
        text, answer = sluicegate(*arguments).stdout, json.loads(sluicegate(*arguments, "--json").stdout)
        assert "".join(
            [*(f"{x}\n" for x in answer["lines"]), *(f"# {x}\n" for x in answer["remarks"])]
        ) == text.replace(" &&\n", "\n")
        assert answer["system"] == ("freebsd" if "--freebsd" in options else "linux")
        assert (answer["discipline"], answer["dev"], answer["link"]) == ("pie", options[1], "bottleneck")
        assert answer["rate_bps"] == 1_000_000


LINKS = """\
[[network.links]]
name = "slow"
from = "a"
to = "b"
rate = "2 Mbit/s"

[[network.links]]
name = "fast"
from = "b"
to = "c"
rate = "8 Mbit/s"
framing = "38 B"

[[network.links]]
name = "plain"
from = "c"
to = "d"
rate = "9 Mbit/s"
managed = false

[queue]
discipline = "choke_linux"

[[flows]]
kind = "udp"
rate = "1 Mbit/s"
packet_size = "900 B"
path = ["slow"]

[[flows]]
kind = "udp"
rate = "1 Mbit/s"
packet_size = "500 B"
path = ["fast", "plain"]

[run]
duration = "1 s"
"""


def slow_alone(folder: Path) -> Deployment:
    """The lines for the only link that is managed."""
    return linux.lines(sg.check(folder / "links.toml", sets={"network.links.1.managed": "false"}), "lo")


def test_a_link_is_named_where_there_are_several(sluicegate: Program, tmp_path: Path) -> None:
    (tmp_path / "links.toml").write_text(LINKS)
    ask = sluicegate("tc", "links.toml")
    assert ask.returncode == 2
    assert ask.stderr == "error: links.toml: several links are managed by [queue]: slow, fast; name one with --link\n"
    fast = sluicegate("tc", "links.toml", "--link", "fast").stdout.splitlines()
    assert "rate 8Mbit" in fast[1]
    assert "overhead 24" in fast[1]
    assert "bandwidth 8Mbit" in fast[2]  # what follows the rate of a link follows that of this one
    assert "bandwidth 2Mbit" in sluicegate("tc", "links.toml", "--link", "slow").stdout
    assert 'no such link: "fst"; did you mean "fast"?' in sluicegate("tc", "links.toml", "--link", "fst").stderr
    assert "rate 2Mbit" in slow_alone(tmp_path).lines[1]
    assert "not managed by [queue]" in sluicegate("tc", "links.toml", "--link", "plain").stderr


def test_packets_are_those_of_the_link_s_own_flows(tmp_path: Path) -> None:
    (tmp_path / "links.toml").write_text(LINKS)
    resolved = sg.check(tmp_path / "links.toml", sets={"queue.discipline": "red"})
    lines = {name: linux.lines(resolved, "lo", name).lines[2] for name in ("slow", "fast")}
    assert "min 4500 max 13500 avpkt 900" in lines["slow"]
    assert "min 2500 max 7500 avpkt 500" in lines["fast"]


def test_the_reverse_of_a_two_way_dumbbell(sluicegate: Program) -> None:
    text = {link: sluicegate("tc", "two_way", "--link", link).stdout for link in ("bottleneck", "reverse")}
    assert text["bottleneck"] == text["reverse"]
    told = "with --link bottleneck (10 Mbit/s) or --link reverse (10 Mbit/s) prints those for one"
    assert told in sluicegate("tc", "two_way").stderr
    done = sluicegate("tc", "unresponsive", "--set", "queue.discipline=red", "--link", "reverse")
    assert done.returncode == 2
    assert 'no such link: "reverse"' in done.stderr


def test_the_page_is_right_to_the_letter(tmp_path: Path) -> None:
    follow(Path(__file__).parents[1] / "docs/deploy.md", tmp_path)
