"""Understanding CHOKe's reproduction, small: cases, snapshots, measures on tables of known answer, a whole report."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny import TINY

import sluicegate as sg
from sluicegate import api
from sluicegate.papers import Settings, choke2004, choke2004_cases, choke2004_checks, reproduce
from sluicegate.papers.choke2004_cases import (
    BASE,
    FAR,
    FEW,
    LIMIT_SHARE,
    LOAD,
    MANY,
    MIN_TH,
    RATES,
    SNAPSHOT_S,
    TWO_LOAD,
    UNEQUAL,
    VEGAS_LOAD,
    Case,
    window_s,
)
from sluicegate.papers.choke2004_laws import with_measured
from sluicegate.papers.choke2004_measures import worst
from sluicegate.papers.choke2004_model import approximate, equilibria, needed, needed_at, red, said
from sluicegate.papers.choke2004_more_checks import cycles
from sluicegate.papers.choke2004_spatial import approximate_rho
from sluicegate.runner import Task, run_experiments, work


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
    for table in ("flows", "links", "queue", "occupancy", "flow_series"):
        assert without.table(table).equals(run.table(table)), table


def test_density_on_snapshots_whose_answer_is_known() -> None:
    """Two snapshots of 40 packets: UDP (flow 33) holds the tail half of both, and the head of the first. A third,
    before the warm-up ends, does not count."""
    rows = [
        (time, behind, 33 if behind < 20 or (behind == 39 and time == 6.0) else 1)
        for time in (4.0, 6.0, 7.0)
        for behind in range(40)
    ]
    table = pl.DataFrame(rows, schema=["time_s", "behind_packets", "flow"], orient="row")
    result = choke2004.density_of({"positions": table}, tcp=32, warmup=5.0)["density"]
    rho = result["rho"].to_list()
    assert rho[:10] == [1.0] * 10
    assert rho[10:19] == [0.0] * 9
    assert rho[19:] == [0.25, 0.5]
    assert result["until_s"].unique().to_list() == [7.0]


def test_snapshots_last_to_the_end_of_the_longest_run() -> None:
    """With 64 TCP flows the queue is longest: half a million packets in the snapshots of a whole run."""
    [experiment] = [each for each in choke2004.experiments(choke2004.FULL) if each.id == MANY[-1].id]
    tables = work(Task(experiment, 1))
    assert set(tables) == {"flows", "links", "density"}
    duration, _ = window_s(MANY[-1], choke2004.FULL)
    assert duration - tables["density"]["until_s"][0] < 2 * SNAPSHOT_S
    # No gap of UDP's at any rate is a part of the time between snapshots, to within a hundredth of it.
    for rate in RATES:
        gaps = SNAPSHOT_S * rate * BASE.c
        assert abs(gaps - round(gaps)) > 0.01 or gaps < 2


@pytest.fixture(scope="module")
def measured() -> pl.DataFrame:
    """Points of a few cases."""
    chosen = {LOAD[-1].id, MANY[0].id, VEGAS_LOAD[0].id}
    experiments = [each for each in choke2004.experiments(SHORT) if each.id in chosen]
    return choke2004.points(run_experiments(experiments, SHORT.seeds), SHORT)


SHORT = Settings(seeds=(1, 2), duration_s=60, warmup_s=20, sample_s=5)


def test_points_agree_with_one_another(measured: pl.DataFrame) -> None:
    """What is sent and not lost is what gets through; c = Σ; Little's law; UDP is hit as (5) says."""
    for case in (LOAD[-1], MANY[0], VEGAS_LOAD[0]):
        for row in measured.filter(pl.col("experiment") == case.id).iter_rows(named=True):
            assert row["x1"] * (1 - row["p1"]) == pytest.approx(row["tcp_flow"], rel=0.02)
            assert case.tcp[0][0] * row["tcp_flow"] / case.c + row["share"] == pytest.approx(1, abs=0.01)
            assert row["b"] * (1 - row["occupancy"]) >= case.c * (1 - row["share"]) * row["tau"] * 0.97
            if case.x0 == 10:
                assert row["hits0"] == pytest.approx(1, abs=0.05)
                assert row["r"] == pytest.approx(float(red(case, spaced=True)(np.array(row["b"]), 0.0)), rel=0.05)


