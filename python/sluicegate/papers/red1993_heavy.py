"""RED 1993, Sec. VIII and Fig. 9: 41 short connections in both directions, RED at both gateways.

The network and the traffic are those of the scenario `red1993_fig9`, which says what of them follows from the text.
Gateway A is the link `bottleneck`, gateway B the link `reverse`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import polars as pl

from .. import scenario as api
from ..experiments.engine import Experiment, Tables
from ..report import Choice, FigurePart
from ..stats import difference, interval
from . import Settings, red1993_charts, red1993_filter
from .checks import Bounds, Check, above, printed
from .points import mean, values_of
from .red1993 import TRACE, Section
from .red1993_filter import MAX_TH, MIN_TH, NOT_LOST
from .red1993_simple import FIRST

SCENARIO = "red1993_fig9"
ID = "fig9"
GATEWAYS = (("A", "bottleneck", 61), ("B", "reverse", 59))
"""The gateways: name, link, and the utilisation that the text prints, per cent."""

BIN_S = 0.05
"""How long the intervals are over which averages and drops are compared: a few round trips."""

CONGESTION = "fig9_congestion"
_CONGESTION = ("link", "follows", "data_arrived", "data_lost", "acks_arrived", "acks_lost")

CHOICES = (
    Choice("Traffic of Fig. 9", "“chosen rather arbitrarily”; 41 connections, windows of 8 or 16, 20 to 400 packets",
           "36 transfers and 5 TELNET sessions; sizes and windows in the scenario, starts drawn", "the utilisation "
           "follows from what they send, so that it is set beside the paper's, no more"),
    Choice("Delays of Fig. 10", "lost with the drawing; round trips vary by a factor of 4 to 1", "6 to 24 ms", "the "
           "sixteen pairs of nodes 0.5, 1, 3 and 5 ms away from gateways that are 2 ms apart"),
    Choice("Which direction has 61 %", "“in one direction”", "that of gateway A", "it has one connection more"),
    Choice("TELNET", "“a few” connections", "five; gaps exponential with a mean of 1.1 s", "in one second they send a "
           "packet or two each"),
)  # fmt: skip

COMMANDS = (f"sluicegate run {SCENARIO} --seed 1",)


def experiments(settings: Settings) -> list[Experiment]:
    """The one simulation."""
    text, name = api.read_scenario(SCENARIO)
    keep = {**TRACE, red1993_filter.TABLE: red1993_filter.COLUMNS, CONGESTION: _CONGESTION}
    return [Experiment(ID, text, name, (), keep, derive=measured, once=("packets",))]


# What was measured ------------------------------------------------------------------------------------------------


def measured(tables: Tables) -> Tables:
    """For each link of a run what `red1993_filter` measures, and a row of `CONGESTION`: `follows`, and early drops and
    arrivals in the band between the thresholds, of data and of acknowledgements."""
    rows = []
    for (link,), run in tables["packets"].group_by(["link"], maintain_order=True):
        row: list[object] = [link, follows(run)]
        for to in ("receiver", "sender"):
            part = run.filter(pl.col("to") == to)
            band = pl.col("average_packets").is_between(MIN_TH, MAX_TH, closed="left")
            row += [part.filter((pl.col("event") == "arrival") & band).height,
                    part.filter(pl.col("event") == "early").height]  # fmt: skip
        rows.append(row)
    types = {"link": pl.String, "follows": pl.Float64}
    schema = {column: types.get(column, pl.Int64) for column in _CONGESTION}
    return red1993_filter.measured(tables) | {CONGESTION: pl.DataFrame(rows, schema=schema, orient="row")}


def follows(run: pl.DataFrame) -> float:
    """The correlation over intervals of `BIN_S` of the mean average with the part of the arrivals that is dropped; 0
    where nothing varies."""
    found: dict[int, list[float]] = {}
    lost: Counter[int] = Counter()
    for time, event, average in run.select("time_s", "event", "average_packets").iter_rows():
        if event == "arrival":
            found.setdefault(int(time / BIN_S), []).append(average)
        elif event not in NOT_LOST:
            lost[int(time / BIN_S)] += 1
    means = [mean(averages) for averages in found.values()]
    parts = [lost[at] / len(averages) for at, averages in found.items()]
    x, y = ([value - mean(values) for value in values] for values in (means, parts))
    both = math.fsum(a * a for a in x) * math.fsum(b * b for b in y)
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / math.sqrt(both) if both > 0 else 0.0


def unlike(runs: pl.DataFrame) -> tuple[float, float]:
    """Early drops per arrival of data in the band between the thresholds less those of acknowledgements, per cent, all
    runs of `CONGESTION` together; and the standard error of that, were both equally likely."""
    arrived, lost = (
        [math.fsum(runs[f"{what}_{which}"].to_list()) for what in ("data", "acks")] for which in ("arrived", "lost")
    )
    rates = [loss / max(1, count) for loss, count in zip(lost, arrived, strict=True)]
    share = math.fsum(lost) / max(1.0, math.fsum(arrived))
    error = math.sqrt(share * (1 - share) * sum(1 / max(1, count) for count in arrived))
    return 100 * (rates[0] - rates[1]), 100 * error


# Checks -----------------------------------------------------------------------------------------------------------


def _checks(results: Tables) -> list[Check]:
    result: list[Check] = []
    congestion = results[CONGESTION]
    links = results["links"].filter(pl.col("experiment") == ID).with_columns(percent=100 * pl.col("utilisation"))
    for (name, link, value), direction in zip(GATEWAYS, ("one", "the other"), strict=True):
        used = interval(values_of(links.filter(pl.col("link") == link), ID, "percent"))
        correlations = interval(congestion.filter(pl.col("link") == link).sort("seed")["follows"].to_list())
        result += [
            Check(
                id=f"fig9-utilisation-{name.lower()}",
                source="Sec. VIII",
                kind="shown",
                paper=f"the congested link is used {value} % over the second, in {direction} direction",
                measured=used.mean,
                unit="%",
                bounds=printed(value, 1, used),
            ),
            *red1993_filter.checks(
                f"fig9-average-{name.lower()}", "Secs. III and VIII", f"Fig. 9, gateway {name}",
                red1993_filter.rows(results, ID, link),
            ),
            Check(
                id=f"fig9-drops-follow-{name.lower()}",
                source="Sec. VIII",
                kind="claim",
                paper=f"as congestion increases at gateway {name}, the average and the rate of marking both increase; "
                f"tested: their correlation over intervals of {1000 * BIN_S:.0f} ms",
                measured=correlations.mean,
                unit="correlation of the average with the part of arrivals that is dropped",
                bounds=above(0, correlations),
            ),
        ]  # fmt: skip
    many, few = (
        [100 * part for part in red1993_filter.rows(results, id_)["drop_ratio"].to_list()] for id_ in (ID, FIRST)
    )
    more = difference(many, few)
    apart, error = unlike(congestion)
    return [
        *result,
        Check(
            id="fig9-more-drops-than-fig3",
            source="Sec. VIII",
            kind="claim",
            paper="many connections with small windows need a higher rate of drops than the few with large windows of "
            "Fig. 3; tested: drops per arrival at gateway A less those of Fig. 3, seed by seed",
            measured=more.mean,
            unit="percentage points",
            bounds=above(0, more),
        ),
        Check(
            id="fig9-short-as-likely",
            source="Sec. VIII",
            kind="claim",
            paper="with a queue measured in packets short packets are just as likely to be dropped as longer ones; "
            "tested: early drops per arrival between the thresholds, of data less of acknowledgements",
            measured=apart,
            unit="percentage points, both gateways, all seeds",
            bounds=Bounds(-3 * error, 3 * error, f"0, give or take three standard errors ({error:.2g} each)"),
        ),
    ]


# Figures ----------------------------------------------------------------------------------------------------------


def section(settings: Settings, results: Tables) -> Section:
    """Fig. 9."""
    checks = _checks(results)
    return Section((_figure(settings, results, checks),), checks)


def _figure(settings: Settings, results: Tables, checks: Sequence[Check]) -> FigurePart:
    seed = settings.seeds[0]
    run = results["packets"].filter((pl.col("experiment") == ID) & (pl.col("seed") == seed))
    number = pl.col("first_byte") // red1993_charts.MSS
    data = run.with_columns(number=number).filter((pl.col("to") == "receiver") & (pl.col("data_bytes") > 0))
    drops = data.filter(~pl.col("event").is_in(NOT_LOST))
    every = run.filter(~pl.col("event").is_in(NOT_LOST))
    marks = data.filter((pl.col("link") == GATEWAYS[0][1]) & pl.col("event").is_in(NOT_LOST))
    links = results["links"].filter(pl.col("experiment") == ID)
    used, lost = (
        [interval([factor * each for each in values_of(links.filter(pl.col("link") == link), ID, column)])
         for _, link, _ in GATEWAYS]
        for column, factor in (("utilisation", 100.0), ("lost_packets", 1.0))
    )  # fmt: skip
    margins = ["" if math.isnan(each.half_width) else f" ± {each.half_width:.1f}" for each in used]
    flows = results["flows"].filter((pl.col("experiment") == ID) & (pl.col("seed") == seed))
    return FigurePart(
        id="fig9",
        label="Figure 9",
        title="Heavy congestion, two-way traffic, short connections",
        setup=f"{flows.height} connections on the network of Fig. 10 for one second, half of them each way. Above: the "
        "queues at both gateways as arrivals find them, the averages, the thresholds, and an X for each packet dropped "
        "there. Below: a mark for each packet of data as it arrives at gateway A and one as it departs, by its number "
        "in its connection; an X for each packet of data dropped by either gateway, and in the bottom row for every "
        f"packet. The run with seed {seed}.",
        paper_says="The links are used 61 % and 59 %. RED controls the average; as congestion increases, average and "
        "rate of marking both increase; heavy congestion needs more drops than in Fig. 3.",
        measured=f"The links are used {used[0].mean:.1f}{margins[0]} % and {used[1].mean:.1f}{margins[1]} %; "
        f"{lost[0].mean:.0f} and {lost[1].mean:.0f} packets are dropped on average over seeds. What the transfers send "
        "was chosen here, so that the utilisation shows no more than that such a traffic exists.",
        alt="Two queues with averages and drops, and packet numbers of many connections over one second.",
        drawing=red1993_charts.two_queues(
            [(f"gateway {name}", run.filter(pl.col("link") == link)) for name, link, _ in GATEWAYS],
            marks, drops, every["time_s"].to_list(), (MIN_TH, MAX_TH),
        ),
        data=run,
        checks=tuple(check.id for check in checks),
    )  # fmt: skip
