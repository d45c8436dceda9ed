"""What DCN 2004 says, and what was measured: the checks.

The figures of the paper are lost; what its text says of them is checked. One number stands for a response-time curve
where schemes are put in order: the mean response time with every time above 2 s counted as 2 s, which is the area over
the curve as the paper draws it. Schemes are compared run by run, with the same users and the same draws.
"""

from __future__ import annotations

import math

from ..stats import Interval, interval
from .checks import Bounds, Check, above, below
from .dcn2004_cases import LOADS
from .dcn2004_points import PERCENTILES, Results, differences, milliseconds
from .dcn2004_tables import TABLE_1

CONGESTED_LOADS = (98, 105)
REST = ("drop-tail", "afd", "afd-ecn", "rio-ps", "rio-ps-ecn")
"""What DCN and PI with ECN come before in Figs. 11 and 13 and in the text."""

REST_WITHOUT_ECN = ("drop-tail", "afd", "rio-ps")
"""What PI without ECN comes before: schemes without ECN, as it is."""


def checks(results: Results) -> list[Check]:
    """Those of response sizes and response times; `dcn2004_more_checks` has the others."""
    return [
        *_sizes(results),
        *_orders(results),
        *_dcn_against_drop_tail(results),
        *_plateau(results),
        *_mix(results),
    ]


# Figures 1 and 2 --------------------------------------------------------------------------------------------------


def _sizes(results: Results) -> list[Check]:
    """The sizes that were drawn, over the exchanges of the uncongested runs of all loads."""
    bounds = (3_000, 10_000, 100_000, 1_000_000)
    share = dict(zip(bounds, results.drawn("exchanges", bounds), strict=True))
    of_bytes = dict(zip(bounds, results.drawn("response_bytes", bounds), strict=True))

    def about(value: float, room: float) -> Bounds:
        return Bounds(value - room, value + room, f"{value:g} as the text says “approximately”, give or take {room:g}")

    return [
        Check("sizes-10k", "Sec. 3, Fig. 1", "claim", "approximately 90 % of web responses are 10,000 bytes or less",
              share[10_000].mean * 100, "%", about(90, 1)),
        Check("sizes-10k-bytes", "Sec. 3, Fig. 2", "claim", "and account for less than 25 % of the bytes",
              of_bytes[10_000].mean * 100, "%", Bounds(None, 25, "as the text says")),
        Check("sizes-1m", "Sec. 3, Fig. 1", "claim", "responses above 1 megabyte make up less than 1 % of all",
              (1 - share[1_000_000].mean) * 100, "%", Bounds(None, 1, "as the text says")),
        Check("sizes-1m-bytes", "Sec. 3, Fig. 2", "shown", "but account for 25 % of the total bytes",
              (1 - of_bytes[1_000_000].mean) * 100, "%", about(25, 5)),
        Check("sizes-few", "Sec. 3", "claim", "responses of 2,000 to 3,000 bytes, approximately 70 % of all flows",
              share[3_000].mean * 100, "%", about(70, 5)),
        Check("sizes-few-bytes", "Sec. 3", "claim", "and these are only 6 to 8 % of the total bytes",
              of_bytes[3_000].mean * 100, "%", Bounds(5.5, 8.5, "6 to 8 as printed, give or take half a digit")),
        Check("sizes-100k", "Sec. 5.1, Fig. 1", "claim", "responses above 100,000 bytes are less than 1 % of all",
              (1 - share[100_000].mean) * 100, "%", Bounds(None, 1, "as the text says")),
    ]  # fmt: skip


# Figures 5 to 9, 11, 13 -------------------------------------------------------------------------------------------


def _capped(results: Results, first: str, second: str, load: int) -> Interval:
    return differences(results.each(f"{first}-{load}", "capped"), results.each(f"{second}-{load}", "capped"))


