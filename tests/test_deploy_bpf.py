"""`sluicegate tc --bpf` and `sluicegate bpf`: objects, refusals, counters; whether kept objects are fresh.

That the programs decide as the Rust disciplines do is tested in crates/bpf/tests/exact.rs; that a kernel takes them, by
`make kernel`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Program
from deploying import checked, structure

from sluicegate import _core, scenario
from sluicegate.deploy import Undeployable, linux_bpf
from sluicegate.live import bpf_queues
from sluicegate.live.bpf_queues import OBJECT, REASONS

ROOT = Path(__file__).parents[1]
NAMES = _core.bpf_names()


@pytest.mark.parametrize("name", NAMES)
def test_an_object_and_the_lines_that_name_it(sluicegate: Program, tmp_path: Path, name: str) -> None:
    done = sluicegate(
        "tc", "unresponsive", "--set", f"queue.discipline={name}", "--bpf", "--dev", "eth0", "-o", str(tmp_path)
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert done.returncode == 0, done.stderr
    assert [line.endswith(" &&") for line in lines] == [False, False, True, False], "offloads may stay on"
    lines[2] = lines[2].removesuffix(" &&")
    path = tmp_path / f"{name}_eth0.o"
    assert [shlex.split(line)[0] for line in lines] == ["ethtool", "ip", "bpftool", "tc"]
    assert lines[1] == "ip link set dev eth0 gso_max_segs 1"
    assert shlex.split(lines[2]) == ["bpftool", "struct_ops", "register", str(path), f"/sys/fs/bpf/{name}_eth0"]
    assert lines[3] == f"tc qdisc replace dev eth0 root {name}_eth0"
    undo = [line.removeprefix("# to undo it: ") for line in done.stdout.splitlines() if "# to undo it: " in line]
    assert [line.split()[0] for line in undo] == ["tc", "rm", "ip", "ethtool"]
    assert undo[2] == "ip link set dev eth0 gso_max_segs 65535"
    content = path.read_bytes()
    assert content.startswith(b"\x7fELF")
    assert content.count(f"{name}_eth0\0".encode()) == 1
    unit = (tmp_path / f"{name}_eth0.service").read_text()
    assert re.findall("^ExecStart=(.*)$", unit, re.M) == [*(f"-{line}" for line in lines[:2]), *lines[2:]]
    assert re.findall("^ExecStopPost=-(.*)$", unit, re.M) == undo
    assert len(os.listdir(tmp_path)) == 2


def test_parameters_are_those_of_the_link(tmp_path: Path) -> None:
    """struct link at the head, CHOKe's candidates, draw and generation at the end."""
    queue = 'discipline = "choke"\nlimit = 77\ncandidates = 3\ndraw = "back"'
    resolved = checked(tmp_path, queue, 'framing = "atm"')
    made = linux_bpf.laid_out(resolved, generation=9).content
    assert struct.unpack_from("<QIIIIQQ", made) == (12_000_000, 40, 0, 1, 0, 77, 2**64 - 1)
    assert struct.unpack_from("<IIQ", made, len(made) - 16) == (3, 2, 9)
    assert made in linux_bpf.lines(resolved, "eth0").files["choke_eth0.o"].replace(
        struct.pack("<IIQ", 3, 2, 1), struct.pack("<IIQ", 3, 2, 9)
    )


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ('discipline = "dcn"\naction = "mark"', "dcn as a BPF object: action: a BPF queue cannot mark"),
        ('discipline = "red"\ngentle = true', "red as a BPF object: gentle: not in the program"),
        ('discipline = "choke"\nlimit = 9000', "limit in packets: at most 8183, not 9000"),
        ('discipline = "pi"\nlimit = "13 MB"', "limit in bytes: at most 12274500, not 13000000"),
        ('discipline = "choke"\ndraw = "geometric"', "draw: random, front or back only"),
        ('discipline = "fq"', "fq has no counterpart in a BPF object; these have one: afd, blue, choke"),
    ],
)
def test_what_no_object_does_is_refused(tmp_path: Path, queue: str, said: str) -> None:
    with pytest.raises(Undeployable, match=said):
        linux_bpf.lines(checked(tmp_path, queue), "eth0")


