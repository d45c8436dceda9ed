"""What is learnt, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from .beyond import Jitter, Lost
    from .discipline import Told
    from .passage import Passage
    from .rate import LinkRate
    from .traffic import Group


@dataclass
class Direction:
    """What is known of one direction of the link.

    Attributes:
        down: Whether it is the one to the inside.
        bytes: How many bytes of IP it carried.
        passage: Its packets before and behind its queue; None where it was not captured on both sides.
        rate: Its rate, where the queue stood long enough.
        told: Its discipline.
        lost: What was lost behind its queue, if that can be told, and more than a few packets were.
        jitter: By how much packets come later by chance behind its queue, if that can be told, and is not little.
    """

    down: bool
    bytes: int
    passage: Passage | None = None
    rate: LinkRate | None = None
    told: Told | None = None
    lost: Lost | None = None
    jitter: Jitter | None = None

    @property
    def word(self) -> str:
        """down or up."""
        return "down" if self.down else "up"


@dataclass
class Unknown:
    """What could not be told: the key of the scenario, what stands there, the range in which it lies, and why."""

    key: str
    value: str
    low: str
    high: str
    why: str


@dataclass
class Learnt:
    """What `learn` returns.

    Attributes:
        seconds: The length of the captures in seconds.
        forward: The direction that is the scenario's `[network]`: the one with more bytes.
        back: The other one.
        rtts_ms: The base round trip of each TCP connection, if known.
        groups: The groups of traffic.
        unknown: Values that could not be determined, with their ranges.
        remarks: Warnings about the captures that a reader of the result must know.
        flows: A row for each connection; None if only measurements were given.

    >>> places = {"bottleneck/arrivals": "before.pcapng", "bottleneck": "behind.pcapng"}
    >>> run = sg.run("unresponsive", duration="5 s", warmup="0 s", pcap=places)
    >>> learnt = sg.learn(list(places.values()), inside=["172.16.0.0/12"])
    >>> [(group.name, group.count) for group in learnt.groups if group.kind == "udp"]
    [('flood', 1)]
    """

    seconds: float
    forward: Direction
    back: Direction
    rtts_ms: dict[int, float]
    groups: list[Group]
    unknown: list[Unknown] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    flows: pl.DataFrame | None = None