def _order(results: Results, better: str, worse: str, load: int, paper: str) -> Check:
    """That one scheme answers sooner than another: the paired difference lies below 0 with its whole interval.

    Where PI comes behind a scheme, the same comparison with a target of 240 packets instead of 24, and nothing else
    changed, tells whether its short queue is the cause.
    """
    cut = milliseconds(_capped(results, better, worse, load))
    explanation = evidence = ""
    if better in LONGER_TARGET and worse in REST:
        carried = [results.interval(f"{key}-{load}", "utilisation").mean * 100 for key in (better, worse)]
        explanation = (
            f"{NAMES[better]} with a target of 24 packets carries {carried[0]:.1f} Mbit/s here, {NAMES[worse]} "
            f"{carried[1]:.1f}: bursts empty so short a queue, the link idles, and users wait the longer. With a "
            "target of 240 packets, and nothing else changed, PI comes before it as the paper says."
        )
        evidence = f"target-{better}-{worse}-{load}"
    longer = milliseconds(_capped(results, LONGER_TARGET.get(better, better), worse, load))
    remark = (
        f"Not isolated. With a target of 240 packets the difference is {longer.mean:.0f} ms, the order asks for less "
        f"than {below(0, longer).high:.0f}. Loss in %: {NAMES[better]} {_lost(results, better, load)}, {NAMES[worse]} "
        f"{_lost(results, worse, load)}."
        if evidence
        else ""
    )
    return Check(
        f"order-{better}-{worse}-{load}", "Sec. 5.1, Figs. 9, 11, 13", "claim", paper, cut.mean, CAPPED, below(0, cut),
        explanation, evidence, remark,
    )  # fmt: skip


def _lost(results: Results, key: str, load: int) -> str:
    """The loss of a scheme in %, with the paper's in brackets."""
    paper = next(row for row in TABLE_1 if row.key == key).loss[LOADS.index(load)]
    longer = f"{key}-{load}-long"
    told = f", {results.each(longer, 'loss')[0] * 100:.2f} in a longer run" if results.seeds_of(longer) else ""
    return f"{results.interval(f'{key}-{load}', 'loss').mean * 100:.2f}{told} (paper {paper:g})"


LONGER_TARGET = {"pi": "pi-240", "pi-ecn": "pi-ecn-240"}
"""The same scheme with a target of 240 packets."""

CAPPED = "ms of mean response time, times above 2 s counted as 2 s"


def _targets(results: Results, load: int) -> list[Check]:
    """The orders of PI once more, with a target of 240 packets."""
    result = []
    for better, longer in LONGER_TARGET.items():
        for worse in REST if better == "pi-ecn" else REST_WITHOUT_ECN:
            cut = milliseconds(_capped(results, longer, worse, load))
            result.append(
                Check(
                    f"target-{better}-{worse}-{load}", "ours, beside Sec. 5", "shown",
                    f"at {load} % {NAMES[better]} with a target of 240 packets comes before {NAMES[worse]}",
                    cut.mean, CAPPED, below(0, cut),
                )
            )  # fmt: skip
    return result


def _orders(results: Results) -> list[Check]:
    result = []
    for load in CONGESTED_LOADS:
        for better in ("dcn", "pi-ecn"):
            says = f"at {load} % {NAMES[better]} does better than PI without ECN"
            result.append(_order(results, better, "pi", load, says))
        for worse in REST:
            for better in ("dcn", "pi-ecn"):
                says = f"at {load} % {NAMES[better]} is superior to {NAMES[worse]}"
                result.append(_order(results, better, worse, load, says))
            if worse in REST_WITHOUT_ECN:
                result.append(_order(results, "pi", worse, load, f"at {load} % PI comes before {NAMES[worse]}"))
        cut = milliseconds(_capped(results, "dcn", "pi-ecn", load))
        result.append(
            Check(
                f"dcn-as-pi-ecn-{load}", "Sec. 5.1", "claim",
                f"at {load} % DCN without ECN is equal or superior to PI with ECN", cut.mean, CAPPED,
                Bounds(None, 0, "at most 0"),
            )
        )  # fmt: skip
        result += _targets(results, load)
    return result


NAMES = {
    "dcn": "DCN", "pi": "PI", "pi-ecn": "PI with ECN", "drop-tail": "Drop Tail", "afd": "AFD", "rio-ps": "RIO-PS",
    "afd-ecn": "AFD with ECN", "rio-ps-ecn": "RIO-PS with ECN",
}  # fmt: skip


