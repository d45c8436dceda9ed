"""RFC 7928, Sec. 9: various traffic profiles; and Sec. 10: several queues."""

from __future__ import annotations

from typing import Any

from ..._generated import Link, Source
from ...reproduce import Settings
from ...scenario import topology
from ..suite import Number, Scenario
from .section8 import MILD
from .traffic import browser, cbr, stream, transfers, voip

HOSTS: dict[str, Any] = {"access_rate": "100 Mbit/s"}


def mix(settings: Settings) -> dict[str, Source]:
    """Sec. 9.1: its example of a mix."""
    users: dict[str, Source] = {f"web {number}": browser() for number in range(1, 7)}
    calls: dict[str, Source] = {"VoIP": voip(), "VoIP back": voip(direction="reverse")}
    return calls | users | {"CBR": cbr("1 Mbit/s"), "video": stream(), "bulk": transfers(5)}


def both_ways(settings: Settings) -> dict[str, Source]:
    """Sec. 9.2: mild congestion in both directions, and requests of one packet."""
    asks: dict[str, Any] = {"size": 1, "start": f"{settings.warmup_s} s", "spread": f"{0.9 * settings.measured_s} s"}
    return {
        "down": transfers(MILD), "up": transfers(MILD, direction="reverse"),
        "one packet down": transfers(50, **asks), "one packet up": transfers(50, direction="reverse", **asks),
    }  # fmt: skip


def two_queues(settings: Settings) -> dict[str, Source]:
    """Sec. 10: transfers over both links, and over one of them each."""
    paths = {"both": ["first", "second"], "first": ["first"], "second": ["second"]}
    return {name: transfers(MILD, path=path, **HOSTS) for name, path in paths.items()}


SCENARIOS = (
    Scenario(
        "traffic-mix", "9.1", "Traffic mix",
        "A call in both directions, six web users, a UDP flow of 1 Mbit/s, video in chunks over TCP and five NewReno "
        "transfers share the link. Calls want little delay, users (web 1 stands for all) their pages, and the "
        "transfers the rest.",
        mix, (Number("VoIP", "delay_p99_ns"), Number("web 1", "page_mean_s")),
        drawn=("VoIP", "web 1", "video", "bulk"),
    ),
    Scenario(
        "both-ways", "9.2", "Bidirectional traffic",
        f"{MILD} NewReno transfers in each direction, mild congestion, so that acknowledgements wait behind data. "
        "Transfers of one packet start at random: they show what the loss of a SYN or a request costs.",
        both_ways, (Number("one packet down", "completion_p95_ns"), Number("down", "goodput_bps")),
        drawn=("down", "up"),
    ),
    Scenario(
        "two-queues", "10", "Two queues in a row",
        f"Two links of 10 Mbit/s follow one another, each under the discipline; {MILD} NewReno transfers cross both "
        f"and {MILD} each of them. Flows over both queues meet both delays and both kinds of losses.",
        two_queues, (Number("both", "goodput_bps"), Number("both", "delay_p99_ns")),
        network=topology(
            Link(name="first", from_="A", to="B", rate="10 Mbit/s", delay="1 ms"),
            Link(name="second", from_="B", to="C", rate="10 Mbit/s", delay="1 ms"),
        ),
    ),
)  # fmt: skip
