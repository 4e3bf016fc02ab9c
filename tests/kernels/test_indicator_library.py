"""Every indicator against pandas or TA-Lib where they are right, and by hand where they are not."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernels import indicators as ours
from kernels import numpy_executor
from kernels.executor import host
from kernels.expressions import col, floor, isnan, param, where
from kernels.indicators import seconds
from kernels.program_inputs import Input
from kernels.rows import RowWriter, WindowError, warm_up
from kernels.values import ExpressionError

talib = pytest.importorskip("talib", reason="TA-Lib is not installed; it comes with the [dev] extra")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "language.md"
NAN, BARS = float("nan"), 220
H, L, C, V, Y = map(col, ("high", "low", "close", "volume", "bench"))


def writer(columns):
    """Computes expressions over the columns."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    return RowWriter(arrays, host(numpy_executor.run))


def row(expression, **columns):
    return writer({name: np.asarray(values, dtype=float) for name, values in columns.items()}).row(expression)


def market(seed=5, bars=BARS):
    draw = np.random.default_rng(seed)
    close = 100 + np.cumsum(draw.normal(0, 1, bars))
    opened = np.concatenate([[100.0], close[:-1]]) + draw.normal(0, 0.3, bars)
    return {
        "high": np.maximum(opened, close) + np.abs(draw.normal(0, 0.5, bars)),
        "low": np.minimum(opened, close) - np.abs(draw.normal(0, 0.5, bars)),
        "close": close,
        "volume": draw.integers(1, 1000, bars).astype(float),
        "bench": 50 + np.cumsum(draw.normal(0, 1, bars)),
        Input.TIME: np.cumsum(draw.integers(1, 20, bars)) * 10**9,
    }


MARKET = market()
h, low, c, v, y = (MARKET[name] for name in ("high", "low", "close", "volume", "bench"))
s, sy, sv = pd.Series(c), pd.Series(y), pd.Series(v)
clock = pd.Series(c, index=pd.to_datetime(MARKET[Input.TIME]))
tall = (h + low + c) / 3