def test_a_limit_in_bytes_is_one_of_packets_too(tmp_path: Path) -> None:
    """Twice 8183 packets have slots in the ring, which closes holes when more than half are some."""
    remarks = {}
    for limit in ('"1 MB"', "600"):
        remarks[limit] = linux_bpf.lines(checked(tmp_path, f'discipline = "pi"\nlimit = {limit}'), "eth0").remarks
    said = "the queue also holds at most 8183 packets: packets shorter than 122 B reach that before the limit in bytes"
    assert said in remarks['"1 MB"']
    assert not any("8183" in remark for remark in remarks["600"])


def test_the_kernel_takes_the_objects_licence() -> None:
    """license_is_gpl_compatible of the kernel; its functions for queues are for such programs only."""
    for path in sorted((ROOT / "crates/bpf/objects").glob("*.o")):
        assert b"\0Dual MIT/GPL\0" in path.read_bytes(), path.name


def test_long_names_of_interfaces_keep_their_ends() -> None:
    assert linux_bpf.queue_name("choke", "enp0s31f6") == "choke_enp0s31f6"
    assert linux_bpf.queue_name("choke", "wlx001122334455") == "choke_344555432"


def test_no_two_interfaces_get_one_name() -> None:
    """What replaced or cut letters would make the same."""
    devs = ["br_lan", "br-lan", "br.lan", "wlx001122334455", "wlx991122334455", "wlx-01122334455"]
    names = [linux_bpf.queue_name(name, dev) for name in NAMES for dev in devs]
    assert len(set(names)) == len(names)
    assert {len(name) for name in names} <= set(range(16))
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", name) for name in names)


def test_names_that_the_kernel_and_systemd_take(tmp_path: Path) -> None:
    """bpf_obj_name_cpy and bpf_lookup of the kernel, and units of devices as systemd-escape has them."""
    assert linux_bpf.queue_name("dcn", "br-lan") == "dcn_br_lanef43"
    assert linux_bpf.queue_name("dcn", "eth0.100") == "dcn_th0_100e1ca"
    done = linux_bpf.lines(checked(tmp_path, 'discipline = "dcn"'), "a-b%c")
    unit = done.files["dcn_a_b_c2148.service"].decode()
    assert unit.count("sys-subsystem-net-devices-a\\x2db\\x25c.device") == 3
    assert "\nExecStart=tc qdisc replace dev a-b%%c root dcn_a_b_c2148\n" in unit


