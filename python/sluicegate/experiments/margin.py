"""How far below a line's rate its shapers must stay, so that the queue is in them and not in the modem, by simulation.

Both directions get a shaper with a part of the line's rate; for each the module looks for the largest part at which the
modem delays 99 % of its packets by little. The shaper for the download stands behind the slow link: a burst has waited
before that link already, and only senders that slow down keep the queue there short.

The rate in a file is an estimate: speed tests at different hours differ. So shapers get `access.MARGIN` less
than the largest part, the margin that `tc` takes by default, and a line that is slower by as much keeps its queue
short.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .. import scenario
from ..deploy.access import MARGIN
from ..quantities import duration
from ..traffic.paths import REVERSE, Place
from ..traffic.responsiveness import GRADES
from .compare import Comparison, Progress, compare
from .disciplines import Choice

PARTS = (1.0, 0.99, 0.98, 0.97, 0.96, 0.95, 0.92, 0.9, 0.85, 0.8, 0.7)
"""Of the line's rate, the largest first."""

VARYING = (0.95, 0.8, 0.6, 0.4)
"""The same of a line whose rate varies by a trace: of its mean, `MARGIN` below it at the most. With less than the last
more than half of the line lies idle."""

LITTLE_NS = GRADES[0][0] * 1_000_000
"""What the modem may delay 99 % of the packets: what has the best grade; but two of its longest packets always, and
`TARGET` of a round trip. A full packet of the opposite direction comes to that: acknowledgements that wait behind it
leave together, and the data that they ask for come together, whatever the shaper's rate."""

DEAR = 0.1
"""What a shaper may take of the line's rate without a word in the first line of the answer."""

TARGET = 1 / 20
"""Of the round trip: CoDel's target, with which a link that senders answer late is still used (RFC 8289, Sec. 3.2)."""

PACKET = 1500
"""Bytes of these packets."""

MOST_SEEDS = 5
"""How many seeds are enough: a queue that is in the modem is there in each run. Those of `recommend` unless told."""

RADIO = (
    "packets are lost in bursts on {}, as on radio links. The rate of such links also varies, but the scenario's is "
    "fixed, so no fixed margin always works"
)
"""Of lines whose rate is not known to vary: the sentence, with their names."""

DIRECTIONS = (("download", "bottleneck", "shaper"), ("upload", REVERSE, "reverse_shaper"))
"""Each direction, its line and its shaper, as results name them."""


BEFORE = {"download": "at the provider", "upload": "in the modem"}
"""Where the packets of a direction wait for the line."""


@dataclass(frozen=True)
class Tried:
    """Of each direction the part of the line's rate, and the 99th percentile of queueing in modem and shaper, in ns."""

    parts: dict[str, float]
    modem: dict[str, float]
    shaper: dict[str, float]

    def text(self, little: Mapping[str, float]) -> str:
        """In a line. `little`: what the modem may delay 99 % of the packets, in ns: named where it delays them more."""
        ways = []
        for way, part in self.parts.items():
            much = f" (more than {little[way] / 1e6:.3g} ms)" if self.modem[way] > little[way] else ""
            modem, shaper = (f"{waits[way] / 1e6:.1f} ms" for waits in (self.modem, self.shaper))
            ways.append(f"{way} at {100 * part:g} %: {modem} {BEFORE[way]}{much}, {shaper} in the shaper")
        return "; ".join(ways)


