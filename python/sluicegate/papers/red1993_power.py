"""RED 1993, Sec. V and Fig. 5: throughput against queue for eleven sets of parameters of Drop Tail and of RED.

The network is that of the scenario `red1993_fig5`, which says how its delays follow from the text. Five runs of each
set make one figure, as in the paper; what the fits vary by is seen from five seeds to the next five.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from .. import scenario as api
from ..experiments.engine import Experiment, Sets, Tables
from ..report import Choice, FigurePart
from ..stats import Interval, difference, interval
from . import Settings, red1993_charts
from .checks import Bounds, Check, above, printed
from .red1993 import KEEP, SERVICE_S, Section

SCENARIO = "red1993_fig5"
BUFFERS = (15, 28, 40, 52, 65, 78, 90, 102, 115, 128, 140)
MIN_THS = (3, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
PER_FIGURE = 5
"""How many runs of each set the paper's figure has."""

HIGH = 0.8
"""From which utilisation on it counts as high."""

BASE_RTT_S = 42e-3


@dataclass(frozen=True)
class Gateway:
    """A kind of gateway: its discipline, what of it is varied, the paper's curve a/(1 − x)^k, and how it is named."""

    discipline: str
    title: str
    parameter: str
    values: tuple[int, ...]
    a: float
    precision: float
    k: int

    def sets(self, value: int) -> Sets:
        """What one set of parameters changes of the scenario."""
        if self.discipline == "drop_tail":
            # The source's random time avoids phase effects under Drop Tail (Sec. V).
            return (("queue.discipline", "drop_tail"), ("queue.limit", str(value)), ("flows.0.overhead", "0.178 ms"))
        return (("queue.min_th", str(value)), ("queue.max_th", str(3 * value)))

    def id(self, value: int, variant: str = "") -> str:
        """The experiment of one set."""
        return f"fig5, {self.title}, {self.parameter} {value}" + (f", {variant}" if variant else "")

    @property
    def slug(self) -> str:
        """The name in ids of checks."""
        return self.discipline.replace("_", "-")


DROP_TAIL = Gateway("drop_tail", "Drop Tail", "buffer", BUFFERS, 0.1, 0.1, 3)
RED = Gateway("red", "RED", "min_th", MIN_THS, 1.73, 0.01, 1)
GATEWAYS = (DROP_TAIL, RED)

VARIANTS: tuple[tuple[str, Sets], ...] = (
    ("starts up to 1 s apart", (("flows.0.spread", "1 s"),)),
    ("43 ms there and back", (("network.delay", "20.5 ms"),)),
    ("access links of 45 Mbit/s", (("network.access_rate", "45 Mbit/s"),)),
)
"""Other values for what the text leaves open, one at a time."""

CHOICES = (
    Choice("Delays of Fig. 6", "lost with the drawing; a window of 240 packets, roughly delay times bandwidth", "42 ms "
           "there and back, 40 of them on the congested link", "236 packets; 43 ms (241) is among the variants"),
    Choice("Starts in Fig. 5", "“slightly different times”", "drawn between 0 and 0.1 s", "two round trips; the "
           "variants show that it matters, because a run of 5 s is mostly start"),
    Choice("Sets of Fig. 5", "buffers from 15 to 140, min_th from 3 to 50, eleven of each", "evenly spaced, in whole "
           "packets", "the simplest reading"),
    Choice("High utilisation", "“simulations with high link utilization”", "80 % and more", "both gateways reach it"),
    Choice("Power", "throughput over delay", "with the delay of the queue and the packet's own time; and with the "
           "whole round trip", "the paper does not say which; both are tested"),
)  # fmt: skip

COMMANDS = (
    f"sluicegate run {SCENARIO} --set queue.min_th=5 --set queue.max_th=15",
    f"sluicegate run {SCENARIO} " + " ".join(f'--set {key}="{value}"' for key, value in DROP_TAIL.sets(65)),
)


def experiments(settings: Settings) -> list[Experiment]:
    """Every set of parameters once as chosen, and once for each variant."""
    text, name = api.read_scenario(SCENARIO)
    return [
        Experiment(gateway.id(value, variant), text, name, (*gateway.sets(value), *sets, ("run.series", "false")), KEEP)
        for variant, sets in (("", ()), *VARIANTS)
        for gateway in GATEWAYS
        for value in gateway.values
    ]


