"""The page of the CHOKe report: figures, checks, and what the report leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from .. import _core
from .. import scenario as api
from ..experiments.engine import Tables
from ..report import Choice, Report
from . import (
    PAPERS,
    Settings,
    choke1999_checks,
    choke1999_figures,
    choke1999_many_checks,
    choke1999_many_figures,
    choke1999_said_checks,
    choke1999_said_figures,
)
from .checks import Check, Verdict, judge
from .choke1999 import points
from .choke1999_cases import ALONE, CHOKE, DROP_6, DROP_TAIL, RATES

SCENARIO = "choke1999"
OF_FIGURE = {**choke1999_checks.OF_FIGURE, **choke1999_many_checks.OF_FIGURE, **choke1999_said_checks.OF_FIGURE}
"""Which checks stand under which figure."""


def checks(runs: pl.DataFrame) -> list[Check]:
    """All checks of the report, in the order of its figures."""
    parts = (choke1999_checks, choke1999_many_checks, choke1999_said_checks)
    return [check for part in parts for check in part.checks(runs)]


def build(settings: Settings, results: Tables) -> Report:
    """The whole report of what the runs gave."""
    runs = points(results)
    verdicts = judge(checks(runs))
    text, _ = api.read_scenario(SCENARIO)
    figures = (
        *choke1999_figures.figures(settings, results, runs),
        *choke1999_many_figures.figures(settings, results, runs),
        *choke1999_said_figures.figures(settings, results, runs),
        choke1999_figures.variants(runs),
    )
    return Report(
        name=SCENARIO,
        title="CHOKe 1999, reproduced",
        citation=PAPERS["choke1999"] + ". Figures 2 to 19.",
        summary=_summary(verdicts),
        provenance=_provenance(settings, runs),
        scenario=text,
        commands=_commands(),
        choices=CHOICES,
        figures=tuple(replace(part, checks=OF_FIGURE[part.id]) for part in figures),
        verdicts=tuple(verdicts),
    )


CHOICES = (
    Choice("Thresholds", "30 and 60 with Fig. 9 and in Sec. 5; not stated for Figs. 2 to 7", "30 and 60, and 100 and "
           "200 beside them", "the 25 % of Fig. 4 fits the larger ones better"),
    Choice("Buffer", "not stated", "300 packets, not counting the one in transmission", "larger than every threshold, "
           "so that RED and CHOKe, not the buffer, decide; the same for Drop Tail"),
    Choice("Queue weight w_q", "not stated (“as RED”)", "0.002", "the value of Floyd and Jacobson's 1993 paper"),
    Choice("Drop probability max_p", "not stated (“the same as RED”)", "0.02", "the value of Floyd and Jacobson's "
           "1993 paper"),
    Choice("Delays", "not stated", "1 ms on the bottleneck, none on the access links", "the queue of 30 packets "
           "alone takes 240 ms, so that short lines hardly matter"),
    Choice("Starts", "not stated", "TCP flows start at random within the first second", "simultaneous starts would "
           "keep the flows in step for a while"),
    Choice("TCP", "not stated beyond FTP transfers and a window of 100", "Reno with ns-2's settings (clock of 10 ms, "
           "an acknowledgement for each packet)", "the usual host of simulations of that year"),
    Choice("Packet length", "1K bytes", "1000 bytes of IP, headers included; acknowledgements 40", "throughput "
           "is then in bytes of the link"),
    Choice("Duration", "not stated", "see the top of this page", "long enough for intervals that decide every check"),
    Choice("An average at max_th or above", "the text: “greater”", "every arrival is dropped when the average is "
           "max_th or more", "as RED's figures have it; the two differ on single instants only"),
    Choice("Rate of five UDP sources", "“the same arrival rate”; whose rate Figs. 16 to 19 are drawn over is not said",
           "each source's own, 0.1 to 10 Mbit/s, at eight rates", "the plain reading of “their arrival rate”; if the "
           "sum were meant, 10 Mbit/s is where each sends 2, and there the checks begin"),
    Choice("Candidates", "several are drawn; nothing on drawing one twice", "independent draws; a packet drawn twice "
           "is dropped once; “drop m” has m − 1 candidates, as Sec. 5 says", "the simplest reading"),
    Choice("Thresholds of Figs. 10 to 19", "30 and 60 in Sec. 5", "30 and 60; both pairs in Figs. 12 and 13, which are "
           "compared with Fig. 4", "one line of thought for each figure"),
    Choice("No synchronisation", "no measure", "variance of the sum of the windows over the sum of their variances",
           "1 when the windows are independent, their number when they are in step"),
    Choice("No bias against bursts", "no measure", "loss of 8 packets sent at once every 4 s less that of a smooth "
           "flow of the same rate", "both meet the same queue in the same run"),
    Choice("Just like RED", "no measure", "the mean over CHOKe's runs lies where a single run of RED lies", "then no "
           "run tells which of the two it was"),
    Choice("A drawn packet that is already marked", "not considered", "draws are uniform over live packets only",
           "marked packets are gone in every respect but memory"),
)  # fmt: skip


def _summary(verdicts: Sequence[Verdict]) -> str:
    claims = [verdict for verdict in verdicts if verdict.check.kind == "claim"]
    held = sum(verdict.name == "reproduced" for verdict in claims)
    return (
        f"{held} of the {len(claims)} claims checked here hold in simulation. The numbers that the report prints but "
        "whose inputs it leaves out are set beside ours, with the reason where they differ."
    )


def _provenance(settings: Settings, runs: pl.DataFrame) -> tuple[tuple[str, str], ...]:
    seeds = settings.seeds
    return (
        ("Sluicegate", _core.version()),
        ("Seeds", f"{seeds[0]} to {seeds[-1]} ({len(seeds)} runs of each point)" if len(seeds) > 1 else str(seeds[0])),
        ("Simulated time", f"{settings.duration_s} s for each run, the first {settings.warmup_s} s not measured"),
        ("Runs", str(runs.height)),
        ("Intervals", "Student's t over seeds, 95 %"),
        ("Throughput", "IP bytes delivered to the receiver in the measured time"),
    )


def _commands() -> str:
    return "\n".join(
        f"sluicegate run {case.scenario} " + " ".join(f'--set {key}="{value}"' for key, value in case.overrides())
        for case in (CHOKE[0], CHOKE[1].at(RATES[-1]), DROP_TAIL, DROP_6, ALONE[0])
    )
