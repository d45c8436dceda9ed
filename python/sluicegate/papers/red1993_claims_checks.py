"""The checks of RED 1993's claims without a figure, and of Fig. 16. `red1993_claims` defines the measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from ..experiments.engine import Tables
from ..stats import Interval, difference, interval
from ..theory import red as theory
from .checks import Bounds, Check, above, printed
from .points import mean
from .red1993_claims import (
    EQUAL_WINDOW,
    GATEWAYS,
    MARKS,
    MODES,
    MULTIPLES,
    PAIRS,
    SHARES,
    WINDOWS,
    binomial,
    byte_mode,
    deaf_ratios,
    frequency,
    misbehaving,
    together,
    windows_of_drops,
)

SEEN = 0.001
"""Chances below this are too small to be met in the windows simulated."""

TESTED = tuple((flow, c) for c in MULTIPLES for flow, share in enumerate(SHARES) if c * share <= 1)

OF_FIGURE: dict[str, tuple[str, ...]] = {
    "together": tuple(f"together-{min_th}" for min_th, _ in PAIRS),
    "bytes": ("bytes-large-more-often", "bytes-in-proportion", "bytes-method-1", "bytes-packet-mode-alike",
              "bytes-packet-mode-unresponsive"),
    "users": (
        *(f"users-{gateway}-more" for gateway in GATEWAYS),
        *(f"users-{gateway}-75{kind}" for gateway in GATEWAYS for kind in ("", "-between")),
    ),
    "fig16": ("fig16-bound-above-the-binomial", "fig16-tight-bound", "fig16-simulated-below-the-bound",
              "fig16-simulated-as-the-binomial"),
}  # fmt: skip
"""Which checks stand under which figure."""


def checks(results: Tables) -> list[Check]:
    """All checks of these claims."""
    return [
        *_together(together(results)),
        *_bytes(byte_mode(results), interval(deaf_ratios(results))),
        *_users(misbehaving(results)),
        *_luck(windows_of_drops(results)),
    ]


def values(table: pl.DataFrame, experiment: str, column: str) -> list[float]:
    """The values of `column` in the runs of `experiment`, by seed."""
    return [float(value) for value in table.filter(pl.col("experiment") == experiment).sort("seed")[column].to_list()]


def _together(table: pl.DataFrame) -> list[Check]:
    result = []
    for min_th, buffer in PAIRS:
        names = (f"together drop_tail {buffer}", f"together red {min_th}")
        of = {name: values(table, name, "correlation") for name in names}
        less = difference(of[names[0]], of[names[1]])
        queues = [mean(values(table, name, "queue_packets")) for name in names]
        result.append(
            Check(
                id=f"together-{min_th}",
                source="Secs. I, III, V and VIII",
                kind="claim",
                paper="RED avoids the global synchronisation of Drop Tail, where many connections reduce their windows "
                f"at the same time; tested: with min_th = {min_th} the mean correlation of window cuts is lower than "
                f"with Drop Tail and a buffer of {buffer}, seed by seed",
                measured=less.mean,
                unit=f"that Drop Tail's correlation is greater (Drop Tail {mean(of[names[0]]):.2f}, average queue "
                f"{queues[0]:.1f} packets; RED {mean(of[names[1]]):.2f}, {queues[1]:.1f} packets)",
                bounds=above(0, less),
            )
        )
    return result


def _bytes(table: pl.DataFrame, deaf: Interval) -> list[Check]:
    packet, byte, plain = (f"bytes {mode}" for mode in MODES)
    more = difference(values(table, byte, "ftp_loss"), values(table, byte, "telnet_loss"))
    ratio, alike = interval(values(table, byte, "ratio")), interval(values(table, packet, "ratio"))
    length = interval(values(table, byte, "length_ratio"))
    even = interval(values(table, plain, "ratio"))
    unit = "early drops per arrival: TELNET's over FTP's"
    return [
        Check(
            "bytes-large-more-often", "Sec. IV", "claim",
            "in byte mode a large FTP packet is more likely to be marked than a small TELNET packet",
            more.mean, "percentage points of its packets that FTP loses more early", above(0, more),
        ),
        Check(
            "bytes-in-proportion", "Sec. IV", "claim",
            "the probability that a packet is marked is proportional to its size in bytes; tested: the ratio of the "
            "chances is that of the mean lengths",
            ratio.mean, unit, _around(length.mean, ratio, "the ratio of lengths"),
            "The formulas of Sec. IV make p_b proportional to the size, but not p_a = p_b/(1 − count·p_b): "
            "counting nearly doubles a large packet's chance on average and hardly raises a small one's. With "
            "Method 1, where p_b alone decides, the chances are in proportion.",
            "bytes-method-1",
        ),
        Check(
            "bytes-method-1", "Sec. IV; our variant: Method 1 of Sec. VII, without count", "shown",
            "the probability that a packet is marked is proportional to its size in bytes",
            even.mean, unit, _around(length.mean, even, "the ratio of lengths"),
        ),
        Check(
            "bytes-packet-mode-alike", "Sec. VIII-A, on Fig. 9", "claim",
            "measured in packets, short packets are just as likely to be dropped as longer ones",
            alike.mean, unit, _around(1, alike, "equal chances"),
            "FTP responds: after drops it sends less while the average is still high, so that its packets meet a "
            "slightly lower probability than TELNET's. Of sources that do not respond both lengths lose alike.",
            "bytes-packet-mode-unresponsive",
        ),
        Check(
            "bytes-packet-mode-unresponsive", "Sec. VIII-A, on Fig. 9; our variant: Poisson sources of both lengths",
            "claim", "measured in packets, short packets are just as likely to be dropped as longer ones",
            deaf.mean, "early drops per arrival: packets of 41 bytes over packets of 1000",
            _around(1, deaf, "equal chances"),
        ),
    ]  # fmt: skip


def _users(table: pl.DataFrame) -> list[Check]:
    result = []
    for gateway in GATEWAYS:
        part = table.filter(pl.col("gateway") == gateway).sort("window", "seed")
        gains = {window: part.filter(pl.col("window") == window)["gain"].to_list() for window in WINDOWS}
        name = gateway.replace("_", " ").title()
        greedy = [window for window in WINDOWS if window > EQUAL_WINDOW]
        more = interval([mean(values) for values in zip(*(gains[window] for window in greedy), strict=True)])
        means = {window: mean(values) for window, values in gains.items()}
        result += [
            Check(
                f"users-{gateway}-more", "Sec. II-A, after Zhang 1989", "claim",
                f"{name} does not control misbehaving users; tested: users with a fixed window above an equal share of "
                f"line and buffer, {EQUAL_WINDOW:.0f} packets, have more throughput than users of 4.3-Tahoe",
                more.mean,
                f"% more throughput, mean over the windows of {', '.join(map(str, greedy))} packets", above(0, more),
            ),
            Check(
                f"users-{gateway}-75", "Sec. II-A, after Zhang 1989", "shown",
                f"under {name} misbehaving users have roughly 75 % higher throughput; what her users did is not said: "
                "here theirs is the first of our windows above an equal share",
                (first := interval(gains[greedy[0]])).mean, f"% more throughput, with a window of {greedy[0]} packets",
                printed(75, 10, first),
                "The gain depends on the window, which is not said: "
                + ", ".join(f"{window}: {gain:.0f} %" for window, gain in means.items())
                + ". A window between ours has the printed one.",
                f"users-{gateway}-75-between",
            ),
            Check(
                f"users-{gateway}-75-between", "Sec. II-A, after Zhang 1989", "shown",
                "75 % lies between the gains of two neighbouring windows of ours",
                missed(means, 75), "percentage points that it lies outside of all such pairs",
                Bounds(None, 0.0, "between, ends included"),
            ),
        ]  # fmt: skip
    return result


def missed(gains: dict[int, float], wanted: float) -> float:
    """How far `wanted` lies from the nearest gain between those of two neighbouring windows; 0 if it is between two.

    `gains`: by window, in order.
    """
    pairs = [sorted(pair) for pair in pairwise(gains.values())]
    return min(max(low - wanted, wanted - high, 0.0) for low, high in pairs)


def _luck(windows: dict[int, np.ndarray]) -> list[Check]:
    from scipy.stats import binom

    over, loose = -1.0, -1.0
    for c in MULTIPLES:
        for p in np.arange(0.005, 1 / c + 1e-9, 0.005).tolist():
            tail = float(binom.sf(math.ceil(c * p * MARKS - 1e-9) - 1, MARKS, p))
            bound, tight = theory.hoeffding(MARKS, p, c), theory.hoeffding(MARKS, p, c, tight=True)
            over, loose = max(over, tail - bound, tail - tight), max(loose, tight - bound)
    everything = np.concatenate(list(windows.values()))
    ratios, far = [], []
    for flow, c in TESTED:
        expected = binomial(everything, flow, c)
        if expected >= SEEN:
            ratios.append(over_bound(everything, flow, c))
            deviation = math.sqrt(expected * (1 - expected) / len(everything))
            far.append(abs(frequency(everything, flow, c) - expected) / deviation)
    # The largest of so many independent standard normal deviations exceeds this in one of twenty sets of runs.
    limit = _largest_of(len(far))
    return [
        Check(
            "fig16-bound-above-the-binomial", "Sec. X, Appendix and Fig. 16", "exact",
            "Prob(S ≥ c p n) ≤ exp(−2n(c−1)²p²): against the binomial law, exactly, for n = 100, c = 2 and 4",
            over, "the greatest of the binomial chance less the bound, p in steps of 0.005",
            Bounds(None, 1e-12, "a chance may not exceed its bound, give or take rounding"),
        ),
        Check(
            "fig16-tight-bound", "Appendix, eq. (4)", "exact",
            "the first bound of eq. (4) is at most the second",
            loose, "the greatest of the first bound less the second",
            Bounds(None, 1e-12, "the theorem, give or take rounding"),
        ),
        Check(
            "fig16-simulated-below-the-bound", "Sec. X, Appendix and Fig. 16", "claim",
            "a connection is unlikely to have much more than its part of the marks: RED's drops of Poisson sources, in "
            "windows of about 100, exceed C times the expected number no more often than the first bound of eq. (4), "
            "the tighter one, allows",
            max(ratios), f"the frequency's 95 % upper limit over the bound, the greatest of {len(ratios)} pairs of "
            f"part and C whose chance is at least {SEEN:g}, in {len(everything)} windows",
            Bounds(None, 1.0, "a frequency of at most the bound"),
        ),
        Check(
            "fig16-simulated-as-the-binomial", "Sec. X", "claim",
            "each mark falls on a connection with a probability equal to its part of the bandwidth; tested: in RED's "
            "drops of Poisson sources the chances of C times the expected number are binomial",
            max(far), f"standard deviations, the greatest of {len(far)} pairs of part and C whose chance is at least "
            f"{SEEN:g}",
            Bounds(None, limit, f"what the greatest of {len(far)} normal deviations exceeds in 5 % of all sets"),
        ),
    ]  # fmt: skip


def over_bound(windows: np.ndarray, flow: int, c: float) -> float:
    """The upper end of the 95 % interval (Clopper and Pearson) of how often flow number `flow` has at least `c` times
    its part of the drops of a window, over the mean of the first bound of eq. (4) for the windows' numbers of drops."""
    from scipy.special import betaincinv

    count = len(windows)
    met = round(frequency(windows, flow, c) * count)
    limit = 1.0 if met == count else float(betaincinv(met + 1, count - met, 0.975))
    return limit / mean([theory.hoeffding(int(n), SHARES[flow], c, tight=True) for n in windows.sum(axis=1)])


def _largest_of(count: int) -> float:
    """What the greatest absolute value of `count` independent standard normal numbers exceeds with a chance of 5 %."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + 0.95 ** (1 / max(1, count)) / 2))


def _around(value: float, spread: Interval, what: str) -> Bounds:
    return Bounds(
        value - spread.margin,
        value + spread.margin,
        f"{what}, {value:.3g}, give or take the 95 % interval over {spread.count} seeds ({spread.margin:.2g})",
    )


def gains_text(table: pl.DataFrame, gateway: str, windows: Sequence[int] = WINDOWS) -> str:
    """The mean gains under `gateway`, window by window."""
    part = table.filter(pl.col("gateway") == gateway)
    means = [mean(part.filter(pl.col("window") == window)["gain"].to_list()) for window in windows]
    return ", ".join(f"{value:+.0f} %" for value in means)
