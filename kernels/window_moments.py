"""Second moments of windows: squares, covariance, correlation, regression slopes, and linearly weighted means.

Blocks are joined like those of ``kernels.windows``: only differences of values and of means enter, so a level added to
a series costs no digits, equal values give exactly 0, and nothing of a spike stays once it has left the window. NaN
rule of every function: NaN while the window is not full and wherever one of its bars is NaN in any source.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernels.windows import Array, Parts, doubled, join_moments


def squares(x: Array, windows: Sequence[int]) -> list[Array]:
    """Sum of squared deviations from the mean of the last w bars, for each w: a list of arrays [bars]."""
    nothing = np.where(np.isnan(x), np.nan, 0.0)
    return [parts[2] for parts in doubled((x, nothing, nothing), windows, join_moments)]


def covariances(x: Array, y: Array, windows: Sequence[int]) -> list[Array]:
    """Sample covariance (ddof = 1) of the last w >= 2 bars, for each w."""
    return [products / (w - 1) for (_, _, products), w in zip(_joint(x, y, windows), windows, strict=True)]


def correlations(x: Array, y: Array, windows: Sequence[int]) -> list[Array]:
    """Pearson's correlation of the last w bars, within [-1, 1]; NaN where a source is constant."""
    rows = []
    with np.errstate(all="ignore"):
        for of_x, of_y, products in _joint(x, y, windows):
            found = products / (np.sqrt(of_x) * np.sqrt(of_y))
            rows.append(np.minimum(np.maximum(found, -1.0), 1.0))
    return rows


def slopes(x: Array, y: Array, windows: Sequence[int]) -> list[Array]:
    """Slope of x regressed on y over the last w bars, cov(x, y) / var(y); NaN where y is constant."""
    with np.errstate(all="ignore"):
        return [products / np.where(of_y > 0.0, of_y, np.nan) for _, of_y, products in _joint(x, y, windows)]


def trends(x: Array, windows: Sequence[int]) -> list[Array]:
    """Slope of x regressed on the bar number over the last w bars, in units of x a bar."""
    bars = np.cumsum(np.ones_like(x))
    found = _joint(x, bars, windows)
    return [products / (w * (w * w - 1) / 12.0) for (_, _, products), w in zip(found, windows, strict=True)]


def weighted_means(x: Array, windows: Sequence[int]) -> list[Array]:
    """Mean of the last w bars with weights w, w - 1, … 1 from the newest on, for each w."""
    found = doubled((x, x), windows, _join_weighted)
    return [weighted / (w * (w + 1) / 2.0) for (_, weighted), w in zip(found, windows, strict=True)]


def _joint(x: Array, y: Array, windows: Sequence[int]) -> list[tuple[Any, Any, Any]]:
    """Sums of squared deviations of x and of y, and of their products, for each window."""
    nothing = np.where(np.isnan(x) | np.isnan(y), np.nan, 0.0)
    blocks = (x + nothing, nothing, nothing, y + nothing, nothing, nothing, nothing)
    return [(parts[2], parts[5], parts[6]) for parts in doubled(blocks, windows, _join_products)]


def _join_products(recent: Parts, recent_bars: int, older: Parts, older_bars: int) -> Parts:
    """Parts: those of ``join_moments`` for x, then for y, and the sum of products of deviations."""
    of_x = join_moments(recent[:3], recent_bars, older[:3], older_bars)
    of_y = join_moments(recent[3:6], recent_bars, older[3:6], older_bars)
    x_step = (older[0] - recent[0]) + (older[1] - recent[1])
    y_step = (older[3] - recent[3]) + (older[4] - recent[4])
    share = recent_bars * older_bars / (recent_bars + older_bars)
    return (*of_x, *of_y, recent[6] + older[6] + x_step * y_step * share)


def _join_weighted(recent: Parts, _: int, older: Parts, older_bars: int) -> Parts:
    """Parts: the sum, and the sum with weights 1, 2, … from the oldest bar on."""
    return recent[0] + older[0], recent[1] + older[1] + recent[0] * older_bars
