"""How many candidates to draw, so that k unresponsive flows stay under a given share of the link.

CHOKe 1999 says that drop-m must grow with the number of unresponsive flows (Sec. 6) and leaves open how. Two answers:
`candidates_for` from the closed curve, for any link with many TCP flows and a long queue; `candidates_at` from the full
model, for one link and its flows, where more candidates also cost TCP more (p_1 is 2m·b_1/b and more), until CHOKe no
longer stays active.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .approximate import worst_share
from .errors import InactiveError
from .laws import Array, CongestionLaw, RateLaw
from .model import equilibria_of
from .numerics import check
from .solver import FlowClass

MOST_CANDIDATES = 64
"""As many as the discipline takes."""


def candidates_for(k: int, share: float, *, most: int = 4096) -> int | None:
    """The least m with which `k` equal unresponsive flows never have more than `share` of the link, whatever they send.

    By `worst_share`: many TCP flows, a long queue. None when `most` are not enough.
    """
    check("share", share, 0 < share < 1, "must be above 0 and below 1")
    check("most", most, most >= 1, "must be at least 1")
    high = 1
    while worst_share(k, high) > share:
        if high == most:
            return None
        high = min(2 * high, most)
    low = high // 2 + 1 if high > 1 else 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if worst_share(k, middle) <= share else (middle + 1, high)
    return low


@dataclass(frozen=True)
class Candidates:
    """What `candidates_at` found.

    Attributes:
        m: The least number of candidates that keeps the share; None if none of those tried does.
        tried: The numbers tried.
        worst: For each, the greatest share that the model gives the unresponsive flows together at the rates tried; NaN
            where it gives none.
        rate: For each, the rate of one flow at which that is, packets per second.
        inactive: For each, whether there are rates at which CHOKe would not stay active. `m` is never such a number.
    """

    m: int | None
    tried: tuple[int, ...]
    worst: Array
    rate: Array
    inactive: tuple[bool, ...]


def candidates_at(
    k: int,
    share: float,
    *,
    N: float,
    c: float,
    f: RateLaw,
    g: CongestionLaw,
    rates: ArrayLike | None = None,
    most: int = 16,
) -> Candidates:
    """The least m with which `k` equal unresponsive flows beside `N` TCP flows never have more than `share` of the
    link, by the full model.

    `rates`: of one flow, packets per second, over which the worst counts (default: 40 from 0.05·c to 100·c). `most`:
    the greatest m to try. Other arguments as for `equilibria`; with `Red(…, hold=True)` every rate has an answer.
    """
    check("k", k, k >= 1, "must be at least 1")
    check("share", share, 0 < share < 1, "must be above 0 and below 1")
    check("most", most, 1 <= most <= MOST_CANDIDATES, f"must be from 1 to {MOST_CANDIDATES}")
    each = c * np.geomspace(0.05, 100, 40) if rates is None else np.atleast_1d(np.asarray(rates, dtype=float))
    tried = tuple(range(1, most + 1))
    x0, m = np.tile(each, len(tried)), np.repeat(np.array(tried, dtype=float), len(each))
    found = equilibria_of([FlowClass(float(k), x0, "udp"), FlowClass(N, f, "tcp")], c=c, g=g, m=m)
    table = found.share.reshape(len(tried), len(each))
    known = np.where(np.isnan(table), -np.inf, table)
    worst = np.where(np.isinf(known.max(axis=1)), np.nan, known.max(axis=1))
    idle = [isinstance(refusal, InactiveError) for refusal in found.refusals]
    inactive = tuple(bool(row.any()) for row in np.array(idle).reshape(table.shape))
    whole = ~np.isnan(table).any(axis=1) & (worst <= share)
    least = tried[int(np.argmax(whole))] if whole.any() else None
    return Candidates(least, tried, worst, each[known.argmax(axis=1)], inactive)
