"""No feature sees the future, and none remembers more than its look-back: equal bits however the series is cut."""

import numpy as np
import pytest

from kernels.features import market
from kernels.features.returns import log_returns
from kernels.features.table import WARM_UP

ROWS = 1_000
ROLLS = (450,)


def features(table):
    return market.market_features(table, np.clip(log_returns(table), -0.1, 0.1), "America/Chicago")


@pytest.fixture(scope="module")
def bars(bars_of):
    return bars_of(ROWS, seed=11, rolls=ROLLS)


@pytest.fixture(scope="module")
def whole(bars):
    return features(bars)


def assert_same_bits(left, right):
    np.testing.assert_array_equal(left.view(np.int64), right.view(np.int64))


@pytest.mark.parametrize("cut", [1, 100, 449, 450, 451, 777])
def test_changed_future_leaves_the_past(bars, whole, bars_of, cut):
    future = bars_of(ROWS, seed=99, rolls=ROLLS)
    changed = bars.copy()
    changed.iloc[cut:] = future.iloc[cut:]
    changed.loc[cut:, ["open", "high", "low", "close"]] *= 1.01
    after = features(changed)
    assert_same_bits(after[:cut], whole[:cut])
    assert not np.array_equal(after[cut:], whole[cut:], equal_nan=True)


@pytest.mark.parametrize("cut", [0, 1, 254, 600, 1000])
def test_missing_future_leaves_the_past(bars, whole, cut):
    assert_same_bits(features(bars.iloc[:cut]), whole[:cut])


@pytest.mark.parametrize("start", [1, 2, 3, 137, 449, 450, 451, 700])
def test_later_start_leaves_all_rows_behind_the_look_back(bars, whole, start):
    part = features(bars.iloc[start:].reset_index(drop=True))
    behind = start + WARM_UP - 1
    assert_same_bits(part[WARM_UP - 1 :], whole[behind:])
    present = np.isfinite(part)
    np.testing.assert_array_equal(part[present], whole[start:][present])


@pytest.mark.parametrize("block", [1, 97, 255, 999])
def test_block_size_changes_nothing(bars, whole, monkeypatch, block):
    rows = 300 if block == 1 else ROWS
    monkeypatch.setattr(market, "BLOCK", block)
    assert_same_bits(features(bars.iloc[:rows]), whole[:rows])


def test_changed_bar_is_forgotten_after_the_look_back(bars, whole):
    changed = bars.copy()
    changed.loc[300, "volume"] = 10_000
    changed.loc[300, ["open", "high", "low", "close"]] += 5.0
    after = features(changed)
    assert_same_bits(after[300 + WARM_UP :], whole[300 + WARM_UP :])
    assert not np.array_equal(after[300], whole[300])
