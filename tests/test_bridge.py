"""A discipline between two real interfaces: what is said of it, without privileges."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAM, Program
from test_shell import LIVE, raw

import sluicegate as sg
from sluicegate import _core
from sluicegate.live import access, served, service

ENDED = {key: value for key, value in LIVE.items() if key not in ("command", "exit_code", "peer_exit_code")}
STATUS: dict[str, Any] = {
    "time_s": 1.0,
    "links": [
        {"name": "down", "discipline": "dcn", "rate_bps": 5e6}, {"name": "up", "discipline": "red", "rate_bps": 1e6},
    ],
    "flows": [], "active_flows": 0, "lost_outside": 0, "late_packets": 0,
}  # fmt: skip

Asked = list[dict[str, Any]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A core that carries nothing: what it was asked for. It tells a warning and then the status, until it is ended."""
    found: Asked = []

    def bridge(text: str, name: str, sets: Any, up_sets: Any, options: str, told: Any = None, make: Any = None) -> Any:
        found.append({"text": text, "sets": sets, "up_sets": up_sets, **json.loads(options)})
        told(json.dumps({"warnings": ["left: no carrier"]}))
        try:
            for _ in range(400 if found[-1]["duration_ns"] is None else 1):
                told(json.dumps(STATUS))
                time.sleep(0.01)
        except StopIteration:
            pass
        return raw(ENDED | {"warnings": ["left: no carrier"], "remarks": ["1 of 4 packets (25 %) are one flow"]})

    monkeypatch.setattr(_core, "bridge", bridge, raising=False)
    monkeypatch.setattr(access, "holds", lambda *_: True)
    return found


def test_what_the_core_is_asked_for(asked: Asked) -> None:
    with pytest.warns(sg.InterfaceWarning, match="left: no carrier"):
        done = sg.bridge("left", "right", rate="5 Mbit/s", queue="dcn", up="queue=choke:limit=30", seed=3, flows=7,
                         duration="2 s", spin="20 us", busy=True)  # fmt: skip
    assert done.links.height == 2
    [call] = asked
    assert call["interfaces"] == ["left", "right"]
    assert (call["duration_ns"], call["warmup_ns"], call["spin_ns"]) == (2_000_000_000, 0, 20_000)
    assert (call["flows"], call["busy"], call["pcap"]) == (7, True, None)
    sets, up = dict(map(tuple, call["sets"])), dict(map(tuple, call["up_sets"]))
    assert (sets["queue.discipline"], up["queue.discipline"], up["queue.choke.limit"]) == ("dcn", "choke", "30")
    assert (sets["network.delay"], sets["network.reverse.delay"], sets["run.seed"]) == ("0 s", "0 s", "3")
    page = done.html()
    assert "Real packets" in page
    assert "exit code" not in page


@pytest.mark.filterwarnings("ignore::sluicegate.InterfaceWarning")
def test_no_delay_is_added_unless_somebody_says_one(asked: Asked) -> None:
    def delay(**given: Any) -> str | None:
        sg.bridge("left", "right", duration="1 s", **given)
        return dict(asked[-1]["sets"]).get("network.delay")

    assert delay(rate="1 Mbit/s") == "0 s"
    assert delay(rate="1 Mbit/s", delay="7 ms") == "7 ms"
    assert delay(rate="1 Mbit/s", down="delay=3 ms") == "3 ms"
    assert delay(link={"network": {"rate": "1 Mbit/s"}}) == "0 s"
    assert delay(link={"network": {"rate": "1 Mbit/s", "delay": "4 ms"}}) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"up": "rat=5"}, 'up: rat: no such key; did you mean "rate"'),
        ({"duration": "5"}, "duration"),
        ({"duration": "0 s"}, "duration"),
    ],
)
def test_mistakes_name_the_argument(asked: Asked, given: dict[str, Any], said: str) -> None:
    with pytest.raises(sg.ScenarioError) as error:
        sg.bridge("left", "right", rate="1 Mbit/s", **given)
    assert str(error.value).startswith(said)
    assert asked == []


def test_a_warning_that_is_an_error_ends_the_bridge_in_order(asked: Asked) -> None:
    with warnings.catch_warnings(), pytest.raises(sg.InterfaceWarning, match="no carrier"):
        warnings.simplefilter("error")
        sg.bridge("left", "right", rate="1 Mbit/s")


