"""RED's closed forms against the numbers that the paper prints, and against the rules run packet by packet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sluicegate.theory import red

weights = st.floats(1e-6, 1.0)


def filtered(queues: list[float], w_q: float) -> float:
    """Eq. (1), arrival by arrival, from an average of 0."""
    avg = 0.0
    for q in queues:
        avg = (1 - w_q) * avg + w_q * q
    return avg


# --- Sec. VI -----------------------------------------------------------------------------------


def test_the_average_after_a_burst_is_the_papers() -> None:
    """ "avg_100 is 4.88 packets" at w_q = 0.001: the paper cuts 4.887."""
    exact = red.average_after_burst(100, 0.001)
    assert 4.88 <= exact < 4.89
    assert exact == pytest.approx(4.887, abs=5e-4)


@given(st.integers(0, 300), weights)
def test_equation_2_is_its_sum_and_the_filter_itself(burst: int, w_q: float) -> None:
    closed = red.average_after_burst(burst, w_q)
    assert closed == pytest.approx(red.average_after_burst_sum(burst, w_q), rel=1e-9)
    assert closed == pytest.approx(filtered([float(i) for i in range(1, burst + 1)], w_q), rel=1e-9)


def test_equation_2_keeps_its_digits_where_the_closed_form_cancels() -> None:
    """For a vanishing weight the average is w_q·L(L + 1)/2."""
    assert red.average_after_burst(100, 1e-15) == pytest.approx(5050e-15, rel=1e-10)


def test_the_largest_weight_is_the_papers() -> None:
    """ "it is necessary to choose w_q ≤ 0.0042" for min_th = 5, L = 50: rounded up from 0.004195."""
    bound = red.largest_w_q(5, 50)
    assert round(bound, 4) == 0.0042
    assert red.average_after_burst(50, bound * (1 - 1e-9)) < 5 < red.average_after_burst(50, bound * (1 + 1e-9))


@given(st.integers(1, 200), st.integers(1, 5000))
def test_the_bound_on_the_weight_and_the_burst_that_passes_agree(min_th: int, burst: int) -> None:
    bound = red.largest_w_q(min_th, burst)
    if burst <= min_th:
        assert bound == 1
        return
    assert red.largest_burst(min_th, bound * (1 - 1e-9)) >= burst
    assert red.largest_burst(min_th, min(1.0, bound * (1 + 1e-9))) < burst


@pytest.mark.parametrize(("w_q", "packets"), [(0.001, 1000), (0.002, 500), (0.003, 333)])
def test_the_average_reaches_63_hundredths_when_the_paper_says(w_q: float, packets: int) -> None:
    assert red.time_constant(w_q) == pytest.approx(packets, abs=1)
    assert filtered([1.0] * packets, w_q) == pytest.approx(1 - 1 / math.e, abs=w_q)
    assert red.step_response(packets, w_q) == pytest.approx(filtered([1.0] * packets, w_q), rel=1e-9)
    assert red.weight_of(red.time_constant(w_q)) == pytest.approx(w_q, rel=1e-12)


def test_an_idle_link_counts_as_small_packets_that_found_it_empty() -> None:
    """m = idle/s packets arrive at an empty queue: Fig. 17 and Sec. XI."""
    expected = 7.0
    for _ in range(25):
        expected *= 1 - 0.002
    assert red.average_after_idle(7.0, 0.002, 0.1, 0.004) == pytest.approx(expected, rel=1e-12)


# --- Secs. IV and VII: gaps between marks --------------------------------------------------------


def test_probabilities_are_the_papers() -> None:
    assert red.p_b(10, 5, 15, 0.02) == pytest.approx(0.01)
    assert red.p_b(10, 5, 15, 0.02, share=40 / 1000) == pytest.approx(0.0004)
    assert (red.p_b(4.9, 5, 15, 0.02), red.p_b(15, 5, 15, 0.02)) == (0, 1)
    assert red.p_a(0.01, 0) == 0.01
    assert red.p_a(0.01, 50) == pytest.approx(0.02)
    assert [red.p_a(0.01, 99), red.p_a(0.01, 1000), red.p_a(0.3, 3)] == pytest.approx([1, 1, 1])


def test_shares_of_marks_are_the_papers() -> None:
    """ "roughly one out of 50" halfway with max_p = 1/50, and "close to 1/5th" at max_p = 0.1 (Sec. VII)."""
    assert 1 / red.marked_share("section7", 0.01) == pytest.approx(50.5)
    assert red.marked_share("section7", 0.1) == pytest.approx(0.2, abs=0.02)
    assert red.gaps("section7", 0.01).mean == pytest.approx(1 / (2 * 0.01) + 1 / 2)
    assert red.gaps("method1", 0.01).mean == pytest.approx(100)


Rng = np.random.Generator


def method1(p_b: float, rng: Rng) -> Iterator[bool]:
    while True:
        yield rng.random() < p_b


def section7(p_b: float, rng: Rng) -> Iterator[bool]:
    unmarked = 0
    while True:
        marked = rng.random() < red.p_a(p_b, unmarked)
        unmarked = 0 if marked else unmarked + 1
        yield marked


def figure2(p_b: float, rng: Rng) -> Iterator[bool]:
    """The pseudocode, from the entry into the band."""
    count = -1
    while True:
        count += 1
        left = 1 - count * p_b
        marked = rng.random() < (p_b / left if left > 0 else 1)
        if marked:
            count = 0
        yield marked


def figure17(p_b: float, rng: Rng) -> Iterator[bool]:
    """The pseudocode, from the entry into the band."""
    count, r = -1, 0.0
    while True:
        count += 1
        marked = count > 0 and count >= r / p_b
        if marked:
            count = 0
        if count == 0:
            r = rng.random()
        yield marked


RULES: dict[red.Law, Callable[[float, Rng], Iterator[bool]]] = {
    "method1": method1,
    "section7": section7,
    "figure2": figure2,
    "figure17": figure17,
}


def observed(law: red.Law, p_b: float, number: int, after: red.After, seed: int = 1) -> list[int]:
    """So many gaps of a rule that is run packet by packet."""
    found = []
    rng = np.random.default_rng(seed)
    while len(found) < number:
        gap = 0
        for marked in RULES[law](p_b, rng):
            gap += 1
            if marked:
                found.append(gap)
                gap = 0
                if after == "entry" or len(found) > number:
                    break
    return found[1:] if after == "mark" else found  # the first is from an entry


def fits(found: list[int], law: red.Gaps) -> float:
    """The p-value of Pearson's test of gaps against a law; what is expected fewer than 5 times goes together."""
    pmf = law.pmf()
    counts = np.bincount(found, minlength=len(pmf) + 1)[1:].astype(float)
    if counts[len(pmf) :].any() or counts[: len(pmf)][pmf == 0].any():
        return 0.0  # the law excludes what was seen
    expected = pmf * len(found)
    few = expected < 5
    merged = [np.append(values[~few], values[few].sum()) for values in (counts[: len(pmf)], expected)]
    if merged[1][-1] == 0:
        merged = [values[:-1] for values in merged]
    return float(stats.chisquare(*merged).pvalue)


