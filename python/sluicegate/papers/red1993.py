"""RED: S. Floyd and V. Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993. Figs. 3, 5, 7 to 9, 12 to 16.

Each part of the paper is a module of its own, named in `PARTS`. It offers

- `experiments(settings)`: what to run, a list of `engine.Experiment`; ids begin with the figure's number;
- `section(settings, results)`: a `Section`, the figures and checks made of what the runs gave;
- `CHOICES`: what the paper leaves open there;
- `COMMANDS`: single points of it, as a person would run them.

The order of `PARTS` is that of the page; nothing else is needed. How long a run is, the paper says for each figure.
The settings say how many seeds there are; `duration_s` is the longest run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from ..experiments.engine import Experiment, Keep, Tables
from ..report import FigurePart, Report
from . import Settings
from .checks import Check

__all__ = ["DEFAULT", "FULL", "PARTS", "Section", "experiments", "report"]

PARTS = (
    "red1993_simple",  # Fig. 3
    "red1993_power",  # Fig. 5
    "red1993_marks",  # Figs. 7 and 8
    "red1993_heavy",  # Fig. 9
    "red1993_bursty",  # Figs. 12 to 15
    "red1993_claims",  # Fig. 16, and what the text says without a figure
)

DEFAULT = Settings(seeds=tuple(range(1, 21)), duration_s=10, warmup_s=0, sample_s=1)
FULL = Settings(seeds=tuple(range(1, 101)), duration_s=10, warmup_s=0, sample_s=1)

LINK_BPS = 45_000_000
"""The rate of every congested link: 45 Mbit/s sends 1000 bytes in 0.178 ms, the paper's 0.17 ms cut to two digits."""

SERVICE_S = 8000 / LINK_BPS
"""What a packet of 1000 bytes takes there."""

KEEP: Keep = {
    "flows": (
        "flow", "group", "kind", "algorithm", "link", "start_s", "base_rtt_ns", "completion_time_ns", "throughput_bps",
        "sent_packets", "delivered_packets", "offered_bps", "arrivals_packets", "lost_packets", "lost_early",
        "marked_packets", "retransmissions", "fast_retransmits", "timeouts", "recent_share", "recent_chance",
    ),
    "links": (
        "link", "discipline", "arrivals_packets", "departures_packets", "lost_packets", "lost_tail", "lost_early",
        "lost_forced", "marked_packets", "utilisation", "queue_packets_mean", "queue_packets_max",
        "queue_found_packets_mean", "average_packets_mean", "average_packets_max", "queueing_delay_mean_ns",
    ),
}  # fmt: skip
"""What every experiment keeps: the tables of all experiments are stacked, so their columns are the same."""

QUEUES: Keep = {**KEEP, "queue": ("time_s", "link", "queue_packets", "average_packets", "queue_found_packets_mean")}
"""The same with the queues over time."""

SERIES: Keep = {
    **QUEUES,
    "flow_series": (
        "time_s", "flow", "throughput_bps", "cwnd_segments", "arrivals_packets", "lost_packets", "marked_packets",
        "window_cuts",
    ),
}  # fmt: skip
"""The same with queues and flows over time."""

TRACE: Keep = {
    **KEEP,
    "packets": ("time_s", "link", "flow", "to", "event", "first_byte", "data_bytes", "queue_packets",
                "average_packets"),
}  # fmt: skip
"""The same with what happened to single packets."""


@dataclass(frozen=True)
class Section:
    """What a part adds to the page. Each figure names the checks that belong to it."""

    figures: Sequence[FigurePart]
    checks: Sequence[Check]


def parts() -> list[ModuleType]:
    """The modules of `PARTS`."""
    return [import_module(f".{name}", __package__) for name in PARTS]


def experiments(settings: Settings) -> list[Experiment]:
    """Those of every part."""
    return [experiment for part in parts() for experiment in part.experiments(settings)]


def report(settings: Settings, results: Tables) -> Report:
    """The report of what the runs gave."""
    from .red1993_page import build

    return build(settings, results, parts())
