"""To be written."""

from __future__ import annotations

from ..report import Choice
from ..runner import Experiment, Tables
from . import Settings
from .red1993 import Section

CHOICES: tuple[Choice, ...] = ()
COMMANDS: tuple[str, ...] = ()


def experiments(settings: Settings) -> list[Experiment]:
    """None yet."""
    return []


def section(settings: Settings, results: Tables) -> Section:
    """Nothing yet."""
    return Section((), ())
