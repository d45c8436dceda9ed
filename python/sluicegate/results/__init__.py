"""The results of a run: tables as Polars DataFrames, and the summary.

Every column and its unit is defined in docs/reference/results-columns.md; units are also in the names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Self

from .result_object import Frames, ResultObject, read_summary, read_table

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from .._core import RawRun
    from ..page import Table

    Columns = list[tuple[str, str, bytes | tuple[list[str], bytes]]]

TYPES = {"f64": "<f8", "i64": "<i8"}
"""The core's names of column types, and NumPy's."""

ALWAYS = ("flows", "links", "groups")
"""The tables of a simulated run that have rows whatever happens."""

LIVE = ("links",)
"""Those of a run of real packets: where none came, there is no flow."""

LUCK = 0.01
"""The chance, over all flows of a run together, below which a share of drops is reported."""


class Made(Frames):
    """Tables of the core's, each made a DataFrame when first asked for."""

    def __init__(self, columns: Mapping[str, Columns]) -> None:
        super().__init__({})
        self._names = tuple(columns)
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name in self._columns:
            self._frames[name] = frame(self._columns.pop(name))
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Results(ResultObject):
    """What a run or a replay gave: tables, and a summary.

    Attributes:
        summary: Version, what was simulated or replayed, seed and totals.
    """

    def __init__(self, raw: RawRun) -> None:
        """Take what `_core.run` returned."""
        self._hold(json.loads(raw["summary"]), Made(raw["tables"]))

    def _hold(self, summary: dict[str, Any], tables: Frames) -> Self:
        self.summary, self._tables = summary, tables
        return self

    @classmethod
    def of(cls, summary: dict[str, Any], tables: Mapping[str, pl.DataFrame]) -> Self:
        """Results with this summary and these tables."""
        return cls.__new__(cls)._hold(summary, Frames(tables))

    @property
    def tables(self) -> Frames:
        """The tables by name."""
        return self._tables

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
        return self._tables[name]

    def write(self, directory: str | Path) -> Path:
        """Write each table that has rows as NAME.parquet, and summary.json; return the directory. `read` reads them.

        They appear completely or not at all. Other files in an existing directory stay, except those of tables that now
        have no rows. Equal runs give equal bytes. Raises OSError.
        """
        from ..io import staged

        with staged(directory, self.absent()) as folder:
            self.write_files(folder)
        return Path(directory)

    def write_files(self, folder: Path) -> None:
        """Write the same files into an existing folder, one after the other. Raises OSError."""
        from ..io import write_json, write_parquet

        for name, table in self.tables.items():
            if not table.is_empty():
                write_parquet(table, folder / f"{name}.parquet")
        write_json(folder / "summary.json", self.summary)

    def absent(self) -> list[str]:
        """The files that are not written, because their tables have no rows."""
        return [f"{name}.parquet" for name, table in self.tables.items() if table.is_empty()]


class Run(Results):
    """The results of a simulation, or of real packets. Tables of real packets lack the columns that only a simulator
    can fill.

    Attributes:
        summary: Version, resolved scenario, seed, totals and the number of events.

    >>> run = sg.run("unresponsive", duration="2 s", warmup="0 s")
    >>> run.groups["name"].to_list()
    ['tcp', 'udp']
    >>> run.links.select("link", "discipline").rows()
    [('bottleneck', 'choke')]
    >>> sg.Run.read(run.write("out/run")).links.equals(run.links)
    True
    """

    @classmethod
    def read(cls, directory: str | Path) -> Run:
        """What `write` wrote, or `sluicegate run -o`. A table without a file has no rows.

        Raises OSError, and ValueError when the folder contains something else, or a file is missing or damaged.
        """
        summary = read_summary(directory, "a run", ("version", "scenario", "seed", "totals", "events"))
        always = LIVE if "live" in summary else ALWAYS
        return cls.of(summary, read_tables(directory, "tables", always))

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
        """How many packets each flow has queued at each link, over time; no row if it has none."""
        return self.table("occupancy")

    @property
    def packets(self) -> pl.DataFrame:
        """Arrivals, departures and drops of single packets at each link: the first `run.packets` of them."""
        return self.table("packets")

    @property
    def segments(self) -> pl.DataFrame:
        """Single TCP segments, with their headers and what happened to them: the first `run.segments` of them."""
        return self.table("segments")

    @property
    def state(self) -> pl.DataFrame:
        """The internal state of each discipline over time, such as its drop probability: names and values."""
        return self.table("state")

    @property
    def positions(self) -> pl.DataFrame:
        """The flow at each position of each queue, over time: the first `run.positions` packets, by default none."""
        return self.table("positions")

    @property
    def groups(self) -> pl.DataFrame:
        """One row for each group of flows with the same name: throughput, loss, delays, response times."""
        return self.table("groups")

    @property
    def delays(self) -> pl.DataFrame:
        """The distribution of one-way delays of each group: packets in bins of delay."""
        return self.table("delays")

    @property
    def response_times(self) -> pl.DataFrame:
        """The distribution of response sizes and times of each group: exchanges and bytes in bins of both."""
        return self.table("response_times")

    @property
    def exchanges(self) -> pl.DataFrame:
        """One row for each request and its response, if `run.exchanges` is true."""
        return self.table("exchanges")

    def plot(self) -> Figure:
        """Throughput of each group and the queue over time, the distribution of delays, and drops by reason."""
        from ..plot import run
        from ..quantities import in_base_unit

        return run.figure(self.tables, in_base_unit(self.summary["scenario"]["run"]["warmup"]) / 1e9)

    def html(self) -> str:
        """The page of the run: groups, links, figures, flows, scenario."""
        from . import run_page

        return run_page.page(self.summary, self.tables, heavy_flows(self.flows)).html()

    def overview(self) -> Table:
        """The groups of flows."""
        from . import run_page

        return run_page.groups(self.groups)

    def remarks(self) -> list[str]:
        """Warnings about results of real packets, as sentences; none for a simulation."""
        from . import run_page

        return run_page.remarks(self.summary)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {table.height} rows" for name, table in self.tables.items() if table.height)
        return f"<sluicegate.Run seed={self.summary['seed']} {sizes}>"

    def to_flent(self, path: str | Path, title: str = "sluicegate") -> Path:
        """Write the run's TCP streams as a data file of Flent (.flent.gz); return the path. `title`: for its plots.

        docs/results.md says what is in it. Equal runs give equal bytes. Raises OSError, and `ScenarioError` if there
        are no TCP streams, or no samples of them, or if `path` has another ending.
        """
        from ..export import flent, require_suffix
        from ..io import staged_file

        require_suffix(path, "flent")
        with staged_file(path) as place:
            place.write_bytes(flent.document(self.summary, self.tables, title))
        return Path(path)

    def to_qlog(self, flow: int | str, path: str | Path, draft: Literal["current", "0.3"] = "current") -> Path:
        """Write a TCP flow's congestion state as qlog (JSON text sequences: .sqlog, or .qlog); return the path.

        `flow`: its number, or the name of a group of one flow. `draft`: "0.3" for qvis. With `run.packets` the file
        also has sent and lost packets. Raises OSError, and `ScenarioError` for a flow without a congestion window, or
        if `path` has another ending.
        """
        from ..export import qlog, require_suffix
        from ..io import staged_file

        require_suffix(path, "qlog")
        with staged_file(path) as place:
            place.write_bytes(qlog.sequence(self.summary["scenario"], self.tables, flow, draft))
        return Path(path)

    def plot_time_sequence(self, flow: int | str) -> Figure:
        """A TCP flow's data, retransmissions, acknowledgements and drops over time, from the table `packets`.

        `flow`: its number, or the name of a group of one flow. Raises `ScenarioError` for a flow without a stream of
        bytes, if `run.packets` is 0, and if the table has none of the flow's data.
        """
        from .. import export
        from ..plot import time_sequence

        found = export.stream(self.summary["scenario"], flow)
        export.require_data(self.summary["scenario"], found, self.packets)
        cut = self.packets.height >= self.summary["scenario"]["run"]["packets"]
        return time_sequence.figure(self.packets, found.number, found.name, cut=cut)


