"""The page on utilisation: every discipline on every link, a reason beside each low cell, some cells measured again."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import sluicegate as sg
from sluicegate import traps
from sluicegate.experiments.disciplines import known

TOOL: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[1] / "tools/utilisation.py"))
TABLE: dict[str, list[float]] = TOOL["kept"]()
CELLS: list[tuple[int, int]] = TOOL["CELLS"]

FOLLOWED = ("dcn", "afd", "fred", "ared")
"""Disciplines whose defaults follow from the link: these are measured again on a faster one."""


def low(name: str) -> set[tuple[int, int]]:
    return {cell for cell, value in zip(CELLS, TABLE[name], strict=True) if value < TOOL["LEAST"]}


def test_the_page_has_every_discipline_on_every_link() -> None:
    assert list(TABLE) == known()
    assert all(len(row) == len(CELLS) for row in TABLE.values())
    assert TOOL["PAGE"].read_text("utf-8") == "\n".join(TOOL["lines"](TABLE)) + "\n", "python tools/utilisation.py"


@pytest.mark.parametrize("name", known())
def test_each_low_cell_has_a_reason_and_no_other(name: str) -> None:
    reasons = TOOL["REASONS"].get(name, [])
    told = [cell for cells, _ in reasons for cell in cells]
    assert sorted(told) == sorted(low(name))


@pytest.mark.parametrize("name", known())
def test_traps_tell_of_each_low_cell(name: str) -> None:
    """As the page says; but for one discipline, with a reason on the page."""
    told = {
        cell
        for cell in low(name)
        if any("falls idle" in trap for trap in traps.of_scenario(sg.check(TOOL["scenario"](name, *cell))))
    }
    assert told == (set() if name in TOOL["UNTOLD"] else low(name))
    assert low(name) or name not in TOOL["UNTOLD"]


@pytest.mark.parametrize("name", known())
def test_a_cell_is_what_is_measured(name: str) -> None:
    """One flow at 1 and 10 Mbit/s, which takes no time; where defaults follow from the link also 10 at 100 Mbit/s."""
    for cell in [(1, 1), (10, 1), *([(100, 10)] if name in FOLLOWED else [])]:
        assert TOOL["measure"](name, *cell) == TABLE[name][CELLS.index(cell)], cell


def test_no_bound_of_dcn_throttles_a_fast_link() -> None:
    """With at most 1000 packets in T_dec a flow alone had 14 % of 100 Mbit/s, ten 14 % of 1 Gbit/s."""
    assert TOOL["measure"]("dcn", 100, 1) == TABLE["dcn"][CELLS.index((100, 1))] > 79
    assert TABLE["dcn"][CELLS.index((1000, 10))] > 95
