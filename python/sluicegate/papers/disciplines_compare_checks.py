"""The checks of the comparison of all disciplines: what papers and RFCs claim of them, where its inputs do not
decide."""

from __future__ import annotations

import math

from ..stats import Interval, difference, interval
from .checks import Bounds, Check, above, printed
from .disciplines_compare import (
    BURSTS,
    FAIR,
    MIXED,
    NONE,
    STATE,
    UNRESPONSIVE,
    Compared,
    Workload,
    by_seed,
    spread,
)

LOOKS = ("choke", "choke_linux")
"""Disciplines that remember nothing and yet tell flows apart, by the packets in the queue."""

POLICING = (
    ("choke", "CHOKe 1999, Sec. 3"), ("choke_linux", "CHOKe 1999, Sec. 3; Linux"), ("fred", "Lin & Morris 1997, after "
    "DCN 2004, Sec. 2"), ("sfb", "Feng et al. 2001, after DCN 2004, Sec. 2"), ("red_pd",
    "Mahajan & Floyd 2001, after DCN "
     "2004, Sec. 2"), ("csfq", "Stoica et al. 1998, after CHOKe 1999, Sec. 1"), ("penalty_box", "RED 1993, Sec. X"),
    ("afd", "Pan et al. 2003, after DCN 2004, Sec. 2"), ("dcn", "DCN 2004, Sec. 3"), ("fq_codel", "RFC 8290"),
)  # fmt: skip
"""Disciplines that are to restrict a flow that does not react, and where that is said."""

FAIR_QUEUES = (("fq", "Demers et al. 1989, after CHOKe 1999, Sec. 1"), ("sfq", "McKenney 1990"))
TARGETS = (("pi", "Hollot et al. 2001"), ("afd", "Pan et al. 2003"), ("dcn", "DCN 2004, Sec. 3.2, corrected [D]"))
"""Disciplines with a controller of the queue's length."""
SETTLED = (UNRESPONSIVE, MIXED)
PIE_MS = 15.0
BLIND = 0.9

OF_FIGURE: dict[str, tuple[str, ...]] = {
    "choice": (),
    "unresponsive": ("share-starved", "share-blind", *(f"share-{name}-below-red" for name, _ in POLICING),
                     *(f"share-{name}-held" for name, _ in FAIR_QUEUES), "share-sred",
                     *(f"target-{name}-unresponsive" for name, _ in TARGETS)),
    "mixed-round-trips": (*(f"jain-{name}-above-drop-tail" for name, _ in FAIR_QUEUES),
                          *(f"target-{name}-mixed" for name, _ in TARGETS), "target-pie"),
    "bursts": ("bursts-red", "bursts-choke"),
}  # fmt: skip
"""Which checks stand under which figure."""


def checks(all_: Compared) -> list[Check]:
    """All checks of the comparison."""
    return [*_shares(all_), *_targets(all_), *_round_trips(all_), *_bursts(all_)]


def _less(all_: Compared, workload: Workload, more: str, less: str, metric: str, factor: float) -> Interval:
    """By seed, how much more `more` has of a quantity than `less`."""
    both = ([factor * value for value in by_seed(all_, workload, label, metric)] for label in (more, less))
    return difference(*both)


