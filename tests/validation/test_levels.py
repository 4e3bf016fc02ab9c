"""Indicators never see a level whose return layer 2 clamped."""

import numpy as np
import pandas as pd

from validation.levels import LEVELS, carry_levels


def bars(closes, masked):
    table = pd.DataFrame({name: np.array(closes, dtype=np.float64) for name in LEVELS})
    table["adj_high"] += 1.0
    table["close"] = table["adj_close"]
    return table.assign(masked=np.isin(np.arange(len(closes)), masked))


def test_masked_levels_carry_the_last_trusted_close_and_own_prices_stay():
    out = carry_levels(bars([100, 101, 190, 102, 103], [2, 3]))
    assert out["adj_close"].tolist() == [100, 101, 101, 101, 103]
    assert out["adj_high"].tolist() == [101, 102, 101, 101, 104]
    assert out["close"].tolist() == [100, 101, 190, 102, 103]


def test_a_masked_first_bar_keeps_its_levels():
    assert carry_levels(bars([100, 101], [0]))["adj_close"].tolist() == [100, 101]


def test_the_past_does_not_depend_on_the_future():
    table = bars([100, 101, 190, 102, 103], [2])
    later = table.copy()
    later.loc[3:, list(LEVELS)] *= 2
    later.loc[4, "masked"] = True
    pd.testing.assert_frame_equal(carry_levels(table).iloc[:3], carry_levels(later).iloc[:3])


def test_an_empty_table_stays_empty():
    assert len(carry_levels(bars([], []))) == 0
