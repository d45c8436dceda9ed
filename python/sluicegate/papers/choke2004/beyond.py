"""Beyond the paper: several candidates, unequal unresponsive flows, different round trips, candidates needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Drawn

from ...plot import style as plot
from ...reproduce import (
    FLOWS,
    LINK,
    Check,
    Drawing,
    Measure,
    Runs,
    above,
    below,
    claim,
    figure,
    number,
    percent,
    reference,
    within,
)
from ...theory import choke
from .charts import COLOURS, MARKERS, points, rows_against_models
from .fig08_09 import cycles
from .laws import at_rate, shares_at_rate
from .models import Share, compared, equilibria, predictions, red, shares_hold
from .network import BASE_RTT_S, QUEUE, TCP_FLOWS, Network, Traffic, networks
from .text_claims import ALLOWED, BEYOND, TIMEOUTS

CROWD = 96
"""TCP flows beside which the queue stays away from min_th, as many as the law of large numbers needs."""


def shares(groups: int) -> dict[str, Measure]:
    """The share of the link of each group of flows."""
    each = {f"group{n}": FLOWS.where(group=n).sum("throughput_bps") / LINK["rate_bps"] for n in range(groups)}
    return {name: percent(measure, f"share of {name}") for name, measure in each.items()}


candidates = Traffic(Network(udp=((1, 2.0),)), tables=QUEUE, measure=shares(2), N=[TCP_FLOWS, CROWD], m=[2, 3, 5],
                     keep=lambda N, m: N == TCP_FLOWS or m == 5)  # fmt: skip
unequal = Traffic(Network(udp=((1, 0.5), (1, 1.0), (1, 3.0))), measure=shares(4), m=[1, 3])
round_trips = Traffic(Network(tcp=((16, 20.0), (16, 400.0))), measure=shares(3), x0=[0.5, 2.0])


def groups(runs: Runs, model: str = "refined") -> list[list[Share]]:
    """The share of each group of flows, measured and by a model, at each point."""
    found: list[list[Share]] = []
    for at, network, eq in zip(each_point(runs), networks(runs), equilibria(networks(runs), model), strict=True):
        found.append([])
        for index, (group, name) in enumerate(network.groups.items()):
            said = np.nan if eq is None else 100 * eq.flows[index].count * eq.flows[index].share
            kinds = f"{len(network.udp)} UDP flows, " if len(network.udp) > 1 else ""
            found[-1].append(Share(at[f"group{group}"], said, f"{kinds}{at.label()}: {name}"))
    return found


def each_point(runs: Runs) -> Iterator[Runs]:
    """One point after the other."""
    for point in runs.points.values():
        yield runs.at(**point)


def rows_of_groups(candidates: Runs, unequal: Runs, round_trips: Runs, checks: Sequence[Check]) -> Drawing:
    """The share of each group of flows, simulated and by both full models."""
    rows: list[dict[str, object]] = []
    for runs in (candidates, unequal, round_trips):
        both = (chain(*groups(runs, model)) for model in ("refined", "full"))
        for refined, full in zip(*both, strict=True):
            spread = refined.measured.spread
            rows.append({"row": refined.group, "full_share": full.model, "refined_share": refined.model,
                         "share_mean": spread.mean, "share_half_width": spread.half_width})  # fmt: skip
    table = pl.DataFrame(rows).fill_nan(None)
    return Drawing(rows_against_models(table["row"].to_list(), table), table)


@figure(
    "beyond", "Several candidates, unequal UDP flows, different round trips", label="Beyond the paper", source=BEYOND,
    chart=rows_of_groups, candidates=candidates, unequal=unequal, round_trips=round_trips,
)  # fmt: skip
def beyond(candidates: Runs, unequal: Runs, round_trips: Runs) -> Iterator[Check]:
    """First rows: one UDP flow of 2c with 2, 3 or 5 candidates, and with 5 candidates beside 96 TCP flows. Then three
    UDP flows of 0.5c, c and 3c. Then half of the TCP flows with a round trip of 20 ms, half with 400 ms. Shares of
    groups of flows; the approximate model has one UDP flow and one candidate, so it gives no values here."""
    five, crowd = candidates.at(N=TCP_FLOWS, m=5), candidates.at(N=CROWD)
    two, three, with_five, crowded = groups(candidates)
    yield reference("the extended model holds for 2 and 3 candidates against one UDP flow of 2c",
                    shares_hold([*two, *three]), ALLOWED, id="candidates")  # fmt: skip
    (falls, off), (never, _) = cycles(five), cycles(crowd)
    many = reference(f"the extended model holds for 5 candidates beside {CROWD} TCP flows", shares_hold(crowded),
                     ALLOWED, id="five-candidates-many-flows")  # fmt: skip
    yield reference(
        "the extended model holds for 5 candidates", shares_hold(with_five), ALLOWED, id="five-candidates",
        evidence=many, because=f"Their drops hold the queue at {five['b'].mean:.0f} packets, near min_th: RED's "
        f"average falls below min_th {falls.mean:.0f} times a minute and is below it {off.mean:.0f} % of the time. "
        f"CHOKe is then off, and UDP gets through. With {CROWD} TCP flows the average falls below min_th "
        f"{never.mean:.0f} times a minute, and UDP has what the model says.",
    )  # fmt: skip
    yield many
    words = "the extended model holds for three UDP flows of 0.5c, c and 3c"
    rate = reference(f"with the TCP flows' measured rate in place of their law, {words}",
                     shares_hold(shares_at_rate(unequal.at(m=1), "m")), ALLOWED,
                     id="unequal-at-measured-rate")  # fmt: skip
    for at, rows in zip(unequal.each("m"), groups(unequal), strict=True):
        why = {"because": TIMEOUTS, "evidence": rate} if at.m == 1 else {}
        yield reference(words, shares_hold(rows), ALLOWED, id="unequal", **why)
    yield rate
    yield reference("the extended model holds for half of the TCP flows at 20 ms, half at 400 ms",
                    shares_hold([*chain(*groups(round_trips))]), ALLOWED, id="round-trips")  # fmt: skip


# How many candidates ------------------------------------------------------------------------------------------------

LIMIT = 25.0
"""The part of the link under which unresponsive flows are to stay, in per cent."""

NEEDED = {
    1: {2: 0.47, 1: 1.1},
    2: {3: 0.34, 2: 0.57, 1: 1.9},
    3: {4: 0.28, 3: 0.42, 2: 0.78},
    5: {6: 0.19, 5: 0.25, 4: 0.34},
}
"""For each number of unresponsive flows as many candidates as by the closed curve, of infinitely many TCP flows, keep
them under `LIMIT`; as many as by the full model beside `CROWD` TCP flows do; and one less. Of each the rate of one
flow, in parts of the link's, at which they take most by the full model, to two digits. A test computes all of this."""

