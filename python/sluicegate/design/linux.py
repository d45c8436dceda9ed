"""RED as Linux has it: the line for `tc`, and the values that tc and the kernel derive from it.

tc counts in bytes and turns `burst` into a queue weight that is a power of two; the kernel then checks and rounds:

    W = 2^−Wlog, the largest of 1/2, 1/4 … with burst + 1 − min/avpkt ≤ (1 − (1 − W)^burst)/W      (tc/tc_red.c)
    max_P = ⌊probability·2³²⌋; the slope of p_b is ⌊max_P/(max − min)⌋ in units of 2^−32 a byte     (tc/q_red.c, red.h)
    refused: a min or max that has 32 bits or more when shifted left by Wlog                       (include/net/red.h)

What follows from it:

- A probability of 1 is 0 to tc: 2³² has no room in its 32 bits.
- tc's W is stricter than eq. (3) of RED 1993 by up to a packet: the average after a burst of L − 1 packets, plus 1, is
  at most min/avpkt.
- tc takes no weight: it computes W from `burst`. So the `burst` in the line is chosen for the W that is wanted; it is
  not always the burst that the queue is to let through.
- Where the thresholds are millions of bytes apart, rounding the slope down makes max_p noticeably smaller, and the 32
  bits of the kernel forbid small weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..theory.red import largest_w_q

MOST_BYTES = 2**32 - 1
"""tc reads sizes, and the rate in bytes per second, into 32 bits."""
MOST_P = 0.999999999
"""The highest probability that tc is told: tc turns 1 into 2³², which is 0 in its 32 bits."""


@dataclass(frozen=True, kw_only=True)
class LinuxRed:
    """What the line for tc says, and what tc and the kernel make of it.

    Attributes:
        limit: Bytes. Also min, max and avpkt.
        burst: Packets, as tc is told.
        probability: As tc is told.
        bandwidth: Bits per second, as tc is told; used for the decay of the average while the link is idle.
        ecn: Mark; above max the line asks for drops (`harddrop`), as RFC 3168 does.
        w_log: tc's Wlog.
        w_q: The weight that Linux uses, 2^−Wlog.
        max_p: The probability at max that Linux uses.
    """

    limit: int
    min: int
    max: int
    avpkt: int
    burst: int
    probability: float
    bandwidth: int
    ecn: bool
    w_log: int
    w_q: float
    max_p: float

    def line(self, dev: str = "DEV") -> str:
        """The command that gives `dev` this discipline as its root."""
        return f"tc qdisc add dev {dev} root {self.words()}"

    def words(self) -> str:
        """The discipline with its values, as it stands in any line."""
        sizes = f"limit {self.limit} min {self.min} max {self.max} avpkt {self.avpkt} burst {self.burst}"
        rate = f"probability {self.probability:.9g} bandwidth {self.bandwidth}bit"
        return f"red {sizes} {rate}{' ecn harddrop' if self.ecn else ''}"

    def remarks(self, w_q: float, max_p: float) -> list[str]:
        """What tc and the kernel make of the line, beside the values that were meant, in sentences.

        A value is told of where the digits shown differ.
        """
        said = []
        why = f"tc knows powers of two only; burst {self.burst} makes it choose this one"
        if self.w_log + 1 + self.max.bit_length() > 31 and self.w_q > 1.5 * w_q:
            why = f"with max {self.max} bytes the kernel takes no smaller one"
        elif self.w_q < w_q / 1.5:
            why = f"the largest power of two that lets the burst pass; burst {self.burst} makes tc choose it"
        if f"{self.w_q:.3g}" != f"{w_q:.3g}":
            said.append(f"w_q = 2^-{self.w_log} = {self.w_q:.3g} instead of {w_q:.3g}: {why}")
        if self.w_log >= 10:
            said.append("tc will say that the burst seems too large: it does for every w_q of 2^-10 or less")
        if self.probability < max_p:
            said.append(f"max_p = {max_p:.10g} becomes {self.probability:.9g}: tc reads a probability of 1 as 0")
        low = 1 - self.max_p / max_p
        slope = "the kernel's slope is a multiple of 2^-32 per byte"
        if f"{abs(low):.2%}" != "0.00%":
            instead = f" instead of {max_p:g}" if low > 5e-3 else ""
            said.append(f"max_p = {self.max_p:.3g}{instead}, {low:.2%} lower by rounding: {slope}")
        said.append("the queue is counted in bytes, with link-layer headers; signals follow Fig. 17 of RED 1993")
        if self.bandwidth == 8 * MOST_BYTES:
            said.append("bandwidth is the most that tc takes; it matters only when the link has been idle")
        return said


def linux_red(
    *,
    w_q: float,
    min_th: float,
    max_th: float,
    limit: float,
    max_p: float,
    burst: int,
    packet: int,
    rate: int,
    ecn: bool,
) -> LinuxRed | str:
    """The nearest that Linux has to this RED, or a sentence that says why it has none.

    Thresholds and `limit`, whole numbers of bytes, and `burst` in packets of `packet` bytes, `rate` in bit/s. Of the
    weights that let the burst pass by eq. (3), and that the kernel takes, the nearest to `w_q` is chosen, by ratio.
    """
    low, high, most = round(min_th * packet), round(max_th * packet), round(limit * packet)
    if most > MOST_BYTES:
        return f"a limit of {most} bytes does not fit the 32 bits that tc has for it"
    if max_p / (high - low) * 2**31 <= 1:
        return f"tc finds no Plog for thresholds {high - low} bytes apart and a probability of {max_p:g}"
    bound = largest_w_q(min_th, burst)
    fits = [k for k in range(1, 32 - high.bit_length()) if 2.0**-k < bound and told(k, min_th, burst) is not None]
    if not fits:
        return f"the kernel takes no weight that lets {burst} packets pass below {low} bytes, with max {high} bytes"
    w_log = min(fits, key=lambda k: abs(math.log2(w_q) + k))
    max_P = int(min(max_p, MOST_P) * 2**32)
    return LinuxRed(
        limit=most,
        min=low,
        max=high,
        avpkt=packet,
        burst=told(w_log, min_th, burst) or burst,
        probability=min(max_p, MOST_P),
        bandwidth=min(rate, 8 * MOST_BYTES),
        ecn=ecn,
        w_log=w_log,
        w_q=2.0**-w_log,
        max_p=max(max_P // (high - low), 1) * (high - low) / 2**32,
    )


def weight_log(burst: int, min_th: float) -> int | None:
    """The Wlog that tc makes of `burst` packets and `min_th` = min/avpkt; None where it refuses."""
    if burst + 1 - min_th < 1:
        return None
    return next((k for k in range(1, 32) if _passes(burst, k, min_th)), None)


def told(w_log: int, min_th: float, burst: int) -> int | None:
    """The `burst` nearest to `burst` of which tc makes this Wlog; None if there is none."""
    least = math.ceil(min_th)
    if (longest := _longest(w_log, min_th)) is None:
        return None
    if w_log > 1 and (shorter := _longest(w_log - 1, min_th)) is not None:
        least = max(least, shorter + 1)
    return min(max(burst, least), longest) if least <= longest else None


def _passes(burst: int, w_log: int, min_th: float) -> bool:
    """tc's condition, in tc's own arithmetic. By eq. (2): a burst of one packet less leaves at most min_th − 1."""
    w = 2.0**-w_log
    return burst + 1 - min_th <= (1 - (1 - w) ** burst) / w


def _longest(w_log: int, min_th: float) -> int | None:
    """The longest burst that passes with this Wlog; None when not even the least that tc takes does."""
    low = max(1, math.ceil(min_th))
    if not _passes(low, w_log, min_th):
        return None
    high = 2 * low
    while high <= MOST_BYTES and _passes(high, w_log, min_th):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _passes(middle, w_log, min_th) else (low, middle)
    return min(low, MOST_BYTES)
