"""What came of the cells: envelopes, and how parameters move them."""

from __future__ import annotations

from typing import Any

import polars as pl

from ...envelopes import Edges, Envelope, Measured, Sets

COLUMNS: dict[str, type[pl.DataType]] = {
    "discipline": pl.String, "parameter": pl.String, "factor": pl.Float64, "rate_bps": pl.Int64, "flows": pl.Int64,
    "rtt_ns": pl.Int64, "utilisation": pl.Float64, "queueing_delay_ns": pl.Float64, "loss_ratio": pl.Float64,
    "flood_share": pl.Float64, "promised_delay_ns": pl.Float64, "warmup_s": pl.Float64, "not_measured": pl.String,
}  # fmt: skip

UNMOVED = "none"
"""In place of a parameter: cells as they are measured where one is moved, which takes fewer packets."""


class Regions:
    """What came of the cells; `Envelopes` is the same with its page.

    Attributes:
        cells: One row for each discipline, parameter ("": as it was given, "none": so, but measured as briefly as
            those with one moved) with its factor, and cell: what was
            measured, the longest mean queueing delay that the promise allows (beside which 400 ms hold), how long the
            warm-up was and as much was measured, and why a cell was not: "windows" (those of the hosts hold the
            flows), "packets" (it would need more than the suite gives a cell), "rule" (the discipline does not take
            such a value), "no number". Shares of a flood are of the link's rate.
        summary: Version, disciplines, the grid, seeds.
    """

    def __init__(self, cells: pl.DataFrame, summary: dict[str, Any]) -> None:
        """Made by `envelope`."""
        self.cells, self.summary = cells, summary
        self.disciplines: list[str] = [each["label"] for each in summary["disciplines"]]
        self._sets: dict[str, Sets] = {
            each["label"]: tuple((key, value) for key, value in each["sets"]) for each in summary["disciplines"]
        }

    def envelope(self, discipline: str, parameter: str = "", factor: float = 1.0) -> Envelope:
        """That of a discipline, by its label; of one with a parameter moved only the row in which that was done."""
        rows = self.cells.filter(discipline=discipline, parameter=parameter, factor=factor)
        if rows.is_empty():
            raise KeyError(discipline)
        axes = [tuple(rows[name].unique().sort()) for name in ("rate_bps", "flows", "rtt_ns")]
        ordered = rows.sort("rate_bps", "flows", "rtt_ns")
        names = ("utilisation", "queueing_delay_ns", "promised_delay_ns")
        measured: list[Measured | None] = [
            None if used is None else Measured(used, delay, promised)
            for used, delay, promised in ordered.select(names).iter_rows()
        ]
        return Envelope(axes[0], axes[1], axes[2], tuple(measured), self._sets[discipline])

    def envelopes(self) -> dict[str, Envelope]:
        """Those of all disciplines, by label."""
        return {label: self.envelope(label) for label in self.disciplines}

    def moved(self, discipline: str) -> list[tuple[str, dict[float, Edges | None]]]:
        """For each parameter that was moved its factors, and the rates between which the promise is then kept; first
        with none moved."""
        rows = self.cells.filter(pl.col("discipline") == discipline, pl.col("parameter") != "")
        flows, trip = self.summary["moved"]
        found = []
        for name in rows["parameter"].unique(maintain_order=True):
            own = rows.filter(pl.col("parameter") == name)
            factors = own.filter(pl.col("utilisation").is_not_null())["factor"].unique().sort()
            if len(factors):
                edges = {factor: self.envelope(discipline, name, factor).edges(flows, trip) for factor in factors}
                found.append((name, edges))
        return found
