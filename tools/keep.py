"""Keep the runs of a full reproduction with its paper: what the default report shows at full length from then on.

sluicegate reproduce NAME --full -o FOLDER    # resumes; with --seeds N, more seeds
python tools/keep.py NAME FOLDER [N]

What short runs come to is kept beside, to see later whether the code still behaves so; they are made in out/NAME, where
`make verdicts` looks for them.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from sluicegate.experiments.engine import MissingRuns, Store, run_experiments
from sluicegate.reproduce import paper
from sluicegate.reproduce.kept import keep, read


def main() -> None:
    """Keep the runs of seeds 1 to N (default: the seeds of --full, and those that are kept)."""
    name, folder, *seeds = sys.argv[1:]
    chosen = paper(name)
    old = read(chosen)
    known = {*chosen.full.seeds, *(old.settings.seeds if old is not None else ())}
    settings = replace(chosen.full, seeds=tuple(range(1, int(seeds[0]) + 1) if seeds else sorted(known)))

    def simulate(wanted, seeds, what=""):
        with Store(Path("out", name)) as store:
            return run_experiments(wanted, seeds, store=store)

    try:
        missing = keep(chosen, Path(folder), settings, simulate)
    except (MissingRuns, ValueError) as error:
        sys.exit(f"error: {folder}: {error}")
    for path in sorted(chosen.kept_folder.iterdir()):
        print(f"{path.stat().st_size / 1e3:8.1f} kB  {path}")
    if missing:
        print(f"not all runs are there, so left out: {', '.join(missing)}")


if __name__ == "__main__":
    main()
