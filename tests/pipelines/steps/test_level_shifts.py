"""A level that layer 2 clamped and that stays is named; a spike that comes back is not."""

import numpy as np
import pandas as pd

from pipelines.steps.level_shifts import level_shifts


def bars(closes, masked):
    count = len(closes)
    return pd.DataFrame(
        {
            "ts_event": pd.date_range("2024-03-15T09:30Z", periods=count, freq="min").as_unit("ns"),
            "contract": pd.Series(["ESM4"] * count, dtype="str"),
            "expiry": np.full(count, 202406, dtype=np.int32),
            "close": np.array(closes, dtype=float),
            "masked": np.isin(np.arange(count), masked),
            "filled": np.zeros(count, dtype=bool),
        }
    )


def test_a_spike_that_comes_back_is_no_level_shift():
    assert level_shifts(bars([5000, 5001, 9500, 5002, 5003], [2, 3]), (0, 5), 0.1) == []


def test_a_level_that_stays_is_named_with_both_prices():
    found = level_shifts(bars([5000, 5001, 7500, 7501, 7502], [2]), (0, 5), 0.1)
    assert len(found) == 1
    assert "bar 2024-03-15T09:32Z ESM4: close 5001 to 7501 did not come back" in found[0]


def test_only_stretches_in_the_rows_count_and_the_last_bar_needs_a_successor():
    table = bars([5000, 7500, 7501, 7502, 5000], [1, 4])
    assert level_shifts(table, (2, 5), 0.1) == []
    assert len(level_shifts(table, (0, 2), 0.1)) == 1


def test_a_roll_is_no_level_shift():
    table = bars([5000, 5001, 7500, 7501], [2])
    table.loc[2:, "expiry"] = 202409
    assert level_shifts(table, (0, 4), 0.1) == []
