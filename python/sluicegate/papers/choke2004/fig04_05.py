"""Figs. 4 and 5: the queue and who gets how much of the link, over UDP's rate and over the number of TCP flows; and
each law of the model by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

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
    exact,
    figure,
    not_above,
    number,
    printed,
    reference,
)
from ...theory import choke
from .charts import Compared, points
from .laws import laws
from .models import HALF_MATCH, MATCH, MODELS, compared, farthest, off, predicted, without_sign
from .network import AXES, TCP_FLOWS, Traffic

RATES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
NUMBERS = (12, 16, 20, 24, 32, 40, 48, 64)

load = Traffic(snapshots=True, N=[TCP_FLOWS], x0=RATES)
many = Traffic(snapshots=True, N=NUMBERS, x0=[10.0])

POINTS = "percentage points"
THEOREM_1 = 100 * choke.PEAK_SHARE, "Theorem 1: 26.9 %"
REST = "equations (3), (4), (6), (7) and (9) give the queue, with RED's gaps and with {} rate and the hits as measured"
PANELS = {
    "b": ("aggregate queue", "queue b (packets)"),
    "share": ("UDP's share of the link", "UDP's share (%)"),
    "tcp_flow": ("throughput of a TCP flow", "x₁(1 − p₁) (packets/s)"),
    "x1": ("what a TCP flow sends", "x₁ (packets/s)"),
    "p1": ("drops of a TCP flow's packets", "p₁ (%)"),
}


def of(*names: str) -> dict[str, tuple[str, str]]:
    """Some of the panels."""
    return {name: PANELS[name] for name in names}


def share_matches(runs: Runs, axis: str, statement: str) -> Check:
    """UDP's share against the full model, over an axis."""
    apart = farthest(runs.over(axis, "share") - predicted(runs, axis, "share", "full")).as_(unit=POINTS)
    return reference(f"{statement}: UDP's share", apart, not_above(1, "chosen here"), id="share-matches")


def queue_matches(runs: Runs, axis: str) -> Iterator[Check]:
    """The queue, x_1 and p_1 against both full models, the worst point of each. Throughput could not fail: (7) fixes
    it."""
    alone = [
        (before - after).as_(f"how much nearer {words} it", "% of the queue")
        for model, words in (("timeouts", "a law with timeouts alone brings"), ("gaps", "RED's gaps alone bring"))
        for before, after in zip(distance(runs, axis, "full"), distance(runs, axis, model), strict=True)
    ]
    one = reference(
        "a law with timeouts alone, and RED's gaps alone, bring the model's queue nearer to the measured one at every "
        "point", min(alone, key=lambda each: each.mean), above(0), id="one-at-a-time",
    )  # fmt: skip
    rest = reference(REST.format("TCP's"), farthest(laws(runs, axis)["rest_b"]), HALF_MATCH, id="rest")
    spoken = {"b": "the queue", "x1": "the rate that a TCP flow sends", "p1": "the drops of a TCP flow"}
    for name, words in spoken.items():
        yield reference(
            f"simulation and full model match very well, with (43) and (44): {words}", off(runs, axis, name, "full"),
            MATCH, id=f"{name}-full", evidence=one,
            because="(43) has no timeouts, and (44) does not have the gaps that RED leaves between drops. Replacing "
                    "either alone brings the model's queue nearer to the measured one at every point. Each law is "
            "checked by itself under Section V-A.",
        )  # fmt: skip
        yield reference(
            f"the same with a law of TCP that has timeouts, and with the gaps between RED's drops: {words}",
            off(runs, axis, name, "refined"), MATCH, id=f"{name}-refined", evidence=rest,
            because="The law with timeouts differs from what the flows send, the more so the more flows there are. And "
            "a comparison drops fewer of TCP's arrivals than (5) says, which matters most if few flows share the "
            "queue. The first makes the model's queue longer, the second shorter. With both as measured, the other "
            "equations give the queue.",
        )  # fmt: skip
    yield from (one, rest)


def distance(runs: Runs, axis: str, model: str) -> list[Quantity]:
    """How far the measured queue is from a model's, in per cent of it."""
    queue = runs.over(axis, "b")
    return [without_sign(each) for each in (queue - predicted(runs, axis, "b", model)).percent_of(queue)]


@figure(4, "Effect of the UDP rate on queue and UDP's share", source="Sec. V-A, Fig. 4",
        chart=Compared("x0", of("b", "share", "x1", "p1"), lines={"share": THEOREM_1}), load=load)  # fmt: skip
