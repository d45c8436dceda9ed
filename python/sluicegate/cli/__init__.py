"""The command line: one file for each command. What takes long to import is imported inside the commands."""

from __future__ import annotations

# In the order of --help.
from . import check, compare, connections, design, disciplines, replay, reproduce, run, sweep, theory  # noqa: F401
from .common import app as app
from .common import main as main
