"""The page of DCN 2004: figures, tables, checks, and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import _core, api
from ..intervals import interval
from ..report import Choice, Report, number
from ..runner import Tables
from . import PAPERS, Settings, dcn2004_checks, dcn2004_figures
from .checks import Verdict, judge
from .dcn2004_cases import CASES, LOADS, WEB
from .dcn2004_load import Calibration
from .dcn2004_points import Results

PAPER_S = (7200, 5400)
"""The paper's runs: 120 minutes, of which 90 are measured."""


def merged(results: Tables, calibration: Calibration) -> Tables:
    """The tables of all runs, the uncongested ones first."""
    import polars as pl

    both = {name: [calibration.tables[name]] if name in calibration.tables else [] for name in results}
    return {name: pl.concat([*both[name], table]) for name, table in results.items()}


def build(settings: Settings, results: Tables, calibration: Calibration) -> Report:
    """The whole report of what the runs gave."""
    numbers = Results(merged(results, calibration), settings.seeds, settings.duration_s - settings.warmup_s)
    verdicts = judge(dcn2004_checks.checks(numbers, settings.warmup_s))
    figures = (*dcn2004_figures.figures(numbers), dcn2004_figures.loads(calibration))
    text, _ = api.read_scenario(WEB)
    of_figure = dcn2004_checks.OF_FIGURE
    return Report(
        name="dcn2004",
        title="DCN 2004, reproduced",
        citation=PAPERS["dcn2004"] + ". Figures 1, 2 and 5 to 20, Tables 1 and 2.",
        summary=_summary(settings, verdicts),
        provenance=_provenance(settings, calibration),
        scenario=text,
        commands=_commands(settings, calibration),
        choices=CHOICES,
        figures=tuple(replace(part, checks=of_figure.get(part.id, ())) for part in figures),
        verdicts=tuple(verdicts),
    )


CHOICES = (
    Choice("Length of runs", "120 minutes, of which 90 are measured", "see the top of this page; --full runs the "
           "paper's",
           "a quarter of an hour on two cores. The link, the users and the loads are the paper's; nothing else is "
           "scaled. "
           "In short runs the longest responses do not end, so that congestion is milder"),
    Choice("Loads", "a population of users that makes 90, 98 or 105 Mbit/s on an uncongested link, over 90 minutes",
           "for each seed the number of users whose draws make the load in the measured time, within 0.75 %, in each "
           "direction", "sizes have heavy tails: the same number of users would make 95 or 110 Mbit/s in runs of "
           "minutes"),
    Choice("Users", "20,000 for about 105 Mbit/s one way, on both sides", "about 10,000 on each side", "Table 1's "
           "requests of "
           "both directions then agree with its throughput: 8 kB for each"),
    Choice("The link's frames", "100 Mbit/s Ethernet", "38 bytes around each packet take time, but count as no load",
           "with packets of 600 bytes 94 Mbit/s of IP are all that fit, and Drop Tail's 92.4 in Table 1 says so"),
    Choice("Distributions of the browser", "named, and cited", "chosen to meet every number of the text; see the "
           "users' page",
           "the measured tables are data of others"),
    Choice("Delays", "10 to 150 ms for each flow, “round-trip times”; “RTT up to 400 ms”", "uniform round trips of 10 "
           "to 150 "
           "ms, queues not counted", "the paper means a typical range within the continental U.S."),
    Choice("End hosts", "windows of 16 KB, a least timeout of 1 s, FreeBSD 4.5", "the profile dcn2004: NewReno, "
           "delayed "
           "acknowledgements, a first window of 1 segment", "that system's defaults"),
    Choice("PI's start", "20 minutes of warm-up", "p starts near what it comes to in long runs", "from 0 it would "
           "take minutes"),
    Choice("PI's gains", "“best settings”", "those of Hollot et al. (2001), at 170 Hz", "the paper cites them"),
    Choice("DCN's law", "p_ref rises with the last queue and falls with the one before", "AFD's signs, and the "
           "printed ones "
           "beside", "the printed law does not hold the queue; the last figure shows it"),
    Choice("Order of curves", "read from figures", "the mean response time with times above 2 s counted as 2 s, "
           "paired by seed",
           "the area over the curve as the paper draws it"),
    Choice("“Not starved”", "no measure", "bytes of completed responses above 100,000 bytes at 105 %: at least half "
           "of those "
           "under PI with ECN", "PI treats all packets alike"),
    Choice("Unresponsive flow", "said, not measured", "UDP at 10 Mbit/s among the users of 90 % load: under DCN less "
           "than half "
           "of what it gets under Drop Tail", "TCP flows get a tenth of that at most"),
    Choice("General TCP", "vectors of an Internet2 link", "drawn connections with 46 kB for each exchange, as Table "
           "2's "
           "throughput and exchanges give, 105.3 and 91.2 Mbit/s", "the vectors are data of others"),
)  # fmt: skip


def _summary(settings: Settings, verdicts: Sequence[Verdict]) -> str:
    claims = [verdict for verdict in verdicts if verdict.check.kind == "claim"]
    held = sum(verdict.name == "reproduced" for verdict in claims)
    scale = "" if settings.duration_s >= PAPER_S[0] else (
        f" These are runs of {settings.duration_s} s where the paper's take {PAPER_S[0]} s; the link of 100 Mbit/s "
        f"and its "
        "users are the paper's."
    )  # fmt: skip
    return (
        f"{held} of the {len(claims)} claims checked here hold in simulation.{scale} The cells of both tables, which "
        f"depend "
        "on a browser model and hosts that the paper does not give in full, are set beside ours."
    )


def _provenance(settings: Settings, calibration: Calibration) -> tuple[tuple[str, str], ...]:
    seeds, users = settings.seeds, []
    for load in LOADS:
        each = [sum(calibration.amounts[f"uncongested-{load}", seed].amounts) for seed in seeds]
        users.append(f"{number(interval(each).mean)} at {load} %")
    return (
        ("Sluicegate", _core.version()),
        ("Seeds", f"{seeds[0]} to {seeds[-1]} ({len(seeds)} runs of each case)" if len(seeds) > 1 else str(seeds[0])),
        ("Simulated time", f"{settings.duration_s} s for each run, the first {settings.warmup_s} s not measured"),
        ("Runs", str((len(CASES) + len(LOADS) + 1) * len(seeds)) + ", calibration not counted"),
        ("Users on both sides", ", ".join(users) + " (means over seeds)"),
        ("Intervals", "Student's t over seeds, 95 %; schemes are compared run by run with the same users"),
    )


def _commands(settings: Settings, calibration: Calibration) -> str:
    seed = settings.seeds[0]
    lines = []
    for case in (CASES[0], CASES[3]):
        amount = calibration.amounts[f"uncongested-{case.load_name}", seed]
        sets = " ".join(f'--set {key}="{value}"' for key, value in (*case.overrides(), *amount.sets()))
        lines.append(f"sluicegate run {WEB} --seed {seed} {sets}")
    return "\n".join(lines)
