"""CHOKe 1999 as a tiny reproduction: what it writes, that the same is written each time, whole or not at all, its page
in a browser; and the measures of what the report says without a figure, on traffic whose answer is known."""

from __future__ import annotations

import json
import math
import random
import re
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import Page, open_page
from tiny import TINY, contents

from sluicegate import scenario
from sluicegate.experiments import engine, job
from sluicegate.experiments.engine import MissingRuns, Store, run_experiments
from sluicegate.papers.choke1999 import PAPER, fig08_11, fig12_15, fig16_19, network, text_claims
from sluicegate.reproduce import Outcome, Study, UnknownName, figure, reproduce, within
from sluicegate.reproduce.claim import KINDS, VERDICTS, claim
from sluicegate.reproduce.run import RECORD

pytestmark = pytest.mark.drawn

IDS = [each.id for each in PAPER.figures()]
Made = tuple[Path, Outcome, list[tuple[int, int, str]]]


class Shuffled(Executor):
    """Runs each task after a random delay, so that they end in another order than they were given."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.submitted = 0
        self.order: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        number = self.submitted
        self.submitted += 1

        def call() -> None:
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                self.order.append(number)
                future.set_result(result)

        threading.Timer(self._random.random(), call).start()
        return future


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One tiny reproduction: its folder, what it came to, and the calls of `progress`."""
    out = tmp_path_factory.mktemp("made") / "choke1999"
    calls: list[tuple[int, int, str]] = []
    outcome = reproduce("choke1999", out, progress=lambda *call: calls.append(call), settings=TINY)
    return out, outcome, calls


def checks_of(made: Made) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((made[0] / "checks.json").read_text("utf-8"))
    return found


def test_every_figure_is_there_with_its_data() -> None:
    assert [*(f"fig{number}" for number in range(2, 20)), "alone", "synchronisation", "bursts", "choices"] == IDS


def test_every_figure_is_written_with_its_data(made: Made) -> None:
    expected = {
        "report.html",
        "checks.json",
        *(f"figures/{id_}.svg" for id_ in IDS),
        *(f"data/{id_}.parquet" for id_ in IDS),
    }
    assert set(contents(made[0])) - {"runs.sqlite"} == expected
    assert [path.name for path in made[0].parent.iterdir()] == ["choke1999"]


def test_checks_have_every_key_and_agree_with_the_result(made: Made) -> None:
    checks = checks_of(made)
    ids = [check["id"] for check in checks]
    assert len(set(ids)) == len(ids) > 90
    for check in checks:
        assert check["class"] in KINDS
        assert check["verdict"] in VERDICTS
        assert check["ok"] is (check["verdict"] != "failed" or check["class"] == "reference")
        assert "Bounds: " in check["why"]
        if check["verdict"] == "reproduced":
            assert check["low"] is None or check["measured"] >= check["low"]
            assert check["high"] is None or check["measured"] <= check["high"]
        if check["verdict"] == "explained deviation":
            assert check["evidence"] in set(ids) - {check["id"]}
    deviating = [check for check in checks if check["class"] != "reference" and check["verdict"] != "reproduced"]
    assert [verdict.check.id for verdict in made[1].contradicted] == [check["id"] for check in deviating]


def test_udp_in_the_queue_is_judged_by_the_words_of_the_report(made: Made) -> None:
    """Sec. 4 on Fig. 9 says that UDP "can never become the dominant portion of the queue usage"."""
    found = [check for check in checks_of(made) if check["id"].startswith("fig9-udp-can-never-become")]
    assert [(check["class"], check["high"]) for check in found] == [("claim", 50)] * 2
    recorded = json.loads((PAPER.folder / RECORD).read_text("utf-8"))
    verdicts = [recorded[check["id"]] for check in found]
    assert verdicts == ["explained deviation", "reproduced"], "51.6 % of the queue with thresholds of 30 and 60"
    (evidence,) = (id_ for id_ in recorded if id_.startswith("fig9-dominant-early-drops"))
    assert recorded[evidence] == "reproduced"


