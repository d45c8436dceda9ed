"""Results in the forms of other programs: Flent's data files, qlog. What is named here is of a flow of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from .._core import ScenarioError
from ..quantities import in_base_unit

if TYPE_CHECKING:
    import polars as pl

Resolved = Mapping[str, Any]

CONNECTIONS = ("tcp", "telnet")
"""Kinds of sources of which each flow is one TCP connection."""


@dataclass(frozen=True)
class Flow:
    """A flow of a resolved scenario: its number from 1, its entry of [[flows]]."""

    number: int
    entry: Resolved

    @property
    def name(self) -> str:
        """The name of its group."""
        return str(self.entry["name"])

    @property
    def is_connection(self) -> bool:
        """Whether it is one TCP connection, which has a congestion window."""
        return self.entry["kind"] in CONNECTIONS

    @property
    def packet_bytes(self) -> int:
        """The length of its full packets."""
        return in_base_unit(self.entry["packet_size"])

    @property
    def segment_bytes(self) -> int:
        """The data of its full packets, if it is a connection."""
        return self.packet_bytes - in_base_unit(self.entry["header_size"])


def flows(scenario: Resolved) -> Iterator[Flow]:
    """All flows of a resolved scenario, in the order of their numbers."""
    number = 0
    for entry in scenario["flows"]:
        for _ in range(int(entry.get("count", 1))):
            number += 1
            yield Flow(number, entry)


def find(scenario: Resolved, flow: int | str) -> Flow:
    """The flow of that number, or the only one of the group of that name. Raises `ScenarioError`."""
    known = list(flows(scenario))
    text = str(flow)
    if text.isascii() and text.isdigit():
        if not 1 <= int(text) <= len(known):
            raise ScenarioError(f"flow {text}: there is no such flow: they are numbered from 1 to {len(known)}")
        return known[int(text) - 1]
    named = [each for each in known if each.name == text]
    if len(named) > 1:
        raise ScenarioError(
            f"flow {text}: the group has {len(named)} flows: say which by its number, "
            f"{named[0].number} to {named[-1].number}"
        )
    if not named:
        names = list(dict.fromkeys(each.name for each in known))
        near = get_close_matches(text, names, 1)
        hint = f'did you mean "{near[0]}"?' if near else f"known: 1 to {len(known)}, {', '.join(names)}"
        raise ScenarioError(f"flow {text}: must be the number of a flow, or the name of a group of one; {hint}")
    return named[0]


def connection(scenario: Resolved, flow: int | str) -> Flow:
    """The same, which must be one TCP connection. Raises `ScenarioError`."""
    found = find(scenario, flow)
    if not found.is_connection:
        able = [each.number for each in flows(scenario) if each.is_connection]
        hint = f"the nearest that has one is {min(able, key=lambda n: abs(n - found.number))}" if able else "none has"
        raise ScenarioError(
            f"flow {flow}: has no congestion window (its kind is {found.entry['kind']}); it must be of kind "
            f"{' or '.join(CONNECTIONS)}; {hint}"
        )
    return found


def require_series(scenario: Resolved) -> None:
    """Raise `ScenarioError` where there are no samples of flows."""
    if not scenario["run"]["series"]:
        raise ScenarioError("run.series = false: must be true, so that there are samples of each flow over time")


def require_packets(scenario: Resolved, flow: Flow | None = None, packets: pl.DataFrame | None = None) -> None:
    """Raise `ScenarioError` where no single packets are kept, or none of data of `flow` in the table of them."""
    import polars as pl

    if not scenario["run"]["packets"]:
        raise ScenarioError(
            "run.packets = 0: must be above 0, so that single packets are kept; such as run.packets=200000"
        )
    if flow is None or packets is None:
        return
    own = packets.filter((pl.col("flow") == flow.number) & (pl.col("to") == "receiver") & (pl.col("data_bytes") > 0))
    if own.is_empty():
        ends = "is empty" if packets.is_empty() else f"ends at {packets['time_s'][-1]:.3g} s"
        raise ScenarioError(
            f"run.packets = {scenario['run']['packets']}: the table packets {ends} and holds none of the data of flow "
            f"{flow.number}; it may need more, or the flow crosses no link under study, or has no stream"
        )
