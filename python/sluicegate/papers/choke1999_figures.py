"""The figures of the CHOKe report, first half, and the page made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from .. import _core, api
from ..report import Choice, FigurePart, Report, number
from ..runner import Tables
from . import PAPERS, Settings, charts
from .checks import Verdict, judge
from .choke1999 import CHOKE, DROP_TAIL, FAIR_BPS, LINK_BPS, OVER_LOAD, RATES, RED, SCENARIO, VARIANTS, Case, points
from .choke1999_checks import OF_FIGURE, checks
from .points import RUN, fold, interval_of, summarise

TITLES = {"drop_tail": "Drop Tail", "red": "RED", "choke": "CHOKe"}
TICKS = (0.1, 0.3, 1, 3, 10)
PRINTED = (
    charts.Printed(2, 250, "throughput"), charts.Printed(2, 23.4, "flow"),
    charts.Printed(0.1, 23, "loss"), charts.Printed(10, 99, "loss"),
)  # fmt: skip
"""Numbers that the report's text prints, in the units of `charts.over_load`."""


def build(settings: Settings, results: Tables) -> Report:
    """The whole report of what the runs gave."""
    runs = points(results)
    verdicts = judge(checks(runs))
    over_time = [_over_time(number, cases, settings, results, runs) for number, cases in _IN_TIME]
    per_flow = [_per_flow(number, cases, results, runs) for number, cases in _PER_FLOW]
    text, name = api.read_scenario(SCENARIO)
    return Report(
        name=SCENARIO,
        title="CHOKe 1999, reproduced",
        citation=PAPERS["choke1999"] + ". First half: Figures 2 to 9.",
        summary=_summary(verdicts),
        provenance=_provenance(settings, runs),
        scenario=text,
        commands=_commands(name),
        choices=CHOICES,
        figures=(*over_time, *per_flow, _load(runs), _queue(runs), _variants(runs)),
        verdicts=tuple(verdicts),
    )


def _title(case: Case) -> str:
    """The discipline, with its thresholds if it has any."""
    name = TITLES[case.discipline]
    return f"{name}, thresholds {case.thresholds[0]} and {case.thresholds[1]}" if case.thresholds else name


def _each(cases: Sequence[Case], runs: pl.DataFrame, column: str, factor: float, unit: str) -> str:
    """The mean and interval of `column` for each case, named by its thresholds where there are several."""
    texts = []
    for case in cases:
        value = interval_of(runs, case.id, column)
        spread = "" if math.isnan(value.half_width) else f" ± {value.half_width * factor:.2g}"
        where = f" with thresholds {case.thresholds[0]} and {case.thresholds[1]}" if case.thresholds else ""
        texts.append(f"{number(value.mean * factor)}{spread} {unit}{where}")
    return " and ".join(texts)


# Figures 2 to 4 ---------------------------------------------------------------------------------------------------

_IN_TIME = ((2, (DROP_TAIL,)), (3, RED), (4, CHOKE))

_SAYS_IN_TIME = {
    2: "UDP takes more than 95 % of the link; the 32 TCP transfers share the remaining 50 kbit/s, 1.6 kbit/s each.",
    3: "As under Drop Tail: UDP takes more than 95 % of the link, TCP the remaining 50 kbit/s.",
    4: "UDP is held to 250 kbit/s in the steady state, a quarter of the link, and a TCP transfer gets 23.4 kbit/s "
    "instead of 1.6. The text states thresholds of 30 and 60 packets only with Fig. 9.",
}


