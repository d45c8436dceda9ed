"""DCN 2004: calibration, pairing, distributions, and the whole reproduction on a link a tenth as fast."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sluicegate as sg
from sluicegate import scenario as api
from sluicegate.declarations import commit
from sluicegate.experiments.engine import Experiment, Store, Tables, run_experiments
from sluicegate.papers.dcn2004 import PAPER, network, response_times, text_claims
from sluicegate.papers.dcn2004.load import Amount, Calibration, Load, calibrate
from sluicegate.papers.dcn2004.network import ALL, GENERAL, GENERAL_TCP, LOADS, SERIES, users
from sluicegate.papers.dcn2004.response_times import Distribution
from sluicegate.papers.dcn2004.schemes import AFD, DCN, DROP_TAIL, PI, PI_ECN, RIO_PS, SCHEMES, UNCONGESTED
from sluicegate.reproduce import Outcome, Paper, Settings, reproduce, study
from sluicegate.reproduce.claim import judge, numbered
from sluicegate.reproduce.kept import _digest, _keys, keep, read, studies_of

ROOT = Path(__file__).parents[1]

TINY = Settings(seeds=(1,), duration_s=14, warmup_s=3, sample_s=1)
SOME = ("fig9", "fig20", "series", "unresponsive", "loads")
SHORTER = Settings(seeds=(1, 2), duration_s=7, warmup_s=2, sample_s=1)
FIGURES = {
    *(f"fig{number}" for number in (1, 2, *range(5, 21))), "table1", "table2", "targets", "law", "modes", "threshold",
    "delays", "series",
}  # fmt: skip


@contextmanager
def a_tenth() -> Iterator[None]:
    """A tenth of the link and of the users."""
    original = api.bundled_scenario

    def read(name: str) -> tuple[str, str]:
        text, file = original(name)
        assert 'rate = "100 Mbit/s"\ndelay' in text
        return text.replace('rate = "100 Mbit/s"\ndelay', 'rate = "10 Mbit/s"\ndelay'), file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "bundled_scenario", read)
        patch.setattr(network, "LINK_BPS", 10e6)
        patch.setattr(network, "GENERAL_BPS", (10.5e6, 9.1e6))
        patch.setattr(network, "UDP_BPS", 1e6)
        forget_texts()
        yield
    forget_texts()


def forget_texts() -> None:
    """Studies read their scenario once; here it changes."""
    for each in (ALL, GENERAL_TCP, *studies_of(PAPER.figures())):
        vars(each).pop("source", None)


def simulated(wanted: list[Experiment], seeds: tuple[int, ...], what: str = "") -> Tables:
    """As a reproduction runs them."""
    return run_experiments(wanted, seeds)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """The whole reproduction of a tenth, for a few seconds; checks may fail."""
    out = tmp_path_factory.mktemp("made") / "dcn2004"
    with a_tenth():
        return out, reproduce(replace(PAPER, full=TINY, kept=out / "nothing"), out, full=True)


@pytest.fixture(scope="module")
def beside(made: tuple[Path, Outcome]) -> tuple[Paper, Path, Outcome]:
    """Its runs kept, as those at full length, and shorter runs beside them."""
    out = made[0].parent / "short"
    paper = replace(PAPER, full=TINY, short=SHORTER, kept=made[0].parent / "kept")
    with a_tenth():
        keep(paper, made[0], paper.full, simulated)
        return paper, out, reproduce(paper, out, only=SOME)


def test_a_whole_reproduction_has_every_figure_and_check(made: tuple[Path, Outcome]) -> None:
    out, outcome = made
    page = (out / "report.html").read_text("utf-8")
    checks = json.loads((out / "checks.json").read_text("utf-8"))
    assert {path.stem for path in (out / "figures").iterdir()} == FIGURES
    assert {path.stem for path in (out / "data").iterdir()} == FIGURES | {"loads"}
    assert [check["id"] for check in checks] == [verdict.check.id for verdict in outcome.verdicts]
    assert len(checks) > 240
    assert "1 (one seed: no intervals, verdicts are by value)" in page
    for check in checks:
        assert page.count(f'<tr id="check-{check["id"]}"') == 1
        assert check["measured"] is not None


@pytest.mark.full
def test_kept_runs_are_judged_and_short_ones_stand_beside(
    made: tuple[Path, Outcome], beside: tuple[Paper, Path, Outcome]
) -> None:
    _, out, outcome = beside
    full = {check["id"]: check for check in json.loads((made[0] / "checks.json").read_text("utf-8"))}
    both = json.loads(next(out.glob("checks-*.json")).read_text("utf-8"))
    for check in both:
        assert {key: value for key, value in check.items() if key != "short"} == full[check["id"]]
    assert sum(check["short"]["measured"] != check["measured"] for check in both) > len(both) / 2
    drawn = {"fig9", "fig20", "series"}
    assert {path.stem for path in (out / "figures").iterdir()} == drawn | {f"{id_}-short" for id_ in drawn}
    page = outcome.page.read_text("utf-8")
    assert page.count('<th class="n">Full length</th><th class="n">Short run</th>') == page.count('class="figure')
    assert page.count("The same of the short run") == 4, "the calibration's table too"
    for told in ("14 s for each run", "seeds: 1 (one seed", "7 s for each run", "seeds: 1 to 2 (2 runs"):
        assert told in page
    assert '<p class="note">' not in page
    ids = [check["id"] for check in both]
    assert list(outcome.record) == [*ids, *(f"short:{id_}" for id_ in ids)]


@pytest.mark.full
def test_kept_runs_of_other_parameters_or_versions_are_labelled_and_missing_ones_fall_back(
    beside: tuple[Paper, Path, Outcome], tmp_path: Path
) -> None:
    paper, out, _ = beside
    for file in paper.kept_folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    index = json.loads((tmp_path / "kept.json").read_text("utf-8"))
    other = index | {"scenarios": dict(index["scenarios"])}
    del other["scenarios"]["90 %, DCN"]

    def page(index: dict[str, Any], paper: Paper, figure: str) -> str:
        (tmp_path / "kept.json").write_text(json.dumps(index), "utf-8")
        with a_tenth():
            reproduce(replace(paper, kept=tmp_path), out, only=[figure], redraw=True)
        return (out / f"report-{figure}.html").read_text("utf-8")

    made = pl.read_parquet(tmp_path / "code.parquet")
    made.with_columns(version=pl.lit("0.0.1"), commit=pl.lit("abc")).write_parquet(tmp_path / "code.parquet")
    told = page(other, paper, "fig20")
    assert "Full length: measured by Sluicegate 0.0.1." in told
    assert f"{made.height} runs of seed 1 by version 0.0.1 (commit abc);" in told
    made.write_parquet(tmp_path / "code.parquet")
    missing = page(other, paper, "fig9")
    assert "Short runs: none at full length are kept for this figure." in missing
    assert "<th" in missing
    assert "Full length</th>" not in missing
    longer = replace(paper, full=replace(TINY, duration_s=9))
    told = page(index, longer, "unresponsive")
    assert "with other parameters or lengths than today&#39;s: 90 %, DCN, with UDP; 90 %, Drop Tail, with UDP." in told
    behaved = index | {"behaviour": index["behaviour"] | {"90 %, DCN, with UDP": "other"}}
    told = page(behaved, paper, "unresponsive")
    assert "measured with code that gave other results in short runs: 90 %, DCN, with UDP." in told
    assert '<p class="note">' not in page(index, paper, "unresponsive")


@pytest.mark.full
def test_what_is_not_measured_again_stays_as_it_was_kept(beside: tuple[Paper, Path, Outcome], tmp_path: Path) -> None:
    """A folder with two points: one that was kept with other numbers is new, the other's scenario changed, all else
    stays."""
    paper = replace(beside[0], kept=tmp_path / "kept")
    shutil.copytree(beside[0].kept_folder, paper.kept_folder)
    links = pl.read_parquet(paper.kept_folder / "links.parquet")
    is_dcn = pl.col("experiment") == "90 %, DCN"
    links.with_columns(drops_packets=pl.when(is_dcn).then(0).otherwise("drops_packets")).write_parquet(
        paper.kept_folder / "links.parquet"
    )
    index = json.loads((paper.kept_folder / "kept.json").read_text("utf-8"))
    index["scenarios"]["98 %, PI"] = "other"
    (paper.kept_folder / "kept.json").write_text(json.dumps(index), "utf-8")
    with a_tenth():
        kept = read(paper)
        assert kept is not None
        again = ALL.experiment({"load": 90, "scheme": DCN}, kept.settings, kept.prepared, ALL.needs)
        with Store(tmp_path / "out") as store:
            run_experiments([again], kept.settings.seeds, store=store)
        missing = keep(paper, tmp_path / "out", kept.settings, simulated)
    assert "fig6" in missing
    assert "fig20" not in missing
    now = pl.read_parquet(paper.kept_folder / "links.parquet")
    assert now.filter(experiment="98 %, PI").is_empty()
    order = ["experiment", "link"]
    rest = links.filter(pl.col("experiment").is_in(now["experiment"].unique().to_list()))
    assert now.sort(order).equals(rest.sort(order).select(now.columns))


@pytest.mark.full
def test_a_seed_alone_is_kept_beside_those_that_were(beside: tuple[Paper, Path, Outcome], tmp_path: Path) -> None:
    paper = replace(beside[0], kept=tmp_path / "kept")
    shutil.copytree(beside[0].kept_folder, paper.kept_folder)
    code = paper.kept_folder / "code.parquet"
    pl.read_parquet(code).with_columns(commit=pl.lit("of the first")).write_parquet(code)
    with a_tenth():
        reproduce(paper, tmp_path / "out", settings=replace(paper.full, seeds=(2,)), only=["fig20"])
        left_out = keep(paper, tmp_path / "out", replace(paper.full, seeds=(1, 2)), simulated)
        kept = read(paper)
    assert "fig20" not in left_out
    assert "fig9" in left_out, "it has runs of one seed alone"
    assert kept is not None
    assert kept.settings.seeds == (1, 2)
    kept_points = len(kept.scenarios)
    assert kept.code() == (
        f"{kept_points} runs of seed 1 by version {sg.__version__} (commit of the first); "
        f"{kept_points} runs of seed 2 by version {sg.__version__} (commit {commit()})"
    )
    assert [each.seed for each in kept.prepared.of(90)] == [1, 2]
    was = pl.read_parquet(beside[0].kept_folder / "links.parquet")
    for name, links in kept.tables["links"].group_by("experiment"):
        first, second = (links.filter(seed=seed).drop("seed") for seed in (1, 2))
        assert first.equals(was.filter(experiment=name[0]).select(links.columns).drop("seed"))
        assert second.height == first.height
        assert not second.equals(first)
    with a_tenth():
        assert keep(paper, tmp_path / "nothing", replace(paper.full, seeds=(1,)), simulated) == left_out
        fewer = read(paper)
    assert fewer is not None
    assert fewer.tables["links"].equals(kept.tables["links"].filter(seed=1))
    assert fewer.scenarios.keys() == kept.scenarios.keys()


def test_runs_that_depend_on_what_cannot_be_read_again_are_not_kept(made: tuple[Path, Outcome], tmp_path: Path) -> None:
    paper = replace(PAPER, full=TINY, kept=tmp_path / "kept", restore=None)
    with a_tenth(), pytest.raises(ValueError, match="dcn2004: its runs need what `prepare` finds: say in `restore`"):
        keep(paper, made[0], paper.full, simulated)
    assert not paper.kept_folder.exists()


def test_a_key_that_is_newer_does_not_make_a_kept_scenario_another() -> None:
    was: list[dict[str, Any]] = [{"flows": [{"kind": "tcp"}, {"kind": "udp", "rate": "1 bit/s"}]}]
    keys = _keys(was)
    assert keys == {"flows", "flows.kind", "flows.rate"}
    newer = [{"flows": [{"kind": "tcp", "pace": True}, {"kind": "udp", "rate": "1 bit/s"}], "notes": {"kind": "x"}}]
    assert _digest(newer, keys) == _digest(was, keys)
    others: list[list[dict[str, Any]]] = [
        [{"flows": [{"kind": "tcp"}, {"kind": "udp", "rate": "2 bit/s"}]}],
        [{"flows": [{"kind": "tcp"}, {"kind": "udp"}]}],
        [{"flows": [{"kind": "udp", "rate": "1 bit/s"}, {"kind": "tcp"}]}],
        [*was, *was],
    ]
    assert all(_digest(other, keys) != _digest(was, keys) for other in others)


@pytest.mark.full
def test_kept_runs_begin_as_the_same_runs_do_today(beside: tuple[Paper, Any]) -> None:
    """One of each discipline. Of the package's own the report says which come to something else today."""
    paper = beside[0]
    with a_tenth():
        kept = read(paper)
        assert kept is not None
        points = [{"load": 98, "scheme": scheme} for scheme in (DROP_TAIL, PI, DCN, AFD, RIO_PS)]
        until_s = 2 * kept.settings.sample_s
        first = replace(kept.settings, duration_s=until_s, warmup_s=0)
        needs = {name: frozenset(columns) for name, columns in SERIES.items()}
        again = [ALL.experiment(point, first, kept.prepared, needs) for point in points]
        done = run_experiments(again, kept.settings.seeds[:1])
        of_all = kept.runs(ALL)
    for point, experiment in zip(points, again, strict=True):
        for name, columns in SERIES.items():
            found = of_all.at(**point).rows(name)
            found = found.filter(pl.col("seed") == kept.settings.seeds[0], pl.col("time_s") <= until_s)
            today = done[name].filter(experiment=experiment.id)
            assert found.select(columns).equals(today.select(columns)), (point, name)
            assert found.height >= (0 if name == "state" else 4)


