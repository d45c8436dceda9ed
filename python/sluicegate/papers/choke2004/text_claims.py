"""Sec. VI: several UDP flows, Front and Back CHOKe, which the paper has no figures of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn

from ...plot import style as plot
from ...reproduce import Check, Drawing, Runs, Variant, above, claim, figure, reference, within
from .charts import COLOURS, MARKERS, points
from .fig04_05 import load
from .fig08_09 import CYCLES, cycles
from .laws import shares_at_rate
from .models import both, compared, predicted, shares_hold
from .network import QUEUE, TCP_FLOWS, Traffic

several = Traffic(k=[2, 5], x0=[0.2, 0.5, 1.0, 2.0, 5.0])

BACK_MANY = 200
SLOW, JITTER = ("flows.0.access_rate", "0.97 Mbit/s"), ("flows.1.jitter", "1")
HOSTS = {
    "as it is": Variant("hosts as they are"),
    "TCP spaced": Variant("TCP spaced", (SLOW,)),
    "UDP jittered": Variant("UDP jittered", (JITTER,)),
    "both": Variant("TCP spaced, UDP jittered", (SLOW, JITTER)),
}
"""TCP's packets do not come back to back, over access links of nearly the link's rate (at exactly its rate, packets of
all hosts would meet at the same nanosecond); UDP is not synchronised with the link; both."""
ends = Traffic(draw=["front", "back"], N=[TCP_FLOWS], hosts=[HOSTS["as it is"]], x0=[0.5, 1.0, 2.0, 5.0, 10.0])
back = Traffic(tables=QUEUE, draw=["back"], N=[TCP_FLOWS, BACK_MANY], hosts=list(HOSTS.values()), x0=[10.0])
"""Back CHOKe at 10c: the number of TCP flows, whether their packets are spaced, and whether UDP's gaps are random, each
by itself and together."""

ALLOWED = within(None, 1, "allowed: a tenth of the model's share, the 95 % interval over seeds, and 0.2 % of the link")


def over_rate(several: Runs, ends: Runs, back: Runs, checks: Sequence[Check], **_: Runs) -> Drawing:
    """Shares of the link over the rate of each unresponsive flow: with several of them, beside the full model; under
    Front and Back CHOKe, beside one third."""
    spaced = [(TCP_FLOWS, "both"), (BACK_MANY, "as it is"), (BACK_MANY, "both")]
    left = {f"{at.k} UDP flows": compared(at, ["refined"]) for at in several.each("k")}
    right = {f"{at.draw.capitalize()} CHOKe": at.frame("share") for at in ends.each("draw")} | {
        f"Back, N = {flows}{', TCP spaced, UDP jittered' if hosts == 'both' else ''}":
            back.at(N=flows, hosts=HOSTS[hosts]).frame("share")
        for flows, hosts in spaced
    }  # fmt: skip

    @plot.drawing
    def draw() -> Drawn:
        figure, (row,) = plot.panels(1, 2, height=4.0)
        panel(row[0], "several UDP flows", left, "each sends (parts of c)", (0.2, 0.5, 1, 2, 5))
        panel(row[1], "Front and Back CHOKe", right, "UDP sends (parts of c)", (0.5, 1, 2, 5, 10))
        plot.reference(row[1], 100 / 3, "33.3 %", lift=6)
        row[0].set_ylabel("unresponsive flows' share of the link (%)")
        return figure

    return Drawing(draw(), pl.concat([*left.values(), *right.values()], how="diagonal"))


def panel(axes: Axes, title: str, lines: dict[str, pl.DataFrame], label: str, ticks: Sequence[float]) -> None:
    """A line for each table."""
    axes.set_title(title)
    for (name, table), colour, marker in zip(lines.items(), COLOURS, MARKERS, strict=False):
        points(axes, table["x0"], table, "share", plot.Style(name, colour, "-", marker))
        if "refined_share" in table.columns:
            axes.plot(table["x0"], table["refined_share"], color=colour, linewidth=1.3, label=f"{name}, full model")
    axes.set_ylim(0, 150)  # room for the legend above the points
    axes.set_yticks(range(0, 101, 20))
    plot.log_axis(axes, "x", ticks)
    axes.set_xlabel(label)
    axes.legend(loc="upper left", fontsize=8.5)


@figure("kinds", "Several UDP flows, Front and Back CHOKe", label="Section VI, variants", source="Sec. VI",
        after=9, chart=over_rate, several=several, ends=ends, back=back, load=load)  # fmt: skip
def kinds(several: Runs, ends: Runs, back: Runs, load: Runs) -> Iterator[Check]:
    """32 NewReno transfers on 1 Mbit/s. Left: several equal UDP flows and one candidate; lines: the full model with
    timeouts and RED's gaps. Right: an arrival is compared with the packet at the head or at the tail. TCP spaced: its
    packets leave at 0.97 Mbit/s; UDP jittered: with random gaps."""
    one = load.at(x0=10.0)["share"]
    for at in several.each("k"):
        more = (at.over("x0", "share").at(5.0) - one).as_("share of all with 5c each, less that of one with 10c",
                                                         "percentage points")  # fmt: skip
        yield claim("several UDP flows may take more at a high rate", more, above(0), id="take-more")
    for at in several.each("k"):
        pairs = zip(at.over("x0", "share"), predicted(at, "x0", "share", "refined"), strict=True)
        rows = [row for share, model in pairs for row in both(share, model.mean, share.at)]
        rate = reference("with the TCP flows' measured rate in place of their law, the model holds for several UDP "
                         "flows", shares_hold(shares_at_rate(at, "x0")), ALLOWED,
                         id="at-measured-rate", source=BEYOND)  # fmt: skip
        yield reference("the model holds for several UDP flows of 0.2c to 5c each", shares_hold(rows), ALLOWED,
                        id="model", because=TIMEOUTS, evidence=rate, source=BEYOND)  # fmt: skip
        yield rate

    words = "with Back CHOKe UDP's share is close to 1/3 if the number of TCP flows is large"
    third = within(0.3, 1.1 / 3, "1/3, give or take a tenth of it")

    def share(flows: int, hosts: str) -> Check:
        found = back.at(N=flows, hosts=HOSTS[hosts])["share"] * 0.01
        return claim(words, found.as_(unit="of the link"), third, id="back", because=why, evidence=smooth)

    smooth = claim(f"{words}: with TCP's packets spaced and UDP jittered",
                   (back.at(N=BACK_MANY, hosts=HOSTS["both"])["share"] * 0.01).as_(unit="of the link"), third,
                   id="back-no-bursts")  # fmt: skip
    single = ", ".join(
        f"{back.at(N=flows, hosts=variant)['share'].mean / 100:.2f} with N = {flows}, {variant.label}"
        for flows in (TCP_FLOWS, BACK_MANY) for variant in HOSTS.values()
    )  # fmt: skip
    why = (
        "Many flows alone do not bring it about, nor do spaced TCP packets or a UDP flow that is not synchronised with "
        f"the link; all three together do ({single}). The queue then stays above min_th, so that CHOKe is always on. "
        "Otherwise it is at min_th, and UDP takes all while CHOKe is off."
    )
    yield from (share(TCP_FLOWS, "as it is"), share(BACK_MANY, "as it is"), smooth)
    falls, _ = cycles(back.at(N=TCP_FLOWS, hosts=HOSTS["as it is"]))
    yield claim("with Back CHOKe the queue oscillates around min_th", falls, above(CYCLES))


BEYOND = "Sec. VII; an extension of Sluicegate's"
TIMEOUTS = (
    "TCP loses many packets here, so that timeouts dominate. Its law then gives a higher rate than the flows send at "
    "the measured p and τ, and the model leaves them too much. With their rate as measured the model holds."
)
