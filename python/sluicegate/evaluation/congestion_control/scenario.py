"""The building blocks of the suite: a scenario has groups of flows that are under test, beside others.

Every congestion control runs in the same scenario text; what changes are the overrides that put it in charge of these
flows. All hosts are Linux's. The link has 50 Mbit/s, a base round trip of 40 ms and a Drop Tail buffer of one
bandwidth-delay product, unless a scenario says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from ... import _core
from ..._generated import Dumbbell, Endpoints, Http, Source, Tcp
from ...experiments.controllers import Controller
from ...experiments.engine import Derive, Sets
from ...papers.disciplines.workloads import Workload
from ...quantities import quantity
from ...reproduce import Settings
from ...scenario import Network
from ..suite import QUICK, Scenario
from .measures import derive_control

TESTED = "under test"
SECOND = "under test, second"

RTT_S = 0.04
RTT = "40 ms"
RATE = "50 Mbit/s"


def packets(rate: str, rtt_s: float = RTT_S, products: float = 1.0) -> int:
    """So many bandwidth-delay products in packets of 1500 bytes, one at least."""
    return max(1, round(quantity("rate", rate, "network.rate") * rtt_s * products / 12_000))


LINK = Workload("", RATE, queue=packets(RATE, products=0.25), limit=packets(RATE), rtt="60 ms", flows=2)
"""Disciplines whose targets are lengths hold a quarter of the product, 10 ms."""

QUEUE = f'[queue]\ndiscipline = "drop_tail"\nlimit = {LINK.limit}\n'
NETWORK = Dumbbell(rate=RATE, delay="1 ms")


def flow(count: int = 1, **more: Any) -> Tcp:
    """Transfers without end; their congestion control is replaced where they are under test."""
    return Tcp(count, **{"algorithm": "cubic", "rtt": RTT} | more)


def chunks() -> Http:
    """A user who fetches 1 MB over one connection, and the next 2 s after its last byte."""
    return Http(
        1, algorithm="cubic", rtt=RTT, request_size="constant(350 B)", response_size="constant(1 MB)",
        embedded_objects="constant(0)", think_time="constant(2 s)", pages_per_server="constant(1000000)",
        persistent=1.0, keep_alive="10 s",
    )  # fmt: skip


@dataclass(frozen=True)
class ControlScenario(Scenario):
    """A scenario of the suite. `tested`: the groups that are under test. `late`: the one of them that starts while
    another flow has the link, and is timed. `lasts`: the part of the settings' time that runs take, of fast links."""

    network: Network = NETWORK
    queue: str = QUEUE
    link: Workload = LINK
    tested: tuple[str, ...] = (TESTED,)
    late: str | None = None
    lasts: float = 1.0

    def lasting(self, settings: Settings) -> Settings:
        """How long it is run, and how often it is sampled."""
        times = (max(2.0, self.lasts * settings.duration_s), max(1.0, self.lasts * settings.warmup_s))
        return super().lasting(replace(settings, duration_s=times[0], warmup_s=times[1]))

    def numbers(self) -> list[int]:
        """The flows under test, by number."""
        return [number for number, name in enumerate(self.flows(QUICK)) if name in self.tested]

    def with_changes(self, sets: Sets) -> Scenario:
        """The scenario with overrides of flows. Raises `ScenarioError` for any other."""
        for key, _ in sets:
            if not key.startswith("flows."):
                raise _core.ScenarioError(f"sets: {key}: is the suite's own; flows and lengths of runs can be changed")
        return super().with_changes(sets)

    def sets(self, choice: Any, point: str = "") -> Sets:
        """The overrides that put a congestion control in charge of the flows under test."""
        assert isinstance(choice, Controller)
        return choice.sets(self.numbers())

    def under(self, choice: Any) -> ControlScenario | None:
        """The scenario with a transport's own ends in place of the flows under test, where the choice is one; None if
        these are more than transfers without end."""
        assert isinstance(choice, Controller)
        if not choice.is_ends:
            return self
        if not all(isinstance(each, Tcp) for name, each in self.flows(QUICK).items() if name in self.tested):
            return None
        flows = self.flows
        return replace(
            self,
            flows=lambda settings: {
                name: _ends(each, choice.name) if name in self.tested else each
                for name, each in flows(settings).items()
            },
        )

    def derived(self, settings: Settings, flows: Mapping[str, Source]) -> Derive:
        """What is kept of a run."""
        made = super().derived(settings, flows)
        assert isinstance(made, partial)
        late = None if self.late is None else [*flows].index(self.late)
        return partial(derive_control, late=late, **made.keywords)


def _ends(transfer: Source, ends: str) -> Endpoints:
    """Flows with these ends in place of TCP's."""
    same = {each.name for each in fields(Endpoints)} & {each.name for each in fields(transfer)} - {"packet_size"}
    return Endpoints(**{name: getattr(transfer, name) for name in same}, ends=ends)


def buffers(rate: str, products: Sequence[float] = (0.1, 0.3, 1, 3, 10)) -> Mapping[str, Sets]:
    """Points: buffers of so many bandwidth-delay products."""
    return {f"{each:g} BDP": (("queue.limit", str(packets(rate, products=each))),) for each in products}


def disciplines(*names: str, sets: Sets = ()) -> dict[str, Sets]:
    """Points: queue disciplines with the link's buffer and targets."""
    return {name: (("queue.discipline", name), *LINK.tuned(), *sets) for name in names}
