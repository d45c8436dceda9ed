"""The scenarios of RFC 7928 in `evaluate`: they are as they say they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sluicegate as sg
from sluicegate.evaluation import suite
from sluicegate.evaluation.rfc7928 import SUITE, section8, traffic
from sluicegate.evaluation.suite import LINKS, marking
from sluicegate.experiments.disciplines import choices
from sluicegate.experiments.job import check
from sluicegate.reproduce import Settings

TINY = Settings(seeds=(1, 2), duration_s=4, warmup_s=1, sample_s=0.1)
SCENARIOS = {each.id: each for each in SUITE.scenarios}
CHOKE = str(Path(__file__).parents[1] / "docs/examples/choke.py")
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


@pytest.mark.parametrize("settings", [suite.QUICK, pytest.param(suite.FULL, marks=pytest.mark.full)])
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
    assert [*words.values()] == ["always", "always", "if ce_threshold says so", "if ecn or ce_threshold says so",
                                 "if action says so", "never"]  # fmt: skip
