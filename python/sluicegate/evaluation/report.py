"""The page of an evaluation, in the form of a reproduction's: the disciplines at a glance, each scenario with its
numbers and drawings, what each discipline needs, and the RFC's list beside the suite's."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from .. import _core
from ..experiments.controllers import LINUX
from ..experiments.controllers import titles as algorithms
from ..experiments.disciplines import titles
from ..papers.disciplines.workloads import NAMES, STATE
from ..quantities import uncertain
from ..reproduce import Choice, Drawing, Figure, Paper, Settings, Table
from ..reproduce.figure import Made
from ..reproduce.page import Report, alone, files, write_files
from ..stats import interval
from .metrics import METRICS
from .suite import DEFAULT, LINK, LINKS, Scenario, Suite, declared, marks

if TYPE_CHECKING:
    from ..reproduce.claim import Verdict
    from .outcome import Outcome, Place

BEST, TIED = "●", "○"
NEEDS = (
    "The table shows each discipline's state about flows, and where the values of its parameters come from. "
    "Parameters that are not set are off or derived, as noted in brackets. For your own discipline the table shows its "
    "arguments."
)
ABOUT = (
    "“Values given” are the keys that the command sets for its flows; all others are the defaults of Linux's hosts. "
    "“ECN” says whether the controller's flows use it by default; the scenarios `ecn` and `l4s` turn it on, unless a "
    "value given turns it off. DCTCP and Prague always use it."
)
OWN_RUST = "Your own, in Rust, on Linux's hosts"
OWN_ENDS = "A transport with its own ends"
ABOUT_ENDS = (
    "For a transport with its own ends, retransmissions cannot be told from new data: its goodput is everything that "
    "was delivered, and its share of data sent twice in vain is missing. Its windows are not known either, so the time "
    "until congestion avoidance is missing, and it cannot pause as in `application-limited`."
)
FEW = 6
"""Disciplines that stand beside one another at a glance; more stand one below the other, section by section."""

DONE = {"done": "yes", "partly": "partly", "text": "in the manual", "not done": "not done"}

DELAYS = (
    "mean, percentiles and variation of a group's delay, and distributions, are those of the packets of all its flows"
)

HEAD = ("Discipline", "State of flows", "Marks", "Not set", "Set for the link", "At their defaults")
LEGEND = (
    f"{BEST} the best; {TIED} tied with it: the 95 % interval of the difference to the best, paired by seed, contains "
    "zero, or the difference is below 0.1 % or, for a percentile, below one bin of its histogram. A number without "
    "a sign is significantly worse; judge yourself whether that matters. ± is the half width of the 95 % "
    "interval over seeds. It is left out if it rounds to zero, or if there is one seed. If a scenario has several "
    "points, a number whose label names none of them is their mean; for ratios it is the mean factor by which they "
    "differ from 1, up or down."
)


def write(done: Outcome, out: Path, only: Sequence[str]) -> Path:
    """Write report.html, figures, tables and summary.json into `out`; return the page."""
    write_files(_report(done, only), out)
    return out / files(only)[2]


def html(done: Outcome) -> str:
    """The page as one file that needs no other."""
    return alone(_report(done, ()))


def _report(done: Outcome, only: Sequence[str]) -> Report:
    which = "".join(f"-{each}" for each in only)
    tables = {f"{name}{which}": table for name, table in done.tables.items()}
    return Report(
        _paper(done), tuple(_made(done)), _provenance(done), "", tables, lengths(done), tuple(only), done.summary
    )


def glance(done: Outcome, scenarios: Sequence[Scenario], across: bool) -> Table:
    """Disciplines or controllers by the numbers that matter in these scenarios. `across`: a column for each of
    them, rather than a row."""
    numbers = [(each, number, done.places(each, number)) for each in scenarios for number in each.overview]
    labels = [_label(done, label) for label in done.labels]
    cells = [
        [_cell(places.get(label), number.metric, number.of) for label in done.labels] for _, number, places in numbers
    ]
    if across:
        rows = [
            (f"{each.section} {each.title}", done.suite.weight(each), number.text, *own)
            for (each, number, _), own in zip(numbers, cells, strict=True)
        ]
        return Table(("Scenario", "Weight", "What matters", *labels), tuple(rows), len(labels))
    heads = (f"{each.section} {each.title}: {number.text}" for each, number, _ in numbers)
    return Table((done.suite.subject.capitalize(), *heads), tuple(zip(labels, *cells, strict=True)), len(numbers))


class Count(NamedTuple):
    """In how many numbers that matter one is the best or tied with it, in how many it is the worst, and of how many."""

    tied: int
    worst: int
    of: int


def counts(done: Outcome) -> dict[str, Count]:
    """For each discipline or controller, how often it is the best and the worst in the numbers that matter; those in
    which all are tied are left out. A scenario whose points are set-ups of their own counts no more than another: by
    its means over them."""
    places = [done.places(each, number) for each in done.scenarios for number in each.matters]
    places = [place for place in places if not all(each.tied for each in place.values())]
    own = {label: [place[label] for place in places if label in place] for label in done.labels}
    return {
        label: Count(sum(each.tied for each in found), sum(each.worst for each in found), len(found))
        for label, found in own.items()
    }


ALIKE = "No one is ahead: in each number that matters, all are tied."
"""What is said when `counts` has no number."""


def _label(done: Outcome, label: str) -> str:
    return f"{label} (reference)" if label in done.references else label


def _cell(place: Place | None, metric: str, of: str) -> str:
    if place is None:
        return "–"
    sign = f"\N{NO-BREAK SPACE}{BEST if place.best else TIED}" if place.tied else ""
    return _shown(place.values, metric, of) + sign


def _shown(values: Sequence[float], metric: str, of: str, most: int = 4) -> str:
    """The mean of a metric of some traffic over seeds with the half width of its interval, in the unit shown: as many
    digits as the half width and the grain of the metric have sense for, `most` at most."""
    by = METRICS[metric]
    found = interval(values)
    mean, half = by.factor * found.mean, by.factor * found.half_width
    grain = by.factor * by.grain(found.mean, of == LINKS)
    decimals = min(max(0, -math.floor(math.log10(grain))), 4) if grain else 4
    return uncertain(mean, half, by.unit, most, decimals).replace(" ", "\N{NO-BREAK SPACE}")


def _made(done: Outcome) -> Iterator[Made]:
    """The parts of the page."""
    if len(done.labels) <= FEW:
        yield _part("glance", "At a glance", LEGEND, table=glance(done, done.scenarios, across=True))
    else:
        for section, words in done.suite.sections.items():
            if scenarios := [each for each in done.scenarios if each.section.split(".")[0] == section]:
                title = f"At a glance: {done.suite.part} {section}, {words}"
                yield _part(f"glance-{section}", title, LEGEND, table=glance(done, scenarios, across=False))
    for each in done.scenarios:
        yield _scenario(done, each)
    of = needs_of(done)
    yield _part("needs", of.title, of.caption, table=of.table)
    yield _part("asked", "What the RFC asks for, and what is done", tally(done.suite), table=asked(done.suite))


def _part(id_: str, title: str, caption: str, *, table: Table, words: str = "", drawing: Drawing | None = None) -> Made:
    data = pl.DataFrame(table.rows, list(table.head), orient="row")
    shown = drawing or Drawing(None, data, table, words)
    return Made(Figure(id_, title, title, "", None, {}, lambda: (), caption, __file__, 0.0), caption, shown, ())


def _scenario(done: Outcome, scenario: Scenario) -> Made:
    """A scenario: description, drawing, what is best, and all its metrics."""
    from . import charts

    table = _metrics(done, scenario)
    data = done.means.filter(pl.col("scenario") == scenario.id)
    drawing = Drawing(charts.draw(done, scenario), data, table, " ".join(_verdicts(done, scenario)))
    about = (
        f"{scenario.about} {done.suite.title.partition(':')[0]}, {done.suite.part} {scenario.section}: "
        f"{done.suite.weight(scenario)}; --only {scenario.id}."
    )
    return _part(scenario.id, f"{scenario.section} {scenario.title}", about, table=table, drawing=drawing)


def _verdicts(done: Outcome, scenario: Scenario) -> Iterator[str]:
    """A sentence for each number that matters: which is the best, and which cannot be told from it."""
    for number in scenario.overview:
        places = done.places(scenario, number)
        best = next((label for label, place in places.items() if place.best), None)
        if best is None or len(places) < 2:
            continue
        tied = [label for label, place in places.items() if place.tied and not place.best]
        others = f"; not significantly different: {', '.join(tied)}" if tied else ""
        yield f"Best by “{number.text}”: {best}, {_shown(places[best].values, number.metric, number.of)}{others}."


def _metrics(done: Outcome, scenario: Scenario) -> Table:
    """All metrics of a scenario, disciplines or controllers below one another for each kind of traffic."""
    rows = done.rows(scenario)
    shown = [name for name in scenario.metrics if name in rows.columns and (rows[name].fill_null(0) != 0).any()]
    head = [f"{METRICS[name].label}{f' ({unit})' if (unit := METRICS[name].unit) else ''}" for name in shown]
    points = len(scenario.points) > 1
    cells = []
    parts = rows.partition_by("of", "point", "label", maintain_order=True, as_dict=True)
    of = list(dict.fromkeys(rows["of"]))
    for traffic, point, label in sorted(parts, key=lambda key: (of.index(key[0]), [*scenario.points].index(key[1]))):
        part = parts[traffic, point, label]
        values = [part[name].drop_nulls().to_list() for name in shown]
        place = (traffic, point, label) if points else (traffic, label)
        texts = (_shown(each, name, traffic, 3) if each else "–" for each, name in zip(values, shown, strict=True))
        cells.append((*place, *texts))
    subject = done.suite.subject.capitalize()
    first = ("Traffic", scenario.axis, subject) if points else ("Traffic", subject)
    return Table((*first, *head), tuple(cells), len(shown))


@dataclass(frozen=True)
class Needs:
    """A table of what the disciplines or controllers are, with its title and what it shows."""

    title: str
    caption: str
    table: Table


def needs_of(done: Outcome) -> Needs:
    """What each discipline needs, or what each controller is."""
    if done.suite.subject == "discipline":
        return Needs("What each discipline needs", NEEDS, needs(done))
    own = any("ends" in each["flows"] for each in done.summary["controllers"])
    return Needs("What each controller is", f"{ABOUT} {ABOUT_ENDS}" if own else ABOUT, controllers(done))


def needs(done: Outcome) -> Table:
    """What each discipline remembers of flows, and where its values come from."""
    common = {key.removeprefix("queue.") for key, _ in LINK.tuned()}
    rows = []
    for each in done.summary["disciplines"]:
        found = declared(each["name"])
        if found is None:
            arguments = each.get("own_discipline", {}).get("arguments", {})
            given = ", ".join(f"{key} = {value}" for key, value in arguments.items())
            rows.append((each["label"], "as written", "as written", "–", given or "none", "–"))
            continue
        stated = {part.partition("=")[0] for part in each["label"].split(":")[1:]}
        names = {field["name"]: field for field in found["fields"]}
        tuned = [name for name in names if {name, f"{found['name']}.{name}"} & common and name not in stated]
        unset = {
            name: f"{name} ({field['derived']})"
            for name, field in names.items() if field["derived"] and name not in {*stated, *tuned}
        }  # fmt: skip
        left = [name for name in names if name not in {*stated, *tuned, *unset}]
        kind, what = STATE.get(each["name"], ("not recorded", ""))
        rows.append((
            f"{each['label']}: {titles()[each['name']]}", f"{kind}: {what}" if what else kind,
            marks(each["name"]), "; ".join(unset.values()) or "none", ", ".join(tuned) or "none",
            f"{len(left)}: {', '.join(left)}" if left else "none",
        ))  # fmt: skip
    return Table(HEAD, tuple(rows))


def controllers(done: Outcome) -> Table:
    """What each congestion control is, and the values it was given."""
    rows = []
    for each in done.summary["controllers"]:
        label, name, flows = each["label"], each["name"], each["flows"]
        own = (each.get("own_rust") or each.get("own_ends") or {}).get(name, {}).get("sha256")
        what = algorithms()[name].rstrip(".") if name in algorithms() else OWN_ENDS if "ends" in flows else OWN_RUST
        what += f" (SHA-256 {own[:12]})" if own else ""
        asked = {True: "yes", False: "no", None: "as its ends say"}[flows.get("ecn")]
        ecn = "always" if name in ("dctcp", "prague") else asked
        rows.append((label, what, ecn, label.removeprefix(name).lstrip(":").replace(":", ", ") or "none"))
    return Table(("Controller", "What it is", "ECN", "Values given"), tuple(rows))


def asked(suite: Suite) -> Table:
    """All that the RFC asks for, and what is done of it."""
    rows = tuple((each.section, each.word, each.what, DONE[each.done], each.how or "–") for each in suite.asks)
    return Table(("Section", "Word", "What the RFC asks for", "Done", "How"), rows)


def tally(suite: Suite) -> str:
    """How much of what the RFC asks for is done."""
    counted = Counter(str(each.done) for each in suite.asks)
    return f"Of {len(suite.asks)} points: " + ", ".join(f"{DONE[each]} {counted[each]}" for each in DONE) + "."


def _paper(done: Outcome) -> Paper:
    """What the page's form asks for."""
    suite = done.suite
    asked = [label for label in done.labels if label not in done.references]
    everyone = [*NAMES] if suite.subject == "discipline" else [*LINUX]
    names = "all" if asked == everyone else f'"{",".join(asked)}"'
    names += "" if suite.name == DEFAULT else f" --suite {suite.name}"
    names += " --quick" if done.settings == suite.quick != suite.settings else ""

    first = suite.scenarios[0].section
    folder = "evaluate" if suite.name == DEFAULT else suite.name
    sets = "".join(f"--set {shlex.quote(each)} " for each in done.summary.get("sets", ()))

    def summary(_: Sequence[Verdict]) -> str:
        ranked = sorted(counts(done).items(), key=lambda each: -each[1].tied)
        if not any(each.of for _, each in ranked):
            return ALIKE
        words = "; ".join(f"{label} in {each.tied} of {each.of} (worst in {each.worst})" for label, each in ranked[:8])
        return f"Best, or no different from the best, in the numbers in which {suite.subject}s differ: {words}."

    return Paper(
        name=suite.name, title=suite.title, citation=suite.citation, short=done.settings, full=suite.settings,
        choices=[Choice(*each) for each in suite.choices], package=__package__ or "", summary=summary, word="RFC",
        commands=tuple(f"sluicegate evaluate {names} {sets}{more}-o out/{folder}" for more in ("", f"--only {first} ")),
    )  # fmt: skip


