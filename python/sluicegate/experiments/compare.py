"""Disciplines side by side: the same traffic for every seed, means with intervals, and differences with theirs.

Two disciplines meet the same random streams when the seed is the same, so runs are paired by seed: the interval of a
difference is that of the differences seed by seed. It is narrower, the more of the randomness both share. All
intervals are Student's at 95 % (`stats`).

Every quantity is measured in each run first (`measure`), and only then averaged over seeds, equally weighted.

| what the papers say | what we do | why |
|---|---|---|
| Jain's index is (Σx)² / (n Σx²) (Jain, Chiu & Hawe 1984) | x is a flow's throughput over the measured window; the index is missing when nothing was delivered | 0/0 says nothing about fairness |
| CHOKe 1999 and DCN 2004 give one run each, or do not say | means over seeds with 95 % intervals | one run does not show its spread |
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import _core, scenario, traps
from ..goals.measures import GROUP, LINK, Metric, clash, column, drop_reasons, kept
from ..io import check_writable, staged, write_json, write_parquet
from ..progress import shown
from ..quantities import rate_unit
from ..results.result_object import Frames, ResultObject, read_summary, read_table
from ..stats import CONFIDENCE, Interval, difference
from ..traffic.paths import REVERSE
from ..traffic.responsiveness import Responsiveness, responsiveness
from . import compare_page, real_hosts
from .disciplines import Choice, Listed, Queue, choices, find, read_under, under
from .engine import Experiment, Store, Tables, check_workers, run_experiments, seed_numbers, told_runs
from .job import LIVE
from .paired import differences, labelled, live, means, measured, real_label, with_twins

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from ..page import Page, Table

Progress = Callable[[int, int, str], None]
"""Called with the runs done, the runs in all, and the label of the discipline whose run has just ended."""

SEEDS = 10
"""How many seeds unless told."""

DRAWN = ("groups", "delays", "throughput", "links", "queue")
"""The figures of `plot.comparison` that `Comparison.write` writes."""

FILES = (
    "runs.parquet", "comparison.parquet", "differences.parquet", "delays.parquet", "queue.parquet",
    *(f"{name}.svg" for name in DRAWN), "report.html", "summary.json",
)  # fmt: skip
"""What `Comparison.write` writes."""

RANKED = ("ranking.parquet", "recommendation.json")
"""What a recommendation has besides, which is not that of another comparison in its folder."""

LIVE_FILE = "live.parquet"
"""What it writes besides of a comparison with real hosts."""


DELAYS = {"discipline": str, "name": str, "delay_max_ns": float, "packets": int}
QUEUE = {"discipline": str, "link": str, "time_s": float, "queue_packets": int}
"""The columns of these tables."""


class Comparison(ResultObject):
    """What `compare` returns.

    Attributes:
        runs: One row for each discipline and seed: `discipline`, `seed`, and a column for each quantity.
        means: One row for each discipline and quantity: `discipline`, `metric`, `mean`, `half_width`, `low`, `high`
            (the 95 % interval of the mean, at least 0, and at most 1 for shares and Jain's index; null for a
            single seed) and `seeds`, the number of runs with a value.
        differences: One row for each discipline but the baseline and each quantity: `discipline`, `baseline`,
            `metric`, `difference` (discipline minus baseline, the mean over pairs of the same seed), `half_width`,
            `low`, `high`, `excludes_zero` and `seeds`. Runs between real hosts are compared with the baseline's runs
            between real hosts.
        live: Simulation beside real hosts, a row for each discipline and quantity: `discipline`, `metric`,
            `simulation`, `simulation_half_width`, `real`, `real_half_width`, `difference` (real minus simulation, the
            mean over pairs of the same seed), `half_width`, `low`, `high`, `excludes_zero` and `seeds`. No rows if
            nothing ran between real hosts.
        delays: The distribution of one-way delays of each group under each discipline, over all seeds: `discipline`,
            and the columns of `Run.delays`.
        queue: Each link's queue over time under each discipline, for the lowest seed: `discipline`, `link`, `time_s`
            and `queue_packets`. No rows if the scenario keeps no series (`run.series`).
        summary: Version, scenario with every default filled in, disciplines, seeds, baseline.
        disciplines: The labels, in the order of the list; each is followed by the label of its runs between real hosts
            ("choke (real)"), if any.
        twins: The label of the runs between real hosts for each label of simulated runs; empty if there are none.
        baseline: The label of the discipline that differences refer to.
        groups: The names of the groups of flows, in the order of the scenario.
        links: The links under study, in the order of the scenario.

    >>> comparison = sg.compare("unresponsive", disciplines="red,choke", seeds=2, duration="4 s", warmup="1 s")
    >>> comparison.runs.select("discipline", "seed").rows()
    [('red', 1), ('red', 2), ('choke', 1), ('choke', 2)]
    >>> comparison.difference("choke", "udp_throughput_bps")["difference"] < 0  # CHOKe restrains the UDP flow
    True
    """

    def __init__(
        self, runs: pl.DataFrame, names: Mapping[str, str], baseline: str, groups: Sequence[str], links: Sequence[str],
        summary: dict[str, Any], delays: pl.DataFrame | None = None, queue: pl.DataFrame | None = None,
    ) -> None:  # fmt: skip
        """`names`: the discipline's name of each label in `runs`. Made by `compare`."""
        import polars as pl

        self.runs = runs
        self.delays = pl.DataFrame(schema=DELAYS) if delays is None else delays
        self.queue = pl.DataFrame(schema=QUEUE) if queue is None else queue
        self.names = dict(names)
        self.disciplines = list(names)
        self.baseline = baseline
        self.groups = list(groups)
        self.links = list(links)
        self.summary = summary
        self.twins: dict[str, str] = dict(summary.get("live", {}).get("labels", {}))
        self.means = means(runs)
        self.differences = differences(runs, baseline, self.twins.values())
        self.live = live(runs, self.twins)
        self._means = {(row["discipline"], row["metric"]): row for row in self.means.to_dicts()}
        self._parts: dict[str, pl.DataFrame] = {}
        self._apart: dict[tuple[str, str, str, float], bool] = {}
        self._differences = {(row["discipline"], row["metric"]): row for row in self.differences.to_dicts()}
        self._live = {(row["discipline"], row["metric"]): row for row in self.live.to_dicts()}

    @classmethod
    def read(cls, directory: str | Path) -> Comparison:
        """What `write` wrote, or `compare` with `out`. Raises OSError, and ValueError when the folder has no such
        results."""
        summary = read_summary(directory, "a comparison", ("version", "disciplines", "baseline", "groups", "links"))
        twins = summary.get("live", {}).get("labels", {})
        names = with_twins({each["label"]: each["name"] for each in summary["disciplines"]}, twins)
        runs, delays, queue = (read_table(directory, name) for name in ("runs", "delays", "queue"))
        return cls(runs, names, summary["baseline"], summary["groups"], summary["links"], summary, delays, queue)

    @property
    def tables(self) -> Frames:
        """The tables by the names of their files."""
        return Frames({"runs": self.runs, "comparison": self.means, "differences": self.differences,
                       "delays": self.delays, "queue": self.queue}
                      | ({"live": self.live} if self.twins else {}))  # fmt: skip

    def plot(self) -> Figure:
        """Throughput, loss and delay of each group of flows under each discipline."""
        from ..plot import comparison as comparison_plot

        return comparison_plot.groups(self)

    def html(self) -> str:
        """The page of the comparison: groups, links, drops, differences to the baseline."""
        return compare_page.page(self).html()

    def overview(self) -> Table:
        """Throughput, loss and delays of each group under each discipline."""
        return compare_page.overview(self)

    def mean(self, discipline: str, metric: str) -> dict[str, Any]:
        """The row of `means` for a discipline (by label) and a quantity. Raises KeyError."""
        return self._means[discipline, metric]

    def difference(self, discipline: str, metric: str) -> dict[str, Any]:
        """The row of `differences` for a discipline (by label) and a quantity. Raises KeyError."""
        return self._differences[discipline, metric]

    def beside(self, discipline: str, metric: str) -> dict[str, Any]:
        """The row of `live` for a discipline (by the label of its simulated runs) and a quantity. Raises KeyError."""
        return self._live[discipline, metric]

    def against(self, label: str) -> str:
        """The label that differences of this label refer to; for a baseline its own."""
        return real_label(self.baseline) if label in self.twins.values() else self.baseline

    @property
    def kinds(self) -> list[list[str]]:
        """A list of the labels of simulated runs, and one of those of runs between real hosts, if any. `best` and
        `differences` compare only labels in the same list."""
        real = list(self.twins.values())
        return [kind for kind in ([each for each in self.disciplines if each not in real], real) if kind]

    def remarks(self) -> list[str]:
        """Warnings about the runs between real hosts, as sentences."""
        about = self.summary.get("live")
        return [*about["warnings"], *real_hosts.doubts(about["runs"])] if about else []

    def before(self, link: str) -> str:
        """The prefix of the names of quantities of `link`: empty if there is only one link."""
        return f"{link}." if len(self.links) > 1 else ""

    @property
    def drop_reasons(self) -> list[str]:
        """The reasons for which any packet was dropped, in the order of their declaration."""
        return [
            reason
            for reason in drop_reasons()
            if any(
                (self.runs[f"{self.before(link)}drops_{reason}_ratio"].fill_null(0) > 0).any() for link in self.links
            )
        ]

    @property
    def loses(self) -> bool:
        """Whether any packet was lost on a wire."""
        return any((self.runs[f"{self.before(link)}lost_ratio"].fill_null(0) > 0).any() for link in self.links)

    @property
    def marks(self) -> bool:
        """Whether any packet was marked."""
        return any((self.runs[f"{self.before(link)}marked_ratio"].fill_null(0) > 0).any() for link in self.links)

    def rate_unit(self, metric: str = "throughput_bps") -> tuple[str, float]:
        """The unit in which a throughput is shown, and its factor from bit/s."""
        return rate_unit(max(self.mean(label, metric)["mean"] or 0.0 for label in self.disciplines))

    def apart(self, one: str, other: str, metric: str, resolution: float = 0.0) -> bool:
        """Whether two disciplines (by label) differ in a quantity: the 95 % interval of their paired difference
        excludes zero, and the difference exceeds the fraction `resolution` of the largest value. With one seed, which
        has no interval, only the difference counts."""
        if (one, other, metric, resolution) not in self._apart:
            pairs = self._pairs(one, other, metric)
            found = difference(*map(list, zip(*pairs, strict=True))) if pairs else None
            larger = max((abs(value) for pair in pairs for value in pair), default=0.0)
            if found is None:
                apart = False
            elif found.count == 1:
                apart = abs(found.mean) > resolution * larger
            else:
                apart = (found.low > 0 or found.high < 0) and abs(found.mean) > resolution * larger
            self._apart[one, other, metric, resolution] = self._apart[other, one, metric, resolution] = apart
        return self._apart[one, other, metric, resolution]

    def best(
        self, name: str, metric: Metric, among: Sequence[str] | None = None,
        what: Literal["most", "least"] | None = None, within: Callable[[float], float] = lambda _: 0.0,
    ) -> list[str]:  # fmt: skip
        """The best disciplines (by label) in the column `name`, a quantity of `metric`: those that no other beats.
        `among`: only these; simulated and real runs are compared separately. `what`: whether the most or the least is
        best (default: as `metric` says). `within`: a function from the best mean to the largest difference of means
        that still counts as equal. Empty if no run has a value."""
        if among is None:
            return [label for kind in self.kinds for label in self.best(name, metric, kind, what, within)]
        means = {label: self.mean(label, name)["mean"] for label in among}
        sign = 1 if (what or metric.best) == "most" else -1
        known = {label: sign * value for label, value in means.items() if value is not None}
        tolerance = within(max(known.values())) if known else 0.0

        def better(one: str, other: str) -> bool:
            found = self.paired(one, other, name)  # of seeds that both have: one may have more than the other
            ahead = found is not None and sign * found.mean > tolerance
            return ahead and self.apart(one, other, name, metric.resolution)

        return [label for label in known if not any(better(other, label) for other in known)]

    def responsiveness(self, label: str) -> Responsiveness | None:
        """Round trips a minute and latency under load with a discipline, from the means over seeds; None if they are
        unknown: see `sluicegate.traffic.responsiveness`."""

        def means(names: Iterable[str], metric: Metric, end: str) -> dict[str, float | None]:
            return {name: self.mean(label, f"{name}{end}{metric.name}")["mean"] for name in names}

        about = self.summary.get("scenario", {})
        if REVERSE not in about.get("network", {}):
            return None
        return responsiveness(
            {"queue": {}} | about, means(self.groups, GROUP["delay"], "_"),
            means(self.groups, GROUP["throughput"], "_"), means(self.links, LINK["queueing_delay"], "."),
        )  # fmt: skip

    def paired(self, one: str, other: str, metric: str) -> Interval | None:
        """By how much a quantity is larger under one discipline than under another (by label), over pairs with the same
        seed; None if no seed has both."""
        pairs = self._pairs(one, other, metric)
        return difference(*map(list, zip(*pairs, strict=True))) if pairs else None

    def _pairs(self, one: str, other: str, metric: str) -> list[tuple[float, float]]:
        """A quantity under two disciplines, of each seed that has both."""
        first, second = self._values(one, metric), self._values(other, metric)
        return [(first[seed], second[seed]) for seed in first if seed in second]

    def _values(self, label: str, metric: str) -> dict[int, float]:
        """A quantity under a discipline, by seed, where it has a value."""
        if label not in self._parts:
            self._parts[label] = self.runs.filter(discipline=label).sort("seed")
        part = self._parts[label]
        values = zip(part["seed"], part[metric], strict=True)
        return {seed: value for seed, value in values if value is not None}

    def write(self, directory: str | Path) -> Path:
        """Write runs.parquet, comparison.parquet (the means), differences.parquet, delays.parquet, queue.parquet,
        summary.json, the figures groups.svg, delays.svg, throughput.svg, links.svg and queue.svg, and report.html, the
        page, and live.parquet of a comparison with real hosts; return the directory.

        They appear completely or not at all, and files with other names in an existing directory stay. Equal
        comparisons give equal bytes. Raises OSError.
        """
        with staged(directory, [*RANKED, *([] if self.twins else [LIVE_FILE])]) as folder:
            self.write_files(folder, compare_page.page(self))
        return Path(directory)

    def write_files(self, folder: Path, page: Page) -> None:
        """Write the same files into an existing folder, with the figures of `page`, which is report.html. Raises
        OSError."""
        from ..plot import comparison as comparison_plot
        from ..plot import style as plot

        for name, table in self.tables.items():
            write_parquet(table, folder / f"{name}.parquet")
        write_json(folder / "summary.json", self.summary)
        for name in DRAWN:
            svg = page.svgs.get(compare_page.IDS.get(name, name)) or plot.svg(getattr(comparison_plot, name)(self))
            (folder / f"{name}.svg").write_bytes(svg)
        (folder / "report.html").write_text(page.html(), encoding="utf-8")

    def record(self) -> dict[str, Any]:
        """Everything as JSON: `summary`, the rows of `runs`, `means` and `differences`, and for each group and quantity
        the `best` disciplines."""
        tables = {"runs": self.runs, "means": self.means, "differences": self.differences}
        tables |= {"live": self.live} if self.twins else {}
        best = {
            group: {
                metric.name: found for metric in GROUP.values() if (found := self.best(column(group, metric), metric))
            }
            for group in self.groups
        }
        return {"summary": self.summary} | {name: table.to_dicts() for name, table in tables.items()} | {"best": best}

    def __repr__(self) -> str:
        count = len(self.summary["seeds"])
        seeds = f"{count} seed{'' if count == 1 else 's'}"
        return f"<sluicegate.Comparison {', '.join(self.disciplines)}; {seeds}; baseline {self.baseline}>"


