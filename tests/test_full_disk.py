"""A full disk is one line with the path and the cause, exit code 2, and nothing half-written.

The limit of a process on the size of files stands for the disk: writing fails in the same calls, with "File too large".
Where a small file system can be mounted, it is really full.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import PROGRAM, Program

import sluicegate as sg
from sluicegate.reproduce import Settings, reproduce

CAPTURE = str(Path(__file__).parent / "captures" / "dumbbell.pcap")
SHORT = ["--set", "run.duration=20 s", "--set", "run.warmup=2 s"]
RUN = ["run", "unresponsive", *SHORT]
THEORY = ["theory", "choke", "--tcp", "32", "--udp", "0.1..10 Mbit/s", "--rate", "1 Mbit/s", "--rtt", "100 ms"]

COMMANDS = {
    "run": ([*RUN, "-o", "out"], "out"),
    "run with a capture": ([*RUN, "--pcap", "bottleneck", "-o", "out"], "out/bottleneck.pcapng"),
    "a capture": ([*RUN, "--pcap", "bottleneck=sent.pcapng"], "sent.pcapng"),
    "qlog": ([*RUN, "--qlog", "1=flow.sqlog"], "flow.sqlog"),
    "Flent's file": ([*RUN, "--flent", "run.flent.gz"], "run.flent.gz"),
    "compare": (["compare", "unresponsive", *SHORT, "--disciplines", "drop_tail,choke", "--seeds", "2", "-o", "out"],
                "out/runs.sqlite"),
    "sweep": (["sweep", "unresponsive", *SHORT, "--over", "queue.min_th=5,10", "-o", "out"], "out/runs.sqlite"),
    "replay": (["replay", CAPTURE, "--rate", "1 Mbit/s", "-o", "out"], "out"),
    "a replayed capture": (["replay", CAPTURE, "--rate", "1 Mbit/s", "--write", "sent.pcapng"], "sent.pcapng"),
    "theory": ([*THEORY, "-o", "out"], "out"),
}  # fmt: skip


def told(done: subprocess.CompletedProcess[str], place: Path, cause: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {place}: {cause}\n"


@contextmanager
def full() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_result_that_does_not_fit_is_told_and_nothing_is_left(
    command: str, tmp_path: Path, sluicegate: Program
) -> None:
    words, place = COMMANDS[command]
    with full():
        done = sluicegate(*words)
    cause = "disk I/O error" if command in ("compare", "sweep") else "File too large"
    told(done, tmp_path / place, cause)
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    short = Settings(seeds=(4,), duration_s=10, warmup_s=2, sample_s=2)
    with full(), pytest.raises(OSError, match="disk I/O error") as caught:
        reproduce("choke1999", tmp_path / "out", settings=short)
    assert caught.value.filename == str(tmp_path / "out" / "runs.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_an_old_result_stays_when_a_new_one_does_not_fit(tmp_path: Path) -> None:
    run = sg.run("unresponsive", sets={"run.duration": "5 s", "run.warmup": "1 s"})
    run.write(tmp_path)
    old = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with full(), pytest.raises(OSError, match="File too large"):
        run.write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == old


@pytest.mark.parametrize("command", ["run", "run with a capture", "sweep", "replay"])
def test_a_small_file_system_that_is_full(command: str, tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    words, place = COMMANDS[command]
    mount = f"mount -t tmpfs -o size=16k none {tmp_path} || exit 77; cd {tmp_path}"
    script = f'{mount}; "$@"; status=$?; ls -A; exit $status'
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", PROGRAM, *words],
        capture_output=True, encoding="utf-8",
    )  # fmt: skip
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"not permitted here: {done.stderr.splitlines()[0]}")
    told(done, tmp_path / place, "database or disk is full" if command == "sweep" else "No space left on device")
