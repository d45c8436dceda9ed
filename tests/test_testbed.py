"""Scenarios between real hosts: what is done, replaced and refused, simulation beside real hosts, and real packets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Program
from test_shell_packets import real

import sluicegate as sg
from sluicegate import _core
from sluicegate.experiments import real_hosts
from sluicegate.goals.measures import GROUP
from sluicegate.live import access

UNKNOWN = {
    "fast_retransmits", "timeouts", "mark_responses", "quench_responses", "quenches", "recent_share", "recent_expected",
    "recent_packets", "recent_p_value", "window_cuts", "ssthresh_segments", "in_flight_bytes",
}  # fmt: skip
"""The columns that only a simulator fills (`crates/live/src/report.rs`)."""

SCENARIO = """\
network = { rate = "1 Mbit/s" }
queue = { discipline = "red", min_th = 5, max_th = 15, limit = 50 }
flows = [
    { kind = "tcp", name = "bulk", count = 2, profile = "ns2", algorithm = "sack", min_rto = "300 ms" },
    { kind = "udp", name = "flood", rate = "400 kbit/s" },
]
run = { duration = "3 s", warmup = "1 s" }
"""

END = {"device_packets": 0, "unreadable_packets": 0, "datagrams": 0, "segments": 0, "refused_packets": 0}
LIVE: dict[str, Any] = {
    "kernel": "6.0", "duration_s": 3.0, "lateness_p50_ns": 50e3, "lateness_p99_ns": 2e6, "lateness_max_ns": 9_000_000,
    "late_packets": 0, "packets": 100, "longest_turn_ns": 500, "under_way_packets": 2, "kept_up": True,
    "losses": [{"end": "senders", **END}, {"end": "receivers", **END}], "unsent_datagrams": 0, "failed_connections": 0,
    "stranger_packets": 0, "fault": None, "hosts_latest_ns": 5, "algorithms": {}, "sysctls": {},
}  # fmt: skip
LATE = {"kept_up": False, "late_packets": 7}


class Stub:
    """A core whose real hosts are simulated ones: what it was asked for, and how its clock was kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[dict[str, Any]] = []
        self.live: dict[str, Any] = {}
        self._given: list[tuple[Any, tuple[Any, ...]]] = []
        self._read = _core.Scenario
        monkeypatch.setattr(_core, "Scenario", self.read)
        monkeypatch.setattr(_core, "testbed", self, raising=False)

    def read(self, *given: Any) -> Any:
        """A scenario, of which it is remembered what it was read from."""
        self._given.append((self._read(*given), given))
        return self._given[-1][0]

    def __call__(self, scenario: Any, options: str, told: Any = None, make: Any = None) -> Any:
        [(text, name, sets)] = [given for each, given in self._given if each is scenario]
        self.asked.append({"text": text, "sets": dict(sets), **json.loads(options)})
        if told is not None:
            told(json.dumps({"time_s": 1.0}))
        done: Any = _core.run(self._read(text, name, [*sets, ("network.delay", "3 ms")]), None, make)
        tables = {name: [c for c in columns if c[0] not in UNKNOWN] for name, columns in done["tables"].items()}
        return {"summary": json.dumps(json.loads(done["summary"]) | {"live": LIVE | self.live}), "tables": tables}


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    core = Stub(monkeypatch)
    monkeypatch.setattr(access, "privileged", lambda: True)
    monkeypatch.setattr(access, "require_tun", lambda: None)
    return core


def warned(*arguments: Any, **named: Any) -> tuple[sg.Run, list[str]]:
    """A run between real hosts, and what was said of it."""
    with pytest.warns(sg.RealHostsWarning) as record:
        done = sg.testbed(*arguments, **named)
    return done, [str(each.message) for each in record if each.category is sg.RealHostsWarning]


# --- what is said -------------------------------------------------------------------------------


def test_arguments_are_those_of_simulate_and_of_real_hosts(stub: Stub) -> None:
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms")
    seen: list[Any] = []
    done = sg.testbed(
        net, [sg.Tcp(2, name="bulk"), sg.Udp(rate="400 kbit/s")], queue="choke:limit=30",
        sets={"flows.1.rate": "1 Mbit/s"},
        duration="2 s", warmup="1 s", seed=7, algorithms={"bulk": "bbr"}, sysctls={"net.ipv4.tcp_sack": 0}, busy=True,
        progress=seen.append,
    )  # fmt: skip
    [call] = stub.asked
    assert call["sets"]["queue.discipline"] == "choke"
    assert (call["sets"]["run.seed"], call["sets"]["flows.1.rate"]) == ("7", "1 Mbit/s")
    assert (call["algorithms"], call["sysctls"]) == ({"bulk": "bbr"}, {"net.ipv4.tcp_sack": "0"})
    assert (call["busy"], call["pcap"], seen) == (True, None, [{"time_s": 1.0}])
    assert done.remarks() == []
    assert not UNKNOWN & {*done.flows.columns, *done.groups.columns}
    sg.testbed(net, sg.Udp(rate="1 Mbit/s"), duration="2 s", algorithms="bbr")
    assert stub.asked[1]["algorithms"] == {"*": "bbr"}


