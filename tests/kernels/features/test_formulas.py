"""Every feature against its formula, evaluated one window at a time with pandas, numpy and scipy on explicit levels."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from kernels.features.market import market_features
from kernels.features.returns import log_returns
from kernels.features.table import FEATURES, WARM_UP, feature_names

ROWS = 1_100
ROLLS = (400, 777)
SPIKE = 620


@pytest.fixture(scope="module")
def bars(bars_of):
    table = bars_of(ROWS, seed=3, rolls=ROLLS)
    table.loc[SPIKE, ["high", "close"]] = np.round(table.loc[SPIKE, "close"] * 1.15 * 4) / 4
    return table


@pytest.fixture(scope="module")
def clamped(bars):
    return np.clip(log_returns(bars), -0.1, 0.1)


@pytest.fixture(scope="module")
def computed(bars, clamped):
    return market_features(bars, clamped, "America/Chicago")


@pytest.fixture(scope="module")
def expected(bars, clamped):
    return pd.DataFrame(formulas(bars, clamped))


def window(function, *columns, size):
    """function of the last `size` values of each column, NaN while one is missing or the window is not full."""
    values = [np.asarray(column, float) for column in columns]
    result = np.full(len(values[0]), np.nan)
    for end in range(size, len(values[0]) + 1):
        parts = [column[end - size : end] for column in values]
        if not any(np.isnan(part).any() for part in parts):
            result[end - 1] = function(*parts)
    return result


def formulas(bars, clamped):
    """The 42 formulas of docs/features.md with levels written out as exp(cumsum(r))."""
    first_of_contract = bars["expiry"].diff().ne(0).to_numpy()
    r = pd.Series(np.where(first_of_contract, 0.0, clamped))
    r[0] = np.nan
    c = np.exp(r.fillna(0.0).cumsum())
    o, h, low = (bars[name] / bars["close"] * c for name in ("open", "high", "low"))
    v = bars["volume"].astype(float)
    s60 = r.rolling(60).std().clip(lower=1e-6)
    return {
        **trend_formulas(bars, r, c, o, s60),
        **oscillator_formulas(c, h, low),
        **volatility_formulas(r, c, o, h, low, s60),
        **liquidity_formulas(r, c, h, low, v, s60),
        **shape_formulas(r, c),
        **clock_formulas(bars),
    }


def trend_formulas(bars, r, c, o, s60):
    result = {}
    for k in (1, 2, 5, 10, 20, 60, 120, 240):
        result[f"ret_{k}"] = (np.log(c / c.shift(k)) / (s60 * np.sqrt(k))).clip(-5, 5)
    result["gap"] = (np.log(o / c.shift(1)) / s60).clip(-5, 5)
    raw_open, raw_high, raw_low, raw = (bars[name] for name in ("open", "high", "low", "close"))
    reach = raw_high - raw_low + 1e-12 * raw
    result["body"] = (raw - raw_open) / reach
    result["upper_wick"] = (raw_high - np.maximum(raw_open, raw)) / reach
    result["clv"] = (2 * raw - raw_high - raw_low) / reach
    result["eff_ratio_20"] = np.log(c / c.shift(20)) / window(lambda x: np.abs(x).sum(), r, size=20)
    return result


def ema(values, span, taps):
    weights = (1 - 2 / (span + 1)) ** np.arange(taps)[::-1]
    return window(lambda x: (x * weights).sum() / weights.sum(), values, size=taps)


def true_range(c, h, low):
    before = c.shift(1)
    parts = pd.DataFrame({"a": h - low, "b": (h - before).abs(), "c": (low - before).abs()})
    return parts.max(axis=1).where(before.notna())


def channel(c, h, low, size):
    top, bottom = h.rolling(size).max(), low.rolling(size).min()
    return 2 * (c - bottom) / (top - bottom) - 1


def oscillator_formulas(c, h, low):
    move = c.diff()
    gain = window(lambda x: np.maximum(x, 0).mean(), move, size=14)
    loss = window(lambda x: np.maximum(-x, 0).mean(), move, size=14)
    macd = ema(c, 12, 60) - ema(c, 26, 130)
    atr = window(np.mean, true_range(c, h, low), size=14)
    up, down = h.diff(), -low.diff()
    tie = 1e-9 * c
    plus = up.where((up > tie) & (up - down > tie), 0.0).where(up.notna())
    minus = down.where((down > tie) & (down - up > tie), 0.0).where(down.notna())
    rise, fall = window(np.sum, plus, size=14), window(np.sum, minus, size=14)
    return {
        **{
            f"z_{n}": np.clip(window(lambda x: (x[-1] - x.mean()) / x.std(ddof=1), c, size=n), -5, 5)
            for n in (20, 240)
        },
        "rsi_14": (gain - loss) / (gain + loss),
        "macd_hist": np.clip((macd - ema(macd, 9, 45)) / np.maximum(atr, 1e-6 * c), -5, 5),
        "stoch_14": channel(c, h, low, 14),
        "donch_60": channel(c, h, low, 60),
        "di_diff_14": (rise - fall) / (rise + fall),
    }


def volatility_formulas(r, c, o, h, low, s60):
    natr = window(np.mean, true_range(c, h, low), size=14) / c
    usual = window(np.mean, natr, size=240)
    reach = np.log(h / low) ** 2
    body = np.log(c / o)
    overnight = np.log(o / c.shift(1))
    rs = np.log(h / c) * np.log(h / o) + np.log(low / c) * np.log(low / o)
    k = 0.34 / (1.34 + 21 / 19)
    parkinson = window(np.mean, reach / (4 * np.log(2)), size=20)
    garman_klass = window(np.mean, 0.5 * reach - (2 * np.log(2) - 1) * body**2, size=20)
    yang_zhang = (
        window(lambda x: x.var(ddof=1), overnight, size=20)
        + k * window(lambda x: x.var(ddof=1), body, size=20)
        + (1 - k) * window(np.mean, rs, size=20)
    )
    floored = {n: r.rolling(n).std().clip(lower=1e-6) for n in (10, 240)}
    return {
        "vol_10_60": np.log(floored[10] / s60).clip(-3, 3),
        "vol_60_240": np.log(s60 / floored[240]).clip(-3, 3),
        "natr_rel": np.log(np.maximum(natr, 1e-6) / np.maximum(usual, 1e-6)).clip(-3, 3),
        "parkinson_20": np.log(np.sqrt(parkinson) / s60).clip(-3, 3),
        "garman_klass_20": np.log(np.sqrt(garman_klass) / s60).clip(-3, 3),
        "yang_zhang_20": np.log(np.sqrt(yang_zhang) / s60).clip(-3, 3),
        "absret_cv_60": np.clip(window(lambda x: x.std(ddof=1) / x.mean(), r.abs(), size=60), 0, 5),
    }


def liquidity_formulas(r, c, h, low, v, s60):
    typical = (h + low + c) / 3
    vwap = window(np.sum, typical * v, size=60) / window(np.sum, v, size=60)
    impact = r.abs() / (c * (v + 1))
    covariance = window(lambda x, y: np.cov(x, y)[0, 1], r, r.shift(1), size=60)
    signed = np.sign(r) * np.sqrt(c * v)
    logs = np.log1p(v)
    return {
        "vol_z_60": np.clip(window(lambda x: (x[-1] - x.mean()) / x.std(ddof=1), logs, size=60), -5, 5),
        "relvol_5_240": np.log((1 + v.rolling(5).mean()) / (1 + v.rolling(240).mean())).clip(-3, 3),
        "vwap_dev_60": (np.log(c / vwap) / (s60 * np.sqrt(60))).clip(-5, 5),
        "signed_vol_20": window(np.sum, np.sign(r) * v, size=20) / (1 + window(np.sum, v, size=20)),
        "amihud_60": np.clip(
            np.log(window(np.mean, impact, size=60) / window(np.mean, impact, size=240)), -3, 3
        ),
        "kyle_corr_60": np.clip(window(lambda x, y: np.corrcoef(x, y)[0, 1], r, signed, size=60), 0, 1),
        "roll_60": np.clip(2 * np.sqrt(np.maximum(0, -covariance)) / s60, 0, 2),
    }


def shape_formulas(r, c):
    ten = np.log(c / c.shift(10))
    ratio = window(lambda x: x.var(ddof=1), ten, size=240) / window(lambda x: 10 * x.var(ddof=1), r, size=240)
    return {
        "skew_60": np.clip(window(scipy.stats.skew, r, size=60), -5, 5),
        "exkurt_60": np.clip(window(scipy.stats.kurtosis, r, size=60), -2, 10) / 5,
        "acf1_60": window(lambda x, y: np.corrcoef(x, y)[0, 1], r, r.shift(1), size=60),
        "hurst_vr_240": np.clip(0.5 + 0.5 * np.log10(ratio), 0, 1),
    }


def clock_formulas(bars):
    when = bars["ts_event"].dt.tz_convert("America/Chicago").dt
    weekday = pd.to_datetime(bars["session"].astype(str), format="%Y%m%d").dt.dayofweek
    turn, week = 2 * np.pi * (when.hour * 60 + when.minute) / 1440, 2 * np.pi * weekday / 7
    return {"tod_sin": np.sin(turn), "tod_cos": np.cos(turn), "dow_sin": np.sin(week), "dow_cos": np.cos(week)}


def test_names_and_order_are_those_of_the_design():
    assert len(FEATURES) == 42
    assert feature_names()[:3] == ("ret_1", "ret_2", "ret_5")
    assert feature_names()[12:20] == (
        "z_20", "z_240", "rsi_14", "macd_hist", "stoch_14", "donch_60", "eff_ratio_20", "di_diff_14",
    )  # fmt: skip
    assert feature_names()[-5:] == ("hurst_vr_240", "tod_sin", "tod_cos", "dow_sin", "dow_cos")
    assert WARM_UP == 254


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_feature_equals_its_formula(feature, computed, expected):
    ours = computed[:, feature_names().index(feature.name)]
    theirs = expected[feature.name].to_numpy()
    valid = np.arange(ROWS) >= feature.warm_up - 1
    np.testing.assert_allclose(ours[valid], theirs[valid], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_feature_starts_at_its_warm_up_and_keeps_its_bounds(feature, computed):
    values = computed[:, feature_names().index(feature.name)]
    assert np.isnan(values[: feature.warm_up - 1]).all()
    assert np.isfinite(values[feature.warm_up - 1 :]).all()
    assert values[feature.warm_up - 1 :].min() >= feature.low
    assert values[feature.warm_up - 1 :].max() <= feature.high


def test_neither_a_roll_nor_a_clamped_spike_leaves_a_jump(bars, clamped, computed):
    names = feature_names()
    raw_jump = np.log(bars["close"][ROLLS[0]] / bars["close"][ROLLS[0] - 1])
    assert abs(raw_jump) > 0.007  # the generated basis, 40 points
    assert computed[ROLLS[0], names.index("ret_1")] == 0.0
    # A jump of 40 points would be far above all 60 bars before it; the generated walk moves 0.5 a bar.
    assert np.abs(computed[ROLLS[0] : ROLLS[0] + 5, names.index("ret_5")]).max() < 3
    assert clamped[SPIKE] == 0.1  # of ln 1.15 = 0.1398
