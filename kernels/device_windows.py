"""Windowed sums by doubling for all windows at once: the arithmetic of ``kernels.windows``, laid out for a GPU.

The operations and their order are those of one window after another, so the values are equal on bits; here every
operation covers [windows, bars]. The functions take any array that numpy's functions dispatch on.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

Parts: TypeAlias = tuple[Any, ...]

ELEMENTS = 2**25
"""Most values of a [windows, bars] array: more windows are done in batches."""


def doubling(blocks: Parts, windows: Sequence[int], join: Callable[[Parts, Any, Parts, Any], Parts]) -> list[Parts]:
    """For each window the joined parts, each [bars]; ``blocks`` are the parts of windows of one bar."""
    batch = max(ELEMENTS // max(len(blocks[0]), 1), 1)
    levels = [blocks]
    while 2 ** len(levels) <= max(windows):
        size = 2 ** (len(levels) - 1)
        older = tuple(part[0] for part in _shifted(levels[-1], np.array([size])))
        levels.append(join(levels[-1], size, older, size))
    found: list[Parts] = []
    for low in range(0, len(windows), batch):
        found += _batch(levels, np.array(windows[low : low + batch]), join)
    return found


def _batch(levels: list[Parts], windows: Any, join: Callable[[Parts, Any, Parts, Any], Parts]) -> list[Parts]:
    first = levels[0][0]
    results = tuple(np.full_like(part, np.nan, shape=(len(windows), len(first))) for part in levels[0])
    covered = np.zeros(len(windows), dtype=np.int64)
    for level, parts in enumerate(levels):
        size = 2**level
        for begins in (True, False):
            chosen = np.flatnonzero(((windows & size) > 0) & ((covered == 0) == begins))
            if len(chosen) == 0:
                continue
            places = np.asarray(chosen, like=first)
            if begins:
                joined = tuple(np.broadcast_to(part, (len(chosen), len(first))) for part in parts)
            else:
                bars = covered[chosen]
                older = _shifted(parts, bars)
                so_far = tuple(result[places] for result in results)
                joined = join(so_far, np.asarray(bars[:, np.newaxis].astype(float), like=first), older, float(size))
            for result, values in zip(results, joined, strict=True):
                result[places] = values
        covered[(windows & size) > 0] += size
    return [tuple(result[place] for result in results) for place in range(len(windows))]


def _shifted(parts: Parts, bars: Any) -> Parts:
    """The parts as they were some bars before, a row for each number of bars: each [rows, bars]."""
    first = parts[0]
    places = np.asarray(np.arange(len(first)), like=first)[np.newaxis, :] - np.asarray(bars, like=first)[:, np.newaxis]
    places = np.maximum(places, -1)  # before the first bar: the NaN that is appended
    nothing = np.asarray([np.nan], like=first)
    return tuple(np.concatenate([part, nothing])[places] for part in parts)
