"""Which end of a connection is inside."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .. import _core

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

UNKNOWN = -1
"""Which of both ends is inside cannot be told."""


class Sides:
    """Tells which addresses are inside: those that are given; or else the one that all connections have which are seen
    first; or else private ones."""

    def __init__(self, inside: Sequence[str]) -> None:
        """`inside`: addresses and prefixes, if they are given. Raises `ScenarioError` when one is none."""
        nets = [_network(text) for text in inside]
        self._is_inside: Callable[[str], bool] | None = None
        if nets:
            self._is_inside = lambda address: any(ipaddress.ip_address(address) in net for net in nets)

    def of(self, sources: pl.Series, ends: pl.Series) -> NDArray[np.int8]:
        """Whether the first of the two ends of each connection is inside: 1, 0, or unknown.

        Raises `ScenarioError` when that can be told of none of the first ones.
        """
        first = self._is_inside is None
        if self._is_inside is None:
            common = {sources[0], ends[0]} if len(sources) > 1 else set()
            for pair in zip(sources, ends, strict=True):
                common.intersection_update(pair)
            self._is_inside = common.__contains__ if len(common) == 1 else _private
        is_inside = lru_cache(maxsize=4096)(self._is_inside)
        both = ((is_inside(source), is_inside(end)) for source, end in zip(sources, ends, strict=True))
        sides = np.fromiter((UNKNOWN if one == other else one for one, other in both), np.int8, len(sources))
        if first and (sides == UNKNOWN).all():
            raise _core.ScenarioError(
                "which side of the link is inside does not follow from the addresses: give --inside, such as "
                "--inside 192.168.0.0/16"
            )
        return sides


def _private(address: str) -> bool:
    about = ipaddress.ip_address(address)
    return about.is_private or about.is_link_local


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise _core.ScenarioError(f'inside = "{text}": an address or a prefix, such as 192.168.0.0/16') from None
