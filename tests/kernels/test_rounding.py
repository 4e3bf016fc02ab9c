"""A profit within the rounding of its own sums is zero: no win, no loss, no drawdown, and no fill."""

import math

import numpy as np
import pytest

from kernels.execution import Execution
from kernels.metrics import METRICS
from kernels.portfolio import Terms
from tests.kernels.paths import FREE, decimals, minutes, run


def round_and_round(scale: float, sizing: str, fill: str, returns: str):
    """A strategy that goes round and round between the same prices: every trip is even, whatever the scale of prices."""
    draw = np.random.default_rng(5)
    path = np.concatenate([[1, 0], *(np.append(np.cumsum(draw.integers(-9, 10, 6)), 0) for _ in range(40))])
    close = (1000 + path) / 10 * scale
    held = np.cumsum(path == 0) % 2.0  # in and out at the middle price, each time it comes
    target = held if fill == "close" else np.append(held[1:], 0.0)
    session = 20240102 + np.cumsum(path == 0) // 4
    bars = minutes(close, close, target, session=session)
    return run(
        bars, execution=Execution(fill, sizing=sizing), returns=returns, metrics=tuple(METRICS), capital=1000.0
    ).table.iloc[0]


@pytest.mark.parametrize("fill", ["next_open", "close"])
@pytest.mark.parametrize("sizing", ["units", "equity"])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 0.3])
def test_a_round_trip_that_ends_where_it_began_is_neither_won_nor_lost(sizing, scale, fill):
    for returns in ("session", "bar"):
        row = round_and_round(scale, sizing, fill, returns)
        assert row["trades"] >= 20
        for name in ("win_rate", "expectancy", "avg_win", "avg_loss", "net_profit", "gross_profit", "total_return"):
            assert row[name] == 0.0, name
        for name in ("profit_factor", "sqn"):
            assert math.isnan(row[name]), name


@pytest.mark.parametrize("sizing", ["units", "equity"])
def test_a_session_that_ends_where_it_began_is_neither_won_nor_lost(sizing):
    draw = np.random.default_rng(5)
    close = np.concatenate([[100.3], *(np.append(1003 + np.cumsum(draw.integers(-9, 10, 6)), 1003) / 10 for _ in range(60))])
    session = np.concatenate([[0], np.arange(len(close) - 1) // 7])  # the first price alone, then seven bars each
    bars = minutes(close, close, np.full(len(close), 0.7), session=20240101 + session % 28 + session // 28 * 100)
    names = ["positive_sessions", "best_session", "worst_session", "volatility", "omega", "sortino", "sharpe", "t_stat"]
    execution = Execution("close", sizing=sizing)
    row = run(bars, execution=execution, returns="session", metrics=names, capital=1000.0).table.iloc[0]
    assert row[names[:4]].tolist() == [0.0] * 4
    assert row[names[4:]].isna().all()


def test_a_fall_that_is_rounding_is_no_drawdown():
    # the contract left falls by 0.2 to the roll, the one entered rises by 0.2 after it: even, less 2.7e-13 in float64
    opened, close, old = [4000.3, 4000.3, 10.3, 10.5], [4000.3, 4000.3, 10.5, 10.5], [np.nan, np.nan, 4000.1, np.nan]
    bars = minutes(opened, close, [1, 1, 1, 1], old_price=old, contract=["A", "A", "B", "B"])
    names = ["max_drawdown", "max_drawdown_duration", "ulcer_index", "calmar", "recovery_factor", "net_profit"]
    result = run(bars, execution=Execution(sizing="units"), metrics=names, capital=1.0)
    assert -1e-12 < result.trace(0)["equity"].iloc[-1] - 1.0 < 0.0  # what the sums say
    row = result.table.iloc[0]
    assert row[["max_drawdown", "max_drawdown_duration", "ulcer_index", "net_profit"]].tolist() == [0.0] * 4
    assert row[["calmar", "recovery_factor"]].isna().all()


def test_rebalancing_trades_no_rounding():
    # all of the equity, no costs: what the position is worth is the equity, so nothing is ever to be traded after the entry
    close = decimals(2, 10_007, list(np.random.default_rng(2).integers(-90, 91, 400)))
    result = run(minutes(close, close, np.ones(400)), execution=Execution(sizing="equity", rebalance=True), metrics=["fills"])
    assert result.table["fills"][0] == 1 and result.trace(0)["position"].nunique() == 2


def test_a_real_loss_of_a_tick_is_a_loss_whatever_the_capital():
    bars = minutes([100.0, 100.0, 99.75, 99.75], [100.0, 100.0, 99.75, 99.75], [1, 0, 0, 0])
    for capital in (1e3, 1e6, 1e10):
        row = run(bars, instrument=FREE, capital=capital, metrics=["profit_factor", "win_rate", "avg_loss", "omega"]).table
        assert row.iloc[0].tolist() == [0.0, 0.0, -0.25, 0.0]


@pytest.mark.parametrize("price", [100.0, 65_000.0, 1e6, 1e9])
def test_a_size_of_the_equity_is_judged_by_the_equity_whatever_the_price(price):
    # a tenth of the equity gains a millionth of the price: 1e-7 of the capital, 50,000 times what is rounding
    path = [price, price, price * 1.000001, price * 1.000001]
    names = ["win_rate", "net_profit", "positive_sessions", "profit_factor"]
    row = run(minutes(path, path, [0.1, 0, 0, 0]), metrics=names).table.iloc[0]
    assert row.tolist() == [1.0, pytest.approx(1e-7, rel=1e-6), 0.25, math.inf]


def test_rounding_is_nothing_where_a_program_has_no_use_for_it():
    bars = minutes([100] * 5, [100] * 5, [1] * 5)
    program = run(bars, instrument=FREE, metrics=["net_profit", "exposure"]).program
    assert not any("terms.rounding" in repr(row) for row in program.rows)
    assert Terms(1, 1.0, 0.0, 0.0, 0.0, 0.0).rounding == 0.0
