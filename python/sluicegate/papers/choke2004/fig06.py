"""Fig. 6: where UDP's packets are in the queue, over UDP's rate and, beyond the paper, over the number of TCP flows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Drawn

from ...plot import style as plot
from ...reproduce import (
    Check,
    Drawing,
    Quantity,
    Runs,
    above,
    below,
    claim,
    figure,
    not_above,
    number,
    printed,
    reference,
    within,
)
from ...reproduce.charts import PRINTED
from ...stats import interval
from .charts import points
from .fig04_05 import load, many
from .models import STYLES, densities, farthest, predicted
from .network import AXES, networks

HEAD = 1.0
"""The place of the packet at the very head."""

RATES = (0.1, 1.0, 3.0, 10.0)
NUMBERS = (12, 20, 40, 64)
"""Of these numbers of TCP flows ρ(y) is drawn; it is checked for all."""


UNIFORM = 0.08
"""ρ at each place with UDP at 0.1c, as printed."""


@dataclass(frozen=True)
class Density:
    """ρ over the place, a panel for each of some values of an axis: snapshots and the models that have an answer.
    `printed`: what the paper prints for ρ at all places, by value of the axis."""

    axis: str
    shown: Sequence[float]
    title: str
    printed: Mapping[float, float] = field(default_factory=dict)

    def __call__(self, checks: Sequence[Check] = (), **studies: Runs) -> Drawing:
        (runs,) = studies.values()
        curves = {model: densities(networks(runs), model) for model in STYLES}
        tables, panels = [], []
        for index, at in enumerate(runs.each(self.axis)):
            groups = at.rows("density").group_by("N", "x0", "place", maintain_order=True).agg("rho")
            spreads = [interval(values) for values in groups["rho"].to_list()]
            means, half = [each.mean for each in spreads], pl.Series([each.half_width for each in spreads])
            table = groups.drop("rho").with_columns(
                rho_mean=pl.Series(means), rho_half_width=half.fill_nan(None),
                **{f"{model}_rho": pl.Series(rho(groups["place"].to_numpy()))
                   for model, each in curves.items() if (rho := each[index]) is not None},
            )  # fmt: skip
            tables.append(table)
            if (value := getattr(at, self.axis)) in self.shown:
                panels.append((self.title.format(value), table, self.printed.get(value)))
        return Drawing(draw(panels), pl.concat(tables, how="diagonal"))


@plot.drawing
def draw(panels: Sequence[tuple[str, pl.DataFrame, float | None]]) -> Drawn:
    """Tables: `place`, mean and half width of `rho`, `<model>_rho`; and what the paper prints."""
    figure, rows = plot.panels(2, (len(panels) + 1) // 2, height=2.9)
    flat = [axes for row in rows for axes in row]
    for axes, (title, table, said) in zip(flat, panels, strict=True):
        axes.set_title(title)
        if said is not None:
            plot.reference(axes, said, f"{said:g}, {PRINTED}", lift=6)
        points(axes, table["place"], table, "rho")
        for model, style in STYLES.items():
            if f"{model}_rho" in table.columns:
                axes.plot(table["place"], table[f"{model}_rho"], style.line, color=style.color, label=style.label)
        axes.set_ylim(0, 1)
    for row in rows:
        row[0].set_ylabel("ρ: part that is UDP")
    for axes in rows[-1]:
        axes.set_xlabel("place in the queue, y/b (0 tail, 1 head)")
    plot.legend(figure, flat, columns=2)
    return figure


def part(at: Runs, low: float, high: float, label: str) -> Quantity:
    """The mean of ρ over a part of the queue."""
    rows = at.rows("density").filter(pl.col("place").is_between(low, high))
    return at.quantity(rows.group_by("seed", maintain_order=True).agg(pl.col("rho").mean()), "rho", label=label)


def head(at: Runs) -> tuple[Quantity, float]:
    """ρ(b) less UDP's share of the link, and how near they must come to each other: a packet seen at the head waits
    there for the link to be free, and is hit in that time by at most x_0/c arrivals with 1/b each."""
    share = at["share"] * 0.01
    apart = (part(at, HEAD, HEAD, "") - share).as_("ρ at the head less UDP's share of the link", "")
    return apart, share.mean * at.x0 / at["b"].mean


def density_matches(runs: Runs, axis: str) -> Check:
    """ρ(y) at every place against the model with timeouts and RED's gaps, over an axis."""
    apart = []
    for at, rho in zip(runs.each(axis), densities(networks(runs), "refined"), strict=True):
        assert rho is not None
        rows = at.rows("density").filter(pl.col("place") < HEAD).sort("place", "seed")
        for place, values in rows.group_by("place", maintain_order=True).agg("rho").iter_rows():
            said = float(rho(np.array(place)))
            told = f"{AXES[axis].text(getattr(at, axis))}, y/b = {place:g}"
            apart.append(Quantity(tuple(value - said for value in values), "", "ρ(y) against the model", at=told))
    least = min(each.mean for each in predicted(runs, axis, "b", "refined"))
    why = f"2/b, which a model of means cannot resolve, for the shortest queue, b = {least:.0f}"
    return reference(
        "simulation and analysis match well: ρ(y) at any twentieth of the queue, from the model with timeouts and "
        "RED's gaps", farthest(apart), not_above(2 / least, why), id="density-matches",
    )  # fmt: skip


