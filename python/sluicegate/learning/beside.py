"""The loop closed: the learnt scenario simulated and captured as the link was, and both measured in the same way."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..experiments.run import simulate
from ..quantities import in_base_unit
from ..scenario import ScenarioWarning
from . import sightings
from .model import Learnt
from .passage import Passage, passage

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


INSIDE = "172.16.0.0/12"
"""The side to which the simulator's captures show data going forward."""

ALL = "all packets"
"""The name of what all groups together met."""


@dataclass(frozen=True)
class Met:
    """What a group met at the queue.

    Attributes:
        throughput_bps: Bits of IP that were sent on, in a second.
        loss: The part of its packets that the queue dropped.
        wait_ms: How long those that were sent on waited: mean, median and 95th percentile.
    """

    throughput_bps: float
    loss: float
    wait_ms: tuple[float, float, float]


@dataclass(frozen=True)
class Side:
    """One side of the comparison: what each group met and its waiting times in milliseconds, and all waiting times with
    the seconds at which they ended."""

    label: str
    groups: dict[str, Met]
    waits: dict[str, NDArray[np.float64]]
    seconds: NDArray[np.float64]
    wait_ms: NDArray[np.float64]


def beside(done: Learnt, scenario: str | Path, disciplines: Sequence[str] = (), seed: int = 1) -> list[Side]:
    """What was captured and what the learnt scenario shows, then what it shows under other disciplines.

    Of the direction that is the scenario's link. Raises `ScenarioError` when that was not captured on both sides of its
    queue.
    """
    import polars as pl

    from .. import _core

    if done.forward.passage is None:
        raise _core.ScenarioError(
            "a simulation can be compared only with captures from both before and after the queue"
        )
    # What has no number of a flow is one of the connections that come and go: all of them are one here.
    other = " and ".join(group.name for group in done.groups if group.kind == "connections")
    own: dict[str, list[int]] = {}
    for group in done.groups:
        if group.down == done.forward.down:
            own.setdefault(other if group.kind == "connections" else group.name, []).extend(group.flows)
    sides = [measured("captured", done.forward.passage, own, int(done.forward.passage.arrival[0]))]
    for label in ("simulated", *disciplines):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", ScenarioWarning)
            places = {"bottleneck/arrivals": Path(folder, "before"), "bottleneck": Path(folder, "behind")}
            run = simulate(
                scenario, queue=None if label == "simulated" else label, seed=seed, pcap=places, progress=False
            )
            seen = sightings.Sightings([*places.values()], [INSIDE], "error")
            packets = pl.concat(chunk.filter("down") for chunk in seen)
        through = passage(packets)
        if through is None:
            raise _core.ScenarioError("the learnt scenario sends nothing over its link")
        named = _numbers(seen.flows)
        # Groups of the scenario are numbered in the order of those learnt.
        of = {flow: done.groups[at].name for flow, at in run.flows.select("flow", "group").iter_rows()}
        groups: dict[str, list[int]] = {name: [] for name in own}
        for flow, number in named.items():
            groups.setdefault(of.get(number, other), []).append(flow)
        kept = {name: flows for name, flows in groups.items() if name in own}
        # Times of the simulator count from its start.
        sides.append(measured(label, through, kept, in_base_unit(run.summary["scenario"]["run"]["warmup"])))
    return sides


def _numbers(flows: pl.DataFrame) -> dict[int, int]:
    """The number of the simulator's flow of each connection, from its address inside."""
    import ipaddress

    found = {}
    for row in flows.iter_rows(named=True):
        inside = row["source"] if row["inside"] else row["destination"]
        found[row["id"]] = int(ipaddress.ip_address(inside)) - int(ipaddress.ip_address("172.16.0.0"))
    return found


def measured(label: str, through: Passage, groups: dict[str, list[int]], start: int) -> Side:
    """What each group met, from this time on."""
    seconds = max((through.arrival[-1] - start) / 1e9, 1e-9)
    sent, wait = through.sent, through.wait / 1e6
    late = through.arrival[sent] >= start
    drops = through.dropped[through.arrival[through.dropped] >= start]
    found, of = {}, {}
    for name, flows in {ALL: None, **groups}.items():
        mine = late if flows is None else late & np.isin(through.flow[sent], flows)
        lost = len(drops) if flows is None else int(np.isin(through.flow[drops], flows).sum())
        if not mine.any():
            continue
        waits = of[name] = wait[mine]
        met = (float(waits.mean()), float(np.median(waits)), float(np.percentile(waits, 95)))
        bits = float(through.size[sent][mine].sum() * 8)
        found[name] = Met(bits / seconds, lost / (lost + int(mine.sum())), met)
    return Side(label, found, of, (through.begun[late] - start) / 1e9, wait[late])


def distance(one: Side, other: Side) -> float:
    """How far the distributions of waiting times lie apart: the most by which their shares differ (Kolmogorov and
    Smirnov)."""
    from scipy.stats import ks_2samp

    return float(ks_2samp(one.wait_ms, other.wait_ms).statistic)