def fig4(load: Runs) -> Iterator[Check]:
    """32 NewReno transfers and one UDP source on 1 Mbit/s (c = 125 packets/s). Means over seeds with 95 % intervals.
    Full model: eqs. (3) to (9) with (43) and (44), and again with a law of TCP that has timeouts and with the gaps that
    RED leaves between its drops here. Approximate model: Sec. III-C; it neglects matches of TCP packets, so that p₁ =
    r."""
    phi = np.linspace(1e-4, 0.4999, 200_001)
    rate, share = choke.closed_curve(phi)
    best = int(np.argmax(share))
    for words, value, said, id in (
        ("UDP's greatest share is 0.269", share[best], 0.269, "share"),
        ("UDP's share is greatest at x0(1 − r)/c = 1.193", rate[best], 1.193, "load"),
        ("UDP's share is greatest with h0 = 0.387", phi[best], 0.387, "h0"),
    ):
        peak = number(value, "", "at the peak of the closed curve (19)")
        yield exact(words, peak, printed(said, 0.001), source="Theorem 1", id=f"theorem-1-{id}")

    shares, queue = load.over("x0", "share"), load.over("x0", "b")
    yield claim("UDP's share drops to less than 5 % at 10c", shares.at(10.0), below(5))
    yield claim("UDP's share rises, and peaks where it sends slightly more than c",
                (shares.at(1.25) - shares.at(0.5)).as_("share at 1.25c less that at 0.5c", POINTS), above(0),
                id="share-rises")  # fmt: skip
    yield claim("UDP's share drops from its peak",
                (shares.at(1.25) - shares.at(5.0)).as_("share at 1.25c less that at 5c", POINTS), above(0),
                id="share-drops")  # fmt: skip
    yield claim("simulation shows a smaller greatest share than Theorem 1", shares.peak(), below(THEOREM_1[0]))
    full, rough = (predicted(load, "x0", "share", model) for model in ("full", "approximate"))
    lower = (full.peak() - rough.peak()).as_("the full model's greatest share less the approximate one's", POINTS)
    yield reference("the full model shows a smaller share than the approximate one: at its peak", lower, below(0),
                    id="smaller-peak")  # fmt: skip
    less = (full - rough).highest().as_("the full model's share less the approximate one's, greatest", POINTS)
    yield reference("the full model shows a smaller share than the approximate one: at every rate", less, below(0),
                    remark="Below 0.3c it shows a little more.", id="smaller-share")  # fmt: skip
    yield claim("the queue steadily increases with UDP's rate",
                (queue.at(10.0) - queue.at(0.1)).as_("queue at 10c less that at 0.1c"), above(0))  # fmt: skip
    yield share_matches(load, "x0", "simulation and full model match closely")
    yield from queue_matches(load, "x0")


@figure(5, "Effect of the number of TCP flows at 10c", source="Sec. V-A, Fig. 5",
        chart=Compared("N", of("b", "tcp_flow", "x1", "p1"), ticks=()), many=many)  # fmt: skip
def fig5(many: Runs) -> Iterator[Check]:
    """UDP sends 10c; 12 to 64 NewReno transfers; drawn as Figure 4. A TCP flow's throughput is c(1 − μ₀)/N by (7),
    whatever the law of TCP: what it sends and loses tells the models apart."""
    queue, flow = many.over("N", "b"), many.over("N", "tcp_flow")
    more = (queue.at(64) - queue.at(12)).as_("queue with 64 flows less that with 12")
    yield claim("the queue increases with N", more, above(0))
    less = (flow.at(12) - flow.at(64)).as_("throughput of a TCP flow with N = 12 less that with N = 64")
    yield claim("the throughput of a TCP flow decreases with N", less, above(0))
    yield share_matches(many, "N", "simulation and model match very well")
    yield from queue_matches(many, "N")


# Each law by itself -----------------------------------------------------------------------------------------------

ALTERED = {
    "full": ("full model, (43), (44)", plot.BLUE, "-"),
    "own_time": ("and the packet's own time", plot.SKY, ":"),
    "timeouts": ("and timeouts", plot.ORANGE, "-."),
    "gaps": ("and RED's gaps", plot.PURPLE, "--"),
    "refined": ("and all three", plot.GREEN, "-"),
}
OVER = (
    ("TCP's law at measured p, τ",
     (("f_full", "f of (43) / x₁", plot.BLUE, "o"), ("f_refined", "f with timeouts / x₁", plot.GREEN, "^"))),
    ("drops at the measured queue",
     (("g_full", "(44) / r", plot.BLUE, "o"), ("g_refined", "RED's gaps / r", plot.GREEN, "^"),
      ("hits_tcp", "TCP's hits / (b₁/b)", plot.VERMILION, "s"), ("hits_udp", "UDP's hits / (b₀/b)", plot.PURPLE, "D"))),
)  # fmt: skip


def by_law(many: Runs, load: Runs, checks: Sequence[Check]) -> Drawing:
    """Over N: the queue by models that change one thing at a time, and each law over what was measured."""
    tables = []
    for runs, axis in ((many, "N"), (load, "x0")):
        table = compared(runs, MODELS).with_columns(pl.Series("r_mean", [each.mean for each in runs.over(axis, "r")]))
        for name, curve in laws(runs, axis).items():
            spreads = [each.spread for each in curve]
            half = pl.Series(f"{name}_half_width", [each.half_width for each in spreads]).fill_nan(None)
            table = table.with_columns(pl.Series(f"{name}_mean", [each.mean for each in spreads]), half)
        tables.append(table)
    return Drawing(draw_laws(tables[0]), pl.concat(tables).unique(["N", "x0"], keep="first", maintain_order=True))


