"""Feature columns hold one NaN: issue 9.4 and 16.9, the sign that a formula leaves follows the processor and the length."""

import numpy as np
import pytest

from kernels.features.assembly import lay_columns
from kernels.features.market import market_features
from kernels.features.returns import log_returns
from kernels.features.user import feature

OWN = np.array(np.nan).view(np.int64)
OTHERS = np.array([-np.nan, np.array(0x7FF8_0000_0000_0007).view(np.float64), np.nan])


def bits_of_missing(values):
    return set(np.asarray(values)[np.isnan(values)].view(np.int64).tolist())


@pytest.fixture(scope="module")
def bars(bars_of):
    return bars_of(400, seed=3, rolls=(300,))


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 8, 9, 16, 17, 33])
def test_columns_are_laid_with_one_nan(rows):
    """Vector body and remainder: every length up to two vectors of eight and more."""
    columns = np.resize(np.array([-np.nan, 1.5, np.nan, -0.0]), (5, rows + 3))
    laid = np.empty((rows, 5))
    lay_columns(columns, laid)
    expected = columns[:, :rows].T
    np.testing.assert_array_equal(laid, expected)
    assert np.signbit(laid[laid == 0]).all() and bits_of_missing(laid) == {int(OWN)}


def test_market_features_hold_one_nan_however_the_missing_returns_are_signed(bars):
    bars = bars
    returns = np.clip(log_returns(bars), -0.1, 0.1)
    made = [market_features(bars, np.where(np.isnan(returns), missing, returns), "America/Chicago") for missing in OTHERS]
    assert np.isnan(made[0]).any()
    for one in made:
        np.testing.assert_array_equal(one.view(np.int64), made[-1].view(np.int64))
        assert bits_of_missing(one) == {int(OWN)}


def test_a_users_feature_returns_one_nan(bars):
    def signed(bars, clamped_returns):
        return -(clamped_returns * np.where(np.arange(len(bars)) % 2, -np.nan, np.nan))

    made = feature("signed", low=-5, high=5, warm_up=2, formula="")(signed)
    assert bits_of_missing(made(bars, np.zeros(len(bars)))) == {int(OWN)}
