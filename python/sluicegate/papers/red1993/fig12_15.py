"""Sec. IX: is there a bias against bursty traffic? Figs. 12 to 15, on the network of Fig. 11.

Node 5 has a round trip six times as long as the others' and a small window, so that its packets reach the gateway in
clusters. Each second of a run is a point in the figures. The scenario `red1993_fig11` says where its delays come from.

Measures: node 5's *share of the throughput* is of the bytes that all receivers get in a second; its *share of the
drops* (under DECbit: of the packets whose bit is set) is of the packets dropped in that second, where there are at
least three. *Excess* is the latter share less the former, in percentage points, averaged over all seconds of all runs
with one seed. The *queue* is the mean of what arriving packets find, without the packet in transmission.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from ...experiments.engine import Tables
from ...plot import style as plot
from ...plot.style import Style
from ...reproduce import (
    Axis,
    Check,
    Drawing,
    Measure,
    Quantity,
    Rows,
    Runs,
    Settings,
    Study,
    Variant,
    above,
    below,
    between,
    claim,
    each_run,
    figure,
    packets,
    printed,
    reference,
    within,
)
from ...reproduce.charts import halves
from ...reproduce.claim import Bound
from .network import LINK_BPS, SERVICE_S, MinTh, prepared

SCENARIO = "red1993_fig11"
NODE_5 = 5
"""The flow of node 5."""

LEAST_DROPS = 3
"""Fig. 15 leaves out seconds with fewer dropped packets."""

WINDOW_5, RTT_5_S = 8, 0.036
"""Node 5's window in packets, and its round trip without any queue."""

ROUGHLY = 0.25
"""How far from the line dots may be centred and still be roughly on it: a part of node 5's share of the throughput.
Chosen here; under gateways that are biased the distance is that whole share and more."""

BUFFERS, MIN_THS = tuple(range(8, 23)), tuple(range(3, 15))
"""Packets, in Figs. 12 and 13, and in Fig. 14."""

SERIES = ("time_s", "flow", "throughput_bps", "drops_packets", "marked_packets")
QUEUE = ("time_s", "queue_found_packets_mean")

# What is measured -------------------------------------------------------------------------------------------------


def seconds(series: pl.DataFrame, *keys: str, told: str = "drops_packets") -> pl.DataFrame:
    """One row for each second of each run, which `keys` name: `share` (node 5's part of the throughput, %), `used` (of
    the link), `notices` (packets dropped, or what `told` says) and `notice_share` (node 5's part of them, %; null if
    fewer than three)."""
    node_5 = pl.col("flow") == NODE_5
    # The sum of five numbers in the order of the flows, which is the same everywhere.
    total, notices = pl.col("throughput_bps").sum(), pl.col(told).sum()
    return series.group_by(*keys, "time_s", maintain_order=True).agg(
        share=100 * pl.col("throughput_bps").filter(node_5).first() / total,
        used=100 * total / LINK_BPS,
        notices=notices,
        notice_share=pl.when(notices >= LEAST_DROPS).then(100 * pl.col(told).filter(node_5).first() / notices),
    )


def possible(series: pl.DataFrame, queue: pl.DataFrame) -> float:
    """The most of the throughput that node 5 could have, %: its window in each round trip, queue and transmission
    included, over what the link carried."""
    # On its way a packet of data is sent at 100 Mbit/s, 45 and 100, an acknowledgement of 40 bytes four times faster
    # than can be seen.
    fixed = RTT_5_S + SERVICE_S + 2 * 8000 / 100e6
    found, used = (
        np.mean(column.to_numpy()) for column in (queue["queue_found_packets_mean"], seconds(series)["used"])
    )
    return float(100 * WINDOW_5 * 8000 / (fixed + found * SERVICE_S) / (LINK_BPS * used / 100))


def mean_of(column: str) -> Measure:
    """The mean over the seconds of a run."""
    return each_run(lambda series: float(np.mean(seconds(series)[column].to_numpy())), flow_series=SERIES)


