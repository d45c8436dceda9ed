"""How many users make a load: calibration on a link without congestion, as DCN 2004, Sec. 4.2, does it.

The paper calls a load of 98 % the population of users that would send 98 Mbit/s over a link of 1 Gbit/s. Response sizes
have heavy tails, so that the same users make quite different loads in runs of a few minutes. Here each seed therefore
has its own number of users, found so that this realisation makes the load in the measured time, in either direction.
A user does the same whatever becomes of the packets, and the first users stay the same when some are added: all
schemes then meet these users with these draws.

What a group makes in its own direction (responses) and in the other (requests and acknowledgements) is measured. A step
adds or takes away as many users as the mean user would need for what is missing, or goes between two numbers of which
one made too little and one too much; then the link is measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from ..experiments.engine import Experiment, Keep, Sets, Tables

Run = Callable[[Sequence[Experiment], Sequence[int]], Tables]
"""`engine.run_experiments`, workers and progress given."""

NEEDS: Keep = {
    "links": ("link", "rate_bps", "utilisation", "lost_packets"),
    "flows": ("flow", "throughput_bps"),
}
"""What calibration reads of a run; an experiment to calibrate keeps at least this."""

MOST_ROUNDS = 8
"""Measurements of one load before the nearest is taken."""


@dataclass(frozen=True)
class Load:
    """A load to be made: bit/s in the direction of the path, and in the reverse.

    `experiment`: an uncongested run with two groups, the second in reverse. `key`: of a group's amount, `count` of
    users or `arrivals` of connections each second. `each_bps`: what one of the amount sends on average in its own
    direction, responses and headers. `tolerance`: the part of a load by which it may be missed.
    """

    experiment: Experiment
    targets_bps: tuple[float, float]
    key: str
    each_bps: float
    tolerance: float


@dataclass(frozen=True)
class Amount:
    """What makes a load in the runs of one seed: two amounts, and what was measured with them in bit/s."""

    load: str
    seed: int
    key: str
    amounts: tuple[float, float]
    measured_bps: tuple[float, float]
    rounds: int

    def sets(self) -> Sets:
        """The overrides that give a scenario these amounts."""
        return tuple((f"flows.{at}.{self.key}", _text(self.key, amount)) for at, amount in enumerate(self.amounts))


@dataclass(frozen=True)
class Calibration:
    """The amounts of each load and seed, and the tables of the uncongested runs that have them."""

    amounts: Mapping[tuple[str, int], Amount]
    tables: Tables

    def by_seed(self, load: str) -> dict[int, Sets]:
        """The overrides of each seed for the load of this name."""
        return {seed: amount.sets() for (name, seed), amount in self.amounts.items() if name == load}

    def on_average(self, load: str) -> Sets:
        """The overrides that make the load in the long run: the means over seeds, whose realisations differ."""
        each = [amount for (name, _), amount in self.amounts.items() if name == load]
        means = [sum(amount.amounts[at] for amount in each) / len(each) for at in (0, 1)]
        return replace(each[0], amounts=(means[0], means[1])).sets()

    def frame(self) -> pl.DataFrame:
        """One row for each load and seed: amounts, and what they make on the uncongested link."""
        rows = [
            {
                "load": each.load, "seed": each.seed, "of": each.key,
                "forward": each.amounts[0], "reverse": each.amounts[1],
                "forward_bps": each.measured_bps[0], "reverse_bps": each.measured_bps[1], "rounds": each.rounds,
            }
            for each in self.amounts.values()
        ]  # fmt: skip
        return pl.DataFrame(rows)


def calibrate(loads: Sequence[Load], seeds: Sequence[int], run: Run) -> Calibration:
    """Measure until every load is met for every seed, the runs of a round at once.

    The load of each experiment is known by the experiment's id. Raises ValueError when packets are lost: the link is
    then no uncongested one.
    """
    best: dict[tuple[str, int], Amount] = {}
    known: dict[tuple[str, int], list[Amount]] = {}
    tables: dict[tuple[str, int], Tables] = {}
    wanted = {
        (load.experiment.id, seed): tuple(target / load.each_bps for target in load.targets_bps)
        for load in loads
        for seed in seeds
    }
    for rounds in range(1, MOST_ROUNDS + 1):
        tries = [(load, {seed for name, seed in wanted if name == load.experiment.id}) for load in loads]
        experiments = [_experiment(load, wanted, sorted(left)) for load, left in tries if left]
        if not experiments:
            break
        done = run(experiments, [seed for seed in seeds if any(seed in left for _, left in tries)])
        for load, left in tries:
            for seed in sorted(left):
                name = (load.experiment.id, seed)
                of_run = _of(done, *name)
                amount = _measured(load, seed, wanted[name], of_run, rounds)
                known.setdefault(name, []).append(amount)
                if name not in best or _miss(load, amount) < _miss(load, best[name]):
                    best[name], tables[name] = amount, of_run
                if _miss(load, best[name]) <= load.tolerance:
                    del wanted[name]
                else:
                    wanted[name] = _next(load, known[name])
    order = [(load.experiment.id, seed) for load in loads for seed in seeds]
    names = tables[order[0]].keys()
    return Calibration(
        {name: best[name] for name in order}, {of: pl.concat([tables[name][of] for name in order]) for of in names}
    )


def _text(key: str, amount: float) -> str:
    return f"{round(amount)}" if key == "count" else f"{amount:.4f}"


def _experiment(load: Load, wanted: Mapping[tuple[str, int], tuple[float, ...]], seeds: Sequence[int]) -> Experiment:
    of_seed = {
        seed: tuple(
            (f"flows.{at}.{load.key}", _text(load.key, amount))
            for at, amount in enumerate(wanted[load.experiment.id, seed])
        )
        for seed in seeds
    }
    return replace(load.experiment, by_seed=of_seed)


def _of(tables: Tables, experiment: str, seed: int) -> Tables:
    """The rows of one run."""
    of_run = (pl.col("experiment") == experiment) & (pl.col("seed") == seed)
    return {name: table.filter(of_run) for name, table in tables.items()}


def _measured(load: Load, seed: int, amounts: Sequence[float], tables: Tables, rounds: int) -> Amount:
    links = tables["links"]
    lost = links["lost_packets"].sum()
    if lost:
        raise ValueError(f"{load.experiment.id}: {lost} packets were lost; a link to calibrate on must lose none")
    forward, reverse = (links["utilisation"] * links["rate_bps"]).to_list()
    known = tuple(float(_text(load.key, amount)) for amount in amounts)
    return Amount(load.experiment.id, seed, load.key, (known[0], known[1]), (forward, reverse), rounds)


def _miss(load: Load, amount: Amount) -> float:
    """By what part of the load the worse direction misses it."""
    return max(
        abs(measured / target - 1) for measured, target in zip(amount.measured_bps, load.targets_bps, strict=True)
    )


def _next(load: Load, known: Sequence[Amount]) -> tuple[float, float]:
    """The amounts to try next, in each direction."""
    return _towards(load, known, 0), _towards(load, known, 1)


def _towards(load: Load, known: Sequence[Amount], way: int) -> float:
    """Between an amount that makes too little and one that makes too much, where there are such; otherwise what the
    mean user says, from the nearest on."""
    target = load.targets_bps[way]
    points = sorted((each.amounts[way], each.measured_bps[way]) for each in known)
    low = max((point for point in points if point[1] < target), default=None)
    high = min((point for point in points if point[1] >= target), default=None)
    if low is None or high is None or low[0] >= high[0]:
        amount, made = min(points, key=lambda point: abs(point[1] - target))
        return max(1.0, amount + (target - made) / load.each_bps)
    share = (target - low[1]) / (high[1] - low[1])
    return low[0] + (high[0] - low[0]) * min(max(share, 0.1), 0.9)
