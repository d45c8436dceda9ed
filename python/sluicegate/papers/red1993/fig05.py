"""Sec. V and Fig. 5: throughput against queue for eleven sets of parameters of Drop Tail and of RED.

The network is that of the scenario `red1993_fig5`, which says how its delays follow from the text. Five runs of each
set make one figure, as in the paper; further sets of five seeds show how much the fits vary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...plot import style as plot
from ...reproduce import (
    LINK,
    Axis,
    Check,
    Drawing,
    Quantity,
    Runs,
    Study,
    Table,
    Variant,
    above,
    claim,
    figure,
    percent,
    printed,
    reference,
    within,
)
from ...reproduce.charts import Dots
from .network import MEASURES, SERVICE_S, MinTh, lasting, prepared

SCENARIO = "red1993_fig5"
PER_FIGURE = 5
"""How many runs of each set the paper's figure has."""

HIGH = 0.8
"""From which utilisation on it counts as high."""

BASE_RTT_S = 42e-3

CHOSEN = Variant("as chosen")
CHOICES = (
    CHOSEN,
    Variant("starts up to 1 s apart", (("flows.0.spread", "1 s"),)),
    Variant("43 ms there and back", (("network.delay", "20.5 ms"),)),
    Variant("access links of 45 Mbit/s", (("network.access_rate", "45 Mbit/s"),)),
)
"""Other values for what the text leaves open, one at a time."""

study = partial(Study, SCENARIO, settings=lasting(5), choice=CHOICES, measure={
    "used": percent(LINK["utilisation"], "throughput"), "queue": MEASURES["queue_found"],
})  # fmt: skip
tail = study(keys={"size": Axis("queue.limit")}, size=(15, 28, 40, 52, 65, 78, 90, 102, 115, 128, 140),
             sets=(("queue.discipline", "drop_tail"), *prepared([0], "0.178 ms")))  # fmt: skip
red = study(keys={"size": MinTh()}, size=(3, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50))

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """What the paper approximates a gateway's average queue by: a/(1 − x)^k."""

    title: str
    style: plot.Style
    a: float
    precision: float
    k: int

    @property
    def power(self) -> str:
        """Of 1 − x, as printed."""
        return "³" if self.k == 3 else ""


CURVES = {
    "drop_tail": Curve("Drop Tail", plot.discipline("drop_tail"), 0.1, 0.1, 3),
    "red": Curve("RED", plot.discipline("red"), 1.73, 0.01, 1),
}


def points(tail: Runs, red: Runs, choice: Variant = CHOSEN) -> pl.DataFrame:
    """One row for each run: `gateway`, `size` (buffer or min_th), `seed`, `x` (the part of the link that is used),
    `queue` (the mean of what arrivals found, packets), `power` (x over the delay of queue and transmission, in packet
    times) and `power_rtt` (x over the whole round trip, in base round trips)."""
    parts = [
        at.at(choice=choice).rows("links").select("size", "seed", gateway=pl.lit(name), x="utilisation",
                                                  queue="queue_found_packets_mean")
        for name, at in (("drop_tail", tail), ("red", red))
    ]  # fmt: skip
    return pl.concat(parts).with_columns(
        power=pl.col("x") / (pl.col("queue") + 1),
        power_rtt=pl.col("x") / (1 + (pl.col("queue") + 1) * SERVICE_S / BASE_RTT_S),
    )


def scale(x: Numbers, queue: Numbers, k: int) -> float:
    """The a of a/(1 − x)^k: least squares of the queue, as the eye fits on the figure's linear axes."""
    shape = (1 - x) ** -k
    return float(queue @ shape / (shape @ shape))


def scale_of_logarithms(x: Numbers, queue: Numbers, k: int) -> float:
    """The same by least squares of logarithms, which gives short queues as much weight as long ones."""
    return float(np.exp(np.mean(np.log(queue) + k * np.log1p(-x))))


def free_fit(x: Numbers, queue: Numbers) -> tuple[float, float]:
    """The a and k of a/(1 − x)^k, both fitted: least squares of logarithms."""
    from scipy.stats import linregress

    line = linregress(-np.log1p(-x), np.log(queue))
    return math.exp(line.intercept), float(line.slope)