def test_calibration_stands_beside_the_results(made: tuple[Path, Outcome]) -> None:
    table = pl.read_parquet(made[0] / "data/loads.parquet")
    assert table["load"].to_list() == ["90", "98", "105", GENERAL]
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
    keep = {"links": ("link", "rate_bps", "utilisation", "drops_packets")}
    experiment = Experiment("uncongested", text, name, tuple((base | sets).items()), keep)
    return Load("small", experiment, (target_bps, 0.6 * target_bps), "count", network.EACH_USER_BPS, tolerance)


def simulate(experiments: Any, seeds: Any) -> Tables:
    return run_experiments(experiments, seeds)


def test_calibration_meets_the_load_of_each_seed_in_both_directions() -> None:
    done = calibrate([small_load(6e6, 0.03)], (1, 2), simulate)
    assert [amount.seed for amount in done.of("small")] == [1, 2]
    for amount in done.amounts:
        assert amount.measured_bps == pytest.approx((6e6, 3.6e6), rel=0.03)
        # An independent run with these users makes the same load.
        sets = dict(amount.sets()) | dict(amount.load.experiment.sets)
        again = sg.run("dcn2004", seed=amount.seed, sets=sets).links
        assert (again["utilisation"] * again["rate_bps"]).to_list() == list(amount.measured_bps)
    first, second = done.amounts
    assert first.amounts != second.amounts


