"""The portfolio step: cases with known results, and whole accounts against a cash ledger."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.bars import BarsError, bar_inputs
from kernels.execution import Costs, Execution, Instrument
from kernels.portfolio import START, BarInputs, portfolio_step, terms, while_solvent, whole_contracts
from kernels.strategies import positions
from kernels.sweep import sweep

NAN = float("nan")
# 10 money a point, ticks of 0.5 points (5 money), 2 money a contract and side
INSTRUMENT = Instrument("HAND", tick_size=0.5, multiplier=10.0, fee_per_contract=2.0)
FREE = Instrument("FREE", tick_size=0.5, multiplier=10.0)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), contracts=st.integers(1, 4), rolls=st.integers(0, 4), masks=st.integers(0, 12))
def test_account_equals_a_cash_ledger(random_bars, ledger, seed, contracts, rolls, masks):
    bars = random_bars(seed, bars=60, rolls=rolls, masks=masks)
    instrument = Instrument("X", 0.25, 50.0, fee_per_contract=2.1)
    costs = Costs(fee_bps=0.3, fee_per_contract=0.4, slippage_bps=0.2, slippage_ticks=1)
    result = sweep(
        positions(),
        bars,
        instrument=instrument,
        costs=costs,
        capital=1e6,
        execution=Execution(contracts=contracts),
        executor="numpy",
    )
    trace = result.trace(0)
    expected = ledger(bars, trace["target"].to_numpy(), instrument, costs, 1e6, contracts)
    np.testing.assert_array_equal(trace["position"], expected.position)
    np.testing.assert_allclose(trace["equity"], expected.equity, rtol=1e-12)
    row = result.table.iloc[0]
    assert row["trades"] == len(expected.trips)
    assert row["fees"] == pytest.approx(expected.fees, rel=1e-12)
    assert row["slippage"] == pytest.approx(expected.slippage, rel=1e-12)
    if len(expected.trips):
        assert row["expectancy"] == pytest.approx(expected.trips.mean(), rel=1e-9, abs=1e-6)
        # a round trip that nets 0 but for rounding is a win to one and none to the other
        wins = row["win_rate"] * len(expected.trips)
        assert (expected.trips > 1e-6).sum() - 1e-9 <= wins <= (expected.trips > -1e-6).sum() + 1e-9


def test_floats_arrays_and_a_sweep_agree(path_bars):
    bars = path_bars([100, 101, 203, 205], [100, 102, 205, 204], [1, 1, -1, 0], [NAN, NAN, 103, NAN], None)
    settings_ = terms(Costs(slippage_ticks=1), INSTRUMENT, Execution())
    inputs = bar_inputs(bars)
    state = START
    for bar in range(1, 4):
        one = BarInputs(*(column[bar] for column in inputs))
        state = portfolio_step(state, one, bars["target"][bar - 1], settings_)
    stacked = portfolio_step(
        START, BarInputs(*(column[1:2] for column in inputs)), np.array([[1.0], [-1.0], [0.0]]), settings_
    )
    trace = sweep(
        positions(), bars, instrument=INSTRUMENT, costs=Costs(slippage_ticks=1), returns="bar", executor="numpy"
    ).trace(0)
    assert float(state.profit) == trace["profit"].iloc[-1]
    assert float(state.costs) == trace["costs"].iloc[-1]
    np.testing.assert_array_equal(stacked.profit[:, 0], [10.0, -10.0, 0.0])  # long, short, flat over 101 → 102


def test_reversal_pays_for_two_contracts(path_bars):
    # case B06: +1 at 4000, -2 at 4100, +1 at 4150 at 2 bps: gross 100 - 50, fees (4000 + 8200 + 4150) × 0.0002 = 3.27
    instrument = Instrument("B06", 0.25, 1.0)
    bars = path_bars([4000, 4000, 4100, 4150], [4000, 4000, 4100, 4150], [1, -1, 0, 0], None, None)
    result = sweep(positions(), bars, instrument=instrument, costs=Costs(fee_bps=2), returns="bar", executor="numpy")
    row = result.table.iloc[0]
    assert (row["gross_profit"], row["fees"]) == (50.0, pytest.approx(3.27, abs=1e-12))
    assert row["net_profit"] == pytest.approx(46.73, abs=1e-9)
    # the same as two orders of one contract each: closed on one bar, opened on the next
    apart = path_bars([4000, 4000, 4100, 4100, 4150], [4000, 4000, 4100, 4100, 4150], [1, 0, -1, 0, 0], None, None)
    parts = sweep(positions(), apart, instrument=instrument, costs=Costs(fee_bps=2), returns="bar", executor="numpy")
    assert parts.table["net_profit"][0] == pytest.approx(46.73, abs=1e-9)


def test_open_trade_is_marked_to_the_last_close(path_bars):
    # case B12: 1 unit at the open of bar 2 (100), last close 110, 10 bps: 1000 + 10 - 0.1; no closed round trip
    bars = path_bars([100, 100, 100, 104, 110], [100, 100, 100, 104, 110], [0, 1, 1, 1, 1], None, None)
    result = sweep(
        positions(),
        bars,
        instrument=Instrument("B12", 0.25, 1.0),
        costs=Costs(fee_bps=10),
        capital=1000.0,
        returns="bar",
        executor="numpy",
    )
    row = result.table.iloc[0]
    assert row["final_equity"] == pytest.approx(1009.9, abs=1e-9)
    assert row["trades"] == 0 and np.isnan(row["win_rate"])
    assert row["final_equity"] - 1000 == pytest.approx(row["gross_profit"] - row["fees"])


def test_roll_books_no_basis_step(path_bars):
    # case C17: 10 points in the old contract, 2 in the new one; the step of 33 between the contracts is no profit
    close = [4020.375, 4030.375, 4063.375, 4065.375]
    bars = path_bars([4020.375, *close[:3]], close, [1, 1, 1, 1], [NAN, NAN, 4030.375, NAN], None)
    bars.loc[2, "open"] = 4063.375
    result = sweep(positions(), bars, instrument=Instrument("C17", 0.25, 1.0), returns="bar", executor="numpy")
    assert result.table["net_profit"][0] == 12.0


def test_ruined_account_is_closed_and_stays_flat(path_bars):
    # case B11: 1000 of capital, one contract of 50 a point: 100 → 70 is -1500. The rebound to 200 is not its recovery
    bars = path_bars([100, 100, 70, 70, 200], [100, 70, 70, 150, 200], [1, 1, 1, 1, 1], None, None)
    result = sweep(
        positions(), bars, instrument=Instrument("B11", 0.25, 50.0), capital=1000.0, returns="bar", executor="numpy"
    )
    trace = result.trace(0)
    np.testing.assert_array_equal(trace["position"], [0, 1, 0, 0, 0])
    np.testing.assert_array_equal(trace["equity"], [1000, -500, -500, -500, -500])
    row = result.table.iloc[0]
    assert row["max_drawdown"] == -1.5 and row["total_return"] == -1.5
    assert row[["sharpe", "sortino", "cagr", "calmar", "volatility", "turnover"]].isna().all()


def test_solvency_on_arrays():
    np.testing.assert_array_equal(while_solvent(np.array([2.0, 2.0, -1.0]), np.array([1.0, 0.0, 0.0])), [2.0, 0.0, 0.0])


def test_whole_contracts_never_give_negative_zero(same_bits):
    assert same_bits(whole_contracts(np.array([-0.4, 0.4, -1.0, 0.99]), 2), [0.0, 0.0, -2.0, 1.0])


def test_bars_name_the_bar_of_a_roll_without_old_price(path_bars):
    bars = path_bars([100, 100], [100, 100], [0, 0], None, None)
    bars["contract"] = pd.Series(["ESH4", "ESM4"], dtype="str")
    with pytest.raises(BarsError, match=r"2024-03-01T00:01Z: contract changes from ESH4 to ESM4 without an old_price"):
        bar_inputs(bars)
    bars["contract"] = "ESH4"
    bars["old_price"] = [NAN, 99.0]
    with pytest.raises(BarsError, match=r"old_price 99 stands on a bar of ESH4"):
        bar_inputs(bars)


def test_bars_without_a_price_execute_nothing(path_bars):
    bars = path_bars([100, NAN, 102], [100, 101, 104], [1, 1, 1], None, None)
    assert bar_inputs(bars).executable.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Execution(fill="vwap"), r"Execution.fill='vwap' is unknown: use one of 'next_open', 'next_close', 'close'"),
        (lambda: Execution(contracts=0), r"contracts=0: must be a whole number >= 1"),
        (lambda: Costs(fee_bps=-1), r"Costs.fee_bps=-1: must be finite and >= 0"),
        (lambda: Instrument("X", 0.0, 50.0), r"Instrument.tick_size=0.0: must be finite and > 0"),
    ],
)
def test_settings_refuse_nonsense(build, message):
    with pytest.raises(ValueError, match=message):
        build()