def _shares(all_: Compared) -> list[Check]:
    def shares(label: str) -> Interval:
        return interval(100 * value for value in by_seed(all_, UNRESPONSIVE, label, "udp_share"))

    least = min((shares(label) for label in ("drop_tail", "red")), key=lambda found: found.mean)
    blind = {label: shares(label) for label, (kind, _) in STATE.items() if kind == NONE and label not in LOOKS}
    seeing = min(blind, key=lambda label: blind[label].mean)
    result = [
        Check(
            "share-starved", "CHOKe 1999, Sec. 3 and Figs. 2, 3", "claim",
            "with Drop Tail and RED the UDP flow takes more than 95 % of the bandwidth", least.mean,
            "% of the link, the lesser of the two", above(95, least),
        ),
        Check(
            "share-blind", "CHOKe 1999, Sec. 1; DCN 2004, Sec. 2", "claim",
            "what does not tell flows apart cannot restrict one that does not react; tested: it leaves the flow nine "
            f"tenths of the link, whichever of {len(blind)} it is", blind[seeing].mean,
            f"% of the link, the least of all ({seeing})", above(100 * BLIND, blind[seeing]),
        ),
    ]  # fmt: skip
    for name, source in POLICING:
        less = _less(all_, UNRESPONSIVE, "red", name, "udp_share", 100)
        result.append(
            Check(
                f"share-{name}-below-red", source, "claim",
                f"{name} restricts a flow that does not react; tested: it gets less than with RED, seed by seed",
                less.mean, f"percentage points less than RED ({shares(name).mean:.1f} % of the link)", above(0, less),
            )
        )  # fmt: skip
    for name, source in FAIR_QUEUES:
        share = shares(name)
        result.append(
            Check(
                f"share-{name}-held", source, "claim",
                f"{name} gives each flow its share; tested: at least a 33rd, because the flow always has packets "
                "waiting, and at most twice one", share.mean, "% of the link",
                Bounds(100 * FAIR - share.margin, 200 * FAIR - share.margin, f"a 33rd ({100 * FAIR:.2f}) and twice "
                f"one, moved down by the 95 % interval over {share.count} seeds ({share.margin:.2g})"),
            )
        )  # fmt: skip
    sred = shares("sred")
    result.append(
        Check(
            "share-sred", "Ott et al. 1999, by its formula [D]", "shown",
            "SRED's hits point at flows that have more than others, but they count for little: a flow that fills the "
            "zombie list makes P large, so that the flows seem to be few and p_zap, which has (1/(256 P))² in it, is "
            "nearly 0; tested: more than 90 %", sred.mean, "% of the link", above(90, sred),
        )
    )  # fmt: skip
    return result


def _targets(all_: Compared) -> list[Check]:
    result = []
    for workload, page in zip(SETTLED, ("unresponsive", "mixed"), strict=True):
        for name, source in TARGETS:
            queue = spread(all_, workload, name, "queue_packets_mean")
            result.append(
                Check(
                    f"target-{name}-{page}", source, "claim",
                    f"{name} holds the queue at q_ref, here {workload.queue} packets", queue.mean, "packets",
                    printed(workload.queue, 1, queue),
                )
            )  # fmt: skip
    delay = interval(value / 1e6 for value in by_seed(all_, MIXED, "pie", "queueing_delay_mean_ns"))
    result.append(
        Check(
            "target-pie", "RFC 8033, Sec. 4", "claim", "PIE holds the delay at QDELAY_REF, 15 ms", delay.mean,
            "ms waited on average", printed(PIE_MS, 1, delay),
        )
    )  # fmt: skip
    return result


def _round_trips(all_: Compared) -> list[Check]:
    result = []
    for name, source in FAIR_QUEUES:
        more = _less(all_, MIXED, name, "drop_tail", "jain_tcp", 1)
        result.append(
            Check(
                f"jain-{name}-above-drop-tail", source, "claim",
                f"{name} shares the link evenly whatever the round trips; tested: Jain's index is higher than with "
                "Drop Tail, seed by seed",
                more.mean, f"of Jain's index ({spread(all_, MIXED, name, 'jain_tcp').mean:.3f})",
                above(0, more),
            )
        )  # fmt: skip
    return result


def _bursts(all_: Compared) -> list[Check]:
    less = _less(all_, BURSTS, "drop_tail", "red", "burst_excess", 100)
    choke = interval(100 * value for value in by_seed(all_, BURSTS, "choke", "burst_excess"))
    margin = 0.0 if math.isnan(choke.half_width) else choke.margin
    return [
        Check(
            "bursts-red", "RED 1993, Sec. I", "claim",
            "RED has less bias against bursts than Drop Tail; tested: what bursts lose beyond smooth traffic, "
            "seed by seed",
            less.mean, "percentage points less than with Drop Tail", above(0, less),
        ),
        Check(
            "bursts-choke", "CHOKe 1999, Sec. 1; tested there with bursts of 8 packets at 1 Mbit/s", "shown",
            "CHOKe has no bias against bursts. Here a burst of 10 packets meets itself in a queue of a few dozen",
            choke.mean, "percentage points that bursts lose beyond smooth traffic",
            Bounds(-margin, margin, "none, give or take the 95 % interval"),
        ),
    ]  # fmt: skip
