"""A command behind a link: what is said of the link, what the program prints and writes, and real packets."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from test_testbed import UNKNOWN as SIMULATED

import sluicegate as sg
from sluicegate import _core
from sluicegate.goals import measures
from sluicegate.live import access
from sluicegate.live.link import plan, read
from sluicegate.live.view import LINES, drawn
from sluicegate.results import Run

UNKNOWN = SIMULATED | {"drops_elsewhere_packets", "retransmissions", "algorithm"}
"""The columns that traffic which comes by itself has not (`crates/py/src/live.rs`)."""

TWO_WAY = """\
network = { rate = "1 Mbit/s", two_way = true }
queue = { discipline = "red" }
flows = [{ kind = "udp", name = "down", rate = "2 Mbit/s" }, { kind = "tcp", name = "up", direction = "reverse" }]
run = { duration = "3 s" }
"""

LIVE: dict[str, Any] = {
    "kernel": "6.0", "duration_s": 3.0, "lateness_p50_ns": 50e3, "lateness_p99_ns": 2e6, "lateness_max_ns": 9_000_000,
    "late_packets": 30, "packets": 100, "longest_turn_ns": 500, "under_way_packets": 2, "kept_up": False,
    "losses": [
        {"end": "command", "device_packets": 4, "unreadable_packets": 0, "datagrams": 0, "segments": 3,
         "refused_packets": 0},
        {"end": "other end", "device_packets": 0, "unreadable_packets": 2, "datagrams": 5, "segments": 0,
         "refused_packets": 6},
    ],
    "command": ["true"], "exit_code": 7, "queues": {"down": {}, "up": {}}, "warnings": ["no name server"],
    "other_packets": {"not_ip_packets": 0}, "peer_exit_code": 3, "fault": None,
}  # fmt: skip


def raw(live: dict[str, Any]) -> Any:
    """What the core's shell would give: a short simulated run without what only a simulator knows."""
    done: Any = _core.run(_core.Scenario(TWO_WAY, "<shell>", []))
    names = {"bottleneck": "down", "reverse": "up"}

    def named(column: Any) -> Any:
        name, dtype, payload = column
        if name != "link" or not isinstance(payload, tuple):
            return column
        return name, dtype, ([names.get(each, each) for each in payload[0]], payload[1])

    tables = {name: [named(c) for c in columns if c[0] not in UNKNOWN] for name, columns in done["tables"].items()}
    rows = Run(done).flows.height
    codes = b"".join(i.to_bytes(4, "little") for i in range(rows))
    texts = [f"10.0.0.1:{i} > 10.0.0.2:80 tcp" for i in range(rows)]
    tables["flows"].append(("flow_name", "str", (texts, codes)))
    return {"summary": json.dumps(json.loads(done["summary"]) | {"live": live}), "tables": tables}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A core that runs nothing: what it was asked for."""
    found: list[dict[str, Any]] = []

    def shell(text: str, name: str, sets: Any, up_sets: Any, options: str, told: Any = None, make: Any = None) -> Any:
        found.append({"text": text, "sets": sets, "up_sets": up_sets, **json.loads(options)})
        return raw(LIVE)

    monkeypatch.setattr(_core, "shell", shell, raising=False)
    monkeypatch.setattr(access, "privileged", lambda: True)
    monkeypatch.setattr(access, "require_tun", lambda *_: None)
    return found


# --- what is said of the link -------------------------------------------------------------------


def test_a_direction_is_read_from_a_text_or_a_mapping() -> None:
    side = read("rate=16 Mbit/s, loss=0.01,queue=choke:limit=300:min_th=20,drop=5+8-10,late=7:30 ms+9:5 ms", "down")
    fates = {"drop": "5,8-10", "late": "7:30 ms,9:5 ms"}
    assert side.keys == {"rate": "16 Mbit/s", "loss": "0.01", **fates}
    assert side.queue is not None
    assert side.queue.sets[0] == ("queue.discipline", "choke")
    assert ("queue.choke.min_th", "20") in side.queue.sets
    same = {"rate": "16 Mbit/s", "loss": 0.01, "queue": sg.Codel(), "drop": [5, "8-10"], "late": "7:30 ms,9:5 ms"}
    assert read(same, "down").keys == side.keys
    assert read({"drop": 5}, "down").keys == {"drop": "5"}
    assert read(None, "up").keys == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("rate", 'up: "rate" must be KEY=VALUE'),
        ("drop=5,8-10", 'up: "8-10" must be KEY=VALUE'),
        ("late=7:30 ms,9:5 ms", "write packets as 5+8-10"),
        ("rat=5 Mbit/s", 'up: rat: no such key; did you mean "rate"?'),
        ("queue=red:min_th=5,max_th=15", "up: max_th: no such key of a link; a discipline's values follow it after"),
        ("queue=red:", "up: discipline"),
        ("rate=1 Mbit/s,rate=2 Mbit/s", "up: rate is given twice"),
    ],
)
def test_what_is_wrong_about_a_direction_names_it(given: str, said: str) -> None:
    with pytest.raises(sg.ScenarioError) as error:
        read(given, "up")
    assert said in str(error.value)


def resolved(**given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both directions of a link as the core reads them, up with its own overrides."""
    made = plan({key: given.pop(key, None) for key in ("rate", "delay", "jitter", "loss")}, **given)
    text = (
        made.text
        or TWO_WAY.replace('rate = "1 Mbit/s", ', "").partition("queue")[0] + TWO_WAY[TWO_WAY.index("flows") :]
    )
    about = [_core.Scenario(text, made.name, [*made.sets, *more]).resolved() for more in ([], made.up_sets)]
    down, up = about[0]["network"], about[1]["network"]["reverse"]
    return down | {"queue": about[0]["queue"]["discipline"]}, up | {"queue": about[1]["queue"]["discipline"]}


