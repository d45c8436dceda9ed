"""What RFC 7928 asks for, beside what the suite does of it: the one table, its page, and what else says so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sluicegate.evaluation import report
from sluicegate.evaluation.result import SUITES
from sluicegate.evaluation.rfc7928 import SUITE
from sluicegate.evaluation.suite import Suite

ROOT = Path(__file__).parents[1]

SECTIONS = [
    "1.1", "1.2", "2", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "3.1", "3.2", "3.3", "4.1",
    "4.2", "4.3", "4.3.1", "4.3.2", "4.4", "4.5", "4.6", "5.1.1", "5.1.2", "5.2", "5.3", "5.4", "6.1",
    "6.2", "6.3", "7.1", "7.2", "8.2", "8.2.2", "8.2.3", "8.2.4", "8.2.5", "8.2.6", "8.3", "9.1", "9.2",
    "10.2", "11.1", "11.2", "12.1", "12.2", "13",
]  # fmt: skip
"""The sections of the RFC that ask for something, by its text. 1.3 and 1.4 are on words; 4, 5, 8.1, 8.2.1 and 10.1
say why; 14 is on security, of which there is nothing."""

FILES = ("README.md", "docs/index.md", "docs/evaluate.md", "python/sluicegate/cli/evaluate.py")
"""What says what the suite is."""


def tool() -> dict[str, Any]:
    path = ROOT / "tools/evaluation_page.py"
    defined: dict[str, Any] = {"__file__": str(path), "__name__": "tool"}
    exec(path.read_text("utf-8"), defined)
    return defined


def test_every_section_that_asks_for_something_is_there_in_order() -> None:
    assert list(dict.fromkeys(each.section for each in SUITE.asks)) == SECTIONS


def test_words_and_answers_are_those_that_there_are() -> None:
    assert {each.word for each in SUITE.asks} == {"must", "should", "recommended", "may"}
    assert {each.done for each in SUITE.asks} == {*report.DONE}
    for each in SUITE.asks:
        assert each.how or each.done == "not done", each
    assert len({(each.section, each.what) for each in SUITE.asks}) == len(SUITE.asks)


def test_scenarios_of_the_table_are_those_of_the_suite() -> None:
    """Each is named in a row of the section that it is of; and no other is named."""
    ids = {each.id for each in SUITE.scenarios}
    named = {(word, each.section) for each in SUITE.asks for word in re.findall(r"`([a-z0-9-]+)`", each.how)}
    others = {"drop_tail", "transfers", "distributions", "link", "dsl", "cable", "lte", "satellite", "wifi"}
    assert {word for word, _ in named} - others == ids
    for scenario in SUITE.scenarios:
        sections = {section for word, section in named if word == scenario.id}
        assert any(section.startswith(scenario.section) for section in sections), scenario.id


def test_what_figure_4_lists_has_a_scenario_or_an_answer() -> None:
    """Fig. 4, as the RFC has it: section and weight."""
    figure = {"4.5": "must be discussed if supported", "4.6": "should be discussed", "5.1": "must be considered",
              "5.2": "must be considered", "5.3": "must be considered", "5.4": "may be considered",
              "6.2": "must be considered", "7.2": "must be considered", "8.2.5": "must be considered",
              "8.2.6": "must be considered", "8.3": "should be discussed", "9.1": "is recommended",
              "9.2": "may be considered", "10.2": "may be considered"}  # fmt: skip
    assert {section: words for section, words in SUITE.weights.items() if "not in Fig. 4" not in words} == figure
    for section in {*figure} - {"8.3"}:
        assert any(each.section.startswith(section) for each in SUITE.scenarios), section
    assert any(each.section == "8.3" for each in SUITE.asks), "to be discussed"
    page = (ROOT / "docs/evaluation-rfc7928.md").read_text("utf-8")
    assert "parameters and stability (8.3), should be discussed" in page


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_the_page_is_what_the_table_says(suite: Suite) -> None:
    made = tool()
    page = (ROOT / "docs" / made["PAGES"][suite.name].asked).read_text("utf-8")
    assert page == "\n".join(made["asked"](suite)) + "\n", "python tools/evaluation_page.py --asked writes it anew"
    assert page.count("| not done |") == sum(each.done == "not done" for each in suite.asks) > 0
    counts = [int(found) for found in re.findall(r"(?:yes|partly|manual|done) (\d+)", report.tally(suite))]
    assert sum(counts) == len(suite.asks)


@pytest.mark.parametrize("file", FILES)
def test_all_that_the_rfc_asks_is_not_claimed(file: str) -> None:
    text = " ".join((ROOT / file).read_text("utf-8").split())
    assert any(each.done != "done" for each in SUITE.asks)
    assert not re.search(r"all (that )?(of )?(what )?(the RFC|RFC 7928) asks", text)
