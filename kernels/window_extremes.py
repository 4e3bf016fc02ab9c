"""Largest and smallest of windows: two overlapping blocks of 1, 2, 4, … bars cover any window, for counting a bar twice
changes no extreme.

NaN rule: NaN while the window is not full and wherever one of its bars is NaN. A zero comes out as +0.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

CELLS = 2**16
"""Values that are written at once, so that they and the blocks they are read from stay in the cache."""


def maxima(x: Any, windows: Sequence[int]) -> list[Any]:
    """Largest of the last w bars for each w: a list of arrays [bars]."""
    return _rows(x, windows, np.maximum)


def minima(x: Any, windows: Sequence[int]) -> list[Any]:
    """Smallest of the last w bars for each w: a list of arrays [bars]."""
    return _rows(x, windows, np.minimum)


def write_maxima(x: Array, windows: Sequence[int], found: Array) -> None:
    """``maxima`` of a numpy array as the columns of ``found`` [bars, windows]."""
    _write(x, windows, found, np.maximum)


def write_minima(x: Array, windows: Sequence[int], found: Array) -> None:
    """``minima`` of a numpy array as the columns of ``found`` [bars, windows]."""
    _write(x, windows, found, np.minimum)


def _write(x: Array, windows: Sequence[int], found: Array, extreme: np.ufunc) -> None:
    blocks = {size: block for block, size in _blocks(x, max(windows), extreme)}
    for low, high, step in _evenly_spaced(windows):
        _fill(found[:, low:high], blocks[_largest_block(windows[low])], windows[low], step, extreme)


def _fill(found: Array, block: Array, window: int, step: int, extreme: np.ufunc) -> None:
    """Windows ``window``, ``window + step``, … that all are covered by two blocks of the same size."""
    bars, count = found.shape
    size = _largest_block(window)
    full = min(max(window, window + step * (count - 1)) - 1, bars)  # from here on the longest of them is full
    found[:full] = np.nan
    for column in range(count):
        back = window + step * column - size
        lead = slice(min(back + size - 1, full), full)
        extreme(block[lead], block[lead.start - back : full - back], out=found[lead, column])
    tile = max(CELLS // count, 1)
    for begin in range(full, bars, tile):
        part = found[begin : begin + tile]
        # element [t, column] is the block that ends at the window's oldest bars: one step further back a column
        first = block[begin - (window - size) :]
        older = np.lib.stride_tricks.as_strided(first, part.shape, (block.strides[0], -step * block.strides[0]))
        extreme(block[begin : begin + tile, np.newaxis], older, out=part)


def _evenly_spaced(windows: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(first place, place after the last, step) of runs of windows with one step and blocks of one size."""
    low = 0
    while low < len(windows):
        high = low + 1
        step = windows[high] - windows[low] if high < len(windows) else 0
        while (
            high < len(windows)
            and windows[high] - windows[high - 1] == step
            and _largest_block(windows[high]) == _largest_block(windows[low])
        ):
            high += 1
        yield low, high, step
        low = high


def _largest_block(window: int) -> int:
    return 1 << (window.bit_length() - 1)


def _blocks(x: Array, longest: int, extreme: np.ufunc) -> Iterator[tuple[Array, int]]:
    """(extreme of the last ``size`` bars [bars], size) for 1, 2, 4, … up to the longest window."""
    # x + 0.0 turns -0 into +0: which zero a ufunc picks depends on where in the array it stands
    block, size = x + 0.0, 1
    while True:
        yield block, size
        if 2 * size > longest:
            return
        longer = np.full_like(x, np.nan)
        if size < len(x):
            extreme(block[size:], block[: len(x) - size], out=longer[size:])
        block, size = longer, 2 * size


def _rows(x: Any, windows: Sequence[int], extreme: np.ufunc) -> list[Any]:
    results = [np.full_like(x, np.nan) for _ in windows]
    for block, size in _blocks(x, max(windows), extreme):
        for result, window in zip(results, windows, strict=True):
            older = window - size
            if size <= window < 2 * size and older < len(x):
                extreme(block[older:], block[: len(x) - older], out=result[older:])
    return results