def of_gateway(runs: pl.DataFrame, gateway: str) -> tuple[Numbers, Numbers]:
    """Throughput and queue of all runs of a gateway."""
    rows = runs.filter(pl.col("gateway") == gateway)
    return rows["x"].to_numpy(), rows["queue"].to_numpy()


def by_figure(runs: pl.DataFrame, gateway: str, fit: Callable[[Numbers, Numbers, int], float]) -> Quantity:
    """What `fit` gives for the runs of each five seeds, which make a figure; a rest of fewer is left out."""
    seeds = runs["seed"].unique().sort().to_list()
    size = min(PER_FIGURE, len(seeds))
    curve = CURVES[gateway]
    values = [
        fit(*of_gateway(runs.filter(pl.col("seed").is_in(seeds[at : at + size])), gateway), curve.k)
        for at in range(0, len(seeds) - size + 1, size)
    ]
    power = f"^{curve.k}" if curve.k > 1 else ""
    return Quantity(tuple(values), "packets", f"queue times (1 − x){power}, figures of {PER_FIGURE} seeds")


def powers(runs: pl.DataFrame, column: str) -> Quantity:
    """By how much RED's power exceeds Drop Tail's at the same utilisation, per cent, by seed.

    For each run of RED that uses `HIGH` of the link or more, Drop Tail's power at its utilisation is that of the line
    between the two runs of the same seed that enclose it. Seeds where no such run is enclosed are left out.
    """
    gains, seeds = [], runs["seed"].unique().sort().to_list()
    for seed in seeds:
        tail, red = (
            runs.filter((pl.col("seed") == seed) & (pl.col("gateway") == name)).sort("x", "size") for name in CURVES
        )
        x = tail["x"].to_numpy()
        met = red.filter((pl.col("x") >= HIGH) & pl.col("x").is_between(x[0], x[-1]))
        if met.height:
            there = np.interp(met["x"].to_numpy(), x, tail[column].to_numpy())
            gains.append(100 * float(np.mean(met[column].to_numpy() / there - 1)))
    told = f"how much higher RED's power is ({len(seeds) - len(gains)} of {len(seeds)} seeds cannot tell)"
    return Quantity(tuple(gains or [math.nan]), "%", told)


@plot.drawing
def throughput_queue(tail: Runs, red: Runs, **_: object) -> Drawing:
    """Average queue over throughput, a mark for each run, with the paper's curves and fitted ones; a table of fits."""
    runs = points(tail, red)
    drawn = runs.filter(pl.col("seed").is_in(list(red.seeds[:PER_FIGURE])))
    figure, ((axes,),) = plot.panels(1, 1, height=4.6)
    x = np.linspace(0.3, 0.985, 400)
    axes.set_ylim(0, 1.08 * float(drawn["queue"].to_numpy().max()))
    for name, curve in CURVES.items():
        color = curve.style.color
        axes.plot(*of_gateway(drawn, name), linestyle="none", marker=curve.style.marker, markersize=4.5,
                  color=color, markerfacecolor="none" if name == "drop_tail" else color,
                  label=curve.title)  # fmt: skip
        fitted = scale(*of_gateway(runs, name), curve.k)
        for a, line, width, who in ((curve.a, "--", 1.4, "paper"), (fitted, "-", 1.0, "fitted")):
            label = f"{who}: {a:.3g}/(1 − x){curve.power}"
            axes.plot(x, a / (1 - x) ** curve.k, line, color=color, linewidth=width, label=label)
    axes.set_xlim(0.3, 1)
    axes.set_xlabel("throughput (part of the link's rate)")
    axes.set_ylabel("queue found by arriving packets (mean, packets)")
    plot.legend(figure, [axes], columns=3)
    rows = []
    for name, curve in CURVES.items():
        a, k = free_fit(*of_gateway(runs, name))
        high = runs.filter((pl.col("gateway") == name) & (pl.col("x") >= HIGH))
        fits = (f"{by_figure(runs, name, fit).mean:.2f}/(1 − x){curve.power}" for fit in (scale, scale_of_logarithms))
        mean = f"{np.mean(high['queue'].to_numpy()):.0f}" if high.height else "–"
        rows.append((curve.title, f"{curve.a:g}/(1 − x){curve.power}", *fits, f"{a:.2f}/(1 − x)^{k:.1f}", mean))
    head = ("Gateway", "the paper", "least squares of the queue", "of its logarithm", "exponent fitted too",
            f"mean queue where {100 * HIGH:.0f} % or more is used (packets)")  # fmt: skip
    return Drawing(figure, runs, Table(head, tuple(rows), 5))


