"""What the feature families share: a block of bars in scale-free form, and quotients with a value for 0 / 0."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.features.elementwise import cut, divided
from kernels.features.windows import Floats, LevelPath, comoments, mean_and_spread

FLOOR = 1e-6  # smallest volatility of one bar: 1/50 of an ES tick; what a flat market is measured with
FLAT = 1e-12  # a standard deviation below it is rounding, not movement
LEVEL_WINDOWS = (14, 20, 45, 60, 130, 240)  # rows of the windows over levels
EPSILON = 1e-12  # of the price: keeps high - low from being 0 in a quotient


@dataclass(frozen=True)
class BarBlock:
    """Raw columns of consecutive bars, float64 [rows]; NaN stands for bars before the first."""

    ts: NDArray[np.int64]
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
    open, high, low: in units of the bar's close, NaN with `here`.
    steps: r of the formulas.
    spread: sum of squared deviations of r over 10, 60 and 240 rows.
    sd: sample standard deviation of r over 10, 60 and 240 rows, at least FLOOR; sd[60] is s60 of the formulas.
    lagged: sums of squared deviations of r and of the r before it, and of their products, over 60 rows.
    """

    bars: BarBlock
    path: LevelPath
    here: Floats
    open: Floats
    high: Floats
    low: Floats
    steps: Floats
    spread: dict[int, Floats]
    sd: dict[int, Floats]
    lagged: tuple[Floats, Floats, Floats]


def feature_inputs(bars: BarBlock) -> FeatureInputs:
    """Derive what the families share from a block of bars."""
    here = np.where(bars.low > 0, 1.0, np.nan)
    positive_close = np.where(bars.low > 0, bars.close, np.nan)
    steps = bars.steps
    spread = {size: pair[1] for sizes in ((10,), (60, 240)) for size, pair in mean_and_spread(steps, sizes).items()}
    return FeatureInputs(
        bars=bars,
        path=LevelPath(steps, LEVEL_WINDOWS),
        here=here,
        open=bars.open / positive_close,
        high=bars.high / positive_close,
        low=bars.low / positive_close,
        steps=steps,
        spread=spread,
        sd={size: np.maximum(np.sqrt(total / (size - 1)), FLOOR) for size, total in spread.items()},
        lagged=comoments(steps, np.append(np.full(1, np.nan), steps[:-1]), 60),
    )


def quotient(top: Floats, bottom: Floats, empty: float, least: float = 0.0) -> Floats:
    """top / bottom, and `empty` where bottom <= least (both ends of a flat market); NaN in either stays NaN."""
    return np.asarray(divided(top, bottom, empty, least))


def bounded(values: Floats, limit: float) -> Floats:
    """Clipped to [-limit, limit]; NaN stays NaN."""
    return np.asarray(cut(values, -limit, limit))


def bounded_log(ratio: Floats, limit: float) -> Floats:
    """ln(ratio) clipped to [-limit, limit]; a ratio of 0 gives -limit, NaN stays NaN."""
    return bounded(np.log(cut(ratio, np.exp(-limit), np.exp(limit))), limit)
