"""The checks of "Understanding CHOKe": its closed forms, and its experiments 1 and 2, Figs. 4 to 6.

Closed forms are `exact`. What the paper says in words and what Theorem 1 bounds are `claim`. Numbers that rest on
max_th and p_max, which the text at hand has lost, and agreement with a model that has them, are `shown`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ..experiments.engine import Tables
from ..stats import Interval, difference, interval
from ..theory import choke
from . import Settings
from .checks import Bounds, Check, above, below, printed
from .choke2004_cases import BASE_RTT_S, LINK_BPS, LOAD, MANY, MIN_TH, PACKET_BITS, RATES, SPATIAL, Case
from .choke2004_laws import ratios
from .choke2004_measures import CLOSE, TENTH, against, by_seed, claim, name, spread_of, worst
from .choke2004_model import said
from .choke2004_spatial import HEAD, densities, model_rho

OF_FIGURE: dict[str, tuple[str, ...]] = {
    "fig4": (
        "theorem-1-share", "theorem-1-load", "theorem-1-h0", "under-5-at-10c", "rises-to-1.25c", "falls-from-1.25c",
        "peak-below-theorem-1", "queue-grows", "share-against-model",
        *(f"{what}-against-{model}-load" for what in ("queue", "x1", "p1") for model in ("43", "timeouts")),
    ),
    "fig5": (
        "queue-grows-with-n", "tcp-falls-with-n", "share-against-model-many",
        *(f"{what}-against-{model}-many" for what in ("queue", "x1", "p1") for model in ("43", "timeouts")),
    ),
    "laws": (
        "law-43", "law-timeouts-nearer", "law-44", "law-gaps", "hits-tcp", "hits-udp",
        *(f"{what}-{name}" for name in ("load", "many") for what in ("queue-one-at-a-time", "rest")),
    ),
    "fig6": (
        "density-at-0.1c", "density-flat", *(f"head-is-share-{x0:g}c" for x0 in SPATIAL), "density-falls", "half-udp",
        "under-half-udp", "density-against-model-load",
    ),
    "fig6-n": ("density-against-model-many", "head-is-share-many"),
    "fig7": (
        "vegas-under-5-at-10c", "vegas-nearer-theorem-1", "vegas-peak-below-theorem-1", "vegas-share-against-model",
        "vegas-queue-against-44", "vegas-queue-against-gaps", "rest-vegas",
    ),
    "fig8-9": ("n40-active", "n8-on-and-off", "fast-on-and-off"),
    "few": ("least-flows",),
    "kinds": (
        "two-udp-take-more", "five-udp-take-more", "two-against-model", "five-against-model",
            "several-at-measured-rate",
        "back-third", "back-third-many", "back-third-no-bursts", "back-queue",
    ),
    "beyond": (
        "candidates-against-model", "five-candidates-against-model", "five-candidates-many-flows",
        "unequal-1-against-model", "unequal-3-against-model", "round-trips-against-model",
    ),
    "needed": tuple(
        f"needed-{which}-{k}" for k in (1, 2, 3, 5) for which in ("closed", "full", "full-less") if (which, k) !=
        ("full-less", 1)
    ),
}  # fmt: skip
"""Which checks stand under which figure."""

AT = {case.x0: case for case in LOAD}


def checks(settings: Settings, results: Tables, runs: pl.DataFrame) -> list[Check]:
    """All checks on `choke2004.points` and the tables behind it."""
    from .choke2004_more_checks import more

    return [
        *_exact(), *_load(runs), *_many(runs), *_laws(runs), *_spatial(results, runs),
        *more(settings, results, runs),
    ]  # fmt: skip


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
    source = "Sec. V-A, Fig. 4"
    return [
        claim("under-5-at-10c", source, "UDP's share drops to less than 5 % at 10c", small, "% of the link",
               below(5, small)),
        claim("rises-to-1.25c", source, "UDP's share rises and peaks when UDP sends slightly more than c; tested: at "
                                         "1.25c it is more than at 0.5c, seed by seed", up, "percentage points",
                                         above(0, up)),
        claim("falls-from-1.25c", source, "then it drops; tested: at 1.25c it is more than at 5c, seed by seed", down,
               "percentage points", above(0, down)),
        claim("peak-below-theorem-1", source, "simulation shows a smaller greatest share than Theorem 1", peak,
               f"% of the link, at {top:g}c", below(100 * choke.PEAK_SHARE, peak)),
        claim("queue-grows", source, "the queue steadily increases with UDP's rate; tested: 10c against 0.1c", grows,
               "packets", above(0, grows)),
        _share(runs, "share-against-model", source, LOAD, "simulation and full model match closely"),
        *_against(runs, "load", source, LOAD),
    ]  # fmt: skip


def _share(runs: pl.DataFrame, id_: str, source: str, cases: Sequence[Case], paper: str) -> Check:
    off = worst(
        (name(case),
         [100 * (value - said(case, "paper").share) for value in by_seed(runs, case, "share")])
        for case in cases
    )  # fmt: skip
    return Check(id_, source, "shown", f"{paper}; tested: UDP's share, the greatest difference from the model with "
                                       "(43) and (44)", off.size, f"percentage points ({off.at})",
                 off.within(1.0, "one percentage point, chosen here"))  # fmt: skip


WHAT = {"queue": ("b", "the queue"), "x1": ("x1", "the rate x_1 that a TCP flow sends"),
        "p1": ("p1", "the loss p_1 of a TCP flow")}  # fmt: skip


def _against(runs: pl.DataFrame, set_: str, source: str, cases: Sequence[Case]) -> list[Check]:
    """Queue, x_1 and p_1 against both full models, the worst point of each; throughput cannot fail, for (7) fixes
    it."""
    table = ratios(runs, cases)
    f43, timed, g44, hits, rest = (spread_of(table, cases, law) for law in ("f_paper", "f_ours", "g_paper", "hits_tcp",
                                                                        "rest_b"))  # fmt: skip
    laws = (
        f"By itself, at the measured p and τ, (43) is {f43.low:+.0f} to {f43.high:+.0f} % off what the flows send, and "
        f"(44) at the measured queue {g44.low:+.0f} to {g44.high:+.0f} % off RED's drops; to replace either alone "
        "brings the queue nearer at every point."
    )
    ours = (
        f"At the measured p and τ the law with time-outs is {timed.low:+.0f} to {timed.high:+.0f} % off what the flows "
        f"send, more with more flows, and the part of TCP's arrivals that a comparison drops is {hits.low:+.0f} to "
        f"{hits.high:+.0f} % off (5), which counts most where few flows share the queue: the one lengthens the model's "
        "queue, the other shortens it, and where they cancel it agrees. With both as measured the other equations "
        f"leave {rest.size:.1f} % of the queue."
    )
    result = []
    for key, (column, text) in WHAT.items():
        for model, called, paper, explanation, evidence in (
            ("43", "paper", f"{text} matches the full model with (43) and (44)", laws, f"queue-one-at-a-time-{set_}"),
            ("timeouts", "ours", f"{text} against a law of TCP that knows time-outs, and RED's drops as it spaces them",
             ours, f"rest-{set_}"),
        ):  # fmt: skip
            off = against(runs, cases, column, called)
            result.append(
                Check(f"{key}-against-{model}-{set_}", source, "shown", f"{paper}; tested: the greatest difference of "
                      f"all points", off.size, f"% of the model ({off.at})", off.within(100 * CLOSE, TENTH),
                      explanation,
                      evidence)
            )  # fmt: skip
    return result


def _many(runs: pl.DataFrame) -> list[Check]:
    source = "Sec. V-A, Fig. 5"
    grows = difference(by_seed(runs, MANY[-1], "b"), by_seed(runs, MANY[0], "b"))
    falls = difference(by_seed(runs, MANY[0], "tcp_flow"), by_seed(runs, MANY[-1], "tcp_flow"))
    return [
        claim("queue-grows-with-n", source, "the queue increases with N; tested: N = 64 against 12", grows, "packets",
              above(0, grows)),
        claim("tcp-falls-with-n", source, "the throughput of a TCP flow decreases with N", falls, "packets/s",
              above(0, falls)),
        _share(runs, "share-against-model-many", source, MANY, "simulation and full model match very well"),
        *_against(runs, "many", source, MANY),
    ]  # fmt: skip


def _laws(runs: pl.DataFrame) -> list[Check]:
    """Each law by itself, at what was measured."""
    source, cases = "Sec. V-A", list(dict.fromkeys((*LOAD, *MANY)))
    table = ratios(runs, cases)
    nearer = table.with_columns(nearer=pl.col("f_paper").abs() - pl.col("f_ours").abs())
    least = min((interval(by_seed(nearer, case, "nearer", 100)) for case in cases), key=lambda each: each.mean)
    f43, timed, g44, gaps = (spread_of(table, cases, law) for law in ("f_paper", "f_ours", "g_paper", "g_ours"))
    result: list[Check] = [
        Check("law-43", "eq. (43)", "shown", "the rate of TCP by (43) at the measured p_1 and τ, against the "
                                             "measured x_1",
              f43.size, f"% ({f43.at})", f43.within(100 * CLOSE, TENTH),
              "Windows are about three packets and time-outs frequent; (43) knows none. A law with them comes nearer "
              f"at every point, {timed.low:+.0f} to {timed.high:+.0f} %, not exact: least with few flows, most with "
              "many.",
              "law-timeouts-nearer"),
        claim("law-timeouts-nearer", "Padhye et al. 2000", "with time-outs the law comes nearer to the measured x_1 at "
              "every point; tested: by how much where it does least", least, "percentage points of x_1",
              above(0, least), "shown"),
        Check("law-44", "eq. (44)", "shown", "r by (44) at the measured queue, against RED's measured drops", g44.size,
              f"% ({g44.at})", g44.within(100 * CLOSE, TENTH), "RED here spaces its drops by uniform gaps on 1 … "
                                                               "1/p_b, its default, which "
                                                               "drops 2p_b/(1 + p_b).", "law-gaps"),
        Check("law-gaps", "Floyd & Jacobson 1993, Sec. VII", "shown", "r = 2p_b/(1 + p_b) at the measured queue, "
                                                                      "against RED's measured drops",
                                                                      gaps.size, f"% ({gaps.at})",
                                                                      gaps.within(5.0, "half of a tenth")),
    ]  # fmt: skip
    tcp, udp = spread_of(table, cases, "hits_tcp"), spread_of(table, MANY, "hits_udp")
    result += [
        Check("hits-tcp", "eq. (5)", "shown", "a comparison drops b_i/b of a flow's arrivals: of TCP's", tcp.size,
              f"% ({tcp.at})", tcp.within(100 * CLOSE, TENTH), "A TCP flow sends when acknowledgements come, so when "
                                                               "its packets have left the queue: an arrival finds "
                                                               "fewer of its own there than stand there on average. "
                                                               "UDP's arrivals, which wait for nothing, find what (5) "
                                                               "says.", "hits-udp"),
        Check("hits-udp", "eq. (5)", "shown", "the same of UDP's, at 10c", udp.size, f"% ({udp.at})",
              udp.within(5.0, "half of a tenth")),
    ]  # fmt: skip
    for set_, members in (("load", LOAD), ("many", MANY)):
        gain, label = min(_gains(runs, members), key=lambda each: each[0].mean)
        off = spread_of(table, members, "rest_b")
        result += [
            claim(f"queue-one-at-a-time-{set_}", source, "a law with time-outs alone, and RED's gaps alone, bring the "
                  "model's queue nearer to the measured one at every point; tested: by how much where one does least",
                  gain, f"% of the queue ({label})", above(0, gain), "shown"),
            Check(f"rest-{set_}", source, "shown", "(3), (4), (6), (7) and (9), with TCP's rate and the hits as "
                                                   "measured "
                                                   "and RED's gaps, give the queue", off.size, f"% ({off.at})",
                                                   off.within(5.0, "half of a tenth")),
        ]  # fmt: skip
    return result


def _gains(runs: pl.DataFrame, cases: Sequence[Case]) -> list[tuple[Interval, str]]:
    """For each point and each single change of the paper's model: by how much nearer it brings the queue, per cent."""
    return [
        (interval([100 * (abs(said(case, "paper").b - b) - abs(said(case, model).b - b)) / b
                   for b in by_seed(runs, case, "b")]), f"{model}, {name(case)}")
        for case in cases
        for model in ("padhye", "gaps")
    ]  # fmt: skip


