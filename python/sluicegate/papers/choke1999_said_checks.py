"""The checks of what the CHOKe report says without a figure: its goals (Sec. 2 and 3) and its conclusion (Sec. 6).

Each has a stated measure. Where CHOKe differs from what is said, the evidence takes away what it adds to RED, the
comparison with queued packets, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..stats import Interval, difference, interval
from .checks import Bounds, Check, above, below
from .choke1999_cases import (
    BURST_PACKETS,
    BURSTS,
    CHOKE,
    CHOKE_ALONE,
    RED_ALONE,
    SINGLE,
    TCP_FLOWS,
    TOGETHER,
    Case,
)
from .choke1999_checks import by_seed, slug

FEW = 8
"""How many TCP flows are few: CHOKe matches each of their packets with probability 1/8 or more."""

_ALIKE = (
    ("link", "fills the link", "utilisation", 100.0, "% of the link"),
    ("queue", "keeps the average queue", "average_mean", 1.0, "packets"),
    ("loss", "loses packets", "loss_ratio", 100.0, "% of the arrivals"),
)
"""In what CHOKe without UDP is compared with RED: name, words, column, factor, unit."""


def _ids(*names: str) -> tuple[str, ...]:
    return tuple(f"{slug(case)}-{name}" for case in CHOKE for name in names)


OF_FIGURE: dict[str, tuple[str, ...]] = {
    "alone": _ids(
        *(f"alone-{name}" for name, *_ in _ALIKE), f"alone-{FEW}-link", f"alone-{FEW}-loss",
        *(f"alone-{name}-never-meeting" for name, *_ in _ALIKE),
    ),
    "in-step": _ids("in-step", "in-step-less-than-drop-tail", "in-step-with-udp"),
    "bursts": (
        "red-30-60-bursts", "red-100-200-bursts",
        *_ids("bursts", "bursts-mostly-matches", "bursts-less-than-drop-tail"),
    ),
}  # fmt: skip
"""Which checks stand under which figure."""


def checks(runs: pl.DataFrame) -> list[Check]:
    """All checks of these statements on `choke1999.points`."""
    result: list[Check] = []
    for index in (0, 1):
        result += [*_alone(runs, index), *_in_step(runs, index), *_bursts(runs, index)]
    return result


# No unresponsive flow: just like RED? -----------------------------------------------------------------------------


def _alone(runs: pl.DataFrame, index: int) -> list[Check]:
    """CHOKe without UDP beside RED, with the report's 32 flows, with few, and where packets cannot meet their own."""
    red, choke = RED_ALONE[index], CHOKE_ALONE[index]
    result = []
    for name, words, column, factor, unit in _ALIKE:
        bounds = _as_one_run_of(by_seed(runs, red, column, factor), f"{TCP_FLOWS} flows")
        result.append(
            _alike(f"{slug(choke)}-alone-{name}", choke, f"{words} as RED does", bounds,
                   by_seed(runs, choke, column, factor), unit, f"{slug(choke)}-alone-{name}-never-meeting")
        )  # fmt: skip
    for name, words, column, factor, unit in _ALIKE:
        if name == "queue":
            continue
        bounds = _as_one_run_of(by_seed(runs, red.of(FEW), column, factor), f"{FEW} flows")
        result.append(
            _alike(f"{slug(choke)}-alone-{FEW}-{name}", choke, f"with {FEW} TCP flows it {words} as RED does", bounds,
                   by_seed(runs, choke.of(FEW), column, factor), unit, f"{slug(choke)}-alone-{name}-never-meeting")
        )  # fmt: skip
    red, single = SINGLE[index], SINGLE[index + 2]
    for name, words, column, factor, unit in _ALIKE:
        value = interval(by_seed(runs, single, column, factor))
        result.append(
            Check(
                id=f"{slug(choke)}-alone-{name}-never-meeting",
                source=f"Sec. 6; our variant: {single.tcp_flows} TCP flows with a window of one packet, so that none "
                "has two in the queue",
                kind="shown",
                paper=f"CHOKe behaves just like RED; tested: where no packet can meet one of its flow, it {words} as "
                "RED does",
                measured=value.mean,
                unit=unit,
                bounds=_as_one_run_of(by_seed(runs, red, column, factor), f"{red.tcp_flows} such flows"),
            )
        )
    return result


def _alike(
    id_: str, case: Case, words: str, bounds: Bounds, values: Sequence[float], unit: str, evidence: str
) -> Check:
    thresholds = case.thresholds or (0, 0)
    return Check(
        id=id_,
        source=f"Sec. 6; thresholds {thresholds[0]} and {thresholds[1]}",
        kind="claim",
        paper=f"without unresponsive flows CHOKe behaves just like RED; tested: {words}",
        measured=interval(values).mean,
        unit=unit,
        bounds=bounds,
        explanation="Packets of TCP meet packets of their own flow too, about one in as many as there are flows, and "
        "each meeting costs two of them: with few flows CHOKe drops more than RED and keeps a shorter queue (so also "
        "Tang, Wang and Low 2004, Sec. VI). Where no flow has two packets in the queue the difference is gone.",
        evidence=evidence,
    )