def test_every_check_stands_under_a_figure_of_the_page(made: Made) -> None:
    page = (made[0] / "report.html").read_text("utf-8")
    for check in checks_of(made):
        assert len(re.findall(f'<tr id="check-{re.escape(check["id"])}"', page)) == 1
    for id_ in IDS:
        assert re.search(f'<section class="figure[^"]*" id="{id_}">', page)


def test_the_data_are_what_the_figures_show(made: Made) -> None:
    data = {id_: pl.read_parquet(made[0] / "data" / f"{id_}.parquet") for id_ in IDS}
    samples = int(TINY.duration_s // TINY.sample_s)
    heights = {
        "fig2": samples * 2,
        "fig4": samples * 4,
        "fig5": 33,
        "fig7": 66,
        "fig12": samples * 4,
        "fig13": samples * 4,
        "alone": 4 * len(text_claims.COUNTS),
        "synchronisation": samples * 5,
        "bursts": 7,
    }
    heights |= dict.fromkeys(("fig8", "fig9", "fig10", "fig11", "fig14", "fig15"), 2 * len(network.RATES))
    heights |= dict.fromkeys(("fig16", "fig17", "fig18", "fig19"), 2 * len(fig16_19.RATES))
    assert {id_: data[id_].height for id_ in heights} == heights
    assert data["fig8"]["seeds"].unique().to_list() == [len(TINY.seeds)]
    for id_, table in data.items():
        for column in (name for name in table.columns if name.endswith(("_mean", "_half_width", "one_run"))):
            assert table[column].null_count() == 0, (id_, column)
            assert table[column].is_finite().all(), (id_, column)


def test_a_mean_of_the_data_is_the_mean_of_the_runs(made: Made) -> None:
    study = fig08_11.load
    point = next(point for point in study.points if point == {"queue": network.CHOKE, "udp_rate": 10.0})
    experiment = study.experiment(point, TINY, None, study.needs)
    flows = [run_experiments([experiment], [seed])["flows"] for seed in TINY.seeds]
    expected = math.fsum(table.filter(pl.col("kind") == "udp")["throughput_bps"].item() for table in flows) / 2e3
    row = pl.read_parquet(made[0] / "data" / "fig8.parquet").row(len(network.RATES) - 1, named=True)
    assert (row["queue"], row["udp_rate"]) == ("CHOKe, thresholds 30 and 60", 10.0)
    assert row["udp_mean"] == pytest.approx(expected, rel=1e-12)


def test_progress_counts_every_run_once(made: Made) -> None:
    calls = made[2]
    assert [done for done, _, _ in calls] == list(range(1, len(calls) + 1))
    assert {total for _, total, _ in calls} == {len(calls)}
    assert len({what for _, _, what in calls}) * len(TINY.seeds) == len(calls)


def test_nothing_written_has_a_date_or_a_path(made: Made) -> None:
    for path in [made[0] / "report.html", made[0] / "checks.json", *(made[0] / "figures").iterdir()]:
        text = path.read_text("utf-8")
        assert "dc:date" not in text
        assert str(made[0].parent) not in text
        assert str(PAPER.folder) not in text


FEW = ("fig4", "fig9")
"""Figures that are quickly made."""


def test_only_these_figures_in_whatever_order_runs_end(made: Made, tmp_path: Path) -> None:
    executor = Shuffled(seed=3)
    reproduce("choke1999", tmp_path / "again", executor=executor, settings=TINY, only=FEW)
    assert executor.order != sorted(executor.order), "the runs did end in another order"
    again, first = contents(tmp_path / "again"), contents(made[0])
    for id_ in FEW:
        for name in (f"figures/{id_}.svg", f"data/{id_}.parquet"):
            assert again[name] == first[name]
    assert not any("fig2" in name for name in again)


def test_a_report_of_some_figures_stands_beside_that_of_all(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("that of all")
    outcome = reproduce("choke1999", out, settings=TINY, only=["2"])
    assert outcome.page == out / "report-fig2.html"
    assert {"report.html", "figures/fig2.svg", "checks-fig2.json"} <= contents(out).keys()
    assert (out / "report.html").read_text() == "that of all"
    page = outcome.page.read_text("utf-8")
    assert 'id="fig2"' in page
    assert 'id="fig5"' not in page
    assert "Only fig2" in page


def test_a_report_replaces_an_earlier_one(tmp_path: Path) -> None:
    out, short = tmp_path / "out", replace(TINY, seeds=(1,), duration_s=6, warmup_s=2)
    reproduce("choke1999", out, settings=short, only=["fig2"])
    (out / "mine.txt").write_text("keep this")
    before = contents(out)
    reproduce("choke1999", out, jobs=3, settings=replace(short, seeds=(2,)), only=["fig2"])
    after = contents(out)
    assert after.keys() == before.keys()
    assert after["mine.txt"] == before["mine.txt"]
    assert after["figures/fig2.svg"] != before["figures/fig2.svg"]


@pytest.mark.parametrize("entry", ["file", "folder"])
def test_what_is_called_like_the_paper_in_this_folder_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "choke1999"
    here.mkdir() if entry == "folder" else here.write_text("not a scenario")
    short = replace(TINY, seeds=(1,), duration_s=6, warmup_s=2)
    reproduce("choke1999", "out", settings=short, only=["fig2"])


@pytest.fixture
def counted_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the runs that are made, as they are."""
    runs: list[int] = []

    def work(asked: job.Job, cancel: job.Flag | None = None) -> job.Kept:
        runs.append(asked.seed)
        return job.work(asked, cancel)

    monkeypatch.setattr(engine, "work", work)
    return runs


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_reproduction_keeps_what_has_ended(
    tmp_path: Path, error: type[BaseException], counted_runs: list[int]
) -> None:
    def stop(done: int, _total: int, _label: str) -> None:
        if done == 3:
            raise error

    out = tmp_path / "out"
    with pytest.raises(error):
        reproduce("choke1999", out, progress=stop, settings=TINY, jobs=1, only=FEW)
    assert [path.name for path in out.iterdir()] == ["runs.sqlite"]
    with Store(out) as store:
        assert len(store.keys()) == 3
    made = len(counted_runs)
    counted_runs.clear()
    calls: list[int] = []
    reproduce("choke1999", out, settings=TINY, only=FEW, progress=lambda done, total, _: calls.append(total))
    assert len(counted_runs) == calls[0], "what is missing, and nothing else"
    assert made >= 3


def test_what_was_reproduced_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted_runs: list[int]
) -> None:
    out, short = tmp_path / "out", replace(TINY, seeds=(1,), duration_s=6, warmup_s=2)
    reproduce("choke1999", out, settings=short, only=["fig4", "fig9"])
    count = len(counted_runs)
    before = contents(out)
    counted_runs.clear()
    reproduce("choke1999", out, settings=short, only=["fig4", "fig9"])
    assert (counted_runs, contents(out)) == ([], before)
    reproduce("choke1999", out, settings=short, only=["fig9"])
    assert counted_runs == [], "one of its figures needs no other runs"
    measure = fig08_11.load.measure
    monkeypatch.setitem(measure, "udp_queue_share", replace(measure["udp_queue_share"], label="another label"))
    reproduce("choke1999", out, settings=short, only=["fig4", "fig9"], redraw=True)
    assert counted_runs == []
    assert "another label" in (out / "report-fig4-fig9.html").read_text("utf-8")
    reproduce("choke1999", out, settings=replace(short, seeds=(1, 2)), only=["fig4", "fig9"])
    assert counted_runs == [2] * count
    with pytest.raises(MissingRuns, match="runs are not kept"):
        reproduce("choke1999", out, settings=replace(short, seeds=(3,)), only=["fig4"], redraw=True)


def test_one_seed_gives_a_report_without_intervals(tmp_path: Path) -> None:
    reproduce("choke1999", tmp_path / "out", settings=replace(TINY, seeds=(4,)), only=["choices"])
    data = pl.read_parquet(tmp_path / "out" / "data" / "choices.parquet")
    assert data["udp_share_half_width"].null_count() == data.height


def test_what_cannot_be_done_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="not a directory"):
        reproduce("choke1999", tmp_path / "file" / "out", progress=pytest.fail, settings=TINY)
    for option in ("seeds", "jobs"):
        with pytest.raises(ValueError, match=f"{option} = 0"):
            reproduce("choke1999", tmp_path / "out", **{option: 0})  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match='no such paper: "choke199"; did you mean "choke1999"'):
        reproduce("choke199", tmp_path / "out")
    with pytest.raises(UnknownName, match='no such figure of choke1999: "fig99"'):
        reproduce("choke1999", tmp_path / "out", only=["fig99"])
    assert not (tmp_path / "out").exists()


def test_a_changed_verdict_is_an_error_and_a_contradicted_claim_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impossible = figure("impossible", "More than all")(
        lambda: [claim("more than all", 1.0, within(2, None, "made up"))]
    )
    package = type(PAPER)
    monkeypatch.setattr(package, "figures", lambda _self, live=False: [] if live else [impossible])
    monkeypatch.setattr(package, "folder", tmp_path)
    paper = replace(PAPER, short=TINY)
    (tmp_path / RECORD).write_text('{"impossible-more-than-all": "failed"}')
    outcome = reproduce(paper, tmp_path / "out")
    assert [len(outcome.contradicted), outcome.passed(), outcome.passed(strict=True)] == [1, True, False]
    assert "1 of 1 claims are contradicted" in (tmp_path / "out" / "report.html").read_text("utf-8")
    (tmp_path / RECORD).write_text('{"impossible-more-than-all": "reproduced", "another": "failed"}')
    outcome = reproduce(paper, tmp_path / "out")
    assert outcome.changed == {"another": ("failed", "none"), "impossible-more-than-all": ("reproduced", "failed")}
    assert not outcome.passed()


# The page in a browser ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(made: Made) -> Page:
    """What the browser made of it."""
    return open_page(made[0] / "report.html")


def test_the_page_opens_without_an_error(page: Page) -> None:
    assert page.errors == []
    assert page.title == "CHOKe 1999, reproduced"
    assert page.width <= 1300
    assert page.height <= 17_000  # each verdict says what was tested


def test_every_figure_is_drawn_and_its_text_can_be_selected(page: Page) -> None:
    assert [each["section"] for each in page.drawings] == IDS
    for drawing in page.drawings:
        assert min(drawing["shown"]) > 100
        assert drawing["texts"] > 5
    for words in (
        "Figure 2", "Figure 19", "Synchronisation", "Contradicted claims", "What the paper leaves open", "kbit/s",
        "UDP sends (Mbit/s)", "1 to 2 (2 runs of each point)", "12 s for each run, the first 3 s not measured",
    ):  # fmt: skip
        assert words in page.text, words


def test_figures_beside_a_table_keep_the_type_size_of_others(page: Page) -> None:
    for drawing in page.drawings:
        assert drawing["scale"] == pytest.approx(1, abs=0.01), drawing["section"]


def test_the_page_needs_nothing_beside_it(made: Made, tmp_path: Path) -> None:
    alone = tmp_path / "moved.html"
    alone.write_bytes((made[0] / "report.html").read_bytes())
    assert open_page(alone).errors == []
    assert "<script" not in alone.read_text("utf-8")


# Measures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flows", "ratio"),
    [
        (([1, 2, 3, 2, 1, 3], [1, 2, 3, 2, 1, 3], [1, 2, 3, 2, 1, 3]), 3.0),
        (([1, 2, 1, 2, 1, 2], [2, 1, 2, 1, 2, 1]), 0.0),
        (([1, 1, 1, 3, 3, 3], [1, 3, 2, 2, 1, 3]), 1.0),
    ],
    ids=["synchronised", "one gives way", "independent"],
)
def test_the_window_ratio_says_whether_flows_are_synchronised(flows: tuple[list[float], ...], ratio: float) -> None:
    rows = [(number, window) for number, values in enumerate(flows) for window in [100.0, 900.0, *map(float, values)]]
    table = pl.DataFrame(rows, schema=["flow", "cwnd_segments"], orient="row")
    assert text_claims.window_ratio(table) == pytest.approx(ratio, abs=1e-12)


def one_run(study: Study, **at: Any) -> pl.DataFrame:
    """The flows of one run at a point."""
    point = next(point for point in study.points if all(point[axis] == value for axis, value in at.items()))
    needs = {"flows": frozenset({"flow", "group", "kind", "arrivals_packets", "drops_packets", "drops_match"})}
    return run_experiments([study.experiment(point, TINY, None, needs)], [1])["flows"]


def test_bursts_come_whole_and_the_smooth_flow_at_the_same_rate() -> None:
    flows = one_run(text_claims.bursts, queue=network.CHOKE).filter(pl.col("kind") == "udp").sort("group")
    *bursts, smooth = flows["arrivals_packets"].to_list()
    assert bursts == [text_claims.BURST_PACKETS] * int(TINY.measured_s // text_claims.BURST_GAP_S)
    assert smooth == pytest.approx(text_claims.BURST_PACKETS * TINY.measured_s / text_claims.BURST_GAP_S, abs=2)


def test_losses_of_bursts_are_counted_over_all_of_them() -> None:
    rows = [("a", 1, 0, "tcp", 500, 400), ("a", 1, 1, "udp", 8, 2), ("a", 1, 2, "udp", 8, 4), ("a", 1, 3, "udp", 20, 1)]
    flows = pl.DataFrame(
        rows, schema=["experiment", "seed", "group", "kind", "arrivals_packets", "drops_packets"], orient="row"
    )
    measures = text_claims.bursts.measure
    assert measures["burst_loss"].evaluate({"flows": flows}) == {("a", 1): pytest.approx(100 * 6 / 16)}
    assert measures["smooth_loss"].evaluate({"flows": flows}) == {("a", 1): pytest.approx(100 / 20)}


def test_the_scenario_without_udp_is_the_other_without_its_last_group() -> None:
    whole, alone = (scenario.check(name) for name in ("choke1999", "choke1999_tcp"))
    assert whole["flows"].pop()["kind"] == "udp"
    assert alone == whole


def test_flows_with_a_window_of_one_never_meet_themselves() -> None:
    flows = one_run(text_claims.single, queue=network.CHOKE)
    assert flows["drops_packets"].sum() > 0
    assert flows["drops_match"].sum() == 0


def test_points_run_what_they_say() -> None:
    for study, at, candidates, sources in (
        (fig12_15.two, {}, 2, 1),
        (fig16_19.five, {"queue": network.DROP_6, "udp_rate": 2.0}, 5, 5),
    ):
        point = next(point for point in study.points if all(point[axis] == value for axis, value in at.items()))
        document = scenario.check(study.scenario, sets=study.overrides(point))
        assert (document["queue"]["candidates"], document["flows"][1]["count"]) == (candidates, sources)


def test_rates_rise_and_both_readings_of_five_sources_are_covered() -> None:
    for rates in (network.RATES, fig16_19.RATES):
        assert list(rates) == sorted(set(rates))
        assert (rates[0], rates[-1]) == (0.1, 10.0)
    assert 10.0 / fig16_19.UDP_FLOWS in fig16_19.RATES
