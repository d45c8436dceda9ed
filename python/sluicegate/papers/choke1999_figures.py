"""The figures of the CHOKe report's first half, Figs. 2 to 9, and what the other figures share."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl
from matplotlib.figure import Figure

from ..report import FigurePart, number
from ..runner import Tables
from . import Settings, charts
from .choke1999_cases import CHOKE, DROP_TAIL, FAIR_BPS, LINK_BPS, RATES, RED, VARIANTS, Case
from .points import RUN, fold, interval_of, summarise

TITLES = {"drop_tail": "Drop Tail", "red": "RED", "choke": "CHOKe"}
TICKS = (0.1, 0.3, 1, 3, 10)
PRINTED = (
    charts.Printed(2, 250, "throughput"), charts.Printed(2, 23.4, "flow"),
    charts.Printed(0.1, 23, "loss"), charts.Printed(10, 99, "loss"),
)  # fmt: skip
"""Numbers that the report's text prints of Figs. 4 and 8, in the units of `charts.over_load`."""


def figures(settings: Settings, results: Tables, runs: pl.DataFrame) -> tuple[FigurePart, ...]:
    """Figs. 2 to 9."""
    over_time = [
        throughput_over_time(number, cases, _SAYS_IN_TIME[number], settings, results, runs)
        for number, cases in _IN_TIME
    ]
    per_flow = [_per_flow(number, cases, results, runs) for number, cases in _PER_FLOW]
    return (*over_time, *per_flow, _load(runs), _queue(runs))


def name_of(case: Case) -> str:
    """The discipline, with its candidates if there are several."""
    name = TITLES[case.discipline]
    return f"{name} with {case.candidates} candidates" if case.candidates > 1 else name


def title_of(case: Case) -> str:
    """The discipline, with its thresholds if it has any."""
    name = name_of(case)
    return f"{name}, thresholds {case.thresholds[0]} and {case.thresholds[1]}" if case.thresholds else name


def means_of(cases: Sequence[Case], runs: pl.DataFrame, column: str, factor: float, unit: str) -> str:
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


