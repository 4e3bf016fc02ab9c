"""Sliding windows put together from halves: every value comes from the rows of its window alone.

A window of n rows is an older block of n - m rows and a newer one of m, m = n // 2 for an even n and 1 for an odd one,
down to single rows. Blocks are computed once for all rows and shared by the windows on one ladder, so a window costs
about 2 log2(n) passes over the rows. There is no running total: bits do not depend on where the series starts, on
how it is cut into chunks, or on what came before the window, and a NaN lives exactly as long as it lies in the window.

Central moments are merged by differences of block means (Chan, Golub, LeVeque 1983; Pébay 2008): nothing cancels, and a
window of equal values has a spread of exactly 0.

Levels are measured in units of the window's last level, `LevelPath` gives the factors; a ladder is climbed in one
compiled call (kernels.features.ladders). Results stand at the window's last row.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernels.features.ladders import (
    Ladder,
    extreme_ladder,
    level_ratios,
    moment_ladder,
    product_ladder,
    spread_ladder,
    sum_ladder,
)

Floats = NDArray[np.float64]


class LevelPath:
    """Levels L_t = L_{t-1} exp(step_t), known through their ratios only.

    blocks: sizes of the blocks of the windows it is made for.
    ratios: float64 [blocks, rows], L_{t-n} / L_t by the first row of the window of n rows, for each n of the blocks.
    """

    def __init__(self, steps: Floats, sizes: Sequence[int]) -> None:
        """Windows over levels may have the given sizes."""
        self.blocks = _ratio_blocks(tuple(sizes))
        self._totals = {1: steps}
        self._powers: dict[tuple[float, tuple[int, ...]], Floats] = {}
        climb = _ratio_ladder(self.blocks)
        self.ratios = np.empty((len(climb) + 1, len(steps)))
        level_ratios(np.exp(-steps), climb, self.ratios)

    def powers(self, power: float, blocks: tuple[int, ...]) -> Floats:
        """Ratios of the blocks to the power 0.5 or -1, [blocks, rows]."""
        if (power, blocks) not in self._powers:
            made = np.empty((len(blocks), self.ratios.shape[1]))
            for row, size in zip(made, blocks, strict=True):
                ratio = self.ratios[self.blocks.index(size)]
                if power == 0.5:
                    np.sqrt(ratio, out=row)
                else:
                    np.divide(1.0, ratio, out=row)
            self._powers[power, blocks] = made
        return self._powers[power, blocks]

    def total(self, rows: int) -> Floats:
        """Sum of the steps of `rows` rows, ln(L_t / L_{t-rows}), by first row of the window."""
        if rows not in self._totals:
            newer = newer_part(rows)
            older = rows - newer
            self._totals[rows] = self.total(older)[: -newer or None] + self.total(newer)[older:]
        return self._totals[rows]


def newer_part(rows: int) -> int:
    """Rows in the newer of the two blocks of a window."""
    return 1 if rows % 2 else rows // 2


def at_end(values: Floats, rows: int) -> Floats:
    """[rows] with each value at its window's last row; NaN before the first full window."""
    placed = np.empty(rows)
    placed[: rows - len(values)] = np.nan
    placed[rows - len(values) :] = values
    return placed


def window_sum(
    values: Floats, size: int, path: LevelPath | None = None, power: float = 1.0, decay: float = 1.0
) -> Floats:
    """Sum over the last `size` rows, at the last row; with a decay the weight of the row j rows back is decay ** j."""
    return window_sums(values, (size,), path, power, decay)[size]


def window_sums(
    values: Floats, sizes: Sequence[int], path: LevelPath | None = None, power: float = 1.0, decay: float = 1.0
) -> dict[int, Floats]:
    """`window_sum` of several sizes, each on the ladder of the largest.

    Args:
        values: [n].
        sizes: rows of the windows.
        path, power: where given, values are in (their own row's level) ** power; power is 1, 0.5 or -1.
        decay: the weight of the row j rows back is decay ** j.
    """
    out = np.empty((len(sizes), len(values)))
    sum_ladder(values, *_climbed(sizes, path, power), _step_weights(tuple(sizes), decay), out)
    return dict(zip(sizes, out, strict=True))


@lru_cache(maxsize=64)
def decay_weight(size: int, decay: float) -> float:
    """Sum of decay ** j for j < size, added up in the order of `window_sum`, so that a constant is its own mean."""
    if size == 1:
        return 1.0
    newer = newer_part(size)
    return decay_weight(size - newer, decay) * decay**newer + decay_weight(newer, decay)