AGREE = {
    "rolling_sum": (ours.rolling_sum(C, 9), s.rolling(9).sum()),
    "rolling_var": (ours.rolling_var(C, 10), s.rolling(10).var()),
    "median, even": (ours.rolling_median(C, 10), s.rolling(10).median()),
    "median, odd": (ours.rolling_median(C, 7), s.rolling(7).median()),
    "rank with ties": (ours.rolling_rank(floor(C), 10), np.floor(s).rolling(10).rank()),
    "cov": (ours.rolling_cov(C, Y, 10), s.rolling(10).cov(sy)),
    "corr": (ours.rolling_corr(C, Y, 10), s.rolling(10).corr(sy)),
    "beta": (ours.rolling_beta(C, Y, 10), s.rolling(10).cov(sy) / sy.rolling(10).var()),
    "mean_deviation": (
        ours.mean_deviation(C, 8), s.rolling(8).apply(lambda part: np.abs(part - part.mean()).mean(), raw=True)
    ),
    "linreg_slope": (ours.linreg_slope(C, 14), talib.LINEARREG_SLOPE(c, 14)),
    "ema_halflife": (ours.ema_halflife(C, 7.5), s.ewm(halflife=7.5, adjust=False).mean()),
    "ema, mean seed": (ours.ema(C, 10, "mean"), talib.EMA(c, 10)),
    "wilder, first": (ours.wilder(C, 10, "first"), s.ewm(alpha=0.1, adjust=False).mean()),
    "dema": (ours.dema(C, 10), talib.DEMA(c, 10)),
    "tema": (ours.tema(C, 10), talib.TEMA(c, 10)),
    "wma": (ours.wma(C, 10), talib.WMA(c, 10)),
    "hma": (ours.hma(C, 17), talib.WMA(2 * talib.WMA(c, 8) - talib.WMA(c, 17), 4)),
    "kama": (ours.kama(C, 10), talib.KAMA(c, 10)),
    "rsi": (ours.rsi(C, 14), talib.RSI(c, 14)),
    "rsi of a ratio": (ours.rsi(C / Y, 14), talib.RSI(c / y, 14)),
    "momentum": (ours.momentum(C, 10), talib.MOM(c, 10)),
    "roc": (ours.roc(C, 10), talib.ROC(c, 10)),
    "macd": (ours.macd(C).line, talib.EMA(c, 12) - talib.EMA(c, 26)),
    "macd signal": (ours.macd(C).signal, talib.EMA(talib.EMA(c, 12) - talib.EMA(c, 26), 9)),
    "true_range": (ours.true_range(H, L, C), talib.TRANGE(h, low, c)),
    "atr": (ours.atr(H, L, C, 14), talib.ATR(h, low, c, 14)),
    "natr": (ours.natr(H, L, C, 14), talib.NATR(h, low, c, 14)),
    "bollinger upper": (ours.bollinger(C, 20, 2.0).upper, talib.BBANDS(c, 20, 2, 2)[0]),
    "bollinger middle": (ours.bollinger(C, 20, 2.0).middle, talib.BBANDS(c, 20, 2, 2)[1]),
    "bollinger lower": (ours.bollinger(C, 20, 2.0).lower, talib.BBANDS(c, 20, 2, 2)[2]),
    "keltner": (
        ours.keltner(H, L, C, 20, 2.0, 10).upper, s.ewm(span=20, adjust=False).mean() + 2 * talib.ATR(h, low, c, 10)
    ),
    "donchian": (ours.donchian(H, L, 20).middle, (talib.MAX(h, 20) + talib.MIN(low, 20)) / 2),
    "stochastic k": (ours.stochastic(H, L, C, 5, 3, 3).k, talib.SMA(talib.STOCHF(h, low, c, 5, 1)[0], 3)),
    "stochastic d": (ours.stochastic(H, L, C, 5, 3, 3).d, talib.STOCH(h, low, c, 5, 3, 0, 3, 0)[1]),
    "williams_r": (ours.williams_r(H, L, C, 14), talib.WILLR(h, low, c, 14)),
    "cci": (ours.cci(H, L, C, 20), talib.CCI(h, low, c, 20)),
    "adx": (ours.adx(H, L, C, 14), talib.ADX(h, low, c, 14)),
    "plus": (ours.directional(H, L, C, 14).plus, talib.PLUS_DI(h, low, c, 14)),
    "minus": (ours.directional(H, L, C, 14).minus, talib.MINUS_DI(h, low, c, 14)),
    "obv": (ours.obv(C, V), talib.OBV(c, v)),
    "mfi": (ours.mfi(H, L, C, V, 14), talib.MFI(h, low, c, v, 14)),
    "typical_price": (ours.typical_price(H, L, C), talib.TYPPRICE(h, low, c)),
    "vwap": (ours.vwap(C, V, 10), (s * sv).rolling(10).sum() / sv.rolling(10).sum()),
}


@pytest.mark.parametrize("name", AGREE)
def test_agrees_with_pandas_or_talib(name):
    expression, expected = AGREE[name]
    found = writer(MARKET).row(expression)
    np.testing.assert_allclose(found, np.asarray(expected, dtype=float), rtol=1e-10, atol=1e-10)
    known = int(np.argmin(np.isnan(found)))
    assert known <= warm_up(expression, {}) <= max(known, 19)  # averages that seed themselves exist earlier


@pytest.mark.parametrize("name", AGREE)
def test_appended_bars_change_nothing_earlier(name, same_bits):
    expression = AGREE[name][0]
    whole = writer(MARKET).row(expression)
    cut = {column: values[:120] for column, values in MARKET.items()}
    assert same_bits(writer(cut).row(expression), whole[:120])


@pytest.mark.parametrize(
    ("ours_in_time", "pandas"),
    [
        (ours.sma, lambda w: w.mean()),
        (ours.rolling_sum, lambda w: w.sum()),
        (ours.rolling_std, lambda w: w.std()),
        (ours.rolling_max, lambda w: w.max()),
        (ours.rolling_min, lambda w: w.min()),
    ],
    ids=["sma", "rolling_sum", "rolling_std", "rolling_max", "rolling_min"],
)
def test_windows_in_time_equal_pandas_once_the_series_spans_them(ours_in_time, pandas):
    since = MARKET[Input.TIME] - MARKET[Input.TIME][0]
    for window in ("1s", "7s", "60s", "10min"):
        expected = pandas(clock.rolling(window)).to_numpy(copy=True)
        expected[since < pd.Timedelta(window).value] = NAN
        found = writer(MARKET).row(ours_in_time(C, window))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    lanes = {"wait": np.array([60.0, 7.0])}
    family = writer(MARKET).family(ours_in_time(C, seconds(param("wait"))), lanes)
    np.testing.assert_array_equal(
        family.matrix[:, family.index[0]], writer(MARKET).row(ours_in_time(C, "60s"))
    )
    assert warm_up(ours_in_time(C, "60s"), {}) == 0


