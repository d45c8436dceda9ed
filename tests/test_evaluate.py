"""`evaluate`: the metrics by hand, the scenarios of RFC 7928 as they say they are, and the whole with short runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import open_page
from conftest import Program
from tiny import contents

import sluicegate as sg
from sluicegate.evaluation import metrics, report, suite
from sluicegate.evaluation.evaluate import estimate, meant, planned, read
from sluicegate.evaluation.result import Evaluation
from sluicegate.evaluation.rfc7928 import SUITE, section8, traffic
from sluicegate.evaluation.suite import LINKS, Number, marking
from sluicegate.experiments.disciplines import choices
from sluicegate.experiments.job import check
from sluicegate.reproduce import Settings, UnknownName

TINY = Settings(seeds=(1, 2), duration_s=4, warmup_s=1, sample_s=0.1)
SCENARIOS = {each.id: each for each in SUITE.scenarios}
CHOKE = str(Path(__file__).parents[1] / "docs/examples/choke.py")

# Scenarios ----------------------------------------------------------------------------------------------------------

GROUPS = {
    "asymmetric": "tcp 6, tcp 4, tcp 50, poisson 1, poisson 1", "scalable": "tcp 1, tcp 1", "targets": "tcp 13",
    "packet-sizes": "tcp 3, tcp 3",
    "packet-sizes-both-ways": "tcp 3, tcp 3, tcp 3, tcp 3", "ecn": "tcp 1, tcp 1",
    "scheduling": "udp 1, tcp 4, tcp 10", "friendly": "tcp 1",
    "initial-windows": "tcp 1, tcp 20, tcp 20", "aggressive": "tcp 1", "aggressive-friendly": "tcp 1, tcp 1",
    "aggressive-bbr": "tcp 1, tcp 1",
    "unresponsive": "udp 1", "unresponsive-friendly": "tcp 1, udp 1", "less-than-best-effort": "tcp 1, tcp 1",
    "one-round-trip": "tcp 1, tcp 1",
    "round-trips": "tcp 1, tcp 1", "bursts-1": "http 1, udp 1", "bursts-2": "http 1, udp 1, tcp 1",
    "bursts-3": "http 1, udp 1, on_off 1", "bursts-4": "http 1, udp 1, on_off 1, tcp 1",
    "bursts-buffers": "http 1, udp 1, on_off 1, tcp 1", "mild": "tcp 6",
    "medium": "tcp 13", "heavy": "tcp 19", "varying-congestion": "tcp 19", "varying-capacity": "tcp 6",
    "varying-capacity-fast": "tcp 6", "varying-capacity-bursts": "http 1, udp 1, on_off 1, tcp 1",
    "varying-capacity-radio": "tcp 6",
    "traffic-mix": "udp 1, udp 1, http 1, http 1, http 1, http 1, http 1, http 1, udp 1, http 1, tcp 5",
    "both-ways": "tcp 6, tcp 6, tcp 50, tcp 50, poisson 1, poisson 1",
    "traffic-mix-both-ways": "udp 1, udp 1, http 1, http 1, http 1, http 1, http 1, http 1, udp 1, http 1, tcp 5, "
    "http 1, http 1, http 1, http 1, http 1, http 1, udp 1, http 1, tcp 5", "two-queues": "tcp 3, tcp 3",
}  # fmt: skip


def resolved(id_: str, discipline: str = "red", settings: Settings = suite.QUICK) -> list[dict[str, Any]]:
    return [check(each).resolved for each in SCENARIOS[id_].experiments(choices(discipline), settings).values()]


@pytest.mark.parametrize("id_", GROUPS)
def test_a_scenario_is_valid_and_has_its_groups(id_: str) -> None:
    flows = SCENARIOS[id_].flows(suite.QUICK)
    assert ", ".join(f"{each.kind} {each.count}" for each in flows.values()) == GROUPS[id_]
    phases = SCENARIOS[id_].phases
    names = {*flows, LINKS, "ACKs, link", "ACKs, link reverse"} | ({*phases.names} if phases else set())
    assert {number.of for number in SCENARIOS[id_].matters} <= names
    assert {*SCENARIOS[id_].shown} <= names
    for each in resolved(id_):
        kinds = [f"{one['kind']} {one['count']}" for one in each["flows"]]
        assert ", ".join(kinds) == GROUPS[id_]
        assert each["run"]["duration"] == f"{SCENARIOS[id_].lasting(suite.QUICK).duration_s:g} s"


def test_every_scenario_has_groups_here_and_sections_5_to_9_are_there() -> None:
    assert list(GROUPS) == [each.id for each in SUITE.scenarios]
    there = {each.section for each in SUITE.scenarios}
    assert there >= {
        "5.1.1",
        "5.1.2",
        "5.2",
        "5.3",
        "5.4",
        "6.2",
        "7.2",
        "9.1",
        "9.2",
        *(f"8.2.{n}" for n in range(2, 7)),
    }
    assert {each.section.split(".")[0] for each in SUITE.scenarios} == {*SUITE.sections}
    for each in SUITE.scenarios:
        assert each.about.count(". ") <= 1, "two sentences"


def test_bursts_meet_other_buffers_and_links_whose_rate_is_that_of_radio() -> None:
    assert [each["queue"]["limit"] for each in resolved("bursts-buffers")] == [42, 83, 166, 332]
    radio = [each["network"] for each in resolved("varying-capacity-radio")]
    assert [(each["trace"], each["trace_mean"]) for each in radio] == [("lte", "10 Mbit/s"), ("wifi", "10 Mbit/s")]
    [bursts] = resolved("varying-capacity-bursts")
    assert [each["key"] for each in bursts["changes"]] == ["network.rate"]
    ways = [each.get("direction", "forward") for each in resolved("traffic-mix-both-ways")[0]["flows"]]
    assert (ways.count("forward"), ways.count("reverse")) == (10, 10)


def test_senders_are_what_their_sections_say() -> None:
    [friendly] = resolved("friendly")
    assert [friendly["flows"][0][key] for key in ("algorithm", "initial_window", "rtt")] == ["reno", 3, "100 ms"]
    [windows] = resolved("initial-windows")
    assert [each["initial_window"] for each in windows["flows"]] == [3, 3, 10]
    assert 10 < windows["flows"][1]["size"] < 100
    [aggressive] = resolved("aggressive")
    assert aggressive["flows"][0]["algorithm"] == "cubic"
    for id_ in ("round-trips", "ecn"):
        trips = [[flow["rtt"] for flow in each["flows"]] for each in resolved(id_)]
        assert (trips[0], trips[-1]) == (["100 ms", "5 ms"], ["100 ms", "560 ms"])
    same = [[flow["rtt"] for flow in each["flows"]] for each in resolved("one-round-trip")]
    assert same == [[f"{trip} ms"] * 2 for trip in (5, 20, 50, 100, 200)]
    [sizes] = resolved("packet-sizes")
    assert [(each["count"], each["packet_size"]) for each in sizes["flows"]] == [(3, "500 B"), (3, "1500 B")]
    [scalable] = resolved("scalable")
    assert [(each["algorithm"], each["ecn"]) for each in scalable["flows"]] == [("cubic", True), ("prague", True)]
    [above], [below] = resolved("unresponsive"), resolved("unresponsive-friendly")
    assert above["flows"][0]["rate"] == "12 Mbit/s"
    assert below["flows"][1]["rate"] == "7500 kbit/s"


def test_levels_of_congestion_follow_from_what_drop_tail_would_lose() -> None:
    for loss, transfers in ((0.001, 6), (0.005, 13), (0.01, 19)):
        assert 0.76 * transfers**2 / (2 * 83) ** 2 == pytest.approx(loss, rel=0.1)
        assert section8.level(loss) == transfers


def test_the_load_and_the_capacity_vary_in_phases_from_the_end_of_the_warm_up() -> None:
    [load] = resolved("varying-congestion")
    assert [(each["time"], each["key"], each["value"]) for each in load["changes"]] == [
        ("10 s", "flows.0.count", 6), ("30 s", "flows.0.count", 13), ("50 s", "flows.0.count", 19)]  # fmt: skip
    [slow] = resolved("varying-capacity")
    assert [(each["time"], each["key"], each["value"]) for each in slow["changes"]] == [
        ("30 s", "network.rate", "10 Mbit/s")]  # fmt: skip
    assert (slow["network"]["rate"], slow["run"]["duration"]) == ("100 Mbit/s", "50 s"), "a whole cycle"
    [fast] = resolved("varying-capacity-fast")
    assert len(fast["changes"]) == 499
    assert (fast["queue"]["discipline"], fast["queue"]["limit"], fast["run"]["sample"]) == ("red", 833, "10 ms")
    whole = SCENARIOS["varying-congestion"].lasting(suite.FULL)
    assert (whole.warmup_s, whole.duration_s) == (30, 270), "four cycles of a minute"


@pytest.mark.parametrize("settings", [suite.QUICK, suite.FULL])
def test_all_transfers_are_in_congestion_avoidance_at_time_0(settings: Settings) -> None:
    only = ["8.2"]
    for discipline in ("drop_tail", "pie"):
        done = sg.evaluate(discipline, settings=replace(settings, seeds=(1,)), only=only, alone=True)
        at = done.runs.filter(of=LINKS).select("scenario", "avoidance_s")
        assert at["scenario"].to_list() == [each.id for each in done.scenarios for _ in each.points]
        assert all(each is not None and each < settings.warmup_s for each in at["avoidance_s"]), (discipline, at)


def test_targets_are_the_same_for_each_kind_of_discipline() -> None:
    """RFC 7928, Sec. 4.3.1: a time where a discipline has one, else the length that takes it, 1.2 ms a packet."""
    aims = {name: [each["queue"] for each in resolved("targets", name)] for name in ("pie", "codel", "red", "ared")}
    assert [each["target"] for each in aims["pie"]] == ["5 ms", "10 ms", "20 ms", "40 ms"]
    assert [each["target"] for each in aims["codel"]] == ["5 ms", "10 ms", "20 ms", "40 ms"]
    assert [each["target_delay"] for each in aims["ared"]] == ["5 ms", "10 ms", "20 ms", "40 ms"]
    middles = [1.2 * (each["min_th"] + each["max_th"]) / 2 for each in aims["red"]]
    assert middles == pytest.approx([5, 10, 20, 40], rel=0.2), "of whole packets"
    assert {each["limit"] for kind in aims.values() for each in kind} == {83}
    own = [each["queue"]["target"] for each in resolved("targets", "pie:target=7 ms")]
    assert own == ["7 ms"] * 4, "what is said wins"


def test_links_may_be_asymmetric_with_the_discipline_in_one_direction_only() -> None:
    runs = resolved("asymmetric")
    assert [(run["network"]["rate"], run["network"]["reverse"]["rate"]) for run in runs] == [
        ("10 Mbit/s", "2 Mbit/s")
    ] * 3
    queues = [(run["queue"], run["network"]["reverse"]["queue"]) for run in runs]
    names = [tuple(each["discipline"] for each in both) for both in queues]
    assert names == [("red", "drop_tail"), ("drop_tail", "red"), ("red", "red")]
    assert [each["min_th"] for each in queues[2]] == [13, 2], "as long a delay on the slow way"
    assert {each["limit"] for both in queues for each in both} == {83}


def test_senders_a_cross_both_queues_and_b_the_second() -> None:
    runs = resolved("two-queues")
    assert [(each["path"], each["count"]) for each in runs[0]["flows"]] == [(["first", "second"], 3), (["second"], 3)]
    queues = [(run["queue"], run["network"]["links"][1]["queue"]) for run in runs]
    names = [tuple(each["discipline"] for each in both) for both in queues]
    assert names == [("red", "red"), ("red", "red"), ("red", "pie"), ("red", "drop_tail")]
    assert [[each["min_th"] for each in both] for both in queues[:2]] == [[6, 13], [6, 22]], "other values"
    assert {each["limit"] for both in queues for each in both} == {83}


def test_delays_are_end_to_end_in_the_overview() -> None:
    """RFC 7928, Sec. 4.2: primarily. Only of phases and of acknowledgements no other numbers are known."""
    of_links = {number.metric for each in SUITE.scenarios for number in each.matters if number.of == LINKS}
    assert of_links <= {"goodput_bps", "jain"}, "sums and indices of flows"


def test_each_scenario_has_its_weight_of_figure_4() -> None:
    weights = {each.id: SUITE.weight(each) for each in SUITE.scenarios}
    assert weights["friendly"] == weights["bursts-3"] == weights["varying-capacity"] == "must be considered"
    assert (weights["ecn"], weights["traffic-mix"]) == ("must be discussed if supported", "is recommended")
    assert weights["less-than-best-effort"] == weights["both-ways"] == weights["two-queues"] == "may be considered"
    assert "–" not in weights.values()


def test_ledbats_delays_hold_no_waiting_acknowledgements() -> None:
    [resolved_] = resolved("less-than-best-effort")
    ledbat = resolved_["flows"][1]
    values = [ledbat[key] for key in ("algorithm", "ledbat_target", "ledbat_gain", "delayed_ack", "initial_window")]
    assert values == ["ledbat", "5 ms", 10, "0 s", 2]


def test_ledbat_beside_newreno_under_codel_repairs_its_losses_without_timeouts() -> None:
    """RFC 7928, Sec. 5.4: CoDel keeps the delay below the target, so that LEDBAT with a gain of 10 gets more than
    NewReno, about twice as much; timeouts must not decide it."""
    flows, got = [traffic.transfers(), traffic.ledbat()], [0.0, 0.0]
    for seed in (1, 2, 3):  # 2.0 to 2.6 times as much
        with pytest.warns(sg.TrapWarning, match="Sec. 5.4"):
            run = sg.simulate(sg.dumbbell(rate="10 Mbit/s", queue=sg.Codel()), flows, duration="60 s", seed=seed)
        newreno, ledbat = run.flows.to_dicts()
        assert ledbat["timeouts"] == 0 < 30 < ledbat["fast_retransmits"]
        got = [got[0] + newreno["throughput_bps"], got[1] + ledbat["throughput_bps"]]
    assert got[1] > 2 * got[0]


def test_disciplines_get_the_links_values_and_keep_their_own() -> None:
    [red] = resolved("mild")
    assert [red["queue"][key] for key in ("limit", "min_th", "max_th")] == [83, 13, 26]
    [own] = resolved("mild", "red:min_th=7:limit=90")
    assert [own["queue"][key] for key in ("limit", "min_th", "max_th")] == [90, 7, 26]
    [both] = resolved("scheduling", "red:min_th=7")
    assert [each["min_th"] for each in both["queue"]["classes"]] == [7, 7]


def test_disciplines_that_can_mark_do_so_for_ecn_alone() -> None:
    assert (marking("red"), marking("codel"), marking("drop_tail"), marking("my.py:MyAqm")) == (
        (("queue.red.action", "mark"),), (("queue.codel.ecn", "true"),), (), ())  # fmt: skip
    ecn, plain = resolved("ecn")[0], resolved("round-trips")[0]
    assert (ecn["queue"]["action"], plain["queue"]["action"]) == ("mark", "drop")
    assert [each["ecn"] for each in ecn["flows"]] == [True, True]
    words = {name: suite.marks(name) for name in ("cake", "decbit", "fq_linux", "codel", "red", "drop_tail")}
    assert [*words.values()] == ["always", "always", "when told by ce_threshold", "when told by ecn or ce_threshold",
                                 "when told by action", "never"]  # fmt: skip


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
    assert report.counts(done) == {"best": (1, 1), "close": (1, 1), "paired": (0, 1), "far": (0, 1)}


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
    assert report.counts(done)[label][1] <= sum(len(each.matters) for each in done.scenarios)


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


def test_all_scenarios_give_what_matters_in_them() -> None:
    """Drop Tail alone, without a report; a page takes longer than these runs to load."""
    done = sg.evaluate("drop_tail", settings=Settings((1,), 12, 3, 0.1), alone=True)
    assert done.scenarios == SUITE.scenarios
    for scenario in done.scenarios:
        for number in scenario.matters:
            values = done.values(scenario, number, "drop_tail")
            assert [len(each) for each in values.values()] == [len(scenario.points)], (scenario.id, number)


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


class Tail(sg.Aqm):
    """A class of one's own, given as it is."""

    def __init__(self, *, limit: int = 50) -> None:
        self.limit, self.queue = limit, sg.PacketQueue()

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        if len(self.queue) >= self.limit:
            ctx.drop(packet, "tail")
        else:
            self.queue.append(packet)

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return self.queue.pop()


