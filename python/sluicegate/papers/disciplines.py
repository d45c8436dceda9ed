"""All disciplines side by side, and a study of what DCN 2004 leaves open.

Two parts: `disciplines_compare` runs every discipline on three scenarios, `disciplines_study` varies DCN's unstated
parameters one by one, with both control laws and both readings of pktcount. `*_figures` and `*_checks` belong to each,
`disciplines_answers` says in words what was measured, and `disciplines_page` puts them together.
"""

from __future__ import annotations

from ..experiments.engine import Experiment, Tables
from ..report import Report
from . import Settings, disciplines_compare, disciplines_study

__all__ = ["DEFAULT", "FULL", "experiments", "report"]

DEFAULT = Settings(seeds=tuple(range(1, 6)), duration_s=60, warmup_s=20, sample_s=2)
FULL = Settings(seeds=tuple(range(1, 11)), duration_s=200, warmup_s=50, sample_s=5)


def experiments(settings: Settings) -> list[Experiment]:
    """Every case once, the quickest first."""
    return [*disciplines_compare.experiments(settings), *disciplines_study.experiments(settings)]


def report(settings: Settings, results: Tables) -> Report:
    """The report of what the runs gave."""
    from .disciplines_page import build

    return build(settings, results)
