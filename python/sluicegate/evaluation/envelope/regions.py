"""The results of the cells: envelopes, and how parameters move them."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from ...envelopes import Edges, Envelope, Measured, Sets

COLUMNS: dict[str, type[pl.DataType]] = {
    "discipline": pl.String, "parameter": pl.String, "factor": pl.Float64, "value": pl.String,
    "rate_bps": pl.Int64, "flows": pl.Int64, "rtt_ns": pl.Int64, "utilisation": pl.Float64,
    "queueing_delay_ns": pl.Float64, "loss_ratio": pl.Float64, "flood_share": pl.Float64,
    "promised_delay_ns": pl.Float64, "warmup_s": pl.Float64, "not_measured": pl.String,
}  # fmt: skip

UNMOVED = "none"
"""Stands for a parameter's name where none is moved: these cells are measured with as few packets as those with a moved
parameter, to be compared with them."""


Moved = Edges | Literal["rule", "raises"] | None
"""The rates between which the promise is kept with a parameter moved, or why none was measured."""


class Regions:
    """The results of the cells; `Envelopes` is the same with a page.

    Attributes:
        cells: One row for each discipline, varied parameter and cell. `parameter`: its name; "" for the discipline as
            given; "none" for the same in runs as short as those with a varied parameter. `factor`: what multiplies the
            parameter's value; null if `move` gives values. `value`: the parameter's value. The cell (`rate_bps`,
            `flows`, `rtt_ns`) and what was measured in it follow. `flood_share`: a flood's throughput as a share of the
            link's rate. `promised_delay_ns`: the longest mean queueing delay that the promise allows; no promise is
            kept above 400 ms. `warmup_s`: the length of the warm-up, which is also that of the measured time.
            `not_measured`: why a cell was not measured: "windows" (the hosts' windows limit the flows), "packets" (it
            would need more packets than the suite allows), "rule" (the discipline does not take this value), "raises"
            (a discipline in Python raises an exception with it), "no number" (the parameter has none to multiply).
        summary: Version, disciplines, the grid, seeds.
    """

    def __init__(self, cells: pl.DataFrame, summary: dict[str, Any]) -> None:
        """Made by `envelope`."""
        self.cells, self.summary = cells, summary
        self.disciplines: list[str] = [each["label"] for each in summary["disciplines"]]
        self._sets: dict[str, Sets] = {
            each["label"]: tuple((key, value) for key, value in each["sets"]) for each in summary["disciplines"]
        }

    def envelope(self, discipline: str, parameter: str = "", moved: float | str = 1.0) -> Envelope:
        """The envelope of a discipline, by its label. With `parameter`: only the cells measured with its value
        multiplied by the factor `moved`, or set to the value `moved`."""
        rows = self.cells.filter(_is(moved), discipline=discipline, parameter=parameter)
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
        """The envelopes of all disciplines, by label."""
        return {label: self.envelope(label) for label in self.disciplines}

    def moved(self, discipline: str) -> list[tuple[str, dict[float | str, Moved]]]:
        """For each varied parameter, its factors or values and their results; the first entry is without variation."""
        rows = self.cells.filter(pl.col("discipline") == discipline, pl.col("parameter") != "")
        flows, trip = self.summary["moved"]
        found: list[tuple[str, dict[float | str, Moved]]] = []
        for name in rows["parameter"].unique(maintain_order=True):
            own = rows.filter(pl.col("parameter") == name)
            edges: dict[float | str, Moved] = {}
            for way in dict.fromkeys(value if by is None else by for by, value in own.select("factor", "value").rows()):
                here = own.filter(_is(way))
                why = {*here["not_measured"]}
                if None in why:
                    edges[way] = self.envelope(discipline, name, way).edges(flows, trip)
                elif found and why & {"rule", "raises", "no number"}:
                    edges[way] = "raises" if "raises" in why else "rule"
            if {*edges.values()} - {"rule"}:
                found.append((name, edges))
        return found


def _is(moved: float | str) -> pl.Expr:
    """The cells with a parameter times a factor, or set to a value that was asked for."""
    if isinstance(moved, str):
        return pl.col("factor").is_null() & (pl.col("value") == moved)
    return pl.col("factor") == moved
