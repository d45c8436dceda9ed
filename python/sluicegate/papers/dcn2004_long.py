"""What longer runs change: every scheme at 98 and 105 %, ten times as long, for one seed.

A run of minutes begins with empty links and ends before the longest responses do. What is offered beyond the link's
rate waits in such responses, and until there are as many as the paper's two hours gather, congestion is milder.
"""

from __future__ import annotations

import polars as pl

from ..quantities import significant as number
from ..report import FigurePart
from ..stats import interval
from . import dcn2004_charts as charts
from .checks import Bounds, Check, above
from .dcn2004_cases import CONGESTED, LONGER
from .dcn2004_charts import STYLES
from .dcn2004_checks import CONGESTED_LOADS, PLATEAU, plateau
from .dcn2004_points import Results
from .dcn2004_tables import TABLE_1, measured

KEYS = tuple(scheme.key for scheme in CONGESTED)
ROWS = {row.key: row for row in TABLE_1}
PLACE = {98: 1, 105: 2}
"""Where a load stands in a row of Table 1."""


def long_checks(results: Results) -> list[Check]:
    """Whether loss comes nearer to the printed one, and AFD's plateau, in the long runs; none without such runs."""
    if results.longer_s is None:
        return []
    result = []
    for load in CONGESTED_LOADS:
        for key in KEYS:
            short, long = (interval(measured(results, f"{key}-{load}{end}", "loss")).mean for end in ("", "-long"))
            paper = ROWS[key].loss[PLACE[load]]
            result.append(
                Check(
                    f"long-loss-{key}-{load}", "ours, beside Table 1", "shown",
                    f"{STYLES[key].label} at {load} %: the loss of a longer run is nearer to {paper:g} %",
                    abs(long - paper) / abs(short - paper),
                    f"its distance (it lost {long:.2f} %) over that of the short runs ({short:.2f} %)",
                    Bounds(None, 1, "below 1"),
                )
            )  # fmt: skip
        spread = plateau(results, f"afd-{load}-long")
        result.append(
            Check(
                f"long-afd-plateau-{load}", "ours, beside Fig. 7", "shown",
                f"AFD without ECN at {load} % shows a flat region up to 1 s in a longer run", spread.mean, PLATEAU,
                above(1, spread),
            )
        )  # fmt: skip
    return result


LONG_CHECKS = tuple(
    check_id
    for load in CONGESTED_LOADS
    for check_id in (*(f"long-loss-{key}-{load}" for key in KEYS), f"long-afd-plateau-{load}")
)
"""The ids of these checks."""


def long_part(results: Results) -> FigurePart:
    """Loss and completed requests of short and long runs, beside the paper's."""
    rows = []
    for load in CONGESTED_LOADS:
        for key in KEYS:
            for column in ("loss", "completed"):
                for group, case in (("short", f"{key}-{load}"), ("long", f"{key}-{load}-long")):
                    spread = interval(measured(results, case, column))
                    rows.append({
                        "scheme": key, "group": group, "column": f"{column}-{load}",
                        "paper": float(getattr(ROWS[key], column)[PLACE[load]]), "mean": spread.mean,
                        "half_width": spread.half_width,
                    })  # fmt: skip
    frame = pl.DataFrame(rows).with_columns(pl.col("half_width").fill_nan(None))
    columns = tuple(
        (f"{column}-{load}", f"{label}, {load} %")
        for load in CONGESTED_LOADS
        for column, label in (("loss", "packets lost (%)"), ("completed", "million requests"))
    )

    def loss(key: str, end: str = "") -> float:
        return interval(measured(results, f"{key}-105{end}", "loss")).mean

    told = ", ".join(
        f"{STYLES[key].label} {number(loss(key))} and {number(loss(key, '-long'))} (paper {ROWS[key].loss[2]:g})"
        for key in KEYS
    )
    return FigurePart(
        id="long",
        label="Longer runs",
        title=f"What runs {LONGER} times as long change",
        setup=f"Runs of each scheme at 98 and 105 % that take {LONGER} times as long, their warm-up too: the first "
        "seed's draws, and as many users as all seeds have on average, which make the load in the long run. Short runs "
        "with 95 % intervals over seeds. Requests scaled to 90 minutes.",
        paper_says="Runs of 120 minutes, of which 90 are measured.",
        measured=f"Loss at 105 % in %, in short runs and in the long one: {told}. DCN's loss over "
        f"Drop Tail's: {loss('dcn') / loss('drop-tail'):.2f} and "
        f"{loss('dcn', '-long') / loss('drop-tail', '-long'):.2f}.",
        alt="Loss and completed requests of eight schemes in short and long runs, and the paper's.",
        drawing=charts.table(columns, frame, KEYS, ["short", "long"]),
        data=frame,
    )
