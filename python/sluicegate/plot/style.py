"""The house style of figures: colours that colour-blind readers tell apart, axes with units, the same bytes each time.

A function that draws is decorated with `drawing`, so that a user's own Matplotlib settings change nothing; `svg` turns
a `matplotlib.figure.Figure` into bytes that depend on the figure alone (fixed hash salt, no date).
Nothing here uses pyplot or any global figure.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import polars as pl

POINTS = 600
"""Points of a line that a figure tells apart."""

P = ParamSpec("P")
Drawn = TypeVar("Drawn")

# Okabe and Ito's palette: eight colours that stay apart under the common forms of colour blindness.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY = "#6B7280"


@dataclass(frozen=True)
class Style:
    """How one series looks wherever it is drawn: a colour, a dash pattern and a marker, none of them needed alone."""

    label: str
    color: str
    line: str = "-"
    marker: str = "o"


KINDS: dict[str, Style] = {
    "udp": Style("UDP", VERMILION, "-", "s"),
    "tcp": Style("all TCP", BLUE, "-", "o"),
    "tcp_mean": Style("mean TCP flow", SKY, "--", "^"),
    "udp_mean": Style("mean UDP flow", ORANGE, "--", "v"),
    "average": Style("average kept by the discipline", BLACK, "-.", "D"),
    "all": Style("all flows", GREY, "-", "x"),
}
"""Kinds of flow, and what is drawn together with them."""

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_DISCIPLINES = (
    "choke", "red", "drop_tail", "dcn", "pi", "afd", "rio_ps", "fred", "sred", "sfb", "red_pd", "csfq", "fq", "sfq",
    "random_drop", "early_random_drop", "ared", "penalty_box", "decbit", "choke_linux", "rio", "rem", "blue", "codel",
    "fq_codel", "pie", "fq_pie", "fq_linux", "cake", "dualpi2", "l4s_step", "gred", "docsis_pie",
)  # fmt: skip


def discipline(name: str, label: str | None = None) -> Style:
    """The style of a discipline. A name that is not known gets one that depends on the name alone.

    `label`: what legends say (default: the name).
    """
    index = _DISCIPLINES.index(name) if name in _DISCIPLINES else len(_DISCIPLINES) + sum(name.encode())
    colour = _COLOURS[index % len(_COLOURS)]
    line = _LINES[index // len(_COLOURS) % len(_LINES)]
    return Style(label or name, colour, line, _MARKERS[index % len(_MARKERS)])


RC: dict[Any, Any] = {
    "svg.hashsalt": "sluicegate",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "savefig.dpi": 100,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#374151",
    "axes.labelcolor": "#111827",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10.0,
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
    "grid.color": "#E5E7EB",
    "grid.linewidth": 0.8,
    "xtick.color": "#374151",
    "ytick.color": "#374151",
    "lines.linewidth": 1.8,
    "lines.markersize": 5.0,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
}
"""What the house style sets over Matplotlib's own defaults."""


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's defaults with the house style over them; the caller's settings return at the end."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


def drawing(function: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """Decorate a function that draws a figure: it runs in the house style."""

    @functools.wraps(function)
    def styled(*args: P.args, **kwargs: P.kwargs) -> Drawn:
        with house_style():
            return function(*args, **kwargs)

    return styled


def svg(figure: Figure) -> bytes:
    """The figure as SVG: the same bytes for the same figure, with no date and no name of the program's version."""
    buffer = io.BytesIO()
    with house_style(), laid_out(figure):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "Sluicegate"})
    return buffer.getvalue()


@contextmanager
def laid_out(figure: Figure) -> Iterator[None]:
    """The figure laid out for SVG: Matplotlib draws a figure that has a layout twice, the first time for that alone."""
    layout, canvas, dpi = figure.get_layout_engine(), figure.canvas, figure.dpi
    figure.set_canvas(FigureCanvasSVG(figure))
    try:
        if layout is not None:
            figure.dpi = 72  # that of SVG
            try:
                layout.execute(figure)
            finally:
                figure.dpi = dpi
        figure.set_layout_engine(None)
        yield
    finally:
        figure.set_layout_engine(layout)
        figure.set_canvas(canvas)


def png(figure: Figure, dpi: int) -> bytes:
    """The figure as PNG."""
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": "Sluicegate"})
    return buffer.getvalue()


def panels(
    rows: int, columns: int, *, width: float = 9.6, height: float = 3.3, share_y: bool = True
) -> tuple[Figure, list[list[Axes]]]:
    """A figure of `rows` by `columns` axes: `width` inches in all, `height` inches for each row.

    Axes of a column share x; those of a row share y if `share_y`.
    """
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex="col", sharey="row" if share_y else "none")
    return figure, [list(row) for row in axes]


