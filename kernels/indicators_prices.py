"""Oscillators, ranges and volume indicators: each composed of averages and windows, with the textbook's formula.

They take expressions, not only columns: ``rsi(col("close") / col("bench"), 14)``. Warm-ups and NaN rules are those of
the parts they are made of. Agreement with TA-Lib is to 1e-10 unless a docstring names a difference.
"""

import math
from typing import Any, NamedTuple

from kernels.expressions import lag, prev
from kernels.indicators_averages import ema, wilder, wilder_sum
from kernels.indicators_windows import Bands, mean_deviation, rolling_max, rolling_min, rolling_sum, sma
from kernels.values import Value, absolute, constant, isnan, maximum, minimum, where


def momentum(x: Any, bars: Any) -> Value:
    """x less its value ``bars`` bars before. Warm-up ``bars`` bars."""
    return constant(x) - lag(constant(x), bars)


def roc(x: Any, bars: Any) -> Value:
    """Rate of change in percent: 100 (x / x_bars - 1). Warm-up ``bars`` bars; NaN where x was not above 0.

    Give it prices that were traded: of a forward-adjusted level, whose zero is anywhere, a percentage says nothing.
    """
    before = constant(lag(constant(x), bars))
    return constant(where(before > 0.0, 100.0 * (constant(x) / before - 1.0), math.nan))


def rsi(x: Any, window: Any = 14) -> Value:
    """Wilder's RSI: 100 G / (G + L), G and L Wilder's averages of rises and falls, seeded with their mean.

    Warm-up ``window`` bars. A market without moves has 50 (TA-Lib: 0), so that it fires no signal; without a fall 100.
    """
    move = constant(x) - prev(constant(x))
    gain = wilder(where(isnan(move), move, maximum(move, 0.0)), window)
    loss = wilder(where(isnan(move), move, maximum(-move, 0.0)), window)
    total = gain + loss
    return constant(where(total == 0.0, 50.0, 100.0 * gain / total))


class Macd(NamedTuple):
    """``line`` = fast less slow average, ``signal`` the average of the line, ``histogram`` their difference."""

    line: Value
    signal: Value
    histogram: Value


def macd(x: Any, fast: Any = 12, slow: Any = 26, signal: Any = 9) -> Macd:
    """MACD of averages seeded with the mean of their own first values.

    TA-Lib seeds the fast average slow - fast bars later; the difference dies away as the average forgets its seed.
    Warm-up slow - 1 bars, signal - 1 more for the signal and the histogram.
    """
    line = ema(x, fast, "mean") - ema(x, slow, "mean")
    smooth = ema(line, signal, "mean")
    return Macd(line, smooth, line - smooth)


def true_range(high: Any, low: Any, close: Any) -> Value:
    """max(high, close before) - min(low, close before). One bar of warm-up: the first bar has none."""
    before = prev(constant(close))
    return constant(maximum(high, before) - minimum(low, before))


def atr(high: Any, low: Any, close: Any, window: Any = 14) -> Value:
    """Wilder's average of true ranges, seeded with the mean of the first ``window`` of them. Warm-up ``window`` bars."""
    return wilder(true_range(high, low, close), window)


def natr(high: Any, low: Any, close: Any, window: Any = 14) -> Value:
    """ATR in percent of the close, a price that was traded; NaN where it is not above 0."""
    price = constant(close)
    return constant(where(price > 0.0, 100.0 * atr(high, low, price, window) / price, math.nan))


def keltner(high: Any, low: Any, close: Any, window: Any = 20, width: Any = 2.0, atr_window: Any = 10) -> Bands:
    """EMA of the close (seeded with its first value) ± ``width`` ATR."""
    middle, spread = ema(close, window), width * atr(high, low, close, atr_window)
    return Bands(middle + spread, middle, middle - spread)


class Stochastic(NamedTuple):
    """``k``: place of the close in the range of the window, 0 to 100; ``d``: its mean."""

    k: Value
    d: Value


