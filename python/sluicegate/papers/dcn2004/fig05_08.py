"""Figs. 5 to 8: response times under DCN, PI, AFD and RIO-PS at each load."""

from __future__ import annotations

from collections.abc import Iterator

from ...reproduce import Check, Runs, above, below, between, claim, figure, reference
from .charts import Distributions
from .network import CONGESTED, LOADS, beyond_halfway, growth, less, under
from .response_times import plateau
from .schemes import AFD, AFD_ECN, DCN, DROP_TAIL, PI, PI_ECN, RIO_PS, RIO_PS_ECN, UNCONGESTED

# Not drawn: Drop Tail, whose distance from the uncongested network the others' is compared with.
of_dcn = under(LOADS, (UNCONGESTED, DROP_TAIL, DCN))
of_pi = under(LOADS, (UNCONGESTED, PI, PI_ECN))
of_afd = under(LOADS, (UNCONGESTED, DROP_TAIL, AFD, AFD_ECN, PI))
of_rio = under(LOADS, (UNCONGESTED, DROP_TAIL, RIO_PS, RIO_PS_ECN))


@figure(5, "DCN: response times", source="Sec. 5.1, Fig. 5", runs=of_dcn,
        chart=Distributions(schemes=(UNCONGESTED, DCN)))  # fmt: skip
def fig5(runs: Runs) -> Iterator[Check]:
    """Web users on both sides. Bands: 95 % intervals over seeds."""
    for load in LOADS:
        yield claim("at all loads performance is close to that of the uncongested network",
                    beyond_halfway(runs.at(load=load), DCN), below(0), id="close")  # fmt: skip
    for load in CONGESTED:
        more = growth(runs, DCN, load) - growth(runs, DROP_TAIL, load) * 0.5
        told = f"{more.label}, less half of Drop Tail's growth"
        yield claim("the performance degradation is rather small", more.as_(told), below(0), id="degradation")


@figure(6, "PI: response times", source="Sec. 5.1, Fig. 6", chart=Distributions(), runs=of_pi)
def fig6(runs: Runs) -> Iterator[Check]:
    """As Figure 5."""
    for load in CONGESTED:
        more = growth(runs, PI_ECN, load) - growth(runs, PI, load) * 0.5
        yield claim("performance degrades rapidly above 90 %; with ECN it is only modestly worse", more.as_(
                    f"{more.label}, less half of the growth without ECN"), below(0), id="degradation")  # fmt: skip


@figure(7, "AFD: response times", source="Sec. 5.1, Fig. 7", runs=of_afd,
        chart=Distributions(schemes=(UNCONGESTED, AFD, AFD_ECN), mark_s=1.0))  # fmt: skip
def fig7(runs: Runs) -> Iterator[Check]:
    """As Figure 5. Dotted: the least timeout, 1 s."""
    yield claim("at 90 % performance is fairly close to that of an uncongested network",
                beyond_halfway(runs.at(load=90), AFD), below(0), id="close")  # fmt: skip
    for load in CONGESTED:
        at = runs.at(load=load)
        more = growth(runs, AFD, load) - growth(runs, DROP_TAIL, load) * 0.5
        told = f"{more.label}, less half of Drop Tail's growth"
        yield claim("there is significant degradation", more.as_(told), above(0), id="degradation")
        yield claim("a small yet noticeable improvement with ECN", less(at, AFD_ECN, AFD), below(-1), id="ecn",
                    tested="the mean response time is shorter by 1 ms at least")  # fmt: skip
        yield claim(
            "a flat region extending out to 1 second, the minimum timeout", plateau(at.at(scheme=AFD)), above(1),
            id="plateau", remark="We have not isolated the cause; Table 1 has what AFD drops. If small flows lose as "
            "many packets as under PI, these hosts show the flat region.",
        )  # fmt: skip
        yield reference("a flat region out to 1 second: these hosts do show it", plateau(at.at(scheme=PI)), above(1),
                        id="plateau", source="beside Fig. 7")  # fmt: skip


@figure(8, "RIO-PS: response times", source="Sec. 5.1, Fig. 8", runs=of_rio,
        chart=Distributions(schemes=(UNCONGESTED, RIO_PS, RIO_PS_ECN)))  # fmt: skip
def fig8(runs: Runs) -> Iterator[Check]:
    """As Figure 5."""
    at_90 = beyond_halfway(runs.at(load=90), RIO_PS)
    yield claim("reasonably good performance at 90 % load", at_90, below(0), id="close")
    for load in CONGESTED:
        more = growth(runs, RIO_PS, load)
        yield claim("still significant degradation at higher loads", more, above(0), id="degradation")
    for load in LOADS:
        with_ecn, without = (runs.at(load=load, scheme=each)["capped"] for each in (RIO_PS_ECN, RIO_PS))
        change = with_ecn.gain_over(without).as_(f"change of the {without.label} by ECN", "%")
        yield claim("ECN contributes little to the performance of flows", change, between(-10, 10), id="ecn")
