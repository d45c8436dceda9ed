"""Understanding CHOKe's reproduction, small: points, snapshots, measures on tables of known answer, a whole report."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sluicegate as sg
from sluicegate import scenario as api
from sluicegate.experiments.engine import Experiment, run_experiments
from sluicegate.papers.choke2004 import PAPER
from sluicegate.papers.choke2004.beyond import LIMIT, NEEDED, by_curve, enough, round_trips, unequal
from sluicegate.papers.choke2004.fig04_05 import RATES, load, many
from sluicegate.papers.choke2004.fig07 import vegas
from sluicegate.papers.choke2004.fig08_09 import cycles, few
from sluicegate.papers.choke2004.laws import with_measured
from sluicegate.papers.choke2004.models import approximate_density, equilibria, farthest, predictions, red
from sluicegate.papers.choke2004.network import MIN_TH, SNAPSHOT_S, Network, Traffic, density, networks
from sluicegate.papers.choke2004.text_claims import several
from sluicegate.reproduce import Quantity, Runs, Settings, reproduce
from sluicegate.reproduce.study import Point, experiments

TINY = Settings(seeds=(1, 2), duration_s=12, warmup_s=4, sample_s=4)
SHORT = Settings(seeds=(1, 2), duration_s=60, warmup_s=20, sample_s=5)


def experiment(study: Traffic, point: Point, settings: Settings = TINY) -> Experiment:
    """One point of a study as the engine runs it."""
    return study.experiment(point, settings, None, study.needs)


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
    counted = run.positions.group_by("time_s", "flow").agg(pl.len().cast(pl.Int64).alias("queue_packets"))
    said = run.occupancy.select("time_s", "flow", "queue_packets")
    assert counted.sort("time_s", "flow").equals(said.sort("time_s", "flow"))


def test_as_many_places_are_kept_as_asked_for_and_no_part_of_a_snapshot(run: sg.Run) -> None:
    sets = {"run.duration": "20 s", "run.warmup": "0 s", "run.positions": 1000}
    some = sg.run("choke2004", sets=sets).positions
    assert 500 < some.height <= 1000
    last = run.positions.filter(pl.col("time_s").is_in(some["time_s"].unique()))
    assert last.equals(some)


def test_keeping_places_changes_nothing_else(run: sg.Run) -> None:
    without = sg.run("choke2004", sets={"run.duration": "20 s", "run.warmup": "0 s"})
    assert without.positions.height == 0
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
    positions = pl.DataFrame(rows, schema=["time_s", "behind_packets", "flow"], orient="row")
    flows = pl.DataFrame({"flow": [1, 33], "kind": ["tcp", "udp"]})
    result = density({"positions": positions, "flows": flows}, Settings((1,), 20, 5, 1))["density"]
    rho = result["rho"].to_list()
    assert rho[:10] == [1.0] * 10
    assert rho[10:19] == [0.0] * 9
    assert rho[19:] == [0.25, 0.5]
    assert result["until_s"].unique().to_list() == [7.0]


def test_snapshots_last_to_the_end_of_the_longest_run() -> None:
    """With 64 TCP flows the queue is longest: half a million packets in the snapshots of a whole run."""
    tables = run_experiments([experiment(many, many.points[-1], PAPER.full)], [1])
    assert set(tables) == {"flows", "links", "density"}
    assert PAPER.full.duration_s - tables["density"]["until_s"][0] < 2 * SNAPSHOT_S
    # No gap of UDP's at any rate is a part of the time between snapshots, to within a hundredth of it.
    for rate in RATES:
        gaps = SNAPSHOT_S * rate * Network().c
        assert abs(gaps - round(gaps)) > 0.01 or gaps < 2


POINTS = {
    "load": Traffic(N=[32], x0=[10.0]),
    "many": Traffic(N=[12], x0=[10.0]),
    "vegas": Traffic(vegas.base, x0=[0.1]),
}


@pytest.fixture(scope="module")
def measured() -> dict[str, Runs]:
    """A few points, longer than the report of a test."""
    tables = run_experiments(experiments(list(POINTS.values()), list(POINTS.values()), SHORT), SHORT.seeds)
    return {name: Runs.of(study, SHORT, None, tables) for name, study in POINTS.items()}


@pytest.mark.parametrize("name", POINTS)
def test_measures_agree_with_one_another(measured: dict[str, Runs], name: str) -> None:
    """What is sent and not lost is what gets through; c = Σ; Little's law; UDP is hit as (5) says."""
    at = measured[name]
    (network,) = networks(at)
    for index in range(len(SHORT.seeds)):
        row = {measure: at[measure].values[index] for measure in at.study.measure}
        share = row["share"] / 100
        assert row["x1"] * (1 - row["p1"] / 100) == pytest.approx(row["tcp_flow"], rel=0.02)
        assert network.tcp[0][0] * row["tcp_flow"] / network.c + share == pytest.approx(1, abs=0.01)
        assert row["b"] * (1 - row["occupancy"]) >= network.c * (1 - share) * row["tau"] * 0.97
        if name != "vegas":
            assert row["hits0"] == pytest.approx(1, abs=0.05)
            assert row["r"] == pytest.approx(float(red(network, spaced=True)(np.array(row["b"]), 0.0)), rel=0.05)


