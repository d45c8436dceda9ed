"""Figs. 19 and 20: response times of general TCP, and their tail."""

from __future__ import annotations

from collections.abc import Iterator

from ...reproduce import Check, Runs, below, claim, figure
from .charts import TAIL_TIMES, Distributions
from .network import GENERAL_TCP, beyond_halfway, less
from .response_times import CAP_S, Distribution, share
from .schemes import AFD_ECN, DCN, DROP_TAIL, PI_ECN, RIO_PS_ECN

OUTPERFORM = "DCN and RIO-PS outperform Drop Tail and other AQM designs"
WORSE = (DROP_TAIL, PI_ECN, AFD_ECN)


@figure(19, "General TCP: response times", source="Sec. 5.2, Fig. 19", chart=Distributions(), runs=GENERAL_TCP)
def fig19(runs: Runs) -> Iterator[Check]:
    """Connections with exchanges of 46 kB on average in place of web users; 105.3 Mbit/s offered in one direction, 91.2
    in the other."""
    for better in (DCN, RIO_PS_ECN):
        for worse in WORSE:
            yield claim(OUTPERFORM, less(runs, better, worse), below(0), id="order")
        yield claim("they come close to the uncongested network", beyond_halfway(runs, better), below(0), id="close")


@figure(20, "General TCP: the tail of response times", source="Sec. 5.2, Fig. 20", runs=GENERAL_TCP,
        chart=Distributions(Distribution.of_times, TAIL_TIMES, "tail", "exchanges that take longer"))  # fmt: skip
def fig20(runs: Runs) -> Iterator[Check]:
    """The complement of Figure 19 on logarithmic axes."""
    for better in (DCN, RIO_PS_ECN):
        for worse in WORSE:
            done, others = (share(runs.at(scheme=each), Distribution.of_times, CAP_S) for each in (better, worse))
            more = (others - done).as_("exchanges that take longer than 2 s, less the other's", "% points",
                                       f"{better.label} against {worse.label}")  # fmt: skip
            yield claim(OUTPERFORM, more, below(0), id="tail")
