"""Sliding windows put together from halves: every value comes from the rows of its window alone.

A window of n rows is an older block of n - m rows and a newer one of m, m = n // 2 for an even n and 1 for an odd one,
down to single rows. Blocks are computed once for all rows and shared by all windows that contain them, so a window
costs about 2 log2(n) passes over the rows. There is no running total: bits do not depend on where the series starts, on
how it is cut into chunks, or on what came before the window, and a NaN lives exactly as long as it lies in the window.

Central moments are merged by differences of block means (Chan, Golub, LeVeque 1983; Pébay 2008): nothing cancels, and a
window of equal values has a spread of exactly 0.

Levels are measured in units of the window's last level, `LevelPath` gives the factors; the merging of two blocks is one
compiled pass (kernels.features.merges). Arrays inside are indexed by the
window's first row; `at_end` moves the values to the window's last row.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernels.features.merges import add, larger_of, merge_four, merge_pair, merge_spread, smaller_of

Floats = NDArray[np.float64]
State = tuple[Floats, ...]
Parts = Sequence[Floats]
Merge = Callable[[Parts, Parts, Floats | None, int, int], State]


class LevelPath:
    """Levels L_t = L_{t-1} exp(step_t), known through their ratios only; keeps what it has computed."""

    def __init__(self, steps: Floats) -> None:
        self._totals = {1: steps}
        self._ratios: dict[tuple[int, float], Floats] = {(1, 1.0): np.exp(-steps)}

    def total(self, rows: int) -> Floats:
        """Sum of the steps of `rows` rows, ln(L_t / L_{t-rows}), by first row of the window."""
        if rows not in self._totals:
            newer = newer_part(rows)
            older = rows - newer
            self._totals[rows] = self.total(older)[: -newer or None] + self.total(newer)[older:]
        return self._totals[rows]

    def ratio(self, rows: int, power: float) -> Floats:
        """(L_{t-rows} / L_t) ** power by first row of the window; power is 1, 0.5 or -1."""
        if (rows, power) not in self._ratios:
            if power == 1.0:
                newer = newer_part(rows)
                older = rows - newer
                made = self.ratio(older, 1.0)[: -newer or None] * self.ratio(newer, 1.0)[older:]
            else:
                made = np.sqrt(self.ratio(rows, 1.0)) if power == 0.5 else 1.0 / self.ratio(rows, 1.0)
            self._ratios[rows, power] = made
        return self._ratios[rows, power]


def newer_part(rows: int) -> int:
    """Rows in the newer of the two blocks of a window."""
    return 1 if rows % 2 else rows // 2


def windows(
    single: State, sizes: Iterable[int], merge: Merge, path: LevelPath | None = None, power: float = 1.0
) -> dict[int, State]:
    """States of all windows of the given sizes, by first row of the window.

    Args:
        single: the state of windows of one row, arrays [rows].
        sizes: how many rows a window has.
        merge: state of a window from the states of its older and newer block, the factor that brings the older block to
            the newer one's last level (None where there are no levels), and their sizes.
        path, power: the factor is (the older block's last level / the window's last level) ** power.
    """
    states = {1: single}
    for size, older_rows, newer_rows in _ladder(tuple(sizes)):
        older = [array[:-newer_rows] for array in states[older_rows]]
        newer = [array[older_rows:] for array in states[newer_rows]]
        ratio = None if path is None else path.ratio(newer_rows, power)[older_rows:]
        states[size] = merge(older, newer, ratio, older_rows, newer_rows)
    return states


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

    def merge(older: Parts, newer: Parts, ratio: Floats | None, older_rows: int, newer_rows: int) -> State:
        return (add(older[0], newer[0], ratio, decay**newer_rows),)

    return at_end(windows((values,), (size,), merge, path, power)[size][0], len(values))


def window_sums(
    values: Floats, sizes: tuple[int, ...], path: LevelPath | None = None, power: float = 1.0
) -> dict[int, Floats]:
    """`window_sum` of several sizes; they share their blocks."""

    def merge(older: Parts, newer: Parts, ratio: Floats | None, older_rows: int, newer_rows: int) -> State:
        return (add(older[0], newer[0], ratio, 1.0),)

    states = windows((values,), sizes, merge, path, power)
    return {size: at_end(states[size][0], len(values)) for size in sizes}


@lru_cache(maxsize=64)
def decay_weight(size: int, decay: float) -> float:
    """Sum of decay ** j for j < size, added up in the order of `window_sum`, so that a constant is its own mean."""
    if size == 1:
        return 1.0
    newer = newer_part(size)
    return decay_weight(size - newer, decay) * decay**newer + decay_weight(newer, decay)


def window_extreme(values: Floats, size: int, path: LevelPath, larger: bool) -> Floats:
    """Largest (or smallest) level over the last `size` rows in units of the last level, at the last row."""
    pick = larger_of if larger else smaller_of

    def merge(older: Parts, newer: Parts, ratio: Floats | None, older_rows: int, newer_rows: int) -> State:
        return (pick(older[0], newer[0], ratio),)

    return at_end(windows((values,), (size,), merge, path)[size][0], len(values))


def mean_and_spread(
    values: Floats, sizes: Iterable[int], path: LevelPath | None = None, rows: int | None = None
) -> dict[int, tuple[Floats, Floats]]:
    """Mean and sum of squared deviations from it over windows of each size, at the last row.

    Args:
        values: [n].
        sizes: rows of the windows.
        path: where given, values are levels in units of their own row's level.
        rows: length of the result where values start later than row 0.
    """
    sizes = tuple(sizes)

    def merge(older: Parts, newer: Parts, ratio: Floats | None, a: int, b: int) -> State:
        return tuple(merge_spread(*older, *newer, ratio, a, b))

    states = windows((values, np.zeros_like(values)), sizes, merge, path)
    length = len(values) if rows is None else rows
    return {size: (at_end(states[size][0], length), at_end(states[size][1], length)) for size in sizes}


def central_moments(values: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Sums of the second, third and fourth power of the deviations from the window's mean, at the last row."""

    def merge(older: Parts, newer: Parts, ratio: Floats | None, a: int, b: int) -> State:
        return tuple(merge_four(*older, *newer, a, b))

    nothing = np.zeros_like(values)
    state = windows((values, nothing, nothing, nothing), (size,), merge)[size]
    second, third, fourth = (at_end(array, len(values)) for array in state[1:])
    return second, third, fourth


