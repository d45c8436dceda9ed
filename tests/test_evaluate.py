"""`evaluate`: ties, the whole with short runs, and what its command says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import open_page
from conftest import Program
from fifo import Fifo
from tiny import contents

import sluicegate as sg
from sluicegate.cli import evaluate as command
from sluicegate.evaluation import metrics, report
from sluicegate.evaluation.evaluate import estimate, meant, planned, read
from sluicegate.evaluation.result import Evaluation
from sluicegate.evaluation.rfc7928 import SUITE
from sluicegate.evaluation.suite import Number
from sluicegate.experiments.disciplines import choices
from sluicegate.experiments.job import check
from sluicegate.reproduce import Settings, UnknownName

TINY = Settings(seeds=(1, 2), duration_s=4, warmup_s=1, sample_s=0.1)
SCENARIOS = {each.id: each for each in SUITE.scenarios}
CHOKE = str(Path(__file__).parents[1] / "docs/examples/choke.py")

# Ties ---------------------------------------------------------------------------------------------------------------


def made_up(**values: tuple[float, ...]) -> Evaluation:
    rows = [
        {"scenario": "friendly", "point": "", "discipline": label, "of": "NewReno", "seed": seed,
         "delay_mean_ns": value}
        for label, own in values.items() for seed, value in enumerate(own, 1)
    ]  # fmt: skip
    named = [{"label": label, "name": label} for label in values]
    return Evaluation(
        SUITE, TINY, [SCENARIOS["friendly"]], pl.DataFrame(rows), {"disciplines": named, "references": []}
    )


def test_what_may_be_luck_is_a_tie() -> None:
    done = made_up(best=(1.0, 2.0, 3.0), close=(1.1, 1.9, 3.3), paired=(2.0, 3.0, 4.1), far=(9.0, 9.0, 9.5))
    places = done.places(SCENARIOS["friendly"], Number("NewReno", "delay_mean_ns"))
    assert {label: (place.best, place.tied) for label, place in places.items()} == {
        "best": (True, True), "close": (False, True), "paired": (False, False), "far": (False, False)}  # fmt: skip
    assert report.counts(done) == {"best": (1, 0, 1), "close": (1, 0, 1), "paired": (0, 0, 1), "far": (0, 1, 1)}


def test_a_number_in_which_one_alone_is_worse_counts() -> None:
    done = made_up(a=(1.0,), b=(1.0,), useless=(9.0,))
    assert report.counts(done) == {"a": (1, 0, 1), "b": (1, 0, 1), "useless": (0, 1, 1)}
    assert not any(each.of for each in report.counts(made_up(a=(1.0,), b=(1.0,))).values()), "all are tied"


def test_the_command_prints_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    command.tell(made_up(quick=(1e6,), slow=(9e6,)))
    shown = capsys.readouterr().out.splitlines()
    [head, row] = (line for line in shown if "●" in line)
    assert head.split()[-2:] == ["quick", "slow"]
    assert row.split()[0] == "friendly"
    assert row.split()[-3:] == ["1.00", "●", "9.00"]


def test_set_ups_of_their_own_have_their_own_numbers() -> None:
    """One direction only is seen beside both; the count has the mean over the three."""
    done = sg.evaluate("choke", only=["asymmetric"], quick=True, seeds=2, duration="4 s", warmup="1 s", progress=False)
    [scenario] = done.scenarios
    goodput = [number for number in scenario.overview if (number.of, number.metric) == ("down", "goodput_bps")]
    assert [number.point for number in goodput] == ["down only", "up only", "both"]
    label = done.labels[0]
    rows = done.runs.filter(scenario="asymmetric", discipline=label, of="down")
    apart = []
    for number in goodput:
        [*values] = done.places(scenario, number)[label].values
        assert values == rows.filter(point=number.point)["goodput_bps"].to_list()
        apart.append(values)
    whole = done.places(scenario, scenario.matters[0])[label].values
    assert list(whole) == pytest.approx([sum(values) / 3 for values in zip(*apart, strict=True)])
    glance = report.glance(done, [scenario], across=True)
    assert "down: goodput (Mbit/s), up only" in [row[2] for row in glance.rows]
    assert len(glance.rows) == 3 * len(scenario.matters)
    assert report.counts(done)[label].of <= sum(len(each.matters) for each in done.scenarios)


def test_one_seed_shows_no_ties_but_equality() -> None:
    places = made_up(a=(1.0,), b=(1.0,), c=(1.1,)).places(SCENARIOS["friendly"], Number("NewReno", "delay_mean_ns"))
    assert [place.tied for place in places.values()] == [True, True, False]


def test_what_is_to_be_one_is_judged_by_its_distance_from_it() -> None:
    ratio = metrics.METRICS["over_first"]
    assert ratio.score(2.0) == pytest.approx(ratio.score(0.5))
    assert ratio.score(0.0) > ratio.score(100.0)
    assert metrics.METRICS["goodput_bps"].score(2.0) < metrics.METRICS["goodput_bps"].score(1.0)


# The whole ----------------------------------------------------------------------------------------------------------

ONLY = ("6.2", "bursts-2", "varying-capacity", "9.2")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Evaluation, Path]:
    out = tmp_path_factory.mktemp("made") / "evaluated"
    return sg.evaluate("choke:candidates=2", out=out, settings=TINY, only=ONLY), out


def test_all_scenarios_give_what_matters_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Drop Tail alone, without a report; a page takes longer than these runs to load. It is compared with nothing."""
    done = sg.evaluate("drop_tail", settings=Settings((1,), 12, 3, 0.1), alone=True)
    assert done.scenarios == SUITE.scenarios
    for scenario in done.scenarios:
        for number in scenario.matters:
            values = done.values(scenario, number, "drop_tail")
            assert [len(each) for each in values.values()] == [len(scenario.points)], (scenario.id, number)
    command.tell(done)
    told = capsys.readouterr().out
    assert "drop_tail" in told
    assert report.ALIKE not in told


