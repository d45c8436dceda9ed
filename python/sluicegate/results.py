"""The results of a run: tables as Polars DataFrames, and the summary.

Every column and its unit is defined in docs/reference/results-columns.md; units are also in the names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from ._core import RawRun

TYPES = {"f64": "<f8", "u64": "<u8", "i64": "<i8", "bool": "?"}
"""The core's names of column types, and NumPy's."""

LUCK = 0.01
"""The chance, over all flows of a run together, below which a share of drops is reported."""


class Results:
    """What a run or a replay gave: tables, and a summary.

    Attributes:
        summary: Version, what was simulated or replayed, seed and totals.
        tables: The names of the tables.
    """

    def __init__(self, raw: RawRun) -> None:
        """Take what `_core.run` returned."""
        self.summary: dict[str, Any] = json.loads(raw["summary"])
        self.tables = list(raw["tables"])
        self._columns = dict(raw["tables"])
        self._frames: dict[str, pl.DataFrame] = {}

    @property
    def flows(self) -> pl.DataFrame:
        """One row for each flow: throughput, arrivals, drops by reason, delay, over the measured window."""
        return self.table("flows")

    @property
    def links(self) -> pl.DataFrame:
        """One row for each link: arrivals, drops by reason, utilisation, queue and delay, over the measured window."""
        return self.table("links")

    def table(self, name: str) -> pl.DataFrame:
        """The table of that name, made from the core's bytes when first asked for. Raises KeyError."""
        if name not in self._frames:
            self._frames[name] = _frame(self._columns.pop(name))
        return self._frames[name]

    def write(self, directory: str | Path) -> Path:
        """Write each table as NAME.parquet, and summary.json; return the directory.

        They appear whole or not at all, and other files in an existing directory stay. Equal runs give equal bytes.
        Raises OSError.
        """
        from .io import staged

        with staged(directory) as folder:
            self.write_files(folder)
        return Path(directory)

    def write_files(self, folder: Path) -> None:
        """Write the same files into a folder that is there, one after the other. Raises OSError."""
        from .io import write_json, write_parquet

        for name in self.tables:
            write_parquet(self.table(name), folder / f"{name}.parquet")
        write_json(folder / "summary.json", self.summary)


class Run(Results):
    """What a simulation gave.

    Attributes:
        summary: Version, resolved scenario, seed, totals and the number of events.
        tables: The names of the tables.
    """

    @property
    def flow_series(self) -> pl.DataFrame:
        """Each flow's throughput and window over time."""
        return self.table("flow_series")

    @property
    def queue(self) -> pl.DataFrame:
        """Each link's queue, and its discipline's average, over time."""
        return self.table("queue")

    @property
    def occupancy(self) -> pl.DataFrame:
        """How many packets each flow has queued at each link, over time; no row where there are none."""
        return self.table("occupancy")

    @property
    def packets(self) -> pl.DataFrame:
        """Arrivals, departures and drops of single packets at each link: the first `run.packets` of them."""
        return self.table("packets")

    @property
    def state(self) -> pl.DataFrame:
        """What each discipline shows of itself over time, such as its drop probability: names and values."""
        return self.table("state")

    @property
    def positions(self) -> pl.DataFrame:
        """Which flow holds each place of each queue, over time: the first `run.positions` packets, by default none."""
        return self.table("positions")

    @property
    def groups(self) -> pl.DataFrame:
        """One row for each group whose connections come and go: connections, requests, response times."""
        return self.table("groups")

    @property
    def response_times(self) -> pl.DataFrame:
        """How the response sizes and times of each group are distributed: exchanges and bytes by classes of both."""
        return self.table("response_times")

    @property
    def exchanges(self) -> pl.DataFrame:
        """One row for each request and its response, if `run.exchanges` is true."""
        return self.table("exchanges")

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {self.table(name).height} rows" for name in self.tables)
        return f"<sluicegate.Run seed={self.summary['seed']} {sizes}>"


def heavy_flows(flows: pl.DataFrame) -> list[dict[str, Any]]:
    """The flows of a run with a disproportionate share of the recent marks and random drops (RED 1993, Sec. X), the
    largest first: `flow`, `kind`, `link` and the columns that begin with `recent_`.

    A gateway that marks or drops at random hits a flow as often as it sends. `flows`: the table of that name. A flow is
    listed when `recent_p_value` times the number of flows that sent is at most `LUCK`, which bounds the chance that any
    flow is listed by luck. A shorter round trip or a larger window gives a large share too, as the paper says.
    """
    import polars as pl

    sent = flows.filter(pl.col("recent_p_value").is_not_null())
    columns = ("flow", "kind", "link", "recent_share", "recent_expected", "recent_packets", "recent_p_value")
    found = sent.filter(pl.col("recent_p_value") * sent.height <= LUCK)
    return found.sort("recent_share", "flow", descending=[True, False]).select(columns).to_dicts()


def file_names() -> list[str]:
    """The names of the files that `Run.write` writes."""
    from . import _core

    tables = json.loads(_core.declarations())["tables"]
    return [*(f"{table['name']}.parquet" for table in tables), "summary.json"]


def tables_from_core(raw: RawRun) -> dict[str, pl.DataFrame]:
    """Every table that `_core.run` returned."""
    return {name: _frame(columns) for name, columns in raw["tables"].items()}


def _frame(columns: list[tuple[str, str, bytes | tuple[list[str], bytes]]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame([_series(*column) for column in columns])


def _series(name: str, dtype: str, payload: bytes | tuple[list[str], bytes]) -> pl.Series:
    """One column; NaN, the core's mark for a missing value, becomes null.

    Texts come as each of them once, and for every row which.
    """
    import numpy as np
    import polars as pl

    if isinstance(payload, tuple):
        names, codes = payload
        return pl.Series(name, names, dtype=pl.String).gather(np.frombuffer(codes, dtype="<u4"))
    series = pl.Series(name, np.frombuffer(payload, dtype=TYPES[dtype]))
    return series.fill_nan(None) if dtype == "f64" else series
