"""Intervals: coverage, block structure, rank correlations against scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from training.bootstrap import (
    block_length,
    mean_interval,
    standard_error,
    stationary_rows,
    studentised_resamples,
    tail_probability,
)
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
    assert standard_error(zigzag) == pytest.approx(stats.sem(zigzag))
    waves = np.array([1.0, 1.0, -1.0, -1.0] * 5)
    # by hand: products of neighbours sum to 9 * (1 - 1) + 1 = 10 - 9, squares to 20, so r1 = 1/20 and r = 2/17
    assert standard_error(waves) == pytest.approx(stats.sem(waves) * math.sqrt((1 + 2 / 17) / (1 - 2 / 17)))
    # a straight line: r1 = 0.85 (statsmodels' acf), r = 18/17 is cut at 0.95
    assert standard_error(np.arange(20.0)) == pytest.approx(stats.sem(np.arange(20.0)) * math.sqrt(1.95 / 0.05))
    assert standard_error(np.full(10, 0.1)) == 0.0


def autoregressive(generator, n):
    values = generator.normal(size=n + 30)
    for row in range(1, n + 30):
        values[row] += 0.5 * values[row - 1]
    return values[30:]


# The true mean is zero. At 19 sessions the bootstrap-t alone holds it in 78 of 100 draws of mostly flat sessions, 88 of
# Student's 3 and 91 of the normal's.
DRAWS = {
    "normal": (lambda g, n: g.normal(size=n), 0.95),
    "student 3": (lambda g, n: g.standard_t(3, size=n), 0.95),
    "mostly flat": (lambda g, n: g.normal(size=n) * (g.random(n) < 0.3), 0.95),
    "rare gains": (lambda g, n: g.exponential(size=n) - 1.0, 0.95),
    "rare losses": (lambda g, n: math.exp(0.5) - g.lognormal(size=n), 0.91),
    "autocorrelated": (autoregressive, 0.91),
}


@pytest.mark.parametrize("sessions", [19, 60])
@pytest.mark.parametrize("name", DRAWS)
def test_mean_interval_holds_the_mean_as_often_as_it_says(name, sessions):
    draw, stated = DRAWS[name]
    generator = np.random.default_rng(5)
    found = [mean_interval(draw(generator, sessions), seed=seed, resamples=199) for seed in range(300)]
    inside = sum(interval.low <= 0.0 <= interval.high for interval in found)
    assert inside >= stats.binom.ppf(0.002, 300, stated)
    assert all(math.isfinite(interval.low) and math.isfinite(interval.high) for interval in found)


def test_each_end_is_the_wider_of_students_t_and_the_bootstrap():
    gains = np.array([-1.0] * 12 + [2.0, 3.0, 20.0, -1.5, 0.5, -0.5, 1.0, -2.0])
    found = mean_interval(gains, seed=1)
    sem, reach = stats.sem(gains), stats.t.ppf(0.975, 19) * standard_error(gains)
    resampled = np.quantile(studentised_resamples(gains, 3, 4999, 1), [0.025, 0.975], method="inverted_cdf")
    assert found.low == pytest.approx(found.estimate - max(reach, resampled[1] * sem))
    assert found.high == pytest.approx(found.estimate + max(reach, -resampled[0] * sem))
    assert -resampled[0] * sem > reach  # rare gains: the upper end is the bootstrap's, the lower one the t's
    assert found.low == pytest.approx(found.estimate - reach)


@pytest.mark.parametrize("freedom", [18, 249])
@pytest.mark.parametrize("probability", [1e-4, 1e-6])
def test_the_fitted_tail_resolves_what_shares_cannot(freedom, probability):
    value = stats.t.isf(probability, freedom)
    logs = []
    for seed in range(20):
        ordered = np.sort(np.random.default_rng(seed).standard_t(freedom, size=19_999))
        logs.append(math.log10(tail_probability(ordered, value)))
    # At 1e-6 single fits lie up to a decade apart; their middle is the truth or above it: the test errs on the safe side.
    assert math.log10(probability) - 0.1 < np.median(logs) < math.log10(probability) + 1.0


def test_the_tail_never_rises_and_never_passes_the_share():
    ordered = np.sort(np.random.default_rng(3).standard_t(8, size=4_999))
    values = np.linspace(0.0, 40.0, 2_000)
    found = np.array([tail_probability(ordered, value) for value in values])
    shares = np.array([(1 + np.count_nonzero(ordered >= value)) / 5_000 for value in values])
    assert (np.diff(found) <= 0.0).all() and (found <= shares).all() and (found > 0.0).all()
    many = shares >= 11 / 5_000
    assert np.array_equal(found[many], shares[many])
    ordered[-4:] = np.inf  # four resamples without spread stay as likely as they were, whatever the value
    assert tail_probability(ordered, 1e9) == pytest.approx(4 / 5_000, rel=1e-3)


def test_mean_interval_is_seeded_scales_and_names_its_method():
    values = np.random.default_rng(2).normal(100.0, 300.0, size=22)
    first = mean_interval(values, seed=4)
    assert first == mean_interval(values, seed=4)
    assert first.low < first.estimate == values.mean() < first.high
    assert first.method == (
        "wider end of Student's t and stationary bootstrap-t, 95.0% two-sided, mean block 3, 4999 resamples, seed 4"
    )
    double = mean_interval(2.0 * values, seed=4)
    assert (double.low, double.high) == pytest.approx((2 * first.low, 2 * first.high), rel=1e-12)
    flat = mean_interval(np.zeros(20))
    assert (flat.low, flat.estimate, flat.high) == (0.0, 0.0, 0.0)
    few = mean_interval(np.array([1.0, 2.0]))
    assert math.isnan(few.low) and "fewer than 5" in few.method


@pytest.mark.parametrize("confidence", [95, 1.0, 0.0, -1.0, math.nan])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(ValueError, match=r"confidence = .* must be at least 0\.5 and below 1"):
        mean_interval(np.arange(20.0), confidence=confidence)


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


def test_a_perfect_correlation_has_an_interval():
    """Fisher's scale has no place for 1: bounds were NaN as soon as one resample was perfect."""
    rows = np.arange(200.0)
    for sign in (1.0, -1.0):
        perfect = information_coefficient(rows, sign * rows, 1)
        assert (perfect.low, perfect.high) == (sign, sign)
    swapped = rows.copy()
    swapped[:2] = 1.0, 0.0
    found = information_coefficient(rows, swapped, 1)
    assert 0.9999 < found.low < found.estimate < found.high <= 1.0
    assert found.estimate == pytest.approx(stats.spearmanr(rows, swapped).statistic, abs=1e-12)


