"""Bursts of datagrams, from the gaps between them: packets at one pace, and silences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

PACE, AT_PACE = 0.25, 0.5
"""Packets of a burst follow each other at one pace: this share of all gaps differs from the median by no more than this
part of it. Of gaps at random, one in six does."""

SILENCE, FEWEST = 3.0, 10
"""A gap of so many usual ones is a silence; and so many of them tell how long they are on average."""


@dataclass(frozen=True)
class Bursts:
    """Bursts and silences: nanoseconds on average, the gap between packets in a burst, and by what part of their mean
    the times between beginnings of bursts deviate."""

    on_ns: float
    off_ns: float
    gap_ns: float
    deviation: float

    @property
    def period_ns(self) -> float:
        """From a burst to the next."""
        return self.on_ns + self.off_ns


def bursts(packets: pl.DataFrame, flows: list[int]) -> dict[tuple[int, bool], Bursts]:
    """The bursts of these connections in each direction, of those that send in bursts. `packets`: each seen once."""
    import polars as pl

    found = {}
    mine = packets.filter(pl.col("flow").is_in(flows)).select("flow", "down", "time_ns")
    for (flow, down), rows in mine.partition_by("flow", "down", as_dict=True).items():
        each = _bursts(rows["time_ns"].to_numpy())
        if each is not None:
            found[flow, down] = each
    return found


def _bursts(time: NDArray[np.int64]) -> Bursts | None:
    gaps = np.diff(np.sort(time)).astype(float)
    if len(gaps) < 2 * FEWEST:
        return None
    usual = max(float(np.median(gaps)), 1.0)
    silent = gaps > SILENCE * usual
    if silent.sum() < FEWEST or np.mean(np.abs(gaps - usual) <= PACE * usual) < AT_PACE:
        return None
    # A packet takes its share of a burst: what follows it at the same pace would come a gap later.
    between = np.diff(np.flatnonzero(silent))
    starts = np.diff(time[1:][silent]).astype(float)
    return Bursts(
        float(between.mean() * usual), float(gaps[silent].mean() - usual), usual, float(starts.std() / starts.mean())
    )
