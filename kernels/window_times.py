"""Windows in time: the bars of (t - d, t], for each duration d in seconds.

The bars that pandas' ``rolling("30s")`` takes, t being a bar's start. The value exists once the series spans the
duration (t - first time >= d); before it is NaN, and it is NaN wherever one of the window's bars is. Windows are put
together by doubling like those of ``kernels.windows``, so nothing drifts and nothing of a spike stays.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.windows import Array, Join, Parts, join_moments

Times = NDArray[np.int64]


def sums(x: Array, times: Times, durations: Sequence[float]) -> list[Array]:
    """Sum of the window's bars for each duration in seconds: a list of arrays [bars]."""
    return [_joined((x,), *_reach(times, length), lambda a, _, b, __: (a[0] + b[0],))[0] for length in durations]


def means(x: Array, times: Times, durations: Sequence[float]) -> list[Array]:
    """Mean of the window's bars for each duration."""
    totals = zip(sums(x, times, durations), durations, strict=True)
    return [total / _reach(times, length)[0] for total, length in totals]


def spreads(x: Array, times: Times, durations: Sequence[float]) -> list[Array]:
    """Sample standard deviation (ddof = 1) of the window's bars for each duration; NaN where it holds one bar."""
    nothing = np.where(np.isnan(x), np.nan, 0.0)
    rows = []
    with np.errstate(all="ignore"):
        for length in durations:
            counts, exists = _reach(times, length)
            squares = _joined((x, nothing, nothing), counts, exists, join_moments)[2]
            rows.append(np.sqrt(squares / (counts - 1.0)))
    return rows


def maxima(x: Array, times: Times, durations: Sequence[float]) -> list[Array]:
    """Largest of the window's bars for each duration; a zero comes out as +0."""
    return [_extreme(x, *_reach(times, length), np.maximum) for length in durations]


def minima(x: Array, times: Times, durations: Sequence[float]) -> list[Array]:
    """Smallest of the window's bars for each duration; a zero comes out as +0."""
    return [_extreme(x, *_reach(times, length), np.minimum) for length in durations]


def _reach(times: Times, seconds: float) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Bars in each bar's window, and whether the series spans the duration there."""
    length = round(seconds * 1e9)
    first = np.searchsorted(times, times - length, side="right")
    return np.arange(1, len(times) + 1) - first, times - times[0] >= length


def _back(parts: Parts, places: NDArray[np.int64]) -> Parts:
    return tuple(np.where(places >= 0, part[np.maximum(places, 0)], np.nan) for part in parts)


def _joined(parts: Parts, counts: NDArray[np.int64], exists: NDArray[np.bool_], join: Join) -> Parts:
    """The parts of windows of ``counts`` bars, a number of its own at each bar; NaN where ``exists`` is false."""
    bars = np.arange(len(counts))
    results: list[Any] = [np.full(len(counts), np.nan) for _ in parts]
    covered, size = np.zeros(len(counts), dtype=np.int64), 1
    combine: Callable[..., Parts] = join
    with np.errstate(all="ignore"):
        while size <= counts.max():
            wanted = np.flatnonzero((counts & size > 0) & exists)
            older = _back(parts, wanted - covered[wanted])
            begun = covered[wanted] > 0
            so_far = tuple(result[wanted] for result in results)
            joined = combine(so_far, covered[wanted].astype(float), older, float(size))
            for result, fresh, both in zip(results, older, joined, strict=True):
                result[wanted] = np.where(begun, both, fresh)
            covered[wanted] += size
            parts = combine(parts, float(size), _back(parts, bars - size), float(size))
            size *= 2
    return tuple(results)


def _extreme(x: Array, counts: NDArray[np.int64], exists: NDArray[np.bool_], extreme: np.ufunc) -> Array:
    # two overlapping blocks cover any window; x + 0.0 turns -0 into +0, as in kernels.windows
    bars = np.arange(len(counts))
    result, block, size = np.full(len(counts), np.nan), x + 0.0, 1
    while size <= counts.max():
        wanted = np.flatnonzero((counts >= size) & (counts < 2 * size) & exists)
        result[wanted] = extreme(block[wanted], block[wanted - (counts[wanted] - size)])
        block = extreme(block, _back((block,), bars - size)[0])
        size *= 2
    return result
