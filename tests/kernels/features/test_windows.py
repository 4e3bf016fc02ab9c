"""Windows built from halves against one window at a time, and on the inputs that break running totals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.features.windows import (
    LevelPath,
    at_end,
    central_moments,
    decay_weight,
    mean_and_spread,
    products,
    window_extremes,
    window_sum,
    window_sums,
)


def naive(function, values, size):
    ends = range(size, len(values) + 1)
    return np.array([np.nan] * (size - 1) + [function(values[end - size : end]) for end in ends])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60).map(np.array),
    size=st.integers(2, 40),
)
def test_sum_and_spread_equal_one_window_at_a_time(values, size):
    if size > len(values):
        size = len(values)
    mean, spread = mean_and_spread(values, (size,))[size]
    np.testing.assert_allclose(window_sum(values, size), naive(np.sum, values, size), rtol=1e-12, atol=1e-8)
    np.testing.assert_allclose(mean, naive(np.mean, values, size), rtol=1e-12, atol=1e-8)
    expected = naive(lambda x: ((x - x.mean()) ** 2).sum(), values, size)
    np.testing.assert_allclose(spread, expected, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("size", [2, 3, 7, 14, 20, 45, 60])
def test_level_windows_are_measured_in_the_last_level(size):
    rng = np.random.default_rng(5)
    steps = rng.normal(0, 0.01, 200)
    levels = np.exp(np.cumsum(steps))
    path = LevelPath(steps, (size,))
    of_own_level = rng.random(200) + 0.5  # e.g. high / close
    absolute = of_own_level * levels
    np.testing.assert_allclose(window_sum(of_own_level, size, path) * levels, naive(np.sum, absolute, size), rtol=1e-12)
    np.testing.assert_allclose(
        window_extremes(of_own_level, (size,), path, larger=True)[size] * levels, naive(np.max, absolute, size), rtol=1e-12
    )
    np.testing.assert_allclose(
        window_extremes(of_own_level, (size,), path, larger=False)[size] * levels, naive(np.min, absolute, size), rtol=1e-12
    )
    _, spread = mean_and_spread(of_own_level, (size,), path)[size]
    np.testing.assert_allclose(spread * levels**2, naive(lambda x: size * x.var(), absolute, size), rtol=1e-11)


def test_decay_weights_fall_by_the_factor_from_row_to_row():
    values = np.random.default_rng(2).normal(size=100)
    weights = 0.8 ** np.arange(9)[::-1]
    expected = naive(lambda x: (x * weights).sum(), values, 9)
    np.testing.assert_allclose(window_sum(values, 9, decay=0.8), expected, rtol=1e-12)
    assert decay_weight(9, 0.8) == pytest.approx((1 - 0.8**9) / (1 - 0.8), rel=1e-14)


def test_higher_moments_and_comoments_equal_one_window_at_a_time():
    rng = np.random.default_rng(4)
    x, y = rng.gamma(2.0, size=(2, 150))
    second, third, fourth = central_moments(x, 23)
    for power, ours in ((2, second), (3, third), (4, fourth)):
        expected = naive(lambda w, power=power: ((w - w.mean()) ** power).sum(), x, 23)
        np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-12)
    left, right, product = mean_and_spread(x, (23,))[23][1], mean_and_spread(y, (23,))[23][1], products(x, y, 23)
    for end in (23, 80, 150):
        covariance = np.cov(x[end - 23 : end], y[end - 23 : end]) * 22
        np.testing.assert_allclose([left[end - 1], product[end - 1]], covariance[0], rtol=1e-12)
        assert right[end - 1] == pytest.approx(covariance[1, 1], rel=1e-12)


def test_spread_of_large_nearly_constant_values_is_exact():
    """Case A07: E[x²] - E[x]² gives 0, 128 or a negative variance here."""
    x = 1e9 + np.array([0.0, 1.0, 2.0, 2.0, 2.0, 2.0])
    _, spread = mean_and_spread(x, (3,))[3]
    np.testing.assert_allclose(
        np.sqrt(spread / 2), [np.nan, np.nan, 1.0, 0.5773502691896258, 0.0, 0.0], rtol=1e-6
    )
    assert spread[4] == spread[5] == 0.0
    prices = np.array([5000.25, 5000.5, 5000.75, 5000.75])
    assert mean_and_spread(prices, (3,))[3][1][2] / 3 == pytest.approx(0.0416666667, rel=1e-9)


def test_spread_of_equal_values_is_exactly_zero_and_their_mean_is_the_value():
    """Case A10: a two-pass deviation of twenty 0.1 leaves 1.4e-17."""
    mean, spread = mean_and_spread(np.full(300, 0.1), (60, 240))[240]
    assert (spread[239:] == 0.0).all()
    assert (mean[239:] == 0.1).all()


def test_missing_value_lives_as_long_as_it_is_in_the_window():
    """Case A08, and a NaN that poisons a running total for ever; windows with a gap are missing, not a start value."""
    x = np.array([np.nan, np.nan, 5.0, 3.0, np.nan, 4.0, 2.0, 1.0])
    still = LevelPath(np.zeros(len(x)), (3,))
    lowest = window_extremes(x, (3,), still, larger=False)[3]
    np.testing.assert_array_equal(lowest, [np.nan] * 7 + [1.0])
    np.testing.assert_array_equal(window_sum(x, 3), [np.nan] * 7 + [7.0])
    np.testing.assert_array_equal(mean_and_spread(x, (2,))[2][0], [np.nan, np.nan, np.nan, 4.0, np.nan, np.nan, 3, 1.5])


def test_windows_longer_than_the_series_are_missing_and_shorter_ones_of_their_ladder_are_not():
    x = np.random.default_rng(3).normal(size=70)
    sums = window_sums(x, (60, 240))
    np.testing.assert_allclose(sums[60], naive(np.sum, x, 60), rtol=1e-12, atol=1e-12)
    assert np.isnan(sums[240]).all()
    assert np.isnan(mean_and_spread(x[:20], (60,))[60]).all()


@pytest.mark.parametrize("power", [0.5, -1.0])
def test_values_in_powers_of_their_level(power):
    rng = np.random.default_rng(8)
    steps, own = rng.normal(0, 0.01, 150), rng.random(150) + 0.5
    levels = np.exp(np.cumsum(steps)) ** power
    path = LevelPath(steps, (60,))
    total = window_sum(own, 60, path, power)
    np.testing.assert_allclose(total * levels, naive(np.sum, own * levels, 60), rtol=1e-12)
    shift = rng.normal(size=150)
    together = products(shift, own, 60, path, power)[149] * levels[149]
    assert together == pytest.approx(59 * np.cov(shift[90:], (own * levels)[90:])[0, 1], rel=1e-10)


def test_windows_of_other_ladders_or_of_another_path_are_refused():
    with pytest.raises(ValueError, match=r"\(20, 60\) rows do not lie on one ladder"):
        window_sums(np.ones(100), (20, 60))
    with pytest.raises(ValueError, match="path without them"):
        window_sum(np.ones(100), 60, LevelPath(np.zeros(100), (14,)))


def test_values_before_the_first_full_window_are_missing():
    np.testing.assert_array_equal(at_end(np.array([1.0, 2.0]), 4), [np.nan, np.nan, 1.0, 2.0])