def test_the_page_shows_disciplines_scenarios_and_what_is_missing(made: tuple[Evaluation, Path]) -> None:
    done, _ = made
    assert done.page is not None
    page = open_page(done.page)
    assert page.errors == []
    drawn = {each["section"] for each in page.drawings}
    assert drawn == {each.id for each in done.scenarios}
    for words in ("choke:candidates=2", "drop_tail (reference)", "fq_codel (reference)", "4 s each", "LEDBAT",
                  "What each discipline needs", "What the RFC leaves open", "8.2.6 Varying available",
                  "What the RFC asks for, and what is done", "not done", "every 1 s, 10 base round trips"):  # fmt: skip
        assert words in page.text
    assert "The paper" not in page.text
    assert "claims" not in page.text
    glance = done.page.read_text("utf-8").partition('id="glance"')[2].partition("</section>")[0]
    assert glance.count(report.BEST) == sum(len(each.overview) for each in done.scenarios) + 1, "and the legend"


def test_the_page_says_what_delays_of_a_group_are(made: tuple[Evaluation, Path]) -> None:
    done, _ = made
    assert done.page is not None
    assert report.lengths(done)["Delays"] in done.page.read_text("utf-8").replace("&#39;", "'")


def test_tables_stand_beside_the_page_and_are_read_again(made: tuple[Evaluation, Path]) -> None:
    done, out = made
    assert done.page is not None
    which = "-6.2-bursts-2-varying-capacity-9.2"
    assert done.page.name == f"report{which}.html"
    runs, means = (pl.read_parquet(out / f"data/{name}{which}.parquet") for name in ("runs", "means"))
    assert runs.equals(done.runs)
    assert means.equals(done.means)
    assert runs["seed"].unique().to_list() == [1, 2]
    one = means.filter(scenario="both-ways", discipline="choke:candidates=2", of="down", metric="goodput_bps")
    values = runs.filter(scenario="both-ways", discipline="choke:candidates=2", of="down")["goodput_bps"]
    assert one["mean"].item() == pytest.approx(values.mean())
    summary = json.loads((out / f"summary{which}.json").read_text("utf-8"))
    assert summary["disciplines"][0]["queue"]["candidates"] == 2
    assert (summary["references"], summary["seeds"]) == (["drop_tail", "fq_codel"], [1, 2])


def test_a_report_of_all_is_read_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = tuple(SCENARIOS[id_] for id_ in ("friendly", "mild"))
    monkeypatch.setattr("sluicegate.evaluation.evaluate.SUITES", {
        "rfc7928": type(SUITE)(**{**vars(SUITE), "scenarios": few})})  # fmt: skip
    done = sg.evaluate(",".join(("red", "choke", "pie", "codel", "blue")), out=tmp_path, settings=TINY)
    again = read(tmp_path)
    assert report.counts(again) == report.counts(done)
    assert report.glance(again, few, across=False) == report.glance(done, few, across=False)
    assert 'id="glance-5"' in (tmp_path / "report.html").read_text("utf-8"), (
        "many disciplines: a table for each section"
    )
    text = "\n".join(tool("evaluation_page")["lines"](tmp_path))
    assert "| red | " in text
    assert "## Section 8: stability" in text


