"""RED 1993, Sec. V and Fig. 3: four transfers that start one after the other, and the average that RED keeps.

The network is that of the scenario `red1993_fig3`, which says how its delays follow from the text. Beside the figure's
second there is the next one, whose utilisation the text prints; variants of what is not in the text; and sources that
do not respond, because RED is to keep the average down without them too (Secs. III and VIII).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from .. import scenario as api
from ..experiments.engine import Experiment, Sets, Tables
from ..quantities import significant as number
from ..report import Choice, FigurePart
from ..stats import Interval, interval
from . import Settings, red1993_charts, red1993_filter
from .checks import Bounds, Check, above, printed
from .points import interval_of, summarise, values_of
from .red1993 import KEEP, LINK_BPS, QUEUES, TRACE, Section
from .red1993_filter import MAX_TH, MIN_TH

SCENARIO = "red1993_fig3"
STARTS_S = (0.0, 0.2, 0.4, 0.6)
RATES = "fig3_losses"
_RATES = [f"losses_per_second_{transfers}" for transfers in range(1, len(STARTS_S) + 1)]

FIRST, NEXT, LONGER = "fig3", "fig3, the next second", "fig3, longer"
_NEXT: Sets = (("run.duration", "2 s"), ("run.warmup", "1 s"))
_LONGER: Sets = (("run.duration", "10 s"), ("run.warmup", "1 s"))
_NO_TRACE: Sets = (("run.packets", "0"), ("run.series", "false"))


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


VARIANTS: tuple[tuple[str, Sets], ...] = (
    ("round trips of 20, 14, 12 and 6 ms", _delays(8, 5, 4, 1)),
    ("round trips of 6, 10, 15 and 20 ms", (*_delays(1, 3, 6, 8), ("flows.2.access_delay", "5.5 ms"))),
    ("access links of 45 Mbit/s", (("network.access_rate", "45 Mbit/s"),)),
    ("access links of 1 Gbit/s", (("network.access_rate", "1 Gbit/s"),)),
    ("a random time over each packet", tuple((f"flows.{node}.overhead", "0.178 ms") for node in range(4))),
    ("gaps as Fig. 2 prints them", (("queue.law", "figure2"),)),
    ("gaps as Fig. 17 prints them", (("queue.law", "figure17"),)),
    ("idle decay for packets of 1000 bytes", (("queue.s", "178 us"),)),
)
"""Other values for what the text leaves open, one at a time."""

MOST_QUEUED = 40
"""Packets, as the text prints it of Fig. 3."""

UNRESPONSIVE = {rate: f"fig3, UDP of {rate} times the link" for rate in (2, 4)}
"""Four UDP sources that offer so many times the link's rate."""

CHOICES = (
    Choice("Delays of Fig. 4", "lost with the drawing; windows of 33 to 112 packets, roughly delay times bandwidth",
           "6, 12, 20 and 14 ms there and back for nodes 1 to 4; 2 ms of them on the congested link, each way",
           "33 and 112 packets are the products at 6 and 20 ms; the other two, and the order, are chosen"),
    Choice("Rate of the access links", "not in the text", "100 Mbit/s", "above the congested link's, so that windows "
           "arrive in bursts; the variants show that it hardly matters"),
    Choice("Idle decay", "“a typical transmission time of a small packet”", "that of 500 bytes", "see the manual"),
)  # fmt: skip

COMMANDS = (
    f"sluicegate run {SCENARIO} --seed 1",
    f'sluicegate run {SCENARIO} --set run.duration="2 s" --set run.warmup="1 s" --seed 1',
)


