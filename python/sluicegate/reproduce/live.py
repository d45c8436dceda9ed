"""Figures whose runs are between real hosts: made on request, and shown again while their runs are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import _core
from ..experiments.engine import MissingRuns
from ..live import access
from .figure import Figure, Paper
from .kept import Measured, measured
from .study import Settings

if TYPE_CHECKING:
    from ..experiments.engine import Tables

Simulate = Callable[..., "Tables"]
"""As `kept.measured` takes it; with `kept_only=True` it raises `MissingRuns` rather than run anything."""


def require(chosen: Paper, redraw: bool) -> None:
    """Raise `ScenarioError` where a paper has no figures with real hosts, or this process cannot run any. `redraw`:
    none are to be run."""
    if chosen.live is None:
        raise _core.ScenarioError(f"{chosen.name}: has no figures with real stacks; those of dcn2004 have")
    if not redraw:
        access.require((), "testbed")


def settings_of(chosen: Paper, full: bool, seeds: int | None) -> Settings:
    """How its figures with real hosts are run. Raises ValueError where it has none."""
    if chosen.live is None:
        raise ValueError(f"{chosen.name} has no figures with real hosts")
    settings = chosen.live.full if full else chosen.live.short
    return settings if seeds is None else replace(settings, seeds=tuple(range(1, seeds + 1)))


def run(chosen: Paper, figures: Sequence[Figure], settings: Settings, simulate: Simulate) -> Measured:
    """What these figures need, run with these settings."""
    prepare = None if chosen.live is None else chosen.live.prepare
    return measured(replace(chosen, prepare=prepare), figures, settings, simulate, chosen.figures(live=True))


def kept(chosen: Paper, figures: Sequence[Figure], seeds: int | None, simulate: Simulate) -> Measured | None:
    """The same of runs that are kept: the longest there are, with `seeds` or else as many seeds as there are; None
    where there are none. Nothing is run."""

    def kept_only(*arguments: object, **named: object) -> Tables:
        return simulate(*arguments, **named, kept_only=True)

    if chosen.live is None or not figures:
        return None
    for full in (True, False):
        found = None
        for count in [seeds] if seeds is not None else range(1, 1000):
            try:
                found = run(chosen, figures, settings_of(chosen, full, count), kept_only)
            except MissingRuns:
                break
        if found is not None:
            return found
    return None
