"""The CHOKe report's Figs. 10 to 19: RED over load, more candidates, more UDP flows."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..experiments.engine import Tables
from ..quantities import significant as number
from ..report import FigurePart
from . import Settings, charts
from .choke1999_cases import (
    CHOKE,
    DROP_3,
    DROP_6,
    FIVE,
    FIVE_FAIR_BPS,
    FIVE_RATES,
    RATES,
    RED,
    THREE,
    TWO,
    UDP_FLOWS,
    Case,
)
from .choke1999_figures import (
    LOAD_COLUMNS,
    QUEUE_COLUMNS,
    TICKS,
    Panels,
    draw_load,
    draw_queue,
    load_tables,
    means_of,
    name_of,
    throughput_over_time,
)
from .points import interval_of

EACH = "each UDP source sends (Mbit/s)"
PER_FLOW_PERCENT = 20.0
"""What the report prints of Fig. 17: each UDP flow's part of the queue."""

_SAYS_IN_TIME = {
    12: "CHOKe with several candidates improves on the basic scheme of Figure 4.",
    13: "The difference between two and three candidates is hardly noticeable, so that two seem the optimal "
    "cost-effective solution.",
}


def figures(settings: Settings, results: Tables, runs: pl.DataFrame) -> tuple[FigurePart, ...]:
    """Figs. 10 to 19."""
    over_time = [
        throughput_over_time(number, cases, _SAYS_IN_TIME[number], settings, results, runs)
        for number, cases in ((12, TWO), (13, THREE))
    ]
    return (_red_load(runs), _red_queue(runs), *over_time, _drop_3_queue(runs), _drop_3_load(runs), *_five(runs))


def _over(title: str, case: Case, rates: Sequence[float] = RATES) -> tuple[str, tuple[Case, ...]]:
    """A panel: the case at each rate."""
    return title, tuple(case.at(rate) for rate in rates)


_RED: Panels = (_over("RED, 30 and 60", RED[0]), _over("for comparison: CHOKe, 30 and 60 (Figs. 8, 9)", CHOKE[0]))
_DROP_3: Panels = (
    _over("drop 3 (2 candidates), 30 and 60", DROP_3),
    _over("for comparison: basic CHOKe (Figs. 8, 9)", CHOKE[0]),
)


def _plain(case: Case, runs: pl.DataFrame, column: str, factor: float, unit: str) -> str:
    """A mean and its unit."""
    return f"{number(interval_of(runs, case.id, column).mean * factor)} {unit}"


# Figures 10 and 11 ------------------------------------------------------------------------------------------------


def _red_load(runs: pl.DataFrame) -> FigurePart:
    tables = load_tables(_RED, runs, (*LOAD_COLUMNS, "tcp_loss_ratio"))
    at = [RED[0].at(rate) for rate in (1.0, 2.0, RATES[-1])]
    return FigurePart(
        id="fig10",
        label="Figure 10",
        title="RED under different loads: throughput and loss",
        setup="As Figure 8, with RED and the thresholds 30 and 60 that the report states with Figure 9. "
        "Means over seeds with 95 % intervals.",
        paper_says="RED cannot protect against greedy connections: the unresponsive flow uses up all of the bandwidth "
        "and starves the well-behaving flows.",
        measured="UDP receives "
        + ", ".join(
            f"{_plain(case, runs, 'udp_bps', 1e-3, 'kbit/s')} when it sends {case.udp_mbps:g} Mbit/s" for case in at
        )
        + f"; the mean TCP flow is left with {_plain(at[1], runs, 'tcp_flow_bps', 1e-3, 'kbit/s')} at 2 Mbit/s. UDP "
        f"loses {_plain(at[0], runs, 'udp_loss_ratio', 100, '%')} of its packets at 1 Mbit/s, TCP "
        f"{_plain(at[0], runs, 'tcp_loss_ratio', 100, '%')}.",
        alt="Throughput of UDP, all TCP and the mean TCP flow, and UDP's loss, under RED and CHOKe over UDP's rate.",
        drawing=draw_load(_RED, tables),
        data=pl.concat(tables),
    )


