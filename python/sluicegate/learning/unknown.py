"""What a learnt scenario says that it does not know, and whether an answer depends on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .model import Unknown

if TYPE_CHECKING:
    from ..experiments.recommendation import Recommendation

LINE = re.compile(r"# unknown: (?P<key>\S+) = (?P<value>.+?), (?P<low>.+?) to (?P<high>.+?): (?P<why>.+)")


def line(unknown: Unknown) -> str:
    """A comment of a learnt scenario that says so."""
    return f"# unknown: {unknown.key} = {unknown.value}, {unknown.low} to {unknown.high}: {unknown.why}"


def unknowns(file: str) -> list[Unknown]:
    """What a scenario file says that it does not know; nothing of a scenario that is no file."""
    path = Path(file)
    if not path.is_file():
        return []
    found = (LINE.fullmatch(text) for text in path.read_text("utf-8").splitlines())
    return [Unknown(**match.groupdict()) for match in found if match]


def answers(
    found: list[Unknown], first: str, best: list[str], again: Callable[[str, str], Recommendation]
) -> list[str]:  # fmt: skip
    """Whether the first of the best stays among them where what is not known is at the ends of its range, and which
    others are the best there.

    `again`: recommends with another value of a key.
    """
    lines = []
    for each in found:
        others = {end: again(each.key, end).best() for end in (each.low, each.high)}
        changed = [
            f"with {end} {'only ' * (set(other) < set(best))}{' and '.join(other)}"
            for end, other in others.items()
            if set(other) != set(best)
        ]
        stays = all(first in other for other in others.values())
        both = f"with {each.low} and with {each.high} {first} is among the best"
        said = both if stays else f"the answer depends on it: {', '.join(changed)}"
        lines.append(f"{each.key} is not known; {said}" + (f" ({', '.join(changed)})" if stays and changed else ""))
    return lines
