"""The page of DCN 2004: figures, tables, checks, and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import _core
from .. import scenario as api
from ..experiments.engine import Tables
from ..quantities import significant as number
from ..report import Choice, Report
from ..stats import interval
from . import PAPERS, Settings, dcn2004_figures
from .checks import Verdict, judge
from .dcn2004_cases import CASES, LOADS, LONG_CASES, PAPER_S, WEB, has_longer, longer, uncongested
from .dcn2004_checks import CONGESTED_LOADS, LONGER_TARGET, REST, REST_WITHOUT_ECN, checks
from .dcn2004_load import Calibration
from .dcn2004_long import LONG_CHECKS, long_checks, long_part
from .dcn2004_more_checks import PI_CASES, load_checks, more_checks
from .dcn2004_points import Results
from .dcn2004_tables import CELLS, cells


def merged(results: Tables, calibration: Calibration) -> Tables:
    """The tables of all runs, the uncongested ones first."""
    import polars as pl

    both = {name: [calibration.tables[name]] if name in calibration.tables else [] for name in results}
    return {name: pl.concat([*both[name], table]) for name, table in results.items()}


def build(settings: Settings, results: Tables, calibration: Calibration) -> Report:
    """The whole report of what the runs gave."""
    longer_s = longer(settings).duration_s - longer(settings).warmup_s if has_longer(settings) else None
    numbers = Results(merged(results, calibration), settings.seeds, settings.duration_s - settings.warmup_s, longer_s)
    tolerances = {load.experiment.id: load.tolerance for load in (uncongested(settings, at) for at in (*LOADS, None))}
    verdicts = judge([
        *checks(numbers), *more_checks(numbers, settings.warmup_s), *cells(numbers), *long_checks(numbers),
        *load_checks(calibration, tolerances),
    ])  # fmt: skip
    figures = (
        *dcn2004_figures.figures(numbers),
        *([long_part(numbers)] if longer_s is not None else []),
        dcn2004_figures.loads(calibration),
    )
    text, _ = api.read_scenario(WEB)
    return Report(
        name="dcn2004",
        title="DCN 2004, reproduced",
        citation=PAPERS["dcn2004"] + ". Figures 1, 2 and 5 to 20, Tables 1 and 2.",
        summary=_summary(settings, verdicts),
        provenance=_provenance(settings, calibration),
        scenario=text,
        commands=_commands(settings, calibration),
        choices=CHOICES,
        figures=tuple(replace(part, checks=OF_FIGURE.get(part.id, ())) for part in figures),
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
           "requests of both directions then agree with its throughput: 8 kB for each"),
    Choice("The link's frames", "100 Mbit/s Ethernet", "38 bytes around each packet take time, but count as no load",
           "with packets of 600 bytes 94 Mbit/s of IP are all that fit, and Drop Tail's 92.4 in Table 1 says so"),
    Choice("Distributions of the browser", "named, and cited", "chosen to meet every number of the text; see the "
           "users' page",
           "the measured tables are data of others"),
    Choice("Delays", "10 to 150 ms for each flow, “round-trip times”; “RTT up to 400 ms”", "uniform round trips of 10 "
           "to 150 ms, queues not counted; each way in three runs beside", "the paper means a typical range within the "
           "continental U.S."),
    Choice("End hosts", "windows of 16 KB, a least timeout of 1 s, FreeBSD 4.5", "the profile dcn2004: NewReno, "
           "delayed acknowledgements, a first window of 1 segment", "that system's defaults"),
    Choice("PI's start", "20 minutes of warm-up", "p starts near what it comes to in long runs", "from 0 it would "
           "take minutes"),
    Choice("PI's gains", "“best settings”", "those of Hollot et al. (2001), at 170 Hz", "the paper cites them"),
    Choice("DCN's law", "p_ref rises with the last queue and falls with the one before", "AFD's signs, and the "
           "printed ones beside", "the printed law does not hold the queue; the last figure shows it"),
    Choice("Order of curves", "read from figures", "the mean response time with times above 2 s counted as 2 s, "
           "paired by seed",
           "the area over the curve as the paper draws it"),
    Choice("“Not starved”", "no measure", "bytes of completed responses above 100,000 bytes at 105 %: at least half "
           "of those under Drop Tail", "Drop Tail treats all packets alike"),
    Choice("Unresponsive flow", "said, not measured", "UDP at 10 Mbit/s among the users of 90 % load: under DCN less "
           "than half of what it gets under Drop Tail", "TCP flows get a tenth of that at most"),
    Choice("General TCP", "vectors of an Internet2 link", "drawn connections with 46 kB for each exchange, as Table "
           "2's throughput and exchanges give, 105.3 and 91.2 Mbit/s", "the vectors are data of others"),
)  # fmt: skip


def _summary(settings: Settings, verdicts: Sequence[Verdict]) -> str:
    claims = [verdict for verdict in verdicts if verdict.check.kind == "claim"]
    held = sum(verdict.name == "reproduced" for verdict in claims)
    scale = "" if settings.duration_s >= PAPER_S else (
        f" These are runs of {settings.duration_s} s where the paper's take {PAPER_S} s; the link of 100 Mbit/s and "
        "its users are the paper's."
    )  # fmt: skip
    return (
        f"{held} of the {len(claims)} claims checked here hold in simulation.{scale} The cells of both tables, which "
        "depend on a browser model and hosts that the paper does not give in full, are set beside ours."
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
        (
            "Runs",
            f"{(len(CASES) + len(LOADS) + 1) * len(seeds)}, calibration not counted"
            + (f", and {len(LONG_CASES)} of {longer(settings).duration_s} s" if has_longer(settings) else ""),
        ),
        ("Users on both sides", ", ".join(users) + " (means over seeds)"),
        ("Intervals", "Student's t over seeds, 95 %; schemes are compared run by run with the same users"),
    )


def _commands(settings: Settings, calibration: Calibration) -> str:
    seed = settings.seeds[0]
    lines = []
    for case in (CASES[0], CASES[3]):
        amount = calibration.amounts[f"uncongested-{case.load_name}", seed]
        sets = " ".join(f'--set {key}="{value}"' for key, value in (*case.overrides(), *amount.sets()))
        length = f'--set run.duration="{settings.duration_s} s" --set run.warmup="{settings.warmup_s} s"'
        lines.append(f"sluicegate run {WEB} --seed {seed} {length} {sets}")
    return "\n".join(lines)


def _orders(load: int) -> tuple[str, ...]:
    without = (f"order-pi-{worse}-{load}" for worse in REST_WITHOUT_ECN)
    return (
        *(f"order-{better}-pi-{load}" for better in ("dcn", "pi-ecn")),
        *(f"order-{better}-{worse}-{load}" for worse in REST for better in ("dcn", "pi-ecn")),
        *without,
        f"dcn-as-pi-ecn-{load}",
    )


def _targets(load: int) -> tuple[str, ...]:
    rest = {"pi": REST_WITHOUT_ECN, "pi-ecn": REST}
    return tuple(f"target-{better}-{worse}-{load}" for better in LONGER_TARGET for worse in rest[better])


OF_FIGURE: dict[str, tuple[str, ...]] = {
    "fig1": ("sizes-10k", "sizes-1m", "sizes-few", "sizes-100k"),
    "fig2": ("sizes-10k-bytes", "sizes-1m-bytes", "sizes-few-bytes"),
    "fig7": tuple(f"{key}-plateau-{load}" for load in CONGESTED_LOADS for key in ("afd", "pi")),
    "fig10": ("bytes-above-90", "bytes-10k-90", "bytes-1m-90"),
    "fig11": (*_orders(98), "dcn-quantiles-98"),
    "fig12": ("bytes-above-98",),
    "fig13": _orders(105),
    "fig14": ("bytes-above-105",),
    "fig15": ("small-better-90",),
    "fig16": ("large-better-90",),
    "fig17": ("small-better-98",),
    "fig18": ("large-better-98", "large-not-starved"),
    "fig19": tuple(
        f"order-mix-{better}-{worse}"
        for better in ("dcn", "rio-ps-ecn")
        for worse in ("drop-tail", "pi-ecn", "afd-ecn")
    ),
    "table1": ("dcn-loss-half", *(check_id for check_id in CELLS if check_id.startswith("table1-"))),
    "table2": tuple(check_id for check_id in CELLS if check_id.startswith("table2-")),
    "beside": (
        *(check_id for load in CONGESTED_LOADS for check_id in _targets(load)),
        *(f"law-{law}-{load}" for load in CONGESTED_LOADS for law in ("corrected", "printed")),
        "policed",
        "far-dcn-drop-tail",
        "far-dcn-pi-ecn",
        *(f"{kind}-{load}" for load in LOADS for kind in ("state", "state-both")),
        "state-hb",
    ),
    "long": LONG_CHECKS,
    "loads": (*(f"load-{load}" for load in (*LOADS, "mix")), *(f"pi-steady-{case}" for case in PI_CASES)),
}
"""Which checks stand under which figure."""
