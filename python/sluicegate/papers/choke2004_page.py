"""The page of "Understanding CHOKe": figures, checks, and what the paper's text leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import _core
from .. import scenario as api
from ..experiments.engine import Tables
from ..report import Choice, Report
from . import PAPERS, Settings, choke2004_checks, choke2004_figures
from .checks import Verdict, judge
from .choke2004 import SCENARIO, points
from .choke2004_cases import BACK_SMOOTH, CANDIDATES, FIG8, LOAD, VEGAS_LOAD


def build(settings: Settings, results: Tables) -> Report:
    """The whole report of what the runs gave."""
    runs = points(results, settings)
    verdicts = judge(choke2004_checks.checks(settings, results, runs))
    text, _ = api.read_scenario(SCENARIO)
    figures = choke2004_figures.figures(settings, results, runs)
    seeds = settings.seeds
    return Report(
        name=SCENARIO,
        title="Understanding CHOKe 2004, reproduced",
        citation=PAPERS["choke2004"] + ". Figures 4 to 9, Section VI.",
        summary=_summary(verdicts),
        provenance=(
            ("Sluicegate", _core.version()),
            ("Seeds", f"{seeds[0]} to "
                      f"{seeds[-1]} ({len(seeds)} runs of each point)" if len(seeds) > 1 else str(seeds[0])),
            ("Simulated time", f"{settings.duration_s} s for each run, the first {settings.warmup_s} s not measured; "
                               "Vegas 20 s, the first 5 not measured"),
            ("Runs", str(runs.height)),
            ("Intervals", "Student's t over seeds, 95 %"),
            ("Queue", "packets that wait; the one in transmission is not counted"),
        ),
        scenario=text,
        commands="\n".join(
            f"sluicegate run {SCENARIO} " + " ".join(f'--set {key}="{value}"' for key, value in case.overrides())
            for case in (LOAD[-1], VEGAS_LOAD[4], FIG8, BACK_SMOOTH, CANDIDATES[0])
        ),
        choices=CHOICES,
        figures=tuple(replace(part, checks=choke2004_checks.OF_FIGURE[part.id]) for part in figures),
        verdicts=tuple(verdicts),
    )  # fmt: skip


CHOICES = (
    Choice("min_th", "lost with the formulas", "20 packets", "the least number of flows, 8.08, with c = 125 packets/s "
                                                             "and d = 100 ms leaves no other"),
    Choice("max_th and p_max", "lost", "520 packets and 0.5", "the slope of RED is all that matters below max_th; "
                                                              "checks that rest on it are shown, not claimed"),
    Choice("w_q, buffer, windows, access links", "not stated", "0.002, 1000 packets, 100 packets, 100 "
                                                               "Mbit/s", "none of them limits anything; the access "
           "links space a flow's packets, which matters to Back CHOKe alone"),
    Choice("TCP NewReno", "ns-2 2.1b9's", "the profile `ns2`, NewReno", "an acknowledgement for each packet, a clock "
                                                                        "of 10 ms, least time-out 200 ms"),
    Choice("RED for Vegas", "lost", "20 and 1020 packets, p_max 0.1", "the queue of 100 flows with 3 packets each lies "
           "between, and drops are few enough that α, not time-outs, rules the window"),
    Choice("α of Vegas", "lost; one number", "α = β = 3 packets, γ = 1; others in Figure 7", "UDP's share hardly "
    "depends on it, the queue does"),
    Choice("Rate of UDP in Figs. 8 and 9", "not stated", "10c", "as in Figure 5"),
    Choice("Place in the queue", "y in packets from the tail, up to the mean length", "parts of the length of each "
                                                                                      "snapshot",
           "queues vary, and tail and head are then where they belong; the packet at the very head is counted by "
           "itself"),
    Choice("ρ of Fig. 6: rates", "0.1c is named", "0.1c, c, 3c and 10c", "from flat to steep"),
    Choice("Times of snapshots", "every 100 ms", "every 97.3 ms", "UDP's gaps divide 100 ms, so that each look would "
                                                                  "find it at the same point of its gap"),
    Choice("RED's gaps", "(44): r = p_b", "uniform on 1 … 1/p_b, which drops 2p_b/(1 + p_b)", "RED's default here; "
    "both are drawn as models"),
    Choice("TCP's law", "(43), without time-outs", "(43), and Padhye, Firoiu, Towsley and Kurose's with "
                                                   "time-outs", "windows of three packets"),
)  # fmt: skip


def _summary(verdicts: Sequence[Verdict]) -> str:
    claims = [verdict for verdict in verdicts if verdict.check.kind == "claim"]
    held = sum(verdict.name == "reproduced" for verdict in claims)
    return (
        f"{held} of the {len(claims)} claims checked here hold in simulation. Shares of the link and places in the "
        "queue agree with the paper's models. The length of the queue does not: (43) knows no time-outs, RED here "
        "spaces its drops, and TCP's arrivals meet fewer packets of their own than (5) says; each is checked by "
        "itself. The text at hand has lost its formulas: what rests on max_th and p_max is set beside ours and cannot "
        "fail."
    )