def made_up(seeds: tuple[int, ...], **measured: tuple[float, float]) -> Calibration:
    """Users of every load for these seeds: the seed on one side, 3 less the seed on the other."""
    network_loads = {f"{load}": network._offered(PAPER.short, load) for load in (*LOADS, GENERAL)}
    return Calibration(tuple(
        Amount(load, seed, (seed, 3 - seed), measured.get(f"load_{name}", load.targets_bps), 8)
        for name, load in network_loads.items() for seed in seeds
    ))  # fmt: skip


def test_a_load_that_is_not_met_is_a_failed_check() -> None:
    found = made_up((1,), load_98=(98e6, 97e6), load_105=(105e6, 105.5e6))
    verdicts = judge(numbered("loads", "Sec. 4.2", text_claims.loads_met(found)))
    assert [(verdict.check.id, verdict.name) for verdict in verdicts] == [
        ("loads-90", "reproduced"), ("loads-98", "failed"), ("loads-105", "reproduced"),
        ("loads-general-TCP", "reproduced"),
    ]  # fmt: skip


def test_the_uncongested_runs_of_figures_are_those_of_calibration() -> None:
    """So that a store need not simulate them twice."""
    amounts = made_up((1, 2))
    for of_load, load in ((ALL, 98), (GENERAL_TCP, GENERAL)):
        shown = of_load.experiment({"load": load, "scheme": UNCONGESTED}, PAPER.short, amounts, of_load.needs)
        calibrated = amounts.of(load)[0].load.experiment
        assert (shown.text, shown.sets) == (calibrated.text, calibrated.sets)
        assert shown.by_seed == {amount.seed: amount.sets() for amount in amounts.of(load)}
        for table, columns in shown.keep.items():
            assert set(columns) <= set(calibrated.keep[table])


