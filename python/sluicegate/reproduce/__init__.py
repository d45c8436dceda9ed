"""The vocabulary in which a paper is reproduced.

A *study* is a scenario × axes × seeds; its *runs* give *measures*, a *quantity* by seed at each point. `claim`, `exact`
and `reference` are the checks: a statement of the paper, what was measured, and a bound. A *figure* has a chart and its
checks; a *paper* is a package of `sluicegate.papers` whose modules hold figures. What a report prints of a paper is a
check: there is no other way to print it.

A reproduction of one's own is a module with a `Paper` called `PAPER` beside modules with figures; nothing else.
"""

from __future__ import annotations

from ..page import Table
from .claim import (
    Check,
    above,
    below,
    between,
    claim,
    exact,
    like_one_run_of,
    not_above,
    not_below,
    not_unlike,
    printed,
    reference,
    within,
)
from .figure import Chart, Choice, Drawing, Figure, Live, Paper, figure
from .measure import FLOWS, LINK, LINKS, TCP, UDP, Measure, Rows, each_run, kbps, mbps, ms, packets, percent
from .quantity import Curve, Quantity, number
from .run import Outcome, UnknownName, paper, reproduce
from .study import Axis, Runs, Settings, Study, Variant, label_of

__all__ = [
    "FLOWS",
    "LINK",
    "LINKS",
    "TCP",
    "UDP",
    "Axis",
    "Chart",
    "Check",
    "Choice",
    "Curve",
    "Drawing",
    "Figure",
    "Live",
    "Measure",
    "Outcome",
    "Paper",
    "Quantity",
    "Rows",
    "Runs",
    "Settings",
    "Study",
    "Table",
    "UnknownName",
    "Variant",
    "above",
    "below",
    "between",
    "claim",
    "each_run",
    "exact",
    "figure",
    "kbps",
    "label_of",
    "like_one_run_of",
    "mbps",
    "ms",
    "not_above",
    "not_below",
    "not_unlike",
    "number",
    "packets",
    "paper",
    "percent",
    "printed",
    "reference",
    "reproduce",
    "within",
]
