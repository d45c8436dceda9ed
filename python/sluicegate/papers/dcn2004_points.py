"""From the tables of DCN 2004's runs to numbers: Table 1's columns, and distributions of response times.

Response times come in classes that end at most 1/64 above what they hold, response sizes in ten classes for each power
of ten (`response_times` of docs/results.md). A share of exchanges is thus exact at a class's end, and a time is good to
1.6 %, the same in every scheme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..experiments.engine import Tables
from ..stats import Interval, interval
from .dcn2004_cases import LOADS

CAP_S = 2.0
"""The paper's distributions are drawn up to here."""

LARGE_BYTES = 100_000
"""Responses above this are large (Figs. 15 to 18)."""

PERCENTILES = tuple(share / 100 for share in range(1, 100))
"""The shares of exchanges at which two distributions are compared."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """Response times of one run, ascending: the ends of classes in seconds, and how many exchanges each holds."""

    times_s: Floats
    exchanges: NDArray[np.int64]

    @property
    def count(self) -> int:
        """All exchanges."""
        return int(self.exchanges.sum())

    def at_most(self, times_s: Sequence[float] | Floats) -> Floats:
        """The share of exchanges done within each of these times."""
        below = np.concatenate([[0], np.cumsum(self.exchanges)])
        at = np.searchsorted(self.times_s, np.asarray(times_s) * (1 + 1e-9), side="right")
        return np.asarray(below[at] / max(self.count, 1), dtype=float)

    def between(self, low_s: float, high_s: float) -> float:
        """The share of exchanges that took longer than `low_s` and at most `high_s`."""
        low, high = self.at_most([low_s, high_s])
        return float(high - low)

    def quantiles(self, shares: Sequence[float]) -> Floats:
        """The time within which each of these shares of exchanges was done."""
        done = np.cumsum(self.exchanges)
        at = np.searchsorted(done, np.asarray(shares) * self.count - 1e-9)
        return np.asarray(self.times_s[np.minimum(at, len(self.times_s) - 1)], dtype=float)

    def mean_capped(self, cap_s: float = CAP_S) -> float:
        """The mean of response times where longer ones count as `cap_s`: what is above the curve up to there."""
        return float((np.minimum(self.times_s, cap_s) * self.exchanges).sum() / self.count)


class Results:
    """What the runs gave, by experiment and seed."""

    def __init__(self, tables: Tables, seeds: Sequence[int], measured_s: float, longer_s: float | None = None) -> None:
        """`tables`: of all runs. `measured_s`: the seconds of each run that count; `longer_s`: of the long runs, if
        there are any."""
        self.seeds = tuple(seeds)
        self.measured_s = measured_s
        self.longer_s = longer_s
        self.classes = _by_run(tables["response_times"])
        self.links = _by_run(tables["links"])
        self.flows = _by_run(tables["flows"])
        self.state = _by_run(tables["state"]) if "state" in tables else {}
        self._known: dict[tuple[str, int, int, int], Distribution] = {}

    def distribution(self, case: str, seed: int, least: int = 0, most: int = 1 << 40) -> Distribution:
        """Response times of responses of more than `least` and at most `most` bytes, both ends of classes."""
        key = (case, seed, least, most)
        if key not in self._known:
            size = pl.col("response_bytes_max")
            chosen = self.classes[case, seed].filter((size > least) & (size <= most))
            times = chosen.group_by("response_time_max_ns").agg(pl.col("exchanges").sum()).sort("response_time_max_ns")
            self._known[key] = Distribution(
                times["response_time_max_ns"].to_numpy() / 1e9, times["exchanges"].cast(pl.Int64).to_numpy()
            )
        return self._known[key]

    def seeds_of(self, case: str) -> tuple[int, ...]:
        """The seeds that an experiment was run with: all, or the first for a long one."""
        return tuple(seed for seed in self.seeds if (case, seed) in self.links)

    def each(self, case: str, number: str) -> list[float]:
        """A number of each run of an experiment, by seed: `loss`, `utilisation`, `forward_…` or `reverse_…` of these
        two, `completed` (exchanges in a second), `capped` (seconds), `queue`."""
        return [self._number(case, seed, number) for seed in self.seeds_of(case)]

    def interval(self, case: str, number: str) -> Interval:
        """Its mean over seeds, with the interval."""
        return interval(self.each(case, number))

    def _number(self, case: str, seed: int, number: str) -> float:
        links = self.links[case, seed]
        if number.startswith(("forward_", "reverse_")):
            way, number = number.split("_", 1)
            links = links.filter((pl.col("link") == "reverse") == (way == "reverse"))
        match number:
            case "loss":
                return float(links["lost_packets"].sum()) / float(links["arrivals_packets"].sum())
            case "tail":
                return float(links["lost_tail"].sum()) / float(links["arrivals_packets"].sum())
            case "utilisation":
                return float((links["utilisation"] * links["rate_bps"]).mean()) / 1e8  # type: ignore[arg-type]
            case "queue":
                return float(links["queue_packets_mean"].mean())  # type: ignore[arg-type]
            case "completed":
                of_run_s = self.longer_s if case.endswith("-long") and self.longer_s else self.measured_s
                return float(self.classes[case, seed]["exchanges"].sum()) / of_run_s
            case "capped":
                return self.distribution(case, seed).mean_capped()
            case "small_capped":
                return self.distribution(case, seed, most=LARGE_BYTES).mean_capped()
            case "large_bytes":
                large = self.classes[case, seed].filter(pl.col("response_bytes_max") > LARGE_BYTES)
                return float(large["response_bytes"].sum())
        raise KeyError(number)

    def shares(self, case: str, times_s: Sequence[float], least: int = 0, most: int = 1 << 40) -> list[Interval]:
        """At each of these times the share of exchanges done, over seeds."""
        rows = np.array([self.distribution(case, seed, least, most).at_most(times_s) for seed in self.seeds])
        return [interval(column.tolist()) for column in rows.T]

    def drawn(self, column: str, sizes: Sequence[int]) -> list[Interval]:
        """The share of `exchanges` or of `response_bytes` in responses of at most each of these sizes (ends of
        classes), in the uncongested runs of all loads, over seeds."""
        rows = []
        for seed in self.seeds:
            tables = [self.classes[f"uncongested-{load}", seed] for load in LOADS]
            table = (
                pl.concat(tables).group_by("response_bytes_max").agg(pl.col(column).sum()).sort("response_bytes_max")
            )
            rows.append(_at_most(table, column, sizes))
        return [interval(share.tolist()) for share in np.array(rows).T]

    def bytes_by_size(self, case: str, sizes: Sequence[int]) -> list[Interval]:
        """The share of all response bytes in responses of at most each of these sizes (ends of classes), over seeds."""
        rows = []
        for seed in self.seeds:
            table = self.classes[case, seed].group_by("response_bytes_max").agg(pl.col("response_bytes").sum())
            rows.append(_at_most(table.sort("response_bytes_max"), "response_bytes", sizes))
        return [interval(share.tolist()) for share in np.array(rows).T]

    def state_means(
        self, case: str, name: str, from_s: float, to_s: float = np.inf, link: str | None = None
    ) -> list[float]:
        """For each seed the mean of a value that a discipline shows, over this time and both directions or one."""
        chosen = (pl.col("name") == name) & (pl.col("time_s") > from_s) & (pl.col("time_s") <= to_s)
        if link is not None:
            chosen &= pl.col("link") == link
        return [float(self.state[case, seed].filter(chosen)["value"].mean()) for seed in self.seeds]  # type: ignore[arg-type]

    def udp(self, case: str, column: str) -> Interval:
        """A column of the flow that does not react, over seeds."""
        values = [self.flows[case, seed].filter(pl.col("kind") == "udp")[column].item() for seed in self.seeds]
        return interval([float(value) for value in values])


def _at_most(table: pl.DataFrame, column: str, sizes: Sequence[int]) -> Floats:
    """The share of a column in responses of at most each of these sizes. `table`: one row for each class, ascending."""
    done = np.cumsum(table[column].to_numpy().astype(float))
    at = np.searchsorted(table["response_bytes_max"].to_numpy(), sizes, side="right")
    return np.asarray(np.concatenate([[0.0], done])[at] / done[-1], dtype=float)


def differences(first: Sequence[float], second: Sequence[float]) -> Interval:
    """The mean difference of two lists whose runs are paired: the same users with the same draws."""
    return interval([a - b for a, b in zip(first, second, strict=True)])


def milliseconds(spread: Interval) -> Interval:
    """An interval in seconds, in milliseconds."""
    return Interval(spread.mean * 1e3, spread.half_width * 1e3, spread.run_half_width * 1e3, spread.count)


def _by_run(table: pl.DataFrame) -> Mapping[tuple[str, int], pl.DataFrame]:
    parts = table.partition_by("experiment", "seed", as_dict=True, include_key=False)
    return {(str(experiment), int(seed)): part for (experiment, seed), part in parts.items()}
