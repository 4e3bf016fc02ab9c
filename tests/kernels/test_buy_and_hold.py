"""Alpha and beta: against prices that were traded, never against an adjusted level."""

import math

import numpy as np
import pandas as pd
import pytest

from kernels import numpy_executor
from kernels.buy_and_hold import buy_and_hold_returns
from kernels.execution import Instrument
from kernels.executor import host
from kernels.expressions import col
from kernels.indicators import natr, roc
from kernels.rows import RowWriter
from kernels.strategy import Strategy
from kernels.sweep import sweep

OIL = Instrument("CL", tick_size=0.01, multiplier=1000.0)


def held(close, old_price=None, contract=None, opened=None):
    """Alpha and beta of one contract held over bars of a session each."""
    close = np.asarray(close, dtype=float)
    days = np.busday_offset("2024-01-01", np.arange(len(close)), roll="forward")
    bars = pd.DataFrame(
        {
            "ts_event": pd.DatetimeIndex(days).tz_localize("UTC").as_unit("ns"),
            "session": pd.DatetimeIndex(days).strftime("%Y%m%d").astype(int),
            "open": np.concatenate([close[:1], close[:-1]]) if opened is None else opened,
            "close": close,
            "target": 1.0,
        }
    )
    if old_price is not None:
        bars = bars.assign(old_price=old_price, contract=contract)
    metrics = ["beta", "alpha"]
    result = sweep(
        Strategy("long", col("target")), bars, instrument=OIL, capital=1e6, metrics=metrics, executor="numpy"
    )
    return result.table.iloc[0], result.sessions(0)["profit"].to_numpy() / 1e6


@pytest.mark.parametrize(
    "close",
    [[20, 18, 12, 4, -12, -37.6, -20, 6, 10, 12, 13, 11], [-8, -6, -9, -4, -7, -3, -5, -2, -6, -4, -3, -5]],
)
def test_t04_a_percentage_of_a_price_at_or_below_zero_is_undefined(close):
    row, _ = held(close)
    assert math.isnan(row["beta"]) and math.isnan(row["alpha"])  # the first was negative, of an account always long


def test_t04_beta_is_against_the_contracts_own_prices():
    """Contracts near 20; every five sessions one that stands 2 points above: the forward-adjusted level falls through 0."""
    draw = np.random.default_rng(4)
    count = 120
    steps = np.append(0.0, draw.choice([-0.9, -0.6, -0.2, 0.1], count - 1))  # points that the contract held makes in a bar
    rolls = np.arange(count) // 5
    first = np.diff(rolls, prepend=0) > 0
    own = 20.0 + np.cumsum(steps + 2.0 * first)
    before = np.append(own[0], own[:-1])
    row, _ = held(own, np.where(first, before, np.nan), [f"C{number}" for number in rolls], before + 2.0 * first)
    equity = 1e6 + 1000.0 * np.cumsum(steps)
    account, market = 1000.0 * steps / np.append(1e6, equity[:-1]), steps / before
    slope, _ = np.polyfit(market, account, 1)
    assert own.min() > 15 and 20 + steps.sum() < 0  # the adjusted level falls through 0, the contracts stay near 20
    assert row["beta"] == pytest.approx(slope, rel=1e-9)
    assert row["beta"] == pytest.approx(own.mean() * 1000 / equity.mean(), rel=0.05)


def test_returns_of_buy_and_hold_by_hand():
    points = np.array([0.0, 1.0, 3.0, 2.0, 5.0])
    marks = np.array([0.0, 10.0, 11.0, 13.0, 12.0])
    ends = np.array([False, True, False, True, True])
    found = buy_and_hold_returns(points, marks, ends, 0)
    assert found.tolist() == [0.0, 1 / 10, 0.0, 1 / 11, 3 / 12]
    assert buy_and_hold_returns(points, marks, ends, 1).tolist() == [0.0, 0.0, 0.0, 1 / 11, 3 / 12]  # its first bar ends one
    marks[2] = 0.0
    assert np.isnan(buy_and_hold_returns(points, marks, ends, 0)).tolist() == [False] * 3 + [True, False]


def test_a_percentage_indicator_of_a_price_at_or_below_zero_is_undefined():
    prices = np.array([4.0, 2.0, -2.0, 0.0, 5.0, 6.0])
    columns = {"close": prices, "high": prices + 1.0, "low": prices - 1.0}
    writer = RowWriter(columns, host(numpy_executor.run))
    change = writer.row(roc(col("close"), 1))
    np.testing.assert_allclose(change, [np.nan, -50.0, -200.0, np.nan, np.nan, 20.0])  # was 100 * (0 / -2 - 1) = -100 and inf
    share = writer.row(natr(col("high"), col("low"), col("close"), 2))
    assert np.isnan(share).tolist() == [True, True, True, True, False, False] and (share[4:] > 0).all()
