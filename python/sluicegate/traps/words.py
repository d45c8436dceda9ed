"""Words for messages: times, sizes, rates."""

from __future__ import annotations

from ..quantities import duration, rate_text
from ..traffic.paths import Place


def span(ns: float) -> str:
    return duration(ns / 1e9) if ns else "0 s"


def amount(size: float | str) -> str:
    """A size as a scenario has it: packets, or bytes with their unit."""
    return size if isinstance(size, str) else f"{size} packet{'' if size == 1 else 's'}"


def percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def rate_of(place: Place) -> str:
    """The rate of a link; with a trace it is the mean one."""
    return f"{rate_text(place.rate_bps)}{' on average' if place.varies else ''}"
