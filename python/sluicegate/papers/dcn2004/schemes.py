"""The queue disciplines of DCN 2004 as the paper runs them."""

from __future__ import annotations

from dataclasses import dataclass

from ...plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from ...reproduce import Variant


@dataclass(frozen=True)
class Scheme(Variant):
    """A queue discipline, and how it is drawn: a colour for the design, dashes without ECN."""

    color: str = BLACK
    line: str = "-"


def _scheme(label: str, discipline: str, color: str, line: str, *, ecn: bool = False, **given: str) -> Scheme:
    """`given`: parameters of the discipline, or `limit`, of the queue. `ecn`: hosts and queue use marks."""
    sets = [("queue.discipline", discipline)]
    sets += [(f"queue.{key}" if key == "limit" else f"queue.{discipline}.{key}", value) for key, value in given.items()]
    if ecn:
        if discipline != "rio_ps":  # the paper's PI and AFD mark whatever the probability is
            sets.append((f"queue.{discipline}.mark_th", "1"))
        sets += [(f"queue.{discipline}.action", "mark"), ("flows.0.ecn", "true"), ("flows.1.ecn", "true")]
    return Scheme(label, tuple(sets), color, line)


# 1000 packets are enough that no queue under control overflows, as the paper has it.
UNCONGESTED = Scheme(
    "uncongested", (("network.rate", "1 Gbit/s"), ("queue.discipline", "drop_tail"), ("queue.limit", "10000")), line=":"
)
DROP_TAIL = _scheme("Drop Tail", "drop_tail", GREY, "-", limit="240")
# In byte mode p falls on a packet by its length, which spares acknowledgements and SYNs. The text says nothing on it
# (unstated.py compares both). Nor does it say what packet PI counts in and how many AFD's shadow buffer holds: both are
# what they are with packets of 1000 bytes.
PI = _scheme("PI", "pi", ORANGE, "--", q_ref="24", limit="1000", max_packet="1000 B", mode="byte")
PI_ECN = _scheme("PI with ECN", "pi", ORANGE, "-", q_ref="24", limit="1000", max_packet="1000 B", mode="byte", ecn=True)
PI_240 = _scheme("PI, q_ref 240", "pi", PURPLE, "--", q_ref="240", limit="1000", max_packet="1000 B", mode="byte")
PI_ECN_240 = _scheme(
    "PI with ECN, q_ref 240", "pi", PURPLE, "-", q_ref="240", limit="1000", max_packet="1000 B", mode="byte", ecn=True
)
PI_PACKET = _scheme("PI, packet mode", "pi", PURPLE, "--", q_ref="24", limit="1000", max_packet="1000 B")
PI_ECN_PACKET = _scheme(
    "PI with ECN, packet mode", "pi", PURPLE, "-", q_ref="24", limit="1000", max_packet="1000 B", ecn=True
)
DCN = _scheme("DCN", "dcn", BLUE, "-", q_ref="24", limit="1000")
PRINTED_LAW = _scheme("DCN, law as printed", "dcn", SKY, "-.", q_ref="24", limit="1000", law="printed")
DCN_40 = _scheme("DCN, threshold 40", "dcn", SKY, "--", q_ref="24", limit="1000", threshold="40")
AFD = _scheme("AFD", "afd", GREEN, "--", q_ref="240", limit="1000", b="5000")
AFD_ECN = _scheme("AFD with ECN", "afd", GREEN, "-", q_ref="240", limit="1000", b="5000", ecn=True)
RIO_PS = _scheme("RIO-PS", "rio_ps", VERMILION, "--")
RIO_PS_ECN = _scheme("RIO-PS with ECN", "rio_ps", VERMILION, "-", ecn=True)

SCHEMES = (UNCONGESTED, DROP_TAIL, PI, PI_ECN, DCN, AFD, AFD_ECN, RIO_PS, RIO_PS_ECN)
"""The rows of Table 1."""

OTHER_AQM = (PI_ECN, AFD_ECN, RIO_PS_ECN)
"""The best versions of the designs other than DCN, as Figs. 9 to 20 show them."""

BEST = (UNCONGESTED, DROP_TAIL, PI_ECN, DCN, AFD_ECN, RIO_PS_ECN)
