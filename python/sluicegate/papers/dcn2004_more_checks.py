"""What DCN 2004 says of bytes, large responses, flows that do not react and state, and what its controllers do here."""

from __future__ import annotations

from ..stats import Interval, interval
from .checks import Bounds, Check, above, below, printed
from .dcn2004_cases import LINK_BPS, LOADS, MIX_BPS
from .dcn2004_checks import CAPPED, CONGESTED_LOADS, NAMES
from .dcn2004_load import Calibration
from .dcn2004_points import LARGE_BYTES, PERCENTILES, Results, differences, milliseconds

OTHER_AQM = ("pi-ecn", "afd-ecn", "rio-ps-ecn")
"""The best versions of the other designs, as Figs. 9 to 18 show them."""

BEYOND = (60_000, 80_000, 100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000)
"""Response sizes of Figs. 10, 12 and 14 above 50,000 bytes. Beyond 1 MB all curves run together towards 1."""


def more_checks(results: Results, warmup_s: float) -> list[Check]:
    """In the order of the figures."""
    return [
        *_bytes(results),
        *_large(results),
        *_policed(results),
        *_state(results, warmup_s),
        *_queue(results),
        *_far(results),
        *_steady(results, warmup_s),
    ]


# Figures 10, 12, 14 to 18 -----------------------------------------------------------------------------------------


def _bytes(results: Results) -> list[Check]:
    """DCN's curve of bytes by response size above the others', and what Fig. 10's curves say at two sizes."""
    result = []
    for load, figure in ((90, 10), (98, 12), (105, 14)):
        dcn = results.bytes_by_size(f"dcn-{load}", BEYOND)
        others = [results.bytes_by_size(f"{key}-{load}", BEYOND) for key in ("drop-tail", *OTHER_AQM)]
        least = min(100 * (dcn[at].mean - other[at].mean) for other in others for at in range(len(BEYOND)))
        result.append(
            Check(
                f"bytes-above-{load}", f"Sec. 5.1, Fig. {figure}", "claim",
                f"at {load} % DCN's curve is always above the others for responses above about 50,000 bytes", least,
                "points of the share of bytes, where its lead on the next is least (60,000 bytes to 1 MB)",
                Bounds(0, None, "above 0"),
            )
        )  # fmt: skip
    small, all_but_huge = results.bytes_by_size("drop-tail-90", (10_000, 1_000_000))
    for check_id, spread, paper, says in (
        ("bytes-10k-90", small, 20, "10,000 bytes or less"),
        ("bytes-1m-90", all_but_huge, 75, "1 MB or less"),
    ):
        result.append(
            Check(
                check_id, "Sec. 5.1, Fig. 10", "shown",
                f"at 90 % approximately {paper} % of the bytes are in responses of {says}", spread.mean * 100,
                "% of bytes, under Drop Tail",
                Bounds(paper - 5, paper + 5, f"{paper} as the text says “approximately”, give or take 5"),
            )
        )  # fmt: skip
    return result


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
        cut = milliseconds(small)
        result.append(
            Check(
                f"small-better-{load}", f"Sec. 5.1, Fig. {15 if load == 90 else 17}", "claim",
                f"at {load} % DCN outperforms the other AQM schemes for responses smaller than 100,000 bytes",
                cut.mean, "ms of mean response time (2 s at most), DCN less the best other", below(0, cut),
            )
        )  # fmt: skip
    kept = [
        dcn / tail
        for dcn, tail in zip(
            results.each("dcn-105", "large_bytes"), results.each("drop-tail-105", "large_bytes"), strict=True
        )
    ]
    spread = interval(kept)
    result.append(
        Check(
            "large-not-starved", "Sec. 6", "claim",
            "the differential treatment does not lead to starvation: long flows are not unduly penalised",
            spread.mean, "bytes of responses above 100,000 bytes done at 105 % under DCN, over those under Drop Tail",
            above(0.5, spread),
        )
    )  # fmt: skip
    return result


