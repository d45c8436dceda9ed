"""What is one's own in Rust: a congestion control, ends of flows, other people's transports. Found, compiled, run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.custom import rust
from sluicegate.evaluation.congestion_control import SUITE
from sluicegate.evaluation.congestion_control.scenario import TESTED
from sluicegate.experiments.engine import Store
from sluicegate.experiments.job import check
from sluicegate.experiments.run import run

ROOT = Path(__file__).parents[1]

FIXED = """\
use sluicegate_tcp::Host;
use sluicegate_tcp::cc::{Ack, CongestionControl};

/// Ten segments, whatever happens.
pub struct Fixed;

impl Fixed {
    pub fn new(_host: &Host) -> Fixed {
        Fixed
    }
}

impl CongestionControl for Fixed {
    fn cwnd(&self) -> f64 {
        10.0
    }
    fn ssthresh(&self) -> f64 {
        10.0
    }
    fn on_ack(&mut self, _ack: &Ack) {}
    fn on_congestion(&mut self, _window: f64, _least: f64) {}
    fn on_timeout(&mut self, _window: f64, _cut: bool) {}
    fn set_cwnd(&mut self, _cwnd: f64) {}
}
"""

ENDS = """\
use sluicegate_base::Time;
use sluicegate_netsim::{Datagram, Endpoint, EndpointPair};

/// Sends 1000 bytes each 10 ms: 0.8 Mbit/s.
struct Steady {
    sends: bool,
    next: Time,
    due: bool,
}

impl Endpoint for Steady {
    fn receive(&mut self, _datagram: Datagram, _now: Time) {}
    fn poll_transmit(&mut self, _now: Time) -> Option<Datagram> {
        std::mem::take(&mut self.due).then(|| Datagram::udp(Default::default(), vec![0; 972]))
    }
    fn deadline(&mut self) -> Option<Time> {
        self.sends.then_some(self.next)
    }
    fn wake(&mut self, now: Time) {
        (self.due, self.next) = (self.sends, Time(now.0 + 10_000_000));
    }
}

pub fn steady() -> EndpointPair {
    let end = |sends| Steady { sends, next: Time(0), due: false };
    EndpointPair::new("steady", move |_| (end(true), end(false)))
}
"""

SCENARIO = """\
[network]
rate = "10 Mbit/s"
delay = "50 ms"

[[flows]]
kind = "tcp"
controller = "mine.rs:Fixed"
window = 1000

[run]
duration = "10 s"
warmup = "2 s"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of one's own, in which the test runs."""
    (tmp_path / "mine.rs").write_text(FIXED)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def built(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same; what is compiled stays between runs of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(ROOT / "target" / "own"))
    return folder


# Found --------------------------------------------------------------------------------------------------------------


def refused(sluicegate: Program, *more: str) -> str:
    done = sluicegate("run", "scenario.toml", *more)
    assert done.returncode == 2
    return str(done.stderr)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mine.rs:Fixd", 'mine.rs has no public type or function Fixd; did you mean "Fixed"?'),
        ("mien.rs:Fixed", 'cannot read mien.rs: No such file or directory; did you mean "mine.rs"?'),
        ("fixed", 'must name a file in Rust and a type in it: "path.rs:Type"'),
        ("mine.py:Fixed", 'must name a file in Rust and a type in it: "path.rs:Type"'),
    ],
)
def test_a_wrong_name_is_refused_at_its_place(name: str, why: str, folder: Path, sluicegate: Program) -> None:
    said = refused(sluicegate, "--set", f'flows.0.controller="{name}"')
    assert "--set flows.0.controller" in said
    assert why in said


def test_the_files_line_is_named(folder: Path, sluicegate: Program) -> None:
    (folder / "mine.rs").unlink()
    assert refused(sluicegate).startswith('error: scenario.toml:7: flows.0.controller = "mine.rs:Fixed": cannot read')


