"""Figures 12 to 15 of RED 1993. `red1993_bursty` runs what they show and defines the measures."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure

from ..plot import style as plot
from ..quantities import significant as number
from ..report import FigurePart
from ..stats import interval
from . import Settings
from .points import summarise
from .red1993_bursty import (
    BUFFERS,
    CASES,
    DECBIT,
    DROP_TAIL,
    LEAST_DROPS,
    MIN_THS,
    RANDOM_DROP,
    RED,
    SELECTIVE,
    Case,
    excesses,
    most_drops,
    possible_shares,
)
from .red1993_bursty_checks import OF_FIGURE

_PANELS = (
    ("share", "node 5's throughput\n(% of the total)", 1.0),
    ("queue_packets", "average queue\n(packets)", 1.0),
    ("utilisation", "link used (%)", 100.0),
)
"""Column, label of the axis, factor."""

_STYLES = {
    DROP_TAIL.id: plot.Style("Drop Tail", plot.GREEN, "-", "s"),
    RANDOM_DROP.id: plot.Style("Random Drop", plot.PURPLE, "-", "^"),
    RED.id: plot.Style("RED", plot.VERMILION, "-", "o"),
    DECBIT.id: plot.Style("DECbit: set bits", plot.BLUE, "-", "D"),
}
_SETUP = (
    "The network of Fig. 11: four FTP connections with windows of 12 packets and round trips of 6 ms, and node 5 with "
    "a window of 8 and 36 ms. "
)
_QUEUE = "The queue is what arriving packets find, without the one in transmission."


def figures(settings: Settings, rows: pl.DataFrame) -> tuple[FigurePart, ...]:
    """Figs. 12 to 15 of `red1993_bursty.periods`."""
    return (
        _panels(
            "fig12", DROP_TAIL, settings, rows, "buffer (packets)", "Drop Tail",
            "Node 5's packets arrive in loose clusters. The queue is more likely to overflow when some of them are in "
            "it, so that they are dropped out of proportion.",
        ),
        _panels(
            "fig13", RANDOM_DROP, settings, rows, "buffer (packets)", "Random Drop",
            "As with Drop Tail: what is in the queue when it overflows is not what is in it on average.",
        ),
        _panels(
            "fig14", RED, settings, rows, "min_th (packets)", "RED",
            "Node 5's throughput is close to the maximum possible, given its round trip and window.",
        ),
        _scatter(settings, rows),
    )  # fmt: skip


def _panels(
    id_: str, case: Case, settings: Settings, rows: pl.DataFrame, xlabel: str, title: str, said: str
) -> FigurePart:
    own = rows.filter(pl.col("case") == case.id)
    columns = [column for column, *_ in _PANELS]
    points = possible_shares(rows, case)
    lines = summarise(points, ("value",), [*columns, "possible"]).sort("value")
    dots = own.filter(pl.col("seed") == settings.seeds[0]).select("value", "time_s", *columns)
    first, last = lines.row(0, named=True), lines.row(-1, named=True)
    low, high = (f"{xlabel.split(' ')[0]} {values[0]} to {values[-1]}" for values in (case.over, case.over))
    assert low == high
    extra = (
        "w_q = 0.002, max_p = 1/50, max_th is twice min_th and the buffer four times min_th; "
        if case is RED
        else "each packet takes a random time up to 0.17 ms to prepare; "
        if case is DROP_TAIL
        else ""
    )
    return FigurePart(
        id=id_,
        label=f"Fig. {id_[3:]}",
        title=f"Bursty traffic under {title}",
        setup=f"{_SETUP}{low} packets; {extra}{settings.duration_s} seconds each. Each dot is one second of the run "
        f"with seed {settings.seeds[0]}; the line is the mean over seeds with 95 % intervals. {_QUEUE}",
        paper_says=said,
        measured=f"From {xlabel.split(' ')[0]} {first['value']} to {last['value']} node 5's share of the throughput "
        f"goes from {number(first['share_mean'])} % to {number(last['share_mean'])} %; the most that its window "
        f"allows is {number(first['possible_mean'])} % and {number(last['possible_mean'])} %. The average queue goes "
        f"from {number(first['queue_packets_mean'])} to {number(last['queue_packets_mean'])} packets, the link is used "
        f"to {number(100 * first['utilisation_mean'])} % and {number(100 * last['utilisation_mean'])} %.",
        alt=f"Node 5's share of the throughput, average queue and utilisation over {xlabel} under {title}.",
        drawing=_draw_panels(case, dots, lines, xlabel),
        data=pl.concat([lines.with_columns(what=pl.lit("mean")), dots.with_columns(what=pl.lit("second"))],
                       how="diagonal"),
        checks=OF_FIGURE[id_],
    )  # fmt: skip


@plot.drawing
def _draw_panels(case: Case, dots: pl.DataFrame, lines: pl.DataFrame, xlabel: str) -> Figure:
    figure, rows = plot.panels(3, 1, width=7.2, height=2.5)
    style = _STYLES[case.id]
    for (axes,), (column, label, factor) in zip(rows, _PANELS, strict=True):
        axes.plot(dots["value"], factor * dots[column], ".", color=style.color, alpha=0.6, markersize=5,
                  label="one second, one run")  # fmt: skip
        half = factor * lines[f"{column}_half_width"].cast(pl.Float64).fill_null(float("nan"))
        mean_style = plot.Style("mean over seeds", plot.BLACK, "-", style.marker)
        plot.mean_line(axes, lines["value"], factor * lines[f"{column}_mean"], half, mean_style)
        if column == "share":
            axes.plot(lines["value"], lines["possible_mean"], ":", color=plot.GREY,
                      label="most that node 5's window allows")  # fmt: skip
        axes.set_ylabel(label)
    rows[0][0].set_ylim(0, 6)
    rows[1][0].set_ylim(0, 16)
    rows[2][0].set_ylim(80, 101)
    rows[2][0].set_xlabel(xlabel)
    rows[2][0].set_xticks(list(BUFFERS if case is not RED else MIN_THS))
    plot.legend(figure, [axes for row in rows for axes in row])
    return figure


def _scatter(settings: Settings, rows: pl.DataFrame) -> FigurePart:
    first = rows.filter((pl.col("seed") == settings.seeds[0]) & pl.col("case").is_in(list(_STYLES)))
    dots = first.drop_nulls("notice_share").select("case", "value", "time_s", "share", "notice_share", "notices")
    shares = {
        case.id: number(interval(values).mean) if (values := excesses(rows, case)) else "–" for case in CASES
    }  # fmt: skip
    most = interval(most_drops(rows))
    return FigurePart(
        id="fig15",
        label="Fig. 15",
        title="Who is notified of congestion?",
        setup=f"The seconds of Figs. 12 to 14 and of DECbit's hosts and gateway on the same network, seed "
        f"{settings.seeds[0]}. Left out are seconds with fewer than {LEAST_DROPS} dropped packets. For DECbit, which "
        "drops none, the packets whose bit is set are counted.",
        paper_says="RED's dots are roughly centred on the dashed line, where node 5's share of the drops is its share "
        "of the throughput. Under Drop Tail and Random Drop node 5 has a small part of the throughput and a large part "
        "of the drops. Up to 61 packets are dropped in one second. DECbit is biased against bursty traffic too "
        "(without a figure).",
        measured=f"Mean share of the drops less share of the throughput, percentage points: RED {shares[RED.id]}, Drop "
        f"Tail {shares[DROP_TAIL.id]}, Random Drop {shares[RANDOM_DROP.id]}; of the set bits under DECbit "
        f"{shares[DECBIT.id]}, with selective feedback {shares[SELECTIVE.id]}. The most drops in one second are "
        f"{number(most.mean)}, mean over seeds.",
        alt="Node 5's share of the drops over its share of the throughput, a mark for each second, with the diagonal.",
        drawing=_draw_scatter(dots),
        data=dots,
        checks=OF_FIGURE["fig15"],
    )


@plot.drawing
def _draw_scatter(dots: pl.DataFrame) -> Figure:
    figure, ((whole, near),) = plot.panels(1, 2, height=4.2, share_y=False)
    for axes in (whole, near):
        for id_, style in _STYLES.items():
            part = dots.filter(pl.col("case") == id_)
            axes.plot(part["share"], part["notice_share"], style.marker, color=style.color, label=style.label,
                      markersize=4.5, alpha=0.75, markerfacecolor="none" if style.marker != "o" else style.color,
                      linestyle="none")  # fmt: skip
        axes.plot([0, 100], [0, 100], "--", color=plot.BLACK, linewidth=1.2, label="equal shares")
        axes.set_xlim(-0.1, 5)
        axes.set_xlabel("node 5's throughput (% of the total)")
    whole.set_title("all")
    whole.set_ylabel("node 5's drops or set bits (% of all)")
    whole.set_ylim(-1.5, max(50.0, 1.05 * _most(dots)))
    near.set_title("near the line")
    near.set_ylim(-0.4, 12)
    plot.legend(figure, [whole])
    return figure


def _most(dots: pl.DataFrame) -> float:
    values = dots["notice_share"].to_list()
    return float(max(values)) if values else 0.0
