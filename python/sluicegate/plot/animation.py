"""A queue as it was, sample by sample: an SVG that moves by itself, without a script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from .comparison import group_style

if TYPE_CHECKING:
    import polars as pl

MOST_SAMPLES = 150
"""Of more samples as many are taken, evenly."""

MOST_PLACES = 120
"""Places at the head that are drawn."""

SECONDS = 0.1
"""How long a sample is shown."""

WIDTH, HEIGHT, ROW = 12, 16, 60
"""Of a place in pixels, and how many stand in a row."""

EMPTY = "#eceff1"


def queue(positions: pl.DataFrame, link: str, names: Sequence[str]) -> str:
    """The queue of `link` as an SVG, of the table `positions` of a run; empty when it has no samples of it.

    `names`: of all groups, in order. The head is at the left above, and each packet has the colour that its group has
    in the figures of the run.
    """
    import polars as pl

    rows = positions.filter(pl.col("link") == link)
    times = rows["time_s"].unique().sort().to_list()
    if not times:
        return ""
    times = [times[at * len(times) // min(len(times), MOST_SAMPLES)] for at in range(min(len(times), MOST_SAMPLES))]
    samples = [_heads(rows.filter(pl.col("time_s") == time)["name"].to_list()) for time in times]
    places = min(max(map(len, samples)), MOST_PLACES)
    colour = {name: group_style(name, names).color for name in names}
    lasts = f'dur="{len(times) * SECONDS:g}s" repeatCount="indefinite" calcMode="discrete"'
    parts = [
        _place(at, [colour[sample[at]] if at < len(sample) else EMPTY for sample in samples], lasts)
        for at in range(places)
    ]
    below = (HEIGHT + 6) * (1 + (places - 1) // ROW) + 14
    width = ROW * (WIDTH + 2)
    parts.append(f'<text x="0" y="{below + 18}">{times[0]:g} s</text>')
    parts.append(f'<text x="{width}" y="{below + 18}" text-anchor="end">{times[-1]:g} s</text>')
    parts.append(f'<rect x="0" y="{below}" width="{width}" height="3" fill="{EMPTY}"/>')
    parts.append(
        f'<rect x="0" y="{below - 3}" width="4" height="9" fill="#37474f"><animate attributeName="x" from="0" '
        f'to="{width - 4}" dur="{len(times) * SECONDS:g}s" repeatCount="indefinite"/></rect>'
    )
    for at, name in enumerate(names):
        parts.append(f'<rect x="{at * 120}" y="{below + 28}" width="10" height="10" fill="{colour[name]}"/>')
        parts.append(f'<text x="{at * 120 + 14}" y="{below + 37}">{escape(name[:16])}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {below + 44}" width="{width}" '
        f'font-family="sans-serif" font-size="11">{"".join(parts)}</svg>'
    )


def _heads(names: Sequence[str]) -> list[str]:
    """Who stands at each place of a sample, from the head; the table has them from the tail."""
    return list(reversed(names))


def _place(at: int, fills: Sequence[str], lasts: str) -> str:
    x, y = at % ROW * (WIDTH + 2), at // ROW * (HEIGHT + 6)
    moves = f'<animate attributeName="fill" values="{";".join(fills)}" {lasts}/>' if len(set(fills)) > 1 else ""
    return f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="{fills[0]}">{moves}</rect>'
