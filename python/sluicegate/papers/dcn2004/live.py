"""With real stacks: the web users of DCN 2004 on sockets of this machine's kernel, on a link a tenth as fast, beside
the simulation of the same. See `scaled` for what is scaled and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Drawn

from ...experiments.real_hosts import doubts
from ...plot import style as plot
from ...reproduce import Check, Drawing, Quantity, Runs, Table, Variant, above, below, figure, reference, within
from ...reproduce.charts import halves
from ...reproduce.page import measured
from ...stats import interval
from .charts import UP_TO_2_S
from .fig09_11_13 import SUPERIOR, worst_percentile
from .network import beyond_halfway, growth, less
from .response_times import RESOLUTION, by_seed
from .scaled import HOSTS, LINUX, LOADS, REAL, SIMULATED, STUDY, clock
from .schemes import AFD, DCN, DROP_TAIL, PI, RIO_PS
from .table1_2 import TABLE_1

DASHED = {REAL: "-", SIMULATED: "--"}
OTHERS = (DROP_TAIL, PI, AFD, RIO_PS)
COLUMNS = {
    "loss": "loss, %",
    "utilisation": "utilisation, %",
    "queue": "queue, packets",
    "median": "median, ms",
    "p90": "90th, ms",
    "p99": "99th, ms",
    "short_median": "short: median",
    "short_p90": "short: 90th",
    "large_median": "large: median",
}


def statements(runs: Runs) -> Iterator[Check]:
    """What the paper says that these runs can tell. `runs`: those of one kind of hosts."""
    yield from _close(runs)
    half = growth(runs, DCN, 98) - growth(runs, DROP_TAIL, 98) * 0.5
    yield reference("DCN: the performance degradation is rather small", half.as_(
                    f"{half.label}, less half of Drop Tail's growth"), below(0), id="degradation",
                    source="Fig. 5")  # fmt: skip
    for scheme, source in ((AFD, "Fig. 7"), (RIO_PS, "Fig. 8")):
        yield reference(f"{scheme.label}: significant degradation at higher loads", growth(runs, scheme, 98), above(0),
                        id="degradation", source=source)  # fmt: skip
    at_98 = runs.at(load=98)
    yield from _orders(at_98)
    most = within(None, 1 + RESOLUTION, "1 plus the width of a bin of response times (1/64)")
    yield reference("for the vast majority of flows DCN is better than Drop Tail: no percentile up to the 99th is "
                    "worse", worst_percentile(at_98).as_(where=at_98.label()), most, id="percentiles",
                    source="Fig. 11")  # fmt: skip
    for load in LOADS:
        yield _small(runs.at(load=load))
    dcn, tail = (at_98.at(scheme=scheme)["loss"] for scheme in (DCN, DROP_TAIL))
    printed = [TABLE_1[scheme, 98, "loss"] for scheme in (DCN, DROP_TAIL)]
    yield reference(f"DCN's loss is fairly low: {printed[0]:g} % where Drop Tail drops {printed[1]:g} %",
                    (dcn / tail).as_("DCN's loss over Drop Tail's", where=at_98.label()), below(0.5), id="dcn-loss",
                    source="Table 1")  # fmt: skip


def _close(runs: Runs) -> Iterator[Check]:
    for load in LOADS:
        yield reference("DCN: at all loads performance is close to that of the uncongested network",
                        beyond_halfway(runs.at(load=load), DCN), below(0), id="close", source="Fig. 5")  # fmt: skip
    for scheme, source in ((AFD, "Fig. 7"), (RIO_PS, "Fig. 8")):
        yield reference(f"{scheme.label}: at 90 % performance is close to that of an uncongested network",
                        beyond_halfway(runs.at(load=90), scheme), below(0), id="close", source=source)  # fmt: skip


def _orders(runs: Runs) -> Iterator[Check]:
    """Which scheme answers sooner than which, all without ECN."""
    yield reference("PI without ECN comes behind DCN", less(runs, DCN, PI), below(0), id="order", source="Fig. 11")
    for worse in (DROP_TAIL, AFD, RIO_PS):
        yield reference(SUPERIOR, less(runs, DCN, worse), below(0), id="order", source="Fig. 11")
        yield reference("PI comes before the others without ECN", less(runs, PI, worse), below(0), id="order",
                        source="Fig. 11")  # fmt: skip


def _small(runs: Runs) -> Check:
    dcn, *others = (runs.at(scheme=scheme)["small_capped"] for scheme in (DCN, *OTHERS))
    best = Quantity(tuple(map(min, zip(*(each.values for each in others), strict=True))))
    return reference("DCN clearly favours small flows and outperforms the other schemes",
                     (dcn - best).as_(f"{dcn.label}: less that of the best other", where=runs.label()), below(0),
                     id="small", source="Figs. 15, 17")  # fmt: skip


def curves(checks: Sequence[Check], runs: Runs) -> Drawing:
    """Distribution functions, simulations dashed; and each statement with what it comes to for each kind of hosts."""
    rows = []
    for load in LOADS:
        for hosts in DASHED:
            for scheme in runs.values("scheme"):
                parts = by_seed(runs.at(load=load, hosts=hosts, scheme=scheme))
                for x, shares in zip(UP_TO_2_S, np.array([each.at_most(UP_TO_2_S) for each in parts]).T, strict=True):
                    spread = interval(shares.tolist())
                    rows.append({"load": load, "hosts": hosts.label, "scheme": scheme.label, "x": x,
                                 "share_mean": spread.mean, "share_half_width": spread.half_width})  # fmt: skip
    data = pl.DataFrame(rows).with_columns(pl.col("share_half_width").fill_nan(None))
    by_hosts = {hosts: list(statements(runs.at(hosts=hosts))) for hosts in HOSTS}
    return Drawing(_drawn(data, runs), data, _compared(by_hosts), _agreement(by_hosts))


@plot.drawing
def _drawn(data: pl.DataFrame, runs: Runs) -> Drawn:
    drawn, (row,) = plot.panels(1, len(LOADS), height=4.2)
    for axes, load in zip(row, LOADS, strict=True):
        axes.set_title(f"{load} % offered load")
        for hosts, line in DASHED.items():
            for scheme in runs.values("scheme"):
                part = data.filter(load=load, hosts=hosts.label, scheme=scheme.label)
                style = plot.Style(scheme.label if hosts is REAL else "_", scheme.color, line)
                plot.mean_line(axes, part["x"], part["share_mean"], halves(part, "share"), style, bars=False)
        axes.set_xlim(0, UP_TO_2_S[-1])
        axes.set_ylim(0, 1.005)
        axes.set_xlabel("response time (s)")
    row[0].set_ylabel("exchanges done within this time")
    plot.legend(drawn, row, columns=6)
    return drawn


Statements = dict[Variant, list[Check]]
"""The same statements for each kind of hosts."""


def _holds(check: Check) -> bool:
    return check.bounds.holds(check.measured)


def _place(check: Check) -> str:
    """Where a statement is tested, the hosts left out."""
    return ", ".join(part for part in check.quantity.where.split(", ") if part != REAL.label)


def _compared(by_hosts: Statements) -> Table:
    rows = [
        (f"{at[0].statement} ({_place(at[0])})", _sentence(at), *(measured(each.quantity) for each in at))
        for at in zip(*(by_hosts[hosts] for hosts in HOSTS), strict=True)
    ]
    return Table(("The paper", "What agrees", *(hosts.label.capitalize() for hosts in HOSTS)), tuple(rows), 3)


def _sentence(at: Sequence[Check]) -> str:
    """Whether a statement holds with real stacks, and whether simulations say the same."""
    real, simulated, linux = map(_holds, at)
    first = "Real stacks agree" if real else "Real stacks do not"
    same = [name for name, holds in (("the paper's hosts", simulated), ("Linux's hosts", linux)) if holds is real]
    if len(same) == 2:
        return f"{first}; nor do simulations." if not real else f"{first}, and so do simulations."
    if same:
        return f"{first}; of the two simulations only that of {same[0]} gives the same result."
    return f"{first}; the simulations do{'' if not real else ' not'}."


def _agreement(by_hosts: Statements) -> str:
    """How many statements hold, and which do not with real stacks, in sentences."""
    real, simulated, linux = ([_holds(each) for each in by_hosts[hosts]] for hosts in HOSTS)
    same = [sum(a == b for a, b in zip(real, others, strict=True)) for others in (simulated, linux)]
    missed = [
        f"“{each.statement}” ({_place(each)})" for each, holds in zip(by_hosts[REAL], real, strict=True) if not holds
    ]
    told = f" With real stacks these do not hold: {'; '.join(missed)}." if missed else ""
    return (
        f"Of {len(real)} statements {sum(real)} hold with real stacks, {sum(simulated)} in the simulation of the "
        f"paper's hosts and {sum(linux)} in that of Linux's. Real stacks and simulation give the same result "
        f"for {same[0]} of them with the paper's hosts, and for {same[1]} with Linux's.{told}"
    )


def numbers(checks: Sequence[Check], runs: Runs) -> Drawing:
    """A row for each load, scheme and kind of hosts."""
    data = runs.frame(*COLUMNS)
    rows = []
    for load in LOADS:
        for scheme in runs.values("scheme"):
            for hosts in HOSTS:
                at = runs.at(load=load, scheme=scheme, hosts=hosts)
                rows.append((f"{load} %", scheme.label, hosts.label, *(_value(at, name) for name in COLUMNS)))
    return Drawing(None, data, Table(("Load", "Scheme", "Hosts", *COLUMNS.values()), tuple(rows), len(COLUMNS)),
                   _words(runs))  # fmt: skip


def _value(at: Runs, name: str) -> str:
    quantity = at[name]
    return measured(quantity).removesuffix(quantity.unit).strip()


def _words(runs: Runs) -> str:
    """How real stacks differ from simulations, over the congested schemes, and how well the clock was kept."""
    told = []
    for hosts in (SIMULATED, LINUX):
        ratios: list[float] = []
        losses: list[float] = []
        for load in LOADS:
            for scheme in (DROP_TAIL, PI, DCN, AFD, RIO_PS):
                here, there = (runs.at(load=load, scheme=scheme, hosts=each) for each in (REAL, hosts))
                ratios.append((here["median"] / there["median"]).mean)
                losses.append((here["loss"] - there["loss"]).mean)
        told.append(
            f"Against the {hosts.label}, median response times are {min(ratios):.2f} to {max(ratios):.2f} times as "
            f"long with real stacks, and loss differs by {min(losses):+.1f} to {max(losses):+.1f} points."
        )
    rows: Any = clock(runs)
    worst = max(row["lateness_p99_ns"] for row in rows)
    found = doubts(rows) or ["the machine kept up in all runs between real hosts"]
    clocked = "; ".join(found)
    told.append(f"{clocked[0].upper()}{clocked[1:]}.")
    told.append(f"99 % of packets were at most {worst / 1e6:.1f} ms late in the worst run.")
    return " ".join([*told, f"Kernel: {rows[0]['kernel']}."])


@figure("live", "Response times with real stacks", label="With real stacks", source="Sec. 5.1, scaled", after=50,
        chart=curves, live=True, runs=STUDY)  # fmt: skip
def live(runs: Runs) -> Iterator[Check]:
    """Web users on sockets of this machine's kernel (solid), and the simulation of the same scenario with the paper's
    hosts (dashed), with the same users and draws. The link has 10 Mbit/s, a tenth of the paper's, and is offered 90 and
    98 %. Nothing changes in sizes, pauses, packets, windows of 16 KB and round trips of 10 to 150 ms. Buffers and
    targets are the paper's packets times the root of a tenth: 76 for Drop Tail, AFD's target and RIO-PS's buffer, 8 for
    the targets of PI and DCN, 316 for other limits. PI's gains are ten times those of the paper's link; DCN and AFD
    derive theirs. All schemes are without ECN. The paper's hosts are FreeBSD 4.5's: NewReno without SACK, a first
    window of one segment, a least timeout of 1 s. The kernel's reno recovers by SACK, begins with ten segments, and its
    least timeout is 200 ms. Checks are of real stacks, which vary: none is compared with a recorded verdict."""
    yield from statements(runs.at(hosts=REAL))


@figure("live-runs", "What became of each run", label="Real stacks, numbers", source="Sec. 5.1, scaled", after=51,
        chart=numbers, live=True, runs=STUDY)  # fmt: skip
def live_runs(runs: Runs) -> Iterator[Check]:
    """Loss at both queues, utilisation and queue as means of both directions, response times of all, of short (at most
    10,000 bytes) and of large responses (above 100,000 bytes), in ms. The simulation of Linux's hosts
    has the kernel's reno: SACK and RACK, ten segments at the start, a least timeout of 200 ms."""
    yield from ()
