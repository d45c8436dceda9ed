"""Reproductions of papers: their experiments, figures and checks, and the reports made of them.

Each paper is a module of this package that offers

- `DEFAULT` and `FULL`: `Settings`, short and long;
- `experiments(settings)`: what to run, a list of `engine.Experiment`;
- `report(settings, results)`: the `sluicegate.report.Report` made of what the runs gave.

A paper whose experiments depend on runs of their own (how many users make a load, say) offers `prepare(settings, run)`
too: `run` is `engine.run_experiments` with this call's workers and progress, and what `prepare` returns is the third
argument of both functions above.

It is named in `PAPERS`; nothing else is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..experiments.engine import Experiment, Progress, Tables

PAPERS: dict[str, str] = {
    "red1993": "S. Floyd and V. Jacobson, Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM "
    "Transactions on Networking 1(4) (1993)",
    "choke1999": "R. Pan and B. Prabhakar, CHOKe, Stanford technical report CSL-TR-99-779 (1999)",
    "choke2004": "A. Tang, J. Wang and S. H. Low, Understanding CHOKe: Throughput and Spatial Characteristics, "
    "IEEE/ACM Transactions on Networking 12(4), 2004",
    "dcn2004": "L. Le, J. Aikat, K. Jeffay and F. D. Smith, Differential Congestion Notification: Taming the "
    "Elephants, Proc. IEEE ICNP (2004)",
    "disciplines": "All disciplines on three scenarios; and what L. Le, J. Aikat, K. Jeffay and F. D. Smith, "
    "Differential Congestion Notification: Taming the Elephants, ICNP (2004), leaves open",
}
"""What can be reproduced: the name of each, and what it is. `disciplines` compares, across papers."""


class UnknownPaper(KeyError):
    """A paper that is not in `PAPERS`. Its text names those that are."""

    def __init__(self, name: str) -> None:
        """`name`: what was asked for."""
        near = get_close_matches(name, PAPERS, 1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        self.message = f'no such paper: "{name}"{hint} (known: {", ".join(PAPERS)})'
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Settings:
    """How long and how often to run.

    `seeds`: of the runs, at least one. `duration_s`: simulated seconds of each run, of which the first `warmup_s` are
    not measured. `sample_s`: the interval of sampled series, in seconds.
    """

    seeds: tuple[int, ...]
    duration_s: int
    warmup_s: int
    sample_s: int


def reproduce(
    name: str,
    out: Path,
    full: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    *,
    executor: Executor | None = None,
    cluster: str | None = None,
    settings: Settings | None = None,
) -> bool:
    """Reproduce a paper and write its report into the folder `out`, whole or not at all.

    `full`: longer runs and more seeds. `seeds`: how many seeds, counted from 1 (default: the paper's module says).
    `jobs`: how many threads (default: one for each core). `executor`: runs the work instead; it is left open.
    `cluster`: so does the Dask cluster with its scheduler at this address. `settings`: take these, whatever `full` and
    `seeds` say. What is written depends on none of `jobs`, `executor`, `cluster` and the order in which runs end.

    `out` keeps each run as it ends, in runs.sqlite; what is there already is not run again.

    Returns True when no `exact` or `claim` check failed. Raises `UnknownPaper`, ValueError for fewer than one seed or
    job and for more than one of `jobs`, `executor` and `cluster`, OSError when `out` cannot be written, and
    `cluster.ClusterError`. KeyboardInterrupt, and whatever `progress` raises, end the work; the report is then not
    written, and what was run is kept.
    """
    from ..experiments.engine import Store, check_workers, run_experiments
    from ..io import check_writable
    from ..report import FILES, write

    if name not in PAPERS:
        raise UnknownPaper(name)
    if seeds is not None and seeds < 1:
        raise ValueError(f"seeds = {seeds}: must be at least 1")
    check_workers(jobs, executor, cluster)
    check_writable(out, FILES)
    paper = import_module(f".{name}", __name__)
    if settings is None:
        settings = paper.FULL if full else paper.DEFAULT
        if seeds is not None:
            settings = replace(settings, seeds=tuple(range(1, seeds + 1)))

    with Store(out) as store:

        def run(experiments: Sequence[Experiment], seeds: Sequence[int], told: Progress | None) -> Tables:
            return run_experiments(experiments, seeds, jobs, executor, told, store=store, cluster=cluster)

        def run_first(experiments: Sequence[Experiment], seeds: Sequence[int]) -> Tables:
            # What comes after it is not known yet, nor how long that takes.
            return run(experiments, seeds, None if progress is None else _told(progress, "first, what the runs need"))

        # What a paper has to find out before its experiments can be written down.
        prepared = [paper.prepare(settings, run_first)] if hasattr(paper, "prepare") else []
        results = run(paper.experiments(settings, *prepared), settings.seeds, progress)
        report = paper.report(settings, results, *prepared)
        write(report, out)
    return bool(report.passed)


def _told(progress: Progress, what: str) -> Progress:
    """The same progress with a word before each experiment."""
    return lambda done, total, experiment: progress(done, total, f"{what}: {experiment}")
