"""Means over seeds and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sluicegate.stats import ENOUGH, TOO_FEW, difference, ends, half_text, interval, is_share, spread_text

values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


@given(values)
def test_intervals_agree_with_scipy(numbers: list[float]) -> None:
    got = interval(numbers)
    scale = float(np.std(numbers, ddof=1))
    margin = 1e-9 * (1 + max(map(abs, numbers)))
    assert got.mean == pytest.approx(np.mean(numbers), abs=margin)
    t = float(stats.t.ppf(0.975, len(numbers) - 1))
    assert got.half_width == pytest.approx(t * scale / math.sqrt(len(numbers)), abs=margin)
    assert got.run_half_width == pytest.approx(t * scale * math.sqrt(1 + 1 / len(numbers)), abs=t * margin)


@given(values, st.randoms())
def test_an_interval_does_not_depend_on_order(numbers: list[float], random: object) -> None:
    shuffled = list(numbers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert interval(shuffled) == interval(numbers)


def test_an_interval_covers_the_mean_as_often_as_it_says() -> None:
    draws = np.random.default_rng(1).normal(10.0, 2.0, size=(2000, 8))
    covered = sum(each.low <= 10.0 <= each.high for each in map(interval, draws))
    # 95 % of 2000 with 3 standard deviations of a binomial (9.7) either way.
    assert 1870 <= covered <= 1930


def test_differences_are_paired() -> None:
    paired = difference([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])
    assert (paired.mean, paired.half_width) == (1.0, 0.0)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        difference([1.0, 2.0], [1.0])


def test_an_interval_ends_where_values_do() -> None:
    """Jain's index of 20 flows, two of which share a queue in two seeds of five."""
    jains = [0.99997, 0.974, 0.99996, 0.974, 0.99997]
    assert interval(jains).high > 1
    assert ends(interval(jains), jains, is_share("jain_tcp")) == (interval(jains).low, 1.0)
    delays = [0.1, 0.1, 4.0]
    assert interval(delays).low < 0
    assert ends(interval(delays), delays, is_share("tcp_delay_p99_ns")) == (0.0, interval(delays).high)
    losses = [-1.0, 3.0]
    assert ends(interval(losses), losses, False) == (interval(losses).low, interval(losses).high), "a difference"


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("first.loss_ratio", True),
        ("tcp_throughput_share", True),
        ("jain_all", True),
        ("utilisation", True),
        ("tcp_throughput_bps", False),
    ],
)
def test_shares_are_known_by_their_columns(name: str, share: bool) -> None:
    assert is_share(name) is share


def test_no_values_give_no_interval() -> None:
    with pytest.raises(ValueError, match="at least one"):
        interval([])


@pytest.mark.parametrize(
    ("mean", "half", "count", "shown"),
    [
        (659.6, 3131.0, 2, TOO_FEW),  # delays are above 0 anyway
        (659.6, 31.0, 2, "31.0"),
        (0.3, 0.6, 2, "0.6"),  # less than 1 ms tells enough, whatever the mean
        (0.96, 2.67, ENOUGH, "2.7"),  # from here on seeds that differ by that much are why
        (659.6, math.nan, 1, ""),
        (659.6, None, 1, ""),
    ],
)
def test_a_half_width_that_says_nothing_is_not_printed(mean: float, half: float | None, count: int, shown: str) -> None:
    assert half_text(mean, half, count, 1) == shown


def test_a_difference_may_be_near_zero_and_keeps_its_half_width() -> None:
    assert half_text(1.0, 40.0, 2, 1, signed=True) == "40.0"


def test_tables_say_what_the_sign_means_where_it_can_stand() -> None:
    assert [TOO_FEW in spread_text(count) for count in (1, 2, ENOUGH)] == [False, True, False]
    assert math.isnan(interval([1.0, 9.0]).shown_half_width)
    assert interval([1.0, 1.1]).shown_half_width == interval([1.0, 1.1]).half_width