def test_calibration_on_a_link_that_drops_packets_is_refused() -> None:
    with pytest.raises(ValueError, match="must drop none"):
        calibrate([small_load(6e6, 0.03, **{"network.rate": "2 Mbit/s", "queue.limit": "20"})], (1,), simulate)


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
    assert some.total == 10
    assert some.at_most([0.05, 0.1, 0.7, 1.0, 9]).tolist() == [0, 0.4, 0.7, 0.9, 1]
    assert some.quantiles([0.1, 0.4, 0.41, 0.9, 0.99]).tolist() == [0.1, 0.1, 0.5, 1.0, 3.0]
    assert some.between(0.1, 1.0) == pytest.approx(0.5)
    assert some.mean_capped() == pytest.approx((0.4 + 1.5 + 2.0 + 2.0) / 10)


def test_distributions_are_of_the_classes_of_a_run() -> None:
    classes = pl.DataFrame(
        {
            "response_bytes_max": [1_000, 1_000, 100_000, 200_000],
            "response_time_max_ns": [1e9, 2e9, 2e9, 4e9],
            "exchanges": [3, 1, 2, 4],
            "response_bytes": [2_000, 900, 150_000, 700_000],
        }
    )
    assert Distribution.of_times(classes).ends.tolist() == [1, 2, 4]
    assert Distribution.of_times(classes).held.tolist() == [3, 3, 4]
    assert Distribution.of_times(classes, most=100_000).held.tolist() == [3, 3]
    assert Distribution.of_times(classes, least=100_000).held.tolist() == [4]
    assert Distribution.of_sizes(classes).held.tolist() == [2_900, 150_000, 700_000]
    assert Distribution.of_sizes(classes, "exchanges").held.tolist() == [4, 2, 4]
    fewer = response_times.classes({"response_times": classes})["classes"]
    for of in (Distribution.of_times, Distribution.of_sizes, response_times.small, response_times.large):
        assert of(fewer).ends.tolist() == of(classes).ends.tolist()
        assert of(fewer).held.tolist() == of(classes).held.tolist()


