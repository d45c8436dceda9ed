"""What the report says without a figure: without UDP CHOKe behaves like RED, no synchronisation, no bias against
bursts; and how much the choices matter that it leaves open."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import polars as pl
from matplotlib.figure import Figure as Drawn

from ..._generated import DropTail
from ...plot import style as plot
from ...plot.style import Style
from ...reproduce import (
    Check,
    Drawing,
    Measure,
    Quantity,
    Runs,
    Settings,
    Study,
    Variant,
    above,
    below,
    claim,
    each_run,
    figure,
    like_one_run_of,
    not_above,
    percent,
    reference,
)
from ...reproduce.charts import Dots
from ...reproduce.measure import mean
from .network import AXES, CHOKE, CHOKE_LARGE, DROP_TAIL, MEASURES, RED, RED_LARGE, TCP_FLOWS, study

ALONE = "choke1999_tcp"
"""The scenario without UDP."""

FOUR = (RED, RED_LARGE, CHOKE, CHOKE_LARGE)

# Without unresponsive flows ---------------------------------------------------------------------------------------

COUNTS = (2, 4, 8, 16, 32, 64, 128)
FEW = 8
"""How many TCP flows are few: CHOKe matches each of their packets with probability 1/8 or more."""

alone = study(ALONE, queue=FOUR, tcp_flows=COUNTS)
# No flow ever has two packets in the queue, since its window is one packet. The flows are as many as bring the average
# between the thresholds.
single = study(
    ALONE,
    queue=FOUR,
    tcp_flows=[64, 192],
    hosts=[Variant("window of one packet", (("flows.0.window", "1"),))],
    keep=lambda queue, tcp_flows, hosts: (tcp_flows == 64) == (queue.min_th == 30),
)

ALIKE = {"link_used": "fills the link", "average": "keeps the average queue", "link_loss": "drops packets"}
LOOKS = {
    RED: Style("RED, 30 and 60", plot.VERMILION, "-", "s"),
    RED_LARGE: Style("RED, 100 and 200", plot.VERMILION, "--", "D"),
    CHOKE: Style("CHOKe, 30 and 60", plot.BLUE, "-", "o"),
    CHOKE_LARGE: Style("CHOKe, 100 and 200", plot.BLUE, "--", "^"),
}


def over_flows(alone: Runs, checks: Sequence[Check], **_: Runs) -> Drawing:
    """Loss, average queue and utilisation over the number of flows, a line for each discipline."""
    panels = (
        ("link_loss", "packets dropped (%)"),
        ("average", "average queue (packets)"),
        ("link_used", "utilisation (%)"),
    )
    data = alone.frame("link_loss", "average", "link_used")

    @plot.drawing
    def draw() -> Drawn:
        figure, (row,) = plot.panels(1, len(panels), height=3.7, share_y=False)
        for axes, (name, title) in zip(row, panels, strict=True):
            for at in alone.each("queue"):
                table = at.frame(name)
                half = table[f"{name}_half_width"].cast(pl.Float64).fill_null(math.nan)
                plot.mean_line(axes, table["tcp_flows"], table[f"{name}_mean"], half, LOOKS[at.queue])
            plot.log_axis(axes, "x", COUNTS)
            axes.xaxis.minorticks_off()
            axes.set_xlabel("TCP flows")
            axes.set_title(title)
        plot.legend(figure, row)
        return figure

    return Drawing(draw(), data)


@figure("alone", "Without unresponsive flows: just like RED?", label="Section 6", source="Sec. 6", chart=over_flows,
        alone=alone, single=single)  # fmt: skip
def like_red(alone: Runs, single: Runs) -> Iterator[Check]:
    """2 to 128 TCP transfers and no UDP, under RED and under CHOKe with one candidate. Means over seeds with 95 %
    intervals."""
    for red, choke in ((RED, CHOKE), (RED_LARGE, CHOKE_LARGE)):
        never = {}
        for name, words in ALIKE.items():
            never[name] = reference(
                f"CHOKe behaves just like RED: where no packet can meet another of its flow, it {words} as RED does",
                single.at(queue=choke)[name], like_one_run_of(single.at(queue=red)[name], least=0.005),
                id=f"{name}-never-meeting",
            )  # fmt: skip
        for count in (TCP_FLOWS, FEW):
            for name, words in ALIKE.items():
                if count == FEW and name == "average":
                    continue
                yield claim(
                    "without unresponsive flows CHOKe behaves just like RED: "
                    f"with {count} flows it {words} as RED does",
                    alone.at(queue=choke, tcp_flows=count)[name],
                    like_one_run_of(alone.at(queue=red, tcp_flows=count)[name], least=0.005),
                    id=name,
                    because="TCP packets also meet packets of their own flow, with N flows about one in N, and each "
                    "match costs two packets: with few flows CHOKe drops more than RED and keeps a "
                    "shorter queue (so also Tang, Wang and Low 2004, Sec. VI). Where no flow has two packets in the "
                    "queue the difference is gone.",
                    evidence=never[name],
                )
        yield from never.values()


# No synchronisation -----------------------------------------------------------------------------------------------


def window_ratio(series: pl.DataFrame) -> float:
    """The variance over time of the sum of the windows over the sum of the variances of each. 1 when they are
    independent, their number when they are synchronised, less than 1 when one gives way as another grows. The first
    quarter of the samples is left out."""
    chosen = series.filter(pl.col("cwnd_segments").is_not_null())
    windows = [part["cwnd_segments"].to_list() for part in chosen.partition_by("flow", maintain_order=True)]
    windows = [values[len(values) // 4 :] for values in windows]
    total = _variance([math.fsum(each) for each in zip(*windows, strict=True)])
    return total / math.fsum(map(_variance, windows))


def _variance(values: Sequence[float]) -> float:
    middle = mean(values)
    return mean([(value - middle) ** 2 for value in values])


WINDOWS = {"flow_series": ("time_s", "flow", "cwnd_segments")}
RATIO = each_run(window_ratio, **WINDOWS).as_("variance of the sum of the 32 windows over the sum of their variances")
AT_ONCE = (("flows.0.spread", "0 s"),)
together = Study(ALONE, keys=AXES, measure={"ratio": RATIO}, sets=AT_ONCE, queue=[DROP_TAIL, *FOUR], tables=WINDOWS)
beside_udp = Study("choke1999", keys=AXES, measure={"ratio": RATIO}, sets=AT_ONCE, queue=[CHOKE, CHOKE_LARGE])


def sum_of_windows(together: Runs, checks: Sequence[Check], **_: Runs) -> Drawing:
    """The sum of the windows over time in one run, a panel for each pair of thresholds."""
    rows = together.rows("flow_series").filter(pl.col("seed") == together.seeds[0])
    data = rows.group_by(["queue", "time_s"], maintain_order=True).agg(windows_segments=pl.col("cwnd_segments").sum())
    tail = ("Drop Tail", Style("Drop Tail, room for 300", plot.GREEN, "-", "v"))

    @plot.drawing
    def draw() -> Drawn:
        figure, (row,) = plot.panels(1, 2, height=3.5)
        for axes, pair in zip(row, ("30 and 60", "100 and 200"), strict=True):
            lines = (tail, (f"RED, thresholds {pair}", Style("RED", plot.VERMILION, "--")),
                     (f"CHOKe, thresholds {pair}", Style("CHOKe", plot.BLUE)))  # fmt: skip
            for queue, style in lines:
                part = data.filter(pl.col("queue") == queue)
                axes.plot(part["time_s"], part["windows_segments"], style.line, color=style.color, linewidth=1.3,
                          label=style.label)  # fmt: skip
            axes.set_title(f"thresholds {pair}")
            axes.set_ylim(bottom=0)
            axes.set_xlim(0, max(data["time_s"].to_list()))
            axes.set_xlabel("time (s)")
        row[0].set_ylabel("sum of 32 windows (segments)")
        plot.legend(figure, row)
        return figure

    return Drawing(draw(), data)


@figure("synchronisation", "Are the flows synchronised?", label="Synchronisation", source="Sec. 2, goal 4, and Sec. 3",
        chart=sum_of_windows, together=together, beside_udp=beside_udp)  # fmt: skip
def synchronisation(together: Runs, beside_udp: Runs) -> Iterator[Check]:
    """32 TCP transfers without UDP that all start at once, as in the example of Section 3. Drawn: the sum of their
    windows in the run with seed {seed}. Measured: the variance of that sum over time, divided by the sum of the
    variances of the single windows, after the first quarter of the run. It is 1 for windows that are independent and
    32 for windows that are synchronised; a value under 2 means a mean correlation under 1/31."""
    tail = together.at(queue=DROP_TAIL)["ratio"]
    for queue in (CHOKE, CHOKE_LARGE):
        ratio = together.at(queue=queue)["ratio"]
        yield claim("no global synchronisation", ratio, below(2))
        yield claim("no global synchronisation, beside UDP at 2 Mbit/s", beside_udp.at(queue=queue)["ratio"], below(2),
                    id="beside-udp")  # fmt: skip
        less = (tail - ratio).as_("how much greater Drop Tail's ratio is", where=ratio.where)
        yield claim("random drops avoid the synchronisation of Drop Tail", less, above(0), source="Secs. 1 and 3")


# No bias against bursts -------------------------------------------------------------------------------------------

BURST_PACKETS, BURST_GAP_S = 8, 4


def with_bursts(text: str, _: object, settings: Settings) -> str:
    """The scenario with a flow that sends `BURST_PACKETS` packets every `BURST_GAP_S` seconds as fast as its access
    link carries them, while the run is measured, and a smooth flow of the same mean rate.

    Each burst is a group of its own, from 1 on, and the smooth flow is the last group. To every discipline here the
    bursts are one flow all the same: the queue, which holds a second or two, is all they know of a flow.
    """
    burst = 'kind = "udp"\nrate = "10 Mbit/s"\npacket_size = "1000 B"\nspread = "0 s"\n'
    smooth = 'kind = "udp"\npacket_size = "1000 B"\njitter = 1\n'
    groups = []
    for start in range(int(settings.warmup_s), int(settings.duration_s) - BURST_GAP_S + 1, BURST_GAP_S):
        begin = start + BURST_GAP_S / 2
        end = begin + (BURST_PACKETS - 0.5) * 0.0008  # a packet takes 0.8 ms on the access link
        groups.append(f'[[flows]]\n{burst}start = "{begin:g} s"\nstop = "{end:.4f} s"\n')
    groups.append(f'[[flows]]\n{smooth}rate = "{BURST_PACKETS * 8000 / BURST_GAP_S:g} bit/s"\n')
    return text.replace("[run]\n", "\n".join(groups) + "\n[run]\n")


def _of_kind(column: str, smooth: bool) -> Measure:
    def part(flows: pl.DataFrame) -> float:
        udp = flows.filter(pl.col("kind") == "udp")
        last = pl.col("group") == udp["group"].max()
        chosen = udp.filter(last if smooth else ~last)
        return math.fsum(chosen[column].to_list()) / math.fsum(chosen["arrivals_packets"].to_list())

    return percent(each_run(part, flows=("kind", "group", "arrivals_packets", column)))


bursts = Study(
    ALONE, keys=AXES, edit=with_bursts,
    measure={
        "smooth_loss": _of_kind("drops_packets", True), "burst_loss": _of_kind("drops_packets", False),
        "smooth_match": _of_kind("drops_match", True), "burst_match": _of_kind("drops_match", False),
    },
    queue=[DropTail(limit=60), DropTail(limit=200), DROP_TAIL, *FOUR],
)  # fmt: skip


@figure("bursts", "Does a burst lose more?", label="Bursts", source="Sec. 2, goal 3, and Sec. 3", chart=Dots(
        {"smooth_loss": ("smooth flow: packets dropped (%)", None), "burst_loss": ("bursts: packets dropped (%)", None),
         "burst_match": ("bursts: dropped on meeting their own flow (%)", None)}, shade=False),
        bursts=bursts)  # fmt: skip
def no_bias(bursts: Runs) -> Iterator[Check]:
    """32 TCP transfers without UDP, with two flows of 16 kbit/s each, about half an equal share: one sends 8 packets at
    once every 4 s, the other spreads them out. Drop Tail's buffer is as large as max_th of RED and CHOKe (60 and 200),
    or that of the other figures (300). Means over seeds with 95 % intervals."""

    def excess(queue: object, what: str = "loss") -> Quantity:
        at = bursts.at(queue=queue)
        return (at[f"burst_{what}"] - at[f"smooth_{what}"]).as_("the bursts' extra loss", "percentage points")

    for red, choke in ((RED, CHOKE), (RED_LARGE, CHOKE_LARGE)):
        more, matches = excess(choke), excess(choke, "match").as_("the bursts' extra loss by meeting their own flow")
        yield claim("RED has no bias against bursts", excess(red), not_above(0), source="Secs. 1 and 2")
        most = reference(
            "no bias against bursts: most of the bursts' extra loss comes from meeting their own flow",
            (matches - more * 0.5).as_("their extra loss by meeting their own flow, less half of all their extra loss"),
            above(0),
            id="mostly-matches",
        )
        yield claim(
            "CHOKe keeps RED's advantage: no bias against bursts",
            more,
            not_above(0),
            evidence=most,
            because="The packets of a burst meet each other in the queue, as an unresponsive flow's do, which costs "
            "two for each meeting. Drops for other reasons hit bursts and smooth traffic alike.",
        )
        yield most
        less = excess(DropTail(limit=choke.max_th)) - more
        yield claim(
            f"a small average queue lets a burst in: the bias is smaller than that of Drop Tail with room for "
            f"{choke.max_th} packets",
            less.as_("how much greater Drop Tail's bias is", where=more.where),
            above(0),
            id="less-than-drop-tail",
        )


# Choices ----------------------------------------------------------------------------------------------------------

CHANGES = {
    "as chosen": (),
    "buffer of 100 packets": (("queue.choke.limit", "100"),),
    "buffer of 1000 packets": (("queue.choke.limit", "1000"),),
    "w_q = 0.001": (("queue.choke.w_q", "0.001"),),
    "w_q = 0.01": (("queue.choke.w_q", "0.01"),),
    "max_p = 0.05": (("queue.choke.max_p", "0.05"),),
    "max_p = 0.1": (("queue.choke.max_p", "0.1"),),
    "max_p = 0.5": (("queue.choke.max_p", "0.5"),),
    "delay of 10 ms": (("network.delay", "10 ms"),),
    "delay of 100 ms": (("network.delay", "100 ms"),),
    "starts spread over 10 s": (("flows.0.spread", "10 s"),),
    "thresholds 100 and 200": (("queue.choke.min_th", "100"), ("queue.choke.max_th", "200")),
}
choices = Study("choke1999", keys=AXES, measure={"udp_share": MEASURES["udp_share"]}, queue=[CHOKE],
                choice=[Variant(name, sets) for name, sets in CHANGES.items()])  # fmt: skip


@figure("choices", "What the report leaves open, and how much it matters", label="Choices", source="Fig. 4",
        chart=Dots({"udp_share": ("UDP's share of the link (%)", 25.0)}), choices=choices)  # fmt: skip
def left_open(choices: Runs) -> Sequence[Check]:
    """CHOKe with thresholds 30 and 60 against UDP of 2 Mbit/s, changing one choice at a time. The last row changes the
    thresholds instead, which the text does not state for Figure 4."""
    return []
