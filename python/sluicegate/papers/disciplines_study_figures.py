"""The figures of the study of DCN's open parameters, and what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from ..experiments.engine import Tables
from ..plot import style as plot
from ..quantities import significant as number
from ..report import FigurePart, Table
from ..stats import Interval, difference
from . import Settings, disciplines_charts
from .disciplines_charts import Quantity
from .disciplines_study import (
    CLASSIFICATION,
    CONTROL,
    COUNTS,
    DEFAULT_CASE,
    LAWS,
    LOADS,
    Q_REF,
    VARIED,
    Varied,
    drop_tail,
    loaded,
    varied,
)
from .points import interval_of, summarise, values_of

QUEUE = Quantity("queue", "queue (packets)", Q_REF)
LOSS = Quantity("loss", "lost (%)")
USED = Quantity("used", "link used (%)")
SHORT_HIT = Quantity("short_hit", "short hit (%)")
HB = Quantity("hb", "flows in HB")
HB_SHORT = Quantity("hb_short", "of these short (%)")
COLUMNS = ("queue", "loss", "used", "short_hit", "long_loss", "hb", "hb_short", "p_ref")

MATERIAL = {"queue": 2.4, "loss": 0.5, "used": 1.0, "short_hit": 0.5}
"""The least change that is called one that matters: a tenth of q_ref, half a point of loss, a point of the link, half a
point of the short transfers."""
UNITS = {"queue": "packets of queue", "loss": "points of loss", "used": "points of the link",
         "short_hit": "points of short transfers hit"}  # fmt: skip

_TRAFFIC = ("Transfers of 1 to 1000 packets on 20 Mbit/s, round trips of 10 to 150 ms, hosts as in DCN 2004; short are "
            "those of at most 8 packets. Our traffic, not the paper's. ")  # fmt: skip


def figures(settings: Settings, results: Tables, runs: pl.DataFrame) -> tuple[FigurePart, ...]:
    """The laws and readings, the parameters of classification, those of control, and what of them matters."""
    return (
        _laws(settings, results, runs),
        _grid("classification", "How flows are classified", CLASSIFICATION, (HB, HB_SHORT, SHORT_HIT, QUEUE, LOSS),
              runs, "A flow counts as high-bandwidth above a threshold of packets within a clearing interval; HB has a "
              "few thousand entries, SB a fixed number. No value is given for the first two and for SB.",
              _classification(runs)),
        _grid("control", "How p_ref is controlled", CONTROL, (QUEUE, LOSS, USED, SHORT_HIT), runs,
              "a < b are constants that depend on the average number of flows and the average round trip; T_dec = 800 "
              "ms; the authors tried several values of a, b, T_update and T_dec and report the best, without naming "
              "them.", _control(runs)),
        _matters(runs),
    )  # fmt: skip


def change(runs: pl.DataFrame, parameter: Varied, value: float, column: str) -> Interval:
    """How far a value of a parameter moves a quantity, paired by seed with the default's runs."""
    own, base = (values_of(runs, case.id, column) for case in (varied(parameter, value), DEFAULT_CASE))
    return difference(own, base)


def matters(runs: pl.DataFrame, parameter: Varied, column: str) -> list[float]:
    """The values of a parameter that move a quantity by at least what is material, with the whole interval off 0."""
    moved = {value: change(runs, parameter, value, column) for value in parameter.others}
    return [
        value for value, each in moved.items()
        if abs(each.mean) >= MATERIAL[column] and abs(each.mean) > each.margin
    ]  # fmt: skip


