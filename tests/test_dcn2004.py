"""DCN 2004: calibration, pairing, distributions, and the whole reproduction on a link a tenth as fast."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sluicegate as sg
from sluicegate import scenario as api
from sluicegate.experiments.engine import Experiment, Tables, run_experiments
from sluicegate.experiments.run import run_text
from sluicegate.papers import Settings, dcn2004, dcn2004_cases, dcn2004_page, overview, reproduce
from sluicegate.papers.checks import judge
from sluicegate.papers.dcn2004_load import Amount, Calibration, Load, calibrate
from sluicegate.papers.dcn2004_more_checks import load_checks
from sluicegate.papers.dcn2004_points import Distribution, differences

TINY = Settings(seeds=(1,), duration_s=8, warmup_s=3, sample_s=1)
FIGURES = {
    *(f"fig{number}" for number in (1, 2, *range(5, 21))), "table1", "table2", "beside", "long", "loads",
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole reproduction with a tenth of the link and of the users, for a few seconds; checks may fail."""
    out = tmp_path_factory.mktemp("made") / "dcn2004"
    small = {'rate = "100 Mbit/s"\ndelay': 'rate = "10 Mbit/s"\ndelay'}

    def read(name: str) -> tuple[str, str]:
        text, file = original(name)
        for old, new in small.items():
            assert old in text
            text = text.replace(old, new)
        return text, file

    original = api.read_scenario
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dcn2004_cases.api, "read_scenario", read)
        patch.setattr(dcn2004_cases, "LINK_BPS", 10e6)
        patch.setattr(dcn2004_cases, "MIX_BPS", (10.5e6, 9.1e6))
        patch.setattr(dcn2004_cases, "UDP_BPS", 1e6)
        reproduce("dcn2004", out, settings=TINY)
    return out


def test_a_whole_reproduction_has_every_figure_and_check(made: Path) -> None:
    page = (made / "report.html").read_text("utf-8")
    checks = json.loads((made / "checks.json").read_text("utf-8"))
    assert {path.stem for path in (made / "figures").iterdir()} == FIGURES
    assert {path.stem for path in (made / "data").iterdir()} == FIGURES
    for check in checks:
        assert page.count(f'<tr id="check-{check["id"]}">') == 1
    placed = [check_id for ids in dcn2004_page.OF_FIGURE.values() for check_id in ids]
    assert sorted(placed) == sorted(check["id"] for check in checks)


def test_calibration_stands_beside_the_results(made: Path) -> None:
    table = pl.read_parquet(made / "data/loads.parquet")
    assert table["load"].to_list() == [f"uncongested-{name}" for name in ("90", "98", "105", "mix")]
    assert table["of"].to_list() == ["count"] * 3 + ["arrivals"]
    # More users for more load, and about a thousand on each side for 10 Mbit/s.
    assert table["forward"][0] < table["forward"][2]
    assert 500 < table["forward"][0] < 2000


def small_load(target_bps: float, tolerance: float, **sets: str) -> Load:
    text, name = api.read_scenario("dcn2004")
    base = {"network.rate": "1 Gbit/s", "queue.discipline": "drop_tail", "queue.limit": "10000"}
    base |= {"run.duration": "25 s", "run.warmup": "5 s"}
    # Without a tail: a single long response would be a large part of so small a load.
    for group in (0, 1):
        base |= {f"flows.{group}.{key}_size": "exponential(mean = 7 kB)" for key in ("response", "embedded")}
    overrides = tuple((base | sets).items())
    experiment = Experiment("uncongested", text, name, overrides, dcn2004_cases.KEEP)
    return Load(experiment, (target_bps, 0.6 * target_bps), "count", dcn2004_cases.EACH_USER_BPS, tolerance)


def run(experiments: list[Experiment], seeds: list[int]) -> Tables:
    return run_experiments(experiments, seeds)


def test_calibration_meets_the_load_of_each_seed_in_both_directions() -> None:
    done: Calibration = calibrate([small_load(6e6, 0.03)], (1, 2), run)
    for seed in (1, 2):
        amount = done.amounts["uncongested", seed]
        assert amount.measured_bps == pytest.approx((6e6, 3.6e6), rel=0.03)
        # The tables are those of the run that met it.
        links = done.tables["links"].filter(pl.col("seed") == seed)
        assert (links["utilisation"] * links["rate_bps"]).to_list() == list(amount.measured_bps)
        # An independent run with these users makes the same load.
        sets = dict(done.by_seed("uncongested")[seed]) | dict(small_load(6e6, 0.03).experiment.sets)
        again = sg.run("dcn2004", seed=seed, sets=sets).links
        assert (again["utilisation"] * again["rate_bps"]).to_list() == list(amount.measured_bps)
    assert done.amounts["uncongested", 1].amounts != done.amounts["uncongested", 2].amounts