def test_information_coefficient_interval_holds_for_overlapping_outcomes():
    generator = np.random.default_rng(11)
    horizon, n, inside = 20, 3000, 0
    for seed in range(150):
        noise = generator.normal(size=n + horizon)
        outcome = np.convolve(noise, np.ones(horizon), "valid")[:n]  # no relation to the forecast
        forecast = np.convolve(generator.normal(size=n + 50), np.ones(50), "valid")[:n]
        found = information_coefficient(forecast, outcome, horizon, seed=seed, resamples=299)
        inside += found.low <= 0.0 <= found.high
    # An interval that ignored the overlap would hold zero in about 40 % of cases, the percentiles of its blocks in 89 %.
    assert inside >= stats.binom.ppf(0.002, 150, 0.95)
    assert "Spearman, Student's t on circular block bootstrap, 95.0% two-sided, block 100 bars" in found.method


def test_information_coefficient_finds_a_real_relation_and_refuses_too_little():
    generator = np.random.default_rng(12)
    x = generator.normal(size=4000)
    y = 0.1 * x + generator.normal(size=4000)
    found = information_coefficient(x, y, 1)
    assert found.estimate == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert 0.0 < found.low < found.estimate < found.high < 0.2
    short = information_coefficient(x[:90], y[:90], 10)
    assert math.isnan(short.low) and "fewer than 4 blocks" in short.method
