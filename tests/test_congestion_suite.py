"""`evaluate --suite congestion-control`: its scenarios, its measures by hand, short runs, and budgets."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.evaluation import budgets, report
from sluicegate.evaluation.congestion_control import SUITE, measures
from sluicegate.evaluation.congestion_control.scenario import SECOND, TESTED
from sluicegate.evaluation.evaluate import planned, read
from sluicegate.experiments.controllers import LINUX, controllers
from sluicegate.experiments.job import check
from sluicegate.reproduce import Settings

TINY = Settings(seeds=(1, 2), duration_s=6, warmup_s=2, sample_s=0.1)
SCENARIOS = {each.id: each for each in SUITE.scenarios}


def resolved(id_: str, controller: str = "bbr3", settings: Settings = SUITE.quick) -> list[dict[str, Any]]:
    return [check(each).resolved for each in SCENARIOS[id_].experiments(controllers(controller), settings).values()]


# Scenarios ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id_", SCENARIOS)
def test_flows_under_test_get_the_controller_and_others_keep_theirs(id_: str) -> None:
    flows = SCENARIOS[id_].flows(SUITE.quick)
    for run in resolved(id_):
        for (name, source), flow in zip(flows.items(), run["flows"], strict=True):
            own = getattr(source, "algorithm", None)
            assert flow.get("algorithm") == ("bbr3" if name in (TESTED, SECOND) else own)
            assert flow.get("profile", "linux") == "linux"


def test_every_controller_of_todays_hosts_fits_every_scenario() -> None:
    for controller in LINUX:
        assert all(resolved(id_, controller) for id_ in SCENARIOS)


def test_buffers_are_parts_of_the_bandwidth_delay_product() -> None:
    """40 ms at 10 Mbit/s are 50 kB, 33 packets of 1500 bytes; at 1 Mbit/s 3.3 packets, and one is the least."""
    assert [each["queue"]["limit"] for each in resolved("rate-10m")] == [3, 10, 33, 100, 333]
    assert [each["queue"]["limit"] for each in resolved("rate-1m")] == [1, 3, 10, 33]
    [deep] = [each for each in resolved("rate-10g") if each["queue"]["limit"] == 333_333]
    assert deep["flows"][0]["window"] >= 11 * 33_333, "the receiver's window does not limit it"


def test_rates_span_four_decades_and_disciplines_are_those_of_today() -> None:
    rates = [resolved(id_)[0]["network"]["rate"] for id_ in SCENARIOS if id_.startswith("rate-")]
    assert rates == ["1 Mbit/s", "10 Mbit/s", "100 Mbit/s", "1 Gbit/s", "10 Gbit/s"]
    names = [each["queue"]["discipline"] for each in resolved("queues")]
    assert names == ["drop_tail", "red", "codel", "fq_codel", "cake", "pie", "dualpi2"]
    assert [each["queue"]["limit"] for each in resolved("queues")] == [167] * 7


def test_a_second_flow_starts_as_the_warm_up_ends() -> None:
    [run] = resolved("convergence")
    assert [each["start"] for each in run["flows"]] == ["0 s", run["run"]["warmup"]]


def test_capacity_changes_every_five_seconds_after_the_warm_up() -> None:
    [run] = resolved("capacity")
    assert [each["time"] for each in run["changes"]] == ["15 s", "20 s", "25 s", "30 s", "35 s"]
    assert [each["value"] for each in run["changes"]] == [*["10 Mbit/s", "50 Mbit/s"] * 2, "10 Mbit/s"]


def test_what_the_rfcs_ask_for_names_scenarios_that_there_are() -> None:
    named = {word for row in SUITE.asks for word in row.how.split("`")[1::2]}
    assert named <= {*SCENARIOS, "transfers", "ledbat", "sluicegate run"}
    assert {*SCENARIOS} <= named, "each scenario answers something that is asked"
    assert {each.section for each in SUITE.scenarios} == {*SUITE.sections}


# Measures by hand ---------------------------------------------------------------------------------------------------


def rates(**flows: list[float]) -> pl.DataFrame:
    rows = [
        {"flow": int(name[1:]), "second": float(second), "throughput_bps": value}
        for name, values in flows.items() for second, value in enumerate(values)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_convergence_is_when_the_smaller_flow_has_forty_per_cent() -> None:
    both = rates(f1=[10, 10, 9, 7, 6, 5], f2=[0, 0, 1, 3, 4, 5])
    assert measures.convergence(both, 2, 1, 2.0) == 3.0, "in the second from 4 to 5: 4 of 10"
    assert measures.convergence(both, 2, 1, 5.0) == 1.0
    never = rates(f1=[10, 9, 9], f2=[0, 1, 1])
    assert measures.convergence(never, 2, 1, 1.0) == 2.0, "the rest of the run"


def test_variation_is_the_standard_deviation_over_the_mean() -> None:
    assert measures.variation(rates(f1=[8, 12], f2=[10, 10], f3=[0, 0])) == pytest.approx(0.1), (
        "0.2 and 0; f3 is silent"
    )
    assert measures.variation(rates(f1=[8])) is None


def test_a_link_is_filled_in_the_first_second_with_ninety_per_cent() -> None:
    assert measures.filled(rates(f1=[2, 5, 8, 9], f2=[0, 0, 1, 1]), 10.0) == 3.0
    assert measures.filled(rates(f1=[2, 8]), 10.0) is None


def test_only_what_was_not_lost_is_sent_twice_in_vain() -> None:
    flows = pl.DataFrame({"retransmissions": [7, 1], "drops_packets": [2, 3], "lost_packets": [1, 0],
                          "drops_elsewhere_packets": [0, 0], "delivered_packets": [60, 40]})  # fmt: skip
    assert measures.sent_twice(flows) == pytest.approx(0.04), "4 of the first, none of the second, of 100"


def test_a_second_of_samples_is_their_mean_and_the_last_part_of_a_second_is_left_out() -> None:
    times = [round(0.1 * at, 1) for at in range(1, 26)]
    series = pl.DataFrame(
        {"time_s": times, "flow": [1] * 25, "throughput_bps": [float(at <= 15) for at in range(1, 26)]}
    )
    found = measures._by_second(series)
    assert found["second"].to_list() == [0.0, 1.0]
    assert found["throughput_bps"].to_list() == pytest.approx([1.0, 0.5])


# Runs ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[sg.Evaluation, Path]:
    out = tmp_path_factory.mktemp("suite")
    only = ["convergence", "policer", "application-limited"]
    done = sg.evaluate("bbr3,cubic:initial_window=4", suite=SUITE.name, only=only, settings=TINY, out=out)
    return done, out


def test_the_engine_of_disciplines_runs_controllers(made: tuple[sg.Evaluation, Path]) -> None:
    done, out = made
    assert done.labels == ["bbr3", "cubic:initial_window=4", "reno", "cubic"]
    assert done.runs.columns[:5] == ["scenario", "point", "controller", "of", "seed"]
    policer = done.runs.filter((pl.col("scenario") == "policer") & (pl.col("of") == TESTED))
    assert policer["point"].unique(maintain_order=True).to_list() == ["5 ms", "50 ms", "200 ms"]
    assert all(0 < value < 10.5e6 for value in policer["goodput_bps"]), "its rate for 4 s, and its bucket"
    second = done.runs.filter((pl.col("scenario") == "convergence") & (pl.col("of") == SECOND))
    assert all(0 < value <= 4 for value in second["convergence_s"])
    fetched = done.runs.filter((pl.col("scenario") == "application-limited") & (pl.col("of") == TESTED))
    assert all(value > 1e6 * 8 / 50e6 * 1e9 for value in fetched["response_mean_ns"]), "1 MB at the link's rate"
    assert all(value > 0.2e6 for value in fetched["delay_p50_ns"]), "at least what the link takes to send a packet"
    again = read(done.write(out / "again"))
    assert (again.labels, again.suite) == (done.labels, SUITE)


def test_the_page_has_controllers_and_what_is_asked(made: tuple[sg.Evaluation, Path]) -> None:
    done, _ = made
    page = done.html()
    for words in ("guideline 2", "What each controller is", "BBR, version 3", "initial_window=4", "delta-fair"):
        assert words in page
    assert "--suite congestion-control" in page
    head = report.glance(done, done.scenarios, across=True).head
    assert head[3:] == ("bbr3", "cubic:initial_window=4", "reno (reference)", "cubic (reference)")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("cubik", 'not known; did you mean "cubic"'),
        ("my_own", "mine.rs:MyControl, mine.py:my_ends, quinn:bbr"),
        ("cubic,cubic", "listed twice"),
        ("cubic:initial_window", "must be KEY=VALUE"),
        ("cubic:nothing=3", "nothing"),
        ("mine.rs:Mine", r'"mine.rs:Mine": cannot read mine.rs: No such file or directory'),
        ("mine.rs", "name the class too, such as mine.rs:MyControl"),
        ("mine.py:ends", r'"mine.py:ends": cannot read mine.py'),
        ("quinn:cubik", r'"quinn:cubik": no such transport; .*did you mean "quinn:cubic"'),
        ("quinn:cubic:x=1", "is written in Rust and takes no values"),
        ("all,cubic", "all includes every one"),
        ("", "the name is missing"),
        ("red", "is a queue discipline, .*leave out --suite congestion-control"),
        ("short.py:Short", '"short.py:Short": is a queue discipline'),
    ],
)
def test_a_wrong_controller_is_refused(given: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short.py").write_text(
        "class Short:\n    def __init__(self, *, rate_bps): ...\n\n    enqueue = dequeue = None\n"
    )
    with pytest.raises(sg.ScenarioError, match=why):
        sg.evaluate(given, suite=SUITE.name, only=["convergence"], settings=TINY)


# Ends of one's own --------------------------------------------------------------------------------------------------

STEADY = """
class End:
    def __init__(self, interval_ns):
        self.interval_ns, self.next_ns, self.due = interval_ns, 0, False

    def receive(self, datagram, now_ns):
        pass

    def wake(self, now_ns):
        self.due, self.next_ns = True, now_ns + self.interval_ns

    def deadline(self):
        return self.next_ns if self.interval_ns else None

    def poll_transmit(self, now_ns):
        import sluicegate as sg
        due, self.due = self.due and self.interval_ns, False
        return sg.Datagram(bytes=1250) if due else None