def compare(
    network: scenario.What,
    flows: scenario.Flows | None = None,
    *,
    disciplines: Listed,
    seeds: int | Iterable[int] = SEEDS,
    baseline: Queue | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    sets: scenario.Sets | None = None,
    live: bool = False,
    algorithms: real_hosts.Algorithms | None = None,
    sysctls: Mapping[str, str | int] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    out: str | Path | None = None,
    write: bool = True,
    progress: Progress | bool | None = None,
) -> Comparison:
    """Run a scenario under several disciplines, each with every seed, on all cores.

    `network`, `flows`, `duration`, `warmup` and `sets` as for `simulate`. `disciplines`: a text such
    as "red,choke:candidates=2", objects such as `sluicegate.Choke(candidates=2)`, classes or factories of your own
    (see `Aqm`), or several of any. A text takes missing values from the scenario's queue; an object has all its values,
    defaults included; a class gets the same arguments as with `simulate`, or the values of a file's [queue] and
    [queue.python]. `seeds`: how many, counted from 1, or the seeds themselves. `baseline`: the discipline that
    differences refer to (default: the first one). `progress`: a function, True for a bar, False for none (default: a
    bar on a terminal and in a notebook). `jobs`: how many runs at once (default: one for each core), in threads, or in
    processes when a discipline is written in Python; `executor` runs them instead, or `cluster`, the address of a Dask
    scheduler. `sweep` says what the workers need, and where the call must be in a script that contains a discipline.
    Results do not depend on any of these, or on the order in which runs end. `out`: a folder that keeps each run in
    runs.sqlite as soon as it ends, and finally gets the files of `Comparison.write`. Kept runs are not repeated
    (`sweep` says how they are identified): with more seeds or another discipline only new runs are made. `write`:
    whether the folder gets more than the runs.

    `live`: also run each discipline with every seed between real hosts of this machine, as `testbed` does with
    `algorithms` and `sysctls`. These runs come first, one at a time, and take as long as the scenario says. Their label
    ends in " (real)", and `live` of the result has both side by side. On the same kernel a kept run is not repeated.

    Every discipline is checked before any runs; one in Python is created for this. Raises `ScenarioError` and OSError;
    TypeError for an object that is not a network, source or discipline; ValueError for less than one seed or job, and
    for more than one of `jobs`, `executor` and `cluster`; `cluster.ClusterError` when a cluster does not answer.
    KeyboardInterrupt ends the work, and so does any exception of `progress` or of your own discipline; `out` keeps
    completed runs.

    >>> comparison = sg.compare("unresponsive", disciplines="red,choke", seeds=2, duration="4 s", warmup="1 s")
    >>> comparison.disciplines
    ['red', 'choke']
    """
    given = choices(disciplines)
    base = find(baseline, given)
    numbers = seed_numbers(seeds)
    check_workers(jobs, executor, cluster)
    if not live and (algorithms is not None or sysctls is not None):
        which = "sysctls" if algorithms is None else "algorithms"
        raise _core.ScenarioError(f"{which}: is only for runs between real hosts: give live=True too")
    about = scenario.subject(network, flows, sets=sets, duration=duration, warmup=warmup)
    name, overrides = about.name, about.sets
    for key, _ in overrides:
        if key in ("run.seed", "queue.discipline"):
            instead = {"run.seed": "seeds", "queue.discipline": "disciplines"}[key]
            raise _core.ScenarioError(f"sets: {key}: give {instead} instead")
    texts = {choice.label: under(about, choice)[0] for choice in given}
    read = {choice.label: read_under(about, choice) for choice in given}
    resolved = {label: each.resolved for label, each in read.items()}
    groups = next(iter(resolved.values()))["flows"]
    if (taken := clash([flow["name"] for flow in groups])) is not None:
        raise _core.ScenarioError(
            f"{name}: the columns of a group called {taken!r} would have the same names as the link's columns: give "
            "the group another name"
        )
    # One run of each is drawn over time, unless the scenario keeps no series.
    drawn = min(numbers) if all(each["run"]["series"] for each in resolved.values()) else None
    series = {seed: (("run.series", "true" if seed == drawn else "false"),) for seed in numbers}
    scenario.warn_unused(each.core.unused for each in read.values())
    keep: dict[str, tuple[str, ...] | None] = {**kept()}
    hosts = _real_hosts(about, given, resolved[base.label], algorithms, sysctls) if live else None
    experiments = [
        Experiment(label, texts[c.label], name, (*overrides, *c.sets), kept_of_it, c.queue, by_seed=series, real=real)
        for c in given
        for label, kept_of_it, real in ((c.label, keep, None), (real_label(c.label), keep | {LIVE: None}, hosts))
        if label == c.label or hosts is not None
    ]
    if out is not None:
        check_writable(out, [*FILES, LIVE_FILE])
    scenario.warn(() if hosts is None else hosts.notes, real_hosts.RealHostsWarning)
    scenario.warn(_warnings({label: traps.of_scenario(each) for label, each in resolved.items()}), scenario.TrapWarning)
    with Store(None if out is None else Path(out)) as store, shown(progress, told_runs) as told:
        tables = run_experiments(experiments, numbers, jobs, executor, told, store=store, cluster=cluster)
        found = _comparison(tables, given, base, _summary(name, numbers, given, base, overrides, resolved), hosts)
        if out is not None and write:
            found.write(out)
    if drawn is not None:
        seen = [tables[name].filter(seed=drawn).partition_by("experiment", as_dict=True) for name in ("links", "queue")]
        said = {label: traps.of_run(each, *(table[label,] for table in seen)) for label, each in resolved.items()}
        scenario.warn(_warnings(said), scenario.TrapWarning)
    if hosts is not None:
        scenario.warn(found.remarks()[len(hosts.notes) :], real_hosts.RealHostsWarning)
    return found


