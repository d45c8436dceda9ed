"""Figures of what the CHOKe report says without one: like RED without UDP, no synchronisation, no bias to bursts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from ..experiments.engine import Tables
from ..plot import style as plot
from ..quantities import significant as number
from ..report import FigurePart
from . import Settings, charts
from .choke1999_cases import (
    BURST_GAP_S,
    BURST_PACKETS,
    BURSTS,
    CHOKE_ALONE,
    FLOWS,
    RED_ALONE,
    TCP_FLOWS,
    TOGETHER,
    Case,
)
from .choke1999_figures import means_of, title_of
from .points import RUN, fold, interval_of, summarise

_LINES = (
    plot.Style("RED, 30 and 60", plot.VERMILION, "-", "s"),
    plot.Style("RED, 100 and 200", plot.VERMILION, "--", "D"),
    plot.Style("CHOKe, 30 and 60", plot.BLUE, "-", "o"),
    plot.Style("CHOKe, 100 and 200", plot.BLUE, "--", "^"),
)
_DROP_TAIL = plot.Style("Drop Tail, room for 300", plot.GREEN, "-", "v")


def figures(settings: Settings, results: Tables, runs: pl.DataFrame) -> tuple[FigurePart, ...]:
    """One figure for each statement."""
    return (_alone(runs), _in_step(settings, results, runs), _bursts(runs))


def _alone(runs: pl.DataFrame) -> FigurePart:
    columns = ("loss_ratio", "average_mean", "utilisation", "tcp_flow_bps")
    tables = []
    for case in (*RED_ALONE, *CHOKE_ALONE):
        names = pl.DataFrame(
            [(case.of(count).id, count) for count in FLOWS],
            schema={"experiment": pl.String, "flows": pl.UInt64},
            orient="row",
        )
        means = summarise(runs.join(names, on="experiment", how="semi"), ("experiment",), columns)
        tables.append(names.join(means, on="experiment", maintain_order="left"))
    few = [case.of(8) for case in (RED_ALONE[0], CHOKE_ALONE[0])]
    return FigurePart(
        id="alone",
        label="Section 6",
        title="Without unresponsive flows: just like RED?",
        setup="2 to 128 TCP transfers and no UDP, under RED and under CHOKe with one candidate. Means over seeds with "
        "95 % intervals.",
        paper_says="When there is no unresponsive flow at the gateway, CHOKe behaves just like RED.",
        measured=f"With {TCP_FLOWS} flows both fill the link. The average queue is "
        f"{means_of(CHOKE_ALONE, runs, 'average_mean', 1, 'packets')} under CHOKe, "
        f"{means_of(RED_ALONE, runs, 'average_mean', 1, 'packets')} under RED; the losses are "
        f"{means_of(CHOKE_ALONE, runs, 'loss_ratio', 100, '%')} under CHOKe, "
        f"{means_of(RED_ALONE, runs, 'loss_ratio', 100, '%')} under RED. With 8 flows and thresholds of 30 and 60 "
        f"CHOKe uses {number(100 * interval_of(runs, few[1].id, 'utilisation').mean)} % of the link and loses "
        f"{number(100 * interval_of(runs, few[1].id, 'loss_ratio').mean)} %, RED "
        f"{number(100 * interval_of(runs, few[0].id, 'utilisation').mean)} % and "
        f"{number(100 * interval_of(runs, few[0].id, 'loss_ratio').mean)} %.",
        alt="Loss, average queue and utilisation over the number of TCP flows, under RED and CHOKe without UDP.",
        drawing=charts.over_count(
            (("loss_ratio", "packets lost (%)", 100.0), ("average_mean", "average queue (packets)", 1.0),
             ("utilisation", "link used (%)", 100.0)),
            list(zip(_LINES, tables, strict=True)), "TCP flows",
        ),
        data=pl.concat(tables),
    )  # fmt: skip


def _in_step(settings: Settings, results: Tables, runs: pl.DataFrame) -> FigurePart:
    series = results["flow_series"].filter(
        (pl.col("seed") == settings.seeds[0]) & pl.col("cwnd_segments").is_not_null()
    )
    sums = fold(
        series.filter(pl.col("experiment").is_in([case.id for case in TOGETHER])), (*RUN, "time_s"),
        windows_segments=("cwnd_segments", math.fsum),
    )  # fmt: skip

    def line(style: plot.Style, case: Case) -> tuple[plot.Style, Sequence[float], Sequence[float]]:
        one = sums.filter(pl.col("experiment") == case.id)
        return style, one["time_s"].to_list(), one["windows_segments"].to_list()

    panels = [
        (
            f"thresholds {'30 and 60' if index == 0 else '100 and 200'}",
            [line(_DROP_TAIL, TOGETHER[0]),
             line(plot.Style("RED", plot.VERMILION, "--"), TOGETHER[1 + index]),
             line(plot.Style("CHOKe", plot.BLUE), TOGETHER[3 + index])],
        )
        for index in (0, 1)
    ]  # fmt: skip
    ratios = {
        name: means_of(cases, runs, "window_ratio", 1, "").replace(" with", "with").replace("  ", " ")
        for name, cases in (
            ("Drop Tail", TOGETHER[:1]), ("RED", TOGETHER[1:3]), ("CHOKe", TOGETHER[3:5]), ("UDP", TOGETHER[5:]),
        )
    }  # fmt: skip
    return FigurePart(
        id="in-step",
        label="Synchronisation",
        title="Do the flows move in step?",
        setup="32 TCP transfers without UDP that all start at once, as in the example of Section 3. Drawn: the sum of "
        f"their windows in the run with seed {settings.seeds[0]}. Measured: the variance of that sum over time, "
        "divided by the sum of the variances of the single windows, after the first quarter of the run. It is 1 for "
        "windows that are independent and 32 for windows in step.",
        paper_says="As RED, CHOKe drops at random and so avoids global synchronisation, where many flows reduce their "
        "windows at the same time.",
        measured=f"Drop Tail: {ratios['Drop Tail']}. RED: {ratios['RED']}. CHOKe: {ratios['CHOKe']}; beside UDP at "
        f"2 Mbit/s: {ratios['UDP']}.",
        alt="Sum of the 32 congestion windows over time under Drop Tail, RED and CHOKe.",
        drawing=charts.traces(panels, "sum of 32 windows (segments)"),
        data=sums,
    )


def _bursts(runs: pl.DataFrame) -> FigurePart:
    columns = ("smooth_loss", "burst_loss", "burst_match")
    names = pl.DataFrame(
        [(case.id, title_of(case) + (f", {case.variant}" if case.variant else "") if case.thresholds or case.variant
          else "Drop Tail, room for 300") for case in BURSTS],
        schema={"experiment": pl.String, "row": pl.String}, orient="row",
    )  # fmt: skip
    means = summarise(runs.join(names, on="experiment", how="semi"), ("experiment",), columns)
    data = names.join(means, on="experiment", maintain_order="left")
    points = [100 * (burst - smooth) for burst, smooth in zip(data["burst_loss_mean"], data["smooth_loss_mean"],
                                                              strict=True)]  # fmt: skip
    texts = [f"{name} {value:+.1f}" for name, value in zip(data["row"].to_list(), points, strict=True)]
    rate = BURST_PACKETS * 8 / BURST_GAP_S
    return FigurePart(
        id="bursts",
        label="Bursts",
        title="Does a burst lose more?",
        setup=f"32 TCP transfers without UDP, with two flows of {rate:g} kbit/s each, about half an equal share: one "
        f"sends {BURST_PACKETS} packets at once every {BURST_GAP_S} s, the other spreads them out. Drop Tail has room "
        "for as many packets as RED and CHOKe have at most on average (60 and 200), and with the buffer of the other "
        "figures (300). Means over seeds with 95 % intervals.",
        paper_says="CHOKe keeps RED's advantages, such as no bias against bursty traffic: with a small average queue "
        "a burst is admitted without drops.",
        measured=f"Percentage points that the bursts lose more than the smooth flow: {'; '.join(texts)}. CHOKe is less "
        "biased than a Drop Tail queue that is as long, but not free of bias as RED is.",
        alt="Loss of a flow of bursts and of a smooth flow under Drop Tail, RED and CHOKe.",
        drawing=charts.in_rows(
            data,
            (("smooth_loss", plot.Style("smooth flow", plot.GREEN, "-", "o")),
             ("burst_loss", plot.Style("bursts", plot.VERMILION, "-", "s")),
             ("burst_match", plot.Style("bursts, by meeting their own flow", plot.BLUE, "-", "D"))),
            "packets lost (%)",
        ),
        data=data,
    )  # fmt: skip
