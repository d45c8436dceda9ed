"""RFC 7928, Sec. 4: packet sizes, ECN and scheduling, which it asks about beside the scenarios of Sections 5 to 9."""

from __future__ import annotations

from ..suite import LINKS, Number, Scenario, classes
from .section8 import MEDIUM
from .traffic import cbr, transfers, voip

SCENARIOS = (
    Scenario(
        "packet-sizes", "4.4", "Small and large packets",
        "Two unresponsive flows of 500 kbit/s, one with packets of 1500 bytes and one of 200, beside the transfers of "
        "medium congestion. A discipline that does not look at lengths drops the same part of both.",
        lambda settings: {
            "1500 B": cbr("500 kbit/s"),
            "200 B": cbr("500 kbit/s", packet_size="200 B"),
            "NewReno": transfers(MEDIUM),
        },
        (Number("200 B", "loss_ratio"), Number("1500 B", "loss_ratio")),
        drawn=("1500 B", "200 B"),
    ),
    Scenario(
        "ecn", "4.5", "Interaction with ECN",
        "Medium congestion with hosts that use ECN, under disciplines that mark as far as they can. Set beside Section "
        "8.2.3, it shows what marks spare to hosts that halve for a mark as for a loss: drops, and what is sent again.",
        lambda settings: {"NewReno": transfers(MEDIUM, ecn=True)},
        (Number("NewReno", "loss_ratio"), Number(LINKS, "delay_p99_ns"), Number(LINKS, "utilisation")),
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
        (Number("VoIP", "delay_p99_ns"), Number(LINKS, "utilisation")),
        queue=classes("drr", 2),
        places=("queue.classes.0", "queue.classes.1"),
    ),
)  # fmt: skip
