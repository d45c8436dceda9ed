"""RFC 7928, Sec. 9: various traffic profiles; and Sec. 10: several queues."""

from __future__ import annotations

from typing import Any

from ..._generated import Link, Source
from ...papers.disciplines.workloads import Workload
from ...reproduce import Settings
from ...scenario import topology
from ..suite import LINK, Number, Scenario
from .aims import aimed
from .section8 import MILD
from .traffic import OWN_LINK, browser, cbr, datagrams, stream, transfers, voip


def mix(settings: Settings) -> dict[str, Source]:
    """Sec. 9.1: its example of a mix."""
    users: dict[str, Source] = {f"web {number}": browser() for number in range(1, 7)}
    calls: dict[str, Source] = {"VoIP": voip(), "VoIP back": voip(direction="reverse")}
    return calls | users | {"CBR": cbr("1 Mbit/s"), "video": stream(), "bulk": transfers(5)}


def mix_both_ways(settings: Settings) -> dict[str, Source]:
    """Sec. 9.2: the mix of Sec. 9.1 in both directions, with the call that it has."""
    back: dict[str, Any] = {"direction": "reverse"}
    users: dict[str, Source] = {f"web {number} back": browser(**back) for number in range(1, 7)}
    others: dict[str, Source] = {"CBR back": cbr("1 Mbit/s", **back), "video back": stream(**back)}
    return mix(settings) | users | others | {"bulk back": transfers(5, **back)}


def both_ways(settings: Settings) -> dict[str, Source]:
    """Sec. 9.2: mild congestion in both directions, and requests of one packet."""
    asks: dict[str, Any] = {"size": 1, "start": f"{settings.warmup_s} s", "spread": f"{0.9 * settings.measured_s} s"}
    return {
        "down": transfers(MILD), "up": transfers(MILD, direction="reverse"),
        "one packet down": transfers(50, **asks), "one packet up": transfers(50, direction="reverse", **asks),
        "DNS down": datagrams("32 kbit/s", "200 B"), "DNS up": datagrams("12800 bit/s", "80 B", direction="reverse"),
    }  # fmt: skip


FIRST, SECOND = "queue", "network.links.1.queue"
"""Where the two queues of Sec. 10.2 stand."""

SLOW = Workload("", "5 Mbit/s", queue=LINK.queue // 2, limit=LINK.limit, rtt=LINK.rtt, flows=MILD // 2)
"""The first of the two links: half of the packets take as long there."""

OTHER_MS = 40
OTHERS = ("pie", "drop_tail")
"""The target, and the disciplines, that the second queue may have instead."""


def two_queues(settings: Settings) -> dict[str, Source]:
    """Sec. 10.2: the senders A over both links, the senders B over the second, mild congestion together."""
    paths = {"A": ["first", "second"], "B": ["second"]}
    return {name: transfers(MILD // 2, path=path, **OWN_LINK) for name, path in paths.items()}


SCENARIOS = (
    Scenario(
        "traffic-mix", "9.1", "Traffic mix",
        "A call in both directions, six web users, a UDP flow of 1 Mbit/s, video in chunks over TCP and five NewReno "
        "transfers share the link. Calls want little delay, users (web 1 stands for all) their pages, and the "
        "transfers the rest.",
        mix, (Number("VoIP", "delay_p99_ns"), Number("web 1", "page_mean_s")),
        packets=True,
        drawn=("VoIP", "web 1", "video", "bulk"),
    ),
    Scenario(
        "both-ways", "9.2", "Bidirectional traffic",
        f"{MILD} NewReno transfers in each direction, mild congestion, so that acknowledgements wait behind data; "
        "transfers of one packet start at random, and small datagrams go as DNS requests and responses. The rows show "
        "how many of them, of SYNs and of acknowledgements are lost, and what this costs.",
        both_ways,
        (
            Number("one packet down", "completion_p95_ns"), Number("down", "goodput_bps"),
            Number("ACKs, link", "loss_ratio"),
        ),
        packets=True,
        drawn=("down", "up"),
    ),
    Scenario(
        "traffic-mix-both-ways", "9.2", "Traffic mix both ways",
        "The mix of Section 9.1 in each direction. Requests, acknowledgements and speech wait behind the other "
        "direction's pages and transfers.",
        mix_both_ways,
        (
            Number("VoIP", "delay_p99_ns"), Number("VoIP back", "delay_p99_ns"), Number("web 1", "page_mean_s"),
            Number("bulk", "goodput_bps"),
        ),
        drawn=("VoIP", "VoIP back", "web 1", "bulk"),
    ),
    Scenario(
        "two-queues", "10.2", "Two queues in a row",
        f"{MILD // 2} NewReno transfers (A) cross a link of 5 Mbit/s and one of 10 Mbit/s, {MILD // 2} more (B) the "
        "second alone: with the discipline at both, with another target at the second, and with PIE or Drop Tail "
        "there. Flows over both queues meet both delays and both kinds of losses.",
        two_queues,
        (Number("A", "goodput_bps"), Number("A", "delay_p99_ns"), Number("B", "delay_p99_ns")),
        network=topology(
            Link(name="first", from_="L", to="M", rate=SLOW.rate, delay="1 ms"),
            Link(name="second", from_="M", to="R", rate=LINK.rate, delay="1 ms"),
        ),
        points={
            "the same": (), f"target {OTHER_MS} ms": (),
            **{f"{name} second": ((f"{SECOND}.discipline", name), (f"{SECOND}.limit", "83")) for name in OTHERS},
        },
        axis="Second queue",
        apart=True,
        at={
            "the same": {FIRST: SLOW, SECOND: LINK}, f"target {OTHER_MS} ms": {FIRST: SLOW, SECOND: aimed(OTHER_MS)},
            **{f"{name} second": {FIRST: SLOW} for name in OTHERS},
        },
    ),
)  # fmt: skip