@pytest.mark.parametrize(
    "case", [LOAD[0], LOAD[6], MANY[0], MANY[-1], VEGAS_LOAD[3], TWO_LOAD[1]], ids=lambda case: case.id
)
def test_with_a_models_own_rate_its_other_equations_give_that_model(case: Case) -> None:
    eq = equilibria("ours")[case.id]
    assert eq is not None
    b, p1, share = with_measured(case, eq.tcp.x)
    # Here X stands for x·a alone; the model's β and b differ from one another by O(1/b).
    assert (b, p1, share) == pytest.approx((eq.b, eq.tcp.p, eq.share), rel=1e-6)
    fewer = with_measured(case, eq.tcp.x, hits1=0.8)
    assert fewer[0] > b
    assert np.isnan(with_measured(case, eq.tcp.x / 3)[0])


def test_the_approximate_models_density_closes() -> None:
    """Over the queue it is h_0, and at the head the share."""
    for case in (LOAD[0], LOAD[6], LOAD[-1]):
        rho, said_ = approximate_rho(case), approximate(case)
        assert rho is not None
        place = np.linspace(0, 1, 20_001)
        # −βb is not 1: b − 1/2 + O(1/b) in place of b.
        assert np.trapezoid(rho(place), place) == pytest.approx(said_.occupancy, rel=1 / said_.b)
        assert float(rho(np.array(1.0))) == pytest.approx(said_.share, rel=1e-6)


def test_the_worst_point_is_found_with_its_side() -> None:
    found = worst([("a", [1.0, 2.0]), ("b", [-4.0, -2.0]), ("c", [math.nan, 9.0])])
    assert (found.label, found.spread.mean, found.size) == ("b", -3.0, 3.0)
    assert (found.low, found.high) == (-3.0, 1.5)
    assert found.at == "at b: -3; all from -3 to +1.5"


def test_cycles_are_counted_where_the_average_falls_below_min_th() -> None:
    low, high = MIN_TH - 1.0, MIN_TH + 1.0
    averages = [high, low, low, high, low, high, high, low]
    rows = [(FEW[2].id, seed, 6.0 + k, value) for seed in (1, 2) for k, value in enumerate(averages)]
    table = pl.DataFrame(rows, schema=["experiment", "seed", "time_s", "average_packets"], orient="row")
    falls, off = cycles(TINY, {"queue": table}, FEW[2])
    assert falls.mean == 3 * 60 / 15
    assert off.mean == 50


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
    found = {(each.case.udp[0][0], each.case.candidates): each for each in needed()}
    for k, closed in ((1, 2), (2, 3), (3, 4), (5, 6)):
        assert found[k, closed].closed
        assert not found[k, closed - 1].closed
        assert found[k, needed_at(k)].full
        # The model has that many candidates as the least: the worst rate of one less is above the limit.
        if needed_at(k) > 1:
            assert not found[k, needed_at(k) - 1].full
            assert said(found[k, needed_at(k) - 1].case, "ours").share > LIMIT_SHARE
        assert said(found[k, needed_at(k)].case, "ours").share <= LIMIT_SHARE


def test_vegas_keeps_alpha_to_beta_packets_of_each_flow_in_a_queue_without_losses(tmp_path: Path) -> None:
    """Late starters take a queue for part of the path, so that more flows keep a little more than β."""
    scenario = tmp_path / "vegas.toml"
    text, _ = api.read_scenario("choke1999_tcp")
    scenario.write_text(text, "utf-8")
    for flows, most in ((1, 3.0), (10, 4.0)):
        run = sg.run(scenario, sets={
            "queue.discipline": "drop_tail", "queue.limit": 1000, "network.delay": "20 ms", "flows.0.count": flows,
            "flows.0.algorithm": "vegas", "flows.0.vegas_rules": "paper", "run.duration": "60 s", "run.warmup": "20 s",
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
