"""Figures and papers: a figure is a chart of some studies and the checks that belong to it; a paper is its figures.

    @figure(9, "Who is in the queue under load", chart=Lines("udp_rate", QUEUED), load=load)
    def fig9(load):
        '''Packets in the queue of each kind, means over time.'''
        for at in load.each("queue"):
            yield claim("UDP never becomes the dominant part", at.over("udp_rate", "udp_share").highest(), below(50))

The function takes the runs of the studies that the decorator names; its docstring is the figure's caption.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..page import Table
from .claim import Check, Verdict, numbered
from .study import Runs, Settings, Study

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Drawn

    from ..experiments.engine import Experiment, Tables

    Simulate = Callable[[Sequence[Experiment], Sequence[int]], Tables]


@dataclass(frozen=True)
class Drawing:
    """What a chart makes: the drawing (none where a table says it all), the numbers behind it, a table for the page,
    and `words` made of the numbers."""

    drawn: Drawn | None
    data: pl.DataFrame
    table: Table | None = None
    words: str = ""


Chart = Callable[..., Drawing]
"""Draws the runs of a figure's studies, given by name; `checks`: those of the figure, whose printed numbers it may
mark."""

Checks = Callable[..., Iterable[Check]]


@dataclass(frozen=True)
class Figure:
    """One figure of a paper, or a statement of its text that has none; made by `figure`.

    `id`: names its files. `label`: as the paper numbers it. `source`: where the paper has it. `studies`: by the names
    under which chart and checks take their runs. `checks`: makes its checks. `caption`: what it shows,
    `file`: where it is written. `order`: its place on the page. `live`: some of its runs are between real hosts.
    """

    id: str
    label: str
    title: str
    source: str
    chart: Chart | None
    studies: Mapping[str, Study]
    checks: Checks
    caption: str
    file: str
    order: float
    live: bool = False

    def made(self, runs: Mapping[str, Runs]) -> list[Check]:
        """The checks that its runs give."""
        return numbered(self.id, self.source, self.checks(**runs) or ())


@dataclass(frozen=True)
class Made:
    """A figure with what the runs gave. `note`: what has to be known of them. `short`: the same of the short runs,
    where it is of runs at full length that are kept."""

    figure: Figure
    caption: str
    drawing: Drawing | None
    verdicts: tuple[Verdict, ...]
    note: str = ""
    short: Made | None = None

    @property
    def beside(self) -> Mapping[str, Verdict]:
        """What the short runs came to, by the ids of checks."""
        return {verdict.check.id: verdict for verdict in self.short.verdicts} if self.short else {}


def figure(
    number: int | str,
    title: str,
    *,
    chart: Chart | None = None,
    source: str = "",
    label: str = "",
    id: str = "",
    after: float | None = None,
    live: bool = False,
    **studies: Study,
) -> Callable[[Checks], Figure]:
    """Decorate the function that yields a figure's checks.

    `number`: as the paper has it, or an id such as "bursts" for what has no figure; the page is in the order of
    numbers, and `after` says behind which one the others stand (default: at the end). `label`: what the page calls it
    (default: Figure 9). `source`: where the paper has it (default: Fig. 9). `live`: some of its runs are between real
    hosts, in real time: it is made on request only, with the settings of `Paper.live`, and its verdicts are not
    recorded, for they vary.
    """

    def decorate(function: Checks) -> Figure:
        numbered_one = isinstance(number, int)
        return Figure(
            id=id or (f"fig{number}" if numbered_one else str(number)),
            label=label or (f"Figure {number}" if numbered_one else title),
            title=title,
            source=source or (f"Fig. {number}" if numbered_one else ""),
            chart=chart,
            studies=studies,
            checks=function,
            caption=inspect.cleandoc(function.__doc__ or ""),
            file=inspect.getfile(function),
            order=float(number) if isinstance(number, int) else 1e6 if after is None else after + 0.5,
            live=live,
        )

    return decorate


@dataclass(frozen=True)
class Choice:
    """Something the paper leaves open or that is done otherwise: what it says, what is done here, and why."""

    what: str
    paper: str
    here: str
    why: str


@dataclass(frozen=True)
class Live:
    """How the figures of a paper with real hosts are run. `short`, `full` and `prepare`: as those of `Paper`."""

    short: Settings
    full: Settings
    prepare: Callable[[Settings, Simulate], Any] | None = None


@dataclass(frozen=True)
class Paper:
    """A paper as it is reproduced.

    `name`: of its reports. `package`: the package or module that holds its figures (default: that of this
    name in `sluicegate.papers`). `short` and `full`: how long and how often
    to run. `choices`: what the paper leaves open. `commands`: single points, as a person would run them. `scenario`:
    the one to show. `prepare`: what has to be found out before the studies can run; it is given the settings and a
    function that simulates, and its result reaches `Study.by_seed` and figures whose checks take `prepared`. `summary`:
    a sentence or two on what came out, from all verdicts. `tables`: what else is to be kept as data, by name.
    `word`: what the page calls it.
    `kept`: the folder of runs at full length (default: `kept` beside the paper's files; see `kept.py`). `restore`: what
    was prepared for them, from their settings and its `frame()`.
    `live`: how figures with real hosts are run, if there are any.
    """

    name: str
    title: str
    citation: str
    short: Settings
    full: Settings
    choices: Sequence[Choice] = ()
    commands: Sequence[str] = ()
    scenario: str = ""
    prepare: Callable[[Settings, Simulate], Any] | None = None
    summary: Callable[[Sequence[Verdict]], str] | None = None
    tables: Callable[[Any], Mapping[str, pl.DataFrame]] | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    package: str = ""
    word: str = "paper"
    kept: Path | None = None
    restore: Callable[[Settings, pl.DataFrame], Any] | None = None
    live: Live | None = None

    def figures(self, live: bool = False) -> list[Figure]:
        """Its figures, in the order of the page; `live`: those with real hosts instead. Raises ValueError when two have
        the same id."""
        package = self._package()
        names = [package.__name__]
        if hasattr(package, "__path__"):
            names += [f"{package.__name__}.{module.name}" for module in iter_modules(package.__path__)]
        found: dict[str, Figure] = {}
        for name in names:
            for each in vars(import_module(name)).values():
                if isinstance(each, Figure) and found.setdefault(each.id, each) is not each:
                    raise ValueError(f"two figures are called {each.id!r}")
        return sorted((each for each in found.values() if each.live is live), key=lambda each: each.order)

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return Path(str(self._package().__file__)).parent

    @property
    def kept_folder(self) -> Path:
        """Where runs at full length are kept, if any are."""
        return self.kept or self.folder / "kept"

    def _package(self) -> ModuleType:
        return import_module(self.package or f"sluicegate.papers.{self.name}")
