"""A reproduction small enough for a test: a few seconds of simulated time, two seeds."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sluicegate.reproduce import Settings

TINY = Settings(seeds=(1, 2), duration_s=12, warmup_s=3, sample_s=3)


def contents(folder: Path) -> dict[str, str]:
    """The digest of every file in a folder but the kept runs, by its path there."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "runs.sqlite")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
