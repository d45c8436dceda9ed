"""RED's closed forms (Floyd & Jacobson 1993): what the filter does to a burst, how far apart marks are, who is marked.

The names are the paper's: `w_q`, `min_th`, `max_th`, `max_p`, `p_b`, `p_a`, `count`; `burst` is its L. Queues and
averages are in packets, probabilities between 0 and 1. A function raises ValueError for an argument out of its range.

Where this departs from what the paper says:

- Eq. (2) in closed form is a small difference of large numbers where w_q·L is small: there its series is summed.
- Sec. VII takes 1/p_b for an integer "for simplicity". Here it need not be: p_a is cut at 1, so that the last gap has
  the probability that is left.
- Sec. VII derives one law of gaps, uniform on 1 … 1/p_b. Fig. 2 raises `count` before it is used and Fig. 17 spares the
  first packet of the band, so each has a law of its own.
- Fig. 8's Method 2 is printed p/(1 + i·p), a misprint: only p/(1 − i·p) gives the law of Sec. VII and about 100 marks.
- Fig. 17's Approx[R/p_b] is R/p_b itself; the paper leaves open how it is approximated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Law = Literal["method1", "section7", "figure2", "figure17"]
"""Laws of the gaps between marks: Method 1 and Method 2 of Sec. VII, and Method 2 as Figs. 2 and 17 print it."""

After = Literal["mark", "entry"]
"""Where a gap begins: at a mark between the thresholds, or where the average enters the band."""


# --- Sec. VI: the average ----------------------------------------------------------------------


def average_after_burst(burst: float, w_q: float) -> float:
    """The average after a queue has grown from 0 to `burst` packets in as many arrivals: eq. (2), closed form.

    `w_q`: above 0 and at most 1. The average was 0 before; the i-th arrival counts i packets, itself among them.
    """
    _check(burst >= 0, "burst", burst, "must be at least 0")
    _check_weight(w_q)
    if burst == 0:
        return 0.0
    n = burst + 1
    if n * w_q > 1e-2:
        return n + math.expm1(n * _log_keep(w_q)) / w_q
    # The binomial series of the same: n(n−1)/2·w_q − n(n−1)(n−2)/6·w_q² + …
    total, term, k = 0.0, n, 1
    while k < 60 and abs(term) > 1e-18 * abs(total):
        term *= -(n - k) * w_q / (k + 1)
        total -= term
        k += 1
    return total


def average_after_burst_sum(burst: int, w_q: float) -> float:
    """Eq. (2) as the sum that it abbreviates: Σ i·w_q·(1 − w_q)^(burst − i), i from 1 to `burst`."""
    _check(burst >= 0, "burst", burst, "must be at least 0")
    _check_weight(w_q)
    return math.fsum(i * w_q * (1 - w_q) ** (burst - i) for i in range(1, burst + 1))


def largest_w_q(min_th: float, burst: int) -> float:
    """The bound of eq. (3): every `w_q` below it lets a burst of `burst` packets pass with the average below `min_th`.

    1 when any weight does, because the burst is shorter than `min_th`. `min_th`: packets, above 0; `burst`: at least 1.
    """
    from scipy.optimize import brentq

    _check(min_th > 0, "min_th", min_th, "must be above 0")
    _check(burst >= 1, "burst", burst, "must be at least 1")
    if burst <= min_th:
        return 1.0
    low = min_th / (burst * (burst + 1))  # there the average is below min_th/2: it is at most w_q·burst·(burst + 1)/2
    log_w_q = brentq(lambda x: average_after_burst(burst, math.exp(x)) - min_th, math.log(low), 0.0, xtol=1e-14)
    return min(1.0, math.exp(log_w_q))


def largest_burst(min_th: float, w_q: float) -> int:
    """The most packets that eq. (3) lets pass: the largest burst after which the average is still below `min_th`."""
    _check(min_th > 0, "min_th", min_th, "must be above 0")
    _check_weight(w_q)
    low, high = 0, 1
    while average_after_burst(high, w_q) < min_th:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if average_after_burst(middle, w_q) < min_th else (low, middle)
    return low


def time_constant(w_q: float) -> float:
    """Arrivals until the average has made 1 − 1/e, about 0.63, of a step of the queue: −1/ln(1 − w_q), Sec. VI-B."""
    _check_weight(w_q)
    return -1 / _log_keep(w_q)


def weight_of(packets: float) -> float:
    """The weight whose time constant is `packets` arrivals: 1 − exp(−1/packets)."""
    _check(packets > 0, "packets", packets, "must be above 0")
    return -math.expm1(-1 / packets)


def step_response(arrivals: float, w_q: float) -> float:
    """The share of a step of the queue that the average has made after so many arrivals: 1 − (1 − w_q)^arrivals."""
    _check(arrivals >= 0, "arrivals", arrivals, "must be at least 0")
    _check_weight(w_q)
    return -math.expm1(arrivals * _log_keep(w_q)) if arrivals else 0.0


def average_after_idle(avg: float, w_q: float, idle: float, s: float) -> float:
    """The average after an idle time: (1 − w_q)^(idle/s)·avg, Fig. 17. `idle` and `s` in the same unit, `s` above 0."""
    _check(idle >= 0, "idle", idle, "must be at least 0")
    _check(s > 0, "s", s, "must be above 0")
    return avg * (1 - step_response(idle / s, w_q))


# --- Secs. IV and VII: the probability of a mark -----------------------------------------------


def p_b(avg: float, min_th: float, max_th: float, max_p: float, share: float = 1.0) -> float:
    """The initial probability, linear between the thresholds (Sec. IV): 0 below `min_th`, 1 from `max_th`.

    `share`: in byte mode PacketSize/MaximumPacketSize.
    """
    _check(min_th < max_th, "min_th", min_th, f"must be below max_th, {max_th}")
    _check_probability("max_p", max_p)
    if avg >= max_th:
        return 1.0
    return max(0.0, max_p * (avg - min_th) / (max_th - min_th) * share)


def p_a(p_b: float, count: int) -> float:
    """The final probability p_b/(1 − count·p_b), cut at 1; `count` unmarked packets since the last mark (Sec. VII)."""
    _check_probability("p_b", p_b)
    return min(1.0, p_b / left) if (left := 1 - count * p_b) > 0 else 1.0


@dataclass(frozen=True)
class Gaps:
    """The law of the number of arrivals from one mark up to and with the next, at a constant average.

    Attributes:
        law: Its name.
        p_b: The initial probability.
        shortest: The shortest gap.
        even: The probability of each gap from `shortest` on, of a uniform law; None for the geometric one.
    """

    law: Law
    p_b: float
    shortest: int = 1
    even: float | None = None

    @property
    def longest(self) -> float:
        """The longest gap; infinite for the geometric law."""
        return math.inf if self.even is None else self.shortest + self._whole - (self._rest == 0)

    @property
    def mean(self) -> float:
        """Its mean in packets."""
        if self.even is None:
            return 1 / self.p_b
        n, a = self._whole, self.shortest
        return self.even * (n * a + n * (n - 1) / 2) + self._rest * (a + n)

    @property
    def variance(self) -> float:
        """Its variance in packets²."""
        if self.even is None:
            return (1 - self.p_b) / self.p_b**2
        n = self._whole  # counted from the shortest gap, which the variance does not depend on
        first = self.even * n * (n - 1) / 2 + self._rest * n
        second = self.even * (n - 1) * n * (2 * n - 1) / 6 + self._rest * n * n
        return second - first * first

    def pmf(self, most: int | None = None) -> NDArray[np.float64]:
        """The probabilities of the gaps 1, 2, …, `most` (default: the longest; for the geometric law, until less than
        1e-12 is left)."""
        import numpy as np

        if most is None:
            left = math.log(1e-12) / math.log1p(-self.p_b) if self.p_b < 1 else 1.0
            most = math.ceil(left) if math.isinf(self.longest) else int(self.longest)
        gap = np.arange(1, most + 1, dtype=np.float64)
        if self.even is None:
            geometric: NDArray[np.float64] = (1 - self.p_b) ** (gap - 1) * self.p_b
            return geometric
        place = gap - self.shortest
        return np.where((place >= 0) & (place < self._whole), self.even, 0.0) + np.where(
            place == self._whole, self._rest, 0.0
        )

    @property
    def _whole(self) -> int:
        """How many gaps have the probability `even`. 1/p_b is an integer where floating point leaves hardly a rest."""
        even = self.even or 1.0
        nearest = round(1 / even)
        return nearest if abs(nearest * even - 1) < 1e-9 else math.floor(1 / even)

    @property
    def _rest(self) -> float:
        """What is left for the gap after those."""
        rest = 1 - self._whole * (self.even or 1.0)
        return rest if rest > 1e-9 else 0.0


def gaps(law: Law, p_b: float, after: After = "mark") -> Gaps:
    """The law of the gaps between marks while the average and `p_b` are constant.

    method1: geometric, (1 − p_b)^(n−1)·p_b. section7: uniform on 1 … 1/p_b. figure2: Fig. 2 to the letter; `count` is
    raised before it is used, so after a mark gaps are uniform on 1 … 1/p_b − 1, each with p_b/(1 − p_b). figure17: as
    section7, but the first packet of the band is spared, so a gap counted from there is one longer. A mark at max_th or
    above counts as an entry in Fig. 17, and as a mark in Fig. 2.
    """
    _check_probability("p_b", p_b)
    if law == "method1":
        return Gaps(law, p_b)
    if law == "figure2" and after == "mark":
        return Gaps(law, p_b, even=min(1.0, p_b / (1 - p_b)) if p_b < 1 else 1.0)
    return Gaps(law, p_b, even=p_b, shortest=2 if law == "figure17" and after == "entry" else 1)


def marked_share(law: Law, p_b: float) -> float:
    """The share of arrivals that is marked in the long run: one over the mean gap. Method 2 marks nearly 2·p_b."""
    return 1 / gaps(law, p_b).mean


def expected_marks(law: Law, p_b: float, arrivals: int) -> float:
    """The expected number of marks among so many arrivals after a mark (Fig. 8: 5,000), exactly, at a constant average.

    The renewal equation: an arrival is marked if its gap ends there, from any earlier mark.
    """
    import numpy as np

    _check(arrivals >= 0, "arrivals", arrivals, "must be at least 0")
    if law == "method1":
        return arrivals * p_b
    ends = gaps(law, p_b).pmf()
    marked = np.zeros(arrivals + 1)
    marked[0] = 1.0  # the mark from which it starts
    backwards = ends[::-1]
    for n in range(1, arrivals + 1):
        reach = min(n, len(ends))
        marked[n] = marked[n - reach : n] @ backwards[len(ends) - reach :]
    return float(marked[1:].sum())


# --- Sec. X and appendix: who is marked ----------------------------------------------------------


def hoeffding(n: int, p_i: float, c: float, *, tight: bool = False) -> float:
    """Upper bound on the chance that a flow has at least c times its share of the last `n` marks: exp(−2n(c−1)²p_i²).

    `p_i`: the flow's share of the bandwidth; `c`: from 1 to 1/p_i. `tight`: the first bound of eq. (4), before it is
    simplified; it is never larger. Both take marks to be independent, and each on the flow with probability `p_i`.
    """
    _check(n >= 1, "n", n, "must be at least 1")
    _check_probability("p_i", p_i)
    _check(1 <= c <= (1 + 1e-12) / p_i, "c", c, f"must be from 1 to 1/p_i, {1 / p_i:g}")
    t = (c - 1) * p_i
    if not tight:
        return math.exp(-2 * n * t * t)
    upper, rest = min(1.0, p_i + t), max(0.0, 1 - p_i - t)
    exponent = upper * math.log(p_i / upper) + (rest * math.log((1 - p_i) / rest) if rest > 0 else 0.0)
    return math.exp(n * min(0.0, exponent))


def _log_keep(w_q: float) -> float:
    """ln(1 − w_q)."""
    return math.log1p(-w_q) if w_q < 1 else -math.inf


def _check_weight(w_q: float) -> None:
    _check(0 < w_q <= 1, "w_q", w_q, "must be above 0 and at most 1")


def _check_probability(name: str, value: float) -> None:
    _check(0 < value <= 1, name, value, "must be above 0 and at most 1")


def _check(right: bool, name: str, value: float, rule: str) -> None:
    if not right:
        raise ValueError(f"{name} = {value:g}: {rule}")