def _as_one_run_of(red: Sequence[float], flows: str) -> Bounds:
    """Where one run of RED lies: a mean that lies there too cannot be told from RED."""
    spread = interval(red)
    half = max(spread.run_margin, 0.005 * abs(spread.mean))
    return Bounds(
        spread.mean - half,
        spread.mean + half,
        f"RED's mean with {flows}, {spread.mean:.4g}, give or take the 95 % prediction interval of one of its runs "
        f"over {spread.count} seeds ({spread.run_margin:.2g}), or half a per cent of it when that is more",
    )


# No synchronisation -----------------------------------------------------------------------------------------------

_MEASURE = (
    "variance over time of the sum of the 32 windows over the sum of their variances, all flows starting at once: 1 if "
    "independent, 32 if in step"
)


def _in_step(runs: pl.DataFrame, index: int) -> list[Check]:
    drop_tail, choke, with_udp = TOGETHER[0], TOGETHER[3 + index], TOGETHER[5 + index]
    ratios = [by_seed(runs, case, "window_ratio") for case in (drop_tail, choke, with_udp)]
    less = difference(ratios[0], ratios[1])
    result = []
    for name, words, value in (
        ("in-step", "", interval(ratios[1])),
        ("in-step-with-udp", " beside UDP at 2 Mbit/s", interval(ratios[2])),
    ):
        result.append(
            Check(
                id=f"{slug(choke)}-{name}",
                source="Sec. 2, goal 4, and Sec. 3",
                kind="claim",
                paper="no global synchronisation; tested: the sum of the windows varies less than twice as much as "
                f"that of independent ones{words}, which is a mean correlation under 1/31",
                measured=value.mean,
                unit=_MEASURE,
                bounds=below(2, value),
            )
        )
    result.append(
        Check(
            id=f"{slug(choke)}-in-step-less-than-drop-tail",
            source="Sec. 1 and 3",
            kind="claim",
            paper="random drops avoid the synchronisation of Drop Tail; tested: the ratio is smaller than Drop Tail's, "
            "seed by seed",
            measured=less.mean,
            unit="that Drop Tail's ratio is greater",
            bounds=above(0, less),
        )
    )
    return result


# No bias against bursts -------------------------------------------------------------------------------------------


def excess(runs: pl.DataFrame, case: Case, what: str = "loss") -> list[float]:
    """By how many percentage points the bursts lose more than the smooth flow, by seed; `what`: `loss` or `match`."""
    burst, smooth = (by_seed(runs, case, f"{name}_{what}", 100) for name in ("burst", "smooth"))
    return [first - second for first, second in zip(burst, smooth, strict=True)]


def _bursts(runs: pl.DataFrame, index: int) -> list[Check]:
    equal_room, red, choke = BURSTS[index], BURSTS[3 + index], BURSTS[5 + index]
    thresholds = choke.thresholds or (0, 0)
    all_of_it = interval(excess(runs, choke))
    matches = interval(excess(runs, choke, "match"))
    beyond_half = difference(excess(runs, choke, "match"), [each / 2 for each in excess(runs, choke)])
    less = difference(excess(runs, equal_room), excess(runs, choke))
    points = "percentage points that the bursts lose more"
    source = f"Sec. 2, goal 3, and Sec. 3; thresholds {thresholds[0]} and {thresholds[1]}"
    return [
        Check(
            id=f"{slug(red)}-bursts",
            source=f"Sec. 1 and 2; thresholds {thresholds[0]} and {thresholds[1]}",
            kind="claim",
            paper=f"RED has no bias against bursts; tested: a flow that sends {BURST_PACKETS} packets at once loses "
            "no larger a part of them than a smooth one of the same mean rate",
            measured=interval(excess(runs, red)).mean,
            unit=points,
            bounds=_none(interval(excess(runs, red))),
        ),
        Check(
            id=f"{slug(choke)}-bursts",
            source=source,
            kind="claim",
            paper="CHOKe keeps RED's advantage: no bias against bursts; tested as for RED",
            measured=all_of_it.mean,
            unit=points,
            bounds=_none(all_of_it),
            explanation="The packets of a burst meet each other in the queue, as an unresponsive flow's do, which "
            "costs two for each meeting. Losses for other causes hit bursts and smooth traffic alike.",
            evidence=f"{slug(choke)}-bursts-mostly-matches",
        ),
        Check(
            id=f"{slug(choke)}-bursts-mostly-matches",
            source=source,
            kind="shown",
            paper="no bias against bursts; tested: of what the bursts lose more than the smooth flow, most is lost by "
            "meeting their own flow",
            measured=matches.mean,
            unit=f"{points} by meetings, of {all_of_it.mean:.2g} in all",
            bounds=above(all_of_it.mean / 2, beyond_half),
        ),
        Check(
            id=f"{slug(choke)}-bursts-less-than-drop-tail",
            source=source,
            kind="claim",
            paper="a small average queue lets a burst in; tested: the bias is smaller than Drop Tail's whose queue "
            f"is as long (room for max_th = {thresholds[1]} packets), seed by seed",
            measured=less.mean,
            unit="percentage points that Drop Tail's bias is greater",
            bounds=above(0, less),
        ),
    ]


def _none(spread: Interval) -> Bounds:
    """At most nothing, as far as the seeds can tell."""
    return Bounds(
        None,
        spread.margin,
        f"0, give or take {spread.margin:.2g}, the 95 % interval over {spread.count} seeds",
    )