def test_a_class_is_evaluated() -> None:
    settings = Settings((1,), 2, 0.5, 0.1)
    own = sg.evaluate(Tail, settings=settings, only=["mild", "4.6"], alone=True, jobs=1)
    rust = sg.evaluate("drop_tail", settings=settings, only=["mild", "4.6"], alone=True)
    drop = [name for name in rust.runs.columns if name != "discipline"]
    assert own.labels == ["Tail"]
    assert own.runs.select(drop).equals(rust.runs.select(drop)), "with the limit of the suite"


def test_objects_are_evaluated_beside_classes() -> None:
    settings = Settings((1,), 2, 0.5, 0.1)
    done = sg.evaluate([sg.Red(limit=50), Tail, "pie:limit=50"], settings=settings, only=["friendly"], jobs=1)
    assert done.labels == ["red:limit=50", "Tail", "pie:limit=50", "drop_tail", "fq_codel"]


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


def test_ratios_have_a_geometric_mean() -> None:
    assert metrics.METRICS["over_first"].mean([2.0, 0.5]) == pytest.approx(1)
    assert metrics.METRICS["goodput_bps"].mean([2.0, 0.5]) == 1.25


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
        ("red", {"only": ["mid"]}, UnknownName, 'did you mean "mild"'),
        ("red", {"seeds": 0}, ValueError, "at least one is needed"),
        (3, {}, TypeError, "^disciplines: expected a name or a discipline"),
        ("red", {"duration": "9"}, sg.ScenarioError, "^duration = 9: must be a time with its unit"),
        ("red", {"duration": "0 s"}, sg.ScenarioError, '^duration = "0 s": must be above 0'),
        ("red", {"warmup": "400 s"}, sg.ScenarioError, "^warmup = 400 s: must be less than the duration, 300 s"),
        ("red", {"sets": {"run.duration": "x"}}, sg.ScenarioError, '^sets: run.duration = "x": must be a time'),
        ("red", {"sets": {"run.seed": 3}}, sg.ScenarioError, "^sets: run.seed: is the suite's own; flows, the queue"),
        ("red", {"sets": {"network.rate": "1 Mbit/s"}}, sg.ScenarioError, "^sets: network.rate: is the suite's own"),
        ("red", {"sets": {"queue.discipline": "pie"}}, sg.ScenarioError, "takes the disciplines it is given, not this"),
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
    assert "3 runs of up to 60 s, about " in done.stdout
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