def throughput_over_time(
    number: int, cases: Sequence[Case], says: str, settings: Settings, results: Tables, runs: pl.DataFrame
) -> FigurePart:
    """UDP's and all TCP's throughput over time, a panel for each case; `says`: what the report says of the figure."""
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
        [(title_of(case), frame) for case, frame in zip(cases, frames, strict=True)], LINK_BPS, settings.warmup_s
    )
    name = name_of(cases[0])
    return FigurePart(
        id=f"fig{number}",
        label=f"Figure {number}",
        title=f"{name}: throughput over time",
        setup="32 TCP transfers and one UDP source of 2 Mbit/s on a link of 1 Mbit/s. Thick: mean over seeds, with its "
        f"95 % interval as a band; thin: the run with seed {settings.seeds[0]}. "
        f"Each value covers the {settings.sample_s} s before it.",
        paper_says=says,
        measured=f"UDP receives {means_of(cases, runs, 'udp_bps', 1e-3, 'kbit/s')}; a TCP transfer receives "
        f"{means_of(cases, runs, 'tcp_flow_bps', 1e-3, 'kbit/s')} (mean of the 32).",
        alt=f"Throughput of UDP and of all TCP flows over time under {name}.",
        drawing=drawing,
        data=pl.concat(frames),
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
    panels = [(title_of(case), data.filter(pl.col("experiment") == case.id)) for case in cases]
    return FigurePart(
        id=f"fig{number}",
        label=f"Figure {number}",
        title=f"{name}: throughput of each flow",
        setup="The runs of Figures 2 to 4, flow by flow: flows 1 to 32 are TCP, flow 33 is UDP. Means over seeds with "
        f"95 % intervals; dotted: an equal share, {FAIR_BPS / 1e3:.1f} kbit/s. "
        "A point on the lower edge lies there or below.",
        paper_says=_SAYS_PER_FLOW[number],
        measured="The best TCP flow of a run receives on average "
        f"{means_of(cases, runs, 'tcp_best_bps', 1e-3, 'kbit/s')}; UDP "
        f"{means_of(cases, runs, 'udp_bps', 1e-3, 'kbit/s')}.",
        alt=f"Throughput of each of the 33 flows under {name}, logarithmic axis.",
        drawing=charts.per_flow(panels, FAIR_BPS),
        data=data,
    )


# Figures 8 and 9 --------------------------------------------------------------------------------------------------

Panels = Sequence[tuple[str, Sequence[Case]]]
"""Panels of a figure over load: a title, and the cases in the order of UDP's rate."""

LOAD_COLUMNS = ("udp_bps", "tcp_bps", "tcp_flow_bps", "udp_loss_ratio")
QUEUE_COLUMNS = ("udp_queued", "tcp_queued", "average_mean", "average_min", "average_max")


def load_tables(panels: Panels, runs: pl.DataFrame, columns: Sequence[str]) -> list[pl.DataFrame]:
    """For each panel the means of `columns`, with discipline, thresholds, candidates, flows and rate of each UDP."""
    tables = []
    for _, cases in panels:
        points = pl.DataFrame(
            [(case.id, case.discipline, *(case.thresholds or (0, 0)), case.candidates, case.udp_flows,
              (case.udp_mbps or 0.0) * 1e6) for case in cases],
            schema={"experiment": pl.String, "discipline": pl.String, "min_th": pl.UInt64, "max_th": pl.UInt64,
                    "candidates": pl.UInt64, "udp_flows": pl.UInt64, "udp_rate_bps": pl.Float64},
            orient="row",
        )  # fmt: skip
        means = summarise(runs.join(points, on="experiment", how="semi"), ("experiment",), columns)
        tables.append(points.join(means, on="experiment", maintain_order="left"))
    return tables


def draw_load(
    panels: Panels, tables: Sequence[pl.DataFrame], printed: Sequence[charts.Printed] = (), xlabel: str = charts.SENDS
) -> Figure:
    """`charts.over_load` with `printed` in the first panel."""
    titled = [(title, table) for (title, _), table in zip(panels, tables, strict=True)]
    return charts.over_load(titled, LINK_BPS, {panels[0][0]: printed}, TICKS, xlabel)


def draw_queue(panels: Panels, tables: Sequence[pl.DataFrame]) -> Figure:
    """`charts.occupancy` of the panels."""
    return charts.occupancy(
        [(title, table, cases[0].thresholds or (0, 0)) for (title, cases), table in zip(panels, tables, strict=True)],
        TICKS,
    )


_OVER_LOAD: Panels = tuple((title_of(case), tuple(case.at(rate) for rate in RATES)) for case in CHOKE)


def _load(runs: pl.DataFrame) -> FigurePart:
    tables = load_tables(_OVER_LOAD, runs, LOAD_COLUMNS)
    first, last = ([case.at(rate) for case in CHOKE] for rate in (RATES[0], RATES[-1]))
    return FigurePart(
        id="fig8",
        label="Figure 8",
        title="CHOKe under different loads: throughput and loss",
        setup="UDP offers 0.1 to 10 Mbit/s against 32 TCP transfers on 1 Mbit/s. Means over seeds with 95 % intervals.",
        paper_says="CHOKe drops 23 % of UDP's packets when UDP sends only 100 kbit/s, and 99 % at 10 Mbit/s; the mean "
        "TCP flow's throughput stays almost constant.",
        measured=f"UDP loses {means_of(first, runs, 'udp_loss_ratio', 100, '%')} at 100 kbit/s, "
        f"{means_of(last, runs, 'udp_loss_ratio', 100, '%')} at 10 Mbit/s.",
        alt="Throughput of UDP, all TCP and the mean TCP flow, and UDP's loss, over UDP's sending rate.",
        drawing=draw_load(_OVER_LOAD, tables, PRINTED),
        data=pl.concat(tables),
    )


def _queue(runs: pl.DataFrame) -> FigurePart:
    tables = load_tables(_OVER_LOAD, runs, QUEUE_COLUMNS)
    last = [case.at(RATES[-1]) for case in CHOKE]
    queued = [[interval_of(runs, case.id, column).mean for column in ("udp_queued", "tcp_queued")] for case in last]
    shares = " and ".join(f"{100 * udp / (udp + tcp):.1f}" for udp, tcp in queued)
    return FigurePart(
        id="fig9",
        label="Figure 9",
        title="CHOKe under different loads: who is in the queue",
        setup="The runs of Figure 8: packets in the queue of each kind and the average that CHOKe keeps, both as means "
        "over time and seeds with 95 % intervals. Dotted: the thresholds.",
        paper_says="With thresholds of 30 and 60, CHOKe controls the average queue as RED does. UDP's share of the "
        "queue grows with its rate but can never become the dominant portion.",
        measured=f"At 10 Mbit/s UDP has {means_of(last, runs, 'udp_queued', 1, 'packets')} in the queue, "
        f"TCP {means_of(last, runs, 'tcp_queued', 1, 'packets')}: UDP has {shares} % of it.",
        alt="Packets of UDP and TCP in the queue and the average kept by CHOKe, over UDP's sending rate.",
        drawing=draw_queue(_OVER_LOAD, tables),
        data=pl.concat(tables),
    )


# Our choices ------------------------------------------------------------------------------------------------------


def variants(runs: pl.DataFrame) -> FigurePart:
    """UDP's share with other values for what the report leaves open."""
    cases = (CHOKE[0], *VARIANTS, CHOKE[1])
    names = pl.DataFrame(
        {
            "experiment": [case.id for case in cases],
            "variant": ["as chosen", *(case.variant for case in VARIANTS), "thresholds 100 and 200"],
        }
    )
    share = runs.join(names, on="experiment", how="semi").with_columns(percent=pl.col("udp_bps") * (100 / LINK_BPS))
    data = names.join(summarise(share, ("experiment",), ("percent",)), on="experiment", maintain_order="left")
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
    )
