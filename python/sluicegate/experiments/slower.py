"""What the shapers of an access line do where the line carries less than the scenario says.

A margin is right for the rates of the file. A few runs show whether a wrong rate costs a millisecond or the whole
buffer: the line gets slower in both directions, and the shapers keep their rates.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import scenario
from ..deploy.access import MARGIN
from ..quantities import in_base_unit
from ..traffic.paths import REVERSE
from ..traffic.responsiveness import GRADES, grade, increase_text
from .compare import compare
from .disciplines import Choice
from .margin import Margin, option

LESS = (MARGIN, 0.1)
"""Parts by which the line is slower: the first is what the shapers leave room for (`access.MARGIN`)."""

MOST_SEEDS = 2
"""Seeds of these runs: they tell a few milliseconds from the modem's buffer."""


@dataclass(frozen=True)
class Slower:
    """By what parts the line is slower, with how much latency under load grows then; `parts`: the largest of the rates
    in the file with which the queue stays out of the modem."""

    discipline: str
    parts: tuple[float, ...]
    increases_ns: tuple[tuple[float, float], ...]

    def margin(self, less: float) -> str:
        """That of shapers which stay as far below a line that is slower by this part, as --margin takes it."""
        return option(part * (1 - less) for part in self.parts)

    def line(self) -> str:
        """In a line."""
        found = (f"{100 * less:g} % less: {increase_text(ns)}, {grade(ns)}" for less, ns in self.increases_ns)
        said = (
            f"latency under load with {self.discipline} in these shapers, if the line carries less than the file says: "
        )
        margins = [self.margin(less) for less, ns in self.increases_ns if less > MARGIN and ns > GRADES[1][0] * 1e6]
        more = "".join(f'. --margin "{each}" leaves room for that' for each in margins)
        return f"{said}{'; '.join(found)}{more}"


def slower(
    network: scenario.What, flows: scenario.Flows | None, choice: Choice, resolved: Mapping[str, Any],
    margin: Margin, *, seeds: Sequence[int], **run: Any,
) -> Slower | None:  # fmt: skip
    """Latency under load with a discipline in the shapers of a margin on slower lines; None where it is not known, or
    where the rate varies anyway. `resolved`: the line without shapers. Raises what `compare` does."""
    ways = {"network": resolved["network"], f"network.{REVERSE}": resolved["network"][REVERSE]}
    if any(way.get("trace") for way in ways.values()):
        return None
    rates = {key: in_base_unit(way["rate"]) for key, way in ways.items()}
    fixed = [(f"{key}.shaper.rate", f"{round(part * bps)} bit/s") for (key, bps), part in
             zip(rates.items(), margin.deployed.values(), strict=True)]  # fmt: skip
    listed = [
        replace(choice, label=str(less), more=(
            *choice.more, *((f"{key}.rate", f"{round((1 - less) * bps)} bit/s") for key, bps in rates.items()), *fixed,
        ))
        for less in LESS
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scenario.ScenarioWarning)  # that shapers are faster than the line is the point
        done = compare(network, flows, disciplines=listed, seeds=list(seeds)[:MOST_SEEDS], **run)
    found = [(less, done.responsiveness(str(less))) for less in LESS]
    known = tuple((less, each.increase_ns) for less, each in found if each is not None)
    return Slower(choice.label, tuple(margin.largest.values()), known) if known else None


def read(record: Mapping[str, Any] | None) -> Slower | None:
    """What `asdict` gave, by way of JSON."""
    if record is None:
        return None
    found = tuple((less, ns) for less, ns in record["increases_ns"])
    return Slower(record["discipline"], tuple(record["parts"]), found)
