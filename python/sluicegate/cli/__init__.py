"""The command line: one file for each command. What takes long to import is imported inside the commands."""

from __future__ import annotations

# In the order of --help.
from . import (  # noqa: F401
    bpf,
    bridge,
    check,
    compare,
    connections,
    design,
    disciplines,
    evaluate,
    learn,
    live,
    new,
    recommend,
    replay,
    reproduce,
    run,
    shell,
    sweep,
    tc,
    testbed,
    theory,
)
from .common import app as app
from .common import main as main