@plot.drawing
def draw_laws(table: pl.DataFrame) -> Drawn:
    """Table: `N`, `b`, `<model>_b`, and of each law by how many per cent it is off."""
    figure, ((queue, *others),) = plot.panels(1, 3, width=10.4, height=3.9, share_y=False)
    queue.set_title("queue, one change at a time")
    points(queue, table["N"], table, "b")
    for name, (label, colour, line) in ALTERED.items():
        queue.plot(table["N"], table[f"{name}_b"], line, color=colour, label=label)
    rest = table["b_mean"] * (1 + table["rest_b_mean"] / 100)
    queue.plot(table["N"], rest, color=plot.BLACK, linewidth=1, label="x₁ and hits measured")
    queue.set_ylabel("queue b (packets)")
    for axes, (title, drawn) in zip(others, OVER, strict=True):
        axes.set_title(title)
        for name, label, colour, marker in drawn:
            half = table[f"{name}_half_width"].cast(pl.Float64).fill_null(0.0) / 100
            axes.errorbar(table["N"], 1 + table[f"{name}_mean"] / 100, yerr=half, fmt="-", marker=marker, color=colour,
                          capsize=3, linewidth=1, label=label)  # fmt: skip
        axes.axhline(1, color=plot.BLACK, linestyle=":", linewidth=1.3, zorder=1.5)
        axes.set_ylim(bottom=0)
    others[0].set_ylabel("law over measurement")
    for axes in (queue, *others):
        axes.set_xlabel(AXES["N"].label)
        axes.set_ylim(0, axes.get_ylim()[1] * (1.55 if axes is queue else 1.45))
        axes.legend(loc="upper left", fontsize=8.5)
    return figure


@figure("laws", "Why the queue differs: each law by itself", label="Section V-A", source="Sec. V-A", after=5,
        chart=by_law, many=many, load=load)  # fmt: skip
def each_law(many: Runs, load: Runs) -> Iterator[Check]:
    """The runs of Figures 4 and 5; drawn are those of Figure 5. Left: models that change one thing at a time. Middle:
    TCP's law f(p₁, τ) at the measured p₁ and τ, over the measured x₁. Right: RED's law g at the measured queue, over
    RED's measured drops; and hits: the part of a flow's arrivals that the comparison drops, over its part of the
    queue, which is 1 by (5)."""
    of_load, of_many = laws(load, "x0"), laws(many, "N")

    def law(name: str) -> Quantity:
        return farthest(of_load[name], of_many[name])

    full, timeouts = (chain(of_load[name], of_many[name]) for name in ("f_full", "f_refined"))
    gains = [without_sign(before) - without_sign(after) for before, after in zip(full, timeouts, strict=True)]
    least = min(gains, key=lambda each: each.mean)
    nearer = reference("with timeouts the law of TCP comes nearer to the measured x₁ at every point",
                       least.as_("how much nearer", "percentage points of x₁"), above(0), source="Padhye et al. 2000",
                       id="timeouts-nearer")  # fmt: skip
    yield reference(
        "TCP's rate is that of (43)", law("f_full"), MATCH, source="eq. (43)", id="43", evidence=nearer,
        because="Windows are about three packets and timeouts frequent; (43) knows none. A law with them comes nearer "
        "at every point, but is not exact: least off with few flows, most with many.",
    )  # fmt: skip
    yield nearer
    gaps = reference("RED's drops are r = 2p_b/(1 + p_b), as it spaces them", law("g_refined"), HALF_MATCH,
                     source="Floyd & Jacobson 1993, Sec. VII", id="gaps")  # fmt: skip
    yield reference(
        "RED's drops are those of (44)", law("g_full"), MATCH, source="eq. (44)", id="44", evidence=gaps,
        because="RED here spaces its drops by uniform gaps on 1 … 1/p_b, its default, which drops 2p_b/(1 + p_b).",
    )  # fmt: skip
    yield gaps
    udp = reference("a comparison drops b_i/b of a flow's arrivals: of UDP's, at 10c", farthest(of_many["hits_udp"]),
                    HALF_MATCH, source="eq. (5)", id="hits-udp")  # fmt: skip
    yield reference(
        "a comparison drops b_i/b of a flow's arrivals: of TCP's", law("hits_tcp"), MATCH, source="eq. (5)",
        id="hits-tcp", evidence=udp,
        because="A TCP flow sends when acknowledgements come, that is, after its packets have left the queue. So "
        "an arrival finds fewer packets of its own flow in the queue than there are on average. UDP's arrivals wait "
        "for nothing and find what (5) says.",
    )  # fmt: skip
    yield udp
