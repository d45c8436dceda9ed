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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from ...experiments.engine import Experiment, Sets, Tables
from ...reproduce.measure import Needs

Run = Callable[[Sequence[Experiment], Sequence[int]], Tables]
"""`run_experiments`, workers and progress given."""

NEEDS: Needs = {"links": frozenset({"link", "rate_bps", "utilisation", "drops_packets"})}
"""What calibration reads of a run; an experiment to calibrate keeps at least this."""

MOST_ROUNDS = 8
"""Measurements of one load before the nearest is taken."""


@dataclass(frozen=True)
class Load:
    """A load to be made: bit/s in the direction of the path, and in the reverse.

    `name`: as the axis of loads has it. `experiment`: an uncongested run with two groups, the second in reverse. `key`:
    of a group's amount, `count` of users or `arrivals` of connections each second. `each_bps`: what one of the amount
    sends on average in its own direction, responses and headers. `tolerance`: the part of a load by which it may be
    missed.
    """

    name: int | str
    experiment: Experiment
    targets_bps: tuple[float, float]
    key: str
    each_bps: float
    tolerance: float

    def sets(self, amounts: Sequence[float]) -> Sets:
        """The overrides that give a scenario these amounts."""
        digits = 0 if self.key == "count" else 4
        return tuple((f"flows.{at}.{self.key}", f"{amount:.{digits}f}") for at, amount in enumerate(amounts))


@dataclass(frozen=True)
class Amount:
    """What makes a load in the runs of one seed: two amounts, and what was measured with them in bit/s."""

    load: Load
    seed: int
    amounts: tuple[float, float]
    measured_bps: tuple[float, float]
    rounds: int

    def sets(self) -> Sets:
        """The overrides that give a scenario these amounts."""
        return self.load.sets(self.amounts)

    @property
    def miss(self) -> float:
        """By what part of the load the worse direction misses it; negative where it is too little."""
        pairs = zip(self.measured_bps, self.load.targets_bps, strict=True)
        return max((made / target - 1 for made, target in pairs), key=abs)


@dataclass(frozen=True)
class Calibration:
    """The amounts for each load and seed, for runs of `duration_s` seconds."""

    amounts: tuple[Amount, ...]
    duration_s: float = 0.0

    def of(self, load: int | str) -> list[Amount]:
        """Those of one load, by seed."""
        return [each for each in self.amounts if each.load.name == load]

    def frame(self) -> pl.DataFrame:
        """One row for each load and seed: amounts, and what they make on the uncongested link."""
        rows = [
            {"load": f"{each.load.name}", "seed": each.seed, "of": each.load.key, "forward": each.amounts[0],
             "reverse": each.amounts[1], "forward_bps": each.measured_bps[0], "reverse_bps": each.measured_bps[1],
             "rounds": each.rounds}
            for each in self.amounts
        ]  # fmt: skip
        return pl.DataFrame(rows)


def calibrate(loads: Sequence[Load], seeds: Sequence[int], run: Run) -> Calibration:
    """Measure until every load is met for every seed, the runs of a round at once.

    Raises ValueError when packets are dropped: the link is then no uncongested one.
    """
    known: dict[tuple[int | str, int], list[Amount]] = {}
    wanted = {
        (load.name, seed): tuple(target / load.each_bps for target in load.targets_bps)
        for load in loads
        for seed in seeds
    }
    for rounds in range(1, MOST_ROUNDS + 1):
        tries = {load.name: [seed for seed in seeds if (load.name, seed) in wanted] for load in loads}
        experiments = [
            replace(load.experiment, by_seed={seed: load.sets(wanted[load.name, seed]) for seed in tries[load.name]})
            for load in loads
            if tries[load.name]
        ]
        if not experiments:
            break
        done = run(experiments, [seed for seed in seeds if any(seed in left for left in tries.values())])
        for load in loads:
            for seed in tries[load.name]:
                name = (load.name, seed)
                known.setdefault(name, []).append(_measured(load, seed, wanted[name], done["links"], rounds))
                if abs(_nearest(known[name]).miss) <= load.tolerance:
                    del wanted[name]
                else:
                    wanted[name] = _towards(load, known[name], 0), _towards(load, known[name], 1)
    return Calibration(tuple(_nearest(known[load.name, seed]) for load in loads for seed in seeds))


def _nearest(known: Sequence[Amount]) -> Amount:
    return min(known, key=lambda each: abs(each.miss))


def _measured(load: Load, seed: int, amounts: Sequence[float], links: pl.DataFrame, rounds: int) -> Amount:
    links = links.filter((pl.col("experiment") == load.experiment.id) & (pl.col("seed") == seed))
    dropped = links["drops_packets"].sum()
    if dropped:
        raise ValueError(f"load {load.name}: {dropped} packets were dropped; a link to calibrate on must drop none")
    forward, reverse = (links["utilisation"] * links["rate_bps"]).to_list()
    first, second = (float(text) for _, text in load.sets(amounts))
    return Amount(load, seed, (first, second), (forward, reverse), rounds)


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
