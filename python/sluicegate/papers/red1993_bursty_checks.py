"""The checks of RED 1993's Figs. 12 to 15: who is notified, who gets through.

`red1993_bursty` defines the measures.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..stats import Interval, difference, interval
from .checks import Bounds, Check, above, printed
from .points import mean
from .red1993_bursty import (
    DECBIT,
    DROP_TAIL,
    RANDOM_DROP,
    RED,
    ROOM,
    SELECTIVE,
    Case,
    at_the_same_queue,
    excesses,
    most_drops,
    notice_shares,
    own_shares,
    possible_shares,
)

OF_FIGURE: dict[str, tuple[str, ...]] = {
    "fig12": ("fig12-drop-tail-less-at-the-same-queue",),
    "fig13": ("fig13-random-drop-less-at-the-same-queue",),
    "fig14": ("fig14-close-to-the-maximum",),
    "fig15": (
        "fig15-red", "fig15-red-with-room", "fig15-drop-tail", "fig15-random-drop", "fig15-red-less-than-drop-tail",
        "fig15-red-less-than-random-drop", "fig15-decbit", "fig15-decbit-selective",
        "fig15-decbit-selective-spares", "fig15-most-drops",
    ),
}  # fmt: skip
"""Which checks stand under which figure."""

ROUGHLY = 0.25
"""How far from the line dots may be centred and still be roughly on it: a part of node 5's share of the throughput.
Chosen here; under gateways that are biased the distance is that whole share and more."""

_POINTS = "percentage points: node 5's share of the drops less its share of the throughput"


def checks(rows: pl.DataFrame) -> list[Check]:
    """All checks of Figs. 12 to 15 on `red1993_bursty.periods`."""
    return [*_throughput(rows), *_scatter(rows)]


def _throughput(rows: pl.DataFrame) -> list[Check]:
    result = []
    for case, id_, words in (
        (DROP_TAIL, "fig12-drop-tail-less-at-the-same-queue", "Drop Tail"),
        (RANDOM_DROP, "fig13-random-drop-less-at-the-same-queue", "Random Drop"),
    ):
        more = interval(at_the_same_queue(rows, case))
        result.append(
            Check(
                id=id_,
                source=f"Sec. IX, Figs. {case.id[3:5]} and 14",
                kind="claim",
                paper=f"{words} is biased against bursty traffic, RED is not; the most appropriate comparison is at "
                "the same average queue. Tested: there node 5 has more of the throughput under RED, seed by seed",
                measured=more.mean,
                unit="percentage points of the throughput that node 5 has more under RED",
                bounds=above(0, more),
            )
        )
    shares = possible_shares(rows, RED).sort("seed", "value")
    short, parts = [], []
    for _, run in shares.group_by("seed", maintain_order=True):
        short.append(mean((run["possible"] - run["share"]).to_list()))
        parts.append(100 * mean((run["share"] / run["possible"]).to_list()))
    gained = difference(at_the_same_queue(rows, DROP_TAIL), short)
    result.append(
        Check(
            id="fig14-close-to-the-maximum",
            source="Sec. IX, Fig. 14",
            kind="claim",
            paper="under RED node 5's throughput is close to the maximum possible, given its round trip and window; "
            "tested: it is closer to that than to what Drop Tail gives it at the same average queue, over all min_th",
            measured=gained.mean,
            unit="percentage points of the throughput: what RED gives more than Drop Tail, less the "
            f"{mean(short):.2g} that are wanting to the maximum (RED gives {interval(parts).mean:.0f} % of it)",
            bounds=above(0, gained),
        )
    )
    return result


def _scatter(rows: pl.DataFrame) -> list[Check]:
    values = {case.id: excesses(rows, case) for case in (RED, ROOM, DROP_TAIL, RANDOM_DROP, DECBIT, SELECTIVE)}
    spreads = {id_: interval(each) for id_, each in values.items()}
    shares = {case.id: own_shares(rows, case) for case in (RED, ROOM, SELECTIVE)}

    def check(id_: str, case: Case, paper: str, bounds: Bounds, unit: str = _POINTS, **more: str) -> Check:
        return Check(id_, "Sec. IX, Fig. 15", "claim", paper, spreads[case.id].mean, unit, bounds, **more)

    result = [
        check(
            "fig15-red",
            RED,
            "node 5's share of the drops reflects its share of the throughput: the dots are roughly centred on the "
            "line where both are equal",
            _centred(spreads[RED.id], shares[RED.id]),
        ),
        check(
            "fig15-red-with-room",
            ROOM,
            "the same where the buffer (200 packets, our variant) never overflows, so that RED alone drops",
            _centred(spreads[ROOM.id], shares[ROOM.id]),
        ),
    ]
    for case, id_, words in (
        (DROP_TAIL, "fig15-drop-tail", "Drop Tail"),
        (RANDOM_DROP, "fig15-random-drop", "Random Drop"),
    ):
        less = difference(values[case.id], values[RED.id])
        result += [
            check(
                id_, case, f"under {words} node 5 has a small part of the throughput and a large part of the drops",
                above(0, spreads[case.id]),
            ),
            Check(
                f"fig15-red-less-than-{id_[6:]}", "Sec. IX, Fig. 15", "claim",
                f"RED lacks the bias of {words}; tested: its excess is smaller, seed by seed",
                less.mean, f"percentage points that the excess is greater under {words}", above(0, less),
            ),
        ]  # fmt: skip
    spares = interval(notice_shares(rows, SELECTIVE))
    corrected = difference(values[DECBIT.id], values[SELECTIVE.id])
    most = interval(most_drops(rows))
    unit = _POINTS.replace("drops", "set bits")
    result += [
        check(
            "fig15-decbit",
            DECBIT,
            "under DECbit node 5's packets have a disproportionate chance of having their bits set",
            above(0, spreads[DECBIT.id]),
            unit,
        ),
        Check(
            id="fig15-decbit-selective",
            source="Sec. IX: “would be corrected by selective feedback”, not simulated there",
            kind="claim",
            paper="selective feedback would correct DECbit's bias against bursty traffic; tested: node 5's share of "
            "the set bits reflects its share of the throughput",
            measured=spreads[SELECTIVE.id].mean,
            unit=f"{unit} ({corrected.mean:.2g} less than without selection)",
            bounds=_centred(spreads[SELECTIVE.id], shares[SELECTIVE.id]),
            explanation="It does more than correct it: only flows above their fair share get the bit, and node 5, "
            "whose window and round trip allow less than that, gets none.",
            evidence="fig15-decbit-selective-spares",
        ),
        Check(
            id="fig15-decbit-selective-spares",
            source="Sec. IX: the bit only for users with more than their fair share",
            kind="claim",
            paper="with selective feedback a flow below its fair share gets no bits; tested: node 5's share of the set "
            "bits",
            measured=spares.mean,
            unit=f"% of the set bits, with {mean(shares[SELECTIVE.id]):.2g} % of the throughput where a fifth is fair",
            bounds=Bounds(0, 0.1, "0 %, to one decimal of a per cent: who has a fair share is judged cycle by cycle"),
        ),
        Check(
            id="fig15-most-drops",
            source="Sec. IX",
            kind="shown",
            paper="in one second of Figs. 12 to 14 up to 61 packets are dropped",
            measured=most.mean,
            unit="packets, the most in one second of one simulation of each figure",
            bounds=printed(61, 1, most),
        ),
    ]
    return result


def _centred(spread: Interval, shares: Sequence[float]) -> Bounds:
    """Around zero by no more than a part of the share of the throughput, the interval of the mean included."""
    room = ROUGHLY * mean(shares)
    half = max(0.0, room - spread.margin)
    return Bounds(
        -half,
        half,
        f"0, “roughly”: give or take {100 * ROUGHLY:.0f} % of node 5's share of the throughput ({room:.2g} points), "
        f"less {spread.margin:.2g} on either side so that the whole 95 % interval over {spread.count} seeds is within",
    )