@dataclass(frozen=True)
class Margin:
    """What was tried, the largest rates first, and under which discipline; `parts`: of each direction the largest with
    which its queue stays out of the modem, None where none does; `little`: what the modem may delay 99 % of its
    packets, in ns; `varying`: lines whose rate varies; `radio`: others that lose packets in bursts, as radio links do,
    whose rates vary though the scenario's do not."""

    discipline: str
    tried: tuple[Tried, ...]
    parts: dict[str, float | None]
    little: dict[str, float]
    varying: tuple[str, ...] = ()
    radio: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether there is a fixed rate for both directions."""
        return None not in self.parts.values()

    @property
    def largest(self) -> dict[str, float]:
        """Of each direction the largest part that holds; where none does, what `tc` takes of any line."""
        return {way: 1 - MARGIN if part is None else part for way, part in self.parts.items()}

    @property
    def deployed(self) -> dict[str, float]:
        """Of each direction the part of the line's rate that its shaper gets, in whole percentages: `MARGIN` less than
        the largest, for a line that is slower; of a rate that varies the largest."""
        less = 1.0 if self.varying else 1 - MARGIN
        return {way: math.floor(100 * part * less + 1e-6) / 100 for way, part in self.largest.items()}

    def price(self) -> list[str]:
        """What shapers cost that take more than `DEAR` of a direction's rate, and what less would give, in
        sentences."""
        said = []
        for way, part in self.deployed.items():
            if part < 1 - DEAR - 1e-6:
                waits = {each.parts[way]: each.modem[way] for each in self.tried}
                sentence = f"The shaper takes {100 * (1 - part):.0f} % of the {way}"
                if 1 - MARGIN in waits:
                    sentence += (f"; if it took {100 * MARGIN:g} %, 99 % of packets would wait up to "
                                 f"{waits[1 - MARGIN] / 1e6:.1f} ms {BEFORE[way]}")  # fmt: skip
                said.append(f"{sentence}.")
        return said

    def late(self, tried: Tried) -> list[str]:
        """The directions whose queue is in the modem."""
        return [way for way, little in self.little.items() if tried.modem[way] > little]

    def lines(self, whole: bool = True) -> list[str]:
        """What is said of it, in sentences; `whole`: of each rate that was tried, too, as where none holds."""
        whose = f"the rate of {' and '.join(self.varying)} varies: " if self.varying else ""
        if not self.found and self.varying:
            least = min(min(each.parts.values()) for each in self.tried)
            first = f"{whose}no fixed rate keeps the queue out of the modem, not even {100 * least:g} %"
        else:
            shown = {way: f"{100 * part:g} % of the {way}" for way, part in self.deployed.items()}
            same = len(set(self.deployed.values())) == 1
            where = f"{shown['download'].partition(' of')[0]} of the line" if same else " and ".join(shown.values())
            first = f"{whose}shapers at {where}: "
            if not self.found:
                first += ("lower rates hardly shorten the wait before the line; this leaves room for a line that "
                          f"carries {100 * MARGIN:g} % less than the file says")  # fmt: skip
            elif self.varying:
                first += "the highest rates tried that keep the queue out of the modem"
            else:
                held = [part or 0.0 for part in self.parts.values()]
                most = " and ".join(f"{100 * part:g} %" for part in held)
                first += (f"{100 * MARGIN:g} % below the highest rates that keep the queue out of the modem ({most}), "
                          "because the rates in the file are estimates. If the line never carries less than they say: "
                          f'--margin "{option(held)}"')  # fmt: skip
        if self.found and not whole:
            return [first]
        said = [first, f"how long all but the slowest 1 % of packets wait under {self.discipline}:",
                *(f"  {each.text(self.little)}" for each in self.tried)]  # fmt: skip
        return [*said, f"  {RADIO.format(' and '.join(self.radio))}"] if self.radio else said

    def remarks(self) -> list[str]:
        """What is said of it beside the lines that deploy shapers."""
        said = [RADIO.format(" and ".join(self.radio))] if self.radio else []
        if not self.found:
            way = next(way for way, part in self.parts.items() if part is None)
            waits = ", ".join(
                f"{duration(each.modem[way] / 1e9)} at {100 * each.parts[way]:g} %"
                for each in (self.tried[0], min(self.tried, key=lambda each: each.parts[way]))
            )
            said.append(f"none of the rates tried keeps the wait of the {way} {BEFORE[way]} below "
                        f"{self.little[way] / 1e6:.3g} ms; 99 % of packets wait at most: {waits}; --margin chooses "
                        "another rate")  # fmt: skip
        return said

    def record(self) -> dict[str, Any]:
        """As JSON knows it."""
        return asdict(self)


def read(record: dict[str, Any]) -> Margin:
    """What `record` gave."""
    tried = tuple(Tried(**each) for each in record["tried"])
    return Margin(**record | {"tried": tried, "varying": tuple(record["varying"]), "radio": tuple(record["radio"])})


def option(parts: Iterable[float]) -> str:
    """Shapers with these parts of the line's rates, as --margin takes them: in whole percentages."""
    down, up = (f"{math.ceil(100 * (1 - part) - 1e-6)} %" for part in parts)
    return down if down == up else f"{down},{up}"


