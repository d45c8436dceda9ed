"""What every result can do: be written and read, drawn, shown in a notebook, and written as a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure

    from ..page import Table

PANDAS = "to_pandas needs pandas: pip install 'sluicegate[pandas]'"


class Frames(Mapping[str, "pl.DataFrame"]):
    """Tables by name. Equal are those with the same names, columns and values."""

    def __init__(self, frames: Mapping[str, pl.DataFrame]) -> None:
        self._frames = dict(frames)

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._frames:
            raise KeyError(f'no such table: "{name}"; tables: {", ".join(self)}')
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return list(self) == list(other) and all(self[name].equals(other[name], null_equal=True) for name in self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<tables {', '.join(f'{name}: {self[name].height} rows' for name in self)}>"


class ResultObject:
    """The common part of `Run`, `Replay`, `Comparison`, `Recommendation`, `Sweep` and `Evaluation`.

    Attributes:
        summary: What the numbers come from.
    """

    summary: dict[str, Any]

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables by name."""
        raise NotImplementedError

    def plot(self) -> Figure:
        """The results at a glance, as a Matplotlib figure in the house style."""
        raise NotImplementedError

    def html(self) -> str:
        """The page that `report` writes."""
        raise NotImplementedError

    def overview(self) -> Table:
        """The small table that a notebook shows."""
        raise NotImplementedError

    def write(self, directory: str | Path) -> Path:
        """Write the results into a folder, completely or not at all. `read` reads them again.

        `Run` and `Replay` write only tables and summary.json. The others also write report.html, and all but
        `Envelopes` write figures.
        """
        raise NotImplementedError

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page: tables, figures, and where the numbers come from. Return its path.

        It needs no other file, no script and no network. Equal results give equal bytes. Raises OSError.
        """
        from ..io import staged_file

        with staged_file(path) as file:
            file.write_text(self.html(), encoding="utf-8")
        return Path(path)

    def to_csv(self, directory: str | Path) -> Path:
        """Write each table that has rows as NAME.csv; return the directory. Missing values are empty.

        Raises OSError.
        """
        from ..io import staged

        absent = [f"{name}.csv" for name, table in self.tables.items() if table.is_empty()]
        with staged(directory, absent) as folder:
            for name, table in self.tables.items():
                if not table.is_empty():
                    (folder / f"{name}.csv").write_bytes(table.write_csv().encode())
        return Path(directory)

    @overload
    def to_pandas(self, name: str) -> pd.DataFrame: ...
    @overload
    def to_pandas(self, name: None = None) -> dict[str, pd.DataFrame]: ...
    def to_pandas(self, name: str | None = None) -> pd.DataFrame | dict[str, pd.DataFrame]:
        """The table of that name as a pandas DataFrame, or all of them by name.

        Raises ImportError when pandas is missing (`pip install 'sluicegate[pandas]'`), and KeyError.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(PANDAS) from error
        # By way of NumPy: Polars' own way needs pyarrow, which is large.
        if name is not None:
            return pd.DataFrame({column.name: column.to_numpy() for column in self.tables[name]})
        return {each: self.to_pandas(each) for each in self.tables}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from ..page import fragment

        return fragment(self.overview(), repr(self).strip("<>"))


def read_summary(directory: str | Path, what: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """The summary of results that `write` wrote. `what`: such as "a run"; `keys`: what its summary has.

    Raises OSError where there is no summary, and ValueError for one of something else.
    """
    place = Path(directory, "summary.json")
    if Path(directory).is_file():
        raise NotADirectoryError(20, "is a file: give the folder that holds the results", str(directory))
    if not place.is_file():
        raise FileNotFoundError(2, "holds no results: there is no summary.json", str(directory))
    try:
        found = json.loads(place.read_bytes())
    except ValueError as error:
        raise ValueError(f"{place}: is no JSON: {error}") from None
    lacking = [key for key in keys if not isinstance(found, dict) or key not in found]
    if lacking:
        raise ValueError(f"{directory}: holds no results of {what}: its summary.json lacks {', '.join(lacking)}")
    return dict(found)


def read_table(directory: str | Path, name: str) -> pl.DataFrame:
    """The table of that name. Raises OSError, and ValueError when its file is damaged.

    Counters have a sign, those of files from before they had one, too.
    """
    from io import BytesIO

    import polars as pl
    from polars import selectors

    place = Path(directory, f"{name}.parquet")
    try:
        table = pl.read_parquet(BytesIO(place.read_bytes()))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{place}: is damaged, or no Parquet file: {error}") from None
    return table.with_columns(selectors.unsigned_integer().cast(pl.Int64))
