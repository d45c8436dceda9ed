"""The page on all disciplines: which to use, the three scenarios behind the answer, and the study of DCN's
open values."""

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
    disciplines_compare_checks,
    disciplines_compare_figures,
    disciplines_study_checks,
    disciplines_study_figures,
)
from .checks import Check, Verdict, judge
from .disciplines_answers import which
from .disciplines_compare import WORKLOADS, Compared, compared, ranked
from .disciplines_study import SCENARIO

OF_FIGURE = {**disciplines_compare_checks.OF_FIGURE, **disciplines_study_checks.OF_FIGURE}
"""Which checks stand under which figure."""

CHOICES = (
    Choice("DCN: threshold, clearing interval", "no values", "6 packets, 0.5 s", "chosen here [D]; varied above"),
    Choice("DCN: a, b, T_update; bounds of p_ref", "a < b; no values", "b = 0.3, a = b·1.7/1.8, 6.25 ms; 1 to 1000 "
           "packets", "AFD's ratio and frequency [D]; varied above"),
    Choice("DCN: T_dec", "800 ms", "800 ms", "as printed; varied above"),
    Choice("DCN: SB, HB", "a fixed number; a few thousand entries", "16384 entries; 8192 flows in 4096 "
    "buckets", "chosen here [D]; varied above"),
    Choice("DCN: sign of the proportional term", "pushes the wrong way as printed", "AFD's order; the printed "
    "one beside it",
           "see “Laws and readings”"),
    Choice("DCN: pktcount", "forwarded (Sec. 3.1) or arrived (Sec. 3.2)", "forwarded; the other beside it", "only "
           "then do the two sections agree at equilibrium"),
    Choice("Traffic of the study", "HTTP sessions on 100 Mbit/s", "transfers of eight lengths on 20 Mbit/s that do not "
           "wait for each other", "quick, and the load is known; the paper's own traffic is in another report"),
    Choice("Targets of the comparison", "each paper sets its own", "one number of packets for thresholds, q_ref and "
    "b_ref of all", "differences are then those of rules, not of settings"),
    Choice("CoDel, FQ-CoDel, PIE", "5 and 15 ms", "the same, also on 1 Mbit/s, where a packet takes 8 ms", "they are "
           "to need no setting; the delay that they hold is part of the comparison. On so slow a link RFC 8290, Sec. "
           "5.2.2, asks for a target of a packet's time at least"),
    Choice("RED-PD", "R = 40 ms, the round trip of a flow that is to be left alone", "the same", "with round trips of "
    "0.4 s in scenario 1 it allows the UDP flow more than a TCP gets"),
    Choice("RIO and CSFQ", "an edge marks or labels packets", "the edge stands at the queue itself; in scenario 1 to 3 "
           "nothing marks for RIO, so that it judges all packets alike", "one link is all there is"),
    Choice("DECbit", "hosts read its bit", "hosts that do not", "the same hosts for all; it is Drop Tail then"),
)  # fmt: skip


def checks(all_: Compared, runs: pl.DataFrame) -> list[Check]:
    """All checks of the page, in the order of its figures. `runs`: the points of the study."""
    return [*disciplines_compare_checks.checks(all_), *disciplines_study_checks.checks(runs, all_)]


def build(settings: Settings, results: Tables) -> Report:
    """The whole report of what the runs gave."""
    all_ = compared(settings, results)
    runs = results["study"]
    verdicts = judge(checks(all_, runs))
    text, _ = api.read_scenario(SCENARIO)
    figures = (
        *disciplines_compare_figures.figures(settings, all_),
        *disciplines_study_figures.figures(settings, results, runs),
    )
    return Report(
        name="disciplines",
        title="All disciplines, side by side",
        citation=PAPERS["disciplines"] + ".",
        summary=_summary(verdicts) + " " + which(all_),
        provenance=_provenance(settings, results),
        scenario=text,
        commands=_commands(ranked(all_)[0]),
        choices=CHOICES,
        figures=tuple(replace(part, checks=OF_FIGURE[part.id]) for part in figures),
        verdicts=tuple(verdicts),
    )


def _summary(verdicts: Sequence[Verdict]) -> str:
    claims = [verdict for verdict in verdicts if verdict.check.kind == "claim"]
    held = sum(verdict.name == "reproduced" for verdict in claims)
    return f"{held} of the {len(claims)} claims checked here hold in simulation."


def _provenance(settings: Settings, results: Tables) -> tuple[tuple[str, str], ...]:
    seeds = settings.seeds
    runs = results["study"].height + results["links"].height
    return (
        ("Sluicegate", _core.version()),
        ("Seeds", f"{seeds[0]} to {seeds[-1]} ({len(seeds)} runs of each point)" if len(seeds) > 1 else str(seeds[0])),
        ("Simulated time", f"{settings.duration_s} s for each run, the first {settings.warmup_s} s not measured; twice "
        "that in scenario 1"),
        ("Runs", str(runs)),
        ("Intervals", "Student's t over seeds, 95 %"),
    )  # fmt: skip


def _commands(best: str) -> str:
    lines = [
        f"sluicegate compare {workload.id} --disciplines drop_tail,red,{best} "
        + " ".join(f"--set {key}={value}" for key, value in workload.tuned()[:3])
        for workload in WORKLOADS
    ]
    lines.append(f"sluicegate run {SCENARIO} --set queue.dcn.law=printed")
    lines.append(f"sluicegate run {SCENARIO} --set queue.dcn.threshold=12 --seed 3")
    return "\n".join(lines)
