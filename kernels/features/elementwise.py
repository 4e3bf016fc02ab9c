"""Quotients with a value for 0 / 0 and cuts, each in one compiled pass."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_compiled = njit(cache=True, nogil=True, error_model="numpy")


@_compiled  # type: ignore[untyped-decorator]
def divided(top: Floats, bottom: Floats, empty: float, least: float) -> Floats:
    """top / bottom, and `empty` where bottom <= least; NaN in either stays NaN."""
    out = np.empty(len(top))
    for i in range(len(top)):
        value = top[i] / bottom[i]
        other = empty if top[i] == top[i] else top[i]
        out[i] = other if bottom[i] <= least else value
    return out


@_compiled  # type: ignore[untyped-decorator]
def cut(values: Floats, low: float, high: float) -> Floats:
    """Cut to [low, high]; NaN stays NaN."""
    out = np.empty(len(values))
    for i in range(len(values)):
        value = values[i]
        value = low if value < low else value
        out[i] = high if value > high else value
    return out
