"""Short price paths worked by hand, and the account against a cash ledger."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.bars import BarsError, bar_inputs
from kernels.execution import Costs, Execution, Instrument
from kernels.portfolio import START, BarInputs, portfolio_step, solvent, terms, whole_contracts
from kernels.strategies import positions
from kernels.sweep import sweep

NAN = float("nan")
# 10 money a point, ticks of 0.5 points (5 money), 2 money a contract and side
INSTRUMENT = Instrument("HAND", tick_size=0.5, multiplier=10.0, fee_per_contract=2.0)
FREE = Instrument("FREE", tick_size=0.5, multiplier=10.0)

# name, instrument, costs, contracts, open, close, target, old_price, masked → position, profit, costs (at each close)
PATHS = [
    # decided at the close of bar 0, filled at the open of bar 1 (101), marked to 102: 1 point; then 102→104: 2 points
    ("long", FREE, Costs(), 1, [100, 101, 102], [100, 102, 104], [1, 1, 1], None, None, [0, 1, 1], [0, 10, 30], [0, 0, 0]),
    # short from 101: -1 point at 102, then -2 more
    ("short", FREE, Costs(), 1, [100, 101, 102], [100, 102, 104], [-1, -1, -1], None, None, [0, -1, -1], [0, -10, -30], [0] * 3),
    # the last decision is never filled: no bar comes after it
    ("last decision", FREE, Costs(), 1, [100, 100, 100], [100, 100, 130], [0, 0, 1], None, None, [0] * 3, [0] * 3, [0] * 3),
    # in at 101, out at 103: 2 points = 20; one fee in (2), one out (2)
    ("round trip", INSTRUMENT, Costs(), 1, [100, 101, 103], [100, 102, 105], [1, 0, 0], None, None, [0, 1, 0], [0, 10, 20], [0, 2, 4]),
    # reversal at 103: +2 points long, then short 103→105 is -2: 0 in all; 1 + 2 contracts traded: 6 in fees
    ("reversal", INSTRUMENT, Costs(), 1, [100, 101, 103], [100, 102, 105], [1, -1, -1], None, None, [0, 1, -1], [0, 10, 0], [0, 2, 6]),
    # an unchanged target trades nothing, however the price moves
    ("no drift", INSTRUMENT, Costs(), 1, [100, 100, 150, 80], [100, 140, 70, 90], [1, 1, 1, 1], None, None, [0, 1, 1, 1],
     [0, 400, -300, -100], [0, 2, 2, 2]),
    # a tick of slippage is 5 a contract, beside the fee of 2 and 1 of the costs: 8 a side
    ("ticks", INSTRUMENT, Costs(fee_per_contract=1, slippage_ticks=1), 1, [100, 100, 100], [100, 100, 100], [1, 0, 0], None, None,
     [0, 1, 0], [0, 0, 0], [0, 8, 16]),
    # 10 bps of 1000 (100 points × 10) is 1 in, of 1100 is 1.1 out; 20 bps of slippage is 2 and 2.2
    ("basis points", FREE, Costs(fee_bps=10, slippage_bps=20), 1, [100, 100, 110], [100, 100, 110], [1, 0, 0], None, None,
     [0, 1, 0], [0, 0, 100], [0, 3, 6.3]),
    # 0.7 × 3 = 2.1 → 2 contracts; -0.7 × 3 = -2.1 → -2, not -3: toward zero
    ("whole contracts", INSTRUMENT, Costs(), 3, [100, 100, 101], [100, 101, 101], [0.7, -0.7, 0], None, None, [0, 2, -2], [0, 20, 20],
     [0, 4, 12]),
    # NaN holds the long of bar 0's target; 0 at bar 2 leaves at 103
    ("nan holds", INSTRUMENT, Costs(), 1, [100, 101, 102, 103], [100, 101, 102, 103], [1, NAN, 0, 0], None, None, [0, 1, 1, 0],
     [0, 0, 10, 20], [0, 2, 2, 4]),
    # roll at bar 2: 102→103 in the old contract (old_price), reopened at 203 in the new one, →205: 2 points. Both legs paid
    ("roll", INSTRUMENT, Costs(), 1, [100, 101, 203], [100, 102, 205], [1, 1, 1], [NAN, NAN, 103], None, [0, 1, 1], [0, 10, 40],
     [0, 2, 6]),
    # roll with a reversal: the long is closed whole at 103 (+1), the short opened at 203 (→205: -2)
    ("roll, reversal", INSTRUMENT, Costs(), 1, [100, 101, 203], [100, 102, 205], [1, -1, -1], [NAN, NAN, 103], None, [0, 1, -1],
     [0, 10, 0], [0, 2, 6]),
    # roll while leaving: closed at 103 in the old contract, nothing opened: one leg
    ("roll, leaving", INSTRUMENT, Costs(), 1, [100, 101, 203], [100, 102, 205], [1, 0, 0], [NAN, NAN, 103], None, [0, 1, 0],
     [0, 10, 20], [0, 2, 4]),
    # roll while flat costs nothing; entering at the roll is one leg
    ("roll, entering", INSTRUMENT, Costs(), 1, [100, 101, 203], [100, 102, 205], [0, 1, 1], [NAN, NAN, 103], None, [0, 0, 1],
     [0, 0, 20], [0, 0, 2]),
    # bar 1 is masked: its 999 fills nothing and books nothing; the entry waits for 102, →104: 2 points
    ("mask, entry waits", INSTRUMENT, Costs(), 1, [100, 999, 102], [100, 999, 104], [1, 1, 1], None, [0, 1, 0], [0, 0, 1], [0, 0, 20],
     [0, 0, 2]),
    # the newest decision counts when the wait is over: flat again before it could enter
    ("mask, mind changed", INSTRUMENT, Costs(), 1, [100, 999, 102], [100, 999, 104], [1, 0, 0], None, [0, 1, 0], [0, 0, 0], [0, 0, 0],
     [0, 0, 0]),
    # held through a masked spike: 101→102 before it, 102→104 after it, in all 3 points
    ("mask, held", INSTRUMENT, Costs(), 1, [100, 101, 999, 103], [100, 102, 999, 104], [1, 1, 1, 1], None, [0, 0, 1, 0],
     [0, 1, 1, 1], [0, 10, 10, 30], [0, 2, 2, 2]),
    # the roll's bar is masked: carried to bar 3, at the old_price of the roll (103), reopened at bar 3's open (204), →205
    ("mask on roll", INSTRUMENT, Costs(), 1, [100, 101, 999, 204], [100, 102, 999, 205], [1, 1, 1, 1], [NAN, NAN, 103, NAN],
     [0, 0, 1, 0], [0, 1, 1, 1], [0, 10, 10, 30], [0, 2, 2, 6]),
    # two rolls while masked: the contract held was left at 103; the one between was never held
    ("two masked rolls", INSTRUMENT, Costs(), 1, [100, 101, 999, 999, 304], [100, 102, 999, 999, 305], [1] * 5,
     [NAN, NAN, 103, 203, NAN], [0, 0, 1, 1, 0], [0, 1, 1, 1, 1], [0, 10, 10, 10, 30], [0, 2, 2, 2, 6]),
    # a negative price: 10 bps of |-10| × 10 = 0.1 in; long -10→-5 is +5 points
    ("negative price", FREE, Costs(fee_bps=10), 1, [5, -10, -5], [5, -8, -5], [1, 1, 1], None, None, [0, 1, 1], [0, 20, 50],
     [0, 0.1, 0.1]),
]  # fmt: skip


def table(opened, close, target, old_price, masked) -> pd.DataFrame:
    count = len(opened)
    old = np.full(count, NAN) if old_price is None else np.array(old_price, dtype=float)
    return pd.DataFrame(
        {
            "ts_event": pd.date_range("2024-03-01", periods=count, freq="min", tz="UTC").as_unit("ns"),
            "open": np.array(opened, dtype=float),
            "close": np.array(close, dtype=float),
            "target": np.array(target, dtype=float),
            "old_price": old,
            "contract": pd.Series([f"C{n}" for n in np.cumsum(~np.isnan(old))], dtype="str"),
            "masked": np.zeros(count, dtype=bool) if masked is None else np.array(masked, dtype=bool),
        }
    )


@pytest.mark.parametrize("path", PATHS, ids=[path[0] for path in PATHS])
def test_paths_worked_by_hand(path):
    _, instrument, costs, contracts, *columns, position, profit, paid = path
    result = sweep(
        positions(), table(*columns), instrument=instrument, costs=costs, capital=10_000.0,
        execution=Execution(contracts=contracts), returns="bar", executor="numpy",
    )  # fmt: skip
    trace = result.trace(0)
    np.testing.assert_array_equal(trace["position"], position)
    np.testing.assert_allclose(trace["profit"], profit, rtol=0, atol=1e-9)
    np.testing.assert_allclose(trace["costs"], paid, rtol=0, atol=1e-9)
    np.testing.assert_allclose(trace["equity"], 10_000 + np.array(profit) - np.array(paid), rtol=0, atol=1e-9)


def test_paths_on_cpu_equal_numpy(program_cache, same_bits):
    # the paths with a roll and a mask exercise every branch of the step, and share one program
    for path in PATHS:
        _, instrument, costs, contracts, *columns = path[:-3]
        bars = table(*columns)
        if not (bars["masked"].any() and bars["old_price"].notna().any()):
            continue
        both = [
            sweep(
                positions(), bars, instrument=instrument, costs=costs, capital=10_000.0,
                execution=Execution(contracts=contracts), returns="bar", executor=executor, cache=program_cache,
            )
            for executor in ("numpy", "cpu")
        ]  # fmt: skip
        assert same_bits(both[0].table, both[1].table), path[0]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), contracts=st.integers(1, 4), rolls=st.integers(0, 4), masks=st.integers(0, 12))
def test_account_equals_a_cash_ledger(random_bars, ledger, seed, contracts, rolls, masks):
    bars = random_bars(seed, bars=60, rolls=rolls, masks=masks)
    instrument = Instrument("X", 0.25, 50.0, fee_per_contract=2.1)
    costs = Costs(fee_bps=0.3, fee_per_contract=0.4, slippage_bps=0.2, slippage_ticks=1)
    result = sweep(
        positions(), bars, instrument=instrument, costs=costs, capital=1e6, execution=Execution(contracts=contracts),
        executor="numpy",
    )  # fmt: skip
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
        assert row["win_rate"] == pytest.approx((expected.trips > 0).mean())


def test_floats_arrays_and_a_sweep_agree():
    bars = table([100, 101, 203, 205], [100, 102, 205, 204], [1, 1, -1, 0], [NAN, NAN, 103, NAN], None)
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


def test_reversal_pays_for_two_contracts():
    # case B06: +1 at 4000, -2 at 4100, +1 at 4150 at 2 bps: gross 100 - 50, fees (4000 + 8200 + 4150) × 0.0002 = 3.27
    instrument = Instrument("B06", 0.25, 1.0)
    bars = table([4000, 4000, 4100, 4150], [4000, 4000, 4100, 4150], [1, -1, 0, 0], None, None)
    result = sweep(positions(), bars, instrument=instrument, costs=Costs(fee_bps=2), returns="bar", executor="numpy")
    row = result.table.iloc[0]
    assert (row["gross_profit"], row["fees"]) == (50.0, pytest.approx(3.27, abs=1e-12))
    assert row["net_profit"] == pytest.approx(46.73, abs=1e-9)
    # the same as two orders of one contract each: closed on one bar, opened on the next
    apart = table([4000, 4000, 4100, 4100, 4150], [4000, 4000, 4100, 4100, 4150], [1, 0, -1, 0, 0], None, None)
    parts = sweep(positions(), apart, instrument=instrument, costs=Costs(fee_bps=2), returns="bar", executor="numpy")
    assert parts.table["net_profit"][0] == pytest.approx(46.73, abs=1e-9)


def test_open_trade_is_marked_to_the_last_close():
    # case B12: 1 unit at the open of bar 2 (100), last close 110, 10 bps: 1000 + 10 - 0.1; no closed round trip
    bars = table([100, 100, 100, 104, 110], [100, 100, 100, 104, 110], [0, 1, 1, 1, 1], None, None)
    result = sweep(
        positions(), bars, instrument=Instrument("B12", 0.25, 1.0), costs=Costs(fee_bps=10), capital=1000.0, returns="bar",
        executor="numpy",
    )  # fmt: skip
    row = result.table.iloc[0]
    assert row["final_equity"] == pytest.approx(1009.9, abs=1e-9)
    assert row["trades"] == 0 and np.isnan(row["win_rate"])
    assert row["final_equity"] - 1000 == pytest.approx(row["gross_profit"] - row["fees"])


def test_roll_books_no_basis_step():
    # case C17: 10 points in the old contract, 2 in the new one; the step of 33 between the contracts is no profit
    close = [4020.375, 4030.375, 4063.375, 4065.375]
    bars = table([4020.375, *close[:3]], close, [1, 1, 1, 1], [NAN, NAN, 4030.375, NAN], None)
    bars.loc[2, "open"] = 4063.375
    result = sweep(positions(), bars, instrument=Instrument("C17", 0.25, 1.0), returns="bar", executor="numpy")
    assert result.table["net_profit"][0] == 12.0


def test_ruined_account_is_closed_and_stays_flat():
    # case B11: 1000 of capital, one contract of 50 a point: 100 → 70 is -1500. The rebound to 200 is not its recovery
    bars = table([100, 100, 70, 70, 200], [100, 70, 70, 150, 200], [1, 1, 1, 1, 1], None, None)
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
    np.testing.assert_array_equal(solvent(np.array([2.0, 2.0, -1.0]), np.array([1.0, 0.0, -5.0])), [2.0, 0.0, 0.0])


def test_whole_contracts_never_give_negative_zero(same_bits):
    assert same_bits(whole_contracts(np.array([-0.4, 0.4, -1.0, 0.99]), 2), [0.0, 0.0, -2.0, 1.0])


def test_bars_name_the_bar_of_a_roll_without_old_price():
    bars = table([100, 100], [100, 100], [0, 0], None, None)
    bars["contract"] = pd.Series(["ESH4", "ESM4"], dtype="str")
    with pytest.raises(BarsError, match=r"2024-03-01T00:01Z: contract changes from ESH4 to ESM4 without an old_price"):
        bar_inputs(bars)
    bars["contract"] = "ESH4"
    bars["old_price"] = [NAN, 99.0]
    with pytest.raises(BarsError, match=r"old_price 99 stands on a bar of ESH4"):
        bar_inputs(bars)


def test_bars_without_a_price_execute_nothing():
    bars = table([100, NAN, 102], [100, 101, 104], [1, 1, 1], None, None)
    assert bar_inputs(bars).executable.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Execution(fill="close"), r"Execution.fill='close' is unknown: use one of 'next_open'"),
        (lambda: Execution(contracts=0), r"contracts=0: must be a whole number >= 1"),
        (lambda: Costs(fee_bps=-1), r"Costs.fee_bps=-1: must be finite and >= 0"),
        (lambda: Instrument("X", 0.0, 50.0), r"Instrument.tick_size=0.0: must be finite and > 0"),
    ],
)
def test_settings_refuse_nonsense(build, message):
    with pytest.raises(ValueError, match=message):
        build()
