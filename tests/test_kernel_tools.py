"""What tools/kernel.py runs on: whether this machine's own kernel can, and a job in it; names of its lines."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from deploying import structure

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import bpf
import kernel
import own_kernel
from machine import Failed, Machine, Unavailable
from sluicegate.deploy import linux_bpf
from sluicegate.live import bpf_queues


def fake(folder: Path, name: str, said: str = "") -> None:
    (folder / name).write_text(f"#!/bin/sh\necho '{said}'\n")
    (folder / name).chmod(0o755)


def test_whether_its_own_kernel_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    btf = tmp_path / "btf"
    assert "does not describe its types" in str(own_kernel.lacking(btf))
    btf.write_bytes(b"\0bpf_struct_ops_tcp_congestion_ops\0")
    assert "no queue disciplines in BPF" in str(own_kernel.lacking(btf))
    btf.write_bytes(b"\0bpf_struct_ops_tcp_congestion_ops\0bpf_struct_ops_Qdisc_ops\0int\0")
    assert own_kernel.lacking(btf) == "bpftool, ip, tc, unshare, mount not found"
    for name in own_kernel.TOOLS:
        fake(tmp_path, name)
    fake(tmp_path, "bpftool", "bpftool v7.1.0")
    assert "bpftool 7.5 or later is needed, here is ['bpftool v7.1.0']" in str(own_kernel.lacking(btf))
    fake(tmp_path, "bpftool", "bpftool v7.10.0")
    assert own_kernel.lacking(btf) is None
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert own_kernel.lacking(btf) == "needs root"


def test_the_machine_is_its_own_where_that_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_kernel, "lacking", lambda: None)
    here = kernel.machine_here(None, tmp_path)
    assert (here.clock, "this machine's own" in here.about) == ("ns", True)
    monkeypatch.setattr(own_kernel, "lacking", lambda: "no")
    with pytest.raises(Unavailable, match="this machine: no"):
        kernel.machine_here("own", tmp_path)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="namespaces need root")
def test_a_job_in_its_own_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has its files, a network and mounts of its own, and an output; nothing is left of it."""
    monkeypatch.setattr(own_kernel, "lacking", lambda: None)
    output = tmp_path / "output"
    job = "cat one; ip -o link | wc -l; ls /run/netns; ip netns add left; echo kept > $OUTPUT; false; echo not reached"
    said = own_kernel.OwnKernel().run(job, {"one": b"1st\n"}, output=output)
    assert said.split() == ["1st", "1", "job", "ended:", "1"]
    assert output.read_text() == "kept\n"
    assert not Path("/run/netns/left").exists()


def test_lines_are_told_by_their_names() -> None:
    assert kernel.chosen("dcn, choke") == ["choke", "dcn"]
    assert kernel.chosen("choke m=2") == ["choke m=2"]
    with pytest.raises(argparse.ArgumentTypeError, match="no line red2, chok: there are choke, choke m=2, dcn"):
        kernel.chosen("red2,chok")


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="clang-19 is not here: apt-get install clang-19"):
        kernel.compiled(["red"], 5)
    with pytest.raises(Unavailable, match="cc is not here: apt-get install gcc libc6-dev"):
        kernel.generator()
    monkeypatch.setattr(sys, "argv", ["bpf.py", "--check"])
    assert bpf.main() == 2


class Said(Machine):
    """A machine whose jobs print this, and end with this status."""

    def __init__(self, text: str, clock: str = "instructions", status: int = 0) -> None:
        self.text, self.about, self.clock = f"{text}\njob ended: {status}\n", "nothing", clock

    def run(self, job: str, files: Mapping[str, bytes], seconds: int = 600, output: Path | None = None) -> str:
        return self.text


def test_what_costs_too_much_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(kernel, "generator", lambda: b"")
    kernels = ["noqueue", "fq_codel", *(f"{on}tbf+{queue}" for on in ("", "idle/") for queue in ("fq_codel", "choke"))]
    own = [f"{on}sg_{name}" for on in ("", "idle/") for name in ("chokem2", "dcn")]
    costs = dict.fromkeys(kernels, 1000) | dict.fromkeys(own, 1250) | {"sg_chokem2": 1300}
    names = ["choke m=2", "dcn"]

    def said(**others: int) -> str:
        return "".join(f"COST {name} {number}\n" for name, number in (costs | others).items())

    kernel.cost(Said(said()), names, 5)
    assert "   1300   1.30 times tbf + fq_codel" in capsys.readouterr().out, "held to nothing"
    with pytest.raises(SystemExit, match=r"above 1.25 times tbf \+ fq_codel: dcn"):
        kernel.cost(Said(said(sg_dcn=1251)), names, 5)
    with pytest.raises(SystemExit, match="dcn"):
        kernel.cost(Said(said(**{"idle/sg_dcn": 1251})), names, 5)
    kernel.cost(Said(said(sg_dcn=1251), "ns"), names, 5)  # by a clock no two runs are the same
    with pytest.raises(SystemExit, match="COST noqueue"):
        kernel.cost(Said(said().partition("COST idle")[0]), names, 5)


