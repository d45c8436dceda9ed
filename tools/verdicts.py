"""Reproduce papers with their default settings and record the verdicts in their packages: what `sluicegate reproduce`
compares with from then on. Runs that are kept in out/NAME are not simulated again.

    python tools/verdicts.py [NAME ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sluicegate.papers import PAPERS
from sluicegate.reproduce import reproduce
from sluicegate.reproduce.run import RECORD


def main() -> None:
    """Record the papers that are named, or all."""
    for name in sys.argv[1:] or PAPERS:
        outcome = reproduce(name, Path("out", name))
        (outcome.paper.folder / RECORD).write_text(json.dumps(outcome.record, indent=1) + "\n", "utf-8")
        print(f"{name}: {len(outcome.record)} verdicts, {len(outcome.changed)} changed")
        for id_, (was, now) in outcome.changed.items():
            print(f"  {id_}: {was} → {now}")


if __name__ == "__main__":
    main()
