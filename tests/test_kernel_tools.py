"""What tools/kernel.py runs on: whether this machine's own kernel can, and a job in it; names of its lines."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import bpf
import kernel
import own_kernel
from machine import Unavailable


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
    with pytest.raises(Unavailable, match="cc is not here"):
        kernel.generator()
    monkeypatch.setattr(sys, "argv", ["bpf.py", "--check"])
    assert bpf.main() == 2
