"""Alternating phases of equal length in a run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..reproduce import Settings

NUMERALS = ("I", "II", "III")


@dataclass(frozen=True)
class Phases:
    """Phases from time 0 on, which is the end of the warm-up: all transfers are then to be in congestion avoidance
    (RFC 7928, Sec. 8.2). `words`: what each of them is, and `rates_bps`: the link's capacity in each."""

    words: tuple[str, ...]
    rates_bps: tuple[float, ...]
    length_s: float

    @property
    def cycle_s(self) -> float:
        """How long one cycle takes."""
        return self.length_s * len(self.words)

    @property
    def short(self) -> bool:
        """Whether a phase is shorter than the time that a full queue may take to drain."""
        return self.length_s < 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the phases, as tables have them."""
        return tuple(f"phase {numeral}: {word}" for numeral, word in zip(NUMERALS, self.words, strict=False))

    def lasting(self, settings: Settings) -> Settings:
        """The settings with runs of whole cycles: as many as fit, at least one."""
        cycles = max(1, math.floor(settings.measured_s / self.cycle_s + 1e-9))
        return replace(settings, duration_s=settings.warmup_s + cycles * self.cycle_s)

    def begins(self, settings: Settings) -> Iterator[tuple[float, int]]:
        """When phases begin in a run, and which: seconds, and a number from 0."""
        for number in range(round(settings.measured_s / self.length_s)):
            yield round(settings.warmup_s + number * self.length_s, 6), number % len(self.words)
