"""Returns and targets by hand, across rolls, at the ends and at prices without a logarithm."""

import numpy as np
import pandas as pd
import pytest

from kernels.features.returns import log_returns, path_steps
from kernels.features.targets import targets


def bars(close, expiry=None, opened=None):
    close = np.asarray(close, float)
    return pd.DataFrame({
        "expiry": np.asarray(expiry if expiry is not None else [202403] * len(close), np.int32),
        "open": np.asarray(opened, float) if opened is not None else close,
        "close": close,
    })


def test_label_is_the_next_return_and_the_feature_the_last():
    """Case E06."""
    table = bars([100, 110, 99, 108.9])
    returns = log_returns(table)
    np.testing.assert_allclose(returns, [np.nan, 0.0953101798, -0.1053605157, 0.0953101798], atol=1e-10)
    label = targets(table, returns)[:, 1]
    np.testing.assert_allclose(label, [0.0953101798, -0.1053605157, 0.0953101798, np.nan], atol=1e-10)
    np.testing.assert_array_equal(label[:-1], returns[1:])
    assert not np.array_equal(label, returns, equal_nan=True)


def test_last_bar_has_no_label():
    """Case E07: a missing label stays missing and is no class."""
    label = targets(bars([1, 2, 4, 8, 16]), log_returns(bars([1, 2, 4, 8, 16])))[:, 1]
    np.testing.assert_allclose(label, [np.log(2)] * 4 + [np.nan])


def test_nothing_reaches_across_a_roll():
    table = bars([10, 11, 20, 21], expiry=[202403, 202403, 202406, 202406], opened=[9, 10.5, 19, 20.5])
    returns = log_returns(table)
    np.testing.assert_allclose(returns, [np.nan, np.log(1.1), np.nan, np.log(1.05)])
    nan = np.nan
    expected = [
        [nan, np.log(1.1), 10, 11, 10.5, 10.5],
        [np.log(1.1), nan, 11, nan, nan, nan],
        [nan, np.log(1.05), 20, 21, 20.5, 20.5],
        [np.log(1.05), nan, 21, nan, nan, nan],
    ]
    np.testing.assert_allclose(targets(table, returns), expected)
    np.testing.assert_allclose(path_steps(table, returns), [nan, np.log(1.1), 0.0, np.log(1.05)])


def test_prices_at_or_below_zero_have_no_return():
    table = bars([10.0, -37.63, 10.0, 0.0, 5.0, 6.0])
    np.testing.assert_allclose(log_returns(table), [np.nan] * 5 + [np.log(1.2)])


def test_empty_and_single_tables_work():
    assert log_returns(bars([])).shape == (0,)
    assert targets(bars([]), np.empty(0)).shape == (0, 6)
    np.testing.assert_array_equal(log_returns(bars([3.0])), [np.nan])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 returns for 1 bars"):
        targets(bars([1.0]), np.zeros(2))
