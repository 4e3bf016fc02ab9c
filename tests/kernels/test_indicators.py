"""Indicators and windows: against pandas where it is right, by hand where it is not, and never from the future."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from kernels import numpy_executor, window_extremes, windows
from kernels.executor import host
from kernels.expressions import col, hold, param, prev
from kernels.indicators import ema, rolling_max, rolling_min, rolling_std, sma, zscore
from kernels.rows import RowWriter, WindowError, lane_values, warm_up
from kernels.values import ExpressionError

NAN = float("nan")
WINDOWS = [1, 2, 3, 5, 8, 13, 64, 100]


def row(expression, x):
    """The expression's series where ``col("x")`` is x."""
    return RowWriter({"x": np.asarray(x, dtype=float)}, host(numpy_executor.run)).row(expression)


@pytest.fixture(scope="module")
def walk():
    return 100 + np.cumsum(np.random.default_rng(5).normal(0, 1, 400))


@pytest.mark.parametrize(
    ("ours", "pandas"),
    [
        (sma, lambda s, w: s.rolling(w).mean()),
        (rolling_max, lambda s, w: s.rolling(w).max()),
        (rolling_min, lambda s, w: s.rolling(w).min()),
        (rolling_std, lambda s, w: s.rolling(w).std()),
        (ema, lambda s, w: s.ewm(span=w, adjust=False, ignore_na=True).mean()),
    ],
    ids=["sma", "rolling_max", "rolling_min", "rolling_std", "ema"],
)
def test_agrees_with_pandas(ours, pandas, walk):
    for window in [w for w in WINDOWS if w > 1 or ours not in (rolling_std, zscore)]:
        expected = pandas(pd.Series(walk), window).to_numpy()
        np.testing.assert_allclose(row(ours(col("x"), window), walk), expected, rtol=1e-10, atol=1e-10)


def test_ema_over_a_gap():
    # case A03, rule ignore_na=True: the gap keeps 2, then 0.5 × 8 + 0.5 × 2 = 5
    np.testing.assert_array_equal(row(ema(col("x"), 3), [2, NAN, 8]), [2.0, 2.0, 5.0])


def test_ema_seeds_with_the_first_value():
    # case A05, first-value seed: 3, (3 + 6) / 2, …; leading NaN are no zeros
    np.testing.assert_array_equal(row(ema(col("x"), 3), [NAN, NAN, 3, 6, 9, 12]), [NAN, NAN, 3, 4.5, 6.75, 9.375])


def test_std_of_large_nearly_constant_values():
    # case A07
    x = [1000000000, 1000000001, 1000000002, 1000000002, 1000000002, 1000000002]
    np.testing.assert_allclose(
        row(rolling_std(col("x"), 3), x), [NAN, NAN, 1.0, 0.5773502691896258, 0.0, 0.0], rtol=1e-12, atol=0
    )


def test_zscore_of_a_constant_window():
    # case A10: 0 / 0 is NaN, not rounding residue; a genuine tiny deviation keeps its value
    assert np.all(np.isnan(row(zscore(col("x"), 20), [0.1] * 30)))
    assert row(zscore(col("x"), 20), [0.1] * 29 + [0.1000000001])[29] == pytest.approx(4.2485285, abs=1e-4)


def test_zscore_is_exact_to_the_last_digits_under_any_level():
    # pandas loses digits in x - mean; the exact values come from fractions
    for level in (0, 80, 10**9):
        x = level + np.random.default_rng(3).integers(-40, 40, 60) / 64
        for window in (2, 3, 7, 20):
            found = row(zscore(col("x"), window), x)
            for t in range(window - 1, 60):
                part = [Fraction(v) for v in x[t - window + 1 : t + 1]]
                mean = sum(part) / window
                variance = sum((v - mean) ** 2 for v in part) / (window - 1)
                expected = float(part[-1] - mean) / float(variance) ** 0.5 if variance else NAN
                assert found[t] == pytest.approx(expected, rel=1e-13, abs=1e-15, nan_ok=True)


def test_a_spike_leaves_nothing_behind():
    x = np.arange(40.0)
    spiked = x.copy()
    spiked[10] = 1e15
    for ours in (sma, rolling_std, zscore, rolling_max, rolling_min):
        np.testing.assert_array_equal(row(ours(col("x"), 7), spiked)[17:], row(ours(col("x"), 7), x)[17:])


def test_nan_in_the_window_gives_nan_and_leaves_with_it():
    x = np.arange(20.0)
    x[8] = NAN
    for ours in (sma, rolling_std, zscore, rolling_max, rolling_min):
        assert np.flatnonzero(np.isnan(row(ours(col("x"), 3), x))).tolist() == [0, 1, 8, 9, 10]


