"""Fig. 16 of RED 1993, and drawings of what the text claims without one. `red1993_claims` defines the measures."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from ..experiments.engine import Tables
from ..plot import style as plot
from ..quantities import significant as number
from ..report import FigurePart
from ..stats import interval
from ..theory import red as theory
from . import Settings
from .points import mean
from .red1993_claims import (
    GATEWAYS,
    MARKS,
    MULTIPLES,
    OWN_WINDOW,
    PAIRS,
    SHARES,
    TOGETHER_S,
    USERS,
    WINDOWS,
    binomial,
    byte_mode,
    frequency,
    misbehaving,
    together,
    windows_of_drops,
)
from .red1993_claims_checks import OF_FIGURE, TESTED, gains_text, values

_RED = plot.Style("RED", plot.VERMILION, "-", "o")
_DROP_TAIL = plot.Style("Drop Tail", plot.GREEN, "--", "s")
_USERS = {
    "random_drop": plot.Style("Random Drop", plot.PURPLE, "-", "^"),
    "early_random_drop": plot.Style("Early Random Drop", plot.BLUE, "--", "D"),
}


def figures(settings: Settings, results: Tables) -> tuple[FigurePart, ...]:
    """Synchronisation, byte mode, misbehaving users, Fig. 16."""
    return (
        _together(together(results)),
        _bytes(byte_mode(results)),
        _users(misbehaving(results)),
        _luck(windows_of_drops(results)),
    )


def _together(table: pl.DataFrame) -> FigurePart:
    rows = []
    for min_th, buffer in PAIRS:
        for name, experiment, size in (
            ("RED", f"together red {min_th}", min_th), ("Drop Tail", f"together drop_tail {buffer}", buffer),
        ):  # fmt: skip
            of = {column: interval(values(table, experiment, column)) for column in
                  ("queue_packets", "correlation", "most_share")}  # fmt: skip
            rows.append((name, size, of["queue_packets"].mean, *(part for column in ("correlation", "most_share")
                         for part in (of[column].mean, of[column].half_width))))  # fmt: skip
    columns = ("gateway", "size", "queue", "correlation", "correlation_half", "most", "most_half")
    data = pl.DataFrame(rows, schema=columns, orient="row")
    five, other = (data.row(index, named=True) for index in (2, 3))
    return FigurePart(
        id="together",
        label="Synchronisation",
        title="Do connections cut their windows at the same time?",
        setup="The network of Fig. 4, its four transfers all from the start on, under RED with min_th of "
        f"{', '.join(str(min_th) for min_th, _ in PAIRS)} (max_th three times as much) and Drop Tail with buffers of "
        f"{', '.join(str(buffer) for _, buffer in PAIRS)}, which keep about the same average queues. Left: the mean "
        f"correlation, over pairs of flows, of window cuts in intervals of {1000 * TOGETHER_S:.0f} ms. Right: of the "
        "intervals in which any flow cut its window, those in which at least three of the four did. Means over seeds "
        "with 95 % intervals.",
        paper_says="RED avoids the global synchronisation that results from many connections reducing their windows at "
        "the same time, which Drop Tail brings about.",
        measured=f"At min_th = {five['size']} the correlation is {number(five['correlation'])}; with a buffer of "
        f"{other['size']} it is {number(other['correlation'])} under Drop Tail. At least three of four cut their "
        f"windows in {number(100 * five['most'])} % of the intervals with a cut under RED, "
        f"{number(100 * other['most'])} % under Drop Tail. RED's is above 0: a transfer in slow start takes the "
        "average to max_th now and then, where every arrival is dropped, whosever it is; larger thresholds make this "
        "rarer.",
        alt="Correlation of window cuts over the average queue, under RED and Drop Tail.",
        drawing=_draw_together(data),
        data=data,
        checks=OF_FIGURE["together"],
    )


@plot.drawing
def _draw_together(data: pl.DataFrame) -> Figure:
    figure, ((left, right),) = plot.panels(1, 2, height=3.6, share_y=False)
    for axes, column, factor, label in (
        (left, "correlation", 1.0, "mean correlation of window cuts"),
        (right, "most", 100.0, "cuts by at least 3 of 4 (% of intervals)"),
    ):
        for style in (_DROP_TAIL, _RED):
            part = data.filter(pl.col("gateway") == style.label).sort("queue")
            plot.mean_line(axes, part["queue"], factor * part[column], factor * part[f"{column}_half"], style)
        axes.set_xlim(0, None)
        axes.set_ylim(0, None)
        axes.set_xlabel("average queue found by arrivals (packets)")
        axes.set_ylabel(label)
    plot.legend(figure, [left])
    return figure


def _bytes(table: pl.DataFrame) -> FigurePart:
    rows = []
    for mode in ("packet", "byte"):
        for kind, column in (("FTP", "ftp_loss"), ("TELNET", "telnet_loss")):
            spread = interval(values(table, f"bytes {mode}", column))
            rows.append((f"{mode} mode", kind, spread.mean, spread.half_width))
    data = pl.DataFrame(rows, schema=("mode", "kind", "loss", "loss_half"), orient="row")
    ratio, length = (interval(values(table, "bytes byte", column)) for column in ("ratio", "length_ratio"))
    plain = interval(values(table, "bytes byte, method 1", "ratio"))
    text = {(mode, kind): number(loss) for mode, kind, loss, _ in rows}
    return FigurePart(
        id="bytes",
        label="Byte mode",
        title="Is a large packet marked more often than a small one?",
        setup="The network of Fig. 4 with four FTP connections (packets of 1000 bytes) and 60 TELNET sessions (mostly "
        "41 bytes), RED with thresholds of 10 and 60 packets, in byte mode of 10,000 and 60,000 bytes. Means over "
        "seeds with 95 % intervals.",
        paper_says="Measured in bytes, the probability that a packet is marked is proportional to its size: a large "
        "FTP packet is more likely to be marked than a small TELNET packet.",
        measured=f"In byte mode FTP loses {text['byte mode', 'FTP']} % of its packets early, TELNET "
        f"{text['byte mode', 'TELNET']} %: a ratio of {number(ratio.mean)} with lengths in a ratio of "
        f"{number(length.mean)}, and of {number(plain.mean)} with Method 1, which does not count. In packet mode they "
        f"lose {text['packet mode', 'FTP']} % and {text['packet mode', 'TELNET']} %.",
        alt="Early drops per arrival of FTP and TELNET packets in packet mode and in byte mode.",
        drawing=_draw_bytes(data),
        data=data,
        checks=OF_FIGURE["bytes"],
    )


@plot.drawing
def _draw_bytes(data: pl.DataFrame) -> Figure:
    figure, ((axes,),) = plot.panels(1, 1, width=5.6, height=3.2)
    modes = data["mode"].unique(maintain_order=True).to_list()
    for offset, style in (
        (-0.12, plot.Style("FTP", plot.BLUE, "", "s")),
        (0.12, plot.Style("TELNET", plot.ORANGE, "", "o")),
    ):
        part = data.filter(pl.col("kind") == style.label)
        axes.errorbar(np.arange(len(modes)) + offset, part["loss"], yerr=part["loss_half"], fmt=style.marker,
                      color=style.color, elinewidth=1.2, capsize=3, label=style.label)  # fmt: skip
    axes.set_xticks(range(len(modes)), modes)
    axes.set_xlim(-0.5, len(modes) - 0.5)
    axes.set_ylim(0, None)
    axes.set_ylabel("packets dropped early (%)")
    plot.legend(figure, [axes])
    return figure


def _users(table: pl.DataFrame) -> FigurePart:
    rows = []
    for gateway in GATEWAYS:
        for window in WINDOWS:
            part = table.filter((pl.col("gateway") == gateway) & (pl.col("window") == window))
            spread = interval(part["gain"].to_list())
            rows.append((gateway, window, spread.mean, spread.half_width))
    data = pl.DataFrame(rows, schema=("gateway", "window", "gain", "gain_half"), orient="row")
    sizes = f"{', '.join(str(window) for window in WINDOWS[:-1])} and {WINDOWS[-1]}"
    return FigurePart(
        id="users",
        label="Misbehaving users",
        title="Do Random Drop and Early Random Drop control them?",
        setup=f"{USERS} users of 4.3-Tahoe, whose windows may be up to {OWN_WINDOW} packets, and {USERS} without "
        "congestion control, who always use a fixed window, on a link of 45 Mbit/s with round trips of 20 ms and a "
        "buffer of 60 packets. Early Random Drop as Zhang's: above half full, 0.02. Neither Zhang's network nor what "
        "her users did is in the paper, and her thesis was not at hand. Means over seeds with 95 % intervals.",
        paper_says="Zhang's simulations: with both Random Drop and Early Random Drop, misbehaving users received "
        "roughly 75 % higher throughput than users of standard 4.3BSD TCP.",
        measured=f"With fixed windows of {sizes} packets they have "
        + "; ".join(f"under {_USERS[gateway].label} {gains_text(table, gateway)}" for gateway in GATEWAYS)
        + " of the others' throughput more.",
        alt="Gain of misbehaving users over their fixed window, under both gateways.",
        drawing=_draw_users(data),
        data=data,
        checks=OF_FIGURE["users"],
    )


@plot.drawing
def _draw_users(data: pl.DataFrame) -> Figure:
    figure, ((axes,),) = plot.panels(1, 1, width=6.4, height=3.4)
    for gateway, style in _USERS.items():
        part = data.filter(pl.col("gateway") == gateway)
        plot.mean_line(axes, part["window"], part["gain"], part["gain_half"], style)
    plot.reference(axes, 75, "Zhang, as printed")
    axes.set_xticks(list(WINDOWS))
    axes.set_xlabel("fixed window of the misbehaving users (packets)")
    axes.set_ylabel("throughput above the others' (%)")
    plot.legend(figure, [axes])
    return figure


def _luck(windows: dict[int, np.ndarray]) -> FigurePart:
    from scipy.stats import binom

    curves = []
    for c in MULTIPLES:
        for p in np.arange(0.005, 1 / c + 1e-9, 0.005).tolist():
            exact = float(binom.sf(math.ceil(c * p * MARKS - 1e-9) - 1, MARKS, p))
            curves.append((c, p, theory.hoeffding(MARKS, p, c), theory.hoeffding(MARKS, p, c, tight=True), exact))
    lines = pl.DataFrame(curves, schema=("c", "p", "bound", "first_bound", "binomial"), orient="row")
    everything = np.concatenate(list(windows.values()))
    met = [
        (c, SHARES[flow], frequency(everything, flow, c), binomial(everything, flow, c)) for flow, c in TESTED
    ]  # fmt: skip
    dots = pl.DataFrame(met, schema=("c", "p", "frequency", "binomial_of_windows"), orient="row")
    texts = [
        f"C = {c}, p = {p:g}: {number(100 * found)} % (binomial {number(100 * chance)} %, bound "
        f"{number(100 * theory.hoeffding(MARKS, p, c))} %)"
        for c, p, found, chance in met
        if chance >= 0.001
    ]
    return FigurePart(
        id="fig16",
        label="Fig. 16",
        title="By luck more than its part of the marks?",
        setup=f"Lines: the bound exp(−2n(C − 1)²p²) for n = {MARKS}, and the binomial chance. Dots: five Poisson "
        f"sources with parts of {', '.join(f'{share:g}' for share in SHARES)} of the load at a RED gateway; "
        f"{len(everything)} windows of time with about {MARKS} drops (mean "
        f"{number(mean(everything.sum(axis=1).tolist()))}).",
        paper_says="The probability that a connection has more than C times the expected number of 100 marks is at "
        "most exp(−2n(C − 1)²p²).",
        measured="Found in " + "; ".join(texts) + ". The bound is far above the chance: the first bound of eq. (4), "
        "which `recent_chance` uses, is nearer.",
        alt="Upper bound and binomial chance of C times the expected number of marks, over the part of the bandwidth.",
        drawing=_draw_luck(lines, dots),
        data=pl.concat([lines, dots], how="diagonal"),
        checks=OF_FIGURE["fig16"],
    )


@plot.drawing
def _draw_luck(lines: pl.DataFrame, dots: pl.DataFrame) -> Figure:
    figure, (row,) = plot.panels(1, 2, height=3.8, share_y=False)
    for axes in row:
        for c, colour, marker in zip(MULTIPLES, (plot.BLUE, plot.VERMILION), ("o", "s"), strict=True):
            part = lines.filter(pl.col("c") == c)
            axes.plot(part["p"], part["bound"], "-", color=colour, label=f"bound of Fig. 16, C = {c}")
            axes.plot(part["p"], part["first_bound"], "--", color=colour, linewidth=1.2, label=f"first bound, C = {c}")
            axes.plot(part["p"], part["binomial"], ":", color=colour, linewidth=1.4, label=f"binomial, C = {c}")
            own = dots.filter((pl.col("c") == c) & (pl.col("frequency") > 0))
            if own.height:
                axes.plot(own["p"], own["frequency"], marker, color=colour, label=f"RED, simulated, C = {c}")
        axes.set_xlabel("part of the bandwidth p_i")
        axes.set_xlim(0, 0.3)
    row[0].set_ylabel("probability")
    row[0].set_ylim(0, 1)
    plot.log_axis(row[1], "y", [1, 0.1, 0.01, 0.001, 0.0001])
    row[1].set_ylim(1e-4, 1)
    plot.legend(figure, [row[0]], columns=4)
    return figure