CASES = [(law, p_b, after) for law in RULES for p_b in (0.02, 0.03, 0.3) for after in ("mark", "entry")]


@pytest.mark.parametrize(("law", "p_b", "after"), CASES)
def test_gaps_of_the_rule_itself_follow_its_law(law: red.Law, p_b: float, after: red.After) -> None:
    number = 2000 if after == "mark" else 800
    found = observed(law, p_b, number, after)
    expected = red.gaps(law, p_b, after)
    assert fits(found, expected) > 1e-3
    spread = math.sqrt(expected.variance / len(found))
    assert np.mean(found) == pytest.approx(expected.mean, abs=4 * spread)
    assert min(found) >= expected.shortest
    assert max(found) <= expected.longest


@pytest.mark.parametrize("law", RULES)
def test_the_laws_are_told_apart_where_they_differ(law: red.Law) -> None:
    """The same test rejects every other law; after a mark Sec. VII and Fig. 17 agree, as the paper says."""
    found = observed(law, 0.1, 3000, "mark")
    same = {"section7", "figure17"}
    for other in RULES:
        alike = other == law or {law, other} == same
        assert (fits(found, red.gaps(other, 0.1)) > 1e-3) == alike, other


def test_after_an_entry_figure_17_spares_one_packet_and_figure_2_none() -> None:
    n = np.arange(1, 12)
    for law, gaps in (("section7", 10), ("figure2", 10), ("figure17", 11)):
        pmf = red.gaps(law, 0.1, "entry").pmf(11)  # type: ignore[arg-type]
        assert pmf == pytest.approx(np.where((n > gaps - 10) & (n <= gaps), 0.1, 0))
    assert red.gaps("figure2", 0.1).pmf(11) == pytest.approx(np.where(n <= 9, 1 / 9, 0))