MEASURES = {
    "share": mean_of("share").as_("node 5's share of the throughput", "%"),
    "queue": packets(Rows("queue").mean("queue_found_packets_mean"), "average queue"),
    "used": mean_of("used").as_("utilisation", "%"),
    "possible": each_run(possible, flow_series=SERIES, queue=QUEUE).as_("the most that node 5's window allows", "%"),
}


def each_second(settings: Settings) -> Settings:
    """Each mark is one second of a run; the paper's runs last ten."""
    return replace(settings, warmup_s=0, sample_s=1)


def study(*sets: tuple[str, str], key: Axis | None = None, **axes: Any) -> Study:
    """On the network of Fig. 11. `key`: of the axis `size`."""
    return Study(SCENARIO, settings=each_second, measure=MEASURES, tables={"flow_series": SERIES, "queue": QUEUE},
                 sets=sets, keys={} if key is None else {"size": key}, **axes)  # fmt: skip


LIMIT = Axis("queue.limit", label="buffer (packets)")
# Only Drop Tail's hosts take a random time, up to the service time as printed.
READY = prepared((0, 1), "0.17 ms")
tail = study(("queue.discipline", "drop_tail"), *READY, key=LIMIT, size=BUFFERS)
random = study(("queue.discipline", "random_drop"), key=LIMIT, size=BUFFERS)
red = study(key=MinTh(max_th=2, limit=4), size=MIN_THS)
room = study(("queue.limit", "200"), key=MinTh(max_th=2), size=MIN_THS)
"""RED as in Fig. 14 with a buffer that never overflows."""

ALL = Variant("DECbit", (("queue.decbit.feedback", "all"),))
SELECTIVE = Variant("DECbit with selective feedback", (("queue.decbit.feedback", "selective"),))
decbit = study(
    ("queue.discipline", "decbit"), ("queue.limit", "200"), *((f"flows.{each}.algorithm", "decbit") for each in (0, 1)),
    feedback=[ALL, SELECTIVE],
)  # fmt: skip


def clustered(tables: Tables) -> Tables:
    """`clusters`: the median over the mean of the times between node 5's arrivals at the gateway in a traced run."""
    arrivals = pl.col("event") == "arrival", pl.col("flow") == NODE_5, pl.col("to") == "receiver"
    gaps = tables["packets"].filter(*arrivals, pl.col("link") == "bottleneck")["time_s"].diff().drop_nulls().to_numpy()
    return {"clusters": pl.DataFrame({"ratio": [float(np.median(gaps) / np.mean(gaps))]})}


clusters = Study(
    SCENARIO, settings=each_second, derive=clustered, measure={"ratio": Rows("clusters")["ratio"]},
    sets=(("queue.discipline", "drop_tail"), ("queue.limit", "15"), *READY, ("run.packets", "200000")),
)  # fmt: skip

# Figures 12 to 14 -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seconds:
    """Node 5's share of the throughput, average queue and utilisation of one study over the size of its gateway: a dot
    for each second of one run, and means over seeds with 95 % intervals."""

    of: str
    style: Style

    @plot.drawing
    def __call__(self, **studies: Any) -> Drawing:
        runs: Runs = studies[self.of]
        lines = runs.frame("share", "queue", "used", "possible")
        one = pl.col("seed") == runs.seeds[0]
        queue = runs.rows("queue").filter(one).select("size", "time_s", queue="queue_found_packets_mean")
        dots = seconds(runs.rows("flow_series").filter(one), "size").join(
            queue, on=["size", "time_s"], maintain_order="left"
        )
        panels = (
            ("share", "node 5's throughput\n(% of the total)", (0, 6)),
            ("queue", "average queue\n(packets)", (0, 16)),
            ("used", "utilisation (%)", (80, 101)),
        )
        figure, rows = plot.panels(len(panels), 1, width=7.2, height=2.5)
        mean = Style("mean over seeds", plot.BLACK, "-", self.style.marker)
        for (axes,), (column, label, limits) in zip(rows, panels, strict=True):
            axes.plot(dots["size"], dots[column], ".", color=self.style.color, alpha=0.6, markersize=5,
                      label="one second, one run")  # fmt: skip
            plot.mean_line(axes, lines["size"], lines[f"{column}_mean"], halves(lines, column), mean)
            axes.set_ylabel(label)
            axes.set_ylim(*limits)
        rows[0][0].plot(lines["size"], lines["possible_mean"], ":", color=plot.GREY,
                        label="most that node 5's window allows")  # fmt: skip
        rows[-1][0].set_xlabel(runs.study.keys["size"].label)
        rows[-1][0].set_xticks(lines["size"].to_list())
        plot.legend(figure, [axes for row in rows for axes in row])
        kinds = (lines.with_columns(what=pl.lit("mean")), dots.with_columns(what=pl.lit("second")))
        return Drawing(figure, pl.concat(kinds, how="diagonal"))


