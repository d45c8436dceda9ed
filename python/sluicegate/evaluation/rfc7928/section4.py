"""RFC 7928, Sec. 4: a range of targets, packet sizes, ECN and scheduling, which it asks about beside the scenarios
of Sections 5 to 9."""

from __future__ import annotations

from ..suite import LINKS, Number, Scenario, classes
from .aims import aimed
from .section6 import CATEGORIES, TRIPS
from .section8 import MEDIUM, MILD
from .traffic import transfers, voip

TARGETS_MS = (5, 10, 20, 40)
"""The delays that disciplines are told to aim at in Sec. 4.3.1: from CoDel's default to an eighth of a planned one."""

SCENARIOS = (
    Scenario(
        "targets", "4.3.1", "A range of targets",
        f"Medium congestion under each discipline with targets of {', '.join(map(str, TARGETS_MS))} ms, set as a time "
        f"or, if it has no such target, as the queue length that takes so long to send. Disciplines can then be "
        "compared by what delay costs in goodput, rather than by what one value means to each.",
        lambda settings: {"NewReno": transfers(MEDIUM)},
        (Number("NewReno", "delay_mean_ns"), Number("NewReno", "goodput_bps")),
        points={f"{aim} ms": () for aim in TARGETS_MS},
        axis="Target",
        at={f"{aim} ms": {"queue": aimed(aim)} for aim in TARGETS_MS},
        drawing="curve",
    ),
    Scenario(
        "packet-sizes", "4.4", "Small and large packets",
        f"Mild congestion (8.2.2) in which half of the {MILD} transfers send packets of 500 bytes (category I) and "
        "half of 1500 (category II). The ratio of their goodputs and the loss of each show which lengths the "
        "discipline favours.",
        lambda settings: {
            "500 B": transfers(MILD // 2, packet_size="500 B"),
            "1500 B": transfers(MILD - MILD // 2),
        },
        (Number("1500 B", "over_first"), Number("500 B", "loss_ratio"), Number("1500 B", "loss_ratio")),
    ),
    Scenario(
        "packet-sizes-both-ways", "4.4", "Small and large packets both ways",
        "The transfers of packet-sizes in each direction (9.2), so that acknowledgements stand beside packets of 500 "
        "and 1500 bytes in both queues.",
        lambda settings: {
            f"{size} {way}": transfers(MILD // 2, packet_size=size, direction=direction)
            for way, direction in (("down", "forward"), ("up", "reverse")) for size in ("500 B", "1500 B")
        },
        (Number("500 B down", "loss_ratio"), Number("1500 B down", "loss_ratio"), Number("1500 B down", "over_first")),
    ),
    Scenario(
        "ecn", "4.5", "Interaction with ECN",
        "The transfers of Section 6.2 with ECN, under the disciplines, which mark if they can. Compared with "
        "round-trips, it shows what marks save hosts that halve their window for a mark as for a loss, and whether "
        "marks make shares more equal.",
        lambda settings: {name: transfers(ecn=True) for name in CATEGORIES},
        (Number(CATEGORIES[0], "loss_ratio"), Number(LINKS, "jain"), Number(CATEGORIES[0], "delay_p99_ns")),
        points=TRIPS,
        axis=CATEGORIES[1],
        also=("over_first",),
        drawing="ratio",
        marks=True,
    ),
    Scenario(
        "scheduling", "4.6", "Interaction with scheduling",
        "Two classes share the link by deficit round robin, each under the discipline: a call with four transfers, and "
        "ten transfers. The call waits for what its own class has queued, and for the other class's turn.",
        lambda settings: {
            "VoIP": voip(),
            "4 NewReno": transfers(4),
            "10 NewReno": transfers(10, class_=1),
        },
        (Number("VoIP", "delay_p99_ns"), Number(LINKS, "goodput_bps")),
        queue=classes("drr", 2),
        places=("queue.classes.0", "queue.classes.1"),
    ),
)  # fmt: skip
