"""Sec. VIII and Fig. 9: 41 short connections in both directions, RED at both gateways.

The network and the traffic are those of the scenario `red1993_fig9`, which says what of them follows from the text.
Gateway A is the link `bottleneck`, gateway B the link `reverse`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from ...experiments.engine import Tables
from ...plot import style as plot
from ...reproduce import (
    LINKS,
    Check,
    Drawing,
    Quantity,
    Rows,
    Runs,
    Study,
    above,
    claim,
    figure,
    number,
    percent,
    printed,
    reference,
    within,
)
from . import average
from .charts import EVENTS, MSS, crosses, dropped, points, queue_and_average, tall
from .fig03 import staggered
from .network import MAX_TH, MIN_TH, NOT_DROPPED, lasting

SCENARIO = "red1993_fig9"
GATEWAYS = (("a", "bottleneck", 61, "one direction"), ("b", "reverse", 59, "the other direction"))
"""The gateways: name, link, and the utilisation that the text prints, per cent."""

BIN_S = 0.05
"""How long the intervals are over which averages and drops are compared: a few round trips."""

COUNTED = ("data_arrived", "data_dropped", "acks_arrived", "acks_dropped")


def measured(tables: Tables) -> Tables:
    """For each link of a run what `average` measures, and a row of `congestion`: `follows`, and arrivals in the band
    between the thresholds and early drops, of data and of acknowledgements."""
    rows = []
    for (link,), run in tables["packets"].group_by(["link"], maintain_order=True):
        found: list[object] = [link, follows(run)]
        for to in ("receiver", "sender"):
            part = run.filter(pl.col("to") == to)
            band = pl.col("average_packets").is_between(MIN_TH, MAX_TH, closed="left")
            found += [part.filter((pl.col("event") == "arrival") & band).height,
                      part.filter(pl.col("event") == "early").height]  # fmt: skip
        rows.append(found)
    schema = {"link": pl.String, "follows": pl.Float64, **dict.fromkeys(COUNTED, pl.Int64)}
    return average.measured(tables) | {"congestion": pl.DataFrame(rows, schema=schema, orient="row")}


def follows(run: pl.DataFrame) -> float:
    """The correlation over intervals of `BIN_S` of the mean average with the part of the arrivals that is dropped; 0
    where nothing varies."""
    arrived = pl.col("event") == "arrival"
    bins = run.group_by((pl.col("time_s") / BIN_S).floor(), maintain_order=True).agg(
        average=pl.col("average_packets").filter(arrived).mean(), part=dropped.sum() / arrived.sum()
    )
    return float(bins.drop_nulls("average").select(pl.corr("average", "part").fill_nan(0)).item())


heavy = Study(
    SCENARIO, settings=lasting(1, sample_s=0.001), derive=measured, tables={"packets": EVENTS}, once=("packets",),
    measure={
        name: measure
        for gateway, link, *_ in GATEWAYS
        for name, measure in {
            **average.measures(link, f"_{gateway}"),
            f"used_{gateway}": percent(LINKS.where(link=link)["utilisation"], "utilisation"),
            f"follows_{gateway}": Rows("congestion").where(link=link)["follows"],
            **{f"{column}_{gateway}": Rows("congestion").where(link=link)[column] for column in COUNTED},
        }.items()
    },
)  # fmt: skip


def unlike(data_arrived: float, data_dropped: float, acks_arrived: float, acks_dropped: float) -> tuple[float, float]:
    """Early drops per arrival of data less those of acknowledgements, per cent; and the standard error of that, were
    both equally likely."""
    share = (data_dropped + acks_dropped) / (data_arrived + acks_arrived)
    error = math.sqrt(share * (1 - share) * (1 / data_arrived + 1 / acks_arrived))
    return 100 * (data_dropped / data_arrived - acks_dropped / acks_arrived), 100 * error


@plot.drawing
def queues_and_packets(heavy: Runs, **others: object) -> Drawing:
    """One run: both queues with averages and drops; below them the packet numbers of all connections, with drops."""
    run = heavy.rows("packets")
    figure, (*above, bottom) = tall((2.2, 2.2, 4.6))
    for axes, (gateway, link, *_) in zip(above, GATEWAYS, strict=True):
        here = run.filter(pl.col("link") == link)
        axes.set_title(f"gateway {gateway.upper()}")
        queue_and_average(axes, here.filter(pl.col("event") == "arrival"))
        times, floor = here.filter(dropped)["time_s"], -0.09 * axes.get_ylim()[1]
        crosses(axes, times, [floor] * len(times))
        axes.set_ylim(bottom=2 * floor)
    data = run.with_columns(number=pl.col("first_byte") // MSS).filter(
        (pl.col("to") == "receiver") & (pl.col("data_bytes") > 0)
    )
    points(bottom, data.filter((pl.col("link") == GATEWAYS[0][1]) & pl.col("event").is_in(NOT_DROPPED)), "number", 2.2)
    drops, every = data.filter(dropped), run.filter(dropped)["time_s"]
    crosses(bottom, drops["time_s"], drops["number"])
    crosses(bottom, every, [-20.0] * len(every))
    bottom.set_title("packets of each connection at gateway A")
    bottom.set_ylim(bottom=-35)
    bottom.set_ylabel("packet number")
    bottom.set_xlim(0, 1)
    bottom.set_xlabel("time (s)")
    plot.legend(figure, [*above, bottom])
    return Drawing(figure, run)


@figure(9, "Heavy congestion, two-way traffic, short connections", source="Sec. VIII", chart=queues_and_packets,
        heavy=heavy, few=staggered)  # fmt: skip
def fig9(heavy: Runs, few: Runs) -> Iterator[Check]:
    """41 connections on the network of Fig. 10 for one second, half of them each way. Above: the queues at both
    gateways as arrivals find them, the averages, the thresholds, and an X for each packet dropped there. Below: a mark
    for each packet of data as it arrives at gateway A and one as it departs, by its number in its connection; an X for
    each packet of data dropped by either gateway, and in the bottom row one for every packet dropped,
    acknowledgements included. The run with seed {seed}. The paper does not say how much each transfer
    sends; we chose it, so the utilisation shows only that such traffic can use the links as much as the paper says."""
    for gateway, _, used, direction in GATEWAYS:
        where = f"gateway {gateway.upper()}"
        yield reference(f"the congested link is used {used} % over the second, in {direction}",
                        heavy[f"used_{gateway}"].as_(where=where), printed(used, 1), id="utilisation")  # fmt: skip
        yield from average.is_eq_1(heavy, f"_{gateway}", where)
        together = heavy[f"follows_{gateway}"].as_(
            f"correlation over intervals of {1000 * BIN_S:.0f} ms of the average with the part of arrivals that is "
            "dropped", where=where,
        )  # fmt: skip
        yield claim("as congestion increases at the gateway, the average and the rate of marking both increase",
                    together, above(0), id="drops-follow")  # fmt: skip
    more = (heavy["dropped_a"] - few["dropped"]).as_(
        "drops per arrival at gateway A less those of Fig. 3", "percentage points"
    )
    yield claim("many connections with small windows need a higher rate of drops than the few with large windows of "
                "Fig. 3", more, above(0), id="more-drops-than-fig3")  # fmt: skip

    def counted(column: str) -> Quantity:
        return (heavy[f"{column}_a"] + heavy[f"{column}_b"]).total()

    apart, error = unlike(*(counted(column).mean for column in COUNTED))
    yield claim(
        "with a queue measured in packets short packets are just as likely to be dropped as longer ones",
        number(apart, "percentage points", "early drops per arrival between the thresholds: data's less acks'"),
        within(-3 * error, 3 * error, f"0, give or take three standard errors ({error:.2g} each)"),
        id="short-as-likely",
    )  # fmt: skip