def test_what_the_kernel_replaces_is_said_once(stub: Stub) -> None:
    done, said = warned(SCENARIO, sets={"flows.0.delayed_ack": "0 s", "flows.0.algorithm": "newreno"})
    assert said == [
        "bulk: the kernel's TCP ignores profile, min_rto, delayed_ack",
        "bulk: the kernel's reno recovers from losses by SACK, unlike newreno of the papers' hosts; profile = linux "
        "simulates the kernel's",
    ]
    assert done.remarks() == said
    assert "TCP ignores profile, min_rto" in done.html()
    assert warned(SCENARIO, sets={"flows.0.algorithm": "newreno"}, algorithms="bbr")[1] == [
        "bulk: the kernel's TCP ignores profile, min_rto"
    ]


def test_nothing_is_said_of_linux_hosts_but_where_they_are_told_to_differ(stub: Stub) -> None:
    text = SCENARIO.replace('profile = "ns2", algorithm = "sack", min_rto = "300 ms"', 'algorithm = "newreno"')
    assert sg.testbed(text).remarks() == []
    assert sg.testbed(sg.check(text)).remarks() == []  # with all values given
    said = ["bulk: the kernel's TCP ignores min_rto"]
    assert warned(text, sets={"flows.0.min_rto": "300 ms"})[1] == said


def test_what_an_algorithm_brings_along_and_the_kernel_keeps_is_said(stub: Stub) -> None:
    text = SCENARIO.replace('profile = "ns2", algorithm = "sack", min_rto = "300 ms"', 'algorithm = "vegas"')
    brings = "bulk: algorithm = vegas implies profile = ns2; real hosts use its"
    assert warned(text)[1] == [
        f"{brings} window = 20 packets and packet_size = 1000 B, too; set other values to change that"
    ]
    assert warned(text, sets={"flows.0.window": "1 MB"})[1][0].startswith(f"{brings} packet_size = 1000 B, too;")
    stated = {"flows.0.window": "1 MB", "flows.0.packet_size": "1500 B"}
    assert sg.testbed(text, sets=stated).remarks() == []


def test_every_key_of_a_host_is_decided() -> None:
    declared = {each["name"]: each for each in json.loads(_core.declarations())["sources"]}
    datagrams = {field["name"] for field in declared["udp"]["fields"]}
    host = {field["name"] for field in declared["tcp"]["fields"]} - (datagrams - {"ecn"})
    done = {"algorithm", "window", "ecn", "size"}
    assert host == done | {*real_hosts.REPLACED} | {*real_hosts.REFUSED}


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ({"flows.0.handshake": False}, "flows.0.handshake = false: impossible between real hosts: the kernel opens"),
        ({"flows.0.send_jitter": "1 ms"}, 'flows.0.send_jitter = "1 ms": impossible between real hosts'),
        ({"flows.0.profile": "freebsd45", "flows.0.ns2_rules": True}, "flows.0.ns2_rules = true: impossible"),
        ({"flows.0.profile": "linux", "flows.0.closing": False}, "flows.0.closing = false: impossible"),
        ({"queue.discipline": "source_quench"}, "hosts of today ignore source quench"),
    ],
)
def test_what_real_hosts_cannot_do_is_refused_with_the_reason(stub: Stub, sets: dict[str, Any], said: str) -> None:
    with pytest.raises(sg.ScenarioError) as error:
        sg.testbed(SCENARIO, sets=sets)
    assert said in str(error.value)
    assert stub.asked == []


def test_a_run_that_was_simulated_is_repeated_between_real_hosts(stub: Stub) -> None:
    """All values are given there; what the profile says is replaced, and not refused."""
    resolved = sg.simulate(SCENARIO).summary["scenario"]
    said = warned(resolved)[1][0]
    assert "TCP ignores profile, header_size" in said