def _real_hosts(
    about: scenario.Subject, given: Sequence[Choice], resolved: Mapping[str, Any],
    algorithms: real_hosts.Algorithms | None, sysctls: Mapping[str, str | int] | None,
) -> real_hosts.RealHosts:  # fmt: skip
    """How the scenario is run between real hosts. Raises `ScenarioError` for what they cannot do."""
    with about.told():
        return real_hosts.real_hosts(about, resolved, algorithms, sysctls, [choice.name for choice in given])


def _warnings(sentences: Mapping[str, Sequence[str]]) -> list[str]:
    """What is said of all disciplines once, what of some with their labels."""
    whose: dict[str, list[str]] = {}
    for label, each in sentences.items():
        for sentence in each:
            whose.setdefault(sentence, []).append(label)
    return [
        sentence if len(labels) == len(sentences) else f"{', '.join(labels)}: {sentence}"
        for sentence, labels in whose.items()
    ]


def _comparison(
    tables: Tables, given: Sequence[Choice], base: Choice, summary: dict[str, Any],
    hosts: real_hosts.RealHosts | None = None,
) -> Comparison:  # fmt: skip
    """What the runs of `run_experiments` come to."""
    groups = list(dict.fromkeys(tables["groups"]["name"].to_list()))
    links = list(dict.fromkeys(tables["links"]["link"].to_list()))
    names = {choice.label: choice.name for choice in given}
    summary |= {"groups": groups, "links": links}
    if hosts is not None:
        twins = {label: real_label(label) for label in names}
        names = with_twins(names, twins)
        summary["live"] = hosts.record | {"labels": twins, "runs": labelled(tables[LIVE], True).to_dicts()}
    delays = labelled(tables["delays"]).group_by("discipline", "name", "delay_max_ns", maintain_order=True).sum()
    order = {"discipline": list(names), "name": groups}
    delays = delays.sort(*(delays[key].replace_strict(values, range(len(values))) for key, values in order.items()),
                         "delay_max_ns")  # fmt: skip
    runs, queue = measured(tables, hosts is not None), labelled(tables["queue"]).drop("average_packets")
    return Comparison(runs, names, base.label, groups, links, summary, delays, queue)


