"""The checks of "Understanding CHOKe".

Closed forms are `exact`. What the paper says in words and what Theorem 1 bounds are `claim`. Numbers that rest on
max_th and p_max, which the text at hand has lost, and agreement with a model that has them, are `shown`.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from ..intervals import Interval, difference, interval
from ..runner import Tables
from ..theory import choke
from . import Settings
from .checks import Bounds, Check, CheckClass, above, below, printed
from .choke2004 import density
from .choke2004_cases import (
    BACK_LOAD,
    BACK_SMOOTH,
    BASE_RTT_S,
    CANDIDATES,
    FAR,
    FAST,
    FEW,
    FIG8,
    FIVE_LOAD,
    LIMIT_SHARE,
    LINK_BPS,
    LOAD,
    MANY,
    MIN_TH,
    PACKET_BITS,
    RATES,
    SPATIAL,
    TWO_LOAD,
    UNEQUAL,
    VEGAS_LOAD,
    Case,
)
from .choke2004_figures import group_rows
from .choke2004_model import needed, said
from .points import values_of

CLOSE = 0.1
"""What "matches closely" is taken to mean: a tenth."""

OF_FIGURE: dict[str, tuple[str, ...]] = {
    "fig4": (
        "theorem-1-share",
        "theorem-1-load",
        "theorem-1-h0",
        "under-5-at-10c",
        "rises-to-1.25c",
        "falls-from-1.25c",
        "peak-below-theorem-1",
        "queue-grows",
        "share-against-model",
        "queue-against-43-load",
        "queue-against-timeouts-load",
    ),
    "fig5": (
        "queue-grows-with-n",
        "tcp-falls-with-n",
        "tcp-against-model",
        "tcp-against-timeouts",
        "queue-against-43-many",
        "queue-against-timeouts-many",
    ),
    "fig6": (
        "density-at-0.1c",
        "density-flat",
        *(f"head-is-share-{x0:g}c" for x0 in SPATIAL),
        "density-falls",
        "half-udp",
        "under-half-udp",
    ),
    "fig7": (
        "vegas-under-5-at-10c",
        "vegas-nearer-theorem-1",
        "vegas-peak-below-theorem-1",
        "vegas-share-against-model",
    ),
    "fig8-9": ("n40-active", "n8-on-and-off", "fast-on-and-off"),
    "few": ("least-flows",),
    "kinds": ("two-udp-take-more", "five-udp-take-more", "back-third", "back-third-no-bursts", "back-queue"),
    "beyond": ("candidates-against-model", "unequal-against-model", "round-trips-against-model"),
    "needed": tuple(f"needed-{k}" for k in (1, 2, 3, 5)),
}
"""Which checks stand under which figure."""

AT = {case.x0: case for case in LOAD}
VEGAS_AT = {case.x0: case for case in VEGAS_LOAD}


def checks(settings: Settings, results: Tables, runs: pl.DataFrame) -> list[Check]:
    """All checks on `choke2004.points` and the tables behind it."""
    return [
        *_exact(), *_load(runs), *_many(runs), *_spatial(settings, results, runs), *_vegas(runs),
        *_active(settings, results), *_kinds(runs), *_beyond(results, runs),
    ]  # fmt: skip


def by_seed(runs: pl.DataFrame, case: Case, column: str, factor: float = 1.0) -> list[float]:
    """`column` in the runs of `case`, times `factor`, by seed."""
    return [value * factor for value in values_of(runs, case.id, column)]


def _claim(
    id_: str, source: str, paper: str, spread: Interval, unit: str, bounds: Bounds, kind: CheckClass = "claim"
) -> Check:
    return Check(id_, source, kind, paper, spread.mean, unit, bounds)


def _exact() -> list[Check]:
    phi = np.linspace(1e-4, 0.4999, 200_001)
    load, share = choke.closed_curve(phi)
    best = int(np.argmax(share))
    values = (
        ("share", "UDP's greatest share 0.269", float(share[best]), 0.269),
        ("load", "at x0(1 − r)/c = 1.193", float(load[best]), 1.193),
        ("h0", "with h0 = 0.387", float(phi[best]), 0.387),
    )
    result = [
        Check(f"theorem-1-{name}", "Theorem 1", "exact", f"{text}; tested: the closed curve (19), searched for its "
                                                         f"peak",
              value, "", Bounds(said - 5e-4, said + 5e-4, f"{said} as printed, give or take half its last digit"))
        for name, text, value, said in values
    ]  # fmt: skip
    least = choke.least_flows(c=LINK_BPS / PACKET_BITS, d=BASE_RTT_S, min_th=MIN_TH)
    result.append(
        Check("least-flows", "Sec. VI", "exact", "CHOKe remains active from 8.08 flows on", least, "flows",
              Bounds(8.075, 8.085, "8.08 as printed, give or take half its last digit"))
    )  # fmt: skip
    return result


def _load(runs: pl.DataFrame) -> list[Check]:
    shares = {x0: by_seed(runs, AT[x0], "share", 100) for x0 in RATES}
    top = max(RATES, key=lambda x0: interval(shares[x0]).mean)
    small, peak = interval(shares[10.0]), interval(shares[top])
    up, down = difference(shares[1.25], shares[0.5]), difference(shares[1.25], shares[5.0])
    grows = difference(by_seed(runs, AT[10.0], "b"), by_seed(runs, AT[0.1], "b"))
    off = max(abs(interval(shares[x0]).mean - 100 * said(AT[x0], "paper").share) for x0 in RATES)
    source = "Sec. V-A, Fig. 4"
    return [
        _claim("under-5-at-10c", source, "UDP's share drops to less than 5 % at 10c", small, "% of the link",
               below(5, small)),
        _claim("rises-to-1.25c", source, "UDP's share rises and peaks when UDP sends slightly more than c; tested: "
                                         "at 1.25c "
               "it is more than at 0.5c, seed by seed", up, "percentage points", above(0, up)),
        _claim("falls-from-1.25c", source, "then it drops; tested: at 1.25c it is more than at 5c, seed by seed", down,
               "percentage points", above(0, down)),
        _claim("peak-below-theorem-1", source, "simulation shows a smaller greatest share than Theorem 1", peak,
               f"% of the link, at {top:g}c", below(100 * choke.PEAK_SHARE, peak)),
        _claim("queue-grows", source, "the queue steadily increases with UDP's rate; tested: 10c against 0.1c", grows,
               "packets", above(0, grows)),
        Check("share-against-model", source, "shown", "simulation and full model match closely; tested: UDP's share, "
                                                      "the "
              "greatest difference over 0.1c to 10c", off, "percentage points",
              Bounds(None, CLOSE * 100 * choke.PEAK_SHARE, "a tenth of the greatest share of Theorem 1, our reading of "
                     "“closely”")),
        *_queue(runs, "load", source, list(LOAD)),
    ]  # fmt: skip


def _relative(runs: pl.DataFrame, cases: list[Case], column: str, model: str) -> float:
    """How far the simulation is from the model, in per cent of it: the mean over cases, each without its sign."""
    ratios = [interval(by_seed(runs, case, column)).mean / getattr(said(case, model), column) - 1 for case in cases]
    return 100 * float(np.mean([abs(ratio) for ratio in ratios if np.isfinite(ratio)]))


_TENTH = Bounds(None, 100 * CLOSE, "within a tenth, our reading of “match very well”")


def _queue(runs: pl.DataFrame, name: str, source: str, cases: list[Case]) -> list[Check]:
    return [
        Check(f"queue-against-43-{name}", source, "shown", "the queue matches the full model with (43) and (44)",
              _relative(runs, cases, "b", "paper"), "% that simulation and model differ, mean over the points", _TENTH,
              "Windows are about three packets here: time-outs, which (43) does not know, lower TCP's rate, and RED's "
              "uniform gaps drop 2p_b/(1 + p_b), not p_b. With both in the model the queue agrees.",
              f"queue-against-timeouts-{name}"),
        Check(f"queue-against-timeouts-{name}", source, "shown", "the same with a law of TCP that knows time-outs, and "
              "RED's drops as it spaces them", _relative(runs, cases, "b", "ours"),
              "% that simulation and model differ, mean over the points", _TENTH),
    ]  # fmt: skip


def _many(runs: pl.DataFrame) -> list[Check]:
    source = "Sec. V-A, Fig. 5"
    grows = difference(by_seed(runs, MANY[-1], "b"), by_seed(runs, MANY[0], "b"))
    falls = difference(by_seed(runs, MANY[0], "tcp_flow"), by_seed(runs, MANY[-1], "tcp_flow"))
    return [
        _claim("queue-grows-with-n", source, "the queue increases with N; tested: N = 64 against 12", grows, "packets",
               above(0, grows)),
        _claim("tcp-falls-with-n", source, "the throughput of a TCP flow decreases with N", falls, "packets/s",
               above(0, falls)),
        Check("tcp-against-model", source, "shown", "a TCP flow's throughput matches the full model with (43) and (44)",
              _relative(runs, list(MANY), "tcp_flow", "paper"), "% that simulation and model differ, mean over the "
                                                                "points", _TENTH),
        Check("tcp-against-timeouts", source, "shown", "the same with time-outs and RED's gaps",
              _relative(runs, list(MANY), "tcp_flow", "ours"), "% that simulation and model differ, mean over the "
                                                               "points", _TENTH),
        *_queue(runs, "many", source, list(MANY)),
    ]  # fmt: skip


def _spatial(settings: Settings, results: Tables, runs: pl.DataFrame) -> list[Check]:
    source = "Sec. V-B, Fig. 6"
    tables = {x0: density(results, settings, AT[x0]) for x0 in SPATIAL}

    def part(x0: float, low: float, high: float) -> list[float]:
        chosen = tables[x0].filter((pl.col("place") >= low) & (pl.col("place") <= high))
        return chosen.group_by("seed", maintain_order=True).agg(pl.col("rho").mean()).sort("seed")["rho"].to_list()

    mean = interval(part(0.1, 0, 0.999))
    slope = difference(part(0.1, 0, 1 / 3), part(0.1, 2 / 3, 0.999))
    falls = difference(part(10.0, 0, 0.2), part(10.0, 0.8, 0.999))
    occupancy = interval(by_seed(runs, AT[10.0], "occupancy"))
    result = [
        _claim("density-at-0.1c", source, "probability close to 0.08 at each place at 0.1c", mean, "",
               printed(0.08, 0.01, mean), "shown"),
        _claim("density-flat", source, "roughly uniform at 0.1c; tested: mean of the third at the tail less that of "
                                       "the "
               "third at the head", slope, "", Bounds(-0.01, 0.01, "0, give or take a unit of 0.08's last "
                                                                   "digit"), "shown"),
        _claim("density-falls", source, "ρ concentrates near the tail and drops towards the head; tested: mean of "
                                        "the fifth "
               "at the tail less that of the fifth at the head, at 10c", falls, "", above(0, falls)),
        _claim("half-udp", source, "at 10c roughly half of the queue is "
                                   "UDP's", occupancy, "", printed(0.5, 0.1, occupancy),
               "shown"),
        _claim("under-half-udp", "Theorem 5", "UDP never has more than half of the queue; tested at 10c", occupancy, "",
               below(0.5, occupancy)),
    ]  # fmt: skip
    for x0 in SPATIAL:
        off = difference(part(x0, 1.0, 1.0), by_seed(runs, AT[x0], "share"))
        half = off.margin + 0.01
        result.append(
            _claim(f"head-is-share-{x0:g}c", source, f"ρ(b) equals UDP's share of the link; tested at {x0:g}c", off,
                   "head of the queue less share of the link",
                   Bounds(-half, half, f"0, give or take 0.01, about 1/b, and {off.margin:.2g}, the 95 % interval over "
                          f"{off.count} seeds"))
        )  # fmt: skip
    return result


def _vegas(runs: pl.DataFrame) -> list[Check]:
    source = "Sec. V-C, Fig. 7"
    shares = {x0: by_seed(runs, case, "share", 100) for x0, case in VEGAS_AT.items()}
    top = max(shares, key=lambda x0: interval(shares[x0]).mean)
    small, peak = interval(shares[10.0]), interval(shares[top])
    nearer = difference(shares[1.25], by_seed(runs, AT[1.25], "share", 100))
    off = max(abs(interval(shares[x0]).mean - 100 * said(case, "paper").share) for x0, case in VEGAS_AT.items())
    return [
        _claim("vegas-under-5-at-10c", source, "the behaviour is that of Fig. 4: UDP's share tends to 0; tested: "
                                               "under 5 % "
               "at 10c", small, "% of the link", below(5, small)),
        _claim("vegas-nearer-theorem-1", source, "the match with Theorem 1 is better than with NewReno; tested: "
                                                 "UDP's share "
               "at 1.25c is greater, both below 26.9 %", nearer, "percentage points that Vegas's is greater",
               above(0, nearer), "shown"),
        _claim("vegas-peak-below-theorem-1", source, "a smaller greatest share than Theorem 1", peak,
               f"% of the link, at {top:g}c", below(100 * choke.PEAK_SHARE, peak), "shown"),
        Check("vegas-share-against-model", source, "shown", "simulation and full model match; tested: UDP's share, the "
              "greatest difference over 0.1c to 10c", off, "percentage points",
              Bounds(None, CLOSE * 100 * choke.PEAK_SHARE, "a tenth of the greatest share of Theorem 1")),
    ]  # fmt: skip


def _below_min_th(settings: Settings, results: Tables, case: Case) -> Interval:
    """The part of samples, in per cent, with RED's average below min_th, where CHOKe compares nothing, by seed."""
    rows = results["queue"].filter((pl.col("experiment") == case.id) & (pl.col("time_s") > settings.warmup_s))
    parts = rows.group_by("seed", maintain_order=True).agg(part=(pl.col("average_packets") < MIN_TH).mean() * 100)
    return interval(parts.sort("seed")["part"].to_list())