def test_without_rights_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, sluicegate: Program) -> None:
    monkeypatch.setattr(_core, "bridge", None, raising=False)
    monkeypatch.setattr(access, "holds", lambda *_: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = sluicegate("bridge", "left", "right", "--rate", "1 Mbit/s")
    assert done.returncode == 2
    assert done.stderr == (
        "error: bridge: needs the rights of root (CAP_NET_RAW and CAP_NET_ADMIN): run it with sudo\n"
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "--cap-add NET_RAW" in sluicegate("bridge", "left", "right", "--rate", "1 Mbit/s").stderr
    monkeypatch.delattr(_core, "bridge")
    assert "need Linux" in sluicegate("bridge", "left", "right").stderr


def test_packets_are_shown_in_a_page(
    sluicegate: Program, asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "PAGE", tmp_path / "page.html")
    command = ("bridge", "left", "right", "--rate", "5 Mbit/s", "--duration", "1 s")
    assert "the page was not built" in sluicegate(*command, "--live").stderr
    (tmp_path / "page.html").write_text("<title>page</title>")
    done = sluicegate(*command, "--live")
    assert re.search(r"live view: http://127\.0\.0\.1:\d+/[-\w]+/#live\n", done.stderr)
    sluicegate(*command)
    assert [call["packets"] for call in asked] == [True, False]


def test_the_program_tells_warnings_readiness_and_results(sluicegate: Program, asked: Asked, tmp_path: Path) -> None:
    done = sluicegate("bridge", "left", "right", "--rate", "5 Mbit/s", "--duration", "1 s", "-o", "out")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: left: no carrier\nready: down dcn at 5 Mbit/s, up red at 1 Mbit/s\n")
    assert done.stderr.count("no carrier") == 1
    assert "warning: 1 of 4 packets (25 %) are one flow\n" in done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines() if line.strip()} >= {"down", "up", "results"}
    assert sg.Run.read(tmp_path / "out").summary["live"]["warnings"] == ["left: no carrier"]
    done = sluicegate("bridge", "left", "right", "--rate", "5 Mbit/s", "--duration", "1 s", "--json")
    assert json.loads(done.stdout)["summary"]["live"]["kernel"] == LIVE["kernel"]
    done = sluicegate("bridge", "left", "right", "--rate", "5 Mbit/s", "--duration", "1 s", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = sluicegate("bridge", "left", "right", "--rate", "5 Mbit/s", "--down", "mrak=4")
    assert (done.returncode, done.stderr[:22]) == (2, "error: --down mrak: no")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_a_normal_end(
    sluicegate: Program, asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Beside it, the service manager is told, and counters are in a file as long as it runs."""
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "manager"))
    seen: list[Any] = []

    def rename(source: str, target: Path) -> None:
        os.replace(source, target)
        seen.append((json.loads(target.read_text()), stat.S_IMODE(target.stat().st_mode)))
        if len(seen) == 3:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(service, "EVERY_S", 0.02)
    before = signal.getsignal(number)
    with manager:
        done = sluicegate("bridge", "left", "right", "--rate", "5 Mbit/s", "--counters", "now.json",
                          env={"NOTIFY_SOCKET": str(tmp_path / "manager")})  # fmt: skip
        told = [manager.recv(1000).decode() for _ in range(2)]
    assert done.returncode == 0, done.stderr
    assert signal.getsignal(number) is before
    assert told == ["READY=1\nSTATUS=down dcn at 5 Mbit/s, up red at 1 Mbit/s", "STOPPING=1"]
    assert not (tmp_path / "now.json").exists()
    assert {mode for _, mode in seen} == {0o644}
    first, *_, last = (each for each, _ in seen)
    assert (first["interfaces"], first["pid"], first["links"]) == (["left", "right"], os.getpid(), [])
    assert STATUS.items() <= last.items()
    assert abs(last["updated_s"] - time.time()) < 60


def test_counters_that_cannot_be_written(sluicegate: Program, asked: Asked, tmp_path: Path) -> None:
    done = sluicegate("bridge", "left", "right", "--rate", "5 Mbit/s", "--counters", "none/now.json")
    assert (done.returncode, asked) == (2, [])
    assert done.stderr == "error: none/now.json: No such file or directory\n"
    (tmp_path / "gone").mkdir()
    counters = service.Counters(tmp_path / "gone" / "now.json", ("left", "right"))
    shutil.rmtree(tmp_path / "gone")
    with pytest.warns(sg.ScenarioWarning, match="its counters are old"):
        counters.update(STATUS)
    counters.due = 0.0
    counters.update(STATUS)  # is told once


def test_no_service_manager_is_no_mistake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "none"))
    service.notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "@sluicegate-none")
    service.notify("READY=1")


def test_the_unit_is_one_that_systemd_accepts(process: Program, tmp_path: Path) -> None:
    printed = process("bridge", "--unit").stdout
    assert f"ExecStart={PROGRAM} bridge ${{UPSTREAM}} ${{DOWNSTREAM}}" in printed
    assert service.PROGRAM not in printed
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    place = tmp_path / "sluicegate-bridge@home.service"
    place.write_text(printed)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", place], capture_output=True, text=True)
    # Other units of this machine may have mistakes of their own.
    said = [line for line in (done.stdout + done.stderr).splitlines() if "sluicegate" in line]
    assert (done.returncode, said) == (0, [])