def test_schemes_are_those_of_the_tables() -> None:
    assert [(point["load"], point["scheme"]) for point in ALL.points] == [
        (load, scheme) for load in (90, 98, 105) for scheme in SCHEMES
    ]
    assert len({scheme.label for scheme in SCHEMES}) == 9
    sets = dict(ALL.overrides({"load": 98, "scheme": PI_ECN}))
    assert (sets["queue.pi.action"], sets["flows.0.ecn"], sets["flows.1.ecn"]) == ("mark", "true", "true")
    amounts = made_up((1,))
    for duration_s, p_0 in ((120, "0.04"), (7200, "0.17")):
        made = users(replace(amounts, duration_s=duration_s), {"load": 98, "scheme": PI_ECN})
        assert dict(made[1])["queue.pi.p_0"] == p_0
    assert set(dict(users(amounts, {"load": 98, "scheme": DROP_TAIL})[1])) == {"flows.0.count", "flows.1.count"}
    assert PAPER.full.duration_s - PAPER.full.warmup_s == network.PAPER_MEASURED_S == 5400


def test_seeds_with_overrides_of_their_own_are_the_only_ones_run() -> None:
    text, name = api.read_scenario("unresponsive")
    one = Experiment("one", text, name, (("run.duration", "2 s"), ("run.warmup", "1 s")), {"flows": ("kind",)})
    some = replace(one, id="some", by_seed={2: (("flows.0.count", "3"),)})
    table = run_experiments([one, some], (1, 2))["flows"]
    assert table.filter(pl.col("experiment") == "some")["seed"].unique().to_list() == [2]
    assert table.filter((pl.col("experiment") == "some") & (pl.col("kind") == "tcp")).height == 3


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
    link = sg.simulate(text).links
    assert link["utilisation"].item() == pytest.approx(0.8, abs=1e-3)
    with pytest.raises(sg.ScenarioError, match="framing: must be bytes"):
        sg.simulate(text.replace('"250 B"', '"2 packets"'))
