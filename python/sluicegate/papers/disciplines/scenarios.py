"""The three scenarios, a row for each discipline, and those claims of papers and RFCs about disciplines that do
not depend on the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ...reproduce import Check, Drawing, Quantity, Runs, Table, above, claim, figure, printed, reference, within
from . import charts
from .charts import Shown
from .choice import STARVED, Ranking
from .workloads import (
    BASELINE,
    BLIND,
    FAIR,
    MIXED,
    NAMES,
    STATE,
    UNRESPONSIVE,
    Workload,
    bursts,
    mixed,
    ns2,
    of,
    unresponsive,
)

POLICING = {
    "choke": "CHOKe 1999, Sec. 3", "choke_linux": "CHOKe 1999, Sec. 3; Linux",
    "fred": "Lin & Morris 1997, after DCN 2004, Sec. 2", "sfb": "Feng et al. 2001, after DCN 2004, Sec. 2",
    "red_pd": "Mahajan & Floyd 2001, after DCN 2004, Sec. 2",
    "csfq": "Stoica et al. 1998, after CHOKe 1999, Sec. 1", "penalty_box": "RED 1993, Sec. X",
    "afd": "Pan et al. 2003, after DCN 2004, Sec. 2", "dcn": "DCN 2004, Sec. 3", "fq_codel": "RFC 8290",
}  # fmt: skip
"""Disciplines that are to restrict a flow that does not react, and where that is said."""

FAIR_QUEUES = {"fq": "Demers et al. 1989, after CHOKe 1999, Sec. 1", "sfq": "McKenney 1990"}
TARGETS = {"pi": "Hollot et al. 2001", "afd": "Pan et al. 2003", "dcn": "DCN 2004, Sec. 3.2, corrected [D]"}
"""Disciplines with a controller of the queue's length."""


def rows_of(
    shown: Sequence[Shown],
    logarithmic: Mapping[str, Sequence[float]],
    words: Callable[[Ranking], str],
    most: bool = False,
) -> Callable[..., Drawing]:
    """The chart of one scenario: disciplines in the order of the first quantity (`most`: the greatest first)."""

    def chart(runs: Runs, checks: Sequence[Check] = (), **_: Runs) -> Drawing:
        order = sorted(NAMES, key=lambda name: of(runs, name, shown[0].column).mean, reverse=most)
        table = {(each.column, name): of(runs, name, each.column).spread for each in shown for name in order}
        cells = tuple(
            (name, STATE[name][0], *(
                "none" if (found := table[each.column, name]).mean != found.mean
                else f"{found.mean:.3g}" + (f" ± {found.half_width:.2g}" if found.count > 1 else "") for each in shown
            )) for name in order
        )  # fmt: skip
        heads = ("Discipline", "Remembers", *(" ".join(each.label.split()) for each in shown))
        ranking = Ranking({"mixed" if runs.study is mixed else runs.study.scenario: runs})
        return Drawing(charts.rows_of(shown, order, table, logarithmic), runs.frame(), Table(heads, cells, len(shown)),
                       words(ranking))  # fmt: skip

    return chart


def less(runs: Runs, more: str, name: str, measure: str, label: str) -> Quantity:
    """How much more `more` has of a quantity than `name`, seed by seed."""
    return (of(runs, more, measure) - of(runs, name, measure)).as_(label)


def depends_on_hosts(
    runs: Runs, authors: Runs, statement: str, names: Sequence[str], share: float, *, id: str, **more: str
) -> Iterator[Check]:
    """Whether the UDP flow takes more than a share of the link under all of these disciplines, and whether it does with
    the hosts of ns-2."""

    def least(runs: Runs) -> Quantity:
        return min((of(runs, name, "udp_share") for name in names), key=lambda each: each.mean)

    theirs = claim(f"{statement}, with ns-2's hosts", least(authors), above(share), id=f"{id}-ns2", **more)
    yield claim(
        statement, least(runs), above(share), id=id, **more, evidence=theirs,
        because="How much is left to TCP depends on its hosts: with ns-2's, as the papers had, the statement holds "
        "under the same disciplines; Linux's get more through against such losses.",
    )  # fmt: skip
    yield theirs


def holds_target(runs: Runs, workload: Workload) -> Iterator[Check]:
    """The controllers of the queue's length."""
    for name, source in TARGETS.items():
        yield claim(f"{name} holds the queue at q_ref, here {workload.queue} packets", of(runs, name, "queue"),
                    printed(workload.queue, 1), source=source, id=f"target-{name}")  # fmt: skip


@figure("unresponsive", "One unresponsive flow", label="Scenario 1", after=1, runs=unresponsive, authors=ns2,
        chart=rows_of(
            (Shown("udp_share", "UDP's share (%)", FAIR), Shown("jain", "Jain's index among TCP"),
             Shown("delay", "TCP's delay, p99 (ms)")),
            {"udp_share": (3, 10, 30, 100), "delay": (50, 100, 200, 500, 1000, 2000, 5000)}, Ranking.unresponsive,
        ))  # fmt: skip
