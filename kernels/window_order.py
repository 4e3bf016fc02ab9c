"""Rank, median and mean absolute deviation of windows: exact, by comparing the bars of a window one by one.

They cost a pass a bar of the window. NaN rule of every function: NaN while the window is not full and wherever one of
its bars is NaN.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from kernels.windows import Array, lags, sums

ELEMENTS = 2**22
"""Most values of the windows that are sorted at once."""


def ranks(x: Array, windows: Sequence[int]) -> list[Array]:
    """Rank of the newest bar among the last w, 1 for the smallest; equal ones share the mean of their ranks."""
    found: dict[int, Array] = {}
    below, equal = np.where(np.isnan(x), np.nan, 1.0), np.zeros_like(x)
    for size, older in _reaching_back(x, max(windows)):
        below = below + np.where(older < x, 1.0, 0.0) + np.where(np.isnan(older), np.nan, 0.0)
        equal = equal + np.where(older == x, 0.5, 0.0)
        if size in windows:
            found[size] = below + equal
    found[1] = np.where(np.isnan(x), np.nan, 1.0)
    return [found[window] for window in windows]


def mean_deviations(x: Array, windows: Sequence[int]) -> list[Array]:
    """Mean distance of the last w bars from their mean, for each w."""
    rows = []
    for window, total in zip(windows, sums(x, windows), strict=True):
        mean = total / window
        distance = np.absolute(x - mean)
        for _, older in _reaching_back(x, window):
            distance = distance + np.absolute(older - mean)
        rows.append(distance / window)
    return rows


def medians(x: Array, windows: Sequence[int]) -> list[Array]:
    """Middle of the last w bars, for each w; of an even number the mean of the two middle ones. A zero counts as +0."""
    positive = x + 0.0  # zeros of both signs are equal to a sort: which comes first would follow the processor
    return [_median(positive, window) for window in windows]


def _median(x: Array, window: int) -> Array:
    found = np.full(len(x), np.nan)
    if window > len(x):
        return found
    views = np.lib.stride_tricks.sliding_window_view(x, window)
    step = max(ELEMENTS // window, 1)
    low, high = (window - 1) // 2, window // 2
    with np.errstate(invalid="ignore"):  # inf - inf between the middle ones
        for begin in range(0, len(views), step):
            part = np.partition(views[begin : begin + step], (low, high, window - 1), axis=1)  # NaN comes last
            middle = part[:, low] if low == high else 0.5 * part[:, low] + 0.5 * part[:, high]
            found[window - 1 + begin :][: len(part)] = np.where(np.isnan(part[:, -1]), np.nan, middle)
    return found


def _reaching_back(x: Array, window: int) -> Iterator[tuple[int, Array]]:
    """(bars covered so far, the oldest of them) for 2, 3, … window bars."""
    for bars in range(1, window):
        yield bars + 1, lags(x, [bars])[0]
