"""What the paper says without a figure: no synchronisation, byte mode, misbehaving users."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...plot import style as plot
from ...plot.style import Style
from ...reproduce import (
    FLOWS,
    Axis,
    Check,
    Drawing,
    Measure,
    Rows,
    Runs,
    Settings,
    Study,
    Variant,
    above,
    claim,
    each_run,
    figure,
    not_unlike,
    number,
    percent,
    printed,
    reference,
    within,
)
from ...reproduce.charts import Dots, Lines, Panel, halves
from .network import LINK_BPS, MEASURES, UNTRACED, MinTh, of_group, prepared

FIG_4 = "red1993_fig3"
"""The scenario with the network of Fig. 4."""

# Synchronisation --------------------------------------------------------------------------------------------------
#
# The mean, over all pairs of flows, of the correlation between "the flow cut its window in this interval" and the same
# of the other, in intervals of 40 ms: twice the longest round trip of Fig. 4's network, so that losses of one moment
# are noticed within one interval. 0 where flows cut their windows independently of each other, 1 where all do so
# together. Cuts are fast retransmits and timeouts; the first 2 s are left out.

TOGETHER_S, LEFT_OUT_S = 0.04, 2.0
PAIRS = ((3, 17), (5, 22), (10, 30), (20, 42))
"""min_th of RED (max_th is three times as much) and the buffer with which Drop Tail keeps about the same queue."""


def cuts(series: pl.DataFrame) -> NDArray[np.bool_]:
    """Whether each flow (a row) cut its window in each interval (a column) after `LEFT_OUT_S`."""
    late = series.filter(pl.col("time_s") > LEFT_OUT_S + 1e-9)
    flows = [part["window_cuts"].to_numpy() for part in late.partition_by("flow", maintain_order=True)]
    return np.array(flows) > 0


def correlation(events: NDArray[np.bool_]) -> float:
    """The mean correlation of all pairs of rows (flows) over columns (intervals); NaN if fewer than two rows vary."""
    varying = [row for row in events if row.any() and not row.all()]
    if len(varying) < 2:
        return math.nan
    return float(np.corrcoef(varying)[np.triu_indices(len(varying), 1)].mean())


def most_at_once(events: NDArray[np.bool_]) -> float:
    """Of the intervals in which any flow cut its window, those in which at least three did."""
    at_once = events.sum(axis=0)
    return float((at_once >= 3).sum() / any_cut) if (any_cut := (at_once >= 1).sum()) else math.nan


WINDOW_CUTS = {"flow_series": ("time_s", "flow", "window_cuts")}
TOGETHER: dict[str, Measure] = {
    "correlation": each_run(lambda series: correlation(cuts(series)), **WINDOW_CUTS),
    "most": percent(each_run(lambda series: most_at_once(cuts(series)), **WINDOW_CUTS)),
    "queue": MEASURES["queue_found"],
}


def all_along(settings: Settings) -> Settings:
    """Twice the length, and what is left out."""
    return replace(settings, duration_s=2 * settings.duration_s + LEFT_OUT_S, warmup_s=0, sample_s=TOGETHER_S)


AT_ONCE = tuple((f"flows.{group}.start", "0 s") for group in range(4))
red = Study(FIG_4, settings=all_along, measure=TOGETHER, sets=(*AT_ONCE, *UNTRACED), keys={"min_th": MinTh()},
            min_th=[min_th for min_th, _ in PAIRS])  # fmt: skip
tail = Study(FIG_4, settings=all_along, measure=TOGETHER, keys={"buffer": Axis("queue.limit", "", "buffer (packets)")},
             sets=(*AT_ONCE, *UNTRACED, ("queue.discipline", "drop_tail"), *prepared(range(4), "0.17 ms")),
             buffer=[buffer for _, buffer in PAIRS])  # fmt: skip


@plot.drawing
def over_queue(red: Runs, tail: Runs, **_: object) -> Drawing:
    """Correlation of window cuts over the average queue, under RED and Drop Tail."""
    kinds = ((tail, Style("Drop Tail", plot.GREEN, "--", "s")), (red, Style("RED", plot.VERMILION, "-", "o")))
    tables = [(runs.frame().sort("queue_mean"), style) for runs, style in kinds]
    figure, (row,) = plot.panels(1, 2, height=3.6, share_y=False)
    labels = {"correlation": "mean correlation of window cuts", "most": "cuts by at least 3 of 4 (% of intervals)"}
    for axes, (name, label) in zip(row, labels.items(), strict=True):
        for table, style in tables:
            plot.mean_line(axes, table["queue_mean"], table[f"{name}_mean"], halves(table, name), style)
        axes.set_xlim(0, None)
        axes.set_ylim(0, None)
        axes.set_xlabel("average queue found by arrivals (packets)")
        axes.set_ylabel(label)
    plot.legend(figure, row[:1])
    data = pl.concat([table.with_columns(gateway=pl.lit(style.label)) for table, style in tables], how="diagonal")
    return Drawing(figure, data)


@figure("together", "Do connections cut their windows at the same time?", label="Synchronisation",
        source="Secs. I, III, V and VIII", chart=over_queue, red=red, tail=tail)  # fmt: skip
def together(red: Runs, tail: Runs) -> Iterator[Check]:
    """The network of Fig. 4, its four transfers all from the start on, under RED with min_th of 3, 5, 10 and 20 (max_th
    three times as much) and Drop Tail with buffers of 17, 22, 30 and 42, which keep about the same average queues.
    Left: the mean correlation, over pairs of flows, of window cuts in intervals of 40 ms. Right: of the intervals in
    which any flow cut its window, those in which at least three of the four did. Means over seeds with 95 % intervals.
    RED's is above 0: a transfer in slow start takes the average to max_th now and then, where every arrival is dropped,
    whosever it is; larger thresholds make this rarer."""
    for min_th, buffer in PAIRS:
        of_red, of_tail = red.at(min_th=min_th), tail.at(buffer=buffer)
        less = (of_tail["correlation"] - of_red["correlation"]).as_(
            f"correlation of window cuts under Drop Tail with a buffer of {buffer} (average queue "
            f"{of_tail['queue'].mean:.1f} packets) less RED's ({of_red['queue'].mean:.1f})", where=f"min_th = {min_th}",
        )  # fmt: skip
        yield claim("RED avoids the global synchronisation of Drop Tail, where many connections reduce their windows "
                    "at the same time", less, above(0), id="cuts")  # fmt: skip


# Byte mode --------------------------------------------------------------------------------------------------------

BYTES = (
    ("queue.red.mode", "byte"), ("queue.min_th", "10000 B"), ("queue.max_th", "60000 B"), ("queue.limit", "131000 B"),
)  # fmt: skip
PACKET = Variant("packet mode", (("queue.min_th", "10"), ("queue.max_th", "60"), ("queue.limit", "1000")))
BYTE = Variant("byte mode", BYTES)
BYTE_METHOD_1 = Variant("byte mode, Method 1", (*BYTES, ("queue.red.method", "1")))

TELNET_FLOWS = '[[flows]]\nkind = "telnet"\nprofile = "red1993"\ncount = 60\ninterval = "25 ms"\nspread = "0.1 s"\n'
# Packets of both lengths at a load of 1.02, from sources whose rate no drop changes.
POISSON_FLOWS = "".join(
    f'[[flows]]\nkind = "poisson"\ncount = {count}\nrate = "{rate} bit/s"\npacket_size = "{size} B"\nspread = "0 s"\n'
    for count, rate, size in ((4, 11_280_000, 1000), (60, 13_120, 41))
)


def with_telnet(text: str, *_: object) -> str:
    """The scenario with TELNET sessions beside its transfers."""
    return text.replace("[run]\n", TELNET_FLOWS + "[run]\n")


def of_poisson_sources(text: str, *_: object) -> str:
    """The scenario with unresponsive sources of long and of short packets instead of its transfers."""
    return text.split("[[flows]]", 1)[0] + POISSON_FLOWS + text[text.index("[run]") :]


def early(rows: Rows) -> Measure:
    """Early drops per arrival."""
    return rows.sum("drops_early") / rows.sum("arrivals_packets")


def length(rows: Rows) -> Measure:
    """The mean length of a packet, over an interval that is the same for all."""
    return rows.sum("offered_bps") / rows.sum("sent_packets")


FTP, TELNET, LONG, SHORT = (
    FLOWS.where(kind="tcp"),
    FLOWS.where(kind="telnet"),
    FLOWS.where(group=0),
    FLOWS.where(group=1),
)
modes = Study(
    FIG_4, edit=with_telnet, sets=UNTRACED, mode=[PACKET, BYTE, BYTE_METHOD_1],
    measure={
        "ftp": percent(early(FTP), "FTP's packets dropped early"),
        "telnet": percent(early(TELNET), "TELNET's packets dropped early"),
        "ratio": (early(TELNET) / early(FTP)).as_("early drops per arrival: TELNET's over FTP's"),
        "lengths": length(TELNET) / length(FTP),
    },
)  # fmt: skip
unresponsive = Study(
    FIG_4, edit=of_poisson_sources, sets=(*UNTRACED, *PACKET.sets),
    measure={"ratio": (early(SHORT) / early(LONG)).as_("early drops per arrival: packets of 41 bytes over 1000 bytes")},
)  # fmt: skip


drops = Dots({"ftp": ("FTP's packets dropped early (%)", None), "telnet": ("TELNET's packets dropped early (%)", None)},
             shade=False)  # fmt: skip


@figure("bytes", "Is a large packet marked more often than a small one?", label="Byte mode", source="Sec. IV",
        chart=drops, modes=modes, unresponsive=unresponsive)  # fmt: skip
def byte_mode(modes: Runs, unresponsive: Runs) -> Iterator[Check]:
    """The network of Fig. 4 with four FTP connections (packets of 1000 bytes) and 60 TELNET sessions (mostly 41 bytes),
    RED with thresholds of 10 and 60 packets, in byte mode of 10,000 and 60,000 bytes; in byte mode also with Method 1,
    which does not count. Means over seeds with 95 % intervals."""
    packet, byte, method_1 = modes.each("mode")
    more = byte["ftp"] - byte["telnet"]
    more = more.as_("FTP's packets dropped early, less TELNET's", "percentage points", where="")
    yield claim("in byte mode a large FTP packet is more likely to be marked than a small TELNET packet", more,
                above(0), id="large-more-often")  # fmt: skip
    lengths = not_unlike(byte["lengths"].mean)
    proportional = "the probability that a packet is marked is proportional to its size in bytes"
    plain = reference(f"{proportional}: with Method 1 of Sec. VII, without count", method_1["ratio"], lengths,
                      id="in-proportion", tested="the ratio of the chances is that of the mean lengths")  # fmt: skip
    yield claim(
        proportional, byte["ratio"], lengths, tested="the ratio of the chances is that of the mean lengths",
        id="in-proportion", evidence=plain,
        because="The formulas of Sec. IV make p_b proportional to the size, but not p_a = p_b/(1 − count·p_b): "
        "counting nearly doubles a large packet's chance on average and hardly raises a small one's. With Method 1, "
        "where p_b alone decides, the chances are in proportion.",
    )  # fmt: skip
    yield plain
    alike, source = (
        "measured in packets, short packets are just as likely to be dropped as longer ones",
        "Sec. VIII, on Fig. 9",
    )
    deaf = claim(f"{alike}: Poisson sources of both lengths", unresponsive["ratio"], not_unlike(1), source=source,
                 id="alike-unresponsive")  # fmt: skip
    yield claim(
        alike, packet["ratio"], not_unlike(1), source=source, id="alike", evidence=deaf,
        because="FTP responds: after drops it sends less while the average is still high, so that its packets meet a "
        "slightly lower probability than TELNET's. Unresponsive flows lose packets of both lengths alike.",
    )  # fmt: skip
    yield deaf


# Misbehaving users ------------------------------------------------------------------------------------------------

USERS, BUFFER, RTT_S = 5, 60, 0.020
WINDOWS = (8, 12, 16, 24, 32, 48)
"""Fixed windows of the misbehaving users, packets, on both sides of an equal share of line and buffer."""

OWN_WINDOW = 100
"""The largest window of the others: more than congestion control lets them have."""

EQUAL_WINDOW = (LINK_BPS * RTT_S / 8000 + BUFFER) / (2 * USERS)
"""Packets: 112.5 on the line and 60 in the buffer, for ten users. Who always has more under way takes more."""

MISBEHAVING = f"""
[network]
rate = "{LINK_BPS} bit/s"
delay = "2 ms"
access_rate = "100 Mbit/s"
[queue]
discipline = "drop_tail"
limit = {BUFFER}
[[flows]]
kind = "tcp"
profile = "red1993"
count = {USERS}
window = {OWN_WINDOW}
rtt = "{1000 * RTT_S:g} ms"
[[flows]]
kind = "tcp"
profile = "red1993"
algorithm = "fixed"
count = {USERS}
window = {WINDOWS[0]}
rtt = "{1000 * RTT_S:g} ms"
"""

RANDOM_DROP = Variant("Random Drop", (("queue.discipline", "random_drop"),))
EARLY_RANDOM_DROP = Variant("Early Random Drop", (("queue.discipline", "early_random_drop"),))
users = Study(
    MISBEHAVING, keys={"window": Axis("flows.1.window", "", "fixed window of the misbehaving users (packets)")},
    gateway=[RANDOM_DROP, EARLY_RANDOM_DROP], window=WINDOWS,
    measure={"gain": percent(of_group(1) / of_group(0) - 1, "misbehaving users' extra throughput")},
)  # fmt: skip


gain = Lines("window", [Panel(["gain"], "throughput above the others' (%)", (None, None), {"Zhang, as printed": 75})],
             panel="gateway", height=3.4, styles={"gain": Style("misbehaving users", plot.PURPLE)})  # fmt: skip


@figure("users", "Do Random Drop and Early Random Drop control them?", label="Misbehaving users",
        source="Sec. II-A, after Zhang 1989", chart=gain, users=users)  # fmt: skip
def misbehaving(users: Runs) -> Iterator[Check]:
    """5 users of 4.3-Tahoe, whose windows may be up to 100 packets, and 5 without congestion control, who always use a
    fixed window, on a link of 45 Mbit/s with round trips of 20 ms and a buffer of 60 packets. Early Random Drop is
    Zhang's: it drops with probability 0.02 when the buffer is more than half full. Neither Zhang's network nor what her
    users did is in the paper, and her thesis was not at hand. Means over seeds with 95 % intervals."""
    for at in users.each("gateway"):
        gains = at.over("window", "gain")
        greedy = gains.from_(EQUAL_WINDOW)
        more = greedy.mean().as_("misbehaving users' extra throughput, mean over windows above an equal share of line "
                                 f"and buffer, {EQUAL_WINDOW:.0f} packets")  # fmt: skip
        yield claim("users with a fixed window are not controlled: they get more than users of 4.3-Tahoe", more,
                    above(0), id="more")  # fmt: skip
        roughly = "misbehaving users have roughly 75 % higher throughput"
        means = [each.mean for each in gains]
        told = ", ".join(f"{x}: {gain:.0f} %" for x, gain in zip(gains.x, means, strict=True))
        outside = number(
            missed(means, 75),
            "percentage points",
            "distance of 75 % from the nearest gain between two neighbouring windows",
        )
        lies_between = reference(
            f"{roughly}: that lies between the gains of two neighbouring windows", outside.as_(where=more.where),
            within(None, 0.0, "between, ends included"), id="75-between",
        )  # fmt: skip
        yield reference(
            roughly, greedy.quantities[0], printed(75, 10), id="75", evidence=lies_between,
            because="The paper does not say what her users did; here they use the first window above an equal share. "
            f"The gain depends on the window: {told}. A window between these gives the printed gain.",
        )  # fmt: skip
        yield lies_between


def missed(gains: Sequence[float], wanted: float) -> float:
    """How far `wanted` lies from the nearest gain between those of two neighbouring windows; 0 if it is between two.
    `gains`: in the order of the windows."""
    pairs = [sorted(pair) for pair in pairwise(gains)]
    return min(max(low - wanted, wanted - high, 0.0) for low, high in pairs)