def _summary(
    name: str, seeds: list[int], given: Sequence[Choice], base: Choice, sets: Sequence[tuple[str, str]],
    resolved: Mapping[str, dict[str, Any]],
) -> dict[str, Any]:  # fmt: skip
    """What the numbers come from. The scenario is resolved but for queue, seed and series, which a comparison sets."""
    scenario = dict(resolved[base.label])
    entry = ("queue", "own_discipline")
    for key in entry:
        scenario.pop(key, None)
    # So is that of the opposite direction, where it has one of its own.
    reverse = {choice.label: resolved[choice.label]["network"].get(REVERSE, {}) for choice in given}
    brought = {label: way["queue"] for label, way in reverse.items() if "queue" in way}
    if base.label in brought:
        rest = {key: value for key, value in reverse[base.label].items() if key != "queue"}
        scenario["network"] = scenario["network"] | {REVERSE: rest}
    scenario["run"] = {key: value for key, value in scenario["run"].items() if key not in ("seed", "series")}
    return {
        "version": _core.version(),
        "file": Path(name).name,  # without its folder: equal comparisons give equal bytes anywhere
        "sets": [f"{key}={value}" for key, value in sets],
        "scenario": scenario,
        "disciplines": [
            {"label": choice.label, "name": choice.name}
            | {key: resolved[choice.label][key] for key in entry if key in resolved[choice.label]}
            | ({"reverse_queue": brought[choice.label]} if choice.label in brought else {})
            for choice in given
        ],
        "baseline": base.label,
        "seeds": seeds,
        "confidence": CONFIDENCE,
    }
