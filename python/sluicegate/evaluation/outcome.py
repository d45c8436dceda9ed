"""The results of a suite: tables, and which discipline is best in each number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..reproduce import Settings
from ..stats import difference, ends, interval, is_share
from .metrics import METRICS
from .suite import LINKS, Number, Scenario, Suite


@dataclass(frozen=True)
class Place:
    """What a discipline or a controller came to in a number of the overview: `values`, one for each seed. `tied`:
    whether it is the best, or the difference to the best, paired by seed, may be luck: its 95 % interval holds zero; or
    is less than the number can tell (`Metric.grain`). `worst`: whether none is worse, and it is not tied."""

    values: tuple[float, ...]
    best: bool
    tied: bool
    worst: bool


class Outcome:
    """What came of a suite; `Evaluation` is the same with its page.

    Attributes:
        suite: What was run.
        settings: How long and how often.
        labels: The disciplines or controllers, in the order of the tables.
        references: The disciplines or controllers that run as references.
        scenarios: The scenarios that were run.
        runs: One row for each run and traffic: `scenario`, `point`, `discipline` (or `controller`: what the suite is
            for), `of` (a group of flows, or a link), `seed`, and the metrics; missing values are null.
        means: Means over seeds, one row for each metric that has a value: the columns of `runs` up to `of`, `metric`,
            `mean`, `half_width`, `low`, `high` (the 95 % interval; null for one seed) and `seeds`.
        more: Further tables by name: `transfers`, one row for each flow of a run; `distributions`, quantiles of goodput
            and losses per second, and of delays, completion times and page load times; `courses`, quantities over
            time, for the first seed.
        summary: Version, suite, settings, and each discipline or controller with every value filled in.
    """

    def __init__(
        self, suite: Suite, settings: Settings, scenarios: Sequence[Scenario], runs: pl.DataFrame,
        summary: dict[str, Any], more: Mapping[str, pl.DataFrame] | None = None,
    ) -> None:  # fmt: skip
        """Made by `evaluate`."""
        self.suite, self.settings, self.scenarios, self.runs = suite, settings, tuple(scenarios), runs
        self.summary, self.more = summary, dict(more or {})
        self.names: dict[str, str] = {each["label"]: each["name"] for each in summary[f"{suite.subject}s"]}
        self.labels = list(self.names)
        self.references: list[str] = summary["references"]
        self.means = means(runs, suite.keys)
        self.page: Path | None = None

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables by name."""
        return {"runs": self.runs, "means": self.means, **self.more}

    def rows(self, scenario: Scenario, table: str = "runs") -> pl.DataFrame:
        """The rows of a scenario, with the discipline or controller in the column `label`."""
        own = self.tables[table].filter(pl.col("scenario") == scenario.id)
        return own.rename({self.suite.subject: "label"})

    def values(self, scenario: Scenario, number: Number, label: str) -> dict[int, list[float]]:
        """A number of the overview by seed, at each of its points; seeds without a value are left out."""
        if number.metric not in self.runs.columns:
            return {}
        rows = self.rows(scenario).filter((pl.col("label") == label) & (pl.col("of") == number.of))
        points = [*scenario.points] if number.point is None else [number.point]
        found: dict[int, list[float]] = {}
        for seed, value in (
            rows.filter(pl.col("point").is_in(points)).select("seed", number.metric).drop_nulls().iter_rows()
        ):
            found.setdefault(seed, []).append(value)
        return {seed: values for seed, values in found.items() if len(values) == len(points)}

    def places(self, scenario: Scenario, number: Number) -> dict[str, Place]:
        """How each discipline or controller compares in a number of the overview, by label: its values, and whether it
        is the best, tied with the best, or the worst; those without a value are left out."""
        metric = METRICS[number.metric]
        values = {label: self.values(scenario, number, label) for label in self.labels}
        scores = {
            label: {seed: _mean(map(metric.score, found)) for seed, found in by_seed.items()}
            for label, by_seed in values.items() if by_seed
        }  # fmt: skip
        if not scores:
            return {}
        overall = {label: _mean(own.values()) for label, own in scores.items()}
        best = min(overall, key=lambda label: overall[label])
        shown = {
            label: _mean(map(metric.over_points, by_seed.values())) for label, by_seed in values.items() if by_seed
        }
        grain = metric.grain(shown[best], number.of == LINKS)
        places = {}
        for label, own in scores.items():
            seeds = sorted(own.keys() & scores[best].keys())
            tied = label == best or own == scores[best] or abs(shown[label] - shown[best]) < grain
            if not tied and len(seeds) > 1:
                tied = not difference([own[s] for s in seeds], [scores[best][s] for s in seeds]).low > 0
            worst = not tied and overall[label] == max(overall.values())
            places[label] = Place(tuple(map(metric.over_points, values[label].values())), label == best, tied, worst)
        return places


def means(runs: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The mean over seeds of each metric, with its interval, by these columns. See `Outcome.means`."""
    rows = []
    for key, part in runs.partition_by(keys, maintain_order=True, as_dict=True).items():
        for metric in METRICS:
            values = part[metric].drop_nulls().to_list() if metric in part.columns else []
            if values:
                found = interval(values)
                cut = (found.half_width, *ends(found, values, is_share(metric)))
                rows.append(
                    (*key, metric, found.mean, *(None if math.isnan(each) else each for each in cut), found.count)
                )
    numbers: dict[str, Any] = dict.fromkeys(("mean", "half_width", "low", "high"), pl.Float64) | {"seeds": pl.Int64}
    return pl.DataFrame(rows, dict.fromkeys((*keys, "metric"), pl.String) | numbers, orient="row")


def _mean(values: Iterable[float]) -> float:
    there = list(values)
    return math.fsum(there) / len(there)
