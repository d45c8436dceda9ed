"""The figures of DCN 2004 with data: Figs. 1, 2 and 5 to 20, Tables 1 and 2, and what else its checks look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ..quantities import significant as number
from ..report import FigurePart
from ..stats import Interval, interval
from . import dcn2004_charts as charts
from .dcn2004_cases import LOADS
from .dcn2004_charts import STYLES, Curves
from .dcn2004_load import Calibration
from .dcn2004_points import CAP_S, LARGE_BYTES, Results
from .dcn2004_tables import TABLE_1, TABLE_2, measured, mix_measured

UP_TO_2_S = tuple(round(0.02 * step, 2) for step in range(101))
LOG_TIMES = tuple(float(f"{value:.3g}") for value in np.geomspace(0.1, 100, 61))
TAIL_TIMES = tuple(float(f"{value:.3g}") for value in np.geomspace(0.1, 60, 61))
SIZES = tuple(step * 10**power for power in range(2, 8) for step in (1, 2, 4, 6, 8) if step * 10**power <= 40_000_000)
BEST = ("uncongested", "drop-tail", "pi-ecn", "dcn", "afd-ecn", "rio-ps-ecn")
"""The best version of each design, which the paper compares."""

AQM = ("pi-ecn", "dcn", "afd-ecn", "rio-ps-ecn")
WITHIN = "exchanges done within this time"
TIME = "response time (s)"


def figures(results: Results) -> tuple[FigurePart, ...]:
    """All of them, in the paper's order."""
    by_load = {9: 90, 11: 98, 13: 105}
    sizes = {10: 90, 12: 98, 14: 105}
    small = {15: 90, 17: 98}
    large = {16: 90, 18: 98}
    parts = [_sizes(results, 1), _sizes(results, 2)]
    parts += [_scheme(results, figure) for figure in (5, 6, 7, 8)]
    for figure in range(9, 19):
        if figure in by_load:
            parts.append(_comparison(results, figure, by_load[figure]))
        elif figure in sizes:
            parts.append(_bytes(results, figure, sizes[figure]))
        elif figure in small:
            parts.append(_small(results, figure, small[figure]))
        else:
            parts.append(_large(results, figure, large[figure]))
    return (*parts, _table_1(results), _mix(results, 19), _mix(results, 20), _table_2(results), _beside(results))


# Curves -----------------------------------------------------------------------------------------------------------


def _rows(scheme: str, xs: Sequence[float], shares: Sequence[Interval]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "scheme": [scheme] * len(xs),
            "x": [float(x) for x in xs],
            "share_mean": [each.mean for each in shares],
            "share_half_width": [each.half_width for each in shares],
        },
        schema_overrides={"share_mean": pl.Float64, "share_half_width": pl.Float64},
    ).with_columns(pl.col("share_half_width").fill_nan(None))


def _curves(
    results: Results,
    title: str,
    schemes: Sequence[str],
    load: int | str,
    times_s: Sequence[float],
    least: int = 0,
    most: int = 1 << 40,
) -> Curves:
    """Distribution functions of response times."""
    tables = [_rows(key, times_s, results.shares(f"{key}-{load}", times_s, least, most)) for key in schemes]
    return Curves(title, pl.concat(tables))


def _data(panels: Sequence[Curves]) -> pl.DataFrame:
    return pl.concat([panel.table.select(pl.lit(panel.title).alias("panel"), pl.all()) for panel in panels])


def _of(results: Results, schemes: Sequence[str], load: int | str, name: str = "capped") -> str:
    """Each scheme's mean response time, 2 s at most, in words."""
    parts = []
    for key in schemes:
        value = results.interval(f"{key}-{load}", name)
        spread = "" if np.isnan(value.half_width) else f" ± {value.half_width * 1e3:.0f}"
        parts.append(f"{STYLES[key].label} {value.mean * 1e3:.0f}{spread}")
    return ", ".join(parts)


# Figures 1 and 2 --------------------------------------------------------------------------------------------------


