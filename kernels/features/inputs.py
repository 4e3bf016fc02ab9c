"""What the feature families share: a block of bars in scale-free form, and quotients with a value for 0 / 0."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled
from kernels.features.elementwise import cut, cut_ratio, deviation, divided, larger, smaller
from kernels.features.windows import Floats, LevelPath, at_end, mean_and_spread, products, window_sum

FLOOR = 1e-6  # smallest volatility of one bar: 1/50 of an ES tick; what a flat market is measured with
FLAT = 1e-12  # a standard deviation below it is rounding, not movement
LEVEL_WINDOWS = (14, 20, 45, 60, 130, 240)  # rows of the windows over levels
EPSILON = 1e-12  # of the price: keeps high - low from being 0 in a quotient


@dataclass(frozen=True)
class BarBlock:
    """Raw columns of consecutive bars, float64 [rows]; NaN stands for bars before the first.

    minute: of the day, on the exchange's clock; weekday: of the trade date, Monday is 0; 0 before the first bar.
    """

    minute: NDArray[np.int64]
    weekday: NDArray[np.int64]
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats
    steps: Floats


@dataclass(frozen=True)
class FeatureInputs:
    """A block of bars as the families read it, arrays [rows].

    bars: the raw columns.
    path: levels through the steps (clamped returns, 0 at a roll).
    here: 1 where all prices are above zero, else NaN: the level of a bar in units of itself.
    high, low: in units of the bar's close, NaN with `here`.
    logs: ln of open, high and low in units of the bar's close.
    steps: r of the formulas.
    spread: sum of squared deviations of r over 10, 60 and 240 rows.
    sd: sample standard deviation of r over 10, 60 and 240 rows, at least FLOOR; sd[60] is s60 of the formulas.
    true_range: mean true range of 14 bars in units of the last close (ATR14 / C).
    lagged: sums of squared deviations of r and of the r before it, and of their products, over 60 rows.
    """

    bars: BarBlock
    path: LevelPath
    here: Floats
    high: Floats
    low: Floats
    logs: tuple[Floats, Floats, Floats]
    steps: Floats
    spread: dict[int, Floats]
    sd: dict[int, Floats]
    true_range: Floats
    lagged: tuple[Floats, Floats, Floats]


def feature_inputs(bars: BarBlock) -> FeatureInputs:
    """Derive what the families share from a block of bars."""
    here, opened, high, low = _in_closes(bars.open, bars.high, bars.low, bars.close)
    steps, path = bars.steps, LevelPath(bars.steps, LEVEL_WINDOWS)
    spread = {size: pair[1] for sizes in ((10,), (60, 240)) for size, pair in mean_and_spread(steps, sizes).items()}
    return FeatureInputs(
        bars=bars,
        path=path,
        here=here,
        high=high,
        low=low,
        logs=(np.log(opened), np.log(high), np.log(low)),
        steps=steps,
        spread=spread,
        sd={size: deviation(total, size, FLOOR) for size, total in spread.items()},
        true_range=_average_true_range(high, low, path),
        lagged=(spread[60], _row_before(spread[60]), products(steps, _row_before(steps), 60)),
    )


@compiled
def _in_closes(opened: Floats, high: Floats, low: Floats, close: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """1, open, high and low in units of the close; NaN where not all prices are above zero."""
    rows = len(close)
    here, first, top, bottom = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    for i in range(rows):
        one, unit = (1.0, close[i]) if low[i] > 0 else (np.nan, np.nan)
        here[i], first[i], top[i], bottom[i] = one, opened[i] / unit, high[i] / unit, low[i] / unit
    return here, first, top, bottom


def _average_true_range(high: Floats, low: Floats, path: LevelPath) -> Floats:
    """Mean true range of 14 bars in units of the last close (ATR14 / C), [rows]; high and low in units of their close."""
    return window_sum(_true_range(high, low, path.ratios[0]), 14, path) / 14


@compiled
def _true_range(high: Floats, low: Floats, before: Floats) -> Floats:
    """From the lower of low and the close before to the higher of high and it."""
    out = np.empty(len(high))
    for i in range(len(high)):
        out[i] = larger(high[i], before[i]) - smaller(low[i], before[i])
    return out


def _row_before(values: Floats) -> Floats:
    """Each row's value of the row before; NaN on the first."""
    return at_end(values[:-1], len(values))


def quotient(top: Floats, bottom: Floats, empty: float, least: float = 0.0) -> Floats:
    """top / bottom, and `empty` where bottom <= least (both ends of a flat market); NaN in either stays NaN."""
    return np.asarray(divided(top, bottom, empty, least))


def bounded(values: Floats, limit: float) -> Floats:
    """Clipped to [-limit, limit]; NaN stays NaN."""
    return np.asarray(cut(values, -limit, limit))


def bounded_log(ratio: Floats, limit: float) -> Floats:
    """ln(ratio) clipped to [-limit, limit]; a ratio of 0 gives -limit, NaN stays NaN."""
    return _bounded_log_of(cut(ratio, *_exponentials(limit)), limit)


def log_ratio(top: Floats, bottom: Floats, limit: float, floor: float = 0.0) -> Floats:
    """ln(max(top, floor) / max(bottom, floor)) clipped to [-limit, limit]; NaN stays NaN."""
    return _bounded_log_of(cut_ratio(top, bottom, floor, *_exponentials(limit)), limit)


def _bounded_log_of(ratio: Floats, limit: float) -> Floats:
    return bounded(np.log(ratio, out=ratio), limit)


@lru_cache(maxsize=16)
def _exponentials(limit: float) -> tuple[float, float]:
    return float(np.exp(-limit)), float(np.exp(limit))