def test_windows_in_time_forget_spikes_and_gaps():
    times = np.arange(20) * 10**9
    x = np.ones(20)
    x[5], x[11] = 1e300, NAN
    found = writer({"x": x, Input.TIME: times}).row(ours.rolling_std(col("x"), "3s"))
    expected = [NAN] * 3 + [0.0] * 2 + [np.inf] * 3 + [0.0] * 3 + [NAN] * 3 + [0.0] * 6
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: ours.rsi(C, "30s"), ExpressionError, r"str '30s' cannot stand in an expression"),
        (lambda: ours.rolling_median(C, "30s"), ExpressionError, r"takes windows in bars.*windows in time: rolling_max"),
        (lambda: ours.sma(C, "soon"), ExpressionError, r"'soon' is no duration: write '30s'"),
        (lambda: warm_up(ours.sma(C, "-1s"), {}), WindowError, r"must be a duration > 0 s"),
        (lambda: warm_up(ours.hma(C, 1), {}), WindowError, r"wma: window .* = 0: must be a whole number of bars >= 1"),
        (lambda: warm_up(ours.rsi(C, 2.5), {}), WindowError, r"wilder: window 2.5"),
    ],
)
def test_wrong_windows_teach(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_large_levels_cost_no_digits(same_bits):
    # integers under a level of 2^40: differences are exact, so every digit must stay
    draw = np.random.default_rng(4)
    x, z = draw.integers(-9, 9, 80).astype(float), draw.integers(-9, 9, 80).astype(float)
    for build in (
        lambda a, b: ours.rolling_var(a, 16),
        lambda a, b: ours.rolling_cov(a, b, 16),
        lambda a, b: ours.rolling_corr(a, b, 16),
        lambda a, b: ours.rolling_beta(a, b, 16),
        lambda a, b: ours.linreg_slope(a, 16),
    ):
        low = row(build(col("x"), col("z")), x=x, z=z)
        high = row(build(col("x"), col("z")), x=x + 2.0**40, z=z - 2.0**40)
        assert same_bits(low, high)


@pytest.mark.parametrize("name", ["rolling_var", "rolling_cov", "rolling_corr", "linreg_slope", "wma", "rolling_median"])
def test_spikes_and_nan_leave_with_their_window(name, same_bits):
    build = getattr(ours, name)
    x, z = np.random.default_rng(6).normal(0, 1, (2, 40))
    expression = build(col("x"), col("z"), 5) if name in ("rolling_cov", "rolling_corr") else build(col("x"), 5)
    clean = row(expression, x=x, z=z)
    for spike in (1e200, NAN):
        spoiled = x.copy()
        spoiled[10] = spike
        found = row(expression, x=spoiled, z=z)
        assert same_bits(found[:10], clean[:10]) and same_bits(found[15:], clean[15:])
        assert np.all(np.isnan(found[10:15])) or not np.isnan(spike)


def test_flat_markets():
    flat = {name: [100.0] * 20 for name in ("high", "low", "close")} | {"volume": [5.0] * 20}
    # case A01: neither oversold nor overbought
    assert row(ours.rsi(C, 14), **flat)[14:].tolist() == [50.0] * 6
    assert row(ours.mfi(H, L, C, V, 14), **flat)[14:].tolist() == [50.0] * 6
    for expression in (ours.stochastic(H, L, C, 5).k, ours.williams_r(H, L, C, 5), ours.cci(H, L, C, 5)):
        assert np.all(np.isnan(row(expression, **flat)))  # fires nothing
    assert row(ours.kama(C, 5), **flat)[-1] == 100.0 and np.all(np.isnan(row(ours.rolling_corr(C, H, 5), **flat)))


def test_rsi_without_a_loss():
    # case A02
    rising = [50 + 0.25 * i for i in range(15)] + [53.5, 53.5]
    assert row(ours.rsi(C, 14), close=rising)[14:].tolist() == [100.0, 100.0, 100.0]
    variant = [50 + 0.25 * i for i in range(14)] + [53.0]
    assert row(ours.rsi(C, 14), close=variant)[14] == pytest.approx(100 * 3.25 / 3.5, rel=1e-14)


def test_ema_is_continuous_in_its_span():
    # case A03: the rule ignore_na=True at span 3 and beside it
    for span, tolerance in ((3.0, 0.0), (3.000002, 1e-5)):
        weight = 2.0 / (span + 1.0)
        expected = 2.0 + weight * 6.0
        found = row(ours.ema_halflife(col("x"), np.log(0.5) / np.log(1.0 - weight)), x=[2, NAN, 8])[-1]
        assert found == pytest.approx(expected, rel=1e-12) and abs(found - 5.0) <= tolerance + 1e-12


def test_ema_seeded_with_a_mean_after_leading_nan():
    # case A05
    np.testing.assert_array_equal(
        row(ours.ema(col("x"), 3, "mean"), x=[NAN, NAN, 3, 6, 9, 12]), [NAN, NAN, NAN, NAN, 6.0, 9.0]
    )


def test_extremes_that_skip_nan_are_written_in_the_language():
    # case A08: pandas' min_periods=1; nothing like 1.8e308 where all are NaN
    x, expected = [NAN, NAN, 5, 3, NAN, 4], [NAN, NAN, 5, 3, 3, 3]
    lowest = ours.rolling_min(where(isnan(col("x")), np.inf, col("x")), 3)
    skipping = where(ours.valid_over(col("x"), 3) > 0, lowest, NAN)
    np.testing.assert_array_equal(row(skipping, x=x), expected)
    np.testing.assert_array_equal(row(ours.rolling_min(col("x"), 3), x=x), [NAN] * 6)  # the rule of ours


def test_atr_by_hand():
    # case A09: no look-ahead in the seed, a gap down counts in full
    bars = {"high": [101, 95, 96, 97, 98, 99], "low": [99, 94, 94, 95, 95, 96], "close": [100, 94.5, 95.5, 96, 97, 98]}
    np.testing.assert_array_equal(row(ours.true_range(H, L, C), **bars), [NAN, 6, 2, 2, 3, 3])
    found = row(ours.atr(H, L, C, 3), **bars)
    np.testing.assert_allclose(found, [NAN, NAN, NAN, 10 / 3, 29 / 9, 85 / 27], rtol=1e-14)
    first = {name: values[:4] for name, values in bars.items()}
    np.testing.assert_array_equal(row(ours.atr(H, L, C, 3), **first), found[:4])


def test_macd_of_a_ramp():
    # case A12: averages seeded with a mean lag by (span - 1) / 2, so the line is 12.5 - 5.5 at every bar
    for ramp in ([float(i) for i in range(1, 61)], [NAN, NAN] + [float(i) for i in range(1, 61)]):
        found = [row(part, close=ramp) for part in ours.macd(C)]
        assert [part[-1] for part in found] == pytest.approx([7.0, 7.0, 0.0], abs=1e-12)
        assert [part[35] for part in found] == pytest.approx([7.0, 7.0, 0.0], abs=1e-12)


def test_vwap_since_the_session_began():
    found = row(
        ours.anchored_vwap(C, V, col("session")), close=[1, 3, NAN, 10, 20], volume=[1, 3, 9, 0, 5], session=[1, 1, 1, 2, 2]
    )
    np.testing.assert_array_equal(found, [1.0, 2.5, 2.5, NAN, 20.0])


def test_every_indicator_is_documented():
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in ours.__all__ if name not in page] == []
    undocumented = [name for name in ours.__all__ if not getattr(ours, name).__doc__]
    assert undocumented == []


def test_the_examples_of_the_page_run():
    names: dict[str, object] = {}
    for block in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]:
        exec(block.split("```")[0], names)
    assert warm_up(names["revert"].target, {"window": np.array([20.0]), "entry": np.array([1.0])}) == 20
    series = writer({"adj_close": c}).family(names["level"], {"q": np.array([0.5])}).matrix[:, 0]
    assert np.corrcoef(series, c)[0, 1] > 0.9


@pytest.mark.parametrize("window", [1, 2, 5, 8, 17])
def test_a_median_of_zeros_of_both_signs_is_plus_zero(window):
    """Issue 9.4: zeros of both signs are equal to a sort, and which comes first follows the processor's vectors."""
    signs = np.random.default_rng(1).random(200) < 0.5
    found = row(ours.rolling_median(C, window), close=np.where(signs, -0.0, 0.0))[window - 1 :]
    assert not found.any() and not np.signbit(found).any()