@given(st.sampled_from(list(RULES)), st.floats(0.005, 1.0), st.sampled_from(["mark", "entry"]))
def test_means_and_variances_are_those_of_the_probabilities(law: red.Law, p_b: float, after: red.After) -> None:
    gaps = red.gaps(law, p_b, after)
    pmf = gaps.pmf()
    n = np.arange(1, len(pmf) + 1)
    assert pmf.min() >= 0
    assert pmf.sum() == pytest.approx(1, abs=1e-8)
    assert gaps.mean == pytest.approx((n * pmf).sum(), rel=1e-6)
    assert gaps.variance == pytest.approx(((n - gaps.mean) ** 2 * pmf).sum(), rel=1e-6, abs=1e-6)


def test_figure_8_marks_about_100_of_5000_and_method_2_clusters_less() -> None:
    one, two = red.expected_marks("method1", 0.02, 5000), red.expected_marks("section7", 0.01, 5000)
    assert one == pytest.approx(100)
    assert two == pytest.approx(100, abs=2)
    assert red.gaps("section7", 0.01).variance < red.gaps("method1", 0.02).variance / 2


@pytest.mark.parametrize(("law", "p_b"), [("method1", 0.02), ("section7", 0.01), ("figure2", 0.01), ("section7", 0.3)])
def test_expected_marks_are_those_of_the_rule(law: red.Law, p_b: float) -> None:
    """Among few arrivals, where the share of the long run is not yet right; counted after a mark."""
    arrivals, counted = 60, []
    enough = 1200 * (arrivals / red.gaps(law, p_b).mean + 2)
    gaps = iter(observed(law, p_b, int(enough), "mark"))
    for _ in range(1000):
        at, marks = next(gaps), 0
        while at <= arrivals:
            marks += 1
            at += next(gaps)
        counted.append(marks)
    spread = np.std(counted) / math.sqrt(len(counted))
    assert np.mean(counted) == pytest.approx(red.expected_marks(law, p_b, arrivals), abs=4 * spread)


def test_expected_marks_approach_the_share_of_the_long_run() -> None:
    assert red.expected_marks("section7", 0.01, 20_000) / 20_000 == pytest.approx(
        red.marked_share("section7", 0.01), rel=2e-3
    )
    assert red.expected_marks("section7", 0.5, 0) == 0


# --- Sec. X --------------------------------------------------------------------------------------


def test_hoeffdings_bound_is_figure_16s() -> None:
    """exp(−2·100·(C − 1)²·p²) for C = 2 and 4, which Fig. 16 draws over p."""
    assert red.hoeffding(100, 0.1, 2) == pytest.approx(math.exp(-2))
    assert red.hoeffding(100, 0.1, 4) == pytest.approx(math.exp(-18))
    assert red.hoeffding(100, 0.25, 1) == 1


@given(st.integers(1, 500), st.floats(0.001, 1.0), st.floats(0.0, 1.0))
def test_hoeffdings_bound_holds_for_the_binomial(n: int, p_i: float, part: float) -> None:
    c = 1 + part * (1 / p_i - 1)
    least = math.ceil(c * p_i * n - 1e-9)
    exact = float(stats.binom.sf(least - 1, n, p_i))
    tight, simple = red.hoeffding(n, p_i, c, tight=True), red.hoeffding(n, p_i, c)
    assert exact <= tight * (1 + 1e-6) + 1e-12
    assert tight <= simple * (1 + 1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: red.average_after_burst(-1, 0.1),
        lambda: red.average_after_burst(10, 0),
        lambda: red.largest_w_q(0, 10),
        lambda: red.largest_w_q(5, 0),
        lambda: red.time_constant(1.5),
        lambda: red.weight_of(0),
        lambda: red.average_after_idle(1, 0.1, 1, 0),
        lambda: red.p_b(1, 5, 5, 0.1),
        lambda: red.gaps("section7", 0),
        lambda: red.expected_marks("section7", 0.1, -1),
        lambda: red.hoeffding(0, 0.1, 2),
        lambda: red.hoeffding(100, 0.5, 2.1),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"^\w+ = .*: must be"):
        wrong()