FULL, LESS, CURVE = "full model's m, N = 96", "one less than that", "closed curve's m"
_WORST = {(k, m): x0 for k, each in NEEDED.items() for m, x0 in each.items()}
needed = Traffic(Network(tcp=((CROWD, 1000 * BASE_RTT_S),)), k=list(NEEDED), m=[6, 5, 4, 3, 2, 1],
                 x0=sorted(set(_WORST.values())), keep=lambda k, m, x0: _WORST.get((k, m)) == x0)  # fmt: skip

RATES = tuple(float(f"{rate:.2g}") for rate in np.geomspace(0.05, 20, 60))
"""Rates of one flow, in parts of the link's, among which the worst is looked for."""


@cache
def enough(k: int) -> choke.Candidates:
    """How many candidates keep `k` flows under `LIMIT` beside `CROWD` TCP flows, by the full model."""
    network = Network()
    return choke.candidates_at(
        k, LIMIT / 100, N=CROWD, c=network.c, f=choke.Padhye(BASE_RTT_S + 1 / network.c), most=6,
        g=red(network, spaced=True, hold=True), rates=np.array(RATES) * network.c,
    )  # fmt: skip


def by_curve(k: int, share: float = LIMIT) -> int:
    """How many candidates keep `k` flows under a share, in per cent, by the closed curve."""
    return choke.candidates_for(k, share / 100) or 0


def which(k: int, m: int) -> str:
    """What a number of candidates for `k` flows is."""
    return CURVE if m == by_curve(k) else FULL if m == enough(k).m else LESS


def steps(needed: Runs, checks: Sequence[Check]) -> Drawing:
    """Left: candidates needed for k flows, a line for each share allowed and model. Right: the share simulated at the
    number of the closed curve, at that of the full model, and at one less."""
    table = compared(needed, ["refined"])
    kinds = [which(k, m) for k, m in table.select("k", "m").iter_rows()]
    return Drawing(draw_steps(table.with_columns(which=pl.Series(kinds))), table)