def one_unresponsive_flow(runs: Runs, authors: Runs) -> Iterator[Check]:
    """32 TCP transfers (Linux's Reno) and a UDP flow of 2 Mbit/s on 1 Mbit/s, packets of 1000 bytes; a fair share is a
    33rd (dotted). Every discipline has the same buffer and, if it has one, the same target; PI's gains are computed for
    the link; CoDel, FQ-CoDel and PIE have their RFCs' values, all others their defaults. Bars are 95 % intervals over
    seeds; colour and shape say what is remembered of flows."""

    def share(name: str) -> Quantity:
        return of(runs, name, "udp_share")

    yield from depends_on_hosts(
        runs, authors, "with Drop Tail and RED the UDP flow takes more than 95 % of the bandwidth",
        ("drop_tail", "red"), 95, source="CHOKe 1999, Sec. 3 and Figs. 2, 3", id="starved",
    )  # fmt: skip
    yield from depends_on_hosts(
        runs, authors, "a discipline that does not tell flows apart cannot restrict one that does not react", BLIND,
        STARVED, source="CHOKe 1999, Sec. 1; DCN 2004, Sec. 2", id="blind",
        tested=f"it leaves the flow nine tenths of the link, whichever of {len(BLIND)} it is",
    )  # fmt: skip
    for name, source in POLICING.items():
        yield claim(
            f"{name} restricts a flow that does not react",
            less(runs, "red", name, "udp_share", "less than with RED"),
            above(0),
            source=source,
            id=f"{name}-below-red",
        )
    for name, source in FAIR_QUEUES.items():
        found, sent = share(name), of(runs, name, "sent").mean
        margin, seeds = found.spread.margin, found.spread.count
        low = FAIR - margin - 100 / sent
        yield claim(
            f"{name} gives each flow its share",
            found,
            within(
                low,
                2 * FAIR - margin,
                f"at least a 33rd less one packet of the {sent:.0f} that the link sends (a share is a whole number of "
                f"packets), at most twice a 33rd; both moved down by the 95 % interval over {seeds} seeds "
                f"({margin:.2g})",
            ),
            source=source,
            id=f"{name}-held",
            tested="at least a 33rd, because the flow always has packets waiting, and at most twice that",
        )
    yield reference(
        "SRED's hits point at flows that have more than others, but they count for little: a flow that fills the "
        "zombie list makes P large, so that the flows seem to be few and p_zap, which has (1/(256 P))² in "
        "it, is nearly 0",
        share("sred"),
        above(90),
        source="Ott et al. 1999, by its formula [D]",
        id="sred",
    )
    yield from holds_target(runs, UNRESPONSIVE)


@figure("mixed-round-trips", "Mixed round trips", label="Scenario 2", after=2, runs=mixed, chart=rows_of(
            (Shown("jain", "Jain's index among TCP"), Shown("delay", "TCP's delay, p99 (ms)"),
             Shown("used", "utilisation (%)")),
            {"delay": (30, 50, 100, 200)}, Ranking.mixed, most=True,
        ))  # fmt: skip
def mixed_round_trips(runs: Runs) -> Iterator[Check]:
    """40 TCP transfers (Linux's Reno) with round trips of 10, 20, 50, 100 and 200 ms on 10 Mbit/s, packets of 1500
    bytes. All else as in scenario 1."""
    for name, source in FAIR_QUEUES.items():
        yield claim(
            f"{name} shares the link evenly whatever the round trips",
            less(runs, name, BASELINE, "jain", "Jain's index above Drop Tail's"),
            above(0),
            source=source,
            id=f"{name}-jain",
        )
    yield from holds_target(runs, MIXED)
    yield claim("PIE holds the delay at QDELAY_REF, 15 ms", of(runs, "pie", "waiting"), printed(15, 1),
                source="RFC 8033, Sec. 4", id="target-delay")  # fmt: skip


@figure("bursts", "Bursts", label="Scenario 3", after=3, runs=bursts, chart=rows_of(
            (Shown("burst_excess", "bursts' loss beyond\nsmooth traffic's (points)", 0),
             Shown("burst_loss", "bursts' loss (%)"), Shown("used", "utilisation (%)")),
            {}, Ranking.bursts,
        ))  # fmt: skip
def bursts_(runs: Runs) -> Iterator[Check]:
    """20 TCP transfers (Linux's Reno) on 10 Mbit/s, ten sources with bursts of 10 packets on average and ten smooth
    ones of the same mean rate, packets of 1500 bytes. All else as in scenario 1."""
    yield claim(
        "RED has less bias against bursts than Drop Tail",
        less(runs, BASELINE, "red", "burst_excess", "less than with Drop Tail"),
        above(0),
        source="RED 1993, Sec. I",
        id="bias",
    )
    choke = of(runs, "choke", "burst_excess")
    yield reference(
        "CHOKe has no bias against bursts. Here a burst of 10 packets meets itself in a queue of a few dozen",
        choke,
        within(-choke.spread.margin, choke.spread.margin, "none, give or take the 95 % interval"),
        id="no-bias",
        source="CHOKe 1999, Sec. 1; tested there with bursts of 8 packets at 1 Mbit/s",
    )