def experiments(settings: Settings) -> list[Experiment]:
    """The figure's second, the next one, the variants, and sources that do not respond."""
    text, name = api.read_scenario(SCENARIO)

    def of(id_: str, sets: Sets = ()) -> Experiment:
        return Experiment(id_, text, name, (*_NO_TRACE, *sets), KEEP)

    return [
        Experiment(
            FIRST, text, name, (), {**TRACE, red1993_filter.TABLE: red1993_filter.COLUMNS, RATES: tuple(_RATES)},
            derive=_measured, once=("packets",),
        ),
        of(NEXT, _NEXT),
        of(LONGER, _LONGER),
        *(of(f"fig3, {variant}", sets) for variant, sets in VARIANTS),
        *(of(f"fig3, {variant}, the next second", (*sets, *_NEXT)) for variant, sets in VARIANTS),
        *(
            Experiment(
                id_, unresponsive(rate), name, (("run.packets", "100000"), ("run.sample", "0.1 ms")),
                {**QUEUES, red1993_filter.TABLE: red1993_filter.COLUMNS}, derive=red1993_filter.measured,
            )
            for rate, id_ in UNRESPONSIVE.items()
        ),
    ]  # fmt: skip


def unresponsive(rate: int) -> str:
    """The scenario with four UDP sources in the place of the transfers, that offer `rate` times the link together."""
    text, _ = api.read_scenario(SCENARIO)
    head, tail = text.split("[[flows]]", 1)[0], text[text.index("[run]") :]
    flows = f'[[flows]]\nkind = "udp"\ncount = 4\nrate = "{rate * LINK_BPS // 4} bit/s"\npacket_size = "1000 B"\n'
    return f'{head}{flows}jitter = 1\nspread = "1 ms"\n\n{tail}'


def section(settings: Settings, results: Tables) -> Section:
    """Fig. 3 and the figure of the choices."""
    checks = [*_utilisation(results), *_control(results), *_load(results)]
    return Section((_figure(settings, results, checks), _unresponsive(settings, results, checks), _choices(results)),
                   checks)  # fmt: skip


# What was measured ------------------------------------------------------------------------------------------------


def bottleneck(results: Tables) -> pl.DataFrame:
    """The rows of the congested link."""
    return results["links"].filter(pl.col("link") == "bottleneck")


def losses_per_second(results: Tables) -> list[list[float]]:
    """For each seed the packets dropped per second while one, two, three and four transfers were active (Fig. 3)."""
    rows = results[RATES].filter(pl.col("experiment") == FIRST).sort("seed").select(_RATES)
    return [list(row) for row in rows.iter_rows()]


def losses(tables: Tables) -> Tables:
    """One row with the packets of a traced run that are dropped per second from each start to the next (`RATES`)."""
    packets = tables["packets"]
    times = packets.filter(~pl.col("event").is_in(red1993_filter.NOT_LOST))["time_s"].to_list()
    row = [sum(begin <= time < end for time in times) / (end - begin) for begin, end in pairwise((*STARTS_S, 1.0))]
    return {RATES: pl.DataFrame([row], schema=dict.fromkeys(_RATES, pl.Float64), orient="row")}


def _measured(tables: Tables) -> Tables:
    return red1993_filter.measured(tables) | losses(tables)


# Checks -----------------------------------------------------------------------------------------------------------


def _utilisation(results: Tables) -> list[Check]:
    runs = bottleneck(results).with_columns(percent=100 * pl.col("utilisation"))
    result = []
    for id_, experiment, value, when in (
        ("fig3-utilisation", FIRST, 76, "the second that Fig. 3 shows"),
        ("fig3-utilisation-next", NEXT, 82, "the second after it"),
    ):
        percent = interval_of(runs, experiment, "percent")
        result.append(
            Check(
                id=id_,
                source="Sec. V",
                kind="shown",
                paper=f"the congested link is used {value} % in {when}",
                measured=percent.mean,
                unit="%",
                bounds=printed(value, 1, percent),
            )
        )
    return result


