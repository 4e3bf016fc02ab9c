"""Windowed sums, means and deviations of an array, by doubling; extremes are in ``kernels.window_extremes``.

A window of w bars is put together from blocks of 1, 2, 4, … bars, so a value depends on the bars of its own window
alone: no running sum drifts, nothing of a spike or a NaN stays once it has left the window, and appended bars change
nothing earlier. The blocks are shared by all windows of a call. Costs log2(w) passes; error grows with log2(w), not
with w.

NaN rule of every function: NaN while the window is not full and wherever one of its bars is NaN.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernels import device_windows

Array: TypeAlias = NDArray[np.float64]
Parts: TypeAlias = tuple[Array, ...]
Join: TypeAlias = Callable[[Parts, int, Parts, int], Parts]
"""(recent block, its bars, older block, its bars) → the block of both."""


def sums(x: Array, windows: Sequence[int]) -> list[Array]:
    """Sum of the last w bars for each w: a list of arrays [bars]."""
    return [parts[0] for parts in doubled((x,), windows, lambda a, _, b, __: (a[0] + b[0],))]


def lags(x: Array, windows: Sequence[int]) -> list[Array]:
    """The value w >= 0 bars before for each w: a list of arrays [bars]; NaN where there is none."""
    return [_shifted((x,), bars)[0] if bars else x for bars in windows]


def deviations(x: Array, windows: Sequence[int]) -> list[tuple[Array, Array]]:
    """(x - mean, sample standard deviation with ddof = 1) of the last w bars for each w >= 2.

    Blocks are joined by Chan, Golub and LeVeque's pairwise update (1979), with each mean kept as its distance from the
    block's newest value: only differences of x enter, so a constant added to x costs no digits and equal values give
    exactly 0 and 0.
    """
    nothing = np.where(np.isnan(x), np.nan, 0.0)
    found = doubled((x, nothing, nothing), windows, join_moments)
    if isinstance(x, np.ndarray):
        pairs = zip(found, windows, strict=True)
        return [(0.0 - offset, np.sqrt(squares / (w - 1))) for (_, offset, squares), w in pairs]
    distances = 0.0 - np.stack([offset for _, offset, _ in found])  # a device takes all windows in one operation
    degrees = np.asarray([[w - 1.0] for w in windows], like=x)
    spreads = np.sqrt(np.stack([squares for _, _, squares in found]) / degrees)
    return list(zip(distances, spreads, strict=True))


def join_moments(recent: Parts, recent_bars: int, older: Parts, older_bars: int) -> Parts:
    """Parts: the block's newest value, its mean minus that value, the sum of squared deviations from the mean."""
    total = recent_bars + older_bars
    step = (older[0] - recent[0]) + (older[1] - recent[1])  # between the two means
    squares = recent[2] + older[2] + step * step * (recent_bars * older_bars / total)
    return recent[0], recent[1] + step * (older_bars / total), squares


def _shifted(parts: Parts, bars: int) -> Parts:
    def shift(x: Array) -> Array:
        moved = np.empty_like(x)
        moved[:bars] = np.nan
        if bars < len(x):
            moved[bars:] = x[: len(x) - bars]
        return moved

    return tuple(shift(part) for part in parts)


def doubled(blocks: Parts, windows: Sequence[int], join: Join) -> list[Any]:
    """The parts of each window, put together from the parts of windows of one bar by ``join``."""
    if not isinstance(blocks[0], np.ndarray):  # a device's array: one operation for all windows, not one for each
        with np.errstate(all="ignore"):
            return device_windows.doubling(blocks, windows, join)
    results: list[Parts | None] = [None] * len(windows)
    covered = [0] * len(windows)
    size = 1
    with np.errstate(all="ignore"):
        while True:
            for place, window in enumerate(windows):
                if window & size:
                    so_far = results[place]
                    older = _shifted(blocks, covered[place]) if covered[place] else blocks
                    results[place] = older if so_far is None else join(so_far, covered[place], older, size)
                    covered[place] += size
            if 2 * size > max(windows):
                return results
            blocks = join(blocks, size, _shifted(blocks, size), size)
            size *= 2