def _over_time(
    number: int, cases: Sequence[Case], settings: Settings, results: Tables, runs: pl.DataFrame
) -> FigurePart:
    kinds = results["flows"].select("experiment", "flow", "kind").unique(maintain_order=True)
    series = results["flow_series"].join(kinds, on=["experiment", "flow"], how="left", maintain_order="left")
    frames = []
    for case in cases:
        table = fold(
            series.filter(pl.col("experiment") == case.id), (*RUN, "time_s", "kind"),
            throughput_bps=("throughput_bps", math.fsum),
        )  # fmt: skip
        one = table.filter(pl.col("seed") == settings.seeds[0]).select(
            "experiment", "time_s", "kind", throughput_bps_one_run="throughput_bps"
        )
        means = summarise(table, ("experiment", "time_s", "kind"), ("throughput_bps",))
        frames.append(means.join(one, on=["experiment", "time_s", "kind"], maintain_order="left"))
    drawing = charts.over_time(
        [(_title(case), frame) for case, frame in zip(cases, frames, strict=True)], LINK_BPS, settings.warmup_s
    )
    name = TITLES[cases[0].discipline]
    return FigurePart(
        id=f"fig{number}",
        label=f"Figure {number}",
        title=f"{name}: throughput over time",
        setup="32 TCP transfers and one UDP source of 2 Mbit/s on a link of 1 Mbit/s. Thick: mean over seeds, with its "
        f"95 % interval as a band; thin: the run with seed {settings.seeds[0]}. "
        f"Each value covers the {settings.sample_s} s before it.",
        paper_says=_SAYS_IN_TIME[number],
        measured=f"UDP receives {_each(cases, runs, 'udp_bps', 1e-3, 'kbit/s')}; a TCP transfer receives "
        f"{_each(cases, runs, 'tcp_flow_bps', 1e-3, 'kbit/s')} (mean of the 32).",
        alt=f"Throughput of UDP and of all TCP flows over time under {name}.",
        drawing=drawing,
        data=pl.concat(frames),
        checks=OF_FIGURE[f"fig{number}"],
    )


# Figures 5 to 7 ---------------------------------------------------------------------------------------------------

_PER_FLOW = ((5, (DROP_TAIL,)), (6, RED), (7, CHOKE))

_SAYS_PER_FLOW = {
    5: "On a logarithmic axis, UDP (flow 33) stands far above every TCP flow.",
    6: "As under Drop Tail, UDP stands far above every TCP flow.",
    7: "UDP still gets more than any TCP flow, but TCP is served much better, merely because an arrival and a packet "
    "that it meets of its own flow are both dropped.",
}


def _per_flow(number: int, cases: Sequence[Case], results: Tables, runs: pl.DataFrame) -> FigurePart:
    flows = results["flows"].filter(pl.col("experiment").is_in([case.id for case in cases]))
    data = summarise(flows, ("experiment", "flow", "kind"), ("throughput_bps",))
    name = TITLES[cases[0].discipline]
    panels = [(_title(case), data.filter(pl.col("experiment") == case.id)) for case in cases]
    return FigurePart(
        id=f"fig{number}",
        label=f"Figure {number}",
        title=f"{name}: throughput of each flow",
        setup="The runs of Figures 2 to 4, flow by flow: flows 1 to 32 are TCP, flow 33 is UDP. Means over seeds with "
        f"95 % intervals; dotted: an equal share, {FAIR_BPS / 1e3:.1f} kbit/s. "
        "A point on the lower edge lies there or below.",
        paper_says=_SAYS_PER_FLOW[number],
        measured="The best TCP flow of a run receives on average "
        f"{_each(cases, runs, 'tcp_best_bps', 1e-3, 'kbit/s')}; UDP {_each(cases, runs, 'udp_bps', 1e-3, 'kbit/s')}.",
        alt=f"Throughput of each of the 33 flows under {name}, logarithmic axis.",
        drawing=charts.per_flow(panels, FAIR_BPS),
        data=data,
        checks=OF_FIGURE[f"fig{number}"],
    )


# Figures 8 and 9 --------------------------------------------------------------------------------------------------