def _active(settings: Settings, results: Tables) -> list[Check]:
    many, eight, fast = (_below_min_th(settings, results, case) for case in (FIG8, FEW[2], FAST[-1]))
    unit = "% of the time that the average is below min_th"
    low = "at least 1 %: more than no crossing at all"
    return [
        _claim("n40-active", "Sec. VI, Fig. 8", "with N = 40 the queue stays well above min_th", many, unit,
               Bounds(None, 0.0, "never")),
        _claim("n8-on-and-off", "Sec. VI, Fig. 9", "with N = 8 the queue oscillates around min_th, turning CHOKe on "
                                                   "and off",
               eight, unit, Bounds(1.0, 99.0, f"{low}; at most 99 %")),
        _claim("fast-on-and-off", "Sec. VI", "the same when c grows with fixed N; tested: 8 Mbit/s, N = 32", fast, unit,
               Bounds(1.0, 99.0, f"{low}; at most 99 %"), "shown"),
    ]  # fmt: skip


def _kinds(runs: pl.DataFrame) -> list[Check]:
    one = by_seed(runs, AT[10.0], "share", 100)
    result = []
    for name, case in (("two", TWO_LOAD[-1]), ("five", FIVE_LOAD[-1])):
        more = difference(by_seed(runs, case, "share", 100), one)
        result.append(
            _claim(f"{name}-udp-take-more", "Sec. VI", f"several UDP flows take more at a high rate; tested: {name} of "
                   f"{case.x0:g}c against one of 10c", more, "percentage points", above(0, more))
        )  # fmt: skip
    back, smooth = (interval(by_seed(runs, case, "share")) for case in (BACK_LOAD[-1], BACK_SMOOTH))
    third = Bounds(1 / 3 * (1 - CLOSE), 1 / 3 * (1 + CLOSE), "1/3, give or take a tenth of it")
    queue = interval(by_seed(runs, BACK_LOAD[-1], "b"))
    paper = "with Back CHOKe UDP's share is close to 1/3 if the number of TCP flows is large"
    return [
        *result,
        Check("back-third", "Sec. VI", "claim", f"{paper}; tested: N = 32, 10c", back.mean, "of the link", third,
              "Packets that a TCP flow sends back to back, and 32 flows are not many: the second meets the first at "
              "the "
              "tail and both are lost, so that TCP falls short of 2/3 and CHOKe is off for part of the time, when "
              "UDP takes "
              "all. With 200 flows whose packets are apart, and UDP not in step with the link, it is 1/3.",
              "back-third-no-bursts"),
        Check("back-third-no-bursts", "Sec. VI", "claim", f"{paper}; tested: N = 200, 10c, no TCP packets back to back",
              smooth.mean, "of the link", third),
        _claim("back-queue", "Sec. VI", "with Back CHOKe the queue oscillates around min_th; tested: its mean, N = "
                                        "32, 10c",
               queue, "packets", Bounds(MIN_TH * 0.5, MIN_TH * 1.5, "min_th, give or take a half of it")),
    ]  # fmt: skip


