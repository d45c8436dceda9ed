"""The figures of the study of DCN's open parameters, their checks, and what they say. The inputs are
Sluicegate's: the paper's numbers depend on its traffic. In a check's source, [D] marks what was derived for this
project."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from ...plot.style import BLUE, GREY, ORANGE, SKY, VERMILION, Style
from ...quantities import significant
from ...reproduce import (
    Chart,
    Check,
    Drawing,
    Quantity,
    Runs,
    Table,
    above,
    claim,
    exact,
    figure,
    number,
    printed,
    reference,
    within,
)
from . import charts
from .charts import Shown
from .dcn_study import (
    CLASSIFICATION,
    CONTROL,
    DEFAULT,
    DROP_TAIL,
    FAST,
    FORMS,
    LAWS,
    LOADS,
    Q_REF,
    TRIALS,
    VARIED,
    Varied,
    alone,
    at,
    laws,
    plain_queues,
)
from .workloads import DCN_VARIANTS, FAIR, of, unresponsive

QUEUE, LOSS = Shown("queue", "queue (packets)", Q_REF), Shown("loss", "loss (%)")
USED, SHORT_HIT = Shown("used", "utilisation (%)"), Shown("short_hit", "short hit (%)")
HB, HB_SHORT = Shown("hb", "flows in HB"), Shown("hb_short", "of these short (%)")

MATERIAL = {"queue": 2.4, "loss": 0.5, "used": 1.0, "short_hit": 0.5}
"""The least change that is called one that matters: a tenth of q_ref, half a point of loss, a point of the link, half a
point of the short transfers."""
UNITS = {"queue": "packets of queue", "loss": "points of loss", "used": "points of the link",
         "short_hit": "points of short transfers hit"}  # fmt: skip

CORRECTED, PRINTED = (f"{law} law, forwarded" for law in LAWS)
STYLES = dict(zip(FORMS, (
    Style("corrected law, forwarded (default)", BLUE, marker="o"), Style("corrected law, arrived", SKY, marker="v"),
    Style("printed law, forwarded", VERMILION, marker="s"), Style("printed law, arrived", ORANGE, marker="D"),
), strict=True)) | {DROP_TAIL: Style(DROP_TAIL, GREY, marker="x")}  # fmt: skip

# Laws and readings ------------------------------------------------------------------------------------------------


def laws_chart(laws: Runs, plain: Runs, checks: Sequence[Check] = (), **_: Runs) -> Drawing:
    """Four forms of DCN and Drop Tail under both loads, and the queue over time under both laws."""
    shown = (QUEUE, LOSS, USED, SHORT_HIT)
    loads = {f"{100 * load:.0f} %": load for load in LOADS}
    table = {
        (each.column, name, label): at(plain if label == DROP_TAIL else laws, label, load)[each.column].spread
        for each in shown for name, load in loads.items() for label in STYLES
    }  # fmt: skip
    courses = []
    for load in LOADS:
        lines = []
        for label in (PRINTED, CORRECTED):
            course = at(laws, label, load).rows("queue").filter(pl.col("seed") == laws.seeds[0])
            lines.append((STYLES[label], course["time_s"].to_list(), course["queue_packets"].to_list()))
        courses.append((f"one run at {100 * load:.0f} %", lines))
    drawn = charts.groups(shown, list(STYLES.items()), table, list(loads), courses, {"queue": (20, 50, 100, 200)})

    def both(column: str, label: str) -> str:
        return " and ".join(significant(at(laws, label, load)[column].mean) for load in LOADS)

    words = (
        f"At {' and '.join(loads)} load the corrected law holds the queue at {both('queue', CORRECTED)} packets, the "
        f"printed one at {both('queue', PRINTED)}, and drops {both('loss', PRINTED)} % of the packets instead of "
        f"{both('loss', CORRECTED)} % at a lower utilisation ({both('used', PRINTED)} % instead of "
        f"{both('used', CORRECTED)} %); {both('short_hit', PRINTED)} % of the short transfers lose a packet instead of "
        f"{both('short_hit', CORRECTED)} %. Among flows that react the two readings of pktcount differ little: loss of "
        f"{both('loss', 'corrected law, arrived')} % with arrivals. An unresponsive flow tells them apart."
    )
    return Drawing(drawn, pl.concat([laws.frame(), plain.frame()], how="diagonal"), words=words)


@figure("laws", "The control law as corrected and as printed, and both readings of pktcount", label="Laws and readings",
        source="Sec. 3.2", after=10, chart=laws_chart, laws=laws, plain=plain_queues,
        unresponsive=unresponsive)  # fmt: skip
def laws_and_readings(laws: Runs, plain: Runs, unresponsive: Runs) -> Iterator[Check]:
    """Transfers of 1 to 1000 packets on 20 Mbit/s, round trips of 10 to 150 ms, hosts as in DCN 2004; short are those
    of at most 8 packets. The unresponsive flow is scenario 1's, among Linux's Reno. The traffic is Sluicegate's, not
    the paper's. The paper has p_ref ← p_ref + a(q_k − q_ref) − b(q_{k−1} − q_ref) with a < b (Sec. 3.2), “the same
    equation” as AFD's and PI's; pktcount counts forwarded packets (Sec. 3.1), or packets that have arrived (Sec. 3.2).
    Bars are 95 % intervals over seeds; dotted: q_ref."""
    for load in LOADS:
        right, wrong, page = at(laws, CORRECTED, load), at(laws, PRINTED, load), f"{100 * load:.0f}"
        offered = (at(plain, FAST, load)["used"] * 5).as_("load offered", "% of the link", where="")
        room, seeds = offered.spread.run_margin, offered.spread.count
        yield exact(
            f"the transfers offer {page} % of the link, measured on a link five times as fast",
            offered,
            within(
                100 * load - room - 0.5,
                100 * load + room + 0.5,
                f"{page} %, rounded to whole transfers (0.5) and the "
                f"95 % prediction interval of a run over {seeds} seeds ({room:.2g}): which transfers end in time is "
                "chance",
            ),
            source="the traffic of this study",
            id=f"offered-{page}",
        )
        yield claim(
            f"the controller holds the queue at q_ref = {Q_REF} packets: the corrected law",
            right["queue"].as_(where=""),
            printed(Q_REF, 1),
            source="Sec. 3.2 and 5; the law corrected [D]",
            id=f"holds-{page}",
        )
        longer = (wrong["queue"] - right["queue"]).as_("how much longer the printed law's queue is", where="")
        yield claim(
            "derived here: the printed law, whose proportional part pushes the wrong way, holds a longer queue than "
            f"the corrected one at {page} % load",
            longer,
            above(0),
            source="Sec. 3.2, as printed [D]",
            id=f"printed-longer-{page}",
        )
        yield reference(
            f"the printed law held the queue at {TRIALS[load]:g} packets instead of {Q_REF}",
            wrong["queue"].as_(where=""),
            printed(TRIALS[load], 1),
            id=f"printed-trial-{page}",
            source="trial runs for this project, under HTTP on 100 Mbit/s [D]",
        )
        drops = wrong["loss"] - right["loss"]
        drops = drops.as_("how much more the printed law drops", "percentage points", where="")
        yield claim(
            "derived here: swinging, the printed law also drops more packets than the corrected one",
            drops,
            above(0),
            source="Sec. 3.2, as printed [D]",
            id=f"printed-drops-{page}",
        )
    heavy = LOADS[-1]
    spared = at(plain, DROP_TAIL, heavy)["short_hit"] - at(laws, CORRECTED, heavy)["short_hit"]
    yield claim(
        f"only “large” and “fast” flows are told: at {100 * heavy:.0f} % load fewer short transfers lose a packet "
        "than with Drop Tail",
        spared.as_("short transfers hit, less than with Drop Tail", "percentage points", where=""),
        above(0),
        source="Sec. 3",
        id="short-spared",
    )
    yield exact(
        "the buffer is large enough for no tail drops",
        most(laws, "tail"),
        within(None, 0, "none"),
        source="Sec. 5",
        id="no-tail",
    )
    share = of(unresponsive, "dcn", "udp_share").as_(where="")
    margin, seeds = share.spread.margin, share.spread.count
    yield claim(
        "a flow's fair share is p_ref in each T_dec: with forwarded packets counted, a UDP flow of twice the link's "
        "rate among 32 TCP flows gets at most twice a fair share",
        share,
        within(
            None,
            2 * FAIR - margin,
            f"twice a 33rd, moved down by "
            f"{margin:.2g} so that the whole 95 % interval over {seeds} seeds lies below it",
        ),
        source="Sec. 3.2 [D]",
        id="forwarded-share",
    )
    yield claim(
        "derived here: with arrivals counted, such a flow's count grows without bound and its drop rate tends to 1",
        of(unresponsive, DCN_VARIANTS[0], "udp_loss").as_(where=""),
        above(99),
        source="Sec. 3.2: packets that have arrived [D]",
        id="arrived-starves",
    )


def most(runs: Runs, name: str) -> Quantity:
    """The greatest value of a measure at any point, of any seed."""
    found = [value for load in runs.values("load") for queue in runs.values("queue")
             for value in runs.at(load=load, queue=queue)[name].values]  # fmt: skip
    return number(max(found), "packets", f"{name} drops, the most in a run")


# One parameter at a time ------------------------------------------------------------------------------------------


def change(runs: Runs, each: Varied, value: float, column: str) -> Quantity:
    """How far a value of a parameter moves a quantity, paired by seed with the default's runs."""
    return at(runs, each.at(value))[column] - at(runs, DEFAULT)[column]


