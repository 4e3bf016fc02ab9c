"""Two neighbouring blocks of a window made one, element by element in one compiled pass.

Each function does the arithmetic in the order it is written in, without reassociation or fused operations, so that its
bits are those of the same line in numpy. `ratio` brings the older block's levels to the newer one's last level; None where
there are no levels. Results go into arrays given last, which overlap no argument.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def add(older: Floats, newer: Floats, ratio: Any, weight: float, out: Floats) -> None:
    """older * ratio * weight + newer."""
    for i in range(len(out)):
        value = older[i]
        if ratio is not None:
            value *= ratio[i]
        out[i] = value * weight + newer[i]


@compiled
def larger_of(older: Floats, newer: Floats, ratio: Floats, out: Floats) -> None:
    """The larger of older * ratio and newer; NaN where either is."""
    for i in range(len(out)):
        value, other = older[i] * ratio[i], newer[i]
        out[i] = value if value > other or value != value else other


@compiled
def smaller_of(older: Floats, newer: Floats, ratio: Floats, out: Floats) -> None:
    """The smaller of older * ratio and newer; NaN where either is."""
    for i in range(len(out)):
        value, other = older[i] * ratio[i], newer[i]
        out[i] = value if value < other or value != value else other


@compiled
def merge_spread(older: Any, newer: Any, ratio: Any, a: int, b: int, out: Any) -> None:
    """Mean and sum of squared deviations of two blocks of a and b rows together."""
    mean_a, spread_a = older
    mean_b, spread_b = newer
    mean, spread = out
    share, weight = b / (a + b), a * b / (a + b)
    for i in range(len(mean)):
        first, apart = mean_a[i], spread_a[i]
        if ratio is not None:
            first *= ratio[i]
            apart *= ratio[i] * ratio[i]
        gap = mean_b[i] - first
        mean[i] = first + gap * share
        spread[i] = apart + spread_b[i] + gap * gap * weight


@compiled
def merge_four(older: Any, newer: Any, a: int, b: int, out: Any) -> None:
    """Mean and sums of the second to fourth power of the deviations of two blocks together (Pébay 2008)."""
    mean_a, a2, a3, a4 = older
    mean_b, b2, b3, b4 = newer
    mean, second, third, fourth = out
    n = a + b
    share, weight = b / n, a * b / n
    cube, quartic = a * b * (a - b) / n**2, a * b * (a * a - a * b + b * b) / n**3
    for i in range(len(mean)):
        gap = mean_b[i] - mean_a[i]
        square = gap * gap
        mean[i] = mean_a[i] + gap * share
        second[i] = a2[i] + b2[i] + square * weight
        third[i] = a3[i] + b3[i] + square * gap * cube + gap * (a * b2[i] - b * a2[i]) * (3 / n)
        fourth[i] = (
            a4[i] + b4[i] + square * square * quartic
            + square * (a * a * b2[i] + b * b * a2[i]) * (6 / n**2) + gap * (a * b3[i] - b * a3[i]) * (4 / n)
        )  # fmt: skip


@compiled
def merge_products(older: Any, newer: Any, ratio: Any, a: int, b: int, out: Any) -> None:
    """Means of left and of right, and sums of the products of their deviations, of two blocks together.

    `ratio` brings right's levels to the newer block's last level.
    """
    left_a, right_a, product_a = older
    left_b, right_b, product_b = newer
    left, right, product = out
    share, weight = b / (a + b), a * b / (a + b)
    for i in range(len(left)):
        other, apart = right_a[i], product_a[i]
        if ratio is not None:
            other *= ratio[i]
            apart *= ratio[i]
        gap_left, gap_right = left_b[i] - left_a[i], right_b[i] - other
        left[i] = left_a[i] + gap_left * share
        right[i] = other + gap_right * share
        product[i] = apart + product_b[i] + gap_left * gap_right * weight
