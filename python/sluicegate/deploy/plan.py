"""Building lines for tc: handles, units as tc reads them, and remarks on what they change."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..quantities import duration, rate_text
from .target import FRONT, Deployment, Link, Position, Undeployable, Values

MOST = 2**32 - 1
"""tc reads sizes, times in microseconds and most rates in bytes per second into 32 bits."""

FASTER = "itself must be faster, or the queue forms below"
UNDO = "to undo it"
"""Parts of remarks that hold for one interface, which `access` replaces by those on a pair."""

Writer: TypeAlias = "Callable[[Plan, str, Values], str]"
"""Adds the lines of one discipline below a parent ("root", "parent 1:1"); gives its handle."""


class Plan:
    """What is deployed on one device, line by line.

    Attributes:
        dev: The device, quoted for a shell.
        link: The link that the device stands for.
        position: Where it stands to that link.
        lines: The commands so far.
        remarks: The remarks so far, each once.
        sets_tc_index: Whether the filters that a `gred` needs are there.
    """

    def __init__(self, dev: str, link: Link, writers: Mapping[str, Writer], position: Position = FRONT) -> None:
        self.dev, self.link, self.writers, self.position = dev, link, writers, position
        self.lines: list[str] = []
        self.remarks: list[str] = []
        self.sets_tc_index = False
        self._handles = 0x10

    def say(self, remark: str, when: bool = True) -> None:
        if when and remark not in self.remarks:
            self.remarks.append(remark)

    def deployment(self) -> Deployment:
        return Deployment(lines=self.lines, remarks=self.remarks)

    def install(self, parent: str, table: Mapping[str, Any]) -> str:
        """Add the discipline of this table. Raises Undeployable."""
        values = Values(table)
        return self.writers[values.discipline](self, parent, values)

    def handle(self) -> str:
        """A new one; tc reads and writes them in hexadecimal."""
        self._handles += 1
        return f"{self._handles - 1:x}:"

    def qdisc(self, parent: str, words: str) -> str:
        """Add a line that makes a queue below a parent; gives its handle."""
        handle = self.handle()
        self.lines.append(f"tc qdisc add dev {self.dev} {parent} handle {handle} {words}")
        return handle

    # --- units -------------------------------------------------------------------------------

    def time(self, values: Values, key: str, least: int = 1) -> str:
        """A time in whole microseconds, `least` of them at least: tc and the kernel know no shorter ones."""
        exact = values.base(key)
        us = max(round(exact / 1000), least)
        if us > MOST:
            raise Undeployable(f"{key} = {values[key]} is longer than the 4294 s that tc can say")
        self.say(f"{key} = {values[key]} becomes {us} us: tc knows whole microseconds", us * 1000 != exact)
        return f"{us // 1000}ms" if us and us % 1000 == 0 else f"{us}us"

    def bytes(self, values: Values, key: str) -> int:
        """A size in bytes that tc can say."""
        return fit(values.base(key), key)

    def packets(self, values: Values, key: str, most: int = MOST) -> int:
        """A size in packets; what is in bytes is divided by the longest packet."""
        amount, in_bytes = values.size(key)
        if in_bytes:
            told = max(amount // self.link.packet, 1)
            self.say(f"{key} = {values[key]} becomes {told} packets of {self.link.packet} bytes: Linux counts packets")
            amount = told
        if amount > most:
            raise Undeployable(f"{key} = {values[key]}: Linux takes {most} packets at most")
        return amount

    def narrow_rate(self, rate: int, key: str) -> str:
        """A rate that tc holds in 32 bits of bytes per second."""
        self.say(f"{key} is the most that tc can say, 2^32 - 1 bytes per second", rate > 8 * MOST)
        return rate_word(min(rate, 8 * MOST))

    def packet_rounding(self, packet: int) -> None:
        """What it means that a queue is counted in bytes here and in packets in the scenario."""
        self.say(
            f"thresholds and limit are bytes: a packet of the scenario is {packet} bytes here, shorter ones count "
            "less, and each counts its 14-byte Ethernet header besides"
        )


def undo(lines: list[str]) -> list[str]:
    """The commands that take away what lines have added, the last first."""
    found = []
    for line in lines:
        words = shlex.split(line)
        if words[:3] == ["ip", "link", "add"]:
            found.append(f"ip link del {shlex.quote(words[3])}")
        elif words[:3] == ["tc", "qdisc", "add"] and (kinds := {"root", "ingress", "clsact"} & set(words[5:])):
            found.append(f"tc qdisc del dev {shlex.quote(words[4])} {(kinds & {'root'} or kinds).pop()}")
    return found[::-1]


def fit(amount: int, key: str) -> int:
    """A number of bytes. Raises Undeployable where tc has no room for it."""
    if amount > MOST:
        raise Undeployable(f"{key} = {amount} bytes does not fit the 32 bits that tc has for it")
    return amount


def rate_word(rate: int) -> str:
    """A rate as tc reads it, in the largest unit in which it is whole: 10000000 is 10Mbit."""
    return rate_text(rate, whole=True).replace(" ", "").removesuffix("/s")


def sending_time(length: float, rate: int) -> str:
    """How long so many bytes take at this rate, for a sentence."""
    return duration(8 * length / rate)
