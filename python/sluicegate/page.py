"""Pages: one self-contained HTML file with tables and figures inside, no script, and nothing fetched.

`Page` is the page of a user's own results. The papers' reports, too, use the templates and `inlined`.
Equal results give equal bytes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from .quantities import significant

if TYPE_CHECKING:
    import jinja2
    from matplotlib.figure import Figure


PIXELS = 1.25
"""A point of a figure in pixels of a page, so that figures of any width have letters of one size."""


@dataclass(frozen=True)
class Table:
    """Rows of a page: its `head` and `rows` of as many texts. `numbers`: how many columns at the right hold
    numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 0


@dataclass(frozen=True)
class Section:
    """A part of a page. `drawing`: SVG as text, which may move.

    `tables` and `texts` (shown as they are written): each with its title, which may be empty. `folded`: whether texts
    but the first are shown on demand."""

    id: str
    title: str
    caption: str = ""
    words: Sequence[str] = ()
    figure: Figure | None = None
    drawing: str = ""
    tables: Sequence[tuple[str, Table]] = ()
    texts: Sequence[tuple[str, str]] = ()
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """The page of a result. `lead`: what came out, in sentences. `notes`: what limits it. `provenance`: names and
    values, none of which may be a date or a path. `scenario`: text."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    provenance: Mapping[str, str]
    lead: Sequence[str] = ()
    notes: Sequence[str] = ()
    scenario: str = ""
    scenario_title: str = "The scenario, with every default filled in"

    @cached_property
    def svgs(self) -> dict[str, bytes]:
        """Its figures as SVG, by section: to draw one takes longer than all else of a page."""
        from .plot import style as plot

        return {each.id: plot.svg(each.figure) for each in self.sections if each.figure is not None}

    def html(self) -> str:
        """The page as HTML."""
        drawings = {id_: inlined(svg.decode(), id_) for id_, svg in self.svgs.items()}
        drawings |= {each.id: each.drawing for each in self.sections if each.drawing}
        return environment().get_template("results.html.j2").render(page=self, drawings=drawings)


def environment() -> jinja2.Environment:
    """The templates of this package."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("sluicegate"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters |= {"number": significant}
    return made


def inlined(svg: str, prefix: str, pixels: float = PIXELS) -> str:
    """An SVG file as an element of a page: its ids made its own, `pixels` for each of its points."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>\s*", "", element, flags=re.DOTALL)
    element = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", element, count=1)
    element = re.sub(
        r'(<svg[^>]*?) width="([\d.]+)pt"', lambda at: f'{at[1]} width="{pixels * float(at[2]):.0f}"', element, count=1
    )
    element = re.sub(r'\bid="', f'id="{prefix}-', element)
    return re.sub(r'(url\(#|href="#)', rf"\1{prefix}-", element)


def fragment(table: Table, caption: str) -> str:
    """A table alone, as a notebook shows it."""

    def cells(texts: Sequence[str], tag: str) -> str:
        count = len(table.head) - table.numbers
        aligned = (("left", "right")[place >= count] for place in range(len(table.head)))
        return "".join(
            f'<{tag} style="text-align: {align}">{html.escape(text)}</{tag}>'
            for text, align in zip(texts, aligned, strict=True)
        )

    rows = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in table.rows)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{cells(table.head, 'th')}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
