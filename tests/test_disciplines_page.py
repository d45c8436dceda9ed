"""The page on all disciplines: its traffic offers what it says, its measures find what is put into them, and its words
follow from the numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from tiny import contents

from sluicegate import scenario
from sluicegate.experiments.disciplines import choices, known
from sluicegate.papers.disciplines import PAPER, choice, dcn_study, workloads
from sluicegate.papers.disciplines.choice import CRITERIA, Ranking
from sluicegate.reproduce import Quantity, Settings, reproduce

TINY = Settings(seeds=(1, 2), duration_s=6, warmup_s=2, sample_s=2)
FIGURES = [each.id for each in PAPER.figures()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "disciplines"
    reproduce("disciplines", out, settings=TINY)
    return out


def test_every_figure_has_data_and_every_check_a_place(made: Path) -> None:
    assert FIGURES == [
        "choice",
        "unresponsive",
        "mixed-round-trips",
        "bursts",
        "laws",
        "classification",
        "never-judged",
        "control",
        "matters",
    ]
    drawn = [id_ for id_ in FIGURES if id_ != "never-judged"]
    names = {
        "report.html",
        "checks.json",
        *(f"figures/{id_}.svg" for id_ in drawn),
        *(f"data/{id_}.parquet" for id_ in drawn),
    }
    assert set(contents(made)) - {"runs.sqlite"} == names
    text = (made / "report.html").read_text("utf-8")
    assert all(
        text.count(f'<tr id="check-{check["id"]}"') == 1
        for check in json.loads((made / "checks.json").read_text("utf-8"))
    )


def test_all_disciplines_are_compared_under_all_workloads(made: Path) -> None:
    """All that the package has but those that hold others."""
    assert set(known()) - set(workloads.STATE) == {"priority", "drr"}
    for id_ in ("mixed-round-trips", "bursts"):
        assert pl.read_parquet(made / "data" / f"{id_}.parquet")["queue"].to_list() == list(workloads.NAMES)
    first = pl.read_parquet(made / "data" / "unresponsive.parquet")["queue"].to_list()
    assert first == [*workloads.NAMES, *workloads.DCN_VARIANTS]


# The study ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [0.98, 1.06])
def test_the_transfers_offer_the_load(load: float) -> None:
    numbers = dcn_study.counts(load, 600)
    sent = sum(number * (size * 1500 + 156) for number, (size, _) in zip(numbers, dcn_study.MIX, strict=True))
    assert 8 * sent / 600 / dcn_study.RATE_BPS == pytest.approx(load, rel=1e-3)


def test_the_scenario_is_the_study_at_102_percent() -> None:
    document = scenario.check(dcn_study.SCENARIO)
    assert [group["count"] for group in document["flows"]] == dcn_study.counts(dcn_study.ALONE, 60)
    assert [group["size"] for group in document["flows"]] == [size for size, _ in dcn_study.MIX]
    study = dcn_study.alone
    text = study.text(study.points[0], replace(TINY, duration_s=60))
    assert text == scenario.read_scenario(dcn_study.SCENARIO)[0]


def test_what_dcn_held_counts_after_the_warmup() -> None:
    flows = pl.DataFrame({"flow": [1, 2, 3, 4], "group": [0, 3, 4, 7]})
    rows = [
        (1.0, 0, "hb_flows", 50.0), (3.0, 0, "hb_flows", 1.0), (5.0, 0, "hb_flows", 3.0), (3.0, 0, "p_ref", 7.0),
        (3.0, 2, "pktcount", 9.0), (5.0, 3, "pktcount", 9.0), (5.0, 4, "pktcount", 9.0), (5.0, 1, "pktcount", 9.0),
    ]  # fmt: skip
    state = pl.DataFrame(rows, schema=["time_s", "flow", "name", "value"], orient="row")
    (row,) = dcn_study.tables_held({"flows": flows, "state": state}, TINY)["held"].to_dicts()
    assert row == {"hb": 2.0, "hb_short": 50.0, "p_ref": 7.0}


def test_measures_of_transfers_by_their_length() -> None:
    flows = pl.DataFrame({"experiment": ["a"] * 5, "seed": [1] * 5, "group": [0, 0, 3, 3, 7],
                          "arrivals_packets": [1, 0, 8, 9, 100], "drops_packets": [0, 0, 0, 2, 10],
                          "drops_early": [0, 0, 0, 2, 10]})  # fmt: skip
    measured = {name: dcn_study.MEASURES[name].evaluate({"flows": flows})["a", 1]
                for name in ("short_hit", "never_hit", "long_loss")}  # fmt: skip
    assert measured == {"short_hit": pytest.approx(100 / 3), "never_hit": 0, "long_loss": 10}


# The choice ---------------------------------------------------------------------------------------------------------


class Measured:
    """Stands for the runs of a study in which each discipline has Drop Tail's values but for those given, by seed."""

    PLAIN: ClassVar = {
        "udp_share": 100.0,
        "unfairness": 0.2,
        "jain": 0.8,
        "delay": 160.0,
        "burst_excess": 20.0,
        "burst_loss": 30.0,
        "unused": 0.0,
    }

    def __init__(self, given: dict[str, dict[str, list[float]]]) -> None:
        self.given = given

    def at(self, queue: Any) -> dict[str, Quantity]:
        own = self.given.get(queue.label, {})
        return {name: Quantity(tuple(own.get(name, [value] * 5))) for name, value in self.PLAIN.items()}


def ranking(**measured: dict[str, list[float]]) -> Ranking:
    runs: Any = Measured(measured)
    return Ranking({"unresponsive": runs, "mixed": runs, "bursts": runs})


def test_every_discipline_takes_the_common_settings() -> None:
    for workload in (workloads.UNRESPONSIVE, workloads.MIXED, workloads.BURSTS):
        text, name = scenario.read_scenario(workload.scenario)
        for each in choices(",".join(workloads.NAMES)):
            assert each.read(text, name, workload.tuned()).resolved["queue"]["limit"] == workload.limit, each.label


def test_a_criterion_is_met_with_the_whole_interval_only() -> None:
    found = ranking(red={"delay": [60, 100, 60, 100, 60]}, codel={"delay": [70, 71, 70, 71, 70]},
                    pie={"delay": [70, 71, math.nan, 71, 70]})  # fmt: skip
    (quick,) = (each for each in CRITERIA if each.id == "quick")
    assert [quick in found.met(name) for name in ("red", "codel", "pie", "drop_tail")] == [False, True, False, False]


def test_more_criteria_come_first_then_less_memory_then_less_delay() -> None:
    held = {"udp_share": [4.0] * 5}
    found = ranking(fq=held, dcn=held, sfb=held | {"delay": [150.0] * 5})
    assert found.order[:3] == ["sfb", "dcn", "fq"]


def test_the_words_follow_from_the_numbers() -> None:
    for name in ("fq", "choke"):
        found = ranking(**{name: {"udp_share": [4.0] * 5, "delay": [20.0] * 5}})
        assert found.which().startswith(f"{name} meets 3 of the 5 criteria")
        assert f"At most twice a fair share: {name} 4.0 %." in found.unresponsive()
        number = len(workloads.STATE)
        assert f"{number - 1} of {number} leave it nine tenths" in found.which()
    assert ranking().unresponsive().startswith("None holds it to twice a fair share.")
    assert "At most half of that: red 5.0" in ranking(red={"burst_excess": [5.0] * 5}).bursts()
    assert "Harder on bursts than Drop Tail: red 50.0" in ranking(red={"burst_excess": [50.0] * 5}).bursts()
    assert choice.SLOW_LINK in ranking().which()
