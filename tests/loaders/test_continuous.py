"""The continuous series: own prices, old price at a roll, and levels adjusted forward only."""

import numpy as np
import pandas as pd
import pytest

from kernels.execution import Instrument
from kernels.features.returns import log_returns
from kernels.strategies import positions
from kernels.sweep import sweep
from loaders.continuous import continuous_bars
from loaders.errors import DataError
from loaders.roll_settings import ADJUSTMENTS
from loaders.types import BAR_COLUMNS
from tests.loaders.rolls import Row, accepted, part, rolled

BEFORE = [  # ESM4 leads the session of the 4th, so the session of the 5th follows it
    ("2024-03-04 15:00", "ESH4", 5000.0, 1), ("2024-03-04 15:00", "ESM4", 5050.0, 9),
    ("2024-03-04 15:01", "ESH4", 5001.0, 1), ("2024-03-04 15:01", "ESM4", 5051.5, 9),
    ("2024-03-04 15:02", "ESH4", 5003.0, 1),
]


def series(rows: list[Row]) -> pd.DataFrame:
    return continuous_bars(accepted(rolled(part(rows)).bars))


def test_the_table_has_the_agreed_columns_and_own_prices() -> None:
    bars = series([*BEFORE, ("2024-03-05 15:00", "ESM4", 5060.25, 7)])
    assert {name: str(dtype) for name, dtype in bars.dtypes.items()} == BAR_COLUMNS
    assert isinstance(bars.index, pd.RangeIndex)
    assert bars["close"].tolist() == [5000, 5001, 5003, 5060.25]
    assert bars["contract"].tolist() == ["ESH4", "ESH4", "ESH4", "ESM4"]
    assert bars["session"].tolist() == [20240304] * 3 + [20240305]
    assert not bars["masked"].any()


def test_levels_move_by_the_difference_at_the_last_common_minute() -> None:
    bars = series([*BEFORE, ("2024-03-05 15:00", "ESM4", 5060.0, 7), ("2024-03-05 15:01", "ESM4", 5058.0, 7)])
    # 15:01 is the last minute with both: 5001 - 5051.5 = -50.5
    assert bars["adj_close"].tolist() == [5000, 5001, 5003, 5060 - 50.5, 5058 - 50.5]
    assert (bars["adj_open"] == bars["adj_close"]).all()
    np.testing.assert_array_equal(bars["old_price"], [np.nan, np.nan, np.nan, 5003.0, np.nan])


def test_the_old_price_is_the_open_of_the_contract_left_where_it_trades() -> None:
    left = [("2024-03-05 14:58", "ESH4", 5008.0, 1), ("2024-03-05 15:00", "ESH4", 5009.0, 1),
            ("2024-03-05 15:02", "ESH4", 1.0, 1)]
    bars = series([*BEFORE, *left, ("2024-03-05 15:00", "ESM4", 5060.0, 7)])
    assert bars["old_price"].iloc[-1] == 5009
    bars = series([*BEFORE, *left[:1], ("2024-03-05 15:00", "ESM4", 5060.0, 7)])
    assert bars["old_price"].iloc[-1] == 5008


def test_without_a_common_minute_the_levels_join_at_the_roll_bar() -> None:
    rows = [("2024-03-04 15:00", "ESH4", 5000.0, 1), ("2024-03-04 15:01", "ESM4", 5050.0, 9),
            ("2024-03-05 15:00", "ESM4", 5061.0, 7)]
    rolled_table = accepted(rolled(part(rows)).bars)
    bars = continuous_bars(rolled_table[rolled_table["role"] != "next"])
    assert bars[["old_price", "adj_open"]].iloc[-1].tolist() == [5000, 5000]


def test_roll_profit_is_the_sum_inside_contracts() -> None:  # case C17
    rows = [("2024-03-04 15:00", "ESH4", 4020.375, 1), ("2024-03-04 15:01", "ESH4", 4030.375, 1),
            ("2024-03-04 15:01", "ESM4", 4063.375, 99), ("2024-03-05 15:00", "ESM4", 4063.375, 5),
            ("2024-03-05 15:01", "ESM4", 4065.375, 5)]
    bars = series(rows)
    assert bars["adj_close"].diff().sum() == 12.0
    assert bars["old_price"].iloc[2] == 4030.375


def test_a_later_roll_never_changes_an_earlier_level() -> None:
    first = [*BEFORE, ("2024-03-05 15:00", "ESM4", 5060.0, 7), ("2024-03-05 15:00", "ESU4", 5111.0, 70)]
    whole = series([*first, ("2024-03-06 15:00", "ESU4", 5120.0, 7)])
    assert whole["contract"].tolist() == ["ESH4"] * 3 + ["ESM4", "ESU4"]
    pd.testing.assert_frame_equal(series(first), whole.iloc[:4])
    assert whole["adj_close"].iloc[-1] == 5120 - 50.5 + (5060 - 5111)


