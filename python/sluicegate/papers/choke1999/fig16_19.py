"""Figs. 16 to 19: five UDP flows, and the five candidates of drop 6."""

from __future__ import annotations

from collections.abc import Iterator

from ...reproduce import Check, Runs, above, below, claim, figure, not_below, printed
from ...reproduce.charts import Lines, Panel
from .network import CHOKE, DROP_6, LINK_KBPS, QUEUE, STARVED, TCP_FLOWS, THROUGHPUT, TICKS, study

UDP_FLOWS = 5
FAIR = LINK_KBPS / (TCP_FLOWS + UDP_FLOWS)
"""An equal share of the link for each of 32 TCP and 5 UDP flows, kbit/s."""
RATES = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 4.0, 10.0)
"""What each of five UDP sources offers, Mbit/s."""

five = study(queue=[CHOKE, DROP_6], udp_flows=[UDP_FLOWS], udp_rate=RATES)

EACH = "each UDP source sends (Mbit/s)"
SHARES = Panel(["udp_queue_share", "udp_most_queued", "udp_least_queued"], "part of the queue (%)", (0, 105))
throughput = Lines("udp_rate", THROUGHPUT, panel="queue", ticks=TICKS, xlabel=EACH)
queue = Lines("udp_rate", (*QUEUE, SHARES), panel="queue", ticks=TICKS, xlabel=EACH)


@figure(16, "CHOKe against five UDP flows: throughput and loss", source="Sec. 5, Fig. 16", chart=throughput, five=five)
def fig16(five: Runs) -> Iterator[Check]:
    """Five UDP sources, each of which sends at the rate on the horizontal axis, against 32 TCP transfers; thresholds 30
    and 60."""
    at = five.at(queue=CHOKE)
    step = at.over("udp_rate", "udp_share").steps().lowest()
    yield claim(
        "the throughput of UDP goes up monotonically with its rate",
        step.as_("change of UDP's share from one rate to the next, where it is least"),
        not_below(0),
    )
    flow = at.over("udp_rate", "tcp_flow").from_(2).percent_of(FAIR).highest()
    yield claim(
        "almost no bandwidth is left for TCP",
        flow.as_("mean TCP flow from 2 Mbit/s on", "% of an equal share"),
        below(STARVED),
    )


@figure(17, "CHOKe against five UDP flows: who is in the queue", source="Sec. 5, Fig. 17", chart=queue, five=five)
def fig17(five: Runs) -> Iterator[Check]:
    """The runs of Figure 16: packets of each kind in the queue; below, all UDP's part of it, and the parts of the two
    UDP flows with most and fewest packets."""
    at = five.at(queue=CHOKE)
    filled = at.over("udp_rate", "udp_queue_share").from_(2).lowest()
    yield claim("the UDP flows occupy almost all of the buffer", filled, above(95))
    for name, words in (("most", "most"), ("least", "fewest")):
        part = at.over("udp_rate", f"udp_{name}_queued").at(10.0)
        yield claim(f"each UDP flow takes only around 20 % of the queue: the one with {words} packets",
                    part.as_(f"part of the one with {words} packets"), printed(20, 1), id=f"{name}-queued")  # fmt: skip


@figure(18, "CHOKe with drop 6 against five UDP flows: throughput and loss", source="Sec. 5, Fig. 18", chart=throughput,
        five=five)  # fmt: skip
def fig18(five: Runs) -> Iterator[Check]:
    """As Figure 16 with five candidates, which the report calls drop 6."""
    basic, drop = five.each("queue")
    yield claim(
        f"drop 6 penalises the {UDP_FLOWS} UDP flows: TCP keeps more than half of the link",
        drop.over("udp_rate", "tcp_share").lowest(),
        above(50),
    )
    gain = (drop.over("udp_rate", "tcp_flow").from_(2) - basic.over("udp_rate", "tcp_flow").from_(2)).lowest()
    yield claim(
        "drop 6 reinforces TCP's throughput",
        gain.as_("what the mean TCP flow gains"),
        above(FAIR / 2),
        tested="from 2 Mbit/s on, the mean TCP flow gains more than half an equal share over the basic scheme",
    )


@figure(
    19,
    "CHOKe with drop 6 against five UDP flows: who is in the queue",
    source="Sec. 5, Fig. 19",
    chart=queue,
    five=five,
)
def fig19(five: Runs) -> Iterator[Check]:
    """The runs of Figure 18, drawn as Figure 17."""
    basic, drop = (each.over("udp_rate", "udp_queue_share") for each in five.each("queue"))
    fewer = (basic - drop).lowest().as_("UDP's part of the queue with one candidate less that with five", where="")
    yield claim("with more candidates the bad flows are caught more often", fewer, above(0))
