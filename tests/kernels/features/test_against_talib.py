"""Features against TA-Lib, wherever TA-Lib has the formula or its parts."""

import numpy as np
import pytest

from kernels.features.market import market_features
from kernels.features.returns import log_returns
from kernels.features.table import FEATURES, feature_names

talib = pytest.importorskip("talib", reason="TA-Lib is not installed; it comes with the [dev] extra")

ROWS = 1_200
FLOOR = 1e-6


@pytest.fixture(scope="module")
def bars(bars_of):
    """One contract without clamped returns, so that levels are prices."""
    return bars_of(ROWS, seed=31)


@pytest.fixture(scope="module")
def computed(bars):
    return market_features(bars, log_returns(bars), "America/Chicago")


@pytest.fixture(scope="module")
def theirs(bars):
    o, h, l, c, v = (bars[name].to_numpy(np.float64) for name in ("open", "high", "low", "close", "volume"))  # noqa: E741
    r = np.append(np.nan, np.log(talib.ROCR(c, 1)[1:]))
    r0 = np.where(np.isnan(r), 0.0, r)  # TA-Lib sums through a leading NaN only badly; 0 is forgotten after its window

    def sd(values, size):
        return talib.STDDEV(values, size) * np.sqrt(size / (size - 1))

    s60 = np.maximum(sd(r0, 60), FLOOR)
    atr = talib.SMA(talib.TRANGE(h, l, c)[1:], 14)
    atr = np.append(np.nan, atr)
    found = {f"ret_{k}": np.log(talib.ROCR(c, k)) / (s60 * np.sqrt(k)) for k in (1, 2, 5, 10, 20, 60, 120, 240)}
    found["body"] = talib.BOP(o, h, l, c)
    money_flow = talib.AD(h, l, c, np.ones(ROWS))
    found["clv"] = np.append(money_flow[0], np.diff(money_flow))
    for size in (20, 240):
        found[f"z_{size}"] = (c - talib.SMA(c, size)) / sd(c - c[0], size)
    move = talib.MOM(c, 1)
    gain, loss = (talib.SUM(np.append(0.0, np.maximum(sign * move[1:], 0.0)), 14) for sign in (1, -1))
    found["rsi_14"] = (gain - loss) / (gain + loss)
    fast, _ = talib.STOCHF(h, l, c, 14, 1, 0)
    found["stoch_14"] = fast / 50 - 1
    found["donch_60"] = 2 * (c - talib.MIN(l, 60)) / (talib.MAX(h, 60) - talib.MIN(l, 60)) - 1
    found["donch_60_willr"] = 2 * (1 + talib.WILLR(h, l, c, 60) / 100) - 1
    found["eff_ratio_20"] = np.log(talib.ROCR(c, 20)) / talib.SUM(np.abs(r0), 20)
    up, down = (talib.SUM(np.nan_to_num(dm(h, l, 1)), 14) for dm in (talib.PLUS_DM, talib.MINUS_DM))
    found["di_diff_14"] = (up - down) / (up + down)
    found["vol_10_60"] = np.log(np.maximum(sd(r0, 10), FLOOR) / s60)
    found["vol_60_240"] = np.log(s60 / np.maximum(sd(r0, 240), FLOOR))
    natr = np.where(np.isnan(atr), 0.0, atr / c)
    found["natr_rel"] = np.log(natr / talib.SMA(natr, 240))
    found["absret_cv_60"] = sd(np.abs(r0), 60) / talib.SMA(np.abs(r0), 60)
    logs = np.log1p(v)
    found["vol_z_60"] = (logs - talib.SMA(logs, 60)) / sd(logs, 60)
    found["relvol_5_240"] = np.log((1 + talib.SMA(v, 5)) / (1 + talib.SMA(v, 240)))
    typical = talib.TYPPRICE(h, l, c)
    vwap = talib.SUM(typical * v, 60) / talib.SUM(v, 60)
    found["vwap_dev_60"] = np.log(c / vwap) / (s60 * np.sqrt(60))
    found["signed_vol_20"] = talib.SUM(np.sign(r0) * v, 20) / (1 + talib.SUM(v, 20))
    found["acf1_60"] = talib.CORREL(r0, np.append(0.0, r0[:-1]), 60)
    found["kyle_corr_60"] = np.clip(talib.CORREL(r0, np.sign(r0) * np.sqrt(c * v), 60), 0, 1)
    ten = np.where(np.isnan(talib.ROCR(c, 10)), 0.0, np.log(talib.ROCR(c, 10)))
    ratio = talib.VAR(ten, 240) / (10 * talib.VAR(r0, 240))
    found["hurst_vr_240"] = np.clip(0.5 + 0.5 * np.log10(ratio), 0, 1)
    found["parkinson_20"] = np.log(np.sqrt(talib.SMA(np.log(h / l) ** 2, 20) / (4 * np.log(2))) / s60)
    return found


NAMES = [feature.name for feature in FEATURES if feature.name not in {
    "gap", "upper_wick", "macd_hist", "garman_klass_20", "yang_zhang_20", "amihud_60", "roll_60", "skew_60", "exkurt_60",
    "tod_sin", "tod_cos", "dow_sin", "dow_cos",
}]  # fmt: skip


@pytest.mark.parametrize("name", [*NAMES, "donch_60_willr"])
def test_feature_equals_talib(name, computed, theirs):
    """TA-Lib keeps running totals, which lose digits: eight of them must agree."""
    feature = FEATURES[feature_names().index(name.removesuffix("_willr"))]
    ours = computed[300:, feature_names().index(feature.name)]
    np.testing.assert_allclose(ours, np.clip(theirs[name][300:], feature.low, feature.high), rtol=1e-7, atol=2e-7)


def test_macd_histogram_is_that_of_untruncated_averages_to_three_digits(bars, computed):
    """TA-Lib's averages never forget; ours are cut off where a weight of e^-9 to e^-10 is left, to have a finite memory."""
    close = bars["close"].to_numpy()
    macd = talib.EMA(close, 12) - talib.EMA(close, 26)
    histogram = macd - np.append(np.full(25, np.nan), talib.EMA(macd[25:], 9))
    high, low = bars["high"].to_numpy(), bars["low"].to_numpy()
    atr = np.append(np.nan, talib.SMA(talib.TRANGE(high, low, close)[1:], 14))
    ours = computed[400:, feature_names().index("macd_hist")]
    np.testing.assert_allclose(ours, np.clip(histogram / atr, -5, 5)[400:], atol=2e-3)
    assert np.corrcoef(ours, (histogram / atr)[400:])[0, 1] > 0.99999


def test_wilders_rsi_and_ours_are_the_same_idea_with_other_weights(bars, computed):
    """TA-Lib's RSI averages exponentially (Wilder), rsi_14 plainly (Cutler): alike, not equal."""
    wilder = talib.RSI(bars["close"].to_numpy(), 14)[300:] / 50 - 1
    cutler = computed[300:, feature_names().index("rsi_14")]
    assert 0.8 < np.corrcoef(wilder, cutler)[0, 1] < 1
    assert np.abs(wilder - cutler).max() > 0.05