def steady(*, mbps=1):
    return End(int(1e4 / mbps * 1e3)), End(0)
"""
"""1250 bytes, which are 10 kbit, as often as the rate asks for."""


@pytest.mark.parametrize("id_", SCENARIOS)
def test_ends_take_the_place_of_the_flows_under_test(id_: str, tmp_path: Path) -> None:
    ends = tmp_path / "ends.py"
    ends.write_text(STEADY)
    flows = SCENARIOS[id_].flows(SUITE.quick)
    runs = resolved(id_, f"{ends}:steady:mbps=2")
    assert (not runs) == (id_ == "application-limited"), "where an application pauses, a transfer without end cannot"
    for run, tcp in zip(runs, resolved(id_, "cubic"), strict=False):
        for name, flow, same in zip(flows, run["flows"], tcp["flows"], strict=True):
            if name in (TESTED, SECOND):
                assert (flow["kind"], flow["ends"], flow["python"]) == ("endpoints", f"{ends}:steady", {"mbps": 2})
                for key in ("count", "start", "spread", "stop", "rtt", "direction"):
                    assert flow.get(key) == same.get(key)
            else:
                assert flow | {"name": ""} == same | {"name": ""}


def test_ends_in_python_are_measured_as_far_as_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2 Mbit/s on a link of 1, half of which is lost; and on one of 50, beside Reno, under whose queue they wait."""
    monkeypatch.chdir(tmp_path)
    Path("ends.py").write_text(STEADY)
    name, settings = "ends.py:steady:mbps=2", Settings(seeds=(1,), duration_s=6, warmup_s=2, sample_s=0.1)
    done = sg.evaluate(name, suite=SUITE.name, only=["rate-1m", "against-reno"], settings=settings, alone=True)
    got = done.runs.filter(of=TESTED)
    # At the edges of 4 s the buffer may be full or empty: 33 packets at the most, of 400.
    assert got.filter(scenario="rate-1m")["loss_ratio"].to_list() == pytest.approx([0.5] * 4, abs=33 / 400)
    # So long as Reno loses nothing; what its queue, of 160 ms at the most, has more or less at the edges is 4 % of 4 s.
    assert got.filter(scenario="against-reno")["goodput_bps"].to_list() == pytest.approx([2e6] * 3, rel=0.04)
    for metric in ("delay_p95_ns", "loss_ratio", "variation"):
        assert got[metric].null_count() == 0
    assert got.filter(scenario="against-reno")["over_first"].null_count() == 0
    assert got["sent_twice_ratio"].null_count() == got.height
    assert "as its ends say" in done.html()
    assert "mbps=2" in done.html()
    [given] = done.summary["controllers"]
    assert given["own_ends"]["ends.py:steady"]["arguments"] == {"mbps": 2}