def _sizes(results: Results, figure: int) -> FigurePart:
    column, what = ("exchanges", "responses") if figure == 1 else ("response_bytes", "bytes in responses")
    frame = _rows("uncongested", SIZES, results.drawn(column, SIZES))
    panels = [Curves("all exchanges of the uncongested runs", frame)]
    few, small, huge = (100 * each.mean for each in results.drawn(column, (3_000, 10_000, 1_000_000)))
    says = (
        "About 90 % of responses are 10,000 bytes or less; about 70 % have 2,000 to 3,000 bytes at most; less than 1 % "
        "exceed 1 MB."
        if figure == 1
        else "Responses of 10,000 bytes or less account for less than 25 % of the bytes, those above 1 MB for 25 %; "
        "those of 2,000 to 3,000 bytes for 6 to 8 %."
    )
    return FigurePart(
        id=f"fig{figure}",
        label=f"Figure {figure}",
        title="Response sizes" if figure == 1 else "Bytes by response size",
        setup="Sizes of all responses that came in the measured time of the uncongested runs, of all loads. Band: 95 % "
        "interval over seeds.",
        paper_says=says,
        measured=f"{small:.1f} % of {what} are of 10,000 bytes or less, {few:.1f} % of 3,000 or less, {100 - huge:.2g} "
        "% above 1 MB.",
        alt=f"Distribution function of {what} over the size of the response.",
        drawing=charts.distributions(panels, "size of the response", f"share of {what}", "sizes"),
        data=_data(panels),
    )


# Figures 5 to 9, 11, 13 -------------------------------------------------------------------------------------------

_SCHEME = {
    5: (("uncongested", "dcn"), "DCN", "At all loads DCN is close to the uncongested network; it degrades little at "
    "98 and 105 %."),
    6: (("uncongested", "pi", "pi-ecn"), "PI", "Without ECN performance degrades rapidly above 90 %; with ECN it is "
    "only modestly worse at 98 and 105 % than at 90 %."),
    7: (("uncongested", "afd", "afd-ecn"), "AFD", "At 90 % fairly close to the uncongested network; significant "
        "degradation at 98 and 105 %, a small improvement with ECN there, and without it a flat region out to 1 s."),
    8: (("uncongested", "rio-ps", "rio-ps-ecn"), "RIO-PS", "Reasonably good at 90 %, more degradation at higher loads; "
        "ECN contributes little."),
}  # fmt: skip


def _scheme(results: Results, figure: int) -> FigurePart:
    schemes, name, says = _SCHEME[figure]
    panels = [_curves(results, f"{load} % load", schemes, load, UP_TO_2_S) for load in LOADS]
    own = schemes[1:]
    told = "; ".join(f"at {load} %: {_of(results, own, load)}" for load in LOADS)
    return FigurePart(
        id=f"fig{figure}",
        label=f"Figure {figure}",
        title=f"{name}: response times",
        setup="Web users on both sides. Bands: 95 % intervals over seeds." + (" Dotted: 1 s." if figure == 7 else ""),
        paper_says=says,
        measured=f"Mean response time in ms, 2 s at most, {told}. Uncongested at 105 %: "
        f"{results.interval('uncongested-105', 'capped').mean * 1e3:.0f} ms.",
        alt=f"Distribution functions of response times up to 2 s under {name} at loads of 90, 98 and 105 %.",
        drawing=charts.distributions(panels, TIME, WITHIN, "linear", 1.0 if figure == 7 else None),
        data=_data(panels),
    )


_COMPARISON = {
    90: "All but Drop Tail perform quite well and are not significantly worse than the uncongested network.",
    98: "Clear superiority for DCN and PI with ECN; DCN, even without ECN, is equal or superior to PI with ECN.",
    105: "As at 98 %: DCN and PI with ECN before the others; DCN is at least equal to PI with ECN.",
}


def _analysis(results: Results, load: int) -> str:
    """What the numbers say of schemes that stand elsewhere than in the paper."""
    if load == 90:
        return ""
    keys = ("drop-tail", "pi-ecn", "afd-ecn", "dcn")
    carried = ", ".join(
        f"{STYLES[key].label} {100 * results.interval(f'{key}-{load}', 'utilisation').mean:.1f}" for key in keys
    )
    lost = ", ".join(
        f"{STYLES[row.key].label} {100 * results.interval(f'{row.key}-{load}', 'loss').mean:.2f} "
        f"({row.loss[LOADS.index(load)]:g})"
        for row in TABLE_1
        if row.key in ("afd", "afd-ecn")
    )
    return (
        f" Mbit/s carried: {carried}. Loss in %, the paper's in brackets: {lost}. What AFD's users had to bear in the "
        "paper they do not bear here, least of all in short runs; longer ones are shown at the end."
    )