@figure(5, "Throughput against queue, Drop Tail and RED", source="Sec. V", chart=throughput_queue, tail=tail, red=red)
def fig5(tail: Runs, red: Runs) -> Iterator[Check]:
    """Two transfers with windows of 240 packets on the network of Fig. 6, 5 s each: Drop Tail with a buffer of 15 to
    140 packets, RED with min_th of 3 to 50, max_th three times that and a buffer of 100. Each mark is one run; drawn
    are the first five seeds. Fits go through all seeds, by least squares of the queue; intervals are over figures of
    five seeds."""
    runs = points(tail, red)
    curve = CURVES["red"]
    yield reference("under Drop Tail the average queue is approximated by 0.1/(1 − x)³",
                    by_figure(runs, "drop_tail", scale), printed(0.1, CURVES["drop_tail"].precision),
                    id="drop-tail-fit")  # fmt: skip
    words = f"under RED the average queue is approximated by {curve.a:g}/(1 − x)"
    logarithms = reference(
        f"{words}: least squares of the logarithm give less, so that the printed factor lies between the two",
        by_figure(runs, "red", scale_of_logarithms), within(None, curve.a, f"at most {curve.a:g}"),
        id="red-fit-of-logarithms",
    )  # fmt: skip
    yield reference(
        words, by_figure(runs, "red", scale), printed(curve.a, curve.precision), id="red-fit", evidence=logarithms,
        because="“Approximated by” says no method, and here the method decides: by the queue itself the factor is "
        "larger than printed, by its logarithm it is smaller.",
    )  # fmt: skip
    yield logarithms
    for id_, column, delay in (("power", "power", "the delay of queue and transmission"),
                               ("power-round-trip", "power_rtt", "the whole round trip")):  # fmt: skip
        yield claim(
            f"network power, throughput over {delay}, is higher with RED than with Drop Tail at high utilisation",
            powers(runs, column), above(0), source="Secs. V and VIII", id=id_,
            tested=f"at the same utilisation, in RED's runs that use {100 * HIGH:.0f} % or more, seed by seed",
        )  # fmt: skip
    small, large = (tail.at(choice=CHOSEN, size=tail.study.axes["size"][end]) for end in (0, -1))
    for measure, unit, words in (
        ("used", "percentage points", "throughput: a small one drops packets of slow starts"),
        ("queue", "packets", "average queue: the delay of a large one is unacceptable"),
    ):
        label = f"{large[measure].label} at {large.size} packets less that at {small.size}"
        grows = (large[measure] - small[measure]).as_(label, unit, where="")
        yield claim(f"the buffer of a Drop Tail gateway increases {words}", grows, above(0), id=f"buffer-{measure}")


dots = Dots({"drop_tail": ("Drop Tail: a in a/(1 − x)³", 0.1), "red": ("RED: a in a/(1 − x)", 1.73),
             "power": ("RED's power above Drop Tail's (%)", None)})  # fmt: skip


def fits_of_choices(tail: Runs, red: Runs, **_: object) -> Drawing:
    """Factors of the fits and RED's gain in power with other choices."""
    rows: list[dict[str, Any]] = []
    for choice in CHOICES:
        runs = points(tail, red, choice)
        row: dict[str, Any] = {"choice": choice.label}
        found = {name: by_figure(runs, name, scale) for name in CURVES} | {"power": powers(runs, "power")}
        for name, quantity in found.items():
            row |= {f"{name}_mean": quantity.mean, f"{name}_half_width": quantity.spread.half_width}
        rows.append(row)
    data = pl.DataFrame(rows).fill_nan(None)
    return Drawing(dots.draw(data, data["choice"].to_list()), data)


@figure("fig5-choices", "What the text leaves open, and how much it matters", label="Choices for Figure 5",
        source="Sec. V", after=5, chart=fits_of_choices, tail=tail, red=red)  # fmt: skip
def left_open(tail: Runs, red: Runs) -> Sequence[Check]:
    """The runs of Figure 5, changing one choice at a time: the factors of both fits, and by how much RED's power
    exceeds Drop Tail's where the link is used well. Means over figures of five seeds, and over seeds, with 95 %
    intervals; dotted: what the text prints. Least squares weigh the runs that come closest to the full rate most."""
    return []
