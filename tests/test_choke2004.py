"""Understanding CHOKe's reproduction, small: cases, snapshots, measures on tables of known answer, a whole report."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest
from tiny import TINY

import sluicegate as sg
from sluicegate import api
from sluicegate.papers import choke2004, choke2004_cases, choke2004_checks, reproduce
from sluicegate.papers.choke2004_cases import BASE, FAR, LOAD, RATES, UNEQUAL, VEGAS_LOAD
from sluicegate.papers.choke2004_model import needed, said


@pytest.fixture(scope="module")
def run() -> sg.Run:
    return sg.run("choke2004", sets={"run.duration": "20 s", "run.warmup": "0 s", "run.positions": 100_000})


def test_each_place_of_the_queue_is_held_by_one_flow(run: sg.Run) -> None:
    places = run.positions
    lengths = places.group_by("time_s", maintain_order=True).agg(pl.len(), pl.col("behind_packets"))
    assert all(row == list(range(len(row))) for row in lengths["behind_packets"].to_list())
    queued = run.queue.filter(pl.col("queue_packets") > 0)
    assert lengths["time_s"].to_list() == queued["time_s"].to_list()
    assert lengths["len"].to_list() == queued["queue_packets"].to_list()


def test_places_agree_with_the_packets_that_each_flow_has(run: sg.Run) -> None:
    counted = run.positions.group_by("time_s", "flow").agg(pl.len().cast(pl.UInt64).alias("queue_packets"))
    said = run.occupancy.select("time_s", "flow", "queue_packets")
    assert counted.sort("time_s", "flow").equals(said.sort("time_s", "flow"))


def test_as_many_places_are_kept_as_asked_for_and_no_part_of_a_snapshot(run: sg.Run) -> None:
    sets = {"run.duration": "20 s", "run.warmup": "0 s"}
    assert sg.run("choke2004", sets=sets).positions.height == 0
    some = sg.run("choke2004", sets={**sets, "run.positions": 1000}).positions
    assert 500 < some.height <= 1000
    last = run.positions.filter(pl.col("time_s").is_in(some["time_s"].unique()))
    assert last.equals(some)


def test_keeping_places_changes_nothing_else(run: sg.Run) -> None:
    without = sg.run("choke2004", sets={"run.duration": "20 s", "run.warmup": "0 s"})
    for table in ("flows", "links", "queue", "flow_series"):
        assert without.table(table).equals(run.table(table)), table


def test_density_on_snapshots_whose_answer_is_known() -> None:
    """Two snapshots of 40 packets: UDP (flow 33) holds the tail half of both, and the head of the first."""
    rows = [
        (BASE.id, 1, time, behind, 33 if behind < 20 or (behind == 39 and time == 6.0) else 1)
        for time in (6.0, 7.0)
        for behind in range(40)
    ]
    table = pl.DataFrame(rows, schema=["experiment", "seed", "time_s", "behind_packets", "flow"], orient="row")
    result = choke2004.density({"positions": table.with_columns(pl.col("seed").cast(pl.UInt64))}, TINY, BASE)
    rho = result["rho"].to_list()
    assert rho[:10] == [1.0] * 10
    assert rho[10:19] == [0.0] * 9
    assert rho[19:] == [0.25, 0.5]


def test_cases_are_told_apart_and_run_what_they_say() -> None:
    experiments = {each.id: each for each in choke2004.experiments(TINY)}
    assert len({(each.text, each.sets) for each in experiments.values()}) == len(experiments)
    for case in (UNEQUAL[1], FAR[0], VEGAS_LOAD[0]):
        each = experiments[case.id]
        run = sg.run(_written(each.text), sets=dict((*each.sets, ("run.duration", "1 s"), ("run.warmup", "0 s"))))
        kinds = run.flows["kind"].to_list()
        assert kinds.count("tcp") == sum(count for count, _ in case.tcp)
        assert kinds.count("udp") == sum(count for count, _ in case.udp)
    trips = run_trips(experiments[FAR[0].id])
    assert trips == [20e6] * 16 + [400e6] * 16


def _written(text: str) -> Path:
    import tempfile

    path = Path(tempfile.mkdtemp()) / "case.toml"
    path.write_text(text, "utf-8")
    return path


def run_trips(each: choke2004.Experiment) -> list[float]:
    run = sg.run(_written(each.text), sets=dict((*each.sets, ("run.duration", "1 s"), ("run.warmup", "0 s"))))
    return sorted(run.flows.filter(pl.col("kind") == "tcp")["base_rtt_ns"].to_list())


def test_every_check_belongs_to_one_figure() -> None:
    ids = [id_ for checks in choke2004_checks.OF_FIGURE.values() for id_ in checks]
    assert len(set(ids)) == len(ids)


def test_the_models_answer_where_the_paper_says_so() -> None:
    shares = [said(case, "paper").share for case in LOAD]
    assert max(shares) == shares[RATES.index(1.25)]
    assert shares[-1] < 0.05
    assert all(math.isnan(said(choke2004_cases.FEW[0], model).share) for model in ("paper", "ours"))
    assert [case.candidates for case, enough in needed() if enough] == [2, 3, 4, 6]


def test_vegas_keeps_alpha_to_beta_packets_of_each_flow_in_a_queue_without_losses(tmp_path: Path) -> None:
    """Late starters take a queue for part of the path, so that more flows keep a little more than β."""
    scenario = tmp_path / "vegas.toml"
    text, _ = api.read_scenario("choke1999_tcp")
    scenario.write_text(text, "utf-8")
    for flows, most in ((1, 3.0), (10, 4.0)):
        run = sg.run(scenario, sets={
            "queue.discipline": "drop_tail", "queue.limit": 1000, "network.delay": "20 ms", "flows.0.count": flows,
            "flows.0.algorithm": "vegas", "run.duration": "60 s", "run.warmup": "20 s",
        })  # fmt: skip
        link = run.links.row(0, named=True)
        assert link["lost_packets"] == 0
        assert link["utilisation"] > 0.99
        # The packet in transmission is one of them.
        assert 1.0 <= (link["queue_packets_mean"] + 1) / flows <= most + 1 / flows


def test_a_whole_report(tmp_path: Path) -> None:
    reproduce("choke2004", tmp_path / "out", settings=TINY)
    checks = json.loads((tmp_path / "out" / "checks.json").read_text("utf-8"))
    verdicts = {check["id"]: check for check in checks}
    assert {id_ for ids in choke2004_checks.OF_FIGURE.values() for id_ in ids} == set(verdicts)
    assert all(check["ok"] for check in checks if check["class"] == "exact")
    assert verdicts["density-falls"]["measured"] > 0.5
    for name in choke2004_checks.OF_FIGURE:
        assert (tmp_path / "out" / "figures" / f"{name}.svg").stat().st_size > 10_000
        assert pl.read_parquet(tmp_path / "out" / "data" / f"{name}.parquet").height > 2