def _red_queue(runs: pl.DataFrame) -> FigurePart:
    tables = load_tables(_RED, runs, (*QUEUE_COLUMNS, "forced"))
    last = [RED[0].at(RATES[-1])]
    return FigurePart(
        id="fig11",
        label="Figure 11",
        title="RED under different loads: who is in the queue",
        setup="The runs of Figure 10, drawn as Figure 9.",
        paper_says="Under heavy load RED becomes Drop Tail, since the queue goes above the maximum threshold and all "
        "arrivals are dropped.",
        measured=f"At 10 Mbit/s UDP has {means_of(last, runs, 'udp_queued', 1, 'packets')} in the queue, TCP "
        f"{means_of(last, runs, 'tcp_queued', 1, 'packets')}; the average reaches "
        f"{_plain(last[0], runs, 'average_max', 1, 'packets')}, and {_plain(last[0], runs, 'forced', 100, '%')} of the "
        "losses come from an average at the maximum threshold or above.",
        alt="Packets of UDP and TCP in the queue and the average, under RED and under CHOKe, over UDP's rate.",
        drawing=draw_queue(_RED, tables),
        data=pl.concat(tables),
    )


# Figures 14 and 15 ------------------------------------------------------------------------------------------------


def _drop_3_queue(runs: pl.DataFrame) -> FigurePart:
    tables = load_tables(_DROP_3, runs, QUEUE_COLUMNS)
    two = [_plain(case, runs, "average_mean", 1, "packets") for case in (DROP_3, CHOKE[0])]
    less = [
        basic - drop for drop, basic in zip(*(table["average_mean_mean"].to_list() for table in tables), strict=True)
    ]
    return FigurePart(
        id="fig14",
        label="Figure 14",
        title="CHOKe with drop 3 under different loads: who is in the queue",
        setup="As Figure 9 with two candidates, which the report calls drop 3: two victims and the arrival. "
        "Thresholds 30 and 60, as Section 5 says.",
        paper_says="The average queue is kept smaller than with the basic scheme, so that delays are shorter.",
        measured=f"At 2 Mbit/s the average is {two[0]}, against {two[1]} with one candidate. It is smaller at "
        f"{sum(each > 0 for each in less)} of the {len(less)} rates; the difference lies between {min(less):+.2f} and "
        f"{max(less):+.2f} packets.",
        alt="Packets of UDP and TCP in the queue and the average, with two candidates and with one, over UDP's rate.",
        drawing=draw_queue(_DROP_3, tables),
        data=pl.concat(tables),
    )


def _drop_3_load(runs: pl.DataFrame) -> FigurePart:
    tables = load_tables(_DROP_3, runs, LOAD_COLUMNS)
    flow = [_plain(case, runs, "tcp_flow_bps", 1e-3, "kbit/s") for case in (DROP_3, CHOKE[0])]
    peaks = [max(table["udp_bps_mean"].to_list()) / 1e3 for table in tables]
    return FigurePart(
        id="fig15",
        label="Figure 15",
        title="CHOKe with drop 3 under different loads: throughput and loss",
        setup="The runs of Figure 14, drawn as Figure 8.",
        paper_says="Drop 3 has better control over UDP than the basic scheme, but the improvement is not radical: "
        "around 10 to 15 %.",
        measured=f"UDP gets {number(peaks[0])} kbit/s at its best rate instead of {number(peaks[1])}. A TCP transfer "
        f"receives {flow[0]} beside UDP at 2 Mbit/s, against {flow[1]} with one candidate.",
        alt="Throughput of UDP, all TCP and the mean TCP flow, and UDP's loss, with two candidates and with one.",
        drawing=draw_load(_DROP_3, tables),
        data=pl.concat(tables),
    )


# Figures 16 to 19 -------------------------------------------------------------------------------------------------


def _five(runs: pl.DataFrame) -> list[FigurePart]:
    basic = _over("basic CHOKe, 5 UDP, 30 and 60", FIVE, FIVE_RATES)
    drop_6 = _over("drop 6 (5 candidates), 5 UDP, 30 and 60", DROP_6, FIVE_RATES)
    again = ("for comparison: basic CHOKe, 5 UDP (Figs. 16, 17)", basic[1])
    return [
        _five_load(16, FIVE, (basic,), runs),
        _five_queue(17, FIVE, (basic,), runs),
        _five_load(18, DROP_6, (drop_6, again), runs),
        _five_queue(19, DROP_6, (drop_6, again), runs),
    ]


