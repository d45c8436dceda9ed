"""Means over seeds and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sluicegate.stats import difference, ends, interval, is_share

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
