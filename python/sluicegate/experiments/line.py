"""An access line as `recommend` sees it: what it is like today, and the shapers that disciplines are tried in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import _core, scenario
from ..deploy import Access, linux
from ..deploy import access as access_line
from ..traffic.groups import Traffic, typical_rtt_ns
from ..traffic.paths import REVERSE, links
from . import margin as margins
from .compare import compare
from .disciplines import Choice
from .margin import Margin
from .slower import Slower
from .slower import read as read_slower

TRIED = ("cake", "fq_codel", "fq_pie")
"""Disciplines under which rates of shapers are tried, the first that is among those compared, else one that can be
deployed; what is deployed is looked at again, for not all disciplines make senders slow down as soon."""


@dataclass(frozen=True)
class Line:
    """An access line: how responsive it is as the scenario has it, and what its shapers are to have of its rate.

    `today`: in words; None where it is not known. `margin`: what was tried; None where a margin was given. `shapers`:
    the overrides that put them into the scenario; none where it has its own. `increase_ns`: of latency under load,
    today. `slower`: what the shapers do where the line carries less than the scenario says; None where it is not known.
    """

    today: str | None
    margin: Margin | None
    shapers: tuple[tuple[str, str], ...]
    increase_ns: float | None = None
    slower: Slower | None = None

    def text(self, evidence: Sequence[str] = (), whole: bool = True) -> list[str]:
        """What is said of its shapers, in lines. `evidence`: of single disciplines in them. `whole`: each rate that was
        tried, too."""
        slower = [] if self.slower is None else [self.slower.line()]
        return [*([] if self.margin is None else self.margin.lines(whole)), *evidence, *slower]

    def record(self) -> dict[str, Any]:
        """As JSON knows it."""
        margin = None if self.margin is None else self.margin.record()
        shapers = [list(pair) for pair in self.shapers]
        slower = None if self.slower is None else asdict(self.slower)
        return {"today": self.today, "margin": margin, "shapers": shapers, "increase_ns": self.increase_ns,
                "slower": slower}  # fmt: skip

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Line:
        """What `record` gave."""
        margin = None if record["margin"] is None else margins.read(record["margin"])
        shapers = tuple((key, value) for key, value in record["shapers"])
        return cls(record["today"], margin, shapers, record.get("increase_ns"), read_slower(record.get("slower")))


def today(
    network: scenario.What, flows: scenario.Flows | None, listed: Sequence[Choice], resolved: Mapping[str, Any],
    access: Access, fit: Callable[[Choice], Choice], *, sets: Sequence[tuple[str, str]], seeds: Sequence[int],
    **run: Any,
) -> Line:  # fmt: skip
    """What an access line is like today, and the shapers that what is recommended is tried in. `fit`: gives a
    discipline the values that suit the link, its overrides included. Raises what `compare` does."""
    if any("shaper" in way for way in (resolved["network"], resolved["network"][REVERSE])):
        if access.margin is not None:
            raise _core.ScenarioError("margin: the shapers of the scenario say their rates; leave it out")
        return Line(None, None, ())
    own = resolved["queue"]["discipline"]
    plain = Choice(own, own)
    few = list(seeds)[: margins.MOST_SEEDS]
    known = compare(network, flows, disciplines=[plain], sets=sets, seeds=few, **run).responsiveness(own)
    today, increase = (None, None) if known is None else (f"{own}  {known.text()}", known.increase_ns)
    if access.margin is not None:
        return Line(today, None, margins.shapers(access.part(access_line.DOWN), access.part(REVERSE)), increase)
    names = [choice.name for choice in listed]
    others = [name for name in names if linux.deployable(name) and name != own]
    tried = next((name for name in (*TRIED, *others) if name in names), names[-1])
    choice = next(each for each in listed if each.name == tried)
    found = under(network, flows, choice, resolved, fit, sets=sets, seeds=seeds, **run)
    return Line(today, found, shapers(found), increase)


def under(
    network: scenario.What, flows: scenario.Flows | None, choice: Choice, resolved: Mapping[str, Any],
    fit: Callable[[Choice], Choice], **run: Any,
) -> Margin:  # fmt: skip
    """The margin of an access line under a discipline. Raises what `compare` does."""
    return margins.choose(network, flows, choice, links(resolved), typical_rtt_ns(Traffic(resolved).groups), fit, **run)


def shapers(margin: Margin) -> tuple[tuple[str, str], ...]:
    """The overrides that put its shapers into the scenario."""
    return margins.shapers(*margin.deployed.values())
