"""The checks of "Understanding CHOKe" on Vegas (Fig. 7), on its Sec. VI, and on what goes beyond the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ..experiments.engine import Tables
from ..stats import Interval, difference, interval
from ..theory import choke
from . import Settings
from .checks import Bounds, Check, above, below
from .choke2004_cases import (
    BACK_FACTORS,
    BACK_MANY,
    BACK_SMOOTH,
    CANDIDATES,
    CROWDED,
    FAR,
    FAST,
    FEW,
    FIG8,
    FIVE_LOAD,
    LIMIT_SHARE,
    LOAD,
    MIN_TH,
    TCP_FLOWS,
    TWO_LOAD,
    UNEQUAL,
    VEGAS_LOAD,
    Case,
    window_s,
)
from .choke2004_laws import at_measured_rate, ratios
from .choke2004_measures import CLOSE, TENTH, against, by_seed, claim, name, spread_of, worst
from .choke2004_model import equilibria, needed, said
from .choke2004_rows import group_rows

AT = {case.x0: case for case in LOAD}
VEGAS_AT = {case.x0: case for case in VEGAS_LOAD}
CYCLES = 6.0
"""On-off cycles per minute that count as "constantly": one in ten seconds."""


def more(settings: Settings, results: Tables, runs: pl.DataFrame) -> list[Check]:
    """All of them."""
    return [
        *_vegas(runs), *_active(settings, results), *_kinds(settings, results, runs),
        *_beyond(settings, results, runs), *_needed(runs),
    ]  # fmt: skip


def _vegas(runs: pl.DataFrame) -> list[Check]:
    source = "Sec. V-C, Fig. 7"
    shares = {x0: by_seed(runs, case, "share", 100) for x0, case in VEGAS_AT.items()}
    top = max(shares, key=lambda x0: interval(shares[x0]).mean)
    small, peak = interval(shares[10.0]), interval(shares[top])
    nearer = difference(shares[1.25], by_seed(runs, AT[1.25], "share", 100))
    off = worst((name(case), [100 * (value - said(case, "paper").share) for value in by_seed(runs, case, "share")])
                for case in VEGAS_LOAD)  # fmt: skip
    table = ratios(runs, VEGAS_LOAD)
    f, g44, hits, rest = (spread_of(table, VEGAS_LOAD, law) for law in ("f_paper", "g_paper", "hits_tcp", "rest_b"))
    why = (
        f"At the measured τ, α/τ is {f.low:+.0f} to {f.high:+.0f} % off what the flows send, most at 10c, where losses "
        f"leave their windows below what Vegas would have"
    )
    return [
        claim("vegas-under-5-at-10c", source, "the behaviour is that of Fig. 4: UDP's share tends to 0; tested: under "
                                              "5 % at 10c", small, "% of the link", below(5, small)),
        claim("vegas-nearer-theorem-1", source, "the match with Theorem 1 is better than with NewReno; tested: UDP's "
              "share at 1.25c is greater, both below 26.9 %", nearer, "percentage points that Vegas's is greater",
              above(0, nearer), "shown"),
        claim("vegas-peak-below-theorem-1", source, "a smaller greatest share than Theorem 1", peak,
              f"% of the link, at {top:g}c", below(100 * choke.PEAK_SHARE, peak), "shown"),
        Check("vegas-share-against-model", source, "shown", "simulation and full model match; tested: UDP's share, the "
              "greatest difference over 0.1c to 10c from the model with (44)", off.size, "percentage points "
                                                                                         f"({off.at})",
              off.within(1.0, "one percentage point, chosen here")),
        *(
            Check(f"vegas-queue-against-{model}", source, "shown", f"simulation and full model match, with {text}; "
                  "tested: the queue, the greatest difference of all points", queue.size, "% of the model "
                                                                                          f"({queue.at})",
                  queue.within(100 * CLOSE, TENTH), explanation, "rest-vegas")
            for model, text, queue, explanation in (
                ("44", "(44)", against(runs, VEGAS_LOAD, "b", "paper"),
                 f"{why}; (44) at the measured queue is {g44.low:+.0f} to {g44.high:+.0f} % off RED's drops, whose "
                 "gaps are uniform here."),
                ("gaps", "RED's drops as it spaces them", against(runs, VEGAS_LOAD, "b", "ours"),
                 f"{why}. With that rate as measured, and the comparison's hits of TCP ({hits.low:+.0f} to "
                 f"{hits.high:+.0f} % off (5)), the other equations leave {rest.size:.1f} % of the queue."),
            )
        ),
        Check("rest-vegas", source, "shown", "(3), (4), (6), (7) and (9), with Vegas's rate and the hits as measured "
                                             "and RED's gaps, give the queue", rest.size, f"% ({rest.at})",
                                             rest.within(5.0, "half of a tenth")),
    ]  # fmt: skip


def cycles(settings: Settings, results: Tables, case: Case) -> tuple[Interval, Interval]:
    """How often per minute RED's average falls below min_th, where CHOKe compares nothing, and for how much of the
    time in per cent, by seed, from samples after the warm-up."""
    duration, warmup = window_s(case, settings)
    rows = results["queue"].filter((pl.col("experiment") == case.id) & (pl.col("time_s") > warmup))
    off = pl.col("average_packets") < MIN_TH
    falls = (off & ~off.shift(1)).sum() * 60 / (duration - warmup)
    parts = rows.group_by("seed", maintain_order=True).agg(falls=falls, part=off.mean() * 100).sort("seed")
    return interval(parts["falls"].to_list()), interval(parts["part"].to_list())


def _active(settings: Settings, results: Tables) -> list[Check]:
    (many, _), (eight, eight_off), (fast, fast_off) = (
        cycles(settings, results, case) for case in (FIG8, FEW[2], FAST[-1])
    )
    unit = "times a minute that the average falls below min_th"
    return [
        claim("n40-active", "Sec. VI, Fig. 8", "with N = 40 the queue stays well above min_th", many, unit,
              Bounds(None, 0.0, "never")),
        claim("n8-on-and-off", "Sec. VI, Fig. 9", "with N = 8 the queue oscillates around min_th, constantly turning "
              "CHOKe on and off", eight, f"{unit}, where it is {eight_off.mean:.1f} % of the time",
              above(CYCLES, eight)),
        claim("fast-on-and-off", "Sec. VI", "the same when c grows with fixed N; tested: 8 Mbit/s, N = 32", fast,
              f"{unit}, where it is {fast_off.mean:.1f} % of the time", above(CYCLES, fast), "shown"),
    ]  # fmt: skip


def _kinds(settings: Settings, results: Tables, runs: pl.DataFrame) -> list[Check]:
    one = by_seed(runs, AT[10.0], "share", 100)
    result = []
    for count, load in (("two", TWO_LOAD), ("five", FIVE_LOAD)):
        more_ = difference(by_seed(runs, load[-1], "share", 100), one)
        rows = [(case, interval(by_seed(runs, case, "share")), said(case, "ours").share) for case in load]
        result += [
            claim(f"{count}-udp-take-more", "Sec. VI", f"several UDP flows take more at a high rate; tested: {count} "
                                                       f"of {load[-1].x0:g}c "
                                                       "against one of 10c", more_, "percentage points",
                                                       above(0, more_)),
            _shares(f"{count}-against-model", f"the model holds for {count} UDP flows of {load[0].x0:g}c to "
                    f"{load[-1].x0:g}c each", [
                        *((f"UDP, {case.x0:g}c", spread, model) for case, spread, model in rows),
                        *((f"TCP, {case.x0:g}c", _rest(spread), 1 - model) for case, spread, model in rows),
                    ], _rate_why(runs, load), "several-at-measured-rate"),
        ]  # fmt: skip
    third = Bounds(1 / 3 * (1 - CLOSE), 1 / 3 * (1 + CLOSE), "1/3, give or take a tenth of it")
    share = {key: interval(by_seed(runs, case, "share")).mean for key, case in BACK_FACTORS.items()}
    (falls, off), base = (
        cycles(settings, results, BACK_FACTORS[TCP_FLOWS, False, False]),
        share[TCP_FLOWS, False, False],
    )
    paper = "with Back CHOKe UDP's share is close to 1/3 if the number of TCP flows is large"
    table = "; ".join(
        f"N = {number}: as it is {share[number, False, False]:.2f}, TCP spaced {share[number, True, False]:.2f}, UDP "
        f"jittered {share[number, False, True]:.2f}, both {share[number, True, True]:.2f}"
        for number in (TCP_FLOWS, BACK_MANY)
    )
    smooth = interval(by_seed(runs, BACK_SMOOTH, "b")).mean
    why = (
        f"Neither many flows, nor TCP packets that do not come back to back, nor UDP out of step with the link does it "
        f"alone; all three together do ({table}). The queue is then {smooth:.0f} packets, so that CHOKe is always on; "
        f"else it is at min_th, and while CHOKe is off UDP takes all."
    )
    return [
        *result,
        _several(runs),
        Check("back-third", "Sec. VI", "claim", f"{paper}; tested: N = {TCP_FLOWS}, 10c", base, "of the link", third,
              why, "back-third-no-bursts"),
        Check("back-third-many", "Sec. VI", "claim", f"{paper}; tested: N = {BACK_MANY}, 10c",
              share[BACK_MANY, False, False], "of the link", third, why, "back-third-no-bursts"),
        Check("back-third-no-bursts", "Sec. VI", "claim", f"{paper}; tested: N = {BACK_MANY}, 10c, TCP's packets "
                                                          "spaced, UDP jittered",
                                                          share[BACK_MANY, True, True], "of the link", third),
        claim("back-queue", "Sec. VI", "with Back CHOKe the queue oscillates around min_th; tested: N = 32, 10c, how "
                                       "often RED's average falls below it",
                                       falls, f"times a minute, where it is {off.mean:.0f} % of the time",
              above(CYCLES, falls)),
    ]  # fmt: skip


def _rest(spread: Interval) -> Interval:
    """What the others have of the link."""
    return Interval(1 - spread.mean, spread.half_width, spread.run_half_width, spread.count)


def _shares(
    id_: str, paper: str, rows: Sequence[tuple[str, Interval, float]], explanation: str = "", evidence: str = ""
) -> Check:
    """Groups' shares against a model: each may be a tenth of the model's off, and its interval and 0.2 % of the
    link."""
    used = [(abs(spread.mean - model) / (CLOSE * model + spread.margin + 0.002), label, spread, model)
            for label, spread, model in rows if np.isfinite(model)]  # fmt: skip
    most, label, spread, model = max(used, key=lambda each: each[0])
    return Check(
        id_, "Sec. VII; our extension", "shown", f"{paper}; tested: each group's share of the link against the model "
                                                 "with time-outs and RED's gaps, the greatest difference over what is "
                                                 "allowed", most,
        f"times what is allowed ({label}: {100 * spread.mean:.2f} % and {100 * model:.2f} % of the link)",
        Bounds(None, 1.0, "allowed is a tenth of the model's share, the 95 % interval over seeds, and 0.2 % of the "
                          "link"),
        explanation, evidence,
    )  # fmt: skip


def _rate_why(runs: pl.DataFrame, cases: Sequence[Case]) -> str:
    solved = {case: equilibria("ours")[case.id] for case in cases}
    known = [case for case, eq in solved.items() if eq is not None and eq.admitted == 1]
    f = spread_of(ratios(runs, known, rest=False), known, "f_ours")
    return (
        f"TCP loses much and lives by time-outs here: at the measured p and τ its law is {f.low:+.0f} to "
        f"{f.high:+.0f} % off what the flows send, so the model leaves them too much. With their rate as measured the "
        f"model holds."
    )


def _several(runs: pl.DataFrame) -> Check:
    """The model with TCP's rate as measured, where several unresponsive flows take most of the link."""
    rows = []
    limit = [each.case for each in needed() if each.full and not each.closed]
    for case in (*TWO_LOAD, *FIVE_LOAD, UNEQUAL[0], *limit):
        eq, spread = at_measured_rate(runs, case), interval(by_seed(runs, case, "share"))
        if eq is not None and eq.admitted == 1:
            label = " and ".join(f"{count} UDP of {rate:g}c" for count, rate in case.udp)
            rows += [(f"UDP, {label}", spread, eq.share), (f"TCP, {label}", _rest(spread), 1 - eq.share)]
    return _shares("several-at-measured-rate", "with the rate that the TCP flows were measured to send in place of "
                                               "their law, the model holds for several UDP flows", rows)  # fmt: skip