def matters(runs: Runs, each: Varied, column: str) -> list[float]:
    """The values of a parameter that move a quantity by at least what is material, with the whole interval off 0."""
    spreads = {value: change(runs, each, value, column).spread for value in each.others}
    return [value for value, found in spreads.items()
            if abs(found.mean) >= MATERIAL[column] and abs(found.mean) > found.margin]  # fmt: skip


def grid(parameters: Sequence[Varied], shown: Sequence[Shown], words: Mapping[str, tuple[str, str, str]]) -> Chart:
    """A chart of quantities over each parameter. `words`: beginnings of sentences, each with the key of a parameter, a
    quantity and its unit: what follows are the values at the least and at the largest value of the parameter."""

    def chart(runs: Runs, checks: Sequence[Check] = (), **_: Runs) -> Drawing:
        table = {
            (kind.column, each.label): {value: at(runs, each.at(value))[kind.column].spread for value in each.values}
            for kind in shown for each in parameters
        }  # fmt: skip
        drawn = charts.over_values(shown, [(each.label, each.default) for each in parameters], table)
        told = [
            f"{text}: {' and '.join(ends(runs, next(e for e in parameters if e.key == key), column, unit))}."
            for text, (key, column, unit) in words.items()
        ]
        return Drawing(drawn, runs.frame(), words=" ".join(told))

    return chart


