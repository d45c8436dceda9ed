"""What DCN 2004 says, and what was measured: the checks.

The figures of the paper are lost; what its text says of them is checked. One number stands for a response-time curve
where schemes are put in order: the mean response time with every time above 2 s counted as 2 s, which is the area over
the curve as the paper draws it. Schemes are compared run by run, with the same users and the same draws.
"""

from __future__ import annotations

import math

from ..intervals import Interval, interval
from .checks import Bounds, Check, above, below, printed
from .dcn2004_cases import LOADS
from .dcn2004_points import LARGE_BYTES, Results, differences
from .dcn2004_tables import CELLS, cells

CONGESTED_LOADS = (98, 105)
QUANTILES = tuple(share / 100 for share in (*range(5, 100, 5), 99))
PERCENTILES = tuple(share / 100 for share in range(1, 100))
OTHER_AQM = ("pi-ecn", "afd-ecn", "rio-ps-ecn")
"""The best versions of the other designs, as Figs. 9 to 18 show them."""

REST = ("drop-tail", "afd", "rio-ps")


def checks(results: Results, warmup_s: float) -> list[Check]:
    """All checks, in the order of the figures."""
    return [
        *_sizes(results),
        *_orders(results),
        *_dcn_against_drop_tail(results),
        *_plateau(results),
        *_large(results),
        *_policed(results),
        *_state(results, warmup_s),
        *_queue(results),
        *cells(results),
    ]


# Figures 1 and 2 --------------------------------------------------------------------------------------------------


def _sizes(results: Results) -> list[Check]:
    """The sizes that were drawn, over all exchanges of the uncongested runs."""
    counts: dict[int, int] = {}
    volume: dict[int, int] = {}
    for load in LOADS:
        for seed in results.seeds:
            for size, number, size_bytes in (
                results.classes[f"uncongested-{load}", seed]
                .select("response_bytes_max", "exchanges", "response_bytes")
                .rows()
            ):
                counts[size] = counts.get(size, 0) + number
                volume[size] = volume.get(size, 0) + size_bytes
    total, total_bytes = sum(counts.values()), sum(volume.values())

    def share(bound: int) -> float:
        return sum(number for size, number in counts.items() if size <= bound) / total

    def of_bytes(bound: int) -> float:
        return sum(number for size, number in volume.items() if size <= bound) / total_bytes

    def about(value: float, room: float) -> Bounds:
        return Bounds(value - room, value + room, f"{value:g} as the text says “approximately”, give or take {room:g}")

    return [
        Check("sizes-10k", "Sec. 3, Fig. 1", "claim", "approximately 90 % of web responses are 10,000 bytes or less",
              share(10_000) * 100, "%", about(90, 1)),
        Check("sizes-10k-bytes", "Sec. 3, Fig. 2", "claim", "and account for less than 25 % of the bytes",
              of_bytes(10_000) * 100, "%", Bounds(None, 25, "as the text says")),
        Check("sizes-1m", "Sec. 3, Fig. 1", "claim", "responses above 1 megabyte make up less than 1 % of all",
              (1 - share(1_000_000)) * 100, "%", Bounds(None, 1, "as the text says")),
        Check("sizes-1m-bytes", "Sec. 3, Fig. 2", "shown", "but account for 25 % of the total bytes",
              (1 - of_bytes(1_000_000)) * 100, "%", about(25, 5)),
        Check("sizes-few", "Sec. 3", "claim", "responses of 2,000 to 3,000 bytes, approximately 70 % of all flows",
              share(3000) * 100, "%", about(70, 5)),
        Check("sizes-100k", "Sec. 5.1, Fig. 1", "claim", "responses above 100,000 bytes are less than 1 % of all",
              (1 - share(100_000)) * 100, "%", Bounds(None, 1, "as the text says")),
    ]  # fmt: skip


# Figures 5 to 9, 11, 13 -------------------------------------------------------------------------------------------


def _capped(results: Results, first: str, second: str, load: int) -> Interval:
    return differences(results.each(f"{first}-{load}", "capped"), results.each(f"{second}-{load}", "capped"))


def _milliseconds(spread: Interval) -> Interval:
    return Interval(spread.mean * 1e3, spread.half_width * 1e3, spread.run_half_width * 1e3, spread.count)