def _beyond(settings: Settings, results: Tables, runs: pl.DataFrame) -> list[Check]:
    table = group_rows(results)

    def rows(cases: Sequence[Case]) -> list[tuple[str, Interval, float]]:
        chosen = table.filter(pl.col("experiment").is_in([case.id for case in cases]))
        return [
            (label, Interval(mean, np.nan if half is None else half, np.nan, seeds), model)
            for label, mean, half, seeds, model in chosen.select(
                "row", "share_mean", "share_half_width", "seeds", "ours_share"
            ).iter_rows()
        ]

    falls, off = cycles(settings, results, CANDIDATES[-1])
    never, _ = cycles(settings, results, CROWDED)
    queue = interval(by_seed(runs, CANDIDATES[-1], "b")).mean
    return [
        _shares("candidates-against-model", "the extended model holds for 2 and 3 candidates against one UDP flow of "
                                            "2c",
                rows(CANDIDATES[:2])),
        _shares("five-candidates-against-model", "the same for 5 candidates", rows(CANDIDATES[2:]),
                f"Their losses hold the queue at {queue:.0f} packets, near min_th: RED's average falls below it "
                f"{falls.mean:.0f} times a minute, {off.mean:.0f} % of the time, and while CHOKe is off UDP gets "
                "through. "
                f"With 96 TCP flows it falls below it {never.mean:.0f} times, and UDP has what the model says.",
                "five-candidates-many-flows"),
        _shares("five-candidates-many-flows", "the same for 5 candidates beside 96 TCP flows", rows((CROWDED,))),
        _shares("unequal-1-against-model", "the extended model holds for three UDP flows of 0.5c, c and 3c, 1 "
                                           "candidate",
                rows(UNEQUAL[:1]), _rate_why(runs, UNEQUAL[:1]), "several-at-measured-rate"),
        _shares("unequal-3-against-model", "the same with 3 candidates", rows(UNEQUAL[1:])),
        _shares("round-trips-against-model", "the extended model holds for half of the TCP flows at 20 ms, half at "
                                             "400 ms",
                rows(FAR)),
    ]  # fmt: skip