def ends(runs: Runs, each: Varied, column: str, unit: str) -> list[str]:
    """What a quantity is at the least and at the largest value of a parameter."""
    return [f"{significant(at(runs, each.at(value))[column].mean)} {unit} at {each.text(value)}"
            for value in (each.values[0], each.values[-1])]  # fmt: skip


@figure("classification", ", ".join(each.name for each in CLASSIFICATION), label="How flows are classified", after=11,
        source="Sec. 3.1", runs=alone, chart=grid(CLASSIFICATION, (HB, HB_SHORT, SHORT_HIT, QUEUE, LOSS), {
            "The threshold changes which flows are watched, less so which are hit. Share of HB's flows that are short":
                ("threshold", "hb_short", "%"),
            "But a watched flow loses only what is above p_ref. Share of short transfers that lose a packet":
                ("threshold", "short_hit", "%"),
            "Queue, by clearing interval": ("clearing", "queue", "packets"),
            "A small SB forgets counts by collisions and finds fewer flows, so that the queue is":
                ("sb_entries", "queue", "packets"),
            "An HB that is full leaves the rest unjudged; the queue is": ("hb_flows", "queue", "packets"),
        }))  # fmt: skip
def classification(runs: Runs) -> Sequence[Check]:
    """The load is 102 %. Each parameter is varied alone; the large point is the default. Bars are 95 % intervals over
    seeds, dotted is q_ref. A flow counts as high-bandwidth above a threshold of packets within a clearing interval;
    HB has a few thousand entries, SB a fixed number. No value is given for the first two and for SB."""
    return []


@figure("never-judged", "A flow below the threshold is never told of congestion", label="Never judged", after=11.1,
        source="Sec. 3.1, with the default threshold of 10 [D]", laws=laws)  # fmt: skip