def test_a_function_is_a_transport_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope: dict[str, Any] = {}
    exec(STEADY, scope)
    done = sg.evaluate(scope["steady"], suite=SUITE.name, only=["rate-10m"], settings=TINY, alone=True)
    assert done.labels == ["steady#1"]


def test_ends_that_fit_no_scenario_are_refused() -> None:
    with pytest.raises(sg.ScenarioError, match="cannot run in application-limited; choose other scenarios"):
        planned("quinn:cubic", SUITE.name, only=["application-limited"])


def test_queues_and_networks_are_the_suites_own() -> None:
    with pytest.raises(sg.ScenarioError, match="is the suite's own"):
        planned("cubic", SUITE.name, sets={"queue.limit": 10})
    _, scenarios, *_ = planned("cubic", SUITE.name, only=["collapse"], sets={"flows.*.initial_window": 2})
    [run] = [check(each).resolved for each in scenarios[0].experiments(controllers("cubic"), TINY).values()]
    assert run["flows"][0]["initial_window"] == 2


# Budgets ------------------------------------------------------------------------------------------------------------

BUDGET = """
[[budget]]
scenario = "rate-100m"
point = "1 BDP"
of = "under test"
metric = "goodput_bps"
at_least = "90 Mbit/s"

[[budget]]
scenario = "rate-100m"
point = "1 BDP"
of = "link"
metric = "filled_s"
at_most = "3000 ms"
"""


