"""Intervals: coverage, block structure, rank correlations against scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from training.bootstrap import block_length, mean_interval, standard_error, stationary_rows, studentised_resamples
from training.ranking import information_coefficient


def test_block_length_is_the_cube_root_rounded_up():
    assert [block_length(n) for n in (0, 1, 8, 9, 27, 28, 64, 1000)] == [1, 1, 2, 3, 3, 4, 4, 10]


def test_stationary_rows_are_runs_around_the_circle_of_the_named_mean_length():
    rows = stationary_rows(50, 4, 2000, np.random.default_rng(0))
    assert rows.shape == (2000, 50)
    assert rows.min() == 0 and rows.max() == 49
    follows = (np.diff(rows, axis=1) % 50) == 1
    # A block goes on with probability 3/4, and a fresh start is the next row by chance 1 in 50 times.
    assert follows.mean() == pytest.approx(0.75 + 0.25 / 50, abs=0.006)
    counts = np.bincount(rows.ravel(), minlength=50)
    assert counts.min() > 0.9 * 2000 and counts.max() < 1.1 * 2000


def test_standard_error_only_widens():
    zigzag = np.array([1.0, -1.0] * 10)
    trend = np.arange(20.0)
    assert standard_error(zigzag) == pytest.approx(stats.sem(zigzag))
    centred = trend - 9.5
    variance = (centred @ centred + centred[1:] @ centred[:-1]) / 19
    assert standard_error(trend) == pytest.approx(math.sqrt(variance / 20))
    assert standard_error(np.full(10, 0.1)) == 0.0


def test_mean_interval_covers_the_truth_for_few_skewed_sessions():
    generator = np.random.default_rng(5)
    inside = 0
    for seed in range(400):
        interval = mean_interval(generator.exponential(size=20), seed=seed, resamples=399)
        inside += interval.low <= 1.0 <= interval.high
    # 95 % nominal; 99.9 % binomial bounds of 0.95 over 400 are 0.91 and 0.98.
    assert 0.91 <= inside / 400 <= 0.985


def test_mean_interval_is_seeded_scales_and_names_its_method():
    values = np.random.default_rng(2).normal(100.0, 300.0, size=22)
    first = mean_interval(values, seed=4)
    assert first == mean_interval(values, seed=4)
    assert first.low < first.estimate == values.mean() < first.high
    assert "stationary bootstrap-t, 95.0% two-sided, mean block 3, 4999 resamples, seed 4" in first.method
    double = mean_interval(2.0 * values, seed=4)
    assert (double.low, double.high) == pytest.approx((2 * first.low, 2 * first.high), rel=1e-12)
    flat = mean_interval(np.zeros(20))
    assert (flat.low, flat.estimate, flat.high) == (0.0, 0.0, 0.0)
    few = mean_interval(np.array([1.0, 2.0]))
    assert math.isnan(few.low) and "fewer than 5" in few.method


def test_resamples_without_spread_are_infinite_not_nan():
    data = np.array([0.0] * 9 + [1.0])
    found = studentised_resamples(data, 1, 500, 0)
    assert not np.isnan(found).any()
    assert found[0] == -np.inf  # many resamples miss the one profit


def test_spearman_against_scipy_with_ties_and_gaps():
    generator = np.random.default_rng(8)
    x = np.round(generator.normal(size=300), 1)
    y = np.round(x + generator.normal(size=300), 1)
    assert information_coefficient(x, y, 1).estimate == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    x[5], y[9] = np.nan, np.inf
    keep = np.isfinite(x) & np.isfinite(y)
    assert information_coefficient(x, y, 1).estimate == pytest.approx(stats.spearmanr(x[keep], y[keep]).statistic, abs=1e-12)
    assert math.isnan(information_coefficient(np.ones(10), np.arange(10.0), 1).estimate)
    assert math.isnan(information_coefficient(np.ones(2), np.arange(2.0), 1).estimate)
    with pytest.raises(ValueError, match="two vectors of one length"):
        information_coefficient(x, y[:-1], 1)


def test_information_coefficient_interval_holds_for_overlapping_outcomes():
    generator = np.random.default_rng(11)
    horizon, n, inside = 20, 3000, 0
    for seed in range(150):
        noise = generator.normal(size=n + horizon)
        outcome = np.convolve(noise, np.ones(horizon), "valid")[:n]  # no relation to the forecast
        forecast = np.convolve(generator.normal(size=n + 50), np.ones(50), "valid")[:n]
        found = information_coefficient(forecast, outcome, horizon, seed=seed, resamples=299)
        inside += found.low <= 0.0 <= found.high
    # An interval that ignored the overlap would hold zero in about 40 % of cases.
    assert inside / 150 > 0.84
    assert "Spearman, circular block bootstrap, 95.0% two-sided, block 100 bars" in found.method


def test_information_coefficient_finds_a_real_relation_and_refuses_too_little():
    generator = np.random.default_rng(12)
    x = generator.normal(size=4000)
    y = 0.1 * x + generator.normal(size=4000)
    found = information_coefficient(x, y, 1)
    assert found.estimate == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert 0.0 < found.low < found.estimate < found.high < 0.2
    short = information_coefficient(x[:90], y[:90], 10)
    assert math.isnan(short.low) and "fewer than 4 blocks" in short.method