def test_arguments_hold_for_both_directions() -> None:
    for way in resolved(rate="5 Mbit/s", delay="10 ms", loss=0.1):
        assert (way["rate"], way["delay"], way["loss"], way["queue"]) == ("5 Mbit/s", "10 ms", 0.1, "drop_tail")


def test_a_direction_holds_for_itself_alone() -> None:
    down, up = resolved(rate="5 Mbit/s", down="rate=9 Mbit/s,loss=0.2,queue=red", up="delay=7 ms")
    assert (down["rate"], down["loss"], down["delay"], down["queue"]) == ("9 Mbit/s", 0.2, "1 ms", "red")
    assert (up["rate"], up["loss"], up["delay"], up["queue"]) == ("5 Mbit/s", 0.0, "7 ms", "drop_tail")
    down, up = resolved(rate="5 Mbit/s", queue="choke", up="queue=codel")
    assert (down["queue"], up["queue"]) == ("choke", "codel")


def test_a_rate_of_one_direction_serves_both_where_there_is_no_other() -> None:
    down, up = resolved(down="rate=9 Mbit/s,loss=0.2")
    assert (down["rate"], up["rate"], down["loss"], up["loss"]) == ("9 Mbit/s", "9 Mbit/s", 0.2, 0.0)


def test_a_trace_of_one_direction_leaves_the_other_its_rate() -> None:
    down, up = resolved(rate="5 Mbit/s", down="trace=lte")
    assert (down["trace"], up["rate"], up.get("trace")) == ("lte", "5 Mbit/s", None)


def test_the_link_of_a_scenario() -> None:
    down, up = resolved(link="dsl", down="loss=0.1")
    assert (down["rate"], up["rate"]) == ("16 Mbit/s", "1 Mbit/s")
    assert (down["loss"], up["loss"], down["queue"], up["queue"]) == (0.1, 0.0, "fq_codel", "fq_codel")
    assert resolved(link="dsl", down="queue=red")[1]["queue"] == "fq_codel"
    assert [way["rate"] for way in resolved(link="dsl", rate="3 Mbit/s")] == ["3 Mbit/s", "3 Mbit/s"]


def test_classes_of_ones_own_on_both_sides() -> None:
    class One(sg.Aqm):
        enqueue = dequeue = None  # type: ignore[assignment]

    class Two(One):
        pass

    made = plan({"rate": "1 Mbit/s"}, queue=One, up={"queue": Two})
    names = [dict(pairs)["queue.discipline"] for pairs in (made.sets, made.up_sets)]
    assert [made.maker.factories[name] for name in names] == [One, Two]


