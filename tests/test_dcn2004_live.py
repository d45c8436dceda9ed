"""The figures of DCN 2004 with real stacks: beside the report, kept, refused; with simulated and with real hosts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Program
from test_shell_packets import real
from test_testbed import Stub

import sluicegate as sg
from sluicegate.live import access
from sluicegate.papers.dcn2004 import PAPER
from sluicegate.papers.dcn2004.scaled import HOSTS, LOADS, SCHEMES, STUDY
from sluicegate.reproduce import Live, Settings, reproduce

SECONDS = Settings(seeds=(1,), duration_s=5, warmup_s=2, sample_s=1)
assert PAPER.live is not None
PAPER_OF_SECONDS = replace(PAPER, live=Live(short=SECONDS, full=PAPER.live.full, prepare=PAPER.live.prepare))
ONLY = ("live", "live-runs")


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Real hosts that are simulated ones."""
    core = Stub(monkeypatch)
    monkeypatch.setattr(access, "privileged", lambda: True)
    monkeypatch.setattr(access, "require_tun", lambda: None)
    return core


def test_real_stacks_stand_beside_simulations_and_stay_while_they_are_kept(stub: Stub, tmp_path: Path) -> None:
    outcome = reproduce(PAPER_OF_SECONDS, tmp_path, only=ONLY, live=True)
    assert len(stub.asked) == len(LOADS) * len(SCHEMES)
    assert {check.check.kind for check in outcome.verdicts} == {"reference"}
    assert outcome.passed(strict=True)
    assert not outcome.record, "verdicts of real runs are not compared with recorded ones"
    page = outcome.page.read_text("utf-8")
    assert f"Of {len(outcome.verdicts)} statements" in page
    assert "The machine kept up in all runs" in page
    checks = json.loads((tmp_path / "checks-live-live-runs.json").read_text("utf-8"))
    assert all(check["source"].count("real stacks") for check in checks)
    again = reproduce(PAPER_OF_SECONDS, tmp_path, only=ONLY)
    assert len(stub.asked) == len(LOADS) * len(SCHEMES), "nothing is run again"
    assert again.page.read_text("utf-8") == page


def test_what_is_scaled_reaches_the_runs(stub: Stub, tmp_path: Path) -> None:
    reproduce(PAPER_OF_SECONDS, tmp_path, only=["live-runs"], live=True)
    limits = sorted({asked["sets"]["queue.limit"] for asked in stub.asked if "queue.limit" in asked["sets"]})
    assert limits == ["10000", "316", "76"]
    targets = {key: value for asked in stub.asked for key, value in asked["sets"].items() if key.endswith(".q_ref")}
    assert targets == {"queue.pi.q_ref": "8", "queue.dcn.q_ref": "8", "queue.afd.q_ref": "76"}
    for asked in stub.asked:
        uncongested = asked["sets"].get("queue.limit") == "10000"
        assert asked["sets"]["network.rate"] == ("1 Gbit/s" if uncongested else "10000000 bit/s")
        assert 300 < int(asked["sets"]["flows.0.count"]) < 3000


def test_late_clocks_are_told(stub: Stub, tmp_path: Path) -> None:
    stub.live = {"kept_up": False, "late_packets": 7}
    page = reproduce(PAPER_OF_SECONDS, tmp_path, only=["live-runs"], live=True).page.read_text("utf-8")
    assert "The machine did not keep up in 12 of 12 runs" in page


@pytest.mark.full
def test_without_kept_runs_the_report_has_no_such_figures(tmp_path: Path) -> None:
    outcome = reproduce(PAPER, tmp_path, only=["fig1"], settings=SECONDS)
    assert 'id="live"' not in outcome.page.read_text("utf-8")
    with pytest.raises(sg.ScenarioError, match=r"no runs with real stacks are kept .*: give --live"):
        reproduce(PAPER, tmp_path, only=["live"])


def test_such_figures_are_none_of_the_usual_ones() -> None:
    assert not {figure.id for figure in PAPER.figures()} & set(ONLY)
    assert [figure.id for figure in PAPER.figures(live=True)] == list(ONLY)
    assert len(STUDY.points) == len(HOSTS) * len(LOADS) * len(SCHEMES)


@pytest.mark.parametrize(("name", "words"), [
    ("choke1999", "error: --live: choke1999 has no figures with real TCP; papers that have: dcn2004\n"),
    ("all", "error: --live: name one paper: dcn2004\n"),
])  # fmt: skip
def test_other_papers_have_none(sluicegate: Program, name: str, words: str) -> None:
    done = sluicegate("reproduce", name, "--live")
    assert (done.returncode, done.stderr) == (2, words)


def test_without_rights_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Stub(monkeypatch)
    monkeypatch.setattr(access, "privileged", lambda: False)
    with pytest.raises(sg.ScenarioError, match="testbed: needs the rights of root"):
        reproduce(PAPER, tmp_path, only=["live"], live=True)
    with pytest.raises(sg.ScenarioError, match="choke1999: has no figures with real stacks"):
        reproduce("choke1999", tmp_path, live=True)


@real
@pytest.mark.full
def test_with_real_hosts(tmp_path: Path) -> None:
    if not access.privileged():
        pytest.skip("needs root")
    tiny = replace(SECONDS, duration_s=1.5, warmup_s=0.5)
    paper = replace(PAPER, live=Live(short=tiny, full=tiny, prepare=PAPER.live.prepare if PAPER.live else None))
    outcome = reproduce(paper, tmp_path, only=ONLY, live=True)
    assert len(outcome.verdicts) == 18
    assert "Kernel: " in outcome.page.read_text("utf-8")
