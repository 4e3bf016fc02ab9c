"""Two neighbouring blocks of a window made one, element by element in one compiled pass.

Each function does the arithmetic in the order it is written in, without reassociation or fused operations, so that its
bits are those of the same line in numpy. `ratio` brings the older block's levels to the newer one's last level; None where
there are no levels.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_compiled = njit(cache=True, nogil=True, error_model="numpy")


@_compiled  # type: ignore[untyped-decorator]
def add(older: Floats, newer: Floats, ratio: Any, weight: float) -> Floats:
    """older * ratio * weight + newer."""
    out = np.empty(len(newer))
    for i in range(len(newer)):
        value = older[i]
        if ratio is not None:
            value *= ratio[i]
        out[i] = value * weight + newer[i]
    return out


@_compiled  # type: ignore[untyped-decorator]
def larger_of(older: Floats, newer: Floats, ratio: Floats) -> Floats:
    """The larger of older * ratio and newer; NaN where either is."""
    out = np.empty(len(newer))
    for i in range(len(newer)):
        value, other = older[i] * ratio[i], newer[i]
        out[i] = value if value > other or value != value else other
    return out


@_compiled  # type: ignore[untyped-decorator]
def smaller_of(older: Floats, newer: Floats, ratio: Floats) -> Floats:
    """The smaller of older * ratio and newer; NaN where either is."""
    out = np.empty(len(newer))
    for i in range(len(newer)):
        value, other = older[i] * ratio[i], newer[i]
        out[i] = value if value < other or value != value else other
    return out


@_compiled  # type: ignore[untyped-decorator]
def merge_spread(
    mean_a: Floats, spread_a: Floats, mean_b: Floats, spread_b: Floats, ratio: Any, a: int, b: int
) -> tuple[Floats, Floats]:
    """Mean and sum of squared deviations of two blocks of a and b rows together."""
    mean, spread = np.empty(len(mean_b)), np.empty(len(mean_b))
    share, weight = b / (a + b), a * b / (a + b)
    for i in range(len(mean_b)):
        first, apart = mean_a[i], spread_a[i]
        if ratio is not None:
            first *= ratio[i]
            apart *= ratio[i] * ratio[i]
        gap = mean_b[i] - first
        mean[i] = first + gap * share
        spread[i] = apart + spread_b[i] + gap * gap * weight
    return mean, spread


@_compiled  # type: ignore[untyped-decorator]
def merge_four(
    mean_a: Floats,
    a2: Floats,
    a3: Floats,
    a4: Floats,
    mean_b: Floats,
    b2: Floats,
    b3: Floats,
    b4: Floats,
    a: int,
    b: int,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean and sums of the second to fourth power of the deviations of two blocks together (Pébay 2008)."""
    rows = len(mean_b)
    mean, second, third, fourth = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    n = a + b
    share, weight = b / n, a * b / n
    cube, quartic = a * b * (a - b) / n**2, a * b * (a * a - a * b + b * b) / n**3
    for i in range(rows):
        gap = mean_b[i] - mean_a[i]
        square = gap * gap
        mean[i] = mean_a[i] + gap * share
        second[i] = a2[i] + b2[i] + square * weight
        third[i] = a3[i] + b3[i] + square * gap * cube + gap * (a * b2[i] - b * a2[i]) * (3 / n)
        fourth[i] = (
            a4[i] + b4[i] + square * square * quartic
            + square * (a * a * b2[i] + b * b * a2[i]) * (6 / n**2) + gap * (a * b3[i] - b * a3[i]) * (4 / n)
        )  # fmt: skip
    return mean, second, third, fourth


@_compiled  # type: ignore[untyped-decorator]
def merge_pair(
    left_a: Floats, right_a: Floats, ll_a: Floats, rr_a: Floats, lr_a: Floats,
    left_b: Floats, right_b: Floats, ll_b: Floats, rr_b: Floats, lr_b: Floats, ratio: Any, a: int, b: int,
) -> tuple[Floats, Floats, Floats, Floats, Floats]:  # fmt: skip
    """Means, sums of squared deviations of left and of right, and of their products, of two blocks together."""
    rows = len(left_b)
    left, right = np.empty(rows), np.empty(rows)
    ll, rr, lr = np.empty(rows), np.empty(rows), np.empty(rows)
    share, weight = b / (a + b), a * b / (a + b)
    for i in range(rows):
        other, spread, product = right_a[i], rr_a[i], lr_a[i]
        if ratio is not None:
            other *= ratio[i]
            spread *= ratio[i] * ratio[i]
            product *= ratio[i]
        gap_left, gap_right = left_b[i] - left_a[i], right_b[i] - other
        left[i] = left_a[i] + gap_left * share
        right[i] = other + gap_right * share
        ll[i] = ll_a[i] + ll_b[i] + gap_left * gap_left * weight
        rr[i] = spread + rr_b[i] + gap_right * gap_right * weight
        lr[i] = product + lr_b[i] + gap_left * gap_right * weight
    return left, right, ll, rr, lr
