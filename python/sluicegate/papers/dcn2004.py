"""DCN: L. Le, J. Aikat, K. Jeffay and F. D. Smith, Differential Congestion Notification, ICNP 2004. All its figures
with data (1, 2, 5 to 20) and both tables.

Web users on both sides of a link of 100 Mbit/s, at loads of 90, 98 and 105 %, and a mix of TCP connections, under Drop
Tail, PI, AFD, RIO-PS and DCN. `dcn2004_load` finds how many users make a load, for each seed; `dcn2004_cases` says
what is run, `dcn2004_points` makes numbers of it, `dcn2004_checks` and `dcn2004_figures` set them beside the paper's,
and `dcn2004_page` puts the page together.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..experiments.engine import Experiment, Tables
from ..report import Report
from . import Settings
from . import dcn2004_cases as cases
from .dcn2004_load import Calibration, Run, calibrate

__all__ = ["DEFAULT", "FULL", "experiments", "prepare", "report"]

DEFAULT = Settings(seeds=(1, 2, 3, 4, 5), duration_s=120, warmup_s=30, sample_s=1)
FULL = Settings(seeds=(1, 2, 3, 4, 5), duration_s=7200, warmup_s=1800, sample_s=10)
"""The paper's: 120 minutes, of which 90 are measured."""


def prepare(settings: Settings, run: Run) -> Calibration:
    """How many users, and how many connections, make each load for each seed."""
    loads = [cases.uncongested(settings, load) for load in (*cases.LOADS, None)]
    return calibrate(loads, settings.seeds, run)


def experiments(settings: Settings, calibration: Calibration) -> Sequence[Experiment]:
    """All runs but the uncongested ones, which calibration has made already."""
    return cases.experiments(settings, calibration)


def report(settings: Settings, results: Tables, calibration: Calibration) -> Report:
    """The page made of what the runs gave."""
    from .dcn2004_page import build

    return build(settings, results, calibration)