def test_rejected_bars_of_the_new_contract_move_the_roll_bar() -> None:
    rows = [*BEFORE, ("2024-03-05 15:00", "ESM4", 0.0, 7), ("2024-03-05 15:00", "ESH4", 5004.0, 1),
            ("2024-03-05 15:01", "ESH4", 5006.0, 1), ("2024-03-05 15:01", "ESM4", 5057.0, 7)]
    rows_in = accepted(rolled(part(rows)).bars)
    bars = continuous_bars(rows_in[rows_in["close"] > 0])
    assert bars["ts_event"].iloc[-1] == pd.Timestamp("2024-03-05 15:01", tz="UTC")
    assert bars["old_price"].iloc[-1] == 5006


def test_input_order_does_not_matter_and_input_is_not_changed() -> None:
    rows_in = accepted(rolled(part([*BEFORE, ("2024-03-05 15:00", "ESM4", 5060.0, 7)])).bars)
    kept = rows_in.copy()
    pd.testing.assert_frame_equal(continuous_bars(rows_in.iloc[::-1]), continuous_bars(rows_in))
    pd.testing.assert_frame_equal(rows_in, kept)


def test_two_bars_in_one_minute_are_refused() -> None:
    rows = [("2024-03-04 15:00", "ESH4", 5000.0, 1), ("2024-03-04 15:00", "ESH4", 5001.0, 1)]
    with pytest.raises(DataError, match=r"bar 2024-03-04T15:00:00\+00:00 ESH4: two accepted bars .*publishers 1 and 1"):
        series(rows)


def test_an_empty_table_gives_an_empty_series() -> None:
    rows_in = accepted(rolled(part([("2024-03-04 15:00", "ESH4", 5000.0, 1)])).bars)
    assert {n: str(d) for n, d in continuous_bars(rows_in.iloc[:0]).dtypes.items()} == BAR_COLUMNS


def test_ratio_moves_levels_by_the_quotient_at_the_last_common_minute_and_none_leaves_them() -> None:
    rows = [*BEFORE, ("2024-03-05 15:00", "ESM4", 5060.0, 7), ("2024-03-05 15:01", "ESM4", 5058.0, 7)]
    rows_in = accepted(rolled(part(rows)).bars)
    bars = continuous_bars(rows_in, "ratio")
    np.testing.assert_array_equal(bars["adj_close"], [5000, 5001, 5003, 5060 * (5001 / 5051.5), 5058 * (5001 / 5051.5)])
    plain = continuous_bars(rows_in, "none")
    for name in ("open", "high", "low", "close"):
        np.testing.assert_array_equal(plain[f"adj_{name}"], plain[name])
    own = ["ts_event", "contract", "open", "close", "volume", "old_price"]
    pd.testing.assert_frame_equal(bars[own], plain[own])
    with pytest.raises(DataError, match="adjustment 'back_ratio' is not known here; known are none, difference, ratio"):
        continuous_bars(rows_in, "back_ratio")


def test_a_ratio_of_prices_below_zero_is_refused_and_a_difference_is_not() -> None:
    rows = [("2024-03-04 15:00", "ESH4", -10.0, 1), ("2024-03-04 15:00", "ESM4", 20.0, 9),
            ("2024-03-05 15:00", "ESM4", 18.5, 9)]
    rows_in = accepted(rolled(part(rows)).bars)
    assert continuous_bars(rows_in)["adj_close"].tolist() == [-10.0, 18.5 - 30]
    with pytest.raises(DataError, match=r"roll to ESM4 at 2024-03-05T15:00:00\+00:00: levels -10 and 20 have no ratio; use"):
        continuous_bars(rows_in, "ratio")


def test_a_return_over_the_roll_is_missing_whatever_the_adjustment() -> None:  # case C17
    rows_in = accepted(rolled(part([*BEFORE, ("2024-03-05 15:00", "ESM4", 5060.0, 7)])).bars)
    for adjustment in ADJUSTMENTS:
        bars = continuous_bars(rows_in, adjustment)
        assert np.isnan(log_returns(bars)).tolist() == [True, False, False, True]


def test_profit_at_a_roll_is_closed_in_the_old_contract_and_reopened_in_the_new() -> None:  # case C17
    rows = [("2024-03-04 14:59", "ESH4", 4000.0, 1), ("2024-03-04 15:00", "ESH4", 4020.375, 1),
            ("2024-03-04 15:01", "ESH4", 4030.375, 1), ("2024-03-04 15:01", "ESM4", 4063.375, 99),
            ("2024-03-05 15:00", "ESM4", 4063.375, 5), ("2024-03-05 15:01", "ESM4", 4065.375, 5)]
    for adjustment in ADJUSTMENTS:
        bars = continuous_bars(accepted(rolled(part(rows)).bars), adjustment).assign(target=1.0)
        result = sweep(positions(), bars, instrument=Instrument("ES", 0.25, 1.0), capital=10_000.0, executor="numpy")
        trace = result.trace(0)
        assert trace["position"].iloc[1:].tolist() == [1.0] * 4
        assert trace["profit"].tolist() == [0.0, 0.0, 10.0, 10.0, 12.0]