def comoments(
    left: Floats, right: Floats, size: int, rows: int, path: LevelPath | None = None, power: float = 1.0
) -> tuple[Floats, Floats, Floats]:
    """Sums of squared deviations of left and of right and of their products over a window, at the last row.

    Args:
        left, right: [n], n <= rows.
        size: rows of the window.
        rows: length of the result.
        path, power: where given, right is measured in (its own row's level) ** power.
    """

    def merge(older: Parts, newer: Parts, ratio: Floats | None, a: int, b: int) -> State:
        return tuple(merge_pair(*older, *newer, ratio, a, b))

    nothing = np.zeros_like(left)
    single = (np.ascontiguousarray(left), np.ascontiguousarray(right), nothing, nothing, nothing)
    state = windows(single, (size,), merge, path, power)[size]
    left_spread, right_spread, product = (at_end(array, rows) for array in state[2:])
    return left_spread, right_spread, product


@lru_cache(maxsize=256)
def _ladder(sizes: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """Every window needed for the sizes, smallest first, with the rows of its older and newer block."""
    wanted, open_sizes = set(), list(sizes)
    while open_sizes:
        size = open_sizes.pop()
        if size > 1 and size not in wanted:
            wanted.add(size)
            open_sizes += [newer_part(size), size - newer_part(size)]
    return tuple((size, size - newer_part(size), newer_part(size)) for size in sorted(wanted))