def tool(name: str) -> dict[str, Any]:
    """What a program of `tools` defines."""
    path = Path(__file__).parents[1] / f"tools/{name}.py"
    defined: dict[str, Any] = {"__file__": str(path), "__name__": "tool"}
    exec(path.read_text("utf-8"), defined)
    return defined


def test_the_page_to_choose_by_says_what_the_page_of_results_says() -> None:
    writer = tool("choosing_page")
    page, results = (writer[name].read_text("utf-8") for name in ("PAGE", "RESULTS"))
    assert writer["kept"](writer["evaluated"](page, results)) == page, "python tools/choosing_page.py writes it anew"
    assert "| calls | 7 |" in writer["evaluated"](
        "<!-- evaluation-results.md: 4.6 VoIP: delay -->\n| | `red` |\n|---|---:|\n| calls | |\n",
        "| Discipline | 4.6 VoIP: delay |\n|---|---:|\n| red | 7 ● |\n",
    )
    assert "| uncongested | 263 |" in writer["kept"](
        "<!-- dcn2004: capped 98 -->\n| | ms |\n|---|---:|\n| uncongested | |\n"
    )


@pytest.mark.full
def test_what_is_kept_is_not_run_again(made: tuple[Evaluation, Path]) -> None:
    done, out = made
    before = contents(out)
    told: list[str] = []
    again = sg.evaluate(
        "choke:candidates=2", out=out, settings=TINY, only=ONLY, progress=lambda *each: told.append(each[2])
    )
    assert told == []
    assert again.runs.equals(done.runs)
    assert contents(out) == before
    more = sg.evaluate("choke", out=out, settings=TINY, only=["bursts-2"], progress=lambda *each: told.append(each[2]))
    assert told == ["bursts-2 · choke"] * 2, "the references are there"
    assert more.labels == ["choke", "drop_tail", "fq_codel"]


def test_a_discipline_in_python_is_evaluated_wherever_it_stands(tmp_path: Path) -> None:
    settings = Settings((1,), 2, 0.5, 0.1)
    only = ("friendly", "scheduling")
    done = sg.evaluate(f"{CHOKE}:Choke:max_p=0.05", settings=settings, only=only, alone=True, out=tmp_path, jobs=1)
    rust = sg.evaluate("choke:max_p=0.05", settings=settings, only=only, alone=True)
    drop = [name for name in rust.runs.columns if name != "discipline"]
    # What the suite does not set are the same defaults in both.
    assert done.runs.select(drop).equals(rust.runs.select(drop))
    page = (tmp_path / "report-friendly-scheduling.html").read_text("utf-8")
    assert "as written" in page
    assert "max_p = 0.05" in page


def test_a_class_is_evaluated() -> None:
    settings = Settings((1,), 2, 0.5, 0.1)
    own = sg.evaluate(Fifo, settings=settings, only=["mild", "4.6"], alone=True, jobs=1)
    rust = sg.evaluate("drop_tail", settings=settings, only=["mild", "4.6"], alone=True)
    drop = [name for name in rust.runs.columns if name != "discipline"]
    assert own.labels == ["Fifo"]
    assert own.runs.select(drop).equals(rust.runs.select(drop)), "with the limit of the suite"


def test_objects_are_evaluated_beside_classes() -> None:
    settings = Settings((1,), 2, 0.5, 0.1)
    done = sg.evaluate([sg.Red(limit=50), Fifo, "pie:limit=50"], settings=settings, only=["friendly"], jobs=1)
    assert done.labels == ["red:limit=50", "Fifo", "pie:limit=50", "drop_tail", "fq_codel"]


def test_runs_have_another_length_when_it_is_asked_for() -> None:
    lengths = [
        planned("red", quick=True, **more)[2]  # type: ignore[arg-type]
        for more in ({"duration": "12 s"}, {"duration": "12 s", "warmup": "0 s"}, {"warmup": "5 s"},
                     {"sets": {"run.duration": "6 s", "run.warmup": "4 s"}},
                     {"sets": {"run.duration": "6 s"}, "duration": "30 s"}, {"settings": TINY, "duration": "8 s"})
    ]  # fmt: skip
    found = [(each.duration_s, each.warmup_s) for each in lengths]
    assert found == [(12, 2), (12, 0), (60, 5), (6, 4), (30, 5), (8, 2)]