def test_without_cargo_the_message_says_what_to_install(
    folder: Path, sluicegate: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert "must be compiled, but cargo is not installed: install Rust 1.85 or newer, see https://rustup.rs" in refused(
        sluicegate
    )
    assert not (folder / "cache").exists()


def test_without_the_crates_the_message_says_how_to_name_them(
    folder: Path, sluicegate: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    rust.source.cache_clear()
    monkeypatch.setenv(rust.SOURCE, str(folder))
    assert f"{folder} is no checkout of Sluicegate: set SLUICEGATE_SOURCE to one" in refused(sluicegate)
    monkeypatch.setenv(rust.SOURCE, str(ROOT))
    monkeypatch.setattr(sg._core, "version", lambda: "9.9.9")
    assert re.search(r"has Sluicegate [0-9.]+, and this is 9.9.9: set SLUICEGATE_SOURCE", refused(sluicegate))
    rust.source.cache_clear()


def test_the_names_of_transports_are_those_of_the_adapters() -> None:
    source = (ROOT / "crates/adapters/src/lib.rs").read_text("utf-8")
    assert re.findall(r'^        "(\S+:\S+)" =>', source, re.MULTILINE) == [*rust.ADAPTED]
    lab = (ROOT / "crates/lab/src/foreign.rs").read_text("utf-8")
    [names] = re.findall(r"ADAPTERS: &\[&str\] = &\[(.*)\];", lab)
    assert names == ", ".join(dict.fromkeys(f'"{each.partition(":")[0]}:"' for each in rust.ADAPTED))


def test_rust_and_python_are_not_in_one_run(folder: Path, sluicegate: Program) -> None:
    (folder / "short.py").write_text("class Short: ...")
    assert "a run has one of the two" in refused(sluicegate, "--set", 'queue.discipline="short.py:Short"')


def test_what_cannot_run_it_says_so(folder: Path) -> None:
    with pytest.raises(sg.ScenarioError, match="runs in a program of its own, from its beginning to its end"):
        sg._core.Simulation(sg._core.Scenario(SCENARIO, "scenario.toml", []), sg.custom.aqm.Maker())


# Compiled -----------------------------------------------------------------------------------------------------------

COMPILES = [pytest.mark.full, pytest.mark.timeout(600)]
"""The first of these compiles the crates, which takes a minute or more, the others seconds."""


class TestCompiled:
    pytestmark = COMPILES

    def test_a_fixed_window_has_its_rate(self, built: Path) -> None:
        """Ten packets of 1500 bytes in a round trip: 100 ms, two times 1.2 ms on the link, since an acknowledgement
        answers two, and less than 1 ms on the links of access. At the edges of 8 s ten packets more or less: 1.3 %."""
        done = run("scenario.toml")
        assert done.flows["throughput_bps"].item() == pytest.approx(10 * 12_000 / 0.103, rel=0.02)
        assert done.flows["algorithm"].item() == "own"
        digest = done.summary["own_rust"]["mine.rs:Fixed"]["sha256"]
        assert digest == rust.Part("mine.rs:Fixed", Path("mine.rs"), FIXED.encode()).digest
        again = run("scenario.toml")
        assert all(table.equals(again.tables[name]) for name, table in done.tables.items())

    def test_what_does_not_compile_is_shown_with_its_place(self, built: Path, sluicegate: Program) -> None:
        (built / "mine.rs").write_text(FIXED.replace("        10.0\n", "        ten\n", 1))
        said = refused(sluicegate)
        assert "scenario.toml:7: flows.0.controller" in said
        assert "cannot find value `ten`" in said
        assert "--> mine.rs:15:9" in said

    def test_a_panic_is_shown_with_its_place(self, built: Path, sluicegate: Program) -> None:
        (built / "mine.rs").write_text(FIXED.replace("10.0", 'panic!("no window")', 1))
        said = refused(sluicegate)
        assert "mine.rs:Fixed: its program ended with exit code 101" in said
        assert "panicked at mine.rs:15:9:\nno window" in said

    def test_a_host_without_samples_refuses_who_asks_for_them(self, built: Path, sluicegate: Program) -> None:
        asks = "    fn wants_rate_samples(&self) -> bool {\n        true\n    }\n"
        (built / "mine.rs").write_text(FIXED.replace("    fn on_ack", f"{asks}    fn on_ack"))
        assert "use profile linux, not ns2" in refused(sluicegate, "--set", "flows.0.profile=ns2")

    def test_the_run_is_ended_when_nobody_waits(self, built: Path) -> None:
        """A controller that never returns: what watches the run is asked all the same, and the program ends with it."""
        (built / "mine.rs").write_text(FIXED.replace("_ack: &Ack) {}", "_ack: &Ack) { loop {} }"))
        asked = 0

        def told(*_: float) -> None:
            nonlocal asked
            asked += 1
            if asked == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run("scenario.toml", progress=told)

    def test_a_function_gives_ends(self, built: Path) -> None:
        (built / "ends.rs").write_text(ENDS)
        flows = [sg.Endpoints(ends="ends.rs:steady"), sg.Tcp(controller="mine.rs:Fixed", window=1000)]
        done = sg.simulate(sg.dumbbell(rate="10 Mbit/s", delay="50 ms"), flows, duration="10 s", warmup="2 s")
        steady, fixed = done.flows["throughput_bps"]
        assert steady == pytest.approx(0.8e6, rel=0.002), "at the edges a packet of 800 more or less"
        assert fixed == pytest.approx(10 * 12_000 / 0.103, rel=0.03), (
            "as alone, and a packet of the other before its own"
        )
        assert done.flows["kind"].to_list() == ["steady", "tcp"]

    def test_the_suite_takes_one_and_keeps_its_runs_by_the_files_content(self, built: Path) -> None:
        """Ten packets in a round trip of 20 and of 80 ms: 6 and 1.5 Mbit/s. On the link of 50 Mbit/s two
        packets take 0.48 ms, and links of access less: 3 % of the shorter one."""
        only = ["round-trip"]
        done = sg.evaluate("mine.rs:Fixed", suite=SUITE.name, only=only, quick=True, seeds=1, alone=True, out="out")
        rates = dict(done.means.filter(of=TESTED, metric="goodput_bps").select("point", "mean").iter_rows())
        assert rates["20 ms"] == pytest.approx(6e6, rel=0.04)
        assert rates["80 ms"] == pytest.approx(1.5e6, rel=0.02)
        assert "in Rust, on Linux&#39;s hosts (SHA-256" in done.html()
        own = [each for scenario in done.scenarios for each in scenario.experiments(_given(), SUITE.quick).values()]
        known = [check(each).made for each in own]
        with Store(built / "out") as store:
            first = store.keys()
        sg.evaluate("mine.rs:Fixed", suite=SUITE.name, only=only, quick=True, seeds=1, alone=True, out="out")
        with Store(built / "out") as store:
            assert store.keys() == first, "nothing was run again"
        (built / "mine.rs").write_text(FIXED.replace("10.0", "20.0"))
        assert [check(each).made for each in own] != known
        done = sg.evaluate("mine.rs:Fixed", suite=SUITE.name, only=only, quick=True, seeds=1, alone=True, out="out")
        rates = dict(done.means.filter(of=TESTED, metric="goodput_bps").select("point", "mean").iter_rows())
        assert rates["80 ms"] == pytest.approx(3e6, rel=0.02), "another file, other runs"
        with Store(built / "out") as store:
            assert len(store.keys()) == 2 * len(first)

    def test_a_regression_is_caught_by_its_budget(self, built: Path, sluicegate: Program) -> None:
        """Someone writes 20 for 2 where the window is halved: the buffer is empty after each loss, and the link too."""
        (built / "mine.rs").write_text(AIMD)
        (built / "budgets.toml").write_text(BUDGET)
        command = ["evaluate", "mine.rs:Aimd", "--suite", SUITE.name, "--only", "rate-10m", "--seeds", "1", "--alone",
                   "--set", "run.duration=20 s", "--budget", "budgets.toml", "--junit", "junit.xml",
                   "-o", "out"]  # fmt: skip
        good = sluicegate(*command)
        assert good.returncode == 0, good.stderr + good.stdout
        (built / "mine.rs").write_text(AIMD.replace("window / 2.0", "window / 20.0"))
        bad = sluicegate(*command)
        assert bad.returncode == 1
        assert "NOT KEPT" in bad.stdout
        [case] = ElementTree.parse(built / "junit.xml").getroot().findall("testcase/failure/..")
        assert case.get("classname") == "congestion-control.mine.rs:Aimd"

    def test_transports_of_others_run_in_the_suite(self, built: Path) -> None:
        """A policer of 10 Mbit/s with a bucket of 200 ms: none has more than it passes in 30 s and the bucket, and all
        have a third of it. BBR is among them, though it loses more than half of what it sends: its receiver does not
        give up. Of ends nothing is said that only a host of the simulator knows."""
        done = sg.evaluate([*rust.ADAPTED], suite=SUITE.name, only=["policer", "application-limited"], quick=True,
                           seeds=1, out="out")  # fmt: skip
        own = done.runs.filter((pl.col("of") == TESTED) & (pl.col("point") == "200 ms"))
        rates = dict(own.select("controller", "goodput_bps").iter_rows())
        assert all(3.3e6 < rates[name] < 10.1e6 for name in rust.ADAPTED), rates
        quinn = done.runs.filter(controller="quinn:bbr")
        assert quinn["scenario"].unique().to_list() == ["policer"]
        assert quinn["sent_twice_ratio"].null_count() == quinn.height
        for metric in ("goodput_bps", "delay_p95_ns", "loss_ratio"):
            assert quinn.filter(of=TESTED)[metric].null_count() == 0
        page = done.html()
        assert "A transport with its own ends" in page
        assert "cannot be told from new data" in page


def _given() -> list[sg.experiments.controllers.Controller]:
    return sg.experiments.controllers.controllers("mine.rs:Fixed")


AIMD = """\
use sluicegate_tcp::Host;
use sluicegate_tcp::cc::{Ack, CongestionControl};

/// A segment more in a round trip, half the window for a loss.
pub struct Aimd {
    cwnd: f64,
    ssthresh: f64,
}

impl Aimd {
    pub fn new(host: &Host) -> Aimd {
        Aimd { cwnd: host.initial_window, ssthresh: host.initial_ssthresh }
    }
}

impl CongestionControl for Aimd {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn on_ack(&mut self, ack: &Ack) {
        if ack.limited {
            self.cwnd += if self.cwnd < self.ssthresh { ack.segments } else { ack.segments / self.cwnd };
        }
    }
    fn on_congestion(&mut self, window: f64, least: f64) {
        self.ssthresh = (window / 2.0).max(least);
        self.cwnd = self.ssthresh;
    }
    fn on_timeout(&mut self, window: f64, cut: bool) {
        if cut {
            self.ssthresh = (window / 2.0).max(2.0);
        }
        self.cwnd = 1.0;
    }
    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }
}
"""
BUDGET = """\
[[budget]]
scenario = "rate-10m"
point = "1 BDP"
of = "under test"
metric = "goodput_bps"
at_least = "9 Mbit/s"
"""