STYLES = {
    "tail": Style("Drop Tail", plot.GREEN, "-", "s"),
    "random": Style("Random Drop", plot.PURPLE, "-", "^"),
    "red": Style("RED", plot.VERMILION, "-", "o"),
    "decbit": Style("DECbit: set bits", plot.BLUE, "-", "D"),
}


def at_the_same_queue(red: Runs, other: Runs) -> Quantity:
    """By how many percentage points of the throughput node 5 has more under RED than under the other where both keep
    the same average queue: the mean over the queues that both keep, by seed. Between two buffers the share is
    interpolated."""
    found = []
    by_seed = (np.array([each.values for each in at.over("size", name)]).T
               for at in (red, other) for name in ("queue", "share"))  # fmt: skip
    for queue, share, queues, shares in zip(*by_seed, strict=True):
        order = np.argsort(queues)
        both = (queue >= queues.min()) & (queue <= queues.max())
        more = share[both] - np.interp(queue[both], queues[order], shares[order])
        found.append(float(np.mean(more)) if both.any() else math.nan)
    return Quantity(tuple(found), "percentage points of the throughput", "node 5's gain under RED")


def less_than_under_red(name: str, red: Runs, other: Runs) -> Check:
    """What the paper says of Figs. 12 and 13."""
    return claim(
        f"{name} is biased against bursty traffic, RED is not; the most appropriate comparison is at the "
        "same average queue",
        at_the_same_queue(red, other), above(0), id="less-at-the-same-queue",
        tested="at the same average queue node 5 has more of the throughput under RED, seed by seed",
    )  # fmt: skip


@figure(12, "Bursty traffic under Drop Tail", source="Sec. IX, Figs. 12 and 14", chart=Seconds("tail", STYLES["tail"]),
        tail=tail, red=red, clusters=clusters)  # fmt: skip
def fig12(tail: Runs, red: Runs, clusters: Runs) -> Iterator[Check]:
    """The network of Fig. 11: four FTP connections with windows of 12 packets and round trips of 6 ms, and node 5 with
    a window of 8 and 36 ms. Buffer 8 to 22 packets; each packet takes a random time up to 0.17 ms to prepare;
    {duration} seconds each. Each dot is one second of the run with seed {seed}; the line is the mean over seeds with 95
    % intervals. The queue is what arriving packets find, without the one in transmission."""
    yield less_than_under_red("Drop Tail", red, tail)
    ratio = clusters["ratio"].as_("median over mean of the times between its arrivals, buffer of 15 packets")
    yield claim("node 5's packets arrive in loose clusters: one long interarrival time and many smaller ones", ratio,
                below(0.5), source="Sec. IX",
                tested="the median of the times between its arrivals is less than half their mean; with Poisson "
                "arrivals it is ln 2 = 0.69 of the mean")  # fmt: skip


@figure(13, "Bursty traffic under Random Drop", source="Sec. IX, Figs. 13 and 14",
        chart=Seconds("random", STYLES["random"]), random=random, red=red)  # fmt: skip