def test_a_load_that_is_not_met_is_a_failed_check() -> None:
    amounts = {
        (f"uncongested-{load}", 1): Amount(f"uncongested-{load}", 1, "count", (100.0, 100.0), made, 8)
        for load, made in (
            ("90", (90e6, 90e6)),
            ("98", (98e6, 97e6)),
            ("105", (105e6, 105.5e6)),
            ("mix", (105e6, 91e6)),
        )
    }
    tolerances = {name: 0.0075 for name, _ in amounts}
    verdicts = judge(load_checks(Calibration(amounts, {}), tolerances))
    assert [(verdict.check.id, verdict.name) for verdict in verdicts] == [
        ("load-90", "reproduced"), ("load-98", "failed"), ("load-105", "reproduced"), ("load-mix", "reproduced")
    ]  # fmt: skip


def test_longer_runs_are_of_the_first_seed_and_not_longer_than_the_papers() -> None:
    users = {
        (f"uncongested-{load}", seed): Amount(f"uncongested-{load}", seed, "count", (seed, 3 - seed), (1.0, 1.0), 1)
        for load in ("90", "98", "105", "mix")
        for seed in (1, 2)
    }
    short = replace(dcn2004.DEFAULT, seeds=(1, 2))
    long = [each for each in dcn2004.experiments(short, Calibration(users, {})) if each.id.endswith("-long")]
    assert Calibration(users, {}).on_average("uncongested-98") == (("flows.0.count", "2"), ("flows.1.count", "2"))
    assert {each.id for each in long} == {f"{s.key}-{load}-long" for s in dcn2004_cases.CONGESTED for load in (98, 105)}
    for each in long:
        assert list(each.by_seed) == [1]
        assert dict(each.sets)["run.duration"] == "1200 s"
    full = dcn2004.experiments(replace(dcn2004.FULL, seeds=(1, 2)), Calibration(users, {}))
    assert not any(each.id.endswith("-long") for each in full)


def test_calibration_on_a_link_that_loses_packets_is_refused() -> None:
    with pytest.raises(ValueError, match="must lose none"):
        calibrate([small_load(6e6, 0.03, **{"network.rate": "2 Mbit/s", "queue.limit": "20"})], (1,), run)


def test_a_user_does_the_same_under_every_discipline() -> None:
    """One connection at a time, so that responses come in the order of requests."""
    sets = {
        "network.rate": "2 Mbit/s", "flows.0.count": "1", "flows.1.count": "250", "flows.0.parallel": "1",
        "flows.0.persistent_parallel": "1", "flows.0.think_time": "exponential(mean = 200 ms)",
        "flows.0.response_size": "exponential(mean = 3 kB)", "flows.0.embedded_size": "exponential(mean = 3 kB)",
        "run.duration": "60 s", "run.warmup": "0 s", "run.exchanges": "true",
    }  # fmt: skip
    sizes, times = [], []
    for discipline in ("drop_tail", "dcn", "pi"):
        table = sg.run("dcn2004", sets=sets | {"queue.discipline": discipline}).exchanges
        own = table.filter(pl.col("group") == 0)
        sizes.append(own["response_bytes"].to_list())
        times.append(own["response_time_ns"].to_list())
    shortest = min(map(len, sizes))
    assert shortest > 20
    assert len({tuple(each[:shortest]) for each in sizes}) == 1
    assert len({tuple(each[:shortest]) for each in times}) > 1, "the disciplines do matter"


def test_distributions_are_counted_as_they_are_defined() -> None:
    some = Distribution(np.array([0.1, 0.5, 1.0, 3.0]), np.array([4, 3, 2, 1]))
    assert some.count == 10
    assert some.at_most([0.05, 0.1, 0.7, 1.0, 9]).tolist() == [0, 0.4, 0.7, 0.9, 1]
    assert some.quantiles([0.1, 0.4, 0.41, 0.9, 0.99]).tolist() == [0.1, 0.1, 0.5, 1.0, 3.0]
    assert some.between(0.1, 1.0) == pytest.approx(0.5)
    assert some.mean_capped() == pytest.approx((0.4 + 1.5 + 2.0 + 2.0) / 10)
    assert differences([3, 5], [1, 2]).mean == 2.5