# --- the program --------------------------------------------------------------------------------


def test_the_exit_code_is_the_commands_and_the_report_goes_to_standard_error(
    sluicegate: Program, asked: list[dict[str, Any]], tmp_path: Path
) -> None:
    done = sluicegate(
        "shell", "--rate", "5 Mbit/s", "--queue", "choke:limit=300", "--down", "drop=5+8-10", "--peer", "serve -p 1",
        "--sysctl", "net.ipv4.tcp_ecn=1", "--mtu", "1400", "--seed", "3", "-o", "out", "--", "ls", "-l", "--", "-o",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, "")
    [call] = asked
    assert call["command"] == ["ls", "-l", "--", "-o"]
    assert (call["world"], call["peer"]) == (False, ["/bin/sh", "-c", "serve -p 1"])
    assert (call["sysctls"], call["mtu"], call["pcap"]) == ({"net.ipv4.tcp_ecn": "1"}, 1400, None)
    sets = {*map(tuple, call["sets"])}
    drop = ("network.drop", "5,8-10")
    assert {("network.rate", "5 Mbit/s"), ("queue.choke.limit", "300"), ("run.seed", "3"), drop} <= sets
    assert "network.reverse.drop" not in dict(sets)
    rows = {line.split()[0]: line.split() for line in done.stderr.splitlines() if line.strip()}
    assert {"down", "up", "warning:", "down:"} <= rows.keys()
    assert "warning: the machine did not keep up: 30 of 100 packets" in done.stderr
    for words in ("4 packets were lost by the device", "3 TCP segments", "5 datagrams", "6 packets were refused"):
        assert words in done.stderr
    assert {"report.html", "run.svg", "summary.json", "links.parquet"} <= {p.name for p in (tmp_path / "out").iterdir()}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Real packets" in page
    assert "The machine did not keep up" in page
    assert "10.0.0.1:0 &gt; 10.0.0.2:80 tcp" in page
    assert Run.read(tmp_path / "out").summary["live"] == LIVE


def test_json_and_quiet(sluicegate: Program, asked: list[dict[str, Any]]) -> None:
    done = sluicegate("shell", "--rate", "5 Mbit/s", "--json", "--peer", "true", "--", "true")
    assert json.loads(done.stderr)["summary"]["live"]["exit_code"] == done.returncode == 7
    done = sluicegate("shell", "--rate", "5 Mbit/s", "--quiet", "--", "true")
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
    assert [call["world"] for call in asked] == [False, True]


def test_without_a_command_it_is_the_users_shell(sluicegate: Program, asked: list[dict[str, Any]]) -> None:
    sluicegate("shell", "--rate", "5 Mbit/s", env={"SHELL": "/bin/ash"})
    assert asked[0]["command"] == ["/bin/ash"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--down", "rat=5"], 'error: --down rat: no such key; did you mean "rate"?'),
        (["--sysctl", "x"], "error: --sysctl x: must be KEY=VALUE"),
        (["--queue", "red,choke"], "error: --queue a run has one discipline, not 2"),
        (["--link", "cabel"], 'error: cabel: no such file; did you mean "cable"?'),
    ],
)
def test_mistakes_name_the_option(
    sluicegate: Program, asked: list[dict[str, Any]], arguments: list[str], said: str
) -> None:
    done = sluicegate("shell", *arguments, "--", "true")
    assert (done.returncode, asked) == (2, [])
    assert done.stderr.startswith(said)


@pytest.mark.parametrize(
    ("given", "message", "said"),
    [
        ({"rate": "x"}, 'sets: network.rate = "x": must be a rate', 'rate: "x": must be a rate'),
        ({"up": "loss=7"}, "sets: network.reverse.loss = 7: must be", "up: loss = 7: must be"),
        ({"queue": "foo"}, 'sets: queue.discipline: no such discipline: "foo"', 'queue: no such discipline: "foo"'),
        ({}, "sets: network.rate: must be given", "rate: must be given, or a link that has one"),
        ({"sets": {"network.rate": "y"}}, 'sets: network.rate = "y": no', 'sets: network.rate = "y": no'),
        ({}, 'down: drop: "x": must be a whole number', 'down: drop: "x": must be a whole number'),
    ],
)
def test_the_cores_messages_name_the_argument(given: dict[str, Any], message: str, said: str) -> None:
    assert plan({"rate": given.pop("rate", None)}, **given).told(message) == said