def _beyond(results: Tables, runs: pl.DataFrame) -> list[Check]:
    rows = group_rows(results)
    result = []
    for name, cases, text in (
        ("candidates", CANDIDATES, "2, 3 and 5 candidates against one UDP flow of 2c"),
        ("unequal", UNEQUAL, "three UDP flows of different rates, 1 and 3 candidates"),
        ("round-trips", FAR, "half of the TCP flows at 20 ms, half at 400 ms"),
    ):
        chosen = rows.filter(pl.col("experiment").is_in([case.id for case in cases]))
        off = 100 * max(abs(a - b) for a, b in chosen.select("share_mean", "ours_share").iter_rows())
        result.append(
            Check(f"{name}-against-model", "Sec. VII; our extension", "shown", f"the extended model holds for {text}; "
                  "tested: the greatest difference of a group's share", off, "percentage points of the link",
                  Bounds(None, 5.0, "5 percentage points, chosen here"))
        )  # fmt: skip
    for case, enough in needed():
        if enough:
            share = interval(by_seed(runs, case, "share", 100))
            k, m = case.udp[0][0], case.candidates
            result.append(
                _claim(f"needed-{k}", "CHOKe 1999, Sec. 6; our extension", f"{m} candidates hold {k} unresponsive flow"
                       f"{'s' if k > 1 else ''} under {100 * LIMIT_SHARE:g} % at the rate where they take most", share,
                       "% of the link", below(100 * LIMIT_SHARE, share), "shown")
            )  # fmt: skip
    return result
