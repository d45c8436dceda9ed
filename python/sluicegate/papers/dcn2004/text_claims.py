"""What the paper says without a figure: targets, the control law, state, unresponsive flows; and what its words leave
open: the delays, and how many users make a load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import polars as pl

from ...reproduce import Check, Drawing, Quantity, Runs, Table, below, claim, figure, number, printed, reference, within
from .charts import Distributions
from .load import Calibration
from .network import CONGESTED, GENERAL, LOADS, UDP_THROUGHPUT, less, under, with_udp
from .schemes import DCN, DROP_TAIL, PI, PI_240, PI_ECN, PI_ECN_240, PRINTED_LAW, RIO_PS

FAR = tuple((f"flows.{at}.{key}", value) for at in (0, 1) for key, value in (("rtt", "20 ms"), ("rtt_max", "300 ms")))

pi_targets = under(CONGESTED, (DROP_TAIL, PI, PI_240, PI_ECN, PI_ECN_240))
both_laws = under(CONGESTED, (DROP_TAIL, DCN, PRINTED_LAW))
tables = under(LOADS, (DCN, RIO_PS))
with_unresponsive = under([90], (DROP_TAIL, DCN), edit=with_udp, measure=UDP_THROUGHPUT, about="with UDP")
far = under([98], (DROP_TAIL, PI_ECN, DCN), sets=FAR, about="delays each way")


@figure("targets", "PI with a longer queue", label="Targets", source="Sec. 5", after=20, chart=Distributions(),
        runs=pi_targets)  # fmt: skip
def targets(runs: Runs) -> Iterator[Check]:
    """PI, without and with ECN, with a target of 24 packets and of 240."""
    for load in CONGESTED:
        for best, other in ((PI, PI_240), (PI_ECN, PI_ECN_240)):
            yield claim("PI obtains its best performance with a target queue length of 24 packets",
                        less(runs.at(load=load), best, other), below(0), id="best",
                        remark="So short a queue runs empty between bursts, and the link idles.")  # fmt: skip


@figure("law", "DCN's control law", label="Control law", source="Sec. 3.2", after=20, chart=Distributions(),
        runs=both_laws)  # fmt: skip
def law(runs: Runs) -> Iterator[Check]:
    """As the paper prints the law, p_ref rises with the last length of the queue and falls with the one before. DCN has
    the signs of AFD here."""
    for load in CONGESTED:
        for scheme in (DCN, PRINTED_LAW):
            queue = runs.at(load=load, scheme=scheme)["queue"]
            yield reference("the controller holds the queue at q_ref, 24 packets", queue, printed(24, 1), id="queue")


@figure("state", "State for high-bandwidth flows only", label="State", source="Sec. 5.1", after=20, runs=tables)
def state(runs: Runs) -> Iterator[Check]:
    """Flows that DCN remembers in its tables HB and SB (in SB, those seen within a clearing interval), and flows
    that RIO-PS remembers; means over the measured time."""
    start_s = runs.settings.warmup_s
    for load in LOADS:
        hb, sb = (shown(runs.at(load=load, scheme=DCN), name, start_s) for name in ("hb_flows", "sb_flows"))
        rio = shown(runs.at(load=load, scheme=RIO_PS), "flows", start_s)
        yield claim("DCN keeps state for high-bandwidth flows only and requires significantly less than RIO-PS",
                    (hb / rio).as_(f"flows in HB over flows that RIO-PS remembers ({hb.mean:.0f} over {rio.mean:.0f})"),
                    below(0.5), id="less")  # fmt: skip
        yield reference("less than RIO-PS, the scoreboard's flows counted too", ((hb + sb) / rio).as_(
                        f"flows in HB and SB ({sb.mean:.0f}) over RIO-PS's"), below(1), id="both",
                        source="beside Sec. 5.1")  # fmt: skip
    yield reference("about 2000 flows are identified as high-bandwidth", hb.as_("flows in HB of one direction"),
                    within(1000, 4000, "“~2000”, within a factor of 2"), source="Sec. 3.1", id="hb")  # fmt: skip


def shown(at: Runs, name: str, from_s: float, to_s: float = math.inf, link: str = "") -> Quantity:
    """The mean of a value that a discipline shows, over this time and both directions or one."""
    rows = at.rows("state").filter(pl.col("name") == name, pl.col("time_s") > from_s, pl.col("time_s") <= to_s)
    if link:
        rows = rows.filter(pl.col("link") == link)
    return at.quantity(rows.group_by("seed").agg(pl.col("value").mean()), "value")


@figure("unresponsive", "An unresponsive flow among the users of 90 % load", label="Unresponsive flow", source="Sec. 3",
        after=20, runs=with_unresponsive)  # fmt: skip
def unresponsive(runs: Runs) -> Iterator[Check]:
    """UDP at 10 Mbit/s; TCP flows get a tenth of that at most."""
    dcn, tail = (runs.at(scheme=each)["udp"] for each in (DCN, DROP_TAIL))
    told = f"{dcn.label} under DCN ({dcn.mean:.2f}), less half of what it gets under Drop Tail ({tail.mean:.2f})"
    yield claim("DCN will also police high-bandwidth non-TCP flows that do not reduce their rate",
                (dcn - tail * 0.5).as_(told, where=""), below(0), id="policed")  # fmt: skip


@figure("delays", "The other reading of the delays", label="Delays", source="beside Sec. 4", after=20,
        chart=Distributions(), runs=far)  # fmt: skip
def delays(runs: Runs) -> Iterator[Check]:
    """98 % load, with delays of 10 to 150 ms each way, not there and back: the paper's round trips reach 400 ms."""
    for worse in (DROP_TAIL, PI_ECN):
        yield reference("DCN does better with delays of 10 to 150 ms each way, too", less(runs, DCN, worse), below(0),
                        id="order")  # fmt: skip


