"""How far below a line's rate its shapers must stay, so that the queue is in them and not in the modem, by simulation.

Both directions get a shaper with a part of the line's rate, in front of what the modem holds; the largest part at which
the modem delays 99 % of the packets by little is chosen. A shaper for the download stands behind the slow link: what
comes in at once has waited there already, and only senders that slow down keep that queue short.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .. import scenario
from ..paths import REVERSE, Place
from ..quantities import duration
from ..responsiveness import GRADES
from .compare import Comparison, Progress, compare
from .disciplines import Choice

PARTS = (1.0, 0.99, 0.98, 0.97, 0.96, 0.95, 0.92, 0.9, 0.85, 0.8, 0.7)
"""Of the line's rate, the largest first."""

VARYING = (0.95, 0.8, 0.6, 0.4)
"""The same of a line whose rate varies by a trace: of its mean. With less more than half of the line lies idle."""

LITTLE_NS = GRADES[0][0] * 1_000_000
"""What the modem may delay 99 % of the packets: what has the best grade; but two of its longest packets always, and
`TARGET` of a round trip."""

TARGET = 1 / 20
"""Of the round trip: CoDel's target, with which a link that senders answer late is still used (RFC 8289, Sec. 3.2)."""

PACKET = 1500
"""Bytes of these packets."""

MOST_SEEDS = 3
"""How many seeds are enough: a queue that is in the modem is there in each run."""

RADIO = (
    "packets are lost in bursts on {}, as on radio: the rate varies, too, which the scenario does not know, so that no "
    "fixed margin always holds"
)
"""Of lines whose rate is not known to vary: the sentence, with their names."""

DIRECTIONS = (("download", "bottleneck", "shaper"), ("upload", REVERSE, "reverse_shaper"))
"""Each direction, its line and its shaper, as results name them."""


@dataclass(frozen=True)
class Tried:
    """A part of the line's rate, and of each direction the 99th percentile of queueing in modem and shaper, in ns."""

    part: float
    modem: dict[str, float]
    shaper: dict[str, float]
    holds: bool
    """Whether the queue stays out of the modem."""

    def text(self) -> str:
        """In a line."""
        ways = (
            f"{way} {duration(self.modem[way] / 1e9)} in the modem, {duration(self.shaper[way] / 1e9)} in the shaper"
            for way, *_ in DIRECTIONS
        )
        return f"{100 * self.part:g} %: {'; '.join(ways)}"


@dataclass(frozen=True)
class Margin:
    """What was tried, the largest rate first, and under which discipline; `varying`: lines whose rate varies; `radio`:
    others that lose packets in bursts, as radio links do, whose rates vary though the scenario's do not."""

    discipline: str
    tried: tuple[Tried, ...]
    varying: tuple[str, ...] = ()
    radio: tuple[str, ...] = ()

    @property
    def part(self) -> float | None:
        """The largest part of the line's rate with which the queue stays out of the modem; None: no such part."""
        return next((each.part for each in self.tried if each.holds), None)

    def lines(self) -> list[str]:
        """What is said of it, in sentences."""
        whose = f"the rate of {' and '.join(self.varying)} varies: " if self.varying else ""
        if self.part is None:
            first = f"{whose}no fixed rate keeps the queue out of the modem, {100 * self.tried[-1].part:g} % neither"
        else:
            most = "the most that keeps the queue out of the modem"
            first = f"{whose}shapers at {100 * self.part:g} % of the line: {most}"
        said = [f"{first}; 99 % of packets wait at most, under {self.discipline}:", *(f"  {each.text()}"
                for each in self.tried)]  # fmt: skip
        return [*said, f"  {RADIO.format(' and '.join(self.radio))}"] if self.radio else said

    def remarks(self) -> list[str]:
        """What is said of it beside the lines that deploy shapers."""
        said = [RADIO.format(" and ".join(self.radio))] if self.radio else []
        if self.part is None:
            first, last = self.tried[0], self.tried[-1]
            waits = ", ".join(
                f"{duration(max(each.modem.values()) / 1e9)} at {100 * each.part:g} %" for each in (first, last)
            )
            said.append(f"no fixed rate that was tried keeps the queue out of the modem, where 99 % of packets wait at "
                        f"most: {waits}; --margin chooses another rate")  # fmt: skip
        return said

    def record(self) -> dict[str, Any]:
        """As JSON knows it."""
        return asdict(self)


def read(record: dict[str, Any]) -> Margin:
    """What `record` gave."""
    tried = tuple(Tried(**each) for each in record["tried"])
    return Margin(record["discipline"], tried, tuple(record["varying"]), tuple(record.get("radio", ())))


def shapers(part: float) -> tuple[tuple[str, str], ...]:
    """The overrides that put a shaper with this part of the line's rate into both directions."""
    rate = f"{100 * part:g} %"
    return ("network.shaper.rate", rate), (f"network.{REVERSE}.shaper.rate", rate)


def choose(
    network: scenario.What, flows: scenario.Flows | None, choice: Choice, lines: Sequence[Place],
    rtt_ns: float, fit: Callable[[Choice], Choice], *,
    sets: Sequence[tuple[str, str]], seeds: Sequence[int], duration: str | None, warmup: str | None, jobs: int | None,
    progress: Progress | bool | None,
) -> Margin:  # fmt: skip
    """Try rates under a discipline, from the line's own on down, until the queue stays out of the modem, and one more
    for comparison. `lines`: both directions. `rtt_ns`: without load. `fit`: gives the discipline the values that are
    deployed. Raises what `compare` does."""
    varying = tuple(line.name for line in lines if line.varies)
    parts, tried = list(VARYING if varying else PARTS), list[Tried]()
    little = {line.name: max(LITTLE_NS, 2 * line.time_ns(PACKET), TARGET * rtt_ns) for line in lines}
    while parts and not any(each.holds for each in tried[:-1]):
        batch, parts = parts[:2], parts[2:]
        tried_in = [replace(choice, label=f"{100 * part:g} %", more=(*choice.more, *shapers(part))) for part in batch]
        listed = [fit(each) for each in tried_in]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scenario.ScenarioWarning)  # the runs that count tell them
            done = compare(
                network, flows, disciplines=listed, seeds=list(seeds)[:MOST_SEEDS], duration=duration, warmup=warmup,
                sets=sets, jobs=jobs, progress=progress,
            )  # fmt: skip
        tried += [_tried(done, each.label, part, little) for each, part in zip(listed, batch, strict=True)]
    radio = tuple(line.name for line in lines if line.errors.start and not line.varies)
    return Margin(choice.label, tuple(tried), varying, radio)


def _tried(done: Comparison, label: str, part: float, little: dict[str, float]) -> Tried:
    def late(link: str) -> float:
        return float(done.mean(label, f"{link}.queueing_delay_p99_ns")["mean"] or 0.0)

    modem = {way: late(line) for way, line, _ in DIRECTIONS}
    holds = all(modem[way] <= little[line] for way, line, _ in DIRECTIONS)
    return Tried(part, modem, {way: late(shaper) for way, _, shaper in DIRECTIONS}, holds)
