"""A sweep as a table on a terminal: a row for each point, with means over seeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..stats import interval

if TYPE_CHECKING:
    from ..experiments.sweep import Sweep

MOST_ROWS = 40
"""More points than these are left to the files."""

TOTALS = (("throughput_bps", "throughput kbit/s", 1e-3, 1), ("lost", "lost %", 100.0, 2))
LINK = (("utilisation", "used %", 100.0, 2), ("queueing_delay_mean_ns", "delay ms", 1e-6, 1))


def show(sweep: Sweep, out: Path | None = None) -> None:
    """Print the means of each point, how much was run, and where the files are."""
    import polars as pl

    from .common import print_table

    runs = sweep.totals.height
    seeds = len(sweep.summary["seeds"])
    lost = (pl.col("lost_packets") / pl.col("arrivals_packets")).fill_nan(None).alias("lost")
    table = sweep.totals.with_columns(lost)
    shown = list(TOTALS)
    if sweep.links.height == runs:  # one link
        table = table.with_columns(sweep.links.select(name for name, *_ in LINK))
        shown += LINK
    points = [
        part.to_dicts() for part in (table[at : at + seeds] for at in range(0, min(runs, MOST_ROWS * seeds), seeds))
    ]
    values = [each["values"] for each in sweep.summary["over"]]
    rows = []
    for place, point in enumerate(points):
        label: list[str] = []
        for each in reversed(values):
            place, at = divmod(place, len(each))
            label.insert(0, each[at])
        rows.append(
            [*label, *(_mean([row[name] for row in point], factor, digits) for name, _, factor, digits in shown)]
        )
    print_table([*(each["key"] for each in sweep.summary["over"]), *(head for _, head, *_ in shown)], rows, whole=True)
    if (more := runs // seeds - len(rows)) > 0:
        print(f"… and {more} more points")
    spread = f"means over {seeds} seeds ± half width of their 95 % intervals" if seeds > 1 else "1 seed"
    print(f"{runs} runs, of which {sweep.kept} were there; {spread}" if sweep.kept else f"{runs} runs; {spread}")
    if out is not None:
        print(f"results in {out}")


def _mean(values: list[Any], factor: float, digits: int) -> str:
    """The mean of what is there and its half width, in the unit shown."""
    there = [factor * value for value in values if value is not None]
    if not there:
        return "–"
    found = interval(there)
    return f"{found.mean:.{digits}f}" + (f" ± {found.half_width:.{digits}f}" if len(there) > 1 else "")