# What was measured ------------------------------------------------------------------------------------------------


def points(results: Tables, variant: str = "") -> pl.DataFrame:
    """One row for each run: `gateway`, `parameter`, `seed`, `x` (the part of the link that is used), `queue` (the mean
    of what arrivals found, packets), `power` (x over the delay of queue and transmission, in packet times) and
    `power_rtt` (x over the whole round trip, in base round trips)."""
    names = pl.DataFrame(
        [(gateway.id(value, variant), gateway.discipline, value) for gateway in GATEWAYS for value in gateway.values],
        schema={"experiment": pl.String, "gateway": pl.String, "parameter": pl.UInt64},
        orient="row",
    )
    links = results["links"].select("experiment", "seed", x="utilisation", queue="queue_found_packets_mean")
    return names.join(links, on="experiment", how="left", maintain_order="left").with_columns(
        power=pl.col("x") / (pl.col("queue") + 1),
        power_rtt=pl.col("x") / (1 + (pl.col("queue") + 1) * SERVICE_S / BASE_RTT_S),
    )


def scale(rows: pl.DataFrame, k: int) -> float:
    """The a of a/(1 − x)^k through the queues of `rows`: least squares, as the eye fits on the figure's linear axes."""
    shapes = [(1 - x) ** -k for x in rows["x"].to_list()]
    return math.fsum(q * f for q, f in zip(rows["queue"].to_list(), shapes, strict=True)) / math.fsum(
        f * f for f in shapes
    )


def scale_of_logarithms(rows: pl.DataFrame, k: int) -> float:
    """The same by least squares of logarithms, which gives short queues as much weight as long ones."""
    logs = [math.log(q) + k * math.log1p(-x) for x, q in rows.select("x", "queue").iter_rows()]
    return math.exp(math.fsum(logs) / len(logs))


def free_fit(rows: pl.DataFrame) -> tuple[float, float]:
    """The a and k of a/(1 − x)^k, both fitted: least squares of logarithms."""
    xs = [-math.log1p(-x) for x in rows["x"].to_list()]
    ys = [math.log(q) for q in rows["queue"].to_list()]
    x, y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    k = math.fsum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / math.fsum((a - x) ** 2 for a in xs)
    return math.exp(y - k * x), k


def by_figure(runs: pl.DataFrame, gateway: Gateway, measure: Callable[[pl.DataFrame, int], float]) -> Interval:
    """What `measure` gives for the runs and k of each five seeds, which make a figure; a rest of fewer is left out."""
    rows = runs.filter(pl.col("gateway") == gateway.discipline)
    seeds = rows["seed"].unique().sort().to_list()
    size = min(PER_FIGURE, len(seeds))
    groups = [seeds[at : at + size] for at in range(0, len(seeds) - size + 1, size)]
    return interval([measure(rows.filter(pl.col("seed").is_in(group)), gateway.k) for group in groups])


def powers(runs: pl.DataFrame, column: str) -> tuple[Interval, int]:
    """By how much RED's power exceeds Drop Tail's at the same utilisation, per cent, by seed; and how many seeds cannot
    tell, because no utilisation from `HIGH` on lies between two runs of Drop Tail.

    For each run of RED that uses `HIGH` of the link or more, Drop Tail's power at its utilisation is that of the line
    between the two runs of the same seed that enclose it.
    """
    means, skipped = [], 0
    for seed in runs["seed"].unique().sort().to_list():
        red, tail = (
            runs.filter((pl.col("seed") == seed) & (pl.col("gateway") == gateway.discipline)).sort("x", "parameter")
            for gateway in (RED, DROP_TAIL)
        )
        xs, powers = tail["x"].to_numpy(), tail[column].to_numpy()
        ratios = [
            power / float(np.interp(x, xs, powers)) - 1
            for x, power in red.select("x", column).iter_rows()
            if x >= HIGH and len(xs) and xs[0] <= x <= xs[-1]
        ]
        if ratios:
            means.append(100 * math.fsum(ratios) / len(ratios))
        else:
            skipped += 1
    return interval(means or [math.nan]), skipped


# Checks -----------------------------------------------------------------------------------------------------------