def amounts(prepared: Calibration, checks: Sequence[Check], **_: Runs) -> Drawing:
    """A table of what makes each load, means over seeds; the data have each seed's."""
    data = prepared.frame()
    means = data.group_by("load", "of", maintain_order=True).mean()
    rows = tuple(
        (f"{row['load']} ({row['of']})", *(f"{row[way]:.5g}" for way in ("forward", "reverse")),
         *(f"{row[way] / 1e6:.2f}" for way in ("forward_bps", "reverse_bps")))
        for row in means.to_dicts()
    )  # fmt: skip
    return Drawing(None, data, Table(("Load, %", "forward", "reverse", "Mbit/s, forward", "reverse"), rows, 4))


@figure("loads", "Users that make a load", label="Calibration", source="Sec. 4.2", after=40, chart=amounts,
        web=under(LOADS, (PI, PI_ECN)), general=under([GENERAL], (PI_ECN,)))  # fmt: skip
def calibration(prepared: Calibration, web: Runs, general: Runs) -> Iterator[Check]:
    """For each seed, how many users on each side, or connections a second, make the load on a link of 1 Gbit/s in the
    measured time; and whether PI's probability, which moves slowly, started near where it stays."""
    yield from loads_met(prepared)
    both = Quantity(tuple(sum(each.amounts) for each in prepared.of(105)), "", "users on both sides at 105 %")
    yield reference("20,000 users, evenly distributed, make approximately 105 Mbit/s in one direction", both,
                    within(18_000, 22_000, "20,000, give or take a tenth"), id="users")  # fmt: skip
    for runs in (web, general):
        for load in runs.values("load"):
            for scheme in runs.at(load=load).values("scheme"):
                yield steady(runs.at(load=load, scheme=scheme))


def loads_met(prepared: Calibration) -> Iterator[Check]:
    """Whether the users, and the connections, make the loads."""
    for name in (*LOADS, GENERAL):
        found = prepared.of(name)
        load, room = found[0].load, 100 * found[0].load.tolerance
        forward, reverse = (f"{target / 1e6:g}" for target in load.targets_bps)
        yield reference(
            f"an uncongested link carries {forward} and {reverse} Mbit/s",
            number(100 * max((each.miss for each in found), key=abs), "%", "how far off, the worst seed and direction"),
            within(-room, room, "what calibration is to meet"), id=f"{name}".replace(" ", "-"),
            remark="The nearest of all tries. One long response can exceed the tolerance: without its user the load is "
            "too small, with that user too large. Schemes are still compared with the same users.",
        )  # fmt: skip


def steady(at: Runs) -> Check:
    """Whether PI's probability is the same in both halves of the measured time: far from it, if it did not start near
    where it stays."""
    start_s = at.settings.warmup_s
    half_s = start_s + at.settings.measured_s / 2
    changes = [
        shown(at, "p", half_s, link=link).gain_over(shown(at, "p", start_s, half_s, link)).mean
        for link in ("bottleneck", "reverse")
    ]
    worst = number(max(changes, key=abs), "%", "change between the halves, in the direction where it is more")
    return reference("p is the same in both halves of the measured time", worst.as_(where=at.label() or GENERAL),
                     within(-20, 20, "a fifth: drops change with p, but the order of schemes only if p changes more"),
                     id="steady", source="beside Sec. 4.1")  # fmt: skip