def mean_line(
    axes: Axes, x: ArrayLike, mean: ArrayLike, half_width: ArrayLike, style: Style, *, bars: bool = True
) -> None:
    """A line through means over seeds with their intervals: as bars with caps at markers, or as a band around it.

    `x`, `mean`, `half_width`: equally long; a half width of NaN (a single run) draws no interval.
    """
    xs, means, halves = (np.asarray(values, dtype=float) for values in (x, mean, half_width))
    known = ~np.isnan(halves)
    if bars:
        axes.plot(xs, means, style.line, color=style.color, marker=style.marker, label=style.label)
        axes.errorbar(
            xs[known], means[known], yerr=halves[known], fmt="none", ecolor=style.color, elinewidth=1.2, capsize=3
        )
    else:
        axes.plot(xs, means, style.line, color=style.color, label=style.label)
        axes.fill_between(
            xs, means - halves, means + halves, where=known, color=style.color, alpha=0.22, linewidth=0
        )  # fmt: skip


def line(
    axes: Axes, times: ArrayLike, values: ArrayLike, colour: str, label: str, dash: str = "-", *, band: bool = True
) -> None:
    """A series over time, by its means where there are more points than a figure shows."""
    x, y = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    if len(x) <= POINTS:
        axes.plot(x, y, dash, color=colour, linewidth=1.3, label=label)
        return
    bins = np.linspace(0, len(x), POINTS // 2 + 1).astype(int)
    parts = [(x[a:b], y[a:b]) for a, b in pairwise(bins)]
    middle: NDArray[np.float64] = np.array([each.mean() for each, _ in parts])
    axes.plot(middle, [each.mean() for _, each in parts], dash, color=colour, linewidth=1.3, label=label)
    if band:
        axes.fill_between(middle, [each.min() for _, each in parts], [each.max() for _, each in parts], color=colour,
                          alpha=0.2, linewidth=0)  # fmt: skip


def distribution(axes: Axes, table: pl.DataFrame, ends: str, counts: str, style: Style) -> None:
    """The distribution of times: how many per cent are within each. `ends`: the column with the upper ends of classes,
    in ns; `counts`: that of how many are in each."""
    summed = table.select(ends, counts).group_by(ends).sum().sort(ends)
    share = 100 * summed[counts].cum_sum().to_numpy() / max(summed[counts].sum(), 1)
    times = summed[ends].to_numpy() * 1e-6
    axes.step(np.append(times[:1], times), np.append(0.0, share), where="post", linestyle=style.line,
              color=style.color, label=style.label)  # fmt: skip


def within(axes: Axes) -> None:
    """Make the axes those of distributions of times: milliseconds, by decades where they differ much, and per cent."""
    by_decades(axes, min((float(line.get_xdata()[0]) for line in axes.lines), default=1.0))  # type: ignore[index,arg-type]
    axes.set_ylim(0, 102)


def by_decades(axes: Axes, lowest: float) -> bool:
    """Make the x axis logarithmic, with plain labels, where it ends at many times the lowest value; return whether."""
    if not axes.get_xlim()[1] > 8 * lowest > 0:
        return False
    axes.set_xscale("log")
    lowest, highest = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if highest < 500 * lowest else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    return True


def reference(axes: Axes, y: float, text: str, *, color: str = BLACK, lift: float = 2) -> None:
    """A dotted horizontal line at `y`, named at its right end: a threshold, or what the paper prints.

    `lift`: how many points the name stands above it, more where markers lie on the line.
    """
    axes.axhline(y, color=color, linestyle=":", linewidth=1.3, zorder=1.5)
    axes.annotate(
        text, xy=(1.0, y), xycoords=("axes fraction", "data"), xytext=(-3, lift), textcoords="offset points",
        ha="right", va="bottom", fontsize=8.5, color=color,
    )  # fmt: skip


def log_axis(axes: Axes, which: Literal["x", "y"], ticks: Sequence[float]) -> None:
    """Make axis `which` logarithmic with plain labels at `ticks` (0.1, 1, 10: not powers of ten), fractions to three
    digits."""
    if which == "x":
        axes.set_xscale("log")
    else:
        axes.set_yscale("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator([float(tick) for tick in ticks]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:{'g' if value == round(value) else '.3g'}}"))
    axis.set_minor_formatter(NullFormatter())


def rate_axis(largest: float) -> tuple[str, float]:
    """The unit of an axis of rates up to `largest` bit/s, and its factor: ticks have at most four digits."""
    return ("Mbit/s", 1e-6) if largest >= 1e7 else ("kbit/s", 1e-3)


def legend(figure: Figure, axes: Sequence[Axes], *, columns: int = 5, bars: str = "") -> None:
    """One legend for the whole figure, above it, each label once. `bars`: what bars with caps are, if there are any."""
    entries: dict[str, Any] = {}
    for each in axes:
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    drawn = (each for one in axes for each in one.containers if isinstance(each, ErrorbarContainer))
    if bars and any(lines.get_segments() for each in drawn for lines in each.lines[2]):
        entries[bars] = Figure().subplots().errorbar([0], [0], xerr=[1], fmt="none", ecolor=GREY, capsize=3)
    if not entries:
        return
    figure.legend(entries.values(), entries, loc="outside upper center", ncols=min(columns, len(entries)))
