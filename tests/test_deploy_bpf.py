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
from pathlib import Path

import pytest
from conftest import Program
from deploying import checked

from sluicegate import _core
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
    path = tmp_path / f"{name}_eth0.o"
    assert [shlex.split(line)[0] for line in lines] == ["ethtool", "bpftool", "tc"]
    assert shlex.split(lines[1]) == ["bpftool", "struct_ops", "register", str(path), f"/sys/fs/bpf/{name}_eth0"]
    assert lines[2] == f"tc qdisc replace dev eth0 root {name}_eth0"
    assert done.stdout.count("# to undo it: ") == 3
    content = path.read_bytes()
    assert content.startswith(b"\x7fELF")
    assert content.count(f"{name}_eth0\0".encode()) == 1
    unit = (tmp_path / f"{name}_eth0.service").read_text()
    assert re.findall("^ExecStart=(.*)$", unit, re.M) == [f"-{lines[0]}", *lines[1:]]
    assert len(os.listdir(tmp_path)) == 2


def test_parameters_are_those_of_the_link(tmp_path: Path) -> None:
    """struct link at the head, CHOKe's candidates, draw and generation at the end."""
    queue = 'discipline = "choke"\nlimit = 77\ncandidates = 3\ndraw = "back"'
    resolved = checked(tmp_path, queue, 'framing = "atm"')
    made = linux_bpf.parameters(resolved, generation=9)
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
        ('discipline = "choke"\ndraw = "geometric"', "draw: random, front or back only"),
        ('discipline = "fq"', "fq has no counterpart in a BPF object; these have one: afd, blue, choke"),
    ],
)
def test_what_no_object_does_is_refused(tmp_path: Path, queue: str, said: str) -> None:
    with pytest.raises(Undeployable, match=said):
        linux_bpf.lines(checked(tmp_path, queue), "eth0")


def test_long_names_of_interfaces_keep_their_ends() -> None:
    assert linux_bpf.queue_name("choke", "enp0s31f6") == "choke_enp0s31f6"
    assert linux_bpf.queue_name("choke", "wlx001122334455") == "choke_122334455"


def test_names_that_the_kernel_and_systemd_take(tmp_path: Path) -> None:
    """bpf_obj_name_cpy and bpf_lookup of the kernel, and units of devices as systemd-escape has them."""
    assert linux_bpf.queue_name("dcn", "br-lan") == "dcn_br_lan"
    assert linux_bpf.queue_name("dcn", "eth0.100") == "dcn_eth0_100"
    done = linux_bpf.lines(checked(tmp_path, 'discipline = "dcn"'), "a-b%c")
    unit = done.files["dcn_a_b_c.service"].decode()
    assert unit.count("sys-subsystem-net-devices-a\\x2db\\x25c.device") == 3
    assert "\nExecStart=tc qdisc replace dev a-b%%c root dcn_a_b_c\n" in unit


def test_nothing_loaded_is_an_empty_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "bpftool"
    tool.write_text("#!/bin/sh\necho '[]'\nexit 255\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert bpf_queues.bpftool("struct_ops", "dump", "name", "x") == []


def test_an_object_goes_somewhere(sluicegate: Program) -> None:
    for words, said in [
        (["--bpf"], "say where, -o DIR"),
        (["-o", "x"], "belongs to --bpf"),
        (["--bpf", "--freebsd"], "leave out"),
    ]:
        done = sluicegate("tc", "unresponsive", *words)
        assert done.returncode == 2
        assert said in done.stderr


def fake_bpftool(folder: Path, log: Path, loaded: str) -> dict[str, str]:
    """A bpftool that says what the kernel's said of a queue of DCN, and writes down what it is asked to change."""
    count = {
        "arrivals": 7,
        "departures": 4,
        "departed_bytes": 4000,
        "drops": [0, 1, 1, 0, 0, 0, 0, 0],
        "max_packets": 3,
    }
    link = {"rate": 1_000_000}
    bss = {"q": {"packets": 1, "bytes": 1000, "owner": 5}, "live": {"link": link}, "count": count}
    variables = {".bss": bss, ".data": {"wanted": {"generation": 4}}}
    answers: dict[str, object] = {
        f"struct_ops dump name {OBJECT}": [
            {"bpf_map_info": {}},
            {"bpf_struct_ops_Qdisc_ops": {"data": {"id": loaded, "enqueue": "int (…) sg_enqueue/prog_id:7"}}},
        ],
        "prog show id 7": {"map_ids": [2, 6, 7]},
        "map show id 2": {"name": "ring"},
        "map show id 6": {"name": "dcn_eth0.data"},
        "map show id 7": {"name": "dcn_eth0.bss"},
    }
    for number, name in ((7, ".bss"), (6, ".data")):
        value = {name: [{variable: content} for variable, content in variables[name].items()]}
        answers[f"map dump id {number}"] = [{"formatted": {"value": value}}]
    tool = folder / "bpftool"
    tool.write_text(
        f"#!{sys.executable}\nimport json, sys\nwords = ' '.join(sys.argv[2:])\n"
        f"if words.startswith('map update'): open({str(log)!r}, 'w').write(words); sys.exit()\n"
        f"print(json.dumps({answers!r}[words]))\n"
    )
    tool.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_counters_and_changes(sluicegate: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    monkeypatch.setenv("PATH", fake_bpftool(tmp_path, log, "dcn_eth0")["PATH"])
    (row,) = json.loads(sluicegate("bpf", "--json").stdout)
    assert (row["queue"], row["used"], row["rate_bps"]) == ("dcn_eth0", True, 1_000_000)
    assert (row["arrivals_packets"], row["drops_packets"], row["drops_tail"], row["drops_early"]) == (7, 2, 1, 1)
    assert {f"drops_{reason}" for reason in REASONS} <= row.keys()
    sluicegate("bpf", "unresponsive", "--set", "queue.discipline=dcn", "--set", "queue.q_ref=40", "--dev", "eth0")
    words = log.read_text().split()
    written = bytes.fromhex("".join(words[words.index("value") + 2 :]))
    assert words[:4] == ["map", "update", "id", "6"]
    assert written[-8:] == struct.pack("<Q", 5), "a generation more"
    done = sluicegate("bpf", "unresponsive", "--set", "queue.discipline=afd", "--dev", "eth0")
    assert done.returncode == 2
    assert "no queue afd_eth0 is loaded here; loaded: dcn_eth0" in done.stderr


def test_the_kept_objects_are_those_of_the_sources() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import bpf

    assert bpf.names() == sorted(NAMES)
    if (found := bpf.version(bpf.CLANG)) != bpf.KEPT_BY:
        pytest.skip(f"objects are made by clang {bpf.KEPT_BY}, here is {found or 'none'}")
    for name in bpf.names():
        assert bpf.compiled(name, bpf.CLANG) == (bpf.OBJECTS / f"{name}.o").read_bytes(), f"{name}: run `make bpf`"
