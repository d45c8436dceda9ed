"""The page of the RED paper: the parts one after the other, and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from .. import _core
from .. import scenario as api
from ..experiments.engine import Tables
from ..report import Choice, Report
from . import PAPERS, Settings
from .checks import Verdict, judge
from .red1993 import Section

SCENARIO = "red1993_fig3"
"""The scenario that the page shows."""

CHOICES = (
    Choice("Rate of the congested link", "a packet takes 0.17 ms; packets of 1000 bytes", "45 Mbit/s", "1000 bytes "
           "take 0.178 ms there; 0.17 is its first two digits, and 45 Mbit/s the rate of a T3 line of that time"),
    Choice("An average at max_th or above", "the text: “exceeds”; Figs. 1 and 17: at least", "every arrival is dropped "
           "when the average is max_th or more", "as the figures have it"),
    Choice("Gaps between marks", "Fig. 2, Sec. VII and Fig. 17 give three laws", "Sec. VII: uniform on 1 … 1/p_b",
           "the law that the text derives; each is tested against its own law"),
    Choice("TCP", "4.3-Tahoe's congestion control; a first threshold of half the advertised window; an acknowledgement "
           "for each packet", "the profile `red1993`, which has these", "see the manual's page on hosts"),
)  # fmt: skip
"""Choices that all parts share."""


def build(settings: Settings, results: Tables, parts: Sequence[ModuleType]) -> Report:
    """The whole report of what the runs gave."""
    sections: list[Section] = [part.section(settings, results) for part in parts]
    verdicts = judge([check for section in sections for check in section.checks])
    text, _ = api.read_scenario(SCENARIO)
    return Report(
        name=SCENARIO,
        title="RED 1993, reproduced",
        citation=PAPERS["red1993"] + ".",
        summary=_summary(verdicts),
        provenance=_provenance(settings, results),
        scenario=text,
        commands="\n".join(command for part in parts for command in part.COMMANDS),
        choices=(*CHOICES, *(choice for part in parts for choice in part.CHOICES)),
        figures=tuple(figure for section in sections for figure in section.figures),
        verdicts=tuple(verdicts),
    )


def _summary(verdicts: Sequence[Verdict]) -> str:
    claims = [verdict for verdict in verdicts if verdict.check.kind == "claim"]
    held = sum(verdict.name == "reproduced" for verdict in claims)
    return (
        f"{held} of the {len(claims)} claims checked here hold in simulation. The delays of the paper's networks are "
        "lost with its figures; those used here follow from what the text says, and the page says how. Numbers that "
        "depend on what is left open are set beside ours, with the reason where they differ."
    )


def _provenance(settings: Settings, results: Tables) -> tuple[tuple[str, str], ...]:
    seeds = settings.seeds
    runs = results["links"].select("experiment", "seed").unique().height
    return (
        ("Sluicegate", _core.version()),
        ("Seeds", f"{seeds[0]} to {seeds[-1]} ({len(seeds)} runs of each point)" if len(seeds) > 1 else str(seeds[0])),
        ("Simulated time", "the paper's own, given with each figure"),
        ("Runs", str(runs)),
        ("Intervals", "Student's t over seeds, 95 %"),
        ("Queue", "packets that wait; the one in transmission is not counted"),
    )