def test_the_rate_that_a_flow_sends_is_over_the_measured_time(measured: dict[str, Runs]) -> None:
    for name, seconds in (("load", 40.0), ("vegas", 15.0)):
        at = measured[name]
        assert at.settings.measured_s == seconds
        first = at.tables["flows"].filter((pl.col("group") == 0) & (pl.col("seed") == 1))
        assert at["x1"].values[0] == pytest.approx(first["arrivals_packets"].mean() / seconds, rel=1e-9)


@pytest.mark.parametrize(
    ("study", "index"), [(load, 0), (load, 6), (many, 0), (many, -1), (vegas, 3), (several, 1)],
    ids=["load", "load-peak", "few", "many", "vegas", "several"],
)  # fmt: skip
def test_with_a_models_own_rate_its_other_equations_give_that_model(study: Traffic, index: int) -> None:
    network = study.network(study.points[index])
    (eq,) = equilibria((network,), "refined")
    assert eq is not None
    b, p1, share = with_measured(network, eq.tcp.x)
    # Here X stands for x·a alone; the model's β and b differ from one another by O(1/b).
    assert (b, p1, share) == pytest.approx((eq.b, eq.tcp.p, eq.share), rel=1e-6)
    fewer = with_measured(network, eq.tcp.x, hits1=0.8)
    assert fewer[0] > b
    assert np.isnan(with_measured(network, eq.tcp.x / 3)[0])


def test_the_approximate_models_density_closes() -> None:
    """Over the queue it is h_0, and at the head the share."""
    for index in (0, 6, -1):
        network = load.network(load.points[index])
        rho, (said,) = approximate_density(network), predictions((network,), "approximate")
        assert rho is not None
        place = np.linspace(0, 1, 20_001)
        # −βb is not 1: b − 1/2 + O(1/b) in place of b.
        assert np.trapezoid(rho(place), place) == pytest.approx(said.occupancy, rel=1 / said.b)
        assert 100 * float(rho(np.array(1.0))) == pytest.approx(said.share, rel=1e-6)


def test_the_farthest_point_is_found_with_its_side() -> None:
    values = {"a": (1.0, 2.0), "b": (-4.0, -2.0), "c": (math.nan, 9.0)}
    found = farthest([Quantity(each, "%", "queue", at=name) for name, each in values.items()])
    assert (found.at, found.mean, found.values) == ("b", 3.0, (4.0, 2.0))
    assert found.label == "queue, greatest difference (below)"


