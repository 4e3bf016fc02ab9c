"""All blocks of a window in one compiled call: its ladder climbed for every row, from single rows to the window.

A ladder is int64 [steps, 4], smallest window first: rows of the older and of the newer block, the row of `ratios` that
belongs to the newer one, and the row of `out` that takes the window (-1 for none). The older block is the window of the
step before, the newer one the same again or a single row. Windows are indexed by their first row inside, and by their last
one in `out`, which holds NaN before the first full window.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled
from kernels.features.merges import add, larger_of, merge_four, merge_products, merge_spread, smaller_of

Floats = NDArray[np.float64]
Ladder = NDArray[np.int64]


@compiled
def level_ratios(first: Floats, ladder: Ladder, out: Floats) -> None:
    """Row 0 of out is L_{t-1} / L_t; row k that of the older rows together by first row, from the rows of its blocks.

    ladder: int64 [k, 3], rows of the older block and the rows of `out` that hold the older and the newer block's ratios.
    """
    out[0] = first
    for step in range(len(ladder)):
        older, left, right = ladder[step]
        rows = max(0, out.shape[1] - older)
        _multiply(out[left][:rows], out[right][older:], out[step + 1][:rows])
        out[step + 1][rows:] = np.nan


@compiled
def _multiply(left: Floats, right: Floats, out: Floats) -> None:
    for i in range(len(out)):
        out[i] = left[i] * right[i]


@compiled
def sum_ladder(values: Floats, ratios: Any, ladder: Ladder, weights: Floats, out: Floats) -> None:
    """Sums of windows, out [places, rows]; on each step the older block counts `weights[step]` times."""
    scratch = np.empty((2, len(values)))
    state = values
    for step in range(len(ladder)):
        older, newer, level, place = ladder[step]
        rows = len(values) - older - newer + 1
        if place >= 0:
            out[place][: older + newer - 1] = np.nan
        if rows < 1:
            continue
        target = out[place][older + newer - 1 :] if place >= 0 else scratch[step % 2][:rows]
        block = state if newer == older else values
        ratio = None if ratios is None else ratios[level][older : older + rows]
        add(state[:rows], block[older : older + rows], ratio, weights[step], target)
        state = target


@compiled
def extreme_ladder(values: Floats, ratios: Floats, ladder: Ladder, larger: bool, out: Floats) -> None:
    """Largest or smallest levels of windows in units of the last level, out [places, rows]."""
    scratch = np.empty((2, len(values)))
    state = values
    for step in range(len(ladder)):
        older, newer, level, place = ladder[step]
        rows = len(values) - older - newer + 1
        if place >= 0:
            out[place][: older + newer - 1] = np.nan
        if rows < 1:
            continue
        target = out[place][older + newer - 1 :] if place >= 0 else scratch[step % 2][:rows]
        block = state if newer == older else values
        ratio = ratios[level][older : older + rows]
        if larger:
            larger_of(state[:rows], block[older : older + rows], ratio, target)
        else:
            smaller_of(state[:rows], block[older : older + rows], ratio, target)
        state = target


@compiled
def spread_ladder(values: Floats, ratios: Any, ladder: Ladder, out: Floats) -> None:
    """Means and sums of squared deviations of windows, out [places, 2, rows]."""
    single, scratch = np.zeros((2, len(values))), np.empty((2, 2, len(values)))
    single[0] = values
    state, start = single, 0
    for step in range(len(ladder)):
        older, newer, level, place = ladder[step]
        rows = len(values) - older - newer + 1
        if place >= 0:
            out[place][:, : older + newer - 1] = np.nan
        if rows < 1:
            continue
        block, first = (state, start + older) if newer == older else (single, older)
        target, begin = (out[place], older + newer - 1) if place >= 0 else (scratch[step % 2], 0)
        ratio = None if ratios is None else ratios[level][older : older + rows]
        merge_spread(_two(state, start, rows), _two(block, first, rows), ratio, older, newer, _two(target, begin, rows))
        state, start = target, begin


@compiled
def moment_ladder(values: Floats, ladder: Ladder, out: Floats) -> None:
    """Means and sums of the second to fourth power of the deviations of windows, out [places, 4, rows]."""
    single, scratch = np.zeros((4, len(values))), np.empty((2, 4, len(values)))
    single[0] = values
    state, start = single, 0
    for step in range(len(ladder)):
        older, newer, _, place = ladder[step]
        rows = len(values) - older - newer + 1
        if place >= 0:
            out[place][:, : older + newer - 1] = np.nan
        if rows < 1:
            continue
        block, first = (state, start + older) if newer == older else (single, older)
        target, begin = (out[place], older + newer - 1) if place >= 0 else (scratch[step % 2], 0)
        merge_four(_four(state, start, rows), _four(block, first, rows), older, newer, _four(target, begin, rows))
        state, start = target, begin


@compiled
def product_ladder(left: Floats, right: Floats, ratios: Any, ladder: Ladder, out: Floats) -> None:
    """Means of left and of right, and sums of the products of their deviations, of windows, out [places, 3, rows].

    ratios: of right's levels, None where it has none; left has none.
    """
    single, scratch = np.zeros((3, len(left))), np.empty((2, 3, len(left)))
    single[0], single[1] = left, right
    state, start = single, 0
    for step in range(len(ladder)):
        older, newer, level, place = ladder[step]
        rows = len(left) - older - newer + 1
        if place >= 0:
            out[place][:, : older + newer - 1] = np.nan
        if rows < 1:
            continue
        block, first = (state, start + older) if newer == older else (single, older)
        target, begin = (out[place], older + newer - 1) if place >= 0 else (scratch[step % 2], 0)
        ratio = None if ratios is None else ratios[level][older : older + rows]
        merge_products(
            _three(state, start, rows), _three(block, first, rows), ratio, older, newer, _three(target, begin, rows)
        )
        state, start = target, begin


@compiled
def _two(state: Floats, start: int, rows: int) -> tuple[Floats, Floats]:
    return state[0][start : start + rows], state[1][start : start + rows]


@compiled
def _three(state: Floats, start: int, rows: int) -> tuple[Floats, Floats, Floats]:
    stop = start + rows
    return state[0][start:stop], state[1][start:stop], state[2][start:stop]


@compiled
def _four(state: Floats, start: int, rows: int) -> tuple[Floats, Floats, Floats, Floats]:
    stop = start + rows
    return state[0][start:stop], state[1][start:stop], state[2][start:stop], state[3][start:stop]
