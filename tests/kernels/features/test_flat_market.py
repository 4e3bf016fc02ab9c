"""Markets without moves, without volume, at or below zero: finite, documented values and no signal out of rounding."""

import numpy as np
import pandas as pd
import pytest

from kernels.features.market import market_features
from kernels.features.returns import log_returns
from kernels.features.table import FEATURES, WARM_UP, feature_names

PRICES = ["open", "high", "low", "close"]


def features(table):
    matrix = market_features(table, np.clip(log_returns(table), -0.1, 0.1), "America/Chicago")
    return pd.DataFrame(matrix, columns=list(feature_names()))


def closes(values, bars_of):
    table = bars_of(len(values))
    for name in PRICES:
        table[name] = np.asarray(values, float)
    return table


@pytest.fixture(scope="module")
def stretch(bars_of):
    """300 bars without volume at one price, normal bars before and after."""
    table = bars_of(1_000, seed=21)
    table.loc[400:699, PRICES] = table.loc[399, "close"]
    table.loc[400:699, "volume"] = 0
    return features(table)


def test_every_value_after_the_warm_up_is_finite_and_in_bounds(stretch):
    for feature in FEATURES:
        values = stretch[feature.name].to_numpy()[feature.warm_up - 1 :]
        assert np.isfinite(values).all(), feature.name
        assert values.min() >= feature.low, feature.name
        assert values.max() <= feature.high, feature.name


@pytest.mark.parametrize("feature", [f for f in FEATURES if f.empty is not None], ids=lambda feature: feature.name)
def test_value_in_a_still_market_is_the_documented_one(stretch, feature):
    assert stretch[feature.name][690] == feature.empty


def test_flat_market_is_neither_oversold_nor_overbought(bars_of):
    """Case A01: RSI 50 in the middle, which is 0 on the scale RSI / 50 - 1; not 0, 100 or NaN."""
    rsi = features(closes([100.0] * 20, bars_of))["rsi_14"]
    assert (50 * (rsi[14:] + 1) == 50.0).all()


def test_rise_without_a_loss_is_the_top_of_the_scale(bars_of):
    """Case A02."""
    rising = [50 + 0.25 * i for i in range(15)] + [53.5, 53.5]
    rsi = 50 * (features(closes(rising, bars_of))["rsi_14"] + 1)
    np.testing.assert_allclose(rsi[[14, 15, 16]], [100.0, 100.0, 100.0], rtol=1e-12)
    dipping = [50 + 0.25 * i for i in range(14)] + [53.0]
    rsi = 50 * (features(closes(dipping, bars_of))["rsi_14"] + 1)
    assert rsi[14] == pytest.approx(92.85714285714286, rel=1e-12)


def test_zscore_of_a_constant_is_zero_and_of_a_real_move_is_not(bars_of):
    """Case A10: residue over residue gives -0.97; the variant's spread of 2.2e-11 is genuine."""
    assert (features(closes([0.1] * 30, bars_of))["z_20"][19:] == 0.0).all()
    moved = features(closes([0.1] * 29 + [0.1000000001], bars_of))["z_20"]
    assert moved[29] == pytest.approx(4.2485285, abs=1e-4)


def test_constant_growth_gives_no_shape_out_of_rounding(bars_of):
    """All returns equal up to rounding: skew, correlation and variance ratio of noise of 1e-17 mean nothing."""
    growing = features(closes(100.0 * 1.0001 ** np.arange(300), bars_of)).iloc[-1]
    assert growing[["skew_60", "exkurt_60", "acf1_60", "kyle_corr_60"]].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert growing["hurst_vr_240"] == 0.5
    assert growing["rsi_14"] == pytest.approx(1.0)


def test_unsigned_volume_gives_the_values_of_signed_volume(bars_of):
    """Case C10: a difference of uint64 wraps to 1.8e19."""
    table = bars_of(300)
    unsigned = table.assign(volume=table["volume"].astype(np.uint64))
    np.testing.assert_array_equal(features(unsigned), features(table))


def test_price_below_zero_masks_levels_while_it_is_in_the_window(bars_of):
    """A real price below zero has no logarithm: missing values over the look-back, none after it, no exception."""
    table = bars_of(900, seed=8)
    table.loc[500, PRICES] = [-37.0, -36.0, -40.0, -37.63]
    matrix = features(table)
    level = matrix.drop(columns=[f.name for f in FEATURES if f.family == "clock"])
    assert np.isnan(level["ret_1"][500])
    assert np.isnan(level["z_20"][519])
    assert np.isfinite(level["z_20"][521:]).all()
    assert np.isfinite(matrix.iloc[500 + WARM_UP + 1 :].to_numpy()).all()
    np.testing.assert_array_equal(np.isfinite(matrix[["body", "clv", "vol_z_60", "tod_sin"]].iloc[60:]), True)


def test_lengths_must_agree(bars_of):
    with pytest.raises(ValueError, match="3 returns for 10 bars"):
        market_features(bars_of(10), np.zeros(3), "America/Chicago")