def _queue(results: Tables) -> list[Check]:
    runs = bottleneck(results)
    queues = values_of(runs, FIRST, "queue_packets_max")
    within = 100 * sum(queue <= MOST_QUEUED for queue in queues) / len(queues)
    other = interval_of(runs, f"fig3, {VARIANTS[0][0]}", "queue_packets_max")
    used = interval_of(runs.with_columns(percent=100 * pl.col("utilisation")), f"fig3, {VARIANTS[0][0]}", "percent")
    return [
        Check(
            id="fig3-queue",
            source="Sec. V",
            kind="shown",
            paper=f"the queue never exceeds {MOST_QUEUED} packets",
            measured=interval(queues).mean,
            unit="packets, the longest queue of a run, mean over seeds",
            bounds=Bounds(None, MOST_QUEUED, f"at most {MOST_QUEUED}, as printed"),
            explanation="The text does not say which node is how far away. With the nearest first, as chosen, slow "
            f"starts pile up more than with the farthest first, where the link is used {used.mean:.0f} % however; and "
            "single runs differ by as much as is wanting.",
            evidence="fig3-queue-farthest-first",
        ),
        Check(
            id="fig3-queue-farthest-first",
            source=f"Sec. V; our variant: {VARIANTS[0][0]} for nodes 1 to 4",
            kind="shown",
            paper=f"the queue never exceeds {MOST_QUEUED} packets",
            measured=other.mean,
            unit=f"packets, the longest queue of a run, mean over seeds (± {other.margin:.2g})",
            bounds=Bounds(None, MOST_QUEUED, f"at most {MOST_QUEUED}, as printed"),
        ),
        Check(
            id="fig3-queue-runs",
            source="Sec. V",
            kind="shown",
            paper=f"in the one run that is shown the queue never exceeds {MOST_QUEUED} packets; tested: such a run is "
            "not rare here",
            measured=within,
            unit=f"% of {len(queues)} runs whose longest queue is at most {MOST_QUEUED} packets",
            bounds=Bounds(5, None, "one run in twenty at the least: what may be called rare"),
        ),
    ]


def _control(results: Tables) -> list[Check]:
    runs = bottleneck(results)
    tails = math.fsum(values_of(runs, FIRST, "lost_tail"))
    result = [
        *_queue(results),
        Check(
            id="fig3-no-overflow",
            source="Sec. V",
            kind="claim",
            paper="the buffer is large enough that RED, never the buffer, drops packets",
            measured=tails,
            unit="packets lost to a full buffer, all seeds",
            bounds=Bounds(0, 0, "none"),
        ),
    ]
    for id_, experiment, traffic in (
        ("fig3-average", FIRST, "Fig. 3"),
        *((f"unresponsive-{rate}-average", experiment, f"UDP of {rate} times the link's rate")
          for rate, experiment in UNRESPONSIVE.items()),
    ):  # fmt: skip
        traced = red1993_filter.rows(results, experiment)
        result += [
            Check(
                id=id_,
                source="Sec. VIII",
                kind="claim",
                paper=f"when RED drops at max_th, the calculated average does not exceed it; {traffic}",
                measured=max(red1993_filter.greatest(traced)),
                unit="packets, the greatest average of all seeds",
                bounds=Bounds(None, MAX_TH, f"{MAX_TH} as claimed, without room"),
                explanation="Every arrival at max_th and above is dropped, but it still moves the average towards the "
                "queue, which is longer until it has drained: the average lags by w_q.",
                evidence=f"{id_}-filter",
            ),
            *red1993_filter.checks(id_, "Secs. III and VIII", traffic, traced),
        ]
    for rate, experiment in UNRESPONSIVE.items():
        result.append(
            Check(
                id=f"unresponsive-{rate}-steady",
                source="Sec. VIII",
                kind="claim",
                paper="with sources that do not respond the average is still controlled; tested: after the first half "
                "of the run it is never half a packet above max_th",
                measured=max(_late_averages(results, experiment)),
                unit="packets, the greatest average in the second half of a run, of all seeds",
                bounds=Bounds(None, MAX_TH + 0.5, f"{MAX_TH} and a half: in the steady state the queue and its average "
                              "hardly differ"),
            )
        )  # fmt: skip
    return result


def _late_averages(results: Tables, experiment: str) -> list[float]:
    late = results["queue"].filter((pl.col("experiment") == experiment) & (pl.col("time_s") >= 0.5))
    return late.group_by("seed").agg(pl.col("average_packets").max()).sort("seed")["average_packets"].to_list()


