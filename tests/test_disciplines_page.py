"""The page on all disciplines: its traffic offers what it says, its measures find what is put into them, and its words
follow from the numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tiny import contents

from sluicegate import scenario as api
from sluicegate.experiments.compare import Comparison
from sluicegate.experiments.disciplines import known
from sluicegate.experiments.engine import run_experiments
from sluicegate.papers import Settings, disciplines, reproduce
from sluicegate.papers import disciplines_answers as answers
from sluicegate.papers import disciplines_compare as compare
from sluicegate.papers import disciplines_page as page
from sluicegate.papers import disciplines_study as study

TINY = Settings(seeds=(1, 2), duration_s=6, warmup_s=2, sample_s=2)
FIGURES = ("choice", "unresponsive", "mixed-round-trips", "bursts", "laws", "classification", "control", "matters")
ASKED = [
    *("drop_tail", "random_drop", "early_random_drop", "red", "ared", "penalty_box", "decbit", "choke", "choke_linux"),
    *(
        "fred",
        "sred",
        "sfb",
        "red_pd",
        "csfq",
        "fq",
        "sfq",
        "afd",
        "pi",
        "rio",
        "rio_ps",
        "dcn",
        "rem",
        "blue",
        "codel",
    ),
    *("fq_codel", "pie"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "disciplines"
    reproduce("disciplines", out, settings=TINY)
    return out


def test_every_figure_has_data_and_every_check_a_place(made: Path) -> None:
    expected = {"report.html", "checks.json"} | {f"figures/{id_}.svg" for id_ in FIGURES}
    assert set(contents(made)) == expected | {f"data/{id_}.parquet" for id_ in FIGURES}
    checks = json.loads((made / "checks.json").read_text("utf-8"))
    text = (made / "report.html").read_text("utf-8")
    assert {check["id"] for check in checks} == {id_ for ids in page.OF_FIGURE.values() for id_ in ids}
    assert all(text.count(f'<tr id="check-{check["id"]}">') == 1 for check in checks)


def test_all_disciplines_are_compared_under_all_workloads(made: Path) -> None:
    assert sorted(compare.STATE) == sorted(ASKED)
    assert set(compare.STATE) <= set(known())
    for id_ in ("mixed-round-trips", "bursts"):
        assert sorted(pl.read_parquet(made / "data" / f"{id_}.parquet")["discipline"].unique()) == sorted(ASKED)
    first = pl.read_parquet(made / "data" / "unresponsive.parquet")["discipline"].unique()
    assert sorted(first) == sorted([*ASKED, *compare.DCN_VARIANTS])


def test_experiments_are_told_apart() -> None:
    experiments = disciplines.experiments(TINY)
    assert len({each.id for each in experiments}) == len(experiments)
    assert len({(each.text, each.sets) for each in experiments}) == len(experiments)


# The study ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [0.98, 1.06])
def test_the_transfers_offer_the_load(load: float) -> None:
    numbers = study.counts(load, 600)
    sent = sum(number * (size * 1500 + 156) for number, (size, _) in zip(numbers, study.MIX, strict=True))
    assert 8 * sent / 600 / study.RATE_BPS == pytest.approx(load, rel=1e-3)


def test_the_scenario_is_the_study_at_102_percent() -> None:
    scenario = api.check(study.SCENARIO)
    assert [group["count"] for group in scenario["flows"]] == study.counts(study.ALONE, 60)
    assert [group["size"] for group in scenario["flows"]] == [size for size, _ in study.MIX]
    (experiment,) = (each for each in study.experiments(replace(TINY, duration_s=60)) if each.id == "study 102")
    assert dict(experiment.sets)["flows.3.count"] == str(scenario["flows"][3]["count"])


def test_of_a_run_its_measures_are_kept() -> None:
    case = study.DEFAULT_CASE
    short = sum(study.counts(case.load, TINY.duration_s)[:4])
    flows = pl.DataFrame(
        {"group": [0, 0, 3, 3, 7], "arrivals_packets": [1, 0, 8, 9, 100], "lost_packets": [0, 0, 0, 2, 10],
         "lost_early": [0, 0, 0, 2, 10]},
        schema_overrides={"group": pl.UInt64},
    )  # fmt: skip
    link = {"queue_packets_mean": [24.0], "queue_packets_max": [90], "utilisation": [0.5], "arrivals_packets": [118],
            "lost_packets": [59], "lost_tail": [0], "link": ["bottleneck"]}  # fmt: skip
    rows = [
        (1.0, 0, "hb_flows", 50.0), (3.0, 0, "hb_flows", 1.0), (5.0, 0, "hb_flows", 3.0), (3.0, 0, "p_ref", 7.0),
        (3.0, short, "pktcount", 9.0), (5.0, short + 1, "pktcount", 9.0), (5.0, short + 2, "pktcount", 9.0),
        (5.0, 1, "pktcount", 9.0),
    ]  # fmt: skip
    state = pl.DataFrame(rows, schema=["time_s", "flow", "name", "value"], orient="row")
    queue = pl.DataFrame({"time_s": [2.0], "queue_packets": [3]})
    tables = {"flows": flows, "links": pl.DataFrame(link), "state": state, "queue": queue}
    (row,) = study.measured(TINY, case.id, tables)["study"].to_dicts()
    assert (row["queue"], row["loss"], row["used"], row["tail"]) == (24, 50, 50, 0)
    assert row["short_hit"] == pytest.approx(100 / 3), "of three short transfers that arrived one was hit"
    assert row["long_loss"] == 10
    assert (row["hb"], row["hb_short"], row["p_ref"]) == (2, 50, 7), "after the warm-up"


def test_the_measures_of_a_run_are_those_of_its_tables() -> None:
    (experiment,) = (each for each in study.experiments(TINY) if each.id == study.drop_tail(1.06).id)
    condensed = run_experiments([experiment], [1])
    whole = run_experiments([replace(experiment, keep={**study.MEASURED, "queue": study.KEEP["course"]})], [1])
    (row,), (link,) = condensed["study"].to_dicts(), whole["links"].to_dicts()
    assert row["queue"] == link["queue_packets_mean"]
    assert row["hb"] is None
    assert condensed["course"].equals(whole["queue"])


# The comparison -----------------------------------------------------------------------------------------------------


def compared(**measures: dict[str, list[float]]) -> dict[str, Comparison]:
    """Comparisons of all disciplines in which each has Drop Tail's values, but for those given, by name and metric."""
    plain = {"udp_share": 1.0, "unfairness": 0.2, "jain_tcp": 0.8, "tcp_delay_p99_ns": 160e6, "burst_excess": 0.2,
             "on_off_loss_ratio": 0.3, "unused": 0.0, "utilisation": 1.0, "throughput_bps": 1e6}  # fmt: skip
    rows = [
        {"discipline": name, "seed": seed}
        | {metric: measures.get(name, {}).get(metric, [value] * 5)[seed - 1] for metric, value in plain.items()}
        for name in (choice.label for choice in compare.listed())
        for seed in range(1, 6)
    ]
    runs = pl.DataFrame(rows)
    names = {name: name for name in runs["discipline"].unique(maintain_order=True)}
    return {
        workload.id: Comparison(runs, names, "drop_tail", ["tcp"], ["bottleneck"], {"seeds": [1, 2, 3, 4, 5]})
        for workload in compare.WORKLOADS
    }