def _order(results: Results, better: str, worse: str, load: int, paper: str) -> Check:
    """That one scheme answers sooner than another: the paired difference lies below 0 with its whole interval.

    Where PI comes behind a scheme with a longer queue, the runs with a target of 240 packets tell why.
    """
    cut = _milliseconds(_capped(results, better, worse, load))
    explanation = evidence = ""
    if better in ("pi", "pi-ecn") and worse in REST:
        idle = 100 * (results.interval(f"{worse}-{load}", "utilisation").mean
                      - results.interval(f"{better}-{load}", "utilisation").mean)  # fmt: skip
        explanation = (
            f"PI with a target of 24 packets carries {idle:.1f} Mbit/s less than {NAMES[worse]}: our bursts empty so "
            f"short a "
            "queue, the link idles, and users whose requests depend on answers wait the longer. With a target of 240 "
            + (
                "packets PI with ECN comes before Drop Tail."
                if worse == "drop-tail"
                else "packets most of the distance is gone."
            )
        )
        evidence = f"target-{worse}-{load}"
    return Check(
        f"order-{better}-{worse}-{load}", "Sec. 5.1, Figs. 9, 11, 13", "claim", paper, cut.mean, CAPPED, below(0, cut),
        explanation, evidence,
    )  # fmt: skip


CAPPED = "ms of mean response time, times above 2 s counted as 2 s"


