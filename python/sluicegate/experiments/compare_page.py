"""The page of a comparison, made of its means and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from ..goals.measures import GROUP, LINK, SHARE, TOTAL, USUAL, Metric, column
from ..page import Page, Section, Table
from ..quantities import UNKNOWN, plus_minus, spread_text
from ..results.run_page import toml

if TYPE_CHECKING:
    from ..plot import comparison as figures

    class Comparison(figures.Comparison, Protocol):
        """What a page takes of an `experiments.compare.Comparison`."""

        baseline: str
        summary: dict[str, Any]
        twins: dict[str, str]

        def against(self, label: str) -> str: ...
        def beside(self, discipline: str, metric: str) -> dict[str, Any]: ...
        def remarks(self) -> list[str]: ...
        def difference(self, discipline: str, metric: str) -> dict[str, Any]: ...
        def best(self, name: str, metric: Metric) -> list[str]: ...


BEST = "●"

IDS = {"throughput": "all-flows"}
"""The section that a figure is in, where that has another name."""


def page(done: Comparison) -> Page:
    """The page: each group of flows, all flows and links, drops, and differences to the baseline."""
    file = done.summary["file"]
    title = f"Comparison on {file.removesuffix('.toml')}" if file.endswith(".toml") else "Comparison of disciplines"
    seeds = len(done.summary["seeds"])
    subtitle = f"{', '.join(done.disciplines)}; {seeds} seed{'s' * (seeds > 1)}{more(done.summary)}"
    parts = sections(done)
    return Page(title, subtitle, parts, provenance(done), notes=notes(done), lead=lead(done, parts),
                scenario=toml(done.summary["scenario"]))  # fmt: skip


def lead(done: Comparison, parts: Sequence[Section]) -> list[str]:
    """How to read the tables of these parts."""
    seeds = len(done.summary["seeds"])
    if seeds == 1:
        return ["One seed: no intervals."]
    told = f" {BEST} best, or no different from the best." if len(done.disciplines) > 1 else ""
    cells = (cell for part in parts for _, shown in part.tables for row in shown.rows for cell in row)
    return [f"{seeds} seeds{more(done.summary)}, {spread_text(seeds, any(UNKNOWN in each for each in cells))}.{told}"]


def more(summary: Mapping[str, Any]) -> str:
    """Which disciplines have how many seeds, where some have more than the others; in brackets after a space."""
    found = summary.get("further_seeds", {})
    return f" ({len(summary['seeds']) + max(map(len, found.values()))} for {', '.join(found)})" if found else ""


def notes(done: Comparison) -> list[str]:
    """What limits the page."""
    from ..plot.comparison import MOST_GROUPS

    if len(done.groups) <= MOST_GROUPS:
        return done.remarks()
    return [*done.remarks(), f"Figures show the first {MOST_GROUPS} of {len(done.groups)} groups."]


def sections(done: Comparison) -> list[Section]:
    """All parts of the page."""
    from ..plot import comparison as figures

    links = [(f"link {link}" if done.before(link) else "", _links(done, link)) for link in done.links]
    drops = [(f"link {link}" if done.before(link) else "", found) for link in done.links
             if (found := _drops(done, link)).rows]  # fmt: skip
    parts = [
        *real(done),
        Section("groups", "Groups of flows", figure=figures.groups(done),
                tables=[(name, _group(done, name)) for name in done.groups]),
        Section("delays", "Delays of all packets",
                "Share of a group's delivered packets that took at most a given time, over all seeds.",
                figure=figures.delays(done)),
        Section("all-flows", "All flows", "Jain's index is 1 where all flows get the same.",
                figure=figures.throughput(done),
                tables=[("", table(done, [(metric.name, metric) for metric in TOTAL.values()]))]),
        Section("links", "Links", "Loss, queueing delay and utilisation.",
                figure=figures.links(done), tables=links),
    ]  # fmt: skip
    if done.queue.height:
        words = f"Packets queued at each sample, seed {min(done.summary['seeds'])}."
        parts.append(Section("queue", "Queue over time", words, figure=figures.queue(done)))
    if drops:
        parts.append(Section("drops", "Losses by reason, and marks", "In % of arrivals.", tables=drops))
    if any(done.against(label) != label for label in done.disciplines):
        tables = [(name, _differences(done, _columns(done, name))) for name in done.groups]
        kind = ", real hosts against real hosts" if done.twins else ""
        words = f"Discipline minus {done.baseline}, paired by seed{kind}. * the 95 % interval excludes zero."
        parts.append(Section("differences", f"Differences to {done.baseline}", words, tables=tables))
    return parts


SIDES = ("simulation", "real", "difference")


def real(done: Comparison) -> list[Section]:
    """Simulation beside real hosts, a table for each group and one for all flows and links; nothing where there are
    none."""
    if not done.twins:
        return []
    parts = [(name, [(column(name, SHARE), SHARE), *_columns(done, name)]) for name in done.groups]
    totals = [(metric.name, metric) for metric in TOTAL.values()]
    parts.append(("all flows", totals))
    parts += [
        (f"link {link}", [(f"{done.before(link)}{metric.name}", metric) for metric in LINK.values()])
        for link in done.links
    ]
    words = (
        f"Kernel {done.summary['live']['kernel']}. Difference: real minus simulation, paired by seed. "
        "* the 95 % interval excludes zero."
    )
    tables = [(name, beside(done, columns)) for name, columns in parts]
    return [Section("real-hosts", "Simulation and real stacks", words, tables=tables)]


def beside(done: Comparison, columns: Sequence[tuple[str, Metric]]) -> Table:
    """A row for each discipline and quantity: what simulation and real hosts gave, and their difference."""
    rows = tuple(
        (label, _head(done, name, metric), *(
            _cell(half_of(done.beside(label, name), side), side, done, name, metric) for side in SIDES
        ))
        for label in done.twins
        for name, metric in columns
    )  # fmt: skip
    return Table(("discipline", "", *SIDES), rows, len(SIDES))


def half_of(row: Mapping[str, Any], side: str) -> dict[str, Any]:
    """One of the three values of a row of `Comparison.live`, as a row of its own."""
    if side == "difference":
        return dict(row)
    return {side: row[side], "half_width": row[f"{side}_half_width"], "seeds": row["seeds"]}


def provenance(done: Comparison) -> dict[str, str]:
    """What the numbers come from."""
    run, seeds = done.summary["scenario"]["run"], done.summary["seeds"]
    further = done.summary.get("further_seeds", {})
    return {
        "Sluicegate": done.summary["version"],
        "Scenario": done.summary["file"],
        "Disciplines": ", ".join(done.disciplines),
        "Baseline": done.baseline,
        "Duration": f"{run['duration']}, the first {run['warmup']} not measured",
        "Seeds": ", ".join(map(str, seeds)),
        **{f"Further seeds of {label}": ", ".join(map(str, found)) for label, found in further.items()},
        "Intervals": "Student's t over seeds, 95 %",
    } | ({"Overrides": ", ".join(done.summary["sets"])} if done.summary["sets"] else {})


def overview(done: Comparison) -> Table:
    """Throughput, loss and delays of each group under each discipline."""
    metrics = [GROUP[word] for word in ("throughput", "loss", "p50", "p99")]
    rows = []
    for name in done.groups:
        for label in done.disciplines:
            cells = (
                _cell(done.mean(label, column(name, each)), "mean", done, "throughput_bps", each) for each in metrics
            )
            rows.append((name, label, *cells))
    heads = (_head(done, "throughput_bps", each) for each in metrics)
    return Table(("group", "discipline", *heads), tuple(rows), len(metrics))


def table(done: Comparison, columns: Sequence[tuple[str, Metric]]) -> Table:
    """A row for each discipline and a column for each quantity, with a dot at the best."""
    several = len(done.disciplines) > 1
    best = {name: done.best(name, metric) if several else [] for name, metric in columns}
    rows = tuple(
        (label, *(
            f"{f'{BEST} ' if label in best[name] else ''}{_cell(done.mean(label, name), 'mean', done, name, metric)}"
            for name, metric in columns
        ))
        for label in done.disciplines
    )  # fmt: skip
    return Table(("discipline", *(_head(done, name, metric) for name, metric in columns)), rows, len(columns))


def _columns(done: Comparison, group: str) -> list[tuple[str, Metric]]:
    """The usual quantities of a group of which any discipline has a value."""
    found = [(column(group, GROUP[word]), GROUP[word]) for word in USUAL]
    return [each for each in found if any(done.mean(label, each[0])["mean"] is not None for label in done.disciplines)]


def _group(done: Comparison, name: str) -> Table:
    return table(done, _columns(done, name))


def _links(done: Comparison, link: str) -> Table:
    return table(done, [(f"{done.before(link)}{metric.name}", metric) for metric in LINK.values()])


def _drops(done: Comparison, link: str) -> Table:
    names = [(f"drops_{reason}_ratio", reason) for reason in done.drop_reasons]
    names += [("lost_ratio", "on the wire")] if done.loses else []
    names += [("marked_ratio", "marked")] if done.marks else []
    percent = replace(LINK["link_loss"], head="")
    rows = tuple(
        (label, *(_cell(done.mean(label, done.before(link) + name), "mean", done, name, percent) for name, _ in names))
        for label in done.disciplines
    )
    return Table(("discipline", *(f"{head} %" for _, head in names)), rows if names else (), len(names))


def _differences(done: Comparison, columns: Sequence[tuple[str, Metric]]) -> Table:
    rows = tuple(
        (label, *(_cell(done.difference(label, name), "difference", done, name, metric) for name, metric in columns))
        for label in done.disciplines if done.against(label) != label
    )  # fmt: skip
    return Table(("discipline", *(_head(done, name, metric) for name, metric in columns)), rows, len(columns))


def _head(done: Comparison, name: str, metric: Metric) -> str:
    words = " ".join(metric.head.replace("-\n", "").split())
    return f"{words} {done.rate_unit(name)[0]}" if metric.unit == "bit/s" else words


def _cell(row: Mapping[str, Any], value: str, done: Comparison, name: str, metric: Metric) -> str:
    if row[value] is None:
        return "–"
    factor = done.rate_unit(name)[1] if metric.unit == "bit/s" else metric.factor
    sign = "+" if value == "difference" else ""
    half = None if row["half_width"] is None else factor * row["half_width"]
    alone = UNKNOWN if len(done.summary["seeds"]) > 1 else ""
    star = "*" if row.get("excludes_zero") else ""
    return f"{plus_minus(factor * row[value], half, metric.decimals, sign, alone)}{star}"