def _dcn_against_drop_tail(results: Results) -> list[Check]:
    loss = [a / b for a, b in zip(results.each("dcn-105", "loss"), results.each("drop-tail-105", "loss"), strict=True)]
    runs = [
        [results.distribution(f"{key}-98", seed).quantiles(PERCENTILES) for key in ("dcn", "drop-tail")]
        for seed in results.seeds
    ]
    means = [interval([math.log(dcn[at] / tail[at]) for dcn, tail in runs]).mean for at in range(len(PERCENTILES))]
    worst = max(range(len(PERCENTILES)), key=lambda at: means[at])
    resolution = 1 / 64
    return [
        Check(
            "dcn-loss-half", "Table 1", "claim", "at 105 % DCN loses 3.0 % of packets, Drop Tail 8.8 %: less than half",
            interval(loss).mean, "DCN's loss over Drop Tail's", below(0.5, interval(loss)),
            remark=f"Not isolated. Loss in %: DCN {_lost(results, 'dcn', 105)}, Drop Tail "
            f"{_lost(results, 'drop-tail', 105)}. Both grow with the length of the run, DCN's no less. It comes from "
            "few flows here, which DCN has to slow down until their users offer no more than the link carries.",
        ),
        Check(
            "dcn-quantiles-98", "Sec. 5.1, Fig. 11", "claim",
            "at 98 % the vast majority of flows do better than with Drop Tail: no percentile up to the 99th is worse",
            math.exp(means[worst]), "DCN's response time over Drop Tail's at the worst percentile, the "
            f"{PERCENTILES[worst] * 100:.0f}th",
            Bounds(None, 1 + resolution, "1, and the width of a class of response times (1/64)"),
        ),
    ]  # fmt: skip


def plateau(results: Results, case: str) -> Interval:
    """Exchanges done in the 0.2 s after the least timeout over those in the 0.2 s before, the round trip added.

    Above 1 where a flat region ends there.
    """
    runs = [results.distribution(case, seed) for seed in results.seeds_of(case)]
    return interval([run.between(1.1, 1.3) / max(run.between(0.8, 1.0), 1e-9) for run in runs])


PLATEAU = "exchanges done in 1.1 to 1.3 s over those done in 0.8 to 1.0 s"


def _in_longer_run(results: Results, load: int) -> str:
    """What AFD's longer run shows of the region, if there is one."""
    case = f"afd-{load}-long"
    return f" In a longer run the measure is {plateau(results, case).mean:.2f}." if results.seeds_of(case) else ""


def _plateau(results: Results) -> list[Check]:
    """A flat region that ends at the least timeout: fewer exchanges are done in the 0.2 s before it than soon after."""
    result = []
    for load in CONGESTED_LOADS:
        afd, pi = (plateau(results, f"{key}-{load}") for key in ("afd", "pi"))
        result += [
            Check(
                f"afd-plateau-{load}", "Sec. 5.1, Fig. 7", "claim",
                f"AFD without ECN at {load} %: a flat region extending out to 1 second, the minimum timeout",
                afd.mean, PLATEAU, above(1, afd),
                remark=f"Not isolated. Loss in %: AFD {_lost(results, 'afd', load)}. Where small flows lose as many "
                f"packets as under PI, these hosts show the region.{_in_longer_run(results, load)}",
            ),
            Check(
                f"pi-plateau-{load}", "ours, beside Sec. 5.1", "shown",
                f"the same of PI without ECN at {load} %: these hosts do show it", pi.mean, PLATEAU, above(1, pi),
            ),
        ]  # fmt: skip
    return result


# Figures 19 and 20 ------------------------------------------------------------------------------------------------


def _mix(results: Results) -> list[Check]:
    """DCN and RIO-PS, whichever version the figures show, before the others under general TCP."""
    result = []
    for better in ("dcn", "rio-ps-ecn"):
        for worse in ("drop-tail", "pi-ecn", "afd-ecn"):
            cut = milliseconds(
                differences(results.each(f"{better}-mix", "capped"), results.each(f"{worse}-mix", "capped"))
            )
            result.append(
                Check(
                    f"order-mix-{better}-{worse}", "Sec. 5.2, Fig. 19", "claim",
                    f"under general TCP {NAMES[better]} outperforms {NAMES[worse]}", cut.mean, CAPPED, below(0, cut),
                )
            )  # fmt: skip
    return result
