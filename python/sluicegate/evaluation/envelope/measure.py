"""`envelope`: every cell of the grid, for each discipline, and with each of its parameters moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from ... import _core
from ...custom import aqm as custom_aqm
from ...envelopes.promises import PROMISES, TARGET, promised_ns
from ...experiments.disciplines import Choice, Listed, choices, known
from ...experiments.engine import Experiment, Progress, Store, check_workers, run_experiments, seed_numbers, told_runs
from ...experiments.job import check
from ...io import check_writable
from ...progress import shown
from ...quantities import quantity, rate_text
from ...scenario import PYTHON, ScenarioWarning, warn
from ..suite import pace
from .grid import FLOOD, FULL, IN_PYTHON, PACKET, PACKET_BITS, QUICK, Cell, Grid, warmup_s
from .moves import STILL, Asked, Move, Parameters, asked_for, parameters
from .regions import COLUMNS
from .result import FILES, Envelopes

__all__ = ["Envelopes", "envelope"]

KEEP: dict[str, tuple[str, ...] | None] = {
    "links": ("arrivals_packets", "drops_packets", "utilisation", "queueing_delay_mean_ns"),
    "groups": ("name", "throughput_bps"),
}


@dataclass(frozen=True)
class Run:
    """A cell under a discipline, with a parameter moved, or a flood, or neither. `experiment`: None where it is not
    run, and `why` says why. `value`: of the parameter that is moved, as it was set."""

    choice: Choice
    cell: Cell
    move: Move = STILL
    flood: bool = False
    experiment: Experiment | None = None
    why: str | None = None
    warmup_s: float | None = None
    promised_ns: float | None = None
    value: str | None = None

    @property
    def key(self) -> tuple[str, str, float | None, str | None, int, int, int]:
        """What it is known by; with a flood the same."""
        move, cell = self.move, self.cell
        return self.choice.label, move.parameter, move.factor, move.value, cell.rate_bps, cell.flows, cell.rtt_ns

    @property
    def id(self) -> str:
        """The same in words, with a flood another."""
        move, cell = self.move, self.cell
        how = move.parameter and f"{move.parameter} {move.value if move.factor is None else f'times {move.factor:g}'}"
        parts = (self.choice.label, how, rate_text(cell.rate_bps, whole=True), f"{cell.flows} flows",
                 f"{cell.rtt_ns / 1e6:.10g} ms", "flood" if self.flood else "")  # fmt: skip
        return " · ".join(part for part in parts if part)

    @property
    def packets(self) -> float:
        """About how many it simulates."""
        load = 1 + FLOOD if self.flood else 1
        return 0.0 if self.experiment is None else 2 * (self.warmup_s or 0.0) * load * self.cell.rate_bps / PACKET_BITS


def envelope(
    disciplines: Listed,
    *,
    out: str | Path | None = None,
    quick: bool = False,
    seeds: int | Iterable[int] = 1,
    promise: str | None = None,
    move: Mapping[str, Iterable[object]] | Iterable[str] | None = None,
    grid: Grid | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    progress: Progress | bool | None = None,
    begin: Callable[[int, float], None] | None = None,
) -> Envelopes:
    """Measure on which links and under which loads disciplines keep their promise, with Linux's hosts.

    `disciplines`: as for `compare`; or "all", with their defaults. `quick`: one rate in a decade instead of two, and
    shorter runs. `seeds`: how many, counted from 1, or the seeds. `promise`: the longest mean queueing delay of
    disciplines of your own, such as "20 ms", or a target for their queue, such as "5 ms target", which allows twice
    that delay (default: 400 ms, ITU-T G.114, with a warning); bundled disciplines have their own. `move`: the
    parameters to vary, such as ["w_q"], each with half and twice its value; or with your values, such as {"max_th":
    [10, 20, 40]} (default: each parameter that is a number; for a discipline in Python those of its signature). `grid`:
    a grid in place of the suite's. `out`: a folder that keeps each run as soon as it ends, and finally gets
    report.html, the table of cells and summary.json. Kept runs are not repeated. `jobs`, `executor`, `cluster` and
    `progress` as for `compare`; in a script with your own class, put the call below `if __name__ == "__main__":`.
    `begin` is called after all checks, with the number of runs and an estimate of their time on one core in seconds.

    Raises `ScenarioError`, which is a ValueError, for wrong disciplines and values, for less than one seed or job, and
    for parameters that no discipline has; OSError when `out` cannot be written; and any exception of a discipline in
    Python, except with varied values of its parameters: these cells are then not measured.

    >>> from sluicegate.evaluation.envelope.grid import Grid
    >>> grid = Grid(rates=(1_000_000,), flows=(1, 10), trips=(30_000_000,), flooded=(), moved=(10, 30_000_000),
    ...             most=1e6, most_moved=1e6, moves=())
    >>> done = sg.envelope("codel", grid=grid)
    >>> done.cells.select("rate_bps", "flows", "rtt_ns").rows()
    [(1000000, 1, 30000000), (1000000, 10, 30000000)]
    """
    chosen = _labelled(choices(",".join(known()) if disciplines == "all" else disciplines))
    numbers = seed_numbers(seeds)
    check_workers(jobs, executor, cluster)
    time = promise and promise.removesuffix("target").rstrip()
    value = None if time is None else quantity("promise", time, "network.delay")
    within = 1.0 if time == promise else TARGET
    longest = None if value is None else within * value
    grid = grid or (QUICK if quick else FULL)
    if out is not None:
        check_writable(out, FILES)
    silent = [each.label for each in chosen if each.name not in PROMISES]
    if silent and promise is None:
        what = (
            "promises no delay, so a mean queueing delay of up to 400 ms is accepted; --promise (promise=) states one, "
            "such as"
        )
        warn([f'{label} {what} "20 ms" or "5 ms target"' for label in silent], ScenarioWarning)
    have = {choice.label: parameters(choice) for choice in chosen}
    asked = asked_for(move, have)
    runs = [run for choice in chosen for run in _runs(choice, have[choice.label], grid, longest, asked)]
    experiments = [run.experiment for run in runs if run.experiment is not None]
    if begin is not None:
        begin(len(experiments) * len(numbers), sum(run.packets * pace(run.choice.name) for run in runs) * len(numbers))
    with Store(None if out is None else Path(out)) as store:
        with shown(progress, told_runs) as told:
            tables = run_experiments(experiments, numbers, jobs, executor, told, store=store, cluster=cluster)
        cells = _cells(runs, tables)
        left = {} if asked is not None else {label: _left(cells, label, each) for label, each in have.items()}
        done = Envelopes(cells, _summary(chosen, grid, numbers, (value, within > 1), left))
        if out is not None:
            done.write(out)
    return done


def _labelled(chosen: list[Choice]) -> list[Choice]:
    """Disciplines in files by file and class alone, without the folders that lead there, where that is enough."""
    short = [
        each.label.replace(each.name, Path(each.name).name, 1) if ".py:" in each.name else each.label for each in chosen
    ]
    return [
        replace(each, label=label) if short.count(label) == 1 else each
        for each, label in zip(chosen, short, strict=True)
    ]


def _runs(
    choice: Choice, have: Parameters, grid: Grid, longest: float | None, asked: Asked | None
) -> Iterator[Run]:  # fmt: skip
    """Everything that is run of a discipline, and what is not."""
    part = IN_PYTHON if ":" in choice.name else 1.0
    for cell in grid.cells():
        yield _run(Run(choice, cell), have, grid.most * part, longest)
        if cell.rtt_ns in grid.flooded:
            yield _run(Run(choice, cell, flood=True), have, grid.most * part, longest)
    for move in have.moves(grid, asked):
        for cell in grid.row():
            yield _run(Run(choice, cell, move), have, grid.most_moved * part, longest)


def _run(run: Run, have: Parameters, most: float, longest: float | None) -> Run:
    """The run with its experiment, checked. Raises `ScenarioError` for a value that was asked for and is refused."""
    seconds = warmup_s(run.cell, most, run.flood)
    if isinstance(seconds, str):
        return replace(run, why=seconds)
    text = run.cell.text(seconds, run.flood)
    made = Experiment(run.id, text, PYTHON, run.choice.sets, KEEP, run.choice.queue)
    checked = check(made)
    queue = checked.resolved["queue"]
    own = run.choice.queue is not None or ":" in run.choice.name
    if not run.move.still:
        value = have.text(queue, run.move)
        if value is None:
            return replace(run, why="no number")
        table = "python" if have.own is not None else run.choice.name
        key = f"queue.{table}.{run.move.parameter}"
        made = replace(made, sets=(*made.sets, (key, value)), may_raise=True)
        run = replace(run, value=value)
        try:
            checked = check(made)
        except _core.ScenarioError as error:
            if run.move.factor is None:
                said = str(error).removeprefix(f"sets: {key}")
                raise _core.ScenarioError(f"move: {run.move.parameter} of {run.choice.label}{said}") from None
            return replace(run, why="rule")
        except Exception as error:
            if custom_aqm.traceback_of(error) is None:
                raise
            return replace(run, why="raises")
    bound = (
        longest if own and longest is not None else promised_ns(checked.resolved["queue"], run.cell.rate_bps, PACKET)
    )
    return replace(run, experiment=replace(made, checked=checked), warmup_s=seconds, promised_ns=float(bound))


def _cells(runs: list[Run], tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """A row for each cell of each discipline; means over seeds."""
    links = tables["links"].group_by("experiment").mean()
    by_link = {row["experiment"]: row for row in links.iter_rows(named=True)}
    floods = tables["groups"].filter(name="flood").group_by("experiment").agg(pl.col("throughput_bps").mean())
    by_flood = dict(floods.iter_rows())
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for run in runs:
        row = rows.setdefault(run.key, dict.fromkeys(COLUMNS))
        row |= dict(zip(list(COLUMNS)[:7], run.key, strict=True)) | {"value": run.value or run.move.value}
        name = None if run.experiment is None else run.experiment.id
        if run.flood:
            row["flood_share"] = None if name is None else by_flood[name] / run.cell.rate_bps
            continue
        row["not_measured"] = "raises" if name is not None and name not in by_link else run.why
        if name in by_link:
            found = by_link[name]
            row |= {"utilisation": found["utilisation"], "queueing_delay_ns": found["queueing_delay_mean_ns"] or 0.0,
                    "loss_ratio": found["drops_packets"] / max(found["arrivals_packets"], 1),
                    "promised_delay_ns": run.promised_ns, "warmup_s": run.warmup_s}  # fmt: skip
    return pl.DataFrame(list(rows.values()), schema=COLUMNS)


def _left(cells: pl.DataFrame, label: str, have: Parameters) -> list[str]:
    """The parameters of a discipline that are not moved: those that are no numbers, or none, or zero, and those of
    which neither half nor twice is allowed."""
    came = cells.filter(discipline=label).group_by("parameter").agg(pl.col("not_measured").unique())
    refused = {
        name for name, why in came.iter_rows()
        if {"no number", "rule"} & {*why} and not {None, "raises"} & {*why}
    }  # fmt: skip
    return [name for name in (*have.others, *have.numbers) if name in have.others or name in refused]


def _summary(
    chosen: list[Choice], grid: Grid, seeds: list[int], promise: tuple[int | None, bool], left: Mapping[str, list[str]]
) -> dict[str, Any]:
    return {
        "version": _core.version(),
        "suite": "envelope",
        "disciplines": [
            {
                "label": each.label,
                "name": each.name,
                "sets": [list(pair) for pair in each.located],
                "not_moved": left.get(each.label, []),
            }
            for each in chosen
        ],
        "rates_bps": grid.rates,
        "flows": grid.flows,
        "round_trips_ns": grid.trips,
        "moved": grid.moved,
        "moves": grid.moves,
        "most_packets": grid.most,
        "seeds": seeds,
        "promise_ns": promise[0],
        "promise_is_target": promise[1],
    }
