"""Rows a model may see: every feature exists on them, whatever the prices did."""

import numpy as np
import pytest

from kernels.features.market import market_features
from kernels.features.returns import log_returns
from kernels.features.table import WARM_UP
from kernels.features.validity import valid_rows

PRICES = ["open", "high", "low", "close"]


def both(table, returns=None):
    returns = np.clip(log_returns(table), -0.1, 0.1) if returns is None else returns
    return valid_rows(table, returns, WARM_UP), np.isfinite(market_features(table, returns, "America/Chicago")).all(axis=1)


def test_without_faults_all_rows_after_the_warm_up_are_valid(bars_of):
    valid, complete = both(bars_of(600, seed=3, rolls=(300,)))
    assert valid.tolist() == complete.tolist() == [False] * 253 + [True] * 347


def test_a_close_below_zero_takes_its_look_back_out_and_no_more(bars_of):
    table = bars_of(900, seed=8)
    table.loc[400, PRICES] = [-37.0, -36.0, -40.0, -37.63]
    valid, complete = both(table)
    np.testing.assert_array_equal(valid, complete)
    assert np.flatnonzero(~valid[253:]).tolist() == list(range(400 - 253, 654 - 253))


def test_a_low_below_zero_under_a_positive_close_masks_the_levels(bars_of):
    table = bars_of(900, seed=8)
    table.loc[400, "low"] = -0.25
    valid, complete = both(table)
    assert (complete | ~valid).all()
    assert np.flatnonzero(~valid[253:]).tolist() == list(range(400 - 253, 654 - 253))


def test_a_dropped_return_and_a_roll_below_zero_are_covered(bars_of):
    table = bars_of(1200, seed=9, rolls=(800,))
    returns = np.clip(log_returns(table), -0.1, 0.1)
    returns[500] = np.nan  # layer 2 found an infinity
    valid, complete = both(table, returns)
    np.testing.assert_array_equal(valid, complete)
    assert not valid[500] and valid[800] and valid[753]
    table.loc[799, PRICES] = -1.0
    valid, complete = both(table)
    np.testing.assert_array_equal(valid, complete)


@pytest.mark.parametrize("look_back", [1, 5])
def test_short_look_backs_mask_short(bars_of, look_back):
    table = bars_of(50)
    table.loc[20, PRICES] = -1.0
    valid = valid_rows(table, log_returns(table), look_back)
    # the step out of the bar below zero is read by the next look_back - 1 rows
    bad = {1: [20], 5: list(range(20, 25))}[look_back]
    expected = [row for row in range(look_back - 1, 50) if row not in bad]
    assert np.flatnonzero(valid).tolist() == expected


def test_wrong_arguments_are_refused(bars_of):
    with pytest.raises(ValueError, match="2 returns for 10 bars"):
        valid_rows(bars_of(10), np.zeros(2), 5)
    with pytest.raises(ValueError, match="look_back 0"):
        valid_rows(bars_of(10), np.zeros(10), 0)
    assert valid_rows(bars_of(10).iloc[:0], np.zeros(0), 5).shape == (0,)


def test_the_warm_up_is_not_valid_where_returns_begin_with_a_number(bars_of):
    """A user's returns need not begin with NaN: the bars of the look-back are missing all the same."""
    table = bars_of(20, seed=3)
    assert valid_rows(table, np.zeros(20), 5).tolist() == [False] * 4 + [True] * 16