def _load_table(runs: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The points of Figs. 8 and 9 with their thresholds and UDP's rate as columns."""
    cases = pl.DataFrame(
        [(case.id, *(case.thresholds or (0, 0)), case.udp_mbps * 1e6) for case in OVER_LOAD],
        schema={"experiment": pl.String, "min_th": pl.UInt64, "max_th": pl.UInt64, "udp_rate_bps": pl.Float64},
        orient="row",
    )
    means = summarise(runs.join(cases, on="experiment", how="semi"), ("experiment",), columns)
    return cases.join(means, on="experiment", maintain_order="left")


def _load(runs: pl.DataFrame) -> FigurePart:
    data = _load_table(runs, ("udp_bps", "tcp_bps", "tcp_flow_bps", "udp_loss_ratio"))
    panels = [(_title(case), data.filter(pl.col("min_th") == (case.thresholds or (0,))[0])) for case in CHOKE]
    first, last = ([case.at(rate) for case in CHOKE] for rate in (RATES[0], RATES[-1]))
    return FigurePart(
        id="fig8",
        label="Figure 8",
        title="CHOKe under different loads: throughput and loss",
        setup="UDP offers 0.1 to 10 Mbit/s against 32 TCP transfers on 1 Mbit/s. Means over seeds with 95 % intervals.",
        paper_says="CHOKe drops 23 % of UDP's packets when UDP sends only 100 kbit/s, and 99 % at 10 Mbit/s; the mean "
        "TCP flow's throughput stays almost constant.",
        measured=f"UDP loses {_each(first, runs, 'udp_loss_ratio', 100, '%')} at 100 kbit/s, "
        f"{_each(last, runs, 'udp_loss_ratio', 100, '%')} at 10 Mbit/s.",
        alt="Throughput of UDP, all TCP and the mean TCP flow, and UDP's loss, over UDP's sending rate.",
        drawing=charts.over_load(panels, LINK_BPS, {title: PRINTED for title, _ in panels[:1]}, TICKS),
        data=data,
        checks=OF_FIGURE["fig8"],
    )


def _queue(runs: pl.DataFrame) -> FigurePart:
    data = _load_table(runs, ("udp_queued", "tcp_queued", "average_mean", "average_min", "average_max"))
    panels = [
        (_title(case), data.filter(pl.col("min_th") == case.thresholds[0]), case.thresholds)
        for case in CHOKE
        if case.thresholds
    ]
    last = [case.at(RATES[-1]) for case in CHOKE]
    return FigurePart(
        id="fig9",
        label="Figure 9",
        title="CHOKe under different loads: who is in the queue",
        setup="The runs of Figure 8: packets in the queue of each kind and the average that CHOKe keeps, both as means "
        "over time and seeds with 95 % intervals. Dotted: the thresholds.",
        paper_says="With thresholds of 30 and 60, CHOKe controls the average queue as RED does. UDP's share of the "
        "queue grows with its rate but never becomes the dominant part.",
        measured=f"At 10 Mbit/s UDP has {_each(last, runs, 'udp_queued', 1, 'packets')} in the queue, "
        f"TCP {_each(last, runs, 'tcp_queued', 1, 'packets')}.",
        alt="Packets of UDP and TCP in the queue and the average kept by CHOKe, over UDP's sending rate.",
        drawing=charts.occupancy(panels, TICKS),
        data=data,
        checks=OF_FIGURE["fig9"],
    )


# Our choices ------------------------------------------------------------------------------------------------------


def _variants(runs: pl.DataFrame) -> FigurePart:
    cases = (CHOKE[0], *VARIANTS, CHOKE[1])
    share = runs.with_columns(percent=pl.col("udp_bps") * (100 / LINK_BPS))
    means = summarise(share, ("experiment",), ("percent",))
    names = pl.DataFrame(
        {
            "experiment": [case.id for case in cases],
            "variant": ["as chosen", *(case.variant for case in VARIANTS), "thresholds 100 and 200"],
        }
    )
    data = names.join(means, on="experiment", maintain_order="left")
    percents = data["percent_mean"].to_list()[1:-1]
    return FigurePart(
        id="choices",
        label="Our choices",
        title="What the report leaves open, and how much it matters",
        setup="CHOKe with thresholds 30 and 60 against UDP of 2 Mbit/s, changing one choice at a time. The last row "
        "changes the thresholds instead.",
        paper_says="Nothing on the buffer, the queue weight, the drop probability, the delays and the starts. UDP gets "
        "25 % in Figure 4, whose thresholds the text does not state.",
        measured=f"With one choice changed UDP's share lies between {min(percents):.1f} and {max(percents):.1f} % "
        f"({data['percent_mean'][0]:.1f} % as chosen); with the larger thresholds it is "
        f"{data['percent_mean'][-1]:.1f} %.",
        alt="UDP's share of the link with other choices for what the report leaves open.",
        drawing=charts.sensitivity(data, "UDP's share of the link (%)", 25.0, "printed in the report"),
        data=data,
        checks=OF_FIGURE["choices"],
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


def _commands(name: str) -> str:
    scenario = name.removesuffix(".toml")
    return "\n".join(
        f"sluicegate run {scenario} " + " ".join(f'--set {key}="{value}"' for key, value in case.overrides())
        for case in (CHOKE[0], CHOKE[1].at(RATES[-1]), DROP_TAIL)
    )