def test_changed_scenarios_are_told_from_the_suites(sluicegate: Program, tmp_path: Path) -> None:
    sets = {"flows.*.algorithm": "cubic", "queue.limit": 60}
    more: dict[str, Any] = {"quick": True, "seeds": 1, "duration": "6 s", "sets": sets, "alone": True, "jobs": 1}
    done = sg.evaluate("red,red:limit=70", only=["friendly", "4.6"], out=tmp_path / "out", **more)
    assert (done.summary["sets"], done.summary["duration_s"]) == (["flows.*.algorithm=cubic", "queue.limit=60"], 6.0)
    assert [each["queue"]["limit"] for each in done.summary["disciplines"]] == [60, 70]
    asked = planned("red", only=["4.6"], **{key: more[key] for key in ("quick", "sets")})
    [both] = [check(each).resolved for each in asked[1][0].experiments(choices("red"), asked[2]).values()]
    assert [each["limit"] for each in both["queue"]["classes"]] == [60, 60], "in every place of the discipline"
    assert [each.get("algorithm") for each in both["flows"]] == [None, "cubic", "cubic"], "of those that have it"
    said = "flows.*.algorithm=cubic, queue.limit=60: these are not the suite's own scenarios"
    assert done.page is not None
    page = done.page.read_text("utf-8")
    assert said in page.replace("&#39;", "'")
    assert "--set 'flows.*.algorithm=cubic' --set queue.limit=60" in page.replace("&#39;", "'")
    plain = sg.evaluate("red", only=["friendly"], **{key: more[key] for key in more if key != "sets"})
    assert plain.summary["sets"] == []
    assert "Changed" not in report.lengths(plain)
    assert plain.runs["goodput_bps"].to_list() != done.runs.filter(discipline="red")["goodput_bps"].to_list()[:2]
    words = ["--set", "flows.*.algorithm=cubic", "--set", "run.duration=6 s", "--set", "queue.limit=60"]
    answer = sluicegate("evaluate", "red", "red:limit=70", "--alone", "--quick", "--seeds", "1", *words,
                        "--only", "friendly", "--only", "4.6", "-o", "out")  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert f"note: changed: {said}" in answer.stdout
    assert (tmp_path / "out" / done.page.name).read_text("utf-8") == page


def test_a_change_that_does_nothing_is_warned_of() -> None:
    with pytest.warns(sg.ScenarioWarning, match=r"queue\.min_th: .*drop_tail has no such key"):
        planned("drop_tail", alone=True, only=["friendly"], sets={"queue.min_th": 5})


def test_what_a_number_cannot_tell_is_a_tie() -> None:
    """0.1 % of a value, or a bin of the histogram that a percentile is read from, before propagation is taken off."""
    goodput, delay = metrics.METRICS["goodput_bps"], metrics.METRICS["delay_p99_ns"]
    assert goodput.grain(1e7, of_link=False) == 1e4
    assert delay.grain(14e6, of_link=False) == 64e6 / 128
    assert delay.grain(64e6, of_link=True) == 64e6 / 128
    places = made_up(red=(10.0, 10.1), choke=(10.001, 10.101), pie=(10.1, 10.2)).places(
        SCENARIOS["friendly"], Number("NewReno", "delay_mean_ns")
    )
    assert [place.tied for place in places.values()] == [True, True, False]


def test_the_page_has_the_means_of_the_table_and_every_half_width() -> None:
    """Ratios of three seeds that differ by more than their mean."""
    ratio = report._shown([1.1, 1.4, 2.8], "over_first", "CUBIC").split()
    assert ratio == ["1.8", "±", "2.3"], "the mean of the values, and a half width above it"


# What is asked ------------------------------------------------------------------------------------------------------


def test_all_is_every_discipline_that_needs_no_classes() -> None:
    _, scenarios, settings, given, beside = planned("all", quick=True)
    names = [each.name for each in given]
    assert not {"priority", "drr"} & {*names}
    assert {"drop_tail", "fq_codel", "choke", "dcn"} <= {*names}
    assert beside == []
    runs, seconds = estimate(scenarios, settings, given, 1)
    assert runs == sum(len(each.points) for each in scenarios) * len(given) * len(settings.seeds)
    assert seconds > 0