def _load(results: Tables) -> list[Check]:
    rates = losses_per_second(results)
    slopes = interval([_slope(each) for each in rates])
    flows = results["flows"].filter(pl.col("experiment") == LONGER)
    near, far = (flows.filter(pl.col("flow") == flow).sort("seed")["throughput_bps"].to_list() for flow in (1, 3))
    nearer = interval([(first - second) / 1e6 for first, second in zip(near, far, strict=True)])
    return [
        Check(
            id="fig3-drops-with-connections",
            source="Sec. V",
            kind="claim",
            paper="as the number of connections increases, the gateway drops packets more often; tested: the slope of "
            "drops per second over 1, 2, 3 and 4 connections",
            measured=slopes.mean,
            unit="drops per second for each connection more",
            bounds=above(0, slopes),
        ),
        Check(
            id="fig3-shorter-round-trip-more",
            source="Sec. V",
            kind="claim",
            paper="connections with shorter round trips have the higher throughput; tested: node 1 (6 ms) against "
            "node 3 (20 ms) in seconds 1 to 10, when all four are active, seed by seed: in a single second chance "
            "decides",
            measured=nearer.mean,
            unit="Mbit/s that node 1 has more",
            bounds=above(0, nearer),
        ),
    ]


def _slope(values: Sequence[float]) -> float:
    """The slope of the line of least squares through values at 1, 2, 3, …"""
    places = [place - (len(values) + 1) / 2 for place in range(1, len(values) + 1)]
    return math.fsum(x * y for x, y in zip(places, values, strict=True)) / math.fsum(x * x for x in places)


# Figures ----------------------------------------------------------------------------------------------------------


def _of(checks: Sequence[Check], prefix: str) -> tuple[str, ...]:
    return tuple(check.id for check in checks if check.id.startswith(prefix))


def _spread(value: Interval, digits: int = 1) -> str:
    margin = "" if math.isnan(value.half_width) else f" ± {value.half_width:.{digits}f}"
    return f"{value.mean:.{digits}f}{margin}"


def _figure(settings: Settings, results: Tables, checks: Sequence[Check]) -> FigurePart:
    seed = settings.seeds[0]
    run = results["packets"].filter((pl.col("experiment") == FIRST) & (pl.col("seed") == seed))
    runs = bottleneck(results).with_columns(percent=100 * pl.col("utilisation"))
    lost = interval_of(runs, FIRST, "lost_packets")
    queues = values_of(runs, FIRST, "queue_packets_max")
    short = sum(queue <= MOST_QUEUED for queue in queues)
    rates = losses_per_second(results)
    mean_rates = [math.fsum(values) / len(values) for values in zip(*rates, strict=True)]
    return FigurePart(
        id="fig3",
        label="Figure 3",
        title="Four transfers with staggered starts",
        setup="Four transfers on the network of Fig. 4; nodes 1 to 4 start at 0, 0.2, 0.4 and 0.6 s. Above: the queue "
        "that each arrival finds and RED's average; dotted: its thresholds. Below: a mark for each packet as it "
        "arrives and one as it departs, at n mod 90 + (i − 1)·100 for packet n of node i; an X for each drop, and all "
        f"drops again in the bottom row. The run with seed {seed}.",
        paper_says="The link is used 76 % in this second and 82 % in the next; the queue never exceeds forty packets; "
        "the average changes slowly compared to the queue; the more connections, the more drops; no global "
        "synchronisation.",
        measured=f"Over all seeds the link is used {_spread(interval_of(runs, FIRST, 'percent'))} % in this second and "
        f"{_spread(interval_of(runs, NEXT, 'percent'))} % in the next. The longest queue of a run is "
        f"{_spread(interval(queues))} packets, and at most {MOST_QUEUED} in {short} of {len(queues)} runs. "
        f"{_spread(lost)} packets are dropped: with one to four connections "
        f"{', '.join(f'{rate:.0f}' for rate in mean_rates)} per second.",
        alt="Queue and average over time, and below packet numbers of four connections with their drops.",
        drawing=red1993_charts.packets_over_time(run, (MIN_TH, MAX_TH)),
        data=run,
        checks=_of(checks, "fig3-"),
    )