def test_columns_that_only_a_simulator_fills_may_be_absent() -> None:
    done = Run(raw(LIVE | {"kept_up": True, "warnings": []}))
    assert not UNKNOWN & {*done.flows.columns, *done.groups.columns, *done.flow_series.columns}
    assert done.plot() is not None
    assert "Real packets" in done.html()
    assert len(done.remarks()) == 6
    found = measures.measure(*(done.table(name).to_dicts() for name in ("flows", "groups", "links")))
    assert found["down.utilisation"] is not None
    assert Run(_core.run(_core.Scenario(TWO_WAY, "x", []))).remarks() == []


def test_the_view_is_small() -> None:
    from rich.console import Console

    drops = {f"reason{i}": 10**9 for i in range(9)}
    link = {"name": "down", "discipline": "fq_codel", "rate_bps": 5e9, "throughput_bps": 1.0, "queue_packets": 10,
            "queue_bytes": 3, "delay_p50_ms": None, "delay_p99_ms": 3.0, "arrivals": 3, "drops": drops, "marked": 5,
            "lost": 6}  # fmt: skip
    flow = {"name": "10.0.0.1:1 > 10.0.0.2:2 tcp", "link": "down", "throughput_bps": 1e6, "drops": 3}
    status = {
        "time_s": 3.0,
        "links": [link] * 2,
        "flows": [flow] * 8,
        "active_flows": 90,
        "late_packets": 3,
        "lost_outside": 2,
    }
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(drawn(status))
    text = console.export_text()
    assert len(text.splitlines()) <= LINES
    assert "fq_codel" in text


# --- what the process may do --------------------------------------------------------------------


def test_without_rights_python_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "shell", None, raising=False)
    monkeypatch.setattr(access, "privileged", lambda: False)
    with pytest.raises(sg.ScenarioError, match="run Python as root, or by `unshare --user"):
        sg.shell(["true"], rate="1 Mbit/s", peer=["true"])
    with pytest.raises(sg.ScenarioError, match=r"run Python as root$"):
        sg.shell(["true"], rate="1 Mbit/s")
    monkeypatch.delattr(_core, "shell")
    with pytest.raises(sg.ScenarioError, match="need Linux"):
        sg.shell(["true"], rate="1 Mbit/s")


def test_without_root_the_program_starts_again_in_namespaces_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(_core, "shell", None, raising=False)
    monkeypatch.setattr(access, "privileged", lambda: False)
    monkeypatch.setattr(access, "require_tun", lambda *_: None)
    monkeypatch.setattr(access, "require_user_namespaces", lambda *_: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "execvpe", lambda *arguments: started.append(arguments))
    monkeypatch.setattr(sys, "argv", ["sluicegate", "shell", "--peer", "x"])
    with monkeypatch.context() as without:
        without.setattr(shutil, "which", lambda _: None)
        with pytest.raises(sg.ScenarioError, match=r"slirp4netns, which is not installed.*--peer COMMAND"):
            access.enter(None)
    access.enter(["x"])
    [(program, words, environment)] = started
    assert program == "unshare"
    assert words[-5:] == ["-m", "sluicegate", "shell", "--peer", "x"]
    monkeypatch.setenv(access.MARK, environment[access.MARK])
    with pytest.raises(sg.ScenarioError, match="run it as root"):
        access.enter(["x"])
    assert access.MARK not in os.environ  # so that a shell in a shell starts anew


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(access, "TUN", tmp_path / "tun")
    with pytest.raises(sg.ScenarioError, match="tun is missing: load the module"):
        access.require_tun()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(sg.ScenarioError, match="unshare, which is part of util-linux"):
        access.require_user_namespaces()
    setting = tmp_path / "restrict"
    setting.write_text("1\n")
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(access, "NAMESPACES", ("false",))
    monkeypatch.setattr(access, "RULES", ((str(setting), "1", "AppArmor forbids them"),))
    with pytest.raises(sg.ScenarioError, match="AppArmor forbids them"):
        access.require_user_namespaces()