def _comparison(results: Results, figure: int, load: int) -> FigurePart:
    panels = [_curves(results, f"{load} % load", BEST, load, UP_TO_2_S)]
    return FigurePart(
        id=f"fig{figure}",
        label=f"Figure {figure}",
        title=f"All schemes at {load} % load",
        setup="The best version of each design, as the paper chose it. Bands: 95 % intervals over seeds.",
        paper_says=_COMPARISON[load],
        measured=f"Mean response time in ms, 2 s at most: {_of(results, BEST, load)}.{_analysis(results, load)}",
        alt=f"Distribution functions of response times up to 2 s of all schemes at {load} % load.",
        drawing=charts.distributions(panels, TIME, WITHIN, "linear"),
        data=_data(panels),
    )


# Figures 10, 12, 14 to 18 -----------------------------------------------------------------------------------------


def _bytes(results: Results, figure: int, load: int) -> FigurePart:
    tables = [_rows(key, SIZES, results.bytes_by_size(f"{key}-{load}", SIZES)) for key in BEST]
    panels = [Curves(f"{load} % load", pl.concat(tables))]
    told = ", ".join(
        f"{STYLES[key].label} {results.bytes_by_size(f'{key}-{load}', (100_000,))[0].mean * 100:.0f} %" for key in BEST
    )
    return FigurePart(
        id=f"fig{figure}",
        label=f"Figure {figure}",
        title=f"Bytes by response size, {load} % load",
        setup="Share of the bytes of all completed responses that are in responses of at most this size.",
        paper_says="DCN's curve is above the others for responses of more than about 50,000 bytes: more of the bytes "
        "come from shorter responses."
        + (" About 20 % are in responses of 10,000 bytes or less, about 75 % in those of 1 MB or less." if load == 90
           else ""),
        measured=f"Bytes in responses of 100,000 bytes or less: {told}.",
        alt=f"Share of bytes over the response size at {load} % load, for each scheme.",
        drawing=charts.distributions(panels, "size of the response", "share of all bytes", "sizes"),
        data=_data(panels),
    )  # fmt: skip


def _small(results: Results, figure: int, load: int) -> FigurePart:
    panels = [_curves(results, f"{load} % load", BEST, load, UP_TO_2_S, most=LARGE_BYTES)]
    return FigurePart(
        id=f"fig{figure}",
        label=f"Figure {figure}",
        title=f"Responses of 100,000 bytes or less, {load} % load",
        setup="Bands: 95 % intervals over seeds.",
        paper_says="DCN clearly favours small flows and outperforms the other AQM schemes.",
        measured=f"Mean response time in ms, 2 s at most: {_of(results, BEST, load, 'small_capped')}.",
        alt=f"Distribution functions of response times of small responses at {load} % load.",
        drawing=charts.distributions(panels, TIME, WITHIN, "linear"),
        data=_data(panels),
    )


def _large(results: Results, figure: int, load: int) -> FigurePart:
    panels = [_curves(results, f"{load} % load", BEST, load, LOG_TIMES, least=LARGE_BYTES)]

    def median(key: str) -> float:
        values = [
            results.distribution(f"{key}-{load}", seed, least=LARGE_BYTES).quantiles([0.5])[0] for seed in results.seeds
        ]
        return interval([float(value) for value in values]).mean

    told = ", ".join(f"{STYLES[key].label} {number(median(key))} s" for key in BEST)
    share = "approximately 75 %" if load == 90 else "about 40 %"
    return FigurePart(
        id=f"fig{figure}",
        label=f"Figure {figure}",
        title=f"Responses above 100,000 bytes, {load} % load",
        setup="Less than 1 % of all responses. Logarithmic axis. Bands: 95 % intervals over seeds.",
        paper_says=f"DCN outperforms the others for {share} of these responses; those that it slows take at least 10 s "
        "under the others too.",
        measured=f"Median: {told}.",
        alt=f"Distribution functions of response times of large responses at {load} % load, logarithmic.",
        drawing=charts.distributions(panels, TIME, WITHIN, "times"),
        data=_data(panels),
    )


