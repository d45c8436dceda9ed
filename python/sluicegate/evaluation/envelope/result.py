"""What `envelope` returns: the regions, with their page, drawings and files."""

from __future__ import annotations

import json
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...envelopes import FILE
from ...io import staged, write_json, write_parquet
from ...page import Table
from ...results.result_object import Frames, ResultObject, read_summary, read_table
from . import page
from .regions import Regions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES = ("cells.parquet", FILE, "report.html", "summary.json")
"""What `Envelopes.write` writes."""


AXES = ("rates_bps", "flows", "round_trips_ns")


def text(record: dict[str, Any]) -> str:
    """A record as JSON, a line for each discipline."""
    axes = {name: record[name] for name in AXES}
    rows = (f"  {json.dumps(label)}: {json.dumps(each, separators=(',', ':'), ensure_ascii=False)}"
            for label, each in record["disciplines"].items())  # fmt: skip
    body = ",\n".join(rows)
    return f'{json.dumps(axes)[:-1]}, "disciplines": {{\n{body}\n}}}}\n'


class Envelopes(Regions, ResultObject):
    __doc__ = (
        cleandoc(Regions.__doc__ or "").replace(
            "The results of the cells; `Envelopes` is the same with a page.",
            "What `envelope` returns, and `Envelopes.read` reads again.",
        )
        + """

>>> from sluicegate.evaluation.envelope.grid import Grid
>>> grid = Grid(rates=(1_000_000,), flows=(1, 10), trips=(30_000_000,), flooded=(), moved=(10, 30_000_000),
...             most=1e6, most_moved=1e6, moves=())
>>> done = sg.envelope("codel", grid=grid)
>>> sorted(done.tables), done.cells.height
(['cells'], 2)
"""
    )

    @classmethod
    def read(cls, directory: str | Path) -> Envelopes:
        """What `write` wrote, or `envelope` with `out`. Raises OSError, and ValueError when the folder has no such
        results."""
        keys = ("version", "suite", "disciplines", "rates_bps", "round_trips_ns")
        return cls(read_table(directory, "cells"), read_summary(directory, "envelopes", keys))

    @property
    def tables(self) -> Frames:
        """`cells`."""
        return Frames({"cells": self.cells})

    def plot(self, discipline: str | None = None) -> Figure:
        """The heat maps of a discipline, by its label (default: the first)."""
        from . import charts

        return charts.maps(self, discipline or self.disciplines[0])

    def html(self) -> str:
        """The page: the regions of all, then for each discipline its heat maps, and how parameters move its region."""
        return page.page(self).html()

    def overview(self) -> Table:
        """The rates between which each discipline keeps its promise."""
        return page.regions(self.envelopes())

    def record(self) -> dict[str, Any]:
        """The envelopes as `sluicegate.envelopes.load` reads them."""
        axes = {name: list(self.summary[name]) for name in AXES}
        found = {}
        for label, each in self.envelopes().items():
            cells = [None if cell is None else [round(cell.used, 4), round(cell.delay_ns), round(cell.promised_ns)]
                     for cell in each.measured]  # fmt: skip
            moved = [list(row) for row in page.moves(self, label).rows]
            found[label] = {"sets": [list(pair) for pair in each.sets], "cells": cells, "moved": moved}
        return axes | {"disciplines": found}

    def write(self, directory: str | Path) -> Path:
        """Write report.html, cells.parquet, envelopes.json (for `check` and `recommend`) and summary.json; return the
        directory. They appear completely or not at all. Raises OSError."""
        with staged(directory) as folder:
            write_parquet(self.cells, folder / "cells.parquet")
            write_json(folder / "summary.json", self.summary)
            (folder / FILE).write_text(text(self.record()), "utf-8")
            (folder / "report.html").write_text(self.html(), encoding="utf-8")
        return Path(directory)

    def __repr__(self) -> str:
        return f"<sluicegate.Envelopes {', '.join(self.disciplines)}; {self.cells.height} cells>"