@figure(6, "Where UDP's packets are in the queue", source="Sec. V-B, Fig. 6",
        chart=Density("x0", RATES, "x₀ = {:g}c", printed={0.1: UNIFORM}), load=load)  # fmt: skip
def fig6(load: Runs) -> Iterator[Check]:
    """The runs of Figure 4. Snapshots every 97.3 ms, which is no multiple of UDP's gap. The queue of each snapshot is
    cut into 20 parts, from tail to head; the last point is the packet at the very head. Lines: ρ(y) of the models; in
    the approximate one UDP's packets alone are hit on their way, h₁ = 0."""
    first, last = load.at(x0=0.1), load.at(x0=10.0)
    mean = part(first, 0, 0.999, "mean of ρ at 0.1c")
    yield reference("at 0.1c the probability is close to 0.08 at each place", mean, printed(UNIFORM, 0.01))
    slope = part(first, 0, 1 / 3, "third at the tail less that at the head, at 0.1c") - part(first, 2 / 3, 0.999, "")
    yield reference("at 0.1c UDP's packets are distributed roughly uniformly", slope,
                    within(-0.01, 0.01, "0, give or take a unit of 0.08's last digit"))  # fmt: skip
    falls = part(last, 0, 0.2, "fifth at the tail less that at the head, at 10c") - part(last, 0.8, 0.999, "")
    yield claim("ρ concentrates near the tail and drops towards the head", falls, above(0))
    yield reference("at 10c roughly half of the queue is UDP's", last["occupancy"], printed(0.5, 0.1))
    yield claim("UDP never has more than half of the queue", last["occupancy"], below(0.5), source="Theorem 5")
    for x0 in RATES:
        apart, room = head(load.at(x0=x0))
        room += apart.spread.margin
        why = (f"0, give or take {room:.2g}: the share of packets at the head that are hit before the link is free, "
               "plus the 95 % interval over seeds")  # fmt: skip
        yield claim("UDP's share of the link equals ρ at the head", apart, within(-room, room, why), id="head")
    yield density_matches(load, "x0")


@figure("fig6-n", "Where UDP's packets are, for 12 to 64 TCP flows", label="Section V-B", source="Sec. V-B, Fig. 6",
        after=6, chart=Density("N", NUMBERS, "N = {:g}"), many=many)  # fmt: skip
def fig6_n(many: Runs) -> Iterator[Check]:
    """The runs of Figure 5, UDP at 10c, drawn as Figure 6, which is of N = 32 alone."""
    used = {}
    for at in many.each("N"):
        apart, room = head(at)
        used[at.N] = abs(apart.mean) / (room + apart.spread.margin)
    worst = max(used, key=used.__getitem__)
    yield claim("UDP's share of the link equals ρ at the head, for 12 to 64 TCP flows",
                number(used[worst], "times", f"greatest difference over what is allowed, at N = {worst}"),
                within(None, 1, "allowed at each N, as for each rate of UDP: the share of packets at the head that are "
                       "hit before the link is free, plus the 95 % interval"), id="head")  # fmt: skip
    yield density_matches(many, "N")