def bounds(text: str, tmp_path: Path, label: str = "cubic") -> list[budgets.Budget]:
    path = tmp_path / "budgets.toml"
    path.write_text(text)
    suite, scenarios, _, given, _ = planned(label, SUITE.name, only=["rate-100m"], settings=TINY)
    return budgets.read(path, suite, scenarios, given, TINY)[0]


def test_bounds_are_read_in_the_units_of_metrics(tmp_path: Path) -> None:
    first, second = bounds(BUDGET, tmp_path)
    assert (first.point, first.bound, first.sense, second.sense, second.bound) == (
        "1 BDP", 90.0, "at_least", "at_most", 3.0)  # fmt: skip


def test_a_slow_start_that_is_broken_is_caught_by_its_budget(sluicegate: Program, tmp_path: Path) -> None:
    """With a threshold of two packets the window grows by a packet in a round trip from the start."""
    (tmp_path / "budgets.toml").write_text(BUDGET)
    run = ["evaluate", "--suite", SUITE.name, "--only", "rate-100m", "--seeds", "1", "--set", "run.duration=8 s",
           "--budget", "budgets.toml", "--junit", "junit.xml", "-o", "out"]  # fmt: skip
    good = sluicegate(*run, "cubic")
    assert good.returncode == 0, good.stderr
    assert "budget: 2 of 2 kept" in good.stdout
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().get("failures") == "0"
    bad = sluicegate(*run, "cubic:initial_ssthresh=2")
    assert bad.returncode == 1
    assert "NOT KEPT" in bad.stdout
    cases = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert int(str(cases.get("failures"))) == len(cases.findall("testcase/failure")) > 0
    assert cases.get("tests") == "2"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('scenario = "rate-100m"', 'scenario = "rate-1x"', 'scenario = "rate-1x": no scenario of congestion-control'),
        ('scenario = "rate-100m"', 'scenario = "rate-1m"', "no budget is for a scenario of this run"),
        ('point = "1 BDP"', 'point = "2 BDP"', "no point of rate-100m"),
        ('of = "under test"', 'of = "mine"', 'budget 1: of = "mine"'),
        ('of = "under test"', 'of = "link reverse"', 'of = "link reverse": nothing in rate-100m'),
        ('metric = "goodput_bps"', 'metric = "goodput"', 'did you mean "goodput_bps"'),
        ('at_least = "90 Mbit/s"', 'at_least = "90 MB"', "must be a number in Mbit/s or kbit/s or Gbit/s"),
        ('at_least = "90 Mbit/s"', "", "one of at_least and at_most"),
        ('at_least = "90 Mbit/s"', 'atleast = "90 Mbit/s"', 'no such key; did you mean "at_least"'),
        ("[[budget]]", "[budget]", "must have tables"),
        ('"1 BDP"', '"1 BDP', "budgets.toml"),
    ],
)
def test_a_wrong_budget_names_its_place(old: str, new: str, why: str, tmp_path: Path) -> None:
    text = BUDGET.split("\n\n")[0].replace(old, new)
    with pytest.raises(sg.ScenarioError, match=why.replace("(", r"\(")):
        bounds(text, tmp_path)