def fig13(random: Runs, red: Runs) -> Iterator[Check]:
    """As Figure 12 with Random Drop, and without the time to prepare packets."""
    yield less_than_under_red("Random Drop", red, random)


@figure(
    14, "Bursty traffic under RED", source="Sec. IX, Fig. 14", chart=Seconds("red", STYLES["red"]), red=red, tail=tail
)
def fig14(red: Runs, tail: Runs) -> Iterator[Check]:
    """As Figure 13 with RED and min_th of 3 to 14 packets: w_q = 0.002, max_p = 1/50, max_th is twice min_th and the
    buffer four times min_th."""
    share, most = red.over("size", "share"), red.over("size", "possible")
    short, part = (most - share).mean(), share.percent_of(most).mean()
    gained = (at_the_same_queue(red, tail) - short).as_(
        f"RED's gain over Drop Tail, less the {short.mean:.2g} by which RED stays below the maximum (RED gives "
        f"{part.mean:.0f} % of it)"
    )  # fmt: skip
    yield claim(
        "node 5's throughput is close to the maximum possible, given its round trip and window", gained, above(0),
        tested="it is closer to that than to what Drop Tail gives it at the same average queue, over all min_th",
    )  # fmt: skip


# Figure 15 --------------------------------------------------------------------------------------------------------


def notified(runs: Runs) -> pl.DataFrame:
    """The `seconds` of all runs of a study."""
    told = "marked_packets" if runs.study is decbit else "drops_packets"
    return seconds(runs.rows("flow_series"), *runs.study.axes, "seed", told=told)


def over_seconds(rows: pl.DataFrame, value: pl.Expr, unit: str, label: str) -> Quantity:
    """By seed the mean of `value` over all seconds with at least three drops or marks, whatever the size. NaN for a
    seed without any."""
    counted = value.filter(pl.col("notice_share").is_not_null())
    found = rows.group_by("seed").agg(value=counted.mean()).sort("seed")["value"]
    return Quantity(tuple(found.fill_null(math.nan).to_list()), unit, label)


def excess(rows: pl.DataFrame, what: str = "drops") -> Quantity:
    """Node 5's share of the drops or marks less its share of the throughput."""
    return over_seconds(rows, pl.col("notice_share") - pl.col("share"), "percentage points",
                        f"node 5's share of the {what} less its share of the throughput")  # fmt: skip


def own_share(rows: pl.DataFrame) -> Quantity:
    """Node 5's share of the throughput in the same seconds."""
    return over_seconds(rows, pl.col("share"), "%", "node 5's share of the throughput")


def centred(share: Quantity) -> Bound:
    """Around zero by no more than a part of node 5's share of the throughput, the interval of the mean included."""
    room = ROUGHLY * share.mean
    return replace(between(-room, room), words=f"0 ± {room:.2g}")


@plot.drawing
def scatter(checks: Sequence[Check], **studies: Runs) -> Drawing:
    """Node 5's share of the drops over its share of the throughput, a mark for each second of one run, with the
    diagonal."""
    parts = []
    for name in STYLES:
        at = studies[name].at(feedback=ALL) if name == "decbit" else studies[name]
        rows = notified(at).filter(pl.col("seed") == at.seeds[0]).drop_nulls("notice_share")
        parts.append(rows.select("time_s", "share", "notice_share", "notices", gateway=pl.lit(name)))
    dots = pl.concat(parts)
    figure, ((whole, near),) = plot.panels(1, 2, height=4.2, share_y=False)
    for axes in (whole, near):
        for name, style in STYLES.items():
            part = dots.filter(pl.col("gateway") == name)
            axes.plot(part["share"], part["notice_share"], style.marker, color=style.color, label=style.label,
                      markersize=4.5, alpha=0.75, markerfacecolor=style.color if name == "red" else "none",
                      linestyle="none")  # fmt: skip
        axes.plot([0, 100], [0, 100], "--", color=plot.BLACK, linewidth=1.2, label="equal shares")
        axes.set_xlim(-0.1, 5)
        axes.set_xlabel("node 5's throughput (% of the total)")
    whole.set_title("all")
    whole.set_ylabel("node 5's drops or set bits (% of all)")
    whole.set_ylim(-1.5, 1.05 * max([47.6, *dots["notice_share"].to_list()]))
    near.set_title("near the line")
    near.set_ylim(-0.4, 12)
    plot.legend(figure, [whole])
    return Drawing(figure, dots)