def _fits(runs: pl.DataFrame) -> list[Check]:
    result = []
    for gateway in GATEWAYS:
        a = by_figure(runs, gateway, scale)
        power = f"^{gateway.k}" if gateway.k > 1 else ""
        explained = gateway is RED
        result.append(
            Check(
                id=f"fig5-{gateway.slug}-fit",
                source="Sec. V",
                kind="shown",
                paper=f"under {gateway.title} the average queue is approximated by {gateway.a:g}/(1 − x){power}",
                measured=a.mean,
                unit=f"packets times (1 − x){power}: least squares of the queue, mean over {a.count} figures of "
                f"{PER_FIGURE} seeds",
                bounds=printed(gateway.a, gateway.precision, a),
                explanation="“Approximated by” says no method, and here the method decides: by the queue itself the "
                "factor is larger than printed, by its logarithm it is smaller." if explained else "",
                evidence="fig5-red-fit-of-logarithms" if explained else "",
            )
        )  # fmt: skip
    logarithms = by_figure(runs, RED, scale_of_logarithms)
    result.append(
        Check(
            id="fig5-red-fit-of-logarithms",
            source="Sec. V",
            kind="shown",
            paper=f"approximated by {RED.a:g}/(1 − x); tested: least squares of the logarithm of the same queues gives "
            "a smaller factor, so that the printed one lies between the two",
            measured=logarithms.mean,
            unit="packets times (1 − x)",
            bounds=Bounds(None, RED.a, f"at most {RED.a:g}"),
        )
    )
    return result


def _power(runs: pl.DataFrame) -> list[Check]:
    result = []
    for id_, column, delay in (
        ("fig5-power", "power", "the delay of queue and transmission"),
        ("fig5-power-round-trip", "power_rtt", "the whole round trip"),
    ):
        more, skipped = powers(runs, column)
        seeds = runs["seed"].n_unique()
        result.append(
            Check(
                id=id_,
                source="Secs. V and VIII",
                kind="claim",
                paper="network power, throughput over delay, is higher with RED than with Drop Tail at high "
                f"utilisation; tested with {delay}: at the same utilisation, in RED's runs that use {100 * HIGH:.0f} % "
                "of the link or more, seed by seed",
                measured=more.mean,
                unit=f"% by which RED's is higher; {skipped} of {seeds} seeds have no such run and are left out",
                bounds=above(0, more),
            )
        )
    return result


def _room(runs: pl.DataFrame) -> list[Check]:
    result = []
    for column, factor, unit in (("x", 100.0, "percentage points of the link"), ("queue", 1.0, "packets")):
        small, large = (
            runs.filter((pl.col("gateway") == "drop_tail") & (pl.col("parameter") == value)).sort("seed")[column]
            for value in (BUFFERS[0], BUFFERS[-1])
        )
        grows = difference((factor * large).to_list(), (factor * small).to_list())
        result.append(
            Check(
                id=f"fig5-buffer-{'throughput' if column == 'x' else 'queue'}",
                source="Sec. V",
                kind="claim",
                paper="with the buffer of a Drop Tail gateway throughput and average queue increase; tested: "
                f"{'throughput' if column == 'x' else 'queue'} at {BUFFERS[-1]} packets less that at {BUFFERS[0]}",
                measured=grows.mean,
                unit=unit,
                bounds=above(0, grows),
            )
        )
    return result


# Figures ----------------------------------------------------------------------------------------------------------


def section(settings: Settings, results: Tables) -> Section:
    """Fig. 5, and what becomes of the fits with other choices."""
    runs = points(results)
    checks = [*_fits(runs), *_power(runs), *_room(runs)]
    return Section((_figure(settings, runs, checks), _choices(results)), checks)