def _unresponsive(settings: Settings, results: Tables, checks: Sequence[Check]) -> FigurePart:
    seed = settings.seeds[0]
    data = results["queue"].filter(pl.col("experiment").is_in(list(UNRESPONSIVE.values())) & (pl.col("seed") == seed))
    panels = [
        (f"UDP offers {rate} times the link's rate", data.filter(pl.col("experiment") == id_))
        for rate, id_ in UNRESPONSIVE.items()
    ]
    greatest = [max(red1993_filter.greatest(red1993_filter.rows(results, id_))) for id_ in UNRESPONSIVE.values()]
    late = [max(_late_averages(results, id_)) for id_ in UNRESPONSIVE.values()]
    return FigurePart(
        id="unresponsive",
        label="Secs. III, IV and VIII",
        title="Sources that do not respond",
        setup="Four UDP sources start within a millisecond in the place of the four transfers. The queue and the "
        f"average every 0.1 ms, in the run with seed {seed}.",
        paper_says="As marked packets are dropped at max_th and above, the calculated average does not exceed max_th, "
        "or not significantly, even without a cooperating transport protocol.",
        measured="While the queue builds up the average lags behind it: the queue reaches max_th long before the "
        f"average does, and the average then still rises, to {number(greatest[0])} packets at twice and "
        f"{number(greatest[1])} at four times the link's rate. Once the queue is down it stays at max_th: in the "
        f"second half of a run the greatest average of all seeds is {late[0]:.2f} and {late[1]:.2f} packets.",
        alt="Queue and average over time with UDP of two and four times the link's rate.",
        drawing=red1993_charts.queues_over_time(panels, (MIN_TH, MAX_TH)),
        data=data,
        checks=_of(checks, "unresponsive-"),
    )


def _choices(results: Tables) -> FigurePart:
    names = [("as chosen", FIRST, NEXT)]
    names += [(variant, f"fig3, {variant}", f"fig3, {variant}, the next second") for variant, _ in VARIANTS]
    runs = bottleneck(results).with_columns(percent=100 * pl.col("utilisation"))
    means = summarise(runs, ("experiment",), ("percent", "queue_packets_max")).drop("seeds")
    data = pl.DataFrame(names, schema=["variant", "experiment", "next"], orient="row").join(
        means, on="experiment", how="left", maintain_order="left"
    ).join(
        means.select(next="experiment", next_percent_mean="percent_mean", next_percent_half_width="percent_half_width"),
        on="next", how="left", maintain_order="left",
    )  # fmt: skip
    shown, following = (data[f"{column}_mean"].to_list() for column in ("percent", "next_percent"))
    far = max(range(len(shown)), key=lambda at: abs(shown[at] - shown[0]))
    farthest = names[far][0]
    return FigurePart(
        id="fig3-choices",
        label="Our choices for Figure 3",
        title="What the text leaves open, and how much it matters",
        setup="The runs of Figure 3, changing one choice at a time. Means over seeds with 95 % intervals; dotted: what "
        "the text prints.",
        paper_says="76 % in the second shown, 82 % in the next, a queue of at most 40 packets. The delays are lost.",
        measured=f"The link is used {min(shown):.0f} to {max(shown):.0f} % in the second shown and "
        f"{min(following):.0f} to {max(following):.0f} % in the next. Farthest from what was chosen is, in the second "
        f"shown, “{farthest}”.",
        alt="Utilisation in both seconds and longest queue with other choices.",
        drawing=red1993_charts.variants(
            data,
            (("percent", "link used in the second shown (%)", 76), ("next_percent", "in the next second (%)", 82),
             ("queue_packets_max", "longest queue (packets)", 40)),
        ),
        data=data,
    )  # fmt: skip
