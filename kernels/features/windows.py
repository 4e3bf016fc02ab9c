"""Sliding windows put together from halves: every value comes from the rows of its window alone.

A window of n rows is an older block of n - m rows and a newer one of m, m = n // 2 for an even n and 1 for an odd one,
down to single rows. Blocks are computed once for all rows and shared by all windows that contain them, so a window
costs about 2 log2(n) passes over the rows. There is no running total: bits do not depend on where the series starts, on
how it is cut into chunks, or on what came before the window, and a NaN lives exactly as long as it lies in the window.

Central moments are merged by differences of block means (Chan, Golub, LeVeque 1983; Pébay 2008): nothing cancels, and a
window of equal values has a spread of exactly 0.

Levels are measured in units of the window's last level, `LevelPath` gives the factors. Arrays inside are indexed by the
window's first row; `at_end` moves the values to the window's last row.
"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
State = tuple[Floats, ...]
Merge = Callable[[State, State, int, int], State]


class LevelPath:
    """Levels L_t = L_{t-1} exp(step_t), known through their ratios only; keeps what it has computed."""

    def __init__(self, steps: Floats) -> None:
        self._totals = {1: steps}
        self._ratios: dict[tuple[int, float], Floats] = {}

    def total(self, rows: int) -> Floats:
        """Sum of the steps of `rows` rows, ln(L_t / L_{t-rows}), by first row of the window."""
        if rows not in self._totals:
            newer = newer_part(rows)
            older = rows - newer
            self._totals[rows] = self.total(older)[: -newer or None] + self.total(newer)[older:]
        return self._totals[rows]

    def ratio(self, rows: int, power: float) -> Floats:
        """(L_{t-rows} / L_t) ** power by first row of the window."""
        if (rows, power) not in self._ratios:
            self._ratios[rows, power] = np.exp(-power * self.total(rows))
        return self._ratios[rows, power]


def newer_part(rows: int) -> int:
    """Rows in the newer of the two blocks of a window."""
    return 1 if rows % 2 else rows // 2


def windows(
    single: State, sizes: Iterable[int], merge: Merge, path: LevelPath | None = None, powers: tuple[float, ...] = ()
) -> dict[int, State]:
    """States of all windows of the given sizes, by first row of the window.

    Args:
        single: the state of windows of one row, arrays [rows].
        sizes: how many rows a window has.
        merge: state of a window from the states of its older and newer block and their sizes.
        path, powers: array k of the older block is multiplied by (its last level / the window's last level) to the
            powers[k].
    """
    states = {1: single}
    for size in _ladder(sizes):
        newer_rows = newer_part(size)
        older_rows = size - newer_rows
        older = tuple(array[: len(array) - newer_rows] for array in states[older_rows])
        newer = tuple(array[older_rows:] for array in states[newer_rows])
        if path is not None:
            older = tuple(
                array * path.ratio(newer_rows, power)[older_rows:] if power else array
                for array, power in zip(older, powers, strict=True)
            )
        states[size] = merge(older, newer, older_rows, newer_rows)
    return states


def at_end(values: Floats, rows: int) -> Floats:
    """[rows] with each value at its window's last row; NaN before the first full window."""
    placed = np.full(rows, np.nan)
    placed[rows - len(values) :] = values
    return placed


def window_sum(
    values: Floats, size: int, path: LevelPath | None = None, power: float = 1.0, decay: float = 1.0
) -> Floats:
    """Sum over the last `size` rows, at the last row; with a decay the weight of the row j rows back is decay ** j."""

    def merge(older: State, newer: State, older_rows: int, newer_rows: int) -> State:
        weighted = older[0] if decay == 1.0 else older[0] * decay**newer_rows
        return (weighted + newer[0],)

    return at_end(windows((values,), (size,), merge, path, (power,))[size][0], len(values))


def decay_weight(size: int, decay: float) -> float:
    """Sum of decay ** j for j < size, added up in the order of `window_sum`, so that a constant is its own mean."""
    if size == 1:
        return 1.0
    newer = newer_part(size)
    return decay_weight(size - newer, decay) * decay**newer + decay_weight(newer, decay)


def window_extreme(values: Floats, size: int, path: LevelPath, larger: bool) -> Floats:
    """Largest (or smallest) level over the last `size` rows in units of the last level, at the last row."""
    pick = np.maximum if larger else np.minimum

    def merge(older: State, newer: State, older_rows: int, newer_rows: int) -> State:
        return (pick(older[0], newer[0]),)

    return at_end(windows((values,), (size,), merge, path, (1.0,))[size][0], len(values))


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
    states = windows((values, np.zeros_like(values)), sizes, merge_spread, path, (1.0, 2.0))
    length = len(values) if rows is None else rows
    return {size: (at_end(states[size][0], length), at_end(states[size][1], length)) for size in sizes}


def merge_spread(older: State, newer: State, older_rows: int, newer_rows: int) -> State:
    """Mean and sum of squared deviations of two blocks together."""
    rows = older_rows + newer_rows
    gap = newer[0] - older[0]
    mean = older[0] + gap * (newer_rows / rows)
    return mean, older[1] + newer[1] + gap * gap * (older_rows * newer_rows / rows)


def central_moments(values: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Sums of the second, third and fourth power of the deviations from the window's mean, at the last row."""
    nothing = np.zeros_like(values)
    state = windows((values, nothing, nothing, nothing), (size,), _merge_four)[size]
    second, third, fourth = (at_end(array, len(values)) for array in state[1:])
    return second, third, fourth


def _merge_four(older: State, newer: State, a: int, b: int) -> State:
    n = a + b
    (_, a2, a3, a4), (_, b2, b3, b4) = older, newer
    mean, second = merge_spread(older[:2], newer[:2], a, b)
    gap = newer[0] - older[0]
    square = gap * gap
    third = a3 + b3 + square * gap * (a * b * (a - b) / n**2) + gap * (a * b2 - b * a2) * (3 / n)
    fourth = (
        a4
        + b4
        + square * square * (a * b * (a * a - a * b + b * b) / n**3)
        + square * (a * a * b2 + b * b * a2) * (6 / n**2)
        + gap * (a * b3 - b * a3) * (4 / n)
    )
    return mean, second, third, fourth


def comoments(
    left: Floats, right: Floats, size: int, rows: int, path: LevelPath | None = None, power: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Sums of squared deviations of left and of right and of their products over a window, at the last row.

    Args:
        left, right: [n], n <= rows.
        size: rows of the window.
        rows: length of the result.
        path, power: where given, right is measured in (its own row's level) ** power.
    """
    nothing = np.zeros_like(left)
    single = (left, right, nothing, nothing, nothing)
    state = windows(single, (size,), _merge_pair, path, (0.0, power, 0.0, 2 * power, power))[size]
    left_spread, right_spread, product = (at_end(array, rows) for array in state[2:])
    return left_spread, right_spread, product


def _merge_pair(older: State, newer: State, a: int, b: int) -> State:
    left_mean, left = merge_spread((older[0], older[2]), (newer[0], newer[2]), a, b)
    right_mean, right = merge_spread((older[1], older[3]), (newer[1], newer[3]), a, b)
    product = older[4] + newer[4] + (newer[0] - older[0]) * (newer[1] - older[1]) * (a * b / (a + b))
    return left_mean, right_mean, left, right, product


def _ladder(sizes: Iterable[int]) -> list[int]:
    wanted, open_sizes = set(), list(sizes)
    while open_sizes:
        size = open_sizes.pop()
        if size > 1 and size not in wanted:
            wanted.add(size)
            open_sizes += [newer_part(size), size - newer_part(size)]
    return sorted(wanted)