def test_cycles_are_counted_where_the_average_falls_below_min_th() -> None:
    low, high = MIN_TH - 1.0, MIN_TH + 1.0
    averages = [high, low, low, high, low, high, high, low]
    rows = [("run", seed, 6.0 + k, value) for seed in (1, 2) for k, value in enumerate(averages)]
    table = pl.DataFrame(rows, schema=["experiment", "seed", "time_s", "average_packets"], orient="row")
    falls, off = cycles(Runs(few, TINY, {"run": few.points[2]}, {"queue": table}, {}))
    assert falls.mean == 3 * 60 / 8
    assert off.mean == 50


def test_points_are_told_apart_and_run_what_they_say(tmp_path: Path) -> None:
    studies = list(dict.fromkeys(study for figure in PAPER.figures() for study in figure.studies.values()))
    found = experiments(studies, studies, TINY)
    assert len({(each.text, each.sets) for each in found}) == len(found) == 87
    for study, index in ((unequal, 1), (round_trips, 0), (vegas, 0)):
        point = study.points[index]
        each, network = experiment(study, point), study.network(point)
        path = tmp_path / "point.toml"
        path.write_text(each.text, "utf-8")
        flows = sg.run(path, sets={**dict(each.sets), "run.duration": "8 s", "run.warmup": "2 s"}).flows
        trips = flows.filter(pl.col("kind") == "tcp")["base_rtt_ns"].sort().to_list()
        assert trips == sorted(1e6 * rtt for count, rtt in network.tcp for _ in range(count))
        rates = flows.filter(pl.col("kind") == "udp")["offered_bps"].to_list()
        assert rates == pytest.approx([rate * network.mbps * 1e6 for _, rate in network.udp], rel=0.05)


def test_the_models_answer_where_the_paper_says_so() -> None:
    shares = [each.share for each in predictions(tuple(map(load.network, load.points)), "full")]
    assert max(shares) == shares[RATES.index(1.25)]
    assert shares[-1] < 5
    first = (few.network(few.points[0]),)
    assert all(math.isnan(predictions(first, model)[0].share) for model in ("full", "refined"))


def test_the_candidates_simulated_are_those_of_the_models_at_their_worst_rates() -> None:
    assert [by_curve(k) for k in NEEDED] == [2, 3, 4, 6]
    for k, rates in NEEDED.items():
        found = enough(k)
        assert found.m is not None
        assert set(rates) == {by_curve(k), found.m, found.m - 1} - {0}
        for m, rate in rates.items():
            assert rate == pytest.approx(found.rate[m - 1] / Network().c, rel=1e-9)
            assert (100 * found.worst[m - 1] <= LIMIT) == (m >= found.m)


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
        assert link["drops_packets"] == 0
        assert link["utilisation"] > 0.99
        # The packet in transmission is one of them.
        assert 1.0 <= (link["queue_packets_mean"] + 1) / flows <= most + 1 / flows


@pytest.mark.drawn
def test_a_whole_report(tmp_path: Path) -> None:
    outcome = reproduce("choke2004", tmp_path / "out", settings=TINY)
    checks = json.loads((tmp_path / "out" / "checks.json").read_text("utf-8"))
    verdicts = {check["id"]: check for check in checks}
    assert len(verdicts) == len(checks) == len(outcome.verdicts)
    assert all(check["ok"] for check in checks if check["class"] == "exact")
    assert verdicts["fig6-concentrates-near-the-tail-and-drops-10c"]["measured"] > 0.5
    for verdict in outcome.verdicts:  # evidence is of the same figure, so that each can be made by itself
        figure, evidence = verdict.check.id.split("-")[0], str(verdict.check.evidence)
        assert evidence == "" or evidence.split("-")[0] == figure
    for id_ in (each.id for each in PAPER.figures()):
        assert any(name.startswith(f"{id_}-") for name in verdicts), id_
        assert (tmp_path / "out" / "figures" / f"{id_}.svg").stat().st_size > 10_000
        assert pl.read_parquet(tmp_path / "out" / "data" / f"{id_}.parquet").height > 2
