"""The testbed of DCN 2004: a link with web users or general TCP on both sides, and what is measured there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ...experiments.engine import Sets
from ...reproduce import LINK, LINKS, UDP, Axis, Measure, Quantity, Rows, Runs, Settings, Study, each_run, mbps, percent
from ...reproduce.measure import merge
from ...reproduce.study import Point
from .load import NEEDS, Amount, Calibration, Load, Run, calibrate
from .response_times import CLASSES, LARGE_BYTES, Distribution, classes
from .schemes import (
    BEST,
    DROP_TAIL,
    PI,
    PI_240,
    PI_ECN,
    PI_ECN_240,
    PI_ECN_PACKET,
    PI_PACKET,
    SCHEMES,
    UNCONGESTED,
    Scheme,
)

LINK_BPS = 100e6
LOADS = (90, 98, 105)
"""Offered loads of web users, in per cent of the link."""

CONGESTED = (98, 105)

GENERAL = "general TCP"
"""The load of the mix of connections (Sec. 5.2)."""

GENERAL_BPS = (105.3e6, 91.2e6)
"""What the mix offers in the direction of the path and in the reverse (Table 2)."""

UDP_BPS = 10e6
"""What the unresponsive flow sends."""

EACH_USER_BPS = 10_470.0
EACH_CONNECTION_BPS = 1.5e6
"""What a web user, and what one connection a second, send on average in their own direction, responses, headers and
acknowledgements. Only the speed of calibration depends on them."""

PAPER_MEASURED_S = 5400.0
"""What is measured of the paper's runs: 90 of 120 minutes."""

LONG_S = 3600.0
"""Runs of so many seconds count as long."""

Starts = Mapping[Scheme, Mapping[Any, str]]
START_P_LONG: Starts = {
    PI: {90: "0.035", 98: "0.07", 105: "0.095"},
    PI_ECN: {90: "0.08", 98: "0.17", 105: "0.24", GENERAL: "0.03"},
    PI_240: {98: "0.04", 105: "0.07"},
    PI_ECN_240: {98: "0.1", 105: "0.17"},
    PI_PACKET: {105: "0.09"},
    PI_ECN_PACKET: {105: "0.15"},
}
START_P_SHORT: Starts = {
    PI: {90: "0.015", 98: "0.035", 105: "0.05"},
    PI_ECN: {90: "0.015", 98: "0.04", 105: "0.07", GENERAL: "0.015"},
    PI_240: {98: "0.015", 105: "0.03"},
    PI_ECN_240: {98: "0.025", 105: "0.045"},
    PI_PACKET: {105: "0.05"},
    PI_ECN_PACKET: {105: "0.07"},
}
"""Where PI's probability starts: near what it comes to in long runs, and after some minutes in short ones, where
congestion is milder. For general TCP it is between what it comes to in the two directions. It moves by about 0.01 in a
minute, too slowly to start from 0; a figure checks where it goes."""


# What is measured ---------------------------------------------------------------------------------------------------

REVERSE = LINKS.where(link="reverse")


def _loss(links: Rows, way: str = "") -> Measure:
    return percent(links.sum("drops_packets") / links.sum("arrivals_packets"), f"packets dropped{way}")


def _throughput(link: Rows, way: str = "") -> Measure:
    return mbps(link["utilisation"] * link["rate_bps"], f"throughput{way}")


def _capped(most: float, of: str = "") -> Measure:
    def mean(classes: pl.DataFrame) -> float:
        return Distribution.of_times(classes, most=most).mean_capped()

    return each_run(mean, **CLASSES).as_(f"mean response time{of} (above 2 s counted as 2 s)", "ms", 1e3)


def _large(classes: pl.DataFrame) -> float:
    return float(classes.filter(pl.col("response_bytes_max") > LARGE_BYTES)["response_bytes"].sum())


def _exchanges(classes: pl.DataFrame) -> float:
    return Distribution.of_times(classes).total


SERIES = {
    "queue": ("time_s", "link", "queue_found_packets_mean"),
    "state": ("time_s", "link", "name", "value"),
    "flow_series": ("time_s", "flow", "throughput_bps", "arrivals_packets", "drops_packets", "marked_packets"),
}
"""What is kept of each run over time, from its beginning: a row for each sample."""


MEASURES = {
    "loss": _loss(LINKS),
    "forward_loss": _loss(LINK, ", forward"),
    "reverse_loss": _loss(REVERSE, ", reverse"),
    "throughput": ((_throughput(LINK) + _throughput(REVERSE)) / 2).as_("throughput", "Mbit/s"),
    "forward_throughput": _throughput(LINK, ", forward"),
    "reverse_throughput": _throughput(REVERSE, ", reverse"),
    "exchanges": each_run(_exchanges, **CLASSES),
    "queue": LINKS.mean("queue_packets_mean").as_("mean queue", "packets"),
    "tail_drops": LINKS.sum("drops_tail").as_("tail drops", "packets"),
    # One number for a curve of response times where schemes are put in order: the area over it as the paper draws it.
    "capped": _capped(float("inf")),
    "small_capped": _capped(LARGE_BYTES, " of responses of 100,000 bytes or less"),
    "large_bytes": each_run(_large, **CLASSES).as_("bytes of responses above 100,000 bytes", "bytes"),
}