def test_budgets_of_scenarios_that_do_not_run_are_checked_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "budgets.toml"
    path.write_text(BUDGET + BUDGET.replace("rate-100m", "rate-1g"))
    suite, scenarios, _, given, _ = planned("cubic", SUITE.name, only=["rate-100m"], settings=TINY)
    found, left_out = budgets.read(path, suite, scenarios, given, TINY)
    assert ([each.scenario for each in found], left_out) == (["rate-100m"] * 2, 2)


def test_other_links_and_control_packets_have_names_before_anything_runs(tmp_path: Path) -> None:
    """Of the suite for disciplines, whose scenario with traffic both ways has several links under study."""
    path = tmp_path / "budgets.toml"
    entry = '[[budget]]\nscenario = "both-ways"\nof = "{}"\nmetric = "loss_ratio"\nat_most = "5 %"\n'
    suite, scenarios, settings, given, _ = planned("choke", only=["both-ways"], quick=True)
    path.write_text("".join(map(entry.format, ("link reverse", "SYNs, link", "ACKs, link reverse"))))
    assert len(budgets.read(path, suite, scenarios, given, settings)[0]) == 3
    path.write_text(entry.format("SYNs, link revers"))
    with pytest.raises(sg.ScenarioError, match='did you mean "SYNs, link reverse"'):
        budgets.read(path, suite, scenarios, given, settings)


def test_a_number_without_a_value_keeps_no_budget() -> None:
    budget = budgets.Budget("rate-100m", None, None, "link", "filled_s", "at_most", 3.0)
    result = budgets.Result(budget, "1 BDP", "cubic", None)
    assert (result.kept, result.shown) == (False, "no value")
