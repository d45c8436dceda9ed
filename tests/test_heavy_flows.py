"""Shares of the recent marks that are unlikely to be luck (RED 1993, Sec. X): who is named and who is not."""

from __future__ import annotations

import json

import polars as pl
import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.cli.run import HEAVY_FLOWS, heavy_flow_lines
from sluicegate.results import heavy_flows

EQUAL = """
[network]
rate = "10 Mbit/s"
[queue]
discipline = "red"
limit = 200
[[flows]]
kind = "poisson"
count = 20
rate = "510 kbit/s"
[run]
duration = "20 s"
series = false
"""


def table(*chances: float | None, shares: float = 0.2) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "flow": range(1, len(chances) + 1),
            "kind": ["tcp"] * len(chances),
            "link": ["bottleneck"] * len(chances),
            "recent_share": [shares] * len(chances),
            "recent_expected": [1 / len(chances)] * len(chances),
            "recent_packets": [100.0] * len(chances),
            "recent_p_value": chances,
        },
        schema_overrides={"recent_p_value": pl.Float64},
    )


def test_the_chance_is_that_of_any_flow() -> None:
    """0.006 is under a hundredth for one flow alone, not for two; flows that sent nothing do not count."""
    assert [row["flow"] for row in heavy_flows(table(0.006, None))] == [1]
    assert heavy_flows(table(0.006, 1.0)) == []
    assert heavy_flows(table(None, None)) == []


@pytest.mark.parametrize("discipline", ["red", "random_drop"])
def test_flows_that_send_equally_much_are_not_named(discipline: str) -> None:
    """At most one run in a hundred names one; of thirty, three would come with a chance of 0.003."""
    sets = {"queue.discipline": discipline}
    runs = [sg.simulate(EQUAL, sets=sets, seed=seed).flows for seed in range(1, 31)]
    assert all(run["recent_share"].is_not_null().any() for run in runs)
    assert sum(map(bool, map(heavy_flow_lines, runs))) <= 2


@pytest.mark.parametrize("discipline", ["red", "choke", "early_random_drop", "random_drop"])
def test_one_that_sends_more_is_named(discipline: str) -> None:
    sets = [("flows.0.count", "19"), ("queue.discipline", discipline)]
    more = EQUAL.replace("[run]", '[[flows]]\nkind = "udp"\nrate = "4 Mbit/s"\n[run]')
    flows = sg.simulate(more, sets=sets, seed=1).flows
    assert [row["flow"] for row in heavy_flows(flows)] == [20]


@pytest.mark.parametrize("container", ["priority", "drr"])
def test_in_classes_a_flow_is_compared_with_its_class(container: str) -> None:
    """19 flows of 510 kbit/s and one of 4 Mbit/s share a class; the flow of the other class has all its drops."""
    classes = """
[queue]
discipline = "CONTAINER"
[[queue.classes]]
discipline = "red"
limit = 200
class = 1
[[queue.classes]]
discipline = "red"
limit = 200
""".replace("CONTAINER", container)
    text = EQUAL.replace('[queue]\ndiscipline = "red"\nlimit = 200\n', classes).replace("count = 20", "count = 19")
    text = text.replace("[run]", '[[flows]]\nkind = "udp"\nrate = "4 Mbit/s"\n[run]')
    alone = '[[flows]]\nkind = "udp"\nclass = 1\nrate = "7 Mbit/s"\n[run]'
    flows = sg.simulate(text.replace("[run]", alone), seed=1).flows
    assert [row["flow"] for row in heavy_flows(flows)] == [20]
    assert flows["recent_expected"].to_list()[:20] == [1 / 20] * 20


def test_a_full_queue_names_nobody() -> None:
    """Who finds it full is not who sends most (Sec. IX)."""
    flows = sg.simulate("unresponsive", sets=[("queue.discipline", "drop_tail"), ("run.duration", "30 s")]).flows
    assert flows["drops_packets"].sum() > 100
    assert heavy_flow_lines(flows) == []


def test_many_are_cut_to_a_few_lines() -> None:
    text = heavy_flow_lines(table(*[1e-9] * 8))
    assert len(text) == 1 + HEAVY_FLOWS + 1
    assert text[1] == ("  flow 1 (tcp): 20 % of the last 100; expected 12 %; p ≤ 1e-09")
    assert text[-1] == "  and 3 more; see recent_p_value in flows"


def test_the_command_says_so(sluicegate: Program) -> None:
    command = ("run", "unresponsive", "--set", "queue.discipline=red", "--set", "run.duration=30 s")
    assert "  flow 33 (udp): " in sluicegate(*command).stdout
    (row,) = json.loads(sluicegate(*command, "--json").stdout)["heavy_flows"]
    assert (row["flow"], row["kind"], row["link"], row["recent_packets"]) == (33, "udp", "bottleneck", 100)
