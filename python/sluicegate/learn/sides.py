"""Which end of a connection is inside."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from functools import lru_cache

from .. import _core

Side = bool | None
"""Whether the first of two ends is inside; None where that cannot be told."""


class Sides:
    """Tells which addresses are inside: those that are given; or else the one that all connections have which are seen
    first; or else private ones."""

    def __init__(self, inside: Sequence[str]) -> None:
        """`inside`: addresses and prefixes, if they are given. Raises `ScenarioError` when one is none."""
        nets = [_network(text) for text in inside]
        self._is_inside: Callable[[str], bool] | None = None
        if nets:
            self._is_inside = lambda address: any(ipaddress.ip_address(address) in net for net in nets)

    def of(self, ends: Sequence[tuple[str, str]]) -> list[Side]:
        """Which of both ends of each connection is inside.

        Raises `ScenarioError` when that can be told of none of the first ones.
        """
        if self._is_inside is not None:
            is_inside = lru_cache(maxsize=4096)(self._is_inside)
            return [None if is_inside(source) == is_inside(end) else is_inside(source) for source, end in ends]
        common = set(ends[0]).intersection(*ends) if len(ends) > 1 else set()
        self._is_inside = {next(iter(common))}.__contains__ if len(common) == 1 else _private
        sides = self.of(ends)
        if all(side is None for side in sides):
            raise _core.ScenarioError(
                "which side of the link is inside cannot be told from the addresses: say it with --inside, such as "
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
