"""The testbed of DCN 2004 scaled to what one machine does in real time: a tenth of the link and of its users.

What a user and a connection do stays: sizes, pauses, packets, windows, delays. Flows that share the link are a tenth as
many. What is in the queue varies as the sum of so many independent flows, with the root of their number: buffers and
targets are therefore scaled by the root of a tenth. Scaled like the link, a target of 24 packets would be 2, less than
one flow's burst; left as they are, Drop Tail's 240 packets would delay ten times as long as the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import polars as pl

from ...experiments.engine import Sets, Tables
from ...reproduce import LINK, LINKS, Measure, Runs, Settings, Study, Variant, each_run, percent
from ...reproduce.measure import merge
from ...reproduce.study import Axis, Point
from .load import NEEDS, Calibration, Load, Run, calibrate
from .network import EACH_USER_BPS, MEASURES, REVERSE, START_P_SHORT
from .response_times import CLASSES, LARGE_BYTES, Distribution
from .schemes import AFD, DCN, DROP_TAIL, PI, RIO_PS, UNCONGESTED, Scheme

PART = 0.1
"""Of the paper's link and users."""

LINK_BPS = PART * 100e6
LOADS = (90, 98)
SCHEMES = (UNCONGESTED, DROP_TAIL, PI, DCN, AFD, RIO_PS)
SHORT_BYTES = 10_000
"""Responses of at most so many bytes are short: 90 % of all (Sec. 3)."""

REAL = Variant("real stacks")
SIMULATED = Variant("simulation")
LINUX = Variant("simulation of Linux's hosts", tuple(
    (f"flows.{at}.{key}", value)
    for at in (0, 1) for key, value in (("profile", "linux"), ("algorithm", "reno"), ("window", "16384 B"))
))  # fmt: skip
"""The hosts: the kernel's, those of the paper, and the kernel's simulated."""

HOSTS = (REAL, SIMULATED, LINUX)


def _packets(count: int) -> str:
    """A buffer or target of the paper's, scaled."""
    return f"{round(count * sqrt(PART))}"


LIMIT, TARGET, LONG = _packets(1000), _packets(24), _packets(240)

SCALED: Mapping[Scheme, Sets] = {
    UNCONGESTED: (),  # 1 Gbit/s, as the paper's
    DROP_TAIL: (("queue.limit", LONG),),
    # The design rule of Hollot et al. has gains in inverse proportion to the link, for as many flows for each bit/s.
    PI: (("queue.limit", LIMIT), ("queue.pi.q_ref", TARGET), ("queue.pi.a", f"{1.822e-5 / PART:.4g}"),
         ("queue.pi.b", f"{1.816e-5 / PART:.4g}")),
    DCN: (("queue.limit", LIMIT), ("queue.dcn.q_ref", TARGET)),
    AFD: (("queue.limit", LIMIT), ("queue.afd.q_ref", LONG), ("queue.afd.b", "500")),  # the least that it has
    RIO_PS: (("queue.limit", LONG),),
}  # fmt: skip


def times(tables: Tables) -> Tables:
    """The classes of a run by response time, apart for short, large and other responses. In place of `classes`."""
    size = pl.col("response_bytes_max")
    group = (
        pl.when(size <= SHORT_BYTES).then(float(SHORT_BYTES)).when(size <= LARGE_BYTES).then(float(LARGE_BYTES))
        .otherwise(float("inf"))
    )  # fmt: skip
    ends = ["response_bytes_max", "response_time_max_ns"]
    rows = tables["response_times"].group_by(group.alias(ends[0]), ends[1])
    return {"classes": rows.agg(pl.col("exchanges", "response_bytes").sum()).sort(ends)}


def _quantile(share: float, least: float = 0, most: float = float("inf")) -> Measure:
    def found(classes: pl.DataFrame) -> float:
        return float(Distribution.of_times(classes, least, most).quantiles([share])[0])

    return each_run(found, **CLASSES).as_("response time", "ms", 1e3)


QUANTILES = {
    "median": _quantile(0.5),
    "p90": _quantile(0.9),
    "p99": _quantile(0.99),
    "short_median": _quantile(0.5, most=SHORT_BYTES),
    "short_p90": _quantile(0.9, most=SHORT_BYTES),
    "large_median": _quantile(0.5, least=LARGE_BYTES),
}
LOAD_MEASURES = {
    "loss": MEASURES["loss"],
    "utilisation": percent((LINK["utilisation"] + REVERSE["utilisation"]) / 2, "utilisation, both directions"),
    "queue": LINKS.mean("queue_packets_mean").as_("mean queue", "packets"),
}


def users(calibration: Calibration | None, point: Point) -> dict[int, Sets]:
    """The users that make the load of a point for each seed, and what is scaled of its scheme. None while the load is
    being calibrated."""
    if calibration is None:
        return {}
    start = START_P_SHORT.get(point["scheme"], {}).get(point["load"])
    p_0 = () if start is None else (("queue.pi.p_0", start),)
    scaled = SCALED[point["scheme"]]
    return {each.seed: (*each.sets(), *scaled, *p_0) for each in calibration.of(point["load"])}


STUDY = Study(
    "dcn2004",
    keys={"load": Axis("", "%", "offered load")},
    sets=(("network.rate", f"{LINK_BPS:.0f} bit/s"),),
    measure={**LOAD_MEASURES, "capped": MEASURES["capped"], "small_capped": MEASURES["small_capped"],
             "exchanges": MEASURES["exchanges"], **QUANTILES},
    tables=CLASSES | {"live": ("kept_up", "packets", "late_packets", "lateness_p99_ns", "lost_outside", "kernel")},
    derive=times,
    by_seed=users,
    real=lambda point: point["hosts"] is REAL,
    about="scaled",
    hosts=HOSTS,
    load=LOADS,
    scheme=SCHEMES,
)  # fmt: skip


def prepare(settings: Settings, simulate: Run) -> Calibration:
    """How many users make each load for each seed, simulated on a link without congestion."""
    return calibrate([_offered(settings, load) for load in LOADS], settings.seeds, simulate)


def _offered(settings: Settings, load: int) -> Load:
    point = {"hosts": SIMULATED, "load": load, "scheme": UNCONGESTED}
    run = STUDY.experiment(point, settings, None, merge(STUDY.needs, NEEDS))
    target = load / 100 * LINK_BPS
    return Load(load, run, (target, target), "count", EACH_USER_BPS, 0.02)


def clock(runs: Runs) -> list[dict[str, object]]:
    """How well the clock was kept in each run between real hosts, as `real_hosts.doubts` takes it."""
    rows = runs.at(hosts=REAL).rows("live")
    return [{**row, "discipline": f"{row['scheme']} at {row['load']} %"} for row in rows.to_dicts()]