def never_judged(laws: Runs) -> Sequence[Check]:
    """Transfers of 1 or 2 packets, opening and closing included, under all laws and readings."""
    return [
        exact(
            "a flow whose packets never exceed the threshold is never told of congestion",
            most(laws, "never_hit"),
            within(None, 0, "none"),
        )
    ]


@figure("control", ", ".join(each.name for each in CONTROL), label="How p_ref is controlled", after=12,
        source="Sec. 3.2",
        runs=alone, chart=grid(CONTROL, (QUEUE, LOSS, USED, SHORT_HIT), {
            "A slow controller lets the queue grow. Queue, by T_update": ("t_update", "queue", "packets"),
            "Queue, by gain": ("gain", "queue", "packets"),
            "Short transfers hit, by gain": ("gain", "short_hit", "%"),
            "Utilisation, by T_dec": ("t_dec", "used", "%"), "Loss, by T_dec": ("t_dec", "loss", "%"),
            "Queue, by least p_ref": ("p_ref_min", "queue", "packets"),
            "Queue, by largest p_ref, where p_ref starts": ("p_ref_max", "queue", "packets"),
        }))  # fmt: skip
def control(runs: Runs) -> Sequence[Check]:
    """As above. a < b are constants that depend on the average number of flows and the average round trip; T_dec =
    800 ms; the authors tried several values of a, b, T_update and T_dec and report the best, without naming them."""
    return []


def changes(runs: Runs, checks: Sequence[Check] = ()) -> Drawing:
    """What each value changes against the default, and which changes matter."""
    shown = (Shown("queue", "queue (packets)"), Shown("loss", "loss (points)"), Shown("used", "utilisation (points)"),
             Shown("short_hit", "short hit (points)"))  # fmt: skip
    labels = {(each.key, value): f"{each.name} {each.text(value)}" for each in VARIED for value in each.others}
    table, rows, records = {}, [], []
    weighty: list[str] = []
    idle: list[str] = []
    for each in VARIED:
        cells = []
        for kind in shown:
            moved = matters(runs, each, kind.column)
            gaps = {value: change(runs, each, value, kind.column).spread for value in each.others}
            cells.append("; ".join(f"{gaps[value].mean:+.3g} at {value:g}" for value in moved) or "–")
            for value, gap in gaps.items():
                table[kind.column, labels[each.key, value]] = gap
                half = None if math.isnan(gap.half_width) else gap.half_width
                records.append((each.key, value, kind.column, gap.mean, half, value in moved))
        (idle if set(cells) == {"–"} else weighty).append(each.name)
        default = "none" if each.absent else f"{each.default:.4g}"
        rows.append((each.name, default, ", ".join(f"{value:g}" for value in each.others), *cells))
    near = [
        each.name for each in VARIED if not any(matters(runs, each, column) for column in ("queue", "loss", "used"))
    ]
    words = f"Some value tried of {', '.join(weighty)} matters. " if weighty else "No value tried matters. "
    if idle:
        words += f"No value of {', '.join(idle)} does. "
    if near:
        words += f"Queue, loss and use of the link do not depend on {', '.join(near)} within the values tried."
    drawn = charts.changes(shown, table, list(labels.values()), [MATERIAL[kind.column] for kind in shown])
    data = pl.DataFrame(records, schema={"parameter": pl.String, "value": pl.Float64, "quantity": pl.String,
                                         "change": pl.Float64, "half_width": pl.Float64, "matters": pl.Boolean},
                        orient="row")  # fmt: skip
    heads = ("Parameter", "Default", "Tried", *(f"Changes that matter: {UNITS[kind.column]}" for kind in shown))
    return Drawing(drawn, data, Table(heads, tuple(rows)), words.strip())


@figure("matters", "Changes against the defaults, and which of the open values matter", label="What matters", after=13,
        chart=changes, runs=alone)  # fmt: skip
def what_matters(runs: Runs) -> Sequence[Check]:
    """Each value against the default, paired by seed; the paper says nothing on how sensitive the results are. A change
    matters (red) if it is at least 2.4 packets of queue, 0.5 points of loss, 1 point of the link or 0.5 points of short
    transfers hit, with the whole 95 % interval off zero. Smaller changes lie in the shaded band."""
    return []