def test_an_object_that_the_verifier_refuses_fails() -> None:
    said = "Registered Qdisc_ops sluicegate\nlibbpf: prog 'sg_enqueue': failed to load\n"
    with pytest.raises(SystemExit, match="failed to load"):
        kernel.load(Said(said), ["red", "dcn"], 5)


def test_a_command_that_fails_in_the_machine_fails() -> None:
    said = 2 * "Registered Qdisc_ops sluicegate\n"
    kernel.load(Said(said), ["red", "dcn"], 5)
    with pytest.raises(SystemExit, match="a command of the job has failed"):
        kernel.load(Said(said, status=1), ["red", "dcn"], 5)
    broken = Said(said)
    broken.text = said  # the machine has ended without a word
    with pytest.raises(SystemExit, match="a command of the job has failed"):
        kernel.load(broken, ["red", "dcn"], 5)


@pytest.mark.parametrize(
    ("reason", "ends"),
    [(Unavailable("clang is not here"), None), (Failed("a job has not ended"), "load failed: a job")],
)
def test_only_what_is_not_here_is_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reason: Exception, ends: str | None
) -> None:
    def part(*_: object) -> None:
        raise reason

    monkeypatch.setattr(kernel, "machine_here", lambda *_: Said(""))
    monkeypatch.setitem(kernel.PARTS, "load", part)
    monkeypatch.setattr(sys, "argv", ["kernel.py", "load"])
    if ends is None:
        kernel.main()
        assert "load skipped: clang is not here" in capsys.readouterr().out
    else:
        with pytest.raises(SystemExit, match=ends):
            kernel.main()


def test_a_late_job_and_a_compiler_that_refuses_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "unshare", "")
    (tmp_path / "unshare").write_text("#!/bin/sh\nexec sleep 9\n")
    fake(tmp_path, "cc", "")
    (tmp_path / "cc").write_text("#!/bin/sh\necho no such thing >&2; exit 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(own_kernel, "lacking", lambda: None)
    with pytest.raises(Failed, match="not ended after 1 s"):
        own_kernel.OwnKernel().run("", {}, 1)
    with pytest.raises(Failed, match=r"cc -O2.*no such thing"):
        kernel.generator()


def test_no_calls_repeated_prove_nothing() -> None:
    made = linux_bpf.parameters(kernel.resolved("dcn", 5))
    nothing = kernel.trace(bytes(kernel.KEPT * (kernel.CALL + 8)), made)
    with pytest.raises(SystemExit, match="dcn: not repeated"):
        kernel.repeat("dcn", nothing)


def test_other_objects_beside_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two queues of Sluicegate's the one that the job has loaded is looked at."""
    monkeypatch.setattr(kernel, "generator", lambda: b"")
    wanted = linux_bpf.laid_out(kernel.resolved("dcn", 5, "12 Mbit/s", "q_ref = 40"), generation=2)
    count = {"arrivals": 4000, "departures": 3000, "drops": [0, 1000, 0, 0, 0, 0], "max_packets": 9}
    now = {"packets": 0, "bytes": 0, "owner": 1}
    answers: dict[str, object] = {
        f"struct_ops dump name {bpf_queues.OBJECT}": [
            {"bpf_struct_ops_Qdisc_ops": {"data": {"id": name, "enqueue": f"sg_enqueue/prog_id:{program}"}}}
            for name, program in (("choke_eth0", 1), ("sg_dcn", 2))
        ]
    }
    for program, made in ((1, linux_bpf.laid_out(kernel.resolved("choke", 5))), (2, wanted)):
        numbers = structure(made.numbers)
        answers[f"prog show id {program}"] = {"map_ids": [program, program + 10]}
        variables = {".data": {"wanted": numbers}, ".bss": {"q": now, "live": numbers, "count": count}}
        for number, (name, content) in zip((program, program + 10), variables.items(), strict=True):
            value = {name: [{variable: each} for variable, each in content.items()]}
            answers[f"map show id {number}"] = {"name": f"x{name}"}
            answers[f"map dump id {number}"] = [{"value": ["0x00"], "formatted": {"value": value}}]
    said = "".join(f"ASKED {words}\n{json.dumps(answer)}\n" for words, answer in answers.items())
    monkeypatch.setattr(bpf_queues, "bpftool", bpf_queues.bpftool)  # is put back
    kernel.use(Said(f"REFUSED\n{said}"), ["dcn"], 5)
    assert "1 other queues refused; 4000 arrivals = 3000 + 1000 + 0" in capsys.readouterr().out