def test_wrong_arguments(stub: Stub) -> None:
    with pytest.raises(sg.ScenarioError, match='algorithms: bluk: no such group of flows; did you mean "bulk"'):
        sg.testbed(SCENARIO, algorithms={"bluk": "bbr"})
    with pytest.raises(TypeError, match="algorithms: expected a mapping"):
        sg.testbed(SCENARIO, algorithms=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sysctls: expected a mapping"):
        sg.testbed(SCENARIO, sysctls="x=1")  # type: ignore[arg-type]
    with pytest.raises(sg.ScenarioError, match="algorithms: is only for runs between real hosts"):
        sg.compare(SCENARIO, disciplines="red", algorithms="bbr")


def test_without_rights_it_says_what_to_do(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "privileged", lambda: False)
    with pytest.raises(sg.ScenarioError, match=r"testbed: needs the rights of root .* by `unshare --user"):
        sg.testbed(SCENARIO)


def test_what_makes_a_run_doubtful_is_said(stub: Stub) -> None:
    stub.live = LATE
    _, said = warned(SCENARIO)
    assert said[1].startswith("the machine did not keep up: 7 of 100 packets")


# --- the program --------------------------------------------------------------------------------


def test_the_program_prints_what_run_prints(sluicegate: Program, stub: Stub, tmp_path: Path) -> None:
    tmp_path.joinpath("x.toml").write_text(SCENARIO)
    done = sluicegate(
        "testbed", "x.toml", "--algorithm", "cubic", "--algorithm", "bulk=bbr", "--sysctl", "net.ipv4.tcp_sack=0",
        "--seed", "4", "-o", "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    head = sluicegate("run", "x.toml").stdout.splitlines()[:4]
    assert done.stdout.splitlines()[:2] == head[:2]
    assert "bottleneck: red at 1000.0 kbit/s" in done.stdout
    assert done.stderr == "warning: bulk: the kernel's TCP ignores profile, min_rto\n"
    [call] = stub.asked
    assert call["algorithms"] == {"*": "cubic", "bulk": "bbr"}
    assert call["sets"]["run.seed"] == "4"
    assert "Real packets" in tmp_path.joinpath("out/report.html").read_text()
    assert json.loads(sluicegate("testbed", "x.toml", "--json", "-q").stdout or "{}") == {}
    assert json.loads(sluicegate("testbed", "x.toml", "--json").stdout)["summary"]["live"]["kernel"] == "6.0"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--algorithm", "bluk=bbr"], 'error: --algorithm bluk=bbr: no such group; did you mean "bulk"?'),
        (["--algorithm", "=bbr"], "error: --algorithm =bbr: must be NAME or GROUP=NAME"),
        (["--sysctl", "x"], "error: --sysctl x: must be KEY=VALUE"),
    ],
)
def test_mistakes_name_the_option(
    sluicegate: Program, stub: Stub, tmp_path: Path, arguments: list[str], said: str
) -> None:
    tmp_path.joinpath("x.toml").write_text(SCENARIO)
    done = sluicegate("testbed", "x.toml", *arguments)
    assert (done.returncode, stub.asked) == (2, [])
    assert done.stderr.startswith(said)


# --- simulation beside real hosts ---------------------------------------------------------------


def compared(**named: Any) -> sg.Comparison:
    with pytest.warns(sg.RealHostsWarning):
        return sg.compare(SCENARIO, disciplines="red,drop_tail", seeds=3, live=True, **named)


def test_simulation_and_real_hosts_are_paired(stub: Stub, tmp_path: Path) -> None:
    order: list[str] = []
    done = compared(out=tmp_path / "out", algorithms="bbr", progress=lambda _done, _all, label: order.append(label))
    labels = ["red", "red (real)", "drop_tail", "drop_tail (real)"]
    assert done.disciplines == labels
    assert done.twins == {"red": "red (real)", "drop_tail": "drop_tail (real)"}
    assert len(order) == 12
    assert all(label.endswith("(real)") for label in order[:6])  # first, for they need the machine to themselves
    assert len(stub.asked) == 6
    assert all(call["algorithms"] == {"*": "bbr"} for call in stub.asked)
    name = "bulk_delay_p50_ns"
    row = done.beside("drop_tail", name)
    one, other = (done.mean(label, name) for label in labels[2:])
    assert (row["simulation"], row["simulation_half_width"]) == (one["mean"], one["half_width"])
    assert (row["real"], row["real_half_width"]) == (other["mean"], other["half_width"])
    pairs = [done.runs.filter(discipline=label).sort("seed")[name].to_numpy() for label in labels[2:]]
    assert row["difference"] == pytest.approx((pairs[1] - pairs[0]).mean())
    assert row["seeds"] == 3
    assert done.difference("drop_tail (real)", name)["baseline"] == "red (real)"
    with pytest.raises(KeyError):
        done.difference("red (real)", name)
    best = done.best("bulk_throughput_bps", GROUP["throughput"])
    assert any(label.endswith("(real)") for label in best)
    assert any(not label.endswith("(real)") for label in best)
    shares = sum(done.mean("red (real)", f"{group}_throughput_share")["mean"] for group in done.groups)
    assert shares == pytest.approx(1)
    assert "Simulation and real stacks" in done.html()
    again = sg.Comparison.read(tmp_path / "out")
    assert again.live.equals(done.live)
    assert again.html() == done.html()
    assert pl.read_parquet(tmp_path / "out/live.parquet").equals(done.live)
    assert done.summary["live"]["kernel"] == os.uname().release
    assert len(done.summary["live"]["runs"]) == 6


