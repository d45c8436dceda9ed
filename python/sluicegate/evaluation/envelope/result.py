"""What `envelope` returns: the regions, with their page, drawings and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...io import staged, write_json, write_parquet
from ...page import Table
from ...result_object import Frames, ResultObject, read_summary, read_table
from . import charts, page
from .regions import Regions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES = ("cells.parquet", "report.html", "summary.json")
"""What `Envelopes.write` writes."""


class Envelopes(Regions, ResultObject):
    __doc__ = (Regions.__doc__ or "").replace(
        "What came of the cells; `Envelopes` is the same with its page.",
        "What `envelope` returns, and `Envelopes.read` reads again.",
    )

    @classmethod
    def read(cls, directory: str | Path) -> Envelopes:
        """What `write` wrote, or `envelope` with `out`. Raises OSError, and ValueError when the folder holds none."""
        keys = ("version", "suite", "disciplines", "rates_bps", "round_trips_ns")
        return cls(read_table(directory, "cells"), read_summary(directory, "envelopes", keys))

    @property
    def tables(self) -> Frames:
        """`cells`."""
        return Frames({"cells": self.cells})

    def plot(self, discipline: str | None = None) -> Figure:
        """The heat maps of a discipline, by its label (default: the first)."""
        return charts.maps(self, discipline or self.disciplines[0])

    def html(self) -> str:
        """The page: the regions of all, then of each discipline its heat maps and how parameters move its region."""
        return page.page(self).html()

    def overview(self) -> Table:
        """The rates between which each discipline keeps its promise."""
        return page.regions(self)

    def write(self, directory: str | Path) -> Path:
        """Write report.html, cells.parquet and summary.json; return the directory. They appear whole or not at all.
        Raises OSError."""
        with staged(directory) as folder:
            write_parquet(self.cells, folder / "cells.parquet")
            write_json(folder / "summary.json", self.summary)
            (folder / "report.html").write_text(self.html(), encoding="utf-8")
        return Path(directory)

    def __repr__(self) -> str:
        return f"<sluicegate.Envelopes {', '.join(self.disciplines)}; {self.cells.height} cells>"
