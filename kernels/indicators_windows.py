"""Windowed statistics of any expression; windows in bars, fixed or swept, some of them in time too.

NaN rule of all: NaN while the window holds a NaN. Warm-up of all: window - 1 bars. A window in time (``"30s"`` or
``seconds(param("wait"))``) holds the bars of (t - d, t], as pandas' ``rolling("30s")``; its value is NaN, and adds no
bars of warm-up, until the series spans the duration.
"""

from typing import Any, NamedTuple

from kernels.values import Value, constant, isnan, sqrt, where
from kernels.windowed import windowed


def sma(x: Any, window: Any) -> Value:
    """Mean of the last ``window`` bars, or of a window in time."""
    return windowed("sma", (x,), window)


def rolling_sum(x: Any, window: Any) -> Value:
    """Sum of the last ``window`` bars, or of a window in time."""
    return windowed("rolling_sum", (x,), window)


def rolling_std(x: Any, window: Any) -> Value:
    """Sample standard deviation (ddof = 1) of the last ``window`` >= 2 bars, or of a window in time."""
    return windowed("rolling_std", (x,), window)


def rolling_var(x: Any, window: Any) -> Value:
    """Sample variance (ddof = 1) of the last ``window`` bars; NaN for a window of one bar (0 / 0)."""
    return windowed("rolling_squares", (x,), window) / (constant(window) - 1.0)


def rolling_max(x: Any, window: Any) -> Value:
    """Largest of the last ``window`` bars (``prev`` of it is the Donchian channel's upper line), or of a window in time."""
    return windowed("rolling_max", (x,), window)


def rolling_min(x: Any, window: Any) -> Value:
    """Smallest of the last ``window`` bars, or of a window in time."""
    return windowed("rolling_min", (x,), window)


def zscore(x: Any, window: Any) -> Value:
    """(x - mean) / sample standard deviation over the last ``window`` >= 2 bars, the current one included.

    NaN also where all values of the window are equal (0 / 0), so that a constant window fulfils no comparison.
    """
    return windowed("zscore", (x,), window)


def rolling_rank(x: Any, window: Any) -> Value:
    """Rank of the newest of the last ``window`` bars, 1 for the smallest; equal ones share the mean of their ranks."""
    return windowed("rolling_rank", (x,), window)


def rolling_median(x: Any, window: Any) -> Value:
    """Middle of the last ``window`` bars; of an even number the mean of the two middle ones."""
    return windowed("rolling_median", (x,), window)


def mean_deviation(x: Any, window: Any) -> Value:
    """Mean distance from the mean over the last ``window`` bars."""
    return windowed("mean_deviation", (x,), window)


def rolling_cov(x: Any, y: Any, window: Any) -> Value:
    """Sample covariance (ddof = 1) of the last ``window`` >= 2 bars."""
    return windowed("rolling_cov", (x, y), window)


def rolling_corr(x: Any, y: Any, window: Any) -> Value:
    """Pearson's correlation of the last ``window`` >= 2 bars, within [-1, 1]; NaN where a source is constant."""
    return windowed("rolling_corr", (x, y), window)


def rolling_beta(x: Any, y: Any, window: Any) -> Value:
    """Slope of x on y, cov(x, y) / var(y), over the last ``window`` >= 2 bars; NaN where y is constant."""
    return windowed("rolling_beta", (x, y), window)


def linreg_slope(x: Any, window: Any) -> Value:
    """Slope of the least-squares line through the last ``window`` >= 2 bars, in units of x a bar."""
    return windowed("linreg_slope", (x,), window)


class Bands(NamedTuple):
    """Lines around a middle one."""

    upper: Value
    middle: Value
    lower: Value


def bollinger(x: Any, window: Any = 20, width: Any = 2.0) -> Bands:
    """Mean ± ``width`` population standard deviations (ddof = 0) of the last ``window`` bars."""
    middle = sma(x, window)
    spread = width * sqrt(windowed("rolling_squares", (x,), window) / constant(window))
    return Bands(middle + spread, middle, middle - spread)


def donchian(high: Any, low: Any, window: Any = 20) -> Bands:
    """Highest high, lowest low and their mean over the last ``window`` bars, the current one included.

    ``prev`` of a line is the channel of the bars before, which a breakout is measured against.
    """
    upper, lower = rolling_max(high, window), rolling_min(low, window)
    return Bands(upper, (upper + lower) / 2.0, lower)


def count_over(condition: Value, window: Any) -> Value:
    """Number of the last ``window`` bars on which the condition held; a comparison with NaN did not hold."""
    return rolling_sum(where(condition, 1.0, 0.0), window)


def valid_over(x: Any, window: Any) -> Value:
    """Number of the last ``window`` bars on which x is not NaN."""
    return rolling_sum(where(isnan(x), 0.0, 1.0), window)
