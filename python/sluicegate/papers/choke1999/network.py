"""The network of Fig. 1, the disciplines that share it, and what is measured there in every run."""

from __future__ import annotations

from typing import Any

from ..._generated import Choke, DropTail, Red
from ...reproduce import LINK, TCP, UDP, Axis, Study, kbps, packets, percent
from ...reproduce.charts import Panel

LINK_KBPS = 1000.0
TCP_FLOWS = 32
FAIR_KBPS = LINK_KBPS / (TCP_FLOWS + 1)
"""An equal share of the link for each of the 33 flows."""

STARVED = 10.0
"""A TCP flow is called starved when it gets less than this part of an equal share of the link, %."""

RATES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 7.0, 10.0)
"""What UDP offers in Figs. 8 to 11, 14 and 15, Mbit/s."""

DROP_TAIL = DropTail(limit=300)
RED = Red(min_th=30, max_th=60)
RED_LARGE = Red(min_th=100, max_th=200)
CHOKE = Choke(min_th=30, max_th=60)
CHOKE_LARGE = Choke(min_th=100, max_th=200)
DROP_3 = Choke(min_th=30, max_th=60, candidates=2)
"""What the report calls drop 3: two candidates and the arrival."""
DROP_6 = Choke(min_th=30, max_th=60, candidates=5)

AXES = {
    "udp_rate": Axis("flows.1.rate", "Mbit/s", "UDP sends (Mbit/s)"),
    "udp_flows": Axis("flows.1.count", "", "UDP flows"),
    "tcp_flows": Axis("flows.0.count", "", "TCP flows"),
}
TICKS = (0.1, 0.3, 1, 3, 10)

MEASURES = {
    "udp": kbps(UDP.sum("throughput_bps"), "UDP's throughput"),
    "udp_share": (UDP.sum("throughput_bps")).as_("UDP's share of the link", "% of the link", 100 / 1e6),
    "udp_loss": percent(UDP.mean("loss_ratio"), "UDP's loss"),
    "udp_queued": packets(UDP.sum("queued_packets_mean"), "UDP's packets in the queue"),
    "tcp": kbps(TCP.sum("throughput_bps"), "throughput of all TCP flows"),
    "tcp_share": (TCP.sum("throughput_bps")).as_("TCP's share of the link", "% of the link", 100 / 1e6),
    "tcp_flow": kbps(TCP.mean("throughput_bps"), "mean TCP flow"),
    "tcp_loss": percent(TCP.sum("drops_packets") / TCP.sum("arrivals_packets"), "TCP's loss"),
    "tcp_queued": packets(TCP.sum("queued_packets_mean"), "TCP's packets in the queue"),
    "average": packets(LINK["average_packets_mean"], "average queue, mean over time"),
    "average_least": packets(LINK["average_packets_min"], "least sample of the average queue"),
    "average_greatest": packets(LINK["average_packets_max"], "greatest sample of the average queue"),
    "link_used": percent(LINK["utilisation"], "utilisation"),
    "link_loss": percent(LINK["drops_packets"] / LINK["arrivals_packets"], "packets dropped"),
    "forced": percent(LINK["drops_forced"] / LINK["drops_packets"], "losses with an average at max_th or above"),
}
_QUEUED = UDP.sum("queued_packets_mean") + TCP.sum("queued_packets_mean")
for _name, _fold in (("udp_queue_share", UDP.sum), ("udp_most_queued", UDP.max), ("udp_least_queued", UDP.min)):
    MEASURES[_name] = percent(_fold("queued_packets_mean") / _QUEUED, "UDP's part of the queue")

THROUGHPUT = (
    Panel(["tcp", "udp"], "throughput (kbit/s)", (0, 1060)),
    Panel(["tcp_flow"], "mean TCP flow (kbit/s)"),
    Panel(["udp_loss"], "UDP packets dropped (%)", (0, 105)),
)
QUEUE = (
    Panel(
        ["average", "tcp_queued", "udp_queued"], "packets in the queue", lines={"min_th": "min_th", "max_th": "max_th"}
    ),
)


def study(scenario: str = "choke1999", **given: Any) -> Study:
    """A study on this network. `given`: as for `Study`; axes are those of `AXES`, `queue` for disciplines, and any
    other name for `Variant`s."""
    measures = MEASURES if scenario == "choke1999" else {k: v for k, v in MEASURES.items() if not k.startswith("udp")}
    return Study(scenario, keys=AXES, measure=measures, **given)
