"""Results in the forms of other programs: Flent's data files, qlog. This module finds the flow that a user names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._core import ScenarioError
from ..quantities import did_you_mean, in_base_unit
from ..traffic.groups import COMING_AND_GOING

if TYPE_CHECKING:
    import polars as pl

Resolved = Mapping[str, Any]

CONNECTIONS = ("tcp", "telnet")
"""Kinds of sources of which each flow is one TCP connection."""

SUFFIXES = {"flent": (".flent.gz",), "qlog": (".sqlog", ".qlog"), "time_sequence": (".svg", ".png", ".pdf")}
"""How the names of files of each form end; first what they get where nothing is said. Flent and qvis go by them."""


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
        for _ in range(1 if entry["kind"] in COMING_AND_GOING else int(entry.get("count", 1))):
            number += 1
            yield Flow(number, entry)


def find(scenario: Resolved, flow: int | str) -> Flow:
    """The flow of that number, or the only one of the group of that name. Raises `ScenarioError`."""
    known = list(flows(scenario))
    text = str(flow)
    if text.isascii() and text.isdigit():
        digits = text.lstrip("0")  # int() refuses texts of thousands of digits
        if not digits or len(digits) > len(str(len(known))) or int(digits) > len(known):
            raise ScenarioError(f"flow {text}: there is no such flow: they are numbered from 1 to {len(known)}")
        return known[int(digits) - 1]
    named = [each for each in known if each.name == text]
    if len(named) > 1:
        raise ScenarioError(
            f"flow {text}: the group has {len(named)} flows: say which by its number, "
            f"{named[0].number} to {named[-1].number}"
        )
    if not named:
        names = list(dict.fromkeys(each.name for each in known))
        hint = did_you_mean(text, names, f"known: 1 to {len(known)}, {', '.join(names)}")
        raise ScenarioError(f"flow {text}: must be the number of a flow, or the name of a group of one{hint}")
    return named[0]


def connection(scenario: Resolved, flow: int | str, has: str = "congestion window") -> Flow:
    """The same, which must be one TCP connection, since it alone `has` that. Raises `ScenarioError`."""
    found = find(scenario, flow)
    if not found.is_connection:
        kind = found.entry["kind"]
        fault = f"is many connections, each with its own {has}" if kind in COMING_AND_GOING else f"has no {has}"
        able = [each.number for each in flows(scenario) if each.is_connection]
        hint = f"the nearest is flow {min(able, key=lambda n: abs(n - found.number))}" if able else "there is none"
        raise ScenarioError(
            f"flow {flow}: {fault} (its kind is {kind}); it must be of kind {' or '.join(CONNECTIONS)}; {hint}"
        )
    return found


def stream(scenario: Resolved, flow: int | str) -> Flow:
    """The same, with data at a link under study, so that table `packets` can hold them. Raises `ScenarioError`."""
    found = connection(scenario, flow, "stream of bytes")
    links = scenario["network"].get("links")  # without them all flows share the bottleneck, which is under study
    path = found.entry.get("path", ())
    if links is not None and not any(link["managed"] for link in links if link["name"] in path):
        names = f"link {path[0]}" if len(path) == 1 else f"links {', '.join(path)}"
        raise ScenarioError(
            f"flow {flow}: its data cross no link under study, only {names}; one of them needs managed = true"
        )
    require_packets(scenario)
    return found


def require_suffix(path: str | Path, form: str) -> None:
    """Raise `ScenarioError` unless the name of a file is one of the form, a key of `SUFFIXES`."""
    *others, last = SUFFIXES[form]
    if not Path(path).name.endswith(SUFFIXES[form]):
        allowed = f"{', '.join(others)} or {last}" if others else last
        raise ScenarioError(f"{path}: must end in {allowed}")


def require_series(scenario: Resolved) -> None:
    """Raise `ScenarioError` where there are no samples of flows."""
    if not scenario["run"]["series"]:
        raise ScenarioError("run.series = false: must be true, so that there are samples of each flow over time")


def require_packets(scenario: Resolved) -> None:
    """Raise `ScenarioError` where no single packets are kept."""
    if not scenario["run"]["packets"]:
        raise ScenarioError(
            "run.packets = 0: must be above 0, so that single packets are kept; such as run.packets=200000"
        )


def require_data(scenario: Resolved, flow: Flow, packets: pl.DataFrame) -> None:
    """Raise `ScenarioError` where the table `packets` holds none of the data of a flow."""
    import polars as pl

    own = packets.filter((pl.col("flow") == flow.number) & (pl.col("to") == "receiver") & (pl.col("data_bytes") > 0))
    if not own.is_empty():
        return
    if packets.height < scenario["run"]["packets"]:
        raise ScenarioError(f"flow {flow.number}: none of its data reached a link under study in this run")
    raise ScenarioError(
        f"run.packets = {scenario['run']['packets']}: the table packets ends at {packets['time_s'][-1]:.3g} s "
        f"and holds none of the data of flow {flow.number}; it needs more"
    )