def test_every_discipline_takes_the_common_settings() -> None:
    for workload in compare.WORKLOADS:
        text, name = api.read_scenario(workload.id)
        for choice in compare.entries(workload):
            queue = choice.check(text, name, workload.tuned())["queue"]
            assert queue["limit"] == workload.limit, choice.label


def test_a_criterion_is_met_with_the_whole_interval_only() -> None:
    quick = next(each for each in compare.CRITERIA if each.id == "quick")
    near = {"tcp_delay_p99_ns": [60e6, 100e6, 60e6, 100e6, 60e6]}
    below = {"tcp_delay_p99_ns": [70e6, 71e6, 70e6, 71e6, 70e6]}
    missing = {"tcp_delay_p99_ns": [70e6, 71e6, math.nan, 71e6, 70e6]}
    all_ = compared(red=near, codel=below, pie=missing)
    assert [compare.meets(quick, all_, label) for label in ("red", "codel", "pie", "drop_tail")] == [
        False, True, False, False,
    ]  # fmt: skip


def test_more_criteria_come_first_then_less_memory_then_less_delay() -> None:
    held = {"udp_share": [0.04] * 5}
    all_ = compared(fq=held, dcn=held, sfb=held | {"tcp_delay_p99_ns": [150e6] * 5})
    assert compare.ranked(all_)[:3] == ["sfb", "dcn", "fq"]


def test_the_words_follow_from_the_numbers() -> None:
    held = {"udp_share": [0.04] * 5, "tcp_delay_p99_ns": [20e6] * 5}
    for name in ("fq", "choke"):
        all_ = compared(**{name: held})
        assert answers.which(all_).startswith(f"{name} meets 3 of the 5 criteria")
        assert f"At most twice a fair share: {name} 4.0 %." in answers.unresponsive(all_)
        assert "25 of 26 leave it nine tenths" in answers.which(all_)
    assert answers.unresponsive(compared()).startswith("None holds it to twice a fair share.")
    assert "At most half of that: red 5.0" in answers.bursts(compared(red={"burst_excess": [0.05] * 5}))
    assert "Harder on bursts than Drop Tail: red 50.0" in answers.bursts(compared(red={"burst_excess": [0.5] * 5}))