def _laws(settings: Settings, results: Tables, runs: pl.DataFrame) -> FigurePart:
    styles = {
        ("corrected", "forwarded"): plot.Style("corrected law, forwarded (default)", plot.BLUE, marker="o"),
        ("corrected", "arrived"): plot.Style("corrected law, arrived", plot.SKY, marker="v"),
        ("printed", "forwarded"): plot.Style("printed law, forwarded", plot.VERMILION, marker="s"),
        ("printed", "arrived"): plot.Style("printed law, arrived", plot.ORANGE, marker="D"),
    }
    cases = [*((f"{law} {count}", styles[law, count]) for law in LAWS for count in COUNTS),
             ("drop_tail", plot.Style("Drop Tail, 240 packets", plot.GREY, marker="x"))]  # fmt: skip
    names = {f"{100 * load:.0f} %": load for load in LOADS}
    quantities = (QUEUE, LOSS, USED, SHORT_HIT)
    table = {
        (quantity.column, name, label): interval_of(runs, f"study {100 * load:.0f} {label}", quantity.column)
        for quantity in quantities for name, load in names.items() for label, _ in cases
    }  # fmt: skip
    courses = []
    for load in LOADS:
        lines = []
        for law in reversed(LAWS):
            case = loaded(load, law, "forwarded")
            course = results["course"].filter((pl.col("experiment") == case.id) & (pl.col("seed") == settings.seeds[0]))
            lines.append((styles[law, "forwarded"], course["time_s"].to_list(), course["queue_packets"].to_list()))
        courses.append((f"one run at {100 * load:.0f} %", lines))
    drawing = disciplines_charts.groups(quantities, cases, table, list(names), courses, {"queue": (20, 50, 100, 200)})
    chosen = [loaded(load, law, count).id for load in LOADS for law in LAWS for count in COUNTS]
    chosen += [drop_tail(load).id for load in LOADS]
    data = _data(runs, chosen)

    def both(column: str, law: str, count: str = "forwarded") -> str:
        return " and ".join(number(interval_of(runs, loaded(load, law, count).id, column).mean) for load in LOADS)

    measured = (
        f"At {' and '.join(names)} load the corrected law holds the queue at {both('queue', 'corrected')} packets, the "
        f"printed one at {both('queue', 'printed')}, and loses {both('loss', 'printed')} % of the packets instead of "
        f"{both('loss', 'corrected')} % with less of the link used ({both('used', 'printed')} % instead of "
        f"{both('used', 'corrected')} %); {both('short_hit', 'printed')} % of the short transfers lose a packet "
        f"instead of {both('short_hit', 'corrected')} %. Among flows that react the two readings of pktcount differ "
        f"little: loss of {both('loss', 'corrected', 'arrived')} % with arrivals. An unresponsive flow tells them "
        "apart (check below)."
    )
    return FigurePart(
        id="laws",
        label="Laws and readings",
        title="The control law as corrected and as printed, and both readings of pktcount",
        setup=_TRAFFIC + "Bars are 95 % intervals over seeds; the dotted line is q_ref.",
        paper_says="p_ref ← p_ref + a(q_k − q_ref) − b(q_{k−1} − q_ref) with a < b (Sec. 3.2), “the same equation” as "
        "AFD's and PI's; pktcount counts forwarded packets (Sec. 3.1), or packets that have arrived (Sec. 3.2).",
        measured=measured,
        alt="Queue, loss, use of the link and short transfers hit, for four forms of DCN and Drop Tail under "
        "two loads; "
        "and the queue over time under the corrected and the printed law.",
        drawing=drawing,
        data=data,
    )


def _grid(
    id_: str, title: str, parameters: Sequence[Varied], quantities: Sequence[Quantity], runs: pl.DataFrame, says: str,
    measured: str,
) -> FigurePart:  # fmt: skip
    table = {
        (quantity.column, each.label): {
            value: interval_of(runs, varied(each, value).id, quantity.column)
            for value in (each.default, *each.others)
        }
        for quantity in quantities for each in parameters
    }  # fmt: skip
    drawing = disciplines_charts.over_values(quantities, [(each.label, each.default) for each in parameters], table)
    chosen = {varied(each, value).id: (each.key, value) for each in parameters for value in each.others}
    data = _data(runs, [DEFAULT_CASE.id, *chosen])
    return FigurePart(
        id=id_,
        label=title,
        title=", ".join(each.label.partition(" (")[0].partition(",")[0] for each in parameters),
        setup=_TRAFFIC + "The load is 102 %. Each parameter is varied alone; the large point is the default. Bars are "
        "95 % intervals over seeds, the dotted line is q_ref.",
        paper_says=says,
        measured=measured,
        alt=f"Grid of curves: {', '.join(each.label for each in quantities)} over each parameter.",
        drawing=drawing,
        data=data,
    )


def _data(runs: pl.DataFrame, chosen: Sequence[str]) -> pl.DataFrame:
    """Means and half widths of some experiments; null for what a discipline has not."""
    rows = runs.filter(pl.col("experiment").is_in(list(chosen))).fill_null(math.nan)
    return summarise(rows, ["experiment"], COLUMNS).fill_nan(None)


def _ends(runs: pl.DataFrame, parameter: Varied, column: str, unit: str) -> str:
    """What a quantity is at the least and at the largest value of a parameter."""
    ordered = sorted((parameter.default, *parameter.others))
    parts = [
        f"{number(interval_of(runs, varied(parameter, value).id, column).mean)} {unit} at {parameter.text(value)}"
        for value in (ordered[0], ordered[-1])
    ]
    return " and ".join(parts)