_SAYS_FIVE = {
    16: "The throughput of UDP goes up monotonically with its rate, so that almost no bandwidth is left for TCP.",
    17: "The UDP flows occupy almost all of the buffer, but each takes only around 20 % of the queue: the chance of "
    "catching a right victim is low.",
    18: "Drop 6 reinforces TCP's throughput by its vigorous dropping.",
    19: "With more candidates the chance of catching the bad flows is greater, and those flows are penalised.",
}
_FIVE_SETUP = (
    "Five UDP sources, each of which sends 0.1 to 10 Mbit/s, so that all send five times as much, against 32 TCP "
    "transfers on 1 Mbit/s; thresholds 30 and 60"
)


def _five_load(figure: int, case: Case, panels: Panels, runs: pl.DataFrame) -> FigurePart:
    tables = load_tables(panels, runs, LOAD_COLUMNS)
    texts = [
        f"{_plain(at, runs, 'udp_bps', 1e-3, 'kbit/s')} and a TCP transfer "
        f"{_plain(at, runs, 'tcp_flow_bps', 1e-3, 'kbit/s')} when each sends {at.udp_mbps:g} Mbit/s"
        for at in (case.at(rate) for rate in (0.3, 2.0, FIVE_RATES[-1]))
    ]
    return FigurePart(
        id=f"fig{figure}",
        label=f"Figure {figure}",
        title=f"{name_of(case)} against {UDP_FLOWS} UDP flows: throughput and loss",
        setup=f"{_FIVE_SETUP}. UDP: all five together; its loss is that of the mean UDP flow. Fewer rates than in the "
        "other figures over load. Means over seeds with 95 % intervals.",
        paper_says=_SAYS_FIVE[figure],
        measured=f"The five together receive {'; '.join(texts)}. An equal share is {FIVE_FAIR_BPS / 1e3:.1f} kbit/s.",
        alt=f"Throughput of five UDP flows, all TCP and the mean TCP flow, and UDP's loss, under {name_of(case)}.",
        drawing=draw_load(panels, tables, xlabel=EACH),
        data=pl.concat(tables),
    )


def _five_queue(figure: int, case: Case, panels: Panels, runs: pl.DataFrame) -> FigurePart:
    queued = pl.col("udp_queued") + pl.col("tcp_queued")
    shares = runs.with_columns(
        udp_percent=100 * pl.col("udp_queued") / queued,
        tcp_percent=100 * pl.col("tcp_queued") / queued,
        udp_flow_percent=100 / UDP_FLOWS * pl.col("udp_queued") / queued,
    )
    tables = load_tables(panels, shares, (*QUEUE_COLUMNS, "udp_percent", "tcp_percent", "udp_flow_percent"))
    last = case.at(FIVE_RATES[-1])
    drawn = [
        (title, table, cases[0].thresholds or (0, 0)) for (title, cases), table in zip(panels, tables, strict=True)
    ]
    return FigurePart(
        id=f"fig{figure}",
        label=f"Figure {figure}",
        title=f"{name_of(case)} against {UDP_FLOWS} UDP flows: who is in the queue",
        setup=f"The runs of Figure {figure - 1}. Above: packets in the queue, means over time and seeds with 95 % "
        "intervals; dotted: the thresholds. Below: the same as parts of the queue, with that of the mean UDP flow.",
        paper_says=_SAYS_FIVE[figure],
        measured=f"When each sends 10 Mbit/s the UDP flows have {_plain(last, shares, 'udp_percent', 1, '%')} of the "
        f"queue, each {_plain(last, shares, 'udp_flow_percent', 1, '%')} on average; the queue holds "
        f"{_plain(last, shares, 'queue_mean', 1, 'packets')}.",
        alt=f"Packets of five UDP flows and TCP in the queue and their parts of it, under {name_of(case)}.",
        drawing=charts.queue_shares(drawn, TICKS, EACH, {panels[-1][0]: PER_FLOW_PERCENT}),
        data=pl.concat(tables),
    )