def test_windowed_sums_are_exact_where_floats_are():
    x = np.random.default_rng(1).integers(-1000, 1000, 90).astype(float) / 8
    for window, total in zip(WINDOWS, windows.sums(x, WINDOWS), strict=True):
        exact = [float(sum(map(Fraction, x[t - window + 1 : t + 1]))) for t in range(window - 1, len(x))]
        np.testing.assert_array_equal(total[window - 1 :], exact)


def test_windows_longer_than_the_series():
    assert np.all(np.isnan(window_extremes.maxima(np.ones(5), [6])[0]))


def test_zero_has_one_sign_in_extremes():
    for found in (
        window_extremes.maxima(np.array([-0.0, 0.0, -0.0]), [2])[0],
        window_extremes.minima(np.array([0.0, -0.0, 0.0]), [2])[0],
    ):
        assert not np.signbit(found[1:]).any()


@pytest.mark.parametrize("spans", [[1], [5, 3], [2, 4, 6, 8, 10], [*range(1, 10), 60], [300, 20, 7, 9, 11, 2000]])
@pytest.mark.parametrize("bars", [1, 7, 400])
def test_extremes_as_columns_are_the_rows(spans, bars, walk, same_bits):
    x = np.where(np.arange(bars) % 11 == 3, -0.0, walk[:bars])
    x[5::50] = np.nan
    for rows, write in (
        (window_extremes.maxima, window_extremes.write_maxima),
        (window_extremes.minima, window_extremes.write_minima),
    ):
        found = np.zeros((bars, len(spans)))
        write(x, spans, found)
        assert same_bits(found, np.stack(rows(x, spans), axis=1))


@pytest.mark.parametrize("ours", [ema, sma, rolling_std, zscore, rolling_max, rolling_min])
def test_appended_bars_change_nothing_earlier(ours, walk, same_bits):
    whole = row(ours(col("x"), 13), walk)
    for cut in (13, 14, 100, 257):
        changed = walk.copy()
        changed[cut:] = 1e6
        assert same_bits(row(ours(col("x"), 13), walk[:cut]), whole[:cut])
        assert same_bits(row(ours(col("x"), 13), changed)[:cut], whole[:cut])


def test_a_family_equals_its_single_rows(walk, same_bits):
    writer = RowWriter({"x": walk}, host(numpy_executor.run))
    spans = np.array([20.0, 5.0, 20.0, 9.0])
    for ours in (ema, sma, zscore, rolling_max):
        family = writer.family(ours(col("x"), param("n")), {"n": spans})
        assert family.matrix.shape == (400, 3)  # 5, 9, 20: computed once each
        assert family.index.tolist() == [2, 0, 2, 1]
        for lane, span in enumerate(spans):
            assert same_bits(family.matrix[:, family.index[lane]], row(ours(col("x"), int(span)), walk))


def test_indicators_of_expressions_that_read_parameters(walk, same_bits):
    writer = RowWriter({"x": walk}, host(numpy_executor.run))
    nested = sma(prev(ema(col("x"), param("n"))) * param("k"), 4)
    family = writer.family(nested, {"n": np.array([3.0, 6.0]), "k": np.array([2.0, 3.0])})
    for lane, (span, factor) in enumerate([(3, 2.0), (6, 3.0)]):
        inner = pd.Series(walk).ewm(span=span, adjust=False).mean().shift() * factor
        expected = inner.rolling(4).mean().to_numpy()
        np.testing.assert_allclose(family.matrix[:, family.index[lane]], expected, rtol=1e-12)


def test_warm_up_adds_along_the_longest_path():
    grid = {"n": np.array([5.0, 9.0])}
    assert warm_up(col("x"), grid) == 0
    assert warm_up(sma(col("x"), param("n")), grid) == 8
    assert warm_up(prev(sma(sma(col("x"), 3), param("n") * 2), 4) + col("x"), grid) == 2 + 17 + 4


def test_lane_values_are_computed_once_a_lane():
    np.testing.assert_array_equal(lane_values(-param("a") * 2, {"a": np.array([1.0, 2.0])}, 2), [-2.0, -4.0])
    np.testing.assert_array_equal(lane_values(sma(col("x"), 3).operands[1], {}, 3), [3.0, 3.0, 3.0])


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: warm_up(sma(col("x"), 2.5), {}), WindowError, r"sma: window 2.5 = 2.5: .* whole number of bars >= 1"),
        (
            lambda: warm_up(zscore(col("x"), param("n")), {"n": np.array([3.0, 1.0])}),
            WindowError,
            r"zscore: .* = 1: .* >= 2",
        ),
        (lambda: ema(col("x") > 1, 3), ExpressionError, r"ema: its source .* is a bool"),
        (lambda: ema(hold(), 3), ExpressionError, r"ema: its source .* reads hold\(\)"),
        (
            lambda: sma(col("x"), col("y")),
            ExpressionError,
            r"its window col\('y'\) reads col\('y'\); windows read parameters",
        ),
    ],
)
def test_wrong_windows_and_sources(build, error, message):
    with pytest.raises(error, match=message):
        build()