# Tables, the mix, and what stands beside ----------------------------------------------------------------------------


def _table_1(results: Results) -> FigurePart:
    rows = [
        {
            "scheme": row.key, "group": f"{load} %", "column": column, "paper": float(getattr(row, column)[at]),
            "mean": spread.mean, "half_width": spread.half_width,
        }
        for row in TABLE_1
        for column in ("loss", "completed", "throughput")
        for at, load in enumerate(LOADS)
        for spread in [interval(measured(results, f"{row.key}-{load}", column))]
    ]  # fmt: skip
    frame = pl.DataFrame(rows).with_columns(pl.col("half_width").fill_nan(None))
    columns = (("loss", "packets lost (%)"), ("completed", "million requests in 90 minutes"),
               ("throughput", "throughput (Mbit/s)"))  # fmt: skip
    return FigurePart(
        id="table1",
        label="Table 1",
        title="Loss, completed requests and throughput",
        setup="Ours with 95 % intervals, the paper's as open diamonds. Loss over both queues; throughput of one "
        "direction, the mean of the two; requests of both, scaled to 90 minutes.",
        paper_says="DCN keeps a fairly low loss even at very high loads: 3.0 % at 105 %, where Drop Tail loses 8.8, "
        "AFD 8.9 and RIO-PS 8.2 %. The layout of the rows of PI with ECN and of DCN is lost: their last two columns "
        "may be swapped.",
        measured=f"At 105 % DCN loses {_percent(results, 'dcn-105')} %, Drop Tail "
        f"{_percent(results, 'drop-tail-105')}, AFD {_percent(results, 'afd-105')}, RIO-PS "
        f"{_percent(results, 'rio-ps-105')}. Requests at 105 % are {_less(results, 'drop-tail'):.1f} % fewer under "
        f"Drop Tail than on the uncongested link, in the paper {100 * (1 - 15.0 / 17.3):.1f}: loss has to slow users "
        "down to what the link carries, and in short runs long responses that do not end do a part of that.",
        alt="Loss, completed requests and throughput of nine schemes at three loads, ours and the paper's.",
        drawing=charts.table(columns, frame, [row.key for row in TABLE_1], [f"{load} %" for load in LOADS]),
        data=frame,
    )


def _less(results: Results, key: str) -> float:
    """By how many per cent fewer requests are completed at 105 % than on the uncongested link."""
    return 100 * (
        1 - results.interval(f"{key}-105", "completed").mean / results.interval("uncongested-105", "completed").mean
    )


def _percent(results: Results, case: str) -> str:
    return number(results.interval(case, "loss").mean * 100)


def _mix(results: Results, figure: int) -> FigurePart:
    if figure == 19:
        panels = [_curves(results, "general TCP", BEST, "mix", UP_TO_2_S)]
        drawing = charts.distributions(panels, TIME, WITHIN, "linear")
    else:
        curves = _curves(results, "general TCP", BEST, "mix", TAIL_TIMES)
        panels = [Curves(curves.title, curves.table.with_columns(share_mean=1 - pl.col("share_mean")))]
        drawing = charts.distributions(panels, TIME, "exchanges that take longer", "tail")
    return FigurePart(
        id=f"fig{figure}",
        label=f"Figure {figure}",
        title="General TCP: response times" if figure == 19 else "General TCP: the tail of response times",
        setup="Connections with exchanges of 46 kB on average in place of web users; 105.3 Mbit/s offered in one "
        "direction, 91.2 in the other.",
        paper_says="DCN and RIO-PS outperform Drop Tail and the other AQM designs and come close to the uncongested "
        "network.",
        measured=f"Mean response time in ms, {CAP_S:g} s at most: {_of(results, BEST, 'mix')}.",
        alt="Distribution of response times of general TCP connections for each scheme.",
        drawing=drawing,
        data=_data(panels),
    )


