"""Sec. V and Fig. 3: four transfers that start one after the other, and the average that RED keeps.

The network is that of the scenario `red1993_fig3`, which says how its delays follow from the text. The figure shows one
second. Further runs measure the next second, whose utilisation the text prints; variants of what is not in the text;
and unresponsive flows, because RED is to keep the average down in spite of them too (Secs. III and VIII).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import polars as pl

from ...experiments.engine import Sets, Tables
from ...plot import style as plot
from ...reproduce import (
    FLOWS,
    LINK,
    Check,
    Drawing,
    Runs,
    Study,
    Variant,
    above,
    below,
    claim,
    each_run,
    figure,
    mbps,
    percent,
    printed,
    reference,
    within,
)
from ...reproduce.charts import Dots
from . import average
from .charts import EVENTS, MSS, crosses, dropped, points, queue_and_average, tall
from .network import LINK_BPS, MAX_TH, MEASURES, UNTRACED, lasting

SCENARIO = "red1993_fig3"
STARTS_S = (0.0, 0.2, 0.4, 0.6)
MOST_QUEUED = 40
"""Packets, as the text prints it of Fig. 3."""

MODULUS, ROW = 90, 100
"""Packet numbers are drawn modulo 90, a hundred for each node."""


def losses(tables: Tables) -> Tables:
    """`losses`: the packets of a traced run that are dropped per second while one, two, three and four transfers are
    active, a row for each number of `transfers`."""
    times = tables["packets"].filter(dropped)["time_s"].to_list()
    rates = [sum(begin <= time < end for time in times) / (end - begin) for begin, end in pairwise((*STARTS_S, 1.0))]
    return {"losses": pl.DataFrame({"transfers": range(1, len(rates) + 1), "per_second": rates})}


def traced(tables: Tables) -> Tables:
    """What is measured of a traced run."""
    return average.measured(tables) | losses(tables)


def slope(table: pl.DataFrame) -> float:
    """Of the line of least squares through the losses per second."""
    from scipy.stats import linregress

    return float(linregress(table["transfers"], table["per_second"]).slope)


staggered = Study(
    SCENARIO, settings=lasting(1, sample_s=0.001), derive=traced, tables={"packets": EVENTS}, once=("packets",),
    measure=MEASURES | average.measures() | {
        "not_above_40": percent(LINK.fold("queue_packets_max", lambda longest: float(longest[0] <= MOST_QUEUED)),
                                f"runs whose longest queue is at most {MOST_QUEUED} packets"),
        "slope": each_run(slope, losses=("transfers", "per_second")).as_(
            "drops per second for each additional connection"
        ),
    },
)  # fmt: skip
longer = Study(
    SCENARIO, settings=lasting(10, 1, 0.001), sets=UNTRACED,
    measure={f"node_{node}": mbps(FLOWS.where(flow=node)["throughput_bps"]) for node in (1, 3)},
)  # fmt: skip

# What the text leaves open ----------------------------------------------------------------------------------------


def _delays(*access_ms: int) -> Sets:
    """Other delays of the access links, with windows of delay times bandwidth."""
    return tuple(
        change
        for node, delay in enumerate(access_ms)
        for change in (
            (f"flows.{node}.access_delay", f"{delay} ms"),
            (f"flows.{node}.window", str(int(LINK_BPS * 2e-3 * (delay + 2)) // 8000)),
        )
    )


CHOSEN = Variant("as chosen")
FARTHEST_FIRST = Variant("round trips of 20, 14, 12 and 6 ms", _delays(8, 5, 4, 1))
CHOICES = (
    CHOSEN,
    FARTHEST_FIRST,
    Variant("round trips of 6, 10, 15 and 20 ms", (*_delays(1, 3, 6, 8), ("flows.2.access_delay", "5.5 ms"))),
    Variant("access links of 45 Mbit/s", (("network.access_rate", "45 Mbit/s"),)),
    Variant("access links of 1 Gbit/s", (("network.access_rate", "1 Gbit/s"),)),
    Variant(
        "a random time to prepare each packet", tuple((f"flows.{node}.send_jitter", "0.178 ms") for node in range(4))
    ),
    Variant("gaps as Fig. 2 prints them", (("queue.law", "figure2"),)),
    Variant("gaps as Fig. 17 prints them", (("queue.law", "figure17"),)),
    Variant("idle decay for packets of 1000 bytes", (("queue.s", "178 us"),)),
)
shown = Study(SCENARIO, settings=lasting(1, sample_s=0.001), sets=UNTRACED, measure=MEASURES, choice=CHOICES)
following = Study(
    SCENARIO, settings=lasting(2, 1, 0.001), sets=UNTRACED, choice=CHOICES, measure={"next_used": MEASURES["link_used"]}
)

# Figure 3 ---------------------------------------------------------------------------------------------------------


@plot.drawing
def packets_over_time(staggered: Runs, **_: object) -> Drawing:
    """Queue and average, and below packet numbers with drops, in one run."""
    run = staggered.rows("packets")
    figure, (top, bottom) = tall((2.6, 4.6))
    queue_and_average(top, run.filter(pl.col("event") == "arrival"))
    marked = run.with_columns(height=(pl.col("first_byte") // MSS) % MODULUS + (pl.col("flow") - 1) * ROW)
    points(bottom, marked.filter(~dropped), "height")
    drops = marked.filter(dropped)
    crosses(bottom, drops["time_s"], drops["height"])
    crosses(bottom, drops["time_s"], [-25.0] * drops.height)
    nodes = range(len(STARTS_S))
    bottom.set_yticks([-25, *(ROW * node + MODULUS / 2 for node in nodes)],
                      ["all drops", *(f"node {node + 1}" for node in nodes)])  # fmt: skip
    for node in nodes:
        bottom.axhline(ROW * node - 5, color="#E5E7EB", linewidth=0.8)
    bottom.grid(axis="y", visible=False)
    bottom.set_ylim(-45, ROW * len(nodes))
    bottom.set_ylabel("packet number mod 90, by node")
    bottom.set_xlim(0, 1)
    bottom.set_xlabel("time (s)")
    plot.legend(figure, [top, bottom])
    return Drawing(figure, run)


@figure(3, "Four transfers with staggered starts", source="Sec. V", chart=packets_over_time, staggered=staggered,
        shown=shown, following=following, longer=longer)  # fmt: skip
def fig3(staggered: Runs, shown: Runs, following: Runs, longer: Runs) -> Iterator[Check]:
    """Four transfers on the network of Fig. 4; nodes 1 to 4 start at 0, 0.2, 0.4 and 0.6 s. Above: the queue that each
    arrival finds and RED's average; dotted: its thresholds. Below: a mark for each packet as it arrives and one as it
    departs, at n mod 90 + (i − 1)·100 for packet n of node i; an X for each drop, and all drops again in the bottom
    row. The run with seed {seed}."""
    yield reference("the link is used 76 % in this second", staggered["link_used"], printed(76, 1), id="utilisation")
    used = following.at(choice=CHOSEN)["next_used"].as_(where="")
    yield reference("the link is used 82 % in the next second, when all four are active", used, printed(82, 1),
                    id="utilisation-next")  # fmt: skip
    never = f"the queue never exceeds {MOST_QUEUED} packets"
    at_most = within(None, MOST_QUEUED, f"at most {MOST_QUEUED}, as printed")
    other = shown.at(choice=FARTHEST_FIRST)
    farthest_first = reference(f"{never}: with the farthest node first", other["longest_queue"], at_most,
                               id="queue-farthest-first")  # fmt: skip
    yield reference(
        never, staggered["longest_queue"], at_most, id="queue", evidence=farthest_first,
        because="The text does not say which node is how far away. With the nearest first, as chosen, slow starts pile "
        f"up more than with the farthest first; but then the link is used {other['link_used'].mean:.0f} %. Also, "
        f"single runs differ from each other by as much as the queue exceeds {MOST_QUEUED} packets.",
    )  # fmt: skip
    yield farthest_first
    yield reference(f"{never} in the one run that is shown: such a run is not rare here", staggered["not_above_40"],
                    within(5, None, "at least one run in twenty: fewer would be rare"),
                    id="queue-runs")  # fmt: skip
    yield claim("the buffer is large enough that RED, never the buffer, drops packets",
                staggered["dropped_by_buffer"].total(), within(0, 0, "none"))  # fmt: skip
    yield claim("the average changes fairly slowly compared to the queue", staggered["slowness"], below(0.1),
                tested="from arrival to arrival the average moves less than a tenth as far as the queue")  # fmt: skip
    yield from average.never_exceeds_max_th(staggered)
    yield claim("as the number of connections increases, the gateway drops packets more often", staggered["slope"],
                above(0), tested="the slope of drops per second over 1, 2, 3 and 4 connections")  # fmt: skip
    more = (longer["node_1"] - longer["node_3"]).as_(
        "throughput of node 1 (6 ms) less that of node 3 (20 ms) in seconds 1 to 10"
    )
    # When all four are active; in a single second chance decides.
    yield claim("connections with shorter round trips have the higher throughput", more, above(0))


# Unresponsive flows -----------------------------------------------------------------------------------------------


def unresponsive(text: str, *_: object) -> str:
    """The scenario with four UDP sources in the place of the transfers."""
    head, tail = text.split("[[flows]]", 1)[0], text[text.index("[run]") :]
    return f'{head}[[flows]]\nkind = "udp"\ncount = 4\npacket_size = "1000 B"\njitter = 1\nspread = "1 ms"\n\n{tail}'


LOADS = tuple(
    Variant(f"UDP of {times} times the link's rate", (("flows.0.rate", f"{times * LINK_BPS // 4} bit/s"),))
    for times in (2, 4)
)
late = each_run(
    lambda queue: queue.filter(pl.col("time_s") >= 0.5)["average_packets"].max(), queue=("time_s", "average_packets")
)
unresponsive_flows = Study(
    SCENARIO, settings=lasting(1, sample_s=0.0001), sets=(("run.packets", "100000"),), edit=unresponsive, load=LOADS,
    derive=average.measured, tables={"queue": ("time_s", "queue_packets", "average_packets")},
    measure=average.measures() | {
        "late": late.as_("greatest average in the second half of a run, of all seeds", "packets")
    },
)  # fmt: skip


@plot.drawing
def queues_over_time(flows: Runs, **_: object) -> Drawing:
    """Queue and average over time in one run, a panel for each load."""
    data = flows.rows("queue").filter(pl.col("seed") == flows.seeds[0])
    figure, (row,) = plot.panels(1, len(LOADS), height=3.4)
    for axes, load in zip(row, LOADS, strict=True):
        axes.set_title(load.label)
        queue_and_average(axes, data.filter(pl.col("load") == load.label))
        axes.set_xlim(0, 1)
        axes.set_xlabel("time (s)")
    row[1].set_ylabel("")
    row[0].set_ylim(0, 1.05 * float(data["queue_packets"].to_numpy().max()))
    plot.legend(figure, row)
    return Drawing(figure, data)


@figure("unresponsive", "Unresponsive flows", label="Unresponsive flows", source="Sec. VIII", after=3,
        chart=queues_over_time, flows=unresponsive_flows)  # fmt: skip
def against_unresponsive(flows: Runs) -> Iterator[Check]:
    """Four UDP sources start within a millisecond in the place of the four transfers. The queue and the average every
    0.1 ms, in the run with seed {seed}. While the queue builds up the average lags behind it: the queue reaches max_th
    long before the average does, and the average then still rises until the queue is down."""
    for at in flows.each("load"):
        though = ", even in the absence of a cooperating transport protocol"
        yield from average.never_exceeds_max_th(at, though)
        yield claim(
            "with unresponsive flows the average is still controlled: never half a packet above max_th after the first "
            "half of the run", at["late"].greatest(), id="steady",
            bound=within(None, MAX_TH + 0.5, f"{MAX_TH} and a half: in the steady state the queue and its average "
                         "hardly differ"),
        )  # fmt: skip


# The choices ------------------------------------------------------------------------------------------------------

dots = Dots({"link_used": ("utilisation in the second shown (%)", 76.0), "next_used": ("in the next second (%)", 82.0),
             "longest_queue": ("longest queue (packets)", 40.0)})  # fmt: skip


def both_seconds(shown: Runs, following: Runs, **_: object) -> Drawing:
    """Utilisation in both seconds and longest queue with other choices."""
    data = shown.frame("link_used", "longest_queue").join(
        following.frame("next_used").drop("seeds"), on="choice", maintain_order="left"
    )
    return Drawing(dots.draw(data, data["choice"].to_list()), data)


@figure("fig3-choices", "What the text leaves open, and how much it matters", label="Choices for Figure 3",
        source="Sec. V", after=3, chart=both_seconds, shown=shown, following=following)  # fmt: skip
def left_open(shown: Runs, following: Runs) -> Sequence[Check]:
    """The runs of Figure 3, changing one choice at a time. Means over seeds with 95 % intervals; dotted: what the text
    prints. The delays are lost with the drawing of Fig. 4."""
    return []