def shapers(down: float, up: float) -> tuple[tuple[str, str], ...]:
    """The overrides that put shapers with these parts of the line's rates into both directions."""
    return ("network.shaper.rate", f"{100 * down:g} %"), (f"network.{REVERSE}.shaper.rate", f"{100 * up:g} %")


def choose(
    network: scenario.What, flows: scenario.Flows | None, choice: Choice, lines: Sequence[Place],
    rtt_ns: float, fit: Callable[[Choice], Choice], *,
    sets: Sequence[tuple[str, str]], seeds: Sequence[int], duration: str | None, warmup: str | None, jobs: int | None,
    progress: Progress | bool | None, start: Mapping[str, float | None] | None = None,
) -> Margin:  # fmt: skip
    """Try rates under a discipline, from the line's own on down, or from those of `start`, and lower those of the
    directions whose queue is in the modem, until none is. `lines`: both directions. `rtt_ns`: without load. `fit`:
    gives the discipline the values that are deployed. Raises what `compare` does."""
    varying = tuple(line.name for line in lines if line.varies)
    radio = tuple(line.name for line in lines if line.errors.start and not line.varies)
    rates = VARYING if varying else PARTS
    of_line = {line.name: max(LITTLE_NS, 2 * line.time_ns(PACKET), TARGET * rtt_ns) for line in lines}
    opposite = {line.name: sum(each.time_ns(PACKET) for each in lines if each.name != line.name) for line in lines}
    little = {way: of_line[line] + opposite[line] for way, line, _ in DIRECTIONS}
    margin = Margin(choice.label, (), {}, little, varying, radio)
    tried: dict[tuple[float, ...], Tried] = {}
    parts = {way: (start or {}).get(way) or rates[0] for way in little}
    late = ["download"]  # behind the slow link; what is likely to be late next is run beside what is tried

    def lower(ways: Sequence[str]) -> dict[str, float]:
        least = {way: next((rate for rate in rates if rate < parts[way]), parts[way]) for way in ways}
        return parts | least

    while True:
        if tuple(parts.values()) not in tried:
            batch = {tuple(each.values()): each for each in (parts, lower(late))}
            listed = [fit(replace(choice, label=str(key), more=(*choice.more, *shapers(*key)))) for key in batch]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", scenario.ScenarioWarning)  # the runs that count tell them
                done = compare(
                    network, flows, disciplines=listed, seeds=list(seeds)[:MOST_SEEDS], duration=duration,
                    warmup=warmup, sets=sets, jobs=jobs, progress=progress,
                )  # fmt: skip
            tried |= {key: waits(done, str(key), each) for key, each in batch.items()}
        late = margin.late(tried[tuple(parts.values())])
        if not late or any(parts[way] <= rates[-1] for way in late):
            found = {way: None if way in late and part <= rates[-1] else part for way, part in parts.items()}
            return replace(margin, tried=tuple(tried.values()), parts=found)
        parts = lower(late)


def waits(done: Comparison, label: str, parts: dict[str, float]) -> Tried:
    """What packets wait for under a discipline of a comparison whose shapers have these parts of the line's rates."""

    def late(link: str) -> float:
        return float(done.mean(label, f"{link}.queueing_delay_p99_ns")["mean"] or 0.0)

    modem = {way: late(line) for way, line, _ in DIRECTIONS}
    return Tried(parts, modem, {way: late(shaper) for way, _, shaper in DIRECTIONS})