def _spatial(results: Tables, runs: pl.DataFrame) -> list[Check]:
    source = "Sec. V-B, Fig. 6"
    tables = densities(results, tuple(dict.fromkeys((*LOAD, *MANY))))

    def part(case: Case, low: float, high: float) -> list[float]:
        rows = tables[case.id].filter((pl.col("place") >= low) & (pl.col("place") <= high))
        return rows.group_by("seed", maintain_order=True).agg(pl.col("rho").mean()).sort("seed")["rho"].to_list()

    first, last = AT[0.1], AT[10.0]
    mean = interval(part(first, 0, 0.999))
    slope = difference(part(first, 0, 1 / 3), part(first, 2 / 3, 0.999))
    falls = difference(part(last, 0, 0.2), part(last, 0.8, 0.999))
    occupancy = interval(by_seed(runs, last, "occupancy"))
    result = [
        claim("density-at-0.1c", source, "probability close to 0.08 at each place at 0.1c", mean, "",
              printed(0.08, 0.01, mean), "shown"),
        claim("density-flat", source, "roughly uniform at 0.1c; tested: mean of the third at the tail less that of the "
              "third at the head", slope, "", Bounds(-0.01, 0.01, "0, give or take a unit of 0.08's last digit"),
              "shown"),
        claim("density-falls", source, "ρ concentrates near the tail and drops towards the head; tested: mean of the "
              "fifth at the tail less that of the fifth at the head, at 10c", falls, "", above(0, falls)),
        claim("half-udp", source, "at 10c roughly half of the queue is UDP's", occupancy, "",
              printed(0.5, 0.1, occupancy), "shown"),
        claim("under-half-udp", "Theorem 5", "UDP never has more than half of the queue; tested at 10c", occupancy, "",
              below(0.5, occupancy)),
    ]  # fmt: skip
    for x0 in SPATIAL:
        case = AT[x0]
        off = difference(part(case, HEAD, HEAD), by_seed(runs, case, "share"))
        result.append(
            claim(f"head-is-share-{x0:g}c", source, f"ρ(b) equals UDP's share of the link; tested at {x0:g}c", off,
                  "head of the queue less share of the link", _waits(runs, case, off.margin, off.count))
        )  # fmt: skip
    offs = [difference(part(case, HEAD, HEAD), by_seed(runs, case, "share")) for case in MANY]
    bounds = [_waits(runs, case, off.margin, off.count) for case, off in zip(MANY, offs, strict=True)]
    used = [abs(off.mean) / (limit.high or 1.0) for off, limit in zip(offs, bounds, strict=True)]
    result.append(
        Check("head-is-share-many", source, "claim", "the same for N = 12 to 64 at 10c; tested: the greatest "
                                                     "difference over what is "
                                                     "allowed at that point", max(used), "",
                                                     Bounds(None, 1.0, "as for each UDP rate"))
    )  # fmt: skip
    for set_, members in (("load", LOAD), ("many", MANY)):
        farthest = worst(
            (f"{name(case)}, place {place:g}", [rho - model for rho in values])
            for case in members
            for place, model, values in _places(tables[case.id], case)
        )
        least = min(said(case, "ours").b for case in members)
        result.append(
            Check(f"density-against-model-{set_}", source, "shown", "simulation and full model match well; tested: the "
                  "greatest difference of ρ(y) at any twentieth of the queue, from the model with time-outs and RED's "
                  "gaps", farthest.size, f"({farthest.at})", farthest.within(
                      2 / least, f"2/b, which a model of means leaves open, of the shortest queue, {least:.0f}"))
        )  # fmt: skip
    return result


def _waits(runs: pl.DataFrame, case: Case, margin: float, count: int) -> Bounds:
    """How near ρ(b) must come to the share: a packet seen at the head waits there for the link to be free, and is hit
    in that time by at most x_0/c arrivals with 1/b each."""
    hit = interval(by_seed(runs, case, "share")).mean * case.x0 / interval(by_seed(runs, case, "b")).mean
    return Bounds(
        -hit - margin, hit + margin, f"0, give or take {hit:.2g}, of what stands at the head the part that is hit "
                                     f"before the link is free, and {margin:.2g}, the 95 % interval over {count} seeds"
    )  # fmt: skip


def _places(table: pl.DataFrame, case: Case) -> list[tuple[float, float, list[float]]]:
    """Each part of the queue: where, the model's ρ, and the measured ones by seed."""
    rows = table.filter(pl.col("place") < HEAD).sort("place", "seed")
    parts = rows.group_by("place", maintain_order=True).agg("rho")
    rho = model_rho(case, "ours")
    return [(place, float(rho(np.array(place))), values) for place, values in parts.iter_rows()]