def lengths(done: Outcome) -> dict[str, str]:
    """How long and how often was run, and what was changed in the suite's scenarios."""
    own, full = done.settings, done.suite.settings
    runs = f"{own.duration_s:g} s each, the first {own.warmup_s:g} s not measured, {_seeds(own)}"
    phases = [each.id for each in done.scenarios if each.phases is not None]
    if phases:
        runs += f" (whole cycles of phases in {', '.join(phases)})"
    if own != full:
        whole = f"{full.duration_s:g} s and {_seeds(full)}"
        runs += f": not the suite's own {whole}, so that intervals are wider and slow effects may not show"
    changed = ", ".join(done.summary.get("sets", ()))
    return {"Runs": runs, "Goodput": done.suite.periods, "Delays": DELAYS} | (
        {"Changed": f"{changed}: these are not the suite's own scenarios"} if changed else {}
    )


def _seeds(of: Settings) -> str:
    return "1 seed" if len(of.seeds) == 1 else f"{len(of.seeds)} seeds"


def _provenance(done: Outcome) -> dict[str, str]:
    return {
        "Sluicegate": _core.version(),
        "Suite": done.suite.name,
        "Seeds": ", ".join(map(str, done.settings.seeds)),
        "Intervals": "Student's t over seeds, 95 %",
        f"{done.suite.subject.capitalize()}s": ", ".join(_label(done, label) for label in done.labels),
    }