@plot.drawing
def draw_steps(table: pl.DataFrame) -> Drawn:
    """Table: `k`, `m`, `which`, mean and half width of `share`, `refined_share`."""
    ks = list(range(1, 13))
    lines = {f"under {share:g} %, many TCP flows": (ks, [by_curve(k, share) for k in ks]) for share in (10, LIMIT, 50)}
    lines[f"under {LIMIT:g} %, {CROWD} TCP flows"] = list(NEEDED), [enough(k).m or 0 for k in NEEDED]
    figure, ((left, right),) = plot.panels(1, 2, height=4.2, share_y=False)
    left.set_title("the least number")
    for (label, line), colour, marker in zip(lines.items(), COLOURS, MARKERS, strict=False):
        left.plot(*line, "-", marker=marker, color=colour, label=label)
    left.set_xlabel("unresponsive flows, k")
    left.set_ylabel("candidates needed, m")
    left.set_ylim(bottom=0)
    left.legend()
    right.set_title(f"simulated, {CROWD} TCP flows, worst rate")
    looks = ((CURVE, 0.0, plot.GREEN, "^"), (FULL, 0.15, plot.BLUE, "o"), (LESS, 0.3, plot.VERMILION, "s"))
    for name, shift, colour, marker in looks:
        part = table.filter(pl.col("which") == name)
        x = part["k"].to_numpy() + shift
        points(right, x, part, "share", plot.Style(name, colour, "none", marker))
        only_once = None if shift else "full model"
        right.plot(x, part["refined_share"], "_", color=plot.BLACK, markersize=10, label=only_once)
        for at, m, share in zip(x, part["m"], part["share_mean"], strict=True):
            right.annotate(f"{m}", (at, share), xytext=(6, -10), textcoords="offset points", fontsize=8.5, color=colour)
    plot.reference(right, LIMIT, f"{LIMIT:g} %")
    right.set_ylim(0, 80)
    right.set_xlim(0.5, 6)
    right.set_xlabel("unresponsive flows, k (m beside each point)")
    right.set_ylabel("their share of the link (%)")
    right.legend(loc="upper right")
    return figure


@figure("needed", "How many candidates for k unresponsive flows", label="Candidates", chart=steps, needed=needed,
        source="CHOKe 1999, Sec. 6; an extension of Sluicegate's")  # fmt: skip
def candidates_needed(needed: Runs) -> Iterator[Check]:
    """Left: the least m with which k equal flows never take more than a given share, whatever they send, by the closed
    curve (many TCP flows, a long queue), and for 25 % by the full model with 96 TCP flows. Right: the rate at which
    they take most, simulated beside 96 TCP flows."""
    growth = min(by_curve(k + 1) - by_curve(k) for k in range(1, 12))
    yield claim("the number of candidates must grow with the number of unresponsive flows",
                number(growth, "candidates", "least step from k to k + 1 flows by the closed curve, k up to 12"),
                within(1, None, "one more candidate for each further flow"), id="grows")  # fmt: skip
    words = {CURVE: "by the closed curve", FULL: f"by the full model with {CROWD} TCP flows"}
    points = networks(needed)
    for at, network, said in zip(each_point(needed), points, predictions(points, "refined"), strict=True):
        k, m, x0 = at.k, at.m, at.x0
        kind = which(k, m)
        flows = f"{k} unresponsive flow{'s' if k > 1 else ''}"
        where = f"k = {k}, m = {m}, {x0:g}c each"
        share = at["share"].as_("their share at the rate where they take most", where=where)
        many = f"{m} candidate{'s' if m > 1 else ''}"
        if kind == LESS:
            yield reference(f"{many} cannot hold {flows} under {LIMIT:g} %, {words[FULL]}", share, above(LIMIT),
                            id="too-few")  # fmt: skip
            continue
        statement = f"{many} can hold {flows} under {LIMIT:g} %, {words[kind]}"
        if kind == CURVE:
            yield reference(statement, share, below(LIMIT), id="curve")
            continue
        measured = at_rate(network, at["x1"].mean)
        rate = reference("with the TCP flows' measured rate, the model holds",
                         shares_hold(shares_at_rate(at, "x0")), ALLOWED, id="at-measured-rate")  # fmt: skip
        told = "no number" if measured is None else f"{100 * measured.share:.2f} %"
        yield reference(
            statement, share, below(LIMIT), id="full", evidence=rate,
            because=f"The model has {said.share:.2f} % there, so near the limit that the error of TCP's law decides: "
            f"with TCP's rate as measured it has {told}.",
        )  # fmt: skip
        yield rate
