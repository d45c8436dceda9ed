"""Statistics of a comparison: means over seeds, differences paired by seed, simulation beside real hosts.

Runs between real hosts stand under a label of their own, `real_label`; a table has them beside simulated ones.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..goals.measures import measure, shares
from ..stats import Interval, difference, ends, interval, is_share

if TYPE_CHECKING:
    import polars as pl

REAL = " (real)"
"""How the label of a discipline between real hosts ends."""


def real_label(label: str) -> str:
    """The label of a discipline's runs between real hosts; `label`: of its simulated ones."""
    return label + REAL


def with_twins(names: Mapping[str, str], twins: Mapping[str, str]) -> dict[str, str]:
    """The discipline of each label, those of runs between real hosts after their simulated ones. `twins`: of `live`."""
    return {label: name for one, name in names.items() for label in ((one, twins[one]) if one in twins else (one,))}


def means(runs: pl.DataFrame) -> pl.DataFrame:
    """The mean over seeds of each quantity under each discipline, with its interval. See `Comparison.means`."""
    rows = [
        {"discipline": label, "metric": metric} | _mean_columns(values, is_share(metric))
        for label, part in _by_discipline(runs).items()
        for metric in runs.columns[2:]
        for values in [part[metric].drop_nulls().to_list()]
    ]
    return _frame(rows, {"discipline": "", "metric": ""} | _columns("mean", None))


def differences(runs: pl.DataFrame, baseline: str, real: Collection[str] = ()) -> pl.DataFrame:
    """The mean of discipline minus `baseline`, paired by seed, with its interval. See `Comparison.differences`.

    `real`: labels of runs between real hosts, whose baseline is `baseline` between real hosts. Of disciplines that were
    not run for the same seeds those count that both have; raises ValueError where there is none.
    """
    parts = {label: part.sort("seed") for label, part in _by_discipline(runs).items()}
    rows = []
    for label, part in parts.items():
        base = real_label(baseline) if label in real else baseline
        if label == base:
            continue
        seeds = set(part["seed"]) & set(parts[base]["seed"])
        if not seeds:
            raise ValueError(f"{label} and {base} were not run for the same seeds")
        one_part, base_part = (each.filter(each["seed"].is_in(seeds)) for each in (part, parts[base]))
        for metric in runs.columns[2:]:
            both = list(zip(one_part[metric].to_list(), base_part[metric].to_list(), strict=True))
            pairs = [(one, other) for one, other in both if one is not None and other is not None]
            found = difference(*map(list, zip(*pairs, strict=True))) if pairs else None
            rows.append(_difference_row(label, base, metric, found))
    return _frame(rows, _difference_row("", "", "", None))


def live(runs: pl.DataFrame, twins: Mapping[str, str]) -> pl.DataFrame:
    """Simulation beside real hosts, and their difference paired by seed. See `Comparison.live`.

    `twins`: the label of each discipline's runs between real hosts, by that of its simulated ones.
    """
    rows = []
    for label, twin in twins.items():
        both = runs.filter(runs["discipline"].is_in([label, twin]))
        found = {(row["discipline"], row["metric"]): row for row in means(both).to_dicts()}
        for row in differences(both, label).to_dicts():
            one, other = (found[each, row["metric"]] for each in (label, twin))
            rows.append(
                {"discipline": label, "metric": row["metric"], "simulation": one["mean"],
                 "simulation_half_width": one["half_width"], "real": other["mean"],
                 "real_half_width": other["half_width"]}
                | {key: row[key] for key in ("difference", "half_width", "low", "high", "excludes_zero", "seeds")}
            )  # fmt: skip
    return _frame(rows, dict.fromkeys(LIVE))


LIVE = ("discipline", "metric", "simulation", "simulation_half_width", "real", "real_half_width", "difference",
        "half_width", "low", "high", "excludes_zero", "seeds")  # fmt: skip
"""The columns of `live`."""


def _difference_row(label: str, baseline: str, metric: str, found: Interval | None) -> dict[str, Any]:
    known = found is not None and found.count > 1
    return {
        "discipline": label,
        "baseline": baseline,
        "metric": metric,
        **_columns("difference", found),
        "excludes_zero": (found.low > 0 or found.high < 0) if found is not None and known else None,
    }


def _by_discipline(runs: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each discipline, in order of appearance."""
    parts = runs.partition_by("discipline", maintain_order=True)
    return {part["discipline"][0]: part for part in parts}


def _mean_columns(values: Sequence[float], share: bool) -> dict[str, Any]:
    """The mean of values with its interval, which ends where such values do."""
    if len(values) < 2:
        return _columns("mean", interval(values) if values else None)
    found = interval(values)
    low, high = ends(found, values, share)
    return _columns("mean", found) | {"low": low, "high": high}


def _columns(name: str, found: Interval | None) -> dict[str, Any]:
    """An interval as columns; what is unknown is None."""
    if found is None:
        return {name: None, "half_width": None, "low": None, "high": None, "seeds": 0}
    half, low, high = (None if math.isnan(value) else value for value in (found.half_width, found.low, found.high))
    return {name: found.mean, "half_width": half, "low": low, "high": high, "seeds": found.count}


def _frame(rows: Sequence[Mapping[str, Any]], like: Mapping[str, Any]) -> pl.DataFrame:
    """Rows as a table with the columns of `like`, even when there are none."""
    import polars as pl

    types: dict[str, Any] = {"excludes_zero": pl.Boolean, "seeds": pl.Int64}
    types |= dict.fromkeys(("discipline", "baseline", "metric"), pl.String)
    return pl.DataFrame(list(rows), schema={name: types.get(name, pl.Float64) for name in like})


def labelled(table: pl.DataFrame, seeds: bool = False) -> pl.DataFrame:
    """A table of `engine.run_experiments` that says under which discipline, and only with `seeds` for which seed."""
    columns = table.columns[1 if seeds else 2 :]
    return table.with_columns(table["experiment"].alias("discipline")).select("discipline", *columns)


def measured(tables: Mapping[str, pl.DataFrame], with_shares: bool = False) -> pl.DataFrame:
    """One row for each run of `engine.run_experiments`, in its order: discipline, seed, and what `measure` gives, with
    the share of each group in all throughput if that is asked for."""
    import polars as pl

    keys = ["experiment", "seed"]
    flows, groups, links = (
        tables[name].partition_by(keys, maintain_order=True, as_dict=True) for name in ("flows", "groups", "links")
    )
    rows = [
        {"discipline": key[0], "seed": key[1]} | measure(*(part[key].to_dicts() for part in (flows, groups, links)))
        for key in flows
    ]
    if with_shares:
        names = list(dict.fromkeys(tables["groups"]["name"].to_list()))
        rows = [row | shares(row, names) for row in rows]
    schema: dict[str, Any] = dict.fromkeys(rows[0], pl.Float64)
    return pl.DataFrame(rows, schema=schema | {"discipline": pl.String, "seed": pl.Int64})
