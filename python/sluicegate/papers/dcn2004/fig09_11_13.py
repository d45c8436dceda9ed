"""Figs. 9, 11 and 13: the best version of each design side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...reproduce import Check, Quantity, Runs, below, claim, figure, number, within
from .charts import Distributions
from .network import BEST_AT, beyond_halfway, less, under
from .response_times import PERCENTILES, RESOLUTION, percentiles
from .schemes import (
    AFD,
    AFD_ECN,
    BEST,
    DCN,
    DROP_TAIL,
    OTHER_AQM,
    PI,
    PI_ECN,
    RIO_PS,
    RIO_PS_ECN,
    SCHEMES,
)

REST = (DROP_TAIL, AFD, AFD_ECN, RIO_PS, RIO_PS_ECN)
"""The schemes that DCN and PI with ECN are to outperform."""

WITHOUT_ECN = (DROP_TAIL, AFD, RIO_PS)
"""The schemes that PI without ECN is to outperform: only schemes without ECN."""

SUPERIOR = "clear performance superiority for DCN and PI with ECN"
CARRIED = (
    "The cause is not isolated. Table 1 has what both schemes carry and drop; the figure on targets has PI with "
    "240 packets."
)

chart = Distributions(schemes=BEST)
at_98, at_105 = (under([load], SCHEMES) for load in (98, 105))


@figure(9, "All schemes at 90 % load", source="Sec. 5.1, Fig. 9", chart=chart, runs=BEST_AT[90])
def fig9(runs: Runs) -> Iterator[Check]:
    """The best version of each design, as the paper chose it. Bands: 95 % intervals over seeds. DCN's distance from
    the uncongested network is under Figure 5."""
    for scheme in OTHER_AQM:
        yield claim("all but Drop Tail are not significantly degraded over the uncongested case",
                    beyond_halfway(runs, scheme), below(0), id="close")  # fmt: skip


@figure(11, "All schemes at 98 % load", source="Sec. 5.1, Figs. 9, 11", chart=chart, runs=at_98)
def fig11(runs: Runs) -> Iterator[Check]:
    """As Figure 9. Mean response times are compared run by run, with the same users and the same draws."""
    yield from orders(runs)
    most = within(None, 1 + RESOLUTION, "1 plus the width of a bin of response times (1/64)")
    yield claim("for the vast majority of flows better than Drop Tail: no percentile up to the 99th is worse",
                worst_percentile(runs), most, source="Sec. 5.1, Fig. 11", id="percentiles")  # fmt: skip


@figure(13, "All schemes at 105 % load", source="Sec. 5.1, Figs. 9, 13", chart=chart, runs=at_105)
def fig13(runs: Runs) -> Iterator[Check]:
    """As Figure 11."""
    yield from orders(runs)


def orders(runs: Runs) -> Iterator[Check]:
    """Which scheme answers sooner than which: the paired difference lies below 0 with its whole interval."""
    for better in (DCN, PI_ECN):
        yield claim("PI without ECN comes behind", less(runs, better, PI), below(0), id="order")
    for worse in REST:
        yield claim(SUPERIOR, less(runs, DCN, worse), below(0), id="order")
        yield claim(SUPERIOR, less(runs, PI_ECN, worse), below(0), id="order", remark=CARRIED)
        if worse in WITHOUT_ECN:
            yield claim("PI comes before the others without ECN", less(runs, PI, worse), below(0), id="order",
                        remark=CARRIED)  # fmt: skip
    yield claim("DCN, even without ECN, is equal or superior to PI with ECN", less(runs, DCN, PI_ECN),
                within(None, 0, "at most 0"), id="order")  # fmt: skip


def worst_percentile(runs: Runs) -> Quantity:
    """DCN's response time over Drop Tail's, the geometric mean over seeds, at the percentile where it is greatest."""
    dcn, tail = (percentiles(runs.at(scheme=scheme)) for scheme in (DCN, DROP_TAIL))
    means = np.log(dcn / tail).mean(axis=0)
    where = f"the {100 * PERCENTILES[means.argmax()]:.0f}th"
    return number(math.exp(means.max()), "", f"DCN's response time over Drop Tail's at the worst percentile, {where}")