# Flows that do not react, state, controllers ------------------------------------------------------------------------


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
        hb, sb = (results.state_means(f"dcn-{load}", name, warmup_s) for name in ("hb_flows", "sb_flows"))
        rio = results.state_means(f"rio-ps-{load}", "flows", warmup_s)
        ratio = interval([a / b for a, b in zip(hb, rio, strict=True)])
        both = interval([(a + b) / c for a, b, c in zip(hb, sb, rio, strict=True)])
        result += [
            Check(
                f"state-{load}", "Sec. 5.1", "claim",
                f"at {load} % DCN keeps state for high-bandwidth flows only and needs significantly less of it than "
                "RIO-PS", ratio.mean, f"flows in HB ({interval(hb).mean:.0f}) over flows that RIO-PS remembers "
                f"({interval(rio).mean:.0f})", below(0.5, ratio),
            ),
            Check(
                f"state-both-{load}", "ours, beside Sec. 5.1", "shown",
                f"at {load} % the scoreboard's flows counted too, DCN remembers fewer than RIO-PS", both.mean,
                f"flows in HB and, heard of within a clearing interval, in SB ({interval(sb).mean:.0f}), over RIO-PS's",
                below(1, both),
            ),
        ]  # fmt: skip
    most = interval(results.state_means("dcn-105", "hb_flows", warmup_s))
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


def _far(results: Results) -> list[Check]:
    """The order of three schemes with the other reading of the paper's delays."""
    result = []
    for worse in ("drop-tail", "pi-ecn"):
        cut = milliseconds(differences(results.each("dcn-98-far", "capped"), results.each(f"{worse}-98-far", "capped")))
        result.append(
            Check(
                f"far-dcn-{worse}", "ours, beside Sec. 4", "shown",
                f"at 98 %, with delays of 10 to 150 ms each way, DCN does better than {NAMES[worse]} too", cut.mean,
                CAPPED, below(0, cut),
            )
        )  # fmt: skip
    return result


PI_CASES = (*(f"{key}-{load}" for key in ("pi", "pi-ecn") for load in LOADS), "pi-ecn-mix")


def _steady(results: Results, warmup_s: float) -> list[Check]:
    """Where PI's probability goes in the measured time: far, if it did not start near equilibrium."""
    half_s = warmup_s + results.measured_s / 2
    result = []
    for case in PI_CASES:
        key, load = case.rsplit("-", 1)
        changes = []
        for link in ("bottleneck", "reverse"):
            first = results.state_means(case, "p", warmup_s, half_s, link)
            second = results.state_means(case, "p", half_s, link=link)
            changes.append(interval([b / a - 1 for a, b in zip(first, second, strict=True)]).mean)
        worst = max(changes, key=abs)
        where = "general TCP" if load == "mix" else f"{load} %"
        result.append(
            Check(
                f"pi-steady-{case}", "ours, beside Sec. 4.1", "shown",
                f"{NAMES[key]}, {where}: p is the same in both halves of the measured time", worst * 100,
                "% of change between the halves, in the direction where it is more",
                Bounds(-20, 20, "a fifth: loss goes with p, and the orders of the schemes with more than that"),
            )
        )  # fmt: skip
    return result


# Calibration --------------------------------------------------------------------------------------------------------


def load_checks(calibration: Calibration, tolerances: dict[str, float]) -> list[Check]:
    """That the users, and the connections, make the loads. `tolerances`: by the name of the load."""
    targets = {f"uncongested-{load}": (load / 100 * LINK_BPS,) * 2 for load in LOADS} | {"uncongested-mix": MIX_BPS}
    result = []
    for name, target in targets.items():
        misses = [
            made / wanted - 1
            for (load, _), amount in calibration.amounts.items()
            if load == name
            for made, wanted in zip(amount.measured_bps, target, strict=True)
        ]
        worst, room = max(misses, key=abs), tolerances[name]
        says = "105.3 and 91.2 Mbit/s" if name.endswith("mix") else f"{name.rsplit('-', 1)[1]} Mbit/s one way"
        result.append(
            Check(
                f"load-{name.rsplit('-', 1)[1]}", "Sec. 4.2", "shown",
                f"on an uncongested link the sources make {says}", worst * 100, "% off, in the worst seed and way",
                Bounds(-100 * room, 100 * room, "what calibration is to meet"),
                remark="Nearest of all tries. One long response can be more than the room: with a user less it is too "
                "little, with that user too much. Schemes are compared with the same users all the same.",
            )
        )  # fmt: skip
    return result
