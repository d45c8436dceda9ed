"""What each discipline promises of the queueing delay, with the source that says so.

A *bound* is a value that the queue, or its average, is to stay below; a *target* one that it is held at. A value in
packets becomes the time that they take at the link's rate. No promise excuses a delay above `LATE_NS`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..declarations import defaults
from ..quantities import in_base_unit
from ..traffic.paths import Resolved

USED = 0.9
"""The least part of the link that is to be used."""

LATE_NS = 400e6
"""The longest one-way delay that networks should be planned for (ITU-T G.114): a delay that no promise excuses, and the
only bound of a discipline that promises none."""

BOUND, TARGET = 1.1, 2.0
"""How far the mean queueing delay may be above a bound and a target. A tenth above a bound, as a link of which nine
tenths are used counts as full. Twice a target, for a controller swings about it: CoDel's own is anything from 5 to 10 %
of its interval (RFC 8289, Sec. 4.4), and PIE takes half of its target for an idle queue (RFC 8033, Sec. 5.1)."""


@dataclass(frozen=True)
class Promise:
    """The value `key` of a discipline times `part`, a number or another key; `within`: how far above it the delay may
    be. `source`: where it is said."""

    key: str
    within: float
    source: str
    part: float | str = 1.0

    @property
    def text(self) -> str:
        """It in words."""
        part = "" if self.part == 1 else f" · {self.part}" if isinstance(self.part, str) else f" / {1 / self.part:g}"
        return f"{self.key}{part}"


BUFFER = "only its buffer bounds the queue"
AVERAGE = "RED 1993, Sec. IV: the average is kept below max_th"

PROMISES: dict[str, Promise] = {
    **{name: Promise("limit", BOUND, BUFFER)
       for name in ("drop_tail", "random_drop", "early_random_drop", "drop_preference", "csfq", "fq", "sfq", "sfb")},
    **{name: Promise("limit", BOUND, f"{BUFFER}, because Linux's hosts without ECN ignore its signals")
       for name in ("decbit", "source_quench", "ut_lt")},
    **{name: Promise("limit", BOUND, f"{BUFFER} of each class, by default Drop Tail")
       for name in ("priority", "drr")},
    "fq_linux": Promise("limit", BOUND, "tc-fq(8): the buffer"),
    "blue": Promise("limit", BOUND, "BLUE 2002: drops begin at a full buffer"),
    **{name: Promise("max_th", BOUND, AVERAGE) for name in ("red", "penalty_box", "red_pd")},
    **{name: Promise("max_th", BOUND, "CHOKe 1999, Sec. 3, as RED") for name in ("choke", "choke_linux")},
    "gred": Promise("max_th", BOUND, "as RED; iproute2, examples/diffserv"),
    "fred": Promise("max_th", BOUND, "Lin & Morris 1997, as RED"),
    "rio": Promise("in_max_th", BOUND, "as RED, for packets in profile (without a meter all are); ns-2, in_maxthresh_"),
    "rio_ps": Promise("limit", BOUND, "as RED, for packets of long flows; RIO-PS 2001, from memory", "out_max"),
    "sred": Promise("limit", TARGET, "Ott, Lakshman & Wong 1999, from memory: p_max from a third of the buffer on",
                    1 / 3),
    "ared": Promise("target_delay", TARGET, "Floyd, Gummadi & Shenker 2001, Sec. 4"),
    "pi": Promise("q_ref", TARGET, "Hollot et al. 2001"),
    "rem": Promise("b_ref", TARGET, "Athuraliya et al. 2001; ns-2, pbo_"),
    "dcn": Promise("q_ref", TARGET, "DCN 2004, Sec. 3.2"),
    "afd": Promise("q_ref", TARGET, "DCN 2004, Sec. 5; AFD 2003"),
    "codel": Promise("target", TARGET, "RFC 8289, Sec. 4.4"),
    "fq_codel": Promise("target", TARGET, "RFC 8290, Sec. 5.2.2"),
    "l4s_step": Promise("target", TARGET, "RFC 8289, Sec. 4.4: CoDel's, for flows without L4S"),
    "cake": Promise("rtt", TARGET, "tc-cake(8), iproute2: a twentieth of rtt", 1 / 20),
    "pie": Promise("target", TARGET, "RFC 8033, Sec. 4.2: QDELAY_REF"),
    "fq_pie": Promise("target", TARGET, "RFC 8033, Sec. 4.2: QDELAY_REF"),
    "docsis_pie": Promise("target", TARGET, "RFC 8034, Sec. 4.1: LATENCY_TARGET"),
    "dualpi2": Promise("target", TARGET, "RFC 9332, App. A.1: target, for the classic queue"),
}  # fmt: skip
"""Of every discipline of the registry."""


def promised_ns(queue: Resolved, rate_bps: float, packet: int) -> float:
    """The longest mean queueing delay with which a discipline keeps its promise on a link, in nanoseconds; `LATE_NS`,
    which holds beside it, of one of a person's own. `queue`: its resolved table.

    To what a bound or a target in packets takes comes the packet in transmission, which the disciplines do not count.
    """
    promise = PROMISES.get(queue["discipline"])
    if promise is None:
        return LATE_NS
    key, part = promise.key, promise.part
    if queue["discipline"] == "cake" and "target" in queue:
        key, part = "target", 1.0
    value = queue[key] if key in queue else defaults("disciplines", "drop_tail")["limit"]
    factor = promise.within * (queue[part] if isinstance(part, str) else part)
    if isinstance(value, str) and value.endswith("s"):
        return factor * in_base_unit(value)
    length = in_base_unit(value) / packet if isinstance(value, str) else value
    return (factor * length + 1) * packet * 8e9 / rate_bps