def test_nothing_loaded_is_an_empty_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "bpftool"
    tool.write_text("#!/bin/sh\necho '[]'\nexit 255\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert bpf_queues.bpftool("struct_ops", "dump", "name", "x") == []


@pytest.mark.parametrize("answer", ['[{"error": "can\'t get next map: not permitted"}]', '{"error": "not permitted"}'])
def test_what_only_root_may_see(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str) -> None:
    """bpftool says so in a list or not."""
    tool = tmp_path / "bpftool"
    tool.write_text(f"#!/bin/sh\ncat << END\n{answer}\nEND\nexit 255\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for user, end in ((1000, "not permitted; run it as root$"), (0, "not permitted$")):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        with pytest.raises(bpf_queues.Unreadable, match=f"^bpftool struct_ops dump name {OBJECT}: .*{end}"):
            bpf_queues.queues()


def test_an_object_goes_somewhere(sluicegate: Program) -> None:
    for words, said in [
        (["--bpf"], "say where, -o FOLDER"),
        (["-o", "x"], "is only for --bpf"),
        (["--bpf", "--freebsd"], "leave out"),
    ]:
        done = sluicegate("tc", "unresponsive", *words)
        assert done.returncode == 2
        assert said in done.stderr


def fake_bpftool(folder: Path, log: Path, loaded: linux_bpf.Parameters) -> None:
    """A bpftool that says what the kernel's said of a queue of DCN, and writes down what it is asked to change."""
    count = {
        "arrivals": 7,
        "departures": 4,
        "departed_bytes": 4000,
        "drops": [0, 1, 1, 0, 0, 0, 0, 0],
        "max_packets": 3,
    }
    parameters = structure(loaded.numbers)
    bss = {"q": {"packets": 1, "bytes": 1000, "owner": 5}, "live": parameters, "count": count}
    variables = {".bss": bss, ".data": {"wanted": parameters}}
    answers: dict[str, object] = {
        f"struct_ops dump name {OBJECT}": [
            {"bpf_map_info": {}},
            {"bpf_struct_ops_Qdisc_ops": {"data": {"id": "dcn_eth0", "enqueue": "int (…) sg_enqueue/prog_id:7"}}},
        ],
        "prog show id 7": {"map_ids": [2, 6, 7]},
        "map show id 2": {"name": "ring"},
        "map show id 6": {"name": "dcn_eth0.data"},
        "map show id 7": {"name": "dcn_eth0.bss"},
    }
    for number, name in ((7, ".bss"), (6, ".data")):
        value = {name: [{variable: content} for variable, content in variables[name].items()]}
        raw = [f"0x{byte:02x}" for byte in loaded.content]
        answers[f"map dump id {number}"] = [{"value": raw, "formatted": {"value": value}}]
    tool = folder / "bpftool"
    tool.write_text(
        f"#!{sys.executable}\nimport json, sys\nwords = ' '.join(sys.argv[2:])\n"
        f"if words.startswith('map update'): print(words, file=open({str(log)!r}, 'a')); sys.exit()\n"
        f"print(json.dumps({answers!r}[words]))\n"
    )
    tool.chmod(0o755)


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> linux_bpf.Parameters:
    """A queue of DCN of the scenario `unresponsive` on eth0, its parameters the fourth."""
    resolved = scenario.check("unresponsive", sets={"queue.discipline": "dcn"})
    made = linux_bpf.laid_out(resolved, generation=4)
    fake_bpftool(tmp_path, tmp_path / "log", made)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return made


CHANGE = ("bpf", "unresponsive", "--dev", "eth0", "--set", "queue.discipline=dcn", "--set")


def test_counters_and_changes(sluicegate: Program, tmp_path: Path, loaded: linux_bpf.Parameters) -> None:
    (row,) = json.loads(sluicegate("bpf", "--json").stdout)
    assert (row["queue"], row["used"], row["rate_bps"]) == ("dcn_eth0", True, 1_000_000)
    assert (row["arrivals_packets"], row["drops_packets"], row["drops_tail"], row["drops_early"]) == (7, 2, 1, 1)
    assert {f"drops_{reason}" for reason in REASONS} <= row.keys()
    done = sluicegate(*CHANGE, "queue.q_ref=40", "--set", "network.rate=2 Mbit/s")
    assert done.stdout.startswith(
        "dcn_eth0: link.rate 1000000 → 2000000\ndcn_eth0: q_ref 24 → 40\n"
        "the change lasts until the object is loaded again"
    )
    lines = (tmp_path / "log").read_text().splitlines()
    assert {line.partition(" key hex 00 00 00 00 value hex ")[0] for line in lines} == {"map update id 6"}
    before, between, after = (bytes.fromhex(line.partition(" value hex ")[2]) for line in lines)
    assert before == loaded.content[:-8] + bytes(8), "first nobody looks"
    assert between == after[:-8] + bytes(8)
    assert after[-8:] == struct.pack("<Q", 5), "a generation more"
    resolved = scenario.check("unresponsive", sets={"queue.discipline": "dcn", "queue.q_ref": "40"})
    assert after != linux_bpf.laid_out(resolved, generation=5).content, "its rate has changed, too"
    (row,) = json.loads(sluicegate(*CHANGE, "queue.q_ref=40", "--json").stdout)
    assert row["changed"] == {"q_ref": ["24", "40"]}


def test_a_change_is_from_what_was_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until a packet arrives the program has not read it; what is half written (generation 0) it will not read."""
    old, new = (linux_bpf.laid_out(checked(tmp_path, f'discipline = "dcn"\nq_ref = {q_ref}')) for q_ref in (24, 40))
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(bpf_queues, "bpftool", lambda *words: asked.append(words))

    def waiting(generation: int) -> bpf_queues.BpfQueue:
        wanted = structure(new.numbers) | {"generation": generation}
        state = {"q": {"owner": 5}, "live": structure(old.numbers), "wanted": wanted}
        return bpf_queues.BpfQueue(name="x", state=state, data=6, content=new.content)

    assert waiting(2).change(new) == {}
    assert not asked, "nothing to change"
    assert waiting(2).change(old) == {"q_ref": ("40", "24")}
    assert len(asked) == 3
    assert waiting(0).change(new) == {"q_ref": ("24", "40")}
    assert waiting(0).change(old) == {}
    assert len(asked) == 9, "it is whole again"


def test_what_cannot_change_in_use_is_refused(
    sluicegate: Program, tmp_path: Path, loaded: linux_bpf.Parameters
) -> None:
    for change, said in [
        ("queue.discipline=afd", "no queue afd_eth0 is loaded here; loaded: dcn_eth0"),
        ("queue.hb_flows=100", "dcn_eth0: hb_flows (8192 → 100) cannot change while it is in use"),
        ("queue.sb_entries=100", "dcn_eth0: sb_entries (16384 → 100) cannot change while it is in use"),
    ]:
        done = sluicegate(*CHANGE, change)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    assert "dcn_eth0: nothing to change" in sluicegate(*CHANGE, "queue.q_ref=24").stdout
    fake_bpftool(tmp_path, tmp_path / "log", replace(loaded, numbers=loaded.numbers[1:]))
    done = sluicegate(*CHANGE, "queue.q_ref=40")
    assert (done.returncode, "made by another version of Sluicegate" in done.stderr) == (2, True)
    assert not (tmp_path / "log").exists(), "nothing is written"


@pytest.mark.parametrize(
    ("queue", "other"),
    [
        ('discipline = "afd"\nb = 500', "b = 200"),
        ('discipline = "sred"\nzombies = 500', "zombies = 1000"),
        ('discipline = "pi"\np_0 = 0.25', "p_0 = 0.5"),
    ],
)
def test_sizes_of_tables_and_starts_are_fixed(tmp_path: Path, queue: str, other: str) -> None:
    made = linux_bpf.laid_out(checked(tmp_path, queue))
    state = {"q": {"owner": 0}, "wanted": structure(made.numbers)}
    loaded = bpf_queues.BpfQueue(name="x", state=state, data=6, content=made.content)
    changed = linux_bpf.laid_out(checked(tmp_path, f"{queue.partition(chr(10))[0]}\n{other}"))
    with pytest.raises(bpf_queues.Unreadable, match=f"^x: {other.split()[0]} .* cannot change while it is in use"):
        loaded.changed(changed)
    assert loaded.changed(made) == {}


def test_the_kept_objects_are_those_of_the_sources() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import bpf

    assert bpf.names() == sorted(NAMES)
    if (found := bpf.version(bpf.CLANG)) != bpf.KEPT_BY:
        pytest.skip(f"objects are made by clang {bpf.KEPT_BY}, here is {found or 'none'}")
    for name in bpf.names():
        assert bpf.compiled(name, bpf.CLANG) == (bpf.OBJECTS / f"{name}.o").read_bytes(), f"{name}: run `make bpf`"