def test_real_runs_are_kept_and_not_run_again(stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compared(out=tmp_path / "out")
    assert compared(out=tmp_path / "out").runs.equals(first.runs)
    assert len(stub.asked) == 6
    sg.compare(SCENARIO, disciplines="red,drop_tail", seeds=3, out=tmp_path / "out")
    assert len(stub.asked) == 6
    assert not (tmp_path / "out/live.parquet").exists()
    compared(out=tmp_path / "out", algorithms="cubic")  # other hosts
    assert len(stub.asked) == 12
    release = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "x", "7.0", *release[3:])))
    compared(out=tmp_path / "out", algorithms="cubic")  # another kernel
    assert len(stub.asked) == 18


def test_runs_that_could_not_keep_up_are_said(stub: Stub, sluicegate: Program, tmp_path: Path) -> None:
    stub.live = LATE
    tmp_path.joinpath("x.toml").write_text(SCENARIO)
    done = sluicegate("compare", "x.toml", "--disciplines", "red", "--seeds", "2", "--live", "-o", "out")
    assert done.returncode == 0, done.stderr
    said = "the machine did not keep up in 2 of 2 runs between real hosts, which are flagged (red (real), seeds 1, 2)"
    assert f"warning: {said}; at worst 7.0 %" in done.stderr
    assert said in tmp_path.joinpath("out/report.html").read_text()
    head = next(line for line in done.stdout.splitlines() if "simulation" in line and "discipline" in line)
    assert head.split() == ["discipline", "simulation", "real", "difference"]
    assert "share of throughput %" in done.stdout


def test_options_of_real_hosts_need_live(sluicegate: Program, small: Path) -> None:
    done = sluicegate("compare", small, "--disciplines", "red", "--algorithm", "bbr")
    assert done.stderr == "error: --algorithm: is only for runs between real hosts: give --live too\n"


# --- real packets -------------------------------------------------------------------------------

MIXED = """\
network = { rate = "10 Mbit/s", delay = "5 ms" }
queue = { discipline = "red", min_th = 15, max_th = 60, limit = 120, action = "mark" }
flows = [
    { kind = "tcp", name = "bulk", count = 4, algorithm = "cubic", ecn = true },
    { kind = "udp", name = "calls", rate = "1 Mbit/s", packet_size = "500 B" },
    { kind = "http", name = "web", count = 20, think_time = "exponential(mean = 300 ms)" },
]
run = { duration = "6 s", warmup = "2 s", exchanges = true }
"""


@real
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
def test_real_hosts_do_what_the_scenario_says() -> None:
    done = sg.testbed(MIXED, sets={"run.warmup": "0 s"})
    link = done.links.row(0, named=True)
    left = link["arrivals_packets"] - link["departures_packets"] - link["drops_packets"]
    assert 0 <= left <= done.summary["live"]["under_way_packets"]
    assert link["marked_packets"] > 0
    groups = {row["name"]: row for row in done.groups.to_dicts()}
    assert (groups["bulk"]["kind"], groups["bulk"]["algorithm"]) == ("tcp", "cubic")
    assert groups["bulk"]["marked_packets"] > 0
    assert sum(row["throughput_bps"] for row in groups.values()) <= 10e6 * 1.01
    assert groups["bulk"]["throughput_bps"] > 2e6
    assert groups["web"]["exchanges"] > 50
    assert groups["web"]["exchanges"] == done.exchanges.height
    assert groups["web"]["response_bytes"] == done.exchanges["response_bytes"].sum()
    assert groups["web"]["open_connections"] <= groups["web"]["open_connections_max"]
    assert done.summary["live"]["stranger_packets"] == 0