def heavy_flows(flows: pl.DataFrame) -> list[dict[str, Any]]:
    """The flows of a run with a disproportionate share of the recent marks and random drops (RED 1993, Sec. X), the
    largest first: `flow`, `kind`, `link` and the columns that begin with `recent_`.

    A gateway that marks or drops at random hits a flow as often as it sends. `flows`: the table of that name. A flow is
    listed when `recent_p_value` times the number of flows that sent is at most `LUCK`, which bounds the chance that any
    flow is listed by luck. A shorter round trip or a larger window gives a large share too, as the paper says.
    """
    import polars as pl

    if "recent_p_value" not in flows.columns:  # real packets
        return []
    sent = flows.filter(pl.col("recent_p_value").is_not_null())
    columns = ("flow", "kind", "link", "recent_share", "recent_expected", "recent_packets", "recent_p_value")
    found = sent.filter(pl.col("recent_p_value") * sent.height <= LUCK)
    return found.sort("recent_share", "flow", descending=[True, False]).select(columns).to_dicts()


def read_tables(directory: str | Path, of: str, always: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The tables that `of` (`tables`, `replay_tables`) declares; empty where there is no file. Raises OSError, and
    ValueError when a file is damaged, or missing though its table is one of those that `always` have rows."""
    import polars as pl

    from ..declarations import declarations

    types = {"f64": pl.Float64, "i64": pl.Int64, "str": pl.String}
    found = {}
    for table in declarations()[of]:
        if Path(directory, f"{table['name']}.parquet").is_file():
            found[table["name"]] = read_table(directory, table["name"])
        elif table["name"] in always:
            raise ValueError(f"{directory}: the results are not whole: there is no {table['name']}.parquet")
        else:
            schema: dict[str, Any] = {each["name"]: types[each["dtype"]] for each in table["columns"]}
            found[table["name"]] = pl.DataFrame(schema=schema)
    return found


def file_names() -> list[str]:
    """The names of the files that `Run.write` writes."""
    from ..declarations import declarations

    tables = declarations()["tables"]
    return [*(f"{table['name']}.parquet" for table in tables), "summary.json"]


def tables_from_core(raw: RawRun) -> dict[str, pl.DataFrame]:
    """Every table that `_core.run` returned."""
    return {name: frame(columns) for name, columns in raw["tables"].items()}


FIRST = Lock()
"""Held while Polars gets its first array: its stand-in for NumPy fails where two threads are the first at once."""


def frame(columns: Columns) -> pl.DataFrame:
    """A table of the core's."""
    import numpy as np
    import polars as pl

    with FIRST:
        pl.Series(np.empty(0))  # from now on Polars has NumPy itself
    return pl.DataFrame([_series(*column) for column in columns])


def _series(name: str, dtype: str, payload: bytes | tuple[list[str], bytes]) -> pl.Series:
    """One column; NaN, the core's mark for a missing value, becomes null.

    Texts come as each of them once, and for every row which.
    """
    import numpy as np
    import polars as pl

    if isinstance(payload, tuple):
        names, codes = payload
        return pl.Series(name, names, dtype=pl.String)[np.frombuffer(codes, dtype="<u4")]
    return pl.Series(name, np.frombuffer(payload, dtype=TYPES[dtype]), nan_to_null=dtype == "f64")