def window_extremes(values: Floats, sizes: Sequence[int], path: LevelPath, larger: bool) -> dict[int, Floats]:
    """Largest (or smallest) level over the last rows in units of the last level, at the last row, by size of window."""
    out = np.empty((len(sizes), len(values)))
    extreme_ladder(values, *_climbed(sizes, path), larger, out)
    return dict(zip(sizes, out, strict=True))


def mean_and_spread(
    values: Floats, sizes: Sequence[int], path: LevelPath | None = None, power: float = 1.0
) -> dict[int, tuple[Floats, Floats]]:
    """Mean and sum of squared deviations from it over windows of each size, at the last row.

    Args:
        values: [n].
        sizes: rows of the windows, each on the ladder of the largest.
        path, power: where given, values are in (their own row's level) ** power.
    """
    out = np.empty((len(sizes), 2, len(values)))
    spread_ladder(values, *_climbed(sizes, path, power), out)
    return {size: (out[place, 0], out[place, 1]) for place, size in enumerate(sizes)}


def central_moments(values: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Sums of the second, third and fourth power of the deviations from the window's mean, at the last row."""
    out = np.empty((1, 4, len(values)))
    moment_ladder(values, ladder((size,), ()), out)
    return out[0, 1], out[0, 2], out[0, 3]


def products(left: Floats, right: Floats, size: int, path: LevelPath | None = None, power: float = 1.0) -> Floats:
    """Sum of the products of the deviations of left and of right from their means over a window, at the last row.

    Args:
        left, right: [n].
        size: rows of the window.
        path, power: where given, right is measured in (its own row's level) ** power.
    """
    out = np.empty((1, 3, len(left)))
    product_ladder(left, right, *_climbed((size,), path, power), out)
    return np.asarray(out[0, 2])


def _climbed(sizes: Sequence[int], path: LevelPath | None, power: float = 1.0) -> tuple[Floats | None, Ladder]:
    """The ratios of a path and the ladder of the windows."""
    if path is None:
        return None, ladder(tuple(sizes), ())
    if power == 1.0:
        return path.ratios, ladder(tuple(sizes), path.blocks)
    blocks = _newer_blocks(tuple(sizes))
    return path.powers(power, blocks), ladder(tuple(sizes), blocks)


@lru_cache(maxsize=256)
def ladder(sizes: tuple[int, ...], blocks: tuple[int, ...]) -> Ladder:
    """The ladder (kernels.features.ladders) of windows of the given sizes; `blocks` are the rows of its ratios, if any.

    Raises:
        ValueError: a size is not on the ladder of the largest, or there are ratios, but not of all its blocks.
    """
    climb = _climb(max(sizes))
    places = {size: place for place, size in enumerate(sizes)}
    if not {*places} <= {older + newer for older, newer in climb}:
        raise ValueError(f"windows of {sizes} rows do not lie on one ladder; compute them apart")
    if blocks and not {newer for _, newer in climb} <= {*blocks}:
        raise ValueError(f"windows of {sizes} rows on a path without them; name their sizes where the path is made")
    steps = [
        (older, newer, blocks.index(newer) if blocks else -1, places.get(older + newer, -1)) for older, newer in climb
    ]
    return np.array(steps, np.int64).reshape(-1, 4)


@lru_cache(maxsize=64)
def _step_weights(sizes: tuple[int, ...], decay: float) -> Floats:
    """On each step of the ladder, what the older block's rows count once they lie behind the newer ones."""
    return np.array([decay**newer for _, newer in _climb(max(sizes))], np.float64)


@lru_cache(maxsize=16)
def _ratio_ladder(blocks: tuple[int, ...]) -> Ladder:
    """For `level_ratios`: how each block is made of two others."""
    row = {size: index for index, size in enumerate(blocks)}
    steps = [(size - newer_part(size), row[size - newer_part(size)], row[newer_part(size)]) for size in blocks[1:]]
    return np.array(steps, np.int64).reshape(-1, 3)


@lru_cache(maxsize=16)
def _ratio_blocks(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes of all newer blocks of the windows, and of the blocks these are made of, smallest first."""
    newer = {part for size in sizes for _, part in _climb(size)}
    return tuple(sorted({1} | {older + part for size in newer for older, part in _climb(size)}))


@lru_cache(maxsize=64)
def _newer_blocks(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({newer for _, newer in _climb(max(sizes))}))


def _climb(size: int) -> list[tuple[int, int]]:
    """Rows of the older and the newer block of each window from two rows to `size`."""
    steps: list[tuple[int, int]] = []
    while size > 1:
        newer = newer_part(size)
        steps.insert(0, (size - newer, newer))
        size -= newer
    return steps