@real
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
@pytest.mark.parametrize(("codepoint", "marked"), [("ect0", False), ("ect1", True)])
def test_point_7_datagrams_keep_their_rate_and_say_that_they_may_be_marked(codepoint: str, marked: bool) -> None:
    flood = {"flows.1.rate": "11 Mbit/s", "flows.1.ecn": True, "flows.1.codepoint": codepoint}
    sets = flood | {"run.duration": "4 s", "run.warmup": "1 s"}
    done = sg.testbed(MIXED, queue=sg.L4sStep(overload="overflow"), sets=sets)
    calls = done.groups.filter(name="calls").row(0, named=True)
    assert (calls["marked_packets"] > 0) == marked
    assert calls["offered_bps"] == pytest.approx(11e6, rel=0.01)


@real
@pytest.mark.full
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
def test_two_thousand_connections_at_once() -> None:
    net = sg.dumbbell(rate="40 Mbit/s", delay="5 ms", queue=sg.DropTail(limit=20_000))
    flows = [
        sg.Tcp(1900, name="many", window=2),
        sg.Http(200, name="web", think_time="exponential(mean = 100 ms)", response_size="constant(5 kB)"),
    ]
    done = sg.testbed(net, flows, duration="5 s", warmup="1 s", algorithms="reno", series=False)
    many = done.flows.filter(done.flows["name"] == "many")
    assert many.height == 1900
    assert (many["delivered_packets"] > 0).all()
    web = done.groups.filter(name="web").row(0, named=True)
    assert web["exchanges"] > 100  # 665 in the simulator, 700 here; others may use the machine too
    assert web["open_connections_max"] >= 100
    assert done.summary["live"]["failed_connections"] == 0


@real
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
def test_a_window_is_the_one_of_the_scenario() -> None:
    text = """
        [network]
        rate = "10 Mbit/s"
        delay = "5 ms"
        [[flows]]
        kind = "tcp"
        algorithm = "reno"
        window = "16 kB"
        packet_size = "1000 B"
        rtt = "100 ms"
        [run]
        duration = "3 s"
        warmup = "1 s"
    """
    done = sg.testbed(text)
    # 16 packets of 1000 bytes in each round trip of 100 ms and the times of a packet; one more or less a second.
    assert done.groups["throughput_bps"][0] == pytest.approx(16 * 8000 / 0.102, rel=0.04)


@real
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
def test_an_exchange_takes_as_many_packets_as_in_the_simulator() -> None:
    """A server that wrote and then ended its stream sent one more, a seventh of these."""
    net = sg.dumbbell(rate="10 Mbit/s", delay="5 ms", queue=sg.DropTail(limit=300))
    users = sg.Http(100, profile="linux", persistent=0, think_time="constant(1 s)",
                    response_size="constant(5 kB)", embedded_objects="constant(0)")  # fmt: skip
    runs = [run(net, users, duration="3 s", warmup="0 s", series=False) for run in (sg.simulate, sg.testbed)]
    simulated, real_ones = (run.groups.row(0, named=True) for run in runs)
    each = [group["delivered_packets"] / group["exchanges"] for group in (simulated, real_ones)]
    assert each[1] == pytest.approx(each[0], rel=0.04)


@real
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
def test_flows_share_buckets_as_in_the_simulator() -> None:
    """With this seed a call is in the flood's bucket, of 1024, and waits behind it."""
    net = sg.dumbbell(rate="5 Mbit/s", delay="5 ms", queue=sg.FqCodel())
    flows = [sg.Udp(200, name="calls", rate="16 kbit/s", packet_size="200 B"), sg.Udp(name="flood", rate="20 Mbit/s")]
    slowest = []
    for run in (sg.simulate, sg.testbed):
        calls = run(net, flows, duration="3 s", warmup="1 s", seed=2).flows.filter(name="calls")
        one, next_one = calls.sort("delivered_packets").head(2).to_dicts()
        assert one["delivered_packets"] < next_one["delivered_packets"] / 2
        slowest.append(one["flow"])
    assert slowest[0] == slowest[1]


@real
@pytest.mark.filterwarnings("ignore::sluicegate.RealHostsWarning")
def test_acknowledgements_are_filtered_as_in_the_simulator() -> None:
    """None of real hosts were. 24 real runs, most on a busy machine, dropped 410 to 478; the simulator drops 435."""
    back = sg.Reverse(rate="100 kbit/s", queue=sg.Cake(ack_filter="aggressive"))
    net = sg.dumbbell(queue=sg.Cake(), rate="10 Mbit/s", delay="10 ms", reverse=back)
    runs = [run(net, sg.Tcp(), duration="4 s", warmup="1 s", series=False) for run in (sg.simulate, sg.testbed)]
    simulated, real_ones = (run.links["drops_match"][1] for run in runs)
    assert real_ones == pytest.approx(simulated, rel=0.2)  # five standard deviations