@figure(15, "Who is notified of congestion?", source="Sec. IX, Fig. 15", chart=scatter, tail=tail, random=random,
        red=red, decbit=decbit, room=room)  # fmt: skip
def fig15(tail: Runs, random: Runs, red: Runs, decbit: Runs, room: Runs) -> Iterator[Check]:
    """The seconds of Figs. 12 to 14 and of DECbit's hosts and gateway on the same network, seed {seed}. Left out are
    seconds with fewer than 3 dropped packets. Roughly centred: no farther from equal shares than a quarter of node 5's
    share of the throughput. For DECbit, which drops none, the packets whose bit is set are counted. Left: all; right:
    near the line of equal shares."""
    rows = {name: notified(runs) for name, runs in (("tail", tail), ("random", random), ("red", red), ("room", room))}
    reflects = "node 5's share of the drops reflects its share of the throughput: roughly centred on the line"
    of_red = excess(rows["red"])
    yield claim(f"under RED {reflects}", of_red, centred(own_share(rows["red"])), id="red")
    yield claim(f"under RED {reflects}, also where a buffer of 200 packets never overflows, so that RED alone drops",
                excess(rows["room"]), centred(own_share(rows["room"])), id="red-with-room")  # fmt: skip
    for name in ("tail", "random"):
        title, biased = STYLES[name].label, excess(rows[name])
        yield claim(f"under {title} node 5 has a small part of the throughput and a large part of the drops", biased,
                    above(0), id=name)  # fmt: skip
        less = (biased - of_red).as_("how much greater the excess is than under RED")
        yield claim(f"RED lacks the bias of {title}", less, above(0), id=f"red-less-than-{name}")
    marks, selective = (notified(decbit.at(feedback=each)) for each in (ALL, SELECTIVE))
    bits = excess(marks, "set bits")
    yield claim("under DECbit node 5's packets have a disproportionate chance of having their bits set", bits, above(0),
                id="decbit")  # fmt: skip
    share, corrected = own_share(selective), excess(selective, "set bits")
    told = f"node 5's share of the set bits, with {share.mean:.2g} % of the throughput where a fifth is fair"
    spares = over_seconds(selective, pl.col("notice_share"), "%", told)
    none = claim(
        "with selective feedback a flow below its fair share gets no bits", spares,
        within(0, 0.1, "0 %, to one decimal of a per cent: who has a fair share is judged cycle by cycle"),
        source="Sec. IX: the bit only for users with more than their fair share", id="decbit-selective-spares",
    )  # fmt: skip
    yield claim(
        "selective feedback would correct DECbit's bias against bursty traffic", corrected, centred(share),
        source="Sec. IX: “would be corrected by selective feedback”, not simulated there", id="decbit-selective",
        because="It does more than correct it: only flows above their fair share get the bit, and node 5, whose window "
        "and round trip allow less than that, gets none.", evidence=none,
    )  # fmt: skip
    yield none
    drops = pl.concat([rows[name].select("seed", "notices") for name in ("tail", "random", "red")])
    most = red.quantity(drops.group_by("seed").agg(pl.col("notices").max()), "notices", "packets",
                        "most in one second of one simulation of each figure")  # fmt: skip
    yield reference(
        "in one second of Figs. 12 to 14 up to 61 packets are dropped", most, printed(61, 1), id="most-drops"
    )