def _targets(results: Results, load: int) -> list[Check]:
    """What PI's target of 24 packets costs: with 240 it comes before Drop Tail, and nearer to the others by more than
    half."""
    result = []
    for worse in REST:
        if worse == "drop-tail":
            cut = _milliseconds(_capped(results, "pi-ecn-240", worse, load))
            paper, bounds = "PI with ECN and a target of 240 packets comes before Drop Tail", below(0, cut)
        else:
            pairs = zip(
                *(results.each(f"{key}-{load}", "capped") for key in ("pi-ecn", "pi-ecn-240", worse)), strict=True
            )
            cut = _milliseconds(interval([short - long - (short - other) / 2 for short, long, other in pairs]))
            paper = f"a target of 240 packets takes PI with ECN more than half of the way to {NAMES[worse]}"
            bounds = above(0, cut)
        result.append(
            Check(f"target-{worse}-{load}", "ours, beside Sec. 5", "shown", paper, cut.mean, CAPPED, bounds)
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
            result.append(_order(results, "pi", worse, load, f"at {load} % PI comes before {NAMES[worse]}"))
        cut = _milliseconds(_capped(results, "dcn", "pi-ecn", load))
        half = 0.0 if math.isnan(cut.half_width) else cut.half_width
        result.append(
            Check(
                f"dcn-as-pi-ecn-{load}", "Sec. 5.1", "claim",
                f"at {load} % DCN without ECN is equal or superior to PI with ECN", cut.mean, CAPPED,
                Bounds(None, half, f"at most 0, give or take the 95 % interval of the paired difference ({half:.2g})"),
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
    ratios = [
        [
            results.distribution("dcn-98", seed).quantiles([share])[0]
            / results.distribution("drop-tail-98", seed).quantiles([share])[0]
            for seed in results.seeds
        ]
        for share in QUANTILES
    ]
    means = [interval([math.log(value) for value in each]) for each in ratios]
    worst = max(range(len(QUANTILES)), key=lambda at: means[at].mean)
    ratio = math.exp(means[worst].mean)
    resolution = 1 / 64
    return [
        Check(
            "dcn-loss-half", "Table 1", "claim", "at 105 % DCN loses 3.0 % of packets, Drop Tail 8.8 %: less than half",
            interval(loss).mean, "DCN's loss over Drop Tail's", below(0.5, interval(loss)),
            "DCN's own loss is the paper's; Drop Tail's is not half of the paper's 8.8 %. Drop Tail fills the link "
            "here with "
            "less loss, since users wait for answers and most of a response above 1 MB outlasts so short a run; the "
            "loss "
            "grows with the length of the run.", "table1-dcn-loss-105",
        ),
        Check(
            "dcn-quantiles-98", "Sec. 5.1, Fig. 11", "claim",
            "at 98 % the vast majority of flows do better than with Drop Tail: no quantile up to the 99th is worse",
            ratio, f"DCN's response time over Drop Tail's at the worst quantile, the {QUANTILES[worst] * 100:g}th",
            Bounds(None, 1 + resolution, "1, and the width of a class of response times (1/64)"),
        ),
    ]  # fmt: skip


def _plateau(results: Results) -> list[Check]:
    """A flat region that ends at the least timeout: fewer exchanges are done in the 0.2 s before it than soon after."""
    result = []
    for load in CONGESTED_LOADS:
        for key in ("afd", "pi"):
            runs = [results.distribution(f"{key}-{load}", seed) for seed in results.seeds]
            spread = interval([run.between(1.1, 1.3) / max(run.between(0.8, 1.0), 1e-9) for run in runs])
            unit = "exchanges done in 1.1 to 1.3 s over those done in 0.8 to 1.0 s"
            if key == "pi":
                result.append(
                    Check(
                        f"pi-plateau-{load}", "ours, beside Sec. 5.1", "shown",
                        f"the same of PI without ECN at {load} %, whose drops hit small flows too", spread.mean, unit,
                        above(1, spread),
                    )
                )  # fmt: skip
                continue
            result.append(
                Check(
                    f"afd-plateau-{load}", "Sec. 5.1, Fig. 7", "claim",
                    f"AFD without ECN at {load} %: a flat region extending out to 1 second, the minimum timeout",
                    spread.mean, unit, above(1, spread),
                    "AFD drops only packets of flows above the fair share here, and these are long enough for fast "
                    "retransmissions; where small flows lose packets too, the same hosts show the flat region.",
                    f"pi-plateau-{load}",
                )
            )  # fmt: skip
    return result


# Figures 10, 12, 14 to 18 -----------------------------------------------------------------------------------------


def _share_better(results: Results, load: int) -> Interval:
    """The share of large responses, in percentiles, that are done sooner under DCN than under every other design."""
    shares = []
    for seed in results.seeds:
        times = {
            key: results.distribution(f"{key}-{load}", seed, least=LARGE_BYTES).quantiles(PERCENTILES)
            for key in ("dcn", *OTHER_AQM)
        }
        sooner = sum(all(times["dcn"][at] <= times[key][at] for key in OTHER_AQM) for at in range(len(PERCENTILES)))
        shares.append(100 * sooner / len(PERCENTILES))
    return interval(shares)


def _large(results: Results) -> list[Check]:
    result = []
    for load, paper in ((90, 75), (98, 40)):
        spread = _share_better(results, load)
        result.append(
            Check(
                f"large-better-{load}", f"Sec. 5.1, Fig. {16 if load == 90 else 18}", "shown",
                f"DCN does better for {'approximately' if load == 90 else 'about'} {paper} % of responses above "
                f"100,000 bytes at {load} %", spread.mean, "% of percentiles, against PI, AFD and RIO-PS with ECN",
                Bounds(paper - 10, paper + 10, f"{paper} as the text says “about”, give or take 10"),
            )
        )  # fmt: skip
        small = differences(
            results.each(f"dcn-{load}", "small_capped"),
            [min(each) for each in zip(*(results.each(f"{k}-{load}", "small_capped") for k in OTHER_AQM), strict=True)],
        )
        cut = _milliseconds(small)
        result.append(
            Check(
                f"small-better-{load}", f"Sec. 5.1, Fig. {15 if load == 90 else 17}", "claim",
                f"at {load} % DCN outperforms the other AQM schemes for responses smaller than 100,000 bytes",
                cut.mean, "ms of mean response time (2 s at most), DCN less the best other", below(0, cut),
            )
        )  # fmt: skip
    kept = [
        a / b for a, b in zip(results.each("dcn-105", "large_bytes"), results.each("pi-ecn-105", "large_bytes"),
                              strict=True)
    ]  # fmt: skip
    spread = interval(kept)
    result.append(
        Check(
            "large-not-starved", "Sec. 6", "claim",
            "the differential treatment does not lead to starvation: long flows are not unduly penalised",
            spread.mean, "bytes of responses above 100,000 bytes done at 105 % under DCN, over those under PI with ECN",
            above(0.5, spread),
        )
    )  # fmt: skip
    return result


# Flows that do not react, state, queue ----------------------------------------------------------------------------


def _policed(results: Results) -> list[Check]:
    dcn, drop_tail = (results.udp(f"{key}-90-udp", "throughput_bps") for key in ("dcn", "drop-tail"))
    half = differences(
        [each["throughput_bps"][0] for each in _udp_rows(results, "dcn-90-udp")],
        [each["throughput_bps"][0] / 2 for each in _udp_rows(results, "drop-tail-90-udp")],
    )
    cut = Interval(half.mean / 1e6, half.half_width / 1e6, half.run_half_width / 1e6, half.count)
    return [
        Check(
            "policed", "Sec. 3", "claim",
            "DCN also polices high-bandwidth flows that do not reduce their rate",
            cut.mean, f"Mbit/s: what UDP at 10 Mbit/s gets under DCN ({dcn.mean / 1e6:.2f}), less half of what it gets "
            f"under Drop Tail ({drop_tail.mean / 1e6:.2f})", below(0, cut),
        )
    ]  # fmt: skip


def _udp_rows(results: Results, case: str) -> list[dict[str, list[float]]]:
    rows = []
    for seed in results.seeds:
        flows = results.flows[case, seed]
        rows.append(flows.filter(flows["kind"] == "udp").to_dict(as_series=False))
    return rows


def _state(results: Results, warmup_s: float) -> list[Check]:
    result = []
    for load in LOADS:
        dcn = results.state_mean(f"dcn-{load}", "hb_flows", warmup_s)
        rio = results.state_mean(f"rio-ps-{load}", "flows", warmup_s)
        ratio = interval([dcn.mean / rio.mean])
        result.append(
            Check(
                f"state-{load}", "Sec. 5.1", "claim",
                f"at {load} % DCN keeps state for high-bandwidth flows only and needs significantly less of it than "
                "RIO-PS", ratio.mean, f"flows in HB ({dcn.mean:.0f}) over flows that RIO-PS remembers ({rio.mean:.0f})",
                Bounds(None, 0.5, "significantly less: at most half"),
            )
        )  # fmt: skip
    most = results.state_mean("dcn-105", "hb_flows", warmup_s)
    result.append(
        Check(
            "state-hb", "Sec. 3.1", "shown", "about 2000 flows are identified as high-bandwidth", most.mean,
            "flows in HB of one direction, at 105 %", Bounds(1000, 4000, "“~2000”, within a factor of 2"),
        )
    )  # fmt: skip
    return result


def _queue(results: Results) -> list[Check]:
    """The control law: as corrected it holds the queue, as printed it does not."""
    result = []
    for load in CONGESTED_LOADS:
        corrected, literal = (results.interval(f"{key}-{load}", "queue") for key in ("dcn", "dcn-printed"))
        result.append(
            Check(
                f"law-corrected-{load}", "Sec. 3.2", "shown",
                f"at {load} % the controller holds the queue at q_ref, 24 packets (with the signs of AFD)",
                corrected.mean, "packets", printed(24, 1, corrected),
            )
        )  # fmt: skip
        result.append(
            Check(
                f"law-printed-{load}", "Sec. 3.2", "shown",
                f"p_ref as printed, with the signs of a and b the other way, at {load} %", literal.mean, "packets",
                printed(24, 1, literal),
            )
        )  # fmt: skip
    return result


OF_FIGURE: dict[str, tuple[str, ...]] = {
    "fig1": ("sizes-10k", "sizes-1m", "sizes-few", "sizes-100k"),
    "fig2": ("sizes-10k-bytes", "sizes-1m-bytes"),
    "fig7": tuple(f"{key}-plateau-{load}" for load in CONGESTED_LOADS for key in ("afd", "pi")),
    "fig15": ("small-better-90",),
    "fig16": ("large-better-90",),
    "fig17": ("small-better-98",),
    "fig18": ("large-better-98", "large-not-starved"),
    "table1": ("dcn-loss-half", *(check_id for check_id in CELLS if check_id.startswith("table1-"))),
    "table2": tuple(check_id for check_id in CELLS if check_id.startswith("table2-")),
    "beside": (
        *(f"target-{worse}-{load}" for load in CONGESTED_LOADS for worse in REST),
        *(f"law-{law}-{load}" for load in CONGESTED_LOADS for law in ("corrected", "printed")),
        "policed", *(f"state-{load}" for load in LOADS), "state-hb",
    ),
    **{
        figure: (
            *(f"order-{better}-pi-{load}" for better in ("dcn", "pi-ecn")),
            *(f"order-{better}-{worse}-{load}" for worse in REST for better in ("dcn", "pi-ecn", "pi")),
            f"dcn-as-pi-ecn-{load}", *(("dcn-quantiles-98",) if load == 98 else ()),
        )
        for figure, load in (("fig11", 98), ("fig13", 105))
    },
}  # fmt: skip
"""Which checks stand under which figure."""