def test_cases_are_those_of_the_tables() -> None:
    ids = [case.id for case in dcn2004_cases.CASES]
    assert len(set(ids)) == len(ids)
    assert {f"{row.key}-{load}" for row in dcn2004_cases.CONGESTED for load in (90, 98, 105)} <= set(ids)
    pi = next(case for case in dcn2004_cases.CASES if case.id == "pi-ecn-98")
    assert ("queue.pi.action", "mark") in pi.overrides()
    assert ("flows.1.ecn", "true") in pi.overrides()
    assert dcn2004.FULL.duration_s - dcn2004.FULL.warmup_s == 5400


def test_seeds_with_overrides_of_their_own_are_the_only_ones_run() -> None:
    text, name = api.read_scenario("unresponsive")
    one = Experiment("one", text, name, (("run.duration", "2 s"), ("run.warmup", "1 s")), {"flows": ("kind",)})
    some = replace(one, id="some", by_seed={2: (("flows.0.count", "3"),)})
    table = run_experiments([one, some], (1, 2))["flows"]
    assert table.filter(pl.col("experiment") == "some")["seed"].unique().to_list() == [2]
    assert table.filter((pl.col("experiment") == "some") & (pl.col("kind") == "tcp")).height == 3


def check(id_: str, kind: str, verdict: str, why: str = "Bounds: none", evidence: str = "") -> dict[str, object]:
    ok = verdict != "failed" or kind == "shown"
    return {"id": id_, "source": "Sec. 1", "class": kind, "paper": f"the paper on {id_}", "measured": 1.5, "low": None,
            "high": 2.0, "verdict": verdict, "ok": ok, "why": why, "evidence": evidence}  # fmt: skip


def test_one_page_leads_to_all_reports_and_says_what_differs_and_why(tmp_path: Path) -> None:
    parts = {
        "red1993": [
            check("a", "exact", "reproduced"),
            check("b", "claim", "differs, explained", "Since so. Bounds: x", "a"),
        ],
        "choke1999": [check("c", "claim", "failed"), check("d", "shown", "failed")],
    }
    for name, checks in parts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "checks.json").write_text(json.dumps(checks), encoding="utf-8")
    first, second = (overview.read(tmp_path, name) for name in parts)
    assert first.passed
    assert not second.passed
    page = overview.page([first, second])
    for link in ("red1993/report.html", "red1993/report.html#check-b", "red1993/report.html#check-a",
                 "choke1999/report.html#check-c"):  # fmt: skip
        assert f'href="{link}"' in page
    assert "Since so." in page
    assert "Bounds: x" not in page
    assert "the paper on c" in page
    assert "the paper on d" not in page
    assert "1 numbers" in page or "1 number" in page


def test_all_papers_are_written_and_the_worst_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def made_up(name: str, out: Path, **options: object) -> bool:
        out.mkdir(parents=True)
        verdict = "failed" if name == "choke1999" else "reproduced"
        (out / "checks.json").write_text(json.dumps([check("a", "claim", verdict)]), encoding="utf-8")
        options["progress"](1, 2, "case")  # type: ignore[operator]
        return True

    monkeypatch.setattr(overview, "reproduce", made_up)
    names = ("red1993", "choke1999")
    assert not overview.reproduce_all(tmp_path / "out", progress=lambda _d, _t, what: told.append(what), names=names)
    assert told == ["red1993: case", "choke1999: case"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["choke1999", "red1993", "report.html"]
    assert overview.reproduce_all(tmp_path / "other", names=("red1993",), progress=lambda *_: None)


def test_frames_take_time_on_the_link_but_are_no_throughput() -> None:
    text = """[network]
rate = "1 Mbit/s"
framing = "250 B"

[queue]
discipline = "drop_tail"

[[flows]]
kind = "udp"
rate = "3 Mbit/s"
packet_size = "1000 B"

[run]
duration = "20 s"
warmup = "10 s"
"""
    link = run_text(text, "frames.toml").links
    assert link["utilisation"].item() == pytest.approx(0.8, abs=1e-3)
    with pytest.raises(sg.ScenarioError, match="framing is in bytes"):
        run_text(text.replace('"250 B"', '"2 packets"'), "frames.toml")