def _needed(runs: pl.DataFrame) -> list[Check]:
    """Candidates for k flows: those of the closed curve, and those of the full model beside as many TCP flows."""
    result, source = [], "CHOKe 1999, Sec. 6; our extension"
    for k in sorted({each.case.udp[0][0] for each in needed()}):
        cases = {each.case.candidates: each for each in needed() if each.case.udp[0][0] == k}
        closed = min(m for m, each in cases.items() if each.closed)
        full = min(m for m, each in cases.items() if each.full)
        whom = f"{k} unresponsive flow{'s' if k > 1 else ''}"
        for which, m in (("closed", closed), ("full", full), ("full-less", full - 1)):
            if m not in cases:
                continue
            case = cases[m].case
            spread = interval(by_seed(runs, case, "share", 100))
            limit = 100 * LIMIT_SHARE
            by = "the closed curve" if which == "closed" else "the full model with 96 TCP flows"
            holds = which != "full-less"
            paper = (
                f"{m} candidate{'s hold' if m > 1 else ' holds'} {whom} under {limit:g} %, by {by}"
                if holds
                else f"{m} do not hold {whom} under {limit:g} %, by {by}"
            ) + f"; tested at {case.x0:g}c each, where they take most"
            model = 100 * said(case, "ours").share
            eq = at_measured_rate(runs, case)
            measured = "no number" if eq is None else f"{100 * eq.share:.2f} %"
            why = (
                f"The model has {model:.2f} % there, so near the limit that what the law of TCP is off decides: with "
                f"TCP's rate as measured it has {measured}."
            ) if which == "full" else ""  # fmt: skip
            result.append(
                Check(f"needed-{which}-{k}", source, "shown", paper, spread.mean, "% of the link",
                      below(limit, spread) if holds else above(limit, spread), why,
                      "several-at-measured-rate" if why else "")
            )  # fmt: skip
    return result