def test_scenarios_are_meant_by_id_and_section() -> None:
    found = {only: [each.id for each in SUITE.scenarios if meant(each, only)] for only in ("5.1", "7.2", "mild", "1")}
    assert found == {"5.1": ["friendly", "initial-windows"], "7.2": [f"bursts-{number}" for number in (1, 2, 3, 4)],
                     "mild": ["mild"], "1": []}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "more", "error", "words"),
    [
        ((), {}, sg.ScenarioError, 'name at least one, such as choke or my.py:MyAqm, or "all"'),
        ("chok", {}, sg.ScenarioError, 'discipline "chok": .*did you mean "choke"'),
        ("red:min_ht=4", {}, sg.ScenarioError, 'did you mean "min_th"'),
        ("all,red", {}, sg.ScenarioError, "all includes every one: leave red out"),
        ("drr", {}, sg.ScenarioError, 'discipline "drr": holds classes of traffic'),
        ("red", {"suite": "rfc7982"}, UnknownName, 'did you mean "rfc7928"'),
        ("red", {"suite": "rfc"}, UnknownName, "envelope"),
        ("cubic", {}, sg.ScenarioError, '"cubic": is a congestion control: .*--suite congestion-control'),
        ("red", {"only": "mid"}, UnknownName, '"mid"; did you mean "mild"'),
        ("red", {"suite": "envelope"}, sg.ScenarioError, "has a function of its own, sluicegate.envelope"),
        ("red", {"only": ["mid"]}, UnknownName, 'did you mean "mild"'),
        ("red", {"seeds": 0}, ValueError, "at least one is needed"),
        (3, {}, TypeError, "^disciplines: expected a name or a discipline"),
        ("red", {"duration": "9"}, sg.ScenarioError, "^duration = 9: must be a time with its unit"),
        ("red", {"duration": "0 s"}, sg.ScenarioError, '^duration = "0 s": must be above 0'),
        ("red", {"warmup": "400 s"}, sg.ScenarioError, "^warmup = 400 s: must be less than the duration, 300 s"),
        ("red", {"sets": {"run.duration": "x"}}, sg.ScenarioError, '^sets: run.duration = "x": must be a time'),
        ("red", {"sets": {"run.seed": 3}}, sg.ScenarioError, "^sets: run.seed: is the suite's own; flows, the queue"),
        ("red", {"sets": {"network.rate": "1 Mbit/s"}}, sg.ScenarioError, "^sets: network.rate: is the suite's own"),
        ("red", {"sets": {"queue.discipline": "pie"}}, sg.ScenarioError, "the first argument names the disciplines"),
        (
            "red",
            {"sets": {"flows.1.window": 3}, "only": ["bursts-1"]},
            sg.ScenarioError,
            r"^sets: flows\.1\.window: no such key for kind udp",
        ),
        ("red", {"sets": {"flows.*.windw": 3}}, sg.ScenarioError, "no flows of these scenarios have such a key"),
        ("red", {"sets": {"flows.0.windw": 3}, "only": ["mild"]}, sg.ScenarioError, r'"window"\? \(in mild\)$'),
        ("red", {"sets": {"queue.mim_th": 3}, "only": ["mild"]}, sg.ScenarioError, r'"min_th"\? \(in mild\)$'),
        (
            "red",
            {"sets": {"flows.1.rtt": "5 ms"}, "only": ["round-trips"]},
            sg.ScenarioError,
            "what the scenario varies",
        ),
        ("red", {"sets": {"flows.0.count": 5}, "only": ["8.2.5"]}, sg.ScenarioError, "what the scenario varies"),
        ("red", {"jobs": 0}, ValueError, "must be at least 1"),
    ],
)
def test_a_mistake_is_answered_before_anything_runs(given: Any, more: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        sg.evaluate(given, **more)


def test_the_command_says_what_it_runs_and_what_came_of_it(sluicegate: Program, tmp_path: Path) -> None:
    done = sluicegate("evaluate", "red", "--quick", "--seeds", "1", "--only", "friendly", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "3 runs of up to 60 simulated seconds: about " in done.stdout
    assert "out/report-friendly.html" in done.stdout
    assert (tmp_path / "out/report-friendly.html").is_file()
    assert "fq_codel" in done.stdout
    alone = sluicegate(
        "evaluate", "red", "--alone", "--quick", "--seeds", "1", "--only", "friendly", "-o", "out", "--quiet"
    )
    assert (alone.returncode, alone.stdout) == (0, "")
    assert "fq_codel" not in (tmp_path / "out/report-friendly.html").read_text("utf-8").partition("</header>")[0]


def test_the_command_without_a_discipline_names_the_fix(sluicegate: Program) -> None:
    done = sluicegate("evaluate")
    assert done.returncode == 2
    assert done.stderr == "error: name a discipline (sluicegate evaluate choke, or my.py:MyAqm), or all\n"
    wrong = sluicegate("evaluate", "red", "--only", "midl")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert 'did you mean "mild"' in wrong.stderr


def test_the_command_lists_the_scenarios(sluicegate: Program) -> None:
    done = sluicegate("evaluate", "--list")
    assert done.returncode == 0
    for scenario in SUITE.scenarios:
        assert scenario.id in done.stdout
    assert sluicegate("evaluate", "red", "--list").returncode == 2