def _classification(runs: pl.DataFrame) -> str:
    threshold, clearing, sb, hb = CLASSIFICATION
    return (
        "The threshold decides who is watched more than who is hit. Of the flows in HB short are "
        f"{_ends(runs, threshold, 'hb_short', '%')}; but a watched flow loses only what is above p_ref, and of the "
        f"short transfers lose a packet {_ends(runs, threshold, 'short_hit', '%')}. The clearing interval gives a "
        f"queue of {_ends(runs, clearing, 'queue', 'packets')}. A small SB forgets counts by collisions and finds "
        f"fewer flows: {_ends(runs, sb, 'queue', 'packets')}. An HB that is full leaves the rest unjudged: "
        f"{_ends(runs, hb, 'queue', 'packets')} flows."
    )


def _control(runs: pl.DataFrame) -> str:
    b, ratio, t_update, t_dec, least, most = CONTROL
    return (
        f"A slow controller lets the queue grow. T_update: {_ends(runs, t_update, 'queue', 'packets')}; b: "
        f"{_ends(runs, b, 'queue', 'packets')}; a/b: {_ends(runs, ratio, 'queue', 'packets')}. A quick one hits more "
        f"short transfers; b: {_ends(runs, b, 'short_hit', '%')}. T_dec moves the use of the link and the loss: "
        f"{_ends(runs, t_dec, 'used', '%')} used; {_ends(runs, t_dec, 'loss', '%')} lost. The bounds of p_ref: a queue "
        f"of {_ends(runs, least, 'queue', 'packets')} for the least, {_ends(runs, most, 'queue', 'packets')} for the "
        "most, where p_ref starts."
    )


def _matters(runs: pl.DataFrame) -> FigurePart:
    quantities = (
        Quantity("queue", "queue (packets)"), Quantity("loss", "lost (points)"),
        Quantity("used", "link used (points)"), Quantity("short_hit", "short hit (points)"),
    )  # fmt: skip
    names = {each.key: each.label.partition(" (")[0].partition(",")[0] for each in VARIED}
    labels = {(each.key, value): f"{names[each.key]} {each.text(value)}" for each in VARIED for value in each.others}
    table = {
        (quantity.column, labels[each.key, value]): change(runs, each, value, quantity.column)
        for quantity in quantities for each in VARIED for value in each.others
    }  # fmt: skip
    rows, records = [], []
    idle: list[str] = []
    weighty: list[str] = []
    for each in VARIED:
        cells = []
        found = False
        for quantity in quantities:
            moved = matters(runs, each, quantity.column)
            found |= bool(moved)
            cells.append(
                "; ".join(f"{change(runs, each, value, quantity.column).mean:+.3g} at {value:g}" for value in moved)
                or "–"
            )
            for value in each.others:
                gap = change(runs, each, value, quantity.column)
                records.append((each.key, value, quantity.column, gap.mean,
                                None if math.isnan(gap.half_width) else gap.half_width, value in moved))  # fmt: skip
        (weighty if found else idle).append(names[each.key])
        rows.append((names[each.key], f"{each.default:.4g}", ", ".join(f"{value:g}" for value in each.others), *cells))
    near = [
        names[each.key] for each in VARIED
        if not any(matters(runs, each, column) for column in ("queue", "loss", "used"))
    ]  # fmt: skip
    measured = (
        f"Some value tried of {', '.join(weighty) or 'none'} matters. " if weighty else "No value tried matters. "
    )
    if idle:
        measured += f"No value of {', '.join(idle)} does. "
    if near:
        measured += f"Queue, loss and use of the link do not depend on {', '.join(near)} within the values tried. "
    bars = ", ".join(f"{bar:g} {UNITS[column]}" for column, bar in MATERIAL.items())
    return FigurePart(
        id="matters",
        label="What matters",
        title="Changes against the defaults, and which of the open values matter",
        setup=f"Each value against the default, paired by seed. Called a change that matters: at least {bars}, with "
        "the whole 95 % interval off zero (red); smaller ones lie in the shaded band.",
        paper_says="Nothing on how sensitive the results are to these values.",
        measured=measured.strip(),
        alt="For each parameter the changes of queue, loss, use of the link and short transfers hit, with intervals; "
        "red where the interval excludes zero.",
        drawing=disciplines_charts.changes(
            quantities, table, list(labels.values()), [MATERIAL[quantity.column] for quantity in quantities]
        ),
        data=pl.DataFrame(
            records,
            schema={"parameter": pl.String, "value": pl.Float64, "quantity": pl.String, "change": pl.Float64,
                    "half_width": pl.Float64, "matters": pl.Boolean},
            orient="row",
        ),
        table=Table(("Parameter", "Default", "Tried", *(f"Changes that matter: {UNITS[q.column]}" for q in quantities)),
                    tuple(rows)),
    )  # fmt: skip