def _table_2(results: Results) -> FigurePart:
    rows = []
    for row in TABLE_2:
        for name, paper in row.numbers().items():
            group, column = name.split("_") if "_" in name else ("forward", name)
            spread = interval(mix_measured(results, row.key, name))
            rows.append({"scheme": row.key, "group": group, "column": column, "paper": paper, "mean": spread.mean,
                         "half_width": spread.half_width})  # fmt: skip
    frame = pl.DataFrame(rows, schema_overrides={"paper": pl.Float64}).with_columns(pl.col("half_width").fill_nan(None))
    columns = (("loss", "packets lost (%)"), ("completed", "million exchanges in 90 minutes"),
               ("throughput", "throughput (Mbit/s)"))  # fmt: skip
    return FigurePart(
        id="table2",
        label="Table 2",
        title="General TCP: exchanges, loss and throughput",
        setup="The paper's as open diamonds, where its cells are legible; those of Drop Tail and PI with ECN stand "
        "alone in the text and are assigned by their values. Exchanges of both directions.",
        paper_says="Uncongested 2.75 million exchanges at 105.3 and 91.2 Mbit/s; AFD with ECN 2.67 million, 4.5 and "
        "0.7 % lost; DCN 89.4 and 83.3 Mbit/s, RIO-PS with ECN 91.0 and 83.5.",
        measured="DCN "
        + " and ".join(
            number(interval(mix_measured(results, "dcn", f"{way}_throughput")).mean) for way in ("forward", "reverse")
        )
        + " Mbit/s, loss "
        + " and ".join(
            number(interval(mix_measured(results, "dcn", f"{way}_loss")).mean) for way in ("forward", "reverse")
        )
        + " %.",
        alt="Exchanges, loss and throughput of general TCP connections, forward and reverse, ours and the paper's.",
        drawing=charts.table(columns, frame, [row.key for row in TABLE_2], ["forward", "reverse"]),
        data=frame,
    )


def _beside(results: Results) -> FigurePart:
    """The runs beside the paper's: the law as printed, and PI with a longer queue."""
    schemes = ("drop-tail", "pi", "pi-240", "pi-ecn", "pi-ecn-240", "dcn", "dcn-printed")
    panels = [_curves(results, f"{load} % load", schemes, load, UP_TO_2_S) for load in (98, 105)]
    queues = ", ".join(
        f"{STYLES[key].label} {results.interval(f'{key}-105', 'queue').mean:.0f}" for key in ("dcn", "dcn-printed")
    )
    return FigurePart(
        id="beside",
        label="Beside the paper",
        title="One thing changed",
        setup="DCN with the law of p_ref as the paper prints it (the signs of a and b the other way), and PI, "
        "without and with ECN, with a target of 240 packets instead of 24. UDP at 10 Mbit/s among the users of 90 % "
        "load, state and queues: numbers only.",
        paper_says="p_ref falls when the queue is longer than q_ref; PI is best with a target of 24 packets.",
        measured=f"Mean queue at 105 % in packets: {queues}. Mean response time at 105 % in ms: "
        f"{_of(results, schemes, 105)}. At 98 % with delays of 10 to 150 ms each way: "
        f"{_of(results, ('drop-tail', 'pi-ecn', 'dcn'), '98-far')}; as round trips: "
        f"{_of(results, ('drop-tail', 'pi-ecn', 'dcn'), 98)}.",
        alt="Response times of Drop Tail, PI with two targets and DCN with both laws at 98 and 105 % load.",
        drawing=charts.distributions(panels, TIME, WITHIN, "linear"),
        data=_data(panels),
    )


def loads(calibration: Calibration) -> FigurePart:
    """How many users make each load, by seed."""
    frame = calibration.frame()
    users = frame.filter(pl.col("of") == "count")
    both = [round(forward + reverse) for forward, reverse in users.select("forward", "reverse").rows()]
    return FigurePart(
        id="loads",
        label="Calibration",
        title="Users that make a load",
        setup="For each seed, how many users on each side make the load on a link of 1 Gbit/s in the measured time. "
        "Table: "
        "data/loads.parquet, with what was measured.",
        paper_says="20,000 users, evenly distributed, make approximately 105 Mbit/s in one direction.",
        measured=f"{min(both)} to {max(both)} users on both sides.",
        alt="Users on each side for each load and seed.",
        drawing=charts.users(users),
        data=frame,
    )
