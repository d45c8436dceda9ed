"""The CHOKe report's measures: what synchronisation and bursts are measured by, on traffic whose answer is known."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from tiny import TINY

from sluicegate import api
from sluicegate.papers import choke1999, choke1999_cases, choke1999_checks, choke1999_page
from sluicegate.papers.checks import judge
from sluicegate.papers.choke1999_cases import BURST_GAP_S, BURST_PACKETS, BURSTS, CHOKE, SINGLE, TOGETHER, TWO
from sluicegate.runner import Task, work


def windows(*flows: list[float], experiment: str = TOGETHER[0].id) -> pl.DataFrame:
    """A table of series with these windows, two samples more than they say at the start (the quarter left out)."""
    rows = [
        (experiment, 1, float(time), number, window)
        for number, values in enumerate(flows, start=1)
        for time, window in enumerate([100.0, 900.0, *values])
    ]
    return pl.DataFrame(
        rows, schema={"experiment": pl.String, "seed": pl.UInt64, "time_s": pl.Float64, "flow": pl.UInt64,
                      "cwnd_segments": pl.Float64}, orient="row",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flows", "ratio"),
    [
        (([1, 2, 3, 2, 1, 3], [1, 2, 3, 2, 1, 3], [1, 2, 3, 2, 1, 3]), 3.0),
        (([1, 2, 1, 2, 1, 2], [2, 1, 2, 1, 2, 1]), 0.0),
        (([1, 1, 1, 3, 3, 3], [1, 3, 2, 2, 1, 3]), 1.0),
    ],
    ids=["in step", "one gives way", "independent"],
)
def test_the_window_ratio_says_whether_flows_move_in_step(flows: tuple[list[float], ...], ratio: float) -> None:
    table = choke1999.window_ratios(windows(*flows))
    assert table["window_ratio"].to_list() == [pytest.approx(ratio, abs=1e-12)]


def test_only_runs_that_start_together_have_a_window_ratio() -> None:
    assert choke1999.window_ratios(windows([1, 2], [2, 3], experiment="another")).height == 0


def test_bursts_come_whole_and_the_smooth_flow_at_the_same_rate() -> None:
    case = next(case for case in BURSTS if case.discipline == "choke")
    (experiment,) = (each for each in choke1999.experiments(TINY) if each.id == case.id)
    flows = work(Task(experiment, 1))["flows"].filter(pl.col("kind") == "udp").sort("group")
    *bursts, smooth = flows["arrivals_packets"].to_list()
    measured = TINY.duration_s - TINY.warmup_s
    assert bursts == [BURST_PACKETS] * (measured // BURST_GAP_S)
    assert smooth == pytest.approx(BURST_PACKETS * measured / BURST_GAP_S, abs=2)


def test_losses_of_bursts_are_counted_over_all_of_them() -> None:
    rows = [
        (BURSTS[0].id, 1, 0, "tcp", 500, 400, 0),
        (BURSTS[0].id, 1, 1, "udp", 8, 2, 1),
        (BURSTS[0].id, 1, 2, "udp", 8, 4, 3),
        (BURSTS[0].id, 1, 3, "udp", 20, 1, 0),
    ]
    flows = pl.DataFrame(
        rows,
        schema=["experiment", "seed", "group", "kind", "arrivals_packets", "lost_packets", "lost_match"],
        orient="row",
    )
    (row,) = choke1999.burst_losses(flows).to_dicts()
    assert (row["burst_loss"], row["burst_match"]) == (6 / 16, 4 / 16)
    assert (row["smooth_loss"], row["smooth_match"]) == (1 / 20, 0)


def test_the_scenario_without_udp_is_the_other_without_its_last_group() -> None:
    whole, alone = (api.check(name) for name in ("choke1999", "choke1999_tcp"))
    assert whole["flows"].pop()["kind"] == "udp"
    assert alone == whole


def test_flows_with_a_window_of_one_never_meet_themselves() -> None:
    (experiment,) = (each for each in choke1999.experiments(TINY) if each.id == SINGLE[2].id)
    flows = work(Task(experiment, 1))["flows"]
    assert flows["lost_packets"].sum() > 0
    assert flows["lost_match"].sum() == 0


def test_cases_are_told_apart_and_run_what_they_say() -> None:
    experiments = choke1999.experiments(TINY)
    assert len({(each.text, each.sets) for each in experiments}) == len(experiments)
    resolved = {each.id: api.check(each.name.removesuffix(".toml"), sets=each.sets) for each in experiments
                if each.id in {TWO[0].id, choke1999_cases.DROP_6.at(2.0).id}}  # fmt: skip
    assert [document["queue"]["candidates"] for document in resolved.values()] == [2, 5]
    assert [document["flows"][1]["count"] for document in resolved.values()] == [1, 5]


def test_every_check_belongs_to_one_figure() -> None:
    ids = [id_ for checks in choke1999_page.OF_FIGURE.values() for id_ in checks]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("share", "with_more_early_drops", "verdict"),
    [(51.6, 47.7, "differs, explained"), (51.6, 50.1, "failed"), (49.0, 50.1, "reproduced")],
)
def test_udps_part_of_the_queue_is_checked(share: float, with_more_early_drops: float, verdict: str) -> None:
    """Issue 16, point 10: the report says that UDP can never become the dominant portion; no check looked at it."""
    shares = {CHOKE[0].at(rate).id: min(share, 10 * (1 + rate)) for rate in choke1999_cases.RATES}
    shares |= {CHOKE[1].at(rate).id: 45.0 for rate in choke1999_cases.RATES}
    shares[choke1999_cases.EARLY_AT_10[0].id] = with_more_early_drops
    rows = [(id_, seed, value, 100 - value) for id_, value in shares.items() for seed in (1, 2)]
    runs = pl.DataFrame(rows, schema=["experiment", "seed", "udp_queued", "tcp_queued"], orient="row")
    checks = [choke1999_checks._udp_queue(runs, case) for case in CHOKE]
    checks.append(choke1999_checks._udp_queue_more_early_drops(runs))
    found = judge(checks)
    assert found[0].name == verdict
    assert found[0].check.measured == pytest.approx(share)
    assert found[0].check.kind == "claim"
    assert found[1].name == "reproduced"
    assert {check.id for check in checks} <= set(choke1999_checks.OF_FIGURE["fig9"])


def test_rates_rise_and_both_readings_of_five_sources_are_covered() -> None:
    for rates in (choke1999_cases.RATES, choke1999_cases.FIVE_RATES):
        assert all(first < second for first, second in pairwise(rates))
        assert (rates[0], rates[-1]) == (0.1, 10.0)
    assert 10.0 / choke1999_cases.UDP_FLOWS in choke1999_cases.FIVE_RATES
    assert CHOKE[0].candidates == 1