def _figure(settings: Settings, runs: pl.DataFrame, checks: Sequence[Check]) -> FigurePart:
    seeds = settings.seeds[:PER_FIGURE]
    texts = []
    for gateway in GATEWAYS:
        a = by_figure(runs, gateway, scale)
        rows = runs.filter(pl.col("gateway") == gateway.discipline)
        free = free_fit(rows)
        margin = "" if math.isnan(a.half_width) else f" ± {a.half_width:.2f}"
        power = "³" if gateway.k == 3 else ""
        logarithms = by_figure(runs, gateway, scale_of_logarithms)
        texts.append(
            f"Under {gateway.title} {a.mean:.2f}{margin} instead of {gateway.a:g} in a/(1 − x){power} "
            f"({logarithms.mean:.2f} by logarithms; with the exponent fitted too, {free[0]:.2f}/(1 − x) to the power "
            f"{free[1]:.1f})."
        )
    high = runs.filter(pl.col("x") >= HIGH)
    means = {
        gateway.discipline: (high.filter(pl.col("gateway") == gateway.discipline)["queue"].to_list())
        for gateway in GATEWAYS
    }
    queues = [math.fsum(values) / len(values) if values else math.nan for values in means.values()]
    curves = [
        (gateway.discipline, gateway.title, gateway.a, gateway.k,
         scale(runs.filter(pl.col("gateway") == gateway.discipline), gateway.k))
        for gateway in GATEWAYS
    ]  # fmt: skip
    return FigurePart(
        id="fig5",
        label="Figure 5",
        title="Throughput against queue, Drop Tail and RED",
        setup="Two transfers with windows of 240 packets on the network of Fig. 6, 5 s each: Drop Tail with a buffer "
        f"of {BUFFERS[0]} to {BUFFERS[-1]} packets, RED with min_th of {MIN_THS[0]} to {MIN_THS[-1]}, max_th three "
        f"times that and a buffer of 100. Each mark is one run; drawn are the seeds {seeds[0]} to {seeds[-1]}. Fits go "
        "through all seeds, by least squares of the queue; intervals are over figures of five seeds.",
        paper_says="The average queue is approximated by 1.73/(1 − x) under RED and 0.1/(1 − x)³ under Drop Tail. The "
        "power is higher with RED: a short Drop Tail queue cuts off slow starts, a long one delays.",
        measured=" ".join(texts) + f" In the runs that use {100 * HIGH:.0f} % of the link or more the mean queue is "
        f"{queues[0]:.0f} packets under Drop Tail and {queues[1]:.0f} under RED.",
        alt="Average queue over throughput for both gateways, with the paper's curves and fits.",
        drawing=red1993_charts.throughput_queue(runs.filter(pl.col("seed").is_in(seeds)), curves),
        data=runs,
        checks=tuple(check.id for check in checks),
    )


def _choices(results: Tables) -> FigurePart:
    rows = []
    for variant in ("", *(name for name, _ in VARIANTS)):
        runs = points(results, variant)
        row: list[str | float | None] = [variant or "as chosen"]
        for gateway in GATEWAYS:
            a = by_figure(runs, gateway, scale)
            row += [a.mean, None if math.isnan(a.half_width) else a.half_width]
        more, _ = powers(runs, "power")
        rows.append((*row, more.mean, None if math.isnan(more.half_width) else more.half_width))
    columns = [f"{name}_{what}" for name in ("drop_tail", "red", "power") for what in ("mean", "half_width")]
    data = pl.DataFrame(rows, schema={"variant": pl.String} | dict.fromkeys(columns, pl.Float64), orient="row")
    (least, most), (lower, upper) = (
        (min(values), max(values)) for values in (data[f"{name}_mean"].to_list() for name in ("red", "drop_tail"))
    )
    return FigurePart(
        id="fig5-choices",
        label="Our choices for Figure 5",
        title="What the text leaves open, and how much it matters",
        setup="The runs of Figure 5, changing one choice at a time: the factors of both fits, and by how much RED's "
        "power exceeds Drop Tail's where the link is used well. Means over figures of five seeds, and over seeds, with "
        "95 % intervals; dotted: what the text prints.",
        paper_says="1.73 and 0.1; nothing on the delays, the access links and the starts.",
        measured=f"RED's factor lies between {least:.2f} and {most:.2f}, Drop Tail's between {lower:.2f} and "
        f"{upper:.2f}: least squares weigh the runs that come closest to the full rate most. RED's power exceeds Drop "
        f"Tail's by {min(data['power_mean'].to_list()):.0f} to {max(data['power_mean'].to_list()):.0f} %.",
        alt="Factors of the fits and RED's gain in power with other choices.",
        drawing=red1993_charts.variants(
            data,
            (("drop_tail", "Drop Tail: a in a/(1 − x)³", 0.1), ("red", "RED: a in a/(1 − x)", 1.73),
             ("power", "RED's power above Drop Tail's (%)", None)),
        ),
        data=data,
    )  # fmt: skip
