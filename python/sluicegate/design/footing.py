"""One buffer and one target for all disciplines, so that a comparison compares their rules.

The target is a length of the queue. Thresholds stand around it: min_th at two thirds, max_th at four thirds; PI's gains
are those of the link. CoDel, PIE, CAKE and their kin keep the targets of their RFCs, which are meant to need no tuning.
"""

from __future__ import annotations

from .pi import design_pi


def footing(*, rate: str, rtt: str, flows: int, queue: int, limit: int, packet_size: str = "1500 B") -> dict[str, str]:
    """Keys below [queue], and their values: a buffer of `limit` packets and a target of `queue`, of `packet_size` each,
    on a link of that `rate`, shared by so many TCP `flows` whose round trip, queueing included, is `rtt`."""
    gains = design_pi(rate=rate, rtt=rtt, flows=flows, q_ref=queue, packet_size=packet_size).queue
    low, high = f"{2 * queue // 3}", f"{4 * queue // 3}"
    return {
        "limit": str(limit), "min_th": low, "max_th": high,
        "rio.out_min_th": low, "rio.out_max_th": high, "rio.in_min_th": f"{queue}", "rio.in_max_th": f"{2 * queue}",
        **{f"{name}.q_ref": f"{queue}" for name in ("pi", "afd", "dcn")}, "rem.b_ref": f"{queue}",
        "pi.a": f"{gains.a:.6g}", "pi.b": f"{gains.b:.6g}",
    }  # fmt: skip