def less(runs: Runs, one: Scheme, other: Scheme) -> Quantity:
    """The mean response time under one scheme, less that under another with the same users and draws, by seed."""
    mine = runs.at(scheme=one)["capped"]
    difference = mine - runs.at(scheme=other)["capped"]
    return difference.as_(f"{mine.label}, less the other's", where=f"{mine.where} against {other.label}")


def beyond_halfway(runs: Runs, scheme: Scheme) -> Quantity:
    """How far a scheme's mean response time lies beyond the middle between the uncongested network's and Drop Tail's:
    below 0 it is nearer to the uncongested network's."""
    mine, best, worst = (runs.at(scheme=each)["capped"] for each in (scheme, UNCONGESTED, DROP_TAIL))
    label = f"{mine.label}, less the middle between the uncongested network's and Drop Tail's"
    return (mine - (best + worst) * 0.5).as_(label)


def growth(runs: Runs, scheme: Scheme, load: int) -> Quantity:
    """By how much a scheme's mean response time grows from a load of 90 % to another."""
    grown = runs.at(scheme=scheme, load=load)["capped"] - runs.at(scheme=scheme, load=90)["capped"]
    return grown.as_(f"{grown.label}, less that at 90 %")


# Studies ------------------------------------------------------------------------------------------------------------


def users(calibration: Calibration | None, point: Point) -> dict[int, Sets]:
    """The users or connections that make the load of a point for each seed, and where PI's probability starts there.
    None while the load is being calibrated."""
    if calibration is None:
        return {}
    amounts = calibration.of(point["load"])
    starts = START_P_LONG if calibration.duration_s >= LONG_S else START_P_SHORT
    start = starts.get(point["scheme"], {}).get(point["load"])
    p_0 = () if start is None else (("queue.pi.p_0", start),)
    return {each.seed: (*each.sets(), *p_0) for each in amounts}


def with_udp(text: str, _: Point, __: Settings) -> str:
    """The scenario with an unresponsive flow beside the users."""
    return text.replace("[run]\n", f'[[flows]]\nkind = "udp"\nrate = "{UDP_BPS:.0f} bit/s"\n\n[run]\n')


UDP_THROUGHPUT = {"udp": mbps(UDP.sum("throughput_bps"), "what UDP gets")}


def under(loads: Sequence[Any], schemes: Sequence[Scheme], **given: Any) -> Study:
    """Each of these schemes under each of these loads. `given`: what differs from the usual arguments of a study."""
    keys = {"load": Axis("", "%", "offered load")}
    usual: dict[str, Any] = {"measure": MEASURES, "by_seed": users, "tables": CLASSES | SERIES, "derive": classes}
    scenario = "dcn2004_tcp" if GENERAL in loads else "dcn2004"
    return Study(scenario, keys=keys, **usual | given, load=loads, scheme=schemes)


ALL = under(LOADS, SCHEMES)
BEST_AT = {load: under([load], BEST) for load in LOADS}
GENERAL_TCP = under([GENERAL], BEST)


def prepare(settings: Settings, simulate: Run) -> Calibration:
    """How many users, and how many connections, make each load for each seed."""
    found = calibrate([_offered(settings, load) for load in (*LOADS, GENERAL)], settings.seeds, simulate)
    return replace(found, duration_s=settings.duration_s)


def restore(settings: Settings, frame: pl.DataFrame) -> Calibration:
    """What `prepare` found with these settings, from the frame of it."""
    loads = {f"{load}": _offered(settings, load) for load in (*LOADS, GENERAL)}
    return Calibration(tuple(
        Amount(loads[row["load"]], row["seed"], (row["forward"], row["reverse"]),
               (row["forward_bps"], row["reverse_bps"]), row["rounds"])
        for row in frame.iter_rows(named=True) if row["load"] in loads
    ), settings.duration_s)  # fmt: skip


def _offered(settings: Settings, load: Any) -> Load:
    """A load, and the uncongested run on which it is calibrated: the one that figures show, users not counted."""
    study = GENERAL_TCP if load == GENERAL else ALL
    run = study.experiment({"load": load, "scheme": UNCONGESTED}, settings, None, merge(study.needs, NEEDS))
    if load == GENERAL:
        return Load(load, run, GENERAL_BPS, "arrivals", EACH_CONNECTION_BPS, 0.015)
    target = load / 100 * LINK_BPS
    return Load(load, run, (target, target), "count", EACH_USER_BPS, 0.0075)
