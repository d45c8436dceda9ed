"""Axes of a sweep that go together, and what is said of wrong ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from fifo import Fifo
from test_calling import FLOWS, NETWORK, SHORT

import sluicegate as sg


def test_axes_that_go_together() -> None:
    over = {
        ("flows.1.rate", "queue.choke.limit"): [("1 Mbit/s", 50), ("2 Mbit/s", 70)],
        "queue.choke.candidates": [1, 2],
    }
    done = sg.sweep(NETWORK, FLOWS, over=over, seeds=1, jobs=1, **SHORT)
    assert done.columns == ["flows.1.rate_bps", "queue.choke.limit", "queue.choke.candidates"]
    points = [(10**6, 50, 1), (10**6, 50, 2), (2 * 10**6, 70, 1), (2 * 10**6, 70, 2)]
    assert done.totals.select(done.columns).rows() == points
    assert done.points()[2] == ("2 Mbit/s", "70", "1")
    alone = sg.sweep(NETWORK, FLOWS, over={"flows.1.rate": ["2 Mbit/s"], "queue.choke.limit": [70]}, seeds=1, **SHORT)
    assert done.totals["throughput_bps"][2] == alone.totals["throughput_bps"][0]


@pytest.mark.parametrize(
    ("over", "error", "message"),
    [
        ({("a", "b"): [(1, 2), (3,)]}, sg.ScenarioError, r"over: a, b = (3,): must have 2 values, not 1"),
        ({("a", "b"): []}, sg.ScenarioError, "over: a, b: name at least one value"),
        ({("a", "b"): [(1, 2), (1, 2)]}, sg.ScenarioError, "over: a, b: 1, 2 is there twice"),
        ({("a", "a"): [(1, 2)]}, sg.ScenarioError, "over: a: given twice"),
        ({("a", "run.seed"): [(1, 2)]}, sg.ScenarioError, "over: run.seed: give seeds instead"),
        ({("a", "b"): "1,2"}, TypeError, "over: a, b = '1,2': expected rows of values, such as"),
        ({("a", "b"): [1, 2]}, TypeError, "over: a, b = 1: expected rows of values, such as"),
        ({("a",): [(1,)]}, TypeError, "over: ('a',): a tuple must name several keys"),
        (
            {("queue.limit", "flows.1.raet"): [(50, 1)]},
            sg.ScenarioError,
            "over: flows.1.raet: no such key for kind udp",
        ),
        ({"queue.discipline": []}, sg.ScenarioError, "over: queue.discipline: name at least one value"),
        (
            {"queue": [{"discipline": "red"}]},
            TypeError,
            "over: queue.discipline = {'discipline': 'red'}: expected a name",
        ),
        (
            {"queue": {"discipline": "red"}},
            TypeError,
            "over: queue.discipline = {'discipline': 'red'}: expected a name",
        ),
        ({"queue": [3]}, TypeError, "over: queue.discipline: expected a name or a discipline such as"),
        ({"queue": sg.Red}, TypeError, "over: queue.discipline: expected a name or a discipline such as"),
        ({"queue": "red", "queue.discipline": "pie"}, sg.ScenarioError, "over: queue.discipline: given twice"),
        ({("queue", "a"): [("red,pie", 1)]}, sg.ScenarioError, "over: queue, a: a row must name one discipline"),
        (
            {"queue.limit": [50, sg.Choke()]},
            TypeError,
            "over: queue.limit: expected texts and numbers, not sluicegate.Choke(...); a discipline is",
        ),
        ({"queue.limit": [Fifo]}, TypeError, "over: queue.limit: expected texts and numbers, not <class"),
        ({"flows.0": [sg.Tcp()]}, TypeError, "over: flows.0: expected texts and numbers, not sluicegate.Tcp(...)"),
        ({"flows.0": sg.Tcp()}, TypeError, "over: flows.0: expected texts and numbers, not sluicegate.Tcp(...)"),
        (
            {"queue.limit": [{"a": 1}]},
            TypeError,
            "over: queue.limit = {'a': 1}: must be a text, a number, True or False",
        ),
        ({"queue.limit": [None]}, TypeError, "over: queue.limit = None: must be a text, a number, True or False"),
        ({5: [1]}, TypeError, "over: 5: expected a dotted key"),
        ("queue.limit=50", TypeError, "over = 'queue.limit=50': expected keys and their values, such as"),
        ([("queue.limit",)], TypeError, "over = [('queue.limit',)]: expected keys and their values, such as"),
        (
            {"queue.discipline": ["choke:candidates=200"]},
            sg.ScenarioError,
            "over: queue.discipline=choke:candidates=200: queue.choke.candidates = 200: must be",
        ),
    ],
)
def test_wrong_axes_are_told(over: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        sg.sweep("unresponsive", over=over)
    assert str(caught.value).startswith(message)


def test_the_command_takes_axes_that_go_together(sluicegate: Program, small: Path) -> None:
    short = ["--set", "run.duration=3 s", "--set", "run.warmup=1 s", "--seeds", "1", "-o", "out"]
    over = "flows.1.rate=1..4 Mbit/s log 3 + queue.limit=50,60,70"
    answer = sluicegate("sweep", small, "--over", over, *short)
    assert (answer.returncode, answer.stderr) == (0, "")
    rows = [line.split()[:3] for line in answer.stdout.splitlines() if re.match(r" +\d", line)]
    assert rows == [["1", "Mbit/s", "50"], ["2", "Mbit/s", "60"], ["4", "Mbit/s", "70"]]
    answer = sluicegate("sweep", small, "--over", "flows.1.rate=1 Mbit/s + queue.limit=50,60", *short)
    wanted = "keys that change together need the same number of values: flows.1.rate has 1, queue.limit has 2\n"
    assert (answer.returncode, answer.stderr[:6], answer.stderr.endswith(wanted)) == (2, "error:", True)