def stochastic(high: Any, low: Any, close: Any, window: Any = 14, smooth_k: Any = 1, smooth_d: Any = 3) -> Stochastic:
    """100 (close - lowest low) / (highest high - lowest low), k its mean over ``smooth_k``, d k's over ``smooth_d``.

    NaN where the range is 0 (TA-Lib: 0), so that a market without moves fires no signal.
    """
    lowest = rolling_min(low, window)
    raw = 100.0 * (constant(close) - lowest) / (rolling_max(high, window) - lowest)
    k = sma(raw, smooth_k)
    return Stochastic(k, sma(k, smooth_d))


def williams_r(high: Any, low: Any, close: Any, window: Any = 14) -> Value:
    """-100 (highest high - close) / (highest high - lowest low), -100 to 0; NaN where the range is 0 (TA-Lib: 0)."""
    highest = rolling_max(high, window)
    return -100.0 * (highest - constant(close)) / (highest - rolling_min(low, window))


def typical_price(high: Any, low: Any, close: Any) -> Value:
    """(high + low + close) / 3."""
    return (constant(high) + constant(low) + constant(close)) / 3.0


def cci(high: Any, low: Any, close: Any, window: Any = 20) -> Value:
    """Commodity channel index: (p - mean p) / (0.015 · mean deviation of p), p the typical price.

    NaN where p did not move (TA-Lib: 0).
    """
    price = typical_price(high, low, close)
    return (price - sma(price, window)) / (0.015 * mean_deviation(price, window))


class Directional(NamedTuple):
    """``adx``: strength of the trend, ``plus`` and ``minus``: directional indicators, all 0 to 100."""

    adx: Value
    plus: Value
    minus: Value


def directional(high: Any, low: Any, close: Any, window: Any = 14) -> Directional:
    """Wilder's directional movement: +DM the rise of the high where it is positive and exceeds the fall of the low, -DM
    the other way round; ±DI = 100 · Wilder's sum of ±DM / that of the true range; DX = 100 |P - M| / (P + M); ADX
    Wilder's average of DX, seeded with the mean of its first ``window`` values.

    Warm-up ``window`` bars for the indicators, 2 window - 1 for ADX. A bar without movement (DX = 0 / 0) leaves ADX as
    it is.
    """
    up = constant(high) - prev(constant(high))
    down = prev(constant(low)) - constant(low)
    unknown = isnan(up) | isnan(down)
    plus = wilder_sum(where(unknown, up + down, where((up > down) & (up > 0.0), up, 0.0)), window)
    minus = wilder_sum(where(unknown, up + down, where((down > up) & (down > 0.0), down, 0.0)), window)
    ranges = wilder_sum(true_range(high, low, close), window)
    index = 100.0 * absolute(plus - minus) / (plus + minus)
    return Directional(wilder(index, window), 100.0 * plus / ranges, 100.0 * minus / ranges)


def adx(high: Any, low: Any, close: Any, window: Any = 14) -> Value:
    """Average directional index (``directional``). Warm-up 2 window - 1 bars."""
    return directional(high, low, close, window).adx


def vwap(price: Any, volume: Any, window: Any) -> Value:
    """Σ price · volume / Σ volume over the last ``window`` bars; NaN while nothing was traded.

    Since a session's start: ``anchored_vwap``.
    """
    return rolling_sum(constant(price) * constant(volume), window) / rolling_sum(volume, window)


def mfi(high: Any, low: Any, close: Any, volume: Any, window: Any = 14) -> Value:
    """Money flow index: 100 P / (P + N), sums over the window of price · volume on bars whose typical price rose, fell.

    Warm-up ``window`` bars. A window without flow has 50 (TA-Lib: 0).
    """
    price = typical_price(high, low, close)
    move, flow = price - prev(price), price * constant(volume)
    rise = rolling_sum(where(isnan(move), move, where(move > 0.0, flow, 0.0)), window)
    fall = rolling_sum(where(isnan(move), move, where(move < 0.0, flow, 0.0)), window)
    return constant(where(rise + fall == 0.0, 50.0, 100.0 * rise / (rise + fall)))

